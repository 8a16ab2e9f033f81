#!/usr/bin/env python3
"""float64 functions of math="same" beside mpmath: the largest error in units in the last place.

    python tests/same_math/double.py [--samples N] [--seed S] [NAME ...]

Arguments are drawn over the whole range of exponents, near the edges of the functions' pieces and near multiples of pi/2.
Fails where an error is 1 ULP or more, or a special value is another than NumPy's.
"""

from __future__ import annotations

import argparse
import math
import sys

import mpmath as mp
import numpy as np

import lanewise as lw

mp.mp.prec = 200

NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "pow": "power"}
EXACT = {
    "rsqrt": lambda x: 1 / mp.sqrt(x), "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)), "exp": mp.exp, "exp2": lambda x: mp.mpf(2) ** x,
    "exp10": lambda x: mp.mpf(10) ** x, "expm1": mp.expm1, "log": mp.log, "log2": lambda x: mp.log(x, 2), "log10": mp.log10, "log1p": mp.log1p,
    "sin": mp.sin, "cos": mp.cos, "tan": mp.tan, "asin": mp.asin, "acos": mp.acos, "atan": mp.atan, "atan2": mp.atan2, "sinh": mp.sinh,
    "cosh": mp.cosh, "tanh": mp.tanh, "asinh": mp.asinh, "acosh": mp.acosh, "atanh": mp.atanh, "pow": lambda x, y: mp.power(x, y).real if x >= 0 else
    mp.power(-x, y) * (-1 if int(y) & 1 else 1), "hypot": lambda x, y: mp.sqrt(x * x + y * y), "erf": mp.erf, "erfc": mp.erfc, "tgamma": mp.gamma,
    "lgamma": lambda x: mp.log(abs(mp.gamma(x))),
}
RANGES = {  # where results are finite and not all alike
    "exp": (-746, 710), "exp2": (-1075, 1024), "exp10": (-324, 308.3), "expm1": (-40, 710), "sinh": (-711, 711), "cosh": (-711, 711), "tanh": (-20, 20),
    "asin": (-1, 1), "acos": (-1, 1), "atanh": (-1, 1), "acosh": (1, 1e300), "log1p": (-1, 1e300), "erf": (-6, 6), "erfc": (-6, 27.3),
    "log": (0, 1e308), "log2": (0, 1e308), "log10": (0, 1e308), "rsqrt": (0, 1e308), "tgamma": (-170, 171.6), "lgamma": (-100, 1e300),
}
EDGES = [0.25, 0.3, 0.34657359, 0.41421356237309503, 0.5, 0.6875, 0.7071, 0.75, 0.99, 1.0, 1.01, 1.375, 1.41421356, 2.0, 2.414213562373095, 6.0, 22.0, 40.0, 50.0, 2.0**20,
         2.0**28, 2.0**30]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1e-310, 1.7976931348623157e308, -1.7976931348623157e308,
           2.0**53, 2.0**53 + 2, -(2.0**53) - 2, 709.782712893384, 710.5, -745.13, -746.0, 1e22]


def compiled(name, width=1):
    """The function itself, whatever Python calls it: for float32 (0) or float64 (1)."""
    from lanewise import _same_math

    return lw.vectorize(_same_math.FUNCTIONS[name][width], fma=False)


def arguments(name, n, rng):
    low, high = RANGES.get(name, (-1.7e308, 1.7e308))
    exponents = rng.uniform(-60, 60, n)
    wide = np.ldexp(rng.uniform(1, 2, n), np.where(rng.random(n) < 0.3, rng.integers(-1073, 1023, n), exponents.astype(int))) * rng.choice([-1, 1], n)
    even = rng.uniform(max(low, -50), min(high, 50), n)
    whole = rng.uniform(low / 2, high / 2, n) * 2
    edges = rng.choice(EDGES, n) * (1 + rng.normal(0, 1, n) * 2.0 ** rng.integers(-52, -3, n)) * rng.choice([-1, 1], n)
    turns = np.rint(rng.uniform(-1, 1, n) * 2.0 ** rng.integers(1, 40, n)) * (np.pi / 2)
    x = np.concatenate([wide, even, whole, edges, turns])
    return x[(x >= low) & (x <= high)]


