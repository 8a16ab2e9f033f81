"""Functions of whole arrays in compiled code: sum(row), np.max(m), row.mean(), against Python and NumPy."""

from __future__ import annotations

import builtins
import math

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors

DTYPES = [bool, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32, np.float64]
FUNCTIONS = {
    name: getattr(np, name)
    for name in "sum prod mean var std min max amin amax any all count_nonzero argmin argmax".split()
}


def run(kernel, *args):
    cuda.jit(kernel, target="cpu")[1, 1](*args)


def numbers(dtype, shape=(3, 4)):
    x = np.random.default_rng(1).integers(0, 5, shape)
    return (x - 2 * (np.dtype(dtype).kind in "if")).astype(dtype)


def views(x):
    return [x, x[1], x.T[::-1], x[:, 1], x[1, ::-2], np.repeat(x[None], 2, 0)]


def same(got, expected):
    if expected.dtype.kind in "fc":
        rtol = {2: 2e-3, 4: 1e-6}.get(expected.dtype.itemsize, 1e-14)
        np.testing.assert_allclose(got, expected, rtol=rtol)
    else:
        assert got == expected


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_functions_have_numpys_values_and_types(name):
    f = FUNCTIONS[name]

    def kernel(x, out):
        out[0] = f(x)

    compiled = cuda.jit(kernel, target="cpu")
    for dtype in DTYPES:
        for x in views(numbers(dtype)):
            expected = np.asarray(f(x))
            out = np.zeros(1, expected.dtype)  # a wider result would not go into it (E142)
            compiled[1, 1](x, out)
            same(out[0], expected)


@pytest.mark.parametrize("f", [sum, min, max, any, all], ids=lambda f: f.__name__)
def test_pythons_functions_of_a_row(f):
    def kernel(x, out):
        out[0] = f(x)

    compiled = cuda.jit(kernel, target="cpu")
    for dtype in DTYPES:
        for x in (numbers(dtype)[1], numbers(dtype)[:, 1], numbers(dtype)[2, ::-1]):
            expected = np.sum(x) if f is sum else np.asarray(f(x))  # small integers widen, as np.sum's
            out = np.zeros(1, expected.dtype)
            compiled[1, 1](x, out)
            same(out[0], expected)


@pytest.mark.parametrize("f", [np.sum, np.prod, np.mean, np.var, np.std], ids=lambda f: f.__name__)
def test_complex_numbers(f):
    def kernel(x, out):
        out[0] = f(x)

    for dtype in (np.complex64, np.complex128):
        x = numbers(np.float64).astype(dtype) * (1 - 0.5j)
        expected = np.asarray(f(x))
        out = np.zeros(1, expected.dtype)
        run(kernel, x, out)
        np.testing.assert_allclose(out[0], expected, rtol=1e-5)


def test_nan_is_found_and_kept():
    def kernel(x, out):
        out[:] = np.nan
        out[0] = np.min(x)
        out[1] = np.max(x)
        out[2] = np.argmin(x)
        out[3] = np.argmax(x)
        out[4] = min(x)  # Python's: by position
        out[5] = max(x)

    for x in (np.array([2.0, np.nan, 1, np.nan, 3]), np.array([np.nan, 1.0, 2]), np.array([1.0, np.nan])):
        out = np.zeros(6)
        run(kernel, x, out)
        expected = [np.min(x), np.max(x), np.argmin(x), np.argmax(x), builtins.min(x), builtins.max(x)]
        np.testing.assert_array_equal(out, expected)


def test_methods():
    def kernel(x, out):
        out[0] = x.sum()
        out[1] = x[0].mean()
        out[2] = x.max() - x.min()
        out[3] = x.argmax()
        out[4] = x[:, 1].prod()
        out[5] = 1 if x.any() and not x.all() else 0
        out[6] = x[1].dot(x[2])
        out[7] = x.std(ddof=1)

    x = numbers(np.float64)
    out = np.zeros(8)
    run(kernel, x, out)
    np.testing.assert_allclose(
        out,
        [
            x.sum(), x[0].mean(), x.max() - x.min(), x.argmax(), x[:, 1].prod(), x.any() and not x.all(),
            x[1].dot(x[2]), x.std(ddof=1),
        ],
    )  # fmt: skip


