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
LONG = {"test_reductions_device", "test_guvectorize_scan", "test_guvectorize_pairs", "test_guvectorize_rows", "test_guvectorize_recurrence", "test_products"}
LONGEST = {"test_guvectorize_scan", "test_guvectorize_rows", "test_guvectorize_pairs", "test_guvectorize_recurrence", "test_guvectorize_matrices"}
ON_ONE = LONG | {"test_dlpack_malformed", "test_guvectorize_tiles", "test_reduce_records", "test_ufunc_methods", "test_scan_device",
                 "test_gufunc_examples", "test_in_place_cores", "test_given_outputs", "test_excluded_device", "test_excluded_cores_device", "test_misaligned_device", "test_captures_change_device",
                 "test_vectorize_device", "test_transposed_device", "test_guvectorize_matrices", "test_device_elements", "test_random_launches", "test_array_function_calls", "test_remembered_foreign", "test_threads_device", "test_profile", "test_explain", "test_progress", "test_array_library_device"}
ON_TWO = {"test_device_array", "test_clusters", "test_device_indexing", "test_launch_attributes", "test_pointer_arguments", "test_device_array_life", "test_operands", "test_cuda", "test_forall_device", "test_jit_device",
          "test_guvectorize_device", "test_reduce_device", "test_memory_manager", "test_numba_names",
          "test_link_callbacks"}


SMALL = {"test_array_library_device", "test_gufunc_examples", "test_launch_attributes", "test_captures_change_device"}  # with one case they have fewer than five tests
# What -k chooses of these files: their tests of devices. The others run on the host, as they do without a driver.
PARTS = {"test_progress": "on_a_device", "test_profile": "kernels", "test_reduce_records": "device_arrays"}
ONLY_ON_TWO = {"test_two_devices"}  # with all cases, but for the sanitizers


@pytest.mark.distinct_cases
@pytest.mark.parametrize("name, devices", [(name, 1) for name in sorted(ON_ONE | ON_TWO)] + [(name, 2) for name in sorted(ON_TWO | ONLY_ON_TWO)])
def test_on_fake_driver(name, devices, fake_driver, run_python, request):
    """Run the file with one case of each parametrised test; the simulator and tests/gpu.sh run all. With --thorough six cases run, whole files, and files for two devices also on one."""
    thorough, sanitized = request.config.getoption("--thorough"), "LW_ASAN" in os.environ
    if name in LONG and sanitized:
        pytest.skip("runs without the sanitizer")
    if name in LONGEST and not thorough:
        pytest.skip("with --thorough: test_guvectorize_device and test_guvectorize_tiles launch in the same ways, and the host runs these kernels")
    if name in ON_TWO and devices == 1 and not thorough:
        pytest.skip("with --thorough: what runs on two devices makes the calls that it makes on one")
    cases = 6 if thorough or name in SMALL else 1
    if name in ONLY_ON_TWO and not sanitized:
        cases = 0
    part = [] if thorough or name not in PARTS else ["-k", PARTS[name]]
    done = run_python("-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), str(ROOT / f"tests/py/{name}.py"),
                      "--cases", str(cases), *part, check=False, LANEWISE_CUDA_DRIVER=str(fake_driver), LW_FAKE_DRIVER="1", FAKE_CUDA_DEVICES=str(devices))
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= (1 if part else 5)


VISIBLE = """
import ctypes, os
import lanewise as lw
from lanewise import cuda

@lw.vectorize(["float64(float64)"], target="auto")
def twice(x):
    return 2 * x

fake = ctypes.CDLL(os.environ["LANEWISE_CUDA_DRIVER"])
assert fake.fake_cuda_calls(b"cuInit") == 0  # until a device is needed
os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["WANTED"]  # as dask-cuda does in a worker
x = cuda.to_device([1.0])
assert cuda.get_current_device().id == x.device.id == 0 and twice(x).device.id == 0
print(*(device.name for device in cuda.gpus), sep=", ")
"""


@pytest.mark.parametrize("wanted, names", [("2,0", "Fake GPU 2, Fake GPU 0"), ("1", "Fake GPU 1"),
                                           ("GPU-12121212-1212-1212-1212-121212121212,0", "Fake GPU 2, Fake GPU 0")])
def test_visible_devices(wanted, names, fake_driver, run_python, tmp_path):
    """What is set before the first use of a device holds: nothing asks for one at import or when functions are decorated."""
    program = tmp_path / "visible.py"
    program.write_text(VISIBLE)
    done = run_python(str(program), LANEWISE_CUDA_DRIVER=str(fake_driver), LW_FAKE_DRIVER="1", FAKE_CUDA_DEVICES="3", WANTED=wanted)
    assert done.stdout.strip() == names


def test_without_peer_access(fake_driver, run_python, tmp_path):
    """Where devices cannot reach each other the driver copies all the same."""
    program = tmp_path / "apart.py"
    program.write_text("import numpy as np\nfrom lanewise import cuda\n"
                       "x = cuda.to_device(np.arange(5.0))\n"
                       "with cuda.gpus[1]:\n    y = cuda.to_device(x)\n"
                       "print(y.device.id, y.copy_to_host().sum())\n")
    for peers in ("0", "1"):
        done = run_python(str(program), LANEWISE_CUDA_DRIVER=str(fake_driver), LW_FAKE_DRIVER="1", FAKE_CUDA_DEVICES="2", FAKE_CUDA_PEERS=peers)
        assert done.stdout.split() == ["1", "10.0"]


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


