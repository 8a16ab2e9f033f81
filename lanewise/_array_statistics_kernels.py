"""Kernels of `lanewise/_array_statistics.py`: binary search, counts of bins, quantiles of sorted rows, interpolation, convolution."""

import math

import lanewise as lw
from lanewise import cuda


def _place(a, x, right):
    """How many elements of the sorted `a` come before x: with right=1 also those equal to it. NaN is larger than all, as for NumPy."""
    low, high = 0, a.size
    while low < high:
        middle = (low + high) // 2
        y = a[middle]
        if (y <= x or x != x) if right else (y < x or (x != x and y == y)):
            low = middle + 1
        else:
            high = middle
    return low


@lw.forall
def search(i, a, v, right, out):
    out[i] = _place(a, v[i], right)


@lw.forall
def count(i, x, counts):
    cuda.atomic.add(counts, x[i], 1)


@lw.forall
def add_weights(i, x, weights, sums):
    cuda.atomic.add(sums, x[i], weights[i])


@lw.forall
def bin_of(i, x, edges, out):
    """The bin of x[i], the last of which has both its edges; -1: outside."""
    last = edges.size - 1
    at = _place(edges, x[i], 1) - 1
    if x[i] == edges[last]:
        at = last - 1
    out[i] = at if at < last and x[i] == x[i] else -1


@lw.forall
def count_chosen(i, x, counts):
    if x[i] >= 0:
        cuda.atomic.add(counts, x[i], 1)


@lw.forall
def add_chosen(i, x, weights, sums):
    if x[i] >= 0:
        cuda.atomic.add(sums, x[i], weights[i])


def _numbers(row, without_nan):
    """How many elements of a sorted row are used; 0: none, or there is a NaN that counts."""
    n = row.size
    if n == 0 or row[n - 1] == row[n - 1]:
        return n
    return _place(row, row[n - 1], 0) if without_nan else 0


@lw.forall(ndim=2, fma=False)
def quantiles(k, i, rows, q, alpha, beta, kind, without_nan, out):
    """kind: 0 interpolates; 1 the lower, 2 the higher, 3 the nearer of two elements, 4 their middle."""
    row = rows[i]
    n = _numbers(row, without_nan)
    t = out.dtype.type
    if n == 0:
        out[k, i] = t(math.nan)
        return
    at = n * q[k] + (alpha + q[k] * (1.0 - alpha - beta)) - 1.0
    at = min(max(at, 0.0), n - 1.0)
    low = int(math.floor(at))
    part = at - low
    if kind == 1:
        part = 0.0
    elif kind == 2:
        part = math.ceil(part)
    elif kind == 3:
        part = 0.0 if part < 0.5 or (part == 0.5 and low % 2 == 0) else 1.0
    elif kind == 4:
        part = 0.5 if part > 0.0 else 0.0
    high = low + 1 if low + 1 < n else n - 1
    a, b = t(row[low]), t(row[high])
    if at <= 0.0 or low == high or kind in (1, 2, 3):  # the ends are elements, also beside infinities
        out[k, i] = b if part == 1.0 else a
    else:
        g = t(part)
        out[k, i] = b - (b - a) * (1 - g) if g >= 0.5 else a + (b - a) * g


@lw.forall
def chosen_elements(i, rows, at, out):
    """Quantiles that are elements of rows without NaN, whose dtype they keep."""
    out[i] = rows[i, at]


@lw.forall(fma=False)
def medians(i, rows, without_nan, out):
    row = rows[i]
    n = _numbers(row, without_nan)
    t = out.dtype.type
    if n == 0:
        out[i] = t(math.nan)
    elif n % 2 or row[n // 2] == row[n // 2 - 1]:
        out[i] = t(row[n // 2])
    else:
        out[i] = t((t(row[n // 2 - 1]) + t(row[n // 2])) / 2.0)


@lw.forall(fma=False)
def interpolate(i, x, xp, fp, left, right, out):
    n = xp.size
    v = x[i]
    t = out.dtype.type
    if v != v and n > 1:  # NumPy does not look for NaN where there is one point
        out[i] = t(v)
    elif v > xp[n - 1]:
        out[i] = right[0]
    elif v < xp[0]:
        out[i] = left[0]
    else:
        j = _place(xp, v, 1) - 1
        if j >= n - 1 or v == xp[j]:
            out[i] = fp[min(j, n - 1)]
        else:
            slope = (fp[j + 1] - fp[j]) / (xp[j + 1] - xp[j])
            y = slope * (v - xp[j]) + fp[j]
            if y != y:
                y = slope * (v - xp[j + 1]) + fp[j + 1]
                if y != y and fp[j] == fp[j + 1]:
                    y = fp[j]
            out[i] = y


@lw.forall(warn=False)
def convolve(i, a, v, first, out):
    """out[i] = the sum of a[k] * v[first + i - k]."""
    at = first + i
    total = out.dtype.type(0)
    for k in range(max(at - v.size + 1, 0), min(at + 1, a.size)):
        total += a[k] * v[at - k]
    out[i] = total
