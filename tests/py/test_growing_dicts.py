"""Dicts and sets in compiled functions: what they give is what Python's dicts and sets give."""

import enum

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors


def outcome(function, *args):
    """What a call gives, or what it raises; numbers in a message may be followed by the place."""
    try:
        return function(*args)
    except (KeyError, RuntimeError) as problem:
        return type(problem), str(problem).strip("'").partition(" (raised in")[0]


def counted(x):
    d = {}
    for v in x:
        if v in d:
            d[v] += 1
        else:
            d[v] = 1
    return d


def counted_by_get(x):
    d = dict()
    for v in x:
        d[v] = d.get(v, 0) + 1
    return d


def every_method(n):
    d = {i: i * 2 for i in range(n)}
    a, b, c = d.pop(3), d.pop(100, -1), d.popitem()
    d.setdefault(3, 7)
    d.setdefault(4, 9)
    d.update({1: 100, 2: 200})
    e = d.copy()
    e[1] = 5
    f = d | {50: 1}
    f |= e
    del d[2]
    g = {7: 1}
    g.clear()
    g[8] = 2
    return a, b, c, d, e, f, g, d == e, d != e, e == e.copy(), len(d), bool(d), not g, d.get(1), d.get(99), d.get(99, 4)


def every_set_method(n):
    s = {1, 2, 3, n}
    s -= {2}
    s |= {9, 11}
    s ^= {1, 5}
    s &= {9, 5, 3, 11}
    s.discard(77)
    s.remove(3)
    s.update(range(3))
    t = s.copy()
    t.add(100)
    t.difference_update([0])
    x = {5}
    y = x.pop()
    t.symmetric_difference_update({100, 101})
    t.intersection_update(range(102))
    return (s, t, y, len(x), s | t, s & t, s - t, s ^ t, s.union([4]), s.intersection([9, 1]), s.difference([9]), s.symmetric_difference([9]),
            s <= t, s < t, s >= t, s > t, s == t, s != t, s.issubset(t), s.issuperset({9}), s.isdisjoint({1000}), 9 in s, 9 not in s)


def grouped_means(keys, values):
    total, count = {}, {}
    for k, v in zip(keys, values):
        if k not in total:
            total[k] = 0.0
            count[k] = 0
        total[k] += v
        count[k] += 1
    return [(k, v / count[k]) for k, v in total.items()]


def loops(n):
    d = {}
    for i in range(n):
        d[i * 7] = i * 0.5
    del d[14]
    s = 0.0
    for k, v in d.items():
        s += k * v
    for k in d:  # values may change
        d[k] += 1.0
    for k, v in d.items():
        if v > 3:
            continue
        d[k] = v * 2
    for v in d.values():
        s += v
    return s, d, sum(d), max(d), min(d), sum(d.values()), sorted(d), list(d), list(d.values()), list(d.items()), sorted(d.items(), reverse=True)


def two_sum(x, target):
    seen = {}
    for i in range(len(x)):
        if target - x[i] in seen:
            return seen[target - x[i]], i
        seen[x[i]] = i
    return -1, -1


def collatz(n):
    lengths = {1: 1}
    for start in range(2, n):
        k, steps = start, 0
        while k not in lengths:
            k = 3 * k + 1 if k % 2 else k // 2
            steps += 1
        lengths[start] = lengths[k] + steps
    best = 1
    for k, v in lengths.items():
        if v > lengths[best]:
            best = k
    return best, lengths[best]


def visited(n):
    seen = {(0, 0)}
    x, y = 0, 0
    for i in range(n):
        x, y = x + (i * 7) % 3 - 1, y + (i * 5) % 4 - 2
        seen.add((x, y))
    return len(seen), (0, 0) in seen, seen


def breadth_first(starts, ends, n):
    distance, queue, at = {0: 0}, [0], 0
    while at < len(queue):
        here = queue[at]
        at += 1
        for i in range(n):
            if starts[i] == here and ends[i] not in distance:
                distance[ends[i]] = distance[here] + 1
                queue.append(ends[i])
    return distance


