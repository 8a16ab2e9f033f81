"""lambertw on its branches, Bessel functions of orders that are no integers, and inverses at the ends of their ranges."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lanewise as lw

mp = pytest.importorskip("mpmath")
special = pytest.importorskip("scipy.special")


def numbers():
    rng = np.random.default_rng(4)
    far = 10 ** rng.uniform(-300, 300, 30)
    near = np.concatenate([10 ** rng.uniform(-15, -1, 20), -(10 ** rng.uniform(-15, 2, 20))]) - math.exp(-1)
    return np.concatenate([far, -far, near, rng.uniform(-0.5, 3, 40)])


@pytest.mark.parametrize("branch", [0, -1, 1, -5])
def test_lambertw(branch):
    x = numbers()
    for z, got in zip(x, lw.special.lambertw(x, branch)):
        wanted = mp.lambertw(mp.mpf(float(z)), branch)
        assert abs(mp.mpc(complex(got)) - wanted) <= 5 * 2.0**-53 * (1 + abs(1 / (1 + wanted))) * abs(wanted), (z, got, wanted)
    same = np.array([0.0, math.inf, math.nan, 1.0, -1.0])
    assert np.array_equal(np.isfinite(lw.special.lambertw(same, branch)), np.isfinite(special.lambertw(same, branch)))


def test_lambertw_in_functions():
    @lw.vectorize
    def f(x):
        return special.lambertw(x).real + special.lambertw(-0.1 * x, k=-1).real

    x = np.linspace(0.1, 3.0, 7)
    assert np.allclose(f(x), special.lambertw(x).real + special.lambertw(-0.1 * x, -1).real, rtol=1e-14)
    assert lw.special.lambertw(np.float32(1)).dtype == np.complex64
    assert lw.special.lambertw(1.0) == pytest.approx(0.5671432904097838)
    with pytest.raises(lw.errors.LanewiseError, match="needs a real number"):
        lw.vectorize(lambda x: special.lambertw(x))(1j)


@pytest.mark.parametrize("name, arguments, wanted", [
    ("jv", (0.5, 0.0), 0.0), ("jv", (-1.5, 0.0), -math.inf), ("yv", (0.5, 0.0), -math.inf), ("yv", (-0.5, 0.0), 0.0), ("iv", (-2.5, 0.0), math.inf), ("kv", (0.5, 0.0), math.inf),
    ("jv", (0.5, -1.0), math.nan), ("iv", (0.5, -1.0), math.nan), ("kv", (math.nan, 2e3), math.nan), ("yv", (-2.5, 1e-300), 0.0), ("ive", (2.5, math.inf), 0.0),
    ("iv", (0.5, math.inf), math.inf), ("jv", (math.inf, 1.0), 0.0), ("kve", (0.5, 1e300), math.sqrt(math.pi / 2) * 1e-150),
    ("gammaincinv", (2.0, 0.0), 0.0), ("gammaincinv", (2.0, 1.0), math.inf), ("gammainccinv", (2.0, 0.0), math.inf), ("gammaincinv", (2.0, 1.5), math.nan), ("gammaincinv", (1e-3, 1e-3), 0.0),
    ("betaincinv", (2.0, 3.0, 0.0), 0.0), ("betainccinv", (2.0, 3.0, 0.0), 1.0), ("betaincinv", (2.0, 3.0, -0.5), math.nan), ("chdtri", (3.0, 1.0), 0.0),
])  # fmt: skip
def test_ends(name, arguments, wanted):
    got = getattr(lw.special, name)(*arguments)
    assert got == pytest.approx(wanted, rel=1e-15, nan_ok=True)


def test_closed_forms_of_half_orders():
    x = np.geomspace(1e-3, 1e3, 40)
    root = np.sqrt(2 / (np.pi * x))
    assert np.allclose(lw.special.jv(0.5, x), root * np.sin(x), rtol=1e-13, atol=1e-15)
    assert np.allclose(lw.special.yv(1.5, x), root * (-np.cos(x) / x - np.sin(x)), rtol=1e-13, atol=1e-15)
    assert np.allclose(lw.special.kve(-0.5, x), np.sqrt(np.pi / (2 * x)), rtol=1e-14)
    assert np.allclose(lw.special.ive(0.5, x), root * -np.expm1(-2 * x) / 2, rtol=1e-14)
