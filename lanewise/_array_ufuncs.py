"""Ufuncs with an output in compiled code, ``np.add(x, y, out)``: the loops. Compiled, never called.

The front end calls these functions with the ufunc in front (core/front/read/array_function.c). Inputs are
numbers or arrays that broadcast against the output. Where one shares memory with the output, elements
are taken in an order in which nothing is overwritten that is read later, or, where an array is reversed
or transposed onto itself, two and two; where there is no such order, results go to a small buffer first,
and where they are too many for it, that is a ValueError.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise._core import intrinsics

local = intrinsics.local
_arrays = intrinsics.arrays  # core/tables/array_names.def

_BUFFER = 512  # bytes: LW_BUFFER_BYTES of core/front/lower/overlap.h

_NUMBERS: tuple[Any, ...] = (
    bool, int, float, complex, np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32,
    np.uint64, np.float16, np.float32, np.float64, np.complex64, np.complex128,
)


def _check(x, out):
    if not isinstance(x, _NUMBERS) and x.ndim <= out.ndim:
        _check_axes(x.shape, out.shape[out.ndim - x.ndim:])


def _check_axes(given, wanted):
    for n, m in zip(given, wanted):
        if n != m and n != 1:
            raise ValueError("an operand of a ufunc does not broadcast to its output")


def _row(x, i, out):
    """What belongs to the output's row i."""
    if isinstance(x, _NUMBERS):
        return x
    if x.ndim < out.ndim:
        return x
    return x[i if x.shape[0] != 1 else 0]


def _unary(f, x, out):
    for i in range(out.shape[0]):
        if out.ndim == 1:
            out[i] = f(_row(x, i, out))
        else:
            _unary(f, _row(x, i, out), out[i])


def _unary_pairs(f, x, out, x2, out2):
    for i in range(out.shape[0]):
        if out.ndim > 1:
            _unary_pairs(f, x[i], out[i], x2[i], out2[i])
        elif _arrays.in_front(out[i:], out2[i:]):
            first, second = f(x[i]), f(x2[i])
            out[i] = first
            out2[i] = second


def _store(buffer, n, out):
    """The results from n on to where they belong; what comes behind them."""
    for i in range(out.shape[0]):
        if out.ndim == 1:
            out[i] = buffer[n]
            n += 1
        else:
            n = _store(buffer, n, out[i])
    return n


def _unary_buffer(f, x, out, buffer, n):
    for i in range(out.shape[0]):
        if out.ndim == 1:
            buffer[n] = f(x[i])
            n += 1
        else:
            n = _unary_buffer(f, x[i], out[i], buffer, n)
    return n


def given(values, out):
    """The output of a call that passes arrays whole, or constants: `values` are its results, which are stored when all are computed."""
    if out is None:
        return values
    out[...] = values
    return out


def unary(f, x, out):
    _check(x, out)
    if isinstance(x, _NUMBERS):
        _unary(f, x, out)
    elif _arrays.overlaps(out, x):
        in_pairs, in_buffer, to, a, to2, a2 = _arrays.in_order(out, x)
        if in_pairs:
            _unary_pairs(f, a, to, a2, to2)
        elif in_buffer:
            buffer = local(_BUFFER // out.itemsize, out.dtype)
            _unary_buffer(f, a, to, buffer, 0)
            _store(buffer, 0, to)
        else:
            _unary(f, a, to)
    else:
        _unary(f, x, out)
    return out


def _binary(f, x, y, out):
    for i in range(out.shape[0]):
        if out.ndim == 1:
            out[i] = f(_row(x, i, out), _row(y, i, out))
        else:
            _binary(f, _row(x, i, out), _row(y, i, out), out[i])


def _binary_pairs(f, x, y, out, x2, y2, out2):
    for i in range(out.shape[0]):
        if out.ndim > 1:
            _binary_pairs(f, _row(x, i, out), _row(y, i, out), out[i], _row(x2, i, out), _row(y2, i, out), out2[i])
        elif _arrays.in_front(out[i:], out2[i:]):
            first, second = f(_row(x, i, out), _row(y, i, out)), f(_row(x2, i, out), _row(y2, i, out))
            out[i] = first
            out2[i] = second


def _binary_buffer(f, x, y, out, buffer, n):
    for i in range(out.shape[0]):
        if out.ndim == 1:
            buffer[n] = f(_row(x, i, out), _row(y, i, out))
            n += 1
        else:
            n = _binary_buffer(f, _row(x, i, out), _row(y, i, out), out[i], buffer, n)
    return n


def binary(f, x, y, out):
    _check(x, out)
    _check(y, out)
    if isinstance(x, _NUMBERS) and isinstance(y, _NUMBERS):
        _binary(f, x, y, out)
    elif _arrays.overlaps(out, x, y):
        in_pairs, in_buffer, to, a, b, to2, a2, b2 = _arrays.in_order(out, x, y)
        if in_pairs:
            _binary_pairs(f, a, b, to, a2, b2, to2)
        elif in_buffer:
            buffer = local(_BUFFER // out.itemsize, out.dtype)
            _binary_buffer(f, a, b, to, buffer, 0)
            _store(buffer, 0, to)
        else:
            _binary(f, a, b, to)
    else:
        _binary(f, x, y, out)
    return out
