"""`(0,) * n`, and indices made of slices and dots."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors

X = np.arange(24.0).reshape(2, 3, 4)


def at(x, i):
    return x[i].sum()


def compare(function, *arguments):
    assert lw.njit(function)(*arguments) == function(*arguments)


@pytest.mark.parametrize("function", [
    lambda a: (a, 2.5) * 3, lambda a: 2 * (a, a + 1), lambda a: (a,) * 0, lambda a: (a,) * -1, lambda a: () * 3, lambda a: ((a, 1), 2) * 2, lambda a: (1, 2) * 2 + (a,),
    lambda a: len(("x", a) * 2), lambda a: (("x", "y") * 2)[3] == "y", lambda a: sum((a,) * 5), lambda a: np.zeros((2,) * 3).shape, lambda a: ((None,) * 2)[1] is None,
])
def test_tuples(function):
    compare(function, 3)
    compare(function, 1.5)


def test_indices():
    compare(lambda x: at(x, (slice(None),) * 2), X)
    compare(lambda x: x[(slice(None),) * (x.ndim - 1) + (0,)].sum(), X)
    compare(lambda x: x[(0,) * x.ndim], X)
    compare(lambda x: x[(slice(1, None),) * 2 + (...,)].sum(), X)
    compare(lambda x: at(x, (..., 0)), X)


def test_sums_keep_constants():
    compare(lambda a: (("x", a) + ("y", "z"))[2] == "y", 1)
    compare(lambda x: x[(slice(None),) + (...,) + (0,)].sum(), X)


def test_statement():
    def f(a):
        t = (a,)
        t *= 3
        return t

    compare(f, 2)


def test_repeats_by_a_capture_and_a_parameter():
    n = 3
    compare(lambda a: (a,) * n, 2)

    def inner(a, k):
        return (a,) * k

    assert lw.njit(lambda a: inner(a, 2))(5) == (5, 5)


def test_refused():
    with pytest.raises(errors.TypingError, match="a tuple is repeated by an int that is known when the function is compiled"):
        lw.njit(lambda a, x: (a,) * x.shape[0])(1, np.ones(2))
    with pytest.raises(errors.TypingError, match="E120"):
        lw.njit(lambda a: (a,) * 2j)(1)
    with pytest.raises(errors.UnsupportedError, match="tuple of more than"):
        lw.njit(lambda a: (a,) * 10**6)(1)
    with pytest.raises(errors.TypingError, match=r"E121: an index can only have a single ellipsis"):
        lw.njit(lambda x: x[..., ...])(X)
    with pytest.raises(errors.TypingError, match="E104: which constant this is would be known only at run time"):
        lw.njit(lambda x, i: (np.sin, np.cos)[i](x))(1.0, 1)
