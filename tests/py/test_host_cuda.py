"""Programs for GPUs on a machine without one: whole programs as numba's documentation has them, in processes of their
own with LANEWISE_TARGET=cpu, and what their arrays, streams, events and devices do."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors, random

# After the examples of numba's CUDA documentation; each ends with a comparison.
PROGRAMS = {
    "vector addition": """
@cuda.jit
def f(a, b, c):
    tid = cuda.grid(1)
    if tid < len(c):
        c[tid] = a[tid] + b[tid]

N = 10000
a = cuda.to_device(np.random.random(N))
b = cuda.to_device(np.random.random(N))
c = cuda.device_array_like(a)
f.forall(len(a))(a, b, c)
want = a.copy_to_host() + b.copy_to_host()
same(c.copy_to_host(), want)
c = cuda.device_array_like(a)
f[len(a) // 256 + 1, 256](a, b, c)
same(c.copy_to_host(), want)
""",
    "heat equation": """
data = np.zeros(101)
data[50] = 10000
buf_0 = cuda.to_device(data)
buf_1 = cuda.device_array_like(buf_0)

@cuda.jit
def solve(buf_0, buf_1, timesteps, k):
    i = cuda.grid(1)
    if i >= len(buf_0):
        return
    grid = cuda.cg.this_grid()
    for step in range(timesteps):
        data, out = (buf_0, buf_1) if step % 2 == 0 else (buf_1, buf_0)
        t = data[i]
        if i == 0:
            out[i] = t + k * (data[i + 1] - 2 * t)
        elif i == len(data) - 1:
            out[i] = t + k * (data[i - 1] - 2 * t)
        else:
            out[i] = t + k * (data[i - 1] - 2 * t + data[i + 1])
        grid.sync()

solve.forall(len(data))(buf_0, buf_1, 100, 0.25)
want = data
for _ in range(100):
    around = np.pad(want, 1)
    want = want + 0.25 * (around[:-2] - 2 * want + around[2:])
near(buf_0.copy_to_host(), want)
""",
    "rows one after the other": """
@cuda.jit((int32[:, ::1],))
def sequential_rows(M):
    col = cuda.grid(1)
    g = cuda.cg.this_grid()
    for row in range(1, M.shape[0]):
        M[row, col] = M[row - 1, M.shape[1] - col - 1] + 1
        g.sync()

A = np.zeros((64, 64), dtype=np.int32)
sequential_rows[2, 32](A)
same(A, np.tile(np.arange(64), (64, 1)).T)
""",
    "matrix product": """
TPB = 16

@cuda.jit
def fast_matmul(A, B, C):
    sA = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    sB = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tmp = float32(0.0)
    for i in range(cuda.gridDim.x):
        sA[ty, tx] = 0
        sB[ty, tx] = 0
        if y < A.shape[0] and tx + i * TPB < A.shape[1]:
            sA[ty, tx] = A[y, tx + i * TPB]
        if x < B.shape[1] and ty + i * TPB < B.shape[0]:
            sB[ty, tx] = B[ty + i * TPB, x]
        cuda.syncthreads()
        for j in range(TPB):
            tmp += sA[ty, j] * sB[j, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = tmp

x_h, y_h, z_h = np.arange(115).reshape([5, 23]), np.ones([23, 7]), np.zeros([5, 7])
x_d, y_d, z_d = cuda.to_device(x_h), cuda.to_device(y_h), cuda.to_device(z_h)
fast_matmul[(2, 2), (TPB, TPB)](x_d, y_d, z_d)
same(z_d.copy_to_host(), x_h @ y_h)
""",
    "random numbers in three dimensions": """
from lanewise.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

@cuda.jit
def random_3d(arr, rng_states):
    startx, starty, startz = cuda.grid(3)
    stridex, stridey, stridez = cuda.gridsize(3)
    tid = (startz * stridey * stridex) + (starty * stridex) + startx
    for i in range(startz, arr.shape[0], stridez):
        for j in range(starty, arr.shape[1], stridey):
            for k in range(startx, arr.shape[2], stridex):
                arr[i, j, k] = xoroshiro128p_uniform_float32(rng_states, tid)

rng_states = create_xoroshiro128p_states(512, seed=1)
arr = cuda.device_array((30, 40, 50), dtype=np.float32)
random_3d[(2, 2, 2), (4, 4, 4)](arr, rng_states)
host = arr.copy_to_host()
assert 0.49 < np.mean(host) < 0.51 and host.min() >= 0 and host.max() < 1 and len(np.unique(host)) > 50000
""",
    "estimating pi": """
from lanewise.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

@cuda.jit
def compute_pi(rng_states, iterations, out):
    thread_id = cuda.grid(1)
    inside = 0
    for i in range(iterations):
        x = xoroshiro128p_uniform_float32(rng_states, thread_id)
        y = xoroshiro128p_uniform_float32(rng_states, thread_id)
        if x**2 + y**2 <= 1.0:
            inside += 1
    out[thread_id] = 4.0 * inside / iterations

threads_per_block, blocks = 64, 24
rng_states = create_xoroshiro128p_states(threads_per_block * blocks, seed=1)
out = np.zeros(threads_per_block * blocks, dtype=np.float32)
compute_pi[blocks, threads_per_block](rng_states, 1000, out)
assert abs(out.mean() - np.pi) < 0.01
""",
    "sum in shared memory": """
a = cuda.to_device(np.arange(1024))
nelem = len(a)

@cuda.jit
def array_sum(data):
    tid = cuda.threadIdx.x
    if tid < len(data):
        shr = cuda.shared.array(nelem, int32)
        shr[tid] = data[cuda.grid(1)]
        cuda.syncthreads()
        s = 1
        while s < cuda.blockDim.x:
            if tid % (2 * s) == 0:
                shr[tid] += shr[tid + s]
            s *= 2
            cuda.syncthreads()
        if tid == 0:
            data[tid] = shr[tid]

array_sum[1, nelem](a)
assert a[0] == sum(np.arange(1024))
""",
    "sessions": """
timeout = np.int64(np.timedelta64("3600", "s"))
ids = cuda.to_device(np.array([1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3]))
sec = cuda.to_device(np.array([1, 2, 3, 5000, 5001, 5002, 1, 2, 3, 1, 2, 5000, 5001, 10000]))
results = cuda.to_device(np.zeros(len(ids)))

@cuda.jit
def sessionize(user_id, timestamp, results):
    gid = cuda.grid(1)
    size = len(user_id)
    if gid >= size:
        return
    boundary = True
    if gid > 0:
        boundary = user_id[gid] != user_id[gid - 1] or timestamp[gid] - timestamp[gid - 1] > timeout
    if boundary:
        results[gid] = gid
        cuda.cg.this_grid().sync()
        ahead = 1
        while gid + ahead < size and results[gid + ahead] == 0:
            results[gid + ahead] = gid
            ahead += 1

sessionize.forall(len(ids))(ids, sec, results)
same(results.copy_to_host(), [0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9, 11, 11, 13])
""",
    "device functions": """
@cuda.jit(device=True)
def business_logic(x, y, z):
    return 4 * z * (2 * x - (4 * y) / 2 * math.pi)

X, Y, Z = cuda.to_device([1, 10, 234]), cuda.to_device([2, 2, 4014]), cuda.to_device([3, 14, 2211])
results = cuda.to_device([0.0, 0.0, 0.0])

@cuda.jit
def f(res, xarr, yarr, zarr):
    tid = cuda.grid(1)
    if tid < len(xarr):
        res[tid] = business_logic(xarr[tid], yarr[tid], zarr[tid])

f.forall(len(X))(results, X, Y, Z)
print(results)
near(results.copy_to_host(), [-126.79644737231007, 416.28324559588634, -218912930.2987788])
""",
    "streams, events, page-locked memory": """
@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2

stream, begin, end = cuda.stream(), cuda.event(), cuda.event(timing=True)
a = np.arange(1000.0)
with cuda.pinned(a), cuda.defer_cleanup():
    begin.record(stream=stream)
    d = cuda.to_device(a, stream=stream)
    double[4, 256, stream](d)
    end.record(stream)
    end.wait(stream)
    end.synchronize()
    result = d.copy_to_host(stream=stream)
    stream.synchronize()
same(result, 2 * a)
same(a, np.arange(1000.0))
assert 0 < cuda.event_elapsed_time(begin, end) < 60000 and end.query()
staging = cuda.pinned_array(1000)
with stream.auto_synchronize():
    d.copy_to_host(staging, stream=stream)
same(staging, 2 * a)
with cuda.mapped(a, stream=stream) as on_device:
    double[4, 256, stream](on_device)
same(a, 2 * np.arange(1000.0))
m = cuda.managed_array(100)
m[:] = 250
double[1, 128](m)
cuda.synchronize()
same(m, np.full(100, 500.0))
""",
    "atomic maximum": """
@cuda.jit
def max_example(result, values):
    tid = cuda.threadIdx.x
    bid = cuda.blockIdx.x
    i = (bid * cuda.blockDim.x) + tid
    if i < len(values):
        cuda.atomic.max(result, 0, values[i])

arr = np.random.rand(16384)
result = np.zeros(1, dtype=np.float64)
max_example[256, 64](result, arr)
assert result[0] == max(arr)
""",
    "dynamic shared memory, two views": """
@cuda.jit
def two_views(x):
    f32_arr = cuda.shared.array(0, dtype=float32)
    i32_arr = cuda.shared.array(0, dtype=int32)[1:]
    f32_arr[0] = 3.14
    i32_arr[0] = 1
    i32_arr[1] = 2
    x[0] = f32_arr[0]
    x[1] = i32_arr[0]
    x[2] = i32_arr[1]

x = cuda.device_array(3)
two_views[1, 1, 0, 3 * 4](x)
near(x.copy_to_host(), [3.14, 1, 2], 1e-6)
""",
    "devices": """
if not cuda.is_available():
    raise SystemExit("no GPU")
assert cuda.detect() is True

@cuda.jit
def where(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = cuda.laneid

with cuda.gpus[0] as device:
    assert [device] == cuda.gpus.lst and device == cuda.get_current_device() == cuda.gpus.current and cuda.select_device(0) == device
    print(device.name, device.uuid, device.compute_capability)
    free, total = cuda.current_context().get_memory_info()
    assert 0 < free <= total
    out = cuda.device_array(4 * device.WARP_SIZE, np.int32)
    where.forall(out.size)(out)
    same(out.copy_to_host(), np.tile(np.arange(device.WARP_SIZE), 4))
cuda.profile_start()
cuda.profile_stop()
cuda.close()
""",
    "sum over warps": """
@cuda.jit
def warp_sum(x, out):
    i = cuda.grid(1)
    value = x[i]
    offset = 16
    while offset:
        value += cuda.shfl_down_sync(0xffffffff, value, offset)
        offset //= 2
    if cuda.laneid == 0:
        out[i // 32] = value

x = np.arange(256.0)
out = cuda.device_array(8)
warp_sum[2, 128](cuda.to_device(x), out)
same(out.copy_to_host(), x.reshape(8, 32).sum(axis=1))
""",
    "a ufunc of device arrays": """
@lw.vectorize(["float64(float64, float64, float64)"], target="cuda")
def discriminant(a, b, c):
    return math.sqrt(b**2 - 4 * a * c)

a, b, c = np.random.random(1000), 5 + np.random.random(1000), np.random.random(1000)
out = cuda.device_array(1000)
on_device = discriminant(cuda.to_device(a), cuda.to_device(b), cuda.to_device(c))
discriminant(cuda.to_device(a), cuda.to_device(b), cuda.to_device(c), out=out)
near(on_device.copy_to_host(), np.sqrt(b**2 - 4 * a * c))
same(out.copy_to_host(), on_device.copy_to_host())
""",
}
HEAD = """import math
import numpy as np
import lanewise as lw
from lanewise import cuda, float32, int32

same = np.testing.assert_array_equal
def near(a, b, rtol=1e-9):
    np.testing.assert_allclose(a, b, rtol)
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, run_python, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(HEAD + PROGRAMS[name])
    run_python(str(path), LANEWISE_TARGET="cpu", LANEWISE_NO_CUDA="1")


# ---- one by one ----


@pytest.fixture
def host():
    with lw.config(target="cpu"):
        yield


@pytest.fixture
def nowhere(monkeypatch):
    """There is no driver, and the setting is the default."""
    if cuda.is_available():
        pytest.skip("there is a GPU")
    with lw.config(target="auto"):
        yield


def test_the_setting_decides(nowhere):
    with pytest.raises(errors.DriverError, match="LANEWISE_TARGET=cpu runs the program on the CPU"):
        cuda.to_device([1])
    assert not cuda.is_available() and not cuda.is_cuda_array(np.ones(3))
    with lw.config(target="cpu"):
        d = cuda.to_device([1])
        assert cuda.is_available() and cuda.is_cuda_array(d) and not cuda.is_cuda_array(np.ones(3))
    with pytest.raises(errors.DriverError, match="LANEWISE_TARGET=cpu"):
        cuda.stream()
    assert d.copy_to_host().tolist() == [1]
    with lw.config(target="parallel"):
        assert len(cuda.gpus) == 1
    with pytest.raises(errors.DriverError):
        len(cuda.gpus)


@pytest.mark.parametrize("a", [np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3)), np.float32(3), np.zeros((0, 2)),
                               np.arange(12)[::2], np.zeros(2, [("a", "i4"), ("b", "f8")]), np.array(["2001-01-01"], "M8[D]")])
def test_copies(host, a):
    a = np.asarray(a)
    d = cuda.to_device(a)
    back = d.copy_to_host()
    assert type(back) is np.ndarray and back.dtype == a.dtype and back.shape == a.shape and (back == a).all()
    assert not np.shares_memory(np.asarray(d), a) and not np.shares_memory(np.asarray(d), back) and back.flags.f_contiguous == d.flags.f_contiguous
    like = cuda.device_array_like(a)
    like.copy_to_device(d)
    assert (like.copy_to_host() == a).all() and like.is_c_contiguous() == d.is_c_contiguous() and like.is_f_contiguous() == d.is_f_contiguous()
    assert cuda.to_device(d) is d and cuda.as_cuda_array(d) is d
    again = pickle.loads(pickle.dumps(d))
    assert type(again) is type(copy.deepcopy(d)) is type(d) and (again.copy_to_host() == a).all()
    target = np.zeros_like(a)
    assert d.copy_to_host(target, stream=cuda.stream()) is target and (target == a).all()
    assert cuda.to_device(a, to=like) is like and cuda.to_device(a, copy=False).shape == a.shape


def test_is_a_device_array(host):
    device = cuda.to_device(np.arange(3.0))
    for array in (device, device[1:], device + 1, device.copy(), cuda.device_array(2)):
        assert isinstance(array, cuda.DeviceArray)
    assert not isinstance(np.zeros(2), cuda.DeviceArray)
    assert not isinstance(device.copy_to_host(), cuda.DeviceArray)


def test_fresh_memory_is_no_zeros(host):
    for a in (cuda.device_array(5), cuda.device_array((2, 3), lw.float32, order="F"), cuda.pinned_array(4, "i2"), cuda.mapped_array(3),
              cuda.device_array(4, "i4", strides=-8)):
        assert set(a.tobytes() if type(a) is np.ndarray else np.asarray(a).tobytes()) == {0xCD}
    assert cuda.device_array((2, 3), strides=(8, 16)).strides == (8, 16) and cuda.device_array((2, 3), order="F").is_f_contiguous()


def test_what_a_device_array_refuses(host):
    d = cuda.to_device([3.0, 1.0, 2.0])
    for name in ("resize", "data", "byteswap", "flat", "tofile", "get", "cpu", "numpy"):
        assert not hasattr(d, name)
        with pytest.raises(AttributeError, match=f"a DeviceArray has no '{name}': call copy_to_host"):
            getattr(d, name)
    for call in (np.linalg.eig, np.linalg.eigvals, lambda a: np.geomspace(a, 9)):
        with pytest.raises(TypeError, match="does not take a DeviceArray: call copy_to_host"):
            call(d)
    for index in (True, np.True_, 1.5, object()):
        for use in (lambda: d[index], lambda: d.__setitem__(index, 0)):
            with pytest.raises(IndexError, match="are valid indices of a device array, got (bool|float|object)"):
                use()
    with pytest.raises(TypeError, match="unhashable"):
        hash(d)
    assert np.sum(d) == 6 and np.shape(d) == (3,) and np.reshape(d, (3, 1)).copy_to_host().shape == (3, 1)
    for name in {name for name in dir(cuda.DeviceArray) if name.startswith("__") or not name.startswith("_")}:
        # the last five are there to say what to write, and are an AttributeError on devices, too
        assert hasattr(d.reshape(1, 3), name) or name in ("__cuda_array_interface__", "__dlpack_c_exchange_api__", "get", "cpu", "numpy", "flat", "tofile"), name


def test_reductions(host):
    d = cuda.to_device(np.array([[3, 0, 1], [2, 9, 9]], "i4"))
    for result in (d.sum(), np.sum(d), np.max(d), d.argmax(), np.mean(d), np.std(d), np.count_nonzero(d), d.any()):
        assert type(result) is type(d) and result.shape == ()
    assert d.sum() == 24 and np.max(d) == 9 and d.argmax() == 4 and np.count_nonzero(d) == 5 and np.all(d, axis=0).tolist() == [True, False, True]
    assert np.cumsum(d, axis=1).tolist() == [[3, 3, 4], [2, 11, 20]] and np.var(d, axis=0, ddof=1).tolist() == [0.5, 40.5, 32.0]
    total = lw.reduce(lambda a, b: a + b)
    for result in (total(d), np.add.reduce(d, axis=None), lw.add.reduce(d, axis=None), total(d, axis=1)[0:1], total.accumulate(d), total.reduceat(d, [0, 1])):
        assert type(result) is type(d)
    for keys, sums in (total.by_key(cuda.to_device([1, 1, 2]), [1, 2, 3]), total.by_key([1, 1, 2], cuda.to_device([1, 2, 3]))):
        assert type(keys) is type(sums) is type(d) and keys.tolist() == [1, 2] and sums.copy_to_host().tolist() == [3, 3]
    assert total(d) == 24 and total(d).shape == () and total(d, axis=0).tolist() == [5, 9, 10]
    out = cuda.device_array(3, "i8")
    assert np.sum(d, axis=0, out=out, where=[[True], [False]]) is out and out.tolist() == [3, 0, 1]


def test_methods(host):
    d = cuda.to_device(np.arange(6).reshape(2, 3))
    assert repr(d) == "HostArray([[0, 1, 2],\n           [3, 4, 5]], dtype=int64)" and str(d) == str(d.copy_to_host())
    assert repr(d[:0]) == "HostArray([], shape=(0, 3), dtype=int64)" and f"{d[1, 2]}" == "5"
    for view in (d.T, d.ravel("C", 0), d[1], d.reshape(3, 2), d.squeeze(None, stream=0), d.view("u1"), d.astype("f4"), d + 1, d == 1, -d):
        assert cuda.is_cuda_array(view) and view.copy_to_host().size == view.size
    d.fill(7, stream=cuda.stream())
    d.setitem((0, 0), 1)
    d[1, 1:] = [8, 9]
    assert d.copy_to_host().tolist() == [[1, 7, 7], [7, 8, 9]] and d.getitem((1, 1)) == 8 and d.device == 0 and d.stream == 0
    with pytest.raises(ValueError, match="value: expected a scalar"):
        d.fill([1, 2, 3])
    with pytest.raises(TypeError, match="ary: expected a NumPy array, got list"):
        d.copy_to_host([1])
    with pytest.raises(ValueError, match="ary: its shape differs"):
        d.copy_to_host(np.empty((3, 2), int))
    with pytest.raises(TypeError, match="ary: expected dtype"):
        d.copy_to_host(np.empty((2, 3), "f4"))
    with pytest.raises(TypeError, match="got HostArray"):
        d.copy_to_host(cuda.device_array_like(d))
    frozen = np.empty((2, 3), int)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="ary: the array is read-only"):
        d.copy_to_host(frozen)


@pytest.mark.parametrize("call, error, text", [
    (lambda: cuda.to_device([1], stream="x"), TypeError, "stream: expected a stream"),
    (lambda: cuda.to_device([None]), TypeError, "holds Python objects"),
    (lambda: cuda.to_device("abc"), TypeError, "expected an array or numbers, got str .dtype <U3"),
    (lambda: cuda.to_device(b"abc"), TypeError, "got bytes .dtype .S3"),
    (lambda: cuda.to_device([1], to=np.ones(1)), TypeError, "to: expected a DeviceArray, got ndarray"),
    (lambda: cuda.device_array(3, order="Z"), ValueError, "order: expected 'C' or 'F'"),
    (lambda: cuda.device_array(3, object), TypeError, "holds Python objects"),
    (lambda: cuda.device_array(-1), ValueError, "negative"),
    (lambda: cuda.device_array((2, 3), strides=(8,)), ValueError, "strides: expected 2"),
    (lambda: cuda.as_cuda_array(np.ones(3)), TypeError, "."),
    (lambda: cuda.select_device(1), errors.DriverError, "there is no CUDA device 1"),
    (lambda: cuda.select_device(True), TypeError, "device_id: expected an int, got bool"),
    (lambda: cuda.current_context(-1), errors.DriverError, "there is no CUDA device -1"),
    (lambda: cuda.gpus[1], IndexError, "there is no CUDA device 1"),
    (lambda: cuda.gpus[0].__exit__(None, None, None), RuntimeError, "not entered"),
    (lambda: cuda.gpus[0].CLOCK_RATE, AttributeError, "the CPU has no CLOCK_RATE"),
    (lambda: cuda.gpus[0].nonsense, AttributeError, "nonsense"),
    (lambda: cuda.event().elapsed_time(cuda.event()), errors.DriverError, "recorded"),
    (lambda: cuda.event(timing=False).elapsed_time(cuda.event()), ValueError, "the first one was made without"),
    (lambda: cuda.event_elapsed_time(1, 2), TypeError, "event: expected an Event, got int"),
    (lambda: cuda.stream().record(3), TypeError, "event: expected an Event, got int"),
    (lambda: cuda.stream().wait("x"), TypeError, "stream: expected a stream"),
    (lambda: cuda.external_stream(1.5), TypeError, "ptr: expected a stream handle"),
    (lambda: cuda.pinned([1]).__enter__(), TypeError, "arrays: expected NumPy arrays, got list"),
    (lambda: cuda.mapped(np.array([None])).__enter__(), TypeError, "holds Python objects"),
])
def test_bad_input(host, call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_streams(host):
    a, b = cuda.stream(blocking=False, priority=1), cuda.stream()
    assert a == a != b and hash(a) == hash(a) and int(a) == a.handle and a.query() and a.device == 0
    assert cuda.default_stream() == cuda.default_stream() != cuda.per_thread_default_stream() and cuda.external_stream(77).handle == 77
    event = a.record()
    b.wait(event)
    b.wait(a)
    assert event.query() and a.record(event) is event
    with a.auto_synchronize() as inside:
        assert inside is a
    assert "CPU" in repr(a) and "CPU" in repr(cuda.default_stream()) and "CPU" in repr(cuda.gpus) and "CPU" in repr(cuda.current_context())
    cuda.current_context().synchronize(), cuda.current_context().trim(), cuda.get_current_device().synchronize()
    assert set(cuda.current_context().pool_statistics().values()) == {0}


def test_arrays_tell_their_stream(host):
    a, b = cuda.stream(), cuda.stream()
    made = [cuda.device_array(3, stream=a), cuda.to_device([1, 2], stream=a), cuda.to_device(np.arange(3), a, copy=False),
            cuda.device_array_like(np.zeros(3), stream=a), cuda.to_device([1]).bind(a)]
    assert all(array.stream == a != b for array in made)
    assert made[0].bind(b).stream == b and made[0].stream == a
    assert cuda.device_array(3).stream == 0 and made[0].bind(None).stream == 0


def test_device_has_what_a_device_has(host):
    device = cuda.get_current_device()
    absent = {name for name in dir(cuda.Device) if not hasattr(device, name)}
    assert absent == {"CLOCK_RATE", "MEMORY_CLOCK_RATE", "GLOBAL_MEMORY_BUS_WIDTH", "L2_CACHE_SIZE", "PCI_DOMAIN_ID", "PCI_BUS_ID", "PCI_DEVICE_ID"}
    assert device.MULTIPROCESSOR_COUNT >= 1 and device.name in lw.info()["cpu"] and {device: 1}[device] == 1 and device != 1


def test_forall_and_wrappers(host):
    @lw.forall
    def triple(i, x, out):
        out[i] = 3 * x[i]

    @cuda.jit
    def add(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] + y[i]

    d, out = cuda.to_device(np.arange(5.0)), cuda.device_array(5)
    triple(5, d, out, stream=cuda.stream())
    assert out.copy_to_host().tolist() == [0, 3, 6, 9, 12]
    add[1, 32, cuda.stream()](cuda.In(d), cuda.InOut(out), cuda.Out(out))
    assert out.copy_to_host().tolist() == [0, 4, 8, 12, 16]
    mapped = cuda.mapped_array(5)
    add[1, 32](d, d, mapped)
    assert mapped.tolist() == [0, 2, 4, 6, 8] and cuda.is_cuda_array(mapped) and type(mapped + 1) is np.ndarray
    assert np.shares_memory(np.asarray(cuda.as_cuda_array(mapped)), mapped)
    with cuda.mapped(np.zeros(2), np.ones(3)) as both:
        assert len(both) == 2 and cuda.is_cuda_array(both[1])
    states = random.create_xoroshiro128p_states(3, seed=1)
    assert cuda.is_cuda_array(states) and states.copy_to_host()["s0"].tolist() == _states_of_the_host(3)
    random.init_xoroshiro128p_states(states, 2)
    assert states.copy_to_host()["s0"].tolist() != _states_of_the_host(3)


def test_exchange(host):
    d = cuda.to_device(np.arange(3.0))
    assert cuda.from_dlpack(d) is d and not np.shares_memory(np.asarray(cuda.from_dlpack(d, copy=True)), np.asarray(d))
    a = np.arange(3.0)
    view = cuda.from_dlpack(a)
    assert cuda.is_cuda_array(view) and np.shares_memory(np.asarray(view), a)
    assert not np.shares_memory(np.asarray(cuda.from_dlpack(a, copy=True)), a)
    with pytest.raises(TypeError, match="expected an array with __dlpack__, got int"):
        cuda.from_dlpack(3)


def test_the_keyword_cuda_is_the_cpu_too(host):
    def triple(i, x):
        x[i] *= 3

    @cuda.jit(target="cuda")
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    d = cuda.to_device(np.arange(3.0))
    double[1, 32](d)
    lw.forall(target="cuda")(triple)(3, d)
    assert lw.vectorize(lambda x: x + 1, target="cuda")(d).copy_to_host().tolist() == [1, 7, 13]


def _states_of_the_host(n):
    states = np.empty(n, random.xoroshiro128p_dtype)
    random.init_xoroshiro128p_states_cpu(states, 1)
    return states["s0"].tolist()


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'$"):
        cuda.nonsense


def test_bind_names_the_stream():
    with lw.config(target="cpu"):
        d, stream = cuda.to_device(np.arange(3.0)), cuda.stream()
        assert d.bind(stream).stream == stream and d.bind(5).stream == 5 and d.bind().stream == d.stream == 0


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "u1", "?", "c16"])
@pytest.mark.parametrize("special", [[], [0.0, -0.0], [np.nan, -np.nan], [np.inf, -np.inf]])
def test_many_numbers_are_sorted_with_the_bits_of_a_stable_sort(host, axis, dtype, special):
    x = np.random.default_rng(1).integers(-20, 20, (40, 30)).astype("f8")
    x.ravel()[:400] = np.resize(special or [1.0], 400)
    with np.errstate(invalid="ignore"):
        x = np.random.default_rng(2).permuted(x).astype(dtype)
    d = cuda.to_device(x)
    d.sort(axis)
    assert d.copy_to_host().tobytes() == np.sort(x, axis, kind="stable").tobytes()
    assert np.sort(cuda.to_device(x), axis).copy_to_host().tobytes() == np.sort(x, axis, kind="stable").tobytes()


