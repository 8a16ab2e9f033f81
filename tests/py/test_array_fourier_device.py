"""numpy.fft on device arrays (lanewise/_array_fourier.py)."""

from __future__ import annotations

import numpy as np
import pytest

from device_checks import back, in_every_layout, put, same  # noqa: F401: put is a fixture
from fake_driver import needs_kernels

pytestmark = pytest.mark.filterwarnings("error::lanewise.errors.PerformanceWarning")  # no advice about our own kernels

g = np.random.default_rng(7)
R = g.normal(size=(4, 12))
C = R + 1j * R[::-1]
E3 = g.normal(size=(4, 5, 6))
I = g.integers(-9, 9, (3, 10))
ONE, REAL = (np.fft.fft, np.fft.ifft, np.fft.irfft, np.fft.hfft), (np.fft.rfft, np.fft.ihfft)

CASES = [
    *((f"{f.__name__}_{how}", lambda x, f=f, kw=kw: f(x, **kw), x) for f in ONE + REAL for x in ((R, C) if f in ONE else (R,))
      for how, kw in (("plain", {}), ("short", {"n": 7}), ("even", {"n": 8}), ("long", {"n": 17}), ("axis", {"axis": 0}), ("ortho", {"norm": "ortho"}), ("forward", {"norm": "forward", "axis": -2}))),
    *((f"{f.__name__}_{how}", lambda x, f=f, kw=kw: f(x, **kw), E3) for f in (np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn)
      for how, kw in (("plain", {}), ("s", {"s": (3, 8, 4), "axes": (0, 1, 2)}), ("axes", {"axes": (0, 2), "norm": "ortho"}), ("same", {"s": (-1, 4), "axes": (1, 0)}))),
    *((f.__name__, lambda x, f=f: f(x), E3) for f in (np.fft.fft2, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2)), ("fft2_axes", lambda x: np.fft.fft2(x, axes=(0, 1), norm="forward"), E3), ("ints", lambda x: np.fft.rfft(x), I),
    ("bools", lambda x: np.fft.fft(x), R > 0), ("float32", lambda x: np.fft.fft(x), R.astype("f4")), ("complex64", lambda x: np.fft.irfft(x), C.astype("F")), ("float16", lambda x: np.fft.rfft(x), R.astype("f2")), ("float16_back", lambda x: np.fft.irfft(x, norm="forward"), R.astype("f2")),
    ("no_rows", lambda x: np.fft.fft(x), R[:0]), ("no_rows_real", lambda x: np.fft.rfft(x), R[:0]), ("no_rows_back", lambda x: np.fft.irfft(x), R[:0]), ("fftshift", lambda x: np.fft.fftshift(x), E3), ("ifftshift", lambda x: np.fft.ifftshift(x, axes=1), E3), ("fftshift_axes", lambda x: np.fft.fftshift(x, (0, 2)), E3),
]


@pytest.mark.parametrize("name,f,arrays", [(row[0], row[1], row[2:]) for row in CASES], ids=[row[0] for row in CASES])
def test_numpys_results(name, f, arrays, put):
    in_every_layout(f, arrays, put)


@needs_kernels
@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 7, 8, 9, 16, 25, 30, 61, 64, 67, 77, 97, 128, 134, 243, 1009, 1024, 4098])
def test_every_length(n, put):
    """Radices 2, 3, 4 and others, and Bluestein's method for primes above 61; errors are as small as NumPy's."""
    x = g.normal(size=(2, n)) + 1j * g.normal(size=(2, n))
    for dtype, most in (("D", 1e-15), ("F", 8e-7)):
        y = x.astype(dtype)
        for f in (np.fft.fft, np.fft.ifft):
            got, want = back(f(put(y))), f(y)
            assert got.dtype == want.dtype and abs(got - want).max() <= most * abs(want).max() * max(np.log2(n), 1)
        got = back(np.fft.ifft(np.fft.fft(put(y))))
        assert abs(got - y).max() <= most * abs(y).max() * max(np.log2(n), 1)
        if n > 1:
            got = back(np.fft.irfft(np.fft.rfft(put(y.real.copy())), n))
            assert got.dtype == y.real.dtype and abs(got - y.real).max() <= 2 * most * abs(y).max() * max(np.log2(n), 1)


@needs_kernels
def test_the_input_stays(put):
    x = put(C.copy())
    np.fft.ifft(np.fft.fft(x)), np.fft.irfft(x), np.fft.fftn(x)
    same(back(x), C)
    out = put(np.zeros((4, 12), complex))
    assert np.fft.fft(x, out=out) is out
    same(back(out), np.fft.fft(C))
    assert np.fft.fft(x, out=x) is x
    same(back(x), np.fft.fft(C))


@needs_kernels
@pytest.mark.parametrize("f,kind,message", [
    (lambda d: np.fft.fft(d, n=0), ValueError, r"Invalid number of FFT data points \(0\)"), (lambda d: np.fft.fft(d, norm="best"), ValueError, "Invalid norm value best"), (lambda d: np.fft.fft(d, axis=2), np.exceptions.AxisError, "out of bounds"),
    (lambda d: np.fft.rfft(d * 1j), TypeError, "expected real numbers, got complex128"), (lambda d: np.fft.fftn(d, (2, 2, 2), (0, 1)), ValueError, "different lengths"), (lambda d: np.fft.fft(d.view("M8[s]")), TypeError, "must be numbers"),
    (lambda d: np.fft.irfft(d[:, :1]), ValueError, "data points"), (lambda d: np.fft.fft(d[:, :0]), ValueError, "data points"),
])
def test_what_is_refused(f, kind, message, put):
    with pytest.raises(kind, match=message):
        f(put(R.copy()))


@needs_kernels
def test_the_tables_are_bounded(put, monkeypatch):
    from lanewise import _array_fourier as fourier

    monkeypatch.setattr(fourier, "_KEPT_BYTES", 1 << 18)
    monkeypatch.setattr(fourier, "_tables", {})
    for n in range(1000, 1040):
        np.fft.fft(put(np.zeros(n)))
    lengths = {key[2] for key in fourier._tables}
    assert 0 < sum(x.nbytes for x in fourier._tables.values()) <= 1 << 18 and 1039 in lengths and 1000 not in lengths
