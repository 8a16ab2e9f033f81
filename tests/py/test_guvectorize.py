"""guvectorize on the host: forms of functions, NumPy's rules for calls, errors, layouts at random."""

from __future__ import annotations

import linecache
import pickle
import re
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import lanewise as lw

from test_guvectorize_programs import cholesky, cross, dot_of, moving_average, quantile, solve3, sort_row

rng = np.random.default_rng(5)


# ---- forms ----


def test_numbers_that_are_indexed():
    @lw.guvectorize(["void(int64[:], int64[:], int64[:])"], "(n),()->(n)")
    def old(x, y, out):
        for i in range(x.shape[0]):
            out[i] = x[i] + y[0]

    @lw.guvectorize("(n),()->(n)")
    def lazy(x, y, out):
        for i in range(x.shape[0]):
            out[i] = x[i] + y[0]

    for f in old, lazy:
        assert f(np.arange(3), 10).tolist() == [10, 11, 12]
        assert f(np.arange(6).reshape(2, 3), [10, 20]).tolist() == [[10, 11, 12], [23, 24, 25]]
    assert old.signatures == ["void(int64[:], int64[:], int64[:])"]


def test_several_outputs_are_returned():
    @lw.guvectorize("(n)->(),()")
    def extremes(x):
        low = high = x[0]
        for i in range(x.shape[0]):
            low, high = min(low, x[i]), max(high, x[i])
        return low, high

    x = rng.random((4, 7))
    low, high = extremes(x)
    assert np.array_equal(low, x.min(1)) and np.array_equal(high, x.max(1))


def test_dtypes_of_outputs_are_those_of_what_is_stored():
    @lw.guvectorize("(n)->(),(),()")
    def three(x, index, mean, least):
        best = 0
        total = 0.0
        for i in range(x.shape[0]):
            total += x[i]
            if x[i] < x[best]:
                best = i
        index[0] = best
        mean[0] = total / x.shape[0]
        least[0] = x[best]

    three(np.arange(3, dtype="i2"))
    three(np.arange(3, dtype="f4"))
    assert sorted(three.types) == ["f->lff", "h->ldh"]


def test_a_default_is_a_constant():
    @lw.guvectorize("(n)->(n)")
    def scale(x, out, factor=3):
        for i in range(x.shape[0]):
            out[i] = x[i] * factor

    assert scale(np.arange(3)).tolist() == [0, 3, 6]


def test_no_inputs():
    @lw.guvectorize(["void(float64[:])"], "->(n)")
    def count(out):
        for i in range(out.shape[0]):
            out[i] = i

    out = np.empty((2, 3))
    assert count(out=out) is out and out.tolist() == [[0, 1, 2]] * 2


def test_scalars_only():
    @lw.guvectorize("(),()->()")
    def add(x, y):
        return x + y

    assert add(np.arange(3), 1).tolist() == [1, 2, 3]


def test_writable_args():
    @lw.guvectorize("(n)->()", writable_args=("x",))
    def take(x, total):
        total[0] = 0
        for i in range(x.shape[0]):
            total[0] += x[i]
            x[i] = -1

    x = np.arange(6.0).reshape(2, 3)
    assert take(x).tolist() == [3, 12] and (x == -1).all()


def test_broadcastable_dimensions():
    @lw.guvectorize("(n|1),(n|1)->()")
    def dot(a, b):
        return dot_of(a, b)

    a = rng.random((4, 5))
    assert np.allclose(dot(a, a), (a * a).sum(1))
    assert np.allclose(dot(a, [[2.0]]), 2 * a.sum(1)) and np.allclose(dot([2.0], a), 2 * a.sum(1))
    assert np.allclose(dot(a, np.full((1, 5), 3.0), axis=0), [3 * a[:, k].sum() for k in range(5)])
    assert dot([2.0], [3.0]) == 6
    with pytest.raises(ValueError, match=r"with gufunc signature \(n\|1\),\(n\|1\)->\(\) \(size 3 is different from 5\)"):
        dot(a, np.ones(3))
    with pytest.raises(ValueError, match=r"gufunc core with signature \(n\|1\),\(n\|1\)->\(\) requires 1"):
        dot(a, 2.0)
    assert dot.signature == "(n|1),(n|1)->()"

    class Wrong:
        def __array__(self, *args, **keywords):
            raise ValueError("no array")

    with pytest.raises(ValueError, match="no array") as caught:
        dot(a, Wrong())
    assert caught.traceback[-1].name == "__array__"  # errors that do not show the layout are as they were

    @lw.guvectorize("(n|1)->(n)")
    def spread(a, out):
        for i in range(out.shape[0]):
            out[i] = a[i]

    assert spread([2.0], out=np.empty(3)).tolist() == [2, 2, 2] and spread([2.0]).tolist() == [2]


