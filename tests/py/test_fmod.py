"""Remainders of floats, whose usual case core/emit/fmod.c writes out: bit by bit those of NumPy, for quotients of every size and for special values."""

import numpy as np
import pytest

import lanewise as lw

N = 40_000
FUNCTIONS = {"fmod": (lambda a, b: np.fmod(a, b), np.fmod), "%": (lambda a, b: a % b, np.remainder), "//": (lambda a, b: a // b, np.floor_divide)}


def operands(dtype):
    """Random bits, with exponents that differ by up to three more than a fraction has bits; neighbours; subnormal numbers; special values."""
    rng = np.random.default_rng(1)
    uint, digits = (np.uint32, 23) if dtype == "f4" else (np.uint64, 52)
    a, b = (rng.integers(0, np.iinfo(uint).max, N, uint, endpoint=True) for _ in range(2))
    kind = np.arange(N) % 5
    b = np.where(kind == 1, a - (rng.integers(0, digits + 3, N).astype(uint) << uint(digits)), b)
    b = np.where(kind == 2, a - rng.integers(0, 64, N).astype(uint) + uint(32), b)
    few = uint((1 << (digits + 2)) - 1)
    a, b = np.where(kind == 3, a & few, a), np.where(kind == 3, b & few, b)
    x, y = a.view(dtype).copy(), b.view(dtype).copy()
    limits = np.finfo(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, 3, limits.tiny, limits.max, limits.smallest_subnormal], dtype)
    for array, part in zip((x, y), np.meshgrid(special, special)):
        array[:special.size**2] = part.ravel()
    return x, y


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_same_bits_as_numpy(name, dtype, target):
    function, of_numpy = FUNCTIONS[name]
    x, y = operands(dtype)
    with np.errstate(all="ignore"):
        wanted = of_numpy(x, y)
        found = lw.vectorize(function)(*map(lw.cuda.to_device, (x, y))).copy_to_host() if target == "cuda" else lw.vectorize(function)(x, y)
    uint = np.uint32 if dtype == "f4" else np.uint64
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    numbers = ~np.isnan(wanted)
    assert np.array_equal(found[numbers].view(uint), wanted[numbers].view(uint))


def test_usual_quotients_raise_no_flag():
    x = np.array([7.5, 1e-300, 5e-324, 1e300, 0.0, -3.25])
    y = np.array([2.5, 1e300, 1e-300, 1e299, 1e-310, 1e-5])
    with np.errstate(all="raise"):
        for function in (lambda a, b: np.fmod(a, b), lambda a, b: a % b):
            lw.vectorize(function)(x, y)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        lw.vectorize(lambda a, b: a % b)(x, np.zeros(6))


def test_the_usual_case_calls_no_library():
    text = lw.vectorize(lambda a, b: np.fmod(a, b)).inspect_asm("dd->d")
    if "vfn" not in text:
        pytest.skip("this processor has no fused multiply-add")
    assert "roundsd" in text and "fmod" in text


def test_both_types_in_one_function(target):
    f = lw.vectorize(lambda a, b: np.float64(np.fmod(np.float32(a), np.float32(b))) + np.fmod(a, b))
    x, y = np.linspace(-50, 50, 100), np.linspace(0.3, 7, 100)
    wanted = np.fmod(x.astype("f4"), y.astype("f4")).astype("f8") + np.fmod(x, y)
    found = f(*map(lw.cuda.to_device, (x, y))).copy_to_host() if target == "cuda" else f(x, y)
    np.testing.assert_array_equal(found, wanted)
