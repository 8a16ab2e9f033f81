"""``np.random.seed(1)``, ``np.random.normal(size=n)`` in functions of ``njit`` that are called on the host. Compiled, never called.

The front end takes the function of this module that has the name of what is called (core/front/read/array_function.c). Each thread, and
each part of a loop over prange, has a state of xoroshiro128+ (core/host/random_state.h), whose words are ``w`` here. The draws are
those of lanewise/random.py and formulas of these.
"""

from __future__ import annotations

import math

import numpy as np

from lanewise._array_functions import _array_of, _as, check_integers
from lanewise._core import intrinsics
from lanewise.random import (  # type: ignore[attr-defined]
    _exponential_float64, _normal2_float64, uint64_to_unit_float64, xoroshiro128p_binomial, xoroshiro128p_dtype, xoroshiro128p_gamma_float64, xoroshiro128p_integers,
    xoroshiro128p_next, xoroshiro128p_poisson,
)

_arrays = intrinsics.arrays  # core/tables/array_names.def
_HAS_SPARE, _SPARE, _FORKS, _SEEDED = range(2, 6)  # core/ir/random_words.h


# ---- the state ----


def _split_mix(x):
    z = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def seed(seed=None):
    w = _arrays.random_state()
    w[_HAS_SPARE] = 0
    w[_FORKS] = 0
    if seed is None:
        w[_SEEDED] = 0  # it is seeded by the system when it is next asked for
    else:
        check_integers(seed, "seed")
        if seed < 0 or seed > 4294967295:
            raise ValueError("Seed must be between 0 and 2**32 - 1")
        x = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)
        w[0] = _split_mix(x)
        w[1] = _split_mix(x + np.uint64(0x9E3779B97F4A7C15))


def _states(w):
    return _arrays.shaped(w[:2], (1,), xoroshiro128p_dtype)


def _next(w):
    return xoroshiro128p_next(_states(w), 0)


def _uniform(w):
    return uint64_to_unit_float64(_next(w))


def _positive(w):
    """In (0, 1]."""
    return 1.0 - _uniform(w)


def _standard(w):
    """A standard normal number; each second one is left over from the one before."""
    spare = _arrays.shaped(w[_SPARE:_SPARE + 1], (1,), np.float64)
    if w[_HAS_SPARE] != np.uint64(0):
        w[_HAS_SPARE] = 0
        return spare[0]
    first, second = _normal2_float64(_next(w), _next(w))
    spare[0] = second
    w[_HAS_SPARE] = 1
    return first


def _exponential(w):
    return _exponential_float64(_next(w))


def _gamma(w, shape):
    return 0.0 if shape == 0.0 else xoroshiro128p_gamma_float64(_states(w), 0, shape)


def _below(w, n):
    return xoroshiro128p_integers(_states(w), 0, 0, n)


# ---- numbers, or arrays of them ----


def _fill(out, draw, w, a, b, c):
    for i in range(out.shape[0]):
        if out.ndim == 1:
            out[i] = draw(w, a, b, c)
        else:
            _fill(out[i], draw, w, a, b, c)


def _drawn(draw, size, t, a=0.0, b=0.0, c=0.0):
    w = _arrays.random_state()
    if size is None:
        return t(draw(w, a, b, c))
    out = np.empty(size, t)
    if out.ndim == 0:
        out[()] = draw(w, a, b, c)
    else:
        _fill(out, draw, w, a, b, c)
    return out


def _reals(draw, size, a=0.0, b=0.0, c=0.0):
    return _drawn(draw, size, np.float64, np.float64(a), np.float64(b), np.float64(c))


def _check(ok, text):
    if not ok:
        raise ValueError(text)


def random(size=None):
    return _reals(lambda w, a, b, c: _uniform(w), size)


def rand(*shape):
    return random(None) if len(shape) == 0 else random(shape)


def randn(*shape):
    return standard_normal(None) if len(shape) == 0 else standard_normal(shape)


