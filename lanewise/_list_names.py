"""Whether a list that has a name may be put into another list: nothing may read it by that name afterwards.

In compiled code the lists in a list are typed lists, and another list becomes one when it is put there. The name would not show later changes of
it, nor the list those that are made by the name. So only a list that no name has any more is taken; for another one, lanewise/_list_displays.py
has the function complain.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence


def mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


READ, SET, NEITHER = "read", "set", "neither"  # what happens to a name first, on any path; SET: on all of them


def _first_of_all(statements: Sequence[ast.stmt], name: str) -> str:
    leaves = False  # whether a path may have left the statements before their end
    for statement in statements:
        first = _first(statement, name)
        if first != NEITHER:
            return NEITHER if first == SET and leaves else first
        leaves = leaves or any(isinstance(part, (ast.Break, ast.Continue)) for part in ast.walk(statement))
    return NEITHER


def _first(statement: ast.stmt, name: str) -> str:
    if isinstance(statement, (ast.Return, ast.Raise)):
        return READ if mentions(statement, name) else SET  # nothing reads it behind the end
    if not mentions(statement, name):
        return NEITHER
    if isinstance(statement, ast.Assign):
        targets = [item for target in statement.targets for item in (target.elts if isinstance(target, ast.Tuple) else [target])]
        others = [target for target in targets if not isinstance(target, ast.Name)]
        return READ if any(mentions(part, name) for part in (statement.value, *others)) else SET
    if isinstance(statement, ast.If):
        branches = [_first_of_all(branch, name) for branch in (statement.body, statement.orelse)]
        if mentions(statement.test, name) or READ in branches:
            return READ
        return SET if branches == [SET, SET] else NEITHER
    if isinstance(statement, (ast.For, ast.While)):
        head = statement.iter if isinstance(statement, ast.For) else statement.test
        if isinstance(statement, ast.For) and _stores(statement.target, name):
            return READ if mentions(head, name) else NEITHER
        if mentions(head, name) or READ in (_first_of_all(statement.body, name), _first_of_all(statement.orelse, name)):
            return READ
        return NEITHER  # the body may not run at all
    return READ


def _blocks(statement: ast.AST) -> list[list[ast.stmt]]:
    return [block for block in (getattr(statement, field, None) for field in ("body", "orelse", "finalbody")) if isinstance(block, list)]


def _path(statements: list[ast.stmt], wanted: ast.stmt) -> list[tuple[ast.stmt | None, list[ast.stmt], int]] | None:
    """The blocks around a statement, from the outermost: each with the statement whose block it is, and the place in it."""
    for i, statement in enumerate(statements):
        if statement is wanted:
            return [(None, statements, i)]
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            continue
        for block in _blocks(statement):
            found = _path(block, wanted)
            if found is not None:
                return [(None, statements, i), (statement, *found[0][1:]), *found[1:]]
    return None


def is_dead_behind(function: ast.FunctionDef, statement: ast.stmt, name: str) -> bool:
    """Whether no path from the end of the statement reads the name before it gets another value."""
    path = _path(function.body, statement)
    if path is None:
        return False
    for owner, block, i in reversed(path):
        first = _first_of_all(block[i + 1:], name)
        if first != NEITHER:
            return first == SET
        if owner is not None and not isinstance(owner, (ast.If, ast.For, ast.While)):
            return False
        if isinstance(owner, (ast.For, ast.While)):
            again = [owner.test] if isinstance(owner, ast.While) else []
            if any(mentions(part, name) for part in (*again, *owner.orelse)) or _first_of_all(owner.body, name) == READ:
                return False
    return True


def _stores(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load) for part in ast.walk(node))


def _assigned(statement: ast.stmt, name: str) -> ast.expr | None:
    """The value that the statement gives the name, and nothing else; None: it is another statement."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name) and statement.targets[0].id == name:
        return statement.value
    return None


def is_made_before(function: ast.FunctionDef, statement: ast.stmt, name: str, is_fresh: Callable[[ast.expr], bool]) -> bool:
    """Whether the list that the name has at the statement is one that the function has made, wherever it comes from."""
    for owner, block, i in reversed(_path(function.body, statement) or []):
        for before in reversed(block[:i]):
            value = _assigned(before, name)
            if value is not None:
                return is_fresh(value)
            if _stores(before, name):
                return False
        if isinstance(owner, (ast.For, ast.While)):
            stored = [part for part in ast.walk(owner) if isinstance(part, (ast.stmt, ast.comprehension)) and _stores(part, name)]
            if any(not isinstance(part, (ast.If, ast.For, ast.While)) and not is_fresh(_assigned(part, name) or ast.Name(name)) for part in stored if isinstance(part, ast.stmt)):
                return False
            if isinstance(owner, ast.For) and _stores(owner.target, name):
                return False
    return False


# ---- items ----


def items_of(statement: ast.stmt) -> list[ast.Name]:
    """The names of what a statement puts into a list or dict: ``x.append(row)``, ``x[i] = row``, ``x.append((i, row))``."""
    values: list[ast.expr] = []
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
        row = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(row, ast.Call) and isinstance(row.func, ast.Attribute) and row.func.attr == "setdefault":
            values = row.args[1:]
        elif name == "extend":
            values = [item for argument in call.args if isinstance(argument, (ast.List, ast.Tuple)) for item in argument.elts]
        elif name in ("append", "insert", "setdefault", "heappush", "heapreplace", "heappushpop", "insort", "insort_left", "insort_right"):
            values = [*call.args, *(keyword.value for keyword in call.keywords)]
            if name not in ("append", "insert", "setdefault"):
                values = values[1:]
    elif isinstance(statement, ast.AugAssign) and isinstance(statement.value, ast.List):
        values = statement.value.elts
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            pairs = statement.value.elts if isinstance(statement.value, ast.Tuple) and len(statement.value.elts) == len(targets) else [statement.value] * len(targets)
            values += [value for one, value in zip(targets, pairs) if isinstance(one, ast.Subscript)]
    return [name for value in values for name in names_in(value)]


def names_in(value: ast.expr) -> list[ast.Name]:
    """Names that an item is, or that stand in it as they are."""
    if isinstance(value, ast.Name):
        return [value]
    if isinstance(value, ast.IfExp):
        return names_in(value.body) + names_in(value.orelse)
    if isinstance(value, (ast.Tuple, ast.List)):
        return [name for item in value.elts for name in names_in(item)]
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return [name for side in (value.left, value.right) if isinstance(side, ast.List) for name in names_in(side)]
    return []
