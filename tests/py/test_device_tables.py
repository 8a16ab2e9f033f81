"""The tables of device arrays in core/tables name what exists on the other side, in NumPy and in the package's Python files."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from lanewise import _array_protocol, _device_array_kernels, cuda, reductions
from source_tree import rows


def names(table: str) -> list[str]:
    return [row[0] for row in rows(table, table.upper().removesuffix("S"))]


@pytest.mark.parametrize("name", names("device_operators"))
def test_operators_are_ufuncs_of_numpy(name):
    assert isinstance(getattr(np, name), np.ufunc)


@pytest.mark.parametrize("name", names("device_functions"))
def test_functions_with_a_shortcut_have_their_other_forms(name):
    """C passes the forms of a call that it does not know to the Python file."""
    assert getattr(np, name) in _array_protocol._FUNCTIONS or name in _array_protocol._BY_METHOD


@pytest.mark.parametrize("name", names("device_kernels"))
def test_kernels_are_there(name):
    assert callable(getattr(_device_array_kernels, name))


@pytest.mark.parametrize("row", rows("device_methods", "DEVICE_METHOD"), ids=lambda row: row[0])
def test_methods_reduce_by_a_reduction(row):
    name, reduction, _rule, has_dtype, is_scan = row
    assert callable(getattr(cuda.DeviceArray, name)) and callable(getattr(reductions, name))
    assert hasattr(reductions, ast.literal_eval(reduction))
    assert {has_dtype, is_scan} <= {"true", "false"} and (is_scan == "true") == name.startswith("cum")
