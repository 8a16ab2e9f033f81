"""forall on device arrays. On the fake driver, which runs no kernels, what is launched and what is
refused; on a GPU also results."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device, needs_kernels
from lanewise import cuda

pytestmark = needs_device


@lw.forall
def saxpy(i, a, x, y, out):
    out[i] = a * x[i] + y[i]


@lw.forall(ndim=2)
def outer(i, j, x, y, out):
    out[i, j] = x[i] * y[j]


@lw.forall
def positive(i, x):
    if x[i] < 0:
        raise ValueError("negative")
    x[i] += 1


@lw.forall
def advance(i, r, dt):
    r[i].x += dt


def both(*arrays):
    return [(a, cuda.to_device(a)) for a in arrays]


@needs_kernels
@pytest.mark.parametrize("n", [1, 100, 300_001])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8"])
def test_saxpy(n, dtype):
    x = np.random.default_rng(1).random(n).astype(dtype)
    out = cuda.to_device(np.zeros(n, dtype))
    saxpy(n, 2.0, cuda.to_device(x), cuda.to_device(x), out)
    np.testing.assert_allclose(out.copy_to_host(), 3 * x, rtol=1e-6)


@needs_kernels
@pytest.mark.parametrize("space", [range(2, 90), range(1, 100, 3), slice(90, 3, -2), slice(7, 7), range(-5, 0)])
def test_parts(space):
    host = np.full(100, -1)
    device = cuda.to_device(host)
    fill(space, host)
    fill(space, device)
    assert (device.copy_to_host() == host).all()


@lw.forall
def fill(i, out):
    out[i] = i


@needs_kernels
@pytest.mark.parametrize("shape", [(3, 4), (1, 1000), (1000, 1), (257, 129)])
def test_two_dimensions(shape):
    x, y = np.random.default_rng(2).random(shape[0]), np.random.default_rng(3).random(shape[1])
    out = cuda.to_device(np.zeros(shape))
    outer(shape, cuda.to_device(x), cuda.to_device(y), out)
    assert (out.copy_to_host() == np.multiply.outer(x, y)).all()


@needs_kernels
def test_errors_and_clean_launches_after():
    x = np.arange(100_000.0)
    x[4321] = -1
    d = cuda.to_device(x)
    with pytest.raises(ValueError, match=r"negative .*element 4321"):
        positive(x.size, d)
    positive(100, d)


@needs_kernels
def test_deferred_errors():
    f = lw.forall(errors="defer")(positive.py_func)
    with pytest.raises(ValueError, match="negative"):
        f(3, cuda.to_device(-np.ones(3)))  # which may see it where the kernel has ended already
        cuda.synchronize()


@needs_kernels
def test_a_graph_of_a_bound_call():
    x, out = np.arange(1000.0), cuda.to_device(np.zeros(1000))
    step = saxpy.bind(1000, 2.0, cuda.to_device(x), cuda.to_device(x), out)
    step()
    assert (out.copy_to_host() == 3 * x).all()


def test_calls_are_launched_and_return_none():
    x, y, out = (cuda.to_device(np.zeros(1000, "f4")) for _ in range(3))
    for _ in range(3):
        assert saxpy(1000, 2.0, x, y, out) is None
    assert saxpy(0, 2.0, x, y, out) is None
    assert saxpy(1000, 2.0, x, y, out, tpb=64, stream=cuda.stream(), sharedmem=1024) is None
    assert "(float, float32[::1], float32[::1], float32[::1])" in saxpy.signatures
    outer((10, 20), x[:10], y[:20], cuda.to_device(np.zeros((10, 20), "f4")))


def test_bound_calls():
    x = cuda.to_device(np.zeros(100))
    step = saxpy.bind(100, 2.0, x, x, x, tpb=32)
    del x
    gc.collect()
    for _ in range(3):
        step()


def test_host_and_device_do_not_mix():
    host, device = both(np.zeros(10))[0]
    with pytest.raises(TypeError, match="argument `y` is in host memory and `x` in device memory"):
        saxpy(10, 1.0, device, host, device)
    with pytest.raises(TypeError, match="argument `y` is in device memory and `x` in host memory"):
        saxpy(10, 1.0, host, device, host)


def test_target_cpu_takes_no_device_arrays():
    f = lw.forall(target="cpu")(saxpy.py_func)
    d = cuda.to_device(np.zeros(10))
    with pytest.raises(TypeError, match='made with target="cpu"'):
        f(10, 1.0, d, d, d)


def test_target_cuda_takes_host_arrays():
    f = lw.forall(target="cuda")(saxpy.py_func)
    x, out = np.arange(10.0), np.zeros(10)
    f(10, 2.0, x, x, out)
    f(10, 2.0, memoryview(x), x, memoryview(out))
    assert (x == np.arange(10.0)).all()


@needs_kernels
def test_target_cuda_copies_back():
    f = lw.forall(target="cuda")(saxpy.py_func)
    x, out = np.arange(10.0), np.zeros((10, 2))[:, 0]
    f(10, 2.0, x, x, memoryview(out))
    assert (out == 3 * x).all()


def test_records():
    r = np.zeros(10, np.dtype([("x", "f4"), ("k", "i8")], align=True))
    d = cuda.to_device(r)
    advance(10, d, 0.5)


def test_overlapping_arrays_get_code_of_their_own():
    f = lw.forall(saxpy.py_func)
    d = cuda.to_device(np.zeros(100))
    f(50, 1.0, d[:50], d[50:], d[:50])
    assert f.stats["compiled"] == 1
    f(40, 1.0, d[:40], d[:40], d[50:])
    assert f.stats["specialisations"] == 1 and f.stats["compiled"] == 2


def test_readers_of_errors_wait_only_when_they_must():
    d = cuda.to_device(np.ones(10))
    positive(10, d)
    lw.forall(errors="defer")(positive.py_func)(10, d)
    cuda.synchronize()


def test_more_than_two_to_the_31():
    """Indices that do not fit 32 bits have separate code."""
    d = cuda.to_device(np.zeros(10, "u1"))
    wide(range(2**31, 2**31 + 10), d)
    wide(10, d)
    assert wide.stats["compiled"] == 2


@lw.forall
def wide(i, out):
    out[i % 10] = 1
