"""Objects of a user's class, and methods, beside Dask arrays: lazy, or an error that says what to write."""

import numpy as np
import pytest

import lanewise as lw

pytest.importorskip("dask.array")
from dask_checks import Pairs, da  # noqa: E402


class Line:
    def __init__(self, slope):
        self.slope = slope

    def at(self, x):
        return self.slope * x

    @lw.vectorize
    def above(self, x, y):
        return self.slope * x + y


@lw.vectorize
def on(line, x):
    return line.at(x)


@lw.vectorize
def steeper(line, x):
    return Line(line.slope + x)


@lw.guvectorize("(),(n)->(n)")
def along(line, x, out):
    for i in range(x.size):
        out[i] = line.at(x[i])


@lw.guvectorize("(n),(n)->(n)")
def along_all(lines, x, out):
    for i in range(x.size):
        out[i] = lines[i].at(x[i])


@pytest.fixture
def lazy():
    """A Dask array, and a list with an item for each of its blocks that has been computed."""
    seen = []

    def count(block):
        seen.append(len(block))
        return block

    return da.arange(6.0, chunks=4).map_blocks(count, dtype=float, meta=np.empty(0)), seen


def test_calls_with_an_object_are_lazy(lazy):
    (d, seen), x, pairs, line = lazy, np.arange(6.0), Pairs(), Line(2.0)
    for f, args in ((on, (line,)), (line.above, ())):
        more = (1.0,) if f is not on else ()
        pairs.add(f(*args, x, *more), f(*args, d, *more))
    pairs.add(on(line=line, x=x), on(line=line, x=d))
    pairs.add(np.where(x > 2, on(line, x), 0), on(line, d, where=d > 2))
    lines = steeper(line, d)
    assert isinstance(lines, da.Array) and lines.dtype == steeper(line, x).dtype
    assert not seen
    pairs.check()
    np.testing.assert_array_equal(lines.compute(scheduler="synchronous")["slope"], x + 2)
    pairs = Pairs()
    pairs.add(on(steeper(line, x), x), on(lines, d))
    pairs.add(on(steeper(line, x), x), on(steeper(line, x), d))
    pairs.check()


def test_names_of_the_results_follow_from_the_fields(lazy):
    d = da.arange(6.0, chunks=4)
    assert on(Line(2.0), d).name == on(Line(2.0), d).name != on(Line(3.0), d).name


def test_a_gufunc_of_an_object_is_lazy(lazy):
    d, seen = lazy
    result = along(Line(2.0), d.rechunk(-1))
    assert type(result).__module__.startswith("dask") and not seen
    np.testing.assert_array_equal(result.compute(), along(Line(2.0), np.asarray(d)))


def test_what_is_not_lazy_with_an_object_is_an_error(lazy):
    d, seen = lazy
    some = lw.extending.array_of([Line(2.0)] * 6, lw.extending.dtype_of(Line, slope=lw.float64))
    with pytest.raises(TypeError, match=r"`along_all` is called with an object, or gives some, and with a Dask array, .* x.map_blocks\("):
        along_all(some, d.rechunk(-1))
    with pytest.raises(TypeError, match="out= cannot be given with Dask arrays"):
        on(Line(2.0), d, out=np.empty(6))
    r = lw.reduce(lambda a, b: a + b, map=lambda line, x: line.at(x))
    with pytest.raises(TypeError, match="argument 1 is an object of class `Line`, which reductions of Dask arrays do not take"):
        r(Line(2.0), d)
    with pytest.raises(TypeError, match="argument 1 is an array of objects of class `Line`"):
        r.accumulate(steeper(Line(2.0), np.arange(6.0)), d)
    xr = pytest.importorskip("xarray")
    with pytest.raises(TypeError, match="argument 2 is an xarray DataArray of a Dask array"):
        on(Line(2.0), xr.DataArray(d, dims="t"))
    assert not seen


@lw.vectorize(static="mode")
def shifted(line, x, mode=0):
    return line.at(x) + mode


@lw.vectorize(static="mode")
def shifted_too(mode, x, line):
    return line.at(x) + mode


