"""Slices and Ellipsis as values of compiled functions: in variables, in tuples that are indices, as arguments and results, from
outside. All results are Python's."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors, njit

X = np.arange(24.0).reshape(4, 6)
PLACE = (slice(1, 3), slice(None))
BACK = slice(None, None, -1)
EVERY = np.s_[..., ::2]


def compare(f, *args):
    """Compare the compiled function with Python's, including the layout of each result."""
    mine, want = njit(f)(*args), f(*args)
    np.testing.assert_array_equal(mine, want)


def inner(x, at):
    return x[at].sum()


def held(x):
    s = slice(1, 4)
    return x[:, s]


def bounds_of_run_time(x, a, b):
    s = slice(a, b)
    return x[s]


def one_bound(x, b):
    return x[slice(b)]


def backwards(x):
    s = slice(None, None, -1)
    return x[s]


def step_of_run_time(x, k):
    s = slice(None, None, k)
    return x[s]


def index_in_name(x):
    at = (slice(None), 0)
    return x[at]


def index_of_run_time(x, i, j):
    at = (slice(i, None), j)
    return x[at]


def dots(x, i):
    at = (..., i)
    return x[at]


def dots_in_name(x, i):
    e = ...
    return x[e, i]


def none_too(x):
    at = (slice(1, 3), None)
    return x[at]


def from_outside(x):
    return x[PLACE]


def back_from_outside(x):
    return x[BACK]


def s_from_outside(x):
    return x[EVERY]


def windows(x, n):
    out = np.empty(n)
    for i in range(n):
        w = slice(i, i + 3)
        out[i] = x[w].sum()
    return out


def of_tuple(x):
    total = 0.0
    for w in (slice(0, 2), slice(2, 4)):
        total = total * 10 + x[w].max()
    return total


def assigned(x):
    y = x.copy()
    s, at = slice(1, 3), (slice(None), slice(0, 2))
    y[s] = 7.0
    y[at] += 1.0
    y[0, s] = y[1, s]
    return y


def with_array(x, places):
    at = (slice(1, None), places)
    return x[at]


def stored_by_array(x, places):
    y = x.copy()
    at = (slice(1, None), places)
    y[at] = -1.0
    return y


def passed(x):
    return inner(x, slice(1, 2)) + inner(x, (slice(None), 2)) + inner(x, (..., 1)) + inner(x, 1)


@pytest.mark.parametrize("f, args", [
    (held, ()), (bounds_of_run_time, (1, 3)), (bounds_of_run_time, (-3, 100)), (bounds_of_run_time, (3, 1)), (one_bound, (2,)), (backwards, ()),
    (step_of_run_time, (2,)), (step_of_run_time, (-3,)), (index_in_name, ()), (index_of_run_time, (1, 2)), (dots, (3,)), (dots_in_name, (-1,)),
    (none_too, ()), (from_outside, ()), (back_from_outside, ()), (s_from_outside, ()), (of_tuple, ()), (assigned, ()),
    (with_array, (np.array([0, 2, 2]),)), (stored_by_array, (np.array([0, 3]),)), (passed, ()),
], ids=lambda v: getattr(v, "__name__", None))
def test_an_index_held_in_a_name(f, args):
    compare(f, X, *args)
    compare(f, np.asfortranarray(X), *args)
    compare(f, np.arange(48.0).reshape(4, 12)[:, ::2], *args)


def test_windows_of_a_loop():
    compare(windows, np.arange(10.0), 8)


def test_a_held_slice_keeps_the_layout():
    """C order stays C order if it would with the slice in brackets."""
    @njit
    def f(x):
        s, t = slice(1, 3), slice(None)
        return np.ravel(x[s]).shape, x[s, t].reshape(-1).sum(), x[t].ravel().sum()

    assert f(X) == ((12,), X[1:3].sum(), X.sum())


