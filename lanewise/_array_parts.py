"""NumPy's functions that take arrays apart, and some that are written with the others: `np.split(x, 3)`, `np.delete(x, 2)`.

Compiled, never called; see lanewise/_array_functions.py. What is a list of arrays in NumPy is a tuple here, whose length has to be known
when the function is compiled.
"""

from __future__ import annotations

import math

import numpy as np

from lanewise._array_functions import _array_of, _as, _axis_first, _axis_last, _is_less, _without, check_integers
from lanewise._array_library import _only, _select, _select_by_samples, inv, isin, matmul, unique
from lanewise._core import intrinsics
from lanewise._new_arrays import (
    _common_type, _index_array, _inserted, _place, argsort, asarray, ascontiguousarray, concatenate, copy, cumprod, cumsum, expand_dims, eye, flatnonzero, flip, linspace, ravel, sorted_copy, swapaxes, transpose,
    zeros,
)
from lanewise._special import i0
from lanewise.errors import TypingError

_arrays = intrinsics.arrays  # core/tables/array_names.def

# ---- sections ----


def _section(a, axis, low, high):
    if axis == 0:
        return a[low:high]
    return swapaxes(swapaxes(a, 0, axis)[low:high], 0, axis)


def _equal_sections(a, axis, n, i):
    """From section i on, of n; the first ones have one row more where n does not divide the rows."""
    if i == n:
        return ()
    rows = a.shape[axis]
    less = rows // n
    more = rows % n
    low = i * less + (i if i < more else more)
    return (_section(a, axis, low, low + less + (1 if i < more else 0)), *_equal_sections(a, axis, n, i + 1))


def _sections_at(a, axis, places, low):
    if len(places) == 0:
        return (_section(a, axis, low, a.shape[axis]),)
    return (_section(a, axis, low, places[0]), *_sections_at(a, axis, places[1:], places[0]))


def array_split(ary, indices_or_sections, axis=0):
    k = _arrays.axis(axis, ary.ndim)
    if isinstance(indices_or_sections, (tuple, list)):
        return _sections_at(ary, k, tuple(indices_or_sections), 0)
    if indices_or_sections <= 0:
        raise ValueError("number sections must be larger than 0.")
    return _equal_sections(ary, k, indices_or_sections, 0)


def split(ary, indices_or_sections, axis=0):
    k = _arrays.axis(axis, ary.ndim)
    if not isinstance(indices_or_sections, (tuple, list)) and ary.shape[k] % indices_or_sections != 0:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


# ---- some of the elements ----


def _mark(gone, obj, n):
    """Mark the rows that are deleted."""
    if isinstance(obj, np.ndarray):
        if isinstance(obj.dtype.type(0), np.bool_):
            if obj.shape[0] != n:
                raise ValueError(f"boolean array argument obj to delete must be one dimensional and match the axis length of {n}")
            for i in range(n):
                if obj[i]:
                    gone[i] = True
        else:
            for place in obj:
                _mark(gone, int(place), n)
        return
    if obj < -n or obj >= n:
        raise IndexError(f"index {obj} is out of bounds for axis 0 with size {n}")
    gone[obj if obj >= 0 else obj + n] = True


def _kept(a, obj):
    n = a.shape[0]
    gone = zeros(n, np.bool_)
    _mark(gone, obj, n)
    left = 0
    for mark in gone:
        left += 0 if mark else 1
    out = np.empty((left, *a.shape[1:]), a.dtype.type)
    k = 0
    for i in range(n):
        if not gone[i]:
            out[k] = a[i]
            k += 1
    return out


def delete(arr, obj, axis=None):
    if isinstance(obj, (tuple, list)):
        return delete(arr, _index_array(obj), axis)
    if isinstance(obj, slice):
        start, stop, step = obj.indices(arr.size if axis is None else arr.shape[_arrays.axis(axis, arr.ndim)])
        return delete(arr, np.arange(start, stop, step), axis)
    check_integers(obj, "obj")
    if axis is None:
        return _kept(ravel(arr), obj)
    k = _arrays.axis(axis, arr.ndim)
    return _kept(arr, obj) if k == 0 else swapaxes(_kept(swapaxes(arr, 0, k), obj), 0, k)


def _place_of(p, n, k):
    if p < -n or p > n:
        if k == 0:
            raise IndexError(f"index {p} is out of bounds for axis 0 with size {n}")
        if k == 1:
            raise IndexError(f"index {p} is out of bounds for axis 1 with size {n}")
        raise IndexError(f"index {p} is out of bounds for an axis with size {n}")
    return p if p >= 0 else p + n


