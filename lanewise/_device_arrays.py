"""Indexing by arrays, sorting, and what goes with it, of device arrays; the extension calls these functions by
name (core/py/array/device_array_service.c).

Everything works on NumPy arrays as well, which is how it is tested without a GPU: kernels run where the arrays are.

Subscripts with arrays come down to rows: the indexed axes are brought to the front and merged, the index arrays
become one array of row numbers, and rows are copied. Masks become the row numbers of their true elements, by a
prefix sum.

Sorting is an LSD radix sort of 8 bits a pass: a count of digits in each block's tile, a prefix sum over all
counts, and a scatter in which the lanes of a warp rank equal digits by a match (Ashkiani, Davidson, Meyer and Owens,
"GPU Multisplit", 2016). Elements become unsigned keys whose order is NumPy's, NaN last and -0.0 equal to 0.0. The
rows of an array with several axes are sorted at once: by their elements, then by the number of their row.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import operator
from typing import Any

import numpy as np

import lanewise as lw
from lanewise import _device_array_kernels as kernels
from lanewise import cuda
from lanewise._containers import refuse_loss

_EXPECTED = (
    "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`), integer and boolean arrays and field names are valid "
    "indices of a device array, got {}"
)


# ---- memory ----


def _is_host(x: Any) -> bool:
    return isinstance(x, np.ndarray)


def _device_of(x: Any) -> Any:
    """A context in which new arrays lie where x does."""
    if _is_host(x) or x.device == cuda.get_current_device():
        return contextlib.nullcontext()
    return cuda.gpus[x.device.id]


def _empty(x: Any, shape: Any, dtype: Any) -> Any:
    if _is_host(x):
        return np.empty(shape, dtype)
    with _device_of(x):
        return cuda.device_array(shape, dtype)


def _beside(x: Any, array: Any) -> Any:
    """The array, of whichever library, where x lies."""
    if _is_host(x) or (isinstance(array, cuda.DeviceArray) and array.device == x.device):
        return array
    if cuda.is_cuda_array(array):
        array = cuda.as_cuda_array(array)
        if array.device == x.device:
            return array
        array = array.copy_to_host()
    with _device_of(x):
        return cuda.to_device(array)


def _zeros(x: Any, shape: Any, dtype: Any, value: Any = 0) -> Any:
    made = _empty(x, shape, dtype)
    made[...] = value
    return made


def _address(x: Any) -> int:
    return x.__array_interface__["data"][0] if _is_host(x) else x.__cuda_array_interface__["data"][0]


def _extent(x: Any) -> int:
    """Bytes from the first element to the end of the last one."""
    if x.size == 0:
        return 0
    return sum((n - 1) * abs(stride) for n, stride in zip(x.shape, x.strides)) + x.dtype.itemsize


def attribute(x: Any, name: str) -> Any:
    """What numba's device arrays say of themselves: the type, the address, the memory."""
    if name == "_numba_type_":
        return lw.typeof(x) if x.ndim or x.dtype.names is None else lw.from_dtype(x.dtype)
    if name == "alloc_size":
        return _extent(x)
    if name == "mT":
        if x.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return x.transpose((*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
    if name == "device_ctypes_pointer":
        return ctypes.c_void_p(_address(x))
    return cuda.MemoryPointer(cuda.current_context(), _address(x), _extent(x), owner=x)


def to_record(x: Any, record: Any, stream: Any = None) -> Any:
    """copy_to_host(record), an np.void or np.record, whose fields are written."""
    if x.shape != ():
        raise ValueError("ary: its shape differs from the device array's")
    if record.dtype != x.dtype:
        raise TypeError(f"ary: expected dtype {x.dtype!r:.200}, got {record.dtype!r:.200}")
    copy = np.array(x) if _is_host(x) else x.copy_to_host(None, *(() if stream is None else (stream,)))
    for name in record.dtype.names:
        record[name] = copy[name]
    return record


def zeros_like(x: Any) -> Any:
    """The imaginary part of real numbers."""
    return _zeros(x, x.shape, x.dtype)


def _flat(x: Any) -> Any:
    return x.reshape((x.size,))


def _has_order(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biufcmM" or dtype.name == "bfloat16"


# ---- masks ----


def _true_places(x: Any, mask: Any) -> Any:
    """The numbers of a mask's true elements, in C order: int64, beside x. Waits for their count."""
    if _is_host(mask) and not _is_host(x):
        return _beside(x, np.flatnonzero(mask))
    flat = _flat(mask)
    if flat.size == 0:
        return _empty(x, 0, np.int64)
    ends = lw.reductions.cumsum(flat, dtype=np.int64)
    out = _empty(x, int(ends[-1]), np.int64)
    if out.size:
        kernels.compact(flat.size, flat, ends, out)
    return out


# ---- subscripts ----


class _Index:
    """An array among the subscripts. axes: how many it takes."""

    def __init__(self, array: Any, axes: int, is_mask: bool) -> None:
        self.array, self.axes, self.is_mask = array, axes, is_mask


def _index_of(item: Any) -> _Index:
    if isinstance(item, (bool, np.bool_)):
        raise IndexError(_EXPECTED.format("bool"))
    array: Any
    if cuda.is_cuda_array(item) and not isinstance(item, np.ndarray):
        array = cuda.as_cuda_array(item)
    else:
        if not isinstance(item, (list, tuple, np.ndarray)) and not hasattr(item, "__array__") and not hasattr(item, "__array_interface__"):
            raise IndexError(_EXPECTED.format(type(item).__name__))
        refuse_loss("an index", item, labels=False)
        array = np.asarray(item)
        if array.size == 0 and not isinstance(item, np.ndarray):
            array = array.astype(np.intp)
    if array.dtype.kind == "b":
        if array.ndim == 0:
            raise IndexError(_EXPECTED.format("bool"))
        return _Index(array, array.ndim, True)
    if array.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return _Index(array, 1, False)


def _is_number(item: Any) -> bool:
    return hasattr(item, "__index__") and not hasattr(item, "ndim") and not isinstance(item, bool) or isinstance(item, np.integer)


def _entries(x: Any, key: Any) -> list[Any]:
    """Subscripts for all axes of x: slices, None, ints and _Index."""
    found: list[Any] = []
    for item in key if isinstance(key, tuple) else (key,):
        if item is None or item is Ellipsis or isinstance(item, slice):
            found.append(item)
        elif _is_number(item):
            found.append(item.__index__())
        else:
            found.append(_index_of(item))
    n = sum(e.axes if isinstance(e, _Index) else e is not None and e is not Ellipsis for e in found)
    if sum(e is Ellipsis for e in found) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if n > x.ndim:
        raise IndexError(f"too many indices for array: array is {x.ndim}-dimensional, but {n} were indexed")
    at = next((i for i, e in enumerate(found) if e is Ellipsis), len(found))
    found[at:at + 1] = [slice(None)] * (x.ndim - n)
    return found


class _Plan:
    """x[key] as rows[places]."""

    def __init__(self, x: Any, key: Any) -> None:
        basic: list[Any] = []
        indexed: list[range] = []
        indices: list[tuple[_Index, Any]] = []
        axis = 0  # of x
        for entry in _entries(x, key):
            if entry is None:
                basic.append(None)
                continue
            if isinstance(entry, slice):
                basic.append(entry)
                axis += 1
                continue
            index = entry if isinstance(entry, _Index) else _Index(np.asarray(entry), 1, False)
            sizes = x.shape[axis:axis + index.axes]
            self._check(index, sizes, axis)
            indexed.append(range(len(basic), len(basic) + index.axes))
            indices.append((index, sizes))
            basic += [slice(None)] * index.axes
            axis += index.axes
        view = x[tuple(basic)]
        front = [d for axes in indexed for d in axes]
        rest = [d for d in range(view.ndim) if d not in front]
        together = front == list(range(front[0], front[0] + len(front)))
        self.where = front[0] if together else 0
        self.rest = tuple(view.shape[d] for d in rest)
        self.n_front = len(front)
        self.view = view.transpose(front + rest)
        self.is_one_mask = len(indices) == 1 and indices[0][0].is_mask
        self.each_once = self.is_one_mask
        self.indices = indices
        self.x = x

    @staticmethod
    def _check(index: _Index, sizes: Any, axis: int) -> None:
        if index.is_mask:
            for d, (n, size) in enumerate(zip(index.array.shape, sizes)):
                if n != size:
                    raise IndexError(f"boolean index did not match indexed array along axis {axis + d}; size of axis is {size} "
                                     f"but size of corresponding boolean axis is {n}")
        elif _is_host(index.array) and index.array.size:
            for bad in (index.array.min(), index.array.max()):
                if not -sizes[0] <= bad < sizes[0]:
                    raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {sizes[0]}")

    def places(self) -> Any:
        """The row numbers, one axis; self.shape is what it stands for."""
        x, arrays = self.x, []
        for index, sizes in self.indices:
            array = _true_places(x, index.array) if index.is_mask else index.array
            arrays.append((array, math.prod(sizes)))
        try:
            self.shape = np.broadcast_shapes(*(array.shape for array, _ in arrays))
        except ValueError:
            shapes = " ".join(str(array.shape) for array, _ in arrays)
            raise IndexError(f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes}") from None
        if len(arrays) == 1:
            return _flat(_beside(x, arrays[0][0]))
        if all(_is_host(array) for array, _ in arrays):
            rows = np.zeros(self.shape, np.int64)
            for array, size in arrays:
                rows = rows * size + np.where(array < 0, array.astype(np.int64) + size, array)
            return _flat(_beside(x, rows))
        rows = _zeros(x, math.prod(self.shape), np.int64)
        one = _empty(x, self.shape, np.int64)
        for array, size in arrays:
            one[...] = array
            if rows.size:
                kernels.combine(rows.size, rows, _flat(one), size)
        return rows

    def rows(self) -> tuple[Any, bool]:
        """Three axes: the rows, and their elements; and whether they are a view of x."""
        view = self.view
        n = math.prod(view.shape[:self.n_front])
        if not (_has_order(view.dtype) or view.dtype.names):  # texts: as bytes
            dense = np.ascontiguousarray(view) if _is_host(view) else view.copy()
            return _flat(dense).view(np.uint8).reshape((n, 1, -1 if n and self.rest else math.prod(self.rest) * view.dtype.itemsize)), False
        if view.dtype.kind in "mM":
            view = view.view(np.int64)
        if _merge(view, 0, self.n_front):
            for cut in range(self.n_front, view.ndim + 1):
                if _merge(view, self.n_front, cut) and _merge(view, cut, view.ndim):
                    return view.reshape((n, math.prod(view.shape[self.n_front:cut]), math.prod(view.shape[cut:]))), True
        dense = np.ascontiguousarray(view) if _is_host(view) else view.copy()
        return dense.reshape((n, 1, math.prod(self.rest))), False

    def result_order(self) -> list[int]:
        """From (places, rest) to where NumPy has the places' axes."""
        n, m = len(self.shape), len(self.rest)
        return [n + k for k in range(self.where)] + list(range(n)) + [n + k for k in range(self.where, m)]

    def value_order(self) -> list[int]:
        n = len(self.shape)
        return list(range(self.where, self.where + n)) + [k if k < self.where else k + n for k in range(len(self.rest))]

    def result_shape(self) -> tuple[int, ...]:
        return self.rest[:self.where] + tuple(self.shape) + self.rest[self.where:]


def _merge(view: Any, begin: int, end: int) -> bool:
    """Whether these axes can become one without a copy."""
    axes = [d for d in range(begin, end) if view.shape[d] != 1]
    return 0 in view.shape or all(view.strides[a] == view.shape[b] * view.strides[b] for a, b in zip(axes, axes[1:]))


def getitem(x: Any, key: Any) -> Any:
    """x[key], where arrays are among the subscripts: a copy."""
    plan = _Plan(x, key)
    places = plan.places()
    source, _ = plan.rows()
    out = _empty(x, (places.size, *source.shape[1:]), source.dtype)
    if out.size:
        if source.shape[1] == 1:
            kernels.take_pairs((out.shape[0], out.shape[2]), source[:, 0], places, out[:, 0])
        else:
            kernels.take_rows(out.shape, source, places, out)
    if out.dtype != x.dtype:
        out = _flat(out).view(x.dtype)
    return out.reshape((*plan.shape, *plan.rest)).transpose(plan.result_order())


def setitem(x: Any, key: Any, value: Any) -> None:
    """x[key] = value, where arrays are among the subscripts; of several values for one place the last one stays."""
    if isinstance(value, np.generic):
        value = np.asarray(value)  # as NumPy, which casts it here and elsewhere refuses integers that do not fit
    plan = _Plan(x, key)
    to, is_view = plan.rows()
    mask = plan.indices[0][0].array
    if plan.is_one_mask and np.ndim(value) == 0 and to.dtype.itemsize == x.dtype.itemsize:
        one = _zeros(x, 1, x.dtype, value)
        if to.size:
            kernels.fill_where(to.shape, to, _flat(_beside(x, mask)), one.view(to.dtype))
    else:
        places = plan.places()
        if not _is_host(x) and np.ndim(value) == 0 and to.dtype.itemsize == x.dtype.itemsize and places.size * math.prod(to.shape[1:]):
            one = _zeros(x, 1, x.dtype, value)  # whichever element comes last, it is this one
            kernels.fill_rows((places.size, *to.shape[1:]), to, places, one.view(to.dtype))
        else:
            _put_values(plan, to, places, value)
    if not is_view:
        _put_back(plan, to)


def _put_values(plan: _Plan, to: Any, places: Any, value: Any) -> None:
    x, values = plan.x, _values(plan, value, to, places.size)
    if values.size and plan.each_once:
        kernels.put_each(values.shape, to, places, values)
    elif values.size:
        last = _zeros(x, to.shape[0], np.int64, -1)
        kernels.claim(places.size, places, to.shape[0], last)
        kernels.put_rows(values.shape, to, places, last, values)
    elif places.size:
        kernels.claim(places.size, places, to.shape[0], _zeros(x, to.shape[0], np.int64, -1))


def _put_back(plan: _Plan, to: Any) -> None:
    plan.view[...] = (to if to.dtype == plan.x.dtype else _flat(to).view(plan.x.dtype)).reshape(plan.view.shape)


def _values(plan: _Plan, value: Any, to: Any, n: int) -> Any:
    """What is assigned, as rows."""
    values = _empty(plan.x, plan.result_shape(), plan.x.dtype)
    try:
        values[...] = value
    except ValueError as problem:
        if np.shape(value) == ():
            raise
        raise ValueError(f"shape mismatch: value array of shape {np.shape(value)} could not be broadcast to indexing result of shape "
                         f"{plan.result_shape()}") from problem
    values = values.transpose(plan.value_order())
    if to.dtype != values.dtype:
        values = _flat(values).view(to.dtype)
    return values.reshape((n, *to.shape[1:]))


def nonzero_places(x: Any) -> Any:
    """Which elements are not zero, as bools; NaT is not zero, as for numpy.nonzero."""
    return x if x.dtype.kind == "b" else (x.view(np.int64) if x.dtype.kind in "mM" else x) != 0


def nonzero(x: Any) -> tuple[Any, ...]:
    """The indices of elements that are not zero, one array for each axis, as numpy.nonzero; waits for their count."""
    if x.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    flat = _true_places(x, nonzero_places(x))
    if x.ndim == 1:
        return (flat,)
    found, step = [], x.size
    for size in x.shape:
        step //= max(size, 1)
        one = _empty(x, flat.size, np.int64)
        if flat.size:
            kernels.coordinate(flat.size, flat, step, size, one)
        found.append(one)
    return tuple(found)


def flatnonzero(x: Any) -> Any:
    """numpy.flatnonzero."""
    return nonzero(x.reshape((x.size,)))[0]


def argwhere(x: Any) -> Any:
    """numpy.argwhere."""
    found = nonzero(x)
    out = _empty(x, (found[0].size, x.ndim), np.int64)
    for axis, index in enumerate(found):
        out[:, axis] = index
    return out


#: Of numpy.take: what becomes of indices that are out of bounds.
_MODES: dict[Any, Any] = {
    "raise": None,
    None: None,
    "wrap": lambda indices, size: lw.ufuncs.remainder(indices, size),
    "clip": lambda indices, size: lw.ufuncs.minimum(lw.ufuncs.maximum(indices, 0), size - 1),
}


def take(x: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """The elements, or rows along an axis, at these indices, as numpy.take."""
    if mode not in _MODES:
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r:.50})")
    if cuda.is_cuda_array(indices):
        indices = cuda.as_cuda_array(indices)
    else:
        refuse_loss("indices", indices, labels=False)
        indices = np.asarray(indices, None if hasattr(indices, "dtype") else np.intp)
    if not np.can_cast(indices.dtype, np.int64, "same_kind"):
        raise TypeError(f"Cannot cast array data from {indices.dtype!r:.200} to dtype('int64') according to the rule 'same_kind'")
    if indices.dtype.kind == "b":  # no mask here
        indices = indices.astype(np.int64)
    if axis is None or x.ndim == 0:
        x, axis = _flat(x), 0 if axis is None else axis
    axis = _axis(axis, x.ndim)
    if math.prod(indices.shape) and x.shape[axis] == 0:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    if _MODES[mode] is not None and math.prod(indices.shape):
        indices = _MODES[mode](indices.astype(np.int64), x.shape[axis])
    result = getitem(x, (slice(None),) * axis + (indices,))
    if out is None:
        return result
    if out.shape != result.shape:
        raise ValueError(f"out= has shape {out.shape}, but the result has {result.shape}")
    out[...] = result
    return out


def split(x: Any, section: int, stream: Any = 0) -> list[Any]:
    """(numba) Views of so many elements each; the last may have fewer."""
    if x.ndim != 1:
        raise NotImplementedError("split() is for device arrays of one dimension")
    if section < 1:
        raise ValueError(f"section: expected at least 1, got {section}")
    return [x[at:at + section] for at in range(0, x.size, section)]


# ---- keys ----


def _axis(axis: Any, ndim: int) -> int:
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def _float_keys(unsigned: Any, bits: int, infinity: int) -> Any:
    sign, ones = 1 << (bits - 1), (1 << bits) - 1

    @lw.vectorize([unsigned(unsigned)])
    def key(x):
        magnitude = x & unsigned(sign - 1)
        if magnitude > unsigned(infinity):
            return unsigned(ones)
        if magnitude == unsigned(0):
            return unsigned(sign)
        return x ^ unsigned(ones) if x >= unsigned(sign) else x | unsigned(sign)

    return key


_KEYS = {
    "float16": (np.uint16, _float_keys(lw.uint16, 16, 0x7C00)),
    "bfloat16": (np.uint16, _float_keys(lw.uint16, 16, 0x7F80)),
    "float32": (np.uint32, _float_keys(lw.uint32, 32, 0x7F800000)),
    "float64": (np.uint64, _float_keys(lw.uint64, 64, 0x7FF0000000000000)),
}


def _keys_of(flat: Any) -> list[Any]:
    """Unsigned keys of a one-dimensional array, the least significant first."""
    dtype = flat.dtype
    if not _has_order(dtype):
        what = "records, which have no order: sort a field" if dtype.names else f"dtype {dtype!r:.100}: use copy_to_host()"
        raise TypeError(f"device arrays of numbers can be sorted, not of {what}")
    if dtype.kind == "c":
        real, imag = flat.real, flat.imag
        nans = _empty(flat, flat.size, np.uint8)
        kernels.complex_class(flat.size, real, imag, nans)
        return [*_keys_of(imag), *_keys_of(real), nans]
    if dtype.name in _KEYS:
        kind, function = _KEYS[dtype.name]
        return [function(flat.view(kind))]
    unsigned = np.dtype(f"u{dtype.itemsize}")
    bits = flat.view(unsigned)
    if dtype.kind in "bu":
        return [bits]
    keys = bits ^ unsigned.type(1 << (8 * dtype.itemsize - 1))
    return [keys - unsigned.type(1)] if dtype.kind in "mM" else [keys]  # NaT is last


# ---- the sort ----


def _radix(keys: Any, order: Any, bits: int) -> Any:
    """The order of keys that are there in this order already: stable."""
    n, blocks = keys.size, -(-keys.size // kernels.TILE)
    counts = _empty(keys, 256 * blocks, np.int64)
    spare_keys, spare_order = _empty(keys, n, keys.dtype), _empty(keys, n, order.dtype)
    for shift in range(0, bits, 8):
        shift = keys.dtype.type(shift)
        kernels.count_digits[blocks, kernels.BLOCK](keys, shift, counts)
        ends = lw.reductions.cumsum(counts)
        kernels.scatter[blocks, kernels.BLOCK](keys, order, shift, counts, ends, spare_keys, spare_order)
        if shift == 0:  # what was given is not written to
            keys, order, spare_keys, spare_order = spare_keys, spare_order, _empty(keys, n, keys.dtype), _empty(keys, n, order.dtype)
        else:
            keys, order, spare_keys, spare_order = spare_keys, spare_order, keys, order
    return order


def _gather(flat: Any, order: Any) -> Any:
    out = _empty(flat, (order.size, 1), flat.dtype)
    if out.size:
        kernels.take_pairs(out.shape, flat.reshape((flat.size, 1)), order, out)
    return _flat(out)


def _sorted_order(flat: Any, n: int) -> Any:
    """The stable order of the elements of rows of n, one row after the other; flat is contiguous."""
    size = flat.size
    order = _empty(flat, size, np.int32 if size < 2**31 else np.int64)
    if size == 0:
        return order
    kernels.count_up(size, order)
    if n == 1:
        return order
    for at, keys in enumerate(_keys_of(flat)):
        order = _radix(keys if at == 0 else _gather(keys, order), order, _key_bits(flat.dtype, keys, at))
    if n < size:
        rows = _empty(flat, size, np.uint32 if size < 2**32 else np.uint64)
        kernels.row_numbers(size, order, n, rows)
        order = _radix(rows, order, (size // n - 1).bit_length())
    return order


def _check_kind(x: Any, kind: Any, order: Any, stable: Any) -> None:
    if order is not None and x.dtype.names:
        field = order if isinstance(order, str) else x.dtype.names[0]
        raise lw.errors.UnsupportedError(f"device arrays of records are not sorted by order=: a[numpy.argsort(a[{field!r}])] is in the order of one field")
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if kind is not None and stable is not None:
        raise ValueError("`kind` and keyword parameters can't be provided at the same time. Use only one of them.")
    if kind is not None and str(kind).lower() not in ("quicksort", "heapsort", "mergesort", "stable", "q", "h", "m", "s"):
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r:.50})")


def _ordered(x: Any, axis: Any, finish: Any) -> Any:
    """finish(flat, order, n) for rows along the axis, an element for each, brought back to x's shape."""
    axis = _axis(axis, x.ndim)
    n = x.shape[axis]
    lines = x.transpose([d for d in range(x.ndim) if d != axis] + [axis])
    flat = _flat(lines)
    if flat.size and not flat.is_c_contiguous() if not _is_host(flat) else not flat.flags.c_contiguous:
        flat = flat.copy()
    result = finish(flat, _sorted_order(flat, n), n).reshape(lines.shape)
    back = list(range(x.ndim - 1))
    back.insert(axis, x.ndim - 1)
    return result.transpose(back)


def argsort(x: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: bool = False) -> Any:
    """The indices that sort along an axis, as numpy.argsort; always stable."""
    _check_kind(x, kind, order, stable)
    if descending:
        raise lw.errors.UnsupportedError("descending=True is not supported on device arrays: reverse the result")
    if axis is None or x.ndim == 0:
        x, axis = _flat(x), -1

    def finish(flat: Any, found: Any, n: int) -> Any:
        out = _empty(flat, found.size, np.int64)
        if found.size:
            kernels.within_row(found.size, found, n, out)
        return out

    return _ordered(x, axis, finish)


def sort(x: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """A sorted copy along an axis, as numpy.sort: NaN last; always stable."""
    _check_kind(x, kind, order, stable)
    if axis is None:
        x, axis = _flat(x), -1
    return _ordered(x, axis, lambda flat, found, n: _gather(flat.view(np.int64), found).view(flat.dtype) if flat.dtype.kind in "mM"
                    else _gather(flat, found))


def sort_in_place(x: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    """numpy.ndarray.sort."""
    x[...] = sort(x, axis, kind, order, stable=stable)


def unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None, *,
           equal_nan: bool = True, sorted: bool = True) -> Any:
    """The different elements, or rows along an axis, in their order, as numpy.unique; waits for their count."""
    if axis is not None:
        axis = _axis(axis, ar.ndim)
        if ar.ndim > 1:
            return _unique_rows(ar, axis, return_index, return_inverse, return_counts)
    flat = _flat(ar)
    if not _is_host(flat) and not flat.is_c_contiguous():
        flat = flat.copy()
    numbers = flat.view(np.int64) if flat.dtype.kind in "mM" else flat
    order = _sorted_order(flat, flat.size)
    values = _gather(numbers, order)
    first = _empty(flat, flat.size, np.bool_)
    if flat.size:
        kernels.mark_first(flat.size, values, bool(equal_nan), first)
    starts = _true_places(flat, first)
    more = _numbers_of_runs(order, first, starts, return_index, return_inverse, return_counts)
    if return_inverse:
        at = 1 if return_index else 0
        more[at] = more[at].reshape(ar.shape)
    found = _gather(values, starts).view(flat.dtype)
    return (found, *more) if more else found


def _numbers_of_runs(order: Any, first: Any, starts: Any, return_index: Any, return_inverse: Any, return_counts: Any) -> list[Any]:
    """What unique gives beside the elements. first: which sorted elements differ from the one before; starts: where these are."""
    n, found = order.size, []
    if return_index:
        index = _empty(order, starts.size, np.int64)
        index[...] = _gather(order, starts)
        found.append(index)
    if return_inverse:
        inverse = _empty(order, n, np.int64)
        if n:
            kernels.put_number(n, order, lw.reductions.cumsum(first, dtype=np.int64), inverse)
        found.append(inverse)
    if return_counts:
        counts = _empty(order, starts.size, np.int64)
        if starts.size:
            kernels.differences(starts.size, starts, n, counts)
        found.append(counts)
    return found


def _unique_rows(ar: Any, axis: int, return_index: Any, return_inverse: Any, return_counts: Any) -> Any:
    """numpy.unique(axis=): rows are sorted by their last column, then by the one before, and so on. Rows with a NaN differ from all others."""
    front = [axis, *(d for d in range(ar.ndim) if d != axis)]
    moved = ar.transpose(front)
    n, width = moved.shape[0], math.prod(moved.shape[1:])
    rows = moved.reshape((n, width))
    numbers = rows.view(np.int64) if rows.dtype.kind in "mM" else rows
    order = _empty(ar, n, np.int64)
    first = _zeros(ar, n, np.bool_)
    if n:
        kernels.count_up(n, order)
        columns = _empty(ar, (width, n), ar.dtype)
        columns[...] = rows.transpose((1, 0))
        for column in reversed(range(width)):
            order = _order_by(columns[column], order)
        kernels.mark_first_rows(n, numbers, order, first)
    starts = _true_places(ar, first)
    found = _empty(ar, (starts.size, width), numbers.dtype)
    if found.size:
        kernels.take_pairs(found.shape, numbers, _gather(order, starts), found)
    found = found.view(ar.dtype).reshape((starts.size, *moved.shape[1:]))
    back = list(range(1, ar.ndim))
    back.insert(axis, 0)
    more = _numbers_of_runs(order, first, starts, return_index, return_inverse, return_counts)
    return (found.transpose(back), *more) if more else found.transpose(back)


def _order_by(keys: Any, order: Any) -> Any:
    """The order by these elements of one axis, where equal ones stay in the order that was given."""
    for at, part in enumerate(_keys_of(keys)):
        order = _radix(_gather(part, order), order, _key_bits(keys.dtype, part, at))
    return order


def _key_bits(dtype: Any, part: Any, at: int) -> int:
    return 2 if at == 2 else 1 if dtype.kind == "b" else 8 * part.dtype.itemsize
