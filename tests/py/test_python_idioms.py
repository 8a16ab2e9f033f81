"""What Python programs write with lists and tuples, and what Python refuses, in compiled functions."""

from __future__ import annotations

import bisect
import heapq
import math
import random

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import TypingError


def checked(function, *arguments):
    """Check that the compiled function gives Python's result, or its exception; returns the result."""
    compiled = lw.njit(function)
    try:
        expected = function(*arguments)
    except (ValueError, IndexError) as error:
        with pytest.raises(type(error)):
            compiled(*arguments)
        return None
    found = compiled(*arguments)
    assert repr(np.array(found, object)) == repr(np.array(expected, object))
    return found


# ---- max and min with key= and default= ----


def by_square(x):
    return max(x, key=lambda v: -v * v), min(x, key=abs), max(x, default=7), min(x, key=lambda v: -v, default=7)


@pytest.mark.parametrize("x", [(3, -1, 2), [3, -1, 2, -1], (1.5, -1.5)])
def test_keys_of_tuples(x):
    assert checked(by_square, x)


def test_keys_of_arrays():
    x = np.array([3.0, -1.0, 2.0, np.nan])
    assert lw.njit(by_square)(x)[:2] == (-1.0, -1.0)
    with pytest.raises(ValueError, match="empty"):
        lw.njit(by_square)(x[:0])


def of_lists(n):
    x = [3, 1]
    x.append(n)
    pairs = [(1, 2.5), (2, 0.5)]
    pairs.append((n, 1.5))
    return max(x, key=lambda v: -v), min(pairs, key=lambda p: p[1]), max(pairs, key=lambda p: p[0]), max([v * v for v in x], key=lambda v: -v)


def of_empty_lists(n):
    x = [1]
    x.clear()
    return max(x, default=n), min((v for v in x), default=n + 1)


def of_nothing(n):
    x = [n]
    x.clear()
    return min(x, key=abs)


def of_ranges(n):
    x = (3.0, 9.0, 2.0)
    return max(range(3), key=lambda i: x[i]), min(range(n, 0, -1), key=lambda i: i % 3), max(range(0), default=n), max(n, -9, 4, key=abs)


@pytest.mark.parametrize("function", [of_lists, of_empty_lists, of_nothing, of_ranges])
@pytest.mark.parametrize("n", [-4, 2, 9])
def test_keys_of_lists_and_ranges(function, n):
    checked(function, n)


# ---- a, *b = x ----


def starred(n):
    x = [1, 2]
    x.append(n)
    x.append(n + 1)
    a, *b = x
    *c, d = x
    e, *f, g = x
    b.append(7)
    return a, b, c, d, e, f, g


def starred_too_short(n):
    x = [n]
    x.pop()
    a, *b = x
    return a


def test_starred_targets():
    assert checked(starred, 5) is not None
    checked(starred_too_short, 5)


# ---- bisect and heapq ----


def bisected(x, v):
    return bisect.bisect_left(x, v), bisect.bisect_right(x, v), bisect.bisect(x, v), bisect.bisect_left(x, v, 1), bisect.bisect_right(x, v, 0, 2), bisect.bisect_left(x, -v, key=lambda y: -y)


def inserted(v):
    x = [1, 2, 2]
    bisect.insort(x, v)
    bisect.insort_left(x, v, 0, 2)
    pairs = [(1, 2.0), (2, 3.0)]
    bisect.insort(pairs, (v, 0.0), key=lambda p: p[0])
    bisect.insort_left(pairs, (v, 1.0))
    return x, pairs, bisect.bisect_left(pairs, v, key=lambda p: p[0])


@pytest.mark.slow_with_sanitizers
def test_bisect():
    for v in range(6):
        for x in ((1, 2, 2, 4), [1, 2, 2, 4]):
            checked(bisected, x, v)
        assert lw.njit(bisected)(np.array([1, 2, 2, 4]), v) == bisected([1, 2, 2, 4], v)
        checked(inserted, v)
    with pytest.raises(ValueError, match="lo must be non-negative"):
        lw.njit(lambda x: bisect.bisect_left(x, 1, -1))(np.arange(3))
    with pytest.raises(IndexError):
        lw.njit(lambda x: bisect.bisect_left(x, 9, 0, 5))(np.arange(3))
    with pytest.raises(TypingError, match="a list that the function has made"):
        lw.njit(lambda x: bisect.insort(x, 1))([1, 2])


