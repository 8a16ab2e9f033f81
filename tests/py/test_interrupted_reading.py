"""A KeyboardInterrupt while a function is read: it is what the caller gets, not an error about the object that was looked at."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import extending, njit


class Asked:
    """An object that raises KeyboardInterrupt whenever one of its attributes is looked up."""

    count = 0

    def __init__(self, error):
        self.error = error

    def __getattr__(self, name):
        Asked.count += 1
        raise self.error("pressed")


class Stopped(BaseException):
    pass


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, Stopped])
@pytest.mark.parametrize("decorate", [njit, lw.vectorize, lambda f: lw.reduce(lambda a, b: a + b, map=f)])
def test_of_the_function(decorate, error):
    odd = Asked(error)
    for f in (lambda x: x + odd.k, lambda x: x + odd, lambda x: odd(x)):
        with pytest.raises(error, match="pressed"):
            decorate(f)(np.ones(2))
    assert (decorate(lambda x: x + 1)(np.ones(2)) == (4 if decorate not in (njit, lw.vectorize) else 2)).all()


def test_the_same_function_again():
    odd, scale = Asked(KeyboardInterrupt), 1

    def f(x):
        return x * scale + (odd.k if scale == 1 else 0)

    with pytest.raises(KeyboardInterrupt):
        njit(f)(np.ones(2))
    scale = 2
    assert (njit(lambda x: x * scale)(np.ones(2)) == 2).all()


def test_an_ordinary_exception_is_no_interrupt():
    """The object counts as one without the attribute."""
    odd = Asked(RuntimeError)
    before = Asked.count
    with pytest.raises(lw.errors.CompileError):
        njit(lambda x: x + odd.k)(np.ones(2))
    assert Asked.count > before


def test_of_an_overload():
    odd = Asked(KeyboardInterrupt)

    def scaled(x):
        raise NotImplementedError

    @extending.overload(scaled)
    def choose(x):
        return lambda x: x + odd.k

    f = njit(lambda x: scaled(x))
    with pytest.raises(KeyboardInterrupt, match="pressed"):
        f(1.0)
    odd.error, odd.k = AttributeError, 2.0
    assert f(1.0) == 3.0
