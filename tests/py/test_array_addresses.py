"""x.ctypes.data, the address of an array in compiled code, and the alignment of a function's own arrays."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors

RECORD = np.dtype([("a", np.uint8), ("b", np.float64), ("data", np.complex64)])


@pytest.mark.parametrize("dtype", [np.uint8, np.float64, RECORD], ids=["uint8", "float64", "record"])
@pytest.mark.parametrize("alignment", [None, 16, 256])
def test_addresses_are_aligned(dtype, alignment):
    @cuda.jit(target="cpu")
    def kernel(x, out):
        own = cuda.local.array((2, 3), dtype=dtype, alignment=alignment)
        shared = cuda.shared.array(shape=5, dtype=dtype, alignment=alignment)
        out[0] = own.ctypes.data
        out[1] = shared.ctypes.data
        out[2] = x[1:].ctypes.data

    x, out = np.zeros(3, dtype), np.zeros(3, np.uint64)
    kernel[1, 1](x, out)
    assert out[2] == x[1:].ctypes.data
    assert (out[:2] % (alignment or 1) == 0).all()
    kernel[1, 40](x, out)  # a block whose threads are on several stacks
    assert (out[:2] % (alignment or 1) == 0).all()


def test_names_in_the_text():
    """In LLVM text, shared arrays have numba's names, and so have local ones whose alignment is asked for."""
    def body(alignment):
        def k(out):
            own = cuda.local.array(3, lw.float32, alignment=alignment)
            shared = cuda.shared.array(3, lw.float32)
            out[0] = own.ctypes.data + shared.ctypes.data
        return cuda.jit("void(uint64[:])")(k)

    (asked,), (default,) = (list(body(a).inspect_llvm().values()) for a in (64, None))
    assert '%"_cudapy_lmem" = alloca [12 x i8], align 64' in asked
    assert '@"_cudapy_smem_0" = ' in asked and "_cudapy_lmem" not in default


@pytest.mark.parametrize("alignment", [0, 3, 8192])
def test_an_alignment_out_of_range(alignment):
    @cuda.jit(target="cpu")
    def kernel(out):
        out[0] = cuda.local.array(3, lw.float32, alignment=alignment).ctypes.data

    with pytest.raises(errors.ArgumentError, match="E125: Alignment must be a power of two") as raised:
        kernel[1, 1](np.zeros(1, np.uint64))
    assert isinstance(raised.value, ValueError) and isinstance(raised.value, errors.TypingError)
