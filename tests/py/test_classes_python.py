"""Python's rules of operators, comparisons and attributes of classes: who is asked first, what tuples do by themselves, which
definition counts, in which order arguments are evaluated. What the same function gives in Python is what it gives compiled."""
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

import lanewise as lw

X = [0.5, 1.0, 2.0]


class OnlyEqual(NamedTuple):
    x: float
    y: float

    def __eq__(self, o):
        return self.x == o.x


class OnlyLess(NamedTuple):
    x: float
    y: float

    def __lt__(self, o):
        return self.y < o.y


class Pair(NamedTuple):
    x: float
    y: float = 2.0

    def total(self):
        return self.x + self.y


class PropertyOverField(Pair):
    @property
    def x(self):
        return 55.0


class ConstantOverField(Pair):
    x = 66.0


class Iterating(NamedTuple):
    x: float
    y: float

    def __iter__(self):
        return iter((9.0, 8.0))


class Length(NamedTuple):
    x: float
    y: float

    def __len__(self):
        return 7


class Added(NamedTuple):
    x: float
    y: float

    def __radd__(self, other):
        return 5.0


@dataclass
class OwnInit:
    a: float
    b: float = 2.0

    def __init__(self, a):
        self.a = a
        self.b = a * 2


@dataclass(order=True)
class Ordered:
    a: float
    b: float = 0.0


class WrittenEqual:
    def __eq__(self, o):
        return True


@dataclass
class GeneratedEqual(WrittenEqual):
    a: float


@dataclass
class Partly:
    a: float
    b: float = field(default=1.0, compare=False)


@dataclass
class Fixed:
    a: float
    b: float = field(default=4.0)


@dataclass
class KeywordBetween:
    a: float
    b: float = field(default=5.0, kw_only=True)
    c: float = 7.0


class OwnField(Ordered):
    def __init__(self, a):
        self.a = a
        self.b = 1.0
        self.c = 2.0


class Vector:
    def __init__(self, x):
        self.x = x

    def __add__(self, o):
        if isinstance(o, Vector):
            return Vector(self.x + o.x)
        return Vector(self.x + o)

    def __mul__(self, o):
        return self.x * 10

    def __rmul__(self, o):
        return self.x * 100

    def __sub__(self, o):
        if not isinstance(o, Vector):
            return NotImplemented
        return self.x - o.x

    def next(self):
        return type(self)(self.x + 1)

    def __lt__(self, o):
        return self.x < o.x


class Derived(Vector):
    def __mul__(self, o):
        return 8.0

    def __rmul__(self, o):
        return 7.0


class Same(Vector):
    pass


class Right:
    def __init__(self, x):
        self.x = x

    def __rsub__(self, o):
        return 3.0 + self.x

    def __eq__(self, o):
        return self.x == o.x


class NotEqual(Right):
    def __ne__(self, o):
        return True


class Two:
    def __init__(self, a, b):
        self.a = a
        self.b = b


def fails(x, kind):
    if x > 0:
        if kind:
            raise ValueError("first")
        raise ZeroDivisionError("second")
    return x


FROZEN = Iterating(1.0, 2.0)


def truth(c):
    return 1.0 if c else 2.0


def both(x):
    p, q = OnlyEqual(x, 2.0) if x > 0.7 else OnlyEqual(x, 3.0), OnlyEqual(x, 4.0)
    return truth(p == q) + 10 * truth(p != q)


