"""Calls of NumPy's functions with device arrays at random, some in each run of the suite: numpy_calls.py."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
import numpy_calls
from lanewise import _array_protocol, cuda

NOT_DRAWN = {"array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "empty", "zeros", "ones", "full", "arange", "eye", "identity", "tri",  # with like=
             "result_type", "can_cast", "may_share_memory", "shares_memory", "array_repr", "array_str", "array2string", "einsum_path", "save", "savez", "savez_compressed", "savetxt"}


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="errors are those of NumPy 2.4")
@pytest.mark.parametrize("name", sorted(numpy_calls.CALLS))
def test_as_numpy(name):
    with lw.config(target="cpu"):
        for seed in range(3):
            numpy_calls.run(name, 90_000 + seed, cuda.to_device)


@pytest.mark.gpu
@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", sorted(numpy_calls.CALLS))
def test_on_a_device(name):
    for seed in range(3):
        numpy_calls.run(name, 91_000 + seed, cuda.to_device)


def test_all_functions_are_drawn():
    _array_protocol._later(np.cross)
    drawn = {function for function, *_ in numpy_calls.CALLS.values()}
    left = {function.__name__ for function in _array_protocol._FUNCTIONS if function not in drawn} | {name for name in _array_protocol._BY_METHOD if name not in numpy_calls.CALLS}
    assert left <= NOT_DRAWN | {"unique_values"}, left - NOT_DRAWN


def test_what_counts_as_an_error_of_arguments(monkeypatch):
    """An exception of another class is a difference, however many arguments are wrong."""
    def call(function):
        monkeypatch.setitem(numpy_calls.CALLS, "tried", (function, lambda d: ([np.ones(3)], {}), True, False, False))
        return numpy_calls.run("tried", 0, cuda.to_device)

    def fails_with(host, device):
        def function(x):
            raise device if isinstance(x, cuda.DeviceArray) else host
        return function

    def refuses(device):
        def function(x):
            if isinstance(x, cuda.DeviceArray):
                raise device
            return x
        return function

    with lw.config(target="cpu"):
        assert call(fails_with(ValueError("a"), ValueError("b"))) == "error"
        assert call(refuses(lw.errors.UnsupportedError("numpy.f of device arrays: x="))) == "refused"
        for function in (fails_with(ValueError("a"), AttributeError("b")), fails_with(ValueError("a"), KeyError("b")), refuses(lw.errors.UnsupportedError("E101")),
                         refuses(RuntimeError("dimension must be 3"))):
            with pytest.raises(numpy_calls.Difference):
                call(function)
