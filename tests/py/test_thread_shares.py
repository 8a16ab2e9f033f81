"""Long work on host arrays goes over several threads, whatever the axes and the layout, and gives the same bits with any number of them."""

from __future__ import annotations

import time

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions

ENOUGH_NS = 8000  # of processor time: a thread that finds nothing to do takes more, and the two clocks are a microsecond apart
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
    """The processor time of all other threads, including those that have ended."""
    return time.process_time_ns() - time.thread_time_ns()


def settled():
    """The processor time of the other threads when none of them runs any more: workers look for work for a while before they sleep."""
    history = []
    for _ in range(200):
        history = [*history[-3:], nanoseconds_of_others()]
        if len(history) == 4 and history[-1] - history[0] < ENOUGH_NS:  # a worker may have to wait for a core of a busy machine
            break
        time.sleep(0.01)
    return history[-1]


def check_takes_threads(f):
    """Check that other threads are woken. On a busy machine they may be too late to do anything, or to be seen, which is no fault."""
    with lw.config(threads=4):
        for _ in range(3):  # compiles, and learns what it costs
            f()
        for _ in range(5):
            before = settled()
            f()
            if settled() - before > ENOUGH_NS:
                return
    pytest.fail("it is done by one thread")


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
    """There are tiles of one line and of several, of one chunk and of several, and short rows."""
    x = RNG.integers(-1000, 1000, shape)
    assert (check(lambda: reductions.sum(x, axis=axis)) == x.sum(axis=axis)).all()
    spread = check(lambda: reductions.std(x, axis=axis))
    np.testing.assert_allclose(spread, x.std(axis=axis), rtol=1e-11, atol=1e-9)


def test_results_that_cost_as_much_as_their_elements():
    """The rows are many and short, and only finish() takes long."""
    largest = lw.reduce(lambda a, b: max(a, b), finish=lambda a: np.log(np.exp(a) + 1.0))
    x = RNG.standard_normal((200000, 2))
    np.testing.assert_allclose(check(lambda: largest(x, axis=1)), np.log(np.exp(x.max(axis=1)) + 1), rtol=1e-12)


# ---- scans ----

newest = lw.reduce(lambda a, b: b)  # without an identity, and the order matters
recurrence = lw.reduce(map=lambda p: (0.5, p), combine=lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), finish=lambda a, b: b)


def halves(x):
    """y[i] = y[i - 1] / 2 + x[i]: the terms of 60 elements ago are below the last bit."""
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
    """Rows take several steps each, or share one step, or are short."""
    f, reference = SCANS[name]
    x = RNG.standard_normal(shape)
    result = check(lambda: f(x)) if x.size > 200000 else check_bits(lambda: f(x))
    np.testing.assert_allclose(result, reference(x), rtol=1e-9, atol=1e-8)


def test_flags_of_long_scans():
    """All threads look at the values of a scan if a product has become too small for a number."""
    product = lw.reduce(map=lambda p: (p, p), combine=lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), finish=lambda a, b: a)
    x = np.full(500000, 0.5)

    def scan():
        with np.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
            product.accumulate(x)
        return np.zeros(1)

    check(scan)
    with np.errstate(all="raise"):
        product.accumulate(np.where(np.arange(500000) == 3, np.nan, x))  # which explains that it is no number


# ---- NumPy's functions of rows ----

SMALL = RNG.standard_normal((60, 70, 80))
HOLES = np.where(RNG.random(SMALL.shape) < 0.0005, np.nan, SMALL)
HOLES[3, 5] = np.nan


@pytest.mark.parametrize("axis", [0, 1, -1, (0, 1), (2, 0), (1, 2)])
@pytest.mark.parametrize(("name", "q"), [("median", ()), ("nanmedian", ()), ("quantile", (0.3,)), ("nanquantile", ([0.1, 0.5, 0.9],)), ("percentile", ([25, 75],)), ("nanpercentile", (33,))])
@pytest.mark.filterwarnings("ignore:All-NaN slice")
def test_quantiles(name, q, axis):
    f, numpys = getattr(reductions, name), getattr(np, name)
    for x in (SMALL, HOLES, HOLES.astype(np.float32), (SMALL * 100).astype(np.int16)):
        wanted = numpys(x, *q, axis=axis)
        result = check_bits(lambda: f(x, *q, axis=axis))
        np.testing.assert_array_equal(result, wanted)
        assert (result.dtype, result.shape, result.flags.c_contiguous) == (wanted.dtype, wanted.shape, True)
        kept = f(x, *q, axis=axis, keepdims=True)
        np.testing.assert_array_equal(kept, numpys(x, *q, axis=axis, keepdims=True))
        out = np.empty_like(wanted)
        assert f(x, *q, axis=axis, out=out) is out
        np.testing.assert_array_equal(out, wanted)
    check_takes_threads(lambda: f(SMALL, *q, axis=axis))
    if q:  # with two axes NumPy's nanquantile puts them elsewhere
        np.testing.assert_array_equal(f(SMALL, np.reshape(q[0], (1, -1)), axis=axis), numpys(SMALL, np.reshape(q[0], (1, -1)), axis=axis))


