"""mean= of var, std, nanvar and nanstd: NumPy's results around a mean that is given, in memory, in blocks and on devices."""

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions as R

TOLERANCE = {"f2": 3e-2, "f4": 1e-5, "c8": 1e-5}


def numbers(dtype):
    rng = np.random.default_rng(3)
    x = (rng.random((5, 6)) * 4).astype(dtype)
    if x.dtype.kind == "c":
        x = (x + 1j * rng.random((5, 6))).astype(dtype)
    return x


def same(found, expected, dtype):
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE.get(dtype, 1e-12), atol=TOLERANCE.get(dtype, 1e-12))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "?", "c8"])
@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_as_numpy(name, dtype):
    x, call, numpys = numbers(dtype), getattr(R, name), getattr(np, name)
    if name.startswith("nan") and x.dtype.kind in "fc":
        x[1, 2], x[3] = np.nan, np.nan
    for axis in (None, 0, 1):
        for mean in (np.nanmean(x, axis=axis, keepdims=True), 1.5, np.float32(1.25)):
            for given in ({}, {"ddof": 1}, {"keepdims": True}, {"correction": 2}, {"where": x.real > 1}):
                same(call(x, axis=axis, mean=mean, **given), numpys(x, axis=axis, mean=mean, **given), dtype)
    same(call(x, mean=None), numpys(x), dtype)


@pytest.mark.parametrize("name", ["var", "nanstd"])
def test_blocks(name):
    da = pytest.importorskip("dask.array")
    x = numbers("f8")
    for axis in (None, 0, 1):
        mean = x.mean(axis=axis, keepdims=True)
        d = da.from_array(x, chunks=(2, 4))
        for given in (mean, da.from_array(mean, chunks=1), d.mean(axis=axis, keepdims=True), 1.5):
            expected = getattr(np, name)(x, axis=axis, mean=1.5 if np.isscalar(given) else mean)
            found = getattr(R, name)(d, axis=axis, mean=given)
            assert isinstance(found, da.Array)
            same(found.compute(scheduler="synchronous"), expected, "f8")


def test_device_arrays():
    with lw.config(target="cpu"):
        x = numbers("f8")
        d = lw.cuda.to_device(x)
        for found in (d.var(axis=1, mean=d.mean(axis=1, keepdims=True)), np.var(d, axis=1, mean=d.mean(axis=1, keepdims=True))):
            assert isinstance(found, lw.cuda.DeviceArray)
            same(found.copy_to_host(), x.var(axis=1), "f8")
        same(np.std(d, mean=2.0).copy_to_host(), np.std(x, mean=2.0), "f8")


@pytest.mark.parametrize("dtype", ["b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_means_of_integers(dtype):
    x = np.random.default_rng(7).integers(0, 2 if dtype == "b1" else 100, (30, 40)).astype(dtype)
    out = np.empty(40, "f4")
    with lw.config(target="cpu"):
        device = lw.cuda.to_device(x)
        for axis in (None, 0, 1):
            for found in (R.mean(x, axis=axis), R.mean(device, axis=axis).copy_to_host(), device.mean(axis=axis).copy_to_host(), R.nanmean(x, axis=axis)):
                same(found, np.mean(x, axis=axis), "f8")
    assert R.mean(x, axis=0, out=out) is out and np.array_equal(out, np.mean(x, axis=0).astype("f4"))
    same(R.mean(x, dtype="f4"), np.mean(x, dtype="f4"), "f4")
    if dtype[1] != "1":  # the sum exceeds the dtype, and of 64 bits also the int64
        most = np.full(1000, np.iinfo(dtype).max)
        assert R.mean(most) == np.mean(most)


def test_bad_means():
    x = np.ones((2, 3))
    for mean, kind, text in ((np.zeros(2), ValueError, r"mean= of shape \(2,\) cannot be broadcast to the array's \(2, 3\)"),
                             (np.zeros((1, 2, 3)), ValueError, "mean= of shape"), (np.ma.array([1.0]), TypeError, "^var: mean= is a masked array"),
                             ("a", TypeError, "dtype")):
        with pytest.raises(kind, match=text):
            R.var(x, mean=mean)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert R.var(x, mean=1) == 0.0
