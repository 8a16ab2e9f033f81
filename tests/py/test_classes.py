"""Classes of the user's in compiled functions: what the same function gives in Python is what it gives compiled, and what compiled code
does not do is refused with E165 (docs/classes.md)."""
import math
import re
from collections import namedtuple
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

import lanewise as lw

A = np.linspace(-1.5, 2.0, 8)
B = np.linspace(3.0, -1.0, 8)
SIGNATURE = "float64(float64, float64)"


class Point(NamedTuple):
    x: float
    y: float = 2.0

    def norm(self):
        return math.sqrt(self.x * self.x + self.y * self.y)

    @property
    def total(self):
        return self.x + self.y

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    @staticmethod
    def unit():
        return Point(1.0, 1.0)


class Pair(namedtuple("Pair", "a b")):
    __slots__ = ()

    def sum(self):
        return self.a + self.b


@dataclass(frozen=True, order=True)
class Number:
    re: float
    im: float = 0.5
    SCALE = 3.0

    def __mul__(self, other):
        return Number(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def __rmul__(self, k):
        return Number(k * self.re, k * self.im)

    def __neg__(self):
        return Number(-self.re, -self.im)

    @property
    def abs2(self):
        return self.re * self.re + self.im * self.im

    def scaled(self):
        return Number(self.re * self.SCALE, self.im * Number.SCALE)

    @classmethod
    def one(cls):
        return cls(1.0)


@dataclass(kw_only=True)
class Keywords:
    a: float
    b: float = 3.0


class Interval:
    def __init__(self, lo, hi):
        if lo > hi:
            self.lo = hi
            self.hi = lo
            return
        self.lo = lo
        self.hi = hi

    @property
    def width(self):
        return self.hi - self.lo

    def hull(self, other):
        return Interval(min(self.lo, other.lo), max(self.hi, other.hi))

    def __add__(self, other):
        return Interval(self.lo + other.lo, self.hi + other.hi)

    def __radd__(self, k):
        return Interval(k + self.lo, k + self.hi)

    def __eq__(self, other):
        return self.lo == other.lo and self.hi == other.hi

    def __lt__(self, other):
        return self.hi < other.lo

    def __getitem__(self, i):
        return self.lo if i == 0 else self.hi

    def __len__(self):
        return 2

    def __call__(self, t):
        return self.lo + t * (self.hi - self.lo)

    def __abs__(self):
        return Interval(abs(self.lo), abs(self.hi))


class Value:
    def __init__(self, v):
        self.v = v

    def __sub__(self, o):
        return Value(self.v - o)

    def __rsub__(self, o):
        return Value(o - self.v)

    def __truediv__(self, o):
        return self.v / o

    def __mod__(self, o):
        return self.v % o

    def __invert__(self):
        return Value(-self.v)

    def __pos__(self):
        return self

    def __ge__(self, o):
        return self.v >= o

    def __ne__(self, o):
        return self.v != o

    def __float__(self):
        return self.v

    def __bool__(self):
        return self.v > 0

    def __isub__(self, o):
        return Value(self.v - 2 * o)


class Plain:
    def __init__(self, x):
        self.x = x


class Derived(Plain):
    def twice(self):
        return self.x * 2


class Other:
    def __init__(self, x):
        self.x = x


class Slotted:
    __slots__ = ("x", "n")

    def __init__(self, x, n=2):
        self.x: float = x
        self.n = n
        for _ in range(3):
            self.x = self.x + self.n

    def get(self):
        return self.x


class Polynomial:
    def __init__(self, c):
        self.c = c

    def __call__(self, x):
        r = 0.0
        for k in self.c:
            r = r * x + k
        return r


WORLD = Interval(0.0, 10.0)
ONE = Number(2.0, 1.0)
PAIR = Pair(1.0, 2.0)
POLYNOMIAL = Polynomial((1.0, 2.0, 3.0))


def helper(a):
    return Number(a, 1.0)


def of_namedtuple(a, b):
    p = Point(a, b) + Point(y=b, x=a)
    q, r = p
    s = Pair(a, 2.0)
    return p.norm() + p.total + Point.unit().x + Point(a).y + q - r + p[1] + len(p) + s.sum() + PAIR.sum() + (1.0 if s == (a, 2.0) else 0.0)


def of_dataclass(a, b):
    d = -(Number(a, b) * Number(a, b))
    e = 2.0 * d
    return e.abs2 + d.scaled().im + Number.one().re + ONE.abs2 + (ONE * helper(a)).re + Keywords(a=b).b + Keywords(b=a, a=2.0).b


def of_dataclass_compared(a, b):
    return (
        (1.0 if Number(a, b) == Number(a, b) else 0.0)
        + (2.0 if Number(a, b) != Number(b, a) else 0.0)
        + (4.0 if Number(a, 1.0) < Number(a, 2.0) <= Number(a, 2.0) else 0.0)
        + (8.0 if Number(a, 1.0) in (Number(a, 2.0), Number(a, 1.0)) else 0.0)
    )


def of_class(a, b):
    i = Interval(a, b)
    j = i + Interval(b, a)
    j += i
    j = 1.0 + j
    r = j.width + (10.0 if i == j else 1.0) + (5.0 if i != j else 7.0) + (1 if i < j else 0)
    k = i if a > 0.5 else j
    for _ in range(3):
        k = k.hull(k + i)
    return r + k.width + i[0] + i[1] + len(i) + i(0.25) + abs(i).lo


def of_globals(a, b):
    return WORLD(0.5) + WORLD.width + WORLD.hull(Interval(a, b)).width + (WORLD + Interval(a, b)).hi + POLYNOMIAL(a) + Polynomial((a, b))(2.0)


def of_operators(a, b):
    o = Value(a)
    p = Value(b)
    p -= 1.0
    return (
        (o - 1.0).v + (a * 2 - Value(b)).v * 3 + o / 2.0 + o % 3.0 + (~o).v + (+o).v + p.v + float(o)
        + (1.0 if o >= 1.0 else 0.0) + (1.0 if 1.0 <= o else 5.0) + (1.0 if o != b else 7.0) + (1.0 if bool(o) else 2.0)
    )


def of_flow(a, b):
    p = Plain(a)
    if a > 0:
        p = Plain(1)
    else:
        p = Plain(p.x - 1)
    while p.x < 10:
        p = Plain(p.x + 3)
    nested = Plain(Plain(a))
    t = (Plain(a), Plain(2.0))
    i = 1 if b > 0 else 0
    shift = lambda v: p.x + v  # noqa: E731
    q, p = p, t[1]
    return p.x + q.x + nested.x.x + t[i].x + shift(1.0) + Derived(a).twice() + Slotted(b).get() + Slotted(a, n=3).n + (1.0 if p is not None else 0.0) + (1.0 if p else 3.0)


SAME = [of_namedtuple, of_dataclass, of_dataclass_compared, of_class, of_globals, of_operators, of_flow]


@pytest.mark.parametrize("f", SAME, ids=lambda f: f.__name__)
def test_as_in_python(f):
    wanted = np.array([f(float(a), float(b)) for a, b in zip(A, B)])
    np.testing.assert_allclose(lw.vectorize(f)(A, B), wanted, rtol=1e-14)


@pytest.mark.parametrize("f", SAME, ids=lambda f: f.__name__)
def test_compiles_for_gpus(f):
    assert bytes(lw.compile(f, SIGNATURE, target="sm_90", output="cubin"))[:4] == b"\x7fELF"


# ---- every generator ----


def hull_of(a, b):
    i = Interval(a[0], a[1]).hull(Interval(b[0], b[1]))
    return i.lo, i.hi


def store(i, x, out):
    out[i] = (Value(x[i]) - 1.0).v + POLYNOMIAL(x[i])


def row(x, out):
    i = Interval(x[0], x[0])
    for v in x:
        i = i.hull(Interval(v, v))
    out[0] = i.width


def test_every_generator():
    x = np.arange(5.0)
    out = np.zeros(5)
    lw.forall(store)(5, x, out)
    np.testing.assert_array_equal(out, [v - 1 + POLYNOMIAL(v) for v in x])
    assert lw.reduce(map=lambda v: (v, v), combine=hull_of)(np.array([3.0, -1.0, 7.0])) == (-1.0, 7.0)
    np.testing.assert_array_equal(lw.guvectorize([(lw.float64[:], lw.float64[:])], "(n)->()")(row)(np.array([[3.0, 9, 1], [2, 2, 2]])), [8, 0])
    assert lw.jit(lambda v: Value(v).v + 1)(2.0) == 3.0
    made = lw.jit(lambda v: Value(v))
    assert lw.vectorize(lambda v: made(v).v)(2.0) == 2.0


# ---- the same instructions ----


def three_objects(a, b):
    p = Point(a, b) + Point(b, a)
    return p.x * p.y


def three_scalars(a, b):
    x, y = a + b, b + a
    return x * y


def instructions(f):
    text = lw.compile(f, SIGNATURE, target="sm_90", output="ptx")
    text = text if isinstance(text, str) else bytes(text).decode()
    return [line.split()[0] for line in text.splitlines() if re.match(r"\s+\w+(\.\w+)+\s", line) and not line.strip().startswith(".")]


def test_objects_cost_nothing():
    assert instructions(three_objects) == instructions(three_scalars) != []


# ---- changes are seen ----


class Changing:
    def __init__(self, x):
        self.x = x

    def get(self):
        return self.x


CHANGING = Changing(1.0)


def test_changes_are_seen(monkeypatch):
    whole = lw.vectorize(lambda x: x + CHANGING.x + CHANGING.get())
    local = lw.vectorize(lambda x: Changing(x).get())
    assert whole(1.0) == 3.0 and local(1.0) == 1.0
    monkeypatch.setattr(CHANGING, "x", 5.0)
    assert whole(1.0) == 11.0
    monkeypatch.setattr(Changing, "get", lambda self: self.x + 50)
    assert local(1.0) == 51.0 and whole(1.0) == 61.0
    monkeypatch.setattr(Changing, "__init__", Plain.__init__)
    assert local(2.0) == 52.0


# ---- refused ----


class Escaping:
    def __init__(self, x):
        self.x = x
        self.y = self.make()

    def make(self):
        return 2


class Passing:
    def __init__(self, x):
        helper(self)
        self.x = x


class Sometimes:
    def __init__(self, x):
        if x > 0:
            self.x = x


class Setting:
    def __init__(self, x):
        self.p = x

    @property
    def p(self):
        return self._p

    @p.setter
    def p(self, v):
        self._p = 2 * v


class Mutating:
    def __init__(self, x):
        self.x = x

    def change(self):
        self.x = 3.0
        return self


@dataclass
class Factory:
    x: float = field(default_factory=float)


@dataclass
class Compared:
    a: float
    b: float = field(default=1.0, compare=False)


class Made(namedtuple("Made", "a b")):
    def __new__(cls, a):
        return super().__new__(cls, a, a)


class Iterating(NamedTuple):
    a: float

    def __iter__(self):
        return iter((1.0,))


class Dynamic:
    def __init__(self, x):
        self.x = x

    def __getattr__(self, name):
        return 3.0


def assigned(x):
    p = Plain(x)
    p.x = 2.0
    return p.x


def added(x):
    p = Plain(x)
    p.x += 2.0
    return p.x


def method_kept(x):
    m = Derived(x).twice
    return m()


def iterated(x):
    s = 0.0
    for v in Plain(x):
        s += v
    return s


def iterating(x):
    s = 0.0
    for v in Iterating(x):
        s += v
    return s


def unpacked(x):
    (a,) = Iterating(x)
    return a


def joined(x):
    p = Plain(x) if x > 0 else Other(x)
    return p.x


@pytest.mark.parametrize("f, said", [
    (assigned, r"E165: a field of `Plain` is assigned outside of `__init__`(.|\n)*p.x = 2.0"),
    (added, "E165: a field of `Plain` is assigned outside"),
    (lambda x: Mutating(x).change().x, r"E165: a field of `Mutating`(.|\n)*self.x = 3.0"),
    (lambda x: Escaping(x).y, r"E165: `__init__` of `Escaping` lets `self` escape(.|\n)*self.make"),
    (lambda x: Passing(x).x, r"E165: `__init__` of `Passing` lets `self` escape(.|\n)*helper\(self\)"),
    (lambda x: Sometimes(x).x, "E110: variable `self.x` may have no value"),
    (lambda x: Setting(x).p, "E165: `__init__` of `Setting` assigns to its property `p`"),
    (lambda x: Factory(x).x, "E165: the dataclass `Factory`"),
    (lambda x: Made(x).b, "E165: the namedtuple `Made`"),
    (lambda x: Dynamic(x).y, "E152"),
    (lambda x: Compared(x, 1.0) == Compared(x, 2.0), "E165: no class defines `==`"),
    (lambda x: Plain(x) == Plain(x), "E165: no class defines `==`(.|\n)*__eq__"),
    (lambda x: (Plain(x), 1) == (Plain(x), 1), "E165: no class defines `==`"),
    (lambda x: Plain(1) in (Plain(1), Plain(2)), "E165: no class defines `in`"),
    (lambda x: x in Plain(x), "E165: no class defines `in`"),
    (lambda x: Plain(x) is Plain(x), "E165: no class defines `is`"),
    (lambda x: Interval(x, x) < Interval(x, x) < Interval(x, x), "E165(.|\n)*`and`"),
    (lambda x: (Plain(x) + 1).x, r"E165: no class defines `\+`(.|\n)*__add__"),
    (lambda x: (-Plain(x)).x, "E120"),
    (lambda x: len(Plain(x)), "E165: `Plain` has no `__len__`"),
    (lambda x: Plain(x)[0], "E165: `Plain` has no `__getitem__`"),
    (lambda x: Plain(x)(1), "E165: `Plain` has no `__call__`"),
    (lambda x: Plain(x).nothing, "E161"),
    (lambda x: Plain(x, x).x, "E153: too many arguments for `Plain`"),
    (lambda x: Plain(z=x).x, "E153"),
    (lambda x: Plain(x), "E165: an object of `Plain` cannot be the result"),
    (lambda x: (x, Plain(x)), "E165: an object of `Plain` cannot be the result"),
    (lambda x: 1.0 if Value(x) else 2.0, "E165: the truth of an object with `__bool__`"),
    (lambda x: 1.0 if not Value(x) else 2.0, "E165: the truth"),
    (method_kept, "E165: `twice` of `Derived` is not called"),
    (iterated, "E165: an object cannot be iterated"),
    (iterating, "E165: an object cannot be iterated"),
    (unpacked, "E120: only a tuple or an array can be unpacked"),
    (joined, "E140"),
])
@pytest.mark.parametrize("target", ["cpu", "sm_90"])
def test_refused(f, said, target):
    with pytest.raises(lw.errors.CompileError, match=said):
        lw.compile(f, "float64(float64)", target=target, output="llvm")
