"""lanewise.cuda on a machine without a GPU: what its functions are where the setting `target` says
"cpu". Arrays lie in host memory, and everything is done when the call that asked for it returns.

The extension calls these functions by name (core/py/host_cuda.c); programs reach them through
lanewise.cuda alone.
"""

from __future__ import annotations

import contextlib
import os
import time

import numpy as np

from lanewise import _core, errors
from lanewise._containers import refuse_loss, refuse_masks

_cuda = _core.cuda
_UNSET = 0xCD  # what fresh memory holds: zeros would hide that nothing was written there


# ---- arrays ----


# What ndarray has and a DeviceArray has not, and what CuPy and PyTorch call a copy on the host: it would fail on a GPU, so it fails here.
_ABSENT = frozenset(name for name in set(dir(np.ndarray)) - set(dir(_cuda.DeviceArray)) if not name.startswith("_")) | {"get", "cpu", "numpy", "flat", "tofile"}


def reduced(function, array, *args, **kwargs):
    """A reduction whose result is an array, also where it has no dimension."""
    result = function(_plain(array), *args, **kwargs)
    return result if isinstance(result, HostArray) else np.asarray(result).view(HostArray)


def _method(name: str):
    def method(self, *args, **kwargs):
        from lanewise import reductions

        return reduced(getattr(reductions, name), self, *args, **kwargs)

    method.__name__ = name
    return method


def _function(name: str):
    """A method that is NumPy's function of the same name, as a DeviceArray has it."""
    def method(self, *args, **kwargs):
        from lanewise import _array_protocol

        return _array_protocol.method(self, name, *args, **kwargs)

    method.__name__ = name
    return method


def _attribute(array, name):
    from lanewise import _device_arrays

    return _device_arrays.attribute(array, name)


