"""llvmlite, libNVVM, libdevice or nvJitLink missing or broken: CompilerNotFound that lists the
places, or LinkError that names the library; whatever does not need it goes on."""

from __future__ import annotations

import os
import shutil

import pytest

from lanewise import _core

HIDE = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {hidden!r} or name in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}} (hidden)", name=name)
sys.meta_path.insert(0, Hide())
"""
START = """
import numpy as np, lanewise as lw
from lanewise import errors
x = np.arange(5.0)
def body(v):
    return v * 2
TEXT = "def body(v):\\n    return v * 2\\n"
def refused(work, *words, error=errors.CompilerNotFound):
    for again in range(2):
        try:
            work()
        except error as problem:
            for word in words:
                assert word in str(problem), problem
        else:
            raise AssertionError("it worked")
def host():
    assert lw.vectorize(body, source=TEXT)(x)[4] == 8
import math
WAVE = "def wave(v):\\n    return math.sin(v)\\n"
exec(WAVE)
def gpu(output="cubin"):
    return lw.compile(lw.vectorize(["f8(f8)"], source=WAVE)(wave), "f8(f8)", "sm_90", output)
assert len(lw.info())
"""


def toolchain():
    """The files of this machine's GPU compiler, or None where one is missing."""
    found = {name: value[0] for name, value in _core._toolchain_info().items() if isinstance(value, tuple)}
    return found if len(found) == 3 and all(found.values()) else None


FOUND = toolchain()
needs_toolchain = pytest.mark.skipif(FOUND is None, reason="no GPU compiler on this machine")


def go(run_python, tmp_path, code, hidden=(), **variables):
    script = (HIDE.format(hidden=set(hidden)) if hidden else "") + START + code
    return run_python("-c", script, LANEWISE_CACHE_DIR=str(tmp_path / "cache"), **variables)


def test_no_llvmlite(run_python, tmp_path):
    go(run_python, tmp_path, "refused(host, 'llvmlite', 'pip install')\n"
       "refused(lambda: lw.vectorize(['f8(f8)'], source=TEXT)(body)(x), 'llvmlite')\n"
       "assert 'define' in gpu('nvvm') and 'v' in lw.vectorize(['f8(f8)'], source=TEXT)(body).inspect_types()\n", hidden=["llvmlite"])


def test_llvmlite_comes_later(run_python, tmp_path):
    """Not found is not remembered."""
    go(run_python, tmp_path, "refused(host, 'llvmlite')\nimport sys\nsys.meta_path[:] = [f for f in sys.meta_path if 'Hide' not in repr(f)]\nhost()\n", hidden=["llvmlite"])


def test_cached_kernels_need_no_llvmlite(run_python, tmp_path):
    go(run_python, tmp_path, "host()\n")
    go(run_python, tmp_path, "host()\nassert 'llvmlite' not in sys.modules\n", hidden=["llvmlite"])


def test_broken_llvmlite(run_python, tmp_path):
    """One that imports and has nothing in it."""
    (tmp_path / "fake" / "llvmlite").mkdir(parents=True)
    (tmp_path / "fake" / "llvmlite" / "__init__.py").write_text("__version__ = '0.0'\n")
    (tmp_path / "fake" / "llvmlite" / "binding.py").write_text("raise OSError('libllvmlite.so: cannot open shared object file')\n")
    go(run_python, tmp_path, f"import sys\nsys.path.insert(0, {str(tmp_path / 'fake')!r})\nrefused(host, 'libllvmlite', error=errors.LanewiseError)\n")


PLACES = ["LANEWISE_LIBNVVM", "LANEWISE_LIBDEVICE", "LANEWISE_NVJITLINK"]


@needs_toolchain
def test_toolchain_is_found(run_python, tmp_path):
    go(run_python, tmp_path, "assert gpu()[:4] == b'\\x7fELF'\n")


