"""Ranges that variables hold, and that conditional expressions choose."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors, njit


def by_branches(n, down):
    if down:
        r = range(n - 1, -1, -1)
    else:
        r = range(n)
    s = 0
    for i in r:
        s = s * 7 + i
    return s


def by_expression(n, down):
    r = range(n) if not down else range(n, 0, -2)
    q = r
    s = [i * i for i in q]
    for i in r:
        s.append(i)
    return s, len(r), sum([j for j in r])


def in_the_loop(n, down):
    s = []
    for i in range(n) if down else range(1, n, 2):
        for j in range(i) if i % 2 else range(3):
            s.append(10 * i + j)
    return s


def assigned_again(n, down):
    s = []
    r = range(2)
    for k in range(3):
        for i in r:
            s.append(i + k)
        r = range(n, n + k, 2) if down else range(k)
    for a, b in zip(r, r):
        s.append(a * b)
    for k, i in enumerate(r):
        s.append(k - i)
    return s


def without_lists(n, down):
    s = 0
    for i in range(n) if down else range(3):
        s = s * 10 + i
    r = range(n)
    for i in reversed(r):
        s = s * 10 + i
    while len(r) > 0:
        s += len(r)
        r = range(len(r) - 1)
    return s


@pytest.mark.parametrize("f", [by_branches, by_expression, in_the_loop, assigned_again, without_lists], ids=lambda f: f.__name__)
def test_loops_over_ranges_of_variables(f):
    for n in range(6):
        for down in (False, True):
            assert njit(f)(n, down) == f(n, down), (n, down)


def test_ufuncs_and_lengths():
    def f(x, up):
        r = range(3) if up > 0 else range(2, 5)
        s = 0.0
        for i in r:
            s += x * i
        return s + len(range(1, 8, 3))

    x, up = np.arange(4.0), np.array([1, 0, 0, 1])
    assert np.array_equal(lw.vectorize(f)(x, up), [f(*row) for row in zip(x, up)])
    assert njit(lambda a, b, c: len(range(a, b, c)))(10, 0, -3) == 4
    assert njit(lambda n: len(range(n)))(-2) == 0


def test_what_is_left_as_it_was():
    def range_of_theirs(n):
        range = n
        return range + 1

    def mixed(n):
        r = range(n)
        if n > 3:
            r = n
        return r

    def steps(n):
        r = range(0, 5, n)
        s = 0
        for i in r:
            s += i
        return s

    assert njit(range_of_theirs)(3) == 4
    with pytest.raises(errors.CompileError):
        njit(mixed)(2)
    def unused(n):
        r = range(0, 5, n)
        return 5

    def swapped(n):
        a, b = range(n), range(2)
        return len(a)

    for f in (steps, unused):
        with pytest.raises(ValueError, match="must not be zero"):
            njit(f)(0)
    with pytest.raises(errors.CompileError, match="E120|E102"):
        njit(swapped)(1)
    with pytest.raises(errors.TypingError, match="ranges cannot be compared"):
        njit(lambda n: range(n) == range(n))(3)
    with pytest.raises(errors.TypingError, match="needs a tuple or an array|needs"):
        njit(lambda x: len(enumerate(x)))(np.ones(3))
