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


# Half a minute each, in LLVM: under the sanitizer test_guvectorize_device, test_reductions and the C tests go the same ways.
LONG = {"test_reductions_device.py", "test_guvectorize_scan.py", "test_guvectorize_pairs.py", "test_products.py"}


@pytest.mark.parametrize("devices", ["1", "2"])
@pytest.mark.parametrize("name", ["test_device_array.py", "test_device_array_life.py", "test_operands.py", "test_dlpack_malformed.py", "test_cuda.py", "test_forall_device.py", "test_jit_device.py",
                                  "test_guvectorize_device.py", "test_guvectorize_scan.py", "test_guvectorize_pairs.py", "test_guvectorize_tiles.py", "test_reduce_device.py", "test_reduce_records.py", "test_reductions_device.py", "test_ufunc_methods.py", "test_scan_device.py",
                                  "test_memory_manager.py", "test_numba_names.py", "test_products.py", "test_gufunc_examples.py", "test_excluded_device.py", "test_excluded_cores_device.py", "test_misaligned_device.py", "test_captures_change_device.py"])
def test_on_fake_driver(name, devices, fake_driver, run_python):
    if name in LONG and "LW_ASAN" in os.environ:
        pytest.skip("runs without the sanitizer")
    done = run_python("-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT),
                      str(ROOT / "tests/py" / name), check=False, LANEWISE_CUDA_DRIVER=str(fake_driver),
                      LW_FAKE_DRIVER="1", FAKE_CUDA_DEVICES=devices)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= (5 if name.startswith(("test_forall", "test_jit", "test_reduce", "test_scan", "test_ufunc", "test_memory", "test_numba", "test_excluded", "test_misaligned", "test_captures")) else 21)


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
