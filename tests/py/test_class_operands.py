"""Objects and arrays of them as operands and results of vectorize, guvectorize and reduce: what the same functions give in Python."""
import dataclasses
import pickle
from typing import NamedTuple

import numpy as np
import pytest

import lanewise as lw
from lanewise.extending import array_of, dtype_of


@dataclasses.dataclass
class Interval:
    lo: float
    hi: float

    def __add__(self, o):
        return Interval(self.lo + o.lo, self.hi + o.hi)

    def __mul__(self, o):
        a, b, c, d = self.lo * o.lo, self.lo * o.hi, self.hi * o.lo, self.hi * o.hi
        return Interval(min(a, b, c, d), max(a, b, c, d))

    def width(self):
        return self.hi - self.lo


class Vector(NamedTuple):
    x: float
    y: float

    def dot(self, o):
        return self.x * o.x + self.y * o.y

    def plus(self, o):
        return Vector(self.x + o.x, self.y + o.y)


@dataclasses.dataclass
class Body:
    pos: Vector
    m: float

    def moved(self, d):
        return Body(Vector(self.pos.x + d, self.pos.y), self.m)


class Named:
    def __init__(self, name, x):
        self.name = name
        self.x = x


N = 5
OBJECTS = [Interval(float(i), i + 1.0) for i in range(N)]
OTHERS = [Interval(float(-i), i * 2.0) for i in range(N)]


@pytest.fixture
def a():
    return array_of(OBJECTS)


@pytest.fixture
def b():
    return array_of(OTHERS)


def same(array, objects):
    """Check that the results are these objects."""
    assert array.dtype.type is dtype_of(type(objects[0])).type, array.dtype
    assert array.tobytes() == array_of(objects, array.dtype).tobytes(), (array, objects)


# ---- vectorize ----


@lw.vectorize
def add(p, q):
    return p + q


@lw.vectorize
def width(p):
    return p.width()


@lw.vectorize
def make(lo, w):
    return Interval(lo, lo + w)


@lw.vectorize
def all_three(p, q):
    return p + q, p * q, p.width()


@lw.vectorize
def move(body, d):
    return body.moved(d)


def test_arrays_as_operands(a, b):
    same(add(a, b), [p + q for p, q in zip(OBJECTS, OTHERS)])
    np.testing.assert_array_equal(width(b), [p.width() for p in OTHERS])
    total, product, first = all_three(a, b)
    same(total, [p + q for p, q in zip(OBJECTS, OTHERS)])
    same(product, [p * q for p, q in zip(OBJECTS, OTHERS)])
    np.testing.assert_array_equal(first, np.ones(N))
    same(add(a[::-1], b[::-1]), [p + q for p, q in zip(OBJECTS, OTHERS)][::-1])
    same(add(a[:, None], b[None, :]).ravel(), [p + q for p in OBJECTS for q in OTHERS])


def test_objects_as_operands(a):
    k = Interval(10.0, 20.0)
    same(add(a, k), [p + k for p in OBJECTS])
    same(add(k, a), [k + p for p in OBJECTS])
    got = add(k, k)
    assert isinstance(got, Interval) and (got.lo, got.hi) == (20.0, 40.0)
    assert width(k) == 10.0 and type(width(k)) is np.float64
    assert add(a[1], a[2]).hi == 5.0


def test_objects_as_results():
    made = make(np.arange(3.0), 2.0)
    same(made, [Interval(0.0, 2.0), Interval(1.0, 3.0), Interval(2.0, 4.0)])
    assert make(1.0, 2.0).width() == 2.0
    assert make(np.arange(3, dtype=np.float32), np.float32(2)).dtype["hi"] == np.float32
    assert make(np.arange(4).reshape(2, 2), 1).shape == (2, 2)
    same(make(np.arange(3.0), 2.0), [Interval(0.0, 2.0), Interval(1.0, 3.0), Interval(2.0, 4.0)])  # again, as is known now


