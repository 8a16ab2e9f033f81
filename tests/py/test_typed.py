"""Typed lists and dicts: random sequences of operations, in Python and in compiled functions, beside Python's own containers."""

import copy
import pathlib
import pickle
import random
import re
import threading

import numpy as np
import pytest

import lanewise as lw
from lanewise import _typed_containers, errors, njit, types
from lanewise.experimental import jitclass
from lanewise.typed import Dict, List
from memory_checks import check_that_typed_containers_end

# ---- operations, as Python's containers have them, too ----


def append(x, i, v):
    x.append(v)
    return len(x)


def insert(x, i, v):
    x.insert(i, v)
    return len(x)


def pop(x, i, v):
    return x.pop(i)


def set_item(x, i, v):
    x[i] = v
    return len(x)


def get_item(x, i, v):
    return x[i]


def delete(x, i, v):
    del x[i]
    return len(x)


def remove(x, i, v):
    x.remove(v)
    return len(x)


def contains(x, i, v):
    return v in x


def index(x, i, v):
    return x.index(v)


def count(x, i, v):
    return x.count(v)


def reverse(x, i, v):
    x.reverse()
    return len(x)


def sort(x, i, v):
    x.sort()
    return len(x)


def sort_down(x, i, v):
    x.sort(reverse=True)
    return len(x)


def extend(x, i, v):
    x.extend([v, v])
    return len(x)


def cut(x, i, v):
    x[i:i + 2] = [v]
    return len(x)


def drop(x, i, v):
    del x[i:i + 3]
    return len(x)


def part(x, i, v):
    return len(x[i:]) + len(x[::-2])


def total(x, i, v):
    s = 0 * v
    for y in x:
        s += y
    return s


def add_all(x, i, v):
    for k in range(len(x)):
        x[k] += v
    return len(x)


def clear(x, i, v):
    if len(x) > 30:
        x.clear()
    return len(x)


LIST_OPERATIONS = [append, append, append, insert, pop, set_item, get_item, delete, remove, contains, index, count, reverse, sort, sort_down, extend, cut, drop, part, total, add_all, clear]
COMPILED = {f: njit(f) for f in LIST_OPERATIONS}


def outcome(f, *args):
    try:
        return f(*args)
    except (IndexError, KeyError, ValueError, RuntimeError) as problem:
        return type(problem)


@pytest.mark.parametrize("make, dtype", [(int, types.int64), (float, types.float64), (int, types.int32), (float, types.float32), (int, types.uint8), (complex, types.complex128)])
@pytest.mark.parametrize("seed", range(3))
def test_a_list_is_changed_by_both_sides_as_pythons_is(make, dtype, seed):
    draw = random.Random(seed)
    plain, typed = [], List.empty_list(dtype)
    for _ in range(150):
        f = draw.choice(LIST_OPERATIONS)
        if make is complex and f in (sort, sort_down):
            continue
        if dtype in (types.uint8, types.int32) and f is add_all:
            continue
        i, v = draw.randint(-len(plain) - 1, len(plain)), make(draw.randint(0, 6))
        other = typed if draw.random() < 0.9 else copy.copy(typed)
        wanted = outcome(f, plain, i, v)
        got = outcome(f if draw.random() < 0.3 else COMPILED[f], typed, i, v)
        assert got == wanted and [*typed] == plain == typed and other is not None, f.__name__
        assert typed == plain and len(typed) == len(plain) and str(typed) == str(plain)


def put(d, k, v):
    d[k] = v
    return len(d)


def bump(d, k, v):
    if k in d:
        d[k] += v
    else:
        d[k] = v
    return d[k]


def get_key(d, k, v):
    return d[k]


def get_or(d, k, v):
    return d.get(k, v)


def delete_key(d, k, v):
    del d[k]
    return len(d)


def pop_key(d, k, v):
    return d.pop(k)


def pop_or(d, k, v):
    return d.pop(k, v)


def pop_item(d, k, v):
    return d.popitem()


def has_key(d, k, v):
    return k in d


def set_default(d, k, v):
    return d.setdefault(k, v)


def sum_of(d, k, v):
    s = 0 * v
    for key, value in d.items():
        s += value
    for key in d:
        s += d[key]
    for value in d.values():
        s += value
    return s


def clear_dict(d, k, v):
    if len(d) > 20:
        d.clear()
    return len(d)


DICT_OPERATIONS = [put, put, put, bump, bump, get_key, get_or, delete_key, pop_key, pop_or, pop_item, has_key, set_default, sum_of, clear_dict]
COMPILED_DICTS = {f: njit(f) for f in DICT_OPERATIONS}


