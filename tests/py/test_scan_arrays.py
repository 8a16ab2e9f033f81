"""Scans of reductions without a map, whose arrays are the numbers of the accumulator."""

import numpy as np
import pytest

import lanewise as lw


@lw.reduce
def compose(a, b, c, d):
    return a * c, b * c + d


@lw.reduce
def total(a, b):
    return a + b


A, B = np.array([1.0, 2, 3]), np.ones(3)


def test_two_numbers():
    assert compose(A, B) == (6, 10)
    for call in lambda: compose.accumulate(A, B), lambda: compose.accumulate(A, B, 0), lambda: compose.accumulate(A, B, axis=0):
        np.testing.assert_array_equal(call(), ([1, 2, 6], [1, 3, 10]))
    before = compose.accumulate(A, B, 0, True, initial=(1.0, 0.0))
    np.testing.assert_array_equal(before, ([1, 1, 2], [0, 1, 3]))
    for call in lambda: compose.reduceat(A, B, [0, 2]), lambda: compose.reduceat(A, B, (0, 2), 0), lambda: compose.reduceat(A, B, indices=[0, 2]):
        np.testing.assert_array_equal(call(), ([2, 3], [3, 1]))


def test_one_number():
    assert total.accumulate(A, 0, False).tolist() == [1, 3, 6]
    assert total.reduceat(A, (0, 2), 0).tolist() == [3, 3]
    with pytest.raises(TypeError, match="needs? 2|take"):
        total.accumulate(A, B)
    with pytest.raises(TypeError, match="1 to .* arrays"):
        total.accumulate(*[A] * 40)
