"""Reductions of device arrays. On the fake driver, which runs no kernels, what is launched and what is
refused; on a GPU also results."""

from __future__ import annotations

import ctypes
import os

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE, needs_device, needs_kernels
from lanewise import cuda

pytestmark = needs_device

total = lw.reduce(lambda a, b: a + b)
biggest = lw.reduce(lambda a, b: max(a, b))
first = lw.reduce(lambda a, b: a)
last = lw.reduce(lambda a, b: b)


def some(shape, dtype="f4", seed=0):
    return (np.random.default_rng(seed).random(shape) * 7).astype(dtype)


def host(result):
    return result.copy_to_host()


def close(got, wanted):
    wanted = np.asarray(wanted)
    assert isinstance(got, cuda.DeviceArray) and got.dtype == wanted.dtype and got.shape == wanted.shape
    tolerance = {"e": 2e-3, "f": 2e-6, "F": 2e-6}.get(wanted.dtype.char, 1e-13)
    np.testing.assert_allclose(host(got), wanted, rtol=tolerance)


# ---- what the fake driver shows as well ----


@pytest.mark.parametrize("shape, axis, keepdims, wanted", [
    ((1000,), None, False, ()), ((30, 40), 0, False, (40,)), ((30, 40), -1, True, (30, 1)),
    ((3, 4, 5), (0, 2), False, (4,)), ((3, 4, 5), 1, False, (3, 5)), ((0, 5), 0, False, (5,)), ((0, 5), 1, False, (0,)),
    ((), None, False, ()), ((1 << 20,), None, True, (1,)), ((5, 100_000), 1, False, (5,)),
])
def test_shapes(shape, axis, keepdims, wanted):
    got = total(cuda.to_device(np.ones(shape, "f4")), axis=axis, keepdims=keepdims)
    assert isinstance(got, cuda.DeviceArray) and got.shape == wanted and got.dtype == np.float32


def test_several_results_and_streams():
    stream = cuda.stream()
    both = lw.reduce(lambda a, b: (min(a[0], b[0]), max(a[1], b[1])), map=lambda v: (v, v))
    low, high = both(cuda.to_device(some((50, 60))), axis=1, stream=stream)
    assert low.shape == high.shape == (50,)
    stream.synchronize()


product_sum = lw.reduce(lambda a, b: a + b, map=lambda x, p: x * p)
NUMBERS = [3, 0.5, 2 + 1j, True, np.float64(3), np.float32(0.5), np.int16(2), np.array(3.0)]


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.parametrize("dtype", ["i1", "f2", "f4", "f8", "c8"])
def test_numbers_beside_arrays_have_the_dtypes_of_the_host(number, dtype):
    x = np.ones((3, 50), dtype)
    d = cuda.to_device(x)
    for call in (lambda a: product_sum(a, number), lambda a: product_sum(number, a, axis=1), lambda a: product_sum.accumulate(a, number, axis=1),
                 lambda a: product_sum.reduceat(a, number, indices=[0, 2])):
        got, wanted = call(d), call(x)
        assert isinstance(got, cuda.DeviceArray) and got.dtype == wanted.dtype and got.shape == np.shape(wanted)


def test_numbers_beside_arrays_are_errors_where_they_are_on_the_host():
    with pytest.raises(OverflowError, match="300"):
        product_sum(cuda.to_device(np.ones(3, "i1")), 300)
    stream = cuda.stream()
    assert product_sum(cuda.to_device(np.ones(30)), 2.0, stream=stream).shape == ()
    assert lw.reductions.affine_scan(cuda.to_device(np.ones(30, "f4")), 0.5).dtype == np.float32
    assert lw.reductions.segmented_sum(cuda.to_device(np.ones(30, "f4")), True).dtype == np.float32
    stream.synchronize()


