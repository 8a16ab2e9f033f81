"""Arrays of records where they are not taken: errors that say what to write."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw

DT = np.dtype([("x", "f8"), ("n", "i4")])
R = np.zeros(4, DT)
R["x"] = [3, 1, 2, 0]


@pytest.mark.parametrize("f", [lambda r: np.sort(r), lambda r: r.sum(), lambda r: r.astype(np.float64)])
def test_functions_of_numbers(f):
    with pytest.raises(lw.errors.TypingError, match=r'E120(.|\n)*the fields are such arrays: `a\["x"\]`'):
        lw.njit(f)(R)


OTHER = np.dtype([("x", "f8"), ("n", "f8")])


def _other_dtype(r):
    out = np.empty(4, OTHER)
    out[:] = r
    return out


def _truncates(r):
    r[0] = (1, 2.5)
    return r


@pytest.mark.parametrize(("f", "code", "says"), [
    (_other_dtype, "E120", 'assign field by field, `out["x"] = r["x"]`'),
    (_truncates, "E142", "use `int(...)` or `round(...)`"),
    (lambda r: np.concatenate((r, r["x"])), "E120", "arrays of the same dtype"),
    (lambda r: np.full(3, (1, 2), r.dtype), "E120", "arrays of the same dtype"),
    (lambda r: np.array([(1, 2, 3)], r.dtype), "E120", "3 items cannot be assigned to a record with 2 fields"),
    (lambda r: r.dtype.fields, "E161", "no attribute `fields`"),
])
def test_what_records_do_not_do(f, code, says):
    with pytest.raises(lw.errors.TypingError, match=code) as caught:
        lw.njit(f)(R)
    assert says in str(caught.value)


def test_empty_makes_one_that_a_loop_fills():
    @lw.njit
    def total(n):
        a = np.empty(n, DT)
        s = 0.0
        for i in range(n):
            a[i].x = 2.0 * i
            a[i].n = i
        for i in range(n):
            s += a[i].x + a[i].n
        return s

    assert total(4) == 18.0


@pytest.mark.parametrize("made", [lw.vectorize(lambda a: a.x * 2), lw.vectorize(["f8(f8)"])(lambda a: a * 2),
                                  lw.guvectorize("(n)->()")(lambda a, out: None)])
def test_ufuncs_name_the_fields(made):
    with pytest.raises(TypeError, match=r"argument `a` is an array of records(.|\n)*`a\['x'\]`; functions of `forall`"):
        made(R)


def test_device_records_are_sorted_by_a_field():
    with lw.config(target="cpu"):
        d = lw.cuda.to_device(R)
        for sort in (np.sort, np.argsort):
            with pytest.raises(lw.errors.UnsupportedError, match=r"a\[numpy.argsort\(a\['x'\]\)\]"):
                sort(d, order="x")
        assert np.asarray(d[np.argsort(d["x"])])["x"].tolist() == [0, 1, 2, 3]
