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
    """A Dask array, and how many of its blocks were computed."""
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


def test_other_processes(lazy):
    d = da.arange(6.0, chunks=4)
    np.testing.assert_array_equal(on(Line(2.0), d).compute(scheduler="processes", num_workers=2), np.arange(6.0) * 2)
    np.testing.assert_array_equal(Line(2.0).above(d, 1.0).compute(scheduler="processes", num_workers=2), np.arange(6.0) * 2 + 1)
