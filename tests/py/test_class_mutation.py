"""Objects that change in compiled functions (docs/classes.md): the result is Python's, or E165 says at which line something else may
hold the object."""
import math
import operator
import runpy
from dataclasses import InitVar, dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

import lanewise as lw

A = np.linspace(-1.5, 2.0, 8)
B = np.linspace(3.0, -1.0, 8)
SIGNATURE = "float64(float64, float64)"


class Vec:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def add(self, o):
        self.x += o.x
        self.y += o.y

    def scale(self, k):
        self.x *= k
        self.y *= k
        return self

    def pop(self):
        self.x += 1.0
        return self.x

    def __iadd__(self, o):
        self.x += o.x
        self.y += o.y
        return self

    def dot(self, o):
        return self.x * o.x + self.y * o.y

    def __add__(self, o):
        return Vec(self.x + o.x, self.y + o.y)


class Particle:
    def __init__(self, pos, vel):
        self.pos = pos
        self.vel = vel
        self.n = 0

    def step(self, dt):
        self.pos.x += self.vel.x * dt
        self.pos.y += self.vel.y * dt
        self.n += 1

    def kick(self, k):
        self.vel.scale(k)

    @property
    def energy(self):
        return self.vel.dot(self.vel)

    @energy.setter
    def energy(self, v):
        self.vel.scale(math.sqrt(v / self.vel.dot(self.vel)))


class Base:
    K = 2.0

    def __init__(self, a):
        self.a = a

    def f(self, x):
        return self.a + x * self.K

    def bump(self):
        self.a += 1.0


class Derived(Base):
    K = 3.0

    def __init__(self, a, b):
        super().__init__(a)
        self.b = b
        self.reset()

    def reset(self):
        self.c = self.a * self.b

    def f(self, x):
        return super().f(x) * self.b + self.c

    def bump(self):
        super().bump()
        self.b += 2.0


@dataclass
class Made:
    x: float
    t: tuple = field(default_factory=tuple)
    n: int = field(default_factory=int)
    s: InitVar[float] = 2.0
    y: float = field(init=False)
    z: float = field(init=False, default=5.0)

    def __post_init__(self, s):
        self.y = self.x * s


@dataclass(frozen=True)
class Frozen:
    x: float
    y: float = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "y", self.x * 2)


@dataclass
class Counter:
    n = 0
    STEP = 2.5

    def count(self):
        self.n += self.STEP


class Holder:
    def __init__(self, v):
        self.v = v


class Two:
    def __init__(self, v):
        self.a = v
        self.b = v


class Own:
    def __init__(self, x):
        self.x = x
        self.h = Holder(self)
        self.x = x + 1


class Capturing:
    def __init__(self, x):
        self.x = x

    def outer(self):
        def inner():
            return self.x

        self.x += 1
        return inner()


class Setting:
    def __init__(self, x):
        self.p = x

    @property
    def p(self):
        return self._p

    @p.setter
    def p(self, v):
        self._p = 2 * v


WORLD = Vec(1.0, 2.0)


def keep(p):
    return Holder(p)


def same(p):
    return p


def pick(p, q):
    return p if p.x > q.x else q


def add_both(p, q):
    p.x += 1
    q.x += 10
    return p.x + q.x


def rebind(p):
    p.x += 1
    p = Vec(5.0, 5.0)
    return p.x


def rebind_sometimes(p, c):
    if c > 0:
        p = Vec(0.0, 0.0)
    p.x = 1.0
    return p.x


def first(*args):
    return args[0]


def moved(a):
    v = Vec(a, 1.0)
    v.x += 1
    return v


def two(a):
    return Vec(a, 0.0), Vec(0.0, a)


# ---- as in Python ----


def fields(a, b):
    p = Vec(a, b)
    p.x = 3.0
    p.y += a
    p.z = p.x * 2
    return p.x + p.y + p.z


def in_loops(a, b):
    p = Vec(a, b)
    for _ in range(5):
        p.add(Vec(1.0, b))
        if p.x > 3:
            p.y = 0.0
    r = Vec(0.0, 0.0)
    while p.x < 9:
        p.x += 1.5
        r.y += p.x
    return p.x * 10 + p.y + r.y


def of_fields(a, b):
    p = Particle(Vec(a, b), Vec(b, a))
    for _ in range(3):
        p.step(0.5)
        p.kick(0.5)
    p.energy = 2.0
    p.pos.x = 7.0
    p.pos = Vec(p.pos.x, a)
    p.pos.x += 1.0
    return p.pos.x + p.pos.y * 3 + p.n + p.energy + p.vel.x