def _inserted_apart(arr, places, values, k):
    """With a row for each place; places that are the same get their rows in the order of the list."""
    n = arr.shape[k]
    m = places.shape[0]
    rows = np.empty(_inserted(_without(arr.shape, k), k, m), arr.dtype)
    rows[...] = values
    new = _axis_first(rows, k)
    to = np.empty(m, np.intp)
    for i in range(m):
        to[i] = _place_of(int(places[i]), n, k)
    order = argsort(to, kind="stable")
    out = np.empty(_inserted(_without(arr.shape, k), k, n + m), arr.dtype)
    into = _axis_first(out, k)
    of = _axis_first(arr, k)
    done = 0
    for i in range(m):
        p = to[order[i]]
        into[done + i:p + i] = of[done:p]
        into[p + i] = new[order[i]]
        done = p
    into[done + m:] = of[done:]
    return out


def _inserted_together(arr, place, values, k):
    """With all rows of `values`, along their first axis, at one place."""
    n = arr.shape[k]
    p = _place_of(place, n, k)
    several = isinstance(values, np.ndarray) and values.ndim == arr.ndim
    m = values.shape[0] if several else 1
    out = np.empty(_inserted(_without(arr.shape, k), k, n + m), arr.dtype)
    into = _axis_first(out, k)
    of = _axis_first(arr, k)
    into[:p] = of[:p]
    into[p + m:] = of[p:]
    for j in range(m):
        into[p + j] = values[j] if several else values
    return out


def _with_axes(values, ndim):
    """Axes of extent 1 before the others, so that there are ndim."""
    return values if values.ndim >= ndim else _with_axes(expand_dims(values, 0), ndim)


def _inserted_at(arr, places, values, k):
    if places.shape[0] != 1:
        return _inserted_apart(arr, places, values, k)
    rows = _axis_first(_with_axes(values, arr.ndim), k) if isinstance(values, np.ndarray) else values
    return _inserted_together(arr, int(places[0]), rows, k)


def _check_places(obj):
    if not isinstance(obj.dtype.type(0), (np.integer, np.bool_)):
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if obj.ndim != 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")


def _places_of(obj):
    _check_places(obj)
    return flatnonzero(obj) if isinstance(obj.dtype.type(0), np.bool_) else obj


def insert(arr, obj, values, axis=None):
    if axis is None:
        return insert(ravel(arr), obj, values, 0)
    if isinstance(obj, slice):
        raise TypingError("np.insert takes places in compiled code, not a slice: write `np.arange(start, stop, step)`")
    k = _arrays.axis(axis, arr.ndim)
    if isinstance(obj, (tuple, list)) and len(obj) == 0:
        return copy(arr)
    new = _only(_array_of(values))
    places = _only(_array_of(obj))
    if isinstance(places, np.ndarray):
        return _inserted_at(arr, _places_of(places), new, k)
    check_integers(places, "obj")
    return _inserted_together(arr, places, new, k)


def _check_widths(widths, most):
    """Whether so many broadcast."""
    if len(widths) != 1 and len(widths) != most:
        raise ValueError("operands could not be broadcast together: pad_width must have the shape (ndim, 2), (1, 2), (2,), (1,) or ()")


def _widths(pad_width, k, ndim):
    """What comes before and after along axis k."""
    if isinstance(pad_width, np.ndarray):
        raise TypingError("pad_width must be an int or a tuple in compiled code, not an array: write `((a[0, 0], a[0, 1]), ...)`")
    if not isinstance(pad_width, (tuple, list)):
        return (pad_width, pad_width)
    if isinstance(pad_width[0], (tuple, list)):
        _check_widths(pad_width, ndim)
        pair = pad_width[0 if len(pad_width) == 1 else k]
    else:
        pair = pad_width
    _check_widths(pair, 2)
    return (pair[0], pair[0]) if len(pair) == 1 else (pair[0], pair[1])


def _row_outside(i, n, mode):
    """The row of n that stands in place i, which may be outside."""
    if mode == "edge":
        return 0 if i < 0 else (n - 1 if i >= n else i)
    if mode == "wrap":
        return i % n
    if mode == "symmetric":
        j = i % (2 * n)
        return j if j < n else 2 * n - 1 - j
    if n == 1:
        return 0
    j = i % (2 * n - 2)
    return j if j < n else 2 * n - 2 - j


