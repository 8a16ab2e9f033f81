"""`boundary=` of `lw.map_blocks`: what kernels read beyond the ends of an axis, for all chunks, against arrays padded by NumPy."""

import numpy as np
import pytest

import lanewise as lw

da = pytest.importorskip("dask.array")

MODES = {"periodic": {"mode": "wrap"}, "reflect": {"mode": "symmetric"}, "nearest": {"mode": "edge"}, 7: {"constant_values": 7}, "none": {"constant_values": 0}}


@lw.forall
def around(i, x, out):
    out[i] = x[i - 2] + 10 * x[i - 1] + 100 * x[i] + 1000 * x[i + 1] + 10000 * x[i + 2]


@lw.forall(ndim=2)
def corners(i, j, x, out):
    out[i, j] = x[i - 1, j - 1] + 10 * x[i - 1, j + 1] + 100 * x[i + 1, j - 1] + 1000 * x[i + 1, j + 1]


@lw.jit
def local(x, out, offset):
    i = lw.cuda.grid(1)
    if 2 <= i < x.size - 2:
        out[i] = x[i - 2] + 10 * x[i - 1] + 100 * x[i] + 1000 * x[i + 1] + 10000 * x[i + 2] + offset * 0


def padded(x, boundary, depth):
    return np.pad(x, depth, **MODES[boundary])


@pytest.mark.parametrize("boundary", MODES)
def test_along_one_axis(boundary):
    rng = np.random.default_rng(5)
    for n in (5, 6, 7, 8, 12, 13, 30):
        x = rng.integers(1, 10, n).astype("f8")
        p = padded(x, boundary, 2)
        want = p[:-4] + 10 * p[1:-3] + 100 * p[2:-2] + 1000 * p[3:-1] + 10000 * p[4:]
        for chunks in {n, max(2, n // 2), max(2, n // 3), 2}:
            d = da.from_array(x, chunks=chunks)
            got = lw.map_blocks(around, d, depth=2, boundary=boundary).compute(scheduler="synchronous")
            np.testing.assert_array_equal(got, want, err_msg=f"{n} in blocks of {chunks}")
            if boundary != "none":
                got = lw.map_blocks(local, d, depth=2, boundary=boundary).compute(scheduler="synchronous")
                np.testing.assert_array_equal(got, want, err_msg=f"jit: {n} in blocks of {chunks}")


@pytest.mark.parametrize("boundary", [mode for mode in MODES if mode != "none"])
def test_along_two_axes(boundary):
    x = np.random.default_rng(6).integers(1, 10, (9, 7)).astype("f8")
    p = padded(x, boundary, 1)
    want = p[:-2, :-2] + 10 * p[:-2, 2:] + 100 * p[2:, :-2] + 1000 * p[2:, 2:]
    for chunks in (-1, (3, 7), (4, 2), (2, 3)):
        got = lw.map_blocks(corners, da.from_array(x, chunks=chunks), depth=1, boundary=boundary).compute(scheduler="synchronous")
        np.testing.assert_array_equal(got, want, err_msg=str(chunks))
    mixed = lw.map_blocks(corners, da.from_array(x, chunks=(4, 2)), depth=1, boundary={0: boundary, 1: 3.0}).compute(scheduler="synchronous")
    p = np.pad(np.pad(x, ((1, 1), (0, 0)), **MODES[boundary]), ((0, 0), (1, 1)), constant_values=3.0)
    np.testing.assert_array_equal(mixed, p[:-2, :-2] + 10 * p[:-2, 2:] + 100 * p[2:, :-2] + 1000 * p[2:, 2:])


def test_large_arrays_read_no_other_memory():
    """The arrays are so large that their memory is mapped."""
    n = 300_000
    d = da.from_array(np.arange(float(n)), chunks=100_000)
    got = lw.map_blocks(around, d, depth=2).compute(scheduler="synchronous")
    assert got[0] == 1000 + 20000 and got[-1] == (n - 3) + 10 * (n - 2) + 100 * (n - 1)


def test_refused():
    d = da.arange(8.0, chunks=4)
    with pytest.raises(ValueError, match="boundary= must be 'none', 'periodic', 'reflect', 'nearest' or a number, not 'mirror'"):
        lw.map_blocks(around, d, depth=2, boundary="mirror")
    with pytest.raises(ValueError, match="boundary= must be one for all axes, or one for each of 1 axes"):
        lw.map_blocks(around, d, depth=2, boundary=["none", "none"])
    with pytest.raises(ValueError, match="around: boundary='reflect' with depth=4 needs more than 8 elements along axis 0, which has 8"):
        lw.map_blocks(around, d, depth=4, boundary="reflect")
    for other in ("periodic", 3.0):
        with pytest.raises(ValueError, match="corners: axis 0 has only one element, so depth=1 cannot read neighbours"):
            lw.map_blocks(corners, da.ones((1, 8), chunks=4), depth=1, boundary=("periodic", other))


def test_an_axis_of_one_element():
    x = np.random.default_rng(7).integers(1, 10, (5, 1)).astype("f8")
    p = np.pad(x, 1, mode="wrap")
    got = lw.map_blocks(corners, da.from_array(x, chunks=2), depth=1, boundary="periodic").compute(scheduler="synchronous")
    np.testing.assert_array_equal(got, p[:-2, :-2] + 10 * p[:-2, 2:] + 100 * p[2:, :-2] + 1000 * p[2:, 2:])
