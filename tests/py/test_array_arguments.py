"""What functions of whole arrays take: lists where NumPy takes them, arrays of several dtypes in one call, a second array of
observations, and numbers of every dtype, by which the dtype of a new array is chosen."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors

X = np.array([1.0, 5.0, 2.0, 7.0])
Y = np.array([2.0, 1.0, 4.0, 3.0])
I = np.arange(4)
S = np.array([0.5, 1.0, 2.5, 6.0])
M = np.arange(12.0).reshape(3, 4) ** 1.5
SMALL = np.array([1, 0, 2, 1], np.int8)
HALF = X.astype(np.float32)
Z = X + 1j * Y


def same(got, want):
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w)
        return
    if type(got) in (bool, int, float, complex):  # lw.jit returns numbers as Python's, whatever their dtype is
        got = np.asarray(want).dtype.type(got)
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, want.dtype, got.shape, want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-13 if want.dtype.itemsize > 4 else 2e-6, atol=1e-13)


def check(f, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = f(*[a.copy() for a in args])
        got = lw.jit(f)(*[a.copy() for a in args])
    same(got, want)


CALLS = [
    # a second array of observations
    (lambda x, y: np.cov(x, y), X, Y), (lambda x, y: np.corrcoef(x, y), X, Y), (lambda m: np.cov(m, m), M), (lambda m, x: np.cov(m, x), M, X),
    (lambda m: np.cov(m, None, False), M), (lambda m: np.cov(m, rowvar=False, bias=True), M), (lambda m: np.cov(m[:, 0], m, rowvar=False), M),
    (lambda x, y: np.cov(x, y, ddof=0), X, Y), (lambda x: np.cov(x, ddof=0), X), (lambda x: np.cov(x, bias=True), X), (lambda x: np.cov(x), I),
    (lambda x: np.cov(x), Z), (lambda x, y: np.cov(x, y), Z, X), (lambda x, y: np.corrcoef(x, y), Z, X), (lambda x: np.corrcoef(x), X),
    (lambda x: np.corrcoef(x), np.ones(3)), (lambda x, y: np.corrcoef(x, y), X, np.ones(4)), (lambda x: np.cov(x), HALF), (lambda x: np.cov(x, ddof=4), X),
    (lambda m, x: np.corrcoef(m, x, True), M, X), (lambda m: np.corrcoef(m, rowvar=False), M),
    # axes of flip
    (lambda x: np.flip(x), X), (lambda m: np.flip(m), M), (lambda m: np.flip(m, (0, 1)), M), (lambda m: np.flip(m, (1,)), M), (lambda m: np.flip(m, axis=-1), M),
    (lambda m: np.flip(m.reshape(2, 3, 2)), M), (lambda m: np.flip(m.reshape(2, 3, 2), (0, -1)), M), (lambda m: np.flip(m=m, axis=0), M),
    # arrays of several dtypes and layouts
    (lambda x, i: np.concatenate((x, i)), X, I), (lambda x, i: np.concatenate((i, x, i)), HALF, SMALL), (lambda x, i: np.hstack((i, x)), X, SMALL),
    (lambda x, i: np.stack((i, x)), X, I), (lambda x, i: np.stack((i, x), axis=1), X, SMALL), (lambda x, i: np.stack((i, x), -1), Z, I),
    (lambda x, i: np.append(i, x), X, I), (lambda x, i: np.append(i, 1.5), X, I), (lambda x, i: np.append(i, [1.5, 2]), X, I),
    (lambda x, i: np.column_stack((x, i)), X, I), (lambda x, i: np.vstack((x, i, x > 2)), X, I), (lambda x, m: np.vstack((x, m)), I, M),
    (lambda x, i: np.concatenate((x, i, x[::2])), HALF, SMALL), (lambda x: np.concatenate((x, [1, 2], x)), X), (lambda x: np.concatenate(([1, 2], x[:0])), X),
    (lambda m: np.concatenate((m, m.T.copy().T, m[:, ::2]), axis=1), M), (lambda m, i: np.concatenate((m, i), axis=None), M, I),
    (lambda x, b: np.concatenate((x, b)), SMALL, X > 2), (lambda x, y: np.concatenate((x, y)), np.arange(3, dtype=np.uint64), I),
    (lambda x: np.concatenate([x, x, x, x, x, x, x, x]), X), (lambda m, i: np.append(m, i[None, :], axis=0), M, I), (lambda x: np.hstack((x, 3)), X),
    # lists and tuples of numbers
    (lambda x: np.take(x, [0, 2]), X), (lambda x: np.take(x, (0, -1)), X), (lambda m: np.take(m, [0, 2], axis=1), M), (lambda m: m.take([2, 0], axis=0), M),
    (lambda x: np.take(x, [[0, 1], [2, 3]]), X), (lambda x: np.take(x, []), X),
    (lambda x: np.average(x, weights=[1, 2, 3, 4]), X), (lambda x: np.isin(x, [1, 2]), X), (lambda x: np.isin(x, (1, 2)), I), (lambda x: np.isin([1, 2, 9], x), I),
    (lambda x: np.isin(5.0, x), X), (lambda x: np.digitize(x, [0, 2, 5]), X), (lambda x: np.digitize(x, [5, 2, 0]), X), (lambda x: np.digitize([1.0, 3.0], x), S),
    (lambda x: np.interp(x, [0, 3, 10], [1.0, 2.0, 0.0]), X), (lambda x: np.interp([0.5, 2], x, x), S), (lambda x: np.interp(1.5, [1, 2], [x[0], x[1]]), X),
    (lambda x: np.percentile(x, [25, 50]), X), (lambda x: np.quantile(x, [0.25, 0.5]), X), (lambda x: np.quantile(x, (0.1,)), X),
    (lambda x: np.searchsorted(x, [1, 3]), S), (lambda x: np.searchsorted([1, 3, 5], x), X), (lambda x: np.searchsorted([1, 3, 5], 4), X),
    (lambda x: np.bincount(x, weights=[1.0, 2, 3, 4]), I), (lambda x: np.histogram(x, bins=[0, 2, 8])[0], X), (lambda x: np.atleast_1d([1, 2]), X),
    (lambda x: np.atleast_2d([x[0], 2]), X), (lambda x: np.array([]), X), (lambda x: np.polyval([1, 2], x), X),
    # counts of repeat, rows of full
    (lambda x: np.repeat(x, [1, 0, 2, 3]), X), (lambda x, i: np.repeat(x, i), X, SMALL), (lambda m, i: np.repeat(m, i, axis=1), M, I),
    (lambda m: np.repeat(m, [0, 2, 1], 0), M), (lambda x: np.repeat(x, [2]), X), (lambda x, i: x.repeat(i), X, I), (lambda x: np.repeat(x, 2), X),
    (lambda x: np.full((2, 4), x), X), (lambda x: np.full((2, 3), [1, 2, 3]), X), (lambda x: np.full((2, 4), x, dtype=np.int32), X),
    (lambda m: np.full_like(m, [1, 2, 3, 4]), M), (lambda x: np.full(4, x[::-1]), SMALL),
    # orders, and copies only where they are needed
    (lambda x: np.reshape(x, (2, 2), "F"), X), (lambda m: m.reshape(4, 3, order="F"), M), (lambda m: np.reshape(m, -1, order="F"), M),
    (lambda m: m.reshape((2, -1)), M), (lambda m: m.reshape(6, 2), M), (lambda m: m.reshape(-1), M), (lambda m: m.reshape([2, 6]), M),
    (lambda x: np.meshgrid(x, x, indexing="ij"), X), (lambda x: np.count_nonzero(x, keepdims=True), X),
]


@pytest.mark.parametrize("f, args", [(c[0], c[1:]) for c in CALLS], ids=range(len(CALLS)))
def test_arguments(f, args):
    check(f, *args)


def without_copy(x):
    y = x.astype(np.float64, copy=False)
    z = np.array(x, copy=False)
    y[0] = 3.0
    z[1] = 4.0
    return x


def with_copy(x):
    y = x.astype(np.float64)
    z = np.array(x)
    y[0] = 3.0
    z[1] = 4.0
    return x


def nan_in_place(x):
    y = np.nan_to_num(x, copy=False)
    y[0] = 9.0
    return x


@pytest.mark.parametrize("f", [without_copy, with_copy, nan_in_place], ids=lambda f: f.__name__)
def test_copies(f):
    check(f, np.array([1.0, np.inf, np.nan, 2.0]))


# ---- dtypes that numbers choose ----

SCALARS = [np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32, np.float64]
MAKERS = [
    (lambda n, k: np.arange(n[3]), "arange"), (lambda n, k: np.arange(n[1], 4), "start"), (lambda n, k: np.arange(0, n[3], 1.5), "stop"),
    (lambda n, k: np.arange(0, 4, n[1]), "step"), (lambda n, k: np.arange(n[3], dtype=np.int16), "arange of a dtype"),
    (lambda n, k: np.linspace(n[0], n[3], 4), "linspace"), (lambda n, k: np.linspace(n[0], 3, 5), "linspace to an int"),
    (lambda n, k: np.linspace(0, n[3], 5, dtype=np.int16), "linspace of a dtype"), (lambda n, k: np.linspace(n[0], k[3], 4), "linspace of two"),
    (lambda n, k: np.full(3, n[3]), "full"), (lambda n, k: np.full(3, n[3], np.float32), "full of a dtype"), (lambda n, k: np.full_like(k, n[3], dtype=k.dtype), "full_like"),
    (lambda n, k: np.eye(k[3], dtype=np.int8), "eye"), (lambda n, k: np.eye(2), "eye of floats"), (lambda n, k: np.array([n[3], 2]), "array"),
]


@pytest.mark.parametrize("dtype", SCALARS, ids=lambda t: t.__name__)
@pytest.mark.parametrize("f, name", MAKERS, ids=[name for _, name in MAKERS])
def test_dtypes_of_new_arrays(f, name, dtype):
    check(f, np.array([0, 1, 2, 3]).astype(dtype), np.arange(4, dtype=np.int8))


def test_a_float_in_an_array_of_integers():
    """Refused unless the dtype is named, as docs/differences.md says."""
    check(lambda n, k: np.full_like(k, n[3]), np.arange(4, dtype=np.uint16), np.arange(4, dtype=np.int8))
    with pytest.raises(lw.errors.TypingError, match="would drop the fraction") as caught:
        lw.jit(lambda n, k: np.full_like(k, n[3]))(np.arange(4.0), np.arange(4, dtype=np.int8))
    assert caught.value.code == "E142"


@pytest.mark.parametrize("x", SCALARS[1:], ids=lambda t: t.__name__)
@pytest.mark.parametrize("y", SCALARS[1:], ids=lambda t: t.__name__)
def test_dtypes_of_ranges_between_two(x, y):
    check(lambda a, b: np.arange(a[1], b[3]), np.arange(4).astype(x), np.arange(4).astype(y))


def test_ranges_of_narrow_steps_do_not_wrap():
    f = lw.jit(lambda a, b: np.arange(a[0], b[0], a[1]))
    assert f(np.array([100, 100], np.int8), np.array([301], np.int16)).tolist() == [100, 200, 300]


# ---- what does not fit ----

WRONG = [
    (lambda x: np.meshgrid(x, x, x), "E153"), (lambda x: np.median(x, 0, None), "E153"), (lambda x: np.unique(x, True, False, False, None, True), "E153"),
    (lambda x: np.cov(x, False), "E120: `numpy.cov` needs an array of numbers, or None"), (lambda x: np.outer([1.0, 2.0], x), r"`np.array\(\[1.0,2.0\]\)` is an array|is an array"),
    (lambda x: np.flip(x, 1), "E124"), (lambda x: np.argmin(x, 0, None, True), "E153"),
]


@pytest.mark.parametrize("f, words", WRONG, ids=range(len(WRONG)))
def test_errors_while_it_is_compiled(f, words):
    with pytest.raises(errors.CompileError, match=words):
        lw.jit(f)(X)


RAISED = [
    (lambda x: np.repeat(x, [1, 2]), r"shape \(4,\) \(2,\)"), (lambda x: np.repeat(x, [1, 2, -1, 0]), "negative"), (lambda x: np.repeat(x, -1), "negative"),
    (lambda x: np.concatenate((x, x[None, :])), "dimensions"), (lambda x: np.stack((x, x[:2])), "same shape"), (lambda x: x.astype(np.int8, casting="safe"), "unsafe"),
    (lambda x: np.array([x[0], 1], copy=False), "Unable to avoid copy"), (lambda x: np.array(x, np.float32, copy=False), "Unable to avoid copy"),
    (lambda x: np.cov(x[None, :]), "one variable"), (lambda x: np.reshape(x, 4, "A"), "orders"), (lambda x: np.full((2, 3), x), "broadcast|shape"),
]


@pytest.mark.parametrize("f, words", RAISED, ids=range(len(RAISED)))
def test_errors_while_it_runs(f, words):
    with pytest.raises(ValueError, match=words):
        lw.jit(f)(X)


def product(m):
    return m @ np.ones((3, 3))


def through(m):
    return product(m)


def stored(m):
    m[[0, 5]] = 2.0
    return m


PLACES = [
    (product, ValueError, "shapes not aligned: 4 (dim 1) != 3 (dim 0)", product), (through, ValueError, "shapes not aligned: 4 (dim 1) != 3 (dim 0)", product),
    (lambda m: np.dot(m[0], np.ones(3)), ValueError, "shapes (4,) and (3,) not aligned: the lengths differ", None),
    (lambda m: m.reshape(5), ValueError, "cannot reshape array of size 12 into shape (5,)", None),
    (lambda m: m.reshape(5, 2), ValueError, "cannot reshape array of size 12 into a shape of 10 elements", None),
    (lambda m: np.broadcast_to(m, (2, 4)), ValueError, "operands could not be broadcast together with remapped shapes: an axis of 3 does not become one of 2", None),
    (lambda m: m[[0, 5]], IndexError, "index 5 is out of bounds for axis with size 3", None), (stored, IndexError, "index 5 is out of bounds for axis with size 3", None),
    (lambda m: m[m[0] > 0], IndexError, "boolean index did not match indexed array: the size of the axis is 3, that of the index 4", None),
    (lambda m: np.mean(m) + m[:0].max(), ValueError, "zero-size array to reduction operation maximum which has no identity", None),
    (lambda m: max(m[0][:0]), ValueError, "max() iterable argument is empty", None), (lambda m: np.quantile(m, 1.5), ValueError, "Quantiles must be in the range [0, 1]", None),
]


@pytest.mark.parametrize("f, error, words, at", PLACES, ids=range(len(PLACES)))
def test_errors_name_the_users_line(f, error, words, at):
    """The error does not name the line of lanewise's own function that raises it."""
    with pytest.raises(error) as caught:
        lw.jit(f)(M.copy())
    place = (at or f).__code__
    assert str(caught.value).startswith(words + " (raised in `")
    assert (caught.value.file, caught.value.function) == (__file__, place.co_name)
    assert place.co_firstlineno <= caught.value.line <= place.co_firstlineno + 2


