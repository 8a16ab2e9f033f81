"""Memory managers: numba's interface for plugins that hand out device memory (External Memory
Management, version 1), and memory shared between processes. Programs reach it through
lanewise.cuda; the extension calls the functions with an underscore (core/py/cuda/memory_manager.c).

One manager is made for each device, when its memory is first asked for; a program can also assign
one to a context. What `memalloc` returns
is kept as long as an array needs the memory; dropping it runs its finalizer. Managers know no
streams: work on other ones is ordered behind, and before, the default stream.
"""

from __future__ import annotations

import abc
import contextlib
import ctypes
import math
import weakref
from typing import Any

import numpy as np

from lanewise import errors
from lanewise._core import cuda as _cuda

_VERSION = 1
_ALIGNMENT = 16  # bytes: what kernels load at once
_plugin: Any = None
_latest: Any = None  # the last that was set: an allocation may be on its way to it while it is unset
_managers: dict[int, BaseCUDAMemoryManager] = {}
_assigned: dict[int, BaseCUDAMemoryManager] = {}  # by Context.memory_manager, for one device each


# ---- pieces of memory ----


def _number(pointer) -> int:
    """The address in an int, a ctypes pointer or whatever can be an int."""
    value = getattr(pointer, "value", pointer)
    if value is None:
        return 0
    if isinstance(value, bool) or not (hasattr(value, "__index__") or hasattr(value, "__int__")):
        raise TypeError(f"pointer: expected an int or a ctypes pointer, got {type(pointer).__name__}")
    return int(value)


class MemoryPointer:
    """Device memory: `size` bytes at `pointer`, an int or a ctypes pointer.

    The finalizer, a function without arguments, is called once: by `free`, or when the object is deleted.
    """

    __cuda_memory__ = True

    def __init__(self, context, pointer, size, owner=None, finalizer=None):
        self.context = context
        self.device_pointer = pointer
        self.size = self._cuda_memsize_ = size
        self.handle = pointer
        self.is_managed = finalizer is not None
        self.refct = 1
        self._owner = owner
        if finalizer is not None:
            self._finalizer = weakref.finalize(self, finalizer)

    @property
    def owner(self):
        return self if self._owner is None else self._owner

    @property
    def device_ctypes_pointer(self):
        return ctypes.c_void_p(_number(self.device_pointer))

    _as_parameter_ = device_ctypes_pointer  # where a kernel or a function of ctypes takes an address

    def __eq__(self, other):
        if not isinstance(other, MemoryPointer):
            return NotImplemented
        return (_number(self.device_pointer), self.size) == (_number(other.device_pointer), other.size)

    def __hash__(self):
        return hash((_number(self.device_pointer), self.size))

    @property
    def device_pointer_value(self):
        return _number(self.device_pointer) or None

    @property
    def __cuda_array_interface__(self):
        """Its bytes: cuda.as_cuda_array(memory) is an array of uint8, whose view(dtype) has other items."""
        return {"version": 3, "shape": (self.size,), "strides": None, "typestr": "|u1",
                "data": (self.device_pointer_value or 0, False), "stream": None}

    def own(self):
        """Return the object itself, because references of Python keep the memory alive."""
        return self

    def free(self) -> None:
        """Call the finalizer now. A second call raises RuntimeError."""
        if not self.is_managed:
            return
        if not self._finalizer.alive:
            raise RuntimeError("this memory was freed already")
        self._finalizer()

    def memset(self, byte, count=None, stream=0) -> None:
        """Set all bytes, or the first `count`, to the value `byte`."""
        n = self.size if count is None else count
        _array(self, self.device_pointer_value or 0, n, np.uint8, None).fill(byte, stream=stream)

    def view(self, start, stop=None):
        """Return the memory from byte `start` up to byte `stop`, which keeps the whole memory alive."""
        size = (self.size if stop is None else stop) - start
        if size < 0:
            raise RuntimeError(f"stop: expected at least start, {start}, got {stop}")
        address = self.device_pointer_value
        if address is None and size > 0:
            raise RuntimeError("there is no memory to view a part of")
        return MemoryPointer(self.context, (address or 0) + start, size, owner=self.owner)


