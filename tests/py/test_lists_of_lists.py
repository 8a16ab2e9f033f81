"""Lists and dicts whose items are lists, in functions of njit: the lists themselves, as in Python, which show changes by any name."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lanewise import errors, njit, typed


def squares_of_zeros(n):
    out = [[0] * n for _ in range(n)]
    out[1][2] = 5
    out[0][0] += 7
    return out


def rows_that_grow(n):
    out = []
    for i in range(n):
        out.append([i])
    out[0].append(3)
    return (out, len(out[0]), out[0][1])


def rows_made_by_loops(n):
    out = []
    for i in range(n):
        row = []
        for j in range(i + 1):
            row.append(i * j)
        out.append(row)
    t = 0
    for row in out:
        for v in row:
            t += v
    return (out, t)


def table_of_paths(n):
    dp = [[0] * (n + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        for j in range(n + 1):
            if i == 0 or j == 0:
                dp[i][j] = 1
            else:
                dp[i][j] = dp[i - 1][j] + dp[i][j - 1]
    return (dp[n][n], dp)


def a_row_by_its_name(n):
    row = [1, 2]
    out = [row]
    out.append([3])
    a = out[0]
    a.append(9)
    return out


def the_same_row_twice(n):
    out = [[0] * 3] * 2
    out[0][1] = 4
    return out


def groups_by_a_test(n):
    d = {}
    for i in range(n):
        k = i % 3
        if k not in d:
            d[k] = [i]
        else:
            d[k].append(i)
    return (d, len(d[0]))


def neighbours(n):
    adj = [[0] for _ in range(n)]
    for i in range(n):
        adj[i].pop()
    for i in range(n - 1):
        adj[i].append(i + 1)
        adj[i + 1].append(i)
    return adj


def rows_of_other_lengths(n):
    out = [[1.5, 2.0], [3.0]]
    out.append([])
    out[2].append(4.0)
    return (out, [len(r) for r in out], sum([sum(r) for r in out]))


def sorted_by_a_key(n):
    out = [[i, i * i] for i in range(n)]
    out.sort(key=lambda r: -r[1])
    out.reverse()
    return (out, np.array(out), np.array(out).sum())


def rows_of_tuples(n):
    out = [[(i, 1.5)] for i in range(n)]
    out[0].append((7, 2.5))
    return out


def stack_of_paths(n):
    stack = [[0]]
    found = []
    while stack:
        p = stack.pop()
        if len(p) == 3:
            found.append(p)
        else:
            for k in range(2):
                stack.append(p + [k])
    return found


def every_change(n):
    out = [[i] for i in range(n)]
    out[0] += [5]
    out[1].extend([1, 2])
    out[2] = [7, 8]
    x = out.pop()
    del out[0][0]
    return (out, x, [7, 8] in out, out.index([7, 8]), out == [[5], [1, 1, 2], [7, 8]])


def loops_that_change_rows(n):
    out = [[i] for i in range(n)]
    for i, r in enumerate(out):
        r.append(i * 2)
    for a, b in zip(out, out[1:]):
        a.append(b[0])
    return out


def ints_among_floats(n):
    out = [[1.5]]
    out.append([2])
    return out


def rows_without_items(n):
    adj = [[] for _ in range(n)]
    for i in range(n - 1):
        adj[i].append(i + 1)
    return adj


def rows_that_are_given_away(n):
    out = []
    row = []
    for i in range(n):
        row.append(i)
        if i % 2:
            out.append(row)
            row = []
    return (out, row)


def groups_by_setdefault(n):
    d = {}
    for i in range(n):
        d.setdefault(i % 2, []).append(i)
    return d


def breadth_first(n):
    adj = [[] for _ in range(n)]
    for i in range(n - 1):
        adj[i].append(i + 1)
        adj[i + 1].append(i)
    seen = [False] * n
    seen[0] = True
    q = [0]
    order = []
    while q:
        u = q.pop(0)
        order.append(u)
        for v in adj[u]:
            if not seen[v]:
                seen[v] = True
                q.append(v)
    return (order, adj, [len(a) for a in adj])


def displays(n):
    m = [[1, 2, 3], [4, 5, 6]]
    m[0][1] = 10
    m[1].append(7)
    return m


def groups_that_begin_empty(n):
    d = {}
    for i in range(n):
        if i % 2 not in d:
            d[i % 2] = []
        d[i % 2].append(i * 1.5)
    return d


def extended_rows(n):
    b = [[] for _ in range(3)]
    for i in range(n):
        b[i % 3].extend([i, i])
    return b


def read_by_functions(n):
    grid = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            grid[i][j] = i * j
    return ([grid[i][i] for i in range(n)], [list(r) for r in grid], [sum(r) for r in grid], max([max(r) for r in grid]))


def returned_at_once(n):
    return [[1, 2], [3]]


def flattened(n):
    out = []
    for i in range(n):
        out.append([j for j in range(i)])
    flat = [v for r in out for v in r]
    return (flat, out)


def dict_of_lists_of_tuples(n):
    d = {i: [] for i in range(3)}
    for i in range(n):
        d[i % 3].append((i, i + 1))
    return d


def triangle(n):
    tri = [[1]]
    for i in range(1, n):
        prev = tri[-1]
        row = [1]
        for j in range(1, i):
            row.append(prev[j - 1] + prev[j])
        row.append(1)
        tri.append(row)
    return tri


def changed_by_a_function(n):

    def add(g, u, v):
        g[u].append(v)
    g = [[] for _ in range(n)]
    for i in range(n):
        add(g, i, i)
    return g


def copies_that_are_kept(n):
    out = []
    cur = []
    for i in range(n):
        cur.append(i)
        out.append(cur.copy())
    return (out, cur)


def other_copies(n):
    out = []
    cur = []
    for i in range(n):
        cur.append(i)
        out.append(cur[:])
        out.append(list(cur))
    return out


def never_filled(n):
    b = [[] for _ in range(3)]
    return (b, len(b[0]))


def product_of_matrices(n):
    a = [[0, 1], [2, 3]]
    b = [[1, 2], [3, 4]]
    c = [[0] * 2 for _ in range(2)]
    for i in range(2):
        for j in range(2):
            for k in range(2):
                c[i][j] += a[i][k] * b[k][j]
    return c


def as_arrays(n):
    out = [[i, i + 1] for i in range(n)]
    return (np.array(out), np.concatenate(out), np.stack(out, 1), np.vstack(out), np.hstack(out), np.sum(out), np.sum(out, axis=0), np.array(out) * 2)


def rows_by_name(n):
    out = [[1.5]]
    out.append([2])
    x = out[1]
    x[0] = 7
    for r in out:
        if r[0] > 5:
            r.clear()
    return out


def unpacked(n):
    out = [[1], [2]]
    for r in out[:]:
        r.append(0)
    a, b = out
    a.append(5)
    return out


def methods_of_rows(n):
    rows = [[3, 1, 2], [9, 8]]
    for r in rows:
        r.sort()
    rows[0].insert(0, -1)
    rows[1].remove(8)
    return (rows, rows[0][-1], rows[0][1:3], [x * 2 for x in rows[0]])


def copy_of_the_outer_list(n):
    g = [[1, 2], [3]]
    h = g.copy()
    h[0].append(4)
    h.append([9])
    return (g, h)


def parts(n):
    parts = []
    cur = [0]
    for i in range(1, n):
        if i % 3 == 0:
            parts.append(cur)
            cur = [i]
        else:
            cur.append(i)
    parts.append(cur)
    return parts


def beside_numbers(n):
    out = []
    for i in range(n):
        out.append((i, [i] * i))
    return (out, sum([len(r) for i, r in out]))


def transposed(n):
    m = [[0.0] * 3 for _ in range(3)]
    for i in range(3):
        m[i][i] = 1.0
    t = [[m[j][i] for j in range(3)] for i in range(3)]
    return t


def exchanged(n):
    m = [[1, 2], [3, 4]]
    m[0], m[1] = (m[1], m[0])
    m[0][0], m[0][1] = (m[0][1], m[0][0])
    return m


def reversed_rows(n):
    m = [[1, 2], [3, 4]]
    return [r[::-1] for r in m]


def a_row_that_is_replaced(n):
    x = [[1]]
    y = x[0]
    x[0] = [2]
    y.append(5)
    return (x, y)


def compared(n):
    x = [[1, 2, 3] for _ in range(2)]
    if x[0]:
        x[0].pop()
    return (x, x[0] == [1, 2], x[1] != [1, 2], [1, 2] in x)


def many_numbers(n):
    out = [[] for _ in range(n)]
    out[0].append((n, n, n, n, n, 1.5))
    return out, [len(r) for r in out], [[(i, i, i, i, i)] for i in range(n)]


def long_rows(n):
    t = [[0] * 100 for _ in range(n)]
    t.append([n] * 70)
    t[1][99] = 5
    wide = [[0] * 10000] * 2
    wide[0][1] = 3
    return t, len(wide[1]), wide[1][:3]


def places_of_the_list(n):
    t = [[] for _ in range(n)]
    for i in range(len(t)):
        t[i].append(i)
    flat = [1]
    for i in range(len(flat) + 2):
        flat.append(i)
    return t, flat


PROGRAMS = [
    many_numbers, long_rows, places_of_the_list,
    squares_of_zeros, rows_that_grow, rows_made_by_loops, table_of_paths, a_row_by_its_name, the_same_row_twice, groups_by_a_test, neighbours,
    rows_of_other_lengths, sorted_by_a_key, rows_of_tuples, stack_of_paths, every_change, loops_that_change_rows, ints_among_floats,
    rows_without_items, rows_that_are_given_away, groups_by_setdefault, breadth_first, displays, groups_that_begin_empty, extended_rows,
    read_by_functions, returned_at_once, flattened, dict_of_lists_of_tuples, triangle, changed_by_a_function, copies_that_are_kept, other_copies,
    never_filled, product_of_matrices, as_arrays, rows_by_name, unpacked, methods_of_rows, copy_of_the_outer_list, parts, beside_numbers, transposed,
    exchanged, reversed_rows, a_row_that_is_replaced, compared,
]


def check(got, want):
    if isinstance(want, (list, tuple)):
        assert type(got) is type(want) and len(got) == len(want)
        for one, other in zip(got, want):
            check(one, other)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            check(got[key], want[key])
    elif isinstance(want, np.ndarray):
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_array_equal(got, want)
    else:
        assert got == want


@pytest.mark.distinct_cases
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_like_python(function):
    check(njit(function)(5), function(5))


def changed_after_it_was_put(n):
    row = [1]
    out = []
    out.append(row)
    row.append(2)
    return out


def number_among_lists(n):
    out = [[1]]
    out.append(3)
    return out


def float_among_ints(n):
    out = [[1]]
    out.append([2.5])
    return out


def three_levels(n):
    out = [[[1]]]
    out.append([[2]])
    return out


def sorted_without_a_key(n):
    out = [[i] for i in range(n)]
    out.sort()
    return out


def lists_of_two_types(n):
    out = [[]]
    out.append([1.5])
    return out


WRONG = [
    (changed_after_it_was_put, r"E120: a list that is used under its name again(.|\n)*`x\.copy\(\)`"), (number_among_lists, "E120: the items of this list are lists, but this is not one"),
    (float_among_ints, "E120: the items of this list are ints, and this is a float"), (three_levels, "E120: (.|\n)*use an array of several axes"),
    (sorted_without_a_key, "E120: lists in a list have no order"), (lists_of_two_types, "E120: the lists of a list must have items of one type"),
]


@pytest.mark.distinct_cases
@pytest.mark.parametrize("function, words", WRONG, ids=[f.__name__ for f, _ in WRONG])
def test_what_is_refused(function, words):
    with pytest.raises(errors.TypingError) as failed:
        njit(function)(3)
    assert re.search(words, str(failed.value)), failed.value


def test_typed_lists_stay_typed():
    def f(x):
        out = []
        out.append(x)
        out.append(typed.List([3]))
        out[0].append(9)
        return out

    x = typed.List([1, 2])
    out = njit(f)(x)
    assert out[0] is x and list(x) == [1, 2, 9] and type(out[1]) is typed.List and list(out[1]) == [3]


def as_an_array_of_rows(n):
    out = [[0] * i for i in range(n)]
    out.append([1])
    return np.array(out)


def test_errors_while_it_runs():
    with pytest.raises(IndexError, match="list index out of range"):
        njit(lambda n: [[i] for i in range(n)][0][n])(2)
    with pytest.raises(ValueError, match="different lengths"):
        njit(lambda n: np.array([[0] * i for i in range(n)]))(3)
    with pytest.raises(ValueError, match="same shape"):
        njit(as_an_array_of_rows)(3)


class Graph:
    def __init__(self, n):
        self.next = [[] for _ in range(n)]
        self.weights = [[0.5] for _ in range(n)]
        self.parts = []

    def add(self, u, v):
        self.next[u].append(v)
        self.weights[u].append(v * 0.5)
        self.parts.append(np.arange(v))


def graph(n):
    g = Graph(n)
    for i in range(n - 1):
        g.add(i, i + 1)
    return g.next, g.weights, g.parts, len(g.weights[1])


def test_fields_of_objects():
    check(njit(graph)(4), graph(4))


def put_into(path, k, out):
    path.append(k)
    out.append(path.copy())


def from_a_display(n):
    out = [[1]]
    put_into([0, n], n, out)
    put_into([5], n, out)
    return out


def test_a_display_that_a_function_changes():
    check(njit(from_a_display)(3), from_a_display(3))


def test_types_in_messages():
    with pytest.raises(errors.CompileError) as failed:
        njit(lambda n: ([[0] * n for _ in range(n)], [np.ones(3) for _ in range(n)], {1: [2.5]}, [(n, 1.5) for _ in range(n)]).nothing)(3)
    assert "tuple(list[List[int64]], list[float64[::1]], dict[int64, List[float64]], list[(int64, float64)])" in str(failed.value)


def pairs_of_a_list(n):
    x = []
    for i in range(n):
        x.append((i, i * 10, 0.5))
    a, b = x
    return a, b


def test_a_list_of_tuples_is_unpacked_into_its_items():
    assert njit(pairs_of_a_list)(2) == ((0, 0, 0.5), (1, 10, 0.5))
    with pytest.raises(ValueError, match="more or fewer items than there are names"):
        njit(pairs_of_a_list)(3)
