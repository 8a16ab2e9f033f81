"""map_blocks: arguments by name, parameters with a default, and what is an output."""

import numpy as np
import pytest

import lanewise as lw

pytest.importorskip("dask.array")
from dask_checks import Pairs, da  # noqa: E402

X = np.arange(6.0)


@lw.forall
def plain(i, x, k, out):
    out[i] = x[i] * k


@lw.forall
def default(i, x, out, k=2):
    out[i] = x[i] * k


@lw.forall(static=("k", "m"))
def static(i, x, out, k=2, m=1):
    out[i] = x[i] * k + m


@lw.forall
def between(i, x, out, y):
    out[i] = x[i] + y[i]


@lw.jit
def placed(x, out, k=2, offset=0):
    t = lw.cuda.grid(1)
    if t < x.size:
        out[t] = x[t] * k + offset


@pytest.fixture
def d():
    return da.from_array(X, chunks=4)


def test_arguments_by_name_and_defaults(d):
    pairs = Pairs()
    for kernel in (plain, default):
        pairs.add(X * 3, lw.map_blocks(kernel, d, k=3))
    pairs.add(X * 2, lw.map_blocks(default, d))
    pairs.add(X * 3, lw.map_blocks(default, k=3, x=d))
    pairs.add(X * 2 + 1, lw.map_blocks(static, d))
    pairs.add(X * 3 + 1, lw.map_blocks(static, d, k=3))
    pairs.add(X * 2 + 5, lw.map_blocks(static, d, m=5))
    pairs.add(X + (X + 1), lw.map_blocks(between, d, y=d + 1))
    pairs.check()


def test_defaults_of_jit_kernels_in_front_of_offset(d):
    with lw.config(target="cpu"):
        np.testing.assert_array_equal(lw.map_blocks(placed, d).compute(scheduler="synchronous"), X * 2 + [0, 0, 0, 0, 4, 4])
        np.testing.assert_array_equal(lw.map_blocks(placed, d, k=3).compute(scheduler="synchronous"), X * 3 + [0, 0, 0, 0, 4, 4])


def test_what_fits_no_parameter_is_named(d):
    with pytest.raises(TypeError, match="unexpected keyword argument 'zz'; expected depth, boundary, dtype or a parameter of plain: x, k, out"):
        lw.map_blocks(plain, d, 3.0, zz=1)
    with pytest.raises(TypeError, match="default got multiple values for argument 'x'"):
        lw.map_blocks(default, d, x=d)
    with pytest.raises(TypeError, match=r"but 2 arguments leave none: its parameters are \(i, x, out, k=2\); those with a default are passed by name"):
        lw.map_blocks(default, d, 3.0)


def test_arrays_in_memory_alone_say_what_to_pass(d):
    xr = pytest.importorskip("xarray")
    with pytest.raises(TypeError, match=r"needs a Dask array among its arguments: pass x.chunk\(\) of an xarray DataArray in memory, or call plain itself with x.data"):
        lw.map_blocks(plain, xr.DataArray(X, dims="t"), 3.0)
    got = lw.map_blocks(plain, xr.DataArray(X, dims="t").chunk(), k=3.0)
    assert isinstance(got, xr.DataArray)
    np.testing.assert_array_equal(got.compute(), X * 3)
