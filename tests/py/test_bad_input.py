"""The catalogue of bad input: each a documented exception that says what was wrong, in short time,
and the next good call works. Device arrays' own catalogue is in test_operands.py."""

from __future__ import annotations

import functools
import math
import os
import pickle
import time

import numpy as np
import pytest

import lanewise as lw
from lanewise import _pickling
from lanewise.errors import CompileError, LanewiseError, SignatureError, TypingError, UnsupportedError

X = np.arange(6.0)
N = np.arange(6, dtype=np.int32)
SLOW = "LW_ASAN" in os.environ
NEVER = (SystemError, AttributeError, KeyError, AssertionError, RecursionError)


@lw.vectorize
def f(x, y):
    return x * y + 1


@lw.vectorize(["f8(f8, f8)", "i4(i4, i4)"])
def declared(x, y):
    return x + y


@lw.vectorize(identity=0)
def total(x, y):
    return x + y


def one(x):
    return x + 1


def refused(work, error, words=""):
    """Check that the work raises the error, with the words in its text, within two seconds, and again when it is repeated."""
    texts = []
    for _ in range(2):
        start = time.perf_counter()
        with pytest.raises(error) as caught:
            work()
        assert time.perf_counter() - start < (20 if SLOW else 2)
        assert isinstance(caught.value, lw.errors.KeywordError) or not isinstance(caught.value, NEVER), caught.value
        texts.append(str(caught.value))
        del caught
    assert texts[0] == texts[1]
    assert words.lower() in texts[0].lower(), texts[0]
    assert len(texts[0]) < 4000, "a message is read by people"
    assert f(X, 2.0)[1] == 3


def table(rows):
    return pytest.mark.parametrize("work, error, words", [row[1:] for row in rows], ids=[row[0] for row in rows])


class Odd:
    """An object that raises an exception whatever it is asked."""

    def __repr__(self):
        raise ZeroDivisionError("odd")

    __str__ = __bool__ = __eq__ = __hash__ = __len__ = __iter__ = __index__ = __float__ = __repr__


class OddNumber:
    def __index__(self):
        raise ZeroDivisionError("odd index")


# ---- keywords of vectorize ----------------------------------------------------------------------------

KEYWORDS = [
    ("unknown", {"colour": 1}, TypeError, "colour"),
    ("near miss", {"fast_math": True}, TypeError, "fast_math"),
    ("numba's disable_jit", {"disable_jit": True}, TypeError, "disable_jit"),
    ("not a name", {"": 1}, TypeError, ""),
    ("unicode", {"größe": 1}, TypeError, "größe"),
    ("long name", {"x" * 100_000: 1}, TypeError, "xxx"),
    ("target number", {"target": 3}, TypeError, "target"),
    ("target unknown", {"target": "gpu"}, ValueError, "target"),
    ("target empty", {"target": ""}, ValueError, "target"),
    ("target with null", {"target": "cpu\0"}, ValueError, "target"),
    ("target surrogate", {"target": "\udc80"}, ValueError, "target"),
    ("target bytes", {"target": b"cpu"}, TypeError, "target"),
    ("target list", {"target": ["cpu"]}, TypeError, "target"),
    ("target None", {"target": None}, (TypeError, ValueError), "target"),
    ("typing", {"typing": "strong"}, ValueError, "typing"),
    ("typing number", {"typing": 1}, TypeError, "typing"),
    ("identity text", {"identity": "reordable"}, ValueError, "identity"),
    ("identity list", {"identity": [0]}, (TypeError, ValueError), "identity"),
    ("identity array", {"identity": np.zeros(2)}, (TypeError, ValueError), "identity"),
    ("fastmath flag", {"fastmath": {"nan"}}, ValueError, "fastmath"),
    ("fastmath number", {"fastmath": 1.5}, TypeError, "fastmath"),
    ("fastmath text", {"fastmath": "fast"}, TypeError, "fastmath"),
    ("fastmath odd", {"fastmath": [1]}, TypeError, "fastmath"),
    ("cache text", {"cache": "yes"}, TypeError, "cache"),
    ("cache None", {"cache": None}, TypeError, "cache"),
    ("debug number", {"debug": 1}, TypeError, "debug"),
    ("lineinfo", {"lineinfo": 0}, TypeError, "lineinfo"),
    ("opt level", {"opt": 3}, (TypeError, ValueError), "opt"),
    ("fma", {"fma": "no"}, TypeError, "fma"),
    ("warn", {"warn": 1}, TypeError, "warn"),
    ("nopython", {"nopython": False}, UnsupportedError, "there is no object mode"),
    ("registers negative", {"max_registers": -1}, ValueError, "max_registers"),
    ("registers huge", {"max_registers": 10**30}, (ValueError, OverflowError), "max_registers"),
    ("registers float", {"max_registers": 32.0}, TypeError, "max_registers"),
    ("registers 0", {"max_registers": 0}, ValueError, "max_registers"),
    ("registers odd", {"max_registers": OddNumber()}, (TypeError, ZeroDivisionError), ""),
    ("block 0", {"max_blocksize": 0}, ValueError, "max_blocksize"),
    ("block 2048", {"max_blocksize": 2048}, ValueError, "max_blocksize"),
    ("block text", {"max_blocksize": "128"}, TypeError, "max_blocksize"),
    ("errors", {"errors": "log"}, ValueError, "errors"),
    ("errors None", {"errors": None}, (TypeError, ValueError), "errors"),
    ("check", {"check": {"spelling"}}, ValueError, "check"),
    ("check text", {"check": "divide,spelling"}, ValueError, "check"),
    ("check number", {"check": 1}, TypeError, "check"),
    ("order", {"order": "random"}, ValueError, "order"),
    ("order number", {"order": 0}, TypeError, "order"),
    ("source number", {"source": 1}, TypeError, "source"),
    ("source bytes", {"source": b"lambda x: x"}, TypeError, "source"),
    ("link", {"link": ["a.o"]}, FileNotFoundError, "a.o"),
    ("link text", {"link": "a.txt"}, ValueError, "extension"),
    ("link number", {"link": 3}, TypeError, "link"),
    ("excluded", {"excluded": ["x", None]}, TypeError, "excluded= must be a parameter's name"),
    ("static", {"static": ("x", 1.0)}, TypeError, "static"),
    ("static number", {"static": 1.0}, TypeError, "static"),
]


