"""Functions that are rewritten, as Python ASTs, before the front end reads them (core/front/read/python.c)."""

from __future__ import annotations

import ast

from lanewise import _growing_lists, _unrolled_loops


def rewritten(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function itself, if nothing in it has to be written in another way."""
    function = _unrolled_loops.rewritten(function) or function
    return _growing_lists.rewritten(function) or function
