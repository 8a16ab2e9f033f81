"""topk and argtopk against a stable sort, in memory, of device arrays and of random chunks."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions as R

DTYPES = ["f8", "f4", "f2", "i4", "u1", "?", "c16", "M8[s]", "m8[ms]"]


def numbers(rng, shape, dtype):
    """Few different numbers, so that many are equal; NaN, NaT and -0.0 are among them."""
    kind = np.dtype(dtype).kind
    a = rng.integers(0, 6, shape).astype(dtype)
    if kind == "f":
        a -= 3
        a[rng.random(shape) < 0.1] = -0.0
    if kind in "fcmM":
        a[rng.random(shape) < 0.2] = np.nan if kind in "fc" else "NaT"
    return a


def sorted_places(a, k, axis):
    n = a.shape[axis]
    order = np.argsort(a, axis, kind="stable") if k < 0 else n - 1 - np.flip(np.argsort(np.flip(a, axis), axis, kind="stable"), axis)
    return np.take(order, range(min(abs(k), n)), axis)


def cases(seed, count, longest):
    rng = np.random.default_rng(seed)
    for i in range(count):
        shape = tuple(int(n) for n in rng.integers(1, longest, int(rng.integers(1, 4))))
        yield rng, numbers(rng, shape, DTYPES[i % len(DTYPES)]), int(rng.integers(-9, 10)), int(rng.integers(-len(shape), len(shape)))


def same_bits(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert found.tobytes() == expected.tobytes()


def test_against_a_stable_sort():
    for _, a, k, axis in cases(1, 200, 40):
        places = sorted_places(a, k, axis)
        same_bits(R.argtopk(a, k, axis), places)
        same_bits(R.topk(a, k, axis), np.take_along_axis(a, places, axis))


@pytest.mark.parametrize("dtype", ["f8", "i2", "M8[s]"])
@pytest.mark.parametrize("k", [1, -1, 7, -7, 700, -700])
def test_long_lines(dtype, k):
    a = numbers(np.random.default_rng(2), (2, 3000), dtype)
    for order in (a, np.asfortranarray(a), a[:, ::-1]):
        same_bits(R.argtopk(order, k), sorted_places(order, k, 1))
    same_bits(R.topk(a.T, k, axis=0), R.topk(a, k).T)


def test_nan_is_the_largest():
    a = [2.0, np.nan, 5.0, np.nan, 1.0]
    np.testing.assert_array_equal(R.topk(a, 3), [np.nan, np.nan, 5.0])
    np.testing.assert_array_equal(R.argtopk(a, 3), [1, 3, 2])
    np.testing.assert_array_equal(R.topk(a, -4), [1.0, 2.0, 5.0, np.nan])
    np.testing.assert_array_equal(R.argtopk(a, -5), [4, 0, 2, 1, 3])
    np.testing.assert_array_equal(R.argtopk([0.0, -0.0, -0.0], 2), [0, 1])


def test_sizes():
    assert R.topk([3, 1, 2], 9).tolist() == [3, 2, 1] and R.topk([3, 1, 2], -9).tolist() == [1, 2, 3]
    assert R.topk([3, 1, 2], 0).shape == (0,) and R.topk(np.zeros((2, 0)), 3).shape == (2, 0) and R.argtopk(np.zeros((0, 99)), 3).shape == (0, 3)
    big = np.arange(4, dtype=">i4")
    assert R.topk(big, 2).dtype == ">i4" and R.topk(big, 2).tolist() == [3, 2]
    assert R.topk(np.array([1, 5, 2], np.uint64), np.int8(1)).tolist() == [5]


def test_bfloat16():
    kind = pytest.importorskip("ml_dtypes").bfloat16
    a = np.array([1, np.nan, 3, -2], kind)
    assert R.argtopk(a, 2).tolist() == [1, 2] and R.argtopk(a, -2).tolist() == [3, 0]
    assert R.topk(a, -2).dtype == kind


BAD = {
    "float": (lambda a: R.topk(a, 1.5), TypeError, "topk: k must be an int, the number of elements, not 1.5"),
    "bool": (lambda a: R.argtopk(a, True), TypeError, "argtopk: k must be an int, the number of elements, not True"),
    "none": (lambda a: R.topk(a, None), TypeError, "k must be an int"),
    "axis": (lambda a: R.topk(a, 1, axis=1), np.exceptions.AxisError, "axis 1 is out of bounds for array of dimension 1"),
    "all axes": (lambda a: R.topk(a, 1, axis=None), TypeError, r"axis= must be an int, not None: pass x.reshape\(-1\)"),
    "axes": (lambda a: R.topk(a, 1, axis=(0,)), TypeError, r"axis= must be an int, not \(0,\)"),
    "axis of float": (lambda a: R.topk(a, 1, axis=0.0), TypeError, "integer"),
    "axis of bool": (lambda a: R.topk(a, 1, axis=False), TypeError, "integer"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(name):
    call, kind, text = BAD[name]
    with pytest.raises(kind, match=text):
        call(np.arange(3.0))
    da = pytest.importorskip("dask.array")
    with pytest.raises(kind, match=text):
        call(da.arange(3.0, chunks=2))


def test_bad_arrays():
    for a, kind, text in ((3.0, np.exceptions.AxisError, "dimension 0"), (["a", "b"], TypeError, "needs numbers, dates or differences of dates"),
                          (np.array([1, None]), TypeError, "dtype object"), (np.ma.array([1]), TypeError, "masked array"),
                          (np.zeros(3, [("x", "f8")]), TypeError, "take a field")):
        with pytest.raises(kind, match=text):
            R.topk(a, 1)
    with pytest.raises(TypeError, match="split_every= is for Dask arrays, not for ndarray"):
        R.topk(np.arange(3), 1, split_every=2)


def test_device_arrays():
    with lw.config(target="cpu"):
        for _, a, k, axis in cases(3, 30, 9):
            if a.dtype.kind in "mM":
                continue
            d = lw.cuda.to_device(a)
            for f in (R.topk, R.argtopk):
                found = f(d, k, axis)
                assert isinstance(found, lw.cuda.DeviceArray)
                same_bits(found.copy_to_host(), f(a, k, axis))


@pytest.mark.slow_with_sanitizers
def test_random_chunks(thorough):
    """All results have the bits of those of the whole array."""
    pytest.importorskip("dask.array")
    from dask_checks import chunkings, da, dask

    lazy, expected = [], []
    for i, (rng, a, k, axis) in enumerate(cases(4, 250 if thorough else 80, 12)):
        d = da.from_array(a, chunks=chunkings(rng, a.shape))
        for f in (R.topk, R.argtopk):
            expected.append(f(a, k, axis))
            lazy.append(f(d, k, axis, split_every=(None, 2, 3)[i % 3]))
            assert (lazy[-1].shape, lazy[-1].dtype, lazy[-1]._meta.dtype) == (expected[-1].shape, expected[-1].dtype, expected[-1].dtype)
    for found, one in zip(dask.compute(*lazy, scheduler="synchronous"), expected):
        same_bits(found, one)


def test_blocks_on_devices_and_of_unknown_size():
    da = pytest.importorskip("dask.array")
    x = da.arange(20, chunks=3)
    y = x[x % 3 == 0]
    assert R.topk(y, 4).compute(scheduler="synchronous").tolist() == [18, 15, 12, 9]
    with pytest.raises(ValueError, match="argtopk: the sizes of the chunks are not known: call x.compute_chunk_sizes"):
        R.argtopk(y, 2)
    with lw.config(target="cpu"):
        found = R.argtopk(x.map_blocks(lw.cuda.to_device), -2)
        assert isinstance(found._meta, lw.cuda.DeviceArray)
        found = found.compute(scheduler="synchronous")
        assert isinstance(found, lw.cuda.DeviceArray) and found.copy_to_host().tolist() == [0, 1]
    assert all(key[0].startswith("topk") for key in R.topk(x, 2).__dask_keys__())
    wrong = x.map_blocks(lambda block: block.astype("f4"), dtype=x.dtype, meta=np.empty(0, x.dtype))
    with pytest.raises(TypeError, match="a block of argument 1 has dtype float32, the Dask array int64"):
        R.topk(wrong, 2).compute(scheduler="synchronous")