@pytest.mark.parametrize("keywords, error, words", [row[1:] for row in KEYWORDS], ids=[row[0] for row in KEYWORDS])
def test_keywords(keywords, error, words):
    refused(lambda: lw.vectorize(**keywords), error, words)
    refused(lambda: lw.vectorize(one, **keywords), error, words)


# ---- signatures ---------------------------------------------------------------------------------------

BAD_SIGNATURES = {
    "empty": "", "space": " ", "only a type": "f8", "open": "f8(", "close": "f8)", "unclosed": "f8(f8", "too closed": "f8(f8))",
    "no result": "(f8)->", "arrow alone": "->", "arrow twice": "d->d->d", "comma": "f8(f8,,f8)", "leading comma": "f8(,f8)",
    "misspelt": "flaot64(float64)", "number": "3(4)", "unknown code": "Z->Z", "text codes": "U->U", "object": "O->O", "datetime": "M->M",
    "void": "void(f8)", "void argument": "f8(void)", "array": "f8[:](f8)", "array argument": "f8(f8[:])", "layout": "(n)->()",
    "null": "f8(f8)\0", "null inside": "f8(f\0 8)", "unicode": "ƒ8(ƒ8)", "surrogate": "f8(f8\udc80)", "emoji": "f8(🙂)", "rtl": "\u202ef8(f8)",
    "negative": "f-8(f8)", "huge code": "f99999999999999999999(f8)", "semicolon": "f8(f8);", "bracket": "f8[f8]",
    "percent": "%s%n(f8)", "line": "f8(f8)\nf8(f8)", "star": "f8(*f8)", "dots": "f8(...)", "quotes": "'f8'('f8')", "path": "../../x",
    "long name": "x" * 100_000, "many opens": "(" * 100_000, "many arguments": "f8(" + ",".join(["f8"] * 50_000) + ")",
    "many codes": "d" * 100_000 + "->d", "many spaces": "f8(" + " " * 100_000, "many closes": "f8" + ")" * 100_000, "many arrows": "->" * 50_000,
}


@pytest.mark.parametrize("text", BAD_SIGNATURES.values(), ids=BAD_SIGNATURES)
def test_signature_texts(text):
    errors = (SignatureError, UnsupportedError)
    if text.startswith(("f8(f8,f8", "ddd")):
        errors = (TypeError, ValueError)  # good ones of too many arguments: they do not fit the function
    for work in (lambda: lw.vectorize(text)(one), lambda: lw.vectorize([text])(one)):
        refused(work, errors)
    refused(lambda: lw.compile(one, text), (TypingError, *errors))  # of arrays: a kernel that returns a value
    if text != "f8(f8[:])":  # of a function of njit, which may return an array
        refused(lambda: lw.explain(one, text), (CompileError, *errors))
    u = lw.vectorize(["f8(f8)"])(one)
    refused(lambda: u.add(text), errors)
    assert u.types == ["d->d"]


SIGNATURES = [
    ("number", 3, TypeError), ("None inside", [None], TypeError), ("set", {"f8(f8)"}, TypeError), ("dict", {"f8(f8)": 1}, TypeError), ("bytes", b"f8(f8)", TypeError),
    ("bytes inside", [b"f8(f8)"], TypeError), ("object", [object], (TypeError, ValueError)), ("array", np.zeros(3), TypeError),
    ("nested", [["f8(f8)"]], (TypeError, SignatureError)), ("duplicate", ["f8(f8)", "d->d"], SignatureError), ("counts differ", ["f8(f8)", "f8(f8, f8)"], SignatureError),
    ("results differ", ["f8(f8)", "f4(f8)"], SignatureError), ("tuple of bad", [(lw.float64, 3)], TypeError),
    ("type alone", [lw.float64], (TypeError, SignatureError)), ("array type", [lw.float64(lw.float64[:])], (SignatureError, TypeError)),
    ("dtype object", [(np.dtype("O"),)], (TypeError, ValueError)), ("odd", [Odd()], TypeError), ("function inside", [one], TypeError),
]


@pytest.mark.parametrize("value, error", [row[1:] for row in SIGNATURES], ids=[row[0] for row in SIGNATURES])
def test_signature_objects(value, error):
    refused(lambda: lw.vectorize(value)(one), error)


ADDED = [
    ("twice", lambda: declared.add("f8(f8, f8)"), ValueError, ""),
    ("other count", lambda: declared.add("f4(f4)"), ValueError, ""),
    ("nothing", lambda: declared.add(), TypeError, ""),
    ("number", lambda: declared.add(3), TypeError, ""),
    ("compile unknown target", lambda: declared.compile("f8(f8, f8)", "sm_1"), (ValueError, TypeError), "target"),
    ("compile number", lambda: declared.compile("f8(f8, f8)", 3), (TypeError, ValueError), "target"),
    ("inspect undeclared", lambda: declared.inspect_llvm("f2(f2)"), (ValueError, TypeError), "inputs"),
    ("inspect sm", lambda: declared.inspect_ptx("f8(f8, f8)", "sm_abc"), ValueError, "sm_abc"),
    ("inspect number", lambda: declared.inspect_types(3), TypeError, ""),
    ("export nothing", lambda: declared.export(), TypeError, ""),
    ("export arch", lambda: declared.export(["f8(f8, f8)"], ["x86"]), ValueError, "x86"),
    ("resources", lambda: declared.resources("f8"), SignatureError, ""),
    ("bind count", lambda: declared.bind(X), TypeError, ""),
    ("bind shapes", lambda: declared.bind(X, X[:4])(), ValueError, "broadcast"),
]


@table(ADDED)
def test_methods_on_signatures(work, error, words):
    refused(work, error, words)


# ---- calls --------------------------------------------------------------------------------------------

def swapped(x):
    return x.astype(x.dtype.newbyteorder())


