"""What tests/gpu.sh runs on a machine with a GPU: that it would run, and what it chooses."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

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


def test_what_is_marked_for_gpus_is_chosen():
    """The script chooses tests by words: every file that has tests for GPUs has one of them in its mark, its name or the name of a test."""
    script = (ROOT / "tests/gpu.sh").read_text()
    words = " ".join(re.search(r'chosen="(.*?)"', script, re.S)[1].split()).split(" or ")
    texts = {path.name: path.read_text() for path in (ROOT / "tests/py").glob("test_*.py") if path.name != Path(__file__).name}
    wanted = {name: text for name, text in texts.items() if re.search(r"mark\.gpu|needs_device", text)}
    chosen = {name for name, text in wanted.items()
              if any(word in found for word in words for found in [name, *re.findall(r"mark\.gpu|def test_\w+", text)])}
    assert len(wanted) > 60 and "gpu" in words and not wanted.keys() - chosen