@pytest.mark.parametrize("key, key_type", [(int, types.int64), (float, types.float64), (lambda n: (n, n % 3), types.UniTuple(types.int64, 2))])
@pytest.mark.parametrize("make, value_type", [(int, types.int64), (float, types.float64)])
@pytest.mark.parametrize("seed", range(2))
def test_a_dict_is_changed_by_both_sides_as_pythons_is(key, key_type, make, value_type, seed):
    draw = random.Random(seed)
    plain, typed = {}, Dict.empty(key_type, value_type)
    for _ in range(200):
        f, k, v = draw.choice(DICT_OPERATIONS), key(draw.randint(0, 40)), make(draw.randint(-9, 9))
        wanted = outcome(f, plain, k, v)
        got = outcome(f if draw.random() < 0.3 else COMPILED_DICTS[f], typed, k, v)
        assert got == wanted and [*typed.items()] == [*plain.items()], f.__name__
    assert typed == plain and str(typed) == str(plain) and [*typed] == [*plain] and [*typed.values()] == [*plain.values()]


# ---- what is shared ----


@njit
def append_both(x, y):
    x.append(1.0)
    y.append(2.0)
    return x


def test_one_list_may_be_two_arguments():
    x = List([0.0])
    assert append_both(x, x) is x and x == [0.0, 1.0, 2.0]


def test_changes_before_an_exception_stay():
    @njit
    def f(x, d, n):
        for i in range(n):
            x.append(i)
            d[i] = i
            if i == 3:
                raise ValueError("three")

    x, d = List.empty_list(types.int64), Dict.empty(types.int64, types.int64)
    with pytest.raises(ValueError, match="three"):
        f(x, d, 10)
    assert x == [0, 1, 2, 3] and d == {0: 0, 1: 1, 2: 2, 3: 3}


def test_containers_that_functions_make():
    @njit
    def f(n):
        x = List()
        for i in range(n):
            x.append((i, 0.5 * i))
        d = Dict.empty(key_type=types.int64, value_type=types.float64)
        for i in range(n):
            d[i] = x[i][1]
        e = Dict()
        e[1] = 2
        y = List.empty_list(types.float32)
        return x, d, e, y, List((1, 2))

    x, d, e, y, z = f(3)
    assert [type(made) for made in (x, d, e, y, z)] == [List, Dict, Dict, List, List]
    assert x == [(0, 0.0), (1, 0.5), (2, 1.0)] and d == {0: 0.0, 1: 0.5, 2: 1.0} and e == {1: 2} and y == [] and z == [1, 2]
    assert repr(y) == "ListType[float32]([])" and repr(d) == "DictType[int64,float64]({0: 0.0, 1: 0.5, 2: 1.0})"
    x.append((3, 1))
    assert x[-1] == (3, 1.0)


def test_names_and_callees_share_a_container():
    @njit
    def push(x, v):
        x.append(v)

    @njit
    def f(x):
        y = x
        y.append(1)
        push(y, 2)
        for v in (3, 4):
            push(x, v)
        return len(x), len(y)

    x = List([0])
    assert f(x) == (5, 5) and x == [0, 1, 2, 3, 4]


def test_results_are_the_same_object():
    @njit
    def either(x, y, first):
        return (x if first else y), (x, y)

    x, y = List([1]), List([2])
    found, both = either(x, y, True)
    assert found is x and both[0] is x and both[1] is y


def test_a_loop_over_a_container_whose_size_changes():
    @njit
    def grow(x, y):
        for v in x:
            y.append(v)

    @njit
    def last(x, y):
        n = len(x)
        for i, v in enumerate(x):
            if i == n - 1:
                y.append(v)

    @njit
    def leave(x, y):
        for v in x:
            y.append(v)
            break

    @njit
    def add_key(d, e):
        for k in d:
            e[k + 100] = 1

    @njit
    def add_item(d, e):
        for k, v in d.items():
            e[k + 100] = v

    @njit
    def bump_all(d):
        for k in d:
            d[k] += 1

    for f in (grow, last):
        x = List([1, 2])
        with pytest.raises(RuntimeError, match="changed size during iteration"):
            f(x, x)
        assert len(x) == 3
        f(x, List([0]))
    leave(x, x)
    assert len(x) == 4
    for f in (add_key, add_item):
        d = Dict([(1, 1), (2, 2)])
        with pytest.raises(RuntimeError, match="dictionary changed size during iteration"):
            f(d, d)
    bump_all(d)
    assert d[2] == 3

    @njit
    def follows(x):
        for v in x:
            if v < 3:
                x.append(v + 1)

    x = List([0])
    follows(x)
    assert x == [0, 1, 2, 3]
    with pytest.raises(RuntimeError):
        for k in d:
            d[k + 50] = 1


