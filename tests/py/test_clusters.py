"""Clusters of blocks: launches, barriers, shared memory of other blocks, on the CPU and a GPU of 9.0 or later."""

import pickle
import re

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE, needs_device
from lanewise import cuda, errors, float32, int32


def has_clusters():
    return cuda.is_available() and not FAKE and cuda.get_current_device().compute_capability >= (9, 0)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def where(request):
    if request.param == "cuda" and not has_clusters():
        pytest.skip("no GPU of compute capability 9.0")
    with lw.config(target=request.param):
        yield request.param


@cuda.jit
def ring(x, out):
    own = cuda.shared.array(64, int32)
    cluster = cuda.cg.this_cluster()
    i, t = cuda.grid(1), cuda.threadIdx.x
    own[t] = x[i]
    cluster.sync()
    rank, n = cluster.block_rank(), cluster.num_blocks()
    total = 0
    for k in range(n):
        total += (k + 1) * cluster.map_shared_rank(own, (rank + k) % n)[t]
    out[i] = total
    cluster.sync()


def expected_ring(x, n, threads):
    blocks = x.reshape(-1, n, threads).astype(np.int64)
    return sum((k + 1) * np.roll(blocks, -k, axis=1) for k in range(n)).reshape(-1)


@pytest.mark.parametrize("cluster", [None, 0, 1, 2, 4, 8, (2,), (4, 1, 1)])
@pytest.mark.parametrize("threads", [64, 7])
def test_shared_memory_of_other_blocks(where, cluster, threads):
    n = (cluster[0] if isinstance(cluster, tuple) else cluster) or 1
    x = np.arange(16 * threads, dtype=np.int32)
    out = np.zeros_like(x)
    ring[16, threads, 0, 0, cluster](x, out)
    assert (out == expected_ring(x, n, threads)).all()


def test_many_clusters(where):
    x = np.arange(5000 * 32, dtype=np.int32) % 1000
    out = np.zeros_like(x)
    ring[5000, 32, 0, 0, 4](x, out)
    assert (out == expected_ring(x, 4, 32)).all()


def test_sixteen_blocks_on_the_cpu(cpu):
    x = np.arange(32 * 32, dtype=np.int32)
    out = np.zeros_like(x)
    ring[32, 32, 0, 0, 16](x, out)
    assert (out == expected_ring(x, 16, 32)).all()


def test_ranks_in_three_dimensions(where):
    @cuda.jit
    def ranks(out):
        cluster = cuda.cg.this_cluster()
        out[cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z] = cluster.block_rank() + 100 * cluster.num_blocks()

    out = np.zeros((4, 2, 6), np.int64)
    ranks[out.shape, 32, 0, 0, (2, 2, 1)](out)
    x, y, _ = np.indices(out.shape)
    assert (out == x % 2 + 2 * (y % 2) + 400).all()