class Raises(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        raise ZeroDivisionError("from the subclass")


class NotAnArray:
    def __array__(self, dtype=None, copy=None):
        raise BufferError("no memory to show")


class ListOfNothing:
    __cuda_array_interface__ = {"shape": (3,)}


read_only = np.zeros(6)
read_only.flags.writeable = False
CALLS = [
    ("no operand", lambda: f(), TypeError, "argument"),
    ("one operand", lambda: f(X), TypeError, "argument"),
    ("four operands", lambda: f(X, X, X, X), TypeError, "argument"),
    ("thousand operands", lambda: f(*[X] * 1000), TypeError, "argument"),
    ("unknown keyword", lambda: f(X, X, colour=1), TypeError, "colour"),
    ("shapes", lambda: f(X, X[:4]), ValueError, "broadcast"),
    ("65 dimensions", lambda: f(np.zeros((1,) * 65), 1), ValueError, ""),
    ("text", lambda: f("a", X), TypeError, ""),
    ("text array", lambda: f(np.array(["a", "b"]), 1), TypeError, ""),
    ("bytes", lambda: f(b"a", 1.0), TypeError, ""),
    ("object array", lambda: f(np.array([1, None]), 1), TypeError, ""),
    ("object numbers", lambda: f(np.array([1, 2], object), 1), TypeError, ""),
    ("None", lambda: f(None, X), TypeError, ""),
    ("dict", lambda: f({}, X), TypeError, ""),
    ("set", lambda: f({1}, X), TypeError, ""),
    ("function", lambda: f(one, X), TypeError, ""),
    ("type", lambda: f(float, X), TypeError, ""),
    ("datetime", lambda: f(np.array(["2000-01-01"], "M8[D]"), 1.5), TypeError, ""),
    ("timedelta", lambda: f(np.array([1], "m8[s]"), 2j), TypeError, ""),
    ("structured", lambda: f(np.zeros(3, "f4,i4"), 1), TypeError, ""),
    ("void", lambda: f(np.zeros(3, "V8"), 1), TypeError, ""),
    ("unicode scalar", lambda: f(np.str_("x"), X), TypeError, ""),
    ("string dtype", lambda: f(np.array(["a"], np.dtypes.StringDType()), X[:1]), TypeError, ""),
    ("longdouble", lambda: f(np.zeros(3, np.longdouble), np.longdouble(1)), TypeError, ""),
    ("clongdouble", lambda: f(np.zeros(3, np.clongdouble), 1), TypeError, ""),
    ("ragged", lambda: f([[1, 2], [3]], 1.0), (ValueError, TypeError), ""),
    ("huge int", lambda: f(10**30, X.astype(np.int64)), (OverflowError, TypeError), ""),
    ("huge negative", lambda: f(N, -10**30), (OverflowError, TypeError), ""),
    ("int too large for the array", lambda: f(np.zeros(3, np.int8), 300), OverflowError, ""),
    ("subclass that raises", lambda: f(X.view(Raises), 1), ZeroDivisionError, "subclass"),
    ("array that raises", lambda: f(NotAnArray(), 1), BufferError, ""),
    ("half an interface", lambda: f(ListOfNothing(), 1), (TypeError, ValueError, LanewiseError), ""),
    ("odd object", lambda: f(Odd(), 1.0), (TypeError, ZeroDivisionError), ""),
    ("no loop", lambda: declared(X.astype(complex), X), TypeError, ""),
    ("no loop for text", lambda: declared("a", "b"), TypeError, ""),
    ("no broadcast with 0", lambda: f(np.zeros((0, 3)), np.zeros((2, 3))), ValueError, "broadcast"),
    # out
    ("out shape", lambda: f(X, X, out=np.zeros(5)), ValueError, ""),
    ("out too few dims", lambda: f(np.zeros((2, 6)), X, out=np.zeros(6)), ValueError, ""),
    ("out dtype", lambda: f(X, X, out=np.zeros(6, int)), TypeError, "cast"),
    ("out read-only", lambda: f(X, X, out=read_only), ValueError, "read-only"),
    ("out broadcast", lambda: f(X, X, out=np.broadcast_to(np.zeros(1), 6)), ValueError, ""),
    ("out list", lambda: f(X, X, out=[0.0] * 6), TypeError, ""),
    ("out number", lambda: f(X, X, out=3), TypeError, ""),
    ("out text", lambda: f(X, X, out="out"), TypeError, ""),
    ("out empty tuple", lambda: f(X, X, out=()), ValueError, "out"),
    ("out two", lambda: f(X, X, out=(np.zeros(6), np.zeros(6))), ValueError, "out"),
    ("out twice", lambda: f(X, X, np.zeros(6), out=np.zeros(6)), (TypeError, ValueError), "out"),
    ("out structured", lambda: f(X, X, out=np.zeros(6, "f4,f4")), TypeError, ""),
    ("out by position list", lambda: f(X, X, [0] * 6), TypeError, ""),
    # where
    ("where shape", lambda: f(X, X, where=np.ones(5, bool), out=np.zeros(6)), ValueError, ""),
    ("where ints", lambda: f(X, X, where=N, out=np.zeros(6)), TypeError, ""),
    ("where floats", lambda: f(X, X, where=X, out=np.zeros(6)), TypeError, ""),
    # the other keywords
    ("axis", lambda: f(X, X, axis=0), TypeError, "axis"),
    ("axes", lambda: f(X, X, axes=[0]), TypeError, "axes"),
    ("keepdims", lambda: f(X, X, keepdims=True), TypeError, "keepdims"),
    ("dtype text", lambda: f(X, X, dtype="nonsense"), TypeError, ""),
    ("dtype object", lambda: f(X, X, dtype=object), TypeError, ""),
    ("dtype text type", lambda: f(X, X, dtype="U3"), TypeError, ""),
    ("dtype too narrow", lambda: f(X, X, dtype="f4", casting="safe"), TypeError, "cast"),
    ("dtype without loop", lambda: declared(N, N, dtype="c8"), TypeError, ""),
    ("dtype structured", lambda: f(X, X, dtype="f4,f4"), TypeError, ""),
    ("casting", lambda: f(X, X, casting="wild"), ValueError, "casting"),
    ("casting number", lambda: f(X, X, casting=1), TypeError, "casting"),
    ("casting no", lambda: declared(X.astype("f4"), X, casting="no"), TypeError, ""),
    ("order", lambda: f(X, X, order="Z"), ValueError, "order"),
    ("order number", lambda: f(X, X, order=1), TypeError, "order"),
    ("subok text", lambda: f(X, X, subok="no"), TypeError, "subok"),
    ("signature text", lambda: f(X, X, signature="nonsense"), (TypeError, ValueError), ""),
    ("signature count", lambda: f(X, X, signature="d->d"), (TypeError, ValueError), ""),
    ("signature number", lambda: f(X, X, signature=3), TypeError, ""),
    ("signature and dtype", lambda: f(X, X, signature="dd->d", dtype="f8"), (TypeError, ValueError), ""),
    ("sig and signature", lambda: f(X, X, signature="dd->d", sig="dd->d"), TypeError, ""),
    ("stream text", lambda: f(X, X, stream="x"), TypeError, "stream"),
    ("stream number", lambda: f(X, X, stream=12345), (TypeError, ValueError, LanewiseError), "stream"),
    ("stream negative", lambda: f(X, X, stream=-5), (TypeError, ValueError, LanewiseError), "stream"),
    ("extobj", lambda: f(X, X, extobj=[]), TypeError, "extobj"),
    # methods
    ("reduce of nothing", lambda: lw.vectorize(lambda a, b: max(a, b)).reduce(np.zeros(0)), ValueError, "identity"),
    ("reduce axis", lambda: total.reduce(X, axis=1), (ValueError, IndexError), "axis"),
    ("reduce axis text", lambda: total.reduce(X, axis="x"), TypeError, ""),
    ("reduce axis twice", lambda: total.reduce(np.zeros((2, 2)), axis=(0, 0)), ValueError, "axis"),
    ("reduce out", lambda: total.reduce(X, out=np.zeros(3)), ValueError, ""),
    ("reduce keyword", lambda: total.reduce(X, colour=1), TypeError, "colour"),
    ("reduce unary", lambda: lw.vectorize(one).reduce(X), ValueError, "binary"),
    ("reduce object", lambda: total.reduce(np.array([1, None])), TypeError, ""),
    ("accumulate axis", lambda: total.accumulate(X, axis=5), (ValueError, IndexError), ""),
    ("reduceat indices", lambda: total.reduceat(X, [99]), IndexError, ""),
    ("reduceat text", lambda: total.reduceat(X, "a"), (TypeError, ValueError), ""),
    ("outer one", lambda: f.outer(X), (TypeError, ValueError), ""),
    ("at indices", lambda: f.at(np.zeros(3), [9], 1.0), IndexError, ""),
    ("at a list", lambda: f.at([1.0], [0], 1.0), TypeError, ""),
    ("resolve count", lambda: f.resolve_dtypes((np.dtype("f8"),)), (ValueError, TypeError), ""),
    ("resolve list", lambda: f.resolve_dtypes(3), TypeError, ""),
    ("resolve object", lambda: f.resolve_dtypes((np.dtype("O"), np.dtype("O"), None)), TypeError, ""),
    ("set an attribute", lambda: setattr(f, "nin", 3), (AttributeError, TypeError), ""),
]


@table(CALLS)
def test_calls(work, error, words):
    if error == (AttributeError, TypeError):
        with pytest.raises(error):
            work()
        return
    refused(work, error, words)


def test_refused_calls_write_nothing():
    out = np.full(6, 7.0)
    for bad in (lambda: f(X, X[:4], out=out), lambda: f("a", X, out=out), lambda: f(X, X, out=out, where=N), lambda: f(X, X, out=out, casting="wild")):
        with pytest.raises((TypeError, ValueError)):
            bad()
    assert (out == 7).all()


# ---- unusual arrays that are good ------------------------------------------------------------------------

def misaligned(dtype, n=50):
    raw = np.zeros(n * np.dtype(dtype).itemsize + 1, np.uint8)
    array = raw[1:].view(dtype)
    array[...] = np.arange(n)
    return array


GOOD_ARRAYS = {
    "byte-swapped": np.arange(50, dtype=">f8"), "misaligned": misaligned("f8"), "misaligned f4": misaligned("f4"), "misaligned i2": misaligned("i2"),
    "read-only": np.broadcast_to(np.arange(5.0), (3, 5)), "zero stride": np.lib.stride_tricks.as_strided(np.ones(1), (9,), (0,)),
    "negative stride": np.arange(50.0)[::-3], "empty": np.zeros((0, 4)), "0-d": np.array(3.0), "transposed": np.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0),
    "64 dimensions": np.ones((1,) * 63 + (2,)), "float16": np.arange(9, dtype="f2"), "masked": np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
    "swapped int": np.arange(9, dtype=">i4"), "swapped complex": np.arange(9, dtype=">c8"),
    "overlapping windows": np.lib.stride_tricks.sliding_window_view(np.arange(20.0), 5), "big-endian 0-d": np.array(3, ">i2"),
    "bool": np.array([True, False]), "list": [1, 2, 3], "range": range(5), "memoryview": memoryview(np.arange(4.0)),
}


