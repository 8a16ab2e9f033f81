"""Calls on the CPU that a peer was once faster at, beside that peer in one process.

    python bench/host_rows.py [part ...] [--threads N] [--rounds N] [--processor-time]

Parts: methods extremes pairs keywords variances axis0 forall mandelbrot layouts jit lists nested sorts small short remainders calls special expressions. Each line has the time of lanewise and of each peer, and
in brackets the time of lanewise divided by that of the peer: above 1, the peer is faster. A time is the least of interleaved rounds, so that
noise hits all. Results are checked against NumPy's (or the peer's) before they are timed. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import inspect
import math
import textwrap
import time
import warnings
from typing import Any, Callable

import numpy as np

import lanewise as lw
from lanewise import reductions

warnings.filterwarnings("ignore")
ROUND = 1e-3  # seconds of a round of short calls
REST = 50e-3  # seconds before a round beside numba, after which the threads of the other one do not wait actively any more
rounds = 30
clock = time.perf_counter

Runs = dict[str, Callable[[], Any]]


def peer(name: str) -> Any:
    try:
        return __import__(name, fromlist=["x"])
    except Exception:
        return None


numba = peer("numba")
scipy_special = peer("scipy.special")


def race(title: str, runs: Runs, same: Callable[[Any, Any], None] | None = None) -> None:
    """Measures all in turns and prints a line; `same` compares a result with that of lanewise."""
    results = {name: run() for name, run in runs.items()}
    if same is not None:
        for value in results.values():
            same(results["lanewise"], value)
    numbers = {}
    for name, run in runs.items():
        start = clock()
        run()
        numbers[name] = max(1, min(5000, int(ROUND / max(clock() - start, 1e-9))))
    least = {name: math.inf for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            repeat = range(numbers[name])
            if any(other.startswith("numba") for other in runs):
                time.sleep(REST)
                run()
            start = clock()
            for _ in repeat:
                run()
            least[name] = min(least[name], (clock() - start) / numbers[name])
    mine = least["lanewise"]
    others = "  ".join(f"{name} {seconds * 1e6:.2f} ({mine / seconds:.2f})" for name, seconds in least.items() if name != "lanewise")
    print(f"{title:<46} {mine * 1e6:>11.2f} us   {others}", flush=True)


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(np.asarray(b, "c16"), np.asarray(a, "c16"), rtol=1e-4, atol=1e-6)


def equal(a: Any, b: Any) -> None:
    np.testing.assert_array_equal(b, a)


def operands(n: int, dtype: str, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.5, 1.5, n).astype(dtype)


# ---- the methods of a user's ufunc ----


plus = lw.vectorize(lambda a, b: a + b)
larger = lw.vectorize(lambda a, b: a if a > b else b)
hyper = lw.vectorize(lambda a, b: (a * a + b * b) ** 0.5)


def methods() -> None:
    for dtype in ("f8", "f4", "i8"):
        x = operands(10**6, dtype)
        rows, starts = x.reshape(1000, 1000), np.arange(0, 10**6, 10)
        race(f"plus.reduce(x) 10^6 {dtype}", {"lanewise": lambda: plus.reduce(x), "numpy": lambda: np.add.reduce(x)}, close)
        for axis in (1, 0):
            race(f"plus.reduce(x, axis={axis}) 1000^2 {dtype}", {"lanewise": lambda: plus.reduce(rows, axis=axis), "numpy": lambda: np.add.reduce(rows, axis=axis)}, close)
        race(f"plus.accumulate(x) 10^6 {dtype}", {"lanewise": lambda: plus.accumulate(x), "numpy": lambda: np.add.accumulate(x)}, close)
        for axis in (1, 0):
            race(f"plus.accumulate(x, axis={axis}) 1000^2 {dtype}", {"lanewise": lambda: plus.accumulate(rows, axis=axis), "numpy": lambda: np.add.accumulate(rows, axis=axis)}, close)
        race(f"plus.reduceat, 10^5 slices of 10 {dtype}", {"lanewise": lambda: plus.reduceat(x, starts), "numpy": lambda: np.add.reduceat(x, starts)}, close)
        u = x[:1000]
        race(f"plus.outer 1000 x 1000 {dtype}", {"lanewise": lambda: plus.outer(u, u), "numpy": lambda: np.add.outer(u, u)}, close)
        race(f"larger.reduce(x) 10^6 {dtype}", {"lanewise": lambda: larger.reduce(x), "numpy": lambda: np.maximum.reduce(x)}, equal)
    x = operands(10**6, "f8")
    runs: Runs = {"lanewise": lambda: hyper.reduce(x)}
    if numba:
        theirs = numba.vectorize(["f8(f8,f8)"])(hyper.py_func)
        runs["numba"] = lambda: theirs.reduce(x)
    race("hyper.reduce(x) 10^6 f8", runs, close)
    for n in (1, 100):
        x = operands(n, "f8")
        race(f"plus.reduce(x) {n} f8", {"lanewise": lambda: plus.reduce(x), "numpy": lambda: np.add.reduce(x)}, close)
        race(f"plus.accumulate(x) {n} f8", {"lanewise": lambda: plus.accumulate(x), "numpy": lambda: np.add.accumulate(x)}, close)


# ---- reductions ----


def extremes() -> None:
    for dtype in ("f4", "f8", "i4", "i1"):
        for shape in ((1000, 1000), (10000, 100), (100000, 10), (10, 100000)):
            x = np.random.default_rng(1).permutation(shape[0] * shape[1]).astype(dtype).reshape(shape)
            for axis in (1, 0):
                race(f"argmin(axis={axis}) {shape[0]} x {shape[1]} {dtype}",
                     {"lanewise": lambda: reductions.argmin(x, axis=axis), "numpy": lambda: x.argmin(axis=axis)}, equal)
        x = x.ravel()
        race(f"argmax 10^6 {dtype}", {"lanewise": lambda: reductions.argmax(x), "numpy": lambda: x.argmax()}, equal)


def pairs() -> None:
    """Reductions of complex numbers."""
    for dtype in ("c16", "c8"):
        x = (operands(10**5, "f8") + 1j * operands(10**5, "f8", 2)).astype(dtype)
        for name in ("max", "nanmin", "sum"):
            race(f"{name} 10^5 {dtype}", {"lanewise": lambda: getattr(reductions, name)(x), "numpy": lambda: getattr(np, name)(x)}, close)
        race(f"minmax 10^5 {dtype}", {"lanewise": lambda: reductions.minmax(x), "numpy": lambda: (x.min(), x.max())}, close)
        race(f"plus.reduce(x) 10^5 {dtype}", {"lanewise": lambda: plus.reduce(x), "numpy": lambda: np.add.reduce(x)}, close)


def keywords() -> None:
    """Short calls of reductions, of lists and with keywords."""
    x, few = operands(10, "f8"), [1.0, 2.0, 3.0]
    mask = x > 1
    for name in ("mean", "sum"):
        ours, theirs = getattr(reductions, name), getattr(np, name)
        race(f"{name} of a list of three", {"lanewise": lambda: ours(few), "numpy": lambda: theirs(few)}, close)
        race(f"{name}(x, dtype=float) 10 f8", {"lanewise": lambda: ours(x, dtype=float), "numpy": lambda: theirs(x, dtype=float)}, close)
        race(f"{name}(x, where=mask) 10 f8", {"lanewise": lambda: ours(x, where=mask), "numpy": lambda: theirs(x, where=mask)}, close)


def variances() -> None:
    for dtype in ("f4", "f8"):
        x = operands(10**6, dtype)
        rows = x.reshape(1000, 1000)
        race(f"var 10^6 {dtype}", {"lanewise": lambda: reductions.var(x), "numpy": lambda: x.var()}, close)
        race(f"std 10^6 {dtype}", {"lanewise": lambda: reductions.std(x), "numpy": lambda: x.std()}, close)
        for axis in (1, 0):
            race(f"var(axis={axis}) 1000^2 {dtype}", {"lanewise": lambda: reductions.var(rows, axis=axis), "numpy": lambda: rows.var(axis=axis)}, close)
        narrow = x.reshape(100000, 10)
        for axis in (1, 0):
            race(f"var(axis={axis}) 100000 x 10 {dtype}", {"lanewise": lambda: reductions.var(narrow, axis=axis), "numpy": lambda: narrow.var(axis=axis)}, close)
    for n in (10, 100, 1000, 10000):
        x = operands(n, "f8")
        race(f"std {n} f8", {"lanewise": lambda: reductions.std(x), "numpy": lambda: x.std()}, close)


def axis0() -> None:
    for dtype in ("f8", "f4"):
        for shape in ((1000, 1000), (100000, 10), (10, 100000), (3162, 3162), (100, 100)):
            x = operands(shape[0] * shape[1], dtype).reshape(shape)
            race(f"sum(axis=0) {shape[0]} x {shape[1]} {dtype}", {"lanewise": lambda: reductions.sum(x, axis=0), "numpy": lambda: x.sum(axis=0)}, close)
    x = operands(10**7, "f4")
    runs: Runs = {"lanewise": lambda: reductions.sum(x), "numpy": lambda: x.sum()}
    if numba:

        @numba.njit(parallel=True, fastmath=True)
        def total(x):
            s = np.float32(0)
            for i in numba.prange(x.size):
                s += x[i]
            return s

        runs["numba prange"] = lambda: total(x)
    race("sum 10^7 f4", runs, close)


# ---- loops ----


@lw.forall
def saxpy(i, a, x, y):
    y[i] = a * x[i] + y[i]


def forall() -> None:
    for dtype in ("f8", "f4"):
        for n in (10**3, 10**5, 10**6, 10**7):
            x, y, z = operands(n, dtype), operands(n, dtype), operands(n, dtype)
            a = np.dtype(dtype).type(1e-9)
            runs: Runs = {"lanewise": lambda: saxpy(n, a, x, y)}
            if numba:

                @numba.njit(parallel=True)
                def theirs(a, x, y):
                    for i in numba.prange(x.size):
                        y[i] = a * x[i] + y[i]

                @numba.njit
                def serial(a, x, y):
                    for i in range(x.size):
                        y[i] = a * x[i] + y[i]

                runs["numba prange"] = lambda: theirs(a, x, z)
                runs["numba serial"] = lambda: serial(a, x, z)
            race(f"forall saxpy {n} {dtype}", runs)


def mandelbrot_of(x, y):
    c = complex(x, y)
    z = 0j
    for i in range(100):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag > 4.0:
            return i
    return 100


def mandelbrot_real(x, y):
    a = 0.0
    b = 0.0
    k = 0
    while k < 100 and a * a + b * b <= 4.0:
        a, b = a * a - b * b + x, 2 * a * b + y
        k += 1
    return k


def mandelbrot() -> None:
    w, h = 750, 500
    out = {name: np.zeros((h, w), np.int64) for name in ("lanewise", "forall", "jit", "prange", "numba", "numba prange")}
    for title, point in (("complex", mandelbrot_of), ("real", mandelbrot_real)):
        inner = lw.jit(point)

        @lw.forall(ndim=2)
        def grid(i, j, out):
            out[i, j] = inner(-2.0 + 3.0 * j / w, -1.0 + 2.0 * i / h)

        @lw.jit
        def serial(out):
            for i in range(out.shape[0]):
                for j in range(out.shape[1]):
                    out[i, j] = inner(-2.0 + 3.0 * j / w, -1.0 + 2.0 * i / h)

        @lw.njit(parallel=True)
        def parallel(out):
            for i in lw.prange(out.shape[0]):
                for j in range(out.shape[1]):
                    out[i, j] = inner(-2.0 + 3.0 * j / w, -1.0 + 2.0 * i / h)

        ufunc = lw.vectorize(point)
        x, y = -2.0 + 3.0 * np.arange(w) / w, (-1.0 + 2.0 * np.arange(h) / h)[:, None]

        def run(name: str, f: Callable[..., Any], *extra: Any) -> Callable[[], np.ndarray]:
            def call() -> np.ndarray:
                f(*extra, out[name])
                return out[name]

            return call

        runs: Runs = {"lanewise": lambda: ufunc(x, y, out=out["lanewise"]), "forall": run("forall", grid, (h, w)), "jit": run("jit", serial), "prange": run("prange", parallel)}
        if numba:
            theirs = numba.njit(point)

            @numba.njit
            def numba_serial(out):
                for i in range(out.shape[0]):
                    for j in range(out.shape[1]):
                        out[i, j] = theirs(-2.0 + 3.0 * j / w, -1.0 + 2.0 * i / h)

            @numba.njit(parallel=True)
            def numba_parallel(out):
                for i in numba.prange(out.shape[0]):
                    for j in range(out.shape[1]):
                        out[i, j] = theirs(-2.0 + 3.0 * j / w, -1.0 + 2.0 * i / h)

            runs["numba"], runs["numba prange"] = run("numba", numba_serial), run("numba prange", numba_parallel)
        race(f"Mandelbrot {title} {w} x {h} x 100", runs, equal)


# ---- long calls of every layout ----


def bell(x, y):
    return math.exp(-x * x) * math.sin(y)


def diffused(c, left, right, up, down):
    return c + 0.1 * (left + right + up + down - 4.0 * c)


def layouts() -> None:
    """`rows`: the same call where NumPy's iterator calls the loop for one row after the other, on one thread, which order= asks for."""
    madd, heavy, stencil = lw.vectorize(lambda a, b: a * b + a), lw.vectorize(bell), lw.vectorize(diffused)
    declared = lw.vectorize(["f8(f8,f8)"])(lambda a, b: a * b + a)
    make = np.random.default_rng(1).random

    def both(title: str, f: Any, *arrays: np.ndarray, out: np.ndarray, same: Any = close, **others: Callable[[], Any]) -> None:
        race(title, {"lanewise": lambda: f(*arrays, out=out), "rows": lambda: f(*arrays, out=out, order="K")} | others, same)

    for n in (300, 4000):
        u, out = make((n, n)), np.empty((n, n))
        inner = np.empty((n - 2, n - 2))
        parts = u[1:-1, 1:-1], u[1:-1, :-2], u[1:-1, 2:], u[:-2, 1:-1], u[2:, 1:-1]
        both(f"stencil of five, {n}^2 f8", stencil, *parts, out=inner, numpy=lambda: diffused(*parts))
        x, y = np.linspace(0.0, 3.0, n), np.linspace(0.0, 6.0, n)[:, None]
        both(f"exp(-x*x)*sin(y) of a row and a column, {n}^2", heavy, x, y, out=out, numpy=lambda: np.exp(-x * x) * np.sin(y))
        v = make((n, n))
        both(f"a*b+a, b transposed, {n}^2", madd, u, v.T, out=out, numpy=lambda: u * v.T + u)
        both(f"a*b+a of contiguous arrays, {n}^2", madd, u, v, out=out, numpy=lambda: u * v + u)
        both(f"a*b+a, every second column, {n} x {n // 2}", madd, u[:, ::2], v[:, 1::2], out=np.empty((n, n // 2)), numpy=lambda: u[:, ::2] * v[:, 1::2] + u[:, ::2])
        points, w = make((n * n // 3, 3)), make(3)
        both(f"a*b+a of rows of 3, {n * n // 3}", madd, points, w, out=np.empty_like(points), numpy=lambda: points * w + points)
        narrow = u.astype("f4")
        both(f"a*b+a of float64, a is float32, {n}^2", declared, narrow, v, out=out, numpy=lambda: narrow * v + narrow)
        i, j = np.ogrid[-1.0:1.0:n * 1j, -2.0:1.0:n * 1j]
        both(f"Mandelbrot of np.ogrid, {n}^2", lw.vectorize(mandelbrot_of), j, i, out=np.empty((n, n), np.int64))


def dot_loop(a, b):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * b[i]
    return s


def dot_library(a, b):
    return np.dot(a, b)


def matvec_loop(m, v, out):
    for i in range(m.shape[0]):
        s = 0.0
        for k in range(m.shape[1]):
            s += m[i, k] * v[k]
        out[i] = s


def matvec_library(m, v, out):
    out[:] = np.dot(m, v)


def matmul_loop(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            out[i, j] = s


def jit() -> None:
    for n in (1000, 10**6):
        a, b = operands(n, "f8"), operands(n, "f8", 2)
        for title, function in (("loop", dot_loop), ("np.dot", dot_library)):
            mine = lw.njit(function)
            runs: Runs = {"lanewise": lambda: mine(a, b), "numpy": lambda: np.dot(a, b)}
            if numba:
                theirs = numba.njit(function)
                runs["numba"] = lambda: theirs(a, b)
            race(f"dot {n} f8, jit of {title}", runs, close)
    for n in (10, 100, 1000):
        m, v, outs = operands(n * n, "f8").reshape(n, n), operands(n, "f8"), [np.zeros(n) for _ in range(3)]
        for title, function in (("loops", matvec_loop), ("np.dot", matvec_library)):
            mine = lw.njit(function)
            runs = {"lanewise": lambda: (mine(m, v, outs[0]), outs[0])[1], "numpy": lambda: np.dot(m, v, out=outs[1])}
            if numba:
                theirs = numba.njit(function)
                runs["numba"] = lambda: (theirs(m, v, outs[2]), outs[2])[1]
            race(f"matvec {n} f8, jit of {title}", runs, close)
    for n in (16, 32, 100, 200, 500):
        m = operands(n * n, "f8").reshape(n, n)
        mine = lw.njit(dot_library)
        runs = {"lanewise": lambda: mine(m, m), "numpy": lambda: np.dot(m, m)}
        if numba:
            theirs = numba.njit(dot_library)
            runs["numba"] = lambda: theirs(m, m)
        race(f"matmul {n} f8, jit of np.dot", runs, close)
    for n in (32, 200):
        m, outs = operands(n * n, "f8").reshape(n, n), [np.zeros((n, n)) for _ in range(2)]
        mine = lw.njit(matmul_loop)
        runs = {"lanewise": lambda: (mine(m, m, outs[0]), outs[0])[1]}
        if numba:
            theirs = numba.njit(matmul_loop)
            runs["numba"] = lambda: (theirs(m, m, outs[1]), outs[1])[1]
        race(f"matmul {n} f8, jit of loops", runs, close)


def lists() -> None:
    """Lists, dicts and sets that a function makes, for an item; numba's dict is its typed one."""
    def appended(keys):
        out = []
        for k in keys:
            out.append(k)
        return len(out)

    def counted(keys):
        found = {}
        for k in keys:
            found[k] = found.get(k, 0) + 1
        return len(found)

    def added(keys):
        found = set()
        for k in keys:
            found.add(k)
        return len(found)

    def places(x):
        return x.argmin(axis=1)

    keys = np.random.default_rng(1).integers(0, 500, 100_000)
    items = keys.tolist()
    for title, function in (("append", appended), ("dict that counts", counted), ("set.add", added)):
        mine = lw.njit(function)
        runs: Runs = {"lanewise": lambda: mine(keys), "python": lambda: function(items)}
        if numba and title != "dict that counts":
            theirs = numba.njit(function)
            runs["numba"] = lambda: theirs(keys)
        elif numba:
            from numba.typed import Dict

            @numba.njit
            def typed(keys):
                found = Dict.empty(numba.int64, numba.int64)
                for k in keys:
                    found[k] = found.get(k, 0) + 1
                return len(found)

            runs["numba typed"] = lambda: typed(keys)
        race(f"{title}, 10^5 ints", runs, close)
    for dtype in ("f4", "f8"):
        x, found_places = operands(10**6, dtype).reshape(1000, 1000), lw.njit(places)
        race(f"argmin of rows in jit, 1000^2 {dtype}", {"lanewise": lambda: found_places(x), "numpy": lambda: places(x)}, close)


def nested() -> None:
    """Lists and dicts in lists and dicts that a function makes. numba's are lists of lists, where it can say their type, and typed ones."""
    def grown(edges, n):
        g = [[] for _ in range(n)]
        for u, v in edges:
            g[u].append(v)
        return sum([len(row) for row in g])

    def searched(edges, n):
        g = [[] for _ in range(n)]
        for u, v in edges:
            g[u].append(v)
        level = [-1] * n
        level[0] = 0
        queue = [0]
        head = 0
        while head < len(queue):
            u = queue[head]
            head += 1
            for v in g[u]:
                if level[v] < 0:
                    level[v] = level[u] + 1
                    queue.append(v)
        return sum(level)

    def summed(edges, n, times):
        g = [[] for _ in range(n)]
        for u, v in edges:
            g[u].append(v)
        s = 0
        for _ in range(times):
            for u in range(n):
                for k in range(len(g[u])):
                    s += g[u][k]
        return s

    def multiplied(n):
        a = [[1.0 / (i + j + 1) for j in range(n)] for i in range(n)]
        b = [[float(i - j) for j in range(n)] for i in range(n)]
        c = [[0.0] * n for i in range(n)]
        for i in range(n):
            for j in range(n):
                s = 0.0
                for k in range(n):
                    s += a[i][k] * b[k][j]
                c[i][j] = s
        return c[1][n - 1] + c[n - 1][2]

    def bucketed(keys):
        d = {}
        for v in keys:
            k = v % 1000
            if k not in d:
                d[k] = []
            d[k].append(v)
        return sum([len(row) for row in d.values()])

    def defaulted(keys):
        d = {}
        for v in keys:
            d.setdefault(v % 1000, []).append(v)
        return sum([len(row) for row in d.values()])

    def united(edges, n):
        members = [[i] for i in range(n)]
        root = [i for i in range(n)]
        for u, v in edges:
            a = root[u]
            b = root[v]
            if a != b:
                if len(members[a]) < len(members[b]):
                    a, b = b, a
                for w in members[b]:
                    root[w] = a
                    members[a].append(w)
                members[b].clear()
        return max([len(row) for row in members])

    def aligned(x, y):
        dp = [[0] * (len(y) + 1) for _ in range(len(x) + 1)]
        for i in range(len(x)):
            for j in range(len(y)):
                if x[i] == y[j]:
                    dp[i + 1][j + 1] = dp[i][j] + 1
                else:
                    dp[i + 1][j + 1] = max(dp[i][j + 1], dp[i + 1][j])
        return dp[len(x)][len(y)]

    def counted(keys):
        d = {}
        for v in keys:
            k = v % 100
            if k not in d:
                d[k] = {}
            d[k][v] = d[k].get(v, 0) + 1
        return sum([len(row) for row in d.values()])

    random = np.random.default_rng(1)
    edges, keys, few = random.integers(0, 10**5, (8 * 10**5, 2)), random.integers(0, 10**6, 10**6), random.integers(0, 10**4, 10**6)
    x, y = random.integers(0, 4, 1000), random.integers(0, 4, 1000)
    rows: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
        ("g[u].append(v), 10^5 x 8", grown, (edges, 10**5)), ("the same and a search over g[u]", searched, (edges, 10**5)), ("the same and sum of g[u][k], 10 times", summed, (edges, 10**5, 10)),
        ("matrix product of lists of lists, 200", multiplied, (200,)), ("d[k].append(v), 10^6 in 1000", bucketed, (keys,)), ("d.setdefault(k, []).append(v)", defaulted, (keys,)),
        ("union of components, 10^5", united, (edges[: 10**5], 10**5)), ("dp[i][j] of two texts, 1000 x 1000", aligned, (x, y)), ("d[k][v] += 1, 10^6 in 100", counted, (few,))]
    for title, function, arguments in rows:
        mine = lw.njit(function)
        plain = tuple(a.tolist() if isinstance(a, np.ndarray) else a for a in arguments)
        runs: Runs = {"lanewise": lambda: mine(*arguments), "python": lambda: function(*plain)}
        for name, theirs in _nested_in_numba(function).items():
            runs[name] = lambda theirs=theirs: theirs(*arguments)  # type: ignore[misc]
        race(title, runs, close)


def _nested_in_numba(function: Callable[..., Any]) -> Runs:
    """The function as numba compiles it: with lists that say their type, and with typed lists and dicts."""
    if not numba:
        return {}
    from numba.typed import Dict, List

    text = textwrap.dedent(inspect.getsource(function))
    reflected, typed = text, text
    for mine, of_lists, of_typed in (("g = [[] for _ in range(n)]", "g = [[0 for _ in range(0)] for _ in range(n)]", "g = List()\n    for _ in range(n):\n        g.append(List.empty_list(numba.int64))"),
                                     ("d = {}", "d = Dict.empty(numba.int64, row)", "d = Dict.empty(numba.int64, row)"), ("d[k] = []", "", "d[k] = List.empty_list(numba.int64)"),
                                     ("d[k] = {}", "", "d[k] = Dict.empty(numba.int64, numba.int64)"), ("d.setdefault(v % 1000, [])", "", "d.setdefault(v % 1000, List.empty_list(numba.int64))")):
        reflected, typed = reflected.replace(mine, of_lists), typed.replace(mine, of_typed)
    row = numba.types.DictType(numba.int64, numba.int64) if "d[k] = {}" in text else numba.types.ListType(numba.int64)
    found: Runs = {}
    for name, source in (("numba lists", reflected if "d = {}" not in text else ""), ("numba typed", typed if typed != text else "")):
        names: dict[str, Any] = {"numba": numba, "Dict": Dict, "List": List, "row": row}
        if source:
            exec(source, names)  # noqa: S102
            found[name] = numba.njit(names[function.__name__])
    return found


def sorts() -> None:
    def sort(x):
        return np.sort(x)

    def argsort(x):
        return np.argsort(x)

    def median(x):
        return np.median(x)

    def partition(x):
        return np.partition(x, 10)

    for dtype in ("f8", "f4", "i8", "i4"):
        for n in (100, 10**4, 10**6):
            x = (np.random.default_rng(1).random(n) * 2**30).astype(dtype)
            for title, function in (("sort", sort), ("argsort", argsort), ("median", median), ("partition", partition)):
                mine = lw.njit(function)
                runs: Runs = {"lanewise": lambda: mine(x), "numpy": lambda: function(x)}
                if numba:
                    theirs = numba.njit(function)
                    runs["numba"] = lambda: theirs(x)
                race(f"np.{title} {n} {dtype}, jit", runs,
                     lambda a, b: equal(x[a], x[b]) if function is argsort else equal(a[10], b[10]) if function is partition else equal(a, b))


def small() -> None:
    as_double = lw.vectorize(lambda x: np.float64(x))
    for n in (1, 10, 100, 1000, 10000, 100000):
        x, y = operands(n, "f4"), operands(n, "f4")
        race(f"cumsum {n} f4", {"lanewise": lambda: reductions.cumsum(x), "numpy": lambda: x.cumsum(), "np.cumsum": lambda: np.cumsum(x)}, close)
        race(f"x+y {n} f4", {"lanewise": lambda: lw.ufuncs.add(x, y), "numpy": lambda: np.add(x, y)}, equal)
        race(f"astype {n} f4 to f8", {"lanewise": lambda: as_double(x), "numpy": lambda: x.astype("f8")}, equal)
        race(f"sum {n} f4", {"lanewise": lambda: reductions.sum(x), "numpy": lambda: x.sum()}, close)


def short() -> None:
    """Reductions of ten elements, and of 4 x 4 along an axis."""
    for dtype in ("f8", "i8"):
        x, m = (10 * np.random.default_rng(1).random(shape) for shape in (10, (4, 4)))
        x, m = x.astype(dtype), m.astype(dtype)
        for name in ("sum", "mean", "var", "nansum", "nanmean", "nanmax", "nanvar", "cumsum", "argmax"):
            f, g = getattr(reductions, name), getattr(np, name)
            race(f"{name} 10 {dtype}", {"lanewise": lambda: f(x), "numpy": lambda: g(x)}, close)
            race(f"{name} 4x4 {dtype}, axis=1", {"lanewise": lambda: f(m, axis=1), "numpy": lambda: g(m, axis=1)}, close)


def remainders() -> None:
    for dtype in ("f4", "f8"):
        x, y = (np.random.default_rng(1).uniform(low, high, 10**5).astype(dtype) for low, high in ((0, 100), (0.5, 4.5)))
        out = np.empty_like(x)
        for name in ("fmod", "remainder", "floor_divide"):
            f, g = getattr(lw.ufuncs, name), getattr(np, name)
            race(f"{name} 10^5 {dtype}", {"lanewise": lambda: f(x, y, out=out), "numpy": lambda: g(x, y, out=out)}, equal)
    for dtype in ("i1", "u1", "i2", "i4", "u4"):
        x, y = (np.random.default_rng(1).integers(low, 120, 10**5).astype(dtype) for low in (0, 1))
        out = np.empty_like(x)
        for name in ("remainder", "floor_divide"):
            f, g = getattr(lw.ufuncs, name), getattr(np, name)
            race(f"{name} 10^5 {dtype}", {"lanewise": lambda: f(x, y, out=out), "numpy": lambda: g(x, y, out=out)}, equal)
    for dtype in ("f4", "f8"):
        x, powers = np.random.default_rng(1).random(10**5).astype(dtype), np.arange(10**5, dtype="i4") % 40 - 20
        out = np.empty_like(x)
        race(f"ldexp 10^5 {dtype}", {"lanewise": lambda: lw.ufuncs.ldexp(x, powers, out=out), "numpy": lambda: np.ldexp(x, powers, out=out)}, equal)


def calls() -> None:
    """Short calls: ten elements, or 4 x 4."""

    def scaled(x):
        return x * 2.5 + 1

    def total(a, b, factor):
        s = 0.0
        for i in range(a.size):
            s += a[i] * factor + b[i]
        return s

    def matvec(m, v, out):
        for i in range(m.shape[0]):
            s = 0.0
            for k in range(m.shape[1]):
                s += m[i, k] * v[k]
            out[i] = s

    x, y, out = operands(10, "f8"), operands(10, "f8", 2), np.empty(10)
    m, v, w = operands(16, "f8").reshape(4, 4), operands(4, "f8"), np.empty(4)
    mine, loop, matrix = lw.vectorize(scaled), lw.njit(total), lw.guvectorize("(m,n),(n)->(m)")(matvec)
    theirs: dict[str, Callable[..., Any]] = {}
    if numba:
        theirs = {"ufunc": numba.vectorize(["f8(f8)"])(scaled), "loop": numba.njit(total),
                  "matrix": numba.guvectorize(["void(f8[:,:],f8[:],f8[:])"], "(m,n),(n)->(m)")(matvec)}

    def beside(which: str, run: Callable[[], Any], call: Callable[[Callable[..., Any]], Any], **others: Callable[[], Any]) -> Runs:
        return {"lanewise": run} | ({"numba": lambda: call(theirs[which])} if numba else {}) | others

    race("f(x), 10 f8", beside("ufunc", lambda: mine(x), lambda f: f(x)), close)
    race("f(x, out=), 10 f8", beside("ufunc", lambda: mine(x, out=out), lambda f: f(x, out=out)))
    race("lw.ufuncs.add(x, y, out), 10 f8", {"lanewise": lambda: lw.ufuncs.add(x, y, out), "numpy": lambda: np.add(x, y, out)})
    square, rows, column = operands(64, "f4").reshape(8, 8), operands(200, "f4").reshape(10, 20)[:, ::2], operands(10, "f4").reshape(10, 1)
    race("lw.ufuncs.add(x, x.T), 8 x 8 f4", {"lanewise": lambda: lw.ufuncs.add(square, square.T), "numpy": lambda: np.add(square, square.T)}, equal)
    race("lw.ufuncs.add of rows and a column, 10 x 10 f4", {"lanewise": lambda: lw.ufuncs.add(rows, column), "numpy": lambda: np.add(rows, column)}, equal)
    race("njit of two arrays and a float, 10 f8", beside("loop", lambda: loop(x, y, 2.5), lambda f: f(x, y, 2.5)), close)
    race("guvectorize, 4 x 4", beside("matrix", lambda: matrix(m, v), lambda f: f(m, v), numpy=lambda: np.matvec(m, v)), close)
    race("guvectorize with out, 4 x 4", beside("matrix", lambda: matrix(m, v, w), lambda f: f(m, v, w)))
    for name in ("sum", "mean", "std", "max", "argmax", "cumsum"):
        own, method = getattr(reductions, name), getattr(x, name)
        race(f"{name} 10 f8", {"lanewise": lambda: own(x), "numpy": method}, close)


def special() -> None:
    if scipy_special is None:
        return
    x = np.random.default_rng(1).uniform(0.5, 20, 10**5)
    for name, arguments in (("jv", (2.5, x)), ("jv", (3.0, x)), ("zeta", (x + 1.1, 1.5)), ("yv", (2.5, x)), ("iv", (2.5, x)), ("kv", (2.5, x)), ("gamma", (x,)),
                            ("gammainc", (2.5, x)), ("betainc", (2.0, 3.0, x / 21)), ("erf", (x,)), ("j0", (x,)), ("psi", (x,))):
        mine, theirs = getattr(lw.special, name, None), getattr(scipy_special, name)
        if mine is not None:
            race(f"special.{name}{tuple(a for a in arguments if not isinstance(a, np.ndarray))} 10^5", {"lanewise": lambda: mine(*arguments), "scipy": lambda: theirs(*arguments)}, close)


# ---- array expressions ----


def shifted(a, b):
    return a[1:-1, 1:-1] * b[:-2, 2:] + np.sqrt(a[2:, 2:])


def summed(a, b):
    return (a * b + a)[1:-1, 1:-1].sum()


def product(a, b):
    return a * b + a


def stored(a, b, out):
    out[:] = a * b + a
    return out


def stencil(a, b, out):
    out[1:-1, 1:-1] = a[1:-1, 1:-1] * b[:-2, 2:] + np.sqrt(a[2:, 2:])
    return out


def functions(a, b):
    return np.sin(a) * np.exp(-b)


def added(a, b, out):
    out += a
    return out


def zeros(a, b):
    return np.zeros(a.shape)


def copied(a, b):
    return a.copy()


def expressions() -> None:
    """In compiled functions, on one thread and with parallel=True."""
    for n in (16, 64, 256, 1024, 4096):
        a, b, out = operands(n * n, "f8").reshape(n, n), operands(n * n, "f8", 2).reshape(n, n), np.zeros((n, n))
        for function in (shifted, summed, product, stored, stencil, functions, added, zeros, copied):
            arguments = (a, b) if function.__code__.co_argcount == 2 else (a, b, out)
            compiled = {"lanewise": lw.njit(parallel=True)(function), "lanewise serial": lw.njit(function), "numpy": function}
            if numba:
                compiled["numba parallel"] = numba.njit(parallel=True)(function)
                compiled["numba serial"] = numba.njit(function)
            runs: Runs = {name: lambda call=call: call(*arguments) for name, call in compiled.items()}
            race(f"{function.__name__} {n} x {n} f8", runs, None if function is added else close)


PARTS = {"methods": methods, "extremes": extremes, "pairs": pairs, "keywords": keywords, "variances": variances, "axis0": axis0, "forall": forall, "mandelbrot": mandelbrot, "layouts": layouts, "jit": jit, "lists": lists, "nested": nested, "sorts": sorts, "small": small, "short": short, "remainders": remainders, "calls": calls, "special": special, "expressions": expressions}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Calls on the CPU beside their peers.")
    parser.add_argument("parts", nargs="*", metavar="part")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--processor-time", action="store_true", help="of the process, for parts that run on one thread while others use the machine")
    asked = parser.parse_args()
    rounds = asked.rounds
    clock = time.process_time if asked.processor_time else clock
    if asked.threads:
        lw.set_num_threads(asked.threads)
        if numba:
            numba.set_num_threads(asked.threads)
    print(f"NumPy {np.__version__}, numba {numba.__version__ if numba else '-'}, {lw._core._vector_bits}-bit vectors, {asked.threads or 'all'} threads")
    for name in asked.parts or PARTS:
        PARTS[name]()