class HostArray(np.ndarray):
    """A DeviceArray's stand-in: an ndarray with a DeviceArray's methods and no others.

    Kernels and ufuncs take it as the host array that it is. NumPy's functions are refused where
    a DeviceArray would be; `numpy.asarray` alone cannot be, and gives a view.
    """

    __hash__ = None
    __lanewise_live__ = True  # code that captured it reads its memory, as of a device array, not a constant

    # So isinstance(x, cuda.DeviceArray) holds; type checkers take a plain property amiss.
    def _repr_html_(self) -> str:
        from lanewise._html import device_array

        return device_array(self)

    vars()["__class__"] = property(lambda self: _cuda.DeviceArray)

    def __getattribute__(self, name: str):
        if name in _ABSENT:
            raise AttributeError(f"a DeviceArray has no '{name}': call copy_to_host() first")
        return super().__getattribute__(name)

    @property
    def device(self):
        return _device

    @property
    def stream(self) -> int:
        return vars(self).get("_stream", 0)

    @property
    def _numba_type_(self):
        return _attribute(self, "_numba_type_")

    @property
    def mT(self):
        return _attribute(self, "mT")

    @property
    def alloc_size(self) -> int:
        return _attribute(self, "alloc_size")

    @property
    def gpu_data(self):
        return _attribute(self, "gpu_data")

    @property
    def device_ctypes_pointer(self):
        return _attribute(self, "device_ctypes_pointer")

    def copy_to_host(self, ary=None, stream=0):
        _check_stream(stream)
        if ary is None:
            return np.array(self, order="A", subok=False)
        if isinstance(ary, np.void):
            from lanewise import _device_arrays

            return _device_arrays.to_record(_plain(self), ary)
        if not isinstance(ary, np.ndarray) or isinstance(ary, (HostArray, np.ma.MaskedArray)):
            raise TypeError(f"ary: expected a NumPy array, got {type(ary).__name__}")
        if ary.shape != self.shape:
            raise ValueError("ary: its shape differs from the device array's")
        if ary.dtype != self.dtype:
            raise TypeError(f"ary: expected dtype {self.dtype!r:.200}, got {ary.dtype!r:.200}")
        if not ary.flags.writeable:
            raise ValueError("ary: the array is read-only")
        _plain(ary)[...] = _plain(self)
        return ary

    def copy_to_device(self, ary, stream=0):
        _check_stream(stream)
        _plain(self)[...] = np.asarray(_on_host(ary, "the value"))

    def fill(self, value, stream=0):
        _check_stream(stream)
        refuse_loss("value", value, labels=False)
        if np.ndim(value) != 0:
            raise ValueError(f"value: expected a scalar, got {np.ndim(value)} dimensions")
        _plain(self)[...] = value

    def ravel(self, order="C", stream=0):
        _check_stream(stream)
        return super().ravel(order)

    def take(self, indices, axis=None, out=None, mode="raise"):
        refuse_loss("indices", indices, labels=False)
        return super().take(indices, axis, out, mode)

    def squeeze(self, axis=None, stream=0):
        _check_stream(stream)
        return super().squeeze(axis)

    def getitem(self, item, stream=0):
        _check_stream(stream)
        return self[item]

    def setitem(self, key, value, stream=0):
        _check_stream(stream)
        self[key] = value

    def bind(self, stream=0):
        _check_stream(stream)
        return _on_stream(self.view(), stream)

    def split(self, section, stream=0):
        from lanewise import _device_arrays

        _check_stream(stream)
        return _device_arrays.split(self, section)

    def sort(self, axis=-1, kind=None, order=None, *, stable=None):
        _plain(self)[...] = _sorted("sort", _plain(self), axis, kind, order, stable)

    def argsort(self, axis=-1, kind=None, order=None, *, stable=None):
        return _sorted("argsort", _plain(self), axis, kind, order, stable).view(HostArray)

    def nonzero(self):
        return tuple(np.asarray(index).view(HostArray) for index in super().nonzero())

    def get_ipc_handle(self):
        from lanewise._memory import _no_gpu

        _no_gpu("get_ipc_handle")

    def is_c_contiguous(self) -> bool:
        return self.flags.c_contiguous

    def is_f_contiguous(self) -> bool:
        return self.flags.f_contiguous

    def __getitem__(self, key):
        _check_index(key)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        _check_index(key)
        refuse_loss("the value", value, labels=False)
        super().__setitem__(key, value)

    __array_priority__ = 12.0  # between np.matrix and masked arrays: what NumPy's own code joins of them is a masked array

    sum, prod, min, max = _method("sum"), _method("prod"), _method("min"), _method("max")
    any, all, mean, var, std = _method("any"), _method("all"), _method("mean"), _method("var"), _method("std")
    argmin, argmax, cumsum, cumprod = _method("argmin"), _method("argmax"), _method("cumsum"), _method("cumprod")
    argpartition, choose, clip, compress, conj = _function("argpartition"), _function("choose"), _function("clip"), _function("compress"), _function("conj")
    conjugate, diagonal, dot, partition, put = _function("conjugate"), _function("diagonal"), _function("dot"), _function("partition"), _function("put")
    repeat, round, searchsorted, swapaxes, trace = _function("repeat"), _function("round"), _function("searchsorted"), _function("swapaxes"), _function("trace")

    def __repr__(self) -> str:
        text = np.array2string(_plain(self), separator=", ", prefix="HostArray(")
        shape = f"shape={self.shape}, " if self.size == 0 and self.ndim != 1 else ""
        return f"HostArray({text}, {shape}dtype={self.dtype})"

    def __str__(self) -> str:
        return str(_plain(self))

    __format__, __round__ = _function("__format__"), _function("__round__")

    def __dask_tokenize__(self):
        from lanewise import _dask_blocks

        return _dask_blocks.token(self)

    def __array_ufunc__(self, ufunc, method, /, *inputs, **kwargs):
        """As ndarray's, but that a mask is refused, which the result would not have."""
        refuse_masks(ufunc, inputs, kwargs)
        out = kwargs.get("out", ())
        if any(map(_has_its_own, (*inputs, *out, kwargs.get("where")))):
            return NotImplemented
        plain = {key: _plain_ones(value) if key in ("out", "where") else value for key, value in kwargs.items()}
        results = getattr(ufunc, method)(*map(_plain_ones, inputs), **plain)
        if kwargs.get("subok") is False or results is None:
            return results
        if isinstance(results, tuple):
            return tuple(_wrapped(one, out[i] if out else None) for i, one in enumerate(results))
        return _wrapped(results, out[0] if out else None)

    def __array_function__(self, function, types, args, kwargs):
        from lanewise import _array_protocol

        return _array_protocol.array_function(self, function, types, args, kwargs)