def test_two_calls_have_two_places():
    def f(m, n):
        a = m.reshape(3, n)
        b = m.reshape(n, 2)
        return a[0, 0] + b[0, 0]

    first = f.__code__.co_firstlineno
    for n, line in ((4, first + 2), (6, first + 1), (5, first + 1)):
        with pytest.raises(ValueError) as caught:
            lw.jit(f)(M.copy(), n)
        assert caught.value.line == line


def test_callbacks_keep_their_own_place():
    def checked(x):
        if x > 5.0:
            raise ValueError("large")
        return x

    def f(m):
        return sum(checked(x) for x in m[1])

    with pytest.raises(ValueError, match="large") as caught:
        lw.jit(f)(M.copy())
    assert caught.value.function == "checked" and caught.value.line == checked.__code__.co_firstlineno + 2


def test_kernels_and_ufuncs_name_the_users_line():
    @lw.vectorize(["f8(f8)"])
    def reshaped(x):
        return np.array([x, 1.0]).reshape(3)[0]

    with pytest.raises(ValueError, match="into shape") as caught:
        reshaped(np.ones(3))
    assert caught.value.function == "reshaped" and caught.value.file == __file__ and caught.value.element == 0

    @lw.forall
    def rows(i, m):
        m[i] = m[[i + 1]][0]

    with pytest.raises(IndexError, match="index 3 is out of bounds") as caught:
        rows(3, M.copy())
    assert caught.value.function == "rows" and caught.value.file == __file__