def test_rows_of_nothing_warn_once():
    with lw.config(threads=3), pytest.warns(RuntimeWarning, match="All-NaN slice encountered") as told:
        result = reductions.nanmedian(HOLES, axis=2)
    assert len(told) == 1 and told[0].filename == __file__
    assert np.isnan(result).sum() == 1


@pytest.mark.parametrize("k", [5, -5, 70, -120])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_best_of_rows(axis, k):
    for x in (SMALL, HOLES, (SMALL * 3).astype(np.int32)):
        found = check(lambda: reductions.argtopk(x, k, axis=axis))
        n = x.shape[axis]
        order = n - 1 - np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis) if k > 0 else np.argsort(x, axis=axis, kind="stable")
        np.testing.assert_array_equal(found, np.take(order, range(min(abs(k), n)), axis))
        np.testing.assert_array_equal(reductions.topk(x, k, axis=axis), np.take_along_axis(x, found, axis))


@pytest.mark.parametrize("k", [3, -3, 1000, -1000])
@pytest.mark.parametrize("step", [1, -1, 2])
def test_the_best_of_a_long_line(k, step):
    for x in (RNG.standard_normal(700000)[::step], RNG.integers(0, 50, 700000)[::step], np.where(np.arange(700000) % 60000 == 7, np.nan, 1.0)[::step]):
        order = x.size - 1 - np.argsort(x[::-1], kind="stable")[::-1] if k > 0 else np.argsort(x, kind="stable")
        np.testing.assert_array_equal(check(lambda: reductions.argtopk(x, k)), order[: abs(k)])


def test_an_error_in_a_thread_is_raised():
    from lanewise import _row_threads

    def refuses(part):
        if part[0, 0] >= 500000:
            raise KeyError(int(part[0, 0]))
        return part[:, 0]

    rows = np.arange(1000000).reshape(1000, 1000)
    with lw.config(threads=3):
        with pytest.raises(KeyError, match="500000"):
            _row_threads.of_rows(refuses, rows)
        assert (_row_threads.of_rows(lambda part: part[:, 0], rows) == rows[:, 0]).all()  # nothing is held


def test_the_floating_point_state_of_the_caller():
    x = np.full((700, 1000), np.inf)
    x[:, ::2] = -np.inf
    with lw.config(threads=3), np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        reductions.median(x, axis=1)
    with lw.config(threads=3), np.errstate(invalid="ignore"):
        assert np.isnan(reductions.median(x, axis=1)).all()


numbered = lw.reduce(map=lambda x, index: (x, index), combine=lambda a, b: a if a[0] >= b[0] else b, finish=lambda value, at: at)
both = lw.reduce(map=lambda x: (x, x), combine=lambda a, b: (max(a[0], b[0]), a[1] * b[1]), finish=lambda most, all: (most, all))


@pytest.mark.parametrize("shape", [(300, 1000), (3000, 70), (30, 20, 500), (7, 100, 16), (40, 2000, 17), (2, 5, 100000)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "c16"])
def test_scans_of_neighbouring_rows(dtype, shape):
    """They have the bits of rows that are scanned separately."""
    x = (RNG.standard_normal(shape) * 20).astype(dtype)
    axis = len(shape) - 2
    last = np.ascontiguousarray(np.swapaxes(x, axis, -1))
    total = lw.reduce(lambda a, b: a + b, identity=0)
    cases = [lambda x, axis: reductions.cumsum(x, axis=axis), lambda x, axis: recurrence.accumulate(x, axis=axis), lambda x, axis: newest.accumulate(x, axis=axis),
             lambda x, axis: total.accumulate(x, axis=axis, initial=5), lambda x, axis: total.accumulate(x, axis=axis, exclusive=True)]
    if dtype != "c16":
        cases += [lambda x, axis: numbered.accumulate(x, axis=axis), lambda x, axis: np.stack(both.accumulate(x, axis=axis))]
    for f in cases:
        wanted = f(last, -1)
        for given in (x, np.repeat(x, 2, axis=-1)[..., ::2], np.asfortranarray(x), x[::-1].copy()[::-1]):
            assert (np.swapaxes(check_bits(lambda: f(given, -2)), -2, -1) == wanted).all()
    if x.size >= 1000000:
        check_takes_threads(lambda: reductions.cumsum(x, axis=axis))
