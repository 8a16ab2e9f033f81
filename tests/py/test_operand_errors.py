"""Operands that no compiled code takes: the errors name the argument, and what to write instead."""

import datetime
import decimal
import warnings

import numpy as np
import pytest

import lanewise as lw

X = np.arange(3.0)


def add(x, other):
    return x + other


def add_rows(x, other, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + other


def sparse():
    return pytest.importorskip("scipy.sparse", reason="SciPy is not installed").csr_array(np.eye(3))


BAD = {
    "text": (lambda: "abc", "a str", r"float\(other\)"),
    "none": (lambda: None, "None", "numpy.nan"),
    "texts": (lambda: ["a", "b", "c"], "a list", r"numpy.array\(other, float\)"),
    "array of strings": (lambda: np.array(["1", "2", "3"]), "an array of dtype <U1", r"other.astype\(float\)"),
    "objects": (lambda: np.array([1, 2, 3], object), "an array of dtype object", r"other.astype\(float\)"),
    "sparse": (sparse, "a csr_array", r"other.toarray\(\)"),
    "decimal": (lambda: decimal.Decimal(1), "a Decimal", r"float\(other\)"),
    "set": (lambda: {1, 2, 3}, "a set", r"numpy.fromiter\(other, float\)"),
    "wide floats": (lambda: np.ones(3, np.longdouble), "an array of dtype float", "other.astype"),
}


@pytest.mark.parametrize("make, what, instead", BAD.values(), ids=BAD)
@pytest.mark.parametrize("made", [lw.vectorize(add), lw.vectorize("f8(f8, f8)")(add), lw.guvectorize("(n),()->(n)")(add_rows)], ids=["lazy", "declared", "gufunc"])
def test_ufuncs(make, what, instead, made):
    if np.dtype(np.longdouble) == np.float64 and "wide" in what:
        pytest.skip("long doubles are float64 here")
    with pytest.raises(TypeError, match=f"argument `other` is {what}[^:]*: .*{instead}") as raised:
        made(X, make())
    assert f"`{made.__name__}`" in str(raised.value)
    assert "did not contain a loop" in str(raised.value)  # NumPy's own words and class
    assert type(raised.value).__mro__[1].__module__.startswith("numpy.")


@pytest.mark.parametrize("value", [np.longdouble(2**70), np.longdouble("nan"), np.clongdouble(2**70), np.array([2**70], np.longdouble), [np.longdouble(2**64)]], ids=str)
@pytest.mark.skipif(np.dtype(np.longdouble) == np.float64, reason="long doubles are float64 here")
def test_wide_floats_are_not_read_as_dates(value):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: pytest.fail(str(message))  # as an error it would be caught on the way
        for name in ("add", "subtract", "multiply", "maximum"):
            taken = getattr(lw.ufuncs, name)(value, value)
            wanted = getattr(np, name)(value, value)
            assert np.array_equal(taken, wanted, equal_nan=True) and np.asarray(taken).dtype == wanted.dtype
            out = np.zeros_like(wanted)
            getattr(lw.ufuncs, name)(value, value, out=out[...] if out.ndim else np.ndarray((), out.dtype))
        with pytest.raises(TypeError, match="argument `x` is"):
            lw.vectorize(add)(value, 1.0)


def test_the_first_argument_that_is_wrong_is_named():
    with pytest.raises(TypeError, match="argument `x` is a str"):
        lw.vectorize(add)("a", None)


DATES = np.array(["2024-01-01", "2024-02-01"], "M8[D]")
STAND_FOR_DATES = {
    "texts": (DATES.astype("U10"), "an array of dtype <U10", r"settle.astype\('M8\[D\]'\)"),
    "objects": (DATES.astype(object), "an array of dtype object", r"settle.astype\('M8\[D\]'\)"),
    "list": (["2024-01-01", "2024-02-01"], "a list", r"numpy.array\(settle, 'M8\[D\]'\)"),
    "text": ("2024-01-01", "a str", r"numpy.array\(settle, 'M8\[D\]'\)"),
    "date": (datetime.date(2024, 1, 1), "a date", r"numpy.array\(settle, 'M8\[D\]'\)"),
    "durations": ((DATES - DATES).astype(object), "an array of dtype object", r"settle.astype\('m8\[us\]'\)"),
    "numbers": (np.array(["1", "2"]), "an array of dtype <U1", r"settle.astype\(float\)"),
    "words": (np.array(["a", "b"]), "an array of dtype <U1", r"settle.astype\(float\)"),
    "nothing": (np.array([], object), "an array of dtype object", r"settle.astype\(float\)"),
}


@pytest.mark.parametrize("settle, what, instead", STAND_FOR_DATES.values(), ids=STAND_FOR_DATES)
def test_dates_are_not_what_is_wrong(settle, what, instead):
    accrued = lw.vectorize(lambda prev, settle: (settle - prev) / np.timedelta64(1, "D"))
    assert accrued(DATES, DATES + 10).tolist() == [10, 10]
    with pytest.raises(TypeError, match=f"argument `settle` is {what}; expected [^:]*complex numbers, dates or durations: `{instead}`"):
        accrued(DATES, settle)


def test_functions_of_numbers_do_not_ask_for_dates():
    f = lw.vectorize("f8(f8, f8)")(add)
    with pytest.raises(TypeError, match=r"argument `other` is an array of dtype <U10; expected [^:]*floats or complex numbers: `other.astype\(float\)`"):
        f(X[:2], DATES.astype("U10"))


class Sparse:
    """Like a sparse matrix of SciPy up to 1.15, it is of a class that compiled code could read."""

    def __init__(self, rows):
        self.data, self.nnz = rows[rows != 0], int((rows != 0).sum())


Sparse.__module__ = "scipy.sparse._rows"


class MySparse(Sparse):
    pass


@pytest.mark.parametrize("kind", [Sparse, MySparse])
def test_sparse_matrices_are_no_objects_of_fields(kind):
    matrix = kind(np.eye(3))
    for f in lw.vectorize(add), lw.vectorize("f8(f8, f8)")(add), lw.guvectorize("(n),()->(n)")(add_rows):
        with pytest.raises(TypeError, match=rf"argument `other` is a {kind.__name__}; .*other.toarray\(\)"):
            f(X, matrix)
    for call in lambda: lw.jit(lambda x: x.data[0])(matrix), lambda: lw.forall(lambda i, x: None)(3, matrix):
        with pytest.raises(TypeError, match=rf"argument `x` is a {kind.__name__}.*toarray\(\)"):
            call()


def test_errors_of_casts_stay_numpys():
    with pytest.raises(TypeError, match=r"Cannot cast ufunc '[a-z.]*add' output") as raised:
        lw.vectorize(add)(X, 1.0, out=np.zeros(3, int))
    assert "argument" not in str(raised.value)


def test_kernels_and_whole_arrays():
    matrix = sparse()
    with pytest.raises(TypeError, match=r"argument `x` is a csr_array.*toarray\(\)"):
        lw.jit(lambda x: x)(matrix)
    with pytest.raises(TypeError, match=r"argument `x` is a csr_array.*toarray\(\)"):
        lw.forall(lambda i, x: None)(3, matrix)
    with pytest.raises(TypeError, match=r"`table`.*csr_array; its method toarray\(\)"):
        lw.vectorize(lambda x, table: x + table[0], excluded="table")(X, matrix)
    with pytest.raises(TypeError, match=r"`table`.*not str; name it in static="):
        lw.vectorize(lambda x, table: x + table[0], excluded="table")(X, "abc")
    with pytest.raises(TypeError, match=r"argument 1 has dtype dtype\('O'\).*toarray\(\)"):
        lw.reduce(lambda a, b: a + b)(matrix)
    with pytest.raises(TypeError, match=r"argument 1 has dtype dtype\('O'\).*list\(x\)"):
        lw.reductions.sum(i for i in range(3))
    with pytest.raises(TypeError, match=r"argument 1 has dtype .*astype\(float\)"):
        lw.reduce(lambda a, b: a + b)(np.array(["1", "2"]))


# ---- scalars where arrays are meant ----


@pytest.mark.parametrize("body", [
    lambda x: x.mean(), lambda x: x.shape[0], lambda x: len(x), lambda x: x[0], lambda x: np.mean(x), lambda x: x.sum(), lambda x: x.size, lambda x: x.T,
], ids=["mean", "shape", "len", "index", "np.mean", "sum", "size", "T"])
def test_a_function_of_scalars_that_wants_an_array(body):
    with pytest.raises(lw.errors.TypingError, match=r"(.|\n)*gets one element of each argument.*guvectorize.*excluded="):
        lw.vectorize(body)(X)


def test_methods_of_numpys_scalars():
    assert lw.vectorize(lambda x: x.astype(int))(np.array([1.7, -2.5])).tolist() == [1, -2]
    assert lw.vectorize(lambda x: x.astype(np.float32))(X).dtype == np.float32
    assert lw.vectorize(lambda x: x.astype("float32"))(X).dtype == np.float32
    assert lw.vectorize(lambda x: x.item() + np.float32(1))(X.astype("f4")).dtype == np.float32
    assert lw.vectorize(lambda x: x.item())(np.arange(3, dtype="i1")).dtype == np.int64
    with pytest.raises(lw.errors.TypingError, match="E161(.|\n)*known when the function is compiled|E161: the dtype must be known"):
        lw.vectorize(lambda x, t: x.astype(t))(X, 1)
    with pytest.raises(lw.errors.TypingError, match="E142"):
        lw.vectorize(lambda x: x.astype(float))(X * 1j)


# ---- f-strings of strings ----

NAME = "a\n'name'"


def _told(x, mode="b"):
    if mode == "a":
        return x
    if x > 1:
        raise ValueError(f"mode {mode}: {mode!r}, {NAME!r} {x:.1f} {None} {(1, 'two')}")
    return -x


@pytest.mark.parametrize("target", ["auto", "python"])
def test_fstrings_of_texts(target):
    with lw.config(target=target):
        f = lw.vectorize(_told, static="mode")
        assert f(X, "a").tolist() == [0, 1, 2]
        with pytest.raises(ValueError) as raised:
            f(X, "it's")
    assert str(raised.value).startswith("mode it's: \"it's\", " + repr(NAME) + " 2.0 None (1, 'two')")


def _printed(x):
    name = "total"
    print(f"{name} {name!r} {x}")
    return x


def test_print_of_texts(capsys):
    lw.vectorize(_printed)(np.array([1.5]))
    assert capsys.readouterr().out == "total 'total' 1.5\n"


def test_repr_of_a_number_in_a_message():
    with pytest.raises(ValueError, match=r"^2\.0 \(raised in `_raise_repr`"):
        lw.vectorize(lambda x: _raise_repr(x))(X)


def _raise_repr(x):
    if x > 1:
        raise ValueError(f"{x!r}")
    return x


def quotients(X, w, out):
    for i in range(X.size):
        out[i] = X[i] / w


@pytest.mark.parametrize("types", [["float32", "float64"], ["float64", "float32"]])
def test_the_help_names_the_loop_that_loses_least(types):
    f = lw.guvectorize([f"void({t}[:], int64, {t}[:])" for t in types], "(n),()->(n)")(quotients)
    with pytest.raises(TypeError, match="E181") as caught:
        f(np.ones(5), 7.0)
    assert 'help: pass an int as argument 2, ' in str(caught.value) and 'signature="dl->d"' in str(caught.value)
    assert f(np.ones(5), 7.0, signature="dl->d", casting="unsafe")[0] == 1 / 7


@pytest.mark.parametrize("value", [2**64, -2**63 - 1])
def test_ints_that_no_integer_type_holds(value):
    f = lw.vectorize(lambda x, y: x + y)
    with pytest.raises(OverflowError, match=f"argument `y`: a Python int is int64 or uint64 here, and {value} does not fit; pass a float"):
        f(1, value)
    assert f(1.5, value) == 1.5 + value
