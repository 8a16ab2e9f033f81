"""NumPy's functions on device arrays (NEP 18): what `DeviceArray.__array_function__` calls.

A function is in one of two tables, or it is a TypeError that says how to get a host array. `_BY_METHOD` names those of
which NumPy's own text does nothing but call methods and read attributes of the array. `_FUNCTIONS` has the others, written
here with views, assignments, ufuncs and reductions; nothing is copied to the host unless the function answers with a
Python object (`allclose`). The arrays that stand for device arrays on a machine without a GPU (`_host_cuda.HostArray`)
come the same way, so that tests without a GPU run this text.

All device arrays of a call lie on one device, and the result is made there. Host arrays among the arguments are copied to
it, as operands of ufuncs are.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
import warnings
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

import lanewise as lw
from lanewise import _device_array_kernels as _kernels
from lanewise import _device_arrays, _placing, cuda, reductions
from lanewise._containers import refuse_loss, refuse_masks

# numpy's text for them works on any object with these methods
_BY_METHOD = {
    "amax", "amin", "all", "any", "argmax", "argmin", "argsort", "array_split", "cumprod", "cumsum", "dsplit", "flip", "hsplit", "imag",
    "iscomplexobj", "isrealobj", "max", "mean", "min", "moveaxis", "ndim", "nonzero", "prod", "real", "reshape", "rollaxis", "shape", "size",
    "split", "squeeze", "std", "sum", "take", "transpose", "var", "vsplit",
}
_FUNCTIONS: dict[Any, Any] = {}


def array_function(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """`self` is the array that was asked: it stands for like= where no argument is an array."""
    refuse_masks(function, args, kwargs)
    if not all(map(_is_known, types)):
        return NotImplemented
    found = _FUNCTIONS.get(function)
    if found is None:
        found = _later(function)
    if found is None and getattr(function, "__name__", None) in _BY_METHOD and function is getattr(np, function.__name__, None):
        found = getattr(function, "_implementation")  # type checkers see a plain function
    if found is None and not str(getattr(function, "__module__", "")).startswith("numpy"):
        return NotImplemented
    if found is None:
        name = f"{getattr(function, '__module__', 'numpy')}.{getattr(function, '__name__', function)}"
        raise TypeError(f"{name} does not take a DeviceArray: call copy_to_host() first, which gives a NumPy array")
    if found in _MAKERS:
        found = functools.partial(found, self)
    with _placing.on_device_of_arguments(args, kwargs, f"numpy.{function.__name__}", (self,)):
        try:
            return found(*args, **kwargs)
        except TypeError as error:
            # NumPy's functions of methods turn to a NumPy array where the method raises a TypeError, which is the one to tell
            if isinstance(error.__context__, TypeError) and "converted to a NumPy array by itself" in str(error):
                raise error.__context__ from None
            raise


def method(self: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """The method of a device array that is NumPy's function of this name."""
    function = _METHODS.get(name)
    return function(self, *args, **kwargs) if function else array_function(self, getattr(np, name), (), (self, *args), kwargs)


