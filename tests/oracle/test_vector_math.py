"""The functions of float64 that lanewise computes itself on the CPU: their error in units of the
last place, what C's annex F says of special values, the flags, and that an element's result does
not depend on where it lies."""

import ctypes
import math
import platform

import numpy as np
import pytest

import lanewise as lw


@lw.vectorize
def own_exp(x):
    return math.exp(x)


@lw.vectorize
def own_expm1(x):
    return math.expm1(x)


@lw.vectorize
def own_tanh(x):
    return math.tanh(x)


@lw.vectorize
def own_log(x):
    return math.log(x)


@lw.vectorize
def own_pow(x, y):
    return x**y


ONE = {"exp": own_exp, "expm1": own_expm1, "tanh": own_tanh, "log": own_log}
ALL = {**ONE, "pow": own_pow}
LONG = {"exp": np.exp, "expm1": np.expm1, "tanh": np.tanh, "log": np.log, "pow": np.power}
# largest error in ULP; without a fused multiply-add libmvec does it, which promises 4
BOUND = {"exp": 1.0, "expm1": 2.0, "tanh": 3.0, "log": 1.0, "pow": 2.0}
N = 1 << 20

INF, NAN, BIG = math.inf, math.nan, 1.7976931348623157e308
POSITIVE = [0.0, 5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, 1e-20, 0.25, 0.5, 1 - 2.0**-53, 1.0, 1 + 2.0**-52, 1.5,
            2.0, 3.0, 4.0, 5.0, 1e10, 2.0**52, 2.0**53 - 1, 2.0**53, 2.0**53 + 2, 2.0**63, 2.0**64, 2.0**65, 1e300, BIG, INF,
            709.7827128933839, 709.782712893384, 709.7827128933841, 745.1332191019411, 745.1332191019412, 22.0, 40.0]  # fmt: skip
SPECIAL = np.array([*POSITIVE, *[-v for v in POSITIVE], NAN])


def is_own():
    return "lw_rt_f64_pow" in own_pow.inspect_llvm("dd->d")


def test_which_code_is_tested():
    """Where the processor has a fused multiply-add, no library is called."""
    has_fma = " fma " in open("/proc/cpuinfo").read() if platform.machine() == "x86_64" else True
    assert is_own() == has_fma
    if has_fma:
        for name, function in ONE.items():
            text = function.inspect_llvm("d->d")
            assert f"lw_rt_f64_{name}" in text and "_ZGV" not in text
    assert "lw_rt" not in lw.vectorize(precise=True)(own_exp.__wrapped__).inspect_llvm("d->d")


def bits(rng):
    """Any positive number, each exponent as likely."""
    return rng.integers(1, 0x7FF << 52, N).view(np.float64)


def signed(rng):
    return np.copysign(bits(rng), rng.choice([-1.0, 1.0], N))


def all_results(rng, x):
    """Exponents with which x gives results of every size."""
    return x, rng.uniform(-1075, 1024, N) / np.log2(x)


RANGES = {
    "exp, all": lambda rng: (rng.uniform(-746, 710, N),),
    "exp, near 0": lambda rng: (rng.uniform(-1, 1, N),),
    "exp, bits": lambda rng: (signed(rng),),
    "expm1, all": lambda rng: (rng.uniform(-45, 710, N),),
    "expm1, near 0": lambda rng: (rng.uniform(-1, 1, N),),
    "expm1, bits": lambda rng: (signed(rng),),
    "tanh, all": lambda rng: (rng.uniform(-23, 23, N),),
    "tanh, near 0": lambda rng: (rng.uniform(-1, 1, N),),
    "tanh, bits": lambda rng: (signed(rng),),
    "log, bits": lambda rng: (bits(rng),),
    "log, near 1": lambda rng: (rng.uniform(0.7, 1.5, N),),
    "log, nearer 1": lambda rng: (1 + rng.standard_normal(N) * 1e-6,),
    "log, subnormal": lambda rng: (rng.integers(1, 1 << 52, N).view(np.float64),),
    "pow, plain": lambda rng: (rng.uniform(0.1, 20, N), np.full(N, 1.7)),
    "pow, small": lambda rng: (rng.uniform(0, 20, N), rng.uniform(-20, 20, N)),
    "pow, bits": lambda rng: (bits(rng), rng.uniform(-3, 3, N)),
    "pow, all results": lambda rng: all_results(rng, bits(rng)),
    "pow, near 1": lambda rng: all_results(rng, rng.uniform(0.7, 1.42, N)),
    "pow, nearer 1": lambda rng: all_results(rng, 1 + rng.standard_normal(N) * 1e-6),
    "pow, negative": lambda rng: (-rng.uniform(0.1, 20, N), rng.integers(-200, 200, N).astype(float)),
}


def error(got, exact):
    """Distance in ULP of the nearest float64; infinite where one is a number and the other not."""
    near = exact.astype(np.float64)
    size = np.spacing(np.maximum(np.abs(near), 2.0**-1022))
    off = np.abs(got.astype(np.longdouble) - exact) / size
    same = (got == near) | (np.isnan(got) & np.isnan(near))
    return np.where(same & ~np.isfinite(near), 0, np.where(np.isfinite(got) & np.isfinite(near), off, np.inf))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs a long double of 64 bits")
