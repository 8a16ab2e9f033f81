from typing import Any

from lanewise._core import Forall

__all__: list[str]

def fill_gamma(count: int, keys: Any, c3: Any, base: Any, shape: Any, scale: Any, out: Any, *, stream: Any = 0) -> None: ...
def dirichlet(count: int, gamma: Any, boost: Any, alpha: Any, out: Any, *, stream: Any = 0) -> None: ...
def __getattr__(name: str) -> Forall: ...  # the kernels
