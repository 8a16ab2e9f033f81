"""Variables and results that are None on some paths: numba's Optional. Results are CPython's."""

import math
import pickle

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


def above(x, least):
    return x if x > least else None


def matched(x, flag):
    n = 0
    match above(x[0, 1], 0 if flag else 3):
        case None:
            n = 1
        case 1 | 7:
            n = 2
        case v if v > 100:
            n = 3
    match above(x[0, 1], 0 if flag else 3), 2:
        case None, 2:
            n += 10
        case v, 2:
            n += 20 + v
    match above(x[0, 1], 0 if flag else 3):
        case (a, b):
            n += 1000
    match above(x[0, 1], 0 if flag else 3):
        case None | 8:
            return n, -1.0
        case v:
            return n, v


def contained(x, flag):
    v, w = above(x[0, 1], 0 if flag else 3), above(x[0, 0], -1 if flag else 2)
    return (v in (1, 3), v in (None, 3), v not in (1, 3), None in (v, 2), 1 in (v, w), v in (w, 5), v in (w, None), None not in (1, 2),
            v in LONG, v not in LONG, None in LONG)


LONG = tuple(range(100))


def both_equal(x, flag):
    u, v, w = above(1.0, 0 if flag else 3), above(1.0, 0), above(2.0, 5)
    return u == v, u != v, u == w, u != w, v == w, v == v, w == w, (u, 1) == (v, 1), (u, 1) != (w, 1), (u, 1) == (None, 1), (u, 1) == (1, 1)


def of_slices(x, flag):
    b = 2 if flag else None
    s = slice(None, b) if flag else slice(1, b, None)
    return x[0][slice(None, b)].sum() + 10 * x[0][s].sum(), x[0][slice(b, None)].sum(), s.stop is None, s.start is None


def kept_in_a_tuple(x, flag):
    t = (above(x[0, 1], 0 if flag else 3), 2, (above(1.0, 2), "text"))
    if t[0] is None:
        return t
    a, b, (c, d) = t
    return a + b, 3, (c, d)


def joined_tuples(x, flag):
    if flag:
        t = (None, x[0, 1], 1)
    else:
        t = (x[0, 2], None, 2)
    return t[0] is None, t[1], t[2], t


def chosen_tuple(x, flag):
    t = (None, 1.0) if flag else (2.0, 3.0)
    u = (t[0] or 5.0, t)
    return first_or_five(t), u, first_or_five((None, 1.0)), len(t)


def first_or_five(t):
    return 5.0 if t[0] is None else t[0]


def indexed_item(x, flag):
    t = (None, x[0, 1], above(1.0, 0 if flag else 3))
    s = 0.0
    for i in range(3):
        if t[i] is not None:
            s += t[i]
    for v in t:
        s += 10.0 if v is None else v
    return s, t[2 if flag else 0]


FUNCTIONS = [in_parallel, matched, contained, both_equal, of_slices, kept_in_a_tuple, joined_tuples, chosen_tuple, indexed_item, exchanged, bounds, recursion, first_or, row_or_none, array_result, filled_in, chosen, chosen_and_used, passed_on, to_a_function, truth, or_value, equal, counted,
             tuple_or_none, nested]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("typing", ["weak", "numba"])
def test_none_on_one_path(f, flag, typing):
    mine, want = njit(typing=typing)(f)(X, flag), f(X, flag)
    if want is None or isinstance(want, tuple):
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
        if isinstance(want, tuple):
            assert mine == want
        elif want is not None:
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


def test_none_is_shown(capsys):
    def f(x, flag):
        v = x if flag else None
        name = "text" if flag else None
        c = x * 1j if flag else None
        print(v, name, (v, name, 1), c, sep="; ")
        print(f"{v}|{name}|{name!r}|{(v, name)}", name)

    for flag in (True, False):
        f(1.5, flag)
        want = capsys.readouterr().out
        njit(f)(1.5, flag)
        assert capsys.readouterr().out == want


class Missing(Exception):
    def __init__(self, value, name):
        self.value, self.name = value, name


def test_exceptions_carry_none():
    def plain(x, flag):
        raise ValueError(x if flag else None)

    def formatted(x, flag):
        raise ValueError(f"bad {x if flag else None}")

    for f in (plain, formatted):
        for flag in (True, False):
            with pytest.raises(ValueError) as want:
                f(2, flag)
            with pytest.raises(ValueError) as mine:
                njit(f)(2, flag)
            assert str(mine.value).startswith(str(want.value) + " (raised")

    @njit
    def own(x, flag):
        raise Missing(x if flag else None, None)

    with pytest.raises(Missing) as caught:
        own(2, False)
    assert caught.value.value is None and caught.value.name is None
    with pytest.raises(Missing) as caught:
        own(2, True)
    assert caught.value.value == 2


def test_tuples_with_none_have_no_order():
    @njit
    def f(x, flag):
        return (x if flag else None, 1) < (2.0, 1)

    assert f(1.0, True)
    with pytest.raises(TypeError, match="expected float64, got None"):
        f(1.0, False)


