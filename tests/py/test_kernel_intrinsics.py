"""Each name that kernels have of their own against its definition: on the CPU, where there is one on a GPU, and as
machine code of GPUs that are not there."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

FULL = 0xFFFFFFFF
LANES = np.arange(32)
TABLE = np.array([3.0, 1.0, 4.0, 1.0, 5.0])


# ---- indices and sizes ----


@cuda.jit
def indices(a, g, s):
    i, j, k = cuda.grid(3)
    n, m, o = cuda.gridsize(3)
    at = (i * m + j) * o + k
    a[at, 0] = cuda.threadIdx.x
    a[at, 1] = cuda.threadIdx.y
    a[at, 2] = cuda.threadIdx.z
    a[at, 3] = cuda.blockIdx.x
    a[at, 4] = cuda.blockIdx.y
    a[at, 5] = cuda.blockIdx.z
    a[at, 6] = cuda.laneid
    g[at, 0], g[at, 1], g[at, 2] = i, j, k
    if at == 0:
        s[0], s[1], s[2] = n, m, o
        s[3], s[4], s[5] = cuda.blockDim.x, cuda.blockDim.y, cuda.blockDim.z
        s[6], s[7], s[8] = cuda.gridDim.x, cuda.gridDim.y, cuda.gridDim.z
        s[9], s[10], s[11] = cuda.grid(1), cuda.gridsize(1), cuda.warpsize


def test_indices_in_three_dimensions(target):
    grid, block = (2, 3, 4), (5, 2, 3)
    shape = tuple(g * b for g, b in zip(grid, block))
    a, g, s = np.zeros((np.prod(shape), 7), int), np.zeros((np.prod(shape), 3), int), np.zeros(12, int)
    indices[grid, block](a, g, s)
    where = np.stack(np.indices(shape), -1).reshape(-1, 3)
    np.testing.assert_array_equal(g, where)
    np.testing.assert_array_equal(a[:, :3], where % block)
    np.testing.assert_array_equal(a[:, 3:6], where // block)
    x, y, z = a[:, 0], a[:, 1], a[:, 2]
    np.testing.assert_array_equal(a[:, 6], (x + 5 * (y + 2 * z)) % 32)
    assert s.tolist() == [*shape, *block, *grid, 0, 10, 32]


# ---- barriers ----


@cuda.jit
def reversed_blocks(x):
    shared = cuda.shared.array(64, np.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    shared[t] = x[i]
    cuda.syncthreads()
    x[i] = shared[cuda.blockDim.x - 1 - t]


def test_syncthreads(target):
    x = np.arange(128, dtype=np.float32)
    reversed_blocks[2, 64](x)
    np.testing.assert_array_equal(x.reshape(2, 64), np.arange(128).reshape(2, 64)[:, ::-1])


@cuda.jit
def reductions(x, out):
    i = cuda.grid(1)
    out[i, 0] = cuda.syncthreads_count(x[i])
    out[i, 1] = cuda.syncthreads_and(x[i] > 0)
    out[i, 2] = cuda.syncthreads_or(x[i] > 0)


def test_syncthreads_reductions(target):
    x = np.array([[0] * 40, [2] * 40, [0] * 39 + [7]], np.int32)
    out = np.zeros((3, 40, 3), np.int32)
    reductions[3, 40](x.ravel(), out.reshape(-1, 3))
    assert (out == [[[0, 0, 0]], [[40, 1, 1]], [[1, 0, 1]]]).all()


@cuda.jit
def fences(x):
    t = cuda.threadIdx.x
    x[t] = t
    cuda.threadfence_block()
    cuda.threadfence()
    cuda.threadfence_system()
    cuda.nanosleep(10)
    cuda.syncwarp()
    cuda.syncwarp(0xFFFFFFFF)
    x[t] += x[t ^ 1] * 100


def test_fences_and_syncwarp(target):
    x = np.zeros(32, int)
    fences[1, 32](x)
    # even lanes read before their neighbour wrote again, or after it: what is sure is the first digit pair
    assert (x % 100 == LANES).all()


@cuda.jit
def across_blocks(x, out):
    grid = cuda.cg.this_grid()
    i, n = cuda.grid(1), cuda.gridsize(1)
    for round in range(3):
        x[i] += i
        grid.sync()
        out[i] = x[(i + 1) % n]
        grid.sync()


def test_grid_sync(target):
    x, out = np.zeros(64, np.int64), np.zeros(64, np.int64)
    across_blocks[4, 16](x, out)
    assert out.tolist() == [3 * (i + 1) for i in range(63)] + [0]


# ---- lanes ----


def shuffled(name, *more):
    space = {"cuda": cuda}
    extra = "".join(f", {m}" for m in more)
    source = f"def f(x, y, d):\n    t = cuda.threadIdx.x\n    y[t] = cuda.{name}(0xffffffff, x[t], d{extra})\n"
    exec(source, space)
    return cuda.jit(source=source)(space["f"])


DTYPES = ["bool", "int8", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]


def values_of(dtype):
    kind = np.dtype(dtype).kind
    values = np.random.default_rng(3).integers(0, 2**63, 32)
    if kind == "b":
        return values % 2 == 1
    if kind == "c":
        return (LANES * 1.5 - 1j * values[::-1] / 2**60).astype(dtype)
    return (LANES * 1.25 - 7).astype(dtype) if kind == "f" else values.astype(dtype)


def source_lanes(name, d, width):
    segment, at = LANES // width * width, LANES % width
    if name == "shfl_sync":
        return segment + d % width
    if name == "shfl_xor_sync":  # segments before this one can be read, later ones not (CUDA's __shfl_xor_sync)
        return np.where(LANES ^ d < segment + width, LANES ^ d, LANES)
    moved = {"shfl_up_sync": at - d, "shfl_down_sync": at + d}[name]
    return np.where((moved >= 0) & (moved < width), segment + moved, LANES)


@pytest.mark.parametrize("name", ["shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync"])
def test_shuffles(name, target):
    for dtype in DTYPES:
        x, y = values_of(dtype), np.zeros(32, dtype)
        kernel = shuffled(name)
        for d in (0, 1, 5, 31):
            kernel[1, 32](x, y, d)
            np.testing.assert_array_equal(y, x[source_lanes(name, d, 32)], err_msg=f"{dtype} {d}")


@pytest.mark.parametrize("width", [1, 4, 16])
@pytest.mark.parametrize("name", ["shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync"])
def test_shuffles_in_segments(name, width, target):
    x, y = values_of("float64"), np.zeros(32)
    kernel = shuffled(name, width)
    for d in (0, 1, 3):
        kernel[1, 32](x, y, d)
        np.testing.assert_array_equal(y, x[source_lanes(name, d, width)])


@cuda.jit
def votes(x, out):
    t = cuda.threadIdx.x
    mask = 0xFFFF if t < 16 else 0xFFFF0000
    out[t, 0] = cuda.all_sync(mask, x[t])
    out[t, 1] = cuda.any_sync(mask, x[t])
    out[t, 2] = cuda.eq_sync(mask, x[t])
    out[t, 3] = cuda.ballot_sync(mask, x[t])
    out[t, 4] = cuda.lanemask_lt()


def test_votes(target):
    for pattern in (0, FULL, 0x0000FFFF, 0x00010000, 0x1234FFFF):
        x = (pattern >> LANES) & 1
        out = np.zeros((32, 5), int)
        votes[1, 32](x, out)
        for half, bits in ((slice(0, 16), pattern & 0xFFFF), (slice(16, 32), pattern & 0xFFFF0000)):
            count = bits.bit_count()
            assert (out[half, :3] == [count == 16, count > 0, count in (0, 16)]).all()
            assert (out[half, 3] & FULL == bits).all()
        assert (out[:, 4] == (1 << LANES) - 1).all()


@cuda.jit
def matches(x, out):
    t = cuda.threadIdx.x
    out[t, 0] = cuda.match_any_sync(0xFFFFFFFF, x[t])
    mask, same = cuda.match_all_sync(0xFFFFFFFF, x[t])
    out[t, 1] = mask
    out[t, 2] = same


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "float32", "float64", "uint8"])
def test_matches(dtype, target):
    for x in (LANES % 5, np.full(32, 7)):
        x = x.astype(dtype)
        out = np.zeros((32, 3), int)
        matches[1, 32](x, out)
        wanted = [sum(1 << int(i) for i in np.flatnonzero(x == v)) for v in x]
        assert (out[:, 0] & FULL == wanted).all()
        same = (x == x[0]).all()
        assert (out[:, 1] & FULL == (FULL if same else 0)).all() and (out[:, 2] == same).all()


@cuda.jit
def active(out):
    t = cuda.threadIdx.x
    out[t] = cuda.activemask()


def test_activemask(target):
    out = np.zeros(32, np.uint32)
    active[1, 32](out)
    assert ((out >> LANES) & 1 == 1).all()  # whoever asks is active itself


# ---- bits and numbers ----


@cuda.jit
def bits(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i, 0] = cuda.popc(x[i])
        out[i, 1] = cuda.clz(x[i])
        out[i, 2] = cuda.ffs(x[i])
        out[i, 3] = cuda.brev(x[i])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_bits(dtype, target):
    width = np.dtype(dtype).itemsize * 8
    x = np.array([0, 1, 2, 3, 12, 100, 2**(width - 1), 2**width - 1], object) & (2**width - 1)
    given = np.array([int(v) for v in x], f"u{width // 8}").view(dtype)
    out = np.zeros((len(x), 4), dtype)
    bits[1, 32](given, out)
    texts = [format(int(v), f"0{width}b") for v in x]
    unsigned = out.view(f"u{width // 8}")
    assert unsigned[:, 0].tolist() == [t.count("1") for t in texts]
    assert unsigned[:, 1].tolist() == [len(t) - len(t.lstrip("0")) for t in texts]
    assert unsigned[:, 2].tolist() == [t[::-1].find("1") + 1 for t in texts]
    assert unsigned[:, 3].tolist() == [int(t[::-1], 2) for t in texts]


@cuda.jit
def floats(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i, 0] = cuda.fma(x[i], x[i], x[i])
        out[i, 1] = cuda.cbrt(x[i])
        out[i, 2] = cuda.rsqrt(x[i])
        out[i, 3] = cuda.selp(x[i] > 2, x[i], -x[i])
        out[i, 4] = cuda.libdevice.hypot(x[i], 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers(dtype, target):
    x = np.array([0.5, 2, 3.25, 27, 1e10]).astype(dtype)
    out = np.zeros((5, 5), dtype)
    floats[1, 32](x, out)
    w = x.astype("f8")
    wanted = np.stack([w * w + w, np.cbrt(w), 1 / np.sqrt(w), np.where(w > 2, w, -w), np.hypot(w, 1)], -1)
    np.testing.assert_allclose(out, wanted, 1e-6 if dtype == "float32" else 1e-15)


@cuda.jit
def roots(start, out):
    i = cuda.grid(1)
    if i < out.size:
        x = (np.uint32(i) + start).view(np.float32)
        out[i] = cuda.sqrt_normal(x)


@pytest.mark.parametrize("start, count", [(1.0, 1 << 24), (1e-30, 1 << 16), (9e29, 1 << 16)])
def test_sqrt_normal_is_correctly_rounded(start, count, target):
    """Every float32 of two binades is tested, which have all fractions of roots."""
    first = np.float32(start).view(np.uint32)
    count = count if target == "cuda" else 1 << 14
    out = np.zeros(count, np.float32)
    roots[(count + 255) // 256, 256](first, out)
    x = (first + np.arange(count, dtype=np.uint32)).view(np.float32)
    np.testing.assert_array_equal(out, np.sqrt(x))


@cuda.jit
def logarithms(x, plain, normal, is_zero):
    i = cuda.grid(1)
    if i < x.size:
        plain[i] = math.log(x[i])
        normal[i] = cuda.log_normal(x[i])
        is_zero[i] = x[i] == 0


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_log_normal_is_log(dtype, target):
    """A zero stays zero after the logarithm, which is a wrong result."""
    n = 1 << (20 if target == "cuda" else 12)
    rng = np.random.default_rng(7)
    least, most = (1e-4, 6e4) if dtype == "float16" else (1e-30, 1e30)
    x = np.exp(rng.uniform(np.log(least), np.log(most), n)).astype(dtype)
    x = np.concatenate([x, 1 + rng.uniform(-1e-3, 1e-3, n).astype(dtype), np.array([1.0], dtype)])
    plain, normal, is_zero = np.zeros_like(x), np.zeros_like(x), np.ones(x.size, bool)
    logarithms[(x.size + 255) // 256, 256](x, plain, normal, is_zero)
    assert plain.tobytes() == normal.tobytes() and not is_zero.any()
    logarithms[1, 32](np.zeros(1, dtype), plain[:1], normal[:1], is_zero[:1])
    assert is_zero[0]


@cuda.jit
def one_logarithm(x, out):
    out[0] = cuda.log_normal(x[0])


def test_log_normal_tests_nothing():
    ptx = one_logarithm.inspect_ptx("(f4[::1], f4[::1])", target="sm_90")
    assert "setp" not in ptx and "selp" not in ptx and ptx.count("fma.rn.f32") > 8


@cuda.jit
def normal_operations(x, y, root, quotient):
    i = cuda.grid(1)
    if i < x.size:
        root[i] = cuda.sqrt_normal(x[i])
        quotient[i] = cuda.div_normal(y[i], x[i])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_operations_are_correctly_rounded(dtype, target):
    """Operands are random numbers, squares, products and their neighbours, 0 as dividend, and 0 as float64 radicand."""
    n = 1 << (20 if target == "cuda" else 12)
    rng = np.random.default_rng(7)
    a, b = (rng.uniform(1, 2, n).astype(dtype) for _ in range(2))
    short = np.floor(a * 512) / 512
    scale = (2.0 ** rng.integers(-40, 40, n)).astype(dtype)
    x = np.concatenate([a, np.nextafter(short * short, 2), short * short, np.nextafter(b * a, 0)]) * np.tile(scale, 4)
    y = np.concatenate([b, -a, np.nextafter(a * short, 4), np.zeros_like(a)])
    root, quotient = np.zeros_like(x), np.zeros_like(x)
    normal_operations[(x.size + 255) // 256, 256](x, y, root, quotient)
    np.testing.assert_array_equal(root, np.sqrt(x))
    np.testing.assert_array_equal(quotient, y / x)
    assert (np.signbit(quotient) == np.signbit(y / x)).all()
    # the quotient of 2 and the largest number below it is beyond the middle of two numbers by 2**-106
    one = np.dtype(dtype).type(1)
    x = np.concatenate([np.repeat(np.nextafter(2 * one, one), n), 2 * one - np.finfo(dtype).eps * np.arange(1, n + 1).astype(dtype) / 2])
    y = np.concatenate([np.resize(np.array([1, 2, -4, 1.5], dtype), n), b])
    quotient = np.zeros_like(x)
    normal_operations[(x.size + 255) // 256, 256](x, y, np.zeros_like(x), quotient)
    np.testing.assert_array_equal(quotient, y / x)
    if dtype == "float64":
        x, root = np.array([0.0, -0.0]), np.ones(2)
        normal_operations[1, 32](x, np.ones(2), root, np.ones(2))
        assert (root == 0.0).all() and (np.signbit(root) == [False, True]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_operations_as_gpu_code(dtype):
    """No instruction branches; every architecture has those that remain."""
    kernel = cuda.jit(normal_operations.py_func)
    with lw.config(target="cpu"):
        kernel[1, 32](*(np.ones(32, dtype) for _ in range(4)))
    for sm in ("sm_75", "sm_90", "sm_120"):
        try:
            ptx = kernel.inspect_ptx(target=sm)
        except lw.errors.CompilerNotFound as problem:
            pytest.skip(str(problem).splitlines()[0])
        ptx = "\n".join(ptx.values()) if isinstance(ptx, dict) else ptx
        assert "rsqrt.approx.ftz.f" in ptx and "rcp.approx.ftz.f" in ptx and ".rn.f" in ptx
        assert "sqrt.rn" not in ptx and "div.rn" not in ptx
        assert kernel.inspect_cubin(target=sm)


# ---- memory ----


@cuda.jit
def tiles(x, out):
    tile = cuda.shared.array((4, 8), np.int16)
    own = cuda.local.array((2, 2), np.float64)
    table = cuda.const.array_like(TABLE)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    tile[i, j] = x[i, j]
    own[0, 1] = i
    own[1, 0] = table[j % table.size]
    cuda.syncthreads()
    out[i, j] = tile[3 - i, 7 - j] + own[0, 1] * 1000 + own[1, 0] / 10


def test_shared_local_and_constant_arrays(target):
    x, out = np.arange(32).reshape(4, 8), np.zeros((4, 8))
    tiles[1, (4, 8)](x, out)
    np.testing.assert_allclose(out, x[::-1, ::-1] + np.arange(4)[:, None] * 1000 + TABLE[np.arange(8) % 5] / 10)


@cuda.jit
def dynamic(out):
    words = cuda.shared.array(0, np.float32)
    same = cuda.shared.array(0, np.int32)
    t = cuda.threadIdx.x
    if t < words.size:
        words[t] = t + 0.5
    cuda.syncthreads()
    if t < words.size:
        out[t] = words[words.size - 1 - t]
    if t == 0:
        out[30], out[31] = words.size, same.size


def test_dynamic_shared_memory(target):
    out = np.zeros(32)
    dynamic[1, 32, 0, 80](out)
    assert out[:20].tolist() == [19.5 - t for t in range(20)] and out[20:30].tolist() == [0] * 10 and out[30:].tolist() == [20, 20]


@cuda.jit
def histogram(x, out):
    counts = cuda.shared.array(16, np.uint32)
    t = cuda.threadIdx.x
    if t < 16:
        counts[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, x[i], 1)
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(out, t, counts[t])


def test_atomics_on_shared_memory(target):
    x = np.random.default_rng(1).integers(0, 16, 10000).astype(np.uint8)
    out = np.zeros(16, np.int64)
    histogram[5, 64](x, out)
    assert out.tolist() == np.bincount(x, minlength=16).tolist()


# ---- functions of kernels ----


@cuda.jit("float32(float32)", device=True)
def waits(x):
    cuda.syncthreads()
    return x + cuda.threadIdx.x


@cuda.jit(device=True)
def turned(a, v):
    a[cuda.threadIdx.x] = v
    cuda.syncthreads()
    return a[cuda.blockDim.x - 1 - cuda.threadIdx.x]


def counted(a):
    return cuda.atomic.add(a, 0, 1)


@cuda.jit
def caller(x, n):
    shared = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    y = waits(x[t])
    x[t] = turned(shared, y)
    counted(n)


def test_device_functions(target):
    x, n = np.zeros(64, np.float32), np.zeros(1, np.int32)
    caller[1, 64](x, n)
    assert x.tolist() == list(range(64))[::-1] and n == 64


PAIR = np.dtype([("x", "f4"), ("n", "i4")])


@cuda.jit
def records(r, out):
    shared = cuda.shared.array(4, PAIR)
    t = cuda.threadIdx.x
    shared[t].x = r[t].x * 2
    shared[t].n = t
    cuda.syncthreads()
    out[t] = shared[3 - t].x + shared[3 - t].n
    cuda.atomic.add(out, -1, shared[t]["x"])
    cuda.atomic.add(r["n"], t, 5)


def test_shared_records(target):
    r, out = np.zeros(4, PAIR), np.zeros(5)
    r["x"] = [1, 2, 3, 4]
    records[1, 4](r, out)
    assert out.tolist() == [11, 8, 5, 2, 20] and r["n"].tolist() == [5] * 4


@cuda.jit
def locked(lock, count):
    done = False
    while not done:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            count[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            done = True


def test_lock(target):
    lock, count = np.zeros(1, np.int32), np.zeros(1, np.int32)
    locked[4, 64](lock, count)
    assert count == 256 and lock == 0


# ---- GPUs that are not there ----

KERNELS = {
    "indices": (indices, "void(int64[:, ::1], int64[:, ::1], int64[::1])"),
    "reversed_blocks": (reversed_blocks, "void(float32[::1])"),
    "reductions": (reductions, "void(int32[::1], int32[:, ::1])"),
    "across_blocks": (across_blocks, "void(int64[::1], int64[::1])"),
    "fences": (fences, "void(int64[::1])"),
    "votes": (votes, "void(int64[::1], int64[:, ::1])"),
    "matches": (matches, "void(float64[::1], int64[:, ::1])"),
    "active": (active, "void(uint32[::1])"),
    "bits": (bits, "void(uint64[::1], uint64[:, ::1])"),
    "floats": (floats, "void(float32[::1], float32[:, ::1])"),
    "tiles": (tiles, "void(int64[:, ::1], float64[:, ::1])"),
    "dynamic": (dynamic, "void(float64[::1])"),
    "histogram": (histogram, "void(uint8[::1], int64[::1])"),
    **{name: (shuffled(name), "void(complex128[::1], complex128[::1], int64)")
       for name in ("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync")},
}
SEEN = {"reversed_blocks": "bar.sync", "reductions": "bar.red.popc", "votes": "vote.sync.ballot", "matches": "match.all.sync.b64",
        "fences": "bar.warp.sync", "across_blocks": "%envreg2", "shfl_up_sync": "shfl.sync.up.b32", "histogram": "atom.shared"}


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("name", KERNELS)
def test_machine_code(name, arch):
    kernel, signature = KERNELS[name]
    assert kernel.inspect_cubin(signature, arch)[1:4] == b"ELF"
    if arch == "sm_90" and name in SEEN:
        ptx = kernel.inspect_ptx(signature, arch)
        assert SEEN[name] in ptx or name == "histogram" and "red.shared" in ptx
