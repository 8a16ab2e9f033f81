"""Functions of whole arrays in compiled code, ``sum(row)``, ``np.max(m)``, ``row.sort()``, and NumPy's functions of numbers
that are no ufuncs, ``np.isclose(x, y)``.

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


def array_equal(a, b, equal_nan=False):
    if a.ndim != b.ndim or a.shape != b.shape:
        return False
    for i in range(a.shape[0]):
        if a.ndim > 1:
            if not array_equal(a[i], b[i], equal_nan):
                return False
        elif a[i] != b[i] and not (equal_nan and a[i] != a[i] and b[i] != b[i]):
            return False
    return True


# ---- NumPy's, of numbers and rows ----


def _is_less(x, y):
    """NumPy's order of numbers of one type: NaN is behind all others, complex numbers go by their real parts."""
    if not isinstance(x, np.complexfloating):
        return x < y or (y != y and x == x)
    if x.real < y.real:
        return x.imag == x.imag or y.imag != y.imag
    if x.real > y.real:
        return y.imag != y.imag and x.imag == x.imag
    if x.real == y.real or (x.real != x.real and y.real != y.real):
        return x.imag < y.imag or (y.imag != y.imag and x.imag == x.imag)
    return y.real != y.real


def _strong(x):
    """A number as an element of an array: Python's numbers have 64 bits (complex ones 128)."""
    if isinstance(x, np.generic) or type(x) == lw.bfloat16:
        return x
    if isinstance(x, bool):
        return np.bool_(x)
    if isinstance(x, int):
        return np.int64(x)
    if isinstance(x, float):
        return np.float64(x)
    return np.complex128(x)


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    # Distances between unsigned or small integers may not fit their type.
    y = b if isinstance(b, np.inexact) or type(b) == lw.bfloat16 or isinstance(b, (float, complex)) else _to_float(b)
    near = abs(a - y) <= atol + rtol * abs(y) and np.isfinite(y)
    return near or a == y or (equal_nan and a != a and y != y)


def _to_float(x):
    return np.float64(x) if isinstance(x, np.generic) else float(x)


def _largest(t):
    if t == np.float16:
        return t(65504.0)
    if t == lw.bfloat16:
        return t(3.3895313892515355e38)
    if t == np.float32:
        return t(3.4028234663852886e38)
    return t(1.7976931348623157e308)


def _finite(x, t, nan, posinf, neginf):
    if x != x:
        return t(nan)
    if x == math.inf:
        return _largest(t) if posinf is None else t(posinf)
    if x == -math.inf:
        return -_largest(t) if neginf is None else t(neginf)
    return x


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    v = _strong(x)
    if isinstance(v, np.complexfloating):
        t = type(v.real)
        return type(v)(complex(_finite(v.real, t, nan, posinf, neginf), _finite(v.imag, t, nan, posinf, neginf)))
    if isinstance(v, np.floating) or type(v) == lw.bfloat16:
        return _finite(v, type(v), nan, posinf, neginf)
    return v


def _common(p):
    """Zero of the type of an array of these numbers."""
    if len(p) == 1:
        return type(_strong(p[0]))(0)
    return type(_strong(p[0]))(0) + _common(p[1:])


def _horner(p, x, t, y):
    return y if len(p) == 0 else _horner(p[1:], x, t, y * x + t(p[0]))


def polyval(p, x):
    x = _strong(x)
    zero = type(x)(0)
    if isinstance(p, tuple):
        return zero if len(p) == 0 else _horner(p, x, type(_common(p)), zero)
    if p.shape[0] == 0:
        return zero * x * p.dtype.type(0)
    y = p[0] if isinstance(x, np.bool_) else zero * x + p[0]
    for i in range(1, p.shape[0]):
        y = y * x + p[i]
    return y


def searchsorted(a, v, side="left"):
    if side != "left" and side != "right":
        raise ValueError("search side must be 'left' or 'right'")
    t = type(a.dtype.type(0) * _strong(v))
    low = 0
    high = a.shape[0]
    while low < high:
        middle = low + (high - low) // 2
        x = t(a[middle])
        if _is_less(x, t(v)) if side == "left" else not _is_less(t(v), x):
            low = middle + 1
        else:
            high = middle
    return low


def _place(x, xp):
    """The last of the rising points that is not beyond x; -1: none."""
    low = 0
    high = xp.shape[0]
    while low < high:
        middle = low + (high - low) // 2
        if x >= xp[middle]:
            low = middle + 1
        else:
            high = middle
    return low - 1


def _between(x, left, right, low, high):
    """The line through (left, low) and (right, high); from the other end where the first gives NaN."""
    slope = (high - low) / (right - left)
    y = slope * (x - left) + low
    if y != y:
        y = slope * (x - right) + high
        if y != y and low == high:
            y = low
    return y


def _between_complex(x, left, right, low, high):
    per = 1.0 / (right - left)
    re = (high.real - low.real) * per
    im = (high.imag - low.imag) * per
    real = re * (x - left) + low.real
    imag = im * (x - left) + low.imag
    if real != real:
        real = re * (x - right) + high.real
        if real != real and low.real == high.real:
            real = low.real
    if imag != imag:
        imag = im * (x - right) + high.imag
        if imag != imag and low.imag == high.imag:
            imag = low.imag
    return complex(real, imag)


def interp(x, xp, fp, left=None, right=None):
    n = xp.shape[0]
    if n == 0:
        raise ValueError("array of sample points is empty")
    if fp.shape[0] != n:
        raise ValueError("fp and xp are not of the same length.")
    x = np.float64(x)
    t = np.complex128 if isinstance(fp.dtype.type(0), np.complexfloating) else np.float64
    below = t(fp[0]) if left is None else t(left)
    above = t(fp[n - 1]) if right is None else t(right)
    if n == 1:
        point = np.float64(xp[0])
        return below if x < point else above if x > point else t(fp[0])
    if x != x:
        return t(x)
    if x > np.float64(xp[n - 1]):
        return above
    i = _place(x, xp)
    if i < 0:
        return below
    if i == n - 1 or np.float64(xp[i]) == x:
        return t(fp[i])
    if t == np.complex128:
        return t(_between_complex(x, np.float64(xp[i]), np.float64(xp[i + 1]), t(fp[i]), t(fp[i + 1])))
    return _between(x, np.float64(xp[i]), np.float64(xp[i + 1]), t(fp[i]), t(fp[i + 1]))


# ---- sorting ----


def _sift(a, root, end):
    """Move a[root] down the heap that ends before `end`."""
    x = a[root]
    child = 2 * root + 1
    while child < end:
        if child + 1 < end and _is_less(a[child], a[child + 1]):
            child += 1
        if not _is_less(x, a[child]):
            break
        a[root] = a[child]
        root = child
        child = 2 * root + 1
    a[root] = x


def sort(a, axis=-1):
    """In place and without memory of its own: insertion sort for short rows, heap sort for others."""
    n = a.shape[0]
    if axis != 0 and axis != -1:
        raise ValueError("axis of sort is out of bounds for a row", axis)
    if n <= 16:
        for i in range(1, n):
            x = a[i]
            j = i
            while j > 0 and _is_less(x, a[j - 1]):
                a[j] = a[j - 1]
                j -= 1
            a[j] = x
        return
    for root in range(n // 2 - 1, -1, -1):
        _sift(a, root, n)
    for end in range(n - 1, 0, -1):
        x = a[0]
        a[0] = a[end]
        a[end] = x
        _sift(a, 0, end)


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
