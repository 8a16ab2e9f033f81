"""The CUDA driver fails, is missing, is too old or went away: named errors, and nothing is lost.

The device calls are in fake_calls.py, which runs in a process with the fake driver.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.mark.distinct_cases
@pytest.mark.slow_with_sanitizers
@pytest.mark.parametrize("file, least", [("fake_calls.py", 200), ("fake_kernels.py", 250), ("fake_recall.py", 60)])
def test_calls_on_the_fake_driver(file, least, fake_cuda, run_python, thorough):
    done = run_python("-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT),
                      str(HERE / file), *([] if thorough else ["-m", "not thorough"]), check=False, LANEWISE_CUDA_DRIVER=fake_cuda, LW_FAKE_DRIVER="1")
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > least


HOST_WORKS = """
import numpy as np, lanewise as lw
from lanewise import cuda, errors
x = np.arange(5.0)
f = lw.vectorize(lambda v: v * 2)
assert f(x).tolist() == [0, 2, 4, 6, 8]
"""
REFUSED = HOST_WORKS + """
assert not cuda.is_available()
for call in (lambda: cuda.to_device(x), cuda.stream, cuda.synchronize, lambda: lw.vectorize(target="cuda")(lambda v: v)(x)):
    for again in range(2):
        try:
            call()
        except (errors.DriverError, errors.CompilerNotFound) as problem:
            for word in {words!r}:
                assert word in str(problem), problem
        else:
            raise AssertionError(call)
assert f(x)[1] == 2
assert len(lw.compile(lambda v: v + 1, "f4(f4)", "sm_90")) > 100
"""


@pytest.mark.parametrize("variables, words", [
    ({"LANEWISE_CUDA_DRIVER": "/nowhere/libcuda.so.1"}, ["/nowhere/libcuda.so.1"]),
    ({"LANEWISE_CUDA_DRIVER": __file__}, ["test_driver_faults.py"]),
    ({"LANEWISE_CUDA_DRIVER": "/usr"}, ["/usr"]),
    ({"LANEWISE_NO_CUDA": "1"}, ["LANEWISE_NO_CUDA"]),
    ({"FAKE_CUDA_VERSION": "10020"}, ["10.2"]),
    ({"FAKE_CUDA_VERSION": "0"}, ["0.0"]),
    ({"FAKE_CUDA_ABSENT": "cuInit"}, ["cuInit"]),
    ({"FAKE_CUDA_ABSENT": "cuDeviceGetCount"}, ["cuDeviceGetCount"]),
    ({"FAKE_CUDA_DEVICES": "0"}, ["device"]),
    ({"FAKE_CUDA_FAIL": "cuInit:1:999"}, ["cuInit", "CUDA_ERROR_UNKNOWN"]),
    ({"FAKE_CUDA_FAIL": "cuInit:1:100"}, ["cuInit", "CUDA_ERROR_NO_DEVICE"]),
], ids=str)
def test_no_usable_driver(variables, words, fake_cuda, run_python):
    run_python("-c", REFUSED.replace("{words!r}", repr(words)), **{"LANEWISE_CUDA_DRIVER": fake_cuda, **variables})


@pytest.mark.parametrize("call", ["cuLaunchKernel", "cuDevicePrimaryCtxRetain", "cuCtxGetCurrent", "cuDeviceGetAttribute", "cuMemcpyHtoDAsync"])
def test_a_call_is_missing(call, fake_cuda, run_python):
    """An error that names it where it is needed; the host goes on."""
    run_python("-c", HOST_WORKS + f"""
try:
    d = cuda.to_device(x)
    f(d)
    d.copy_to_host()
except errors.DriverError as problem:
    assert "{call}" in str(problem), problem
else:
    raise AssertionError
assert f(x)[1] == 2
""", LANEWISE_CUDA_DRIVER=fake_cuda, FAKE_CUDA_ABSENT=call)


@pytest.mark.parametrize("variables", [{"FAKE_CUDA_POOLS": "0"}, {"FAKE_CUDA_CC": "75"}, {"FAKE_CUDA_CC": "120"}, {"FAKE_CUDA_DEVICES": "3"},
                                       {"FAKE_CUDA_ABSENT": "cuLaunchKernelEx"}, {"FAKE_CUDA_VERSION": "12000"},
                                       {"FAKE_CUDA_GETPROC": "0"}], ids=str)
def test_other_drivers(variables, fake_cuda, run_python):
    """What a driver may lack: the same calls work on it."""
    run_python("-c", HOST_WORKS + "d = cuda.to_device(x)\nassert f(d).shape == (5,)\nassert d[1:].copy_to_host().tolist() == [1, 2, 3, 4]\n"
               "cuda.synchronize()\n", **{"LANEWISE_CUDA_DRIVER": fake_cuda, **variables})


FORK = HOST_WORKS + """
import os, signal, sys
@lw.forall
def each(i, v):
    v[i] += 1