def test_nested_objects_and_namedtuples():
    bodies = array_of([Body(Vector(1.0, 2.0), float(i)) for i in range(3)])
    same(move(bodies, np.arange(3.0)), [Body(Vector(1.0 + i, 2.0), float(i)) for i in range(3)])
    same(lw.vectorize(lambda body: body.pos)(bodies), [Vector(1.0, 2.0)] * 3)
    v = array_of([Vector(1.0, 2.0), Vector(3.0, 4.0)])
    np.testing.assert_array_equal(lw.vectorize(lambda p, q: p.dot(q))(v, Vector(1.0, 10.0)), [21.0, 43.0])
    same(lw.vectorize(lambda p, q: p.plus(q))(v, v), [Vector(2.0, 4.0), Vector(6.0, 8.0)])
    x, y = lw.vectorize(lambda x: Vector(x, -x))(np.arange(2.0))  # a namedtuple of numbers is a tuple of outputs
    assert x.tolist() == [0, 1] and y.tolist() == [0, -1]


def test_outputs(a, b):
    out = np.zeros(N, dtype_of(Interval))
    assert add(a, b, out=out) is out and add(a, b, out) is out
    same(out, [p + q for p, q in zip(OBJECTS, OTHERS)])
    out[:] = 0
    add(a, b, out=out, where=np.arange(N) % 2 == 0)
    assert out["lo"][1::2].tolist() == [0, 0] and out["hi"][::2].tolist() == [1, 7, 13]
    strided = np.zeros(2 * N, dtype_of(Interval))[::2]
    add(a, b, out=strided)
    same(strided.copy(), [p + q for p, q in zip(OBJECTS, OTHERS)])
    add(a, b, out=a)
    same(a, [p + q for p, q in zip(OBJECTS, OTHERS)])
    numbers = np.zeros(N)
    assert width(b, out=numbers) is numbers and numbers[2] == 6.0
    assert add(a, b, casting="unsafe").shape == (N,)


@pytest.mark.parametrize("call, error, said", [
    (lambda a: add(a, 3), lw.errors.CompileError, "E161: no attribute `lo`(.|\n)*__add__"),
    (lambda a: lw.vectorize(lambda p: p.foo)(a), lw.errors.CompileError, r"E161: no attribute `foo`(.|\n)*Interval\(lo: float64"),
    (lambda a: lw.vectorize(lambda p: None)(a), TypeError, "gives None, which an element"),
    (lambda a: lw.vectorize(lambda p: (p, (p.lo, 1.0)))(a), TypeError, "gives a tuple in a tuple"),
    (lambda a: lw.vectorize(lambda p: p if p.lo > 1 else p.lo)(a), lw.errors.CompileError, "E140"),
    (lambda a: lw.vectorize(["float64(float64)"])(lambda x: x)(a), TypeError, "no signature of `<lambda>` takes an object"),
    (lambda a: add(a), TypeError, "`add` takes 2 operands, 1 given"),
    (lambda a: add(a, a, foo=1), TypeError, "`add` got foo=, which a call with objects does not take; expected out, where, casting, order, subok, stream"),
    (lambda a: add(a, a, a.copy(), out=a.copy()), TypeError, "cannot specify 'out' as both a positional and keyword argument"),
    (lambda a: add(a, a, a.copy(), out=None), TypeError, "cannot specify 'out' as both a positional and keyword argument"),
    (lambda a: add(a, a, out=np.zeros(N)), TypeError, "out= is an array of dtype"),
    (lambda a: add(a, a[:3]), ValueError, "shape"),
    (lambda a: add.reduce(a), TypeError, r"`add.reduce` takes no objects; write lanewise.reduce\(add.py_func\)\(a\)"),
    (lambda a: add.accumulate(a), TypeError, r"write lanewise.reduce\(add.py_func\).accumulate\(a\)"),
    (lambda a: add.reduceat(a, [0, 1]), TypeError, r"write lanewise.reduce\(add.py_func\).reduceat\(a, indices\)"),
    (lambda a: add.outer(a, a), TypeError, r"write add\(a\[:, None\], b\[None, :\]\)"),
    (lambda a: add.at(a, [0], a[:1]), TypeError, r"write a\[indices\] = add\(a\[indices\], b\)"),
    (lambda a: lw.vectorize(lambda s: s.x)(Named("n", 1.0)), TypeError, "argument `s.name` is a str"),
    (lambda a: lw.vectorize(lambda p, k: p.lo + k, static=["k"])(a, [2.0]), TypeError, "static argument `k` must be hashable .* not list"),
    (lambda a: lw.vectorize(lambda p, k: p.lo + k, static=["k"])(a), TypeError, "missing a required argument: 'k'"),
    (lambda a: lw.vectorize(lambda x, k: x + k.lo, static=["k"])(1.0, OBJECTS[0]), TypeError, "must be hashable .* not Interval; make its class a dataclass with frozen=True, or take"),
    (lambda a: add(a, np.zeros(N, [("q", "f8")])), TypeError, "a record of .* among objects"),
    (lambda a: lw.vectorize(changing)(a, 1.0), TypeError, "fields of its operand `p` are assigned"),
])
def test_refused_by_vectorize(call, error, said, a):
    with pytest.raises(error, match=said):
        call(a)