def test_optional_dimensions():
    @lw.guvectorize("(m?,n),(n,p?)->(m?,p?)")
    def multiply(a, b, out):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                total = a[i, 0] * 0
                for k in range(a.shape[1]):
                    total += a[i, k] * b[k, j]
                out[i, j] = total

    a, b = rng.random((2, 3, 4)), rng.random((2, 4, 5))
    assert np.allclose(multiply(a, b), a @ b)
    assert np.allclose(multiply(a[0], b[0, :, 0]), a[0] @ b[0, :, 0])
    assert np.allclose(multiply(a[0, 0], b[0]), a[0, 0] @ b[0])
    assert np.allclose(multiply(a[0, 0], b[0, :, 0]), a[0, 0] @ b[0, :, 0])


# ---- NumPy's rules for calls ----


@lw.guvectorize("(n)->()")
def total_of(x):
    total = x[0] * 0
    for i in range(x.shape[0]):
        total += x[i]
    return total


def test_keywords_of_calls():
    x = rng.random((3, 4, 5))
    assert np.allclose(total_of(x, axis=1), x.sum(1))
    assert total_of(x, axis=0, keepdims=True).shape == (1, 4, 5)
    assert np.allclose(total_of(x, axes=[(0,), ()]), x.sum(0))
    assert total_of(x, dtype="f4").dtype == np.float32
    assert total_of(x.astype("f4"), signature="d->d").dtype == np.float64
    declared = lw.guvectorize(["i8(i8[:])", "f8(f8[:])"], "(n)->()")(total_of.py_func)
    assert declared([1.5, 2.5], dtype="i8", casting="unsafe") == 3 and declared(np.ones(3, "g"), dtype="f8") == 3
    with pytest.raises(TypeError, match="Cannot cast .* input"):
        declared([1.5, 2.5], dtype="i8")
    out = np.empty((3, 4), "f4")
    assert total_of(x, out=out, casting="same_kind") is out and np.allclose(out, x.sum(2), rtol=1e-5)
    assert total_of(x, out) is out
    assert total_of(x, stream=0).shape == (3, 4)
    with pytest.raises(TypeError, match="where"):
        total_of(x, where=True)
    with pytest.raises(TypeError):
        total_of(x, nonsense=1)
    with pytest.raises(TypeError, match="stream="):
        total_of(x, stream=3)
    with pytest.raises(TypeError):
        total_of(x, out=np.empty((3, 4), int))
    with pytest.raises(ValueError):
        total_of(x, axes=[(0,), (), ()])
    with pytest.raises(RuntimeError):
        total_of.reduce(x)
    with pytest.raises(ValueError, match="enough dimensions"):
        total_of(1.0)


def test_sizes_of_zero():
    assert total_of(np.ones((0, 3))).shape == (0,)
    assert np.array_equal(cross(np.ones((0, 3)), np.ones(3)), np.ones((0, 3)))

    @lw.guvectorize("(n)->()")
    def count(x):
        return x.shape[0] + 0 * len(x)

    assert count(np.ones((4, 0))).tolist() == [0] * 4


def test_overlap_is_as_if_inputs_were_copied():
    x = np.arange(10.0)
    moving_average(x[:9], 2, x[1:])
    assert np.allclose(x[1:], moving_average(np.arange(9.0), 2))


def test_many_items_and_odd_strides():
    a, x = rng.random((150_000, 3, 3)), rng.random((150_000, 3))

    @lw.guvectorize("(m,n),(n)->(m)")
    def matvec(m, v, out):
        for i in range(m.shape[0]):
            total = v[0] * 0
            for j in range(m.shape[1]):
                total += m[i, j] * v[j]
            out[i] = total

    want = np.einsum("kij,kj->ki", a, x)
    for _ in range(6):  # from some number of items on, with code for these sizes
        assert np.allclose(matvec(a, x), want)
    assert np.allclose(matvec(a.swapaxes(1, 2), x), np.einsum("kji,kj->ki", a, x))
    assert np.allclose(matvec(a[::-1], x[::-1, ::-1]), np.einsum("kij,kj->ki", a[::-1], x[::-1, ::-1]))
    assert np.allclose(matvec(a[0], x), np.einsum("ij,kj->ki", a[0], x))
    assert np.allclose(matvec(a, x[0]), np.einsum("kij,j->ki", a, x[0]))
    big = rng.random((3, 400, 300))
    assert np.allclose(matvec(big, x[0, :1].repeat(300)), big.sum(2) * x[0, 0])


