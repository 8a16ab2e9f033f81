"""The best element on the host (reduce/host/host_pick_kernel.c): argmax and the like against NumPy, at sizes around those of vectors and blocks,
with ties, NaN and the ends of integers at the ends of blocks; by the code of first calls and by that of later ones."""

import timeit

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions

SIZES = [1, 2, 7, 15, 16, 17, 31, 63, 64, 65, 127, 255, 256, 257, 1023, 1024, 1025, 1087, 1088, 4095, 4096, 4097, 8191, 12_289, 40_000]
DTYPES = ["f4", "f8", "f2", "i1", "u1", "i2", "u4", "i8", "u8", "?"]


def larger(a, b):
    if a[0] == b[0] or (a[0] != a[0] and b[0] != b[0]):
        return a if a[1] < b[1] else b
    return a if a[0] > b[0] or a[0] != a[0] else b


def made():
    """A new reduction like reductions.argmax, all of which other tests have compiled by now."""
    return lw.reduce(larger, map=lambda x, index: (x, index), finish=lambda value, at: at, commutative=True)


def places(n):
    """Places at which an element is likely to be missed."""
    return sorted({at for edge in (0, 16, 64, 256, 1024, 4096, n // 2, n) for at in (edge - 1, edge, edge + 1) if 0 <= at < n})


def check(argmax, argmin, x, layouts=True):
    apart, shifted = np.zeros(2 * len(x), x.dtype), np.zeros(len(x) + 1, x.dtype)
    apart[::2], shifted[1:] = x, x
    for y in (x, apart[::2], x[::-1], shifted[1:]) if layouts else (x,):
        assert argmax(y) == y.argmax()
        assert argmin(y) == y.argmin()


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_places(dtype, later):
    argmax = made()
    if later:
        argmax(np.zeros(1 << 22, dtype))
    least, low = (0, 1) if dtype == "?" else (1, 0)
    for n in SIZES:
        for at in places(n):
            x = np.full(n, least, dtype)
            x[at:] = low
            check(argmax, reductions.argmin, x, layouts=n < 2000)
            x = np.full(n, 0, dtype)
            x[at] = 1
            check(argmax, reductions.argmin, x, layouts=False)
            if dtype[0] == "f":
                x[at:] = np.nan
                check(argmax, reductions.argmin, x, layouts=n < 2000)
                x[0] = np.inf
                check(argmax, reductions.argmin, x, layouts=False)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u8"])
def test_draws(dtype):
    rng, argmax = np.random.default_rng(5), made()
    for later in False, True:
        for n in SIZES:
            kind = np.iinfo(dtype) if dtype[0] in "iu" else None
            for x in (rng.permutation(n).astype(dtype), rng.integers(0, 3, n).astype(dtype), np.sort(rng.integers(0, 100, n)).astype(dtype),
                      rng.choice([kind.min, kind.max], n).astype(dtype) if kind else rng.choice([0.0, -0.0, -np.inf], n).astype(dtype)):
                check(argmax, reductions.argmin, x)
        argmax(np.zeros(1 << 22, dtype))


@pytest.mark.parametrize("shape", [(40, 7), (40, 64), (9, 300), (3, 5000), (2, 3, 1100)], ids=str)
def test_rows(shape):
    rng, argmax = np.random.default_rng(7), made()
    for dtype in "f4", "f8", "f2", "i2", "?":
        for x in (rng.integers(0, 5, shape).astype(dtype), rng.integers(0, 5, shape[::-1]).astype(dtype).T):
            if dtype[0] == "f":
                x.reshape(-1)[3] = np.nan
            for axis in range(x.ndim):
                assert np.array_equal(argmax(x, axis=axis), x.argmax(axis))
                assert np.array_equal(reductions.argmin(x, axis=axis), x.argmin(axis))


@pytest.mark.parametrize("n", [1, 15, 63, 300, 4096, 70_001])
def test_the_first_and_the_last(n):
    """A payload tells which of several equal elements combine has preferred."""
    first = lw.reduce(lambda a, b: b if b[0] > a[0] else a, map=lambda x, p: (x, p))
    last = lw.reduce(lambda a, b: a if a[0] > b[0] else b, map=lambda x, p: (x, p))
    tag = np.random.default_rng(n).permutation(n)
    for x in (np.arange(n) % 50, np.zeros(n, int), -np.arange(n) // 9):
        for y in (x.astype("f8"), x.astype("i4")):
            assert first(y, tag) == (y.max(), tag[y.argmax()])
            assert last(y, tag) == (y.max(), tag[n - 1 - y[::-1].argmax()])


@pytest.mark.slow_with_sanitizers  # with which the call takes longer than the elements
def test_bools_end_at_the_first():
    x = np.zeros(1 << 16, bool)
    x[5] = True
    y = np.zeros(1 << 16, bool)
    argmax = made()
    for _ in range(20):
        argmax(y)
    best = [min(timeit.repeat(lambda: argmax(z), number=20, repeat=30)) for z in (x, y)]
    assert best[0] < 0.5 * best[1]


@pytest.mark.slow_with_sanitizers
@pytest.mark.parametrize("name", ["max", "min", "any", "all"])
def test_reductions_of_bools_end_when_the_result_is_known(name):
    function = getattr(reductions, name)
    known = np.full(1 << 20, name in ("max", "any"))
    for _ in range(20):
        assert function(known) == known[0] and function(~known) != known[0]
    best = [min(timeit.repeat(lambda: function(z), number=20, repeat=30)) for z in (known, ~known)]
    assert best[0] < 0.7 * best[1]


@pytest.mark.parametrize("dtype", ["f2", "bfloat16"])
def test_floats_of_16_bits(dtype):
    """Integers of the same order are compared instead: all of them, in any order."""
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    rng, argmax, nanargmax = np.random.default_rng(8), made(), reductions.nanargmax
    for later in False, True:
        for n in (1, 3, 15, 16, 40, 700, 5000, 1 << 16):
            bits = rng.permutation(1 << 16)[:n].astype(np.uint16)
            x = bits.view(dtype)
            wide = x.astype(np.float32)
            for narrow, y in ((x, wide), (x[~np.isnan(wide)], wide[~np.isnan(wide)]), (-np.abs(x[wide == wide]), -np.abs(wide[wide == wide]))):
                if len(y):
                    assert argmax(narrow) == y.argmax() and reductions.argmin(narrow) == y.argmin()
            if not np.isnan(wide).all():
                assert nanargmax(x) == np.nanargmax(wide) and reductions.nanargmin(x) == np.nanargmin(wide)
        argmax(np.zeros(1 << 22, dtype))


@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_first_calls_are_not_slow(dtype):
    x = np.random.default_rng(0).random(1 << 14, np.float32).astype(dtype)
    argmax = made()
    soon = min(timeit.repeat(lambda: argmax(x), number=1, repeat=100))
    argmax(np.zeros(1 << 22, dtype))
    later = min(timeit.repeat(lambda: argmax(x), number=1, repeat=100))
    assert soon < 25 * later  # 10; element by element it took 55 times as long
