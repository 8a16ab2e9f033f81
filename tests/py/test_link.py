"""link= and declare_device: code in other languages in kernels' machine code, what cannot be linked, and on a GPU the
results."""

from __future__ import annotations

import io
import pickle
import os
import shutil
import subprocess

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE
from lanewise import cuda, errors, float32, int32, types
from link_helpers import calls, compiler, kernel_of  # noqa: F401  (compiler is a fixture)

CCS = (75, 90, 120)
SIG = "void(float32[::1], float32[::1])"

CU = """
extern "C" __device__ int cu_scaled(float *result, float x, int k) { *result = x * k; return 0; }
extern "C" __device__ int cu_checked(float *result, float x) { *result = x; return x < 0.0f; }
extern "C" __device__ int cu_nothing(void *result, float *p) { p[0] = 5.0f; return 0; }
extern "C" __device__ float cu_twice(float x) { return x + x; }
extern "C" __device__ float cu_largest(const float *x, long long n)
{
    float m = x[0];
    for (long long i = 1; i < n; i++) m = fmaxf(m, x[i]);
    return m;
}
extern "C" __device__ int cu_sum(double *result, void *, void *, long long size, long long itemsize, const float *data,
                                 long long n0, long long n1, long long s0, long long s1)
{
    *result = 0.0;
    for (long long i = 0; i < n0; i++)
        for (long long j = 0; j < n1; j++)
            *result += *(const float *)((const char *)data + i * s0 + j * s1);
    return size != n0 * n1 || itemsize != 4;
}
struct two { float re, im; };
extern "C" __device__ int cu_swapped(two *result, float re, float im) { result->re = im; result->im = re; return 0; }
extern "C" __device__ bool cu_both(bool x, unsigned char y) { return x && y == 200; }
"""

PTX = """
.version 6.4
.target sm_75
.address_size 64
.visible .func (.param .b32 r) ptx_seven(.param .b32 x)
{
    .reg .f32 %f<3>;
    ld.param.f32 %f1, [x];
    mul.f32 %f2, %f1, 0f40E00000;
    st.param.f32 [r], %f2;
    ret;
}
"""


@pytest.fixture(scope="module")
def cu():
    code = cuda.CUSource(CU, name="given.cu")

    @cuda.jit(link=code)
    def nothing(x):
        pass

    try:
        nothing.inspect_cubin("void(float32[::1])", "sm_90")
    except errors.CompilerNotFound:
        pytest.skip("NVRTC is missing")
    return code


# ---- kinds of code ----


@pytest.mark.parametrize("cc", CCS)
def test_ptx_is_called(cc):
    seven = cuda.declare_device("ptx_seven", "float32(float32)", abi="c")
    k = kernel_of(seven, link=[cuda.PTXSource(PTX, "seven.ptx")])
    assert b"ptx_seven" in k.inspect_cubin(SIG, f"sm_{cc}")
    assert calls(k, cc, "ptx_seven", SIG)


@pytest.mark.parametrize("cc", CCS)
def test_cuda_source_is_inlined(cu, cc):
    twice = cuda.declare_device("cu_twice", float32(float32), abi="c", link=cu)
    k = kernel_of(twice, lineinfo=False)  # line tables name what was inlined
    assert b"cu_twice" not in k.inspect_cubin(SIG, f"sm_{cc}")
    assert not calls(k, cc, "cu_twice", SIG)


