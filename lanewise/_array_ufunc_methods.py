"""``np.maximum.reduce(x)``, ``vec.accumulate(x)``, ``np.add.at(x, i, v)`` in compiled code: the loops. Compiled, never called.

The front end calls these functions with the ufunc and what lanewise/_ufunc_calls.py knows of it in front
(core/front/read/ufunc_method.c). Elements are taken in the order of their indices along the axes that are reduced; sums of float16,
float32 and complex64 are made in float64 and complex128, as by ``np.sum`` (_array_functions.py).
"""

from __future__ import annotations

import numpy as np

from lanewise._array_functions import (
    _array_of, _as, _axis_first, _check_unique, _counted, _given, _kept, _ones, _strong, _sum_type, _total_type, _type_of, _work_type,
)
from lanewise._core import intrinsics
from lanewise._new_arrays import _as_indices, _axes_first, _each_at, _place, _spread, broadcast_to
from lanewise.errors import TypingError

_arrays = intrinsics.arrays  # core/tables/array_names.def


def only_binary(refusal, *args):
    raise TypingError(refusal)


def _check_array(array):
    """What `_array_of` makes an array of, and a number."""
    if not isinstance(array, (np.ndarray, np.generic, bool, int, float, complex, tuple, list)):
        raise TypingError('The first argument "array" must be array-like')


def _operand_of(array):
    """What the methods take: an array, one of a list or a tuple, or a number as an array without axes."""
    if isinstance(array, (np.ndarray, tuple, list)):
        return _array_of(array)
    a = np.empty((), type(_strong(array)))
    a[()] = array
    return a


# ---- types ----


def _found_type(f, kind, t):
    """What NumPy's loop for elements of type t makes of two results."""
    if kind == "logical":
        return np.bool_
    u = type(_strong(f(t(1), t(1))))
    return type(_strong(f(u(1), t(1))))


def _result_type(f, kind, a, dtype):
    if dtype is not None:
        return _type_of(dtype, a)
    if kind == "add" or kind == "multiply":
        return _sum_type(a.dtype.type)
    return _found_type(f, kind, a.dtype.type)


def _running_type(kind, t):
    """In what a reduction to type t is made."""
    if kind == "add":
        return _total_type(t)
    return _work_type(t) if kind == "multiply" else t


def _operand(kind, dtype, x, w):
    """An element as the loop takes it: a function of the user's has types of its own for each operand."""
    return x if kind == "user" or (kind == "logical" and dtype is None) else w(x)


def _check_loop(f, kind, t, a, shown):
    if kind == "logical":
        if not isinstance(t(0), (bool, np.bool_)):
            raise TypeError(f"no loop of {shown} has this dtype: its results are bool")
    elif isinstance(f(t(1), a.dtype.type(1)), (bool, np.bool_)) and a.dtype.type != np.bool_:
        raise TypeError(f"no loop of {shown} fits: its results are bool, and the elements are not")


# ---- reduce ----


def _fold(f, kind, dtype, a, s):
    """f(f(f(s, x0), x1), x2) of all elements."""
    w = type(s)
    for i in range(a.shape[0]):
        s = w(f(s, _operand(kind, dtype, a[i], w))) if a.ndim == 1 else _fold(f, kind, dtype, a[i], s)
    return s


def _fold_first(f, kind, dtype, a, w):
    """The same from the first element on."""
    s = w(a[0]) if a.ndim == 1 else _fold_first(f, kind, dtype, a[0], w)
    return _fold(f, kind, dtype, a[1:], s)


def _step(f, kind, dtype, out, x):
    w = out.dtype.type
    for i in range(out.shape[0]):
        if out.ndim == 1:
            out[i] = w(f(out[i], _operand(kind, dtype, x[i], w)))
        else:
            _step(f, kind, dtype, out[i], x[i])


def _rows(f, kind, dtype, out, a, n):
    """out = f(out, part) for each part along the first n axes."""
    for i in range(a.shape[0]):
        if n == 1:
            _step(f, kind, dtype, out, a[i])
        else:
            _rows(f, kind, dtype, out, a[i], n - 1)


def _rows_first(f, kind, dtype, out, a, n):
    if n == 1:
        _copy(out, a[0])
    else:
        _rows_first(f, kind, dtype, out, a[0], n - 1)
    _rows(f, kind, dtype, out, a[1:], n)


