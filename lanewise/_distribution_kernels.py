"""Distributions that are formulas of standard numbers: each kernel takes numbers drawn before, float64, and parameters
of one or as many elements. Only arithmetic, square roots and our own logarithm and exponential: the same on all devices.
"""

from __future__ import annotations

import math

import numpy as np

from lanewise import random as r
from lanewise._later import forall, made_when_asked

__all__: list[str] = []  # `Generator` takes the kernels by name

# Least numbers that stand for 0 in logarithms: half of the draws' steps.
_TINY = 2.0**-54
_LARGEST = 2.0**63


# ---- formulas of one or two standard numbers, which kernels of _formula_device draw where they use them ----


def _lognormal(normal, mean, sigma):
    return r._exp_any_float64(mean + sigma * normal)


def _laplace(uniform, loc, scale):
    d = uniform - 0.5
    x = scale * r._log_float64(max(1.0 - 2.0 * abs(d), _TINY))
    return loc + (x if d < 0.0 else -x)


def _logistic(uniform, loc, scale):
    return loc + scale * (r._log_float64(max(uniform, _TINY)) - r._log_float64(1.0 - uniform))


def _gumbel(exponential, loc, scale):
    return loc - scale * r._log_float64(max(exponential, _TINY))


def _rayleigh(exponential, scale):
    return scale * math.sqrt(2.0 * exponential)


def _weibull(exponential, a):
    return r._exp_any_float64(r._log_float64(max(exponential, _TINY)) / a) if a > 0.0 else 0.0


def _pareto(exponential, a):
    """exp(x) - 1, by its series where the difference would lose digits."""
    x = exponential / a
    series = x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0)))))
    return series if x < 0.01 else r._exp_any_float64(x) - 1.0


def _power(exponential, a):
    return r._exp_any_float64(-exponential / a)


def _standard_cauchy(normal, other):
    return normal / other


def _triangular(uniform, left, mode, right):
    width = right - left
    if uniform * width <= mode - left:
        return left + math.sqrt(uniform * width * (mode - left))
    return right - math.sqrt((1.0 - uniform) * width * (right - mode))


def _wald(normal, uniform, mean, scale):
    """Michael, Schucany and Haas, 1976."""
    w = mean * normal * normal
    q = w + math.sqrt(4.0 * scale * w + w * w)
    p = 4.0 * mean * scale * w
    if not (1e-140 < mean < 1e140 and 1e-280 < p < 1e280 and 1e-280 < q * q < 1e280):
        return _wald_far(normal, uniform, mean, scale)
    x = p / (q * q)  # mean + mean / 2s (w - root), without the difference
    return x if uniform * (mean + x) <= mean else mean * mean / x


def _wald_far(normal, uniform, mean, scale):
    """The same of quotients, where products would overflow or vanish: the smaller root is mean / d, or scale / normal**2."""
    w = mean / scale * normal * normal
    d = 1.0 + 0.5 * w + math.sqrt(w + 0.25 * w * w)
    x = mean / d if w < 1e15 else scale / (normal * normal)
    return x if uniform * (1.0 + x / mean) <= 1.0 else mean * d


def _geometric(exponential, p):
    count = math.floor(exponential / -r._log1p_float64(-p)) + 1.0 if p < 1.0 else 1.0
    return np.int64(count) if count < _LARGEST else np.int64(2**63 - 1)


def _logseries(uniform, other, p):
    """Kemp, 1981, LK. q = 1 - (1 - p)**u, by its series where the difference would lose digits."""
    v = max(uniform, _TINY)
    x = other * r._log1p_float64(-p) if p < 1.0 else 0.0
    series = -x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0)))))
    q = series if x > -0.01 else 1.0 - r._exp_any_float64(x)
    count = 1.0
    if v < p and v < q:
        count = 2.0
        if v <= q * q:
            count = math.floor(1.0 + r._log_float64(v) / r._log_float64(q))
    return np.int64(min(max(count, 1.0), _LARGEST / 2.0))


@forall
def lognormal(i, normal, mean, sigma, out):
    out[i] = _lognormal(normal[i], r._at(mean, i), r._at(sigma, i))


@forall
def laplace(i, uniform, loc, scale, out):
    out[i] = _laplace(uniform[i], r._at(loc, i), r._at(scale, i))


@forall
def logistic(i, uniform, loc, scale, out):
    out[i] = _logistic(uniform[i], r._at(loc, i), r._at(scale, i))


@forall
def gumbel(i, exponential, loc, scale, out):
    out[i] = _gumbel(exponential[i], r._at(loc, i), r._at(scale, i))


@forall
def rayleigh(i, exponential, scale, out):
    out[i] = _rayleigh(exponential[i], r._at(scale, i))


@forall
def weibull(i, exponential, a, out):
    out[i] = _weibull(exponential[i], r._at(a, i))


@forall
def pareto(i, exponential, a, out):
    out[i] = _pareto(exponential[i], r._at(a, i))


@forall
def power(i, exponential, a, out):
    out[i] = _power(exponential[i], r._at(a, i))


@forall
def standard_cauchy(i, normal, other, out):
    out[i] = _standard_cauchy(normal[i], other[i])


@forall
def triangular(i, uniform, left, mode, right, out):
    out[i] = _triangular(uniform[i], r._at(left, i), r._at(mode, i), r._at(right, i))


@forall
def wald(i, normal, uniform, mean, scale, out):
    out[i] = _wald(normal[i], uniform[i], r._at(mean, i), r._at(scale, i))


@forall
def geometric(i, exponential, p, out):
    out[i] = _geometric(exponential[i], r._at(p, i))


@forall
def logseries(i, uniform, other, p, out):
    out[i] = _logseries(uniform[i], other[i], r._at(p, i))


# ---- others ----


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
def noncentral_f(i, gamma, other, shape, dfden, dfnum, out):
    """gamma: of the shape dfnum / 2 and a Poisson number; other: of dfden / 2."""
    out[i] = gamma[i] * r._at(dfden, i) / (other[i] * r._at(dfnum, i))


@forall
def failures(i, gamma, n, p, out):
    """The mean of the Poisson numbers that make a negative binomial one."""
    chance = r._at(p, i)
    out[i] = gamma[i] * ((1.0 - chance) / chance)


__getattr__ = _own = made_when_asked(globals())
