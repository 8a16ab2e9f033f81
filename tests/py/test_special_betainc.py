"""betainc, betaincc and their inverses with large and with very different parameters.

Against integrals of mpmath: of the density over 60 standard deviations, whose ends are at the mean's distance in exact arithmetic.
"""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

import lanewise as lw

mp = pytest.importorskip("mpmath")


def _tails(a, b, x):
    """I_x(a, b) and 1 - I_x(a, b)."""
    a, b, x = map(mp.mpf, (a, b, x))
    mean = a / (a + b)
    deviation = mp.sqrt(a * b / (a + b) ** 3)
    log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)

    def density(t):
        return mp.exp((a - 1) * mp.log(t) + (b - 1) * mp.log1p(-t) - log_beta)

    low = max(mean - 60 * deviation, 0)
    high = min(mean + 60 * deviation, 1)
    return [mp.quad(density, mp.linspace(x, end, 40)) * sign for end, sign in ((low, -1), (high, 1))]


PARAMETERS = [(1e7, 1e7), (1e7, 3e9), (1e14, 2e14), (1e6, 1e6), (9.9e6, 1.1e7), (100.0, 1e9), (1e14, 1e3), (1e5, 1e12), (1e10, 2.5e7)]


@pytest.mark.parametrize("a, b", PARAMETERS)
def test_tails(a, b):
    mean = a / (a + b)
    deviation = math.sqrt(a / (a + b) * (b / (a + b)) / (a + b))
    with mp.workdps(40):
        for z in (-6.0, -0.3, 0.002, 1.4):
            x = mean + z * deviation
            lower, upper = _tails(a, b, x)
            moved = abs(z) + 1  # by half a unit in the last place of x, in proportion to the tail
            bound = (16 + 4 * moved * x / deviation) * 2.0**-53
            assert abs(mp.mpf(float(lw.special.betainc(a, b, x))) / lower - 1) < bound
            assert abs(mp.mpf(float(lw.special.betaincc(a, b, x))) / upper - 1) < bound


@pytest.mark.parametrize("a", [1e6, 1e8, 1e11, 1e12, 1e14, 1e200, 1.7e308])
def test_middle(a):
    assert float(lw.special.betainc(a, a, 0.5)) == pytest.approx(0.5, rel=1e-15)
    assert float(lw.special.betaincc(a, a, 0.5)) == pytest.approx(0.5, rel=1e-15)
    assert float(lw.special.betaincinv(a, a, 0.5)) == pytest.approx(0.5, rel=1e-15)


def test_border():
    """The fraction and the expansion agree at the border between them."""
    z = np.array([-20.0, -5.0, -1.5, -0.5, 0.0, 0.1, 1.0, 3.0])
    for b in (2e7, 1e10):
        a = np.array([np.nextafter(1e7, 0.0), 1e7])[:, None]
        x = 1e7 / (1e7 + b) * (1 + z / math.sqrt(1e7))
        below, above = lw.special.betainc(a, b, x)
        assert np.allclose(below, above, rtol=2e-11, atol=0)


@pytest.mark.parametrize("a, b", [(1e8, 1e8), (1e14, 3e14), (50.0, 1e10), (1e10, 50.0)])
def test_inverses(a, b):
    p = np.array([1e-6, 0.1, 0.5, 0.7])
    deviation = math.sqrt(a / (a + b) * (b / (a + b)) / (a + b))
    for forward, inverse in ((lw.special.betainc, lw.special.betaincinv), (lw.special.betaincc, lw.special.betainccinv)):
        x = inverse(a, b, p)
        assert np.allclose(forward(a, b, x), p, rtol=32 * 2.0**-53 * (1 + a / (a + b) / deviation), atol=0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_limits():
    for arguments, wanted in (((math.inf, 1e300, 0.0), 0.0), ((math.inf, 1e300, 1.0), 1.0), ((1e300, math.inf, 0.25), 1.0), ((math.inf, 2.0, 0.5), 0.0)):
        assert float(lw.special.betainc(*arguments)) == wanted
        assert float(lw.special.betaincc(*arguments)) == 1.0 - wanted
    assert math.isnan(float(lw.special.betainc(math.inf, math.inf, 0.5)))
    assert float(lw.special.betainc(1e200, 2e200, 0.25)) == 0.0
    assert float(lw.special.betainc(1e200, 2e200, 0.5)) == 1.0


@pytest.mark.parametrize("name, arguments", [("betaincinv", (1e6, 1e6)), ("betaincinv", (1e3, 1e7)), ("betainccinv", (9e6, 3e5)), ("gammaincinv", (1e6,)), ("gammaincinv", (3.0,))])
def test_inverses_take_few_steps(name, arguments):
    """Each is compared with the function whose inverse it is: a few steps of Newton's method, where some 30 left the result again and again."""
    inverse, function = getattr(lw.special, name), getattr(lw.special, name.replace("inv", ""))
    y = np.linspace(0.01, 0.99, 200)
    x = inverse(*arguments, y)
    assert np.allclose(function(*arguments, x), y, rtol=1e-9)

    def seconds(call, last):
        times = []
        for _ in range(9):
            start = time.perf_counter()
            call(*arguments, last)
            times.append(time.perf_counter() - start)
        return min(times)

    assert seconds(inverse, y) < 12 * seconds(function, x) + 2e-4


def test_the_least_numbers():
    """x so small that I_x(a, b) is the first term of its series, x**a / (a * B(a, b))."""
    x = np.array([1e-255, 1e-270, 1e-290, 1e-300, 1e-306])
    np.testing.assert_array_max_ulp(lw.special.betainc(1.0, 5.0, x), 5 * x, maxulp=2)
    root = np.sqrt(x)
    np.testing.assert_array_max_ulp(lw.special.betainc(2.0, 3.0, root), 6 * root * root, maxulp=4)