def uniform(low=0.0, high=1.0, size=None):
    return _reals(lambda w, a, b, c: a + (b - a) * _uniform(w), size, low, high)


def standard_normal(size=None):
    return _reals(lambda w, a, b, c: _standard(w), size)


def normal(loc=0.0, scale=1.0, size=None):
    _check(scale >= 0, "scale < 0")
    return _reals(lambda w, a, b, c: a + b * _standard(w), size, loc, scale)


def lognormal(mean=0.0, sigma=1.0, size=None):
    _check(sigma >= 0, "sigma < 0")
    return _reals(lambda w, a, b, c: math.exp(a + b * _standard(w)), size, mean, sigma)


def standard_exponential(size=None):
    return _reals(lambda w, a, b, c: _exponential(w), size)


def exponential(scale=1.0, size=None):
    _check(scale >= 0, "scale < 0")
    return _reals(lambda w, a, b, c: a * _exponential(w), size, scale)


def standard_gamma(shape, size=None):
    _check(shape >= 0, "shape < 0")
    return _reals(lambda w, a, b, c: _gamma(w, a), size, shape)


def gamma(shape, scale=1.0, size=None):
    _check(shape >= 0, "shape < 0")
    _check(scale >= 0, "scale < 0")
    return _reals(lambda w, a, b, c: b * _gamma(w, a), size, shape, scale)


def _beta(w, a, b):
    """Of small parameters by powers of uniform numbers (Johnk, 1964): both gamma numbers may be too small to tell."""
    if a > 1.0 or b > 1.0:
        x = _gamma(w, a)
        return x / (x + _gamma(w, b))
    while True:
        x = math.log(_positive(w)) / a
        y = math.log(_positive(w)) / b
        most = max(x, y)
        total = math.exp(x - most) + math.exp(y - most)
        if most + math.log(total) <= 0.0:
            return math.exp(x - most) / total


def beta(a, b, size=None):
    _check(a > 0, "a <= 0")
    _check(b > 0, "b <= 0")
    return _reals(lambda w, a, b, c: _beta(w, a, b), size, a, b)


def chisquare(df, size=None):
    _check(df > 0, "df <= 0")
    return _reals(lambda w, a, b, c: 2.0 * _gamma(w, 0.5 * a), size, df)


def f(dfnum, dfden, size=None):
    _check(dfnum > 0, "dfnum <= 0")
    _check(dfden > 0, "dfden <= 0")
    return _reals(lambda w, a, b, c: _gamma(w, 0.5 * a) * b / (_gamma(w, 0.5 * b) * a), size, dfnum, dfden)


def standard_t(df, size=None):
    _check(df > 0, "df <= 0")
    return _reals(lambda w, a, b, c: math.sqrt(0.5 * a) * _standard(w) / math.sqrt(_gamma(w, 0.5 * a)), size, df)


def standard_cauchy(size=None):
    return _reals(lambda w, a, b, c: _standard(w) / _standard(w), size)


def laplace(loc=0.0, scale=1.0, size=None):
    _check(scale >= 0, "scale < 0")
    return _reals(lambda w, a, b, c: a + b * (_exponential(w) if _uniform(w) < 0.5 else -_exponential(w)), size, loc, scale)


def _logistic(w):
    u = _uniform(w)
    while u == 0.0:
        u = _uniform(w)
    return math.log(u / (1.0 - u))


def logistic(loc=0.0, scale=1.0, size=None):
    _check(scale >= 0, "scale < 0")
    return _reals(lambda w, a, b, c: a + b * _logistic(w), size, loc, scale)


def gumbel(loc=0.0, scale=1.0, size=None):
    _check(scale >= 0, "scale < 0")
    return _reals(lambda w, a, b, c: a - b * math.log(_exponential(w)), size, loc, scale)


def rayleigh(scale=1.0, size=None):
    _check(scale >= 0, "scale < 0")
    return _reals(lambda w, a, b, c: a * math.sqrt(2.0 * _exponential(w)), size, scale)