def by_operators(a, b):
    p = Vec(a, b)
    q = Vec(1.0, 2.0)
    p += q
    p += q
    q += Vec(a, a)
    p = p.scale(2.0)
    p.scale(3.0)
    return p.x + p.y * 2 + q.x


def derived(a, b):
    d = Derived(a, b)
    d.bump()
    d.c -= 1.0
    return d.f(2.0) + d.a + d.b


def dataclasses(a, b):
    d = Made(a)
    e = Made(b, (1, 2), 3, 4.0)
    d.z += 1.0
    d.y = 0.5
    return d.x + d.y + d.z + d.n + len(d.t) + e.y + e.n + len(e.t) + Frozen(a).y


def temporary(a, b):
    return Vec(a, b).scale(2.0).dot(Vec(1.0, 1.0)) + Vec(a, b).pop()


def in_branches(a, b):
    p = Vec(a, b)
    r = Vec(0.0, 0.0)
    if a > 0:
        p.x = 1.0
    else:
        r.add(p)
    return r.x + r.y + p.x + (p.scale(2.0) if b > 1 else p).y


def from_functions(a, b):
    p = moved(a)
    p.y = b
    q, r = two(b)
    q.x += 1
    r.y *= 2
    s, t = Vec(a, a), Vec(b, b)
    s, t = t, s
    s.x += 1

    def change(v):
        v.x = 3.0

    change(t)
    return p.x + p.y + q.x + r.y + s.x + t.x


def read_by_functions(a, b):
    p = Vec(a, b)
    g = lambda: p.x + p.y  # noqa: E731
    x = g()
    p.x = 10.0
    return x + g() + Capturing(a).outer()


def in_expressions(a, b):
    p = Vec(a, b)
    s = p.x + p.pop() + p.x
    below = p.x < p.pop() < p.pop()
    both = p.x > 0 and p.pop() > 1
    p.y = p.scale(2.0).x
    while p.pop() < 20 and p.x > 0:
        pass
    return s + p.x + p.y + (1 if below else 0) + (2 if both else 0) + (p.pop() if b > 0 else 4.0) + p.x


def from_the_class(a, b):
    c = Counter()
    for _ in range(3):
        if a > 0:
            c.count()
    return c.n + c.STEP + Setting(b).p


def on_some_paths(a, b):
    p = Vec(a, b)
    if a > 0:
        p.z = 2.0
    p.x += 1
    q = p.x
    p.z = b
    return q + p.z


SAME = [fields, in_loops, of_fields, by_operators, derived, dataclasses, temporary, in_branches, from_functions, read_by_functions,
        in_expressions, from_the_class, on_some_paths]


@pytest.mark.parametrize("f", SAME, ids=lambda f: f.__name__)
def test_as_in_python(f):
    wanted = np.array([f(float(a), float(b)) for a, b in zip(A, B)])
    np.testing.assert_allclose(lw.vectorize(f)(A, B), wanted, rtol=1e-14)


@pytest.mark.parametrize("f", SAME, ids=lambda f: f.__name__)
def test_compiles_for_gpus(f):
    assert bytes(lw.compile(f, SIGNATURE, target="sm_90", output="cubin"))[:4] == b"\x7fELF"


@pytest.mark.slow_with_sanitizers
def test_any_number_of_fields(tmp_path):
    """More definitions of one variable than a machine word has bits."""
    n = 150
    text = "class Many:\n    def __init__(self, a):\n" + "".join(f"        self.f{i} = a + {i}\n" for i in range(n))
    text += f"def f(a):\n    p = Many(a)\n    for i in range(3):\n        p.f{n - 1} += 1.0\n    return {' + '.join(f'p.f{i}' for i in range(n))}\n"
    path = tmp_path / "many.py"
    path.write_text(text)
    f = runpy.run_path(str(path), run_name="many")["f"]
    assert lw.jit(f)(1.5) == f(1.5)


# ---- with other names ----


def alias(a, b):
    p = Vec(a, b)
    q = p
    p.x = 1
    return q.x


def chained(a, b):
    q = p = Vec(b, a)
    p.x = 1
    return q.x


def in_tuple(a, b):
    p = Vec(a, b)
    t = (p, 1)
    p.x = 1
    return t[0].x


def in_object(a, b):
    p = Vec(a, b)
    h = Holder(p)
    p.x = 1
    return h.v.x


