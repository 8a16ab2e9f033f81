"""The best element as GPUs look for it (reduce/device/device_best.c), on the simulator: argmax and the like against NumPy,
with ties, NaN, infinities and the ends of integers, over shapes that leave lanes, warps and blocks without elements."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions

ELEMENTS = {"f4": [1, -2, np.inf, -np.inf, 0.0, -0.0], "f8": [1, -2, -np.inf, 5, 0.0, -0.0], "f2": [1, 2, np.inf, -3],
            "i1": [-128, 127, 3], "u1": [0, 255, 7], "i2": [-32768, 32767, 0], "u4": [0, 2**32 - 1, 9], "i8": [-2**63, 2**63 - 1, 1],
            "u8": [0, 2**64 - 1, 1], "?": [False, True]}

# of equal values the first one, whatever the order in which elements are compared: the order of combine counts
first_most = lw.reduce(lambda a, b: b if b[0] > a[0] else a, map=lambda x, p: (x, p))
first_least = lw.reduce(lambda a, b: b if b[0] < a[0] else a, map=lambda x, p: (x, p), finish=lambda x, p: p)


def drawn(rng, dtype, shape):
    """Arrays of few different elements, so that there are ties; every other one has one value throughout, or the worst ones."""
    values = np.array(ELEMENTS[dtype], dtype)
    x = rng.choice(values[: rng.integers(1, len(values) + 1)], shape)
    if dtype[0] == "f" and rng.random() < 0.3 and x.size:
        x.reshape(-1)[rng.integers(0, x.size, 2)] = np.nan
    return x


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_best_of_all(dtype):
    rng = np.random.default_rng(ord(dtype[0]) + 7 * ord(dtype[-1]))
    for n in (1, 15, 64, 65, 257, 1025, 4096, 5003, 20_011):
        x = drawn(rng, dtype, n)
        for blocks in (1, 3, 64):
            assert reductions._argmax._simulate(x, size=blocks) == x.argmax()
            assert reductions._argmin._simulate(x[::-1].copy(), size=blocks) == x[::-1].argmin()


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "?"])
@pytest.mark.parametrize("shape", [(5, 3000), (300, 129), (3000, 6), (1000, 64), (2, 50, 70)], ids=str)
def test_best_along_an_axis(dtype, shape):
    rng = np.random.default_rng(sum(shape))
    x = drawn(rng, dtype, shape)
    for axis in range(x.ndim):
        assert np.array_equal(reductions._argmax._simulate(x, axis=axis, size=8), x.argmax(axis))
        assert np.array_equal(reductions._argmin._simulate(x, axis=axis, size=8), x.argmin(axis))


@pytest.mark.parametrize("n", [1, 63, 300, 4096, 9001])
def test_payloads_in_order(n):
    rng = np.random.default_rng(n)
    x, tag = rng.integers(-3, 4, n, np.int32), rng.permutation(n)
    table, tags = np.tile(x, (7, 1)), np.tile(tag, (7, 1))
    for blocks in (1, 5):
        assert first_most._simulate(x, tag, size=blocks) == (x.max(), tag[x.argmax()]) == first_most(x, tag)
        assert first_least._simulate(x, tag, size=blocks) == tag[x.argmin()]
        assert reductions._top1._simulate(x, tag, size=blocks) == (x.max(), tag[x.argmax()])
        assert (first_least._simulate(table, tags, axis=1, size=blocks) == tag[x.argmin()]).all()
        assert np.array_equal(first_least._simulate(table.T.copy(), tags.T.copy(), axis=0, size=blocks), np.full(7, tag[x.argmin()]))


def test_the_kernel_compares_values_only():
    """An element costs a maximum and half a test for NaN, not what combine does: its index is compared and chosen outside the loop."""
    text = reductions._argmax.inspect_ptx("i8(f4)", "sm_90")
    loop = text[text.index("ld.global.nc.v4.f32"):].split("bra")[0]
    assert loop.count("max.f32") == 15 and loop.count("setp") <= 13 and loop.count("selp.b64") == 1


@pytest.mark.parametrize("dtype", ["f4", "i1", "u2", "f8", "c8"])
def test_arrays_that_begin_anywhere(dtype):
    """Contiguous arrays that begin between two 16-byte accesses are read by whole accesses, too, each element once."""
    rng = np.random.default_rng(9)
    whole = np.frombuffer(bytearray(16 * 40_000), dtype)
    whole[:] = rng.integers(0, 100, whole.size).astype(dtype)
    total, both = lw.reduce(lambda a, b: a + b), lw.reduce(lambda a, b: a + b, map=lambda x, y: x * y)
    wide = "c16" if dtype == "c8" else "f8"
    for begin in range(5):
        x = whole[begin : begin + 9001]
        for blocks in (1, 3):
            assert total._simulate(x, size=blocks) == x.astype(wide).sum()
            assert both._simulate(x, x, size=blocks, dtype=wide) == (x.astype(wide) ** 2).sum()
        if dtype != "c8":
            assert reductions._max._simulate(x, size=2) == x.max() and reductions._argmax._simulate(x, size=2) == x.argmax()
        table = np.lib.stride_tricks.as_strided(whole[begin:], (3, 5000), (5120 * x.itemsize, x.itemsize))
        assert np.array_equal(total._simulate(table, axis=1), table.astype(wide).sum(1))


ROW_LENGTHS = [1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 3000, 9000]


@pytest.mark.parametrize("dtype", "bBhHiIlLfde")
def test_rows_of_every_length(dtype):
    """Vectors, their remainders, ties, NaN, zeros of both signs and every layout give NumPy's results."""
    rng = np.random.default_rng(1)
    for n in ROW_LENGTHS:
        ties = rng.integers(0, 3, (5, n)).astype(dtype)
        if dtype in "fde":
            wide = (rng.standard_normal((5, n)) * 100).astype(dtype)
            holes = wide.copy()
            holes[rng.random((5, n)) < 0.02] = np.nan
            zeros = np.array([0.0, -0.0])[rng.integers(0, 2, (5, n))].astype(dtype)
            zeros[0, -1], zeros[1, 0] = np.inf, -np.inf
            cases = ties, wide, holes, zeros
        else:
            cases = ties, rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (5, n), dtype=dtype, endpoint=True)
        for x in cases:
            for view, axis in ((x, 1), (np.asfortranarray(x), 1), (x[:, ::-1], 1), (x.T.copy(), 0)):
                np.testing.assert_array_equal(reductions.argmax(view, axis=axis), np.argmax(view, axis=axis))
                np.testing.assert_array_equal(reductions.argmin(view, axis=axis), np.argmin(view, axis=axis))
            assert reductions.argmax(x[0]) == np.argmax(x[0])


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "f4", "f8"])
def test_rows_whose_best_is_anywhere(dtype):
    """In rows of every length, each element is once the best and once NaN, with the code that follows the first millions of elements."""
    reductions.argmax(np.zeros((5000, 1000), dtype), axis=1)
    reductions.argmin(np.zeros((5000, 1000), dtype), axis=1)
    for n in [*range(1, 70), 95, 96, 97, 127, 128, 129, 130, 191, 255, 256, 257, 300]:
        x = np.full((n, n), 5, dtype)
        x[np.arange(n), np.arange(n)] = 9
        assert np.array_equal(reductions.argmax(x, axis=1), np.arange(n)), n
        x[np.triu_indices(n)] = 9  # the first of equal ones
        assert np.array_equal(reductions.argmax(x, axis=1), np.arange(n)), n
        x[np.triu_indices(n)] = 1
        assert np.array_equal(reductions.argmin(x, axis=1), np.arange(n)), n
        if dtype[0] == "f":
            x[np.arange(n), np.arange(n)] = np.nan
            x[np.arange(n), n - 1] = np.nan
            assert np.array_equal(reductions.argmin(x, axis=1), np.arange(n)), n
            assert np.array_equal(reductions.argmax(x, axis=1), np.arange(n)), n


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2"])
def test_extremes_of_narrow_numbers(dtype, thorough):
    """Halves of words are compared. The best numbers are everywhere among the worst ones, and bytes of bools may have any value."""
    rng = np.random.default_rng(3)
    low, high = (0, 2) if dtype == "?" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for n in (256, 300, 5003) + (70_001,) * thorough:
        for first, last in ((low, high), (low, low + 2), (high - 1, high)):
            x = rng.integers(first, last, n).astype(dtype)
            cases = [x]
            for place in {*range(17), n - 1, *rng.integers(0, n, 8)}:
                for value in (low, high):
                    cases.append(np.full(n, high if value == low else low).astype(dtype))
                    cases[-1][place] = value
            if dtype == "?":
                cases += [(rng.integers(0, 3, n) * 127).astype("u1").view("?"), np.full(n, 2, "u1").view("?")]
                cases[-1].view("u1")[::2] = 1
            for y in cases[:: 1 if thorough else 5] + cases[-2:]:
                for name in ("max", "min") + ("any", "all") * (dtype == "?"):
                    wanted = getattr(np, name)(y.view("u1") != 0 if dtype == "?" else y)
                    assert getattr(reductions, "_" + name)._simulate(y, size=4) == wanted, (name, n, y.argmax())
    for shape in ((3, 4096), (70, 32), (333, 48), (5, 6, 64)):  # rows, columns, and two dimensions at once
        for first, last in ((low, high), (low, low + 2), (high - 1, high)):
            table = rng.integers(first, last, shape).astype(dtype)
            for axis in (0, 1, (0, 1), (0, 2))[: None if len(shape) == 3 else 2]:
                for name in ("max", "min"):
                    assert np.array_equal(getattr(reductions, "_" + name)._simulate(table, axis=axis, size=4), getattr(table, name)(axis=axis)), (name, shape, axis)