def weibull(a, size=None):
    _check(a >= 0, "a < 0")
    return _reals(lambda w, a, b, c: 0.0 if a == 0.0 else _exponential(w) ** (1.0 / a), size, a)


def pareto(a, size=None):
    _check(a > 0, "a <= 0")
    return _reals(lambda w, a, b, c: math.expm1(_exponential(w) / a), size, a)


def power(a, size=None):
    _check(a > 0, "a <= 0")
    return _reals(lambda w, a, b, c: (-math.expm1(-_exponential(w))) ** (1.0 / a), size, a)


def _triangular(w, left, mode, right):
    base = right - left
    u = _uniform(w)
    if u <= (mode - left) / base:
        return left + math.sqrt(u * (mode - left) * base)
    return right - math.sqrt((1.0 - u) * (right - mode) * base)


def triangular(left, mode, right, size=None):
    _check(left <= mode, "left > mode")
    _check(mode <= right, "mode > right")
    _check(left != right, "left == right")
    return _reals(_triangular, size, left, mode, right)


def _wald(w, mean, scale, unused):
    """Michael, Schucany and Haas, 1976."""
    y = _standard(w)
    y = mean * y * y
    x = mean + mean / (2.0 * scale) * (y - math.sqrt(4.0 * scale * y + y * y))
    return x if _uniform(w) <= mean / (mean + x) else mean * mean / x


def wald(mean, scale, size=None):
    _check(mean > 0, "mean <= 0")
    _check(scale > 0, "scale <= 0")
    return _reals(_wald, size, mean, scale)


def _vonmises(w, mu, kappa, unused):
    """Best and Fisher, 1979."""
    if kappa < 1e-8:
        return math.pi * (2.0 * _uniform(w) - 1.0)
    r = 1.0 + math.sqrt(1.0 + 4.0 * kappa * kappa)
    rho = (r - math.sqrt(2.0 * r)) / (2.0 * kappa)
    s = (1.0 + rho * rho) / (2.0 * rho)
    while True:
        z = math.cos(math.pi * _uniform(w))
        y = (1.0 + s * z) / (s + z)
        d = kappa * (s - y)
        v = _positive(w)
        if d * (2.0 - d) - v > 0.0 or math.log(d / v) + 1.0 - d >= 0.0:
            break
    angle = math.acos(min(1.0, max(-1.0, y)))
    turned = mu + (angle if _uniform(w) < 0.5 else -angle)
    return turned - 2.0 * math.pi * math.floor((turned + math.pi) / (2.0 * math.pi))


def vonmises(mu, kappa, size=None):
    _check(kappa >= 0, "kappa < 0")
    return _reals(_vonmises, size, mu, kappa)


def _poisson(w, lam):
    return xoroshiro128p_poisson(_states(w), 0, lam)


def noncentral_chisquare(df, nonc, size=None):
    _check(df > 0, "df <= 0")
    _check(nonc >= 0, "nonc < 0")
    return _reals(lambda w, a, b, c: 2.0 * _gamma(w, 0.5 * a + np.float64(_poisson(w, 0.5 * b))), size, df, nonc)


# ---- counts ----


def _counts(draw, size, a, b=0.0):
    return _drawn(draw, size, np.int64, a, b)


def randint(low, high=None, size=None):
    if high is None:
        return randint(0, low, size)
    check_integers(low, "low")
    check_integers(high, "high")
    _check(low < high, "low >= high")
    return _counts(lambda w, a, b, c: xoroshiro128p_integers(_states(w), 0, a, b), size, np.int64(low), np.int64(high))


def poisson(lam=1.0, size=None):
    _check(0 <= lam <= 1e15, "lam < 0 or lam too large")
    return _counts(lambda w, a, b, c: _poisson(w, a), size, np.float64(lam))


def _binomial(w, n, p):
    return xoroshiro128p_binomial(_states(w), 0, n, p)


