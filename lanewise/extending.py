"""Classes of yours in compiled code: types of their fields, and arrays of their objects.

    >>> import lanewise as lw
    >>> @lw.extending.register(lo=lw.float32, hi=lw.float32)
    ... class Interval:
    ...     def __init__(self, lo, hi):
    ...         self.lo = lo
    ...         self.hi = hi
    >>> Interval.__lanewise_fields__["lo"]
    float32

[docs/classes.md](../docs/classes.md) says what compiled code does with classes.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from lanewise._core import Type

__all__ = ["register"]


def _fields_of(cls: type) -> set[str]:
    """The names that objects of the class may have as fields."""
    names = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    code = getattr(getattr(cls, "__init__", None), "__code__", None)
    return names | set(code.co_names if code else ())


def register(cls: Any = None, /, **types: Any) -> Any:
    """Fix the types of the fields of a class.

    The fields of an object follow from the arguments of each call, unless their types are fixed: then what is assigned to them in
    compiled code is converted as to an annotated variable, and what objects have that are passed as arguments must fit.

    Args:
        cls: a dataclass, or a class with an `__init__` of its own. Left out: for use as a decorator.
        **types: for each field that is fixed, its type: `lw.float64`, or another number's.

    Returns:
        The class.

    Raises:
        TypeError: it is no such class, it has no such field, or a type is not a number's.

    >>> class Point:
    ...     def __init__(self, x, y):
    ...         self.x = x
    ...         self.y = y
    >>> register(Point, x=lw.float64) is Point
    True
    """
    if cls is None:
        return lambda cls: register(cls, **types)
    if not isinstance(cls, type):
        raise TypeError(f"register: expected a class, not {cls!r}")
    if issubclass(cls, tuple):
        raise TypeError(f"register: the items of the namedtuple `{cls.__name__}` are what they are given; make it a dataclass")
    known = _fields_of(cls)
    for name, given in types.items():
        if name not in known:
            raise TypeError(f"register: `{cls.__name__}` has no field `{name}`")
        if not isinstance(given, Type) or not getattr(given, "__lanewise_dtype__", None):
            raise TypeError(f"register: {name}={given!r} must be the type of a number, as lw.float64")
    cls.__lanewise_fields__ = {**getattr(cls, "__lanewise_fields__", {}), **types}  # type: ignore[attr-defined]
    return cls
