"""Reductions and scans of Dask arrays against the call in memory, for random chunkings; partial, merge and finish."""

import pickle

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions as R

pytest.importorskip("dask.array")
from dask_checks import Pairs, chunkings, da, dask, shapes  # noqa: E402

total = lw.reduce(lambda a, b: a + b)
mean = lw.reduce(map=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), finish=lambda s, n: s / n)
ordered = lw.reduce(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), map=lambda x: (3, x), finish=lambda a, b: b)
placed = lw.reduce(lambda a, b: a + b, map=lambda x, index: x * index)
both = lw.reduce(lambda a, b, c, d: (a + c, b + d), map=lambda x: (x, x * x))
largest = lw.reduce(lambda a, b: max(a, b))


def folded(x, axis, keepdims):
    """What `ordered` gives: the elements as digits of base 3, in their order."""
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    last = np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
    rows = last.reshape(last.shape[: x.ndim - len(axes)] + (-1,))
    result = np.zeros(rows.shape[:-1], x.dtype)
    for k in range(rows.shape[-1]):
        result = np.add(np.multiply(result, 3), rows[..., k])
    return np.expand_dims(result, axes) if keepdims else result


def by_place(x, axis, keepdims):
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    places = np.arange(np.prod([x.shape[one] for one in axes])).reshape([n if i in axes else 1 for i, n in enumerate(x.shape)])
    return (x * places).sum(axis=axis, keepdims=keepdims)


EXACT = [
    (R.sum, np.sum), (placed, by_place), (ordered, folded), (R.argmax, np.argmax),
    (R.minmax, lambda x, **given: (np.min(x, **given), np.max(x, **given))),
]


@pytest.mark.parametrize("seed", range(2))
def test_integers_are_equal_for_every_chunking(seed):
    rng, pairs = np.random.default_rng(seed), Pairs()
    for _ in range(22):
        x = rng.integers(-9, 9, shapes(rng))
        d = da.from_array(x, chunks=chunkings(rng, x.shape))
        axis = [None, *range(x.ndim), tuple(sorted({0, x.ndim - 1}))][int(rng.integers(x.ndim + 2))]
        keepdims = bool(rng.integers(2))
        for f, reference in EXACT:
            if f is not R.argmax or not isinstance(axis, tuple):
                pairs.add(reference(x, axis=axis, keepdims=keepdims), f(d, axis=axis, keepdims=keepdims), (f, d.chunks, axis))
    assert pairs.check() > 120


def test_floats_are_close():
    rng, pairs = np.random.default_rng(5), Pairs(rtol=1e-12)
    for _ in range(12):
        x = rng.normal(size=shapes(rng))
        d = da.from_array(x, chunks=chunkings(rng, x.shape))
        axis = [None, *range(x.ndim)][int(rng.integers(x.ndim + 1))]
        for f, reference in ((mean, np.mean), (R.var, np.var), (R.nansum, np.nansum), (R.logsumexp, lambda x, axis: np.log(np.exp(x).sum(axis)))):
            pairs.add(reference(x, axis=axis), f(d, axis=axis), (f, d.chunks, axis))
    pairs.check()


