"""Ranges that variables hold, ``r = range(n) if up else range(n - 1, -1, -1)``.

In compiled code a range is a part of the loop that goes over it. A variable to which nothing but ranges is assigned holds their bounds, a tuple of
three numbers, and where it is read there is a range of these (lanewise/_rewriting.py).
"""

from __future__ import annotations

import ast
import builtins
from typing import Any


def checked(step):
    """The third argument of a range. It is compiled and never called."""
    if step == 0:
        raise ValueError("range() arg 3 must not be zero")
    return step


def _parts(value: ast.expr | None) -> list[ast.expr | None]:
    """What a conditional expression chooses between."""
    return _parts(value.body) + _parts(value.orelse) if isinstance(value, ast.IfExp) else [value]


def _is_range(node: ast.expr | None) -> bool:
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
    return is_call and 1 <= len(node.args) <= 3 and not node.keywords and not any(isinstance(arg, ast.Starred) for arg in node.args)  # type: ignore[union-attr]


def _is_kept(value: ast.expr | None, names: set[str]) -> bool:
    return all(_is_range(part) or (isinstance(part, ast.Name) and part.id in names) for part in _parts(value))


def _names_of_ranges(function: ast.FunctionDef, own: set[str]) -> set[str]:
    values: dict[str, list[ast.expr]] = {}
    stores: list[str] = [arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)]
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    values.setdefault(target.id, []).append(node.value)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            stores.append(node.id)
        if isinstance(node, (ast.FunctionDef, ast.Lambda)) and node is not function:
            stores += [part.id for part in ast.walk(node) if isinstance(part, ast.Name)] * 2  # closures are read by themselves
    names = {name for name, given in values.items() if name in own and stores.count(name) == len(given)}
    while not all(_is_kept(value, names) for name in names for value in values[name]):
        names = {name for name in names if all(_is_kept(value, names) for value in values[name])}
    return names


class _Ranges(ast.NodeTransformer):
    def __init__(self, names: set[str]) -> None:
        self.names = names

    def _bounds(self, value: Any) -> Any:
        """The numbers of a range, or of those that a conditional expression chooses between."""
        if isinstance(value, ast.IfExp):
            made: Any = ast.IfExp(self.visit(value.test), self._bounds(value.body), self._bounds(value.orelse))
        elif isinstance(value, ast.Name):
            made = value
        else:
            args = [self.visit(arg) for arg in value.args]
            if len(args) == 3 and not isinstance(args[2], (ast.Constant, ast.UnaryOp)):
                check: Any = checked  # no constant of Python's, but one of the front end's
                args[2] = ast.copy_location(ast.Call(ast.copy_location(ast.Constant(check), args[2]), [args[2]], []), args[2])
            first = [ast.Constant(0)] if len(args) == 1 else []
            made = ast.Tuple([*first, *args, *[ast.Constant(1)] * (2 - len(first + args[1:]))], ast.Load())
        return ast.copy_location(made, value)

    def visit_Assign(self, node: ast.Assign) -> Any:
        if any(isinstance(target, ast.Name) and target.id in self.names for target in node.targets):
            return ast.copy_location(ast.Assign(node.targets, self._bounds(node.value)), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id not in self.names or not isinstance(node.ctx, ast.Load):
            return node
        parts = [ast.Subscript(node, ast.copy_location(ast.Constant(i), node), ast.Load()) for i in range(3)]
        called: Any = builtins.range  # no constant of Python's, but one of the front end's
        function = ast.copy_location(ast.Constant(called), node)
        return ast.copy_location(ast.Call(function, [ast.copy_location(part, node) for part in parts], []), node)  # type: ignore[arg-type]

    def visit_For(self, node: ast.For) -> Any:
        if not isinstance(node.iter, ast.IfExp) or not _is_kept(node.iter, self.names):
            return self.generic_visit(node)
        name = ast.copy_location(ast.Name(f".{node.lineno}.{node.col_offset} range", ast.Store()), node.iter)
        self.names.add(name.id)
        bounds = ast.copy_location(ast.Assign([name], self._bounds(node.iter)), node)
        node.iter = ast.copy_location(ast.Name(name.id, ast.Load()), node.iter)
        return [bounds, self.generic_visit(node)]

    def _leave(self, node: Any) -> Any:
        return node

    visit_FunctionDef = visit_Lambda = visit_ClassDef = _leave


def rewritten(function: ast.FunctionDef, compiled: Any, names: dict[str, Any]) -> ast.FunctionDef | None:
    """None: no variable holds a range, and no loop goes over one that is chosen."""
    own = {*compiled.__code__.co_varnames, *compiled.__code__.co_cellvars}
    if "range" in own or names.get("range", builtins.range) is not builtins.range:
        return None
    ranges = _Ranges(_names_of_ranges(function, own))
    if not ranges.names and not any(isinstance(node, ast.For) and isinstance(node.iter, ast.IfExp) for node in ast.walk(function)):
        return None
    body: list[ast.stmt] = []
    for statement in function.body:
        made = ranges.visit(statement)
        body += made if isinstance(made, list) else [made]
    if not ranges.names:
        return None
    return ast.copy_location(ast.FunctionDef(function.name, function.args, body, function.decorator_list), function)
