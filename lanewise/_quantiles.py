"""Medians and quantiles of `lanewise.reductions`: of host arrays NumPy's, of device arrays those of lanewise/_array_statistics.py, which
NumPy's functions call."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise import _core, reductions

_cuda = _core.cuda
_reductions: Any = reductions


def _called(name: str, a: Any, axis: Any, out: Any, keepdims: Any, *args: Any, **more: Any) -> Any:
    a = _reductions._array(a, name)
    if not isinstance(a, np.ndarray) and _cuda.is_cuda_array(a):
        a = _cuda.as_cuda_array(a)
    return getattr(np, name)(a, *args, axis=axis, out=out, keepdims=bool(keepdims), **more)


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
