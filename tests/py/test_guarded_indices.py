"""Indices outside of tuples, constants and excluded arrays, in functions that can raise exceptions at no cost to loops over arrays."""

from __future__ import annotations

import collections
import enum
import math
import re
import sys

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

T = np.array([0, 1, 2, 3, 4])
GRID = np.arange(12.0).reshape(3, 4)
P = (1.0, 2.0, 3.0)


def of_table(i):
    return T[i]


def of_tuple(i):
    return P[i]


def of_grid(i, j):
    return GRID[i, j]


def of_row(i, j):
    row = GRID[i]
    return row[j]


def item(a, i):
    return a[i]


def of_helper(i):
    return item(T, i) + 1


def under_a_test(i):
    return T[i] if i < 100 else -1


def nested(i):
    return T[T[i]]


def mathematical(i):
    return math.exp(-float(T[i]))


CONSTANTS = [(of_table, ([3, -5, 0, 4],), ([3, 5],), ([-6, 3],)), (of_tuple, ([2, -3],), ([0, 3],), ([-4, 0],)), (of_grid, ([2, -3], [3, -4]), ([1, 1], [0, 4]), ([3, 0], [0, 0])),
             (of_row, ([2, -3], [3, -4]), ([1, 1], [0, 4]), ([3, 0], [0, 0])), (of_helper, ([4, -5],), ([5, 0],), ([0, -6],)),
             (under_a_test, ([4, -5, 100],), ([5, 0],), ([0, -6],)), (nested, ([4, -5],), ([5, 0],), ([0, -6],)), (mathematical, ([4, -5],), ([5, 0],), ([0, -6],))]


@pytest.mark.parametrize("function, inside, above, below", CONSTANTS, ids=lambda v: getattr(v, "__name__", ""))
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8"])
def test_constants(function, inside, above, below, dtype):
    f = lw.vectorize(function)
    inside, above, below = ([np.array(a, dtype) for a in case] for case in (inside, above, below))
    expected = [function(*items) for items in zip(*(a.tolist() for a in inside))]
    assert np.allclose(f(*inside), expected, rtol=1e-15)
    for n in (1, 100):
        for case in (above, below):
            case = [np.concatenate([np.zeros(37 * (n - 1), dtype), a]) for a in case]
            bad = [i for i, items in enumerate(zip(*case)) if not works(function, *items)]
            with pytest.raises(IndexError, match=f"out of .*test_guarded_indices.py.*element {bad[0]}"):
                f(*case)
    with pytest.raises(IndexError):
        f(*(a[0] if not works(function, *(b[0] for b in above)) else a[1] for a in above))  # numbers


def works(function, *items):
    try:
        function(*items)
    except IndexError:
        return False
    return True


def test_unsigned_indices():
    f = lw.vectorize(of_table)
    assert f(np.array([0, 4], np.uint8)).tolist() == [0, 4]
    for dtype, i in [("u1", 5), ("u1", 255), ("u4", 2**32 - 1), ("u8", 2**63), ("u8", 2**64 - 1), ("i8", 2**63 - 1), ("i8", -2**63)]:
        with pytest.raises(IndexError):
            f(np.array([0, i], dtype))


def test_errors_option():
    assert lw.vectorize(of_table, errors="ignore")([3, 10, -1, -10]).tolist() == [3, 4, 4, 0]
    assert lw.vectorize(of_tuple, errors="ignore")([3, -9]).tolist() == [3, 1]
    with pytest.raises(IndexError):
        lw.vectorize(of_table, errors="defer")([3, 10])


def test_declared_signatures_and_outputs():
    f = lw.vectorize(["i8(i8)"])(of_table)
    out = np.full(4, 9)
    with pytest.raises(IndexError, match="element 2"):
        f([1, 2, 10, 3], out=out)
    assert f([1, 2], where=[True, False], out=out[:2])[0] == 1


# ---- excluded arrays ----

EXCLUDED = [np.arange(5.0), np.arange(10.0)[::2], np.arange(5.0)[::-1], np.arange(5, dtype=np.uint8), np.arange(5) * 1j]


@pytest.mark.parametrize("a", EXCLUDED, ids=range(5))
def test_excluded_arrays(a):
    f = lw.vectorize(item, excluded={"a"})
    assert f(a, [0, 4, -5]).tolist() == [a[0], a[4], a[-5]]
    for bad in (5, -6, 2**40, -2**63):
        with pytest.raises(IndexError, match="axis 0 .*element 1"):
            f(a, [0, bad])
    with pytest.raises(IndexError):
        f(a[:0], [0, 0])
    assert f(a[:0], np.zeros(0, int)).shape == (0,)


