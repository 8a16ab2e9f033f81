"""What is wrong with an operand that no compiled code takes: errors that name the argument and the line to write.

NumPy's own error, "did not contain a loop with signature matching types", names classes of dtypes. The call's exception
stays of NumPy's class, and says which argument it was.
"""

from __future__ import annotations

import datetime
import enum
import inspect
from typing import Any

import numpy as np

from lanewise._containers import promised

_classes: dict[type, Any] = {}  # NumPy's class of exceptions -> that of ours


def is_sparse(value: Any) -> bool:
    return hasattr(value, "nnz") and any(base.__module__.split(".")[0] in ("scipy", "cupyx", "sparse", "jax") for base in type(value).__mro__)


def _date_of(value: Any) -> np.dtype | None:
    """The dtype of dates or durations that the value stands for, by its first element if it is an array: as a text or an object of datetime."""
    items = np.asarray(value) if isinstance(value, (np.ndarray, list, tuple)) else None
    if getattr(getattr(value if items is None else items, "dtype", None), "names", None):
        return None  # NumPy takes a record of one field for what the field holds
    first = value if items is None or items.size == 0 else items.flat[0]
    if isinstance(first, (bytes, float, int, np.inexact)) or isinstance(first, str) and not first.strip(" 0123456789-:.TZ") == "":
        return None
    try:
        if isinstance(first, str) and "-" not in first[1:]:  # "2024" is a number, too
            return None
        made = np.array(first, "m8" if isinstance(first, (datetime.timedelta, np.timedelta64)) else "M8")
    except (TypeError, ValueError):
        return None
    return None if np.isnat(made).any() or made.ndim else made.dtype


def _date_hint(name: str, value: Any) -> str:
    """Of a value that is or stands for dates, where the function takes them; "" of others."""
    dtype = _date_of(value)
    if dtype is None:
        return ""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"`{name}.astype({dtype.str[1:]!r})` makes {'dates' if dtype.kind == 'M' else 'durations'} of them"
    kind = "date" if dtype.kind == "M" else "duration"
    return f"`numpy.array({name}, {dtype.str[1:]!r})` {f'makes {kind}s of them' if isinstance(value, (list, tuple)) else f'is a {kind}'}"


def hint(name: str, value: Any) -> str:
    """What to write instead."""
    dtype = getattr(value, "dtype", None) or np.asarray(value).dtype
    if dtype.names:
        return f"pass its fields, `{name}[{dtype.names[0]!r}]`; functions of `forall` and `jit` take arrays of records"
    if value is None:
        return f"a missing number is numpy.nan; static=({name!r},) compiles None in"
    if is_sparse(value):
        return f"`{name}.toarray()` is an array; of functions that map zero to zero `{name}.data` has what they change"
    if isinstance(value, enum.Enum):
        return f"static=({name!r},) compiles a member in; those of an `enum.IntEnum` are numbers"
    if isinstance(value, str):
        return f"a number is `float({name})`; static=({name!r},) makes a string a constant of the code"
    if dtype.kind in "USTa":
        return f"`{name}.astype(float)` converts strings to numbers" if isinstance(value, np.ndarray) else f"`numpy.array({name}, float)` converts strings to numbers"
    if dtype.char == "g":
        return f"`{name}.astype(numpy.float64)`"
    if dtype.char == "G":
        return f"`{name}.astype(numpy.complex128)`"
    if isinstance(value, np.ndarray) and dtype == object:
        return f"`{name}.astype(float)` makes an array of numbers, if all elements are numbers"
    if isinstance(value, dict) or not hasattr(value, "__float__") and hasattr(value, "__iter__"):
        return f"make it an array of numbers, as `numpy.fromiter({name}, float)` does"
    if hasattr(value, "__float__"):
        return f"`float({name})` is a number"
    return "pass numbers or arrays of numbers"


def shown(value: Any) -> str:
    """What the value is, in words."""
    if getattr(getattr(value, "dtype", None), "names", None):
        return f"an array of records, {value.dtype}" if hasattr(value, "ndim") and value.ndim else f"a record, {value.dtype}"
    if isinstance(value, np.ndarray):
        return f"an array of dtype {value.dtype}"
    kind = type(value).__name__
    return "None" if value is None else f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"


def _is_known(value: Any) -> bool:
    if isinstance(value, (bool, int, float, complex)) or is_sparse(value):
        return not is_sparse(value)
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        try:
            dtype = np.asarray(value).dtype
        except ValueError:
            return True  # NumPy's error says it
    return not isinstance(dtype, np.dtype) or dtype.kind in "biufcVmM" and dtype.char not in "gG" and dtype.names is None


