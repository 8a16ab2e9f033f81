"""Functions of whole arrays in compiled code, ``sum(row)``, ``np.max(m)``, ``row.sort()``, and NumPy's functions of numbers
that are no ufuncs, ``np.isclose(x, y)``.

Compiled, never called. The front end takes the function of this module that has the name of
what is called (core/front/read/array_function.c, which has their list); Python's own ones have an
underscore behind. Elements are taken in the order of their indices, the last axis fastest, and sums and products
are made in that order. Sums of float32 and complex64, where NumPy adds in pairs, are made in float64 and
complex128 and rounded once: one by one in float32 the error would grow with the length. Products are made in the type of the result;
sums and products of float16 and bfloat16 in float64 and float32.
"""

from __future__ import annotations

import math

import numpy as np

import lanewise as lw
from lanewise._core import intrinsics
from lanewise._generator_expressions import widened
from lanewise.errors import TypingError
from lanewise.random import _check_integer  # type: ignore[attr-defined]

_arrays = intrinsics.arrays  # core/tables/array_names.def


def itself(a):  # x.ctypes: a function of C takes the array
    return a


def _sum_type(t):
    """What NumPy makes of sums and products of elements of type t."""
    if t == np.bool_ or t == np.int8 or t == np.int16 or t == np.int32:
        return np.int64
    if t == np.uint8 or t == np.uint16 or t == np.uint32:
        return np.uint64
    return t


def _mean_type(t):
    if isinstance(t(0), (np.inexact, np.timedelta64, np.datetime64)) or t == lw.bfloat16:
        return t  # dates cannot be added, which is said where they are
    return np.float64


def _work_type(t):
    """In what products of type t are made."""
    if t == np.float16 or t == lw.bfloat16:
        return np.float32
    return t


def _total_type(t):
    """In what sums of type t are made."""
    if t == np.float32 or t == np.float16 or t == lw.bfloat16:
        return np.float64
    if t == np.complex64:
        return np.complex128
    return t


def _add(a, start):
    s = start
    for i in range(a.shape[0]):
        if a.ndim == 1:
            s += type(start)(a[i])
        else:
            s = _add(a[i], s)
    return s


def _multiply(a, start):
    p = start
    for i in range(a.shape[0]):
        if a.ndim == 1:
            p *= type(start)(a[i])
        else:
            p = _multiply(a[i], p)
    return p


def _first(a):
    return a[0] if a.ndim == 1 else _first(a[0])


# ---- Python's ----


def sum_(a, start=None):
    t = _sum_type(a.dtype.type)
    zero = _work_type(t)(0)
    s = zero if start is None else start + zero
    for i in range(a.shape[0]):
        s += type(zero)(a[i])
    return t(s) if start is None else s


def min_(a):
    if a.shape[0] == 0:
        raise ValueError("min() iterable argument is empty")
    least = a[0]
    for i in range(1, a.shape[0]):
        if a[i] < least:
            least = a[i]
    return least


def max_(a):
    if a.shape[0] == 0:
        raise ValueError("max() iterable argument is empty")
    most = a[0]
    for i in range(1, a.shape[0]):
        if a[i] > most:
            most = a[i]
    return most


def any_(a):
    return any(a)


def all_(a):
    return all(a)


# ---- axes ----


def _without(t, axis):
    """A tuple without the item of this axis."""
    if len(t) == 1:
        return ()
    return (t[0] if axis > 0 else t[1], *_without(t[1:], axis - 1 if axis > 0 else 0))


def _axis_first(a, axis):
    """A view whose first axis is this one."""
    if axis == 0:
        return a
    return _arrays.viewed(a, (a.shape[axis], *_without(a.shape, axis)), (a.strides[axis], *_without(a.strides, axis)))


def _axis_last(a, axis):
    if axis == a.ndim - 1:
        return a
    return _arrays.viewed(a, (*_without(a.shape, axis), a.shape[axis]), (*_without(a.strides, axis), a.strides[axis]))


def _axes_last(a, axes):
    """A view whose last axes are these, in their order, each counted from 0."""
    return a if len(axes) == 0 else _axes_last(_axis_last(a, axes[0]), _moved(axes[1:], axes[0], a.ndim))


def _moved(axes, gone, ndim):
    """What the other axes are called once `gone` is the last one."""
    return () if len(axes) == 0 else (axes[0] - 1 if axes[0] > gone else axes[0], *_moved(axes[1:], gone, ndim))


def _counted(axes, ndim):
    """The axes, counted from 0 on."""
    if not isinstance(axes, (tuple, list)):
        return (_arrays.axis(axes, ndim),)
    return () if len(axes) == 0 else (_arrays.axis(axes[0], ndim), *_counted(axes[1:], ndim))


def _check_unique(axes):
    if len(axes) > 1:
        if axes[0] in axes[1:]:
            raise ValueError(f"duplicate value in 'axis': {axes[0]}")
        _check_unique(axes[1:])


def _ones(n):
    return () if n == 0 else (1, *_ones(n - 1))


def _kept(shape, axes, i, one):
    """Of each axis its item, and `one` for those that were reduced."""
    if i == len(shape):
        return ()
    return (one if i in axes else shape[i], *_kept(shape, axes, i + 1, one))


def _into(out, a, f, t, x):
    """out[i, j] = f(a[i, j], t, x): f takes what is left of a behind the axes of out."""
    for i in range(out.shape[0]):
        if out.ndim == 1:
            out[i] = f(a[i], t, x)
        else:
            _into(out[i], a[i], f, t, x)


def _lined(a, axis):
    """The only element of an array without axes as a row, and of none along an axis that NumPy does not take."""
    if axis is not None:
        _check_unique(_counted(axis, 1))
    return _arrays.viewed(a, (1,), (a.itemsize,))


def _reduced(a, axis, keepdims, result, f, t=None, x=None):
    """f(part, t, x) of a as a whole, or of its parts along one axis or some; result: the type of what f returns."""
    if a.ndim == 0:
        return f(_lined(a, axis), t, x)
    if axis is None:
        if not keepdims:
            return f(a, t, x)
        whole = np.empty(_ones(a.ndim), result)
        whole[...] = f(a, t, x)
        return whole
    axes = _counted(axis, a.ndim)
    _check_unique(axes)
    if len(axes) == 0:
        raise ValueError("an empty tuple of axes is not supported in compiled code")
    if len(axes) == a.ndim:
        return _reduced(a, None, keepdims, result, f, t, x)
    moved = _axes_last(a, axes)
    out = np.empty(moved.shape[:a.ndim - len(axes)], result)
    _into(out, moved, f, t, x)
    return _arrays.shaped(out, _kept(a.shape, axes, 0, 1)) if keepdims else out


