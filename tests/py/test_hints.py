"""What errors propose where something common cannot be compiled as it is written."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import lanewise as lw


def test_tuples_in_numbas_spelling():
    f = lw.njit("Tuple((i8, f8))(i8)")(lambda n: (n, 1.5 * n))
    assert f(3) == (3, 4.5) and f.signatures == lw.njit("Tuple(i8, f8)(i8)")(lambda n: (n, 1.5 * n)).signatures
    assert lw.njit("UniTuple(f8, 2)(f8)")(lambda x: (x, 2 * x))(1.0) == (1.0, 2.0)
    assert lw.njit("f8(Tuple((f8, UniTuple(i8, 2))), i8)")(lambda p, n: p[0] + p[1][1] + n)((1.0, (2, 3)), 4) == 8.0
    with pytest.raises(lw.errors.SignatureError, match="expected `\\)`"):
        lw.njit("Tuple((i8, f8), i8)(i8)")(lambda n: n)


def test_cfunc_without_a_signature():
    with pytest.raises(TypeError, match=r'cfunc needs a signature.*@lw.cfunc\("float64\(float64\)"\)'):
        @lw.cfunc
        def f(x):
            return x


@pytest.mark.parametrize("given, written", [
    (max, "max(a, b)"), (np.add, "a + b"), (operator.add, "a + b"), (np.maximum, "np.maximum(a, b)"), (operator.or_, "a | b"),
])
def test_operators_given_to_reduce(given, written):
    with pytest.raises(TypeError) as caught:
        lw.reduce(given)
    assert f"`lambda a, b: {written}`" in str(caught.value)


def test_reductions_in_compiled_code():
    @lw.njit
    def total(x):
        return lw.reductions.sum(x)

    with pytest.raises(lw.errors.TypingError, match=r"lanewise.reductions.sum(.|\n)*`np.sum\(x\)`"):
        total(np.ones(3))


def test_a_list_as_a_result():
    assert lw.njit(lambda t, y: [y[1], -y[0]])(1.0, np.ones(2)) == [1.0, -1.0]
    with pytest.raises(lw.errors.TypingError, match=r"E183: a list cannot be a result(.|\n)*return numbers; functions of `njit` return lists"):
        lw.vectorize(lambda t: [t, -t])(1.0)


@pytest.mark.parametrize("f, says", [
    (lambda x: np.nditer(x), r"loop over `x\.flat`, over `np\.ndenumerate\(x\)`, or over `np\.ndindex\(x\.shape\)`"),
    (lambda x: str(x[0]), "strings are constants in compiled code"), (lambda x: repr(x[0]), "strings are constants in compiled code"),
])
def test_functions_of_numbas_programs(f, says):
    with pytest.raises(lw.errors.TypingError, match=says):
        lw.njit(f)(np.ones(2))
