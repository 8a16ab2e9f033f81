"""Calls on one small array, which go to the loops without the machinery of other calls: the same bits, types and errors as those."""

from __future__ import annotations

import itertools
import timeit

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions

RNG = np.random.default_rng(3)
MADE = {
    "sum": lw.reduce(lambda a, b: a + b),
    "prod": lw.reduce(lambda a, b: a * b, identity=1),
    "max": lw.reduce(lambda a, b: max(a, b)),
    "last": lw.reduce(lambda a, b: b),
    "mean": lw.reduce(map=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), finish=lambda s, n: s / n),
    "argmax": reductions._argmax,
    "any": reductions._any,
    "pair": lw.reduce(map=lambda x: (x, x * x), combine=lambda a, b: (a[0] + b[0], a[1] + b[1])),
    "raises": lw.reduce(map=lambda x: 1 / x if x < 50 else x, combine=lambda a, b: a + b),
}
WIDE = np.array([[0.1, -0.0, np.nan], [np.inf, 3.0, -2.5]])
ARRAYS = {
    "0-d": np.array(2.5),
    "one": np.array([7], np.int8),
    "16": RNG.random(16, np.float32),
    "1000": RNG.random(1000),
    "8192": RNG.random(8192, np.float32),
    "8193": RNG.random(8193, np.float32),
    "special": WIDE,
    "zeros": -np.zeros(5),
    "bool": RNG.random(33) > 0.5,
    "integers": RNG.integers(1, 100, (5, 9), np.int16),
    "half": RNG.random(77).astype(np.float16),
    "transposed": RNG.random((7, 30)).T,
    "three": RNG.random((4, 1, 6)),
    "four": RNG.random((2, 3, 4, 5), np.float32).transpose(2, 0, 3, 1),
    "five": RNG.random((2, 3, 2, 2, 2)),
    "reversed": RNG.random(40)[::-1],
    "apart": RNG.random((20, 20))[::3, 1::2],
    "repeated": np.broadcast_to(RNG.random(6), (5, 6)),
    "swapped": RNG.random(9).astype(">f8"),
    "misaligned": np.frombuffer(RNG.random(9).tobytes() + b"1234567", np.uint8)[4:].copy()[3:67].view(np.float64),
    "read only": np.frombuffer(RNG.random(9).tobytes(), np.float64),
}


SEVERAL = (0,), (0, -1), (-1, 0), (0, 0), (0, 9), (), (np.int64(0),), (True,), (0, None), (2**80,), (1, 2), [0]


def same(got, want):
    assert type(got) is type(want)
    if isinstance(got, tuple):
        return [same(*both) for both in zip(got, want)]
    assert got.dtype == want.dtype and np.shape(got) == np.shape(want)
    assert np.asarray(got).tobytes() == np.asarray(want).tobytes()


@pytest.mark.parametrize("name, array", list(itertools.product(MADE, ARRAYS)))
def test_bits_are_those_of_other_calls(name, array):
    made, x = MADE[name], ARRAYS[array]
    several = [axes for n in range(x.ndim + 1) for axes in itertools.permutations(range(x.ndim), n)][:40]
    for axis in (None, *range(-x.ndim, x.ndim), *several, *[tuple(one - x.ndim for one in axes) for axes in several[-3:]]):
        try:
            want = made(x, axis=axis, stream=0)  # stream= takes the usual way
        except (lw.errors.CompileError, ZeroDivisionError) as error:
            with pytest.raises(type(error)):
                made(x, axis=axis)
            continue
        same(made(x, axis=axis), want)
        same(made(x, axis=axis, where=True, keepdims=False, initial=...), want)
        if axis is None:
            same(made(x), want)


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "all", "argmax", "argmin", "mean", "var", "nanmax", "nanmean", "nanargmax", "nanargmin"])
@pytest.mark.parametrize("array", [*ARRAYS, "empty", "complex", "complex rows", "nan", "nan row", "masked", "subclass", "times", "list"])
def test_functions_are_numpys(name, array):
    others = {"empty": np.ones((0, 3)), "complex": np.array([1j, 2.0]), "complex rows": np.array([[1j, 2.0, 2], [3, np.nan, 3 + 1j]]),
              "nan": np.full(3, np.nan), "nan row": np.array([[np.nan, 1.0], [np.nan, np.nan]]), "list": [3.0, 1.0], "subclass": np.ones(3).view(np.matrix),
              "masked": np.ma.array([1.0, 2.0], mask=[0, 1]), "times": np.array([3, 5], "m8[s]")}
    x = ARRAYS.get(array, others.get(array))
    mine = getattr(reductions, name)
    for given in {}, {"axis": 0}, {"axis": -1}, {"axis": 9}, {"axis": True}, *[{"axis": one} for one in SEVERAL]:
        if np.ndim(x) == 0 and given:
            continue
        try:
            want = mine(x, **given, out=None)  # out= takes the usual way
        except Exception as error:
            with pytest.raises(type(error)) as info:
                mine(x, **given)
            assert str(info.value) == str(error)
        else:
            same(mine(x, **given), want)


