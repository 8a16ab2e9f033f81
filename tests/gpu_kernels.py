"""Every class of forall and jit kernel once, small, against NumPy: a part of gpu_sanitize.py.

Runs on a GPU, else on the CPU (setting target="cpu"); on the fake driver, which runs no kernel, results are not looked at.
"""

from __future__ import annotations

import os

import numpy as np

import lanewise as lw
from lanewise import cuda, float32, float64, random
from lanewise.random import Generator

FAKE = os.environ.get("LW_FAKE_DRIVER") == "1"
GPU = lw.config.target != "cpu" and cuda.is_available()
FULL = 0xFFFFFFFF
TABLE = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
PAIR = np.dtype([("x", "f4"), ("n", "i4"), ("v", "f4", (3,))], align=True)


def on(array):
    """On the GPU, or a copy."""
    return cuda.to_device(array) if GPU else array.copy()


def back(array):
    return array.copy_to_host() if hasattr(array, "copy_to_host") else array


def equal(got, wanted, rtol=0.0):
    got = back(got)
    if not FAKE:
        np.testing.assert_allclose(got, wanted, rtol=rtol)


def raises(kind, words, call, *args):
    try:
        call(*args)
        if GPU:
            cuda.synchronize()
    except kind as problem:
        assert words in str(problem), problem
        return
    assert FAKE, f"no {kind.__name__}"


# ---- forall ----


@lw.forall
def saxpy(i, a, x, y, out):
    out[i] = a * x[i] + y[i]


@lw.forall(ndim=2)
def outer(i, j, x, y, out):
    out[i, j] = x[i] * y[j]


@lw.forall(ndim=3)
def cube(i, j, k, x, out):
    out[i, j, k] = x[k, j, i] + i


@lw.forall
def batches(i, x, out):
    total = 0.0
    for row in x[i]:
        for v in row:
            total += v
    out[i] = total


@lw.forall
def records(i, r, one, out):
    r[i].n += one.n
    r[i].v[i % 3] = r[i].x * 2
    out[i] = r[i].v[i % 3]


@lw.forall
def of_tuples(i, pair, out):
    (x, a), (y,) = pair
    out[i] = x[i] * a + y[i]


@lw.forall
def negative(i, x):
    if x[i] < 0:
        raise ValueError(f"negative: {x[i]}")
    x[i] = np.sqrt(x[i])


@lw.forall
def prints(i, x):
    print("element", i, x[i], f"<{x[i]:.2f}>")


@lw.forall
def local(i, x, out):
    own = lw.local(5, float64)
    for k in range(5):
        own[k] = x[i] + k
    out[i] = own[(i + 2) % 5]


def foralls():
    for n in (1, 255, 257, 100_001):
        x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
        out = on(np.zeros(n, np.float32))
        saxpy(n, 2.0, on(x), on(y), out)
        equal(out, 2 * x + y)
    x, wide = np.arange(300.0), on(np.arange(600.0))
    out = on(np.zeros(900))
    saxpy(300, 2.0, wide[::2], wide[::-2], out[::3])
    equal(out[::3], 2 * np.arange(600.0)[::2] + np.arange(600.0)[::-2])
    saxpy(range(5, 300, 7), 0.0, wide[:300], on(x), out[:300])
    saxpy(slice(200, 10, -3), 1.0, out[:300], wide[:300], out[:300])
    out = on(np.zeros((70, 90)))
    outer((70, 90), on(x[:70]), on(x[:90]), out)
    equal(out, np.multiply.outer(x[:70], x[:90]))
    boxes = np.random.default_rng(1).random((5, 6, 7))
    out = on(np.zeros((7, 6, 5)))
    cube((7, 6, 5), on(boxes), out)
    equal(out, boxes.transpose(2, 1, 0) + np.arange(7)[:, None, None])
    out = on(np.zeros(5))
    batches(5, on(boxes), out)
    equal(out, boxes.sum((1, 2)), 1e-14)
    r, out = np.zeros(33, PAIR), on(np.zeros(33))
    r["x"], r["n"] = np.arange(33), 4
    given = on(r)
    records(33, given, r[3], out)
    equal(out, np.arange(33) * 2)
    of_tuples(300, ((wide[:300], 3), (on(x),)), wide[300:])
    equal(wide[300:], 4 * x)
    d = on(np.abs(x))
    negative(300, d)
    equal(d, np.sqrt(x), 1e-15)
    d[7:8] = on(np.array([-1.0]))
    raises(ValueError, "negative: -1.0", negative, 300, d)
    negative(5, on(x))
    prints(3, on(x))
    out = on(np.zeros(300))
    local(300, on(x), out)
    equal(out, x + (np.arange(300) + 2) % 5)
    step = saxpy.bind(300, 1.0, wide[:300], wide[300:], out)
    step(), step()


