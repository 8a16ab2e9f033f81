"""Objects of the user's classes as arguments from Python and as results to Python (docs/classes.md). The same function called with
the same objects in Python says what is right."""
import pickle
import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_kernels
from lanewise import cuda

N = 8


@dataclass
class Line:
    slope: float
    offset: float = 1.0

    def at(self, x):
        return self.slope * x + self.offset

    @property
    def double(self):
        return Line(2 * self.slope, 2 * self.offset)

    def __add__(self, other):
        return Line(self.slope + other.slope, self.offset + other.offset)


class Interval:
    def __init__(self, lo, hi):
        self.lo = lo
        self.hi = hi

    def __contains__(self, x):
        return self.lo <= x

    def clip(self, x):
        return min(max(x, self.lo), self.hi)

    def hull(self, other):
        return Interval(min(self.lo, other.lo), max(self.hi, other.hi))


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = b

    def difference(self):
        return self.a - self.b


@dataclass(frozen=True, slots=True)
class Frozen:
    gain: float
    inner: Interval

    def width(self):
        return self.gain * (self.inner.hi - self.inner.lo)


class Scaled(NamedTuple):
    x: float
    y: float = 2.0

    def __mul__(self, k):
        return Scaled(self.x * k, self.y * k)

    def total(self):
        return self.x + self.y


class Table:
    def __init__(self, values, scale):
        self.values = values
        self.scale = scale

    def at(self, i):
        return self.values[i] * self.scale

    def put(self, i, x):
        self.values[i] = x


class Text:
    def __init__(self, x, name):
        self.x = x
        self.name = name


class Dynamic:
    def __getattr__(self, name):
        return 1.0


def by_forall(i, line, span, table, both, x, out):
    line, span = both[0] + line.double, both[1].hull(span)
    out[i] = line.at(x[i]) + span.clip(x[i]) + table.at(i)
    table.put(i, out[i])


def by_thread(line, span, pair, x, out):
    i = cuda.grid(1)
    if i < len(out):
        out[i] = line.at(x[i]) + span.clip(x[i]) + (pair * 2.0).total() + len(pair)


def by_value(line, span, slots, frozen, pair, x):
    return line.double.at(x) + span.clip(x) + slots.difference() + frozen.width() + (pair * x).total()


def arguments(array=np.asarray):
    line, span = Line(2.0, 3.0), Interval(1, 4.5)
    return line, span, Table(array(np.arange(float(N))), 0.5), (Line(1.0), Interval(-1.0, 2.0))


def place(target):
    return cuda.to_device if target == "cuda" else np.asarray


def host(array):
    return array if isinstance(array, np.ndarray) else array.copy_to_host()


@needs_kernels
def test_forall(target):
    x, out, wanted = np.linspace(-2.0, 6.0, N), place(target)(np.zeros(N)), np.zeros(N)
    given, same = arguments(place(target)), arguments()
    lw.forall(by_forall)(N, *given, place(target)(x), out)
    for i in range(N):
        by_forall(i, *same, x, wanted)
    np.testing.assert_allclose(host(out), wanted, rtol=1e-14)
    np.testing.assert_array_equal(host(given[2].values), host(out))


@needs_kernels
def test_kernels(target):
    x, out = np.linspace(-2.0, 6.0, N), np.zeros(N)
    line, span, pair = Line(2.0), Interval(0.0, 3.0), Scaled(1.0, 5.0)
    lw.jit(by_thread, target=target)[1, 32](line, span, pair, x, out)
    np.testing.assert_allclose(out, [line.at(v) + span.clip(v) + (pair * 2.0).total() + 2 for v in x], rtol=1e-14)


@needs_kernels
def test_host_arrays_in_fields_travel(target):
    def kernel(table, out):
        i = cuda.grid(1)
        if i < len(out):
            out[i] = table.at(i)
            table.put(i, -1.0)

    table, out = Table(np.arange(4.0), 2.0), np.zeros(4)
    lw.jit(kernel, target=target)[1, 4](table, out)
    assert out.tolist() == [0, 2, 4, 6] and table.values.tolist() == [-1] * 4


def test_host_calls():
    given = Line(2.0, 3.0), Interval(1, 4), Slots(5.0, 2), Frozen(3.0, Interval(0.0, 1.5)), Scaled(1.0, 4.0), 2.5
    f = lw.jit(by_value)
    assert f(*given) == pytest.approx(by_value(*given))
    given[0].slope = 7.0
    assert f(*given) == pytest.approx(by_value(*given))
    assert pickle.loads(pickle.dumps(f))(*given) == pytest.approx(by_value(*given))


# ---- every generator compiles them for GPUs ----


