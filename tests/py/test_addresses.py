"""Objects of ctypes as the addresses that a signature's pointers take."""

import ctypes

import numpy as np
import pytest

import lanewise as lw
from lanewise import types


@lw.jit([types.void(types.CPointer(types.float64), types.int64)], target="cpu")
def add_one(p, n):
    i = lw.cuda.grid(1)
    if i < n:
        p[i] += 1


def addresses(x):
    yield x.ctypes
    yield x.ctypes.data
    yield x.ctypes.data_as(ctypes.c_void_p)
    yield x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    yield ctypes.c_uint64(x.ctypes.data)
    yield ctypes.c_size_t(x.ctypes.data)


def test_ctypes():
    x = np.zeros(3)
    for n, address in enumerate(addresses(x), 1):
        add_one[1, 32](address, 3)
        assert (x == n).all()
    step = add_one[1, 32].bind(x.ctypes, 2)
    step()
    assert x.tolist() == [7, 7, 6]


def test_no_address():
    with pytest.raises(TypeError, match="E181"):
        add_one[1, 32](ctypes.c_double(1), 3)
    with pytest.raises(ValueError, match="not a multiple of 8"):
        add_one[1, 32](ctypes.c_void_p(1), 3)
