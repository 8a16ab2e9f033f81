"""Classes of the user's in compiled functions: what the same function gives in Python is what it gives compiled, and what compiled code
does not do is refused with E165 (docs/classes.md)."""
import enum
import math
import pickle
import re
import threading
from collections import Counter, namedtuple
from concurrent.futures import ThreadPoolExecutor
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


class Items:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __bool__(self):
        return self.x > 0

    def __iter__(self):
        return iter((self.x, self.y))

    def __contains__(self, v):
        return v == self.x or v == self.y


class Long:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __iter__(self):
        return iter([self.n, 3])


class Iterating(NamedTuple):
    a: float
    b: float

    def __iter__(self):
        return iter((self.b, self.a))


class Kind(enum.Enum):
    A = 1
    B = 2


@dataclass
class Tagged:
    kind: Kind
    name: str
    x: float

    def value(self):
        if self.kind is Kind.A:
            return self.x
        return self.x * 10 if self.name == "b" else -self.x


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


def of_truth(a, b):
    v = Items(a, b)
    r = 0.0
    if v:
        r += 1
    if not v:
        r += 2
    w = v and Items(b, a)
    u = v or Items(7.0, 8.0)
    n = 0
    while Items(a + n, b) and n < 5:
        n += 1
    assert Long(2)
    return r + (3 if Items(b, b) else 4) + w.x + u.y + n + (1 if not Long(0) else 2) + (5 if Long(int(n)) and Items(1.0, a) else 7)


def of_iteration(a, b):
    v = Items(a, b)
    x, y = v
    p, q = Long(4)
    s, t = Iterating(a, b)
    r = 0.0
    for k in v:
        r += k * 2
    for i, k in enumerate(v):
        r += i * k
    for k, m in zip(v, Items(1.0, 2.0)):
        r += k * m
    for k in Long(2):
        r += k
    for k in Iterating(a, b):
        r += k * 3
    return r + x - y + p + q + s * 2 + t + (10 if a in v else 20) + (100 if 1.5 not in v else 200) + (1 if b in Iterating(a, b) else 0)


def of_texts(a, b):
    p = Tagged(Kind.A, "a", a)
    q = Tagged(Kind.B, "b", b)
    r = Tagged(Kind.B, "c", a)
    q.x += 1.0
    r.name = "b"
    return p.value() + q.value() + r.value() + (100 if p == Tagged(Kind.A, "a", a) else 0) + (1000 if p == q else 0) + (5 if q.kind == Kind.B else 0)


SAME = [of_namedtuple, of_dataclass, of_dataclass_compared, of_class, of_globals, of_operators, of_flow, of_truth, of_iteration, of_texts]


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


class Three:
    def __init__(self, x, y, z):
        self.x = x
        self.y = y
        self.z = z

    def __add__(self, o):
        return Three(self.x + o.x, self.y + o.y, self.z + o.z)

    def scale(self, k):
        self.x *= k
        self.y *= k
        self.z *= k

    def norm(self):
        return self.x * self.x + self.y * self.y + self.z * self.z


def by_object(x, y, z):
    p = Three(x, y, z)
    q = Three(z, x, y)
    p.scale(2.0)
    if p.x > q.x:
        p.y += q.norm()
    return (p + q).norm()


def by_operands(x, y, z):
    a, b, c = x * 2.0, y * 2.0, z * 2.0
    if a > z:
        b += z * z + x * x + y * y
    d, e, f = a + z, b + x, c + y
    return d * d + e * e + f * f


def counted(text):
    """How often each instruction is in the code."""
    lines = [line.split() for line in text.splitlines() if re.match(r"\s+[a-z]", line) and not line.strip().startswith((".", "//"))]
    return Counter(words[1] if words[0].startswith("@") else words[0] for words in lines)


def test_objects_cost_nothing():
    assert instructions(three_objects) == instructions(three_scalars) != []
    sig = "float64(float64, float64, float64)"  # fma=False: which sums are fused depends on where functions end
    ptx = [lw.vectorize([sig], fma=False)(f).inspect_ptx(sig) for f in (by_object, by_operands)]
    asm = [lw.vectorize([sig], fma=False)(f).inspect_asm(sig) for f in (by_object, by_operands)]
    for objects, operands in (ptx, asm):
        assert counted(objects) == counted(operands) and sum(counted(operands).values()) > 15, (counted(objects), counted(operands))


def test_arrays_of_objects_cost_as_much_as_arrays_of_fields():
    """The kernels have the same numbers of loads, stores and arithmetic instructions."""
    def objects(i, a, out):
        out[i] = a[i].norm()

    def records(i, a, out):
        p = a[i]
        out[i] = p.x * p.x + p.y * p.y + p.z * p.z

    dtype = lw.extending.dtype_of(Three, x=float, y=float, z=float)
    plain = np.dtype([("x", "f8"), ("y", "f8"), ("z", "f8")], align=True)
    texts = []
    for f, of in ((objects, dtype), (records, plain)):
        kernel = lw.forall(f)
        out = np.zeros(4)
        kernel(4, np.array([(1.0, 2.0, 3.0)] * 4, of), out)
        assert out.tolist() == [14.0] * 4
        texts.append((counted(kernel.inspect_ptx(target="sm_90")), counted(kernel.inspect_asm())))
    assert texts[0] == texts[1] and sum(texts[0][0].values()) > 8, texts


