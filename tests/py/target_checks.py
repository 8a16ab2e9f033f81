"""Arguments for a target and its results, for tests that compare two forms of a function on GPUs and CPUs."""

import numpy as np

import lanewise as lw


def on(target, array):
    return lw.cuda.to_device(array) if target == "cuda" else array


def back(result):
    return result.copy_to_host() if hasattr(result, "copy_to_host") else result


def check_equal(target, got, wanted):
    """Check that the bits are the same on a GPU. On a CPU another loop may use another function of libm."""
    if target == "cuda":
        np.testing.assert_array_equal(back(got), back(wanted))
    else:
        np.testing.assert_allclose(got, wanted, rtol=4 * np.finfo(got.dtype).eps, atol=4 * np.finfo(got.dtype).tiny)