def smallest(x):
    return heapq.nsmallest(2, x), heapq.nlargest(2, x), heapq.nlargest(9, x, key=lambda v: -v), heapq.nsmallest(-1, x), heapq.nsmallest(0, x)


def smallest_pairs(n):
    x = [(1, 2.5), (2, 0.5)]
    x.append((n, 1.5))
    return heapq.nsmallest(2, x), heapq.nlargest(1, x, key=lambda p: p[1])


def test_heapq():
    checked(smallest, (3, 1, 2, 1))
    assert lw.njit(smallest)(np.array([3, 1, 2, 1])) == smallest([3, 1, 2, 1])
    checked(smallest_pairs, 0)


# ---- arguments that change a list ----


def appends_what_it_pops(n):
    x = [1, 2, 3]
    x.append(n)
    x.append(x.pop() + n)
    x.insert(0, x.pop(0) + x.pop())
    h = [5, 4]
    heapq.heapify(h)
    heapq.heappush(h, heapq.heappop(h) + n)
    x.extend(h)
    return x


def test_arguments_that_change_the_list():
    checked(appends_what_it_pops, 4)


def without_items(n):
    y = [1, 2, 3]
    y.append(n)
    y[-1:] = []
    y[1:2] = []
    y.extend([])
    y[5:] = []
    y += []
    return y + []


def test_lists_without_items_take_part():
    checked(without_items, 4)


# ---- lists, tuples and arrays beside each other ----


def compared(n):
    x = [1, 2]
    x.append(n)
    return x == (1, 2, n), x != (1, 2, n), (1, 2, n) == x, x == [1, 2, n], x == list((1, 2, n)), isinstance(x, list), isinstance(x, tuple), x < [1, 3], [1] < x


def test_a_list_is_no_tuple():
    checked(compared, 3)


def test_lists_and_arrays():
    def combined(n, a):
        x = [1, 2]
        x.append(n)
        return x + a, a + x, x * a, a * x, x - a, a / x, x == a, a == x, x < a, a >= x

    a = np.array([1, 5, 3])
    for found, expected in zip(lw.njit(combined)(4, a), combined(4, a)):
        assert found.dtype == expected.dtype and np.array_equal(found, expected)


REFUSED = [(lambda x: x + (1,), "write `x \\+ list"), (lambda x: (1,) + x, "write `x \\+ list"), (lambda x: x + 1, "x \\+ \\[v\\]"), (lambda x: x * 1.5, "repeated by an int"), (lambda x: x < (1, 2), "no order"),
           (lambda x: x < 3, "no order"), (lambda x: x[::0], "slice step cannot be zero"), (lambda x: x[:1.5], "slice bounds must be integers"), (lambda x: sorted(x, lambda v: -v), "`sorted` takes 1 positional"),
           (lambda x: sorted(x, key=lambda v: v * 1j), "complex numbers have no order")]


@pytest.mark.parametrize("function, text", REFUSED, ids=range(len(REFUSED)))
def test_what_python_refuses(function, text):
    @lw.njit
    def f(n):
        x = [1, 2]
        x.append(n)
        return function(x)

    with pytest.raises(TypingError, match=text):
        f(3)


def test_sorting():
    def by_position(n):
        x = [n, 1]
        x.sort(lambda v: -v)
        return x

    def complex_numbers(n):
        x = [1j, 2 + 0j]
        x.sort()
        return x

    with pytest.raises(TypingError, match="(?s)too many arguments for `sort`.*pass `key` by its name"):
        lw.njit(by_position)(1)
    with pytest.raises(TypingError, match="complex numbers have no order"):
        lw.njit(complex_numbers)(1)


def test_a_list_or_nothing():
    @lw.njit
    def f(n):
        x = [1]
        if n > 1:
            return x
        return None

    with pytest.raises(TypingError, match="return an empty one there"):
        f(1)


def test_loops_over_many_lists():
    lists = ", ".join(f"x{i}" for i in range(20))
    source = "def f(n):\n" + "".join(f"    x{i} = [n]\n    x{i}.append({i})\n" for i in range(20))
    source += f"    for items in zip({lists}):\n        x19.append(1)\n    return x19\n"
    with pytest.raises(TypingError, match="E165"):
        lw.njit(function_of(source))(1)