def test_keywords():
    x, mask = np.arange(24.0).reshape(4, 6), np.arange(24).reshape(4, 6) % 3 > 0
    d, m, pairs = da.from_array(x, chunks=(3, 4)), da.from_array(mask, chunks=(2, 6)), Pairs(rtol=1e-14)
    pairs.add(x.sum() + 5, total(d, initial=5), "once")
    pairs.add(x.sum(axis=0, where=mask), total(d, axis=0, where=m), "where")
    pairs.add(x.sum(where=mask) + 2, total(d, where=mask, initial=2.0), "both")
    pairs.add(x.max(axis=1, where=mask, initial=-1), R.max(d, axis=1, where=m, initial=-1), "no identity")
    pairs.add(x.sum(dtype="f4"), total(d, dtype="f4"), "dtype")
    pairs.add(folded(x.astype(int), None, False) + 3 * 3**24, ordered(d.astype(int), initial=(2, 3)), "a tuple")
    pairs.add(R.top1(x, x.T.reshape(4, 6)), R.top1(d, x.T.reshape(4, 6)), "two arrays, one of NumPy's")
    pairs.add(x.sum() + 1, total(d, init=1), "numba's")
    pairs.add(x.sum(), total(d, split_every=2), "split_every")
    pairs.add(x[x > 7.0].sum(), total(d[d > 7.0]), "chunks of unknown sizes")
    pairs.add(x[x > 20.0].max(), R.max(d[d > 20.0]), "blocks that turn out empty")
    pairs.add(np.zeros(6), total(d[:0], axis=0), "nothing")
    pairs.add(np.float64(3.0), total(da.from_array(np.float64(3.0))), "no dimension")
    pairs.check()


def test_scans():
    rng, pairs = np.random.default_rng(2), Pairs()
    for _ in range(14):
        x = rng.integers(-9, 9, shapes(rng))
        d = da.from_array(x, chunks=chunkings(rng, x.shape))
        axis, exclusive = int(rng.integers(x.ndim)), bool(rng.integers(2))
        for r, given in ((total, {}), (ordered, {}), (placed, {}), (both, {}), (total, {"initial": 5}), (ordered, {"initial": (2, 3)})):
            if exclusive and (r in (ordered, both) and not given):
                continue
            lazy = r.accumulate(d, axis, exclusive, **given)
            pairs.add(r.accumulate(x, axis, exclusive, **given), lazy, (r, d.chunks, axis, exclusive, given))
            assert (lazy[0] if isinstance(lazy, tuple) else lazy).chunks == d.chunks
    x = np.arange(12).reshape(3, 4)
    d = da.from_array(x, chunks=(2, 2))
    pairs.add(np.cumsum(x), R.cumsum(d), "cumsum")
    pairs.add(np.maximum.accumulate(x, 1), R.running_maximum(d, 1), "running_maximum")
    assert pairs.check() > 60


def test_bits_follow_from_the_chunks_alone():
    x = np.random.default_rng(1).normal(size=(200, 30))
    d = da.from_array(x, chunks=(7, 11))
    lazy = [total(d), R.var(d, axis=0), total.accumulate(d, axis=0)]
    expected = dask.compute(*lazy, scheduler="synchronous")
    for workers in (1, 4, 16):
        for one, other in zip(dask.compute(*lazy, scheduler="threads", num_workers=workers), expected):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def test_names_and_tokens():
    d = da.ones((4, 4), chunks=2)
    assert total(d).name.startswith("lambda-") and R.max(d).name.startswith("max-")
    assert any(name.startswith("max_partial-") for name in R.max(d).dask.layers)
    assert total(d).name == total(d).name != total(d, initial=1).name
    again = pickle.loads(pickle.dumps(total))
    assert dask.base.tokenize(again) == dask.base.tokenize(total)
    assert total(d).name == again(d).name
    k = 2
    scaled = lw.reduce(lambda a, b: a + b, map=lambda x: x * k)
    before = scaled(d).name
    k = 3
    assert scaled(d).name != before and scaled(d).compute() == 48


