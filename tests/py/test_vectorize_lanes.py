"""Loops that end after a different number of iterations for each element run in vectors on the CPU (core/opt/lanes). Each
element has the bits that the function gives for it alone, through `jit`, which has no vectors of elements."""

import math

import lanewise as lw
import numpy as np
import pytest

LENGTHS = [1, 2, 15, 16, 17, 100]


def escape(x, y):
    c = complex(x, y)
    z = 0j
    for i in range(60):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag > 4.0:
            return i
    return 60


def escape_while(x, y):
    zr = zi = x * 0
    n = 0
    while zr * zr + zi * zi <= 4 and n < 50:
        zr, zi = zr * zr - zi * zi + x, 2 * zr * zi + y
        n += 1
    return zr + n


def newton(a, b):
    x = a
    n = 0
    while abs(x * x - a) > 1e-3 * abs(b):
        n += 1
        if x == 0 or x != x or n > 40:
            break
        x = 0.5 * (x + a / x)
    return x


def nested(a, b):
    total = a * 0
    for i in range(8):
        if total > 20:
            break
        k = 0
        while k < 6:
            k += 1
            if k * a > 4 + b:
                continue
            if k == 5 and b < -1:
                break
            if total < -30:
                return total - k
            total += a * k - b
        else:
            total += 0.5
    return total


def two_exits(a, b):
    steps = 0
    while True:
        steps += 1
        a = a * 0.5 - b * 0.125
        if a < -1:
            return steps + a
        if steps > 30:
            break
        if abs(a) < 0.01:
            a += 1
            break
    return a - steps


def arms(a, b):
    s = a * 0
    x = a
    for i in range(40):
        if x > 1:
            x = x - b * b - 0.25
        elif x < -1:
            s += 1
            x = -x * 0.5
        else:
            x += 0.75
            if i > 20:
                break
        s += x
    return s


def outer_break(a, b):
    found = -1
    for i in range(7):
        for j in range(7):
            if i * a + j * b > 5:
                found = i * 10 + j
                break
        if found >= 0:
            break
    return found


def kept(a, b):
    last = 0
    for i in range(30):
        last = i
        if i * a > b:
            break
    return last * 100 + i


def until(a, n):
    x = a * 0
    for i in range(int(min(abs(n), 9) * 10)):
        x = x * 0.75 + i * a
    return x


def distance(a, b):
    z = complex(a, b)
    n = 0
    while 2 > abs(z) and n < 30:
        if abs(z) <= 0.5:
            z = z + 0.5
        z = z * z - 0.4
        n += 1
    return n


def clipped(a, b):
    n = 0
    while a < 9 and n < 40:
        a = np.minimum(np.maximum(a * 1.5 - b, -1), np.copysign(7, b + n) + 3)
        n += 1
    return np.floor(a * 4) + n


def behind(a, b):
    x = a
    n = 0
    while abs(x) < 10 and n < 25:
        x = x * 1.5 + b
        n += 1
    return n + math.exp(-abs(x)) + math.sin(x) + math.sqrt(abs(x))


def chosen_steps(a, b):
    total = a * 0
    stop, step = (5, 1) if a > 0 else (3, 2)
    for i in range(0, stop, step):
        total += a * i - b
    return total


FUNCTIONS = [escape, escape_while, newton, nested, two_exits, arms, outer_break, kept, until, distance, clipped, behind, chosen_steps]


def operands(dtype, n):
    generator = np.random.default_rng(n)
    a, b = generator.normal(0, 1.5, (2, n)).astype(dtype)
    for i, value in enumerate([np.nan, np.inf, -0.0, 0.0, 1e30]):
        a[7 + i :: 19] = value
        b[11 + i :: 23] = value if abs(value) < 2 else -value
    return a, b


def alone(f, *args):
    """The result of f for each element by itself."""
    g = lw.jit(f)
    return np.array([g(*(column[i] for column in args)) for i in range(len(args[0]))])


def same(result, expected):
    expected = expected.astype(result.dtype)
    bits = f"u{result.dtype.itemsize}" if result.dtype.kind == "f" else result.dtype
    equal = (result.view(bits) == expected.view(bits)) | ((result != result) & (expected != expected))
    assert equal.all(), np.flatnonzero(~equal)


def runs_in_vectors(f, signature):
    return "@lw_lanes" in f.inspect_llvm(signature)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_elements_have_the_bits_of_one(f):
    ufunc = lw.vectorize(f, target="cpu")
    for dtype in (np.float32, np.float64):
        a, b = operands(dtype, 100)
        if f is until:
            b[~np.isfinite(b)] = 1
        expected = alone(f, a, b)
        for n in LENGTHS:
            same(ufunc(a[:n], b[:n]), expected[:n])
        same(ufunc(a[::3], b[::3]), expected[::3])
        same(ufunc(a[::-1], b[::-1]), expected[::-1])
    for signature in ufunc.signatures:
        assert runs_in_vectors(ufunc, signature)


