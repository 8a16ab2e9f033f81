from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from lanewise.cuda import DeviceArray, Stream

_Size: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None
_Stream: TypeAlias = Stream | int
_Parameter: TypeAlias = ArrayLike | DeviceArray

# Results: a number where size and out are left out, else an array of the target.
class Generator:
    @property
    def bit_generator(self) -> str: ...
    target: str | None
    state: dict[str, Any]
    @property
    def lock(self) -> Any: ...
    @property
    def capsule(self) -> Any: ...
    def __init__(
        self,
        seed: int | np.random.SeedSequence | None = None,
        bit_generator: Literal["philox", "xoroshiro128p"] = "philox",
        target: Literal["cpu", "cuda"] | None = None,
    ) -> None: ...
    def spawn(self, n_children: int) -> list[Generator]: ...
    def jumped(self, jumps: SupportsIndex = 1) -> Generator: ...
    def __dask_tokenize__(self) -> Any: ...
    def __getstate__(self) -> dict[str, Any]: ...
    def __setstate__(self, saved: dict[str, Any]) -> None: ...
    def random(
        self, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def uniform(
        self, low: _Parameter = 0.0, high: _Parameter = 1.0,
        size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def standard_normal(
        self, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def normal(
        self, loc: _Parameter = 0.0, scale: _Parameter = 1.0,
        size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def standard_exponential(
        self, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def exponential(
        self, scale: _Parameter = 1.0,
        size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def integers(
        self, low: _Parameter, high: _Parameter | None = None,
        size: _Size = None, dtype: DTypeLike | None = None, endpoint: bool = False, out: Any = None,
        *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def gamma(
        self, shape: _Parameter, scale: _Parameter = 1.0,
        size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def standard_gamma(
        self, shape: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def poisson(
        self, lam: _Parameter = 1.0, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def binomial(
        self, n: _Parameter, p: _Parameter,
        size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def choice(
        self, a: ArrayLike, size: _Size = None, replace: bool = True, p: ArrayLike | None = None,
        axis: SupportsIndex = 0, shuffle: bool = True, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def permutation(self, x: Any, axis: SupportsIndex = 0, *, stream: _Stream = 0) -> Any: ...
    def permuted(self, x: ArrayLike, axis: SupportsIndex | None = None, out: np.ndarray | None = None, *, stream: _Stream = 0) -> Any: ...
    def shuffle(self, x: Any, axis: SupportsIndex = 0, *, stream: _Stream = 0) -> None: ...
    def bytes(self, length: SupportsIndex, *, stream: _Stream = 0) -> bytes: ...
    def multinomial(self, n: _Parameter, pvals: ArrayLike, size: _Size = None, *, stream: _Stream = 0, chunks: Any = None) -> Any: ...
    def dirichlet(self, alpha: _Parameter, size: _Size = None, *, stream: _Stream = 0, chunks: Any = None) -> Any: ...
    def lognormal(
        self, mean: _Parameter = 0.0, sigma: _Parameter = 1.0, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def laplace(
        self, loc: _Parameter = 0.0, scale: _Parameter = 1.0, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def logistic(
        self, loc: _Parameter = 0.0, scale: _Parameter = 1.0, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def gumbel(
        self, loc: _Parameter = 0.0, scale: _Parameter = 1.0, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def rayleigh(
        self, scale: _Parameter = 1.0, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def weibull(
        self, a: _Parameter, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def pareto(
        self, a: _Parameter, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def power(
        self, a: _Parameter, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def standard_cauchy(
        self, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def standard_t(
        self, df: _Parameter, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def chisquare(
        self, df: _Parameter, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def f(
        self, dfnum: _Parameter, dfden: _Parameter, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def beta(
        self, a: _Parameter, b: _Parameter, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def triangular(
        self, left: _Parameter, mode: _Parameter, right: _Parameter, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def wald(
        self, mean: _Parameter, scale: _Parameter, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def geometric(
        self, p: _Parameter, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def negative_binomial(
        self, n: _Parameter, p: _Parameter, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def noncentral_chisquare(
        self, df: _Parameter, nonc: _Parameter, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def noncentral_f(
        self, dfnum: _Parameter, dfden: _Parameter, nonc: _Parameter, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def logseries(
        self, p: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def zipf(
        self, a: _Parameter, size: _Size = None, dtype: DTypeLike | None = None, out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def vonmises(
        self, mu: _Parameter, kappa: _Parameter, size: _Size = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def hypergeometric(
        self, ngood: _Parameter, nbad: _Parameter, nsample: _Parameter, size: _Size = None, *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def multivariate_hypergeometric(
        self, colors: Any, nsample: int, size: _Size = None, method: str = "marginals", *, stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...
    def multivariate_normal(
        self, mean: Any, cov: Any, size: _Size = None, check_valid: str = "warn", tol: float = 1e-8, *, method: str = "svd",
        stream: _Stream = 0, chunks: Any = None,
    ) -> Any: ...

def default_rng(seed: int | np.random.SeedSequence | Generator | None = None) -> Generator: ...
