"""sin, cos and tan of arguments that are known to be small: the code for large ones is left out, and the results are the same.

On a GPU the values are what counts; without one, what the PTX contains."""

import math

import numpy as np
import pytest

import lanewise as lw
from lanewise import random as lr
from target_checks import back, check_equal, on

WORDS = np.concatenate([np.random.default_rng(1).integers(0, 2**64, 20000, "u8"), np.array([0, 1, 2**40, 2**63, 2**64 - 1], "u8")])


def float32_angle(word):
    return np.float32(word >> np.uint64(40)) * np.float32(2.0**-24) * np.float32(2 * math.pi)


def float64_angle(word):
    return np.float64(word >> np.uint64(11)) * (2.0**-53) * (2 * math.pi)


def large_angle(word):
    return np.float64(word)


def degrees(word):
    return np.float32(word % np.uint64(720)) * np.float32(math.pi / 180) - np.float32(math.pi)


FUNCTIONS = {"sin": math.sin, "cos": math.cos, "tan": math.tan}


def has_long_reduction(ptx):
    """libdevice's has a table in local memory, or is a function; ours (core/emit/gpu_single.c) contains words of 2 / pi."""
    return "st.local" in ptx or "call" in ptx or "1313084713" in ptx


@pytest.mark.parametrize("angle", [float32_angle, float64_angle, degrees, large_angle])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_small_angles(target, name, angle):
    g = FUNCTIONS[name]

    def whole(word):
        return g(angle(word))

    f = lw.vectorize(whole)
    assert has_long_reduction(f.inspect_ptx("Q->d" if angle in (float64_angle, large_angle) else "Q->f")) == (angle is large_angle)
    words = on(target, WORDS)
    x = lw.vectorize(angle)(words)
    separate = lw.vectorize(lambda x: g(x))
    assert has_long_reduction(separate.inspect_ptx("d->d"))
    check_equal(target, f(words), separate(x))


def test_an_infinite_argument_is_no_small_one(target):
    """All float16 numbers are small, except those that have become infinite."""

    def f(n):
        return math.cos(np.float16(n))

    g = lw.vectorize(f)
    with np.errstate(all="ignore"):
        got = back(g(on(target, np.array([3, 65504, 70000, -70000], "i4"))))
    assert np.isfinite(got[:2]).all() and np.isnan(got[2:]).all()
    assert has_long_reduction(g.inspect_ptx(f"i->{got.dtype.char}"))


@pytest.mark.parametrize("fastmath", [True, {"reassoc"}])
def test_sums_in_another_order_are_not_small(fastmath):
    ptx = lw.vectorize(lambda word: math.cos(float64_angle(word)), fastmath=fastmath).inspect_ptx("Q->d")
    assert has_long_reduction(ptx)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_numbers_of_numba(dtype):
    draw = getattr(lr, f"xoroshiro128p_normal_{dtype}")

    @lw.cuda.jit
    def fill(states, out):
        i = lw.cuda.grid(1)
        if i < len(out):
            out[i] = draw(states, i)

    states = lw.from_dtype(lr.xoroshiro128p_dtype)
    assert not has_long_reduction(fill.inspect_ptx(lw.void(states[::1], getattr(lw, dtype)[::1]), "sm_90"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_program_that_fills_an_array(dtype):
    """Four iterations run together, and the remaining ones one at a time (core/opt/stride)."""
    draw = getattr(lr, f"xoroshiro128p_normal_{dtype}")

    @lw.cuda.jit
    def fill(states, out):
        start = lw.cuda.grid(1)
        for i in range(start, out.size, lw.cuda.gridsize(1)):
            out[i] = draw(states, start)

    states = lw.from_dtype(lr.xoroshiro128p_dtype)
    ptx = fill.inspect_ptx(lw.void(states[::1], getattr(lw, dtype)[::1]), "sm_90")
    assert ptx.count(f"st.global.f{dtype[5:]}") == 5
    assert "sqrt.rn" not in ptx and "00800000" not in ptx  # neither root nor logarithm tests for what cannot be