def _copy(out, a):
    for i in range(out.shape[0]):
        if out.ndim == 1:
            out[i] = out.dtype.type(a[i])
        else:
            _copy(out[i], a[i])


def _all_axes(n, i=0):
    return () if i == n else (i, *_all_axes(n, i + 1))


def _axes_to_front(a, axes):
    """A view whose first axes are these, the last of them first; each is counted from 0."""
    return a if len(axes) == 0 else _axes_to_front(_axis_first(a, axes[0]), _behind(axes[1:], axes[0]))


def _behind(axes, gone):
    """What the other axes are called once `gone` is the first one."""
    return () if len(axes) == 0 else (axes[0] + 1 if axes[0] < gone else axes[0], *_behind(axes[1:], gone))


def _product(shape):
    n = 1
    for m in shape:
        n *= m
    return n


def _whole(f, kind, dtype, a, w, start):
    if a.ndim == 0:
        return w(a[()]) if start is None else w(f(w(start), _operand(kind, dtype, a[()], w)))
    if start is not None:
        return _fold(f, kind, dtype, a, w(start))
    return _fold_first(f, kind, dtype, a, w)


def _partly(f, kind, dtype, a, n, w, start):
    """Of an array whose first n axes are reduced, and one is left at least."""
    out = np.empty(a.shape[n:], w)
    if start is not None:
        out[...] = w(start)
        if n == 0:
            _step(f, kind, dtype, out, a)
        else:
            _rows(f, kind, dtype, out, a, n)
    elif n == 0:
        _copy(out, a)
    elif out.size > 0:
        _rows_first(f, kind, dtype, out, a, n)
    return out


def _reduced(f, kind, name, a, axes, dtype, keepdims, start, t):
    w = _running_type(kind, t)
    moved = _axes_to_front(a, axes[::-1])
    if start is None and _product(moved.shape[:len(axes)]) == 0:
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    if len(axes) < a.ndim:
        out = _as(_partly(f, kind, dtype, moved, len(axes), w, start), t)
        return _arrays.shaped(out, _kept(a.shape, axes, 0, 1)) if keepdims else out
    whole = t(_whole(f, kind, dtype, moved, w, start))
    if not keepdims:
        return whole
    out = np.empty(_ones(a.ndim), t)
    out[...] = whole
    return out


def reduce(f, kind, identity, refusal, name, array, axis=0, dtype=None, out=None, keepdims=False, initial=()):
    _check_array(array)
    a = _operand_of(array)
    if a.ndim == 0 and axis is not None and not isinstance(axis, (tuple, list)) and axis != 0 and axis != -1:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension 0")
    t = _result_type(f, kind, a, dtype)
    _check_loop(f, kind, t, a, name)
    axes = _all_axes(a.ndim) if axis is None or a.ndim == 0 else _counted(axis, a.ndim)
    _check_unique(axes)
    if len(axes) > 1 and refusal is not None:
        raise TypingError(refusal)
    return _given(_reduced(f, kind, name, a, axes, dtype, keepdims, identity if isinstance(initial, tuple) else initial, t), out)


# ---- accumulate and reduceat ----


def _one_axis(axis, ndim):
    if axis < -ndim or axis >= ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis + ndim if axis < 0 else axis


def _accumulate(f, kind, dtype, out, a):
    """Along the first axis."""
    for i in range(a.shape[0]):
        if a.ndim > 1:
            _accumulate_row(f, kind, dtype, out[i], out[i - 1 if i > 0 else 0], a[i], i == 0)
        else:
            t = out.dtype.type
            out[i] = t(f(out[i - 1], _operand(kind, dtype, a[i], t))) if i > 0 else t(a[i])


def _accumulate_row(f, kind, dtype, out, before, x, first):
    for i in range(out.shape[0]):
        if out.ndim > 1:
            _accumulate_row(f, kind, dtype, out[i], before[i], x[i], first)
        else:
            t = out.dtype.type
            out[i] = t(x[i]) if first else t(f(before[i], _operand(kind, dtype, x[i], t)))


def _given_same(result, out):
    if out is not None and out.shape != result.shape:
        raise ValueError("the output does not have the shape of the result")
    return _given(result, out)


