"""What functions that an iteration of prange calls store: no update is lost, and races are E168."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import errors, njit, prange

from memory_checks import check_that_typed_containers_end

N = 200_000


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(1).integers(0, 5, N)


# ---- updates are atomic, whatever else the function does ----


@njit
def count_loop(counts, values):
    for k in range(values.shape[0]):
        counts[values[k]] += 1


@njit
def count_branch(counts, values):
    if values[0] > 2:
        counts[values[0]] += 2
    else:
        counts[0] += 1


@njit
def count_array(counts, values):
    t = np.empty(3)
    for k in range(3):
        t[k] = values[0] + k
    counts[values[0]] += int(t.sum()) - 3 * values[0] - 2


@njit
def count_deeper(counts, values):
    for _ in range(2):
        count_branch(counts, values)


@njit
def count_recursive(counts, k, depth):
    counts[k % 5] += 1
    if depth > 0:
        count_recursive(counts, k + 1, depth - 1)
    return 0


def calls_loop(x, counts):
    for i in prange(x.shape[0] // 4):
        count_loop(counts, x[4 * i : 4 * i + 4])


def calls_branch(x, counts):
    for i in prange(x.shape[0]):
        count_branch(counts, x[i : i + 1])


def calls_array(x, counts):
    for i in prange(x.shape[0]):
        count_array(counts, x[i : i + 1])


def calls_deeper(x, counts):
    for i in prange(x.shape[0]):
        count_deeper(counts, x[i : i + 1])


def calls_recursive(x, counts):
    for i in prange(x.shape[0]):
        count_recursive(counts, x[i], 2)


def update_around_a_loop(x, counts):
    for i in prange(x.shape[0]):
        t = np.empty(3)
        for k in range(3):
            t[k] = x[i] + k
        counts[x[i]] += int(t.sum()) - 3 * x[i] - 2


class Counter:
    def __init__(self, counts):
        self.counts = counts

    def add(self, k):
        if k > 2:
            self.counts[k] += 2
        else:
            self.counts[k] += 1


def calls_method(x, counts):
    counter = Counter(counts)
    for i in prange(x.shape[0]):
        counter.add(x[i])


UPDATES = [calls_loop, calls_branch, calls_array, calls_deeper, calls_recursive, update_around_a_loop, calls_method]


@pytest.mark.parametrize("function", UPDATES, ids=lambda f: f.__name__)
def test_no_update_is_lost(function, x):
    compiled, in_order = njit(function), njit(function, parallel=False)
    expected = np.zeros(5, np.int64)
    in_order(x, expected)
    for _ in range(3):
        counts = np.zeros(5, np.int64)
        compiled(x, counts)
        np.testing.assert_array_equal(counts, expected)


def test_a_long_chain_of_functions():
    """The updates are twenty calls away, at one place of the loop and at several."""

    def chain(f, length):
        def g(counts, k):
            if k >= 0:
                f(counts, k)
            return 0

        return njit(g) if length == 1 else chain(njit(g), length - 1)

    @njit
    def last(counts, k):
        counts[k] += 1
        return 0

    called = chain(last, 20)

    @njit
    def run(x, counts):
        for i in prange(x.shape[0]):
            called(counts, x[i])

    @njit
    def long(x, counts):
        for i in prange(x.shape[0]):
            for k in range(2):
                called(counts, x[i])
                called(counts, x[i])
                called(counts, x[i])

    x = np.random.default_rng(4).integers(0, 5, N)
    for function, times in ((run, 1), (long, 6)):
        counts = np.zeros(5, np.int64)
        function(x, counts)
        np.testing.assert_array_equal(counts, times * np.bincount(x))


# ---- races ----


@njit
def fill(scratch, value):
    for k in range(scratch.shape[0]):
        scratch[k] = value


@njit
def keep_largest(largest, k, value):
    if value > largest[k]:
        largest[k] = value


@njit
def smooth(y, i):
    for k in range(1):
        y[i + k] = y[i + k - 1] * 0.5


def fills_by_a_function(x, scratch):
    for i in prange(x.shape[0]):
        fill(scratch, i)
        x[i] = int(scratch[0])


def fills_by_a_method(x, scratch):
    for i in prange(x.shape[0]):
        scratch.fill(i)
        x[i] = int(scratch[0])


def keeps_largest(x, scratch):
    for i in prange(x.shape[0]):
        keep_largest(scratch, x[i], i)


def reads_the_neighbour(x, scratch):
    for i in prange(1, scratch.shape[0]):
        smooth(scratch, i)


RACES = [
    (fills_by_a_function, "scratch[k] = value"),
    (fills_by_a_method, "scratch.fill(i)"),
    (keeps_largest, "largest[k] = value"),
    (reads_the_neighbour, "y[i + k] = y[i + k - 1] * 0.5"),
]


@pytest.mark.parametrize("function, line", RACES, ids=lambda each: getattr(each, "__name__", ""))
def test_a_race_of_called_functions_is_an_error(function, line):
    with pytest.raises(errors.CompileError, match="E168") as caught:
        njit(function)(np.zeros(100, np.int64), np.zeros(10))
    assert line in str(caught.value)  # a line of the user's, also where lanewise's own function stores
    assert "lanewise" not in str(caught.value)


# ---- what is no race ----


@njit
def put_first(out, x, i):
    v = x[i]
    while True:
        v = v * 3 + 1
        y = v % 7
        if y > 3:
            break
        if v > 1000:
            return -1
    out[i] = y
    if y == 100:
        raise ValueError("never")
    return y


@njit
def sorted_in_place(a):
    for i in range(1, a.shape[0]):
        v = a[i]
        j = i - 1
        while j >= 0 and a[j] > v:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = v


@njit
def summed_in_place(a, low, high):
    for i in range(low + 1, high):
        a[i] += a[i - 1]


@njit
def doubled(a):
    t = np.empty(a.shape[0])
    for k in range(a.shape[0]):
        t[k] = 2 * a[k]
    a[:] = t
    return t


@njit
def row_in_parallel(out, i):
    for k in prange(out.shape[1]):
        out[i, k] = i * k


def returns_early(a):
    x = np.arange(a.size)
    out = np.zeros(a.size)
    total = 0
    for i in prange(a.size):
        total += put_first(out, x, i)
    a[0, 0] = total
    a[1, :] = out[: a.shape[1]]


def sorts_rows(a):
    for i in prange(a.shape[0]):
        sorted_in_place(a[i])


def sums_segments(a):
    flat = a.ravel()
    ends = np.arange(a.shape[0] + 1) * a.shape[1]
    for i in prange(ends.shape[0] - 1):
        summed_in_place(flat, ends[i], ends[i + 1])


def doubles_rows(a):
    total = 0.0
    for i in prange(a.shape[0]):
        total += doubled(a[i])[1]
    a[0, 0] = total


@njit
def set_bit(row, k):
    row[k >> 3] |= 1 << (k & 7)


@njit
def count_in_row(counts, t, values):
    for v in values:
        counts[t, int(v) // 10] += 1


def counts_in_rows(a):
    """Memory says which element of the row is updated; the row belongs to the iteration, so bytes can be updated."""
    counts = np.zeros((a.shape[0], 11), np.uint8)
    bits = np.zeros((a.shape[0], 16), np.uint8)
    for i in prange(a.shape[0]):
        count_in_row(counts, i, a[i])
        for v in a[i]:
            set_bit(bits[i], int(v))
    a[:, :11] = counts
    a[:, 11] = bits.sum(axis=1)


@njit
def counts_of(values):
    counts = np.zeros(11, np.uint8)
    for v in values:
        counts[int(v) // 10] += 1
    return counts


def stores_counts(a):
    for i in prange(a.shape[0]):
        a[i, :11] = counts_of(a[i])


def fills_rows(a):
    for i in prange(a.shape[0]):
        a[i].fill(i)


def loops_in_loops(a):
    for i in prange(a.shape[0]):
        row_in_parallel(a, i)


APART = [returns_early, sorts_rows, sums_segments, doubles_rows, fills_rows, counts_in_rows, stores_counts, loops_in_loops]


@pytest.mark.parametrize("function", APART, ids=lambda f: f.__name__)
def test_functions_that_store_at_their_own_places(function):
    a = np.random.default_rng(2).integers(0, 100, (500, 20)).astype(float)
    expected = a.copy()
    njit(function, parallel=False)(expected)
    njit(function)(a)
    np.testing.assert_array_equal(a, expected)


def test_an_exception_of_an_inlined_function_is_that_of_the_first_iteration():
    @njit
    def check(out, i):
        for k in range(2):
            if i >= 1000:
                raise ValueError("too large", i)
            out[i] = k

    @njit
    def run(out):
        for i in prange(out.shape[0]):
            check(out, i)

    with pytest.raises(ValueError, match="too large.*1000.*`check`"):
        run(np.zeros(N))


def test_memory_of_inlined_functions_is_released():
    @njit
    def run(a):
        for i in prange(a.shape[0]):
            doubled(a[i])

    a = np.zeros((300, 20))
    check_that_typed_containers_end(lambda: run(a), 5)
