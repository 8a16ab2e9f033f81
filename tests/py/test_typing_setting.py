"""The setting `typing`, the default of typing=, in every generator."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

HALF = np.float32([1, 2])


def half(x):
    return x * 0.5


def half_kernel(x, out):
    i = cuda.grid(1)
    if i < len(x):
        out[i] = (x[i] * 0.1) * 3.0  # float64 until it is stored under numba's rules


def half_element(i, x, out):
    out[i] = (x[i] * 0.1) * 3.0


def add(a, b):
    return (a + b) * 1.0


X = np.float32([0.1, 0.7, 3.3])
WEAK, NUMBA = np.float32(0.1) * X * np.float32(3), (X * np.float64(0.1)) * 3.0
assert (WEAK.astype(float) != NUMBA).any()


def filled(run):
    out = np.zeros(3)
    run(out)
    return out


def by_vectorize(**options):
    return lw.vectorize(**options)(half)(HALF).dtype


def by_vectorize_with_signatures(**options):
    f = lw.vectorize(["float32(float32)", "float64(float64)"], **options)(lambda x: (x * 0.1) * 3.0)
    return str(f(X) == NUMBA.astype(np.float32))


def by_guvectorize(**options):
    return tuple(filled(lambda out: lw.guvectorize("(n)->(n)", **options)(lambda r, o: half_element(1, r, o))(X, out)))


def by_reduce(**options):
    return lw.reduce(add, **options)(HALF).dtype


def by_forall(**options):
    return tuple(filled(lambda out: lw.forall(**options)(half_element)(3, X, out)))


def by_jit(**options):
    return tuple(filled(lambda out: cuda.jit(target="cpu", **options)(half_kernel)[1, 32](X, out)))


def by_njit(**options):
    return lw.njit(**options)(lambda x: (x[1] * 0.1) * 3.0)(X)


def by_cfunc(**options):
    f = lw.cfunc("float64(float32)", **options)(lambda x: (x * 0.1) * 3.0)
    return tuple(f.ctypes(float(x)) for x in X)


GENERATORS = [by_vectorize, by_vectorize_with_signatures, by_guvectorize, by_reduce, by_forall, by_jit, by_njit, by_cfunc]


@pytest.mark.parametrize("made", GENERATORS)
def test_generators(made):
    weak, numba = made(typing="weak"), made(typing="numba")
    assert weak != numba
    assert made() == weak
    with lw.config(typing="numba"):
        assert made() == numba
        assert made(typing="weak") == weak
    assert made() == weak


def test_functions_keep_theirs():
    """The setting is that of the decoration, also for what is made of a function later."""
    weak = lw.vectorize(lambda x, k: x * 0.5 + k, static="k")
    late = lw.vectorize(target="cpu")
    with lw.config(typing="numba"):
        numba = lw.vectorize(lambda x, k: x * 0.5 + k, static="k")
        assert weak(HALF, 1).dtype == np.float32
        assert late(lambda x: x * 0.5)(HALF).dtype == np.float64
        pickled = pickle.dumps(weak)
    assert numba(HALF, 1).dtype == numba(HALF, 2).dtype == np.float64
    assert pickle.loads(pickle.dumps(numba))(HALF, 1).dtype == np.float64
    with lw.config(typing="numba"):
        assert pickle.loads(pickled)(HALF, 1).dtype == weak(HALF, 2).dtype == np.float32


SCALE = 0.5


def test_functions_made_anew_keep_theirs():
    global SCALE
    f = lw.vectorize(lambda x: x * SCALE)
    assert f(HALF).dtype == np.float32
    with lw.config(typing="numba"):
        SCALE = 2.0
        assert f(HALF).dtype == np.float32 and f(HALF)[0] == 2
    SCALE = 0.5


def test_methods_keep_theirs():
    class Scale:
        def __init__(self, k):
            self.k = k

        @lw.vectorize
        def times(self, x, y):
            return self.k * x * y

    with lw.config(typing="numba"):
        assert Scale(2.0).times.reduce(HALF).dtype == np.float32


def test_the_librarys_functions_do_not_change():
    with lw.config(typing="numba"):
        made = lw.ufuncs._make("hypot")
        assert made(np.int8(3), np.int8(4)).dtype == np.hypot(np.int8(3), np.int8(4)).dtype
        assert lw.reductions.sum(HALF).dtype == np.float32
        assert lw.random.Generator(1).random(3, dtype=np.float32).dtype == np.float32


def test_words():
    with pytest.raises(ValueError, match="lanewise.config.typing must be 'weak' or 'numba', not 'numpy'"):
        lw.config.typing = "numpy"
    assert lw.config.typing == "weak"


@pytest.mark.parametrize("word, dtype, told", [("numba", "float64", ""), ("numpy", "float32", "LANEWISE_TYPING must be 'weak' or 'numba', not 'numpy'")])
def test_environment(word, dtype, told, tmp_path):
    (tmp_path / "program.py").write_text("import numpy as np, lanewise as lw\nprint(lw.vectorize(lambda x: x * 0.5)(np.float32([1])).dtype)")
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, env={**os.environ, "LANEWISE_TYPING": word}, capture_output=True, text=True)
    assert done.stdout == dtype + "\n" and told in done.stderr and bool(told) == bool(done.stderr)


def test_an_empty_variable_is_as_none(run_python):
    done = run_python("-c", "import lanewise as lw; print(lw.vectorize(['f8(f8)'])(lambda x: x + 1)(1.0))", LANEWISE_TYPING="")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "2.0", "")
