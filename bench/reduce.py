"""Reductions and scans: lanewise against CuPy (CUB), torch, numba-cuda, NumPy and numba, in one run.

    python bench/reduce.py [gpu | cpu] [part ...]

Rates are fractions of a device-to-device copy's: (bytes read + written) / time / copy's rate. Peers that are not
installed are left out; results are checked before they are timed.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from typing import Any, Callable

import numpy as np

import lanewise as lw
from lanewise import cuda, reductions
from lanewise._bench import copy_seconds, gpu_seconds, host_seconds

warnings.filterwarnings("ignore")
if not hasattr(np, "row_stack"):  # numba-cuda imports it; NumPy 2.5 removed it
    np.row_stack = np.vstack

Runs = dict[str, Callable[[], Any]]


def peer(name: str) -> Any:
    try:
        return __import__(name, fromlist=["x"])
    except Exception:
        return None


def row(title: str, runs: Runs, timer: Callable[..., float], note: Callable[[float], str]) -> None:
    print(title)
    for name, run in runs.items():
        try:
            seconds = timer(run)
        except Exception as problem:  # a peer that cannot do it says so in the table
            print(f"    {name:<26} {type(problem).__name__}: {str(problem).splitlines()[0][:90]}")
            continue
        print(f"    {name:<26}{seconds * 1e6:>12.2f} us   {note(seconds)}", flush=True)


# ---- the operators, as users write them ----

total = lw.reduce(lambda a, b: a + b)
biggest = lw.reduce(lambda a, b: max(a, b))
argmax = lw.reduce(lambda a, b: a if a[0] > b[0] or (a[0] == b[0] and a[1] < b[1]) else b,
                   map=lambda x, index: (x, index), finish=lambda value, at: at, commutative=True)


def merge_exp(a, b):
    top = max(a[0], b[0])
    return top, a[1] * math.exp(a[0] - top) + b[1] * math.exp(b[0] - top)


logsumexp = lw.reduce(merge_exp, map=lambda x: (x, np.float32(1)), finish=lambda m, s: m + math.log(s), commutative=True)
affine = lw.reduce(lambda a, b, c, d: (a * c, b * c + d), map=lambda a, b: (a, b), finish=lambda a, b: b)


# ---- GPU ----


def floats(*shape: int) -> Any:
    return cuda.to_device(np.random.default_rng(1).random(shape, dtype="f4"))


def of_copy(n_bytes: int) -> Callable[[float], str]:
    """How a time compares with a copy that reads and writes so many bytes in all."""
    copy = copy_seconds(n_bytes // 2)
    return lambda seconds: f"{copy / seconds:.3f} of copy, {n_bytes / seconds / 1e9:.0f} GB/s"


def check(got: Any, wanted: Any, tolerance: float = 1e-4) -> None:
    np.testing.assert_allclose(got.copy_to_host(), wanted, rtol=tolerance, atol=tolerance)


def with_peers(runs: Runs, x: Any, by_cupy: Callable[[Any, Any], Any], by_torch: Callable[[Any, Any], Any]) -> Runs:
    cupy, torch = peer("cupy"), peer("torch")
    if cupy is not None:
        cx = cupy.from_dlpack(x)
        runs["CuPy"] = lambda: by_cupy(cupy, cx)
    if torch is not None:
        tx = torch.from_dlpack(x)
        runs["torch"] = lambda: by_torch(torch, tx)
    return runs


def sums() -> None:
    numba_cuda = peer("numba.cuda")
    for log in (16, 20, 24, 26, 28):
        x = floats(1 << log)
        check(total(x), np.sum(x.copy_to_host(), dtype="f8"))
        runs: Runs = {"lanewise r(x)": lambda: total(x), "lanewise x.sum()": lambda: x.sum(), "lanewise np.sum(x)": lambda: np.sum(x)}
        with_peers(runs, x, lambda c, v: c.sum(v), lambda t, v: t.sum(v))
        if numba_cuda is not None and log <= 26:
            theirs, nx = numba_cuda.reduce(lambda a, b: a + b), numba_cuda.to_device(x.copy_to_host())
            out = numba_cuda.device_array(1, np.float32)
            runs["numba-cuda"] = lambda: theirs(nx, res=out)
        row(f"sum float32 2^{log}, GPU time", runs, gpu_seconds, of_copy(x.nbytes))


def host_times() -> None:
    x, y = floats(256), floats(256)
    numba_cuda, add = peer("numba.cuda"), lw.vectorize(lambda a, b: a + b)
    add(x, x, out=y)
    raw = min(lw._core._time_launch(add, 100, x, x) for _ in range(30) if cuda.synchronize() is None)
    runs: Runs = {"lanewise r(x)": lambda: total(x), "lanewise accumulate": lambda: total.accumulate(x), "lanewise x.sum()": lambda: x.sum()}
    with_peers(runs, x, lambda c, v: c.sum(v), lambda t, v: t.sum(v))
    if numba_cuda is not None:
        theirs, nx = numba_cuda.reduce(lambda a, b: a + b), numba_cuda.to_device(x.copy_to_host())
        out = numba_cuda.device_array(1, np.float32)
        runs["numba-cuda"] = lambda: theirs(nx, res=out)
    row(f"host time of r(x), 256 elements (raw launch {raw * 1e6:.2f} us)", runs, host_seconds, lambda s: f"raw + {(s - raw) * 1e6:.2f} us")


def extremes() -> None:
    x = floats(1 << 26)
    check(argmax(x), x.copy_to_host().argmax())
    row("argmax float32 2^26", with_peers({"lanewise": lambda: argmax(x)}, x, lambda c, v: c.argmax(v), lambda t, v: t.argmax(v)), gpu_seconds, of_copy(x.nbytes))
    x = cuda.to_device(np.random.default_rng(1).integers(-128, 128, 1 << 26, np.int8))
    check(biggest(x), 127)
    row("max int8 2^26", with_peers({"lanewise": lambda: biggest(x)}, x, lambda c, v: c.max(v), lambda t, v: t.max(v)), gpu_seconds, of_copy(x.nbytes))
    x = floats(1 << 27)
    check(logsumexp(x), np.log(np.sum(np.exp(x.copy_to_host().astype("f8")))))
    runs = with_peers({"lanewise": lambda: logsumexp(x)}, x, lambda c, v: c.log(c.sum(c.exp(v))), lambda t, v: t.logsumexp(v, 0))
    row("log-sum-exp pair, 2^27", runs, gpu_seconds, of_copy(x.nbytes))


def axes() -> None:
    for shape in ((8192, 8192), (1 << 21, 32), (32, 1 << 21)):
        x = floats(*shape)
        for axis in (1, 0):
            check(total(x, axis=axis), x.copy_to_host().sum(axis, dtype="f8"))
            runs = with_peers({"lanewise": lambda: total(x, axis=axis)}, x, lambda c, v: c.sum(v, axis), lambda t, v: t.sum(v, axis))
            row(f"sum float32 {shape} axis {axis}", runs, gpu_seconds, of_copy(x.nbytes + 4 * shape[1 - axis]))


def scans() -> None:
    for shape, axis in (((1 << 16,), 0), ((1 << 20,), 0), ((1 << 26,), 0), ((1 << 28,), 0), ((8192, 8192), 1), ((8192, 8192), 0), ((1 << 21, 32), 1), ((1 << 21, 32), 0), ((32, 1 << 21), 1), ((32, 1 << 21), 0)):
        x = floats(*shape)
        wanted = np.cumsum(x.copy_to_host(), axis, dtype="f8")
        check(total.accumulate(x, axis), wanted)
        del wanted
        runs: Runs = {"lanewise accumulate": lambda: total.accumulate(x, axis), "lanewise np.cumsum": lambda: np.cumsum(x, axis)}
        with_peers(runs, x, lambda c, v: c.cumsum(v, axis), lambda t, v: t.cumsum(v, axis))
        row(f"cumsum float32 {shape} axis {axis}", runs, gpu_seconds, of_copy(2 * x.nbytes))
    n = 1 << 26
    for dtype in ("f4", "f8"):
        a, b = floats(n).astype(dtype), floats(n).astype(dtype)
        small = affine.accumulate(a[:5000], b[:5000])
        check(small, affine.accumulate(a[:5000].copy_to_host(), b[:5000].copy_to_host()))
        row(f"affine scan, 2^26 pairs of {np.dtype(dtype)}", {"lanewise": lambda: affine.accumulate(a, b)}, gpu_seconds, of_copy(3 * a.nbytes))
    for dtype in ("i1", "f2", "f8"):
        x = cuda.to_device(np.ones(n, dtype))
        made = np.add.reduce(np.ones(1, dtype)).dtype.itemsize
        row(f"cumsum {np.dtype(dtype)} 2^26", {"lanewise": lambda: total.accumulate(x)}, gpu_seconds, of_copy(n * (x.itemsize + made)))


def slices() -> None:
    n = 1 << 26
    x = floats(n)
    for length in (10, 100, 10_000, 1 << 24):
        indices = np.arange(0, n, length)
        row(f"reduceat, slices of {length}", {"lanewise": lambda: total.reduceat(x, indices)}, gpu_seconds, of_copy(x.nbytes))
        keys = cuda.to_device((np.arange(n) // length).astype("i4"))
        row(f"by_key, runs of {length}", {"lanewise": lambda: total.by_key(keys, x)}, gpu_seconds, of_copy(x.nbytes + keys.nbytes + 8 * len(indices)))


# ---- CPU ----


def race(title: str, runners: Runs, rounds: int = 40) -> None:
    """The least of many times, in turn; one call before each, so that threads of the runner's own are awake."""
    least = {name: math.inf for name in runners}
    for run in runners.values():
        run()
    for _ in range(rounds):
        for name, run in runners.items():
            run()
            start = time.perf_counter()
            run()
            least[name] = min(least[name], time.perf_counter() - start)
    mine = least["lanewise"]
    print(f"{title:<34}", "  ".join(f"{name} {s * 1e3:.3f} ms ({s / mine:.2f}x)" for name, s in least.items()), flush=True)


