"""Masks from sign bits in code for AVX-512, which LLVM 22 reads from wrong registers (lanewise/_toolchain.py works around it)."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import _toolchain


@lw.forall
def powers(i, old, new):
    n = old.size
    c = old[(i + 1) % n] + old[(i + 2) % n] + old[(i - 1) % n] + old[(i - 2) % n]
    new[i] = 3.0**c


@lw.forall
def tangents(i, old, new):
    n = old.size
    c = old[(i + 1) % n] + old[(i + 2) % n] + old[(i + 3) % n] + old[(i - 1) % n] + old[(i - 2) % n] + old[(i - 3) % n]
    new[i] = np.tanh(0.1 * c)


def in_loop(n, old, new):
    for i in lw.prange(n):
        c = old.dtype.type(0)
        for k in (-2, -1, 1, 2):
            c += old[(i + k) % n]
        new[i] = 3.0**c


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("size", [7, 16, 64, 2000])
def test_periodic_neighbours(size, dtype):
    state = (np.arange(size) % 50 == 7).astype(dtype)
    near = sum(np.roll(state, k).astype(float) for k in (-2, -1, 1, 2))
    far = near + np.roll(state, 3) + np.roll(state, -3)
    for f, want in ((powers, 3.0**near), (tangents, np.tanh(0.1 * far)), (lw.njit(in_loop), 3.0**near)):
        got = np.full(size, np.nan)
        f(size, state, got)
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (b"\xc5\xf8\x50\xc1", True),  # vmovmskps eax, xmm1
        (b"\xc5\xfd\x50\xc5", True),  # vmovmskpd eax, ymm5
        (b"\xc4\xc1\x7d\x50\xc8", True),  # vmovmskpd ecx, ymm8
        (b"\xc5\x79\xd7\xc1", True),  # vpmovmskb r8d, xmm1
        (b"\xc5\xf8\x51\xc1", False),  # vsqrtps xmm0, xmm1
        (b"\xc5\xe9\x58\xc3", False),  # vaddpd xmm0, xmm2, xmm3
    ],
)
def test_the_instructions_are_found(code, found):
    assert bool(_toolchain._MASK_MOVE.search(b"\x90" + code + b"\xc3")) is found