@pytest.mark.parametrize("cc", CCS)
def test_ltoir_ptx_and_source_together(cu, cc):
    code, result = cuda.compile(lambda x: x * 3, float32(float32), cc=divmod(cc, 10), output="ltoir",
                                abi_info={"abi_name": "lto_three"})
    assert result == float32
    three = cuda.declare_device("lto_three", "float32(float32)", abi="c", link=[cuda.LTOIR(code)])
    seven = cuda.declare_device("ptx_seven", "float32(float32)", abi="c", link=(cuda.PTXSource(PTX),))
    scaled = cuda.declare_device("cu_scaled", "float32(float32, int32)", link={cu})

    @cuda.jit(lineinfo=False)
    def k(x, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = three(x[i]) + seven(x[i]) + scaled(x[i], i)

    cubin = k.inspect_cubin(SIG, f"sm_{cc}")
    assert b"ptx_seven" in cubin and b"lto_three" not in cubin
    assert calls(k, cc, "ptx_seven", SIG)


NVCC = {
    "cubin": ["-arch=sm_90", "-cubin"], "ltoir": ["-arch=sm_90", "-dlto", "-ltoir"],
    "fatbin": ["-gencode", "arch=compute_90,code=sm_90", "-gencode", "arch=compute_75,code=sm_75", "-fatbin"],
    "o": ["-arch=sm_90"], "lto.fatbin": ["-gencode", "arch=compute_90,code=lto_90", "-fatbin"],
}


@pytest.mark.parametrize("kind", [*NVCC, "a"])
def test_what_nvcc_makes(tmp_path, kind):
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is missing")
    source, path = tmp_path / "seven.cu", tmp_path / f"seven.{kind}"
    source.write_text('extern "C" __device__ float nv_seven(float x) { return 7 * x; }')
    made = tmp_path / "seven.o" if kind == "a" else path
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}  # a sanitizer's, not nvcc's
    subprocess.run(["nvcc", "-dc", *NVCC.get(kind, NVCC["o"]), str(source), "-o", str(made)], check=True, env=plain)
    if kind == "a":
        subprocess.run(["nvcc", "-lib", str(made), "-o", str(path)], check=True, env=plain)
    k = kernel_of(cuda.declare_device("nv_seven", "float32(float32)", abi="c"), link=[str(path)], lineinfo=False)
    assert (b"nv_seven" in k.inspect_cubin(SIG, "sm_90")) == (kind != "ltoir")
    if kind != "fatbin":
        return
    assert b"nv_seven" in k.inspect_cubin(SIG, "sm_75")


@pytest.mark.parametrize("link", [True, False])
def test_forall(cu, link):
    twice = cuda.declare_device("cu_twice", "float32(float32)", abi="c", link=None if link else cu)

    @lw.forall(target="cuda", link=[cu] if link else (), lineinfo=False)
    def f(i, x):
        x[i] = twice(x[i])

    assert not calls(f, 90, "cu_twice", "(float32[::1],)")


def test_vectorize():
    seven = cuda.declare_device("ptx_seven", "float32(float32)", abi="c", link=cuda.PTXSource(PTX))
    f = lw.vectorize(lambda x: seven(x) + 1)
    assert calls(f, 90, "ptx_seven", "float32(float32)")
    with pytest.raises(errors.UnsupportedError, match="ptx_seven"):
        lw.vectorize(lambda x: seven(x) + 1, target="cpu")(np.ones(3, "f4"))


@pytest.mark.parametrize("link", [True, False])
def test_guvectorize(cu, link):
    twice = cuda.declare_device("cu_twice", "float32(float32)", abi="c", link=None if link else cu)

    @lw.guvectorize("(n)->()", link=[cu] if link else (), lineinfo=False)
    def f(x):
        return twice(x[0])

    assert not calls(f, 90, "cu_twice", "float32(float32[:])")


@pytest.mark.parametrize("link", [True, False])
@pytest.mark.parametrize("role", ["map", "combine", "finish"])
def test_reduce(role, link):
    """Each function of a reduction links code; test_link_callbacks.py links scans, reduceat and by_key."""
    code = cuda.PTXSource(PTX, f"seven_{role}.ptx")
    seven = cuda.declare_device("ptx_seven", "float32(float32)", abi="c", link=None if link else code)
    roles = {"map": lambda x: x, "combine": lambda a, b: a + b, "finish": lambda a: a}
    roles[role] = {"map": lambda x: seven(x), "combine": lambda a, b: seven(a) + b, "finish": lambda a: seven(a)}[role]
    f = lw.reduce(**roles, link=[code] if link else (), target="cuda")
    assert b"ptx_seven" in f.inspect_cubin("(float32[:],)", "sm_90")
    assert f.resources("(float32[:],)", "sm_90")["registers"] > 0
    with lw.config(target="cpu"), pytest.raises(errors.UnsupportedError, match="ptx_seven"):
        lw.reduce(**roles, link=code)(np.ones(3, "f4"))


def test_reduce_without_its_code():
    nowhere = cuda.declare_device("nowhere_at_all", "float32(float32)", abi="c")
    with pytest.raises(errors.LinkError, match="nowhere_at_all"):
        lw.reduce(lambda a, b: a + b, map=lambda x: nowhere(x)).inspect_cubin("(float32[:],)", "sm_90")
    with pytest.raises(TypeError, match="link="):
        lw.reduce(lambda a, b: a + b, link=7)


