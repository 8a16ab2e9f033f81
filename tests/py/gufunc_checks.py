"""What the tests of gufuncs with large cores share: numbers, the device against the host, how items are divided; it holds no test."""

from __future__ import annotations

import numpy as np

from lanewise import cuda

SHARED = "block per item"
ALONE = "thread per item, staged through shared memory up to 8 KB an item: the loop in line"


def data(shape, dtype="float64", seed=0, low=-9, high=9):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def check(function, *arrays):
    """Check that the device gives what the host gives, signs of zeros included, also in inputs that are written to."""
    host = [a.copy() if isinstance(a, np.ndarray) else a for a in arrays]
    device = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in arrays]
    want, got = function(*host), function(*device)
    pairs = list(zip(want, got)) if isinstance(want, tuple) else [(want, got)]
    pairs += [(h, d) for h, d in zip(host, device) if isinstance(h, np.ndarray)]
    for w, g in pairs:
        g = g.copy_to_host()
        np.testing.assert_array_equal(g, w)
        if g.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(g) & (g == 0), np.signbit(w) & (w == 0))


def mapping(function, types):
    return function.resources(types, "sm_90")["large_cores"]