def _clip_method(a: Any, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    return array_function(a, np.clip, (), (a, min, max, out), kwargs)


def _conjugate(a: Any) -> Any:
    if a.dtype.kind in "mM":
        raise TypeError("cannot conjugate non-numeric dtype")
    return lw.ufuncs.conjugate(a) if a.dtype.kind == "c" else a  # itself, as in NumPy


def _partition_in_place(a: Any, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    a[...] = array_function(a, np.partition, (), (a, kth, axis, kind, order), {})


def _compress_method(a: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return array_function(a, np.compress, (), (condition, a, axis, out), {})


def _item(a: Any, *index: Any) -> Any:
    """An element as a Python number, by its subscripts, or by its number in C order."""
    index = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
    for i in index:
        if isinstance(i, (bool, np.bool_)):
            raise TypeError("an integer is required for the subscripts of item(), got a bool")
    index = tuple(map(operator.index, index))
    if len(index) == 1 and a.ndim != 1:
        if not -a.size <= index[0] < a.size:
            raise IndexError(f"index {index[0]} is out of bounds for size {a.size}")
        index = np.unravel_index(index[0] % a.size, a.shape)
    elif len(index) != a.ndim:
        raise ValueError(f"incorrect number of indices for array: {len(index)} for {a.ndim} dimensions")
    return a[index].item()


def _tobytes(a: Any, order: Any = "C") -> bytes:
    return a.copy_to_host().tobytes(order)


_METHODS: dict[str, Any] = {"item": _item, "tobytes": _tobytes, "clip": _clip_method, "compress": _compress_method, "conj": _conjugate, "conjugate": _conjugate, "partition": _partition_in_place}  # not as the functions are


def _format(a: Any, spec: str) -> str:
    if a.ndim and spec:
        raise TypeError("unsupported format string passed to a DeviceArray with dimensions: call copy_to_host() first")
    return str(a) if a.ndim else format(np.asarray(a.copy_to_host())[()], spec)


def _round_number(a: Any, ndigits: Any = None) -> Any:
    if a.ndim:
        raise TypeError("round() takes a DeviceArray without dimensions; numpy.round(a) rounds all elements")
    number: Any = np.asarray(a.copy_to_host())[()]
    return builtins.round(number) if ndigits is None else builtins.round(number, ndigits)


_METHODS.update(__format__=_format, __round__=_round_number)


def contains(self: Any, value: Any) -> bool:
    """value in self"""
    return bool((self == value).any())


def unlike(self: Any, other: Any, answer: bool) -> Any:
    """self == other or self != other for None and texts, which no number equals."""
    if self.dtype.kind in "US" and other is not None:
        raise TypeError(f"texts of a DeviceArray are not compared, got {other!r:.50}: call copy_to_host() first")
    return _filled(self, self.shape, np.bool_, answer)


def without_common_type(self: Any, other: Any, answer: bool) -> Any:
    """self == other or self != other where their dtypes have no common one, such as dates and numbers; None where they have one."""
    dtype = other.dtype if hasattr(other, "dtype") else np.asarray(other).dtype
    if not isinstance(dtype, np.dtype):
        return None
    try:
        np.promote_types(self.dtype, dtype)
    except TypeError:
        return _filled(self, np.broadcast_shapes(self.shape, np.shape(other)), np.bool_, answer)
    return None


def _later(function: Any) -> Any:
    """The functions of files that are imported when the first function is asked for that is not in the table."""
    if getattr(function, "__name__", None) in _BY_METHOD:
        return None
    from lanewise import _array_editing, _array_fourier, _array_linear, _array_makers, _array_numbers  # noqa: F401: they register more

    return _FUNCTIONS.get(function)


def _is_known(kind: type) -> bool:
    """An array that is not known decides by itself what a function of it means (Dask, xarray)."""
    if issubclass(kind, np.ndarray):
        return not issubclass(kind, np.ma.MaskedArray)
    return kind is cuda.DeviceArray or hasattr(kind, "__cuda_array_interface__")


_MAKERS: set[Any] = set()


def _of(*functions: Any) -> Any:
    def register(own: Any) -> Any:
        for function in functions:
            _FUNCTIONS[function] = own
        return own

    return register


def _maker(*functions: Any) -> Any:
    """With like=: the array that like= gives is the first argument."""
    def register(own: Any) -> Any:
        _MAKERS.add(own)
        return _of(*functions)(own)

    return register


# ---- what arrays are ----


def _is_own(x: Any) -> bool:
    return isinstance(x, cuda.DeviceArray)


def _home(like: Any) -> Any:
    """Whose to_device and device_array make arrays like this one."""
    if not isinstance(like, np.ndarray):
        return cuda
    from lanewise import _host_cuda

    return _host_cuda


def _first(*values: Any) -> Any:
    return next(_placing.arrays_in(values))


def _array(x: Any, like: Any) -> Any:
    """x where `like` lies."""
    if _is_own(x):
        return x
    refuse_loss("an array beside device arrays", x, labels=False)
    return cuda.as_cuda_array(x) if _home(like) is cuda and cuda.is_cuda_array(x) else _home(like).to_device(np.asarray(x))


def _arrays(items: Any) -> list[Any]:
    items = list(items)
    like = _first(items)
    return [_array(x, like) for x in items]


def _kept(x: Any, like: Any) -> Any:
    """A number stays one: its dtype follows the arrays'."""
    return x if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic) else _array(x, like)


def _before(axis: int) -> tuple[slice, ...]:
    """The subscripts of the axes before one."""
    return (slice(None),) * axis


def _new(like: Any, shape: Any, dtype: Any, order: str = "C") -> Any:
    return _home(like).device_array(shape, dtype, order=order)


def _filled(like: Any, shape: Any, dtype: Any, value: Any, order: str = "C") -> Any:
    out = _new(like, shape, dtype, order)
    if out.size:
        out[...] = value
    return out


def _order_of(x: Any, order: Any) -> str:
    """'C' or 'F' for order= of functions that make arrays like x."""
    if order in ("C", "F"):
        return order
    if not isinstance(order, (str, type(None))):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    if order not in ("A", "K", None):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r:.50})")
    from lanewise import _host_cuda

    if order == "A":
        return "F" if x.flags["F_CONTIGUOUS"] and not x.flags["C_CONTIGUOUS"] else "C"
    return _host_cuda.order_of(x)


def _kept_strides(x: Any, shape: Any, step: int) -> Any:
    """Of a dense array whose axes lie in x's order."""
    strides = [0] * x.ndim
    for d in sorted(range(x.ndim), key=lambda d: -abs(x.strides[d]))[::-1]:
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


def _dtype(dtype: Any) -> Any:
    return lw._core.cuda._dtype(dtype)


def _result_type(*values: Any) -> np.dtype[Any]:
    given = [x.dtype if hasattr(x, "dtype") else x for x in values]
    if all(isinstance(x, np.dtype) and x == given[0] for x in given):
        return given[0]  # also where NumPy does not know it (bfloat16)
    return np.result_type(*given)


def _is_bool(x: Any) -> bool:
    return x.dtype == np.bool_


def _host_device(device: Any) -> None:
    if device is not None:
        raise ValueError(f"device= must be None, not {device!r:.50}: use `with cuda.gpus[i]:` to choose a device")


# ---- arrays like another ----


@_of(np.empty_like)
def empty_like(prototype: Any, /, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None) -> Any:
    _host_device(device)
    if not _is_own(prototype):
        raise TypeError(f"prototype: expected a DeviceArray, got {type(prototype).__name__}")
    shape = prototype.shape if shape is None else tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    dtype = prototype.dtype if dtype is None else dtype
    if order in ("K", None) and len(shape) == prototype.ndim > 2 and not (prototype.flags["C_CONTIGUOUS"] or prototype.flags["F_CONTIGUOUS"]):
        return _home(prototype).device_array(shape, dtype, strides=_kept_strides(prototype, shape, _dtype(dtype).itemsize))
    return _new(prototype, shape, dtype, _order_of(prototype, order))


@_of(np.zeros_like)
def zeros_like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None) -> Any:
    return full_like(a, 0, dtype, order, subok, shape, device=device)


@_of(np.ones_like)
def ones_like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None) -> Any:
    return full_like(a, 1, dtype, order, subok, shape, device=device)


@_of(np.full_like)
def full_like(a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None) -> Any:
    if not _is_own(a):
        raise TypeError(f"a: expected a DeviceArray, got {type(a).__name__}")
    out = empty_like(a, dtype, order, subok, shape, device=device)
    if out.size:
        out[...] = _as_fill(fill_value, out.dtype)
    return out


def _as_fill(value: Any, dtype: Any) -> Any:
    """What a new array of that dtype is filled with: NumPy converts floats to integers, and complex numbers to floats, with a warning, where an assignment raises."""
    return np.full((), value, dtype)[()] if dtype.kind in "iuf" and isinstance(value, (float, complex, np.inexact)) else value


# ---- arrays by like= ----