class HostMappedArray(np.ndarray):
    """The stand-in of mapped and managed arrays: NumPy arrays that count as device arrays too."""

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return array[()] if return_scalar else np.asarray(array)


def _plain(array):
    return array.view(np.ndarray)


def _plain_ones(value):
    """The operand of a ufunc without its class, where that is HostArray; those of a tuple."""
    if isinstance(value, tuple):
        return tuple(map(_plain_ones, value))
    return np.ndarray.view(value, np.ndarray) if type(value) is HostArray else value


def _wrapped(result, out):
    return np.asarray(result).view(HostArray) if out is None else out


def _has_its_own(operand):
    """Does it answer ufuncs in its own way, as pandas, xarray and Dask do?"""
    method = getattr(type(operand), "__array_ufunc__", _OF_NUMPY)
    return method is not _OF_NUMPY and method is not HostArray.__array_ufunc__


_OF_NUMPY = np.ndarray.__array_ufunc__


_MANY = 256  # elements from which NumPy's vectorised sort saves more than the look at zeros and NaN costs


def _sorted_numbers(array, axis):
    """The bits of a stable sort, by NumPy's vectorised one, which is several times faster. They differ for zeros of both signs, and for NaN alone."""
    result = np.sort(array, axis)
    if array.dtype.kind != "f":
        return result
    if np.isnan(result.take(-1, axis)).any() or (np.signbit(array) & (array == 0)).any():
        return np.sort(array, axis, kind="stable")
    return result


def _sorted(name, array, axis, kind, order, stable):
    """As device arrays sort, stably: by NumPy, but for bfloat16, of which it has no stable order."""
    from lanewise import _device_arrays

    _device_arrays._check_kind(array, kind, order, stable)
    if name == "sort" and array.size >= _MANY and array.dtype.kind in "biuf":
        return _sorted_numbers(array, axis)
    if array.dtype.kind in "biufcmM":
        return getattr(np, name)(array, axis, kind="stable")
    return getattr(_device_arrays, name)(array, axis)