def test_threads():
    """Threads that compile and call the same functions for the first time."""
    f, g = lw.vectorize(by_object), lw.jit(lambda x: Three(x, x, x))
    start = threading.Barrier(8)

    def run(k):
        start.wait()
        return [float(f(k, 2.0, 3.0)) for _ in range(50)], [g(float(k)).z for _ in range(50)]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(run, range(8)))
    for k, (xs, zs) in enumerate(results):
        assert xs == [by_object(float(k), 2.0, 3.0)] * 50 and zs == [float(k)] * 50


def test_pickles():
    f = pickle.loads(pickle.dumps(lw.vectorize(by_object)))
    assert f(1.0, 2.0, 3.0) == by_object(1.0, 2.0, 3.0)


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


class Passing:
    def __init__(self, x):
        store_all(self)
        self.x = x


class Sometimes:
    def __init__(self, x):
        if x > 0:
            self.x = x


@dataclass
class Compared:
    a: float
    b: float = field(default=1.0, compare=False)


class Made(namedtuple("Made", "a b")):
    def __new__(cls, a):
        return super().__new__(cls, a, a)


class Dynamic:
    def __init__(self, x):
        self.x = x

    def __getattr__(self, name):
        return 3.0


class Generating:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        yield self.x


class Returning:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        return (self.x,)


class Indexed:
    def __init__(self, x):
        self.x = x

    def __getitem__(self, i):
        return self.x

    def __len__(self):
        return 3


class Counting:
    def __init__(self, x):
        self.x = x

    def __bool__(self):
        self.x += 1
        return True


class Untrue:
    def __init__(self, x):
        self.x = x

    def __bool__(self):
        return self.x


def store_all(p):
    return p.x


def generating(x):
    s = 0.0
    for v in Generating(x):
        s += v
    return s


def returning(x):
    s = 0.0
    for v in Returning(x):
        s += v
    return s


def indexed(x):
    s = 0.0
    for v in Indexed(x):
        s += v
    return s


def two_kinds(x):
    p = Tagged(Kind.A, np.sin, x) if x > 0 else Tagged(Kind.A, np.cos, x)
    return p.x


def method_kept(x):
    m = Derived(x).twice
    return m()


def iterated(x):
    s = 0.0
    for v in Plain(x):
        s += v
    return s


def joined(x):
    p = Plain(x) if x > 0 else Other(x)
    return p.x


@pytest.mark.parametrize("f, said", [
    (lambda x: Passing(x).x, r"E110: field `x` of `Passing` may have no value(.|\n)*return p.x"),
    (lambda x: Sometimes(x).x, "E110: field `x` of `Sometimes` may have no value"),
    (lambda x: Made(x).b, "E165: the namedtuple `Made`"),
    (lambda x: Dynamic(x).y, "E152"),
    (lambda x: Compared(x, 1.0) == Compared(x, 2.0), "E165: no class defines `==`"),
    (lambda x: Plain(x) == Plain(x), "E165: no class defines `==`(.|\n)*__eq__"),
    (lambda x: (Plain(x), 1) == (Plain(x), 1), "E165: no class defines `==`"),
    (lambda x: Plain(1) in (Plain(1), Plain(2)), "E165: no class defines `in`"),
    (lambda x: x in Plain(x), "E165: no class defines `in`"),
    (lambda x: Plain(x) is Plain(x), "E165: `is` of objects: in compiled code they are values(.|\\n)*`__eq__`"),
    (lambda x: (Plain(x) + 1).x, r"E165: no class defines `\+`(.|\n)*__add__"),
    (lambda x: (-Plain(x)).x, "E120"),
    (lambda x: len(Plain(x)), "E165: `Plain` has no `__len__`"),
    (lambda x: Plain(x)[0], "E165: `Plain` has no `__getitem__`"),
    (lambda x: Plain(x)(1), "E165: `Plain` has no `__call__`"),
    (lambda x: Plain(x).nothing, "E161"),
    (lambda x: Plain(x, x).x, "E153: too many arguments for `Plain`"),
    (lambda x: Plain(z=x).x, "E153"),
    (lambda x: Plain(x), "E167: an object of `Plain` cannot be the result"),
    (lambda x: (x, Plain(x)), "E167: an object of `Plain` cannot be the result"),
    (lambda x: 1.0 if Counting(x) else 2.0, "E165: `__bool__` changes the object"),
    (lambda x: 1.0 if Untrue(x) else 2.0, "E165: `__bool__` of `Untrue` does not return a truth value"),
    (lambda x: bool(Indexed(x)), "E165: `bool` of an object(.|\\n)*write `len"),
    (generating, r"E165: `__iter__` of `Generating` does not return `iter\(...\)`"),
    (returning, r"E165: `__iter__` of `Returning` does not return `iter\(...\)`"),
    (indexed, "E165: `Indexed` has no `__iter__`"),
    (two_kinds, "E140(.|\\n)*name: constant"),
    (method_kept, "E165: `twice` of `Derived` is not called"),
    (iterated, "E165: `Plain` has no `__iter__`(.|\\n)*give it a method `__iter__`"),
    (joined, "E140"),
])
@pytest.mark.parametrize("target", ["cpu", "sm_90"])
def test_refused(f, said, target):
    with pytest.raises(lw.errors.CompileError, match=said):
        lw.compile(f, "float64(float64)", target=target, output="llvm")
