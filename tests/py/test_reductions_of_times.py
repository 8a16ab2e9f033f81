"""Reductions of dates and of their differences: NumPy's results, or a TypeError in words of the caller where NumPy raises one."""

import numpy as np
import pytest

import lanewise as lw

from lanewise import reductions as R

SPANS = np.array([[5, 1, 3], [2, 8, 4]], "m8[s]")
DATES = np.array([[50, 10, 30], [20, 80, 40]], "M8[h]")
NAMES = sorted((set(R.__all__) & set(dir(np))) - {"median", "nanmedian", "quantile", "nanquantile", "percentile", "nanpercentile"})


def forms():
    yield lambda x: x
    try:
        import dask.array as da
    except ImportError:
        return
    yield lambda x: da.from_array(x, chunks=(1, 2))


@pytest.mark.parametrize("name", NAMES)
def test_as_numpy(name):
    for x in (SPANS, DATES, np.array([[1, "NaT"], [3, 4]], "m8[D]")):
        for form in forms():
            ours = getattr(R, name)
            try:
                with np.errstate(all="ignore"):
                    want = getattr(np, name)(x, axis=0)
            except TypeError:
                with pytest.raises(TypeError, match=rf"^{name}\(\) is not defined for (dates \(datetime64|differences of dates \(timedelta64)\[[shD]\]\), as in NumPy: .*(x - x.min\(\)|np.timedelta64\(1, 's'\))"):
                    ours(form(x), axis=0)
                continue
            if name.startswith("nanarg") and np.isnat(x).any():
                continue  # NumPy takes NaT for the least here, and leaves it out of nanmin
            got = np.asarray(ours(form(x), axis=0))
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["logsumexp", "segmented_sum"])
def test_those_that_numpy_does_not_have(name):
    with pytest.raises(TypeError, match=rf"^{name}\(\) is not defined for dates"):
        getattr(R, name)(*(DATES, DATES > DATES[0, 0])[: 1 + (name == "segmented_sum")])


def test_the_identity_of_plus_is_known_for_durations():
    """0 changes no duration, and NaT absorbs every other one; dates have no sums."""
    total = lw.reduce(lambda a, b: a + b)
    for unit in ("s", "D", "ns"):
        empty = np.zeros((0, 3), f"m8[{unit}]")
        for f in (total, lw.reductions.sum):
            assert f(empty[:, 0]) == np.timedelta64(0, unit)
            np.testing.assert_array_equal(f(empty, axis=0), np.sum(empty, axis=0))
    x = np.arange(1, 40_001).astype("m8[s]")
    some, missing = x > np.timedelta64(20_000, "s"), x.copy()
    missing[5] = "NaT"
    for a in (x, missing, x.reshape(200, 200), x[::-3]):
        on = some.reshape(a.shape) if a.size == x.size else some[::-3]
        for f in (total, lw.reductions.sum):
            np.testing.assert_array_equal(f(a, where=on), np.sum(a, where=on))
            np.testing.assert_array_equal(f(a, axis=0, where=on), np.sum(a, axis=0, where=on))
            np.testing.assert_array_equal(f(a), np.sum(a))
    np.testing.assert_array_equal(lw.reductions.cumsum(missing), np.cumsum(missing))
    with lw.config(target="cpu"):
        assert np.sum(lw.cuda.to_device(x), where=lw.cuda.to_device(some)).copy_to_host() == np.sum(x, where=some)


@pytest.mark.parametrize("dtype", ["f4", "i8", "u1", "c8"])
def test_dtype_makes_no_numbers_of_times(dtype):
    total = lw.reduce(lambda a, b: a + b)
    for a in (np.array([1, 2], "m8[s]"), np.array(["2020", "2021"], "M8[D]"), np.arange(20_000).astype("m8[s]")):
        with pytest.raises(TypeError, match=rf"dtype={np.dtype(dtype).name} of `<lambda>`: argument 1 has elements of (timedelta64\[s\]|datetime64\[D\]), which are not numbers"):
            total(a, dtype=dtype)
    x = np.array([1, 2, 6], "m8[s]")
    for name in ("sum", "cumsum", "mean", "nansum", "nanmean", "nancumsum"):
        got, want = (getattr(module, name)(x, dtype=dtype) for module in (lw.reductions, np))
        assert got.dtype == want.dtype and np.array_equal(got, want), name
    with pytest.raises(TypeError):
        lw.reductions.sum(np.array(["2020"], "M8[D]"), dtype=dtype)
