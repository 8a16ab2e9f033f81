"""NumPy's functions of numbers and rows in compiled code: isclose, nan_to_num, polyval, interp, searchsorted, array_equal
and x.sort(), against NumPy, in values and types."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw

REAL = [np.bool_, np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64]
ALL = [*REAL, np.complex64, np.complex128]
SPECIAL = [0.0, -0.0, 1.0, 1.00000001, 1.0001, -1.0, 2.5, 1e-9, 1e30, np.inf, -np.inf, np.nan]


def values(dtype):
    kind = np.dtype(dtype).kind
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "c":
            return np.array([complex(x, y) for x in SPECIAL for y in SPECIAL[::3]], dtype)
        if kind == "f":
            return np.array(SPECIAL, dtype)
        limits = [0, 1] if kind == "b" else [0, 1, 2, 100, np.iinfo(dtype).min, np.iinfo(dtype).max]
        return np.array(limits, dtype)


def same(got, expected):
    """Check that dtype and bits are the same, except the sign and payload of NaN."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)
    if got.dtype.kind == "c":
        same(got.real, expected.real)
        same(got.imag, expected.imag)
    elif got.dtype.kind == "f":
        here = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got[here]), np.signbit(expected[here]))


def same_or_near(got, expected):
    """The last bit of NumPy's products of complex numbers differs between processors."""
    if np.asarray(expected).dtype.kind != "c":
        return same(got, expected)
    assert got.dtype == expected.dtype
    for part in ("real", "imag"):
        with np.errstate(all="ignore"):
            scale = np.nan_to_num(np.abs(expected), posinf=1.0)
        x, y = getattr(got, part), getattr(expected, part)
        near = np.abs(x - y) <= 8 * np.finfo(expected.dtype).eps * scale
        assert (near | (x == y) | (np.isnan(x) & np.isnan(y))).all()


def compiled(f):
    return lw.vectorize(f, fma=False)


def by_element(f, *arrays):
    """The results of NumPy's function for one number after the other, as compiled code calls it."""
    with np.errstate(all="ignore"):
        results = [f(*numbers) for numbers in zip(*(a.ravel() for a in arrays))]
    return np.array([np.asarray(r)[()] for r in results], np.result_type(*results)).reshape(arrays[0].shape)


# ---- isclose ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", ALL)
def test_isclose(a):
    functions = [
        lambda x, y: np.isclose(x, y, 0.0, 1.5),
        lambda x, y: np.isclose(x, y),
        lambda x, y: np.isclose(x, y, rtol=1e-3, atol=0, equal_nan=True),
        lambda x, y: np.isclose(x, y, 0.01, 1.4),
        lambda x, y: np.isclose(x, 1) | np.isclose(2.5, y, 1e-3),
    ]
    gs = [compiled(f) for f in functions]
    for b in ALL:
        x, y = (m.copy() for m in np.meshgrid(values(a), values(b)))
        ties = not np.issubdtype(np.result_type(a, b), np.complexfloating)  # |x - y| is a hypot, which rounds otherwise
        for f, g in list(zip(functions, gs))[not ties:]:
            same(g(x, y), by_element(f, x, y))


# ---- nan_to_num -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL)
def test_nan_to_num(dtype):
    x = values(dtype)
    for f in (lambda x: np.nan_to_num(x), lambda x: np.nan_to_num(x, nan=-1, posinf=7.5),
              lambda x: np.nan_to_num(x, True, 2.5, neginf=-3.0, posinf=np.inf)):
        same(compiled(f)(x), by_element(f, x))


def test_nan_to_num_of_bfloat16():
    f = lw.jit(lambda x: np.nan_to_num(lw.bfloat16(x)) + lw.float32(0), target="cpu")
    assert [f(float(v)) for v in (np.nan, 1.5, np.inf, -np.inf)] == [0, 1.5, 3.3895313892515355e38, -3.3895313892515355e38]


# ---- polyval ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", ALL)
def test_polyval_of_tables(x):
    for dtype in ALL:
        with np.errstate(all="ignore"):
            p = np.array([3, 0, 1, -2.5], np.complex128 if np.dtype(dtype).kind == "c" else np.float64).astype(dtype)

        def f(x):
            return np.polyval(p, x)

        if np.dtype(x).kind == "b" and np.dtype(dtype).kind == "b":
            continue  # compiled code adds bools as numbers
        v = values(x)
        with np.errstate(all="ignore"):
            same_or_near(compiled(f)(v), by_element(f, v))


