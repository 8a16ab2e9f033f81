"""Functions of ctypes and cffi called from compiled code, and compiled functions as functions of C."""

from __future__ import annotations

import ctypes
import ctypes.util
import gc
import importlib.util
import math
import sys

import numpy as np
import pytest

import lanewise as lw
from lanewise import carray, cfunc, errors, extending, farray, njit, types

LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
PyObject = ctypes.py_object


def function(name, result, *arguments):
    made = ctypes.CFUNCTYPE(result, *arguments)((name, LIBM))
    made.__name__ = name
    return made


cbrt = function("cbrt", ctypes.c_double, ctypes.c_double)
ldexp = function("ldexp", ctypes.c_double, ctypes.c_double, ctypes.c_int)
sqrtf = function("sqrtf", ctypes.c_float, ctypes.c_float)
modf = function("modf", ctypes.c_double, ctypes.c_double, ctypes.POINTER(ctypes.c_double))
qsort = ctypes.CDLL(None).labs
qsort.argtypes, qsort.restype = [ctypes.c_long], ctypes.c_long


# ---- functions of ctypes ----

def test_numbers_of_ctypes():
    @njit
    def f(x, n):
        return cbrt(x), ldexp(x, n), sqrtf(lw.float32(x)), qsort(-n)

    assert f(8.0, 3) == (2.0, 64.0, float(np.float32(math.sqrt(8))), 3)
    with pytest.raises(errors.TypingError, match="E120|E142"):
        njit(lambda x: ldexp(x, x))(1.5)
    with pytest.raises(errors.TypingError, match="E153"):
        njit(lambda x: cbrt(x, x))(1.5)


def test_pointers_of_ctypes():
    @njit
    def f(x, out):
        return modf(x, out)

    out = np.zeros(1)
    assert f(2.75, out) == 0.75 and out[0] == 2.0
    with pytest.raises(errors.TypingError, match="float64"):
        f(2.75, np.zeros(1, np.float32))
    out.flags.writeable = False
    with pytest.raises(errors.CompileError, match="E162"):
        f(2.75, out)


def test_numbas_spellings_of_an_arrays_address():
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    ffi.cdef("double frexp(double, int *);")
    lib = ffi.dlopen(None)

    @njit
    def f(x, out, e):
        return modf(x, out.ctypes), lib.frexp(x, ffi.from_buffer(e)), lib.frexp(2 * x, ffi.from_buffer("int[]", e))

    out, e = np.zeros(1), np.zeros(1, np.int32)
    assert f(2.75, out, e) == (0.75, 0.6875, 0.6875) and (out[0], e[0]) == (2.0, 3)


def test_in_every_generator_on_the_cpu():
    x = np.arange(5000.0)
    assert (lw.vectorize(lambda x: cbrt(x))(x) == [cbrt(v) for v in x]).all()  # NumPy's has rounded otherwise

    @lw.forall
    def k(i, x, out):
        out[i] = cbrt(x[i])

    out = np.empty_like(x)
    k(len(x), x, out)
    np.testing.assert_allclose(out, np.cbrt(x), rtol=1e-15)
    total = lw.reduce(map=lambda x: cbrt(x), combine=lambda a, b: a + b, identity=0.0)
    assert total(x) == pytest.approx(np.cbrt(x).sum())


def test_a_function_of_ctypes_as_an_argument():
    @njit
    def apply(f, x):
        return f(x) + 1

    exp2 = function("exp2", ctypes.c_double, ctypes.c_double)
    assert apply(cbrt, 8.0) == 3.0 and apply(exp2, 3.0) == 9.0


def test_a_python_function_as_a_pointer():
    calls = []

    @ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    def seen(x):
        calls.append(x)
        return 10 * x

    @njit
    def f(x):
        return seen(x) + seen(x + 1)

    assert f(1.0) == 30.0 and calls == [1.0, 2.0]


