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


def test_copy_to_a_record(target):
    rows = np.array([(1, 2.5), (3, 4.5)], [("a", np.int32), ("b", np.float32)])
    record = rows[0].copy()
    d = cuda.to_device(np.array(rows[1]))
    assert d.copy_to_host(record) is record and record.tolist() == (3, 4.5)
    with pytest.raises(TypeError, match="ary: expected dtype"):
        d.copy_to_host(np.zeros(1, [("a", np.int32)])[0])
    with pytest.raises(ValueError, match="ary: its shape"):
        cuda.to_device(rows).copy_to_host(record)


def test_len_of_types_of_tuples():
    assert len(types.Tuple((lw.float32, lw.int32))) == 2
    assert len(types.UniTuple(lw.int8, 3)) == 3
    assert list(types.Tuple((lw.float32, lw.int32))) == [lw.float32, lw.int32]
    with pytest.raises(TypeError, match="int8 is not a tuple"):
        iter(lw.int8)
    assert lw.float32 and lw.float32[:]
    with pytest.raises(TypeError, match="float32 is not a tuple"):
        len(lw.float32)
