"""Scans by blocks that take tile after tile (reduce/device/scan_stages.c), on the simulator. `size=k` makes tiles of 32
threads with k items each, or of as many threads as max_blocksize= says; a group has 32 tiles."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw

total = lw.reduce(lambda a, b: a + b)
last = lw.reduce(lambda a, b: b)
# maps x -> a x + b, composed: their order counts; two numbers in an accumulator
maps = lw.reduce(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), map=lambda x: (x, x), identity=(1, 0), finish=lambda a, b: a + b)

# the same with four warps in a block
wide = lw.reduce(lambda a, b: a + b, max_blocksize=128)
wide_last = lw.reduce(lambda a, b: b, max_blocksize=128)

TILE, GROUP = 64, 64 * 32  # of 2 items of 8 bytes


def some(n, dtype="i8", seed=0):
    return np.random.default_rng(seed).integers(-50, 50, n).astype(dtype)


@pytest.mark.parametrize("n", [TILE, TILE + 1, 2 * TILE, GROUP - 1, GROUP, GROUP + 1, GROUP + TILE, GROUP + TILE + 1, 2 * GROUP, 3 * GROUP + 5, 9 * GROUP + 77])
def test_tiles_and_groups(n):
    x = some(n, seed=n)
    np.testing.assert_array_equal(total._simulate_scan(x, size=2), np.cumsum(x))
    np.testing.assert_array_equal(total._simulate_scan(x, size=2, exclusive=True), np.cumsum(x) - x)
    np.testing.assert_array_equal(total._simulate_scan(x, size=2, initial=1000), np.cumsum(x) + 1000)
    np.testing.assert_array_equal(last._simulate_scan(x, size=2), x)


@pytest.mark.parametrize("n", [128, 129, 4096, 4097, 3 * 4096 + 5])
def test_order_and_two_numbers(n):
    x = np.random.default_rng(n).integers(0, 2**32, n, "u4")
    for exclusive in (False, True):
        np.testing.assert_array_equal(maps._simulate_scan(x, size=4, exclusive=exclusive), maps.accumulate(x, exclusive=exclusive))


@pytest.mark.parametrize("dtype, size", [("f2", 8), ("i4", 4), ("f4", 8), ("f8", 2), ("u8", 16)])
def test_wherever_elements_lie(dtype, size):
    """Elements that are not contiguous, or whose address is no multiple of 16, are loaded one by one; the bits are the same."""
    x = some(6001, dtype) if dtype[0] != "f" else np.random.default_rng(1).random(6001).astype(dtype)
    spaced = np.repeat(x, 3)
    wanted = total._simulate_scan(x, size=size)
    if dtype[0] != "f":
        np.testing.assert_array_equal(wanted, np.cumsum(x))
    for offset in range(1, 4):
        moved = np.concatenate([x[:offset], x])[offset:]
        np.testing.assert_array_equal(total._simulate_scan(moved, size=size), wanted)
    np.testing.assert_array_equal(total._simulate_scan(spaced[::3], size=size), wanted)
    np.testing.assert_array_equal(total._simulate_scan(x[::-1].copy()[::-1], size=size), wanted)


def test_rows():
    """Tiles are numbered row by row; a block that comes to another row begins with its first group, or the seed."""
    x = some((5, 3001))
    np.testing.assert_array_equal(total._simulate_scan(x, size=2, axis=1), np.cumsum(x, axis=1))
    np.testing.assert_array_equal(total._simulate_scan(x, size=2, axis=1, initial=3), np.cumsum(x, axis=1) + 3)
    np.testing.assert_array_equal(total._simulate_scan(x, size=2, axis=1, exclusive=True), np.cumsum(x, axis=1) - x)


@pytest.mark.parametrize("n", [4 * TILE, 4 * TILE + 1, 4 * GROUP - 1, 4 * GROUP, 4 * GROUP + 1, 16 * GROUP + 77, 36 * GROUP + 5])
def test_several_warps(n):
    """More groups than a block takes at a time, if one block does all."""
    x = some(n, seed=n)
    np.testing.assert_array_equal(wide._simulate_scan(x, size=2), np.cumsum(x))
    np.testing.assert_array_equal(wide._simulate_scan(x, size=2, exclusive=True), np.cumsum(x) - x)
    np.testing.assert_array_equal(wide_last._simulate_scan(x, size=2), x)


@pytest.mark.parametrize("target", [80, 90, 120])
def test_code_for_gpus_copies_asynchronously(target):
    assert total._simulate_scan(np.zeros(1 << 24, "f4"), size=target, res=target)[:4] == b"\x7fELF"
