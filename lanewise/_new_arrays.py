"""Functions that make arrays in compiled code, ``np.zeros(n)``, ``x.copy()``, ``np.concatenate((x, y))``.

Compiled, never called. The front end takes the function of this module that has the name of what is
called (core/front/read/array_function.c, which has their list). What they make has the order C, and its memory is
counted: core/ir/counted.h.
"""

from __future__ import annotations

import math

import numpy as np

import lanewise as lw
from lanewise._array_functions import (
    _array_of, _as, _axis_first, _axis_last, _cast_to, _check_unique, _common_zero, _counted, _is_less, _known_axis, _strong, _sum_type, _without, check_integers,
)
from lanewise._array_functions import sort as _sort
from lanewise._core import intrinsics
from lanewise._generator_expressions import converted
from lanewise._growing_lists import GrownList
from lanewise._growing_lists_arrays import slots_for
from lanewise.errors import TypingError

_arrays = intrinsics.arrays  # core/tables/array_names.def


# ---- of a shape ----


def zeros(shape, dtype=float):
    out = np.empty(shape, dtype)
    if out.dtype.names is None:
        out[...] = out.dtype.type(0)
    else:  # records: the bytes between their fields, too
        _arrays.shaped(out, (out.nbytes,), np.uint8)[...] = np.uint8(0)
    return out


def ones(shape, dtype=None):
    out = np.empty(shape, dtype)
    if out.dtype.names is None:
        out[...] = out.dtype.type(1)
        return out
    records = zeros(shape, dtype)
    _set_fields(records, records.dtype.names, 1)
    return records


def _set_fields(a, names, value):
    """All fields of all records become the number."""
    if len(names) > 0:
        name = names[0]
        fill(a[name], value)
        _set_fields(a, names[1:], value)


def full(shape, fill_value, dtype=None):
    if isinstance(fill_value, (tuple, list)):
        return full(shape, _array_of(fill_value), dtype)
    if isinstance(fill_value, np.ndarray):
        rows = np.empty(shape, fill_value.dtype if dtype is None else dtype)
        rows[...] = _as(fill_value, rows.dtype) if rows.dtype.names is None else fill_value
        return rows
    if isinstance(fill_value, np.void):  # a record
        records = np.empty(shape, fill_value.dtype if dtype is None else dtype)
        records[...] = fill_value
        return records
    out = np.empty(shape, type(_strong(fill_value)) if dtype is None else dtype)
    if out.dtype.names is None:
        out[...] = out.dtype.type(fill_value)
    else:
        fill(out, fill_value)
    return out


def _of(dtype, a):
    if dtype is not None:
        return dtype
    return a.dtype if isinstance(a, np.ndarray) else type(_strong(a))


def _shape_of(a):
    return a.shape if isinstance(a, np.ndarray) else ()


def empty_like(prototype, dtype=None):
    return np.empty(_shape_of(prototype), _of(dtype, prototype))


def zeros_like(a, dtype=None):
    return zeros(_shape_of(a), _of(dtype, a))


def ones_like(a, dtype=None):
    return ones(_shape_of(a), _of(dtype, a))


def repeated(x, n, dtype):
    """np.array([x] * n): n times x, a number or an array."""
    if isinstance(x, np.ndarray):
        return np.full((max(n, 0), *x.shape), x, dtype)
    a = np.full(max(n, 0), False, type(_strong(x)) if dtype is None else dtype)
    a[:] = x if dtype is None else converted(x, a)
    return a


def full_like(a, fill_value, dtype=None):
    if dtype is not None:
        return full(_shape_of(a), fill_value, dtype)
    out = np.empty(_shape_of(a), _of(None, a))
    value = _array_of(fill_value)
    if isinstance(value, np.ndarray):
        out[...] = value
    else:
        fill(out, value)
    return out


def _length(start, stop, step):
    if isinstance(start, np.integer) and isinstance(stop, np.integer) and isinstance(step, np.integer):
        # the distance, which fits into 64 bits without a sign, is rounded once
        distance = float(np.uint64(stop) - np.uint64(start)) if start <= stop else -float(np.uint64(start) - np.uint64(stop))
        return int(math.ceil(distance / float(step)))
    n = (stop - start) / step
    if n != n:
        raise ValueError("arange: cannot compute length")
    return int(math.ceil(n))


def arange(start, stop=None, step=1, dtype=None):
    if stop is None:
        return arange(type(start)(0), start, step, dtype)
    if step == 0:
        raise ZeroDivisionError("division by zero")
    n = _length(_strong(start), _strong(stop), _strong(step))
    if dtype is None:
        # never narrower than int64, with which NumPy begins
        t = type(_strong(type(start)(0) + type(stop)(0) + type(step)(0)) + np.int64(0))
    else:
        t = dtype
    out = np.empty(n if n > 0 else 0, t)
    first = out.dtype.type(start)
    if isinstance(_strong(start), np.integer) and isinstance(_strong(step), np.integer):
        distance = out.dtype.type(step)
    else:
        distance = out.dtype.type(start + step) - first
    for i in range(out.shape[0]):
        out[i] = first + out.dtype.type(i) * distance
    return out


def linspace(start, stop, num=50, endpoint=True, *, dtype=None):
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    t = type(_strong(type(start)(0) + type(stop)(0) + 0.0))
    out = np.empty(num, t if dtype is None else dtype)
    parts = num - 1 if endpoint else num
    distance = t(stop) - t(start)
    step = distance / t(parts) if parts > 0 else t(math.nan)
    for i in range(num):
        y = t(i) * distance if parts <= 0 else t(i) / t(parts) * distance if step == t(0) else t(i) * step
        y += t(start)  # a statement of its own, so that the product is rounded, as NumPy's is
        if endpoint and i > 0 and i == num - 1:
            y = t(stop)
        out[i] = out.dtype.type(math.floor(y)) if isinstance(out.dtype.type(0), np.integer) else out.dtype.type(y)
    return out


def eye(N, M=None, k=0, dtype=float):
    out = zeros((N, N if M is None else M), dtype)
    for i in range(out.shape[0]):
        if 0 <= i + k < out.shape[1]:
            out[i, i + k] = out.dtype.type(1)
    return out


def identity(n, dtype=None):
    return eye(n, None, 0, float if dtype is None else dtype)


