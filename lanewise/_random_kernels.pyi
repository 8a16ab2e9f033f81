from collections.abc import Iterable
from typing import Any

import numpy as np

from lanewise._core import Forall

__all__ = ["fill_states", "round_keys"]

def fill_states(states: Any, s0: int, s1: int, stream: Any) -> None: ...
def round_keys(k0: int, k1: int) -> tuple[tuple[np.uint32, np.uint32], ...]: ...
def __getattr__(name: str) -> Forall: ...  # the kernels: `philox_*` and `lanes_*`
