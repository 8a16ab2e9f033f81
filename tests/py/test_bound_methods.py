"""Compiled functions in a class, as methods of its objects."""

import inspect

import numpy as np
import pytest

import lanewise as lw

X = np.arange(4.0)


class Mix:
    def __init__(self, k):
        self.k = k

    @lw.vectorize
    def f(self, a, b):
        return a + b * self.k

    def plain(self, a, b):
        return a + b * self.k

    @lw.njit
    def scaled(self, a):
        return a * self.k

    @lw.guvectorize("(),(n)->()")
    def total(self, x, out):
        out[0] = x.sum() * self.k


def test_ufunc():
    made = Mix(3.0)
    assert (made.f.nin, made.f.nargs, made.f.nout, Mix.f.nin) == (2, 3, 1, 3)
    assert made.f(1.0, 2.0) == made.f(1.0, b=2) == made.f(b=2.0, a=1.0) == 7
    assert made.f == made.f and made.f != Mix(3.0).f and made.f.__self__ is made
    assert list(inspect.signature(made.f).parameters) == ["a", "b"]
    with pytest.raises(TypeError, match="got c="):
        made.f(1.0, 2.0, c=3)


def test_methods_of_ufuncs():
    made = Mix(2.0)
    for k in 2.0, 5.0:
        made.k = k
        want = lw.vectorize(made.plain)
        assert made.f.reduce(X) == want.reduce(X)
        np.testing.assert_array_equal(made.f.accumulate(X), want.accumulate(X))
        np.testing.assert_array_equal(made.f.outer(X, X[:2]), X[:, None] + X[:2] * k)
        np.testing.assert_array_equal(made.f.reduceat(X, [0, 2]), want.reduceat(X, [0, 2]))


def test_in_compiled_code():
    made = Mix(3.0)
    method = made.f

    @lw.njit
    def both(x):
        return made.f(x, 1.0) + method(x, 2.0) + made.scaled(x)

    assert both(2.0) == 5 + 8 + 6
    assert lw.vectorize(made.f)(X, 1.0).tolist() == [3, 4, 5, 6]
    made.k = 10.0
    assert both(2.0) == 12 + 22 + 20


def test_function():
    made = Mix(3.0)
    assert made.scaled(2.0) == Mix.scaled(made, 2.0) == 6
    assert Mix.scaled.py_func(made, 2.0) == 6


def test_signatures_name_no_object():
    with pytest.raises(TypeError, match=r"the object of a method is an operand.*vectorize\(signatures\)\(made.f\)"):
        @lw.vectorize(["float64(float64)"])
        def f(self, x):
            return x
