"""What every operation means on one value, in plain Python: the run-time half of the oracle.

Values: bool, int (within its dtype), float (already rounded to its dtype), complex (both parts
rounded). Types are written as in docs/typing.md: b1 i1 u1 ... c16, and the weak ix (int64), pf
(float64), pc (complex128). Nothing here knows how the compiler does it.
"""

from __future__ import annotations

import ctypes
import math
import struct

import numpy as np

SIGNED = {"i1": 8, "i2": 16, "i4": 32, "i8": 64}
UNSIGNED = {"u1": 8, "u2": 16, "u4": 32, "u8": 64}
INTS = {**SIGNED, **UNSIGNED}
FLOATS = {"f2": 11, "f4": 24, "f8": 53}  # bits of precision
COMPLEX = {"c8": "f4", "c16": "f8"}
DTYPES = ("b1", *INTS, *FLOATS, *COMPLEX)
STORED = {"ix": "i8", "pf": "f8", "pc": "c16"}
LOW = {**{t: -(1 << (n - 1)) for t, n in SIGNED.items()}, **{t: 0 for t in UNSIGNED}}
HIGH = {**{t: (1 << (n - 1)) - 1 for t, n in SIGNED.items()}, **{t: (1 << n) - 1 for t, n in UNSIGNED.items()}}
NUMPY = {t: np.dtype("?" if t == "b1" else t) for t in DTYPES}
MATH = ctypes.CDLL("libm.so.6")


class Negative(OverflowError):
    """A Python int below 0 beside a uint64: NumPy raises, and so does compiled code."""


def unsigned(x):
    """A Python int as the operand of a uint64, where the sign matters."""
    if x < 0:
        raise Negative(x)
    return x


class Undefined(Exception):
    """The documents leave this value open (the sign of a NaN)."""


# ---- rounding and conversion ----

_float32 = ctypes.c_float


def r4(x):
    return _float32(x).value