@pytest.mark.parametrize("x", [np.int8, np.uint64, np.float32, np.float64, np.complex64])
def test_polyval_of_tuples(x):
    half = np.float32(0.5)
    v = values(x)
    same = same_or_near
    for f in (lambda x: np.polyval((1, 2, 3), x), lambda x: np.polyval((1, 2.5, 3), x), lambda x: np.polyval([half, half], x),
              lambda x: np.polyval((half, 2), x), lambda x: np.polyval((2.0,), x), lambda x: np.polyval((1, 2j), x)):
        with np.errstate(all="ignore"):
            same(compiled(f)(v), by_element(f, v))


# ---- interp -----------------------------------------------------------------------------------------------

POINTS = [[0.0, 1.0, 2.5, 4.0], [1.0], [0.0, 1.0, 1.0, 2.0], [-np.inf, 0.0, np.inf], list(range(50))]


@pytest.mark.parametrize("points", POINTS, ids=len)
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64, np.complex64, np.complex128])
def test_interp(points, dtype):
    xp = np.array(points)
    with np.errstate(all="ignore"):
        fp = (np.sin(np.arange(len(xp))) * 9 * (1 + 2j if np.dtype(dtype).kind == "c" else 1)).astype(dtype)
    if len(xp) > 2 and np.dtype(dtype).kind != "i":
        fp[1] = np.inf
    for given in (np.float32, np.float64):
        x = np.concatenate([values(given), np.linspace(-1, 5, 61), xp]).astype(given)
        for f in (lambda x: np.interp(x, xp, fp), lambda x: np.interp(x, xp, fp, -7, right=9.5),
                  lambda x: np.interp(x, xp, fp, left=None, right=1)):
            same(compiled(f)(x), by_element(f, x))


def test_interp_refuses_what_numpy_refuses():
    @lw.guvectorize("(n),(m),(k)->(n)", errors="raise")
    def f(x, xp, fp, out):
        for i in range(x.size):
            out[i] = np.interp(x[i], xp, fp)

    x = np.arange(3.0)
    for xp, fp, message in ((x[:0], x[:0], "array of sample points is empty"),
                            (x, x[:2], "fp and xp are not of the same length.")):
        with pytest.raises(ValueError, match=message):
            f(x, xp, fp)
        with pytest.raises(ValueError, match=message):
            np.interp(x, xp, fp)


# ---- searchsorted, sort -----------------------------------------------------------------------------------


@pytest.mark.parametrize("a", ALL)
def test_searchsorted(a):
    table = np.sort(np.concatenate([values(a), values(a)[:3]]))
    functions = [lambda v: np.searchsorted(table, v), lambda v: np.searchsorted(table, v, side="right"), lambda v: table.searchsorted(v, "left")]
    gs = [lw.vectorize(f) for f in functions]
    for b in ALL:
        v = values(b)
        for f, g in zip(functions, gs):
            same(g(v), by_element(f, v))


def test_searchsorted_of_pythons_numbers():
    table = np.array([1, 2, 3], np.uint8)
    f = lw.vectorize(lambda x: np.searchsorted(table, 300) + 10 * np.searchsorted(table, -1) + 100 * np.searchsorted(table, 2.5) + x)
    assert f(0) == 3 + 0 + 200


@pytest.mark.parametrize("dtype", ALL)
def test_sort(dtype):
    @lw.guvectorize("(n)->(n)")
    def f(x, out):
        out[:] = x
        out.sort()

    rng = np.random.default_rng(1)
    for n in (0, 1, 2, 3, 15, 16, 17, 40, 1000):
        for some in (rng.choice(values(dtype), n), rng.permutation(n).astype(dtype), np.zeros(n, dtype)):
            np.testing.assert_array_equal(f(some), np.sort(some))
    x = np.stack([values(dtype)] * 3)[:, ::-1]
    np.testing.assert_array_equal(f(x), np.sort(x))


def test_sort_of_arguments_views_and_local_arrays(target):
    @lw.forall
    def f(i, x, middle):
        row = lw.local(5, np.float64)
        for j in range(5):
            row[j] = x[i, j]
        row.sort()
        middle[i] = row[2]
        x[i, ::-2].sort()
        x[i, 1:3].sort(axis=0)

    x = np.random.default_rng(2).random((4, 5))
    expected, middle = x.copy(), np.zeros(4)
    for row in expected:
        row[::-2].sort()
        row[1:3].sort()
    medians = np.median(x, axis=1)
    if target == "cuda":
        x, middle = lw.cuda.to_device(x), lw.cuda.to_device(middle)
    f(4, x, middle)
    if target == "cuda":
        x, middle = x.copy_to_host(), middle.copy_to_host()
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(middle, medians)


# ---- array_equal ------------------------------------------------------------------------------------------


