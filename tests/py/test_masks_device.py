"""where= of ufuncs on device arrays: kernels whose threads load several elements before the first body runs."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device
from lanewise import cuda

pytestmark = needs_device

rng = np.random.default_rng(3)


@lw.vectorize
def add(a, b):
    return a + b


@lw.vectorize
def reciprocal(a):
    if a == 0:
        raise ZeroDivisionError("nothing to divide by")
    return 1 / a


MASKS = {
    "half": lambda shape: rng.random(shape) < 0.5,
    "few": lambda shape: rng.random(shape) < 0.01,
    "none": lambda shape: np.zeros(shape, bool),
    "rows": lambda shape: rng.random((shape[0],) + (1,) * (len(shape) - 1)) < 0.5,
    "columns": lambda shape: rng.random(shape[-1:]) < 0.5,
    "transposed": lambda shape: (rng.random(shape[::-1]) < 0.5).T,
}


@pytest.mark.parametrize("shape", [(5000,), (300_001,), (520, 600), (3, 300, 320)], ids=str)  # kernels are simple up to 2^18
@pytest.mark.parametrize("kind", MASKS)
def test_elements_outside_stay(shape, kind, simulated):
    mask = MASKS[kind](shape)
    for dtype in ("f4", "c8"):
        a, b = rng.integers(0, 50, (2, *shape)).astype(dtype)
        transposed = rng.integers(0, 50, shape[::-1]).astype(dtype)
        for second, on_device in ((b, cuda.to_device(b)), (transposed.T, cuda.to_device(transposed).T)):
            out = np.full(shape, 77, dtype)
            device = cuda.to_device(out)
            add(cuda.to_device(a), on_device, out=device, where=cuda.to_device(mask))
            np.add(a, second, out=out, where=mask)
            np.testing.assert_array_equal(device.copy_to_host(), out)


def test_in_place_and_from_itself(simulated):
    host = rng.integers(0, 50, (513, 513)).astype("f4")
    mask = rng.random(host.shape) < 0.5
    device = cuda.to_device(host)
    add(device, device.T, out=device, where=cuda.to_device(mask))
    want = host.copy()
    np.add(host, host.T, out=want, where=mask)
    np.testing.assert_array_equal(device.copy_to_host(), want)
    device = cuda.to_device(rng.random(300_000) < 0.5)
    lw.ufuncs.logical_not(device, out=device, where=device)  # the mask is the output
    np.testing.assert_array_equal(device.copy_to_host(), np.zeros(300_000, bool))


def test_the_body_runs_for_selected_elements_only(simulated):
    x = rng.integers(0, 3, (544, 500)).astype("f8")
    for host, device in ((x, cuda.to_device(x)), (x.T, cuda.to_device(x).T)):
        out = cuda.to_device(np.zeros(host.shape))
        reciprocal(device, out=out, where=cuda.to_device(np.ascontiguousarray(host != 0)))
        want = np.zeros(host.shape)
        np.divide(1, host, out=want, where=host != 0)
        np.testing.assert_array_equal(out.copy_to_host(), want)
        with pytest.raises(ZeroDivisionError):
            reciprocal(device, out=out, where=cuda.to_device(np.ones(host.shape, bool)))
            cuda.synchronize()