def ulp_error(y, exact):
    """The distance from the exact value in units in the last place of the result's binade."""
    if exact == 0:
        return 0.0 if y == 0 else math.inf
    exponent = max(int(mp.floor(mp.log(abs(exact), 2))), -1022)
    if abs(exact) >= mp.ldexp(1, exponent + 1):
        exponent += 1
    if exponent > 1023 or (math.isinf(y) and exact > 0) or (math.isinf(y) and exact < 0):
        top = mp.ldexp(2 - mp.mpf(2) ** -53, 1023)
        return 0.0 if math.isinf(y) and abs(exact) >= top else float(abs(abs(exact) - top) / mp.ldexp(1, 971)) if math.isinf(y) else math.inf
    return float(abs(mp.mpf(float(y)) - exact) / mp.ldexp(1, exponent - 52))


def check(name, samples, seed):
    rng = np.random.default_rng(seed)
    f = compiled(name)
    n = max(samples // 5, 20)
    with np.errstate(all="ignore"):
        if name in ("atan2", "hypot", "pow"):
            x, y = arguments(name, n, rng), arguments(name, n, rng)
            y = rng.permutation(y)
            if name == "pow":
                x = np.abs(x)
                y = np.where(rng.random(y.size) < 0.7, rng.uniform(-1, 1, y.size) * 740 / np.maximum(np.abs(np.log(x)), 1e-30), y)
                keep = (x > 0) & (x < np.inf) & np.isfinite(y) & (np.abs(y) < 1e290)
                x, y = x[keep], y[keep]
                near = 1 + rng.uniform(0.5, 1.5, n) * rng.choice([-1, 1], n) * 2.0 ** -rng.integers(2, 12, n)  # where a logarithm's error is multiplied most
                x, y = np.concatenate([x, near]), np.concatenate([y, rng.uniform(600, 708, n) * rng.choice([-1, 1], n) / np.log(near)])
            close = x * (1 + rng.normal(0, 1, x.size) * 2.0 ** rng.integers(-40, 3, x.size))
            if name != "pow":
                y = np.where(rng.random(x.size) < 0.5, close, y)
            operands = (x, y)
        else:
            operands = (arguments(name, n, rng),)
        got = f(*operands)
    worst, where = 0.0, None
    for values in zip(*operands, got):
        try:
            exact = EXACT[name](*(mp.mpf(float(v)) for v in values[:-1]))
        except (ZeroDivisionError, ValueError):
            continue
        if not mp.isfinite(exact) or exact == 0 or (name == "atan2" and values[0] == 0):
            continue
        if name == "lgamma" and values[0] < -2 and abs(exact) < 2:
            continue  # the zeros there, where only the absolute error is small
        error = ulp_error(float(values[-1]), exact)
        if error > worst:
            worst, where = error, values
    return worst, where, len(got)


def check_special(name):
    """Infinities, zeros, NaN: as NumPy."""
    if name in ("rsqrt", "exp10", "erf", "erfc", "tgamma", "lgamma"):
        reference = {"rsqrt": lambda x: 1 / np.sqrt(x), "exp10": lambda x: np.power(10.0, x), "erf": np.vectorize(math.erf), "erfc": np.vectorize(math.erfc),
                     "tgamma": np.vectorize(lambda x: _quiet(math.gamma, x), otypes="O"), "lgamma": np.vectorize(lambda x: _quiet(math.lgamma, x), otypes="O")}[name]
    else:
        reference = getattr(np, NUMPY.get(name, name))
    f = compiled(name)
    special = np.array(SPECIAL)
    wrong = []
    with np.errstate(all="ignore"):
        operands = tuple(map(np.ravel, np.meshgrid(special, special))) if name in ("atan2", "hypot", "pow") else (special,)
        got, expected = f(*operands), reference(*operands)
    for values in zip(*operands, got, expected):
        if values[-1] is None:
            continue
        a, b = float(values[-2]), float(values[-1])
        same = a == b and math.copysign(1, a) == math.copysign(1, b) or (a != a and b != b) or (
            math.isfinite(a) and math.isfinite(b) and abs(a - b) <= 4 * np.spacing(abs(b)) and a != 0 and b != 0)
        if not same:
            wrong.append(tuple(map(float, values)))
    return wrong


def _quiet(function, x):
    try:
        return function(x)
    except OverflowError:
        return math.copysign(math.inf, x)
    except ValueError:  # a pole
        return None


def main():
    from lanewise import _same_math

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = False
    for name in options.names or _same_math.FUNCTIONS:
        worst, where, n = check(name, options.samples, options.seed)
        wrong = check_special(name)
        failed |= worst >= 1 or bool(wrong)
        print(f"{name:7} {worst:7.4f} ULP of {n}" + (f"  {where}" if worst >= 0.9 else "") + (f"  special: {wrong[:6]}" if wrong else ""), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