def test_raising_names_the_item():
    @lw.guvectorize("(n)->()")
    def positive(x):
        for i in range(x.shape[0]):
            if x[i] < 0:
                raise ValueError("negative")
        return x[0]

    x = np.ones((1000, 3))
    x[700, 1] = x[900, 0] = -1
    with pytest.raises(ValueError, match="negative .*element 700") as caught:
        positive(x)
    assert caught.value.index == 700
    assert (positive(x[:700]) == 1).all()


@pytest.mark.filterwarnings("error")
def test_warnings_are_those_of_the_values():
    @lw.guvectorize("(n)->(n)")
    def inverse_or_zero(x, out):
        for i in range(x.shape[0]):
            out[i] = 1 / x[i] if x[i] > 0 else x[i] * 0

    for shape in (100, 64), (200_000, 3):
        x = rng.random(shape)
        x[::3] = 0
        assert np.isfinite(inverse_or_zero(x)).all()
        x[1, 0] = 1e-320
        with pytest.raises(RuntimeWarning, match="divide by zero|overflow"):
            inverse_or_zero(x)
    with np.errstate(all="ignore"):
        assert np.isinf(inverse_or_zero(x)).sum() == 1


def test_bounds_are_checked_on_demand():
    @lw.guvectorize("(n)->()", check=("bounds",))
    def beyond(x):
        return x[x.shape[0]]

    with pytest.raises(IndexError):
        beyond(np.ones(3))


def test_overrides():
    class Other:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return ufunc, method, len(inputs), kwargs

    assert total_of(Other(), axis=0) == (total_of, "__call__", 1, {"axis": 0})
    x = Other()  # counts and names are looked at first, as by NumPy
    for args, keywords, words in (((x,), {"where": x}, "argument 'where'"), ((x,), {"nothing": 1}, "argument 'nothing'"), ((), {"out": x}, "but 0 were"),
                                  ((x, x, x), {}, "but 3 were"), ((x,), {"sig": "d->d", "dtype": None}, "both 'signature' and 'dtype'"),
                                  ((x,), {"out": (x, x)}, "'out' tuple"), ((x, x), {"out": x}, "'out' as both"), ((x,), {"axis": 0, "axes": 1}, "both 'axis'")):
        with pytest.raises((TypeError, ValueError), match=words):
            total_of(*args, **keywords)

    class Sub(np.ndarray):
        pass

    assert type(cross(np.ones((2, 3)).view(Sub), np.ones(3))) is Sub


def test_a_gufunc_is_a_ufunc():
    plain = lw.vectorize(lambda x, y: x + y)
    assert issubclass(lw.Gufunc, lw.Ufunc) and isinstance(total_of, lw.Ufunc)
    assert type(plain) is lw.Ufunc and not isinstance(plain, lw.Gufunc)
    assert (plain.signature, total_of.signature) == (None, "(n)->()")


def test_masked_arrays():
    """An item would contain masked elements; without core dimensions, the masks are those of the elements."""
    m = np.ma.array(np.arange(6.0).reshape(2, 3), mask=[[0, 1, 0], [0, 0, 0]])
    double = lw.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)")(lambda x, out: _double(x, out))
    for call in (lambda: total_of(m), lambda: total_of(m[0]), lambda: double(m), lambda: double(m.data, m.copy()),
                 lambda: double(m.data, out=m.copy()), lambda: double(m.data, out=(m.copy(),)), lambda: lw.matmul(m, m.T)):
        with pytest.raises(TypeError, match="^`.*` got a masked array, whose mask compiled code would ignore; pass its .data"):
            call()
    assert double(m.data).tolist() == (2 * m.data).tolist()
    same = lw.guvectorize(["void(f8, f8[:])"], "()->()")(lambda x, out: _first(x, out))
    assert same(m).tolist() == [[0, None, 2], [3, 4, 5]]


