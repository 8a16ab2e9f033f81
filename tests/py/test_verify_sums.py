"""`lw.verify` of scalars that differ, of prange sums, of cancellation, and of lanewise.reductions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lanewise as lw

X = np.random.default_rng(0).random(3000)


def test_prange_sums_may_be_apart_by_their_roundings():
    @lw.njit
    def total(x):
        s = 0.0
        for i in lw.prange(x.size):
            s += math.sqrt(x[i])
        return s

    report = lw.verify(total, X)
    assert report.ok and report.n_checked == 2 * (1 + X.size)


def test_scalars_and_tuples_that_differ_are_reported():
    @lw.njit
    def close(x):
        return x.size, (x[0], math.exp(x[1]))

    x = 1 + 1e-3 * np.arange(40.0)
    report = max((lw.verify(close, one, ulp=0) for one in x.reshape(20, 2)), key=lambda one: one.n_different)
    assert {one.index for one in report.differences} == {()} and "result 1 1: got" in repr(report)


def test_cancellation_is_named_in_the_first_line_and_atol_allows_it():
    @lw.forall
    def near_its_zero(i, x, y):
        y[i] = x[i] * 2 + math.log(x[i])

    report = lw.verify(near_its_zero, X.size, X, np.zeros(X.size))
    assert not report.ok and "cancellation" in repr(report).splitlines()[0]
    assert lw.verify(near_its_zero, X.size, X, np.zeros(X.size), atol=1e-12).ok
    with pytest.raises(ValueError, match="atol must be"):
        lw.verify(near_its_zero, X.size, X, np.zeros(X.size), atol=-1)


@pytest.mark.parametrize("name", ["sum", "var", "nanstd", "argmax", "prod", "cumsum"])
def test_functions_of_reductions(name):
    report = lw.verify(getattr(lw.reductions, name), X[:500])
    assert report.ok and report.n_checked and report.compared == ["CPU against NumPy"]
    assert report.name == "reductions." + name


def test_functions_of_reductions_with_an_axis():
    report = lw.verify(lw.reductions.var, X[:600].reshape(20, 30), axis=1, ddof=1)
    assert report.ok and report.n_checked == 20


def test_a_reduction_that_numpy_has_not():
    with pytest.raises(TypeError, match="compared with NumPy's, which has none"):
        lw.verify(lw.reductions.minmax, X)