@pytest.mark.parametrize("name", GOOD_ARRAYS)
def test_unusual_arrays(name):
    value = GOOD_ARRAYS[name]
    got, wanted = f(value, 2), np.add(np.multiply(value, 2), 1)
    np.testing.assert_array_equal(got, wanted)
    assert type(got) is type(wanted) and got.dtype == wanted.dtype


# ---- functions ------------------------------------------------------------------------------------------


def from_text(text, name="g", **scope):
    exec(compile(text, "<a test>", "exec"), scope)
    return lw.vectorize(scope[name], source=text), scope[name]


def without_source():
    scope = {}
    exec("def g(x):\n    while x < 5:\n        x += 1\n    return x", scope)
    return lw.vectorize(scope["g"])(X)


def made(text, *args, **scope):
    """The first call of the function g that is defined in the text."""
    return from_text(text, **scope)[0](*(args or (X,)))


def generator(x):
    yield x


async def coroutine(x):
    return x


def mutual_a(x):
    return mutual_b(x)


def mutual_b(x):
    return mutual_a(x)


def unset_cell():
    def inner(x):
        return x + late
    result = lw.vectorize(inner)
    try:
        return result(X)
    finally:
        late = 1.0


class Callable:
    def __call__(self, x):
        return x


def path_name():
    g = from_text("def g(x): return x + missing_name")[1]
    g.__name__ = g.__qualname__ = "../../x"
    return lw.vectorize(g, source="def g(x): return x + missing_name")(X)


