"""Tables, columns and labelled arrays: asked themselves as NumPy's functions ask them, or refused by name; never NaN in silence."""

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions

pd = pytest.importorskip("pandas")
xr = pytest.importorskip("xarray")
da = pytest.importorskip("dask.array")

total = lw.reduce(lambda a, b: a + b)
NA = pd.Series([1, None, 3], dtype="Int64")
METHODS = ["sum", "prod", "min", "max", "mean", "var", "std", "any", "all", "argmax", "argmin"]
COLUMNS = {
    "Int64": NA, "Float64": NA.astype("Float64"), "boolean": pd.Series([True, None, False], dtype="boolean"), "array": NA.array,
    "Int64, full": pd.Series([3, 1, 2], dtype="Int64"), "float64": pd.Series([1.0, np.nan, 3.0]), "index": pd.Index([3, 1, 2]),
    "frame": pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 5.0]}), "frame Int64": pd.DataFrame({"a": NA, "b": NA}),
    "DataArray": xr.DataArray([[1.0, np.nan], [3.0, 5.0]], dims=("t", "x"), coords={"t": [1, 2]}), "Variable": xr.Variable("t", [1.0, 2.0]),
    "dask": da.from_array(np.arange(1.0, 5.0), chunks=2),
}


def same(x, y):
    assert type(x) is type(y), (x, y)
    if isinstance(x, da.Array):
        x, y = x.compute(), y.compute()
    np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("name", METHODS)
def test_reductions_are_numpys(kind, name):
    x = COLUMNS[kind]
    if name == "argmax" or name == "argmin":
        if isinstance(x, pd.DataFrame):
            with pytest.raises(TypeError, match="a pandas DataFrame"):
                getattr(reductions, name)(x)
            return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # np.argmax makes arrays of what has another signature for it, and wraps a number as an array
            expected = getattr(x, name)() if name.startswith("arg") else getattr(np, name)(x)
    except (TypeError, NotImplementedError) as error:
        with pytest.raises(type(error)):
            getattr(reductions, name)(x)
        return
    same(getattr(reductions, name)(x), expected)


def test_arguments_reach_them():
    x = COLUMNS["DataArray"]
    assert reductions.sum(x, axis=0).dims == ("x",)
    assert reductions.cumsum(x, axis=1).dims == ("t", "x")
    assert reductions.var(COLUMNS["float64"], ddof=1) == 2.0
    assert reductions.var(COLUMNS["float64"]) == 1.0
    frame = reductions.max(COLUMNS["frame"], axis=0)
    assert isinstance(frame, pd.Series) and list(frame.index) == ["a", "b"]
    running = reductions.cumsum(NA)
    assert running.dtype == "Int64" and list(running.isna()) == [False, True, False]
    with pytest.raises(TypeError, match="category"):
        reductions.sum(pd.Series([1, 2], dtype="category"))


GRID = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("name", METHODS)
def test_keepdims_reaches_them(name):
    x = da.from_array(GRID, chunks=(2, 1))
    for keepdims in (True, False):
        result = getattr(reductions, name)(x, axis=0, keepdims=keepdims)
        expected = getattr(np, name)(GRID, axis=0, keepdims=keepdims)
        assert isinstance(result, da.Array) and result.shape == expected.shape
        np.testing.assert_array_equal(result.compute(), expected)


@pytest.mark.parametrize("given", [{"where": False}, {"initial": True}, {"initial": False}], ids=str)
def test_what_they_do_not_take_is_theirs_to_refuse(given):
    with pytest.raises((TypeError, ValueError), match="where|initial"):
        reductions.sum(COLUMNS["float64"], **given)
    assert reductions.sum(COLUMNS["float64"], where=True, initial=np._NoValue, keepdims=np._NoValue) == 4


# ---- where an array would be made ----


@lw.forall
def copy(i, x, out):
    out[i] = x[i]


@lw.vectorize(excluded=["table"])
def look(i, table):
    return table[int(i)]


@lw.guvectorize("(n)->(n)")
def running(x, out):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
        out[i] = total


@lw.guvectorize("(n),(n)->(n)")
def running_product(x, y, out):
    total = 1.0
    for i in range(x.shape[0]):
        total *= x[i] * y[i]
        out[i] = total


