"""`lw.random.Generator` on the host against NumPy's, by turns in one process: each draw's time and its share of NumPy's.

    python bench/generator.py [part of a name ...]
"""

from __future__ import annotations

import sys
import time
from typing import Any, Callable

import numpy as np

from lanewise.random import Generator

N = 1_000_000
TABLE, ITEMS = np.random.default_rng(1).random((1000, 1000)), np.arange(N)
DRAWS: dict[str, Callable[[Any], Any]] = {
    "random()": lambda g: g.random(), "normal(3, 2)": lambda g: g.normal(3.0, 2.0), "integers(10)": lambda g: g.integers(10),
    "gamma(2)": lambda g: g.gamma(2.0), "poisson(3)": lambda g: g.poisson(3.0), "choice(10)": lambda g: g.choice(10), "beta(2, 3)": lambda g: g.beta(2.0, 3.0),
    "lognormal()": lambda g: g.lognormal(), "chisquare(3)": lambda g: g.chisquare(3.0), "geometric(0.3)": lambda g: g.geometric(0.3), "triangular(0, 1, 2)": lambda g: g.triangular(0.0, 1.0, 2.0),
    "binomial(10, 0.3)": lambda g: g.binomial(10, 0.3), "bytes(8)": lambda g: g.bytes(8), "zipf(3)": lambda g: g.zipf(3.0),
    "random(100)": lambda g: g.random(100), "normal(size=100)": lambda g: g.normal(size=100), "integers(10, size=100)": lambda g: g.integers(10, size=100),
    "random(5000)": lambda g: g.random(5000), "normal(size=5000)": lambda g: g.normal(size=5000),
    "choice(10**6, 10, replace=False)": lambda g: g.choice(N, 10, replace=False), "choice(10**6, 10**5, replace=False)": lambda g: g.choice(N, N // 10, replace=False),
    "choice(10**6, 10**6)": lambda g: g.choice(N, N), "permutation(100)": lambda g: g.permutation(100), "permutation(10**6)": lambda g: g.permutation(N),
    "shuffle(10**6)": lambda g: g.shuffle(ITEMS), "permuted(1000 x 1000, axis=1)": lambda g: g.permuted(TABLE, axis=1),
    "permuted(1000 x 1000, axis=0)": lambda g: g.permuted(TABLE, axis=0), "random(10**6)": lambda g: g.random(N), "uniform(1, 3, 10**6)": lambda g: g.uniform(1.0, 3.0, N), "random((1000, 1000))": lambda g: g.random((1000, 1000)), "normal(10**6)": lambda g: g.normal(size=N),
    "integers(100, 10**6)": lambda g: g.integers(0, 100, N), "gamma(0.5, 10**6)": lambda g: g.gamma(0.5, 1.0, N), "gamma(2, 10**6)": lambda g: g.gamma(2.0, 1.0, N),
    "beta(2, 3, 10**6)": lambda g: g.beta(2.0, 3.0, N), "standard_t(3, 10**6)": lambda g: g.standard_t(3.0, N),
    "dirichlet([1, 2, 3], 10**6 / 3)": lambda g: g.dirichlet([1.0, 2.0, 3.0], N // 3),
}


def calls_in(run: Callable[[], Any], seconds: float) -> int:
    """How many calls take that long, by the lesser of two times, after one that compiles."""
    run()
    n = 1
    while min(seconds_of(run, n), seconds_of(run, n)) < seconds:
        n *= 2
    return n


def seconds_of(run: Callable[[], Any], n: int) -> float:
    start = time.perf_counter()
    for _ in range(n):
        run()
    return time.perf_counter() - start


def best_of_both(ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int = 9) -> list[float]:
    """Seconds a call, the least of some rounds by turns."""
    runs = [(run, calls_in(run, 0.01)) for run in (ours, theirs)]
    best = [float("inf")] * 2
    for _ in range(rounds):
        for k, (run, n) in enumerate(runs):
            best[k] = min(best[k], seconds_of(run, n) / n)
    return best


def main() -> None:
    mine, numpys = Generator(1), np.random.default_rng(1)
    for name, draw in DRAWS.items():
        if len(sys.argv) < 2 or any(part in name for part in sys.argv[1:]):
            ours, theirs = best_of_both(lambda: draw(mine), lambda: draw(numpys))
            print(f"{name:36}{ours * 1e6:12.2f} us   NumPy {theirs * 1e6:12.2f} us   {ours / theirs:6.2f}", flush=True)


main()
