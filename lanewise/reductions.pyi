"""The usual reductions and scans, on host and device arrays: all but topk and argtopk made with `lanewise.reduce` alone."""

from typing import Any, Literal, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lanewise._core import _Foreign
from lanewise.cuda import DeviceArray

__all__ = [
    "affine_scan", "all", "any", "argmax", "argmin", "argtopk", "count_nonzero", "cumprod", "cumsum", "logsumexp", "max",
    "mean", "median", "min", "minmax", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod",
    "nanquantile", "nanstd", "nansum", "nanvar", "percentile", "prod", "quantile", "running_maximum", "segmented_sum", "std", "sum", "top1", "topk", "var",
]

# With an int as the axis, the results are arrays where `a` has more dimensions than one; the result of all axes is a number on the host,
# whose type is that of the elements, or follows from it, where this is known.
_Axes = SupportsIndex | tuple[SupportsIndex, ...] | None
_S = TypeVar("_S", bound=np.generic)
_P = TypeVar("_P", bound=np.generic)
_Inexact = TypeVar("_Inexact", bound=np.inexact[Any] | np.timedelta64)
_Float = TypeVar("_Float", bound=np.floating[Any])

@overload
def sum(
    a: DeviceArray, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def sum(
    a: _Foreign, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def sum(
    a: Any, axis: SupportsIndex, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def sum(
    a: NDArray[_Inexact], axis: None = None, dtype: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> _Inexact: ...
@overload
def sum(
    a: NDArray[np.unsignedinteger[Any]], axis: None = None, dtype: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> np.uint64: ...
@overload
def sum(
    a: NDArray[np.signedinteger[Any] | np.bool_], axis: None = None, dtype: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> np.int64: ...
@overload
def sum(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def prod(
    a: DeviceArray, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def prod(
    a: _Foreign, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def prod(
    a: Any, axis: SupportsIndex, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def prod(
    a: NDArray[_Inexact], axis: None = None, dtype: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> _Inexact: ...
@overload
def prod(
    a: NDArray[np.unsignedinteger[Any]], axis: None = None, dtype: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> np.uint64: ...
@overload
def prod(
    a: NDArray[np.signedinteger[Any] | np.bool_], axis: None = None, dtype: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> np.int64: ...
@overload
def prod(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def min(
    a: DeviceArray, axis: _Axes = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def min(
    a: _Foreign, axis: _Axes = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def min(
    a: Any, axis: SupportsIndex, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def min(
    a: NDArray[_S], axis: None = None, out: None = None, keepdims: Literal[False] = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> _S: ...
@overload
def min(
    a: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def max(
    a: DeviceArray, axis: _Axes = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def max(
    a: _Foreign, axis: _Axes = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def max(
    a: Any, axis: SupportsIndex, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def max(
    a: NDArray[_S], axis: None = None, out: None = None, keepdims: Literal[False] = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> _S: ...
@overload
def max(
    a: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def any(
    a: DeviceArray, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, where: Any = True,
    stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def any(
    a: _Foreign, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, where: Any = True,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def any(
    a: Any, axis: SupportsIndex, out: Any = None, keepdims: bool = False, *, where: Any = True,
    stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def any(
    a: NDArray[Any], axis: None = None, out: None = None, keepdims: Literal[False] = False, *, where: Any = True,
    stream: Any = None, progress: Any = None,
) -> np.bool_: ...
@overload
def any(
    a: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, where: Any = True,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def all(
    a: DeviceArray, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, where: Any = True,
    stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def all(
    a: _Foreign, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, where: Any = True,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def all(
    a: Any, axis: SupportsIndex, out: Any = None, keepdims: bool = False, *, where: Any = True,
    stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def all(
    a: NDArray[Any], axis: None = None, out: None = None, keepdims: Literal[False] = False, *, where: Any = True,
    stream: Any = None, progress: Any = None,
) -> np.bool_: ...
@overload
def all(
    a: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, where: Any = True,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def mean(
    a: DeviceArray, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False, *,
    where: Any = True, stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def mean(
    a: _Foreign, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False, *,
    where: Any = True, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def mean(
    a: Any, axis: SupportsIndex, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False, *,
    where: Any = True, stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def mean(
    a: NDArray[_Inexact], axis: None = None, dtype: None = None, out: None = None, keepdims: Literal[False] = False, *,
    where: Any = True, stream: Any = None, progress: Any = None,
) -> _Inexact: ...
@overload
def mean(
    a: NDArray[np.integer[Any] | np.bool_], axis: None = None, dtype: None = None, out: None = None, keepdims: Literal[False] = False, *,
    where: Any = True, stream: Any = None, progress: Any = None,
) -> np.float64: ...
@overload
def mean(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False, *,
    where: Any = True, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def var(
    a: DeviceArray, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def var(
    a: _Foreign, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def var(
    a: Any, axis: SupportsIndex, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def var(
    a: NDArray[_Float], axis: None = None, dtype: None = None, out: None = None, ddof: float = 0, keepdims: Literal[False] = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> _Float: ...
@overload
def var(
    a: NDArray[np.integer[Any] | np.bool_], axis: None = None, dtype: None = None, out: None = None, ddof: float = 0, keepdims: Literal[False] = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> np.float64: ...
@overload
def var(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def std(
    a: DeviceArray, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def std(
    a: _Foreign, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def std(
    a: Any, axis: SupportsIndex, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def std(
    a: NDArray[_Float], axis: None = None, dtype: None = None, out: None = None, ddof: float = 0, keepdims: Literal[False] = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> _Float: ...
@overload
def std(
    a: NDArray[np.integer[Any] | np.bool_], axis: None = None, dtype: None = None, out: None = None, ddof: float = 0, keepdims: Literal[False] = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> np.float64: ...
@overload
def std(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def argmin(
    a: DeviceArray, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def argmin(
    a: _Foreign, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def argmin(
    a: Any, axis: SupportsIndex, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def argmin(
    a: NDArray[Any], axis: None = None, out: None = None, *, keepdims: Literal[False] = False, stream: Any = None, progress: Any = None,
) -> np.intp: ...
@overload
def argmin(
    a: Any, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def argmax(
    a: DeviceArray, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def argmax(
    a: _Foreign, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def argmax(
    a: Any, axis: SupportsIndex, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def argmax(
    a: NDArray[Any], axis: None = None, out: None = None, *, keepdims: Literal[False] = False, stream: Any = None, progress: Any = None,
) -> np.intp: ...
@overload
def argmax(
    a: Any, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def cumsum(
    a: DeviceArray, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Any = None, *,
    stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def cumsum(
    a: _Foreign, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Any = None, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def cumsum(
    a: Any, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Any = None, *,
    stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def cumprod(
    a: DeviceArray, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Any = None, *,
    stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def cumprod(
    a: _Foreign, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Any = None, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def cumprod(
    a: Any, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Any = None, *,
    stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def count_nonzero(a: DeviceArray, axis: _Axes = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None) -> DeviceArray: ...
@overload
def count_nonzero(a: _Foreign, axis: _Axes = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None) -> Any: ...
@overload
def count_nonzero(a: Any, axis: SupportsIndex, *, keepdims: bool = False, stream: Any = None, progress: Any = None) -> NDArray[Any]: ...
@overload
def count_nonzero(a: NDArray[Any], axis: None = None, *, keepdims: Literal[False] = False, stream: Any = None, progress: Any = None) -> np.intp: ...
@overload
def count_nonzero(a: Any, axis: _Axes = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None) -> Any: ...
@overload
def minmax(
    a: DeviceArray, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, initial: Any = ..., where: Any = True,
    stream: Any = None, progress: Any = None,
) -> tuple[DeviceArray, DeviceArray]: ...
@overload
def minmax(
    a: _Foreign, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, initial: Any = ..., where: Any = True,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def minmax(
    a: Any, axis: SupportsIndex, out: Any = None, keepdims: bool = False, *, initial: Any = ..., where: Any = True,
    stream: Any = None, progress: Any = None,
) -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def minmax(
    a: NDArray[_S], axis: None = None, out: None = None, keepdims: Literal[False] = False, *, initial: Any = ..., where: Any = True,
    stream: Any = None, progress: Any = None,
) -> tuple[_S, _S]: ...
@overload
def minmax(
    a: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, initial: Any = ..., where: Any = True,
    stream: Any = None, progress: Any = None,
) -> tuple[Any, Any]: ...
@overload
def logsumexp(
    a: DeviceArray, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, where: Any = True, stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def logsumexp(
    a: _Foreign, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, where: Any = True, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def logsumexp(
    a: Any, axis: SupportsIndex, out: Any = None, keepdims: bool = False, *, where: Any = True, stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def logsumexp(
    a: NDArray[_Float], axis: None = None, out: None = None, keepdims: Literal[False] = False, *, where: Any = True, stream: Any = None, progress: Any = None,
) -> _Float: ...
@overload
def logsumexp(
    a: NDArray[np.integer[Any] | np.bool_], axis: None = None, out: None = None, keepdims: Literal[False] = False, *, where: Any = True, stream: Any = None, progress: Any = None,
) -> np.float64: ...
@overload
def logsumexp(
    a: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, where: Any = True, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def top1(
    a: DeviceArray, payload: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, stream: Any = None, progress: Any = None,
) -> tuple[DeviceArray, DeviceArray]: ...
@overload
def top1(
    a: _Foreign, payload: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def top1(
    a: Any, payload: Any, axis: SupportsIndex, out: Any = None, keepdims: bool = False, *, stream: Any = None, progress: Any = None,
) -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def top1(
    a: NDArray[_S], payload: NDArray[_P], axis: None = None, out: None = None, keepdims: Literal[False] = False, *, stream: Any = None, progress: Any = None,
) -> tuple[_S, _P]: ...
@overload
def top1(
    a: Any, payload: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, *, stream: Any = None, progress: Any = None,
) -> tuple[Any, Any]: ...
@overload
def topk(a: DeviceArray, k: SupportsIndex, axis: SupportsIndex = -1, split_every: Any = None, *, progress: Any = None) -> DeviceArray: ...
@overload
def topk(a: _Foreign, k: SupportsIndex, axis: SupportsIndex = -1, split_every: Any = None, *, progress: Any = None) -> Any: ...
@overload
def topk(a: Any, k: SupportsIndex, axis: SupportsIndex = -1, split_every: Any = None, *, progress: Any = None) -> NDArray[Any]: ...
@overload
def argtopk(a: DeviceArray, k: SupportsIndex, axis: SupportsIndex = -1, split_every: Any = None, *, progress: Any = None) -> DeviceArray: ...
@overload
def argtopk(a: _Foreign, k: SupportsIndex, axis: SupportsIndex = -1, split_every: Any = None, *, progress: Any = None) -> Any: ...
@overload
def argtopk(a: Any, k: SupportsIndex, axis: SupportsIndex = -1, split_every: Any = None, *, progress: Any = None) -> NDArray[Any]: ...
@overload
def running_maximum(a: DeviceArray, axis: SupportsIndex = 0, out: Any = None, *, stream: Any = None, progress: Any = None) -> DeviceArray: ...
@overload
def running_maximum(a: _Foreign, axis: SupportsIndex = 0, out: Any = None, *, stream: Any = None, progress: Any = None) -> Any: ...
@overload
def running_maximum(a: Any, axis: SupportsIndex = 0, out: Any = None, *, stream: Any = None, progress: Any = None) -> NDArray[Any]: ...
@overload
def affine_scan(
    a: DeviceArray, b: Any, axis: SupportsIndex = 0, out: Any = None, *, initial: Any = 0, stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def affine_scan(
    a: _Foreign, b: Any, axis: SupportsIndex = 0, out: Any = None, *, initial: Any = 0, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def affine_scan(
    a: Any, b: Any, axis: SupportsIndex = 0, out: Any = None, *, initial: Any = 0, stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def segmented_sum(values: DeviceArray, starts: Any, axis: SupportsIndex = 0, out: Any = None, *, stream: Any = None, progress: Any = None) -> DeviceArray: ...
@overload
def segmented_sum(values: _Foreign, starts: Any, axis: SupportsIndex = 0, out: Any = None, *, stream: Any = None, progress: Any = None) -> Any: ...
@overload
def segmented_sum(values: Any, starts: Any, axis: SupportsIndex = 0, out: Any = None, *, stream: Any = None, progress: Any = None) -> NDArray[Any]: ...
@overload
def nansum(
    a: DeviceArray, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def nansum(
    a: _Foreign, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nansum(
    a: Any, axis: SupportsIndex, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def nansum(
    a: NDArray[_Inexact], axis: None = None, dtype: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> _Inexact: ...
@overload
def nansum(
    a: NDArray[np.unsignedinteger[Any]], axis: None = None, dtype: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> np.uint64: ...
@overload
def nansum(
    a: NDArray[np.signedinteger[Any] | np.bool_], axis: None = None, dtype: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> np.int64: ...
@overload
def nansum(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nanprod(
    a: DeviceArray, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def nanprod(
    a: _Foreign, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nanprod(
    a: Any, axis: SupportsIndex, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def nanprod(
    a: NDArray[_Inexact], axis: None = None, dtype: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> _Inexact: ...
@overload
def nanprod(
    a: NDArray[np.unsignedinteger[Any]], axis: None = None, dtype: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> np.uint64: ...
@overload
def nanprod(
    a: NDArray[np.signedinteger[Any] | np.bool_], axis: None = None, dtype: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> np.int64: ...
@overload
def nanprod(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False,
    initial: Any = ..., where: Any = True, *, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nanmin(
    a: DeviceArray, axis: _Axes = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def nanmin(
    a: _Foreign, axis: _Axes = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nanmin(
    a: Any, axis: SupportsIndex, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def nanmin(
    a: NDArray[_S], axis: None = None, out: None = None, keepdims: Literal[False] = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> _S: ...
@overload
def nanmin(
    a: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nanmax(
    a: DeviceArray, axis: _Axes = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def nanmax(
    a: _Foreign, axis: _Axes = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nanmax(
    a: Any, axis: SupportsIndex, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def nanmax(
    a: NDArray[_S], axis: None = None, out: None = None, keepdims: Literal[False] = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> _S: ...
@overload
def nanmax(
    a: Any, axis: _Axes = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nanmean(
    a: DeviceArray, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False, *,
    where: Any = True, stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def nanmean(
    a: _Foreign, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False, *,
    where: Any = True, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nanmean(
    a: Any, axis: SupportsIndex, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False, *,
    where: Any = True, stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def nanmean(
    a: NDArray[_Inexact], axis: None = None, dtype: None = None, out: None = None, keepdims: Literal[False] = False, *,
    where: Any = True, stream: Any = None, progress: Any = None,
) -> _Inexact: ...
@overload
def nanmean(
    a: NDArray[np.integer[Any] | np.bool_], axis: None = None, dtype: None = None, out: None = None, keepdims: Literal[False] = False, *,
    where: Any = True, stream: Any = None, progress: Any = None,
) -> np.float64: ...
@overload
def nanmean(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False, *,
    where: Any = True, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nanvar(
    a: DeviceArray, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def nanvar(
    a: _Foreign, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nanvar(
    a: Any, axis: SupportsIndex, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def nanvar(
    a: NDArray[_Float], axis: None = None, dtype: None = None, out: None = None, ddof: float = 0, keepdims: Literal[False] = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> _Float: ...
@overload
def nanvar(
    a: NDArray[np.integer[Any] | np.bool_], axis: None = None, dtype: None = None, out: None = None, ddof: float = 0, keepdims: Literal[False] = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> np.float64: ...
@overload
def nanvar(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nanstd(
    a: DeviceArray, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def nanstd(
    a: _Foreign, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nanstd(
    a: Any, axis: SupportsIndex, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def nanstd(
    a: NDArray[_Float], axis: None = None, dtype: None = None, out: None = None, ddof: float = 0, keepdims: Literal[False] = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> _Float: ...
@overload
def nanstd(
    a: NDArray[np.integer[Any] | np.bool_], axis: None = None, dtype: None = None, out: None = None, ddof: float = 0, keepdims: Literal[False] = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> np.float64: ...
@overload
def nanstd(
    a: Any, axis: _Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = ..., correction: Any = ..., stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nanargmin(
    a: DeviceArray, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def nanargmin(
    a: _Foreign, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nanargmin(
    a: Any, axis: SupportsIndex, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def nanargmin(
    a: NDArray[Any], axis: None = None, out: None = None, *, keepdims: Literal[False] = False, stream: Any = None, progress: Any = None,
) -> np.intp: ...
@overload
def nanargmin(
    a: Any, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nanargmax(
    a: DeviceArray, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> DeviceArray: ...
@overload
def nanargmax(
    a: _Foreign, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nanargmax(
    a: Any, axis: SupportsIndex, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def nanargmax(
    a: NDArray[Any], axis: None = None, out: None = None, *, keepdims: Literal[False] = False, stream: Any = None, progress: Any = None,
) -> np.intp: ...
@overload
def nanargmax(
    a: Any, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False, stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nancumsum(
    a: DeviceArray, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Any = None, *,
    stream: Any = None,
) -> DeviceArray: ...
@overload
def nancumsum(
    a: _Foreign, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Any = None, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nancumsum(
    a: Any, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Any = None, *,
    stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def nancumprod(
    a: DeviceArray, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Any = None, *,
    stream: Any = None,
) -> DeviceArray: ...
@overload
def nancumprod(
    a: _Foreign, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Any = None, *,
    stream: Any = None, progress: Any = None,
) -> Any: ...
@overload
def nancumprod(
    a: Any, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Any = None, *,
    stream: Any = None, progress: Any = None,
) -> NDArray[Any]: ...
@overload
def median(a: DeviceArray, axis: _Axes = None, out: Any = None, *, keepdims: bool = False) -> DeviceArray: ...
@overload
def median(a: Any, axis: _Axes = None, out: Any = None, *, keepdims: bool = False) -> Any: ...
@overload
def nanmedian(a: DeviceArray, axis: _Axes = None, out: Any = None, *, keepdims: bool = False) -> DeviceArray: ...
@overload
def nanmedian(a: Any, axis: _Axes = None, out: Any = None, *, keepdims: bool = False) -> Any: ...
@overload
def quantile(a: DeviceArray, q: Any, axis: _Axes = None, out: Any = None, *, method: str = "linear", keepdims: bool = False) -> DeviceArray: ...
@overload
def quantile(a: Any, q: Any, axis: _Axes = None, out: Any = None, *, method: str = "linear", keepdims: bool = False) -> Any: ...
@overload
def nanquantile(a: DeviceArray, q: Any, axis: _Axes = None, out: Any = None, *, method: str = "linear", keepdims: bool = False) -> DeviceArray: ...
@overload
def nanquantile(a: Any, q: Any, axis: _Axes = None, out: Any = None, *, method: str = "linear", keepdims: bool = False) -> Any: ...
@overload
def percentile(a: DeviceArray, q: Any, axis: _Axes = None, out: Any = None, *, method: str = "linear", keepdims: bool = False) -> DeviceArray: ...
@overload
def percentile(a: Any, q: Any, axis: _Axes = None, out: Any = None, *, method: str = "linear", keepdims: bool = False) -> Any: ...
@overload
def nanpercentile(a: DeviceArray, q: Any, axis: _Axes = None, out: Any = None, *, method: str = "linear", keepdims: bool = False) -> DeviceArray: ...
@overload
def nanpercentile(a: Any, q: Any, axis: _Axes = None, out: Any = None, *, method: str = "linear", keepdims: bool = False) -> Any: ...
