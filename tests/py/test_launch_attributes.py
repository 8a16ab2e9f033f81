"""What a launch asks the driver for besides its shape: shared_memory_carveout=, launch_bounds= with clusters."""

import re

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device, needs_kernels
from lanewise import cuda


def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = i + 1


CARVEOUTS = ["MaxL1", "maxshared", "default", 0, 50, 100, -1, None]


@pytest.mark.parametrize("carveout", CARVEOUTS)
def test_carveout_on_the_cpu(cpu, carveout):
    x = np.zeros(10, np.int32)
    cuda.jit(shared_memory_carveout=carveout)(add_one)[1, 32](x)
    assert x.tolist() == list(range(1, 11))
    cuda.jit("void(int32[:])", shared_memory_carveout=carveout)(add_one)[1, 32](x)


@needs_device
@pytest.mark.parametrize("carveout", CARVEOUTS)
def test_carveout_on_a_device(carveout):
    for kernel in (cuda.jit(shared_memory_carveout=carveout)(add_one), cuda.jit("void(int32[::1])", shared_memory_carveout=carveout)(add_one)):
        x = cuda.to_device(np.zeros(10, np.int32))
        kernel[1, 32](x)
        cuda.synchronize()


@needs_device
@needs_kernels
@pytest.mark.gpu
def test_carveout_keeps_results():
    for carveout in CARVEOUTS:
        x = cuda.to_device(np.zeros(10, np.int32))
        cuda.jit(shared_memory_carveout=carveout)(add_one)[1, 32](x)
        assert x.copy_to_host().tolist() == list(range(1, 11))


def bounds_of(cc, launch_bounds):
    pytest.importorskip("cuda.pathfinder", reason="libNVVM and nvJitLink are looked for with it")
    text = cuda.jit(launch_bounds=launch_bounds)(add_one).inspect_ptx("void(int32[::1])", cc)
    found = {name: re.search(rf"\.{name}\s+(\d+)", text) for name in ("maxntid", "minnctapersm", "maxclusterrank")}
    return {name: int(match[1]) for name, match in found.items() if match}


def test_bounds_in_the_code():
    assert bounds_of("sm_90", 128) == bounds_of("sm_90", (128,)) == {"maxntid": 128}
    assert bounds_of("sm_90", (128, 2)) == {"maxntid": 128, "minnctapersm": 2}
    assert bounds_of("sm_90", (128, 2, 4)) == bounds_of("sm_120", (128, 2, 4)) == {"maxntid": 128, "minnctapersm": 2, "maxclusterrank": 4}
    assert bounds_of("sm_80", (128, 2, 4)) == {"maxntid": 128, "minnctapersm": 2}  # which has no clusters
    assert cuda.jit(launch_bounds=(128, 2, 4))(add_one).inspect_cubin("void(int32[::1])", "sm_90")[1:4] == b"ELF"
    ptx = cuda.compile_ptx(add_one, lw.void(lw.int32[::1]), cc=(9, 0), launch_bounds=(128, 2, 4))[0]
    assert re.search(r"\.maxclusterrank\s+4", ptx)