@_maker(np.array)
def array(like: Any, object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: bool = False, ndmin: int = 0, ndmax: Any = 0) -> Any:
    made = _array(object, like)
    dtype = made.dtype if dtype is None else _dtype(dtype)
    layout = _order_of(made, order)
    has_order = order in ("K", "A", None) or made.flags["C_CONTIGUOUS" if order == "C" else "F_CONTIGUOUS"]
    if made.dtype != dtype or not has_order or copy and made is object:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested")
        made = made.astype(dtype, order=layout)
    elif copy is False and made is not object and not cuda.is_cuda_array(object):
        raise ValueError("Unable to avoid copy while creating an array as requested: the object is not on a device")
    return made if made.ndim >= ndmin else made.reshape((1,) * (ndmin - made.ndim) + made.shape)


@_maker(np.asarray, np.asanyarray)
def asarray(like: Any, a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None) -> Any:
    _host_device(device)
    return array(like, a, dtype, copy=copy, order=order or "K")


@_maker(np.ascontiguousarray)
def ascontiguousarray(like: Any, a: Any, dtype: Any = None) -> Any:
    return array(like, a, dtype, copy=None, order="C", ndmin=1)


@_maker(np.asfortranarray)
def asfortranarray(like: Any, a: Any, dtype: Any = None) -> Any:
    return array(like, a, dtype, copy=None, order="F", ndmin=1)


@_maker(np.empty)
def empty(like: Any, shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None) -> Any:
    _host_device(device)
    return _new(like, shape, dtype, order)


@_maker(np.zeros)
def zeros(like: Any, shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None) -> Any:
    _host_device(device)
    return _filled(like, shape, dtype, 0, order)