DOORS = {
    "call": lambda x: total(x), "accumulate": lambda x: total.accumulate(x), "reduceat": lambda x: total.reduceat(x, [0, 1]),
    "size": lambda x: total(x, size=2), "by_key": lambda x: total.by_key([1, 1, 2], x), "keys": lambda x: total.by_key(x, np.ones(3)),
    "minmax": reductions.minmax, "count_nonzero": reductions.count_nonzero, "logsumexp": reductions.logsumexp,
    "top1": lambda x: reductions.top1(np.ones(3), x), "running_maximum": reductions.running_maximum, "topk": lambda x: reductions.topk(x, 2),
    "affine_scan": lambda x: reductions.affine_scan(x, x), "segmented_sum": lambda x: reductions.segmented_sum(x, [True] * 3),
    "guvectorize": lambda x: running(x), "second operand": lambda x: running_product(np.ones(3), x), "forall": lambda x: copy(3, x, np.zeros(3)), "jit": lambda x: lw.jit(lambda x: x[0])(x),
    "excluded": lambda x: look(np.zeros(2, "i8"), x), "mean of draws": lambda x: lw.random.Generator(1).normal(x),
}
LOST = {
    "Int64": (NA, "a pandas Series of dtype Int64 with missing values"), "array": (NA.array, "a pandas IntegerArray of dtype Int64 with missing"),
    "boolean": (COLUMNS["boolean"], "dtype boolean with missing values"), "category": (pd.Series([1, 2, 3], dtype="category"), "elements are not numbers"),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", LOST)
def test_missing_values_are_refused(door, kind):
    x, message = LOST[kind]
    with pytest.raises(TypeError, match=message):
        DOORS[door](x)


@pytest.mark.parametrize("door", [door for door in DOORS if door not in ("keys", "excluded", "mean of draws")])
def test_columns_of_numbers_are_taken(door):
    x = pd.Series([1, 2, 3], dtype="Int64")
    expected = DOORS[door](np.array([1, 2, 3]))
    got = DOORS[door](x)
    for one, other in zip(got if isinstance(got, tuple) else [got], expected if isinstance(expected, tuple) else [expected]):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("x, message", [
    (xr.Variable("t", [1.0]), "xarray Variable"), (COLUMNS["frame"], "columns the result would not have; pass x.to_numpy"),
], ids=["Variable", "frame"])
def test_labels_are_not_lost(x, message):
    for door in ("call", "accumulate", "minmax", "logsumexp", "running_maximum"):
        with pytest.raises(TypeError, match=message):
            DOORS[door](x)


def test_the_ways_that_messages_name():
    x = COLUMNS["DataArray"]
    assert np.isnan(total(x.data))
    assert x.reduce(total, dim="t").dims == ("x",)
    np.testing.assert_array_equal(x.reduce(total, dim="t"), [4.0, np.nan])
    assert total(NA.dropna().to_numpy()) == 4
    assert total(NA.to_numpy(dtype="i8", na_value=0)) == 4


def test_masks():
    with pytest.raises(TypeError, match="where= is a pandas Series of dtype boolean with missing values"):
        total(np.ones(3), where=COLUMNS["boolean"], initial=0)
    assert total(np.ones(3), where=pd.Series([True, False, True]), initial=0) == 2


class Arrow:
    """The attributes of a pyarrow array."""

    def __init__(self, values):
        self.values = values
        self.null_count = values.count(None)

    def __array__(self, dtype=None, copy=None):
        return np.array([np.nan if v is None else v for v in self.values])


@pytest.mark.parametrize("door", ["call", "accumulate", "minmax", "forall", "jit"])
def test_nulls_of_arrow(door):
    DOORS[door](Arrow([1.0, 2.0, 3.0]))
    with pytest.raises(TypeError, match="Arrow with missing values"):
        DOORS[door](Arrow([1.0, None, 3.0]))


def test_ufuncs_ask_them():
    """NEP 13: pandas and xarray answer for themselves, by NumPy's own rules."""
    add = lw.vectorize(lambda a, b: a + b)
    for one in (NA, NA.array, COLUMNS["frame"], COLUMNS["DataArray"], COLUMNS["dask"]):
        got, expected = add(one, 1), np.add(one, 1)
        same(got, expected)
    assert add.reduce(NA) is pd.NA and np.add.reduce(NA) is pd.NA
    assert add.accumulate(NA).dtype == "Int64"
    with pytest.raises(NotImplementedError, match="xarray"):
        add.reduce(COLUMNS["DataArray"])


def test_gufuncs_of_frames():
    """pandas would call a gufunc of one operand with the transposed columns of each dtype."""
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4, 5, 6]})

    @lw.guvectorize("(n)->()", target="cpu")
    def total(row, out):
        out[()] = 0.0
        for x in row:
            out[()] += x

    @lw.guvectorize("(n)->(n)", target="cpu")
    def running(row, out):
        out[0] = row[0]
        for i in range(1, row.shape[0]):
            out[i] = out[i - 1] + row[i]

    assert np.array_equal(total(frame), [5.0, 7.0, 9.0]) and np.array_equal(total(frame, axis=0), [6.0, 15.0])
    got = running(frame)
    assert list(got.columns) == ["a", "b"] and np.array_equal(got, [[1.0, 5.0], [2.0, 7.0], [3.0, 9.0]])
    assert total(frame["b"]) == 15.0 and list(running(frame["b"])) == [4, 9, 15]


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_columns_of_other_libraries(library):
    module = pytest.importorskip(library)
    column = getattr(module, "Series", None) or module.array
    full, nulls, nan = column([1, 2, 3]), column([1, None, 3]), column([1.0, float("nan")])
    assert reductions.sum(full) == 6 == total(full) and reductions.argmax(full) == 2
    assert np.isnan(reductions.sum(nan)) and reductions.nansum(nan) == 1.0
    for call in (total, reductions.argmax, reductions.nansum, reductions.logsumexp):
        with pytest.raises(TypeError, match=f"a {library} .*with missing values.*fill_null"):
            call(nulls)
    if library == "polars":
        assert reductions.sum(nulls) == 4 and reductions.var(nulls) == 1.0  # Polars' own: nulls are skipped
        frame = module.DataFrame({"a": [1.0, 2.0], "b": [3.0, None]})
        with pytest.raises(TypeError, match="DataFrame with missing values"):
            reductions.sum(frame)
        with pytest.raises(TypeError, match="DataFrame, whose columns the result would not have; pass x.to_numpy"):
            total(frame.fill_null(0))
        with pytest.raises(TypeError, match="LazyFrame, which has no values yet; pass x.collect"):
            total(frame.lazy())
