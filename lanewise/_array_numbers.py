"""NumPy's functions on device arrays that compute: polynomials, cross and Kronecker products, phases, histograms of several
variables, functions given by pieces: more of `lanewise/_array_protocol.py`.

They are written with ufuncs and the functions there.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

import lanewise as lw
from lanewise import _array_protocol as _protocol
from lanewise import _array_statistics as _statistics
from lanewise._array_protocol import _array, _arrays, _before, _deliver, _filled, _first, _new, _of


# ---- polynomials ----


@_of(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    like = _first(p, x)
    if isinstance(x, np.poly1d):
        raise TypeError("numpy.polyval of device arrays: x must be an array or a number, not a poly1d")
    coefficients = list(_array(p, like)) if hasattr(p, "device") else list(np.asarray(p))
    x = _array(x, like)
    kind = np.result_type(x.dtype, *(c.dtype for c in coefficients)) if coefficients else x.dtype
    y = _filled(like, x.shape, kind, 0)
    for c in coefficients:
        y = y * x + c
    return y


@_of(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = x.size if N is None else N
    made = _filled(x, (x.size, n), np.promote_types(x.dtype, np.int_), 1)
    columns = made if increasing else made[:, ::-1]
    for k in range(1, n):
        columns[:, k] = columns[:, k - 1] * x
    return made


@_of(np.polyfit)
def polyfit(x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    like = _first(x, y, w)
    x, y = (_array(one, like) + 0.0 for one in (x, y))
    deg = int(deg)
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1 or x.size == 0:
        raise TypeError("expected 1D vector for x" if x.ndim != 1 else "expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    order = deg + 1
    rcond = len(x) * np.finfo(x.dtype).eps if rcond is None else rcond
    a, b = vander(x, order), y
    if w is not None:
        w = _array(w, like) + 0.0
        if w.ndim != 1 or w.shape[0] != y.shape[0]:
            raise TypeError("expected a 1-d array for weights" if w.ndim != 1 else "expected w and y to have the same length")
        a = a * w[:, None]
        b = b * (w if b.ndim == 1 else w[:, None])
    scale = lw.ufuncs.sqrt((a * a).sum(axis=0))
    c, residuals, rank, s = np.linalg.lstsq(a / scale, b, rcond)
    c = (c.T / scale).T
    if full:
        return c, residuals, rank, s, rcond
    if not cov:
        return c
    base = np.linalg.inv(np.dot((a / scale).T, a / scale)) / np.outer(scale, scale)
    factor: Any = 1
    if cov != "unscaled":
        if len(x) <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (len(x) - order)
    return (c, base * factor) if y.ndim == 1 else (c, base[:, :, None] * factor)


# ---- products ----


@_of(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = _arrays((a, b))
    if a.ndim < 1 or b.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ValueError("incompatible dimensions for cross product of device arrays\n(dimension must be 3)")
    shape = np.broadcast_shapes(a[..., 0].shape, b[..., 0].shape)
    made = _new(a, (*shape, 3), _protocol._result_type(a, b))
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        made[..., i] = a[..., j] * b[..., k] - a[..., k] * b[..., j]
    return np.moveaxis(made, -1, axisc)


@_of(np.kron)
def kron(a: Any, b: Any) -> Any:
    a, b = _arrays((a, b))
    ndim = max(a.ndim, b.ndim)
    one, two = ((1,) * (ndim - x.ndim) + x.shape for x in (a, b))
    a = a.reshape(tuple(n for extent in one for n in (extent, 1)))
    b = b.reshape(tuple(n for extent in two for n in (1, extent)))
    return (a * b).reshape(tuple(n * m for n, m in zip(one, two)))


# ---- sums, differences, phases ----


def _cumulative(function: Any, name: str, start: int) -> None:
    def cumulative(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False) -> Any:
        if axis is None:
            if x.ndim > 1:
                raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
            axis = 0
        if x.ndim == 0:
            x = x.reshape((1,))
        axis = normalize_axis_index(axis, x.ndim)
        scan = getattr(lw.reductions, name)
        if not include_initial:
            return scan(x, axis=axis, dtype=dtype) if out is None else scan(x, axis=axis, dtype=dtype, out=out)
        made = scan(x, axis=axis, dtype=dtype)
        whole = _new(made, tuple(n + (d == axis) for d, n in enumerate(made.shape)), made.dtype)
        whole[_before(axis) + (slice(0, 1),)] = start
        whole[_before(axis) + (slice(1, None),)] = made
        return _deliver(whole, out)

    cumulative.__name__ = function.__name__
    _of(function)(cumulative)


_cumulative(np.cumulative_sum, "cumsum", 0)
_cumulative(np.cumulative_prod, "cumprod", 1)


@_of(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    like = _first(ary, to_end, to_begin)
    ary = _array(ary, like).ravel()
    parts = []
    for name, x in (("to_begin", to_begin), ("", None), ("to_end", to_end)):
        if name and x is not None:
            x = _array(x, like)
            if not np.can_cast(x.dtype, ary.dtype, casting="same_kind"):
                raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
            parts.append(x.ravel().astype(ary.dtype))
        elif not name:
            parts.append(ary[1:] - ary[:-1])
    return _protocol.concatenate(parts) if len(parts) > 1 else parts[0]


@_of(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Any:
    axis = normalize_axis_index(axis, p.ndim)
    steps = _protocol.diff(p, axis=axis)
    discont = period / 2 if discont is None else discont
    kind = np.result_type(steps.dtype, period)
    high, in_middle = (period / 2, True) if kind.kind not in "iu" else (period // 2, period % 2 == 0)
    low = -high
    near = (steps - low) % period + low
    if in_middle:
        near = _protocol.where(lw.ufuncs.logical_and(near == low, steps > 0), _array(np.asarray(high, near.dtype), p), near)
    correction = near - steps
    correction = _protocol.where(lw.ufuncs.absolute(steps) < discont, _array(np.zeros((), correction.dtype), p), correction)
    made = p.astype(kind)
    rest = (*_before(axis), slice(1, None))
    made[rest] = p[rest] + lw.reductions.cumsum(correction, axis=axis)
    return made


# ---- functions of elements ----


@_of(np.sinc)
def sinc(x: Any) -> Any:
    if x.dtype.kind in "mM":
        raise TypeError(f"numpy.sinc of device arrays takes numbers, not {x.dtype}")
    y = (x if x.dtype.kind in "fc" else x.astype(np.float64)) * math.pi
    tiny = _array(np.asarray(np.finfo(y.dtype).eps if y.dtype.kind == "f" else 1e-20, y.dtype), y)
    y = _protocol.where(y == 0, tiny, y)
    return lw.ufuncs.sin(y) / y


@_of(np.i0)
def i0(x: Any) -> Any:
    if x.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    return lw.special.i0(x).astype(x.dtype, copy=False)


@_of(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    return lw.ufuncs.trunc(x, out=out)


@_of(np.isposinf)
def isposinf(x: Any, out: Any = None) -> Any:
    return lw.ufuncs.logical_and(lw.ufuncs.isinf(x), lw.ufuncs.logical_not(lw.ufuncs.signbit(x)), out=out)


@_of(np.isneginf)
def isneginf(x: Any, out: Any = None) -> Any:
    return lw.ufuncs.logical_and(lw.ufuncs.isinf(x), lw.ufuncs.signbit(x), out=out)


@_of(np.iscomplex)
def iscomplex(x: Any) -> Any:
    return x.imag != 0 if x.dtype.kind == "c" else _filled(x, x.shape, np.bool_, False)


@_of(np.isreal)
def isreal(x: Any) -> Any:
    return x.imag == 0 if x.dtype.kind == "c" else _filled(x, x.shape, np.bool_, x.dtype.kind != "M")  # no date is equal to 0


@_of(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    like = _first(x, condlist)
    x = _array(x, like)
    if not isinstance(condlist, (list, tuple)):
        condlist = [condlist] if np.ndim(condlist) < 2 else list(condlist)
    elif len(condlist) and x.ndim != 0 and isinstance(condlist[0], (bool, np.bool_)):
        condlist = [condlist]
    conditions = [_array(one, like).astype(np.bool_) for one in condlist]
    n = len(conditions)
    if len(funclist) == n + 1:
        rest = conditions[0]
        for one in conditions[1:]:
            rest = lw.ufuncs.logical_or(rest, one)
        conditions.append(lw.ufuncs.logical_not(rest))
    elif len(funclist) != n:
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    y = _filled(x, x.shape, x.dtype, 0)
    for condition, function in zip(conditions, funclist):
        if not callable(function):
            y[condition] = function
        else:
            chosen = x[condition]
            if chosen.size:
                y[condition] = function(chosen, *args, **kw)
    return y


@_of(np.apply_along_axis)
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    axis = normalize_axis_index(axis, arr.ndim)
    rows = np.moveaxis(arr, axis, -1)
    outer = rows.shape[:-1]
    if 0 in outer:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made = [func1d(rows[at], *args, **kwargs) for at in np.ndindex(outer)]
    made = [_array(one, arr) for one in made]
    found = _protocol.stack(made).reshape((*outer, *made[0].shape))
    n = made[0].ndim
    return np.moveaxis(found, range(len(outer), len(outer) + n), range(axis, axis + n))


# ---- bits ----


def _bit_order(bitorder: str) -> Any:
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    weights = np.uint8(1) << np.arange(8, dtype=np.uint8)
    return weights[::-1].copy() if bitorder == "big" else weights


@_of(np.packbits)
def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Any:
    if a.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    weights = _bit_order(bitorder)
    if axis is None:
        a, axis = a.ravel(), 0
    a = _protocol._at_least(a, 1)
    rows = np.moveaxis(a, normalize_axis_index(axis, a.ndim), -1) != 0
    n = rows.shape[-1]
    wide = _filled(a, (*rows.shape[:-1], -(-n // 8) * 8), np.uint8, 0)
    wide[..., :n] = rows
    made = (wide.reshape((*rows.shape[:-1], -(-n // 8), 8)) * _array(weights, a)).sum(axis=-1, dtype=np.uint8)
    return np.moveaxis(made, -1, axis)


@_of(np.unpackbits)
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    if a.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    weights = _bit_order(bitorder)
    if axis is None:
        a, axis = a.ravel(), 0
    a = _protocol._at_least(a, 1)
    rows = np.moveaxis(a, normalize_axis_index(axis, a.ndim), -1)
    bits = (lw.ufuncs.bitwise_and(rows[..., None], _array(weights, a)) != 0).astype(np.uint8).reshape((*rows.shape[:-1], rows.shape[-1] * 8))
    n = bits.shape[-1]
    if count is not None and count < 0 and -count > n:
        raise ValueError("-ve count is larger than the number of elements")
    if count is not None:
        want = count if count >= 0 else n + count
        if want <= n:
            bits = bits[..., :want]
        else:
            wide = _filled(a, (*bits.shape[:-1], want), np.uint8, 0)
            wide[..., :n] = bits
            bits = wide
    return np.moveaxis(bits, -1, axis)


# ---- histograms of several variables ----


def _edges_of(x: Any, bins: Any, limits: Any) -> Any:
    """The edges along one variable, on the host."""
    if np.ndim(bins) == 0:
        if bins < 1:
            raise ValueError("`bins` must be positive, when an integer")
        low, high = limits if limits is not None else (_statistics._number(x.min()), _statistics._number(x.max())) if x.size else (0.0, 1.0)
        if low > high:
            raise ValueError("max must be larger than min in range parameter.")
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError(f"autodetected range of [{low}, {high}] is not finite")
        if low == high:
            low, high = low - 0.5, high + 0.5
        return np.linspace(low, high, operator.index(bins) + 1)
    edges = bins.copy_to_host() if hasattr(bins, "copy_to_host") else np.asarray(bins)
    if np.any(edges[:-1] > edges[1:]):
        raise ValueError("`bins` must be monotonically increasing, when an array")
    return edges


@_of(np.histogramdd)
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    like = _first(sample, bins, weights)
    if isinstance(sample, (list, tuple)):
        columns = _arrays(sample)
        common = _protocol._result_type(*columns)
        columns = [x.astype(common, copy=False) for x in columns]
    else:
        sample = sample.reshape((-1, 1)) if sample.ndim == 1 else sample
        columns = [sample[:, d] for d in np.arange(sample.shape[1])]
    n = len(columns)
    bins = list(bins) if isinstance(bins, (list, tuple)) else [bins] * n
    if len(bins) != n:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    if range is not None and len(range) != n:
        raise ValueError("range argument must have one entry per dimension")
    edges = [_edges_of(x, one, None if range is None else range[d]) for d, (x, one) in enumerate(zip(columns, bins))]
    place: Any = 0
    for x, edge in zip(columns, edges):
        at = _statistics.searchsorted(_array(edge, like), x, side="right")
        at = at - (x == edge[-1]).astype(np.int64)
        place = at + place * (len(edge) + 1)
    shape = [len(edge) + 1 for edge in edges]
    counts = _statistics.bincount(place, weights, math.prod(shape)).reshape(shape).astype(np.float64)
    made = counts[tuple(slice(1, -1) for _ in shape)].copy()
    if density:
        total = made.sum()
        for d, edge in enumerate(edges):
            made = made / _array(np.diff(edge), like).reshape(tuple(-1 if k == d else 1 for k, _ in enumerate(edges)))
        made = made / total
    return made, tuple(_array(edge, like) for edge in edges)


@_of(np.histogram2d)
def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if hasattr(bins, "__len__") and len(bins) != 2:  # the edges of both
        bins = [bins, bins] if len(bins) != 1 else [bins[0], bins[0]]
    made, (one, two) = histogramdd([x, y], bins, range, density, weights)
    return made, one, two


@_of(np.array2string)
def array2string(a: Any, *args: Any, **kwargs: Any) -> str:
    return np.array2string(a.copy_to_host(), *args, **kwargs)
