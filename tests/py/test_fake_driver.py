"""Device arrays, operands, streams and events on the fake driver, in processes of their own."""

from __future__ import annotations

import os
import re
import shutil

import pytest

from fake_driver import ROOT, build


@pytest.fixture(scope="module")
def fake_driver(tmp_path_factory):
    if not shutil.which("gcc") and not shutil.which("cc"):
        pytest.skip("no C compiler to build the fake driver with")
    return build(tmp_path_factory.mktemp("driver"))


# Half a minute each, in the compilers: under the sanitizer test_guvectorize_device, test_reductions and the C tests go the same ways.
LONG = {"test_reductions_device", "test_guvectorize_scan", "test_guvectorize_pairs", "test_products"}
ON_ONE = LONG | {"test_dlpack_malformed", "test_guvectorize_tiles", "test_reduce_records", "test_ufunc_methods", "test_scan_device",
                 "test_gufunc_examples", "test_excluded_device", "test_excluded_cores_device", "test_misaligned_device", "test_captures_change_device",
                 "test_vectorize_device", "test_threads_device"}
ON_TWO = {"test_device_array", "test_device_array_life", "test_operands", "test_cuda", "test_forall_device", "test_jit_device",
          "test_guvectorize_device", "test_reduce_device", "test_memory_manager", "test_numba_names",
          "test_link_callbacks"}


@pytest.mark.parametrize("name, devices", [(name, 1) for name in sorted(ON_ONE | ON_TWO)] + [(name, 2) for name in sorted(ON_TWO)])
def test_on_fake_driver(name, devices, fake_driver, run_python):
    """Each with a few cases of every parametrised test: the simulator and tests/gpu.sh run all."""
    if name in LONG and "LW_ASAN" in os.environ:
        pytest.skip("runs without the sanitizer")
    done = run_python("-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), str(ROOT / f"tests/py/{name}.py"),
                      "--cases", "2" if name in LONG else "6", check=False, LANEWISE_CUDA_DRIVER=str(fake_driver), LW_FAKE_DRIVER="1", FAKE_CUDA_DEVICES=str(devices))
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 5


def test_reports_that_no_kernel_wrote(fake_driver, run_python, tmp_path):
    """What a reduction raised is read from memory that holds anything: the fake driver runs no kernel."""
    program = tmp_path / "damaged.py"
    program.write_text("import numpy as np\nimport lanewise as lw\nfrom lanewise import cuda\n"
                       "def add(a, b):\n"
                       "    if a < 0:\n        raise ValueError('negative')\n"
                       "    return a + b\n"
                       "total = lw.reduce(add, identity=0)\n"
                       "seen = set()\n"
                       "for byte in (0x80, 0x7f, 0xff):\n"
                       "    blocks = [cuda.to_device(np.full(n, byte, 'u1')) for n in (1, 600, 1500, 5000) for _ in range(6)]\n"
                       "    del blocks\n"
                       "    for call in (total, total.accumulate):\n"
                       "        try:\n            call(cuda.to_device(np.arange(100)))\n"
                       "        except lw.errors.LanewiseError as problem:\n"
                       "            assert 'does not raise' in str(problem), problem\n"
                       "            seen.add(byte)\n"
                       "print(sorted(seen))\n")
    done = run_python(str(program), LANEWISE_CUDA_DRIVER=str(fake_driver), LW_FAKE_DRIVER="1")
    assert done.stdout.strip() == "[127, 128, 255]"


def test_no_driver(run_python, tmp_path):
    code = ("from lanewise import cuda, errors\n"
            "assert not cuda.is_available() and cuda.detect() is False and repr(cuda.gpus) == '<no CUDA devices>'\n"
            "cuda.close()\n"
            "for call in (cuda.synchronize, cuda.stream, lambda: cuda.to_device([1]), lambda: cuda.gpus[0],\n"
            "             lambda: cuda.device_array(3), cuda.current_context, lambda: len(cuda.gpus)):\n"
            "    try:\n"
            "        call()\n"
            "    except errors.DriverError as problem:\n"
            "        assert 'nothing.so' in str(problem), problem\n"
            "    else:\n"
            "        raise AssertionError(call)\n")
    run_python("-c", code, LANEWISE_CUDA_DRIVER=str(tmp_path / "nothing.so"))