def test_device_functions_bring_their_code():
    seven = cuda.declare_device("ptx_seven", "float32(float32)", abi="c")

    @cuda.jit(device=True, link=cuda.PTXSource(PTX, "seven.ptx"))
    def inner(x):
        return seven(x) + 1

    def outer(x):
        return inner(x) * 2

    assert b"ptx_seven" in kernel_of(outer).inspect_cubin(SIG, "sm_90")


def test_includes(cu, tmp_path):
    (tmp_path / "given.h").write_text("#define FACTOR 3")
    (tmp_path / "given.cu").write_text('#include "given.h"\nextern "C" __device__ float f(float x) { return FACTOR * x; }')
    k = kernel_of(cuda.declare_device("f", "float32(float32)", abi="c"), link=[tmp_path / "given.cu"])
    assert k.inspect_cubin(SIG, "sm_90")


def headers(folder, value):
    folder.mkdir()
    (folder / "given.h").write_text(f"#define FACTOR {value}")
    return folder


def test_include_dirs(cu, tmp_path):
    """The folder of the source is searched first, then the given ones in order, then those of the setting; equal texts differ by their folders."""
    one, two, three = (headers(tmp_path / str(n), n) for n in (1, 2, 3))
    text = '#include "given.h"\nextern "C" __device__ float f(float x) { return FACTOR * x; }'

    def cubin(code):
        return kernel_of(cuda.declare_device("f", "float32(float32)", abi="c"), link=[code], lineinfo=False).inspect_cubin(SIG, "sm_90")

    with pytest.raises(errors.LinkError, match="given.h"):
        cubin(cuda.CUSource(text, "a.cu"))
    first = cubin(cuda.CUSource(text, "a.cu", include_dirs=one))
    assert first == cubin(cuda.CUSource(text, "a.cu", include_dirs=[one, two]))
    second = cubin(cuda.CUSource(text, "a.cu", include_dirs=(str(two), one)))
    assert first != second
    with lw.config(include_path=f"{two}:{one}"):
        assert cubin(cuda.CUSource(text, "a.cu")) == second
        assert cubin(cuda.CUSource(text, "a.cu", include_dirs=[one])) == first
    (three / "a.cu").write_text(text)
    assert cubin(cuda.CUSource.from_path(three / "a.cu", include_dirs=[one])) not in (first, second)
    code = pickle.loads(pickle.dumps(cuda.CUSource(text, "a.cu", include_dirs=os.path.relpath(one))))
    assert code.include_dirs == (str(one),) and cubin(code) == first


def test_include_dirs_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="include_dirs.*nowhere"):
        cuda.CUSource("", include_dirs=[tmp_path / "nowhere"])
    for wrong in (7, [7], {"a": 1}):
        with pytest.raises(TypeError, match="include_dirs"):
            cuda.CUSource("", include_dirs=wrong)
    with pytest.raises(TypeError, match="include_dirs"):
        cuda.PTXSource("", include_dirs=[tmp_path])


cuda_wrong = cuda.declare_device("w", "float32(float32)", abi="c", link=cuda.CUSource("this is not C++", "wrong.cu"))


def test_compile_all(cu):
    seven_code, again = cuda.PTXSource(PTX, "seven.ptx"), cuda.CUSource(CU, name="given.cu")
    seven = cuda.declare_device("ptx_seven", "float32(float32)", abi="c", link=seven_code)
    twice = cuda.declare_device("cu_twice", "float32(float32)", abi="c", link=[cu, again])

    def f(x):
        return twice(seven(x))

    codes, result = cuda.compile_all(f, float32(float32), cc=(9, 0), abi_info={"abi_name": "f_all"})
    assert result == float32 and len(codes) == 3 and isinstance(codes[0], bytes) and seven_code in codes
    linked, = (code for code in codes[1:] if code is not seven_code)
    assert isinstance(linked, bytes)
    # what is returned is all that a kernel needs
    k = kernel_of(cuda.declare_device("f_all", "float32(float32)", abi="c"),
                  link=[cuda.LTOIR(code, f"{i}") if isinstance(code, bytes) else code for i, code in enumerate(codes)])
    assert b"ptx_seven" in k.inspect_cubin(SIG, "sm_90")
    codes, _ = cuda.compile_all(f, float32(float32), cc=(9, 0), output="ptx")
    source, = (code for code in codes[1:] if code is not seven_code)
    assert ".target sm_90" in source and "cu_twice" in source and "ptx_seven" in codes[0]
    codes, result = cuda.compile_all(kernel_of(twice).py_func, (float32[::1], float32[::1]), device=False, output="ptx")
    assert result == types.void and len(codes) == 2 and ".entry" in codes[0]
    with pytest.raises(errors.LinkError, match="wrong.cu"):
        cuda.compile_all(lambda x: cuda_wrong(x), float32(float32))
    with pytest.raises(NotImplementedError, match="output"):
        cuda.compile_all(f, float32(float32), output="cubin")


