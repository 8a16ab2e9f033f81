"""Functions of scipy.special at infinities, NaN and the borders of float64."""

from __future__ import annotations

import math

import pytest

import lanewise as lw

INF = math.inf

LIMITS = [
    ("poch", (50.0, INF), INF), ("poch", (1e300, INF), INF), ("poch", (INF, -0.5), 0.0), ("poch", (INF, 0.5), INF), ("poch", (-INF, math.nan), math.nan),
    ("poch", (-INF, 0.5), math.nan), ("beta", (-0.5, INF), -INF), ("beta", (INF, -1.5), INF), ("beta", (-0.5, 1e300), -3.5449077018110322e150),
    ("beta", (1e300, -0.5), -3.5449077018110322e150), ("beta", (-2.0, -INF), INF), ("beta", (-2.0, -1.0), -INF), ("beta", (INF, INF), 0.0), ("beta", (math.nan, 0.0), math.nan),
    ("betaln", (-0.5, INF), INF), ("betaln", (INF, 2.0), -INF), ("betaln", (-2.0, math.nan), math.nan), ("binom", (-0.5, 1e300), 5.641895835477563e-151),
    ("binom", (1e300, 0.5), 1.1283791670955126e150), ("binom", (1e40, 3.0), 1e120 / 6), ("binom", (INF, -50.5), 0.0), ("binom", (0.5, INF), 0.0),
    ("binom", (-50.5, INF), math.nan), ("zeta", (math.nan, 0.0), math.nan), ("kv", (math.nan, 0.0), math.nan), ("boxcox1p", (0.0, INF), math.nan),
    ("boxcox1p", (-0.5, INF), 0.0), ("betaincinv", (0.5, INF, 0.0), 0.0), ("betaincinv", (INF, 2.0, 1.0), 1.0), ("betainccinv", (INF, 2.0, 1.0), 0.0),
    ("betaincinv", (INF, 2.0, 0.5), math.nan),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name, arguments, wanted", LIMITS, ids=lambda value: value if isinstance(value, str) else "")
def test_limits(name, arguments, wanted):
    assert float(getattr(lw.special, name)(*arguments)) == pytest.approx(wanted, rel=2e-13, abs=0, nan_ok=True)