def test_masks_are_not_lost_beside_device_arrays(cpu):
    d, m = cuda.to_device(np.ones(3)), np.ma.array([1.0, 2, 3], mask=[0, 1, 0])
    add = lw.vectorize(lambda x, y: x + y)
    for f in (lambda: lw.add(d, m), lambda: lw.add(m, d), lambda: add(d, m), lambda: add.outer(d, m), lambda: d.__setitem__(slice(None), m),
              lambda: lw.add(d, d, out=d, where=np.ma.array([True, False, True], mask=[0, 0, 1]))):
        with pytest.raises(TypeError, match="masked array, whose mask compiled code would ignore"):
            f()
    assert (add(m, 1.0).mask == m.mask).all() and (d.copy_to_host() == 1).all()


BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lt", "le", "gt", "ge", "eq", "ne", "and_", "or_", "xor", "lshift", "rshift")
IN_PLACE = tuple("i" + name.rstrip("_") for name in BINARY if name not in ("lt", "le", "gt", "ge", "eq", "ne"))


@pytest.mark.parametrize("name", BINARY + IN_PLACE)
def test_no_operator_loses_a_mask(cpu, name):
    """A stand-in's operator refuses a masked array, as a DeviceArray's does; the masked array's own operator keeps its mask."""
    x, m = np.array([1, 2, 3]), np.ma.array([1, 1, 2], mask=[0, 1, 0])
    d, f = cuda.to_device(x), getattr(operator, name)
    for other in (m, np.ma.array([1, 1, 2]), np.ma.masked):
        with pytest.raises(TypeError, match="argument 2 is a masked array, whose mask compiled code would ignore; pass its .data"):
            f(d, other)
    assert d.copy_to_host().tolist() == [1, 2, 3]
    for made in (cuda.mapped_array(3, int), cuda.managed_array(3, int), cuda.pinned_array(3, int)):
        made[...] = x
        if name not in IN_PLACE + ("matmul",):
            np.testing.assert_array_equal(np.ma.getmaskarray(f(made, m)), m.mask)
            np.testing.assert_array_equal(np.ma.getmaskarray(f(m, made)), m.mask)
    if name in ("add", "sub", "mul", "truediv", "floordiv", "pow", "lt", "le", "gt", "ge", "eq", "ne"):  # which masked arrays have of their own
        np.testing.assert_array_equal(np.ma.getmaskarray(f(m, d)), m.mask)
    elif name in BINARY:
        with pytest.raises(TypeError, match="argument 1 is a masked array"):
            f(m, d)