def by_function(a, b):
    p = Vec(a, b)
    h = keep(p)
    h.v.x = 1
    return p.x


def returned(a, b):
    p = Vec(a, b)
    q = same(p)
    q.x = 1
    return p.x


def one_of_two(a, b):
    p = Vec(a, b)
    q = Vec(b, a)
    r = pick(p, q)
    r.x = 1
    return p.x + q.x


def given_twice(a, b):
    p = Vec(a, b)
    return add_both(p, p)


def given_and_returned(a, b):
    p = Vec(a, b)
    return add_both(p, p.scale(2.0))


def rebound(a, b):
    p = Vec(a, b)
    rebind(p)
    return p.x


def rebound_sometimes(a, b):
    p = Vec(a, b)
    rebind_sometimes(p, b)
    return p.x


def of_global(a, b):
    WORLD.x = 3
    return WORLD.x


def of_name_of_global(a, b):
    w = WORLD
    w.x = 3
    return w.x


def of_global_by_method(a, b):
    WORLD.add(Vec(a, b))
    return WORLD.x


def holds_itself(a, b):
    return Own(a).x


def in_two_fields(a, b):
    t = Two(Vec(a, b))
    t.a.x = 9
    return t.b.x


def read_before(a, b):
    p = Vec(a, b)
    return (p + p.scale(3.0)).x


def previous(a, b):
    p = Vec(a, b)
    prev = p
    for _ in range(3):
        prev = p
        p.x += 1
    return prev.x


def alias_on_a_path(a, b):
    p = Vec(a, b)
    q = Vec(b, a)
    p = q if a > 0 else p
    p.x = 1
    return q.x


def captured(a, b):
    p = Vec(a, b)
    g = lambda: p.x  # noqa: E731
    h = (lambda k: k())(g)
    p.x = 5
    return h + g()


def changed_inside(a, b):
    p = Vec(a, b)

    def change():
        p.x = 3.0

    change()
    return p.x


def deep(a, b):
    v = Vec(1.0, 1.0)
    h = Holder(v)
    h.v.x += 1
    return v.x


def of_a_field(a, b):
    h = Holder(Vec(a, b))
    k = h.v
    h.v.x += 1
    return k.x


def of_a_loop(a, b):
    for p in (Vec(a, b), Vec(b, a)):
        p.x += 1
    return p.x


def of_an_item(a, b):
    ps = (Vec(a, b), Vec(b, a))
    ps[0].x = 3
    return ps[0].x


def read_by_augmented(a, b):
    p = Vec(a, b)
    p.x += p.scale(2.0).y
    return p.x + p.y


def in_arguments(a, b):
    p = Vec(a, b)
    first(p, 1)
    p.x = 2
    return p.x


def of_frozen(a, b):
    f = Frozen(a)
    f.x = b
    return f.x


class Slotted:
    __slots__ = ("x",)
    K = 1

    def __init__(self, x):
        self.x = x


def of_no_slot(a, b):
    p = Slotted(a)
    p.K = 2  # in the class, which Python does not assign through an object either
    return p.K + b


class Both(NamedTuple):
    v: Vec
    k: float


def move_inner(t):
    t.v.x += 1.0


def in_namedtuple(a, b):
    t = Both(Vec(a, b), 1.0)
    u = t
    move_inner(t)
    return u.v.x


def first_of(*values):
    return values[0]


def kept_by_rest(a, b):
    p, q, s = Vec(a, b), Vec(b, a), 0.0
    for _ in range(3):
        p.x += 1.0
        s += q.x
        q = first_of(p)
    return s


