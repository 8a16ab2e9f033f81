"""Typed lists and dicts in plain Python: C code converts items, hashes keys and keeps the tables that compiled functions share."""

import pathlib
import random
import re
import subprocess
import sys

import numpy as np
import pytest

import lanewise as lw
from lanewise import _core, _typed_containers, njit, types
from lanewise.typed import Dict, List

needs_failing_memory = pytest.mark.skipif(not hasattr(_core, "_memory_fail_at"), reason="this build cannot make allocations fail")

NUMBERS = {
    types.bool_: [False, True],
    types.int8: [-128, 0, 5, 127],
    types.uint16: [0, 7, 65535],
    types.int64: [-(2**63), -1, 0, 2**63 - 1],
    types.uint64: [0, 5, 2**64 - 1],
    types.float16: [0.0, -0.5, float("inf")],
    types.float32: [0.1, -2.5, float("-inf"), 1e30],
    types.float64: [0.0, 0.1, -1e300],
    types.complex64: [1j, 2.0 - 0.5j, 3.0],
    types.complex128: [0j, 1 + 0.1j, -2.5],
}
KEYS = NUMBERS | {
    types.unicode_type: ["", "a", "bee", "ö"],
    types.Tuple((types.int64, types.unicode_type)): [(1, "a"), (1, "b"), (2, "a")],
    types.Tuple((types.float32, types.UniTuple(types.uint8, 2), types.complex64)): [(0.5, (1, 2), 1j), (0.5, (2, 1), 1j), (-0.0, (0, 0), 0j)],
}