class MappedMemory(MemoryPointer):
    """Page-locked host memory at `pointer` that the device can access, too."""

    def __init__(self, context, pointer, size, owner=None, finalizer=None):
        self.owned = owner
        self.host_pointer = pointer
        super().__init__(context, _cuda._device_address(_number(pointer)), size, finalizer=finalizer)
        self.handle = pointer


class PinnedMemory:
    """Page-locked host memory at `pointer`."""

    def __init__(self, context, pointer, size, owner=None, finalizer=None):
        self.context = context
        self.owned = owner
        self.size = size
        self.host_pointer = self.handle = pointer
        self.is_managed = finalizer is not None
        if finalizer is not None:
            weakref.finalize(self, finalizer)

    def own(self):
        return self


class _View:
    """Memory as other libraries' arrays describe it: what cuda.as_cuda_array takes."""

    def __init__(self, keeper, address, shape, dtype, strides):
        self._keeper = keeper
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape, "strides": strides, "typestr": dtype.str, "descr": dtype.descr,
            "data": (address, False), "stream": None,
        }


def _array(keeper, address, shape, dtype, strides):
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if strides is not None:
        strides = tuple(strides) if isinstance(strides, (tuple, list)) else (strides,)
    return _cuda._as_device_array(_View(keeper, address, shape, np.dtype(dtype), strides))


# ---- managers ----


class BaseCUDAMemoryManager(abc.ABC):
    """The base class of memory managers. Pass a subclass to `set_memory_manager`."""

    def __init__(self, *args, **kwargs):
        if "context" not in kwargs:
            raise RuntimeError("a memory manager is made with context=")
        self.context = kwargs.pop("context")

    @abc.abstractmethod
    def memalloc(self, size):
        """Return a MemoryPointer to `size` new bytes on the device of `self.context`, which is current."""

    @abc.abstractmethod
    def memhostalloc(self, size, mapped, portable, wc):
        """Return `size` new bytes of page-locked host memory: MappedMemory if mapped, otherwise PinnedMemory."""

    @abc.abstractmethod
    def mempin(self, owner, pointer, size, mapped):
        """Page-lock memory of `owner`, and return it as MappedMemory if mapped, otherwise as PinnedMemory."""

    @abc.abstractmethod
    def initialize(self):
        """Prepare the manager. It is called once, before all other methods."""

    @abc.abstractmethod
    def get_ipc_handle(self, memory):
        """Return an IpcHandle of a MemoryPointer."""

    @abc.abstractmethod
    def get_memory_info(self):
        """Return MemoryInfo(free, total), in bytes. A manager that does not know them raises NotImplementedError."""

    @abc.abstractmethod
    def reset(self):
        """Free all memory, because the device is about to be reset."""

    @abc.abstractmethod
    def defer_cleanup(self):
        """Return a context manager. Inside its block, no memory is freed if this would make the device wait."""

    @property
    @abc.abstractmethod
    def interface_version(self):
        """The version of this interface that the class implements, which must be 1."""


class _Deferred:
    """What would be freed while some `with` block says not yet."""

    def __init__(self):
        self._depth = 0
        self._kept = []

    def drop(self, memory) -> None:
        if self._depth > 0:
            self._kept.append(memory)

    @contextlib.contextmanager
    def pause(self):
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                self._kept.clear()


class HostOnlyCUDAMemoryManager(BaseCUDAMemoryManager):
    """A manager of device memory that leaves host memory to the driver.

    A subclass that has its own `reset` or `defer_cleanup` calls those of this class as well.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._deferred = _Deferred()

    def memhostalloc(self, size, mapped=False, portable=False, wc=False):
        kind = "write-combined" if wc else "mapped" if mapped else "pinned"
        capsule, host, _ = _cuda._host_allocate(kind, size)
        return self._host(MappedMemory if mapped else PinnedMemory, host, size, None, capsule)

    def mempin(self, owner, pointer, size, mapped=False):
        capsule, host, _ = _cuda._host_register(_number(pointer), size)
        return self._host(MappedMemory if mapped else PinnedMemory, host, size, owner, capsule)

    def memallocmanaged(self, size, attach_global=True):
        capsule, host, _ = _cuda._host_allocate("managed" if attach_global else "managed-at-host", size)
        return self._host(MemoryPointer, host, size, None, capsule)

    def _host(self, kind, pointer, size, owner, capsule):
        deferred = self._deferred
        return kind(self.context, pointer, size, owner=owner, finalizer=lambda: deferred.drop(capsule))

    def reset(self):
        self._deferred._kept.clear()

    @contextlib.contextmanager
    def defer_cleanup(self):
        with self._deferred.pause():
            yield


class GetIpcHandleMixin:
    """The method `get_ipc_handle`, for managers whose memory comes from cuMemAlloc."""

    def get_ipc_handle(self, memory):
        return _handle_of(memory, _number(memory.device_pointer), memory.size)


def _no_gpu(what: str):
    raise errors.UnsupportedError(f"{what} needs a GPU: with target=\"cpu\" arrays are in this process's host memory")


class _PoolMemory(GetIpcHandleMixin, HostOnlyCUDAMemoryManager):
    """What a context has where no manager is set: lanewise's own pool, by the methods of managers."""

    interface_version = _VERSION

    def initialize(self):
        pass

    def memalloc(self, size):
        capsule, address = _cuda._pool_allocate(self.context.device.id, size)
        deferred = self._deferred
        return MemoryPointer(self.context, address, size, finalizer=lambda: deferred.drop(capsule))

    def get_memory_info(self):
        return _cuda._driver_memory_info(self.context.device.id)


