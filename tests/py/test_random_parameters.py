"""Parameters of a Generator: numbers and arrays of them, what is refused, and how it is said."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise.random import Generator

from random_checks import KINDS

FORMULAS = [("uniform", (-1.5, 3.25)), ("normal", (0.3, 1.7)), ("exponential", (2.3,)), ("gamma", (1.3, 0.7)), ("poisson", (3.7,)),
            ("poisson", (40,)), ("binomial", (30, 0.3)), ("lognormal", (0.1, 0.3)), ("beta", (0.7, 2)), ("geometric", (0.3,)),
            ("negative_binomial", (3.5, 0.4)), ("standard_t", (3,)), ("wald", (1, 2.5))]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 7, 300])
@pytest.mark.parametrize("name, parameters", FORMULAS)
def test_one_number_in_every_element(kind, n, name, parameters):
    one, each = Generator(3, kind), Generator(3, kind)
    np.testing.assert_array_equal(getattr(one, name)(*parameters, n), getattr(each, name)(*[[p] * n for p in parameters]))
    if name in ("uniform", "normal", "exponential"):
        np.testing.assert_array_equal(getattr(one, name)(*parameters, n, np.float32),
                                      getattr(each, name)(*[[p] * n for p in parameters], dtype=np.float32))
    assert one._place == each._place


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("low, high, dtype", [
    (0, 100, "i8"), (0, 100, "i4"), (3, 256, "u1"), (0, 2**32, "i8"), (-1, 2**32, "i8"), (0, 2**40, "i8"), (0, 2**64, "u8"), (-2**63, 2**63, "i8")])
def test_one_pair_of_bounds_in_every_element(kind, low, high, dtype):
    for n in (1, 6, 300):
        one, lows, highs = Generator(1, kind), Generator(1, kind), Generator(1, kind)
        for end in (0, 1):
            expected = one.integers(low, high - end, n, dtype, bool(end))
            np.testing.assert_array_equal(lows.integers([low] * n, [high - 1] * n, dtype=dtype, endpoint=True), expected)
            np.testing.assert_array_equal(highs.integers(low, np.full(1, high - 1, "u8" if high > 2**63 else "i8"), n, dtype, True), expected)
        assert one._place == lows._place == highs._place


def test_bounds_that_differ():
    found = Generator(1).integers([0, 10, 20], [[10, 20, 30]] * 1000)
    assert (found // 10 == [0, 1, 2]).all() and len(np.unique(found)) == 30
