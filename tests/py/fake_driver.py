"""The fake CUDA driver for Python tests; it holds no test.

Its device memory is host memory, so that copies round-trip, but it runs no kernel. The driver is
chosen at its first use, once a process: test_fake_driver.py starts one with it.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lanewise import cuda

ROOT = Path(__file__).resolve().parents[2]
FAKE = os.environ.get("LW_FAKE_DRIVER") == "1"

needs_device = pytest.mark.skipif(
    not cuda.is_available(),
    reason="no CUDA device; test_fake_driver.py runs this file on the fake driver")
needs_kernels = pytest.mark.skipif(FAKE, reason="the fake driver runs no kernels")


def build(folder: Path) -> Path:
    """Compile the fake driver; returns the path of its library."""
    library = folder / "libcuda_fake.so"
    subprocess.run(
        [os.environ.get("CC", "gcc"), "-std=c17", "-D_DEFAULT_SOURCE", "-O1", "-fPIC", "-shared", f"-I{ROOT}",
         *map(str, sorted((ROOT / "tests/fault").glob("fake_*.c"))), "-o", str(library), "-lpthread", "-ldl"],
        check=True)
    return library
