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
    """As arrays of numbers are: forall and jit, read and written; the field's array keeps its byte order."""
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
        total(np.zeros(2, [("p", "U3")]))


@pytest.mark.parametrize("spec", [[("a", "f8")], [("a", "f8"), ("b", "i4")], [("a", "M8[s]")]])
def test_records_are_no_dates(spec):
    """NumPy takes a record of one field for what the field holds, and hints that rely on it do not work."""
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