def set_memory_manager(mm_plugin) -> None:
    """Use objects of this class to allocate device memory from now on, or, with None, lanewise's own pool.

    The memory of existing arrays is given back to the manager that allocated it. Raises RuntimeError for a plugin of
    another version of the interface.
    """
    global _plugin, _latest, _managers
    if _cuda._on_host():
        _no_gpu("set_memory_manager")
    if mm_plugin is None:
        _cuda._set_memory_source(False)
        _plugin, _managers = None, {}
        _assigned.clear()
        return
    if not callable(mm_plugin):
        raise TypeError(f"mm_plugin: expected a class of memory managers, got {type(mm_plugin).__name__}")
    _check_version("mm_plugin", mm_plugin(context=None))
    _latest = mm_plugin
    _plugin, _managers = mm_plugin, {}
    _assigned.clear()
    _cuda._set_memory_source(True)


def _check_version(argument: str, manager) -> None:
    version = manager.interface_version
    if version != _VERSION:
        raise RuntimeError(f"{argument}: interface version {_VERSION} required, got a memory manager of version {version}")


def _manager_of(context):
    """Context.memory_manager: the object that allocates this device's memory."""
    if _cuda._on_host():
        _no_gpu("Context.memory_manager")
    manager = _assigned.get(context.device.id)
    if manager is not None:
        return manager
    return _PoolMemory(context=context) if _plugin is None else _manager(context.device.id)


def _assign_manager(context, manager) -> None:
    """Context.memory_manager = manager: for this device alone, others keep theirs."""
    if _cuda._on_host():
        _no_gpu("Context.memory_manager")
    if not isinstance(manager, BaseCUDAMemoryManager):
        raise TypeError(f"memory_manager: expected an object of a class derived from BaseCUDAMemoryManager, got {type(manager).__name__}")
    _check_version("memory_manager", manager)
    manager.initialize()
    if isinstance(manager, _PoolMemory) and _plugin is None:
        _assigned.pop(context.device.id, None)
    else:
        _assigned[context.device.id] = manager
    _cuda._set_memory_source(_in_use())


def _in_use() -> bool:
    """Whether any device has a manager that is not the pool's."""
    return _plugin is not None or bool(_assigned)


def _manager(ordinal: int):
    manager = _assigned.get(ordinal, _managers.get(ordinal))
    if manager is None:
        kind = _plugin or (_PoolMemory if _assigned else _latest) or _PoolMemory
        fresh = kind(context=_cuda.current_context(ordinal))
        fresh.initialize()
        manager = _managers.setdefault(ordinal, fresh)
    return manager


@contextlib.contextmanager
def _current(ordinal: int):
    """The device is current, as plugins expect."""
    with _cuda.gpus[ordinal]:
        yield _manager(ordinal)


def _what(manager, method: str) -> str:
    return f"{type(manager).__name__}.{method}"


