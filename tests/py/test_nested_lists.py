"""Lists and dicts that are items of plain lists and values of plain dicts, against CPython."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import runtime
from lanewise.typed import Dict, List
from memory_checks import check_that_typed_containers_end

PAIRS = ((1, 2), (1, 3), (2, 5), (1, 2))


def neighbours(n):
    g = [[] for _ in range(n)]
    for i in range(n - 1):
        g[i].append(i + 1)
        g[i + 1].append(i)
    s = 0
    for i in range(n):
        for j in g[i]:
            s += j
    return g, s, len(g[1])


def begun_with_items(n):
    g = [[0] for _ in range(n)]
    for i in range(n - 1):
        g[i].append(i + 1)
        g[i + 1].append(i)
    return g


def breadth_first(n):
    g = [[] for _ in range(n)]
    for i in range(n):
        g[i].append((i * 7 + 1) % n)
        g[i].append((i * 3 + 2) % n)
    distance = [-1] * n
    distance[0] = 0
    queue = [0]
    while len(queue) > 0:
        u = queue.pop(0)
        for v in g[u]:
            if distance[v] < 0:
                distance[v] = distance[u] + 1
                queue.append(v)
    return distance


def comprehensions(n):
    g = []
    for i in range(n):
        g.append([j for j in range(i)])
    m = [[i * n + j for j in range(n)] for i in range(n)]
    return g, [[m[j][i] for j in range(n)] for i in range(n)], [[v + 1 for v in r] for r in g]


def matrix(n):
    m = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            m[i][j] = i * 10.0 + j
            m[i][j] += 1
    return m


def named(n):
    g = []
    m = []
    m.append(n)
    g.append(m)
    m.append(2)
    return g, m


def rows_of_a_loop(n):
    rows = []
    for i in range(n):
        row = []
        for j in range(i + 1):
            row.append(i * j)
        rows.append(row)
    t = 0
    for row in rows:
        t += len(row) + sum(row)
    return rows, t


def pascal(n):
    t = [[1]]
    for i in range(1, n):
        p = t[i - 1]
        row = [1] * (i + 1)
        for j in range(1, i):
            row[j] = p[j - 1] + p[j]
        t.append(row)
    return t


def one_list_under_many_names(n):
    g = [[] for _ in range(n)]
    a = g[0]
    b = g[0]
    a.append(1)
    b.append(2)
    h = g.copy()
    h[0].append(3)
    same = [[0]] * n
    same[0].append(7)
    return g, a, b, h, same


def deeper(n):
    g = [[[i]] for i in range(n)]
    g[0][0].append(4)
    g[0].append([5])
    return g


def methods(n):
    g = [[i] for i in range(n)]
    g[0], g[1] = g[1], g[0]
    g.reverse()
    g.insert(0, [9, 9])
    x = g.pop()
    g[0] += [5]
    g[1][0] += 100
    g[2] = [n, n]
    g[2].extend([1, 2])
    return g, x, len(g), g[1:], [1] in g, g[2] == [n, n, 1, 2]


def sorted_rows(n):
    g = [[i * 7 % 5, i] for i in range(n)]
    g.sort(key=lambda r: r[0])
    return g


def chosen(n):
    return [[i] if i % 2 else [] for i in range(n)]


def pairs_in_lists(n):
    g = [[(i, 1.5)] for i in range(n)]
    g[0].append((4, 2.5))
    t = 0.0
    for r in g:
        for a, b in r:
            t += a * b
    return g, t


def texts(n):
    g = [["."] * n for _ in range(n)]
    g[1][1] = "#"
    return g


def lists_in_a_dict(n):
    d = {}
    for i in range(n):
        k = i % 3
        if k not in d:
            d[k] = [i]
        else:
            d[k].append(i)
    return d


def set_by_default(n):
    d = {}
    for i in range(n):
        d.setdefault(i % 3, []).append(i)
    e = {}
    for i in range(n):
        e[i % 2] = e.get(i % 2, []) + [i]
    return d, e


def groups(n):
    d = {}
    for a, b in PAIRS:
        if a in d:
            d[a].append(b)
        else:
            d[a] = [b]
    out = []
    for k in d:
        s = 0
        for v in d[k]:
            s += v
        out.append((k, s))
    return out, d


def dicts_in_a_dict(n):
    d = {}
    for i in range(n):
        k = i % 3
        if k not in d:
            d[k] = {}
        d[k][i] = i * i
    return d, {1: {2: 0.5}}


def counts(n):
    d = {}
    for a, b in PAIRS:
        e = d.setdefault(a, {})
        e[b] = e.get(b, 0) + 1
    return d


def dicts_in_a_list(n):
    table = [{} for i in range(n)]
    for i in range(n):
        table[i][i * 2] = 1.5
    table[0][7] = 3.0
    table[0][7] += 1
    return table, len(table[0])


def empty(n):
    return [[] for _ in range(n)], {n: []}, [{}]


def told_in_other_ways(n):
    g = [[] for _ in range(n)]
    for i in range(len(g)):
        g[i].append(i)
    h = [[] for _ in range(n)]
    h[0] = [n]
    k = [[] for _ in range(n)]
    k[1] += [n]
    m = []
    m.append([])
    m.append([1])
    d = {0: []}
    d[1] = [2]
    e = [{} for _ in range(n)]
    for i in range(len(e)):
        e[i][i] = 0.5
    return g, h, k, m, d, e


def lists_of_while_loops(n):
    out = []
    d = {}
    for i in range(n):
        c = []
        x = i
        while x > 0:
            c.append(x)
            x -= 1
        out.append(c)
        d[i] = c
    return out, d


def copies(n):
    out = []
    b = [1, 2]
    b.append(n)
    out.append(b.copy())
    out.append(b[:])
    out.append(b[::-1])
    out.append(b * 2)
    c = b.copy()
    out.append(c)
    b[0] = 9
    return out, b


def chosen_keys(n):
    d = {"even": [0], "odd": [0]}
    for i in range(n):
        d["even" if i % 2 else "odd"].append(i)
    return d


def told_by_a_loop(n):
    d = {1: {}}
    for k in d:
        d[k][n] = 1.25
    return d


def subsets(n):
    out = [[]]
    for k in range(n):
        for i in range(len(out)):
            out.append(out[i] + [k])
    return out


def constants_with_strings(n):
    d = {"a": [1]}
    d["a"].append(n)
    e = {"a": {"x": 1}}
    e["a"]["z"] = n
    return d, e


def set_in_defaults(n):
    d = {}
    for i in range(n):
        d.setdefault(i % 2, {})[i] = i * 100
    return d, [v for x in d.values() for v in x.values()], [k + v for x in d.values() for k, v in x.items()]


def told_in_loops(n):
    g, h, m, k = [[] for _ in range(n)], [[] for _ in range(n)], [[] for _ in range(n)], [{} for _ in range(n)]
    for row in g:
        row.append(1.5)
    for i, row in enumerate(h, 1):
        if i == 2:
            continue
        row.append(i)
        row += [7]
    for v, row in zip(range(n), reversed(m)):
        row.extend([v, v])
    for i, d in enumerate(k):
        d[i] = 2 * i
    return g, h, m, k


def levels(n):
    g = [[] for _ in range(n)]
    for i in range(1, n):
        g[i // 2].append(i)
    seen, frontier, found = {0}, [0], []
    while frontier:
        found.append(frontier)
        after = []
        for u in frontier:
            for v in g[u]:
                if v not in seen:
                    seen.add(v)
                    after.append(v)
        frontier = after
    found[0].append(100)
    return found


def extremes(n):
    g = [[1] * ((i * 3) % 5 + 1) for i in range(n)]
    longest = max(g, key=len)
    longest.append(9)
    return g, longest, min(g, key=len), max([len(r) for r in g]), min((v, -i) for i, v in enumerate(range(n, 0, -1))), max((v % 3, v) for v in range(n))


def slices(n):
    x = list(range(n))
    return [x[i:i + 2] for i in range(0, n, 2)], [0, 1] * n, [n] * n + [1, n] * n


def written(n):
    m = [[1]]
    m.extend([[2], [3, n]])
    m += [[9]]
    m += [[n, n], [n]]
    return m


def taken_out(g, k):
    gone = g.pop()
    made = [[7 + k, 8 + k, 9 + k] for _ in range(3)]
    return len(gone) - 2 + 0 * made[0][0]


def changed_by_their_indices(n):
    g = [[i, 10 * i, 100 * i] for i in range(n + 6)]
    s = [g[-1][taken_out(g, 1)], g[len(g) - 1][taken_out(g, 2)]]
    g[-1].append(taken_out(g, 3))
    g[-1].insert(taken_out(g, 4), 5)
    g[-1][1] += taken_out(g, 5)
    s.append(len(g[-1]))
    h = {k: [k, k, k] for k in range(n)}
    s.append(h[1][len(h.pop(1)) - 1])
    return g, s, h


def used_where_they_are_taken(n):
    g = [[i, 2 * i] for i in range(n)]
    d = {i: {i: 0.5} for i in range(n)}
    m = [[[i + j, 1] for j in range(2)] for i in range(n)]
    s = 0
    while g[n - 1]:
        s += g[n - 1].pop()
    if not g[n - 1] and 2 in g[1] and 7 not in g[0]:
        g[0].extend(g[1])
        g[1].insert(0, g[0][-1] + g[1][0])
    m[0][1][0] += m[1][1][1] + len(m[0])
    m[1][0].append(len(m[1]))
    d[1][2] = d[0].get(5, 0.25) + d[1][1]
    d[0].clear()
    g[0].remove(0)
    return g, s, d, m, g[0].count(0), g[1].index(2), (1 if g[0] else 2), m[0][1][-1], g[0][1:]


def wrong_places(n):
    g = [[1] for _ in range(n)]
    s = []
    for k in (0, 1, -1, -2, 9):
        try:
            s.append(g[k][k])
        except IndexError:
            s.append(-5)
        try:
            g[n - 1 - k].append(g[k][0])
        except IndexError:
            s.append(-6)
    d = {1: [1]}
    try:
        d[2].append(3)
    except KeyError:
        s.append(-7)
    return s, g, d


def loops_that_change_nothing_and_others(n):
    g = [[i, i + 1, i + 2] for i in range(n)]
    s, t, q = 0, [0] * 20, [0]
    for u in range(n):
        for v in g[u]:
            s += v
            t[v] += g[u][0] + len(g[n - 1])
            if v > 3:
                q.append(v)
            elif v == 2:
                continue
    for row in g:
        for v in row:
            for w in g[0]:
                s += v * w
        else:
            s += 1
    for v in g[1]:
        g[2] = [v, v]
        h = [[9, 9, 9] for _ in range(2)]
        s += h[0][0]
    for v in g[0]:
        if len(g[0]) == 3:
            g[0] = [7 + v]
            h = [[8, 8, 8] for _ in range(4)]
        s += v + h[1][1]
    m = [[[1, 2], [3]], [[4, 5]]]
    for row in m[0]:
        for v in row:
            s = s * 3 + v
    for v in m[0][0]:
        m[0].pop(0)
        h = [[7, 7] for _ in range(6)]
        s = s * 3 + v
        if len(m[0]) == 0:
            break
    k = [[1, 2], [3]]
    for v in k[0]:
        k.clear()
        h = [[7, 7] for _ in range(6)]
        s = s * 3 + v
    for v in g[1]:
        g = [[v, 5, 1], [v], [0]]
        h = [[6, 6, 6] for _ in range(4)]
        s = s * 3 + v
    return g, s, t, q, m, k


def values_that_change_the_list(n):
    g = [[i, i, i] for i in range(n + 6)]
    g[-1][0] = taken_out(g, 1)
    a, g[-1][1] = taken_out(g, 2), taken_out(g, 3)
    g[-1][2] += taken_out(g, 4)
    return g, a


def defaults_that_are_made_if_needed(n):
    d = {}
    e = {1: [2.5]}
    for v in range(3 * n):
        d.setdefault((v % 2, v % 3), []).append((v, d.setdefault((0, 0), []) == []))
        e.setdefault(v % 4, []).extend([1.5, 2.5])
        e.setdefault(v, []).insert(0, 0.5)
    return d, e


def rows_that_were_made_whole(n):
    g = [[0] * k for k in range(n)]
    h = [[(i, 0.5 * i) for i in range(k)] for k in range(n)]
    s = [["a"] * k for k in range(n)]
    m = [[[j] for j in range(k)] for k in range(n)]
    for _ in range(9):
        for k in range(n):
            g[k].append(k)
            h[k].append((k, 0.25))
            s[k].append("bc")
            m[k].append([k, k])
            m[k][0].append(7)
    x = [1, 2, 3]
    y = [x.copy(), x[1:], x * 2, x + [4], sorted(x), list(x)]
    for row in y:
        row[0] = 8
        row.append(9)
    x.append(5)
    x[1] = 6
    return g, h, s, m, x, y


def assigned(n):
    best, history, found = [0], [], []
    for i in range(n):
        p = [i, i * 2]
        history.append(p)
        if sum(p) > sum(best):
            best = p
    best.append(99)
    row = [1]
    for i in range(n):
        found.append(row)
        row = [1] + [row[j] + row[j + 1] for j in range(len(row) - 1)] + [1]
    return history, best, found, n * [1, 2], [1.5, 2.0] * np.arange(2.0)[:2].sum().astype(np.int64)


def longest_of_a_dict(n):
    d = {}
    for i in range(n):
        d.setdefault(i % 3, []).append(i)
    return max(d.values(), key=len), min(d.values(), key=lambda r: -r[0])


def sum_of_first(a, b):
    return a[0] + b[0]


def ragged(n):
    x = [[1, n], [3], [4, 5, 6]]
    total = 0
    for i in range(len(x)):
        for v in x[i]:
            total += v
    y = [[1], [], [n, 3]]
    z = [[n], [2, n]]
    (one,), (two, three) = z
    total += one + two + three + sum_of_first(*z)
    return total, len(x[n % 3]), x[0][1], [len(row) for row in x], any(len(r) > 1 for r in y), sum(map(len, y))


def spiral(n):
    m = [[i * n + j for j in range(n)] for i in range(n)]
    out = []
    while m:
        out += m.pop(0)
        m = [list(r) for r in zip(*m)][::-1]
    return out


def starred(n):
    a = [*range(n)]
    m = [[i + j for j in range(n)] for i in range(2)]
    m.append([7])
    return a, [0, *a, 9], [*a, *a], [list(column) for column in zip(*m)]


PROGRAMS = [neighbours, begun_with_items, breadth_first, comprehensions, matrix, named, rows_of_a_loop, pascal, one_list_under_many_names, deeper, methods, sorted_rows, chosen,
            pairs_in_lists, texts, lists_in_a_dict, set_by_default, groups, dicts_in_a_dict, counts, dicts_in_a_list, empty,
            told_in_other_ways, lists_of_while_loops, copies, chosen_keys, told_by_a_loop, subsets, constants_with_strings, set_in_defaults, told_in_loops, levels,
            extremes, slices, written, assigned, longest_of_a_dict, ragged, spiral, starred,
            changed_by_their_indices, used_where_they_are_taken, wrong_places, values_that_change_the_list, defaults_that_are_made_if_needed, rows_that_were_made_whole,
            loops_that_change_nothing_and_others]  # fmt: skip


@pytest.mark.distinct_cases
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(program):
    compiled = lw.njit(program)
    for n in (3, 5):
        assert compiled(n) == program(n)


def test_memory_is_freed():
    for program in (neighbours, deeper, counts, one_list_under_many_names, changed_by_their_indices, used_where_they_are_taken, rows_that_were_made_whole, loops_that_change_nothing_and_others, levels, told_in_loops, assigned, starred):
        f = lw.njit(program)
        check_that_typed_containers_end(lambda f=f: f(4), 30)


def test_no_reference_is_counted_for_an_item_that_is_used_where_it_is_taken():
    @lw.njit
    def f(g, d, u, k):
        g[u][k] = d[u][k] + len(g[k])
        return g[u][k] + d[k].get(u, 1), 3 in g[k], g[k].index(4)

    @lw.njit
    def row_of(g, u):
        row = g[u]
        return row[0]

    g, d = List([List([1, 2]), List([3, 4])]), Dict({0: Dict({0: 5, 1: 6}), 1: Dict({0: 8, 1: 9})})
    assert f(g, d, 0, 1) == (6 + 2 + 8, True, 1) and [[*row] for row in g] == [[1, 8], [3, 4]]
    assert row_of(g, 1) == 3
    @lw.njit
    def summed(g, u, t):
        for v in g[u]:
            t[v] = t[0] + v
        for v in g[1]:
            for w in g[0]:
                if v > w:
                    t[1] += len(g) * w
        return t[4]

    @lw.njit
    def appended(g, u, t):
        for v in g[u]:
            t.append(v)

    counted = List([0] * 9)
    assert summed(g, 1, counted) == 4 and counted[1] == 2 * (1 + 1)
    appended(g, 0, counted)
    assert counted[-1] == 8
    counting = "call void @lw_memory_"
    assert counting not in str(summed.inspect_llvm()) and counting in str(appended.inspect_llvm())
    assert counting not in str(f.inspect_llvm()) and counting in str(row_of.inspect_llvm())


def test_a_default_is_made_only_if_it_is_needed():
    @lw.njit
    def f(n):
        d = {}
        for v in range(n):
            d.setdefault(v % 3, []).append(v)
        return len(d)

    f(10)
    runtime.memsys_enable_stats()
    try:
        before = runtime.rtsys.get_allocation_stats()
        assert f(1000) == 3
        after = runtime.rtsys.get_allocation_stats()
    finally:
        runtime.memsys_disable_stats()
    assert after.alloc - before.alloc < 100


class Shrinks:
    def __init__(self, of):
        self.of = of

    def __add__(self, k):
        self.of.pop()
        return k


def test_operators_of_a_class_may_change_the_list():
    @lw.njit
    def f(g, k):
        p = Shrinks(g)
        last = g[-1][p + k]
        return last + g[-1][k]

    g = List([List([1, 2]), List([3, 4])])
    assert f(g, 1) == 4 + 2 and len(g) == 1
    assert "call void @lw_memory_" in str(f.inspect_llvm())


def test_arrays_in_lists():
    @lw.njit
    def f(n):
        g = [[np.arange(i)] for i in range(n)]
        g[0].append(np.ones(2, np.int64))
        return g[0][1].sum()

    assert f(3) == 2


def test_typed_lists_in_a_plain_one():
    @lw.njit
    def f(n):
        g = [List([i]) for i in range(n)]
        g[0].append(7)
        return g

    made = f(2)
    assert type(made) is list and all(type(row) is List for row in made) and [[*row] for row in made] == [[0, 7], [1]]


def test_functions_change_them():
    @lw.njit
    def add(g, u, v):
        g[u].append(v)

    @lw.njit
    def make(n):
        return [[i] for i in range(n)]

    @lw.njit
    def f(n):
        g = make(n)
        add(g, 0, 5)
        return g

    assert f(2) == [[0, 5], [1]]


def add_edge(g, u, v):
    g[u].append(v)


def add_edges(g, u, v):
    add_edge(g, u, v)
    add_edge(g, v, u)


def add_to_group(d, k, v):
    if k not in d:
        d[k] = []
    d[k].append(v)


def add_by_default(d, k, v):
    d.setdefault(k, []).append(v)


def told_by_functions(n):
    g, d, e = [[] for _ in range(n)], {}, {}
    for i in range(n):
        add_edges(g, i, i * i % n)
        add_to_group(d, i % 3, i)
        add_by_default(e, i % 2, 0.5 * i)
    out = [[]]
    out += [[v, n] for v in range(n)]
    out[0].append(7)
    return g, d, e, out


def test_functions_tell_them_the_type():
    assert lw.njit(told_by_functions)(5) == told_by_functions(5)


def subsets_below(path, left, out):
    if left == 0:
        out.append(path.copy())
        return
    for k in range(2):
        path.append(k)
        subsets_below(path, left - 1, out)
        path.pop()


def test_a_recursive_function_collects_copies():
    def f(n):
        out = [[0]]
        out.pop()
        path = [0]
        path.pop()
        subsets_below(path, n, out)
        return out

    assert lw.njit(f)(3) == f(3)


def test_a_type_that_the_outer_list_was_not_told():
    @lw.njit
    def late(n):
        m = []
        g = []
        g.append(m)
        m.append(1.5)
        h = [3]
        g.append(h)
        g[1].append(2)
        return g[0][0]

    @lw.njit
    def copied(n):
        g = [[] for _ in range(n)]
        h = g.copy()
        g[0].append(1)
        h[0].append(2.5)
        return g

    for f in (late, copied):
        with pytest.raises(TypeError, match="that the outer one does not know"):
            f(2)


@pytest.mark.parametrize("wrong", [lambda: [[1], [2.5]], lambda: [[1], 2], lambda: [[1.5], [2]]])
def test_items_of_other_types(wrong):
    with pytest.raises(lw.errors.TypingError):
        lw.njit(lambda n: wrong())(1)


I, U, F = np.array([300, -5]), np.array([2**63 + 5], np.uint64), np.array([0.1])


def narrow(n):
    a = [[np.int8(1)]]
    a[0].append(I[0])
    return a


def unsigned(n):
    a = [[1]]
    a[0].append(U[0])
    return a


def single(n):
    a = [[np.float32(1)]]
    a[0].insert(0, F[0])
    return a


def narrow_values(n):
    d = {1: {1: np.int8(1)}}
    d[1][2] = I[0]
    return d


def narrow_keys(n):
    d = {1: {np.float32(1): 1}}
    d[1][F[0]] = 2
    return d


def narrow_tuples(n):
    a = [[(np.int8(1), 1)]]
    a[0].append((I[0], 1))
    return a


@pytest.mark.parametrize("program", [narrow, unsigned, single, narrow_values, narrow_keys, narrow_tuples])
def test_no_number_is_cut(program):
    with pytest.raises(lw.errors.TypingError, match="E120"):
        lw.njit(program)(1)


def test_where_they_do_not_work():
    @lw.vectorize
    def f(x):
        g = [[x], [x + 1]]
        g[0].append(3.0)
        return g[0][1]

    with pytest.raises(lw.errors.TypingError, match="E163"):
        f(np.ones(2))

    @lw.njit(parallel=True)
    def p(n):
        g = [[0] for _ in range(n)]
        for i in lw.prange(n):
            g[i].append(i)
        return g

    with pytest.raises(lw.errors.UnsupportedError, match="E168"):
        p(3)


RAGGED = [[1, 2], [3]]


def test_ragged_lists_from_outside():
    assert lw.njit(lambda: len(RAGGED[0]) + sum(len(row) for row in RAGGED))() == 5
    with pytest.raises(lw.errors.TypingError, match="E124(?s:.)*lists of different lengths"):
        lw.njit(lambda i: len(RAGGED[i]))(1)


# ---- lists that are items, or made where there is none ----


def chosen(keys):
    d = {}
    for k in keys:
        values = d[k] if k in d else []
        values.append((k, 1.5))
        d[k] = values
    total = 0.0
    for values in d.values():
        for a, b in values:
            total += a * b
    return total, len(d[1])


def chosen_by_if(keys):
    d = {}
    for k in keys:
        if k in d:
            values = d[k]
        else:
            values = []
        for j in range(k):
            values.append(j)
        d[k] = values
    return len(d), len(d[1]), sum(d[3])


def chosen_by_try(keys):
    d = {}
    for k in keys:
        try:
            values = d[k]
        except KeyError:
            values = [k]
        values += [k, k]
        d[k] = values
    return [len(d[k]) for k in sorted(d)]


def chosen_as_operand(keys):
    d = {}
    for k in keys:
        d[k] = (d[k] if k in d else []) + [k]
    return d[1], len(d)


def chosen_and_replaced(keys):
    d = {}
    for k in keys:
        values = d.pop(k) if k in d else [k]
        d[k] = values + [2 * k]
    return d[1], d[2]


def chosen_and_changed(keys):
    d = {1: [0]}
    for k in keys:
        values = d[k] if k in d else []
        values.append(k)
    return d[1]


def chosen_dict(keys):
    d = {}
    for k in keys:
        counts = d[k] if k in d else {}
        counts[k] = counts[k] + 1 if k in counts else 1
        d[k] = counts
    return d[1][1], d[2][2], len(d)


def chosen_of_list(keys):
    rows = []
    for k in keys:
        row = rows[-1] if rows else []
        row.append(k)
        rows.append(row)
    groups = [[] for _ in range(4)]
    for k in keys:
        group = groups[k] if k > 1 else []
        group.append(k)
    return len(rows), rows[0], [len(group) for group in groups]


def chosen_and_returned(keys):
    d = {}
    values = []
    for k in keys:
        if k in d:
            values = d[k]
        values.append(k)
        d[k] = values
    return values, len(d)


@pytest.mark.parametrize("f", [chosen, chosen_by_if, chosen_by_try, chosen_as_operand, chosen_and_replaced, chosen_and_changed, chosen_dict, chosen_of_list, chosen_and_returned])
def test_items_or_new_lists(f):
    for keys in ([1, 2, 1, 3, 2, 1], [3, 1, 2, 1, 3, 2, 2]):
        assert lw.njit(f)(np.array(keys)) == f(keys)


def taken_or_none(n):
    d = {1: [2]}
    found = d.get(n)
    return 0 if found is None else len(found)


def taken_or_new(n):
    d = {1: {2: 3}}
    found = d.get(n) or {}
    return len(found)


@pytest.mark.parametrize("f", [taken_or_none, taken_or_new])
def test_lists_are_never_none(f):
    with pytest.raises(lw.errors.TypingError, match=r"E120: a list or dict of compiled code is never None(.|\n)*`d.get\(k, \[\]\)`"):
        lw.njit(f)(1)
