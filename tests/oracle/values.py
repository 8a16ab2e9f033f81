"""Inputs, functions made of text, and comparisons, for the tests that run compiled functions."""

from __future__ import annotations

import importlib.util
import linecache
import math
import sys
from pathlib import Path

import numpy as np

FUZZ = Path(__file__).resolve().parents[1] / "fuzz"
DTYPES = ("b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
INTS = DTYPES[1:9]
FLOATS = ("f2", "f4", "f8")
COMPLEX = {"c8": "f4", "c16": "f8"}
NUMPY = {t: np.dtype("?" if t == "b1" else t) for t in DTYPES}
SHORT = {NUMPY[t]: t for t in DTYPES}


def fuzz_module(name):
    """A module of tests/fuzz: its oracle is tested against NumPy there."""
    if str(FUZZ) not in sys.path:
        sys.path.insert(0, str(FUZZ))
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, FUZZ / f"{name}.py")
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


def function(params, results, before=""):
    """def f(params): return results, with readable source."""
    text = f"import cmath, math, operator\nimport numpy as np\n{before}\ndef f({', '.join(params)}):\n    return {', '.join(results)}\n"
    file = f"<oracle {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def compiled(params, results, before="", **options):
    import lanewise as lw

    return lw.vectorize(cache=False, warn=False, fma=False, **options)(function(params, results, before))


def refusal(params, result, arrays, **options):
    """The code an expression is refused with, or None."""
    import lanewise as lw

    try:
        with np.errstate(all="ignore"):
            compiled(params, [result], **options)(*arrays)
    except lw.errors.CompileError as problem:
        return problem.code
    return None


def values(t, n=384, seed=0):
    """The edges of a dtype, then random values of every size."""
    edges = fuzz_module("generate").edges(t)
    rng = np.random.default_rng([seed, DTYPES.index(t)])
    rng.shuffle(edges)
    m = n - len(edges)
    if t == "b1":
        more = rng.integers(0, 2, m)
    elif t in INTS:
        info = np.iinfo(t)
        more = rng.integers(info.min, info.max, m, dtype=t, endpoint=True)
        more[::2] = more[::2] % 17
    elif t in FLOATS:
        more = rng.uniform(-10, 10, m)
        more[::3] = np.exp2(rng.uniform(-12, 12, more[::3].shape)) * rng.choice([-1, 1], more[::3].shape)
    else:
        more = rng.uniform(-4, 4, m) + 1j * rng.uniform(-4, 4, m)
    return np.concatenate([edges, np.asarray(more).astype(NUMPY[t])])


# ---- comparisons: the index of the first difference, or None ----


def first_difference(got, want):
    """Bit for bit, NaNs being one value."""
    assert got.dtype == want.dtype, f"{got.dtype} instead of {want.dtype}"
    if got.dtype.kind == "c":
        parts = [first_difference(np.ascontiguousarray(g), np.ascontiguousarray(w)) for g, w in ((got.real, want.real), (got.imag, want.imag))]
        return next((i for i in parts if i is not None), None)
    differ = got != want
    if got.dtype.kind == "f":
        differ = (differ & ~(np.isnan(got) & np.isnan(want))) | ((np.signbit(got) != np.signbit(want)) & ~np.isnan(got))
    return next(iter(np.flatnonzero(differ)), None)


def units_off(got, want, t):
    """Distance to a wider reference in units in the last place of t; inf where one is NaN alone."""
    info = np.finfo(NUMPY[t])
    digits = info.nmant + 1
    g, w = got.astype(np.longdouble), want.astype(np.longdouble)
    with np.errstate(all="ignore"):
        exponent = np.frexp(np.abs(w))[1]
        unit = np.ldexp(np.longdouble(1), np.maximum(exponent - digits, info.minexp - digits + 1))
        off = np.abs(g - w) / unit
        limit = np.longdouble(info.max)
        overflow = (np.abs(w) > limit * (1 - 8 * np.longdouble(info.eps))) & (np.abs(g) > limit * (1 - 8 * np.longdouble(info.eps)))
        off = np.where((g == w) | (np.isnan(g) & np.isnan(w)) | (overflow & (np.signbit(g) == np.signbit(w))), 0, off)
        return np.where(np.isnan(off) | (np.isinf(g) != np.isinf(w)) & ~overflow & (off != 0), np.inf, off)


def first_far(got, want, t, bound):
    assert got.dtype == NUMPY[t], f"{got.dtype} instead of {NUMPY[t]}"
    far = units_off(got, want, t) > bound
    return next(iter(np.flatnonzero(far)), None)


def told(text, i, arrays, got, want):
    inputs = ", ".join(repr(a[i]) for a in arrays)
    return f"{text} of ({inputs}): got {got[i]!r}, expected {want[i]!r}"


def chunks(items, n=40):
    items = list(items)
    return [items[i : i + n] for i in range(0, len(items), n)]


def exact_int(x):
    return int(x) if math.isfinite(x) else x
