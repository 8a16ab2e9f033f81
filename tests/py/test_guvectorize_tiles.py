"""Bodies on the device whose loops stay one thread's, with their cores in shared memory, against the host side
of the same function."""

import numpy as np
import pytest

import lanewise as lw
from gufunc_checks import check, data
from lanewise import cuda

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("simulated"), pytest.mark.filterwarnings("ignore::lanewise.errors.PerformanceWarning"),
              pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")]


@lw.guvectorize("(n)->(n)")
def smooth(x, y):
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] + x[i] * x[i - 1]


@lw.guvectorize("(n)->()")
def first_nine(x):
    for i in range(x.shape[0]):
        if x[i] == 9:
            return i
    return -1


@lw.guvectorize("(n),(m)->(n),(m)", writable_args=("x",))
def insert(x, other, y, z):
    for i in range(1, x.shape[0]):
        j = i
        while j > 0 and x[j - 1] > x[j]:
            kept = x[j]
            x[j] = x[j - 1]
            x[j - 1] = kept
            j -= 1
    for i in range(x.shape[0]):
        y[i] = x[x.shape[0] - 1 - i] + other[0]
    for j in range(other.shape[0] - 1):
        z[j + 1] = other[j]
        z[j] = other[j + 1] if j % 2 else other[j]


@lw.guvectorize("(n)->(n)")
def some(x, y):
    i = 0
    while i < x.shape[0]:
        y[i] = x[i]
        i += 3


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "bool", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 40), (5, 129), (3, 4, 33), (400, 17), (260, 64)])
def test_tiles(shape, dtype):
    if dtype == "bool" or dtype[0] == "c" and shape[0] > 5:
        shape = (3, 20)
    check(smooth, data(shape, dtype, 1))
    if dtype[0] != "c":
        check(first_nine, data(shape, dtype, 2, 0, 10))


@pytest.mark.parametrize("items", [1, 7, 8, 9, 70])
@pytest.mark.parametrize("n,m", [(20, 2), (33, 41), (18, 200)])
def test_inputs_that_are_written(items, n, m):
    check(insert, data((items, n), "int32", 1), data((items, m), "int16", 2))


def test_what_is_left_alone_stays():
    x = data((40, 50), "float32")
    out = cuda.to_device(np.full(x.shape, 7, "float32"))
    some(cuda.to_device(x), out)
    want = np.full(x.shape, 7, "float32")
    want[:, ::3] = x[:, ::3]
    np.testing.assert_array_equal(out.copy_to_host(), want)


def test_cores_that_do_not_fit():
    """The first operands that fit are copied to shared memory, the others are not."""
    check(smooth, data((2, 5000), "float64"))   # x fits, y does not
    check(smooth, data((2, 7000), "float64"))   # neither
    check(smooth, data((1025, 18), "float64"))  # many items
    x = data((1030, 1100), "int8", 0, 0, 9)
    x[::3, 700] = 9
    check(first_nine, x)
    np.testing.assert_array_equal(smooth(cuda.to_device(data((1030, 700), "float64"))).copy_to_host()[:5],
                                  smooth(data((1030, 700), "float64"))[:5])


def test_views():
    x = data((30, 4, 40), "float64", 3)
    device = cuda.to_device(x)
    for view in (lambda a: a[::2], lambda a: a[::-1, 1:3], lambda a: a.transpose(1, 0, 2), lambda a: a[..., ::2],
                 lambda a: a.transpose(2, 1, 0)):
        np.testing.assert_array_equal(smooth(view(device)).copy_to_host(), smooth(view(x)))


def test_one_core_for_all():
    x, y = data((1, 40), "int32", 1), data((30, 40), "int16", 2)

    @lw.guvectorize("(n),(n)->()")
    def until(a, b):
        for i in range(a.shape[0]):
            if a[i] == b[i]:
                return i
        return -1

    got = until(cuda.to_device(x), cuda.to_device(y)).copy_to_host()
    np.testing.assert_array_equal(got, until(x, y))
