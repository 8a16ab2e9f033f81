"""Items of dicts from outside whose keys are known only at run time: strings, numbers, members of enum classes and tuples of these. Results
are CPython's, and changes of the dict are seen by the next call."""

from __future__ import annotations

import enum

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors, njit

FACTORS = {"low": 1.0, "mid": 2.0, "high": 3.5}
NAMES = {1: "one", 2: "two", -30: "thirty below"}
MIXED = {("a", 1): 10, ("a", 2): 20, ("b", 1): 30}
LARGE = {i * i: float(i) for i in range(64)}
HALVES = {0.5: 1, 1.5: 2}


class Color(enum.Enum):
    RED = 1
    BLUE = 2


PARTS = {Color.RED: (1.0, "r"), Color.BLUE: (2.0, "b")}


def level(x):
    return "low" if x < 0 else "mid" if x < 1 else "high" if x < 5 else "none"


def item(x):
    return FACTORS[level(x)]


def got(x):
    mode = level(x)
    return FACTORS.get(mode, -1.0), FACTORS.get(mode), mode in FACTORS, mode not in FACTORS, FACTORS["mid"], FACTORS.get("zz", 5.0)


def by_int(x):
    i = int(x)
    return NAMES.get(i, "many"), i in NAMES, LARGE.get(i, -1.0), i in LARGE


def by_float(x):
    return HALVES.get(x, 0), x in HALVES


def by_tuple(x):
    key = "a" if x < 1 else "b", int(x)
    return MIXED.get(key, 0), key in MIXED


def by_member(x):
    return PARTS[Color.RED if x > 0 else Color.BLUE]


def by_parameter(x, mode="high"):
    return x * FACTORS[mode]


@pytest.mark.parametrize("function", [item, got, by_int, by_float, by_tuple, by_member, by_parameter])
def test_items_are_those_of_python(function):
    compiled = njit(function)
    for x in (-30.0, -3.0, 0.0, 0.5, 1.0, 1.5, 2.0, 4.0, 3969.0, 16.0):
        try:
            wanted = function(x)
        except KeyError:
            wanted = KeyError
        if wanted is KeyError:
            with pytest.raises(KeyError):
                compiled(x)
        else:
            assert compiled(x) == wanted, x


def test_a_missing_key_is_named():
    with pytest.raises(KeyError, match=r"'none' \(raised in `item` at .*test_dict_items.py"):
        njit(item)(9.0)
    with pytest.raises(KeyError, match="no such key"):
        njit(lambda x: MIXED["a", int(x)])(7.0)


def test_all_decorators():
    x, wanted = np.array([-1.0, 0.5, 2.0, 0.0]), np.array([1.0, 2.0, 3.5, 2.0])
    assert np.array_equal(lw.vectorize(item)(x), wanted)
    assert lw.reduce(lambda a, b: a + b, map=item)(x) == wanted.sum()

    @cuda.jit(target="cpu")
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = FACTORS[level(x[i])]

    out = np.zeros(4)
    kernel[1, 8](x, out)
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
def test_code_for_gpus(target):
    try:
        assert len(lw.compile(item, "(f4)", target=target, output="cubin")) > 1000
    except errors.CompilerNotFound as problem:
        pytest.skip(str(problem).splitlines()[0])


def test_changes_of_the_dict_are_seen():
    table = {"low": 1.0, "high": 2.0}

    @njit
    def f(x):
        return table["low" if x < 0 else "high" if x < 5 else "more"]

    @njit
    def has(x):
        return ("low" if x < 0 else "more") in table

    assert (f(-1.0), f(1.0), has(-1.0), has(1.0)) == (1.0, 2.0, True, False)
    table["high"] = 20.0
    assert (f(-1.0), f(1.0)) == (1.0, 20.0)
    with pytest.raises(KeyError):
        f(9.0)
    table["more"] = 30.0
    assert f(9.0) == 30.0 and has(1.0)
    del table["low"]
    assert not has(-1.0)
    with pytest.raises(KeyError):
        f(-1.0)


def test_what_is_refused():
    functions = {"low": abs, "high": round}
    long = {i: i for i in range(65)}
    mixed = {"low": 1.0, "high": "text"}
    for function, text in ((lambda x: functions[level(x)](x), "E104(?s:.)*constant keys only"), (lambda x: long[int(x)], "E104(?s:.)*constant keys only"),
                           (lambda x: mixed[level(x)], "E124|E140")):
        with pytest.raises(errors.TypingError, match=text):
            njit(function)(1.0)


# ---- loops over dicts ----

PRICES = {"low": 1, "high": 2, "mid": 5}
BY_NUMBER = {1: 2.5, 3: 4.5}
PAIRS = {"x": (1, 2), "y": (3, 4)}


def looped(n):
    total = 0
    for name in PRICES:
        total += PRICES[name] * n
    for name, price in PRICES.items():
        if name == "high":
            total += 100 * price
    for i, (key, value) in enumerate(BY_NUMBER.items()):
        total += i * key
    for key, value in zip(BY_NUMBER, BY_NUMBER.values()):
        if value > n:
            break
    else:
        key = -1
    return total, key


def counted(n):
    return len(PRICES), sum(BY_NUMBER), max(BY_NUMBER.values()), sorted(BY_NUMBER), list(BY_NUMBER.values()), [v + n for v in BY_NUMBER.values()], sum(k * n for k in BY_NUMBER.keys()), max(PRICES, key=lambda k: PRICES[k])


def named(n):
    for name, pair in PAIRS.items():
        if pair[0] == n:
            return name
    return "none"


@pytest.mark.parametrize("function", [looped, counted, named])
def test_loops_over_dicts(function):
    f = lw.njit(function)
    for n in (1, 3, 9):
        assert f(n) == function(n)


def test_loops_over_dicts_that_change():
    table = {1: 2}

    @lw.njit
    def total():
        s = 0
        for k, v in table.items():
            s += k * v
        return s, len(table)

    assert total() == (2, 1)
    table[5] = 10
    assert total() == (52, 2)


MANY = {i: i for i in range(65)}


def over_many(n):
    for k in MANY:
        n += k
    return n


def test_messages_of_dicts():
    with pytest.raises(KeyError, match="'absent' .*test_dict_items.py"):
        lw.njit(lambda k: PRICES[k if k == "low" else "absent"])("high")
    with pytest.raises(lw.errors.TypingError, match="must be one of its keys"):
        lw.njit(lambda n: PRICES["absent"])(1)
    with pytest.raises(lw.errors.TypingError, match="a for loop needs .*(?s:.*)if it has 1 to 64 items"):
        lw.njit(over_many)(1)
    with pytest.raises(lw.errors.TypingError, match="is a constant: `D"):
        lw.njit(lambda n: PRICES.pop("low"))(1)
