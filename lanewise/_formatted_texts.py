"""``"%d" % x``, ``"{}".format(x)``, ``"text" + str(x)`` , ``str(x)`` and ``repr(x)`` as the f-strings that give the same text: these are what `print`, `raise`
and `assert` of compiled code show (lanewise/_rewriting.py).
"""

from __future__ import annotations

import ast
import builtins
import re
import string
from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.errors import TypingError

_CONVERSION = re.compile(r"%(?P<flags>[-+ #0]*)(?P<width>\d*)(?P<precision>\.\d+)?(?P<kind>[diufFeEgGxXosr%])")


def _call(function: Any, argument: ast.expr) -> ast.expr:
    return ast.Call(ast.Constant(function), [argument], [])


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _shown(value: ast.expr, spec: str = "", conversion: int = -1) -> ast.expr:
    return ast.FormattedValue(value, conversion, ast.JoinedStr([ast.Constant(spec)]) if spec else None)


def _spec(flags: str, width: str, precision: str, kind: str) -> str:
    """What follows the colon in an f-string, for a conversion of the operator %."""
    if kind in "sr":
        return f"{'<' if '-' in flags else '>'}{width}" if width else ""
    sign = "+" if "+" in flags else " " if " " in flags else ""
    if "-" in flags:
        return f"{'<' if width else ''}{sign}{'#' if '#' in flags else ''}{width}{precision}{kind}"
    return f"{sign}{'#' if '#' in flags else ''}{'0' if '0' in flags and width else ''}{width}{precision}{kind}"


def _by_percent(text: str, values: list[ast.expr], is_int: Callable[[ast.expr], bool]) -> list[ast.expr] | None:
    """The parts of the f-string for ``text % values``; None: it is another text, or has other values. is_int: whether a value is known to be an int."""
    parts: list[ast.expr] = []
    end = 0
    for found in _CONVERSION.finditer(text):
        flags, width, precision, kind = found["flags"], found["width"], found["precision"] or "", found["kind"]
        if "%" in text[end : found.start()] or (kind == "%" and found[0] != "%%") or (kind in "sr" and (precision or set(flags) - {"-"})):
            return None
        parts.append(ast.Constant(text[end : found.start()] + ("%" if kind == "%" else "")))
        end = found.end()
        if kind != "%":
            if not values:
                return None
            value, is_whole = values.pop(0), kind in "diu"
            if is_whole and not is_int(value):
                value = _call(whole, value)
            parts.append(_shown(value, _spec(flags, width, precision, "d" if is_whole else kind), ord(kind) if kind in "sr" else -1))
    if values or "%" in text[end:]:
        return None
    return [*parts, ast.Constant(text[end:])]


def _by_format(text: str, call: ast.Call) -> list[ast.expr] | None:
    """The same for ``text.format(values)``."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    if None in named or any(isinstance(value, ast.Starred) for value in call.args):
        return None
    parts: list[ast.expr] = []
    count = 0
    try:
        fields = [*string.Formatter().parse(text)]
    except ValueError:
        return None
    for literal, name, spec, conversion in fields:
        parts.append(ast.Constant(literal))
        if name is None:
            continue
        if not name:
            name, count = str(count), count + 1
        value = named.get(name) if not name.isdigit() else call.args[int(name)] if int(name) < len(call.args) else None
        if value is None or "{" in (spec or ""):
            return None
        parts.append(_shown(value, spec or "", ord(conversion) if conversion else -1))
    return parts


def whole(x):
    """What %d shows: of a float, what int makes of it. Compiled, never called."""
    return int(x) if isinstance(x, (float, np.floating)) else x


def text(x):
    """What is added to a text. Compiled, never called."""
    if not isinstance(x, str):
        raise TypingError("only a string can be added to a string: write `str(x)`, or an f-string, f\"text {x}\"")
    return x


class _Texts(ast.NodeTransformer):
    def __init__(self, names: dict[str, Any], own: set[str]) -> None:
        self.names = names
        self.own = own  # variables of the function
        self.shown = False  # within what is printed or raised: elsewhere, `x + "a"` of a number x is the user's mistake

    def _is_builtin(self, node: ast.expr, name: str) -> bool:
        return isinstance(node, ast.Name) and node.id == name and name not in self.own and self.names.get(name, getattr(builtins, name)) is getattr(builtins, name)

    def _joined(self, node: ast.expr, parts: list[ast.expr] | None) -> ast.expr:
        if parts is None:
            return node
        kept = [part for part in parts if not _is_text(part) or part.value]  # type: ignore[attr-defined]
        return ast.fix_missing_locations(ast.copy_location(ast.JoinedStr(kept), node))

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod) and _is_text(node.left):
            values = [*node.right.elts] if isinstance(node.right, ast.Tuple) else [node.right]
            text: str = node.left.value  # type: ignore[attr-defined]
            return node if any(isinstance(value, ast.Starred) for value in values) else self._joined(node, _by_percent(text, values, lambda value: self._is_known(value, int)))
        sides = (node.left, node.right)
        if self.shown and isinstance(node.op, ast.Add) and any(_is_text(side) or isinstance(side, ast.JoinedStr) for side in sides) and not all(map(_is_text, sides)):
            return self._joined(node, [part for side in sides for part in self._parts(side)])
        return node

    def _parts(self, node: ast.expr) -> list[ast.expr]:
        """The parts of what is added to a text, which has to be one."""
        if isinstance(node, ast.JoinedStr):
            return node.values
        return [node] if _is_text(node) else [_shown(node if self._is_known(node, str) else _call(text, node))]

    def _is_known(self, node: ast.expr, cls: type) -> bool:
        """Whether it is a constant of the class, written here or from outside of the function."""
        if isinstance(node, ast.Name):
            return node.id not in self.own and isinstance(self.names.get(node.id), cls)
        return isinstance(node, ast.Constant) and isinstance(node.value, cls)

    def _visit_shown(self, node: Any) -> Any:
        before, self.shown = self.shown, True
        self.generic_visit(node)
        self.shown = before
        return node

    visit_Raise = visit_Assert = visit_JoinedStr = _visit_shown

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if self._is_builtin(node.func, "print"):
            return self._visit_shown(node)
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "format" and _is_text(node.func.value):
            return self._joined(node, _by_format(node.func.value.value, node))  # type: ignore[attr-defined]
        if len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred) and (self._is_builtin(node.func, "str") or (self.shown and self._is_builtin(node.func, "repr"))):
            return self._joined(node, [_shown(node.args[0], "", ord("s" if node.func.id == "str" else "r"))])  # type: ignore[attr-defined]
        return node


def rewritten(function: ast.FunctionDef, names: dict[str, Any]) -> ast.FunctionDef:
    """The function with f-strings. names: its globals."""
    own = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    function.body = [_Texts(names, own).visit(statement) for statement in function.body]
    return function


def has_texts(function: ast.FunctionDef) -> bool:
    """Whether a text is formatted in the function."""
    return any(
        (isinstance(node, ast.BinOp) and (_is_text(node.left) or _is_text(node.right)))
        or (isinstance(node, ast.Attribute) and node.attr == "format")
        or (isinstance(node, ast.Name) and node.id in ("str", "repr"))
        for node in ast.walk(function)
    )