def test_nothing_is_compiled():
    program = """
import sys
import numpy as np
import lanewise as lw
from lanewise.typed import Dict, List
x = List([(1, "a", 2.5)])
x.append((2, "b", 3))
x.insert(0, x.pop())
x[0] = x[-1]
x[1:] = [*x]
x.reverse()
d = Dict({"a": List([np.ones(2)])})
d["b"] = d["a"]
for i in range(100):
    d[str(i)] = List([np.ones(i)])
assert d.pop("b")[0].sum() == 2 and len(d) == 101 == len(dict(d)) and x == [(1, "a", 2.5)] * 3 and "llvmlite" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("key_type", KEYS, ids=str)
def test_both_sides_find_the_keys_of_the_other(key_type):
    source = List.empty_list(key_type)

    @njit
    def fill(d, x):
        for i in range(len(x)):
            d[x[i]] = i

    @njit
    def places(d, x):
        return [d[k] for k in x]

    for key in KEYS[key_type]:
        source.append(key)
    by_python, by_code = Dict.empty(key_type, types.int64), Dict.empty(key_type, types.int64)
    fill(by_code, source)
    for i, key in enumerate(source):
        by_python[key] = i
    wanted = [*range(len(source))]
    assert places(by_python, source) == wanted == [by_code[key] for key in source] and by_python == by_code
    assert [*by_code] == [*source] == [*by_python.keys()] and [*by_code.values()] == wanted and [*by_python.items()] == [*zip(source, wanted)]
    assert all(key in by_code and by_code.pop(key) == i for i, key in enumerate(KEYS[key_type])) and len(by_code) == 0


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_numbers_are_converted_as_numpy_converts_them(dtype):
    given = [0, 1, -1, 127, 128, 300, 2**24 + 1, 2**53 + 1, -(2**62), 2**64 - 1, 2**70, 0.1, 1e39, -0.0, float("nan"), 1e-46, True, 2j, 0.1 + 1e30j]
    given += [np.int8(-3), np.uint64(2**63), np.float32(0.1), np.float64(7e4), np.complex64(1j), np.bool_(True)]
    kind = np.dtype(dtype.dtype).kind
    for x in given:
        is_kept = isinstance(x, (bool, np.bool_)) or (isinstance(x, (int, np.integer)) and kind != "b") or (isinstance(x, (float, np.floating)) and kind in "fc") or kind == "c"
        made = List.empty_list(dtype)
        with np.errstate(all="ignore"):
            try:
                wanted = np.dtype(dtype.dtype).type(x).item() if is_kept else TypeError
            except OverflowError:
                wanted = OverflowError
            if wanted in (TypeError, OverflowError):
                with pytest.raises(wanted):
                    made.append(x)
                assert len(made) == 0
            else:
                made.append(x)
                assert repr([*made]) == repr([wanted]) and type(made[0]) is type(wanted), x


def test_durations():
    x = List([np.timedelta64(1, "s")])
    x.append(np.timedelta64(2, "m"))
    assert x == [np.timedelta64(1, "s"), np.timedelta64(120, "s")] and type(x[0]) is np.timedelta64
    d = Dict({np.timedelta64(3, "s"): 1})
    assert njit(lambda d, k: k in d)(d, np.timedelta64(3, "s")) and np.timedelta64(4, "s") not in d


@pytest.mark.parametrize("x", [np.longdouble(1), np.clongdouble(1), np.datetime64("2020-01-01")])
def test_numbers_that_compiled_code_does_not_have(x):
    with pytest.raises(TypeError, match="items of a typed list must be numbers"):
        List([x])
    with pytest.raises(TypeError, match="item_type must be the type"):
        List.empty_list(type(x))


def test_an_extension_adds_all_items_or_none():
    x, arrays = List([1]), List([np.ones(2)])
    before = sys.getrefcount(arrays)
    for bad in ([2, 3, "a"], [2, 1.5], iter([4, None])):
        with pytest.raises(TypeError, match="items of this list are of the type int64"):
            x.extend(bad)
    v = np.zeros(3)
    held = sys.getrefcount(v)
    with pytest.raises(TypeError, match="items of this list are of the type"):
        arrays.extend([v, v, np.zeros(3, np.int32)])
    assert x == [1] and len(arrays) == 1 and sys.getrefcount(v) == held and sys.getrefcount(arrays) == before
    x.extend(x)
    x.extend(n + 5 for n in x)
    assert x == [1, 1, 6, 6]


def test_loops_in_python_over_what_changes():
    x = List([0])
    for n in x:
        if n < 3:
            x.append(n + 1)
    assert x == [0, 1, 2, 3]
    steps = iter(x)
    assert [*steps] == x
    x.append(4)
    assert [*steps] == []  # as Python's, it has ended
    for over in (lambda d: d, lambda d: d.keys(), lambda d: d.values(), lambda d: d.items()):
        d = Dict({1: 1, 2: 2})
        with pytest.raises(RuntimeError, match="dictionary changed size during iteration"):
            for _ in over(d):
                d[len(d) + 10] = 1


@pytest.mark.parametrize("f, error, text", [
    (lambda x: x[3], IndexError, "list index out of range"),
    (lambda x: x[-4], IndexError, "list index out of range"),
    (lambda x: x.__setitem__(3, 1), IndexError, "list assignment index out of range"),
    (lambda x: x.__delitem__(-4), IndexError, "list assignment index out of range"),
    (lambda x: x.pop(3), IndexError, "pop index out of range"),
    (lambda x: x[:0].pop(), IndexError, "pop from empty list"),
    (lambda x: x["a"], TypeError, "cannot be interpreted as an integer"),
    (lambda x: x.insert(None, 1), TypeError, "cannot be interpreted as an integer"),
    (lambda x: x.remove(9), ValueError, "x not in list"),
    (lambda x: x.append(None), TypeError, "items of this list are of the type int64, not 'NoneType': None"),
    (lambda x: _core.ListCells().append(1), RuntimeError, "has no memory"),
    (lambda x: len(_core.DictCells()), RuntimeError, "has no memory"),
])
def test_errors(f, error, text):
    with pytest.raises(error, match=text):
        f(List([1, 2, 3]))


def test_missing_keys():
    d = Dict({(1, "a"): 2})
    for f in (lambda: d[1, "b"], lambda: d.pop((1, "b")), lambda: d.__delitem__((1, "b"))):
        with pytest.raises(KeyError) as caught:
            f()
        assert caught.value.args == ((1, "b"),)
    assert d.pop((2, "c"), None) is None and d.get((1, "b"), 5) == 5 and d.get(default=7, key=(1, "a")) == 2
    with pytest.raises(TypeError, match="keys of this dict are of the type Tuple"):
        (1, 2, 3) in d


@pytest.mark.parametrize("f, n", [
    (lambda x: x.pop(0), 2), (lambda x: x.clear(), 2), (lambda x: x.__setitem__(0, np.zeros(1)), 3), (lambda x: x.__delitem__(0), 2), (lambda x: x.__delitem__(slice(0, 2)), 2)])
def test_code_that_runs_at_the_end_of_an_array_finds_a_whole_container(f, n):
    class Watched(np.ndarray):
        def __del__(self):
            if watches:
                sums.append([a.sum() for a in x])
                x.append(np.full(2, 7.0))

    watches, sums = True, []
    x = List([np.zeros(2)])
    x.clear()
    for _ in range(2):
        x.append(np.ones(3).view(Watched))
    f(x)
    assert sums and all(len(one) <= 3 for one in sums) and len(x) == n == len([*x])
    watches = False


@needs_failing_memory
@pytest.mark.parametrize("make, work", [
    (lambda: List([np.ones(1)] * 8), lambda x: x.append(np.ones(2))),
    (lambda: List([1.5] * 8), lambda x: x.insert(3, 2)),
    (lambda: List([np.ones(1)] * 8), lambda x: x.insert(0, np.ones(2))),
    (lambda: Dict((i, (i, "a")) for i in range(6)), lambda d: d.__setitem__(7, (1, "b"))),
    (lambda: Dict((str(i), np.ones(1)) for i in range(5)), lambda d: d.__setitem__("new", np.ones(2))),
    (lambda: Dict((i, i) for i in range(5)), lambda d: d.clear()),
])
def test_memory_may_fail(make, work):
    failures = 0
    for n in range(12):
        x = make()
        before = str(x)
        _core._memory_fail_at(n)
        try:
            work(x)
            failed = False
        except MemoryError:
            failed = True
        finally:
            _core._memory_fail_at(-1)
        assert (str(x) == before) == failed
        failures += failed
    assert 0 < failures < 12


def test_random_slices():
    draw = random.Random(1)
    plain, typed = [*range(20)], List(range(20))
    for _ in range(200):
        cut = slice(*(draw.choice([None, *range(-25, 26)]) for _ in range(2)), draw.choice([None, 1, 2, -1, -3]))
        assert typed[cut] == plain[cut] and type(typed[cut]) is List
        if cut.step in (None, 1):
            new = [draw.randint(0, 9) for _ in range(draw.randint(0, 4))]
            typed[cut] = new
            plain[cut] = new
        else:
            del typed[cut], plain[cut]
            typed.extend(range(5))
            plain.extend(range(5))
        assert typed == plain and [*reversed(typed)] == plain[::-1]


def test_nested_containers_are_compared_by_their_types():
    x = List.empty_list(types.ListType(types.int64))
    x.append(List([1]))
    x.append(List.empty_list(types.int64))
    for other in (List([1.5]), Dict({1: 1}), [1], List.empty_list(types.int32)):
        with pytest.raises(TypeError, match=r"items of this list are of the type ListType\[int64\]"):
            x.append(other)
    assert x == [[1], []] and x[0] is x[0]


def test_layout_is_that_of_the_compiled_classes():
    text = (pathlib.Path(__file__).parents[2] / "core/ir/cell_words.h").read_text()
    of_header = {name: int(value) for name, value in re.findall(r"LW_TYPED_(\w+) = (-?\d+)", text)}
    of_module = {"WORDS": _typed_containers.WORDS, "N": _typed_containers.N, "USED": _typed_containers.USED, "FILLED": _typed_containers.FILLED}
    of_module |= {"ITEMS": _typed_containers.LIST_ITEMS, "HASHES": _typed_containers.HASHES, "PLACES": _typed_containers.PLACES}
    assert of_header == of_module | {"KEYS": _typed_containers.DICT_KEYS, "DELETED": lw._growing_dicts.DELETED}


def test_types_of_containers():
    x = List([(1, "a", np.ones((2, 2)))])
    d = Dict({1: List([2.5])})
    assert lw.typeof(x) == x._numba_type_ == types.ListType(types.Tuple((types.int64, types.unicode_type, types.float64[:, ::1])))
    assert lw.typeof(d) == types.DictType(types.int64, types.ListType(types.float64)) and d._numba_type_.value_type.item_type == types.float64
    for none in (List(), Dict()):
        with pytest.raises(TypeError, match="nobody knows yet"):
            lw.typeof(none)
    copy = List.empty_list(lw.typeof(d))
    copy.append(d)
    assert copy[0] is d


def test_order_of_lists():
    x, y = List([1, 2, 3]), List([1, 3])
    for a, b in ((x, y), (x, [1, 3]), ([1, 2, 3], y), (x, x[:])):
        plain = [*a], [*b]
        assert (a < b, a <= b, a > b, a >= b) == (plain[0] < plain[1], plain[0] <= plain[1], plain[0] > plain[1], plain[0] >= plain[1])
    with pytest.raises(TypeError, match="not supported between instances"):
        x < (1, 2)


def test_a_first_item_that_changes_the_list_decides_nothing():
    x = List()

    class Late(tuple):
        def __len__(self):
            if len(x) == 0:
                x.append(7)
            return 1

    with pytest.raises(TypeError):
        x.append(Late((1.5,)))
    assert x == [7]


def test_init_is_called_once():
    x = List([1, 2, 3])

    class Index(int):
        def __index__(self):
            x.__init__([1.5] * 3)
            return 7

        __int__ = __index__

    with pytest.raises(RuntimeError, match="can be called once"):
        x.__init__([4])
    assert x == [1, 2, 3]
    try:
        x[1] = Index(5)
    except RuntimeError:
        pass
    assert x[0] == 1 and x[2] == 3


def test_no_mask_is_lost():
    m = np.ma.array([1.0, 2, 3], mask=[0, 1, 0])
    x = List([np.ones(2)])
    for call in (lambda: List([m]), lambda: x.append(m), lambda: x.__setitem__(0, m), lambda: Dict({1: m})):
        with pytest.raises(TypeError, match="have no masks"):
            call()


def test_a_first_item_that_is_refused_decides_nothing():
    x, d = List(), Dict()
    with pytest.raises(OverflowError):
        x.append(2**64)
    with pytest.raises(OverflowError):
        d[1] = 2**64
    x.append(1)
    d[1] = 1
    assert x == [1] and d == {1: 1}
