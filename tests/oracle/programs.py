"""Python functions that use the language, with the dtypes to run them on. Each is its own
reference: called with NumPy scalars it says what the compiled function has to give.

PROGRAMS: (function, [signature, …]), a signature being argument dtypes by NumPy's names."""

import cmath
import math
from collections import namedtuple

import numpy as np

PROGRAMS = []


def on(*signatures):
    def keep(function):
        PROGRAMS.append((function, signatures))
        return function

    return keep


F = ("f8 f8", "f4 f4")
I = ("i4 i4", "i8 i8", "u1 u1", "i2 i2", "u8 u8")


# ---- arithmetic ----


@on(*F, *I)
def arithmetic(x, y):
    return x + y, x - y, x * y


@on(*F, "f2 f2")
def literals_keep_the_type(x, y):
    return x * 0.5 + 2, y * 3 - x / 4


@on(*F, "i4 i4", "u1 u1", "f2 f2", "i8 i8")
def true_division(x, y):
    return x / y


@on(*F, *I, "f2 f2")
def floor_division(x, y):
    return x // y, x % y


@on(*F, "i4 i4", "u2 u2", "i8 i8")
def divmod_of_both(x, y):
    q, r = divmod(x, y)
    return q * 2, r


@on("i4 i4", "u1 u1", "i8 i8", "u8 u8", "i2 i2")
def bits(x, y):
    return x & y, x | y, x ^ y, ~x


@on("i4", "u1", "i8", "u8")
def shifts(x):
    return x << 3, x >> 2, x << 1


@on("i4 i4", "i8 i8", "u4 u4")
def shifts_by_variables(x, y):
    return x << y, x >> y


@on("i4", "u1", "i8")
def powers(x):
    return x**2, x**3, x**0, x**5


@on("f8", "f4")
def float_powers(x):
    return x**2, x**-1, x**0, x**1


@on("i4", "f8", "f4", "i8", "i1")
def signs(x):
    return -x, +x, abs(x)


@on("b1 b1")
def bool_arithmetic(a, b):
    return a & b, a | b, a ^ b, not a


# ---- comparison and truth ----


@on(*F, *I, "i8 u8", "u8 i8", "i4 f4", "i1 u4")
def comparisons(x, y):
    return x < y, x <= y, x > y, x >= y, x == y, x != y


@on(*F, "i4 i4")
def chained(x, y):
    return 0 < x < y, x < y <= 10 < x + y, x == y == 1


@on(*F, "i4 i4")
def and_or_values(x, y):
    return x and y, x or y, x and y or x, not x


@on("f8 f8")
def or_with_literal(x, y):
    return (x or 1.5) + (y and 2.5)


@on("f8", "i4", "f4")
def membership(x):
    return x in (1, 2, 3), x not in (0, 2)


# ---- choice ----


@on(*F, "i4 i4", "u8 u8")
def ternary(x, y):
    return x if x > y else y


@on("f8 f8", "i4 f8")
def ternary_of_two_types(x, y):
    return x if y > 1 else y


@on(*F)
def clamp(x, y):
    r = x
    if x > 10:
        r = y * 0 + 10
    elif x < -10:
        r = y * 0 - 10
    return r


@on(*F)
def early_return(x, y):
    if x < 0:
        return -x
    if y > x:
        return y - x
    return x * y


@on(*F)
def nested_ifs(x, y):
    a = x
    b = y
    if x > y:
        a, b = b, a
        if a > 1:
            a = a + 1
        else:
            b = b - 1
    elif x == y:
        a = a * 2
    return a, b


@on("f8", "f4")
def guarded_function(x):
    if x > 0:
        return math.sqrt(x)
    return x


@on("f8 f8")
def one_arm_only(x, y):
    t = x
    if y > 0:
        t = x / y
    return t


# ---- loops ----


@on("i4", "i8")
def sum_to(n):
    s = 0
    for i in range(n % 50):
        s += i * i
    return s


@on("i8 i8")
def range_with_steps(a, b):
    s = 0
    for i in range(a % 20, b % 40, 3):
        s = s * 3 + i
    for i in range(b % 40, a % 20, -2):
        s = s * 5 - i
    return s


