"""numba's ``jitclass``, for programs that use it. In lanewise, classes need no decorator: see the page "Classes" of the documentation.

    >>> from lanewise.experimental import jitclass
    >>> @jitclass([("total", lw.float64)])
    ... class Sum:
    ...     def __init__(self):
    ...         self.total = 0
    ...     def add(self, x):
    ...         self.total += x
    >>> s = Sum()
    >>> s.add(2)
    >>> s.total
    2.0
"""

from __future__ import annotations

import sys
import types as _python
import typing
from typing import Any

from lanewise import _core, _numba_names, extending, types
from lanewise._elements import _hints, _reached

__all__ = ["jitclass"]

_BY_PYTHON = {int: types.int64, float: types.float64, bool: types.bool_, complex: types.complex128}
# Python alone calls these
_NOT_COMPILED = {"__init__", "__new__", "__repr__", "__str__", "__del__", "__format__", "__init_subclass__", "__class_getitem__", "__getstate__", "__setstate__", "__reduce__"}
_CONTAINERS = {list: "a list", dict: "a dict", set: "a set"}


def _fields_of(spec: Any) -> dict[str, Any]:
    if spec is None:
        return {}
    try:
        pairs = [*spec.items()] if hasattr(spec, "items") else [(name, given) for name, given in spec]
    except (TypeError, ValueError):
        raise TypeError(f"jitclass: spec must be a list of pairs (name, type), or a dict, not {spec!r:.200}") from None
    for name, given in pairs:
        if not isinstance(name, str):
            raise TypeError(f"jitclass: the name of a field must be a str, not {name!r:.200}")
    return dict(pairs)


def _type_of(cls: type, name: str, given: Any) -> Any:
    """The type of a field, where it is that of a number; None: calls find out what it is."""
    given = _BY_PYTHON.get(given, given) if isinstance(given, type) else given
    origin = typing.get_origin(given) or given
    if isinstance(origin, type) and origin in _CONTAINERS:
        raise TypeError(f"jitclass: the field `{name}` of `{cls.__name__}` is {_CONTAINERS[origin]}, which compiled code cannot keep: {_numba_names.CONTAINERS}")
    if isinstance(given, _core.Type):
        return given if getattr(given, "__lanewise_dtype__", None) else None
    if isinstance(given, (type, _core.Signature)) or getattr(given, "__module__", "").startswith("lanewise"):
        return None  # another class, or the type of a tuple
    raise TypeError(f"jitclass: the type of the field `{name}` of `{cls.__name__}` must be a type of lanewise.types or a class, not {given!r:.200}")


def _is_method(function: Any) -> bool:
    """Whether it is bound to its object when it is compiled (core/py/compiled)."""
    return function.__code__.co_argcount > 0 and function.__code__.co_varnames[0] == "self"


def _compile_methods(cls: type) -> None:
    for name, value in [*vars(cls).items()]:
        if name in _NOT_COMPILED:
            continue
        if isinstance(value, _python.FunctionType) and _is_method(value):
            setattr(cls, name, _core.jit(value))
        elif isinstance(value, staticmethod) and isinstance(value.__func__, _python.FunctionType):
            setattr(cls, name, staticmethod(_core.jit(value.__func__)))


def _hints_of(cls: type) -> dict[str, Any]:
    """Those whose names are bound: not that of the class itself."""
    return {name: hint for name, hint in _hints(cls).items() if not isinstance(hint, (str, typing.ForwardRef))}


def jitclass(cls_or_spec: Any = None, spec: Any = None) -> Any:
    """Fix the types of a class's fields, and compile its methods, like `numba.experimental.jitclass`.

    `lanewise.extending.register` does the first, and `njit` above each method the second. `__init__` runs in Python, unless compiled
    code makes the object; properties are compiled where compiled code reads them.

    Args:
        cls_or_spec: the class, or the types of its fields: pairs of a name and a type, or a dict. Without a class, the call returns a decorator.
        spec: the types, if the class is given, or `@jitclass(spec=...)`. Annotations in the class are types of fields, too.

    Returns:
        The class, or a decorator.

    Raises:
        TypeError: it is not a class, or a type is not one of a field.
    """
    if not isinstance(cls_or_spec, type):
        if spec is not None and cls_or_spec is not None:
            raise TypeError("jitclass: the first argument must be a class if spec= is given")
        types_of_fields = spec if cls_or_spec is None else cls_or_spec
        return lambda cls: jitclass(cls, types_of_fields)
    cls = cls_or_spec
    given = {**_hints_of(cls), **_fields_of(spec)}
    known = _reached(cls)
    found = {name: _type_of(cls, name, each) for name, each in given.items()}
    extending.register(cls, **{name: each for name, each in found.items() if each is not None and name in known})
    _compile_methods(cls)
    cls.class_type = _python.SimpleNamespace(instance_type=cls)  # type: ignore[attr-defined]
    return cls


def __getattr__(name: str) -> Any:
    _numba_names.refuse(name, sys._getframe(1), "lanewise.experimental", _numba_names.EXPERIMENTAL)
