"""What the tests of random numbers share: statistics, distribution functions, states; it holds no test."""

from __future__ import annotations

import math

import numpy as np

from lanewise import random as r

KINDS = ["philox", "xoroshiro128p"]
N = 30000


def states_of(n, seed, start=0):
    states = np.empty(n, r.xoroshiro128p_dtype)
    r.init_xoroshiro128p_states_cpu(states, seed, start)
    return states


def bits(array):
    unsigned = array.view(f"u{array.dtype.itemsize}")
    return " ".join(f"{int(x):0{2 * array.dtype.itemsize}x}" for x in unsigned)


def distance(sample, cdf):
    """Kolmogorov's statistic times sqrt(n)."""
    x = np.sort(np.asarray(sample, np.float64))
    below, n = np.array([cdf(v) for v in x]), len(x)
    grid = np.arange(n + 1) / n
    return max((grid[1:] - below).max(), (below - grid[:-1]).max()) * math.sqrt(n)


def chi2(counts, expected):
    """The distance of the statistic from its mean, in standard deviations; cells of fewer than 10 are merged."""
    c, e, rest_c, rest_e = [], [], 0.0, 0.0
    for got, wanted in zip(counts, expected):
        rest_c, rest_e = rest_c + got, rest_e + wanted
        if rest_e >= 10:
            c, e, rest_c, rest_e = c + [rest_c], e + [rest_e], 0.0, 0.0
    c[-1], e[-1] = c[-1] + rest_c, e[-1] + rest_e
    value, freedom = sum((a - b) ** 2 / b for a, b in zip(c, e)), len(c) - 1
    return (value - freedom) / math.sqrt(2 * freedom)


def phi(v):
    return 0.5 * math.erfc(-v / math.sqrt(2))


FORMULAS = {  # the distribution's function, of all real numbers
    ("lognormal", (1.0, 0.5)): lambda v: phi((math.log(v) - 1) / 0.5),
    ("laplace", (1.0, 2.0)): lambda v: 0.5 * math.exp((v - 1) / 2) if v < 1 else 1 - 0.5 * math.exp((1 - v) / 2),
    ("logistic", (1.0, 2.0)): lambda v: 1 / (1 + math.exp((1 - v) / 2)),
    ("gumbel", (1.0, 2.0)): lambda v: math.exp(-math.exp((1 - v) / 2)),
    ("rayleigh", (2.0,)): lambda v: -math.expm1(-v * v / 8),
    ("weibull", (1.5,)): lambda v: -math.expm1(-v**1.5),
    ("weibull", (0.3,)): lambda v: -math.expm1(-v**0.3),
    ("pareto", (2.0,)): lambda v: 1 - (1 + v) ** -2,
    ("power", (3.0,)): lambda v: v**3,
    ("standard_cauchy", ()): lambda v: 0.5 + math.atan(v) / math.pi,
    ("standard_t", (2.0,)): lambda v: 0.5 + v / (2 * math.sqrt(2 + v * v)),
    ("chisquare", (4.0,)): lambda v: 1 - math.exp(-v / 2) * (1 + v / 2),
    ("chisquare", (1.0,)): lambda v: math.erf(math.sqrt(v / 2)),
    ("f", (2.0, 5.0)): lambda v: 1 - (1 + 2 * v / 5) ** -2.5,
    ("beta", (0.5, 0.5)): lambda v: 2 / math.pi * math.asin(math.sqrt(v)),
    ("beta", (2.0, 3.0)): lambda v: v * v * (6 - 8 * v + 3 * v * v),
    ("beta", (0.1, 1.0)): lambda v: v**0.1,
    ("triangular", (-1.0, 0.0, 4.0)): lambda v: (v + 1) ** 2 / 5 if v < 0 else 1 - (4 - v) ** 2 / 20,
    ("wald", (2.0, 3.0)): lambda v: phi(math.sqrt(3 / v) * (v / 2 - 1)) + math.exp(3) * phi(-math.sqrt(3 / v) * (v / 2 + 1)),
}
