#!/usr/bin/env python3
"""What math="same" costs beside the targets' own functions.

    python tests/same_math/cost.py [--ptx | --sass] [NAME ...]

GPU: executed instructions cannot be counted without one; these are the instructions of a kernel's code for sm_90 that computes one element, with
paths that hardly any argument takes, less those of the kernel that copies it. --sass needs nvdisasm. CPU: ns an element, 4096 elements, one call
after the other.
"""

from __future__ import annotations

import argparse
import math
import re
import time

import numpy as np

import lanewise as lw
from lanewise import cuda

FUNCTIONS = {
    "copy": lambda x: x, "exp": lambda x: math.exp(x), "exp2": lambda x: np.exp2(x), "expm1": lambda x: math.expm1(x), "log": lambda x: math.log(x),
    "log2": lambda x: math.log2(x), "log10": lambda x: math.log10(x), "log1p": lambda x: math.log1p(x), "sin": lambda x: math.sin(x), "cos": lambda x: math.cos(x),
    "tan": lambda x: math.tan(x), "asin": lambda x: math.asin(x), "acos": lambda x: math.acos(x), "atan": lambda x: math.atan(x), "sinh": lambda x: math.sinh(x),
    "cosh": lambda x: math.cosh(x), "tanh": lambda x: math.tanh(x), "asinh": lambda x: math.asinh(x), "acosh": lambda x: math.acosh(x), "atanh": lambda x: math.atanh(x),
    "cbrt": lambda x: np.cbrt(x), "rsqrt": lambda x: cuda.rsqrt(x), "erf": lambda x: math.erf(x), "erfc": lambda x: math.erfc(x), "tgamma": lambda x: math.gamma(x),
    "lgamma": lambda x: math.lgamma(x), "pow": lambda x: x**(x + 1), "atan2": lambda x: math.atan2(x, x + 1), "hypot": lambda x: math.hypot(x, x + 1),
}


def kernel(name, how):
    function = FUNCTIONS[name]

    def one(x, out):
        out[0] = function(x[0])

    return cuda.jit(one, math=how)


def instructions(name, how, dtype, sass):
    sig = f"({dtype}[::1], {dtype}[::1])"
    if sass:
        text = kernel(name, how).inspect_sass(sig, "sm_90")
        return len(re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?!NOP)[@A-Z]", text, re.M))
    text = kernel(name, how).inspect_ptx(sig, "sm_90")
    return len(re.findall(r"^\s+@?[%a-z][^.;]*\.[^;]*;", text, re.M))


def time_of(name, how, x):
    function = FUNCTIONS[name]
    f = lw.vectorize(lambda v: function(v), math=how)
    out = np.empty_like(x)
    f(x, out=out)
    best = math.inf
    for _ in range(15):
        begin = time.perf_counter()
        for _ in range(20):
            f(x, out=out)
        best = min(best, time.perf_counter() - begin)
    return best / 20 / x.size * 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sass", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    with np.errstate(all="ignore"):
        print("function  GPU float32        GPU float64        CPU float32 ns       CPU float64 ns")
        base = {dtype: instructions("copy", "target", dtype, options.sass) for dtype in ("f4", "f8")}
        for name in options.names or [name for name in FUNCTIONS if name != "copy"]:
            x = 1 + rng.random(4096) if name == "acosh" else rng.random(4096)
            cells = []
            for dtype in ("f4", "f8"):
                own, same = (instructions(name, how, dtype, options.sass) - base[dtype] for how in ("target", "same"))
                cells.append(f"{own:4} {same:4} {same / own:5.2f}")
            for dtype in ("f4", "f8"):
                own, same = (time_of(name, how, x.astype(dtype)) for how in ("target", "same"))
                cells.append(f"{own:5.2f} {same:6.2f} {same / own:6.2f}")
            print(f"{name:7}  " + "   ".join(cells), flush=True)


if __name__ == "__main__":
    main()