def test_dtype_initial_and_start():
    def kernel(x, out):
        out[0] = np.sum(x, dtype=np.float64)
        out[1] = np.prod(x, initial=3)
        out[2] = sum(x, 0.5)
        out[3] = sum(x, start=2)
        out[4] = x.mean(dtype=np.float64)

    x = np.array([200, 100, 0.25], np.float32)
    out = np.zeros(5)
    run(kernel, x, out)
    np.testing.assert_array_equal(out, [300.25, 15000, 300.75, 302.25, np.mean(x, dtype=np.float64)])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_dot_in_eight_sums(dtype):
    """The number of sums is fixed for each length, whatever the layout is."""

    @lw.njit(warn=False, fma=False)
    def dot(x, y):
        return np.dot(x, y)

    @lw.njit(warn=False, fma=False)
    def rows(m, y):
        return m @ y

    rng = np.random.default_rng(1)
    for n in (0, 1, 7, 8, 9, 16, 23, 100):
        x, y = rng.standard_normal(n).astype(dtype), rng.standard_normal(n).astype(dtype)
        sums = [x.dtype.type(0)] * 8
        for i in range(n - n % 8):
            sums[i % 8] += x[i] * y[i]
        wanted = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
        for i in range(n - n % 8, n):
            wanted += x[i] * y[i]
        assert dot(x, y) == wanted and dot(np.repeat(x, 2)[::2], y) == wanted
        assert rows(np.stack([x, x[::-1]]), y)[0] == wanted


@pytest.mark.parametrize("dtypes", [(np.float32, np.float32), (np.int8, np.int8), (np.float32, np.int64), (bool, bool)])
def test_dot(dtypes):
    def kernel(x, y, out):
        out[0] = np.dot(x, y)

    x, y = numbers(dtypes[0])[0], numbers(dtypes[1])[1, ::-1]
    expected = np.dot(x, y)
    out = np.zeros(1, expected.dtype)
    run(kernel, x, y, out)
    assert out[0] == expected
    with pytest.raises(ValueError, match="lengths"):
        run(kernel, x, y[:2], out)


@pytest.mark.parametrize("f", [min, max, np.min, np.max, np.argmin, np.argmax])
def test_an_empty_array_has_no_least_element(f):
    def kernel(x, out):
        out[0] = f(x)

    with pytest.raises(ValueError, match="empty|zero-size"):
        run(kernel, np.zeros(0), np.zeros(1))


def test_empty_sums():
    def kernel(x, out):
        out[0] = np.sum(x)
        out[1] = np.prod(x)
        out[2] = np.mean(x)
        out[3] = sum(x)
        out[4] = all(x) and not any(x)
        out[5] = np.dot(x, x)

    out = np.zeros(6)
    run(kernel, np.zeros(0), out)
    np.testing.assert_array_equal(out, [0, 1, np.nan, 0, 1, 0])


def test_rows_of_a_gufunc():
    @lw.guvectorize("(n)->(),()")
    def moments(row, mean, spread):
        mean[0] = np.mean(row)
        spread[0] = max(row) - min(row)

    x = np.random.default_rng(2).random((50, 33))
    mean, spread = moments(x)
    np.testing.assert_allclose(mean, x.mean(1))
    np.testing.assert_array_equal(spread, np.ptp(x, 1))


def test_a_table_from_outside_and_a_function_passed_on():
    table = np.array([3, 1, 2])

    def apply(f, row):
        return f(row)

    @lw.vectorize
    def g(x):
        return x + np.max(table) + apply(np.argmin, table) + sum(table)

    assert g(1) == 1 + 3 + 1 + 6


def test_tuples_and_rows_in_one_function():
    """Tuples and numbers are still treated as such where there are rows, too."""

    def kernel(x, out):
        t = (x[0], x[1])
        out[0] = sum(t) + min(t) + max(x) + max(x[0], x[1])
        out[1] = sum(x)

    x = np.array([1.0, 2, 4])
    out = np.zeros(2)
    run(kernel, x, out)
    assert out.tolist() == [3 + 1 + 4 + 2, 7]


@pytest.mark.parametrize("typing", ["weak", "numba"])
def test_numbas_typing(typing):
    def kernel(x, out):
        out[0] = np.sum(x)

    x = np.array([0.1, 0.2, 0.3], np.float32)
    out = np.zeros(1, np.float32)
    cuda.jit(kernel, target="cpu", typing=typing)[1, 1](x, out)
    assert math.isclose(out[0], 0.6, rel_tol=1e-6)


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
def test_gpu_code(target):
    def kernel(x, out):
        out[0] = sum(x[0]) + np.mean(x) + x.max() + np.argmin(x) + np.dot(x[0], x[1]) + np.std(x)

    assert lw.compile(kernel, "void(float32[:, :], float64[:])", target=target)