def test_no_function_of_numpy_loses_a_mask(cpu):
    x, m = np.array([1.0, 2.0, 3.0]), np.ma.array([1.0, 1.0, 2.0], mask=[0, 1, 0])
    d, out = cuda.to_device(x), cuda.to_device(np.zeros(3))
    for f in (lambda: np.add(d, m), lambda: np.add(m, d), lambda: np.add(x, m, out=out), lambda: np.add(x, 1, out=out, where=m > 1), lambda: np.add(d, 1, out=m.copy()),
              lambda: np.add.outer(d, m), lambda: np.add.at(out, slice(None), m), lambda: np.where(d > 1, m, 0), lambda: np.concatenate([d, m]), lambda: np.stack([d, m]),
              lambda: np.dot(d, m), lambda: d.dot(m), lambda: np.copyto(out, m), lambda: d.searchsorted(m), lambda: out.put([0], m[:1]), lambda: np.clip(d, m, None),
              lambda: np.isclose(d, m), lambda: np.array_equal(d, m), lambda: np.cross(d, m), lambda: np.einsum("i,i", d, m), lambda: out.fill(np.ma.masked),
              lambda: np.add.reduce(d, where=m > 1), lambda: np.block([[d, m]]), lambda: np.block([[[d]], [[m]]]), lambda: np.apply_along_axis(lambda row: m, 0, d)):
        with pytest.raises(TypeError, match="is a masked array, whose mask compiled code would ignore"):
            f()
    assert d.copy_to_host().tolist() == [1, 2, 3] and out.copy_to_host().tolist() == [0, 0, 0]


