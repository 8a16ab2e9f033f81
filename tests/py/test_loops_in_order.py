"""The loop that runs strictly in order is compiled when a run needs it: results are the same before and after, and calls of contiguous arrays,
numbers and few short rows do without it."""

import math
import threading

import numpy as np
import pytest

import lanewise as lw


def light(a, b):
    return a * b + a


def waves(a, b):
    return math.sin(a) - math.exp(b)


def branching(a, b):
    return 1 / a if a > b else b / 3


def looping(a, b):
    total = a
    while total < 3.0:
        total += abs(b) + 0.5
    return total


def raising(a, b):
    if a > 1e6:
        raise ValueError("too large")
    return a - b


FUNCTIONS = [light, waves, branching, looping, raising]
LAYOUTS = {
    "contiguous": lambda x: (x[0], x[1]), "reversed": lambda x: (x[0, ::-1], x[1]), "steps": lambda x: (x[0, ::2], x[1, 1::2]), "number": lambda x: (x[0], 2.0),
    "numbers": lambda x: (x.dtype.type(1.5), x.dtype.type(2.0)), "few": lambda x: (x[0, :3], x[1, ::200][:3]), "columns": lambda x: (x[:, :1], x[0]), "transposed": lambda x: (x[:4, :4], x[:4, :4].T),
    "short rows": lambda x: (x[:, :5], x[0, :5]), "one": lambda x: (x[0, :1], x[1, 3:4]), "large": lambda x: (np.repeat(x[0], 100)[::2], np.repeat(x[1], 100)[1::2]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_layout_is_as_contiguous(function, dtype):
    """Elements have the same bits in every layout, in the first call and in the hundredth."""
    x = np.random.default_rng(3).normal(size=(6, 512)).astype(dtype)
    reference = lw.vectorize(function)
    for name, layout in LAYOUTS.items():
        a, b = layout(x)
        f = lw.vectorize(function)
        shape = np.broadcast_shapes(np.shape(a), np.shape(b))
        flat = [np.array(np.broadcast_to(np.asarray(v, dtype), shape), order="C") for v in (a, b)]
        expected = np.asarray(reference(*flat))
        for _ in range(100 if name != "large" else 2):
            assert np.array_equal(f(a, b), expected), name
        out = np.zeros((*shape, 3), dtype)[..., 1]
        f(a, b, out=out)
        assert np.array_equal(out, expected), name


@pytest.mark.parametrize("n", [2, 5, 33, 1000])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_dependent_elements(function, n):
    """Each element is stored before the next one is read, as NumPy does with the loop of an unbuffered call."""
    x = np.random.default_rng(3).normal(size=n)
    f, expected = lw.vectorize(["f8(f8, f8)"])(function), x.copy()
    for i in range(1, n):
        expected[i] = function(expected[i - 1], x[i])
    for _ in range(3):
        assert np.allclose(f.accumulate(x), expected, rtol=1e-12, atol=0)
        assert np.allclose(f.reduce(x), expected[-1], rtol=1e-12, atol=0)
    at = x.copy()
    f.at(at, [0, 0, 1], x[:3] if n > 2 else x[[0, 1, 0]])
    twice = function(function(x[0], x[0]), x[1])
    assert np.isclose(at[0], twice, rtol=1e-12, atol=0)


def test_where_and_errors():
    x = np.random.default_rng(3).normal(size=(40, 50))
    for function in FUNCTIONS:
        f, mask = lw.vectorize(function), x > 0
        expected = lw.vectorize(function)(x.copy(), np.ascontiguousarray(np.broadcast_to(x[0], x.shape)))
        for _ in range(3):
            out = np.zeros(x.shape)
            f(x, x[0], out=out, where=mask)
            assert np.array_equal(out[mask], expected[mask]) and not out[~mask].any()
    f = lw.vectorize(raising)
    for n in (1, 2, 30, 3000):
        y = np.zeros(2 * n)
        y[2 * n - 2] = 1e7
        with pytest.raises(ValueError, match="too large"):
            f(y[::2], 1.0)


def test_code_is_added_once_it_pays():
    """A loop's code_bytes are of what has been compiled."""
    x = np.ones(64)

    def size(f):
        return f.resources((lw.float64, lw.float64), target="cpu")["code_bytes"]

    f = lw.vectorize(light)
    f(x, x)
    f(x, 2.0)
    f(1.0, 2.0)
    first = size(f)
    f(x[:4], 2.0)
    assert size(f) == first
    f(np.ones(4000)[::2], np.ones(4000)[::2])
    assert size(f) > first


def test_threads():
    """Calls that need the loop at the same time."""
    x = np.random.default_rng(3).normal(size=4000)
    for _ in range(3):
        f, results, barrier = lw.vectorize(light), [None] * 6, threading.Barrier(6)

        def call(k, f=f, results=results, barrier=barrier):
            barrier.wait()
            results[k] = f(x[::2], x[1::2])

        threads = [threading.Thread(target=call, args=(k,)) for k in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert all(np.array_equal(r, results[0]) for r in results)