def _first(x, out):
    out[0] = x


def test_methods_of_ufunc_serve_gufuncs():
    """Methods of Ufunc are also reached through the class Gufunc, and must not take one object for the other."""
    g = lw.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)", identity=1)(lambda x, out: _double(x, out))
    face = lw.Ufunc
    for name in ("nin", "nout", "nargs", "ntypes", "types", "signatures", "identity", "signature", "stats", "__signature__", "py_func"):
        assert getattr(face, name).__get__(g) == getattr(g, name)
    assert (g.types, g.identity, g.nargs) == (["d->d"], 1, 2)
    face.add(g, "void(f4[:], f4[:])")
    assert face.types.__get__(g) == ["f->f", "d->d"]
    face.compile(g, "f->f", "cpu")
    assert face.resources(g, "f->f", "cpu")["code_bytes"] > 0 and "define" in face.inspect_llvm(g, "f->f")
    assert face.bind(g, np.ones(3))().tolist() == [2, 2, 2] and face._state(g)["layout"] == "(n)->(n)"
    assert face.__copy__(g) is g and face.export(g, "f->f", "host").keys() == {("f->f", "host")}
    with pytest.raises(RuntimeError, match="signature"):
        face.reduce(g, np.ones(3))
    with pytest.raises(TypeError):
        lw.Gufunc.add(lw.vectorize(lambda x: x), 3)


def _double(x, out):
    for i in range(x.shape[0]):
        out[i] = 2 * x[i]


def test_compile_takes_a_gufunc():
    text = lw.compile(total_of, "float32(float32[:])", "sm_90", "ptx")
    assert ".entry" in text and "sm_90" in text
    assert "lw_items" in lw.compile(total_of, "f->f", "host", "llvm")


def test_face():
    assert (solve3.nin, solve3.nout, solve3.nargs, solve3.signature) == (2, 1, 3, "(3,3),(3)->(3)")
    assert quantile.__doc__ == "The quantile of sorted rows." and quantile.__name__ == "quantile"
    assert isinstance(total_of, lw.Gufunc) and repr(total_of) == "<lanewise.Gufunc 'total_of' (n)->()>"
    assert total_of.resolve_dtypes((np.dtype("f4"), None)) == (np.dtype("f4"), np.dtype("f4"))
    assert moving_average.types == ["fl->f", "dl->d"]
    assert "lw_items" in moving_average.inspect_llvm("fl->f") and "float32" in moving_average.inspect_types("fl->f")
    assert moving_average.resources("fl->f", "cpu")["code_bytes"] > 0
    assert moving_average.bind(np.ones(3), 2)().tolist() == [1, 1, 1]


def test_add():
    @lw.guvectorize(["void(float32[:], float32[:])"], "(n)->(n)")
    def twice(x, out):
        for i in range(x.shape[0]):
            out[i] = 2 * x[i]

    with pytest.raises(TypeError, match="E181(.|\n)*argument 1, `x`: float64 to float32 is not safe"):
        twice(np.arange(3.0))
    twice.add("void(float64[:], float64[:])")
    assert twice(np.arange(3.0)).dtype == np.float64 and twice.types == ["f->f", "d->d"]
    assert twice(np.arange(3, dtype="i2")).dtype == np.float32


def test_warnings():
    def first(x, y, out):
        out[0] = x[0] + y[0]

    with pytest.warns(lw.PerformanceWarning, match="W202"):
        lw.guvectorize(["void(f4[:], f8[:], f8[:])", "void(f8[:], f4[:], f8[:])"], "(n),(n)->()")(first)
    f = lw.guvectorize("(n),(n)->()")(first)
    dtypes = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
    with pytest.warns(lw.PerformanceWarning, match="64 tuples of dtypes"):
        for one in dtypes[1:]:
            for two in dtypes[1:8]:
                f(np.ones(1, one), np.ones(1, two))


def test_results_do_not_depend_on_earlier_calls():
    @lw.guvectorize("(n)->()")
    def first(x):
        return x[0]

    assert first(np.ones(2, "f4"), dtype="f8").dtype == np.float64
    assert first(np.ones(2, "f4")).dtype == np.float32
    assert first(np.ones(2, "i2")).dtype == np.int16


