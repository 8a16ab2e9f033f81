"""Host arrays of bfloat16, which NumPy has from ml_dtypes: ufuncs, gufuncs and their methods."""

import numpy as np
import pytest

import lanewise as lw

ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 of its own")
BF16 = ml_dtypes.bfloat16
X = np.array([1, 2.5, -3, 100], BF16)


@pytest.mark.parametrize("signatures", [None, ["bfloat16(bfloat16)"]])
def test_a_ufunc_of_one_operand(signatures):
    f = (lw.vectorize(signatures) if signatures else lw.vectorize)(lambda x: x + 1)
    for x in (X, X[::2], X.reshape(2, 2).T, X[:0], X[1], np.array(X[1])):
        got = f(x)
        assert got.dtype == BF16 and np.array_equal(got, x + BF16(1)) and np.shape(got) == np.shape(x)
    assert f.types == ["E->E"]
    out = X.copy()
    assert f(X, out=out, where=X > 0) is out and np.array_equal(out, np.where(X > 0, X + BF16(1), X))


@pytest.mark.parametrize("other", [np.float32, np.float64, np.int8, np.int32, bool, BF16])
def test_promotion(other):
    got = lw.vectorize(lambda x, y: x * y)(X, np.ones(4, other))
    want = lw.from_dtype(np.dtype(other)) if other is not BF16 else None
    assert got.dtype == (BF16 if want in (None, lw.int8, lw.bool_) else np.promote_types(np.float32, other) if other is not np.int32 else np.float64)
    assert np.array_equal(got.astype(float), X.astype(float))


def test_methods():
    add = lw.vectorize(lambda x, y: x + y)
    assert np.array_equal(add.accumulate(X), np.cumsum(X.astype(np.float32)).astype(BF16))
    assert add.outer(X, X).dtype == BF16 and add.reduce(X).dtype == BF16
    out = X.copy()
    add.at(out, [0, 0, 1], BF16(1))
    assert np.array_equal(out, np.array([3, 3.5, -3, 100], BF16))


def test_a_gufunc():
    @lw.guvectorize(["(bfloat16[:], bfloat16[:])"], "(n)->(n)")
    def double(x, out):
        for i in range(len(x)):
            out[i] = x[i] * 2

    got = double(X.reshape(2, 2))
    assert got.dtype == BF16 and np.array_equal(got, (X * BF16(2)).reshape(2, 2))
    assert lw.guvectorize("(n)->()")(lambda x: x.sum())(X) == 100.5


def test_other_small_floats_are_refused():
    with pytest.raises(TypeError):
        lw.vectorize(lambda x: x + 1)(np.ones(2, ml_dtypes.float8_e5m2))


@pytest.mark.parametrize("shape", [(5,), (40, 9), (300, 302)])
def test_medians_and_quantiles_see_nan(shape):
    rng = np.random.default_rng(shape[0])
    for has_nan in (False, True):
        x = rng.standard_normal(shape).astype(BF16)
        if has_nan:
            x.reshape(-1)[::7] = np.nan
        same = x.astype(np.float32)
        for axis in (None, 0, -1):
            for name, q in (("median", ()), ("nanmedian", ()), ("quantile", (0.3,)), ("nanquantile", ([0.1, 0.9],)), ("percentile", (30,)), ("nanpercentile", (30,))):
                got, wanted = getattr(lw.reductions, name)(x, *q, axis=axis), getattr(np, name)(same, *q, axis=axis)
                assert got.dtype == (BF16 if not q else wanted.dtype)
                assert np.array_equal(got.astype(np.float32), wanted.astype(got.dtype).astype(np.float32), equal_nan=True), (name, axis)
    out = np.zeros(shape[1:], BF16)
    assert lw.reductions.median(x, axis=0, out=out) is out and np.array_equal(out.astype("f4"), lw.reductions.median(x, axis=0).astype("f4"), equal_nan=True)
    with pytest.raises(TypeError):
        lw.reductions.median(x, axis=0, out=np.zeros(shape[1:], int))
