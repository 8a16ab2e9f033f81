"""lanewise.runtime: what is counted, numba's names, MemInfo, C's table of functions, and linked code that takes part (nrt=True).

That allocations equal frees is shown for the programs of test_new_arrays.py, however they are left."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import threading

import numpy as np
import pytest

import lanewise as lw
from lanewise import _core, cuda, errors, runtime, types
from lanewise.runtime import rtsys
from test_new_arrays import KERNELS, M, MADE, X, added, centred, columns, leaves


@pytest.fixture
def counted():
    """A function that returns what was allocated since its last call, which is also what was freed."""
    enabled = runtime.memsys_stats_enabled()
    runtime.memsys_enable_stats()
    last = [runtime.get_allocation_stats()]

    def since():
        now = runtime.get_allocation_stats()
        alloc, free, mi_alloc, mi_free = (a - b for a, b in zip(now, last[0]))
        last[0] = now
        assert alloc == free and mi_alloc == mi_free, now
        return alloc

    yield since
    if not enabled:
        runtime.memsys_disable_stats()


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def target(request):
    if request.param == "cuda" and not cuda.is_available():
        pytest.skip("no CUDA device")
    return request.param


# ---- allocations equal frees ----


@pytest.mark.parametrize("made", MADE)
def test_programs_that_make_arrays(made, counted):
    function = lw.jit(made)
    result = function(X, M)
    owns = type(result.base) is _core.MemInfo
    del result
    assert counted() >= owns


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels(kernel, target, counted):
    x, out = np.arange(5.0), np.zeros(5)
    launched = cuda.jit(kernel, target=target)
    counted()
    launched[1, 1](x, out)
    once = counted()
    launched[2, 3](x, out)
    assert once > 0 and counted() == 6 * once  # each thread the same


@pytest.mark.parametrize("n", [0, 1, 5, 8, 15, 25])
def test_loops_that_are_left(n, counted):
    if n > 20:
        with pytest.raises(ValueError, match="too many"):
            leaves(X, n)
    else:
        leaves(X, n)
    assert counted() >= min(n, 8)


def test_exceptions(counted):
    with pytest.raises(ValueError, match="could not broadcast"):
        added(np.zeros(3), np.zeros(4))
    assert counted() > 0

    @lw.jit
    def nested(n):
        def inner(x, k):
            y = x + k
            if k == 3:
                raise KeyError("three")
            return y[:-1]

        total = np.zeros(8)
        for i in range(n):
            z = inner(total, i)
            total[:7] += z
        return total

    assert nested(3)[0] == 4
    assert counted() == 4
    with pytest.raises(KeyError):
        nested(9)
    assert counted() == 5


def test_generators(counted):
    x = np.random.default_rng(1).random((500, 64))
    centred(x)
    columns(np.stack([x, x]))
    smoothed = lw.vectorize(lambda v: (np.full(4, v) * np.arange(4)).sum())
    smoothed(np.linspace(0, 1, 3000))
    out = np.zeros(40)

    @lw.forall
    def each(i, out):
        out[i] = np.arange(float(i)).sum()

    each(40, out)
    assert counted() > 2000 and out[39] == 38 * 39 / 2


def test_results_count_until_they_go(counted):
    f = lw.jit(lambda x: (x * 2, x + 1))
    before = runtime.get_allocation_stats()
    pair = f(X)
    now = runtime.get_allocation_stats()
    assert now.alloc - before.alloc == 2 and now.free == before.free
    view = pair[0][1:]
    del pair
    assert runtime.get_allocation_stats().free - before.free == 1
    del view
    assert counted() == 2


def test_memory_that_is_used_again_counts(counted):
    @lw.jit
    def loop(n):
        for i in range(n):
            t = np.empty(2)
            t[0] = i

    loop(10)
    assert counted() == 10  # numba's meaning


def test_64_threads(counted):
    def work():
        for i in range(30):
            leaves(X, i % 12)
            with pytest.raises(ValueError):
                leaves(X, 25)
            kept.append(doubled(X))

    kept, doubled = [], lw.jit(lambda x: x * 2)
    threads = [threading.Thread(target=work) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept) == 64 * 30 and all(np.array_equal(one, X * 2) for one in kept)
    kept.clear()  # freed here, made there
    assert counted() > 64 * 60


@pytest.mark.skipif(not hasattr(_core, "_memory_fail_at"), reason="this build cannot make allocations fail")
def test_allocations_that_fail(counted):
    leaves(X, 10)
    failed = 0
    for n in range(60):
        _core._memory_fail_at(n)
        try:
            leaves(X, 10)
        except MemoryError:
            failed += 1
        finally:
            _core._memory_fail_at(-1)
        counted()
    assert failed > 5


# ---- the names ----


def test_disabled():
    runtime.memsys_disable_stats()
    assert not runtime.memsys_stats_enabled() and not rtsys.memsys_stats_enabled()
    queries = [rtsys.get_allocation_stats, runtime.get_allocation_stats,
               *(getattr(rtsys, f"memsys_get_stats_{name}") for name in runtime.Stats._fields)]
    for query in queries:
        with pytest.raises(RuntimeError, match=r"NRT stats are disabled\."):
            query()


def test_toggled(capsys):
    """As in numba's tests, what runs while counting is disabled is not counted."""
    f = lw.jit(lambda: np.arange(5 * np.ones(3)[0]).sum())
    rtsys.initialize()
    rtsys.memsys_enable_stats()
    for _ in range(2):
        first = rtsys.get_allocation_stats()
        rtsys.memsys_disable_stats(None)  # numba.cuda's take a stream
        f()
        rtsys.memsys_enable_stats(cuda.default_stream() if cuda.is_available() else None)
        second = rtsys.get_allocation_stats()
        f()
        third = rtsys.get_allocation_stats()
        assert first == second < third
        assert third.alloc == rtsys.memsys_get_stats_alloc() and third.free == rtsys.memsys_get_stats_free()
        assert third.mi_alloc == rtsys.memsys_get_stats_mi_alloc() and third.mi_free == rtsys.memsys_get_stats_mi_free()
    rtsys.print_memsys()
    assert re.fullmatch(r"memsys: enabled=True alloc=\d+ free=\d+ mi_alloc=\d+ mi_free=\d+\n", capsys.readouterr().out)
    rtsys.close()
    assert not rtsys.memsys_stats_enabled()
    rtsys.memsys_enable_stats()
    assert rtsys.get_allocation_stats() == (0, 0, 0, 0)
    rtsys.memsys_disable_stats()


