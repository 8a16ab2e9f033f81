"""`at` on arrays of a device: what has no atomic is done in NumPy's order."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import _ufunc_methods

INDICES = [0, 3, 0, -1, 2, 0, 3, -4]


def on_device(ufunc, a, indices, *b):
    """at() as device arrays do it: by themselves, the host's stand-ins of device arrays use NumPy's loops."""
    with lw.config(target="cpu"):
        d = lw.cuda.to_device(a)
        _ufunc_methods.at(ufunc, d, indices, *b)
        return d.copy_to_host()


def check(name, a, indices, *b):
    want = a.copy()
    with np.errstate(all="ignore"):
        getattr(np, name).at(want, indices, *b)
    np.testing.assert_array_equal(on_device(getattr(lw.ufuncs, name), a, indices, *b), want)


BINARY = ["add", "subtract", "multiply", "maximum", "fmin", "floor_divide", "remainder", "power"]
CASES = [(name, dtype) for name in BINARY for dtype in ("f4", "f8", "i4", "u1")]
CASES += [(name, dtype) for name in ("arctan2", "copysign") for dtype in ("f4", "f8")]  # NumPy computes these in floats


@pytest.mark.parametrize("name, dtype", CASES)
def test_binary(name, dtype):
    a = np.arange(1, 5).astype(dtype)
    b = np.array([3, 2, 2, 1, 3, 2, 1, 2]).astype(dtype)
    if name == "arctan2":
        want = a.copy()
        np.arctan2.at(want, INDICES, b)
        np.testing.assert_allclose(on_device(lw.ufuncs.arctan2, a, INDICES, b), want, rtol=1e-6)
    else:
        check(name, a, INDICES, b)


def test_sums_of_float16_are_numpys():
    rng = np.random.default_rng(1)
    check("add", rng.random(9).astype("f2"), rng.integers(0, 9, 5000), rng.random(5000).astype("f2"))


@pytest.mark.parametrize("name", ["negative", "square", "invert", "absolute", "logical_not"])
def test_unary(name):
    check(name, np.array([1, -2, 3, 4]), INDICES)


def test_rows_and_masks():
    a = np.arange(12.0).reshape(4, 3)
    check("multiply", a, [1, 1, 3], np.array([2.0, 3.0, 4.0]))
    check("divide", a, (slice(None), [0, 0, 2]), 2.0)
    check("multiply", a, a > 5, 3.0)
    check("multiply", a.T, [0, 0, 1], 2.0)
    check("multiply", a, np.array([], int), 2.0)


def test_indices_on_the_device():
    with lw.config(target="cpu"):
        d = lw.cuda.to_device(np.arange(1.0, 5.0))
        _ufunc_methods.at(lw.ufuncs.multiply, d, lw.cuda.to_device(np.array(INDICES)), 2.0)
        assert d.copy_to_host().tolist() == [16.0, 2.0, 6.0, 32.0]
        with pytest.raises(IndexError, match="out of bounds"):
            _ufunc_methods.at(lw.ufuncs.multiply, d, lw.cuda.to_device(np.array([9])), 2.0)


def test_dtypes():
    check("add", np.zeros(4, "f4"), INDICES, np.full(8, 0.1))  # computed in float64, rounded each time
    check("ldexp", np.ones(4), INDICES, np.arange(8))
    check("logical_or", np.zeros(4, "i4"), INDICES, np.arange(8))
    check("divide", np.ones(4, int), [0], 2.0)  # cast down, as by NumPy's


def test_values_of_a_wider_dtype():
    check("maximum", np.zeros(4, "i4"), INDICES, np.full(8, 2**40 + 5))
    check("maximum", np.zeros(4, "i4"), INDICES, np.arange(8, dtype="i4"))


def test_functions_of_ones_own():
    @lw.vectorize
    def halfway(a, b):
        return (a + b) / 2

    assert on_device(halfway, np.zeros(2), [0, 0, 1], np.array([4.0, 8.0, 2.0])).tolist() == [5.0, 1.0]


def test_arguments():
    with pytest.raises(ValueError, match="second operand needed"):
        on_device(lw.ufuncs.multiply, np.ones(2), [0])
    with pytest.raises(ValueError, match="unary"):
        on_device(lw.ufuncs.negative, np.ones(2), [0], 1.0)
