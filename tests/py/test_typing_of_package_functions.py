"""Functions that lanewise implements in Python are typed in one way, also in functions with typing="numba"."""

import math

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, special

A, M, B = np.arange(1, 6), np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(5, dtype=np.uint8)
S = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])

CALLS = {
    "reduce": (lambda x: np.add.reduce(x), M),
    "reduce-axes": (lambda x: np.maximum.reduce(x, axis=(0, 1)), M),
    "reduceat": (lambda x: np.add.reduceat(x, np.array([0, 2])), A),
    "reduceat-list": (lambda x: np.add.reduceat(x, [0, 2, 1]), A),
    "accumulate": (lambda x: np.multiply.accumulate(x), A),
    "outer": (lambda x: np.multiply.outer(x, x), A),
    "sum-axis": (lambda x: x.sum(axis=0), M),
    "cumsum": (lambda x: np.cumsum(x), B),
    "cumsum-int32": (lambda x: np.cumsum(x), A.astype(np.int32)),
    "concatenate": (lambda x: np.concatenate((x, x)), A),
    "concatenate-axis": (lambda x: np.concatenate((x, x), axis=1), M),
    "stack": (lambda x: np.stack((x, x)), A),
    "diff": (lambda x: np.diff(x), B),
    "diff-twice": (lambda x: np.diff(x, 2), A),
    "solve": (lambda x: np.linalg.solve(x, x[0]), S),
    "inv": (lambda x: np.linalg.inv(x), S),
    "sort": (lambda x: np.sort(x[::-1]), A),
    "median": (lambda x: np.median(x), A),
    "mean": (lambda x: np.mean(x), A),
    "std": (lambda x: np.std(x), A),
    "prod": (lambda x: np.prod(x), B),
    "roll": (lambda x: np.roll(x, 2), A),
    "where": (lambda x: np.where(x > 2, x, 0), A),
    "clip": (lambda x: np.clip(x, 2, 3), A),
    "mask": (lambda x: x[x > 2], A),
    "unique": (lambda x: np.unique(x), A),
    "argsort": (lambda x: np.argsort(-x), A),
    "searchsorted": (lambda x: np.searchsorted(x, 3), A),
    "repeat": (lambda x: np.repeat(x, 2), A),
    "dot": (lambda x: x @ x, S),
    "norm": (lambda x: np.linalg.norm(x), S),
    "bincount": (lambda x: np.bincount(x), A),
    "count_nonzero": (lambda x: np.count_nonzero(x), A),
    "histogram": (lambda x: np.histogram(x, 3)[0], A),
    "percentile": (lambda x: np.percentile(x, 30), A),
    "transpose": (lambda x: np.ascontiguousarray(x.T), M),
    "swapaxes": (lambda x: np.ascontiguousarray(np.swapaxes(x, 0, 1)), M),
    "flip": (lambda x: np.flip(x).copy(), A),
    "linspace": (lambda x: np.linspace(0, x[0], 5), A),
    "trapezoid": (lambda x: np.trapezoid(x), S[0]),
    "interp": (lambda x: np.interp(1.5, x, x), S[0].cumsum()),
    "outer-difference": (lambda x: np.subtract.outer(x, x), M[0]),
    "append": (lambda x: np.append(x, x), A),
    "trace": (lambda x: np.trace(x), S),
    "kron": (lambda x: np.kron(x, x), S),
    "cov": (lambda x: np.cov(x), S),
}


@pytest.mark.parametrize("name", CALLS)
def test_whole_arrays(name):
    function, x = CALLS[name]
    found, weak = lw.njit(function, typing="numba")(x), lw.njit(function, typing="weak")(x)
    assert np.allclose(found, function(x)) and np.array_equal(found, weak) and np.shape(found) == np.shape(function(x))
    assert np.asarray(found).dtype == np.asarray(weak).dtype


def test_at():
    @lw.njit(typing="numba")
    def add(x, indices, values):
        np.add.at(x, indices, values)
        return x

    assert add(A.copy(), np.array([0, 0]), 1)[0] == 3
    assert list(add(A.copy(), np.array([True, False, True, False, True]), 1)) == [2, 2, 4, 4, 6]


def test_setting_in_a_kernel():
    with lw.config(typing="numba", target="cpu"):

        @cuda.jit
        def kernel(x, out):
            out[:] = np.concatenate((x, x))[2:7]

        out = np.zeros(5, np.int64)
        kernel[1, 1](A, out)
    assert list(out) == [3, 4, 5, 1, 2]


def test_the_users_function_keeps_its_typing():
    """A function that is passed to one of the package's is typed as its decorator says, and so is what is done with results."""

    @lw.vectorize(typing="numba")
    def add(x, y):
        return x + y * 0.5

    narrow = np.ones(3, np.float32)
    assert add(narrow, narrow).dtype == np.float64
    assert lw.njit(lambda x: np.array([np.max(x) * 0.1]), typing="numba")(narrow).dtype == np.float64
    assert lw.njit(lambda x: np.array([np.max(x) * 0.1]), typing="weak")(narrow).dtype == np.float32


@pytest.mark.parametrize("name", ["gamma", "gammaln", "erf", "expit", "ndtr", "jv"])
def test_special_functions(name):
    function = getattr(special, name)
    call = (lambda x: function(1.0, x)) if name == "jv" else (lambda x: function(x))
    x = np.linspace(0.5, 3, 7)
    weak, numba = lw.vectorize(call, typing="weak")(x), lw.vectorize(call, typing="numba")(x)
    assert np.array_equal(weak, numba) and math.isfinite(numba.sum())
