"""Programs with lists, as people write them for numba: compiled, they give what Python gives."""

import heapq
import math

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors


def sieve(n):
    is_prime = [True] * (n + 1)
    is_prime[0] = is_prime[1] = False
    for i in range(2, int(n**0.5) + 1):
        if is_prime[i]:
            for j in range(i * i, n + 1, i):
                is_prime[j] = False
    return [i for i in range(n + 1) if is_prime[i]]


def primes(n):
    found = []
    k = 2
    while len(found) < n:
        if all([k % p != 0 for p in found]):
            found.append(k)
        k += 1
    return found


def flood_fill(grid, r, c):
    stack = [(r, c)]
    old = grid[r, c]
    count = 0
    while stack:
        i, j = stack.pop()
        if 0 <= i < grid.shape[0] and 0 <= j < grid.shape[1] and grid[i, j] == old:
            grid[i, j] = 9
            count += 1
            stack.extend([(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)])
    return count


def depth_first(starts, ends, n):
    seen = [False] * n
    order = []
    stack = [0]
    while len(stack) > 0:
        node = stack.pop()
        if seen[node]:
            continue
        seen[node] = True
        order.append(node)
        for k in range(len(starts) - 1, -1, -1):
            if starts[k] == node and not seen[ends[k]]:
                stack.append(ends[k])
    return order, seen


def breadth_first(matrix, start):
    distance = [-1] * matrix.shape[0]
    distance[start] = 0
    frontier = [start]
    while frontier:
        following = []
        for u in frontier:
            for v in range(matrix.shape[0]):
                if matrix[u, v] and distance[v] < 0:
                    distance[v] = distance[u] + 1
                    following.append(v)
        frontier = following
    return distance


def queue(n):
    waiting = [1]
    out = []
    while waiting and len(out) < n:
        k = waiting.pop(0)
        out.append(k)
        waiting.append(2 * k)
        waiting += [2 * k + 1]
    return out


def collatz(n):
    lengths = []
    for k in range(1, n):
        steps = 0
        while k != 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            steps += 1
        lengths.append(steps)
    return lengths, max(lengths), lengths.index(max(lengths))


def merge(a, b):
    out = []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out.append(a[i])
            i += 1
        else:
            out.append(b[j])
            j += 1
    out.extend(a[i:])
    out.extend(b[j:])
    return out


def merge_of_lists(n):
    a = [3 * k for k in range(n)]
    b = [2 * k for k in range(n)]
    out = []
    while a and b:
        if a[-1] > b[-1]:
            out.append(a.pop())
        else:
            out.append(b.pop())
    out += a[::-1]
    out += b[::-1]
    out.reverse()
    return out


def run_lengths(x):
    runs = []
    for v in x:
        if runs and runs[-1][0] == v:
            runs[-1] = (v, runs[-1][1] + 1)
        else:
            runs.append((v, 1))
    return runs


def cross(o, a, b):
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


def hull(xs, ys):
    points = sorted([(x, y) for x, y in zip(xs, ys)])
    lower = []
    for p in points:
        while len(lower) >= 2 and cross(lower[-2], lower[-1], p) <= 0:
            lower.pop()
        lower.append(p)
    upper = []
    for p in reversed(points):
        while len(upper) >= 2 and cross(upper[-2], upper[-1], p) <= 0:
            upper.pop()
        upper.append(p)
    return lower[:-1] + upper[:-1]


def prefix_sums(x):
    sums = [0.0]
    for v in x:
        sums.append(sums[-1] + v)
    return sums


def events(x, threshold):
    found = []
    start = -1
    for i in range(len(x)):
        if x[i] > threshold and start < 0:
            start = i
        elif x[i] <= threshold and start >= 0:
            found.append((start, i, x[start:i].max()))
            start = -1
    return found


def push(stack, value):
    stack.append(value)


def drop(stack):
    return stack.pop() if len(stack) else -1


def passed_on(n):
    stack = []
    for i in range(n):
        push(stack, i * i)
    a = drop(stack)
    b = drop(stack)
    return a, b, stack


def calculator(codes):
    stack = []
    for code in codes:
        if code >= 0:
            stack.append(float(code))
        else:
            b = stack.pop()
            a = stack.pop()
            if code == -1:
                stack.append(a + b)
            elif code == -2:
                stack.append(a - b)
            else:
                stack.append(a * b)
    return stack.pop()


