"""Monte Carlo with Dask: the price of an option and its standard error, from random numbers that do not depend on the chunks. Four
processes on this machine give the same bits as one, and so would the workers of a cluster."""

# Functions that lanewise compiles are typed by their calls, and have no annotations.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import math

import numpy as np
from dask.base import compute

import lanewise as lw

SPOT, STRIKE, RATE, SIGMA, YEARS = 100.0, 105.0, 0.03, 0.2, 1.0


@lw.vectorize
def payoff(z):
    """The discounted payoff of a call option: the standard normal number z determines the final price of the stock."""
    price = SPOT * math.exp((RATE - SIGMA * SIGMA / 2) * YEARS + SIGMA * math.sqrt(YEARS) * z)
    return math.exp(-RATE * YEARS) * max(price - STRIKE, 0.0)


def merge(a, b):
    """Merge the counts, means and sums of squared deviations of two parts."""
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