def made(n):
    return (dict(zip(range(n), [5, 6, 7])), dict([(1, 2), (3, 4)]), dict({1: 2}), set(range(n)), {x % 2 for x in range(n)}, set(i for i in range(n)),
            {i: i * i for i in range(n) if i != 1}, set([3, 3]), {1.5: (1, 2.0)}, dict(enumerate([4.0, 5.0])))


def changes_size(n):
    d = {i: i for i in range(n)}
    for k in d:
        if k == 2:
            d[100] = 1
    return d


def ends_early(n):
    d = {i: i for i in range(n)}
    for k in d:
        if k == 2:
            d[100] = 1
            break
    else:
        d[7] = 7
    return d


def grows_a_set(n):
    s = {1, 2, 3}
    for k in s:
        s.add(k + n)
    return s


def without(key):
    d = {1: 2}
    del d[key]
    return d


def item(key):
    d = {1: 2}
    return d[key]


def removed(key):
    s = {1}
    s.remove(key)
    return s


def nothing(n):
    d, s = {}, set()
    return len(d), len(s), n in d, n in s, d.get(n, 5), d, s, bool(d), bool(s)


def popped(n):
    d = {1: 1}
    for _ in range(n):
        d.popitem()
    return d


def floats(x):
    d = {}
    for v in x:
        d[v] = d.get(v, 0.0) + 1.0
    return d


def texts(mode):
    d = {"low": 1.5, "high": 2.5}
    return d[mode], mode in d, {"a": 1, "low": 2}.get(mode, 7)


def emptied(n):
    s = {-1}
    for i in range(n):
        s.add(i)
    d = {i: 2 * i for i in s}
    total = 0
    while s:
        total += s.pop()
    while d:
        k, v = d.popitem()
        total += k - v
        if k % 7 == 3:
            d.pop(k - 1, 0)
    s.add(4)
    d[5] = 6
    return total, s, d


def of_tuples(n):
    s = {(1, n), (0, 5), (1, 2)}
    d = {(i % 3, i): i for i in range(n)}
    return max(s), min(s), max(d), min(d.items()), max(d.values()), min(d.keys()), (1, n) in d.keys(), n in d.values(), s == d, {1} == {1: 5}, d == s


def deleted_in_loops(n):
    d = {i: i for i in range(n)}
    for k in list(d):
        if k % 2:
            del d[k]
    for k in d.copy():
        if k % 3 == 0:
            d.pop(k)
    s = set(d)
    for k in sorted(s):
        s.remove(k)
        s.add(k + n)
    e = {}
    e.setdefault(n, 1)
    for k, v in list(e.items()):
        e[k + 1] = v
    return d, s, e


def with_nothing(n):
    s, e, d, f = {(1, n)}, set(), {(1, n): 2.0}, {}
    d.update(f)
    t = s.copy()
    t.update([])
    g = set()
    g &= s
    return (s | e, s & e, s - e, s ^ e, e | s, s <= e, e <= s, s == e, e == s, s.isdisjoint(e), d | f, d == f, f == d, t, g,
            list(f.values()), sorted(e), len(f.items()))


def kinds(n):
    d, s, x = {n: 1}, {n}, []
    x.append(n)
    return isinstance(d, dict), isinstance(s, dict), isinstance(s, set), isinstance(d, (list, set)), isinstance(x, list), isinstance(x, dict)


def second(d):
    d[2] = 4.0
    return len(d)


def called(n):
    d = {n: 1.0}
    return second(d), d


