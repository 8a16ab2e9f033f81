"""What numba's device arrays and types say of themselves: _numba_type_, alloc_size, gpu_data, device_ctypes_pointer, len(Tuple)."""

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device
from lanewise import cuda, types


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=needs_device)])
def target(request, monkeypatch):
    monkeypatch.setattr(lw.config, "target", request.param)


def test_layouts(target):
    d = cuda.to_device(np.zeros((3, 4)))
    assert d._numba_type_ == lw.typeof(d) == lw.float64[:, ::1]
    f = cuda.to_device(np.zeros((3, 4), order="F"))
    assert [a._numba_type_.layout for a in (d, f, d[:, 2], d[2], f[:, 2])] == ["C", "F", "A", "C", "C"]


def test_memory(target):
    d = cuda.to_device(np.arange(12, dtype=np.int16).reshape(3, 4))
    assert [a.alloc_size for a in (d, d[:, ::3], d[1:, 1], d[:0])] == [24, 24, 10, 0]
    at = d.device_ctypes_pointer.value
    assert d[1:].device_ctypes_pointer.value == at + 8
    pointer = d.gpu_data
    assert isinstance(pointer, cuda.MemoryPointer) and pointer.owner is d
    assert (pointer.device_pointer, pointer.device_ctypes_pointer.value, pointer.size) == (at, at, 24)
    assert pointer == d.view(np.uint16).gpu_data and hash(pointer) == hash(d.gpu_data)
    assert pointer != d[1:].gpu_data and pointer != at


def test_len_of_types_of_tuples():
    assert len(types.Tuple((lw.float32, lw.int32))) == 2
    assert len(types.UniTuple(lw.int8, 3)) == 3
    assert lw.float32 and lw.float32[:]
    with pytest.raises(TypeError, match="float32 is no tuple"):
        len(lw.float32)
