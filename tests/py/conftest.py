"""Where kernels run: on the CPU, and on a GPU where there is one."""

from __future__ import annotations

import pytest

import lanewise as lw
from lanewise import _core


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def target(request):
    """The setting `target`, for the time of a test: the test runs once for each value."""
    if request.param == "cuda" and not lw.cuda.is_available():
        pytest.skip("no CUDA device")
    with lw.config(target=request.param):
        yield request.param


@pytest.fixture
def cpu():
    """The setting `target` is "cpu" for the time of a test."""
    with lw.config(target="cpu"):
        yield


@pytest.fixture
def simulated():
    """On the fake driver, kernels of ufuncs and gufuncs run on the simulator."""
    from fake_driver import FAKE  # which looks for a device

    _core._simulate_kernels(FAKE)
    yield
    _core._simulate_kernels(False)
