"""Only the init function leaves the shared object, and the two names by which gdb finds compiled code."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

import lanewise._core


@pytest.fixture(scope="module")
def symbols():
    if shutil.which("nm") is None:
        pytest.skip("nm (binutils) is missing: the exported symbols cannot be read")
    command = ["nm", "-D", "--defined-only", lanewise._core.__file__]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split()[-1] for line in listed.splitlines()]


def test_only_the_init_function_is_exported(symbols):
    if "LW_ASAN" in os.environ:  # the sanitizer's own marks
        symbols = [name for name in symbols if not name.startswith(("__asan", "__odr_asan", "__ubsan"))]
    assert sorted(symbols) == ["PyInit__core", "__jit_debug_descriptor", "__jit_debug_register_code"]


def test_no_vendor_library_is_linked():
    """The driver and the compilers are opened when needed, never by the loader."""
    if shutil.which("readelf") is None:
        pytest.skip("readelf (binutils) is missing: the needed libraries cannot be read")
    listed = subprocess.run(["readelf", "-d", lanewise._core.__file__], capture_output=True, text=True, check=True).stdout
    needed = [line.split("[")[1].rstrip("]") for line in listed.splitlines() if "(NEEDED)" in line]
    assert needed
    assert not [name for name in needed if name.startswith(("libcuda", "libnvvm", "libnvJit", "libnvrtc", "libLLVM", "libstdc++"))]
