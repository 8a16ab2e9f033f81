"""CUDA devices, memory, streams and events, and what kernels may call, under the names that
``numba.cuda`` gave them.

Importing this module touches no GPU and loads no driver: the first function that needs one does.

    >>> from lanewise import cuda
    >>> a = cuda.to_device([1.0, 2.0, 3.0])
    >>> a.copy_to_host()
    array([1., 2., 3.])
"""

from __future__ import annotations

from lanewise._core import cuda as _cuda
from lanewise._core import intrinsics as _intrinsics
from lanewise._compile import (
    compile,
    compile_all,
    compile_for_current_device,
    compile_ptx,
    compile_ptx_for_current_device,
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
globals().update({name: getattr(_intrinsics.cuda, name) for name in dir(_intrinsics.cuda)})

__all__ = [
    "Context", "Device", "DeviceArray", "Event", "In", "InOut", "MappedArray", "MemoryInfo", "Out",
    "Stream", "as_cuda_array", "close", "compile", "compile_all", "compile_for_current_device",
    "compile_ptx", "compile_ptx_for_current_device", "current_context", "default_stream", "detect",
    "device_array", "device_array_like", "event", "event_elapsed_time", "external_stream",
    "from_dlpack", "get_current_device", "gpus", "is_available", "is_cuda_array", "jit",
    "managed_array",
    "mapped_array", "per_thread_default_stream", "pinned_array", "select_device", "stream",
    "synchronize", "to_device", *sorted(dir(_intrinsics.cuda)),
]


def detect():
    """Print the CUDA devices of this machine; True if there is one that can be used."""
    devices = list(gpus) if is_available() else []
    print(f"Found {len(devices)} CUDA device{'' if len(devices) == 1 else 's'}")
    for device in devices:
        major, minor = device.compute_capability
        print(f"id {device.id:3d}  {device.name:>30}")
        print(f"        compute capability: {major}.{minor}")
        print(f"                PCI bus ID: {device.PCI_BUS_ID}")
        print(f"                      UUID: {device.uuid}")
        print(f"                    memory: {device.total_memory / 2**30:.1f} GiB")
    return bool(devices)
