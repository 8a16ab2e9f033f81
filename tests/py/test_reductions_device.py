"""DeviceArray's sum, mean, argmax and the like, and NumPy's functions that call them. On the fake driver, which runs no
kernels, dtypes and shapes; on a GPU also results."""

from __future__ import annotations

import numpy as np
import pytest

from fake_driver import needs_device, needs_kernels
from lanewise import cuda, reductions

pytestmark = needs_device

REDUCTIONS = ["sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "argmin", "argmax"]
DTYPES = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"]


def some(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.random(shape) * 1.5 + (0.3 if dtype[0] == "u" else -0.4)
    return (x + 1j * rng.random(shape) if dtype[0] == "c" else np.round(x, 3)).astype(dtype)


def is_like(got, wanted):
    wanted = np.asarray(wanted)
    assert isinstance(got, cuda.DeviceArray) and got.dtype == wanted.dtype and got.shape == wanted.shape
    return wanted


def same(got, wanted):
    wanted = is_like(got, wanted)
    np.testing.assert_allclose(got.copy_to_host(), wanted, rtol={"e": 5e-3, "f": 2e-5, "F": 2e-5}.get(wanted.dtype.char, 1e-12),
                               atol=2e-3 if wanted.dtype.char == "e" else 1e-6)


# ---- what the fake driver shows as well ----


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_dtypes_and_shapes(name, dtype):
    x = some((4, 5), dtype)
    device = cuda.to_device(x)
    function = getattr(np, name)
    for axis in (None, 0, -1):
        for keepdims in (False, True):
            wanted = function(x, axis=axis, keepdims=keepdims)
            is_like(getattr(device, name)(axis=axis, keepdims=keepdims), wanted)
            is_like(function(device, axis=axis, keepdims=keepdims), wanted)
    is_like(getattr(device, name)(1), function(x, 1))


def test_numpy_functions():
    x = some((4, 5), "f4")
    device, mask = cuda.to_device(x), cuda.to_device(x > 0.5)
    is_like(np.amax(device, axis=0), np.amax(x, axis=0))
    is_like(np.amin(device), np.amin(x))
    is_like(np.sum(device, axis=(0, 1), dtype="f8", initial=3), np.sum(x, axis=(0, 1), dtype="f8", initial=3))
    is_like(np.mean(device, where=mask, keepdims=True), np.mean(x, keepdims=True))
    is_like(np.var(device, ddof=1, axis=1), np.var(x, axis=1))
    is_like(np.count_nonzero(device, axis=0), np.count_nonzero(x, axis=0))
    is_like(np.count_nonzero(device), np.int64(0))
    out = cuda.to_device(np.zeros(5))
    assert np.sum(device, axis=0, out=out) is out and np.std(device, 0, out=out) is out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_scans_have_dtypes_and_shapes(name, dtype):
    x = some((4, 5), dtype)
    device, function = cuda.to_device(x), getattr(np, name)
    for axis in (None, 0, -1):
        is_like(function(device, axis=axis), function(x, axis=axis))
        is_like(getattr(device.T, name)(axis), function(x.T, axis))
    is_like(function(device, 0, "f8" if dtype[0] != "c" else "c16"), function(x, 0, "f8" if dtype[0] != "c" else "c16"))
    out = cuda.to_device(function(x, axis=1))
    assert function(device, axis=1, out=out) is out


def test_other_scans_have_shapes():
    x = some((40, 50), "f4")
    device = cuda.to_device(x)
    is_like(reductions.running_maximum(device, axis=1), x)
    is_like(reductions.affine_scan(device, device, axis=1, initial=2), x)
    is_like(reductions.segmented_sum(device, cuda.to_device(x > 0.5)), x)


def test_what_is_not_there():
    device = cuda.to_device(np.ones(3))
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        device.sum(order=1)
    with pytest.raises(ValueError, match="zero-size"):
        device[:0].max()


# ---- results ----


@needs_kernels
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_as_numpy(name, dtype):
    for shape in ((), (1,), (37,), (5, 7), (2, 3, 4), (3, 1000), (1000, 3)):
        x = some(shape, dtype)
        device = cuda.to_device(x)
        more = [(0, 1)] if len(shape) > 1 and name[:3] != "arg" else []
        for axis in (None, *range(len(shape)), *more):
            same(getattr(np, name)(device, axis=axis), getattr(np, name)(x, axis=axis))


@needs_kernels
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of empty slices
@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "all", "mean", "var", "std"])
def test_where(name):
    rng = np.random.default_rng(2)
    x = rng.random((200, 300))
    more = {"initial": 0.5} if name in ("sum", "prod", "min", "max") else {}
    for mask in (rng.random((200, 300)) < 0.5, rng.random(300) < 0.5, rng.random((200, 1)) < 0.9):
        for axis in (None, 0):
            same(getattr(np, name)(cuda.to_device(x), axis=axis, where=cuda.to_device(mask), **more), getattr(np, name)(x, axis=axis, where=mask, **more))


@needs_kernels
def test_large():
    x = some(3_000_001, "f4")
    x[[1_000_000, 2_000_000]] = 9
    device = cuda.to_device(x)
    assert int(device.argmax()) == 1_000_000 and int(np.argmin(device)) == x.argmin()
    assert float(device.mean()) == pytest.approx(x.mean(dtype="f8"), rel=1e-6)
    assert float(device.std()) == pytest.approx(x.std(dtype="f8"), rel=1e-5)
    assert int(np.count_nonzero(device)) == np.count_nonzero(x)
    x[[7, 2_999_999]] = np.nan
    device = cuda.to_device(x)
    assert int(device.argmax()) == int(device.argmin()) == 7 and np.isnan(float(device.max()))


@needs_kernels
def test_the_others():
    x = some((300, 400), "f4")
    device, tag = cuda.to_device(x), cuda.to_device(np.arange(120_000).reshape(300, 400))
    for got, wanted in zip(reductions.minmax(device, axis=0), (x.min(0), x.max(0))):
        same(got, wanted)
    value, payload = reductions.top1(device, tag)
    assert float(value) == x.max() and int(payload) == x.argmax()
    same(reductions.logsumexp(device, axis=1), np.logaddexp.reduce(x, axis=1))


@needs_kernels
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_scans_as_numpy(name, dtype):
    for shape in ((37,), (5, 7), (2, 3, 4), (3, 1000)):
        x = some(shape, dtype)
        for axis in (None, *range(len(shape))):
            wanted = getattr(np, name)(x, axis=axis, dtype="f4" if dtype == "f2" else None)
            same(getattr(np, name)(cuda.to_device(x), axis=axis), wanted.astype(dtype) if dtype == "f2" else wanted)


@needs_kernels
def test_other_scans():
    rng = np.random.default_rng(5)
    x = some((300, 400), "f4")
    same(reductions.running_maximum(cuda.to_device(x), axis=1), np.maximum.accumulate(x, axis=1))
    a, b = rng.random((2, 200_000)) * 0.9
    same(reductions.affine_scan(cuda.to_device(a), cuda.to_device(b)), reductions.affine_scan(a, b))
    values, starts = rng.integers(0, 100, 200_000), rng.random(200_000) < 0.001
    same(reductions.segmented_sum(cuda.to_device(values), cuda.to_device(starts)), reductions.segmented_sum(values, starts))