def sumprod(p, q):
    return builtins.sum(x * y for x, y in zip(p, q))


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
def test_math(dtype):
    products = getattr(math, "sumprod", np.dot)  # Python 3.12 has it

    def kernel(x, y, out):
        out[0] = math.prod(x)
        out[1] = math.prod((x[0], 2, y[1]), start=3)
        out[2] = products(x, y)
        out[3] = math.dist(x, y)
        out[4] = math.dist((x[0], y[0]), (y[1], x[2]))
        out[5] = math.hypot(x[0], x[1], x[2])

    x, y = np.array([3, 2, 1], dtype), np.array([1, 5, 4], dtype)[::-1]
    out = np.zeros(6)
    run(kernel, x, y, out)
    a, b = x.tolist(), y.tolist()
    np.testing.assert_allclose(
        out,
        [math.prod(a), 3 * a[0] * 2 * b[1], sumprod(a, b), math.dist(a, b), math.dist((a[0], b[0]), (b[1], a[2])), math.hypot(*a)],
        rtol=1e-6,
    )  # fmt: skip


def test_math_dist_of_large_numbers_and_of_different_lengths():
    f = lw.vectorize(lambda x: math.dist((x, x), (0.0, 0.0)))
    assert f(1e300) == pytest.approx(math.sqrt(2) * 1e300)

    def kernel(x, y, out):
        out[0] = math.dist(x, y)

    with pytest.raises(ValueError, match="same number of dimensions"):
        run(kernel, np.zeros(2), np.zeros(3), np.zeros(1))
    out = np.zeros(1)
    run(kernel, np.array([100, 3], np.int8), np.array([-100, 3], np.int8), out)
    assert out[0] == 200
    run(kernel, np.array([1, 3], np.uint64), np.array([2, 3], np.uint64), out)
    assert out[0] == 1


def test_blocks_share_the_loops():
    """The loops are in the body, where the code that shares large cores among the threads of a block finds them."""
    def totals(x, out):
        out[0] = sum(x) + np.sum(x)

    def moments(x, out):
        out[0] = np.mean(x) + np.std(x)

    def ends(x, out):
        out[0] = max(x) - np.min(x)

    def length(x, out):
        out[0] = math.sqrt(sum(v * v for v in x)) + np.dot(x, x)

    x = np.random.default_rng(5).random((3, 600))
    for f, expected in (
        (totals, 2 * x.sum(1)),
        (moments, x.mean(1) + x.std(1)),
        (ends, np.ptp(x, 1)),
        (length, np.linalg.norm(x, axis=1) + (x * x).sum(1)),
    ):
        g = lw.guvectorize("(n)->()")(f)
        assert g.resources("d->d", "sm_90")["large_cores"] == "block per item", f.__name__
        np.testing.assert_allclose(g(x), expected, rtol=1e-12)
        with lw.config(target="cpu"):  # the kernel on the simulator
            np.testing.assert_allclose(g(cuda.to_device(x)).copy_to_host(), expected, rtol=1e-12)


def test_in_loops_and_branches():
    def kernel(m, out):
        for i in range(m.shape[0]):
            if m[i, 0] > 0:
                out[i] = max(m[i]) + sum(m[i, :2])
            else:
                out[i] = sum(m[:, i]) if min(m[i]) < -1 else np.mean(m[i])

    m = numbers(np.float64, (4, 4)) * 1.0
    out, expected = np.zeros(4), np.zeros(4)
    run(kernel, m, out)
    kernel(m, expected)
    np.testing.assert_allclose(out, expected)


def test_an_exception_leaves_the_caller():
    def kernel(m, out):
        for i in range(m.shape[0]):
            out[i] = min(m[i, i:2])

    out = np.zeros(4)
    with pytest.raises(ValueError, match="empty"):
        run(kernel, np.ones((4, 3)), out)
    assert out.tolist() == [1, 1, 0, 0]


def test_arrays_without_axes():
    def f(z, k):
        return (np.sum(z), np.prod(z), np.mean(z), np.var(z), np.std(z), np.min(z), np.max(z), np.ptp(z), np.any(k), np.all(z),
                np.count_nonzero(k), np.argmin(z), np.argmax(z), np.nansum(z), np.nanmean(z), np.nanvar(z), np.nanmin(z), np.nanmax(z), z.sum(),
                np.sum(z, axis=0), np.sum(z, axis=-1), np.sum(z, axis=()), np.max(z, keepdims=True), np.sum(k))

    z, k = np.array(3.5), np.array(0)
    got, want = lw.njit(f)(z, k), f(z, k)
    assert [(type(x), x) for x in got] == [(type(x.item()), x.item()) for x in want]
    assert lw.njit(lambda: np.count_nonzero(k))() == 0
    with pytest.raises(lw.errors.TypingError, match="E124"):
        lw.njit(lambda z: np.sum(z, axis=1))(z)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u1", "i4", "u8", "?"])
