from collections.abc import Sequence
from typing import Any, Generic, Literal, SupportsIndex, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from typing_extensions import TypeVar

from lanewise.cuda import DeviceArray, Stream

_Host: TypeAlias = complex | np.generic | NDArray[Any] | Sequence[Any]
_Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Size: TypeAlias = _Shape | None
_Stream: TypeAlias = Stream | int
_Parameter: TypeAlias = ArrayLike | DeviceArray

# The arrays that it makes: those of the target.
_A = TypeVar("_A", default=NDArray[Any])

# Results: a number where size and out are left out, else an array of the target. With parameters on a GPU, with out= and with chunks=, the array is another.
class Generator(Generic[_A]):
    @property
    def bit_generator(self) -> str: ...
    target: str | None
    state: dict[str, Any]
    @property
    def lock(self) -> Any: ...
    @property
    def capsule(self) -> Any: ...
    @overload
    def __init__(
        self: Generator[NDArray[Any]],
        seed: int | np.random.SeedSequence | None = None,
        bit_generator: Literal["philox", "xoroshiro128p"] = "philox",
        target: Literal["cpu"] | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: Generator[DeviceArray],
        seed: int | np.random.SeedSequence | None = None,
        bit_generator: Literal["philox", "xoroshiro128p"] = "philox",
        *,
        target: Literal["cuda"],
    ) -> None: ...
    @overload
    def __init__(
        self: Generator[Any],
        seed: int | np.random.SeedSequence | None = None,
        bit_generator: Literal["philox", "xoroshiro128p"] = "philox",
        target: Literal["cpu", "cuda"] | None = None,
    ) -> None: ...
    def __class_getitem__(cls, item: Any, /) -> Any: ...
    def spawn(self, n_children: int) -> list[Generator[_A]]: ...
    def jumped(self, jumps: SupportsIndex = 1) -> Generator[_A]: ...
    def __dask_tokenize__(self) -> Any: ...
    def __getstate__(self) -> dict[str, Any]: ...
    def __setstate__(self, saved: dict[str, Any]) -> None: ...
    @overload
    def random(self, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None) -> _A: ...
    @overload
    def random(self, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None) -> Any: ...
    @overload
    def uniform(
        self, low: _Host, high: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def uniform(
        self, low: _Host = 0.0, high: _Host = 1.0, *, size: _Shape, dtype: DTypeLike | None = None, out: None = None, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def uniform(
        self, low: _Parameter = 0.0, high: _Parameter = 1.0, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def standard_normal(self, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None) -> _A: ...
    @overload
    def standard_normal(
        self, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def normal(
        self, loc: _Host, scale: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def normal(
        self, loc: _Host = 0.0, scale: _Host = 1.0, *, size: _Shape, dtype: DTypeLike | None = None, out: None = None, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def normal(
        self, loc: _Parameter = 0.0, scale: _Parameter = 1.0, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def standard_exponential(
        self, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, method: Literal["zig", "inv"] = "zig", chunks: None = None,
    ) -> _A: ...
    @overload
    def standard_exponential(
        self, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, method: Literal["zig", "inv"] = "zig", chunks: Any = None,
    ) -> Any: ...
    @overload
    def exponential(
        self, scale: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def exponential(
        self, scale: _Host = 1.0, *, size: _Shape, dtype: DTypeLike | None = None, out: None = None, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def exponential(
        self, scale: _Parameter = 1.0, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def integers(
        self, low: _Host, high: _Host | None, size: _Shape, dtype: DTypeLike | None = None, endpoint: bool = False, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def integers(
        self, low: _Host, high: _Host | None = None, *, size: _Shape, dtype: DTypeLike | None = None, endpoint: bool = False, out: None = None, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def integers(
        self, low: _Parameter, high: _Parameter | None = None, size: _Size = None, dtype: DTypeLike | None = None, endpoint: bool = False, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def gamma(
        self, shape: _Host, scale: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def gamma(
        self, shape: _Host, scale: _Host = 1.0, *, size: _Shape, dtype: DTypeLike | None = None, out: None = None, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def gamma(
        self, shape: _Parameter, scale: _Parameter = 1.0, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def standard_gamma(
        self, shape: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def standard_gamma(
        self, shape: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def poisson(
        self, lam: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def poisson(
        self, lam: _Host = 1.0, *, size: _Shape, dtype: DTypeLike | None = None, out: None = None, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def poisson(
        self, lam: _Parameter = 1.0, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def binomial(
        self, n: _Host, p: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def binomial(
        self, n: _Parameter, p: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def choice(
        self, a: _Host, size: _Shape, replace: bool = True, p: ArrayLike | None = None, axis: SupportsIndex = 0, shuffle: bool = True, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def choice(
        self, a: ArrayLike, size: _Size = None, replace: bool = True, p: ArrayLike | None = None, axis: SupportsIndex = 0, shuffle: bool = True, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def permutation(self, x: Any, axis: SupportsIndex = 0, *, stream: _Stream = 0) -> Any: ...
    def permuted(self, x: ArrayLike, axis: SupportsIndex | None = None, out: np.ndarray | None = None, *, stream: _Stream = 0) -> Any: ...
    def shuffle(self, x: Any, axis: SupportsIndex = 0, *, stream: _Stream = 0) -> None: ...
    def bytes(self, length: SupportsIndex, *, stream: _Stream = 0) -> bytes: ...
    @overload
    def multinomial(self, n: _Host, pvals: _Host, size: _Shape, *, stream: _Stream = 0, chunks: None = None) -> _A: ...
    @overload
    def multinomial(self, n: _Parameter, pvals: ArrayLike, size: _Size = None, *, stream: _Stream = 0, chunks: Any = None) -> Any: ...
    @overload
    def dirichlet(self, alpha: _Host, size: _Shape, *, stream: _Stream = 0, chunks: None = None) -> _A: ...
    @overload
    def dirichlet(self, alpha: _Parameter, size: _Size = None, *, stream: _Stream = 0, chunks: Any = None) -> Any: ...
    @overload
    def lognormal(
        self, mean: _Host, sigma: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def lognormal(
        self, mean: _Host = 0.0, sigma: _Host = 1.0, *, size: _Shape, dtype: DTypeLike | None = None, out: None = None, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def lognormal(
        self, mean: _Parameter = 0.0, sigma: _Parameter = 1.0, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def laplace(
        self, loc: _Host, scale: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def laplace(
        self, loc: _Host = 0.0, scale: _Host = 1.0, *, size: _Shape, dtype: DTypeLike | None = None, out: None = None, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def laplace(
        self, loc: _Parameter = 0.0, scale: _Parameter = 1.0, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def logistic(
        self, loc: _Host, scale: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def logistic(
        self, loc: _Host = 0.0, scale: _Host = 1.0, *, size: _Shape, dtype: DTypeLike | None = None, out: None = None, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def logistic(
        self, loc: _Parameter = 0.0, scale: _Parameter = 1.0, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def gumbel(
        self, loc: _Host, scale: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def gumbel(
        self, loc: _Host = 0.0, scale: _Host = 1.0, *, size: _Shape, dtype: DTypeLike | None = None, out: None = None, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def gumbel(
        self, loc: _Parameter = 0.0, scale: _Parameter = 1.0, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def rayleigh(
        self, scale: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def rayleigh(
        self, scale: _Host = 1.0, *, size: _Shape, dtype: DTypeLike | None = None, out: None = None, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def rayleigh(
        self, scale: _Parameter = 1.0, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def weibull(
        self, a: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def weibull(
        self, a: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def pareto(self, a: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None) -> _A: ...
    @overload
    def pareto(
        self, a: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def power(self, a: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None) -> _A: ...
    @overload
    def power(
        self, a: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def standard_cauchy(self, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None) -> _A: ...
    @overload
    def standard_cauchy(
        self, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def standard_t(
        self, df: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def standard_t(
        self, df: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def chisquare(
        self, df: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def chisquare(
        self, df: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def f(
        self, dfnum: _Host, dfden: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def f(
        self, dfnum: _Parameter, dfden: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def beta(
        self, a: _Host, b: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def beta(
        self, a: _Parameter, b: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def triangular(
        self, left: _Host, mode: _Host, right: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def triangular(
        self, left: _Parameter, mode: _Parameter, right: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def wald(
        self, mean: _Host, scale: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def wald(
        self, mean: _Parameter, scale: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def geometric(
        self, p: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def geometric(
        self, p: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def negative_binomial(
        self, n: _Host, p: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def negative_binomial(
        self, n: _Parameter, p: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def noncentral_chisquare(
        self, df: _Host, nonc: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def noncentral_chisquare(
        self, df: _Parameter, nonc: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def noncentral_f(
        self, dfnum: _Host, dfden: _Host, nonc: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def noncentral_f(
        self, dfnum: _Parameter, dfden: _Parameter, nonc: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def logseries(
        self, p: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def logseries(
        self, p: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def zipf(self, a: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None) -> _A: ...
    @overload
    def zipf(
        self, a: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def vonmises(
        self, mu: _Host, kappa: _Host, size: _Shape, dtype: DTypeLike | None = None, out: None = None, *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def vonmises(
        self, mu: _Parameter, kappa: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def hypergeometric(self, ngood: _Host, nbad: _Host, nsample: _Host, size: _Shape, *, stream: _Stream = 0, chunks: None = None) -> _A: ...
    @overload
    def hypergeometric(
        self, ngood: _Parameter, nbad: _Parameter, nsample: _Parameter, size: _Size = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def multivariate_hypergeometric(
        self, colors: Any, nsample: int, size: _Shape, method: str = "marginals", *, stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def multivariate_hypergeometric(
        self, colors: Any, nsample: int, size: _Size = None, method: str = "marginals", *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    @overload
    def multivariate_normal(
        self, mean: Any, cov: Any, size: _Shape, check_valid: str = "warn", tol: float = 1e-8, *, method: str = "svd", stream: _Stream = 0, chunks: None = None,
    ) -> _A: ...
    @overload
    def multivariate_normal(
        self, mean: Any, cov: Any, size: _Size = None, check_valid: str = "warn", tol: float = 1e-8, *, method: str = "svd", stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...

@overload
def default_rng(seed: int | np.random.SeedSequence | None = None) -> Generator: ...
@overload
def default_rng(seed: Generator[_A]) -> Generator[_A]: ...
