"""Launches that cannot be: one class that catches where numba's programs catch."""

import pickle
import sys
import types

import pytest

import lanewise as lw
from lanewise import cuda, errors

CLASSES = (errors.LaunchError, errors.DriverError, RuntimeError, ValueError, TypeError)


@cuda.jit(launch_bounds=128)
def bounded():
    pass


@cuda.jit(device=True)
def inner(x, y):
    return x + y


@cuda.jit(cooperative=True)
def declared_together(x):
    x[0] = 1


@cuda.jit
def waits(x):
    cuda.cg.this_grid().sync()
    x[0] = 1


@cuda.jit
def alone(x):
    x[0] = 1


@pytest.mark.parametrize("caught", CLASSES)
@pytest.mark.parametrize("launch, words", [
    (lambda: bounded[1, 256](), "a block of 256 threads, but launch_bounds= allows at most 128 .CUDA_ERROR_INVALID_VALUE"),
    (lambda: bounded(), "launch configuration was not specified: .*bounded.grid, block."),
    (lambda: inner[1, 1](1, 2), "Cannot compile a device function as a kernel: `inner`"),
    (lambda: inner.inspect_sass((lw.int32, lw.int32)), "Cannot inspect SASS of a device function"),
], ids=["bounds", "unconfigured", "device launched", "device inspected"])
def test_a_launch_that_cannot_be_is_each_of_the_classes(launch, words, caught):
    with lw.config(target="cpu"), pytest.raises(caught, match=words):
        launch()


def test_the_error_beyond_the_bounds_has_the_drivers_name():
    with lw.config(target="cpu"), pytest.raises(errors.DriverError) as raised:
        bounded[1, 129]()
    assert (raised.value.name, raised.value.code) == ("CUDA_ERROR_INVALID_VALUE", 1)
    with lw.config(target="cpu"), pytest.raises(errors.DriverError) as raised:
        bounded()
    assert (raised.value.name, raised.value.code) == ("", 0)


def test_where_cuda_core_is_imported_its_class_catches_too(monkeypatch):
    """numba-cuda raises cuda.core's CUDAError where the driver refuses."""
    theirs = types.ModuleType("cuda.core._utils.cuda_utils")
    theirs.CUDAError = type("CUDAError", (Exception,), {})
    monkeypatch.setitem(sys.modules, theirs.__name__, theirs)
    with lw.config(target="cpu"), pytest.raises(theirs.CUDAError, match="CUDA_ERROR_INVALID_VALUE") as raised:
        bounded[1, 256]()
    error = raised.value
    assert isinstance(error, errors.LaunchError) and (type(error).__name__, error.code) == ("LaunchError", 1)
    again = pickle.loads(pickle.dumps(error))
    assert (again.args, again.name, again.code) == (error.args, error.name, 1) and isinstance(again, errors.LaunchError)
    with pytest.raises(theirs.CUDAError):
        raise errors.DriverError("of a program")
    monkeypatch.delitem(sys.modules, theirs.__name__)
    assert type(errors.DriverError("plain")) is errors.DriverError


@pytest.mark.parametrize("kernel, together", [(waits, True), (declared_together, True), (alone, False)])
def test_overloads_say_whether_blocks_wait_for_each_other(kernel, together):
    signature = "void(float64[:])"
    with lw.config(target="cpu"):
        kernel.compile(signature, "cpu")
        (overload,) = kernel.overloads.values()
        assert overload.cooperative is together


def test_on_the_cpu_the_blocks_of_a_cooperative_grid_are_as_many_as_cores():
    with lw.config(target="cpu"):
        waits.compile("void(float64[:])", "cpu")
        (overload,) = waits.overloads.values()
        assert overload.max_cooperative_grid_blocks(256) == overload.max_cooperative_grid_blocks((16, 16)) >= 1
        with pytest.raises(TypeError, match="blockdim must be a sequence of integers"):
            overload.max_cooperative_grid_blocks("256")
