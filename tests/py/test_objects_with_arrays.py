"""Objects whose fields are arrays, tuples, records, slices, None and members of enum classes as operands of ufuncs and gufuncs: what the
same methods give in Python."""

import dataclasses
import enum
from typing import Any, NamedTuple

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

X = np.arange(4.0)
T = np.arange(10.0) ** 2
RECORD = np.array([(2.0, 3)], [("a", "f8"), ("b", "i4")])[0]


class Mode(enum.Enum):
    TIMES = 1
    PLUS = 2


class Holds:
    """An object with one field, whose name each test chooses."""

    def __init__(self, v):
        self.v = v


class Table(Holds):
    def at(self, x):
        return self.v[int(x)]


class Matrix(Holds):
    def at(self, x):
        return self.v[int(x), 1]


class Pair(Holds):
    def at(self, x):
        return self.v[0] * x + self.v[1]


class Tables(Holds):
    def at(self, x):
        return self.v[0][int(x)] + self.v[1][1][0] * x


class Record(Holds):
    def at(self, x):
        return self.v["a"] * x + self.v["b"]


class Maybe(Holds):
    def at(self, x):
        return x if self.v is None else x + self.v


class Choice(Holds):
    def at(self, x):
        return x * 3 if self.v is Mode.TIMES else x + 3


class Cut(Holds):
    def at(self, x):
        return x + self.v.start


class Around(Holds):
    def at(self, x):
        return self.v.at(x) + 1


@dataclasses.dataclass(frozen=True)
class Frozen:
    t: np.ndarray
    s: float

    def at(self, x):
        return self.s * self.t[int(x)]


class Named(NamedTuple):
    t: Any
    s: float

    def at(self, x):
        return self.s * self.t[int(x)]


@dataclasses.dataclass
class Everything:
    scale: float
    table: Any
    mode: Any
    offset: Any
    pair: tuple

    def at(self, x):
        y = self.scale * self.table[int(x)] + self.pair[0] * x + self.pair[1][int(x)]
        if self.offset is not None:
            y += self.offset
        return y if self.mode is Mode.TIMES else -y


OBJECTS = {
    "array": Table(T), "strided array": Table(np.arange(20.0)[::2]), "int array": Table(np.arange(9)), "matrix": Matrix(T.reshape(5, 2)), "tuple": Pair((2.0, 1)),
    "tuple of tuples": Tables((T, (0, (2.5,)))), "record": Record(RECORD), "None": Maybe(None), "number": Maybe(3.0), "member": Choice(Mode.TIMES),
    "other member": Choice(Mode.PLUS), "slice": Cut(slice(2, None)), "object": Around(Table(T)), "object of objects": Around(Around(Pair((1.0, 2.0)))),
    "frozen dataclass": Frozen(T, 2.0), "namedtuple": Named(T, 2.0), "everything": Everything(2.0, T, Mode.PLUS, None, (1.5, np.arange(5))),
    "all numbers but one": Everything(2.0, T, Mode.TIMES, 4.0, (1.5, np.arange(5))),
}


@lw.vectorize
def at(o, x):
    return o.at(x)


@lw.vectorize(excluded="table", static="more")
def at_and(more, x, o, table):
    return o.at(x) + table[1] + more


@lw.guvectorize("(n),()->(n)")
def along(x, o, out):
    for i in range(x.size):
        out[i] = o.at(x[i])


@lw.guvectorize("(n),()->()", excluded="table", static="more")
def total(x, o, table, out, more=1):
    s = 0.0
    for i in range(x.size):
        s += o.at(x[i])
    out[0] = s + table[1] + more


@pytest.mark.parametrize("name", OBJECTS)
def test_they_are_operands(name):
    o = OBJECTS[name]
    expected = np.array([o.at(x) for x in X])
    np.testing.assert_array_equal(at(o, X), expected)
    np.testing.assert_array_equal(at(x=X, o=o), expected)
    assert at(o, 2.0) == expected[2]
    np.testing.assert_array_equal(at(o, X[:, None] + np.zeros(3)), np.repeat(expected[:, None], 3, 1))
    np.testing.assert_array_equal(at_and(5, X, o, T), expected + 6)
    np.testing.assert_array_equal(along(X, o), expected)
    np.testing.assert_array_equal(along(np.stack([X, X]), o), [expected, expected])
    assert total(X, o, T, more=2) == expected.sum() + 3
    out = np.zeros(4)
    assert at(o, X, out=out, where=X > 1) is out
    np.testing.assert_array_equal(out, np.where(X > 1, expected, 0))
    np.testing.assert_array_equal(lw.njit(lambda o, x: at(o, x))(o, X), expected)
    with lw.config(target="cpu"):
        d = at(o, cuda.to_device(X))
        assert isinstance(d, cuda.DeviceArray)
        np.testing.assert_array_equal(d.copy_to_host(), expected)
    with lw.config(target="python"):
        np.testing.assert_array_equal(at(o, X), expected)


def test_values_of_fields_are_those_of_the_call():
    o = Everything(2.0, T, Mode.TIMES, None, (1.0, T))
    for name, value in (("table", T + 1), ("table", np.arange(5)), ("mode", Mode.PLUS), ("offset", 1.0), ("offset", None), ("pair", (2, T)), ("scale", np.float32(3.0))):
        setattr(o, name, value)
        np.testing.assert_array_equal(at(o, X), [o.at(x) for x in X])


def test_floats_are_those_of_fields_and_arrays():
    """As in objects that hold numbers only, a Python float in a field is a float64."""
    single = X.astype("f4")
    assert at(Frozen(T.astype("f4"), np.float32(2.0)), single).dtype == np.float32
    assert at(Frozen(T.astype("f4"), 2.0), single).dtype == np.float64