def changing(p, d):
    p.lo = d
    return p


def test_ufuncs_of_objects_are_pickled(a, b):
    again = pickle.loads(pickle.dumps(add))
    same(again(a, b), [p + q for p, q in zip(OBJECTS, OTHERS)])


def test_changed_methods_are_seen(a, monkeypatch):
    total = lw.reduce(lambda p, q: p + q)
    count = lw.guvectorize("(n)->()")(lambda xs, out: store(xs, out))
    assert width(a).tolist() == [1.0] * N and total(a).hi == 15.0 and count(a).lo == 1.0
    monkeypatch.setattr(Interval, "width", lambda self: self.hi * 100)
    monkeypatch.setattr(Interval, "__add__", lambda self, o: Interval(min(self.lo, o.lo), max(self.hi, o.hi)))
    assert width(a).tolist() == [(i + 1) * 100 for i in range(N)] and total(a).hi == 5.0 and count(a).lo == 100.0


def store(xs, out):
    out[0].lo = xs[0].width()


@pytest.mark.usefixtures("a")
def test_overridden_operands():
    class Foreign:
        def __init__(self, x):
            self.x = x

        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return "mine"

    assert lw.vectorize(lambda p: p + 1)(Foreign(3.0)) == "mine"


# ---- guvectorize ----


@lw.guvectorize("(n)->()")
def total(xs, out):
    acc = Interval(0.0, 0.0)
    for i in range(xs.shape[0]):
        acc = acc + xs[i]
    out[0] = acc


@lw.guvectorize("(n),(n)->(n)")
def products(xs, ys, out):
    for i in range(len(xs)):
        out[i] = xs[i] * ys[i]


@lw.guvectorize("(n),(n)->()")
def scalar_product(xs, ys):
    acc = Interval(0.0, 0.0)
    for i in range(len(xs)):
        acc = acc + xs[i] * ys[i]
    return acc


@lw.guvectorize("(n),()->(n)")
def shifted(xs, k, out):
    for i in range(len(xs)):
        out[i] = xs[i] + k


def add_up(objects):
    acc = Interval(0.0, 0.0)
    for p in objects:
        acc = acc + p
    return acc