# ---- of an array ----


def copy(a):
    out = np.empty(a.shape, a.dtype)
    out[...] = a
    return out


def astype(a, dtype, order="K", casting="unsafe", subok=True, copy=True):
    if casting != "unsafe":
        raise ValueError("astype in compiled code has casting='unsafe' only")
    return _cast(a, dtype) if copy else asarray(a, dtype)


def _cast(a, dtype):
    out = np.empty(a.shape, dtype)
    _cast_to(out, a)
    return out


def fill(a, value):
    """A store as any other: a float is not cut to an integer."""
    if isinstance(value, np.ndarray):
        if value.ndim > 0:
            raise TypingError("`fill` needs a number: `a[...] = values` stores an array")
        fill(a, value[()])
    elif a.dtype.names is None or isinstance(value, np.void):
        a[...] = value
    else:
        _set_fields(a, a.dtype.names, value)


def clip(a, min=None, max=None):
    if min is None:
        return copy(a) if max is None else np.minimum(a, max)
    return np.maximum(a, min) if max is None else np.clip(a, min, max)


# ---- views, and copies where there is no view ----


def _is_dense(a):
    step = a.itemsize
    for n, stride in zip(a.shape[::-1], a.strides[::-1]):
        if n != 1 and stride != step:
            return False
        step *= n
    return True


def _times(n, m):
    """n * m, or, if no int64 can hold that, the largest one, of which no array has so many elements."""
    if (n >= 2**31 or m >= 2**31) and n > 0 and m > 0 and n > (2**63 - 1) // m:
        return 2**63 - 1
    return n * m


def _known(shape):
    """The product of all axes but those of -1, and how many of these there are."""
    n = 1
    unknown = 0
    for m in shape:
        if m == -1:
            unknown += 1
        else:
            n = _times(n, m)
    return n, unknown


def _filled_in(shape, axis):
    if len(shape) == 0:
        return ()
    return (axis if shape[0] == -1 else shape[0], *_filled_in(shape[1:], axis))


def reshape_(a, *shape, order="C"):
    return reshape(a, shape[0] if len(shape) == 1 else shape, order)


def reshape(a, shape, order="C"):
    if not isinstance(shape, (tuple, list)):
        return reshape(a, (shape,), order)
    if order == "F":
        return _in_order_c(a.T, shape[::-1]).T
    if order != "C":
        raise ValueError("reshape in compiled code takes the orders 'C' and 'F'")
    return _in_order_c(a, shape)


def _raise_shape(size, shape):
    if len(shape) == 1:
        raise ValueError(f"cannot reshape array of size {size} into shape ({shape[0]},)")
    known, unknown = _known(shape)
    if unknown:
        raise ValueError(f"cannot reshape array of size {size} into a shape whose other axes have {known} elements")
    raise ValueError(f"cannot reshape array of size {size} into a shape of {known} elements")