def test_where_the_cpu_is_the_device(run_python):
    code = ("import numpy as np\nfrom lanewise import cuda\nfrom lanewise.runtime import rtsys\n"
            "@cuda.jit\ndef k(x):\n    y = x + 1\n    x[cuda.grid(1)] = y[0]\n"
            "rtsys.initialize()\nrtsys.memsys_enable_stats()\nk[2, 3](cuda.to_device(np.zeros(6)))\n"
            "print(*rtsys.get_allocation_stats())\n")
    assert run_python("-c", code, LANEWISE_TARGET="cpu").stdout.split() == ["6"] * 4


def test_one_target():
    f = lw.jit(lambda: np.ones(3).sum())
    runtime.memsys_enable_stats(target="cpu")
    assert runtime.memsys_stats_enabled(target="cpu") and not runtime.memsys_stats_enabled(target="cuda")
    assert not runtime.memsys_stats_enabled()
    before = runtime.get_allocation_stats(target="cpu")
    f()
    assert runtime.get_allocation_stats(target="cpu").alloc == before.alloc + 1
    with pytest.raises(RuntimeError, match="disabled"):
        runtime.get_allocation_stats(target="cuda")
    runtime.memsys_disable_stats(target="cpu")
    for call in (runtime.get_allocation_stats, runtime.memsys_enable_stats, rtsys.memsys_stats_enabled, rtsys.print_memsys):
        for wrong in ("gpu", 1, []):
            with pytest.raises(ValueError, match="target must be 'cpu', 'cuda' or None"):
                call(target=wrong)


def test_the_setting(run_python):
    code = ("import numpy as np, lanewise as lw\n"
            "f = lw.jit(lambda: np.ones(3).sum())\nf()\n"
            "print(lw.runtime.get_allocation_stats(target='cpu').alloc, lw.runtime.memsys_stats_enabled())\n")
    assert run_python("-c", code, LANEWISE_NRT_STATS="1").stdout.split() == ["1", "True"]


# ---- MemInfo, and C's table ----