KEYS = np.array([3, 1, 3, 2, -5, 1])
PROGRAMS = [
    (counted, (KEYS,)), (counted_by_get, (KEYS,)), (every_method, (6,)), (every_set_method, (8,)), (grouped_means, (KEYS, np.arange(6.0))), (loops, (50,)),
    (two_sum, (KEYS, 0)), (two_sum, (KEYS, 100)), (collatz, (300,)), (visited, (40,)), (breadth_first, (np.array([0, 0, 1, 3]), np.array([1, 3, 2, 4]), 4)), (made, (3,)),
    (changes_size, (2,)), (changes_size, (3,)), (changes_size, (4,)), (ends_early, (2,)), (ends_early, (3,)), (grows_a_set, (0,)), (grows_a_set, (5,)),
    (without, (1,)), (without, (2,)), (item, (1,)), (item, (2,)), (removed, (1,)), (removed, (2,)), (nothing, (3,)), (popped, (1,)), (popped, (2,)),
    (floats, (np.array([0.0, -0.0, 1.5, 2.5, 1.5, 1e300]),)), (texts, ("low",)), (kinds, (1,)), (with_nothing, (7,)), (deleted_in_loops, (20,)), (emptied, (30000,)), (of_tuples, (7,)), (called, (5,)),
]


@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=lambda x: x.__name__ if callable(x) else "")
def test_programs(function, args):
    assert outcome(lw.njit(function), *args) == outcome(function, *[a.tolist() if isinstance(a, np.ndarray) else a for a in args])


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_keys_of_each_dtype(dtype):
    x = np.array([1, 0, 1, 3, 3, 0], dtype)
    found = lw.njit(counted)(x)
    assert found == counted(x.tolist()) and [type(k) for k in found] == [type(k) for k in counted(x.tolist())]


def test_equal_numbers_of_two_types_are_one_key():
    @lw.njit
    def f(n):
        d = {(1.5, 2.0): 3, (1.0, 2.0): 7}
        e = {1.0: n}
        s = {-0.0}
        return d[1, 2], e[1], 0 in s, 0.0 in s

    assert f(4) == (7, 4, True, True)


def test_both_zeros_with_fastmath():
    @lw.njit(fastmath=True)
    def f(x):
        s = {x}
        s.add(-x)
        return len(s)

    assert f(0.0) == 1


def test_nan_equals_no_key():
    @lw.njit
    def f(x):
        d = {x: 1}
        d[x] = 2
        return len(d), x in d

    assert f(np.nan) == (2, False)


def changed_at_random(kinds, keys, values):
    d, seen, s = {}, [], set()
    for i in range(len(kinds)):
        k, v = keys[i], values[i]
        if kinds[i] == 0:
            d[k] = v
        elif kinds[i] == 1:
            seen.append(d.pop(k, -1))
        elif kinds[i] == 2:
            seen.append(d.setdefault(k, v))
        elif kinds[i] == 3:
            seen.append(d.get(k, -2))
        elif kinds[i] == 4 and len(d) > 0:
            k, v = d.popitem()
            seen.append(k * 1000 + v)
        elif kinds[i] == 5:
            if k in d:
                d[k] += v
                del d[k]
        elif kinds[i] == 6:
            s.add(k)
        elif kinds[i] == 7:
            s.discard(k)
        elif kinds[i] == 8 and v < 3:
            d.clear()
    return list(d.items()), seen, s, len(s)


@pytest.mark.parametrize("seed", range(6))
def test_random_changes(seed):
    rng = np.random.default_rng(seed)
    n = 6000
    program = rng.choice(9, n, p=[0.4, 0.15, 0.05, 0.05, 0.05, 0.1, 0.1, 0.08, 0.02]), rng.integers(0, 5 * 10**seed, n), rng.integers(0, 500, n)
    assert lw.njit(changed_at_random)(*program) == changed_at_random(*[x.tolist() for x in program])


def test_many_keys():
    x = np.random.default_rng(1).integers(-2**62, 2**62, 40000)
    x = np.concatenate([x, x[:100] << 32, np.arange(3000) * 2**20])
    assert lw.njit(counted_by_get)(x) == counted_by_get(x.tolist())


@pytest.mark.parametrize("target", ["cpu", "python"])
def test_in_other_functions(target, monkeypatch):
    monkeypatch.setattr(lw.config, "target", target)

    def different(x, out):
        seen = set()
        for v in x:
            seen.add(v)
        out[0] = len(seen)

    x = np.array([[1.0, 1, 2], [3, 3, 3]])
    assert lw.guvectorize("(n)->()")(different)(x).tolist() == [2, 1]

    def chosen(k):
        d = {0: 1.5, 1: 2.5}
        return d.get(k, 0.0)

    assert lw.vectorize(chosen)([0, 1, 2]).tolist() == [1.5, 2.5, 0.0]


