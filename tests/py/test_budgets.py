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
    with within(1), pytest.raises(lw.errors.CompileError, match="E104|E120"):
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
