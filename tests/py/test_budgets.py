"""Work is bounded where it is made: constants that would never end, loops and calls that would become too much code, long functions.

Times are the processor's, so that they hold on a machine that does other things as well.
"""

from __future__ import annotations

import linecache
import math
import os
import time
from contextlib import contextmanager

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

SLOW = 8 if "LW_ASAN" in os.environ else 1


@contextmanager
def within(seconds: float):
    start = time.process_time()
    yield
    assert time.process_time() - start < seconds * SLOW


def function_of(source: str, name: str = "f", **names):
    """The function of this name in a text that the compiler can find."""
    file = f"<budget {hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names["math"] = math
    exec(compile(source, file, "exec"), names)
    return names[name]


def on(target: str, array):
    return cuda.to_device(array) if target == "cuda" else array


def back(array):
    return array.copy_to_host() if hasattr(array, "copy_to_host") else array


# ---- constants ----

HUGE = ["10**(10**9)", "1 << 10**12", "pow(3, 10**9)", "math.factorial(10**7)", "math.comb(10**7, 5*10**6)", "math.perm(10**7, 5*10**6)",
        "math.perm(10**6)", "round(10, -10**9)", "(1 << 4000) * (1 << 4000)"]
NO_CONSTANTS = ["len('a' * 10**10)", "((1,) * 10**9)[0]", "int(f'{1:>1000000000}')", "len(f'{1.0:.1000000000f}')", "len(f'{1:01000000000d}')"]


@pytest.mark.parametrize("expression", HUGE)
def test_huge_integers_are_refused(expression):
    f = function_of(f"def f(x):\n    return x + ({expression}) % 7\n")
    with within(1), pytest.raises(lw.errors.TypingError, match="E130"):
        lw.vectorize(["float64(float64)"], target="cpu")(f)


@pytest.mark.parametrize("expression", NO_CONSTANTS)
def test_long_texts_and_tuples_are_refused(expression):
    f = function_of(f"def f(x):\n    return x + {expression}\n")
    with within(1), pytest.raises(lw.errors.CompileError, match="E101: tuple of more than|E104|E120"):
        lw.vectorize(["float64(float64)"], target="cpu")(f)


def test_width_of_what_is_printed():
    f = function_of("def f(x):\n    print(f'{x:>1000000000}')\n    return x\n")
    with within(1), pytest.raises(lw.errors.CompileError, match="E104.*too long"):
        lw.vectorize(["float64(float64)"], target="cpu")(f)


@pytest.mark.parametrize("generator", ["guvectorize", "forall", "jit", "reduce"])
def test_constants_of_every_generator(generator):
    with within(1), pytest.raises(lw.errors.TypingError, match="E130"):
        if generator == "reduce":
            f = function_of("def f(x):\n    return x * math.comb(10**7, 5*10**6)\n")
            lw.reduce(lambda a, b: a + b, map=f, identity=0.0)(np.ones(3))
        elif generator == "guvectorize":
            f = function_of("def f(x, y):\n    y[0] = math.comb(10**7, 5*10**6)\n")
            lw.guvectorize(["void(float64[:], float64[:])"], "(n)->()", target="cpu")(f)
        elif generator == "forall":
            f = function_of("def f(i, y):\n    y[i] = math.comb(10**7, 5*10**6)\n")
            lw.forall(f, target="cpu")(3, np.ones(3))
        else:
            f = function_of("def f(y):\n    y[0] = math.comb(10**7, 5*10**6)\n")
            lw.jit(f, target="cpu")[1, 1](np.ones(3))


EXACT = ["math.comb(5000, 2)", "math.comb(10**7, 10**7 - 2)", "math.perm(20, 3)", "math.factorial(20)", "pow(2, 10)", "pow(3, 10**9, 1000)",
         "round(1234, -2)", "math.comb(5, 10**9)", "int(f'{12:>40}')"]


@pytest.mark.parametrize("expression", EXACT)
def test_constants_that_fit(expression):
    f = function_of(f"def f(x):\n    return x + {expression}\n")
    assert lw.vectorize(["float64(float64)"], target="cpu")(f)(0.5) == f(0.5)


# ---- tables ----

