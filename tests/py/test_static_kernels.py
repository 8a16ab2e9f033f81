"""static= of forall and jit: values that are compiled in, and part of the key of a specialisation."""

from __future__ import annotations

import enum
import pickle

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda


class Mode(enum.IntEnum):
    ADD = 1
    MULTIPLY = 2


def horner(i, coefficients, x, out):
    total = 0.0
    for c in coefficients:
        total = total * x[i] + c
    out[i] = total


def kernel(x, mode, out):
    i = cuda.grid(1)
    if i < x.size:
        if mode == "double":
            out[i] = 2 * x[i]
        elif mode is None:
            out[i] = x[i]
        else:
            out[i] = x[i] ** mode


@pytest.fixture
def place(target):
    return cuda.to_device if target == "cuda" else np.asarray


def numbers(array):
    return np.asarray(array.copy_to_host() if hasattr(array, "copy_to_host") else array)


@pytest.mark.parametrize("names", ["coefficients", 1, ("coefficients",), ["coefficients"], {"coefficients"}])
def test_forall(names, place):
    f = lw.forall(static=names)(horner)
    x = np.arange(5.0)
    for coefficients in ((1.0,), (1.0, 2.0), (3, 2, 1), (np.float32(0.1), 1.0)):
        out = place(np.zeros(5))
        for _ in range(2):
            f(5, coefficients, place(x), out)
            assert np.array_equal(numbers(out), np.polyval([float(c) for c in coefficients], x))
    assert f.stats["specialisations"] == 4


def test_jit(place):
    k = lw.jit(static="mode")(kernel)
    x = np.arange(6.0)
    for mode, wanted in (("double", 2 * x), (None, x), (2, x**2), (3, x**3), ("double", 2 * x)):
        out = place(np.zeros(6))
        k[1, 32](place(x), mode, out)
        assert np.array_equal(numbers(out), wanted)
        k[1, 32](place(x), out=out, mode=mode)
        assert np.array_equal(numbers(out), wanted)


def test_numbas_spelling(place):
    k = cuda.jit(static="mode")(kernel)
    out = place(np.zeros(3))
    k[1, 32](place(np.arange(3.0)), 2, out)
    assert numbers(out).tolist() == [0, 1, 4]


def test_functions_that_give_a_value():
    @lw.jit(static="power")
    def raised(x, power):
        return x**power

    assert raised(3, 2) == 9 and raised(3, 4) == 81 and raised(2.0, 0) == 1.0


def test_equal_values_are_told_apart_by_type(place):
    seen = []

    @lw.forall(static="value")
    def put(i, value, out):
        out[i] = 1 / value

    for value in (1, 1.0, True, np.int8(1), np.float32(1.0), 0.5):
        out = place(np.zeros(2))
        put(2, value, out)
        seen.append(numbers(out)[0])
    assert seen == [1, 1, 1, 1, 1, 2]
    assert len(put.signatures) == 6 and "value=0.5" in put.signatures[-1] + put.signatures[0]


def test_minus_zero(place):
    @lw.forall(static="value")
    def sign(i, value, out):
        out[i] = np.copysign(1.0, value)

    for value in (0.0, -0.0, 0.0):
        out = place(np.zeros(1))
        sign(1, value, out)
        assert numbers(out)[0] == np.copysign(1.0, value)


def test_functions_types_and_members(place):
    def twice(x):
        return x * 2

    @lw.forall(static=("f", "dtype", "mode"))
    def each(i, x, f, dtype, mode, out):
        y = dtype(f(x[i]))
        out[i] = y + 1 if mode == Mode.ADD else y * 3

    for f, dtype, mode, wanted in ((twice, np.int64, Mode.ADD, 5.0), (np.sqrt, np.float64, Mode.MULTIPLY, 3 * np.sqrt(2.5)), (twice, lw.float32, Mode.MULTIPLY, 15.0)):
        out = place(np.zeros(1))
        each(1, place(np.full(1, 2.5)), f, dtype, mode, out)
        assert numbers(out)[0] == pytest.approx(wanted if dtype is not np.int64 else 6.0, rel=1e-6)


def test_defaults(place):
    @lw.forall(static="n")
    def fill(i, out, n=3):
        out[i] = n

    for arguments, wanted in (((), 3), ((5,), 5), ((3,), 3)):
        out = place(np.zeros(2))
        fill(2, out, *arguments)
        assert numbers(out).tolist() == [wanted] * 2
    out = place(np.zeros(2))
    fill(2, out, n=7)
    assert numbers(out).tolist() == [7, 7]


