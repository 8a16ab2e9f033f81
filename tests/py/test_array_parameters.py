"""The functions of core/tables/array_functions.def have NumPy's parameters: each that a call can give by its position stands
where NumPy has it and under its name, and its default is NumPy's. What NumPy has in between is given by name or not at all."""

from __future__ import annotations

import bisect
import builtins
import importlib
import heapq
import inspect
import math
import random

import numpy as np
import pytest

from source_tree import rows

MODULES = {"ARRAY_FUNCTIONS": "lanewise._array_functions", "NEW_ARRAYS": "lanewise._new_arrays", "ARRAY_LIBRARY": "lanewise._array_library", "ARRAY_PARTS": "lanewise._array_parts", "LINEAR_ALGEBRA": "lanewise._linear_algebra", "SPECIAL": "lanewise._special",
           "THREAD_RANDOM": "lanewise._thread_random", "PYTHON_RANDOM": "lanewise._python_random", "GROWING_LISTS": "lanewise._growing_lists", "GROWING_DICTS": "lanewise._growing_dicts"}
OWNERS = {"NUMPY": [np], "BOTH": [np, np.ndarray], "METHOD": [np.ndarray], "LINALG": [np.linalg], "STRIDES": [np.lib.stride_tricks], "MATH": [math], "PYTHON": [builtins], "RANDOM": [np.random], "PY_RANDOM": [random], "LISTS": [heapq, bisect, builtins]}
BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
# NumPy takes it by position too, which its signature does not say
UNSAID = {"arange": ["start", "stop", "step", "dtype"], "ranf": ["size"], "sample": ["size"]}
# NumPy has any number of arrays, `*arys`
VARIADIC = {"atleast_1d", "atleast_2d", "meshgrid"}


def pairs():
    for owner, name, module, helper, _ in rows("array_functions", "ARRAY_FUNCTION"):
        helper = getattr(importlib.import_module(MODULES[module]), helper.strip('"'))
        for home in OWNERS.get(owner, []):
            if not hasattr(home, name.strip('"')):
                continue
            function = getattr(home, name.strip('"'))
            try:
                signature = inspect.signature(function)
            except (TypeError, ValueError):  # NumPy before 2.4 for functions of C
                continue
            yield pytest.param(name.strip('"'), home, helper, signature, id=f"{home.__name__}." + name.strip(chr(34)))


@pytest.mark.parametrize("name, home, helper, signature", pairs())
def test_parameters_are_numpys(name, home, helper, signature):
    ours = list(inspect.signature(helper).parameters.values())
    theirs = list(signature.parameters.values())
    by_name = {p.name: p for p in theirs if p.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)}
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in theirs)
    if home is np.ndarray:  # the array itself
        ours, theirs = ours[1:], theirs[1:]
    places = [p for p in ours if p.kind in BY_POSITION]
    wanted = [p for p in theirs if p.kind in BY_POSITION]
    if name in VARIADIC or (name in UNSAID and [p.name for p in places] == UNSAID[name]):
        places = []
    if home is np.ndarray and takes_any:  # NumPy's methods have the parameters of the functions
        places = places[:len(wanted)]
    assert len(places) <= len(wanted)
    for p, w in zip(places, wanted):
        assert p.name == w.name or w.kind is inspect.Parameter.POSITIONAL_ONLY
    for p in ours:
        if p.kind is inspect.Parameter.KEYWORD_ONLY:
            assert p.name in by_name or takes_any
        w = by_name.get(p.name)
        if (name, p.name) == ("sum", "start") and home is builtins:  # None: 0 of the type that the sum has
            continue
        if w is not None and isinstance(w.default, (bool, int, float, str)) and w.default is not inspect.Parameter.empty:
            assert p.default == w.default and type(p.default) is type(w.default)


def test_rows_have_signatures():
    """The table that is compared is not empty."""
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        assert len(list(pairs())) > 130
    assert len(list(pairs())) > 60
