"""Reductions of Dask arrays with where=, where blocks, or parts of them, have no element that counts."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions as R

pytest.importorskip("dask.array")
from dask_checks import Pairs, da  # noqa: E402

ordered = lw.reduce(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), map=lambda x: (3, x), finish=lambda a, b: b)
last = lw.reduce(lambda a, b: b)
placed = lw.reduce(lambda a, b: a + b, map=lambda x, index: x * index)
WITHOUT_IDENTITY = [(ordered, (1, 7)), (last, 4), (placed, 3), (R.max, -60), (R.nanmin, 60), (R.minmax, (9, -9))]


def masked():
    rng = np.random.default_rng(3)
    x = rng.integers(-50, 50, (7, 9)).astype(np.float64)
    mask = rng.random(x.shape) < 0.3
    mask[:, 3] = mask[2] = False
    return x, mask


@pytest.mark.parametrize("chunks", [(3, 4), (1, 2), ((3, 0, 4), (4, 0, 5))], ids=str)
def test_initial_and_where_of_operators_without_identity(chunks):
    x, mask = masked()
    d, pairs = da.from_array(x, chunks=chunks), Pairs()
    for reduction, initial in WITHOUT_IDENTITY:
        for axis in (None, 0, 1):
            for where in (mask, mask[:, :1], np.zeros_like(mask)):
                given = {"axis": axis, "where": where, "initial": initial, "keepdims": axis == 1}
                pairs.add(reduction(x, **given), reduction(d, **given), (reduction, axis))
    assert pairs.check() > 50


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:Mean of empty", "ignore:invalid value", "ignore:divide by zero")
def test_variances_of_blocks_without_elements_are_numbers():
    x, mask = masked()
    pairs = Pairs(rtol=1e-12)
    for chunks in ((3, 4), 1):
        d = da.from_array(x, chunks=chunks)
        for mine, reference in ((R.var, np.var), (R.std, np.std), (R.mean, np.mean)):
            for axis in (None, 0, 1):
                pairs.add(reference(x, axis=axis, where=mask), mine(d, axis=axis, where=mask), (mine, axis))
    assert pairs.check() == 18


def test_a_part_of_nothing_needs_an_identity_or_a_value_that_changes_none():
    x, mask = masked()
    with pytest.raises(ValueError, match="where= selects no element for one of the accumulators.*identity="):
        last.partial(x, axis=0, where=mask)
    assert last.partial(x, where=mask)["f0"] == x[mask][-1]
    assert last.partial(x[:2], axis=1, where=mask[:2])["f0"].tolist() == [x[0][mask[0]][-1], x[1][mask[1]][-1]]
    assert R._max.partial(x, axis=0, where=mask)["f0"][3] == -np.inf


# ---- masked arrays ----


@lw.forall
def copied(i, x, out):
    out[i] = x[i]


def test_masks_of_blocks_are_kept_or_refused():
    x, hidden = np.arange(8.0), np.arange(8) > 4
    host = np.ma.array(x, mask=hidden)
    d = da.ma.masked_array(da.from_array(x, chunks=3), mask=da.from_array(hidden, chunks=3))
    add = lw.vectorize(lambda a, b: a + b)
    table = lw.vectorize(lambda q, tb: q + tb[0], excluded=("tb",))
    for lazy in (add(d, 1.0), add(d, 1.0, where=x > 2), lw.add.outer(d, x)[:, 1]):
        made = lazy.compute(scheduler="synchronous")
        assert isinstance(made, np.ma.MaskedArray) and (made.mask == hidden).all()
        want = add(host, 1.0) if lazy is not None else None
        shown = ~hidden & (x > 2)
        np.testing.assert_array_equal(made.data[shown], want.data[shown])
    for call in (lambda: lw.map_blocks(copied, d), lambda: lw.reductions.sum(d), lambda: lw.random.Generator(1).normal(d, 1.0), lambda: table(da.ones(8, chunks=3), d)):
        with pytest.raises(TypeError, match="masked arrays?, whose mask (compiled code|a Generator) would ignore"):
            call().compute(scheduler="synchronous")


def test_records_that_are_one_of_several_results():
    rows = np.array([(1.5, 3), (2.5, 4)], [("a", "f8"), ("b", "i4")])
    lazy = lw.reductions.top1(da.from_array(rows["a"], chunks=1), da.from_array(rows, chunks=1))
    assert lazy[1].dtype == rows.dtype == lazy[1].compute(scheduler="synchronous").dtype
    assert lazy[1].compute(scheduler="synchronous").item() == (2.5, 4)
