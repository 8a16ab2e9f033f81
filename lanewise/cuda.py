"""CUDA devices, memory, streams and events, and what kernels may call, under the names that
``numba.cuda`` gave them.

Importing this module uses no GPU and loads no driver; the first function that needs the driver loads it.
With the setting ``target`` at "cpu" (``LANEWISE_TARGET=cpu``), none is needed: arrays are in host memory,
kernels run on the CPU, and the CPU is the only device.

    >>> from lanewise import cuda
    >>> a = cuda.to_device([1.0, 2.0, 3.0])
    >>> a.copy_to_host()
    array([1., 2., 3.])
"""

from __future__ import annotations

import contextlib as _contextlib
import functools as _functools
import sys as _sys

import numpy as _np

from lanewise import _numba_names, _vector_names, bf16, fp16, random
from lanewise._core import cuda as _cuda
from lanewise._core import intrinsics as _intrinsics
from lanewise._core import reduce
from lanewise._compile import (
    compile,
    compile_all,
    compile_for_current_device,
    compile_ptx,
    compile_ptx_for_current_device,
)

from lanewise.config import config
from lanewise._linking import (
    Archive,
    CUSource,
    Cubin,
    Fatbin,
    LTOIR,
    LinkableCode,
    Object,
    PTXSource,
    declare_device,
)

from lanewise._memory import (
    BaseCUDAMemoryManager,
    GetIpcHandleMixin,
    HostOnlyCUDAMemoryManager,
    IpcArrayHandle,
    IpcHandle,
    MappedMemory,
    MemoryPointer,
    PinnedMemory,
    defer_cleanup,
    open_ipc_array,
    open_ipc_handle,
    set_memory_manager,
)

DeviceArray = _cuda.DeviceArray
MappedArray = _cuda.MappedArray
Device = _cuda.Device
Context = _cuda.Context
MemoryInfo = _cuda.MemoryInfo
Stream = _cuda.Stream
Event = _cuda.Event

gpus = _cuda.gpus
is_available = _cuda.is_available
select_device = _cuda.select_device
get_current_device = _cuda.get_current_device
current_context = _cuda.current_context
close = _cuda.close
synchronize = _cuda.synchronize
profile_start = _cuda.profile_start
profile_stop = _cuda.profile_stop

to_device = _cuda.to_device
device_array = _cuda.device_array
device_array_like = _cuda.device_array_like
as_cuda_array = _cuda.as_cuda_array
is_cuda_array = _cuda.is_cuda_array
from_dlpack = _cuda.from_dlpack
pinned_array = _cuda.pinned_array
mapped_array = _cuda.mapped_array
managed_array = _cuda.managed_array

jit = _cuda.jit
Reduce = reduce
In = _cuda.In
Out = _cuda.Out
InOut = _cuda.InOut

stream = _cuda.stream
default_stream = _cuda.default_stream
per_thread_default_stream = _cuda.per_thread_default_stream
external_stream = _cuda.external_stream
event = _cuda.event
event_elapsed_time = _cuda.event_elapsed_time

# What kernels call: cuda.grid, cuda.shared.array, … (core/tables/kernel_names.def)
# These are numbers of a thread where functions run as plain Python: asked for by __getattr__
_VALUES = ("laneid", "warpsize", "threadIdx", "blockIdx", "blockDim", "gridDim")
globals().update({name: getattr(_intrinsics.cuda, name) for name in dir(_intrinsics.cuda) if name not in _VALUES})


_LIKE = {"arange", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "empty", "eye", "full", "identity", "ones", "tri", "zeros"}


