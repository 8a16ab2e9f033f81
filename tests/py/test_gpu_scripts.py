"""What tests/gpu.sh runs on a machine with a GPU: that it would run, and what it chooses."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from fake_driver import build

ROOT = Path(__file__).resolve().parents[2]


def test_every_class_of_kernel_on_the_cpu(run_python):
    done = run_python(str(ROOT / "tests/gpu_sanitize.py"), LANEWISE_TARGET="cpu")
    assert done.stdout.endswith("ok\n") and "thread 48 49.0 True" in done.stdout


def test_every_class_of_kernel_on_the_fake_driver(run_python, tmp_path):
    done = run_python(str(ROOT / "tests/gpu_sanitize.py"), LANEWISE_CUDA_DRIVER=str(build(tmp_path)), LW_FAKE_DRIVER="1")
    assert done.stdout.endswith("ok\n")


def test_the_script_is_bash():
    subprocess.run(["bash", "-n", str(ROOT / "tests/gpu.sh")], check=True)


@pytest.mark.skipif("LW_ASAN" in os.environ, reason="looks at names only")
def test_what_is_marked_for_gpus_is_chosen(run_python):
    """By the script's own words, of every file with such tests."""
    script = (ROOT / "tests/gpu.sh").read_text()
    chosen = " ".join(re.search(r'chosen="(.*?)"', script, re.S)[1].split())

    # in one process, so that the files are imported once; a file that needs a package which is not installed has no tests
    collects = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "--collect-only", "-q", str(ROOT / "tests/py")]
    code = f"import pytest\nfor choice in (['-k', {chosen!r}], ['-m', 'gpu'], []):\n    print('== the next choice')\n    pytest.main({collects!r} + choice)\n"
    files, marked, all_files = (set(re.findall(r"(test_\w+\.py)", part)) for part in run_python("-c", code).stdout.split("== the next choice\n")[1:])
    wanted = marked | {path.name for path in (ROOT / "tests/py").glob("test_*.py")
                       if re.search(r"mark\.gpu|needs_device", path.read_text()) and path.name != "test_gpu_scripts.py"}
    wanted &= all_files
    assert len(wanted) > 12 and not wanted - files
