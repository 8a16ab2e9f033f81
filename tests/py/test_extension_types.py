"""Types of the user's own (docs/extending.md): which objects and calls have them, what their values consist of, in every generator
and on both targets."""
import dataclasses
import gc
import operator
import pickle
import re
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_kernels
from lanewise import cuda, extending, types
from lanewise.extending import make_attribute_wrapper, models, overload, overload_attribute, overload_method, register_model, type_callable, typeof_impl


def model(typeclass, *members, wrap=True):
    """A StructModel with these members, and an attribute for each of them."""
    @register_model(typeclass)
    class Model(models.StructModel):
        def __init__(self, dmm, fe_type):
            super().__init__(dmm, fe_type, members)
    for name, _ in members if wrap else ():
        make_attribute_wrapper(typeclass, name, name)


def new_type(name):
    """A class of types without parameters, and its only type."""
    typeclass = type(name + "Type", (types.Type,), {"__init__": lambda self: types.Type.__init__(self, name=name)})
    return typeclass, typeclass()


# ---- the example of numba's documents, with everything but its builders ----

class Span:
    """An interval of real numbers."""

    def __init__(self, lo, hi):
        self.lo = lo
        self.hi = hi

    @property
    def middle(self):
        return (self.lo + self.hi) / 2


class SpanType(types.Type):
    def __init__(self):
        super(SpanType, self).__init__(name="Span")


span_type = SpanType()


@typeof_impl.register(Span)
def typeof_span(val, c):
    return span_type


@type_callable(Span)
def type_span(context):
    def typer(lo, hi):
        if isinstance(lo, types.Float) and isinstance(hi, types.Float):
            return span_type
    return typer


@register_model(SpanType)
class SpanModel(models.StructModel):
    def __init__(self, dmm, fe_type):
        members = [("lo", types.float64), ("hi", types.float64)]
        models.StructModel.__init__(self, dmm, fe_type, members)


make_attribute_wrapper(SpanType, "lo", "lo")
make_attribute_wrapper(SpanType, "hi", "hi")


@overload_attribute(SpanType, "width")
def span_width(span):
    def getter(span):
        return span.hi - span.lo
    return getter


@overload_method(SpanType, "clamp")
def span_clamp(span, x):
    if isinstance(x, types.Float):
        return lambda span, x: min(max(x, span.lo), span.hi)


@overload(operator.add)
def span_add(x, y):
    if isinstance(x, SpanType) and isinstance(y, SpanType):
        return lambda x, y: Span(x.lo + y.lo, x.hi + y.hi)


X = np.linspace(-2.0, 3.0, 6)


def inside(span, x):
    return span.lo <= x < span.hi


def width_of_sum(x, y):
    return (Span(x, x + 1.0) + Span(y, y + 2.0)).width


def plus(x, y):
    total = Span(x[0], x[1]) + Span(y[0], y[1])
    return total.lo, total.hi


def test_inside_of_ufuncs():
    f = lw.vectorize(width_of_sum)
    assert np.array_equal(f(X, 1.0), np.full(6, 3.0)) and f(np.float32(1), np.float32(2)) == 3.0
    g = lw.vectorize(lambda x: Span(x, 3 * x).clamp(1.0) + Span(x, x + 2.0).middle)
    assert g(0.5) == 2.5


def test_inside_of_gufuncs():
    @lw.guvectorize("(n)->(k)", sizes={"k": lambda n: 2})
    def hull(row, out):
        span = Span(row[0], row[0])
        for x in row:
            span = Span(min(span.lo, x), max(span.hi, x))
        out[0], out[1] = span.lo, span.width
    assert hull(np.array([[1.0, 5.0, -2.0], [3.0, 3.0, 3.0]])).tolist() == [[-2.0, 7.0], [3.0, 0.0]]


def test_inside_of_reductions():
    total = lw.reduce(map=lambda x: (x, x + 1.0), combine=plus, finish=lambda s: Span(s[0], s[1]).width)
    assert total(X) == 6.0
    assert lw.reduce(map=lambda x: (x, x + 1.0), combine=plus)(X[:3]) == (-3.0, 0.0)


def kernel(i, span, x, out):
    out[i] = span.clamp(x[i]) + span.width


def by_thread(span, x, out):
    i = cuda.grid(1)
    if i < out.size:
        kernel(i, span, x, out)