def _text(problem: Exception) -> str:
    return problem.text  # type: ignore[attr-defined]


def _too_large(ufunc: Any, args: tuple[Any, ...], most: int = 2**64) -> Exception | None:
    """The exception of an int that neither int64 nor uint64 holds, or that is too large for the dtype of the other operands if `most` is 2**63;
    NumPy would make an object of it, or name no argument."""
    for at, value in enumerate(args[:ufunc.nin]):
        if isinstance(value, int) and not -(2**63) <= value < most:
            name = list(inspect.signature(ufunc).parameters)[at]
            shown_value = value if abs(value) < 10**100 else "it"
            takes = "a Python int is int64 or uint64 here" if not 0 <= value < 2**64 else "beside the other operands, a Python int is int64 or narrower here"
            return OverflowError(f"{ufunc.__name__}: argument `{name}`: {takes}, and {shown_value} does not fit; pass {'np.uint64(...)' if 0 <= value < 2**64 else 'a float'}")
    return None


def explained(ufunc: Any, problem: Exception, args: tuple[Any, ...]) -> Exception:
    """The exception of a call for whose operands NumPy has found no loop; the same where they are all numbers that fit."""
    if isinstance(problem, OverflowError):
        return (_too_large(ufunc, args, 2**63) if str(problem).startswith("Python int too large") else None) or problem
    too_large = _too_large(ufunc, args)
    if not hasattr(problem, "dtypes"):  # one of casts
        return _named(ufunc, problem)
    if too_large:
        return too_large
    dates = ufunc.is_dynamic or any(c in types for types in ufunc.types for c in "mM")
    for at, value in enumerate(args[:ufunc.nin]):
        promise = promised(value)
        if promise is None and _is_known(value):
            continue
        name = list(inspect.signature(ufunc).parameters)[at]
        if promise is not None:
            return _saying(problem, f"`{ufunc.__name__}`: argument `{name}` is {promise.replace('x.compute', name + '.compute').replace('(x,', f'({name},')}")
        advice = dates and _date_hint(name, value) or hint(name, value)
        return _saying(problem, f"`{ufunc.__name__}`: argument `{name}` is {shown(value)}; expected numbers or arrays of bool, integers, floats"
                                f"{', complex numbers, dates or durations' if dates else ' or complex numbers'}: {advice} ({_named_text(ufunc, problem)})")
    return _named(ufunc, problem)


def _saying(problem: Exception, text: str) -> Exception:
    """The exception, of NumPy's class, with this text."""
    kind: Any = type(problem)
    if kind not in _classes:
        _classes[kind] = type(kind.__name__, (kind,), {"__str__": _text, "__module__": kind.__module__, "__qualname__": kind.__qualname__})
    made: Any = _classes[kind].__new__(_classes[kind])
    made.args = problem.args
    made.__dict__.update(problem.__dict__)
    made.text = text
    return made


def _named_text(ufunc: Any, problem: Exception) -> str:
    """NumPy's text, with the user's own name where NumPy and pandas know another ufunc by that one."""
    return str(problem).replace(f"'lanewise.{ufunc.__name__}'", f"'{ufunc.__name__}'")


def _of_outputs(ufunc: Any, problem: Any) -> str:
    """What to write instead of dtype=, which NumPy asks for of all outputs, where one of them has another dtype."""
    wanted = getattr(problem, "dtypes", ())[ufunc.nin:]
    if ufunc.nout < 2 or len(wanted) != ufunc.nout or None in wanted or len(set(wanted)) != 1:
        return ""
    try:
        asked = np.dtype(wanted[0]())
        found = ufunc.resolve_dtypes((asked,) * ufunc.nin + (None,) * ufunc.nout)
    except Exception:  # there is no such loop either
        return ""
    other = next((k for k, dtype in enumerate(found[ufunc.nin:]) if dtype != asked), None)
    if other is None:
        return ""
    signature = "".join(dtype.char for dtype in found[:ufunc.nin]) + "->" + "".join(dtype.char for dtype in found[ufunc.nin:])
    return f"; dtype= asks for {asked} in all outputs, and output {other + 1} is {found[ufunc.nin + other]}: signature={signature!r} names the dtype of each"


def _named(ufunc: Any, problem: Exception) -> Exception:
    text = _named_text(ufunc, problem) + _of_outputs(ufunc, problem)
    return problem if text == str(problem) else _saying(problem, text)
