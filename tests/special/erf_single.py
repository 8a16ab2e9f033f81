"""The polynomials of erf of float32 on GPUs (core/emit/math.c): `python tests/special/erf_single.py` prints their coefficients.

Each is a minimax polynomial by Lawson's algorithm (C. L. Lawson, 1961). Coefficients are rounded to float32 one after the other, from
the constant on, and the remaining ones are fitted again. Errors are measured in units in the last place of the result.
"""

import math

import numpy as np

DEGREE = 6


def weighted(columns, wanted, weights):
    shares = np.ones(len(wanted))
    for _ in range(60):
        scale = np.sqrt(shares) * weights
        found = np.linalg.lstsq(columns * scale[:, None], wanted * scale, rcond=None)[0]
        errors = np.abs((columns @ found - wanted) * weights)
        shares *= errors / errors.max() + 1e-3
        shares /= shares.sum()
    return found


def fit(x, wanted, weights):
    """Coefficients from the constant on, and the largest error."""
    columns = np.vander(x, DEGREE + 1, increasing=True)
    fixed = []
    for k in range(DEGREE + 1):
        rest = wanted - columns[:, :k] @ np.array(fixed)
        fixed.append(float(np.float32(weighted(columns[:, k:], rest, weights)[0])))
    return fixed, np.abs((columns @ np.array(fixed) - wanted) * weights).max()


def small(places):
    """p in erf(x) = x + x p(x**2), below 1."""
    x = np.sqrt(places[1:]) * 1.01
    values = np.array([math.erf(v) for v in x])
    return fit(x**2, values / x - 1, x / 2.0 ** (np.floor(np.log2(values)) - 23))


def large(places):
    """q in erf(x) = 1 - 2**-(x + x q(x)), from 1 to where erf is 1."""
    x = 0.99 + (3.95 - 0.99) * places
    rest = np.array([math.erfc(v) for v in x])
    return fit(x, -np.log2(rest) / x - 1, np.maximum(rest * math.log(2) * x * 2**24, 1e-3))


if __name__ == "__main__":
    chebyshev = 0.5 - 0.5 * np.cos(np.linspace(0, math.pi, 2001))
    for name, (coefficients, error) in (("small", small(chebyshev)), ("large", large(chebyshev))):
        print(name, ", ".join(c.hex() for c in reversed(coefficients)), f"error {error:.3f}")
