"""Calls of NumPy's functions with device arrays, and what they are compared with. Without a GPU, arrays that stand for device arrays run the same text."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE
from lanewise import cuda


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def put(request):
    """Copies the arrays among the arguments to the device, or to what stands for it."""
    if request.param == "cuda":
        if not cuda.is_available():
            pytest.skip("no CUDA device")
        yield cuda.to_device
        return
    with lw.config(target="cpu"):
        yield cuda.to_device


def back(x):
    if isinstance(x, (tuple, list)):
        return tuple(map(back, x))
    return x.copy_to_host() if hasattr(x, "copy_to_host") else x


def same(got, want):
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w)
        return
    if isinstance(want, str):
        assert got == want
        return
    want = np.asarray(want)
    if FAKE and not isinstance(got, np.ndarray):
        return
    assert isinstance(got, np.ndarray) and got.dtype == want.dtype and got.shape == want.shape, (getattr(got, "dtype", type(got)), want.dtype, np.shape(got), want.shape)
    if FAKE:  # which computes nothing
        return
    if want.dtype.kind in "fc":
        tolerance = {2: 4e-3, 4: 1e-5}.get(np.finfo(want.dtype).dtype.itemsize, 1e-12)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(got, want)


def in_every_layout(f, arrays, put):
    """Compare f of device arrays with f of these arrays: in C order, in Fortran order, and with gaps between the elements."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = f(*arrays)
        for form in (lambda x: x, lambda x: np.asfortranarray(x) if x.ndim else x, lambda x: np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x):
            same(back(f(*(put(form(x)) for x in arrays))), want)
