"""The subjects of numba's CUDA guide as programs of a user: one import changed, nothing else. On the CPU and, where
there is one, on a GPU; each kernel also as machine code of a GPU."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, float32, float64, int32, void
from lanewise.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32
from test_jit_programs import assert_compiles


def test_vector_addition(target):
    @cuda.jit
    def add(a, b, c):
        tid = cuda.grid(1)
        size = len(c)
        if tid < size:
            c[tid] = a[tid] + b[tid]

    n = 10_000
    a, b = cuda.to_device(np.arange(n) / 3), cuda.to_device(np.arange(n) / 7)
    c = cuda.device_array_like(a)
    add.forall(len(a))(a, b, c)
    expected = a.copy_to_host() + b.copy_to_host()
    assert (c.copy_to_host() == expected).all()
    c[:] = 0
    threads = 256
    add[len(a) // threads + 1, threads](a, b, c)
    assert (c.copy_to_host() == expected).all()
    assert_compiles(add)


def test_reduction_in_shared_memory(target):
    a = cuda.to_device(np.arange(1024))
    count = len(a)

    @cuda.jit
    def array_sum(data):
        tid = cuda.threadIdx.x
        if tid < len(data):
            shared = cuda.shared.array(count, int32)
            shared[tid] = data[cuda.grid(1)]
            cuda.syncthreads()
            s = 1
            while s < cuda.blockDim.x:
                if tid % (2 * s) == 0:
                    shared[tid] += shared[tid + s]
                s *= 2
                cuda.syncthreads()
            if tid == 0:
                data[tid] = shared[tid]

    array_sum[1, count](a)
    assert a[0] == 1023 * 512
    assert_compiles(array_sum)


def test_monte_carlo_integration(target):
    @cuda.jit
    def function(x):
        return 1.0 / x

    @cuda.jit
    def integrator(out, states, lower, upper):
        gid = cuda.grid(1)
        if gid < len(out):
            sample = xoroshiro128p_uniform_float32(states, gid) * (upper - lower) + lower
            out[gid] = function(sample) * (upper - lower)

    @cuda.reduce
    def total(a, b):
        return a + b

    n = 20_000
    states = create_xoroshiro128p_states(n, seed=42)
    out = cuda.to_device(np.zeros(n, np.float32))
    integrator.forall(n)(out, states, 1, 2)
    assert float(total(out)) / n == pytest.approx(math.log(2), abs=0.01)


def test_matrix_product_of_any_shape(target):
    tpb = 16

    @cuda.jit
    def fast_matmul(a, b, c):
        tile_a = cuda.shared.array(shape=(tpb, tpb), dtype=float32)
        tile_b = cuda.shared.array(shape=(tpb, tpb), dtype=float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0.0)
        for i in range(cuda.gridDim.x):
            tile_a[ty, tx] = tile_b[ty, tx] = 0
            if y < a.shape[0] and tx + i * tpb < a.shape[1]:
                tile_a[ty, tx] = a[y, tx + i * tpb]
            if x < b.shape[1] and ty + i * tpb < b.shape[0]:
                tile_b[ty, tx] = b[ty + i * tpb, x]
            cuda.syncthreads()
            for j in range(tpb):
                total += tile_a[ty, j] * tile_b[j, tx]
            cuda.syncthreads()
        if y < c.shape[0] and x < c.shape[1]:
            c[y, x] = total

    a, b = np.arange(115, dtype=np.float32).reshape(5, 23), np.ones((23, 7), np.float32)
    c = np.zeros((5, 7), np.float32)
    grid = math.ceil(max(a.shape[1], b.shape[1]) / tpb), math.ceil(max(a.shape[0], b.shape[0]) / tpb)
    fast_matmul[grid, (tpb, tpb)](a, b, c)
    assert (c == a @ b).all()
    assert_compiles(fast_matmul)


def test_one_function_for_cpu_and_gpu(target):
    @lw.jit
    def business_logic(x, y, z):
        return 4 * z * (2 * x - (4 * y) / 2 * 3.5)

    @cuda.jit
    def apply(results, xs, ys, zs):
        tid = cuda.grid(1)
        if tid < len(xs):
            results[tid] = business_logic(xs[tid], ys[tid], zs[tid])

    assert business_logic(1, 2, 3) == -144.0
    x, y, z = (cuda.to_device(v) for v in ([1, 10, 234], [2, 2, 4014], [3, 14, 2211]))
    results = cuda.to_device([0.0, 0.0, 0.0])
    apply.forall(len(x))(results, x, y, z)
    assert results.copy_to_host().tolist() == [business_logic(1, 2, 3), business_logic(10, 2, 14), business_logic(234, 4014, 2211)]
    assert_compiles(apply)


def test_ufunc_in_a_kernel(target):
    @cuda.jit
    def apply(r, x):
        np.sin(x, r)

    x = np.arange(10, dtype=np.float32) - 5
    r = np.zeros_like(x)
    apply[1, 1](r, x)
    np.testing.assert_allclose(r, np.sin(x), rtol=1e-6, atol=1e-6)
    assert_compiles(apply)


def test_game_of_life(target):
    @cuda.jit
    def step(board, out):
        y, x = cuda.grid(2)
        height, width = board.shape
        if y < height and x < width:
            n = 0
            for dy in (-1, 0, 1):
                for dx in (-1, 0, 1):
                    if dx or dy:
                        n += board[(y + dy) % height, (x + dx) % width]
            out[y, x] = n == 3 or (n == 2 and board[y, x] == 1)

    board = (np.random.default_rng(1).random((33, 45)) < 0.4).astype(np.uint8)
    d = cuda.to_device(board)
    out = cuda.device_array_like(d)
    for _ in range(3):
        step[(3, 3), (16, 16)](d, out)
        n = sum(np.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        board = ((n == 3) | ((n == 2) & (board == 1))).astype(np.uint8)
        d, out = out, d
    assert (d.copy_to_host() == board).all()
    assert_compiles(step)


def test_relaxation_on_a_stream(target):
    tpb = 16

    @cuda.jit(device=True, inline=True)
    def larger(a, b):
        if a > b:
            return a
        return b

    @cuda.jit(void(float64[:, :], float64[:, :], float64[:, :]))
    def relax(a, new, error):
        errors = cuda.shared.array((tpb, tpb), dtype=float64)
        ty, tx = cuda.threadIdx.x, cuda.threadIdx.y
        n, m = a.shape
        i, j = cuda.grid(2)
        errors[ty, tx] = 0
        if j >= 1 and j < n - 1 and i >= 1 and i < m - 1:
            new[j, i] = 0.25 * (a[j, i + 1] + a[j, i - 1] + a[j - 1, i] + a[j + 1, i])
            errors[ty, tx] = abs(new[j, i] - a[j, i])
        cuda.syncthreads()
        t = tpb // 2
        while t > 0:
            if ty < t:
                errors[ty, tx] = larger(errors[ty, tx], errors[ty + t, tx])
            t //= 2
            cuda.syncthreads()
        t = tpb // 2
        while t > 0:
            if tx < t and ty == 0:
                errors[ty, tx] = larger(errors[ty, tx], errors[ty, tx + t])
            t //= 2
            cuda.syncthreads()
        if tx == 0 and ty == 0:
            error[cuda.blockIdx.x, cuda.blockIdx.y] = errors[0, 0]

    a = np.zeros((64, 64))
    a[:, 0] = 1
    expected = a.copy()
    stream = cuda.stream()
    d, new = cuda.to_device(a, stream=stream), cuda.to_device(a, stream=stream)
    error = cuda.device_array((4, 4), stream=stream)
    for _ in range(10):
        relax[(4, 4), (tpb, tpb), stream](d, new, error)
        d, new = new, d
        before = expected.copy()
        expected[1:-1, 1:-1] = 0.25 * (before[1:-1, 2:] + before[1:-1, :-2] + before[:-2, 1:-1] + before[2:, 1:-1])
    assert error.copy_to_host(stream=stream).max() == abs(expected - before).max()
    assert (d.copy_to_host(stream=stream) == expected).all()
    assert_compiles(relax)


def test_cooperative_rows(target):
    signature = void(int32[:, ::1])

    @cuda.jit(signature)
    def rows_in_turn(m):
        column = cuda.grid(1)
        grid = cuda.cg.this_grid()
        for row in range(1, m.shape[0]):
            m[row, column] = m[row - 1, m.shape[1] - column - 1] + 1
            grid.sync()

    m = np.zeros((256, 256), np.int32)
    rows_in_turn[m.shape[1] // 32, 32](m)
    assert (m == np.arange(256)[:, None]).all()
    one = rows_in_turn.overloads[(int32[:, ::1],)]
    if target != "cpu":
        assert one.max_cooperative_grid_blocks(32) >= 8
    assert_compiles(rows_in_turn)


def test_views_of_dynamic_shared_memory(target):
    @cuda.jit
    def both(x):
        floats = cuda.shared.array(0, dtype=float32)[:1]
        integers = cuda.shared.array(0, dtype=int32)[1:]
        floats[0] = 3.5
        integers[0] = 2
        x[0] = floats[0]
        x[1] = integers[0]

    x = np.zeros(2, np.float32)
    both[1, 1, 0, 8](x)
    assert x.tolist() == [3.5, 2]
    assert_compiles(both)


def test_atomics_at_an_index_of_several_axes(target):
    @cuda.jit
    def largest(result, values):
        i, j, k = cuda.grid(3)
        cuda.atomic.max(result, (0, 1, 2), values[i, j, k])

    values = np.random.default_rng(2).random((10, 10, 10))
    result = np.zeros((3, 3, 3))
    largest[(2, 2, 2), (5, 5, 5)](result, values)
    assert result[0, 1, 2] == values.max() == result.sum()
    assert_compiles(largest)


def test_a_lock(target):
    @cuda.jit
    def count(lock, total):
        if cuda.threadIdx.x == 0:
            while cuda.atomic.cas(lock, 0, 0, 1) != 0:
                cuda.nanosleep(10)
            cuda.threadfence()
            cuda.atomic.add(total, 0, 1)
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)

    lock, total = np.zeros(1, np.int32), np.zeros(1)
    count[50, 4](lock, total)
    assert (lock[0], total[0]) == (0, 50)
    assert_compiles(count)
