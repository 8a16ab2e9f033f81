"""np.split, delete, partition, sets, windows and the like in compiled functions: NumPy's values, dtypes and shapes."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors

DTYPES = [np.bool_, np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float32, np.float64, np.complex64, np.complex128]
REAL = [t for t in DTYPES if not np.issubdtype(t, np.complexfloating)]
NUMBERS = [t for t in REAL if t is not np.bool_]


def numbers(dtype, shape=(6, 4, 2)):
    x = np.random.default_rng(7).integers(0, 7, shape) - 2 * (np.dtype(dtype).kind in "ifc")
    return (x * (1 - 2j)).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


def layouts(x):
    return [x, np.ascontiguousarray(x.T).T, np.repeat(x, 2, axis=-1)[..., ::-2][..., ::-1]]


def same(got, want):
    if isinstance(want, (tuple, list)):
        assert isinstance(got, tuple) and len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w)
        return
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, want.dtype, got.shape, want.shape)
    if want.dtype.kind in "fc":
        tolerance = 2e-6 if np.finfo(want.dtype).dtype.itemsize == 4 else 2e-14
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(got, want)


CASES = [
    ("split", lambda x: np.split(x, 3), DTYPES), ("split1", lambda x: np.split(x, 2, axis=1), DTYPES), ("split2", lambda x: np.split(x, (1, 4)), DTYPES),
    ("split_list", lambda x: np.split(x, [2], axis=-2), DTYPES), ("split_far", lambda x: np.split(x, (2, 9)), REAL), ("array_split", lambda x: np.array_split(x, 4), DTYPES),
    ("array_split1", lambda x: np.array_split(x, 3, axis=1), DTYPES), ("array_split8", lambda x: np.array_split(x, 8), REAL),
    ("delete", lambda x: np.delete(x, 2), DTYPES), ("delete0", lambda x: np.delete(x, 2, axis=0), DTYPES), ("delete1", lambda x: np.delete(x, -1, 1), DTYPES),
    ("delete_list", lambda x: np.delete(x, [1, 3, 1, -1], axis=0), DTYPES), ("delete_array", lambda x: np.delete(x, np.array([0, 5]), axis=0), REAL),
    ("delete_mask", lambda x: np.delete(x, np.arange(4) > 1, axis=1), REAL), ("extract", lambda x: np.extract(x > 2, x), REAL),
    ("intersect", lambda x: np.intersect1d(x, np.arange(-1, 4)), NUMBERS), ("intersect_own", lambda x: np.intersect1d(x, x[:2]), REAL),
    ("union", lambda x: np.union1d(x, np.arange(5)), NUMBERS), ("setdiff", lambda x: np.setdiff1d(x, np.array([1, 2])), NUMBERS),
    ("rot90", lambda x: np.rot90(x), DTYPES), ("rot90_2", lambda x: np.rot90(x, 2), DTYPES), ("rot90_3", lambda x: np.rot90(x, -1, (1, 2)), DTYPES),
    ("rot90_0", lambda x: np.rot90(x, 4), REAL), ("vander", lambda x: np.vander(x[:, 0, 0]), DTYPES), ("vander3", lambda x: np.vander(x[:, 1, 1], 3, True), DTYPES),
    ("unwrap", lambda x: np.unwrap(x * 1.7), NUMBERS), ("unwrap0", lambda x: np.unwrap(x * 2.5, axis=0), NUMBERS), ("unwrap_discont", lambda x: np.unwrap(x * 1.7, 4.0, 1), NUMBERS),
    ("unwrap_period", lambda x: np.unwrap(x * 1.0, period=4.0), NUMBERS), ("select", lambda x: np.select([x < 1, x > 3], [x, 2 * x], 7), NUMBERS),
    ("select1", lambda x: np.select((x > 2,), (x,)), NUMBERS), ("select3", lambda x: np.select([x < 1, x < 2, x < 4], [x, x + 1, x + 2], -1), [np.int32, np.float32, np.float64]),
]


@pytest.mark.parametrize("f, dtype", [pytest.param(f, dtype, id=f"{name}-{np.dtype(dtype)}") for name, f, dtypes in CASES for dtype in dtypes])
def test_like_numpy(f, dtype):
    compiled = lw.jit(f)
    for x in layouts(numbers(dtype)):
        same(compiled(x), f(x))


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("k", [0, 3, -1, 7])
def test_partition(dtype, k):
    x = np.random.default_rng(5).integers(0, 50, (6, 9)).astype(dtype)
    for axis, f in [(-1, lambda x, k: np.partition(x, k)), (1, lambda x, k: np.partition(x, k, axis=1)), (None, lambda x, k: np.partition(x, k, axis=None))]:
        got = np.atleast_2d(lw.jit(f)(x, k))
        kept = np.atleast_2d(np.sort(x, axis=axis))
        assert got.dtype == x.dtype and (np.sort(got, axis=-1) == kept).all()
        at = k % got.shape[1]
        assert (got[:, at] == kept[:, at]).all() and (got[:, :at] <= got[:, at:at + 1]).all() and (got[:, at:] >= got[:, at:at + 1]).all()
    several = np.array([k, 0, -1])
    parted = lw.jit(lambda x, k: np.partition(x, k))(x, several)
    assert np.array_equal(np.take(parted, several, -1), np.take(np.sort(x), several, -1), equal_nan=x.dtype.kind in "fc")
    places = lw.jit(lambda x: np.argpartition(x, 3))(x)
    assert (np.take_along_axis(x, places, 1)[:, 3] == np.sort(x)[:, 3]).all()


@pytest.mark.parametrize("f", [lambda n: np.hanning(n), lambda n: np.hamming(n), lambda n: np.blackman(n), lambda n: np.bartlett(n), lambda n: np.kaiser(n, 8.6), lambda n: np.kaiser(n, 0)])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 12])
def test_windows(f, n):
    same(lw.jit(f)(n), f(n))


@pytest.mark.parametrize("f, error, said", [
    (lambda x: np.split(x, 4), ValueError, "equal division"), (lambda x: np.delete(x, 99), IndexError, "out of bounds"), (lambda x: np.partition(x, 9), ValueError, "out of bounds"),
    (lambda x: np.rot90(x, 1, (1, 1)), ValueError, "must be different"), (lambda x: np.array_split(x, 0), ValueError, "larger than 0"),
    (lambda x: np.select([x > 1], [x, x]), ValueError, "same length"), (lambda x: np.delete(x, np.array([True, False]), axis=0), ValueError, "match the axis length"),
])
def test_errors(f, error, said):
    with pytest.raises(error, match=said):
        f(numbers(np.float64))
    with pytest.raises((error, errors.CompileError), match=said):
        lw.jit(f)(numbers(np.float64))


def test_views_and_nan():
    @lw.njit
    def f(x):
        low, high = np.split(x, 2)
        low[0] = 9.0
        return high

    x = np.arange(6.0)
    assert f(x).tolist() == [3, 4, 5] and x[0] == 9.0
    y = np.array([np.nan, 1.0, 2.0, np.nan])
    same(lw.njit(lambda x, y: np.intersect1d(x, y))(y, x), np.intersect1d(y, x))
    same(lw.njit(lambda y: np.unwrap(y))(y), np.unwrap(y))


def test_in_kernels():
    @lw.forall
    def k(i, x, out):
        a, b, c = np.split(x[i], 3)
        out[i] = a.sum() * b.sum() - c.sum() + np.delete(x[i], 1).sum()

    x, out = np.random.default_rng(1).normal(size=(50, 6)), np.zeros(50)
    k(50, x, out)
    np.testing.assert_allclose(out, [a[:2].sum() * a[2:4].sum() - a[4:].sum() + np.delete(a, 1).sum() for a in x], rtol=1e-12)


@pytest.mark.parametrize("f", [
    lambda z, m: np.setdiff1d(z, [1, 2]), lambda z, m: np.setdiff1d([1, 2, 3, 9], z), lambda z, m: np.union1d(z, (7, 8.5)), lambda z, m: np.intersect1d(z, [1, 2, 9]), lambda z, m: np.setxor1d([1.5, 2], z),
    lambda z, m: np.union1d([1, 2], [3.5]), lambda z, m: np.delete(z, slice(1, 3)), lambda z, m: np.delete(m, slice(None, None, 2), axis=1), lambda z, m: np.delete(m, slice(-3, None)),
    lambda z, m: np.delete(z, slice(5, 1, -2)), lambda z, m: np.delete(z, slice(3, 3)), lambda z, m: np.delete(m, slice(1, 100), 0),
], ids=range(12))
def test_lists_of_sets_and_slices_to_delete(f):
    z, m = np.array([3, 1, -2, 1, 7, 0, 2]), np.arange(20.0).reshape(4, 5)
    got, wanted = lw.njit(f)(z, m), f(z, m)
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("f", [lambda x: np.round(x), lambda x: np.around(x, decimals=0), lambda x: np.round(x, 0), lambda x: x.round(), lambda x: np.round(x[0, 1])], ids=range(5))
def test_bools_are_rounded_to_floats(f):
    """As np.rint does it; its float16 is a float32 in compiled code."""
    x = np.array([[True, False, True]])
    got, wanted = lw.njit(f)(x), f(x)
    np.testing.assert_array_equal(got, wanted)
    assert wanted.dtype == np.float16 and (not isinstance(got, np.ndarray) or got.dtype == lw.njit(lambda x: np.rint(x))(x).dtype)
    with pytest.raises(lw.errors.TypingError, match="E120: `numpy.round` needs a number where decimals is given"):
        lw.vectorize(lambda x: np.round(x, 2))(x)


windows = np.lib.stride_tricks.sliding_window_view

SLIDING = [
    lambda x: windows(x, (2, 3)), lambda x: windows(x, 2, axis=0), lambda x: windows(x, 2, -1), lambda x: windows(x, (2, 3), (1, 0)), lambda x: windows(x, (1, 2), axis=(1, 1)),
    lambda x: windows(x[0], 3).mean(axis=-1), lambda x: windows(x, (2, 2)).sum(axis=(2, 3)), lambda x: windows(x[0], 0), lambda x: windows(x[:0], 2, axis=1), lambda x: windows(x[1], x.shape[1]),
]


@pytest.mark.parametrize("f", SLIDING, ids=range(len(SLIDING)))
def test_sliding_windows(f):
    g = lw.njit(f)
    for dtype in (np.int16, np.float64, np.complex64):
        for x in layouts(numbers(dtype, (4, 6))):
            got, wanted = g(x), f(x)
            np.testing.assert_array_equal(got, wanted)
            assert got.dtype == wanted.dtype and got.shape == wanted.shape


def test_sliding_windows_of_any_axis():
    x, g = numbers(np.int64, (2, 3, 4)), lw.njit(lambda x, shape, axis: windows(x, shape, axis))
    for shape, axis in ((2, 0), (2, -1), ((2, 1), (1, 2)), ((2, 2), (-1, -1)), ((1, 2, 3), None)):
        np.testing.assert_array_equal(g(x, shape, axis), windows(x, shape, axis))
    for shape, axis, says in ((2, None, "Since axis is `None`"), ((2, 2), 0, "matching length"), (5, 0, "larger than input"), (4, 1, "larger than input"), ((-1, 1, 1), None, "negative values"), (2, 3, "out of bounds")):
        with pytest.raises(ValueError, match=says):
            g(x, shape, axis)
        with pytest.raises(ValueError, match=says):
            windows(x, shape, axis)
    with pytest.raises(errors.TypingError, match="E162: assignment into a read-only array"):
        @lw.njit
        def f(x):
            windows(x, 2)[0, 0] = 1

        f(x[0, 0])

    @lw.guvectorize("(n),(k)->(m)", sizes={"m": lambda n, k: n - k + 1})
    def smoothed(x, w, out):
        out[:] = (windows(x, 3) * w).sum(axis=1)

    np.testing.assert_allclose(smoothed(np.arange(12.0).reshape(2, 6), np.array([1.0, 2, 1])), [[4, 8, 12, 16], [28, 32, 36, 40]])


BROADCAST = [
    lambda x, y: np.broadcast_arrays(x, y), lambda x, y: np.broadcast_arrays(x[:, :1], y, 1.5), lambda x, y: np.broadcast_arrays(x), lambda x, y: np.broadcast_arrays(x[..., None], y)[0] + 1,
]


@pytest.mark.parametrize("f", BROADCAST, ids=range(len(BROADCAST)))
def test_arrays_that_are_broadcast(f):
    for x in layouts(numbers(np.int32, (4, 6))):
        got, wanted = lw.njit(f)(x, x[1].astype(np.float32)), f(x, x[1].astype(np.float32))
        for a, b in zip(got, wanted) if isinstance(wanted, tuple) else [(got, wanted)]:
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype
    for x, y in ((np.ones((2, 3)), np.ones(4)), (np.ones((2, 1)), np.ones((3, 1)))):
        with pytest.raises(ValueError, match="shape mismatch"):
            lw.njit(lambda x, y: np.broadcast_arrays(x, y))(x, y)


def test_shapes_that_are_broadcast():
    g = lw.njit(lambda n: (np.broadcast_shapes((1, 2), (n, 1)), np.broadcast_shapes((6, 7), (5, 6, 1), 7, (5, 1, 7)), np.broadcast_shapes(), np.broadcast_shapes((n, 1), 4)))
    assert g(3) == ((3, 2), (5, 6, 7), (), (3, 4))
    with pytest.raises(ValueError, match="shape mismatch"):
        lw.njit(lambda n: np.broadcast_shapes((n, 2), 4))(3)


@pytest.mark.parametrize("f", [lambda x: np.zeros_like(x), lambda x: np.ones_like(x), lambda x: np.full_like(x, 7), lambda x: np.zeros_like(x, np.int32), lambda x: np.full_like(x, 2.5, dtype=np.float64)], ids=range(5))
def test_arrays_like_numbers(f):
    for x in (1.5, 3, True, np.float32(2), np.int8(1)):
        got, wanted = lw.njit(f)(x), f(x)
        assert isinstance(got, np.ndarray) and got.shape == () == wanted.shape and got.dtype == wanted.dtype and got == wanted
    assert lw.njit(lambda x: np.empty_like(x))(2j).dtype == np.complex128
