"""DeviceArray: making, lifetime, streams, exchange with other libraries."""

from __future__ import annotations

import ctypes
import gc
import weakref

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE, needs_device
from lanewise import cuda
from test_device_array import RECORD, data, same


pytestmark = needs_device


# ---- making ----


def test_device_array():
    d = cuda.device_array((3, 4))
    assert d.dtype == np.float64 and d.is_c_contiguous()
    assert cuda.device_array(5, np.int8).shape == (5,)
    assert cuda.device_array(np.int64(5)).shape == (5,)
    assert cuda.device_array(np.array([2, 3])).shape == (2, 3)
    assert cuda.device_array((3, 4), order="F").strides == (8, 24)
    e = cuda.device_array((3, 4), "f4", strides=(-32, 8))
    e.fill(2)
    assert e.strides == (-32, 8)
    same(e, np.full((3, 4), 2, "f4"))
    assert cuda.device_array((1,) * 63 + (9,), "u1", strides=(0,) * 64).ndim == 64


@pytest.mark.parametrize("arguments, error", [
    ((1.5,), TypeError), (("ab",), TypeError), ((None,), TypeError), ((-1,), ValueError), (((2, -3),), ValueError),
    (((1,) * 65,), ValueError), ((2**70,), ValueError), (((2**40, 2**40),), ValueError), ((3, "nonsense"), TypeError),
    ((3, "f4", None, "X"), ValueError), ((3, "f4", (1, 2)), ValueError), ((3, "f4", (2**62,)), ValueError),
    ((3, "f4", None, "C", -5), ValueError), ((3, "f4", None, "C", "stream"), TypeError), ((), TypeError),
    (((2.0, 3),), TypeError), ((3, "f4", 2.5), TypeError)])
def test_bad_device_array(arguments, error):
    with pytest.raises(error):
        cuda.device_array(*arguments)


def test_unknown_keyword():
    with pytest.raises(TypeError):
        cuda.device_array(3, nonsense=1)
    with pytest.raises(TypeError):
        cuda.to_device([1], nonsense=1)


def test_lanewise_types_are_dtypes():
    import lanewise as lw

    for kind in (lw.bool_, lw.int8, lw.uint64, lw.float16, lw.float32, lw.complex128):
        assert cuda.device_array(3, kind).dtype == kind.dtype
    assert "bfloat16" in repr(cuda.device_array(3, lw.bfloat16).view())


def test_device_array_like():
    for a in (data((3, 4), "f4"), np.asfortranarray(data((3, 4))), data(()), np.zeros(2, RECORD)):
        for source in (a, cuda.to_device(a)):
            d = cuda.device_array_like(source)
            assert (d.shape, d.dtype) == (a.shape, a.dtype)
            assert d.is_f_contiguous() == a.flags.f_contiguous
    assert cuda.to_device(data((3,)), copy=False).shape == (3,)


def test_out_of_memory_is_named():
    from lanewise.errors import DriverError

    with pytest.raises(DriverError) as caught:
        cuda.device_array(2**50, "u1")
    assert caught.value.name == "CUDA_ERROR_OUT_OF_MEMORY"
    same(cuda.to_device([1.0]), np.array([1.0]))


# ---- lifetime ----


def used():
    gc.collect()
    return cuda.current_context().pool_statistics()["n_used"]


def test_memory_is_given_back():
    before = used()
    d = cuda.to_device(data((100,)))
    view = d[1:]
    assert used() == before + 1
    del d
    assert used() == before + 1
    same(view, data((100,))[1:])
    del view
    assert used() == before


def test_blocks_are_reused():
    address = cuda.device_array(1000).__cuda_array_interface__["data"][0]
    hits = cuda.current_context().pool_statistics()["n_hits"]
    assert cuda.device_array(1000).__cuda_array_interface__["data"][0] == address
    assert cuda.current_context().pool_statistics()["n_hits"] == hits + 1


def test_weak_references():
    d = cuda.to_device([1])
    ref, gone = weakref.ref(d), []
    weakref.finalize(d, gone.append, 1)
    assert ref() is d
    del d
    assert ref() is None and gone == [1]


def test_errors_leave_nothing():
    before = used()
    for _ in range(50):
        for call in (lambda: cuda.device_array(3, strides=(2**62,)), lambda: cuda.to_device([1])[5],
                     lambda: cuda.to_device([1]).reshape(7), lambda: cuda.to_device([1, 2]).copy_to_device([1, 2, 3])):
            with pytest.raises((ValueError, IndexError)):
                call()
    assert used() == before


# ---- streams ----


def test_arrays_follow_streams():
    s, t = cuda.stream(), cuda.stream(blocking=False)
    d = cuda.to_device(data((1000,)), stream=s)
    assert d.stream == s.handle
    e = cuda.device_array(1000, stream=t)
    e.copy_to_device(d, stream=t)
    assert d.stream == t.handle and e.stream == t.handle
    out = e.copy_to_host(stream=s)
    s.synchronize()
    np.testing.assert_array_equal(out, data((1000,)))
    assert e.stream == s.handle
    d.fill(1, stream=0)
    same(d, np.ones(1000))


