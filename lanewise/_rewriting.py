"""Functions that are rewritten, as Python ASTs, before the front end reads them (core/front/read/python.c)."""

from __future__ import annotations

import ast
import copy
import types
from typing import Any

from lanewise import _dict_displays, _formatted_texts, _kept_ranges, _list_displays, _mapped, _unrolled_loops


_EMPTY = types.CellType()


def rewritten(function: ast.FunctionDef | ast.Lambda, compiled: Any) -> ast.FunctionDef | ast.Lambda:
    """The function itself, if nothing in it has to be written in another way. compiled: the function of Python."""
    if not isinstance(function, ast.Lambda):
        return _rewritten(function, compiled)
    whole = ast.copy_location(ast.FunctionDef("<lambda>", function.args, [ast.copy_location(ast.Return(function.body), function.body)], []), function)
    made = _rewritten(whole, compiled)
    result = made.body[0]
    if made is whole or not isinstance(result, ast.Return) or result.value is None:
        return function
    return ast.copy_location(ast.Lambda(made.args, result.value), function)


def _rewritten(function: ast.FunctionDef, compiled: Any) -> ast.FunctionDef:
    function = _unrolled_loops.rewritten(function) or function
    names = _names(compiled)
    if _formatted_texts.has_texts(function):
        function = _formatted_texts.rewritten(copy.deepcopy(function), names)
    if _mapped.has_calls(function):
        function = _mapped.rewritten(copy.deepcopy(function), names)
    function = _kept_ranges.rewritten(function, compiled, names) or function
    function = _dict_displays.rewritten(function, names) or function
    return _list_displays.rewritten(function, names, compiled) or function


def _names(compiled: Any) -> dict[str, Any]:
    """The globals, and the closure variables that have a value."""
    cells = dict(zip(compiled.__code__.co_freevars, compiled.__closure__ or ()))
    return {**compiled.__globals__, **{name: cell.cell_contents for name, cell in cells.items() if cell != _EMPTY}} if cells else compiled.__globals__
