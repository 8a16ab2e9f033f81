"""`lw.reduce`: the usual reductions, and some that NumPy does not have. Each is checked against NumPy.

They also accept device arrays. Run: python examples/reduce.py
"""

# Functions that lanewise compiles are typed by their calls, and have no annotations.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import math
from typing import Any

import numpy as np

import lanewise as lw

total = lw.reduce(lambda a, b: a + b)
product = lw.reduce(lambda a, b: a * b)
smallest = lw.reduce(lambda a, b: np.minimum(a, b))  # NaN if an element is NaN, as in NumPy
largest = lw.reduce(lambda a, b: np.maximum(a, b))
any_of = lw.reduce(lambda a, b: a or b, map=lambda x: x != 0)
all_of = lw.reduce(lambda a, b: a and b, map=lambda x: x != 0)
mean = lw.reduce(map=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), finish=lambda s, n: s / n)
minmax = lw.reduce(map=lambda x: (x, x), combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])))
dot = lw.reduce(map=lambda x, y: x * y, combine=lambda a, b: a + b)


def further(a, b):
    """The larger of two pairs (value, index). NaN counts as the largest; of equal values, the first one is returned."""
    if a[0] != a[0] or b[0] != b[0]:
        first = a[0] != a[0] and (b[0] == b[0] or a[1] < b[1])
    else:
        first = a[0] > b[0] or (a[0] == b[0] and a[1] < b[1])
    return a if first else b


argmax = lw.reduce(further, map=lambda x, index: (x, index), finish=lambda value, at: at, commutative=True)
argmin = lw.reduce(further, map=lambda x, index: (-x, index), finish=lambda value, at: at, commutative=True)


def merge_moments(a, b):
    """Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979."""
    n = a[0] + b[0]
    delta = b[1] - a[1]
    return n, a[1] + delta * b[0] / n, a[2] + b[2] + delta * delta * a[0] * b[0] / n


variance = lw.reduce(map=lambda x: (1, x, 0.0), combine=merge_moments, finish=lambda n, m, s: s / n, commutative=True)
deviation = lw.reduce(map=lambda x: (1, x, 0.0), combine=merge_moments, finish=lambda n, m, s: math.sqrt(s / n), commutative=True)


def merge_exponentials(a, b):
    """A pair (m, s) represents s * exp(m), so that nothing overflows."""
    top = max(a[0], b[0])
    return top, a[1] * math.exp(a[0] - top) + b[1] * math.exp(b[0] - top)


logsumexp = lw.reduce(map=lambda x: (x, 1.0), combine=merge_exponentials, finish=lambda m, s: m + math.log(s), commutative=True)

# The best score and its payload: `map` receives elements of two arrays, and a call returns two results.
best = lw.reduce(map=lambda score, payload: (score, payload), combine=lambda a, b: a if a[0] >= b[0] else b)

# y[i] = a[i] * y[i - 1] + b[i]: each pair (a, b) is an affine map, and `combine` composes two of them, in their order.
affine = lw.reduce(map=lambda a, b: (a, b), combine=lambda a, b, c, d: (a * c, b * c + d), finish=lambda a, b: b)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 200))
    pairs: list[tuple[Any, Any]] = [
        (total, np.sum), (product, np.prod), (smallest, np.min), (largest, np.max), (any_of, np.any),
        (all_of, np.all), (mean, np.mean), (variance, np.var), (deviation, np.std), (argmax, np.argmax), (argmin, np.argmin)]
    for ours, numpys in pairs:
        for axis in (None, 0, 1):
            np.testing.assert_allclose(ours(x, axis=axis), numpys(x, axis=axis), rtol=1e-9, atol=1e-280)
    low, high = minmax(x, axis=0)
    assert np.array_equal(low, x.min(0)) and np.array_equal(high, x.max(0))
    np.testing.assert_allclose(dot(x, x[0], axis=1), x @ x[0])
    np.testing.assert_allclose(logsumexp(x * 1000), 1000 * x.max())
    score, payload = best(x.ravel(), np.arange(x.size))
    assert score == x.max() and payload == x.argmax()
    assert argmax(np.array([1.0, np.nan, 3.0, np.nan])) == 1

    y, wanted = 0.0, []
    for a, b in zip(x[0], x[1]):
        y = a * y + b
        wanted.append(y)
    np.testing.assert_allclose(affine.accumulate(x[0], x[1]), wanted)
    assert np.array_equal(largest.accumulate(x, axis=1), np.maximum.accumulate(x, axis=1))  # a running maximum
    keys, sums = total.by_key(np.repeat(np.arange(30), 10), x.ravel()[:300])  # a segmented sum
    np.testing.assert_allclose(sums, x.ravel()[:300].reshape(30, 10).sum(1))
    print("minimum and maximum:", *minmax(x), " variance:", variance(x))