def accumulate(f, kind, shown, array, axis=0, dtype=None, out=None):
    a = _operand_of(array)
    if a.ndim == 0:
        raise TypeError("cannot accumulate on a scalar")
    t = _result_type(f, kind, a, dtype)
    _check_loop(f, kind, t, a, shown)
    k = _one_axis(axis, a.ndim)
    result = np.empty(a.shape, t)
    _accumulate(f, kind, dtype, _axis_first(result, k), _axis_first(a, k))
    return _given_same(result, out)


def _check_places(places, n, shown):
    for p in places:
        if p < 0 or int(p) >= n:
            raise IndexError(f"index {p} out-of-bounds in {shown} [0, {n})")


def _reduceat(f, kind, dtype, out, a, places, w):
    n = a.shape[0]
    for j in range(places.shape[0]):
        low = int(places[j])
        high = int(places[j + 1]) if j + 1 < places.shape[0] else n
        part = a[low:high if high > low else low + 1]
        if a.ndim == 1:
            out[j] = out.dtype.type(_fold_first(f, kind, dtype, part, w))
        else:
            _rows_first(f, kind, dtype, out[j], part, 1)


def _replaced(shape, axis, n, i=0):
    return () if i == len(shape) else (n if i == axis else shape[i], *_replaced(shape, axis, n, i + 1))


def _check_reduceat(array, indices, axis, out):
    _check_array(array)
    if not isinstance(indices, (np.ndarray, tuple, list)):
        raise TypingError('The second argument "indices" must be array-like')
    if isinstance(indices, np.ndarray) and indices.ndim != 1:
        raise TypingError('The second argument "indices" must have at most 1 dimension, and at least 1')
    if not isinstance(axis, (int, np.integer)):
        raise TypingError('"axis" must be an integer')
    if out is not None and not isinstance(out, np.ndarray):
        raise TypingError("output must be an array")


def reduceat(f, kind, shown, array, indices, axis=0, dtype=None, out=None):
    _check_reduceat(array, indices, axis, out)
    a = _operand_of(array)
    places = np.empty(0, np.int64) if isinstance(indices, (tuple, list)) and len(indices) == 0 else _array_of(indices)
    if a.ndim == 0:
        raise TypeError("cannot reduceat on a scalar")
    t = _result_type(f, kind, a, dtype)
    _check_loop(f, kind, t, a, shown)
    w = _running_type(kind, t)
    k = _one_axis(axis, a.ndim)
    _check_places(places, a.shape[k], shown)
    moved = _axis_first(a, k)
    result = np.empty(_replaced(a.shape, k, places.shape[0]), t)
    _reduceat(f, kind, dtype, _axis_first(result, k), moved, places, w)
    return _given_same(result, out)


# ---- outer ----


def outer(f, A, B, out=None):
    a = _array_of(A)
    b = _array_of(B)
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        result = f(a, b)
    else:
        result = f(_arrays.viewed(a, (*a.shape, *_ones(b.ndim)), (*a.strides, *_ones(b.ndim))), b)
    return _given_same(result, out)


# ---- at ----


# Numbers that types depend on are the lengths of tuples.


def _runs(items, before=False):
    """As long as an index has runs of numbers and arrays."""
    if len(items) == 0:
        return ()
    if items[0] is None or items[0] is Ellipsis or isinstance(items[0], slice):
        return _runs(items[1:])
    if before:
        return _runs(items[1:], True)
    return (0, *_runs(items[1:], True))


def _named_axes(items):
    """As long as an index names axes of an array."""
    if len(items) == 0:
        return ()
    if items[0] is None or items[0] is Ellipsis:
        return _named_axes(items[1:])
    if isinstance(items[0], (np.ndarray, tuple, list)):
        p = _array_of(items[0])
        if p.dtype.type == np.bool_:
            return (*p.shape, *_named_axes(items[1:]))
    return (0, *_named_axes(items[1:]))


def _moved_forward(t, to, at, n):
    """The n items of a tuple from `at`, before those from `to`."""
    return (*t[:to], *t[at:at + n], *t[to:at], *t[at + n:])


