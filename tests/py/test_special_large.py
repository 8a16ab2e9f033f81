"""Functions of scipy.special of large orders and parameters: values, and that no call takes as many steps as the order.

Against mpmath. An error may be a few units in the last place, times what half a unit of an argument changes: the order, or the argument if it is larger.
"""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

import lanewise as lw

mp = pytest.importorskip("mpmath")

BESSEL = [
    ("iv", 200, 60.0), ("iv", 1000, 1000.0), ("iv", 1000.0, 500.0), ("iv", 250.5, 325.0), ("iv", -250.5, 90.0), ("iv", -301, -200.0), ("ive", 1000, 1300.0),
    ("ive", 250.5, 1e4), ("kv", 300, 270.0), ("kv", 250.5, 75.0), ("kn", 200, 180.0), ("kve", 250.5, 1e4), ("kve", 300, 200.0), ("jv", 1000, 800.0), ("jv", 1000.5, 950.0),
    ("jv", 1000, 999.9), ("jv", 1000, 1000.0), ("jv", 1500.25, 1505.0), ("jv", 1000.5, 1030.0), ("jv", 1001, -1300.0), ("jv", -1000.5, 2000.0), ("yn", 1000, 950.0),
    ("yn", -1001, 1000.0), ("yv", 1500.25, 1505.0), ("yv", 1000.5, 30000.0), ("yv", -1000.5, 990.0),
]  # fmt: skip
EXPONENTIAL = {"ive": lambda v, x: mp.exp(-x) * mp.besseli(v, x), "kve": lambda v, x: mp.exp(x) * mp.besselk(v, x)}
MP_NAMES = {"iv": mp.besseli, "kv": mp.besselk, "kn": mp.besselk, "jv": mp.besselj, "yn": mp.bessely, "yv": mp.bessely, **EXPONENTIAL}


@pytest.mark.parametrize("name, v, x", BESSEL)
def test_bessel(name, v, x):
    with mp.workdps(30):
        wanted = MP_NAMES[name](mp.mpf(v), mp.mpf(x))
        size = abs(wanted)
        if name[0] in "jy" and abs(x) > abs(v):  # of what oscillates
            size = max(size, mp.sqrt(2 / (mp.pi * abs(x))))
        got = float(getattr(lw.special, name)(v, x))
        assert abs(mp.mpf(got) - wanted) / size < 4 * 2.0**-53 * max(abs(v), abs(x))


def test_borders():
    """The formulas on both sides of the borders between them agree."""
    for name, border, x in (("iv", 200.0, 150.0), ("kve", 200.0, 150.0), ("jv", 1000.0, 990.0), ("yv", 1000.0, 1005.0)):
        f = getattr(lw.special, name)
        below, above = f(np.nextafter(border, 0.0), x), f(np.nextafter(border, np.inf), x)
        assert float(below) == pytest.approx(float(above), rel=1e-12)
    beside = np.array([-1e-13, 1e-13]) + 1e6  # order and argument cross
    assert np.ptp(lw.special.jv(1e6, beside)) < 1e-15


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:divide by zero:RuntimeWarning", "ignore:underflow:RuntimeWarning")
@pytest.mark.parametrize("name, arguments, wanted", [
    ("iv", (2000, 2000.0), math.inf), ("kv", (2000, 2000.0), 0.0), ("iv", (2000.5, 2000.0), math.inf), ("kv", (2000.5, 2000.0), 0.0), ("kn", (10**9, 1e9), 0.0),
    ("iv", (10**9, 1e9), math.inf), ("ive", (1e9, 1e9), 0.0), ("kve", (1e9, 1e9), math.inf), ("kv", (2000.5, 1e-300), math.inf), ("jv", (1e9, 3.0), 0.0),
    ("jv", (1e7, 3.0), 0.0), ("yn", (10**9, 3.0), -math.inf), ("yn", (10**9, 1e9), -0.0007747590020600889), ("jv", (1e300, 1e300), 4.473073183964723e-101),
    ("iv", (1e308, 1.7e308), math.inf), ("kv", (1e308, 1.7e308), 0.0), ("jv", (2000, math.inf), 0.0), ("iv", (2000, 0.0), 0.0), ("kn", (300, 0.0), math.inf),
    ("jv", (3000, math.nan), math.nan), ("iv", (3000, math.nan), math.nan), ("kn", (300, math.nan), math.nan), ("yn", (3000, math.nan), math.nan),
    ("polygamma", (10**8, 2.0), -math.inf), ("polygamma", (10**8, 4e7), 0.0), ("zeta", (1e9, 5.0), 0.0), ("zeta", (math.inf, 2.0), 0.0),
    ("zeta", (2.0, -1e9 - 0.5), math.pi**2 - 1e-9), ("polygamma", (5, -1e9 - 0.5), 8 * math.pi**6 * 2.0), ("yn", (10**6, 1e-300), -math.inf),
])  # fmt: skip
def test_far_orders(name, arguments, wanted):
    start = time.process_time()
    with np.errstate(invalid="raise"):
        got = float(getattr(lw.special, name)(*arguments))
    assert got == pytest.approx(wanted, rel=1e-12, nan_ok=True)
    assert time.process_time() - start < 20  # with compilation


