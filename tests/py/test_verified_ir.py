"""Under `config.verify` the IR of every kernel is checked before it is compiled (debug builds always do that)."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw

X = np.random.default_rng(3).normal(size=(40, 300))


@pytest.fixture(autouse=True)
def verified():
    before, lw.config.verify = lw.config.verify, 1
    yield
    lw.config.verify = before


@lw.reduce
def total(a, b):
    return a + b


@lw.reduce(identity=-np.inf)
def largest(a, b):
    return a if a > b or a != a else b


@lw.reduce
def last(a, b):
    return b


@pytest.mark.parametrize("function, wanted", [
    (total, np.sum), (largest, np.max), (last, lambda x, axis: x.ravel()[-1] if axis is None else x.take(-1, axis)),
], ids=["sum", "maximum", "order counts"])  # fmt: skip
def test_reductions(function, wanted):
    for x in (X, X[::2, ::-3], X.T):
        for axis in (0, 1, None):
            assert np.allclose(function(x, axis=axis), wanted(x, axis=axis))
    assert ".entry" in lw.compile(function, "float64(float64)", target="sm_90", output="ptx")
    assert ".entry" in lw.compile(function, "float64(float64[:])", target="sm_90", output="ptx")


def test_scans():
    assert np.allclose(total.accumulate(X, axis=1), X.cumsum(axis=1))
    assert np.array_equal(largest.accumulate(X, axis=0), np.maximum.accumulate(X, axis=0))


@lw.forall(ndim=2)
def weighted(i, j, a, out):
    out[i, j] = a[i, j] * i - j


def test_two_dimensions():
    out = np.empty_like(X)
    weighted(X.shape, X, out)
    i, j = np.indices(X.shape)
    assert np.allclose(out, X * i - j)