# ---- what the kernel's own forms show ----


def test_own_code_declares():
    far = cuda.declare_device("somewhere", "float32(float32)")
    k = kernel_of(far)
    assert "somewhere" in k.inspect_ptx(SIG, "sm_90") and "extern .func" in k.inspect_ptx(SIG, "sm_90")
    assert "convergent" in k.inspect_nvvm(SIG, "sm_90")
    ptx, _ = cuda.compile_ptx(k.py_func, (float32[::1], float32[::1]))
    assert "somewhere" in ptx


# ---- mistakes ----


def test_undefined_symbols():
    k = kernel_of(cuda.declare_device("nowhere_at_all", "float32(float32)"))
    with pytest.raises(errors.LinkError, match="nowhere_at_all"):
        k.inspect_cubin(SIG, "sm_90")


def test_wrong_kinds_and_architectures(cu):
    twice = cuda.declare_device("lto_three", "float32(float32)", abi="c")
    for bad in (cuda.LTOIR(b"no LTO-IR", "bad.ltoir"), cuda.Cubin(b"no cubin", "bad.cubin"), cuda.PTXSource("no PTX", "bad.ptx")):
        with pytest.raises(errors.LinkError, match="bad"):
            kernel_of(twice, link=[bad]).inspect_cubin(SIG, "sm_90")
    newer, _ = cuda.compile(lambda x: x * 3, float32(float32), cc=(9, 0), output="ltoir", abi_info={"abi_name": "lto_three"})
    with pytest.raises(errors.LinkError):
        kernel_of(twice, link=[cuda.LTOIR(newer)]).inspect_cubin(SIG, "sm_75")
    with pytest.raises(errors.LinkError, match="wrong.cu(.|\n)*error"):
        kernel_of(twice, link=[cuda.CUSource("this is not C++", "wrong.cu")]).inspect_cubin(SIG, "sm_90")


def test_missing_compiler(tmp_path):
    twice = cuda.declare_device("cu_twice", "float32(float32)", abi="c", link=cuda.CUSource(CU + "// other"))
    with lw.config(nvrtc=str(tmp_path / "libnvrtc.so")), pytest.raises(errors.CompilerNotFound, match="NVRTC"):
        kernel_of(twice).inspect_cubin(SIG, "sm_90")


def test_arguments_of_link(tmp_path):
    with pytest.raises(FileNotFoundError):
        cuda.jit(link=[str(tmp_path / "none.ptx")])(lambda x: None)
    with pytest.raises(ValueError, match="extension"):
        cuda.jit(link=[tmp_path / "none.txt"])(lambda x: None)
    with pytest.raises(TypeError, match="link="):
        cuda.jit(link=[7])(lambda x: None)
    with pytest.raises(TypeError, match="link="):
        cuda.jit(link=7)(lambda x: None)


def test_linkable_code(tmp_path):
    for kind, extension in ((cuda.PTXSource, "ptx"), (cuda.CUSource, "cu"), (cuda.Cubin, "cubin"), (cuda.Fatbin, "fatbin"),
                            (cuda.Archive, "a"), (cuda.Object, "o"), (cuda.LTOIR, "ltoir")):
        path = tmp_path / f"code.{extension}"
        path.write_bytes(b"data")
        for code in (kind.from_path(path), cuda.LinkableCode.from_path(str(path)), kind(b"data", str(path)), kind(io.BytesIO(b"data"), path)):
            assert type(code) is kind and code.data == b"data" and code.name == str(path) and repr(code).startswith(kind.__name__)
    assert cuda.PTXSource(io.StringIO("text")).data == b"text"
    with pytest.raises(TypeError, match="data must be bytes"):
        cuda.Cubin("text")
    with pytest.raises(TypeError, match="LinkableCode has no kind"):
        cuda.LinkableCode(b"")
    with pytest.raises(TypeError, match="setup_callback"):
        cuda.PTXSource("", setup_callback=3)
    assert cuda.PTXSource("", nrt=True).nrt and not cuda.PTXSource("").nrt
    with pytest.raises(TypeError, match="nrt must be True or False, not 'yes'"):
        cuda.PTXSource("", nrt="yes")


