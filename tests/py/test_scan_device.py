"""Scans of device arrays. On the fake driver, which runs no kernels, shapes and what is refused; on a GPU also
results. The kernel itself: test_scan_kernel.py."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device, needs_kernels
from lanewise import cuda

pytestmark = needs_device

total = lw.reduce(lambda a, b: a + b)
biggest = lw.reduce(lambda a, b: max(a, b))
last = lw.reduce(lambda a, b: b)
affine = lw.reduce(lambda a, b, c, d: (a * c, b * c + d), map=lambda a, b: (a, b))


def times(a, b):
    return a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]


matrices = lw.reduce(times, map=lambda p, q, r, s: (p, q, r, s), identity=(1, 0, 0, 1))


def some(shape, dtype="i4", seed=0):
    return (np.random.default_rng(seed).random(shape) * 100 - 50).astype(dtype)


def same(got, wanted):
    assert isinstance(got, cuda.DeviceArray) and got.dtype == wanted.dtype and got.shape == wanted.shape
    np.testing.assert_array_equal(got.copy_to_host(), wanted)


# ---- what the fake driver shows as well ----


@pytest.mark.parametrize("shape, axis", [((1000,), 0), ((30, 40), 0), ((30, 40), -1), ((3, 4, 5), 1), ((0, 5), 0), ((5, 0), 0), ((1 << 20,), 0), ((5, 100_000), 1)])
def test_shapes(shape, axis):
    x = cuda.to_device(np.ones(shape, "i2"))
    for exclusive in (False, True):
        got = total.accumulate(x, axis=axis, exclusive=exclusive)
        assert isinstance(got, cuda.DeviceArray) and got.shape == shape and got.dtype == np.int64
    assert total.accumulate(x, axis).shape == total.accumulate(x[::-1], axis, initial=3).shape == shape


def test_streams_and_several_results():
    stream = cuda.stream()
    x = cuda.to_device(np.ones(5000))
    first, second = affine.accumulate(x, x, stream=stream)
    assert first.shape == second.shape == (5000,)
    stream.synchronize()


def test_copies_where_strides_ask_for_them():
    x = cuda.to_device(np.ones((4, 5, 6)))
    assert total.accumulate(x.transpose(1, 0, 2), axis=2).shape == (5, 4, 6)
    assert total.accumulate(x[:, ::2], axis=2).shape == (4, 3, 6)


@pytest.mark.parametrize("call, error, text", [
    (lambda x: total.accumulate(x, axis=2), np.exceptions.AxisError, "axis 2"),
    (lambda x: total.accumulate(cuda.to_device(np.array(1.0))), TypeError, "scalar"),
    (lambda x: biggest.accumulate(x, exclusive=True), ValueError, "identity"),
    (lambda x: total.accumulate(x, out=np.zeros(10)), TypeError, "must be a device array"),
    (lambda x: total.accumulate(x, out=x[:5]), ValueError, "out= has shape"),
    (lambda x: affine.accumulate(x, np.ones(10)), TypeError, "argument 2 is not on a device"),
    (lambda x: lw.reduce(lambda a, b: a + b, target="cpu").accumulate(x), lw.errors.UnsupportedError, "host arrays"),
])
def test_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(cuda.to_device(np.ones(10)))


def test_target_cuda_copies_host_arrays():
    """They are copied to the device, and the result is copied back."""
    sums = lw.reduce(lambda a, b: a + b, target="cuda").accumulate(np.ones(10))
    assert type(sums) is np.ndarray and sums.shape == (10,)


def test_out_is_what_is_returned():
    x = cuda.to_device(np.ones(5))
    assert total.accumulate(x, out=x) is x


@pytest.mark.parametrize("shape, axis", [((1000,), 0), ((30, 40), 0), ((30, 40), 1), ((0, 5), 1), ((300_000,), 0), ((200_000, 3), 0)])
def test_shapes_of_slices(shape, axis):
    x = cuda.to_device(np.ones(shape, "i2"))
    for indices in ([0], [3, 1, 4], [], np.array([2, 4]), cuda.to_device(np.array([1, 2]))):
        got = total.reduceat(x, indices, axis)
        wanted = list(shape)
        wanted[axis] = len(indices)
        assert isinstance(got, cuda.DeviceArray) and got.shape == tuple(wanted) and got.dtype == np.int64


@pytest.mark.parametrize("call, error, text", [
    (lambda x: total.reduceat(x, [10]), IndexError, "index 10 out-of-bounds"),
    (lambda x: total.reduceat(x, cuda.to_device(np.array([0, -1]))), IndexError, "index -1 out-of-bounds"),
    (lambda x: total.reduceat(x, [0], axis=1), np.exceptions.AxisError, "axis 1"),
    (lambda x: total.reduceat(x, [0, 1], out=x), ValueError, "out= has shape"),
    (lambda x: total.reduceat(np.ones(10), cuda.to_device(np.array([0]))), TypeError, "argument 1 is not on a device"),
])
def test_refused_slices(call, error, text):
    with pytest.raises(error, match=text):
        call(cuda.to_device(np.ones(10)))


@pytest.mark.parametrize("call, error, text", [
    (lambda x: total.by_key(x, np.ones(10)), TypeError, "argument 1 is not on a device"),
    (lambda x: total.by_key(np.ones(10), x), TypeError, "keys are not on a device"),
    (lambda x: total.by_key(x[:5], x), ValueError, "10 rows of values do not match 5 keys"),
    (lambda x: total.by_key(x.reshape(2, 5), x), ValueError, "keys must have one dimension, not 2"),
    (lambda x: total.by_key(x), TypeError, "takes keys and 1 array of values, not 0"),
])
def test_refused_keys(call, error, text):
    with pytest.raises(error, match=text):
        call(cuda.to_device(np.ones(10)))


def test_no_keys():
    x = cuda.to_device(np.ones((0, 3), "f4"))
    keys, sums = total.by_key(cuda.to_device(np.ones(0, "i1")), x)
    assert keys.shape == (0,) and keys.dtype == np.int8 and sums.shape == (0, 3) and sums.dtype == np.float32


# ---- results ----

SIZES = [1, 2, 3, 31, 32, 33, 255, 256, 257, 1000, 4095, 4096, 4097, 8191, 8193, 65535, 131_071, 131_072, 131_073, 135_168,
         (1 << 22) - 1, 1 << 22, (1 << 22) + 1, (1 << 22) + 4097, (1 << 23) + 5]


@needs_kernels
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "f8", "c16"])
def test_every_size(dtype):
    for n in SIZES:
        x = some(n, seed=n).astype(dtype)
        same(total.accumulate(cuda.to_device(x)), np.add.accumulate(x.astype("i8") if dtype == "?" else x, dtype=np.add.reduce(x[:1]).dtype))
        if dtype not in ("?", "c16"):
            same(biggest.accumulate(cuda.to_device(x)), np.maximum.accumulate(x))


@needs_kernels
def test_all_sizes_to_5000():
    x = some(5000)
    device, wanted = cuda.to_device(x), np.cumsum(x)
    for n in range(1, 5001):
        assert np.array_equal(total.accumulate(device[:n]).copy_to_host(), wanted[:n])


@needs_kernels
@pytest.mark.parametrize("shape", [(300, 40), (40, 300), (3, 50_000), (50_000, 3), (1 << 16, 32), (32, 1 << 16), (1000, 1000), (1, 700), (700, 1), (7, 300, 50), (8, 3, 5000)], ids=str)
def test_axes(shape):
    x = some(shape)
    device = cuda.to_device(x)
    for axis in range(len(shape)):
        for exclusive in (False, True):
            same(total.accumulate(device, axis, exclusive), np.cumsum(x, axis) - (x if exclusive else 0))
        same(last.accumulate(device, axis), x)
        same(total.accumulate(device.T, axis), np.cumsum(x.T, axis))
        same(total.accumulate(device[::-1, ::2], axis), np.cumsum(x[::-1, ::2], axis))


@needs_kernels
@pytest.mark.parametrize("n", [1, 2, 100, 4097, 131_073, 5_000_001])
def test_order_is_kept(n):
    data = np.random.default_rng(n).integers(0, 2**32, (4, n), dtype="u4")
    for exclusive in (False, True):
        got = matrices.accumulate(*(cuda.to_device(row) for row in data), exclusive=exclusive)
        for g, w in zip(got, matrices.accumulate(*data, exclusive=exclusive)):
            same(g, w)


@needs_kernels
def test_the_same_bits_every_time():
    x = np.random.default_rng(9).random((1 << 23) + 77, "f4")
    device, y = cuda.to_device(x), cuda.to_device(x[: 3000 * 1000].reshape(3000, 1000))
    first = total.accumulate(device).copy_to_host()
    np.testing.assert_allclose(first, np.cumsum(x, dtype="f8"), rtol=1e-6)
    for _ in range(1000):
        assert np.array_equal(total.accumulate(device).copy_to_host(), first)
    for axis in (0, 1):
        first = total.accumulate(y, axis).copy_to_host()
        for _ in range(100):
            assert np.array_equal(total.accumulate(y, axis).copy_to_host(), first)


@needs_kernels
def test_many_small_scans_on_several_streams():
    x = some(1 << 16)
    device, wanted = cuda.to_device(x), np.cumsum(x)
    cuda.synchronize()
    streams = [cuda.stream() for _ in range(8)]
    sizes = np.random.default_rng(1).integers(1, 1 << 16, 100_000).tolist()
    for start in range(0, len(sizes), 500):
        results = [total.accumulate(device[:n], stream=streams[i % 8]) for i, n in enumerate(sizes[start:start + 500])]
        cuda.synchronize()
        for n, got in zip(sizes[start:start + 500], results):
            assert np.array_equal(got[-1:].copy_to_host(), wanted[n - 1:n])
        n, got = sizes[start], results[0].copy_to_host()
        assert np.array_equal(got, wanted[:n])


@needs_kernels
def test_out_over_the_operand():
    x = some((300, 4000))
    device = cuda.to_device(x)
    total.accumulate(device, axis=1, out=device)
    same(device, np.cumsum(x, 1, dtype="i4"))


@needs_kernels
def test_more_than_32_bits_of_elements():
    n = (1 << 31) + 4100
    ones = cuda.to_device(np.ones(1, "u1"))
    view = lw.reduce(lambda a, b: a + b, map=lambda v: lw.uint32(v))
    device = cuda.device_array(n, "u1")
    device[:] = ones
    got = view.accumulate(device)
    assert got[-3:].copy_to_host().tolist() == [n - 2, n - 1, n]
    assert got[(1 << 31) - 1:(1 << 31) + 2].copy_to_host().tolist() == [1 << 31, (1 << 31) + 1, (1 << 31) + 2]


@needs_kernels
@pytest.mark.parametrize("shape", [(5000,), (300, 40), (40, 3000), (3, 50_000), (50_000, 3), (7, 300, 50), (1_000_000,)], ids=str)
def test_slices(shape):
    x = some(shape)
    device, rng = cuda.to_device(x), np.random.default_rng(5)
    for axis in range(len(shape)):
        n = shape[axis]
        for indices in ([0], [n - 1], [0, n // 2], [n // 2, 0], sorted(rng.integers(0, n, 9).tolist()), rng.integers(0, n, 500).tolist(), list(range(min(n, 3000))), []):
            same(total.reduceat(device, indices, axis), np.add.reduceat(x, np.array(indices, "i8"), axis))
            same(last.reduceat(device, cuda.to_device(np.array(indices, "i8")), axis), last.reduceat(x, indices, axis))
        same(total.reduceat(device.T, [0, 1], -1 - axis), np.add.reduceat(x.T, [0, 1], -1 - axis))


@needs_kernels
@pytest.mark.parametrize("n", [1, 2, 100, 4095, 4097, 300_001, 5_000_001])
def test_keys(n):
    rng = np.random.default_rng(n)
    values = some(n, seed=n)
    for keys in (np.zeros(n, "u1"), np.arange(n), np.sort(rng.integers(0, n // 7 + 1, n)), rng.integers(0, 3, n).astype("f4")):
        wanted = total.by_key(keys, values)
        for _ in range(3):
            got = total.by_key(cuda.to_device(keys), cuda.to_device(values))
            same(got[0], wanted[0])
            same(got[1], wanted[1])
    rows = some((n // 50 + 1, 50))
    keys = np.sort(rng.integers(0, 9, len(rows)))
    got, wanted = total.by_key(cuda.to_device(keys), cuda.to_device(rows)), total.by_key(keys, rows)
    same(got[0], wanted[0])
    same(got[1], wanted[1])


@needs_kernels
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "f2"])
def test_large_arrays(dtype):
    """They have 64 MiB and more; the results do not depend on the launch or on where elements are."""
    n = (1 << 26) // np.dtype(dtype).itemsize + 12_345
    x = np.random.default_rng(1).integers(-1, 2, n) if dtype != "f2" else np.arange(n) % 2 * 2 - 1
    wanted = np.cumsum(x).astype(dtype)
    there = cuda.to_device(x.astype(dtype))
    for _ in range(3):
        same(total.accumulate(there), wanted)
    same(total.accumulate(there, exclusive=True), (np.cumsum(x) - x).astype(dtype))
    same(total.accumulate(there[1:]), (np.cumsum(x) - x[0]).astype(dtype)[1:])
    total.accumulate(there, out=there)
    same(there, wanted)
    rows = x[: n // 3 * 3].reshape(3, -1)
    same(total.accumulate(cuda.to_device(rows.astype(dtype)), axis=1), np.cumsum(rows, axis=1).astype(dtype))


@needs_kernels
def test_bits_and_order_of_large_arrays():
    x = np.random.default_rng(1).random((1 << 24) + 5, "f4")
    there, moved = cuda.to_device(x), cuda.to_device(np.concatenate([x[:1], x]))[1:]
    wanted = total.accumulate(there).copy_to_host()
    np.testing.assert_allclose(wanted, np.cumsum(x, dtype="f8"), rtol=1e-6)
    for _ in range(3):
        same(total.accumulate(there), wanted)
    same(total.accumulate(moved), wanted)
    maps = lw.reduce(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), map=lambda x: (x, x), identity=(1, 0), finish=lambda a, b: a + b)
    u = np.random.default_rng(2).integers(0, 2**32, 1 << 24, "u4")
    for exclusive in (False, True):
        same(maps.accumulate(cuda.to_device(u), exclusive=exclusive), maps.accumulate(u, exclusive=exclusive))
