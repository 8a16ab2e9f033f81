"""NumPy's functions, and ufuncs' methods, of device arrays in the forms that the extension does without Python's code: like the
Python functions, which do all forms, and like NumPy. On the fake driver, copies, fills and what the simulator runs are compared; of all others the dtype and the shape."""

from __future__ import annotations

import ctypes
import itertools
import os
import re

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE, needs_device
from lanewise import _array_protocol, cuda

pytestmark = [pytest.mark.gpu, needs_device, pytest.mark.usefixtures("simulated")]

A = np.arange(12, dtype="f4").reshape(3, 4)
B, V, M, I, U, H, C = A[::-1] * 3, np.arange(4, dtype="f4"), A % 2 == 0, A.astype("i8") - 5, A.astype("u1"), A.astype("f2"), A + 1j * A
Z = np.zeros((0, 4), "f4")


def by_python(function, *args, **kwargs):
    """The answer of lanewise/_array_protocol.py."""
    like = next(x for x in args if isinstance(x, (cuda.DeviceArray, list, tuple)))
    return _array_protocol.array_function(like[0] if isinstance(like, (list, tuple)) else like, function, (), args, kwargs)


def to_device(value):
    if isinstance(value, (list, tuple)) and any(isinstance(x, np.ndarray) for x in value):
        return type(value)(map(to_device, value))
    return cuda.to_device(value) if isinstance(value, np.ndarray) else value