def function_of(source):
    names = {}
    exec(source, names)
    return names["f"]


# ---- parameters before `/` and after `*` ----


def less(a, b, /, *, c=0):
    return a - b + c


class Holder:
    def __init__(self, a, /):
        self.a = a

    def plus(self, b, /, *, c):
        return self.a + b + c


def test_positional_only_parameters():
    @lw.njit
    def inner(n):
        def part(a, /):
            return a

        return part(a=n)

    assert lw.njit(lambda n: less(n, 1, c=5) + Holder(n).plus(1, c=2))(3) == 13
    for function in (lambda n: less(n, b=1), lambda n: Holder(a=n).a, lambda n: Holder(n).plus(b=1, c=2), inner):
        with pytest.raises(TypingError, match="positional-only"):
            lw.njit(function)(3)
    for function in (lambda n: less(n, 1, 5), lambda n: Holder(n).plus(1, 2)):
        with pytest.raises(TypingError, match="too many arguments"):
            lw.njit(function)(3)


def test_calls_from_python():
    with pytest.raises(TypeError, match="positional-only"):
        lw.njit(less)(1, b=2)
    assert lw.njit(less)(1, 2, c=3) == 2
    ufunc = lw.vectorize(lambda a, b, /: a - b)
    assert ufunc(3, 1) == 2
    with pytest.raises(TypeError):
        ufunc(3, b=1)
    family = lw.vectorize(lambda x, a, /: x + a[0], excluded={"a"})
    assert family(1, np.ones(2)) == 2
    with pytest.raises(TypeError, match="positional-only"):
        family(1, a=np.ones(2))

    @lw.forall
    def fill(i, x, /, y):
        x[i] = y[i]

    x = np.zeros(3)
    fill(3, x, y=np.ones(3))
    assert x.tolist() == [1, 1, 1]
    with pytest.raises(TypeError, match="positional-only"):
        fill(3, x=x, y=x)


# ---- messages ----

MESSAGES = [(lambda n: ("low" if n < 0 else "high") + "x", "chooses among whole strings"), (lambda n: ("low" if n < 0 else "high")[0], "no characters"), (lambda n: "abc"[n], "a tuple of strings"),
            (lambda n: np.zeros(n, dtype="U5"), "arrays of strings")]


@pytest.mark.parametrize("function, text", MESSAGES, ids=range(len(MESSAGES)))
def test_messages(function, text):
    with pytest.raises(TypingError, match=text):
        lw.njit(function)(1)


def test_a_list_that_is_an_argument():
    def copied(x):
        return list(x)

    with pytest.raises(TypingError, match="return `list"):
        lw.njit(lambda x: x)([1, 2])
    assert lw.njit(copied)([1, 2]) == [1, 2]


def test_hash_is_pythons():
    f = lw.njit(lambda x: hash(x))
    drawn = random.Random(1)
    ints = [0, 1, -1, -2, 2**61 - 1, 2**61, -(2**61) + 1, 2**63 - 1, -(2**63), *(drawn.randint(-(2**63), 2**63 - 1) for _ in range(50))]
    floats = [0.0, -0.0, 1.5, -1.0, 5e-324, math.inf, -math.inf, *(drawn.uniform(-1, 1) * 10.0 ** drawn.randint(-300, 300) for _ in range(50))]
    others = [True, np.uint64(2**64 - 1), np.int8(-3), np.float32(0.1), 0.5 - 2.5j, -1 + 0j, (), (1,), (1, 2.5, True), ((1, 2), -1.0)]
    for x in (*ints, *floats, *others, *zip(ints, floats)):
        assert f(x) == hash(x), x
    assert f(math.nan) == 0
    with pytest.raises(TypeError, match=r"hash\(\) of a string differs from process to process"):
        f("abc")


def test_hash_of_elements(target):
    @lw.vectorize
    def hashes(x, i):
        return hash((x, i, True))

    x = np.linspace(-1, 1, 5)
    assert hashes(x, np.arange(5)).tolist() == [hash((one, i, True)) for i, one in enumerate(x.tolist())]
