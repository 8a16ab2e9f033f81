"""Kernels with CPointer parameters: an int is an address, and the code has one parameter for it."""

import ctypes
import re

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device, needs_kernels
from lanewise import carray, cuda, errors, float64, int32, int64, types, uint8, uint32, void

POINTER = types.CPointer(types.int32)
AXPY = void(POINTER, int32, POINTER, POINTER, uint32)


def axpy(r, a, x, y, n):
    i = cuda.grid(1)
    if i < n:
        r[i] = a * x[i] + y[i]


def addresses(*arrays):
    return [a.ctypes.data for a in arrays]


def test_on_the_cpu():
    kernel = cuda.jit(AXPY, target="cpu")(axpy)
    x = np.arange(10, dtype=np.int32)
    y, r = x * 2, np.zeros(12, np.int32)
    r_at, x_at, y_at = addresses(r, x, y)
    kernel[1, 32](r_at, 5, x_at, y_at, 10)
    assert r.tolist() == [*range(0, 70, 7), 0, 0]
    kernel[1, 32](np.uint64(r_at), np.int32(3), x_at, np.intp(y_at), 10)
    assert r.tolist() == [*range(0, 50, 5), 0, 0]
    assert kernel.signatures == ["void(int32*, int32, int32*, int32*, uint32)"] and kernel.specialized


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64", "float64", "complex128"])
def test_every_dtype_with_threads_that_meet(dtype):
    element = getattr(types, dtype)

    def reverse(x, n):
        own = cuda.shared.array(64, element)
        t = cuda.threadIdx.x
        own[t] = x[t]
        cuda.syncthreads()
        x[t] = own[n - 1 - t]

    x = np.arange(40).astype(dtype)
    cuda.jit(void(types.CPointer(element), int64), target="cpu")(reverse)[1, 40](x.ctypes.data, 40)
    assert x.tolist() == np.arange(40).astype(dtype)[::-1].tolist()


def test_below_the_address():
    """A negative index does not count from the end, because a pointer has no end."""
    @cuda.jit(void(types.CPointer(float64), types.CPointer(float64)), target="cpu")
    def differences(x, out):
        i = cuda.grid(1)
        out[i] = x[i] - x[i - 1]

    x, out = np.arange(6.0) ** 2, np.zeros(5)
    differences[1, 5](x[1:].ctypes.data, out.ctypes.data)
    assert out.tolist() == [1, 3, 5, 7, 9]


def test_pointers_may_be_the_same():
    @cuda.jit(void(types.CPointer(int32), types.CPointer(int32), int32), target="cpu")
    def shift(to, x, n):
        for i in range(n):
            to[i + 1] = x[i] + 1

    x = np.zeros(6, np.int32)
    shift[1, 1](x.ctypes.data, x.ctypes.data, 5)
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


def test_beside_arrays_of_two_signatures(cpu):
    kernel = cuda.jit([void(POINTER, int32[::1]), void(int32[::1], int32[::1])])(lambda x, out: None)
    kernel[1, 1](0, np.zeros(3, np.int32))
    kernel[1, 1](np.zeros(3, np.int32), np.zeros(3, np.int32))

    @cuda.jit(void(POINTER, int32[:], int32))
    def copy(x, out, n):
        for i in range(n):
            out[i] = x[i]

    x, out = np.arange(4, dtype=np.int32), np.zeros(8, np.int32)
    copy[1, 1](x.ctypes.data, out[::2], 4)
    assert out.tolist() == [0, 0, 1, 0, 2, 0, 3, 0]


def test_what_is_no_address():
    kernel = cuda.jit(AXPY, target="cpu")(axpy)
    with pytest.raises(TypeError, match=r"(?s)E181: .*argument `r` is int32\[::1\]; the signature has int32\*"):
        kernel[1, 1](np.zeros(3, np.int32), 1, 0, 0, 0)
    with pytest.raises(TypeError, match="argument `x` is float; the signature has int32"):
        kernel[1, 1](0, 1, 0.5, 0, 0)
    with pytest.raises(OverflowError, match="argument `r`: -4 is not an address"):
        kernel[1, 1](-4, 1, 0, 0, 0)
    with pytest.raises(ValueError, match="argument `y`: the address 6 is not a multiple of 4, the size of int32"):
        kernel[1, 1](0, 1, 0, 6, 0)