COPIES = [  # no kernel runs
    (np.concatenate, [[A, B]]), (np.concatenate, [(A, B, A[:1])]), (np.concatenate, [[A, B], 1]), (np.concatenate, [[A, B], -1]), (np.concatenate, [[V, V[:1]]]), (np.concatenate, [[A, Z]]), (np.concatenate, [[Z, Z]]),
    (np.concatenate, [[I, I], -2]), (np.concatenate, [[M, M]]), (np.concatenate, [[A[None], B[None]], 2]), (np.concatenate, [[C, C], 1]), (np.concatenate, [[V]]), (np.concatenate, [[A, B]], {"axis": 1}),
    (np.concatenate, [[A, B] * 5, 1]), (np.concatenate, [[A[:, :1], B] * 9, -1]), (np.concatenate, [[H] * 9]), (np.concatenate, [[M] * 9]), (np.concatenate, [[V, C[0]] * 5]), (np.concatenate, [[A.T, B.T] * 6]),
    (np.vstack, [[V] * 20]), (np.concatenate, [[Z] * 8]), (np.concatenate, [[V.astype("M8[s]")] * 9]),
    (np.concatenate, [[V.astype("M8[s]"), V.astype("M8[s]")]]), (np.concatenate, [[A, B], None]), (np.concatenate, [A]), (np.stack, [[A, B]]), (np.stack, [[A, B], 1]), (np.stack, [[A, B], -1]), (np.stack, [[V, V, V], 1]),
    (np.stack, [[V[:0], V[:0]]]), (np.stack, [(Z, Z)]), (np.vstack, [[V, V]]), (np.vstack, [[A, A[:1]]]), (np.hstack, [[V, V]]), (np.hstack, [[A, A[:, :1].copy()]]),
    (np.zeros_like, [A]), (np.zeros_like, [A, "i2"]), (np.zeros_like, [A], {"dtype": bool}), (np.zeros_like, [A], {"shape": (2,)}), (np.zeros_like, [Z]), (np.zeros_like, [C]), (np.zeros_like, [V.astype("m8[s]")]), (np.zeros_like, [A.T]),
    (np.ones_like, [H]), (np.ones_like, [C]), (np.ones_like, [M]), (np.ones_like, [I, None]), (np.full_like, [A, 2]), (np.full_like, [A, 2.5, "f8"]), (np.full_like, [I, -3]), (np.full_like, [I, 2.5]), (np.full_like, [M, 2]),
    (np.full_like, [H, 1e9]), (np.full_like, [A, 7], {"dtype": np.uint8}), (np.full_like, [U, 255]), (np.transpose, [A]), (np.transpose, [A, (1, 0)]), (np.transpose, [A, [1, 0]]), (np.reshape, [A, (2, 6)]), (np.reshape, [A, -1]),
    (np.reshape, [A, (2, -1), "F"]), (np.ravel, [A]), (np.ravel, [A.T[:1]]), (np.squeeze, [A[None]]), (np.squeeze, [A[None], 0]), (np.copy, [A]), (np.copy, [A.T]),
]
KERNELS = [
    (np.where, [M, A, B]), (np.where, [M, A, 0.5]), (np.where, [M, 1, A]), (np.where, [M, I, 7]), (np.where, [M, I, 0.5]), (np.where, [M, A, V]), (np.where, [M[0], A, B]), (np.where, [M, A, I]), (np.where, [M, C, C]), (np.where, [M, M, M]),
    (np.where, [M, M, 1]), (np.where, [A, A, B]), (np.where, [M, H, 1.0]), (np.where, [M[:0], Z, Z]), (np.clip, [A, 2, 7.5]), (np.clip, [I, -3, 3]), (np.clip, [U, 0, 5]), (np.clip, [U, -1, 300]),
    (np.clip, [A, V, 9.0]), (np.clip, [A, V, V]), (np.clip, [I, 0.5, 3]), (np.clip, [A, np.nan, 3.0]), (np.clip, [A, None, 3.0]), (np.clip, [A, 5, 1]), (np.clip, [A], {"min": 2}), (np.clip, [Z, 0, 1]), (np.dot, [A, A.T.copy()]), (np.dot, [V, V]), (np.dot, [A, V]),
    (np.take, [A, 3]), (np.take, [A, [0, 1], 1]), (np.sum, [A], {"axis": 1}), (np.sum, [U], {"axis": 0, "dtype": "f8"}), (np.sum, [A], {"keepdims": True}), (np.mean, [I], {"axis": 1}), (np.mean, [A], {"axis": -1, "keepdims": True}),
    (np.max, [A], {"axis": 0}), (np.var, [A]), (np.var, [A, 1]), (np.var, [I], {"axis": 0}), (np.var, [A], {"axis": 1, "ddof": 1}), (np.std, [A], {"axis": 1}), (np.std, [C, 1]), (np.std, [H]), (np.any, [M], {"axis": 0}), (np.argmax, [A], {"axis": 1}),
    (np.cumsum, [A], {"axis": 1}), (np.cumsum, [I, 0]), (np.cumprod, [A[:2]]), (np.prod, [A], {"axis": None}), (np.min, [A], {"axis": (0, 1)}), (np.add.reduce, [A]), (np.add.reduce, [A], {"axis": 1}), (np.add.reduce, [A, 1]),
    (np.add.reduce, [A], {"axis": None}), (np.add.reduce, [A], {"axis": (0, 1)}), (np.add.reduce, [A], {"keepdims": True}), (np.add.reduce, [U]), (np.add.reduce, [M]), (np.add.reduce, [H]), (np.add.reduce, [Z]), (np.multiply.reduce, [I]),
    (np.maximum.reduce, [A]), (np.minimum.reduce, [I], {"axis": -1}), (np.logical_and.reduce, [A]), (np.logical_or.reduce, [M], {"axis": 1}), (np.add.accumulate, [A]), (np.add.accumulate, [U], {"axis": 1}), (np.multiply.accumulate, [A], {"axis": 0}),
    (np.maximum.accumulate, [A]), (np.subtract.reduce, [A]), (np.add.reduce, [A], {"dtype": "f8"}), (np.add.reduce, [V], {"initial": 5}),
    (np.concatenate, [[V] * 8]), (np.concatenate, [[A, B, Z, A[:1]] * 11]), (np.concatenate, [[C] * 17]), (np.concatenate, [[A[None], B[None]] * 40, 1]), (np.hstack, [[I[0]] * 20]),
]
SIMULATED = [np.where, np.clip, np.dot]  # the fake driver runs no other kernels


def check(got, want, values):
    assert isinstance(got, cuda.DeviceArray)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if values:
        np.testing.assert_allclose(got.copy_to_host(), want, rtol=2e-3 if want.dtype == "f2" else 1e-6) if want.dtype.kind in "fc" else np.testing.assert_array_equal(got.copy_to_host(), want)


