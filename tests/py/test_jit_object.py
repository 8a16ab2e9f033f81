"""Kernels as objects: inspection, pickles, collection, threads, and compiling ahead of time."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import threading
import weakref

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors, float32, float64, void


@cuda.jit
def add_one(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + 1


@cuda.jit
def scaled(x, out, factor=2, *, shift=0.5):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * factor + shift


# ---- looking inside ----


@pytest.fixture
def compiled(cpu):
    kernel = cuda.jit(add_one.py_func)
    kernel[1, 32](np.zeros(5, np.float32), np.zeros(5, np.float32))
    return kernel


SIGNATURE = "void(float32[::1], float32[::1])"


def test_inspect_text(compiled):
    file = io.StringIO()
    assert compiled.inspect_types(file=file) is None
    assert "float32" in file.getvalue()
    assert set(compiled.inspect_llvm()) == {SIGNATURE}
    assert "define" in compiled.inspect_llvm(SIGNATURE)
    assert "define" in compiled.inspect_llvm((float32[::1], float32[::1]))
    assert compiled.inspect_llvm()[SIGNATURE] == compiled.inspect_llvm(SIGNATURE)


def test_inspect_gpu_code(compiled):
    pytest.importorskip("cuda.pathfinder", reason="libNVVM is looked for with it")
    assert ".entry" in compiled.inspect_ptx(SIGNATURE)
    assert compiled.inspect_asm()[SIGNATURE] == compiled.inspect_ptx(SIGNATURE)
    assert "nvvm.annotations" in compiled.inspect_nvvm(SIGNATURE)


def test_resources(compiled):
    found = compiled.resources(SIGNATURE, "sm_90")
    assert found["registers"] > 0 and found["shared_bytes"] == 0 and 0 < found["occupancy"] <= 1


@pytest.mark.parametrize("cc", [75, 90, 100, 120])
def test_machine_code_of_gpus(cc):
    pytest.importorskip("cuda.pathfinder", reason="libNVVM and nvJitLink are looked for with it")

    @cuda.jit
    def mixed(x, total, low):
        part = cuda.shared.array((16, 16), float32)
        i, t = cuda.grid(1), cuda.threadIdx.x
        part[t // 16, t % 16] = x[i] if i < x.size else float32(0)
        cuda.syncthreads()
        value = part[t % 16, t // 16]
        for width in (16, 8, 4, 2, 1):
            value += cuda.shfl_down_sync(0xffffffff, value, width)
        if value < low:
            raise ValueError("too small", i)
        if cuda.laneid == 0:
            cuda.atomic.add(total, 0, value)

    signature = "void(float32[:], float32[:], float64)"
    assert mixed.inspect_cubin(signature, cc)[1:4] == b"ELF"
    found = mixed.resources(signature, f"sm_{cc}", block=256)
    assert found["shared_bytes"] == 1024 and found["registers"] >= 10 and found["spill_bytes"] == 0
    assert mixed.get_shared_mem_per_block(signature) == 1024
    assert mixed.get_max_threads_per_block() == {(float32[:], float32[:], float64): 1024}


def test_attributes():
    assert add_one.py_func is add_one.__wrapped__ and add_one.__name__ == "add_one"
    assert "add_one" in repr(add_one) and "add_one" in repr(add_one[1, 32])
    assert scaled.__signature__.parameters["factor"].default == 2


def test_bind(target):
    out = np.zeros(5)
    step = add_one[1, 32].bind(np.arange(5.0), out)
    step()
    np.testing.assert_array_equal(out, np.arange(5.0) + 1)


def test_specialize(cpu):
    special = add_one.specialize(np.zeros(3), np.zeros(3))
    assert special.signatures == ["void(float64[::1], float64[::1])"]
    out = np.zeros(3)
    special[1, 32](np.ones(3), out)
    assert out.tolist() == [2, 2, 2]
    with pytest.raises(TypeError):
        special[1, 32](np.ones(3, np.float32), out)
    types = add_one.specialize(lw.float64[::1], lw.float64[::1])
    assert types is special is add_one.specializations["void(float64[::1], float64[::1])"]
    assert add_one.specialize(lw.float32[:], lw.float64[::1]) is not special and len(add_one.specializations) == 2
    with pytest.raises(RuntimeError, match=r"add_one.specialize\(\): Dispatcher already specialized by the signatures"):
        special.specialize(lw.float32[:], lw.float64[::1])


# ---- life ----


def test_pickle(cpu):
    assert pickle.loads(pickle.dumps(add_one)) is add_one
    assert copy.copy(add_one) is add_one and copy.deepcopy(add_one) is add_one

    offset = 7

    @cuda.jit("void(float64[:])", launch_bounds=32)
    def local(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += offset

    other = pickle.loads(pickle.dumps(local))
    assert other is not local and other.signatures == ["void(float64[:])"]
    x = np.zeros(3)
    other[1, 32](x)
    assert x.tolist() == [7, 7, 7]
    with pytest.raises(ValueError, match="launch_bounds"):
        other[1, 64](x)


def test_garbage(cpu):
    def make():
        @cuda.jit
        def kernel(x):
            x[0] = 1

        kernel[1, 1](np.zeros(3))
        kernel.itself = kernel
        return weakref.ref(kernel)

    kernel = make()
    gc.collect()
    assert kernel() is None


def test_threads(cpu):
    kernel = cuda.jit(add_one.py_func)
    failures = []

    def work(dtype):
        x, out = np.arange(500, dtype=dtype), np.zeros(500, dtype)
        for _ in range(20):
            out[:] = 0
            kernel[16, 32](x, out)
            if not (out == x + 1).all():
                failures.append(dtype)

    threads = [threading.Thread(target=work, args=(dtype,)) for dtype in ("f4", "f8", "i4", "i8") * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(kernel.signatures) == 4


# ---- ahead of time ----


def test_compile_for_ptx():
    ptx, result = cuda.compile_ptx(add_one.py_func, (float32[:], float32[:]))
    assert ".entry" in ptx and result == void
    ptx, result = cuda.compile(lambda x, y: x * y, float64(float64, float64), cc=(9, 0))
    assert ".func" in ptx and result == float64 and "sm_90" in ptx
    ptx, result = cuda.compile_ptx(lambda x: x + 1, (float32,), device=True)
    assert result == float32
    code, _ = cuda.compile(lambda x: x + 1, "f4(f4)", output="ltoir")
    assert isinstance(code, bytes)


@pytest.mark.parametrize("keywords, problem", [
    (dict(output="cubin"), NotImplementedError), (dict(abi="fancy"), NotImplementedError), (dict(cc=(1, 0)), ValueError),
    (dict(device=False, abi="c"), NotImplementedError), (dict(forceinline=True), ValueError), (dict(cc="sm_90"), TypeError),
])
def test_bad_compile(keywords, problem):
    with pytest.raises(problem):
        cuda.compile(lambda x: x, "f4(f4)", **keywords)


@pytest.mark.parametrize("signature", [None, ["void(f4[:])", "void(f8[:])"]])
def test_compile_needs_one_signature(signature):
    with pytest.raises(TypeError, match="sig must be one signature or a tuple of types, not"):
        cuda.compile_ptx(lambda x: None, signature)


def test_kernels_have_no_abi_options():
    with pytest.raises(ValueError, match="abi_info= is for device functions"):
        cuda.compile_ptx(lambda x: None, "void(f4[:])", abi_info={"abi_name": "f"})


def test_compile_of_a_kernel():
    signature = "void(float32[:], float32[:])"
    assert lw.compile(add_one, signature)[:4] == b"\x7fELF"
    assert ".target sm_75" in lw.compile(add_one, signature, target="sm_75", output="ptx")
    assert lw.compile(add_one, signature, target="host")[:4] == b"\x7fELF"
    assert "PTX" not in lw.compile(add_one, signature, target="host", output="asm")
    assert ".entry" in lw.compile(lw.forall(lambda i, x: None), "void(float32[:])", output="ptx")
    for target, output in [("sm_90", "object"), ("host", "cubin"), ("sm_90", "types")]:
        with pytest.raises(ValueError, match=f"output must be .* Kernel .* not '{output}'"):
            lw.compile(add_one, signature, target, output)
    with pytest.raises(TypeError, match="sig must be a signature, not None"):
        lw.compile(add_one, None)


def test_unknown_names_of_groups():
    with pytest.raises(AttributeError, match="^cuda.atomic has no attribute 'mul'$"):
        cuda.atomic.mul
    with pytest.raises(errors.TypingError, match="E150: `cuda.threadIdx` has no attribute `w`"):
        cuda.jit(lambda x: cuda.threadIdx.w, target="cpu")[1, 1](1)


def test_bind_looks_at_its_arguments(cpu):
    launch, x, out = add_one[1, 4], np.zeros(4, np.float32), np.zeros(4, np.float32)
    for args, keywords, text in [((x,), {}, "missing a required argument"), ((x, out), {"x": x}, "multiple values|unexpected"),
                                 ((x, out, x), {}, "takes 2 positional arguments but 3"), ((x,), {"q": out}, "unexpected keyword")]:
        with pytest.raises(TypeError, match=text):
            launch.bind(*args, **keywords)
    launch.bind(x, out)()
    assert out.tolist() == [1, 1, 1, 1]


def test_configured_kernels_pickle(cpu):
    out = np.zeros(6, np.float32)
    again = pickle.loads(pickle.dumps(add_one[2, (3, 1), 0, 64]))
    assert again.griddim == (2, 1, 1) and again.blockdim == (3, 1, 1) and again.sharedmem == 64
    again(np.arange(6, dtype=np.float32), out)
    assert out.tolist() == [1, 2, 3, 4, 5, 6]
    covering = pickle.loads(pickle.dumps(add_one.forall(6, tpb=2)))
    assert covering.ntasks == 6 and covering.thread_per_block == 2
    covering(np.arange(6, dtype=np.float32), out)
    assert out.tolist() == [1, 2, 3, 4, 5, 6]


def test_memory_is_read_again_behind_a_barrier():
    """Another thread may have written it, so LLVM may not keep the value from before the barrier."""
    @cuda.jit
    def k(x, out):
        t = cuda.threadIdx.x
        a = x[0]
        cuda.syncthreads()
        if t == 0:
            x[0] = a + 1
        cuda.syncthreads()
        out[t] = x[0]

    code = k.inspect_ptx("(float32[:], float32[:])", "sm_90")
    behind = code[code.rindex("bar.sync"):]
    assert "ld.global" in behind[:behind.index("st.global")], code


def combined(a, b):
    return a + b


@pytest.mark.parametrize("decorator", [lw.reduce, lw.vectorize, lw.njit, lw.guvectorize("(),()->()")], ids=["reduce", "vectorize", "njit", "guvectorize"])
def test_a_name_that_was_given_travels(decorator):
    made = decorator(combined)
    assert made.__reduce__()[2] is None
    made.__name__ = "total"
    assert pickle.loads(pickle.dumps(made)).__name__ == "total"
