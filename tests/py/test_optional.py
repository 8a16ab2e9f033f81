"""Variables and results that are None on some paths: numba's Optional. Results are CPython's."""

import math

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors, njit

X = np.arange(6.0).reshape(2, 3)


def first_or(x, flag):
    out = None
    if flag:
        out = x[0, 1]
    if out is None:
        return -1.0
    return out


def find(x, v):
    for i in range(x.shape[1]):
        if x[0, i] == v:
            return i
    return None


def no_return_at_the_end(x, v):
    for i in range(x.shape[1]):
        if x[0, i] == v:
            return x[1, i]


def bare_return(x, v):
    if v < 0:
        return
    return x[0, 0] + v


def largest(x, least):
    best = None
    for v in x[0]:
        if v >= least and (best is None or v > best):
            best = v
    return best


def row_or_none(x, flag):
    out = None
    if flag:
        out = x[1]
    if out is None:
        return 0.0
    return out.sum()


def array_result(x, flag):
    if flag:
        return x[1] * 2
    return None


def filled_in(x, flag):
    out = None
    if flag:
        out = x[0] + 1
    if out is None:
        out = np.zeros(3)
    return out


def chosen(x, flag):
    out = x[0, 2] if flag else None
    return out


def chosen_and_used(x, flag):
    out = x[0, 2] if flag else None
    return out + 1 if out is not None else 100.0


def passed_on(x, flag):
    a = None
    if flag:
        a = x[0, 1]
    b = a
    c = b
    return c


def helper(v):
    if v is None:
        return -7.0
    return v * 2


def to_a_function(x, flag):
    out = None
    if flag:
        out = x[0, 2]
    return helper(out)


def from_a_function(x, v):
    i = find(x, v)
    if i is None:
        return -1
    return i * 10


def truth(x, flag):
    out = None
    if flag:
        out = x[0, 2]
    if out:
        return 1
    if not out:
        return 2
    return 3


def or_value(x, flag):
    out = None
    if flag:
        out = x[0, 2]
    return (out or 5.0) + 1


def equal(x, flag):
    out = None
    if flag:
        out = x[0, 2]
    return out == 2.0, out != 2.0, 2.0 == out, out == 3.0, out == None  # noqa: E711


def counted(x, flag):
    n = None
    for i in range(4):
        if n is None:
            if flag:
                n = i
        else:
            n += 2
    return n


def tuple_or_none(x, flag):
    best = None
    for i in range(3):
        if flag and (best is None or x[1, i] > best[1]):
            best = (i, x[1, i])
    return best


def nested(x, flag):
    out = None
    if flag:
        out = x[0, 1]

    def inner(k):
        return k if out is None else out + k

    return inner(1.0)


def in_parallel(x, flag):
    out, k = np.zeros(2), None
    if flag:
        k = 2.0
    for i in lw.prange(2):
        best = None
        for v in x[i]:
            if v != 1 and (best is None or v > best):
                best = v
        if k is not None:
            out[i] = best * k
        else:
            out[i] = -1.0 if best is None else best
    return out


def exchanged(x, flag):
    a, b = None, x[0, 1]
    for _ in range(3 if flag else 2):
        a, b = b, a
    return a, b


def bounds(x, flag):
    n, start = None, None
    if flag:
        n, start = 2, -1
    return x[0][:n].sum() + 10 * x[0][start:].sum() + 100 * x[0][::-1][start:n].sum()


def recursive(n):
    if n < 0:
        return None
    if n == 0:
        return 0
    r = recursive(n - 2)
    if r is None:
        return None
    return r + 1


def recursion(x, flag):
    return recursive(6 if flag else 5)


FUNCTIONS = [in_parallel, exchanged, bounds, recursion, first_or, row_or_none, array_result, filled_in, chosen, chosen_and_used, passed_on, to_a_function, truth, or_value, equal, counted,
             tuple_or_none, nested]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("typing", ["weak", "numba"])
def test_none_on_one_path(f, flag, typing):
    mine, want = njit(typing=typing)(f)(X, flag), f(X, flag)
    if want is None or f is exchanged:
        assert mine == want
    else:
        np.testing.assert_array_equal(mine, want)
        assert isinstance(mine, np.ndarray) == isinstance(want, np.ndarray)