def bubble(x):
    out = list(x)
    for i in range(len(out)):
        for j in range(len(out) - 1 - i):
            if out[j] > out[j + 1]:
                out[j], out[j + 1] = out[j + 1], out[j]
    return out


def insertion(x):
    out = []
    for v in x:
        at = 0
        while at < len(out) and out[at] < v:
            at += 1
        out.insert(at, v)
    return out


def quick(n):
    out = [(k * 7919) % 101 for k in range(n)]
    stack = [(0, n - 1)]
    while stack:
        lo, hi = stack.pop()
        if lo >= hi:
            continue
        pivot = out[(lo + hi) // 2]
        i, j = lo, hi
        while i <= j:
            while out[i] < pivot:
                i += 1
            while out[j] > pivot:
                j -= 1
            if i <= j:
                out[i], out[j] = out[j], out[i]
                i += 1
                j -= 1
        stack.append((lo, j))
        stack.append((i, hi))
    return out


def sorts(n):
    x = [(7 * i) % 10 for i in range(n)]
    y = x[:]
    y.sort(reverse=True)
    z = sorted(x)
    pairs = [(v % 3, -v) for v in x]
    down = sorted(pairs, reverse=True)
    pairs.sort()
    by = sorted(pairs, key=lambda p: p[1])
    return x, y, z, pairs, down, by, sorted(x, key=lambda v: v % 4, reverse=True)


def extends(n):
    x = [1]
    x.extend(range(n))
    x.extend((7, 8))
    x.extend(np.arange(3))
    x.extend([v * v for v in range(3)])
    x.extend(v + 1 for v in range(2))
    x.extend(x)
    x += range(2)
    x += (5, 6)
    x += x[1:3]
    return x


def pops(n):
    x = list(range(n))
    s = 0
    s += x.pop(1)
    s += x.pop() * 10
    s -= x.pop(-1)
    t = x.pop(0) + 5
    if x.pop() > 3:
        t += 1
    y = [x.pop(), x.pop()]
    y.append(t)
    return s, t, x, y


def slices(n):
    x = [i for i in range(n)]
    pairs = [(i, i * 0.5) for i in range(n)]
    x[2:4] = [20, 30, 40]
    x[::3] = [0] * len(x[::3])
    del x[1]
    del x[-2:]
    pairs[1:3] = [(9, 9.5)]
    del pairs[::2]
    return x, x[1:], x[::-1], x[-3:-1], x[5:2:-1], pairs, pairs[1:], pairs[::-1], x[n:], pairs[:0]


def searches(n):
    x = [3, 1, 2]
    x.append(n)
    x.remove(1)
    y = x.copy()
    y.reverse()
    return x.index(2), x.count(n), 7 in x, n not in x, x, y, x == y, x != y, x == x.copy(), x < y, [1, 2] + x, x + [4], x * 2, 2 * x


def aliases(n):
    x = []
    y = x
    for i in range(n):
        y.append(i)
    x.append(-1)
    return x, y, len(y)


def swaps(n):
    a, b = [1], [2, 3]
    for i in range(n):
        a.append(i)
        a, b = b, a
    return a, b


def truths(n):
    x = []
    s = 0
    if not x:
        s += 1
    x.append(n)
    if x and n > 2:
        s += 10
    s += 100 if x else 200
    while x:
        x.pop()
        s += 1000
    return s, bool(x), len(x) == 0


def builtins(n):
    x = [v % 5 for v in range(n)]
    y = [0.5 * v for v in x]
    total = 0.0
    for i, (a, b) in enumerate(zip(x, y)):
        total += i * a * b
    for v in reversed(x):
        total = total * 2 + v
    return total, sum(x), min(x), max(y), any(x), all(x), len(y), sum(y), [i for i, v in enumerate(x) if v == 2]


def numpys(a):
    where = []
    for i in range(len(a)):
        if a[i] > 0:
            where.append(i)
    b = a[where]
    a[where] = 1.5
    c = np.array(where)
    return b, c, np.sum(where), np.mean(where), np.array([(i, 2 * i) for i in where]).sum()


def grows_while_read(n):
    x = [n]
    for v in x:
        if v > 1:
            x.append(v // 2)
            if v % 2:
                x.append(v - 1)
                continue
        if len(x) > 40:
            break
    return x


def of_two_types(n):
    flags = []
    values = []
    for i in range(n):
        flags.append(i % 2 == 0)
        values.append(complex(i, 1))
    return flags, values


def floats_and_ints(n):
    x = [0.0] * n
    x.append(1)
    y = []
    y.append(math.sqrt(2.0))
    y.append(3)
    y[0] = 7
    y.insert(0, n)
    return [v * 1.0 for v in x], [v * 1.0 for v in y]


def intervals(n):
    spans = [((7 * k) % 20, (7 * k) % 20 + k % 5) for k in range(n)]
    spans.sort()
    merged = [spans[0]]
    for lo, hi in spans[1:]:
        if lo <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(hi, merged[-1][1]))
        else:
            merged.append((lo, hi))
    return merged


def pascal(n):
    row = [1]
    for _ in range(n):
        row = [1] + [row[i] + row[i + 1] for i in range(len(row) - 1)] + [1]
    return row


def digits(n):
    out = []
    while n:
        out.append(n % 10)
        n //= 10
    return out[::-1]


def longest(x):
    best = [1] * len(x)
    for i in range(len(x)):
        for j in range(i):
            if x[j] < x[i]:
                best[i] = max(best[i], best[j] + 1)
    return max(best), best


def next_greater(x):
    out = [-1] * len(x)
    stack = []
    for i in range(len(x)):
        while stack and x[stack[-1]] < x[i]:
            out[stack.pop()] = i
        stack.append(i)
    return out


def knapsack(n):
    best = [0] * (n + 1)
    for w, v in [(2, 3), (3, 4), (4, 5), (5, 6)]:
        for c in range(n, w - 1, -1):
            best[c] = max(best[c], best[c - w] + v)
    return best


def augmented(n):
    x = [0] * 5
    for i in range(n):
        x[i % 5] += i
        x[-1] -= 1
        x[i % 3] *= 2
    x *= 2
    return x


def of_namesakes(n):
    out = []
    for i in range(n):
        row = [i]
        row.append(i + 1)
        out.append(sum(row))
    copy = list(out)
    copy.clear()
    return out, copy, list((1, 2)), list(range(3)), list(zip(out, out[1:])), [v for v in out if v > 2]


def nested_tuples(n):
    x = []
    for i in range(n):
        x.append(((i, i + 1), 0.5 * i))
    (a, b), c = x[-1]
    x[0] = ((5, 6), 7.0)
    return x, a, b, c, [p[0] for p in x], sorted(x, reverse=True)


def reservoir(n):
    values = []
    seed = 12345
    for i in range(n):
        seed = (1103515245 * seed + 12345) % 2147483648
        if len(values) < 5:
            values.append(seed % 100)
        else:
            j = seed % (i + 1)
            if j < 5:
                values[j] = seed % 100
    return values


def heap(n):
    waiting = []
    for i in range(n):
        heapq.heappush(waiting, (i * 7) % n)
    out = []
    while waiting:
        out.append(heapq.heappop(waiting))
    return out


def heaps(n):
    x = [(i * 7) % n for i in range(n)]
    heapq.heapify(x)
    a = heapq.heapreplace(x, 3)
    b = heapq.heappushpop(x, -1)
    pairs = []
    for v in x:
        heapq.heappush(pairs, (-v, v))
    least = heapq.heappop(pairs)
    return x, a, b, pairs, least


def shortest_ways(matrix, start):
    n = matrix.shape[0]
    distance = [math.inf] * n
    distance[start] = 0.0
    waiting = [(0.0, start)]
    while waiting:
        d, u = heapq.heappop(waiting)
        if d > distance[u]:
            continue
        for v in range(n):
            if matrix[u, v] > 0 and d + matrix[u, v] < distance[v]:
                distance[v] = d + matrix[u, v]
                heapq.heappush(waiting, (distance[v], v))
    return distance


def moves(n):
    row = [0]
    for i in range(n):
        following = []
        for v in row:
            following.append(v + 1)
            following.append(v * 2)
        row = following
        row.append(i)
    return row


def alias_in_a_loop(n):
    out = []
    for i in range(n):
        same = out
        same.append(i)
    return out


def exchange(x, i, j):
    x[i], x[j] = x[j], x[i]
    x[i] += 1


def permuted(n):
    x = list(range(n))
    for i in range(n // 2):
        exchange(x, i, n - 1 - i)
    return x


def grows_in_calls(n):
    x = [n]
    for v in x:
        if v > 1:
            push(x, v // 2)
    return x


def extremes(n):
    x = [((5 * i) % 7, i) for i in range(n)]
    return max(x), min(x), min([v for v, _ in x])


def unpacked(n):
    x = [n, 2 * n]
    x.append(7)
    a, b, c = x
    return a, b, c, [a, b] == x[:2], [a, b] < x


def of_conditions(n):
    x = [1] if n > 2 else [n, n]
    y = x if n > 3 else [0]
    s = 0
    for v in y:
        s += v
    z = [2, 3] if n > 2 else []
    z.append(s)
    return x, z


GRID = np.array([[0, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]])
X = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0])
K = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5])
MATRIX = np.array([[0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]])

