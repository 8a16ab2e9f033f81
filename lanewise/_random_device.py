"""Kernels for many numbers on a GPU, which give those of `_random_kernels` bit for bit.

Normal and exponential float64 numbers: a thread draws the numbers of two blocks side by side, so that neither waits for its own
results. Coefficients are parameters: each would take two instructions where it is used, but as parameters they are loaded once for all
iterations of a thread. For float32, neither helps (H200, 27 November 2026). Gamma numbers: a lane of a warp that draws again does not
stop the others, and float32 decides nearly all attempts. `fitting` is the table; a filler is called like the kernel that it stands for.
"""

from __future__ import annotations

import math

import numpy as np

from lanewise import random as r
from lanewise._core import forall
from lanewise._random_kernels import _accepts, _block, _draw, _long, _store2, philox_exponential_float64, philox_gamma, philox_normal_float64

__all__: list[str] = []

_LANES = 2048  # on each multiprocessor: as many threads as it has at once


# ---- two blocks side by side ----


def _normal2(coefficients, keys, c3, base, i):
    a, b, c, d = _block(keys, c3, base, i)
    return r._normal2_float64(_long(a, b), _long(c, d), *coefficients)


def _exponential2(log, keys, c3, base, i):
    a, b, c, d = _block(keys, c3, base, i)
    return r._exponential_float64(_long(a, b), log), r._exponential_float64(_long(c, d), log)


@forall
def normal_float64(i, half, coefficients, keys, c3, base, loc, scale, out, second):
    a, b = _normal2(coefficients, keys, c3, base, i)
    x, y = _normal2(coefficients, keys, c3, base, np.uint32(i) + half)
    _store2(out, i, loc + scale * a, loc + scale * b)
    _store2(second, i, loc + scale * x, loc + scale * y)


@forall
def exponential_float64(i, half, log, keys, c3, base, scale, out, second):
    a, b = _exponential2(log, keys, c3, base, i)
    x, y = _exponential2(log, keys, c3, base, np.uint32(i) + half)
    _store2(out, i, scale * a, scale * b)
    _store2(second, i, scale * x, scale * y)


def _side_by_side(kernel, single, *coefficients):
    """The filler: blocks i and i + half for each i; one block may be left."""

    def fill(count, keys, c3, base, *parameters, stream=0):
        *parameters, out = parameters
        half, numbers = count // 2, out.size // count
        kernel(half, np.uint32(half), *coefficients, keys, c3, base, *parameters, out[: half * numbers], out[half * numbers : 2 * half * numbers], stream=stream)
        if count % 2:
            single(1, keys, c3, base + np.uint64(count - 1), *parameters, out[(count - 1) * numbers :], stream=stream)

    return fill


# ---- gamma ----


def _screened(word, x, third, w):
    """log(u) less the bound of `_accepts` for v = w**3 in float32, and by how much it may be wrong: twice what roundings add, and
    2**-22 in each of a GPU's fast logarithms (PTX ISA, lg2.approx). It is infinite where w is too close to 1 for float32, and below
    u = 2**-12, since only the upper half of the word is used."""
    single = np.float32
    y, z, d = single(x), single(w), single(third)
    q = z - single(1.0)
    cube = q * (single(3.0) + q * (single(3.0) + q))  # v - 1
    rise = math.log2(z) * single(3.0 * math.log(2.0))
    bound = single(0.5) * y * y - d * (cube - rise)
    high = np.uint32(word >> np.uint64(32))
    u = single(high) * single(2.0**-32) + single(2.0**-33)
    error = single(4e-6) * (single(1.0) + y * y + d * (single(0.25) + abs(cube) + abs(rise)))
    return math.log2(u) * single(math.log(2.0)) - bound, error if high > np.uint32(1 << 20) and d < single(1e7) else single(math.inf)


@forall(fastmath={"afn"})
def gamma(i, lanes, coefficients, keys, c3, base, third, slope, scale, out):
    """For shape = third + 1/3 >= 1. Lane i draws elements i, i + lanes, …, with one attempt in each iteration. Nothing but the
    logarithms of `_screened` is a function that afn concerns."""
    j = np.uint32(i)
    attempt = np.uint32(1)
    while j < np.uint32(len(out)):
        element = base + np.uint64(j)
        a, b, c, d = _draw(keys, c3, element, attempt)
        x = r._normal2_float64(_long(a, b), _long(c, d), *coefficients)[0]
        a, b, c, d = _draw(keys, c3, element, attempt + np.uint32(1))
        w = 1.0 + slope * x
        v = w * w * w
        excess, error = _screened(_long(a, b), x, third, w)
        accepted = w > 0.0 and excess < -error
        if w > 0.0 and not abs(excess) >= error:
            accepted = _accepts(_long(a, b), x, third, v)
        if accepted:
            out[j] = third * v * scale
        j += lanes if accepted else np.uint32(0)
        attempt = np.uint32(1) if accepted else attempt + np.uint32(2)


def fill_gamma(count, keys, c3, base, shape, scale, out, *, stream=0):
    from lanewise import cuda

    lanes = cuda.get_current_device().MULTIPROCESSOR_COUNT * _LANES
    if shape >= 1.0 and 4 * lanes <= count < 2**31:
        gamma_by(lanes, keys, c3, base, shape, scale, out, stream)
    else:
        philox_gamma(count, keys, c3, base, shape, scale, out, stream=stream)


def gamma_by(lanes, keys, c3, base, shape, scale, out, stream=0):
    """`philox_gamma` of a shape >= 1 by so many lanes; two numbers are computed here as that does."""
    third = float(shape) - 1.0 / 3.0
    gamma(lanes, np.uint32(lanes), _NORMAL, keys, c3, base, third, 1.0 / math.sqrt(9.0 * third), scale, out, stream=stream)


_NORMAL = r._LOG, r._SINE, r._COSINE
_FILLERS = {
    philox_normal_float64: _side_by_side(normal_float64, philox_normal_float64, _NORMAL),
    philox_exponential_float64: _side_by_side(exponential_float64, philox_exponential_float64, r._LOG),
    philox_gamma: fill_gamma,
}


def fitting(kernel):
    """What fills large arrays with the numbers of this kernel of `_random_kernels`: a filler, or the kernel itself."""
    return _FILLERS.get(kernel, kernel)