LONG = 100  # items: more than loops over tuples are written out for
TABLES = {
    "int": tuple((i * 37) % 101 - 50 for i in range(LONG)),
    "float": tuple(i / 7 for i in range(LONG)),
    "large": tuple(2**63 + i for i in range(LONG)),
    "bool": tuple(i % 3 == 0 for i in range(LONG)),
    "complex": tuple(complex(i, -i / 3) for i in range(LONG)),
    "int8": tuple(np.int8(i - 50) for i in range(LONG)),
    "float32": tuple(np.float32(i / 3) for i in range(LONG)),
    "float16": tuple(np.float16(i / 3) for i in range(LONG)),
    "mixed": tuple(i if i % 2 else i / 4 for i in range(LONG)),
    "special": tuple((math.nan, math.inf, -0.0, -math.inf)[i % 4] for i in range(LONG)),
    "17 items": tuple(i * 1.5 for i in range(17)),
}
INDICES = np.concatenate([np.arange(-17, 17), np.arange(-LONG, LONG)])


@pytest.mark.parametrize("name", TABLES)
def test_run_time_index(target, name):
    table = TABLES[name]
    f = function_of("def f(i):\n    return T[i]\n", T=table)
    indices = INDICES[(INDICES >= -len(table)) & (INDICES < len(table))]
    got = back(lw.vectorize(f)(on(target, indices)))
    want = np.array([table[i] for i in indices])
    if name in ("int8", "float32", "float16"):
        assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got.real), np.signbit(want.real))


def test_index_beyond_the_ends():
    f = function_of("def f(i):\n    return T[i]\n", T=TABLES["float"])
    assert lw.vectorize(f, target="cpu", errors="ignore")(np.array([-1000, 1000])).tolist() == [0.0, TABLES["float"][-1]]
    for options in {}, {"check": {"bounds"}}:
        checked = lw.vectorize(f, target="cpu", **options)
        assert checked(np.array([-100, 99])).tolist() == [0.0, TABLES["float"][-1]]
        for i in -101, 100:
            with pytest.raises(IndexError, match="tuple index out of range"):
                checked(np.array([i]))


def test_tables_of_tuples(target):
    table = tuple((i, i / 2, (i * 1j, i % 2 == 0)) for i in range(LONG))
    f = function_of("def f(i):\n    a, b, c = T[i]\n    return a + b + c[0] + (10 if c[1] else 20)\n", T=table)
    indices = np.arange(-LONG, LONG)
    np.testing.assert_array_equal(back(lw.vectorize(f)(on(target, indices))), [f(i) for i in indices])


def test_tables_of_run_time_values(target):
    items = ", ".join(f"x + {i}" for i in range(LONG))
    f = function_of(f"def f(x, i):\n    t = ({items})\n    return t[i]\n")
    x, indices = np.arange(2.0 * LONG), np.arange(-LONG, LONG)
    np.testing.assert_array_equal(back(lw.vectorize(f)(on(target, x), on(target, indices))), [f(a, i) for a, i in zip(x, indices)])


LOOPS = {
    "for": "for t in T:\n        s = s * 0.5 + t",
    "enumerate": "for k, t in enumerate(T, 5):\n        s = s * 0.5 + t * k",
    "zip": "for t, u, k in zip(T, U, range(1000)):\n        s = s * 0.5 + t * u + k",
    "shorter": "for t, k in zip(T, range(int(x))):\n        s = s * 0.5 + t + k",
    "reversed": "for t in reversed(T):\n        s = s * 0.5 + t",
    "break": "for t in T:\n        if t > x:\n            break\n        s = s * 0.5 + t\n    else:\n        s = -1.0",
    "continue": "for t in T:\n        if t > x:\n            continue\n        s = s * 0.5 + t",
    "pairs": "for a, b in P:\n        s = s * 0.5 + a * b",
    "two deep": "for t in T:\n        for u in T:\n            s = s * 0.5 + t * u",
    "three deep": "for a in S:\n        for b in S:\n            for c in S:\n                s = s * 0.5 + a * b + c",
    "while inside": "for t in T:\n        k = 0\n        while k < t:\n            k = k + 7\n            s = s * 0.5 + k",
}
CONSTANTS = {"T": TABLES["int"], "U": TABLES["float"], "P": tuple((i, i / 3) for i in range(LONG)), "S": tuple(range(20))}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_over_constants(target, name):
    f = function_of(f"def f(x):\n    s = x\n    {LOOPS[name]}\n    return s\n", **CONSTANTS)
    x = np.array([0.0, 3.0, 20.0, 49.0, 1000.0])
    np.testing.assert_array_equal(back(lw.vectorize(f)(on(target, x))), [f(a) for a in x])


