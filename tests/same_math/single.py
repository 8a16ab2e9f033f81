#!/usr/bin/env python3
"""float32 functions of math="same": whether they are correctly rounded, for all 2^32 inputs or every Nth.

    python tests/same_math/single.py [--every N] [--half] [--target cpu|cuda] [NAME ...]

Functions of one argument are compared with the target's own float64 functions, rounded: these are wrong by a few units of
float64, so where they lie that close to the middle of two float32 numbers, or the results differ, mpmath decides. Functions of two arguments take
drawn pairs (--pairs). Inputs that are wrong are printed as bits. The full run takes minutes for each function on one core.
"""

from __future__ import annotations

import argparse
import functools
import math
import sys
import time

import mpmath as mp
import numpy as np

import lanewise as lw
from double import EXACT, compiled as _compiled

compiled = functools.cache(_compiled)

BLOCK = 1 << 24
NEAR = {"tgamma": 1 << 8, "lgamma": 1 << 8}  # units of float64 to the middle that make mpmath decide, else 8
BINARY = ("atan2", "hypot", "pow")


def exactly(name, values):
    """The result rounded to float32 by mpmath, or None where it has none."""
    try:
        y = EXACT[name](*(mp.mpf(float(v)) for v in values))
    except (ZeroDivisionError, ValueError):
        return None
    if not mp.isfinite(y) or isinstance(y, mp.mpc):
        return None
    if y == 0:
        return np.float32(0)
    exponent = max(int(mp.floor(mp.log(abs(y), 2))), -126)
    for e in (exponent - 1, exponent, exponent + 1):
        if e >= -126 and (e == -126 or abs(y) >= mp.ldexp(1, e)) and abs(y) < mp.ldexp(1, e + 1):
            exponent = e
    rounded = mp.ldexp(mp.nint(mp.ldexp(y, 23 - exponent)), exponent - 23)
    return np.float32(np.inf) * np.float32(mp.sign(y)) if abs(rounded) >= mp.ldexp(1, 128) else np.float32(float(rounded))


def flagging(name, near):
    """1: the result differs from the rounded float64 reference; 2: that lies near the middle of two numbers."""
    from lanewise import _same_math

    own, other, width = _same_math.FUNCTIONS[name][0], COMPILED[name], np.int64(near)

    def flag(y, got):
        bits = abs(y).view(np.int64)
        exponent = (bits >> 52) - 1023
        dropped = 29 + max(-126 - exponent, 0)
        dropped = 60 if dropped > 60 else dropped
        fraction = (bits & ((1 << 52) - 1)) | (1 << 52)
        apart = (fraction & ((1 << dropped) - 1)) - (1 << (dropped - 1))
        expected = np.float32(y)
        differs = expected.view(np.int32) != got.view(np.int32) and not (expected != expected and got != got)
        return np.uint8((1 if differs else 0) + (2 if abs(apart) <= width and abs(y) < math.inf and y != 0.0 else 0))

    if name in BINARY:
        return lw.vectorize(lambda x, y: flag(other(np.float64(x), np.float64(y)), own(x, y)), fma=False)
    return lw.vectorize(lambda bits: flag(other(np.float64(bits.view(np.float32))), own(bits.view(np.float32))), fma=False)


COMPILED = {  # the target's own float64 functions
    "rsqrt": lambda x: 1.0 / math.sqrt(x), "cbrt": lambda x: np.cbrt(x), "exp": lambda x: math.exp(x), "exp2": lambda x: np.exp2(x),
    "exp10": lambda x: lw.cuda.libdevice.exp10(x), "expm1": lambda x: math.expm1(x), "log": lambda x: math.log(x), "log2": lambda x: math.log2(x),
    "log10": lambda x: math.log10(x), "log1p": lambda x: math.log1p(x), "sin": lambda x: math.sin(x), "cos": lambda x: math.cos(x), "tan": lambda x: math.tan(x),
    "asin": lambda x: math.asin(x), "acos": lambda x: math.acos(x), "atan": lambda x: math.atan(x), "atan2": lambda y, x: math.atan2(y, x),
    "sinh": lambda x: math.sinh(x), "cosh": lambda x: math.cosh(x), "tanh": lambda x: math.tanh(x), "asinh": lambda x: math.asinh(x),
    "acosh": lambda x: math.acosh(x), "atanh": lambda x: math.atanh(x), "pow": lambda x, y: math.pow(x, y), "hypot": lambda x, y: math.hypot(x, y),
    "erf": lambda x: math.erf(x), "erfc": lambda x: math.erfc(x), "tgamma": lambda x: math.gamma(x), "lgamma": lambda x: math.lgamma(x),
}


def wrong_of(name, flags, operands):
    """Operands with a wrong result among these."""
    wrong = []
    for at in np.flatnonzero(flags):
        values = [np.array([x[at]]) for x in operands]
        got = compiled(name, 0)(*values)[0]
        exact = exactly(name, [v[0] for v in values])
        if exact is None and flags[at] == 2:
            continue
        if exact is None or (exact.view(np.int32) != got.view(np.int32) and exact != got):
            wrong.append((tuple(hex(int(v.view(np.uint32)[0])) for v in values), float(got), None if exact is None else float(exact)))
    return wrong


def blocks(every, end):
    for start in range(0, end, BLOCK * every):
        yield (np.arange(start, min(start + BLOCK * every, end), every, dtype=np.uint64)).astype(np.uint32)


def pairs(n, seed):
    rng = np.random.default_rng(seed)
    for start in range(0, n, BLOCK):
        k = min(BLOCK, n - start)
        x = np.abs(np.ldexp(rng.uniform(1, 2, k), rng.integers(-20, 20, k)).astype(np.float32))
        y = (np.ldexp(rng.uniform(-2, 2, k), rng.integers(-8, 5, k))).astype(np.float32)
        whole = rng.random(k) < 0.2
        yield np.where(whole, np.rint(x), x), np.where(whole, np.rint(y), y)


def run(flags, operands, target):
    if target == "cpu":
        return flags(*operands)
    return flags(*map(lw.cuda.to_device, operands)).copy_to_host()


def main():
    from lanewise import _same_math

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--half", action="store_true", help="without negative inputs: enough for functions whose sign is copied")
    parser.add_argument("--pairs", type=int, default=1 << 24)
    options = parser.parse_args()
    failed = False
    for name in options.names or _same_math.FUNCTIONS:
        flags, begin, n, wrong = flagging(name, NEAR.get(name, 8)), time.perf_counter(), 0, []
        with np.errstate(all="ignore"):
            for operands in pairs(options.pairs, 1) if name in BINARY else ((x,) for x in blocks(options.every, 1 << (31 if options.half else 32))):
                found = run(flags, operands, options.target)
                wrong += wrong_of(name, found, [x if name in BINARY else x.view(np.float32) for x in operands])
                n += operands[0].size
        failed |= bool(wrong)
        print(f"{name:7} {len(wrong)} of {n} wrong, {time.perf_counter() - begin:.0f} s  {wrong[:40]}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
