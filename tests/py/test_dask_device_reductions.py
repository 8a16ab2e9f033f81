"""Reductions and scans of Dask arrays whose blocks are device arrays give such blocks, 0-d ones too."""

import numpy as np
import pytest

import lanewise as lw
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
