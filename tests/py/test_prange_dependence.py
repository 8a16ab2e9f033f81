"""Iterations of prange that meet in memory are E168; those that are apart run."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors, njit, prange


def before(x):
    for i in prange(1, x.size):
        x[i] = x[i] + x[i - 1]


def around(x):
    for i in prange(1, x.size - 1):
        x[i] = (x[i - 1] + x[i + 1]) / 2


def wrapped(x):
    for i in prange(x.size):
        x[i] += x[i - 1]


def guarded(x):
    for i in prange(x.size):
        if 0 < i < x.size - 1:
            x[i] = x[i + 1]


def strided(x):
    for i in prange(0, x.size - 4, 2):
        x[i] = x[i + 4]


def two_stores(x):
    for i in prange(x.size - 1):
        x[i] = 1.0
        x[i + 1] = 2.0


def backwards(x):
    for i in prange(x.size - 2, -1, -1):
        x[i] = x[i + 1] * 2


def helped(x):
    for i in prange(1, x.size):
        step(x, i)


@njit
def step(x, i):
    x[i] = x[i - 1] + 1


@pytest.mark.parametrize("f", [before, around, wrapped, guarded, strided, two_stores, backwards, helped])
def test_a_constant_distance_is_an_error(f):
    with pytest.raises(errors.CompileError, match="E168: iterations of prange depend on each other") as caught:
        njit(f)(np.arange(10.0))
    assert "another iteration writes this element" in str(caught.value) and "^" in str(caught.value)


def rows(x):
    for i in prange(1, x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = x[i - 1, j]


def columns_of_rows(x):
    for j in prange(x.shape[1] - 1):
        for i in range(x.shape[0]):
            x[i, j] = x[i, j] + x[i, j + 1]


@pytest.mark.parametrize("f", [rows, columns_of_rows])
def test_rows(f):
    for x in (np.ones((4, 5)), np.ones((8, 10))[::2, ::2]):
        with pytest.raises(errors.CompileError, match="E168"):
            njit(f)(x)


def jacobi(x, y):
    for i in prange(1, x.size - 1):
        y[i] = (x[i - 1] + x[i + 1]) / 2


def pairs(x, y):
    for i in prange(x.size // 2):
        x[2 * i], x[2 * i + 1] = x[2 * i + 1], x[2 * i]


def odd_pairs(x, y):
    for i in prange(0, x.size - 1, 2):
        x[i] = x[i + 1]


def halves(x, y):
    n = x.size // 2
    for i in prange(n):
        x[i] = x[i + n]


def short(x, y):
    for i in prange(4):
        x[i] = x[i + 4]


def blocks(x, y):
    for b in prange(x.size // 4):
        for k in range(1, 4):
            x[4 * b + k] += x[4 * b + k - 1]


def columns(x, y):
    z = x.reshape(2, -1)
    for i in prange(z.shape[1]):
        for k in range(1, z.shape[0]):
            z[k, i] += z[k - 1, i]


def red_black(x, y):
    for i in prange(1, x.size):
        if i % 2 == 1:
            x[i] = x[i - 1]


def checkers(x, y):
    z = x.reshape(4, -1)
    for i in prange(1, z.shape[0]):
        for j in range(i % 2, z.shape[1], 2):
            z[i, j] += z[i - 1, j]


def only_one(x, y):
    for i in prange(x.size):
        if i == 3:
            x[i] = x[i - 1]


def arms(x, y):
    for i in prange(x.size):
        if i < 4:
            x[i] = 1.0
        elif i > 6:
            y[i] = x[i - 1]


def private(x, y):
    for i in prange(x.size):
        t = np.zeros(3)
        for k in range(1, 3):
            t[k] = t[k - 1] + x[i]
        y[i] = t[2]


@pytest.mark.parametrize("f", [jacobi, pairs, odd_pairs, halves, short, blocks, columns, red_black, checkers, only_one, arms, private])
def test_iterations_that_are_apart_run(f):
    x, y = np.arange(12.0), np.zeros(12)
    njit(f)(x, y)
    want_x, want_y = np.arange(12.0), np.zeros(12)
    f(want_x, want_y)
    np.testing.assert_array_equal(x, want_x)
    np.testing.assert_array_equal(y, want_y)


def greatest(c, x):
    for i in prange(x.size):
        c[x[i]] = max(c[x[i]], i)


def greatest_by_if(c, x):
    for i in prange(x.size):
        j = x[i]
        if i > c[j]:
            c[j] = i


def product(c, x):
    for i in prange(x.size):
        c[x[i]] *= 2


@pytest.mark.parametrize("f", [greatest, greatest_by_if, product])
def test_updates_of_places_from_memory_are_errors(f):
    with pytest.raises(errors.CompileError, match="E168: iterations of prange may update the same element"):
        njit(f)(np.zeros(5, np.int64), np.arange(5))


def segments(c, x):
    """Inner loops start at an element that is read, as for the rows of a sparse matrix."""
    for i in prange(x.size - 1):
        for k in range(x[i], x[i + 1]):
            c[k] = c[k] * 2 + i


def marks(c, x):
    for i in prange(x.size):
        if not c[x[i]]:
            c[x[i]] = 1


def gathered(c, x):
    for i in prange(x.size):
        c[i] = c[i] * x[x[i]]


@pytest.mark.parametrize("f", [segments, marks, gathered])
def test_other_uses_of_places_from_memory_run(f):
    got, want = np.ones(6, np.int64), np.ones(6, np.int64)
    njit(f)(got, np.arange(5))
    f(want, np.arange(5))
    np.testing.assert_array_equal(got, want)


def test_updates_of_elements_narrower_than_the_operation():
    @njit(warn=False)
    def f(x, a, b):
        for i in prange(x.size):
            a[x[i]] ^= i
            b[x[i]] -= i

    x = np.random.default_rng(4).integers(0, 5, 5000)
    a, b, i = np.zeros(5, np.uint32), np.zeros(5, np.int32), np.arange(x.size)
    f(x, a, b)
    assert a.tolist() == [np.bitwise_xor.reduce(i[x == k]) for k in range(5)]
    assert b.tolist() == [-i[x == k].sum() for k in range(5)]


def test_range_runs_them_in_order():
    @lw.njit(parallel=False)
    def total(x):
        for i in prange(1, x.size):
            x[i] += x[i - 1]
        return x

    assert total(np.ones(5)).tolist() == [1, 2, 3, 4, 5]


def in_turn(even, odd, i):
    for j in prange(1, even.size):
        if i % 2 == 0:
            even[j] = odd[j - 1] + 1
        else:
            odd[j] = even[j - 1] + 1


def by_elements(even, odd, i):
    for j in prange(1, even.size):
        for k in range(2):
            if k == 0:
                even[j] = odd[j - 1] + 1
            else:
                odd[j] = even[j - 1] + 1


def test_a_branch_that_all_iterations_take():
    for i in (0, 1):
        got, expected = [(np.zeros(50), np.arange(50.0)) for _ in range(2)]
        in_turn(*expected, i)
        lw.njit(parallel=True)(in_turn)(*got, i)
        assert np.array_equal(got, expected)
    with pytest.raises(lw.errors.CompileError, match="depend on each other"):
        lw.njit(parallel=True)(by_elements)(*got, 0)