def test_complex_operands():
    @lw.vectorize(target="cpu")
    def power(c, n):
        z = c
        while abs(z) < 100 and n > 0:
            z = z * z + c
            n -= 1
        return z

    a, b = operands(np.float64, 50)
    c = (a + 1j * b).astype(np.complex64)
    n = np.arange(50) % 9
    result = power(c, n)
    expected = alone(power.__wrapped__, c, n)
    same(result.view(np.float32), expected.astype(np.complex64).view(np.float32))
    assert runs_in_vectors(power, power.signatures[0])


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64])
def test_integers(dtype):
    def steps(n, most):
        k = 0
        while n > 1 and k < most:
            n = n // 2 if n % 2 == 0 else n - 3
            k += 1
        return k * 2 + (n & 3)

    ufunc = lw.vectorize(steps, target="cpu")
    n = np.arange(1, 80).astype(dtype)
    assert (ufunc(n, dtype(20)) == alone(steps, n, np.full(79, 20, dtype))).all()
    assert runs_in_vectors(ufunc, ufunc.signatures[0])


def test_exceptions():
    @lw.vectorize(target="cpu")
    def strict(x):
        n = 0
        while x < 100:
            x = x * 2
            n += 1
            if n > 12:
                raise ValueError(f"{n} steps")
            if x < 0:
                raise OverflowError("below zero")
        return n

    x = np.full(40, 3.0)
    assert (strict(x) == 6).all()
    assert "@lw_lanes" in strict.inspect_llvm("d->l")
    x[21], x[22], x[39] = 0.001, -1, -2
    with pytest.raises(ValueError, match="13 steps"):
        strict(x)
    x[21] = 5
    with pytest.raises(OverflowError, match="below zero"):
        strict(x)
    x[22] = x[39] = 5
    assert strict(x)[39] == 5


def test_helpers_and_nothing_to_return_early():
    @lw.jit
    def root(a, start):
        x = start
        for _ in range(50):
            new = 0.5 * (x + a / x)
            if abs(new - x) < 1e-9:
                return new
            x = new
        return x

    def both(a, b):
        return root(abs(a) + 1, 1.0) - root(abs(b) + 2, abs(a) + 0.5)

    a, b = (np.nan_to_num(v, nan=1, posinf=2, neginf=3) for v in operands(np.float64, 60))
    ufunc = lw.vectorize(both, target="cpu")
    same(ufunc(a, b), alone(both, a, b))
    assert runs_in_vectors(ufunc, "dd->d")


def test_hypot_at_the_edge():
    def classify(x, y):
        n = 0
        while n < 90:
            n += 1 + 10 * (math.hypot(x, y) > 2) + 20 * (2 <= math.hypot(x, y))
            if math.hypot(x, y) < 2:
                break
        return n

    angle = np.linspace(0, 7, 2000)
    for dtype in (np.float32, np.float64):
        x, y = (2 * np.cos(angle)).astype(dtype), (2 * np.sin(angle)).astype(dtype)
        x[::5] = np.nextafter(x[::5], dtype(9))
        largest = np.finfo(dtype).max
        x[:5], y[:5] = [np.nan, np.inf, largest, 2, 0], [np.inf, np.nan, largest, 0, 2]
        ufunc = lw.vectorize(classify, target="cpu")
        assert (ufunc(x, y) == alone(classify, x, y)).all()
        assert runs_in_vectors(ufunc, ufunc.signatures[0])


def test_methods_and_keywords():
    @lw.vectorize(["dd->d"], target="cpu")
    def collatz_like(a, b):
        while a > b + 1:
            a = a * 0.5
        return a + b

    a = np.linspace(1, 90, 37)
    total = a[0]
    for value in a[1:]:
        total = collatz_like(total, value)
    assert collatz_like.reduce(a) == total
    assert collatz_like.accumulate(a)[-1] == total
    assert (collatz_like.outer(a, a)[:, 3] == collatz_like(a, a[3])).all()
    out = a.copy()
    collatz_like(out, 2.0, out=out, where=a > 40)
    assert (out[a <= 40] == a[a <= 40]).all() and (out[a > 40] == collatz_like(a, 2.0)[a > 40]).all()
    at = a.copy()
    collatz_like.at(at, [3, 3, 5], 1.0)
    assert at[3] == collatz_like(collatz_like(a[3], 1.0), 1.0)


def test_warnings_are_those_of_the_values():
    @lw.vectorize(["d->l"], target="cpu")
    def count(x):
        n = 0
        while x < 1e300 and n < 50:
            x = x * 1e200
            n += 1
        return n

    @lw.vectorize(["d->d"], target="cpu")
    def grow(x):
        n = 0
        while n < x and n < 3:
            n += 1
            x = x * x - n
        return x

    with np.errstate(all="raise"):
        count(np.array([1.0, 1e-300, 1e150] * 7))
        grow(np.linspace(-1, 1, 40))
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        grow(np.array([1.0] * 20 + [1e200]))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: sum(x * i for i in range(4)),  # LLVM unrolls it and vectorises what is around it
        lambda x, y: math.gcd(x, y),
        lambda x: x + 1,
    ],
)
def test_what_stays_as_it_is(f):
    ufunc = lw.vectorize(f, target="cpu", warn=False)
    args = [np.arange(1, 30)] * ufunc.nin
    ufunc(*args)
    assert not runs_in_vectors(ufunc, ufunc.signatures[0])


def test_calls_in_the_loop_stay_as_they_are():
    @lw.vectorize(["d->d"], target="cpu")
    def fixed_point(x):
        for _ in range(50):
            new = math.cos(x)
            if abs(new - x) < 1e-3:
                break
            x = new
        return x

    assert not runs_in_vectors(fixed_point, "d->d")
    assert fixed_point(np.linspace(0, 1, 9)).std() < 1e-3
