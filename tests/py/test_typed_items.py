"""Typed lists and dicts whose items are arrays or typed containers: the objects themselves, whose memory lives as long as somebody holds it."""

import copy
import gc
import pickle
import random
import sys

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors, njit, prange, types
from lanewise.experimental import jitclass
from lanewise.typed import Dict, List
from memory_checks import check_that_typed_containers_end

ROWS = types.float64[:]
INTS = types.ListType(types.int64)
GROUPS = types.DictType(types.int64, types.ListType(types.float64))
PAIRS = types.Tuple((types.int64, types.float64[::1]))


# ---- arrays ----


@njit
def keep(x, v):
    x.append(v)
    x.append(v[1:3])
    x.append(v * 2)


def test_an_argument_lives_as_long_as_the_list_holds_it():
    v = np.arange(5.0)
    before = sys.getrefcount(v)
    x = List.empty_list(ROWS)
    keep(x, v)
    x[0][1] = 50
    assert v[1] == 50 and x[1][0] == 50 and x[2][1] == 2
    assert sys.getrefcount(v) > before
    held = x[0]
    x.pop(0)
    x.clear()
    del held
    assert sys.getrefcount(v) == before
    keep(x, np.arange(3.0))
    gc.collect()
    np.testing.assert_array_equal(x[0], [0, 1, 2])


def test_a_failed_call_changes_nothing():
    x = List([np.ones(3)])

    @njit
    def f(x):
        x[0] = lw.local(2, np.float64)

    with pytest.raises(RuntimeError, match="the memory of this array may end with the call"):
        f(x)
    np.testing.assert_array_equal(x[0], np.ones(3))
    with pytest.raises(RuntimeError, match=r"x\.copy\(\)"):
        njit(lambda x, v: x.append(v))(x, np.arange(3, dtype=">f8"))
    njit(lambda x, v: x.append(v))(x, np.empty(0))
    assert [len(v) for v in x] == [3, 0]


def test_where_errors_are_ignored_a_slot_stays_as_it_is():
    x = List([np.ones(2)])
    njit(errors="ignore")(lambda x, v: change(x, 1, 0, v))(x, np.zeros(1000, ">f8"))
    assert x[0].shape in ((2,), (999,)) and njit(lambda x: x[0].sum())(x) in (2.0, 0.0)

    @njit(errors="ignore")
    def put(x, v):
        x[0] = v
        x.append(v)

    put(x, np.zeros(1000, ">f8"))
    assert [v.size for v in x] in ([2, 0], [999, 0], [1000, 1000])
    with pytest.raises(TypeError, match="byte order"):
        List([np.ones(3, ">f8")])


def test_arrays_without_axes():
    v = np.array(2.0)
    before = sys.getrefcount(v)
    x = List([v])
    assert njit(lambda x: x[0][()])(x) == 2.0 and sys.getrefcount(v) == before + 1
    x.pop()
    assert sys.getrefcount(v) == before


def operations(draw, x, arrays):
    for _ in range(40):
        what, i, v = draw.randrange(9), draw.randrange(100), arrays[draw.randrange(len(arrays))]
        yield what, i % max(len(x), 1), v


def change(x, what, i, v):
    if what == 0 or len(x) == 0:
        x.append(v)
    elif what == 1:
        x[i] = v[1:]
    elif what == 2:
        x.insert(i, v * 2)
    elif what == 3:
        x.pop(i)
    elif what == 4:
        x[i] += 1
    elif what == 5:
        x.reverse()
    elif what == 6:
        del x[i:i + 2]
    elif what == 7:
        x[i][:1] = v[0]
    elif len(x) > 1:
        x[i], x[0] = x[0], x[i]


COMPILED = njit(change)


@pytest.mark.parametrize("seed", range(6))
def test_a_list_of_arrays_is_changed_as_pythons_is(seed):
    draw = random.Random(seed)
    arrays = [np.arange(float(n)) for n in range(2, 6)]
    others = [v.copy() for v in arrays]
    plain, typed = [], List.empty_list(ROWS)
    for what, i, v in operations(draw, plain, range(4)):
        for f, x, of in ((change, plain, arrays), (draw.choice([change, COMPILED]), typed, others)):
            f(x, what, i, of[v])
        assert len(plain) == len(typed)
        for a, b in zip(plain, typed):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(arrays, others):
        np.testing.assert_array_equal(a, b)