@pytest.mark.parametrize("target, at_once", [("sm_80", False), ("sm_90", True), ("sm_120", True)])
def test_halves_are_compared_by_one_instruction_where_there_is_one(target, at_once):
    assert ("max.s16x2" in reductions._max.inspect_ptx("(int8)", target)) == at_once
    assert ("min.u16x2" in reductions._min.inspect_ptx("(uint16)", target)) == at_once


@pytest.mark.parametrize("n", [3, 17, 300, 20_000, 300_000])
def test_any_byte_but_zero_is_true(n):
    """Bytes are not compared: the first true element and the first false one have the right places and partners."""
    rng = np.random.default_rng(n)
    for few in ((0, 1, 2, 255), (1, 2), (2, 255), (0, 128)):
        x = rng.choice(np.array(few, "u1"), n).view("?")
        proper, places = x.view("u1") != 0, np.arange(n)
        assert reductions.argmax(x) == reductions._argmax._simulate(x, size=3) == proper.argmax()
        assert reductions.argmin(x) == reductions._argmin._simulate(x, size=3) == proper.argmin()
        assert reductions.nanargmax(x) == proper.argmax() and reductions.top1(x, places) == (proper.max(), proper.argmax())
        assert first_most(x, places) == first_most(proper, places)
        for k in (3, -3):
            assert np.array_equal(reductions.argtopk(x, k), np.argsort(proper ^ (k > 0), kind="stable")[:3])
            assert reductions.topk(x, k).tobytes() == reductions.topk(proper, k).tobytes()
