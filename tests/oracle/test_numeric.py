"""Every helper of core/front/numeric/{integers,floats,numeric,complex}.c on every dtype, run on the host.

References: Python's own integers, cut to the width; NumPy's ufuncs for floats and complex numbers
(bit for bit, or within the ULP given here where both call a library). bfloat16 has no NumPy type:
its operands go through the float32 reference and are rounded once."""

import cmath
import ctypes
import functools
import itertools
import math

import numpy as np
import pytest

import ir_tools

HELPERS = ("integers", "overflow", "floats", "numeric", "complex", "complex_functions")
STORAGE = {"b1": "?", "f16": "f2", "bf16": "u2", "f32": "f4", "f64": "f8"}


def storage(dtype):
    return np.dtype(STORAGE.get(dtype) or f"{dtype[0]}{int(dtype[1:]) // 8}")


@functools.cache
def text(target="cpu"):
    path = ir_tools.program("numeric_dump", *(f"front/numeric/{name}.c" for name in HELPERS))
    return ir_tools.printed(path, target)


@functools.cache
def module():
    return ir_tools.HostModule(text())


@functools.cache
def cases():
    """{name: (input dtypes, output dtypes)}"""
    out = {}
    for line in text().splitlines():
        if line.startswith("; case "):
            name, *rest = line.split()[2:]
            arrow = rest.index("->")
            out[name] = (rest[:arrow], rest[arrow + 1 :])
    return out


def call(name, *inputs):
    """The outputs for these input arrays, as stored."""
    _, outs = cases()[name]
    n = len(inputs[0])
    arrays = [np.ascontiguousarray(a) for a in inputs]
    results = [np.zeros(n, storage(d)) for d in outs]
    pointers = [a.ctypes.data for a in arrays] + [None] * (4 - len(arrays))
    pointers += [r.ctypes.data for r in results] + [None] * (2 - len(results))
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6, ctypes.c_int64)(module()[name])
    function(*pointers, n)
    return results[0] if len(results) == 1 else tuple(results)


# ---- grids ----


def pairs(values):
    values = np.asarray(values)
    return np.repeat(values, len(values)), np.tile(values, len(values))