@on("i8 i8")
def range_with_run_time_step(a, b):
    s = 0
    step = b % 7 - 3
    if step == 0:
        step = 1
    for i in range(a % 30 - 10, 20, step):
        s += i
        if s > 10000:
            break
    return s


@on("i8")
def loop_variable_afterwards(n):
    i = -1
    for i in range(n % 10):
        pass
    return i


@on("i8")
def loop_else(n):
    m = n % 30 + 2
    for d in range(2, m):
        if m % d == 0:
            r = d
            break
    else:
        r = -1
    return r


@on("i8 i8")
def while_else_continue(a, b):
    n = a % 60
    s = 0
    while n > 0:
        n -= 1
        if n % 3 == 0:
            continue
        if n % 17 == 16:
            break
        s += n
    else:
        s = -s
    return s + b


@on("i8")
def nested_loops(n):
    t = 0
    for i in range(n % 8):
        for j in range(i):
            if (i * j) % 5 == 4:
                break
            if j == 2:
                continue
            t += i * 10 + j
        else:
            t += 1000
    return t


@on("i8")
def return_from_loop(n):
    m = n % 100
    for i in range(12):
        if i * i > m:
            return i
    return -m


@on("f8", "f4")
def newton(x):
    a = abs(x) % 1000 + 1
    r = a
    for _ in range(12):
        r = (r + a / r) * 0.5
    return r


@on("i8")
def collatz(n):
    n = n % 1000 + 1
    steps = 0
    while n != 1 and steps < 200:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@on("f8 f8")
def mandelbrot(x, y):
    c = complex(x % 3 - 2, y % 3 - 1.5)
    z = 0j
    for i in range(50):
        if z.real * z.real + z.imag * z.imag > 4:
            return i
        z = z * z + c
    return 50


@on("f8", "i8")
def over_tuples(x):
    s = x
    for k in (1, 2, 3):
        s = s * 2 + k
    for i, k in enumerate((5, 7)):
        s = s + i * k
    for a, b in zip((1, 2), (3, 4)):
        s = s - a * b
    for i in reversed(range(3)):
        s = s * 3 + i
    return s


@on("i8")
def tuple_loop_with_jumps(n):
    s = 0
    for k in (1, 2, 3, 4, 5):
        if (n + k) % 3 == 0:
            continue
        if (n + k) % 7 == 0:
            break
        s = s * 10 + k
    else:
        s = -s
    return s


# ---- tuples, walrus, match ----


@on(*F, "i4 i4")
def tuples(x, y):
    t = (x, y, 1)
    a, *rest = t
    p = t[::-1] + (x,)
    return t[0] - t[-2], rest[0] * 2, p[0] + p[3], len(p)


@on("f8 i8")
def run_time_index(x, n):
    t = (x, x * 2, x * 3)
    return t[n % 3], t[n % 3 - 3]


@on("f8 f8", "i8 i8")
def tuple_comparison(x, y):
    return (x, y) < (y, x), (x, 1) == (y, 1), (x, y) >= (x, y, 0)


@on("f8 f8")
def walrus(x, y):
    if (s := x + y) > 0 and (d := x - y) > 0:
        return s * d
    return s


Point = namedtuple("Point", "x y")


@on("f8 f8")
def named_tuples(x, y):
    p = Point(x, y=y)
    return p.x * 2 + p[1], p.y


@on("i8 i8")
def matching(n, m):
    match n % 6:
        case 0:
            return 10
        case 1 | 2 if m > 0:
            return 20
        case k if k > 4:
            return k * 100
        case _:
            pass
    match (n % 2, m % 2):
        case (0, 0):
            return -1
        case (0, b) | (b, 0):
            return -2 - b
        case _:
            return -7


# ---- functions ----


def helper(a, b=2.0, *, scale=1):
    if a < 0:
        return -a * scale
    return a * b * scale


@on("f8 f8", "f4 f4")
def calls(x, y):
    return helper(x), helper(y, 3), helper(y, b=x, scale=2)


