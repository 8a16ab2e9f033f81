"""Linear recurrences, and loops that read what the iteration before has written, shared by a block, against the host side of the same
function."""

import time

import numpy as np
import pytest

import lanewise as lw
from gufunc_checks import ALONE, SHARED, check, data, mapping
from lanewise import cuda

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("simulated"), pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")]


@lw.guvectorize("(n),(n)->(n)")
def recurrence(a, b, y):
    y[0] = b[0]
    for i in range(1, len(a)):
        y[i] = a[i] * y[i - 1] + b[i]


@lw.guvectorize("(n),(n)->(n)")
def by_variable(a, b, y):
    s = a[0] - a[0]
    for i in range(len(a)):
        s = a[i] * s + b[i]
        y[i] = s


@lw.guvectorize("(n),()->(n),()")
def smoothed(x, alpha, y, last):
    s = x[0]
    for i in range(len(x)):
        s += (x[i] - s) * alpha
        y[i] = s
    last[0] = s


@lw.guvectorize("(n),(n)->(n)")
def by_cases(a, b, y):
    s = a[0]
    n = 0
    for i in range(len(a)):
        if b[i] > 0:
            s = s / 2 - b[i]
            n += 1
        else:
            s = a[i] - s * a[i]
            s = -s
        y[i] = s if s > 0 else n * s


@lw.guvectorize("(n),(n)->(n)")
def from_the_last(a, b, y):
    for i in range(len(a)):
        y[i] = b[i]
    for i in range(len(a)):
        y[i] = a[i] * y[i - 1] + b[i]  # y[-1] at first


@lw.guvectorize("(n)->(n)")
def twice_previous(x, y):
    y[:] = x
    for i in range(len(x) - 1):
        y[i + 1] = y[i + 1] + 0.5 * y[i] - y[i] * 0.25


FUNCTIONS = [recurrence, by_variable, smoothed, by_cases, from_the_last, twice_previous]


def arguments(function, shape, dtype):
    rng = np.random.default_rng(shape[1])
    a, b = rng.uniform(-0.99, 0.99, shape).astype(dtype), rng.normal(size=shape).astype(dtype)
    return (b, np.dtype(dtype).type(0.1)) if function is smoothed else (a, b)[:function.nin]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-12), ("float32", 1e-3)])
def test_recurrences(function, dtype, tolerance):
    for shape in [(3, 64), (2, 1025)] if dtype == "float64" else [(2, 100), (2049, 65)]:
        x = arguments(function, shape, dtype)
        got, want = function(*(cuda.to_device(v) if isinstance(v, np.ndarray) else v for v in x)), function(*x)
        for g, w in zip(got, want) if isinstance(want, tuple) else [(got, want)]:
            np.testing.assert_allclose(g.copy_to_host(), w, rtol=tolerance, atol=tolerance)
    letter = "d" if dtype == "float64" else "f"
    assert mapping(function, letter * function.nin + "->" + letter * function.nout) == SHARED


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_wrap_around_as_on_one_thread(dtype):
    a, b = data((3, 700), dtype, low=-1000, high=1000), data((3, 700), dtype, seed=1)
    check(by_variable, a, b)
    check(recurrence, a, b)


@pytest.mark.parametrize("function", [recurrence, by_variable])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_that_overflow(function, dtype):
    """The product of the factors is infinite, or 0 times infinity: the result is then what one thread alone would have computed."""
    a, b = np.full((5, 3000), 1.5, dtype), np.zeros((5, 3000), dtype)
    b[1, 7] = 1  # overflows
    b[2, 2900] = 1
    a[3, 100], b[3, 1] = np.inf, 1
    a[3, 1500], a[4] = 0, np.nan
    with np.errstate(all="ignore"):
        want = function(a, b)
    got = function(cuda.to_device(a), cuda.to_device(b)).copy_to_host()
    np.testing.assert_allclose(got, want, rtol=1e-4)
    assert np.isinf(want[1]).any() and (want[0] == 0).all() and np.isnan(want[3]).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinite_values_stay_infinite(dtype):
    """A product of factors that becomes 0 by underflow says nothing about an infinite value."""
    a, b = np.full((2, 5000), 0.5, dtype), np.ones((2, 5000), dtype)
    b[0, 10], b[1, 4000] = np.inf, -np.inf
    np.testing.assert_array_equal(by_variable(cuda.to_device(a), cuda.to_device(b)).copy_to_host(), by_variable(a, b))


# ---- what one thread would compute exactly ----


