"""Reductions and scans of Dask arrays whose blocks are device arrays give such blocks, 0-d ones too."""

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE
from lanewise import cuda, reductions as R

da = pytest.importorskip("dask.array")

rng = np.random.default_rng(15)
A, M = rng.random((6, 8)), rng.random((6, 8)) > 0.6
M[:, 2] = False

total = lw.reduce(lambda a, b: a + b)
ordered = lw.reduce(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), map=lambda x: (3, x), finish=lambda a, b: b)
placed = lw.reduce(lambda a, b: a + b, map=lambda x, index: x * index)
add = lw.vectorize(lambda a, b: a + b, identity=0)
added = lw.vectorize(lambda a, b: a + b)

REDUCTIONS = [total, placed, add.reduce, R.argmax, R.mean, R.minmax, R.nanargmin]
SCANS = [total.accumulate, ordered.accumulate, placed.accumulate]


def blocks(array, chunks):
    return da.from_array(array, chunks=chunks).map_blocks(cuda.to_device)


def check(lazy, expected, what):
    if isinstance(expected, tuple):
        for one, other in zip(lazy, expected, strict=True):
            check(one, other, what)
        return
    result, expected = lazy.compute(scheduler="synchronous"), np.asarray(expected)
    assert isinstance(result, cuda.DeviceArray) and isinstance(lazy._meta, cuda.DeviceArray), what
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype) == (lazy.shape, lazy.dtype), what
    np.testing.assert_allclose(result.copy_to_host(), expected, rtol=1e-12, err_msg=str(what))


def test_results_lie_where_the_blocks_do(target):
    d = blocks(A, ((4, 0, 2), (3, 5)))
    for f in REDUCTIONS:
        for axis in (None, 0):
            check(f(d, axis=axis), f(A, axis=axis), (f, axis))
        check(f(d, axis=1, keepdims=True), f(A, axis=1, keepdims=True), f)
    for f in SCANS:
        for axis in (0, 1):
            check(f(d, axis=axis), f(A, axis=axis), (f, axis))


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:invalid value")
def test_with_masks(target):
    d, m = blocks(A, (3, 4)), blocks(M, (3, 4))
    for where in (m, da.from_array(M, chunks=(3, 4))):
        check(R.nanmax(d, axis=0, where=where, initial=-1), A.max(axis=0, where=M, initial=-1), "no identity")
        check(placed(d, axis=0, where=where, initial=5), placed(A, axis=0, where=M, initial=5), "index")
        check(R.var(d, axis=1, where=where), A.var(axis=1, where=M), "moments")
        check(R.sum(d, where=where), A.sum(where=M), "all axes")
    check(added(d, 1, where=m), np.where(M, A + 1, 0), "ufunc")


def test_parts(target):
    p = total.partial(cuda.to_device(A), axis=0)
    for made in (p, total.merge(p, p), total.finish(p), total.partial(cuda.to_device(A))):
        assert isinstance(made, cuda.DeviceArray)


@lw.jit
def raised(x, out, offset):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + (offset + i if 0 < i < x.size - 1 else 0)


def test_kernels_take_device_blocks(target):
    v = rng.random(23)
    lazy = lw.map_blocks(raised, blocks(v, 6), depth=1)
    check(lazy, v + np.arange(23) * ((np.arange(23) > 0) & (np.arange(23) < 22)), "a jit kernel")
    copy = lw.forall(lambda i, x, out: None)
    if target == "cpu":
        return  # what stands for a device array is a NumPy array
    with pytest.raises(TypeError, match="forall takes NumPy blocks here, not .*: write a kernel of lw.jit"):
        lw.map_blocks(copy, blocks(v, 6)).compute(scheduler="synchronous")


@pytest.mark.gpu
@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
def test_random_blocks_lie_where_the_generator_draws():
    """The generator's target at the time of the call counts, not the setting at the time when the blocks are made."""
    from lanewise.random import Generator

    for name, args in (("random", ()), ("normal", (1.0, 2.0)), ("gamma", (2.0,)), ("integers", (9,)), ("poisson", (3.0,)), ("dirichlet", ([1.0, 2.0],)), ("choice", (9,))):
        for size in ((7, 4), ()):
            at_once = getattr(Generator(3, target="cuda"), name)(*args, size=size)
            lazy = getattr(Generator(3, target="cuda"), name)(*args, size=size, chunks=3 if size else ())
            with lw.config(target="cuda"):
                by_setting = getattr(Generator(3), name)(*args, size=size, chunks=3 if size else ())
            for one in (lazy, by_setting):
                found = one.compute(scheduler="synchronous")
                assert isinstance(found, cuda.DeviceArray) == isinstance(one._meta, cuda.DeviceArray) == isinstance(at_once, cuda.DeviceArray), (name, size)
                assert (found.shape, found.dtype) == (at_once.shape, at_once.dtype) == (one.shape, one.dtype)
                if not FAKE:
                    np.testing.assert_array_equal(np.asarray(found.copy_to_host() if hasattr(found, "copy_to_host") else found),
                                                  np.asarray(at_once.copy_to_host() if hasattr(at_once, "copy_to_host") else at_once))
    with lw.config(target="cuda"):
        here = Generator(3, target="cpu").random(5, chunks=2)
        assert type(here._meta) is np.ndarray and type(here.compute(scheduler="synchronous")) is np.ndarray