def test_no_index_and_no_copy_loses_a_mask(cpu):
    x, places = np.array([1.0, 2.0, 3.0]), np.ma.array([0, 1, 2], mask=[0, 1, 0])
    d = cuda.to_device(x)

    def mapped():
        with cuda.mapped(np.ma.array(x, mask=[0, 1, 0])):
            pass

    for f in (lambda: d[places], lambda: d[places > 0], lambda: d[None, places], lambda: d.__setitem__(places, 9), lambda: d.__setitem__(places > 0, 9), lambda: d.take(places),
              lambda: np.take(d, places), mapped, lambda: lw.reduce(lambda a, b: a + b).reduceat(x, places), lambda: lw.reductions.sum([x, places])):
        with pytest.raises(TypeError, match="is a masked array, whose mask compiled code would ignore; pass its .data"):
            f()
    with pytest.raises(TypeError, match="ary: expected a NumPy array, got MaskedArray"):
        d.copy_to_host(np.ma.array(x))
    assert d.copy_to_host().tolist() == [1, 2, 3]


def test_what_numpy_makes_of_a_masked_array_and_a_stand_in(cpu):
    """A masked array that comes first answers for NumPy's functions, as beside a NumPy array: the result is no device array that has lost a mask."""
    x, m = np.array([1.0, 2.0, 3.0]), np.ma.array([1.0, 5.0, 2.0], mask=[0, 1, 0])
    d = cuda.to_device(x)
    for f in (lambda a: np.concatenate([m, a]), lambda a: np.stack([m, a]), lambda a: np.append(m, a), lambda a: np.block([m, a]), lambda a: np.dot(m.reshape(1, 3), a)):
        made, expected = f(d), f(x)
        assert type(made) is np.ma.MaskedArray and type(made.data) is np.ndarray
        np.testing.assert_array_equal(made.data, expected.data)
        np.testing.assert_array_equal(np.ma.getmaskarray(made), np.ma.getmaskarray(expected))
    np.testing.assert_array_equal(np.ma.concatenate([d, m]).mask, [0, 0, 0, 0, 1, 0])


