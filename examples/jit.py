"""`cuda.jit`: kernels as in numba.cuda. Run: python examples/jit.py

The kernels run on a GPU. Without a GPU, or with target="cpu", they run on the CPU, with the same blocks, barriers, shared memory and warps.
"""

# Functions that lanewise compiles are typed by their calls, and have no annotations.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import math

import numpy as np

import lanewise as lw
from lanewise import cuda, float32, float64, int32

TILE = 16
BLOCK = 128
FULL = 0xFFFFFFFF


# A kernel runs in a grid of threads; `cuda.grid` gives each thread its index.
@cuda.jit
def saxpy(a, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


# Each block counts in a histogram in shared memory, then adds it to the result, with one atomic operation for each bin. Each thread processes
# elements that are a whole grid apart (a grid-stride loop).
@cuda.jit
def histogram(data, bins):
    own = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    for b in range(t, 256, cuda.blockDim.x):
        own[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        cuda.atomic.add(own, data[i], 1)
    cuda.syncthreads()
    for b in range(t, 256, cuda.blockDim.x):
        cuda.atomic.add(bins, b, own[b])


# Each block processes all bodies in tiles, which are loaded into shared memory one after the other.
@cuda.jit(warn=False)  # the sums are float32 on purpose, so the warning W203 is turned off
def accelerate(bodies, softening, out):
    tile = cuda.shared.array((BLOCK, 4), float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    n = bodies.shape[0]
    x = y = z = float32(0)
    if i < n:
        x, y, z = bodies[i, 0], bodies[i, 1], bodies[i, 2]
    ax = ay = az = float32(0)
    for start in range(0, n, BLOCK):
        if start + t < n:
            for k in range(4):
                tile[t, k] = bodies[start + t, k]
        cuda.syncthreads()
        for j in range(min(BLOCK, n - start)):
            dx, dy, dz = tile[j, 0] - x, tile[j, 1] - y, tile[j, 2] - z
            distance = math.sqrt(dx * dx + dy * dy + dz * dz + softening)
            weight = tile[j, 3] / (distance * distance * distance)
            ax += weight * dx
            ay += weight * dy
            az += weight * dz
        cuda.syncthreads()
    if i < n:
        out[i, 0], out[i, 1], out[i, 2] = ax, ay, az


# Tiles of both factors are loaded into shared memory. The matrices may have any sizes.
@cuda.jit(warn=False)
def matmul(a, b, c):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    row, column = cuda.grid(2)
    ty, tx = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        left[ty, tx] = a[row, start + tx] if row < a.shape[0] and start + tx < a.shape[1] else float32(0)
        right[ty, tx] = b[start + ty, column] if start + ty < b.shape[0] and column < b.shape[1] else float32(0)
        cuda.syncthreads()
        for k in range(TILE):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


# The elements are summed within a warp by shuffles, within a block through shared memory, and over the whole grid by an atomic operation.
@cuda.jit(device=True)
def sum_of_warp(value):
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, offset)
    return value


@cuda.jit
def sum_all(x, total):
    partial = cuda.shared.array(32, float64)
    t = cuda.threadIdx.x
    value = 0.0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        value += x[i]
    value = sum_of_warp(value)
    if cuda.laneid == 0:
        partial[t // 32] = value
    cuda.syncthreads()
    if t < 32:
        value = sum_of_warp(partial[t] if t < cuda.blockDim.x // 32 else 0.0)
        if t == 0:
            cuda.atomic.add(total, 0, value)


# The size of this shared memory is given at the launch: it is the fourth item in the brackets, in bytes.
@cuda.jit
def reverse_blocks(x):
    own = cuda.shared.array(0, float32)
    i, t, n = cuda.grid(1), cuda.threadIdx.x, cuda.blockDim.x
    own[t] = x[i]
    cuda.syncthreads()
    x[i] = own[n - 1 - t]


def main() -> None:
    rng = np.random.default_rng(7)

    x, y, out = rng.random(100_000), rng.random(100_000), np.empty(100_000)
    saxpy.forall(x.size)(2.0, x, y, out)  # or saxpy[blocks, threads](...)
    np.testing.assert_allclose(out, 2.0 * x + y, rtol=1e-15)
    print("saxpy:", out[:3])

    data, bins = rng.integers(0, 256, 200_000, dtype=np.uint8), np.zeros(256, np.int32)
    histogram[32, 256](data, bins)
    np.testing.assert_array_equal(bins, np.bincount(data, minlength=256))
    print("histogram:", bins[:4])

    bodies, pulls = rng.normal(size=(500, 4)).astype(np.float32), np.empty((500, 3), np.float32)
    accelerate[-(-len(bodies) // BLOCK), BLOCK](bodies, np.float32(1e-2), pulls)
    apart = (bodies[None, :, :3] - bodies[:, None, :3]).astype(np.float64)
    weights = bodies[:, 3] / ((apart**2).sum(axis=2) + 1e-2) ** 1.5
    np.testing.assert_allclose(pulls, (weights[:, :, None] * apart).sum(axis=1), rtol=1e-3, atol=1e-2)
    print("n-body:", pulls[0])

    a, b = rng.random((70, 90), np.float32), rng.random((90, 50), np.float32)
    c = np.empty((70, 50), np.float32)
    matmul[(-(-70 // TILE), -(-50 // TILE)), (TILE, TILE)](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    print("matmul:", c[0, :3])

    total = np.zeros(1)
    sum_all[16, 256](x, total)
    np.testing.assert_allclose(total[0], x.sum(), rtol=1e-12)
    print("sum:", total[0])

    ramp = np.arange(256, dtype=np.float32)
    reverse_blocks[4, 64, 0, 64 * 4](ramp)
    np.testing.assert_array_equal(ramp, np.arange(256).reshape(4, 64)[:, ::-1].ravel())
    print("reversed:", ramp[:3])

    # Errors that have undefined behaviour on a GPU are reported on the CPU: here each half of a block waits at another barrier.
    @cuda.jit
    def divergent(x):
        if cuda.threadIdx.x < 32:
            cuda.syncthreads()
        else:
            cuda.syncthreads()
            x[0] = 1

    with lw.config(target="cpu"):
        try:
            divergent[1, 64](x)
        except lw.errors.KernelError as problem:
            print("KernelError:", problem)


if __name__ == "__main__":
    if cuda.is_available():  # there is a GPU, or LANEWISE_TARGET=cpu makes the CPU take its place
        main()
    else:
        with lw.config(target="cpu"):
            main()