@needs_toolchain
@pytest.mark.parametrize("variable", PLACES)
@pytest.mark.parametrize("kind", ["missing", "folder", "text", "empty", "other library", "truncated", "unreadable name"])
def test_setting_that_leads_nowhere(variable, kind, run_python, tmp_path):
    """A setting is never replaced by something found."""
    path = tmp_path / "lib.so"
    names = {"LANEWISE_LIBNVVM": "libNVVM", "LANEWISE_LIBDEVICE": "libdevice", "LANEWISE_NVJITLINK": "nvJitLink"}
    if kind == "folder":
        path.mkdir()
    elif kind == "text":
        path.write_text("not a library\n" * 100)
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "other library":
        shutil.copy(os.path.realpath(_core.__file__), path)
    elif kind == "truncated":
        real = FOUND[names[variable]]
        with open(real, "rb") as file:
            path.write_bytes(file.read(5000))
    elif kind == "unreadable name":
        path = tmp_path / "\udcff\udcfe" / "x.so"
    go(run_python, tmp_path, "host()\nrefused(gpu, error=errors.LanewiseError)\nassert 'define' in gpu('nvvm')\nhost()\n"
       "try:\n    gpu()\nexcept errors.LanewiseError as problem:\n    assert any(w in str(problem) for w in ('lib.so', 'x.so', 'libdevice', %r)), problem\n" % variable,
       **{variable: os.fspath(path)})


@pytest.mark.parametrize("variable", PLACES)
def test_missing_ones_list_the_places(variable, run_python, tmp_path):
    go(run_python, tmp_path, f"refused(gpu, {variable!r}, '/nowhere/lib.so', 'pip install')\nhost()\n", **{variable: "/nowhere/lib.so"})


def test_nothing_of_cuda_at_all(run_python, tmp_path):
    """Every place empty: all that was tried is told, twice the same, and info works."""
    go(run_python, tmp_path, "refused(gpu, 'LANEWISE_LIBNVVM', 'pip install')\nrefused(lambda: gpu('ptx'), 'libNVVM')\nhost()\nassert 'define' in gpu('nvvm')\n"
       "import subprocess\n", **{name: "/nowhere/lib.so" for name in PLACES})


@needs_toolchain
def test_found_after_a_setting_is_put_right(run_python, tmp_path):
    go(run_python, tmp_path, "refused(gpu, '/nowhere')\nlw.config.libnvvm = ''\nassert gpu()[:4] == b'\\x7fELF'\n"
       "with lw.config(nvjitlink='/nowhere/else.so'):\n    lw.cache.clear()\n    refused(lambda: lw.compile(lambda v: v + 3, 'f4(f4)'), '/nowhere/else.so')\n"
       "assert lw.compile(lambda v: v + 3, 'f4(f4)')[:4] == b'\\x7fELF'\n", LANEWISE_LIBNVVM="/nowhere/lib.so")


@needs_toolchain
def test_device_calls_without_a_compiler(run_python, tmp_path, fake_cuda):
    """The call fails by name, arrays go on, and the next call works when the compiler is there."""
    go(run_python, tmp_path, "from lanewise import cuda\nd = cuda.to_device(x)\nf = lw.vectorize(body, source=TEXT)\nrefused(lambda: f(d), '/nowhere/lib.so')\n"
       "assert d[1:].copy_to_host().tolist() == [1, 2, 3, 4] and f(x)[1] == 2\nlw.config.nvjitlink = ''\nassert f(d).shape == (5,)\n",
       LANEWISE_CUDA_DRIVER=fake_cuda, LANEWISE_NVJITLINK="/nowhere/lib.so")


def test_info_with_nothing(run_python, tmp_path):
    done = run_python("-c", HIDE.format(hidden={"llvmlite", "cuda"}) + "import runpy\nsys.argv = ['lanewise', 'info']\ntry:\n    runpy.run_module('lanewise', run_name='__main__')\n"
                      "except SystemExit as end:\n    assert not end.code, end.code\n", LANEWISE_CUDA_DRIVER="/nowhere/libcuda.so", LANEWISE_CACHE_DIR="/proc/nowhere",
                      **{name: "/nowhere/lib.so" for name in PLACES})
    assert "/nowhere/lib.so" in done.stdout and "llvmlite" in done.stdout and "/nowhere/libcuda.so" in done.stdout