CALLS = [
    (sieve, (50,)), (primes, (12,)), (flood_fill, (GRID, 0, 0)), (depth_first, (np.array([0, 0, 1, 2]), np.array([1, 2, 3, 3]), 4)), (breadth_first, (MATRIX, 0)),
    (queue, (9,)), (collatz, (20,)), (merge, (np.array([1, 4, 6]), np.array([2, 3, 9, 10]))), (merge_of_lists, (6,)), (run_lengths, (np.array([1, 1, 2, 3, 3, 3]),)),
    (hull, (X, X[::-1].copy())), (prefix_sums, (X,)), (events, (X, 2.5)), (passed_on, (5,)), (calculator, (np.array([3, 4, -1, 2, -2, 5, -3]),)), (bubble, (K,)),
    (insertion, (X,)), (quick, (20,)), (sorts, (9,)), (extends, (4,)), (pops, (12,)), (slices, (9,)), (searches, (5,)), (aliases, (3,)), (swaps, (5,)), (truths, (4,)),
    (builtins, (9,)), (numpys, (X - 3,)), (grows_while_read, (13,)), (of_two_types, (3,)), (floats_and_ints, (2,)), (intervals, (9,)), (pascal, (6,)), (digits, (9071,)),
    (longest, (K,)), (next_greater, (K,)), (knapsack, (10,)), (augmented, (9,)), (of_namesakes, (4,)), (nested_tuples, (3,)), (reservoir, (40,)), (heap, (9,)), (heaps, (9,)), (shortest_ways, (MATRIX * 2.5, 0)),
    (moves, (4,)), (alias_in_a_loop, (4,)), (permuted, (7,)), (grows_in_calls, (9,)), (extremes, (6,)), (unpacked, (4,)), (of_conditions, (3,)), (of_conditions, (1,)),
]