def test_a_matrix_is_an_array_in_compiled_code():
    m = np.array([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix)
    assert lw.njit(lambda x: x * x)(m).tolist() == [[1.0, 4.0], [9.0, 16.0]]
    assert type(lw.vectorize(lambda x: x + 1)(m)) is np.matrix


@pytest.mark.parametrize("make", [lambda: np.zeros(5, ">f8"), lambda: np.zeros(41, "u1")[1:].view("f8")], ids=["byte order", "odd address"])
def test_a_result_that_is_a_view_of_a_copied_argument(make):
    def f(x):
        x[0] = 7
        return x[1:]

    x = make()
    result = lw.njit(f)(x)
    result[0] = 9
    assert x.tolist() == [7, 0, 0, 0, 0] and result.dtype == "=f8"


OF_LISTS = ["sum", "prod", "mean", "var", "std", "min", "max", "amin", "amax", "ptp", "any", "all", "count_nonzero", "argmin", "argmax", "nansum", "nanprod", "nanmean", "nanvar", "nanstd",
            "nanmin", "nanmax", "cumsum", "cumprod", "nancumsum", "nancumprod", "sort", "argsort", "median", "nanmedian", "diff", "unique", "average", "trapezoid", "ediff1d"]


@pytest.mark.parametrize("name", OF_LISTS)
def test_reductions_of_lists(name):
    f = getattr(np, name)
    for work in (lambda x, y, z: f([x, y, z]), lambda x, y, z: f((x, y, z)), lambda x, y, z: f([[x, y], [z, x]])):
        run = lw.njit(work)
        for numbers in ((1.5, 2.5, -1.0), (3, 1, 2), (1.5, 2, 3)):
            got, wanted = run(*numbers), work(*numbers)
            np.testing.assert_allclose(got, wanted, rtol=1e-15)
            assert np.shape(got) == np.shape(wanted)
    with pytest.raises(lw.errors.TypingError, match="E120.*needs an array of numbers"):
        lw.njit(lambda x: f(x))(1.5)


def test_lists_in_functions_of_elements():
    @lw.vectorize
    def widest(x, y):
        return np.max([x, y, 0.0]) - np.min((x, y)) + np.quantile([x, y], 0.5)

    x, y = np.array([1.0, -2.0]), np.array([3.0, -4.0])
    np.testing.assert_array_equal(widest(x, y), [3.0 - 1 + 2, 0.0 + 4 - 3])
