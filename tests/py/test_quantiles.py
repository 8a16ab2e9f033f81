"""Medians and quantiles of lanewise.reductions, against NumPy's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda
from lanewise import reductions as R
from lanewise import _quantiles  # isort: skip: behind what it is a part of

rng = np.random.default_rng(5)
A = rng.random((4, 5, 3))
SOME = np.where(rng.random(A.shape) < 0.3, np.nan, A)
NONE = SOME.copy()
NONE[1] = np.nan
ARRAYS = {"all": A, "some NaN": SOME, "rows of NaN": NONE, "float32": SOME.astype("f4"), "ints": rng.integers(-9, 9, (3, 4)), "one axis": SOME.ravel(), "number": np.array(2.5)}
CALLS = [("median", ()), ("nanmedian", ()), ("quantile", (0.3,)), ("nanquantile", (0.3,)), ("percentile", (30,)), ("nanpercentile", (30,)), ("quantile", ([0.0, 0.4, 1.0],)),
         ("nanquantile", ([0.0, 0.4, 1.0],)), ("nanpercentile", (np.array([10.0, 99.0]),))]
METHODS = ("linear", "lower", "higher", "nearest", "midpoint", "hazen")


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize(("name", "q"), CALLS)
@pytest.mark.parametrize("key", ARRAYS)
def test_as_numpys(name, q, key):
    a, f, numpys = ARRAYS[key], getattr(R, name), getattr(np, name)
    with lw.config(target="cpu"):
        d = cuda.to_device(a)
        for axis in (None, 0, -1, 1)[: 1 if a.ndim == 0 else 3 if a.ndim == 1 else 4]:
            for keepdims in (False, True):
                for method in ({},) if "median" in name else [{"method": method} for method in METHODS]:
                    want = numpys(a, *q, axis=axis, keepdims=keepdims, **method)
                    for given in (a, a.tolist() if a.dtype.kind == "f" and a.dtype.itemsize == 8 else a):
                        got = f(given, *q, axis=axis, keepdims=keepdims, **method)
                        assert got.dtype == want.dtype and np.shape(got) == np.shape(want)
                        np.testing.assert_array_equal(got, want)
                    got = f(d, *q, axis=axis, keepdims=keepdims, **method)
                    assert isinstance(got, cuda.DeviceArray) and got.dtype == want.dtype and got.shape == np.shape(want)
                    np.testing.assert_allclose(got.copy_to_host(), want, rtol=1e-6)
                    out = np.empty_like(want)
                    assert f(a, *q, axis=axis, out=out, keepdims=keepdims, **method) is out
                    np.testing.assert_array_equal(out, want)


def test_other_arrays():
    for name, q in CALLS:
        f, numpys = getattr(R, name), getattr(np, name)
        with pytest.raises(TypeError, match=f"^{name}: argument 1 is a masked array, whose mask compiled code would ignore; pass x.filled"):
            f(np.ma.array(A[0], mask=A[0] > 0.5), *q)
        with pytest.raises(TypeError, match=rf"^{name}\(\) needs numbers, not records"):
            f(np.zeros(3, [("a", "f8")]), *q)
    with pytest.raises(ValueError, match="Quantiles must be in the range"):
        R.nanquantile(A, 1.5)
    with pytest.raises(np.exceptions.AxisError):
        R.nanmedian(A, axis=3)


def test_arrays_of_other_libraries():
    da, pd, xr = pytest.importorskip("dask.array"), pytest.importorskip("pandas"), pytest.importorskip("xarray")
    for name, q in CALLS:
        f, numpys = getattr(R, name), getattr(np, name)
        np.testing.assert_allclose(f(da.from_array(SOME, chunks=2), *q, axis=0).compute(scheduler="synchronous"), numpys(SOME, *q, axis=0))
        np.testing.assert_array_equal(f(pd.Series(SOME[0, :, 0]), *q), numpys(SOME[0, :, 0], *q))
        with pytest.raises(TypeError, match=f"^{name}: argument 1 is a pandas Series of dtype Float64 with missing values"):
            f(pd.Series([1.0, None], dtype="Float64"), *q)
        with pytest.raises(TypeError, match=f"^{name}: argument 1 is an xarray DataArray .*; pass x.data"):
            f(xr.DataArray(SOME[0], dims=("a", "b")), *q)


@pytest.mark.parametrize("name", ["median", "nanmedian", "quantile", "nanquantile", "percentile", "nanpercentile"])
def test_a_wrong_out_is_refused_before_any_work(name, monkeypatch):
    q = () if name.endswith("median") else ([0.5, 0.25],)
    front = tuple(map(len, q))
    for n in (3, 40_000):
        x = np.arange(4.0 * n).reshape(4, n)
        frozen = np.full((*front, 4), -7.0)
        frozen.flags.writeable = False
        wrong = [(np.full(5, -7.0), ValueError, "out= has shape"), (np.full((*front, 1, 4), -7.0), ValueError, "out= has shape"), (np.full((), -7.0), ValueError, "out= has shape"),
                 (frozen, ValueError, "read-only"), ([-7.0] * 4, TypeError, "out= must be an array, not list"), ("x", TypeError, "out= must be an array, not str")]
        with monkeypatch.context() as m:
            m.setattr(_quantiles, "of_rows", None)
            m.setattr(np, name, None)
            for out, error, match in wrong:
                with pytest.raises(error, match=f"{name}: .*{match}"):
                    getattr(R, name)(x, *q, axis=1, out=out)
                assert isinstance(out, (str, list)) or (out == -7).all()
        for keepdims, shape in ((False, (*front, 4)), (True, (*front, 4, 1))):
            for dtype in ("f8", "f4", "c16", "O"):
                out, expected = np.zeros(shape, dtype), np.zeros(shape, dtype)
                assert getattr(R, name)(x, *q, axis=1, out=out, keepdims=keepdims) is out
                getattr(np, name)(x, *q, axis=1, out=expected, keepdims=keepdims)
                np.testing.assert_array_equal(out, expected)
        assert getattr(R, name)(x, *q, axis=(0, 1), out=np.zeros(front)).shape == front
