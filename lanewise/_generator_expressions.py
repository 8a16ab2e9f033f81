"""``sum(e for v in it)`` and ``np.array([e for v in it])`` in compiled code: the loop that it stands for, as a function
of Python's AST.

The front end reads that function in the place of the call (core/front/read/array_function.c).
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

_TOTAL, _VALUE, _FOUND = ".total", ".value", ".found"  # no names of the user's


def widened(x):
    """Compiled, never called: what a sum of x's adds."""
    if isinstance(x, (bool, np.bool_, np.int8, np.int16, np.int32)):
        return np.int64(x)
    if isinstance(x, (np.uint8, np.uint16, np.uint32)):
        return np.uint64(x)
    return x


def grown(a):
    """Compiled, never called: the same elements, and room for as many again."""
    b = np.empty(2 * len(a), a.dtype)
    b[: len(a)] = a
    return b


def kept(a, n):
    """Compiled, never called: the first n elements, in memory of their own."""
    return a[:n].copy()


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _constant(value: Any) -> ast.expr:
    return ast.Constant(value)


def _raise(text: str) -> ast.stmt:
    return ast.Raise(ast.Call(_constant(ValueError), [_constant(text)], []), None)


def _accumulate(op: ast.operator, start: ast.expr, element: ast.expr):
    add = ast.AugAssign(ast.Name(_TOTAL, ast.Store()), op, ast.Call(_constant(widened), [element], []))
    return [_set(_TOTAL, start)], [add], [ast.Return(_load(_TOTAL))]


def _extreme(name: str, op: ast.cmpop, element: ast.expr):
    better = ast.BoolOp(
        ast.Or(), [ast.UnaryOp(ast.Not(), _load(_FOUND)), ast.Compare(_load(_VALUE), [op], [_load(_TOTAL)])]
    )
    take = ast.If(better, [_set(_TOTAL, _load(_VALUE)), _set(_FOUND, _constant(True))], [])
    empty = ast.If(ast.UnaryOp(ast.Not(), _load(_FOUND)), [_raise(f"{name}() iterable argument is empty")], [])
    before = [_set(_TOTAL, _constant(0)), _set(_FOUND, _constant(False))]
    return before, [_set(_VALUE, element), take], [empty, ast.Return(_load(_TOTAL))]


def _find(answer: bool, element: ast.expr):
    test = element if answer else ast.UnaryOp(ast.Not(), element)
    return [], [ast.If(test, [ast.Return(_constant(answer))], [])], [ast.Return(_constant(not answer))]


def _parts(name: str, element: ast.expr, start: ast.expr | None):
    """What stands before the loop, in it, and behind it."""
    if name == "sum":
        return _accumulate(ast.Add(), start or _constant(0), element)
    if name == "prod":
        return _accumulate(ast.Mult(), start or _constant(1), element)
    if name in ("min", "max"):
        return _extreme(name, ast.Lt() if name == "min" else ast.Gt(), element)
    return _find(name == "any", element)


def _fill(element: ast.expr, dtype: ast.expr | None, loops) -> list[ast.stmt]:
    """An array that grows. All of it stands in a loop, although that runs once: so the values that the variable may
    have where the array is made are those of the elements, and its type is theirs. The bool in front of the loop has
    the type of the numbers beside it."""
    room = ast.Call(_constant(np.empty), [_constant(8), dtype or ast.Call(_constant(type), [_load(_VALUE)], [])], [])
    is_full = ast.Compare(_load(_FOUND), [ast.Eq()], [ast.Call(_constant(len), [_load(_TOTAL)], [])])
    place = ast.Subscript(_load(_TOTAL), _load(_FOUND), ast.Store())
    body = [
        _set(_VALUE, element),
        ast.If(is_full, [_set(_TOTAL, ast.Call(_constant(grown), [_load(_TOTAL)], []))], []),
        ast.Assign([place], _load(_VALUE)),
        ast.AugAssign(ast.Name(_FOUND, ast.Store()), ast.Add(), _constant(1)),
    ]
    made = ast.Return(ast.Call(_constant(kept), [_load(_TOTAL), _load(_FOUND)], []))
    always = ast.Compare(_load(_FOUND), [ast.GtE()], [_constant(0)])
    once = [_set(_TOTAL, room), _set(_FOUND, _constant(0)), *loops(body), ast.If(always, [made], [])]
    return [_set(_VALUE, _constant(False)), ast.While(_constant(True), once, [])]


def _start(name: str, call: ast.Call) -> ast.expr | None:
    if len(call.args) == 2:
        return call.args[1]
    return call.keywords[0].value if call.keywords else None


def _suits(name: str, call: ast.Call) -> bool:
    """Are the call's other arguments ones that the loop understands?"""
    if any(isinstance(node, (ast.NamedExpr, ast.Starred)) for node in ast.walk(call)):
        return False
    if any(one.is_async for one in call.args[0].generators):  # type: ignore[attr-defined]
        return False
    others = len(call.args) - 1 + len(call.keywords)
    if name == "array":
        return others == 0 or (others == 1 and all(keyword.arg == "dtype" for keyword in call.keywords))
    by_name = all(keyword.arg == "start" for keyword in call.keywords)
    if name == "prod":
        return len(call.args) == 1 and by_name and others <= 1
    return others == 0 or (name == "sum" and others == 1 and by_name)


def loop(name: str, call: ast.Call) -> ast.FunctionDef | None:
    """The function without parameters that gives what ``name(e for …)`` gives; None: the loop cannot say it."""
    generator = call.args[0] if call.args else None
    if not isinstance(generator, (ast.GeneratorExp, ast.ListComp)) or not _suits(name, call):
        return None
    rows = (ast.Tuple, ast.List, ast.ListComp)
    if name == "array" and (isinstance(generator, ast.GeneratorExp) or isinstance(generator.elt, rows)):
        return None

    def loops(body: list[ast.stmt]) -> list[ast.stmt]:
        for one in reversed(generator.generators):
            for condition in reversed(one.ifs):
                body = [ast.If(condition, body, [])]
            body = [ast.For(one.target, one.iter, body, [])]
        return body

    if name == "array":
        statements = _fill(generator.elt, _start(name, call), loops)
    else:
        before, body, behind = _parts(name, generator.elt, _start(name, call))
        statements = [*before, *loops(body), *behind]
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    function = ast.FunctionDef(f"<{name} of a generator expression>", nothing, statements, [])
    return ast.fix_missing_locations(ast.copy_location(function, call))
