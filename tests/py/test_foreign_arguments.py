"""Keywords and missing values with arrays of other libraries: honoured, or refused by name, never passed over in silence.

A call of a foreign array is held against the same call of a NumPy array of its elements, for each keyword that the function has.
"""

import inspect

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, reductions as R
from lanewise.random import Generator

X = np.array([3.0, 1.0, 2.0, 5.0])
W = np.array([True, False, True, False])
told: list = []


def optional(name):
    try:
        return __import__(name)
    except ImportError:
        return None


pd, pl, pa, xr = map(optional, ("pandas", "polars", "pyarrow", "xarray"))
da = optional("dask.array") and optional("dask").array
FOREIGN = {
    "dask": da and (lambda: da.from_array(X, chunks=3)),
    "xarray of dask": da and xr and (lambda: xr.DataArray(da.from_array(X, chunks=3), dims="t")),
    "xarray": xr and (lambda: xr.DataArray(X, dims="t")),
    "pandas Series": pd and (lambda: pd.Series(X)),
    "pandas Float64": pd and (lambda: pd.Series(X, dtype="Float64")),
    "pandas array": pd and (lambda: pd.array(X, dtype="Float64")),
    "pandas of Arrow": pd and pa and (lambda: pd.Series(X, dtype="float64[pyarrow]")),
    "pandas DataFrame": pd and (lambda: pd.DataFrame({"a": X})),
    "pandas Index": pd and (lambda: pd.Index(X)),
    "polars Series": pl and (lambda: pl.Series(X)),
    "polars DataFrame": pl and (lambda: pl.DataFrame({"a": X})),
    "pyarrow Array": pa and (lambda: pa.array(X)),
    "pyarrow ChunkedArray": pa and (lambda: pa.chunked_array([X[:3], X[3:]])),
    "numpy.ma": lambda: np.ma.array(X, mask=[0, 1, 0, 0]),
}
KINDS = [pytest.param(make, id=kind, marks=() if make else pytest.mark.skip(reason="its library is not installed")) for kind, make in FOREIGN.items()]
KEYWORDS = {"dtype": np.float32, "keepdims": True, "initial": 10.0, "where": W, "ddof": 1, "correction": 1, "mean": 2.0, "stream": 5, "progress": lambda *done: told.append(done)}
ARGUMENTS = {"top1": (X,), "affine_scan": (X,), "segmented_sum": (W,), "topk": (2,), "argtopk": (2,), **dict.fromkeys(("quantile", "nanquantile", "percentile", "nanpercentile"), (0.5,))}


@pytest.fixture(autouse=True)
def on_the_host():
    """With a stand-in for a GPU, streams are accepted and have no effect."""
    with lw.config(target="auto"):
        yield


def found(result):
    if isinstance(result, tuple):
        return tuple(map(found, result))
    return np.asarray(result.compute(scheduler="synchronous") if hasattr(result, "compute") else result)


def outcome(call):
    """(the result, how often progress= was called), or the exception."""
    told.clear()
    try:
        return found(call()), bool(told)
    except Exception as error:
        return error


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_keywords_of_reductions(make):
    for name in R.__all__:
        f = getattr(R, name)
        for key in KEYWORDS.keys() & inspect.signature(f).parameters.keys():
            given = {key: KEYWORDS[key], **({"initial": 10.0} if key == "where" and name[-3:] in ("min", "max") or name == "minmax" else {})}
            mine, host = (outcome(lambda: f(x, *ARGUMENTS.get(name, ()), **given)) for x in (make(), X))
            if isinstance(mine, Exception):
                assert isinstance(mine, (TypeError, ValueError)) and str(mine), (name, key, mine)
                continue
            assert not isinstance(host, Exception), f"{name}({key}=) gave {mine}, where the host raised {host}"
            assert mine[1] == host[1], f"{name}: {key}= was passed over"
            for one, other in zip(np.atleast_1d(mine[0]), np.atleast_1d(host[0])):
                np.testing.assert_allclose(np.ravel(one), np.ravel(other), rtol=1e-6, err_msg=f"{name} {key}")