def _allocate(ordinal: int, size: int):
    with _current(ordinal) as manager:
        memory = manager.memalloc(size)
        if not hasattr(memory, "device_pointer"):
            raise TypeError(f"{_what(manager, 'memalloc')}: expected a MemoryPointer, got {type(memory).__name__}")
        address = _number(memory.device_pointer)
        if address == 0 or address % _ALIGNMENT:
            raise ValueError(f"{_what(manager, 'memalloc')}: expected an address aligned to {_ALIGNMENT} bytes, got {address:#x}")
        if memory.size < size:
            raise ValueError(f"{_what(manager, 'memalloc')}: expected at least {size} bytes, got {memory.size}")
        if _cuda._device_of(address) != ordinal:
            raise ValueError(f"{_what(manager, 'memalloc')}: expected memory of device {ordinal}, got device {_cuda._device_of(address)}'s")
    return address, memory


def _host_parts(manager, method: str, memory, mapped: bool):
    if not hasattr(memory, "host_pointer" if method != "memallocmanaged" else "device_pointer"):
        expected = {"memallocmanaged": "MemoryPointer"}.get(method, "MappedMemory" if mapped else "PinnedMemory")
        raise TypeError(f"{_what(manager, method)}: expected {expected}, got {type(memory).__name__}")
    device = _number(memory.device_pointer) if mapped else 0
    return memory, _number(getattr(memory, "host_pointer", device)), device


def _allocate_host(ordinal: int, kind: str, size: int):
    with _current(ordinal) as manager:
        if not kind.startswith("managed"):
            mapped = kind != "pinned"
            memory = manager.memhostalloc(size, mapped=mapped, portable=True, wc=kind == "write-combined")
            return _host_parts(manager, "memhostalloc", memory, mapped)
        if not hasattr(manager, "memallocmanaged"):  # not a part of the interface
            return _cuda._host_allocate(kind, size)
        return _host_parts(manager, "memallocmanaged", manager.memallocmanaged(size, kind == "managed"), True)


def _pin(ordinal: int, owner, pointer: int, size: int, mapped: int):
    with _current(ordinal) as manager:
        memory, _, device = _host_parts(manager, "mempin", manager.mempin(owner, pointer, size, mapped=bool(mapped)), bool(mapped))
    return (memory, owner), pointer, device


def _get_memory_info(ordinal: int):
    return _manager(ordinal).get_memory_info()


def _reset(ordinal: int) -> None:
    manager = _assigned[ordinal] if ordinal in _assigned else _managers.pop(ordinal, None)
    if manager is not None:
        manager.reset()


def _close() -> None:
    """Arrays keep their memory; the next use makes new managers."""
    _managers.clear()


@contextlib.contextmanager
def defer_cleanup():
    """Do not free memory inside the ``with`` block if this would make the device wait. Freeing memory of lanewise's own pool never does; for a memory manager, its own defer_cleanup is used."""
    if not _in_use() or _cuda._on_host():
        yield
        return
    with _manager(_cuda.get_current_device().id).defer_cleanup():
        yield


# ---- memory shared between processes ----


class _DriverHandle(bytes):
    """The 64 bytes of the driver's handle, with the name that its C struct has for them."""

    __slots__ = ()

    @property
    def reserved(self) -> bytes:
        return bytes(self)


class IpcHandle:
    """A handle of device memory, for other processes on this machine. Pickle it, and call `open` in the other process.

    `handle`: the driver's 64 bytes; `offset`: of the memory in its allocation; `source_info`: the
    device's uuid. `base` keeps the memory in the process that made the handle.
    """

    def __init__(self, base, handle, size, source_info=None, offset=0):
        self.base = base
        self.handle = _DriverHandle(handle)
        self.size = size
        self.source_info = source_info
        self.offset = offset
        self._opened = None

    def open(self, context=None):
        """Return the memory, a MemoryPointer that is valid until `close`. context: where to open it; with None, in the current one."""
        if self._opened is not None:
            raise ValueError("IpcHandle is already opened: close() it first")
        if _cuda._on_host():
            _no_gpu("IpcHandle.open")
        context = _cuda.current_context() if context is None else context
        capsule, address = _cuda._ipc_open(self.handle, context.device.id)
        memory = MemoryPointer(context, address + self.offset, self.size, owner=capsule)
        self._opened = memory
        return memory

    def open_array(self, context, shape, dtype, strides=None):
        """Return the memory as a device array. It stays open as long as the array exists."""
        dtype = np.dtype(dtype)
        _check_fits(shape, dtype, strides, self.size)
        memory = self.open(context)
        return _array(memory.owner, memory.device_pointer, shape, dtype, strides)

    def close(self) -> None:
        """Close the memory, after the last use of its arrays. Raises ValueError if it is not open."""
        if self._opened is None:
            raise ValueError("the handle is not open")
        self._opened = None

    def __reduce__(self):
        return _rebuild, (bytes(self.handle), self.size, self.source_info, self.offset)


