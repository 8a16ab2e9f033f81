"""lanewise.cuda: devices, contexts, streams, events, host memory."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE, needs_device
from lanewise import cuda
from lanewise.errors import DriverError

pytestmark = needs_device


def test_names():
    assert len(set(cuda.__all__)) == len(cuda.__all__)
    for name in cuda.__all__:
        assert getattr(cuda, name).__doc__, name
    for kind in (cuda.DeviceArray, cuda.Device, cuda.Context, cuda.Stream, cuda.Event, cuda.MappedArray, cuda.MemoryInfo):
        assert kind.__module__ == "lanewise.cuda"
    for kind in (cuda.Device, cuda.Context, cuda.Stream, cuda.Event):
        with pytest.raises(TypeError):
            kind()


# ---- devices ----


def test_devices(capsys):
    assert cuda.is_available() and len(cuda.gpus) >= 1
    device = cuda.gpus[0]
    assert device.id == int(device) == 0 and device == 0 and device == cuda.gpus[0] and hash(device) == hash(cuda.gpus[0])
    assert device != 1 and device != "x"
    assert device.name and device.name in repr(device) and device.uuid.startswith("GPU-") and len(device.uuid) == 40
    assert device.compute_capability >= (7, 0) and device.WARP_SIZE == 32 and device.total_memory > 2**30
    assert device.MULTIPROCESSOR_COUNT > 0 and device.MAX_THREADS_PER_BLOCK == 1024
    assert [int(d) for d in cuda.gpus] == list(range(len(cuda.gpus)))
    assert cuda.gpus.current == cuda.get_current_device() == cuda.to_device([1]).device
    device.synchronize()
    assert cuda.detect() is True
    assert device.name in capsys.readouterr().out


@pytest.mark.parametrize("bad, error", [(99, DriverError), (-1, DriverError), (2**70, DriverError), ("0", TypeError), (0.0, TypeError), (None, TypeError), (True, TypeError)])
def test_bad_device(bad, error):
    with pytest.raises(error):
        cuda.select_device(bad)
    if bad is not None:
        with pytest.raises(error):
            cuda.current_context(bad)


def test_gpus_index():
    with pytest.raises(IndexError, match="there is no CUDA device 99"):
        cuda.gpus[99]


def test_select_device():
    last = len(cuda.gpus) - 1
    assert cuda.select_device(last) == last
    assert cuda.to_device([1]).device == last
    cuda.select_device(0)
    with cuda.gpus[last] as device:
        assert device == last and cuda.get_current_device() == last
        with cuda.gpus[0]:
            assert cuda.get_current_device() == 0
        assert cuda.get_current_device() == last
    assert cuda.get_current_device() == 0
    with pytest.raises(RuntimeError, match="not entered"):
        cuda.gpus[0].__exit__(None, None, None)


def test_between_devices():
    if len(cuda.gpus) < 2:
        pytest.skip("one device")
    a = np.arange(12.0).reshape(3, 4)
    d = cuda.to_device(a)
    with cuda.gpus[1]:
        e = cuda.device_array((3, 4))
        e[...] = d
        e[0] = d[1]
        a2 = a.copy()
        a2[0] = a[1]
        np.testing.assert_array_equal(e.copy_to_host(), a2)
        assert e.device == 1
        np.testing.assert_array_equal(d[::2].copy_to_host(), a[::2])
    d[...] = e
    np.testing.assert_array_equal(d.copy_to_host(), a2)
    assert d.device == 0 and d.__dlpack_device__() == (2, 0) and e.__dlpack_device__() == (2, 1)
    assert cuda.as_cuda_array(type("Foreign", (), {"__cuda_array_interface__": e.__cuda_array_interface__})()).device == 1


def test_context():
    context = cuda.current_context()
    info = context.get_memory_info()
    assert 0 < info.free <= info.total == context.device.total_memory or not FAKE
    assert info[0] == info.free and "MemoryInfo" in repr(info)
    d = cuda.device_array(1000)
    stats = context.pool_statistics()
    assert stats["n_used"] >= 1 and stats["used_bytes"] >= 8000
    del d
    context.synchronize()
    cuda.synchronize()
    context.trim()
    assert context.pool_statistics()["cached_bytes"] == 0
    assert cuda.current_context(0).device == 0


def test_close_keeps_arrays():
    d = cuda.to_device([1.0, 2.0])
    cuda.close()
    assert d.copy_to_host().tolist() == [1, 2]
    assert cuda.to_device([3.0]).copy_to_host().tolist() == [3]


# ---- streams and events ----


def test_streams():
    s = cuda.stream()
    assert s.handle == int(s) != 0 and s.__cuda_stream__() == (0, s.handle) and s.device == cuda.get_current_device()
    assert s == s and s != cuda.stream() and s == cuda.external_stream(s.handle) and hash(s) == hash(cuda.external_stream(s.handle))
    s.synchronize()
    assert s.query() is True
    with s.auto_synchronize() as inner:
        assert inner is s
    assert "CUDA stream" in repr(s) and "External" in repr(cuda.external_stream(s.handle)) and "Default" in repr(cuda.default_stream())
    assert cuda.default_stream().handle == 0 and cuda.per_thread_default_stream().handle == 2
    assert cuda.stream(blocking=False, priority=-5).handle
    t = cuda.stream()
    t.wait(s)
    t.wait(s.record())
    t.wait(s.handle)
    for bad in ("x", 1.0, object()):
        with pytest.raises(TypeError):
            t.wait(bad)
        with pytest.raises(TypeError):
            s.record(bad)
        with pytest.raises(TypeError):
            cuda.external_stream(bad)
    with pytest.raises(ValueError):
        cuda.external_stream(-1)
    with pytest.raises(TypeError):
        cuda.stream(1)


def test_events():
    s = cuda.stream()
    start, end = cuda.event(), cuda.event()
    start.record(s)
    end.record(stream=s)
    end.synchronize()
    assert end.query() is True and start.handle
    assert cuda.event_elapsed_time(start, end) == pytest.approx(start.elapsed_time(end)) and start.elapsed_time(end) >= 0
    end.wait(cuda.stream())
    end.wait()
    with pytest.raises(ValueError):
        cuda.event(timing=False).elapsed_time(end)
    with pytest.raises(TypeError):
        start.elapsed_time(s)
    with pytest.raises(TypeError):
        cuda.event_elapsed_time(1, 2)


def test_streams_are_destroyed():
    streams = [cuda.stream() for _ in range(100)]
    arrays = [cuda.to_device([float(i)], stream=s) for i, s in enumerate(streams)]
    del streams
    gc.collect()
    assert [a.copy_to_host()[0] for a in arrays] == list(range(100))


# ---- host memory ----


@pytest.mark.parametrize("make", [cuda.pinned_array, cuda.mapped_array, cuda.managed_array])
def test_host_arrays(make):
    a = make((3, 4), "f4")
    assert isinstance(a, np.ndarray) and a.shape == (3, 4) and a.dtype == np.float32 and a.flags.c_contiguous and a.flags.writeable
    a[...] = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(cuda.to_device(a).copy_to_host(), a)
    target = make((3, 4), "f4")
    s = cuda.stream()
    if make is cuda.pinned_array:
        cuda.to_device(a, stream=s).copy_to_host(target, stream=s)
        s.synchronize()
        np.testing.assert_array_equal(target, a)
    assert make(5, order="F").flags.f_contiguous and make((2, 3), order="F").strides == (8, 16)
    assert make((0, 3)).size == 0 and make(3, strides=(16,)).strides == (16,) and make((), "i8").shape == ()
    backwards = make(3, "u1", (-1,))
    backwards[...] = [1, 2, 3]
    assert backwards.tolist() == [1, 2, 3]
    keep = a[1]
    del a
    gc.collect()
    assert keep.tolist() == [4, 5, 6, 7]
    for arguments, error in (((2.5,), TypeError), ((-1,), ValueError), ((3, object), TypeError), ((3, "f4", None, "X"), ValueError),
                             ((3, "f4", (1, 2)), ValueError), ((2**62,), ValueError), ((3, "f4", (2**62,)), ValueError)):
        with pytest.raises(error):
            make(*arguments)


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array])
def test_arrays_that_the_device_reaches(make):
    a = make((3, 4), "i4")
    a[...] = np.arange(12).reshape(3, 4)
    assert isinstance(a, cuda.MappedArray) and cuda.is_cuda_array(a) and cuda.is_cuda_array(a[1:])
    d = cuda.as_cuda_array(a)
    d[1] = 7
    cuda.synchronize()
    assert a[1].tolist() == [7] * 4
    np.testing.assert_array_equal(cuda.as_cuda_array(a[::-1, 1:3]).copy_to_host(), a[::-1, 1:3])
    assert not cuda.is_cuda_array(a + 1)  # ordinary memory again
    with pytest.raises(AttributeError):
        (a + 1).__cuda_array_interface__
    assert type(a.sum()) is np.int64
    a.flags.writeable = False
    assert not cuda.as_cuda_array(a).flags["WRITEABLE"]


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array])
def test_they_know_the_stream_of_their_last_use(make):
    """A consumer that is told no stream would not wait for a kernel that is still writing."""
    first, second = cuda.stream(), cuda.stream()
    a = make(40, "f4")
    half, bytes_ = a[::2], a.view("u1")
    faces = [a, half, bytes_, cuda.as_cuda_array(half)]

    def streams():
        return {x.__cuda_array_interface__["stream"] for x in faces}

    assert streams() == {1}  # the default stream
    cuda.as_cuda_array(half).fill(3, stream=first)
    assert streams() == {first.handle}
    result = lw.vectorize(lambda x: x + 1)(a, out=bytes_.view("f4"), stream=second)
    assert result.__cuda_array_interface__["stream"] == second.handle and streams() == {second.handle}

    @lw.forall
    def double(i, x):
        x[i] *= 2

    double(40, a, stream=first)
    assert streams() == {first.handle}
    lw.reduce(lambda x, y: x + y)(half)
    assert streams() == {1}
    assert make(3, stream=second).__cuda_array_interface__["stream"] == second.handle
    first.synchronize()
    second.synchronize()


@pytest.mark.parametrize("attach_global", [True, False])
def test_managed_array(attach_global):
    a = cuda.managed_array(3, attach_global=attach_global)
    a[:] = 2
    assert cuda.as_cuda_array(a).copy_to_host().tolist() == [2, 2, 2]


def test_require_context():
    @cuda.require_context
    def current(extra=1):
        """Doc."""
        return cuda.current_context().device.id + extra

    assert current() == 1 and current(extra=5) == 5 and current.__name__ == "current" and current.__doc__ == "Doc."
    with pytest.raises(TypeError, match="function"):
        cuda.require_context(3)


def test_mapped_array_keywords():
    assert cuda.mapped_array(3, portable=True, wc=True, stream=cuda.stream()).shape == (3,)
    with pytest.raises(TypeError):
        cuda.mapped_array(3, nonsense=1)


# ---- driver failures, one call after the other ----


@pytest.mark.skipif(not FAKE, reason="real drivers do not fail on demand")
@pytest.mark.parametrize("code, name", [(2, "CUDA_ERROR_OUT_OF_MEMORY"), (700, "CUDA_ERROR_ILLEGAL_ADDRESS"), (999, "CUDA_ERROR_UNKNOWN")])
def test_every_driver_call_may_fail(code, name):
    import os

    fake = ctypes.CDLL(os.environ["LANEWISE_CUDA_DRIVER"])

    def scenario():
        s = cuda.stream()
        d = cuda.to_device(np.arange(100.0), stream=s)
        d[::50] = 1
        e = cuda.device_array(100)
        e.copy_to_device(d)
        event = cuda.event()
        event.record()
        cuda.pinned_array(3)
        cuda.mapped_array(3)[...] = 1
        cuda.synchronize()
        assert e.copy_to_host().sum() == 4902

    def live():
        gc.collect()
        return [fake.fake_cuda_live(kind) for kind in (b"host", b"streams", b"events", b"modules")], cuda.current_context().pool_statistics()["n_used"]

    scenario()
    before, n_failures = live(), 0
    for n in range(1, 300):
        fake.fake_cuda_fail(None, n, code)
        try:
            scenario()
        except DriverError as problem:
            assert problem.name == name and problem.code == code and name in str(problem)
            n_failures += 1
        del_failed = fake.fake_cuda_failed()
        fake.fake_cuda_fail(None, 0, 0)
        assert live() == before, n
        if not del_failed:
            break
    assert n_failures > 10
    scenario()


def test_pinned():
    a, b = np.arange(12.0).reshape(3, 4)[::-1, ::2], np.empty(0)
    with cuda.pinned(a, b), cuda.defer_cleanup():
        d = cuda.to_device(a, stream=cuda.stream())
        with pytest.raises(DriverError), cuda.pinned(a):
            pass
    with cuda.pinned(a):  # it was let go of
        np.testing.assert_array_equal(d.copy_to_host(), a)
    for bad in ([1.0], np.array([None])):
        with pytest.raises(TypeError, match="arrays: "), cuda.pinned(bad):
            pass


def test_mapped():
    a, b = np.arange(12.0).reshape(3, 4), np.zeros(0)
    with cuda.mapped(a[:, ::-1], stream=cuda.stream()) as d:
        assert type(d) is cuda.DeviceArray and d.shape == (3, 4) and d.strides == (32, -8)
        d[0, 0] = 99
        cuda.synchronize()
        np.testing.assert_array_equal(d.copy_to_host(), a[:, ::-1])
    assert a[0, 3] == 99
    with pytest.raises(DriverError), cuda.mapped(a[:, ::-1]):
        pass  # `d` keeps it locked
    del d
    with cuda.mapped(a, b) as arrays:
        assert [x.shape for x in arrays] == [(3, 4), (0,)]
    frozen = np.ones(3)
    frozen.flags.writeable = False
    with cuda.mapped(frozen) as d, pytest.raises(ValueError, match="read-only"):
        d[0] = 1
    with pytest.raises(TypeError, match="arrays: expected NumPy arrays, got int"), cuda.mapped(1):
        pass


def test_profiling():
    assert cuda.profile_start() is None and cuda.profile_stop() is None
    with pytest.raises(KeyError), cuda.profiling():
        raise KeyError
