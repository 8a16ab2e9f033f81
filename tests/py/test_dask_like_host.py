"""Corners in which a Dask array has to answer as the array in memory does."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions as R

pytest.importorskip("dask.array")
from dask_checks import Pairs, da  # noqa: E402


@pytest.mark.parametrize("f", [R.nanargmax, R.nanargmin])
def test_nanarg_of_nothing_but_nan_raises_when_it_is_computed(f):
    x = np.array([[1.0, np.nan, 3.0], [np.nan] * 3])
    lazy = f(da.from_array(x, chunks=(1, 2)), axis=1)
    with pytest.raises(ValueError, match="All-NaN slice encountered"):
        lazy.compute(scheduler="synchronous")
    with pytest.raises(ValueError, match="All-NaN slice encountered"):
        f(da.from_array(x[1] * 1j, chunks=2)).compute(scheduler="synchronous")
    pairs, d = Pairs(), da.from_array(x, chunks=(1, 2))
    pairs.add(f(x[0]), f(d[0]))
    pairs.add(f(x[:1], axis=1, keepdims=True), f(d[:1], axis=1, keepdims=True))
    pairs.check()
