"""Medians and quantiles of `lanewise.reductions`: of host arrays NumPy's, of their rows in several threads, of device arrays those of lanewise/_array_statistics.py, which
NumPy's functions call."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from lanewise import _core, reductions
from lanewise._row_threads import of_rows

_cuda = _core.cuda
_reductions: Any = reductions
_LONG = 1 << 16  # elements from which on rows are told apart


def _called(name: str, a: Any, axis: Any, out: Any, keepdims: Any, *args: Any, **more: Any) -> Any:
    a = _reductions._array(a, name)
    if not isinstance(a, np.ndarray) and _cuda.is_cuda_array(a):
        a = _cuda.as_cuda_array(a)
    if out is not None:
        _check_out(name, a, axis, out, keepdims, np.shape(args[0]) if args else ())
    if type(a) is not np.ndarray or a.dtype.name != "bfloat16":
        return _computed(name, a, axis, out, keepdims, args, more)
    # in float32: NumPy looks for NaN among floats only, of which bfloat16 is none for it
    result = _computed(name, a.astype(np.float32), axis, None, keepdims, args, more)
    if name.endswith("median"):
        result = result.astype(a.dtype)
    if out is None:
        return result
    np.copyto(out, result, casting="same_kind")
    return out


def _computed(name: str, a: Any, axis: Any, out: Any, keepdims: Any, args: tuple, more: dict) -> Any:
    if type(a) is np.ndarray and a.dtype.kind in "biufc" and axis is not None and a.size >= _LONG and (out is None or _is_of_result(name, a, out, args, more)):
        result = _of_rows(name, a, axis, keepdims, args, more)
        if result is not None and out is None:
            return result
        if result is not None:
            out[...] = result
            return out
    return getattr(np, name)(a, *args, axis=axis, out=out, keepdims=bool(keepdims), **more)


def _check_out(name: str, a: Any, axis: Any, out: Any, keepdims: Any, of_q: tuple) -> None:
    """TypeError or ValueError for what cannot be out=, before anything is computed."""
    if not isinstance(out, np.ndarray) and not _cuda.is_cuda_array(out):
        raise TypeError(f"{name}: out= must be an array, not {type(out).__name__}")
    axes = range(a.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, a.ndim)
    shape = of_q + tuple(1 if d in axes else a.shape[d] for d in range(a.ndim) if keepdims or d not in axes)
    if tuple(out.shape) != shape:
        raise ValueError(f"{name}: out= has shape {tuple(out.shape)}, but the result has {shape}")
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise ValueError(f"{name}: out= is read-only")


def _is_of_result(name: str, a: Any, out: Any, args: tuple, more: dict) -> bool:
    """Whether a result of rows could just be copied there; all else about dtypes is NumPy's."""
    return type(out) is np.ndarray and getattr(np, name)(np.ones(1, a.dtype), *args, **more).dtype == out.dtype


# ---- rows in threads: those that have no NaN are the same with and without it, and NumPy takes several times as long to leave it out ----


def _of_rows(name: str, a: Any, axis: Any, keepdims: Any, args: tuple, more: dict) -> Any:
    """None: there is one row, or nothing in it, or q has several axes, whose places in NumPy's results depend on the function."""
    axes = np.lib.array_utils.normalize_axis_tuple(axis, a.ndim)
    kept = [d for d in range(a.ndim) if d not in axes]
    if not axes or not kept or (args and np.ndim(args[0]) > 1):
        return None
    rows = a.transpose(*kept, *axes)
    if len(axes) > 1:
        rows = rows.reshape(*rows.shape[: len(kept)], -1)
    are_empty: list[bool] = []

    def of_part(part: Any) -> Any:
        """With the axes of q last, of which NumPy's results have them first."""
        if name.startswith("nan") and part.dtype.kind in "fc":
            result = _without_nan(name, part, are_empty, args, more)
        else:
            result = getattr(np, name.removeprefix("nan"))(part, *args, axis=-1, **more)
        return result if result.ndim == len(kept) else np.moveaxis(result, range(result.ndim - len(kept)), range(len(kept), result.ndim))

    result = of_rows(of_part, rows)
    if are_empty:
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=5)
    of_q = result.ndim - len(kept)
    if of_q:
        result = np.ascontiguousarray(np.moveaxis(result, range(len(kept), result.ndim), range(of_q)))
    return np.expand_dims(result, [of_q + d for d in axes]) if keepdims else result


def _without_nan(name: str, part: Any, are_empty: list[bool], args: tuple, more: dict) -> Any:
    whole, others = getattr(np, name.removeprefix("nan")), getattr(np, name)
    missing = np.isnan(part)
    some = missing.any(axis=-1)
    if not some.any():
        return whole(part, *args, axis=-1, **more)
    none = missing.all(axis=-1)
    first = whole(np.ones((1, 1), part.dtype), *args, axis=-1, **more)
    result = np.full((*first.shape[:-1], *some.shape), np.nan, first.dtype)
    for here, f in ((~some, whole), (some & ~none, others)):
        if here.any():
            result[..., here] = f(part[here], *args, axis=-1, **more)
    if none.any():
        are_empty.append(True)
    return result


# ---- what users call ----


def median(a, axis=None, out=None, *, keepdims=False):
    """The median of the elements, as numpy.median: the element in the middle, or the mean of the two there; NaN if one of them is.

    >>> lw.reductions.median([3.0, 1.0, 2.0, 5.0])
    np.float64(2.5)
    """
    return _called("median", a, axis, out, keepdims)


def nanmedian(a, axis=None, out=None, *, keepdims=False):
    """The median of the elements that are not NaN, as numpy.nanmedian.

    >>> lw.reductions.nanmedian([3.0, np.nan, 2.0, 5.0])
    np.float64(3.0)
    """
    return _called("nanmedian", a, axis, out, keepdims)


def quantile(a, q, axis=None, out=None, *, method="linear", keepdims=False):
    """The quantiles q, which are from 0 to 1, as numpy.quantile; the first axes of the result are those of q.

    >>> lw.reductions.quantile([3.0, 1.0, 2.0, 5.0], [0.0, 0.5])
    array([1. , 2.5])
    """
    return _called("quantile", a, axis, out, keepdims, q, method=method)


def nanquantile(a, q, axis=None, out=None, *, method="linear", keepdims=False):
    """The quantiles of the elements that are not NaN, as numpy.nanquantile.

    >>> lw.reductions.nanquantile([3.0, np.nan, 2.0, 5.0], 0.5)
    np.float64(3.0)
    """
    return _called("nanquantile", a, axis, out, keepdims, q, method=method)


def percentile(a, q, axis=None, out=None, *, method="linear", keepdims=False):
    """The percentiles q, which are from 0 to 100, as numpy.percentile; the first axes of the result are those of q.

    >>> lw.reductions.percentile([3.0, 1.0, 2.0, 5.0], 50)
    np.float64(2.5)
    """
    return _called("percentile", a, axis, out, keepdims, q, method=method)


def nanpercentile(a, q, axis=None, out=None, *, method="linear", keepdims=False):
    """The percentiles of the elements that are not NaN, as numpy.nanpercentile.

    >>> lw.reductions.nanpercentile([3.0, np.nan, 2.0, 5.0], 50)
    np.float64(3.0)
    """
    return _called("nanpercentile", a, axis, out, keepdims, q, method=method)
