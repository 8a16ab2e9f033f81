"""Calls of ufuncs with excluded= or static= that another library answers (pandas, xarray): it knows operands alone, so it is given a
function of these."""

from __future__ import annotations

import inspect
from typing import Any

from lanewise._objects import parameter_names


class Operands:
    """A ufunc as a function of its operands, with the other arguments of one call."""

    def __init__(self, ufunc: Any, names: "list[str]", beside: "dict[str, Any]") -> None:
        self.nin, self.nout, self.signature = len(names), ufunc.nout, ufunc.signature
        self.__name__ = ufunc.__name__
        self._ufunc, self._names, self._beside = ufunc, names, beside

    def __call__(self, *operands: Any, **kwargs: Any) -> Any:
        return self._ufunc(**dict(zip(self._names, operands)), **self._beside, **kwargs)

    def __repr__(self) -> str:
        return repr(self._ufunc)


def of_operands(ufunc: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The function of operands, these, and the keywords of the call."""
    options = ufunc._state()["options"]
    parameters = inspect.signature(ufunc.py_func).parameters
    apart = parameter_names(options.get("static"), list(parameters)) | parameter_names(options.get("excluded"), list(parameters))
    needed = [name for name, one in parameters.items() if name not in apart and one.default is one.empty]
    inputs = [name for name in parameters if name not in needed[ufunc.nin:]]  # the others are outputs
    given = dict(zip([name for name in inputs if parameters[name].kind is not inspect.Parameter.KEYWORD_ONLY], args))
    for name in inputs:
        if name in kwargs:
            if name in given:
                raise TypeError(f"{ufunc.__name__}() got multiple values for argument {name!r}")
            given[name] = kwargs.pop(name)
    for name in inputs:
        if name not in given and parameters[name].default is inspect.Parameter.empty:
            raise TypeError(f"{ufunc.__name__}() missing a required argument: {name!r}")
    names = [name for name in inputs if name in given and name not in apart]
    beside = {name: value for name, value in given.items() if name in apart}
    return Operands(ufunc, names, beside), tuple(given[name] for name in names), kwargs