def test_ufuncs_of_numpy_give_stand_ins(cpu):
    """The results have the stand-in's class, also without axes, and so have outputs that were given."""
    x = np.arange(6.0).reshape(2, 3) + 1
    d, one, out = cuda.to_device(x), cuda.to_device(np.array(3.0)), cuda.device_array((2, 3))
    where = cuda.to_device(np.array([True, False, True]))
    for made, expected in ((d + x, x + x), (x + d, x + x), (1 + one, 4.0), (np.modf(d)[1], x), (divmod(d, 2)[0], x // 2), (np.add.accumulate(d), np.add.accumulate(x)),
                           (np.add.outer(d, x), np.add.outer(x, x)), (np.add.reduce(d, axis=None), x.sum()), (np.add(d, 1, dtype="f4"), x.astype("f4") + 1)):
        assert isinstance(made, cuda.DeviceArray) and made.dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(made.copy_to_host(), expected)
    out.fill(0)
    assert np.add(d, 1, out=out, where=where) is out and out.copy_to_host().tolist() == [[2, 0, 4], [5, 0, 7]]
    assert np.add(d, 1, out) is out and (out.copy_to_host() == x + 1).all()
    first, second = np.frexp(d, out=(out, None))
    assert first is out and isinstance(second, cuda.DeviceArray)
    plain = np.empty((2, 3))
    assert np.add(d, 1, out=plain) is plain and type(np.add(d, 1, subok=False)) is np.ndarray
    np.add.at(out, (0, 0), 5.0)
    assert out.copy_to_host()[0, 0] == 5.5
    d += 1
    assert isinstance(d, cuda.DeviceArray) and (d.copy_to_host() == x + 1).all()


def test_operands_of_other_libraries_answer_beside_stand_ins(cpu):
    x = np.array([1, 2, 3])
    d = cuda.to_device(x)
    pd, xr, da = pytest.importorskip("pandas"), pytest.importorskip("xarray"), pytest.importorskip("dask.array")
    for other in (pd.Series([1, 1, 2]), xr.DataArray([1, 1, 2], dims="t")):
        for f in (operator.add, operator.mul, operator.lt, operator.pow):
            for made, expected in ((f(d, other), f(x, other)), (f(other, d), f(other, x))):
                assert type(made) is type(expected)
                np.testing.assert_array_equal(np.asarray(made), np.asarray(expected))
    missing = pd.Series([1, None, 2], dtype="Int64")
    assert (d + missing).isna().tolist() == [False, True, False] and (missing + d).isna().tolist() == [False, True, False]
    np.testing.assert_array_equal((d + da.from_array(x, chunks=2)).compute(), x + x)
    with pytest.raises(TypeError, match="is a masked array"):
        (d + da.from_array(np.ma.array(x, mask=x > 1), chunks=2)).compute(scheduler="synchronous")


def test_overrides_of_settings_can_be_entered_again(cpu):
    override = lw.config(target="python")
    for _ in range(2):
        with override, override:
            assert lw.config.target == "python"
    assert lw.config.target == "cpu"

    @override
    def inside():
        return lw.config.target

    assert inside() == inside() == "python" and lw.config.target == "cpu"
    with pytest.raises(ValueError), lw.config(log=1, target="nothing"):
        pass
    assert lw.config.log == 0


def test_what_programs_for_numba_ask_of_contexts_and_functions(cpu):
    context = cuda.current_context()
    context.deallocations.clear()
    assert len(context.deallocations) == 0
    options = lw.jit(fastmath=True)(lambda x: x).targetoptions
    assert options["fastmath"] is True and options["nopython"] and not cuda.jit(lambda x: None).targetoptions["fastmath"]
