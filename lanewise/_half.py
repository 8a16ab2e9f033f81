"""CUDA's names for arithmetic on the two 16-bit floats, for `lanewise.fp16` and `lanewise.bf16`.

Everything is an operator or a function that float16 and bfloat16 have anyway, written once in the language of
compiled functions and made for each of the two types by `functions`. Meaning: CUDA Math API, "Half Precision
Intrinsics" and "Bfloat16 Precision Intrinsics".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise import _core as lw

cuda = lw.intrinsics.cuda
float32, int32, uint64 = lw.float32, lw.int32, lw.uint64

# CUDA's word, ours, and the type
_INTEGERS = (
    ("short", "int16", lw.int16), ("ushort", "uint16", lw.uint16), ("int", "int32", lw.int32),
    ("uint", "uint32", lw.uint32), ("ll", "int64", lw.int64), ("ull", "uint64", lw.uint64),
)  # fmt: skip
_BYTES = (("char", "int8", lw.int8), ("uchar", "uint8", lw.uint8))
_MODES = {"rn": "to the nearest", "rz": "towards zero", "rd": "down", "ru": "up"}


# name -> what it gives of one, two or three numbers; the functions are in `_operators`
_OPERATORS = {
    "habs": "|a|", "hneg": "-a", "hadd": "a + b", "hsub": "a - b", "hmul": "a * b", "hdiv": "a / b",
    "hfma": "a * b + c, rounded once", "hadd_sat": "a + b, between 0 and 1; a NaN becomes 0",
    "hsub_sat": "a - b, between 0 and 1; a NaN becomes 0", "hmul_sat": "a * b, between 0 and 1; a NaN becomes 0",
    "hfma_sat": "a * b + c, rounded once, between 0 and 1; a NaN becomes 0",
    "hfma_relu": "a * b + c, rounded once, and 0 if that is negative",
    "heq": "a == b", "hne": "a != b, False where one is NaN", "hlt": "a < b", "hle": "a <= b", "hgt": "a > b", "hge": "a >= b",
    "hequ": "a == b, or one is NaN", "hneu": "a != b, or one is NaN", "hltu": "a < b, or one is NaN",
    "hleu": "a <= b, or one is NaN", "hgtu": "a > b, or one is NaN", "hgeu": "a >= b, or one is NaN",
    "hmax": "the larger one; of a NaN and a number the number", "hmin": "the smaller one; of a NaN and a number the number",
    "hmax_nan": "the larger one, or NaN where there is one", "hmin_nan": "the smaller one, or NaN where there is one",
    "hisnan": "whether a is NaN", "hisinf": "1 for inf, -1 for -inf, else 0",
    "hceil": "the next integer above", "hfloor": "the next integer below", "htrunc": "the integer part",
    "hrint": "the nearest integer, the even one of two", "hsqrt": "the square root", "hrsqrt": "1 / sqrt(a)", "hrcp": "1 / a",
    "hexp": "e**a", "hexp2": "2**a", "hexp10": "10**a", "hlog": "the natural logarithm", "hlog2": "the logarithm to base 2",
    "hlog10": "the logarithm to base 10", "hsin": "the sine", "hcos": "the cosine", "htanh": "the hyperbolic tangent",
    "htanh_approx": "the hyperbolic tangent",
}  # fmt: skip


def _operators(half: Any) -> dict[str, Callable[..., Any]]:
    """The functions that _OPERATORS lists, of float16 or bfloat16."""

    def saturated(x):
        return half(1) if x > half(1) else x if x > half(0) else half(0)

    def unordered(a, b):
        return a != a or b != b

    def habs(a):
        return abs(half(a))

    def hneg(a):
        return -half(a)

    def hadd(a, b):
        return half(a) + half(b)

    def hsub(a, b):
        return half(a) - half(b)

    def hmul(a, b):
        return half(a) * half(b)

    def hdiv(a, b):
        return half(a) / half(b)

    def hfma(a, b, c):
        return cuda.fma(half(a), half(b), half(c))

    def hadd_sat(a, b):
        return saturated(half(a) + half(b))

    def hsub_sat(a, b):
        return saturated(half(a) - half(b))

    def hmul_sat(a, b):
        return saturated(half(a) * half(b))

    def hfma_sat(a, b, c):
        return saturated(cuda.fma(half(a), half(b), half(c)))

    def hfma_relu(a, b, c):
        x = cuda.fma(half(a), half(b), half(c))
        return half(0) if x < half(0) else x

    def heq(a, b):
        return half(a) == half(b)

    def hne(a, b):
        return half(a) < half(b) or half(a) > half(b)

    def hlt(a, b):
        return half(a) < half(b)

    def hle(a, b):
        return half(a) <= half(b)

    def hgt(a, b):
        return half(a) > half(b)

    def hge(a, b):
        return half(a) >= half(b)

    def hequ(a, b):
        return half(a) == half(b) or unordered(half(a), half(b))

    def hneu(a, b):
        return half(a) != half(b)

    def hltu(a, b):
        return not half(a) >= half(b)

    def hleu(a, b):
        return not half(a) > half(b)

    def hgtu(a, b):
        return not half(a) <= half(b)

    def hgeu(a, b):
        return not half(a) < half(b)

    def hmax(a, b):
        return np.fmax(half(a), half(b))

    def hmin(a, b):
        return np.fmin(half(a), half(b))

    def hmax_nan(a, b):
        return np.maximum(half(a), half(b))

    def hmin_nan(a, b):
        return np.minimum(half(a), half(b))

    def hisnan(a):
        return half(a) != half(a)

    def hisinf(a):
        return int32(1) if half(a) == half(math.inf) else int32(-1) if half(a) == half(-math.inf) else int32(0)

    def hceil(a):
        return np.ceil(half(a))

    def hfloor(a):
        return np.floor(half(a))

    def htrunc(a):
        return np.trunc(half(a))

    def hrint(a):
        return np.rint(half(a))

    def hsqrt(a):
        return np.sqrt(half(a))

    def hrsqrt(a):
        return half(cuda.rsqrt(float32(half(a))))

    def hrcp(a):
        return half(1) / half(a)

    def hexp(a):
        return np.exp(half(a))

    def hexp2(a):
        return np.exp2(half(a))

    def hexp10(a):
        return half(cuda.libdevice.exp10f(float32(half(a))))

    def hlog(a):
        return np.log(half(a))

    def hlog2(a):
        return np.log2(half(a))

    def hlog10(a):
        return np.log10(half(a))

    def hsin(a):
        return np.sin(half(a))

    def hcos(a):
        return np.cos(half(a))

    def htanh(a):
        return np.tanh(half(a))

    htanh_approx = htanh

    here = dict(locals())
    return {name: here[name] for name in _OPERATORS}


def _from_float(half: Any) -> dict[str, Callable[..., Any]]:
    """float32 to float16 or bfloat16, by the direction in which it is rounded."""

    def rn(x):
        return half(float32(x))

    def rz(x):
        wide = float32(x)
        y = half(wide)
        return np.nextafter(y, half(0)) if abs(float32(y)) > abs(wide) else y

    def rd(x):
        wide = float32(x)
        y = half(wide)
        return np.nextafter(y, half(-math.inf)) if float32(y) > wide else y

    def ru(x):
        wide = float32(x)
        y = half(wide)
        return np.nextafter(y, half(math.inf)) if float32(y) < wide else y

    return {"rn": rn, "rz": rz, "rd": rd, "ru": ru}


def _from_integer(half: Any, integer: Any) -> dict[str, Callable[..., Any]]:
    """An integer to float16 or bfloat16. The bits of its magnitude that the type has not are cut off before
    the conversion, which is exact then."""
    precision, largest = (11, 65504) if half is lw.float16 else (8, 2**64 - 1)

    def magnitude_of(x):
        return uint64(0) - uint64(x) if x < 0 else uint64(x)

    def unit_of(magnitude):
        return uint64(1) << uint64(max(64 - precision - int32(cuda.clz(magnitude)), 0))

    def inward(x):
        magnitude = magnitude_of(x)
        kept = half(min(magnitude & ~(unit_of(magnitude) - uint64(1)), uint64(largest)))
        return -kept if x < 0 else kept

    def outward(x):
        magnitude = magnitude_of(x)
        unit = unit_of(magnitude)
        kept = magnitude & ~(unit - uint64(1))
        if kept != magnitude:
            # 2**64 has no place in uint64
            result = half(kept + unit) if kept + unit != uint64(0) else half(18446744073709551616.0)
        else:
            result = half(kept)
        return -result if x < 0 else result

    def rn(x):
        return half(integer(x))

    def rz(x):
        return inward(integer(x))

    def rd(x):
        return outward(integer(x)) if integer(x) < 0 else inward(integer(x))

    def ru(x):
        return inward(integer(x)) if integer(x) < 0 else outward(integer(x))

    return {"rn": rn, "rz": rz, "rd": rd, "ru": ru}


def _to_integer(half: Any, integer: Any) -> dict[str, Callable[..., Any]]:
    """float16 or bfloat16 to an integer: the nearest there is, and 0 of NaN."""

    def rn(x):
        return integer(np.rint(half(x)))

    def rz(x):
        return integer(half(x))

    def rd(x):
        return integer(np.floor(half(x)))

    def ru(x):
        return integer(np.ceil(half(x)))

    return {"rn": rn, "rz": rz, "rd": rd, "ru": ru}


def _bits(half: Any, integer: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The bits of a 16-bit float as an integer, and back."""

    def as_integer(x):
        return half(x).view(integer)

    def as_half(x):
        return integer(x).view(half)

    return as_integer, as_half


