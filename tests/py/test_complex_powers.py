"""Powers of complex numbers: integer and half-integer exponents, constant and not, are as close to the exact value as NumPy's and CPython's."""

import math

import numpy as np
import pytest

import lanewise as lw

HALVES = [-10.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 6.5, 40.5]
WHOLE = [-7, -3, -2, -1, 1, 2, 3, 4, 5, 7, 15]
EXTENDED = np.finfo(np.longdouble).eps < np.finfo(float).eps


@lw.njit
def power(z, p):
    return z**p


@lw.vectorize
def power_of_elements(z, p):
    return z**p


def bases():
    rng = np.random.default_rng(3)
    z = rng.normal(size=200) + 1j * rng.normal(size=200)
    whole = np.array([complex(a, b) for a in range(-6, 7) for b in range(-6, 7) if a or b])
    return np.concatenate([whole, z, z * 10.0 ** rng.integers(-5, 5, 200)])


def exact(z, p):
    """The power, computed by products and a square root in extended precision."""
    z, result = z.astype(np.clongdouble), np.ones(z.shape, np.clongdouble)
    for _ in range(math.floor(abs(p))):
        result = result * z
    if abs(p) != math.floor(abs(p)):
        result = result * np.sqrt(z)
    return result if p > 0 else 1 / result


def errors(values, z, p):
    """The errors relative to the absolute value, in units of float64's epsilon."""
    wanted = exact(z, p)
    return (abs(values - wanted) / abs(wanted) / np.finfo(float).eps).astype(float)


@pytest.mark.skipif(not EXTENDED, reason="long double is double here, so there is no reference")
@pytest.mark.parametrize("p", HALVES + WHOLE)
def test_as_close_as_numpy_and_python(p):
    z = bases()
    got = np.array([power(w, p) for w in z.tolist()])
    by_constant = lw.njit(constant(p))
    ours = errors(got, z, p)
    assert ours.max() <= errors(z**p, z, p).max() + 1
    assert ours.max() <= errors(np.array([w**p for w in z.tolist()]), z, p).max() + 1
    assert ours.max() < 1 + abs(p) / 2
    for same in (np.array([by_constant(w) for w in z.tolist()]), power_of_elements(z, complex(p))):
        assert errors(same, z, p).max() < 1 + abs(p) / 2


def constant(p):
    def f(z):
        return z**p

    return f


@pytest.mark.parametrize("z, p, value", [
    (3 + 4j, 0.5, 2 + 1j), (3 + 4j, -0.5, 0.4 - 0.2j), (3 + 4j, 1.5, 2 + 11j), (-4 + 0j, 0.5, 2j),
    (complex(-4, -0.0), 0.5, -2j), (0j, 0.5, 0j), (0j, 1.5, 0j), (5 + 12j, 2.5, (5 + 12j) ** 2 * (3 + 2j)),
])
def test_exact_values(z, p, value):
    f = lw.njit(constant(p))
    assert power(z, p) == f(z) == power_of_elements(z, complex(p)) == value
    assert power(np.complex64(z), np.float32(p)) == np.complex64(value)


@pytest.mark.parametrize("p", [-0.5, -1.5])
def test_zero_to_negative_powers(p):
    assert np.isnan(power(0j, p)) and np.isnan(lw.njit(constant(p))(0j))


@pytest.mark.skipif(not EXTENDED, reason="long double is double here, so there is no reference")
@pytest.mark.parametrize("p", [0.3, 2.25, -1.7, 7.1, 120.0])
def test_real_powers_of_large_and_small_numbers(p):
    rng = np.random.default_rng(4)
    scale = 10.0 ** (rng.uniform(-250, 250, 300) / max(abs(p), 1))
    z = (rng.normal(size=300) + 1j * rng.normal(size=300)) * scale
    wide = z.astype(np.clongdouble)
    wanted = np.exp(np.longdouble(p) * np.log(wide))
    got = np.array([power(w, p) for w in z.tolist()])
    error = (abs(got - wanted) / abs(wanted) / np.finfo(float).eps).astype(float)
    assert error.max() < 4 + 3 * abs(p)


def test_exponents_with_an_imaginary_part_are_numpys():
    z = bases()
    np.testing.assert_allclose(power_of_elements(z, 0.5 + 0.25j), z ** (0.5 + 0.25j), rtol=1e-13)


INFINITE = [complex(a, b) for a in (math.inf, -math.inf, 2.0, -0.0) for b in (math.inf, -math.inf, 3.0, -0.0, math.nan) if math.inf in (abs(a), abs(b))]


@pytest.mark.parametrize("p", [-0.5, -1.5, -2.5])
@pytest.mark.parametrize("z", INFINITE)
def test_infinity_to_negative_half_integer_powers_is_zero(z, p):
    assert power(z, p) == lw.njit(constant(p))(z) == power_of_elements(z, complex(p)) == 0
    assert lw.power(np.complex64(z), np.complex64(p)) == lw.power(z, complex(p)) == 0


def test_infinite_exponents_are_numpys():
    z = np.array([0.5 + 0.1j, 1j * 0.25, -0.5, 3j, 2 - 1j, -20j, 1e200 + 1j])
    for p in (math.inf, -math.inf):
        with np.errstate(all="ignore"):
            got, expected = lw.power(z, complex(p)), np.power(z, complex(p))
        np.testing.assert_array_equal(got.real, expected.real)
        np.testing.assert_array_equal(np.isnan(got.imag), np.isnan(expected.imag))


def test_atanh_beside_its_pole():
    """4 / y**2 overflowed where y was just large enough for its square not to vanish."""
    for y in (2.0**-509, 2.0**-510, 2.0**-511, 2.0**-511 * 1.5, 2.0**-512, 5e-324):
        wanted = (math.log(2) - math.log(y)) / 2
        for z, part in ((1 + y * 1j, "real"), (complex(1, -y), "real")):
            got = lw.arctanh(z)
            assert getattr(got, part) == pytest.approx(wanted, rel=1e-15) and got.imag == pytest.approx(math.copysign(math.pi / 4, z.imag))
            assert abs(lw.arctan(complex(y, 1)).imag) == pytest.approx(wanted, rel=1e-15)