@pytest.mark.parametrize("f", [find, no_return_at_the_end, bare_return, largest, from_a_function], ids=lambda f: f.__name__)
@pytest.mark.parametrize("v", [1.0, 2.0, 9.0, -1.0])
def test_results_that_may_be_none(f, v):
    mine, want = njit(f)(X, v), f(X, v)
    assert mine == want and (mine is None) == (want is None)


def test_none_where_a_value_is_needed():
    @njit
    def f(x, flag):
        out = None
        if flag:
            out = x[0, 1]
        return out + 1

    assert f(X, True) == 2.0
    with pytest.raises(TypeError, match="expected float64, got None") as raised:
        f(X, False)
    assert "test_optional.py" in str(raised.value) and "`f`" in str(raised.value)

    @njit
    def g(x, flag):
        out = None
        if flag:
            out = x[0]
        return out[1], out.sum(), len(out)

    assert g(X, True) == (1.0, 3.0, 3)
    with pytest.raises(TypeError, match=r"expected array\(float64, 1d, C\), got None"):
        g(X, False)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_checks_change_nothing(f):
    for flag in (True, False):
        mine, want = njit(check={"bounds", "overflow", "divide"})(f)(X, flag), f(X, flag)
        assert (mine is None) == (want is None)
        if want is not None and f is not exchanged:
            np.testing.assert_array_equal(mine, want)


def test_signatures_name_it():
    f = njit(find)
    f(X, 1.0)
    assert f.signatures == ["Optional(int64)(float64[:, ::1], float)"]


def test_memory_of_arrays_is_given_back():
    from lanewise.runtime import memsys_disable_stats, memsys_enable_stats, rtsys

    f, g = njit(filled_in), njit(array_result)
    memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    for flag in (True, False) * 50:
        f(X, flag), g(X, flag)
    after = rtsys.get_allocation_stats()
    memsys_disable_stats()
    assert after.alloc > before.alloc and after.alloc - before.alloc == after.free - before.free


def test_other_decorators():
    @lw.vectorize
    def clipped(x, least):
        out = None
        if x > least:
            out = x
        return 0.0 if out is None else out * 2

    @lw.vectorize
    def kept(x, least):
        out = None
        if x > least:
            out = x
        if least < 0:
            return -1.0 if out is None else out
        if least < 2:
            return out if out is not None else -2.0
        if out is None:
            return -3.0
        return out

    np.testing.assert_array_equal(kept(np.array([1.0, 3.0, -5.0, 1.5, 0.5]), np.array([2.0, 2.0, -1.0, 1.0, 1.0])), [-3, 3, -1, 1.5, -2])

    np.testing.assert_array_equal(clipped(np.array([1.0, 3.0]), 2.0), [0.0, 6.0])

    @lw.guvectorize("(n)->()")
    def best(x, out):
        b = None
        for v in x:
            if not math.isnan(v) and (b is None or v > b):
                b = v
        out[0] = -1.0 if b is None else b

    np.testing.assert_array_equal(best(np.array([[1.0, np.nan, 3.0], [np.nan] * 3])), [3.0, -1.0])
    with pytest.raises(errors.TypingError, match="E112"):
        lw.vectorize(lambda x: x if x > 0 else None)(1.0)

    @lw.vectorize
    def missing(x):
        if x > 0:
            return x

    with pytest.raises(errors.TypingError, match="E112"):
        missing(1.0)

    with pytest.raises(errors.CompileError, match="E142"):
        njit("float64(float64)")(lambda x: x if x > 0 else None)
    with pytest.raises(errors.CompileError, match="E112"):
        lw.reduce(lambda a, b: a + b if a > 0 else None)(np.array([1.0, 2.0]))


def test_what_cannot_be_missing():
    class Point:
        def __init__(self, x):
            self.x = x

    @njit
    def f(flag):
        p = None
        if flag:
            p = Point(1.0)
        return p is None

    with pytest.raises(errors.TypingError, match="E140"):
        f(True)

    @njit
    def both(x, a, b):
        u = x if a else None
        v = x if b else None
        return u == v

    with pytest.raises(errors.TypingError, match="E120: `==` of values that may be None"):
        both(1.0, True, False)