@pytest.mark.parametrize("s", [
    slice(2, 8, 2), slice(5), slice(None), slice(2, None), slice(None, None, -1), slice(8, 2, -2), slice(-3, None), slice(np.int32(1), 4), slice(20, 30),
], ids=str)
def test_slices_from_the_host(s):
    x = np.arange(10.0)

    def f(x, s):
        return x[s], s.start, s.stop, s.step, s.indices(len(x))

    mine, want = njit(f)(x, s), f(x, s)
    np.testing.assert_array_equal(mine[0], want[0])
    assert mine[1:] == want[1:]


def test_tuples_of_slices_from_the_host():
    f = njit(lambda x, at: x[at].copy())
    for at in [(slice(1, 3), slice(None, None, 2)), (slice(None), 2), (slice(None), slice(1, None)), (1, slice(None))]:
        np.testing.assert_array_equal(f(X, at), X[at])
    np.testing.assert_array_equal(njit(lambda x, e: x[e, 1].copy())(X, ...), X[..., 1])


@pytest.mark.parametrize("start", [None, -7, -1, 0, 1, 3, 9])
@pytest.mark.parametrize("stop", [None, -6, -2, 0, 2, 5, 11])
@pytest.mark.parametrize("step", [None, 1, 2, -1, -3])
def test_indices(start, stop, step, f=njit(lambda s, n: s.indices(n))):
    s = slice(start, stop, step)
    for n in (0, 1, 5):
        assert f(s, n) == s.indices(n)


