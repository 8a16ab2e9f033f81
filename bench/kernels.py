"""Kernels with arrays and random numbers: lanewise against numba, numba-cuda, CuPy and torch, in one run.

    python bench/kernels.py [gpu [PART ...] | cpu]

Peers that are not installed are left out. Without an argument: both, as far as the machine has them; gpu gufuncs: that part alone.
"""

from __future__ import annotations

import math
import os
import sys
import time
import warnings
from typing import Any, Callable

import numpy as np

os.environ.setdefault("CUDA_CACHE_DISABLE", "1")  # nvJitLink and the driver would take code of an earlier run from ~/.nv

import lanewise as lw
from lanewise import cuda, random as lr
from lanewise._bench import copy_seconds, gpu_seconds, host_seconds

warnings.filterwarnings("ignore")
if not hasattr(np, "row_stack"):  # numba-cuda imports it; NumPy 2.5 removed it
    np.row_stack = np.vstack


def peer(name: str) -> Any:
    try:
        return __import__(name, fromlist=["x"])
    except Exception:
        return None


def row(title: str, runs: dict[str, Callable[[], Any]], timer: Callable[..., float], note: Callable[[float], str]) -> None:
    print(title)
    for name, run in runs.items():
        try:
            seconds = timer(run)
        except Exception as problem:  # a peer that cannot do it says so in the table
            print(f"    {name:<26} {type(problem).__name__}: {str(problem).splitlines()[0][:90]}")
            continue
        print(f"    {name:<26}{seconds * 1e6:>12.2f} us   {note(seconds)}", flush=True)


# ---- the workloads, as users write them ----


@lw.forall
def saxpy(i, a, x, y, out):
    out[i] = a * x[i] + y[i]


