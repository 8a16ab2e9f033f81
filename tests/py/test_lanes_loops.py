"""Loops whose iterations call something that computes for a different time, or contain such a loop, run in vectors on the CPU
(core/opt/lanes_loops): in forall, in prange, and in serial loops. Each iteration has the bits that the function gives for it
alone, and everything else happens in the order of the program."""

import math
import re

import lanewise as lw
import numpy as np
import pytest

LENGTHS = [0, 1, 2, 7, 15, 16, 17, 33, 100]


def escape(x, y):
    c = complex(x, y)
    z = 0j
    for i in range(60):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag > 4.0:
            return i
    return 60


def newton(a, b):
    x = a
    n = 0
    while abs(x * x - a) > 1e-3 * abs(b):
        n += 1
        if x == 0 or x != x or n > 40:
            break
        x = 0.5 * (x + a / x)
    return x + n


def collatz(x, y):
    n = int(abs(x) * 100) + 1
    steps = 0
    while n != 1 and steps < 500:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps + y


def series(x, y):
    s = 0.0
    term = 1.0
    k = 0
    while abs(term) > 1e-9 and k < 200:
        s += term
        k += 1
        term *= math.sin(x) / k
    return s * y


FUNCTIONS = [escape, newton, collatz, series]
inner = {f: lw.jit(f) for f in FUNCTIONS}


def operands(n, dtype, seed=1):
    rng = np.random.default_rng(seed)
    return rng.uniform(-2, 2, n).astype(dtype), rng.uniform(-2, 2, n).astype(dtype)


def callers(f):
    g = inner[f]

    @lw.forall
    def forall(i, x, y, out):
        out[i] = g(x[i], y[i])

    @lw.jit
    def serial(x, y, out):
        for i in range(x.shape[0]):
            out[i] = g(x[i], y[i])

    @lw.njit(parallel=True)
    def parallel(x, y, out):
        for i in lw.prange(x.shape[0]):
            out[i] = g(x[i], y[i])

    @lw.guvectorize("(n),(n)->(n)")
    def rows(x, y, out):
        for i in range(x.shape[0]):
            out[i] = g(x[i], y[i])

    return {"forall": forall, "jit": serial, "prange": parallel, "guvectorize": rows}


made = {f: callers(f) for f in FUNCTIONS}


def run(f, kind, x, y, out):
    call = made[f][kind]
    if kind == "forall":
        call(x.shape[0], x, y, out)
    elif kind == "guvectorize":
        call(x, y, out=out)
    else:
        call(x, y, out)