def test_dicts_in_parallel_loops():
    @lw.njit
    def f(x, out):
        for i in lw.prange(len(x)):
            d = {}
            for j in range(x[i]):
                d[j % 5] = j
            out[i] = len(d)

    out = np.zeros(200, int)
    f(np.arange(200), out)
    assert out.tolist() == [min(i, 5) for i in range(200)]


@lw.njit
def changed_in_a_loop(d):
    for k, v in d.items():
        d[k + 1] = v


@lw.njit
def emptied_in_a_loop(s):
    for k in s:
        s.remove(k)


class Colour(enum.Enum):
    RED = 1


REFUSED = [
    (lambda n: {b"a": n}, "E1"),
    (lambda n: {n: {1, 2}}, "E120.*values of this dict must be numbers"),
    (lambda n: {1: 2} | {1.5: 3}, "E120.*keys of this dict are ints, and this is a float"),
    (lambda n: {1: 2} | {2: 3.5}, "E120.*values of this dict are ints, and this is a float"),
    (lambda n: {1} | {2.5}, "E120.*items of this set are ints"),
    (lambda n: {(1, 2)} | {(1, 2, 3)}, "E120.*items of this set are tuples of another length"),
    (lambda n: {1: 2}[1:2], "E165.*sliced"),
    (lambda n: {**{1: 2}}, "E103"),
    (lambda n: changed_in_a_loop({1: n}), "E165.*dict that may have two names"),
    (lambda n: emptied_in_a_loop({1, n}), "E120.*a dict or a set that is an argument changes in a loop"),
    (lambda n: np.sum({1, n}), "E1"),
    (lambda n: {1, 2} | [n], "E120.*only a set can be combined"),
    (lambda n: {1: 2} | [(1, n)], "E120.*only a dict can be joined"),
    (lambda n: {1: 2}.pop(n, "x"), "E120.*default must be a number"),
    (lambda n: {1: 2}.keys() == {1}, "E120.*cannot be compared"),
    (lambda n: {1: 2}.keys(), "E165.*cannot be kept"),
    (lambda n: ({1: 2}.keys(), n), "E165.*cannot be kept"),
    (lambda n: np.arange(3) + {0, n}, "E120"),
    (lambda n: np.arange(3)[{0, 1}], "E1"),
    (lambda n: any({(1, n)}), "E120.*items are tuples"),
    (lambda n: {Colour.RED: n}, "E1"),
]