def test_slices_as_results():
    @njit
    def part(i, n, size):
        return slice(i * size // n, (i + 1) * size // n)

    assert part(1, 3, 10) == slice(3, 6)
    assert njit(lambda n: (slice(None), slice(n, None, 2)))(3) == (slice(None), slice(3, None, 2))
    assert njit(lambda s: s)(slice(1, 2)) == slice(1, 2)


def test_slices_are_compared_and_recognised():
    @njit
    def f(n):
        return slice(1, 2) == slice(1, n), slice(1, 2) != slice(1, n), slice(None) == slice(None), isinstance(slice(n), slice), isinstance(n, slice)

    assert f(2) == (True, False, True, True, False)
    assert f(3) == (False, True, True, True, False)


def test_wrong_slices():
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        njit(step_of_run_time)(X, 0)
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        njit(lambda s: s.indices(3))(slice(None, None, 0))
    with pytest.raises(errors.TypingError, match="E120: slice bounds must be integers"):
        njit(one_bound)(X, 1.5)
    with pytest.raises(errors.TypingError, match="E153"):
        njit(lambda x: x[slice()])(X)
    with pytest.raises(errors.TypingError, match="E153"):
        njit(lambda x: x[slice(1, 2, 3, 4)])(X)
    with pytest.raises(TypeError):
        njit(lambda x, s: x[s])(X, slice("a"))

    def store(n):
        s = slice(n)
        s.start = 1
        return s

    with pytest.raises(errors.CompileError):
        njit(store)(3)


def test_in_every_decorator():
    @lw.guvectorize("(n),()->()")
    def head(x, k, out):
        s = slice(None, int(k))
        out[0] = x[s].sum()

    np.testing.assert_array_equal(head(X, 2), X[:, :2].sum(1))

    @lw.forall
    def rows(i, x, at, out):
        out[i] = x[i][at].sum()

    out = np.empty(4)
    rows(4, X, slice(1, None, 2), out)
    np.testing.assert_array_equal(out, X[:, 1::2].sum(1))

    @lw.vectorize(excluded=["x"])
    def mean_of(i, x):
        s = slice(i, i + 2)
        return x[s].mean()

    np.testing.assert_array_equal(mean_of(np.array([0, 2]), np.arange(4.0)), [0.5, 2.5])


# The shape of the array, and an index into it.
INDICES = {
    "slice, array": ((4, 5), (slice(None), np.array([0, 1, 1]))),
    "array, slice": ((4, 3, 5), (np.array([2, 2, 0]), slice(1, None))),
    "array, slice, array": ((4, 3, 5), (np.array([1, 1, 3]), slice(None, None, -1), np.array([0, 2, 0]))),
    "number, slice, array": ((4, 3, 5), (1, slice(0, 2), np.array([0, 2, 2, 0]))),
    "slice, number, array": ((4, 3, 5), (slice(1, 3), 0, np.array([4, 4]))),
    "slice, array, slice": ((4, 3, 5), (slice(1, 3), np.array([[0, 2], [2, 2]]), slice(1, 4))),
    "slice, slice": ((4, 5), (slice(1, 3), slice(None))),
    "slice": ((4, 5), slice(2, None)),
    "dots": ((4, 5), ...),
    "dots, array": ((4, 3, 5), (..., np.array([3, 3, 1]))),
    "dots, slice": ((4, 3, 5), (..., slice(0, 3))),
    "array, dots": ((4, 3, 5), (np.array([0, 0]), ...)),
    "array, none": ((4, 5), (np.array([0, 0]), None)),
    "slice, mask": ((2, 3, 5), (slice(None), np.arange(15).reshape(3, 5) % 2 == 0)),
}


@pytest.mark.parametrize("shape, at", INDICES.values(), ids=INDICES)
@pytest.mark.parametrize("whole", [True, False], ids=["array", "number"])
def test_at_with_slices(shape, at, whole):
    """Slices, `...` and arrays select elements in NumPy's ufunc.at."""
    array = np.arange(float(np.prod(shape))).reshape(shape)
    value = np.arange(float(array[at].size)).reshape(array[at].shape) if whole else 2.0
    want, mine = array.copy(), array.copy()
    np.subtract.at(want, at, value)
    if isinstance(at, tuple) and at[0] is ...:  # dots in a tuple from the host are no argument
        njit(lambda a, i, v: np.subtract.at(a, (..., i), v))(mine, at[1], value)
    elif isinstance(at, tuple) and at[1] is ...:
        njit(lambda a, i, v: np.subtract.at(a, (i, ...), v))(mine, at[0], value)
    else:
        njit(lambda a, at, v: np.subtract.at(a, at, v))(mine, at, value)
    np.testing.assert_array_equal(mine, want)


def test_in_kernels():
    @lw.cuda.jit(target="cpu")
    def sums(x, at, out):
        i = lw.cuda.grid(1)
        s = slice(i, i + 2)
        if i < out.shape[0]:
            total = 0.0
            for v in x[s]:
                total += v
            for v in x[at]:
                total += v
            out[i] = total

    x, out = np.arange(6.0), np.zeros(5)
    sums[1, 8](x, slice(0, None, 2), out)
    np.testing.assert_array_equal(out, [2 * i + 1 + 6.0 for i in range(5)])


@pytest.mark.parametrize("at", [(..., 0), (0, ...), (1, ..., slice(None, None, 2)), (None, ..., 1), (..., slice(1, 3)), ...], ids=str)
def test_an_ellipsis_from_the_host(at):
    x = X.reshape(2, 3, 4)
    f = njit(lambda x, at: x[at])
    np.testing.assert_array_equal(f(x, at), x[at])
    np.testing.assert_array_equal(f(x, (0, None)), x[0, None])  # None and an ellipsis are two kinds of arguments
    np.testing.assert_array_equal(f(x, at), x[at])
    assert njit(lambda at: (at[0] is ..., at[1]))((..., 3)) == (True, 3)


def test_an_ellipsis_is_an_argument_of_kernels():
    @lw.cuda.jit(target="cpu")
    def kernel(x, at, out):
        i = lw.cuda.grid(1)
        if i < out.size:
            out[i] = x[at][i]

    @lw.forall
    def each(i, x, at, out):
        out[i] = x[at][i]

    for f in (kernel[1, 8], lambda *args: each(4, *args)):
        out = np.zeros(4)
        f(X, (..., 2), out)
        assert np.array_equal(out, X[..., 2])


def test_explain_takes_slices(capsys):
    def f(x, at):
        return x[at].sum()

    for function in (f, njit(f), lw.jit(f)):
        text = str(lw.explain(function, X, slice(2)))
        assert "slice(" in text and "x[at].sum()" in text
        assert "x[at]" in str(lw.explain(function, X, (..., 0)))


def test_explain_takes_strings():
    @njit
    def f(x, mode):
        return x if mode == "same" else -x

    assert "mode == " in str(lw.explain(f, 1.0, "same"))
