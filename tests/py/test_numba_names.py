"""Imports of names that only numba has: the error says what to write instead."""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import re
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import _numba_names


@pytest.mark.parametrize("statement, error, says", [
    ("from lanewise import pndindex", ImportError, r"lanewise has no 'pndindex', which numba has: .*prange\(x\.shape\[0\]\)"),
    ("from lanewise import jitclass", ImportError, "from lanewise.experimental import jitclass.*a class needs no decorator"),
    ("from lanewise.core import types", ModuleNotFoundError, "`numba.core.types` is `lanewise.types`"),
    ("import lanewise; lanewise.jit_module", AttributeError, "has no attribute 'jit_module', which numba has: decorate each function"),
    ("from lanewise import threading_layer", ImportError, "a single pool of threads"), ("from lanewise import parallel_chunksize", ImportError, "leave it out"),
    ("from lanewise.errors import LoweringError", ImportError, "lanewise.errors has no 'LoweringError', which numba has: `CompileError`"),
    ("import lanewise; lanewise.errors.NumbaError", AttributeError, "`LanewiseError` is the base"),
    ("import lanewise; lanewise.errors.nothing", AttributeError, "module 'lanewise.errors' has no attribute 'nothing'$"),
    ("import lanewise; lanewise.nothing", AttributeError, "module 'lanewise' has no attribute 'nothing'$"),
    ("from lanewise import nothing", ImportError, "cannot import name 'nothing'"),
    ("import lanewise.nothing", ModuleNotFoundError, "No module named 'lanewise.nothing'$"),
])
def test_errors(statement, error, says):
    with pytest.raises(error, match=says) as caught:
        exec(statement)
    assert type(caught.value) is error


@pytest.mark.parametrize("statement, says", [
    ("from lanewise.cuda import vectorize", "from lanewise import vectorize"), ("from lanewise.cuda import cudadrv", "errors.DriverError"),
    ("from lanewise import gdb_init", "LANEWISE_TARGET|target="),
])
def test_names_of_cuda(statement, says):
    with pytest.raises(ImportError, match=f"which numba has: .*{says}"):
        exec(statement)


@pytest.mark.parametrize("name, says", [
    ("deferred_type", "no declared types"), ("StructRef", "jitclass"), ("string", "unicode_type"), ("List", "`types.ListType"), ("Bytes", "np.frombuffer"),
])
def test_names_of_types(name, says):
    with pytest.raises(AttributeError, match=f"lanewise.types has no {name}: .*{says}"):
        getattr(lw.types, name)


def test_stats_have_numbas_names_in_their_errors():
    f = lw.njit(lambda x: x + 1)
    f(1)
    assert isinstance(f.stats, dict) and f.stats["specialisations"] == 1
    for name, says in (("cache_hits", "from_disk"), ("cache_misses", "compiled"), ("cache_path", "lanewise.cache.info")):
        with pytest.raises(AttributeError, match=f"{name}.*which numba has: .*{says}"):
            getattr(f.stats, name)
    with pytest.raises(AttributeError, match="'dict' object has no attribute 'nothing'$"):
        f.stats.nothing


def test_what_asks_gets_an_answer():
    for name in _numba_names.HINTS:
        assert not hasattr(lw, name) and getattr(lw, name, 3) == 3 and name not in dir(lw)
        assert importlib.util.find_spec(f"lanewise.{name}") is None
    names = {}
    exec("from lanewise import *", names)
    assert "njit" in names and "objmode" not in names


def test_names_of_a_dispatcher():
    @lw.njit
    def f(x):
        return x + 1

    f(np.float32(1))
    assert f.nopython_signatures == f.signatures == ["float32(float32)"]


@pytest.mark.parametrize("value, says", [
    ({"a": 1}, "lanewise.typed.Dict"), ({1, 2}, "by np.fromiter"), (b"ab", "by np.frombuffer"), (range(3), "pass its bounds"),
    (np.random.default_rng(1), "call the functions of np.random in the function"), (np.random.RandomState(1), "states of lanewise.random"),
])
def test_arguments_that_only_numba_takes(value, says):
    with pytest.raises(TypeError, match=f"argument `x` is a .*; expected an array, .*or an object or tuple of these; .*{says}"):
        lw.njit(lambda x: 1)(value)


@pytest.mark.parametrize("signature, says", [
    ("f8(list(f8))", "cannot name lists"), ("unicode_type(f8)", "cannot name strings"), ("ListType(f8)(f8)", "takes no lists that grow"), ("f8(DictType(i8,f8))", "no dicts"),
])
def test_types_that_only_numba_has(signature, says):
    with pytest.raises(lw.errors.SignatureError, match=f"E180: unknown type(.|\n)*{says}"):
        lw.njit(signature)(lambda x: x)


def test_a_function_that_returns_nothing_by_its_signature():
    with pytest.raises(lw.errors.TypingError, match="E183(.|\n)*if its signature has no `void` or `none`"):
        lw.njit("none(f8)")(lambda x: x)


def test_keywords_that_only_numba_has():
    with pytest.raises(TypeError, match="parallel= must be True, False or None, not a dict"):
        lw.njit(parallel={"fusion": False})(lambda x: x)
    with pytest.raises(lw.errors.KeywordError, match="target_backend(.|\n)*target="):
        lw.njit(target_backend="cpu")(lambda x: x)


def test_functions_that_make_lists():
    assert lw.njit(lambda x: sorted(x)[0])(np.array([3.0, 1.0, 2.0])) == 1.0
    with pytest.raises(lw.errors.TypingError, match=r"E152(.|\n)*np\.linalg\.cholesky"):
        lw.njit(lambda m, c: np.random.multivariate_normal(m, c))(np.ones(2), np.eye(2))


