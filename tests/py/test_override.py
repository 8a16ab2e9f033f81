"""NEP 13: what our ufuncs leave to others, and what they are handed."""

import numpy as np
import pytest

import lanewise as lw


def _add(x, y):
    return x + y


@pytest.fixture(scope="module")
def add():
    return lw.vectorize(identity=0)(_add)


@pytest.fixture(scope="module")
def subtract():
    return lw.vectorize(lambda x, y: x - y)


class Asks:
    answer = None

    def __init__(self, name="asks"):
        self.name = name
        self.seen = []

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        self.seen.append((ufunc, method, inputs, kwargs))
        return NotImplemented if self.answer is None else self.answer


class Answers(Asks):
    answer = "answered"


class SubAnswers(Answers):
    answer = "subclass"


class Stranger:
    seen = 0

    def __array_ufunc__(self, *args, **kwargs):
        Stranger.seen += 1
        return NotImplemented


class Refuses:
    __array_ufunc__ = None


def test_override_gets_our_object(add, subtract):
    a, x = Answers(), np.ones(3)
    assert subtract(a, x) == "answered"
    ufunc, method, inputs, kwargs = a.seen[-1]
    assert ufunc is subtract and method == "__call__" and inputs == (a, x) and kwargs == {}
    assert subtract(x, x, a) == "answered"
    assert a.seen[-1][3] == {"out": (a,)}
    assert subtract(x, x, out=a) == "answered" and a.seen[-1][3] == {"out": (a,)}
    assert subtract(x, x, where=a) == "answered"
    assert subtract(a, x, sig="dd->d") == "answered"
    assert a.seen[-1][3] == {"signature": "dd->d"}
    assert subtract(a, x, out=None) == "answered" and a.seen[-1][3] == {}
    assert subtract(a, x, None) == "answered" and a.seen[-1][3] == {}


def test_override_order(subtract):
    a, s, q = Answers(), SubAnswers(), Stranger()
    assert subtract(a, s) == "subclass" and not a.seen
    assert subtract(q, a) == "answered" and Stranger.seen == 1
    with pytest.raises(TypeError, match="NotImplemented"):
        subtract(q, 1.0)
    with pytest.raises(TypeError, match="does not support ufuncs"):
        subtract(Refuses(), 1.0)
    with pytest.raises(TypeError, match="does not support ufuncs"):
        subtract(1.0, np.ones(3), out=Refuses())


def test_override_of_methods(subtract):
    a, x = Answers(), np.ones(3)
    assert subtract.reduce(a) == "answered"
    assert a.seen[-1][1:] == ("reduce", (a,), {})
    assert subtract.reduce(a, 1, None, None, True) == "answered"
    assert a.seen[-1][3] == {"axis": 1, "dtype": None, "keepdims": True}
    assert subtract.accumulate(x, 0, None, a) == "answered"
    assert a.seen[-1][3] == {"axis": 0, "dtype": None, "out": (a,)}
    assert subtract.reduceat(x, a) == "answered" and a.seen[-1][2] == (x, a)
    assert subtract.outer(x, a) == "answered" and a.seen[-1][1] == "outer"
    assert subtract.at(a, [0], 1.0) == "answered" and a.seen[-1][2] == (a, [0], 1.0)


def test_ndarray_subclass_comes_back(add):
    class Sub(np.ndarray):
        pass

    x = np.arange(3.0).view(Sub)
    assert type(add(x, 1.0)) is Sub
    assert type(add(x, 1.0, subok=False)) is np.ndarray
    m = add(np.ma.array([1.0, 2.0], mask=[0, 1]), 1.0)
    assert isinstance(m, np.ma.MaskedArray)


class Duck:
    """A wrapper as most libraries have it: it unwraps its operands, calls the ufunc with ndarrays, and wraps the results."""

    def __init__(self, value):
        self.value = value

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [i.value if isinstance(i, Duck) else i for i in inputs]
        return Duck(getattr(ufunc, method)(*plain, **kwargs))


def test_duck_array(subtract):
    d = subtract(Duck(np.arange(3.0)), 1)
    assert isinstance(d, Duck) and d.value.tolist() == [-1, 0, 1]
    assert subtract.reduce(Duck(np.arange(3.0))).value == -3


def test_pandas(subtract):
    pd = pytest.importorskip("pandas")
    s = pd.Series([1.0, 2.0], index=["a", "b"], name="s")
    r = subtract(s, 1.0)
    assert isinstance(r, pd.Series) and r.name == "s" and r.tolist() == [0, 1]
    df = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})
    assert isinstance(subtract(df, 1.0), pd.DataFrame)
    t = pd.Series([10.0, 20.0], index=["b", "a"])
    assert subtract(s, t).to_dict() == {"a": -19.0, "b": -8.0}

    def add(x, y):
        return x + y + 100  # pandas knows the name `add`, and must not take it for its own

    assert lw.vectorize(add)(s, 1.0).tolist() == [102, 103]


def test_xarray(subtract):
    xr = pytest.importorskip("xarray")
    a = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("x", "y"))
    r = subtract(a, a.isel(x=0))
    assert isinstance(r, xr.DataArray) and r.dims == ("x", "y")
    assert (r.values == a.values - a.values[0]).all()


def test_dask(subtract):
    da = pytest.importorskip("dask.array")
    a = da.from_array(np.arange(10.0), chunks=3)
    r = subtract(a, 1.0)
    assert isinstance(r, da.Array)
    assert (r.compute() == np.arange(10.0) - 1).all()