def test_meminfo():
    y = lw.jit(lambda x: x + 1)(np.zeros(4))
    info = y.base
    again = runtime.MemInfo(info.address)
    assert info.refcount == again.refcount == 2 and again.size == 32 and again.data == y.ctypes.data
    del y, info
    assert again.refcount == 1 and np.frombuffer(again).tolist() == [1] * 4
    again.acquire()
    assert again.refcount == 2
    again.release()
    with pytest.raises(RuntimeError, match="only reference"):
        again.release()
    with pytest.raises(ValueError, match="not 0"):
        runtime.MemInfo(0)
    with pytest.raises(TypeError):
        runtime.MemInfo("here")


EXTENSION = """
#include <stdlib.h>
#include "lanewise_nrt.h"

static int n_ended, n_given;
static void end(void *data) { n_ended++; free(data); }
static void *give(size_t n, void *opaque) { n_given += *(int *)opaque; return malloc(n); }
static void take(void *data, void *opaque) { n_given -= *(int *)opaque; free(data); }

#ifdef __cplusplus
extern "C"
#endif
int use(NRT_api_functions *nrt, void **out)
{
    static int seven = 7;
    NRT_ExternalAllocator allocator = {give, NULL, take, &seven};
    NRT_MemInfo *mine = nrt->manage_memory(malloc(10), end), *theirs, *plain;

    nrt->acquire(mine);
    nrt->release(mine);
    if (mine == NULL || n_ended != 0)
        return 1;
    nrt->release(mine);
    if (n_ended != 1)
        return 2;
    theirs = nrt->allocate_external(100, &allocator);
    if (theirs == NULL || n_given != 7 || nrt->get_data(theirs) == NULL)
        return 3;
    allocator.free = NULL; /* the table has copied it */
    nrt->release(theirs);
    if (n_given != 0)
        return 4;
    plain = nrt->allocate(16);
    ((double *)nrt->get_data(plain))[0] = 0.5;
    ((double *)nrt->get_data(plain))[1] = 1.5;
    nrt->acquire(NULL);
    nrt->release(NULL);
    *out = plain;
    return 0;
}
"""


@pytest.mark.parametrize("language", ["c", "c++"])
def test_c_extensions(language, tmp_path, counted):
    compiler = shutil.which("gcc" if language == "c" else "g++") or (shutil.which("cc") if language == "c" else None)
    if compiler is None:
        pytest.skip(f"no compiler of {language}")
    source, library = tmp_path / "use.c", tmp_path / "use.so"
    source.write_text(EXTENSION)
    subprocess.run([compiler, "-x", language, "-Wall", "-Werror", "-fPIC", "-shared", f"-I{runtime.get_include()}", str(source), "-o", str(library)],
                   check=True)
    find = ctypes.pythonapi.PyCapsule_Import
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int]
    made = ctypes.c_void_p()
    use = ctypes.CDLL(str(library)).use
    use.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    assert use(find(b"lanewise.runtime.NRT_api_functions", 0), ctypes.byref(made)) == 0
    info = runtime.MemInfo(made.value)
    info.release()  # C's own reference
    values = np.frombuffer(info)
    assert values.tolist() == [0.5, 1.5] and info.refcount == 1
    del info, values
    assert counted() == 3


# ---- linked code ----

CU = """
#include <lanewise_nrt.h>

struct floats { NRT_MemInfo *meminfo; void *parent; long long nitems, itemsize; double *data; long long shape, stride; };

static __device__ void end(void *data, size_t size, void *information)
{
    atomicAdd((int *)information, (int)size);
    NRT_Free(data);
}

extern "C" __device__ int filled(floats *result, long long n, int *n_ended)
{
    double *data = (double *)NRT_Allocate(n * sizeof(double));
    NRT_MemInfo *mi = data ? NRT_MemInfo_new(data, n * sizeof(double), end, n_ended) : NULL;

    if (mi == NULL)
        return 1;
    for (long long i = 0; i < n; i++)
        data[i] = i;
    *result = {mi, NULL, n, sizeof(double), data, n, sizeof(double)};
    return 0;
}

extern "C" __device__ int references(long long *result, NRT_MemInfo *mi, void *, long long, long long, double *, long long, long long)
{
    NRT_incref(mi);
    *result = mi ? (long long)mi->refct : 0;
    NRT_decref(mi);
    return 0;
}

extern "C" __device__ int aligned(long long *result, long long n, unsigned align)
{
    NRT_MemInfo *mi = NRT_MemInfo_alloc_aligned(n, align);
    if (mi == NULL)
        return 1;
    *result = (long long)NRT_MemInfo_data_fast(mi) % align + (mi->size != n);
    NRT_MemInfo_call_dtor(mi);
    return 0;
}
"""

