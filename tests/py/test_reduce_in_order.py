"""Operators that need the order of elements, by kernels whose warps read the elements of their lanes together
(reduce/device/device_transpose.c), on the simulator."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions

first = lw.reduce(lambda a, b: a)
last = lw.reduce(lambda a, b: b)
affine = lw.reduce(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), map=lambda a, b: (a, b))
edges = lw.reduce(lambda a, b: (a[0], b[1], a[2] + b[2] + (1 if a[1] != b[0] else 0)), map=lambda x: (x, x, 0))
# of (first index, last index, pieces follow one another without a gap)
whole = lw.reduce(lambda a, b: (a[0], b[1], a[2] and b[2] and a[1] + 1 == b[0]), map=lambda x, index: (index, index, x == x))


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1023, 4096, 5003, 32_768, 40_001])
def test_every_element_once_and_in_order(n, thorough):
    x = np.random.default_rng(n).integers(0, 3, n, np.int32)
    edge_count = np.count_nonzero(x[1:] != x[:-1])
    for blocks in (1, 3, 40):
        for dtype in ("i4", "f4", "f8", "i2", "u1") if thorough else ("i4", "f8", "u1"):
            y = x.astype(dtype)
            assert first._simulate(y, size=blocks) == x[0] and last._simulate(y, size=blocks) == x[-1]
            assert whole._simulate(y, size=blocks) == (0, n - 1, True)
            assert edges._simulate(y, size=blocks) == (x[0], x[-1], edge_count)


@pytest.mark.parametrize("shape", [(3, 4096), (70, 1000), (9, 40, 64), (33, 132)], ids=str)
def test_rows(shape):
    x = np.random.default_rng(5).integers(0, 3, shape, np.int32)
    for axis in (-1, tuple(range(1, x.ndim))):
        flat = x.reshape(*shape[: x.ndim - (1 if axis == -1 else len(axis))], -1)
        got = edges._simulate(x, axis=axis, size=16)
        assert np.array_equal(got[0], flat[..., 0]) and np.array_equal(got[1], flat[..., -1])
        assert np.array_equal(got[2], np.count_nonzero(flat[..., 1:] != flat[..., :-1], axis=-1))


@pytest.mark.parametrize("dtypes", [("i8", "i8"), ("i4", "i8"), ("i2", "i4")], ids=str)
def test_several_operands(dtypes):
    rng = np.random.default_rng(1)
    a, b = rng.choice([-1, 1, 2], 9000).astype(dtypes[0]), rng.integers(-9, 9, 9000).astype(dtypes[1])
    wanted = affine(a.astype("i8"), b.astype("i8"))
    for blocks in (1, 7):
        got = affine._simulate(a.astype("i8"), b, size=blocks)
        assert tuple(got) == tuple(wanted)
    assert last._simulate(a[1:], size=3) == a[-1] and last._simulate(a[::2], size=3) == a[-2]  # not aligned, not contiguous


@pytest.mark.parametrize("cc", [75, 90, 120])
def test_the_kernel_reads_together(cc):
    pytest.importorskip("cuda.pathfinder", reason="no compiler for GPUs")
    assert reductions._affine._simulate(np.ones(50_000, "f4"), np.ones(50_000, "f4"), res=cc)[:4] == b"\x7fELF"
    if cc == 90:
        text = last.inspect_ptx("f4(f4)", "sm_90")
        assert text.count("ld.global.nc.v4.u32") == 8 and text.count("st.shared.v4.u32") == 8 and text.count("bar.warp.sync") == 3
