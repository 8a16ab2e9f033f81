"""Values, conversions and operators as Python text, with every rounding and wrap."""

from __future__ import annotations

import math

import semantics
from typing_rules import is_lit, is_tuple, stored


def binary_text(op, t, x, y):
    if t in semantics.COMPLEX:
        name = {"+": "add", "-": "sub", "*": "mul", "/": "div"}[op]
        return f"complex_{name}('{t}', {x}, {y})"
    if op in ("&", "|", "^"):
        return f"({x} {op} {y})"
    if t in semantics.INTS:
        if op == "//":
            return f"int_floordiv('{t}', {x}, {y})"
        if op == "%":
            return f"int_mod('{t}', {x}, {y})"
        return f"wrap('{t}', {x} {op} {y})"
    if op == "/":
        return f"div('{t}', {x}, {y})"
    if op in ("//", "%"):
        return f"{'floordiv' if op == '//' else 'mod'}('{t}', {x}, {y})"
    return f"({x} {op} {y})" if t == "f8" else f"r{t[1]}({x} {op} {y})"


def constant_text(value):
    if is_tuple(value.type):
        return "(" + "".join(constant_text(v) + ", " for v in value.constant) + ")"
    return number_text(value.constant)


def number_text(x):
    if isinstance(x, float):
        return f"({x!r})" if math.isfinite(x) else f"float('{x!r}')"
    if isinstance(x, complex):
        return f"complex({number_text(x.real)}, {number_text(x.imag)})"
    return f"({x!r})"


def constant_as(value, to):
    """A constant converted now: Python's exact ints go to floats through float64."""
    t = stored(to)
    if is_lit(value.type):
        if t in semantics.FLOATS:
            return number_text(semantics.ROUND[t](float(value.constant)))
        if t in semantics.COMPLEX:
            return number_text(complex(semantics.ROUND[semantics.COMPLEX[t]](float(value.constant)), 0.0))
        return number_text(semantics.convert(value.constant, "", t))
    return number_text(semantics.convert(value.constant, stored(value.type), t))


def convert_text(text, source, to):
    if is_tuple(to):
        if source == to:
            return text
        items = ", ".join(convert_text(f"t_[{i}]", a, b) for i, (a, b) in enumerate(zip(source[1:], to[1:])))
        return f"(lambda t_: ({items},))({text})"
    a, b = stored(source), stored(to)
    if a == b:
        return text
    if a == "f8" and b in semantics.FLOATS:
        return f"r{b[1]}({text})"
    if a in semantics.FLOATS and b in semantics.FLOATS and semantics.FLOATS[a] < semantics.FLOATS[b]:
        return text
    return f"convert({text}, '{a}', '{b}')"