def plain(value):
    """With Python's numbers, which compiled code gives where Python's lists have numbers of NumPy."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return value.tolist() if isinstance(value, np.ndarray) else value.item() if isinstance(value, np.generic) else value


@pytest.mark.parametrize("function, arguments", CALLS, ids=lambda value: getattr(value, '__name__', ''))
@pytest.mark.parametrize("typing", ["weak", "numba"])
def test_like_python(function, arguments, typing):
    def copies():
        return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]

    wanted = plain(function(*copies()))
    assert repr(plain(lw.njit(function, typing=typing)(*copies()))) == repr(wanted)


def add_one(items, x):
    items += [x]


def add_twice(items, x, more):
    add_one(items, x)
    if x > 2:
        add_twice(items, x - 1, more)
    add_one(x=more, items=items)


def drop_last(*, items):
    del items[len(items) - 1]


class Adder:
    def __init__(self, x):
        self.x = x

    def add(self, items):
        items += [self.x]


def changed_by_functions(n):
    a, b, c = [1], [2, 3], [4, 5]
    add_one(a, n)
    add_twice(b, n, 7)
    drop_last(items=c)
    return len(a), sum(b), len(b), len(c)


def changed_by_a_method(n):
    a = [1]
    Adder(n).add(a)
    return len(a)


def changed_by_a_local_function(n):
    def add(items):
        items += [n]

    a = [1]
    add(a)
    return len(a)


def test_functions_that_add_to_a_list():
    assert lw.njit(changed_by_functions)(5) == changed_by_functions(5)
    for f in (changed_by_a_method, changed_by_a_local_function):
        with pytest.raises(errors.UnsupportedError, match="E101: a list that changes cannot be compiled"):
            lw.njit(f)(3)


class Ring:
    def __init__(self, n):
        self.items = [0.0] * n
        self.log, self.at = [n], 0
        self.steps = [1, 2, 3]

    def push(self, v):
        self.items[self.at % len(self.items)] = v
        self.at += self.steps[0]


class NotedRing(Ring):
    def note(self, v):
        self.push(v)
        self.log += [v]
        self.log.append(2 * v)


def fields_that_methods_change(n):
    ring = NotedRing(3)
    for i in range(n):
        ring.note(i)
    return sum(ring.items), ring.log, len(ring.steps)


def test_fields_that_methods_change():
    assert lw.njit(fields_that_methods_change)(5) == fields_that_methods_change(5)


# ---- the first item follows from a choice that reads what is empty so far ----

def counts_by_key(x):
    found = {}
    for v in x:
        found[v % 3] = (found[v % 3] if v % 3 in found else 0) + v
    return found


def halves(n):
    x = []
    for _ in range(n):
        x.append(x[-1] * 0.5 if x else 1.0)
    return x


def binomials(n):
    c = {}
    for i in range(n):
        for j in range(i + 1):
            c[i, j] = 1 if j in (0, i) else c[i - 1, j - 1] + c[i - 1, j]
    return c


def triangle(n):
    rows = []
    for i in range(n):
        row = []
        for j in range(i + 1):
            row.append(1 if j in (0, i) else rows[i - 1][j - 1] + rows[i - 1][j])
        rows.append(row)
    return rows


def catalan(n):
    c = []
    for i in range(n):
        c.append(1 if i == 0 else sum(c[j] * c[i - 1 - j] for j in range(i)))
    return c


def rows_of_rows(n):
    t = []
    for i in range(n):
        t.append([t[i - 1][k] + k if i else 1 for k in range(3)])
    return t


def table_by_rows(n):
    m = []
    for i in range(n):
        m.append([0] * n if i == 0 else [m[-1][j] + j for j in range(n)])
    return m


def table_by_named_rows(n):
    m = []
    for i in range(n):
        row = [1.0] * n if i == 0 else [0.5 * m[i - 1][j] for j in range(n)]
        m.append(row)
    return m


def last_of(x, otherwise):
    return x[-1] if len(x) else otherwise


def by_a_function(n):
    x = []
    for i in range(n):
        x.append(last_of(x, 0) + i)
    return x


def names_in_turn(n):
    names = []
    for _ in range(n):
        names.append("b" if names and names[-1] == "a" else "a")
    return names


def fewest_coins(n):
    d = {}
    for i in range(n):
        d[i] = min([d[i - c] for c in (1, 3) if i >= c]) + 1 if i else 0
    return d


@pytest.mark.parametrize("function", [halves, binomials, triangle, catalan, rows_of_rows, table_by_rows, table_by_named_rows, by_a_function, names_in_turn, fewest_coins])
@pytest.mark.parametrize("typing", ["weak", "numba"])
def test_first_items_of_choices(function, typing):
    got, expected = lw.njit(typing=typing)(function)(6), function(6)
    assert got == expected and repr(got) == repr(expected)


def test_counts_by_key():
    assert lw.njit(counts_by_key)(np.arange(9)) == {0: 9, 1: 12, 2: 15}


def only_read(n):
    x = []
    for i in range(n):
        x.append(x[i - 1])
    return x


def rows_only_read(n):
    m = []
    for _ in range(n):
        m.append([m[-1][0] + 1 for _ in range(n)])
    return m


def follows_a_float(n):
    x = []
    for i in range(n):
        x.append(x[-1] * 0.5 if i else 1)
    return x


@pytest.mark.parametrize(("function", "said"), [
    (only_read, "nothing has been put into this list"), (rows_only_read, "nothing has been put into this list"), (follows_a_float, "are ints, and this is a float: begin with a float, 0.0")])
def test_first_items_that_do_not_follow(function, said):
    with pytest.raises(errors.TypingError, match=said):
        lw.njit(function)(3)