def _known_axis(axis, ndim):
    """The number of an axis on which types depend."""
    if not _arrays.is_known(axis):
        raise TypingError("the axis has to be known when the function is compiled: write it as a constant, or choose by `if axis == 0`")
    return _arrays.axis(axis, ndim)


def check_integers(x, name):
    """Whether a parameter of this name, a number or an array, has integers. A float is not cut to one: NumPy cuts some silently."""
    if isinstance(x, np.ndarray):
        if not isinstance(x.dtype.type(0), (np.integer, np.bool_)):
            raise TypingError("`", name, "` needs integers, and the elements of this array are of another type: write `x.astype(np.int64)`")
    else:
        _check_integer(x, name)


def _is_outer(ndim, axis):
    """Whether a fold along this axis goes through memory in order only where it takes whole rows."""
    return axis is not None and ndim > 1 and axis != -1 and axis != ndim - 1


def _fold(totals, a, axis, step):
    """totals = step(totals, each of the parts of a along the axis)."""
    if axis == 0:
        for i in range(a.shape[0]):
            step(totals, a[i])
    else:
        for i in range(a.shape[0]):
            _fold(totals[i], a[i], axis - 1, step)


def _folded(a, axis, keepdims, start, step):
    """Row by row: the items of each total are taken in the same order as by `_reduced`."""
    k = _arrays.axis(axis, a.ndim)
    totals = np.empty(_without(a.shape, k), type(start))
    totals[...] = start
    _fold(totals, a, k, step)
    return _arrays.shaped(totals, _kept(a.shape, (k,), 0, 1)) if keepdims else totals


def _as(totals, t):
    if totals.dtype == t:
        return totals
    out = np.empty(totals.shape, t)
    _cast_to(out, totals)
    return out


def _cast_to(out, a):
    if a.ndim == 0:
        out[()] = out.dtype.type(a[()])
        return
    for i in range(a.shape[0]):
        if a.ndim == 1:
            out[i] = out.dtype.type(a[i])
        else:
            _cast_to(out[i], a[i])


def _given(result, out):
    """What a function with `out=` returns."""
    if out is None:
        return result
    ndim = result.ndim if isinstance(result, np.ndarray) else 0
    if out.ndim != ndim:
        raise ValueError(f"output parameter has the wrong number of dimensions: Found {out.ndim} but expected {ndim}")
    if ndim > 0 and out.shape != result.shape:
        raise ValueError("output parameter has the wrong shape")
    out[...] = result
    return out


# ---- NumPy's ----


def _part(totals, a):
    """a in the type of totals, where + would not store it there."""
    return _as(a, totals.dtype.type) if isinstance(totals.dtype.type(0), np.integer) and isinstance(a.dtype.type(0), (np.inexact, np.bool_)) else a


def _add_to(totals, a):
    totals += _part(totals, a)


def _multiply_by(totals, a):
    totals *= _part(totals, a)


def _type_of(dtype, a):
    """The type of a dtype given in any form."""
    return _arrays.viewed(a, (), (), dtype).dtype.type


def _whole_sum(a, t, start):
    return t(_add(a, start))


def _whole_prod(a, t, start):
    return t(_multiply(a, start))


def sum(a, axis=None, dtype=None, out=None, keepdims=False, initial=0):
    a = _array_of(a)
    t = _sum_type(a.dtype.type) if dtype is None else _type_of(dtype, a)
    w = _total_type(t)
    if not isinstance(axis, (tuple, list)) and _arrays.is_known(axis) and _is_outer(a.ndim, axis):
        return _given(_as(_folded(a, axis, keepdims, w(initial), _add_to), t), out)
    return _given(_reduced(a, axis, keepdims, t, _whole_sum, t, w(initial)), out)


def prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=1):
    a = _array_of(a)
    t = _sum_type(a.dtype.type) if dtype is None else _type_of(dtype, a)
    w = _work_type(t)
    if not isinstance(axis, (tuple, list)) and _arrays.is_known(axis) and _is_outer(a.ndim, axis):
        return _given(_as(_folded(a, axis, keepdims, w(initial), _multiply_by), t), out)
    return _given(_reduced(a, axis, keepdims, t, _whole_prod, t, w(initial)), out)


def _of_total(total, n):
    """The mean of n elements."""
    if isinstance(total, np.timedelta64):
        return total / n
    return total / type(total)(n)


def _mean(a, t, x):
    w = _total_type(t)
    return t(_of_total(_add(a, w(0)), a.size))


def mean(a, axis=None, dtype=None, out=None, keepdims=False):
    a = _array_of(a)
    t = _mean_type(a.dtype.type) if dtype is None else _type_of(dtype, a)
    w = _total_type(t)
    if not isinstance(axis, (tuple, list)) and _arrays.is_known(axis) and _is_outer(a.ndim, axis):
        totals = _folded(a, axis, keepdims, w(0), _add_to)
        n = a.shape[_arrays.axis(axis, a.ndim)]
        if isinstance(t(0), (np.integer, np.bool_)):
            return _given(_as(totals / n, t), out)
        if t == a.dtype.type and isinstance(t(0), np.timedelta64):
            totals /= n
        else:
            totals /= w(n)
        return _given(_as(totals, t), out)
    return _given(_reduced(a, axis, keepdims, t, _mean, t), out)


def _distances(a, middle, leaves_nan, start, rest):
    """The sums of the squared distances from `middle`, and of the distances: added to these two."""
    s = start
    r = rest
    for i in range(a.shape[0]):
        if a.ndim > 1:
            s, r = _distances(a[i], middle, leaves_nan, s, r)
        elif not leaves_nan or a[i] == a[i]:
            d = type(middle)(a[i]) - middle
            r += d
            s += d.real * d.real + d.imag * d.imag if isinstance(d, np.complexfloating) else d * d
    return s, r


def _squares(a, middle, leaves_nan, n):
    """The sum of the squared distances from the mean of n elements, of which `middle` is nearly the mean: the sum of the
    distances from it, which would be 0, says how far off it is (Chan, Golub and LeVeque, "Algorithms for computing the sample
    variance", 1983)."""
    zero = abs(type(middle)(0))
    s, r = _distances(a, middle, leaves_nan, zero, type(middle)(0))
    q = s - (r.real * r.real + r.imag * r.imag if isinstance(r, np.complexfloating) else r * r) / type(zero)(n)
    return zero if q < zero else q


