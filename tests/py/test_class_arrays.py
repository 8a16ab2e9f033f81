"""Arrays of objects (lanewise.extending.dtype_of): elements have the class's methods in compiled code, and in Python what they have there."""
import collections
import copy
import dataclasses
import enum
import pickle
from typing import NamedTuple

import numpy as np
import pytest

import lanewise as lw
from lanewise import _elements
from lanewise.extending import array_of, dtype_of

N = 5


class Interval:
    lo: float
    hi: float

    def __init__(self, lo, hi):
        self.lo = lo
        self.hi = hi

    @property
    def width(self):
        return self.hi - self.lo

    @width.setter
    def width(self, v):
        self.hi = self.lo + v

    def __add__(self, o):
        return Interval(self.lo + o.lo, self.hi + o.hi)

    def __eq__(self, o):
        return self.lo == o.lo and self.hi == o.hi

    def hull(self, o):
        return Interval(min(self.lo, o.lo), max(self.hi, o.hi))

    def shift(self, d):
        self.lo += d
        self.hi += d

    def __contains__(self, x):
        return self.lo <= x <= self.hi

    def __bool__(self):
        return bool(self.lo < self.hi)

    def __iter__(self):
        return iter((self.lo, self.hi))


@dataclasses.dataclass
class Body:
    pos: Interval
    n: int = 0
    f: np.float32 = 0.0

    def step(self, d):
        self.n += 1
        self.pos.shift(d)

    def energy(self):
        return self.pos.width * self.n


class Pair(NamedTuple):
    a: float
    b: int

    def product(self):
        return self.a * self.b

    @property
    def half(self):
        return self.a / 2


@dataclasses.dataclass(slots=True, frozen=True)
class Slotted:
    x: float
    y: "int"

    @property
    def mean(self):
        return self.sum() / 2

    def sum(self):
        return self.x + self.y


class Untyped:
    def __init__(self, x, y):
        self.y = y
        self.x = x


class Holder:
    def __init__(self, v):
        self.v = v


class Behind:
    """A class whose fields are named by a property only."""
    def set_all(self, value):
        self.pair = value

    @property
    def pair(self):
        return self._x + self._y

    @pair.setter
    def pair(self, value):
        self._x = self._y = value

    @classmethod
    def of(cls, z):
        made = cls()
        made._z = z
        return made


class Partly:
    x: float
    y: float
    other: "Nowhere"  # noqa: F821 a name that is not bound leaves the other annotations as they are

    def __init__(self, x, y, other):
        self.x = x
        self.y = y
        self.other = other


class Plain:
    x: float

    def __init__(self, x):
        self.x = x


def intervals(seed=0):
    rng = np.random.default_rng(seed)
    a = np.zeros(N, dtype_of(Interval))
    a["lo"] = rng.normal(size=N)
    a["hi"] = a["lo"] + rng.normal(size=N)
    return a


def bodies():
    b = np.zeros(N, dtype_of(Body))
    b["pos"]["hi"] = np.arange(N) / 3
    b["n"] = 3
    return b


def memory():
    return {"a": intervals(), "b": intervals(1), "out": np.zeros(N, dtype_of(Interval)), "num": np.zeros(N), "bodies": bodies(),
            "pairs": np.array([(1.5, 2)] * N, dtype_of(Pair))}


# ---- kernels: compiled, and as plain Python ----


def elements(i, a, b, out, num):
    p = a[i]
    p.shift(1.0)
    a[i].width = 3.0
    out[i] = p + b[i]
    q = b[i]
    num[i] = q.width + (1.0 if a[i] == b[i] else 2.0) + (10.0 if 2.0 in q else 20.0) + (100.0 if q else 200.0)
    for v in q:
        num[i] += v
    lo, hi = p
    num[i] += lo * hi


def totals(i, a, out):
    best = a[0]
    for j in range(len(a)):
        best = best.hull(a[j])
    out[i] = best
    if i == 1:
        out[i].lo = -99.0