def test_writes_to_another_block(where):
    """The counts of a histogram are distributed over the blocks of a cluster."""
    @cuda.jit
    def histogram(x, out):
        part = cuda.shared.array(16, int32)
        cluster = cuda.cg.this_cluster()
        t = cuda.threadIdx.x
        if t < 16:
            part[t] = 0
        cluster.sync()
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            cuda.atomic.add(cluster.map_shared_rank(part, x[i] // 16), x[i] % 16, 1)
        cluster.sync()
        if t < 16:
            out[cluster.block_rank() * 16 + t] = part[t]

    x = np.random.default_rng(1).integers(0, 64, 3000)
    out = np.zeros(64, np.int32)
    histogram[4, 64, 0, 0, 4](x, out)
    assert (out == np.bincount(x, minlength=64)).all()


def test_dynamic_shared_memory(where):
    @cuda.jit
    def turn(x):
        own = cuda.shared.array(0, float32)
        cluster = cuda.cg.this_cluster()
        i, t = cuda.grid(1), cuda.threadIdx.x
        own[t] = x[i]
        cluster.sync()
        x[i] = cluster.map_shared_rank(own, 1 - cluster.block_rank())[cuda.blockDim.x - 1 - t]
        cluster.sync()

    x = np.arange(64, dtype=np.float32)
    turn[2, 32, 0, 128, 2](x)
    assert x.tolist() == list(range(63, -1, -1))


def test_blocks_that_end_are_not_waited_for(cpu):
    @cuda.jit
    def early(out):
        cluster = cuda.cg.this_cluster()
        if cluster.block_rank() == 1:
            return
        cluster.sync()
        out[cuda.blockIdx.x] = 1

    out = np.zeros(4, np.int32)
    early[4, 32, 0, 0, 4](out)
    assert out.tolist() == [1, 0, 1, 1]


def test_exceptions_name_the_block(cpu):
    @cuda.jit
    def check(x):
        cuda.cg.this_cluster().sync()
        if x[cuda.grid(1)] < 0:
            raise ValueError("negative")

    x = np.zeros((8, 4), np.int32)
    x[5, 3] = x[6, 0] = -1
    with pytest.raises(ValueError, match="negative") as caught:
        check[8, 4, 0, 0, 2](x.reshape(-1))
    assert caught.value.block == (5, 0, 0) and caught.value.thread == (3, 0, 0)


def test_faults(cpu):
    @cuda.jit
    def beyond(x):
        own = cuda.shared.array(4, int32)
        x[0] = cuda.cg.this_cluster().map_shared_rank(own, 2)[0]

    with pytest.raises(errors.KernelError, match=r"map_shared_rank\(\).*there is no block 2: the cluster has 2"):
        beyond[2, 1, 0, 0, 2](np.zeros(1, np.int32))

    @cuda.jit
    def foreign(x):
        x[0] = cuda.cg.this_cluster().map_shared_rank(x, 0)[0]

    with pytest.raises(errors.KernelError, match="not one of the block's shared memory"):
        foreign[2, 1, 0, 0, 2](np.zeros(1, np.int32))

    @cuda.jit
    def whole_grid(x):
        cuda.cg.this_cluster().sync()
        cuda.cg.this_grid().sync()

    with pytest.raises(ValueError, match="does not go together with clusters"):
        whole_grid[2, 1, 0, 0, 2](np.zeros(1, np.int32))


@pytest.mark.parametrize("key, error, text", [
    ((8, 32, 0, 0, 3), ValueError, r"grid \(8, 1, 1\) is not made of whole clusters of \(3, 1, 1\) blocks"),
    ((32, 32, 0, 0, 32), ValueError, "cluster.x must be from 1 to 16"),
    (((8, 8), 32, 0, 0, (8, 4)), ValueError, r"cluster \(8, 4, 1\) has 32 blocks; a cluster has at most 16"),
    ((8, 32, 0, 0, "2"), TypeError, "must be a sequence of integers"), ((8, 32, 0, 0, 2, 1), ValueError, "expected 2 to 5 entries, not 6"),
])
def test_bad_shapes(key, error, text):
    with pytest.raises(error, match=text):
        ring[key]


def test_launch_bounds_hold(cpu):
    kernel = cuda.jit(launch_bounds=(64, 1, 2))(ring.py_func)
    x = np.zeros(4 * 64, np.int32)
    kernel[4, 64, 0, 0, 2](x, x.copy())
    with pytest.raises(ValueError, match="a cluster of 4 blocks, but launch_bounds= allows at most 2"):
        kernel[4, 64, 0, 0, 4](x, x.copy())


def test_configured_kernels():
    launch = ring[8, 32, 0, 16, (2, 1, 1)]
    assert launch is ring[8, 32, 0, 16, 2] and launch is ring.configure(8, 32, sharedmem=16, cluster=2) and launch is not ring[8, 32, 0, 16] and launch.clusterdim == (2, 1, 1)
    assert "cluster=(2, 1, 1)" in repr(launch) and ring[8, 32].clusterdim is None
    assert pickle.loads(pickle.dumps(launch)).clusterdim == (2, 1, 1)


def test_what_the_group_has():
    @cuda.jit(target="cpu")
    def kernel(x):
        cuda.cg.this_cluster().nothing()

    with pytest.raises(errors.CompileError, match="nothing"):
        kernel[1, 1](np.zeros(1))

    @cuda.jit(target="cpu")
    def other(x):
        x[0] = cuda.cg.this_cluster().map_shared_rank(x[0], 0)

    with pytest.raises(errors.CompileError, match="a shared array"):
        other[1, 1](np.zeros(1))


def test_code():
    pytest.importorskip("cuda.pathfinder", reason="libNVVM and nvJitLink are looked for with it")
    signature = "void(int32[::1], int32[::1])"
    for cc in ("sm_90", "sm_100", "sm_120"):
        assert ring.inspect_cubin(signature, cc)[1:4] == b"ELF"
        assert re.search("barrier.cluster.wait", ring.inspect_ptx(signature, cc))
    for cc in ("sm_75", "sm_80", "sm_89"):
        with pytest.raises(errors.UnsupportedError, match=r"this_cluster\(\) needs a GPU of compute capability 9.0, not [78]\.\d"):
            ring.inspect_ptx(signature, cc)


@needs_device
def test_launches_on_a_device():
    @cuda.jit
    def plain(x):
        x[cuda.grid(1)] = 1

    x = cuda.to_device(np.zeros(16 * 32, np.int32))
    if cuda.get_current_device().compute_capability < (9, 0):
        with pytest.raises(errors.UnsupportedError, match="a launch with clusters needs a GPU of compute capability 9.0"):
            plain[16, 32, 0, 0, 2](x)
        return
    for cluster in (1, 2, 8, 16) if FAKE else (1, 2, 8):
        plain[16, 32, 0, 0, cluster](x)
    ring[16, 32, 0, 0, 4](x, cuda.device_array_like(x))
    cuda.synchronize()


def test_in_plain_python():
    with lw.config(target="python"), pytest.raises(errors.UnsupportedError, match="plain Python"):
        ring[2, 4](np.zeros(8, np.int32), np.zeros(8, np.int32))
