"""Operands and results of other libraries, each with its own device arrays. Needs a GPU and the library."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device, needs_kernels
from lanewise import cuda

pytestmark = [pytest.mark.gpu, needs_device, needs_kernels]


@lw.vectorize(fma=False)
def muladd(a, b):
    return a * b + a


A, B = np.arange(12, dtype="f4").reshape(3, 4), np.linspace(1, 2, 12, dtype="f4").reshape(3, 4)


def cupy_kit():
    cupy = pytest.importorskip("cupy")
    return cupy.asarray, cupy.asnumpy, cupy.ndarray


def torch_kit():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no device")
    return lambda a: torch.as_tensor(np.ascontiguousarray(a)).cuda(), lambda t: t.cpu().numpy(), torch.Tensor


def numba_kit():
    numba_cuda = pytest.importorskip("numba.cuda")
    from numba.cuda.cudadrv.devicearray import DeviceNDArray

    return lambda a: numba_cuda.to_device(np.ascontiguousarray(a)), lambda d: d.copy_to_host(), DeviceNDArray


def jax_kit():
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("jax sees no device")
    return jax.numpy.asarray, np.asarray, jax.Array


KITS = {"cupy": cupy_kit, "torch": torch_kit, "numba": numba_kit, "jax": jax_kit}


@pytest.fixture(params=KITS)
def kit(request):
    return KITS[request.param]()


def test_in_and_out(kit):
    put, get, kind = kit
    a, b = put(A), put(B)
    out = muladd(a, b)
    assert isinstance(out, kind)
    np.testing.assert_array_equal(get(out), A * B + A)
    out = muladd(a, 2.0)
    assert isinstance(out, kind)
    np.testing.assert_array_equal(get(out), A * 2 + A)
    empty = put(np.zeros((0, 3), "f4"))
    assert tuple(muladd(empty, empty).shape) == (0, 3)


def test_first_operand_decides(kit):
    put, get, kind = kit
    own = cuda.to_device(B)
    assert isinstance(muladd(put(A), own), kind)
    assert isinstance(muladd(own, put(A)), cuda.DeviceArray)


def test_views_and_sharing(kit):
    put, get, kind = kit
    a = put(A)
    view = cuda.as_cuda_array(a)
    np.testing.assert_array_equal(view.copy_to_host(), A)
    assert cuda.is_cuda_array(a)
    d = cuda.device_array((3, 4), "f4")
    d[...] = a
    np.testing.assert_array_equal(d.copy_to_host(), A)
    del a
    np.testing.assert_array_equal(view.copy_to_host(), A)


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_strided_operands(name):
    put, get, kind = KITS[name]()
    a = put(A)
    np.testing.assert_array_equal(get(muladd(a.T, 2.0)), A.T * 2 + A.T)
    np.testing.assert_array_equal(get(muladd(a[:, ::2], 2.0)), A[:, ::2] * 2 + A[:, ::2])


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_out_is_theirs(name):
    put, get, kind = KITS[name]()
    a, out = put(A), put(np.zeros_like(A))
    assert muladd(a, a, out=out) is out
    np.testing.assert_array_equal(get(out), A * A + A)


def test_torch_rules():
    torch = pytest.importorskip("torch")
    put, get, kind = torch_kit()
    with pytest.raises(BufferError, match="detach"):
        muladd(put(A).requires_grad_(), 1.0)
    with pytest.raises(BufferError, match="resolve_conj"):
        muladd(put(A.astype("c8")).conj(), 1.0)
    half = torch.ones(5, dtype=torch.bfloat16, device="cuda")
    assert cuda.as_cuda_array(half).copy_to_host().view("u2").tolist() == [0x3F80] * 5
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        a = put(A)
        out = muladd(a, a)
    stream.synchronize()
    np.testing.assert_array_equal(get(out), A * A + A)


def test_cupy_stream():
    cupy = pytest.importorskip("cupy")
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        a = cupy.asarray(A)
        out = muladd(a, a)
    stream.synchronize()
    np.testing.assert_array_equal(cupy.asnumpy(out), A * A + A)
    np.testing.assert_array_equal(cupy.asnumpy(cupy.from_dlpack(cuda.to_device(A))), A)
    np.testing.assert_array_equal(cupy.asnumpy(cupy.asarray(cuda.to_device(A).T)), A.T)