@pytest.mark.parametrize("name, array", list(itertools.product(MADE, ARRAYS)))
def test_bits_of_scans_are_those_of_other_calls(name, array):
    made, x = MADE[name], ARRAYS[array]
    for given in {}, *({"axis": axis} for axis in (None, *range(-x.ndim - 1, x.ndim + 1))):
        try:
            want = made.accumulate(x, **given, exclusive=False)  # exclusive= takes the usual way
        except (lw.errors.CompileError, ZeroDivisionError, TypeError, ValueError) as error:
            with pytest.raises(type(error)) as info:
                made.accumulate(x, **given)
            assert str(info.value) == str(error)
            continue
        got = made.accumulate(x, **given)
        same(got, want)
        assert isinstance(got, tuple) or got.strides == want.strides


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum", "running_maximum"])
@pytest.mark.parametrize("array", [*ARRAYS, "empty", "subclass", "list"])
def test_scans_are_numpys(name, array):
    x = ARRAYS.get(array, {"empty": np.ones(0), "list": [3.0, 1.0], "subclass": np.ones(3).view(np.matrix)}.get(array))
    mine = getattr(reductions, name)
    if name == "running_maximum" and np.ndim(x) == 0:
        return
    want = mine(x, **({} if name == "running_maximum" else {"out": None}))  # out= takes the usual way
    same(mine(x), want)


def test_flags():
    x, total, product = np.full(3, 3e38, np.float32), MADE["sum"], MADE["prod"]
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="overflow encountered in reduce"):
            assert total(x) == np.inf
        with pytest.warns(RuntimeWarning, match="overflow encountered in accumulate"):
            assert product.accumulate(x).tolist() == [x[0], np.inf, np.inf]
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        total(x)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        product.accumulate(x)


def test_dtype_and_time():
    x = np.array([100, 100], np.int8)
    same(MADE["sum"](x, dtype=np.dtype(np.float32)), MADE["sum"](x, dtype=np.float32))
    with pytest.warns(np.exceptions.ComplexWarning):
        assert MADE["sum"](np.array([1 + 2j]), dtype=np.dtype(np.float64)) == 1.0


def test_captured_values_may_change():
    global factor
    factor = 2.0
    scaled = lw.reduce(lambda a, b: a + b, map=lambda x: x * factor)
    x = np.ones(5)
    assert scaled(x) == scaled(x) == 10.0
    factor = 3.0
    assert scaled(x) == 15.0


def test_places_of_complex_numbers_and_beside_nan_are_short():
    c, x = np.array([1j, 3, 2]), np.array([[1.0, np.nan], [2.0, 3.0]])
    for short, usual in ((lambda: reductions.argmax(c), lambda: reductions.argmax(c, out=None)), (lambda: reductions.nanargmin(x, axis=1), lambda: reductions.nanargmin(x, axis=1, out=None))):
        assert min(timeit.repeat(short, number=200, repeat=20)) < 0.5 * min(timeit.repeat(usual, number=200, repeat=20))


def test_keywords_of_reductions_are_none_of_scans():
    x, total = np.ones(3), MADE["sum"]
    for given in ({"where": True}, {"keepdims": False}, {"initial": ..., "colour": 1}):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{[*given][-1]}'"):
            total.accumulate(x, **given)
    with pytest.raises(ValueError, match="identity"):
        MADE["max"](x, where=False)
    with pytest.raises(TypeError, match="keepdims"):
        MADE["max"](x, keepdims=None)


def test_small_calls_are_short():
    x, total = np.ones(16, np.float32), MADE["sum"]
    y = x.reshape(4, 2, 2)
    pairs = (lambda: total(x), lambda: total(x, stream=0)), (lambda: total(x, where=True, keepdims=False), lambda: total(x, stream=0)), (lambda: total(y, axis=(0, 1)), lambda: total(y, axis=(0, 1), stream=0)), (lambda: total.accumulate(x), lambda: total.accumulate(x, exclusive=False))
    for pair in pairs:
        best = [1.0, 1.0]
        for _ in range(40):
            for i, call in enumerate(pair):
                best[i] = min(best[i], timeit.timeit(call, number=200))
        assert best[0] < 0.75 * best[1]
