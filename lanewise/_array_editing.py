"""NumPy's functions on device arrays that join, insert, delete, choose and order elements: more of `lanewise/_array_protocol.py`.

They are written with views, subscripts and the functions there. Indices may be on the host or on the device. Where the shape of a result
depends on indices or masks on the device, the call waits for them.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

import lanewise as lw
from lanewise import _array_protocol as _protocol
from lanewise._array_protocol import _array, _arrays, _before, _deliver, _filled, _first, _is_own, _new, _of


def _host(x: Any) -> Any:
    """Indices as a NumPy array."""
    return x.copy_to_host() if _is_own(x) else np.asarray(x)


def _rows(x: Any) -> Any:
    return x.ravel() if x.ndim != 1 else x


# ---- sets ----


@_of(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    return _protocol.unique(_protocol.concatenate(_arrays((ar1, ar2)), None))


def _distinct(ar1: Any, ar2: Any, assume_unique: bool) -> list[Any]:
    return [_rows(x) if assume_unique else _protocol.unique(x) for x in _arrays((ar1, ar2))]


@_of(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    one, two = _arrays((ar1, ar2))
    firsts: list[Any] = []
    if assume_unique:
        one, two = _rows(one), _rows(two)
    elif return_indices:
        (one, first), (two, second) = (_protocol.unique(x, return_index=True) for x in (one, two))
        firsts = [_rows(first), _rows(second)]
    else:
        one, two = _protocol.unique(one), _protocol.unique(two)
    both = _protocol.concatenate([one, two])
    order = both.argsort(stable=True)
    both = both[order]
    again = both[1:] == both[:-1]
    found = both[:-1][again]
    if not return_indices:
        return found
    at = [order[:-1][again], order[1:][again] - one.size]
    return (found, *(first[places] for first, places in zip(firsts, at))) if firsts else (found, *at)


@_of(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    both = _protocol.concatenate(_distinct(ar1, ar2, assume_unique))
    if both.size == 0:
        return both
    both.sort()
    differs = _filled(both, both.size + 1, np.bool_, True)
    differs[1:-1] = both[1:] != both[:-1]
    return both[lw.ufuncs.logical_and(differs[1:], differs[:-1])]


@_of(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    one, two = _distinct(ar1, ar2, assume_unique)
    return one[np.isin(one, two, invert=True)]


@_of(np.unique_values)
def unique_values(x: Any) -> Any:
    return _protocol.unique(x, equal_nan=False)


def _unique_as(function: Any, **keywords: bool) -> None:
    """The functions of the array API standard that return named tuples."""
    kind = type(function(np.zeros(1)))

    def found(x: Any) -> Any:
        return kind(*_protocol.unique(x, equal_nan=False, **keywords))

    found.__name__ = function.__name__
    _of(function)(found)


_unique_as(np.unique_counts, return_counts=True)
_unique_as(np.unique_inverse, return_inverse=True)
_unique_as(np.unique_all, return_index=True, return_inverse=True, return_counts=True)


# ---- inserting, deleting ----


@_of(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    like = _first(arr, obj)
    arr = _array(arr, like)
    if axis is None:
        arr, axis = _rows(arr), 0
    axis = normalize_axis_index(axis, arr.ndim)
    n = arr.shape[axis]
    keep = _filled(arr, n, np.bool_, True)
    if not isinstance(obj, slice):
        obj = obj if _is_own(obj) else np.asarray(obj, *(() if np.size(obj) else (np.intp,)))
        if obj.dtype.kind == "b" and obj.shape != (n,):
            raise ValueError(f"boolean array argument obj to delete must be one dimensional and match the axis length of {n}")
        if obj.dtype.kind not in "iub":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        if obj.ndim == 0:
            obj = operator.index(obj)
            if not -n <= obj < n:
                raise IndexError(f"index {obj} is out of bounds for axis {axis} with size {n}")
    keep[obj] = False
    return arr[_before(axis) + (keep,)]


def _inserted_at(obj: Any, n: int) -> Any:
    """Where the new elements come, as integers on the host."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(n), dtype=np.intp)
    places = _host(obj)
    if places.dtype.kind == "b":
        if places.ndim != 1:
            raise ValueError("boolean array argument obj to insert must be one dimensional")
        return np.flatnonzero(places)
    if places.size == 0 and not hasattr(obj, "dtype"):
        places = places.astype(np.intp)
    if places.dtype.kind not in "iu":
        raise (TypeError if places.size == 1 else IndexError)("arrays used as indices must be of integer (or boolean) type")
    if places.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    return places.astype(np.intp)