def _in_order_c(a, shape):
    known, unknown = _known(shape)
    if unknown > 1:
        raise ValueError("can only specify one unknown dimension")
    fits = known > 0 and a.size % known == 0 if unknown else known == a.size
    if not fits:
        _raise_shape(a.size, shape)
    extents = _filled_in(shape, a.size // known if unknown else 0)
    if _arrays.is_dense(a):
        return _arrays.shaped(a, extents)
    return _reshaped(a, extents)


def _reshaped(a, shape):
    """A view where there are strides for it, as NumPy finds them, else a copy."""
    strides = lw.local(len(shape) + 1, np.int64)
    if a.size > 0 and _has_strides(a, shape, strides):
        return _arrays.viewed(a, shape, _tuple_of(strides, 0, len(shape)))
    new = _arrays.shaped(copy(a), shape)
    return _arrays.viewed(new, shape, new.strides)


def _tuple_of(row, at, n):
    return () if at == n else (int(row[at]), *_tuple_of(row, at + 1, n))


def _has_strides(a, shape, strides):
    """Whether each run of the new axes covers a run of old ones whose elements are evenly spaced."""
    i = 0
    j = 0
    while i < a.ndim or j < len(shape):
        # the runs that begin here and have as many elements
        i0 = i
        j0 = j
        old = 1
        new = 1
        if i < a.ndim:
            old = a.shape[i]
            i += 1
        if j < len(shape):
            new = shape[j]
            j += 1
        while old != new:
            if new < old:
                if j == len(shape):
                    break
                new *= shape[j]
                j += 1
            else:
                if i == a.ndim:
                    break
                old *= a.shape[i]
                i += 1
        step = a.itemsize
        wanted = 0
        for k in range(i - 1, i0 - 1, -1):
            if a.shape[k] != 1:
                if wanted == 0:
                    step = a.strides[k]
                elif a.strides[k] != wanted:
                    return False
                wanted = a.strides[k] * a.shape[k]
        for k in range(j - 1, j0 - 1, -1):
            strides[k] = step
            step *= shape[k]
    return True


def ravel(a):
    if _arrays.is_dense(a) or _is_dense(a):
        return _arrays.shaped(a, (a.size,))
    return _arrays.shaped(copy(a), (a.size,))


def flatten(a):
    return reshape(copy(a), -1)


def flat(a):
    """The elements in the order C: a view where they lie in it."""
    return ravel(a)


def ascontiguousarray(a, dtype=None):
    if not isinstance(a, np.ndarray):
        return array((a,), dtype)
    if dtype is not None and dtype != a.dtype:
        return _cast(a, dtype)
    if a.ndim == 0:
        return reshape(a, 1)
    if _arrays.is_dense(a) or _is_dense(a):
        return _arrays.shaped(a, a.shape)
    return _arrays.shaped(copy(a), a.shape)


def asarray(a, dtype=None):
    if not isinstance(a, np.ndarray):
        return array(a, dtype)
    if dtype is None or dtype == a.dtype:
        return a
    return _cast(a, dtype)


def view(a, dtype):
    size = _arrays.viewed(a, a.shape, a.strides, dtype).itemsize
    if size == a.itemsize:
        return _arrays.viewed(a, a.shape, a.strides, dtype)
    if a.strides[a.ndim - 1] != a.itemsize:
        raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
    n_bytes = a.shape[a.ndim - 1] * a.itemsize
    if n_bytes % size != 0:
        raise ValueError("When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last axis of the array.")
    return _arrays.viewed(a, (*a.shape[:a.ndim - 1], n_bytes // size), (*a.strides[:a.ndim - 1], size), dtype)


def _part_type(t):
    return np.float32 if t == np.complex64 else np.float64


def real(a):
    if not isinstance(a.dtype.type(0), np.complexfloating):
        return a
    return _arrays.viewed(a, a.shape, a.strides, _part_type(a.dtype.type))


def imag(a):
    if not isinstance(a.dtype.type(0), np.complexfloating):
        return zeros_like(a)
    parts = _arrays.viewed(a, (*a.shape, 2), (*a.strides, a.itemsize // 2), _part_type(a.dtype.type))
    return parts[..., 1]


def _picked(t, places):
    return () if len(places) == 0 else (t[places[0]], *_picked(t, places[1:]))


def _all_axes(axes, ndim):
    return () if len(axes) == 0 else (_arrays.axis(axes[0], ndim), *_all_axes(axes[1:], ndim))


def transpose(a, axes=None):
    if axes is None:
        return a.T
    if len(axes) != a.ndim:
        raise ValueError(f"axes don't match array: {len(axes)} axes for an array with {a.ndim}")
    places = _all_axes(axes, a.ndim)
    for axis in range(a.ndim):
        if axis not in places:
            raise ValueError("repeated axis in transpose")
    return _arrays.viewed(a, _picked(a.shape, places), _picked(a.strides, places))


def transpose_(a, *axes):
    if len(axes) == 0:
        return a.T
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        return transpose(a, axes[0])
    return transpose(a, axes)


def _swapped(t, i, j, at):
    return () if at == len(t) else (t[j] if at == i else t[i] if at == j else t[at], *_swapped(t, i, j, at + 1))


def swapaxes(a, axis1, axis2):
    i = _arrays.axis(axis1, a.ndim)
    j = _arrays.axis(axis2, a.ndim)
    return _arrays.viewed(a, _swapped(a.shape, i, j, 0), _swapped(a.strides, i, j, 0))


def _inserted(t, axis, item):
    return (*t[:axis], item, *t[axis:])


def moveaxis(a, source, destination):
    i = _arrays.axis(source, a.ndim)
    j = _arrays.axis(destination, a.ndim)
    return _arrays.viewed(a, _inserted(_without(a.shape, i), j, a.shape[i]), _inserted(_without(a.strides, i), j, a.strides[i]))


def squeeze(a, axis):
    k = _arrays.axis(axis, a.ndim)
    if a.shape[k] != 1:
        raise ValueError(f"cannot select an axis to squeeze out which has size not equal to one: it has {a.shape[k]}")
    return _arrays.viewed(a, _without(a.shape, k), _without(a.strides, k))


def expand_dims(a, axis):
    k = _known_axis(axis, a.ndim + 1)
    return _arrays.viewed(a, _inserted(a.shape, k, 1), _inserted(a.strides, k, 0))


def _wide_strides(shape, strides, wanted):
    """Strides under which an array broadcasts to a shape of as many axes."""
    if len(shape) == 0:
        return ()
    if shape[0] != wanted[0] and shape[0] != 1:
        raise ValueError(f"operands could not be broadcast together with remapped shapes: an axis of {shape[0]} does not become one of {wanted[0]}")
    return (strides[0] if shape[0] == wanted[0] else 0, *_wide_strides(shape[1:], strides[1:], wanted[1:]))


def broadcast_to(array, shape):
    a = array
    if not isinstance(shape, (tuple, list)):
        return broadcast_to(a, (shape,))
    if len(shape) < a.ndim:
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    if len(shape) > a.ndim:
        return broadcast_to(expand_dims(a, 0), shape)
    return _arrays.viewed(a, shape, _wide_strides(a.shape, a.strides, shape))


def _wider(n, m):
    """The size of an axis to which axes of these sizes broadcast."""
    if n != m and n != 1 and m != 1:
        raise ValueError(f"shape mismatch: objects cannot be broadcast to a single shape: an axis of {n} and one of {m}")
    return m if n == 1 else n


def _common_shape(x, y):
    if len(x) < len(y):
        return _common_shape((1, *x), y)
    if len(y) < len(x):
        return _common_shape(x, (1, *y))
    return () if len(x) == 0 else (_wider(x[0], y[0]), *_common_shape(x[1:], y[1:]))


def broadcast_shapes(*args):
    if len(args) == 0:
        return ()
    shape = args[0] if isinstance(args[0], (tuple, list)) else (args[0],)
    return _common_shape(shape, broadcast_shapes(*args[1:]))


def _shapes(arrays):
    return () if len(arrays) == 0 else (_shape_of(arrays[0]), *_shapes(arrays[1:]))


def _broadcast_to(arrays, shape):
    return () if len(arrays) == 0 else (broadcast_to(_array(arrays[0]), shape), *_broadcast_to(arrays[1:], shape))


def _array(x):
    return x if isinstance(x, np.ndarray) else np.full((), x)


def broadcast_arrays(*args):
    return _broadcast_to(args, broadcast_shapes(*_shapes(args)))


def _first_axes(n):
    return () if n == 0 else (*_first_axes(n - 1), n - 1)


def _taken(window, axes, d):
    """How much windows shorten axis d."""
    if len(axes) == 0:
        return 0
    return (window[0] - 1 if axes[0] == d else 0) + _taken(window[1:], axes[1:], d)


def _starts(shape, window, axes, d):
    """How many windows begin along axis d and the ones behind it."""
    if len(shape) == 0:
        return ()
    n = shape[0] - _taken(window, axes, d)
    if n < 1 and d in axes:
        raise ValueError("window shape cannot be larger than input array shape")
    return (n, *_starts(shape[1:], window, axes, d + 1))


def _counted_from_front(axes, ndim):
    return () if len(axes) == 0 else (_arrays.axis(axes[0], ndim), *_counted_from_front(axes[1:], ndim))


def _at_axes(strides, axes):
    return () if len(axes) == 0 else (strides[axes[0]], *_at_axes(strides, axes[1:]))


def sliding_window_view(x, window_shape, axis=None):
    if not isinstance(window_shape, (tuple, list)):
        return sliding_window_view(x, (window_shape,), axis)
    if axis is None:
        if len(window_shape) != x.ndim:
            raise ValueError(f"Since axis is `None`, must provide window_shape for all dimensions of `x`; got {len(window_shape)} window_shape elements and `x.ndim` is {x.ndim}.")
        return _windows(x, window_shape, _first_axes(x.ndim))
    if not isinstance(axis, (tuple, list)):
        return sliding_window_view(x, window_shape, (axis,))
    if len(window_shape) != len(axis):
        raise ValueError(f"Must provide matching length window_shape and axis; got {len(window_shape)} window_shape elements and {len(axis)} axes elements.")
    return _windows(x, window_shape, _counted_from_front(axis, x.ndim))


def _windows(x, window, axes):
    for n in window:
        if n < 0:
            raise ValueError("`window_shape` cannot contain negative values")
    return _arrays.viewed(x, (*_starts(x.shape, window, axes, 0), *window), (*x.strides, *_at_axes(x.strides, axes)))


def atleast_1d(a):
    if isinstance(a, (tuple, list)):
        return _array_of(a)
    if not isinstance(a, np.ndarray):
        return array((a,))
    return expand_dims(a, 0) if a.ndim == 0 else a


def atleast_2d(a):
    if isinstance(a, (tuple, list)):
        return atleast_2d(_array_of(a))
    if not isinstance(a, np.ndarray):
        return array(((a,),))
    return a if a.ndim > 1 else expand_dims(atleast_1d(a), 0)


def diagonal(a, offset=0):
    rows = a if offset >= 0 else a[-offset:]
    part = rows[:, offset:] if offset >= 0 else rows
    n = part.shape[0] if part.shape[0] < part.shape[1] else part.shape[1]
    return _arrays.viewed(part, (*part.shape[2:], n), (*part.strides[2:], part.strides[0] + part.strides[1]))


def diag(v, k=0):
    if v.ndim == 2:
        return diagonal(v, k)
    n = v.shape[0] + (k if k >= 0 else -k)
    out = zeros((n, n), v.dtype)
    for i in range(v.shape[0]):
        out[i if k >= 0 else i - k, i + k if k >= 0 else i] = v[i]
    return out


def _flipped(a, k):
    back = _axis_first(a, k)[::-1]
    return _arrays.viewed(back, _inserted(back.shape[1:], k, back.shape[0]), _inserted(back.strides[1:], k, back.strides[0]))


def _flipped_along(a, axes, k):
    """Along those of the axes from k on that are in `axes`, or along all."""
    if k == a.ndim:
        return a
    if axes is None or k in axes:
        return _flipped_along(_flipped(a, k), axes, k + 1)
    return _flipped_along(_arrays.viewed(a, a.shape, a.strides), axes, k + 1)


def flip(m, axis=None):
    if axis is None:
        return m[::-1] if m.ndim == 1 else _flipped_along(m, None, 0)
    if isinstance(axis, (tuple, list)):
        _check_unique(_counted(axis, m.ndim))
        return _flipped_along(m, _counted(axis, m.ndim), 0)
    k = _known_axis(axis, m.ndim)
    return m[::-1] if m.ndim == 1 else _flipped(m, k)


def flipud(m):
    return m[::-1]


def fliplr(m):
    return m[:, ::-1]


# ---- sums and products up to each element ----


def _running_type(t, dtype):
    return _sum_type(t) if dtype is None else dtype


def _run(out, a, axis, join):
    if axis > 0:
        for i in range(a.shape[0]):
            _run(out[i], a[i], axis - 1, join)
    elif a.ndim == 1:
        total = join(out.dtype.type(0), out.dtype.type(a[0])) if a.shape[0] > 0 else out.dtype.type(0)
        for i in range(a.shape[0]):
            total = join(total, out.dtype.type(a[i])) if i > 0 else out.dtype.type(a[i])
            out[i] = total
    else:
        for i in range(a.shape[0]):
            _cast_to(out[i], a[i])
            if i > 0:
                _join_to(out[i], out[i - 1], join)


def _join_to(out, before, join):
    for i in range(out.shape[0]):
        if out.ndim == 1:
            out[i] = join(before[i], out[i])
        else:
            _join_to(out[i], before[i], join)


def _running(a, axis, dtype, join):
    if axis is None:
        return _running(ravel(a), 0, dtype, join)
    k = _known_axis(axis, a.ndim)
    out = np.empty(a.shape, _running_type(a.dtype.type, dtype))
    _run(out, a, k, join)
    return out


def cumsum(a, axis=None, dtype=None):
    a = _array_of(a)
    return _running(a, axis, dtype, lambda x, y: x + y)


def cumprod(a, axis=None, dtype=None):
    a = _array_of(a)
    return _running(a, axis, dtype, lambda x, y: x * y)


# ---- order ----


_RUN = 16  # elements that are sorted by insertion before runs are merged


def sorted_copy(a, axis=-1, kind=None, *, stable=None):
    a = _array_of(a)
    if axis is None:
        return sorted_copy(flatten(a), -1, kind, stable=stable)
    if a.ndim > 1 or _arrays.sorts(a):
        out = copy(a)
        _sort(out, axis, kind, stable=stable)
        return out
    n = a.shape[0]
    from_ = copy(a)
    for low in range(0, n, _RUN):
        _sort(from_[low:low + _RUN])
    if n <= _RUN:
        return from_
    to = np.empty(n, a.dtype)
    width = _RUN
    while width < n:
        for low in range(0, n, 2 * width):
            _merge(to, from_, low, min(low + width, n), min(low + 2 * width, n))
        from_, to = to, from_
        width *= 2
    return from_


def _merge(to, a, low, middle, high):
    """The runs a[low:middle] and a[middle:high], each sorted, as one."""
    i = low
    j = middle
    for k in range(low, high):
        if j >= high or (i < middle and not _is_less(a[j], a[i])):
            to[k] = a[i]
            i += 1
        else:
            to[k] = a[j]
            j += 1


def _argsort_row(a):
    """By NumPy's function where there is one, otherwise merge sort, which keeps the order of equal elements, too."""
    n = a.shape[0]
    if _arrays.sorts(a):
        sorted_places = np.empty(n, np.int64)
        _arrays.argsort(sorted_places, a)
        return sorted_places
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


def _argsort_into(out, a):
    for i in range(a.shape[0]):
        if a.ndim == 2:
            out[i] = _argsort_row(a[i])
        else:
            _argsort_into(out[i], a[i])


def argsort(a, axis=-1, kind=None, *, stable=None):
    a = _array_of(a)
    if axis is None:
        return _argsort_row(ravel(a))
    if a.ndim == 1:
        return _argsort_row(a)
    k = _arrays.axis(axis, a.ndim)
    out = np.empty(a.shape, np.int64)
    _argsort_into(_axis_last(out, k), _axis_last(a, k))
    return out


# ---- several arrays ----


def _zero(arrays):
    """Zero of the type that holds the elements of all of them."""
    if len(arrays) == 1:
        return arrays[0].dtype.type(0)
    return _common_zero(arrays[0].dtype.type(0), _zero(arrays[1:]))


def _record_type(arrays):
    """The dtype of the first that has records; None: all have numbers."""
    if len(arrays) == 0:
        return None
    return _record_type(arrays[1:]) if arrays[0].dtype.names is None else arrays[0].dtype


def _common_type(arrays):
    t = _record_type(arrays)
    return type(_zero(arrays)) if t is None else t


def _extent(arrays, axis):
    return 0 if len(arrays) == 0 else arrays[0].shape[axis] + _extent(arrays[1:], axis)


def _check_rows(a, first, axis):
    if a.ndim != first.ndim:
        raise ValueError(f"all the input arrays must have same number of dimensions, but the first has {first.ndim} and another {a.ndim}")
    if _without(a.shape, axis) != _without(first.shape, axis):
        raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")


def _write_rows(rows, arrays, axis, at):
    """The arrays one behind the other; each may have a type of its own."""
    if len(arrays) > 0 and arrays[0].ndim == rows.ndim:  # _check_all has raised if not
        part = _axis_first(arrays[0], axis)
        end = at + part.shape[0]
        rows[at:end] = part if _record_type((part, rows)) is not None or part.dtype == rows.dtype else _as(part, rows.dtype)
        _write_rows(rows, arrays[1:], axis, end)


def _check_all(arrays, first, axis):
    if len(arrays) > 0:
        _check_rows(arrays[0], first, axis)
        _check_all(arrays[1:], first, axis)


def _joined(arrays, axis):
    k = _known_axis(axis, arrays[0].ndim)
    _check_all(arrays[1:], arrays[0], k)
    out = np.empty(_inserted(_without(arrays[0].shape, k), k, _extent(arrays, k)), _common_type(arrays))
    _write_rows(_axis_first(out, k), arrays, k, 0)
    return out


def _check_any(n, what):
    if n == 0:
        raise ValueError(f"need at least one array to {what}")


def _joined_list(items, n, axis):
    """`_joined` of the first n items of a list of arrays."""
    _check_any(n, "concatenate")
    first = items.get(0)
    k = _arrays.axis(axis, first.ndim)
    extent = 0
    for i in range(n):
        x = items.get(i)
        _check_rows(x, first, k)
        extent += x.shape[k]
    out = np.empty(_inserted(_without(first.shape, k), k, extent), first.dtype)
    rows = _axis_first(out, k)
    at = 0
    for i in range(n):
        part = _axis_first(items.get(i), k)
        rows[at : at + part.shape[0]] = part
        at += part.shape[0]
    return out


def _mapped(items, n, f, axis):
    """The items of a list of the arrays f(x, axis), for each of the first n."""
    _check_any(n, "stack")
    made = slots_for(f(items.get(0), axis), n)
    for i in range(n):
        made.put(i, f(items.get(i), axis))
    return made


def concatenate(arrays, axis=0):
    if isinstance(arrays, GrownList):
        if axis is None:
            return _joined_list(_mapped(arrays.items, arrays.n, lambda x, k: ravel(x), 0), arrays.n, 0)
        return _joined_list(arrays.items, arrays.n, axis)
    all_arrays = _arrays_of(arrays)
    return _joined(_raveled(all_arrays), 0) if axis is None else _joined(all_arrays, axis)


def _arrays_of(arrays):
    """Lists among the arrays become arrays."""
    return () if len(arrays) == 0 else (_array_of(arrays[0]), *_arrays_of(arrays[1:]))


def _raveled(arrays):
    return () if len(arrays) == 0 else (ravel(arrays[0]), *_raveled(arrays[1:]))


def _check_shapes(arrays, shape):
    if len(arrays) > 0:
        if arrays[0].shape != shape:
            raise ValueError("all input arrays must have the same shape")
        _check_shapes(arrays[1:], shape)


def _with_axis(arrays, axis):
    return () if len(arrays) == 0 else (expand_dims(arrays[0], axis), *_with_axis(arrays[1:], axis))


def stack(arrays, axis=0):
    if isinstance(arrays, GrownList):
        _check_any(arrays.n, "stack")
        return arrays.items.stacked(arrays.n, _arrays.axis(axis, arrays.items.like.ndim + 1))
    all_arrays = _arrays_of(arrays)
    _check_shapes(all_arrays[1:], all_arrays[0].shape)
    k = _known_axis(axis, all_arrays[0].ndim + 1)
    return _joined(_with_axis(all_arrays, k), k)


def _as_rows(arrays):
    return () if len(arrays) == 0 else (atleast_2d(arrays[0]), *_as_rows(arrays[1:]))


def _as_arrays(arrays):
    return () if len(arrays) == 0 else (atleast_1d(arrays[0]), *_as_arrays(arrays[1:]))


def _as_columns(arrays):
    if len(arrays) == 0:
        return ()
    return (arrays[0] if arrays[0].ndim > 1 else expand_dims(arrays[0], 1), *_as_columns(arrays[1:]))


def vstack(tup):
    if isinstance(tup, GrownList):
        return _joined_list(_mapped(tup.items, tup.n, lambda x, k: atleast_2d(x), 0), tup.n, 0)
    return _joined(_as_rows(tup), 0)


def hstack(tup):
    if isinstance(tup, GrownList):
        items = _mapped(tup.items, tup.n, lambda x, k: atleast_1d(x), 0)
        return _joined_list(items, tup.n, 0 if items.like.ndim == 1 else 1)
    all_arrays = _as_arrays(tup)
    return _joined(all_arrays, 0 if all_arrays[0].ndim == 1 else 1)


def column_stack(tup):
    if isinstance(tup, GrownList):
        return _joined_list(_mapped(tup.items, tup.n, lambda x, k: x if x.ndim > 1 else expand_dims(x, 1), 0), tup.n, 1)
    return _joined(_as_columns(_as_arrays(tup)), 1)


def append(arr, values, axis=None):
    if axis is None:
        return _joined((ravel(arr), ravel(atleast_1d(values))), 0)
    return _joined((arr, _array_of(values)), axis)


def repeat(a, repeats, axis=None):
    if axis is None:
        return repeat(ravel(a), repeats, 0)
    k = _known_axis(axis, a.ndim)
    if isinstance(repeats, (tuple, list, np.ndarray)):
        return _repeated(a, _index_array(repeats) if isinstance(repeats, (tuple, list)) else repeats, k)
    check_integers(repeats, "repeats")
    times = int(repeats)
    if times < 0:
        raise ValueError("repeats may not contain negative values.")
    out = np.empty(_inserted(_without(a.shape, k), k, _times(a.shape[k], times)), a.dtype)
    rows = _axis_first(out, k)
    of = _axis_first(a, k)
    for i in range(of.shape[0]):
        for j in range(times):
            rows[i * times + j] = of[i]
    return out


def _repeated(a, counts, k):
    """Each row as often as its count says; a single count is that of all rows."""
    check_integers(counts, "repeats")
    step = 0 if counts.shape[0] == 1 else 1
    if step == 1 and counts.shape[0] != a.shape[k]:
        raise ValueError(f"operands could not be broadcast together with shape ({a.shape[k]},) ({counts.shape[0]},)")
    n = 0
    for i in range(a.shape[k]):
        if counts[i * step] < 0:
            raise ValueError("repeats may not contain negative values.")
        n += int(counts[i * step])
        if n < 0:  # it has wrapped around
            raise ValueError("Maximum allowed dimension exceeded")
    out = np.empty(_inserted(_without(a.shape, k), k, n), a.dtype)
    rows = _axis_first(out, k)
    of = _axis_first(a, k)
    at = 0
    for i in range(of.shape[0]):
        for j in range(int(counts[i * step])):
            rows[at] = of[i]
            at += 1
    return out


def tile(A, reps):
    a = A
    if a.ndim == 0:
        return tile(expand_dims(a, 0), reps)
    if isinstance(reps, (tuple, list)):
        if len(reps) > a.ndim:
            return tile(expand_dims(a, 0), reps)
        return _tiled(a, reps, a.ndim - len(reps))
    return _tiled(a, (reps,), a.ndim - 1)


def _tiled(a, reps, axis):
    if len(reps) == 0:
        return copy(a)
    check_integers(reps[0], "reps")
    times = int(reps[0])
    out = np.empty(_inserted(_without(a.shape, axis), axis, _times(a.shape[axis], times)), a.dtype)
    rows = _axis_first(out, axis)
    for i in range(times):
        rows[i * a.shape[axis]:(i + 1) * a.shape[axis]] = _axis_first(a, axis)
    return _tiled(out, reps[1:], axis + 1)


def roll(a, shift, axis=None):
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), a.shape)
    k = _arrays.axis(axis, a.ndim)
    out = np.empty(a.shape, a.dtype)
    rows = _axis_first(out, k)
    of = _axis_first(a, k)
    n = a.shape[k]
    if n > 0:
        s = shift % n
        rows[s:] = of[:n - s]
        rows[:s] = of[n - s:]
    return out


def array(object, dtype=None, *, copy=True):
    """Of a number, of a tuple of numbers, arrays or such tuples, or of an array."""
    values = object
    if isinstance(values, (tuple, list)):
        if copy is not None and not copy:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return _array_of(values, dtype)
    if not isinstance(values, np.ndarray):
        if copy is not None and not copy:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return np.full((), values, dtype)
    if copy is None:
        return asarray(values, dtype)
    return _copied(values, dtype) if copy else _uncopied(values, dtype)


def _copied(a, dtype):
    return copy(a) if dtype is None else _cast(a, dtype)


def _uncopied(a, dtype):
    if dtype is not None and dtype != a.dtype:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return a


# ---- elements that arrays select ----


def _place(p, n):
    place = int(p) + n if p < 0 else int(p)
    if place < 0 or place >= n:
        raise IndexError(f"index {p} is out of bounds for axis with size {n}")
    return place


def _true_count(m):
    n = 0
    for i in range(m.shape[0]):
        if m.ndim == 1:
            n += 1 if m[i] else 0
        else:
            n += _true_count(m[i])
    return n


def _find(out, m, at, before):
    """Writes the indices of the elements that are true; returns how many there are so far."""
    for i in range(m.shape[0]):
        if m.ndim > 1:
            at = _find(out, m[i], at, (*before, i))
        elif m[i]:
            _write(out, (*before, i), at)
            at += 1
    return at


def _write(out, index, at):
    axis = 0
    for i in index:
        out[axis, at] = i
        axis += 1


def _each_row(places, ndim, axis):
    return () if axis == ndim else (places[axis], *_each_row(places, ndim, axis + 1))


def nonzero(a):
    out = np.empty((a.ndim, _true_count(a)), np.int64)
    _find(out, a, 0, ())
    return _each_row(out, a.ndim, 0)


def flatnonzero(a):
    return nonzero(ravel(a))[0]


def argwhere(a):
    out = np.empty((_true_count(a), a.ndim), np.int64)
    _find(out.T, a, 0, ())
    return out


def _check_mask(mask, a, axis):
    for k in range(mask.ndim):
        if mask.shape[k] != a.shape[axis + k]:
            raise IndexError(f"boolean index did not match indexed array: the size of the axis is {a.shape[axis + k]}, that of the index {mask.shape[k]}")


def _index_array(places):
    """Of a list, or of a tuple in a tuple; an empty one selects nothing."""
    return np.empty(0, np.int64) if len(places) == 0 else _array_of(places)


def _check_places(places, n):
    for j in range(places.shape[0]):
        if places.ndim > 1:
            _check_places(places[j], n)
        else:
            _place(places[j], n)


def _check_indices(a, axis, arrays):
    """Before anything is stored, as in NumPy: whether all indices are inside. Masks are compared with the array's shape."""
    if len(arrays) > 0:
        if not isinstance(arrays[0], np.ndarray):
            _check_indices(a, axis, (_index_array(arrays[0]), *arrays[1:]))
        elif arrays[0].dtype.type == np.bool_:
            _check_indices(a, axis + arrays[0].ndim, arrays[1:])
        else:
            _check_places(arrays[0], a.shape[axis])
            _check_indices(a, axis + 1, arrays[1:])


def _as_indices(a, axis, arrays):
    """Arrays of integers, one for each axis from this one on; a mask gives one for each of its axes."""
    if len(arrays) == 0:
        return ()
    if not isinstance(arrays[0], np.ndarray):
        return _as_indices(a, axis, (_index_array(arrays[0]), *arrays[1:]))
    if arrays[0].dtype.type == np.bool_:
        _check_mask(arrays[0], a, axis)
        return (*nonzero(arrays[0]), *_as_indices(a, axis + arrays[0].ndim, arrays[1:]))
    return (arrays[0], *_as_indices(a, axis + 1, arrays[1:]))


def _one_extent(n, m):
    if n != m and n != 1 and m != 1:
        raise IndexError("shape mismatch: indexing arrays could not be broadcast together")
    return m if n == 1 else n


def _one_shape(x, y):
    """The shape to which arrays of these two are broadcast."""
    if len(x) < len(y):
        return _one_shape(y, x)
    return x if len(y) == 0 else (*_one_shape(x[:-1], y[:-1]), _one_extent(x[-1], y[-1]))


def _shape_of_all(arrays):
    return arrays[0].shape if len(arrays) == 1 else _one_shape(arrays[0].shape, _shape_of_all(arrays[1:]))


def _spread_to(arrays, shape):
    return () if len(arrays) == 0 else (broadcast_to(arrays[0], shape), *_spread_to(arrays[1:], shape))


def _spread(arrays):
    """The arrays of an index in one shape."""
    return arrays if len(arrays) == 1 else _spread_to(arrays, _shape_of_all(arrays))


def _axes_first(a, axis, n):
    """A view whose first n axes are those from `axis` on."""
    return _arrays.viewed(a, (*a.shape[axis:axis + n], *a.shape[:axis], *a.shape[axis + n:]),
                          (*a.strides[axis:axis + n], *a.strides[:axis], *a.strides[axis + n:]))


def _selected(a, places, j):
    """a[places[0][j], places[1][j], ...]: an element or a view."""
    if len(places) == 1:
        return a[_place(places[0][j], a.shape[0])]
    return _selected(a[_place(places[0][j], a.shape[0])], places[1:], j)


def _take_into(out, a, places):
    for j in range(places[0].shape[0]):
        if places[0].ndim > 1:
            _take_into(out[j], a, _each_at(places, j))
        else:
            out[j] = _selected(a, places, j)


def _each_at(places, j):
    return () if len(places) == 0 else (places[0][j], *_each_at(places[1:], j))


def _copy_true(out, a, mask, at):
    """Writes the elements under the mask; returns how many there are so far."""
    for i in range(a.shape[0]):
        if a.ndim > 1:
            at = _copy_true(out, a[i], mask[i], at)
        elif mask[i]:
            out[at] = a[i]
            at += 1
    return at


def _under(a, mask):
    """a[mask], where the mask has all axes of the array."""
    _check_mask(mask, a, 0)
    out = np.empty(_true_count(mask), a.dtype)
    _copy_true(out, a, mask, 0)
    return out


def taken(a, axis, *arrays):
    """a[:, arrays[0], arrays[1]]: what the index selects, with the shape of the arrays in the place of their axes."""
    if not isinstance(arrays[0], np.ndarray):
        return taken(a, axis, _index_array(arrays[0]), *arrays[1:])
    if arrays[0].dtype.type == np.bool_ and arrays[0].ndim == a.ndim:
        return _under(a, arrays[0])
    places = _spread(_as_indices(a, axis, arrays))
    n = len(places)
    m = places[0].ndim
    out = np.empty((*a.shape[:axis], *places[0].shape, *a.shape[axis + n:]), a.dtype)
    _take_into(_axes_first(out, axis, m) if axis > 0 else out, _axes_first(a, axis, n) if axis > 0 else a, places)
    return out


def _store(a, places, j, value):
    k = _place(places[0][j], a.shape[0])
    if len(places) > 1:
        _store(a[k], places[1:], j, value)
    elif a.ndim > 1:
        a[k, ...] = value
    else:
        a[k] = value


def _store_number(a, places, value):
    for j in range(places[0].shape[0]):
        if places[0].ndim > 1:
            _store_number(a, _each_at(places, j), value)
        else:
            _store(a, places, j, value)


def _store_from(a, places, values):
    for j in range(places[0].shape[0]):
        if places[0].ndim > 1:
            _store_from(a, _each_at(places, j), values[j])
        else:
            _store(a, places, j, values[j])


def _each_copied(arrays):
    return () if len(arrays) == 0 else (copy(arrays[0]), *_each_copied(arrays[1:]))


def _any_meets(a, arrays):
    return len(arrays) > 0 and (_arrays.meet(a, arrays[0]) or _any_meets(a, arrays[1:]))


def put(a, axis, value, *arrays):
    """a[:, arrays[0], arrays[1]] = value. As in NumPy, what is read is copied first if it may be overwritten."""
    _check_indices(a, axis, arrays)
    if isinstance(value, np.ndarray):
        if _arrays.meet(a, value):
            _put_at(a, axis, copy(value), _as_indices(a, axis, arrays))
        else:
            _put_at(a, axis, value, _as_indices(a, axis, arrays))
    else:
        _put_at(a, axis, value, _as_indices(a, axis, arrays))


def _put_at(a, axis, value, arrays):
    places = _spread(arrays)
    n = len(places)
    if n == 1:  # the compiler removes the copies where it can prove that nothing meets
        meet = _arrays.meet(a, places[0])
    elif n == 2:
        meet = _arrays.meet(a, places[0]) | _arrays.meet(a, places[1])
    else:
        meet = _any_meets(a, places)
    if meet:
        _put_apart(a, axis, value, _each_copied(places))
    else:
        _put_apart(a, axis, value, places)


def _put_apart(a, axis, value, places):
    n = len(places)
    m = places[0].ndim
    view = _axes_first(a, axis, n) if axis > 0 else a
    if isinstance(value, np.ndarray):
        values = broadcast_to(value, (*a.shape[:axis], *places[0].shape, *a.shape[axis + n:]))
        _store_from(view, places, _axes_first(values, axis, m) if axis > 0 else values)
    else:
        _store_number(view, places, value)


def _change(a, op, value):
    if op == "+":
        a += value
    elif op == "-":
        a -= value
    elif op == "*":
        a *= value
    elif op == "/":
        a /= value
    elif op == "//":
        a //= value
    elif op == "%":
        a %= value
    elif op == "**":
        a **= value
    elif op == "<<":
        a <<= value
    elif op == ">>":
        a >>= value
    elif op == "&":
        a &= value
    elif op == "|":
        a |= value
    else:
        a ^= value


def augment(a, axis, op, taken, value, *arrays):
    """a[:, arrays[0], arrays[1]] += value, or another operator, whose elements have been taken."""
    _change(taken, op, value)
    _put_at(a, axis, taken, _as_indices(a, axis, arrays))


def _put_one(a, place, value):
    """At this place of the elements in C order."""
    if a.ndim == 0:
        a[()] = value
    elif a.ndim == 1:
        a[place] = value
    else:
        n = a.size // a.shape[0]
        _put_one(a[place // n], place % n, value)


def put_flat(a, ind, v):
    """Places in the elements in C order; values are repeated, and copied first, as they may be elements of a."""
    places = ravel(_index_array(ind) if isinstance(ind, (tuple, list)) else atleast_1d(ind))
    check_integers(places, "ind")
    values = copy(ravel(atleast_1d(v)))
    n = a.size
    if values.size == 0:
        return
    for j in range(places.size):
        _put_one(a, _place(places[j], n), values[j % values.size])


def take(a, indices, axis=None):
    if axis is None:
        return take(ravel(a), indices, 0)
    k = _known_axis(axis, a.ndim)
    if isinstance(indices, (tuple, list)):
        return take(a, _index_array(indices), k)
    check_integers(indices, "indices")
    if isinstance(indices, np.ndarray):  # bools are 0 and 1 here, and not a mask
        return taken(a, k, _as(indices, np.int64) if isinstance(indices.dtype.type(0), np.bool_) else indices)
    row = _axis_first(a, k)[_place(indices, a.shape[k])]
    return row if a.ndim == 1 else copy(row)


# ---- writing to elements ----


def _check_copied(dst, value, casting):
    if casting != "same_kind" and casting != "unsafe":
        raise TypingError("copyto in compiled code takes casting=\"same_kind\" or \"unsafe\"")
    if casting == "same_kind" and isinstance(value, np.ndarray) and isinstance(dst.dtype.type(0), np.unsignedinteger):
        if isinstance(value.dtype.type(0), np.signedinteger):
            raise TypeError("Cannot cast array data from signed integers to unsigned ones according to the rule 'same_kind'")


def copyto(dst, src, casting="same_kind", where=True):
    value = _array_of(src)
    _check_copied(dst, value, casting)
    if isinstance(where, bool):
        if where:
            dst[...] = value
    else:
        dst[...] = np.where(_array_of(where), value, dst)


def _values_for(a, values):
    """A row of its own, in the type of the elements."""
    row = np.empty(values.size, a.dtype.type)
    row[...] = ravel(values)
    return row


def putmask(a, mask, values):
    """An element under the mask becomes the value of the same place in C order; values are repeated."""
    m, v = ravel(_array_of(mask)), _values_for(a, atleast_1d(_array_of(values)))
    if m.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    if v.size == 0:
        return
    for k in range(m.size):
        if m[k]:
            _put_one(a, k, v[k % v.size])


def place(arr, mask, vals):
    """The elements under the mask become the values, one after the other; these are repeated."""
    m, v = ravel(_array_of(mask)), _values_for(arr, atleast_1d(_array_of(vals)))
    if m.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    n = 0
    for k in range(m.size):
        if m[k]:
            if v.size == 0:
                raise ValueError("Cannot insert from an empty array!")
            _put_one(arr, k, v[n % v.size])
            n += 1


def fill_diagonal(a, val, wrap=False):
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    step, end = 1, a.size
    if a.ndim == 2:
        step = a.shape[1] + 1
        if not wrap and a.shape[1] * a.shape[1] < end:
            end = a.shape[1] * a.shape[1]
    else:
        along = 1
        for k in range(a.ndim):
            if a.shape[k] != a.shape[0]:
                raise ValueError("All dimensions of input must be of equal length")
            if k > 0:
                along *= a.shape[0]
                step += along
    v = _values_for(a, atleast_1d(_array_of(val)))
    if v.size == 0:
        return
    for k in range(0, end, step):
        _put_one(a, k, v[(k // step) % v.size])


# ---- sizes, and the element of an array with one ----


def size(a, axis=None):
    x = _array_of(a)
    if not isinstance(x, np.ndarray):
        return 1
    return x.size if axis is None else x.shape[_arrays.axis(axis, x.ndim)]


def shape(a):
    x = _array_of(a)
    return x.shape if isinstance(x, np.ndarray) else ()


def ndim(a):
    x = _array_of(a)
    return x.ndim if isinstance(x, np.ndarray) else 0


def _python_number(x):
    if isinstance(x, (bool, np.bool_)):
        return bool(x)
    if isinstance(x, (int, np.integer)):
        return int(x)
    return complex(x) if isinstance(x, (complex, np.complexfloating)) else float(x)


def _element_at(a, k):
    if a.ndim == 0:
        return a[()]
    if a.ndim == 1:
        return a[k]
    n = a.size // a.shape[0]
    return _element_at(a[k // n], k % n)


def item(a, *args):
    if len(args) > 1:
        return _python_number(a[args])
    if len(args) == 1:
        if isinstance(args[0], tuple):
            return _python_number(a[args[0]])
        return _python_number(_element_at(a, _place(args[0], a.size)))
    if a.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return _python_number(_element_at(a, 0))
