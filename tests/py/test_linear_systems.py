"""np.linalg.solve, inv, det and cholesky in compiled code, compared with NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, njit

RNG = np.random.default_rng(3)


def matrix(n, dtype):
    a = RNG.normal(size=(n, n)) * 3
    return (a + 1j * RNG.normal(size=(n, n)) if np.dtype(dtype).kind == "c" else a).astype(dtype)


FUNCTIONS = {
    "solve": lambda a, b: np.linalg.solve(a, b), "vector": lambda a, b: np.linalg.solve(a, b[:, 0]), "inv": lambda a, b: np.linalg.inv(a),
    "det": lambda a, b: np.linalg.det(a), "transposed": lambda a, b: np.linalg.solve(a.T, b[::-1]),
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4", "u1", "?"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_in_numpy(name, dtype):
    f = FUNCTIONS[name]
    compiled = njit(f)
    tolerance = 1e-3 if dtype in ("f4", "c8") else 1e-9
    for n in (1, 2, 3, 7):
        a, b = matrix(n, dtype), matrix(n, dtype)[:, :2]
        if dtype in ("i4", "u1", "?"):
            a = (np.tri(n).T * (1 if dtype == "?" else 3)).astype(dtype)[RNG.permutation(n)]
        mine, wanted = np.asarray(compiled(a, b)), np.asarray(f(a, b))
        assert name == "det" or mine.dtype == wanted.dtype
        assert np.allclose(mine, wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max())


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i8"])
def test_cholesky(dtype):
    for n in (1, 2, 6):
        a = matrix(n, dtype)
        a = (a @ a.conj().T + 5 * np.eye(n)).astype(dtype)
        upper = a.copy()
        upper[np.triu_indices(n, 1)] = 99  # which is not read
        mine, wanted = njit(lambda a: np.linalg.cholesky(a))(upper), np.linalg.cholesky(a)
        assert mine.dtype == wanted.dtype and np.allclose(mine, wanted, rtol=1e-4 if dtype == "f4" else 1e-10)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_cholesky_with_nan(dtype):
    """A NaN is not <= 0, so it is no error."""
    f = njit(lambda a: np.linalg.cholesky(a))
    nan = np.nan
    for rows in ([[1, 0], [nan, 2]], [[nan, 0], [1, 2]], [[1, 0, 0], [nan, 2, 0], [1, 1, -5]], [[1, nan], [0, nan]]):
        a = np.array(rows, dtype)
        np.testing.assert_array_equal(np.isnan(f(a)), np.isnan(np.linalg.cholesky(a)))
    for rows in ([[-1, 0], [nan, 2]], [[0, 0], [0, nan]]):
        for g in (f, np.linalg.cholesky):
            with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
                g(np.array(rows, dtype))


def test_operands_of_two_types_and_pivots():
    solve = njit(lambda a, b: np.linalg.solve(a, b))
    a = np.array([[0, 1e-3, 2], [1, 0, 0], [5e8, 1, 1]])
    for x, y in ((a.astype("f4"), a[0]), (a, a[1].astype("c8")), (a.astype("i8"), a[2].astype("f4"))):
        if np.linalg.det(x) == 0:
            continue
        mine, wanted = solve(x, y), np.linalg.solve(x, y)
        assert mine.dtype == wanted.dtype and np.allclose(mine, wanted, rtol=1e-5)
    assert solve(np.zeros((0, 0)), np.zeros((0, 2))).shape == (0, 2) and njit(lambda a: np.linalg.det(a))(np.zeros((0, 0))) == 1
    assert np.isnan(solve(np.full((2, 2), np.nan), np.ones(2))).all()


@pytest.mark.parametrize("f, x, error, text", [
    (lambda a: np.linalg.solve(a, a), np.ones((2, 2)), np.linalg.LinAlgError, "Singular matrix"),
    (lambda a: np.linalg.inv(a), np.zeros((3, 3), int), np.linalg.LinAlgError, "Singular matrix"),
    (lambda a: np.linalg.inv(a), np.ones((2, 3)), np.linalg.LinAlgError, "must be square"),
    (lambda a: np.linalg.cholesky(a), -np.eye(2), np.linalg.LinAlgError, "not positive definite"),
    (lambda a: np.linalg.inv(a), np.ones((2, 2), np.float16), TypeError, "float16 is unsupported"),
    (lambda a: np.linalg.det(a) + 1, np.ones((2, 2), np.float16), TypeError, "float16 is unsupported"),
    (lambda a: np.linalg.solve(a, a)[0], np.ones((2, 2), np.float16), TypeError, "float16 is unsupported"),
    (lambda a: np.linalg.solve(np.eye(2), a), np.ones(2, np.float16), TypeError, "float16 is unsupported"),
    (lambda a: np.linalg.cholesky(a) * 2, np.ones((2, 2), np.float16), TypeError, "float16 is unsupported"),
    (lambda a: np.linalg.det(a) + 1, np.ones(3), np.linalg.LinAlgError, "1-dimensional array given. Array must be at least two-dimensional"),
    (lambda a: np.linalg.inv(a)[0], np.ones(3), np.linalg.LinAlgError, "1-dimensional array given"),
    (lambda a: np.linalg.solve(a, a) + 1, np.ones(3), np.linalg.LinAlgError, "1-dimensional array given"),
    (lambda a: np.linalg.cholesky(a) * 2, np.ones(3), np.linalg.LinAlgError, "1-dimensional array given"),
    (lambda a: np.linalg.det(a), np.ones((2, 2, 2)), ValueError, "det in compiled code takes one matrix, not an array with 3 axes"),
    (lambda a: np.linalg.solve(a, np.ones(3)), np.eye(2), ValueError, "3 rows on the right, the matrix has 2"),
])
def test_errors(f, x, error, text):
    with pytest.raises(error, match=text):
        njit(f)(x)
    assert njit(lambda a: np.linalg.det(a))(np.ones((2, 2))) == 0


def test_a_system_for_each_thread(target):
    @cuda.jit
    def k(a, b, x):
        i = cuda.grid(1)
        if i < len(x):
            x[i] = np.linalg.solve(a[i], b[i])

    a, b, x = RNG.normal(size=(40, 3, 3)), RNG.normal(size=(40, 3)), np.zeros((40, 3))
    k[2, 32](a, b, x)
    assert np.allclose(x, np.linalg.solve(a, b[..., np.newaxis])[..., 0])
    assert lw.compile(k, "void(float64[:, :, :], float64[:, :], float64[:, :])", target="sm_90", output="cubin")
