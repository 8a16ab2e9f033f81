"""Kernels whose loops have a step that is known only at launch: they run four iterations together, and give what one at a time gives."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import cuda

SIZES = (0, 1, 7, 32, 4 * 32, 4 * 32 + 1, 5 * 32 - 1, 1000)


@cuda.jit
def saxpy(a, x, y, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = a * x[i] + y[i]


@cuda.jit
def positives(x, out, last):
    """Branches, a loop-carried sum, and a variable that is read after the loop."""
    total = 0
    seen = -1
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        v = x[i]
        if v > 0:
            total += v
            seen = i
        else:
            total -= 1
    out[cuda.grid(1)] = total
    last[cuda.grid(1)] = seen


@cuda.jit
def histogram(x, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(out, x[i], 1)


@cuda.jit
def by_bytes(x, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        word = x[i]
        for k in range(4):
            if k == 3 and word == 0:
                break
            cuda.atomic.add(out, (word >> (8 * k)) & 255, 1)


@pytest.mark.parametrize("n", SIZES)
def test_inner_loops(n, target):
    x = np.random.default_rng(n).integers(0, 256, (n, 4)).astype("u1")
    x[::3] = 0
    out = np.zeros(256, "u4")
    by_bytes[2, 16](x.view("u4").ravel(), out)
    want = np.bincount(x.ravel(), minlength=256)
    want[0] -= len(x[::3])
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("n", SIZES)
def test_stores(n, target):
    x, y = np.arange(n, dtype="f4"), np.arange(n, dtype="f4")[::-1].copy()
    out = np.zeros(n, "f4")
    saxpy[2, 16](3, x, y, out)
    np.testing.assert_array_equal(out, 3 * x + y)


@pytest.mark.parametrize("n", SIZES)
def test_carried(n, target):
    x = np.random.default_rng(n).integers(-9, 9, n)
    out, last = np.zeros(32, int), np.zeros(32, int)
    positives[2, 16](x, out, last)
    for t in range(32):
        mine = x[t::32]
        assert out[t] == np.where(mine > 0, mine, -1).sum()
        assert last[t] == max((t + 32 * k for k in np.flatnonzero(mine > 0)), default=-1)


@pytest.mark.parametrize("n", SIZES)
def test_atomics(n, target):
    x = np.random.default_rng(n).integers(0, 10, n).astype("u1")
    out = np.zeros(10, "u4")
    histogram[2, 16](x, out)
    np.testing.assert_array_equal(out, np.bincount(x, minlength=10))


def test_nested(target):
    @cuda.jit
    def sums(x, out):
        for row in range(cuda.blockIdx.x, x.shape[0], cuda.gridDim.x):
            total = 0.0
            for i in range(cuda.threadIdx.x, x.shape[1], cuda.blockDim.x):
                total += x[row, i]
            cuda.atomic.add(out, row, total)

    x, out = np.random.default_rng(1).integers(0, 99, (7, 333)).astype("f8"), np.zeros(7)
    sums[3, 8](x, out)
    np.testing.assert_array_equal(out, x.sum(1))


LIMITS = [(0, 10, 3), (5, 5, 1), (9, 3, 2), (-7, 30, 4), (0, 100, 2**32 - 1), (2**62 - 90, 2**62 - 1, 2), (0, 2**34, 2**32 - 1),
          (-(2**62), -(2**62) + 50, 5), (0, 12, 3), (0, 13, 3), (0, 15, 3)]


@pytest.mark.parametrize("start, stop, step", LIMITS)
def test_limits(start, stop, step, target):
    """Nothing overflows near the ends of the values that a range may have."""
    @cuda.jit
    def visit(x, start, stop, step, out):
        for i in range(start, stop, step):
            out[0] += x[0]
            out[1] ^= i

    x, out = np.ones(1, np.int64), np.zeros(2, np.int64)
    visit[1, 1](x, start, stop, np.uint32(step), out)
    iterations = range(start, stop, step)
    assert out[0] == len(iterations)
    assert out[1] == np.bitwise_xor.reduce(np.array(iterations, np.int64), initial=0)


def test_same_array_twice(target):
    """The arrays overlap, so that elements are read where they were written."""
    x = np.zeros(100, "f4")
    x[0] = 1

    @cuda.jit
    def shift(a, b):
        for i in range(0, a.size - 1, cuda.gridsize(1)):
            b[i + 1] = a[i] + 1

    shift[1, 1](x, x)
    np.testing.assert_array_equal(x, np.arange(1, 101))