def test_loops_in_every_generator(target):
    def sum_to(x):
        s = x
        for k, t in enumerate(table):
            s = s + t * k
        return s

    table = TABLES["int"]
    plus = sum(k * t for k, t in enumerate(table))
    x = np.arange(5.0)

    def core(x, y):
        y[0] = sum_to(x[0])

    def body(i, x, y):
        y[i] = sum_to(x[i])

    def thread(x, y):
        i = cuda.grid(1)
        if i < x.shape[0]:
            y[i] = sum_to(x[i])

    assert back(lw.guvectorize("(n)->()")(core)(on(target, x[None]))).tolist() == [plus]
    for kernel in lambda y: lw.forall(body)(5, on(target, x), y), lambda y: lw.jit(thread)[1, 32](on(target, x), y):
        y = on(target, np.zeros(5))
        kernel(y)
        cuda.synchronize() if target == "cuda" else None
        np.testing.assert_array_equal(back(y), x + plus)
    total = lw.reduce(lambda a, b: a + b, map=sum_to, identity=0.0)(on(target, x))
    assert float(back(total)) == x.sum() + 5 * plus


def test_long_tables_are_quick():
    table = tuple(float(i) for i in range(65536))
    f = function_of("def f(x):\n    s = T[int(x)]\n    for t in T:\n        s = s + t\n    return s\n", T=table)
    with within(3):
        assert lw.vectorize(["float64(float64)"], target="cpu")(f)(5.0) == f(5.0)
    with within(3):
        text = cuda.compile(f, "float64(float64)", cc=(8, 0))[0]
    assert len(text) > 65536


def test_tables_end_somewhere():
    for body in "return T[int(x)]", "for t in T:\n        x = x + t\n    return x":
        f = function_of(f"def f(x):\n    {body}\n", T=tuple(range(65537)))
        with within(3), pytest.raises(lw.errors.TypingError, match="E105.*65536"):
            lw.vectorize(["float64(float64)"], target="cpu")(f)


# ---- loops that are written out ----


@pytest.mark.slow_with_sanitizers
def test_three_loops_of_64():
    f = function_of("def f(x):\n    s = x\n    for a in T:\n        for b in T:\n            for c in T:\n                s = s + a * b * c\n    return s\n", T=tuple(range(64)))
    with within(15):
        assert lw.vectorize(["float64(float64)"], target="cpu")(f)(1.0) == f(1.0)
    with within(15):
        cuda.compile(f, "float64(float64)", cc=(8, 0))


def nest(n_items, n_loops):
    items = ", ".join(f"x + {i}" for i in range(n_items))
    loops = "".join("    " * (i + 1) + f"for a{i} in t:\n" for i in range(n_loops))
    names = " * ".join(f"a{i}" for i in range(n_loops))
    return function_of(f"def f(x):\n    t = ({items})\n    s = 0.0\n{loops}{'    ' * (n_loops + 1)}s = s + {names}\n    return s\n")


def test_loops_over_run_time_tuples():
    f = nest(8, 2)
    assert lw.vectorize(["float64(float64)"], target="cpu")(f)(1.0) == f(1.0)
    with within(2), pytest.raises(lw.errors.UnsupportedError, match="E105.*loop of 64 iterations.*unrolled to 262144") as info:
        lw.vectorize(["float64(float64)"], target="cpu")(nest(64, 3))
    assert info.value.lineno == 6


# ---- long functions ----


