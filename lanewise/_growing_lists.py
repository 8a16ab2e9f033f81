"""Lists that grow, ``out = []`` and ``out.append(x)``, in compiled code.

`rewritten` gets the AST of a function in which such a list may be, before it is read (lanewise/_rewriting.py). There the list becomes
two variables: an array with room for more items, under the list's own name, and the number of items. Before the first item the
array is None, because nobody knows its dtype. A list that is used in a way that the two variables cannot follow (a second name, an argument
of a function of the user's, an item of another list) is left as it is, and its ``append`` is the error E161.

The functions at the beginning are compiled and never called, like those of lanewise/_array_functions.py.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class GrownList:
    """What a function returns for such a list: Python gets a list (forall/jit_value_py.c)."""

    items: object  # an array

    def __len__(self):
        return self.items.shape[0]

    def __getitem__(self, i):
        return self.items[place(i, self.items.shape[0])]

    def __iter__(self):
        return iter(self.items)


@dataclass(frozen=True)
class GrownTuples:
    """The same, for a list of tuples."""

    items: object  # a tuple of arrays, one for each item of the tuples in the list

    def __len__(self):
        return self.items[0].shape[0]

    def __getitem__(self, i):
        return row(self.items, place(i, self.items[0].shape[0]))


GrownList.__name__ = GrownTuples.__name__ = "list"  # as messages show them


def row(arrays, at):
    if len(arrays) == 1:
        return (arrays[0][at],)
    return (arrays[0][at],) + row(arrays[1:], at)


def item(items, at):
    """The item at a place that the call has checked, also where there is no array."""
    return items[at]


def in_python(items: Any) -> Any:
    """The list. Not compiled."""
    return [*zip(*(array.tolist() for array in items))] if isinstance(items, tuple) else items.tolist()


def place(i, n):
    at = i + n if i < 0 else i
    if at < 0 or at >= n:
        raise IndexError("list index out of range")
    return at


def _size_of(x):
    if isinstance(x, (bool, np.bool_, np.int8, np.uint8)):
        return 1
    if isinstance(x, (np.int16, np.uint16, np.float16)):
        return 2
    if isinstance(x, (np.int32, np.uint32, np.float32)):
        return 4
    return 8


def _fits(items, x):
    """Whether an item keeps its value in the array; what this leaves out is E142."""
    y = items.dtype.type(0)
    if isinstance(x, (bool, np.bool_)):
        return isinstance(y, np.bool_)
    if isinstance(x, (int, np.integer)) and isinstance(y, np.integer):
        return _size_of(x) <= items.itemsize and isinstance(x, np.unsignedinteger) == isinstance(y, np.unsignedinteger)
    if isinstance(x, (float, np.floating)) and isinstance(y, np.floating):
        return _size_of(x) <= items.itemsize
    return True


def _store(items, n, x):
    if not _fits(items, x):
        raise TypeError("the items of a list that grows have the type of the first one: convert the item, or the first one")
    items[n] = x


def appended(items, n, x):
    """The array with x as the item n."""
    if items is None:
        first = np.array([x])
        made = np.empty(8, first.dtype)
        made[0] = x
        return made
    if n < items.shape[0]:
        _store(items, n, x)
        return items
    more = np.empty(max(2 * n, 8), items.dtype)  # n is 0 for an array that was made without items, as by [0] * 0
    more[:n] = items
    _store(more, n, x)
    return more


def inserted(items, n, i, x):
    """The array with x as the item i, or the last one."""
    at = max(i + n, 0) if i < 0 else min(i, n)
    more = appended(items, n, x)
    for k in range(n, at, -1):
        more[k] = more[k - 1]
    more[at] = x
    return more


def popped(n):
    """The number of items without the last one."""
    if n == 0:
        raise IndexError("pop from empty list")
    return n - 1


def taken(items, n, i):
    """The item i; those behind it move to the left."""
    if n == 0:
        raise IndexError("pop from empty list")
    at = i + n if i < 0 else i
    if at < 0 or at >= n:
        raise IndexError("pop index out of range")
    x = items[at]
    for k in range(at, n - 1):
        items[k] = items[k + 1]
    return x


def view(items, n):
    """The items. The loop runs once: so the value that stands for an item where the array without items is made has the type of the items."""
    value = False
    while True:
        if items is None:
            found = np.empty(0, type(value))
        else:
            value = items[0]
            found = items[:n]
        if len(found) >= 0:
            return found


def copied(items, n):
    return view(items, n).copy()


def sort(items, n):
    view(items, n).sort()


def reverse(items, n):
    for k in range(n // 2):
        items[k], items[n - 1 - k] = items[n - 1 - k], items[k]


def holds(items, n, x):
    found = view(items, n)
    for k in range(n):
        if found[k] == x:
            return True
    return False


# ---- the function's AST ----

_CHANGING = ("append", "extend", "insert", "pop", "clear", "sort", "reverse")
_READING = ("sum", "min", "max", "any", "all", "enumerate", "zip", "reversed")
_MAKING = ("array", "sum", "mean", "std", "var", "median", "max", "min", "argmax", "argmin", "prod", "any", "all", "dot", "sort", "unique", "cumsum")
_SEQUENCES = (ast.Tuple, ast.List, ast.ListComp)


def _count(name: str) -> str:
    return f".length of {name}"  # no name of the user's


def _load(name: str) -> ast.expr:
    node = ast.Name(name, ast.Load())
    node.is_ours = True  # type: ignore[attr-defined]
    return node


def _set(name: str, value: ast.expr) -> ast.stmt:
    node = ast.Name(name, ast.Store())
    node.is_ours = True  # type: ignore[attr-defined]
    return ast.Assign([node], value)


def _call(function: Any, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Constant(function), [*arguments], [])


def _is_new(node: ast.expr) -> bool:
    """Is it [], list(), [x, y], [(x, y), (z, w)], [x] * n or [f(v) for v in it], of numbers or tuples of numbers?"""
    if isinstance(node, ast.List):
        return not any(isinstance(item, (ast.List, ast.ListComp, ast.Starred)) for item in node.elts)
    if isinstance(node, ast.ListComp):
        return not isinstance(node.elt, _SEQUENCES)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        rows = [side for side in (node.left, node.right) if isinstance(side, ast.List)]
        return len(rows) == 1 and len(rows[0].elts) == 1 and not isinstance(rows[0].elts[0], (*_SEQUENCES, ast.Starred))
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "list" and not node.args and not node.keywords


def _method(node: ast.expr | None, lists: Any) -> tuple[str, str, Any]:
    """The list, the method and the call's arguments of ``v.append(x)``; two empty texts: it is no such call."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id in lists:
        if not node.keywords and not any(isinstance(argument, ast.Starred) for argument in node.args):
            return node.func.value.id, node.func.attr, node.args
    return "", "", []