MANY = ", ".join(f"a{i}" for i in range(10_000))
FUNCTIONS = [
    ("no source", without_source, (OSError, CompileError), "source"),
    ("a generator", lambda: lw.vectorize(generator)(X), UnsupportedError, ""),
    ("a coroutine", lambda: lw.vectorize(coroutine)(X), UnsupportedError, "async"),
    ("a class", lambda: lw.vectorize(Odd)(X), TypeError, ""),
    ("an object with __call__", lambda: lw.vectorize(Callable())(X), TypeError, ""),
    ("a builtin", lambda: lw.vectorize(abs), TypeError, ""),
    ("math.sin", lambda: lw.vectorize(math.sin), TypeError, ""),
    ("a NumPy ufunc", lambda: lw.vectorize(np.sin), TypeError, ""),
    ("a partial", lambda: lw.vectorize(functools.partial(one, 1)), TypeError, ""),
    ("None as function", lambda: lw.vectorize()(None), TypeError, ""),
    ("a number as function", lambda: lw.vectorize()(3), TypeError, ""),
    ("a text as function", lambda: lw.vectorize(["f8(f8)"])("x + 1"), TypeError, ""),
    ("no parameters", lambda: lw.vectorize(lambda: 1), (TypeError, CompileError, ValueError), ""),
    ("*args", lambda: lw.vectorize(lambda *x: x)(X), (CompileError, TypeError, ValueError), ""),
    ("**kwargs", lambda: lw.vectorize(lambda x, **y: x)(X), (CompileError, TypeError), ""),
    ("10,000 parameters", lambda: lw.vectorize(from_text(f"def g({MANY}): return a0")[1]), (CompileError, TypeError, ValueError, OSError), ""),
    ("70 parameters", lambda: made("def g(" + ", ".join(f"a{i}" for i in range(70)) + "): return a0", *[1.0] * 70), (CompileError, TypeError, ValueError), ""),
    ("70 results", lambda: made("def g(x): return (" + "x, " * 70 + ")"), (CompileError, TypeError, ValueError), ""),
    ("no results", lambda: made("def g(x): return ()"), (CompileError, TypeError, ValueError), ""),
    ("endless mutual recursion", lambda: lw.vectorize(mutual_a)(X), CompileError, "calls it again"),
    ("cell not set", unset_cell, CompileError, "late"),
    ("unknown name", path_name, CompileError, "missing_name"),
    ("list", lambda: made("def g(x): return [x]"), CompileError, "list"),
    ("dict", lambda: made("def g(x): return {**{1: x}}[1]"), CompileError, ""),
    ("try", lambda: made("def g(x):\n try:\n  x = 1\n except* ValueError:\n  pass"), (UnsupportedError, SyntaxError), ""),
    ("with", lambda: made("def g(x):\n with x:\n  return x"), UnsupportedError, "with"),
    ("import", lambda: made("def g(x):\n import os\n return x"), UnsupportedError, "import"),
    ("eval", lambda: made("def g(x): return eval('x')"), CompileError, "eval"),
    ("open", lambda: made("def g(x): return open(x)"), CompileError, "open"),
    ("text result", lambda: made("def g(x): return 'text'"), CompileError, ""),
    ("None result", lambda: made("def g(x): pass"), CompileError, ""),
    ("huge int", lambda: made(f"def g(x): return {10**100}", N), (CompileError, OverflowError), ""),
    ("huge int added", lambda: made(f"def g(x): return x + {2**64}", N), (CompileError, OverflowError), ""),
    ("int of 5000 digits", lambda: made("def g(x): return x + BIG", N, BIG=10**5000), (CompileError, OverflowError), ""),
    ("10,000 digits by shift", lambda: made("def g(x): return x + (1 << 40000)", N), (CompileError, OverflowError), ""),
    ("power tower", lambda: made("def g(x): return x + 9**9**9**9", N), (CompileError, OverflowError), ""),
    ("shift by a lot", lambda: made("def g(x): return x + (1 << 10**12)", N), (CompileError, OverflowError), ""),
    ("string times a lot", lambda: made("def g(x): return x + ('a' * 10**12)", N), (CompileError, OverflowError), ""),
    ("tuple times a lot", lambda: made("def g(x): return x + ((1,) * 10**12)[0]", N), (CompileError, OverflowError), ""),
    ("global array too large", lambda: made("def g(x): return x + TABLE[0]", TABLE=np.zeros(2**20)), CompileError, "E104"),
    ("global array of objects", lambda: made("def g(x): return x + TABLE[0]", TABLE=np.array([1, None])), CompileError, ""),
    ("global object", lambda: made("def g(x): return x + THING", THING=Odd()), CompileError, ""),
    ("global file", lambda: made("def g(x): return x + THING.read()", THING=open(os.devnull)), CompileError, ""),
    ("global set", lambda: made("def g(x): return x + len(THING)", THING={1, 2}), CompileError, ""),
    ("store to a global", lambda: made("def g(x):\n global y\n y = x\n return x"), CompileError, ""),
    ("delete", lambda: made("def g(x):\n del x\n return 1"), CompileError, ""),
    ("print", lambda: made("def g(x):\n print(made)\n return x", made=made), CompileError, "print"),
    ("f-string", lambda: made("def g(x): return f'{x}'"), CompileError, ""),
    ("comprehension", lambda: made("def g(x): return [i for i in range(3)][x]"), CompileError, ""),
    ("class inside", lambda: made("def g(x):\n class C: pass\n return x"), CompileError, ""),
    ("attribute", lambda: made("def g(x): return x.nothing"), CompileError, "nothing"),
    ("method", lambda: made("def g(x): return x.sum()"), CompileError, "sum"),
    ("index", lambda: made("def g(x): return x[0]"), CompileError, ""),
    ("call a number", lambda: made("def g(x): return x(1)"), CompileError, ""),
    ("order of complex", lambda: made("def g(x): return x < 1j", np.ones(2, complex)), CompileError, ""),
    ("matmul", lambda: made("def g(x): return x @ x"), CompileError, ""),
    ("integer negative power", lambda: made("def g(x): return x ** -1", N), CompileError, ""),
    ("float bits", lambda: made("def g(x): return x & 1"), CompileError, ""),
    ("raise unknown", lambda: made("def g(x):\n raise x\n return x"), CompileError, ""),
    ("unset on one path", lambda: made("def g(x):\n if x > 0:\n  y = 1\n return y"), UnboundLocalError, "y"),
    ("range step 0", lambda: made("def g(x):\n for i in range(0, 5, 0):\n  x += 1\n return x"), CompileError, ""),
    ("math domain by name", lambda: made("def g(x): return math.nothing(x)", math=math), CompileError, "nothing"),
    ("wrong arity", lambda: made("def g(x): return math.sin(x, x)", math=math), CompileError, "sin"),
    ("inner wrong arity", lambda: made("def h(x): return x\ndef g(x): return h()"), (CompileError, OSError), ""),
    ("yield inside", lambda: made("def g(x):\n y = yield x\n return x"), UnsupportedError, ""),
    ("await", lambda: made("async def g(x):\n await x\n return x"), UnsupportedError, ""),
    ("star call", lambda: made("def g(x): return max(*x)"), CompileError, ""),
    ("walrus text", lambda: made("def g(x): return (y := 'a')"), CompileError, ""),
    ("source of another", lambda: lw.vectorize(one, source="def other(y): return y * 2")(X), (OSError, CompileError), "one"),
    ("source no Python", lambda: lw.vectorize(one, source="def one(x) return x")(X), (SyntaxError, CompileError, OSError), ""),
    ("source empty", lambda: lw.vectorize(one, source="")(X), (OSError, CompileError), ""),
    ("source with null", lambda: lw.vectorize(one, source="def one(x): return x\0")(X), (SyntaxError, ValueError, CompileError, OSError), ""),
    ("source surrogate", lambda: lw.vectorize(one, source="def one(x): return '\udc80'")(X), (ValueError, CompileError, OSError), ""),
]


