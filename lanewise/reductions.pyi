"""The usual reductions and scans, on host and device arrays: all but topk and argtopk made with `lanewise.reduce` alone."""

from typing import Any, SupportsIndex

from numpy.typing import DTypeLike

__all__ = [
    "affine_scan", "all", "any", "argmax", "argmin", "argtopk", "count_nonzero", "cumprod", "cumsum", "logsumexp", "max",
    "mean", "min", "minmax", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod",
    "nanstd", "nansum", "nanvar", "prod", "running_maximum", "segmented_sum", "std", "sum", "top1", "topk", "var",
]

_Axes = SupportsIndex | tuple[SupportsIndex, ...] | None

def sum(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> Any: ...
def prod(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> Any: ...
def min(
    a: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
def max(
    a: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
def any(
    a: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, where: Any = True,
    stream: Any = None, progress: Any = None,
) -> Any: ...
def all(
    a: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, where: Any = True,
    stream: Any = None, progress: Any = None,
) -> Any: ...
def mean(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False, *,
    where: Any = True, stream: Any = None, progress: Any = None,
) -> Any: ...
def var(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> Any: ...
def std(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> Any: ...
def argmin(
    a: Any, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> Any: ...
def argmax(
    a: Any, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> Any: ...
def cumsum(
    a: Any, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Any = None, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
def cumprod(
    a: Any, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Any = None, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
def count_nonzero(a: Any, axis: _Axes = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None) -> Any: ...
def minmax(
    a: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, initial: Any = ..., where: Any = True,
    stream: Any = None, progress: Any = None,
) -> tuple[Any, Any]: ...
def logsumexp(
    a: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, where: Any = True, stream: Any = None, progress: Any = None,
) -> Any: ...
def top1(
    a: Any, payload: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, stream: Any = None, progress: Any = None,
) -> tuple[Any, Any]: ...
def topk(a: Any, k: SupportsIndex, axis: SupportsIndex = -1, split_every: Any = None, *, progress: Any = None) -> Any: ...
def argtopk(a: Any, k: SupportsIndex, axis: SupportsIndex = -1, split_every: Any = None, *, progress: Any = None) -> Any: ...
def running_maximum(a: Any, axis: SupportsIndex = 0, out: Any = None, *, stream: Any = None, progress: Any = None) -> Any: ...
def affine_scan(
    a: Any, b: Any, axis: SupportsIndex = 0, out: Any = None, *, initial: Any = 0, stream: Any = None, progress: Any = None,
) -> Any: ...
def segmented_sum(values: Any, starts: Any, axis: SupportsIndex = 0, out: Any = None, *, stream: Any = None, progress: Any = None) -> Any: ...
def nansum(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> Any: ...
def nanprod(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> Any: ...
def nanmin(
    a: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
def nanmax(
    a: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
def nanmean(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False, *,
    where: Any = True, stream: Any = None, progress: Any = None,
) -> Any: ...
def nanvar(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> Any: ...
def nanstd(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> Any: ...
def nanargmin(
    a: Any, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> Any: ...
def nanargmax(
    a: Any, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> Any: ...
def nancumsum(
    a: Any, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Any = None, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
def nancumprod(
    a: Any, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Any = None, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