@njit
def totals(x, out):
    for i in prange(len(x)):
        out[i] = x[i].sum()
    s = 0.0
    for i, v in enumerate(x):
        s += i * v[0]
    return s, [v.size for v in x if v.size > 1], np.concatenate(x)


def test_lists_of_arrays_are_read():
    x = List([np.arange(4.0) + 1, np.ones(1), np.arange(3.0)])
    out = np.zeros(3)
    s, sizes, joined = totals(x, out)
    assert (s, sizes) == (1.0, [4, 3])
    np.testing.assert_array_equal(out, [10, 1, 3])
    np.testing.assert_array_equal(joined, np.concatenate([*x]))
    np.testing.assert_array_equal(njit(lambda x: np.array(x))(List([np.ones(2), np.zeros(2)])), [[1, 1], [0, 0]])


def test_a_dict_of_arrays():
    @njit
    def f(d):
        for k, v in d.items():
            v[0] += k
        first = d.pop(1)
        d[7] = first
        d[2] *= 2
        return d.get(9), d.setdefault(3, np.zeros(1)), sum([v.sum() for v in d.values()])

    d = Dict.empty(types.int64, ROWS)
    one = np.arange(3.0)
    d[1], d[2] = one, np.ones((4, 2))[:, 0]
    assert f(d)[0] is None
    assert d[7] is not None and list(d) == [2, 7, 3]
    np.testing.assert_array_equal(one, [1, 1, 2])
    assert np.shares_memory(d[7], one)
    np.testing.assert_array_equal(d[2], [6, 2, 2, 2])


@pytest.mark.parametrize("bad, text", [
    (np.ones((2, 2)), r"items of this list are of the type float64\[::1\], not float64\[:, ::1\]"),
    (np.ones(6)[::2], r"not float64\[:\]"), (np.ones(3, np.float32), "not float32"), (3, "not 'int'"), (List([1]), "not 'List'")])
def test_other_items_are_refused(bad, text):
    x = List([np.ones(3)])
    with pytest.raises(TypeError, match=text):
        x.append(bad)
    if not isinstance(bad, np.ndarray) or bad.ndim:
        with pytest.raises(errors.TypingError, match="E120"):
            njit(lambda x, v: x.append(v))(x, bad)
    assert len(x) == 1


def test_frozen_arrays_stay_so():
    v = np.arange(3.0)
    v.flags.writeable = False
    x = List([v])
    assert not x[0].flags.writeable
    with pytest.raises(errors.TypingError, match="E12|read"):
        njit(lambda x: change(x, 4, 0, x[0]))(x)
    with pytest.raises(TypeError):
        List([np.ones(3)]).append(v)


# ---- containers ----


@njit
def grouped(keys, values):
    d = Dict()
    for i in range(len(keys)):
        if keys[i] not in d:
            d[keys[i]] = List.empty_list(types.float64)
        d[keys[i]].append(values[i])
    return d


def test_a_dict_of_lists():
    d = grouped(np.array([1, 2, 1, 3, 2]), np.arange(5.0))
    assert d == {1: [0.0, 2.0], 2: [1.0, 4.0], 3: [3.0]}
    assert repr(d) == "DictType[int64,ListType[float64]]({1: ListType[float64]([0.0, 2.0]), 2: ListType[float64]([1.0, 4.0]), 3: ListType[float64]([3.0])})"


def test_deleted_entries_of_a_dict_of_lists():
    for remove in (lambda d: d.pop(1), njit(lambda d: d.pop(1)), lambda d: d.__delitem__(1)):
        d = Dict()
        d[1], d[2] = List([1]), List([2])
        remove(d)
        assert str(d) == "{2: ListType[int64]([2])}" and list(d) == [2] and d == {2: [2]}
        assert d.copy() == d == pickle.loads(pickle.dumps(d))
    e = Dict()
    e[1] = (List([1]), 2.0)
    e[3] = (List([3]), 4.0)
    del e[1]
    assert [*e.items()] == [(3, ([3], 4.0))]


