"""@vectorize with excluded= and static= on device arrays. The fake driver runs no kernels: there, what
a call takes and gives is looked at."""

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_kernels
from lanewise import cuda, random

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")]


@lw.vectorize(excluded=("table",), static=("extra",))
def interpolate(x, table, extra=0.0):
    i = min(int(x), len(table) - 2)
    f = x - i
    return table[i] * (1 - f) + table[i + 1] * f + extra


@lw.vectorize(excluded="t")
def at(i, t, j):
    return t[i, j]


@lw.vectorize(excluded="seen")
def mark(i, seen):
    seen[i] += 1
    return i + 1


TABLE = np.arange(101.0) ** 2


@pytest.mark.parametrize("shape", [(), (1,), (1000,), (0,), (30, 7)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_comes_back(shape, dtype):
    x, table = cuda.to_device(np.full(shape, 2.5, dtype)), cuda.to_device(TABLE.astype(dtype))
    for result in (interpolate(x, table), interpolate(x, table=TABLE.astype(dtype)), interpolate(x, table, 2.0)):
        assert isinstance(result, cuda.DeviceArray)
        assert result.shape == shape
        assert result.dtype == dtype
    assert interpolate.types.count("f->f") <= 4


def test_numbers_and_host_operands_go_where_the_table_is():
    table = cuda.to_device(TABLE)
    assert isinstance(interpolate(2.5, table), cuda.DeviceArray)
    assert interpolate(np.arange(3.0), table).shape == (3,)
    assert interpolate(np.float32(2.5), table).dtype == np.float64


def test_outputs():
    x, table, out = cuda.to_device(np.arange(5.0)), cuda.to_device(TABLE), cuda.device_array(5)
    assert interpolate(x, table, out=out) is out
    assert interpolate(x, table, 1.0, out) is out
    with pytest.raises(ValueError, match="shares memory with excluded argument `table`"):
        interpolate(x, table, out=table[:5])


def test_target_cpu_refuses():
    f = lw.vectorize(excluded="t", target="cpu")(lambda x, t: t[0] + x)
    with pytest.raises(TypeError, match="target=\"cpu\" and got a device array"):
        f(1.0, cuda.to_device(TABLE))


def test_target_cuda_takes_host_arrays():
    f = lw.vectorize(excluded="t", target="cuda")(lambda x, t: t[0] + x)
    assert isinstance(f(np.arange(3.0), TABLE), np.ndarray)
    assert f(np.arange(3.0), cuda.to_device(TABLE)).shape == (3,)
    assert np.shape(f(1.0, TABLE)) == ()
    out = np.empty(3)
    assert f(np.arange(3.0), TABLE, out=out) is out
    assert f(np.arange(3.0), TABLE, where=[True, False, True]).shape == (3,)


@needs_kernels
@pytest.mark.parametrize("n", [1, 31, 1000, 100_003])
def test_values(n):
    x = np.linspace(0, 100, n)
    result = interpolate(cuda.to_device(x), cuda.to_device(TABLE), 1.0)
    np.testing.assert_allclose(result.copy_to_host(), interpolate(x, TABLE, 1.0), rtol=1e-12)
    f = lw.vectorize(excluded="t", target="cuda")(lambda x, t: t[int(x)])
    np.testing.assert_array_equal(f(x, TABLE), TABLE[x.astype(int)])


@needs_kernels
def test_layouts():
    t = np.arange(12.0).reshape(3, 4)
    rows, columns = np.array([[0], [2], [-1]]), np.array([0, 3, -2])
    device = cuda.to_device(t)
    for table, host in ((device, t), (device.T, t.T), (device[::2], t[::2]), (device[:, ::-1], t[:, ::-1])):
        rows_here = rows % host.shape[0]
        result = at(cuda.to_device(rows_here), table, cuda.to_device(columns % host.shape[1]))
        np.testing.assert_array_equal(result.copy_to_host(), host[rows_here, columns % host.shape[1]])


@needs_kernels
def test_writing():
    seen = np.zeros(1000, np.int64)
    on_device = cuda.to_device(seen)
    mark(cuda.to_device(np.arange(1000)), on_device)
    assert (on_device.copy_to_host() == 1).all()
    mark(cuda.to_device(np.arange(1000)), seen)  # a host array comes back
    assert (seen == 1).all()
    lw.vectorize(excluded="seen", target="cuda")(mark.py_func)(np.arange(1000), seen)
    assert (seen == 2).all()


@needs_kernels
def test_random_states():
    @lw.vectorize(excluded="states")
    def draw(i, states):
        return random.xoroshiro128p_uniform_float64(states, i)

    states = random.create_xoroshiro128p_states(500, seed=4)
    host = states.copy_to_host()
    for _ in range(2):
        np.testing.assert_array_equal(draw(cuda.to_device(np.arange(500)), states).copy_to_host(), draw(np.arange(500), host))


def test_masks_stay_on_the_host():
    masked, table, out = np.ma.array([1.0, 2.5, 3.0], mask=[0, 1, 0]), cuda.to_device(TABLE), cuda.to_device(np.zeros(3))
    for f in (lambda: interpolate(masked, table), lambda: interpolate(masked, TABLE, out=out), lambda: interpolate(x=masked, table=table, extra=1.0)):
        with pytest.raises(TypeError, match="interpolate: argument `x` is a masked array, whose mask compiled code would ignore; pass its .data"):
            f()
    for f in (lambda: np.add(np.ones(3), masked, out=out), lambda: np.add(np.ones(3), 1, out=out, where=masked > 1), lambda: np.add(out, masked), lambda: out + masked,
              lambda: np.concatenate([out, masked]), lambda: np.stack([masked, out])):
        with pytest.raises(TypeError, match="is a masked array, whose mask compiled code would ignore"):
            f()
    assert out.copy_to_host().tolist() == [0, 0, 0]