@needs_kernels
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_values_of_numbers_beside_arrays(number):
    for dtype in ("i4", "f4", "f8", "c8"):
        x = np.rint(some((30, 1000), dtype))  # so that all sums are exact
        d = cuda.to_device(x)
        for _ in range(2):  # a call that is remembered would be the second one
            close(product_sum(d, number), product_sum(x, number))
            close(product_sum(number, d, axis=0), product_sum(number, x, axis=0))
            close(product_sum.accumulate(d, number, axis=1), product_sum.accumulate(x, number, axis=1))
            close(product_sum(d, 2), product_sum(x, 2))
            close(product_sum.by_key(cuda.to_device(np.arange(30) // 4), d, number)[1], product_sum.by_key(np.arange(30) // 4, x, number)[1])
    x = some(1000) / 128  # so that no product overflows
    close(lw.reductions.affine_scan(cuda.to_device(x), 0.5), lw.reductions.affine_scan(x, 0.5))
    close(lw.reductions.affine_scan(0.5, cuda.to_device(x)), lw.reductions.affine_scan(0.5, x))


@pytest.mark.parametrize("call, error, text", [
    (lambda x: biggest(x[:0]), ValueError, "no identity"),
    (lambda x: total(x, axis=2), np.exceptions.AxisError, "axis 2"),
    (lambda x: biggest(x, where=[True] * 10), ValueError, "where mask one has to specify"),
    (lambda x: total(x, where=[True] * 9), ValueError, "where= of shape .9,. cannot be broadcast to .10,."),
    (lambda x: total(x, where=x), TypeError, "where= must be a bool array, not one of float64"),
    (lambda x: total(x, out=x), ValueError, r"out= has shape \(10,\), but the result has \(\)"),
    (lambda x: total(x, out=np.zeros(())), TypeError, "must be a device array"),
    (lambda x: total(x, out=cuda.to_device(np.array(0))), TypeError, r"cannot take results of dtype\('float64'\); the array is of dtype\('float64'\)"),
    (lambda x: total(x.astype("f4"), out=cuda.to_device(np.array(0))), TypeError, r"cannot take results of dtype\('float64'\); the array is of dtype\('float32'\)"),
    (lambda x: total(x, out=(x, x)), TypeError, "tuple of 1 arrays"),
    (lambda x: total(x, x), TypeError, "gives a tuple of 4 numbers.*pass map="),
    (lambda x: total(cuda.to_device(np.zeros(3, [("a", "f4"), ("b", "i4")]))), TypeError, "have a record of 2"),
    (lambda x: lw.reduce(lambda a, b: a + b, map=lambda a, b: a * b)(x, np.ones(10)), TypeError, "argument 2 is not on a device"),
])
def test_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(cuda.to_device(np.ones(10)))


def test_out_is_what_is_returned():
    out = cuda.to_device(np.zeros(5, "f8"))
    assert total(cuda.to_device(np.ones((5, 7), "f4")), axis=1, out=out) is out


def test_out_is_written_at_once_where_it_can_be():
    x, running = cuda.to_device(np.ones((5, 7), "f4")), lw.reduce(lambda a, b: a + b)
    for out in (np.zeros((5, 7), "f4"), np.zeros((5, 7), "f8"), np.zeros((7, 5), "f4").T):
        out = cuda.to_device(out)
        assert running.accumulate(x, axis=1, out=out) is out and running.accumulate(x, out=out) is out
    assert running.accumulate(x, out=x) is x
    low, high = (cuda.to_device(np.zeros(5, "f4")) for _ in range(2))
    both = lw.reduce(lambda a, b: (min(a[0], b[0]), max(a[1], b[1])), map=lambda v: (v, v))
    got = both(x, axis=1, out=(low, high))
    assert got[0] is low and got[1] is high
    got = both(x, axis=1, out=(low, low))
    assert got[0] is low and got[1] is low
    assert total(x, axis=0, out=x[0]).shape == (7,)


@needs_kernels
def test_out_that_is_part_of_an_operand():
    a = np.arange(300_000.0).reshape(3, -1)
    for out in (np.zeros((3, 100_000)), None):
        x = cuda.to_device(a)
        got = total.accumulate(x, axis=1, out=x if out is None else cuda.to_device(out))
        assert (host(got) == np.cumsum(a, axis=1)).all()
    x = cuda.to_device(a)
    total(x, axis=0, out=x[1])
    assert (host(x)[1] == a.sum(axis=0)).all() and (host(x)[2] == a[2]).all()


def test_by_key_takes_a_stream():
    stream = cuda.stream()
    if FAKE:
        with pytest.raises(TypeError, match="unexpected keyword argument 'axis'"):
            total.by_key(cuda.to_device(np.arange(3)), cuda.to_device(np.arange(3)), axis=0)
    else:
        keys, sums = total.by_key(cuda.to_device(np.arange(10) // 4), cuda.to_device(np.arange(10)), stream=stream)
        assert keys.tolist() == [0, 1, 2] and sums.tolist() == [6, 22, 17]
    assert total.by_key([1, 1], [2, 3], stream=stream)[1] == [5]


def test_numbas_call_forms():
    r, x, stream = cuda.reduce(lambda a, b: a + b), cuda.to_device(np.arange(10.0)), cuda.stream()
    for keywords in ({}, {"size": 5}, {"init": 3.0}, {"stream": stream}, {"size": 4, "init": 2, "stream": 0}):
        got = r(x, **keywords)
        assert isinstance(got, cuda.DeviceArray) and got.shape == () and got.dtype == np.float64
        assert r(x, res=cuda.to_device(np.zeros(3)), **keywords) is None
    assert r(x, res=np.zeros(1)) is None
    assert isinstance(cuda.Reduce(lambda a, b: max(a, b))(x, init=0), cuda.DeviceArray)


def test_target_cuda_takes_host_arrays():
    r, x, out = lw.reduce(lambda a, b: a + b, target="cuda"), np.arange(12, dtype=">f4").reshape(3, 4), np.zeros(3)
    results = r(x), r(x, axis=0, where=x > 3), r.accumulate(x[0]), r.reduceat(x[0], indices=[0, 2]), r(x[0], size=2), r(x, out=...)
    assert [type(v) for v in results] == [np.float32, np.ndarray, np.ndarray, np.ndarray, np.float32, np.ndarray]
    assert r(x, axis=1, out=out) is out and r(x, res=out) is None
    with pytest.raises(ValueError, match="out= has shape"):
        r(x, axis=0, out=out)
    with pytest.raises(TypeError, match="out= must be a NumPy array where the input is one"):
        r(x, out=cuda.to_device(out))
    for method in (r, r.accumulate, r.reduceat):
        with pytest.raises(TypeError, match="array"):
            method()
    if not FAKE:
        assert results[0] == 66 and out[0] == 66 and (results[1] == np.sum(x, axis=0, where=x > 3)).all()


@needs_kernels
def test_numbas_call_forms_give():
    r, x, res = cuda.reduce(lambda a, b: a + b), cuda.to_device(np.arange(10.0)), cuda.to_device(np.full(3, 7.0))
    assert r(x, size=5, init=100) == 110 and cuda.Reduce(lambda a, b: max(a, b))(x, init=50) == 50
    assert r(x, res=res, stream=cuda.stream()) is None and res.tolist() == [45, 7, 7]


# ---- results ----

SIZES = [1, 2, 3, 31, 32, 33, 255, 256, 257, 1000, 4095, 4096, 4097, 16383, 16384, 16385, 65536, 100_003, 1 << 20, (1 << 22) + 5]


@needs_kernels
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_every_size(dtype):
    for n in SIZES:
        x = some(n, dtype, seed=n)
        wanted = np.add.reduce(x, dtype="f4").astype("f2") if dtype == "f2" else np.add.reduce(x)
        close(total(cuda.to_device(x)), wanted)
        if dtype not in ("c8", "c16"):
            close(biggest(cuda.to_device(x)), np.max(x))


@needs_kernels
@pytest.mark.parametrize("shape", [(300, 40), (40, 300), (3, 50_000), (50_000, 3), (1 << 16, 32), (32, 1 << 16), (1000, 1000), (1, 700), (700, 1)], ids=str)
def test_axes(shape):
    x = some(shape)
    for view in (x, x.T, x[::-1, ::2]):
        device = cuda.to_device(x)
        device = device if view is x else device.T if view.shape == x.T.shape and view.strides == x.T.strides else device[::-1, ::2]
        for axis in (None, 0, 1, (0, 1)):
            close(total(device, axis=axis), np.add.reduce(view, axis=axis, dtype="f8").astype("f4"))
            close(biggest(device, axis=axis, initial=3), np.max(view, axis=axis, initial=3))


@needs_kernels
@pytest.mark.parametrize("axis", [None, 0, 1, 2, 3, (0, 1), (1, 3), (0, 2, 3), (-1, 0), (3, 2, 1, 0)], ids=str)
def test_four_dimensions(axis):
    x = some((7, 5, 6, 9), "f8")
    close(total(cuda.to_device(x), axis=axis), np.add.reduce(x, axis=axis))
    close(total(cuda.to_device(x), axis=axis, keepdims=True), np.add.reduce(x, axis=axis, keepdims=True))


@needs_kernels
def test_out():
    x = some((30, 40), "f8")
    device = cuda.to_device(x)
    total(device, axis=0, out=device[3])
    np.testing.assert_allclose(host(device)[3], x.sum(0))
    out = cuda.to_device(np.zeros((40, 2), "f4"))
    total(cuda.to_device(x), axis=0, out=(out[:, 1],))
    np.testing.assert_allclose(host(out)[:, 1], x.sum(0), rtol=1e-6)
    assert not host(out)[:, 0].any()
    assert float(host(total(cuda.to_device(x[0]), size=3))) == pytest.approx(x[0, :3].sum())  # of one dimension


@needs_kernels
def test_nothing_and_initial():
    x = cuda.to_device(np.ones((0, 4)))
    close(total(x, axis=0), np.zeros(4))
    close(total(x, initial=7), np.float64(7))
    close(total(cuda.to_device(np.ones((3, 4))), axis=0, initial=7), np.full(4, 10.0))


def test_masks_of_all_kinds_are_taken():
    x = cuda.to_device(np.ones((20, 30), "f4"))
    row = np.arange(30) % 3 == 0
    for where in (row, row.tolist(), cuda.to_device(row), cuda.to_device(np.ones((20, 1), bool)), True, False):
        got = total(x, axis=0, where=where, keepdims=True)
        assert isinstance(got, cuda.DeviceArray) and got.shape == (1, 30)


@needs_kernels
@pytest.mark.parametrize("shape", [(1,), (100_003,), (300, 400), (7, 5000), (5000, 7), (11, 13, 17)], ids=str)
def test_where(shape):
    x, rng = some(shape), np.random.default_rng(1)
    device = cuda.to_device(x)
    for mask in (rng.random(shape) < 0.5, rng.random(shape[-1:]) < 0.5, np.zeros(shape, bool)):
        for axis in (None, *range(len(shape)), (0, len(shape) - 1) if len(shape) > 1 else (0,)):
            close(total(device, axis=axis, where=cuda.to_device(mask)), np.add.reduce(x, axis=axis, where=mask, dtype="f8").astype("f4"))
            close(biggest(device, axis=axis, where=mask, initial=1), np.max(x, axis=axis, where=mask, initial=1))
    close(total(device[::-1], where=cuda.to_device(mask)[::-1]), np.float32(0))


@needs_kernels
def test_where_keeps_order():
    x = np.arange(1_000_001, dtype="i4")
    mask = np.random.default_rng(1).random(x.size) < 1e-4
    device, where = cuda.to_device(x), cuda.to_device(mask)
    ends = lw.reduce(lambda a, b: (a[0], b[1]), map=lambda v: (v, v), identity=(-1, -2))
    assert [int(v) for v in ends(device, where=where)] == [x[mask][0], x[mask][-1]]
    assert [int(v) for v in ends(device, where=False)] == [-1, -2]


def times(a, b):
    return a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]


@needs_kernels
@pytest.mark.parametrize("n", [1, 2, 100, 4097, 300_001])
def test_order_is_kept(n):
    matrices = lw.reduce(times, map=lambda p, q, r, s: (p, q, r, s))
    data = np.random.default_rng(n).integers(0, 2**32, (4, n), dtype="u4")
    got = matrices(*(cuda.to_device(row) for row in data))
    assert [int(host(g)) for g in got] == [int(v) for v in matrices(*data)]
    x = np.arange(n, dtype="i4")
    assert host(first(cuda.to_device(x))) == 0 and host(last(cuda.to_device(x))) == n - 1


@needs_kernels
def test_order_is_kept_along_axes():
    x = np.arange(300 * 700, dtype="i4").reshape(300, 700)
    device = cuda.to_device(x)
    for axis in (0, 1):
        assert np.array_equal(host(first(device, axis=axis)), x.take(0, axis))
        assert np.array_equal(host(last(device, axis=axis)), x.take(-1, axis))


@needs_kernels
def test_index():
    argmax = lw.reduce(lambda a, b: a if a[0] > b[0] or (a[0] == b[0] and a[1] < b[1]) else b,
                       map=lambda x, index: (x, index), finish=lambda value, at: at, commutative=True)
    x = np.random.default_rng(2).integers(0, 1000, (700, 300)).astype("f4")
    device = cuda.to_device(x)
    assert host(argmax(device)) == x.argmax()
    for axis in (0, 1):
        assert np.array_equal(host(argmax(device, axis=axis)), x.argmax(axis))


@needs_kernels
def test_the_same_bits_every_time():
    x = cuda.to_device(some(3_000_001, seed=9))
    y = cuda.to_device(some((3000, 1001), seed=9))
    seen = {host(total(x)).tobytes() for _ in range(200)}
    assert len(seen) == 1
    for axis in (0, 1):
        assert len({host(total(y, axis=axis)).tobytes() for _ in range(50)}) == 1


@needs_kernels
def test_streams_side_by_side():
    x = some(1 << 20)
    streams = [cuda.stream() for _ in range(4)]
    device = cuda.to_device(x)
    cuda.synchronize()
    results = [total(device, stream=streams[i % 4]) for i in range(64)]
    cuda.synchronize()
    wanted = host(total(device))
    assert all(host(r) == wanted for r in results)


# ---- what was promised, in one minute of a GPU ----

#: A lane's vectors, a block's items, and so many of these that each block of a full grid gets one, or one more.
EDGES = [256 * 4, 256 * 16, 256 * 16 * 4, *(256 * 16 * 4 * blocks for blocks in (2, 131, 132, 133, 264, 528, 1056))]

HASH = np.dtype([("value", "u8"), ("weight", "u8")])
joined = lw.reduce(lambda a, b: (a.value * b.weight + b.value, a.weight * b.weight))  # as strings one behind the other


def hashes(n, seed=0):
    data = np.empty(n, HASH)
    data["value"], data["weight"] = np.random.default_rng(seed).integers(0, 1 << 63, (2, n), dtype="u8") | np.uint64(1)
    return data


@pytest.mark.gpu
@needs_kernels
def test_all_sizes_to_5000():
    x, data = np.arange(5000, dtype="i4") % 97, hashes(5000)
    device, records, wanted = cuda.to_device(x), cuda.to_device(data), np.concatenate([[0], np.cumsum(x)])
    largest, whole = np.maximum.accumulate(x), joined.accumulate(data)
    for n in range(5001):
        assert host(total(device[:n])) == wanted[n]
        if n > 0:
            assert host(biggest(device[:n])) == largest[n - 1] and host(joined(records[:n])) == whole[n - 1]


@pytest.mark.gpu
@needs_kernels
def test_around_blocks_and_grids():
    x, data = np.arange(EDGES[-1] + 2, dtype="i4") % 97, hashes(EDGES[-2] + 2)
    device, records, wanted, whole = cuda.to_device(x), cuda.to_device(data), np.cumsum(x), joined.accumulate(data)
    for edge in EDGES:
        for n in (edge - 1, edge, edge + 1):
            assert host(total(device[:n])) == wanted[n - 1] and host(total(device[1:n])) == wanted[n - 1] - x[0]
            assert host(total(device[:n:3])) == x[:n:3].sum()
            if n < data.size:
                assert host(joined(records[:n])) == whole[n - 1]
                assert host(joined.accumulate(records[:n])[-1:])[0] == whole[n - 1]


@pytest.mark.gpu
@needs_kernels
def test_the_same_bits_a_thousand_times():
    x = some((1 << 22) + 77, seed=3)
    device, streams = cuda.to_device(x), [cuda.stream() for _ in range(4)]
    y = device[: 2000 * 1999].reshape(2000, 1999)
    cuda.synchronize()
    for axis, array in ((0, device), (0, y), (1, y)):
        once = host(total(array, axis=axis)).tobytes()
        results = [total(array, axis=axis, stream=streams[i % 4]) for i in range(1000)]
        cuda.synchronize()
        assert all(host(result).tobytes() == once for result in results)
    exact = x.astype("f8").sum()
    assert abs(float(host(total(device))) - exact) <= abs(float(x.sum()) - exact) + 2e-7 * exact


# ---- out= of other libraries ----


class Foreign:
    """An array that has only __cuda_array_interface__."""

    def __init__(self, array):
        self.array, self.__cuda_array_interface__ = array, array.__cuda_array_interface__


def launches():
    driver = ctypes.CDLL(os.environ["LANEWISE_CUDA_DRIVER"])
    return driver.fake_cuda_calls(b"cuLaunchKernel")


@pytest.mark.skipif(not FAKE, reason="the fake driver counts launches")
def test_out_of_other_libraries_is_written_at_once():
    x, sums, one = cuda.to_device(np.ones(1000, "f4")), cuda.device_array(1000, "f4"), cuda.device_array((), "f4")
    apart, shifted = cuda.device_array(2000, "f4")[::2], Foreign(x[1:])
    for call, out, most in [(total.accumulate, Foreign(sums), 1), (total, Foreign(one), 1), (total.accumulate, Foreign(apart), 2)]:
        call(x, out=out)
        before = launches()
        assert call(x, out=out) is out
        assert launches() == before + most
    total.accumulate(x[:-1], out=shifted)  # made apart: it is where the operand is
    before = launches()
    total.accumulate(x[:-1], out=shifted)
    assert launches() == before + 2


@needs_kernels
def test_out_of_other_libraries():
    numbers = some(5000)
    x, sums, one = cuda.to_device(numbers), cuda.device_array(5000, "f4"), cuda.device_array((), "f4")
    out = Foreign(sums)
    assert total.accumulate(Foreign(x), out=out) is out
    np.testing.assert_allclose(host(sums), np.cumsum(numbers, dtype="f8"), rtol=1e-5)
    total(x, out=Foreign(one))
    np.testing.assert_allclose(host(one), numbers.sum(), rtol=1e-5)
    apart = cuda.device_array(10000, "f4")[::2]
    total.accumulate(x, out=Foreign(apart))
    np.testing.assert_array_equal(host(apart), host(sums))
    total.accumulate(x[:-1], out=Foreign(x[1:]))
    np.testing.assert_array_equal(host(x)[1:], host(sums)[:-1])
    with pytest.raises(ValueError, match="out= has shape"):
        total.accumulate(x, out=Foreign(sums[1:]))


class Tensor(Foreign):
    """A tensor whose dtype is not NumPy's, as PyTorch's are."""

    dtype, ndim, shape = object(), 1, (1000,)

    def reshape(self, _):
        return self


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "min", "max", "argmax", "any", "minmax", "cumsum", "cumprod", "logsumexp",
                                  "count_nonzero", "nansum", "nanmean", "nanvar", "nancumsum", "nanmax"])
def test_arrays_whose_dtype_is_not_numpys(name):
    numbers = np.linspace(0.5, 1.5, 1000).astype("f4")
    x = cuda.to_device(numbers)
    function = getattr(lw.reductions, name)
    got, wanted = function(Tensor(x)), function(x)
    for one, other in zip(got, wanted) if name == "minmax" else [(got, wanted)]:
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        if not FAKE:
            np.testing.assert_array_equal(host(one), host(other))