def test_what_takes_no_pointers():
    with pytest.raises(errors.SignatureError, match=r"E183: an item of a tuple cannot be `int32\*`"):
        cuda.jit("void(Tuple(int32*, int32))")(lambda x: None)
    with pytest.raises(TypeError, match="pointers are arguments of functions of jit: use an array"):
        lw.forall("void(int32*)")(lambda i, x: None)


STRUCT = types.Record.make_c_struct([("i", int32), ("d", float64)])


def structs():
    x = np.zeros(4, np.dtype([("i", "i4"), ("d", "f8")], align=True))
    x["i"], x["d"] = [1, 2, 3, 4], [0.5, 1, 2, 4]
    return x


def test_pointers_to_records(cpu):
    @cuda.jit(void(types.CPointer(STRUCT), types.CPointer(float64), int64))
    def products(p, out, n):
        i = cuda.grid(1)
        if i < n:
            out[i] = p[i].i * p[i].d

    x, out = structs(), np.zeros(4)
    products[1, 4](x.ctypes.data, out.ctypes.data, 4)
    assert out.tolist() == [0.5, 2, 6, 16] and str(types.CPointer(STRUCT)) == "Record(i: int32, d: float64)*"
    with pytest.raises(ValueError, match="the address 4 is not a multiple of 8, the alignment of Record"):
        products[1, 4](4, out.ctypes.data, 4)


def test_pointers_to_anything(cpu):
    @cuda.jit(void(types.voidptr, types.voidptr, int64))
    def double(p, out, n):
        carray(out, n, np.float64)[:] = 2 * carray(p, (n,), np.float64)

    x, out = np.arange(4.0), np.zeros(4)
    double[1, 1](x.ctypes.data, out.ctypes, 4)
    assert out.tolist() == [0, 2, 4, 6]


def test_c_functions_of_records():
    """numba's documented use of make_c_struct."""
    @lw.cfunc(float64(types.CPointer(STRUCT), types.intp))
    def total(p, n):
        s = 0.0
        for one in carray(p, n):
            s += one.i * one.d
        return s

    x = structs()
    assert total.ctypes(x.ctypes.data, 4) == 24.5
    pytest.importorskip("cffi")
    assert total.cffi is not None


def test_records_of_external_functions():
    declared = cuda.declare_device("take_struct", void(types.CPointer(STRUCT)))

    def k(x):
        declared(x)

    assert "take_struct" in lw.compile(k, void(lw.from_dtype(structs().dtype)[::1]), target="sm_80", output="nvvm")
    with pytest.raises(errors.TypingError, match="E120|E153|E142|E181"):
        lw.compile(k, void(float64[::1]), target="sm_80", output="nvvm")


@pytest.mark.parametrize("result", [void, float64])
@pytest.mark.parametrize("pointer", [types.voidptr, types.CPointer(float64)], ids=str)
def test_addresses_of_functions_of_the_host(pointer, result):
    if result is float64:
        @lw.njit(float64(pointer, types.intp))
        def f(p, n):
            return carray(p, n, np.float64).sum()
    else:
        @lw.njit(void(pointer, types.intp))
        def f(p, n):
            carray(p, n, np.float64)[:] += 3

    x = np.arange(3.0)
    given = [x.ctypes.data, np.uint64(x.ctypes.data), x.ctypes, x.ctypes.data_as(ctypes.c_void_p), x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))]
    for address in given:
        got = f(address, 3)
        assert result is void or got == 3
    assert x.sum() == (3 + 9 * len(given) if result is void else 3)
    with pytest.raises(OverflowError, match="argument `p`: -8 is not an address"):
        f(-8, 3)
    with pytest.raises(TypeError, match="E181"):
        f(1.5, 3)


def test_an_array_over_an_address_is_a_result():
    @lw.njit(float64[::1](types.CPointer(float64), types.intp))
    def f(p, n):
        return carray(p, n)[1:]

    x = np.arange(3.0)
    y = f(x.ctypes.data, 3)
    y[0] = 7
    assert x.tolist() == [0, 7, 2]