@lw.vectorize(excluded={"a"})
def corner(a, i, j):
    return a[i, j]


@lw.vectorize(excluded={"a"})
def corner_of_a_view(a, i, j):
    return item(a[i], j)


@lw.vectorize(excluded={"a"})
def corner_of_a_part(a, i, j):
    part = a[1:]
    return part[i - 1, j]


@pytest.mark.parametrize("f", [corner, corner_of_a_view, corner_of_a_part], ids=lambda f: f.__name__)
@pytest.mark.parametrize("order", ["C", "F"])
def test_axes(f, order):
    a = np.asarray(GRID, order=order)
    assert f(a, [1, 2], [0, -4]).tolist() == [4, 8]
    for i, j in ((3, 0), (1, 4), (1, -5), (9, 9)):
        with pytest.raises(IndexError, match="element 1"):
            f(a, [1, i], [0, j])


def test_writing():
    def put(a, i):
        a[i] = 7
        return i

    f = lw.vectorize(put, excluded={"a"})
    whole = np.zeros(9)
    with pytest.raises(IndexError, match="element 1"):
        f(whole[3:6], [0, 3, 4])
    with pytest.raises(IndexError):
        f(whole[3:6], [-4])
    assert whole[:3].tolist() == whole[6:].tolist() == [0, 0, 0]


def test_an_endless_search_ends():
    def search(a, x):
        k = 0
        while a[k] < x:
            k += 1
        return k

    f = lw.vectorize(search, excluded={"a"})
    assert f(np.arange(5.0), [2.5, 0]).tolist() == [3, 0]
    with pytest.raises(IndexError, match="element 1"):
        f(np.arange(5.0), [2.5, 9])


def test_the_first_error_is_told_of():
    def both(a, i):
        v = a[i]
        if i > 3:
            raise ValueError("too large")
        return v

    f = lw.vectorize(both, excluded={"a"})
    with pytest.raises(IndexError):
        f(np.arange(5.0), [9])
    with pytest.raises(ValueError, match="too large"):
        f(np.arange(5.0), [4])


# ---- cores ----

def test_cores():
    @lw.guvectorize("(n)->()", excluded={"a"})
    def gathered(a, x, out):
        total = 0.0
        for k in range(x.shape[0]):
            total += a[x[k]]
        out[0] = total

    @lw.guvectorize("(n)->()")
    def first(x, out):
        out[0] = T[x[0]]

    assert gathered(np.arange(5.0), [[0, 4], [1, -1]]).tolist() == [4, 5]
    assert first([[4], [0]]).tolist() == [4, 0]
    with pytest.raises(IndexError, match="test_guarded_indices.py"):
        first([[4], [5]])


def test_excluded_arrays_of_cores_are_checked_when_asked():
    @lw.guvectorize("(n)->()", excluded={"a"}, check={"bounds"})
    def gathered(a, x, out):
        out[0] = a[x[0]] + a[x[1]]

    assert gathered(np.arange(5.0), [[0, 4], [1, -1]]).tolist() == [4, 5]
    with pytest.raises(IndexError, match="test_guarded_indices.py"):
        gathered(np.arange(5.0), [[0, 4], [1, 5]])


# ---- functions that are called on the host, and reductions ----

Color = enum.Enum("Color", "RED GREEN")
COLORS = (Color.RED, Color.GREEN)
WORDS = ["low", "high"]
LONG = tuple(range(100))
Pair = collections.namedtuple("Pair", "x y")


def of_long(i):
    return LONG[i]


def of_colors(i):
    return COLORS[i]


def of_words(i):
    return WORDS[i]


def of_local(i):
    t = (i, i + 1, 2.5)
    return t[i]


def of_shape(i, x):
    return x.shape[i]


def of_strides(i, x):
    return x.strides[i]


def of_nested(i, j):
    t = ((1, 2), (3, 4), (5, 6))
    return t[i][j]


def of_a_closure(i, t):
    def inner(k):
        return t[k]

    return inner(i)


def in_a_condition(i, c):
    return P[i] if c else 0.0


def in_an_index(i, x):
    x[(0, 1)[i]] = 7.0
    return x[1]


def by_recursion(i, t):
    return 0 if i == 0 else t[i] + by_recursion(i - 1, t)


