"""``sum(e for v in it)``, ``next(iter(x))`` and ``np.array([e for v in it])`` in compiled code: the loop that it stands for, as a function
of Python's AST.

The front end reads that function in the place of the call (core/front/read/array_function.c).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

_TOTAL, _VALUE, _FOUND, _ROWS, _LENGTH = ".total", ".value", ".found", ".rows", ".length"  # no names of the user's
_REPEATED, _TURN = ".repeated", ".turn"
_SEQUENCES = (ast.Tuple, ast.List, ast.ListComp)


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


def converted(x, a):
    """Compiled, never called: x as an element of a, whose dtype was asked for."""
    t = a.dtype.type
    if isinstance(x, (float, np.floating)) and isinstance(t(0), np.integer) and not isinstance(t(0), np.timedelta64):
        return t(x)
    if isinstance(x, (int, float, complex, np.number)) and isinstance(t(0), np.bool_) and not isinstance(x, np.timedelta64):
        return x != 0
    return x


def rows_of(a, n, length):
    """Compiled, never called: the first n rows of this length."""
    return a[: n * length].copy().reshape(n, length)


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


def _first(element: ast.expr, default: ast.expr | None):
    """The default is evaluated before the loop, as Python does."""
    if default is None:
        return [], [ast.Return(element)], [ast.Raise(_constant(StopIteration), None)]
    if isinstance(default, ast.Constant):
        return [], [ast.Return(element)], [ast.Return(default)]
    return [_set(_TOTAL, default)], [ast.Return(element)], [ast.Return(_load(_TOTAL))]


def _parts(name: str, element: ast.expr, start: ast.expr | None):
    """What stands before the loop, in it, and after it."""
    if name == "sum":
        return _accumulate(ast.Add(), start or _constant(0), element)
    if name == "prod":
        return _accumulate(ast.Mult(), start or _constant(1), element)
    if name in ("min", "max"):
        return _extreme(name, ast.Lt() if name == "min" else ast.Gt(), element)
    if name == "next":
        return _first(element, start)
    return _find(name == "any", element)


def _append(value: str, element: ast.expr, converts: bool) -> list[ast.stmt]:
    is_full = ast.Compare(_load(_FOUND), [ast.Eq()], [ast.Call(_constant(len), [_load(_TOTAL)], [])])
    place = ast.Subscript(_load(_TOTAL), _load(_FOUND), ast.Store())
    stored = ast.Call(_constant(converted), [_load(value), _load(_TOTAL)], []) if converts else _load(value)
    return [
        _set(value, element),
        ast.If(is_full, [_set(_TOTAL, ast.Call(_constant(grown), [_load(_TOTAL)], []))], []),
        ast.Assign([place], stored),
        ast.AugAssign(ast.Name(_FOUND, ast.Store()), ast.Add(), _constant(1)),
    ]


def _end_row() -> list[ast.stmt]:
    """Counts rows, and compares their lengths."""
    next_row = ast.BinOp(_load(_ROWS), ast.Add(), _constant(1))
    differs = ast.Compare(_load(_FOUND), [ast.NotEq()], [ast.BinOp(next_row, ast.Mult(), _load(_LENGTH))])
    is_first = ast.Compare(_load(_ROWS), [ast.Eq()], [_constant(0)])
    ragged = "setting an array element with a sequence. The rows have different lengths"
    return [
        ast.If(is_first, [_set(_LENGTH, _load(_FOUND))], [ast.If(differs, [_raise(ragged)], [])]),
        ast.AugAssign(ast.Name(_ROWS, ast.Store()), ast.Add(), _constant(1)),
    ]


def _joined_type(values: list[str]) -> ast.expr:
    """The dtype of an array of these variables."""
    if len(values) == 1:
        return ast.Call(_constant(type), [_load(values[0])], [])
    array = ast.Call(_constant(np.array), [ast.Tuple([_load(value) for value in values], ast.Load())], [])
    return ast.Attribute(array, "dtype", ast.Load())


def _fill(comprehension: ast.ListComp, dtype: ast.expr | None) -> list[ast.stmt]:
    """An array that grows. All of it stands in a loop, although that runs once: so the values that the variables may
    have where the array is made are those of the elements, and its type is theirs. The bool before the loop has the
    type of the numbers beside it."""
    element = comprehension.elt
    items = element.elts if isinstance(element, (ast.Tuple, ast.List)) else [element]
    values = [f"{_VALUE}{i}" for i in range(len(items))]
    if isinstance(element, ast.ListComp):
        body = _loops(element, _append(values[0], element.elt, dtype is not None))
    else:
        body = [statement for value, item in zip(values, items) for statement in _append(value, item, dtype is not None)]
    is_row = element is not items[0]
    if is_row or isinstance(element, ast.ListComp):
        body += _end_row()
        made = ast.Call(_constant(rows_of), [_load(_TOTAL), _load(_ROWS), _load(_LENGTH)], [])
    else:
        made = ast.Call(_constant(kept), [_load(_TOTAL), _load(_FOUND)], [])
    room = ast.Call(_constant(np.empty), [_constant(8), dtype or _joined_type(values)], [])
    always = ast.Compare(ast.Call(_constant(len), [_load(_TOTAL)], []), [ast.GtE()], [_constant(0)])  # which the compiler doesn't know
    counts = [_set(name, _constant(0)) for name in (_FOUND, _ROWS, _LENGTH)]
    once = [_set(_TOTAL, room), *counts, *_loops(comprehension, body), ast.If(always, [ast.Return(made)], [])]
    return [*(_set(value, _constant(False)) for value in values), ast.While(_constant(True), once, [])]


def _loops(generator: ast.GeneratorExp | ast.ListComp, body: list[ast.stmt]) -> list[ast.stmt]:
    for one in reversed(generator.generators):
        for condition in reversed(one.ifs):
            body = [ast.If(condition, body, [])]
        body = [ast.For(one.target, one.iter, body, [])]
    return body


def _is_filled(generator: ast.ListComp) -> bool:
    """Is it a list of numbers, or of rows of numbers?"""
    row = generator.elt
    if isinstance(row, (ast.Tuple, ast.List)):
        return bool(row.elts) and not any(isinstance(item, _SEQUENCES) for item in row.elts)
    return not (isinstance(row, ast.ListComp) and isinstance(row.elt, _SEQUENCES))


def _start(name: str, call: ast.Call) -> ast.expr | None:
    if len(call.args) == 2:
        return call.args[1]
    return call.keywords[0].value if call.keywords else None


def has_walrus(tree: ast.expr) -> bool:
    """Does ``:=`` stand in it? It would assign a variable of the loop's function, not of the user's."""
    return any(isinstance(node, ast.NamedExpr) for node in ast.walk(tree))


def _suits(name: str, call: ast.Call) -> bool:
    """Are the call's other arguments ones that the loop understands?"""
    if has_walrus(call) or any(isinstance(node, ast.Starred) for node in ast.walk(call)):
        return False
    if any(node.is_async for node in ast.walk(call) if isinstance(node, ast.comprehension)):
        return False
    others = len(call.args) - 1 + len(call.keywords)
    if name == "next":
        return len(call.args) <= 2 and not call.keywords and not isinstance(call.args[0], ast.ListComp)
    if name == "array":
        return others == 0 or (others == 1 and all(keyword.arg == "dtype" for keyword in call.keywords))
    by_name = all(keyword.arg == "start" for keyword in call.keywords)
    if name == "prod":
        return len(call.args) == 1 and by_name and others <= 1
    return others == 0 or (name == "sum" and others == 1 and by_name)