def int_grid(dtype):
    if dtype == "b1":
        return np.array([False, True])
    info = np.iinfo(storage(dtype))
    near = [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 15, 16, 31, 32, 33, 63, 64, 65, 66, 100, 120, 127]
    edge = [info.max, info.max - 1, info.max // 2, info.max // 2 + 1, info.max // 3]
    values = set(near + edge + [-v for v in near + edge] + [info.min, info.min + 1, -edge[0] // 2])
    values = sorted(v for v in values if info.min <= v <= info.max)
    return np.array(values, storage(dtype))


def float_grid(dtype):
    """As float16, float32 or float64; those of bfloat16 as float32 values that it can hold."""
    kind = np.dtype({"bf16": "f4"}.get(dtype) or storage(dtype))
    info = np.finfo(kind)
    values = [0.0, 1, 2, 3, 4, 0.5, 1.5, 2.5, 3.5, 0.75, 0.1, 0.3, 7, 10, 100, 1000.5, 2049, 1e-3, 1e-5]
    values += [float(info.max), float(info.max) / 2, float(info.tiny), float(info.tiny) * 2]
    values += [float(info.smallest_subnormal) * k for k in (1, 3)]
    values += [float(info.eps), 1 + float(info.eps), math.pi, math.e, 12.56, 255.0]
    values += [math.inf]
    with np.errstate(over="ignore"):
        array = np.array(values + [-v for v in values] + [math.nan], kind)
    rng = np.random.default_rng(7)
    array = np.concatenate([array, (rng.standard_normal(12) * 10).astype(kind)])
    return from_bf16(to_bf16(array)) if dtype == "bf16" else array


def to_bf16(values):
    """float32 -> the bits of bfloat16, half to even, NaN kept."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), (bits >> 16) | 0x40, rounded).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def store(dtype, array):
    return to_bf16(array) if dtype == "bf16" else np.asarray(array, storage(dtype))


def load(dtype, array):
    return from_bf16(array) if dtype == "bf16" else array


def ordered(array):
    bits = array.view(f"i{array.itemsize}").astype(np.int64)
    low = np.int64(-(1 << (8 * array.itemsize - 1))) if array.itemsize < 8 else np.iinfo(np.int64).min
    return np.where(bits < 0, low - bits, bits)


def check(name, got, want, inputs, ulp=0, zeros=True):
    """Equal within ulp; NaN equals NaN; `zeros`: their signs count."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, (name, got.dtype, want.dtype)
    if got.dtype.kind != "f":
        bad = got != want
    else:
        distance = np.abs(ordered(got).astype(object) - ordered(want).astype(object)).astype(np.float64)
        bad = (distance > ulp) & ~(np.isnan(got) & np.isnan(want))
        bad &= ~((got == want) & (not zeros or got != 0))
        if not zeros:
            bad &= ~(got == want)
        bad |= np.isnan(got) != np.isnan(want)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        at = [np.asarray(x)[i] for x in inputs]
        raise AssertionError(f"{name}{tuple(at)!r}: got {got[i]!r}, wanted {want[i]!r}; {int(bad.sum())} of {len(bad)}")


# ---- integers ----


def wrap(value, dtype):
    bits = storage(dtype).itemsize * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype[0] == "i" and value >> (bits - 1) else value


def int_power(x, y):
    if y >= 0:
        return pow(x, y, 1 << 64) if x >= 0 else (-1) ** (y & 1) * pow(-x, y, 1 << 64)
    return {1: 1, -1: -1 if y & 1 else 1}.get(x, 0)


def trunc_mod(x, y):
    return 0 if y == 0 else int(math.copysign(1, x)) * (abs(x) % abs(y))


def falling(n, k):
    return 0 if n < 0 or k < 0 or k > n else math.prod(range(n, n - min(k, 70), -1))


def comb(n, k):
    if n < 0 or k < 0 or k > n or min(k, n - k) > 60:
        return None if 0 <= k <= n else 0
    value = math.comb(n, k)
    return value if value < 1 << 63 else None  # what wraps on the way is not promised


def half_even(x, digits):
    return round(x, digits)


INT_UNARY = {
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "reciprocal": lambda x: x if abs(x) == 1 else 0,
    "truth": bool,
    "isqrt": lambda x: math.isqrt(max(x, 0)),
    "factorial": lambda x: 0 if x < 0 else math.factorial(min(x, 70)),
    "popcount": lambda x: abs(x).bit_count(),
    "floordiv_c7": lambda x: x // 7,
    "floordiv_c8": lambda x: x // 8,
    "floordiv_c0": lambda x: 0,
    "mod_c8": lambda x: x % 8,
    "power_c5": lambda x: x**5,
    "power_c0": lambda x: 1,
    "two_power": lambda x: 0 if x < 0 else 1 << min(x, 64),
    "shl_c3": lambda x: x << 3,
    "shr_c70": lambda x: -1 if x < 0 else 0,
    "shl_cm1": lambda x: 0,
    "round_m1": lambda x: half_even(x, -1),
    "round_m2": lambda x: half_even(x, -2),
}

INT_BINARY = {
    "floordiv": lambda x, y: x // y if y else 0,
    "mod": lambda x, y: x % y if y else 0,
    "divmod": lambda x, y: divmod(x, y) if y else (0, 0),
    "fmod": trunc_mod,
    "power": int_power,
    "min": min,
    "max": max,
    "minimum": min,
    "maximum": max,
    "fmin": min,
    "fmax": max,
    "shl": lambda x, y: x << y if 0 <= y < 64 else 0,
    "shr": lambda x, y: x >> (y if 0 <= y < 64 else 64),
    "gcd": math.gcd,
    "lcm": math.lcm,
    "comb": lambda n, k: comb(as_i64(n), as_i64(k)),
    "perm": lambda n, k: falling(as_i64(n), as_i64(k)),
}


def int_unary(base, dtype):
    if base == "floordiv_cm1":  # -1 is the largest number of an unsigned type
        return lambda x: x // (-1 if dtype[0] == "i" else (1 << storage(dtype).itemsize * 8) - 1)
    if base == "power_cm3":
        return (lambda x: {1: 1, -1: -1}.get(x, 0)) if dtype[0] == "i" else None
    return INT_UNARY[base]


def as_i64(x):
    return x - (1 << 64) if x >> 63 == 1 else x


def check_integers(name, base, dtype):
    _, outs = cases()[name]
    grid = int_grid(dtype)
    reference = int_unary(base, dtype) if len(cases()[name][0]) == 1 else INT_BINARY[base]
    if reference is None:
        pytest.skip("a negative constant is no exponent of an unsigned type")
    inputs = (grid,) if len(cases()[name][0]) == 1 else pairs(grid)
    got = call(name, *inputs)
    got = got if isinstance(got, tuple) else (got,)
    for i in range(len(inputs[0])):
        want = reference(*(a[i].item() for a in inputs))
        want = want if isinstance(want, tuple) else (want,)
        for g, w, out in zip(got, want, outs, strict=True):
            if w is not None:
                w = wrap(int(w), out) if out != "b1" else bool(w)
                assert g[i].item() == w, (name, [a[i].item() for a in inputs])


PAIR = {
    "lt": lambda x, y: x < y,
    "ge": lambda x, y: x >= y,
    "eq": lambda x, y: x == y,
    "shl": INT_BINARY["shl"],
    "shr": INT_BINARY["shr"],
}


def check_pair(name, base):
    (x, y), (out,) = cases()[name]
    a, b = int_grid(x), int_grid(y)
    left, right = np.repeat(a, len(b)), np.tile(b, len(a))
    got = call(name, left, right)
    for i in range(len(left)):
        want = PAIR[base](left[i].item(), right[i].item())
        assert got[i].item() == (want if out == "b1" else wrap(want, out)), (name, left[i], right[i])


# ---- floats ----


def np_ulp(x):
    down = np.abs(x) - np.nextafter(np.abs(x), type(x.flat[0])(0))
    up = np.nextafter(np.abs(x), x.dtype.type(np.inf)) - np.abs(x)
    return np.where(np.isinf(up) & np.isfinite(x), down, np.where(np.isinf(x), np.abs(x), up)).astype(x.dtype)


def np_spacing(x):
    return np.spacing(x)


def np_round(x, digits):
    """np.round, but for numbers so large that scaling them overflows."""
    unit = x.dtype.type(10.0 ** abs(digits))
    if digits < 0:
        return np.rint(x / unit) * unit
    scaled = x * unit
    return np.where(np.isfinite(scaled), np.rint(scaled) / unit, x).astype(x.dtype)


def exact_fma(x, y, z):
    """In float32 for the 16-bit types; exact by fractions otherwise."""
    from fractions import Fraction

    def one(a, b, c):
        if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
            return a * b + c
        total = Fraction(a) * Fraction(b) + Fraction(c)
        if total == 0:
            return a * b + c
        try:
            return float(total)
        except OverflowError:
            return math.inf if total > 0 else -math.inf

    return np.array([one(float(a), float(b), float(c)) for a, b, c in zip(x, y, z)], np.float64)


# name: (reference, ulp, signs of zero count)
FLOAT_UNARY = {
    "abs": (np.abs, 0, True),
    "sign": (np.sign, 0, True),
    "reciprocal": (np.reciprocal, 0, True),
    "truth": (lambda x: x != 0, 0, True),
    "spacing": (np_spacing, 0, True),
    "ulp": (np_ulp, 0, True),
    "signbit": (np.signbit, 0, True),
    "isnan": (np.isnan, 0, True),
    "isinf": (np.isinf, 0, True),
    "isfinite": (np.isfinite, 0, True),
    "frexp": (np.frexp, 0, True),
    "modf": (np.modf, 0, True),
    "rint": (np.rint, 0, True),
    "round_2": (lambda x: np_round(x, 2), 0, True),
    "round_down2": (lambda x: np_round(x, -2), 0, True),
    "degrees": (np.degrees, 1, True),
    "radians": (np.radians, 1, True),
    "square_pow": (np.square, 0, True),
    "cube_pow": (lambda x: np.power(x, x.dtype.type(3)), 2, True),
    "inverse_pow": (np.reciprocal, 0, True),
    "sinc": (lambda x: np.sinc(x.astype(np.promote_types(x.dtype, "f4"))).astype(x.dtype), 2, True),
}
FLOAT_BINARY = {
    "floordiv": (np.floor_divide, 0, True),
    "mod": (np.remainder, 0, True),
    "divmod": (np.divmod, 0, True),
    "fmod": (np.fmod, 0, True),
    "power": (np.power, 1, True),
    "min": (lambda x, y: np.where(y < x, y, x), 0, True),
    "max": (lambda x, y: np.where(y > x, y, x), 0, True),
    "minimum": (np.minimum, 0, False),
    "maximum": (np.maximum, 0, False),
    "fmin": (np.fmin, 0, False),
    "fmax": (np.fmax, 0, False),
    "logaddexp": (np.logaddexp, 2, True),
    "logaddexp2": (np.logaddexp2, 2, True),
    "heaviside": (np.heaviside, 0, True),
    "nextafter": (np.nextafter, 0, True),
}


def bf16_neighbours(base):
    """What depends on the format itself, on the bits of bfloat16."""

    def step(x):
        return from_bf16((to_bf16(x) & 0x7FFF) + np.uint16(1))

    def ulp(x):
        below = from_bf16((to_bf16(x) & 0x7FFF) - np.uint16(1))
        up = step(x) - np.abs(x)
        value = np.where(np.isinf(up) & np.isfinite(x), np.abs(x) - below, up)
        return np.where(np.isfinite(x), value, np.abs(x)).astype(np.float32)

    def spacing(x):
        value = np.copysign(step(x) - np.abs(x), np.where(x == 0, 1, x))
        return np.where(np.isfinite(x), value, np.nan).astype(np.float32)

    def nextafter(x, y):
        bits = to_bf16(x).astype(np.int64)
        away = (x < y) == (x > 0)
        moved = np.where(x == 0, np.where(np.signbit(y), 0x8001, 1), np.where(away, bits + 1, bits - 1))
        value = from_bf16(moved.astype(np.uint16))
        value = np.where(x == y, y, value)
        return np.where(np.isnan(x) | np.isnan(y), np.nan, value).astype(np.float32)

    return {"ulp": ulp, "spacing": spacing, "nextafter": nextafter}.get(base)


def check_floats(name, base, dtype):
    ins, outs = cases()[name]
    grid = float_grid(dtype)
    inputs = (grid,) if len(ins) == 1 else pairs(grid)
    table = FLOAT_UNARY if len(ins) == 1 else FLOAT_BINARY
    reference, ulp, zeros = table[base]
    if dtype == "bf16" and bf16_neighbours(base):
        reference = bf16_neighbours(base)
    with np.errstate(all="ignore"):
        want = reference(*inputs)
    got = call(name, *(store(dtype, a) for a in inputs))
    if len(outs) == 1:
        got, want = (got,), (want,)
    for g, w, out in zip(got, want, outs, strict=True):
        g = load(out, g)
        if out == "bf16":
            with np.errstate(all="ignore"):
                w = from_bf16(to_bf16(w))
            if base in ("round_2", "round_down2"):
                continue  # rounds after every step: below
            g, w = to_bf16(g).view(np.float16), to_bf16(w).view(np.float16)  # bits, for the distance
            keep = ~(np.isnan(from_bf16(g.view(np.uint16))) & np.isnan(from_bf16(w.view(np.uint16))))
            apart = np.abs(ordered(g)[keep] - ordered(w)[keep])
            close = apart <= (1 if ulp or base in ("modf", "sinc") else 0)
            if not zeros:
                close |= (g[keep].view(np.uint16) & 0x7FFF == 0) & (w[keep].view(np.uint16) & 0x7FFF == 0)
            assert close.all(), (name, [a[keep][~close][:3] for a in inputs])
            continue
        if out == "i32":
            w = w.astype(np.int32)
        check(name, g, np.asarray(w), inputs, ulp, zeros)


@functools.cache
def ldexp_reference(dtype):
    grid = float_grid(dtype)
    counts = np.array([0, 1, -1, 10, -10, 100, -100, 1023, -1022, -1074, 1100, -1100, 2100, -2200,
                       2**31, -(2**31), 2**62, -(2**62)], np.int64)
    x, n = np.repeat(grid, len(counts)), np.tile(counts, len(grid))
    clipped = np.clip(n, -5000, 5000).astype(np.int32)
    with np.errstate(all="ignore"):
        want = np.ldexp(x, clipped)
    return x, n, want


def check_ldexp(name, dtype):
    x, n, want = ldexp_reference(dtype)
    got = call(name, store(dtype, x), n)
    if dtype == "bf16":
        want = to_bf16(want)
        nan = np.isnan(from_bf16(want))
        assert ((got == want) | (nan & np.isnan(from_bf16(got)))).all()
    else:
        check(name, got, want, (x, n))


def check_fma(name, dtype):
    x, y = pairs(float_grid(dtype))
    wide = {"f16": np.float32, "bf16": np.float32}.get(dtype, storage(dtype))
    with np.errstate(all="ignore"):
        want = exact_fma(x, y, y).astype(wide)
        if dtype == "f16":
            want = want.astype(np.float16)
    got = call(name, store(dtype, x), store(dtype, y))
    if dtype == "bf16":
        want = to_bf16(want)
        same = (got == want) | (np.isnan(from_bf16(got)) & np.isnan(from_bf16(want)))
        assert same.all()
    elif dtype == "f32":  # the reference was rounded twice
        check(name, got, want, (x, y), ulp=1)
    else:
        check(name, got, want, (x, y))


def check_isclose(name, dtype):
    x, y = pairs(float_grid(dtype))
    with np.errstate(over="ignore"):
        close = np.nextafter(x, y) if dtype != "bf16" else x
    x, y = np.concatenate([x, x]), np.concatenate([y, close])
    got = call(name, store(dtype, x), store(dtype, y))
    if dtype == "f64":
        want = [math.isclose(a, b) for a, b in zip(x, y)]
    else:  # the tolerance is below their precision: equal or not, but where gaps round to 0
        want = [a == b for a, b in zip(x.tolist(), y.tolist())]
        tiny = np.abs(x) < 1e-2
        got, want = got[~tiny], np.array(want)[~tiny]
    assert (got == np.array(want)).all()


# ---- complex ----

C_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power,
    "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax,
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "greater_equal": np.greater_equal,
}  # fmt: skip


def multiplied(x, y):
    """Product by product: NumPy fuses some of them where the machine can."""
    out = np.empty_like(x)
    out.real = x.real * y.real - x.imag * y.imag
    out.imag = x.real * y.imag + x.imag * y.real
    return out


C_BINARY["mul"] = multiplied
C_UNARY = {
    "abs": np.abs, "angle": np.angle, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
    "truth": lambda z: z.astype(bool), "sign": np.sign, "reciprocal": np.reciprocal, "rint": np.rint,
    "square": lambda z: multiplied(z, z), "pow2": lambda z: multiplied(z, z),
}  # fmt: skip
C_EXACT = {"add", "sub", "mul", "div", "maximum", "minimum", "fmax", "sign", "reciprocal", "rint", "square", "pow2"}


def complex_grid(part):
    kind = storage(part)
    info = np.finfo(kind)
    values = [0.0, 1, 0.5, 2, 3.25, 1e-3, 0.9999, 12.0, float(info.max), float(info.tiny),
              float(info.smallest_subnormal), math.inf, 23.5, 1e-12, 1.0000001]
    values = np.array(values + [-v for v in values] + [math.nan], kind)
    re, im = pairs(values)
    out = np.empty(len(re), np.result_type(kind, np.complex64))
    out.real, out.imag = re, im
    return out


def call_complex(name, *inputs):
    got = call(name, *itertools.chain(*((np.ascontiguousarray(z.real), np.ascontiguousarray(z.imag)) for z in inputs)))
    if not isinstance(got, tuple):
        return got
    out = np.empty(len(got[0]), np.result_type(got[0].dtype, np.complex64))
    out.real, out.imag = got
    return out


def parts(array):
    return (array.real.copy(), array.imag.copy()) if array.dtype.kind == "c" else (array,)


def check_complex_arithmetic(name, base, part):
    grid = complex_grid(part)[::3]
    binary = base in C_BINARY
    inputs = pairs(grid) if binary else (complex_grid(part),)
    with np.errstate(all="ignore"):
        want = (C_BINARY if binary else C_UNARY)[base](*inputs)
    got = call_complex(name, *inputs)
    exact = base in C_EXACT or got.dtype.kind == "b"
    for g, w in zip(parts(got), parts(np.asarray(want)), strict=True):
        check(name, g, w.astype(g.dtype), inputs, 0 if exact else 2, zeros=base not in ("maximum", "minimum", "fmax"))


def check_complex_power(name, base, part):
    kind = np.result_type(storage(part), np.complex64)
    rng = np.random.default_rng(3)
    x = (rng.standard_normal(300) + 1j * rng.standard_normal(300)).astype(kind)
    y = (rng.standard_normal(300) + 1j * rng.standard_normal(300)).astype(kind)
    whole = rng.integers(-12, 13, 300)
    y[::2] = whole[::2]
    x[:20:4], y[20:40:4] = 0, 0
    exponent = {"pow7": 7, "powm2": -2}.get(base)
    if exponent is not None:
        y = np.full(300, exponent, kind)
    with np.errstate(all="ignore"):
        want = np.power(x, y)
    got = call_complex(name, x, y) if exponent is None else call_complex(name, x)
    wrong = np.isnan(want) != np.isnan(got)
    assert not wrong.any(), (x[wrong][:3], y[wrong][:3], got[wrong][:3], want[wrong][:3])
    finite = np.isfinite(want)
    got, want = got.astype(np.complex128)[finite], want.astype(np.complex128)[finite]
    error = np.abs(got - want) / np.maximum(np.abs(want), 1e-300)
    assert error.max() <= 60 * np.finfo(storage(part)).eps, (name, error.max())


def check_complex_function(name, base, part):
    """Against NumPy in long double (here 64 digits of binary, so also log1p is right); the error relative to |result| for ordinary arguments, and the
    special values of C99's Annex G, which cmath has too."""
    kind = storage(part)
    rng = np.random.default_rng(11)
    n = 2000
    z = (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 2, n)) + 1j * (
        rng.standard_normal(n) * 10.0 ** rng.integers(-3, 2, n)
    )
    z = z.astype(np.result_type(kind, np.complex64))
    with np.errstate(all="ignore"):
        want = getattr(np, base)(z.astype(np.clongdouble))
    got = call_complex(name, z)
    eps = np.finfo(kind).eps
    with np.errstate(all="ignore"):
        error = (np.abs(got - want) / np.maximum(np.abs(want), 1e-300)).astype(np.float64)
    # exp2 multiplies by log(2) first, as NumPy does: the angle is off by half an ulp of itself
    limit = eps * (4 + np.abs(z) if base == "exp2" else 4)
    fits = np.isfinite(want) & (np.abs(want) < np.finfo(kind).max / 4)
    i = int(np.argmax(np.where(fits, error / limit, 0)))
    assert not fits[i] or error[i] <= np.broadcast_to(limit, error.shape)[i], (name, z[i], got[i], want[i], error[i] / eps)


SPECIAL = ["sqrt", "exp", "log", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan",
           "asinh", "acosh", "atanh"]  # fmt: skip
NUMPY_NAME = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
              "atanh": "arctanh"}  # fmt: skip


