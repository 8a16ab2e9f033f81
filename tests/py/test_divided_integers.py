"""Integers of up to 32 bits are divided as floats on the CPU, in loops that are vectorised."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import ufuncs

FUNCTIONS = ("floor_divide", "remainder", "fmod", "divmod")


def check(x, y):
    for name in FUNCTIONS:
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(x, y)
            made = getattr(ufuncs, name)(x, y)
        for one, other in zip(made if name == "divmod" else [made], expected if name == "divmod" else [expected]):
            assert one.dtype == other.dtype and np.array_equal(one, other), (name, x.dtype)


@pytest.mark.parametrize("dtype", ["i1", "u1"])
def test_all_pairs_of_8_bits(dtype):
    numbers = np.arange(256).astype("u1").view(dtype)
    check(np.repeat(numbers, 256), np.tile(numbers, 256))


def near_multiples(dtype, n):
    """Pairs whose quotient is an integer, or as close to one as possible."""
    rng, ends = np.random.default_rng(3), np.iinfo(dtype)
    y = np.concatenate([rng.integers(ends.min, ends.max, n, dtype=dtype, endpoint=True), rng.integers(max(ends.min, -300), 300, n).astype(dtype),
                        np.array([ends.min, ends.min + 1, ends.max, ends.max - 1, 0, 1, 2, 3, ends.max // 2 + 1], dtype)])
    with np.errstate(all="ignore"):
        x = rng.integers(ends.min, ends.max, y.size, dtype=dtype, endpoint=True)
        x[rng.random(y.size) < 0.2] = ends.max
        x[rng.random(y.size) < 0.2] = ends.min
        multiple = x // y * y
        return [(x, y), (multiple, y), (multiple - dtype(1), y), (multiple + dtype(1), y)]


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.int32, np.uint32, np.int64])
def test_quotients_near_integers(dtype):
    for x, y in near_multiples(dtype, 30_000):
        check(x, y)
        check(x[::3], y[::3])
        check(x[:1], y[:1])


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u4"])
def test_no_warning_but_that_of_a_division_by_zero(dtype):
    """Floats in the same function do not change that; their flags are read."""
    f = lw.vectorize(lambda x, y, z: z + x % y + x // y)
    x = np.array([np.iinfo(dtype).max, np.iinfo(dtype).min, 7] * 30, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(f(x, x[::-1] | 1, 0.5), 0.5 + x % (x[::-1] | 1) + x // (x[::-1] | 1))
        ufuncs.remainder(x, x | 1)
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in remainder"):
        assert ufuncs.remainder(x, x * 0).sum() == 0


@pytest.mark.parametrize("dtype", [np.int16, np.uint32, np.int32])
def test_loops_that_divide(dtype):
    def of_arrays(x, y):
        return x // y + x % y

    def of_an_index(i, x, y, out):
        out[i] = x[i] // y[i] + x[i] % y[i]

    x, y = near_multiples(dtype, 1000)[0]
    y[y == 0] = 3
    with np.errstate(all="ignore"):
        expected = x // y + x % y
    out = np.zeros_like(x)
    lw.forall(of_an_index)(x.size, x, y, out)
    assert np.array_equal(out, expected) and np.array_equal(lw.njit(of_arrays)(x, y), expected)


def test_where_vectors_divide():
    """A loop that needs each remainder for the next iteration divides integers; one over elements divides floats."""
    x = np.arange(1, 9, dtype="i4")

    def gcd(x, y):
        while y:
            x, y = y, x % y
        return x

    def rest(x, y):
        return x % y

    calls = lw.vectorize(lambda x, y: rest(x, y) + rest(y, x))
    assert (calls(x, x[::-1].copy()) == x % x[::-1] + x[::-1] % x).all() and "srem" not in calls.inspect_llvm()
    divided, waited = lw.vectorize(lambda x, y: x % y), lw.vectorize(gcd)
    assert (divided(x, x[::-1].copy()) == x % x[::-1]).all() and (waited(x, x[::-1].copy()) == np.gcd(x, x[::-1])).all()
    assert "fdiv double" in divided.inspect_llvm() and "srem" not in divided.inspect_llvm()
    assert "srem" in waited.inspect_llvm() and "fdiv" not in waited.inspect_llvm()
