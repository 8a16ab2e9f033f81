"""The GPU's kernel for scans, on the simulator: every boundary of tiles, groups and super-groups, order, shapes.

`size=k` makes tiles of 32 threads with k items each: groups of 16 tiles where a block has one row; with rows side by side groups of
32 tiles and super-groups of 32 groups."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import lanewise as lw

total = lw.reduce(lambda a, b: a + b)
biggest = lw.reduce(lambda a, b: max(a, b))
last = lw.reduce(lambda a, b: b)
affine = lw.reduce(lambda a, b, c, d: (a * c, b * c + d), map=lambda a, b: (a, b))


def times(a, b):
    return a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]


matrices = lw.reduce(times, map=lambda p, q, r, s: (p, q, r, s), identity=(1, 0, 0, 1))


def some(shape, dtype="i4", seed=0):
    return (np.random.default_rng(seed).random(shape) * 100 - 50).astype(dtype)


def words(n, rows=4, seed=0):
    return np.random.default_rng(seed).integers(0, 2**32, (rows, n), dtype="u4")


def around(*places):
    return sorted({max(1, p + d) for p in places for d in (-1, 0, 1)})


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097, 10_000])
def test_sizes(n):
    x = some(n)
    for dtype in ("i4", "f8", "i1"):
        np.testing.assert_array_equal(total._simulate_scan(x.astype(dtype)), np.cumsum(x.astype(dtype)))
    np.testing.assert_array_equal(total._simulate_scan(x, exclusive=True), np.cumsum(x) - x)
    np.testing.assert_array_equal(total._simulate_scan(x, initial=1000), np.cumsum(x) + 1000)
    np.testing.assert_array_equal(biggest._simulate_scan(x), np.maximum.accumulate(x))


@pytest.mark.parametrize("n", around(32, 32 * 16, 32 * 31, 32 * 32, 32 * 33, 32 * 64, 32 * 1023, 32 * 1024, 32 * 1025, 32 * 1056, 32 * 2048))
def test_tiles_groups_supergroups(n):
    """Tiles of 32 elements; products of matrices modulo 2^32 do not commute."""
    data = words(n, seed=n)
    for exclusive in (False, True):
        got = matrices._simulate_scan(*data, size=1, exclusive=exclusive)
        for g, w in zip(got, matrices.accumulate(*data, exclusive=exclusive)):
            np.testing.assert_array_equal(g, w)
    np.testing.assert_array_equal(last._simulate_scan(data[0], size=1), data[0])


@pytest.mark.parametrize("n", [1, 15, 16, 17, 511, 513, 16 * 1023 + 1, 16 * 1024, 16 * 1024 + 1, 16 * 1056 + 1])
def test_tiles_groups_supergroups_of_columns(n):
    """Two rows side by side are scanned by 16 threads each; 32 of them by one each, a super-group being 1024 elements."""
    data = words(2 * n, seed=n).reshape(4, n, 2)
    for exclusive in (False, True):
        got = matrices._simulate_scan(*data, size=1, exclusive=exclusive)
        for g, w in zip(got, matrices.accumulate(*data, exclusive=exclusive)):
            np.testing.assert_array_equal(g, w)
    wide = np.random.default_rng(n).integers(0, 2**32, (n // 16 + 1, 32), "u4")
    np.testing.assert_array_equal(last._simulate_scan(wide, size=1), wide)
    np.testing.assert_array_equal(total._simulate_scan(wide, size=1, initial=7), np.cumsum(wide, 0) + 7)


@pytest.mark.parametrize("dtype", ["i1", "u2", "f4", "i8", "f8"])
def test_wherever_elements_begin(dtype):
    """Accesses of several elements need an address that is a multiple of their size; the bits do not depend on it."""
    x = (np.random.default_rng(6).random(9000) * 100).astype(dtype)
    pair = lw.reduce(lambda a, b: (a[0] + b[0], max(a[1], b[1])), map=lambda x, y: (x, y), identity=(0, 0))
    for offset in range(5):
        for exclusive in (False, True):
            for of_one in (x[offset:], x[offset : offset + 8192].reshape(2, -1), x[offset : offset + 8100].reshape(4, -1)):
                got = total._simulate_scan(of_one, axis=-1, exclusive=exclusive)
                assert got.tobytes() == total._simulate_scan(of_one.copy(), axis=-1, exclusive=exclusive).tobytes()
                np.testing.assert_allclose(got, np.cumsum(of_one, -1, dtype=got.dtype) - (of_one if exclusive else 0), rtol=1e-4)
            sums, tops = pair._simulate_scan(x[:8192], x[offset : offset + 8192], exclusive=exclusive)
            wanted = pair.accumulate(x[:8192], x[offset : offset + 8192], exclusive=exclusive)
            np.testing.assert_allclose(sums, wanted[0], rtol=1e-4)
            np.testing.assert_array_equal(tops, wanted[1])


@pytest.mark.parametrize("size", [1, 2, 4, 16])
def test_against_functools(size):
    data = words(700, 2)
    got = affine._simulate_scan(*data, size=size)
    items = list(zip(*data.tolist()))
    for i in (0, 1, 31, 32, 63, 64, 65, 511, 512, 513, 699):
        wanted = functools.reduce(lambda a, b: (a[0] * b[0] % 2**32, (a[1] * b[0] + b[1]) % 2**32), items[: i + 1])
        assert (got[0][i], got[1][i]) == wanted


SHAPES = [(40, 30), (3, 500), (500, 3), (1, 70), (70, 1), (2, 300), (5, 33, 7), (2, 3, 90), (90, 2, 3), (4, 1, 40), (300, 40)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("size", [0, 1, 2])
def test_axes(shape, size):
    x = some(shape)
    for axis in range(len(shape)):
        for exclusive in (False, True):
            got = total._simulate_scan(x, axis=axis, size=size, exclusive=exclusive)
            np.testing.assert_array_equal(got, np.cumsum(x, axis) - (x if exclusive else 0))
        np.testing.assert_array_equal(last._simulate_scan(x, axis=axis, size=size), x)


@pytest.mark.parametrize("size", [0, 2])
def test_strides_and_broadcasting(size):
    x = some((60, 70))
    for view in (x.T, x[::-1], x[:, ::-2], x[::3, 5:9], np.broadcast_to(x[0], (9, 70)), np.broadcast_to(x[:, :1], (60, 9))):
        for axis in (0, 1):
            np.testing.assert_array_equal(total._simulate_scan(view, axis=axis, size=size), np.cumsum(view, axis))
    product = lw.reduce(lambda a, b: a + b, map=lambda a, b: a * b)
    np.testing.assert_array_equal(product._simulate_scan(x, x[0], axis=1, size=size), np.cumsum(x * x[0], 1))
    np.testing.assert_array_equal(product._simulate_scan(x, x[:, :1], axis=0, size=size), np.cumsum(x * x[:, :1], 0))


def test_index_finish_and_types():
    where = lw.reduce(lambda a, b: a if a[0] >= b[0] else b, map=lambda x, index: (x, index), finish=lambda value, at: at)
    x = some(3000)
    at = [int(np.argmax(x[: i + 1])) for i in range(3000)]
    assert where._simulate_scan(x, size=1).tolist() == at
    assert where._simulate_scan(np.stack([x, x]), axis=1).tolist() == [at, at]
    half = (np.arange(3000) % 7).astype("f2")
    np.testing.assert_array_equal(total._simulate_scan(half), np.cumsum(half, dtype="f4").astype("f2"))
    z = some(700) + 1j * some(700, seed=1)
    np.testing.assert_array_equal(total._simulate_scan(z, size=2), np.cumsum(z))
    small = lw.reduce(lambda a, b: (a[0] ^ b[0], a[1] or b[1], a[2] + b[2]), map=lambda a, b: (a, b, a * 0.5))
    a, b = some(5000, "i1"), some(5000, "f4") > 49
    for got, wanted in zip(small._simulate_scan(a, b, size=1), small.accumulate(a, b)):
        np.testing.assert_array_equal(got, wanted)


def sixteen(a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q):
    return a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q


def each_sum(x, y):
    return (x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3], x[4] + y[4], x[5] + y[5], x[6] + y[6], x[7] + y[7], x[8] + y[8],
            x[9] + y[9], x[10] + y[10], x[11] + y[11], x[12] + y[12], x[13] + y[13], x[14] + y[14], x[15] + y[15])


def test_the_largest_accumulators():
    """An accumulator has 16 complex numbers, which are 256 bytes."""
    several = lw.reduce(each_sum, map=sixteen)
    data = [some(200, seed=i).astype("c16") for i in range(16)]
    for got, row in zip(several._simulate_scan(*data), data):
        np.testing.assert_array_equal(got, np.cumsum(row))


def test_the_same_bits_every_time():
    x = np.random.default_rng(3).random(40_000, "f4")
    seen = {total._simulate_scan(x, size=1).tobytes() for _ in range(20)}
    assert len(seen) == 1
    np.testing.assert_allclose(total._simulate_scan(x, size=1), np.cumsum(x, dtype="f8"), rtol=1e-6)


def test_many_small_scans():
    for n in np.random.default_rng(4).integers(1, 400, 1000).tolist():
        x = np.arange(n, dtype="i4")
        np.testing.assert_array_equal(total._simulate_scan(x, size=1), np.cumsum(x))


@pytest.mark.slow_with_sanitizers
@pytest.mark.parametrize("cc", [75, 90, 100, 120])
def test_it_compiles_for_gpus(cc):
    pytest.importorskip("cuda.pathfinder", reason="no compiler for GPUs")
    for r, x, axis in [(total, some(100_000, "f4"), 0), (total, some((40, 300), "c16"), 0), (matrices, some(999, "i1"), 0), (biggest, some((9, 9999), "f2"), 1)]:
        arrays = [x] * 4 if r is matrices else [x]
        assert r._simulate_scan(*arrays, axis=axis, size=cc, res=0)[:4] == b"\x7fELF"


def test_large_arrays_are_prefetched():
    pytest.importorskip("cuda.pathfinder", reason="no compiler for GPUs")
    small, large = (total._simulate_scan(np.zeros(n, "f4"), size=75, res=0) for n in (1 << 20, 1 << 25))
    assert large[:4] == b"\x7fELF" and large != small


# ---- slices ----


@pytest.mark.parametrize("shape", [(500,), (40, 30), (3, 500), (500, 3), (5, 33, 7), (200, 40)], ids=str)
def test_slices(shape):
    x = some(shape)
    rng = np.random.default_rng(5)
    for axis in range(len(shape)):
        n = shape[axis]
        for indices in ([0], [n - 1], [0, n // 2], [n // 2, 0], sorted(rng.integers(0, n, 9).tolist()), rng.integers(0, n, 50).tolist(), list(range(n)), []):
            wanted = np.add.reduceat(x, np.array(indices, "i8"), axis)
            np.testing.assert_array_equal(total._simulate_slices(x, indices, axis=axis), wanted)
            np.testing.assert_array_equal(last._simulate_slices(x, indices, axis=axis), last.reduceat(x, indices, axis=axis))
        if x.ndim < 3:  # others need a copy
            np.testing.assert_array_equal(total._simulate_slices(x.T, [0, 1], axis=-1 - axis), np.add.reduceat(x.T, [0, 1], -1 - axis))


def test_slices_keep_order_and_index():
    data = words(4000)
    indices = [0, 1, 7, 1000, 900, 3999]
    for got, wanted in zip(matrices._simulate_slices(*data, indices), matrices.reduceat(*data, indices)):
        np.testing.assert_array_equal(got, wanted)
    where = lw.reduce(lambda a, b: a if a[0] >= b[0] else b, map=lambda x, index: (x, index), finish=lambda value, at: at)
    x = some(4000)
    np.testing.assert_array_equal(where._simulate_slices(x, indices), where.reduceat(x, indices))


@pytest.mark.parametrize("cc", [75, 90, 100, 120])
def test_slices_compile_for_gpus(cc):
    pytest.importorskip("cuda.pathfinder", reason="no compiler for GPUs")
    for x in (some(1000, "f4"), some((40, 50), "c16")):
        assert total._simulate_slices(x, [0, 5], size=cc, res=0)[:4] == b"\x7fELF"


# ---- keys ----


def by_runs(keys, values):
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return keys[starts], np.add.reduceat(values, starts, axis=0)


@pytest.mark.parametrize("n", [1, 2, 3, 31, 32, 33, 500, 1024, 1025, 5000, 32_768, 33_000])
@pytest.mark.parametrize("size", [0, 1, 4])
def test_keys(n, size):
    rng = np.random.default_rng(n)
    values = some(n, seed=n)
    for keys in (np.zeros(n, "u1"), np.arange(n), np.sort(rng.integers(0, n // 7 + 1, n)), rng.integers(0, 3, n).astype("f4"), np.repeat(rng.integers(0, 9, n // 300 + 1), 300)[:n]):
        got, wanted = total._simulate_by_key(keys, values, size=size), by_runs(keys, values)
        np.testing.assert_array_equal(got[0], wanted[0])
        np.testing.assert_array_equal(got[1], wanted[1])


def test_keys_of_rows_order_and_types():
    rng = np.random.default_rng(8)
    keys = np.sort(rng.integers(0, 40, 900))
    for shape in ((900, 3), (900, 50), (900, 2, 5)):
        values = some(shape)
        for size in (0, 2):
            got, wanted = total._simulate_by_key(keys[::-1], values, size=size), by_runs(keys[::-1], values)
            np.testing.assert_array_equal(got[0], wanted[0])
            np.testing.assert_array_equal(got[1], wanted[1])
    data = words(900)
    got, wanted = matrices._simulate_by_key(keys, *data, size=1), matrices.by_key(keys, *data)
    np.testing.assert_array_equal(got[0], wanted[0])
    for g, w in zip(got[1], wanted[1]):
        np.testing.assert_array_equal(g, w)
    flags = keys % 3 == 0
    for keyed in (flags, keys.astype("c8") * 1j, keys.astype("f2"), keys.astype("u8")):
        got, wanted = total._simulate_by_key(keyed, data[0]), total.by_key(keyed, data[0])
        np.testing.assert_array_equal(got[0], wanted[0])
        np.testing.assert_array_equal(got[1], wanted[1])


@pytest.mark.parametrize("cc", [75, 90, 100, 120])
def test_keys_compile_for_gpus(cc):
    pytest.importorskip("cuda.pathfinder", reason="no compiler for GPUs")
    for keys, values in ((np.arange(9000), some(9000, "f4")), (np.ones(50, "f2"), some((50, 40), "c16"))):
        assert total._simulate_by_key(keys, values, size=cc, res=0)[:4] == b"\x7fELF"