MEMORY = """
import ctypes, os
import numpy as np
import lanewise as lw
from lanewise import cuda, runtime

fake = ctypes.CDLL(os.environ["LANEWISE_CUDA_DRIVER"])


class Launch(ctypes.Structure):  # tests/fault/fake_cuda.h
    _fields_ = [("name", ctypes.c_char * 256), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("n_params", ctypes.c_int), ("together", ctypes.c_int), ("n_bytes", ctypes.c_uint),
                ("values", ctypes.c_ubyte * 4096), ("offsets", ctypes.c_uint * 64), ("sizes", ctypes.c_uint * 64)]


def words(address, kind=ctypes.c_uint64, n=16):
    return (kind * n).from_address(address)


modules = []
code = cuda.CUSource('extern "C" __device__ int one(int *result) { *result = 1; return 0; }', nrt=True, setup_callback=modules.append)
one = cuda.declare_device("one", "int32()", link=code)


@cuda.jit(errors="defer")
def kernel(out, n):
    out[0] = np.zeros(n)[0] + one()


runtime.rtsys.initialize()
runtime.memsys_enable_stats()
kernel[1, 1](cuda.device_array(1), 5)
state = words(words(int(modules[0].get_global("lw_heap_state").device_ctypes_pointer.value))[0])
print(state[0], *runtime.get_allocation_stats(target="cuda"))
state[1:5] = [7, 6, 5, 4]
print(*runtime.get_allocation_stats(target="cuda"))
runtime.memsys_disable_stats()
print(state[0])

launch = Launch()
fake.fake_cuda_last_launch(ctypes.byref(launch))
control = words(ctypes.addressof(launch) + Launch.values.offset + launch.offsets[launch.n_params - 1])[0]
record = words(words(control)[1], ctypes.c_uint32)
for status in range(1, 20):
    record[1:8] = [status, 3, 0, 0, 4, 0, 0]
    record[0] = 1
    try:
        cuda.synchronize()
    except MemoryError as problem:
        print(problem)
    except Exception:
        pass
"""


def test_memory_of_kernels(fake_driver, run_python, tmp_path):
    """The state is written when an image is loaded, without a launch; statistics are read from it; who finds no memory names the setting."""
    program = tmp_path / "memory.py"
    program.write_text(MEMORY)
    done = run_python(str(program), LANEWISE_CUDA_DRIVER=str(fake_driver), LW_FAKE_DRIVER="1", LANEWISE_NRT_HEAP_MB="48")
    first, second, third, *messages = done.stdout.splitlines()
    assert first.split() == ["1", "0", "0", "0", "0"] and second.split() == ["7", "6", "5", "4"] and third == "0"
    said = "unable to allocate memory for an array: the heap of kernels has 48 MB (LANEWISE_NRT_HEAP_MB)"
    own, *others = messages  # a function of lanewise's own, which names no line, passes it on to the user's line
    assert own == said and others
    assert all(re.fullmatch(re.escape(said) + r" \(raised in `kernel` at .*, tid=\[4, 0, 0\] ctaid=\[3, 0, 0\]\)", message) for message in others)


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


FIRST_ON_THE_CPU = """
import numpy as np
import lanewise as lw
from lanewise import cuda

rate = 2.0

@lw.vectorize
def scaled(x):
    return x * rate

@lw.guvectorize("(n)->(n)")
def scaled_rows(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i] * rate

@lw.forall
def scale(i, x):
    x[i] *= rate

total = lw.reduce(lambda a, b: a + b, map=lambda x: x * rate, identity=0.0)
generator = lw.random.Generator(1, target="cuda")

def use():
    x, numbers = cuda.to_device(np.linspace(0.1, 0.9, 50)), cuda.to_device(np.arange(50))
    generator.random(10), generator.normal(0.5, 2.0, 10), generator.gamma(2.0, 1.0, 5000), generator.integers(9, size=9)
    generator.beta(2.0, 3.0, 10), generator.shuffle(x), lw.random.create_xoroshiro128p_states(8, 1)
    np.sort(x), np.argsort(x), np.where(x > 0.5, x, 0.0), np.clip(x, 0.2, 0.4), x[numbers], x.sum(), np.cumsum(x), lw.add(x, x)
    x[x > 0.5] = 0.0
    x[numbers] = 1.0
    scaled(x), scaled_rows(x), scale(x.size, x), total(x)
    return type(generator.random(10)).__name__

with lw.config(target=FIRST):
    rate = 3.0  # all of them are made anew, of objects that were made where the setting was "auto"
    print(use())
print(use())
"""


@pytest.mark.parametrize("first, made", [("cpu", "HostArray"), ("cuda", "DeviceArray")])
def test_first_used_where_a_setting_says_another_target(first, made, fake_driver, run_python, tmp_path):
    """The package's own kernels run where their arrays are, and objects that are made anew keep the target that the first one read."""
    program = tmp_path / "first.py"
    program.write_text(FIRST_ON_THE_CPU.replace("FIRST", repr(first)))
    done = run_python(str(program), LANEWISE_CUDA_DRIVER=str(fake_driver), LW_FAKE_DRIVER="1")
    assert done.stdout.split() == [made, "DeviceArray"]
