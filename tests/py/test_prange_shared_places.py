"""Iterations of prange whose computed indices coincide lose no update: it is atomic, or E168."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import errors, njit, prange

N = 400_000


@njit
def add(s, i, v):
    s[i] += v


def modulo(s):
    for i in prange(N):
        s[i % 4] += 1


def odd_modulo(s):
    for i in prange(N):
        s[i % 7] += 1


def smallest(s):
    for i in prange(N):
        s[min(i, 3)] += 1


def quotient(s):
    for i in prange(N):
        s[i // 100_000] += 1


def shifted(s):
    for i in prange(N):
        s[i >> 17] += 1


def masked(s):
    for i in prange(N):
        s[i & 3] -= 2


def chosen(s):
    for i in prange(N):
        k = 5
        if i % 3 == 0:
            k = i % 6
        s[k] += 1


def difference(s):
    for i in prange(N):
        s[i - i] += 1


def narrowed(s):
    for i in prange(N):
        s[np.uint8(i) % 8] += 1


def truncated(s):
    for i in prange(N):
        s[int(i * 0.00001)] += 1


def called(s):
    for i in prange(N):
        add(s, i % 7, i)


def cancelled(s):
    for i in prange(N):
        s[i % 7 + i - i] += 1


def square(s):
    for i in prange(N):
        s[i * i % 8] += 1


def guarded(s):
    for i in prange(N):
        if i % 3 == 1:
            s[0] += 1


def inner(s):
    for i in prange(N // 10):
        for j in range(i % 3, 5):
            s[j] += 1


def backwards(s):
    for i in prange(N - 1, -1, -1):
        s[i % 4 - 4] += 1


def scaled(s):
    for i in prange(N):
        s[2 * (i % 2) + 1] += 1


def not_a_pair(s):
    for i in prange(N):
        s[i // 100_000 + i % 2] += 1


def one_of_inner(s):
    for i in prange(N):
        for k in range(3):
            if i % 3 == k:
                s[k] += 1


def by_sum(s):
    for i in prange(N):
        for j in range(2):
            if i + j == i + 1:
                s[0] += 1


UPDATES = [one_of_inner, by_sum, scaled, not_a_pair, modulo, odd_modulo, smallest, quotient, shifted, masked, chosen, difference, narrowed, truncated, called, cancelled, square,
           guarded, inner, backwards]


@pytest.mark.parametrize("f", UPDATES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.uint32])
def test_no_update_is_lost(f, dtype):
    expected, result = np.zeros(8, dtype), np.zeros(8, dtype)
    njit(f, parallel=False)(expected)
    for _ in range(3):
        result[:] = 0
        njit(f)(result)
        assert result.tolist() == expected.tolist()


def rows(s):
    for i in prange(N // 10):
        s[i % 4, :] += 1


def diagonal_of_blocks(s):
    for i in prange(N):
        s[i % 4, i % 4] += 1


@pytest.mark.parametrize("f", [rows, diagonal_of_blocks])
def test_no_update_of_a_row_is_lost(f):
    expected, result = np.zeros((4, 5)), np.zeros((4, 5))
    njit(f, parallel=False)(expected)
    njit(f)(result)
    assert (result == expected).all()


def greatest(s, x):
    for i in prange(x.size):
        s[i // 2] = max(s[i // 2], x[i])


def greater(s, x):
    for i in prange(x.size):
        if x[i] > s[i % 5]:
            s[i % 5] = x[i]


def product(s, x):
    for i in prange(x.size):
        s[i & 3] *= x[i]


def greatest_of_all(s, x):
    for i in prange(x.size):
        if x[i] > s[0]:
            s[0] = x[i]


@njit
def keep_greatest(s, i, v):
    s[i] = max(s[i], v)


def greatest_called(s, x):
    for i in prange(x.size):
        keep_greatest(s, i % 10, x[i])


@pytest.mark.parametrize("f", [greatest, greater, product, greatest_of_all, greatest_called])
def test_other_updates_are_errors(f):
    with pytest.raises(errors.CompileError, match="E168: iterations of prange may update the same element"):
        njit(f)(np.ones(100), np.ones(100))


@pytest.mark.parametrize("f", [modulo, quotient])
def test_narrow_elements_are_errors(f):
    with pytest.raises(errors.CompileError, match="E168.*of 8 or 16 bits"):
        njit(f)(np.zeros(8, np.int16))


def own(x):
    for i in prange(x.size):
        x[i] *= 2


def own_from_the_end(x):
    for i in prange(x.size):
        x[x.size - 1 - i] *= 2


def every_other(x):
    for i in prange(x.size // 2):
        x[2 * i + 1] *= 2


def blocks(x):
    for b in prange(x.size // 6):
        for j in range(b * 6, b * 6 + 6):
            x[j] *= 2


def blocks_by_while(x):
    for b in prange(x.size // 6):
        j = b * 6
        while j < b * 6 + 6:
            x[j] *= 2
            j += 1


def one(x):
    for i in prange(x.size):
        if i == 3:
            x[0] *= 5


def matrix(x):
    y = x.reshape(-1, 4)
    n, m = y.shape
    for k in prange(n * m):
        i = k // m
        j = k % m
        y[i, j] *= 2


def matrix_of_constants(x):
    y = x.reshape(-1, 4)
    for k in prange(x.size):
        y[k // 4, k % 4] *= 2


def box(x):
    y = x.reshape(-1, 3, 4)
    n, m, p = y.shape
    for k in prange(x.size):
        i, r = k // (m * p), k % (m * p)
        j, q = r // p, r % p
        y[i, j, q] *= 2


def box_otherwise(x):
    y = x.reshape(-1, 3, 4)
    n, m, p = y.shape
    for k in prange(x.size):
        y[k // p // m, k // p % m, k % p] *= 2


def box_by_three_divisions(x):
    y = x.reshape(-1, 3, 4)
    n, m, p = y.shape
    for k in prange(n * m * p):
        y[k // (m * p), (k // p) % m, k % p] *= 2


def chunks(x):
    for c in prange(5):
        for k in range(min(c * 5, x.size), min(c * 5 + 5, x.size)):
            x[k] *= 2


def row_of_each(x):
    y = x.reshape(-1, 4)
    for i in prange(y.shape[0]):
        y[i, i % 4] *= 2


def by_divmod(x):
    y = x.reshape(-1, 4)
    for k in prange(x.size):
        i, j = divmod(k, y.shape[1])
        y[i, j] *= 2


OWN = [box_by_three_divisions, chunks, own, own_from_the_end, every_other, blocks, blocks_by_while, one, matrix, matrix_of_constants, box, box_otherwise, row_of_each,
       by_divmod]


@pytest.mark.parametrize("f", OWN, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.int16])
def test_places_of_one_iteration_each(f, dtype):
    expected, result = np.arange(24, dtype=dtype), np.arange(24, dtype=dtype)
    f(expected)
    njit(f)(result)
    assert result.tolist() == expected.tolist()


def test_an_own_place_needs_no_atomic_operation():
    @njit
    def f(x):
        for i in prange(x.shape[0]):
            for j in range(x.shape[1]):
                x[i, j] += 1

    f(np.zeros((3, 4)))
    f(np.zeros((3, 4))[::2, ::2])
    assert all("atomicrmw" not in text for text in f.inspect_llvm().values())


def scattered(out, x):
    for i in prange(x.size):
        for k in range(3):
            out[i + k] += x[i]


def scattered_in_pairs(out, x):
    out = out.reshape(2, -1)
    for i in prange(x.size // 2):
        for a in range(2):
            for k in range(3):
                out[a, i + k] += x[i]


@pytest.mark.parametrize("f", [scattered, scattered_in_pairs])
def test_neighbours_that_an_inner_loop_reaches(f):
    x = np.arange(200_000) % 5
    got, want = np.zeros(200_004, np.int64), np.zeros(200_004, np.int64)
    njit(f)(got, x)
    f(want, x)
    np.testing.assert_array_equal(got, want)


def test_columns_of_an_inner_loop_stay_plain():
    def f(out, x):
        for j in prange(out.shape[1]):
            for i in range(out.shape[0]):
                out[i, j] += x[i]

    compiled = njit(f)
    out = np.zeros((5, 7))
    compiled(out, np.arange(5.0))
    assert (out == np.arange(5.0)[:, None]).all() and "atomic" not in str(compiled.inspect_ir())


def by_stride(y, x, c):
    for k in prange(x.size):
        y[k * c] += x[k]


def by_two_strides(y, x, c):
    for k in prange(x.size):
        y[k * c + k * (c - 1) + 1] += x[k]


def through_a_name(y, x, c):
    for k in prange(x.size):
        j = c * k
        y[j] += x[k]


@pytest.mark.parametrize("c", [0, 1, 2])
@pytest.mark.parametrize("f", [by_stride, by_two_strides, through_a_name])
def test_strides_that_may_be_zero(f, c):
    x = np.arange(1000) % 7
    got, want = np.zeros(4001, np.int64), np.zeros(4001, np.int64)
    njit(f)(got, x, c)
    f(want, x, c)
    np.testing.assert_array_equal(got, want)


def test_another_update_by_a_stride_is_an_error():
    def f(y, c):
        for k in prange(100):
            y[k * c] *= 2

    with pytest.raises(errors.CompileError, match="E168"):
        njit(f)(np.ones(100), 1)


# ---- stores in turn: the last iteration would have to be the last one in time ----


def every_third(s):
    for i in prange(N):
        if i % 3 == 0:
            s[2] = i


def two_in_turn(s):
    for i in prange(N):
        s[i % 2] = i


def odd_bits(s):
    for i in prange(N):
        if i & 1 and i % 5 == 2:
            s[i & 3] = 2 * i


@pytest.mark.parametrize("f", [every_third, two_in_turn, odd_bits])
def test_stores_in_turn_are_refused(f):
    with pytest.raises(errors.CompileError, match="E168: iterations of prange store different values"):
        njit(parallel=True)(f)(np.zeros(8, np.int64))


def few(s):
    for i in prange(4):
        s[i % 8] = i


def one_value(s):
    for i in prange(N):
        s[i % 2] = 7


def first_ones(s):
    for i in prange(N):
        if i < 4:
            s[i % 4] = i


def of_its_own(s):
    for i in prange(8):
        t = np.zeros(4)
        t[i % 4] = i
        s[i] = t.sum()


@pytest.mark.parametrize("f", [few, one_value, first_ones, of_its_own])
def test_stores_at_remainders_that_no_two_iterations_share(f):
    got, want = np.zeros(8, np.int64), np.zeros(8, np.int64)
    if f is of_its_own:
        got, want = got.astype(float), want.astype(float)
    njit(parallel=True)(f)(got)
    f(want)
    assert got.tolist() == want.tolist()


def threes_in_twos(out, x):
    for i in prange(out.size // 2 - 2):
        for k in range(3):
            out[2 * i + k] += x[i]


def fives_in_fours(out, x):
    for i in prange(0, out.size - 8, 4):
        for k in range(5):
            out[i + k] *= x[i]


def neighbours(out, x):
    for i in prange(out.size - 4):
        for k in range(3):
            out[i + k] *= x[i]


def runs(out, x):
    n = x.size // 4
    for i in prange(out.size - n):
        for k in range(n):
            out[i + k] *= x[i]


def twos_in_twos(out, x):
    for i in prange(out.size // 2):
        for k in range(2):
            out[2 * i + k] *= x[i]


def fours_in_fours(out, x):
    for i in prange(0, out.size - 8, 4):
        for k in range(4):
            out[i + k] *= x[i]


def later_twos(out, x):
    for i in prange(out.size // 2 - 2):
        for k in range(2, 4):
            out[2 * i + k] *= x[i]


def ones(out, x):
    for i in prange(out.size):
        for k in range(1):
            out[i + k] *= x[i]


def threes_by_twos_in_nines(out, x):
    for i in prange(out.size // 9 - 1):
        for k in range(3):
            out[9 * i + 2 * k] *= x[i]


def test_overlapping_blocks_of_constant_length_are_updated_atomically():
    x, out, expected = np.arange(4000) % 5, np.zeros(4000, int), np.zeros(4000, int)
    threes_in_twos(expected, x)
    f = njit(parallel=True)(threes_in_twos)
    f(out, x)
    assert np.array_equal(out, expected)
    assert "atomicrmw" in f.inspect_llvm(f.signatures[0])


@pytest.mark.parametrize("f", [fives_in_fours, neighbours, runs], ids=lambda f: f.__name__)
def test_overlapping_blocks_that_cannot_be_atomic_are_refused(f):
    with pytest.raises(errors.CompileError, match="may update the same element"):
        njit(parallel=True)(f)(np.ones(100), np.ones(100))


@pytest.mark.parametrize("f", [twos_in_twos, fours_in_fours, later_twos, ones, threes_by_twos_in_nines], ids=lambda f: f.__name__)
def test_blocks_of_constant_length_that_are_apart_are_updated(f):
    x = (np.arange(4000) % 5).astype(float)
    out, expected = np.ones(4000), np.ones(4000)
    f(expected, x)
    njit(parallel=True)(f)(out, x)
    assert np.array_equal(out, expected)


def windows(x, out):
    scratch = np.zeros(3)
    for i in prange(x.size):
        scratch[:] = np.nan
        for k in range(3):
            if i + k < x.size:
                scratch[k] = x[i + k]
        out[i] = np.nansum(scratch)


def rows_of_their_own(x, out):
    scratch = np.zeros((x.size, 3))
    for i in prange(x.size):
        for k in range(3):
            if i + k < x.size:
                scratch[i, k] = x[i + k]
        out[i] = scratch[i].sum()


def made_in_the_iteration(x, out):
    for i in prange(x.size):
        scratch = np.zeros(3)
        for k in range(3):
            if i + k < x.size:
                scratch[k] = x[i + k]
        out[i] = scratch.sum()


def found_by_one(x, out):
    for i in prange(x.size):
        if x[i] == 77:
            out[0] = i


def test_an_array_of_intermediate_results_is_not_shared():
    x = np.arange(3000.0)
    with pytest.raises(errors.CompileError, match="store different values in the same element"):
        njit(parallel=True)(windows)(x, x.copy())
    for f in (rows_of_their_own, made_in_the_iteration, found_by_one):
        out, expected = np.zeros(3000), np.zeros(3000)
        f(x, expected)
        njit(parallel=True)(f)(x, out)
        assert np.array_equal(out, expected)
