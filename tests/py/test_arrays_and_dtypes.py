"""Members of arrays, `v in x`, and what dtypes that arguments decide say: kind, name, np.iinfo and np.finfo."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors, njit

X = np.array([[0, 2, 4], [6, 8, 10]])


@pytest.mark.parametrize("x", [X, X.T, X[:, ::2], X[0], X[:0], X.astype(np.uint8), X.astype(float), X * 1j, np.array(4)], ids=str)
def test_members_of_arrays(x):
    def f(v, x):
        return v in x, v not in x, v > 3 and v in x, [w for w in (1, 2, 4) if w not in x]

    for v in (4, 5, 0, 300, -1):
        assert njit(f)(v, x) == f(v, x), v
    assert njit(lambda v, x: v in x * 2)(8, X) and not njit(lambda v, x: 0 < v in x)(-2, X)
    assert not njit(lambda v, x: v in x)(np.nan, np.array([np.nan]))


def test_members_elsewhere():
    assert lw.guvectorize("(n),()->()")(lambda x, v: v in x)(X, np.array([4, 4])).tolist() == [True, False]
    with pytest.raises(errors.TypingError, match="`in` needs a number"):
        njit(lambda v, x: v in x)(np.ones(2), np.ones(2))
    with pytest.raises(errors.UnsupportedError, match="E160"):
        njit(lambda x: 1 in x)(np.zeros(2, [("a", "i4")]))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "?", "M8[D]", "m8[ms]"])
def test_what_a_dtype_says(dtype):
    x = np.zeros(2, dtype)

    def f(x):
        if x.dtype.kind in "iu":
            return np.iinfo(x.dtype).min, np.iinfo(x.dtype).max, np.iinfo(x.dtype).bits
        if x.dtype.kind == "f":
            return np.finfo(x.dtype).min, np.finfo(x.dtype).max, np.finfo(x.dtype).eps, np.finfo(x.dtype).tiny, np.finfo(x.dtype).bits
        return x.dtype.kind

    assert njit(f)(x) == f(x)
    assert njit(lambda x: (x.dtype.kind, x.dtype.name, x.dtype.itemsize))(x) == (x.dtype.kind, x.dtype.name, x.dtype.itemsize)


def test_limits_of_other_dtypes():
    with pytest.raises(errors.TypingError, match="np.finfo is for floats"):
        njit(lambda x: np.iinfo(x.dtype).max)(np.ones(2))
    with pytest.raises(errors.TypingError, match="np.iinfo is for integers"):
        njit(lambda x: np.finfo(x.dtype).max)(X)
    assert njit(lambda: (np.iinfo(np.int32).max, np.finfo(np.float32).eps))() == (2**31 - 1, np.finfo(np.float32).eps)