def _check_index(key):
    """What NumPy takes and device arrays do not: bools, and what only looks like an array."""
    for item in key if isinstance(key, tuple) else (key,):
        whole = item is None or item is Ellipsis or isinstance(item, (slice, str, list, tuple, np.ndarray))
        number = hasattr(item, "__index__") and not isinstance(item, (bool, np.bool_))
        other = (hasattr(item, "__array_interface__") or hasattr(item, "__array__")) and not isinstance(item, np.generic)
        if other or isinstance(item, np.ndarray):
            refuse_loss("an index", item, labels=False)
        if not whole and not number and not other:
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`), integer and boolean arrays and field names are "
                f"valid indices of a device array, got {'bool' if isinstance(item, np.bool_) else type(item).__name__}"
            )


def _on_host(value, what):
    """An array of a real GPU is copied; anything else is there already. TypeError for what an array would lose something of."""
    refuse_loss(what, value, labels=False)
    return _cuda._as_device_array(value).copy_to_host() if _cuda._is_device_array(value) else value


def _check_dtype(dtype):
    if dtype.hasobject:
        raise TypeError(f"dtype {dtype!r:.200} holds Python objects, which device memory cannot")


def _on_stream(array, stream):
    """The array, whose attribute `stream` is the stream's handle from now on."""
    if stream is not None:
        vars(array)["_stream"] = int(stream) if hasattr(stream, "__int__") else stream.__cuda_stream__()[1]
    return array


def to_device(obj, stream=0, copy=True, to=None):
    _check_stream(stream)
    if to is not None:
        if not isinstance(to, HostArray):
            raise TypeError(f"to: expected a DeviceArray, got {type(to).__name__}")
        if copy:
            to.copy_to_device(obj)
        return to
    if isinstance(obj, (HostArray, HostMappedArray)):
        return as_cuda_array(obj)
    array = np.asarray(_on_host(obj, "obj"))
    _check_dtype(array.dtype)
    if isinstance(obj, (str, bytes)):
        raise TypeError(f"obj: expected an array or numbers, got {type(obj).__name__} (dtype {array.dtype})")
    return _on_stream(np.array(array, order="A").view(HostArray) if copy else _like(array), stream)


def _new(shape, dtype, strides, order, kind):
    dtype = _cuda._dtype(dtype)
    if order not in ("C", "F"):
        raise ValueError(f"order: expected 'C' or 'F', got {order!r:.200}")
    plain = np.empty(shape, dtype, order) if strides is None else None
    if plain is not None:
        low, n_bytes = 0, plain.nbytes
    else:
        shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        strides = tuple(strides) if isinstance(strides, (tuple, list)) else (strides,)
        if len(strides) != len(shape):
            raise ValueError(f"strides: expected {len(shape)}, as in shape, got {len(strides)}")
        steps = [s * (n - 1) for s, n in zip(strides, shape)] if 0 not in shape else []
        low = sum(s for s in steps if s < 0)
        n_bytes = sum(s for s in steps if s > 0) - low + dtype.itemsize
    memory = np.full(max(n_bytes, 1), _UNSET, np.uint8)
    return np.ndarray.__new__(kind, shape, dtype, memory, -low, strides, order)


def order_of(array):
    """As NumPy's functions ending in _like have it: "F" where the first axes have the smallest strides, in views, too."""
    steps = [abs(step) for extent, step in zip(array.shape, array.strides) if extent != 1]
    ascending = len(steps) > 1 and all(a < b for a, b in zip(steps, steps[1:]))
    return "F" if ascending and not array.flags["C_CONTIGUOUS"] else "C"


def _like(array):
    return _new(array.shape, array.dtype, None, order_of(array), HostArray)


def device_array(shape, dtype=np.float64, strides=None, order="C", stream=0):
    _check_stream(stream)
    return _on_stream(_new(shape, dtype, strides, order, HostArray), stream)


def device_array_like(ary, stream=0):
    _check_stream(stream)
    array = _on_host(ary, "ary")
    return _on_stream(_like(array if isinstance(array, np.ndarray) else np.asarray(array)), stream)


def pinned_array(shape, dtype=np.float64, strides=None, order="C"):
    return _new(shape, dtype, strides, order, np.ndarray)


def mapped_array(shape, dtype=np.float64, strides=None, order="C", stream=0, portable=False, wc=False):
    _check_stream(stream)
    return _new(shape, dtype, strides, order, HostMappedArray)


def managed_array(shape, dtype=np.float64, strides=None, order="C", stream=0, attach_global=True):
    _check_stream(stream)
    return _new(shape, dtype, strides, order, HostMappedArray)


def is_cuda_array(obj, /) -> bool:
    return isinstance(obj, (HostArray, HostMappedArray)) or _cuda._is_device_array(obj)


def as_cuda_array(obj, sync=True):
    if isinstance(obj, HostArray):
        return obj
    if isinstance(obj, HostMappedArray):
        return obj.view(HostArray)
    return _cuda._as_device_array(obj).copy_to_host().view(HostArray)


def from_dlpack(x, /, *, copy=None):
    if isinstance(x, HostArray):
        return x.copy() if copy else x
    if not hasattr(x, "__dlpack_device__"):
        raise TypeError(f"expected an array with __dlpack__, got {type(x).__name__}")
    array = _cuda._host_of_dlpack(x)
    if array is None:
        return _cuda._from_dlpack(x, copy=copy).copy_to_host().view(HostArray)
    return (array.copy() if copy else array).view(HostArray)


def page_lock(array):
    if not isinstance(array, np.ndarray):
        raise TypeError(f"arrays: expected NumPy arrays, got {type(array).__name__}")
    _check_dtype(array.dtype)


def map_array(array, stream):
    _check_stream(stream)
    refuse_loss("arrays: one", array, labels=False)
    page_lock(array)
    return array.view(HostArray)


# ---- streams and events ----


def _check_stream(stream) -> None:
    known = stream is None or isinstance(stream, int) and not isinstance(stream, bool)
    if not known and not hasattr(stream, "__cuda_stream__"):
        raise TypeError(f"stream: expected a stream, a handle, 0 or None, got {type(stream).__name__}")


class HostStream:
    """A stream on which all work is done as soon as it was given."""

    _made = 2  # 1 and 2 are the driver's names of the default streams

    def __init__(self, handle: int | None = None, external: bool = False) -> None:
        self.external = external
        if handle is None:
            HostStream._made += 1
            handle = HostStream._made
        self.handle = handle

    @property
    def device(self):
        return _device

    def synchronize(self) -> None:
        """Nothing is left to wait for."""

    def query(self) -> bool:
        return True

    def record(self, event=None):
        if event is None:
            event = HostEvent(timing=False)
        _check_event(event)
        event.record(self)
        return event

    def wait(self, other, /) -> None:
        if not isinstance(other, HostEvent):
            _check_stream(other)

    def add_callback(self, callback, arg=None):
        from lanewise import _callbacks

        _callbacks.add_callback(self, callback, arg)

    def async_done(self):
        from lanewise import _callbacks

        return _callbacks.async_done(self)

    @contextlib.contextmanager
    def auto_synchronize(self):
        yield self

    def __cuda_stream__(self):
        return 0, 0

    def __int__(self) -> int:
        return self.handle

    def __eq__(self, other) -> bool:
        if type(other) is int:
            return self.handle == other
        return self.handle == other.handle if isinstance(other, HostStream) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.handle)

    def __repr__(self) -> str:
        return f"<Stream {self.handle} on the CPU>" if self.handle > 2 else "<Default stream on the CPU>"


class HostEvent:
    """A point in time."""

    handle = 0

    def __init__(self, timing: bool = True) -> None:
        self.timing = bool(timing)
        self.seconds: float | None = None

    def record(self, stream=0) -> None:
        _check_stream(stream)
        self.seconds = time.perf_counter()

    def wait(self, stream=0) -> None:
        _check_stream(stream)

    def synchronize(self) -> None:
        """It has come already."""

    def query(self) -> bool:
        return True

    def elapsed_time(self, end, /) -> float:
        _check_event(end)
        if not (self.timing and end.timing):
            which = "second" if self.timing else "first"
            raise ValueError("an elapsed time needs two events made with timing=True; "
                             f"the {which} one was made without")
        if self.seconds is None or end.seconds is None:
            raise errors.DriverError("an elapsed time needs two events that were recorded")
        return (end.seconds - self.seconds) * 1e3


def _check_event(event) -> None:
    if not isinstance(event, HostEvent):
        raise TypeError(f"event: expected an Event, got {type(event).__name__}")


def make_stream(*, blocking=True, priority=0):
    return HostStream()


def default_stream():
    return HostStream(0)


def per_thread_default_stream():
    return HostStream(2)


def external_stream(ptr, /):
    if isinstance(ptr, bool) or not hasattr(ptr, "__index__"):
        raise TypeError(f"ptr: expected a stream handle as an int, got {type(ptr).__name__}")
    return HostStream(ptr.__index__(), external=True)


def make_event(timing=True):
    return HostEvent(timing)


def event_elapsed_time(evtstart, evtend):
    _check_event(evtstart)
    return evtstart.elapsed_time(evtend)


# ---- the device ----

_MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


class HostDevice:
    """The CPU as the one device: the limits that kernels meet are those of compute capability 9.0."""

    id = 0
    uuid = "CPU-00000000-0000-0000-0000-000000000000"
    compute_capability = (9, 0)
    supports_float16 = True
    total_memory = _MEMORY
    MULTIPROCESSOR_COUNT = len(os.sched_getaffinity(0))
    WARP_SIZE = 32
    MAX_THREADS_PER_BLOCK = MAX_THREADS_PER_MULTI_PROCESSOR = 1024
    MAX_BLOCKS_PER_MULTIPROCESSOR = 1
    MAX_BLOCK_DIM_X = MAX_BLOCK_DIM_Y = 1024
    MAX_BLOCK_DIM_Z = 64
    MAX_GRID_DIM_X = 2**31 - 1
    MAX_GRID_DIM_Y = MAX_GRID_DIM_Z = 65535
    MAX_REGISTERS_PER_BLOCK = MAX_REGISTERS_PER_MULTIPROCESSOR = 65536
    MAX_SHARED_MEMORY_PER_BLOCK = 48 << 10
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 227 << 10
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 228 << 10
    TOTAL_CONSTANT_MEMORY = 64 << 10
    INTEGRATED = MANAGED_MEMORY = CONCURRENT_MANAGED_ACCESS = 1
    MEMORY_POOLS_SUPPORTED = 0

    def __init__(self) -> None:
        self._entered = 0

    @property
    def name(self) -> str:
        from lanewise._info import _cpu_name

        return _cpu_name()

    def __getattr__(self, name: str):
        known = hasattr(_cuda.Device, name)
        raise AttributeError(f"the CPU has no {name}" if known else f"'Device' object has no attribute '{name}'")

    def synchronize(self) -> None:
        """Nothing is left to wait for."""

    def reset(self) -> None:
        """Host memory stays as it is."""

    def __enter__(self):
        self._entered += 1
        return self

    def __exit__(self, *_args):
        if self._entered == 0:
            raise RuntimeError("the device was not entered")
        self._entered -= 1
        return False

    def __int__(self) -> int:
        return 0

    __index__ = __int__

    def __eq__(self, other) -> bool:
        if isinstance(other, HostDevice) or type(other) is int:
            return int(other) == 0
        return NotImplemented

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"<CPU device 0 '{self.name}'>"


class HostContext:
    """The context of the one device."""

    @property
    def device(self):
        return _device

    @property
    def memory_manager(self):
        from lanewise._memory import _no_gpu

        _no_gpu("Context.memory_manager")

    def get_memory_info(self):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
        return _cuda.MemoryInfo(free, _MEMORY)

    def pool_statistics(self) -> dict[str, int]:
        keys = ("used_bytes", "cached_bytes", "peak_used_bytes", "n_used", "n_cached", "n_hits", "n_misses", "n_trims")
        return dict.fromkeys(keys, 0)  # there is no pool: the system's memory is used as it is

    def synchronize(self) -> None:
        """Nothing is left to wait for."""

    def reset(self) -> None:
        """Host memory stays as it is."""

    def trim(self) -> None:
        """No memory is kept back."""

    @property
    def deallocations(self):
        from lanewise._memory import _Deallocations

        return _Deallocations(self)

    def get_ipc_handle(self, memory):
        from lanewise._memory import _no_gpu

        _no_gpu("get_ipc_handle")

    def __repr__(self) -> str:
        return "<context of the CPU>"


_device = HostDevice()
_context = HostContext()


def _check_device(device_id) -> None:
    if isinstance(device_id, bool) or not hasattr(device_id, "__index__"):
        raise TypeError(f"device_id: expected an int, got {type(device_id).__name__}")
    if device_id.__index__() != 0:
        raise errors.DriverError(f"there is no CUDA device {device_id}: the CPU is the only one, number 0")


def is_available() -> bool:
    return True


def select_device(device_id, /):
    _check_device(device_id)
    return _device


def get_current_device():
    return _device


def current_context(devnum=None):
    if devnum is not None:
        _check_device(devnum)
    return _context


def synchronize() -> None:
    """Nothing is left to wait for."""


def profile_start() -> None:
    """Profilers of GPUs see nothing of the CPU."""


def profile_stop() -> None:
    """Profilers of GPUs see nothing of the CPU."""
