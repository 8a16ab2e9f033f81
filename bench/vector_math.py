"""The vector functions of core/emit/vector_math.c beside glibc's libmvec: ns an element, 4096 elements in the L1 cache, one
thread. `python bench/vector_math.py [cc]`; needs a C compiler (cc, gcc, clang) that knows libmvec's functions, as gcc does.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ["LANEWISE_NUM_THREADS"] = "1"

import numpy as np

import lanewise as lw

N = 4096


@lw.vectorize
def exp(x):
    return np.exp(x)


@lw.vectorize
def log(x):
    return np.log(x)


@lw.vectorize
def expm1(x):
    return np.expm1(x)


@lw.vectorize
def tanh(x):
    return np.tanh(x)


@lw.vectorize
def power(x, y):
    return x**y


OURS = {"exp": exp, "log": log, "expm1": expm1, "tanh": tanh, "pow": power}
SOURCE = "#include <math.h>\n" + "".join(
    f"void do_{name}(const double *x, const double *y, double *out, long n)\n"
    f"{{ (void)y; for (long i = 0; i < n; i++) out[i] = {name}(x[i]{', y[i]' if name == 'pow' else ''}); }}\n" for name in OURS)


def libmvec(folder: str) -> ctypes.CDLL:
    source, library = pathlib.Path(folder, "loops.c"), pathlib.Path(folder, "loops.so")
    source.write_text(SOURCE)
    compiler = sys.argv[1] if len(sys.argv) > 1 else "cc"
    subprocess.run([compiler, "-O3", "-march=native", "-mprefer-vector-width=512", "-ffast-math", "-shared", "-fPIC", "-o", library,
                    source, "-lmvec", "-lm"], check=True)
    return ctypes.CDLL(str(library))


def best(call, calls: int = 200, rounds: int = 15) -> float:
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        seconds.append((time.perf_counter() - start) / calls)
    return min(seconds)


def main() -> None:
    rng = np.random.default_rng(0)
    x, y, out = rng.uniform(0.01, 20, N), rng.uniform(-3, 3, N), np.empty(N)
    empty = x[:0]
    with tempfile.TemporaryDirectory() as folder:
        loops = libmvec(folder)
        print(f"{'':8}{'ours':>8}{'libmvec':>9}   ns an element")
        for name, ours in OURS.items():
            theirs = loops[f"do_{name}"]
            theirs.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long]
            args = (x, y) if name == "pow" else (x,)
            none = (empty, empty) if name == "pow" else (empty,)
            addresses = x.ctypes.data, y.ctypes.data, out.ctypes.data
            ours(*args, out=out)
            # without what a call of an empty array takes
            mine = best(lambda: ours(*args, out=out)) - best(lambda: ours(*none, out=out[:0]))
            other = best(lambda: theirs(*addresses, N)) - best(lambda: theirs(*addresses, 0))
            print(f"{name:8}{mine / N * 1e9:8.2f}{other / N * 1e9:9.2f}")


main()
