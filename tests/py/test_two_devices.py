"""Several GPUs in one process: work follows the data's device. On two GPUs, or on the fake driver with two, which runs no
kernels, but takes a pointer, a stream or a kernel of another device for an error (test_fake_driver.py starts it)."""

from __future__ import annotations

import ctypes
import os
import threading

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE
from lanewise import cuda

pytestmark = [pytest.mark.gpu,
              pytest.mark.skipif(not cuda.is_available() or len(cuda.gpus) < 2, reason="needs two CUDA devices; test_fake_driver.py has them")]

A = np.arange(24.0).reshape(4, 6)
# "cuda" of tests that look at the driver's calls
driver = ctypes.CDLL(os.environ["LANEWISE_CUDA_DRIVER"]) if FAKE else None


@pytest.fixture(autouse=True)
def first_device():
    cuda.select_device(0)
    yield
    assert cuda.get_current_device().id == 0


def on(device, host):
    with cuda.gpus[device]:
        return cuda.to_device(host)


def check(result, want, device=1):
    """Check on which device the result is, and what it holds if kernels run."""
    assert isinstance(result, cuda.DeviceArray) and result.device.id == device and result.shape == np.shape(want)
    if not FAKE:
        np.testing.assert_allclose(result.copy_to_host(), want, rtol=1e-12)


@lw.vectorize(fma=False)
def muladd(a, b):
    return a * b + a


@lw.guvectorize("(n)->()")
def total(x, out):
    out[0] = 0
    for k in range(x.shape[0]):
        out[0] += x[k]


@lw.forall
def double(i, x, out):
    out[i] = 2 * x[i]


@lw.jit
def thread(x, out):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        out[i, j] = x[i, j] + 1


@cuda.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@lw.reduce
def largest(a, b):
    return max(a, b)


@lw.vectorize(excluded=["table"])
def looked_up(i, table):
    return table[int(i)]


def run_forall(x):
    out = cuda.device_array_like(x)
    double(x.size, x.reshape(-1), out.reshape(-1))
    return out


def run_jit(x):
    x = x.copy()
    increment[1, 32](x.reshape(-1))
    return x


def run_forall_of_jit(x):
    x = x.copy()
    increment.forall(x.size)(x.reshape(-1))
    return x


def run_at(x):
    x = x.copy()
    lw.add.at(x, np.array([0, 2]), 1.0)
    return x


def run_setitem(x):
    x = x.copy()
    x[[0, 2]] = x[:1]
    x[1:3, ::2] = 5
    return x


def assigned(x):
    x = x.copy()
    x[[0, 2]] = x[:1]
    x[1:3, ::2] = 5
    return x


def incremented(x):
    x = x.copy()
    x[[0, 2]] += 1
    return x


def drawn(**options):
    def draw(x):
        out = cuda.device_array_like(x)
        lw.random.Generator(7, **options).normal(out=out)
        return out

    return draw


def left(a, b):
    return a - b