def on_cpu() -> None:
    numba, n = peer("numba"), 10_000_000
    x = np.random.default_rng(1).random(n, dtype="f4")
    y = x[: 3162 * 3162].reshape(3162, 3162)
    flat: Runs = {"lanewise": lambda: total(x), "NumPy": lambda: np.sum(x)}
    rows: Runs = {"lanewise": lambda: total(y, axis=1), "NumPy": lambda: np.sum(y, 1)}
    columns: Runs = {"lanewise": lambda: total(y, axis=0), "NumPy": lambda: np.sum(y, 0)}
    if numba is not None:
        @numba.njit(parallel=True, fastmath=True)
        def numba_sum(v):
            s = np.float32(0)
            for i in numba.prange(v.size):
                s += v[i]
            return s

        @numba.njit(parallel=True, fastmath=True)
        def numba_rows(v):
            out = np.empty(v.shape[0], v.dtype)
            for i in numba.prange(v.shape[0]):
                s = np.float32(0)
                for j in range(v.shape[1]):
                    s += v[i, j]
                out[i] = s
            return out

        @numba.njit(parallel=True, fastmath=True)
        def numba_columns(v):
            out = np.zeros(v.shape[1], v.dtype)
            for tile in numba.prange((v.shape[1] + 511) // 512):
                first, last = 512 * tile, min(512 * tile + 512, v.shape[1])
                for i in range(v.shape[0]):
                    for j in range(first, last):
                        out[j] += v[i, j]
            return out

        flat["numba prange fastmath"] = lambda: numba_sum(x)
        rows["numba prange fastmath"] = lambda: numba_rows(y)
        columns["numba prange fastmath"] = lambda: numba_columns(y)
    race("cpu sum float32 10^7", flat)
    with lw.config(threads=1):
        race("the same on one thread", {"lanewise": flat["lanewise"], "NumPy": flat["NumPy"]})
    race("cpu sum float32 3162^2 axis 1", rows)
    race("cpu sum float32 3162^2 axis 0", columns)
    mask = np.zeros(y.shape, bool)
    race("cpu any bool 3162^2 axis 1", {"lanewise": lambda: reductions.any(mask, axis=1), "NumPy": lambda: np.any(mask, 1)})
    race("cpu argmax 3162^2 axis 1", {"lanewise": lambda: argmax(y, axis=1), "NumPy": lambda: np.argmax(y, 1)})
    race("cpu max float32 10^7", {"lanewise": lambda: biggest(x), "NumPy": lambda: np.max(x)})
    race("cpu argmax float32 10^7", {"lanewise": lambda: argmax(x), "NumPy": lambda: np.argmax(x)})
    race("cpu log-sum-exp 10^7", {"lanewise": lambda: logsumexp(x), "NumPy": lambda: np.log(np.sum(np.exp(x)))})
    race("cpu cumsum float32 10^7", {"lanewise": lambda: total.accumulate(x), "NumPy": lambda: np.cumsum(x)})
    race("cpu cumsum 3162^2 axis 0", {"lanewise": lambda: total.accumulate(y), "NumPy": lambda: np.cumsum(y, 0)})
    race("cpu affine scan 10^7", {"lanewise": lambda: affine.accumulate(x, x)})


PARTS = (sums, host_times, extremes, axes, scans, slices)

if __name__ == "__main__":
    named = [part for part in PARTS if part.__name__ in sys.argv[1:]]
    if "cpu" not in sys.argv[1:] and cuda.is_available():
        print(f"{cuda.get_current_device().name}; NumPy {np.__version__}")
        for part in named or PARTS:
            try:
                part()
            except Exception as problem:
                print(f"{part.__name__}: {type(problem).__name__}: {problem}")
    if "gpu" not in sys.argv[1:] and not named:
        on_cpu()