@njit
def neighbours(n):
    x = List.empty_list(INTS)
    for _ in range(n):
        x.append(List.empty_list(types.int64))
    for i in range(n):
        for j in range(i):
            if i % (j + 1) == 0:
                x[i].append(j)
                x[j].append(i)
    return x


def test_a_list_of_lists():
    x = neighbours(5)
    expected = [[] for _ in range(5)]
    for i in range(5):
        for j in range(i):
            if i % (j + 1) == 0:
                expected[i].append(j)
                expected[j].append(i)
    assert x == expected

    @njit
    def f(x):
        first = x[0]
        first.append(-1)
        x[1], x[2] = x[2], x[1]
        for row in x:
            row.append(len(row))
        last = x.pop()
        last.append(99)
        x.append(first)
        return first, last, len(x[0]), [sum(row) for row in x]

    first, last, n, sums = f(x)
    assert first is x[0] and n == len(x[0]) and x[-1] is first
    assert last == [0, 2, 99] or last[-1] == 99
    assert sums == [sum(row) for row in x]


@njit
def deep():
    d = Dict.empty(types.int64, GROUPS)
    for i in range(3):
        inner = Dict.empty(types.int64, types.ListType(types.float64)) if False else Dict.empty(types.int64, LISTS)
        d[i] = inner
        for j in range(i):
            inner[j] = List([0.5])
            d[i][j].append(i + j)
    return d


LISTS = types.ListType(types.float64)


def test_three_levels():
    d = deep()
    assert d == {0: {}, 1: {0: [0.5, 1.0]}, 2: {0: [0.5, 2.0], 1: [0.5, 3.0]}}
    assert d[2] is d[2]
    d[2][0].append(4)
    assert d[2][0] == [0.5, 2.0, 4.0]


def test_tuples_that_hold_them():
    @njit
    def f():
        x = List.empty_list(PAIRS)
        x.append((1, np.ones(3)))
        y = List()
        y.append((2, np.ones(2), List([1.5])))
        y[0][2].append(3)
        for i, v, r in y:
            r.append(i + v[0])
        return x, y

    x, y = f()
    assert x[0][0] == 1 and x[0][1].sum() == 3 and y[0][2] == [1.5, 3, 3]


def test_containers_of_containers_in_python():
    a, b = List([1, 2]), List([3])
    x = List([a, b])
    assert x[0] is a and x == [[1, 2], [3]] and [*x][1] is b
    x[0].append(5)
    assert a == [1, 2, 5]
    assert List.empty_list(INTS) == [] and repr(x) == "ListType[ListType[int64]]([ListType[int64]([1, 2, 5]), ListType[int64]([3])])"
    again = pickle.loads(pickle.dumps(x))
    again[0].append(6)
    deeper = copy.deepcopy(x)
    deeper[1].append(7)
    assert x == [[1, 2, 5], [3]] and again == [[1, 2, 5, 6], [3]] and deeper == [[1, 2, 5], [3, 7]]
    with pytest.raises(TypeError, match="nobody knows yet"):
        x.append(List())
    with pytest.raises(TypeError, match=r"are of the type ListType\[int64\], not 'ListType\[float64\]'"):
        x.append(List([1.5]))
    with pytest.raises(TypeError, match="not 'list'"):
        x.append([1])


@pytest.mark.parametrize("f, text", [
    (lambda x: x.append(List([1.5])), "with items of one type"),
    (lambda x: x.append(List()), "nobody knows yet of what type"),
    (lambda x: x.append([1]), "this is a plain one"),
    (lambda x: x.append(1), "with items of one type"),
    (lambda x: x.sort(), "sort by a key"),
    (lambda x: np.array(x), "no array of lists"),
])
def test_what_compiled_functions_refuse(f, text):
    with pytest.raises(errors.TypingError, match=text):
        njit(f)(List([List([1, 2])]))