def _var(a, t, ddof):
    w = _total_type(t)
    middle = _add(a, w(0)) / w(a.size)
    zero = abs(w(0))
    n = a.size - ddof
    return type(abs(t(0)))(_squares(a, middle, False, a.size) / type(zero)(n if n > 0 else 0))


def _std(a, t, ddof):
    return math.sqrt(_var(a, t, ddof))


def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    a = _array_of(a)
    t = _mean_type(a.dtype.type) if dtype is None else _type_of(dtype, a)
    return _given(_reduced(a, axis, keepdims, type(abs(t(0))), _var, t, ddof), out)


def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    a = _array_of(a)
    t = _mean_type(a.dtype.type) if dtype is None else _type_of(dtype, a)
    return _given(_reduced(a, axis, keepdims, type(abs(t(0))), _std, t, ddof), out)


def _least(a, least):
    for i in range(a.shape[0]):
        least = np.minimum(least, a[i]) if a.ndim == 1 else _least(a[i], least)
    return least


def _most(a, most):
    for i in range(a.shape[0]):
        most = np.maximum(most, a[i]) if a.ndim == 1 else _most(a[i], most)
    return most


def _whole_min(a, t, initial):
    if isinstance(a.dtype.type(0), np.bool_) and a.size > 0:  # ends at the first False
        return (initial is None or np.bool_(initial)) and _all(a)
    if initial is not None:
        return a.dtype.type(_least(a, a.dtype.type(initial)))
    if a.size == 0:
        raise ValueError("zero-size array to reduction operation minimum which has no identity")
    return a.dtype.type(_least(a, _first(a)))


def _whole_max(a, t, initial):
    if isinstance(a.dtype.type(0), np.bool_) and a.size > 0:
        return (initial is not None and np.bool_(initial)) or _any(a)
    if initial is not None:
        return a.dtype.type(_most(a, a.dtype.type(initial)))
    if a.size == 0:
        raise ValueError("zero-size array to reduction operation maximum which has no identity")
    return a.dtype.type(_most(a, _first(a)))


def _whole_ptp(a, t, x):
    return _whole_max(a, None, None) - _whole_min(a, None, None)


def min(a, axis=None, out=None, keepdims=False, initial=None):
    a = _array_of(a)
    return _given(_reduced(a, axis, keepdims, a.dtype.type, _whole_min, None, initial), out)


def max(a, axis=None, out=None, keepdims=False, initial=None):
    a = _array_of(a)
    return _given(_reduced(a, axis, keepdims, a.dtype.type, _whole_max, None, initial), out)