def test_places_in_long_lines(dtype):
    """The line is searched in blocks. Equal elements, NaN and zeros of both signs are in the same block, in different blocks, and at the ends of blocks."""
    def f(x):
        return x.argmin(), x.argmax(), x[::2].argmin(), x[::-3].argmax()

    rng = np.random.default_rng(3)
    compiled = lw.njit(f)
    for n in (1, 2, 127, 128, 129, 300, 1000):
        for equal in (False, True):
            x = (rng.random(n) * (3 if equal else 100)).astype(dtype)
            assert compiled(x) == f(x)
            if dtype in ("f4", "f8", "f2"):
                for where in ([0], [n - 1], [n // 2], rng.integers(0, n, 5)):
                    y = x.copy()
                    y[where] = np.nan
                    assert compiled(y) == f(y)
                x = np.where(rng.random(n) < 0.5, 0.0, -0.0).astype(dtype)
                assert compiled(x) == f(x)


@pytest.mark.parametrize("dtype", ["?", "i2", "f8", "c16"])
def test_truth_in_long_lines(dtype):
    """1024 elements are looked at together; min() and max() of bools do so, too."""
    ends = (lambda x: (np.any(x), np.all(x)), lambda x: (any(x), all(x))) if dtype != "?" else (
        lambda x: (np.any(x), np.all(x), np.max(x), x.min()), lambda x: (np.max(x, initial=False), np.min(x, initial=True)))
    for f in ends:
        compiled = lw.njit(f)
        for n in (1, 1023, 1024, 1025, 3000):
            for at in (0, n // 2, n - 1):
                rare = np.zeros(n, dtype)
                rare[at] = 1
                for x in (rare, np.zeros(n, dtype), (rare == 0).astype(dtype), np.ones(n, dtype), np.repeat(rare, 3)[::3], np.repeat(rare, 2)[::-2]):
                    assert compiled(x) == f(x)
    for x in (np.zeros((3, 2000), dtype), np.ones((3, 2000), dtype)):
        x[1, 1999] = not x[1, 1999]
        assert np.array_equal(lw.njit(lambda x: np.any(x, axis=1))(x), x.any(1)) and np.array_equal(lw.njit(lambda x: x.all(axis=0))(x), x.all(0))
        assert lw.njit(lambda x: (x.any(), np.all(x)))(x) == (x.any(), x.all())


@pytest.mark.parametrize("initial", [None, False, True])
def test_the_least_of_bools(initial):
    f = lw.njit(lambda x: (np.min(x), np.max(x)) if initial is None else (np.min(x, initial=initial), np.max(x, initial=initial)))
    for x in (np.zeros(3, bool), np.ones(3, bool), np.array([True, False])):
        assert f(x) == f.py_func(x)
    if initial is None:
        with pytest.raises(ValueError, match="no identity"):
            f(np.zeros(0, bool))
    else:
        assert f(np.zeros(0, bool)) == (initial, initial)


def test_places_in_long_rows():
    rng = np.random.default_rng(4)
    for shape in ((3, 300), (300, 3), (2, 3, 200)):
        x = rng.integers(0, 50, shape) * 1.0
        x[..., 1:][rng.random(shape)[..., 1:] < 0.001] = np.nan
        assert lw.njit(lambda x: (x.argmin(), x.argmax()))(x) == (x.argmin(), x.argmax())
        assert (lw.njit(lambda x: x.argmin(axis=-1))(x) == x.argmin(axis=-1)).all()
        assert (lw.njit(lambda x: x.argmax(axis=0))(x) == x.argmax(axis=0)).all()


# ---- an axis that is known at run time ----


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, k: x.sum(axis=k),
        lambda x, k: x.mean(axis=k),
        lambda x, k: np.prod(x, axis=k),
        lambda x, k: x.sum(axis=k, keepdims=True),
        lambda x, k: x.max(axis=k),
        lambda x, k: x.var(axis=k),
    ],
)
def test_reductions_along_an_axis_of_run_time(function, axis):
    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(lw.njit(function)(x, axis), function(x, axis), rtol=1e-15)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, k: np.cumsum(x, axis=k),
        lambda x, k: np.concatenate((x, x), axis=k),
        lambda x, k: np.stack((x, x), axis=k),
        lambda x, k: np.flip(x, axis=k),
        lambda x, k: np.repeat(x, 2, axis=k),
        lambda x, k: np.take(x, np.array([0]), axis=k),
        lambda x, k: np.diff(x, axis=k),
        lambda x, k: np.expand_dims(x, k),
        lambda x, k: np.append(x, x, k),
    ],
)
def test_functions_that_need_an_axis_at_compile_time_say_so(function):
    with pytest.raises(errors.TypingError, match="the axis has to be known when the function is compiled"):
        lw.njit(function)(np.ones((2, 2)), 1)
