"""NumPy's functions on device arrays that search, count and combine: more of `lanewise/_array_protocol.py`, which imports this file.

Searches are binary searches of each element by a thread; histograms and `bincount` count with atomic operations, so that sums of
weights are added in any order on a GPU; medians and quantiles are read from sorted rows. What decides
the shape of a result (the largest number of `bincount`, the range of a histogram) is read from the device, which waits for it.
"""

from __future__ import annotations

import math
import operator
import warnings
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

import lanewise as lw
from lanewise import _array_protocol as _protocol
from lanewise import _array_statistics_kernels as _kernels
from lanewise._array_protocol import _array, _arrays, _deliver, _filled, _first, _is_own, _new, _of


def _number(x: Any) -> Any:
    """The element of a device array without dimensions, as a NumPy scalar."""
    return np.asarray(x.copy_to_host())[()]


def _flat(x: Any) -> Any:
    return x.ravel() if x.ndim != 1 else x


def _refuse(name: str, what: str, instead: str) -> Exception:
    return lw.errors.UnsupportedError(f"numpy.{name} of device arrays: {what}; {instead}")


_TO_HOST = "call copy_to_host() first, which gives a NumPy array"


# ---- searching ----


def _is_right(side: Any) -> int:
    if not isinstance(side, str):
        raise TypeError(f"search side must be str, not {type(side).__name__}")
    if side not in ("left", "right"):
        raise ValueError(f"search side must be one of 'left' or 'right' (got {side!r})")
    return int(side == "right")


def _refuse_complex(name: str, *arrays: Any) -> None:
    if any(x.dtype.kind == "c" for x in arrays):
        raise _refuse(name, "complex numbers have no order here", _TO_HOST)