def test_a_jitclass_holds_them():
    @jitclass([("rows", types.ListType(ROWS)), ("groups", GROUPS)])
    class Table:
        def __init__(self):
            self.rows = List.empty_list(ROWS)
            self.groups = Dict.empty(types.int64, LISTS)

        def add(self, v):
            self.rows.append(v)
            self.groups[len(self.rows)] = List([v.sum()])

    @njit
    def f(v):
        t = Table()
        t.add(v)
        t.add(v[::2])
        return t.rows, t.groups

    rows, groups = f(np.arange(4.0))
    np.testing.assert_array_equal(rows[1], [0, 2])
    assert groups == {1: [6.0], 2: [2.0]}


def test_nothing_leaks():
    def work():
        v = np.arange(10.0)
        x = List.empty_list(ROWS)
        for _ in range(5):
            keep(x, v)
        x.pop(2)
        del x[1:4]
        y = neighbours(6)
        y[0] = List([4])
        y.pop(1)
        d = grouped(np.arange(20) % 7, np.arange(20.0))
        d.pop(3)
        del d[4]
        d.popitem()
        z = deep()
        z.clear()
        with pytest.raises(RuntimeError):
            njit(lambda x: x.append(lw.local(2, np.float64)))(x)
        return x, y, d

    check_that_typed_containers_end(work, 5)


@pytest.mark.parametrize("make", [
    lambda: Dict.empty(ROWS, lw.int64), lambda: Dict({1: 2}).__setitem__(np.ones(2), 1), lambda: Dict.empty(INTS, lw.int64),
    lambda: Dict([((1, 2), 3)]).__contains__(List([1])) or Dict().__setitem__(List([1]), 1),
    lambda: njit(lambda k: Dict().setdefault(k, 1))(np.ones(2)), lambda: njit(lambda k: Dict().setdefault(k, 1))(List([1])),
    lambda: njit(lambda: len(Dict.empty(ROWS, lw.int64)))()])
def test_keys_have_a_hash(make):
    with pytest.raises(TypeError, match="must be numbers, strings|of the type|have no hash"):
        make()


# ---- tuples of typed lists, typed dicts and strings ----

PAIR = types.Tuple((types.ListType(types.int32), types.ListType(types.float32)))
NAMED = types.Tuple((types.unicode_type, types.float64))


def test_types_of_tuples_of_containers():
    assert str(PAIR) == "Tuple(ListType[int32], ListType[float32])" and isinstance(PAIR, types.Tuple) and not isinstance(PAIR, types.UniTuple)
    assert (len(PAIR), PAIR.count, PAIR.types) == (2, 2, (types.ListType(types.int32), types.ListType(types.float32))) and list(PAIR) == [*PAIR.types]
    assert PAIR == types.Tuple(PAIR.types) and hash(PAIR) == hash(types.Tuple(PAIR.types)) and PAIR != types.Tuple(PAIR.types[::-1])
    assert pickle.loads(pickle.dumps(PAIR)) == PAIR and str(types.UniTuple(PAIR, 2)) == f"Tuple({PAIR}, {PAIR})"
    with pytest.raises(TypeError, match="signatures cannot name Tuple"):
        types.float64(PAIR)


def test_tuples_of_containers_as_items():
    @lw.njit
    def made():
        out = List.empty_list(PAIR)
        whole = List.empty_list(types.int32)
        whole.append(1)
        parts = List.empty_list(types.float32)
        parts.append(2.5)
        out.append((whole, parts))
        return out

    @lw.njit
    def total(x):
        t = 0.0
        for whole, parts in x:
            t += whole[0] + parts[0]
        return t

    x = List.empty_list(PAIR)
    x.append((List(np.int32([3])), List(np.float32([0.5]))))
    assert total(x) == total(made()) == 3.5
    d = Dict.empty(types.int64, PAIR)
    d[1] = x[0]
    assert d[1][0][0] == 3 and type(d[1][1]) is List


def test_tuples_with_strings_as_items():
    @lw.njit
    def made():
        x = List.empty_list(NAMED)
        x.append(("q", 1.0))
        return x

    x = List.empty_list(NAMED)
    x.append(("a", 2.0))
    assert list(x) == [("a", 2.0)] and list(made()) == [("q", 1.0)]
