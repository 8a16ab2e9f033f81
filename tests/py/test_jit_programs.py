"""Whole programs as users of numba.cuda write them, on the CPU and, where there is one, on a GPU; each kernel
also as machine code of a GPU."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, f4, float32, float64, i4, int32, u1


def assert_compiles(kernel):
    """Check that what ran on the CPU also compiles for a GPU."""
    pytest.importorskip("cuda.pathfinder", reason="libNVVM and nvJitLink are looked for with it")
    cubins = kernel.inspect_cubin(target="sm_90")
    assert cubins and all(cubin[1:4] == b"ELF" for cubin in cubins.values())


@cuda.jit(device=True)
def mandel(x, y, most):
    c = complex(x, y)
    z = 0.0j
    for i in range(most):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag >= 4:
            return i
    return most


def test_mandelbrot(target):
    @cuda.jit((f4, f4, f4, f4, u1[:, :], i4))
    def create_fractal(min_x, max_x, min_y, max_y, image, most):
        height, width = image.shape
        pixel_x, pixel_y = (max_x - min_x) / width, (max_y - min_y) / height
        start_x, start_y = cuda.grid(2)
        step_x, step_y = cuda.gridsize(2)
        for x in range(start_x, width, step_x):
            real = min_x + x * pixel_x
            for y in range(start_y, height, step_y):
                image[y, x] = mandel(real, min_y + y * pixel_y, most)

    image = np.zeros((64, 96), np.uint8)
    create_fractal[(4, 2), (8, 8)](-2.0, 1.0, -1.0, 1.0, image, 20)
    x, y = np.meshgrid(-2 + np.arange(96) / 32, -1 + np.arange(64) / 32)
    c, z = (x + 1j * y).astype(np.complex64), np.zeros((64, 96), np.complex64)
    expected = np.full((64, 96), 20)
    with np.errstate(all="ignore"):
        for i in range(20):
            z = z * z + c
            expected[(expected == 20) & ~(abs(z) < 2)] = i
    assert (image == expected).mean() > 0.99  # rounding decides at the edge
    assert_compiles(create_fractal)


def test_heat_equation_with_grid_synchronisation(target):
    @cuda.jit
    def solve(buffer_0, buffer_1, steps, k):
        i = cuda.grid(1)
        inside = i < len(buffer_0)
        for step in range(steps):
            data, after = (buffer_0, buffer_1) if step % 2 == 0 else (buffer_1, buffer_0)
            if inside:
                left = data[i - 1] if i > 0 else 0.0
                right = data[i + 1] if i < len(data) - 1 else 0.0
                after[i] = data[i] + k * (left - 2 * data[i] + right)
            cuda.cg.this_grid().sync()

    data = np.zeros(1000)
    data[500] = 1000
    result, other = data.copy(), np.zeros(1000)
    solve.forall(1000, tpb=64)(result, other, 100, 0.25)
    for _ in range(100):
        around = np.pad(data, 1)
        data = data + 0.25 * (around[:-2] - 2 * data + around[2:])
    np.testing.assert_allclose(result, data, rtol=1e-12, atol=1e-12)
    assert_compiles(solve)


def test_transpose_through_shared_memory(target):
    size = 16

    @cuda.jit
    def transpose(a, out):
        tile = cuda.shared.array((size, size + 1), float64)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x, y = cuda.blockIdx.x * size + tx, cuda.blockIdx.y * size + ty
        if x < a.shape[1] and y < a.shape[0]:
            tile[ty, tx] = a[y, x]
        cuda.syncthreads()
        x, y = cuda.blockIdx.y * size + tx, cuda.blockIdx.x * size + ty
        if x < out.shape[1] and y < out.shape[0]:
            out[y, x] = tile[tx, ty]

    a = np.random.default_rng(4).random((37, 50))
    out = np.zeros((50, 37))
    transpose[(4, 3), (size, size)](a, out)
    np.testing.assert_array_equal(out, a.T)
    assert_compiles(transpose)


def test_bitonic_sort(target):
    @cuda.jit
    def sort(x):
        part = cuda.shared.array(256, int32)
        t = cuda.threadIdx.x
        part[t] = x[t]
        cuda.syncthreads()
        size = 2
        while size <= 256:
            distance = size // 2
            while distance > 0:
                other = t ^ distance
                if other > t and (part[t] > part[other]) == (t & size == 0):
                    part[t], part[other] = part[other], part[t]
                cuda.syncthreads()
                distance //= 2
            size *= 2
        x[t] = part[t]

    x = np.random.default_rng(5).integers(0, 1000, 256).astype(np.int32)
    expected = np.sort(x)
    sort[1, 256](x)
    np.testing.assert_array_equal(x, expected)
    assert_compiles(sort)


def test_scan_in_a_block(target):
    @cuda.jit
    def scan(x, out):
        part = cuda.shared.array(shape=128, dtype=float32)
        t = cuda.threadIdx.x
        part[t] = x[t]
        cuda.syncthreads()
        distance = 1
        while distance < 128:
            value = part[t - distance] if t >= distance else float32(0)
            cuda.syncthreads()
            part[t] += value
            cuda.syncthreads()
            distance *= 2
        out[t] = part[t]

    x = np.arange(128, dtype=np.float32)
    out = np.zeros_like(x)
    scan[1, 128](x, out)
    np.testing.assert_array_equal(out, np.cumsum(x))
    assert_compiles(scan)


def test_bodies_that_attract(target):
    @cuda.jit
    def accelerate(position, velocity, dt, softening):
        i = cuda.grid(1)
        n = position.shape[0]
        if i >= n:
            return
        ax = ay = az = 0.0
        for j in range(n):
            dx, dy, dz = position[j, 0] - position[i, 0], position[j, 1] - position[i, 1], position[j, 2] - position[i, 2]
            r = dx * dx + dy * dy + dz * dz + softening
            inverse = 1.0 / (r * math.sqrt(r))
            ax, ay, az = ax + dx * inverse, ay + dy * inverse, az + dz * inverse
        velocity[i, 0] += dt * ax
        velocity[i, 1] += dt * ay
        velocity[i, 2] += dt * az

    position, velocity = np.random.default_rng(6).random((100, 3)), np.zeros((100, 3))
    accelerate[4, 32](position, velocity, 0.01, 1e-3)
    d = position[None] - position[:, None]
    r = (d**2).sum(-1) + 1e-3
    np.testing.assert_allclose(velocity, 0.01 * (d / (r * np.sqrt(r))[..., None]).sum(1), rtol=1e-9, atol=1e-12)
    assert_compiles(accelerate)


def test_sessions_of_users(target):
    @cuda.jit
    def sessionize(user, time, session):
        i = cuda.grid(1)
        if i >= len(user):
            return
        if i == 0 or user[i] != user[i - 1] or time[i] - time[i - 1] > 10:
            session[i] = i
            at = i + 1
            while at < len(user) and user[at] == user[i] and time[at] - time[at - 1] <= 10:
                session[at] = i
                at += 1

    user, time = np.array([1, 1, 1, 2, 2, 1]), np.array([0, 5, 100, 100, 101, 102])
    session = np.zeros(6, np.int64)
    sessionize.forall(6)(user, time, session)
    assert session.tolist() == [0, 0, 2, 3, 3, 5]
    assert_compiles(sessionize)


def test_tables_and_local_arrays(target):
    table = np.array([1.0, 2.0, 3.0, 4.0])

    @cuda.jit
    def weigh(out):
        weights = cuda.const.array_like(table)
        own = cuda.local.array(4, float64)
        i = cuda.grid(1)
        for j in range(4):
            own[j] = weights[j] * i
        total = 0.0
        for j in range(4):
            total += own[j]
        out[i] = total

    out = np.zeros(8)
    weigh[1, 8](out)
    np.testing.assert_array_equal(out, 10 * np.arange(8))
    assert_compiles(weigh)


Parameters = namedtuple("Parameters", "scale shift")


def test_scalars_flags_and_namedtuples(target):
    @cuda.jit
    def apply(x, parameters, flag, c, out):
        i = cuda.grid(1)
        if i < x.size and flag:
            out[i] = x[i] * parameters.scale + parameters.shift + c.real

    out = np.zeros(4)
    apply[1, 4](np.arange(4.0), Parameters(2, 0.5), True, 1 + 2j, out)
    np.testing.assert_array_equal(out, np.arange(4) * 2 + 1.5)
    apply[1, 4](np.arange(4.0), Parameters(2, 0.5), False, 1 + 2j, np.zeros(4))
    assert_compiles(apply)


def test_records_are_changed_in_place(target):
    @cuda.jit
    def move(particles):
        i = cuda.grid(1)
        if i < particles.size:
            particles[i].x = particles[i]["v"] * 2
            particles["count"][i] = i

    particles = np.zeros(5, np.dtype([("x", "f8"), ("v", "f4"), ("count", "i4")]))
    particles["v"] = 1.5
    move[1, 8](particles)
    assert (particles["x"] == 3).all() and (particles["count"] == np.arange(5)).all()
    assert_compiles(move)


def test_barriers_that_diverge_are_told_of():
    @cuda.jit(target="cpu")
    def wrong(x):
        if cuda.threadIdx.x < 3:
            cuda.syncthreads()
        else:
            x[0] = 1
            cuda.syncthreads()

    with pytest.raises(lw.errors.KernelError, match="different barriers.*thread .3, 0, 0. waits"):
        wrong[1, 4](np.zeros(4))
