"""Errors of functions that are named like a ufunc of NumPy say the user's own name."""

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