def _width(node: ast.expr) -> int:
    """How many items a tuple has; 0: it is none, or nobody knows."""
    return len(node.elts) if isinstance(node, ast.Tuple) and not any(isinstance(item, ast.Starred) for item in node.elts) else 0


def _is_simple(node: ast.expr) -> bool:
    """Whether it may be written twice."""
    return all(isinstance(part, (ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)) for part in ast.walk(node))


class _Rewriter(ast.NodeTransformer):
    """Replaces every use of the lists that the two variables can follow. A list of tuples has an array for each of their items."""

    def __init__(self, lists: dict[str, int]):
        self.lists = lists  # and the number of items of their tuples, or 0

    def _named(self, node: ast.expr | None) -> str:
        return node.id if isinstance(node, ast.Name) and node.id in self.lists else ""

    def _at(self, old: ast.AST, statements: list[ast.stmt]) -> Any:
        return [ast.fix_missing_locations(ast.copy_location(each, old)) for each in statements]

    def _parts(self, name: str) -> list[str]:
        return [name, *(f".{i} of {name}" for i in range(1, self.lists[name]))]

    def _item(self, name: str, at: ast.expr, context: ast.expr_context) -> ast.expr:
        items: list[ast.expr] = [ast.Subscript(_load(part), copy.deepcopy(at), context) if not isinstance(context, ast.Load) else
                                 _call(item, _load(part), copy.deepcopy(at)) for part in self._parts(name)]
        return ast.Tuple(items, context) if self.lists[name] else items[0]

    def _items(self, name: str, function: Any = view) -> list[ast.expr]:
        return [_call(function, _load(part), _load(_count(name))) for part in self._parts(name)]

    def _sequence(self, node: ast.expr, function: Any = view, joined: Any = zip) -> Any:
        """The items where a sequence is read."""
        name = self._named(node)
        if name:
            items = self._items(name, function)
            if self.lists[name]:
                items = [_call(zip, *items) if joined is zip else _call(joined, ast.Tuple(items, ast.Load()))]
            return ast.fix_missing_locations(ast.copy_location(items[0], node))
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and self.lists.get(self._named(node.value)) == 0:
            return ast.copy_location(ast.Subscript(self._sequence(node.value, copied), self.visit(node.slice), ast.Load()), node)
        return self.visit(node)

    def _truth(self, node: ast.expr) -> Any:
        name = self._named(node)
        if name:
            return ast.fix_missing_locations(ast.copy_location(ast.Compare(_load(_count(name)), [ast.Gt()], [ast.Constant(0)]), node))
        if isinstance(node, ast.BoolOp):
            return ast.copy_location(ast.BoolOp(node.op, [self._truth(value) for value in node.values]), node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ast.copy_location(ast.UnaryOp(node.op, self._truth(node.operand)), node)
        return self.visit(node)

    def _append(self, name: str, item: ast.expr) -> list[ast.stmt]:
        items = item.elts if self.lists[name] else [item]  # type: ignore[attr-defined]
        stores = [_set(part, _call(appended, _load(part), _load(_count(name)), each)) for part, each in zip(self._parts(name), items)]
        return [*stores, self._add(name, 1)]

    def _add(self, name: str, n: int) -> ast.stmt:
        return _set(_count(name), ast.BinOp(_load(_count(name)), ast.Add() if n > 0 else ast.Sub(), ast.Constant(abs(n))))

    def _append_all(self, name: str, items: list[ast.expr], before: list[ast.stmt]) -> list[ast.stmt]:
        """Appends items, all of which are computed before anything happens to the list if they read it; `before` comes between."""
        reads = any(_mentions(item, name) for item in items)
        items = [self.visit(item) for item in items]
        held: list[ast.stmt] = []
        for k, item in enumerate(items if reads else []):
            parts = item.elts if isinstance(item, ast.Tuple) else [item]
            names = [f".{k}.{i} for {name}" for i in range(len(parts))]
            held += map(_set, names, parts)
            items[k] = ast.Tuple([*map(_load, names)], ast.Load()) if isinstance(item, ast.Tuple) else _load(names[0])
        return [*held, *before, *(each for item in items for each in self._append(name, item))]

    def _make(self, name: str, value: ast.expr) -> list[ast.stmt]:
        items = value.elts if isinstance(value, ast.List) else []
        if isinstance(value, ast.Call) or (isinstance(value, ast.List) and not items) or self.lists[name]:
            empty = [_set(part, ast.Constant(None)) for part in self._parts(name)]
            return self._append_all(name, items, [*empty, _set(_count(name), ast.Constant(0))])
        length = ast.Subscript(ast.Attribute(_load(name), "shape", ast.Load()), ast.Constant(0), ast.Load())
        return [_set(name, _call(np.array, self.visit(value))), _set(_count(name), length)]

    def _place(self, node: ast.Subscript) -> ast.expr:
        return _call(place, self.visit(node.slice), _load(_count(self._named(node.value))))

    def _take(self, name: str, at: ast.expr, target: ast.expr | None) -> list[ast.stmt]:
        """Takes an item, then stores it: the target may be another item of the list, which is shorter by then."""
        parts = self._parts(name)
        held = [f".taken from {part}" for part in parts]
        found = [_set(one, _call(taken, _load(part), _load(_count(name)), self.visit(copy.deepcopy(at)))) for one, part in zip(held, parts)]
        value = ast.Tuple([*map(_load, held)], ast.Load()) if self.lists[name] else _load(held[0])
        return [*found, self._add(name, -1), *([] if target is None else [ast.Assign([self.visit(target)], value)])]

    def visit_Assign(self, node: ast.Assign) -> Any:
        target = node.targets[0]
        if len(node.targets) == 1 and self._named(target) and _is_new(node.value):
            return self._at(node, self._make(target.id, node.value))  # type: ignore[attr-defined]
        name, method, arguments = _method(node.value, self.lists)
        if method == "pop" and len(node.targets) == 1 and len(arguments) < 2:
            if not arguments:
                return self._pop_last(node, name, ast.Assign([self.visit(target)], node.value), "value")
            if _is_simple(arguments[0]):
                return self._at(node, self._take(name, arguments[0], target))
        if len(node.targets) == 1 and isinstance(target, ast.Subscript) and self.lists.get(self._named(target.value)) and _is_simple(target.slice):
            if _width(node.value) == self.lists[self._named(target.value)]:
                stored = ast.Assign([self._item(self._named(target.value), self._place(target), ast.Store())], self.visit(node.value))
                return self._at(node, [ast.Expr(self._place(target)), stored])
        return self._checked(node, target) if len(node.targets) == 1 else self.generic_visit(node)

    def _checked(self, node: ast.stmt, target: ast.expr) -> Any:
        """The statement, and before it the check of its index: that an empty list has no array is not what the error should say."""
        name = self._named(target.value) if isinstance(target, ast.Subscript) else ""
        if not name or self.lists[name] or isinstance(target.slice, (ast.Slice, ast.Tuple)) or not _is_simple(target.slice):  # type: ignore[attr-defined]
            return self.generic_visit(node)
        return self._at(node, [ast.Expr(self._place(target)), self.generic_visit(node)])  # type: ignore[arg-type,list-item]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        name = self._named(node.target)
        if name and isinstance(node.op, ast.Add) and isinstance(node.value, ast.List) and _is_new(node.value):
            return self._at(node, self._append_all(name, node.value.elts, []) or [ast.Pass()])
        name, method, arguments = _method(node.value, self.lists)
        if method == "pop" and not arguments and isinstance(node.target, ast.Name) and not self._named(node.target):
            return self._pop_last(node, name, node, "value")
        return self._checked(node, node.target)

    def visit_Expr(self, node: ast.Expr) -> Any:
        name, method, arguments = _method(node.value, self.lists)
        statements = self._changes(name, method, arguments) if name else None
        return self.generic_visit(node) if statements is None else self._at(node, statements)

    def _changes(self, name: str, method: str, arguments: Any) -> list[ast.stmt] | None:
        """What stands for a method; None: it is not known here."""
        n, width = len(arguments), self.lists[name]
        if method == "append" and n == 1 and (_width(arguments[0]) == width if width else not isinstance(arguments[0], _SEQUENCES)):
            return self._append(name, self.visit(arguments[0]))
        if method == "pop" and n == 0:
            return [_set(_count(name), _call(popped, _load(_count(name))))]
        if method == "pop" and n == 1 and _is_simple(arguments[0]):
            return self._take(name, arguments[0], None)
        if method == "clear" and n == 0:
            return [_set(_count(name), ast.Constant(0))]
        if width:
            return None
        if method == "extend" and n == 1 and not isinstance(arguments[0], ast.Tuple) and not _mentions(arguments[0], name):
            item = f".item of {name}"
            return [ast.For(ast.Name(item, ast.Store()), self._sequence(arguments[0]), self._append(name, _load(item)), [])]
        if method == "insert" and n == 2:
            made = _call(inserted, _load(name), _load(_count(name)), *map(self.visit, arguments))
            return [_set(name, made), self._add(name, 1)]
        if method in ("sort", "reverse") and n == 0:
            return [ast.Expr(_call(sort if method == "sort" else reverse, _load(name), _load(_count(name))))]
        return None

    def _pop_last(self, old: ast.stmt, name: str, statement: ast.stmt, field: str) -> Any:
        """The statement with the last item as its value, which has been taken before."""
        setattr(statement, field, self._item(name, _load(_count(name)), ast.Load()))
        return self._at(old, [_set(_count(name), _call(popped, _load(_count(name)))), statement])

    def visit_Return(self, node: ast.Return) -> Any:
        name, method, arguments = _method(node.value, self.lists)
        if method == "pop" and not arguments:
            return self._pop_last(node, name, node, "value")

        def result(value: ast.expr) -> ast.expr:
            name = self._named(value)
            if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice) and self.lists.get(self._named(value.value)) == 0:
                return ast.copy_location(_call(GrownList, self._sequence(value)), value)
            if not name:
                return self.visit(value)
            items = self._items(name)
            return ast.copy_location(_call(GrownTuples, ast.Tuple(items, ast.Load())) if self.lists[name] else _call(GrownList, items[0]), value)

        if isinstance(node.value, ast.Tuple):
            node.value.elts = [result(item) for item in node.value.elts]
        elif node.value is not None:
            node.value = result(node.value)
        return ast.fix_missing_locations(node)

    def visit_For(self, node: ast.For) -> Any:
        changed = {name for statement in node.body for part in ast.walk(statement) for name in [_changed(part, self.lists)]}
        if not any(_mentions(node.iter, name) for name in changed):  # else the loop would have to see what becomes of the list
            node.iter = self._sequence(node.iter)
        node.target = self.visit(node.target)
        node.body = self._statements(node.body)
        node.orelse = self._statements(node.orelse)
        return node

    def _statements(self, statements: Any) -> Any:
        made: Any = []
        for statement in statements:
            found = self.visit(statement)
            made += found if isinstance(found, list) else [found]
        return made

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        node.iter = self._sequence(node.iter)
        node.ifs = [self._truth(test) for test in node.ifs]
        return node

    def _visit_test(self, node: Any) -> Any:
        node.test = self._truth(node.test)
        for field in ("body", "orelse"):
            value = getattr(node, field)
            setattr(node, field, self.visit(value) if isinstance(value, ast.AST) else self._statements(value))
        return node

    visit_If = visit_While = visit_IfExp = _visit_test

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        return self._truth(node) if isinstance(node.op, ast.Not) else self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        name = self._named(node.comparators[0])
        if self.lists.get(name) == 0 and len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            found = _call(holds, _load(name), _load(_count(name)), self.visit(node.left))
            if isinstance(node.ops[0], ast.NotIn):
                found = ast.UnaryOp(ast.Not(), found)
            return ast.fix_missing_locations(ast.copy_location(found, node))
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        name = self._named(node.value)
        if name and not isinstance(node.slice, (ast.Slice, ast.Tuple)):
            if not self.lists[name] or (isinstance(node.ctx, ast.Load) and _is_simple(node.slice)):
                return ast.fix_missing_locations(ast.copy_location(self._item(name, self._place(node), node.ctx), node))
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        function = node.func
        if isinstance(function, ast.Name) and function.id == "len" and len(node.args) == 1 and self._named(node.args[0]):
            return ast.copy_location(_load(_count(self._named(node.args[0]))), node)
        if isinstance(function, ast.Name) and function.id in _READING:
            node.args = [argument if self.lists.get(self._named(argument)) and function.id not in ("enumerate", "zip") else self._sequence(argument) for argument in node.args]
        elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id in ("np", "numpy"):
            rows = np.column_stack if function.attr in ("array", "asarray") else zip
            node.args = [self._sequence(argument, view if function.attr in _MAKING else copied, rows) for argument in node.args]
        return self.generic_visit(node)


