"""Functions that make arrays in compiled code, ``np.zeros(n)``, ``x.copy()``, ``np.concatenate((x, y))``.

Compiled, never called. The front end takes the function of this module that has the name of what is
called (core/front/read/array_function.c, which has their list). What they make has the order C, and its memory is
counted: core/ir/counted.h.
"""

from __future__ import annotations

import math

import numpy as np

from lanewise._array_functions import _is_less, _strong, _sum_type
from lanewise._array_functions import sort as _sort
from lanewise._core import intrinsics

_arrays = intrinsics.arrays  # core/tables/array_names.def


# ---- of a shape ----


def zeros(shape, dtype=float):
    out = np.empty(shape, dtype)
    out[...] = out.dtype.type(0)
    return out


def ones(shape, dtype=None):
    out = np.empty(shape, dtype)
    out[...] = out.dtype.type(1)
    return out


def full(shape, fill_value, dtype=None):
    out = np.empty(shape, type(_strong(fill_value)) if dtype is None else dtype)
    out[...] = out.dtype.type(fill_value)
    return out


def _of(dtype, a):
    return a.dtype.type if dtype is None else dtype


def empty_like(a, dtype=None):
    return np.empty(a.shape, _of(dtype, a))


def zeros_like(a, dtype=None):
    return zeros(a.shape, _of(dtype, a))


def ones_like(a, dtype=None):
    return ones(a.shape, _of(dtype, a))


def full_like(a, fill_value, dtype=None):
    return full(a.shape, fill_value, _of(dtype, a))


def _length(start, stop, step):
    if isinstance(start, np.integer) and isinstance(stop, np.integer) and isinstance(step, np.integer):
        return int(math.ceil((float(stop) - float(start)) / float(step)))
    return int(math.ceil((stop - start) / step))


def arange(start, stop=None, step=1, dtype=None):
    if stop is None:
        return arange(type(start)(0), start, step, dtype)
    if step == 0:
        raise ZeroDivisionError("division by zero")
    n = _length(_strong(start), _strong(stop), _strong(step))
    if dtype is None:
        t = type(_strong(type(start)(0) + type(stop)(0) + type(step)(0)))
    else:
        t = dtype
    out = np.empty(n if n > 0 else 0, t)
    first = out.dtype.type(start)
    distance = out.dtype.type(start + step) - first
    for i in range(out.shape[0]):
        out[i] = first + out.dtype.type(i) * distance
    return out


def linspace(start, stop, num=50, endpoint=True, dtype=None):
    if num < 0:
        raise ValueError("Number of samples, must be non-negative.", num)
    t = type(_strong(type(start)(0) + type(stop)(0) + 0.0))
    out = np.empty(num, t if dtype is None else dtype)
    parts = num - 1 if endpoint else num
    distance = t(stop) - t(start)
    step = distance / t(parts) if parts > 0 else t(math.nan)
    for i in range(num):
        if parts <= 0:
            y = t(i) * distance + t(start)
        elif step == t(0):
            y = t(i) / t(parts) * distance + t(start)
        else:
            y = t(i) * step + t(start)
        if endpoint and i > 0 and i == num - 1:
            y = t(stop)
        out[i] = out.dtype.type(math.floor(y)) if isinstance(out.dtype.type(0), np.integer) else out.dtype.type(y)
    return out


def eye(n, m=None, k=0, dtype=float):
    out = zeros((n, n if m is None else m), dtype)
    for i in range(out.shape[0]):
        if 0 <= i + k < out.shape[1]:
            out[i, i + k] = out.dtype.type(1)
    return out


def identity(n, dtype=None):
    return eye(n, None, 0, float if dtype is None else dtype)


# ---- of an array ----


def _cast_to(out, a):
    for i in range(a.shape[0]):
        if a.ndim == 1:
            out[i] = out.dtype.type(a[i])
        else:
            _cast_to(out[i], a[i])


def copy(a):
    out = np.empty(a.shape, a.dtype.type)
    out[...] = a
    return out


def astype(a, dtype):
    out = np.empty(a.shape, dtype)
    if a.ndim == 0:
        out[()] = out.dtype.type(a[()])
    else:
        _cast_to(out, a)
    return out


def fill(a, value):
    a[...] = a.dtype.type(value)


def _is_dense(a):
    step = a.itemsize
    for n, stride in zip(a.shape[::-1], a.strides[::-1]):
        if n != 1 and stride != step:
            return False
        step *= n
    return True


def _known(shape):
    """The product of all axes but those of -1, and how many of these there are."""
    n = 1
    unknown = 0
    for m in shape:
        if m == -1:
            unknown += 1
        else:
            n *= m
    return n, unknown


def _filled_in(shape, axis):
    if len(shape) == 0:
        return ()
    return (axis if shape[0] == -1 else shape[0], *_filled_in(shape[1:], axis))