REFUSED = [
    (of_no_slot, "p.K = 2", "`K` is assigned here"),
    (in_namedtuple, "move_inner(t)", "`t` may have another name since line"),
    (kept_by_rest, "p.x += 1.0", "`p` may have another name since line"),
    (alias, "p.x = 1", "`p` may have another name since line"),
    (chained, "p.x = 1", "`p` may have another name since line"),
    (in_tuple, "p.x = 1", "`p` may have another name since line"),
    (in_object, "p.x = 1", "`p` may have another name since line"),
    (by_function, "h.v.x = 1", "`h` may have another name since line"),
    (returned, "q.x = 1", "`q` may have another name since line"),
    (one_of_two, "r.x = 1", "`r` may have another name since line"),
    (given_twice, "add_both(p, p)", "one object is given for two parameters"),
    (given_and_returned, "add_both(p, p.scale(2.0))", "`p` is read before in the same expression"),
    (rebound, "return p.x", "`p` is another object here"),
    (rebound_sometimes, "p.x = 1.0", "`p` is the argument or another object"),
    (of_name_of_global, "w.x = 3", "`w` may have another name since line"),
    (holds_itself, "self.h = Holder(self)", "`self` may have another name since line"),
    (in_two_fields, "t.a.x = 9", "`t` may have another name since line"),
    (read_before, "p + p.scale(3.0)", "`p` is read before in the same expression"),
    (previous, "p.x += 1", "`p` may have another name since line"),
    (alias_on_a_path, "p.x = 1", "`p` may have another name since line"),
    (captured, "p.x = 5", "`p` may have another name since line"),
    (changed_inside, "p.x = 3.0", "`p` belongs to the enclosing function"),
    (deep, "h.v.x += 1", "`h` may have another name since line"),
    (of_a_field, "h.v.x += 1", "`h` may have another name since line"),
    (of_a_loop, "p.x += 1", "`p` may have another name"),
    (of_an_item, "ps[0].x = 3", "no single variable holds the object"),
    (read_by_augmented, "p.x += p.scale(2.0).y", "`p` is read before in the same expression"),
    (in_arguments, "p.x = 2", "`p` may have another name since line"),
    (of_frozen, "f.x = b", "the dataclass `Frozen` is frozen"),
]


@pytest.mark.parametrize("f, line, label", REFUSED, ids=lambda v: getattr(v, "__name__", ""))
@pytest.mark.parametrize("target", ["cpu", "sm_90"])
def test_with_other_names(f, line, label, target):
    with pytest.raises(lw.errors.CompileError) as caught:
        lw.compile(f, SIGNATURE, target=target, output="llvm")
    text = str(caught.value)
    assert caught.value.code == "E165" and line in text and label in text, text


@pytest.mark.parametrize("f", [of_global, of_global_by_method])
def test_frozen_objects_do_not_change(f):
    with pytest.raises(lw.errors.CompileError, match="E162: assignment to an attribute of a constant(.|\n)*fixed"):
        lw.compile(f, SIGNATURE, target="cpu", output="llvm")


# ---- fields that are not there ----


class Sometimes:
    def __init__(self, x):
        if x > 0:
            self.x = x


def late(a, b):
    p = Holder(a)
    if a > 0:
        p.late = b
    return p.late


def missing(a, b):
    return Sometimes(a).x


def never(a, b):
    return Holder(a).nothing


def late_result(a, b):
    p = Holder(a)
    if a > 0:
        p.late = b
    return p


@pytest.mark.parametrize("f, said", [
    (late, r"E110: field `late` of `Holder` may have no value here(.|\n)*return p.late(.|\n)*late: on some paths only"),
    (missing, r"E110: field `x` of `Sometimes` may have no value here"),
    (never, "E161"),
    (late_result, r"E110: this object cannot be the result(.|\n)*`late` has a value on some paths only"),
])
def test_fields_that_may_be_missing(f, said):
    with pytest.raises(lw.errors.CompileError, match=said):
        lw.jit(f)(1.0, 2.0)


# ---- arguments ----


def stepped(i, p, out):
    p.step(0.5)
    out[i] = p.pos.x


def test_arguments_do_not_change():
    """Python's object would stay as it was, which the caller would notice, so the function is refused."""
    p = Particle(Vec(1.0, 2.0), Vec(3.0, 4.0))
    with pytest.raises(lw.errors.CompileError, match=r"E165: a field of `Particle` is assigned(.|\n)*p.step\(0.5\)(.|\n)*`p` is an argument"):
        lw.forall(stepped)(3, p, np.zeros(3))
    assert lw.jit(lambda p: moved(p.pos.x).x)(p) == 2.0 and p.pos.x == 1.0


def test_results_are_the_objects_as_changed():
    def run(a):
        p = Particle(Vec(a, 1.0), Vec(2.0, a))
        for _ in range(4):
            p.step(0.25)
        return p

    got, want = lw.jit(run)(1.5), run(1.5)
    assert type(got) is Particle and got.n == want.n == 4
    assert (got.pos.x, got.pos.y, got.vel.x, got.vel.y) == (want.pos.x, want.pos.y, want.vel.x, want.vel.y)


# ---- functions that call themselves ----


class Step:
    def __init__(self, x, n):
        self.x = x
        self.n = n

    def power(self, k):
        return 1.0 if k <= 0 else self.x * self.power(k - 1)

    def moved(self, k):
        return self if k <= 0 else Step(self.x + 1.0, self.n).moved(k - 1)

    def bump(self, k):
        if k > 0:
            self.x += 1.0
            self.bump(k - 1)