def test_pickling():
    local = 3

    def scaled(x, out):
        for i in range(out.shape[0]):
            out[i] = x[i] * local

    f = lw.guvectorize("(n)->(k)", sizes={"k": lambda n: n - 1})(scaled)
    g = pickle.loads(pickle.dumps(f))
    assert g.signature == "(n)->(k)"
    out = np.empty(2)
    assert g(np.arange(3.0), out).tolist() == [0, 3]
    assert pickle.loads(pickle.dumps(total_of)) is total_of


def test_threads_compile_once():
    @lw.guvectorize("(n)->()")
    def last(x):
        return x[x.shape[0] - 1]

    x, got = rng.random((100, 5)), []
    threads = [threading.Thread(target=lambda: got.append(last(x))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 8 and all(np.array_equal(one, x[:, 4]) for one in got)
    assert last.types == ["d->d"]


def test_device_arrays_are_refused_by_target_cpu():
    class Fake:
        __cuda_array_interface__ = {"shape": (3,), "typestr": "<f8", "data": (256, False), "version": 3}

    f = lw.guvectorize("(n)->()", target="cpu")(lambda x: x[0])
    with pytest.raises(TypeError, match="target=\"cpu\""):
        f(Fake())


# ---- errors ----

ERRORS = [
    ("(n)->(", ValueError, "expected the name or the size"),
    ("(0)->()", ValueError, "1 or more"),
    ("(n|2)->()", ValueError, "after `|` comes 1"),
    ("(n)->(n|1)", ValueError, "an output cannot be broadcast"),
    ("(n?),(n)->()", ValueError, "everywhere or nowhere"),
    ("(n)(n)", ValueError, "expected `,` or `->`"),
]


@pytest.mark.parametrize("layout, kind, message", ERRORS, ids=[row[0] for row in ERRORS])
def test_bad_layouts(layout, kind, message):
    with pytest.raises(kind) as caught:
        lw.guvectorize(layout)
    assert message in str(caught.value) and str(caught.value).rstrip().endswith("^")


def fills(x, out):
    out[0] = x[0]


def returns(x):
    return x[0]


def rebinds(x, out):
    out = x


def never(x, out):
    y = x[0]


def writes_input(x, out):
    x[0] = 1
    out[0] = x[0]


def returns_and_fills(x, out):
    out[0] = x[0]
    return x[0]


def two(x):
    return x[0], x[0]


def star(*xs):
    return xs[0]


def keyword(x, *, k):
    return x[0]


def whole(x, out):
    out[0] = x


def three_parameters(x, y, z):
    return x[0]


F8 = "void(f8[:], f8[:])"
BAD = [
    (rebinds, (F8, "(n)->()"), {}, lw.errors.TypingError, "E184"),
    (never, (F8, "(n)->()"), {}, lw.errors.TypingError, "E185"),
    (returns, ("f8(f8[:])", "(n)->(n)"), {}, lw.errors.TypingError, "E185"),
    (writes_input, (F8, "(n)->()"), {}, lw.errors.CompileError, "E162"),
    (returns_and_fills, (F8, "(n)->()"), {}, lw.errors.CompileError, "E183"),
    (two, ("f8(f8[:])", "(n)->()"), {}, lw.errors.CompileError, "E153"),
    (whole, (F8, "(n)->()"), {}, lw.errors.CompileError, "E1"),
    (star, (None, "(n)->()"), {}, TypeError, r"\*args"),
    (keyword, (None, "(n)->()"), {}, TypeError, "keyword-only"),
    (three_parameters, (None, "(n)->()"), {}, TypeError, "has 3 parameters"),
    (fills, ("void(f8[:,:], f8[:])", "(n)->()"), {}, lw.errors.SignatureError, "1 core dimension"),
    (fills, ("void(f8, f8[:])", "(n)->()"), {}, lw.errors.SignatureError, "input 0 is float64"),
    (fills, ("void(f8[:])", "(n)->()"), {}, lw.errors.SignatureError, "the signature returns void"),
    (fills, ("f8(f8[:], f8[:])", "(n)->()"), {}, lw.errors.SignatureError, "guvectorized functions cannot return values"),
    (fills, ("void(f8[:], f8[:], f8[:])", "(n)->()"), {}, lw.errors.SignatureError, "inputs and the outputs"),
    (returns, ("void(f8[:])", "(n)->()"), {}, lw.errors.SignatureError, "the signature returns void"),
    (returns, ("(f8, f8)(f8[:])", "(n)->()"), {}, lw.errors.SignatureError, "E1"),
    (fills, ([F8, "void(f8[:], f4[:])"], "(n)->()"), {}, ValueError, "E182"),
    (fills, (None, "(n)->()"), {"sizes": {"n": 3}}, ValueError, "occurs only in outputs"),
    (fills, (None, "(n)->()"), {"sizes": 3}, TypeError, "must be a dict"),
    (fills, (None, "(n)->(k)"), {"sizes": {"k": "n"}}, TypeError, "an int or a function"),
    (fills, (None, "(n)->()"), {"writable_args": (3,)}, ValueError, "neither the number"),
    (fills, (None, "(n)->()"), {"writable_args": "x"}, TypeError, "must be a tuple"),
    (fills, (None, "(n)->()"), {"wriable_args": ()}, TypeError, "wriable_args"),
    (fills, (None, "(n)->()"), {"target": "gpu"}, ValueError, "target="),
    (fills, ("void(nonsense)", "(n)->()"), {}, lw.errors.SignatureError, "E180"),
    (fills, (3, "(n)->()"), {}, TypeError, "signature"),
    (fills, (None, 3), {}, TypeError, "layout must be a str"),
    (fills, (["void(float64[:], float64[:])"],), {}, TypeError, r"needs a layout after the signatures, as in guvectorize\(\['void"),
    (fills, ("void(float64[:], float64[:])",), {}, TypeError, "needs a layout after the signatures"),
    (fills, ("(n)->()", "void(float64[:], float64[:])"), {}, TypeError, r"takes the signatures first, then the layout: guvectorize\('void\(.*, '\(n\)->\(\)'\)"),
    (fills, ("(n)->()", [F8]), {}, TypeError, "takes the signatures first, then the layout"),
    (fills, (fills,), {}, TypeError, r'needs a layout before the function: @guvectorize\("\(n\)->\(\)"\)'),
    (fills, (None,), {"layout": None}, TypeError, "layout must be a str"),
    (fills, (None, "(n)->()", 3), {}, TypeError, "at most two"),
]


@pytest.mark.parametrize("function, args, keywords, kind, message", BAD, ids=range(len(BAD)))
def test_bad_decorations(function, args, keywords, kind, message):
    with pytest.raises(kind, match=message):
        lw.guvectorize(*args, **keywords)(function)


@pytest.mark.parametrize("function, code, line, mark", [(rebinds, "E184", "    out = x", "out"), (never, "E185", "def never(x, out):", "def")])
def test_errors_show_the_place(function, code, line, mark):
    with pytest.raises(lw.errors.TypingError) as caught:
        lw.guvectorize([F8], "(n)->()")(function)
    assert caught.value.code == code and line in str(caught.value) and "^" in str(caught.value)


GOLDEN = sorted((Path(__file__).resolve().parents[1] / "golden" / "gufunc").glob("*.case"))


@pytest.mark.distinct_cases
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_errors(path, bless):
    """A case is a program that fails, and its message. `pytest --bless` rewrites the message."""
    text = path.read_text(encoding="utf-8")
    source, name = text.split("--- error\n")[0], "case.py"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    try:
        with pytest.raises(Exception) as caught:  # noqa: B017
            exec(compile(source, name, "exec", dont_inherit=True), {"__name__": "case", "lw": lw, "np": np})
    finally:
        del linecache.cache[name]
    message = "\n".join([f"{caught.type.__name__}: {caught.value}", *getattr(caught.value, "__notes__", ())])  # Python 3.10 has no notes: they are in the text
    found = f"{source}--- error\n{message}\n"
    if bless:
        path.write_text(found, encoding="utf-8")
    assert found == text and len(message.splitlines()) <= 12
    assert not re.search(r"\b(?:lw_|LW_|STATIC|BOTTOM|constant)\b", message)


def test_unknown_sizes():
    f = lw.guvectorize("(n)->(k)")(fills)
    with pytest.raises(ValueError):
        f(np.ones(3))
    assert f(np.ones(3), np.zeros(2)).tolist() == [1, 0]


# ---- layouts at random ----


def layouts():
    """Layouts, each with a function that gives, for each output, the sum of all core elements of the inputs."""
    make = np.random.default_rng(11)
    for seed in range(40):
        names = ["i", "j", "3", "2"]
        operands = [[str(make.choice(names)) for _ in range(make.integers(0, 3))] for _ in range(make.integers(1, 4))]
        yield seed, operands


def body_of(operands):
    lines = ["def f(" + ", ".join(f"x{k}" for k in range(len(operands))) + "):", "    total = 0.0"]
    for k, dims in enumerate(operands):
        depth = 1
        for d in range(len(dims)):
            lines.append("    " * depth + f"for i{d} in range(x{k}.shape[{d}]):")
            depth += 1
        index = ", ".join(f"i{d}" for d in range(len(dims)))
        lines.append("    " * depth + f"total += {k + 1} * x{k}{f'[{index}]' if dims else ''}")
    return "\n".join([*lines, "    return total"])


@pytest.mark.parametrize("seed, operands", list(layouts()))
def test_layouts_at_random(seed, operands):
    make = np.random.default_rng(seed)
    layout = ",".join("(" + ",".join(dims) + ")" for dims in operands) + "->()"
    source = body_of(operands)
    scope = {}
    exec(source, scope)
    made = lw.guvectorize(layout, source=source)(scope["f"])
    for _ in range(4):
        sizes = {"i": int(make.integers(0, 6)), "j": int(make.integers(1, 6)), "3": 3, "2": 2}
        loop = [int(n) for n in make.integers(1, 4, make.integers(0, 3))]
        inputs = []
        for dims in operands:
            mine = [n if make.random() < 0.7 else 1 for n in loop[int(make.integers(0, len(loop) + 1)):]]
            shape = mine + [sizes[d] for d in dims]
            x = make.random([2 * n for n in shape]).astype(make.choice(["f4", "f8"]))
            x = x[tuple(slice(None, n) if make.random() < 0.5 else slice(1, None, 2) for n in shape)]
            inputs.append(x[tuple(slice(None, None, -1) if make.random() < 0.3 else slice(None) for _ in shape)])
        shape = np.broadcast_shapes(*[x.shape[:x.ndim - len(dims)] for x, dims in zip(inputs, operands)])
        want = np.zeros(shape)
        for k, (x, dims) in enumerate(zip(inputs, operands)):
            want = want + (k + 1) * x.astype("f8").sum(axis=tuple(range(x.ndim - len(dims), x.ndim)))
        got = made(*inputs)
        assert np.shape(got) == shape and np.allclose(got, want, rtol=1e-4), layout


def sums_and_rows(n_in):
    """Of n_in inputs with core dimension n: the sum of all elements, and the sums of corresponding elements."""
    lines = ["def f(" + ", ".join(f"x{k}" for k in range(n_in)) + ", total, rows):", "    total[0] = 0", "    for i in range(rows.shape[0]):",
             "        rows[i] = " + " + ".join(f"x{k}[i]" for k in range(n_in)), "        total[0] += rows[i]"]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(30))
def test_calls_at_random_against_np_vectorize(seed):
    make = np.random.default_rng(100 + seed)
    n_in = int(make.integers(1, 4))
    layout = ",".join(["(n)"] * n_in) + "->(),(n)"
    source, scope = sums_and_rows(n_in), {}
    exec(source, scope)
    made = lw.guvectorize(layout, source=source)(scope["f"])
    slow = np.vectorize(lambda *xs: (sum(x.sum() for x in xs), sum(xs)), signature=layout, otypes=["f8", "f8"])
    for _ in range(5):
        n, ndim = int(make.integers(1, 7)), int(make.integers(1, 4))
        shape = [*make.integers(1, 4, ndim - 1), n]
        inputs = [make.random([s if make.random() < 0.7 or d == ndim - 1 else 1 for d, s in enumerate(shape)]) for _ in range(n_in)]
        total, rows = slow(*inputs)
        got = made(*inputs)
        assert np.allclose(got[0], total) and np.allclose(got[1], rows) and got[1].shape == rows.shape
        axes = [int(make.integers(0, x.ndim)) for x in inputs]
        moved = [np.moveaxis(x, -1, axis) for x, axis in zip(inputs, axes)]
        got = made(*moved, axes=[*axes, (), int(make.integers(0, rows.ndim))][:n_in] + [(), -1])
        assert np.allclose(got[0], total) and np.allclose(got[1], rows)
        outs = np.empty(total.shape, "f4"), np.empty([*rows.shape[:-1], 2 * n])[..., ::2]
        assert made(*inputs, out=outs)[1] is outs[1] and np.allclose(outs[0], total, rtol=1e-5) and np.allclose(outs[1], rows)
        assert np.allclose(made(*inputs, out=(None, outs[1]))[0], total)
        if n > 1 and n_in > 1:
            with pytest.raises(ValueError, match="mismatch"):
                made(inputs[0][..., :-1], *inputs[1:])


def test_numba_agrees():
    numba = pytest.importorskip("numba")
    matrix, x = rng.random((40, 4, 4)) + 4 * np.eye(4), rng.random((40, 25))
    matrix = matrix @ matrix.swapaxes(1, 2)
    for signature, ours, args in (
        (["void(float64[:], int64, float64[:])"], moving_average, (x, 3)),
        (["void(float64[:,:], float64[:,:])"], cholesky, (matrix,)),
        (["void(float64[:], float64[:])"], sort_row, (x,)),
        (["void(float64[:], float64[:], float64[:])"], cross, (x[:, :3], x[:, 3:6])),
    ):
        layout = ours.signature if "3" not in ours.signature else "(n),(n)->(n)"
        theirs = numba.guvectorize(signature, layout)(ours.py_func)
        assert np.allclose(ours(*args), theirs(*args), rtol=1e-13, atol=1e-13)


# ---- memory ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5,), (2, 5), (300, 40)])
def test_results_into_an_input_itself(shape):
    """NumPy's own gufuncs take out= that is an input for element by element, and copy nothing."""
    @lw.guvectorize("(n)->(n)")
    def backwards(x, out):
        for i in range(len(x)):
            out[i] = x[len(x) - 1 - i]

    for dtype in ("f4", "i8"):
        start = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        for pick in (lambda a: a, lambda a: a[..., ::-1], lambda a: a.T if a.ndim > 1 else a[:]):
            a = start.copy()
            assert backwards(pick(a), out=pick(a)) is not None
            assert (pick(a) == pick(start)[..., ::-1]).all()
    a = np.arange(6.0)
    backwards(a[:-1], out=a[1:])
    assert a.tolist() == [0, 4, 3, 2, 1, 0]


def test_products_into_an_operand():
    for a in (np.arange(9.0).reshape(3, 3), np.arange(18).reshape(2, 3, 3), np.random.default_rng(0).random((40, 40))):
        expected, b = a @ a, a.copy()
        assert lw.matmul(b, b, out=b) is b and np.allclose(b, expected)


def test_what_is_left_alone_stays_in_out():
    @lw.guvectorize("(n)->(n)")
    def first(x, out):
        out[0] = x[0]

    for dtype in ("f8", "i4"):
        out = np.full((2, 3), 7, dtype)
        first(np.ones((2, 3)), out=out, casting="unsafe")
        assert out.tolist() == [[1, 7, 7]] * 2


def test_what_out_had_is_not_looked_at_where_outputs_are_returned():
    last = lw.guvectorize(["f4(f4[:])"], "(n)->()")(lambda x: x[x.shape[0] - 1])
    out = np.full(2, 1e300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # 1e300 is no float32
        assert last(np.ones((2, 3), "f4"), out=out) is out and out.tolist() == [1, 1]


def test_a_written_input_that_is_another_input_too():
    """NumPy copies nothing where two inputs are the same array: each write is seen by the reads behind it."""
    @lw.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->()", writable_args=("a",))
    def running(a, b, out):
        for i in range(1, len(a)):
            a[i] = a[i] + b[i - 1]
        out[0] = a[len(a) - 1]

    x = np.ones(1000)
    assert running(x, x) == 1000 and (x == np.arange(1, 1001)).all()
    x = np.ones(1001)
    assert running(x[1:], x[:-1]) == 2


@pytest.mark.parametrize("signatures", ["f8[:], f8[:]", ["f4[:],f4[:]", "f8[:],f8[:]"], ["(f8[:], f8[:])"], "f8[:],f8[:],"])
def test_signatures_without_parentheses(signatures):
    """numba evaluates the text as Python: a tuple of types."""
    @lw.guvectorize(signatures, "(n)->(n)")
    def plus_one(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i] + 1

    assert plus_one(np.arange(3.0)).tolist() == [1.0, 2.0, 3.0]
    assert plus_one(np.arange(3, dtype="f4")).dtype == (np.float32 if len(signatures) == 2 else np.float64)