def test_slices_and_items_of_tuples_with_none():
    def f(x, flag):
        t = (above(x, 0 if flag else 9), 2.0, None, (above(x, 0 if flag else 9), 3.0))
        u = t[:3]
        i = 1 if flag else 2
        pairs = ((above(x, 9), 1.0), (2.0, 3.0), (x, None))
        return u, t[1:][0], t[3], t[-1][1], u[1:] == (2.0, None), pairs[i], max(pairs[1])

    for flag in (True, False):
        assert njit(f)(1.0, flag) == f(1.0, flag)

    @njit
    def largest_of(i):
        return max(((None, 1.0), (2.0, 3.0))[i])

    assert largest_of(1) == 3.0
    with pytest.raises(TypeError, match="expected float64, got None"):
        largest_of(0)


def test_a_tuple_is_used_where_its_items_are_needed():
    @njit
    def f(x, flag):
        t = (x if flag else None, 2.0)
        return max(t) + sum(t)

    assert f(3.0, True) == 8.0
    with pytest.raises(TypeError, match="expected float64, got None"):
        f(3.0, False)

    @njit
    def g(x, flag):
        t = ((x[0] if flag else None), x[1])
        return np.concatenate(t)

    assert np.array_equal(g(X, True), X.ravel())
    with pytest.raises(TypeError, match="expected array"):
        g(X, False)


def test_other_decorators():
    @lw.vectorize
    def kinds(x):
        v = above(x, 1)
        t = (v, x)
        match v:
            case None:
                return -1.0
            case 3:
                return 30.0
        return t[1] if t[0] in (2, 4, None) else 0.0

    np.testing.assert_array_equal(kinds(np.array([0.0, 2.0, 3.0, 4.0, 5.0])), [-1, 2, 30, 4, 0])

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
    def identical(x, a, b):
        u = x if a else None
        v = x if b else None
        return u is v

    with pytest.raises(errors.TypingError, match="E120: `is` of values that may be None"):
        identical(1.0, True, False)

    @njit
    def pattern(x, a):
        match ((x, 1) if a else None, 2):
            case (y, 1), 2:
                return y
        return 0.0

    with pytest.raises(errors.TypingError, match="E120: a pattern of items and a value that may be None"):
        pattern(1.0, True)



# ---- in signatures ----


def test_optional_arguments_of_signatures():
    @njit(lw.types.int64[:](lw.uint64, lw.optional(lw.uint64)))
    def drawn(n, seed):
        if seed is not None:
            n += seed
        return np.full(n, 7)

    assert drawn(2, None).tolist() == [7, 7] and drawn(1, 2).tolist() == [7, 7, 7]
    assert drawn.signatures == ["int64[:](uint64, uint64)", "int64[:](uint64, none)"]
    with pytest.raises(TypeError, match="E181"):
        drawn(2, "a")

    @njit
    def both(seed):
        return drawn(np.uint64(1), None).size, drawn(np.uint64(1), seed).size

    assert both(2) == (1, 3)

    @njit("(f8, optional(i8))")
    def scaled(x, n=None):
        return x if n is None else x * n

    assert (scaled(2.0), scaled(2.0, None), scaled(2.0, 3)) == (2.0, 2.0, 6.0)
    with lw.config(target="cpu"):
        @lw.cuda.jit("void(f8[:], optional(f8))")
        def put(x, y):
            x[0] = -1.0 if y is None else y

        x = np.zeros(2)
        put[1, 1](x, None)
        assert x[0] == -1
        put[1, 1](x, 3)
        assert x[0] == 3


def test_optional_types():
    of_arrays = lw.types.Optional(lw.int64[:])
    assert str(of_arrays) == "optional(int64[:])" and of_arrays.type == lw.int64[:] and lw.optional is lw.types.Optional
    assert isinstance(of_arrays, lw.types.Optional) and not isinstance(lw.int64[:], lw.types.Optional) and of_arrays != lw.types.Optional(lw.int64[::1])
    assert pickle.loads(pickle.dumps(of_arrays)) == of_arrays and hash(of_arrays) == hash(lw.types.Optional(lw.int64[:]))
    with pytest.raises(AttributeError, match="int64 is not optional"):
        lw.int64.type
    with pytest.raises(TypeError, match="item 0 must be a type"):
        lw.types.Tuple((of_arrays,))
    assert len(njit("f8(optional(f8), optional(f8), optional(f8))")(lambda a, b, c: 1.0).signatures) == 8


@pytest.mark.parametrize("signature, says", [
    ("optional(f8)(f8)", "leave the result out"), (f"f8({', '.join(['optional(f8)'] * 6)})", "at most 5 optional"), ("f8(Tuple(f8, optional(f8)))", "only whole arguments"),
])
def test_optional_types_that_signatures_cannot_have(signature, says):
    with pytest.raises(errors.SignatureError, match=says):
        njit(signature)(lambda a, b, c, d, e, f: 1.0)


def test_ufuncs_have_no_optional_operands():
    with pytest.raises(errors.SignatureError, match=r"must be a scalar, not `optional\(float64\)`"):
        lw.vectorize("f8(optional(f8))")(lambda x: 1.0)