@table(FUNCTIONS)
def test_functions(work, error, words):
    refused(work, error, words)


@pytest.mark.parametrize("depth", [100, 1000, 10_000])
@pytest.mark.parametrize("shape", ["parentheses", "unary", "sum", "calls", "ternary", "ifs", "powers"])
def test_deep_functions(shape, depth):
    """They are compiled, or refused by name; CPython itself cannot compile some of them."""
    text = {
        "parentheses": "def g(x): return " + "(" * min(depth, 90) + "x" + ")" * min(depth, 90),
        "unary": "def g(x): return " + "-" * depth + "x",
        "sum": "def g(x): return " + " + ".join(["x"] * depth),
        "calls": "def g(x): return " + "abs(" * min(depth, 90) + "x" + ")" * min(depth, 90),
        "ternary": "def g(x): return " + "".join(f"{i} if x < {i} else " for i in range(depth)) + "x",
        "ifs": "def g(x):\n" + "".join(" " * (i + 1) + f"if x > {i}:\n" for i in range(min(depth, 95))) + " " * 97 + "x = 0\n return x",
        "powers": "def g(x): return " + " ** ".join(["x"] * min(depth, 30)),
    }[shape]
    scope = {}
    try:
        exec(compile(text, "<deep>", "exec"), scope)
    except (RecursionError, MemoryError, SyntaxError):
        return
    start = time.perf_counter()
    try:
        lw.vectorize(scope["g"], source=text, cache=False)(0.5)
    except (CompileError, OSError, MemoryError) as problem:
        assert depth > 100 and str(problem), problem
    assert time.perf_counter() - start < (120 if SLOW else 20)


@pytest.mark.slow_with_sanitizers
@pytest.mark.thorough("test_reader.py reads as many, and test_budgets.py compiles 40,000")
def test_a_hundred_thousand_statements():
    text = "def g(x):\n" + "    x = x + 1\n" * 100_000 + "    return x\n"
    scope = {}
    exec(compile(text, "<long>", "exec"), scope)
    try:
        lw.explain(scope["g"], "f8(f8)")
    except (CompileError, OSError) as problem:
        assert str(problem)


def test_names_never_reach_the_file_system(tmp_path):
    """Nor do they reach the code generator unescaped."""
    for name in ("../../x", "a/b", "a\\b", "x" * 5000, "ÄÖ€", "a b", "%s%n", '"', "\n", "lw_body", "main", "malloc"):
        def g(x):
            return x + 3
        g.__name__ = g.__qualname__ = name
        u = lw.vectorize(g, cache=False)
        assert u(1.0) == 4.0 and u.__name__ == name
        assert len(lw.compile(g, "f4(f4)", "sm_90", "nvvm")) > 10


# ---- compile, explain, types, config, cache ------------------------------------------------------------------