@pytest.mark.parametrize("case", RANGES)
def test_error(case):
    name = case.split(",")[0]
    args = RANGES[case](np.random.default_rng(20))
    with np.errstate(all="ignore"):
        off = error(ALL[name](*args), LONG[name](*[a.astype(np.longdouble) for a in args]))
    worst = int(np.argmax(off))
    bound = BOUND[name] if is_own() else 4.5
    assert off[worst] <= bound, f"{off[worst]:.3f} ULP at {[float(a[worst]).hex() for a in args]}"


def by_libm(name, *args):
    function = ctypes.CDLL("libm.so.6")[name]
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * len(args)
    return np.array([function(*row) for row in zip(*[a.tolist() for a in args])])


def check_special(got, want, args):
    """The same to the last place but one, the same sign of zero, NaN where NaN is."""
    step = np.abs(got.view(np.int64) - want.view(np.int64))
    fine = (np.isnan(got) & np.isnan(want)) | (step <= 2) & (np.isfinite(got) == np.isfinite(want))
    bad = np.flatnonzero(~fine)
    assert bad.size == 0, [([float(a[i]) for a in args], got[i], want[i]) for i in bad[:10]]


@pytest.mark.parametrize("name", ONE)
def test_special_values(name):
    with np.errstate(all="ignore"):
        check_special(ONE[name](SPECIAL), by_libm(name, SPECIAL), (SPECIAL,))


def test_special_values_of_pow():
    x, y = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        check_special(own_pow(x, y), by_libm("pow", x, y), (x, y))


@pytest.mark.parametrize("power", [0.5, 1.7, -1.7, 2.5, 3.0, -3.0, 0.0, -0.5, INF, -INF, NAN])
def test_special_values_of_pow_by_a_constant(power):
    """Of a constant exponent LLVM folds most of what is special."""
    source = f"def f(x):\n    return x ** {power!r}\n".replace("inf", "1e999").replace("nan", "(1e999 - 1e999)")
    scope = {}
    exec(source, scope)
    with np.errstate(all="ignore"):
        got = lw.vectorize(source=source)(scope["f"])(SPECIAL)
    if power in (3.0, 0.0, -3.0, 0.5, -0.5):  # may become products and roots
        near = np.isclose(got, by_libm("pow", SPECIAL, np.full(SPECIAL.size, power)), rtol=1e-15, atol=0, equal_nan=True)
        assert near.all(), [(v, got[i]) for i, v in enumerate(SPECIAL) if not near[i]]
    else:
        check_special(got, by_libm("pow", SPECIAL, np.full(SPECIAL.size, power)), (SPECIAL,))


@pytest.mark.parametrize("name", ALL)
def test_place_does_not_matter(name):
    """Alone, at any offset, strided, backwards, in a long array over threads: the same bits."""
    rng = np.random.default_rng(6)
    n = 300_003
    args = (rng.uniform(0.01, 30, n), rng.uniform(-20, 20, n))[: 2 if name == "pow" else 1]
    f = ALL[name]
    whole = f(*args)
    for k in range(1, 40):
        assert np.array_equal(f(*[a[k : 3 * k + 1] for a in args]), whole[k : 3 * k + 1])
    assert np.array_equal(f(*[a[::3] for a in args]), whole[::3])
    assert np.array_equal(f(*[a[::-1] for a in args]), whole[::-1])
    assert np.array_equal([f(*[a[i] for a in args]) for i in range(100)], whole[:100])
    copies = [a.copy() for a in args]
    f(*copies, out=copies[0])
    assert np.array_equal(copies[0], whole)


def flags_of(function, *args):
    seen = set()
    with np.errstate(all="call", call=lambda kind, _: seen.add(kind)):
        function(*[np.array([v]) for v in args])
    return seen


@pytest.mark.parametrize(
    "name, args, flags",
    [
        ("exp", (1.0,), set()), ("exp", (INF,), set()), ("exp", (-INF,), set()), ("exp", (NAN,), set()),
        ("exp", (710.0,), {"overflow"}), ("exp", (-746.0,), {"underflow"}),
        ("expm1", (1.0,), set()), ("expm1", (-INF,), set()), ("expm1", (710.0,), {"overflow"}),
        ("tanh", (1.0,), set()), ("tanh", (INF,), set()), ("tanh", (1e300,), set()), ("tanh", (NAN,), set()),
        ("log", (2.0,), set()), ("log", (INF,), set()), ("log", (NAN,), set()), ("log", (1e-310,), set()),
        ("log", (0.0,), {"divide by zero"}), ("log", (-0.0,), {"divide by zero"}),
        ("log", (-1.0,), {"invalid value"}), ("log", (-INF,), {"invalid value"}),
        ("pow", (2.0, 0.5), set()), ("pow", (0.0, 1.7), set()), ("pow", (INF, 1.7), set()), ("pow", (INF, -1.7), set()),
        ("pow", (NAN, 0.0), set()), ("pow", (1.0, NAN), set()), ("pow", (0.5, INF), set()), ("pow", (-1.0, INF), set()),
        ("pow", (0.0, -1.7), {"divide by zero"}), ("pow", (-0.0, -3.0), {"divide by zero"}),
        ("pow", (-2.0, 1.7), {"invalid value"}), ("pow", (-2.0, 3.0), set()),
        ("pow", (2.0, 1024.0), {"overflow"}), ("pow", (2.0, -1080.0), {"underflow"}), ("pow", (10.0, 1e300), {"overflow"}),
        ("pow", (10.0, -1e300), {"underflow"}),
    ],
)  # fmt: skip
def test_flags(name, args, flags):
    assert flags_of(ALL[name], *args) == flags