@pytest.mark.parametrize("row", COPIES + KERNELS, ids=lambda row: f"{row[0].__name__}")
def test_as_numpy(row):
    function, args, kwargs = (*row, {})[:3]
    try:
        with np.errstate(all="ignore"):
            want = np.asanyarray(function(*args, **kwargs))
    except Exception as error:
        with pytest.raises(type(error)):
            function(*map(to_device, args), **kwargs)
        return
    device = [to_device(x) for x in args]
    values = not FAKE or function in SIMULATED or any(row is one for one in COPIES)
    for got in (function(*device, **kwargs), function(*device, **kwargs)):
        check(got, want, values)
    if isinstance(function, type(np.sum)):
        check(by_python(function, *device, **kwargs), want, values)


def test_views_are_views():
    x = cuda.to_device(A)
    for view in (np.transpose(x), np.reshape(x, (4, 3)), np.ravel(x), np.squeeze(x[None])):
        assert np.may_share_memory(view, x)
    assert not np.may_share_memory(np.copy(x), x)


def test_copyto():
    x, y = cuda.to_device(A), cuda.to_device(B)
    np.copyto(x, y)
    np.testing.assert_array_equal(x.copy_to_host(), B)
    np.copyto(x, y[0])
    np.testing.assert_array_equal(x.copy_to_host(), np.broadcast_to(B[0], A.shape))
    with pytest.raises(ValueError):
        np.copyto(x[0], y)
    with pytest.raises(TypeError):
        np.copyto(x, cuda.to_device(C))
    shared = np.broadcast_to(x, (2, 3, 4))
    with pytest.raises(ValueError, match="read-only"):
        np.copyto(shared, y)


def test_refused():
    x, y = cuda.to_device(A), cuda.to_device(V)
    for call, error in [
        (lambda: np.concatenate([x, y]), ValueError), (lambda: np.concatenate([x, x[:, :2]]), ValueError), (lambda: np.concatenate([x, x], 2), np.exceptions.AxisError), (lambda: np.concatenate([x.sum(), x.sum()]), ValueError),
        (lambda: np.stack([x, y]), ValueError), (lambda: np.stack([x, x], 3), np.exceptions.AxisError), (lambda: np.where(x > 0, x), ValueError), (lambda: np.full_like(cuda.to_device(U), 300), OverflowError), (lambda: np.full_like(cuda.to_device(U), -1), OverflowError),
        (lambda: np.zeros_like(x, "no such"), TypeError), (lambda: np.zeros_like(x, wrong=1), TypeError), (lambda: np.reshape(x, (5, 5)), ValueError), (lambda: np.transpose(x, (0, 0)), ValueError), (lambda: np.dot(x, x), ValueError),
        (lambda: np.sum(x, axis=2), np.exceptions.AxisError), (lambda: np.sum(x, axis=1.5), TypeError), (lambda: np.add.reduce(x, axis=3), np.exceptions.AxisError), (lambda: np.var(x, axis=4), np.exceptions.AxisError), (lambda: np.maximum.reduce(cuda.to_device(Z)), ValueError),
        (lambda: np.add.reduce(x, wrong=1), TypeError),
    ]:
        with pytest.raises(error):
            call()


def test_another_device():
    if len(cuda.gpus) < 2:
        pytest.skip("needs two devices")
    with cuda.gpus[1]:
        x = cuda.to_device(A)
    for got in (np.concatenate([x, x]), np.stack([x, x]), np.zeros_like(x), np.ones_like(x), np.full_like(x, 2.0), np.where(x > 1, x, 0.0), np.clip(x, 0, 1), np.add.reduce(x), x.var(), np.sum(x, axis=1)):
        assert got.device.id == 1
    assert cuda.get_current_device().id == 0
    with pytest.raises(ValueError, match="devices 1 and 0"):
        np.concatenate([x, cuda.to_device(A)])


def test_order_of_streams():
    """The result is on the default stream, which waits for the stream that used the operands last."""
    stream = cuda.stream()
    x = cuda.to_device(A, stream=stream)
    lw.ufuncs.add(x, x, out=x, stream=stream)
    made, order = noted(lambda: np.concatenate([x, x]))
    made2 = np.zeros_like(x)
    assert made.shape == (6, 4) and made2.shape == (3, 4)
    stream.synchronize()
    np.testing.assert_array_equal(made.copy_to_host(), np.concatenate([A, A]) * 2)
    if FAKE:
        (what, where, event), *then = order
        assert (what, where) == ("record", stream.handle)
        assert then == [("wait", 0, event), ("copy", 0, 0), ("copy", 0, 0)]
        assert noted(lambda: np.concatenate([x, x]))[1] == [("copy", 0, 0)] * 2  # x is there now


