"""Methods of ufuncs in compiled code: which function of _array_ufunc_methods implements one, and what it has to know.

The reader asks ``implementation(np.add.reduce)`` (core/front/read/ufunc_method.c), in ordinary Python.
"""

from __future__ import annotations

import numpy as np

from lanewise import _array_ufunc_methods as methods
from lanewise._core import Ufunc

_LOGICAL = ("logical_and", "logical_or", "logical_xor")


def _is_reorderable(ufunc):
    """Whether the order of operands does not matter, by what NumPy does with two axes: it looks before it computes."""
    if isinstance(ufunc, Ufunc):
        return ufunc._identity is not None
    for loop in ufunc.types:
        try:
            ufunc.reduce(np.zeros((0, 1, 1), loop[0]), axis=(1, 2))
        except ValueError:
            return False
        except TypeError:
            continue
        return True
    return False


def _kind(ufunc):
    """How the type of a reduction follows from that of the elements."""
    if isinstance(ufunc, Ufunc):
        return "user"
    if ufunc in (np.add, np.multiply):
        return ufunc.__name__
    return "logical" if ufunc.__name__ in _LOGICAL else "numpy"


def implementation(method):
    """The function that implements it, what that takes (core/tables/array_functions.def), what errors call it, and the first arguments
    of its calls. None: this is not a method of a ufunc of numbers."""
    ufunc, name = method.__self__, method.__name__
    if ufunc.signature is not None or ufunc.nout != 1 or ufunc.nin > 2:
        return None
    shown = f"{ufunc.__name__}.{name}"
    if name == "at":
        return (methods.at, "tet", shown, ufunc) if ufunc.nin == 2 else (methods.at_unary, "tet", shown, ufunc)
    if name not in ("reduce", "accumulate", "reduceat", "outer"):
        return None
    if ufunc.nin != 2:
        return methods.only_binary, "", shown, f"{name} only supported for binary functions"
    if name == "outer":
        return methods.outer, "tXX", shown, ufunc
    if name == "reduce":
        order = f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified"
        refusal = None if _is_reorderable(ufunc) else order
        return methods.reduce, "", shown, ufunc, _kind(ufunc), ufunc.identity, refusal, ufunc.__name__
    return getattr(methods, name), "" if name == "reduceat" else "tttX", shown, ufunc, _kind(ufunc), shown
