"""Every function of cmath at infinities, NaN, zeros of both signs and their combinations: the parts and signs of CPython.

Where CPython raises (a pole, an overflow), compiled functions return what NumPy does: see docs/differences.md.
"""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

import lanewise as lw

PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, math.pi / 2, 1e300, -800.0, math.inf, -math.inf, math.nan]
NUMBERS = [complex(re, im) for re in PARTS for im in PARTS]
PAIRS = [(a, b) for a in PARTS for b in PARTS]
NAMES = ("acos acosh asin asinh atan atanh cos cosh exp log log10 sin sinh sqrt tan tanh".split(), "isfinite isinf isnan phase".split())


@lw.vectorize
def functions(z):
    return (
        cmath.acos(z), cmath.acosh(z), cmath.asin(z), cmath.asinh(z), cmath.atan(z), cmath.atanh(z), cmath.cos(z), cmath.cosh(z), cmath.exp(z),
        cmath.log(z), cmath.log10(z), cmath.sin(z), cmath.sinh(z), cmath.sqrt(z), cmath.tan(z), cmath.tanh(z),
    )  # fmt: skip


@lw.vectorize
def real_functions(z):
    r, angle = cmath.polar(z)
    return cmath.isfinite(z), cmath.isinf(z), cmath.isnan(z), cmath.phase(z), r, angle


@lw.vectorize
def rect(r, angle):
    return cmath.rect(r, angle)


def cpython(name, *arguments):
    """CPython's result, or None if CPython raises an exception."""
    try:
        return getattr(cmath, name)(*arguments)
    except (ValueError, OverflowError):
        return None


def same(got, want):
    if isinstance(want, complex):
        return same(got.real, want.real) and same(got.imag, want.imag)
    if math.isnan(want):
        return math.isnan(got)
    signs = math.copysign(1, got) == math.copysign(1, want)
    return signs and (got == want or abs(got - want) <= 1e-14 * max(abs(want), 1e-300))


def differences(name, arguments, got):
    wanted = [cpython(name, *a) for a in arguments]
    assert sum(w is not None for w in wanted) > len(wanted) / 2
    return [f"{name}{a}: {g}, CPython {w}" for a, g, w in zip(arguments, got.tolist(), wanted) if w is not None and not same(g, w)]


def test_no_function_is_left_out():
    public = {name for name in dir(cmath) if callable(getattr(cmath, name)) and not name.startswith("_")}
    assert public - {"isclose"} == {*NAMES[0], *NAMES[1], "polar", "rect"}  # isclose: tests/oracle/test_intrinsics.py


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_complex_results():
    results = functions(np.array(NUMBERS))
    assert [d for name, got in zip(NAMES[0], results) for d in differences(name, [(z,) for z in NUMBERS], got)] == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_narrow_numbers_have_the_same_signs():
    """complex64 is computed in float64 and rounded; 1e300 becomes infinite."""
    numbers = [z for z in NUMBERS if 1e300 not in (z.real, z.imag)]
    with np.errstate(all="ignore"):
        results = functions(np.array(numbers, np.complex64))
        for name, got in zip(NAMES[0], results):
            wide = [cpython(name, complex(np.complex64(z))) for z in numbers]
            for z, g, w in zip(numbers, got.tolist(), wide):
                assert w is None or same(g, complex(np.complex64(w))) or np.isclose(g, np.complex64(w), rtol=3e-7, atol=0, equal_nan=True), (name, z, g, w)


def test_real_results():
    *results, r, angle = real_functions(np.array(NUMBERS))
    arguments = [(z,) for z in NUMBERS]
    assert [d for name, got in zip(NAMES[1], results) for d in differences(name, arguments, got)] == []
    polar = [cmath.polar(z) for z in NUMBERS]
    assert all(same(a, w[0]) and same(b, w[1]) for a, b, w in zip(r.tolist(), angle.tolist(), polar))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rect():
    got = rect(*(np.array(column) for column in zip(*PAIRS)))
    assert differences("rect", PAIRS, got) == []