def test_two_objects_and_none_but_objects():
    difference = lw.vectorize(lambda o, p, x: o.at(x) - p.at(x))
    np.testing.assert_array_equal(difference(Table(T), Table(T * 2), X), -T[:4])
    np.testing.assert_array_equal(difference(Table(T), Frozen(T, 3.0), X), -2 * T[:4])
    sum_of = lw.vectorize(lambda o: o.t.sum() * o.s)
    assert sum_of(Frozen(T, 2.0)) == 2 * T.sum()
    assert lw.vectorize(lambda o: o.v.sum())(Table(T)) == T.sum()

    @lw.guvectorize("(),()->(n)")
    def first(o, p, out):
        for i in range(out.size):
            out[i] = o.at(i) + p.at(i)

    np.testing.assert_array_equal(first(Table(T), Frozen(T, 1.0), np.zeros(3)), 2 * T[:3])


def test_arrays_in_fields_can_be_written_to():
    @lw.vectorize
    def mark(o, x):
        o.v[int(x)] = x + 100
        return x

    table = Table(np.zeros(6))
    mark(table, X)
    assert table.v.tolist() == [100, 101, 102, 103, 0, 0]
    table.v.flags.writeable = False
    with pytest.raises(lw.errors.TypingError, match="E162"):
        mark(table, X)


def test_results_may_be_objects_of_numbers():
    class Point:
        def __init__(self, x, y):
            self.x = x
            self.y = y

    points = lw.vectorize(lambda o, x: Point(x, o.at(x)))(Table(T), X)
    np.testing.assert_array_equal(points["y"], T[:4])
    with pytest.raises(TypeError, match="gives an array, which an element of an array cannot be"):
        lw.vectorize(lambda o, x: Table(o.v))(Table(T), X)


def test_methods():
    class Curve:
        def __init__(self, knots, scale):
            self.knots = knots
            self.scale = scale

        @lw.vectorize
        def value(self, x, y):
            return self.scale * self.knots[int(x)] + y

        @lw.vectorize(static="power")
        def power(self, x, power=1):
            return self.knots[int(x)] ** power

    c = Curve(T, 2.0)
    np.testing.assert_array_equal(c.value(X, 1.0), 2 * T[:4] + 1)
    np.testing.assert_array_equal(c.power(X, 2), T[:4] ** 2)
    np.testing.assert_array_equal(c.value.outer(X, X), 2 * T[:4, None] + X)


def test_dask_arrays():
    da = pytest.importorskip("dask.array")
    d = da.from_array(X, chunks=3)
    for o in OBJECTS.values():
        lazy = at(o, d)
        assert isinstance(lazy, da.Array) and lazy.name == at(o, d).name
        np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), at(o, X))
        np.testing.assert_array_equal(at_and(5, d, o, T).compute(scheduler="synchronous"), at_and(5, X, o, T))
        np.testing.assert_array_equal(along(d.rechunk(-1), o).compute(scheduler="synchronous"), along(X, o))
    assert at(Table(T), d).name != at(Table(T + 1), d).name


@pytest.mark.parametrize(
    ("o", "error", "text"),
    [(Maybe("a"), TypeError, r"`at`: argument `o.v` is a str; expected an array, a number, .*; or name `o` in static="), (Pair([2.0, 1.0]), TypeError, r"argument `o.v` is a list; .*; pass a tuple"),
     (Around(Maybe({1: 2})), TypeError, r"argument `o.v.v` is a dict"), (Pair((1.0, [2.0])), TypeError, r"argument `o.v\[1\]` is a list"), (Maybe(abs), TypeError, "is a builtin_function"),
     (Maybe(2**70), TypeError, "argument `o.v` is 1180591620717411303424, which has more than 64 bits"),
     (Table(np.ma.array(T, mask=T > 3)), TypeError, "argument `o.v` is a masked array, whose mask compiled code would ignore")],
)
def test_what_no_field_can_be_is_named(o, error, text):
    with pytest.raises(error, match=text):
        at(o, X)
    with pytest.raises(error, match=text.replace("`at`", "`along`")):
        along(X, o)


def test_objects_without_an_end():
    o = Around(None)
    o.v = o
    with pytest.raises(ValueError, match="`at`: argument `o.*`: objects nested more than 8 deep"):
        at(o, X)


def test_static_objects_may_hold_texts():
    @dataclasses.dataclass(frozen=True)
    class Rule:
        name: str
        s: float

        def at(self, x):
            return self.s * x if self.name == "times" else self.s + x

    f = lw.vectorize(lambda rule, x: rule.at(x), static="rule")
    assert f(Rule("times", 3.0), 2.0) == 6 and f(Rule("plus", 3.0), 2.0) == 5


def test_fields_of_elements_are_numbers():
    points = lw.extending.array_of([Maybe(1.0), Maybe(2.0)], lw.extending.dtype_of(Maybe, v=lw.float64))
    g = lw.guvectorize("(n),()->(n)")(lambda p, o, out: None)
    text = "an object of class `Table` is taken as an element of an array here, .* its field `v` is a numpy.ndarray; pass the field as an argument of its own"
    with pytest.raises(TypeError, match=text):
        g(points, Table(T))
    with pytest.raises(TypeError, match=text):
        lw.reduce(lambda a, b: a + b, map=lambda o, x: o.at(x))(Table(T), X)


def test_fields_that_are_assigned_are_refused():
    class Counter:
        def __init__(self, n, t):
            self.n = n
            self.t = t

        def step(self, x):
            self.n = self.n + 1
            return self.n + x

    with pytest.raises(TypeError, match="fields of its operand `o` are assigned"):
        lw.vectorize(lambda o, x: o.step(x))(Counter(1.0, T), X)


def test_explain():
    assert "Table" in str(lw.explain(at, Table(T), X))
