"""Monte Carlo over Dask: an option's price and its error from numbers that do not depend on the blocks. Four processes of
this machine give the bits of one; a cluster's workers would, too."""

# Functions that lanewise compiles are typed by their calls, and have no annotations.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import math

import numpy as np
from dask.base import compute

import lanewise as lw

SPOT, STRIKE, RATE, SIGMA, YEARS = 100.0, 105.0, 0.03, 0.2, 1.0


@lw.vectorize
def payoff(z):
    """Of a call, discounted: z is the standard normal number behind the stock's last price."""
    price = SPOT * math.exp((RATE - SIGMA * SIGMA / 2) * YEARS + SIGMA * math.sqrt(YEARS) * z)
    return math.exp(-RATE * YEARS) * max(price - STRIKE, 0.0)


def merge(a, b):
    """Counts, means and sums of squared deviations of two parts into those of both."""
    n = a[0] + b[0]
    delta = b[1] - a[1]
    return n, a[1] + delta * b[0] / n, a[2] + b[2] + delta * delta * a[0] * b[0] / n


estimate = lw.reduce(map=lambda x: (1, x, 0.0), combine=merge, finish=lambda n, mean, squares: (mean, math.sqrt(squares / n / n)))


def price(paths, chunks):
    numbers = lw.random.Generator(seed=2026).standard_normal(paths, chunks=chunks)
    return estimate(payoff(numbers))


def exact():
    d = (math.log(SPOT / STRIKE) + (RATE + SIGMA * SIGMA / 2) * YEARS) / (SIGMA * math.sqrt(YEARS))
    below = lambda x: (1 + math.erf(x / math.sqrt(2))) / 2  # noqa: E731
    return SPOT * below(d) - STRIKE * math.exp(-RATE * YEARS) * below(d - SIGMA * math.sqrt(YEARS))


if __name__ == "__main__":
    lazy = price(2_000_000, chunks=100_000)
    one = compute(*lazy, scheduler="synchronous")
    four = compute(*lazy, scheduler="processes", num_workers=4)
    assert [np.float64(x).tobytes() for x in one] == [np.float64(x).tobytes() for x in four]
    assert abs(four[0] - exact()) < 4 * four[1]
    print(f"price {four[0]:.4f} +- {four[1]:.4f}, exact {exact():.4f}; four processes give the bits of one")