@needs_kernels
def test_arguments_of_kernels(target):
    out = np.zeros(6)
    if target == "cpu":
        lw.forall(kernel)(6, Span(0, 2), X, out)
        assert np.array_equal(out, np.clip(X, 0, 2) + 2)
    out[:] = 0
    lw.jit(by_thread, target=target)[1, 32](Span(0, 2.0), X, out)
    assert np.array_equal(out, np.clip(X, 0, 2) + 2)


def test_host_calls():
    same, made = lw.jit(lambda s: s), lw.jit(lambda x, y: x + y)
    got = same(Span(2, 3))
    assert type(got) is Span and (got.lo, got.hi) == (2.0, 3.0) and type(got.lo) is float
    got = made(Span(2, 3), Span(4, 5.5))
    assert type(got) is Span and vars(got) == {"lo": 6.0, "hi": 8.5}
    assert lw.jit(inside)(Span(2, 3), 5) is False and lw.jit(inside)(Span(2, 3), 2.5) is True
    assert lw.jit(lambda s: s.width)(Span(2, 3)) == 1.0


@pytest.mark.parametrize("cc", ["sm_75", "sm_90", "sm_100"])
def test_code_for_gpus(cc):
    assert bytes(lw.compile(width_of_sum, "float64(float64, float64)", target=cc, output="cubin"))[:4] == b"\x7fELF"
    k = lw.forall(kernel)
    k(6, Span(0, 2), X, np.zeros(6))
    cubins = k.inspect_cubin(target=cc)
    assert bytes(next(iter(cubins.values())) if isinstance(cubins, dict) else cubins)[:4] == b"\x7fELF"


def test_a_type_costs_what_its_members_cost():
    def instructions(f):
        text = lw.compile(f, "float64(float64, float64)", target="sm_90", output="ptx")
        return [line.split()[0] for line in text.splitlines() if re.match(r"\s+\w+(\.\w+)+\s", line) and not line.strip().startswith(".")]
    assert instructions(width_of_sum) == instructions(lambda x, y: (x + 1.0 + (y + 2.0)) - (x + y)) != []


def test_fifteen_lines():
    """A class can be compiled with fifteen lines, which define its type and use none of numba's builders."""
    program = textwrap.dedent("""
        class Interval:
            def __init__(self, lo, hi):
                self.lo, self.hi = lo, hi
        IntervalType = type("IntervalType", (lw.types.Type,), {})
        interval = IntervalType("Interval")
        extending.typeof_impl.register(Interval, lambda val, c: interval)
        extending.as_numba_type.register(Interval, interval)
        @extending.register_model(IntervalType)
        class IntervalModel(extending.models.StructModel):
            def __init__(self, dmm, fe_type):
                super().__init__(dmm, fe_type, [("lo", lw.float64), ("hi", lw.float64)])
        extending.make_attribute_wrapper(IntervalType, "lo", "lo")
        extending.make_attribute_wrapper(IntervalType, "hi", "hi")
    """)
    namespace = {"lw": lw, "extending": extending}
    exec(compile(program, "<program>", "exec"), namespace)
    assert len(program.strip().splitlines()) < 15
    f = lw.jit(lambda s, x: s.lo <= x < s.hi)
    assert f(namespace["Interval"](0, 1), 0.5) is True


# ---- members ----

Mixed, mixed = new_type("Mixed")
model(Mixed, ("a", types.int16), ("b", types.float32), ("c", types.complex64), ("d", types.bool_))


@dataclasses.dataclass
class MixedData:
    d: bool
    a: int = 2
    b: float = 0.1
    c: complex = 1j

    def sum(self):
        return self.a + self.b

    def again(self):
        return type(self)(self.d, a=self.a + 1)


typeof_impl.register(MixedData, lambda val, c: Mixed())
type_callable(MixedData)(lambda context: lambda d, a=2, b=0.1, c=1j: mixed)


def test_members_have_their_types():
    told = []

    def tell(*x):
        raise RuntimeError

    @overload(tell)
    def select(*x):
        told.append(x)
        return lambda *x: 1.0
    got = lw.jit(lambda m: (tell(m.a, m.b, m.c, m.d), m))(MixedData(True, 3, 0.5, 2))[1]
    assert told == [(types.int16, types.float32, types.complex64, types.bool_)]
    assert type(got) is MixedData and got == MixedData(True, 3, 0.5, 2 + 0j) and type(got.a) is int


