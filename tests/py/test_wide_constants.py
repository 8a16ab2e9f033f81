"""Python's ints of any size, wherever they get into compiled code: as CPython and NumPy have it, or an error.

Never another number: what no 64-bit integer holds is exact beside floats, folded beside constants, and E130
(NumPy's OverflowError) or a run-time OverflowError elsewhere.
"""

from __future__ import annotations

import cmath
import itertools
import linecache
import math
import operator
import time
import warnings

import numpy as np
import pytest

import lanewise as lw

N_A = 602214076 * 10**15
H = 10**30
B = 10**40  # beyond 128 bits
G = 10**400  # beyond float64
E63, E64 = 2**63, 2**64
NAMES = {"np": np, "lw": lw, "math": math, "cmath": cmath, "operator": operator, "N_A": N_A, "H": H, "B": B, "G": G,
         "E63": E63, "E64": E64}
_number = itertools.count()


def made(text):
    """The function `f` of this text, whose lines Python and lanewise can find."""
    name = f"<wide constants {next(_number)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace = dict(NAMES)
    exec(compile(text, name, "exec"), namespace)
    return namespace["f"]


def expression(text, parameters="x"):
    return made(f"def f({parameters}):\n    return {text}\n")


# x is a float64, n = int(x) is 1
EXACT = """
x * np.float64(N_A); x * np.float32(N_A); lw.float64(N_A) * x; lw.float32(H) * x; np.complex128(N_A) * x; np.complex64(H) * x
x * float(N_A); x * N_A; x + H; x - H; H - x; x / H; H / x; x ** H; H ** x; -H * x; abs(-H) * x; divmod(x, H)[0]; x // H; x % H
x < H; x > H; x == H; H < x; x != H; x <= H; x >= -H; x < B; x > -B; int(x) < H; int(x) > -H; int(x) == H; H >= int(x); int(x) < B
int(x) < E63; int(x) == E63; int(x) > -E64; int(x) < E64; np.uint64(x) < E64; np.int8(x) < 300; np.int8(x) != -H
min(x, H); max(x, H); max(x, -H); min(H, 1) * x; max((H, x)); min((x, H, B)); max(B, H) * x
(H, 2.5)[int(x)]; (2.5, H)[int(x)]; (H, 1)[1] * x; (1, H)[1] * x; (1, H, 2.5)[1] * x; (N_A, H)[-1] * x; len((H, B))
(H if x > 0 else 2.5); (H if x < 0 else 2.5); (H if x > 0 else x); x or H; not H; not (H and x); (x and H)
int(x) in (H, 1); int(x) in (H, 2); H in (int(x), 1); x in (H, 1); np.uint64(E64 - 1) in (E64, 1); int(x) in (B, -B, H)
(int(x), H) == (1, H); (int(x), H) == (1, H + 1); (int(x), H) < (1, B); (int(x), B) < (1, -H); (int(x), H) != (1, -H); (H, x) < (B, x)
H.bit_length(); (-H).bit_length(); B.bit_length(); (10**30).bit_length() + x; H.bit_count(); H.conjugate() * x; H.real * x; H.imag; E63.bit_length()
float(H); float(B) * x; complex(H); complex(H, 1); complex(1, H); int(H) * x; bool(H); bool(G); round(H) * x; round(H, -3) * x
G / G * x; H / B * x; B / H * x; E64 / E63 * x; B // H; B % 7; G % 7; G // 10**399; B - B + 1; G - G + 1; B + 1 == B; G < G + 1; B == 10.0**40
math.factorial(20); math.factorial(25) * x; math.prod((10**10, 10**10)) * x; math.comb(100, 50) * x; math.perm(30, 20) * x; math.gcd(H, 10**20) * x
math.isqrt(H); math.isqrt(10**38) * x; math.isqrt(10**60) * x; math.sqrt(H); math.log(G); math.log2(B); math.floor(H) * x; math.trunc(-H) * x
math.fmod(x, H); math.hypot(x, H); math.pow(H, 2); math.pow(x, H); math.copysign(H, x); math.isclose(x, H); math.isfinite(H); math.exp(-H)
math.nextafter(x, H); cmath.sqrt(H).real; pow(10, 30) * x; pow(x, H); pow(3, H, 7); divmod(B, H)[0]; sum((H, 1)) * x; sum((1, 2), H) * x
isinstance(H, int); isinstance(H, float); type(H) is int; H is None; operator.mul(x, H); operator.lt(int(x), H); operator.neg(H) * x
np.add(x, H); np.maximum(x, H); np.where(x > 0, x, H); np.where(x > 0, H, 2.5); np.clip(x, -H, H); np.less(x, H); np.less(int(x), H)
np.equal(int(x), H); np.power(x, H); np.floor_divide(x, H); np.hypot(x, H); np.copysign(x, H); np.float64(H); np.float32(B); np.greater(int(x), E63)
E63 * x; E63 + x; float(E63); np.float64(E63); -E63 * x; (E63 - 1) * x; E63 // 3; E63 % 7; E63 >> 3; (E63 << 1) * x; E63 & 7; E63**2 * x; np.uint64(E63)
int(1e30) * x; math.floor(1e30) * x; round(1e30) * x; (lambda v: v * 2.0)(H); np.float32(x) * H; np.float32(x) + B; np.float32(x) * N_A
"""
# of which the exact answer is an integer that nothing holds, or which CPython refuses
REFUSED = """
H; -H; E64; max((H, 2.5)); -E63 - 1; E63 << 1; H if x > 0 else 1; H or x; (x > 0) and H; max(H, 1); (1, H, B)[int(x)]; (H, H + 1)[int(x)] * x; (E64, -1)[int(x)]
int(x) + H; int(x) * H; int(x) - H; int(x) & H; int(x) | H; int(x) ^ H; int(x) // H; int(x) % H; H // int(x); H % int(x); H ** int(x); int(x) ** H
int(x) << H; int(x) >> H; H >> int(x); H << int(x); divmod(int(x), H)[0]; divmod(H, int(x))[1]; min(int(x), H); max(int(x), -H); np.uint8(x) + H
x + G; x - G; G * x; x / G; x < G; G == x; min(x, G); float(G); complex(G); complex(1, G); np.float64(G); np.float32(G); x if x > 0 else G; int(G)
round(x, H); np.round(x, H); math.ldexp(x, H); np.ldexp(x, H); pow(int(x), H); math.factorial(21); math.factorial(171); math.factorial(H)
math.prod((10**10, 10**10)); math.comb(100, 50); math.perm(30, 20); math.perm(10**9, 10**8); math.lcm(10**12, 10**13 + 1); math.gcd(int(x), H)
math.factorial(int(x) + 20); math.comb(int(x) + 69, 35); math.perm(int(x) + 29, 20); math.perm(int(x) + 20); math.comb(10**18 + int(x), 3)
np.abs(H); np.sign(H); np.sqrt(H); np.add(int(x), H); np.where(x > 0, H, 1); np.minimum(int(x), H); np.bitwise_and(int(x), H); np.negative(H)
np.int64(H); np.uint64(H); np.uint64(-1); np.int64(E63); lw.int8(H); np.int8(x) + 300; operator.add(int(x), H); operator.lshift(int(x), H); int(1e20)
sum((int(x), H)); sum((H, int(x))); (lambda v: v)(H); math.isinf(G); math.isqrt(10**100)
"""