def test_many_small_arrays():
    """One launch copies sixteen arrays."""
    parts = [np.arange(n, dtype="f4") + n for n in range(1, 41)]
    there = [cuda.to_device(part) for part in parts]
    got, order = noted(lambda: np.concatenate(there))
    assert got.dtype == "f4" and got.shape == (820,)
    if FAKE:
        assert [what for what, _, _ in order] == ["launch"] * 3
    else:
        np.testing.assert_array_equal(got.copy_to_host(), np.concatenate(parts))
    stream = cuda.stream()
    lw.ufuncs.add(there[3], 0, out=there[3], stream=stream)
    order = [what for what, _, _ in noted(lambda: np.concatenate(there))[1]]
    assert not FAKE or order == ["record", "wait"] + ["launch"] * 3  # behind the stream that has written
    out = cuda.to_device(np.zeros(820, "f4"))
    np.concatenate(there, out=out)
    np.testing.assert_array_equal(out.copy_to_host(), np.concatenate(parts))


def noted(call):
    """The result, and what the call put on which streams with which events, as far as the fake driver tells it."""
    if not FAKE:
        return call(), []
    driver = ctypes.CDLL(os.environ["LANEWISE_CUDA_DRIVER"])
    driver.fake_cuda_order.restype = ctypes.c_char_p
    driver.fake_cuda_reset_calls()
    result = call()
    lines = [line.split() for line in driver.fake_cuda_order().decode().splitlines()]
    return result, [(what, int(stream, 16), int(event, 16)) for what, stream, event in lines]


def bits(x):
    """The bits of each number, the sign of a zero included; all NaNs are equal."""
    x = x.copy_to_host() if isinstance(x, cuda.DeviceArray) else x
    return x.dtype, [None if np.isnan(value) else (float(value), bool(np.signbit(value))) for value in np.ravel(x)]


@pytest.mark.parametrize("dtype", "efd")
def test_clip_of_zeros_and_nans(dtype):
    """An element that equals a bound stays, so that a zero keeps its sign."""
    numbers = [-0.0, 0.0, 1.0, -1.0, np.nan, np.inf]
    x = np.array(numbers, dtype)
    on_device = cuda.to_device(x)
    for low, high in itertools.product(numbers, numbers):
        want = bits(np.clip(x, low, high))
        out = cuda.device_array(x.shape, dtype)
        assert np.clip(on_device, low, high, out=out) is out
        for got in (np.clip(on_device, low, high), np.clip(on_device, min=low, max=high), by_python(np.clip, on_device, low, high), out):
            assert bits(got) == want, (low, high)
    assert bits(np.clip(on_device, np.float64(0), 1)) == bits(np.clip(x, np.float64(0), 1))
    if dtype == "f":
        assert bits(np.clip(on_device, 0, 1, dtype="f8")) == bits(np.clip(x, 0, 1, dtype="f8"))
        with pytest.raises(TypeError):
            np.clip(on_device, 0, 1, dtype="i4")


@pytest.mark.parametrize("call", [
    lambda x, **like: np.full_like(x, np.inf), lambda x, **like: np.full_like(x, np.nan), lambda x, **like: np.full_like(x, -np.inf, "i4"), lambda x, **like: np.full_like(x, np.float32(np.inf)),
    lambda x, **like: np.full_like(x, 1e30, np.int16), lambda x, **like: np.full_like(x, 2.5j), lambda x, **like: np.full((2, 2), np.inf, np.int64, **like),
])
def test_floats_that_are_not_integers(call):
    """NumPy converts such floats, and warns."""
    x = np.arange(3)
    with pytest.warns() as expected:
        want = call(x)
    device = cuda.to_device(x)
    with pytest.warns(expected[0].category, match=re.escape(str(expected[0].message))):
        got = call(device, like=device)
    assert got.dtype == want.dtype and got.copy_to_host().tolist() == want.tolist()
