"""Every row of names.def on every dtype, through compiled functions.

NumPy's functions: the dtype NumPy gives (8- and 16-bit integers go to float32) and its values, bit for bit,
or within intrinsics.def's bound of a wider reference. What NumPy refuses is refused (E120). math and cmath:
libm and CPython. Builtins and operator: CPython itself.
"""

from __future__ import annotations

import builtins
import cmath
import ctypes
import functools
import math
import operator

import numpy as np
import pytest

import lanewise

pytest.importorskip("lanewise._core")

import values as v
from values import COMPLEX, DTYPES, FLOATS, INTS, NUMPY, SHORT

RULES = v.fuzz_module("typing_rules")
NAMES = RULES.names()
INEXACT = v.fuzz_module("named_rules").INEXACT
INEXACT_MORE = {**INEXACT, "ERF": "erf", "ERFC": "erfc", "TGAMMA": "tgamma", "LGAMMA": "lgamma"}
LETTERS = ["x", "y", "z"]
TESTED = set()


def met(path):
    TESTED.add(path)
    return path


def bound_of(impl, t):
    """Both targets' bound, in ulp, for one test of both; half an ulp is the reference's."""
    if t == "f2":
        return 1.0
    row = RULES.ulps()[INEXACT_MORE[impl]]
    wide = t == "f8"
    return max(row[wide], row[2 + wide]) + 0.5


def long_libm(name):
    """A function of long doubles, on arrays; the result passes through float64."""
    function = getattr(ctypes.CDLL("libm.so.6"), name + "l")
    function.restype, function.argtypes = ctypes.c_longdouble, [ctypes.c_longdouble]
    return np.vectorize(lambda x: function(float(x)), otypes=[np.longdouble])


@functools.cache
def reference(impl):
    name = INEXACT_MORE[impl]
    if name in ("erf", "erfc", "tgamma", "lgamma"):
        return long_libm(name)
    if name == "pow":
        return long_power
    aliases = v.fuzz_module("semantics")._LONG_ALIASES
    function = getattr(np, aliases.get(name, name))
    return lambda *arrays: function(*[a.astype(np.longdouble) for a in arrays])


def long_power(x, y):
    """Infinite bases in float64: glibc's powl(-inf, -2**63) is inf."""
    x, y = x.astype(np.longdouble), y.astype(np.longdouble)
    pow = np.vectorize(v.fuzz_module("semantics")._POW, otypes=["f8"])  # np.power(-inf, 0.5) is sqrt's NaN
    return np.where(np.isinf(x), pow(x.astype("f8"), y.astype("f8")), np.power(x, y))


def keeps_precision(impl, arrays):
    """lgamma crosses zero left of -2, where no library keeps relative precision."""
    x = arrays[0].astype("f8")
    return ~((x < 0) & (x > -1000)) if impl == "LGAMMA" else np.ones(x.shape, bool)


def judge(text, impl, got, want, arrays, t):
    """A text of what is wrong, or None. want: of NumPy or Python; inexact functions have their own."""
    if impl in INEXACT_MORE and t in FLOATS:
        with np.errstate(all="ignore"):
            want = reference(impl)(*[a.astype(NUMPY[t]) for a in arrays])
        keep = keeps_precision(impl, arrays)
        at = v.first_far(got[keep], want[keep], t, bound_of(impl, t))
        return None if at is None else v.told(text, at, [a[keep] for a in arrays], got[keep], want[keep])
    if got.dtype != want.dtype:
        return f"{text}: {got.dtype} instead of {want.dtype}"
    at = v.first_difference(got, want)
    return None if at is None else v.told(text, at, arrays, got, want)


def run_all(evaluate, params, arrays, cases):
    """cases: (text, judge of the output). All failures at once."""
    wrong = []
    for part in v.chunks(cases, 60 - len(params)):
        got = evaluate(v.compiled(params, [text for text, _ in part]), *arrays)
        assert len(got) == len(part)
        wrong += [problem for (_, judged), g in zip(part, got) if (problem := judged(g))]
    assert not wrong, "\n".join(wrong)


# ---- numpy.* ----

SPECIAL = {"numpy.where", "numpy.clip", "numpy.round", "numpy.around", "numpy.ldexp", "numpy.frexp", "numpy.modf", "numpy.divmod",
           "numpy.power", "numpy.pow", "numpy.float_power", "numpy.logaddexp", "numpy.logaddexp2", "numpy.sinc", "numpy.angle",
           "numpy.degrees", "numpy.rad2deg", "numpy.radians", "numpy.deg2rad"}