def _values_of(dtype: Any, values: Any, like: Any) -> Any:
    """What is put into an array of this dtype. As in NumPy, numbers of Python must fit; arrays are cast."""
    return _array(values if hasattr(values, "dtype") else np.asarray(values, dtype), like)


@_of(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    like = _first(arr, values, obj)
    arr = _array(arr, like)
    if axis is None:
        arr, axis = _rows(arr), 0
    axis = normalize_axis_index(axis, arr.ndim)
    n = arr.shape[axis]
    places = _inserted_at(obj, n)
    for bad in places[(places < -n) | (places > n)].ravel()[:1]:
        raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {n}")
    places = np.where(places < 0, places + n, places)
    values = _values_of(arr.dtype, values, like)
    if places.size == 1:
        values = values.reshape((1,) * (arr.ndim - values.ndim) + values.shape)
        if places.ndim == 0:  # as in NumPy, x[:, 0] = values and x[:, [0]] = values take their axes differently
            values = np.moveaxis(values, 0, axis)
        places = places.item() + np.arange(values.shape[axis])
    else:
        order = places.argsort(kind="stable")
        places[order] += np.arange(places.size)
    out = _new(arr, tuple(s + len(places) if d == axis else s for d, s in enumerate(arr.shape)), arr.dtype)
    old = np.ones(n + len(places), bool)
    old[places] = False
    if len(places):
        out[_before(axis) + (places,)] = values
    elif values.size:
        _protocol.broadcast_to(values, tuple(0 if d == axis else s for d, s in enumerate(arr.shape)))  # a ValueError, as in NumPy, for what does not fit
    if arr.size:
        out[_before(axis) + (np.flatnonzero(old),)] = arr
    return out


@_of(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    shape = (new_shape,) if isinstance(new_shape, (int, np.integer)) else tuple(new_shape)
    size = 1
    for n in shape:
        size *= n
        if n < 0:
            raise ValueError("all elements of `new_shape` must be non-negative")
    if a.size == 0 or size == 0:
        return _filled(a, shape, a.dtype, 0)
    return _protocol.tile(_rows(a), -(-size // a.size))[:size].reshape(shape)


@_of(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    trim = trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = range(filt.ndim) if axis is None else normalize_axis_tuple(axis, filt.ndim, argname="axis")
    bounds = [(int(places.min()), int(places.max()) + 1) if places.size else (0, 0) for places in filt.nonzero()]
    parts = [slice(None)] * filt.ndim
    for d in axes:
        low, high = bounds[d]
        parts[d] = slice(low if "f" in trim else None, high if "b" in trim else None) if high else slice(0, 0)
    return filt[tuple(parts)]


# ---- joining ----


def _depth(arrays: Any) -> int:
    """How deep the lists of np.block are nested."""
    if isinstance(arrays, tuple):
        raise TypeError("arrays is a tuple. Only lists can be used to arrange blocks, and np.block does not allow implicit conversion from tuple to ndarray.")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("List at arrays cannot be empty")
    depths = {_depth(one) for one in arrays}
    if len(depths) > 1:
        raise ValueError(f"List depths are mismatched: {sorted(depths)}")
    return 1 + depths.pop()


def _leaves(arrays: Any) -> Any:
    for one in arrays if isinstance(arrays, list) else ():
        yield from _leaves(one)
    if not isinstance(arrays, list):
        yield arrays


@_of(np.block)
def block(arrays: Any) -> Any:
    depth = _depth(arrays)
    like = _first(*_leaves(arrays))
    ndim = max([depth, *(np.ndim(one) for one in _leaves(arrays))])

    def joined(one: Any, level: int) -> Any:
        if level == 0:
            one = _array(one, like)
            return one.reshape((1,) * (ndim - one.ndim) + one.shape)
        return _protocol.concatenate([joined(item, level - 1) for item in one], -level)

    return joined(arrays, depth) if depth else joined(arrays, 0).copy()


@_of(np.unstack)
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    axis = normalize_axis_index(axis, x.ndim)
    return tuple(x[_before(axis) + (i,)] for i in range(x.shape[axis]))


# ---- order ----


def _check_kth(kth: Any, n: int, is_empty: bool) -> None:
    kth = _host(kth)
    if kth.dtype.kind == "b":
        raise ValueError("Booleans unacceptable as partition index")
    if kth.dtype.kind not in "iu" and kth.size:
        raise TypeError("Partition index must be integer")
    if kth.ndim > 1:
        raise ValueError(f"kth array must have dimension <= 1, it has {kth.ndim}")
    for k in kth.ravel().tolist():
        if not -n <= k < n and not is_empty:  # of an empty array NumPy takes any
            raise ValueError(f"kth(={k}) out of bounds ({n})")


def _whole(kth: Any, kind: Any, order: Any, a: Any, axis: Any) -> tuple[Any, int]:
    """Arrays are sorted: a sorted array is partitioned at each of its elements."""
    if kind != "introselect":
        raise ValueError(f"select kind must be one of 'introselect' (got {kind!r:.50})")
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if axis is None:
        a, axis = _rows(a), 0
    axis = normalize_axis_index(axis, a.ndim)
    _check_kth(kth, a.shape[axis], a.size == 0)
    return a, axis


@_of(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    a, axis = _whole(kth, kind, order, a, axis)
    return _protocol.sort(a, axis)


@_of(np.argpartition)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    a, axis = _whole(kth, kind, order, _protocol._at_least(a, 1), axis)
    return a.argsort(axis)


@_of(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    rows = _arrays(keys) if isinstance(keys, (tuple, list)) else list(keys)
    if not rows:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if any(key.shape != rows[0].shape for key in rows):
        raise ValueError("all keys need to be the same shape")
    if rows[0].ndim == 0:
        return _filled(rows[0], (), np.int64, 0)
    axis = normalize_axis_index(axis, rows[0].ndim)
    order = rows[0].argsort(axis, stable=True)
    for key in rows[1:]:
        order = np.take_along_axis(order, np.take_along_axis(key, order, axis).argsort(axis, stable=True), axis)
    return order


@_of(np.sort_complex)
def sort_complex(a: Any) -> Any:
    made = _protocol.sort(a)
    return made if made.dtype.kind == "c" else made.astype(np.complex64 if made.dtype.char in "bhBH" else np.complex128)


# ---- choosing ----


def _in_range(a: Any, n: int, mode: str) -> Any:
    """Choices of np.choose as numbers from 0 to n - 1."""
    if mode == "wrap":
        return a % n
    if mode == "clip":
        return _protocol.clip(a, 0, n - 1)
    if mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    if a.size and (int(a.min()) < 0 or int(a.max()) >= n):
        raise ValueError("invalid entry in choice array")
    return a


@_of(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    like = _first(a, choices)
    kind = _protocol._result_type(*(one if hasattr(one, "dtype") else _array(one, like) if np.ndim(one) else one for one in choices)) if len(choices) else None
    a, items = _array(a, like), [_array(one, like) for one in choices]
    if a.dtype.kind not in "iub":
        raise TypeError(f"Cannot cast array data from {a.dtype!r} to dtype('int64') according to the rule 'safe'")
    if not items:
        raise ValueError("choose requires at least one choice")
    if a.dtype.kind == "b":
        a = a.astype(np.int64)
    a = _in_range(a, len(items), mode)
    shape = np.broadcast_shapes(a.shape, *(one.shape for one in items))
    made = _new(like, shape, kind)
    made[...] = items[0]
    for k, one in enumerate(items[1:], 1):
        _protocol.copyto(made, one, casting="unsafe", where=a == k)
    return _deliver(made, out)


@_of(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    like = _first(condition, a)
    condition, a = _array(condition, like), _array(a, like)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if axis is None:
        a, axis = _rows(a), 0
    return a.take(condition.nonzero()[0], normalize_axis_index(axis, a.ndim), out=out)


@_of(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    condition, arr = _arrays((condition, arr))
    return _rows(arr).take(_rows(condition).nonzero()[0])


def _flat(a: Any) -> tuple[Any, bool]:
    """The elements as one axis, in C order; and whether this is a view."""
    return (a.reshape((a.size,)), True) if a.flags["C_CONTIGUOUS"] else (a.ravel(), False)


def _put_flat(a: Any, places: Any, values: Any) -> None:
    flat, is_view = _flat(a)
    flat[places] = values
    if not is_view:
        a[...] = flat.reshape(a.shape)


def _check_values(values: Any, dtype: Any) -> None:
    """NumPy casts arrays that are put into another by the rule 'safe', but numbers and lists without one."""
    if hasattr(values, "dtype") and not isinstance(values, np.generic):
        _protocol._check_cast(values.dtype, dtype, "safe")


def _needs_device(name: str, a: Any) -> None:
    if not _is_own(a):
        raise TypeError(f"numpy.{name}: the array that is changed must be a device array, like the others, got {type(a).__name__}")


@_of(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    _needs_device("put", a)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    ind, v = _array(ind, a), _values_of(a.dtype, v, a)
    if ind.size and not a.size:
        raise IndexError("cannot replace elements of an empty array")
    if ind.size == 0 or v.size == 0:
        return
    ind = _rows(ind)
    if mode == "wrap":
        ind = ind % a.size
    elif mode == "clip":
        ind = _protocol.clip(ind, 0, a.size - 1)
    _put_flat(a, ind, v.reshape(()) if v.size == 1 else resize(v, ind.size).astype(a.dtype))


@_of(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    _needs_device("place", arr)
    mask = _array(mask, arr)
    if mask.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    _check_values(vals, arr.dtype)
    vals = _values_of(arr.dtype, vals, arr)
    places = _rows(mask).nonzero()[0]
    if places.size == 0:
        return
    if vals.size == 0:
        raise ValueError("Cannot insert from an empty array!")
    _put_flat(arr, places, resize(vals, places.size).astype(arr.dtype))


@_of(np.putmask)
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    _needs_device("putmask", a)
    mask = _array(mask, a)
    if mask.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    _check_values(values, a.dtype)
    values = _values_of(a.dtype, values, a)
    if a.size and values.size:
        _protocol.copyto(a, resize(values, a.shape), where=mask.reshape(a.shape).astype(np.bool_))


def _along(shape: Any, indices: Any, axis: int) -> tuple[Any, ...]:
    """Subscripts of which the one of this axis is `indices`, and the others count."""
    return tuple(indices if d == axis else np.arange(n).reshape(tuple(n if k == d else 1 for k in range(len(shape)))) for d, n in enumerate(shape))


@_of(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    _needs_device("put_along_axis", arr)
    indices = _array(indices, arr)
    if axis is None:
        _put_flat(arr, _rows(indices), _array(values, arr) if hasattr(values, "shape") else values)
        return
    axis = normalize_axis_index(axis, arr.ndim)
    if indices.ndim != arr.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    arr[_along(arr.shape, indices, axis)] = values


@_of(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    _needs_device("fill_diagonal", a)
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    step = a.shape[1] + 1 if a.ndim == 2 else 1 + int(np.cumprod(a.shape[:-1]).sum())
    end = a.size if a.ndim > 2 or wrap else min(a.size, a.shape[1] * a.shape[1])
    places = np.arange(0, end, step)
    if places.size:
        val = _values_of(a.dtype, val, a)
        if val.size == 0:
            return
        a[np.unravel_index(places, a.shape)] = resize(val, places.size).astype(a.dtype)


# ---- numbers of elements ----


def _extents(shape: Any) -> tuple[int, ...]:
    return tuple(map(operator.index, shape if isinstance(shape, (tuple, list)) else (shape,)))


def _check_order(order: Any) -> None:
    if order not in ("C", "F"):
        raise ValueError(f"only 'C' or 'F' order is permitted, got {order!r:.50}")


@_of(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    shape = _extents(shape)
    _check_order(order)
    if indices.dtype.kind not in "biu" and indices.size:
        raise TypeError("only int indices permitted")
    if not shape and indices.ndim:
        raise ValueError("multiple indices are not supported for 0d arrays")
    size = int(np.prod(shape, dtype=np.int64))
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < size:
        bad = int(indices.min()) if int(indices.min()) < 0 else int(indices.max())
        raise ValueError(f"index {bad} is out of bounds for array with size {size}")
    rest, found = indices.astype(np.int64), []
    for n in shape[::-1] if order == "C" else shape:
        found.append(rest % n)
        rest = rest // n
    return tuple(found[::-1] if order == "C" else found)


@_of(np.ix_)
def ix_(*args: Any) -> Any:
    found = []
    for at, x in enumerate(_arrays(args)):
        if x.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if x.dtype.kind == "b":
            x = x.nonzero()[0]
        found.append(x.reshape(tuple(-1 if d == at else 1 for d in range(len(args)))))
    return tuple(found)


@_of(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    arrays = _arrays(multi_index)
    dims = _extents(dims)
    _check_order(order)
    if len(arrays) != len(dims):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(dims)}")
    modes = (mode,) * len(dims) if isinstance(mode, str) else tuple(mode)
    step, total = 1, 0
    pairs = list(zip(arrays, dims, modes))
    for x, n, how in pairs[::-1] if order == "C" else pairs:
        if x.dtype.kind not in "iu":
            raise TypeError("only int indices permitted")
        try:
            x = _in_range(x.astype(np.int64), n, how)
        except ValueError:
            raise ValueError("invalid entry in coordinates array") from None
        total = x * step + total
        step *= n
    return total
