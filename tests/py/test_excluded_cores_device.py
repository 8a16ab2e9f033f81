"""@guvectorize with excluded= and static= on device arrays, against the host side. On the fake driver kernels run
on the simulator."""

import warnings

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_kernels
from lanewise import cuda, random

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("simulated"), pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")]


@lw.guvectorize("(n)->(n)", excluded="table", static="times")
def look_up(x, table, y, times=1):
    for i in range(x.shape[0]):
        y[i] = table[int(x[i])] * times + len(table)


@lw.guvectorize("(n),()->()", excluded=("weights",))
def weighted(x, weights, bias):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * weights[i, 0]
    return total + bias


@lw.guvectorize("(n)->(n)", excluded="seen", writable_args=("x",))
def mark(x, seen, y):
    for i in range(x.shape[0]):
        y[i] = x[i] + 1
        seen[int(x[i])] += 1
        x[i] = 0


TABLE = np.arange(10.0) ** 2


def items(*shape):
    return np.arange(int(np.prod(shape))).reshape(shape) % 10.0


@pytest.mark.parametrize("shape", [(3,), (5, 3), (0, 3), (3000, 2), (2, 7, 4)])
def test_small_cores(shape):
    x = items(*shape)
    for table in (cuda.to_device(TABLE), TABLE):
        result = look_up(cuda.to_device(x), table)
        assert isinstance(result, cuda.DeviceArray)
        np.testing.assert_array_equal(result.copy_to_host(), look_up(x, TABLE))
    np.testing.assert_array_equal(look_up(cuda.to_device(x), TABLE, 3).copy_to_host(), look_up(x, TABLE, 3))


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_table_of_two_dimensions(order):
    x, weights = items(40, 3), np.asarray(items(3, 2), order=order)
    result = weighted(cuda.to_device(x), cuda.to_device(weights), 0.5)
    np.testing.assert_allclose(result.copy_to_host(), weighted(x, weights, 0.5))


def test_large_cores_are_shared_by_a_block():
    x, weights = items(2, 500), items(500, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it spreads: no warning of one thread for each
        result = weighted(cuda.to_device(x), cuda.to_device(weights), 0.5)
        looked = look_up(cuda.to_device(x), cuda.to_device(TABLE))
    np.testing.assert_allclose(result.copy_to_host(), weighted(x, weights, 0.5))
    np.testing.assert_array_equal(looked.copy_to_host(), look_up(x, TABLE))


def test_the_table_takes_the_call_to_the_device():
    x, table = items(6, 3), cuda.to_device(TABLE)
    result = look_up(x, table)
    assert isinstance(result, cuda.DeviceArray)
    np.testing.assert_array_equal(result.copy_to_host(), look_up(x, TABLE))


def test_outputs():
    x, table, out = cuda.to_device(items(6, 3)), cuda.to_device(TABLE), cuda.device_array((6, 3))
    assert look_up(x, table, out=out) is out
    np.testing.assert_array_equal(out.copy_to_host(), look_up(items(6, 3), TABLE))
    assert look_up(x, table, 2, out) is out
    with pytest.raises(ValueError, match="shares memory with excluded argument `table`"):
        look_up(cuda.to_device(items(10)), table, out=table)


def test_what_is_written_comes_back():
    x, seen = items(10), np.zeros(10, np.int64)
    device = cuda.to_device(x)
    result = mark(device, seen)  # a host array: copied there and back
    np.testing.assert_array_equal(result.copy_to_host(), x + 1)
    np.testing.assert_array_equal(device.copy_to_host(), 0 * x)
    np.testing.assert_array_equal(seen, 1)


@needs_kernels
def test_forced_to_the_device():
    forced = lw.guvectorize("(n)->(n)", excluded="table", static="times", target="cuda")(look_up.py_func)
    np.testing.assert_array_equal(forced(items(6, 3), TABLE, 2), look_up(items(6, 3), TABLE, 2))


@needs_kernels
def test_random_states():
    @lw.guvectorize("(),(n)->(n)", excluded="states")
    def noise(row, x, states, out):
        for i in range(x.shape[0]):
            out[i] = x[i] + random.xoroshiro128p_uniform_float64(states, row)

    states = random.create_xoroshiro128p_states(100, seed=7)
    host = states.copy_to_host()
    rows, x = np.arange(100), np.zeros((100, 5))
    result = noise(cuda.to_device(rows), cuda.to_device(x), states)
    np.testing.assert_array_equal(result.copy_to_host(), noise(rows, x, host))
    np.testing.assert_array_equal(states.copy_to_host(), host)


def test_no_device_for_the_cpu():
    made = lw.guvectorize("(n)->(n)", excluded="table", static="times", target="cpu")(look_up.py_func)
    with pytest.raises(TypeError, match='target="cpu" and got a device array'):
        made(items(3), cuda.to_device(TABLE))
