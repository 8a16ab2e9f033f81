"""next(iter(x)), next() of generator expressions, and `a, *b = x` of what makes lists."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors

X = np.array([3.0, 1.0, 2.0])


def of_dict(x):
    d = {}
    for v in x:
        d[v] = 2 * v
    return next(iter(d)), next(iter(d.values())), next(iter(d.items()))


def of_list(x):
    made = [v for v in x if v > 1]
    return next(iter(made)), next(iter(sorted(x))), next(iter(x)), next(iter(range(2, 5)))



def with_default(x):
    found = next((i for i in range(len(x)) if x[i] < 0), -1)
    return found, next((v for v in x if v < 2), 0.0), next(iter([v for v in x if v > 5]), x[0])


def starred_sorted(x):
    a, *b = sorted(x)
    return a, b, len(b)


def starred_list(x):
    *a, b = list(x)
    a.append(b)
    return a


def starred_comprehension(x):
    a, *b, c = [2 * v for v in x]
    return a, b, c


def starred_slice(x):
    made = [v for v in x]
    a, *b = made[:]
    b.append(a)
    return b, made


def starred_name(x):
    made, pairs = [v + 1 for v in x], [(v, -v) for v in x]
    a, *b = made
    b.append(made[0])
    *c, d = pairs
    return a, b, c, d, made


def slice_of_display(x):
    made = [x[0], 2.5, -x[1]]
    return made[1:], made[::-1], made


@pytest.mark.parametrize(
    "function", [of_dict, of_list, with_default, starred_sorted, starred_list, starred_comprehension, starred_slice, starred_name, slice_of_display]
)
def test_programs(function):
    assert lw.njit(function)(X) == function(X)


class Place:
    def __init__(self, a):
        self.a = a

    def distance(self, x):
        return abs(x - self.a)


def keys_that_are_methods(x):
    d, place = {}, Place(2.2)
    for v in x:
        d[v] = d.get(v, 0.0) - v
    s = list(x)
    s.sort(key=place.distance)
    return max(d, key=d.get), min(s, key=place.distance), sorted(x, key=place.distance), s


def test_keys_that_are_methods():
    assert lw.njit(keys_that_are_methods)(X) == keys_that_are_methods(X)


def test_sets_are_in_the_order_of_their_items():
    assert lw.njit(lambda x: next(iter({v for v in x})))(X) == 3.0


def test_nothing_to_give():
    with pytest.raises(StopIteration):
        lw.njit(lambda x: next(iter([v for v in x if v > 5])))(X)
    with pytest.raises(StopIteration):
        lw.njit(lambda x: next(v for v in x if v > 5))(X)
    assert lw.vectorize(lambda x: next((k for k in range(5) if k * k > x), -1))(X).tolist() == [2, 2, 2]

    def too_few(x):
        a, b, *c = sorted(x[:1])
        return a + b

    with pytest.raises(ValueError, match="not enough values to unpack"):
        lw.njit(too_few)(X)


def test_messages():
    def array(x):
        a, *b = x
        return a

    with pytest.raises(errors.TypingError, match=r"(?s)an array cannot be unpacked with `\*`.*`a, \*b = list\(x\)`"):
        lw.njit(array)(X)

    def wrong(x):
        a, b = [x[0], x[1], x[2]]
        return a

    with pytest.raises(errors.TypingError, match="2 targets here, the list has 3 items"):
        lw.njit(wrong)(X)
    with pytest.raises(errors.TypingError, match="E152"):
        lw.njit(lambda x: iter(x))(X)