def powers(x, k):
    return Step(x, 1).power(k)


def moves(x, k):
    p = Step(x, 1)
    q = p.moved(k)
    return p.x + 10.0 * q.x


def captured(x, k):
    def follow(p, k):
        return p.x if k <= 0 else follow(Step(p.x * 2.0, p.n), k - 1)

    return follow(Step(x, 1), k)


def forth(p, k):
    return p.x if k == 0 else back(Step(p.x + 1.0, p.n), k - 1)


def back(p, k):
    if k == 0:
        return -p.x
    p.x += 2.0  # an object that forth has made for it
    return forth(p, k - 1)


def alternate(x, k):
    return forth(Step(x, 1), k)


@pytest.mark.parametrize("function", [powers, moves, captured, alternate])
def test_objects_in_recursion(function):
    x, k = np.linspace(-1.5, 2.0, 6), np.arange(6)
    want = [function(float(a), int(b)) for a, b in zip(x, k, strict=True)]
    assert lw.vectorize(fma=False)(function)(x, k).tolist() == want


def bumps(x, k):
    p = Step(x, 1)
    p.bump(k)
    return p.x


def renames(x, k):
    p = Step(x, 1)
    q = p.moved(k)
    q.x = 5.0
    return p.x


def swing(p, k):
    return p.x if k == 0 else swung(p, k - 1)


def swung(p, k):
    if k > 0:
        p.x += 2.0
        swing(p, k - 1)
    return p.x


def swings(x, k):
    return swing(Step(x, 1), k)


def exchanged(n, p, q):
    if n == 0:
        p.x += 1.0
        return
    exchanged(n - 1, q, p)
    q.x *= 2.0


def exchanges(x, k):
    p, q = Step(x, 1), Step(-x, 1)
    exchanged(k, p, q)
    return p.x * 10.0 + q.x


@pytest.mark.parametrize("function", [bumps, swings, exchanges])
def test_changed_in_recursion(function):
    x, k = np.linspace(-1.5, 2.0, 6), np.arange(6)
    want = [function(float(a), int(b)) for a, b in zip(x, k, strict=True)]
    assert lw.vectorize(fma=False)(function)(x, k).tolist() == want


class StepHolder:
    def __init__(self, step):
        self.step = step


def kept(n, holder, p):
    if n == 0:
        holder.step = p
        return
    kept(n - 1, holder, p)
    p.x += 1.0


def keeps(x, k):
    p = Step(x, 1)
    holder = StepHolder(Step(0.0, 1))
    kept(k, holder, p)
    return holder.step.x


def doubled(n, p, q):
    p.x += 1.0
    if n > 0:
        doubled(n - 1, p, p)
    return q.x


def twice(x, k):
    return doubled(k, Step(x, 1), Step(x, 1))


def widened(n, p):
    if n == 0:
        p.x = p.x + 0.5
        return
    widened(n - 1, p)


def widens(x, k):
    p = Step(1, 1)
    widened(k, p)
    return p.x


@pytest.mark.parametrize(("function", "text"), [
    (renames, "a field of `Step` is assigned, but something else may hold the object"),
    (keeps, "a field of `Step` is assigned, but something else may hold the object"),
    (twice, "`doubled` changes an object that has another name there"),
    (widens, "`widened` calls itself and changes the type of an object"),
])
def test_refused_in_recursion(function, text):
    with pytest.raises(lw.errors.CompileError, match="E165: .*" + text):
        lw.vectorize(function)(np.ones(3), np.arange(3))


# ---- overloads of item assignment ----


class Bag:
    def __init__(self, a, b):
        self.a = a
        self.b = b


@lw.extending.overload(operator.setitem)
def set_bag(bag, index, value):
    if isinstance(bag, lw.types.Object) and bag.cls is Bag:
        def put(bag, index, value):
            if index == 0:
                bag.a = value
            else:
                bag.b = value

        return put
    return None


def fills(a, b):
    bag = Bag(0.0, 0.0)
    bag[0] = a
    bag.b = b  # nothing else holds the object
    bag[1] = bag.a + bag.b
    return bag.a + 10.0 * bag.b


def test_overloaded_store():
    got = lw.vectorize(fma=False)(fills)(A, B)
    assert got.tolist() == [a + 10.0 * (a + b) for a, b in zip(A, B, strict=True)]