@_maker(np.ones)
def ones(like: Any, shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    _host_device(device)
    return _filled(like, shape, float if dtype is None else dtype, 1, order)


@_maker(np.full)
def full(like: Any, shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    _host_device(device)
    if dtype is None:
        dtype = fill_value.dtype if hasattr(fill_value, "dtype") else np.asarray(fill_value).dtype
    return _filled(like, shape, dtype, _as_fill(fill_value, np.dtype(dtype)), order)


def _from_host(function: Any) -> None:
    """Small or rarely made: by NumPy, and copied to the device."""
    def make(like: Any, *args: Any, **kwargs: Any) -> Any:
        return _home(like).to_device(function(*args, **kwargs))

    make.__name__ = function.__name__
    _maker(function)(make)


for _made in (np.arange, np.eye, np.identity, np.tri):
    _from_host(_made)


# ---- shapes ----


@_of(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    axes = list(range(a.ndim))
    one, two = normalize_axis_index(axis1, a.ndim), normalize_axis_index(axis2, a.ndim)
    axes[one], axes[two] = axes[two], axes[one]
    return a.transpose(axes)


@_of(np.permute_dims)
def permute_dims(a: Any, axes: Any = None) -> Any:
    return a.transpose(axes)


@_of(np.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(x, -1, -2)


@_of(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    axes = normalize_axis_tuple(axis, a.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1))
    return a[tuple(None if d in axes else slice(None) for d in range(a.ndim + len(axes)))] if axes else a[...]


def _at_least(x: Any, n: int) -> Any:
    if x.ndim == 0:
        return x.reshape((1,) * n)
    if x.ndim == 1 and n > 1:
        return x[None, :] if n == 2 else x[None, :, None]
    return x[:, :, None] if x.ndim == 2 and n == 3 else x


def _make_at_least(function: Any, n: int) -> None:
    def at_least(*arys: Any) -> Any:
        found = [_at_least(x, n) for x in _arrays(arys)]
        return found[0] if len(found) == 1 else tuple(found)

    _of(function)(at_least)


for _n, _at in enumerate((np.atleast_1d, np.atleast_2d, np.atleast_3d)):
    _make_at_least(_at, _n + 1)


@_of(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    shape = tuple(map(operator.index, shape))
    extra = len(shape) - array.ndim
    fits = extra >= 0 and min(shape, default=0) >= 0 and all(have in (1, n) for have, n in zip(array.shape, shape[extra:]))
    if not fits:
        raise ValueError(f"cannot broadcast an array of shape {array.shape} to shape {shape}")
    strides = (0,) * extra + tuple(0 if have == 1 and n != 1 else s for have, n, s in zip(array.shape, shape[extra:], array.strides))
    return _strided(array, shape, strides)


@_of(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    arrays = _arrays(args)
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    return tuple(x if x.shape == shape else broadcast_to(x, shape) for x in arrays)


def _strided(x: Any, shape: Any, strides: Any) -> Any:
    """A view that cannot be written to; it must stay within x."""
    if not isinstance(x, np.ndarray):
        return x._strided(shape, strides)
    from lanewise import _host_cuda

    return np.lib.stride_tricks.as_strided(x.view(np.ndarray), shape, strides, writeable=False).view(_host_cuda.HostArray)


@_of(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False) -> Any:
    window = tuple(window_shape) if isinstance(window_shape, (tuple, list)) else (window_shape,)
    if min(window, default=0) < 0:
        raise ValueError("`window_shape` cannot contain negative values")
    if writeable:
        raise lw.errors.UnsupportedError("writeable=True is not supported on device arrays: the windows overlap")
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    if len(window) != len(axes):
        raise ValueError(f"window_shape has {len(window)} extents for {len(axes)} axes")
    shape = list(x.shape)
    for d, n in zip(axes, window):
        if shape[d] < n:
            raise ValueError("window shape cannot be larger than input array shape")
        shape[d] -= n - 1
    return _strided(x, (*shape, *window), (*x.strides, *(x.strides[d] for d in axes)))


@_of(np.ravel)
def ravel(a: Any, order: Any = "C") -> Any:
    return a.ravel("C" if order is None else order)


# ---- joining and repeating ----


def _check_cast(dtype: Any, to: Any, casting: Any) -> None:
    if dtype != to and not np.can_cast(dtype, to, casting):
        raise TypeError(f"Cannot cast array data from {dtype!r:.100} to {to!r:.100} according to the rule '{casting}'")


def _check_joined(arrays: Any, axis: int) -> None:
    for i, x in enumerate(arrays):
        if x.ndim != arrays[0].ndim:
            raise ValueError("all the input array dimensions must match: the array at index 0 has "
                             f"{arrays[0].ndim} dimension(s) and the array at index {i} has {x.ndim} dimension(s)")
        for d in range(x.ndim):
            if d != axis and x.shape[d] != arrays[0].shape[d]:
                raise ValueError("all the input array dimensions except for the concatenation axis must match exactly, but along dimension "
                                 f"{d}, the array at index 0 has size {arrays[0].shape[d]} and the array at index {i} has size {x.shape[d]}")


def _are_runs(arrays: Any, out: Any, axis: int) -> bool:
    """Whether arrays that lie one behind the other in the result are copied by one launch for 16 of them: if they are so many and
    so small that a copy for each would keep the host longer than the GPU (6 us, in which it copies 8 MiB)."""
    dtype = out.dtype
    return (
        len(arrays) >= 8 and _home(out) is cuda and out.nbytes <= len(arrays) << 23 and dtype.kind in "iufc" and dtype.itemsize >= 4
        and math.prod(out.shape[:axis]) == 1 and all(x.dtype == dtype and x.flags["C_CONTIGUOUS"] for x in arrays)
    )


def _join_runs(arrays: Any, out: Any) -> None:
    runs = [x if x.ndim == 1 else x.reshape(-1) for x in arrays if x.size]
    whole, begin = out.reshape(-1), 0
    for first in range(0, len(runs), _kernels.JOINED):
        group = runs[first : first + _kernels.JOINED]
        size = sum(x.size for x in group)
        group += [group[0][:0]] * (_kernels.JOINED - len(group))
        _kernels.join(size, whole[begin : begin + size], *group)
        begin += size


@_of(np.concatenate)
def concatenate(arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    if _is_own(arrays):  # its first axis is the sequence
        arrays = [arrays[i] for i in range(len(arrays))]
    arrays = list(arrays)
    if not arrays:
        raise ValueError("need at least one array to concatenate")
    arrays = _arrays(arrays) if out is None else [_array(x, out) for x in arrays]
    if axis is None:
        arrays, axis = [x.ravel() for x in arrays], 0
    if any(x.ndim == 0 for x in arrays):
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    if isinstance(axis, bool):  # which other functions take for an int, in NumPy, too
        raise TypeError("an integer is required for the axis")
    axis = normalize_axis_index(axis, arrays[0].ndim)
    _check_joined(arrays, axis)
    shape = list(arrays[0].shape)
    shape[axis] = sum(x.shape[axis] for x in arrays)
    is_new = out is None
    if out is None:
        to = _result_type(*arrays) if dtype is None else _dtype(dtype)
        in_f = all(x.flags["F_CONTIGUOUS"] and not x.flags["C_CONTIGUOUS"] for x in arrays)
        out = _new(arrays[0], tuple(shape), to, "F" if in_f else "C")
    elif dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    elif not _is_own(out):
        raise TypeError(f"out must be a device array when an array is one, not {type(out).__name__}")
    elif tuple(shape) != out.shape:
        raise ValueError(f"Output array is the wrong shape: it has {out.shape}, but the result has {tuple(shape)}")
    if is_new and _are_runs(arrays, out, axis):
        _join_runs(arrays, out)
        return out
    np.can_cast(np.bool_, np.bool_, casting)  # the word itself, whatever the dtypes
    begin, before = 0, _before(axis)
    for x in arrays:
        _check_cast(x.dtype, out.dtype, casting)
        end = begin + x.shape[axis]
        if x.size:
            out[before + (slice(begin, end),)] = x
        begin = end
    return out


@_of(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    arrays = list(arrays)
    if not arrays:
        raise ValueError("need at least one array to stack")
    arrays = _arrays(arrays) if out is None else [_array(x, out) for x in arrays]
    if any(x.shape != arrays[0].shape for x in arrays):
        raise ValueError("all input arrays must have the same shape")
    axis = normalize_axis_index(axis, arrays[0].ndim + 1)
    return concatenate([expand_dims(x, axis) for x in arrays], axis, out, dtype=dtype, casting=casting)


@_of(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    return concatenate([_at_least(x, 2) for x in _arrays(tup)], 0, dtype=dtype, casting=casting)


@_of(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    arrays = [_at_least(x, 1) for x in _arrays(tup)]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@_of(np.dstack)
def dstack(tup: Any) -> Any:
    return concatenate([_at_least(x, 3) for x in _arrays(tup)], 2)


@_of(np.column_stack)
def column_stack(tup: Any) -> Any:
    return concatenate([x if x.ndim > 1 else x.reshape((x.size, 1)) for x in _arrays(tup)], 1)


@_of(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    arr, values = _arrays((arr, values))
    return concatenate((arr, values), axis)


@_of(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return roll(a.ravel(), shift, 0).reshape(a.shape)
    moved = a.copy()
    pairs = np.broadcast(shift, normalize_axis_tuple(axis, a.ndim, allow_duplicate=True))
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    for by, d in pairs:
        by = int(by) % (moved.shape[d] or 1)
        if by:
            before = _before(int(d))
            moved = concatenate((moved[before + (slice(-by, None),)], moved[before + (slice(None, -by),)]), int(d))
    return moved


@_of(np.fliplr)
def fliplr(m: Any) -> Any:
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return m[:, ::-1]


@_of(np.flipud)
def flipud(m: Any) -> Any:
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return m[::-1]


@_of(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    if _is_own(repeats):
        raise TypeError("repeats must be a number or on the host: it says what shape the result has")
    if axis is None:
        a, axis = a.ravel(), 0
    a = _at_least(a, 1)
    axis = normalize_axis_index(axis, a.ndim)
    return a.take(np.repeat(np.arange(a.shape[axis]), repeats), axis=axis)


@_of(np.tile)
def tile(A: Any, reps: Any) -> Any:
    reps = tuple(reps) if isinstance(reps, (tuple, list, np.ndarray)) else (reps,)
    ndim = max(A.ndim, len(reps))
    reps = (1,) * (ndim - len(reps)) + reps
    shape = (1,) * (ndim - A.ndim) + A.shape
    wide = A.reshape(tuple(n for extent in shape for n in (1, extent)))
    wide = broadcast_to(wide, tuple(n for pair in zip(reps, shape) for n in pair))
    return wide.copy().reshape(tuple(times * extent for times, extent in zip(reps, shape)))


_BY_PLACES = ("edge", "reflect", "symmetric", "wrap")  # modes of np.pad whose new elements are elements of the array


@_of(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    if not isinstance(mode, str) or mode not in ("constant", "empty", *_BY_PLACES, "linear_ramp", "maximum", "mean", "median", "minimum"):
        if not callable(mode):
            raise ValueError(f"mode {mode!r:.50} is not supported")
    if callable(mode) or mode not in ("constant", "empty", *_BY_PLACES) or kwargs.get("reflect_type", "even") != "even":
        asked = f"mode={mode!r:.50}" if mode not in _BY_PLACES else f"reflect_type={kwargs['reflect_type']!r:.50}"
        raise lw.errors.UnsupportedError(f"{asked} of pad is not supported on device arrays: mode='constant', 'edge', 'reflect', 'symmetric', 'wrap' and 'empty' are")
    unknown = set(kwargs) - {"constant": {"constant_values"}, "reflect": {"reflect_type"}, "symmetric": {"reflect_type"}}.get(mode, set())
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    if isinstance(pad_width, dict):
        for d in pad_width:
            normalize_axis_index(d, array.ndim)
        pad_width = [_widths(pad_width, d, array.ndim) for d in range(array.ndim)]
    given = np.asarray(pad_width) if np.size(pad_width) else np.zeros((array.ndim, 2), np.int64)
    if given.dtype.kind not in "iu":
        raise TypeError("`pad_width` must be of integral type.")
    if bool((given < 0).any()):
        raise ValueError("index can't contain negative values")
    widths = np.broadcast_to(given, (array.ndim, 2)).tolist()
    if mode in _BY_PLACES:
        for d, pair in enumerate(widths):
            array = array.take(np.pad(np.arange(array.shape[d]), pair, mode=mode), axis=d)
        return array
    values = np.broadcast_to(np.asarray(kwargs.get("constant_values", 0)), (array.ndim, 2))
    out = _new(array, tuple(n + a + b for n, (a, b) in zip(array.shape, widths)), array.dtype)
    if not out.size:
        return out
    for d, (a, b) in enumerate(widths if mode == "constant" else ()):  # later axes have the corners
        before = _before(d)
        if a:
            out[before + (slice(None, a),)] = values[d, 0]
        if b:
            out[before + (slice(out.shape[d] - b, None),)] = values[d, 1]
    out[tuple(slice(a, a + n) for n, (a, _) in zip(array.shape, widths))] = array
    return out


def _widths(given: Any, axis: int, ndim: int) -> Any:
    """pad_width= as a dict gives the widths of some axes."""
    for d, widths in given.items():
        if normalize_axis_index(d, ndim) == axis:
            return (widths, widths) if np.ndim(widths) == 0 else tuple(widths)
    return (0, 0)


# ---- choosing ----


@_of(np.where)
def where(condition: Any, *choices: Any) -> Any:
    if not choices:
        return _array(condition, condition).nonzero()
    if len(choices) != 2:
        raise ValueError("either both or neither of x and y should be given")
    like = _first(condition, *choices)
    condition = _array(condition, like)
    condition = _device_arrays.nonzero_places(condition)
    x, y = (_kept(value, like) for value in choices)
    dtype = _result_type(x, y)
    if dtype.kind not in "biufc":
        return _where_by_masks(condition, _array(x, like), _array(y, like), dtype)
    return _kernels.choose(condition, *(value.astype(dtype, copy=False) if _is_own(value) else dtype.type(value) for value in (x, y)))


def _where_by_masks(condition: Any, x: Any, y: Any, dtype: Any) -> Any:
    condition, x, y = broadcast_arrays(condition, x, y)
    out = _new(condition, condition.shape, dtype)
    out[...] = y
    out[condition] = x[condition]
    return out


def _is_on_device(x: Any) -> bool:
    return _is_own(x) or cuda.is_cuda_array(x)


def _converted(src: Any, dst: Any, casting: Any) -> Any:
    """What copyto writes to dst, after NumPy's checks of casting; what is on the host is of dst's dtype behind them."""
    if not _is_on_device(src) and (dst.dtype.kind != "V" or dst.dtype.names is not None):
        made = np.empty(np.shape(src), dst.dtype)
        np.copyto(made, src, casting)
        return made
    np.can_cast(np.bool_, np.bool_, casting)  # the word itself, whatever the dtypes
    if not hasattr(src, "dtype"):
        return src
    _check_cast(src.dtype, dst.dtype, casting)
    if src.dtype.kind != "c" or dst.dtype.kind in "cb":
        return src
    warnings.warn("Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning, stacklevel=4)
    return _array(src, dst).real


def _mask(where: Any, dst: Any) -> Any:
    """where= of copyto: True, False, or bools on the device; as in NumPy, numbers and lists are truth values, and arrays must be of bools."""
    if _is_on_device(where):
        mask = _array(where, dst)
        _check_cast(mask.dtype, np.dtype(np.bool_), "safe")
    else:
        mask = np.zeros(np.shape(where), np.bool_)
        np.copyto(mask, True, where=where)
    extra = mask.ndim - len(dst.shape)
    if extra > 0 or any(have not in (1, n) for have, n in zip(mask.shape[::-1], dst.shape[::-1])):
        raise ValueError(f"could not broadcast where mask from shape {mask.shape} into shape {dst.shape}")
    if mask.ndim == 0 and not _is_own(mask):
        return bool(mask)
    return broadcast_to(_array(mask, dst), dst.shape)


def _as_source(src: Any, dst: Any) -> Any:
    """src in dst's shape; leading axes of extent 1 may be more than dst has, as in an assignment."""
    src = _array(src, dst)
    extra = max(src.ndim - dst.ndim, 0)
    if any(n != 1 for n in src.shape[:extra]):
        raise ValueError(f"could not broadcast input array from shape {src.shape} into shape {dst.shape}")
    return broadcast_to(src.reshape(src.shape[extra:]) if extra else src, dst.shape)


@_of(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not _is_own(dst):
        raise TypeError("dst must be a device array when src or where is one: call copy_to_host() first")
    src = _converted(src, dst, casting)
    mask = where if where is True else _mask(where, dst)
    if mask is True:
        dst[...] = src
        return
    src = _as_source(src, dst)
    if mask is False or not dst.size:
        return
    if dst.dtype.kind in "biufc":
        dst[...] = _kernels.choose(mask, src.astype(dst.dtype, copy=False), dst)
    else:
        dst[mask] = src[mask]


@_of(np.clip)
def clip(a: Any, a_min: Any = np._NoValue, a_max: Any = np._NoValue, out: Any = None, *, min: Any = np._NoValue, max: Any = np._NoValue,
         dtype: Any = None, **kwargs: Any) -> Any:
    if (a_min is np._NoValue) != (a_max is np._NoValue):
        raise TypeError(f"clip() takes a_min and a_max together: {'a_min' if a_min is np._NoValue else 'a_max'} is missing")
    if a_min is not np._NoValue and not (min is np._NoValue and max is np._NoValue):
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    low, high = a_min if min is np._NoValue else min, a_max if max is np._NoValue else max
    low, high = (None if x is np._NoValue else x if not isinstance(x, (list, tuple)) else _array(x, a) if _is_own(a) else np.asarray(x) for x in (low, high))
    if a.dtype.kind in "iu":  # a Python int that no element can reach
        limits = np.iinfo(a.dtype)
        low = None if type(low) is int and low <= limits.min else low
        high = None if type(high) is int and high >= limits.max else high
    to = {} if dtype is None else {"dtype": dtype}
    if dtype is None and low is not None and high is not None and a.dtype.kind not in "mM":
        to = {"dtype": _result_type(a, low, high)}
        for limit in (low, high):
            if to["dtype"].kind in "iu" and type(limit) is int:
                to["dtype"].type(limit)  # an OverflowError for what the dtype does not hold
    if low is not None and high is not None and _is_own(a):
        low, high = _kept(low, a), _kept(high, a)
        found = _result_type(a, low, high) if dtype is None else _dtype(dtype)
        if found.kind == "f":
            for x in (a, low, high):
                _check_cast(getattr(x, "dtype", found), found, kwargs.get("casting", "same_kind"))
            return _kernels.clip(*(x.astype(found, copy=False) if _is_own(x) else found.type(x) for x in (a, low, high)), out=out, **kwargs)
    if low is None and high is None:
        return lw.ufuncs.positive(a, out=out, **to, **kwargs) if not _is_bool(a) else array(a, a)
    if high is None:
        return lw.ufuncs.maximum(a, low, out=out, **to, **kwargs)
    if low is not None:
        a = lw.ufuncs.maximum(a, low, **to, **kwargs)
    return lw.ufuncs.minimum(a, high, out=out, **to, **kwargs)


@_of(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    one, two = normalize_axis_index(axis1, a.ndim), normalize_axis_index(axis2, a.ndim)
    if one == two:
        raise ValueError("axis1 and axis2 cannot be the same")
    rows, columns = a.shape[one], a.shape[two]
    a = a.transpose([d for d in range(a.ndim) if d not in (one, two)] + [one, two])
    a = a[..., max(-offset, 0):, max(offset, 0):]
    n = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    return _strided(a, (*a.shape[:-2], n), (*a.strides[:-2], a.strides[-2] + a.strides[-1]))


@_of(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    return diagonal(a, offset, axis1, axis2).sum(axis=-1, dtype=dtype, out=out)


@_of(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = v.size + abs(k)
    out = _filled(v, n * n, v.dtype, 0)
    first = k if k >= 0 else -k * n
    if v.size:
        out[first:first + (v.size - 1) * (n + 1) + 1:n + 1] = v
    return out.reshape((n, n))


def _triangle(m: Any, k: int) -> Any:
    if m.ndim == 0:
        raise TypeError("numpy.tril and numpy.triu take arrays with axes, not a number")
    return np.tri(m.shape[-2:][0], m.shape[-1], k=k, dtype=bool)  # of a row, that of the square matrix in which the row is repeated


@_of(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    return where(_triangle(m, k), m, _filled(m, 1, m.dtype, 0))


@_of(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    return where(_triangle(m, k - 1), _filled(m, 1, m.dtype, 0), m)


@_of(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    if axis is None:
        a, axis = a.ravel(), -1
    a = a.copy()
    a.sort(axis, kind, order, stable=stable)
    return a


@_of(np.unique)
def unique(ar: Any, *args: Any, **kwargs: Any) -> Any:
    if not isinstance(ar, np.ndarray):
        return _device_arrays.unique(ar, *args, **kwargs)
    from lanewise import _host_cuda

    found = np.unique(ar.view(np.ndarray), *args, **kwargs)
    return tuple(x.view(_host_cuda.HostArray) for x in found) if isinstance(found, tuple) else found.view(_host_cuda.HostArray)


@_of(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        arr, axis = arr.ravel(), 0
    return getattr(np.take_along_axis, "_implementation")(arr, indices, axis)  # which takes it from subscripts


@_of(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    return a.ravel().nonzero()[0]


@_of(np.argwhere)
def argwhere(a: Any) -> Any:
    if a.ndim == 0:
        return _new(a, (int(bool(a)), 0), np.int64)
    return stack(a.nonzero(), 1)


# ---- arithmetic ----


@_of(np.round, np.around)
def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    decimals = operator.index(decimals)
    if a.dtype.kind == "c":
        made = array(a, a)
        made.real, made.imag = round(a.real, decimals), round(a.imag, decimals)
        return _deliver(made, out)
    if a.dtype.kind == "b":
        if decimals:
            raise TypeError("numpy.round rounds bools with decimals=0 only, as in NumPy: pass a.astype(float)")
        return _deliver(a.astype(np.float16), out)
    if out is not None:
        _check_out(a.shape, None, out)
    if a.dtype.kind in "iu" and decimals >= 0:
        return lw.ufuncs.positive(a, out=out)
    if decimals == 0:
        return lw.ufuncs.rint(a, out=out)
    power = 10.0**abs(decimals)
    if a.dtype.kind in "iu":
        made = lw.ufuncs.rint(lw.ufuncs.true_divide(a, power))
        return _deliver((made * power).astype(a.dtype), out)
    scale = a.dtype.type(power)
    first, last = (lw.ufuncs.multiply, lw.ufuncs.true_divide) if decimals > 0 else (lw.ufuncs.true_divide, lw.ufuncs.multiply)
    return last(lw.ufuncs.rint(first(a, scale)), scale, out=out)


def _check_out(shape: Any, dtype: Any, out: Any, casting: str = "same_kind") -> None:
    """Whether a result of that shape and dtype can be stored in out=."""
    if not _is_own(out):
        raise TypeError(f"out must be a device array when an argument is one, not {type(out).__name__}")
    if out.shape != tuple(shape):
        raise ValueError(f"output array has the wrong shape {out.shape}: the result has {tuple(shape)}")
    if dtype is not None:
        _check_cast(dtype, out.dtype, casting)


def _deliver(made: Any, out: Any, casting: str = "same_kind") -> Any:
    if out is None:
        return made
    _check_out(made.shape, made.dtype, out, casting)
    out[...] = made.real if made.dtype.kind == "c" and out.dtype.kind not in "cb" else made
    return out


@_of(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = np._NoValue) -> Any:
    keep = keepdims is not np._NoValue and bool(keepdims)
    return lw.ufuncs.subtract(a.max(axis=axis, keepdims=keep), a.min(axis=axis, keepdims=keep), out=out)


@_of(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Any:
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if n == 0:
        return a
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, a.ndim)
    ends = []
    for end in (prepend, a, append):
        if end is np._NoValue:
            continue
        end = _array(end, a)
        ends.append(end if end.ndim else broadcast_to(end, tuple(1 if d == axis else s for d, s in enumerate(a.shape))))
    a = concatenate(ends, axis) if len(ends) > 1 else a
    before = _before(axis)
    for _ in range(n):
        later, earlier = a[before + (slice(1, None),)], a[before + (slice(None, -1),)]
        a = later != earlier if _is_bool(a) else later - earlier
    return a


@_of(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    z = z.astype(np.int64) if _is_bool(z) else z
    found = lw.ufuncs.arctan2(z.imag, z.real)
    return found * (180 / math.pi) if deg else found


@_of(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    made = x.copy() if copy else x
    if x.dtype.kind not in "fc":
        return made
    for part in (made.real, made.imag) if x.dtype.kind == "c" else (made,):
        limits = np.finfo(part.dtype)
        most, least = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
        number = part.dtype.type
        part[...] = _kernels.choose(part != part, number(nan), _kernels.choose(part == math.inf, number(most), _kernels.choose(part == -math.inf, number(least), part)))
    return made


@_of(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = np._NoValue) -> Any:
    keep = {} if keepdims is np._NoValue else {"keepdims": keepdims}
    axis = None if axis is None else normalize_axis_tuple(axis, np.ndim(a), argname="axis")
    if weights is None:
        mean = a.mean(axis=axis, **keep)
        total = _filled(a, mean.shape, mean.dtype, a.size / max(mean.size, 1))
        return (mean, total) if returned else mean
    like = _first(a, weights)
    a, weights = _array(a, like), _array(weights, like)
    if a.shape != weights.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        axes = normalize_axis_tuple(axis, a.ndim)
        if weights.shape != tuple(a.shape[d] for d in axes):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        weights = weights.transpose(np.argsort(axes).tolist())
        weights = weights.reshape(tuple(n if d in axes else 1 for d, n in enumerate(a.shape)))
    dtype = np.result_type(a.dtype, weights.dtype, "f8") if a.dtype.kind in "biu" else np.result_type(a.dtype, weights.dtype)
    total = broadcast_to(weights, a.shape).sum(axis=axis, dtype=dtype, **keep)
    if bool((total == 0).any()):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    mean = lw.ufuncs.multiply(a, weights, dtype=dtype).sum(axis=axis, **keep) / total
    return (mean, total) if returned else mean


# ---- comparing ----


@_of(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    like = _first(a, b)
    x, y = (_kept(value, like) for value in (a, b))
    if not _is_own(y):  # a number: its dtype follows x, as it does in numpy
        y = float(y) if isinstance(y, int) else y
        y = _array(np.asarray(y, np.result_type(x.dtype, y)), like)
    elif y.dtype.kind not in "mfc":
        y = y.astype(np.result_type(y.dtype, 1.0))
    u = lw.ufuncs
    with np.errstate(invalid="ignore"):
        near = u.less_equal(u.absolute(u.subtract(x, y)), u.add(atol, u.multiply(rtol, u.absolute(y))))
        found = u.logical_or(u.logical_and(near, u.isfinite(y)), u.equal(x, y))
    if equal_nan:
        x = _array(x, like)
        found = u.logical_or(found, u.logical_and(u.not_equal(x, x), u.not_equal(y, y)))
    return found


@_of(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> bool:
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


@_of(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    x, y = _arrays((a1, a2))
    if x.shape != y.shape:
        return False
    same = x == y
    if equal_nan and x.dtype.kind in "fcmM" and y.dtype.kind in "fcmM":
        same = lw.ufuncs.logical_or(same, lw.ufuncs.logical_and(x != x, y != y))
    return bool(same.all())


@_of(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> bool:
    x, y = _arrays((a1, a2))
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return bool((x == y).all())


# ---- products ----


def _contract(a: Any, b: Any) -> Any:
    """a @ b for two dimensions, where nothing to sum over gives zeros."""
    return lw.ufuncs.matmul(a, b)


@_of(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = _arrays((a, b))
    try:
        left, right = axes
    except TypeError:
        left, right = list(range(-axes, 0)), list(range(axes))
    left = [left] if isinstance(left, (int, np.integer)) else list(left)
    right = [right] if isinstance(right, (int, np.integer)) else list(right)
    left, right = normalize_axis_tuple(left, a.ndim), normalize_axis_tuple(right, b.ndim)
    if len(left) != len(right) or any(a.shape[i] != b.shape[j] for i, j in zip(left, right)):
        raise ValueError("shape-mismatch for sum")
    kept_a, kept_b = [d for d in range(a.ndim) if d not in left], [d for d in range(b.ndim) if d not in right]
    shape = tuple(a.shape[d] for d in kept_a) + tuple(b.shape[d] for d in kept_b)
    inner = math.prod(a.shape[d] for d in left)
    a = a.transpose([*kept_a, *left]).reshape((math.prod(a.shape[d] for d in kept_a), inner))
    b = b.transpose([*right, *kept_b]).reshape((inner, math.prod(b.shape[d] for d in kept_b)))
    return _contract(a, b).reshape(shape)


def _check_dot_out(out: Any, dtype: Any, shape: Any) -> None:
    if not _is_own(out):
        raise TypeError(f"'out' must be a device array when an operand is one, not {type(out).__name__}")
    if out.dtype != dtype or out.ndim != len(shape):
        raise ValueError("output array is not acceptable (must have the right datatype and number of dimensions): it has "
                         f"dtype {out.dtype} and shape {out.shape}, the result has dtype {dtype} and shape {shape}")
    if out.shape != shape:
        raise ValueError(f"output array has wrong dimensions: {out.shape}, the result has {shape}")


@_of(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    a, b = _arrays((a, b))
    if a.ndim == 0 or b.ndim == 0:
        shape = a.shape + b.shape
    else:
        last = max(b.ndim - 2, 0)
        if a.shape[-1] != b.shape[last]:
            raise ValueError(f"shapes {a.shape} and {b.shape} not aligned: {a.shape[-1]} (dim {a.ndim - 1}) != {b.shape[last]} (dim {last})")
        shape = a.shape[:-1] + b.shape[:last] + b.shape[last + 1:]
    if out is not None:
        _check_dot_out(out, _result_type(a, b), shape)
    if a.ndim == 0 or b.ndim == 0:
        return lw.ufuncs.multiply(a, b, out=out)
    if a.ndim <= 2 and b.ndim <= 2:
        return lw.ufuncs.matmul(a, b, out=out)
    return _deliver(tensordot(a, b, (-1, last)), out)


@_of(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    a, b = _arrays((a, b))
    return lw.ufuncs.vecdot(a.ravel(), b.ravel())


@_of(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return dot(a, b)
    return tensordot(a, b, (-1, -1))


@_of(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    a, b = _arrays((a, b))
    return lw.ufuncs.multiply(a.reshape((a.size, 1)), b.reshape((1, b.size)), out=out)


# ---- reductions that are no methods ----


def _reduction(name: str) -> None:
    own = getattr(reductions, name)

    def reduce(a: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs = {key: value for key, value in kwargs.items() if value is not np._NoValue}
        if not isinstance(a, np.ndarray):
            return own(a, *args, **kwargs)
        from lanewise import _host_cuda

        return _host_cuda.reduced(own, a, *args, **kwargs)

    _of(getattr(np, name))(reduce)


for _name in ("count_nonzero", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar"):
    _reduction(_name)


# ---- types and copies ----


@_of(np.copy)
def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    if order not in ("K", None):
        return a.copy(_order_of(a, order))
    out = empty_like(a)
    out[...] = a
    return out


@_of(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    _host_device(device)
    return x.astype(dtype, copy=copy)


@_of(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    return np.result_type(*(x.dtype if _is_own(x) else x for x in arrays_and_dtypes))


@_of(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(from_.dtype if _is_own(from_) else from_, to.dtype if _is_own(to) else to, casting)


@_of(np.min_scalar_type)
def min_scalar_type(a: Any, /) -> np.dtype[Any]:
    return a.dtype if a.ndim else np.min_scalar_type(np.asarray(a.copy_to_host()))


@_of(np.may_share_memory, np.shares_memory)
def may_share_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    """Whether one of the bytes between their ends is of both; with one device's arrays there is nothing else to compare."""
    if not (_is_own(a) and _is_own(b)) or not a.size or not b.size:
        return False
    if isinstance(a, np.ndarray):
        return np.may_share_memory(a.view(np.ndarray), b.view(np.ndarray))
    spans = []
    for x in (a, b):
        steps = [s * (n - 1) for s, n in zip(x.strides, x.shape)]
        first = x.__cuda_array_interface__["data"][0]
        spans.append((first + sum(s for s in steps if s < 0), first + sum(s for s in steps if s > 0) + x.itemsize))
    return spans[0][0] < spans[1][1] and spans[1][0] < spans[0][1]


@_of(np.array_repr)
def array_repr(arr: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> str:
    with np.printoptions(**{key: value for key, value in (("linewidth", max_line_width), ("precision", precision),
                                                          ("suppress", suppress_small)) if value is not None}):
        return repr(arr)


@_of(np.array_str)
def array_str(a: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> str:
    with np.printoptions(**{key: value for key, value in (("linewidth", max_line_width), ("precision", precision),
                                                          ("suppress", suppress_small)) if value is not None}):
        return str(a)


# ---- Dask ----


def dask_token(array: Any) -> Any:
    from lanewise import _dask_blocks

    return _dask_blocks.token(array)


from lanewise import _array_algebra, _array_statistics  # noqa: F401, E402: they use what stands above, and register more