def _padded(a, before, after, k, mode, value):
    if (before < 0 or after < 0) and a.size >= 0:  # which holds always, but unknown to the compiler: so what follows has types
        raise ValueError("index can't contain negative values")
    n = a.shape[k]
    if n == 0 and mode != "constant" and before + after > 0:
        raise ValueError(f"can't extend empty axis {k} using modes other than 'constant' or 'empty'")
    out = np.empty(_inserted(_without(a.shape, k), k, n + before + after), a.dtype)
    into = _axis_first(out, k)
    of = _axis_first(a, k)
    into[before:before + n] = of
    for i in range(before):
        into[i] = value if mode == "constant" else of[_row_outside(i - before, n, mode)]
    for i in range(after):
        into[before + n + i] = value if mode == "constant" else of[_row_outside(n + i, n, mode)]
    return out


def _padded_from(a, pad_width, k, mode, value):
    """Padded along axis k and those behind it."""
    if k == a.ndim:
        return copy(a) if k == 0 else a
    before, after = _widths(pad_width, k, a.ndim)
    return _padded_from(_padded(a, before, after, k, mode, value), pad_width, k + 1, mode, value)


def pad(array, pad_width, mode="constant", *, constant_values=0):
    if mode != "constant" and mode != "edge" and mode != "wrap" and mode != "reflect" and mode != "symmetric":
        raise ValueError("mode of np.pad in compiled code must be 'constant', 'edge', 'wrap', 'reflect' or 'symmetric'")
    if isinstance(constant_values, (tuple, list, np.ndarray)):
        raise TypingError("constant_values must be one number in compiled code")
    return _padded_from(array, pad_width, 0, mode, array.dtype.type(constant_values))


def extract(condition, arr):
    return ravel(arr)[flatnonzero(condition)]


def _check_kth(kth, n):
    if isinstance(kth, (tuple, list, np.ndarray)):
        for one in kth:
            _check_kth(one, n)
        return
    check_integers(kth, "kth")
    if kth < -n or kth >= n:
        raise ValueError(f"kth(={kth}) out of bounds ({n})")


def _put_rows_in_place(a, kth):
    if a.ndim > 1:
        for i in range(a.shape[0]):
            _put_rows_in_place(a[i], kth)
    else:
        n = a.shape[0]
        _check_kth(kth, n)
        if _arrays.sorts(a):
            _select_by_samples(a, kth if kth >= 0 else kth + n)
        else:
            _select(a, kth if kth >= 0 else kth + n)


def partition(a, kth, axis=-1):
    if isinstance(kth, (tuple, list, np.ndarray)):
        _check_kth(kth, a.size if axis is None else a.shape[_arrays.axis(axis, a.ndim)])
        return sorted_copy(a, axis)
    if axis is None:
        row = copy(ravel(a))
        _put_rows_in_place(row, kth)
        return row
    k = _arrays.axis(axis, a.ndim)
    out = copy(a)
    _put_rows_in_place(out if k == a.ndim - 1 else swapaxes(out, k, -1), kth)
    return out


def argpartition(a, kth, axis=-1):
    _check_kth(kth, a.size if axis is None else a.shape[_arrays.axis(axis, a.ndim)])
    return argsort(a, axis)


# ---- sets ----


def intersect1d(ar1, ar2):
    x = unique(ravel(_array_of(ar1)))
    y = unique(ravel(_array_of(ar2)))
    t = _common_type((x, y))
    out = np.empty(min(x.shape[0], y.shape[0]), t)
    i = j = n = 0
    while i < x.shape[0] and j < y.shape[0]:
        u, v = t(x[i]), t(y[j])
        if u == v:
            out[n] = u
            n += 1
            i += 1
            j += 1
        elif _is_less(u, v):
            i += 1
        else:
            j += 1
    return out[:n].copy()


def union1d(ar1, ar2):
    return unique(concatenate((ravel(_array_of(ar1)), ravel(_array_of(ar2)))))


def setdiff1d(ar1, ar2):
    x = unique(ravel(_array_of(ar1)))
    among = isin(x, ravel(_array_of(ar2)))
    return x[flatnonzero(~among)]


# ---- others ----


def vander(x, N=None, increasing=False):
    n = x.shape[0] if N is None else N
    out = np.empty((x.shape[0], n), type(x.dtype.type(0) + np.int64(0)))
    for i in range(x.shape[0]):
        power = out.dtype.type(1)
        for k in range(n):
            out[i, k if increasing else n - 1 - k] = power
            power = out.dtype.type(power * x[i])
    return out