ITEMS = [(of_table,), (of_tuple,), (of_long,), (of_colors,), (of_words,), (of_local,), (of_shape, np.zeros((2, 3))), (of_strides, np.zeros((2, 3))), (of_nested, 1), (of_nested, 2), (of_a_closure, (1, 2, 3)),
         (of_a_closure, [1, 2, 3]), (of_a_closure, Pair(1, 2)), (of_a_closure, (np.zeros(2), np.ones(3))), (in_a_condition, False), (in_a_condition, True), (in_an_index, np.zeros(2)), (by_recursion, (1, 2, 3)), (item, (1, 2, None))]


@pytest.mark.parametrize("case", ITEMS, ids=lambda case: case[0].__name__)
def test_functions_on_the_host(case):
    function, *others = case
    f = lw.njit(function)
    for i in [*range(-5, 6), 99, 100, -100, -101] if function is not by_recursion else [0, 1, 2, 3, 4]:
        arguments = (others[0], i) if function is item else (i, *others)
        try:
            expected = function(*arguments)
        except IndexError as error:
            with pytest.raises(IndexError, match="out of bounds" if function is of_table else str(error)):
                f(*arguments)
        else:
            assert np.array_equal(f(*arguments), expected), i


def test_loops_on_the_host():
    @lw.njit
    def total(x):
        s = 0.0
        for i in lw.prange(len(x)):
            s += P[x[i]]
        return s

    good = np.tile([0, -3, 2], 1000)
    assert total(good) == 5000.0
    for at in (0, 1500, 2999):
        bad = good.copy()
        bad[at] = 3
        with pytest.raises(IndexError, match="tuple index out of range .*test_guarded_indices.py"):
            total(bad)
    assert lw.njit(errors="ignore")(of_tuple)(9) == 3.0


def test_functions_of_c():
    shown = []
    hook, sys.unraisablehook = sys.unraisablehook, shown.append
    try:
        function = lw.cfunc("float64(int64)")(of_tuple)
        assert function.ctypes(1) == 2.0
        assert function.ctypes(3) == 0.0
    finally:
        sys.unraisablehook = hook
    assert [unraisable.exc_type for unraisable in shown] == [IndexError]


def test_reductions():
    @lw.reduce(identity=0, map=of_table)
    def of_tables(a, b):
        return a + b

    @lw.reduce(identity=0, map=lambda i: (1, 2, 3, 4, 5)[i])
    def of_tuples(a, b):
        return a + b

    for f, expected in ((of_tables, 10), (of_tuples, 15)):
        assert f(np.arange(5)) == f(np.arange(-5, 0)) == expected
        for i in (5, -6):
            with pytest.raises(IndexError, match="out of .*test_guarded_indices.py"):
                f(np.append(np.zeros(1000, int), i))


def test_kernels_check_tuples_as_they_check_arrays():
    def gathered(x, out):
        i = cuda.grid(1)
        out[i] = P[x[i]]

    x, out = np.array([1, 3, -4]), np.zeros(3)
    lw.jit(gathered)[1, 3](x, out)
    assert out.tolist() == [2, 3, 1]
    with pytest.raises(IndexError, match="tuple index out of range"):
        lw.jit(gathered, check={"bounds"})[1, 3](x, out)


# ---- what needs no check ----

