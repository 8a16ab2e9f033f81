"""`locals=` of the decorators: the types of variables, as programs for numba give them."""

from __future__ import annotations

import types
import warnings
from typing import Any

from lanewise import _core


def with_types(function: Any, keywords: dict[str, Any]) -> types.FunctionType:
    """A copy of the function with the types, which the reader finds in its attribute (core/front/read/params.c). It is a copy,
    because the function may be decorated again without them."""
    given = keywords["locals"]
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"locals= needs a Python function, not {type(function).__name__!r:.100}")
    named = {name: _core._type_from_text(type_) if isinstance(type_, str) else type_ for name, type_ in given.items()}
    if getattr(function, "__lanewise_locals__", None) == named:
        return function  # it is decorated anew
    code = function.__code__
    others = [name for name in given if name not in code.co_varnames + code.co_cellvars]
    if others and keywords.get("warn", True):
        warnings.warn(f"locals= of `{function.__name__}` names {', '.join(f'`{name}`' for name in others)}: the function has no such variable", stacklevel=2)
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    annotations = "__annotate__" if hasattr(function, "__annotate__") else "__annotations__"  # reading the latter may evaluate them
    for name in (annotations, "__kwdefaults__", "__qualname__", "__module__", "__doc__"):
        setattr(made, name, getattr(function, name))
    made.__dict__.update(function.__dict__, __lanewise_locals__=named)
    return made