def runs_in_vectors(compiled):
    """Whether the code has masks: LLVM alone does not vectorise loops that end at different times."""
    return re.search(r"<\d+ x i1>", str(compiled.inspect_llvm())) is not None


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("kind", ["forall", "jit", "prange", "guvectorize"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_calls(f, kind, dtype):
    alone = inner[f]
    for n in LENGTHS:
        x, y = operands(n, dtype)
        wanted = np.array([alone(a, b) for a, b in zip(x, y)], "f8")
        out = np.zeros(n)
        run(f, kind, x, y, out)
        np.testing.assert_array_equal(out, wanted)
        if n:  # memory that the loop also reads: every element is written after it was read
            shared = x.astype("f8") if dtype == "f8" else None
            if shared is not None:
                run(f, kind, shared, y, shared)
                np.testing.assert_array_equal(shared, wanted)


@lw.jit
def behind(x, y, out):
    """Each iteration reads what the one before it has written."""
    for i in range(1, x.shape[0]):
        out[i] = inner_escape(out[i - 1] * 1e-3 + x[i], y[i])


inner_escape = inner[escape]


def test_iterations_that_depend_on_each_other():
    x, y = operands(70, "f8")
    out, wanted = np.zeros(70), np.zeros(70)
    behind(x, y, out)
    for i in range(1, 70):
        wanted[i] = inner_escape(wanted[i - 1] * 1e-3 + x[i], y[i])
    np.testing.assert_array_equal(out, wanted)


@lw.jit
def shifted(x, y, out):
    for i in range(out.shape[0]):
        out[i] = inner_escape(x[i], y[i])


@pytest.mark.parametrize("distance", [0, 1, 3, 16])
def test_memory_that_is_shared(distance):
    x, y = operands(100, "f8")
    memory = np.concatenate([x, np.zeros(20)])
    wanted = memory.copy()
    shifted(memory[:100], y, memory[distance : distance + 100])
    for i in range(100):
        wanted[i + distance] = inner_escape(wanted[i], y[i])
    np.testing.assert_array_equal(memory, wanted)


# ---- loops that are written where they are used ----


def written_out(x, y, out, seen):
    count = 0
    last = -1.0
    for i in range(x.shape[0]):
        a = b = x[0] * 0
        k = 0
        while k < 50 and a * a + b * b <= 4:
            t = a * a - b * b + 0.01 * i
            b = 2 * a * b + 0.3
            a = t
            k += 1
        if k == 50:
            count += 1
            continue
        last = a
        out[i] = k
    seen[0] = count
    seen[1] = last


def until_break(x, y, out, seen):
    total = 0.0
    k = 0
    for i in range(x.shape[0]):
        s = 1.0 + 0.01 * i
        for k in range(40):
            if s > 10 + i % 7:
                break
            s = s * 1.25 + 0.125
        else:
            total -= 1
        total += s * k
        out[i] = total
    seen[0] = total
    seen[1] = k


def carried(x, y, out, seen):
    """The inner loop continues where that of the iteration before has stopped."""
    z = 0.5
    for i in range(x.shape[0]):
        k = 0
        while k < 30 and z < 3:
            z = z * z + 0.1
            k += 1
        z *= 0.25
        out[i] = z + k
    seen[0] = z
    seen[1] = 0


def leaves(x, y, out, seen):
    """The outer loop ends early; later iterations would not end."""
    for i in range(x.shape[0]):
        s = 1.0
        k = 0
        step = 1.0 if i < 5 else 0.0
        while s < 20:
            s += step
            k += 1
        out[i] = k
        if i == 4:
            break
    seen[0] = seen[1] = 1


def two(x, y, out, seen):
    for i in range(x.shape[0]):
        s = 0.01 * i
        n = 0
        while s < 2 and n < 30:
            s = s * s + 0.3
            n += 1
        t = s
        m = 0
        while t > 0.5 and m < 30:
            t = t * 0.75
            m += 1
        out[i] = n + 100 * m + t
    seen[0] = seen[1] = 0


@pytest.mark.parametrize("function", [written_out, until_break, carried, leaves, two], ids=lambda f: f.__name__)
def test_inner_loops(function):
    compiled, vector_free = lw.njit(function, fma=False), lw.njit(function, fma=False, precise=True)
    for n in LENGTHS:
        x, y = operands(n, "f8")
        if n == 0 and function is written_out:
            continue
        results = []
        for call in (compiled, vector_free, function):
            out, seen = np.zeros(n), np.zeros(2)
            call(x, y, out, seen)
            results.append(np.concatenate([out, seen]))
        np.testing.assert_array_equal(results[0], results[1])
        np.testing.assert_array_equal(results[0], results[2])


def test_two_dimensions():
    g = inner[escape]

    @lw.forall(ndim=2)
    def grid(i, j, out):
        out[i, j] = g(-2.0 + 3.0 * j / 37, -1.0 + 2.0 * i / 23)

    out = np.zeros((23, 37), np.int64)
    grid((23, 37), out)
    assert out.tolist() == [[g(-2.0 + 3.0 * j / 37, -1.0 + 2.0 * i / 23) for j in range(37)] for i in range(23)]
    part = np.zeros((23, 37), np.int64)
    grid((slice(1, 23, 3), slice(2, 37, 5)), part)
    assert (part[1::3, 2::5] == out[1::3, 2::5]).all() and part.sum() == out[1::3, 2::5].sum()


def test_conditions_and_exceptions():
    def root(x):
        if x < 0:
            raise ValueError("negative")
        r = x
        while abs(r * r - x) > 1e-6:
            r = 0.5 * (r + x / r)
        return r

    g = lw.jit(root)

    @lw.forall
    def roots(i, x, out):
        if x[i] != 0.5:
            out[i] = g(x[i])

    x = np.linspace(0.25, 4, 61)
    out = np.zeros(61)
    roots(61, x, out)
    np.testing.assert_array_equal(out, [0 if v == 0.5 else g(v) for v in x])
    x[40] = -1
    with pytest.raises(ValueError, match="negative"):
        roots(61, x, out)


@pytest.mark.parametrize("kind", ["forall", "prange", "guvectorize"])
def test_code(kind):
    x, y = operands(64, "f8")
    run(escape, kind, x, y, np.zeros(64))
    assert runs_in_vectors(made[escape][kind])


def test_code_of_inner_loops():
    x, y = operands(64, "f8")
    for function, expected in ((written_out, True), (two, True), (carried, False), (leaves, False)):
        compiled = lw.njit(function)
        compiled(x, y, np.zeros(64), np.zeros(2))
        assert runs_in_vectors(compiled) == expected
        precise = lw.njit(function, precise=True)
        precise(x, y, np.zeros(64), np.zeros(2))
        assert not runs_in_vectors(precise)