# by one array: what a user writes, and the same of NumPy
DOORS = {
    "vectorize": (lambda x: muladd(x, x), lambda x: x * x + x),
    "a number": (lambda x: muladd(2.0, x), lambda x: 2 * x + 2),
    "a host array": (lambda x: muladd(x, A), lambda x: x * x + x),
    "where": (lambda x: lw.add(x, 1.0, out=x.copy(), where=A > 3), lambda x: np.where(A > 3, x + 1, x)),
    "operators": (lambda x: -(x + 1) * x, lambda x: -(x + 1) * x),
    "casts": (lambda x: x.T[::2].astype("f4").copy().astype("f8"), lambda x: x.T[::2]),
    "excluded": (lambda x: looked_up(x[0], np.arange(9.0)), lambda x: x[0]),
    "guvectorize": (lambda x: total(x), lambda x: x.sum(axis=1)),
    "matmul": (lambda x: x @ x.T, lambda x: x @ x.T),
    "a large matmul": (lambda x: np.tile(x, (20, 20)) @ np.tile(x, (20, 20)).T, lambda x: np.tile(x, (20, 20)) @ np.tile(x, (20, 20)).T),
    "forall": (run_forall, lambda x: 2 * x),
    "jit": (run_jit, lambda x: x + 1),
    "jit.forall": (run_forall_of_jit, lambda x: x + 1),
    "reduce": (lambda x: largest(x, axis=0), lambda x: x.max(axis=0)),
    "accumulate": (lambda x: largest.accumulate(x, axis=1), lambda x: np.maximum.accumulate(x, axis=1)),
    "reduceat": (lambda x: largest.reduceat(x[0], [0, 3]), lambda x: np.maximum.reduceat(x[0], [0, 3])),
    "reductions": (lambda x: lw.reductions.var(x, axis=0), lambda x: x.var(axis=0)),
    "methods": (lambda x: x.mean(axis=1), lambda x: x.mean(axis=1)),
    "scans": (lambda x: x.cumsum(axis=0), lambda x: x.cumsum(axis=0)),
    "argmax": (lambda x: x.argmax(axis=0), lambda x: x.argmax(axis=0)),
    "ufunc.reduce": (lambda x: lw.add.reduce(x, axis=1), lambda x: x.sum(axis=1)),
    "ufunc.accumulate": (lambda x: lw.subtract.accumulate(x, axis=0), lambda x: np.subtract.accumulate(x, axis=0)),
    "ufunc.reduceat": (lambda x: lw.subtract.reduceat(x, [0, 2], axis=0), lambda x: np.subtract.reduceat(x, [0, 2], axis=0)),
    "a left fold": (lambda x: lw.vectorize(left).reduce(x, axis=0), lambda x: np.subtract.reduce(x, axis=0)),
    "outer": (lambda x: lw.add.outer(x[0], x[1]), lambda x: np.add.outer(x[0], x[1])),
    "at": (run_at, incremented),
    "subscripts": (lambda x: x[[1, 2]], lambda x: x[[1, 2]]),
    "assignment": (run_setitem, assigned),
    "sort": (lambda x: np.sort(x, axis=0), lambda x: x),
    "argsort": (lambda x: x.argsort(axis=1), lambda x: x.argsort(axis=1)),
    "concatenate": (lambda x: np.concatenate([x, A]), lambda x: np.concatenate([x, x])),
    "np.where": (lambda x: np.where(x > 3, x, 0), lambda x: np.where(x > 3, x, 0)),
    "tensordot": (lambda x: np.tensordot(x, x, ([0], [0])), lambda x: np.tensordot(x, x, ([0], [0]))),
    "zeros_like": (lambda x: np.zeros_like(x), np.zeros_like),
    "like=": (lambda x: np.asarray([1.0, 2.0], like=x), lambda x: np.array([1.0, 2.0])),
    "philox": (drawn(), lambda x: lw.random.Generator(7).normal(size=x.shape)),
    "xoroshiro": (drawn(bit_generator="xoroshiro128p"), lambda x: lw.random.Generator(7, bit_generator="xoroshiro128p").normal(size=x.shape)),
    "parameters": (lambda x: lw.random.Generator(7).normal(x, 1.0), lambda x: lw.random.Generator(7).normal(x, 1.0)),
    "deepcopy": (lambda x: __import__("copy").deepcopy(x), lambda x: x),
}


@pytest.mark.parametrize("door", DOORS)
def test_work_follows_the_data(door):
    """Called with the first device current, on arrays of the second: nothing runs on the first. Then the other way round."""
    call, expected = DOORS[door]
    want, x, y = expected(A), on(1, A), on(0, A)
    before = driver.fake_cuda_n_launches_on(0) if FAKE else 0
    check(call(x), want)
    check(call(x), want)  # as it is remembered
    assert not FAKE or driver.fake_cuda_n_launches_on(0) == before
    with cuda.gpus[1]:
        check(call(y), want, 0)
        assert cuda.get_current_device().id == 1
    for device, array in ((0, y), (1, x), (0, y)):
        check(call(array), want, device)


def test_states():
    for device in (1, 0):
        with cuda.gpus[device]:
            states = lw.random.create_xoroshiro128p_states(5, seed=1)
        assert states.device.id == device
        lw.random.init_xoroshiro128p_states(states, seed=3)
    generator = lw.random.Generator(7, bit_generator="xoroshiro128p", target="cuda")  # its states go along
    for device in (0, 1, 0):
        with cuda.gpus[device]:
            assert generator.random(5).device.id == device


def test_by_key():
    keys, values = largest.by_key(on(1, np.array([1, 1, 2])), on(1, A[0, :3]))[:2] if not FAKE else (on(1, A), on(1, A))
    assert keys.device.id == values.device.id == 1


def test_without_arrays():
    """If nothing names a device, the current one is used, also if the call has been remembered for another."""
    for device in (0, 1, 1, 0):
        with cuda.gpus[device], lw.config(target="cuda"):
            made = lw.random.Generator(1, target="cuda").random(3)
            assert made.device.id == cuda.device_array(2).device.id == np.zeros(3, like=made).device.id == device
            muladd(A, A)
            double(24, A.reshape(-1), np.empty(24))