def _selected(a, axis, kept, items, arrays, before):
    """a behind its numbers and slices among the items of an index, the arrays among them, and a tuple as long as axes stay before the first
    of these. The axes of a: as many as the arrays name, those that stay, those that the items will name."""
    at = axis + kept
    if len(items) == 0:
        return a, arrays, before
    if items[0] is Ellipsis:
        return _selected(a, axis, a.ndim - axis - len(_named_axes(items[1:])), items[1:], arrays, before)
    if items[0] is None:
        new = _arrays.viewed(a, (*a.shape[:at], 1, *a.shape[at:]), (*a.strides[:at], 0, *a.strides[at:]))
        return _selected(new, axis, kept + 1, items[1:], arrays, before)
    if isinstance(items[0], slice):
        part = _axes_first(a, at, 1)[items[0]]
        back = _arrays.viewed(part, _moved_forward(part.shape, 0, 1, at), _moved_forward(part.strides, 0, 1, at))
        return _selected(back, axis, kept + 1, items[1:], arrays, before)
    if isinstance(items[0], (np.ndarray, tuple, list)):
        p = _array_of(items[0])
        n = p.ndim if p.dtype.type == np.bool_ else 1
        b = _arrays.viewed(a, _moved_forward(a.shape, axis, at, n), _moved_forward(a.strides, axis, at, n))
        return _selected(b, axis + n, kept, items[1:], (*arrays, p), a.shape[axis:at] if len(arrays) == 0 else before)
    rest = _axes_first(a, at, 1)[_place(items[0], a.shape[at]):]
    return _selected(_arrays.viewed(rest, rest.shape[1:], rest.strides[1:]), axis, kept, items[1:], arrays, before)


def _check_inside(p, n):
    for i in range(p.shape[0]):
        if p.ndim > 1:
            _check_inside(p[i], n)
        else:
            _place(p[i], n)


def _check_all(places, a, axis=0):
    if len(places) > 0:
        _check_inside(places[0], a.shape[axis])
        _check_all(places[1:], a, axis + 1)


def _joined(f, x, value):
    return f(x) if value is None else f(x, value)


def _update(f, a, value):
    t = a.dtype.type
    if a.ndim == 0:
        a[()] = t(_joined(f, a[()], value[()] if isinstance(value, np.ndarray) else value))
    else:
        for i in range(a.shape[0]):
            v = value[i] if isinstance(value, np.ndarray) else value
            if a.ndim == 1:
                a[i] = t(_joined(f, a[i], v))
            else:
                _update(f, a[i], v)


def _update_at(f, a, places, j, value):
    k = _place(places[0][j], a.shape[0])
    if len(places) > 1:
        _update_at(f, a[k], places[1:], j, value)
    elif a.ndim > 1:
        _update(f, a[k], value)
    else:
        a[k] = a.dtype.type(_joined(f, a[k], value))


def _update_all(f, a, places, values):
    for j in range(places[0].shape[0]):
        v = values[j] if isinstance(values, np.ndarray) else values
        if places[0].ndim > 1:
            _update_all(f, a, _each_at(places, j), v)
        else:
            _update_at(f, a, places, j, v)


def _second(b):
    """The second operand in memory of its own: what is written must not change what is read later."""
    if not isinstance(b, np.ndarray):
        return _strong(b)
    return b[()] if b.ndim == 0 else b.copy()


def _copies(arrays):
    return () if len(arrays) == 0 else (arrays[0].copy(), *_copies(arrays[1:]))


def _as_places(value, shape, view, n, before):
    """The value as an array whose axes are those of the places and of the view behind them; in the index, `before` axes of the view stand
    before the places."""
    m = len(shape)
    all_axes = broadcast_to(value, (*view.shape[n:n + before], *shape, *view.shape[n + before:]))
    return _arrays.viewed(all_axes, _moved_forward(all_axes.shape, 0, before, m), _moved_forward(all_axes.strides, 0, before, m))


def _at(f, a, items, value):
    view, arrays, before = _selected(a, 0, 0, items, (), ())
    if len(arrays) == 0:
        _update(f, view, broadcast_to(value, view.shape) if isinstance(value, np.ndarray) else value)
    else:
        places = _spread(_copies(_as_indices(view, 0, arrays)))
        _check_all(places, view)
        first = len(before) if len(_runs(items)) == 1 else 0
        _update_all(f, view, places, _as_places(value, places[0].shape, view, len(places), first) if isinstance(value, np.ndarray) else value)


def at(f, a, indices, b=None):
    if b is None:
        raise TypingError("second operand needed for ufunc")
    _at(f, a, indices if isinstance(indices, tuple) else (indices,), _second(_array_of(b)))


def at_unary(f, a, indices, b=None):
    if b is not None:
        raise TypingError("second operand provided when ufunc is unary")
    _at(f, a, indices if isinstance(indices, tuple) else (indices,), None)
