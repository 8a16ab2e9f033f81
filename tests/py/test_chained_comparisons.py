"""Chains of comparisons in which the classes of the operands define the operators: each link calls its method, each operand is
evaluated once, and the chain ends at the first link that is false, as in Python."""
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors
from lanewise.extending import array_of


@dataclass
class Point:
    x: float

    def __lt__(self, o):
        return self.x < (o.x if isinstance(o, Point) else o)

    def __gt__(self, o):
        return self.x > (o.x if isinstance(o, Point) else o)

    def __contains__(self, v):
        return v < self.x

    def moved(self, d):
        return Point(self.x + d)


class Backwards(NamedTuple):
    x: float
    y: float

    def __lt__(self, o):
        return self.y > o.y


class Counted:
    """A number whose comparisons change the left operand, or both."""

    def __init__(self, x):
        self.x = x
        self.n = 0

    def __lt__(self, o):
        self.n += 1
        return self.x < o.x

    def __le__(self, o):
        o.n += 1
        return self.x <= o.x

    def __gt__(self, o):
        return self.x - o.x

    def __eq__(self, o):
        return self.x == o.x


def of_objects(x):
    return Point(x) < Point(x + 1) < Point(2.0)


def with_numbers(x):
    return 0.0 < Point(x) < 5.0 < Point(7.0) > x > -1.0


def each_operand_once(x):
    n = x
    r = Point(n) < Point((n := n + 1)) < Point((n := n + 1)) < Point(3.0) < Point((n := n + 5.0))
    return r, n


def as_a_condition(x):
    if Point(x).moved(1.0) < Point(x).moved(2.0) < Point(3.0):
        return 1.0
    return 0.0


def of_namedtuples(x):
    return Backwards(x, 1.0) < Backwards(x, 0.0) < Backwards(x, x), Backwards(x, 1.0) == Backwards(x, 1.0) < Backwards(x, x)


def that_change_objects(x):
    p, q, r = Counted(x), Counted(2.0), Counted(3.0)
    ok = p < q < r < p
    return ok, p.n, q.n, r.n


def by_equality(x):
    p, q, r = Counted(x), Counted(x), Counted(1.0)
    return p == q != r, p == q == r, p != q == r


def with_in(x):
    return x < 2.0 in Point(3.0), x in Point(3.0) > Point(1.0), x not in Point(3.0) > Point(4.0)


def of_one_object(x):
    p = Point(x)
    return p < p.moved(1.0) < p.moved(2.0) > p


def among_others(x):
    return max(Point(x) < Point(x + 1) < Point(2.0), False), Point(0.0) < Point(x) < Point(3.0) and x > 1


CHAINS = (of_objects, with_numbers, each_operand_once, as_a_condition, of_namedtuples, that_change_objects, by_equality, with_in, of_one_object, among_others)


@pytest.mark.parametrize("f", CHAINS)
def test_chains(f):
    compiled, ufunc = lw.jit(f), lw.vectorize(f)
    for x in (-1.0, 0.5, 1.0, 2.5, 200.0):
        assert compiled(x) == f(x), x
        assert np.array(ufunc(np.array([x]))).T.tolist() == np.array([f(x)]).tolist(), x


@pytest.mark.parametrize("f", CHAINS)
def test_they_compile_for_gpus(f):
    try:
        lw.compile(f, "(float64)", target="sm_90", output="cubin")
    except errors.CompilerNotFound as missing:
        pytest.skip(str(missing))


def test_elements_of_arrays():
    a = array_of([Point(1.0), Point(2.0), Point(1.5)])

    @lw.jit
    def f(a):
        return a[0] < a[1] < Point(9.0), a[0] < a[1] < a[2], a[0] < a[1] > a[2], Point(0.5) < a[0] < a[1]

    assert f(a) == f.py_func(a) == (True, False, True, True)

    @lw.forall
    def sorted_at(i, a, out):
        out[i] = a[0] < a[i] < a[1]

    out = np.zeros(3, bool)
    sorted_at(3, a, out)
    assert out.tolist() == [False, False, True]


def test_what_chains_cannot_do():
    def changes_what_follows(x):
        p, q = Counted(x), Counted(2.0)
        return p <= q < p

    def changes_what_no_variable_holds(x):
        return Counted(x) <= Counted(2.0) < Counted(3.0)

    def gives_numbers(x):
        return Counted(x) > Counted(2.0) > Counted(1.0)

    def undefined(x):
        return Point(x) < Point(x) <= Point(2.0)

    for f, text in ((changes_what_follows, "E165: a comparison changes an object that the next one of its chain is about(.|\n)*`<=` changes it(.|\n)*one by one"),
                    (changes_what_no_variable_holds, "E165: a comparison changes an object"),
                    (gives_numbers, "E165: a chain of comparisons whose methods do not all give a bool(.|\n)*this `>` gives float"),
                    (undefined, "E165: no class defines `<=`(.|\n)*give the class a method `__le__`")):
        with pytest.raises(errors.CompileError, match=text):
            lw.jit(f)(1.0)