@cuda.jit
def kernel(v):
    v[cuda.grid(1)] = 1
d = cuda.to_device(x)
f(d), each(5, d), kernel[1, 5](d)
child = os.fork()
if child == 0:
    signal.alarm(20)
    try:
        assert f(x)[2] == 4  # the host goes on
        each(5, x)
        with lw.config(target="cpu"):
            kernel[1, 5](x)
        assert x.tolist() == [1] * 5
        for call in (lambda: f(d), lambda: each(5, d), lambda: kernel[1, 5](d), lambda: cuda.to_device(x), lambda: d.copy_to_host(), cuda.synchronize, cuda.stream):
            try:
                call()
            except errors.DriverError as problem:
                assert "fork" in str(problem), problem
            else:
                raise AssertionError(call)
        del d
    except BaseException as problem:
        print(repr(problem), file=sys.stderr)
        os._exit(1)
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert f(d).shape == (5,)
"""


def test_fork_after_use(fake_cuda, run_python):
    run_python("-c", FORK, LANEWISE_CUDA_DRIVER=fake_cuda, timeout=60)


def test_fork_before_use(fake_cuda, run_python):
    """Nothing has asked for the driver yet: the child may."""
    run_python("-c", HOST_WORKS + "import os\nchild = os.fork()\nif child == 0:\n    try:\n        f(cuda.to_device(x))\n    except BaseException:\n"
               "        os._exit(1)\n    os._exit(0)\nassert os.waitpid(child, 0)[1] == 0\nf(cuda.to_device(x))\n", LANEWISE_CUDA_DRIVER=fake_cuda, timeout=60)


def test_multiprocessing_that_forks(fake_cuda, run_python):
    run_python("-c", HOST_WORKS + "import multiprocessing as mp\nd = f(cuda.to_device(x))\n"
               "with mp.get_context('fork').Pool(2) as pool:\n    assert pool.map(abs, [-1, 2]) == [1, 2]\n"
               "    assert [r.tolist() for r in pool.map(f, [x, x + 1])] == [[0, 2, 4, 6, 8], [2, 4, 6, 8, 10]]\n", LANEWISE_CUDA_DRIVER=fake_cuda, timeout=60)


RESET = HOST_WORKS + """
import lanewise.random
def checked(v):
    if v < 0:
        raise ValueError("negative")
    return v
g = lw.vectorize(checked)
@lw.forall
def each(i, v):
    v[i] += 1
@cuda.jit
def kernel(v):
    print(v[0])
    if v[cuda.grid(1)] < 0:
        raise ValueError("negative")
generator = lw.random.Generator(1)
def use():
    d = cuda.to_device(x)
    assert f(d).shape == g(d).shape == (5,)
    d[::2].copy()
    each(5, d)
    kernel[1, 5](d)
    kernel[1, 5](x)
    generator.random(out=d)
    lw.random.Generator(1, "xoroshiro128p").random(out=d)
    assert lw.random.create_xoroshiro128p_states(5, 1).size == 5
    cuda.synchronize()
use()
old = cuda.to_device(x)
step = each.bind(5, old)
for _ in range(2):
    cuda.current_context().reset()
    cuda.synchronize()
    use()
    for call in (lambda: f(old), lambda: each(5, old), step, lambda: kernel[1, 5](old[1:]), lambda: old.copy_to_host(), lambda: old + old):
        try:
            call()
        except errors.DriverError as problem:
            assert "before device 0 was reset" in str(problem), problem
        else:
            raise AssertionError("memory that is gone was used")
"""


def test_calls_after_a_reset(fake_cuda, run_python):
    """Kernels and error words are made anew; nothing of the old context is touched."""
    run_python("-c", RESET, LANEWISE_CUDA_DRIVER=fake_cuda)


def test_exit_takes_everything_down(fake_cuda, run_python):
    """Arrays, streams and kernels that live to the end: no crash, and a report at exit."""
    done = run_python("-c", HOST_WORKS + "d = f(cuda.to_device(x))\ns = cuda.stream()\ne = cuda.event()\nf(d, stream=s)\n", LANEWISE_CUDA_DRIVER=fake_cuda,
                      FAKE_CUDA_REPORT="1")
    assert "Traceback" not in done.stderr


@pytest.mark.skipif("LW_ASAN" in os.environ, reason="address space limits and ASan do not go together")
def test_real_memory_runs_out(run_python):
    """A result that does not fit is a MemoryError, and the next call works."""
    run_python("-c", HOST_WORKS + "import resource\nx = np.ones(1 << 24)\nresource.setrlimit(resource.RLIMIT_AS, (int(open('/proc/self/statm').read().split()[0]) * 4096 + (64 << 20),) * 2)\n"
               "for _ in range(3):\n    try:\n        f(x)\n    except MemoryError:\n        pass\n    else:\n        raise AssertionError\n    assert f(x[:1000]).sum() == 2000\n")