def test_what_cannot_be_says_what_to_do():
    d = da.ones((4, 6), chunks=2)
    with pytest.raises(TypeError, match="out= cannot be given with Dask arrays"):
        total(d, out=np.empty(()))
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum"):
        R.max(d[:0])
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum"):
        R.max(d[d > 2]).compute()
    with pytest.raises(ValueError, match="does not have an identity, so to use a where mask"):
        R.max(d, where=d > 0)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        placed(d[d > 0])
    with pytest.raises(np.exceptions.AxisError):
        total(d, axis=2)
    with pytest.raises(ValueError, match="does not allow multiple axes"):
        total.accumulate(d, axis=None)
    with pytest.raises(TypeError, match="Dask"):
        total(d, res=np.empty(1))
    with pytest.raises(TypeError, match="pass x.compute"):
        total.reduceat(d, [0, 1])
    with pytest.raises(TypeError, match="object"):
        total(da.from_array(np.array([1, None], object), chunks=2))
    with pytest.raises(ValueError, match="broadcast"):
        R.top1(d, da.ones(5, chunks=2)).compute()
    mixed = da.map_blocks(lambda b, block_info=None: b.astype("f4" if block_info[0]["chunk-location"][0] else "f8"), d, dtype="f8")
    with pytest.raises(TypeError, match="a block of argument 1 has dtype float32, the Dask array float64"):
        total(mixed).compute()


# ---- without Dask ----


@pytest.mark.parametrize("r", [total, R._moments("std", "real", 1), both], ids=["total", "deviation", "both"])
@pytest.mark.parametrize("dtype", ["f2", "u1"])
def test_parts_are_as_the_whole(r, dtype):
    x = (np.random.default_rng(3).normal(size=(9, 5)) * 9).astype(dtype)
    p, q = r.partial(x[:4], axis=0), r.partial(x[4:], axis=0)
    for whole, one in zip(np.atleast_1d(r(x, axis=0)), np.atleast_1d(r.finish(r.merge(p, q)))):
        assert whole.dtype == one.dtype and whole.shape == one.shape
        np.testing.assert_allclose(one.astype(float), whole.astype(float), rtol=2e-3)


def test_accumulators_are_records():
    p = mean.partial([[1.0, 2.0], [3.0, 4.0]], axis=1, keepdims=True)
    assert p.dtype.names == ("f0", "f1") and p.shape == (2, 1) and p["f1"].tolist() == [[2], [2]]
    assert mean.finish(p).tolist() == [[1.5], [3.5]]
    assert mean.merge(p, p, p)["f1"].tolist() == [[6], [6]]
    assert mean.merge(p, p[0]).shape == (2, 1)
    half = R._mean.partial(np.float16([1000] * 100))
    assert half["f0"] == 100_000 and R._mean.finish(half).dtype == np.float16 and R._mean.finish(half) == 1000
    again = pickle.loads(pickle.dumps(np.concatenate([p, p])))
    assert mean.finish(again).tolist() == [[1.5], [3.5], [1.5], [3.5]]
    assert total.finish(total.partial([1, 2]), initial=10) == 13
    assert R._max.partial(np.arange(3.0), where=[False, True, False])["f0"] == 1.0
    points = np.array([(1, 5.0), (2, 9.0), (3, 7.0)], [("id", "i4"), ("height", "f8")])
    highest = lw.reduce(lambda a, b: a if a.height >= b.height else b)
    found = highest.finish(highest.merge(highest.partial(points[:1]), highest.partial(points[1:])))
    assert found == highest(points) and found.dtype == points.dtype


def test_parts_that_do_not_fit():
    with pytest.raises(TypeError, match="argument 2 has accumulators of float32, argument 1 has of float64"):
        total.merge(total.partial([1.0]), total.partial(np.float32([1])))
    with pytest.raises(TypeError, match="expected accumulators that partial"):
        total.finish(np.zeros(3))
    with pytest.raises(TypeError, match="must be accumulators"):
        total.merge([1, 2])
    with pytest.raises(ValueError, match="no identity"):
        largest.partial(np.zeros(0))
    with pytest.raises(TypeError, match="pass x.compute"):
        total.partial(da.ones(3))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_logsumexp_of_one_block_has_the_bits_of_the_call_on_numpy(dtype):
    x = np.linspace(-3, 5, 1000).astype(dtype)
    computed = lw.reductions.logsumexp(da.from_array(x, chunks=-1)).compute(scheduler="synchronous")
    assert computed.tobytes() == lw.reductions.logsumexp(x).tobytes() and computed.dtype == x.dtype