@lw.vectorize(excluded="table", static="mode")
def from_table(x, line, table, *, mode, y=5.0):
    return line.at(x) + table[mode] + 100 * y


@lw.vectorize
def moved(line, x, *, y=5.0):
    return line.at(x) + y


@lw.guvectorize("(),(n)->(n)", static="mode")
def shifted_along(line, x, out, mode=0):
    for i in range(x.size):
        out[i] = line.at(x[i]) + mode


def in_all_ways(f, names, keyword_only, values):
    """Call the function with its first arguments by position and the others by name, for each number of the former."""
    for n in range(len(names) - len(keyword_only) + 1):
        yield f(*(values[name] for name in names[:n]), **{name: values[name] for name in names[n:]})


@pytest.mark.parametrize(
    ("f", "names", "keyword_only"),
    [(shifted, ("line", "x", "mode"), ()), (shifted_too, ("mode", "x", "line"), ()), (from_table, ("x", "line", "table", "mode"), ("mode",)),
     (from_table, ("x", "line", "table", "mode", "y"), ("mode", "y")), (moved, ("line", "x", "y"), ("y",)), (shifted_along, ("line", "x", "mode"), ())],
)
def test_static_values_and_arguments_by_name(f, names, keyword_only):
    """The static value was lost, and an argument that was given by name was taken for an output."""
    x, pairs = np.arange(6.0), Pairs()
    d = da.from_array(x, chunks=6 if f is shifted_along else 4)
    values = {"line": Line(2.0), "x": x, "mode": 2, "table": np.array([10.0, 20.0, 30.0]), "y": x / 2}
    for host, lazy in zip(in_all_ways(f, names, keyword_only, values), in_all_ways(f, names, keyword_only, {**values, "x": d})):
        pairs.add(host, lazy)
    for host, lazy in zip(in_all_ways(f, names, keyword_only, values), in_all_ways(f, names, keyword_only, {**values, "x": d, "table": da.from_array(values["table"], chunks=2)})):
        pairs.add(host, lazy)
    if "y" in names:
        for host, lazy in zip(in_all_ways(f, names, keyword_only, values), in_all_ways(f, names, keyword_only, {**values, "y": da.from_array(x / 2, chunks=3)})):
            pairs.add(host, lazy)
    pairs.check()


def test_where_beside_excluded_and_static_arguments():
    """The size of the table was taken for that of an operand."""
    x, table, line = np.arange(6.0), np.array([10.0, 20.0, 30.0]), Line(2.0)
    d, pairs = da.from_array(x, chunks=4), Pairs()
    pairs.add(np.where(x > 2, from_table(x, line, table, mode=1), 0), from_table(d, line, table, mode=1, where=d > 2))
    pairs.add(np.where(x > 2, shifted(line, x, 3), 0), shifted(line, d, 3, where=d > 2))
    plain = lw.vectorize(lambda x, table: x + table[1], excluded="table")
    masked = np.ma.array(x, mask=x == 4)
    pairs.add(np.where(x > 2, plain(x, table), 0), plain(d, da.from_array(table, chunks=2), where=d > 2))
    pairs.check()
    result = plain(da.from_array(masked, chunks=4), table, where=d > 2).compute()
    np.testing.assert_array_equal(np.ma.getmaskarray(result), masked.mask)
    np.testing.assert_array_equal(result.data[[0, 3, 5]], [0.0, 23.0, 25.0])


def test_an_argument_named_as_ours():
    """The arguments have the names of parameters of the internal functions that receive the call."""
    f = lw.vectorize(lambda x, ufunc, method=1: x + ufunc * method, static=("ufunc", "method"))
    d = da.arange(6.0, chunks=4)
    np.testing.assert_array_equal(f(x=d, ufunc=2, method=3), np.arange(6.0) + 6)


def test_other_processes(lazy):
    d = da.arange(6.0, chunks=4)
    np.testing.assert_array_equal(on(Line(2.0), d).compute(scheduler="processes", num_workers=2), np.arange(6.0) * 2)
    np.testing.assert_array_equal(Line(2.0).above(d, 1.0).compute(scheduler="processes", num_workers=2), np.arange(6.0) * 2 + 1)