def test_declarations():
    f = cuda.declare_device("f", int32(int32, types.CPointer(float32)))
    assert "f: int32(int32, float32*)" in repr(f) and f.name == f.__name__ == "f"
    with pytest.raises(TypeError, match="only kernels"):
        f(1)
    with pytest.raises(TypeError, match="result"):
        cuda.declare_device("f", "(float32,)")
    for sig in ("float32(float16)", "Tuple(float32, float32)(int32)", "float32*(int32)", "void(void)"):
        with pytest.raises(errors.SignatureError, match="E183"):
            cuda.declare_device("f", sig)
    for sig in ("complex64(float32)", "void(complex64)", "void(float32[:])"):
        cuda.declare_device("f", sig)
        with pytest.raises(errors.SignatureError, match="E183"):
            cuda.declare_device("f", sig, abi="c")
    for name in ("a b", "1a", "", "é", "lw_body", "__nv_sinf"):
        with pytest.raises(ValueError, match="name"):
            cuda.declare_device(name, "void()")
    with pytest.raises(ValueError, match="abi"):
        cuda.declare_device("f", "void()", abi="fast")
    with pytest.raises(TypeError, match="name"):
        cuda.declare_device(3, "void()")
    with pytest.raises(errors.UnsupportedError, match="use_cooperative"):
        cuda.declare_device("f", "void()", use_cooperative=True)


def message(function, sig):
    with pytest.raises(errors.CompileError) as caught:
        cuda.jit(sig, target="cuda")(function)
    return str(caught.value)


def test_wrong_calls():
    f = cuda.declare_device("f", "float32(float32, int32)")
    p = cuda.declare_device("p", "void(float32*)")
    same = cuda.declare_device("p", "void(float64*)")
    other = cuda.declare_device("p", "void(float64*)", abi="c")
    table = cuda.declare_device("t", "void(float32[:, ::1])")
    assert "E153" in message(lambda x: f(x[0]), "void(float32[:])")
    assert "E153" in message(lambda x: f(x[0], k=1), "void(float32[:])")
    assert "E142" in message(lambda x: f(x[0], 0.5), "void(float32[:])")
    assert "E120" in message(lambda x: f(x, 1), "void(float32[:])")
    assert "float32*" in message(lambda x: p(x[0]), "void(float32[::1])")
    assert "E120" in message(lambda x: p(x), "void(float64[::1])")
    assert "one behind the other" in message(lambda x: p(x), "void(float32[:])")
    assert "E120" in message(lambda x: table(x), "void(float32[::1])")

    def both(x, y):
        p(x)
        other(y)

    said = message(both, "void(float32[::1], float64[::1])")
    assert "two different ways" in said and 'void(float64*) with abi="c"' in said

    def alike(x, y):
        p(x)
        same(y)

    assert len(cuda.jit(alike).inspect_ptx("void(float32[::1], float64[::1])", "sm_90").split(".extern .func")) == 2


def test_the_cpu_has_no_such_code():
    k = kernel_of(cuda.declare_device("gpu_only", "float32(float32)"), target="cpu")
    with pytest.raises(errors.UnsupportedError, match="gpu_only"):
        k[1, 32](np.ones(3, "f4"), np.ones(3, "f4"))


# ---- the cache ----


def test_content_counts(tmp_path):
    path = tmp_path / "k.ptx"
    seven = cuda.declare_device("ptx_seven", "float32(float32)", abi="c")
    seen = []
    for number in ("0f40E00000", "0f41100000"):
        path.write_text(PTX.replace("0f40E00000", number))
        seen.append(kernel_of(seven, link=[str(path)]).inspect_cubin(SIG, "sm_90"))
    assert seen[0] != seen[1]


def test_kernels_by_resources(cu):
    k = kernel_of(cuda.declare_device("cu_twice", "float32(float32)", abi="c", link=cu))
    assert k.resources(SIG, "sm_90", 128)["registers"] > 0
    again = kernel_of(cuda.declare_device("cu_twice", "float32(float32)", abi="c", link=cu))
    assert again.resources(SIG, "sm_90", 128) == k.resources(SIG, "sm_90", 128)


def test_pickling():
    f = pickle.loads(pickle.dumps(cuda.declare_device("f", "int32(float32*)", link=cuda.PTXSource(PTX, "seven.ptx"))))
    assert f.name == "f" and f.__lanewise_link__[0].data == PTX.encode() and "float32*" in repr(f)


