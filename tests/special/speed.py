"""Time of lw.special's functions on one core beside SciPy's ufuncs: python tests/special/speed.py [names]"""

from __future__ import annotations

import sys
import time

import numpy as np

import lanewise as lw
import reference
import scipy.special

N = 20000


def best(f, arguments):
    least = float("inf")
    for _ in range(15):
        start = time.perf_counter()
        f(*arguments)
        least = min(least, time.perf_counter() - start)
    return least


def main(names):
    lw.config.threads = 1
    rng = np.random.default_rng(1)
    for name in names or reference.CASES:
        cells = []
        for dtype in (np.float64, np.float32):
            arguments = [reference.draw(rng, *where, N, dtype) for where in reference.CASES[name][2]]
            with np.errstate(all="ignore"):
                ours, theirs = best(getattr(lw.special, name), arguments), best(getattr(scipy.special, name), arguments)
            cells += [f"{1e9 * ours / N:.1f}", f"{theirs / ours:.1f}"]
        print(f"| `{name}` | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
