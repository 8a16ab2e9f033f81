"""What programs for numba.cuda call besides kernels: callbacks of streams, small functions; on the CPU and, by
test_fake_driver.py, on the fake driver."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda


@pytest.fixture(autouse=True, params=["cpu", "auto"])
def target(request):
    if request.param == "auto" and not cuda.is_available():
        pytest.skip("no CUDA device; test_fake_driver.py runs this file on the fake driver")
    with lw.config(target=request.param):
        yield request.param


def test_callbacks_run_in_order():
    stream, seen, last = cuda.stream(), [], threading.Event()
    cuda.to_device(np.arange(5), stream=stream)
    for i in range(5):
        stream.add_callback(lambda of, status, arg: seen.append((of, status, arg)), i)
    stream.add_callback(lambda of, status, arg: last.set())
    assert last.wait(30)
    assert seen == [(stream, 0, i) for i in range(5)]
    with pytest.raises(TypeError, match="callback: expected a function, got int"):
        stream.add_callback(3)


def test_async_done():
    async def work():
        streams = [cuda.stream() for _ in range(3)]
        done = await asyncio.gather(*(stream.async_done() for stream in streams))
        assert done == streams

    asyncio.run(work())


def test_small_names():
    assert cuda.list_devices() == list(cuda.gpus) and len(cuda.list_devices()) >= 1
    assert cuda.legacy_default_stream() == cuda.default_stream()
    like = np.zeros((3, 4), np.float32, order="F")
    for made in (cuda.pinned_array_like(like), cuda.mapped_array_like(like, wc=True)):
        assert made.shape == (3, 4) and made.dtype == np.float32 and made.flags.f_contiguous


def test_ufuncs_take_streams(target):
    if target != "cpu":
        pytest.skip("runs kernels")
    hypotenuse = lw.vectorize(["float64(float64, float64)"], target="cuda")(lambda a, b: (a * a + b * b) ** 0.5)
    stream = cuda.stream()
    with stream.auto_synchronize():
        a = cuda.to_device(np.full(4, 3.0), stream=stream)
        out = cuda.device_array_like(a, stream=stream)
        hypotenuse(a, np.full(4, 4.0), out=out, stream=stream)
    assert out.copy_to_host().tolist() == [5] * 4
    double = lw.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)", target="cuda")(_double)
    assert double(a, stream=stream).tolist() == [6] * 4
    with pytest.raises(TypeError, match="stream= is for device arrays"):
        hypotenuse(1.0, 2.0, stream="s")


def _double(x, out):
    for i in range(x.shape[0]):
        out[i] = 2 * x[i]


def test_numbas_modules_can_be_imported():
    """In a new interpreter: whatever is imported first, and by either statement."""
    for first in ("", "import lanewise", "import lanewise.random", "from lanewise import cuda"):
        code = f"""
{first}
import lanewise.cuda.random
from lanewise.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32
import lanewise.cuda.libdevice as libdevice
from lanewise.cuda.libdevice import rsqrtf
import lanewise.random
assert lanewise.cuda.random is lanewise.random and lanewise.cuda.libdevice is libdevice
assert lanewise.random.create_xoroshiro128p_states is create_xoroshiro128p_states
"""
        subprocess.run([sys.executable, "-c", code], check=True)


def test_draws_by_the_modules_name():
    states = cuda.random.create_xoroshiro128p_states(1, seed=1)

    @cuda.jit
    def draw(states, out):
        out[0] = cuda.random.xoroshiro128p_uniform_float32(states, 0)

    if lw.config.target != "cpu":
        pytest.skip("runs a kernel")
    out = np.zeros(1, np.float32)
    draw[1, 1](states, out)
    assert 0 < out[0] < 1
