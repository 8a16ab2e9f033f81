"""Functions of libm that write to a global variable: threads would take its cache line from each other."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

import lanewise as lw


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lgamma_leaves_signgam_alone(dtype):
    try:
        sign = ctypes.c_int.in_dll(ctypes.CDLL("libm.so.6"), "signgam")
    except (OSError, ValueError):
        pytest.skip("no libm with signgam: it is glibc's")
    before, x = sign.value, np.linspace(-3.7, 50, 10_001).astype(dtype)
    f = lw.vectorize(lambda x: math.lgamma(x))
    try:
        for n in (1, 3):
            sign.value = 77
            with lw.config(threads=n):
                result = f(x)
            assert sign.value == 77
            np.testing.assert_allclose(result, [math.lgamma(v) for v in x], rtol=1e-5 if dtype == np.float32 else 1e-13, atol=1e-5 if dtype == np.float32 else 1e-14)
    finally:
        sign.value = before