def test_calls_of_dataclasses():
    assert lw.vectorize(lambda x: MixedData(x > 1, b=x).sum())(2.5) == np.float32(4.5)
    assert lw.vectorize(lambda x: MixedData(x > 1, 7).again().a)(2.5) == 8
    assert lw.vectorize(lambda x: MixedData(x > 1).c.imag)(2.5) == 1.0


def test_the_type_makes_values():
    f = lw.vectorize(lambda x: mixed(c=x, a=1, b=2, d=True).c.real + mixed(1, 2, 3, False).b)
    assert f(0.5) == 2.5


@pytest.mark.parametrize("call, error, said", [
    (lambda: lw.vectorize(lambda x: mixed(x, 1, 1, True).a)(1.5), lw.errors.TypingError, "E142(.|\n)*would drop the fraction"),
    (lambda: lw.vectorize(lambda x: mixed(40000, x, 1, True).a)(1.5), lw.errors.TypingError, "E130: (.|\n)*does not fit int16"),
    (lambda: lw.vectorize(lambda x: mixed(1, x).a)(1.5), lw.errors.TypingError, "E153: `Mixed` needs an argument for `c`"),
    (lambda: lw.jit(lambda m: m.a)(MixedData(True, 40000)), TypeError, "field `a` of `MixedData` is registered as int16, and is 40000"),
    (lambda: lw.jit(lambda m: m.a)(MixedData(1)), TypeError, "field `d`"),
    (lambda: lw.jit(lambda m: m.e)(MixedData(True)), lw.errors.TypingError, "E161: no attribute `e`"),
    (lambda: lw.jit(lambda m: m - 1)(MixedData(True)), lw.errors.TypingError, "overload `operator.sub`"),
    (lambda: lw.vectorize(lambda x: Span(x, 1).lo)(1.5), lw.errors.TypingError, r"E166: (.|\n)*`typer` .*: it returned None"),
    (lambda: lw.vectorize(lambda x: Span(x).lo)(1.5), lw.errors.TypingError, r"`typer` .*: its signature does not take these arguments"),
    (lambda: lw.vectorize(lambda x: Span(x, x).clamp(1).lo)(1.5), lw.errors.TypingError, r"`span_clamp` .*: it returned None"),
])
def test_wrong_members(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_attributes_are_those_that_are_named():
    hidden, value = new_type("Hidden")
    model(hidden, ("_number", types.int64), wrap=False)
    make_attribute_wrapper(hidden, "_number", "number")
    make_attribute_wrapper(hidden, "_number", "same")
    f = lw.vectorize(lambda x: value(x).number + value(x).same)
    assert f(3) == 6
    with pytest.raises(lw.errors.TypingError, match="E161"):
        lw.vectorize(lambda x: value(x)._number)(3)
    overload_attribute(hidden, "_number")(lambda x: lambda x: x.number * 100)
    assert lw.vectorize(lambda x: value(x)._number)(3) == 300


# ---- types with parameters, arrays and other types as members ----

class Rows:
    def __init__(self, data, scale, ends=(0, 1)):
        self.data = data
        self.scale = scale
        self.ends = ends


class RowsType(types.Type):
    def __init__(self, array):
        self.array = array
        super().__init__(name=f"Rows[{array}]")

    @property
    def key(self):
        return self.array


@typeof_impl.register(Rows)
def typeof_rows(val, c):
    return RowsType(typeof_impl(val.data, c))


@register_model(RowsType)
class RowsModel(models.StructModel):
    def __init__(self, dmm, fe_type):
        dtype = fe_type.array.dtype
        members = [("data", types.Array(dtype, fe_type.array.ndim, "A")), ("scale", dtype), ("ends", types.UniTuple(types.int32, 2))]
        models.StructModel.__init__(self, dmm, fe_type, members)


for attribute in ("data", "scale", "ends"):
    make_attribute_wrapper(RowsType, attribute, attribute)


@overload(len)
def rows_len(rows):
    if isinstance(rows, RowsType):
        return lambda rows: len(rows.data)


@overload(operator.getitem)
def rows_getitem(rows, i):
    if isinstance(rows, RowsType) and isinstance(i, types.Integer):
        return lambda rows, i: rows.data[i] * rows.scale


@overload(operator.setitem)
def rows_setitem(rows, i, value):
    if isinstance(rows, RowsType):
        def set_row(rows, i, value):
            rows.data[i] = value
        return set_row


@overload(operator.delitem)
def rows_delitem(rows, i):
    if isinstance(rows, RowsType):
        def clear(rows, i):
            rows.data[i] = 0
        return clear


@overload(operator.contains)
def rows_contains(rows, value):
    if isinstance(rows, RowsType):
        def found(rows, value):
            for one in rows.data:
                if one == value:
                    return True
            return False
        return found


def test_types_with_parameters():
    f = lw.jit(lambda rows: rows[1] + rows.ends[0])
    for dtype in ("f8", "f4", "i4"):
        for step in (1, 2):
            assert f(Rows(np.arange(6, dtype=dtype)[::step], 3, (10, 20))) == 3 * step + 10
    assert len(f.signatures) == 6 and lw.typeof(Rows(np.zeros(2), 1)) == RowsType(types.float64[::1])
    assert f(Rows(np.arange(3), np.int64(2))) == 2


def test_operators_of_a_type():
    @lw.jit
    def f(rows):
        rows[0] = 5
        del rows[2]
        return 5 in rows, 7 not in rows, len(rows), rows[0] + rows[1]
    rows = Rows(np.arange(1.0, 4.0), 2.0)
    assert f(rows) == (True, True, 3, 14.0) and rows.data.tolist() == [5.0, 2.0, 0.0]


@needs_kernels
def test_arrays_in_members_travel(target):
    def bump(rows, out):
        i = cuda.grid(1)
        if i < len(rows):
            out[i] = rows[i]
            rows[i] = -1

    rows, out = Rows(np.arange(4.0), 2.0), np.zeros(4)
    lw.jit(bump, target=target)[1, 4](rows, out)
    assert out.tolist() == [0, 2, 4, 6] and rows.data.tolist() == [-1] * 4


def test_members_of_arguments_are_checked():
    class Fixed(Rows):
        pass

    fixed, value = new_type("Fixed")
    model(fixed, ("data", types.float64[::1]), ("ends", types.UniTuple(types.int32, 2)))
    typeof_impl.register(Fixed, lambda val, c: value)
    f = lw.jit(lambda fixed: fixed.data[0] + fixed.ends[1])
    assert f(Fixed(np.ones(2), 1, (3, 4))) == 5.0
    for wrong in (np.ones(2, "f4"), np.ones((2, 2)), np.ones(4)[::2], 3.0):
        with pytest.raises(TypeError, match=r"an object of type Fixed has an attribute `data` that is not float64\[::1\]"):
            f(Fixed(wrong, 1))
    for wrong in ((1, 2, 3), (1, 1e300), ("a", 1)):
        with pytest.raises(TypeError, match="the attribute `ends` of an object of type Fixed is"):
            f(Fixed(np.ones(2), 1, wrong))


Pair, pair_type = new_type("SpanPair")
model(Pair, ("first", span_type), ("second", span_type), ("weight", types.float32))


@dataclasses.dataclass
class SpanPair:
    first: Span
    second: Span
    weight: float


typeof_impl.register(SpanPair, lambda val, c: pair_type)
type_callable(SpanPair)(lambda context: lambda first, second, weight: pair_type if first == span_type else None)


def test_types_in_types():
    f = lw.jit(lambda p: SpanPair(p.first + p.second, p.second, 0.5))
    got = f(SpanPair(Span(1, 2), Span(3, 4), 1))
    assert type(got) is SpanPair and type(got.first) is Span and (got.first.lo, got.first.hi, got.second.lo, got.weight) == (4.0, 6.0, 3.0, 0.5)
    assert lw.vectorize(lambda x: SpanPair(Span(x, x), Span(x, 2 * x), x).second.width)(2.0) == 2.0
    with pytest.raises(TypeError, match="attribute `first` that is not Span"):
        f(SpanPair(3, Span(1, 2), 1))
    with pytest.raises(lw.errors.TypingError, match="E142: the member `second` of `SpanPair` is Span"):
        lw.vectorize(lambda x: pair_type(Span(x, x), x, x).weight)(1.0)
    with pytest.raises(lw.errors.TypingError, match="E166"):
        lw.vectorize(lambda x: SpanPair(x, x, x).weight)(1.0)


# ---- types without members ----

class Mode:
    pass


class ModeType(types.Dummy):
    pass


typeof_impl.register(Mode, lambda val, c: ModeType(f"mode {val.number}"))
fast, exact = Mode(), Mode()
fast.number, exact.number = 1, 2


def root(mode, x):
    raise RuntimeError


@overload(root)
def select_root(mode, x):
    if mode == ModeType("mode 1"):
        return lambda mode, x: x * 0.5
    if isinstance(mode, types.Opaque):
        return lambda mode, x: -1.0
    if isinstance(mode, ModeType):
        return lambda mode, x: np.sqrt(x)


def test_types_without_members():
    assert lw.vectorize(lambda x: root(fast, x) + root(exact, x))(16.0) == 12.0
    f = lw.jit(lambda mode, x: root(mode, x))
    assert f(fast, 16.0) == 8.0 and f(exact, 16.0) == 4.0
    assert bytes(lw.compile(lambda x: root(exact, x), "float64(float64)", target="sm_90", output="cubin"))[:4] == b"\x7fELF"
    with pytest.raises(TypeError, match="a result of type mode 1 cannot become a Python object"):
        lw.jit(lambda mode: mode)(fast)


# ---- how values come about ----

class Unreadable:
    def __init__(self, *args, **kwargs):
        raise RuntimeError("never called for a result")

    def __getattr__(self, name):
        raise AttributeError(name)


UnreadableType, unreadable = new_type("Unreadable")
model(UnreadableType, ("x", types.float64))
typeof_impl.register(Unreadable, lambda val, c: unreadable)


@overload(Unreadable)
def make_unreadable(x, twice=False):
    if isinstance(x, types.Number):
        return lambda x, twice=False: unreadable(x * 2 if twice else x)


def test_an_overload_makes_what_init_cannot():
    got = lw.jit(lambda x: Unreadable(x, twice=True))(1.5)
    assert type(got) is Unreadable and vars(got) == {"x": 3.0}
    assert lw.jit(lambda u: u.x)(got) == 3.0


def test_init_that_cannot_be_used():
    class Other:
        def __init__(self, x):
            self.y = x

    type_callable(Other)(lambda context: lambda x: unreadable)
    with pytest.raises(lw.errors.UnsupportedError, match="E165: `__init__` does not assign `x`, a member of `Unreadable`"):
        lw.vectorize(lambda x: Other(x).x)(1.0)

    class Bare:
        __slots__ = ()

    type_callable(Bare)(lambda context: lambda: unreadable)
    with pytest.raises(lw.errors.UnsupportedError, match="E165: `Bare` has no `__init__` that could be compiled"):
        lw.vectorize(lambda x: Bare().x + x)(1.0)

    @dataclasses.dataclass
    class Fields:
        z: float

    type_callable(Fields)(lambda context: lambda z: unreadable)
    with pytest.raises(lw.errors.UnsupportedError, match="E165: the dataclass has no field `x`"):
        lw.vectorize(lambda x: Fields(x).x)(1.0)


def test_calls_of_functions():
    def make(x):
        raise RuntimeError

    type_callable(make)(lambda context: lambda x: unreadable)
    with pytest.raises(lw.errors.TypingError, match=r"not how it is made: write an overload\(make\) that returns Unreadable\(...\)"):
        lw.vectorize(lambda x: make(x).x)(1.0)
    overload(make)(lambda x: lambda x: unreadable(x + 1))
    assert lw.vectorize(lambda x: make(x).x)(1.0) == 2.0

    def number(x):
        raise RuntimeError

    type_callable(number)(lambda context: lambda x: types.int32)
    with pytest.raises(lw.errors.TypingError, match=r"the result is int32, but not how it is computed: write an overload\(number\)"):
        lw.vectorize(lambda x: number(x))(1.0)


WORLD = Span(0, 10)


def test_objects_from_outside(monkeypatch):
    f = lw.vectorize(lambda x: WORLD.clamp(x) + WORLD.width)
    assert f(20.0) == 20.0
    monkeypatch.setattr(WORLD, "hi", 5)
    assert f(20.0) == 10.0
    pair = SpanPair(Span(1, 2), Span(3, 4), 2)
    assert lw.vectorize(lambda x: x * pair.weight + pair.second.hi)(2.0) == 8.0


def test_derived_classes():
    class Derived(Span):
        def __init__(self, lo, hi):
            self.lo, self.hi = lo, hi
            self.more = "not a member"
    f = lw.jit(lambda s: (s.width, isinstance(s, Span)))
    assert f(Derived(1, 3)) == (2.0, True)
    assert type(lw.jit(lambda s: s)(Derived(1, 3))) is Span


def test_isinstance_and_type():
    f = lw.jit(lambda s, x: (isinstance(s, Span), isinstance(x, Span), type(s) is Span, isinstance(s, (int, Span))))
    assert f(Span(0, 1), 1.0) == (True, False, True, True)


def test_properties_are_set_by_the_class():
    class Hides:
        def __init__(self, x):
            self._x = x

        @property
        def x(self):
            return self._x

    typeclass, value = new_type("Hides")
    model(typeclass, ("x", types.float64))
    typeof_impl.register(Hides, lambda val, c: value)
    got = lw.jit(lambda h: value(h.x + 1))(Hides(1.5))
    assert type(got) is Hides and vars(got) == {"_x": 2.5}


def test_missing_attributes():
    bad = Span(1, 2)
    del bad.hi
    with pytest.raises(AttributeError, match="hi"):
        lw.jit(lambda s: s.width)(bad)
    with pytest.raises(TypeError, match="field `hi`"):
        lw.jit(lambda s: s.width)(Span(1, "x"))


# ---- types of objects ----

def test_typeof():
    assert lw.typeof(Span(1, 2)) is span_type and typeof_impl(Span(1, 2), None) is span_type and typeof_impl(1.0) == types.float64
    assert extending.as_numba_type(int) == types.int64 and extending.as_numba_type(None) == types.none and extending.as_numba_type(span_type) is span_type
    with pytest.raises(TypeError, match="as_numba_type.register"):
        extending.as_numba_type(dict)


def test_what_typeof_raises_is_raised():
    class Shy:
        pass

    def refuse(val, c):
        raise KeyError("shy")
    typeof_impl.register(Shy, refuse)
    with pytest.raises(KeyError, match="shy"):
        lw.jit(lambda s: 1)(Shy())
    with pytest.raises(KeyError, match="shy"):
        lw.forall(lambda i, s, out: None)(1, Shy(), np.zeros(1))
    typeof_impl.register(Shy, lambda val, c: types.float64)
    with pytest.raises(TypeError, match="of type float64; expected a type of your own"):
        lw.jit(lambda s: 1)(Shy())
    typeof_impl.register(Shy, lambda val, c: new_type("NoModel")[1])
    with pytest.raises(TypeError, match=r"NoModelType, which has no model: register_model\(NoModelType\)"):
        lw.jit(lambda s: 1)(Shy())
    typeof_impl.register(Shy, lambda val, c: 3)
    with pytest.raises(TypeError, match="is of type 3"):
        lw.jit(lambda s: 1)(Shy())


def test_objects_without_a_type_stay():
    class Plain:
        def __init__(self, x):
            self.x = x
    assert lw.jit(lambda p: p.x)(Plain(3)) == 3 and lw.jit(lambda p: p.x)(Plain(3.5)) == 3.5


def test_as_numba_type_makes_calls():
    class Scale:
        def __init__(self, k):
            self.k = k
    typeclass, value = new_type("Scale")
    model(typeclass, ("k", types.float32))
    extending.as_numba_type.register(Scale, value)
    assert lw.vectorize(lambda x: Scale(0.1).k * x)(np.float32(1)) == np.float32(0.1)
    assert type(lw.jit(lambda k: Scale(k))(3)) is Scale


@pytest.mark.parametrize("call, error, said", [
    (lambda: register_model(Span), TypeError, "typ must be a class derived from lanewise.types.Type"),
    (lambda: register_model(span_type), TypeError, "typ must be a class"),
    (lambda: register_model(SpanType)(3), TypeError, "a model must be derived from models.StructModel"),
    (lambda: make_attribute_wrapper(Span, "a", "a"), TypeError, "typeclass must be a class derived"),
    (lambda: make_attribute_wrapper(SpanType, 3, "a"), TypeError, "struct_attr must be a str"),
    (lambda: make_attribute_wrapper(SpanType, "a", 3), TypeError, "python_attr must be a str"),
    (lambda: typeof_impl.register(3), TypeError, "takes a class"),
    (lambda: typeof_impl.register(Span, 3), TypeError, "takes a function"),
    (lambda: type_callable("print_item"), lw.errors.UnsupportedError, "a part of numba's compiler"),
    (lambda: type_callable(Span)(lambda context: 3), TypeError, "must return a function of types"),
    (lambda: extending.as_numba_type.register(Span, 3), TypeError, "numba_type must be a type"),
    (lambda: extending.as_numba_type.register(lambda x: x), lw.errors.UnsupportedError, "takes a class and its type"),
    (lambda: type("A", (types.Array,), {})(types.int8, 1, "C"), TypeError, "A cannot be derived from Array"),
    (lambda: types.Type(3), TypeError, "str"),
    (lambda: types.Number(), TypeError, "name"),
    (lambda: span_type(types.float64), TypeError, "makes a value in compiled code only"),
    (lambda: span_type[:], TypeError, "cannot be the element of an array"),
    (lambda: types.float64(span_type), TypeError, "signatures cannot name Span"),
])
def test_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()


def first_use(*members):
    typeclass, value = new_type("Used")
    register_model(typeclass)(type("UsedModel", (models.StructModel,), {
        "__init__": lambda self, dmm, fe_type: models.StructModel.__init__(self, dmm, fe_type, members)}))
    return lambda: lw.vectorize(lambda x: value(x))(1.0)


@pytest.mark.parametrize("members, said", [
    ([("x", types.void)], "the member `x` is void"),
    ([("x", "float64")], "the member `x` is 'float64'"),
    ([("x", types.CPointer(types.float64))], "the member `x`"),
    ([("x", new_type("Bare")[1])], "the member `x` is Bare"),
    ([("no name", types.int8)], "must be an identifier"),
])
def test_wrong_models(members, said):
    with pytest.raises(TypeError, match=said):
        first_use(*members)()


def test_primitive_models_are_refused():
    typeclass, value = new_type("Primitive")
    register_model(typeclass)(type("PrimitiveModel", (models.PrimitiveModel,), {
        "__init__": lambda self, dmm, fe_type: models.PrimitiveModel.__init__(self, dmm, fe_type, None)}))
    with pytest.raises(lw.errors.UnsupportedError, match="write a StructModel of one member"):
        lw.vectorize(lambda x: value(x))(1.0)


def test_wrappers_of_members_that_are_not_there():
    typeclass, value = new_type("Wrapped")
    model(typeclass, ("x", types.float64))
    make_attribute_wrapper(typeclass, "y", "y")
    with pytest.raises(TypeError, match=r"make_attribute_wrapper\(WrappedType, 'y', 'y'\): Model has no member 'y'"):
        lw.vectorize(lambda x: value(x).x)(1.0)


# ---- types themselves ----

def test_types():
    assert isinstance(span_type, types.Type) and isinstance(types.float64, types.Type) and isinstance(types.float64[:], types.Type)
    assert SpanType() == span_type and hash(SpanType()) == hash(span_type) and SpanType() != types.float64 and repr(span_type) == str(span_type) == "Span"
    assert RowsType(types.float64[:]) != RowsType(types.float32[:]) and RowsType(types.float64[:]).key == types.float64[:]
    assert not isinstance(span_type, types.Number) and not isinstance(types.float64, SpanType) and not isinstance(span_type, ModeType)
    assert ModeType("a") != types.Dummy("a") and issubclass(types.Float, types.Number) and issubclass(types.Number, types.Type)

    class Money(types.Number):
        pass
    assert isinstance(Money("money"), types.Number) and not isinstance(types.int64, Money)


def test_pickles_of_types():
    for one in (span_type, RowsType(types.float32[:, ::1]), ModeType("mode 1"), types.Type("bare"), types.Object(Span, {"lo": types.int8})):
        again = pickle.loads(pickle.dumps(one))
        assert again == one and type(again) is type(one) and again.name == one.name
    assert pickle.loads(pickle.dumps(RowsType(types.float32[:]))).array == types.float32[:]


def test_equal_types_are_one():
    f = lw.jit(lambda r: r[0])
    assert f(Rows(np.ones(2), 1)) == f(Rows(np.ones(2), 1)) == 1.0 and len(f.signatures) == 1


def test_literals():
    assert isinstance(types.literal(3), types.IntegerLiteral) and isinstance(types.literal(3), types.Integer) and not isinstance(types.literal(3), types.Float)
    assert isinstance(types.literal(True), types.BooleanLiteral) and isinstance(types.literal(True), types.Boolean) and not isinstance(types.literal(True), types.Integer)
    assert isinstance(types.literal("a"), types.StringLiteral) and types.unliteral(types.literal("a")) is types.unicode_type
    assert types.literal(3) == types.Literal(3) != types.literal(True) and types.unliteral(types.literal(3)) == types.int64
    assert types.Array(np.dtype("f4"), 1, "C") == types.float32[::1] and types.UniTuple(np.dtype("i4"), 2) == types.UniTuple(types.int32, 2)
    assert types.int8.signed and not types.uint8.signed
    with pytest.raises(AttributeError, match="is not an integer type"):
        types.float32.signed


# ---- what changes ----

def test_changed_models_and_wrappers_are_seen():
    typeclass, value = new_type("Changing")
    model(typeclass, ("x", types.float64))
    f = lw.vectorize(lambda v: value(v).x)
    assert f(0.1) == 0.1
    model(typeclass, ("x", types.float32))
    assert f(0.1) == np.float32(0.1)
    model(typeclass, ("y", types.float64), wrap=False)
    make_attribute_wrapper(typeclass, "y", "x")
    assert f(0.1) == 0.1


def test_changed_init_and_methods_are_seen(monkeypatch):
    class Point:
        def __init__(self, x):
            self.x = x

        def get(self):
            return self.x
    typeclass, value = new_type("ChangingPoint")
    model(typeclass, ("x", types.float64))
    typeof_impl.register(Point, lambda val, c: value)
    type_callable(Point)(lambda context: lambda x: value)
    f, g = lw.vectorize(lambda v: Point(v).get()), lw.jit(lambda p: p.get())
    assert f(2.0) == 2.0 and g(Point(2.0)) == 2.0

    def init(self, x):
        self.x = x + 1
    monkeypatch.setattr(Point, "__init__", init)
    assert f(2.0) == 3.0
    monkeypatch.setattr(Point, "get", lambda self: self.x * 10)
    assert f(2.0) == 30.0 and g(Point(1.0)) == 20.0


def test_operators_registered_later():
    typeclass, value = new_type("Later")
    model(typeclass, ("x", types.float64))
    f = lw.vectorize(lambda v: (value(v) * value(v)).x)
    with pytest.raises(lw.errors.TypingError, match="E165"):
        f(3.0)
    overload(operator.mul)(lambda a, b: (lambda a, b: value(a.x * b.x)) if isinstance(a, typeclass) else None)
    assert f(3.0) == 9.0


def test_threads():
    f = lw.jit(lambda s, r: s.width + r[0])
    start, results = threading.Barrier(16), []

    def run(i):
        start.wait()
        results.append(f(Span(0, 1), Rows(np.ones(2, ["f4", "f8"][i % 2]), 2)))
    threads = [threading.Thread(target=run, args=(i,)) for i in range(16)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert results == [3.0] * 16


def test_nothing_is_left_behind():
    f = lw.jit(lambda r: r[0])
    rows = Rows(np.ones(2), 1)
    for _ in range(50):
        f(rows)
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(4000):
        f(rows)
    gc.collect()
    assert sys.getallocatedblocks() - before < 1000


PROGRAM = """
import pickle, sys
import lanewise as lw
import extension_types_for_pickles as module
print(pickle.loads(bytes.fromhex(sys.argv[1]))(module.Point(3.0)))
"""
MODULE = """
import lanewise as lw
from lanewise.extending import *
class Point:
    def __init__(self, x):
        self.x = x
class PointType(lw.types.Type):
    def __init__(self):
        super().__init__("Point")
typeof_impl.register(Point, lambda val, c: PointType())
@register_model(PointType)
class PointModel(models.StructModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, [("x", lw.types.float64)])
make_attribute_wrapper(PointType, "x", "x")
@overload_attribute(PointType, "twice")
def _(p):
    return lambda p: p.x * 2
@lw.jit
def f(p):
    return p.twice
"""


def test_pickled_functions(tmp_path, monkeypatch):
    (tmp_path / "extension_types_for_pickles.py").write_text(MODULE)
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(str(tmp_path))
    import extension_types_for_pickles as module
    assert module.f(module.Point(4)) == 8.0
    data = pickle.dumps(module.f).hex()
    done = subprocess.run([sys.executable, str(tmp_path / "program.py"), data], capture_output=True, text=True)
    assert done.stdout == "6.0\n", done.stderr


# ---- elements of arrays ----


def test_types_with_a_model_are_no_elements():
    """Ufuncs know objects by their fields; those of a type with a model have members and overloads instead."""
    span = Span(1.0, 2.0)
    with pytest.raises(TypeError, match=r"an operand of class `Span`.*have a type with a model.*lanewise.jit and forall"):
        lw.vectorize(lambda s: s.lo)(span)
    with pytest.raises(TypeError, match="an operand of class `Span`"):
        lw.vectorize(lambda s: s.lo)(lw.extending.array_of([span], lw.extending.dtype_of(Span, lo=float, hi=float)))
    with pytest.raises(TypeError, match="gives an object of type .*Span.*, which has a model"):
        lw.vectorize(lambda x: Span(x, x))(np.ones(3))
