"""Reductions of dates and of their differences: NumPy's results, or a TypeError in words of the caller where NumPy raises one."""

import numpy as np
import pytest

from lanewise import reductions as R

SPANS = np.array([[5, 1, 3], [2, 8, 4]], "m8[s]")
DATES = np.array([[50, 10, 30], [20, 80, 40]], "M8[h]")
NAMES = sorted(set(R.__all__) & set(dir(np)))


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