class IpcArrayHandle(IpcHandle):
    """An `IpcHandle` that knows its array: in another process, `with handle as array:`."""

    def _describe(self, shape, dtype, strides):
        self.shape, self.dtype, self.strides = shape, dtype, strides
        return self

    def __enter__(self):
        return self.open_array(None, self.shape, self.dtype, self.strides)

    def __exit__(self, *problem) -> None:
        self.close()

    def __reduce__(self):
        return _rebuild_array, (bytes(self.handle), self.size, self.source_info, self.offset, self.shape, self.dtype, self.strides)


IpcArrayHandle.__module__ = IpcHandle.__module__ = BaseCUDAMemoryManager.__module__ = "lanewise.cuda"


def _rebuild(handle, size, source_info, offset):
    return IpcHandle(None, handle, size, source_info, offset)


def _rebuild_array(handle, size, source_info, offset, *array):
    return IpcArrayHandle(None, handle, size, source_info, offset)._describe(*array)


def _check_fits(shape, dtype, strides, size) -> None:
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    n_bytes = math.prod(shape) * dtype.itemsize
    if strides is not None:
        strides = tuple(strides) if isinstance(strides, (tuple, list)) else (strides,)
        if len(strides) != len(shape):
            raise ValueError(f"strides: expected {len(shape)}, as in shape, got {len(strides)}")
        steps = [s * (n - 1) for s, n in zip(strides, shape)] if 0 not in shape else []
        if any(s < 0 for s in steps):
            raise ValueError("strides: expected none below zero")
        n_bytes = sum(steps) + dtype.itemsize if 0 not in shape else 0
    if n_bytes > size:
        raise ValueError(f"shape: the array takes {n_bytes} bytes, the memory has {size}")


def _handle_of(base, address: int, size: int) -> IpcHandle:
    handle, offset = _cuda._ipc_export(address)
    return IpcHandle(base, handle, size, _cuda.gpus[_cuda._device_of(address)].uuid, offset)


def _array_handle(array, address: int, size: int) -> IpcHandle:
    """DeviceArray.get_ipc_handle."""
    if not _in_use():
        made = _handle_of(array, address, size)
        if any(s < 0 for s in array.strides):
            return made  # open_array says what it takes: shape and strides are given there
        made = IpcArrayHandle(array, made.handle, size, made.source_info, made.offset)
        return made._describe(array.shape, array.dtype, None if array.is_c_contiguous() else array.strides)
    with _current(array.device.id) as manager:
        handle = manager.get_ipc_handle(MemoryPointer(manager.context, address, size, owner=array))
    handle.base = array
    return handle


def _memory_handle(context, memory) -> IpcHandle:
    """Context.get_ipc_handle."""
    if not _in_use():
        return _handle_of(memory, _number(memory.device_pointer), memory.size)
    with _current(context.device.id) as manager:
        return manager.get_ipc_handle(memory)


@contextlib.contextmanager
def open_ipc_array(handle, shape, dtype, strides=None, offset=0):
    """A context manager that gives a device array over memory of another process, valid inside its block.

    handle: an IpcHandle, or the driver's 64 bytes (bytes or ints).
    """
    if _cuda._on_host():
        _no_gpu("open_ipc_handle")
    if not isinstance(handle, IpcHandle):
        handle = IpcHandle(None, handle, 2**63 - 1, offset=offset)
    elif offset:
        handle = IpcHandle(None, handle.handle, handle.size - offset, handle.source_info, handle.offset + offset)
    else:
        handle = _rebuild(handle.handle, handle.size, handle.source_info, handle.offset)
    array = handle.open_array(_cuda.current_context(), shape, dtype, strides)
    try:
        yield array
    finally:
        del array
        handle.close()


open_ipc_handle = open_ipc_array


class _Deallocations:
    """numba's list of memory that waits to be freed. Here memory goes back to the pool at once."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def clear(self) -> None:
        self._context.trim()

    def __len__(self) -> int:
        return 0

    is_locked = False