def nested(i, bodies, num):
    p = bodies[i]
    p.step(2.0)
    bodies[i].step(1.0)
    p.pos = Interval(p.pos.lo, 50.0)
    p.pos.lo = 4.5
    p.f += 0.5
    num[i] = p.energy() + bodies[i].pos.width
    if i == 2:
        bodies[i] = Body(Interval(1.0, 2.0), 3, 0.25)


def tuples(i, pairs, num):
    r = pairs[i]
    x, y = r
    num[i] = r.product() + x + y + r.a + len(r) + r[1]


def scratch(i, a, num):
    t = lw.local(3, dtype_of(Interval))
    for j in range(3):
        t[j] = Interval(1.0 * j, 2.0 * j)
    s = Interval(0.0, 0.0)
    for j in range(3):
        s = s + t[j]
    num[i] = s.width + isinstance(t[0], Interval) + isinstance(a[0], Interval)


def views(i, a, num):
    """An element is a reference to the array's memory."""
    p = a[i]
    q = p
    p.lo = 7.0
    a[i].hi = 9.0
    num[i] = q.lo + q.hi + a[i].lo


KERNELS = [elements, totals, nested, tuples, scratch, views]


def arguments(f, given):
    return [given[name] for name in f.__code__.co_varnames[1:f.__code__.co_argcount]]


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_kernels(f):
    compiled, python = memory(), memory()
    lw.forall(f)(N, *arguments(f, compiled))
    with lw.config(target="python"):
        lw.forall(f)(N, *arguments(f, python))
    for name in compiled:
        assert compiled[name].tobytes() == python[name].tobytes(), (name, compiled[name], python[name])


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_kernels_compile_for_gpus(f, arch):
    kernel = lw.forall(f)
    kernel(N, *arguments(f, memory()))
    assert "entry" in kernel.inspect_ptx(target=arch)


def test_calls_from_python():
    a = intervals()
    first = lw.jit(lambda a: a[1])(a)
    assert type(first) is Interval and first.lo == a[1].lo
    element, width = lw.jit(lambda a: (a[0], a[1].width))(a)
    assert type(element) is Interval and width == a[1].width
    assert lw.jit(lambda r: r.width)(a[1]) == a[1].width
    before = a[2].lo

    @lw.jit
    def change(a):
        a[2].lo += 1.0
        a[3] = Interval(1.0, 2.0)

    change(a)
    assert a[2].lo == before + 1 and tuple(a[3]) == (1.0, 2.0)


# ---- targets that change an object on the way ----


class Count:
    def __init__(self):
        self.n = -1

    def next(self):
        self.n += 1
        return self.n


def test_targets(tmp_path):
    """Each part of a target is evaluated once."""
    statements = ["a[c.next()].lo = 1.0", "a[c.next()].lo += 1.0", "a[c.next()].width = 1.0", "num[c.next():3] += 1.0", "a['lo'][c.next()] += 1.0",
                  "num[num > c.next()] = 3.0", "num[num > c.next()] += 3.0", "num[num > c.next()] += c.next()", "num[num > c.next()] *= num[num > 0]", "num[[c.next(), c.next()]] += c.next()", "num[:] = num + c.next()", "num[[c.next(), c.next()]] = 3.0", "x = num[[c.next(), c.next()]]",
                  "num[c.next()] = c.next() + c.next()", "num[c.next()] += c.next()", "a[c.next()] = a[c.next()] + a[c.next()]", "num[c.next()] = num[c.next()] = c.next()"]
    for statement in statements:
        path = tmp_path / f"targets{len(list(tmp_path.iterdir()))}.py"
        path.write_text(f"def kernel(i, a, num):\n    c = Count()\n    {statement}\n    num[4] = c.n\n")
        space = dict(globals())
        exec(compile(path.read_text(), str(path), "exec"), space)
        compiled, python = memory(), memory()
        for given in (compiled, python):
            given["num"][:] = np.arange(N) - 1
        lw.forall(space["kernel"], warn=False)(1, compiled["a"], compiled["num"])
        with lw.config(target="python"):
            lw.forall(space["kernel"])(1, python["a"], python["num"])
        assert compiled["num"].tobytes() == python["num"].tobytes() and compiled["a"].tobytes() == python["a"].tobytes(), statement