@pytest.mark.parametrize("call, names", [
    (lambda x, y: muladd(x, y), "muladd: argument 1 is on device 0 and argument 2 on device 1"),
    (lambda x, y: muladd(3, y, out=x), "muladd: argument 2 is on device 1 and out= on device 0"),
    (lambda x, y: lw.add(x, 1, where=y), "add: argument 1 is on device 0 and where= on device 1"),
    (lambda x, y: x + y, "add: argument 1 is on device 0 and argument 2 on device 1"),
    (lambda x, y: x @ y.T, "matmul: argument 1 is on device 0 and argument 2 on device 1"),
    (lambda x, y: total(x, out=y[:, 0]), "total: argument 1 is on device 0 and out= on device 1"),
    (lambda x, y: looked_up(x, y[0]), "looked_up: an excluded argument is on device 1 and argument 1 on device 0"),
    (lambda x, y: double(24, x.reshape(-1), y.reshape(-1)), "double: argument `x` is on device 0 and argument `out` on device 1"),
    (lambda x, y: largest(x, where=y > 3), "largest: argument 1 is on device 0 and where= on device 1"),
    (lambda x, y: largest(x, axis=0, out=y[0]), "largest: argument 1 is on device 0 and out= on device 1"),
    (lambda x, y: lw.add.at(x, np.array([0]), y[:1]), r"add.at: arrays are on devices 0 and 1"),
    (lambda x, y: np.concatenate([x, y]), "numpy.concatenate: arrays are on devices 0 and 1"),
])
def test_mixed_devices_are_refused(call, names):
    """The error names the arguments, the devices and how to copy; nothing is launched."""
    before = driver.fake_cuda_n_launches() if FAKE else 0
    with pytest.raises(ValueError, match=names + r".*`with cuda.gpus\[[01]\]:?"):
        if "where=" in names:
            mask = on(1, A > 3)
            (lw.add(on(0, A), 1, where=mask) if "add" in names else largest(on(0, A), where=mask))
        else:
            call(on(0, A), on(1, A))
    assert not FAKE or driver.fake_cuda_n_launches() == before


def test_two_outputs_and_inputs_of_jit():
    @cuda.jit
    def copy(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i]

    with pytest.raises(ValueError, match=r"copy: argument `x` is on device 1 and argument `y` on device 0.*`with cuda.gpus\[1\]:`"):
        copy[1, 32](on(1, A[0]), on(0, A[0]))


def test_streams_of_another_device():
    with cuda.gpus[1]:
        stream = cuda.stream()
    x, y = on(0, A), on(1, A)
    flat = x.reshape(-1)
    for call in (lambda: muladd(x, x, stream=stream), lambda: double(24, flat, flat, stream=stream), lambda: increment[1, 32, stream](flat),
                 lambda: largest(x, stream=stream), lambda: x.copy_to_host(stream=stream), lambda: x.copy_to_device(A, stream=stream)):
        with pytest.raises(ValueError, match="stream= was made on device 1, and the arrays are on device 0"):
            call()
    check(muladd(y, y, stream=stream), A * A + A)
    assert stream.device.id == 1 and (y.copy_to_host(stream=stream) == A).all()


# ---- copies from device to device ----


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x.T, lambda x: x[::2, ::3], lambda x: x[:0], lambda x: x[1]], ids=["dense", "F", "strided", "empty", "row"])
@pytest.mark.parametrize("dtype", ["f8", "u1", "c16", "M8[s]", [("a", "i4"), ("b", "f8")]], ids=str)
def test_copies(view, dtype):
    host = np.zeros(A.shape, dtype)
    host[...] = A.astype(dtype) if isinstance(dtype, str) else np.array(7, "i4")
    x = view(on(0, host))
    with cuda.gpus[1]:
        y = cuda.to_device(x)
        assert cuda.to_device(y) is y
    assert y.device.id == 1 and y.dtype == x.dtype and y.shape == x.shape and y.is_f_contiguous() == (x.is_f_contiguous() or not x.is_c_contiguous() and y.ndim < 2)
    np.testing.assert_array_equal(y.copy_to_host(), view(host))
    z = on(1, np.zeros(host.shape, dtype))
    view(z)[...] = x
    np.testing.assert_array_equal(view(z.copy_to_host()), view(host))
    view(z).copy_to_device(x)


