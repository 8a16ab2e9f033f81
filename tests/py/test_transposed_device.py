"""Ufuncs and copies of device arrays of which some are transposed: squares by patches, and squares that are turned in shared memory
(ufunc/device_tiles.c), at their edges too. Arrays have more than 2^18 elements, from which on there are squares."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device
from lanewise import cuda

pytestmark = [pytest.mark.gpu, needs_device, pytest.mark.usefixtures("simulated")]

DTYPES = ["bool", "int8", "uint16", "float16", "int32", "float32", "int64", "float64", "complex64", "complex128"]


@lw.vectorize
def three(x, y, z):
    return x - y * z


@lw.vectorize
def both(x, y):
    return x + y, x - y


@lw.vectorize
def refuses(x, y):
    if y == 77:
        raise ValueError(f"{y}")
    return x - y


def numbers(shape, dtype, seed=0):
    return np.random.default_rng(seed).integers(0, 50, shape).astype(dtype)


def same(got, want):
    got = got.copy_to_host() if isinstance(got, cuda.DeviceArray) else got
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sum_with_the_transposed(dtype):
    a = numbers((576, 576), dtype)
    d = cuda.to_device(a)
    same(d + d.T, a + a.T)
    if dtype == "float32":
        a[3, 5], a[100, 7], a[575, 0] = np.nan, np.inf, -0.0
        same(cuda.to_device(a) + cuda.to_device(a).T, a + a.T)


@pytest.mark.parametrize("shape", [(513, 520), (1000, 296), (64, 4104), (4104, 64), (4200, 63), (72, 3840), (520, 515)], ids=str)
def test_edges(shape):
    """The sides are multiples neither of the square's nor of an access."""
    for dtype in ("float16", "float32", "float64"):
        a, b = numbers(shape, dtype), numbers(shape[::-1], dtype, 1)
        d, e = cuda.to_device(a), cuda.to_device(b)
        same(d + e.T, a + b.T)
        same(e.T - d, b.T - a)
        same(lw.add(d.T, e.T.T), a.T + b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies(dtype):
    a = numbers((520, 640), dtype)
    d = cuda.to_device(a)
    same(d.T.copy(), a.T)
    out = cuda.to_device(np.zeros((640, 520), dtype))
    out[...] = d.T
    same(out, a.T)
    same(d.T.astype("float32") if dtype[0] != "c" else d.T.astype("complex128"), a.T.astype("float32" if dtype[0] != "c" else "complex128"))


def test_several_operands():
    a, b, c = (numbers((576, 512), dtype, i) for i, dtype in enumerate(("float32", "float64", "float32")))
    turned = [cuda.to_device(np.ascontiguousarray(x.T)).T for x in (a, b, c)]
    plain = [cuda.to_device(x) for x in (a, b, c)]
    for x, y, z in ((turned[0], plain[1], turned[2]), (turned[0], turned[1], plain[2]), (plain[0], turned[1], plain[2])):
        same(three(x, y, z), a - b * c)
    same(three(turned[0], 3.0, plain[2]), a - np.float32(3.0) * c)
    row, column = numbers((512,), "float32", 5), numbers((576, 1), "float32", 6)
    same(three(turned[0], cuda.to_device(row), plain[2]), a - row * c)
    same(three(turned[0], cuda.to_device(column), plain[2]), a - column * c)
    same(three(turned[0], cuda.to_device(row)[:1], plain[2]), a - row[:1] * c)
    for got, want in zip(both(turned[0], plain[2]), (a + c, a - c)):
        same(got, want)


def test_more_dimensions():
    a, b = numbers((5, 130, 520), "float32"), numbers((520, 130, 5), "float32", 1)
    d, e = cuda.to_device(a), cuda.to_device(b)
    same(d + e.T, a + b.T)
    f = numbers((5, 520, 130), "float32", 2)
    same(d + cuda.to_device(f).transpose(0, 2, 1), a + f.transpose(0, 2, 1))
    same(d[::-1] + cuda.to_device(f).transpose(0, 2, 1)[4:], a[::-1] + f.transpose(0, 2, 1)[4:])


def test_views():
    """Addresses and strides that permit no vectors, and strides that are negative."""
    a, b = numbers((600, 602), "float32"), numbers((602, 600), "float32", 1)
    d, e = cuda.to_device(a), cuda.to_device(b)
    for view in (lambda x: x[1:, 1:], lambda x: x[::-1], lambda x: x[:, ::-1], lambda x: x[:577, 4:580], lambda x: x[8:, 8:]):
        same(view(d) + view(e.T), view(a) + view(b.T))
    out = cuda.to_device(np.zeros((600, 608), "float32"))
    np.add(d, e.T, out=out[:, 4:606])
    want = np.zeros((600, 608), "float32")
    want[:, 4:606] = a + b.T
    same(out, want)


def test_output_that_is_an_operand():
    a = numbers((576, 576), "float32")
    d = cuda.to_device(a)
    np.add(d, d.T, out=d)
    same(d, a + a.T)
    d = cuda.to_device(a)
    np.add(d, d.T, out=d.T)
    same(d, (a + a.T).T)
    d = cuda.to_device(a)
    np.subtract(d[:, :512], d.T[:, 64:], out=d[:, :512])
    want = a.copy()
    np.subtract(a[:, :512], a.T[:, 64:], out=want[:, :512])
    same(d, want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_where(dtype):
    a, b, m = numbers((576, 520), dtype), numbers((520, 576), dtype, 1), numbers((576, 520), "bool")
    m[::3] = False
    d, e = cuda.to_device(a), cuda.to_device(b)
    for mask in (cuda.to_device(m), cuda.to_device(np.ascontiguousarray(m.T)).T, cuda.to_device(m[:, 0])[:, None], cuda.to_device(m[1])):
        out = cuda.to_device(np.full(a.shape, 7, dtype))
        np.add(d, e.T, out=out, where=mask)
        same(out, np.where(mask.copy_to_host(), a + b.T, np.full((), 7, dtype)))
    a, b, m = a[:513, :515], b[:515, :513], m[:513, :515]
    out = cuda.to_device(np.full((513, 520), 7, dtype))
    np.add(d[:513, :515], e[:515, :513].T, out=out[:, :515], where=cuda.to_device(m))
    same(out[:, :515], np.where(m, a + b.T, np.full((), 7, dtype)))
    assert (out.copy_to_host()[:, 515:] == np.full((), 7, dtype)).all()


def test_exceptions():
    a, b = numbers((576, 520), "int32"), numbers((520, 576), "int32", 1)
    same(refuses(cuda.to_device(a), cuda.to_device(b).T), a - b.T)