def r2(x):
    try:
        return struct.unpack("e", struct.pack("e", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def r8(x):
    return x


ROUND = {"f2": r2, "f4": r4, "f8": r8}


def wrap(t, x):
    n = INTS[t]
    x &= (1 << n) - 1
    return x - (1 << n) if t in SIGNED and x >> (n - 1) else x


def int_to_float(t, x):
    """Correctly rounded, once."""
    digits = FLOATS[t]
    size = abs(x)
    extra = size.bit_length() - digits
    if extra > 0:
        kept, rest, half = size >> extra, size & ((1 << extra) - 1), 1 << (extra - 1)
        kept += rest > half or (rest == half and kept & 1)
        size = kept << extra
    return ROUND[t](float(-size if x < 0 else size))


def float_to_int(t, x):
    if x != x:
        return 0
    return HIGH[t] if x >= HIGH[t] else LOW[t] if x <= LOW[t] else int(x)


def convert(value, source, to):
    """A value of one stored type as another: the casts of compiled code."""
    if source == to:
        return value
    if to == "b1":
        return value != 0
    if to in INTS:
        if isinstance(value, complex):
            value = value.real
        return float_to_int(to, value) if isinstance(value, float) else wrap(to, int(value))
    if to in FLOATS:
        if isinstance(value, complex):
            value = value.real
        return ROUND[to](value) if isinstance(value, float) else int_to_float(to, int(value))
    part = COMPLEX[to]
    if isinstance(value, complex):
        return complex(ROUND[part](value.real), ROUND[part](value.imag))
    return complex(convert(value, source, part), 0.0)


# ---- integers ----


def int_floordiv(t, x, y):
    return wrap(t, x // y) if y else 0


def int_mod(t, x, y):
    return wrap(t, x % y) if y else 0


def int_fmod(t, x, y):
    return int(math.copysign(1, x)) * (abs(x) % abs(y)) if y else 0


def int_power(t, x, y):
    if y < 0:
        return (x if y & 1 else 1) if x in (1, -1) else 0
    return wrap(t, pow(x, y, 1 << INTS[t]))


def shift_left(t, x, n):
    return wrap(t, x << n) if 0 <= n < INTS[t] else 0


def shift_right(t, x, n):
    return x >> n if 0 <= n < INTS[t] else -(x < 0)


def int_reciprocal(t, x):
    return x if x in (1, -1) else 0


def int_abs(t, x):
    return wrap(t, abs(x))


def sign(t, x):
    return (x > 0) - (x < 0)


def gcd(t, x, y):
    return wrap(t, math.gcd(x, y))


def lcm(t, x, y):
    """|x| // gcd * |y|, which wraps."""
    return wrap(t, abs(x) // math.gcd(x, y) * abs(y)) if x or y else 0


def isqrt(t, x):
    return math.isqrt(x) if x > 0 else 0


def bit_count(t, x):
    return abs(x).bit_count() if hasattr(int, "bit_count") else bin(abs(x)).count("1")


# ---- floats ----


def div(t, x, y):
    if y:
        return ROUND[t](x / y)
    if x == 0 or x != x or y != y:
        return math.nan
    return math.copysign(math.inf, math.copysign(1, x) * math.copysign(1, y))


def fmod(t, x, y):
    if x != x or y != y or y == 0 or math.isinf(x):
        return math.nan
    return math.fmod(x, y)


def divmod_float(t, x, y):
    """NumPy's npy_divmod; float16 computes in float32."""
    wide = "f4" if t == "f2" else t
    r = ROUND[wide]
    mod = fmod(wide, x, y)
    if y == 0:
        return ROUND[t](div(wide, x, y)), mod
    quotient = div(wide, r(x - mod), y)
    if mod:
        if (y < 0) != (mod < 0):
            mod, quotient = r(mod + y), r(quotient - 1.0)
    else:
        mod = math.copysign(0.0, y)
    if quotient:
        whole = floor(wide, quotient)
        if r(quotient - whole) > 0.5:
            whole = r(whole + 1.0)
    else:
        whole = math.copysign(0.0, div(wide, x, y))
    return ROUND[t](whole), ROUND[t](mod)


def floordiv(t, x, y):
    return divmod_float(t, x, y)[0]


def mod(t, x, y):
    return divmod_float(t, x, y)[1]


def floor(t, x):
    return math.copysign(float(math.floor(x)), x) if math.isfinite(x) else x


def ceil(t, x):
    return math.copysign(float(math.ceil(x)), x) if math.isfinite(x) else x


def trunc(t, x):
    return math.copysign(float(math.trunc(x)), x) if math.isfinite(x) else x


def rint(t, x):
    return math.copysign(float(round(x)), x) if math.isfinite(x) else x


def sqrt(t, x):
    return ROUND[t](math.sqrt(x)) if x >= 0 else x if x == 0 or x != x else math.nan


def copysign(t, x, y):
    if y != y:
        raise Undefined
    return math.copysign(x, y)


def signbit(t, x):
    if x != x:
        raise Undefined
    return math.copysign(1.0, x) < 0


def nextafter(t, x, y):
    if t == "f8":
        return math.nextafter(x, y)
    if x == y:
        return y  # NumPy before 2.5 gives x for float16
    kind = NUMPY[t].type
    return float(np.nextafter(kind(x), kind(y)))


def ldexp(t, x, n):
    n = max(min(n, 10000), -10000)
    try:
        return ROUND[t](math.ldexp(x, n))
    except OverflowError:
        return math.copysign(math.inf, x)


def frexp(t, x):
    return math.frexp(x) if math.isfinite(x) and x else (x, 0)


def modf(t, x):
    if math.isinf(x):
        return math.copysign(0.0, x), x
    return math.modf(x)


def np_maximum(t, x, y):
    if x != x or y != y:
        return math.nan
    if x == y == 0:
        return x if math.copysign(1, x) > 0 else y
    return x if x > y else y


def np_minimum(t, x, y):
    if x != x or y != y:
        return math.nan
    if x == y == 0:
        return x if math.copysign(1, x) < 0 else y
    return x if x < y else y


def np_fmax(t, x, y):
    return y if x != x else x if y != y else np_maximum(t, x, y)


def np_fmin(t, x, y):
    return y if x != x else x if y != y else np_minimum(t, x, y)


def np_sign(t, x):
    return x if x != x else float((x > 0) - (x < 0))


def heaviside(t, x, at_zero):
    return x if x != x else at_zero if x == 0 else float(x > 0)


def spacing(t, x):
    with np.errstate(all="ignore"):
        return float(np.spacing(NUMPY[t].type(x)))


def scale(factor):
    return lambda t, x: ROUND[t](ROUND["f4" if t == "f2" else t](x * ROUND["f4" if t == "f2" else t](factor)))


degrees = scale(57.29577951308232087680)
radians = scale(0.017453292519943295769)


def isfinite(x):
    return math.isfinite(x.real) and math.isfinite(x.imag) if isinstance(x, complex) else math.isfinite(x)


def isinf(x):
    return math.isinf(x.real) or math.isinf(x.imag) if isinstance(x, complex) else math.isinf(x)


def isnan(x):
    return x != x


# ---- complex ----


def _complex(t, re, im):
    r = ROUND[COMPLEX[t]]
    return complex(r(re), r(im))


def complex_add(t, x, y):
    return _complex(t, x.real + y.real, x.imag + y.imag)


def complex_sub(t, x, y):
    return _complex(t, x.real - y.real, x.imag - y.imag)


def complex_mul(t, x, y):
    r = ROUND[COMPLEX[t]]
    return _complex(t, r(x.real * y.real) - r(x.imag * y.imag), r(x.real * y.imag) + r(x.imag * y.real))


def complex_div(t, x, y):
    """Smith's, as NumPy's loops."""
    p = COMPLEX[t]
    r = ROUND[p]
    size_re, size_im = abs(y.real), abs(y.imag)
    if size_re >= size_im:
        if size_re == 0 and size_im == 0:
            return complex(div(p, x.real, size_re), div(p, x.imag, size_re))
        ratio = div(p, y.imag, y.real)
        scale_by = div(p, 1.0, r(y.real + r(y.imag * ratio)))
        top = r(x.real + r(x.imag * ratio)), r(x.imag - r(x.real * ratio))
    else:
        ratio = div(p, y.real, y.imag)
        scale_by = div(p, 1.0, r(y.imag + r(y.real * ratio)))
        top = r(r(x.real * ratio) + x.imag), r(r(x.imag * ratio) - x.real)
    return complex(r(top[0] * scale_by), r(top[1] * scale_by))


def complex_neg(t, x):
    return complex(-x.real, -x.imag)


def conjugate(t, x):
    return complex(x.real, -x.imag)


# ---- Python's min and max ----


def py_min(x, y):
    return y if y < x else x


def py_max(x, y):
    return y if y > x else x


def tuple_compare(op, pairs, longer):
    """Elements decide from the left; `longer`: how much longer the left tuple is."""
    for x, y in pairs:
        if not x == y:
            return {"==": False, "!=": True, "<": x < y, "<=": x < y, ">": x > y, ">=": x > y}[op]
    return {"==": longer == 0, "!=": longer != 0, "<": longer < 0, "<=": longer <= 0, ">": longer > 0, ">=": longer >= 0}[op]


# ---- functions with an error bound: the reference, wider than the result ----

_LONG_ALIASES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
                 "atanh": "arctanh", "atan2": "arctan2", "pow": "power"}


def _libm(name, n):
    """A long double function of libm, on float64."""
    function = getattr(MATH, name + "l")
    function.restype, function.argtypes = ctypes.c_longdouble, [ctypes.c_longdouble] * n
    return function


_POW = MATH.pow
_POW.restype, _POW.argtypes = ctypes.c_double, [ctypes.c_double] * 2


def reference(name, *args):
    """The function in long double: np.longdouble."""
    if name in ("erf", "erfc", "tgamma", "lgamma", "exp10"):
        # ctypes hands long doubles over as float64: good to half an ulp of float64
        return np.longdouble(_libm(name, len(args))(*[float(a) for a in args]))
    with np.errstate(all="ignore"):
        if name == "pow" and any(math.isinf(a) or a == 0 for a in args):
            return np.longdouble(_POW(*args))  # glibc's powl(-inf, -2**63) is inf
        return getattr(np, _LONG_ALIASES.get(name, name))(*[np.longdouble(a) for a in args])
