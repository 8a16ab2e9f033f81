"""guvectorize on GPUs: cores whose rows are shared by threads, and go by way of shared memory."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device
from lanewise import cuda

pytestmark = needs_device


@lw.guvectorize("(m,n),(n)->(m)", warn=False)
def matvec(m, x, y):
    for i in range(m.shape[0]):
        total = m[0, 0] * x[0] * 0
        for k in range(m.shape[1]):
            total += m[i, k] * x[k]
        y[i] = total


@lw.guvectorize("(m,n),(k,n)->(m),(k)", warn=False)
def row_sums(a, b, x, y):
    for i in range(a.shape[0]):
        x[i] = 0
        for k in range(a.shape[1]):
            x[i] += a[i, k]
    for i in range(b.shape[0]):
        y[i] = 0
        for k in range(b.shape[1]):
            if b[i, k] > 2:
                y[i] += b[i, k]


@lw.guvectorize("(m,n)->(m)", warn=False)
def both_ways(a, x):
    """The array is not read by rows alone: neighbouring threads also read neighbouring elements of the first row."""
    for i in range(a.shape[0]):
        x[i] = a[0, i]
        for k in range(a.shape[1]):
            x[i] += a[i, k]


@lw.guvectorize("(m,n)->(m),()", warn=False)
def rows_and_all(a, x, y):
    """The last loop combines what several threads have added."""
    for i in range(a.shape[0]):
        x[i] = 0
        for k in range(a.shape[1]):
            x[i] += a[i, k]
    total = a[0, 0] * 0
    for i in range(a.shape[0]):
        total += a[i, 0]
    y[0] = total


SHAPES = [(1, 64, 64), (3, 64, 64), (5, 40, 50), (2, 100, 33), (2, 33, 100), (2, 128, 80), (1, 200, 40), (3, 16, 70), (2, 1, 90), (1, 300, 300),
          (3, 17, 17), (5, 31, 20), (2, 128, 128), (1, 150, 170), (2, 0, 40)]


def integers(*shape, dtype="f4"):
    return np.random.default_rng(shape[-1]).integers(0, 5, shape).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_matrices_times_vectors(shape, simulated):
    items, m, n = shape
    for dtype in ("f4", "f8", "i2", "i1", "c8"):
        a, x = integers(*shape, dtype=dtype), integers(items, n, dtype=dtype)
        y = matvec(cuda.to_device(a), cuda.to_device(x))
        np.testing.assert_array_equal(y.copy_to_host(), np.einsum("imn,in->im", a, x))
    y = matvec(cuda.to_device(a[0]), cuda.to_device(x))  # one matrix for all vectors
    np.testing.assert_array_equal(y.copy_to_host(), np.einsum("mn,in->im", a[0], x))


@pytest.mark.parametrize("shape", [(2051, 17, 19), (2049, 32, 32), (2048, 24, 33), (16500, 20, 17)], ids=str)
def test_many_small_matrices(shape, simulated):
    """A warp works on each matrix. The results have the bits of those of one thread, and of the host."""
    rng = np.random.default_rng(shape[1])
    for dtype in ("f4", "f8", "i1") if shape[0] < 10000 else ("f4",):
        a, x = rng.normal(0, 9, shape).astype(dtype), rng.normal(0, 9, (shape[0], shape[2])).astype(dtype)
        a[7, 3, 5] = 1
        if dtype != "i1":
            a[5, 3, 5], x[9, 2] = np.nan, -np.inf
        y = matvec(cuda.to_device(a), cuda.to_device(x)).copy_to_host()
        np.testing.assert_array_equal(y, matvec(a, x))
        y = matvec(cuda.to_device(a)[::-1], cuda.to_device(x)).copy_to_host()
        np.testing.assert_array_equal(y, matvec(a[::-1], x))


def test_matrices_of_which_one_fills_the_shared_memory(simulated):
    for shape, dtype in (((3, 128, 128), "f4"), ((2, 128, 129), "f8"), ((2, 210, 250), "f4")):
        a, x = integers(*shape, dtype=dtype), integers(shape[0], shape[2], dtype=dtype)
        np.testing.assert_array_equal(matvec(cuda.to_device(a), cuda.to_device(x)).copy_to_host(), np.einsum("imn,in->im", a, x))


@pytest.mark.parametrize("items, columns", [(3, 0), (0, 20), (2100, 0)])
def test_nothing_to_fetch(items, columns, simulated):
    x, y = row_sums(cuda.to_device(integers(items, 40, columns)), cuda.to_device(integers(items, 30, columns)))
    np.testing.assert_array_equal(x.copy_to_host(), np.zeros((items, 40)))
    np.testing.assert_array_equal(y.copy_to_host(), np.zeros((items, 30)))


def test_sums_of_all_rows_beside(simulated):
    a = integers(20, 24, 24)
    x, y = rows_and_all(cuda.to_device(a))
    np.testing.assert_array_equal(x.copy_to_host(), a.sum(2))
    np.testing.assert_array_equal(y.copy_to_host(), a[:, :, 0].sum(1))


def test_strides_and_other_loops(simulated):
    a, x = integers(4, 3, 40, 70), integers(3, 4, 70)
    y = matvec(cuda.to_device(a).transpose(1, 0, 2, 3), cuda.to_device(x))
    np.testing.assert_array_equal(y.copy_to_host(), np.einsum("jimn,ijn->ijm", a, x))
    wide = integers(2, 40, 80)
    y = matvec(cuda.to_device(wide)[:, :, ::2], cuda.to_device(x[:2, 0, :40]))  # rows are not contiguous
    np.testing.assert_array_equal(y.copy_to_host(), np.einsum("imn,in->im", wide[:, :, ::2], x[:2, 0, :40]))


def test_several_operands(simulated):
    a, b = integers(3, 50, 40), integers(3, 35, 40)
    x, y = row_sums(cuda.to_device(a), cuda.to_device(b))
    np.testing.assert_array_equal(x.copy_to_host(), a.sum(2))
    np.testing.assert_array_equal(y.copy_to_host(), (b * (b > 2)).sum(2))
    square = integers(3, 48, 48)
    np.testing.assert_array_equal(both_ways(cuda.to_device(square)).copy_to_host(), square.sum(2) + square[:, 0])


# ---- bands: blocks that have some of an item's rows each ----


@lw.guvectorize("(m,n),(n)->(m)", warn=False)
def product(m, x, y):
    for i in range(m.shape[0]):
        total = m.dtype.type(0)
        for k in range(m.shape[1]):
            total += m[i, k] * x[k]
        y[i] = total


@lw.guvectorize("(m,n),(m,n),(m)->(m)", warn=False)
def differences(a, b, x, y):
    for i in range(a.shape[0]):
        if x[i] > 1:
            y[i] = 7
            continue
        y[i] = 0
        for k in range(a.shape[1]):
            y[i] += a[i, k] - b[i, k]


@lw.guvectorize("(m,n),(k)->(k)", warn=False)
def longer(a, x, y):
    """The loop has more iterations than the matrix has rows."""
    for i in range(x.shape[0]):
        y[i] = x[i]
        if i < a.shape[0]:
            for k in range(a.shape[1]):
                y[i] += a[i, k]


@lw.guvectorize("(m,n)->(m)", warn=False)
def with_next(a, y):
    """Each row is used in two iterations."""
    for i in range(a.shape[0] - 1):
        y[i] = 0
        for k in range(a.shape[1]):
            y[i] += a[i, k] + a[i + 1, k]
    y[a.shape[0] - 1] = 5


@lw.guvectorize("(m,n)->(m)", warn=False)
def after_the_first(a, y):
    """The loop writes what is read in front of it."""
    before = y[0]
    for i in range(a.shape[0]):
        total = before
        for k in range(a.shape[1]):
            total += a[i, k]
        y[i] = total


@lw.guvectorize("(m,n)->(m),(m)", warn=False)
def two_loops(a, x, y):
    for i in range(a.shape[0]):
        x[i] = 0
        for k in range(a.shape[1]):
            x[i] += a[i, k]
    for i in range(a.shape[0]):
        y[i] = x[a.shape[0] - 1 - i]


BANDS = [(2, 65, 70), (3, 128, 128), (1, 300, 300), (2, 200, 203), (1, 1000, 37), (2, 129, 400), (1, 70, 2000)]


@pytest.mark.parametrize("shape", BANDS, ids=str)
def test_bands_of_rows(shape, simulated):
    """Each row is added by one thread in the order of the loop, so the bits are those of the host."""
    rng = np.random.default_rng(shape[1])
    for dtype in ("f4", "f8", "i1", "c8"):
        a, x = rng.normal(0, 9, shape).astype(dtype), rng.normal(0, 9, (shape[0], shape[2])).astype(dtype)
        np.testing.assert_array_equal(product(cuda.to_device(a), cuda.to_device(x)).copy_to_host(), product(a, x))
        one = product(cuda.to_device(a[0]), cuda.to_device(x))  # one matrix for all vectors
        np.testing.assert_array_equal(one.copy_to_host(), product(a[0], x))
    y = product(cuda.to_device(a)[::-1], cuda.to_device(x))
    np.testing.assert_array_equal(y.copy_to_host(), product(a[::-1], x))


def test_bands_of_two_matrices(simulated):
    a, b, x = integers(3, 150, 90), integers(3, 150, 90)[::-1], integers(3, 150)
    y = differences(cuda.to_device(a), cuda.to_device(b), cuda.to_device(x))
    np.testing.assert_array_equal(y.copy_to_host(), np.where(x > 1, 7, (a - b).sum(2)))
    a, x = integers(2, 70, 40), integers(2, 200)
    wanted = x.copy()
    wanted[:, :70] += a.sum(2)
    np.testing.assert_array_equal(longer(cuda.to_device(a), cuda.to_device(x)).copy_to_host(), wanted)


def test_what_no_bands_may_divide(simulated):
    a = integers(3, 130, 40)
    sums = a.sum(2)
    wanted = np.append(sums[:, :-1] + sums[:, 1:], np.full((3, 1), 5), axis=1)
    np.testing.assert_array_equal(with_next(cuda.to_device(a)).copy_to_host(), wanted)
    out = cuda.to_device(np.full((3, 130), 9, "f4"))
    after_the_first(cuda.to_device(a), out=out)
    np.testing.assert_array_equal(out.copy_to_host(), sums + 9)
    x, y = two_loops(cuda.to_device(a))
    np.testing.assert_array_equal(x.copy_to_host(), sums)
    np.testing.assert_array_equal(y.copy_to_host(), sums[:, ::-1])
