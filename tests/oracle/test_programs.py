"""Whole functions on the host against CPython running them with NumPy scalars (programs.py)."""

import math

import numpy as np
import pytest

import lanewise as lw
import programs

EDGES = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -7.3, 10, 100.25, -1e3, math.inf, -math.inf, math.nan,
         1e-5, 1e10]  # fmt: skip
# two library calls and a few roundings apart
TOLERANCE = {"f8": 2e-15, "f4": 1e-6, "f2": 2e-3, "c16": 4e-15, "c8": 2e-6}
CASES = [(function, sig) for function, signatures in programs.PROGRAMS for sig in signatures]


def grid(dtype):
    rng = np.random.default_rng(5)
    kind = np.dtype({"b1": "?"}.get(dtype, dtype))
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind in "iu":
        info = np.iinfo(kind)
        values = [0, 1, 2, 3, 5, 7, 12, 31, 48, 60, 63, 64, 100, 127, info.max, info.max - 1, info.min, info.min + 1,
                  -1, -2, -7, -100]  # fmt: skip
        values = [v for v in values if info.min <= v <= info.max]
        return np.concatenate([np.array(values, kind), rng.integers(0, 120, 8).astype(kind)])
    if kind.kind == "f":
        return np.concatenate([np.array(EDGES, kind), (rng.standard_normal(8) * 9).astype(kind)])
    return np.array([complex(a, b) for a in EDGES[:13] + [3.3] for b in EDGES[:13:2] + [-1.25]], kind)


def arguments(sig):
    grids = [grid(dtype) for dtype in sig.split()]
    if len(grids) == 1:
        return grids
    a, b = grids
    if len(a) * len(b) > 4000:
        a, b = a[::3], b[::3]
    return [np.repeat(a, len(b)), np.tile(b, len(a))]


def flat(value):
    if isinstance(value, tuple):
        for item in value:
            yield from flat(item)
    else:
        yield value


def same(got, want, tolerance):
    if isinstance(want, complex):
        return same(got.real, want.real, tolerance) and same(got.imag, want.imag, tolerance)
    if isinstance(want, float) or isinstance(got, float):
        got, want = float(got), float(want)
        if math.isnan(want):
            return math.isnan(got)
        return got == want or abs(got - want) <= tolerance * abs(want)
    return got == want


@pytest.mark.parametrize(("function", "sig"), CASES, ids=[f"{f.__name__}-{s}".replace(" ", "-") for f, s in CASES])
def test_program(function, sig):
    arrays = arguments(sig)
    compiled = lw.vectorize(function, target="cpu", fma=False, precise=True)
    with np.errstate(all="ignore"):
        got = compiled(*arrays)
    got = got if isinstance(got, tuple) else (got,)
    tolerance = max(TOLERANCE.get(dtype, 0) for dtype in [*sig.split(), *(a.dtype.str[1:] for a in got)])
    compared = 0
    for i in range(len(arrays[0])):
        given = [a[i] for a in arrays]
        try:
            with np.errstate(all="ignore"):
                want = list(flat(function(*given)))
        except (OverflowError, ValueError, ZeroDivisionError):
            continue  # compiled code gives IEEE values there
        assert len(want) == len(got)
        for output, w in zip(got, want):
            w = w.item() if hasattr(w, "item") else w
            if isinstance(w, int) and not isinstance(w, bool) and not -(1 << 63) <= w < 1 << 63:
                continue  # Python's ints go on, ours are 64 bits
            assert same(output[i].item(), w, tolerance), (given, output[i], w)
            compared += 1
    assert compared > len(arrays[0]) // 3


def test_exceptions_reach_the_caller():
    def positive(x):
        assert x > 0, "must be positive"
        return x

    def f(x):
        if x > 100:
            raise ValueError("too large")
        return positive(x) * 2

    u = lw.vectorize(f, target="cpu")
    assert u(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    with pytest.raises(ValueError, match="too large"):
        u(np.array([1.0, 200.0]))
    with pytest.raises(AssertionError, match="must be positive"):
        u(np.array([1.0, -1.0]))
