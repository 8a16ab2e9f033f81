"""The exceptions of lanewise. Where one of Python's own classes fits, it is raised instead
(ValueError, TypeError, OverflowError, MemoryError, …)."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any

__all__ = [
    "ArgumentError", "CompileError", "CompilerNotFound", "DriverError", "KernelError", "KeywordError", "LanewiseError",
    "LaunchError", "LinkError", "PerformanceWarning", "PrecisionWarning", "SignatureError", "TypingError", "UnsupportedError",
]

# Classes that no module and name lead to, by number: core/front/read/classes/local_class.c.
_local_classes: "weakref.WeakValueDictionary[int, type[BaseException]]" = weakref.WeakValueDictionary()


class LanewiseError(Exception):
    """The base class of lanewise's exceptions. An instance of the class itself reports a fault in lanewise."""


class CompileError(LanewiseError):
    """A function cannot be compiled. The message shows file, line, source line and caret.

    Attributes: `code` (such as "E103"), `filename`, `lineno`, `col`, `end_col` and `help`.
    """

    code: str = ""
    filename: "str | None" = None
    lineno: int = 0
    col: int = 0
    end_col: int = 0
    help: "str | None" = None


class TypingError(CompileError, TypeError):
    """The types in a function do not fit together, for example the types of two operands."""


class ArgumentError(TypingError, ValueError):
    """A constant argument has a value that the called function does not accept, such as an alignment of 3."""


class UnsupportedError(CompileError):
    """A function uses something that compiled code does not support."""


class SignatureError(CompileError, ValueError, TypeError):
    """A signature cannot be read, or contradicts another one or the layout.

    It is both a ValueError and a TypeError, because other libraries raise one or the other.
    """


class KeywordError(LanewiseError, TypeError, KeyError):
    """A decorator was called with a keyword that it does not have. It is a TypeError, as in Python, and a KeyError, as in numba."""

    __str__ = Exception.__str__  # not KeyError's, which shows a repr


class LinkError(LanewiseError):
    """Code given with link= cannot be linked; the message contains the linker's log. Or a callable that should return the code
    failed or returned something else."""


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
    """A call of the CUDA driver failed. `name` and `code` are the name and the number of CUDA's error.

    In programs that have imported cuda.core, it is also a CUDAError of cuda.core, which numba-cuda raises.
    """

    name: str = ""
    code: int = 0

    def __new__(cls, *args: Any) -> DriverError:
        return super().__new__(_for_cuda_core(cls), *args)


class LaunchError(DriverError, TypeError, ValueError):
    """A kernel was called without a grid and a block, launched with more threads than `launch_bounds=` allows, or is a device
    function, which cannot be launched.

    numba raises a ValueError, a RuntimeError or the driver's error in these cases. This class is derived from all of them, and
    from TypeError.
    """


class CompilerNotFound(LanewiseError):
    """A compiler library is missing; the message lists every place tried and what to install."""


class KernelError(LanewiseError, RuntimeError):
    """A kernel failed while it ran, or check={'race'} found a race."""


class NumbaWarning(UserWarning):
    """The base class of lanewise's warnings, under numba's name, for filters of numba's programs."""


class PerformanceWarning(NumbaWarning):
    """The program works, but more slowly than it could."""


class PrecisionWarning(NumbaWarning):
    """A computation loses digits."""


# numba's other warnings, which filters name: two are lanewise's own, and the others are never given
NumbaPerformanceWarning = PerformanceWarning
NumbaTypeSafetyWarning = PrecisionWarning


class NumbaDebugInfoWarning(NumbaWarning):
    """Never given: see PerformanceWarning and PrecisionWarning."""


class NumbaDeprecationWarning(NumbaWarning, DeprecationWarning):
    """Never given: see PerformanceWarning and PrecisionWarning."""


class NumbaExperimentalFeatureWarning(NumbaWarning):
    """Never given: see PerformanceWarning and PrecisionWarning."""


class NumbaIRAssumptionWarning(NumbaWarning):
    """Never given: see PerformanceWarning and PrecisionWarning."""


class NumbaInvalidConfigWarning(NumbaWarning):
    """Never given: see PerformanceWarning and PrecisionWarning."""


class NumbaParallelSafetyWarning(NumbaWarning):
    """Never given: iterations of prange that depend on each other are an error (E168)."""


class NumbaPedanticWarning(NumbaWarning):
    """Never given: see PerformanceWarning and PrecisionWarning."""


class NumbaPendingDeprecationWarning(NumbaWarning, PendingDeprecationWarning):
    """Never given: see PerformanceWarning and PrecisionWarning."""


_NUMBAS = {
    "NumbaError": "`LanewiseError` is the base of all errors, `CompileError` of those of compilation",
    "LoweringError": "`CompileError` is the base of the errors of compilation",
    "UnsupportedBytecodeError": "`UnsupportedError` is raised for what compiled code cannot do",
    "RequireLiteralValue": "`ArgumentError` is raised for a constant that a function does not take",
    "NumbaValueError": "`ArgumentError` is a ValueError",
    "NumbaTypeError": "`TypingError` is a TypeError",
}


if not TYPE_CHECKING:  # where checkers see it, they take any name for one of the module

    def __getattr__(name):
        import sys
        from importlib import import_module

        return import_module("lanewise._numba_names").refuse(name, sys._getframe(1), __name__, _NUMBAS)
