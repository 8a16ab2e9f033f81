"""Functions of njit that give places, triangles and running totals without NaN, and powers of matrices: against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import njit

X = np.arange(12.0).reshape(3, 4)
Z = X + 1j * X[::-1]
GAPS = np.where(X % 5 == 0, np.nan, X)
M = np.array([[2.0, 1], [1, 3]])

CASES = [
    (lambda n: np.tril_indices(n), 4),
    (lambda n: np.tril_indices(n, -1, 5), 4),
    (lambda n: np.triu_indices(n, 1), 4),
    (lambda n: np.triu_indices(n, -1, 3), 4),
    (lambda x: np.triu_indices_from(x, 1), X),
    (lambda x: np.tril_indices_from(x), X),
    (lambda n: np.tri(n), 4),
    (lambda n: np.tri(n, 5, 1, np.int8), 4),
    (lambda x: np.take_along_axis(x, np.argsort(-x, axis=1), axis=1), X),
    (lambda x: np.take_along_axis(x, np.argsort(-x, axis=0), axis=0), X),
    (lambda x: np.take_along_axis(x, np.array([3, -1]), None), X),
    (lambda x: np.nancumsum(x), GAPS),
    (lambda x: np.nancumsum(x, axis=1), GAPS),
    (lambda x: np.nancumprod(x, axis=0), GAPS),
    (lambda x: np.nancumsum(x), np.arange(5, dtype="i4")),
    (lambda x: np.vsplit(x, 3), X),
    (lambda x: np.hsplit(x, 2), X),
    (lambda x: np.hsplit(x, (1, 3)), X[0]),
    (lambda x: np.trim_zeros(x), np.array([0, 0, 1, 0, 2, 0])),
    (lambda x: np.trim_zeros(x, "f"), np.array([0.0, 0, 1, 0, 2, 0])),
    (lambda x: np.trim_zeros(x), np.zeros(3)),
    (lambda x: np.setxor1d(x, np.array([1, 2, 9])), np.array([2, 3, 3, 4])),
    (lambda a: np.logspace(a, 3, 7), 1.0),
    (lambda a: np.logspace(0, a, 5, base=2.0), 4),
    (lambda a: np.logspace(0, a, 5, endpoint=False), 4),
    (lambda a: np.logspace(0, a, 5, dtype=np.int64), 4),
    (lambda z: z.conj(), Z),
    (lambda z: z.conjugate(), Z),
    (lambda z: z.T.conj() @ z, Z),
    (lambda x: x.conj(), X),
    (lambda x: x.round(), X / 3),
    (lambda x: x.round(2), X / 3),
    (lambda x: np.asfortranarray(x), X),
    (lambda x: np.asarray_chkfinite(x), X),
    *((lambda m, n=n: np.linalg.matrix_power(m, n), a) for n in (-2, 0, 1, 3, 6) for a in (M, M + 1j)),
    (lambda m: np.linalg.matrix_power(m, 3), np.array([[1, 2], [3, 4]])),
]


@pytest.mark.parametrize("function, argument", CASES)
def test_against_numpy(function, argument):
    got, wanted = njit(function)(argument), function(argument)
    several = isinstance(wanted, (tuple, list))
    for one, other in zip(got if several else [got], wanted if several else [wanted], strict=True):
        assert (one.dtype, one.shape, one.flags.f_contiguous) == (other.dtype, other.shape, other.flags.f_contiguous)
        np.testing.assert_allclose(one, other, rtol=1e-14)


@pytest.mark.parametrize(
    "function, argument, error",
    [
        (lambda x: np.asarray_chkfinite(x), GAPS, ValueError),
        (lambda x: np.take_along_axis(x, np.array([4]), 0), X[0], IndexError),
        (lambda x: np.take_along_axis(x, np.zeros((2, 1), np.int64), 1), X, ValueError),
        (lambda m: np.linalg.matrix_power(m, 2), X, ValueError),
    ],
)
def test_what_is_refused(function, argument, error):
    with pytest.raises(error):
        njit(function)(argument)


@pytest.mark.parametrize("x", [X, Z])
def test_conj_of_real_numbers_is_the_array_itself(x):
    def changed(x):
        y = x.conj()
        y[0, 0] = 9
        return x

    np.testing.assert_array_equal(njit(changed)(x.copy()), changed(x.copy()))