@pytest.mark.skipif(not (pd and xr), reason="pandas and xarray")
def test_stream_and_progress_are_refused_by_name():
    for x, plain in ((pd.Series(X), r"to_numpy\(\)"), (pd.Series(X, dtype="Float64"), r"to_numpy\(\)"), (pd.DataFrame({"a": X}), r"to_numpy\(\)"), (xr.DataArray(X), "data")):
        for name in ("sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "cumsum", "cumprod"):
            f = getattr(R, name)
            with pytest.raises(TypeError, match=f"^stream= is for device arrays; `{name}` was called with host operands only"):
                f(x, stream=5)
            if "progress" in inspect.signature(f).parameters:
                with pytest.raises(TypeError, match=rf"^{name}: progress= is not for an? (pandas|xarray) {type(x).__name__}, whose own method computes this; pass x\.{plain}"):
                    f(x, progress=True)
                f(x, progress=False, stream=0)
            f(x, stream=None)


CALLS = {
    "random": (), "normal": (0.0, 1.0), "gamma": (2.0,), "integers": (9,), "poisson": (3.0,), "beta": (2.0, 3.0), "multinomial": (9, [0.5, 0.5]), "dirichlet": ([1.0, 2.0],),
    "hypergeometric": (5, 6, 4), "choice": (9,), "permutation": (9,), "permuted": (X,), "bytes": (8,),
}


@pytest.mark.parametrize("name", CALLS)
def test_stream_of_a_generator_of_host_arrays(name):
    draw = getattr(Generator(1), name)
    with pytest.raises(TypeError, match=rf"^stream= is for device arrays; `Generator.{name}` was called for arrays of the host"):
        draw(*CALLS[name], stream=5)
    if da and "chunks" in inspect.signature(draw).parameters:
        with pytest.raises(TypeError, match=rf"^Generator.{name}: stream= is for device arrays, not for Dask arrays"):
            draw(*CALLS[name], size=4, chunks=2, stream=5)
        draw(*CALLS[name], size=4, chunks=2, stream=0)
    draw(*CALLS[name], stream=0)


# ---- missing values ----

N = [3.0, None, 2.0, 5.0]
MISSING = {
    "pandas Float64": pd and (lambda: pd.Series(N, dtype="Float64")), "pandas of Arrow": pd and pa and (lambda: pd.Series(N, dtype="int64[pyarrow]")),
    "xarray of pandas": xr and pd and (lambda: xr.DataArray(pd.array(N, dtype="Float64"))), "pandas.NA": pd and (lambda: pd.NA),
    "polars Series": pl and (lambda: pl.Series(N)), "polars DataFrame": pl and (lambda: pl.DataFrame({"a": N})), "pyarrow Array": pa and (lambda: pa.array(N)),
    "pyarrow int64": pa and (lambda: pa.array([3, None, 2, 5])), "pyarrow ChunkedArray": pa and (lambda: pa.chunked_array([N[:2], N[2:]])),
    "pyarrow scalar": pa and (lambda: pa.scalar(None, pa.float64())), "numpy.ma": lambda: np.ma.array(X, mask=[0, 1, 0, 0]),
}
WITH_MISSING = [pytest.param(make, id=kind, marks=() if make else pytest.mark.skip(reason="its library is not installed")) for kind, make in MISSING.items()]

total = lw.reduce(lambda a, b: a + b)
product = lw.reduce(lambda a, b: a + b, map=lambda x, y: x * y)
add = lw.vectorize(lambda a, b: a + b, identity=0)
look = lw.vectorize(lambda x, table: table[int(x) % 4], excluded=["table"])


@lw.guvectorize("(n),(n)->()")
def dot(a, b, out):
    out[0] = 0
    for k in range(a.shape[0]):
        out[0] += a[k] * b[k]


@lw.forall
def copy(i, x, out):
    out[i] = x[i]


NAMED = "missing values|masked array|is not a number|no values yet"


@pytest.mark.parametrize("make", WITH_MISSING)
def test_missing_values_are_refused_where_compiled_code_would_not_see_them(make):
    x = make()
    for call in (total, total.accumulate, total.partial, lambda x: total.reduceat(x, [0, 2]), lambda x: total.by_key(X, x), lambda x: product(X, x), R.logsumexp, R.minmax, R.nansum,
                 R.count_nonzero, R.running_maximum, lambda x: R.topk(x, 2), lambda x: R.top1(X, x), lambda x: R.segmented_sum(X, x), lambda x: R.var(X, mean=x), lambda x: R.sum(X, where=x), lambda x: total(X, where=x)):
        with pytest.raises(TypeError, match=NAMED):
            call(x)
    for draw in (Generator(1).normal, Generator(1).poisson, lambda x: Generator(1).choice(x, 2), Generator(1).permutation):
        with pytest.raises(TypeError, match=NAMED):
            draw(x)


@pytest.mark.parametrize("make", WITH_MISSING)
@pytest.mark.filterwarnings("ignore")
def test_ufuncs_honour_or_refuse_missing_values(make):
    x = make()
    owns = getattr(type(x), "__array_ufunc__", None) is not None
    for call in (lambda: add(x, 2.0), lambda: add(X, x), lambda: lw.add(x, 1.0), lambda: add(X, X, where=x, out=np.zeros(4)), lambda: dot(X, x), lambda: add.reduce(x),
                 lambda: add.accumulate(x), lambda: add.reduceat(x, [0, 2]), lambda: add.outer(x, X), lambda: look(X, x), lambda: add.at(X.copy(), [0, 1, 2, 3], x)):
        try:
            result = call()
        except Exception as error:
            assert str(error) or owns, repr(error)
            continue
        if owns or isinstance(result, (np.ma.MaskedArray,)) and np.ma.is_masked(result):
            continue
        assert isinstance(result, type(x)) or getattr(result, "dtype", None) == object, f"{result!r} of {x!r}"  # elements are the library's own


@pytest.mark.skipif(not pa, reason="pyarrow")
def test_arrows_nulls_are_refused_by_name():
    with pytest.raises(TypeError, match=r"^argument 2 is a pyarrow DoubleArray with missing values, which compiled code would ignore; pass x.fill_null\(...\).to_numpy\(\)"):
        add(X, pa.array(N))
    with pytest.raises(TypeError, match=r"^where= is a pyarrow BooleanArray with missing values"):
        add(X, X, where=pa.array([True, None, True, False]))
    np.testing.assert_array_equal(add(X, pa.array(X)), X + X)
    np.testing.assert_array_equal(dot(pa.chunked_array([X[:1], X[1:]]), X), X @ X)


@pytest.mark.parametrize("name", ["reduce", "accumulate", "reduceat", "at"])
def test_methods_of_ufuncs_do_not_pass_over_masks(name):
    """NumPy's methods ignore them, and return results without a mask."""
    m = np.ma.array(X, mask=[0, 1, 0, 0])
    given = {"reduceat": ([0, 2],), "at": ([0], 1.0)}.get(name, ())
    for f in (add, lw.add):
        with pytest.raises(TypeError, match=rf"\.{name}: argument 1 is a masked array, whose mask compiled code would ignore; pass its .data"):
            getattr(f, name)(m, *given)
    assert np.ma.is_masked(add.outer(m, X)) and np.ma.is_masked(add(m, 1))


def test_device_arrays_are_not_made_of_masks_and_missing_values(target):
    for make in MISSING.values():
        if make is None or make().__class__.__name__ in ("NAType", "DoubleScalar"):
            continue
        with pytest.raises(TypeError, match="^obj is .*(missing values|masked array)"):
            cuda.to_device(make())
        with pytest.raises(TypeError, match="missing values|masked array"):
            cuda.to_device(X).copy_to_device(make())


# ---- Dask's own ----


@pytest.mark.skipif(not (da and xr), reason="Dask and xarray")
def test_kernels_do_not_compute_lazy_arguments_as_a_whole():
    lazy = da.from_array(X, chunks=3)
    shifted = lw.forall(lambda i, x, s, out: None)
    for args in ((lazy, xr.Variable("t", lazy)), (xr.Variable("t", lazy), X)):
        with pytest.raises(TypeError, match=r"map_blocks\(\): argument . of .* is an xarray Variable of a lazy array.*pass x.data"):
            lw.map_blocks(shifted, *args)


@pytest.mark.skipif(not da, reason="Dask")
def test_methods_of_ufuncs_have_numpys_keywords():
    lazy = da.from_array(X, chunks=3)
    for call in (lambda: add.reduce(lazy, init=3), lambda: add.accumulate(lazy, exclusive=True), lambda: add.accumulate(lazy, initial=3), lambda: add.reduce(lazy, nonsense=1)):
        with pytest.raises(TypeError, match=r"<lambda>\.(reduce|accumulate)\(\) got \w+=, which is not for Dask arrays"):
            call()
    assert float(add.reduce(lazy, split_every=2, initial=1.0)) == 12.0


@pytest.mark.skipif(not da, reason="Dask")
def test_outer_with_a_mask():
    x, y = np.arange(6.0).reshape(2, 3), np.arange(4.0)
    mask = np.random.default_rng(1).random((2, 3, 4)) < 0.5
    d, e = da.from_array(x, chunks=(1, 2)), da.from_array(y, chunks=3)
    for where in (mask, mask[0], da.from_array(mask, chunks=2), True):
        expected = np.where(where if where is True else np.asarray(where), np.add.outer(x, y), 0)
        lazy = add.outer(d, e, where=where)
        np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), expected)
    with pytest.raises(ValueError, match="could not be broadcast|cannot be broadcast"):
        add.outer(d, e, where=mask[None, None])
    with pytest.raises(TypeError, match="Cannot cast array data"):
        add.outer(d, e, where=mask * 1.0)
