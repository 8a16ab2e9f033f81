"""Functions and objects of the user's that say that they are NumPy's or Python's, as functools.wraps makes them: they mean what they do."""

from __future__ import annotations

import bisect
import functools
import math

import numpy as np
import pytest

import lanewise as lw

ORIGINALS = [np.zeros, np.array, np.shape, np.sort, np.where, np.sin, np.linalg.norm, np.ndindex, np.iinfo, np.add, math.prod, math.sin, hash, sum,
             bisect.bisect, lw.sin, lw.reductions.sum, lw.literal_unroll]


class Wrapped:
    """An object that wraps a function of NumPy, as libraries make them."""

    def __init__(self, original):
        for name in ("__module__", "__name__", "__qualname__"):
            setattr(self, name, getattr(original, name, "wrapped"))

    def __call__(self, x):
        return x * 3 + 7


def made_from(original):
    @functools.wraps(original)
    def wrapper(x):
        return x * 3 + 7

    yield wrapper
    yield functools.wraps(original)(lambda x: x * 3 + 7)
    yield lw.njit(wrapper)
    yield lw.vectorize(wrapper)
    yield Wrapped(original)


@pytest.mark.parametrize("original", ORIGINALS, ids=lambda f: f"{getattr(f, '__module__', '')}.{f.__name__}")
def test_a_wrapper_is_not_what_it_wraps(original):
    for wrapper in made_from(original):
        f = lw.njit(lambda x: wrapper(x))
        assert f(5) == 22, wrapper
    wrapper = next(made_from(original))
    np.testing.assert_array_equal(lw.vectorize(lambda x: wrapper(x))([1, 5]), [10, 22])

    @lw.forall
    def each(i, x):
        x[i] = wrapper(x[i])

    x = np.array([1, 5])
    each(2, x)
    assert x.tolist() == [10, 22]
    assert lw.reduce(lambda a, b: a + b, map=lambda x: wrapper(x))(np.array([1, 5])) == 32


class Random:
    """A class that has the name of Python's, but is another one."""

    def random(self):
        return 4.5


def test_a_class_named_random_is_not_pythons():
    g = Random()
    assert lw.njit(lambda x: g.random() + x)(1) == 5.5
