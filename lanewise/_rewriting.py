"""Functions that are rewritten, as Python ASTs, before the front end reads them (core/front/read/python.c)."""

from __future__ import annotations

import ast
from typing import Any

from lanewise import _list_displays, _unrolled_loops


def rewritten(function: ast.FunctionDef, compiled: Any) -> ast.FunctionDef:
    """The function itself, if nothing in it has to be written in another way. compiled: the function of Python."""
    function = _unrolled_loops.rewritten(function) or function
    return _list_displays.rewritten(function, compiled.__globals__) or function