@_of(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    right = _is_right(side)
    a, v = _arrays((a, v))
    if a.ndim != 1:
        raise ValueError("object too deep for desired array" if a.ndim else "object of too small depth for desired array")
    if sorter is not None:
        if np.shape(sorter) != a.shape:
            raise ValueError("sorter.size must equal a.size")
        a = a.take(_array(sorter, a))
    _refuse_complex("searchsorted", a, v)
    common = np.result_type(a.dtype, v.dtype)
    if common.kind == "M" and a.dtype.kind != v.dtype.kind:
        raise TypeError(f"searchsorted of device arrays: {a.dtype} and {v.dtype} cannot be compared")
    a, v = (x if x.dtype == common else x.astype(common) for x in (a, v))
    out = _new(a, v.shape, np.int64)
    if v.size:
        _kernels.search(v.size, a, _flat(v), right, out.reshape(-1))
    return out


def _direction(bins: Any) -> int:
    """1: never falls, -1: never rises, 0: neither. Of a host array nothing is copied for it."""
    a, b = bins[:-1], bins[1:]
    return 1 if bool((a <= b).all()) else -1 if bool((a >= b).all()) else 0


@_of(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    like = _first(x, bins)
    x, bins = _array(x, like), bins if _is_own(bins) else np.asarray(bins)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    if bins.ndim != 1:
        raise ValueError("object too deep for desired array" if bins.ndim else "object of too small depth for desired array")
    if bins.dtype.kind == "c":
        raise TypeError(f"Cannot cast array data from {bins.dtype!r} to dtype('float64') according to the rule 'safe'")
    direction = _direction(bins)
    if direction == 0:
        raise ValueError("bins must be monotonically increasing or decreasing")
    side = "left" if right else "right"
    if direction < 0:
        return bins.size - searchsorted(_array(bins[::-1], like), x, side)
    return searchsorted(_array(bins, like), x, side)


@_of(np.isin)
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None) -> Any:
    element, tests = _arrays((element, test_elements))
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    common = np.result_type(element.dtype, tests.dtype)
    if kind == "table" and not (element.dtype.kind in "biu" and tests.dtype.kind in "biu"):
        raise ValueError("The 'table' method is only supported for boolean or integer arrays. Please select 'sort' or None for kind.")
    if tests.size == 0:
        return _filled(element, element.shape, bool, bool(invert))
    if common.kind == "c":
        return _isin_by_order(element.astype(common), tests.astype(common), invert)
    tests = _protocol.sort(_flat(tests.astype(common)))
    values = element.astype(common)
    at = lw.ufuncs.minimum(searchsorted(tests, values), tests.size - 1)
    found = tests.take(at.reshape(-1)).reshape(values.shape) == values
    return ~found if invert else found


def _isin_by_order(element: Any, tests: Any, invert: bool) -> Any:
    """Of numbers that are sorted but not compared: equal ones of both arrays become neighbours."""
    values, where = _protocol.unique(_flat(element), return_inverse=True)
    both = _protocol.concatenate([values, _protocol.unique(_flat(tests))])
    order = both.argsort(stable=True)
    both = both[order]
    again = _filled(element, both.size, np.bool_, False)
    again[:-1] = both[1:] == both[:-1]
    found = _new(element, both.size, np.bool_)
    found[order] = ~again if invert else again
    return found.take(where.reshape(-1)).reshape(element.shape)


# ---- counting ----


def _check_whole(x: Any) -> None:
    if not np.can_cast(x.dtype, np.int64) and x.dtype.kind != "u":
        raise TypeError(f"Cannot cast array data from {x.dtype!r} to {np.dtype(np.int64)!r} according to the rule 'safe'")


@_of(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    like = _first(x, weights)
    is_list = not hasattr(x, "dtype")
    x = _array(x, like)
    if minlength is None:
        raise TypeError("use 0 instead of None for minlength")
    minlength = operator.index(minlength)
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    if x.ndim != 1:
        raise ValueError("object too deep for desired array" if x.ndim else "object of too small depth for desired array")
    if x.size or not is_list:
        _check_whole(x)
    if x.size == 0:
        return _filled(like, minlength, np.int64, 0)
    if x.size:
        low, high = (int(_number(end)) for end in (x.min(), x.max()))
        if low < 0:
            raise ValueError("'list' argument must have no negative elements")
    n = max(high + 1 if x.size else 0, int(minlength))
    if weights is None:
        counts = _filled(like, n, np.int64, 0)
        if x.size:
            _kernels.count(x.size, x.astype(np.int64), counts)
        return counts
    weights = _array(weights, like)
    if weights.shape != x.shape:
        raise ValueError("The weights and list don't have the same length.")
    if not np.can_cast(weights.dtype, np.float64, "safe"):
        raise TypeError(f"Cannot cast array data from {weights.dtype!r} to {np.dtype(np.float64)!r} according to the rule 'safe'")
    sums = _filled(like, n, np.float64, 0.0)
    if x.size:
        _kernels.add_weights(x.size, x.astype(np.int64), weights.astype(np.float64), sums)
    return sums


def _edges(name: str, a: Any, bins: Any, range: Any) -> Any:
    """Where bins begin and end, as NumPy finds them from the extremes and the dtype alone; on the device if they came from there."""
    if isinstance(bins, str):
        raise _refuse(name, f"bins={bins!r} looks at all elements", "give a number of bins, or their edges; or " + _TO_HOST)
    if np.ndim(bins) == 0:
        a = a.astype(np.uint8) if a.dtype.kind == "b" else a
        ends = np.zeros(0, a.dtype) if a.size == 0 or range is not None else np.array([_number(a.min()), _number(a.max())], a.dtype)
        return np.histogram_bin_edges(ends, int(_number(bins)) if _is_own(bins) else bins, range)
    bins = bins if _is_own(bins) else np.asarray(bins)
    if bins.ndim != 1:
        raise ValueError("`bins` must be 1d, when an array")
    if bool((bins[:-1] > bins[1:]).any()):
        raise ValueError("`bins` must increase monotonically, when an array")
    return bins


@_of(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    like = _first(a, bins, weights)
    a = _array(a, like)
    if weights is not None and np.shape(weights) != a.shape:
        raise ValueError("weights should have the same shape as a.")
    return _array(_edges("histogram_bin_edges", a, bins, range), like)


@_of(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    like = _first(a, bins, weights)
    a = _flat(_array(a, like))
    _refuse_complex("histogram", a)
    edges = _array(_edges("histogram", a, bins, range), like)
    n = max(edges.size - 1, 0)
    places = _new(like, a.size, np.int64)
    if a.size and n:
        _kernels.bin_of(a.size, a, edges, places)
    if weights is None:
        counts = _filled(like, n, np.int64, 0)
        if a.size and n:
            _kernels.count_chosen(a.size, places, counts)
    else:
        weights = _array(weights, like)
        if _flat(weights).shape != a.shape:
            raise ValueError("weights should have the same shape as a.")
        if weights.dtype.kind == "c":
            raise _refuse("histogram", "weights are complex numbers", "count their real and imaginary parts")
        counts = _filled(like, n, np.float64, 0.0)
        if a.size and n:
            _kernels.add_chosen(a.size, places, _flat(weights).astype(np.float64), counts)
        counts = counts.astype(weights.dtype)
    if density:
        counts = counts / _protocol.diff(edges).astype(np.float64) / counts.sum()
    return counts, edges


# ---- quantiles ----

#: alpha and beta of the virtual index, as NumPy has them, and how the elements at both sides of it are combined.
_METHODS = {"linear": (1.0, 1.0, 0), "lower": (1.0, 1.0, 1), "higher": (1.0, 1.0, 2), "nearest": (1.0, 1.0, 3), "midpoint": (1.0, 1.0, 4),
            "interpolated_inverted_cdf": (0.0, 1.0, 0), "hazen": (0.5, 0.5, 0), "weibull": (0.0, 0.0, 0), "median_unbiased": (1 / 3, 1 / 3, 0),
            "normal_unbiased": (3 / 8, 3 / 8, 0)}


def _sorted_rows(name: str, a: Any, axis: Any) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
    """The elements of each result in a sorted row; the results' shape without and with the axes."""
    if a.dtype.kind not in "biuf":
        raise _refuse(name, f"elements are {a.dtype}", _TO_HOST)
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    kept = [d for d in range(a.ndim) if d not in axes]
    shape = tuple(a.shape[d] for d in kept)
    rows = a.transpose([*kept, *sorted(axes)]) if a.ndim else a
    rows = rows.reshape((math.prod(shape), math.prod(a.shape[d] for d in axes)))
    return _protocol.sort(rows), shape, tuple(1 if d in axes else a.shape[d] for d in range(a.ndim))


def _mean_dtype(a: Any) -> np.dtype[Any]:
    return a.dtype if a.dtype.kind == "f" else np.dtype(np.float64)


def _median(name: str, without_nan: bool, a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    rows, shape, whole = _sorted_rows(name, a, axis)
    made = _new(a, rows.shape[0], _mean_dtype(a))
    if made.size:
        _kernels.medians(made.size, rows, int(without_nan), made)
    if rows.shape[1] == 0 and made.size:
        warnings.warn("Mean of empty slice", RuntimeWarning, stacklevel=5)
    keep = keepdims is not np._NoValue and keepdims
    return _deliver(made.reshape(whole if keep else shape), out, "unsafe")


@_of(np.median)
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    return _median("median", False, a, axis, out, keepdims)


@_of(np.nanmedian)
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = np._NoValue) -> Any:
    return _median("nanmedian", True, a, axis, out, keepdims)


def _quantile_dtype(a: Any, q: Any) -> np.dtype[Any]:
    """The dtype of quantiles that are interpolated: that of floats if q is a Python number, else the common one."""
    if a.dtype.kind == "f" and type(q) in (int, float):
        return a.dtype
    q = q.dtype if hasattr(q, "dtype") else np.asarray(q).dtype
    return np.result_type(a.dtype, q if q.kind == "f" else np.float64)


def _quantile(name: str, without_nan: bool, percent: bool, a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: Any, weights: Any, interpolation: Any) -> Any:
    if weights is not None:
        raise _refuse(name, "weights= is not supported", _TO_HOST)
    if interpolation is not None:
        raise TypeError(f"{name}() got an unexpected keyword argument 'interpolation': NumPy calls it method= since 1.22")
    if method not in _METHODS:
        known = method in ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")
        raise _refuse(name, f"method={method!r} is not supported", _TO_HOST) if known else ValueError(f"{method!r} is not a valid method. Use one of: {list(_METHODS)}")
    a = _array(a, _first(a, q))
    if a.dtype.kind == "b":
        raise TypeError(f"numpy.{name} of bools is not defined, as in NumPy: pass a.astype(float)")
    if a.dtype.kind in "mM":
        raise _refuse(name, f"elements are {a.dtype}", _TO_HOST)
    dtype = _quantile_dtype(a, q)
    are_elements = method == "linear" and not percent and np.asarray(q.dtype.type(0) if _is_own(q) else q).dtype.kind in "iu" and not (a.dtype.kind == "f" and type(q) is int)
    q = np.asarray(q.copy_to_host() if _is_own(q) else q, np.float64)
    q = q / 100.0 if percent else q
    if not bool(((q >= 0) & (q <= 1)).all()):
        raise ValueError("Percentiles must be in the range [0, 100]" if percent else "Quantiles must be in the range [0, 1]")
    keep = keepdims is not np._NoValue and keepdims
    if a.size == 0 and without_nan:  # as in NumPy, whose result then has no axes of q
        return _deliver(a.mean(axis=axis, keepdims=bool(keep)), out, "unsafe")
    rows, shape, whole = _sorted_rows(name, a, axis)
    if rows.shape[1] == 0 and not without_nan and q.size:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    alpha, beta, kind = _METHODS["lower" if are_elements else method]  # at 0 and 1 nothing is interpolated
    made = _new(a, (q.size, rows.shape[0]), _mean_dtype(a) if kind in (1, 2, 3) else dtype)
    if kind in (1, 2, 3) and a.dtype.kind in "iu" and rows.shape[1]:  # elements, in their dtype: numbers of 64 bits are not rounded
        made = _new(a, made.shape, a.dtype)
        for k, one in enumerate(q.ravel().tolist()):
            at = (rows.shape[1] - 1) * one
            at = math.floor(at) if kind == 1 else math.ceil(at) if kind == 2 else int(np.rint(at))
            if rows.shape[0]:
                _kernels.chosen_elements(rows.shape[0], rows, at, made[k])
    elif made.size:
        _kernels.quantiles(made.shape, rows, _array(q.ravel(), a), alpha, beta, kind, int(without_nan), made)
    return _deliver(made.reshape(q.shape + (whole if keep else shape)), out, "unsafe")


def _register_quantile(name: str, without_nan: bool, percent: bool) -> None:
    def of(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: Any = False, *,
           weights: Any = None, interpolation: Any = None) -> Any:
        return _quantile(name, without_nan, percent, a, q, axis, out, method, keepdims, weights, interpolation)

    _of(getattr(np, name))(of)


for _name, _without_nan, _percent in (("quantile", False, False), ("percentile", False, True), ("nanquantile", True, False), ("nanpercentile", True, True)):
    _register_quantile(_name, _without_nan, _percent)


# ---- along an axis ----


@_of(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    f = _array(f, _first(f, *varargs))
    axes = tuple(range(f.ndim)) if axis is None else normalize_axis_tuple(axis, f.ndim)
    if len(varargs) not in (0, len(axes)) and not (len(varargs) == 1 and np.ndim(varargs[0]) == 0):
        raise TypeError("invalid number of arguments")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    steps = list(varargs) * len(axes) if len(varargs) == 1 else list(varargs) or [1.0] * len(axes)
    if f.dtype.kind == "b":
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` operator, or the logical_xor function instead.")
    if f.dtype.kind in "mM":
        raise _refuse("gradient", f"elements are {f.dtype}", _TO_HOST)
    if f.dtype.kind in "iu":
        f = f.astype(np.float64)
    made = [_gradient(f, step, d, edge_order) for step, d in zip(steps, axes)]
    return made[0] if len(axes) == 1 else tuple(made)


def _steps(step: Any, n: int) -> Any:
    """The distances between points on the host: a number where they are equal."""
    if np.ndim(step) == 0:
        return _number(step) if _is_own(step) else step
    step = np.asarray(step.copy_to_host() if _is_own(step) else step)
    if step.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if step.size != n:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    apart = np.diff(step.astype(np.float64) if step.dtype.kind in "iu" else step)
    return apart[0] if apart.size and bool((apart == apart[0]).all()) else apart


def _edge(h1: Any, h2: Any) -> tuple[Any, Any, Any]:
    """The weights of the first three elements, with h1 and h2 between them, in the derivative at the first one."""
    if h1 == h2:
        return -1.5 / h1, 2.0 / h1, -0.5 / h1
    return -(2.0 * h1 + h2) / (h1 * (h1 + h2)), (h1 + h2) / (h1 * h2), -h1 / (h2 * (h1 + h2))


def _gradient(f: Any, step: Any, axis: int, edge_order: int) -> Any:
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required.")
    h = _steps(step, n)
    x = f.transpose([*[d for d in range(f.ndim) if d != axis], axis])
    out = _new(f, x.shape, f.dtype)
    kind = f.dtype.type
    if np.ndim(h) == 0:
        out[..., 1:-1] = (x[..., 2:] - x[..., :-2]) / kind(2.0 * h)
    else:
        left, right = h[:-1], h[1:]
        before, here, after = (_array(w.astype(f.dtype), f) for w in
                               (-right / (left * (left + right)), (right - left) / (left * right), left / (right * (left + right))))
        out[..., 1:-1] = before * x[..., :-2] + here * x[..., 1:-1] + after * x[..., 2:]
    h = np.broadcast_to(h, n - 1)
    if edge_order == 1:
        out[..., 0] = (x[..., 1] - x[..., 0]) / kind(h[0])
        out[..., -1] = (x[..., -1] - x[..., -2]) / kind(h[-1])
    else:
        a, b, c = map(kind, _edge(h[0], h[1]))
        out[..., 0] = a * x[..., 0] + b * x[..., 1] + c * x[..., 2]
        a, b, c = map(kind, _edge(h[-1], h[-2]))
        out[..., -1] = -(a * x[..., -1] + b * x[..., -2] + c * x[..., -3])
    back = list(range(f.ndim - 1))
    back.insert(axis, f.ndim - 1)
    return out.transpose(back)


@_of(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    like = _first(y, x, dx)
    y = _array(y, like)
    axis = normalize_axis_index(axis, y.ndim)
    if x is not None:
        x = _array(x, like)
        dx = _protocol.diff(x, axis=axis if x.ndim > 1 else -1)
        if x.ndim == 1:
            dx = dx.reshape((-1,) + (1,) * (y.ndim - 1 - axis))
    rows = y.transpose([axis, *[d for d in range(y.ndim) if d != axis]])
    total = rows[1:] + rows[:-1]
    back = [*range(1, axis + 1), 0, *range(axis + 1, y.ndim)]
    return (dx * total.transpose(back) / 2.0).sum(axis=axis)


@_of(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    like = _first(x, xp, fp)
    x, xp, fp = (_array(one, like) for one in (x, xp, fp))
    for one in (x, xp):
        if not np.can_cast(one.dtype, np.float64, "safe") and one.dtype.kind not in "iu":
            raise TypeError(f"Cannot cast array data from {one.dtype!r} to dtype('float64') according to the rule 'safe'")
    kind = np.complex128 if fp.dtype.kind == "c" else np.float64
    x, xp, fp = x.astype(np.float64), xp.astype(np.float64), fp.astype(kind)
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences" if period is not None else "object too deep for desired array")
    if xp.shape != fp.shape:
        raise ValueError("fp and xp are not of the same length.")
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        period, left, right = abs(period), None, None
        x, xp = x % period, xp % period
        order = xp.argsort()
        xp, fp = xp.take(order), fp.take(order)
        xp = _protocol.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = _protocol.concatenate([fp[-1:], fp, fp[:1]])
    if xp.size == 0:
        raise ValueError("array of sample points is empty")
    ends = [fp[at:at + 1] if given is None else _array(np.array([given], kind), like) for given, at in ((left, 0), (right, xp.size - 1))]
    out = _new(like, x.shape, kind)
    if x.size:
        _kernels.interpolate(x.size, _flat(x), xp, fp, *ends, out.reshape(-1))
    return out