def statements(n):
    lines = "".join(f"    x = x * {1 + i % 7}.5 - {i % 11}.25\n    x = math.sqrt(abs(x))\n" for i in range(n // 2))
    return function_of(f"def f(x):\n{lines}    return x\n")


@pytest.mark.slow_with_sanitizers
def test_long_functions():
    f = statements(10000)
    with within(15):
        got = lw.vectorize(["float64(float64)"], target="cpu", fma=False)(f)(np.arange(5.0))
    assert got.tolist() == [f(x) for x in range(5)]
    with within(6):
        cuda.compile(f, "float64(float64)", cc=(8, 0))


@pytest.mark.slow_with_sanitizers
def test_time_grows_with_length():
    times = []
    for n in 2000, 16000:
        f = function_of("def f(x):\n    s = x\n" + "".join(f"    if x > {i}.5:\n        s = s + {i % 11}.25\n" for i in range(n // 2)) + "    return s\n")
        start = time.process_time()
        assert lw.vectorize(["float64(float64)"], target="cpu", cache=False)(f)(2.0) == f(2.0)
        times.append(time.process_time() - start)
    assert times[1] < 24 * times[0]


def unrolled(n):
    """A function whose loops over tuples are unrolled to 4096 iterations of n statements."""
    items = ", ".join(f"x + {i}" for i in range(64))
    return function_of(f"def f(x):\n    t = ({items})\n    for a in t:\n        for b in t:\n" + "            x = x * a + b\n" * n + "    return x\n")


@pytest.mark.slow_with_sanitizers
def test_statements_that_are_too_many():
    f = function_of("def f(x):\n" + "    x = x * 1.5 + 0.25 - x * x * 0.5 + 1.0 / x\n" * 40000 + "    return x\n")
    with within(20), pytest.raises(lw.errors.UnsupportedError, match="E105.*262144 instructions") as info:
        lw.vectorize(["float64(float64)"], target="cpu")(f)
    assert info.value.lineno > 10000


@pytest.mark.parametrize("generator", ["vectorize", "guvectorize", "forall", "jit", "reduce", "cuda"])
def test_functions_that_are_too_long(generator):
    f = unrolled(40)
    with within(10), pytest.raises(lw.errors.UnsupportedError, match="E105.*262144 instructions") as info:
        if generator == "vectorize":
            lw.vectorize(["float64(float64)"], target="cpu")(f)
        elif generator == "guvectorize":
            lw.guvectorize(["float64(float64)"], "()->()", target="cpu")(f)
        elif generator == "forall":
            lw.forall(setter(f), target="cpu")(3, np.ones(3))
        elif generator == "jit":
            lw.jit(f, target="cpu")(1.0)
        elif generator == "reduce":
            lw.reduce(lambda a, b: a + b, map=f, identity=0.0)(np.ones(3))
        else:
            cuda.compile(f, "float64(float64)", cc=(8, 0))
    assert 5 <= info.value.lineno <= 44
    assert "unrolled 4096 times" in str(info.value)


def setter(f):
    def body(i, y):
        y[i] = f(y[i])

    return body


# ---- calls ----


def doubling(n, step="h{0}(x) * 0.5 + h{0}(x * 0.25)"):
    lines = "".join(f"def h{i + 1}(x):\n    return {step.format(i)}\n" for i in range(n))
    names: dict = {"math": math}
    return function_of(f"def h0(x):\n    return x + 1.0\n{lines}def f(x, go):\n    return h{n}(x) if go else x\n", **names)


@pytest.mark.slow_with_sanitizers
def test_helpers_that_double():
    f = doubling(10)
    assert lw.vectorize(["float64(float64, bool)"], target="cpu")(f)(1.5, True) == f(1.5, True)
    f = doubling(29)
    with within(3):
        compiled = lw.vectorize(["float64(float64, bool)"], target="cpu")(f)
        assert compiled(1.5, False) == 1.5
    with within(3):
        cuda.compile(f, "float64(float64, bool)", cc=(8, 0))


@pytest.mark.slow_with_sanitizers
def test_helpers_of_every_generator():
    f = doubling(29)

    def core(x, go, y):
        y[0] = f(x[0], go[0])

    def body(i, x, go, y):
        y[i] = f(x[i], go[i])

    def thread(x, go, y):
        i = cuda.grid(1)
        if i < x.shape[0]:
            y[i] = f(x[i], go[i])

    x, go = np.arange(3.0), np.zeros(3, bool)
    with within(10), lw.config(target="cpu"):
        assert lw.guvectorize("(n),(n)->()")(core)(x[None], go[None]).tolist() == [0.0]
        y = np.ones(3)
        lw.forall(body)(3, x, go, y)
        assert y.tolist() == [0, 1, 2]
        y = np.ones(3)
        lw.jit(thread)[1, 32](x, go, y)
        assert y.tolist() == [0, 1, 2]
        flip = function_of("def flip(x):\n    return f(x, x > 100.0)\n", "flip", f=f)
        assert lw.reduce(lambda a, b: a + b, map=flip, identity=0.0)(x) == 3.0


@pytest.mark.slow_with_sanitizers
def test_functions_that_are_kept_as_calls_can_raise():
    lines = "    x = x * 0.5 + 1.0\n" * 3000
    long = function_of(f"def long(x):\n{lines}    if x > 1e9:\n        raise ValueError('far')\n    return x\n", "long")
    f = function_of("def f(x):\n    return long(x) + long(-x)\n", long=long)
    compiled = lw.vectorize(["float64(float64)"], target="cpu")(f)
    assert compiled(1.0) == f(1.0)
    with pytest.raises(ValueError, match="far"):
        compiled(math.inf)
