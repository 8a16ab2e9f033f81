"""A thousand calls, good and failing, keep no memory."""

import sys

import numpy as np
import pytest

import lanewise as lw
from blocks import n_blocks


def grown(work, rounds=300, tries=4):
    """Blocks that `rounds` more runs of work keep: the least of some tries, for a leak is in each
    and a cache that grows is not."""
    least = sys.maxsize
    for _ in range(rounds):
        work()
    for _ in range(tries):
        before = n_blocks()
        for _ in range(rounds):
            work()
        least = min(least, n_blocks() - before)
    return least


@lw.vectorize(identity=0)
def f(x, y):
    return x + y


@lw.vectorize(["f8(f8)"])
def picky(x):
    assert x >= 0
    return x


class Other:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return NotImplemented


def fails(*args, error=TypeError, call=f, **kwargs):
    def work():
        with pytest.raises(error):
            call(*args, **kwargs)
    return work


X = np.arange(5.0)

CASES = {
    "call": lambda: f(X, 1.0),
    "out": lambda: f(X, X, out=np.zeros(5)),
    "strided": lambda: f(X[::2], 1),
    "scalars": lambda: f(1, 2),
    "reduce": lambda: f.reduce(X),
    "outer": lambda: f.outer(X, X),
    "where": lambda: f(X, X, out=np.zeros(5), where=X > 2),
    "signature": lambda: f(X, X, signature="dd->d"),
    "attributes": lambda: (f.types, f.signatures, f.stats, f.__signature__, repr(f)),
    "bad operand": fails("a", X),
    "bad keyword": fails(X, X, colour=1),
    "bad out": fails(X, X, out=np.zeros(3), error=ValueError),
    "override": fails(Other(), X),
    "raising kernel": fails(-1.0, call=picky, error=AssertionError),
    "no loop": fails(1j, call=picky),
    "bad decorator": lambda: fails(call=lambda: lw.vectorize(colour=1))(),
    "bad signature": fails(call=lambda: lw.vectorize("f4(flaot)"), error=ValueError),
    "add twice": fails("d->d", call=picky.add, error=ValueError),
}


@pytest.mark.parametrize("name", CASES)
def test_calls_keep_nothing(name):
    assert grown(CASES[name]) < 100  # one lost block a round would be 300


def test_ufuncs_go_away():
    def work():
        u = lw.vectorize(["f8(f8)"])(lambda x: x + 1)
        u(1.0)
        u.me = u

    assert grown(work) < 100


def test_compile_errors_keep_nothing():
    def work():
        u = lw.vectorize(lambda x: [x])
        with pytest.raises(lw.errors.CompileError):
            u(1.0)

    assert grown(work, rounds=40, tries=2) < 13