def _floats(half: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def to_float32(x):
        return float32(half(x))

    def from_float64(x):
        return half(lw.float64(x))

    return to_float32, from_float64


def functions(half: Any, word: str) -> dict[str, Callable[..., Any]]:
    """{name: function}, each under all of its names: of CUDA with and without the underscores ("__hadd",
    "hadd"), and those of NumPy's types ("int32_to_bfloat16_rn"). word: CUDA's for the type, "half"."""
    ours, made = half.name, {}

    def add(function, doc, cuda_name, *others):
        function.__name__ = function.__qualname__ = cuda_name
        function.__doc__ = doc
        for name in (cuda_name, "__" + cuda_name, *others):
            made[name] = function

    for name, function in _operators(half).items():
        add(function, f"{_OPERATORS[name]}, in {ours}.", name)
    for name in ("hadd", "hsub", "hmul"):
        made[name + "_rn"] = made[f"__{name}_rn"] = made[name]  # nothing but hfma is contracted
    to_float32, from_float64 = _floats(half)
    add(to_float32, f"{ours} to float32.", f"{word}2float", f"{ours}_to_float32")
    add(from_float64, f"float64 to {ours}.", f"double2{word}", f"float64_to_{ours}")
    for mode, function in _from_float(half).items():
        also = (f"float2{word}", f"__float2{word}", f"float32_to_{ours}") if mode == "rn" else ()
        add(function, f"float32 to {ours}, rounded {_MODES[mode]}.", f"float2{word}_{mode}", f"float32_to_{ours}_{mode}", *also)
    for cuda_word, name, integer in _INTEGERS:
        for mode, function in _from_integer(half, integer).items():
            add(function, f"{name} to {ours}, rounded {_MODES[mode]}.", f"{cuda_word}2{word}_{mode}", f"{name}_to_{ours}_{mode}")
        for mode, function in _to_integer(half, integer).items():
            add(function, f"{ours} to {name}, rounded {_MODES[mode]}.", f"{word}2{cuda_word}_{mode}", f"{ours}_to_{name}_{mode}")
    for cuda_word, name, integer in _BYTES:
        add(_to_integer(half, integer)["rz"], f"{ours} to {name}, rounded towards zero.", f"{word}2{cuda_word}_rz", f"{ours}_to_{name}_rz")
    for cuda_word, name, integer in _INTEGERS[:2]:
        as_integer, as_half = _bits(half, integer)
        add(as_integer, f"The bits of a {ours} as {name}.", f"{word}_as_{cuda_word}", f"{ours}_as_{name}")
        add(as_half, f"The {ours} with these bits, {name}.", f"{cuda_word}_as_{word}", f"{name}_as_{ours}")
    return made