MADE = {"numpy.empty", "numpy.ndindex", "numpy.ndenumerate"}  # tests/py/test_new_arrays.py, test_array_library.py
PLAIN = [path for path in NAMES if path.startswith("numpy.") and path not in SPECIAL | MADE and hasattr(np, path[6:])]
COMPLEX_FUNCTIONS = [path for path in PLAIN if NAMES[path].rule == "NP_FLOAT_C" and NAMES[path].impl != "RINT"]


def numpy_inputs(path, t, arrays):
    """What NumPy is given so that it computes in our type."""
    rule = NAMES[path].rule
    if rule.startswith("NP_FLOAT") and rule != "NP_FLOAT_BOOL" and t in ("b1", "i1", "u1"):
        return [a.astype("f4") for a in arrays]
    return arrays


def numpy_answer(path, arrays):
    """NumPy's result, or None where it has none for these dtypes."""
    try:
        with np.errstate(all="ignore"):
            return getattr(np, path[6:])(*arrays)
    except TypeError:
        return None


def plain_cases(t, arrays):
    for path in PLAIN:
        row, n = NAMES[path], NAMES[path].least
        mine = numpy_inputs(path, t, arrays[:n])
        want = numpy_answer(path, mine)
        if want is None or (t in COMPLEX and not exact_on_complex(path)):
            continue
        text = f"np.{path[6:]}({', '.join(LETTERS[:n])})"
        compute = SHORT[mine[0].dtype] if row.impl not in INEXACT else SHORT[want.dtype]
        yield text, functools.partial(judge_plain, text, row.impl, want, arrays[:n], compute)
        met(path)


def judge_plain(text, impl, want, arrays, t, got):
    if impl in ("MAXIMUM", "MINIMUM", "FMAX", "FMIN"):  # NumPy leaves the sign of equal zeros open
        got, want = got + got.dtype.type(0), want + want.dtype.type(0)
    if impl == "SIGNBIT" or impl == "COPYSIGN":
        keep = ~np.isnan(arrays[-1]) if arrays[-1].dtype.kind == "f" else slice(None)
        got, want, arrays = got[keep], want[keep], [a[keep] for a in arrays]
    if impl == "RECIPROCAL" and got.dtype.kind in "iu":  # NumPy casts an infinity, which is undefined
        keep = arrays[0] != 0
        got, want, arrays = got[keep], want[keep], [a[keep] for a in arrays]
    return judge(text, impl, got, want, arrays, t)


def exact_on_complex(path):
    return path not in COMPLEX_FUNCTIONS and NAMES[path].impl not in (
        "MUL", "DIV", "SQUARE", "RECIPROCAL", "ABS", "SIGN", "MAXIMUM", "MINIMUM", "FMAX", "FMIN", "POW")


@pytest.mark.parametrize("t", DTYPES)
def test_numpy_functions(t, evaluate):
    arrays = [v.values(t, seed=i) for i in range(3)]
    if t in ("b1", *INTS):
        arrays[1][::3] = np.abs(arrays[1][::3]) % 9 if t != "b1" else arrays[1][::3]
    run_all(evaluate, LETTERS, arrays, list(plain_cases(t, arrays)))


