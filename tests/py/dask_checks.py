"""Random chunkings, and many lazy results against those in memory, for the tests of Dask arrays."""

import numpy as np
import pytest

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


def chunkings(rng, shape, empty=True):
    """Draw the sizes of the blocks along each axis; empty: some of them are 0."""
    result = []
    for n in shape:
        sizes, left = [], n
        while left > 0:
            sizes.append(int(rng.integers(0 if empty and n > 1 else 1, left + 1)))
            left -= sizes[-1]
        result.append(tuple(sizes) or (0,))
    return tuple(result)


def shapes(rng, most=3, longest=7):
    return tuple(int(n) for n in rng.integers(1, longest + 1, int(rng.integers(1, most + 1))))


class Pairs:
    """Pairs of results in memory and lazy ones. What a Dask array says of itself is compared at once, the numbers of all pairs together."""

    def __init__(self, rtol=0.0):
        self.rtol, self.all = rtol, []

    def add(self, expected, lazy, what=None):
        if isinstance(expected, tuple):
            assert isinstance(lazy, tuple) and len(lazy) == len(expected), what
            for one, other in zip(expected, lazy):
                self.add(one, other, what)
            return
        expected = np.asarray(expected)
        assert isinstance(lazy, da.Array), what
        assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype), what
        assert (lazy._meta.ndim, lazy._meta.dtype, type(lazy._meta)) == (expected.ndim, expected.dtype, np.ndarray), what
        self.all.append((expected, lazy, what))

    def check(self, **kwargs):
        found = dask.compute(*(lazy for _, lazy, _ in self.all), scheduler="synchronous", **kwargs)
        for (expected, lazy, what), one in zip(self.all, found):
            assert np.asarray(one).dtype == expected.dtype, what
            if self.rtol and expected.dtype.kind in "fc":
                np.testing.assert_allclose(one, expected, rtol=self.rtol, atol=self.rtol, err_msg=str(what))
            else:
                np.testing.assert_array_equal(one, expected, err_msg=str(what))
        return len(self.all)
