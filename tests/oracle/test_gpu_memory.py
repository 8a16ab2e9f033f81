"""The text of core/emit/gpu_memory.c, which no machine without a GPU can run as it is, on the CPU: its assembly is replaced by functions
of tests/c/gpu_memory_run.c, threads stand for lanes, and malloc is one that counts, checks and fails.

What is proved: no memory has two owners, however threads interleave; nothing is lost, also where malloc fails; what a thread frees another
can have; warps allocate together; a heap that is full of kept memory gives it back; foreign destructors."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess

import numpy as np
import pytest

from ir_tools import ROOT, HostModule
from lanewise import cuda, errors

RENAMED = {"malloc": "device_malloc", "free": "device_free", "llvm.nvvm.read.ptx.sreg.smid": "device_smid",
           "llvm.nvvm.read.ptx.sreg.warpid": "device_warpid", "llvm.nvvm.read.ptx.sreg.laneid": "device_laneid"}
MEMBERS = ["lw_memory_renew", "lw_memory_retain", "lw_memory_release", "NRT_Allocate", "NRT_Free", "NRT_MemInfo_new",
           "NRT_MemInfo_alloc_aligned", "NRT_MemInfo_data_fast", "lw_heap_state"]


def text_of(target):
    @cuda.jit(nrt=True, lineinfo=False)
    def kernel(out, n):
        x = np.zeros(n)
        for i in range(n):
            x = x + i
        out[0] = x[0]

    try:
        return kernel.inspect_nvvm("void(float64[::1], int64)", target)
    except errors.CompilerNotFound as problem:
        pytest.skip(str(problem))


def host_text():
    """The functions of memory alone, with what is assembly declared."""
    text = text_of("sm_90").replace(" addrspace(1)", "").replace("void (i8*, i64, i8*)*", "ptr")
    text = re.sub(r"\bi(?:8|64)\*+", "ptr", text)
    kept, outside = [], []
    for chunk in re.split(r"^(?=define |declare |@)", text, flags=re.M):
        head = re.match(r"define (?:internal |weak )?(\S+ @([\w.]+)\(.*?\)) nounwind", chunk)
        if head and re.match(r"lw_(?!report|body)|NRT_", head[2]):
            kept.append(f"declare {head[1]}\n" if "asm sideeffect" in chunk else re.sub("^define (internal|weak)", "define", chunk))
        elif chunk.startswith("@lw_heap_state"):
            outside.append(chunk.replace("weak", "").replace("externally_initialized", ""))
        elif re.match(r"declare .*@(malloc|free|llvm\.(ctpop|cttz|nvvm\.read)\S*)\(", chunk):
            outside.append(chunk)
    text = "".join(outside + kept).replace(" convergent", "")
    for name, other in RENAMED.items():
        text = re.sub(rf"@{re.escape(name)}\(", f"@{other}(", text)
    return text + "\ndefine ptr @state_variable() {\n  ret ptr @lw_heap_state\n}\n"


class Compiled(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in MEMBERS]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    assert compiler, "a C compiler is needed to build tests/c/gpu_memory_run.c"
    path = tmp_path_factory.mktemp("gpu_memory") / "run.so"
    subprocess.run([compiler, "-std=c17", "-O1", "-g", "-D_DEFAULT_SOURCE", "-fPIC", "-shared", f"-I{ROOT}",
                    str(ROOT / "tests/c/gpu_memory_run.c"), "-o", str(path), "-lpthread"], check=True)
    library = ctypes.CDLL(str(path))
    text = host_text()
    declared = re.findall(r"^declare .*?@((?:lw|device)_\w+)\(", text, re.M)
    module = HostModule(text, {name: ctypes.cast(library[name], ctypes.c_void_p).value for name in declared})
    addresses = [module[name] for name in MEMBERS[:-1]]
    compiled = Compiled(*addresses, ctypes.CFUNCTYPE(ctypes.c_void_p)(module["state_variable"])())

    def call(name, *arguments):
        function = library[f"run_{name}"]
        function.argtypes = None
        return function(ctypes.byref(compiled), *arguments)

    call.keeps = module, library
    return call


@pytest.mark.parametrize("n_threads, n_places", [(1, 1), (4, 1), (16, 3), (64, 32)])
def test_no_memory_has_two_owners(run, n_threads, n_places):
    assert run("churn", n_threads, 400_000 // n_threads, n_places, 0, ctypes.c_int64(0)) == 0


@pytest.mark.parametrize("one_in", [2, 7, 50])
def test_malloc_that_fails(run, one_in):
    assert run("churn", 16, 20_000, 2, one_in, ctypes.c_int64(0)) == 0


@pytest.mark.parametrize("heap_bytes", [20_000, 60_000])
def test_a_full_heap_gives_back_what_is_kept(run, heap_bytes):
    assert run("churn", 8, 30_000, 32, 0, ctypes.c_int64(heap_bytes)) == 0


def test_warps_allocate_together(run):
    mallocs, rounds, warps = ctypes.c_int64(), 50, 3
    assert run("lockstep", warps, rounds, ctypes.byref(mallocs)) == 0
    # the first round: a chunk for each of two arrays, and of a third one for each of three sizes; then memory that is kept
    assert mallocs.value == (2 + 3) * warps


@pytest.mark.parametrize("n_threads", [1, 8, 64])
def test_destructors_of_foreign_memory(run, n_threads):
    assert run("foreign", n_threads) == 0


def test_without_a_state(run):
    assert run("plain") == 0


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"])
def test_the_text_is_compiled(target):
    @cuda.jit(nrt=True)
    def kernel(out, n):
        out[0] = np.zeros(n).sum()

    try:
        cubin = kernel.inspect_cubin("void(float64[::1], int64)", target)
    except errors.CompilerNotFound as problem:
        pytest.skip(str(problem))
    assert b"lw_heap_state\0" in cubin