@pytest.mark.parametrize("t", DTYPES)
def test_numpy_refuses_and_so_do_we(t, on_device):
    if on_device:
        pytest.skip("nothing to run")
    arrays = [np.ones(2, NUMPY[t])] * 3
    wrong = []
    for path in PLAIN:
        n = NAMES[path].least
        if numpy_answer(path, arrays[:n]) is None:
            code = v.refusal(LETTERS[:n], f"np.{path[6:]}({', '.join(LETTERS[:n])})", arrays[:n])
            if code != "E120":
                wrong.append(f"{path} of {t}: {code}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("t", DTYPES)
def test_numpy_special(t, evaluate):
    x, y = v.values(t, seed=1), v.values(t, seed=2)
    n = v.values("i4", seed=3) % 50
    cases = []

    def case(text, want, ulps=None):
        cases.append((text, functools.partial(judge_special, text, want, [x, y, n], ulps)))

    with np.errstate(all="ignore"):
        case("np.where(z > 20, x, y)", np.where(n > 20, x, y))
        met("numpy.where")
        if t not in COMPLEX:
            low, high = np.minimum(x, y), np.maximum(x, y)
            case("np.clip(z, np.int32(10), np.int32(20))", np.clip(n, 10, 20))
            case("np.clip(x, np.minimum(x, y), np.maximum(x, y))", np.clip(x, low, high))
            met("numpy.clip")
            special_real(t, x, y, n, case)
        if t != "b1":
            small = np.where(np.isfinite(x) & (np.abs(x.astype("c16")) < 1000), x, x.dtype.type(1))
            for name in ("round", "around"):
                if t in ("f4", "f8", *COMPLEX):
                    case(f"np.{name}(np.where((abs(x) < 1000), x, 1), 2)", np.round(small, 2))
                    case(f"np.{name}(np.where((abs(x) < 1000), x, 1), -1)", np.round(small, -1))
                case(f"np.{name}(x)", np.round(x))
                met(f"numpy.{name}")
    run_all(evaluate, LETTERS, [x, y, n], cases)


def special_real(t, x, y, n, case):
    f = NUMPY["f4" if t in ("b1", "i1", "u1", "i2", "u2") else "f8" if t in INTS else t]
    a, b = x.astype(f), y.astype(f)
    case("np.ldexp(x, z)", np.ldexp(a, n))
    mantissa, exponent = np.frexp(a)
    case("np.frexp(x)[0]", mantissa)
    case("np.frexp(x)[1]", np.where(np.isfinite(a), exponent, 0).astype("i4"))
    case("np.modf(x)[0]", np.modf(a)[0])
    case("np.modf(x)[1]", np.modf(a)[1])
    whole = x.astype("i1") if t == "b1" else x
    other = y.astype("i1") if t == "b1" else y
    case("np.divmod(x, y)[0]", np.divmod(whole, other)[0])
    case("np.divmod(x, y)[1]", np.divmod(whole, other)[1])
    for name in ("ldexp", "frexp", "modf", "divmod", "power", "pow", "float_power"):
        met(f"numpy.{name}")
    for name in ("power", "pow"):
        if t in INTS:
            case(f"np.{name}(x, y & 7)", np.power(x, y & 7))
        elif t in FLOATS:
            case(f"np.{name}(x, y)", long_power(x, y), (bound_of("POW", t), t))
    wide = x.astype("f8").astype(np.longdouble), y.astype("f8").astype(np.longdouble)
    case("np.float_power(x, y)", long_power(*wide), (bound_of("POW", "f8"), "f8"))
    t = SHORT[f]
    for name in ("degrees", "rad2deg", "radians", "deg2rad"):
        case(f"np.{name}(x)", getattr(np, name)(a.astype(np.longdouble)), (1.5, t))
        met(f"numpy.{name}")
    for name in ("logaddexp", "logaddexp2"):
        want = getattr(np, name)(a.astype(np.longdouble), b.astype(np.longdouble))
        case(f"np.{name}(x, y)", want, (("of", np.maximum(np.abs(a), np.abs(b))), t))
        met(f"numpy.{name}")
    finite = np.where(np.abs(a) < 1000, a, f.type(1))
    case("np.sinc(np.where(abs(x) < 1000, x, 1))" if t != "f2" else "np.sinc(np.float16(np.where(abs(x) < 1000, x, 1)))",
         np.sinc(finite.astype(np.longdouble)), (("of", np.maximum(np.abs(finite), 1)), t))
    met("numpy.sinc")
    case("np.angle(x)", np.where(np.isnan(a), np.nan, np.where(np.signbit(a), np.pi, 0)).astype(np.longdouble), (1.5, t))
    met("numpy.angle")


def judge_special(text, want, arrays, ulps, got):
    if ulps is None:
        return judge(text, "", got, want, arrays, "")
    bound, t = ulps
    if isinstance(bound, tuple):  # relative to the operands, which may cancel
        with np.errstate(all="ignore"):
            size = np.maximum(np.abs(bound[1].astype(np.longdouble)), np.abs(want))
            near = np.abs(got.astype(np.longdouble) - want) <= 8 * np.finfo(NUMPY[t]).eps * size
        near |= (got == want) | (np.isnan(got) & np.isnan(want)) | ~np.isfinite(want.astype(NUMPY[t]))
        at = next(iter(np.flatnonzero(~near)), None)
    else:
        at = v.first_far(got, want, t, bound)
    return None if at is None else v.told(text, at, arrays, got, want)


# ---- math.* ----

MATH = [path for path in NAMES if path.startswith("math.") and hasattr(math, path[5:])]
MATH_FLOAT = [path for path in MATH if NAMES[path].rule == "FLOAT" and NAMES[path].least <= 2 and path != "math.hypot"]
EXACT_MATH = {"SQRT": np.sqrt, "FABS": np.fabs, "FMOD": np.fmod, "COPYSIGN": np.copysign, "NEXTAFTER": np.nextafter}


def math_reference(impl, arrays, t):
    semantics = v.fuzz_module("semantics")
    if impl in EXACT_MATH:
        return EXACT_MATH[impl](*arrays)
    if impl == "IEEE_REMAINDER":
        rows = [v.fuzz_module("named_rules").remainder(t, *pair) for pair in zip(*[a.tolist() for a in arrays])]
        return np.array(rows, NUMPY[t])
    if impl == "ULP":
        rows = [ulp(x, t) for x in arrays[0]]
        return np.array(rows, NUMPY[t])
    scale = {"DEGREES": semantics.degrees, "RADIANS": semantics.radians}.get(impl)
    return np.array([scale(t, x) for x in arrays[0].tolist()], NUMPY[t]) if scale else None


def ulp(x, t):
    kind = NUMPY[t].type
    x = abs(x)
    if not np.isfinite(x):
        return x
    up = np.nextafter(x, kind(np.inf))
    return up - x if np.isfinite(up) else x - np.nextafter(x, kind(0))


@pytest.mark.parametrize("t", [*FLOATS, "i4", "u8", "b1"])
def test_math_functions(t, evaluate):
    arrays = [v.values(t, seed=i) for i in range(2)]
    float_type = t if t in FLOATS else "f8"
    inner = [a.astype(NUMPY[float_type]) for a in arrays]
    cases = []
    for path in MATH_FLOAT:
        row = NAMES[path]
        text = f"{path}({', '.join(LETTERS[: row.least])})"
        with np.errstate(all="ignore"):
            want = math_reference(row.impl, inner[: row.least], float_type)
        assert want is not None or row.impl in INEXACT_MORE, path
        cases.append((text, functools.partial(judge_plain, text, row.impl, want, inner[: row.least], float_type)))
        met(path)
    run_all(evaluate, LETTERS[:2], arrays, cases)


@pytest.mark.parametrize("t", FLOATS)
def test_math_more(t, evaluate):
    x, y = v.values(t, seed=1), v.values(t, seed=2)
    n = v.values("i4", seed=3) % 40 - 20
    kind = NUMPY[t].type
    with np.errstate(all="ignore"):
        def integral(f):
            return np.array([np.clip(v.exact_int(f(a)), -(2**63), 2**63 - 1) if np.isfinite(a) else
                             0 if np.isnan(a) else (2**63 - 1 if a > 0 else -(2**63)) for a in x.tolist()], "i8")

        cases = [
            ("math.floor(x)", integral(math.floor)), ("math.ceil(x)", integral(math.ceil)), ("math.trunc(x)", integral(math.trunc)),
            ("round(x)", integral(round)), ("math.isnan(x)", np.isnan(x)), ("math.isinf(x)", np.isinf(x)), ("math.isfinite(x)", np.isfinite(x)),
            ("math.ldexp(x, z)", np.ldexp(x, n)), ("math.frexp(x)[0]", np.frexp(x)[0]),
            ("math.frexp(x)[1]", np.where(np.isfinite(x), np.frexp(x)[1], 0).astype("i8")),
            ("math.modf(x)[0]", np.modf(x)[0]), ("math.modf(x)[1]", np.modf(x)[1]), ("math.hypot()", np.zeros(x.shape, "f8")), ("math.hypot(x)", np.abs(x)),
            ("math.isclose(x, x)", ~np.isnan(x)),
        ]
        if t != "f2":  # whose differences are rounded
            cases.append(("math.isclose(x, y, rel_tol=0.5, abs_tol=1.0)",
                          np.array([math.isclose(a, b, rel_tol=0.5, abs_tol=1.0) for a, b in zip(x.tolist(), y.tolist())])))
    for name in ("floor", "ceil", "trunc", "isnan", "isinf", "isfinite", "ldexp", "frexp", "modf", "hypot", "isclose"):
        met(f"math.{name}")
    judged = [(text, functools.partial(judge, text, "", want=want, arrays=[x, y, n], t=t)) for text, want in cases]
    run_all(evaluate, LETTERS, [x, y, n], judged)
    third = np.abs(x) + kind(1)
    with np.errstate(all="ignore"):
        wide = [a.astype(np.longdouble) for a in (x, y, third)]
        triple = np.hypot(np.hypot(*wide[:2]), wide[2])
        logs = np.log(np.abs(wide[0])) / np.log(wide[2])
    got = evaluate(v.compiled(LETTERS, ["math.hypot(x, y)", "math.hypot(x, y, z)", "math.log(abs(x), z)"]), x, y, third)
    for g, want, bound in zip(got, (np.hypot(*wide[:2]), triple, logs), (bound_of("HYPOT", t), 2 * bound_of("HYPOT", t) + 1, 2 * bound_of("LOG", t) + 2)):
        keep = third > 1.5 if want is logs else slice(None)
        at = v.first_far(g[keep], want[keep], t, bound)
        assert at is None, v.told("hypot or log", at, [a[keep] for a in (x, y, third)], g[keep], want[keep])


@pytest.mark.parametrize("t", INTS)
def test_math_integers(t, evaluate):
    semantics = v.fuzz_module("semantics")
    x, y = v.values(t, seed=1), v.values(t, seed=2)
    pairs = list(zip(x.tolist(), y.tolist()))
    kind = NUMPY[t]
    small = [abs(a) % 21 for a in x.tolist()]
    cases = [("math.gcd(x, y)", np.array([semantics.gcd(t, *p) for p in pairs], kind)),
             ("math.lcm(x, y)", np.array([semantics.lcm(t, *p) for p in pairs], kind)),
             ("math.gcd(x)", np.array([semantics.gcd(t, a, 0) for a, _ in pairs], kind)),
             ("math.gcd()", np.zeros(len(x), "i8")), ("math.lcm()", np.ones(len(x), "i8")),
             ("math.isqrt(x)", np.array([semantics.isqrt(t, a) for a, _ in pairs], kind)),
             ("math.factorial(abs(int(x)) % 21)", np.array([math.factorial(a % 21) for a in map(wrapped_abs, x.tolist())], "i8")),
             ("math.comb(abs(int(x)) % 21, abs(int(y)) % 9)", np.array([math.comb(wrapped_abs(a) % 21, wrapped_abs(b) % 9) for a, b in pairs], "i8")),
             ("math.perm(abs(int(x)) % 21, abs(int(y)) % 9)", np.array([math.perm(wrapped_abs(a) % 21, wrapped_abs(b) % 9) for a, b in pairs], "i8")),
             ("math.perm(abs(int(x)) % 21)", np.array([math.perm(wrapped_abs(a) % 21) for a, _ in pairs], "i8")),
             ("math.floor(x)", np.array([a for a, _ in pairs], object).astype("u8").astype("i8") if t == "u8" else x.astype("i8"))]
    assert all(0 <= a < 21 for a in small)
    for name in ("gcd", "lcm", "isqrt", "factorial", "comb", "perm"):
        met(f"math.{name}")
    run_all(evaluate, LETTERS[:2], [x, y], [(text, functools.partial(judge, text, "", want=w, arrays=[x, y], t=t)) for text, w in cases])


def wrapped_abs(a):
    """abs() in int64."""
    a = (a + 2**63) % 2**64 - 2**63
    return (abs(a) + 2**63) % 2**64 - 2**63


def libm(name, t, n):
    """libm's own function of float or double, on arrays."""
    function = getattr(ctypes.CDLL("libm.so.6"), name + ("f" if t == "f4" else ""))
    kind = ctypes.c_float if t == "f4" else ctypes.c_double
    function.restype, function.argtypes = kind, [kind] * n
    return np.vectorize(function, otypes=[NUMPY[t]])


@pytest.mark.parametrize("t", ["f4", "f8"])
def test_precise_equals_libm(t, on_device):
    if on_device:
        pytest.skip("precise=True is about the host's libm")
    x, y = v.values(t, seed=1), v.values(t, seed=2)
    names = [name for impl, name in INEXACT_MORE.items() if impl not in ("TGAMMA", "LGAMMA") and hasattr(math, name)]
    names = [(name, 2 if name in ("atan2", "pow", "hypot") else 1) for name in names]
    f = v.compiled(["x", "y"], [f"math.{name}({'x, y'[: 3 * n - 2]})" for name, n in names], precise=True)
    with np.errstate(all="ignore"):
        for (name, n), got in zip(names, f(x, y)):
            want = libm(name, t, n)(*[x, y][:n])
            at = v.first_difference(got, want)
            assert at is None, v.told(f"math.{name}", at, [x, y], got, want)


# ---- complex functions ----

CMATH = [path for path in NAMES if path.startswith("cmath.")]
CMATH_PLAIN = [path for path in CMATH if NAMES[path].rule == "COMPLEX"]
CUTS = [complex(re, im) for re in (-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0) for im in (-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0)]
SPECIALS = [complex(re, im) for re in (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -1.5) for im in (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -1.5)]


def complex_values(t):
    rng = np.random.default_rng(5)
    disc = rng.uniform(-3, 3, 200) + 1j * rng.uniform(-3, 3, 200)
    far = np.exp2(rng.uniform(-20, 20, 200)) * np.exp(1j * rng.uniform(-np.pi, np.pi, 200))
    return np.concatenate([CUTS, SPECIALS, disc, far]).astype(NUMPY[t])


def complex_problem(text, z, got, want, eps):
    """Both parts within a bound relative to the size; at specials the same kind, and signs where a
    part is not NaN (C99 leaves some signs open where the other part is NaN)."""
    for i, (g, w) in enumerate(zip(got.tolist(), want.tolist())):
        open_sign = bool(np.isnan(z[i].real) or np.isnan(z[i].imag))  # C99: unspecified, GPU NaNs have another sign
        if text.startswith("cmath."):  # CPython's signs, where the reference is NumPy: tests/py/test_cmath_values.py
            open_sign |= not (np.isfinite(z[i].real) or np.isfinite(z[i].imag))
        if not complex_near(g, w, eps, open_sign):
            return f"{text} of {z[i]!r}: got {g!r}, expected {w!r}"
    return None


def complex_near(g, w, eps, open_sign=False):
    if any(map(math.isnan, (w.real, w.imag))):
        if any(map(math.isinf, (w.real, w.imag))):
            return any(map(math.isinf, (g.real, g.imag))) or any(map(math.isnan, (g.real, g.imag)))
        return any(map(math.isnan, (g.real, g.imag)))
    size = abs(w)
    for a, b in ((g.real, w.real), (g.imag, w.imag)):
        if math.isinf(b):
            if a != b:
                return False
        elif not abs(a - b) <= 16 * eps * (size if math.isfinite(size) else abs(b)):
            return False
        elif b == 0 and a == 0 and not open_sign and math.copysign(1, a) != math.copysign(1, b):
            return False
    return True


def complex_reference(name, z):
    """NumPy in complex128; its log1p cancels near 0."""
    if name == "log1p":
        x, y = z.real.astype(np.longdouble), z.imag.astype(np.longdouble)
        with np.errstate(all="ignore"):
            want = np.log1p(z.astype("c16"))
            want.real = np.where(np.abs(z) < 0.5, np.log1p(x * (2 + x) + y * y) / 2, want.real)
        return want
    aliases = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
    with np.errstate(all="ignore"):
        return getattr(np, aliases.get(name, name))(z.astype("c16"))


@pytest.mark.parametrize("t", COMPLEX)
def test_complex_functions(t, evaluate):
    z = complex_values(t)
    paths = CMATH_PLAIN + COMPLEX_FUNCTIONS
    texts = [f"{path.replace('numpy.', 'np.')}(z)" for path in paths]
    eps = float(np.finfo(NUMPY[COMPLEX[t]]).eps)
    wrong = []
    for some in v.chunks(list(zip(paths, texts)), 20):
        got = evaluate(v.compiled(["z"], [text for _, text in some]), z)
        for (path, text), g in zip(some, got):
            want = complex_reference(path.split(".")[1], z)
            with np.errstate(all="ignore"):
                keep = fits(want, t)
            if path == "numpy.expm1":  # C has none: NumPy's formula gives NaN where exp gives 0
                keep &= np.isfinite(z.imag)
            assert g.dtype == NUMPY[t]
            problem = complex_problem(text, z[keep], g[keep].astype("c16"), want[keep], eps)
            wrong += [problem] if problem else []
            met(path)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("t", ["f4", "f8", "c16"])
def test_every_function_compiles_for_gpus(t, arch):
    """With line tables, which libNVVM prints into calls when a helper has line 0."""
    import lanewise as lw

    names = CMATH_PLAIN + COMPLEX_FUNCTIONS if t in COMPLEX else MATH_FLOAT
    texts = [f"{path.replace('numpy.', 'np.')}({', '.join(LETTERS[: NAMES[path].least])})" for path in names]
    try:
        cubin = lw.compile(v.function(LETTERS[:2], texts), f"({NUMPY[t].name}, {NUMPY[t].name})", target=arch, output="cubin")
    except lw.errors.CompilerNotFound as missing:
        pytest.skip(str(missing))
    assert cubin[:4] == b"\x7fELF"


def fits(want, t):
    """Neither over- nor underflows in the narrow type, where parts round to inf or 0."""
    info = np.finfo(NUMPY[COMPLEX[t]])
    parts = np.abs(np.stack([want.real, want.imag]))
    return ((parts == 0) | ~np.isfinite(parts) | ((parts < info.max / 4) & (parts > info.tiny * 4))).all(axis=0)


@pytest.mark.parametrize("t", COMPLEX)
def test_complex_more(t, evaluate):
    z, w = complex_values(t), complex_values(t)[::-1].copy()
    part = NUMPY[COMPLEX[t]]
    with np.errstate(all="ignore"):
        exact = {"cmath.isnan(z)": np.isnan(z), "cmath.isinf(z)": np.isinf(z), "cmath.isfinite(z)": np.isfinite(z), "np.real(z)": z.real,
                 "np.imag(z)": z.imag, "z.real": z.real, "z.imag": z.imag, "np.conj(z)": np.conj(z), "z.conjugate()": np.conj(z),
                 "np.positive(z)": z, "np.negative(z)": -z, "np.rint(z)": np.rint(z), "z == w": z == w, "bool(z)": z != 0,
                 "complex(z.real, z.imag) == z": z == z,
                 "cmath.isclose(z, w)": np.array([cmath.isclose(a, b) for a, b in zip(z.tolist(), w.tolist())]),
                 "cmath.isclose(z, w, rel_tol=0.25, abs_tol=1)": np.array([cmath.isclose(a, b, rel_tol=0.25, abs_tol=1) for a, b in zip(z.tolist(), w.tolist())])}
        sizes = np.abs(z.astype("c16")).astype(np.longdouble)
        angles = np.angle(z.astype("c16")).astype(np.longdouble)
    got = evaluate(v.compiled(["z", "w"], list(exact)), z, w)
    for (text, want), g in zip(exact.items(), got):
        at = v.first_difference(g, np.ascontiguousarray(want))
        assert at is None, v.told(text, at, [z, w], g, want)
    near = ["abs(z)", "np.abs(z)", "np.absolute(z)", "cmath.polar(z)[0]", "cmath.phase(z)", "cmath.polar(z)[1]", "np.angle(z)"]
    for text, g in zip(near, evaluate(v.compiled(["z"], near), z)):
        want = sizes if near.index(text) < 4 else angles
        at = v.first_far(g, want, SHORT[part], max(bound_of("HYPOT", SHORT[part]), bound_of("ATAN2", SHORT[part])) + 1)
        assert at is None, v.told(text, at, [z], g, want)
    for name in ("isnan", "isinf", "isfinite", "isclose", "polar", "phase"):
        met(f"cmath.{name}")


@pytest.mark.parametrize("t", COMPLEX)
def test_complex_arithmetic(t, evaluate):
    """Products, quotients, powers and what is made of them, against complex128 (or longer)."""
    rng = np.random.default_rng(9)
    z, w = [np.exp2(rng.uniform(-6, 6, 300)) * np.exp(1j * rng.uniform(-3, 3, 300)) for _ in range(2)]
    z, w = z.astype(NUMPY[t]), w.astype(NUMPY[t])
    eps = float(np.finfo(NUMPY[COMPLEX[t]]).eps)
    long_z, long_w = z.astype(np.clongdouble), w.astype(np.clongdouble)
    texts = {"z * w": long_z * long_w, "z / w": long_z / long_w, "np.multiply(z, w)": long_z * long_w, "np.divide(z, w)": long_z / long_w,
             "np.square(z)": long_z * long_z, "np.reciprocal(z)": 1 / long_z, "np.sign(z)": long_z / np.abs(long_z), "z ** 2": long_z**2, "z ** 3": long_z**3,
             "np.sqrt(z) * np.sqrt(z)": long_z, "cmath.log(z, w)": np.log(long_z) / np.log(long_w), "cmath.rect(abs(z), cmath.phase(z))": long_z}
    for text, g in zip(texts, evaluate(v.compiled(["z", "w"], list(texts)), z, w)):
        want = texts[text]
        size = np.abs(want) if "log" not in text else np.abs(want) + 1 / np.abs(np.log(long_w))
        off = np.abs(g.astype(np.clongdouble) - want) / size
        assert off.max() <= 16 * eps, f"{text} of {z[off.argmax()]!r}, {w[off.argmax()]!r}: {g[off.argmax()]!r}"
    powers = {"z ** w": (0.4, np.power(long_z, long_w)), "pow(z, 0.5)": (0.4, np.power(long_z, 0.5)), "np.power(z, w)": (0.4, np.power(long_z, long_w))}
    moderate = (np.abs(z) < 4) & (np.abs(w) < 4)
    for text, g in zip(powers, evaluate(v.compiled(["z", "w"], list(powers)), z, w)):
        off = (np.abs(g - powers[text][1]) / np.abs(powers[text][1]))[moderate]
        assert off.max() <= 200 * eps, text
    met("cmath.rect")


# ---- operator.* and builtins: CPython itself ----

PROGRAMS = {
    "abs": "abs(x), abs(n)", "min": "min(x, y), min(n, 3, m), min((n, m))", "max": "max(x, y), max(n, 3, m), max((x, y, 1.0))",
    "round": "round(x), round(x, 2), round(n), round(n, -1)", "divmod": "*divmod(x, y), *divmod(n, m)", "pow": "pow(n, 3), pow(x, 2)",
    "int": "int(x), int(n), int()", "float": "float(n), float(x), float()", "bool": "bool(n), bool(x), bool()",
    "complex": "complex(x, y), complex(n), complex(1, x).imag, complex().real", "len": "len((x, y, n)), len(())", "sum": "sum((n, m, 3)), sum((x, y)), sum((n,), m), sum((x,), 0.5)",
    "any": "any((n, 0)), any((x > 1, False)), any(())", "all": "all((n, 1)), all((x > 1, True)), all(())",
    "range": "(lambda s: [s := s + i * n for i in range(0)] and 0 or s)(0)", "isinstance": "isinstance(x, float), isinstance(int(n), int), isinstance(x, (int, float))",
    "type": "type(x)(n), type(n)(x)",
    "int.bit_length": "n.bit_length(), (m - n).bit_length()", "float.is_integer": "x.is_integer(), (x * 8).is_integer()",
}
LOOPS = """
def loops(x, y, n, m):
    total = 0
    for i in range(5):
        total += i * n
    for i in range(8, 2, -2):
        total -= i
    for i, u in enumerate((n, m, 7), 1):
        total += i * u
    for u, w in zip((n, m), range(4)):
        total += u - w
    for i in reversed(range(3)):
        total = total * 3 + i
    for u in reversed((n, m)):
        total ^= u
    return total
"""


def python_rows(function, arrays):
    return [function(*row) for row in zip(*[a.tolist() for a in arrays])]


def test_builtins(evaluate):
    """Small numbers: neither side overflows, nothing is divided by zero."""
    rng = np.random.default_rng(4)
    x, y = rng.integers(-40, 40, 200) / 8.0, rng.choice([-2.5, -1.0, 0.25, 3.0], 200)
    n, m = rng.integers(-20, 20, 200), rng.choice([-7, -1, 2, 5], 200)
    params = ["x", "y", "n", "m"]
    programs = {name: text for name, text in PROGRAMS.items() if name != "range"}
    wrong = []
    for some in v.chunks(programs.items(), 9):
        text = ", ".join(t for _, t in some)
        rows = python_rows(v.function(params, [text]), [x, y, n, m])
        got = evaluate(v.compiled(params, [text]), x, y, n, m)
        wrong += [f"output {i} of {text}: {g[:3]}, CPython {column[:3]}" for i, (g, column) in enumerate(zip(got, zip(*rows))) if g.tolist() != list(column)]
    (got,) = evaluate(v.compiled(params, ["loops(x, y, n, m)"], LOOPS), x, y, n, m)
    space = {}
    exec(LOOPS, space)
    if got.tolist() != python_rows(space["loops"], [x, y, n, m]):
        wrong.append("loops")
    assert not wrong, "\n".join(wrong)
    for name in (*PROGRAMS, "enumerate", "zip", "reversed"):
        met(f"builtins.{name}")


SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "lshift": "<<", "rshift": ">>", "and_": "&",
           "or_": "|", "xor": "^", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
UNARY = {"neg": "-x", "pos": "+x", "invert": "~x", "inv": "~x", "abs": "abs(x)", "not_": "not x", "truth": "bool(x)"}


@pytest.mark.parametrize("t", DTYPES)
def test_operator_module_is_the_operators(t, evaluate):
    texts = []
    for name, symbol in SYMBOLS.items():
        if t in COMPLEX and name in ("floordiv", "mod", "lt", "le", "gt", "ge") or t not in (*INTS, "b1") and symbol in ("<<", ">>", "&", "|", "^"):
            continue
        texts += [f"operator.{name}(x, y)", f"x {symbol} y"]
        met(f"operator.{name}")
    for name, text in UNARY.items():
        if name in ("invert", "inv") and t not in (*INTS, "b1"):
            continue
        texts += [f"operator.{name}(x)", text]
        met(f"operator.{name}")
    x, y = v.values(t, seed=1), v.values(t, seed=2)
    if t in INTS:
        y = np.where(y < 0, NUMPY[t].type(3), y)
    got = evaluate(v.compiled(["x", "y"], texts), x, y)
    for i in range(0, len(texts), 2):
        at = v.first_difference(got[i], got[i + 1])
        assert at is None, f"{texts[i]} is not {texts[i + 1]}"


def test_no_row_is_left_out():
    """Runs last: every row that this Python and NumPy have was met above."""
    if not TESTED:
        pytest.skip("needs the tests above")
    homes = {"math": math, "cmath": cmath, "builtins": builtins, "operator": operator, "numpy": np, "lanewise": lanewise}
    there = {path for path in NAMES if hasattr(homes[path.split(".")[0]], path.split(".")[1])}
    assert there - TESTED <= {"builtins.print", "math.fma", "lanewise.prange", "lanewise.get_num_threads", "lanewise.get_thread_id", "numpy.isnat"} | MADE  # numpy.isnat: test_times.py