CCS = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"]


@pytest.fixture(scope="module")
def foreign():
    code = cuda.CUSource(CU, "foreign.cu", nrt=True)
    filled = cuda.declare_device("filled", "float64[::1](int64, int32*)", link=code)
    references = cuda.declare_device("references", "int64(float64[::1])", link=code)
    aligned = cuda.declare_device("aligned", "int64(int64, uint32)", link=code)

    @cuda.jit
    def kernel(out, n, n_ended):
        x = filled(n, n_ended)
        y = x + 1
        out[0] = x.sum() + y[0]
        out[1] = references(y)
        out[2] = references(out)
        out[3] = aligned(n, 256)
        for i in range(n):
            x = filled(i, n_ended)
        out[4] = x.shape[0]

    try:
        kernel.inspect_cubin("void(float64[::1], int64, int32[::1])", "sm_90")
    except errors.CompilerNotFound as problem:
        pytest.skip(str(problem))
    return kernel


@pytest.mark.parametrize("cc", CCS)
def test_cuda_source_with_nrt(foreign, cc):
    assert b"lw_heap_state\0" in foreign.inspect_cubin("void(float64[::1], int64, int32[::1])", cc)


@pytest.mark.gpu
def test_foreign_memory_on_a_gpu(foreign, counted):
    if not cuda.is_available():
        pytest.skip("no CUDA device")
    out, n_ended = np.zeros(5), np.zeros(1, np.int32)
    foreign[1, 1](out, 10, n_ended)
    assert out.tolist() == [46, 3, 0, 0, 9]  # y is held where it was made, by the variable and by what counts
    assert n_ended[0] == 8 * (10 + sum(range(10)))  # each destructor once, with its information and size
    assert counted() > 20


def inside(source, name="inside", kind=cuda.CUSource, **options):
    """A kernel that calls a function `int inside(int *)` of this code."""
    function = cuda.declare_device(name, "int32()", link=kind(source, "inside", **options))

    @cuda.jit
    def kernel(out):
        out[0] = function()

    return kernel


ALLOCATES = """
extern "C" __device__ void *NRT_Allocate(size_t);
extern "C" __device__ void NRT_Free(void *);
extern "C" __device__ int inside(int *result) { void *p = NRT_Allocate(8); *result = p != 0; NRT_Free(p); return 0; }
"""
SIG = "void(int32[::1])"


def test_what_says_so_is_linked(foreign):
    assert b"lw_heap_state\0" in inside(ALLOCATES, nrt=True).inspect_cubin(SIG, "sm_90")
    with pytest.raises(errors.LinkError, match=r"NRT_Allocate[\s\S]*jit\(nrt=True\)"):
        inside(ALLOCATES).inspect_cubin(SIG, "sm_90")
    # the text is not searched: names alone link nothing
    assert b"lw_heap_state\0" not in inside(ALLOCATES.replace("NRT_Allocate(8)", "(void *)\"NRT_Allocate\"").replace("NRT_Free(p);", "")
                                            ).inspect_cubin(SIG, "sm_90")


def test_jit_may_say_so(foreign, tmp_path):
    path = tmp_path / "inside.cu"
    path.write_text(ALLOCATES)
    function = cuda.declare_device("inside", "int32()")
    with_it, without = (cuda.jit(link=[str(path)], nrt=nrt)(takes(function)) for nrt in (True, False))
    assert b"lw_heap_state\0" in with_it.inspect_cubin(SIG, "sm_90")
    with pytest.raises(errors.LinkError, match="NRT_"):
        without.inspect_cubin(SIG, "sm_90")
    code = cuda.LinkableCode.from_path(path, nrt=True)
    assert type(code) is cuda.CUSource and code.nrt and runtime.get_include() not in code.include_dirs
    with pytest.raises(TypeError, match="nrt"):
        cuda.jit(nrt=3)


def takes(function):
    def kernel(out):
        out[0] = function()
    return kernel