@on("f8 f8")
def closures(x, y):
    k = x * 2

    def inner(v):
        return v + k

    g = lambda v: inner(v) * y  # noqa: E731
    return g(x) + inner(y)


def apply(f, x):
    return f(f(x))


@on("f8")
def functions_as_arguments(x):
    k = x + 1
    return apply(lambda v: v * 2 + k, x), apply(math.sqrt, abs(x))


def total(*items):
    s = 0.0
    for v in items:
        s += v
    return s


@on("f8 f8")
def star_arguments(x, y):
    pair = (x, y)
    return total(x, y, 3.0), total(*pair), helper(*pair)


SCALE = 3
TABLE = (1.5, 2.5, 4.0)


@on("f8 i8")
def globals_are_constants(x, n):
    return x * SCALE + TABLE[n % 3]


def loops_inside(n):
    s = 0
    for i in range(n):
        s += i
    return s


@on("i8")
def call_in_choice(n):
    return loops_inside(n % 10) if n % 2 else -n


# ---- named functions ----


@on("f8", "f4")
def math_functions(x):
    y = abs(x) % 10 + 0.5
    return math.exp(-y), math.log(y), math.atan2(y, 2), math.hypot(y, 3.0), math.copysign(y, x)


@on("f8")
def rounding(x):
    y = x if abs(x) < 1e6 else x * 0
    return round(y), math.floor(y), math.ceil(y), math.trunc(y), int(y)


@on("f8")
def float_parts(x):
    y = x if abs(x) < 1e300 else x * 0 + 1
    m, e = math.frexp(y)
    f, w = math.modf(y)
    return m, e, f, w, math.ldexp(m, 3)


@on("i8 i8")
def integer_functions(x, y):
    return math.gcd(x, y), math.isqrt(abs(x) % 100000), min(x, y), max(x, y, 3)


@on("f8 f8", "f4 f4", "i4 i4")
def numpy_functions(x, y):
    return np.maximum(x, y), np.minimum(x, y), np.sign(x), np.where(x > y, x, y), np.square(x)


@on("f8", "f4")
def numpy_tests(x):
    return np.isnan(x), np.isinf(x), np.isfinite(x), np.signbit(x), np.rint(x)


@on("f8", "i4")
def casts(x):
    y = x % 100
    return np.float32(y), np.int8(y), np.uint16(y), float(y), bool(x), int(y)


@on("f8 f8")
def min_max_with_nan(x, y):
    return min(x, y), max(x, y), min(y, x, 0.5)


@on("f8 f8")
def sums(x, y):
    return sum((x, y, 1)), any((x > 0, y > 0)), all((x > 0, y > 0))


# ---- complex ----


@on("c16 c16", "c8 c8")
def complex_arithmetic(z, w):
    return z + w, z - w, z * w, -z, z.conjugate()


@on("c16 c16")
def complex_parts(z, w):
    return z.real + w.imag, abs(z), z == w, z != w


@on("f8 f8")
def complex_from_reals(x, y):
    z = complex(x, y)
    return z * z, (z + 1).imag, z * 2.0


@on("c16")
def complex_powers(z):
    return z**2, z**3, z**0, z**1


@on("c16", "c8")
def complex_choice(z):
    return z if z.real > 0 else -z


@on("f8")
def complex_functions(x):
    y = x % 3 + 0.25
    return cmath.exp(complex(0, y)), cmath.sqrt(complex(-y, 0.5)), cmath.phase(complex(y, 1))


# ---- variables ----


@on("f8 i8")
def changes_type(x, n):
    r = n
    a = r + 1
    r = x
    return a, r * 2


@on("f8")
def joins_types(x):
    r = 0
    if x > 1:
        r = x
    return r


@on("f8 f8")
def swaps(x, y):
    a, b = x, y
    for _ in range(3):
        a, b = b, a + b
    return a, b


@on("f8")
def annotated(x):
    y: np.float64 = x
    z: float = y
    return z * 2


@on("i8 i8")
def unused_and_shadowed(a, b):
    """A docstring."""
    pass
    c = a + b  # noqa: F841
    a = b
    b = a
    return a * b