# ---- on a GPU ----


@pytest.mark.gpu
@pytest.mark.skipif(FAKE or not cuda.is_available(), reason="no CUDA device that runs kernels")
class TestResults:
    def test_numbers(self, cu):
        scaled = cuda.declare_device("cu_scaled", "float32(float32, int32)", link=cu)
        swapped = cuda.declare_device("cu_swapped", "complex64(complex64)", link=cu)
        both = cuda.declare_device("cu_both", "bool(bool, uint8)", link=cu, abi="c")
        seven = cuda.declare_device("ptx_seven", "float32(float32)", abi="c", link=cuda.PTXSource(PTX))

        @cuda.jit
        def k(x, z, out, flags):
            i = cuda.grid(1)
            if i < x.size:
                out[i] = scaled(x[i], i) + seven(x[i])
                z[i] = swapped(z[i])
                flags[i] = both(i % 2 == 0, 190 + i)

        x, z = np.arange(20, dtype="f4"), (np.arange(20) + 3j).astype("c8")
        out, flags, before = np.zeros(20, "f4"), np.zeros(20, bool), z.copy()
        k[1, 32](x, z, out, flags)
        assert (out == x * np.arange(20) + 7 * x).all()
        assert (z.real == before.imag).all() and (z.imag == before.real).all()
        assert flags.nonzero()[0].tolist() == [10]

    def test_memory(self, cu):
        largest = cuda.declare_device("cu_largest", "float32(float32*, int64)", link=cu, abi="c")
        total = cuda.declare_device("cu_sum", "float64(float32[:, :])", link=cu)
        nothing = cuda.declare_device("cu_nothing", "void(float32*)", link=cu)

        @cuda.jit
        def k(x, out):
            own = cuda.local.array(2, np.float32)
            own[0] = own[1] = 1
            nothing(own)
            out[0], out[1], out[2] = largest(x[1], x.shape[1]), total(x[::2, ::3]), own[0] + own[1]

        x = np.arange(40, dtype="f4").reshape(4, 10)
        out = np.zeros(3)
        k[1, 1](x, out)
        assert out.tolist() == [x[1].max(), x[::2, ::3].sum(), 6]

    def test_a_status_raises(self, cu):
        checked = cuda.declare_device("cu_checked", "float32(float32)", link=cu)
        k = kernel_of(checked)
        x, y = np.arange(8, dtype="f4"), np.zeros(8, "f4")
        k[1, 8](x, y)
        assert (x == y).all()
        x[5] = -1
        with pytest.raises(RuntimeError, match="cu_checked returned a status"):
            k[1, 8](x, y)

    def test_forall(self, cu):
        twice = cuda.declare_device("cu_twice", "float32(float32)", abi="c", link=cu)

        @lw.forall(target="cuda")
        def f(i, x):
            x[i] = twice(x[i])

        x = cuda.to_device(np.arange(10, dtype="f4"))
        f(10, x)
        assert (x.copy_to_host() == 2 * np.arange(10)).all()


@pytest.mark.parametrize("sig, abi, text, says", [
    ("void(float32*)", "numba", 'extern "C" __device__ void f(float *o) { *o = 1; }', 'f` in f.cu returns void, but with abi="numba".*pass abi="c"'),
    ("float32(float32)", "numba", 'extern "C" {\n__device__\nfloat f(float x)\n{ return x; }}', "returns float, but with abi"),
    ("float32(float32)", "c", "__device__ float f(float x) { return x; }", 'is not `extern "C"`'),
    ("float32(float32)", "c", '/* f(x) { */ extern "C" __device__ __forceinline__ void f(float x) { }', "returns void, but its signature has a result"),
    ("void(float32*)", "c", 'extern "C" __device__ void f(float *o) { *o = 1; }', None),
    ("int32(float32)", "numba", 'extern "C" __device__ int f(int *r, float x) { *r = x; return 0; }', None),
    ("float32(float32)", "c", '#define API extern "C" __device__\nAPI float f(float x) { return x; }', None),
    ("float32(float32)", "numba", "float f(float); // declared, not defined", None),
])
def test_definitions_that_are_not_what_is_declared(sig, abi, text, says):
    """A function with the other convention was inlined as an empty one, silently."""
    declare = lambda: cuda.declare_device("f", sig, link=cuda.CUSource(text, name="f.cu"), abi=abi)
    if says is None:
        declare()
    else:
        with pytest.raises(lw.errors.LinkError, match=says):
            declare()
