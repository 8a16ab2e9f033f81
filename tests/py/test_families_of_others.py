"""Functions with static= and excluded= on pandas and xarray objects, whose libraries know operands alone."""

import numpy as np
import pytest

import lanewise as lw

pd = pytest.importorskip("pandas")
xr = pytest.importorskip("xarray")

X = np.arange(12.0).reshape(3, 4)
TABLE = np.array([10.0, 20.0, 30.0])


class Line:
    def __init__(self, slope):
        self.slope = slope


@lw.vectorize(static="mode")
def last(x, y, mode=1):
    return 2 * x + y + mode


@lw.vectorize(static="mode", excluded="table")
def first(mode, table, y, x):
    return 2 * x + y + mode + table[1]


@lw.vectorize(static="mode", excluded="table")
def by_name(x, y, *, mode=2, table):
    return 2 * x + y + mode + table[1]


@lw.vectorize(static="mode", excluded="table")
def of_object(table, x, line, mode):
    return line.slope * x + mode + table[1]


@lw.guvectorize("(n),()->(n)", static="mode", excluded="table")
def along(x, mode, y, table, out):
    for i in range(x.size):
        out[i] = 2 * x[i] + y + mode + table[1]


VALUES = {"x": X, "y": 3.0, "mode": 5, "table": TABLE, "line": Line(2.0)}
FUNCTIONS = [(last, ("x", "y", "mode"), 3), (first, ("mode", "table", "y", "x"), 4), (by_name, ("x", "y", "mode", "table"), 2), (of_object, ("table", "x", "line", "mode"), 4)]


def calls(f, names, n_positional, values):
    for n in range(n_positional + 1):
        yield f(*(values[name] for name in names[:n]), **{name: values[name] for name in names[n:]})


@pytest.mark.parametrize(("f", "names", "n_positional"), FUNCTIONS, ids=[f.__name__ for f, *_ in FUNCTIONS])
def test_the_library_answers_whatever_the_places(f, names, n_positional):
    frame, labelled = pd.DataFrame(X, columns=list("abcd")), xr.DataArray(X, dims=("t", "s"), coords={"t": [1, 2, 3]})
    for expected, of_frame, of_labelled in zip(calls(f, names, n_positional, VALUES), calls(f, names, n_positional, {**VALUES, "x": frame}), calls(f, names, n_positional, {**VALUES, "x": labelled})):
        assert f is of_object or (isinstance(of_frame, pd.DataFrame) and list(of_frame.columns) == list("abcd"))
        np.testing.assert_array_equal(np.asarray(of_frame), expected)
        assert isinstance(of_labelled, xr.DataArray) and of_labelled.dims == ("t", "s") and of_labelled.t.values.tolist() == [1, 2, 3]
        np.testing.assert_array_equal(of_labelled.values, expected)
    series = f(**{name: pd.Series(X[0], index=list("abcd"), name="n") if name == "x" else VALUES[name] for name in names})
    assert isinstance(series, pd.Series) and list(series.index) == list("abcd")


def test_layouts():
    frame = pd.DataFrame(X)
    for made in calls(along, ("x", "mode", "y", "table"), 4, {**VALUES, "x": frame}):
        np.testing.assert_array_equal(np.asarray(made), along(X, 5, 3.0, TABLE))
    labelled = xr.DataArray(X, dims=("t", "s"))
    for n in range(5):
        with pytest.raises(NotImplementedError, match=r"xarray.apply_ufunc\(along, ..., input_core_dims=\[\['s'\], \[\]\], output_core_dims=\[\['s'\]\]"):
            list(calls(along, ("x", "mode", "y", "table"), n, {**VALUES, "x": labelled}))


def test_labelled_arrays_of_dask_arrays():
    da = pytest.importorskip("dask.array")
    labelled = xr.DataArray(da.from_array(X, chunks=(2, 4)), dims=("t", "s"))
    made = first(5, TABLE, 3.0, labelled)
    assert type(made.data).__module__.startswith("dask")
    np.testing.assert_array_equal(made.values, first(5, TABLE, 3.0, X))


def test_bad_calls():
    frame = pd.DataFrame(X)
    with pytest.raises(TypeError, match=r"last\(\) got multiple values for argument 'x'"):
        last(frame, 1.0, x=2.0)
    with pytest.raises(TypeError, match=r"first\(\) missing a required argument: 'table'"):
        first(1, y=1.0, x=frame)
