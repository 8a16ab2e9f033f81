"""What programs that come from NumPy and SciPy meet: byte order, hints, edges of functions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lanewise as lw

SWAPPED = [("p", ">f4"), ("v", ">i8", (2,)), ("in", [("q", "<f8"), ("r", ">u2")])]


def records(spec):
    r = np.zeros(4, spec)
    r["p"], r["v"], r["in"]["q"], r["in"]["r"] = [1, 2, 3, 4], [[5, 6]] * 4, 0.5, 7
    return r


def test_records_in_another_byte_order_are_copied_for_the_call():
    """As arrays of numbers are, in forall and jit, whether they are read or written; the field's array keeps its byte order."""
    @lw.forall
    def scale(i, r):
        r[i].p = r[i].p * r[i].v[1] + r[i]["in"].r

    @lw.jit
    def total(r):
        s = 0.0
        for i in range(r.shape[0]):
            s += r[i].p + r[i].v[0] + r[i]["in"].q
        return s

    r = records(SWAPPED)
    native = r.astype(r.dtype.newbyteorder("="))
    assert total(r) == total(native) == 32.0
    scale(4, r)
    scale(4, native)
    assert r.dtype == np.dtype(SWAPPED) and r["p"].tolist() == native["p"].tolist() == [13, 19, 25, 31]
    r.flags.writeable = False
    assert total(r[::-1]) == total(native[::-1])
    with pytest.raises(TypeError, match=r"in native byte order; pass r.astype\(r.dtype.newbyteorder\('='\)\)"):
        total(r[0])
    with pytest.raises(TypeError, match="records in compiled code have fields of numbers"):
        total(np.zeros(2, [("p", "O")]))


@pytest.mark.parametrize("spec", [[("a", "f8")], [("a", "f8"), ("b", "i4")], [("a", "M8[s]")]])
def test_records_are_no_dates(spec):
    """NumPy treats a record of one field as what the field holds, and advice that relies on this does not work."""
    f = lw.vectorize(lambda a, b: a * b + 1)
    g = lw.guvectorize("(n),()->(n)")(_times)
    for function in (f, g):
        with pytest.raises(TypeError, match=r"pass its fields, `\w\['a'\]`"):
            function(np.zeros(2, spec), 1)
        with pytest.raises(TypeError, match=r"pass its fields, `\w\['a'\]`"):
            function(np.zeros(2, spec)[0] if function is f else np.zeros((1, 2), spec), 1)


def _times(x, y, out):
    for i in range(x.shape[0]):
        out[i] = x[i] * y


def test_hints_name_no_keyword_that_is_refused():
    f = lw.vectorize(lambda a, b: a * b + 1)
    for given in ("axis", "axes", "keepdims"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{given}'$"):
            f(1.0, 2.0, **{given: 0})
    with pytest.raises(TypeError, match="unexpected keyword argument 'wher'; did you mean 'where'"):
        f(1.0, 2.0, wher=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'axi'; did you mean 'axis'"):
        lw.guvectorize("(n),()->(n)")(_times)(np.ones(3), 2.0, axi=0)


def test_special_functions_of_infinities():
    special = pytest.importorskip("scipy.special")
    numbers = np.array([-math.inf, -1.0, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 1e300, -1e300])
    for name in ("beta", "betaln"):
        for other in numbers:
            for a, b in ((-math.inf, other), (other, -math.inf)):
                assert getattr(lw.special, name)(a, b) == getattr(special, name)(a, b) == math.inf
    for v in (math.inf, -math.inf):
        assert lw.special.yv(v, 0.0) == special.yv(v, 0.0) == -math.inf


class Metres(np.ndarray):
    """A subclass such as packages for units define."""

    def __array_finalize__(self, of):
        self.unit = getattr(of, "unit", "?")


class OfNumpy1(np.ndarray):
    def __array_wrap__(self, array, context=None):
        return np.ndarray.__array_wrap__(self, array, context)


NAMES = ["sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "argmin", "argmax", "count_nonzero", "cumsum", "cumprod", "nansum", "nanprod",
         "nanmin", "nanmax", "nanmean", "nanvar", "nanstd", "nanargmin", "nanargmax", "nancumsum"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [Metres, OfNumpy1, np.matrix])
@pytest.mark.parametrize("name", NAMES)
def test_subclasses_get_the_results_of_reductions(name, kind):
    x = np.arange(1, 7.0).reshape(2, 3).view(kind)
    if kind is Metres:
        x.unit = "m"
    for axis in (None, 0, 1):
        if name == "count_nonzero" and kind is np.matrix and axis is not None:
            continue  # a TypeError in NumPy
        got, want = (getattr(module, name)(x, axis=axis) for module in (lw.reductions, np))
        assert type(got) is type(want) and np.shape(got) == np.shape(want) and getattr(got, "unit", None) == getattr(want, "unit", None), axis
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-12)


def test_subclasses_get_the_results_of_own_reductions():
    total = lw.reduce(lambda a, b: a + b)
    x = np.arange(1, 7.0).reshape(2, 3)
    own, matrix = x.view(OfNumpy1), x.view(np.matrix)
    for got, want in ((total(own), np.sum(own)), (total(own, axis=0), np.sum(own, axis=0)), (total.accumulate(own), np.add.accumulate(own)),
                      (total.reduceat(own, [0, 1]), np.add.reduceat(own, [0, 1])), (total(matrix, axis=1), np.sum(matrix, axis=1)), (total(matrix), np.sum(matrix))):
        assert type(got) is type(want) and np.shape(got) == np.shape(want)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
    out = np.zeros(3)
    assert total(own, axis=0, out=out) is out
    assert type(total(np.ones((2, 3)), axis=0)) is np.ndarray


def test_scans_keep_the_order_of_memory():
    x = np.random.default_rng(0).random((4, 5, 6))
    total = lw.reduce(lambda a, b: a + b)
    for a in (x, np.asfortranarray(x), x.transpose(1, 2, 0), x[::-1, :, ::2], x[:, :1], x[0], x.T[0], np.asfortranarray(x.reshape(-1, 3))):
        for axis in range(a.ndim):
            want = np.cumsum(a, axis=axis)
            for got in (lw.reductions.cumsum(a, axis=axis), total.accumulate(a, axis=axis), lw.reductions.nancumsum(a, axis=axis)):
                np.testing.assert_allclose(got, want, rtol=1e-12)
                assert got.strides == want.strides


def test_division_of_bools_by_false_warns():
    for name in ("floor_divide", "divmod", "fmod", "remainder"):
        for a, b in ((True, False), (np.array([True, False]), np.array([False, True]))):
            with pytest.warns(RuntimeWarning, match=f"divide by zero encountered in {name}"):
                getattr(lw, name)(a, b)
