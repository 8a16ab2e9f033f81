"""Kernels of `lanewise/_device_arrays.py`: rows that are copied by their numbers, and the passes of its radix sort."""

import numpy as np

import lanewise as lw
from lanewise import cuda

BLOCK, WARPS = 256, 8
PART = 512  # elements of a warp: a tile's counts take 1/16 of its elements
TILE = WARPS * PART


def _position(index, size):
    """Where the index is on an axis of this size: negative ones count from the end."""
    at = np.int64(index)
    if at < 0:
        at += size
    if at < 0 or at >= size:
        raise IndexError(f"index {np.int64(index)} is out of bounds for an axis with size {size}")
    return at


@lw.forall(ndim=3, errors="defer")
def take_rows(b, r, s, source, places, out):
    out[b, r, s] = source[_position(places[b], source.shape[0]), r, s]


@lw.forall(ndim=2, errors="defer")
def take_pairs(b, r, source, places, out):
    out[b, r] = source[_position(places[b], source.shape[0]), r]


@lw.forall(errors="defer")
def take_elements(b, source, places, out):
    out[b] = source[_position(places[b], source.shape[0])]


@lw.forall(errors="defer")
def fill_elements(b, to, places, value):
    to[_position(places[b], to.shape[0])] = value


@lw.forall(errors="defer", ndim=3)
def fill_rows(b, r, s, to, places, value):
    to[_position(places[b], to.shape[0]), r, s] = value[0]


JOINED = 16  # arrays of a launch


@lw.forall
def join(i, to, x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15):
    """One array behind the other."""
    k = i
    if k < x0.size:
        to[i] = x0[k]
        return
    k -= x0.size
    if k < x1.size:
        to[i] = x1[k]
        return
    k -= x1.size
    if k < x2.size:
        to[i] = x2[k]
        return
    k -= x2.size
    if k < x3.size:
        to[i] = x3[k]
        return
    k -= x3.size
    if k < x4.size:
        to[i] = x4[k]
        return
    k -= x4.size
    if k < x5.size:
        to[i] = x5[k]
        return
    k -= x5.size
    if k < x6.size:
        to[i] = x6[k]
        return
    k -= x6.size
    if k < x7.size:
        to[i] = x7[k]
        return
    k -= x7.size
    if k < x8.size:
        to[i] = x8[k]
        return
    k -= x8.size
    if k < x9.size:
        to[i] = x9[k]
        return
    k -= x9.size
    if k < x10.size:
        to[i] = x10[k]
        return
    k -= x10.size
    if k < x11.size:
        to[i] = x11[k]
        return
    k -= x11.size
    if k < x12.size:
        to[i] = x12[k]
        return
    k -= x12.size
    if k < x13.size:
        to[i] = x13[k]
        return
    k -= x13.size
    if k < x14.size:
        to[i] = x14[k]
        return
    k -= x14.size
    to[i] = x15[k]


@lw.forall(errors="defer")
def claim(b, places, size, last):
    """Of several elements for one place the last one stays, as in NumPy."""
    cuda.atomic.max(last, _position(places[b], size), b)


@lw.forall(ndim=3)
def put_rows(b, r, s, to, places, last, values):
    at = np.int64(places[b])
    if at < 0:
        at += to.shape[0]
    if 0 <= at < to.shape[0] and last[at] == b:
        to[at, r, s] = values[b, r, s]


@lw.forall(ndim=3)
def put_each(b, r, s, to, places, values):
    to[places[b], r, s] = values[b, r, s]


@lw.forall(ndim=3)
def fill_where(a, r, s, to, mask, value):
    if mask[a]:
        to[a, r, s] = value[0]


@lw.forall
def fill_chosen(i, to, mask, value):
    if mask[i]:
        to[i] = value


@lw.forall
def take_chosen(i, source, mask, ends, out):
    """ends: how many elements of the mask are true up to each."""
    if mask[i]:
        out[ends[i] - 1] = source[i]


@lw.forall(errors="defer")
def combine(i, rows, index, size):
    rows[i] = rows[i] * size + _position(index[i], size)


@lw.forall
def compact(i, mask, ends, out):
    if mask[i]:
        out[ends[i] - 1] = i


@lw.forall
def coordinate(i, flat, step, size, out):
    out[i] = flat[i] // step % size


@lw.forall
def complex_class(i, real, imag, out):
    """NumPy's order of complex numbers: those without NaN, with an imaginary NaN alone, with a real one."""
    out[i] = 2 if real[i] != real[i] else 1 if imag[i] != imag[i] else 0


@lw.forall
def count_up(i, out):
    out[i] = i


@lw.jit
def count_digits(keys, shift, counts):
    here = cuda.shared.array(256, np.int32)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    here[t] = 0
    cuda.syncthreads()
    for i in range(b * TILE + t, min((b + 1) * TILE, keys.size), BLOCK):
        cuda.atomic.add(here, int(keys[i] >> shift) & 255, 1)
    cuda.syncthreads()
    counts[t * cuda.gridDim.x + b] = here[t]


@lw.jit
def scatter(keys, order, shift, counts, ends, out_keys, out_order):
    places = cuda.shared.array((WARPS, 256), np.int64)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    warp, lane = t // 32, t % 32
    for w in range(WARPS):
        places[w, t] = 0
    cuda.syncthreads()
    begin = b * TILE + warp * PART
    for i in range(begin + lane, min(begin + PART, keys.size), 32):
        cuda.atomic.add(places, (warp, int(keys[i] >> shift) & 255), 1)
    cuda.syncthreads()
    at = ends[t * cuda.gridDim.x + b] - counts[t * cuda.gridDim.x + b]
    for w in range(WARPS):
        n = places[w, t]
        places[w, t] = at
        at += n
    cuda.syncthreads()
    for first in range(begin, begin + PART, 32):
        i = first + lane
        alive = i < keys.size
        digit = int(keys[i] >> shift) & 255 if alive else 256
        same = cuda.match_any_sync(0xFFFFFFFF, digit)
        rank = cuda.popc(same & cuda.lanemask_lt())
        if alive:
            place = places[warp, digit] + rank
            out_keys[place] = keys[i]
            out_order[place] = order[i]
        cuda.syncwarp()
        if alive and rank == 0:
            places[warp, digit] += cuda.popc(same)
        cuda.syncwarp()


@lw.forall
def row_numbers(i, order, n, out):
    out[i] = order[i] // n


@lw.forall
def within_row(i, order, n, out):
    out[i] = order[i] % n


@lw.forall
def mark_first(i, x, equal_nan, out):
    out[i] = i == 0 or (x[i] != x[i - 1] and not (equal_nan and x[i] != x[i] and x[i - 1] != x[i - 1]))


@lw.forall
def mark_first_rows(i, x, order, out):
    differs = i == 0
    for k in range(x.shape[1]):
        if not differs and x[order[i], k] != x[order[i - 1], k]:
            differs = True
    out[i] = differs


@lw.forall
def put_number(i, order, ends, out):
    out[order[i]] = ends[i] - 1


@lw.forall
def differences(i, starts, end, out):
    out[i] = (starts[i + 1] if i + 1 < starts.size else end) - starts[i]


@lw.vectorize
def choose(condition, x, y):
    return x if condition else y


@lw.vectorize
def clip(x, low, high):
    """x stays where it equals a bound: zeros keep their sign, as in NumPy."""
    x = low if x < low or low != low else x
    return high if x > high or high != high else x
