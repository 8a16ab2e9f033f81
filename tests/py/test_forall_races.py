"""Stores by which the elements of a forall race: E164 where that can be known without running,
and nothing where elements may keep out of each other's way."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda


def put(o, k, v):
    o[k] += v


def first_of(o):
    return o[0]


# ---- one index: x float64[12], o float64[12], q int64[12], m float64[4, 12] ----

def adds(i, x, o, q, m):
    o[0] += x[i]


def adds_one(i, x, o, q, m):
    o[0] += 1


def adds_in_bounds(i, x, o, q, m):
    if i < x.size:
        o[0] += x[i]


def adds_after_return(i, x, o, q, m):
    if i >= x.size:
        return
    o[0] = o[0] + 1


def adds_in_a_helper(i, x, o, q, m):
    put(o, 0, x[i])


def adds_what_a_helper_read(i, x, o, q, m):
    o[0] = first_of(o) + x[i]


def stores(i, x, o, q, m):
    o[0] = x[i]


def stores_by_a_view(i, x, o, q, m):
    row = m[0]
    row[3] = x[i]


def stores_a_slice(i, x, o, q, m):
    o[:] = x[i]


def counts(i, x, o, q, m):
    if x[i] > 3:
        o[0] += 1


def adds_in_a_loop(i, x, o, q, m):
    for k in range(3):
        o[k] += x[i]


def adds_at_a_loaded_place(i, x, o, q, m):
    o[q[0]] += x[i]


def multiplies_in_a_tuple(i, x, o, q, m):
    a, o[1] = x[i], x[i] * 2


RACING = [adds, adds_one, adds_in_bounds, adds_after_return, adds_in_a_helper, adds_what_a_helper_read, stores, stores_by_a_view, stores_a_slice,
          counts, adds_in_a_loop, adds_at_a_loaded_place, multiplies_in_a_tuple]


def first_alone(i, x, o, q, m):
    if i == 0:
        o[0] += x[i]


def first_below_one(i, x, o, q, m):
    if i < 1:
        o[0] = x[i]


def last_alone(i, x, o, q, m):
    if i == x.size - 1:
        o[0] = x[i]


def others_return(i, x, o, q, m):
    if i != 0:
        return
    o[0] += x[i]


def zero_alone(i, x, o, q, m):
    if not i:
        put(o, 0, x[i])


def uniform(i, x, o, q, m):
    o[0] = 5.0


def uniform_loaded(i, x, o, q, m):
    o[0] = x[3]


def found(i, x, o, q, m):
    if x[i] > 3:
        o[0] = 1


def finds(i, x, o, q, m):
    if x[i] == 3:
        o[0] = i


def scatters(i, x, o, q, m):
    o[q[i]] += x[i]


def own_local(i, x, o, q, m):
    part = lw.local(2, lw.float64)
    part[0] = 0.0
    part[0] += x[i]
    o[i] = part[0]


def own_element_in_a_helper(i, x, o, q, m):
    put(o, i, x[i])


def own_column(i, x, o, q, m):
    row = m[0]
    row[i] = x[i]


def own_slice(i, x, o, q, m):
    o[3 * i:3 * i + 3] = x[i]


def atomically(i, x, o, q, m):
    cuda.atomic.add(o, 0, x[i])


def a_place_from_an_atomic(i, x, o, q, m):
    q[int(cuda.atomic.add(o, 0, 1.0)) % 12] = i


def the_last_to_come(i, x, o, q, m):
    if cuda.atomic.add(q, 0, 1) == 11:
        o[1] += 1


def counted_up(i, x, o, q, m):
    k = 0
    while k < i:
        k += 1
    o[k] += x[i]


def searched(i, x, o, q, m):
    for k in range(12):
        if k == i:
            break
    o[k] += x[i]


def skipped(i, x, o, q, m):
    for k in range(12):
        if k != i:
            continue
        o[k] += x[i]


def halves(i, x, o, q, m):
    o[i // 2] = x[i]


def chosen(i, x, o, q, m):
    o[0 if i > 3 else 1] += x[i]


FREE = [first_alone, first_below_one, last_alone, others_return, zero_alone, uniform, uniform_loaded, found, finds, scatters, own_local,
        own_element_in_a_helper, own_column, own_slice, atomically, a_place_from_an_atomic, the_last_to_come, counted_up, searched, skipped, halves, chosen]


def arguments():
    return np.arange(12.0), np.zeros(36), np.zeros(12, np.int64), np.zeros((4, 12))


@pytest.mark.parametrize("function", RACING, ids=lambda f: f.__name__)
def test_a_race_is_an_error_before_anything_runs(function):
    x, o, q, m = arguments()
    kernel = lw.forall(function)
    for _ in range(2):
        with pytest.raises(lw.errors.CompileError, match="E164: elements of (.|\n)*the same place for every `i`(.|\n)*cuda.atomic(.|\n)*lw.reduce"):
            kernel(12, x, o, q, m)
    assert not o.any() and not q.any() and not m.any()


@pytest.mark.parametrize("function", RACING, ids=lambda f: f.__name__)
def test_one_element_races_with_nobody(function):
    x, o, q, m = arguments()
    x[0] = 5
    lw.forall(function)(1, x, o, q, m)
    assert o.any() or m.any()
    lw.forall(function)(range(7, 8), x, o, q, m)
    lw.forall(function)(0, x, o, q, m)


@pytest.mark.parametrize("function", FREE, ids=lambda f: f.__name__)
def test_what_may_be_none_is_no_error(function):
    x, o, q, m = arguments()
    lw.forall(function)(12, x, o, q, m)
    if function in (scatters, chosen, own_local) or "atomic" in function.__code__.co_names:
        return  # a race after all, which takes running to see; or nothing that Python has
    expected = arguments()
    for i in range(12):
        function(i, *expected)
    assert o.tolist() == expected[1].tolist() and m.tolist() == expected[3].tolist()


# ---- two ----

@lw.forall(ndim=2)
def rows_sum(i, j, a, o):
    o[i] += a[i, j]


@lw.forall(ndim=2)
def rows_last(i, j, a, o):
    o[i] = a[i, j]


@lw.forall(ndim=2)
def rows_view(i, j, a, o):
    row = o[i:]
    row[0] += a[i, j]


@lw.forall(ndim=2)
def rows_first(i, j, a, o):
    o[i] = a[i, 0]


@lw.forall(ndim=2)
def rows_at_zero(i, j, a, o):
    if j == 0:
        o[i] += a[i, j]


@lw.forall(ndim=2)
def corner(i, j, a, o):
    if i == 0 and j == 0:
        o[0] += a[i, j]


@lw.forall(ndim=2)
def corner_by_or(i, j, a, o):
    if i or j:
        return
    o[0] += a[i, j]


@lw.forall(ndim=2)
def diagonal(i, j, a, o):
    if i == j:
        o[i] += a[i, j]


@lw.forall(ndim=2)
def flat(i, j, a, o):
    o[i * a.shape[1] + j] += a[i, j]


@lw.forall(ndim=2)
def corner_in_one(i, j, a, o):
    if i == 0:
        o[0] += a[i, j]


@pytest.mark.parametrize("kernel", [rows_sum, rows_last, rows_view, corner_in_one], ids=lambda k: k.__name__)
def test_an_index_that_is_left_out_races_along_it(kernel):
    a, o = np.ones((3, 4)), np.zeros(12)
    with pytest.raises(lw.errors.CompileError, match="E164: (.|\n)*for every `j`"):
        kernel((3, 4), a, o)
    kernel((3, 1), a, o)  # there is one element along it
    kernel((3, range(2, 3)), a, o)
    assert o.any()


@pytest.mark.parametrize("kernel", [rows_first, rows_at_zero, corner, corner_by_or, diagonal, flat], ids=lambda k: k.__name__)
def test_an_index_that_is_followed_or_tested_is_none(kernel):
    a, o = np.ones((3, 4)), np.zeros(12)
    kernel((3, 4), a, o)
    assert o.any()


# ---- the faces ----

def test_the_error_shows_the_store():
    with pytest.raises(lw.errors.CompileError) as info:
        lw.forall(adds_in_bounds)(12, *arguments())
    assert info.value.code == "E164" and info.value.lineno == adds_in_bounds.__code__.co_firstlineno + 2
    assert "        o[0] += x[i]" in str(info.value) and "^^^^" in str(info.value)


def test_bound_calls_and_declared_signatures_are_looked_at_too():
    x, o, q, m = arguments()
    with pytest.raises(lw.errors.CompileError, match="E164"):
        lw.forall(adds).bind(12, x, o, q, m)
    declared = lw.forall("void(float64[:], float64[:], int64[:], float64[:, :])")(adds)
    declared(1, x, o, q, m)
    with pytest.raises(lw.errors.CompileError, match="E164"):
        declared(2, x, o, q, m)


def test_checks_and_another_sign_of_the_index_change_nothing():
    x, o, q, m = arguments()
    with pytest.raises(lw.errors.CompileError, match="E164"):
        lw.forall(debug=True)(adds)(12, x, o, q, m)
    with pytest.raises(lw.errors.CompileError, match="E164"):
        lw.forall(adds)(range(-12, 0), x, o, q, m)
