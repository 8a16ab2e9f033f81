"""Captured numbers that are others in each step: after three values they are operands of the code, which computes what it computes
with constants, bit for bit."""

from __future__ import annotations

import copy
import math
import pickle
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

FLOATS = [0.5, -1.25, 3.0, 0.1, 1e-300, 7.0, math.inf, -0.0, 2.0, 0.3]
INTS = [1, 2, 3, 4, 7, 100, 127, -1, -128, 0, 1000, 300]
VALUES = {
    "float": FLOATS,
    "int": INTS,
    "complex": [complex(v, -v / 3) for v in FLOATS if math.isfinite(v)],
    "float32": [np.float32(v) for v in FLOATS],
    "float16": [np.float16(v) for v in (0.5, 0.1, 3, 2, 7, 9)],
    "float64": [np.float64(v) for v in FLOATS],
    "int32": [np.int32(v) for v in INTS],
    "uint8": [np.uint8(v) for v in (1, 2, 3, 4, 5, 255, 0)],
    "int64": [np.int64(v) for v in INTS],
    "complex64": [np.complex64(complex(v, 1)) for v in FLOATS if math.isfinite(v)],
    "bool": [True, False, True, False],
    "mixed": [1, 2.5, 3, np.float32(4), 5.5, 6j, 7, 8.5, True, 2**70, 9],
}
BODIES = ["x + k", "k * x", "x - k * 3", "x / k", "k / x", "2 * k + x", "x * (k * 0.1)", "x * (k * 3 + 1)", "-k * x", "x > k", "k if x > 2 else x",
          "min(x, k)", "x ** k", "k ** x", "x // k", "x % k", "math.exp(x * k)", "math.exp(k) * x", "np.float32(k) * x", "float(k) + x", "int(k) + x",
          "x if k else -x", "x if k > 2 else -x", "(x, 2 * x, k)[1] + k", "abs(k) + x", "k", "x + k.real", "x + (k == 3)", "x * k + x * k", "x * x + k * 0.1",
          "g(x, k)", "g(x, 1) + k", "np.sqrt(x * x + k)", "x << k", "x & k", "round(x * k, 2)", "x * 1j + k", "~k + x", "not k"]
HEAD = "import math\nimport numpy as np\nk = None\ndef g(x, k):\n    return x * k + 1\n"


def made(value, body):
    """A function of its own module, whose global k is this."""
    space = {"__name__": "changing"}
    exec(HEAD + f"def f(x):\n    return {body}\n", space)
    space["k"] = value
    g = space["g"]
    g = space["g"] = lw.jit(g, source=HEAD[HEAD.index("def g"):])
    return space


def outcome(f, *args):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = np.asarray(f(*args))
        except Exception as e:  # the same class is asked for
            return type(e)
    return result.dtype.str, result.tobytes()


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("kind", VALUES)
def test_results_are_those_of_constants(kind, body):
    text = f"def f(x):\n    return {body}\n"
    space = made(None, body)
    changing = lw.vectorize(space["f"], source=text)
    for value in VALUES[kind]:
        space["k"] = value
        constant = lw.vectorize(made(value, body)["f"], source=text)
        for dtype in ("f8", "f4", "i8", "i1", "u1"):
            x = np.arange(1, 20).astype(dtype)
            assert outcome(changing, x) == outcome(constant, x), (value, dtype)
