"""Functions of scipy.special far out: where a factor of a formula leaves the range, and where an argument of beta is negative.

Against mpmath; SciPy itself is wrong at some of these.
"""

from __future__ import annotations

import math

import pytest

import lanewise as lw

mp = pytest.importorskip("mpmath")

FAR = [
    ("beta", (1e17, -0.5)), ("beta", (-0.5, 1e10)), ("beta", (-1e6 - 0.5, 3.0)), ("beta", (1e6, -7.5)), ("beta", (-200.5, -300.25)), ("beta", (200.0, -199.5)),
    ("betaln", (1e17, -0.5)), ("betaln", (1e10, -0.5)), ("betaln", (-7.5, 1e6)), ("betaln", (-1e6 - 0.5, 3.0)),
    ("binom", (1e17, -0.5)), ("binom", (0.5, 1e10)), ("binom", (-7.5, 1e6)), ("binom", (1e5, 1e5 + 0.5)),
    ("poch", (10.0, 160.5)), ("poch", (170.5, -160.5)), ("poch", (0.5, 150.25)),
    ("boxcox1p", (1e-300, 1e300)), ("inv_boxcox", (0.5, 1e-310)),
    ("zeta", (-100.5,)), ("y0", (5e-324,)), ("k0", (5e-324,)), ("y1", (1e-305,)), ("kn", (2.0, 1e-100)),
]  # fmt: skip
WANTED = {
    "betaln": lambda a, b: mp.log(abs(mp.beta(a, b))), "binom": mp.binomial, "poch": mp.rf, "boxcox1p": lambda x, k: mp.expm1(k * mp.log1p(x)) / k,
    "inv_boxcox": lambda x, k: mp.exp(mp.log1p(k * x) / k), "y0": lambda x: mp.bessely(0, x), "y1": lambda x: mp.bessely(1, x), "k0": lambda x: mp.besselk(0, x),
    "kn": mp.besselk,
}  # fmt: skip


@pytest.mark.parametrize("name, arguments", FAR, ids=lambda value: value if isinstance(value, str) else "")
def test_far(name, arguments):
    with mp.workdps(400 if name == "boxcox1p" else 50):  # of a sum of 1 and 1e-300
        wanted = WANTED.get(name, getattr(mp, name, None))(*map(mp.mpf, arguments))
        got = float(getattr(lw.special, name)(*arguments))
        assert abs(mp.mpf(got) / wanted - 1) < 2e-13


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name, arguments, wanted", [
    ("poch", (1e5, 1e5 + 0.5), math.inf), ("zeta", (-745.5,), -math.inf), ("zeta", (-746.0,), 0.0), ("y1", (5e-324,), -math.inf), ("yn", (3.0, 5e-324), -math.inf),
    ("k1", (5e-324,), math.inf), ("kn", (3.0, 5e-324), math.inf), ("betainc", (1.0, 1e300, 1e-300), -math.expm1(-1.0)), ("betaincc", (1.0, 1e300, 1e-300), math.exp(-1.0)),
    ("betainc", (1e300, 1.0, 1.0 - 2.0**-53), 0.0), ("betainc", (5e-324, 2.0, 0.5), 1.0), ("inv_boxcox", (1e300, 1e300), 1.0), ("inv_boxcox", (math.inf, 0.0), math.inf),
    ("boxcox1p", (0.0, math.nan), math.nan),
])  # fmt: skip
def test_limits(name, arguments, wanted):
    got = float(getattr(lw.special, name)(*arguments))
    assert got == pytest.approx(wanted, rel=1e-14, nan_ok=True)


@pytest.mark.parametrize("name, x", [("k0", 0.9790034836794713), ("k0", 0.17442928896651147), ("k0e", 0.7836042963868846), ("k1", 0.9574565658664123), ("k1e", 0.9574565658664123)])
def test_modified_bessel_functions_below_1(name, x):
    """Where the logarithm takes most of the other terms away, a polynomial of its own leaves at most 2 units in the last place."""
    with mp.workdps(40):
        wanted = mp.besselk(int(name[1]), x) * (mp.exp(x) if name.endswith("e") else 1)
    assert abs(float(getattr(lw.special, name)(x)) - wanted) < 2.2 * math.ulp(float(wanted))


@pytest.mark.parametrize("v", [0.44996863573, -0.2242856011649934, 0.4976780306472546, -1.3175918611258317, 1e-9])
@pytest.mark.parametrize("x", [1.0001, 1.4763328407084408, 1.7755633490573604, 1.96901864424, 1.9999])
def test_small_orders_near_2(v, x):
    """The terms of Temme's series are ten times as large as their sum there: errors were up to 76 units in the last place."""
    with mp.workdps(40):
        wanted = mp.besselk(v, x)
        assert abs(float(lw.special.kv(v, x)) / wanted - 1) < 9 * 2.0**-53
        assert abs(float(lw.special.kve(v, x)) / (wanted * mp.exp(x)) - 1) < 9 * 2.0**-53
