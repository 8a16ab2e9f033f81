"""Twelve calls at every power of two, beside their peers in one run: at which sizes is a peer faster?

    python bench/sizes.py [gpu | cpu] [--call NAME ...] [--of LIBRARY ...] [--from K] [--to K] [--json FILE] [--plot FOLDER]

Each call is what a user would type, with the result given where the title says `out=` and allocated elsewhere. A time is that
of one call among as many as fill a few milliseconds, launched one after the other and waited for once: a loop of a program.
All runners of a size run in turns and each keeps its best round, so that noise hits all. Results are checked against NumPy's at 2^10 elements.
On the CPU, the threads of lanewise and of numba disturb each other in one process: --of measures one of them alone.
The last lines list each size at which a peer takes less than 0.97 of lanewise's time. A plot shows seconds per call over elements.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from typing import Any, Callable

import numpy as np

import lanewise as lw
from lanewise import cuda, reductions
from lanewise.random import Generator
from reduce import peer

warnings.filterwarnings("ignore")

Runner = Callable[[], Any]
ROUND = 2e-3  # seconds of a round
REST = 50e-3  # seconds before a round beside numba on the CPU, after which the threads of the other one do not wait actively any more
FASTER = 0.97

muladd = lw.vectorize(lambda a, b: a * b + a)


@lw.guvectorize("(n,n),(n)->(n)")
def matvec(m, x, y):
    for i in range(m.shape[0]):
        total = m[0, 0] * x[0] * 0
        for k in range(m.shape[1]):
            total += m[i, k] * x[k]
        y[i] = total


@lw.forall
def saxpy(i, a, x, y):
    y[i] = a * x[i] + y[i]


def rows_of(n: int) -> tuple[int, int]:
    """The shape of n = 2^k elements with about as many rows as columns."""
    k = n.bit_length() - 1
    return 1 << (k // 2), 1 << (k - k // 2)


def square(n: int) -> int:
    return 1 << ((n.bit_length() - 1) // 2)


class Sizes:
    """The operands of one size, made once for all calls of it."""

    def __init__(self, n: int, to: Callable[[np.ndarray], Any]) -> None:
        rng = np.random.default_rng(n)
        self.n, self.to = n, to
        self.host = [rng.random(n, dtype=np.float32) for _ in range(2)]
        self.x, self.y = map(to, self.host)
        self.out = to(np.zeros(n, np.float32))
        self.rows = self.x.reshape(rows_of(n))
        side = square(n)
        self.square = self.x[: side * side].reshape(side, side)
        width = min(64, square(n))
        count = max(n // (width * width), 1)
        self.matrices = self.x[: count * width * width].reshape(count, width, width)
        self.vectors = self.y[: count * width].reshape(count, width)


# ---- each call: lanewise's line, and that of each peer (`m`: the module, `s`: its operands) ----

Calls = dict[str, dict[str, Callable[..., Any]]]

GPU: Calls = {
    "a*b+a, out=": {"lanewise": lambda s: muladd(s.x, s.y, out=s.out), "cupy": lambda m, s: m.muladd(s.x, s.y, s.out),
                    "torch": lambda m, s: m.addcmul(s.x, s.x, s.y, out=s.out)},
    "x+y": {"lanewise": lambda s: s.x + s.y, "cupy": lambda m, s: s.x + s.y, "torch": lambda m, s: s.x + s.y},
    "sum": {"lanewise": lambda s: s.x.sum(), "cupy": lambda m, s: s.x.sum(), "torch": lambda m, s: s.x.sum()},
    "sum of rows": {"lanewise": lambda s: s.rows.sum(axis=1), "cupy": lambda m, s: s.rows.sum(axis=1), "torch": lambda m, s: s.rows.sum(1)},
    "argmax": {"lanewise": lambda s: s.x.argmax(), "cupy": lambda m, s: s.x.argmax(), "torch": lambda m, s: s.x.argmax()},
    "cumsum": {"lanewise": lambda s: np.cumsum(s.x), "cupy": lambda m, s: m.cumsum(s.x), "torch": lambda m, s: m.cumsum(s.x, 0)},
    "matvec": {"lanewise": lambda s: matvec(s.matrices, s.vectors), "cupy": lambda m, s: m.matmul(s.matrices, s.vectors[:, :, None]),
               "torch": lambda m, s: m.matmul(s.matrices, s.vectors[:, :, None])},
    "saxpy (forall)": {"lanewise": lambda s: saxpy(s.n, np.float32(1e-9), s.x, s.out), "cupy": lambda m, s: m.saxpy(1e-9, s.x, s.out),
                       "torch": lambda m, s: s.out.add_(s.x, alpha=1e-9)},
    "uniform": {"lanewise": lambda s: s.generator.random(s.n, dtype=np.float32), "cupy": lambda m, s: m.random.rand(s.n, dtype=np.float32),
                "torch": lambda m, s: m.rand(s.n, device="cuda")},
    "astype": {"lanewise": lambda s: s.x.astype(np.float64), "cupy": lambda m, s: s.x.astype(np.float64), "torch": lambda m, s: s.x.to(m.float64)},
    "where": {"lanewise": lambda s: np.where(s.mask, s.x, s.y), "cupy": lambda m, s: m.where(s.mask, s.x, s.y), "torch": lambda m, s: m.where(s.mask, s.x, s.y)},
    "x+x.T": {"lanewise": lambda s: s.square + s.square.T, "cupy": lambda m, s: s.square + s.square.T, "torch": lambda m, s: s.square + s.square.T},
}

CPU: Calls = {
    "a*b+a, out=": {"lanewise": lambda s: muladd(s.x, s.y, out=s.out), "numpy": lambda m, s: m.add(m.multiply(s.x, s.y, out=s.out), s.x, out=s.out),
                    "numba": lambda m, s: m.muladd(s.x, s.y, out=s.out), "numexpr": lambda m, s: m.evaluate("a*b+a", {"a": s.x, "b": s.y}, out=s.out)},
    "x+y": {"lanewise": lambda s: lw.ufuncs.add(s.x, s.y), "numpy": lambda m, s: s.x + s.y, "numexpr": lambda m, s: m.evaluate("a+b", {"a": s.x, "b": s.y})},
    "sum": {"lanewise": lambda s: reductions.sum(s.x), "numpy": lambda m, s: s.x.sum(), "numba": lambda m, s: m.total(s.x)},
    "sum of rows": {"lanewise": lambda s: reductions.sum(s.rows, axis=1), "numpy": lambda m, s: s.rows.sum(axis=1)},
    "argmax": {"lanewise": lambda s: reductions.argmax(s.x), "numpy": lambda m, s: s.x.argmax()},
    "cumsum": {"lanewise": lambda s: reductions.cumsum(s.x), "numpy": lambda m, s: s.x.cumsum()},
    "matvec": {"lanewise": lambda s: matvec(s.matrices, s.vectors), "numba": lambda m, s: m.matvec(s.matrices, s.vectors)},
    "saxpy (forall)": {"lanewise": lambda s: saxpy(s.n, np.float32(1e-9), s.x, s.out), "numba": lambda m, s: m.saxpy(np.float32(1e-9), s.x, s.out)},
    "uniform": {"lanewise": lambda s: s.generator.random(s.n, dtype=np.float32), "numpy": lambda m, s: s.theirs.random(s.n, dtype=np.float32)},
    "astype": {"lanewise": lambda s: as_double(s.x), "numpy": lambda m, s: s.x.astype(np.float64)},
    "where": {"lanewise": lambda s: choose(s.mask, s.x, s.y), "numpy": lambda m, s: m.where(s.mask, s.x, s.y)},
    "x+x.T": {"lanewise": lambda s: lw.ufuncs.add(s.square, s.square.T), "numpy": lambda m, s: s.square + s.square.T},
}

as_double = lw.vectorize(lambda x: np.float64(x))
choose = lw.vectorize(lambda mask, x, y: x if mask else y)


def numba_functions() -> Any:
    """numba's module with the functions that its user would write."""
    numba = peer("numba")
    if numba is None:
        return None
    numba.muladd = numba.vectorize(["float32(float32, float32)"], target="parallel")(lambda a, b: a * b + a)

    @numba.njit(parallel=True, fastmath=True)
    def total(x):
        s = np.float32(0)
        for i in numba.prange(x.size):
            s += x[i]
        return s

    @numba.njit(parallel=True)
    def saxpy_numba(a, x, y):
        for i in numba.prange(x.size):
            y[i] = a * x[i] + y[i]

    numba.total, numba.saxpy = total, saxpy_numba
    numba.matvec = numba.guvectorize(["(float32[:,:], float32[:], float32[:])"], "(n,n),(n)->(n)", target="parallel")(matvec.py_func)
    return numba


