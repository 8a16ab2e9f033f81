from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from lanewise.cuda import Stream

_Size: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None
_Stream: TypeAlias = Stream | int

# Results: a number where size and out are left out, else an array of the target.
class Generator:
    bit_generator: str
    target: str | None
    state: dict[str, Any]
    def __init__(
        self,
        seed: int | np.random.SeedSequence | None = None,
        bit_generator: Literal["philox", "xoroshiro128p"] = "philox",
        target: Literal["cpu", "cuda"] | None = None,
    ) -> None: ...
    def spawn(self, n_children: int) -> list[Generator]: ...
    def jumped(self, jumps: SupportsIndex = 1) -> Generator: ...
    def __getstate__(self) -> dict[str, Any]: ...
    def __setstate__(self, saved: dict[str, Any]) -> None: ...
    def random(
        self, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: _Stream = 0,
    ) -> Any: ...
    def uniform(
        self, low: float = 0.0, high: float = 1.0,
        size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0,
    ) -> Any: ...
    def standard_normal(
        self, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: _Stream = 0,
    ) -> Any: ...
    def normal(
        self, loc: float = 0.0, scale: float = 1.0,
        size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0,
    ) -> Any: ...
    def standard_exponential(
        self, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: _Stream = 0,
    ) -> Any: ...
    def exponential(
        self, scale: float = 1.0,
        size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0,
    ) -> Any: ...
    def integers(
        self, low: SupportsIndex, high: SupportsIndex | None = None,
        size: _Size = None, dtype: DTypeLike | None = None, endpoint: bool = False, out: Any = None,
        *, stream: _Stream = 0,
    ) -> Any: ...
    def gamma(
        self, shape: float, scale: float = 1.0,
        size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0,
    ) -> Any: ...
    def standard_gamma(
        self, shape: float, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: _Stream = 0,
    ) -> Any: ...
    def poisson(
        self, lam: float = 1.0, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: _Stream = 0,
    ) -> Any: ...
    def binomial(
        self, n: SupportsIndex, p: float,
        size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0,
    ) -> Any: ...
    def choice(
        self, a: ArrayLike, size: _Size = None, replace: bool = True, p: ArrayLike | None = None, *, stream: _Stream = 0
    ) -> Any: ...
    def permutation(self, x: Any, *, stream: _Stream = 0) -> Any: ...