def _parts_of_repeated(node: ast.expr | None) -> tuple[ast.expr, ast.expr] | None:
    """e and n of ``[e] * n`` and ``n * [e]``; None: it is another expression."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    row, n = (node.left, node.right) if isinstance(node.left, ast.List) else (node.right, node.left)
    if not isinstance(row, ast.List) or len(row.elts) != 1 or isinstance(n, _SEQUENCES):
        return None
    return row.elts[0], n


def _repeated(node: ast.expr | None, dtype: ast.expr | None) -> ast.expr | None:
    """The array of ``[e] * n``, a fill; None: it is another expression."""
    from lanewise._new_arrays import repeated  # whose module needs this one

    parts = _parts_of_repeated(node)
    if parts is None:
        return None
    element, n = parts
    inner = _repeated(element, dtype)
    if inner is None and isinstance(element, _SEQUENCES):
        inner = ast.Call(_constant(np.array), [element, *([dtype] if dtype else [])], [])
    return ast.Call(_constant(repeated), [inner or element, n, (dtype if inner is None else None) or _constant(None)], [])


def _with_repeated_rows(generator: ast.expr | None) -> ast.expr | None:
    """``[[e] * n for …]`` as ``[[e for …] for …]``, which evaluates e once a row; other expressions as they are."""
    if not isinstance(generator, ast.ListComp):
        return generator
    parts = _parts_of_repeated(generator.elt)
    if parts is None or isinstance(parts[0], _SEQUENCES) or _parts_of_repeated(parts[0]):
        return generator
    once = ast.comprehension(ast.Name(_REPEATED, ast.Store()), ast.Tuple([parts[0]], ast.Load()), [], 0)
    turns = ast.comprehension(ast.Name(_TURN, ast.Store()), ast.Call(_constant(range), [parts[1]], []), [], 0)
    return ast.ListComp(ast.ListComp(_load(_REPEATED), [once, turns]), generator.generators)


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: set[str]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(f".{node.id}", node.ctx), node) if node.id in self.names else node


def _names(trees: Sequence[ast.AST], context: type) -> set[str]:
    return {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, context)}


def _apart(generator: Any, outside: list[ast.AST]) -> Any:
    """The expression with other names for loop variables that hide a variable of the user's function: the first iterable, and
    what is outside of the expression, do not see the loop variables, as in ``sum(x for x in x)``."""
    if not isinstance(generator, (ast.GeneratorExp, ast.ListComp)) or any(isinstance(node, ast.Lambda) for node in ast.walk(generator)):
        return generator
    made = copy.deepcopy(generator)
    inside = [one.target for one in made.generators]
    if isinstance(made.elt, ast.ListComp):  # whose loop is a part of this one's function
        row = made.elt = _apart(made.elt, [])
        inside += [one.target for one in row.generators]
    first = made.generators[0].iter
    hidden = _names(inside, ast.Store) & _names([first, *outside], ast.Load)
    if hidden:
        made = _Renaming(hidden).visit(made)
        made.generators[0].iter = copy.deepcopy(generator.generators[0].iter)
    return made


def _with_own_names(call: ast.Call) -> ast.Call:
    if not call.args:
        return call
    made = copy.copy(call)
    made.args = [_apart(call.args[0], [*call.args[1:], *(keyword.value for keyword in call.keywords)]), *call.args[1:]]
    return made


def _with_generator(call: ast.Call) -> ast.Call:
    """``next(iter(x))`` as ``next(v for v in x)``."""
    inner = call.args[0]
    if not isinstance(inner, ast.Call) or len(inner.args) != 1 or inner.keywords:
        return call
    made = copy.copy(call)
    item = ast.comprehension(ast.Name(_VALUE, ast.Store()), inner.args[0], [], 0)
    made.args = [ast.copy_location(ast.GeneratorExp(_load(_VALUE), [item]), inner), *call.args[1:]]
    return ast.fix_missing_locations(made)


def _without_parameters(name: str, statements: list[ast.stmt], at: ast.expr) -> ast.FunctionDef:
    no_parameters = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    function = ast.FunctionDef("<list comprehension>" if name == "list" else f"<{name} of a generator expression>", no_parameters, statements, [])
    return ast.fix_missing_locations(ast.copy_location(function, at))


def _grow(comprehension: ast.ListComp) -> list[ast.stmt]:
    """A list that grows (lanewise/_growing_lists.py)."""
    from lanewise import _growing_lists

    append = ast.Call(ast.Attribute(_load(_TOTAL), "append", ast.Load()), [comprehension.elt], [])
    made = _set(_TOTAL, ast.Call(_constant(_growing_lists.empty), [], []))
    return [made, *_loops(comprehension, [ast.Expr(append)]), ast.Return(_load(_TOTAL))]


def loop(name: str, call: Any) -> ast.FunctionDef | None:
    """The function without parameters that gives what ``name(e for …)``, or the list comprehension, gives; None: the loop cannot say it."""
    if isinstance(call, ast.ListComp):
        return None if has_walrus(call) else _without_parameters(name, _grow(_apart(call, [])), call)
    if name == "next":
        call = _with_generator(call)
    call = _with_own_names(call)
    generator = call.args[0] if call.args else None
    if name == "array":
        generator = _with_repeated_rows(generator)
    if not isinstance(generator, (ast.GeneratorExp, ast.ListComp, ast.BinOp)) or not _suits(name, call):
        return None
    statements: list[ast.stmt]
    if isinstance(generator, ast.BinOp):
        array = _repeated(generator, _start(name, call)) if name == "array" else None
        if array is None:
            return None
        statements = [ast.Return(array)]
    elif name == "array":
        if not isinstance(generator, ast.ListComp) or not _is_filled(generator):
            return None
        statements = _fill(generator, _start(name, call))
    else:
        before, body, after = _parts(name, generator.elt, _start(name, call))
        statements = [*before, *_loops(generator, body), *after]
    return _without_parameters(name, statements, call)
