"""ldexp rounds once, however far the exponent leads: also to subnormal numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from lanewise import ufuncs


@pytest.mark.parametrize("exponents", ["i2", "i4", "i8"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_every_exponent_rounds_once(dtype, exponents):
    rng, bits = np.random.default_rng(8), np.dtype(f"u{dtype[1]}")
    ends = np.finfo(dtype)
    x = np.concatenate([rng.integers(0, np.iinfo(bits).max, 20_000, bits, True).view(dtype), np.arange(300, dtype=bits).view(dtype),
                        np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, ends.max, ends.min, ends.tiny], dtype)])
    for most in (60, 300, 2300, 32767, 2**31 - 1):
        n = rng.integers(-min(most, np.iinfo(exponents).max), min(most, np.iinfo(exponents).max), x.size).astype(exponents)
        with np.errstate(all="ignore"):
            made, expected = ufuncs.ldexp(x, n), np.ldexp(x, n)
        assert made.dtype == expected.dtype
        np.testing.assert_array_equal(made, expected)
        assert np.array_equal(np.signbit(made), np.signbit(expected))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_an_overflow_alone_warns(dtype):
    x = np.ones(9, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not ufuncs.ldexp(x, -5000).any() and (ufuncs.ldexp(x, -3) == 0.125).all()
    with pytest.warns(RuntimeWarning, match="overflow encountered in ldexp"):
        assert np.isinf(ufuncs.ldexp(x, 5000)).all()
    with pytest.warns(RuntimeWarning, match="overflow"), np.errstate(under="warn"):
        ufuncs.ldexp(x, 5000)
    with pytest.warns(RuntimeWarning, match="underflow"), np.errstate(under="warn"):
        ufuncs.ldexp(x, -5000)


def test_vectors():
    ufuncs.ldexp(np.ones(3), np.ones(3, "i4"))
    assert "@ldexp" not in ufuncs.ldexp.inspect_llvm()