OTHERS = [
    ("compile nothing", lambda: lw.compile(), TypeError, ""),
    ("compile a number", lambda: lw.compile(3, "f8(f8)"), TypeError, ""),
    ("compile target", lambda: lw.compile(one, "f8(f8)", "sm_10"), ValueError, "sm_10"),
    ("compile target text", lambda: lw.compile(one, "f8(f8)", "nonsense"), ValueError, "nonsense"),
    ("compile target number", lambda: lw.compile(one, "f8(f8)", 90), TypeError, "target"),
    ("compile long target", lambda: lw.compile(one, "f8(f8)", "sm_" + "9" * 100_000), ValueError, "target"),
    ("compile target and more", lambda: lw.compile(one, "f8(f8)", "sm_90abc"), ValueError, "sm_90abc"),
    ("compile target with a sign", lambda: lw.compile(one, "f8(f8)", "sm_+90"), ValueError, "sm_"),
    ("inspect target and more", lambda: lw.vectorize(one).inspect_ptx("f8(f8)", "sm_90abc"), ValueError, "sm_90abc"),
    ("inspect target unknown", lambda: lw.vectorize(one).inspect_ptx("f8(f8)", "sm_91"), ValueError, "sm_91"),
    ("compile null target", lambda: lw.compile(one, "f8(f8)", "sm_90\0"), ValueError, ""),
    ("compile output", lambda: lw.compile(one, "f8(f8)", "sm_90", "exe"), ValueError, "exe"),
    ("compile output number", lambda: lw.compile(one, "f8(f8)", "sm_90", 1), TypeError, "output"),
    ("compile ptx on cpu", lambda: lw.compile(one, "f8(f8)", "cpu", "ptx"), ValueError, "ptx"),
    ("compile object on gpu", lambda: lw.compile(one, "f8(f8)", "sm_90", "object"), ValueError, "object"),
    ("compile sig number", lambda: lw.compile(one, 3), TypeError, ""),
    ("compile sig None", lambda: lw.compile(one, None), (TypeError, ValueError), ""),
    ("compile wrong count", lambda: lw.compile(one, "f8(f8, f8)"), (CompileError, TypeError), ""),
    ("compile keyword", lambda: lw.compile(one, "f8(f8)", colour=1), TypeError, "colour"),
    ("explain nothing", lambda: lw.explain(), TypeError, ""),
    ("explain a number", lambda: lw.explain(3, "f8(f8)"), TypeError, ""),
    ("explain wrong count", lambda: lw.explain(one, "f8()"), (CompileError, TypeError), ""),
    ("typeof a text", lambda: lw.typeof("x"), (TypeError, ValueError), ""),
    ("typeof odd", lambda: lw.typeof(Odd()), (TypeError, ZeroDivisionError), ""),
    ("typeof nothing", lambda: lw.typeof(), TypeError, ""),
    ("from_dtype", lambda: lw.from_dtype(">U3"), (TypeError, ValueError), ""),
    ("from_dtype object", lambda: lw.from_dtype(object), (TypeError, ValueError), ""),
    ("type called with text", lambda: lw.float64("x"), (TypeError, ValueError), ""),
    ("type indexed", lambda: lw.float64[3], (TypeError, IndexError, ValueError), ""),
    ("type of 100 dimensions", lambda: lw.float64[(slice(None),) * 100], (TypeError, ValueError), ""),
    ("type of void", lambda: lw.void[:], (TypeError, ValueError), ""),
    ("config target", lambda: setattr(lw.config, "target", "gpu"), ValueError, "target"),
    ("config target number", lambda: setattr(lw.config, "target", 3), ValueError, "target"),
    ("config int", lambda: setattr(lw.config, "threads", "many"), ValueError, "threads"),
    ("config huge", lambda: setattr(lw.config, "threads", 10**30), ValueError, "threads"),
    ("config negative threads", lambda: setattr(lw.config, "threads", -3), ValueError, "threads"),
    ("config float", lambda: setattr(lw.config, "cache_size_mb", 1.5), ValueError, "cache_size_mb"),
    ("config negative", lambda: setattr(lw.config, "cache_size_mb", -1), ValueError, "cache_size_mb"),
    ("config null", lambda: setattr(lw.config, "cache_dir", "a\0b"), ValueError, "cache_dir"),
    ("config list", lambda: setattr(lw.config, "threads", [1]), ValueError, "threads"),
    ("config with", lambda: lw.config(target="gpu").__enter__(), ValueError, "target"),
    ("cache clear keyword", lambda: lw.cache.clear(colour=1), TypeError, "colour"),
    ("pickle version", lambda: _pickling.rebuild(99, "vectorize", None, None, None, {}), ValueError, "99"),
    ("pickle cut short", lambda: pickle.loads(pickle.dumps(total)[:-20]), (pickle.UnpicklingError, EOFError), ""),
    ("module attribute", lambda: getattr(lw, "fft"), AttributeError, "fft"),
    ("config attribute", lambda: getattr(lw.config, "colour"), AttributeError, "colour"),
    ("config set attribute", lambda: setattr(lw.config, "colour", 1), AttributeError, "colour"),
    ("config with unknown", lambda: lw.config(colour=1), AttributeError, "colour"),
]


@table(OTHERS)
def test_others(work, error, words):
    if error is AttributeError:
        with pytest.raises(error, match=words):
            work()
        return
    refused(work, error, words)


def test_there_are_enough_cases():
    assert len(KEYWORDS) + len(BAD_SIGNATURES) + len(SIGNATURES) + len(ADDED) + len(CALLS) + len(FUNCTIONS) + len(OTHERS) >= 300


# ---- near misses ----


def identity_of(x):
    return x


def add_two(x, y):
    return x + y


def store(i, x):
    x[i] = i


def scaled(x, alpha=2.0):
    return x * alpha


def identity_row(x, out):
    out[:] = x


MISSPELT = [
    (lambda: lw.reduce(add_two, ident=0), "identity"),
    (lambda: lw.reduce(add_two, comutative=True), "commutative"),
    (lambda: lw.reduce(add_two, finnish=identity_of), "finish"),
    (lambda: lw.vectorize(identity_of, ident=0), "identity"),
    (lambda: lw.vectorize(nopyton=True), "nopython"),
    (lambda: lw.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)", size=lambda n: n), "sizes"),
    (lambda: lw.guvectorize("(n)->(n)", writeable_args=(0,)), "writable_args"),
    (lambda: lw.forall(dim=2), "ndim"),
    (lambda: lw.jit(devise=True), "device"),
    (lambda: lw.jit(launch_bound=32), "launch_bounds"),
    (lambda: lw.jit(max_register=32), "max_registers"),
    (lambda: lw.reduce(add_two)(np.ones(3), axs=0), "axis"),
    (lambda: lw.reduce(add_two)(np.ones(3), keepdim=True), "keepdims"),
    (lambda: lw.reduce(add_two).accumulate(np.ones(3), exclusve=True), "exclusive"),
    (lambda: lw.forall(store)(3, xs=np.ones(3)), None),
    (lambda: lw.forall(store)(3, np.ones(3), streem=0), "stream"),
    (lambda: lw.forall(store)(3, np.ones(3), shared=0), "sharedmem"),
    (lambda: lw.vectorize(identity_of, zzzz=0), None),
    (lambda: lw.vectorize(scaled)(1.0, alhpa=2.0), "alpha"),
    (lambda: lw.vectorize(scaled)(np.ones(3), otu=np.ones(3)), "out"),
    (lambda: lw.vectorize("f8(f8, f8)")(scaled)(1.0, 2.0, dtpye=float), "dtype"),
    (lambda: lw.vectorize(scaled)(1.0, zzzz=2.0), None),
    (lambda: lw.guvectorize("(n)->(n)")(identity_row)(np.ones(3), aixs=0), "axis"),
    (lambda: lw.ufuncs.add(np.ones(3), 1, wehre=True), "where"),
]


