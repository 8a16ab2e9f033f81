"""``random.random()``, ``random.randint(1, 6)`` of Python's module in functions of ``njit`` that are called on the host. Compiled, never called.

The numbers are drawn from the state of np.random (lanewise/_thread_random.py), by the same formulas; parameters and errors are those of the
module random.
"""

from __future__ import annotations

import math

import numpy as np

from lanewise import _thread_random
from lanewise._array_functions import _array_of
from lanewise._core import intrinsics
from lanewise._thread_random import _below, _beta, _exponential, _gamma, _next, _standard, _states, _uniform, _vonmises
from lanewise.random import xoroshiro128p_integers  # type: ignore[attr-defined]

_arrays = intrinsics.arrays  # core/tables/array_names.def


def _check(ok, text):
    if not ok:
        raise ValueError(text)


def _check_whole(is_whole):
    if not is_whole:
        raise TypeError("this function of random takes integers")


def _whole(x):
    _check_whole(isinstance(x, (int, np.integer)))
    return np.int64(x)


def seed(a=None):
    _thread_random.seed(a)


def random():
    return _uniform(_arrays.random_state())


def uniform(a, b):
    return a + (b - a) * random()


def gauss(mu=0.0, sigma=1.0):
    return mu + sigma * _standard(_arrays.random_state())


def normalvariate(mu=0.0, sigma=1.0):
    return gauss(mu, sigma)


def lognormvariate(mu=0.0, sigma=1.0):
    return math.exp(gauss(mu, sigma))


def expovariate(lambd=1.0):
    if lambd == 0:
        raise ZeroDivisionError("float division by zero")
    return _exponential(_arrays.random_state()) / lambd


def gammavariate(alpha, beta):
    _check(alpha > 0 and beta > 0, "gammavariate: alpha and beta must be > 0.0")
    return beta * _gamma(_arrays.random_state(), np.float64(alpha))


def betavariate(alpha, beta):
    _check(alpha > 0 and beta > 0, "betavariate: alpha and beta must be > 0.0")
    return _beta(_arrays.random_state(), np.float64(alpha), np.float64(beta))


def paretovariate(alpha):
    _check(alpha > 0, "paretovariate: alpha must be > 0.0")
    return math.exp(_exponential(_arrays.random_state()) / alpha)


def weibullvariate(alpha, beta):
    _check(beta > 0, "weibullvariate: beta must be > 0.0")
    return alpha * _exponential(_arrays.random_state()) ** (1.0 / beta)


def triangular(low=0.0, high=1.0, mode=None):
    if low == high:
        return np.float64(low)
    share = 0.5 if mode is None else (mode - low) / (high - low)
    u = random()
    if u > share:
        return high + (low - high) * math.sqrt((1.0 - u) * (1.0 - share))
    return low + (high - low) * math.sqrt(u * share)


def vonmisesvariate(mu, kappa):
    _check(kappa >= 0, "vonmisesvariate: kappa must be >= 0.0")
    return _vonmises(_arrays.random_state(), np.float64(mu), np.float64(kappa), 0.0) % (2.0 * math.pi)


# ---- integers ----


def _between(low, high):
    """From low to high, which may be the largest int64."""
    w = _arrays.random_state()
    if high < 9223372036854775807:
        return xoroshiro128p_integers(_states(w), 0, low, high + 1)
    if low > -9223372036854775808:
        return xoroshiro128p_integers(_states(w), 0, low - 1, high) + 1
    return np.int64(_next(w))


def randint(a, b):
    low = _whole(a)
    high = _whole(b)
    _check(low <= high, "empty range for randint()")
    return _between(low, high)


def randrange(start, stop=None, step=1):
    if stop is None:
        return randrange(0, start, step)
    first = _whole(start)
    end = _whole(stop)
    by = _whole(step)
    _check(by != 0, "zero step for randrange()")
    n = (end - first + by - (1 if by > 0 else -1)) // by
    _check(n > 0, "empty range for randrange()")
    return first + by * _between(np.int64(0), np.int64(n - 1))


def getrandbits(k):
    n = _whole(k)
    _check(0 <= n and n <= 64, "the number of bits must be between 0 and 64 in compiled code")
    bits = _next(_arrays.random_state())
    return bits >> np.uint64(64 - n) if n > 0 else np.uint64(0)


# ---- arrays ----


def shuffle(x):
    _thread_random.shuffle(x)


def choice(seq):
    items = _array_of(seq)
    if items.shape[0] == 0:
        raise IndexError("Cannot choose from an empty sequence")
    return items[int(_below(_arrays.random_state(), items.shape[0]))]