def test_threads_share_a_list():
    @njit
    def fill(x, n):
        for i in range(n):
            x.append(i)

    x = List([0])
    fill(x, 1)
    threads = [threading.Thread(target=fill, args=(x, 20000)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(x) == 80002 and sum(np.asarray(x)) == 4 * sum(range(20000))


# ---- types ----


def test_items_are_converted_as_in_an_assignment_to_an_element():
    x = List.empty_list(types.float64)
    x.append(1)
    COMPILED[append](x, 0, 2)
    assert x == [1.0, 2.0] and type(x[1]) is float
    y = List([1])
    for f in (append, COMPILED[append], set_item, COMPILED[set_item]):
        with pytest.raises(TypeError, match="float"):
            f(y, 0, 1.5)
    with pytest.raises(errors.TypingError, match="items of this list are ints, and this is a float"):
        COMPILED[append](y, 0, 1.5)
    with pytest.raises(TypeError, match="int64, not 'str'"):
        y.append("a")
    d = Dict.empty(types.int64, types.float64)
    with pytest.raises(TypeError, match="keys of this dict"):
        d[1.5] = 1
    with pytest.raises(errors.TypingError, match="keys of this dict"):
        COMPILED_DICTS[put](d, 1.5, 1.0)
    with pytest.raises(OverflowError):
        List.empty_list(types.int8).append(300)
    with pytest.raises(TypeError, match="item_type must be"):
        List.empty_list(bytes)
    with pytest.raises(TypeError, match="at most 16"):
        List([tuple(range(17))])


def test_containers_without_a_type():
    x, d = List(), Dict()
    assert repr(x) == "List([])" and repr(d) == "Dict({})" and [*x] == [] and 3 not in d and x == []
    x.append(2.5)
    d[1] = 2.5
    assert x == [2.5] and d == {1: 2.5} and repr(x) == "ListType[float64]([2.5])"


def test_tuples_as_items():
    x = List([(1, 2.0)])

    @njit
    def f(x):
        for i, v in x:
            x[0] = (i + 1, v * 2)
        x.append((7, 1))
        return (7, 1.0) in x, max(x)

    assert f(x) == (True, (7, 1.0)) and x == [(2, 4.0), (7, 1.0)]


def test_copies_and_pickles():
    x, d = List([1.5, 2]), Dict({(1, 2): 3})
    for made in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), lambda x: x.copy(), njit(lambda x: x.copy())):
        for one in (x, d):
            other = made(one)
            assert other == one and other is not one and repr(other) == repr(one)
    y = x.copy()
    y.append(3)
    assert len(x) == 2


def test_functions_of_lists():
    @njit
    def f(x):
        return sum(x), max(x), min(x), sorted(x, reverse=True), x[1:], np.array(x) * 2, list(x), x + [9], x == [3, 1, 2], 2 * x, [v for v in x]

    x = List([3, 1, 2])
    s, most, least, ordered, rest, twice, plain, more, same, double, made = f(x)
    assert (s, most, least, ordered, same) == (6, 3, 1, [3, 2, 1], True) and rest == [1, 2] and twice.tolist() == [6, 2, 4]
    assert plain == [3, 1, 2] == made and more == [3, 1, 2, 9] and double == [3, 1, 2] * 2 and type(plain) is list and type(ordered) is list
    assert x == [3, 1, 2] and np.sin(x).shape == (3,) and lw.vectorize(lambda v: v + 1)(x).tolist() == [4, 2, 3]


def test_kernels_refuse_them():
    @lw.forall
    def f(i, x, out):
        out[i] = x[i]

    with pytest.raises(errors.LanewiseError, match="typed lists and dicts, and lists and dicts of arrays or strings, work in functions of `njit`"):
        f(2, List([1, 2]), np.zeros(2))


def test_fields_of_objects():
    @jitclass([("items", types.ListType(types.float64)), ("seen", types.DictType(types.int64, types.int64)), ("n", types.int64)])
    class Bag:
        def __init__(self):
            self.items = List.empty_list(types.float64)
            self.seen = Dict.empty(types.int64, types.int64)
            self.n = 0

        def push(self, x):
            self.items.append(x)
            self.n += 1
            self.seen[int(x)] = self.seen.get(int(x), 0) + 1

    @njit
    def fill(bag, n):
        for i in range(n):
            bag.push(i)
        return bag.items

    @njit
    def make(n):
        bag = Bag()
        fill(bag, n)
        return bag

    @njit
    def reset(bag):
        bag.items = List.empty_list(types.float64)
        bag.n = 0

    bag = Bag()
    items = bag.items
    bag.push(1.5)
    assert fill(bag, 2) is items is bag.items and items == [1.5, 0.0, 1.0] and bag.seen == {1: 2, 0: 1} and bag.n == 3
    made = make(3)
    made.push(7)
    assert made.items == [0.0, 1.0, 2.0, 7.0] and made.n == 4
    reset(bag)
    bag.push(1)
    assert bag.items == [1.0] and len(items) == 3

    class Pair:
        def __init__(self, x):
            self.first = self.second = x

    @njit
    def push(pair, x):
        pair.first.append(2)
        return len(pair.second), len(x)

    pair = Pair(items)
    assert push(pair, items) == (4, 4) and pair.second is items