@lw.guvectorize("(n),(n)->(n)")
def unstable(a, b, y):
    s = a[0]
    for i in range(len(a)):
        s = 3 * s - 2 * b[i]
        y[i] = s


@lw.guvectorize("(n),(n)->(n)")
def loan(a, b, y):
    s = 2 * a[0]
    for i in range(len(a)):
        s = s * 1.5 - b[i]
        y[i] = s


@lw.guvectorize("(n),(n)->(n)")
def negated(a, b, y):
    s = a[0] - b[0]
    for i in range(len(a)):
        s = -s
        y[i] = s


@lw.guvectorize("(n),(n)->(n)")
def halved(a, b, y):
    s = b[0]
    for i in range(len(a)):
        y[i] = s
        s = s * a[i] + 0
        s = s * 0.5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [64, 2100])
def test_values_that_are_exact_on_one_thread(dtype, n):
    """Factors that grow would enlarge rounding errors; products that underflow would lose large values, and signs of zeros."""
    ones = np.ones((2, n), dtype)
    huge = np.full((2, n), np.finfo(dtype).max / 2)
    for function in (unstable, loan, negated):
        check(function, ones, ones)
        assert mapping(function, "dd->d") == SHARED
    check(halved, ones, huge.astype(dtype))
    check(halved, -ones, ones)
    check(halved, np.where(np.arange(n) % 7 == 3, -0.0, ones).astype(dtype), ones)


def test_small_factors_are_shared_and_accurate():
    """If the product of all factors underflows, the loop is still shared, and as accurate."""
    x = np.random.default_rng(1).uniform(1, 2, (2, 5000))
    got, want = by_variable(cuda.to_device(x / 4), cuda.to_device(x)).copy_to_host(), by_variable(x / 4, x)
    np.testing.assert_allclose(got, want, rtol=1e-15)
    assert (got != want).any()  # one thread would compute the same bits


@lw.guvectorize("(n),(n)->(n),(n),()", warn=False)
def both(a, b, y, z, last):
    s = a[0] - a[0]
    t = s
    for i in range(len(a)):
        s = s + a[i]
        z[i] = t
        t = t * b[i] - s
        y[i] = s
    last[0] = t


@pytest.mark.parametrize("n", [1, 31, 33, 127, 255, 256, 257, 511, 1023, 1025, 2047, 2049, 4095, 4097, 8191, 8192, 8193, 16385, 20001])
def test_ragged_rows_of_several_outputs(n):
    """Some rows are shorter than a step, some consist of whole steps, some have a remainder; there are few rows, or none."""
    for dtype in ("float32", "float64", "int32"):
        for rows in (0, 1, 3):
            a = data((rows, n), dtype, seed=n, low=0, high=3)
            b = np.where(np.arange(n) % 5 == 2, 0, np.where(np.arange(n) % 2, 1, -1)).astype(dtype) * np.ones((rows, 1), dtype)
            host, device = both(a, b), both(cuda.to_device(a), cuda.to_device(b))
            for h, d in zip(host, device):
                np.testing.assert_array_equal(d.copy_to_host(), h)
            x = data((rows, n), dtype, seed=n, low=1, high=5)
            halves = np.full((rows, n), 0.5 if dtype != "int32" else 3, dtype)
            np.testing.assert_allclose(recurrence(cuda.to_device(halves), cuda.to_device(x)).copy_to_host(), recurrence(halves, x),
                                       rtol=1e-5 if dtype == "float32" else 1e-13)


@lw.guvectorize("(n),()->(n)", warn=False)
def guarded(x, back, y):
    s = x[0] - x[0]
    for i in range(len(x)):
        if i >= back:
            s += x[i - back]
        s = s * 0.5 + x[i]
        y[i] = s


def test_elements_that_not_every_iteration_reads():
    """Elements of a later step are prefetched only if each iteration loads them."""
    x = data((2, 20001), low=1)
    for back in (0, 1, 19000):
        np.testing.assert_allclose(guarded(cuda.to_device(x), back).copy_to_host(), guarded(x, back), rtol=1e-13)


# ---- other loops that read the element before ----


@lw.guvectorize("(n)->(n)")
def running_sum(x, y):
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = y[i - 1] + x[i]


@lw.guvectorize("(n)->(n)")
def running_largest(x, y):
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = max(y[i - 1], x[i])


@lw.guvectorize("(n),()->(n)")
def shifted(x, k, y):
    y[:] = x
    for i in range(len(x) - k):
        y[i + k] = y[i + k - 1] + 2


