"""Functions of Python's module random in functions of njit: distributions, integers, errors, seeds."""

import random
from random import randint as drawn_int

import numpy as np
import pytest

import lanewise as lw

stats = pytest.importorskip("scipy.stats")
N = 20000


@lw.njit
def reals(n):
    random.seed(7)
    out = np.empty((14, n))
    for i in range(n):
        out[0, i] = random.random()
        out[1, i] = random.uniform(1, 3)
        out[2, i] = random.gauss(1, 2)
        out[3, i] = random.normalvariate(sigma=2.0, mu=1.0)
        out[4, i] = random.lognormvariate(0, 1)
        out[5, i] = random.expovariate(0.5)
        out[6, i] = random.gammavariate(2.5, 2)
        out[7, i] = random.betavariate(2, 3)
        out[8, i] = random.paretovariate(3)
        out[9, i] = random.weibullvariate(2, 1.5)
        out[10, i] = random.triangular(0, 3, 1)
        out[11, i] = random.triangular(1, 2)
        out[12, i] = random.vonmisesvariate(0.0, 2)
        out[13, i] = random.gauss()
    return out


REALS = [("uniform", ()), ("uniform", (1, 2)), ("norm", (1, 2)), ("norm", (1, 2)), ("lognorm", (1,)), ("expon", (0, 2)), ("gamma", (2.5, 0, 2)),
         ("beta", (2, 3)), ("pareto", (3,)), ("weibull_min", (1.5, 0, 2)), ("triang", (1 / 3, 0, 3)), ("triang", (0.5, 1, 1)), ("vonmises", (2,)), ("norm", ())]


def test_reals():
    drawn = reals(N)
    assert drawn[12].min() >= 0 and drawn[12].max() < 2 * np.pi  # as in Python, not in NumPy
    drawn[12] = (drawn[12] + np.pi) % (2 * np.pi) - np.pi
    for x, (name, args) in zip(drawn, REALS, strict=True):
        assert stats.kstest(x, getattr(stats, name)(*args).cdf).pvalue > 1e-4, name


@lw.njit
def integers(seed, n):
    random.seed(seed)
    out = np.empty((5, n), np.int64)
    for i in range(n):
        out[0, i] = drawn_int(-2, 3)
        out[1, i] = random.randrange(6)
        out[2, i] = random.randrange(9, 2, -3)
        out[3, i] = random.getrandbits(3)
        out[4, i] = random.choice((2, 3, 5))
    return out


WHOLE = [range(-2, 4), range(6), (9, 6, 3), range(8), (2, 3, 5)]


def test_integers():
    drawn = integers(3, N)
    for x, wanted in zip(drawn, WHOLE, strict=True):
        found, counts = np.unique(x, return_counts=True)
        assert found.tolist() == sorted(wanted) and stats.chisquare(counts).pvalue > 1e-4
    assert (integers(3, 100) == drawn[:, :100]).all() and (integers(4, 100) != drawn[:, :100]).any()


def test_ends_of_integers():
    @lw.njit
    def f(low, high):
        return random.randint(low, high)

    most = 2**63 - 1
    assert f(most, most) == most and f(-most - 1, -most - 1) == -most - 1
    assert max(f(0, most) for _ in range(64)) > most // 2 and min(f(-most - 1, most) for _ in range(64)) < -most // 2
    bits = lw.njit(lambda k: random.getrandbits(k))
    assert bits(0) == 0 and max(bits(64) for _ in range(64)) > most


def test_arrays():
    @lw.njit
    def f(x):
        random.shuffle(x)
        return random.choice(x)

    x = np.arange(50)
    assert f(x) in x and sorted(x) == list(range(50)) and (x != np.arange(50)).any()


def test_seeded_loops_over_prange():
    @lw.njit
    def f(seed, n):
        random.seed(seed)
        inside = 0
        for _ in lw.prange(n):
            inside += random.random() ** 2 + random.random() ** 2 < 1.0
        return 4 * inside / n

    assert f(1, 200_000) == f(1, 200_000) != f(2, 200_000) and abs(f(1, 200_000) - np.pi) < 0.05


@pytest.mark.parametrize("function, error, says", [
    (lambda x: random.randint(3, 2), ValueError, "empty range for randint"), (lambda x: random.randrange(0), ValueError, "empty range for randrange"),
    (lambda x: random.randrange(1, 5, 0), ValueError, "zero step for randrange"), (lambda x: random.randint(x, 9), TypeError, "takes integers"),
    (lambda x: random.expovariate(0), ZeroDivisionError, "float division by zero"), (lambda x: random.gammavariate(0, x), ValueError, "alpha and beta must be > 0.0"),
    (lambda x: random.getrandbits(65), ValueError, "between 0 and 64"), (lambda x: random.choice(np.empty(0)), IndexError, "Cannot choose from an empty sequence"),
    (lambda x: random.sample(range(5), 2), lw.errors.TypingError, r"E152(.|\n)*np\.random\.choice\(x, k, replace=False\)"),
])
def test_errors(function, error, says):
    with pytest.raises(error, match=says):
        lw.njit(function)(1.5)


def test_other_generators_and_other_functions():
    own = random.Random(3)
    with pytest.raises(lw.errors.TypingError, match=r"E152(.|\n)*objects of `random\.Random` do not"):
        lw.njit(lambda: own.random())()
    with pytest.raises(lw.errors.TypingError, match="E163: `np.random` and `random` work in functions of `njit`"):
        lw.vectorize(lambda x: x + random.random())(np.ones(3))