# ---- copies of elements that would be stale ----


def hulls(i, a, num):
    best = a[0]
    for j in range(3):
        best = best.hull(a[j])
    a[i].lo = 5.0
    num[i] = best.hi


def read_again(i, a, num):
    p = a[i] if i > 1 else Interval(0.0, 0.0)
    num[i] = p.lo
    a[i].lo = 5.0
    num[i] += p.lo


def changes(p, a, i):
    a[i].lo = 100.0
    return p.lo


def passed(i, a, num):
    p = a[0] if i > 1 else Interval(0.0, 0.0)
    num[i] = changes(p, a, i)


def one_of_two(a, c):
    if c > 0:
        return a[0]
    return Interval(0.0, 0.0)


def returned(i, a, num):
    num[i] = one_of_two(a, i).lo


def renamed(i, a, num):
    best = a[0]
    if i > 0:
        best = Interval(0.0, 1.0)
    q = best
    num[i] = q.lo


def held(i, a, num):
    best = a[0]
    if i > 0:
        best = Interval(0.0, 1.0)
    h = Holder(best)
    num[i] = h.v.lo


def assigned(i, a, num):
    best = a[0]
    if i > 0:
        best = Interval(0.0, 1.0)
    best.lo = 3.0
    num[i] = best.lo


def captured(i, a, num):
    best = a[0]
    if i > 0:
        best = Interval(0.0, 1.0)
    f = lambda: best.lo  # noqa: E731
    num[i] = f()


@pytest.mark.parametrize("f, label", [
    (read_again, "on some paths `p` is an object in an array, and arrays were written to since"),
    (passed, "on some paths this is an object in an array, on others it is not"),
    (returned, "one `return` gives an object in an array, another one does not"),
    (renamed, "on some paths this is an object in an array, on others it is not"),
    (held, "on some paths this is an object in an array, on others it is not"),
    (assigned, "`best` may have another name since line"),
    (captured, "on some paths it is an object in an array"),
], ids=lambda v: getattr(v, "__name__", ""))
def test_what_may_be_a_copy(f, label):
    with pytest.raises(lw.errors.CompileError) as caught:
        lw.forall(f)(N, intervals(), np.zeros(N))
    assert caught.value.code == "E165" and label in str(caught.value), str(caught.value)


def test_copies_that_nobody_can_tell():
    a, num = intervals(), np.zeros(N)
    lw.forall(hulls)(3, a, num)
    b, wanted = intervals(), np.zeros(N)
    with lw.config(target="python"):
        lw.forall(hulls)(3, b, wanted)
    assert a.tobytes() == b.tobytes() and num.tobytes() == wanted.tobytes()


# ---- what is refused ----


