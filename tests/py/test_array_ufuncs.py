"""Ufuncs with an output in compiled code: np.sin(x, out) loops over out, and broadcasts."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors

UNARY = [np.sin, np.negative, np.sqrt, np.abs, np.isfinite, np.floor]
BINARY = [np.add, np.subtract, np.multiply, np.maximum, np.hypot, np.greater, np.logical_and, np.arctan2]


def run(kernel, *args):
    cuda.jit(kernel, target="cpu")[1, 1](*args)


@pytest.mark.parametrize("ufunc", UNARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unary(ufunc, dtype):
    def positional(x, out):
        ufunc(x, out)

    def by_name(x, out):
        ufunc(x, out=out)

    x = np.random.default_rng(1).random((3, 4)).astype(dtype)
    for operand in (x, x.T[::-1], x[0], x[:0], x[:, None, 1:]):
        for kernel in (positional, by_name):
            expected = ufunc(operand)
            out = np.zeros_like(expected)
            run(kernel, operand, out)
            np.testing.assert_allclose(out, expected, rtol=1e-6 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda f: f.__name__)
def test_binary_broadcasts(ufunc):
    def kernel(x, y, out):
        ufunc(x, y, out)

    x = np.random.default_rng(2).random((3, 4)) - 0.5
    for a, b in ((x, x), (x, x[1]), (x[1], x), (x, 0.25), (2.0, x[:, :1]), (x[:1], x[:, :1]), (x[:, None], x)):
        expected = ufunc(a, b)
        out = np.zeros_like(expected)
        run(kernel, a, b, out)
        np.testing.assert_allclose(out, expected, rtol=1e-13)


def test_local_arrays_views_and_results():
    def kernel(x, out):
        a = cuda.local.array(4, np.float32)
        for i in range(x.shape[0]):
            np.multiply(x[i], 2, a)
            out[i, 0] = np.exp(a, a)[3]  # in place; gives the output
            np.add(a[:2], 1, out[i, 1:])

    x = np.random.default_rng(3).random((3, 4)).astype(np.float32)
    out = np.zeros((3, 3), np.float32)
    run(kernel, x, out)
    np.testing.assert_allclose(out, np.c_[np.exp(2 * x[:, 3]), np.exp(2 * x[:, :2]) + 1], rtol=1e-5)


def test_our_own_ufuncs():
    both = lw.vectorize(lambda a, b: a * b - 1)

    def kernel(x, y, out):
        both(x, y, out)

    x = np.arange(6.0).reshape(2, 3)
    out = np.zeros((2, 3))
    run(kernel, x, 3.0, out)
    assert (out == x * 3 - 1).all()


def test_what_is_refused():
    def kernel(x, out):
        np.sin(x, out)

    x = np.ones((3, 4))
    with pytest.raises(ValueError, match="does not broadcast to its output"):
        run(kernel, x, np.zeros((2, 4)))
    with pytest.raises(errors.TypingError, match="E142"):
        run(kernel, x, np.zeros((3, 4), int))
    with pytest.raises(errors.UnsupportedError, match="E160.*on a whole array"):
        run(kernel, x, np.zeros(4))
    with pytest.raises(errors.TypingError, match="E183: a kernel cannot return a value"):
        run(lambda x, out: np.sin(x), x, x)


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_100", "sm_120"])
def test_cubins(target):
    def kernel(x, out):
        i = cuda.grid(1)
        if i < out.shape[0]:
            np.sin(x[i], out[i])

    made = cuda.jit(kernel)
    assert made.inspect_cubin("void(float32[:, ::1], float32[:, ::1])", target)[1:4] == b"ELF"


@pytest.mark.gpu
@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
def test_on_the_gpu():
    @cuda.jit
    def kernel(x, y, out):
        i = cuda.grid(1)
        if i < out.shape[0]:
            np.add(x[i], y, out[i])

    x = np.random.default_rng(4).random((100, 7))
    out = np.zeros_like(x)
    kernel[1, 128](x, x[0], out)
    assert (out == x + x[0]).all()
