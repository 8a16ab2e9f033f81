"""The fake CUDA driver as a library: from the C build where there is one, else compiled here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def fake_cuda(tmp_path_factory) -> str:
    built = Path(os.environ.get("LW_C_BUILD", ROOT)).resolve() / "libfake_cuda.so"
    if built.is_file() and "LW_ASAN" not in os.environ:
        return str(built)
    if shutil.which("gcc") is None:
        pytest.skip("no C compiler to build the fake driver with")
    library = tmp_path_factory.mktemp("driver") / "libcuda_fake.so"
    subprocess.run(["gcc", "-std=c17", "-D_DEFAULT_SOURCE", "-O1", "-fPIC", "-shared", f"-I{ROOT}",
                    *map(str, sorted((ROOT / "tests/fault").glob("fake_*.c"))), "-o", str(library), "-lpthread", "-ldl"], check=True)
    return str(library)
