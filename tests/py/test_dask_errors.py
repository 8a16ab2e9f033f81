"""Dask arrays that cannot be computed: each way in says what to do."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions as R
from lanewise.random import Generator

da = pytest.importorskip("dask.array")


@lw.vectorize
def wave(x, y):
    return x * y + 1


@lw.guvectorize("(n),(n)->()")
def dot(a, b, out):
    out[0] = 0
    for k in range(a.shape[0]):
        out[0] += a[k] * b[k]


@lw.forall
def copy(i, x, out):
    out[i] = x[i]


@lw.jit
def copy_each(x, out):
    i = lw.cuda.grid(1)
    if i < x.size:
        out[i] = x[i]


total = lw.reduce(lambda a, b: a + b)
last = lw.reduce(lambda a, b: b)
X = da.arange(12.0, chunks=5)
UNKNOWN = X[X > 3]
#: The second block is of float32, and no one has said so.
MIXED = da.concatenate([da.ones(4, chunks=4)] * 2).map_blocks(
    lambda block, block_info: block.astype(f"f{8 - 4 * block_info[0]['chunk-location'][0]}"), dtype="f8", meta=np.empty(0))


@pytest.mark.parametrize("call", [
    lambda x: wave(x, 2), lambda x: wave(x, x, where=x > 0), lambda x: wave.outer(x, x), lambda x: dot(x[:, None], x[:, None]), total, R.mean,
    R.argmax, R.cumsum, lambda x: lw.map_blocks(copy, x), lambda x: lw.map_blocks(copy_each, x)])
def test_blocks_of_different_dtypes(call):
    with pytest.raises(TypeError, match=r"a block of argument 1 has dtype float32, the Dask array float64.*astype\('float64'\)"):
        call(MIXED).compute(scheduler="synchronous")


def test_core_dimensions_in_pieces_and_unknown_sizes():
    with pytest.raises(ValueError, match=r"core dimension 'n', axis 0, in 3 chunks: pass x.rechunk\(\{0: -1\}\), or allow_rechunk=True"):
        dot(X, X)
    for call in (lambda x: dot(x, x), lambda x: dot(x, x, allow_rechunk=True), lambda x: lw.map_blocks(copy, x), lambda x: lw.map_blocks(copy_each, x)):
        with pytest.raises(ValueError, match=r"unknown size|not known.*call x.compute_chunk_sizes\(\) first"):
            call(UNKNOWN)
    for name in ("argmax", "nanargmin"):
        with pytest.raises(ValueError, match=rf"{name}: map takes the element's index.*x.compute_chunk_sizes\(\)"):
            getattr(R, name)(UNKNOWN)
    with pytest.raises(ValueError, match=r"top1: map takes the element's index"):
        R.top1(UNKNOWN, UNKNOWN)
    for given in ({"size": UNKNOWN.shape, "chunks": 3}, {"size": 12, "chunks": UNKNOWN.chunks}):
        with pytest.raises(ValueError, match=r"must be numbers, not .*nan.*after x.compute_chunk_sizes\(\)"):
            Generator(1).random(**given)


def test_no_elements_and_no_identity():
    for x in (da.ones((0, 4), chunks=(1, 2)), X[X > 99]):
        with pytest.raises(ValueError, match="zero-size array to reduction operation <lambda> which has no identity"):
            last(x, axis=0).compute(scheduler="synchronous")
    assert R.cumsum(da.ones((0, 3), chunks=1)).compute(scheduler="synchronous").shape == (0,)
    some = da.concatenate([da.ones(0, chunks=0), da.ones(3, chunks=3), da.ones(0, chunks=0)])
    assert last(some).compute(scheduler="synchronous") == 1 and R.argmax(some).compute(scheduler="synchronous") == 0
    with pytest.raises(ValueError, match="operation '<lambda>' does not have an identity, so to use a where mask one has to specify 'initial'"):
        last(X, where=X > 3)


def test_axes_and_keywords():
    with pytest.raises(TypeError, match="axis= must be an int or a tuple of ints, not 1.5"):
        total(X, axis=1.5)
    with pytest.raises(TypeError, match=r"^<lambda>\(\) got progress=, which is not for Dask arrays, whose tasks dask.diagnostics.ProgressBar shows"):
        total(X, progress=True)


def test_keys_have_the_names_of_the_functions():
    for name in ("argmax", "mean", "any", "logsumexp", "nansum", "nanargmin"):
        assert getattr(R, name)(X).name.startswith(f"{name}-")


def test_columns_of_dask_and_of_arrow():
    dd, pd, pa = (pytest.importorskip(name) for name in ("dask.dataframe", "pandas", "pyarrow"))
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0, 4.0]}), npartitions=2)
    with pytest.raises(TypeError, match=r"a dask Series of dtype float64.*pass x.to_dask_array\(lengths=True\), or x.compute\(\)"):
        total(frame.a)
    assert float(total(frame.a.to_dask_array(lengths=True))) == 7 and float(R.sum(frame.a).compute()) == 7
    with pytest.raises(TypeError, match=r"a pyarrow Table.*pass a column, or x.to_pandas\(\).to_numpy\(\)"):
        R.sum(pa.table({"a": [1.0]}))


@pytest.mark.parametrize("name", sorted(set(R.__all__) - {"topk", "argtopk", "median", "nanmedian", "quantile", "nanquantile", "percentile", "nanpercentile"}))
def test_stream_is_refused(name):
    arrays = (X, X) if name in ("top1", "affine_scan", "segmented_sum") else (X,)
    with pytest.raises(TypeError, match=rf"^{name}: stream= is for device arrays, not for Dask arrays"):
        getattr(R, name)(*arrays, stream=5)
    assert isinstance(getattr(R, name)(*arrays, stream=0), (da.Array, tuple))


def test_stream_is_refused_by_reductions_of_ones_own():
    for call in (total, total.accumulate):
        with pytest.raises(TypeError, match="stream= is for device arrays, not for Dask arrays"):
            call(X, stream=5)


def test_errors_have_the_names_that_were_called():
    for name in ("sum", "prod", "min", "max", "nanmax", "var"):
        with pytest.raises(TypeError, match=rf"^{name}\(\) got progress=, which is not for Dask arrays"):
            getattr(R, name)(X, progress=True)
        with pytest.raises(TypeError, match=f"`{name}` was called with host operands only"):
            getattr(R, name)(np.ones(3), stream=5)
    for name in ("cumsum", "nancumprod", "running_maximum"):
        with pytest.raises(TypeError, match=f"`{name}` was called with host operands only"):
            getattr(R, name)(np.ones(3), stream=5)
        with pytest.raises(TypeError, match=f"^{name}: out= cannot be given with Dask arrays"):
            getattr(R, name)(X, out=np.ones(12))


def test_progress_is_shown_by_dask():
    for call in (lambda **given: R.sum(X, **given), lambda **given: lw.map_blocks(copy, X, **given)):
        with pytest.raises(TypeError, match=r"^(sum|map_blocks)\(\) got progress=.*dask.diagnostics.ProgressBar"):
            call(progress=True)
        call(progress=False)
    for name in ("cumsum", "nancumprod", "running_maximum", "topk", "argtopk"):
        more = (2,) if name.endswith("topk") else ()
        with pytest.raises(TypeError, match=rf"^{name}\(\) has no progress=: use dask.diagnostics.ProgressBar"):
            getattr(R, name)(X, *more, progress=True)
        with pytest.raises(TypeError, match=rf"^{name}\(\) has no progress=, which reductions and functions of forall and jit have"):
            getattr(R, name)(np.ones(3), *more, progress=print)
        getattr(R, name)(np.ones(3), *more, progress=None)


def test_the_order_of_bytes_of_what_is_selected():
    for x in (np.arange(7.0).astype(">f8"), np.empty(0, ">i4")):
        got = R.topk(da.from_array(x, chunks=3), 2)
        assert got.dtype == got.compute(scheduler="synchronous").dtype == R.topk(x, 2).dtype == x.dtype
        np.testing.assert_array_equal(got.compute(scheduler="synchronous"), R.topk(x, 2))


@lw.reduce
def add(a, b):
    return a + b


@pytest.mark.parametrize("call", [
    lambda x: wave(x, 1.0), lambda x: lw.vectorize("f8(f8, f8)")(wave.py_func)(x, 1.0), lambda x: dot(x, np.ones(3)), add, R.sum, R.argmax, lambda x: R.topk(x, 1),
], ids=["vectorize", "declared", "guvectorize", "reduce", "sum", "argmax", "topk"])
def test_collections_that_are_no_arrays_say_what_to_pass(call):
    delayed, bag = pytest.importorskip("dask.delayed").delayed, pytest.importorskip("dask.bag")
    with pytest.raises(TypeError, match=r"argument .* is a dask Delayed, which has no values yet; pass .\.compute\(\), or dask.array.from_delayed\(.,"):
        call(delayed(np.arange)(3.0))
    with pytest.raises(TypeError, match=r"argument .* is a dask Bag, whose items are not an array; pass numpy.array\(.\.compute\(\)\)"):
        call(bag.from_sequence([1, 2, 3]))
