"""Long work on host arrays goes over several threads, whatever the axes and the layout, and gives the same bits with any number of them."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions

THREADS = "/proc/self/task"
RNG = np.random.default_rng(3)
CUBE = RNG.standard_normal((120, 130, 140))
LAYOUTS = {
    "C": CUBE,
    "Fortran": np.asfortranarray(CUBE),
    "transposed": CUBE.transpose(1, 2, 0),
    "every second": np.repeat(CUBE, 2, axis=2)[:, :, ::2],
    "a part": np.pad(CUBE, 1)[1:-1, 1:-1, 1:-1],
}
MASK = CUBE > -1


def nanoseconds_of_others():
    """Of processor time, of all threads but this one."""
    total, own = 0, threading.get_native_id()
    for name in os.listdir(THREADS):
        try:
            with open(f"{THREADS}/{name}/schedstat") as file:
                total += int(file.read().split()[0]) if int(name) != own else 0
        except OSError:  # it has ended meanwhile
            continue
    return total


def settled():
    """Their time once none of them runs any more: workers look for work for a while before they sleep."""
    before = -1
    for _ in range(200):
        now = nanoseconds_of_others()
        if now == before:
            break
        before = now
        time.sleep(0.01)
    return before


def check_takes_threads(f):
    """Whether workers are woken. Those of a busy machine may come too late to do anything, which is no fault."""
    if not os.path.exists(f"{THREADS}/{os.getpid()}/schedstat"):
        pytest.skip("the system does not tell the time of a thread")
    with lw.config(threads=4):
        for _ in range(3):  # compiles, and learns what it costs
            f()
        before = settled()
        f()
        assert settled() > before, "it is done by one thread"


def bits(result):
    return [(one.dtype, one.tobytes()) for one in (result if isinstance(result, tuple) else (result,))]


def check_bits(f):
    with lw.config(threads=1):
        wanted = f()
    for n in (2, 3, 7):
        with lw.config(threads=n):
            assert bits(f()) == bits(wanted), n
    return wanted


def check(f):
    check_takes_threads(f)
    return check_bits(f)


# ---- reductions ----


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axis", [0, 1, 2, (0, 1), (0, 2), (1, 2)])
def test_sums_along_any_axes(axis, layout):
    x = LAYOUTS[layout]
    result = check(lambda: reductions.sum(x, axis=axis))
    np.testing.assert_allclose(result, x.sum(axis=axis), rtol=1e-12, atol=1e-11)


second = lw.reduce(lambda a, b: b)  # in order
line = lw.reduce(map=lambda p: (p, 1.0), combine=lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), finish=lambda a, b: a + b)
REDUCTIONS = {
    "max": (lambda x: reductions.max(x, axis=1), lambda x: x.max(axis=1)),
    "max of integers": (lambda x: reductions.max((x * 100).astype(np.int32), axis=1), lambda x: (x * 100).astype(np.int32).max(axis=1)),
    "sum of float32": (lambda x: reductions.sum(x.astype(np.float32), axis=1), lambda x: x.astype(np.float32).sum(axis=1)),
    "argmax": (lambda x: reductions.argmax(x, axis=1), lambda x: x.argmax(axis=1)),
    "var": (lambda x: reductions.var(x, axis=1), lambda x: x.var(axis=1)),
    "nanmean": (lambda x: reductions.nanmean(np.where(x > 1, np.nan, x), axis=1), lambda x: np.nanmean(np.where(x > 1, np.nan, x), axis=1)),
    "logsumexp": (lambda x: reductions.logsumexp(x, axis=1), lambda x: np.log(np.exp(x).sum(axis=1))),
    "where": (lambda x: reductions.sum(x, axis=1, where=MASK), lambda x: x.sum(axis=1, where=MASK)),
    "initial": (lambda x: reductions.min(x, axis=1, initial=-1.0), lambda x: x.min(axis=1, initial=-1.0)),
    "in order": (lambda x: second(x, axis=1), lambda x: x[:, -1]),
    "pairs": (lambda x: line(x, axis=1)[..., :0], lambda x: x[:, 0, :0]),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_middle_axes(name):
    f, reference = REDUCTIONS[name]
    result = check(lambda: f(CUBE))
    np.testing.assert_allclose(result, reference(CUBE), rtol=1e-4 if "32" in name else 1e-11, atol=1e-4 if "32" in name else 1e-12)


@pytest.mark.parametrize("shape", [(400, 4, 1000), (100000, 3, 5), (3, 70000, 6), (2, 3, 300000), (4, 2100, 130), (1, 300, 4000)])
@pytest.mark.parametrize("axis", [1, 2])
def test_lines_of_columns(shape, axis):
    """Tiles of one line and of several, of one chunk and of several, and short rows."""
    x = RNG.integers(-1000, 1000, shape)
    assert (check(lambda: reductions.sum(x, axis=axis)) == x.sum(axis=axis)).all()
    spread = check(lambda: reductions.std(x, axis=axis))
    np.testing.assert_allclose(spread, x.std(axis=axis), rtol=1e-11, atol=1e-9)


def test_results_that_cost_as_much_as_their_elements():
    """finish() of many short rows, which alone is long."""
    largest = lw.reduce(lambda a, b: max(a, b), finish=lambda a: np.log(np.exp(a) + 1.0))
    x = RNG.standard_normal((200000, 2))
    np.testing.assert_allclose(check(lambda: largest(x, axis=1)), np.log(np.exp(x.max(axis=1)) + 1), rtol=1e-12)


# ---- scans ----

newest = lw.reduce(lambda a, b: b)  # without an identity, and the order matters
recurrence = lw.reduce(map=lambda p: (0.5, p), combine=lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), finish=lambda a, b: b)


def halves(x):
    """y[i] = y[i - 1] / 2 + x[i], whose terms of 60 elements ago are below the last bit."""
    result, part = np.zeros_like(x), x.copy()
    for back in range(60):
        result[..., back:] += part[..., : x.shape[-1] - back] * 0.5**back
    return result


SCANS = {
    "sums": (lambda x: reductions.cumsum(x, axis=-1), lambda x: x.cumsum(axis=-1)),
    "sums of integers": (lambda x: reductions.cumsum((x * 10).astype(np.int16), axis=-1), lambda x: (x * 10).astype(np.int16).cumsum(axis=-1)),
    "maxima": (lambda x: reductions.running_maximum(x, axis=-1), lambda x: np.maximum.accumulate(x, axis=-1)),
    "without NaN": (lambda x: reductions.nancumsum(x, axis=-1), lambda x: x.cumsum(axis=-1)),
    "the last": (lambda x: newest.accumulate(x, axis=-1), lambda x: x),
    "a recurrence": (lambda x: recurrence.accumulate(x, axis=-1), halves),
}


@pytest.mark.parametrize("shape", [(1, 1000000), (2, 300000), (30, 40000), (700, 1000), (5, 3, 40000), (1, 32768 + 8128 * 7 + 1)])
@pytest.mark.parametrize("name", SCANS)
def test_scans(name, shape):
    """Rows of several rounds, several rows of one round, and short rows."""
    f, reference = SCANS[name]
    x = RNG.standard_normal(shape)
    result = check(lambda: f(x)) if x.size > 200000 else check_bits(lambda: f(x))
    np.testing.assert_allclose(result, reference(x), rtol=1e-9, atol=1e-8)


def test_flags_of_long_scans():
    """Whose values are looked at by all threads, if a product has become too small for a number."""
    product = lw.reduce(map=lambda p: (p, p), combine=lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), finish=lambda a, b: a)
    x = np.full(500000, 0.5)

    def scan():
        with np.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
            product.accumulate(x)
        return np.zeros(1)

    check(scan)
    with np.errstate(all="raise"):
        product.accumulate(np.where(np.arange(500000) == 3, np.nan, x))  # which explains that it is no number
