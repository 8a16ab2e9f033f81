"""Kernels of the CPU alone, which give the numbers of `_random_kernels` and `_distribution_kernels` bit for bit.

Those draw until a number is accepted, and take exp by integers: a GPU's threads do that side by side, a CPU's vectors do not.
Here each number's first attempt is one straight line, which becomes vector instructions; -1 marks what it leaves (at most one
in twenty), and `gamma_rest` draws that by the shared kernel's function.
"""

from __future__ import annotations

import math

import numpy as np

from lanewise import _random_kernels, random as r
from lanewise._later import forall, made_when_asked
from lanewise._random_kernels import _draw, _gamma, _long

__all__: list[str] = []  # `Generator` takes the kernels by name


def _exp(x):
    """`_exp_float64` for x in [-700, 709.7]: 2**k is added to the exponent's bits, which are the lowest of k + 1.5 * 2**52."""
    k = np.floor(x * 1.4426950408889634 + 0.5)
    y = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    e = 1.0 / 6227020800.0
    e = e * y + 1.0 / 479001600.0
    e = e * y + 1.0 / 39916800.0
    e = e * y + 1.0 / 3628800.0
    e = e * y + 1.0 / 362880.0
    e = e * y + 1.0 / 40320.0
    e = e * y + 1.0 / 5040.0
    e = e * y + 1.0 / 720.0
    e = e * y + 1.0 / 120.0
    e = e * y + 1.0 / 24.0
    e = e * y + 1.0 / 6.0
    e = e * y + 1.0 / 2.0
    e = e * y + 1.0
    e = e * y + 1.0
    bits = (k + 6755399441055744.0).view(np.uint64) << np.uint64(52)
    return (e.view(np.uint64) + bits).view(np.float64)


def _exp_any(x):
    inside = _exp(min(max(x, -700.0), 709.7))
    return math.inf if x >= 709.7 else (inside if x >= -700.0 else 0.0)


# ---- gamma ----


def _boost(keys, c3, element, shape):
    """What makes a number of shape + 1 one of a shape below 1."""
    a, b, c, d = _draw(keys, c3, element, 0)
    return _exp(max(r._log_float64(r._open_float64(_long(a, b))) / shape, -700.0))


def _attempt(keys, c3, element, alpha, boost, scale):
    """The first attempt of `_gamma` for alpha >= 1."""
    third = alpha - 1.0 / 3.0
    slope = 1.0 / math.sqrt(9.0 * third)
    a, b, c, d = _draw(keys, c3, element, 1)
    x, unused = r._normal2_float64(_long(a, b), _long(c, d))
    a, b, c, d = _draw(keys, c3, element, 2)
    v = 1.0 + slope * x
    positive = v > 0.0
    v = max(v, 1e-30)
    v = v * v * v
    u = r._open_float64(_long(a, b))
    accepted = r._log_float64(u) < 0.5 * x * x + third * (1.0 - v + r._log_float64(v))
    return boost * third * v * scale if accepted and positive else -1.0


@forall
def gamma(i, keys, c3, base, shape, scale, out):
    out[i] = _attempt(keys, c3, base + np.uint64(i), shape, 1.0, scale)


@forall
def gamma_below_1(i, keys, c3, base, shape, scale, out):
    element = base + np.uint64(i)
    out[i] = _attempt(keys, c3, element, shape + 1.0, _boost(keys, c3, element, shape), scale)


@forall
def gamma_each(i, keys, c3, base, shape, scale, out):
    element, own = base + np.uint64(i), r._at(shape, i)
    boost = _boost(keys, c3, element, own)
    small = own < 1.0
    drawn = _attempt(keys, c3, element, own + 1.0 if small else own, boost if small else 1.0, r._at(scale, i))
    out[i] = drawn if own > 0.0 else 0.0


@forall
def gamma_each_from_1(i, keys, c3, base, shape, scale, out):
    out[i] = _attempt(keys, c3, base + np.uint64(i), r._at(shape, i), 1.0, r._at(scale, i))


@forall
def gamma_rest(i, keys, c3, base, shape, scale, out):
    if out[i] < 0.0:
        out[i] = _gamma(keys, c3, base + np.uint64(i), shape, scale)


@forall
def gamma_rest_each(i, keys, c3, base, shape, scale, out):
    if out[i] < 0.0:
        out[i] = _gamma(keys, c3, base + np.uint64(i), r._at(shape, i), r._at(scale, i))


def fill_gamma(count, keys, c3, base, shape, scale, out, *, stream=0):
    """`philox_gamma` and `philox_gamma_each`. Parameters: numbers, or arrays of one or count elements."""
    if isinstance(shape, np.ndarray) and shape.size == scale.size == 1:
        shape, scale = shape[0], scale[0]
    if isinstance(shape, np.ndarray):
        first, rest = _own("gamma_each_from_1" if shape.min() >= 1.0 else "gamma_each"), _own("gamma_rest_each")
    else:
        first = _own("gamma" if shape >= 1.0 else "gamma_below_1") if shape > 0.0 else _random_kernels.philox_gamma
        rest = _own("gamma_rest")
    for kernel in (first, rest):
        kernel(count, keys, c3, base, shape, scale, out, stream=stream)


# ---- formulas with exp ----


@forall
def beta(i, gamma, boost, other, second, a, b, out):
    x = r._log_float64(gamma[i]) - boost[i] / r._at(a, i)
    y = r._log_float64(other[i]) - second[i] / r._at(b, i)
    out[i] = 1.0 / (1.0 + _exp_any(y - x))


@forall
def _logarithms(i, gamma, boost, alpha):
    gamma[i] = r._log_float64(gamma[i]) - boost[i] / alpha[i]


@forall
def _below_most(i, x):
    """Row i less its largest number."""
    most = -math.inf
    for j in range(x.shape[1]):
        most = max(most, x[i, j])
    for j in range(x.shape[1]):
        x[i, j] = x[i, j] - most


@forall
def _exps(i, x):
    x[i] = _exp_any(x[i])


@forall
def _shares(i, x, out):
    total = 0.0
    for j in range(x.shape[1]):
        total += x[i, j]
    for j in range(x.shape[1]):
        out[i, j] = x[i, j] / total


def dirichlet(count, gamma, boost, alpha, out, *, stream=0):
    """`dirichlet` of rows: what stands in each place first, then what a row has in common."""
    x = gamma.reshape(-1)
    _own("_logarithms")(x.size, x, boost.reshape(-1), np.tile(alpha, count), stream=stream)
    _own("_below_most")(count, gamma, stream=stream)
    _own("_exps")(x.size, x, stream=stream)
    _own("_shares")(count, gamma, out, stream=stream)


__getattr__ = _own = made_when_asked(globals())