def _mentions(tree: ast.AST, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))


def _changed(node: ast.AST, lists: dict[str, int]) -> str:
    """The list whose length or order the expression or statement changes, or an empty text."""
    name, method, _ = _method(node, lists) if isinstance(node, ast.Call) else ("", "", [])
    if method in _CHANGING:
        return name
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in lists:
        return node.target.id
    return ""


def _candidates(function: ast.FunctionDef) -> dict[str, int]:
    """The variables to which new lists are assigned, and to which items are appended; and how many items these have, if they are tuples."""
    new: dict[str, set[int]] = {}
    appending = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and _is_new(node.value):
            widths = new.setdefault(node.targets[0].id, set())
            if isinstance(node.value, ast.List):
                widths.update(map(_width, node.value.elts))
            elif not isinstance(node.value, ast.Call):
                widths.add(0)
        if isinstance(node, ast.Attribute) and node.attr in ("append", "extend", "insert") and isinstance(node.value, ast.Name):
            appending.add(node.value.id)
    for node in ast.walk(function):
        name, method, arguments = _method(node, new) if isinstance(node, ast.Call) else ("", "", [])
        if method == "append" and len(arguments) == 1:
            new[name].add(_width(arguments[0]))
    return {name: max(widths, default=0) for name, widths in new.items() if name in appending and len(widths) < 2}


def _left(function: ast.AST, lists: dict[str, int]) -> set[str]:
    """The lists that are still named as the user's variables, or as a parameter."""
    left = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and node.id in lists and not hasattr(node, "is_ours")}
    left |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg) and node.arg in lists}
    for node in ast.walk(function):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            left.update(lists.keys() & node.names)
        if node is not function and isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            left.update(name for name in lists if _mentions(node, name) or _mentions(node, _count(name)))
    return left


def rewritten(function: ast.FunctionDef) -> ast.FunctionDef | None:
    """The function with its growing lists as two variables each; None: it has none."""
    lists = _candidates(function)
    while lists:
        made = copy.deepcopy(function)
        rewriter = _Rewriter(lists)
        made.body = rewriter._statements(made.body)
        left = _left(made, lists)
        if not left:
            return made
        lists = {name: width for name, width in lists.items() if name not in left}
    return None
