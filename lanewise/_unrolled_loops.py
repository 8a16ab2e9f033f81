"""``for x in literal_unroll(t)`` in compiled code, where ``t`` is an argument, a variable or a tuple that is written there.

The items may have different types, so the body is copied for each item, before the function is read (lanewise/_rewriting.py). How many
items an argument has is known only when types are: each copy for one stands in ``if len(t) > i:``, which is decided when the function is compiled.
Loops over tuples from outside the function are unrolled by the front end (core/front/read/unroll.c).
"""

from __future__ import annotations

import ast
import copy
from typing import Any

_MOST = 16  # copies, where the number of items is not known


def _goes_on(node: ast.For) -> str:
    """The variable that says whether no copy of the loop has left it. Loops in loops have one each; no name of the user's."""
    return f".{node.lineno}.{node.col_offset} goes on"


def _constant(value: Any) -> ast.expr:
    return ast.Constant(value)


def _items_of(node: ast.For, own: set[str]) -> ast.expr | None:
    """The argument of literal_unroll; None: this is another loop, or one that the front end unrolls."""
    call = node.iter
    if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords or node.orelse:
        return None
    name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
    items = call.args[0]
    if name != "literal_unroll" or not isinstance(node.target, ast.Name):
        return None
    if isinstance(items, ast.Tuple) and not any(isinstance(item, ast.Starred) for item in items.elts):
        return items
    return items if isinstance(items, ast.Name) and items.id in own else None


class _Jumps(ast.NodeTransformer):
    """A copy of the body is a loop that runs once: ``continue`` leaves it, and ``break`` leaves the others, too."""

    def __init__(self, goes_on: str) -> None:
        self.goes_on, self.breaks, self.jumps = goes_on, False, False

    def visit_Continue(self, node: ast.Continue) -> Any:
        self.jumps = True
        return ast.copy_location(ast.Break(), node)

    def visit_Break(self, node: ast.Break) -> Any:
        self.breaks = self.jumps = True
        return [ast.copy_location(ast.Assign([ast.Name(self.goes_on, ast.Store())], _constant(False)), node), node]

    def visit_For(self, node: Any) -> Any:
        node.orelse = [each for statement in node.orelse for each in _listed(self.visit(statement))]
        return node

    visit_While = visit_For

    def visit_FunctionDef(self, node: Any) -> Any:
        return node

    visit_Lambda = visit_ClassDef = visit_FunctionDef


def _listed(made: Any) -> list[ast.stmt]:
    return made if isinstance(made, list) else [made]


class _Unroller(ast.NodeTransformer):
    def __init__(self, own: set[str]):
        self.own, self.found = own, False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return node  # is read, and rewritten, for itself

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        items = _items_of(node, self.own)
        if items is None:
            return node
        self.found = True
        if isinstance(items, ast.Tuple):
            return self._located(node, self._copies(node, list(items.elts)))
        return self._located(node, self._of_argument(node, items))

    def _located(self, old: ast.For, statements: list[ast.stmt]) -> list[ast.stmt]:
        return [ast.fix_missing_locations(ast.copy_location(each, old)) for each in statements]

    def _copy(self, node: ast.For, item: ast.expr) -> tuple[list[ast.stmt], bool]:
        jumps = _Jumps(_goes_on(node))
        body = [each for statement in copy.deepcopy(node.body) for each in _listed(jumps.visit(statement))]
        body = [ast.copy_location(ast.Assign([copy.deepcopy(node.target)], item), node.target), *body]
        if jumps.jumps:
            body = [ast.While(_constant(True), [*body, ast.Break()], [])]
        return body, jumps.breaks

    def _copies(self, node: ast.For, items: list[ast.expr]) -> list[ast.stmt]:
        """The items are evaluated before the first copy runs, as those of a tuple are."""
        names = [f".item {i} of {node.lineno}.{node.col_offset}" for i in range(len(items))]
        made: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], item) for name, item in zip(names, items)]
        return made + self._in_turn(node, [(None, *self._copy(node, ast.Name(name, ast.Load()))) for name in names])

    def _of_argument(self, node: ast.For, items: Any) -> list[ast.stmt]:
        kept: list[ast.stmt] = []
        if any(isinstance(part, ast.Name) and part.id == items.id and not isinstance(part.ctx, ast.Load) for part in ast.walk(node)):
            name = f".items of {node.lineno}.{node.col_offset}"  # the body gives the name another value
            kept = [ast.Assign([ast.Name(name, ast.Store())], items)]
            items = ast.Name(name, ast.Load())
        length = ast.Call(_constant(len), [ast.Name(items.id, ast.Load())], [])
        copies = []
        for i in range(_MOST):
            item = ast.Subscript(ast.Name(items.id, ast.Load()), _constant(i), ast.Load())
            copies.append((ast.Compare(copy.deepcopy(length), [ast.Gt()], [_constant(i)]), *self._copy(node, item)))
        more = ast.Compare(copy.deepcopy(length), [ast.Gt()], [_constant(_MOST)])
        return [*kept, ast.If(more, [node], self._in_turn(node, copies))]

    def _in_turn(self, node: ast.For, copies: list[Any]) -> list[ast.stmt]:
        """Copies that are only there if their condition is true, and run unless one before them has left the loop."""
        made: list[ast.stmt] = []
        breaks = any(leaves for _, _, leaves in copies)
        for condition, body, _ in copies:
            part = [ast.If(ast.Name(_goes_on(node), ast.Load()), body, [])] if breaks else body
            made += part if condition is None else [ast.If(condition, part, [])]
        return [ast.Assign([ast.Name(_goes_on(node), ast.Store())], _constant(True)), *made] if breaks else made


def _own_names(function: ast.FunctionDef) -> set[str]:
    given = function.args
    own = {each.arg for each in [*given.posonlyargs, *given.args, *given.kwonlyargs, *([given.vararg] if given.vararg else [])]}
    own |= {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return own - {name for node in ast.walk(function) if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}


def rewritten(function: ast.FunctionDef) -> ast.FunctionDef | None:
    """The function with copies of the bodies of such loops; None: it has none."""
    if not any(isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and "literal_unroll" in ast.unparse(node.iter.func) for node in ast.walk(function)):
        return None
    made = copy.deepcopy(function)
    unroller = _Unroller(_own_names(made))
    made.body = [each for statement in made.body for each in _listed(unroller.visit(statement))]
    return made if unroller.found else None