def test_array_equal():
    @lw.guvectorize("(n),(m),(k,l)->(o)", sizes={"o": lambda n, m, k, l: 4})
    def f(x, y, z, out):
        out[0] = np.array_equal(x, y)
        out[1] = np.array_equal(x, y, equal_nan=True)
        out[2] = np.array_equal(x, z)
        out[3] = np.array_equal(z, z[:, ::-1])

    z = np.array([[1.0, 2, 1]])
    for x, y in (([1, 2], [1, 2]), ([1, 2], [1, 3]), ([1, 2], [1]), ([1, np.nan], [1, np.nan]), ([], []), ([np.nan], [1])):
        for a, b in ((np.float32, np.float64), (np.float64, np.complex64)):
            x, y = np.array(x, a), np.array(y, b)
            expected = [np.array_equal(x, y), np.array_equal(x, y, equal_nan=True), False, True]
            assert f(x, y, z).tolist() == expected


def test_array_equal_compares_values_of_integers():
    @lw.guvectorize(["(i8[:], u8[:], b1[:])"], "(n),(n)->()")
    def f(x, y, out):
        out[0] = np.array_equal(x, y)

    assert not f(np.array([-1]), np.array([2**64 - 1], np.uint64))
    assert f(np.array([1, 2]), np.array([1, 2], np.uint64))


# ---- targets, types, errors -------------------------------------------------------------------------------


def everything(x, xp, fp, out):
    out[0] = np.interp(x[0], xp, fp) + np.polyval(fp, x[1]) + np.nan_to_num(x[2]) + np.searchsorted(xp, x[3])
    out[1] = np.isclose(x[0], x[1]) + np.polyval((1, 2.5), x[0])
    out.sort()
    out[0] += np.array_equal(xp, fp)


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("t", ["float32", "int8", "uint64", "float64"])
def test_gpu_code(target, t):
    assert lw.compile(lw.jit(everything), f"void({t}[:], float64[:], {t}[:], float64[:])", target=target)


@pytest.mark.parametrize("target", ["sm_90"])
def test_gpu_code_of_complex_numbers(target):
    def f(x, xp, fp, out):
        out[0] = np.interp(x[0], xp, fp) + np.polyval(fp, x[1]) + np.nan_to_num(fp[2]) + np.isclose(fp[0], fp[1])
        out.sort()

    assert lw.compile(lw.jit(f), "void(float32[:], float64[:], complex64[:], complex128[:])", target=target)


def test_isinstance_tells_tuples_and_arrays_from_numbers():
    def kind(v):
        return 1 if isinstance(v, tuple) else 2 if isinstance(v, np.ndarray) else 3 if isinstance(v, (tuple, np.floating)) else 4

    f = lw.vectorize(lambda x: kind((x, 1)) + 10 * kind(ROW) + 100 * kind(x) + 1000 * kind(1))
    assert f(0.5) == 4321


def test_numbas_typing():
    xp = np.arange(3.0)
    f = lw.vectorize(lambda x: np.interp(x, xp, xp) + np.polyval((1, 2), x) + np.searchsorted(xp, x), typing="numba")
    assert f(np.float32(1.5)) == 1.5 + 3.5 + 2


ROW = np.arange(3.0)
SQUARE = np.zeros((2, 2))


@pytest.mark.parametrize("f, message", [
    (lambda x: np.interp(ROW, ROW, ROW), "numpy.interp` needs a number"),
    (lambda x: np.interp(x, SQUARE, ROW), "needs a one-dimensional array"),
    (lambda x: np.interp(x, ROW, x), "needs a one-dimensional array"),
    (lambda x: np.interp(x, ROW, ROW, period=3), "period"),
    (lambda x: np.polyval(x, x), "needs a tuple or a one-dimensional array"),
    (lambda x: np.searchsorted(x, x), "needs a one-dimensional array"),
    (lambda x: np.searchsorted(ROW, "a"), "needs a number"),
    (lambda x: np.searchsorted(ROW, x, sorter=ROW), "sorter"),
    (lambda x: np.isclose(ROW, x), "needs a number"),
    (lambda x: np.nan_to_num(SQUARE), "needs a number"),
    (lambda x: np.array_equal(x, x), "needs an array of numbers"),
])
def test_refused(f, message):
    with pytest.raises(lw.errors.CompileError, match=message) as caught:
        lw.vectorize(f)(1.0)
    assert caught.value.lineno > 0


def test_sort_is_refused_where_nothing_may_be_written():
    with pytest.raises(lw.errors.CompileError, match="E162|E161|E120"):
        lw.vectorize(lambda x: ROW.sort())(1.0)

    @lw.guvectorize("(m,n)->()")
    def f(x, out):
        x.sort()
        out[0] = x[0, 0]

    with pytest.raises(lw.errors.CompileError, match="E162"):
        f(SQUARE)


def test_a_side_that_is_none():
    with pytest.raises(ValueError, match="search side must be 'left' or 'right'"):
        lw.vectorize(lambda x: np.searchsorted(ROW, x, "middle"))(1.0)