def test_equal_contents_of_which_one_says_so(foreign):
    function = cuda.declare_device("inside", "int32()", link=[cuda.CUSource(ALLOCATES), cuda.CUSource(ALLOCATES, nrt=True)])
    assert b"lw_heap_state\0" in cuda.jit(takes(function)).inspect_cubin(SIG, "sm_90")


@pytest.mark.parametrize("kind", ["ptx", "ltoir"])
def test_code_that_is_called(foreign, kind):
    compiled = _core._compile_source(cuda.CUSource(ALLOCATES), 90, kind == "ptx", False, False)
    kernel = inside(compiled, kind=cuda.PTXSource if kind == "ptx" else cuda.LTOIR, nrt=True)
    assert b"lw_heap_state\0" in kernel.inspect_cubin(SIG, "sm_90")


def test_functions_of_c_cannot_make_arrays():
    with pytest.raises(errors.UnsupportedError, match="makes arrays, for which memory may be missing"):
        cuda.compile(lambda x: (np.zeros(4) + x).sum(), types.float64(types.float64), cc=(9, 0))


def test_array_results_are_declared():
    with pytest.raises(errors.SignatureError, match='with abi="c" there are no arrays'):
        cuda.declare_device("f", "float64[:](int64)", abi="c")
    with pytest.raises(errors.SignatureError, match="a number, an array or void"):
        cuda.declare_device("f", "float64*(int64)")


def test_kernels_without_arrays_know_no_heap():
    kernel = cuda.jit(lambda out: out.fill(1))
    try:
        assert "lw_heap" not in kernel.inspect_nvvm("void(float64[::1])", "sm_90")
    except errors.CompilerNotFound as problem:
        pytest.skip(str(problem))


@pytest.mark.gpu
def test_a_million_threads(counted):
    if not cuda.is_available():
        pytest.skip("no CUDA device")

    @cuda.jit
    def kernel(out, n):
        i = cuda.grid(1)
        t = np.zeros(n)
        for k in range(n):
            t[k] = i + k
        out[i] = t.sum()

    out = cuda.device_array(1 << 20)
    for n in (128, 16, 400, 128):
        kernel[4096, 256](out, n)
        want = n * np.arange(1 << 20) + n * (n - 1) / 2
        assert np.array_equal(out.copy_to_host(), want)
        assert counted() == 1 << 20


@pytest.mark.gpu
def test_one_meminfo_for_all_threads(foreign, counted):
    """One thread of each block makes an array, all of them take and drop references to it, and whoever is last frees it."""
    if not cuda.is_available():
        pytest.skip("no CUDA device")
    code = cuda.CUSource(CU + """
__device__ NRT_MemInfo *shared_ones[64];
extern "C" __device__ int offered(int *, int at, int references)
{
    NRT_MemInfo *mi = NRT_MemInfo_alloc_aligned(1024, 16);
    for (int i = 1; i < references; i++)
        NRT_incref(mi);
    for (int i = 0; i < 256; i++)
        ((int *)NRT_MemInfo_data_fast(mi))[i] = at + i;
    shared_ones[at] = mi;
    return 0;
}
extern "C" __device__ int taken(int *result, int at)
{
    NRT_MemInfo *mi = shared_ones[at];
    for (int i = 0; i < 100; i++) {
        NRT_incref(mi);
        NRT_decref(mi);
    }
    *result = ((int *)NRT_MemInfo_data_fast(mi))[threadIdx.x % 256];
    NRT_decref(mi);
    return 0;
}
""", "shared.cu", nrt=True)
    offered = cuda.declare_device("offered", "void(int32, int32)", link=code)
    taken = cuda.declare_device("taken", "int32(int32)", link=code)

    @cuda.jit
    def kernel(out):
        if cuda.threadIdx.x == 0:
            offered(cuda.blockIdx.x, cuda.blockDim.x)
        cuda.syncthreads()
        out[cuda.grid(1)] = taken(cuda.blockIdx.x)

    out = np.zeros(64 * 256, np.int32)
    kernel[64, 256](out)
    assert np.array_equal(out.reshape(64, 256), np.arange(64)[:, None] + np.arange(256))
    assert counted() == 64


def test_the_header_is_installed():
    assert sorted(os.listdir(runtime.get_include())) == ["lanewise_nrt.h", "nrt.cuh"]