def binomial(n, p, size=None):
    check_integers(n, "n")
    _check(n >= 0, "n < 0")
    _check(0 <= p <= 1, "p < 0, p > 1 or p is NaN")
    return _counts(lambda w, a, b, c: _binomial(w, a, b), size, np.int64(n), np.float64(p))


def _as_count(x):
    return np.int64(x) if x < 9.2e18 else np.int64(9223372036854775807)


def geometric(p, size=None):
    _check(0 < p <= 1, "p <= 0, p > 1 or p contains NaNs")
    return _counts(lambda w, a, b, c: np.int64(1) if a == 1.0 else _as_count(math.ceil(-_exponential(w) / math.log1p(-a))), size, np.float64(p))


def negative_binomial(n, p, size=None):
    _check(n > 0, "n <= 0")
    _check(0 < p <= 1, "p <= 0, p > 1 or p is NaN")
    return _counts(lambda w, a, b, c: _poisson(w, (1.0 - b) / b * _gamma(w, a)), size, np.float64(n), np.float64(p))


def _logseries(w, p):
    """Kemp, 1981."""
    v = _uniform(w)
    if v >= p:
        return np.int64(1)
    q = -math.expm1(math.log1p(-p) * _uniform(w))
    if v <= q * q:
        k = math.floor(1.0 + math.log(max(v, 1e-300)) / math.log(q))
        return _as_count(k) if k >= 1 else np.int64(1)
    return np.int64(1) if v >= q else np.int64(2)


def logseries(p, size=None):
    _check(0 <= p < 1, "p < 0, p >= 1 or p is NaN")
    return _counts(lambda w, a, b, c: _logseries(w, a), size, np.float64(p))


def _zipf(w, a):
    """Devroye, 1986: rejection of a power of a uniform number."""
    b = 2.0 ** (a - 1.0)
    while True:
        u = _positive(w)
        v = _uniform(w)
        x = math.floor(u ** (-1.0 / (a - 1.0)))
        if 1.0 <= x < 9.2e18:
            t = (1.0 + 1.0 / x) ** (a - 1.0)
            if v * x * (t - 1.0) / (b - 1.0) <= t / b:
                return np.int64(x)


def zipf(a, size=None):
    _check(a > 1, "a <= 1 or a is NaN")
    return _counts(lambda w, a, b, c: _zipf(w, a), size, np.float64(a))


# ---- of arrays ----


def _swap(x, i, j):
    if x.ndim == 1:
        x[i], x[j] = x[j], x[i]
    else:
        for k in range(x.shape[1]):
            if x.ndim == 2:
                x[i, k], x[j, k] = x[j, k], x[i, k]
            else:
                _swap(x[:, k], i, j)


def shuffle(x):
    w = _arrays.random_state()
    for i in range(x.shape[0] - 1, 0, -1):
        _swap(x, i, int(_below(w, i + 1)))


def permutation(x):
    if isinstance(x, (int, np.integer)):
        order = np.arange(x)
        shuffle(order)
        return order
    out = _array_of(x).copy()
    shuffle(out)
    return out