def rot90(m, k=1, axes=(0, 1)):
    check_integers(k, "k")
    first = _arrays.axis(axes[0], m.ndim)
    second = _arrays.axis(axes[1], m.ndim)
    if first == second:
        raise ValueError("Axes must be different.")
    turns = k % 4
    if turns == 0:
        return m[:]
    if turns == 2:
        return flip(flip(m, first), second)
    if turns == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second)


def _unwrap_rows(out, a, discont, period):
    if a.ndim > 1:
        for j in range(a.shape[1]):
            _unwrap_rows(out[:, j], a[:, j], discont, period)
        return
    t = out.dtype.type
    high = t(period / 2)
    low = -high
    correction = 0.0
    for i in range(a.shape[0]):
        if i > 0:
            d = t(a[i]) - t(a[i - 1])
            near = np.mod(d - low, t(period)) + low
            if near == low and d > 0:
                near = high
            if not abs(d) < discont:
                correction += float(near - d)
        out[i] = t(t(a[i]) + correction)


def unwrap(p, discont=None, axis=-1, *, period=2 * math.pi):
    if isinstance(p.dtype.type(0), np.signedinteger) and isinstance(period, (int, np.integer)):  # computed in float64: exact up to 2**53
        return _as(_unwrapped(p, discont, axis, period), type(p.dtype.type(0) + period))
    return _unwrapped(p, discont, axis, period)


def _unwrapped(p, discont, axis, period):
    t = type(p.dtype.type(0) * 1.0)
    k = _arrays.axis(axis, p.ndim)
    out = np.empty(p.shape, t)
    limit = period / 2 if discont is None or discont < period / 2 else discont
    _unwrap_rows(swapaxes(out, 0, k), swapaxes(p, 0, k), t(limit), float(period))
    return out


def _zero_of(choices):
    """A zero of the type that the arrays of numbers among these have in common; None: there are none."""
    if len(choices) == 0:
        return None
    others = _zero_of(choices[1:])
    if not isinstance(choices[0], np.ndarray):
        return others
    zero = choices[0].dtype.type(0)
    if isinstance(zero, (np.datetime64, np.timedelta64)):
        return others
    return zero if others is None else zero + others


def _choice(x, zero):
    """A number in the type that it has beside the arrays."""
    return x if zero is None or isinstance(x, np.ndarray) else type(zero + x)(x)


def select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    return _selected(condlist, choicelist, default, _zero_of((*choicelist, default)))


def _selected(condlist, choicelist, default, zero):
    if len(condlist) == 1:
        return np.where(condlist[0], _choice(choicelist[0], zero), _choice(default, zero))
    return np.where(condlist[0], _choice(choicelist[0], zero), _selected(condlist[1:], choicelist[1:], default, zero))


# ---- windows ----


def _as_size(M):
    """Integers of all types as an int, in which 1 - M does not wrap around."""
    return int(M) if isinstance(M, np.integer) else M


def _window(M, a, b, c):
    """a + b cos x + c cos 2x, for x from -pi to pi."""
    m = _as_size(M)
    out = np.empty(m if m > 0 else 0)
    for i in range(out.shape[0]):
        x = math.pi * (1 - m + 2 * i) / (m - 1) if m > 1 else 0.0
        out[i] = a + b * math.cos(x) + c * math.cos(2 * x)
    return out


def hanning(M):
    return _window(M, 0.5, 0.5, 0.0)


def hamming(M):
    return _window(M, 0.54, 0.46, 0.0)


def blackman(M):
    return _window(M, 0.42, 0.5, 0.08)


def bartlett(M):
    m = _as_size(M)
    out = np.empty(m if m > 0 else 0)
    for i in range(out.shape[0]):
        n = 1 - m + 2 * i
        out[i] = 1.0 if m == 1 else 1 + n / (m - 1) if n <= 0 else 1 - n / (m - 1)
    return out


def kaiser(M, beta):
    m = _as_size(M)
    out = np.empty(m if m > 0 else 0)
    middle = (m - 1) / 2
    for i in range(out.shape[0]):
        r = (i - middle) / middle if m > 1 else 0.0
        out[i] = i0(float(beta) * math.sqrt(max(1 - r * r, 0.0))) / i0(float(beta))
    return out


# ---- places of triangles and diagonals ----


def _triangle(n, m, k, lower):
    """The places of the elements on one side of a diagonal, row by row."""
    count = 0
    for i in range(n):
        for j in range(m):
            if (j - i <= k) == lower:
                count += 1
    rows = np.empty(count, np.int64)
    columns = np.empty(count, np.int64)
    at = 0
    for i in range(n):
        for j in range(m):
            if (j - i <= k) == lower:
                rows[at] = i
                columns[at] = j
                at += 1
    return rows, columns