@pytest.mark.parametrize("made", [lambda: lw.forall(by_forall), lambda: lw.jit(by_thread, target="cpu")])
def test_compiles_for_gpus(made):
    kernel = made()
    if isinstance(kernel, lw.Forall):
        kernel(N, *arguments(), np.zeros(N), np.zeros(N))
    else:
        kernel[1, 32](Line(1.0), Interval(0.0, 1.0), Scaled(1.0), np.zeros(N), np.zeros(N))
    cubins = kernel.inspect_cubin(target="sm_90")
    cubin = next(iter(cubins.values())) if isinstance(cubins, dict) else cubins
    assert bytes(cubin)[:4] == b"\x7fELF"


def of_object(i, line, x, out):
    out[i] = line.at(x[i])


def of_numbers(i, slope, offset, x, out):
    out[i] = slope * x[i] + offset


def instructions(kernel, *given):
    kernel(N, *given, np.zeros(N), np.zeros(N))
    text = kernel.inspect_ptx(target="sm_90")
    text = next(iter(text.values())) if isinstance(text, dict) else text
    return [line.split()[0] for line in text.splitlines() if re.match(r"\s+\w+(\.\w+)+\s", line) and not line.strip().startswith(".")]


def test_an_object_costs_what_its_fields_cost():
    assert instructions(lw.forall(of_object), Line(2.0, 3.0)) == instructions(lw.forall(of_numbers), 2.0, 3.0) != []


# ---- results ----


def test_results():
    line = lw.jit(lambda a, b: a + b)(Line(1, 2), Line(3, 4.0))
    assert line == Line(4, 6.0) and type(line) is Line and type(line.slope) is int and type(line.offset) is float
    pair = lw.jit(lambda p, k: p * k)(Scaled(1.0, 2.0), 3.0)
    assert pair == (3.0, 6.0) and type(pair) is Scaled
    frozen = lw.jit(lambda x: Frozen(x, Interval(x, 2 * x)))(1.5)
    assert frozen.width() == 2.25 and type(frozen.inner) is Interval
    slots, (text, nothing) = lw.jit(lambda x: (Slots(x, 1.0), ((x, 2), None)))(3.0)
    assert slots.difference() == 2.0 and text == (3.0, 2) and nothing is None
    assert lw.jit(lambda x: ((x, 1), (x,)))(2.0) == ((2.0, 1), (2.0,)), "tuples in tuples keep their structure"
    given = Line(1.0)
    assert lw.jit(lambda p: p)(given) == given and lw.jit(lambda p: p)(given) is not given


def test_init_is_not_run_again():
    """A result is made from its fields, because compiled code has already done what `__init__` does."""
    class Positive:
        def __init__(self, x):
            assert x > 0, "not positive"
            self.x = -x

    assert lw.jit(lambda x: Positive(x))(2.0).x == -2.0
    with pytest.raises(AssertionError, match="not positive"):
        lw.jit(lambda x: Positive(x))(-2.0)


# ---- types of fields ----


@lw.extending.register(lo=lw.float32)
class Registered:
    def __init__(self, lo, hi):
        self.lo = lo
        self.hi = hi


@lw.extending.register(a=lw.int16, b=lw.float64)
@dataclass
class RegisteredData:
    a: int
    b: float = 2


def test_registered_types():
    f = lw.jit(lambda p: p.lo + p.hi)
    assert f(Registered(1, 2)) == 3.0 and f(Registered(0.1, np.float32(0))) == float(np.float32(0.1))
    assert lw.jit(lambda x: Registered(x, 1).lo)(0.1) == float(np.float32(0.1))
    g = lw.jit(lambda x: RegisteredData(x).b / 4)
    assert g(3) == 0.5 and lw.jit(lambda p: p.a)(RegisteredData(3)) == 3


def test_registered_types_of_inherited_fields():
    class Derived(Changing):
        def __init__(self, x, y):
            super().__init__(x)
            self.y = y

        def rest(self, z):
            self.z = z

    assert lw.extending.register(Derived, x=lw.float32, y=lw.int64, z=lw.float32) is Derived
    assert lw.jit(lambda p: p.x + p.y)(Derived(0.1, 2)) == np.float32(0.1) + 2.0
    assert lw.jit(lambda x: Derived(x, 1).x)(0.1) == float(np.float32(0.1)) and lw.jit(lambda p: p.x)(Changing(0.1)) == 0.1

    @dataclass
    class Longer(RegisteredData):
        c: float = 0.0

    lw.extending.register(Longer, a=lw.int8, c=lw.float32)
    with pytest.raises(TypeError, match="the field `a` of `Longer` is registered as int8, and is 200"):
        lw.jit(lambda p: p.a)(Longer(200))