def test_attributes_of_compiled_functions():
    """For attributes that numba's functions have and ours do not, the error says what to write instead; for others it is Python's own."""
    f = lw.njit(lambda x: x + 1)
    assert f(1) == 2
    for name, instead in _numba_names.ATTRIBUTES.items():
        assert not hasattr(f, name)
        with pytest.raises(AttributeError, match="which numba has: " + re.escape(instead)):
            getattr(f, name)
    with pytest.raises(AttributeError, match="object has no attribute 'nonsense'$"):
        f.nonsense
    assert getattr(f, "nonsense", 3) == 3


def test_names_of_cupy_and_numpy():
    for name, says in (("ElementwiseKernel", "which CuPy has: `lanewise.vectorize`"), ("asnumpy", "copy_to_host"), ("zeros", "which NumPy has: `numpy.zeros` takes device arrays"), ("sum", "which NumPy has: `lanewise.reductions.sum` takes host and device arrays")):
        with pytest.raises(AttributeError, match=says):
            getattr(lw, name)
    with pytest.raises(ImportError, match="lanewise has no 'fuse', which CuPy has: `lanewise.vectorize`"):
        exec("from lanewise import fuse")
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'$"):
        lw.nonsense
    for name, says in (("normal", r"default_rng\(seed\).normal"), ("randn", "standard_normal"), ("seed", "default_rng"), ("philox_normal_float32", "philox_normal2_float32 returns two numbers")):
        with pytest.raises(AttributeError, match=says):
            getattr(lw.random, name)
    with pytest.raises(ImportError, match="philox_normal2_float64"):
        exec("from lanewise.random import philox_normal_float64")
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'$"):
        lw.random.nonsense


@pytest.mark.parametrize("name, says", [("Stream", "cuda.stream() makes a stream"), ("Event", "cuda.event() makes an event"), ("Device", "cuda.gpus[0] is a device")])
def test_classes_whose_objects_functions_make(name, says):
    with pytest.raises(TypeError, match=f"cannot create 'lanewise.cuda.{name}' instances: {re.escape(says)}"):
        getattr(lw.cuda, name)()


# ---- names that packages import and few of their functions use ----


def test_warnings_of_numba_are_names_for_filters():
    for name in ("DebugInfo", "Deprecation", "ExperimentalFeature", "IRAssumption", "InvalidConfig", "ParallelSafety", "Pedantic", "PendingDeprecation", "Performance", "TypeSafety"):
        assert issubclass(getattr(lw.errors, f"Numba{name}Warning"), lw.errors.NumbaWarning), name
    assert lw.errors.NumbaPerformanceWarning is lw.PerformanceWarning and issubclass(lw.PrecisionWarning, lw.errors.NumbaWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", lw.errors.NumbaWarning)
        warnings.warn("x", lw.PrecisionWarning)


def test_objmode_and_literally():
    from lanewise import literally, objmode

    def f(x):
        with objmode(y="float64"):
            y = x + 1.0
        return y

    assert f(1) == 2.0
    with pytest.raises(lw.errors.UnsupportedError, match="E101(?s:.*)call it from a Python function"):
        lw.njit(f)(1)
    assert literally(3) == 3 and lw.njit(lambda x: literally(x) + 1)(3) == 4


def test_intrinsics_fail_where_they_are_used():
    @lw.extending.intrinsic
    def popcount(context, x):
        raise AssertionError("never called")

    @lw.extending.intrinsic(prefer_literal=True)
    def other(context, x):
        raise AssertionError("never called")

    for function in (popcount, other):
        with pytest.raises(lw.errors.UnsupportedError, match=f"{function.__name__}: lanewise.extending.intrinsic is not available"):
            function(1)

    def total(x):
        t = 0
        for i in range(x.shape[0]):
            t += popcount(x[i])
        return t

    with pytest.raises(lw.errors.UnsupportedError, match=r"E152: `popcount` cannot be called(?s:.*)Write an overload\(func\)"):
        lw.njit(total)(np.ones(3))


def test_names_of_types_that_only_packages_need():
    assert not isinstance(lw.int64, lw.types.Omitted)
    with pytest.raises(lw.errors.UnsupportedError, match="leave parameters with a default value out"):
        lw.types.Omitted(3)
    assert lw.typed.typedlist.List is lw.typed.typeddict.List is lw.typed.List
    assert lw.version_info[:2] == tuple(map(int, lw.__version__.split(".")[:2])) and lw.version_info.major == lw.version_info[0]


def test_functions_by_their_wrapper_address():
    library = ctypes.CDLL(ctypes.util.find_library("m"))

    class Cosh(lw.types.WrapperAddressProtocol):
        def __wrapper_address__(self):
            return ctypes.cast(library.cosh, ctypes.c_void_p).value

        def signature(self):
            return lw.float64(lw.float64)

    class Nothing(lw.types.WrapperAddressProtocol):
        pass

    cosh, nothing = Cosh(), Nothing()
    assert lw.njit(lambda x: cosh(x))(1) == np.cosh(1.0)
    assert np.allclose(lw.vectorize(["f8(f8)"])(lambda x: cosh(x))(np.arange(3)), np.cosh(np.arange(3)))
    with pytest.raises(NotImplementedError, match="Nothing.signature must return"):
        lw.njit(lambda x: nothing(x))(1.0)
    with pytest.raises(TypeError, match="only compiled code calls"):
        cosh(1.0)