def tril_indices(n, k=0, m=None):
    return _triangle(n, n if m is None else m, k, True)


def triu_indices(n, k=0, m=None):
    return _triangle(n, n if m is None else m, k - 1, False)


def _check_matrix(a):
    if a.ndim != 2:
        raise TypingError("input array must be 2-d")


def tril_indices_from(arr, k=0):
    _check_matrix(arr)
    return _triangle(arr.shape[0], arr.shape[1], k, True)


def triu_indices_from(arr, k=0):
    _check_matrix(arr)
    return _triangle(arr.shape[0], arr.shape[1], k - 1, False)


def tri(N, M=None, k=0, dtype=float):
    out = zeros((N, N if M is None else M), dtype)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            if j - i <= k:
                out[i, j] = out.dtype.type(1)
    return out


# ---- along an axis ----


def _take_rows(out, a, places):
    if out.ndim > 1:
        for i in range(out.shape[0]):
            _take_rows(out[i], a[i], places[i])
        return
    for i in range(out.shape[0]):
        out[i] = a[_place(places[i], a.shape[0])]


def take_along_axis(arr, indices, axis=-1):
    if axis is None:
        return take_along_axis(ravel(arr), indices, 0)
    if arr.ndim != indices.ndim:
        raise TypingError("`indices` and `arr` must have the same number of dimensions")
    check_integers(indices, "indices")
    k = _arrays.axis(axis, arr.ndim)
    if _without(arr.shape, k) != _without(indices.shape, k):
        raise ValueError("take_along_axis: the shapes of arr and indices differ beside the axis")
    out = np.empty(indices.shape, arr.dtype)
    _take_rows(_axis_last(out, k), _axis_last(arr, k), _axis_last(indices, k))
    return out


def nancumsum(a, axis=None, dtype=None):
    a = _array_of(a)
    return cumsum(np.where(a != a, a.dtype.type(0), a), axis, dtype)


def nancumprod(a, axis=None, dtype=None):
    a = _array_of(a)
    return cumprod(np.where(a != a, a.dtype.type(1), a), axis, dtype)


def vsplit(ary, indices_or_sections):
    if ary.ndim < 2:
        raise TypingError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


def hsplit(ary, indices_or_sections):
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def trim_zeros(filt, trim="fb"):
    low = 0
    high = filt.shape[0]
    if "f" in trim or "F" in trim:
        while low < high and filt[low] == 0:
            low += 1
    if "b" in trim or "B" in trim:
        while low < high and filt[high - 1] == 0:
            high -= 1
    return filt[low:high]


def setxor1d(ar1, ar2):
    both = sorted_copy(concatenate((unique(ravel(_array_of(ar1))), unique(ravel(_array_of(ar2))))))
    n = both.shape[0]
    out = np.empty(n, both.dtype)
    m = 0
    for i in range(n):
        if not ((i > 0 and both[i] == both[i - 1]) or (i + 1 < n and both[i] == both[i + 1])):
            out[m] = both[i]
            m += 1
    return copy(out[:m])


# ---- numbers ----


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None):
    powers = linspace(start, stop, num, endpoint)
    out = np.empty(num, powers.dtype if dtype is None else dtype)
    for i in range(num):
        out[i] = out.dtype.type(powers.dtype.type(base) ** powers[i])
    return out


def conj(a):
    return np.conjugate(a) if isinstance(a.dtype.type(0), np.complexfloating) else a


def rounded(a, decimals=0):
    return np.round(a, decimals)


def asfortranarray(a, dtype=None):
    return transpose(ascontiguousarray(transpose(a), dtype))


def asarray_chkfinite(a, dtype=None):
    out = asarray(a, dtype)
    for x in ravel(out):
        if not np.isfinite(x):
            raise ValueError("array must not contain infs or NaNs")
    return out


def matrix_power(a, n):
    if a.ndim != 2:
        raise TypingError("matrix_power: a matrix is needed")
    check_integers(n, "n")
    if a.shape[0] != a.shape[1]:
        raise ValueError("Last 2 dimensions of the array must be square")
    z = inv(a) if n < 0 else a
    power = -n if n < 0 else n
    result = eye(a.shape[0], None, 0, z.dtype)
    is_first = True
    while power > 0:
        if power % 2:
            result = copy(z) if is_first else matmul(result, z)
            is_first = False
        power //= 2
        if power > 0:
            z = matmul(z, z)
    return result