def __getattr__(name):
    if name in _VALUES:
        return getattr(_intrinsics.cuda, name)
    if name in _vector_names.NAMES:
        from lanewise import _vector_types

        globals().update(_vector_types.NAMES)
        return _vector_types.NAMES[name]
    hint = ""
    if name in _numba_names.CUDA:
        _numba_names.refuse(name, _sys._getframe(1), "lanewise.cuda", _numba_names.CUDA)
    if not name.startswith("_") and callable(getattr(_np, name, None)):  # as in cupy.zeros, cupy.asnumpy
        like = f"np.{name}(..., like=d) makes an array on the device of an array d" if name in _LIKE else "NumPy's functions take device arrays, such as np.zeros_like(d)"
        hint = f": {like}, and cuda.to_device(np.{name}(...)) copies a result to the device"
    elif name in ("fft", "linalg"):
        hint = f": NumPy's functions take device arrays, such as np.{'fft.fft' if name == 'fft' else 'linalg.solve'}(d)"
    elif name == "asnumpy":
        hint = ": d.copy_to_host() gives a NumPy array"
    raise AttributeError(f"module 'lanewise.cuda' has no attribute {name!r:.200}{hint}")


def __dir__():
    return sorted({*globals(), *_VALUES, *_vector_names.NAMES})


# numba's modules: `from lanewise.cuda.random import create_xoroshiro128p_states`
_sys.modules[__name__ + ".random"] = random
_sys.modules[__name__ + ".fp16"] = fp16
_sys.modules[__name__ + ".bf16"] = bf16
_sys.modules[__name__ + ".libdevice"] = _intrinsics.cuda.libdevice

__all__ = [
    "Archive", "BaseCUDAMemoryManager", "CUSource", "Context", "Cubin", "Device", "DeviceArray", "Event", "Fatbin", "GetIpcHandleMixin", "HostOnlyCUDAMemoryManager", "In",
    "InOut", "IpcArrayHandle", "IpcHandle", "LTOIR", "LinkableCode", "MappedArray", "MappedMemory", "MemoryInfo",
    "MemoryPointer", "Object", "Out", "PTXSource", "PinnedMemory",
    "Reduce", "Stream", "as_cuda_array", "bf16", "close", "compile", "compile_all", "compile_for_current_device",
    "compile_ptx", "compile_ptx_for_current_device", "config", "current_context", "declare_device",
    "default_stream", "defer_cleanup", "detect",
    "device_array", "device_array_like", "event", "event_elapsed_time", "external_stream", "fp16", "from_cuda_array_interface", "from_dlpack", "get_current_device", "gpus", "is_available",
    "is_bfloat16_supported", "is_cuda_array", "is_float16_supported", "is_supported_version", "jit", "legacy_default_stream", "list_devices",
    "managed_array", "mapped", "mapped_array", "mapped_array_like", "open_ipc_array", "open_ipc_handle", "per_thread_default_stream", "pinned", "pinned_array", "pinned_array_like", "profile_start",
    "profile_stop", "profiling", "random", "reduce", "require_context", "select_device", "set_memory_manager", "stream", "synchronize", "to_device", *sorted({*dir(_intrinsics.cuda), *_vector_names.NAMES}),
]


@_contextlib.contextmanager
def pinned(*arrays):
    """Page-lock the memory of NumPy arrays inside a ``with`` block: copies are faster, and those on a stream do not wait.

    Raises TypeError for anything but NumPy arrays, DriverError for memory that is page-locked already.

    >>> import numpy as np, lanewise as lw
    >>> from lanewise import cuda
    >>> x = np.arange(3.0)
    >>> with lw.config(target="cpu"), cuda.pinned(x):
    ...     cuda.to_device(x, stream=cuda.stream()).copy_to_host()
    array([0., 1., 2.])
    """
    locks = [_cuda._page_lock(array) for array in arrays]
    try:
        yield
    finally:
        locks.clear()


@_contextlib.contextmanager
def mapped(*arrays, stream=0):
    """Device arrays over the memory of NumPy arrays inside a ``with`` block: one, or a list of them.

    The end of the block waits for the kernels that write to this memory. Raises the same exceptions as `pinned`.

    >>> import numpy as np, lanewise as lw
    >>> from lanewise import cuda
    >>> x = np.arange(3.0)
    >>> with lw.config(target="cpu"), cuda.mapped(x) as d:
    ...     d[1] = 7
    >>> x
    array([0., 7., 2.])
    """
    views = [_cuda._map(array, stream) for array in arrays]
    try:
        yield views[0] if len(views) == 1 else list(views)
    finally:
        views.clear()
        synchronize()