def _chosen_place(w, n, chances):
    """The first place up to which the chances add up to more than a uniform number."""
    u = _uniform(w) * chances[n - 1]
    low = 0
    high = n - 1
    while low < high:
        middle = (low + high) // 2
        if chances[middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


def _rounded(t):
    """The square root of the epsilon of a type of floats, which numpy.random.choice allows in the sum of chances."""
    return math.sqrt(2.0**-10 if t == np.float16 else 2.0**-23 if t == np.float32 else 2.0**-52)


def _checked_chances(n, p):
    """p as float64."""
    chances = _as(p, np.float64)
    _check(len(chances) == n, "'a' and 'p' must have same size")
    total = 0.0
    for i in range(n):
        _check(chances[i] >= 0, "Probabilities are not non-negative")
        total += chances[i]
    _check(abs(total - 1.0) <= _rounded(p.dtype.type), "Probabilities do not sum to 1.")
    return chances


def _without_replacement(w, places, n, p):
    """The front of an order; with chances the greatest keys log(u) / p (Efraimidis and Spirakis, 2006)."""
    order = np.arange(n)
    if p is None:
        for i in range(places.shape[0]):
            j = i + int(_below(w, n - i))
            order[i], order[j] = order[j], order[i]
        places[:] = order[:places.shape[0]]
    else:
        keys = np.empty(n)
        n_possible = 0
        for i in range(n):
            n_possible += 1 if p[i] > 0 else 0
            keys[i] = _exponential(w) / p[i] if p[i] > 0 else np.inf
        _check(n_possible >= places.shape[0], "Fewer non-zero entries in p than size")
        places[:] = np.argsort(keys)[:places.shape[0]]


def _place_all(w, places, n, p):
    if p is None:
        for i in range(places.shape[0]):
            places[i] = int(_below(w, n))
    else:
        chances = np.cumsum(p)
        for i in range(places.shape[0]):
            places[i] = _chosen_place(w, n, chances)


def _one(w, n, p):
    return int(_below(w, n)) if p is None else _chosen_place(w, n, np.cumsum(p))


def choice(a, size=None, replace=True, p=None):
    w = _arrays.random_state()
    source = _array_of(a)
    given = _array_of(p)
    if not isinstance(source, np.ndarray):
        check_integers(source, "a")
    n = source.shape[0] if isinstance(source, np.ndarray) else source
    _check(n > 0, "a must be a positive integer, or not empty")
    chances = given if given is None else _checked_chances(n, given)
    if size is None:
        return _picked(source, _one(w, n, chances))
    out = np.empty(size, np.int64)
    places = out.reshape(out.size)
    if replace:
        _place_all(w, places, n, chances)
    else:
        _check(out.size <= n, "Cannot take a larger sample than population when replace is False")
        _without_replacement(w, places, n, chances)
    return source[out] if isinstance(source, np.ndarray) else out


def _picked(source, place):
    return source[place] if isinstance(source, np.ndarray) else np.int64(place)


def dirichlet(alpha, size=None):
    shares = _array_of(alpha)
    w = _arrays.random_state()
    out = np.empty((*_shape_of(size), shares.shape[0]))
    rows = out.reshape(-1, shares.shape[0])
    for i in range(rows.shape[0]):
        _dirichlet(w, rows[i], shares)
    return out


def _shape_of(size):
    if size is None:
        return ()
    return size if isinstance(size, (tuple, list)) else (size,)


def _dirichlet(w, row, alpha):
    total = 0.0
    for i in range(row.shape[0]):
        _check(alpha[i] > 0, "alpha <= 0")
        row[i] = _gamma(w, np.float64(alpha[i]))
        total += row[i]
    for i in range(row.shape[0]):
        row[i] /= total


def multinomial(n, pvals, size=None):
    chances = _as(_array_of(pvals), np.float64)
    w = _arrays.random_state()
    check_integers(n, "n")
    _check(n >= 0, "n < 0")
    for i in range(chances.shape[0]):
        _check(chances[i] >= 0 and chances[i] <= 1, "pvals < 0, pvals > 1 or pvals contains NaNs")
    out = np.empty((*_shape_of(size), chances.shape[0]), np.int64)
    rows = out.reshape(-1, chances.shape[0])
    for i in range(rows.shape[0]):
        _multinomial(w, rows[i], n, chances)
    return out


def _multinomial(w, row, n, chances):
    left = np.int64(n)
    rest = 1.0
    for i in range(row.shape[0] - 1):
        _check(chances[i] <= rest + 1e-12, "sum(pvals[:-1]) > 1.0")
        row[i] = _binomial(w, left, min(1.0, chances[i] / rest)) if rest > 0 else 0
        left -= row[i]
        rest -= chances[i]
    row[row.shape[0] - 1] = left