def test_misspelt_parameters_of_callees():
    def call(x):
        return scaled(x, alhpa=2.0)

    with pytest.raises(lw.errors.TypingError, match="E153(.|\n)*did you mean `alpha`"):
        lw.jit(call)(1.0)


def test_a_transposed_letter_is_nearest():
    def call(x):
        step = 2.0
        return x * setp  # noqa: F821

    with pytest.raises(lw.errors.TypingError, match="did you mean `step`"):
        lw.jit(call)(1.0)


@pytest.mark.parametrize("call, meant", MISSPELT, ids=[str(i) for i in range(len(MISSPELT))])
def test_misspelt_keywords(call, meant):
    with pytest.raises(TypeError, match=r"\(\) got an unexpected keyword argument '\w+'") as caught:
        call()
    assert str(caught.value).endswith(f"; did you mean '{meant}'?") or (meant is None and "mean" not in str(caught.value))


@pytest.mark.parametrize("signatures, argument", [
    (["f4(f4)"], np.arange(3.0)), (["f4(f4)"], np.arange(3) + 1j), (["i4(i4)"], np.arange(3.0)), (["i4(i4)"], np.int64(2)),
    (["u1(u1)", "f4(f4)"], np.arange(3.0))])
@pytest.mark.filterwarnings("ignore:Casting complex")
def test_advice_of_e181_helps(signatures, argument):
    f = lw.vectorize(signatures)(identity_of)
    with pytest.raises(TypeError, match="E181") as caught:
        f(argument)
    advice = str(caught.value).split("or pass ")[1]
    np.testing.assert_array_equal(eval(f"f(argument, {advice})", {"f": f, "argument": argument}), np.real(argument))


# ---- a message fits a screen, however long the text that it repeats ----

LONG = "x" * 10**6


class Talkative:
    def __repr__(self):
        return LONG


LONG_TEXTS = {
    "layout": lambda: lw.guvectorize("(" + "n," * 500_000 + ")->()")(lambda a, out: None),
    "layout's end": lambda: lw.guvectorize("(n)->()" + LONG)(lambda a, out: None),
    "signature": lambda: lw.vectorize("f8(" + "f8," * 300_000 + ")")(lambda x: x),
    "keyword": lambda: lw.vectorize(**{LONG: 1}),
    "static": lambda: lw.vectorize(static=LONG)(lambda a, n: a * n),
    "excluded": lambda: lw.vectorize(excluded={LONG})(lambda a, n: a * n),
    "operand": lambda: lw.vectorize(lambda x: x)(Talkative()),
    "field": lambda: lw.from_dtype(np.dtype([(LONG, "O")])),
    "output": lambda: lw.compile(lambda x: x, "f8(f8)", "cpu", LONG),
    "setting": lambda: setattr(lw.config, LONG, 1),
    "setting's value": lambda: setattr(lw.config, "target", LONG),
    "link": lambda: lw.cuda.jit(link=LONG)(lambda x: None),
    "types": lambda: lw.types.Tuple([Talkative()]),
    "size": lambda: lw.random.Generator(1).random(size=Talkative()),
    "state": lambda: setattr(lw.random.Generator(1), "state", Talkative()),
}


@pytest.mark.parametrize("name", LONG_TEXTS)
def test_messages_fit_a_screen(name):
    with pytest.raises(Exception) as caught:
        LONG_TEXTS[name]()
    assert len(str(caught.value)) < 4200, str(caught.value)[:200]


@pytest.mark.parametrize("place", [-1, 2**80, 1.5, "1", None])
def test_place_of_a_generators_state(place):
    """A C field of a recent Python takes -1 for 2**64 - 1."""
    made = lw.random.Generator(1)
    before = made.state
    with pytest.raises((ValueError, TypeError), match="state's place"):
        made.state = before | {"place": place}
    assert made.state == before


def bad_lanes(good):
    """What pretends to be the 65536 lanes of a xoroshiro128p generator, which kernels index without checking how many there are."""
    return ["x", 3, [1], [[1, 2]], good[:-1], good[:0], np.tile(good, 2), good[None], good.view("u1"), good.view("u8"), np.full(good.shape, np.nan),
            np.array(["a"]), good.astype(good.dtype.newbyteorder()), np.zeros_like(good)]


FIELDS = [("key", v) for v in (-1, 1.5, float("nan"), "12", None, (1,), (1, 2, 3), (-1, 0), (0, 2**32), (0, 1.5), (0, float("nan")), ("1", "2"), (None, 0), b"12",
                               np.array([1.5, 2.5]), (True, True))]
FIELDS += [("jumps", v) for v in (-1, 2**30, 2**80, 1.5, float("nan"), "1", None, [1], True, np.int8(-1))]
FIELDS += [("place", v) for v in (-1, 2**64, 2**80, 1.5, float("nan"), "1", None, [1], True, np.int8(-1))]


@pytest.mark.parametrize("bit_generator", ["philox", "xoroshiro128p"])
def test_fields_of_a_generators_state(bit_generator):
    """Each is refused by its name, and nothing of the generator changes."""
    with lw.config(target="cpu"):
        made = lw.random.Generator(1, bit_generator)
        made.random(3)
        before = made.state
        lanes = lw.random.Generator(1, "xoroshiro128p")
        lanes.random(3)
        expected = made.random(5)
        made.state = before
        for name, value in FIELDS + [("states", bad) for bad in bad_lanes(lanes.state["states"])]:
            with pytest.raises((ValueError, TypeError), match=f"state's {name}"):
                made.state = before | {name: value}
        for name in before:
            with pytest.raises(ValueError, match=f"state has no {name}|must be a dict"):
                made.state = {key: value for key, value in before.items() if key != name}
        for name, value in (("key", list(before["key"])), ("jumps", np.int64(before["jumps"])), ("place", np.uint8(before["place"]))):
            made.state = before | {name: value}
        np.testing.assert_array_equal(made.random(5), expected)
