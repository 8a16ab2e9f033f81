"""Functions of whole arrays in compiled code, ``sum(row)``, ``np.max(m)``, ``row.mean()``: their loops.

Compiled, never called. The front end takes the function of this module that has the name of
what is called (core/front/read/array_function.c, which has their list); Python's own ones have an
underscore behind. Elements are taken in the order of their indices, the last axis fastest, and sums and products
are made in that order. Sums of float32 and complex64, where NumPy adds in pairs, are made in float64 and
complex128 and rounded once: one by one in float32 the error would grow with the length. Products are made in the type of the result;
sums and products of float16 and bfloat16 in float64 and float32.
"""

from __future__ import annotations

import math

import numpy as np

import lanewise as lw
from lanewise._generator_expressions import widened


def _sum_type(t):
    """What NumPy makes of sums and products of elements of type t."""
    if t == np.bool_ or t == np.int8 or t == np.int16 or t == np.int32:
        return np.int64
    if t == np.uint8 or t == np.uint16 or t == np.uint32:
        return np.uint64
    return t


def _mean_type(t):
    if isinstance(t(0), np.inexact) or t == lw.bfloat16:
        return t
    return np.float64


def _work_type(t):
    """In what products of type t are made."""
    if t == np.float16 or t == lw.bfloat16:
        return np.float32
    return t


def _total_type(t):
    """In what sums of type t are made."""
    if t == np.float32 or t == np.float16 or t == lw.bfloat16:
        return np.float64
    if t == np.complex64:
        return np.complex128
    return t


def _add(a, start):
    s = start
    for i in range(a.shape[0]):
        if a.ndim == 1:
            s += type(start)(a[i])
        else:
            s = _add(a[i], s)
    return s


def _multiply(a, start):
    p = start
    for i in range(a.shape[0]):
        if a.ndim == 1:
            p *= type(start)(a[i])
        else:
            p = _multiply(a[i], p)
    return p


def _first(a):
    return a[0] if a.ndim == 1 else _first(a[0])


# ---- Python's ----


def sum_(a, start=None):
    t = _sum_type(a.dtype.type)
    zero = _work_type(t)(0)
    s = zero if start is None else start + zero
    for i in range(a.shape[0]):
        s += type(zero)(a[i])
    return t(s) if start is None else s


def min_(a):
    if a.shape[0] == 0:
        raise ValueError("min() iterable argument is empty")
    least = a[0]
    for i in range(1, a.shape[0]):
        if a[i] < least:
            least = a[i]
    return least


def max_(a):
    if a.shape[0] == 0:
        raise ValueError("max() iterable argument is empty")
    most = a[0]
    for i in range(1, a.shape[0]):
        if a[i] > most:
            most = a[i]
    return most


def any_(a):
    return any(a)


def all_(a):
    return all(a)


# ---- NumPy's ----


def sum(a, dtype=None, initial=0):
    t = _sum_type(a.dtype.type) if dtype is None else dtype
    return t(_add(a, _total_type(t)(initial)))


def prod(a, dtype=None, initial=1):
    t = _sum_type(a.dtype.type) if dtype is None else dtype
    return t(_multiply(a, _work_type(t)(initial)))


def mean(a, dtype=None):
    t = _mean_type(a.dtype.type) if dtype is None else dtype
    return t(_add(a, _total_type(t)(0)) / _total_type(t)(a.size))


def _squares(a, middle, start):
    s = start
    for i in range(a.shape[0]):
        if a.ndim == 1:
            d = type(middle)(a[i]) - middle
            s += d.real * d.real + d.imag * d.imag if isinstance(d, np.complexfloating) else d * d
        else:
            s = _squares(a[i], middle, s)
    return s


def var(a, ddof=0):
    t = _mean_type(a.dtype.type)
    w = _total_type(t)
    middle = _add(a, w(0)) / w(a.size)
    zero = abs(w(0))
    n = a.size - ddof
    return type(abs(t(0)))(_squares(a, middle, zero) / type(zero)(n if n > 0 else 0))


def std(a, ddof=0):
    return math.sqrt(var(a, ddof))


def _least(a, least):
    for i in range(a.shape[0]):
        least = np.minimum(least, a[i]) if a.ndim == 1 else _least(a[i], least)
    return least


def _most(a, most):
    for i in range(a.shape[0]):
        most = np.maximum(most, a[i]) if a.ndim == 1 else _most(a[i], most)
    return most


def min(a):
    if a.size == 0:
        raise ValueError("zero-size array to reduction operation minimum which has no identity")
    return a.dtype.type(_least(a, _first(a)))


def max(a):
    if a.size == 0:
        raise ValueError("zero-size array to reduction operation maximum which has no identity")
    return a.dtype.type(_most(a, _first(a)))


def ptp(a):
    return max(a) - min(a)


def any(a):
    for i in range(a.shape[0]):
        if a.ndim == 1:
            if a[i]:
                return True
        elif any(a[i]):
            return True
    return False


def all(a):
    for i in range(a.shape[0]):
        if a.ndim == 1:
            if not a[i]:
                return False
        elif not all(a[i]):
            return False
    return True


def count_nonzero(a):
    n = 0
    for i in range(a.shape[0]):
        if a.ndim == 1:
            n += 1 if a[i] else 0
        else:
            n += count_nonzero(a[i])
    return n


def _arg(less, a, best, place, offset):
    """Value and place of the first of a's elements that is less than all before it; a NaN is."""
    for i in range(a.shape[0]):
        if a.ndim == 1:
            if less(a[i], best) or (a[i] != a[i] and best == best):
                best = a[i]
                place = offset + i
        else:
            best, place = _arg(less, a[i], best, place, offset + i * a[i].size)
    return best, place


def argmin(a):
    if a.size == 0:
        raise ValueError("attempt to get argmin of an empty sequence")
    return _arg(lambda x, y: x < y, a, _first(a), 0, 0)[1]


def argmax(a):
    if a.size == 0:
        raise ValueError("attempt to get argmax of an empty sequence")
    return _arg(lambda x, y: x > y, a, _first(a), 0, 0)[1]


def _products(a, b, zero):
    s = zero
    for i in range(a.shape[0]):
        s += type(zero)(a[i]) * type(zero)(b[i])
    return s


def dot(a, b):
    if a.shape[0] != b.shape[0]:
        raise ValueError("dot of rows of different lengths", a.shape[0], b.shape[0])
    if a.dtype.type == np.bool_ and b.dtype.type == np.bool_:
        for i in range(a.shape[0]):
            if a[i] and b[i]:
                return True
        return False
    zero = a.dtype.type(0) * b.dtype.type(0)
    return type(zero)(_products(a, b, _work_type(type(zero))(0)))


# ---- of math: rows, and tuples of numbers ----


def math_prod(a, start=1):
    p = start
    for x in a:
        p *= widened(x)
    return p


def math_sumprod(p, q):
    if len(p) != len(q):
        raise ValueError("Inputs are not the same length")
    s = 0
    for x, y in zip(p, q):
        s += widened(x) * widened(y)
    return s


def _real(x):
    """Differences of integers may not fit their type."""
    return x if isinstance(x, np.floating) else float(x)


def math_dist(p, q):
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    d = 0.0
    for x, y in zip(p, q):
        d = math.hypot(d, _real(x) - _real(y))
    return d
