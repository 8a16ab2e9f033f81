"""Array expressions, copies and fills with parallel=True: on all cores, with the bits that they have on one."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import njit, prange

SHAPES = [(), (5,), (4095,), (4096,), (50_003,), (3, 20_001), (1, 30_000), (20_000, 2), (150, 151), (70, 3, 31), (2, 2, 9000), (0, 9000), (9000, 0)]


def arrays(shape, dtype="f8"):
    r = np.random.default_rng(3)
    return [(r.random(shape) * 50 + 1).astype(dtype) for _ in range(3)]


def both(f, **keywords):
    return njit(**keywords)(f), njit(parallel=True, **keywords)(f)


def same(f, *args, numpy=True):
    """Check that one thread, several threads, and NumPy give the same result and change arrays in the same way."""
    serial, parallel = both(f)
    wanted = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    want = serial(*wanted)
    if numpy:
        plain = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        np.testing.assert_allclose(want, f(*plain), rtol=1e-5, atol=1e-4)
        for x, y in zip(wanted, plain):
            np.testing.assert_allclose(x, y, rtol=1e-5)
    for threads in (1, 2, 5):
        with lw.config(threads=threads):
            for _ in range(2):
                changed = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
                np.testing.assert_array_equal(parallel(*changed), want)
                for x, y in zip(changed, wanted):
                    np.testing.assert_array_equal(x, y)


def test_which_functions_use_all_cores():
    def f(a, b):
        return a * b + a

    x = np.ones(10)
    for keywords, wanted in (({"parallel": True}, True), ({}, False), ({"parallel": False}, False), ({"parallel": None}, False), ({"parallel": True, "debug": True}, False)):
        compiled = njit(**keywords)(f)
        compiled(x, x)
        assert ("lw_parallel_run" in next(iter(compiled.inspect_llvm().values()))) == wanted, keywords


MADE = [
    lambda a, b, c: a * b + c,
    lambda a, b, c: np.sqrt(a) - b / c,
    lambda a, b, c: np.sin(a) * np.exp(-b) + np.tan(c),
    lambda a, b, c: (a > b) & (b < c),
    lambda a, b, c: np.where(a > b, a, c),
    lambda a, b, c: np.maximum(a, b) ** 2,
    lambda a, b, c: np.hypot(a, b) + 1j * c,
    lambda a, b, c: a.copy(),
    lambda a, b, c: a.astype(np.float32),
    lambda a, b, c: np.zeros(a.shape) + np.ones_like(b),
    lambda a, b, c: np.full(a.shape, 7),
    lambda a, b, c: a.T + 1,
    lambda a, b, c: (a * b + c)[..., ::2].copy(),
]


@pytest.mark.parametrize("shape", SHAPES[1:], ids=str)
@pytest.mark.parametrize("number", range(len(MADE)))
def test_arrays_that_are_made(number, shape):
    same(MADE[number], *arrays(shape))


@pytest.mark.parametrize("dtype", ["i1", "u4", "i8", "f4", "c16"])
@pytest.mark.parametrize("shape", [(50_003,), (3, 20_001), (150, 151)], ids=str)
def test_dtypes(dtype, shape):
    same(lambda a, b, c: a * b - c, *arrays(shape, dtype))
    same(lambda a, b, c: np.square(a) + b, *arrays(shape, dtype))


def stored(a, b, out):
    out[:] = a * b + a


def in_slices(a, b, out):
    out[1:-1] = a[2:] - b[:-2] * a[1:-1]


def added(a, b, out):
    out += a * b
    out[::2] *= 2


def filled(a, b, out):
    out[1:] = 3
    out[:1] = a[:1]


def masked(a, b, out):
    out[a > b] = 0
    out[a < b] += 2


def overlapping(a, b, out):
    out[1:] = out[:-1] * 2
    out[:-1] = out[1:] + a[1:]
    out[:] = out[::-1] + b


@pytest.mark.parametrize("f", [stored, in_slices, added, filled, masked, overlapping], ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(6,), (50_003,), (3, 20_001), (20_000, 2), (150, 151)], ids=str)
def test_arrays_that_are_stored_in(f, shape):
    def run(a, b, out):
        f(a, b, out)
        return 0

    f = njit(f)
    same(run, *arrays(shape))


@pytest.mark.parametrize("view", [lambda x: x.T, lambda x: x[::-1, ::-1], lambda x: x[::2, ::3], lambda x: x[:, 1:-1], lambda x: np.asfortranarray(x)])
def test_layouts(view):
    a, b, c = (view(x) for x in arrays((300, 301)))
    out = view(np.zeros((300, 301)))
    want = out.copy()
    for parallel in (False, True):
        njit(parallel=parallel)(stored)(a, b, out)
        stored(a, b, want)
        np.testing.assert_allclose(out, want, rtol=1e-12)
        np.testing.assert_allclose(njit(parallel=parallel)(lambda a, b: a * b - a)(a, c), a * c - a, rtol=1e-9)


def test_axes_that_are_repeated():
    a, b, c = arrays((300, 301))
    for x in (a[:, :1].copy(), a[:1].copy(), a[0], np.array(2.0), a[:, ::301]):
        same(lambda a, x: a * x + x, a, x)
        same(lambda a, x: x - a, a, x)
    same(lambda a: a - a[:, 0][:, None] + a[0], a)


def test_shapes_that_differ():
    f = njit(parallel=True)(lambda a, b: a + b)
    with pytest.raises(ValueError, match="4999 elements, and 5000"):
        f(np.ones(5000), np.ones(4999))


def test_a_target_whose_elements_share_memory():
    def run(base, x):
        base[:, :] = x

    for strides in ((8, 0), (0, 8), (8, 8), (-8, 8)):
        for parallel in (False, True):
            memory = np.zeros(2000)
            view = np.lib.stride_tricks.as_strided(memory[200 if strides[0] < 0 else 0:], (100, 100), strides)
            x = np.arange(10_000.0).reshape(100, 100)
            want = np.zeros(2000)
            for i in range(100):
                for j in range(100):
                    want[(200 if strides[0] < 0 else 0) + (i * strides[0] + j * strides[1]) // 8] = x[i, j]
            with lw.config(threads=4):
                for _ in range(5):
                    njit(parallel=parallel)(run)(view, x)
            np.testing.assert_array_equal(memory, want)


def test_functions_of_elements():
    @lw.vectorize
    def halves(x):
        n = 0
        while x > 1:
            x /= 2
            n += 1
        return n

    a, b, _ = arrays((50_003,))
    same(lambda a, b: halves(a) + b, a, b, numpy=False)


def test_elements_that_raise_stay_on_one_thread():
    @lw.vectorize
    def checked(x):
        if x == 30_000:
            raise ValueError("thirty thousand")
        return x + 1

    def run(x, out):
        out[:] = checked(x)

    x = np.arange(50_003.0)
    outs = [np.zeros_like(x), np.zeros_like(x)]
    for f, out in zip(both(run), outs):
        with pytest.raises(ValueError, match="thirty thousand"):
            f(x, out)
    np.testing.assert_array_equal(outs[0], outs[1])

    def caught(x, out):
        try:
            out[:] = checked(x)
        except ValueError:
            return 1
        return 0

    assert [f(x, outs[0]) for f in both(caught)] == [1, 1]


def test_elements_that_draw_random_numbers():
    @njit
    def noise(x):
        return x + np.random.random()

    noises = lw.vectorize(lambda x: x * 2)

    def run(x):
        np.random.seed(1)
        y = noises(x) + np.random.random(x.size)
        return y + noise(1.0)

    same(run, np.arange(50_003.0), numpy=False)


def test_random_numbers_of_later_loops_are_the_same():
    def run(x):
        np.random.seed(1)
        y = x * 2 + 1
        out = np.zeros(1000)
        for i in prange(1000):
            out[i] = np.random.random()
        return out + y[:1000]

    same(run, np.arange(50_003.0), numpy=False)


def test_in_loops_and_calls():
    @njit
    def smooth(x):
        return (x[1:] + x[:-1]) / 2

    def steps(x, n):
        for i in range(n):
            x = smooth(x)
        return x

    def rows(x, out):
        for i in prange(x.shape[0]):
            out[i, :-1] = smooth(x[i] * 2)
            out[i] += x[i]
        return out.copy()

    a, _, c = arrays((40, 5003))
    same(steps, a[0], 9)
    same(rows, a, np.zeros_like(a))


def test_loops_over_dense_elements_are_vectorised():
    f = njit(lambda a, b: a * b + a)
    f(np.ones(9), np.ones(9))
    assert "llvm.loop.parallel_accesses" in next(iter(f.inspect_llvm().values()))
