"""Arrays of integers and masks as subscripts of device arrays, in the forms that the extension does without Python's code
(core/py/array/device_array_elements.c), and next to them those that it leaves. On the fake driver, whose kernels compute nothing, dtypes,
shapes and errors are compared."""

from __future__ import annotations

import numpy as np
import pytest

from fake_driver import FAKE, needs_device
from lanewise import _device_arrays, cuda

pytestmark = [pytest.mark.gpu, needs_device]

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
SHAPES = [(7,), (1,), (300,), (4, 5), (4, 1), (1, 6), (3, 2, 4), (2, 0)]


def numbers(shape, dtype):
    return np.random.default_rng(len(shape)).integers(0, 100, shape).astype(dtype)


def same(got, want):
    assert isinstance(got, cuda.DeviceArray)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if not FAKE:
        np.testing.assert_array_equal(got.copy_to_host(), want)


def places(n, shape, dtype="int64"):
    low = 0 if np.dtype(dtype).kind == "u" else -n
    return np.random.default_rng(n).integers(low, n, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements(dtype):
    for shape in SHAPES:
        a = numbers(shape, dtype)
        x = cuda.to_device(a)
        for of in ((), (0,), (1,), (5,), (1000,), (2, 3), (2, 0)):
            key = places(shape[0], of)
            i = cuda.to_device(key)
            same(x[i], a[key])
            same(x.take(i, 0), a.take(key, 0))
            same(np.take(x, i, axis=0), np.take(a, key, axis=0))
            same(np.take(x, i, axis=-1), np.take(a, key % max(shape[-1], 1), axis=-1)) if shape[-1] and len(shape) == 1 else None
            if a.size:
                every = places(a.size, of)
                same(x.take(cuda.to_device(every)), a.take(every))
                same(np.take(x, cuda.to_device(every)), np.take(a, every))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_dtypes_of_places(dtype):
    a, key = numbers((60,), "f4"), places(60, (40,), dtype)
    x, i = cuda.to_device(a), cuda.to_device(key)
    same(x[i], a[key])
    x[i] = 5
    a[key] = 5
    same(x, a)


def test_layouts():
    a = numbers((40, 6), "f4")
    x, key = cuda.to_device(a), places(20, (15,))
    i, every = cuda.to_device(key), cuda.to_device(np.repeat(key, 2))
    for view in (lambda y: y[::2, 3], lambda y: y[::-2, 1], lambda y: y[:20, ::2], lambda y: y.T[:, :20].T, lambda y: y[5:25]):
        for j in (i, every[::2], every[::-1]):
            same(view(x)[j], view(a)[j.copy_to_host()])
        if view(a).ndim == 1:
            view(x)[i] = 3.5
            view(a)[key] = 3.5
            same(x, a)
    flags = a[:, 2] > 40
    same(x[:, 2][cuda.to_device(flags)], a[:, 2][flags]) if not FAKE else None


VALUES = [0, -3, 2.5, True, 1e9, np.float32(1.5), np.int64(7), 300, 2 + 1j, np.nan, np.bool_(True), np.array(4), np.float64(3), "3", None, [2]]


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_numbers_that_are_assigned(value):
    """They are converted or refused as the elements of an array are by x[...] = value."""
    for dtype in DTYPES:
        a = numbers((20,), dtype)
        key, flags = places(20, (9,)), np.arange(20) % 3 == 1
        for to, where in ((a.copy(), key), (a.copy(), flags)):
            if FAKE and where is flags and isinstance(value, list):
                continue  # the true elements are counted on the device
            x = cuda.to_device(a)
            try:
                x[...] = value
                refused = None
            except Exception as error:
                refused = type(error)
            x = cuda.to_device(a)
            if refused is not None:
                with pytest.raises(refused):
                    x[cuda.to_device(where)] = value
                continue
            x[cuda.to_device(where)] = value
            one = cuda.to_device(np.zeros(1, dtype))
            one[...] = value
            to[where] = one.copy_to_host()[0]
            same(x, to)


def test_rows_that_are_assigned():
    a = numbers((30, 5), "i4")
    x, key = cuda.to_device(a), places(30, (50,))
    x[cuda.to_device(key)] = 9
    a[key] = 9
    same(x, a)
    x[:, cuda.to_device(key % 5)] = -1
    a[:, key % 5] = -1
    same(x, a)
    x.T[cuda.to_device(key % 5)] = 2
    a.T[key % 5] = 2
    same(x, a)


@pytest.mark.skipif(FAKE, reason="counts the true elements on the device")
@pytest.mark.parametrize("dtype", DTYPES)
def test_masks(dtype):
    for shape in (*SHAPES, (100001,), (300, 70), *([((1 << 20) + 5,)] if dtype == "float32" else [])):
        a = numbers(shape, dtype)
        for flags in (np.zeros(shape, bool), np.ones(shape, bool), np.random.default_rng(1).random(shape) < 0.3):
            x, m = cuda.to_device(a), cuda.to_device(flags)
            same(x[m], a[flags])
            x[m] = 1
            b = a.copy()
            b[flags] = 1
            same(x, b)
            if len(shape) > 1 and a.size:  # a mask of rows
                rows = np.ascontiguousarray(flags.reshape(shape[0], -1)[:, 0])
                same(x[cuda.to_device(rows)], b[rows])


@pytest.mark.parametrize("dtype", DTYPES)
def test_kernels(dtype):
    """The kernels run on NumPy arrays."""
    from lanewise import _device_array_kernels as kernels

    for n in (1, 33, 100001):
        a, key, flags = numbers((n,), dtype), places(n, (2 * n,)), np.random.default_rng(n).random(n) < 0.3
        out = np.empty(2 * n, dtype)
        kernels.take_elements(2 * n, a, key, out)
        np.testing.assert_array_equal(out, a[key])
        some = np.empty(np.count_nonzero(flags), dtype)
        kernels.take_chosen(n, a, flags, np.cumsum(flags), some)
        np.testing.assert_array_equal(some, a[flags])
        one = np.dtype(dtype).type(1)
        for kernel, where in ((kernels.fill_elements, key), (kernels.fill_chosen, flags)):
            got, want = a.copy(), a.copy()
            kernel(len(where), got, where, one)
            want[where] = one
            np.testing.assert_array_equal(got, want)
            bad = key.copy()
            bad[-1] = n
            if kernel is kernels.fill_elements:
                with pytest.raises(IndexError, match=f"index {n} is out of bounds for an axis with size {n}"):
                    kernel(len(bad), got, bad, one)


@pytest.mark.skipif(FAKE, reason="the kernel tells it")
def test_places_out_of_bounds():
    x = cuda.to_device(numbers((10,), "f4"))
    rows = cuda.to_device(numbers((10, 2), "f4"))
    for bad in (10, -11, 2**40):
        i = cuda.to_device(np.array([1, bad]))

        def put():
            x[i] = 0

        for call in (lambda: x[i], lambda: x.take(i), lambda: rows[i], put):
            with pytest.raises(IndexError, match=f"index {bad} is out of bounds for an axis with size 10"):
                call()
                cuda.synchronize()


def test_refused():
    x = cuda.to_device(numbers((10,), "f4"))
    for call, error, text in (
        (lambda: x[cuda.to_device(np.ones(3))], IndexError, "must be of integer"),
        (lambda: x[cuda.to_device(np.ones(3, bool))], IndexError, "boolean index did not match"),
        (lambda: x.take(cuda.to_device(np.ones(3))), TypeError, "Cannot cast"),
        (lambda: x.take(cuda.to_device(np.array([1])), 1), np.exceptions.AxisError, "axis 1"),
        (lambda: x[:0].take(cuda.to_device(np.array([1]))), IndexError, "empty axes"),
        (lambda: x.take(), TypeError, "indices"),
        (lambda: x.take(1, 2, 3, 4, 5), TypeError, "positional"),
        (lambda: x.take(cuda.to_device(np.array([1])), mode="no"), ValueError, "clipmode"),
    ):
        with pytest.raises(error, match=text):
            call()


def test_without_python(monkeypatch):
    """The usual forms do not call lanewise/_device_arrays.py."""
    a = numbers((10,), "f4")
    x, i, rows = cuda.to_device(a), cuda.to_device(np.array([1, -1, 3])), cuda.to_device(numbers((10, 3), "i2"))

    def left(*args):
        raise AssertionError

    for name in ("getitem", "setitem", "take"):
        monkeypatch.setattr(_device_arrays, name, left)
    for got in (x[i], x.take(i), x.take(i, 0), np.take(x, i), np.take(x, i, 0), np.take(x, i, axis=0)):
        assert got.shape == (3,) and got.dtype == np.float32
    assert rows[i].shape == (3, 3) and rows.take(i).shape == (3,)
    x[i] = 2
    x[cuda.to_device(a > 3)] = np.float32(1)


def test_streams():
    a = numbers((1000,), "f4")
    stream = cuda.stream()
    x = cuda.to_device(a, stream=stream)
    i = cuda.to_device(np.arange(999, -1, -1), stream=stream)
    same(x[i], a[::-1])
    x[i] = 1
    same(x, np.ones_like(a))


@pytest.mark.skipif(FAKE, reason="the fake driver's kernels compute nothing")
def test_stores_through_their_own_elements():
    for n in (6, 100_000):
        a = (np.arange(n) * 7919) % n
        x = cuda.to_device(a)
        a[a.copy()] = 100  # NumPy reads all indices first
        x[x] = 100
        same(x, a)
        flags = np.arange(n) % 3 == 0
        d_flags = cuda.to_device(flags)
        flags[1:][flags[:-1].copy()] = True
        d_flags[1:][d_flags[:-1]] = True
        same(d_flags, flags)
        a = np.arange(n)
        x = cuda.to_device(a)
        a[np.arange(1, n)] = a[: n - 1].copy()
        x[cuda.to_device(np.arange(1, n))] = x[: n - 1]
        same(x, a)