def test_a_number_of_another_signature_is_no_address():
    @lw.njit([types.int64(types.int64), types.int64(types.CPointer(types.int64))])
    def f(x):
        return 5

    assert f(3) == 5 and f(np.arange(3)) == 5


def test_memory_of_a_device_array(monkeypatch):
    with lw.config(target="cpu"):
        x = cuda.to_device(np.zeros(3))

        @cuda.jit(void(types.CPointer(float64)))
        def fill(p):
            p[cuda.grid(1)] = 3

        fill[1, 3](x.gpu_data)
        assert x.copy_to_host().tolist() == [3, 3, 3]


def test_the_code_has_one_parameter():
    pytest.importorskip("cuda.pathfinder", reason="libNVVM and nvJitLink are looked for with it")
    kernel = cuda.jit(AXPY)(axpy)
    text = kernel.inspect_ptx(AXPY, "sm_90")
    assert re.findall(r"\.param \.(\w+) \w+_param_\d", text) == ["u64", "u32", "u64", "u64", "u32"]
    for cc in ("sm_75", "sm_120"):
        assert kernel.inspect_cubin(AXPY, cc)[1:4] == b"ELF"
    assert list(cuda.jit(axpy).inspect_types(None, AXPY)) and kernel.get_regs_per_thread() > 0
    assert ".entry" in cuda.compile_ptx(axpy, AXPY, cc=(9, 0))[0]


@needs_device
def test_launches_on_a_device():
    kernel = cuda.jit(AXPY)(axpy)
    d = [cuda.to_device(np.arange(10, dtype=np.int32)) for _ in range(3)]
    kernel[1, 32](*(x.__cuda_array_interface__["data"][0] if at != 1 else 5 for at, x in enumerate([d[0], None, d[1], d[2]])), 10)
    cuda.synchronize()


@pytest.mark.gpu
@needs_device
@needs_kernels
def test_values_on_a_gpu():
    x = cuda.to_device(np.arange(10, dtype=np.int32))
    y, r = cuda.to_device(np.arange(10, dtype=np.int32) * 2), cuda.to_device(np.zeros(10, np.int32))
    r_at, x_at, y_at = (a.__cuda_array_interface__["data"][0] for a in (r, x, y))
    cuda.jit(AXPY)(axpy)[1, 32](r_at, 5, x_at, y_at, 10)
    assert r.copy_to_host().tolist() == list(range(0, 70, 7))

    @cuda.jit(void(types.CPointer(uint8), uint32))
    def add_one(x, n):
        i = cuda.grid(1)
        if i < n:
            x[i] += 1

    z = cuda.to_device(np.arange(10, dtype=np.uint8))
    add_one[1, 32](z.__cuda_array_interface__["data"][0], len(z))
    assert z.copy_to_host().tolist() == list(range(1, 11))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "complex128"])
def test_indices_of_pointers_are_not_wrapped(dtype):
    """p[-1] is what lies before p, whatever the size of its items is, also in a function that is called with p."""
    x = np.arange(1, 9).astype(dtype)
    out = np.zeros(4, dtype)

    def before(p, i):
        return p[i - 1]

    @cuda.jit(f"void({dtype}*, {dtype}[:], int32)", target="cpu", debug=True)
    def kernel(p, out, i):
        out[0] = p[-1]
        out[1] = p[i]
        out[2] = before(p, i)
        p[-2] = p[1]

    kernel[1, 1](x.ctypes.data + 4 * x.itemsize, out, -2)
    assert out.tolist() == [4, 3, 2, 0]
    assert x.tolist() == [1, 2, 6, 4, 5, 6, 7, 8]


def test_indices_of_pointers_of_c_are_not_wrapped():
    @lw.cfunc("int16(CPointer(int16), intp)")
    def at(p, i):
        return p[i] + p[-1]

    x = np.arange(8, dtype=np.int16)
    assert at.ctypes(np.ctypeslib.as_ctypes(x[4:]), -3) == 1 + 3