def agrees(argument, got, want):
    """Signs count where the standard fixes them: of zeros, for finite arguments."""
    finite = math.isfinite(argument.real) and math.isfinite(argument.imag)
    for g, w in ((got.real, want.real), (got.imag, want.imag)):
        if math.isnan(w) or math.isnan(g):
            if not (math.isnan(w) and math.isnan(g)):
                return False
        elif abs(g) != abs(w) and abs(g - w) > 1e-14 * abs(w):
            return False
        elif (w != 0 or finite) and math.copysign(1, g) != math.copysign(1, w) and finite:
            return False
    return True


@pytest.mark.parametrize("base", SPECIAL)
def test_special_values(base):
    """inf, NaN, zeros of both signs and branch cuts: as NumPy (the C library) or as cmath, which
    are of different editions of the standard in a few NaN cases."""
    values = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, math.inf, -math.inf, math.nan, 1e300, -1e300, 1e-310]
    z = np.array([complex(x, y) for x in values for y in values])
    got = call_complex(f"c_{NUMPY_NAME.get(base, base)}__f64", z)
    with np.errstate(all="ignore"):
        libm = getattr(np, NUMPY_NAME.get(base, base))(z)
    for i, argument in enumerate(z.tolist()):
        wanted = [libm[i].item()]
        try:
            wanted.append(getattr(cmath, base)(argument))
        except (ValueError, OverflowError):
            pass
        assert any(agrees(argument, got[i].item(), want) for want in wanted), (base, argument, got[i], wanted)


# ---- all of them ----


def split(name):
    base, dtype = name.split("__")
    return base, dtype


@functools.cache
def names():
    return sorted(cases())


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", names())


def test_helper(case):
    base, dtype = split(case)
    if base.startswith("pair_"):
        check_pair(case, base[5:])
    elif base.startswith("c_"):
        base = base[2:]
        if base in ("pow", "pow7", "powm2"):
            check_complex_power(case, base, dtype)
        elif base in C_BINARY or base in C_UNARY:
            check_complex_arithmetic(case, base, dtype)
        else:
            check_complex_function(case, base, dtype)
    elif base == "ldexp":
        check_ldexp(case, dtype)
    elif base == "fma":
        check_fma(case, dtype)
    elif base == "isclose":
        check_isclose(case, dtype)
    elif dtype in ("f16", "bf16", "f32", "f64"):
        check_floats(case, base, dtype)
    else:
        check_integers(case, base, dtype)


def test_gpu_text_compiles():
    """The same helpers for a GPU, through libNVVM where it is installed."""
    if ir_tools.gpu_tools() is None:
        pytest.skip("libNVVM is not installed")
    assert ir_tools.compile_nvvm(text("cuda"), 90, "-opt=0")