@_contextlib.contextmanager
def profiling():
    """`profile_start` and `profile_stop` around a ``with`` block."""
    profile_start()
    try:
        yield
    finally:
        profile_stop()


def require_context(function):
    """A decorator: each call of the function first opens the context of the current device for the calling thread.

    A call raises DriverError if there is no device. The decorator raises TypeError for an object that cannot be called.

    >>> import lanewise as lw
    >>> from lanewise import cuda
    >>> @cuda.require_context
    ... def capability():
    ...     return cuda.get_current_device().id
    >>> with lw.config(target="cpu"):
    ...     capability()
    0
    """
    if not callable(function):
        raise TypeError(f"function must be callable, not {function!r:.200}")

    @_functools.wraps(function)
    def call(*args, **kwargs):
        current_context()
        return function(*args, **kwargs)

    return call


class _Described:
    """Memory that a dict describes."""

    def __init__(self, desc, owner):
        self.__cuda_array_interface__ = desc
        self._owner = owner


def from_cuda_array_interface(desc, owner=None, sync=True):
    """A device array over the memory that a `__cuda_array_interface__` dict describes; it keeps `owner`.

    Work on it is ordered behind the stream that the dict names, if sync. Raises what `as_cuda_array` raises of a
    description that is not right.

    >>> x = cuda.device_array(3)                                         # doctest: +SKIP
    >>> cuda.from_cuda_array_interface(x.__cuda_array_interface__, x)    # doctest: +SKIP
    """
    if not isinstance(desc, dict):
        raise TypeError(f"desc: expected a __cuda_array_interface__ dict, got {type(desc).__name__}")
    return as_cuda_array(_Described(desc if sync else {**desc, "stream": None}, owner))


def is_float16_supported():
    """Return True: kernels can use float16 on every device."""
    return True


def is_bfloat16_supported():
    """Return True: kernels can use bfloat16 on every device, by way of float32 if the GPU has no instructions for it."""
    return True


def list_devices():
    """Return a list of the CUDA devices of this machine. With target="cpu", the CPU counts as one."""
    return list(gpus)


def legacy_default_stream():
    """The same as `default_stream()`. This stream waits for the other streams, and they wait for it."""
    return default_stream()


def _order_of(ary):
    from lanewise._host_cuda import order_of

    return order_of(ary)


def pinned_array_like(ary):
    """`pinned_array` with the shape, dtype and order of another array."""
    return pinned_array(ary.shape, ary.dtype, order=_order_of(ary))


def mapped_array_like(ary, stream=0, portable=False, wc=False):
    """`mapped_array` with the shape, dtype and order of another array."""
    return mapped_array(ary.shape, ary.dtype, order=_order_of(ary), stream=stream, portable=portable, wc=wc)


def is_supported_version():
    """Return True, whatever version of CUDA this machine has, because lanewise brings its own compilers and asks the driver for the functions that it uses."""
    return True


def detect():
    """Print the CUDA devices of this machine, and return whether one of them can be used. With target="cpu", the CPU counts as one."""
    devices = list(gpus) if is_available() else []
    print(f"Found {len(devices)} CUDA device{'' if len(devices) == 1 else 's'}")
    for device in devices:
        major, minor = device.compute_capability
        print(f"id {device.id:3d}  {device.name:>30}")
        print(f"        compute capability: {major}.{minor}")
        print(f"                PCI bus ID: {getattr(device, 'PCI_BUS_ID', 'none')}")
        print(f"                      UUID: {device.uuid}")
        print(f"                    memory: {device.total_memory / 2**30:.1f} GiB")
    return bool(devices)