def reshape(a, *shape):
    if len(shape) == 1 and isinstance(shape[0], tuple):
        return reshape(a, *shape[0])
    known, unknown = _known(shape)
    if unknown > 1:
        raise ValueError("can only specify one unknown dimension")
    fits = known > 0 and a.size % known == 0 if unknown else known == a.size
    if not fits:
        raise ValueError("cannot reshape an array of this size into this shape", a.size)
    extents = _filled_in(shape, a.size // known if unknown else 0)
    if a.size == 0 or _is_dense(a):
        return _arrays.shaped(a, extents)
    return _arrays.shaped(copy(a), extents)


def ravel(a):
    return reshape(a, -1)


def flatten(a):
    return reshape(copy(a), -1)


# ---- sums and products up to each element ----


def _running_type(t, dtype):
    return _sum_type(t) if dtype is None else dtype


def _one_axis(a):
    return a if a.ndim == 1 else ravel(a)


def _running(a, dtype, first, join):
    row = _one_axis(a)
    out = np.empty(row.shape[0], _running_type(a.dtype.type, dtype))
    total = out.dtype.type(first)
    for i in range(row.shape[0]):
        total = join(total, out.dtype.type(row[i]))
        out[i] = total
    return out


def cumsum(a, dtype=None):
    return _running(a, dtype, 0, lambda x, y: x + y)


def cumprod(a, dtype=None):
    return _running(a, dtype, 1, lambda x, y: x * y)


def diff(a):
    n = a.shape[0] - 1
    out = np.empty(n if n > 0 else 0, a.dtype.type)
    for i in range(out.shape[0]):
        if a.dtype.type == np.bool_:
            out[i] = a[i + 1] != a[i]
        else:
            out[i] = a[i + 1] - a[i]
    return out


# ---- order ----


def sorted_copy(a):
    out = copy(a)
    _sort(out)
    return out


def argsort(a):
    """Merge sort, which keeps the order of equal elements."""
    n = a.shape[0]
    places = arange(n)
    other = np.empty(n, np.int64)
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle = min(low + width, n)
            high = min(low + 2 * width, n)
            i = low
            j = middle
            for k in range(low, high):
                if j >= high or (i < middle and not _is_less(a[places[j]], a[places[i]])):
                    other[k] = places[i]
                    i += 1
                else:
                    other[k] = places[j]
                    j += 1
        places, other = other, places
        width *= 2
    return places


def flip(a):
    return a[::-1]


# ---- several arrays ----


def _zero(arrays):
    """Zero of the type that holds the elements of all of them."""
    if len(arrays) == 1:
        return arrays[0].dtype.type(0)
    return arrays[0].dtype.type(0) + _zero(arrays[1:])


def _rows(arrays):
    n = 0
    for a in arrays:
        n += a.shape[0]
    return n


def _check_rows(a, first):
    for n, m in zip(a.shape[1:], first.shape[1:]):
        if n != m:
            raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")


def concatenate(arrays, axis=0):
    if axis != 0:
        raise ValueError("concatenate in compiled code joins arrays along axis 0", axis)
    out = np.empty((_rows(arrays), *arrays[0].shape[1:]), type(_zero(arrays)))
    at = 0
    for a in arrays:
        _check_rows(a, arrays[0])
        out[at:at + a.shape[0]] = a
        at += a.shape[0]
    return out


def stack(arrays, axis=0):
    if axis != 0:
        raise ValueError("stack in compiled code makes axis 0", axis)
    out = np.empty((len(arrays), *arrays[0].shape), type(_zero(arrays)))
    at = 0
    for a in arrays:
        if a.shape != arrays[0].shape:
            raise ValueError("all input arrays must have the same shape")
        out[at] = a
        at += 1
    return out


def repeat(a, repeats):
    row = _one_axis(a)
    out = np.empty(row.shape[0] * repeats, a.dtype.type)
    for i in range(row.shape[0]):
        for k in range(repeats):
            out[i * repeats + k] = row[i]
    return out


def outer(a, b):
    x = _one_axis(a)
    y = _one_axis(b)
    out = np.empty((x.shape[0], y.shape[0]), type(a.dtype.type(0) * b.dtype.type(0)))
    for i in range(x.shape[0]):
        out[i] = x[i] * y
    return out


def array(values, dtype=None):
    """Of a tuple of numbers, of a tuple of such tuples, or of an array."""
    if not isinstance(values, tuple):
        return copy(values) if dtype is None else astype(values, dtype)
    out = np.empty(_shape(values), type(_item(values)) if dtype is None else dtype)
    _put(out, values)
    return out


def _shape(values):
    if isinstance(values[0], tuple):
        return (len(values), len(values[0]))
    return (len(values),)


def _item(values):
    if isinstance(values, tuple):
        return _item(values[0]) if len(values) == 1 else _item(values[0]) + _item(values[1:])
    return type(_strong(values))(0)


def _put(out, values):
    i = 0
    for value in values:
        if isinstance(value, tuple):
            if len(value) != out.shape[1]:
                raise ValueError("rows of different lengths make no array")
            _put(out[i], value)
        else:
            out[i] = out.dtype.type(value)
        i += 1


def nonzero(a):
    n = 0
    for i in range(a.shape[0]):
        n += 1 if a[i] else 0
    out = np.empty(n, np.int64)
    n = 0
    for i in range(a.shape[0]):
        if a[i]:
            out[n] = i
            n += 1
    return (out,)


def flatnonzero(a):
    return nonzero(_one_axis(a))[0]


