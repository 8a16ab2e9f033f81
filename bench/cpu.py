"""lanewise against NumPy, numba (parallel) and numexpr on the CPU, interleaved in one run.

    python bench/cpu.py [row ...]    rows: math muladd cached matvec compile small barrier

Peers that are not installed are left out. Each figure is the least of 30 interleaved rounds.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any, Callable

import numpy as np

import lanewise as lw
from lanewise import cuda

try:
    import numba
except ImportError:
    numba = None
try:
    import numexpr
except ImportError:
    numexpr = None


def race(runners: dict[str, Callable[[], Any]], rounds: int = 30, rest: float = 0) -> dict[str, float]:
    """Least seconds of each, run in turns so that noise hits all."""
    least = {name: math.inf for name in runners}
    for run in runners.values():
        run()
    for _ in range(rounds):
        for name, run in runners.items():
            time.sleep(rest)
            start = time.perf_counter()
            run()
            least[name] = min(least[name], time.perf_counter() - start)
    return least


def ulp(got: np.ndarray, exact: np.ndarray) -> float:
    """Largest distance in units of the last place, NaN equal to NaN."""
    with np.errstate(all="ignore"):
        off = np.abs(got.astype(np.longdouble) - exact) / np.spacing(np.abs(exact.astype(got.dtype)))
    return float(np.nanmax(off))


def show(title: str, times: dict[str, float], note: str = "") -> None:
    mine = times["lanewise"]
    others = "  ".join(f"{name} {seconds * 1e3:.3f} ms ({seconds / mine:.2f}x)" for name, seconds in times.items() if name != "lanewise")
    print(f"{title:<28} lanewise {mine * 1e3:.3f} ms   {others}  {note}", flush=True)


FUNCTIONS = {
    "exp": (lambda x: math.exp(x), np.exp, "exp(x)"),
    "sin": (lambda x: math.sin(x), np.sin, "sin(x)"),
    "log": (lambda x: math.log(x), np.log, "log(x)"),
    "pow": (lambda x: x**1.7, lambda x, out=None: np.power(x, 1.7, out=out), "x**1.7"),
}


def math_rows() -> None:
    x = np.random.default_rng(1).uniform(0.1, 20.0, 1_000_000)
    out = np.empty_like(x)
    for name, (function, numpy_function, text) in FUNCTIONS.items():
        mine = lw.vectorize(function)
        precise = lw.vectorize(precise=True)(function)
        runners = {"lanewise": lambda: mine(x, out=out), "NumPy": lambda: numpy_function(x, out=out)}
        if numba is not None:
            theirs = numba.vectorize(["float64(float64)"], target="parallel")(function)
            runners["numba parallel"] = lambda: theirs(x, out=out)
        if numexpr is not None:
            runners["numexpr"] = lambda text=text: numexpr.evaluate(text, {"x": x}, out=out)
        times = race(runners)
        exact = numpy_function(x.astype(np.longdouble))
        libm = np.fromiter((function(v) for v in x[:20_000].tolist()), np.float64, 20_000)
        equal = "precise=True equals libm" if np.array_equal(precise(x[:20_000]), libm) else "precise=True DIFFERS from libm"
        show(f"{name} float64 10^6", times, f"{ulp(mine(x), exact):.2f} ULP, {equal}")


def muladd_rows() -> None:
    """Operands that are larger than the caches, beside numba after a rest, while the threads of the other one do not wait actively any more."""
    n = 20_000_000
    rng = np.random.default_rng(2)
    function = lambda x, y: x * y + x  # noqa: E731
    mine = lw.vectorize(function)
    for name in ("float32", "float64"):
        a, b, out = rng.random(n).astype(name), rng.random(n).astype(name), np.empty(n, name)

        def by_numpy() -> None:
            np.multiply(a, b, out=out)
            np.add(out, a, out=out)

        runners = {"lanewise": lambda: mine(a, b, out=out), "NumPy": by_numpy}
        if numba is not None:
            theirs = numba.vectorize([f"{name}({name}, {name})"], target="parallel")(function)
            runners["numba parallel"] = lambda: theirs(a, b, out=out)
        if numexpr is not None:
            runners["numexpr"] = lambda: numexpr.evaluate("a*b+a", {"a": a, "b": b}, out=out)
        times = race(runners, 12, rest=0.05)
        show(f"a*b+a {name} 2*10^7", times, f"{3 * a.itemsize * n / times['lanewise'] / 1e9:.1f} GB/s")


def cached_rows() -> None:
    """Operands that stay in the caches: what a second thread gains, or costs where its core is busy."""
    function = lambda x, y: x * y + x  # noqa: E731
    mine = lw.vectorize(function)
    for name in ("float32", "float64"):
        x, y, out = (np.full(10**6, value, name) for value in (1.5, 0.5, 0.0))
        runners = {"lanewise": lambda: mine(x, y, out=out), "NumPy": lambda: np.multiply(x, y, out=out)}
        if numba is not None:
            theirs = numba.vectorize([f"{name}({name}, {name})"])(function)
            runners["numba, one thread"] = lambda: theirs(x, y, out=out)
        show(f"a*b+a {name} 10^6", race(runners, 200), "NumPy: a*b alone")


def matvec_row() -> None:
    """A matrix by a vector as loops: each addition waits for the one before, with fma=True for a multiplication as well."""

    def matvec(m, v, out):
        for i in range(m.shape[0]):
            total = 0.0
            for j in range(m.shape[1]):
                total += m[i, j] * v[j]
            out[i] = total

    m, v, out, repeat = np.ones((100, 100)), np.ones(100), np.zeros(100), range(100)
    layout = "(m,n),(n)->(m)"
    mine, split = lw.guvectorize(layout)(matvec), lw.guvectorize(layout, fma=False)(matvec)
    runners = {"lanewise": lambda: [mine(m, v, out=out) for _ in repeat], "fma=False": lambda: [split(m, v, out=out) for _ in repeat]}
    if numba is not None:
        kinds = ["float64[:, :], float64[:], float64[:]"]
        theirs, fused = (numba.guvectorize(kinds, layout, fastmath=flags)(matvec) for flags in (False, {"contract"}))
        runners |= {"numba": lambda: [theirs(m, v, out) for _ in repeat], "numba, contracted": lambda: [fused(m, v, out) for _ in repeat]}
    show("100 matvecs of 100 x 100", race(runners))


def compile_row() -> None:
    """Process time of the first call of a function, in turns with numba's, the compilers being loaded."""
    x = np.ones(100)
    decorators = {"lanewise": lw.vectorize} | ({"numba": numba.vectorize} if numba else {})
    times: dict[str, list[float]] = {name: [] for name in decorators}
    with lw.config(cache_size_mb=0, memory_cache_mb=0):
        for k in range(12):
            for name, decorator in decorators.items():
                mine = decorator(eval(f"lambda a, b: a * b + {k}.25"))
                start = time.process_time()
                mine(x, x)
                times[name].append(time.process_time() - start)
    print(f"{'first call of a*b+k':<28} " + ", ".join(f"{name} {min(one) * 1e3:.1f} ms" for name, one in times.items()) + " of processor time")