@cuda.jit
def saxpy_jit(a, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


@cuda.jit
def pi_jit(states, iterations, out):
    thread = cuda.grid(1)
    inside = 0
    for _ in range(iterations):
        x = lr.xoroshiro128p_uniform_float32(states, thread)
        y = lr.xoroshiro128p_uniform_float32(states, thread)
        if x * x + y * y <= np.float32(1.0):
            inside += 1
    out[thread] = np.float32(4.0) * inside / iterations


@cuda.jit
def pi_pairs(states, iterations, out):
    """Two float32 of one draw."""
    thread = cuda.grid(1)
    inside = 0
    for _ in range(iterations):
        x, y = lr.xoroshiro128p_uniform2_float32(states, thread)
        if x * x + y * y <= np.float32(1.0):
            inside += 1
    out[thread] = np.float32(4.0) * inside / iterations


def filling(jit, grid, gridsize, draw):
    """The program of numba's documents: one draw for each element, from a state for each thread."""

    @jit
    def fill(states, out):
        start = grid(1)
        for i in range(start, out.size, gridsize(1)):
            out[i] = draw(states, start)

    return fill


@lw.forall
def pi_forall(i, seed, iterations, out):
    inside = 0
    for k in range(iterations):
        a, b, c, d = lr.philox(seed, i, k)
        x = np.float32(a >> np.uint32(8)) * np.float32(2.0**-24)
        y = np.float32(b >> np.uint32(8)) * np.float32(2.0**-24)
        if x * x + y * y <= np.float32(1.0):
            inside += 1
    out[i] = np.float32(4.0) * inside / iterations


@lw.forall
def paths(i, states, price, drift, volatility, steps, out):
    s = price
    for _ in range(steps // 2):
        x, y = lr.xoroshiro128p_normal2_float32(states, i)
        s *= math.exp(drift + volatility * x)
        s *= math.exp(drift + volatility * y)
    out[i] = s


@cuda.jit
def histogram(x, out):
    bins = cuda.shared.array(256, lw.uint32)
    t = cuda.threadIdx.x
    for b in range(t, 256, cuda.blockDim.x):
        bins[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, x[i], 1)
    cuda.syncthreads()
    for b in range(t, 256, cuda.blockDim.x):
        cuda.atomic.add(out, b, bins[b])


@cuda.jit
def histogram_words(x, out):
    """Four values a load, and a table for each lane of a warp, in a bank of its own: lanes never meet."""
    bins = cuda.shared.array((256, 32), lw.uint32)
    t = cuda.threadIdx.x
    for b in range(t, 256 * 32, cuda.blockDim.x):
        bins[b // 32, b % 32] = 0
    cuda.syncthreads()
    mine = t % 32
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        word = x[i]
        for k in range(4):
            cuda.atomic.add(bins, ((word >> (8 * k)) & 255, mine), 1)
    cuda.syncthreads()
    for b in range(t, 256, cuda.blockDim.x):
        total = np.uint32(0)
        for k in range(32):
            total += bins[b, (b + k) % 32]
        cuda.atomic.add(out, b, total)


@lw.guvectorize("(m,n),(n)->(m)")
def matvec(a, x, y):
    for i in range(a.shape[0]):
        total = a[i, 0] * x[0]
        for j in range(1, a.shape[1]):
            total += a[i, j] * x[j]
        y[i] = total


@lw.guvectorize("(n)->(n)")
def centre(x, y):
    total = x[0]
    for i in range(1, x.shape[0]):
        total += x[i]
    mean = total / x.shape[0]
    for i in range(x.shape[0]):
        y[i] = x[i] - mean


@lw.guvectorize("(n)->(n)")
def divide_by_mean(x, y):
    y[:] = x / x.mean()


@cuda.jit
def divide_rows(x, y):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < x.shape[0]:
        y[i, :] = x[i, :] / x[i, :].mean()


def moving_average(x, width, y):
    total = x[0] * 0
    for i in range(x.shape[0]):
        total += x[i]
        if i >= width:
            total -= x[i - width]
        y[i] = total / min(i + 1, width)


@lw.guvectorize("(n,n)->(n,n)")
def cholesky(a, lower):
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            if j > i:
                lower[i, j] = 0
            else:
                s = a[i, j]
                for k in range(j):
                    s -= lower[i, k] * lower[j, k]
                lower[i, j] = math.sqrt(s) if i == j else s / lower[j, j]


# ---- GPU ----


def launches() -> None:
    x, y, out = (cuda.to_device(np.ones(256, np.float32)) for _ in range(3))
    numba_cuda = peer("numba.cuda")
    f = lw.vectorize(lambda a, b: a + b)
    f(x, y, out=out)
    raw = min(lw._core._time_launch(f, 100, x, y) for _ in range(30) if cuda.synchronize() is None)
    configured, bound = saxpy_jit[1, 256], saxpy.bind(256, 2.0, x, y, out)
    runs: dict[str, Callable[[], Any]] = {
        "lanewise forall": lambda: saxpy(256, 2.0, x, y, out),
        "lanewise forall, bound": bound,
        "lanewise k[1, 256]": lambda: saxpy_jit[1, 256](2.0, x, y, out),
        "lanewise configured": lambda: configured(2.0, x, y, out),
        "lanewise k.forall(n)": lambda: saxpy_jit.forall(256)(2.0, x, y, out),
    }
    if numba_cuda is not None:
        @numba_cuda.jit
        def k(a, p, q, o):
            i = numba_cuda.grid(1)
            if i < o.size:
                o[i] = a * p[i] + q[i]

        nx, ny, no = (numba_cuda.to_device(np.ones(256, np.float32)) for _ in range(3))
        runs["numba-cuda k[1, 256]"] = lambda: k[1, 256](2.0, nx, ny, no)
        runs["numba-cuda forall"] = lambda: k.forall(256)(2.0, nx, ny, no)
    row(f"host time of a launch (raw {raw * 1e6:.2f} us)", runs, host_seconds, lambda s: f"raw + {(s - raw) * 1e6:.2f} us")


def wall(run: Callable[[], Any]) -> float:
    run()
    cuda.synchronize()
    least = math.inf
    for _ in range(5):
        start = time.perf_counter()
        run()
        cuda.synchronize()
        least = min(least, time.perf_counter() - start)
    return least


def states() -> None:
    numba_random = peer("numba.cuda.random")
    for n in (1 << 20, 10_000_000, 100_000_000):
        runs: dict[str, Callable[[], Any]] = {"lanewise": lambda: lr.create_xoroshiro128p_states(n, 1)}
        if numba_random is not None and n == 1 << 20:
            runs["numba-cuda"] = lambda: numba_random.create_xoroshiro128p_states(n, 1)
        row(f"create {n} states, wall time", runs, wall, lambda s: "")


def fills() -> None:
    n = 1 << 27
    cupy, torch = peer("cupy"), peer("torch")
    for dtype in ("float32", "float64"):
        out = cuda.device_array(n, dtype)
        copy = copy_seconds(out.nbytes // 2)
        for name in ("random", "standard_normal"):
            runs: dict[str, Callable[[], Any]] = {}
            for kind in ("philox", "xoroshiro128p"):
                g = lr.Generator(1, kind, "cuda")
                runs[f"lanewise {kind}"] = lambda g=g: getattr(g, name)(dtype=dtype, out=out)
            if cupy is not None:
                cg, co = cupy.random.default_rng(1), cupy.from_dlpack(out)
                runs["CuPy Generator"] = lambda: getattr(cg, name)(dtype=dtype, out=co)
            if torch is not None:
                t = torch.from_dlpack(out)
                runs["torch"] = (lambda: t.uniform_()) if name == "random" else (lambda: t.normal_())
            row(f"{name} {dtype} 2^27", runs, gpu_seconds, lambda s: f"{n / s / 1e9:.0f} G/s, {copy / s:.3f} of copy")


def programs() -> None:
    n, threads = 1 << 27, 270_336
    theirs, their_cuda = peer("numba.cuda.random"), peer("numba.cuda")
    st = lr.create_xoroshiro128p_states(threads, 1)
    for name in ("uniform_float32", "uniform_float64", "normal_float32", "normal_float64"):
        out = cuda.device_array(n, name.split("_")[1])
        ours = filling(cuda.jit, cuda.grid, cuda.gridsize, getattr(lr, f"xoroshiro128p_{name}"))[threads // 256, 256]
        runs: dict[str, Callable[[], Any]] = {"lanewise": lambda ours=ours: ours(st, out)}
        if theirs is not None and their_cuda is not None:
            nst, no = theirs.create_xoroshiro128p_states(threads, 1), their_cuda.device_array(n, out.dtype)
            fill = filling(their_cuda.jit, their_cuda.grid, their_cuda.gridsize, getattr(theirs, f"xoroshiro128p_{name}"))[threads // 256, 256]
            runs["numba-cuda"] = lambda fill=fill, nst=nst, no=no: fill(nst, no)
        copy = copy_seconds(out.nbytes // 2)
        row(f"a loop of xoroshiro128p_{name}, 2^27", runs, gpu_seconds, lambda s: f"{n / s / 1e9:.0f} G/s, {copy / s:.3f} of copy")


def monte_carlo() -> None:
    threads, points = 270_336, 10_000
    out = cuda.device_array(threads, np.float32)
    st = lr.create_xoroshiro128p_states(threads, 1)
    runs: dict[str, Callable[[], Any]] = {
        "lanewise xoroshiro128p": lambda: pi_jit[threads // 256, 256](st, points, out),
        "lanewise, two of one draw": lambda: pi_pairs[threads // 256, 256](st, points, out),
        "lanewise philox": lambda: pi_forall(threads, 1, points, out),
    }
    numba_cuda, numba_random = peer("numba.cuda"), peer("numba.cuda.random")
    if numba_cuda is not None and numba_random is not None:
        uniform = numba_random.xoroshiro128p_uniform_float32

        @numba_cuda.jit
        def k(rng, iterations, result):
            thread = numba_cuda.grid(1)
            inside = 0
            for _ in range(iterations):
                x = uniform(rng, thread)
                y = uniform(rng, thread)
                if x * x + y * y <= np.float32(1.0):
                    inside += 1
            result[thread] = np.float32(4.0) * inside / iterations

        nst, no = numba_random.create_xoroshiro128p_states(threads, 1), numba_cuda.device_array(threads, np.float32)
        runs["numba-cuda"] = lambda: k[threads // 256, 256](nst, points, no)
    row("Monte Carlo pi, 270,336 x 10,000", runs, lambda run: gpu_seconds(run, 3, 3), lambda s: f"{threads * points / s / 1e9:.0f} G points/s")
    print(f"    pi = {out.copy_to_host().astype(float).mean():.6f}")

    n, steps = 1 << 20, 252
    out = cuda.device_array(n, np.float32)
    st = lr.create_xoroshiro128p_states(n, 1)
    one = np.float32
    runs = {"lanewise": lambda: paths(n, st, one(100), one(1e-4), one(0.01), steps, out)}
    if numba_cuda is not None and numba_random is not None:
        normal = numba_random.xoroshiro128p_normal_float32

        @numba_cuda.jit
        def by_numba(rng, price, drift, volatility, count, result):
            i = numba_cuda.grid(1)
            if i < result.size:
                s = price
                for _ in range(count):
                    s *= math.exp(drift + volatility * normal(rng, i))
                result[i] = s

        nst, no = numba_random.create_xoroshiro128p_states(n, 1), numba_cuda.device_array(n, np.float32)
        runs["numba-cuda"] = lambda: by_numba[n // 256, 256](nst, one(100), one(1e-4), one(0.01), steps, no)
    cupy, torch = peer("cupy"), peer("torch")
    if cupy is not None:
        def by_cupy():
            s = cupy.full(n, 100, cupy.float32)
            for _ in range(steps):
                s *= cupy.exp(one(1e-4) + one(0.01) * cupy.random.standard_normal(n, dtype=cupy.float32))

        runs["CuPy"] = by_cupy
    if torch is not None:
        def by_torch():
            s = torch.full((n,), 100.0, device="cuda")
            for _ in range(steps):
                s *= torch.exp(1e-4 + 0.01 * torch.randn(n, device="cuda"))

        runs["torch"] = by_torch
    row("Black-Scholes paths, 2^20 x 252", runs, lambda run: gpu_seconds(run, 2, 3), lambda s: f"{n * steps / s / 1e9:.0f} G steps/s")


def histograms() -> None:
    n = 1 << 28
    host = np.random.default_rng(1).integers(0, 256, n, np.uint8)
    x, out = cuda.to_device(host), cuda.to_device(np.zeros(256, np.uint32))
    sms = cuda.get_current_device().MULTIPROCESSOR_COUNT if hasattr(cuda.get_current_device(), "MULTIPROCESSOR_COUNT") else 132
    histogram[sms * 4, 512](x, out)
    np.testing.assert_array_equal(out.copy_to_host(), np.bincount(host, minlength=256))
    words, second = cuda.to_device(host.view(np.uint32)), cuda.to_device(np.zeros(256, np.uint32))
    histogram_words[sms * 4, 512](words, second)
    np.testing.assert_array_equal(second.copy_to_host(), np.bincount(host, minlength=256))
    runs: dict[str, Callable[[], Any]] = {"lanewise": lambda: histogram[sms * 4, 512](x, out),
                                          "lanewise, by words": lambda: histogram_words[sms * 4, 512](words, second)}
    cupy = peer("cupy")
    if cupy is not None:
        cx = cupy.from_dlpack(x)
        runs["CuPy bincount"] = lambda: cupy.bincount(cx, minlength=256)
        try:
            from cupy.cuda import cub

            counts = cupy.zeros(256, np.int64)
            edges = cupy.arange(257, dtype=cupy.int32)
            cub.device_histogram(cx, edges, counts)
            runs["CUB, through CuPy"] = lambda: cub.device_histogram(cx, edges, counts)
        except Exception:
            pass
    row("histogram 256 bins, uint8 2^28", runs, lambda run: gpu_seconds(run, 5, 5), lambda s: f"{n / s / 1e9:.0f} GB/s")


def numba_gufunc(function: Any, signature: str, layout: str) -> Any:
    numba = peer("numba")
    if numba is None or peer("numba.cuda") is None:
        return None
    try:
        return numba.guvectorize([signature], layout, target="cuda")(getattr(function, "py_func", function))
    except Exception:
        return None


def on_numba(made: Any, *arrays: Any) -> dict[str, Callable[[], Any]]:
    """The peer's row; it takes its own arrays, the last one is the output."""
    numba_cuda = peer("numba.cuda")
    if made is None:
        return {}
    own = [numba_cuda.to_device(a.copy_to_host()) for a in arrays]
    return {"numba-cuda guvectorize": lambda: made(*own[:-1], out=own[-1])}


def jax_average(x: Any, width: int, expected: np.ndarray) -> None:
    """What a JAX user would write (a convolution as wide takes far longer). JAX has streams of its own: wall time of ten calls."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = peer("jax")
    if jax is None:
        return
    jnp = peer("jax.numpy")
    length = x.shape[1]

    @jax.jit
    def by_cumsum(a):
        c = jnp.cumsum(a, axis=1)
        windows = jnp.concatenate([c[:, :width], c[:, width:] - c[:, :-width]], axis=1)
        return windows / jnp.minimum(jnp.arange(1, length + 1), width)

    own = jax.device_put(x.copy_to_host())

    def ten() -> None:
        for _ in range(10):
            result = by_cumsum(own)
        result.block_until_ready()

    np.testing.assert_allclose(np.asarray(by_cumsum(own))[:3], expected[:3], rtol=5e-3)
    print(f"    {'JAX cumsum':<26}{wall(ten) / 10 * 1e6:>12.2f} us")


def moving_averages() -> None:
    """numba's users write signatures, so both have the same."""
    width, rng = 1000, np.random.default_rng(1)
    signature, layout = "void(f4[:], i8, f4[:])", "(n),()->(n)"
    mine, theirs = lw.guvectorize([signature], layout)(moving_average), numba_gufunc(moving_average, signature, layout)
    for rows, length in ((1000, 100_000), (100_000, 1000)):
        x, y = (cuda.to_device(rng.random((rows, length), dtype="f4")) for _ in range(2))
        widths = cuda.to_device(np.full(rows, width))
        mine(x, width, out=y)
        expected = y.copy_to_host()[:3]
        np.testing.assert_allclose(expected, mine(x[:3].copy_to_host(), width), rtol=1e-3)
        runs = {"lanewise": lambda: mine(x, width, out=y), **on_numba(theirs, x, widths, y)}
        copy = copy_seconds(x.nbytes)
        row(f"moving average w={width}, {rows} x {length}", runs, lambda run: gpu_seconds(run, 2, 3), lambda s: f"{copy / s:.3f} of copy")
        try:
            jax_average(x, width, expected)
        except Exception as problem:
            print(f"    JAX cumsum  {type(problem).__name__}: {str(problem).splitlines()[0][:90]}")


def gufuncs() -> None:
    torch, rng = peer("torch"), np.random.default_rng(1)
    peer_matvec = numba_gufunc(matvec, "void(f4[:,:], f4[:], f4[:])", "(m,n),(n)->(m)")
    a, x, y = (cuda.to_device(rng.random(shape).astype("f4")) for shape in ((3, 3), 3, 3))
    runs: dict[str, Callable[[], Any]] = {"lanewise, out=": lambda: matvec(a, x, out=y), "lanewise": lambda: matvec(a, x)}
    add = lw.vectorize(lambda p, q: p + q)
    add(x, x, out=y)
    raw = min(lw._core._time_launch(add, 100, x, x) for _ in range(30) if cuda.synchronize() is None)
    row(f"host time of matvec (3,3),(3)->(3) (raw launch {raw * 1e6:.2f} us)", runs, host_seconds, lambda s: f"raw + {(s - raw) * 1e6:.2f} us")
    for n in (1 << 21, 1 << 24):
        a, x, y = (cuda.to_device(rng.random((n, *core), dtype="f4")) for core in ((3, 3), (3,), (3,)))
        copy = copy_seconds(n * 60 // 2)
        runs = {"lanewise": lambda: matvec(a, x, out=y), **(on_numba(peer_matvec, a, x, y) if n == 1 << 21 else {})}
        if torch is not None:
            ta, tx = torch.as_tensor(a, device="cuda"), torch.as_tensor(x, device="cuda")
            runs["torch mul, sum"] = lambda: (ta * tx[:, None, :]).sum(-1)
            runs["torch einsum"] = lambda: torch.einsum("bij,bj->bi", ta, tx)
        row(f"matvec 3x3 float32, {n} items", runs, gpu_seconds, lambda s: f"{copy / s:.3f} of copy")
        np.testing.assert_allclose(y.copy_to_host()[:9], matvec(a[:9].copy_to_host(), x[:9].copy_to_host()), rtol=1e-5)
    x, y = (cuda.to_device(rng.random((65536, 1024), dtype="f4")) for _ in range(2))
    copy = copy_seconds(x.nbytes)
    runs = {"lanewise": lambda: centre(x, out=y), **on_numba(numba_gufunc(centre, "void(f4[:], f4[:])", "(n)->(n)"), x, y)}
    if torch is not None:
        tx = torch.as_tensor(x, device="cuda")
        runs["torch x - x.mean(1)"] = lambda: tx - tx.mean(1, keepdim=True)
    row("centre rows float32 65536 x 1024", runs, lambda run: gpu_seconds(run, 5, 5), lambda s: f"{copy / s:.3f} of copy")
    runs = {"lanewise y[:] = x / x.mean()": lambda: divide_by_mean(x, out=y), "lanewise kernel, a row a thread": lambda: divide_rows[512, 128](x, y)}
    if torch is not None:
        runs["torch x / x.mean(1)"] = lambda: tx / tx.mean(1, keepdim=True)
    row("rows by their mean float32 65536 x 1024", runs, lambda run: gpu_seconds(run, 3, 3), lambda s: f"{copy / s:.3f} of copy")
    half = rng.random((1 << 20, 4, 4))
    a = cuda.to_device(half @ half.swapaxes(1, 2) + 4 * np.eye(4))
    y = cuda.device_array_like(a)
    copy = copy_seconds(a.nbytes)
    runs = {"lanewise": lambda: cholesky(a, out=y)}
    if torch is not None:
        ta = torch.as_tensor(a, device="cuda")
        runs["torch cholesky_ex"] = lambda: torch.linalg.cholesky_ex(ta)
    row("Cholesky 4x4 float64, 2^20 items", runs, lambda run: gpu_seconds(run, 5, 5), lambda s: f"{copy / s:.3f} of copy")


# ---- CPU ----


def race(title: str, runners: dict[str, Callable[[], Any]], rounds: int = 15) -> None:
    least = {name: math.inf for name in runners}
    for run in runners.values():
        run()
    for _ in range(rounds):
        for name, run in runners.items():
            start = time.perf_counter()
            run()
            least[name] = min(least[name], time.perf_counter() - start)
    mine = least["lanewise"]
    print(title, "  ".join(f"{name} {s * 1e3:.3f} ms ({s / mine:.2f}x)" for name, s in least.items()), flush=True)


def on_cpu() -> None:
    numba, n = peer("numba"), 20_000_000
    x, y, out = np.random.rand(n), np.random.rand(n), np.empty(n)
    runs: dict[str, Callable[[], Any]] = {"lanewise": lambda: saxpy(n, 2.0, x, y, out)}
    threads, points = 4096, 2000
    states_host = np.empty(threads, lr.xoroshiro128p_dtype)
    lr.init_xoroshiro128p_states_cpu(states_host, 1)
    result = np.empty(threads, np.float32)

    @lw.forall
    def pi(i, states, iterations, result):
        inside = 0
        for _ in range(iterations):
            u = lr.xoroshiro128p_uniform_float32(states, i)
            v = lr.xoroshiro128p_uniform_float32(states, i)
            if u * u + v * v <= np.float32(1.0):
                inside += 1
        result[i] = np.float32(4.0) * inside / iterations

    pi_runs: dict[str, Callable[[], Any]] = {"lanewise": lambda: pi(threads, states_host, points, result)}
    if numba is not None:
        @numba.njit(parallel=True)
        def numba_saxpy(a, p, q, o):
            for i in numba.prange(o.size):
                o[i] = a * p[i] + q[i]

        runs["numba prange"] = lambda: numba_saxpy(2.0, x, y, out)
        numba_random = peer("numba.cuda.random")
        if numba_random is not None:
            @numba.njit
            def step(states, i):
                s0, s1 = states[i]["s0"], states[i]["s1"]
                word = s0 + s1
                s1 ^= s0
                states[i]["s0"] = np.uint64(s0 << np.uint64(55) | s0 >> np.uint64(9)) ^ s1 ^ (s1 << np.uint64(14))
                states[i]["s1"] = (s1 << np.uint64(36)) | (s1 >> np.uint64(28))
                return np.float32((word >> np.uint64(11)) * (1.0 / 9007199254740992.0))

            @numba.njit(parallel=True)
            def numba_pi(states, iterations, o):
                for i in numba.prange(o.size):
                    inside = 0
                    for _ in range(iterations):
                        u = step(states, i)
                        v = step(states, i)
                        if u * u + v * v <= np.float32(1.0):
                            inside += 1
                    o[i] = np.float32(4.0) * inside / iterations

            pi_runs["numba prange"] = lambda: numba_pi(states_host, points, result)
    race("cpu saxpy float64 2*10^7       ", runs)
    race(f"cpu Monte Carlo pi {threads} x {points}", pi_runs)
    fill = np.empty(10_000_000, np.float32)
    g, theirs = lr.Generator(1), np.random.default_rng(1)
    race("cpu random float32 10^7         ", {"lanewise": lambda: g.random(dtype=np.float32, out=fill), "NumPy": lambda: theirs.random(dtype=np.float32, out=fill)}, 8)
    race("cpu standard_normal float32 10^7", {"lanewise": lambda: g.standard_normal(dtype=np.float32, out=fill), "NumPy": lambda: theirs.standard_normal(dtype=np.float32, out=fill)}, 8)


# ---- first calls ----


def compilations() -> None:
    """From a function to the result of its first call, with the compiler loaded and without caches: medians of calls in turns, each of a function with another constant."""
    numba_cuda = peer("numba.cuda")
    numba = peer("numba")
    x = cuda.to_device(np.ones(1000, np.float32))
    theirs = None if numba_cuda is None else numba_cuda.to_device(np.ones(1000, np.float32))

    def scaled(k):
        def f(a, b):
            return a * b + k

        return f

    def waves(k):
        def f(a, b):
            return math.sin(a) * math.exp(b) + k

        return f

    def seconds(call: Callable[[], Any], wait: Callable[[], Any]) -> float:
        start = time.perf_counter()
        call()
        wait()
        return time.perf_counter() - start

    mine: dict[str, Callable[[Any], Any]] = {}
    peers: dict[str, Callable[[Any], Any]] = {}
    mine["a*b+k"], mine["sin(a)*exp(b)+k"] = (lambda k, make=make: lw.vectorize(make(k))(x, x) for make in (scaled, waves))
    mine["reduction by a+b*k"] = lambda k: lw.reduce(scaled(k))(x)
    if numba is not None and theirs is not None:
        compiled = numba.vectorize(["float32(float32, float32)"], target="cuda")
        peers["a*b+k"], peers["sin(a)*exp(b)+k"] = (lambda k, make=make: compiled(make(k))(theirs, theirs) for make in (scaled, waves))
        peers["reduction by a+b*k"] = lambda k: numba_cuda.reduce(scaled(k))(theirs)
    with lw.config(cache_size_mb=0, memory_cache_mb=0):
        for name, run in mine.items():
            times: dict[str, list[float]] = {"lanewise": [], "numba-cuda": []}
            for i in range(10):
                k = np.float32(i + 0.5)
                times["lanewise"].append(seconds(lambda: run(k), cuda.synchronize))
                if name in peers:
                    times["numba-cuda"].append(seconds(lambda: peers[name](k), numba_cuda.synchronize))
            print(f"first call, {name}")
            for who, all_of_them in times.items():
                later = sorted(all_of_them[1:])
                if later:
                    print(f"    {who:<26}{later[len(later) // 2] * 1e3:>12.1f} ms   {later[0] * 1e3:.1f} to {later[-1] * 1e3:.1f}", flush=True)


if __name__ == "__main__":
    which = sys.argv[1:] or ["gpu", "cpu"]
    if "gpu" in which and cuda.is_available():
        print(f"{cuda.get_current_device().name}; NumPy {np.__version__}")
        parts = (launches, gufuncs, moving_averages, states, fills, programs, monte_carlo, histograms, compilations)
        for part in [p for p in parts if p.__name__ in which] or parts:
            try:
                part()
            except Exception as problem:
                print(f"{part.__name__}: {type(problem).__name__}: {problem}")
    if "cpu" in which:
        on_cpu()