def test_loops_over_prange():
    @njit
    def double(x):
        for i in lw.prange(len(x)):
            x[i] = 2 * i

    @njit
    def grow(x):
        for i in lw.prange(10):
            x.append(i)

    @njit
    def shrink(d):
        for i in lw.prange(10):
            d.pop(i)

    x = List(range(1000))
    double(x)
    assert x == [*range(0, 2000, 2)]
    with pytest.raises(errors.UnsupportedError, match="a typed list or dict that changes in a loop over prange"):
        grow(x)
    with pytest.raises(errors.UnsupportedError, match="E168"):
        shrink(Dict({1: 1}))


def test_errors_of_pythons_own_containers_name_typed_ones():
    with pytest.raises(errors.TypingError, match="Python sees the changes of a `lanewise.typed.List`"):
        COMPILED[append]([1, 2], 0, 3)
    with pytest.raises(TypeError, match="lanewise.typed.List, which functions can change"):
        COMPILED[append]([1] * 100, 0, 3)
    with pytest.raises(TypeError, match="lanewise.typed.Dict"):
        COMPILED_DICTS[put]({1: 2}, 0, 3)
    x = List([1])
    with pytest.raises(errors.TypingError, match=r"x: List\[int64\]"):
        njit(lambda x: x.size)(x)
    with pytest.raises(errors.TypingError):
        njit(lambda: x[0])()


# ---- memory ----


def test_memory_ends_with_the_last_holder():
    @njit
    def f(n):
        x = List()
        d = Dict()
        for i in range(n):
            x.append((i, 0.5))
            d[i] = i
        return x, len(d)

    @njit
    def fail(x):
        y = List([1.0])
        for i in range(100):
            y.append(2)
            x.append(i)
        raise ValueError

    def work():
        x, n = f(100)
        for _ in range(5):
            x.append((1, 1.0))
        y = List(range(50))
        y[3:40] = [1]
        with pytest.raises(ValueError):
            fail(y)
        d = Dict((i, i) for i in range(30))
        d.clear()
        return x

    check_that_typed_containers_end(work, 20)


# ---- containers without a type, and keys of other types ----


def test_containers_without_a_type_are_refused():
    """Each parameter would choose its own type for the same memory."""
    x = List()
    with pytest.raises(TypeError, match="argument `a` is a typed list whose type is not known yet: make it by List.empty_list"):
        lw.njit(lambda a, b: a.append(b))(x, 1.5)
    assert len(x) == 0
    with pytest.raises(TypeError, match="is a typed dict whose type is not known yet"):
        lw.njit(lambda d: len(d))(Dict())
    with pytest.raises(TypeError, match="at most 16 numbers"):
        List.empty_list(types.UniTuple(types.int64, 20))


def test_keys_that_do_not_fit_the_type_of_the_keys():
    d = Dict.empty(types.int32, types.int64)
    d[1] = 5

    def looks(d, k):
        return k in d, d.get(k, -1), d.pop(k, -1)

    def stores(d, k):
        d[k] = 9

    wide = 2**32 + 1
    assert lw.njit(looks)(d, wide) == (False, -1, -1) and len(d) == 1
    assert wide not in d and d.get(wide) is None
    with pytest.raises(OverflowError, match="does not fit the type of the keys"):
        lw.njit(stores)(d, wide)
    with pytest.raises(OverflowError):
        d[wide] = 9
    u = Dict.empty(types.uint64, types.int64)
    u[2**64 - 1] = 1
    assert not lw.njit(lambda d, k: k in d)(u, -1) and -1 not in u
    assert dict(d) == {1: 5}


def test_words_are_those_of_the_header():
    """lanewise/_typed_containers.py counts cells as core/ir/cell_words.h does."""
    text = (pathlib.Path(__file__).parents[2] / "core/ir/cell_words.h").read_text()
    of_header = {name: int(value) for name, value in re.findall(r"(LW_CELL\w+) = (\d+)", text)}
    assert of_header["LW_CELLS_BEGIN"] == _typed_containers.LIST_ITEMS == _typed_containers.HASHES
    assert of_header["LW_CELL_WORDS"] == _typed_containers.CELL
    most = max(_typed_containers.LIST_ITEMS, _typed_containers.DICT_KEYS) + _typed_containers.MOST_CELLS * _typed_containers.CELL
    assert most <= _typed_containers.WORDS