def rows(text):
    return [part.strip() for part in text.replace("\n", ";").split(";") if part.strip()]


def answer(function, *args):
    """CPython's result, or the class of the exception that it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except Exception as error:
            return type(error)


def compiled(function, *args, **options):
    try:
        return lw.vectorize(function, target="cpu", **options)(*args)
    except (lw.errors.TypingError, OverflowError) as error:
        return error


@pytest.mark.parametrize("typing", ["weak", "numba"])
@pytest.mark.parametrize("text", rows(EXACT))
def test_exact(text, typing):
    function = expression(text)
    if typing == "numba" and "float32(x)" in text:
        pytest.skip("an int64 beside a float32 is a float64")
    wanted, got = answer(function, np.float64(1)), compiled(function, np.float64(1), typing=typing)
    if typing == "numba" and isinstance(got, lw.errors.TypingError):  # stricter: literals are as strong as arguments
        assert got.code in ("E130", "E143", "E124", "E120"), got
        return
    assert not isinstance(wanted, type) and not isinstance(got, Exception), (wanted, got)
    assert got == wanted and np.iscomplexobj(got) == np.iscomplexobj(wanted)


@pytest.mark.parametrize("typing", ["weak", "numba"])
@pytest.mark.parametrize("text", rows(REFUSED))
def test_never_another_number(text, typing):
    function = expression(text)
    got = compiled(function, np.float64(1), typing=typing)
    if typing == "numba" and not isinstance(got, Exception):
        assert text in ("np.uint64(-1)", "np.int64(E63)", "np.int8(x) + 300") or got == answer(function, np.float64(1)), got
        return
    assert isinstance(got, Exception), got
    assert isinstance(got, OverflowError) or got.code == "E130", got


def test_float32_keeps_its_type():
    for text in ("x * H", "x + N_A", "max(x, N_A)", "(N_A, x)[0] * x", "np.where(x > 0, N_A, x)"):
        got = lw.vectorize(expression(text))(np.float32(1))
        assert got.dtype == np.float32 and got == expression(text)(np.float32(1))


# ---- where else constants come from ----

class Holder:
    number = N_A


HOLDER = Holder()


def _closure(number):
    return lambda x: x * number


def _default(x, number=N_A):
    return x * number


def _attribute(x):
    return x * HOLDER.number + x * Holder.number


def _nested(x):
    def inner(v, by=N_A):
        return v * by
    return inner(x)


def _scaled(x, by):
    return x * by


def _pinned(x):
    by: float = N_A
    return x * by


def _variable(x):
    by = N_A
    return x * by


def _branches(x):
    by = 1.0
    if x > 0:
        by = N_A
    return x * by


def _augmented(x):
    x += N_A
    x *= H
    return x


@pytest.mark.parametrize("function", [_closure(N_A), _default, _attribute, _nested, lambda x: _scaled(x, N_A), lambda x: _scaled(x, by=N_A),
                                      _pinned, _variable, _branches, _augmented])
@pytest.mark.parametrize("typing", ["weak", "numba"])
def test_origins(function, typing):
    got = compiled(function, np.float64(2), typing=typing)
    assert (got == function(2.0)) if not isinstance(got, Exception) else (typing == "numba" and got.code == "E130")


def _either(x):
    number = 1
    if x > 0:
        number = H
    return number * x


def _grows(x):
    number = H
    while number > x:
        number //= 10
    return number


def _matched(x):
    match int(x):
        case 1000000000000000000000000000000:
            return 1
        case 18446744073709551617:
            return 2
        case 1:
            return 3
        case _:
            return 4


def test_variables_and_patterns():
    for function in (_either, _grows):
        with pytest.raises(lw.errors.TypingError, match="E130"):
            lw.vectorize(function)(1.0)
    for number in (1.0, 2.0, 1e18):
        assert lw.vectorize(_matched)(number) == _matched(number)


def test_static_values():
    def scaled(x, by):
        return x * by

    for number in (N_A, -H, B):
        assert lw.vectorize(scaled, static="by")(2.0, number) == 2.0 * number
    with pytest.raises((lw.errors.TypingError, OverflowError)):
        lw.vectorize(scaled, static="by")(2.0, G)
    with pytest.raises((lw.errors.TypingError, OverflowError)):
        lw.vectorize(scaled, static="by")(np.int64(2), H)


# what only inference knows to be constants: exact in 125 bits, or refused, but never wrapped
FOLDED = """
a * 4 * x; a * a * x; a**2 * x; (a + a + a) * x; (-a - a - a) * x; (a << 10) * x; (a * a) // a * x; a * a % 7 * x
abs(-a * 4) * x; abs(-a - a) * x; max(a * 4, 3) * x; min(a * 4, 3) * x; sum((a, a, a)) * x; sum((a, a), a) * x; math.prod((a, a)) * x; math.prod((2, a), start=a) * x
(a * a).bit_length() * x; (a * a).bit_count() * x; float(a * a) * x; np.float64(a * a) * x; math.log2(a * a) * x; (a * a) / (a * 3) * x; a / 3 * x; (b * 3) / 7 * x
b / 3 * x; -b / 3 * x; 3 / b * x; b / b * x; b * 1.5 * x; (b == 9007199254740992.0) * x; (b > 9007199254740992.0) * x; (9007199254740992.0 < b) * x
(b < 9007199254740993.5) * x; (a * a < 2.0**124) * x; (a < math.inf) * x; (-a > -math.inf) * x; (a == math.nan) * x; (a != math.nan) * x
(0 << a) * x; (1**a) * x; ((-1) ** a) * x; (0**a) * x; (a >> 200) * x; (-a >> 200) * x; ~(a * a) * x; (a * a & 255) * x; (a * a | a) * x; -(a * a) * x
"""
TOO_LARGE = """
a * a * a * x; a**3 * x; (a << 100) * x; (a << 70 >> 70) * x; divmod(a * a, a)[0] * x; (1 << a) * x; 2**a * x; math.prod((a, a, a)) * x; (a * a) ** 2 * x; a * a + int(x); a * a | int(x); (a * a + a * a) * int(x)
"""


@pytest.mark.parametrize("typing", ["weak", "numba"])
@pytest.mark.parametrize("text", rows(FOLDED) + rows(TOO_LARGE))
def test_constants_in_variables(text, typing):
    function = made(f"def f(x):\n    a, b = 2**62 - 58, 2**53 + 1\n    return {text}\n")
    got = compiled(function, np.float64(1), typing=typing)
    if text in rows(TOO_LARGE):
        assert isinstance(got, lw.errors.TypingError) and got.code == "E130"
    else:
        assert not isinstance(got, Exception), got
        assert got == function(np.float64(1)), (got, function(np.float64(1)))


LENGTHS = [10**10, 10**10]


def test_lists_and_keywords_are_folded():
    for function in (lambda x: math.prod(LENGTHS) * x, lambda x: math.prod((10**10, 10**10), start=10) * x, lambda x: sum(LENGTHS, start=10**30) * x,
                     lambda x: max(LENGTHS) * x, lambda x: math.prod([10**10, 10**10, 3]) * x):
        assert lw.vectorize(function)(2.0) == function(2.0)


HUGE = [10**1000] * 10**5


def test_what_is_large_is_not_computed():
    """Each would take minutes."""
    for function in (lambda x: x * math.prod(HUGE), lambda x: x * pow(3, 10**9), lambda x: x * pow(exp=10**9, base=3)):
        with pytest.raises(lw.errors.TypingError, match="E130"):
            lw.vectorize(function)(1.0)
    assert lw.vectorize(lambda x: x + round(ndigits=-10**9, number=5))(1.0) == 1.0
    assert lw.vectorize(lambda x: x + pow(exp=2, base=3))(1.0) == 10.0


# ---- kernels ----

STORES = """
o[i] = N_A; o[i] += N_A; o[:] = N_A; o[i] = o[i] = N_A; o[i], o[0] = H, N_A; o[i] -= H; o[i] = (H, 2.5)[i]; o[i] = H if i == 0 else 2.5
o[:H] = 1; o[-H:] = 1; o[H:] = 1; o[i] = E63; o[i] = -E63; o[i] = E64 - 1; o[i] = E64; o[i] = max(H, 2.5); o[i] = 1 if (H, 1) == (H + 1, 1) else 2
o[i] = 1 if i in (H, -H, B) else 2; o[i] = 1 if (i, H) < (i, B) else 2; o[i] = H / B; o[i] = sum((H, 2.5)); o[i] = H; o[i] = -H; o[i] = B // 10**39
"""
LOOPS = """
for v in (H, 1, 2.5): o[i] += v
for j, v in enumerate((H, 2.5)): o[i] += v
for u, v in zip((H, 2.5), (1.5, H)): o[i] += u * v
for v in reversed((1, 2.5, H)): o[i] = o[i] / 2 + v
for j in range(2**63 - 3, 2**63): o[i] += 1
for j in range(2**63 - 3, 2**63): o[i] = j
for j in range(-2**63 + 2, -2**63 - 1, -1): o[i] += 1
for j in range(0, H, H): o[i] += 1
for j in range(H, 0): o[i] += 1
for j in reversed(range(2**63 - 2, 2**63)): o[i] = o[i] / 2 + j
a = lw.local(4, np.float64); a[:] = H; o[i] = a[3]
a = lw.local(2, np.float64); a[0] = H; a[0] += H; o[i] = a[0]
"""
REFUSED_LOOPS = """
for v in (H, 1): o[i] += v
for j in range(H, H + 3): o[i] += 1
for j in range(2**63 - 1, 2**64, 2**63): o[i] += 1
for j in range(0, H, 10**29): o[i] += 1
for j in range(2**63, 2**63 + 3): o[i] += 1
for j in range(int(o[i]), 2**64): break
for j, v in enumerate((1.0, 2.5), H): o[i] = j
o[i] = o[H]
o[::H] = 1
o[i] = G
o[i] += G
o[:] = G
a = lw.local(4, np.float64); a[H] = 1
a = lw.local(4, np.int64); a[0] = H
a = lw.local(4, np.int64); a[0] += H
"""
DTYPES = ["f2", "f4", "f8", "c8", "c16", "i1", "u4", "i8", "u8"]


class Local:
    """lw.local on the host."""

    @staticmethod
    def local(shape, dtype):
        return np.zeros(shape, dtype)


def kernel(text):
    return made(f"def f(i, o):\n    {text}\n")


def on_host(function, dtype):
    out = np.zeros(2, dtype)
    function.__globals__["lw"] = Local
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            function(0, out)
        return out[:1]
    except (OverflowError, IndexError, ValueError, TypeError) as error:
        return error
    finally:
        function.__globals__["lw"] = lw


def launched(function, dtype, **options):
    out = lw.cuda.to_device(np.zeros(2, dtype))
    try:
        lw.forall(function, **options)(1, out)
        lw.cuda.synchronize()
    except (lw.errors.TypingError, OverflowError) as error:
        return error
    return out.copy_to_host()[:1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", rows(STORES) + [row for row in LOOPS.splitlines() if row])
def test_kernels(text, dtype, target):
    function = kernel(text)
    if "= j" in text and np.dtype(dtype).kind in "iu" and np.dtype(dtype).itemsize < 8:
        pytest.skip("what is known at run time only wraps")
    wanted, got = on_host(function, dtype), launched(function, dtype)
    if isinstance(got, Exception):
        integers = np.dtype(dtype).kind in "iu"
        assert integers or isinstance(wanted, Exception) or ("max" in text and np.dtype(dtype).kind == "c"), (wanted, got)
        assert got.code in ("E130", "E142"), got
        return
    assert not isinstance(wanted, Exception) and np.array_equal(got, wanted, equal_nan=np.dtype(dtype).kind in "fc"), (wanted, got)


@pytest.mark.parametrize("text", [row for row in REFUSED_LOOPS.splitlines() if row])
def test_kernels_refuse(text, cpu):
    got = launched(kernel(text), "f8")
    assert isinstance(got, lw.errors.TypingError) and got.code == "E130", got


def test_the_other_generators(target):
    out = lw.cuda.to_device(np.zeros(1))
    lw.jit(made("def f(o):\n    o[0] = N_A\n    o[0] += float(lw.cuda.threadIdx.x) * H\n"))[1, 1](out)
    assert out.copy_to_host()[0] == N_A
    core = lw.guvectorize("(n)->(n)")(made("def f(x, o):\n    for i in range(x.shape[0]):\n        o[i] = x[i] * N_A\n    o[0] += H\n"))
    assert (np.asarray(core(np.ones(2))) == [1.0 * N_A + H, float(N_A)]).all()
    total = lw.reduce(lambda a, b: a + b, map=lambda x: x * np.float64(N_A), identity=0.0)
    assert total(np.ones(3)) == 3 * float(N_A)
    both = lw.reduce(lambda a, b: max(a, b), map=lambda x: N_A if x > 0 else 2.5, identity=-H)
    assert both(np.ones(3)) == float(N_A)
    last = lw.reduce(lambda a, b: a + b, finish=lambda s: s * N_A, identity=0.0)
    assert last(np.ones(2)) == 2.0 * N_A


def test_identity_and_initial():
    for number in (H, -H, N_A):
        most = lw.reduce(lambda a, b: max(a, b), identity=number)
        assert most(np.ones(2)) == 1 and most(np.ones(0)) == float(number)
        assert lw.reduce(lambda a, b: max(a, b))(np.ones(2), initial=number) == max(1.0, float(number))
        for dtype in ("i8", "u1"):
            with pytest.raises((lw.errors.TypingError, OverflowError, ValueError)):
                most(np.ones(0, dtype))
            with pytest.raises((lw.errors.TypingError, OverflowError, ValueError)):
                lw.reduce(lambda a, b: max(a, b))(np.ones(2, dtype), initial=number)
    with pytest.raises((lw.errors.TypingError, OverflowError, ValueError)):
        lw.reduce(lambda a, b: a + b, identity=G)(np.ones(0))


def test_texts_show_all_digits(capfd, cpu):
    def shown(i, o, n=H):
        print(H, -H, (H, 1), n)
        print(f"{n} {N_A} {i}")

    lw.forall(shown)(1, np.zeros(1))
    assert capfd.readouterr().out == f"{H} {-H} {(H, 1)} {H}\n{H} {N_A} 0\n"
    with pytest.raises(ValueError, match=str(H)):
        lw.forall(kernel("if i >= 0: raise ValueError(H)"))(1, np.zeros(1))
    for text in ("print(B, i)", "print(f'{(lambda v: v)(H):.3e}', i)"):
        got = launched(kernel(text), "f8")
        assert isinstance(got, lw.errors.TypingError) and got.code == "E130"


@pytest.mark.parametrize("name, most", [("factorial", 20), ("comb", None), ("perm", None)])
def test_counts_that_grow_out_of_int64(name, most, target):
    """math.factorial, comb and perm know what no int64 holds, at run time too."""
    if name == "factorial":
        pairs = [(n,) for n in range(30)]
    else:
        pairs = [(n, k) for n in (0, 1, 5, 20, 33, 61, 62, 66, 67, 70, 100, 2**31, 2**62) for k in (0, 1, 2, 3, 20, 30, 33, 35, 66, 70)]
    function = expression(f"math.{name}({', '.join('nk'[:len(pairs[0])])})", ", ".join("nk"[:len(pairs[0])]))
    each = lw.vectorize(function)
    for pair in pairs:
        exact = getattr(math, name)(*pair)
        arguments = [np.array([v]) for v in pair]
        if exact < 2**63:
            assert each(*arguments)[0] == exact
        else:
            with pytest.raises(OverflowError, match="does not fit int64"):
                each(*arguments)
    assert lw.vectorize(function, errors="ignore")(*[np.array([v]) for v in pairs[-1]]).dtype == np.int64


@pytest.mark.parametrize("call", ["int({})", "round({})", "math.floor({})", "math.ceil({})", "math.trunc({})"])
@pytest.mark.parametrize("value", ["1e400", "-1e400", "math.inf", "math.nan", "np.float64(math.inf)"])
def test_integers_of_constants_that_have_none(call, value):
    with pytest.raises((OverflowError, ValueError)):
        eval(call.format(value), dict(NAMES))
    source = "lambda x: x + " + call.format(value)
    with pytest.raises(lw.errors.TypingError, match="E141.*has no integer"):
        lw.vectorize(source=source)(eval(source, dict(NAMES)))(0.0)


@pytest.mark.parametrize("text", ["int(1e20) // 10**10", "int(np.float64(1e20)) // 10**10", "int(np.float64(-1e20)) // 10**10", "int(2.0**70) % 1000"])
def test_integers_of_large_constant_floats_are_exact(text):
    source = "lambda x: x + " + text
    assert lw.vectorize(source=source)(eval(source, dict(NAMES)))(0) == eval(text, dict(NAMES))


def test_a_number_of_many_digits_is_not_shown():
    source = "lambda x: x + float(10**400)"
    with pytest.raises(lw.errors.TypingError, match="an int of 401 digits does not fit float64"):
        lw.vectorize(source=source)(eval(source, dict(NAMES)))(0.0)


def _same(x):
    return x


@pytest.mark.parametrize("signatures, value, wanted", [
    ("uint64(uint64)", E63, E63), ("uint64(uint64)", E64 - 1, E64 - 1), ("float64(float64)", E63, 2.0**63), ("float64(float64)", -(2**70), -(2.0**70)),
    ("float64(float64)", N_A, float(N_A)), ("complex128(complex128)", E63, 2.0**63 + 0j), (["int64(int64)", "float64(float64)"], E63, 2.0**63),
    (["int64(int64)", "uint64(uint64)"], E63, E63), ("int64(int64)", E63, OverflowError), ("uint8(uint8)", E63, OverflowError), ("int64(int64)", 2**70, OverflowError),
    ("uint64(uint64)", E64, OverflowError), ("float64(float64)", G, OverflowError), (None, E63, OverflowError)])  # fmt: skip
def test_large_ints_given_to_declared_functions(signatures, value, wanted):
    f = lw.jit(signatures)(_same) if signatures else lw.jit(_same)
    if wanted is OverflowError:
        with pytest.raises(OverflowError):
            f(value)
    else:
        assert f(value) == wanted and type(f(value)) is type(wanted)


def test_large_ints_given_to_kernels_with_signatures():
    def put(out, x, n):
        out[0] = x + np.float32(n == 2**63)

    def element(i, out, x, n):
        out[i] = x + np.float32(n == 2**63)

    kernel = lw.jit("void(float32[::1], float32, uint64)")(put)[1, 1]
    each = lw.forall("void(float32[::1], float32, uint64)")(element)
    out = np.zeros(1, np.float32)
    for call in (kernel, lambda *args: each(1, *args)):
        call(out, 2**70, 2**63)
        assert out[0] == np.float32(2.0**70)
        call(out, 2**24, 2**63)
        assert out[0] == np.float32(2**24)
        with pytest.raises(OverflowError):
            call(out, 1, 2**64)


@pytest.mark.parametrize("name, arguments", [("factorial", (2**63,)), ("comb", (2**63, 1)), ("perm", (5, 2**64 - 1)), ("factorial", (2**64 - 1,))])
def test_unsigned_arguments_beyond_int64(name, arguments):
    function = {"factorial": lambda n: math.factorial(n), "comb": lambda n, k: math.comb(n, k), "perm": lambda n, k: math.perm(n, k)}[name]
    with pytest.raises(OverflowError, match="does not fit int64"):
        lw.jit(function)(*(np.uint64(one) for one in arguments))


def test_annotated_parameters_take_any_int_that_fits():
    @lw.jit
    def unsigned(x: np.uint64):
        return x

    @lw.jit
    def rounded(x: np.float64):
        return x

    assert [unsigned(n) for n in (5, 2**63, 2**64 - 1)] == [5, 2**63, 2**64 - 1] and rounded(2**64) == 2.0**64 and rounded(10**30) == 1e30
    for call in (lambda: unsigned(2**64), lambda: unsigned(-1)):
        with pytest.raises(OverflowError):
            call()


def test_types_called_on_arrays_saturate():
    assert lw.int32(np.array([2.0**40, np.nan, -5.7])).tolist() == [2**31 - 1, 0, -5]
    assert lw.uint8(np.array([[1e20, -1], [3.5, np.nan]], "f4").T).tolist() == [[255, 3], [0, 0]]
    assert lw.uint64(np.array([1e30, np.nan])).tolist() == [2**64 - 1, 0] and lw.int8(np.array([300])).tolist() == [44]
    assert lw.int8(np.array([300.0, -1e9, np.nan], ">f8")).tolist() == [127, -128, 0] and type(lw.int32(np.matrix([[1.5]]))) is np.matrix


MEMBERS = {
    "floats": tuple(i * 1.5 for i in range(2000)), "ints": tuple(range(0, 6000, 3)), "large": tuple(2**63 + i for i in range(300)), "mixed": tuple((i, i * 1.0)[i % 2] for i in range(300)),
    "complex": tuple(complex(i, 1) for i in range(300)), "few": tuple(range(64)), "more": tuple(range(65)), "numpys": tuple(np.float32(i) for i in range(300)),
}


@pytest.mark.parametrize("dtype", ["f8", "i8", "u8", "i1", "c16"])
@pytest.mark.parametrize("name", MEMBERS)
def test_membership_in_long_constants(name, dtype):
    items = MEMBERS[name]
    x = np.random.default_rng(0).integers(-5, 100, 50).astype(dtype)
    wanted = [value in items for value in x.tolist()]
    assert lw.vectorize(lambda x: x in items)(x).tolist() == wanted
    assert lw.vectorize(lambda x: x not in items)(x).tolist() == [not one for one in wanted]


def test_membership_compiles_fast():
    started = time.perf_counter()
    items = MEMBERS["floats"] * 10
    assert lw.vectorize(lambda x: x in items, cache=False)(3.0) and time.perf_counter() - started < 5