def small_row() -> None:
    x, out = np.ones(8), np.ones(8)
    mine = lw.vectorize(["f8(f8, f8)"])(lambda a, b: a + b)
    repeat = range(2000)

    def many(f: Callable[..., Any]) -> Callable[[], None]:
        def run() -> None:
            for _ in repeat:
                f(x, x, out=out)

        return run

    runners = {"lanewise": many(mine), "NumPy": many(np.add)}
    if numba is not None:
        runners["numba"] = many(numba.vectorize(["float64(float64, float64)"])(lambda a, b: a + b))
    times = race(runners)
    print(f"{'8 elements, out=':<28} " + "  ".join(f"{name} {seconds / 2000 * 1e9:.0f} ns" for name, seconds in times.items()))


@cuda.jit(target="cpu")
def barriers(out, n):
    for k in range(n):
        cuda.syncthreads()
    out[cuda.grid(1)] = n


def barrier_row() -> None:
    """What a block barrier costs each thread on the CPU target: one block, so one core."""
    rounds, text = 2000, []
    for threads in (32, 256, 1024):
        out = np.zeros(threads, np.int32)
        launch = barriers[1, threads]
        times = race({"with": lambda: launch(out, rounds), "without": lambda: launch(out, 0)}, 10)
        text.append(f"{threads} threads {(times['with'] - times['without']) / (rounds * threads) * 1e9:.1f} ns")
    print(f"{'barrier, CPU target':<28} a thread, of a block of: " + "  ".join(text))


ROWS = {f.__name__.split("_")[0]: f for f in (math_rows, muladd_rows, cached_rows, matvec_row, compile_row, small_row, barrier_row)}

if __name__ == "__main__":
    print(f"NumPy {np.__version__}, numba {numba.__version__ if numba else '-'}, {lw._core._vector_bits}-bit vectors")
    for row in sys.argv[1:] or ROWS:
        ROWS[row]()
