"""Distributions that are formulas of standard numbers: each kernel takes numbers drawn before, float64, and parameters
of one or as many elements. Only arithmetic, square roots and our own logarithm and exponential: the same on all devices.
"""

from __future__ import annotations

import math

import numpy as np

from lanewise import random as r
from lanewise._core import forall

__all__: list[str] = []  # `Generator` takes the kernels by name

# Least numbers that stand for 0 in logarithms: half of the draws' steps.
_TINY = 2.0**-54
_LARGEST = 2.0**63


@forall
def lognormal(i, normal, mean, sigma, out):
    out[i] = r._exp_any_float64(r._at(mean, i) + r._at(sigma, i) * normal[i])


@forall
def laplace(i, uniform, loc, scale, out):
    d = uniform[i] - 0.5
    x = r._at(scale, i) * r._log_float64(max(1.0 - 2.0 * abs(d), _TINY))
    out[i] = r._at(loc, i) + (x if d < 0.0 else -x)


@forall
def logistic(i, uniform, loc, scale, out):
    u = uniform[i]
    out[i] = r._at(loc, i) + r._at(scale, i) * (r._log_float64(max(u, _TINY)) - r._log_float64(1.0 - u))


@forall
def gumbel(i, exponential, loc, scale, out):
    out[i] = r._at(loc, i) - r._at(scale, i) * r._log_float64(max(exponential[i], _TINY))


@forall
def rayleigh(i, exponential, scale, out):
    out[i] = r._at(scale, i) * math.sqrt(2.0 * exponential[i])


@forall
def weibull(i, exponential, a, out):
    power = r._at(a, i)
    out[i] = r._exp_any_float64(r._log_float64(max(exponential[i], _TINY)) / power) if power > 0.0 else 0.0


@forall
def pareto(i, exponential, a, out):
    """exp(x) - 1, by its series where the difference would lose digits."""
    x = exponential[i] / r._at(a, i)
    series = x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0)))))
    out[i] = series if x < 0.01 else r._exp_any_float64(x) - 1.0


@forall
def power(i, exponential, a, out):
    out[i] = r._exp_any_float64(-exponential[i] / r._at(a, i))


@forall
def standard_cauchy(i, normal, other, out):
    out[i] = normal[i] / other[i]


@forall
def standard_t(i, normal, gamma, df, out):
    """gamma: of the shape df / 2."""
    out[i] = normal[i] * math.sqrt(r._at(df, i) / (2.0 * gamma[i]))


@forall
def chisquare(i, gamma, df, out):
    out[i] = 2.0 * gamma[i]


@forall
def f(i, gamma, other, dfnum, dfden, out):
    out[i] = gamma[i] * r._at(dfden, i) / (other[i] * r._at(dfnum, i))


@forall
def beta(i, gamma, boost, other, second, a, b, out):
    """X / (X + Y) of gamma numbers, whose logarithms are log(gamma(a + 1)) - exponential / a: so that small a and b
    lose nothing."""
    x = r._log_float64(gamma[i]) - boost[i] / r._at(a, i)
    y = r._log_float64(other[i]) - second[i] / r._at(b, i)
    out[i] = 1.0 / (1.0 + r._exp_any_float64(y - x))


@forall
def dirichlet(i, gamma, boost, alpha, out):
    """Row i of the logarithms of gamma numbers, and its share of the row's sum."""
    most = -math.inf
    for j in range(len(alpha)):
        most = max(most, r._log_float64(gamma[i, j]) - boost[i, j] / alpha[j])
    total = 0.0
    for j in range(len(alpha)):
        x = r._exp_any_float64(r._log_float64(gamma[i, j]) - boost[i, j] / alpha[j] - most)
        gamma[i, j] = x
        total += x
    for j in range(len(alpha)):
        out[i, j] = gamma[i, j] / total


@forall
def triangular(i, uniform, left, mode, right, out):
    low, top, high, u = r._at(left, i), r._at(mode, i), r._at(right, i), uniform[i]
    width = high - low
    if u * width <= top - low:
        out[i] = low + math.sqrt(u * width * (top - low))
    else:
        out[i] = high - math.sqrt((1.0 - u) * width * (high - top))


@forall
def wald(i, normal, uniform, mean, scale, out):
    """Michael, Schucany and Haas, 1976."""
    m, y = r._at(mean, i), normal[i]
    w = m * y * y
    s = r._at(scale, i)
    q = w + math.sqrt(4.0 * s * w + w * w)
    x = 4.0 * m * s * w / (q * q) if w > 0.0 else m  # m + m / 2s (w - root), without the difference
    out[i] = x if uniform[i] * (m + x) <= m else m * m / x


@forall
def geometric(i, exponential, p, out):
    chance = r._at(p, i)
    count = math.floor(exponential[i] / -r._log1p_float64(-chance)) + 1.0 if chance < 1.0 else 1.0
    out[i] = np.int64(count) if count < _LARGEST else np.int64(2**63 - 1)


@forall
def noncentral_f(i, gamma, other, shape, dfden, dfnum, out):
    """gamma: of the shape dfnum / 2 and a Poisson number; other: of dfden / 2."""
    out[i] = gamma[i] * r._at(dfden, i) / (other[i] * r._at(dfnum, i))


@forall
def logseries(i, uniform, other, p, out):
    """Kemp, 1981, LK. q = 1 - (1 - p)**u, by its series where the difference would lose digits."""
    chance = r._at(p, i)
    v = max(uniform[i], _TINY)
    x = other[i] * r._log1p_float64(-chance) if chance < 1.0 else 0.0
    series = -x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0)))))
    q = series if x > -0.01 else 1.0 - r._exp_any_float64(x)
    count = 1.0
    if v < chance and v < q:
        count = 2.0
        if v <= q * q:
            count = math.floor(1.0 + r._log_float64(v) / r._log_float64(q))
    out[i] = np.int64(min(max(count, 1.0), _LARGEST / 2.0))


@forall
def failures(i, gamma, n, p, out):
    """The mean of the Poisson numbers that make a negative binomial one."""
    chance = r._at(p, i)
    out[i] = gamma[i] * ((1.0 - chance) / chance)
