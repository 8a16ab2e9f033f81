"""Functions called on the host return namedtuples as their classes."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

import lanewise as lw

P = namedtuple("P", "x y")
R = namedtuple("R", "x y")
Outer = namedtuple("Outer", "p n")
D = namedtuple("D", "x y z", defaults=(5,))
KEPT = P(3, 4.5)


def same(got, want):
    assert type(got) is type(want) and got == want


def test_the_class_stays():
    identity = lw.njit(lambda p: p)
    same(identity(P(1, 2.0)), P(1, 2.0))
    same(identity(R(1, 2.0)), R(1, 2.0))
    same(identity((1, 2.0)), (1, 2.0))
    same(lw.njit(lambda p: P(p.y, p.x))(P(1, 2.0)), P(2.0, 1))
    same(lw.njit(lambda a: D(a, 2))(1.0), D(1.0, 2))
    same(lw.njit(lambda: KEPT)(), KEPT)


def test_in_loops_nested_and_with_arrays():
    @lw.njit
    def grown(p, n):
        for i in range(n):
            p = P(p.x + 1.0, p.y * 2)
        return p, Outer(p, n)

    pair, outer = grown(P(1.0, 2.0), 3)
    same(pair, P(4.0, 16.0))
    same(outer, Outer(P(4.0, 16.0), 3))
    assert type(outer.p) is P
    made = lw.njit(lambda x: P(x, 2 * x))(np.ones(3))
    assert type(made) is P and made.y.tolist() == [2, 2, 2]


def test_what_is_sometimes_another_tuple():
    either = lw.njit(lambda p, q, c: p if c else q)
    assert either(P(1.0, 2.0), (3.0, 4.0), False) == (3.0, 4.0)
    assert either(P(1.0, 2.0), R(3.0, 4.0), True) == (1.0, 2.0)


def test_what_compiled_code_knows_of_them():
    assert lw.njit(lambda p: isinstance(p, P) and not isinstance(p, R) and isinstance(p, tuple))(P(1, 2))
    assert lw.njit(lambda p: p._fields[1] == "y")(P(1, 2))


def test_declared_signatures_take_them():
    f = lw.njit("f8(UniTuple(f8, 2))")(lambda p: p[0] + p[1])
    assert f(P(1, 2)) == f((1, 2)) == 3.0