@pytest.mark.parametrize("function", [running_sum, running_largest])
def test_running(function):
    for shape in [(3, 64), (2, 100), (2, 1025), (2049, 65)]:
        check(function, data(shape, seed=shape[1]))
    assert mapping(function, "d->d") == SHARED


@pytest.mark.parametrize("k", [1, 2, 40])
def test_distance_that_is_not_known(k):
    check(shifted, data((3, 100)), k)
    assert mapping(shifted, "dl->d") == SHARED


@lw.guvectorize("(n)->(n)")
def second_order(x, y):
    y[0], y[1] = x[0], x[1]
    for i in range(2, len(x)):
        y[i] = x[i] + 0.5 * y[i - 1] - 0.25 * y[i - 2]


@lw.guvectorize("(n)->(n)")
def squared(x, y):
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = y[i - 1] * y[i - 1] + x[i]


@lw.guvectorize("(n)->(n)")
def sometimes(x, y):
    y[0] = x[0]
    for i in range(1, len(x)):
        if x[i] > 0:
            y[i] = y[i - 1] + 1
        else:
            y[i] = 0


@lw.guvectorize("(n),(n)->(n)")
def skip(a, b, y):
    y[:] = b
    for i in range(1, len(a)):
        if a[i] < 0:
            continue
        y[i] = a[i] * y[i - 1] + b[i]


@lw.guvectorize("(n),(n)->(n)")
def skip2(a, b, y):
    y[:] = b
    for i in range(1, len(a)):
        t = a[i] * y[i - 1] + b[i]
        if a[i] < 0:
            continue
        y[i] = t


@lw.guvectorize("(n),(n)->(n)")
def skip_inside(a, b, y):
    y[:] = b
    for i in range(1, len(a)):
        k = 0
        for j in range(3):
            if a[i] > j:
                continue
            if b[i] > j:
                break
            k += 1
        y[i] = y[i - 1] * 0.5 + k


@pytest.mark.parametrize("n", [64, 700])
def test_iterations_that_end_before_the_store(n):
    """An iteration that ends early leaves an element that is not the previous one; what only an inner loop skips does not matter."""
    a, b = data((3, n), seed=n, low=-1, high=2), data((3, n), seed=1, low=-3, high=4)
    for function in (skip, skip2):
        check(function, a, b)
        assert mapping(function, "dd->d").startswith(ALONE)
    np.testing.assert_allclose(skip_inside(cuda.to_device(a), cuda.to_device(b)).copy_to_host(), skip_inside(a, b), rtol=1e-14)
    assert mapping(skip_inside, "dd->d") == SHARED


RECURRENCE = "def drawn(a, b, y):\n    s = 0.0\n    for i in range(len(a)):\n        t = b[i]\n{}        s = a[i] * s + t\n        y[i] = s\n"
INDEX = "def drawn(a, b, y):\n    for i in range(len(a)):\n        t = i * 0 + 1\n{}        y[i] = y[i - 1] + b[i + t * 0]\n"
FACTOR = "def drawn(a, b, y):\n    s = 0.0\n    for i in range(len(a)):\n        t = s\n{}        s = t + a[i]\n        y[i] = s\n"


@pytest.mark.parametrize("text, line", [(RECURRENCE, "t = t * t + t"), (INDEX, "t = t * t + t"), (FACTOR, "t = t * b[i] + t")])
def test_values_that_are_used_twice(text, line):
    """Each analysis visits a value once, however many paths lead to it: 2 ** 40 here."""
    names, text = {}, text.format(f"        {line}\n" * 40)
    exec(compile(text, "<drawn>", "exec"), {"__builtins__": __builtins__}, names)
    function = lw.guvectorize("(n),(n)->(n)", source=text)(names["drawn"])
    start = time.process_time()
    assert mapping(function, "dd->d")
    assert time.process_time() - start < 5


@lw.guvectorize("(n),(n)->()")
def largest_of_both(x, w):
    m = x[0]
    for i in range(len(x)):
        m = max(m, x[i])
        m = max(m, w[i])  # the length of w is not used
    return m


def test_two_updates_by_arrays_of_one_length():
    check(largest_of_both, data((3, 100)), data((3, 100), seed=1))
    assert mapping(largest_of_both, "dd->d").startswith(ALONE)


@pytest.mark.parametrize("function", [second_order, squared, sometimes])
def test_others_stay_with_one_thread(function):
    x = data((3, 64), low=-2, high=3) / 4
    np.testing.assert_allclose(function(cuda.to_device(x)).copy_to_host(), function(x), rtol=1e-12)
    assert mapping(function, "d->d").startswith(ALONE)