def test_functions_of_cython():
    special = pytest.importorskip("scipy.special")
    address = extending.get_cython_function_address("scipy.special.cython_special", "gammaln")
    gammaln = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)
    x = np.linspace(0.5, 20, 100)
    assert (lw.vectorize(lambda x: gammaln(x))(x) == special.gammaln(x)).all()
    with pytest.raises(ValueError, match="no function 'nowhere'"):
        extending.get_cython_function_address("scipy.special.cython_special", "nowhere")
    with pytest.raises(ValueError, match="has no __pyx_capi__"):
        extending.get_cython_function_address("math", "sin")


def test_another_function_under_the_name():
    one = function("cbrt", ctypes.c_double, ctypes.c_double)
    other = function("exp2", ctypes.c_double, ctypes.c_double)
    space = {"g": one}
    exec("def f(x): return g(x)", space)
    f = njit(source="def f(x): return g(x)")(space["f"])
    assert f(8.0) == 2.0
    space["g"] = other
    assert f(3.0) == 8.0


def test_two_functions_of_one_name():
    py = [ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x, k=k: k * x) for k in (2, 3)]
    a, b = py

    @njit
    def f(x):
        return a(x), b(x)

    assert f(1.0) == (2.0, 3.0)


def test_the_code_is_for_this_process_alone(tmp_path):
    with lw.config(cache_dir=str(tmp_path)):
        kept = lambda: [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size > 400]  # noqa: E731
        assert njit(lambda x: cbrt(x) + 0.12345)(27.0) == pytest.approx(3.12345) and not kept()
        assert njit(lambda x: x + 0.12345)(3.0) == 3.12345 and kept()
        with pytest.raises(errors.UnsupportedError, match="E169.*another process"):
            lw.compile(lambda x: cbrt(x), "float64(float64)", target="cpu", output="object")


@pytest.mark.parametrize("door", [lambda f: lw.compile(f, "float64(float64)", target="sm_90", output="ptx"),
                                  lambda f: lw.compile(f, "float64(float64)", target="sm_90", output="nvvm")])
def test_there_is_no_such_function_on_a_gpu(door):
    def f(x):
        return cbrt(x)

    with pytest.raises(errors.UnsupportedError, match="E169: `cbrt` is a function of this process.*code for a GPU") as caught:
        door(f)
    assert caught.value.code == "E169" and __file__ in str(caught.value)


def test_what_cannot_be_called():
    class Pair(ctypes.Structure):
        _fields_ = [("x", ctypes.c_int)]

    bare = ctypes.CDLL(None).abs
    for made, said in [
        (bare, "doesn't define its argument types"),
        (ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_longdouble)(("fabsl", LIBM)), "argument, c_longdouble"),
        (ctypes.CFUNCTYPE(Pair, ctypes.c_int)(("abs", LIBM)), "result, Pair"),
        (ctypes.CFUNCTYPE(PyObject)(0), "result, py_object"),
        (ctypes.CFUNCTYPE(ctypes.c_int)(0), "NULL"),
        (ctypes.PYFUNCTYPE(ctypes.c_int)(lambda: 1), "needs the GIL"),
    ]:
        with pytest.raises(TypeError, match=said):
            njit(lambda: made())
    checked = ctypes.CDLL(None).atof
    checked.argtypes, checked.errcheck = [ctypes.c_void_p], lambda result, f, args: result
    with pytest.raises(TypeError, match="errcheck"):
        njit(lambda: checked())


# ---- functions of cffi ----

def test_cffi_of_a_library():
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    ffi.cdef("double cos(double); int printf(const char *, ...); double frexp(double, int *);")
    lib = ffi.dlopen(None)
    cos = lib.cos

    @njit
    def f(x, e):
        return cos(x), lib.cos(2 * x), lib.frexp(x, e)

    e = np.zeros(1, np.int32)
    assert f(0.5, e) == (math.cos(0.5), math.cos(1.0), 0.5) and e[0] == 0
    with pytest.raises(TypeError, match="any number of arguments"):
        njit(lambda: lib.printf())


