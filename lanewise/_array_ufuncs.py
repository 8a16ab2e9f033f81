"""Ufuncs with an output in compiled code, ``np.add(x, y, out)``: the loops. Compiled, never called.

The front end calls these functions with the ufunc in front (core/front/read_ufunc.c). Inputs are
numbers or arrays that broadcast against the output.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_NUMBERS: tuple[Any, ...] = (
    bool, int, float, complex, np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32,
    np.uint64, np.float16, np.float32, np.float64, np.complex64, np.complex128,
)


def _check(x, out):
    if not isinstance(x, _NUMBERS) and x.ndim == out.ndim:
        if x.shape[0] != out.shape[0] and x.shape[0] != 1:
            raise ValueError("an operand of a ufunc does not broadcast to its output")


def _row(x, i, out):
    """What belongs to the output's row i."""
    if isinstance(x, _NUMBERS):
        return x
    if x.ndim < out.ndim:
        return x
    return x[i if x.shape[0] != 1 else 0]


def unary(f, x, out):
    _check(x, out)
    if out.ndim == 1:
        for i in range(out.shape[0]):
            out[i] = f(_row(x, i, out))
    else:
        for i in range(out.shape[0]):
            unary(f, _row(x, i, out), out[i])
    return out


def binary(f, x, y, out):
    _check(x, out)
    _check(y, out)
    if out.ndim == 1:
        for i in range(out.shape[0]):
            out[i] = f(_row(x, i, out), _row(y, i, out))
    else:
        for i in range(out.shape[0]):
            binary(f, _row(x, i, out), _row(y, i, out), out[i])
    return out