def cupy_functions() -> Any:
    cupy = peer("cupy")
    if cupy is None:
        return None
    multiply_add = cupy.ElementwiseKernel("T a, T b", "T c", "c = a * b + a", "muladd")
    axpy = cupy.ElementwiseKernel("T a, T x", "T y", "y = a * x + y", "saxpy")
    cupy.muladd = lambda a, b, out: multiply_add(a, b, out)
    cupy.saxpy = lambda a, x, y: axpy(np.float32(a), x, y)
    return cupy


def per_call(run: Runner, wait: Runner) -> Callable[[], float]:
    """A function that measures one round, in seconds per call."""
    run()
    wait()
    start = time.perf_counter()
    run()
    wait()
    number = max(1, min(1000, int(ROUND / max(time.perf_counter() - start, 1e-9))))

    def measure() -> float:
        start = time.perf_counter()
        for _ in range(number):
            run()
        wait()
        return (time.perf_counter() - start) / number

    return measure


def best_of_each(runners: dict[str, Runner], wait: Runner, rest: float, rounds: int) -> dict[str, float]:
    measures = {name: per_call(run, wait) for name, run in runners.items()}
    best = {name: math.inf for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            if rest:
                time.sleep(rest)
                measure()
            best[name] = min(best[name], measure())
    return best


def plain(value: Any) -> np.ndarray:
    for attribute in ("copy_to_host", "get"):
        if hasattr(value, attribute):
            return np.asarray(getattr(value, attribute)())
    return np.asarray(value.cpu() if hasattr(value, "cpu") else value)


def agree(call: str, results: dict[str, Any]) -> None:
    if call == "uniform" or not results:
        return
    wanted = plain(next(iter(results.values()))).astype("f8").ravel()
    for name, value in results.items():
        np.testing.assert_allclose(plain(value).astype("f8").ravel(), wanted, rtol=1e-4, err_msg=f"{call}: {name}")


class Machine:
    """One target: its calls, its peers that are installed, and how their operands are made."""

    def __init__(self, gpu: bool, only: list[str] | None) -> None:
        self.calls, self.only = GPU if gpu else CPU, only
        self.gpu = gpu
        peers: dict[str, Callable[[], Any]] = {"cupy": cupy_functions, "torch": lambda: peer("torch")} if gpu else {
            "numpy": lambda: np, "numba": numba_functions, "numexpr": lambda: peer("numexpr")}
        found = {name: make() for name, make in peers.items() if not only or name in only}
        self.modules = {name: module for name, module in found.items() if module is not None}
        self.wait: Runner = cuda.synchronize if gpu else lambda: None

    def operands(self, n: int) -> dict[str, Sizes]:
        """For each runner, so that all read the same values from memory of their own."""
        made = {"lanewise": Sizes(n, cuda.to_device if self.gpu else lambda x: x)}
        for name, module in self.modules.items():
            made[name] = Sizes(n, module.asarray if name == "cupy" else (lambda x, module=module: module.from_numpy(x).cuda()) if name == "torch" else lambda x: x)
        for s in made.values():
            s.mask = s.to(s.host[0] > 0.5)
            s.generator, s.theirs = Generator(1, target="cuda" if self.gpu else "cpu"), np.random.default_rng(1)
        return made

    def runners(self, call: str, made: dict[str, Sizes]) -> dict[str, Runner]:
        lines = self.calls[call]
        runs: dict[str, Runner] = {"lanewise": lambda: lines["lanewise"](made["lanewise"])} if not self.only or "lanewise" in self.only else {}
        for name, module in self.modules.items():
            if name in lines:
                runs[name] = lambda name=name, module=module: lines[name](module, made[name])
        return runs


def measure(machine: Machine, calls: list[str], first: int, last: int, rounds: int) -> dict[str, dict[int, dict[str, float]]]:
    made = machine.operands(1 << 10)
    for call in calls:
        agree(call, {name: run() if call != "saxpy (forall)" else (run(), made[name].out)[1] for name, run in machine.runners(call, made).items()})
    times: dict[str, dict[int, dict[str, float]]] = {call: {} for call in calls}
    for k in range(first, last + 1):
        made = machine.operands(1 << k)
        for call in calls:
            times[call][k] = best = best_of_each(machine.runners(call, made), machine.wait, REST if "numba" in machine.calls[call] else 0, rounds)
            print(f"2^{k:<3}{call:<16}" + "".join(f"{name:>10} {seconds * 1e6:>10.2f} us" for name, seconds in best.items()), flush=True)
    return times


def summary(times: dict[str, dict[int, dict[str, float]]]) -> list[str]:
    """A line for each call: the sizes at which a peer is faster."""
    lines = []
    for call, sizes in times.items():
        behind = []
        for k, best in sizes.items():
            if "lanewise" not in best:
                continue
            name, least = min(((n, t) for n, t in best.items() if n != "lanewise"), key=lambda item: item[1], default=("", math.inf))
            if least < FASTER * best["lanewise"]:
                behind.append(f"2^{k} {name} {least / best['lanewise']:.2f}")
        lines.append(f"{call:<16} {'no size' if not behind else ', '.join(behind)}")
    return lines


def plot(times: dict[str, dict[int, dict[str, float]]], folder: str, title: str) -> None:
    import pathlib

    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    place = pathlib.Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    figure, axes = pyplot.subplots(3, 4, figsize=(16, 10), sharex=True)
    for axis, (call, sizes) in zip(axes.flat, times.items()):
        for name in sorted({name for best in sizes.values() for name in best}, key=lambda name: name != "lanewise"):
            points = [(1 << k, best[name]) for k, best in sizes.items() if name in best]
            axis.plot(*zip(*points), marker=".", linewidth=2 if name == "lanewise" else 1, label=name)
        axis.set(xscale="log", yscale="log", title=call)
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small")
    figure.supxlabel("elements")
    figure.supylabel("seconds per call")
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(place / "sizes.svg")
    figure.savefig(place / "sizes.png", dpi=90)


def main() -> None:
    parser = argparse.ArgumentParser(description="Twelve calls at every power of two, beside their peers.")
    parser.add_argument("target", nargs="?", choices=["gpu", "cpu"], default="gpu" if cuda.is_available() else "cpu")
    parser.add_argument("--call", action="append", help="only this call")
    parser.add_argument("--of", action="append", help="only this library")
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--to", dest="last", type=int, default=None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    parser.add_argument("--plot")
    asked = parser.parse_args()
    machine = Machine(asked.target == "gpu", asked.of)
    calls = asked.call or list(machine.calls)
    times = measure(machine, calls, asked.first, asked.last if asked.last is not None else 28 if machine.gpu else 24, asked.rounds)
    print(f"\nSizes at which a peer takes less than {FASTER} of lanewise's time:")
    print("\n".join(summary(times)))
    if asked.json:
        with open(asked.json, "w") as file:
            json.dump({"target": asked.target, "times": times}, file, indent=1)
    if asked.plot:
        plot(times, asked.plot, f"{asked.target}: seconds per call")


if __name__ == "__main__":
    main()