PROVED = [("i8", lambda i: T[i & 3]), ("i8", lambda i: T[i % 5]), ("i8", lambda i: T[min(max(i, 0), 4)]), ("i8", lambda i: T[-5 + i % 10]), ("u1", lambda i: GRID[i >> 7, i & 3]),
          ("u1", lambda i: T[i // 60]), ("i8", lambda i: T[1] + i), ("i4", lambda i: P[i % 3]), ("i8", lambda i: sum(T[k] for k in range(5)) + i), ("i2", lambda i: T[int(i > 3)]),
          ("i8", lambda i: T[np.uint8(i) % 5]), ("i8", lambda i: T[-(i % 6)]), ("i8", lambda i: sum(T[-k] for k in range(len(T))) + i)]
DOUBTED = [("i8", lambda i: T[i & 7]), ("i8", lambda i: T[i % 6]), ("i8", lambda i: T[min(i, 4)]), ("i8", lambda i: T[max(i, 0)]), ("u1", lambda i: T[i >> 5]), ("i4", lambda i: P[i]),
           ("i8", lambda i: T[np.fmod(i, 5) + 5 if i > 3 else np.fmod(i, 5)]), ("i1", lambda i: T[i + 3]), ("i1", lambda i: T[np.int8(i * 50) & -2])]


@pytest.mark.parametrize("types, function", PROVED)
def test_indices_that_are_surely_inside(types, function):
    f = lw.vectorize(function)
    i = np.arange(-128, 128).astype(types)
    for k, value in zip(i.tolist(), f(i).tolist()):
        assert value == function(np.dtype(types).type(k))
    assert not raises(f)


@pytest.mark.parametrize("types, function", DOUBTED)
def test_indices_that_may_be_outside(types, function):
    f = lw.vectorize(function)
    bad = [k for k in np.arange(-128, 128).astype(types) if not works(function, k)]
    assert bad
    for k in bad:
        with pytest.raises(IndexError):
            f(k)
    assert raises(f)


def test_a_loop_over_an_excluded_array():
    @lw.vectorize(excluded={"a"})
    def total(a, x):
        for k in range(len(a)):
            x += a[k]
        return x

    assert total(np.arange(5.0), [0.0, 1.0]).tolist() == [10, 11]


def raises(f):
    """Whether the compiled code has a status that callers check."""
    return re.search(r"define internal \{ i32, .*@lw_body", f.inspect_llvm()) is not None


# ---- views of constants ----

RECORDS = np.array([(1, 2.0), (3, 4.0)], [("a", "i4"), ("b", "f8")])
TUPLE = (10, 20, 30)
LONG = tuple(range(5000))
LONGER = tuple(range(70_000))
VIEWS = {
    "slice": (lambda i: T[1:4][i], [1, 2, 3]), "steps": (lambda i: T[::2][i], [0, 2, 4]), "reversed": (lambda i: T[::-1][i], [4, 3, 2, 1, 0]),
    "transposed": (lambda i: GRID.T[i, 1], [4.0, 5.0, 6.0, 7.0]), "row": (lambda i: GRID[1:][0, i], [4.0, 5.0, 6.0, 7.0]), "field": (lambda i: RECORDS["b"][i], [2.0, 4.0]),
    "new axis": (lambda i: T[None, :][0, i], [0, 1, 2, 3, 4]), "helper": (lambda i: item(T[2:], i), [2, 3, 4]),
    "variable": (lambda i: (T[1:] if i < 100 else T[2:])[i], [1, 2, 3, 4]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_tables(name, target):
    function, items = VIEWS[name]
    f, n = lw.vectorize(function), len(items)
    inside = np.arange(-n, n)
    if target == "cuda":
        inside = lw.cuda.to_device(inside)
    got = f(inside)
    assert np.array_equal(got.copy_to_host() if target == "cuda" else got, items + items)
    for outside in (n, -n - 1, 10**10, -(10**10)):
        with pytest.raises(IndexError, match="index out of bounds"):
            f(np.array([0, outside]) if target == "cpu" else lw.cuda.to_device(np.array([0, outside])))


def test_views_of_tables_in_cores_and_kernels():
    with pytest.raises(IndexError):
        lw.guvectorize("()->()")(lambda i: T[1:3][i])(np.array([2]))

    @lw.forall
    def nearest(i, at, out):
        out[i] = T[1:4][at[i]]

    out = np.zeros(5)
    nearest(5, np.array([0, 2, 3, 10**9, -50]), out)
    assert out.tolist() == [1, 3, 3, 3, 1]


@pytest.mark.parametrize("i", [2**64 - 1, 2**63, 3])
def test_unsigned_indices_do_not_count_from_the_end(i):
    with pytest.raises(IndexError, match="tuple index out of range"):
        lw.vectorize(lambda i: TUPLE[i])(np.uint64(i))
    assert lw.vectorize(lambda i: TUPLE[i], errors="ignore")(np.uint64(i)) == 30
    assert lw.vectorize(lambda i: TUPLE[i])(np.uint64(2)) == 30


@pytest.mark.slow_with_sanitizers
def test_long_constant_tuples_are_whole():
    for function, wanted in ((lambda x: sum(LONG[1:]) + x, sum(LONG[1:])), (lambda x: len(LONG[::-1]) + x, 5000), (lambda x: LONG[1:][4500] + x, 4501),
                             (lambda x: max(LONG[1:]) + x, 4999), (lambda x: len((*LONG, 1)) + x, 5001), (lambda x: LONG[1:][x + 4998], 4999)):
        assert lw.vectorize(function)(0) == wanted
    with pytest.raises(lw.errors.TypingError, match="E105: a constant tuple of more than 65536 items"):
        lw.vectorize(lambda x: sum(LONGER[1:]) + x)(0)
    with pytest.raises(lw.errors.CompileError, match="E101: tuple of more than 4096 items"):
        lw.vectorize(lambda x: len((*LONG, x)) + x)(0)