@pytest.mark.parametrize(("function", "said"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_refused(function, said):
    with pytest.raises(lw.errors.CompileError, match=f"(?s){said}"):
        lw.njit(function)(3)


def test_statements_that_are_refused():
    def slice_of_dict(n):
        d = {1: n}
        d[1:2] = 3

    def item_of_set(n):
        s = {n}
        s[0] = 3

    def rebound(n):
        d = {1: 1, 2: 2}
        total = 0
        for k in d:
            d = d.copy()
            d[k + n] = 1
            total += k
        return total, d

    def kept_view(n):
        d = {1: n}
        keys = d.keys()
        d[2] = 3
        return len(keys)

    def two_names(n):
        d = {1: n}
        e = d if n > 3 else {2: n}
        e[5] = 1
        return d, e

    for function, said in ((slice_of_dict, "E165: a dict cannot be sliced"), (item_of_set, "E165: items of a set cannot be assigned"), (two_names, "E165: a dict that may have two"), (rebound, "E165: a dict that may have two"), (kept_view, r"E165: what keys\(\), values")):
        with pytest.raises(lw.errors.CompileError, match=said):
            lw.njit(function)(3)


def test_dicts_of_strings_that_are_not_always_assigned():
    def on_a_path(n):
        if n > 3:
            d = {"a": 1}
        return d["a"]

    def too_early(n):
        x = d["a"] if n > 3 else 0
        d = {"a": 1}
        return x

    for function in (on_a_path, too_early):
        for n in (5, 2):
            try:
                expected = function(n)
            except UnboundLocalError:
                with pytest.raises((UnboundLocalError, lw.errors.CompileError)):
                    lw.njit(function)(n)
            else:
                try:
                    assert lw.njit(function)(n) == expected
                except lw.errors.CompileError:
                    assert function is too_early  # never assigned before it is read


def test_names_that_hide_the_builtins():
    def dict(x):
        return x + 1

    @lw.njit
    def f(set):
        return dict(set), set

    assert f(3) == (4, 3)


# ---- keys of other integer types; what is missing ----


def looks_up(x, k):
    d, s = {}, set()
    for v in x:
        d[v] = 1
        s.add(v)
    s.discard(k)
    return k in d, d.get(k, 5), k in s, len(s), (k, 1) in {(v, 1) for v in x}


@pytest.mark.parametrize("x, k", [(np.array([1, 2**64 - 1], np.uint64), -1), (np.array([1, 2], np.uint64), 1), (np.array([-1, 7], np.int64), np.uint64(2**64 - 1)),
                                  (np.array([1, 255], np.uint8), -1), (np.array([44, 2], np.uint8), 300), (np.array([-1, 2], np.int8), 255), (np.array([1, 2], np.int32), np.uint8(2))])
def test_keys_of_other_integer_types(x, k):
    assert lw.njit(looks_up)(x, k) == looks_up(x, k)


def test_a_constant_that_no_key_is():
    def f(x):
        d = {v: 1 for v in x}
        return -1 in d, d.get(-1, 0)

    assert lw.njit(f)(np.array([1, 2], np.uint64)) == (False, 0)


def test_a_missing_tuple():
    def pair(n):
        d = {(1, 2): 3}
        d[(2, n)] = 1
        return d[(n, 2)]

    def triple(n):
        s = {(1, 2, n)}
        s.remove((n, 2, 2))
        return 0

    with pytest.raises(KeyError, match=r"\(5, 2\)"):
        lw.njit(pair)(5)
    with pytest.raises(KeyError, match="no such key"):
        lw.njit(triple)(5)


def changes_set(n):
    s = {0}
    for i in lw.prange(n):
        s.add(i)
    return len(s)


def changes_list(n):
    s = [0]
    for i in lw.prange(n):
        s.append(i)
    return len(s)


@pytest.mark.parametrize("function", [changes_set, changes_list])
def test_changes_in_prange(function):
    with pytest.raises(errors.CompileError, match="(?s)E168.*the iterations cannot change one list, dict or set: fill that after the loop"):
        lw.njit(parallel=True)(function)(3)


# ---- second names ----


def second_name_of_a_set(n):
    first = set((1, 2, 3))
    other = {3, n}
    second = first
    second |= other
    third = second
    third.add(n + 1)
    first -= {1}
    return sorted(first), sorted(second), sorted(third)


def second_name_of_a_dict(n):
    first = {}
    second = first
    second[n] = 5
    first |= {2: 3}
    second[5] = 6
    return len(first), len(second), first[n]


def second_name_of_a_list(n):
    first = [n]
    second = first
    second += [1, 2]
    first.append(4)
    second *= 2
    return first, len(second)


def second_name_in_a_loop(n):
    found = {n}
    for i in range(3):
        again = found
        again.add(i + 10)
    return len(found)


def second_name_of_a_tuple(n):
    first = (1, 2)
    second = first
    second += (n,)
    return first, second


@pytest.mark.parametrize("f", [second_name_of_a_set, second_name_of_a_dict, second_name_of_a_list, second_name_in_a_loop, second_name_of_a_tuple])
def test_second_names(f):
    assert lw.njit(f)(9) == f(9)


def test_second_names_of_two():
    @lw.njit
    def f(n):
        first = {1, 2}
        second = first
        first = {n}
        second.add(7)
        return len(first), len(second)

    with pytest.raises(lw.errors.TypingError, match="E165: a set that may have two names"):
        f(5)