@pytest.mark.slow_with_sanitizers
def test_cffi_of_a_compiled_module(tmp_path):
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    ffi.cdef("double twice(double); double sum(double *, int); _Bool positive(float); uint8_t next(uint8_t); void clear(void *, size_t);")
    ffi.set_source("_lanewise_test_cffi", "#include <string.h>\nstatic double twice(double x) { return 2 * x; }\n"
                   "static double sum(double *p, int n) { double s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }\n"
                   "static _Bool positive(float x) { return x > 0; }\nstatic uint8_t next(uint8_t x) { return x + 1; }\n"
                   "static void clear(void *p, size_t n) { memset(p, 0, n); }")
    try:
        path = ffi.compile(tmpdir=str(tmp_path))
    except Exception as problem:  # no compiler of C
        pytest.skip(f"cffi has no compiler: {problem}")
    spec = importlib.util.spec_from_file_location("_lanewise_test_cffi", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lib, twice = module.lib, module.lib.twice

    @njit
    def f(x, a):
        total = lib.sum(a, len(a))
        lib.clear(a, 16)
        return twice(x), total, lib.positive(lw.float32(x)), lib.next(lw.uint8(255))

    a = np.arange(5.0)
    assert f(1.5, a) == (3.0, 10.0, True, 0) and a.tolist() == [0, 0, 2, 3, 4]


# ---- compiled functions as functions of C ----

def test_cfunc():
    @cfunc("float64(float64, int32, bool)")
    def f(x, n, negative):
        """x times n"""
        return -x * n if negative else x * n

    assert f.ctypes(1.5, 2, True) == -3.0 and f.ctypes(1.5, 2, False) == 3.0
    assert f(1.5, 2, True) == -3.0 and f.__name__ == "f" and f.__doc__ == "x times n"
    assert f.ctypes.argtypes == (ctypes.c_double, ctypes.c_int32, ctypes.c_bool)
    assert ctypes.cast(f.ctypes, ctypes.c_void_p).value == f.address
    assert f"@{f.native_name}(" in f.inspect_llvm() and "lw_entry" in f.inspect_asm()
    assert repr(f) == "<lanewise.CFunc 'f' float64(float64, int32, bool)>"


@pytest.mark.parametrize("name", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"])
def test_types_of_numbers(name):
    f = cfunc(f"{name}({name}, {name})")(lambda x, y: y)
    values = [False, True] if name == "bool" else [0, 1, 100] + ([-3] if name[0] in "if" else [250] if name != "float32" else [])
    assert [f.ctypes(0, v) for v in values] == values


def test_no_result_and_no_parameter():
    @cfunc("void(CPointer(float64))")
    def fill(out):
        for i in range(3):
            out[i] = i + 1

    out = np.zeros(4)
    assert fill.ctypes(np.ctypeslib.as_ctypes(out)) is None and out.tolist() == [1, 2, 3, 0]
    assert cfunc("int64()")(lambda: 7).ctypes() == 7


def test_the_code_lives_as_long_as_the_function_of_ctypes():
    call = cfunc("float64(float64)")(lambda x: x + 41).ctypes
    gc.collect()
    assert call(1.0) == 42.0


def test_cffi_pointers():
    cffi = pytest.importorskip("cffi")

    @cfunc("float32(float32*, int64, void*)", warn=False)
    def f(x, n, unused):
        total = lw.float32(0)
        for i in range(n):
            total += x[i]
        return total

    ffi = cffi.FFI()
    x = np.arange(4, dtype=np.float32)
    assert f.cffi(ffi.cast("float *", x.ctypes.data), 4, ffi.NULL) == 6.0
    assert "float(*)(float *, int64_t, void *)" in repr(f.cffi)


def test_carray_and_farray():
    @cfunc(types.void(types.CPointer(types.float64), types.voidptr, types.intc, types.intc))
    def copy(x, out, m, n):
        a = carray(x, (m, n))
        b = farray(out, (m, n), np.float64)
        for i in range(m):
            for j in range(n):
                b[i, j] = a[i, j] + carray(x, m * n)[0]

    x, out = np.arange(1.0, 7.0), np.zeros(6)
    pointer = x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    copy.ctypes(pointer, out.ctypes.data, 2, 3)
    assert (out.reshape(3, 2).T == x.reshape(2, 3) + 1).all()
    assert (carray(pointer, (2, 3)) == x.reshape(2, 3)).all() and (carray(pointer, 6) == x).all()
    assert (farray(ctypes.c_void_p(x.ctypes.data), (2, 3), np.float64) == x.reshape(3, 2).T).all()
    with pytest.raises(TypeError, match="needs the type"):
        carray(ctypes.c_void_p(x.ctypes.data), 3)
    with pytest.raises(TypeError, match="mismatching dtype 'float32' for pointer to float64"):
        carray(pointer, 3, np.float32)
    with pytest.raises(TypeError, match="expected a pointer"):
        carray(3, 3)


def test_scipy_calls_them():
    pytest.importorskip("scipy")
    from scipy import LowLevelCallable, integrate, ndimage

    @cfunc("float64(float64)")
    def bell(x):
        return math.exp(-x * x)

    assert integrate.quad(LowLevelCallable(bell.ctypes), -10, 10)[0] == pytest.approx(math.sqrt(math.pi))

    @cfunc("float64(intc, CPointer(float64))")
    def product(n, x):
        return x[0] * x[1] + n

    assert integrate.nquad(LowLevelCallable(product.ctypes), [[0, 1], [0, 1]])[0] == pytest.approx(2.25)

    @cfunc("intc(CPointer(float64), intp, CPointer(float64), voidptr)")
    def spread(window, n, out, _data):
        values = carray(window, n)
        out[0] = values.max() - values.min()
        return 1

    x = np.random.default_rng(2).random((40, 30))
    got = ndimage.generic_filter(x, LowLevelCallable(spread.ctypes), size=3)
    assert (got == ndimage.maximum_filter(x, 3) - ndimage.minimum_filter(x, 3)).all()


def test_what_it_raises(capfd):
    @cfunc("int64(int64)")
    def f(x):
        if x < 0:
            raise ValueError(f"got {x}")
        print("seen", x)
        return x + 1

    seen = []
    hook, sys.unraisablehook = sys.unraisablehook, seen.append
    try:
        assert f.ctypes(-5) == 0
    finally:
        sys.unraisablehook = hook
    assert [type(one.exc_value) for one in seen] == [ValueError] and "got -5" in str(seen[0].exc_value)
    assert f.ctypes(3) == 4 and "seen 3" in capfd.readouterr().out


def test_functions_of_jit_with_a_signature():
    @njit("float64(float64, int64)")
    def f(x, n):
        return x**n

    assert f.ctypes(2.0, 5) == 32.0 and isinstance(f.address, int) and f.native_name == "lw_entry"

    @njit
    def g(x):
        return x + 1

    with pytest.raises(ValueError, match="not compiled for any types yet"):
        g.address
    g(1.0)
    assert g.ctypes(2.5) == 3.5
    g(np.float32(1))
    with pytest.raises(ValueError, match="several types"):
        g.address
    h = njit(lambda x: x[0])
    h(np.zeros((3, 3))[:, 0])
    with pytest.raises(TypeError, match="takes numbers"):
        h.address
    with pytest.raises(TypeError, match="result of another kind"):
        njit("UniTuple(float64, 2)(float64)")(lambda x: (x, x)).address


def test_compiled_functions_call_a_cfunc():
    f = cfunc("float64(float64)")(lambda x: x * 3)
    assert njit(lambda x: f(x) + 1)(2.0) == 7.0


def test_they_call_each_other():
    inner = cfunc("float64(float64)")(lambda x: x * 3).ctypes

    @cfunc("float64(float64)")
    def outer(x):
        return inner(x) + 1

    assert outer.ctypes(2.0) == 7.0


def test_signatures_that_cannot_be():
    with pytest.raises(errors.SignatureError, match="complex"):
        cfunc("complex128(float64)")
    with pytest.raises(errors.SignatureError, match="arrays"):
        cfunc("float64(float64[:])")
    with pytest.raises(TypeError, match="result"):
        cfunc("(float64,)")
    with pytest.raises(TypeError, match="declares no result"):
        cfunc("void(float64)")(lambda x: x)
    with pytest.raises(errors.SignatureError, match="E180"):
        cfunc("float64(CPointer(float64[:]))")
    with pytest.raises(TypeError, match="unknown|unexpected|keyword"):
        cfunc("float64(float64)", nothing=1)(lambda x: x)
