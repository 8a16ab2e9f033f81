"""Which expressions of a function make dicts and sets: displays, comprehensions, ``dict(x)`` and ``set(x)``. They become calls of
lanewise/_growing_dicts.py before the function is read (lanewise/_rewriting.py).

A loop over a dict or a set that changes in the loop goes from entry to entry, as Python does: values may be assigned, and a change of the size is a
RuntimeError. ``x in {1, 2}`` needs no set and stays as it is.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

from lanewise import _growing_dicts
from lanewise._list_displays import _CHANGING_TABLES, _call, _called, _changed_by, _changed_inside, _Facts, _is_assigned, _load, _Rewriter, _set, _statements

_MAKES = (ast.Dict, ast.DictComp, ast.Set, ast.SetComp)
_TAKE_ITEMS = _CHANGING_TABLES | {"union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset", "isdisjoint"}
_PARTS = {"keys": _growing_dicts.key_of_entry, "values": _growing_dicts.value_of_entry, "items": _growing_dicts.item_of_entry}


def _is_changed(node: ast.AST, name: str) -> bool:
    """Whether the statement or expression may change the dict or set of this variable."""
    passed = node.args if isinstance(node, ast.Call) and _called(node) not in ("len", "sorted", "list", "print") else []
    return any(isinstance(argument, ast.Name) and argument.id == name for argument in passed) or name in (_changed_by(node, _CHANGING_TABLES), _changed_inside(node))


def _constant(node: ast.AST | None) -> Any:
    """The dict of strings, or with strings as keys, that a display makes, if all of it is constant; else None."""
    try:
        value = ast.literal_eval(node) if isinstance(node, ast.Dict) and node.keys else None
    except (ValueError, TypeError):
        return None
    return value if value and any(isinstance(part, str) for pair in value.items() for part in pair) else None


class _Constants(ast.NodeTransformer):
    """Dicts with strings that never change are constants, as those from outside of the function are (core/front/read/dict.c), if every use
    of the variable stands behind the statement of the function itself that assigns it."""

    def __init__(self, function: ast.FunctionDef, facts: _Facts):
        self.values: dict[str, Any] = {}
        for i, statement in enumerate(function.body):
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
                continue
            name, value = statement.targets[0].id, _constant(statement.value)
            before = [node for earlier in function.body[:i] for node in ast.walk(earlier)]
            if value and len(facts.values[name]) == 1 and not any(isinstance(node, ast.Name) and node.id == name for node in before):
                self.values[name] = value
        self.values = {name: value for name, value in self.values.items() if not any(_is_changed(node, name) for node in ast.walk(function))}

    def visit_Assign(self, node: ast.Assign) -> Any:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and node.targets[0].id in self.values:
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.values.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return ast.copy_location(ast.Constant(value), node) if value else node

    def _read(self, node: Any) -> Any:
        """A display of which an item is read: `{...}[k]`, `{...}.get(k)`."""
        value = _constant(node.value)
        if value:
            node.value = ast.copy_location(ast.Constant(value), node.value)
        return self.generic_visit(node)

    visit_Subscript = visit_Attribute = _read


class _Displays(_Rewriter):
    def _is_table(self, node: ast.AST | None) -> bool:
        """Whether the variable holds dicts or sets that this function makes."""
        values = self.facts.values.get(node.id, []) if isinstance(node, ast.Name) else []
        return any(isinstance(value, _MAKES) or (_called(value) in ("dict", "set") and self._is_builtin(_called(value))) for value in values if value)

    def visit_Dict(self, node: ast.Dict) -> Any:
        if any(key is None for key in node.keys):
            return self.generic_visit(node)
        if not node.keys:
            return self._at(node, _call(_growing_dicts.empty_dict))
        pairs: list[ast.expr] = [ast.Tuple([self.visit(key), self.visit(value)], ast.Load()) for key, value in zip(node.keys, node.values) if key]
        return self._at(node, _call(_growing_dicts.dict_of, ast.Tuple(pairs, ast.Load())))

    def visit_Set(self, node: ast.Set) -> Any:
        return self._at(node, _call(_growing_dicts.set_of, ast.Tuple([self.visit(item) for item in node.elts], ast.Load())))

    def visit_DictComp(self, node: ast.DictComp) -> Any:
        pair = ast.Tuple([self.visit(node.key), self.visit(node.value)], ast.Load())
        return self._at(node, _call(_growing_dicts.dict_of, ast.ListComp(pair, [self.visit(part) for part in node.generators])))

    def visit_SetComp(self, node: ast.SetComp) -> Any:
        return self._at(node, _call(_growing_dicts.set_of, ast.ListComp(self.visit(node.elt), [self.visit(part) for part in node.generators])))

    def visit_Compare(self, node: ast.Compare) -> Any:
        node.left = self.visit(node.left)
        for i, (op, other) in enumerate(zip(node.ops, node.comparators)):
            is_kept = isinstance(other, ast.Set) and isinstance(op, (ast.In, ast.NotIn))
            node.comparators[i] = self.generic_visit(other) if is_kept else self.visit(other)  # type: ignore[assignment]
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        name = _called(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _TAKE_ITEMS:
            node.args = [self._at(argument, self._comprehension(argument) or argument) for argument in node.args]
        if name not in ("dict", "set") or not self._is_builtin(name) or node.keywords or len(node.args) > 1:
            return self.generic_visit(node)
        if not node.args:
            return self._at(node, _call(_growing_dicts.empty_dict if name == "dict" else _growing_dicts.empty_set))
        function = _growing_dicts.dict_of if name == "dict" else _growing_dicts.set_of
        return self._at(node, _call(function, self.visit(self._comprehension(node.args[0]) or node.args[0])))

    def visit_For(self, node: ast.For) -> Any:
        over: Any = node.iter
        part = "keys"
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in _PARTS and not over.args and not over.keywords:
            over, part = over.func.value, over.func.attr
        inside = [at for statement in node.body for at in ast.walk(statement)]
        if not isinstance(over, ast.Name) or not self._is_table(over) or not any(_is_changed(at, over.id) for at in inside):
            return self.generic_visit(node)
        if _is_assigned(over.id, [node.target, *node.body]):  # the loop goes on over the dict that the variable had
            return self.generic_visit(node)
        self.loops += 1
        entry, size = f".entry {self.loops}", f".size {self.loops}"
        first = _set(entry, _call(_growing_dicts.next_entry, _load(over.id), _load(entry)))
        item = ast.Assign([node.target], _call(_PARTS[part], _load(over.id), _load(entry)))
        count = ast.AugAssign(ast.Name(entry, ast.Store()), ast.Add(), ast.Constant(1))
        test = _call(_growing_dicts.goes_on, _load(over.id), _load(entry), _load(size))
        loop = self._at(node, ast.While(test, [first, item, count, *node.body], node.orelse))
        for statement in (first, item, count):
            self._at(node.target, statement)
        begin = [_set(entry, ast.Constant(0)), _set(size, _call(len, _load(over.id)))]
        return [*(self._at(node, statement) for statement in begin), self.generic_visit(loop)]


def rewritten(function: ast.FunctionDef, names: dict[str, Any]) -> ast.FunctionDef | None:
    """The function with calls that make dicts and sets; None: it has none. names: its globals."""
    if not any(isinstance(node, _MAKES) or _called(node) in ("dict", "set") for node in ast.walk(function)):
        return None
    made = copy.deepcopy(function)
    made = _Constants(made, _Facts(made, names)).visit(made)
    displays = _Displays(_Facts(made, names), names)
    made.body = [part for statement in made.body for part in _statements(displays.visit(statement))]
    return made