def test_arrays_keep_their_stream():
    """An array keeps the stream of the driver, also when the Stream object is gone."""
    def n_streams():  # of a real driver nobody can ask
        return ctypes.CDLL(lw.config.driver).fake_cuda_live(b"streams") if FAKE else None

    gc.collect()
    before, refs, streams = n_streams(), [], [cuda.stream() for _ in range(4)]
    d = cuda.to_device([1.0, 2.0], stream=streams[0])
    for s in streams:
        d.fill(3.0, stream=s)
        refs.append(weakref.ref(s))
    del s, streams
    gc.collect()
    # the first owns the memory, the last was used last; those between have been waited for
    assert not FAKE or n_streams() == before + 2
    same(d, np.array([3.0, 3.0]))
    del d
    gc.collect()
    assert n_streams() == before and not any(ref() for ref in refs)


def test_per_thread_stream_across_threads():
    import threading

    s = cuda.per_thread_default_stream()
    d = cuda.to_device(data((1000,)), stream=s)
    found = []
    thread = threading.Thread(target=lambda: found.append(d.copy_to_host(stream=s)))
    thread.start()
    thread.join()
    cuda.synchronize()
    np.testing.assert_array_equal(found[0], data((1000,)))


# ---- exchange ----


def test_interface():
    d = cuda.to_device(data((3, 4), "f4"))
    face = d.__cuda_array_interface__
    assert face["shape"] == (3, 4) and face["typestr"] == "<f4" and face["strides"] is None
    assert face["version"] == 3 and face["stream"] == 1 and face["data"][1] is False
    assert d.T.__cuda_array_interface__["strides"] == (4, 16)
    assert cuda.device_array((0, 3)).__cuda_array_interface__["data"][0] == 0
    s = cuda.stream()
    assert cuda.device_array(3, stream=s).__cuda_array_interface__["stream"] == s.handle
    record = cuda.device_array(3, RECORD).__cuda_array_interface__
    assert np.dtype(record["descr"]) == RECORD


def test_dlpack_round_trip():
    for a in (data((3, 4), "f4"), data((5,), "c16"), np.zeros((0, 2), "i2"), np.array(True), data((2,) * 10, "u8")):
        d = cuda.to_device(a)

        class Exporter:
            def __dlpack__(self, **keywords):
                return d.__dlpack__(**keywords)

            def __dlpack_device__(self):
                return d.__dlpack_device__()

        e = cuda.from_dlpack(Exporter())
        same(e, a)
        if a.size:
            assert e.__cuda_array_interface__["data"] == d.__cuda_array_interface__["data"]
        for version in (None, (0, 8), (1, 0), (1, 9)):
            same(cuda.from_dlpack(d.__dlpack__(max_version=version)), a)
        assert cuda.from_dlpack(d).base is d
        same(cuda.from_dlpack(Exporter(), copy=True), a)
    same(cuda.from_dlpack(cuda.to_device(data((4, 6))).T[::2].__dlpack__()), data((4, 6)).T[::2])


def test_dlpack_keeps_memory():
    before = used()
    capsule = cuda.to_device([1.0]).__dlpack__()
    assert used() == before + 1
    e = cuda.from_dlpack(capsule)
    del capsule
    same(e, np.array([1.0]))
    del e
    assert used() == before
    capsule = cuda.to_device([1.0]).__dlpack__()
    first = cuda.from_dlpack(capsule)
    with pytest.raises(BufferError, match="consumed"):
        cuda.from_dlpack(capsule)
    del capsule, first
    assert used() == before


def test_dlpack_arguments():
    d = cuda.to_device(data((3,)))
    assert d.__dlpack_device__() == (2, 0)
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    assert name(d.__dlpack__()) == b"dltensor"
    assert name(d.__dlpack__(max_version=(1, 0))) == b"dltensor_versioned"
    for stream in (None, 1, 2, -1):
        d.__dlpack__(stream=stream)
    for stream, error in ((0, ValueError), (-2, ValueError), ("x", TypeError), (1.0, TypeError), (True, TypeError), (-10**30, ValueError)):
        with pytest.raises(error, match="stream"):
            d.__dlpack__(stream=stream)
    with pytest.raises(BufferError, match="dl_device"):
        d.__dlpack__(dl_device=(1, 0))
    d.__dlpack__(dl_device=(2, 0))
    for bad in ("x", (1,), 5):
        with pytest.raises(TypeError, match="dl_device"):
            d.__dlpack__(dl_device=bad)
        with pytest.raises(TypeError, match="max_version"):
            d.__dlpack__(max_version=bad)
    with pytest.raises(TypeError):
        d.__dlpack__(1)
    copied = cuda.from_dlpack(d.__dlpack__(copy=True))
    d.fill(0)
    same(copied, data((3,)))
    with pytest.raises(BufferError):
        cuda.device_array(3, RECORD).__dlpack__()
    with pytest.raises(BufferError):
        cuda.device_array((3,), "f4", strides=(6,)).__dlpack__()


def test_items_of_no_bytes_are_refused():
    with pytest.raises(TypeError, match="no bytes"):
        cuda.device_array(3, "V0")
