"""Errors of functions that are named like a ufunc of NumPy, and of operands that are no numbers."""

import enum

import numpy as np
import pytest

import lanewise as lw


@lw.vectorize(["f8(f8,f8)"])
def add(a, b):
    return a + b


ONES = np.ones(3)


@pytest.mark.parametrize("args, kwargs, text", [
    ((ONES, 1j), {}, "E181: `add` has no loop for (float64, Python complex), casting"),
    ((ONES, 1), {"dtype": "i4"}, "E181: `add` has no loop for (float64, Python int) that gives int32"),
    ((ONES, 1), {"out": np.ones(3, "i4")}, "Cannot cast ufunc 'add' output from"),
    ((ONES, "a"), {}, "(ufunc 'add' did not"),
])
def test_errors(args, kwargs, text):
    with pytest.raises(TypeError) as info:
        add(*args, **kwargs)
    assert text in str(info.value) and "lanewise." not in str(info.value)


def test_results_that_no_loop_gives():
    with pytest.raises(TypeError, match=r"that gives int32, .*\n  \(float64, float64\) -> float64: its result is float64"):
        add(ONES, 1, signature="dd->i")
    with pytest.raises(TypeError, match="E181"):
        add.reduce(ONES, dtype="i4")


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def test_members_of_enum_classes():
    @lw.vectorize
    def f(x, m):
        return x if m is Colour.RED else -x

    @lw.njit
    def either(x):
        return (Colour.RED if x > 0 else Colour.BLUE) == Colour.RED

    with pytest.raises(TypeError, match=r"argument `m` is a Colour; .*static=\('m',\) compiles a member in"):
        f(1.0, Colour.RED)
    assert either(1) and not either(-1)
