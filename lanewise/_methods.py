"""`made.f` of a class whose f is a Ufunc or Gufunc: a call has the object as its first operand, and everything else is about the
operands that follow it.
"""

from __future__ import annotations

import inspect
import types
from collections import OrderedDict
from typing import Any

import lanewise as lw

_MOST_PLAIN = 16
_plain: OrderedDict[tuple[int, int], Any] = OrderedDict()  # function, object -> a Ufunc of the bound method, which holds both


def _without_object(layout: str) -> str:
    """Of "(),(n)->()" it is "(n)->()"."""
    rest = layout[layout.index(")") + 1:].lstrip()
    return rest.removeprefix(",")


class BoundUfunc:
    """A Ufunc or Gufunc as a method of an object."""

    __slots__ = ("__func__", "__self__", "__weakref__")

    def __init__(self, function: Any, instance: Any):
        self.__func__ = function
        self.__self__ = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(self.__self__, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<bound method {self.__func__.py_func.__qualname__} of {self.__self__!r}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundUfunc) and self.__func__ is other.__func__ and self.__self__ is other.__self__

    def __hash__(self) -> int:
        return hash((id(self.__func__), id(self.__self__)))

    def __reduce__(self) -> Any:
        return getattr, (self.__self__, self.__func__.__name__)

    @property
    def __name__(self) -> str:
        return str(self.__func__.__name__)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self.__func__.py_func.__doc__

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(types.MethodType(self.__func__.py_func, self.__self__))

    @property
    def nin(self) -> int:
        return int(self.__func__.nin) - 1

    @property
    def nargs(self) -> int:
        return int(self.__func__.nargs) - 1

    def reduce(self, *args: Any, **kwargs: Any) -> Any:
        return self._of_object().reduce(*args, **kwargs)

    def accumulate(self, *args: Any, **kwargs: Any) -> Any:
        return self._of_object().accumulate(*args, **kwargs)

    def reduceat(self, *args: Any, **kwargs: Any) -> Any:
        return self._of_object().reduceat(*args, **kwargs)

    def outer(self, *args: Any, **kwargs: Any) -> Any:
        return self._of_object().outer(*args, **kwargs)

    def at(self, *args: Any, **kwargs: Any) -> Any:
        return self._of_object().at(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__func__, name)

    @property
    def signature(self) -> Any:
        """The layout of a method made by guvectorize, without the `()` of the object."""
        layout = self.__func__.signature
        return layout if layout is None else _without_object(layout)

    def _of_object(self) -> Any:
        """`lw.vectorize(made.f)` or `lw.guvectorize(layout)(made.f)`: the object is a constant of it."""
        key = id(self.__func__), id(self.__self__)
        found = _plain.get(key)
        if found is None:
            from lanewise import _objects

            options = {name: value for name, value in self.__func__._state()["options"].items() if name != "source"}
            parameters = list(inspect.signature(self.__func__.py_func).parameters)
            for name in ("excluded", "static", "writable_args"):
                if options.get(name):
                    options[name] = sorted(_objects.parameter_names(options[name], parameters))
            method, layout = types.MethodType(self.__func__.py_func, self.__self__), getattr(self.__func__, "_layout", None)
            found = lw.vectorize(method, **options) if layout is None else lw.guvectorize(_without_object(layout), **options)(method)
            _plain[key] = found
            if len(_plain) > _MOST_PLAIN:
                _plain.popitem(last=False)
        return found
