"""Elements that race: E164 where that can be known without running, and nothing where elements may keep out of each other's
way; a KernelError where check={"race"} sees them meet."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda


def put(o, k, v):
    o[k] += v


def put_below(o, k, n, v):
    if k < n:
        o[0] += v


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


def adds_below_a_constant(i, x, o, q, m):
    if i < 5:
        o[0] += x[i]


def adds_unless_above_a_constant(i, x, o, q, m):
    if i >= 5:
        o[1] = 1
    else:
        o[0] += x[i]


def adds_in_bounds_of_the_next(i, x, o, q, m):
    if i + 1 < x.size:
        o[0] += x[i]


def adds_after_return(i, x, o, q, m):
    if i >= x.size:
        return
    o[0] = o[0] + 1


def adds_unless_out_of_bounds(i, x, o, q, m):
    if not (i >= x.size):
        o[0] += x[i]


def adds_below_an_argument(i, x, o, q, m):
    if x.size > i and x[i] > 3:
        o[0] += x[i]


def adds_in_the_other_branch(i, x, o, q, m):
    if i >= x.size or x[i] < 0:
        o[1] = 0
    else:
        o[0] += x[i]


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


def inside_by_where(i, x, o, q, m):
    if np.where(i < len(x), True, False):
        o[0] += x[i]


def inside_by_a_flag(i, x, o, q, m):
    inside = True if i < len(x) else False
    if inside:
        o[0] += x[i]


def inside_unless_a_flag(i, x, o, q, m):
    outside = False if i < len(x) else True
    if not outside:
        o[0] += x[i]


RACING = [inside_by_where, inside_by_a_flag, inside_unless_a_flag, adds, adds_one, adds_in_bounds, adds_below_a_constant, adds_unless_above_a_constant, adds_in_bounds_of_the_next, adds_after_return, adds_unless_out_of_bounds,
          adds_below_an_argument, adds_in_the_other_branch, adds_in_a_helper, adds_what_a_helper_read, stores, stores_by_a_view, stores_a_slice,
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


def last_from_above(i, x, o, q, m):
    if i >= x.size - 1:
        o[0] = x[i]


def last_beyond(i, x, o, q, m):
    if i > x.size - 2:
        o[0] += x[i]


def between(i, x, o, q, m):
    if 8 < i and i < 10:
        o[0] += x[i]


def between_at_once(i, x, o, q, m):
    if x.size - 2 < i < x.size:
        o[0] += x[i]


def all_before_return(i, x, o, q, m):
    if i < x.size - 1:
        return
    o[0] += x[i]


def last_in_else(i, x, o, q, m):
    if i < x.size - 1:
        o[i] = 0
    else:
        o[0] += x[i]


def not_below(i, x, o, q, m):
    if not i < x.size - 1:
        put(o, 0, x[i])


def from_the_end(i, x, o, q, m):
    if x.size - i < 2:
        o[0] = x[i]


def from_the_end_in_a_helper(i, x, o, q, m):
    put_below(o, x.size - i, q[0], x[i])


def breaks_below(i, x, o, q, m):
    while True:
        if i < x.size - 1:
            break
        o[0] += x[i]
        return


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


def last_by_xor(i, x, o, q, m):
    if (i < len(x) - 1) ^ True:
        o[0] += x[i]


def last_by_logical_xor(i, x, o, q, m):
    if np.logical_xor(True, i < len(x) - 1):
        o[0] += x[i]


def last_by_where(i, x, o, q, m):
    if np.where(i < len(x) - 1, False, True):
        o[0] += x[i]


def last_by_a_flag(i, x, o, q, m):
    before = False if i < len(x) - 1 else x[i] > 0
    if before:
        o[0] += x[i]


FREE = [last_by_xor, last_by_logical_xor, last_by_where, last_by_a_flag, first_alone, first_below_one, last_alone, last_from_above, last_beyond, between, between_at_once, all_before_return, last_in_else,
        not_below, from_the_end, from_the_end_in_a_helper, breaks_below, others_return, zero_alone, uniform, uniform_loaded, found, finds, scatters, own_local,
        own_element_in_a_helper, own_column, own_slice, atomically, a_place_from_an_atomic, the_last_to_come, counted_up, searched, skipped, halves, chosen]


def arguments():
    return np.arange(12.0), np.zeros(36), np.zeros(12, np.int64), np.zeros((4, 12))


@pytest.mark.parametrize("function", RACING, ids=lambda f: f.__name__)
def test_a_race_is_an_error_before_anything_runs(function):
    x, o, q, m = arguments()
    kernel = lw.forall(function)
    for _ in range(2):
        with pytest.raises(lw.errors.CompileError, match="E164: calls of (.|\n)*the same element for every `i`(.|\n)*cuda.atomic(.|\n)*lw.reduce"):
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


# ---- check={"race"}: what is seen as elements run ----

WATCHED = {"check": {"race"}, "target": "cpu"}
MEET = np.array([0, 1, 2, 1, 4, 5])  # elements 1 and 3 meet
APART = np.array([0, 5, 2, 1, 4, 3])


def lines_of(function, *texts):
    """For each text, the number of the first line that contains it."""
    source, first = inspect.getsourcelines(function)
    return [first + next(i for i, line in enumerate(source) if text in line) for text in texts]


def watched(function, *args, **options):
    return lw.forall(**WATCHED, **options)(function)(*args)


def histogram(i, q, o):
    o[q[i]] += 1  # here


def neighbours(i, q, o):
    if i > 0:
        o[i] = o[i] + o[i - 1] + 1  # here


def by_a_helper(i, q, o):
    put(o, q[i], 1)


def by_a_view(i, q, o):
    part = o[q[i]:]
    part[0] = i + 1  # here


def backwards(i, q, o):
    o[::-1][q[i]] = i + 1  # here


def stores_only(i, q, o):
    o[q[i]] = i  # here


def reads_what_is_written(i, q, o):
    o[i + 6] = o[q[i] + 7] + 1  # here


def adds_and_reads(i, q, o):
    cuda.atomic.add(o, q[i], 1)
    o[i + 6] = o[q[i]]  # here


def in_a_loop(i, q, o):
    for k in range(3):
        o[3 * q[i] + k] += 1  # here


@pytest.mark.parametrize("function", [histogram, neighbours, by_a_helper, by_a_view, backwards, stores_only, reads_what_is_written, adds_and_reads, in_a_loop],
                         ids=lambda f: f.__name__)
def test_elements_that_meet_are_told_of(function):
    lw.forall(function, target="cpu")(6, MEET, np.zeros(18))
    with pytest.raises(lw.errors.KernelError, match=rf"^{function.__name__}: race on `o\[\d+\]`: element [1-5] .* in line \d+, which element [0-5] .* in line \d+") as caught:
        watched(function, 6, MEET, np.zeros(18))
    if function not in (by_a_helper,):
        assert f"in line {lines_of(function, '# here')[0]}" in str(caught.value)
    watched(function, 1, MEET, np.zeros(18))


@pytest.mark.parametrize("function", [histogram, by_a_helper, by_a_view, backwards, stores_only, adds_and_reads, in_a_loop], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["i1", "u2", "f4", "i8", "f8", "c16"])
def test_elements_that_keep_apart_are_none(function, dtype):
    if dtype == "c16" and function is adds_and_reads:
        dtype = "c8"
    expected, o = np.zeros(18, dtype), np.zeros(18, dtype)
    lw.forall(function, target="cpu")(6, APART, expected)
    watched(function, 6, APART, o)
    assert o.tolist() == expected.tolist() and o.any()


def test_the_message_has_both_elements_the_place_and_the_lines():
    line = lines_of(histogram, "# here")[0]
    with pytest.raises(lw.errors.KernelError) as caught:
        watched(histogram, range(10, 16), np.append(np.zeros(10, int), MEET), np.zeros(6, np.float32))
    assert str(caught.value) == (f"histogram: race on `o[1]`: element 13 reads 4 bytes there in line {line}, which element 11 wrote in line {line}: "
                                 "elements run in any order")


@pytest.mark.parametrize("options, setting", [({"check": {"race"}}, ""), ({"debug": True}, ""), ({}, "race"), ({}, "bounds,race")])
def test_ways_to_ask_for_it(options, setting):
    kernel = lw.forall(target="cpu", **options)(histogram)
    with lw.config(check=setting):
        for _ in range(2):
            with pytest.raises(lw.errors.KernelError, match="race on `o"):
                kernel(6, MEET, np.zeros(6))
        kernel(6, APART, np.zeros(6))
        with pytest.raises(lw.errors.KernelError, match="race on `o"):
            kernel.bind(6, MEET, np.zeros(6))()
    if setting:
        kernel(6, MEET, np.zeros(6))


def test_it_is_not_looked_for_where_nobody_asks():
    lw.forall(histogram, target="cpu", check={"bounds"})(6, MEET, np.zeros(6))
    lw.forall(histogram, target="cpu", check={"race"}, errors="ignore")(6, MEET, np.zeros(6))


def test_two_indices_are_told_as_two():
    def halves(i, j, a):
        a[i // 2, j] += 1

    a = np.zeros((4, 3), order="F")
    with pytest.raises(lw.errors.KernelError, match=r"race on `a\[0, 0\]`: element \(1, 0\) reads .* which element \(0, 0\) wrote"):
        watched(halves, (4, 3), a, ndim=2)
    watched(halves, (range(0, 4, 2), 3), a, ndim=2)


def test_arrays_that_overlap_are_one_memory():
    def shift(i, x, o):
        o[i] = x[i] + 1

    x = np.zeros(9)
    watched(shift, 8, x, x)
    watched(shift, 4, x[:4], x[4:8])
    x = np.zeros(9)
    with pytest.raises(lw.errors.KernelError, match="element 1 reads 8 bytes there .* which element 0 wrote"):
        watched(shift, 8, x[:-1], x[1:])
    with pytest.raises(lw.errors.KernelError, match="element 1 writes 8 bytes there .* which element 0 read"):
        x = np.zeros(9)
        watched(shift, 8, x[1:], x[:-1])


def test_a_field_of_a_record_is_its_own_place():
    def fields(i, r, q):
        if i % 2 == 0:
            r[q[i]].a = 1
        else:
            r[q[i]].b = 2

    r = np.zeros(6, [("a", "i1"), ("b", "f8")])
    watched(fields, 6, r, np.array([0, 0, 1, 1, 2, 2]))
    with pytest.raises(lw.errors.KernelError, match=r"race on `r\[\d\]"):
        watched(adds_to_a_field, 6, r, MEET)


def adds_to_a_field(i, r, q):
    r[q[i]].b += 1


def adds_what_lies_there(i, q, o):
    cuda.atomic.add(o, q[i], o[1])


def keeps_what_lies_there(i, q, o):
    cuda.atomic.max(o, q[i], o[1])


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "f2", "i4", "u4", "f4", "i8", "f8"])
def test_atomics_race_with_plain_accesses_alone(dtype):
    def adds(i, q, o):
        cuda.atomic.add(o, q[i], 1)

    def keeps_largest(i, q, o):
        cuda.atomic.max(o, q[i], i)

    def beside(i, q, o):
        cuda.atomic.max(o, 2 * q[i], i)
        o[2 * q[i] + 1] = i

    o = np.zeros(12, dtype)
    watched(adds, 6, MEET, o)
    watched(keeps_largest, 6, MEET, o)
    assert o[1] == 3
    watched(beside, 6, APART, o)
    for function in (adds_what_lies_there, keeps_what_lies_there):
        with pytest.raises(lw.errors.KernelError, match=r"race on `o\[1\]`: .* (changes|changed) \(atomically\)"):
            watched(function, 6, MEET, o)


def test_logic_on_a_narrow_element_leaves_its_neighbours_alone():
    def marks(i, o):
        cuda.atomic.or_(o, 2 * i, 1)
        o[2 * i + 1] = 2

    o = np.zeros(12, np.uint8)
    watched(marks, 6, o)
    assert o.tolist() == [1, 2] * 6


def test_a_store_of_what_lies_there_is_none():
    def flags(i, x, found):
        if x[i] > 2:
            found[0] = 1

    found = np.zeros(1)
    watched(flags, 6, np.arange(6.0), found)
    assert found[0] == 1
    with pytest.raises(lw.errors.KernelError, match="race on `found"):
        watched(lambda i, x, found: put(found, 0 if x[i] > 2 else i, 1.0), 6, np.arange(6.0), np.zeros(6))


def test_local_arrays_belong_to_their_element():
    x, o = np.arange(6.0), np.zeros(6)
    watched(own_local, 6, x, o, None, None)
    assert o.tolist() == x.tolist()


def test_exceptions_of_elements_still_come():
    def stops(i, q, o):
        if i == 4:
            raise ValueError("four")
        o[q[i]] = i

    with pytest.raises(ValueError, match="four"):
        watched(stops, 6, APART, np.zeros(6))
    with pytest.raises(lw.errors.KernelError, match="race"):
        watched(stops, 6, MEET, np.zeros(6))


# ---- excluded arrays ----

def counts_in(k, t):
    t[k] += 1
    return t[k]


def looks_up(k, t):
    return t[k]


@pytest.mark.parametrize("options, setting", [({"check": {"race"}}, ""), ({"debug": True}, ""), ({}, "race")])
def test_elements_that_meet_in_an_excluded_array(options, setting):
    f = lw.vectorize(counts_in, excluded={"t"}, **options)
    with lw.config(check=setting):
        for _ in range(2):
            with pytest.raises(lw.errors.KernelError, match=r"^counts_in: race on `t\[1\]`: element 3 reads 8 bytes there in line \d+, which element 1 wrote"):
                f(MEET, np.zeros(6))
        with pytest.raises(lw.errors.KernelError, match="element 3 .* element 1 "):
            f(MEET.reshape(2, 3), np.zeros(6))
        with pytest.raises(lw.errors.KernelError, match=r"race on `t\[0\]`: element 1 "):
            f(np.broadcast_to(np.int64(0), 5), np.zeros(6))
        assert f(APART, np.zeros(6)).tolist() == [1] * 6
        assert f(MEET[0], np.zeros(6)) == 1


def test_an_excluded_array_that_is_read_may_be_shared():
    assert lw.vectorize(looks_up, excluded={"t"}, check={"race"})(MEET, np.arange(6.0)).tolist() == MEET.tolist()


def test_many_elements_of_vectorize_are_watched_one_by_one():
    f, n = lw.vectorize(counts_in, excluded={"t"}, check={"race"}), 20000
    places = np.random.default_rng(7).permutation(n)
    assert f(places, np.zeros(n)).tolist() == [1] * n
    places[-1] = places[0]
    with pytest.raises(lw.errors.KernelError, match=rf"element {n - 1} reads .* which element 0 wrote"):
        f(places, np.zeros(n))


def test_items_of_guvectorize_that_meet_in_an_excluded_array():
    @lw.guvectorize("(n)->()", excluded={"t"}, check={"race"})
    def counts(ks, t, out):
        out[0] = 0
        for k in ks:
            t[k] += 1
            out[0] += t[k]

    assert counts(np.array([[0, 1], [2, 2], [3, 4]]), np.zeros(6)).tolist() == [2, 3, 2]
    with pytest.raises(lw.errors.KernelError, match=r"^counts: race on `t\[0\]`: element 2 reads .* which element 0 wrote"):
        counts(np.array([[0, 1], [2, 2], [3, 0]]), np.zeros(6))


def test_a_constant_bound_counts_from_zero():
    def below_five(i, x, o):
        if i < 5:
            o[0] += x[i]

    f, x, o = lw.forall(below_five), np.arange(12.0), np.zeros(1)
    f(range(4, 10), x, o)
    assert o[0] == 4
    with pytest.raises(lw.errors.CompileError, match="update the same element"):
        f(range(10), x, o)
