from collections.abc import Callable
from typing import Any

from lanewise._core import Forall

__all__: list[str]

normal_float64: Forall
exponential_float64: Forall
gamma: Forall
_NORMAL: tuple[Any, ...]

def fill_gamma(count: Any, keys: Any, c3: Any, base: Any, shape: Any, scale: Any, out: Any, *, stream: Any = 0) -> None: ...
def gamma_by(lanes: int, keys: Any, c3: Any, base: Any, shape: Any, scale: Any, out: Any, stream: Any = 0) -> None: ...
def fitting(kernel: Any) -> Callable[..., Any]: ...
