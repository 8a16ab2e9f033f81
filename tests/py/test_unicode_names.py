"""Parameters whose names are not ASCII, passed by keyword. Python normalises identifiers to NFKC."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw


def scaled(x, ρ=1.0):
    return x * ρ


def test_functions_of_the_host():
    f = lw.njit(scaled)
    assert f(2.0, ρ=3.0) == f(2.0, ϱ=3.0) == f(ρ=2.0, x=3.0) == 6.0  # the second is U+03F1
    for wrong in ({"σ": 1.0}, {"ϱ": 1.0}, {"\udc80": 1.0}):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            f(2.0, **wrong)
    with pytest.raises(TypeError, match="multiple values for argument 'ρ'"):
        f(2.0, 1.0, ρ=3.0)

    @lw.njit
    def caller(x):
        return f(x, ρ=5.0)

    assert caller(2.0) == 10.0
    assert lw.njit(static={"ρ"})(scaled)(2.0, ρ=3.0) == 6.0


def test_ufuncs():
    assert lw.vectorize(scaled)(2.0, ρ=3.0) == lw.vectorize(["f8(f8, f8)"])(scaled)(2.0, ρ=3.0) == lw.vectorize(static={"ρ"})(scaled)(2.0, ρ=3.0) == 6.0
    assert lw.vectorize(excluded={"ρ"})(lambda x, ρ: x * ρ[1])(2.0, ρ=np.array([1.0, 3.0])) == 6.0

    @lw.guvectorize("(n),()->()")
    def total(x, ρ, out):
        out[()] = x.sum() * ρ

    assert total(np.ones(2), ρ=3.0) == 6.0 and total(x=np.ones(2), ρ=3.0) == 6.0


def test_kernels(target):
    @lw.forall
    def fill(i, x, ρ):
        x[i] = ρ

    @lw.cuda.jit
    def put(x, ρ):
        x[0] = ρ

    x = lw.cuda.to_device(np.zeros(2)) if target == "cuda" else np.zeros(2)
    fill(2, x, ρ=3.0)
    assert np.asarray(x.copy_to_host() if target == "cuda" else x).tolist() == [3.0, 3.0]
    put[1, 1](x, ρ=4.0)
    assert x[0] == 4.0
