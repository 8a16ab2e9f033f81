"""Arrays that compiled functions make: lanewise against numba (guvectorize, parallel) and numba-cuda with NRT, in one run.

    python bench/memory.py [gpu | cpu]

Peers that are not installed are left out. On a GPU the first launch of a process is shown beside the best of five, because memory that
was freed is kept for the next thread; "device malloc" is what CUDA C++ does with malloc and free alone.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from typing import Any, Callable

os.environ.setdefault("NUMBA_CUDA_ENABLE_NRT", "1")

import numpy as np  # noqa: E402

import lanewise as lw  # noqa: E402
from lanewise import cuda  # noqa: E402

warnings.filterwarnings("ignore")
if not hasattr(np, "row_stack"):  # numba-cuda imports it; NumPy 2.5 removed it
    np.row_stack = np.vstack


def peer(name: str) -> Any:
    try:
        return __import__(name, fromlist=["x"])
    except Exception:
        return None


def timed(run: Callable[[], Any], wait: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of the first run behind a compiled one, and of the best of five more."""
    times = []
    for _ in range(6):
        start = time.perf_counter()
        run()
        wait()
        times.append(time.perf_counter() - start)
    return times[0], min(times[1:])


def row(title: str, runs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]], n: int) -> None:
    print(title)
    for name, (run, wait) in runs.items():
        try:
            first, best = timed(run, wait)
        except Exception as problem:  # a peer that cannot do it says so in the table
            print(f"    {name:<24} {type(problem).__name__}: {str(problem).splitlines()[0][:90]}")
            continue
        print(f"    {name:<24}{first * 1e3:>12.2f} ms first{best * 1e3:>12.2f} ms best   {best / n * 1e9:.1f} ns each", flush=True)


# ---- the workloads, as users write them ----


def one_array(out, n):
    i = cuda.grid(1)
    t = np.empty(n)
    t[0] = i
    t[n - 1] = 1
    out[i] = t[0] + t[n - 1]


def in_a_loop(out, n):
    i = cuda.grid(1)
    total = 0.0
    for k in range(16):
        t = np.empty(n)
        t[0] = i + k
        total += t[0]
    out[i] = total


MALLOC = """
extern "C" __device__ int plain(double *result, long long i, long long n)
{
    double *t = (double *)malloc(n * sizeof(double));
    t[0] = i;
    t[n - 1] = 1;
    *result = t[0] + t[n - 1];
    free(t);
    return 0;
}
"""


def gpu() -> None:
    n_threads = 1 << 20
    numba_cuda = peer("numba.cuda")
    plain = cuda.declare_device("plain", "float64(int64, int64)", link=cuda.CUSource(MALLOC, "malloc.cu"))

    @cuda.jit
    def malloced(out, n):
        i = cuda.grid(1)
        out[i] = plain(i, n)

    out = cuda.device_array(n_threads)
    for body, n, blocks in ((one_array, 128, 4096), (one_array, 8, 4096), (one_array, 128, 16), (in_a_loop, 128, 4096)):
        runs: dict[str, Any] = {}
        kernel = cuda.jit(body)
        kernel[1, 1](out, n)  # compiled
        cuda.synchronize()
        runs["lanewise"] = lambda: kernel[blocks, 256](out, n), cuda.synchronize
        if body is one_array:
            malloced[1, 1](out, n)
            cuda.synchronize()
            runs["device malloc"] = lambda: malloced[blocks, 256](out, n), cuda.synchronize
        if numba_cuda is not None:
            theirs = numba_cuda.jit(numba_body(body, numba_cuda))
            there = numba_cuda.device_array(n_threads)
            try:
                theirs[1, 1](there, n)
                numba_cuda.synchronize()
                runs["numba-cuda, NRT"] = lambda: theirs[blocks, 256](there, n), numba_cuda.synchronize
            except Exception as problem:
                print(f"numba-cuda: {type(problem).__name__}: {str(problem).splitlines()[0][:100]}")
        row(f"{body.__name__}: {blocks * 256} threads, {8 * n} bytes", runs, blocks * 256)


def numba_body(body, numba_cuda):
    """The same function over numba's `cuda`."""
    import types as python_types

    return python_types.FunctionType(body.__code__, {**globals(), "cuda": numba_cuda}, body.__name__)


def centred(x, out):
    t = np.empty(x.shape[0])
    mean = 0.0
    for i in range(x.shape[0]):
        mean += x[i]
    mean /= x.shape[0]
    for i in range(x.shape[0]):
        t[i] = x[i] - mean
    for i in range(x.shape[0]):
        out[i] = t[x.shape[0] - 1 - i] * 2 + t[i]


def expressions(x, out):
    t = x - x.mean()
    u = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        u[i] = t[x.shape[0] - 1 - i] * 2
    out[:] = u[::-1] + t


def cpu() -> None:
    numba = peer("numba")
    x = np.random.default_rng(1).random((100_000, 64))
    out = np.empty_like(x)
    for body in (centred, expressions):
        ours = lw.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)", warn=False)(body)
        ours(x[:2], out[:2])
        runs: dict[str, Any] = {"lanewise": (lambda: ours(x, out), int)}
        if numba is not None:
            theirs = numba.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)", target="parallel")(body)
            theirs(x[:2], out[:2])
            runs["numba parallel"] = lambda: theirs(x, out), int
        row(f"guvectorize {body.__name__}: 100,000 items of 64 float64", runs, len(x))


def main() -> None:
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    if what in ("", "cpu"):
        cpu()
    if what in ("", "gpu"):
        if cuda.is_available():
            print(cuda.get_current_device().name)
            gpu()
        else:
            print("no CUDA device")


if __name__ == "__main__":
    main()
