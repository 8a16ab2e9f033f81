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
