"""NumPy's functions that are written with the others: `np.median(x)`, `np.unique(x)`, `np.histogram(x)`.

Compiled, never called; see lanewise/_array_functions.py. Results are NumPy's, but for the order in which
sums are made, which is that of the elements.
"""

from __future__ import annotations

import math

import numpy as np

from lanewise._array_functions import sort as _sort
from lanewise._array_functions import (
    _add, _array_of, _as, _axis_first, _axis_last, _dot, _each, _given, _is_less, _known_axis, _mean_type, _nan_count, _of_total, _ones, _reduced, _total_type, _without, check_integers, mean, searchsorted,
)
from lanewise._core import intrinsics
from lanewise._new_arrays import _inserted, concatenate, copy, expand_dims, flatten, ravel, sorted_copy, zeros
from lanewise.errors import TypingError

_arrays = intrinsics.arrays  # core/tables/array_names.def

# ---- products ----


def matmul(a, b, out=None):
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("matmul takes arrays with axes: use `*` for numbers")
    return _given(_dot(a, b), out)


def _product_type(a, b):
    """The type of the elements of a product of a and b, as NumPy has it: for bools, it is bool."""
    return type(np.multiply(a.dtype.type(0), b.dtype.type(0)))


def _check_difference(a, b):
    if isinstance(_product_type(a, b)(0), np.bool_):
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` operator, or the logical_xor function instead.")


def outer(a, b):
    x = ravel(a)
    y = ravel(b)
    out = np.empty((x.shape[0], y.shape[0]), _product_type(a, b))
    for i in range(x.shape[0]):
        out[i] = x[i] * y
    return out


def kron(a, b):
    if a.ndim == 1 and b.ndim == 2:
        return kron(a.reshape(1, a.size), b)
    if a.ndim == 2 and b.ndim == 1:
        return kron(a, b.reshape(1, b.size))
    if a.ndim != b.ndim or a.ndim > 2 or a.ndim == 0:
        raise ValueError(f"kron in compiled code takes rows and matrices, not arrays with {a.ndim} and {b.ndim} axes")
    t = _product_type(a, b)
    if a.ndim == 1:
        out = np.empty(a.shape[0] * b.shape[0], t)
        for i in range(a.shape[0]):
            out[i * b.shape[0]:(i + 1) * b.shape[0]] = a[i] * b
        return out
    big = np.empty((a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]), t)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            big[i * b.shape[0]:(i + 1) * b.shape[0], j * b.shape[1]:(j + 1) * b.shape[1]] = a[i, j] * b
    return big


def cross(a, b):
    _check_difference(a, b)
    if a.ndim != 1 or b.ndim != 1 or a.shape[0] != 3 or b.shape[0] != 3:
        raise ValueError("cross in compiled code takes two rows of three numbers")
    out = np.empty(3, _product_type(a, b))
    for i in range(3):
        j = (i + 1) % 3
        k = (i + 2) % 3
        out[i] = a[j] * b[k] - a[k] * b[j]
    return out


def _absolute_in(x, t):
    """As a float: the least integer of a type has no magnitude in that type."""
    return t(abs(x)) if isinstance(x, np.complexfloating) else abs(t(x))


def _length(a, t, order):
    """The norm of a row."""
    zero = t(0)
    if order is None or order == 2:
        s = _total_type(t)(0)
        for x in a:
            if isinstance(x, np.complexfloating):
                s += type(s)(x.real * x.real) + type(s)(x.imag * x.imag)
            else:
                s += type(s)(x) * type(s)(x)
        return t(math.sqrt(s))
    if order == math.inf or order == -math.inf:
        if a.shape[0] == 0 and order < 0:
            raise ValueError("zero-size array to reduction operation minimum which has no identity")
        best = _absolute_in(a[0], t) if a.shape[0] > 0 else t(0)
        for x in a:
            best = np.maximum(best, _absolute_in(x, t)) if order > 0 else np.minimum(best, _absolute_in(x, t))
        return best
    total = _total_type(t)(0)
    for x in a:
        if order == 0:
            total += 1 if x != 0 else 0
        elif order == 1:
            total += abs(type(zero)(x) if not isinstance(x, np.complexfloating) else x)
        else:
            total += abs(type(zero)(x) if not isinstance(x, np.complexfloating) else x) ** order
    return t(total) if order == 0 or order == 1 else t(total ** (1 / order))


def norm(x, ord=None, axis=None, keepdims=False):
    """np.linalg.norm, except for those norms of a matrix that _linear_algebra.py computes."""
    zero = np.float64(0) if isinstance(x.dtype.type(0), (np.integer, np.bool_)) else abs(x.dtype.type(0))
    if axis is None and x.ndim > 1:
        if ord is not None and ord != "fro":
            raise ValueError("Improper number of dimensions to norm.")
        length = _length(ravel(x), type(zero), None)
        return np.full(_ones(x.ndim), length) if keepdims else length
    if isinstance(axis, (tuple, list)):
        raise ValueError("norm in compiled code takes one axis")
    return _reduced(x, axis, keepdims, type(zero), _length, type(zero), ord)


# ---- linear systems ----


def _linear(a):
    """A number of the type that LAPACK would compute in."""
    if isinstance(a.dtype.type(0), np.float16):
        return np.float32(0)
    return np.float64(0) if isinstance(a.dtype.type(0), (np.integer, np.bool_)) else a.dtype.type(0)


def _check_type(a):
    """size >= 0 holds always, but unknown to the compiler: so what follows has types."""
    if isinstance(a.dtype.type(0), np.float16) and a.size >= 0:
        raise TypeError("array type float16 is unsupported in linalg")


def _refuse_axes(a, name):
    """Of an array that is no matrix."""
    if a.ndim < 2 and a.size >= 0:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if a.ndim > 2 and a.size >= 0:
        raise ValueError(f"{name} in compiled code takes one matrix, not an array with {a.ndim} axes")


def _check_square(a):
    _check_type(a)
    if a.shape[0] != a.shape[1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")


def _magnitude(z):
    return abs(z.real) + abs(z.imag)


def _pivot_row(u, k):
    p = k
    for i in range(k + 1, u.shape[0]):
        if _magnitude(u[i, k]) > _magnitude(u[p, k]):
            p = i
    return p


def _swap_rows(a, i, j):
    for k in range(a.shape[1]):
        t = a[i, k]
        a[i, k] = a[j, k]
        a[j, k] = t


def _copied(a, t):
    x = np.empty(a.shape, t)
    x[...] = a
    return x


def _eliminate(u, x):
    """Makes u an upper triangle, and does to x what is done to u. Returns how often the sign of the determinant
    has changed, or -1 for a singular matrix."""
    n = 0
    for k in range(u.shape[0]):
        p = _pivot_row(u, k)
        if u[p, k] == 0:
            return -1
        if p != k:
            _swap_rows(u, k, p)
            _swap_rows(x, k, p)
            n += 1
        for i in range(k + 1, u.shape[0]):
            f = u[i, k] / u[k, k]
            for j in range(k + 1, u.shape[0]):
                u[i, j] -= f * u[k, j]
            for j in range(x.shape[1]):
                x[i, j] -= f * x[k, j]
    return n


def _substituted(u, x):
    """Puts the solutions of u @ y = x into x, and changes u; False for a singular matrix."""
    if _eliminate(u, x) < 0:
        return False
    for i in range(u.shape[0] - 1, -1, -1):
        for k in range(i + 1, u.shape[0]):
            f = u[i, k]
            for j in range(x.shape[1]):
                x[i, j] -= f * x[k, j]
        for j in range(x.shape[1]):
            x[i, j] /= u[i, i]
    return True


def _solved(u, x):
    if not _substituted(u, x):
        raise np.linalg.LinAlgError("Singular matrix")


def solve(a, b):
    if a.ndim != 2:
        _refuse_axes(a, "solve")
        return np.empty(b.shape, type(_linear(a) + _linear(b)))
    _check_square(a)
    if b.ndim > 2:
        raise ValueError(f"solve in compiled code takes one vector or matrix, not an array with {b.ndim} axes")
    _check_type(b)
    if b.shape[0] != a.shape[0]:
        raise ValueError(f"solve: {b.shape[0]} rows on the right, the matrix has {a.shape[0]}")
    t = type(_linear(a) + _linear(b))
    x = _copied(b, t)
    u = _copied(a, t)
    _solved(u, x if b.ndim == 2 else expand_dims(x, 1))
    return x


def inv(a):
    if a.ndim != 2:
        _refuse_axes(a, "inv")
        return np.empty(a.shape, type(_linear(a)))
    _check_square(a)
    t = type(_linear(a))
    x = zeros(a.shape, t)
    for i in range(a.shape[0]):
        x[i, i] = t(1)
    u = _copied(a, t)
    _solved(u, x)
    return x


def det(a):
    if a.ndim != 2:
        _refuse_axes(a, "det")
        return type(_linear(a))(0)
    _check_square(a)
    t = type(_linear(a))
    u = _copied(a, t)
    n = _eliminate(u, np.empty((a.shape[0], 0), t))
    product = t(0) if n < 0 else t(1) if n % 2 == 0 else t(-1)
    for i in range(a.shape[0]):
        product *= u[i, i] if n >= 0 else t(1)
    return product


def cholesky(a):
    if a.ndim != 2:
        _refuse_axes(a, "cholesky")
        return np.empty(a.shape, type(_linear(a)))
    _check_square(a)
    t = type(_linear(a))
    low = zeros(a.shape, t)
    for i in range(a.shape[0]):
        for j in range(i + 1):
            low[i, j] = a[i, j] if i != j else a[i, j].real
            for k in range(j):
                low[i, j] -= low[i, k] * low[j, k].conjugate()
            if i != j:
                low[i, j] /= low[j, j]
            elif low[i, i].real <= 0:
                raise np.linalg.LinAlgError("Matrix is not positive definite")
            else:
                low[i, i] = np.sqrt(low[i, i].real)  # NaN stays NaN, as in NumPy
    return low


# ---- differences and sums of neighbours ----


def _difference(x, y):
    """Of two elements as numpy.diff makes it: of bools, whether they differ."""
    return x != y if isinstance(x, np.bool_) else x - y


def _differences(out, a):
    for i in range(out.shape[0]):
        if a.ndim > 1:
            out[i] = a[i + 1] != a[i] if a.dtype.type == np.bool_ else a[i + 1] - a[i]
        else:
            out[i] = _difference(a[i + 1], a[i])


def diff(a, n=1, axis=-1):
    a = _array_of(a)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    k = _known_axis(axis, a.ndim)
    if isinstance(a.dtype.type(0), np.datetime64):
        if n == 0:
            raise ValueError("diff of dates in compiled code takes an order of at least 1")
        return _diff_again(_diff_once(a, k), n - 1, k)
    return _diff_again(copy(a), n, k)


def _diff_once(a, k):
    m = a.shape[k] - 1
    kind = type(a.dtype.type(0) - a.dtype.type(0)) if isinstance(a.dtype.type(0), np.datetime64) else a.dtype.type
    out = np.empty(_inserted(_without(a.shape, k), k, m if m > 0 else 0), kind)
    _differences(_axis_first(out, k), _axis_first(a, k))
    return out


def _diff_again(a, n, k):
    result = a
    for _ in range(n):
        result = _diff_once(result, k)
    return result


def ediff1d(ary):
    ary = _array_of(ary)
    _check_difference(ary, ary)
    return diff(ravel(ary))


def _trapezoid_of(y, x, dx, t):
    w = _total_type(t)
    s = w(0)
    for i in range(1, y.shape[0]):
        step = dx if x is None else _difference(x[i], x[i - 1])
        s += w(step * np.add(y[i], y[i - 1]) / 2.0)
    return t(s)


def _trapezoids(out, y, x, dx):
    """Of each row of y; x may be one row for all, or have one for each."""
    for i in range(y.shape[0]):
        of_row = x[i] if isinstance(x, np.ndarray) and x.ndim > 1 else x
        if y.ndim == 2:
            out[i] = _trapezoid_of(y[i], of_row, dx, out.dtype.type)
        else:
            _trapezoids(out[i], y[i], of_row, dx)


def trapezoid(y, x=None, dx=1.0, axis=-1):
    if isinstance(x, (tuple, list)):
        return trapezoid(y, _array_of(x), dx, axis)
    y = _array_of(y)
    zero = y.dtype.type(0) * dx / 2.0 if x is None else y.dtype.type(0) * (x.dtype.type(0) if isinstance(x, np.ndarray) else x) / 2.0
    k = _arrays.axis(axis, y.ndim)
    n = y.shape[k]
    if isinstance(x, np.ndarray):
        if x.ndim != 1 and x.ndim != y.ndim:
            raise ValueError(f"trapezoid in compiled code takes an x of one dimension or of {y.ndim}, like y, not one of {x.ndim} dimensions")
        if x.shape[x.ndim - 1 if x.ndim == 1 else k] != n or (x.ndim > 1 and x.shape != y.shape):
            raise ValueError("operands could not be broadcast together: x and y of trapezoid have other numbers of points")
    if y.ndim == 1:
        return _trapezoid_of(y, x, dx, type(zero))
    rows = _axis_last(y, k)
    points = x if not isinstance(x, np.ndarray) or x.ndim == 1 else _axis_last(x, k)
    out = np.empty(rows.shape[:y.ndim - 1], type(zero))
    _trapezoids(out, rows, points, dx)
    return out


def _only(x):
    """The element of an array without axes; other values as they are."""
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x


def _inner_slopes(out, f, x):
    """Between the ends, by the points' coordinates; numpy.gradient shows the formula."""
    for i in range(1, f.shape[0] - 1):
        before = x[i] - x[i - 1]
        after = x[i + 1] - x[i]
        out[i] = -after / (before * (before + after)) * f[i - 1] + (after - before) / (before * after) * f[i] + before / (after * (before + after)) * f[i + 1]


def _slopes_by_places(out, f, x, edge_order):
    n = f.shape[0]
    first, last = x[1] - x[0], x[n - 1] - x[n - 2]
    _inner_slopes(out, f, x)
    if edge_order == 1:
        out[0] = (f[1] - f[0]) / first
        out[n - 1] = (f[n - 1] - f[n - 2]) / last
    else:
        second = x[2] - x[1]
        out[0] = -(2.0 * first + second) / (first * (first + second)) * f[0] + (first + second) / (first * second) * f[1] + -first / (second * (first + second)) * f[2]
        second = x[n - 2] - x[n - 3]
        out[n - 1] = last / (second * (second + last)) * f[n - 3] + -(last + second) / (second * last) * f[n - 2] + (2.0 * last + second) / (last * (second + last)) * f[n - 1]


def _slopes_by_step(out, f, dx, edge_order):
    n = f.shape[0]
    for i in range(1, n - 1):
        out[i] = (f[i + 1] - f[i - 1]) / (2.0 * dx)
    if edge_order == 1:
        out[0] = (f[1] - f[0]) / dx
        out[n - 1] = (f[n - 1] - f[n - 2]) / dx
    else:
        out[0] = -1.5 / dx * f[0] + 2.0 / dx * f[1] + -0.5 / dx * f[2]
        out[n - 1] = 0.5 / dx * f[n - 3] + -2.0 / dx * f[n - 2] + 1.5 / dx * f[n - 1]


def _are_even(x):
    """Whether all distances are the first one."""
    for i in range(2, x.shape[0]):
        if x[i] - x[i - 1] != x[1] - x[0]:
            return False
    return True


def _slopes(out, f, x, edge_order):
    """Fills `out` along the first axis."""
    if isinstance(x, np.ndarray):
        if x.ndim != 1 or x.shape[0] != f.shape[0]:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        if _are_even(x):
            _slopes_by_step(out, f, x[1] - x[0], edge_order)
        else:
            _slopes_by_places(out, f, x, edge_order)
    else:
        _slopes_by_step(out, f, x, edge_order)


def _gradient(f, x, k, edge_order):
    if edge_order != 1 and edge_order != 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if f.shape[k] < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required.")
    out = np.empty(f.shape, _mean_type(f.dtype.type))
    # differences and their products need floats: integers would wrap around
    places = _only(_array_of(x))
    at = _as(places, _mean_type(places.dtype.type)) if isinstance(places, np.ndarray) else places * 1.0
    _slopes(_axis_first(out, k), _axis_first(_as(f, out.dtype.type), k), at, edge_order)
    return out


def _gradients(f, varargs, k, edge_order):
    x = 1.0 if len(varargs) == 0 else varargs[0 if len(varargs) == 1 else k]
    if k == f.ndim - 1:
        return (_gradient(f, x, k, edge_order),)
    return (_gradient(f, x, k, edge_order), *_gradients(f, varargs, k + 1, edge_order))


def _has_axes(x):
    return isinstance(x, (tuple, list)) or (isinstance(x, np.ndarray) and x.ndim > 0)


def gradient(f, *varargs, axis=None, edge_order=1):
    _check_difference(f, f)
    if f.ndim == 0:
        return ()
    if axis is not None:
        if len(varargs) > 1:
            raise TypeError("invalid number of arguments")
        return _gradient(f, 1.0 if len(varargs) == 0 else varargs[0], _arrays.axis(axis, f.ndim), edge_order)
    if len(varargs) > 0 and len(varargs) != f.ndim and (len(varargs) > 1 or _has_axes(varargs[0])):
        raise TypeError("invalid number of arguments")
    every = _gradients(f, varargs, 0, edge_order)
    return every[0] if f.ndim == 1 else every


def _full(a, v):
    n = a.shape[0] + v.shape[0] - 1
    out = zeros(n, _product_type(a, v))
    for i in range(a.shape[0]):
        for j in range(v.shape[0]):
            out[i + j] += a[i] * v[j]
    return out


def _cut(out, n, m, mode):
    """What the modes of convolve and correlate keep."""
    if mode == "full":
        return out
    if mode == "same":
        long = n if n > m else m
        start = ((n if n < m else m) - 1) // 2
        return out[start:start + long]
    if mode != "valid":
        raise ValueError("mode must be one of 'valid', 'same', or 'full'")
    short = n if n < m else m
    return out[short - 1:(n if n > m else m)]


def convolve(a, v, mode="full"):
    if a.shape[0] == 0 or v.shape[0] == 0:
        raise ValueError("a and v cannot be empty")
    return _cut(_full(a, v), a.shape[0], v.shape[0], mode)


def correlate(a, v, mode="valid"):
    if a.shape[0] == 0 or v.shape[0] == 0:
        raise ValueError("a and v cannot be empty")
    back = np.conjugate(v[::-1]) if isinstance(v.dtype.type(0), np.complexfloating) else copy(v[::-1])
    full = _full(a, back)
    if mode == "same" and v.shape[0] > a.shape[0]:
        start = a.shape[0] // 2
        return full[start:start + v.shape[0]]
    return _cut(full, a.shape[0], v.shape[0], mode)


# ---- statistics ----


def average(a, axis=None, weights=None):
    a = _array_of(a)
    if weights is None:
        return mean(a, axis)
    return _weighted(a, axis, _array_of(weights))


def _check_scale(is_zero):
    if is_zero:
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")


def _average_type(x, y):
    """The type of averages of elements like x with weights like y, in which they are also multiplied: NumPy's."""
    t = type(x * y)
    if isinstance(x, (np.bool_, np.integer)):
        return np.complex128 if isinstance(y, np.complexfloating) else np.float64
    return t


def _weighted_along(a, k, weights):
    t = _average_type(a.dtype.type(0), weights.dtype.type(0))
    factors = _as(weights, t)
    if weights.ndim == 1:
        if weights.shape[0] != a.shape[k]:
            raise ValueError("Length of weights not compatible with specified axis.")
        scale = np.sum(factors)
        _check_scale(scale == 0)
        return _as(np.sum(_as(_axis_last(a, k), t) * factors, -1) / scale, t)
    if weights.shape != a.shape:
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    scales = np.sum(factors, k)
    _check_scale(np.any(scales == 0))
    return _as(np.sum(_as(a, t) * factors, k) / scales, t)


def _weighted(a, axis, weights):
    if axis is not None and a.ndim > 1:
        return _weighted_along(a, _known_axis(axis, a.ndim), weights)
    if a.shape != weights.shape:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    t = _average_type(a.dtype.type(0), weights.dtype.type(0))
    w = _total_type(t)
    factors = _as(weights, t)
    scale = _add(factors, w(0))
    _check_scale(scale == 0)
    return t(_add(_as(a, t) * factors, w(0)) / scale)


def _precedes(x, y):
    """Of numbers that are not NaN."""
    return _is_less(x, y) if isinstance(x, np.complexfloating) else x < y


def _select(row, k):
    """row[k] becomes what it is when the row is sorted, with nothing greater before it and nothing less behind it
    (Hoare's FIND, with the middle one of three as the pivot). The row has no NaN."""
    low, high, left = 0, row.shape[0] - 1, 64
    while low < high:
        if left == 0:  # parts that shrink this slowly
            row[low:high + 1] = sorted_copy(row[low:high + 1])
            return
        left -= 1
        first, pivot, last = row[low], row[(low + high) // 2], row[high]
        if _precedes(last, first):
            first, last = last, first
        if _precedes(pivot, first):
            pivot = first
        if _precedes(last, pivot):
            pivot = last
        i, j = low, high
        while i <= j:
            while _precedes(row[i], pivot):
                i += 1
            while _precedes(pivot, row[j]):
                j -= 1
            if i <= j:
                row[i], row[j] = row[j], row[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            return


_SAMPLE = 128  # elements at most of which one becomes the pivot
_SHORT = 128  # elements that are sorted


def _pivot(part, k, sample):
    """An element of about rank k, a little nearer to the middle, so that k is in the smaller part behind."""
    n, size = part.shape[0], sample.shape[0]
    step = n // size
    for i in range(size):
        sample[i] = part[i * step + (i * 7) % step]  # not at equal distances
    _arrays.sort(sample, False)
    rank = k * size // n
    margin = 1 + size // 16
    return sample[min(rank + margin, size - 1) if 2 * k < n else max(rank - margin, 0)]


def _lower_to_front(part, pivot, with_equal):
    """How many elements are less than the pivot, or not greater: they are moved in front. No branch depends on an element."""
    low = 0
    for i in range(part.shape[0]):
        x = part[i]
        part[i] = part[low]
        part[low] = x
        low += 1 if x < pivot or (with_equal and x == pivot) else 0
    return low


def _select_by_samples(row, k):
    """As _select, in functions called on the host."""
    if isinstance(row.dtype.type(0), np.complexfloating):
        _select(row, k)
        return
    sample = np.empty(_SAMPLE, row.dtype.type)
    low, high, left = 0, row.shape[0], 64
    while high - low > _SHORT:
        part = row[low:high]
        if left == 0:  # parts that shrink this slowly
            break
        left -= 1
        pivot = _pivot(part, k - low, sample[:min(max(part.shape[0] // 32, 16), _SAMPLE)])
        n = _lower_to_front(part, pivot, False)
        if k < low + n:
            high = low + n
            continue
        if n == 0:  # no element is less
            n = _lower_to_front(part, pivot, True)
            if k < n + low:
                return
        low += n
    _sort(row[low:high])


def _middle(a, t):
    """The median of a row that may be written to."""
    n = a.shape[0]
    if n == 0:
        return t(math.nan)
    if n > 256:
        for x in a:
            if x != x:
                return t(math.nan)
        k = n // 2
        if _arrays.sorts(a):
            _select_by_samples(a, k)
        else:
            _select(a, k)
        if n % 2:
            return t(a[k])
        before = a[0]
        for x in a[:k]:
            if _precedes(before, x):
                before = x
        return t(_of_total(t(before) + t(a[k]), 2))
    row = sorted_copy(a)
    last = row[n - 1]
    if last != last:
        return t(math.nan)
    return t(row[n // 2]) if n % 2 else t(_of_total(t(row[n // 2 - 1]) + t(row[n // 2]), 2))


def _median(a, t, x):
    return _middle(flatten(a), t)


def _nan_median(a, t, x):
    return _middle(_without_nan(a), t)


def median(a, axis=None, *, keepdims=False):
    a = _array_of(a)
    t = _mean_type(a.dtype.type)
    return _reduced(a, axis, keepdims, t, _median, t)


def _without_nan(a):
    row = ravel(a)
    out = np.empty(_nan_count(row), a.dtype.type)
    n = 0
    for x in row:
        if x == x:
            out[n] = x
            n += 1
    return out


def nanmedian(a, axis=None, *, keepdims=False):
    a = _array_of(a)
    t = _mean_type(a.dtype.type)
    return _reduced(a, axis, keepdims, t, _nan_median, t)


def _lerp(a, b, g, t):
    """As NumPy interpolates: from the nearer end."""
    d = b - a
    return t(b - d * (1 - g)) if g >= 0.5 else t(a + d * g)


def _check_quantile(q):
    if q < 0 or q > 1 or q != q:
        raise ValueError("Quantiles must be in the range [0, 1]")


def _quantile_of(row, q, t):
    """Of a row that is sorted."""
    n = row.shape[0]
    _check_quantile(q)
    if n == 0:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    if row[n - 1] != row[n - 1]:
        return t(math.nan)
    at = (n - 1) * q
    i = int(math.floor(at))
    if at <= 0 or i >= n - 1:  # the ends are elements, also beside infinities
        return t(row[i])
    return _lerp(t(row[i]), t(row[i + 1]), t(at - i), t)


def _quantile_in(row, q, t):
    """Of a row that may be written to: long ones are sorted only as far as needed."""
    n = row.shape[0]
    if n <= 256:
        _sort(row)
        return _quantile_of(row, q, t)
    _check_quantile(q)
    for x in row:
        if x != x:
            return t(math.nan)
    at = (n - 1) * q
    i = int(math.floor(at))
    if _arrays.sorts(row):
        _select_by_samples(row, i)
    else:
        _select(row, i)
    if at <= 0 or i >= n - 1:
        return t(row[i])
    above = row[i + 1]
    for j in range(i + 2, n):
        if _precedes(row[j], above):
            above = row[j]
    return _lerp(t(row[i]), t(above), t(at - i), t)


def _quantiles(a, q, t):
    if not isinstance(q, np.ndarray):
        return _quantile_in(flatten(a), float(q), t)
    row = sorted_copy(ravel(a))
    out = np.empty(q.shape[0], type(t(0) * q.dtype.type(0)))
    for i in range(q.shape[0]):
        out[i] = _quantile_of(row, float(q[i]), out.dtype.type)
    return out


def _nan_quantiles(row, q, t):
    if row.shape[0] > 0:
        return _quantiles(row, q, t)
    for one in q:
        _check_quantile(one)
    return np.full(q.shape[0], type(t(0) * q.dtype.type(0))(math.nan))


def _one_quantile(a, t, q):
    return _quantile_in(flatten(a), float(q), t)


def _one_nan_quantile(a, t, q):
    row = _without_nan(a)
    if row.shape[0] == 0:
        return t(math.nan)
    return _quantile_in(row, float(q), t)


def _along_axis(of, a, q, axis, t):
    """of(p) for each p of q, along the first axis of the result."""
    if q.ndim != 1:
        raise ValueError(f"quantiles along an axis, in compiled code, take a number or an array of one axis, not of {q.ndim}")
    out = np.empty((q.shape[0], *_without(a.shape, _known_axis(axis, a.ndim))), t)
    for k in range(q.shape[0]):
        out[k] = of(q[k])
    return out


def quantile(a, q, axis=None):
    a = _array_of(a)
    _check_difference(a, a)
    t = _mean_type(a.dtype.type)
    if isinstance(q, (tuple, list)):
        return quantile(a, _array_of(q), axis)
    if axis is None:
        return _quantiles(a, q, t)
    if isinstance(q, np.ndarray):
        return _along_axis(lambda p: quantile(a, p, axis), a, q, axis, t)
    return _reduced(a, axis, False, t, _one_quantile, t, q)


def percentile(a, q, axis=None):
    a = _array_of(a)
    if isinstance(q, (tuple, list)):
        return percentile(a, _array_of(q), axis)
    return quantile(a, q / 100.0 if isinstance(q, np.ndarray) else float(q) / 100.0, axis)


def nanquantile(a, q, axis=None):
    a = _array_of(a)
    _check_difference(a, a)
    t = _mean_type(a.dtype.type)
    if isinstance(q, (tuple, list)):
        return nanquantile(a, _array_of(q), axis)
    if axis is None and isinstance(q, np.ndarray):
        return _nan_quantiles(_without_nan(a), q, t)
    if isinstance(q, np.ndarray):
        return _along_axis(lambda p: nanquantile(a, p, axis), a, q, axis, t)
    return _reduced(a, axis, False, t, _one_nan_quantile, t, q)


def nanpercentile(a, q, axis=None):
    a = _array_of(a)
    if isinstance(q, (tuple, list)):
        return nanpercentile(a, _array_of(q), axis)
    return nanquantile(a, q / 100.0 if isinstance(q, np.ndarray) else float(q) / 100.0, axis)


def _variables(m, rowvar):
    """A matrix of which each row is a variable."""
    if m.ndim == 1:
        return expand_dims(m, 0)
    return m if rowvar else m.T


def cov(m, y=None, rowvar=True, bias=False, ddof=None):
    less = (0 if bias else 1) if ddof is None else ddof
    if y is None and m.ndim == 1:
        return _covariances(expand_dims(m, 0), less)[0, 0]
    if y is not None:
        return _covariances(concatenate((_variables(m, rowvar), _variables(y, rowvar))), less)
    rows = _variables(m, rowvar)
    if rows.shape[0] == 1:
        raise ValueError("the covariance of a matrix of one variable is a number: pass the variable as a one-dimensional array")
    return _covariances(rows, less)


def _covariances(rows, less):
    a = _as(rows, type(rows.dtype.type(0) + np.float64(0)))
    centred = a - mean(a, 1, None, None, True)
    n = rows.shape[1] - less
    scale = np.float64(1) / np.float64(n if n > 0 else 0)
    turned = np.conjugate(centred.T) if isinstance(a.dtype.type(0), np.complexfloating) else centred.T
    return _dot(centred, turned) * scale


def _clipped(r):
    return r if r != r else min(max(r, -1.0), 1.0)


def corrcoef(x, y=None, rowvar=True):
    c = cov(x, y, rowvar)
    if not isinstance(c, np.ndarray):
        return c / c
    out = np.empty(c.shape, c.dtype.type)
    for i in range(c.shape[0]):
        for j in range(c.shape[0]):
            r = c[i, j] / math.sqrt(c[i, i].real) / math.sqrt(c[j, j].real)
            out[i, j] = complex(_clipped(r.real), _clipped(r.imag)) if isinstance(r, np.complexfloating) else _clipped(r)
    return out


# ---- counting and sets ----


def bincount(x, weights=None, minlength=0):
    check_integers(x, "x")
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    n = minlength
    for v in x:
        if v < 0:
            raise ValueError("'list' argument must have no negative elements")
        if int(v) >= n:
            n = int(v) + 1
    if weights is None:
        out = zeros(n, np.int64)
        for v in x:
            out[int(v)] += 1
        return out
    return _sums_at(x, _array_of(weights), n)


def _sums_at(x, weights, n):
    if weights.shape[0] != x.shape[0]:
        raise ValueError("The weights and list don't have the same length.")
    sums = zeros(n, np.float64)
    for i in range(x.shape[0]):
        sums[int(x[i])] += float(weights[i])
    return sums


def _span(a, limits):
    if limits is not None:
        low, high = float(limits[0]), float(limits[1])
        if low > high:
            raise ValueError("max must be larger than min in range parameter.")
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueError(f"supplied range of [{low}, {high}] is not finite")
    elif a.size == 0:
        low, high = 0.0, 1.0
    else:
        row = ravel(a)
        low = high = float(row[0])
        for x in row:
            low = np.minimum(low, float(x))
            high = np.maximum(high, float(x))
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueError(f"autodetected range of [{low}, {high}] is not finite")
    if low == high:
        low -= 0.5
        high += 0.5
    return low, high


def _edge_type(t):
    return t if t == np.float32 or t == np.float16 else np.float64


def _falls(edges):
    for i in range(1, edges.shape[0]):
        if edges[i - 1] > edges[i]:
            return True
    return False


def histogram(a, bins=10, range=None):
    if isinstance(bins, (tuple, list, np.ndarray)):
        edges = _array_of(bins)
        if _falls(edges):
            raise ValueError("`bins` must increase monotonically, when an array")
        n = max(edges.shape[0] - 1, 0)
        counts = zeros(n, np.int64)
        for x in ravel(a):
            if n > 0 and edges[0] <= x <= edges[n]:
                i = searchsorted(edges, x, "right") - 1
                counts[i if i < n else n - 1] += 1
    else:
        check_integers(bins, "bins")
        if bins < 1:
            raise ValueError("`bins` must be positive, when an integer")
        low, high = _span(a, range)
        n = int(bins)
        w = _edge_type(a.dtype.type)
        edges = np.linspace(w(low), w(high), n + 1) if range is None else _as(np.linspace(low, high, n + 1), w)
        counts = zeros(n, np.int64)
        scale = n / (high - low)
        for x in ravel(a):
            if edges[0] <= x <= edges[n]:
                i = min(max(int((float(x) - low) * scale), 0), n - 1)  # near it, since it is rounded; the edges decide
                while i > 0 and x < edges[i]:
                    i -= 1
                while i < n - 1 and x >= edges[i + 1]:
                    i += 1
                counts[i] += 1
    return counts, edges


def digitize(x, bins, right=False):
    return _bins_of(_array_of(x), _array_of(bins), right)


def _bins_of(x, bins, right):
    side = "left" if right else "right"
    n = bins.shape[0]
    if n > 1 and bins[0] > bins[n - 1]:
        back = copy(bins[::-1])
        if _falls(back):
            raise ValueError("bins must be monotonically increasing or decreasing")
        return n - searchsorted(back, x, "left" if right else "right")
    if _falls(bins):
        raise ValueError("bins must be monotonically increasing or decreasing")
    return searchsorted(bins, x, side)


def _is_another(x, last):
    """In sorted order: one NaN stands for all, as they are at the end."""
    return x != last and (x == x or last == last)


def unique(ar, return_index=False, return_inverse=False, return_counts=False):
    ar = _array_of(ar)
    if return_index or return_inverse or return_counts:
        return _unique_places(ar, return_index, return_inverse, return_counts)
    row = sorted_copy(flatten(ar))
    n = 0
    for i in range(row.shape[0]):
        if i == 0 or _is_another(row[i], row[n - 1]):
            row[n] = row[i]
            n += 1
    return copy(row[:n])


def _unique_places(ar, return_index, return_inverse, return_counts):
    """Beside the values, in this order: where each comes first, which of them each element is, and how often it comes."""
    row = flatten(ar)
    order = np.argsort(row, kind="stable")
    first = np.empty(row.shape[0], np.intp)
    inverse = np.empty(row.shape[0], np.intp)
    counts = zeros(row.shape[0], np.intp)
    n = 0
    for i in range(row.shape[0]):
        if n == 0 or _is_another(row[order[i]], row[first[n - 1]]):
            first[n] = order[i]
            n += 1
        inverse[order[i]] = n - 1
        counts[n - 1] += 1
    values = row[first[:n]]
    one = (values, copy(first[:n])) if return_index else (values,)
    two = (*one, inverse.reshape(ar.shape)) if return_inverse else one
    return (*two, copy(counts[:n])) if return_counts else two


def _unraveled(i, shape):
    if len(shape) == 1:
        return (i,)
    n = math.prod(shape[1:])
    return (i // n, *_unraveled(i % n, shape[1:]))


def _check_flat(i, n):
    if i < 0 or i >= n:
        raise ValueError(f"index {i} is out of bounds for array with size {n}")


def _flat(i, n):
    _check_flat(i, n)
    return np.intp(i)


def _ints(shape):
    return () if len(shape) == 0 else (int(shape[0]), *_ints(shape[1:]))


def unravel_index(indices, shape, order="C"):
    if order != "C" and order != "F":
        raise ValueError("only 'C' or 'F' order is permitted")
    extents = _ints(shape if isinstance(shape, (tuple, list)) else (shape,))
    places = _array_of(indices)
    if not isinstance(places.dtype.type(0) if isinstance(places, np.ndarray) else places, (int, np.integer, np.bool_)):
        raise TypeError("only int indices permitted")
    n = math.prod(extents)
    flat = _each(lambda i: _flat(i, n), places, np.intp) if isinstance(places, np.ndarray) else _flat(places, n)
    if len(extents) == 0:
        return ()
    return _unraveled(flat, extents) if order == "C" else _unraveled(flat, extents[::-1])[::-1]


def _is_among(x, row):
    i = searchsorted(row, x)
    return i < row.shape[0] and row[i] == x


def isin(element, test_elements):
    row = sorted_copy(flatten(_array_of(test_elements)))
    elements = _array_of(element)
    if isinstance(elements, np.ndarray):
        return _each(lambda x: _is_among(x, row), elements, np.bool_)
    return _is_among(elements, row)


def meshgrid(x, y, *, indexing="xy"):
    if indexing == "ij":
        a = np.empty((x.shape[0], y.shape[0]), x.dtype.type)
        b = np.empty((x.shape[0], y.shape[0]), y.dtype.type)
        a[...] = x[:, None]
        b[...] = y
        return a, b
    c = np.empty((y.shape[0], x.shape[0]), x.dtype.type)
    d = np.empty((y.shape[0], x.shape[0]), y.dtype.type)
    c[...] = x
    d[...] = y[:, None]
    return c, d


def _keep_triangle(out, m, k, is_lower):
    """Of matrices, and of stacks of them."""
    for i in range(m.shape[0]):
        if m.ndim > 2:
            _keep_triangle(out[i], m[i], k, is_lower)
        else:
            for j in range(m.shape[1]):
                if (j <= i + k) if is_lower else (j >= i + k):
                    out[i, j] = m[i, j]


def tril(m, k=0):
    check_integers(k, "k")
    out = zeros(m.shape, m.dtype.type)
    _keep_triangle(out, m, k, True)
    return out


def triu(m, k=0):
    check_integers(k, "k")
    out = zeros(m.shape, m.dtype.type)
    _keep_triangle(out, m, k, False)
    return out


def contains(x, v):
    """`v in x`"""
    if x.ndim == 0:
        return x[()] == v
    for i in range(x.shape[0]):
        if x.ndim > 1:
            if contains(x[i], v):
                return True
        elif x[i] == v:
            return True
    return False


class IntLimits:
    """np.iinfo of a dtype that an argument decides; of others the front end reads the numbers."""

    def __init__(self, bits, least, most):
        self.bits = bits
        self.min = least
        self.max = most


def iinfo(int_type):
    zero = np.empty(0, int_type).dtype.type(0)
    if isinstance(zero, np.int8):
        return IntLimits(8, -(2**7), 2**7 - 1)
    if isinstance(zero, np.uint8):
        return IntLimits(8, 0, 2**8 - 1)
    if isinstance(zero, np.int16):
        return IntLimits(16, -(2**15), 2**15 - 1)
    if isinstance(zero, np.uint16):
        return IntLimits(16, 0, 2**16 - 1)
    if isinstance(zero, np.int32):
        return IntLimits(32, -(2**31), 2**31 - 1)
    if isinstance(zero, np.uint32):
        return IntLimits(32, 0, 2**32 - 1)
    if isinstance(zero, np.int64):
        return IntLimits(64, -(2**63), 2**63 - 1)
    if isinstance(zero, np.uint64):
        return IntLimits(64, 0, 2**64 - 1)
    else:
        raise TypingError("np.iinfo needs the dtype of integers: np.finfo is for floats")


class FloatLimits:
    """The same of np.finfo."""

    def __init__(self, bits, eps, tiny, most):
        self.bits = bits
        self.eps = eps
        self.tiny = tiny
        self.smallest_normal = tiny
        self.max = most
        self.min = -most


def finfo(dtype):
    zero = np.empty(0, dtype).dtype.type(0)
    if isinstance(zero, np.float16):
        return FloatLimits(16, np.float16(2.0**-10), np.float16(2.0**-14), np.float16(65504.0))
    if isinstance(zero, np.float32):
        return FloatLimits(32, np.float32(2.0**-23), np.float32(2.0**-126), np.float32((2 - 2.0**-23) * 2.0**127))
    if isinstance(zero, np.float64):
        return FloatLimits(64, np.float64(2.0**-52), np.float64(2.0**-1022), np.float64((2 - 2.0**-52) * 2.0**1023))
    else:
        raise TypingError("np.finfo needs the dtype of floats: np.iinfo is for integers")