def test_casts_on_the_way():
    to = on(1, np.zeros(A.shape, "f4"))
    to.copy_to_device(on(0, A))
    check(to, A)
    to[:, 1:3] = on(0, A[:1, 1:3])  # broadcast


@pytest.mark.skipif(not FAKE, reason="looks at the fake driver's calls")
def test_one_dense_copy_is_one_peer_copy():
    """It waits for both streams, by events; access is requested once."""
    driver.fake_cuda_log.restype = ctypes.c_char_p
    x, to = on(0, A), on(1, A)
    to.copy_to_device(x)
    driver.fake_cuda_reset_calls()
    to.copy_to_device(x)
    calls = driver.fake_cuda_log().decode().split()
    work = [call for call in calls if not call.startswith(("cuCtx", "cuEventCreate", "cuEventDestroy", "cuDeviceGetCount"))]
    assert work == ["cuEventRecord", "cuStreamWaitEvent", "cuMemcpyPeerAsync", "cuEventRecord", "cuStreamWaitEvent"], calls
    assert "cuCtxEnablePeerAccess" not in calls and "cuDeviceCanAccessPeer" not in calls


def test_there_and_back_on_streams():
    with cuda.gpus[1]:
        there = cuda.stream()
    here = cuda.stream()
    x = cuda.to_device(A, stream=here)
    with cuda.gpus[1]:
        y = cuda.to_device(x, stream=there)
    back = cuda.device_array_like(x)
    back.copy_to_device(y, stream=here)
    assert (back.copy_to_host(stream=here) == A).all()


# ---- threads ----


def test_threads_have_a_device_each():
    """A thread without a context works on its arrays' device, and stays on its own."""
    x, seen = on(1, A), []

    def use():
        check(muladd(x, x), A * A + A)
        seen.append((cuda.get_current_device().id, cuda.device_array(3).device.id))
        del seen[1:]
        with cuda.gpus[1]:
            seen.append((cuda.get_current_device().id, cuda.device_array(3).device.id))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert seen == [(0, 0), (1, 1)]


def test_one_device_object_in_two_threads():
    device, inside, leave = cuda.gpus[1], threading.Event(), threading.Event()
    found = []

    def use():
        cuda.select_device(1)
        with device:
            inside.set()
            leave.wait(20)
        found.append(cuda.get_current_device().id)

    thread = threading.Thread(target=use)
    with device:
        thread.start()
        assert inside.wait(20)
    found.append(cuda.get_current_device().id)
    leave.set()
    thread.join()
    assert found == [0, 1]


def test_blocks_of_a_dask_array_on_both():
    """Several GPUs by the threads of one worker: each block is reduced where it lies, and merged on the current device."""
    da = pytest.importorskip("dask.array")

    def put(block, block_info=None):
        return on(block_info[0]["chunk-location"][0] % 2, block)

    d = da.from_array(A, chunks=(1, 6)).map_blocks(put, meta=cuda.to_device(np.empty((0, 0))))
    total = lw.reduce(lambda a, b: a + b)
    for lazy, want in ((lw.reductions.sum(d), A.sum()), (total(d, axis=0), A.sum(axis=0)), (lw.reductions.topk(d, 2, axis=0), A[:1:-1])):
        for scheduler in ("synchronous", "threads"):
            check(lazy.compute(scheduler=scheduler), want, device=0)
    device = np.arange(4) % 2
    for lazy, want in ((lw.reductions.argmax(d, axis=0), np.full(6, 3)), (lw.reductions.argmin(d), np.array(0)), (lw.reductions.top1(d, d)[0], np.array(23.0)), (lw.reductions.cumsum(d, axis=0), A.cumsum(0))):
        check(lazy.compute(scheduler="synchronous"), want, device=0)
    for lazy, want in ((lw.map_blocks(thread, d), A + 1), (lw.vectorize(lambda x: 2 * x)(d, where=d > 3), np.where(A > 3, 2 * A, 0))):
        for row in range(4):
            check(lazy.blocks[row].compute(scheduler="synchronous"), want[row : row + 1], device=device[row])
    twice = lw.vectorize(lambda x: 2 * x)(d)
    check(twice.blocks[1].compute(scheduler="synchronous"), 2 * A[1:2])
    with pytest.raises(ValueError, match=r"arrays are on devices 0 and 1, but all must be on one: bring them together with"):
        twice.compute(scheduler="synchronous")
    back = twice.map_blocks(lambda block: block.copy_to_host(), dtype="f8", meta=np.empty((0, 0))).compute(scheduler="threads")
    assert back.shape == A.shape and (FAKE or (back == 2 * A).all())