SAME = [
    lambda x: truth(OnlyEqual(x, 1.0) != OnlyEqual(x, 2.0)) + 10 * truth(OnlyEqual(x, 1.0) == OnlyEqual(x, 2.0)),
    lambda x: truth(OnlyLess(x, 2.0) > OnlyLess(1.0, 3.0)) + 10 * truth(OnlyLess(x, 2.0) < OnlyLess(1.0, 3.0)),
    lambda x: truth(OnlyLess(x, 2.0) <= OnlyLess(1.0, 3.0)),
    lambda x: PropertyOverField(x).x + PropertyOverField(x).total() + PropertyOverField(x)[0] + ConstantOverField(x).x,
    lambda x: FROZEN.x + 10 * FROZEN.y + x,
    lambda x: float(len(Length(x, x))) + Length(x, x).y,
    lambda x: (1.0, 2.0) + Added(x, x),
    both,
    lambda x: truth(OwnInit(x) == OwnInit(x)) + 10 * truth(OwnInit(x) != OwnInit(x + 1)),
    lambda x: truth(GeneratedEqual(x) == GeneratedEqual(x + 1)),
    lambda x: truth(Fixed(x) == Fixed(x, 4.0)) + Fixed(x).b,
    lambda x: KeywordBetween(x, 3.0).c + 10 * KeywordBetween(x, 3.0, b=x).b + 100 * KeywordBetween(1.0).a,
    lambda x: Vector(x) * Derived(x) + 10 * (Derived(x) * Vector(x)) + Vector(x) * Same(x),
    lambda x: (Vector(x) + Vector(x)).x + (Vector(x) + 1.0).x + (Same(x) + Same(x)).x,
    lambda x: Vector(x) - Vector(1.0) + (Vector(x) - Right(x)),
    lambda x: truth(isinstance(Derived(x), Vector)) + 10 * truth(isinstance(Vector(x), Derived)) + 100 * truth(isinstance(x, Vector)),
    lambda x: truth(isinstance(Pair(x), tuple)) + 10 * truth(isinstance(Pair(x), Pair)) + 100 * truth(isinstance(Vector(x), (int, object))),
    lambda x: truth(type(Vector(x)) is Vector) + Vector(x).next().x,
    lambda x: truth(Vector(x) > Vector(1.0)),
    lambda x: truth(NotEqual(x) != NotEqual(x)),
]


@pytest.mark.parametrize("f", SAME)
def test_as_in_python(f):
    assert [lw.vectorize(f)(x) for x in X] == [f(x) for x in X]
    assert bytes(lw.compile(f, "float64(float64)", target="sm_90", output="cubin"))[:4] == b"\x7fELF"


def of_keywords(x):
    return Two(b=fails(x, True), a=fails(x, False)).a


def of_positions(x):
    return Two(fails(x, True), fails(x, False)).a


def of_reflected(x):
    return fails(x, True) - Right(fails(x, False))


@pytest.mark.parametrize("f", [of_keywords, of_positions, of_reflected])
def test_arguments_are_evaluated_as_written(f):
    with pytest.raises(ValueError, match="first"):
        lw.vectorize(f)(1.0)


def test_operators_raise():
    """If a method behind an operator, a property or an index raises an exception, the function that uses it can raise it."""
    class Guarded(NamedTuple):
        x: float
        y: float

        @property
        def first(self):
            return self[0]

        def __mul__(self, i):
            if i > 3:
                raise ValueError("too large")
            return self.x * i

    f = lw.vectorize(lambda x: Guarded(x, 1.0).first + Guarded(x, 2.0) * x)
    assert f(2.0) == 6.0
    with pytest.raises(ValueError, match="too large"):
        f(4.0)


@pytest.mark.parametrize("f, said", [
    (lambda x: truth(Partly(x) == Partly(x, 1.0)), "E165: no class defines `==`"),
    (lambda x: truth(OwnField(x) == OwnField(x)), "E165: no class defines `==`"),
    (lambda x: Right(x) - Right(x), "E165: no class defines `-`"),
    (lambda x: truth(Right(x) != NotEqual(x)), "E165: no class defines `!=`"),
    (lambda x: Vector(x) - x, "E165: no class defines `-`"),
    (lambda x: truth((OnlyEqual(x, x) if x > 1 else (x, x)) == (x, 2.0)), "E140"),
    (lambda x: truth(isinstance((x, x), Pair)), "E120: `isinstance`"),
])
def test_refused(f, said):
    with pytest.raises(lw.errors.CompileError, match=said):
        lw.compile(f, "float64(float64)", target="cpu", output="llvm")


def test_results_in_arrays():
    assert np.array_equal(lw.vectorize(SAME[0])(np.array(X)), [SAME[0](x) for x in X])
