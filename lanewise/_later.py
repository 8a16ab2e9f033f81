"""Kernels and reductions of the package that are made when they are asked for.

Decorating a function reads its source, and that of each function it calls: some milliseconds for a kernel that draws random numbers. A
module of forty kernels, of which a program uses one, is written with the `forall` of this module, which only notes the function, and
ends with `__getattr__ = _later.made_when_asked(globals())`. Other modules find each kernel under its name, as ever; the module itself has to
ask for it: `_own("name")`. A reduction is written as `later(name, …)`, and is `.one` of that.
"""

from __future__ import annotations

from typing import Any, Callable

from lanewise import _core


class _Later:
    def __init__(self, function: Callable[..., Any], options: dict[str, Any]):
        self.function, self.options = function, options


def forall(function: Any = None, **options: Any) -> Any:
    """lanewise.forall, with its keywords, for a module that ends with made_when_asked()."""
    if function is None:
        return lambda function: _Later(function, options)
    return _Later(function, options)


def made_when_asked(scope: dict[str, Any]) -> Callable[[str], Any]:
    """The module's __getattr__, which makes a noted kernel and leaves it in the module, where it is found from then on."""
    noted = {name: value for name, value in scope.items() if isinstance(value, _Later)}
    for name in noted:
        del scope[name]

    def find(name: str) -> Any:
        if name in scope:  # asked for by _own()
            return scope[name]
        if name not in noted:
            raise AttributeError(f"module {scope['__name__']!r} has no attribute {name!r:.200}")
        one = noted[name]
        # Threads may ask at once: all get the same kernel.
        return scope.setdefault(name, _core.forall(**one.options)(one.function) if one.options else _core.forall(one.function))

    return find


def named(name: str, *arguments: Any, **options: Any) -> _core.Reduction:
    """What lanewise.reduce(…) makes of these arguments, with this __name__: in errors and in the table of lanewise.profile()."""
    made = _core.reduce(*arguments, **options)
    made.__name__ = name
    return made


class later:
    """What `make(name, …)`, which is `named` unless another function is given, makes of these arguments when `one` is first read."""

    one: _core.Reduction

    def __init__(self, name: str, *arguments: Any, make: Callable[..., _core.Reduction] = named, **options: Any):
        self.__name__, self._arguments, self._make, self._options = name, arguments, make, options

    def __getattr__(self, name: str) -> Any:
        """`one`, which is an attribute from then on; threads may ask at once: all get the same one."""
        if name != "one":
            raise AttributeError(name)
        return self.__dict__.setdefault("one", self._make(self.__name__, *self._arguments, **self._options))