def test_globals_still_count(place):
    global SCALE

    @lw.forall(static="n")
    def fill(i, out, n):
        out[i] = n * SCALE

    for SCALE in (2, 10, 2):
        for n in (1, 4):
            out = place(np.zeros(1))
            fill(1, out, n)
            assert numbers(out)[0] == n * SCALE


def test_bound_calls(place):
    f = lw.forall(static="coefficients")(horner)
    x, out = place(np.arange(3.0)), place(np.zeros(3))
    first, second = f.bind(3, (1.0, 0.0), x, out), f.bind(3, (1.0, 1.0), x, out)
    for call, wanted in ((first, [0, 1, 2]), (second, [1, 2, 3]), (first, [0, 1, 2])):
        call()
        assert numbers(out).tolist() == wanted


def test_pickling():
    f = pickle.loads(pickle.dumps(static_filled))
    out = np.zeros(2)
    f(2, out, 4)
    assert out.tolist() == [4, 4]


@lw.forall(static="n")
def static_filled(i, out, n):
    out[i] = n


def test_unrolled_and_inspected():
    f = lw.forall(static="coefficients")(horner)
    f(2, (1.0, 2.0), np.ones(2), np.zeros(2))
    assert "coefficients=(1.0, 2.0)" in f.signatures[0]
    (text,) = f.inspect_types().values() if isinstance(f.inspect_types(), dict) else (f.inspect_types(),)
    assert "coefficients" in text


@pytest.mark.parametrize("call, error, text", [
    (lambda: lw.forall(static="nothing")(horner), ValueError, "static= names 'nothing', which is not a parameter of `horner`"),
    (lambda: lw.forall(static=7)(horner), ValueError, "static= names 7, which is not a parameter"),
    (lambda: lw.forall(static="i")(horner), ValueError, "static= names 'i', which is the index of `horner`"),
    (lambda: lw.forall(static=("x", "x"))(horner), ValueError, "static= names 'x', which it names already"),
    (lambda: lw.forall(static=3.5)(horner), TypeError, "static= must be"),
    (lambda: lw.forall("void(f8[:], f8[:])", static="coefficients")(horner), TypeError, "leave out static= or the signatures"),
    (lambda: lw.forall(static="coefficients")(horner)(2, [1.0], np.ones(2), np.ones(2)), TypeError, "static argument `coefficients` must be hashable.*not list; make it a tuple"),
    (lambda: lw.forall(static="coefficients")(horner)(2, np.ones(2), np.ones(2), np.ones(2)), TypeError, "static argument `coefficients` must be hashable"),
    (lambda: lw.forall(static="coefficients")(horner)(2, object(), np.ones(2), np.ones(2)), TypeError, "static argument `coefficients` must be a constant"),
    (lambda: lw.forall(static="coefficients")(horner)(2), TypeError, "missing a required argument: 'coefficients'"),
    (lambda: lw.reduce(lambda a, b: a + b, static="a"), lw.errors.UnsupportedError, "reduce does not accept static="),
])
def test_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


FACTOR = 2


def scaled(x):
    return x * FACTOR


def test_globals_of_a_static_function(place):
    global FACTOR

    @lw.forall(static="f")
    def each(i, f, out):
        out[i] = f(3.0)

    for FACTOR in (2, 5, 2):
        out = place(np.zeros(1))
        each(1, scaled, out)
        assert numbers(out)[0] == 3.0 * FACTOR


def test_many_arguments():
    names = [f"p{k}" for k in range(100)]
    source = f"def many(i, s, {', '.join(names)}, out):\n    out[i] = s + {' + '.join(names)}\n"
    space = {}
    exec(source, space)
    f = lw.forall(static="s", source=source)(space["many"])
    out = np.zeros(1)
    f(1, 5, *range(100), out)
    assert out[0] == 5 + sum(range(100))
    with pytest.raises(ValueError, match="only the first 64 parameters of a kernel may be static"):
        lw.forall(static="p90", source=source)(space["many"])


def test_arrays_are_not_static():
    with pytest.raises(TypeError, match="static argument `coefficients` must be hashable .*; arrays are arguments that are not static"):
        lw.forall(static="coefficients")(horner)(2, np.ones(2), np.ones(2), np.ones(2))