def test_gufuncs(a, b):
    got = total(a)
    assert isinstance(got, Interval) and got.hi == add_up(OBJECTS).hi
    rows = np.stack([a, b, a])
    same(total(rows), [add_up(OBJECTS), add_up(OTHERS), add_up(OBJECTS)])
    same(products(rows, b)[2], [p * q for p, q in zip(OBJECTS, OTHERS)])
    same(products(a[::-1], b[::-1]), [p * q for p, q in zip(OBJECTS, OTHERS)][::-1])
    assert scalar_product(a, b).hi == add_up([p * q for p, q in zip(OBJECTS, OTHERS)]).hi
    same(scalar_product(rows, a), [add_up([p * q for p, q in zip(row, OBJECTS)]) for row in (OBJECTS, OTHERS, OBJECTS)])
    same(shifted(a, Interval(1.0, 1.0)), [p + Interval(1.0, 1.0) for p in OBJECTS])
    same(shifted(rows, array_of([Interval(k, k) for k in (1.0, 2.0, 3.0)]))[2], [p + Interval(3.0, 3.0) for p in OBJECTS])
    out = np.zeros((3, 4), dtype_of(Interval))[:, ::2][:, 0]
    assert total(rows, out=out) is out
    same(out.copy(), [add_up(OBJECTS), add_up(OTHERS), add_up(OBJECTS)])
    turned = np.zeros((N, 3), dtype_of(Interval)).T
    products(rows, b, out=turned)
    same(turned[0].copy(), [p * q for p, q in zip(OBJECTS, OTHERS)])


@lw.guvectorize("(n)->()")
def writes_to_inputs(xs, out):
    out[0] = xs[0]
    xs[0].lo = 3.0


@lw.guvectorize("(n),(n)->()")
def mixed(xs, ys, out):
    out[0] = ys[0]


@pytest.mark.parametrize("call, error, said", [
    (lambda a: writes_to_inputs(a), lw.errors.CompileError, "E162(.|\n)*xs\\[0\\].lo = 3.0"),
    (lambda a: total(a, where=True), TypeError, "`total` got where=, which a call with objects does not take; expected out, stream"),
    (lambda a: total(a, np.zeros((), a.dtype), out=np.zeros((), a.dtype)), TypeError, "cannot specify 'out' as both a positional and keyword argument"),
    (lambda a: total(a, np.zeros((), a.dtype), out=None), TypeError, "cannot specify 'out' as both a positional and keyword argument"),
    (lambda a: mixed(a, np.ones(N)), TypeError, "different dtypes, so that those of its outputs are not known: give them by out="),
    (lambda a: products(a, a[:3]), ValueError, "dimension n of"),
    (lambda a: total(a[0]), ValueError, "an operand has 0 dimensions"),
    (lambda a: total(a, out=np.zeros(3, a.dtype)), ValueError, "out= has the shape"),
    (lambda a: lw.guvectorize("(n)->(m)")(lambda x, out: store(x, out))(a), ValueError, "no operand says how large dimension m"),
    (lambda a: lw.guvectorize("(n)->()")(lambda x, out: x[0].foo)(a), lw.errors.CompileError, "E161: no attribute `foo`"),
    (lambda a: lw.guvectorize("(n?)->()")(lambda x, out: store(x, out))(a), TypeError, "optional and broadcast dimensions"),
])
def test_refused_by_guvectorize(call, error, said, a):
    with pytest.raises(error, match=said):
        call(a)


def test_outputs_of_another_dtype(a):
    out = np.zeros(())
    mixed(a, np.arange(5.0) + 7, out=out)
    assert out == 7.0


# ---- reduce ----


SUM = lw.reduce(lambda x, y: x + y)


def test_reductions(a, b):
    got = SUM(a)
    assert isinstance(got, Interval) and (got.lo, got.hi) == (10.0, 15.0)
    rows = np.stack([a, b])
    same(SUM(rows, axis=1), [add_up(OBJECTS), add_up(OTHERS)])
    same(SUM(rows, axis=0), [p + q for p, q in zip(OBJECTS, OTHERS)])
    assert SUM(rows, axis=None).lo == 0.0 and SUM(rows, axis=1, keepdims=True).shape == (2, 1)
    same(SUM.accumulate(a), [add_up(OBJECTS[: i + 1]) for i in range(N)])
    same(SUM.reduceat(a, [0, 2]), [add_up(OBJECTS[:2]), add_up(OBJECTS[2:])])
    keys, sums = SUM.by_key([1, 1, 2, 2, 2], a)
    assert keys.tolist() == [1, 2]
    same(sums, [add_up(OBJECTS[:2]), add_up(OBJECTS[2:])])
    assert SUM(a, initial=Interval(10.0, 20.0)).hi == 35.0
    assert SUM(a, where=np.arange(N) > 2, initial=Interval(0.0, 0.0)).lo == 7.0
    out = np.zeros((), dtype_of(Interval))
    assert SUM(a, out=out) is out and out["hi"] == 15.0