@pytest.mark.parametrize("call, said", [
    (lambda: lw.jit(lambda p: p.a)(RegisteredData(40000)), "argument `p`: the field `a` of `RegisteredData` is registered as int16, and is 40000"),
    (lambda: lw.jit(lambda p: p.a)(RegisteredData(1.5)), "the field `a` of `RegisteredData` is registered as int16, and is 1.5"),
    (lambda: lw.jit(lambda p: p.b)(RegisteredData(1, "x")), "the field `b` of `RegisteredData` is registered as float64"),
    (lambda: lw.jit(lambda x: RegisteredData(x).a)(1.5), "E142"),
    (lambda: lw.extending.register(Interval, z=lw.float64), "register: `Interval` has no field `z`"),
    (lambda: lw.extending.register(Interval, lo=3), "register: lo=3 must be the type of a number"),
    (lambda: lw.extending.register(Interval, lo=lw.float64[:]), "must be the type of a number"),
    (lambda: lw.extending.register(Scaled, x=lw.float64), "the items of a namedtuple have the types of their values, so `Scaled` cannot be registered"),
    (lambda: lw.extending.register(3, x=lw.float64), "expected a class, not 3"),
])
def test_registered_types_are_checked(call, said):
    with pytest.raises((TypeError, lw.errors.CompileError), match=re.escape(said)):
        call()


# ---- changes are seen ----


class Changing:
    def __init__(self, x):
        self.x = x

    def get(self):
        return self.x


def test_changed_methods_are_seen(monkeypatch):
    f = lw.jit(lambda p: p.get())
    assert f(Changing(2.0)) == 2.0
    monkeypatch.setattr(Changing, "get", lambda self: self.x + 10)
    assert f(Changing(2.0)) == 12.0


def test_fields_are_those_of_the_object():
    f = lw.jit(lambda p: p.x)
    assert f(Changing(2.0)) == 2.0 and f(Changing(3)) == 3 and f(Changing(True)) is True
    other = Changing(1.0)
    other.y = 5.0
    with pytest.raises(TypeError, match="argument `p` is a Changing"):
        f(other)


class Grown:
    """A class whose methods use attributes that `__init__` does not assign."""
    def __init__(self, x):
        self.x = x

    def grow(self):
        self.more = 1.0

    @property
    def total(self):
        return self.x + self.extra


@dataclass
class Bare:
    x: float


def test_attributes_that_methods_name():
    p, f = Grown(1.0), lw.jit(lambda p: p.x)
    p.more, p.extra = 2.0, 3.0
    assert f(p) == 1.0 and lw.jit(lambda p: p.more + p.total)(p) == 6.0
    p.other = 4.0
    with pytest.raises(TypeError, match="argument `p` is a Grown"):
        f(p)
    q = Bare(1.0)
    q.other = "text"
    assert f(q) == 1.0  # its fields alone are passed
    with pytest.raises(lw.errors.CompileError, match="E161: no attribute `other`"):
        lw.jit(lambda q: q.other)(q)


# ---- refused ----


def assigning(i, line, out):
    line.slope = 3.0
    out[i] = line.slope


@pytest.mark.parametrize("call, error, said", [
    (lambda: lw.forall(assigning)(N, Line(1.0), np.zeros(N)), lw.errors.CompileError, r"E165: a field of `Line` is assigned(.|\n)*line.slope = 3.0"),
    (lambda: lw.jit(lambda p: p.x)(Text(1.0, "n")), TypeError, "argument `p`: its field `name` is a str"),
    (lambda: lw.jit(lambda p: p)(Dynamic()), TypeError, "."),
    (lambda: lw.jit(lambda p: p.none)(Line(1.0)), lw.errors.CompileError, "E161"),
    (lambda: lw.jit([lw.float64(lw.types.UniTuple(lw.float64, 2))])(lambda p: p[0])(Line(1.0, 2.0)), TypeError, "E181"),
    (lambda: lw.vectorize(lambda p: p.none)(Line(1.0)), lw.errors.CompileError, "E161"),
])
def test_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_attributes_of_other_types_do_not_fit():
    f = lw.jit(lambda p: isinstance(p, Line))
    assert f(Line(1.0)) is True and f(Interval(1.0, 2.0)) is False and f(3.0) is False


def test_arrays_in_a_result():
    table = Table(np.arange(3.0), 1.0)
    same, twice = lw.jit(lambda t: (t, t.values * 2))(table)
    assert type(same) is Table and same.scale == 1.0 and twice.tolist() == [0, 2, 4]
    same.values[0] = 5
    assert table.values[0] == 5


def test_attribute_that_no_method_names():
    p = Interval(1.0, 2.0)
    p.extra = 3
    with pytest.raises(TypeError, match="argument `p` is an Interval with an attribute `extra` that no method of the class names"):
        lw.jit(lambda p: p.lo)(p)
