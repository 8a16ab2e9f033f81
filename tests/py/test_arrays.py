"""Array arguments in compiled functions, against CPython running the same function."""

from __future__ import annotations

import numpy as np
import pytest
from host_kernel import check, run

from lanewise import errors

M = np.arange(48, dtype=np.int32).reshape(6, 8)
LAYOUTS = [M, np.asfortranarray(M), M[::2, 1::3], M[::-1, ::-2], M[:, 3:4], M[:0]]
IDS = ["C", "F", "strided", "reversed", "column", "empty"]


def walk(m, out):
    out[0] = m.shape[0]
    out[1] = m.size
    out[2] = len(m)
    out[3] = m.ndim + m.itemsize + m.nbytes
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            out[4] += m[i, j] * m[i][j]
            out[5] += m[i, -1] - m[i - 1][j - 1] * j
    for row in m:
        for v in row:
            out[6] += v
    for k, row in enumerate(m):
        for v, w in zip(row, row):
            out[7] += k * v - w


@pytest.mark.parametrize("m", LAYOUTS, ids=IDS)
def test_reading(m):
    check(walk, m, np.zeros(8, np.int64))


def write(x, y, n):
    for i in range(n):
        y[i] = x[i] * 2 + 1
        y[-1] += 3


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "uint16", "complex64", "complex128"])
def test_writing(dtype):
    check(write, np.arange(6).astype(dtype), np.zeros(6, dtype), 6)
    check(write, np.arange(12).astype(dtype)[::-2], np.zeros(18, dtype)[::3], 6)


def test_an_array_that_is_read_only_cannot_be_written():
    x = np.arange(3.0)
    x.flags.writeable = False
    with pytest.raises(errors.TypingError, match="E162"):
        run(write, np.arange(3.0), x, 3)
