"""``map(f, x)``, ``filter(f, x)`` and ``functools.reduce(f, x)`` in compiled code: the loops that they stand for, before the function is read
(lanewise/_rewriting.py); and ``tuple(f(v) for v in t)`` as a call of lanewise/_mapped_tuples.py.

In front of a loop's body, ``for y in map(f, x)`` becomes ``y = f(v)``; everywhere else, ``map(f, x)`` becomes a generator expression.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
from typing import Any

from lanewise import _growing_lists, _mapped_tuples


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _store(name: str) -> ast.expr:
    return ast.Name(name, ast.Store())


def _call(function: Any, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Constant(function), [*arguments], [])


def _lambda(names: list[str], body: ast.expr) -> ast.expr:
    return ast.Lambda(ast.arguments(posonlyargs=[], args=[*map(ast.arg, names)], kwonlyargs=[], kw_defaults=[], defaults=[]), body)


def _is_range(node: ast.AST) -> bool:
    return _called(node) == "range" and len(node.args) == 1  # type: ignore[attr-defined]


def _called(node: ast.AST) -> str:
    """The name of the function that is called with positional arguments; an empty text: it is another expression."""
    if not isinstance(node, ast.Call) or node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        return ""
    return node.func.id if isinstance(node.func, ast.Name) else ""


class _Loops(ast.NodeTransformer):
    def __init__(self, names: dict[str, Any], own: set[str]) -> None:
        self.names = names
        self.own = own  # variables of the function
        self.count = 0

    def _name(self, node: ast.AST) -> str:
        """"map", "filter" or "reduce", if this calls it; otherwise an empty text."""
        if not isinstance(node, ast.Call) or node.keywords or len(node.args) < 2 or any(isinstance(argument, ast.Starred) for argument in node.args):
            return ""
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id not in self.own:
            value = getattr(self.names.get(function.value.id), function.attr, None)
        elif isinstance(function, ast.Name) and function.id not in self.own:
            value = self.names.get(function.id, getattr(builtins, function.id, None))
        else:
            return ""
        name = "map" if value is map else "filter" if value is filter else "reduce" if value is functools.reduce else ""
        return "" if name == "filter" and len(node.args) > 2 else name

    def _item(self, call: ast.Call) -> tuple[ast.expr, ast.expr, ast.expr]:
        """The target of a loop over what the function gets, that which the loop runs over, and the call of the function."""
        self.count += 1
        given = call.args[1:]
        names = [f".mapped {self.count}.{i}" for i in range(len(given))]
        function = call.args[0]
        is_none = isinstance(function, ast.Constant) and function.value is None
        result = _load(names[0]) if is_none else ast.Call(copy.deepcopy(function), [*map(_load, names)], [])
        if len(given) == 1:
            return _store(names[0]), given[0], result
        return ast.Tuple([*map(_store, names)], ast.Store()), _call(zip, *given), result

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = self._name(node)
        if name in ("map", "filter"):
            made: Any = ast.GeneratorExp(*self._parts(node, name))
            return self._with_generators(ast.fix_missing_locations(ast.copy_location(made, node)))
        self.generic_visit(node)
        if _called(node) == "tuple" and len(node.args) == 1 and self._are_builtins("tuple"):
            return self._tuple(node)
        if _called(node) in ("zip", "enumerate", "reversed") and self._are_builtins(_called(node)):
            node.args = [*map(self._listed, node.args)]
        if name == "reduce":
            made = _call(_growing_lists.reduced, *map(self._listed, node.args))
            return ast.fix_missing_locations(ast.copy_location(made, node))
        return node

    def _are_builtins(self, *names: str) -> bool:
        return all(name not in self.own and self.names.get(name, getattr(builtins, name)) is getattr(builtins, name) for name in names)

    def _listed(self, node: ast.expr) -> ast.expr:
        return ast.copy_location(ast.ListComp(node.elt, node.generators), node) if isinstance(node, ast.GeneratorExp) else node

    def _tuple(self, call: ast.Call) -> ast.expr:
        """``tuple(f(v) for v in t)``, which needs no generator if the length of t is known."""
        given = call.args[0]
        made: ast.expr = call
        if _is_range(given) and self._are_builtins("range"):
            made = _call(_mapped_tuples.places, given.args[0])  # type: ignore[attr-defined]
        elif isinstance(given, (ast.GeneratorExp, ast.ListComp)) and len(given.generators) == 1 and not given.generators[0].ifs:
            target = given.generators[0].target
            names = [name.id for name in (target.elts if isinstance(target, ast.Tuple) else [target]) if isinstance(name, ast.Name)]
            if isinstance(target, ast.Tuple) and len(names) == len(target.elts):
                item = ast.Call(_lambda(names, given.elt), [ast.Starred(_load(".item"), ast.Load())], [])
                made = _call(_mapped_tuples.mapped, _lambda([".item"], item), self._items_of(given.generators[0].iter))
            elif isinstance(target, ast.Name):
                made = _call(_mapped_tuples.mapped, _lambda(names, given.elt), self._items_of(given.generators[0].iter))
        return ast.fix_missing_locations(ast.copy_location(made, call))

    def _items_of(self, over: ast.expr) -> ast.expr:
        """The tuple of what a loop over this gives."""
        name = _called(over)
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Constant) and over.func.value is zip:  # of map(f, t, u)
            return _call(_mapped_tuples.zipped, *over.args)
        if name not in ("range", "zip", "enumerate") or not self._are_builtins(name):
            return over
        given: list[ast.expr] = over.args  # type: ignore[attr-defined]
        if name == "range" and len(given) == 1:
            return _call(_mapped_tuples.places, given[0])
        if name == "enumerate" and len(given) == 1:
            return _call(_mapped_tuples.enumerated, given[0])
        if name == "zip" and len(given) > 1:
            return _call(_mapped_tuples.zipped, *given)
        return over

    def _parts(self, call: ast.Call, name: str) -> tuple[ast.expr, list[ast.comprehension]]:
        target, over, result = self._item(call)
        if name == "map":
            return result, [ast.comprehension(target, over, [], 0)]
        return _load(target.id), [ast.comprehension(target, over, [result], 0)]  # type: ignore[attr-defined]

    def visit_For(self, node: ast.For) -> ast.For:
        name = self._name(node.iter)
        if name not in ("map", "filter"):
            self.generic_visit(node)
            return node
        call: Any = node.iter
        target, node.iter, result = self._item(call)
        if name == "map":
            node.body = [ast.Assign([node.target], result), *node.body]
        else:
            node.body = [ast.If(result, [ast.Assign([node.target], _load(target.id)), *node.body], [])]  # type: ignore[attr-defined]
        ast.copy_location(node.body[0], call)
        node.target = target
        return self.visit_For(ast.fix_missing_locations(node))

    def _with_generators(self, node: Any) -> Any:
        """``[e for y in map(f, x)]`` as ``[e for v in x for y in (f(v),)]``."""
        generators: list[ast.comprehension] = []
        for one in reversed(node.generators):
            while self._name(one.iter) in ("map", "filter"):
                result, (outer,) = self._parts(one.iter, self._name(one.iter))
                one.iter = ast.Tuple([result], ast.Load())
                generators.insert(0, one)
                one = outer
            generators.insert(0, one)
        node.generators = generators
        self.generic_visit(node)
        return ast.fix_missing_locations(node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _with_generators


def rewritten(function: ast.FunctionDef, names: dict[str, Any]) -> ast.FunctionDef:
    """The function with these loops. names: its globals."""
    own = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    loops = _Loops(names, own)
    function.body = [loops.visit(statement) for statement in function.body]
    return function


def has_calls(function: ast.FunctionDef) -> bool:
    """Whether the function names one of these."""
    return any((node.id if isinstance(node, ast.Name) else node.attr) in ("map", "filter", "reduce", "tuple") for node in ast.walk(function) if isinstance(node, (ast.Name, ast.Attribute)))