# ---- jit: memory and barriers ----


@cuda.jit
def reverse_blocks(x):
    own = cuda.shared.array(64, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    own[t] = x[i]
    cuda.syncthreads()
    x[i] = own[cuda.blockDim.x - 1 - t]


@cuda.jit
def reverse_dynamic(x):
    own = cuda.shared.array(0, float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    own[t] = x[i]
    cuda.syncthreads()
    x[i] = own[own.size - 1 - t]


@cuda.jit
def matmul(a, b, c):
    left = cuda.shared.array((8, 8), float32)
    right = cuda.shared.array((8, 8), float32)
    row, column = cuda.grid(2)
    ty, tx = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for start in range(0, a.shape[1], 8):
        left[ty, tx] = a[row, start + tx] if row < a.shape[0] and start + tx < a.shape[1] else float32(0)
        right[ty, tx] = b[start + ty, column] if start + ty < b.shape[0] and column < b.shape[1] else float32(0)
        cuda.syncthreads()
        for k in range(8):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def counted(x, out):
    i = cuda.grid(1)
    out[i, 0] = cuda.syncthreads_count(x[i])
    out[i, 1] = cuda.syncthreads_and(x[i])
    out[i, 2] = cuda.syncthreads_or(x[i])


@cuda.jit
def shared_records(r, out):
    own = cuda.shared.array(32, PAIR)
    t = cuda.threadIdx.x
    own[t].x = r[t].x
    own[t].n = t
    cuda.syncthreads()
    out[t] = own[31 - t].x + own[31 - t].n


@cuda.jit
def tables(out):
    own = cuda.local.array((2, 3), float64)
    table = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    for k in range(6):
        own[k // 3, k % 3] = k
    out[i] = own[i % 2, i % 3] + table[i % table.size]


@cuda.jit
def whole_grid(x, out):
    grid = cuda.cg.this_grid()
    i, n = cuda.grid(1), cuda.gridsize(1)
    for _ in range(2):
        x[i] += i
        grid.sync()
        out[i] = x[(i + 1) % n]
        grid.sync()


def memory():
    x = np.arange(128, dtype=np.float32)
    d = on(x)
    reverse_blocks[2, 64](d)
    equal(d, x.reshape(2, 64)[:, ::-1].ravel())
    d = on(x.astype(np.float64))
    reverse_dynamic[4, 32, 0, 32 * 8](d)
    equal(d, x.reshape(4, 32)[:, ::-1].ravel())
    rng = np.random.default_rng(2)
    a, b = rng.random((20, 30), np.float32), rng.random((30, 10), np.float32)
    c = on(np.zeros((20, 10), np.float32))
    matmul[(3, 2), (8, 8)](on(a), on(b), c)
    equal(c, a @ b, 1e-5)
    flags, out = np.arange(80) % 40 < 30, on(np.zeros((80, 3), np.int32))
    counted[2, 40](on(flags), out)
    equal(out, np.tile([30, 0, 1], (80, 1)))
    r, out = np.zeros(32, PAIR), on(np.zeros(32))
    r["x"] = np.arange(32)
    shared_records[1, 32](on(r), out)
    equal(out, 2 * np.arange(32)[::-1])
    out, i = on(np.zeros(64)), np.arange(64)
    tables[2, 32](out)
    equal(out, i % 2 * 3 + i % 3 + TABLE[i % 5])
    x, out = on(np.zeros(64, np.int64)), on(np.zeros(64, np.int64))
    whole_grid[4, 16](x, out)
    equal(out, 2 * np.roll(np.arange(64), -1))


# ---- jit: atomics ----

ATOMICS = {
    "add": "bBhHiIqQefdFD", "sub": "bihlqfdFD", "max": "bBhHiIqQefd", "min": "bBhHiIqQefd", "nanmax": "iqefd", "nanmin": "iqefd", "and_": "?bBhHiIqQ",
    "or_": "?bBhHiIqQ", "xor": "?bBhHiIqQ", "inc": "BHIQ", "dec": "BHIQ", "exch": "?bBhHiIqQefd", "cas": "?bBhHiIqQ",
}


def atomic_kernel(name):
    """Every thread on one of five elements in global and in shared memory."""
    space = {"cuda": cuda, "np": np}
    value = "same[t], x[t]" if name == "cas" else "x[t]"
    source = (f"def f(x, same, there):\n    own = cuda.shared.array(5, there.dtype)\n    t = cuda.threadIdx.x\n"
              f"    if t < 5:\n        own[t] = there[t]\n    cuda.syncthreads()\n"
              f"    cuda.atomic.{name}(there, t % 5, {value})\n    cuda.atomic.{name}(own, t % 5, {value})\n    cuda.syncthreads()\n"
              f"    if t < 5:\n        there[5 + t] = own[t]\n")
    exec(source, space)
    return cuda.jit(source=source)(space["f"])


def folded(name, start, values):
    """What five elements become where the order does not matter."""
    combine = {"add": np.add, "sub": np.subtract, "max": np.maximum, "min": np.minimum, "nanmax": np.fmax, "nanmin": np.fmin,
               "and_": np.bitwise_and, "or_": np.bitwise_or, "xor": np.bitwise_xor}[name]
    out = start.copy()
    for t, v in enumerate(values):
        out[t % 5] = combine(out[t % 5], v)
    return out


def atomics():
    for name, codes in ATOMICS.items():
        kernel = atomic_kernel(name)
        for code in codes:
            dtype = np.dtype(code)
            x = (np.arange(40) % 3).astype(dtype)
            start = np.ones(10, dtype)
            there = on(start)
            kernel[1, 40](on(x), on(np.ones(40, dtype)), there)
            if name in ("exch", "cas"):
                got = back(there)
                assert FAKE or np.isin(got, [0, 1, 2]).all()
            elif name in ("inc", "dec"):
                pass  # depends on the order
            else:
                wanted = folded(name, start[:5], x)
                equal(there, np.concatenate([wanted, wanted]))


# ---- jit: lanes ----


@cuda.jit
def lanes(x, out):
    t = cuda.threadIdx.x
    out[t, 0] = cuda.shfl_sync(FULL, x[t], 3)
    out[t, 1] = cuda.shfl_up_sync(FULL, x[t], 1)
    out[t, 2] = cuda.shfl_down_sync(FULL, x[t], 2)
    out[t, 3] = cuda.shfl_xor_sync(FULL, x[t], 5)
    out[t, 4] = cuda.shfl_xor_sync(FULL, x[t] * 1j, 5).imag
    out[t, 5] = cuda.all_sync(FULL, x[t] > 3)
    out[t, 6] = cuda.any_sync(FULL, x[t] > 3)
    out[t, 7] = cuda.eq_sync(FULL, x[t] > 3)
    out[t, 8] = cuda.popc(cuda.ballot_sync(FULL, x[t] > 3))
    out[t, 9] = cuda.popc(cuda.match_any_sync(FULL, t % 4))
    mask, same = cuda.match_all_sync(FULL, 7)
    out[t, 10] = cuda.popc(mask) + same
    out[t, 11] = cuda.activemask() >> t & 1
    cuda.syncwarp()
    out[t, 12] = cuda.laneid


def warps():
    x, out = np.arange(32.0), on(np.zeros((32, 13)))
    lanes[1, 32](on(x), out)
    t = np.arange(32)
    columns = [t * 0 + 3, np.maximum(t - 1, 0), np.where(t < 30, t + 2, t), t ^ 5, t ^ 5, t * 0, t * 0 + 1, t * 0, t * 0 + 28, t * 0 + 8,
               t * 0 + 33, t * 0 + 1, t]
    equal(out, np.stack(columns, -1))


# ---- jit: what is told ----


@cuda.jit
def fails(x):
    i = cuda.grid(1)
    if x[i] < 0:
        raise ValueError(f"no {x[i]}")
    assert x[i] < 1000, "too large"
    x[i] += 1


@cuda.jit
def shows(x):
    i = cuda.grid(1)
    if i % 16 == 0:
        print("thread", i, x[i], x[i] > 3)


@cuda.jit
def host_arrays(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


def told():
    x = np.arange(64.0)
    d = on(x)
    fails[2, 32](d)
    equal(d, x + 1)
    x[40] = -3
    raises(ValueError, "no -3.0", fails[2, 32], on(x))
    x[40] = 5000
    raises(AssertionError, "too large", fails[2, 32], on(x))
    shows[2, 32](d)
    x, out = np.arange(50.0), np.zeros(100)[::2]
    host_arrays[2, 32](x, cuda.In(x), cuda.Out(out))
    if not FAKE:
        np.testing.assert_array_equal(out, 2 * x)
    host_arrays.forall(50)(on(x), on(x), on(out))


# ---- random numbers ----


@cuda.jit
def draws(states, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i, 0] = random.xoroshiro128p_uniform_float64(states, i)
        out[i, 1] = random.xoroshiro128p_normal_float32(states, i)
        out[i, 2] = random.xoroshiro128p_integers(states, i, 0, 10)
        out[i, 3] = random.philox_uniform_float64(1, i)


def numbers():
    states = random.create_xoroshiro128p_states(300, 5)
    host = np.zeros(300, random.xoroshiro128p_dtype)
    random.init_xoroshiro128p_states_cpu(host, 5)
    assert FAKE or (back(states) == host).all()
    out = on(np.zeros((300, 4)))
    draws[3, 128](states, out)
    out = back(out)
    assert FAKE or (0 <= out[:, 0]).all() and (out[:, 2] < 10).all() and abs(out[:, 3].mean() - 0.5) < 0.1
    for kind in ("philox", "xoroshiro128p"):
        for name, keywords in (("random", {"dtype": "f4"}), ("random", {}), ("standard_normal", {"dtype": "f4"}), ("standard_normal", {}),
                               ("exponential", {}), ("gamma", {"shape": 2.0}), ("poisson", {"lam": 3.0}), ("poisson", {"lam": 30.0}),
                               ("integers", {"low": 0, "high": 10}), ("integers", {"low": 0, "high": 2**40}), ("binomial", {"n": 9, "p": 0.3})):
            out = on(np.zeros(1001, keywords.get("dtype", "i8" if name in ("poisson", "integers", "binomial") else "f8")))
            getattr(Generator(3, kind), name)(out=out, **keywords)
            equal(out, getattr(Generator(3, kind, "cpu"), name)(size=1001, **keywords), 1e-6)


def main():
    for part in (foralls, memory, atomics, warps, told, numbers):
        part()
    if GPU:
        cuda.synchronize()