@pytest.mark.parametrize("n, x", [(101, 0.75), (101, 30.0), (150, 1.0), (171, 3.0), (200, 100.0), (200, 2000.0), (1000, 400.0)])
def test_polygamma(n, x):
    with mp.workdps(900):
        wanted = (-1) ** (n + 1) * mp.factorial(n) * mp.zeta(n + 1, mp.mpf(x))
        assert abs(mp.mpf(float(lw.special.polygamma(n, x))) / wanted - 1) < 10 * n * 2.0**-53


HALF_WAY = [(2.5, 3.0), (0.5, 20.0), (-7.5, 12.0), (900.5, 880.0), (150.2, 5000.0), (900.6, 1e5), (300.3, 30.5), (64.25, 64.0), (64.25, 64.5), (-20.75, 29.99), (18.1, 2.0)]


@pytest.mark.parametrize("v, x", HALF_WAY)
@pytest.mark.parametrize("name", ["jv", "yv"])
def test_between_small_and_large_orders(name, v, x):
    test_bessel(name, v, x)


@pytest.mark.parametrize("v, x", [(450.75, 68.3), (700.3, 190.44), (900.25, 311.48), (980.5, 363.95)])
def test_jv_where_yv_overflows(v, x):
    with mp.workdps(30):
        j, y = mp.besselj(v, x), mp.bessely(v, x)
    assert 1e-320 < j < 1e-307  # subnormal, of few bits
    assert float(lw.special.jv(v, x)) == pytest.approx(float(j), rel=1e-12, abs=1e-322)
    with np.errstate(over="ignore"):
        assert float(lw.special.yv(v, x)) == pytest.approx(float(y), rel=1e-12)


@pytest.mark.parametrize("name", ["jv", "yv"])
@pytest.mark.parametrize("v, x", [(2.5, 3.0), (10.5, 29.0), (50.7, 1000.0), (900.6, 1e5), (999.5, 1e4)])
def test_real_orders_take_few_steps(name, v, x):
    """The number of steps is at most a little above the order: 10,000 to 200,000 steps took 200 to 900 us."""
    function = getattr(lw.special, name)
    points = x * (1 + np.linspace(0.0, 0.01, 50))
    function(v, points)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        function(v, points)
        times.append(time.perf_counter() - start)
    assert min(times) < 50 * 50e-6


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("arguments, wanted", [
    ((1e15, -2.25), -math.inf if 1e15 % 2 else math.inf), ((10001.0, -2.25), -math.inf), ((10001.0, -2.75), math.inf), ((10001.0, -50.75), math.inf),
    ((10000.0, -2.25), math.inf), ((1e15 + 1, -2.5), 0.0), ((1e15 + 1, -70.25), -math.inf), ((5.0, -2.5), float(mp.zeta(5, 3.5))),
])  # fmt: skip
def test_zeta_where_terms_are_infinite(arguments, wanted):
    assert float(lw.special.zeta(*arguments)) == pytest.approx(wanted, rel=1e-14)


def test_polygamma_half_way_between_poles():
    for n, x in ((172, -0.5), (10, -10.5), (4, -50.5), (2, -0.5)):
        with mp.workdps(30):
            wanted = -mp.factorial(n) * mp.zeta(n + 1, 1 - x)
        assert float(lw.special.polygamma(n, x)) == pytest.approx(float(wanted), rel=1e-12)
    with np.errstate(over="ignore"):
        assert lw.special.polygamma(10**9 + 1, -2.25) == math.inf  # inf - inf took half a thousand million steps


def test_negative_arguments_of_zeta():
    for s, q in ((3.0, -100.25), (4.0, -50.75), (2.0, -39.5)):
        wanted = math.fsum((q + k) ** -s for k in range(150)) + float(mp.zeta(s, mp.mpf(q) + 150))
        assert float(lw.special.zeta(s, q)) == pytest.approx(wanted, rel=1e-14)
