"""What NumPy says of operands by their numbers is said with the parameters' names, too."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw


@lw.guvectorize("(m,n),(n)->(m)")
def apply(matrix, vector, out):
    for i in range(out.shape[0]):
        out[i] = matrix[i, 0] * vector[0]


@lw.guvectorize("(n)->(m)")
def spread(x, out):
    for i in range(out.shape[0]):
        out[i] = x[0]


@lw.guvectorize("(n)->()")
def first(x):
    return x[0]


@lw.guvectorize("(n|1),(n)->()")
def both(left, right, out):
    out[0] = left[0] + right[0]


MATRIX = np.ones((2, 3))


@pytest.mark.parametrize("call, message", [
    (lambda: apply(MATRIX, np.ones(4)), r"Input operand 1 has a mismatch.*\(size 4 is different from 3\); this operand is the parameter `vector`$"),
    (lambda: apply(np.ones(3), np.ones(3)), r"Input operand 0 does not have enough dimensions.*; this operand is the parameter `matrix`$"),
    (lambda: apply(MATRIX, np.ones(3), out=np.ones(5)), r"Output operand 0 has a mismatch.*; this operand is the parameter `out`$"),
    (lambda: spread(np.ones(3)), r"Output operand 0 has core dimension 0 unspecified.*; only outputs have `m`, so pass an array as out=, or say how large it is with sizes=\{\"m\": \.\.\.\}$"),
    (lambda: first(1.0), r"Input operand 0 does not have enough dimensions.*; this operand is the parameter `x`$"),
    (lambda: both(np.ones(3), np.float64(1)), r"Input operand 1.*\(n\|1\),\(n\)->\(\).*; this operand is the parameter `right`$"),
])
def test_operands_have_names(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_other_errors_are_as_they_were():
    @lw.guvectorize("(n)->()")
    def refuses(x, out):
        out[0] = x[0]
        raise ValueError("Input operand 0 of mine")

    with pytest.raises(ValueError, match=r"Input operand 0 of mine") as caught:
        refuses(np.ones(3))
    assert "parameter" not in str(caught.value)
    with pytest.raises(ValueError, match="broadcast"):
        apply(np.ones((2, 2, 3)), np.ones((5, 3)))


def test_where_the_call_makes_its_outputs():
    @lw.guvectorize("(n),(n)->(m)", sizes={"m": lambda n: 2 * n})
    def twice(left, right, out):
        for i in range(out.shape[0]):
            out[i] = left[i // 2] + right[i // 2]

    with pytest.raises(ValueError, match=r"Input operand 1 has a mismatch.*; this operand is the parameter `right`$"):
        twice(np.ones(3), np.ones(4))


def test_a_warning_of_the_gufunc_does_not_refuse_a_call_in_a_function():
    @lw.guvectorize("(n)->()")
    def total(x, out):
        out[0] = 0
        for v in x:
            out[0] += v

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lw.njit(warn=False)(lambda x: total(x))(np.ones(3, np.float32)) == 3.0
        with pytest.raises(lw.errors.PrecisionWarning, match="W203"):
            lw.njit(lambda x: total(x))(np.ones(3, np.float32))
