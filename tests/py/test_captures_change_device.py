"""What a compiled function captured changes between calls on device arrays."""

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device, needs_kernels
from lanewise import cuda

pytestmark = needs_device

K = 2


@pytest.fixture(autouse=True)
def restore():
    global K
    K = 2
    yield
    K = 2


def ufunc():
    f = lw.vectorize(lambda x: x * K)
    return lambda d: f(d)


def eager():
    f = lw.vectorize(["f8(f8)"])(lambda x: x * K)
    return lambda d: f(d)


def gufunc():
    g = lw.guvectorize("(n)->(n)")(fill)
    return lambda d: g(d)


def fill(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i] * K


def forall():
    @lw.forall
    def f(i, x, out):
        out[i] = x[i] * K

    def call(d):
        out = cuda.device_array_like(d)
        f(d.size, d, out)
        return out

    return call


def kernel():
    @lw.jit
    def f(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = x[i] * K

    launcher = f[1, 32]

    def call(d):
        out = cuda.device_array_like(d)
        launcher(d, out)
        return out

    return call


def reduction():
    r = lw.reduce(map=lambda x: x * K, combine=lambda a, b: a + b)
    return lambda d: r(d)


DOORS = [ufunc, eager, gufunc, forall, kernel, reduction]


@pytest.mark.parametrize("door", DOORS)
def test_each_call_looks(door):
    """No kernel runs: a value that cannot be compiled raises an exception, and the old value still works."""
    global K
    call, d = door(), cuda.to_device(np.arange(3.0))
    call(d)
    K = object()
    with pytest.raises(lw.errors.CompileError):
        call(d)
    K = 2
    call(d)
    K = 5
    call(d)
    call(d)


@needs_kernels
@pytest.mark.parametrize("door", DOORS)
def test_results(door):
    global K
    call, x = door(), np.arange(3.0)
    d = cuda.to_device(x)
    for K in (2, 5, 2):
        expected = np.sum(x * K) if door is reduction else x * K
        assert np.array_equal(call(d).copy_to_host(), expected)


def test_a_bound_call_sees_the_change():
    global K

    @lw.forall
    def f(i, x):
        x[i] += K

    K, d = 2, cuda.to_device(np.zeros(3))
    bound = f.bind(3, d)
    bound()
    K = object()
    for call in (bound, lambda: f(3, d)):
        with pytest.raises(lw.errors.CompileError):
            call()


@pytest.mark.skipif(cuda.config.ENABLE_CUDASIM, reason="the array lies in the host's memory")
def test_a_captured_device_array_is_in_the_code():
    """Its address is a constant of the code; code for the CPU cannot read it."""
    captured = cuda.to_device(np.arange(3.0))
    ptx = str(lw.compile(lambda i: captured[i], "float64(int64)", target="sm_90", output="ptx"))
    assert str(captured.__cuda_array_interface__["data"][0]) in ptx and "ld.global" in ptx
    with pytest.raises(lw.errors.UnsupportedError, match="E169: an array that the function captured.* GPU's memory"):
        lw.compile(lambda i: captured[i], "float64(int64)", target="cpu", output="asm")


@pytest.mark.skipif(cuda.config.ENABLE_CUDASIM, reason="the array lies in the host's memory")
def test_another_librarys_array_is_captured():
    class Foreign:
        def __init__(self, array):
            self.array = array
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    captured = Foreign(cuda.to_device(np.arange(6, dtype="i4"))[2:])
    ptx = str(lw.compile(lambda i: captured[i], "int32(int64)", target="sm_90", output="ptx"))
    assert str(captured.__cuda_array_interface__["data"][0]) in ptx