@pytest.mark.parametrize("statement, said", [
    ("a[i].nothing = 3.0", "E161: the record has no field `nothing`"),
    ("a[i] = 3.0", r"E120: an item of type Interval\(lo: float64, hi: float64\)(#\d+)? cannot receive this(.|\n)*assign an object of `Interval`"),
    ("a[i] = Holder(3.0)", "E120: an item of type Interval"),
    ("a[i].lo = 1j", "E142"),
    ("a[i] = Interval(1j, 2.0)", "E142"),
    ("a[i] += Interval(1.0, 2.0)", r"E165: an augmented assignment to an object in an array(.|\n)*a\[i\] = a\[i\] \+ \.\.\."),
    ("num[i] = a[i].foo", "E161: no attribute `foo`"),
    ("p = Plain(1.0)\n    if i > 0: p.late = 2.0\n    plain[i] = p", "E110: field `late` of `Plain` may have no value|E165: an item of"),
    ("p = Plain(1.0)\n    p.more = 2.0\n    plain[i] = p", r"E165: an item of Plain\(x: float64\) does not have the fields of the object"),
    ("slotted[i].x = 1.0", "E165: the dataclass `Slotted` is frozen"),
])
def test_refused(statement, said, tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(f"def kernel(i, a, num, plain, slotted):\n    {statement}\n")
    space = dict(globals())
    exec(compile(path.read_text(), str(path), "exec"), space)
    with pytest.raises(lw.errors.CompileError, match=said):
        lw.forall(space["kernel"])(N, intervals(), np.zeros(N), np.zeros(N, dtype_of(Plain)), np.zeros(N, dtype_of(Slotted)))


def test_read_only_arrays():
    a = intervals()
    a.flags.writeable = False
    with pytest.raises(lw.errors.CompileError, match="E162"):
        lw.forall(views)(N, a, np.zeros(N))


# ---- dtypes ----


def test_dtypes():
    assert dtype_of(Interval) is dtype_of(Interval) and dtype_of(Interval).names == ("lo", "hi")
    assert dtype_of(Body)["pos"].type is dtype_of(Interval).type
    assert dtype_of(Body)["f"] == np.float32 and dtype_of(Body)["n"] == np.int64
    assert dtype_of(Slotted)["y"] == np.int64 and dtype_of(Pair)["b"] == np.int64
    assert dtype_of(Untyped, x=lw.float32, y=np.int8).fields["y"] == (np.dtype("i1"), 0)
    assert dtype_of(Interval, lo=lw.float32)["lo"] == np.float32 and dtype_of(Interval)["lo"] == np.float64
    assert dtype_of(Body).isalignedstruct


def test_dtypes_keep_their_class():
    a = intervals()
    kept = [a[1:], a[::-1], a.copy(), a.reshape(5, 1), np.stack([a, a])[0], np.concatenate([a, a]), pickle.loads(pickle.dumps(a)), copy.deepcopy(a), np.sort(a, order="lo"),
            np.broadcast_to(a, (2, N))[0], a[[0, 2]], np.asarray(a), np.ascontiguousarray(a), np.zeros_like(a), np.empty(3, a.dtype), a.astype(a.dtype)]
    for b in kept:
        assert isinstance(b[0] if b.ndim == 1 else b[0, 0], Interval), b
    raw = np.frombuffer(a.tobytes(), a.dtype)
    assert raw[1].width == a[1].width and not isinstance(raw.view([("lo", "f8"), ("hi", "f8")])[0], Interval)


def test_pickles_with_properties(monkeypatch):
    pickled = pickle.dumps((np.array([(1, 2), (3, 5)], dtype_of(Slotted)), np.array([(1, 2)], dtype_of(Pair)), intervals()))
    monkeypatch.setattr(_elements, "_types", {})  # a process that has made none of these types
    slotted, pairs, a = pickle.loads(pickled)
    assert [(x.mean, x.sum(), x.x) for x in slotted] == [(1.5, 3.0, 1.0), (4.0, 8.0, 3.0)]
    assert pairs[0].half == 0.5 and pairs[0].product() == 2.0 and a[1].width == intervals()[1].width
    assert pickle.loads(pickle.dumps(slotted)).dtype.type is slotted.dtype.type


def test_fields_that_properties_name():
    a = np.array([(1, 2), (3, 4)], dtype_of(Behind, _x=lw.float64, _y=np.int64))
    assert a[1].pair == 7.0 and lw.jit(lambda a: a[0].pair + a[1].pair)(a) == 10.0
    assert dtype_of(Behind, _z=float, _x=float).names == ("_z", "_x")


def test_annotations_that_are_not_bound():
    assert dtype_of(Partly, other=lw.int8).names == ("x", "y", "other") and dtype_of(Partly, other=lw.int8)["x"] == np.float64
    with pytest.raises(TypeError, match="the field `other` of `Partly` has the type 'Nowhere'"):
        dtype_of(Partly)


def test_elements_in_python():
    a = np.zeros(3, dtype_of(Body))
    a[1].step(4)
    a[1].pos.hi = 3
    a[1].pos = Interval(1.0, 7.0)
    assert a["n"].tolist() == [0, 1, 0] and a[1].pos.width == 6 and repr(a[1]).startswith("Body(pos=Interval(lo=1.0, hi=7.0)")
    assert isinstance(a[1], Body) and a[1].__class__ is Body and str(a[1]) == repr(a[1])
    s = np.array([(1, 2)], dtype_of(Slotted))
    assert s[0].sum() == 3 and s[0] == Slotted(1.0, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        s[0].x = 1
    p = np.array([(1, 2)], dtype_of(Pair))
    assert p[0].product() == 2 and tuple(p[0]) == (1, 2) and isinstance(p[0], Pair)
    assert type(a[0])(Interval(0.0, 1.0)) == Body(Interval(0.0, 1.0))
    with pytest.raises(TypeError):
        np.zeros(1, dtype_of(Plain))[0] + 1.0  # as of objects, and not what NumPy does with items
    assert bool(np.zeros(1, dtype_of(Plain))[0]) is True and bool(a[0].pos) is False


def test_array_of():
    a = array_of([Body(Interval(1, 2), 3, 4), Body(Interval(5, 6))])
    assert a["pos"]["hi"].tolist() == [2, 6] and a.dtype is dtype_of(Body)
    assert array_of((Untyped(k, k) for k in range(3)), dtype_of(Untyped, x=float, y=int))["x"].tolist() == [0, 1, 2]
    assert array_of([], dtype_of(Interval)).shape == (0,)


@pytest.mark.parametrize("call, error, said", [
    (lambda: dtype_of(Untyped), TypeError, r"`Untyped` does not say which fields .* dtype_of\(Untyped, x=lw.float64\)"),
    (lambda: dtype_of(Untyped, x=float), TypeError, "the field `y` of `Untyped` has no type: annotate it, or name it here"),
    (lambda: dtype_of(3), TypeError, "expected a class, not 3"),
    (lambda: dtype_of(Untyped, x=str, y=int), TypeError, "the field `x` of `Untyped` has the type <class 'str'>; expected a number's"),
    (lambda: dtype_of(Untyped, z=float), TypeError, "`Untyped` has no field `z`"),
    (lambda: dtype_of(Interval, lo=[1]), TypeError, "the field `lo`"),
    (lambda: dtype_of(enum.Enum), TypeError, "does not say which fields"),
    (lambda: dtype_of(type("T", (tuple,), {})), TypeError, "is not a namedtuple"),
    (lambda: dtype_of(collections.namedtuple("T", "a b")), TypeError, "without methods, which is a plain tuple in compiled code"),
    (lambda: array_of([]), ValueError, "the dtype has to be given"),
    (lambda: array_of([Untyped(1, 2)]), TypeError, "does not say which fields"),
    (lambda: array_of([Interval(1, 2)], np.dtype("f8")), TypeError, "is not the dtype of a class"),
    (lambda: array_of([Interval(1, 2), Plain(3)]), TypeError, "an object has no field"),
])
def test_bad_dtypes(call, error, said):
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize(("objects", "error", "text"), [
    (None, TypeError, "array_of: expected an iterable of objects of one class, not NoneType"),
    ([], ValueError, r"array_of\(\[\], dtype_of\(C\)\)"),
    ([[1]], TypeError, "array_of: its second argument is the dtype to make. `list` does not say"),
])
def test_array_of_what_is_none(objects, error, text):
    with pytest.raises(error, match=text):
        array_of(objects)


class Crooked(NamedTuple):
    x: float
    y: float

    def __getitem__(self, i):
        return 7.0


def test_elements_of_namedtuples_with_an_index_of_their_own():
    """A tuple iterates over and compares its items, whatever `__getitem__` of its class does."""
    a = np.zeros(3, dtype_of(Crooked, x=float, y=float))
    a["x"], a["y"] = (1, 1, 3), (2, 2, 4)
    assert a[0] == a[1] and a[0] != a[2] and a[0] < a[2] and a[0] == Crooked(1.0, 2.0)
    assert list(a[2]) == list(Crooked(3.0, 4.0)) == [3.0, 4.0] and a[0][5] == 7.0

