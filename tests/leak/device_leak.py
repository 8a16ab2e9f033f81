"""Device work a thousand times on the fake driver; test_leak.py runs pytest on this file."""

from __future__ import annotations

import ctypes
import os

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda
from test_leak import ROUNDS, keeps_nothing, refused

FAKE = ctypes.CDLL(os.environ["LANEWISE_CUDA_DRIVER"])
A = np.arange(600, dtype=np.float32).reshape(20, 30)
D, E, MASK = cuda.to_device(A), cuda.to_device(A), cuda.to_device(A > 5)
OUT = cuda.device_array((20, 30), np.float32)
F = lw.vectorize(lambda x, y: x * y + x)
PAIR = lw.vectorize(lambda x, y: (x + y, x - y))
HOSTED = lw.vectorize(target="cuda")(lambda x: x + 1)


class Foreign:
    def __init__(self, array):
        self.__cuda_array_interface__ = array.__cuda_array_interface__


FOREIGN = Foreign(D)


def on_a_stream():
    stream, d = cuda.stream(), cuda.to_device(A)
    F(d, 1, stream=stream)
    stream.synchronize()


def failing_launch():
    FAKE.fake_cuda_fail(b"cuLaunchKernel", 1, 700)
    try:
        F(D, E)
    except lw.errors.DriverError:
        return
    finally:
        FAKE.fake_cuda_fail(None, 0, 0)
    raise AssertionError


def failing_allocation():
    FAKE.fake_cuda_fail(b"cuMemAllocFromPoolAsync", 1, 2)
    try:
        cuda.device_array(1 << 20)
    except lw.errors.DriverError:
        return
    finally:
        FAKE.fake_cuda_fail(None, 0, 0)


WORK = {
    "call": lambda: F(D, E), "out": lambda: F(D, E, out=OUT), "strided": lambda: F(D[::2], E[1::2]), "weak": lambda: F(D, 3), "where": lambda: F(D, E, out=OUT, where=MASK),
    "two": lambda: PAIR(D, E), "foreign": lambda: F(FOREIGN, 1), "host": lambda: HOSTED(A), "to_device": lambda: cuda.to_device(A).copy_to_host(), "stream": on_a_stream,
    "views": lambda: (D[1:3].T, D.reshape(-1), D[None], D.ravel()), "operators": lambda: D * 2 + E, "dlpack": lambda: cuda.from_dlpack(D), "interface": lambda: cuda.as_cuda_array(FOREIGN),
    "event": lambda: cuda.event().record(), "pinned": lambda: cuda.pinned_array(10), "repr": lambda: (repr(D), D.flags, D.strides), "bind": lambda: F.bind(D, E)(),
    "bad shape": refused(ValueError, F, D, E[:3]), "bad out": refused((TypeError, ValueError), F, D, E, out=np.zeros(3)), "bad keyword": refused(TypeError, F, D, E, axis=1),
    "bad stream": refused(TypeError, F, D, E, stream="x"), "bad operand": refused(TypeError, F, D, "x"), "bad index": refused(IndexError, lambda: D[99]),
    "failing launch": failing_launch, "failing allocation": failing_allocation,
}


def alive():
    return [FAKE.fake_cuda_live(kind) for kind in (b"host", b"streams", b"events", b"modules", b"contexts", b"pools")], cuda.current_context().pool_statistics()["n_used"]


@pytest.mark.parametrize("name", WORK)
def test_a_thousand_times(name):
    for _ in range(5):
        WORK[name]()
    before = alive()
    keeps_nothing(WORK[name], ROUNDS // 5 if name in ("repr", "pinned") else ROUNDS)
    assert alive() == before
