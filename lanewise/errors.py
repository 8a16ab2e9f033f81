"""The exceptions of lanewise. Where one of Python's own classes fits, it is raised instead
(ValueError, TypeError, OverflowError, MemoryError, …)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

__all__ = [
    "ArgumentError", "CompileError", "CompilerNotFound", "DriverError", "KernelError", "KeywordError", "LanewiseError",
    "LaunchError", "LinkError", "PerformanceWarning", "PrecisionWarning", "SignatureError", "TypingError", "UnsupportedError",
]


class LanewiseError(Exception):
    """Base of all; itself raised only for a mistake of lanewise's own."""


class CompileError(LanewiseError):
    """A function cannot be compiled. The message shows file, line, source line and caret."""

    code: str = ""
    filename: "str | None" = None
    lineno: int = 0
    col: int = 0
    end_col: int = 0
    help: "str | None" = None


class TypingError(CompileError, TypeError):
    """The types in a function do not go together."""


class ArgumentError(TypingError, ValueError):
    """A constant that no named function takes for this parameter, such as an alignment of 3."""


class UnsupportedError(CompileError):
    """Something that compiled code cannot do, or not yet."""


class SignatureError(CompileError, ValueError, TypeError):
    """A signature that cannot be read, or that contradicts another one or the layout. It is a ValueError, and a TypeError too,
    since both are what other libraries raise."""


class KeywordError(LanewiseError, TypeError, KeyError):
    """A keyword that a decorator does not have: a TypeError, as Python's own, and a KeyError, as numba's."""

    __str__ = Exception.__str__  # not KeyError's, which shows a repr


class LinkError(LanewiseError):
    """The linker refused code (its log is in the message), or a callable that was asked for code to
    link failed or gave something else."""


_CUDA_CORE = ("cuda.core._utils.cuda_utils", "cuda.core.experimental._utils.cuda_utils")
_of_cuda_core: dict[tuple[type, type], type] = {}  # by one of our classes and cuda.core's


def _for_cuda_core(ours: type) -> type:
    """`ours`; in a program that has imported cuda.core, a class of the same name that derives from `ours` and from the CUDAError
    there."""
    theirs = next((getattr(sys.modules[name], "CUDAError", None) for name in _CUDA_CORE if name in sys.modules), None)
    if not isinstance(theirs, type) or not issubclass(theirs, Exception) or issubclass(ours, theirs):
        return ours
    made = _of_cuda_core.get((ours, theirs))
    if made is None:
        names = {"__module__": ours.__module__, "__qualname__": ours.__qualname__, "__doc__": ours.__doc__,
                 "__reduce__": lambda self: (ours, self.args, vars(self))}
        made = _of_cuda_core.setdefault((ours, theirs), type(ours.__name__, (ours, theirs), names))
    return made


class DriverError(LanewiseError, RuntimeError):
    """A call of the CUDA driver failed: `name` and `code` are CUDA's.

    In a program that has imported cuda.core, it is a cuda.core CUDAError as well, which numba-cuda raises.
    """

    name: str = ""
    code: int = 0

    def __new__(cls, *args: Any) -> DriverError:
        return super().__new__(_for_cuda_core(cls), *args)


class LaunchError(DriverError, TypeError, ValueError):
    """A kernel that cannot be launched so: without the shape of the launch, with more threads than `launch_bounds=` allows, or
    because it is a device function. numba raises a ValueError, the driver's error or a RuntimeError: it is each of them, and
    a TypeError."""


class CompilerNotFound(LanewiseError):
    """A compiler library is missing; the message lists every place tried and what to install."""


class KernelError(LanewiseError, RuntimeError):
    """A kernel failed while it ran."""


class PerformanceWarning(UserWarning):
    """Works, but slower than it could."""


class PrecisionWarning(UserWarning):
    """Does what it says, and loses digits on the way."""


_NUMBAS = {
    "NumbaError": "`LanewiseError` is the base of all errors, `CompileError` of those of compilation",
    "LoweringError": "`CompileError` is the base of the errors of compilation",
    "UnsupportedBytecodeError": "`UnsupportedError` is raised for what compiled code cannot do",
    "RequireLiteralValue": "`ArgumentError` is raised for a constant that a function does not take",
    "NumbaValueError": "`ArgumentError` is a ValueError",
    "NumbaTypeError": "`TypingError` is a TypeError",
    "NumbaWarning": "the warnings are `PerformanceWarning` and `PrecisionWarning`, which are UserWarnings",
    "NumbaPerformanceWarning": "`PerformanceWarning` warns of what is slower than it could be",
    "NumbaTypeSafetyWarning": "`PrecisionWarning` warns of what loses digits; conversions that lose more are errors (E142)",
    "NumbaParallelSafetyWarning": "iterations of prange that depend on each other are an error (E168)",
    **{f"Numba{kind}Warning": "there is no such warning: leave the filter out"
       for kind in ("ExperimentalFeature", "Deprecation", "PendingDeprecation", "DebugInfo", "IRAssumption", "InvalidConfig")},
}


if not TYPE_CHECKING:  # where checkers see it, they take any name for one of the module

    def __getattr__(name):
        import sys
        from importlib import import_module

        return import_module("lanewise._numba_names").refuse(name, sys._getframe(1), __name__, _NUMBAS)