def ptp(a, axis=None):
    a = _array_of(a)
    if isinstance(a.dtype.type(0), np.bool_) and a.size >= 0:
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` operator, or the logical_xor function instead.")
    return _reduced(a, axis, False, type(a.dtype.type(0) - a.dtype.type(0)), _whole_ptp)


#: Elements that are looked at before any() and all() ask whether the result is known: a loop that may end at each element has no vectors.
_AT_ONCE = 1024


def _any(a, t=None, x=None):
    if a.ndim > 1:
        for i in range(a.shape[0]):
            if _any(a[i]):
                return True
        return False
    for begin in range(0, a.shape[0], _AT_ONCE):
        found = False
        for i in range(begin, begin + _AT_ONCE if begin + _AT_ONCE < a.shape[0] else a.shape[0]):
            found |= bool(a[i])
        if found:
            return True
    return False


def _all(a, t=None, x=None):
    if a.ndim > 1:
        for i in range(a.shape[0]):
            if not _all(a[i]):
                return False
        return True
    for begin in range(0, a.shape[0], _AT_ONCE):
        found = True
        for i in range(begin, begin + _AT_ONCE if begin + _AT_ONCE < a.shape[0] else a.shape[0]):
            found &= bool(a[i])
        if not found:
            return False
    return True


def any(a, axis=None, out=None, keepdims=False):
    a = _array_of(a)
    return _given(_reduced(a, axis, keepdims, np.bool_, _any), out)


def all(a, axis=None, out=None, keepdims=False):
    a = _array_of(a)
    return _given(_reduced(a, axis, keepdims, np.bool_, _all), out)


def _count(a, t=None, x=None):
    n = 0
    for i in range(a.shape[0]):
        if a.ndim == 1:
            n += 1 if a[i] else 0
        else:
            n += _count(a[i])
    return n


def count_nonzero(a, axis=None, *, keepdims=False):
    a = _array_of(a)
    return _reduced(a, axis, keepdims, np.int64, _count)


_ARG_BLOCK = 128  # elements: the search within a block takes a part of the time, and so does the end of a block


def _arg_in_line(less, pick, a, best, place, offset):
    """The same of an array with one axis, whose blocks are folded as vectors; the place is searched in one of them."""
    start = -1
    for first in range(0, a.shape[0], _ARG_BLOCK):
        end = first + _ARG_BLOCK if first + _ARG_BLOCK < a.shape[0] else a.shape[0]
        x = a[first]
        for i in range(first, end):
            x = pick(x, a[i])
        if less(x, best) or (x != x and best == best):
            best = x
            start = first
    if start >= 0:
        end = start + _ARG_BLOCK if start + _ARG_BLOCK < a.shape[0] else a.shape[0]
        while start < end - 1 and a[start] != best and a[start] == a[start]:
            start += 1
        place = offset + start
    return best, place


def _arg(less, pick, a, best, place, offset):
    """Value and place of the first of a's elements that is less than all before it; a NaN is. pick: the lesser of two."""
    if _arrays.on_host() and a.ndim == 1 and isinstance(a.dtype.type(0), (np.integer, np.floating)):
        return _arg_in_line(less, pick, a, best, place, offset)
    for i in range(a.shape[0]):
        if a.ndim == 1:
            if less(a[i], best) or (a[i] != a[i] and best == best):
                best = a[i]
                place = offset + i
        else:
            best, place = _arg(less, pick, a[i], best, place, offset + i * a[i].size)
    return best, place


def _is_below(x, y):
    """x < y, and the same of complex numbers in NumPy's order; False where one is NaN."""
    return _is_less(x, y) and y == y if isinstance(x, np.complexfloating) else x < y


def _whole_argmin(a, t, x):
    if a.size == 0:
        raise ValueError("attempt to get argmin of an empty sequence")
    return _arg(lambda x, y: _is_below(x, y), np.minimum, a, _first(a), 0, 0)[1]


def _whole_argmax(a, t, x):
    if a.size == 0:
        raise ValueError("attempt to get argmax of an empty sequence")
    return _arg(lambda x, y: _is_below(y, x), np.maximum, a, _first(a), 0, 0)[1]


def argmin(a, axis=None, out=None, *, keepdims=False):
    a = _array_of(a)
    return _given(_reduced(a, axis, keepdims, np.int64, _whole_argmin), out)


def argmax(a, axis=None, out=None, *, keepdims=False):
    a = _array_of(a)
    return _given(_reduced(a, axis, keepdims, np.int64, _whole_argmax), out)


# ---- NaN apart ----


def _nan_add(a, start):
    s = start
    for i in range(a.shape[0]):
        if a.ndim == 1:
            s += type(start)(a[i]) if a[i] == a[i] else type(start)(0)
        else:
            s = _nan_add(a[i], s)
    return s


def _nan_multiply(a, start):
    p = start
    for i in range(a.shape[0]):
        if a.ndim == 1:
            p *= type(start)(a[i]) if a[i] == a[i] else type(start)(1)
        else:
            p = _nan_multiply(a[i], p)
    return p


def _nan_count(a):
    n = 0
    for i in range(a.shape[0]):
        if a.ndim == 1:
            n += 1 if a[i] == a[i] else 0
        else:
            n += _nan_count(a[i])
    return n


def _nan_sum(a, t, x):
    return t(_nan_add(a, _total_type(t)(0)))


def _nan_prod(a, t, x):
    return t(_nan_multiply(a, _work_type(t)(1)))


def nansum(a, axis=None, dtype=None, out=None, keepdims=False):
    a = _array_of(a)
    t = _sum_type(a.dtype.type) if dtype is None else _type_of(dtype, a)
    return _given(_reduced(a, axis, keepdims, t, _nan_sum, t), out)


def nanprod(a, axis=None, dtype=None, out=None, keepdims=False):
    a = _array_of(a)
    t = _sum_type(a.dtype.type) if dtype is None else _type_of(dtype, a)
    return _given(_reduced(a, axis, keepdims, t, _nan_prod, t), out)


def _nan_mean(a, t, x):
    w = _total_type(t)
    return t(_nan_add(a, w(0)) / w(_nan_count(a)))


def nanmean(a, axis=None, dtype=None, out=None, keepdims=False):
    a = _array_of(a)
    t = _mean_type(a.dtype.type) if dtype is None else _type_of(dtype, a)
    return _given(_reduced(a, axis, keepdims, t, _nan_mean, t), out)


def _nan_var(a, t, ddof):
    w = _total_type(t)
    n = _nan_count(a)
    middle = _nan_add(a, w(0)) / w(n)
    zero = abs(w(0))
    r = type(abs(t(0)))
    if n <= ddof and not isinstance(a.dtype.type(0), (np.integer, np.bool_)):
        return r(math.nan)
    # of integers as numpy.var, which divides by zero where n <= ddof
    return r(_squares(a, middle, True, n) / type(zero)(n - ddof if n > ddof else 0))


def _nan_std(a, t, ddof):
    return math.sqrt(_nan_var(a, t, ddof))


def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    a = _array_of(a)
    t = _mean_type(a.dtype.type) if dtype is None else _type_of(dtype, a)
    return _given(_reduced(a, axis, keepdims, type(abs(t(0))), _nan_var, t, ddof), out)


def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    a = _array_of(a)
    t = _mean_type(a.dtype.type) if dtype is None else _type_of(dtype, a)
    return _given(_reduced(a, axis, keepdims, type(abs(t(0))), _nan_std, t, ddof), out)


def _nan_least(a, least):
    for i in range(a.shape[0]):
        least = np.fmin(least, a[i]) if a.ndim == 1 else _nan_least(a[i], least)
    return least


def _nan_most(a, most):
    for i in range(a.shape[0]):
        most = np.fmax(most, a[i]) if a.ndim == 1 else _nan_most(a[i], most)
    return most


def _nan_min(a, t, x):
    if a.size == 0:
        raise ValueError("zero-size array to reduction operation fmin which has no identity")
    return a.dtype.type(_nan_least(a, _first(a)))


def _nan_max(a, t, x):
    if a.size == 0:
        raise ValueError("zero-size array to reduction operation fmax which has no identity")
    return a.dtype.type(_nan_most(a, _first(a)))


def nanmin(a, axis=None, out=None, keepdims=False):
    a = _array_of(a)
    return _given(_reduced(a, axis, keepdims, a.dtype.type, _nan_min), out)


def nanmax(a, axis=None, out=None, keepdims=False):
    a = _array_of(a)
    return _given(_reduced(a, axis, keepdims, a.dtype.type, _nan_max), out)


# ---- products ----


def _products(a, b, zero):
    if isinstance(zero, (np.float32, np.float64)):
        return _products_in_eight(a, b, zero)
    s = zero
    for i in range(a.shape[0]):
        s += type(zero)(a[i]) * type(zero)(b[i])
    return s


def _products_in_eight(a, b, zero):
    """Eight sums, which a processor makes at the same time; BLAS has its own order, too."""
    t = type(zero)
    n = a.shape[0]
    whole = n - n % 8
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = zero
    for i in range(0, whole, 8):
        s0 += t(a[i]) * t(b[i])
        s1 += t(a[i + 1]) * t(b[i + 1])
        s2 += t(a[i + 2]) * t(b[i + 2])
        s3 += t(a[i + 3]) * t(b[i + 3])
        s4 += t(a[i + 4]) * t(b[i + 4])
        s5 += t(a[i + 5]) * t(b[i + 5])
        s6 += t(a[i + 6]) * t(b[i + 6])
        s7 += t(a[i + 7]) * t(b[i + 7])
    s = ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
    for i in range(whole, n):
        s += t(a[i]) * t(b[i])
    return s


def _four_rows_in_eight(out, parts, a, i, b, zero):
    """The products of four rows at once, each as _products_in_eight makes it. `parts` makes the eight sums of a row one vector: compilers look for
    numbers that are stored side by side."""
    t = type(zero)
    n = b.shape[0]
    whole = n - n % 8
    p0 = p1 = p2 = p3 = p4 = p5 = p6 = p7 = zero
    q0 = q1 = q2 = q3 = q4 = q5 = q6 = q7 = zero
    u0 = u1 = u2 = u3 = u4 = u5 = u6 = u7 = zero
    v0 = v1 = v2 = v3 = v4 = v5 = v6 = v7 = zero
    for k in range(0, whole, 8):
        p0 += t(a[i, k]) * t(b[k])
        p1 += t(a[i, k + 1]) * t(b[k + 1])
        p2 += t(a[i, k + 2]) * t(b[k + 2])
        p3 += t(a[i, k + 3]) * t(b[k + 3])
        p4 += t(a[i, k + 4]) * t(b[k + 4])
        p5 += t(a[i, k + 5]) * t(b[k + 5])
        p6 += t(a[i, k + 6]) * t(b[k + 6])
        p7 += t(a[i, k + 7]) * t(b[k + 7])
        q0 += t(a[i + 1, k]) * t(b[k])
        q1 += t(a[i + 1, k + 1]) * t(b[k + 1])
        q2 += t(a[i + 1, k + 2]) * t(b[k + 2])
        q3 += t(a[i + 1, k + 3]) * t(b[k + 3])
        q4 += t(a[i + 1, k + 4]) * t(b[k + 4])
        q5 += t(a[i + 1, k + 5]) * t(b[k + 5])
        q6 += t(a[i + 1, k + 6]) * t(b[k + 6])
        q7 += t(a[i + 1, k + 7]) * t(b[k + 7])
        u0 += t(a[i + 2, k]) * t(b[k])
        u1 += t(a[i + 2, k + 1]) * t(b[k + 1])
        u2 += t(a[i + 2, k + 2]) * t(b[k + 2])
        u3 += t(a[i + 2, k + 3]) * t(b[k + 3])
        u4 += t(a[i + 2, k + 4]) * t(b[k + 4])
        u5 += t(a[i + 2, k + 5]) * t(b[k + 5])
        u6 += t(a[i + 2, k + 6]) * t(b[k + 6])
        u7 += t(a[i + 2, k + 7]) * t(b[k + 7])
        v0 += t(a[i + 3, k]) * t(b[k])
        v1 += t(a[i + 3, k + 1]) * t(b[k + 1])
        v2 += t(a[i + 3, k + 2]) * t(b[k + 2])
        v3 += t(a[i + 3, k + 3]) * t(b[k + 3])
        v4 += t(a[i + 3, k + 4]) * t(b[k + 4])
        v5 += t(a[i + 3, k + 5]) * t(b[k + 5])
        v6 += t(a[i + 3, k + 6]) * t(b[k + 6])
        v7 += t(a[i + 3, k + 7]) * t(b[k + 7])
    parts[0, 0] = p0
    parts[0, 1] = p1
    parts[0, 2] = p2
    parts[0, 3] = p3
    parts[0, 4] = p4
    parts[0, 5] = p5
    parts[0, 6] = p6
    parts[0, 7] = p7
    parts[1, 0] = q0
    parts[1, 1] = q1
    parts[1, 2] = q2
    parts[1, 3] = q3
    parts[1, 4] = q4
    parts[1, 5] = q5
    parts[1, 6] = q6
    parts[1, 7] = q7
    parts[2, 0] = u0
    parts[2, 1] = u1
    parts[2, 2] = u2
    parts[2, 3] = u3
    parts[2, 4] = u4
    parts[2, 5] = u5
    parts[2, 6] = u6
    parts[2, 7] = u7
    parts[3, 0] = v0
    parts[3, 1] = v1
    parts[3, 2] = v2
    parts[3, 3] = v3
    parts[3, 4] = v4
    parts[3, 5] = v5
    parts[3, 6] = v6
    parts[3, 7] = v7
    parts[4, 0] = ((p0 + p4) + (p2 + p6)) + ((p1 + p5) + (p3 + p7))
    parts[4, 1] = ((q0 + q4) + (q2 + q6)) + ((q1 + q5) + (q3 + q7))
    parts[4, 2] = ((u0 + u4) + (u2 + u6)) + ((u1 + u5) + (u3 + u7))
    parts[4, 3] = ((v0 + v4) + (v2 + v6)) + ((v1 + v5) + (v3 + v7))
    for k in range(whole, n):
        parts[4, 0] += t(a[i, k]) * t(b[k])
        parts[4, 1] += t(a[i + 1, k]) * t(b[k])
        parts[4, 2] += t(a[i + 2, k]) * t(b[k])
        parts[4, 3] += t(a[i + 3, k]) * t(b[k])
    out[i] = parts[4, 0]
    out[i + 1] = parts[4, 1]
    out[i + 2] = parts[4, 2]
    out[i + 3] = parts[4, 3]


def _row_dot(a, b):
    if a.shape[0] != b.shape[0]:
        raise ValueError(f"shapes ({a.shape[0]},) and ({b.shape[0]},) not aligned: the lengths differ")
    if a.dtype.type == np.bool_ and b.dtype.type == np.bool_:
        for i in range(a.shape[0]):
            if a[i] and b[i]:
                return True
        return False
    zero = a.dtype.type(0) * b.dtype.type(0)
    return type(zero)(_products(a, b, _work_type(type(zero))(0)))


def _add_products(out, x, b):
    for j in range(out.shape[0]):
        out[j] += x * type(x)(b[j])


def _or_products(out, x, b):
    for j in range(out.shape[0]):
        out[j] = out[j] or (x and b[j])


_BLOCK = 64  # rows of b that stay in a cache while all rows of a meet them


def _add_tiles(out, a, b):
    """_add_products of all elements, in the same order for each element of the result. Four rows of the result take four rows of b at once, so that
    most operands stay in registers."""
    t = out.dtype.type
    rows = a.shape[0] - a.shape[0] % 4
    depth = a.shape[1] - a.shape[1] % 4
    for begin in range(0, depth, _BLOCK):
        end = begin + _BLOCK if begin + _BLOCK < depth else depth
        for i in range(0, rows, 4):
            for k in range(begin, end, 4):
                _add_tile(out, a, b, i, k)
        for i in range(rows, a.shape[0]):
            for k in range(begin, end):
                _add_products(out[i], t(a[i, k]), b[k])
    for i in range(a.shape[0]):
        for k in range(depth, a.shape[1]):
            _add_products(out[i], t(a[i, k]), b[k])


def _add_tile(out, a, b, i, k):
    t = out.dtype.type
    a00, a01, a02, a03 = t(a[i, k]), t(a[i, k + 1]), t(a[i, k + 2]), t(a[i, k + 3])
    a10, a11, a12, a13 = t(a[i + 1, k]), t(a[i + 1, k + 1]), t(a[i + 1, k + 2]), t(a[i + 1, k + 3])
    a20, a21, a22, a23 = t(a[i + 2, k]), t(a[i + 2, k + 1]), t(a[i + 2, k + 2]), t(a[i + 2, k + 3])
    a30, a31, a32, a33 = t(a[i + 3, k]), t(a[i + 3, k + 1]), t(a[i + 3, k + 2]), t(a[i + 3, k + 3])
    for j in range(out.shape[1]):
        x, y, z, w = t(b[k, j]), t(b[k + 1, j]), t(b[k + 2, j]), t(b[k + 3, j])
        out[i, j] = (((out[i, j] + a00 * x) + a01 * y) + a02 * z) + a03 * w
        out[i + 1, j] = (((out[i + 1, j] + a10 * x) + a11 * y) + a12 * z) + a13 * w
        out[i + 2, j] = (((out[i + 2, j] + a20 * x) + a21 * y) + a22 * z) + a23 * w
        out[i + 3, j] = (((out[i + 3, j] + a30 * x) + a31 * y) + a32 * z) + a33 * w


def _side_by_side(a):
    """The elements in the order C."""
    if _arrays.is_dense(a):
        return a
    out = np.empty(a.shape, a.dtype.type)
    out[...] = a
    return out


def _matrix_dot(a, b):
    """A matrix by a matrix: each row of the result is the sum of rows of b."""
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"shapes not aligned: {a.shape[1]} (dim 1) != {b.shape[0]} (dim 0)")
    is_bool = a.dtype.type == np.bool_ and b.dtype.type == np.bool_
    t = np.bool_ if is_bool else type(a.dtype.type(0) * b.dtype.type(0))
    w = np.bool_ if is_bool else _work_type(t)
    out = np.empty((a.shape[0], b.shape[1]), w)
    out[...] = w(0)
    if _arrays.on_host() and not isinstance(w(0), (np.bool_, np.complexfloating)):
        _add_tiles(out, a, _side_by_side(b))
        return _as(out, t)
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            if is_bool:
                _or_products(out[i], a[i, k], b[k])
            else:
                _add_products(out[i], w(a[i, k]), b[k])
    return _as(out, t)


def _rows_by_four(out, a, b, zero):
    n = a.shape[0] - a.shape[0] % 4
    parts = np.empty((5, 8), type(zero))
    for i in range(0, n, 4):
        _four_rows_in_eight(out, parts, a, i, b, zero)
    return n


def _rows_dot(a, b):
    """A matrix by a row."""
    t = np.bool_ if a.dtype.type == np.bool_ and b.dtype.type == np.bool_ else type(a.dtype.type(0) * b.dtype.type(0))
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"shapes not aligned: {a.shape[1]} (extent of the matrix) != {b.shape[0]} (length of the row)")
    out = np.empty(a.shape[0], t)
    first = 0
    if _arrays.on_host() and (_work_type(t) == np.float32 or _work_type(t) == np.float64) and a.shape[1] >= 16:
        first = _rows_by_four(out, a, b, _work_type(t)(0))
    for i in range(first, a.shape[0]):
        out[i] = _row_dot(a[i], b)
    return out


def _dot(a, b):
    if a.ndim > 2 or b.ndim > 2:
        raise ValueError(f"products in compiled code take arrays of at most two axes, not {a.ndim} and {b.ndim}")
    if a.ndim == 0 or b.ndim == 0:
        return np.multiply(a, b)
    if a.ndim == 1 and b.ndim == 1:
        return _row_dot(a, b)
    if a.ndim == 2 and b.ndim == 1:
        return _rows_dot(a, b)
    if a.ndim == 1:
        return _rows_dot(b.T, a)
    return _matrix_dot(a, b)


def dot(a, b, out=None):
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return _given(_dot(a, b), out)
    return _given(_strong(a) * b if isinstance(b, np.ndarray) else a * _strong(b), out)


def vdot(a, b):
    if a.ndim > 1 or b.ndim > 1:
        return vdot(a.reshape(a.size), b.reshape(b.size))
    zero = a.dtype.type(0)
    if a.ndim == 0 and b.ndim == 0:
        return np.conjugate(a) * b if isinstance(zero, np.complexfloating) else np.multiply(a, b)
    if isinstance(zero, np.complexfloating):
        return _row_dot(np.conjugate(a), b)
    return _row_dot(a, b)


def inner(a, b):
    if a.ndim == 1 and b.ndim == 1:
        return _row_dot(a, b)
    return _dot(a, b.T)


def trace(a, offset=0):
    if a.ndim != 2:
        raise ValueError(f"trace in compiled code takes a matrix, not an array with {a.ndim} axes")
    zero = _sum_type(a.dtype.type)(0)
    s = _total_type(type(zero))(0)
    for i in range(a.shape[0]):
        if 0 <= i + offset < a.shape[1]:
            s += type(s)(a[i, i + offset])
    return type(zero)(s)


def array_equal(a1, a2, equal_nan=False):
    return _is_equal(a1, a2, equal_nan)


def _is_equal(a, b, equal_nan):
    if a.ndim != b.ndim or a.shape != b.shape:
        return False
    if a.ndim == 0:
        return a == b or (equal_nan and a != a and b != b)
    for i in range(a.shape[0]):
        if a.ndim > 1:
            if not _is_equal(a[i], b[i], equal_nan):
                return False
        elif a[i] != b[i] and not (equal_nan and a[i] != a[i] and b[i] != b[i]):
            return False
    return True


# ---- NumPy's, of numbers and rows ----


def _is_less(x, y):
    """NumPy's order of numbers of one type: NaN is behind all others, complex numbers go by their real parts."""
    if not isinstance(x, np.complexfloating):
        return x < y or (y != y and x == x)
    if x.real < y.real:
        return x.imag == x.imag or y.imag != y.imag
    if x.real > y.real:
        return y.imag != y.imag and x.imag == x.imag
    if x.real == y.real or (x.real != x.real and y.real != y.real):
        return x.imag < y.imag or (y.imag != y.imag and x.imag == x.imag)
    return y.real != y.real


def _strong(x):
    """A number as an element of an array: Python's numbers have 64 bits (complex ones 128)."""
    if isinstance(x, np.generic) or type(x) == lw.bfloat16:
        return x
    if isinstance(x, bool):
        return np.bool_(x)
    if isinstance(x, int):
        return np.int64(x)
    if isinstance(x, float):
        return np.float64(x)
    return np.complex128(x)


def _each(f, a, t):
    """f of each element, as a new array of type t."""
    out = np.empty(a.shape, t)
    _each_into(f, a, out)
    return out


def _each_into(f, a, out):
    if a.ndim == 0:
        out[()] = f(a[()])
        return
    for i in range(a.shape[0]):
        if a.ndim == 1:
            out[i] = f(a[i])
        else:
            _each_into(f, a[i], out[i])


def _zero_of(x):
    """Zero of the type of a number, or of an array's elements."""
    return x.dtype.type(0) if isinstance(x, np.ndarray) else _strong(x)


def _inexact(b):
    """A number or array with which distances do not wrap."""
    x = _zero_of(b)
    if isinstance(x, np.inexact) or type(x) == lw.bfloat16:
        return b
    return _as(b, np.float64) if isinstance(b, np.ndarray) else _to_float(b)


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    y = _inexact(b)
    near = (abs(a - y) <= atol + rtol * abs(y)) & np.isfinite(y)
    if equal_nan:
        return near | (a == y) | ((a != a) & (y != y))
    return near | (a == y)


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    close = isclose(a, b, rtol, atol, equal_nan)
    return _all(close) if isinstance(close, np.ndarray) else bool(close)


def _to_float(x):
    return np.float64(x) if isinstance(x, np.generic) else float(x)


def _largest(t):
    if t == np.float16:
        return t(65504.0)
    if t == lw.bfloat16:
        return t(3.3895313892515355e38)
    if t == np.float32:
        return t(3.4028234663852886e38)
    return t(1.7976931348623157e308)


def _finite(x, t, nan, posinf, neginf):
    if x != x:
        return t(nan)
    if x == math.inf:
        return _largest(t) if posinf is None else t(posinf)
    if x == -math.inf:
        return -_largest(t) if neginf is None else t(neginf)
    return x


def _common_zero(x, y):
    return x if type(x) == type(y) else x + y


def _array_of(values, dtype=None):
    """Of a list or a tuple of numbers, arrays or such lists; an array as it is."""
    if not isinstance(values, (tuple, list)):
        return values
    if len(values) == 0:
        return np.empty(0, np.float64 if dtype is None else dtype)
    of_records = _record_type_of(values, dtype)
    if of_records is not None:
        records = np.empty(_record_shape(values), of_records)
        _put_records(records, values)
        return records
    out = np.empty(_shape(values), type(_item(values)) if dtype is None else dtype)
    _put(out, values)
    return out


def _record_type_of(values, dtype):
    """The dtype of records; None: the values are numbers."""
    if dtype is not None:
        return None if np.empty(0, dtype).dtype.names is None else dtype
    if isinstance(values, (tuple, list)):
        return _record_type_of(values[0], None) if len(values) > 0 else None
    return values.dtype if isinstance(values, np.void) else None


def _record_shape(values):
    """Each tuple is a record, as are elements of arrays; lists are axes."""
    return (len(values), *_record_shape(values[0])) if isinstance(values, list) else ()


def _put_records(out, values):
    if out.ndim == 0:
        out[()] = values
        return
    if len(values) != out.shape[0]:
        raise ValueError("rows of different lengths cannot be one array")
    if len(values) > 64:  # as many as a loop over a tuple may have
        half = len(values) // 2
        _put_records(out[:half], values[:half])
        _put_records(out[half:], values[half:])
    elif len(values) > 8:
        i = 0
        for value in values:
            _put_records(out[i, ...], value)
            i += 1
    elif len(values) > 0:  # whose types may differ
        _put_records(out[0, ...], values[0])
        _put_records(out[1:], values[1:])


def _shape(values):
    if isinstance(values[0], (tuple, list)):
        return (len(values), *_shape(values[0]))
    if isinstance(values[0], np.ndarray):
        return (len(values), *values[0].shape)
    return (len(values),)


def _item(values):
    if isinstance(values, (tuple, list)):
        if len(values) == 1:
            return _item(values[0])
        half = len(values) // 2
        return _common_zero(_item(values[:half]), _item(values[half:]))
    if isinstance(values, np.ndarray):
        return values.dtype.type(0)
    return type(_strong(values))(0)


def _put(out, values):
    if len(values) > 1:  # by halves: a loop over a tuple has 64 items at most, and all of one type
        half = len(values) // 2
        _put(out[:half], values[:half])
        _put(out[half:], values[half:])
        return
    if len(values) == 0:
        return
    value = values[0]
    if isinstance(value, (tuple, list)):
        if len(value) != out.shape[1]:
            raise ValueError("rows of different lengths cannot be one array")
        _put(out[0], value)
    elif isinstance(value, np.ndarray) and value.ndim == 0:
        out[0] = out.dtype.type(value[()])
    elif isinstance(value, np.ndarray):
        if value.shape != out.shape[1:]:
            raise ValueError("arrays of different shapes cannot be one array")
        _cast_to(out[0], value)
    else:
        out[0] = out.dtype.type(value)


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    if isinstance(x, np.ndarray):
        if copy:
            return _each(lambda v: nan_to_num(v, copy, nan, posinf, neginf), x, x.dtype.type)
        _each_into(lambda v: nan_to_num(v, copy, nan, posinf, neginf), x, x)
        return x
    v = _strong(x)
    if isinstance(v, np.complexfloating):
        t = type(v.real)
        return type(v)(complex(_finite(v.real, t, nan, posinf, neginf), _finite(v.imag, t, nan, posinf, neginf)))
    if isinstance(v, np.floating) or type(v) == lw.bfloat16:
        return _finite(v, type(v), nan, posinf, neginf)
    return v


def _common(p):
    """Zero of the type of an array of these numbers."""
    if len(p) == 1:
        return type(_strong(p[0]))(0)
    return np.add(type(_strong(p[0]))(0), _common(p[1:]))


def _horner_step(y, x, c):
    """y * x + c with NumPy's rules, which keep bools; Python's * and + count them."""
    return np.add(np.multiply(y, x), c)


def _horner(p, x, t, y):
    return y if len(p) == 0 else _horner(p[1:], x, t, _horner_step(y, x, t(p[0])))


def _coefficient(p):
    return _common(p) if isinstance(p, (tuple, list)) else p.dtype.type(0)


def polyval(p, x):
    if isinstance(x, np.ndarray):
        zero = x.dtype.type(0)
        if isinstance(p, (tuple, list)) and len(p) == 0:
            return _each(lambda v: polyval(p, v), x, type(zero))
        return _each(lambda v: polyval(p, v), x, type(_horner_step(zero, zero, _coefficient(p))))
    x = _strong(x)
    zero = type(x)(0)
    if isinstance(p, (tuple, list)):
        return zero if len(p) == 0 else _horner(p, x, type(_common(p)), zero)
    y = _horner_step(zero, x, p.dtype.type(0))
    for i in range(p.shape[0]):
        y = _horner_step(y, x, p[i])
    return y


def searchsorted(a, v, side="left"):
    if side != "left" and side != "right":
        raise ValueError("search side must be 'left' or 'right'")
    row = _array_of(a)
    values = _array_of(v)
    if isinstance(values, np.ndarray):
        is_left = side == "left"
        return _each(lambda x: _searched(row, x, is_left), values, np.int64)
    return _searched(row, values, side == "left")


def _searched(a, v, is_left):
    if isinstance(a.dtype.type(0), (np.datetime64, np.timedelta64)) or isinstance(v, (np.datetime64, np.timedelta64)):
        return _bisected(a, v, is_left, None)
    t = type(a.dtype.type(0) * _strong(v))
    return _bisected(a, t(v), is_left, t)


def _bisected(a, v, is_left, t):
    """Elements are converted to t before they are compared; None: they are compared as they are, which times of two units are exactly."""
    low = 0
    high = a.shape[0]
    while low < high:
        middle = low + (high - low) // 2
        x = a[middle] if t is None else t(a[middle])
        if _is_less(x, v) if is_left else not _is_less(v, x):
            low = middle + 1
        else:
            high = middle
    return low


def _place(x, xp):
    """The last of the rising points that is not beyond x; -1: none."""
    low = 0
    high = xp.shape[0]
    while low < high:
        middle = low + (high - low) // 2
        if x >= xp[middle]:
            low = middle + 1
        else:
            high = middle
    return low - 1


def _between(x, left, right, low, high):
    """The line through (left, low) and (right, high); from the other end where the first gives NaN."""
    slope = (high - low) / (right - left)
    y = slope * (x - left) + low
    if y != y:
        y = slope * (x - right) + high
        if y != y and low == high:
            y = low
    return y


def _between_complex(x, left, right, low, high):
    per = 1.0 / (right - left)
    re = (high.real - low.real) * per
    im = (high.imag - low.imag) * per
    real = re * (x - left) + low.real
    imag = im * (x - left) + low.imag
    if real != real:
        real = re * (x - right) + high.real
        if real != real and low.real == high.real:
            real = low.real
    if imag != imag:
        imag = im * (x - right) + high.imag
        if imag != imag and low.imag == high.imag:
            imag = low.imag
    return complex(real, imag)


def interp(x, xp, fp, left=None, right=None):
    return _interpolated(_array_of(x), _array_of(xp), _array_of(fp), left, right)


def _interpolated(x, xp, fp, left, right):
    n = xp.shape[0]
    if isinstance(x, np.ndarray):
        t = np.complex128 if isinstance(fp.dtype.type(0), np.complexfloating) else np.float64
        return _each(lambda v: _interpolated(v, xp, fp, left, right), x, t)
    if n == 0:
        raise ValueError("array of sample points is empty")
    if fp.shape[0] != n:
        raise ValueError("fp and xp are not of the same length.")
    x = np.float64(x)
    t = np.complex128 if isinstance(fp.dtype.type(0), np.complexfloating) else np.float64
    below = t(fp[0]) if left is None else t(left)
    above = t(fp[n - 1]) if right is None else t(right)
    if n == 1:
        point = np.float64(xp[0])
        return below if x < point else above if x > point else t(fp[0])
    if x != x:
        return t(x)
    if x > np.float64(xp[n - 1]):
        return above
    i = _place(x, xp)
    if i < 0:
        return below
    if i == n - 1 or np.float64(xp[i]) == x:
        return t(fp[i])
    if t == np.complex128:
        return t(_between_complex(x, np.float64(xp[i]), np.float64(xp[i + 1]), t(fp[i]), t(fp[i + 1])))
    return _between(x, np.float64(xp[i]), np.float64(xp[i + 1]), t(fp[i]), t(fp[i + 1]))


# ---- sorting ----


def _sift(a, root, end):
    """Move a[root] down the heap that ends before `end`."""
    x = a[root]
    child = 2 * root + 1
    while child < end:
        if child + 1 < end and _is_less(a[child], a[child + 1]):
            child += 1
        if not _is_less(x, a[child]):
            break
        a[root] = a[child]
        root = child
        child = 2 * root + 1
    a[root] = x


def _is_stable(a, kind, stable):
    """size >= 0 holds always, but unknown to the compiler: so what follows has types."""
    if stable is not None:
        if kind is not None and a.size >= 0:
            raise ValueError("`kind` and keyword parameters can't be provided at the same time. Use only one of them.")
        return bool(stable)
    if kind is None or kind == "quicksort" or kind == "heapsort":
        return False
    if kind == "stable" or kind == "mergesort":
        return True
    if a.size >= 0:
        raise ValueError("sort kind must be one of 'quicksort', 'heapsort', 'mergesort' or 'stable'")
    return False


def sort(a, axis=-1, kind=None, *, stable=None):
    """In place and, in kernels, without memory of its own."""
    rows = _axis_last(a, _arrays.axis(axis, a.ndim))
    if _arrays.sorts(a):
        _sort_by_library(a if a.ndim == 1 else rows, _is_stable(a, kind, stable))
    elif a.ndim == 1:
        _sort_row(a)
    else:
        _sort_rows(rows)


def _sort_by_library(a, is_stable):
    if a.ndim == 1:
        _arrays.sort(a, is_stable)
    else:
        for i in range(a.shape[0]):
            _sort_by_library(a[i], is_stable)


def _sort_rows(a):
    for i in range(a.shape[0]):
        if a.ndim == 2:
            _sort_row(a[i])
        else:
            _sort_rows(a[i])


def _sort_row(a):
    """Insertion sort for short rows, heap sort for others."""
    n = a.shape[0]
    if n <= 16:
        for i in range(1, n):
            x = a[i]
            j = i
            while j > 0 and _is_less(x, a[j - 1]):
                a[j] = a[j - 1]
                j -= 1
            a[j] = x
        return
    for root in range(n // 2 - 1, -1, -1):
        _sift(a, root, n)
    for end in range(n - 1, 0, -1):
        x = a[0]
        a[0] = a[end]
        a[end] = x
        _sift(a, 0, end)


# ---- of math: rows, and tuples of numbers ----


def math_prod(iterable, *, start=1):
    p = start
    for x in iterable:
        p *= widened(x)
    return p


def math_sumprod(p, q):
    if len(p) != len(q):
        raise ValueError("Inputs are not the same length")
    s = 0
    for x, y in zip(p, q):
        s += widened(x) * widened(y)
    return s


def _real(x):
    """Differences of integers may not fit their type."""
    return x if isinstance(x, np.floating) else float(x)


def math_dist(p, q):
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    d = 0.0
    for x, y in zip(p, q):
        d = math.hypot(d, _real(x) - _real(y))
    return d
