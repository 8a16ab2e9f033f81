"""np.dot and @ in functions called on the host take four rows at once (lanewise/_array_functions.py). In kernels they are plain loops: both have the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw

SHAPES = [(1, 1, 1), (3, 5, 2), (4, 8, 8), (5, 15, 3), (7, 16, 13), (16, 17, 16), (33, 70, 21), (65, 129, 66), (4, 0, 3), (0, 4, 3), (4, 20, 0)]

by_matrix, by_row = lw.njit(lambda a, b: a @ b), lw.njit(lambda a, v: np.dot(a, v))


@lw.guvectorize("(m,k),(k,n)->(m,n)", warn=False)
def matrix_in_kernel(a, b, out):
    out[:] = a @ b


@lw.guvectorize("(m,k),(k)->(m)", warn=False)
def row_in_kernel(a, v, out):
    out[:] = np.dot(a, v)


def layouts(x):
    return [x, np.asfortranarray(x), x[::-1, ::-1], np.repeat(x, 2, axis=1)[:, ::2]]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i1", "u2", "D"])
def test_products_have_the_bits_of_kernels(dtype, shape):
    m, k, n = shape
    r = np.random.default_rng(m)
    a, b, v = (np.asarray(x * 3).astype(dtype) for x in (r.standard_normal((m, k)), r.standard_normal((k, n)), r.standard_normal(k)))
    wanted, wanted_row = matrix_in_kernel(a, b), row_in_kernel(a, v)
    for x in layouts(a):
        x = x if x.shape == a.shape and (x == a).all() else np.ascontiguousarray(a)
        assert by_matrix(x, b).tobytes() == wanted.tobytes()
        assert by_row(x, v).tobytes() == wanted_row.tobytes()
    for y in (np.asfortranarray(b), np.repeat(b, 2, axis=1)[:, ::2]):
        assert by_matrix(a, y).tobytes() == wanted.tobytes()
    np.testing.assert_allclose(wanted.astype("D"), (a.astype("D") @ b.astype("D")) if np.dtype(dtype).kind in "fc" else (a @ b).astype("D"), rtol=2e-2 if dtype == "f2" else 1e-4, atol=0.1 if dtype == "f2" else 1e-4)


def test_lengths_that_differ_are_refused():
    for n in (3, 40):
        with pytest.raises(ValueError, match="not aligned"):
            by_row(np.ones((8, n)), np.ones(n + 1))
        with pytest.raises(ValueError, match="not aligned"):
            by_matrix(np.ones((8, n)), np.ones((n + 1, 8)))


def test_special_values():
    a, b = np.ones((8, 32)), np.ones((32, 8))
    a[2, 3], b[5, 6], a[4, 20] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(by_matrix(a, b), a @ b)
        np.testing.assert_array_equal(by_row(a, b[:, 6].copy()), np.dot(a, b[:, 6]))
