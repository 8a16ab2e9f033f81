"""Imports of names that only numba has: the error says what to write instead."""

from __future__ import annotations

import importlib.util
import re

import numpy as np
import pytest

import lanewise as lw
from lanewise import _numba_names


@pytest.mark.parametrize("statement, error, says", [
    ("from lanewise import pndindex", ImportError, r"lanewise has no 'pndindex', which numba has: .*prange\(x\.shape\[0\]\)"),
    ("from lanewise import jitclass", ImportError, "from lanewise.experimental import jitclass.*a class needs no decorator"),
    ("from lanewise.core import types", ModuleNotFoundError, "`numba.core.types` is `lanewise.types`"),
    ("import lanewise; lanewise.objmode", AttributeError, "has no attribute 'objmode', which numba has: there is no object mode"),
    ("from lanewise import threading_layer", ImportError, "a single pool of threads"), ("from lanewise import parallel_chunksize", ImportError, "leave it out"),
    ("from lanewise.errors import NumbaPerformanceWarning", ImportError, "lanewise.errors has no 'NumbaPerformanceWarning', which numba has: `PerformanceWarning`"),
    ("from lanewise.errors import NumbaDeprecationWarning", ImportError, "leave the filter out"),
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
    """What numba's functions have and ours do not says what to write; others are Python's own error."""
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
    for name, says in (("ElementwiseKernel", "which CuPy has: `lanewise.vectorize`"), ("asnumpy", "copy_to_host"), ("zeros", "which NumPy has: `numpy.zeros` takes device arrays")):
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