def test_order_of_combination(a):
    """A function that is not associative shows the order."""
    last = lw.reduce(lambda x, y: Interval(x.lo, y.hi))
    got = last(np.stack([a, a]), axis=1)
    same(got, [Interval(0.0, 5.0)] * 2)
    many = make(np.arange(100000.0), 1.0)
    got = last(many)
    assert (got.lo, got.hi) == (0.0, 100000.0)


def test_map_and_finish(a):
    hull = lw.reduce(lambda x, y: Interval(min(x.lo, y.lo), max(x.hi, y.hi)), map=lambda v: Interval(v, v), finish=lambda i: i.width())
    assert hull(np.array([3.0, -1.0, 7.0])) == 8.0
    np.testing.assert_array_equal(hull(np.array([[3.0, -1.0], [5.0, 5.0]]), axis=1), [4.0, 0.0])
    whole = lw.reduce(lambda x, y: x + y, map=lambda v: Interval(v, v * 2))
    assert whole(np.arange(4.0)).hi == 12.0
    same(whole(np.ones((3, 2)), axis=0), [Interval(3.0, 6.0)] * 2)
    both = lw.reduce(lambda x, y: x + y, finish=lambda i: (i.width(), i))
    w, i = both(a)
    assert w == 5.0 and i.lo == 10.0
    numbers = lw.reduce(lambda x, y: x + y, map=lambda p: p.width())
    assert numbers(a) == 5.0
    at = lw.reduce(lambda x, y: y if y[0] > x[0] else x, map=lambda p, index: (p.hi, index), finish=lambda v, i: i)
    assert at(a) == 4
    pairs = lw.reduce(lambda x, y: (x[0] + y[0], x[1] + y[1]), map=lambda p: (p, 1), finish=lambda s, n: s.hi / n)
    assert pairs(a) == 3.0
    two = lw.reduce(lambda x, y: x + y, map=lambda p, k: p.lo * k)
    assert two(a, np.arange(5.0)) == 30.0


def test_identities(a):
    zero = lw.reduce(lambda x, y: x + y, identity=Interval(0.0, 0.0))
    assert zero(a[:0]).hi == 0.0 and zero(a).hi == 15.0
    assert zero.accumulate(a, exclusive=True)["hi"].tolist() == [0, 1, 3, 6, 10]
    with pytest.raises(ValueError, match="zero-size array to reduction operation .* which has no identity"):
        SUM(a[:0])


@pytest.mark.parametrize("call, error, said", [
    (lambda a: lw.reduce(lambda x, y: x.bar + y)(a), lw.errors.CompileError, "E161: no attribute `bar`"),
    (lambda a: lw.reduce(lambda x, y: x.lo + y.lo)(a), TypeError, r"combines two of Interval\(lo: float64, hi: float64\) to float64"),
    (lambda a: SUM(a, dtype="f4"), TypeError, "got dtype=, which objects do not have"),
    (lambda a: SUM.by_key(a, a), TypeError, "keys are objects, which are not compared"),
    (lambda a: lw.reduce(lambda x, y: x, map=lambda v: (Interval(v, v), None))(np.ones(3)), TypeError, "gives None"),
    (lambda a: lw.reduce(lambda x, y: x, identity="none"), TypeError, "identity= must be a number"),
    (lambda a: SUM(a, a), TypeError, "takes 2 arrays, and has no map="),
])
def test_refused_by_reduce(call, error, said, a):
    with pytest.raises(error, match=said):
        call(a)
