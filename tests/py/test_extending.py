"""Overloads of lanewise.extending: which implementation a call has, in every generator and on both targets (docs/extending.md)."""
import ctypes
import ctypes.util
import enum
import math
import operator
import pickle
import re
import subprocess
import sys
import textwrap
import threading
from typing import NamedTuple

import numpy as np
import pytest

import lanewise as lw
from lanewise import extending, types

X = np.linspace(-2.0, 3.0, 6)
SIGNATURE = "float64(float64)"


class Circle:
    def __init__(self, r):
        self.r = r

    def grown(self, k):
        return Circle(self.r + k)


class Ring(Circle):
    def __init__(self, r, hole):
        self.r = r
        self.hole = hole


class Pair(NamedTuple):
    a: float
    b: float


def area(shape, unit=1.0):
    raise RuntimeError("compiled code never runs this")


@extending.overload(area)
def area_of_numbers(shape, unit=1.0):
    if isinstance(shape, types.Float):
        return lambda shape, unit=1.0: shape * shape * unit


@extending.overload(area)
def area_of_objects(shape, unit=1.0):
    if isinstance(shape, types.Object) and shape.cls is Circle:
        pi = 3.0
        return lambda shape, unit=1.0: pi * shape.r * shape.r * unit


@extending.overload(area)
def area_of_arrays(shape, unit=1.0):
    if isinstance(shape, types.Array) and shape.ndim == 1 and shape.dtype == types.float64:
        def implementation(shape, unit=1.0):
            total = 0.0
            for v in shape:
                total += area(v, unit)
            return total
        return implementation


def square(x):
    return area(x)


def test_vectorize():
    assert np.array_equal(lw.vectorize(square)(X), X * X)


def test_keywords_and_defaults():
    f = lw.vectorize(lambda x: area(unit=2.0, shape=x) + area(x, 3.0) + area(Circle(x)))
    assert np.allclose(f(X), 8 * X * X)


def test_guvectorize_and_arrays():
    @lw.guvectorize("(n)->()")
    def f(row, out):
        out[0] = area(row)
    assert f(X) == np.sum(X * X)


def test_reduce():
    total = lw.reduce(map=lambda x: area(x), combine=lambda a, b: a + b, finish=lambda a: area(a))
    assert total(X) == np.sum(X * X) ** 2


def test_forall():
    @lw.forall
    def f(i, x, y):
        y[i] = area(x[i]) + area(x)
    y = np.zeros(6)
    f(6, X, y)
    assert np.allclose(y, X * X + np.sum(X * X))


def test_jit_in_the_simulator():
    @lw.jit(target="cpu")
    def f(x, y):
        i = lw.cuda.grid(1)
        if i < x.size:
            y[i] = area(x[i])
    y = np.zeros(6)
    f[2, 4](X, y)
    assert np.array_equal(y, X * X)


def test_value_of_jit():
    assert lw.jit(lambda x: area(x) + 1)(2.0) == 5.0


@pytest.mark.parametrize("cc", ["sm_75", "sm_90"])
def test_code_for_gpus(cc):
    text = lw.compile(square, SIGNATURE, target=cc, output="ptx")
    assert "mul" in text and "area" not in text.split("//")[0]


def test_gpu_and_host_share_the_ir():
    for target in ("cpu", "sm_90"):
        assert "mul f64" in lw.compile(square, SIGNATURE, target=target, output="ir")


def test_kernel_for_gpus():
    def kernel(x, y):
        i = lw.cuda.grid(1)
        if i < x.size:
            y[i] = area(x) + area(Circle(x[i]))
    text, result = lw.cuda.compile_ptx(kernel, "void(float64[::1], float64[::1])", cc=(9, 0))
    assert ".entry" in text


def test_a_helper_calls_it():
    def helper(x):
        return square(x) + 1
    assert np.array_equal(lw.vectorize(lambda x: helper(x))(X), X * X + 1)


# ---- what can be overloaded ----

def test_ctypes_object():
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    j0 = libm.j0

    @extending.overload(j0)
    def select(x):
        return lambda x: x + 0.5
    assert np.array_equal(lw.vectorize(lambda x: j0(x))(X), X + 0.5)


def test_builtin_function():
    gcd = operator.index

    @extending.overload(gcd)
    def select(x):
        if isinstance(x, types.Integer):
            return lambda x: x * 7
    assert lw.vectorize(lambda x: gcd(x))(np.int32(3)) == 21


def test_numpy_function_that_is_not_known():
    @extending.overload(np.i0)
    def select(x):
        if isinstance(x, types.Float):
            return lambda x: x + 5
    assert np.array_equal(lw.vectorize(lambda x: np.i0(x))(X), X + 5)


BUILT_IN = [  # what is overloaded, a call of it, its types
    (extending.overload, (np.cbrt,), lambda x: np.cbrt(x[0]), "`numpy.cbrt` is built in", "(float64)"),
    (extending.overload, (math.erfc,), lambda x: math.erfc(x[0]), "`math.erfc` is built in", "(float64)"),
    (extending.overload, (np.nan_to_num,), lambda x: np.nan_to_num(x), "is built in", "(float64[::1])"),
    (extending.overload, (np.ptp,), lambda x: np.ptp(x), "is built in", "(float64[::1])"),
    (extending.overload, (divmod,), lambda x: divmod(x[0], 2.0)[0], "`divmod` is built in", "(float64, float"),
    (extending.overload_method, (types.Array, "prod"), lambda x: x.prod(), "`prod` is built in", "(float64[::1])"),
    (extending.overload_method, (types.Float, "is_integer"), lambda x: x[0].is_integer(), "`is_integer` is built in", "(float64)"),
    (extending.overload_attribute, (types.Array, "nbytes"), lambda x: x.nbytes, "`nbytes` is built in", "(float64[::1])"),
    (extending.overload_attribute, (types.Array, "flat"), lambda x: len(x.flat), "`flat` is built in", "(float64[::1])"),
    (extending.overload_attribute, (types.Float, "imag"), lambda x: x[0].imag, "`imag` is built in", "(float64)"),
]


@pytest.mark.parametrize("register, subject, call, said, given", BUILT_IN, ids=[getattr(row[1][-1], "__name__", row[1][-1]) for row in BUILT_IN])
def test_what_is_built_in_cannot_be_overloaded(register, subject, call, said, given):
    """An overload for other types leaves it as it is; one that would be ignored is an error."""
    table = {extending.overload: extending._functions, extending.overload_method: extending._methods, extending.overload_attribute: extending._attributes}[register]
    register(*subject)(lambda *args: None)
    try:
        np.testing.assert_allclose(lw.jit(lambda x: call(x))(X), call(X))
        register(*subject)(lambda *args: lambda *args: 77.0)
        with pytest.raises(lw.errors.TypingError) as error:
            lw.jit(lambda x: call(x))(X)
        assert str(error.value).startswith("E166") and said in str(error.value) and given in str(error.value) and "return None for these types" in str(error.value)
    finally:
        del table[id(subject[0]) if len(subject) == 1 else subject[1]]
        extending._have_changed(())


def test_fields_cannot_be_overloaded():
    @extending.overload_attribute(Circle, "r")
    def select_r(c):
        return lambda c: 1000

    try:
        with pytest.raises(lw.errors.TypingError, match="`r` is built in for these types"):
            lw.vectorize(lambda x: Circle(x).r)(2.0)
    finally:
        extending._attributes.pop("r")


@pytest.mark.parametrize("of, selector, given", [
    (operator.add, lambda x, y: lambda x, y: 1, "bool, bool"),
    (operator.mul, lambda x, y: (lambda x, y: 1) if isinstance(x, types.Float) and isinstance(y, types.Integer) else None, "float16, int8"),
    (operator.neg, lambda x: (lambda x: x) if isinstance(x, types.Array) and x.ndim == 2 else None, "int64[:, :]"),
    (operator.iadd, lambda x, y: (lambda x, y: x) if isinstance(x, types.Complex) else None, "complex64, "),
    (operator.getitem, lambda x, i: (lambda x, i: 1) if isinstance(i, types.Integer) else None, "int64[:], int8"),
    (operator.setitem, lambda x, i, v: lambda x, i, v: None, "int64[:], int64, bool"),
])
def test_operators_of_numbers_cannot_be_overloaded(of, selector, given):
    with pytest.raises(TypeError, match=re.escape(f"operator.{of.__name__} has no effect for ({given}")):
        extending.overload(of)(selector)
    assert not any(one.selector is selector for one in extending._functions.get(id(of), (None, ()))[1])


def test_class():
    class Made:
        def __init__(self, x):
            self.x = x

    @extending.overload(Made)
    def select(x):
        if isinstance(x, types.Integer):
            return lambda x: x * 100
    assert lw.vectorize(lambda x: Made(x))(np.int64(2)) == 200


def test_function_with_source_gives_way():
    def source(x):
        return x + 1
    f = lw.vectorize(lambda x: source(x))
    assert f(1.0) == 2.0

    @extending.overload(source)
    def select(x):
        return lambda x: x + 100
    assert f(1.0) == 101.0 and f(np.float32(1)) == 101.0


def test_the_source_itself_is_an_implementation():
    def source(x):
        return x + 1

    @extending.overload(source)
    def select(x):
        return source if isinstance(x, types.Float) else lambda x: x - 1
    f = lw.vectorize(lambda x: source(x))
    assert f(1.0) == 2.0 and f(1) == 0


def test_own_function_of_an_object():
    @extending.overload(math.tanh)
    def select(x):
        if isinstance(x, types.Object):
            return lambda x: x.r * 2
    assert lw.vectorize(lambda x: math.tanh(Circle(x)) + math.tanh(x))(0.5) == 1.0 + math.tanh(0.5)


# ---- methods and attributes ----

@extending.overload_method(types.Array, "spread")
def array_spread(a, factor=1.0):
    if a.ndim == 1:
        return lambda a, factor=1.0: (a[a.size - 1] - a[0]) * factor


@extending.overload_attribute(types.Array, "last")
def array_last(a):
    return lambda a: a[a.size - 1]


@extending.overload_method(types.Float, "clamped")
def float_clamped(x, lo, hi):
    return lambda x, lo, hi: min(max(x, lo), hi)


@extending.overload_method(types.float32, "narrow")
def float_narrow(x):
    return lambda x: x


@extending.overload_attribute(Circle, "bounds")
def circle_bounds(c):
    return lambda c: (-c.r, c.r)


@extending.overload_method(Circle, "scaled")
def circle_scaled(c, k):
    return lambda c, k: Circle(c.r * k)


@extending.overload_method(types.UniTuple, "mean")
def tuple_mean(t):
    if t.count == 2 and isinstance(t.dtype, types.Float):
        return lambda t: (t[0] + t[1]) / 2


def test_methods_and_attributes():
    @lw.guvectorize("(n)->()")
    def f(row, out):
        out[0] = row.spread() + row.spread(factor=2.0) + row.last + row[0].clamped(-1.0, 1.0)
    assert f(X) == 5.0 + 10.0 + 3.0 - 1.0


def test_of_objects():
    f = lw.vectorize(lambda x: Circle(x).scaled(3.0).r + Circle(x).bounds[1] + Ring(x, x).scaled(2.0).r)
    assert np.array_equal(f(X), 6 * X)


def test_of_tuples():
    assert lw.vectorize(lambda x: (x, x + 1).mean())(2.0) == 2.5


def test_of_namedtuples_without_code():
    @extending.overload_method(types.Tuple, "product")
    def select(p):
        return lambda p: p[0] * p[1]
    assert lw.vectorize(lambda x: (x, 3.0).product())(2.0) == 6.0


def test_method_of_a_class_gives_way():
    class Own:
        def __init__(self, x):
            self.x = x

        def get(self):
            return self.x

    @extending.overload_method(Own, "get")
    def select(o):
        return lambda o: o.x * 10
    assert lw.vectorize(lambda x: Own(x).get())(2.0) == 20.0


def test_one_type_alone():
    f = lw.vectorize(lambda x: x.narrow())
    assert f(np.float32(3)) == 3
    with pytest.raises(lw.errors.TypingError, match="E161: no method `narrow`"):
        f(np.float64(3))


def test_of_gpus():
    def kernel(x, y):
        i = lw.cuda.grid(1)
        y[i] = x.spread(2.0) + x.last + x[i].clamped(0.0, 1.0) + Circle(x[i]).bounds[0]
    text, _ = lw.cuda.compile_ptx(kernel, "void(float64[::1], float64[::1])", cc=(7, 5))
    assert ".entry" in text


# ---- what selectors are told ----

class Mode(enum.Enum):
    FAST = 1


def told(*args, **keywords):
    """The types that a selector receives for a call."""
    raise RuntimeError


@pytest.mark.parametrize("call, wanted", [
    (lambda x: told(x), "float64"),
    (lambda x: told(2), "int64"),
    (lambda x: told(2.0), "float64"),
    (lambda x: told(x > 1), "bool"),
    (lambda x: told(lw.float32(x)), "float32"),
    (lambda x: told(x * 1j), "complex128"),
    (lambda x: told((x, 1)), "Tuple(float64, int64)"),
    (lambda x: told((x, 1.0)), "UniTuple(float64, 2)"),
    (lambda x: told(None), "void"),
    (lambda x: told("text"), "Literal('text')"),
    (lambda x: told(Mode.FAST), "Literal(<Mode.FAST: 1>)"),
    (lambda x: told(math.sin), "Literal(<built-in function sin>)"),
    (lambda x: told(lw.float32), "Literal(float32)"),
    (lambda x: told(Circle(x)), "Circle(r: float64)"),
    (lambda x: told((Circle(x), x)), "(Circle(r: float64), float64)"),
    (lambda x: told(x, 1), "float64 int64"),
])
def test_types(call, wanted):
    seen = []

    def fresh(*args):
        raise RuntimeError

    @extending.overload(fresh, strict=False)
    def select(*args):
        seen.append(" ".join(map(repr, args)))
        return lambda *args: 1.0
    namespace = {**globals(), "told": fresh}
    copy = type(call)(call.__code__, namespace, "call")
    lw.compile(copy, SIGNATURE, target="cpu", output="ir")
    assert seen == [wanted.replace("UniTuple(float64, 2)", str(types.UniTuple(types.float64, 2))).replace("Tuple(float64, int64)", str(types.Tuple((types.float64, types.int64))))
                    .replace("void", str(types.none)).replace("bool", str(types.bool_))]


def test_literals_decide():
    def power(x, how):
        raise RuntimeError

    @extending.overload(power)
    def select(x, how):
        if isinstance(how, types.Literal) and how.literal_value == "square":
            return lambda x, how: x * x
        if isinstance(how, types.Literal) and how.literal_value == "cube":
            return lambda x, how: x * x * x
    f = lw.vectorize(lambda x: power(x, "square") + power(x, how="cube"))
    assert f(2.0) == 12.0


def test_kinds():
    names = ["Number", "Integer", "Float", "Complex", "Boolean", "Array", "Record", "Tuple", "UniTuple", "NamedTuple", "NamedUniTuple", "NoneType"]
    record = lw.from_dtype(np.dtype([("a", "f4")]))
    kinds = {types.int8: "Number Integer", types.uint64: "Number Integer", types.float32: "Number Float", types.bfloat16: "Number Float",
             types.complex64: "Number Complex", types.bool_: "Boolean", types.float32[:]: "Array", record[:]: "Array", record: "Record", types.none: "NoneType",
             types.Tuple((types.int8, types.int16)): "Tuple", types.UniTuple(types.int8, 2): "Tuple UniTuple",
             types.NamedTuple((types.int8, types.int16), Pair): "Tuple NamedTuple", types.NamedUniTuple(types.int8, 2, Pair): "Tuple UniTuple NamedTuple NamedUniTuple",
             np.dtype("f8"): "Number Float", np.dtype("U3"): "", 3: "", "float32": ""}
    for type_, wanted in kinds.items():
        assert " ".join(name for name in names if isinstance(type_, getattr(types, name))) == wanted, type_
    assert types.UniTuple(types.float32, 3).count == 3 and types.UniTuple(types.float32, 3).dtype == types.float32
    with pytest.raises(AttributeError):
        types.float32.count


# ---- numbers that are known ----

def literal_of(x):
    raise RuntimeError


def preferred_of(x):
    raise RuntimeError


def tell_literals(x):
    if isinstance(x, types.IntegerLiteral):
        if x.literal_value == 1:
            return lambda x: 1000
        raise TypeError("another literal")
    if isinstance(x, types.BooleanLiteral):
        return lambda x: 2000
    return lambda x: x * 100


extending.overload(literal_of)(tell_literals)
extending.overload(preferred_of, prefer_literal=True)(tell_literals)


def test_literals_that_are_preferred():
    f = lw.jit(lambda x: (preferred_of(1), preferred_of(2), preferred_of(x), preferred_of(True), preferred_of(x=1)))
    assert f(3) == (1000, 200, 300, 2000, 1000)
    assert lw.jit(lambda x: (literal_of(1), literal_of(2), literal_of(x)))(3) == (100, 200, 300)


def test_literals_where_nothing_else_fits():
    def power(x, n):
        raise RuntimeError

    @extending.overload(power)
    def select(x, n):
        if isinstance(n, types.Literal) and n.literal_value == 2:
            return lambda x, n: x * x
    f = lw.vectorize(lambda x: power(x, 2))
    assert f(3.0) == 9.0
    with pytest.raises(lw.errors.TypingError, match=r"E166(.|\n)*`select` .*: it returned None"):
        lw.vectorize(lambda x: power(x, 3))(3.0)
    with pytest.raises(lw.errors.TypingError, match="E166"):
        lw.vectorize(lambda x, n: power(x, n))(3.0, 2)


def test_literals_of_methods():
    @extending.overload_method(types.Array, "nth", prefer_literal=True)
    def nth(x, i):
        if isinstance(i, types.IntegerLiteral):
            return lambda x, i: x[i]
        return lambda x, i: -x[i]
    assert lw.jit(lambda x, i: (x.nth(1), x.nth(i)))(X, 1) == (X[1], -X[1])


# ---- of one target ----

def by_target(x):
    raise RuntimeError


def only_gpu(x):
    raise RuntimeError


@extending.overload(by_target)
def by_target_anywhere(x):
    return lambda x: x + 1


@extending.overload(by_target, target="cuda")
def by_target_on_gpu(x):
    if isinstance(x, types.Float):
        return lambda x: lw.cuda.libdevice.sin(x)


@extending.overload(only_gpu, target="gpu")
def only_gpu_of_number(x):
    return lambda x: x * 3


def test_overloads_of_targets():
    f = lw.vectorize(lambda x: by_target(x))
    assert f(2.0) == 3.0 and f(2) == 3
    assert "__nv_sin" in f.inspect_nvvm(SIGNATURE) and "__nv_sin" not in lw.compile(f.py_func, SIGNATURE, target="cpu", output="llvm")
    assert "__nv_sin" not in f.inspect_nvvm("int64(int64)")
    assert bytes(lw.compile(f.py_func, SIGNATURE, target="sm_90", output="cubin"))[:4] == b"\x7fELF"
    assert lw.reduce(map=lambda x: by_target(x), combine=lambda x, y: x + y)(X) == X.sum() + len(X)
    out = np.zeros(len(X))
    lw.forall(lambda i, x, out: store(i, by_target(x[i]), out))(len(X), X, out)
    assert np.array_equal(out, X + 1)


def store(i, x, out):
    out[i] = x


def test_kernels_take_those_for_gpus():
    def k(x):
        i = lw.cuda.grid(1)
        if i < x.size:
            x[i] = by_target(x[i])
    x = X.copy()
    lw.jit(k, target="cpu")[1, 32](x)
    assert np.allclose(x, np.sin(X), rtol=1e-15)


def test_a_lone_overload_is_taken_on_both_targets():
    assert lw.vectorize(lambda x: only_gpu(x))(2.0) == 6.0


def test_overloads_of_targets_have_the_same_parameters():
    def other(x):
        raise RuntimeError
    extending.overload(other, strict=False)(lambda x: lambda y: y)
    extending.overload(other, target="cuda")(lambda x: lambda x: x)
    with pytest.raises(TypeError, match=r"for CPUs, \(y\), and for GPUs, \(x\), must have the same parameters"):
        lw.vectorize(lambda x: other(x))(1.0)


def test_parameters_of_every_kind_reach_both_targets():
    def many(x, *rest, k=1):
        raise RuntimeError

    def here(x, *rest, k=1):
        return x + rest[0] * k

    def there(x, *rest, k=1):
        return x - rest[1] * k
    extending.overload(many)(lambda x, *rest, k=1: here)
    extending.overload(many, target="cuda")(lambda x, *rest, k=1: there)
    f = lw.vectorize(lambda x: many(x, 2.0, 3.0, k=x) + many(x, 1.0, 1.0))
    assert f(2.0) == 9.0 and "sub" in f.inspect_nvvm(SIGNATURE)


# ---- operators ----

class Money:
    def __init__(self, cents):
        self.cents = cents

    def __sub__(self, other):
        return Money(self.cents - other.cents)


def of_money(*operands):
    return all(isinstance(x, types.Object) and x.cls is Money for x in operands)


@extending.overload(operator.add)
def add_money(x, y):
    if of_money(x, y):
        return lambda x, y: Money(x.cents + y.cents)


@extending.overload(operator.iadd)
def add_money_in_place(x, y):
    if of_money(x, y):
        return lambda x, y: Money(x.cents + y.cents + 1)


@extending.overload(operator.mul)
def scale_tuple(x, k):
    if isinstance(x, types.UniTuple) and isinstance(k, types.Float):
        return lambda x, k: (x[0] * k, x[1] * k)


@extending.overload(operator.lt)
def less_money(x, y):
    if of_money(x, y):
        return lambda x, y: x.cents < y.cents


@extending.overload(operator.neg)
def negative_money(x):
    if of_money(x):
        return lambda x: Money(-x.cents)


@extending.overload(operator.and_)
def both_money(x, y):
    if of_money(x, y):
        return lambda x, y: min(x.cents, y.cents)


def test_operators_of_objects():
    f = lw.vectorize(lambda x: (Money(x) + Money(2) - Money(0.5) + -Money(1)).cents + (Money(x) & Money(x + 1)))
    assert f(3.0) == 6.5

    @lw.vectorize
    def g(x):
        total = Money(x)
        total += Money(1)
        if Money(x) < total:
            return total.cents
        return 0.0
    assert g(3.0) == 5.0
    assert bytes(lw.compile(g.py_func, SIGNATURE, target="sm_90", output="cubin"))[:4] == b"\x7fELF"


def test_operators_of_tuples():
    assert lw.jit(lambda x: (x, 2 * x) * 1.5)(2.0) == (3.0, 6.0)
    assert lw.jit(lambda x: (x, 1) + (2, 3))(2.0) == (2.0, 1, 2, 3), "what no overload is for stays"
    assert lw.vectorize(lambda x: operator.add(Money(x), Money(1)).cents)(2.0) == 3.0


def test_operators_that_nothing_is_for():
    with pytest.raises(lw.errors.TypingError, match="E165(.|\n)*give the class a method `__or__`, or overload `operator.or_`"):
        lw.vectorize(lambda x: (Money(x) | Money(x)).cents)(1.0)
    with pytest.raises(lw.errors.TypingError, match="E165"):
        lw.vectorize(lambda x: (Money(x) + x).cents)(1.0)
    with pytest.raises(lw.errors.TypingError, match="or overload `operator.add`; the overloads that were asked(.|\n)*`add_money` (.*): it returned None"):
        lw.vectorize(lambda x: (Money(x) + x).cents)(1.0)


def test_own_functions_of_objects_that_no_overload_is_for():
    class Row:
        def __init__(self, n):
            self.n = n

        def __len__(self):
            return self.n

    extending.overload(len)(lambda x: (lambda x: 100) if isinstance(x, types.Object) and x.cls is Money else None)
    assert lw.jit(lambda x: (len(Money(x)), len(Row(7)), len(Pair(x, x)), len((1, x))))(2.0) == (100, 7, 2, 2)
    with pytest.raises(lw.errors.TypingError, match="E165"):
        lw.vectorize(lambda x: len(Circle(x)))(2.0)


# Overloads of operators and of lanewise's own functions come late for most programs: hardly any function has objects as their operands, and those alone
# are compiled anew.

def test_operators_that_are_overloaded_late():
    class Angle:
        def __init__(self, turns):
            self.turns = turns

    number = lw.vectorize(lambda x: x % 3 + round(x))
    as_numba = lw.vectorize(lambda x: x % 3 + round(x), typing="numba")
    both = lw.jit(lambda x, y: x % y)
    assert number(4.0) == as_numba(4.0) == 5.0 and both(5, 3) == 2
    with pytest.raises(lw.errors.TypingError, match="E165"):
        both(Angle(1.75), Angle(1.0))

    extending.overload(operator.mod)(lambda x, y: (lambda x, y: x.turns - 1) if isinstance(x, types.Object) and x.cls is Angle else None)
    extending.overload(round)(lambda x: (lambda x: x.turns) if isinstance(x, types.Object) and x.cls is Angle else None)
    assert both(Angle(1.75), Angle(1.0)) == 0.75 and both(5, 3) == 2
    assert number(np.float32(4)) == as_numba(np.float32(4)) == 5.0
    assert sorted(number.types) == ["d->d", "f->f"], "it is not made anew"
    assert lw.jit(lambda x: round(x))(Angle(0.5)) == 0.5


def test_changed_overloads_of_operators():
    class Angle:
        def __init__(self, turns):
            self.turns = turns

    @lw.vectorize
    def f(x):
        total = Angle(x)
        total |= Angle(1)
        return (total >> Angle(x)).turns + abs(Angle(x))

    def overload_for_angles(function, implementation):
        extending.overload(function, strict=False)(lambda x, *rest: implementation if isinstance(x, types.Object) and x.cls is Angle else None)
    overload_for_angles(operator.or_, lambda x, y: Angle(x.turns + y.turns))
    with pytest.raises(lw.errors.TypingError, match="E165"):
        f(2.0)
    overload_for_angles(operator.rshift, lambda x, y: x)
    overload_for_angles(abs, lambda x: 0)
    assert f(2.0) == 3.0
    overload_for_angles(operator.ior, lambda x, y: Angle(7))
    assert f(2.0) == 7.0
    overload_for_angles(operator.rshift, lambda x, y: y)  # the first one stays
    assert f(2.0) == 7.0


def test_deletion_that_is_overloaded_late():
    class Bag:
        def __init__(self, n):
            self.n = n

    @lw.vectorize
    def f(x):
        bag = Bag(x)
        del bag[0]
        return bag.n
    with pytest.raises((lw.errors.UnsupportedError, lw.errors.TypingError)):  # or other objects' items can be deleted
        f(2.0)
    extending.overload(operator.delitem)(lambda x, i: (lambda x, i: None) if isinstance(x, types.Object) and x.cls is Bag else None)
    assert f(2.0) == 2.0


# ---- when selectors are asked ----

def test_asked_once_for_each_types():
    asked = []

    def once(x):
        raise RuntimeError

    @extending.overload(once)
    def select(x):
        asked.append(x)
        return lambda x: x + 1
    for f in (lw.vectorize(lambda x: once(x) + once(x)), lw.vectorize(lambda x: once(once(x)))):
        f(X)
        f(X)
    assert asked == [types.float64]


def test_registered_before_new_types():
    def later(x):
        raise RuntimeError
    f = lw.vectorize(lambda x: later(x))

    @extending.overload(later)
    def first(x):
        if isinstance(x, types.Float):
            return lambda x: x + 1
    assert f(1.0) == 2.0

    @extending.overload(later)
    def second(x):
        if isinstance(x, types.Integer):
            return lambda x: x + 10
    assert f(1) == 11 and f(1.0) == 2.0


def test_registered_method_before_new_types():
    f = lw.vectorize(lambda x: x.registered_later() if isinstance(x, float) else x)
    assert f(np.int8(1)) == 1

    @extending.overload_method(types.Float, "registered_later")
    def select(x):
        return lambda x: x + 1
    assert f(1.0) == 2.0


def test_changed_closure_of_an_implementation():
    def scaled(x):
        raise RuntimeError
    factor = 2.0

    @extending.overload(scaled)
    def select(x):
        return lambda x: x * factor
    f = lw.vectorize(lambda x: scaled(x))
    assert f(3.0) == 6.0
    factor = 5.0
    assert f(3.0) == 15.0


def test_threads():
    asked, results = [], []

    def shared(x):
        raise RuntimeError

    @extending.overload(shared)
    def select(x):
        asked.append(x)
        return lambda x: x + 1
    f = lw.vectorize(lambda x: shared(x) + area(x))
    kinds = [np.float32, np.float64]
    start = threading.Barrier(64)

    def run(i):
        start.wait()
        results.append(f(kinds[i % 2](2)))
    threads = [threading.Thread(target=run, args=(i,)) for i in range(64)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert results == [7.0] * 64 and set(asked) == {types.float32, types.float64}


def test_selectors_that_compile_themselves():
    def nested(x):
        raise RuntimeError

    @extending.overload(nested)
    def select(x):
        value = float(lw.vectorize(lambda x: area(x))(3.0))  # another compilation on the way
        return lambda x: x + value
    assert lw.vectorize(lambda x: nested(x))(1.0) == 10.0


def programs_for_pickles():
    program = textwrap.dedent("""
        import pickle, sys
        import lanewise as lw
        import overloads_for_pickles as module
        print(pickle.loads(bytes.fromhex(sys.argv[1]))(3.0))
    """)
    module = "import lanewise as lw\ndef f(x): ...\n@lw.extending.overload(f)\ndef _(x): return lambda x: x * 7\n@lw.vectorize\ndef g(x): return f(x)\n"
    return program, module


def test_pickled_functions(tmp_path, monkeypatch):
    program, module = programs_for_pickles()
    (tmp_path / "overloads_for_pickles.py").write_text(module)
    (tmp_path / "program.py").write_text(program)
    monkeypatch.syspath_prepend(str(tmp_path))
    import overloads_for_pickles
    assert overloads_for_pickles.g(3.0) == 21.0
    data = pickle.dumps(overloads_for_pickles.g).hex()
    done = subprocess.run([sys.executable, str(tmp_path / "program.py"), data], capture_output=True, text=True)
    assert done.stdout == "21.0\n", done.stderr


# ---- errors ----

def test_nothing_fits():
    f = lw.vectorize(lambda x: area(x) + 1)
    with pytest.raises(lw.errors.TypingError) as caught:
        f(np.int32(3))
    said = str(caught.value)
    assert said.startswith("E166: no overload of `") and "area` takes these arguments" in said and "(int32)" in said
    assert [name for name in ("area_of_numbers", "area_of_objects", "area_of_arrays") if f"`{name}` (" in said and "it returned None" in said] != []


@pytest.mark.parametrize("selector, said", [
    (lambda x: 1 / 0, "raised ZeroDivisionError: division by zero"),
    (lambda: None, "its signature does not take these arguments: too many positional"),
    (lambda x: 3, "returned 3, which is not a Python function"),
    (lambda x: math.sin, "which is not a Python function"),
    (lambda x: lambda y: y, r"parameters \(y\) and not \(x\)"),
    (lambda x: lambda x=1: x, "parameters"),
])
def test_passed_over(selector, said):
    def refused(x):
        raise RuntimeError
    extending.overload(refused)(selector)
    with pytest.raises(lw.errors.TypingError, match=f"E166(.|\n)*{said}"):
        lw.vectorize(lambda x: refused(x))(1.0)
    extending.overload(refused)(lambda x: lambda x: x)
    assert lw.vectorize(lambda x: refused(x))(1.0) == 1.0


def test_not_strict():
    def renamed(x):
        raise RuntimeError

    @extending.overload(renamed, strict=False)
    def select(x):
        return lambda y: y + 1
    assert lw.vectorize(lambda x: renamed(x))(1.0) == 2.0


def test_an_error_in_an_implementation_shows_the_chain():
    def broken(x):
        raise RuntimeError

    @extending.overload(broken)
    def select(x):
        return lambda x: x.nothing
    with pytest.raises(lw.errors.TypingError, match=r"E161(.|\n)*x\.nothing(.|\n)*called from .*test_extending"):
        lw.vectorize(lambda x: broken(x))(1.0)


def test_an_interrupt_is_no_reason():
    def interrupted(x):
        raise RuntimeError

    @extending.overload(interrupted)
    def select(x):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        lw.vectorize(lambda x: interrupted(x))(1.0)


def test_recursion():
    def endless(x):
        raise RuntimeError

    @extending.overload(endless)
    def select(x):
        return lambda x: endless(x)
    with pytest.raises(lw.errors.CompileError, match="E151"):
        lw.vectorize(lambda x: endless(x))(1.0)


@pytest.mark.parametrize("call, error, said", [
    (lambda: extending.overload(3), TypeError, "func must be callable, not 3"),
    (lambda: extending.overload(area)(3), TypeError, "an overload must be a function of types, not 3"),
    (lambda: extending.overload(area, strict=1), TypeError, "strict must be True or False, not 1"),
    (lambda: extending.overload(area, inline="sometimes"), ValueError, "inline must be"),
    (lambda: extending.overload(area, prefer_literal=1), TypeError, "prefer_literal must be True or False, not 1"),
    (lambda: extending.overload(area, jit_options=1), TypeError, "jit_options must be a dict, not 1"),
    (lambda: extending.overload(area, target="rocm"), ValueError, 'target must be "generic", "cpu", "cuda" or "gpu", not \'rocm\''),
    (lambda: extending.overload_method(types.Array, "x", target=3), ValueError, "target must be"),
    (lambda: extending.overload_method(types.Array, "x", nogil=True), TypeError, "nogil"),
    (lambda: extending.overload_method("array", "x"), TypeError, "typ must be a type"),
    (lambda: extending.overload_method(float, "x"), TypeError, "typ must be a type of compiled code"),
    (lambda: extending.overload_attribute(types.Array, 3), TypeError, "attr must be a str, not 3"),
    (lambda: extending.overload_attribute(types.Array, "x")(None), TypeError, "an overload must be"),
    (lambda: extending.register_jitable(3), TypeError, "register_jitable takes a function"),
])
def test_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize("name, said", [
    ("lower", r"Write an overload\(func\)"), ("lower_builtin", "compiled code runs its __init__"), ("lower_cast", r"Write an overload\(func\)"),
    ("lower_getattr", "overload_attribute"), ("lower_getattr_generic", "overload_attribute"), ("lower_constant", "It is not needed"), ("box", "It is not needed"), ("unbox", "It is not needed: arguments that are objects"),
    ("NativeValue", "It is not needed"),
])
def test_builders_are_refused(name, said):
    with pytest.raises(lw.errors.UnsupportedError, match=f"extending.{name} is not available, because lanewise has no functions that build(.|\n)*{said}"):
        getattr(extending, name)(Circle, types.Float)


def test_register_jitable():
    @extending.register_jitable
    def plain(x):
        return x + 1

    @extending.register_jitable(inline="always")
    def with_options(x):
        return plain(x) * 2
    assert with_options(1.0) == 4.0 and lw.vectorize(lambda x: with_options(x))(1.0) == 4.0


def test_is_jitted():
    assert extending.is_jitted(lw.jit(square)) and not extending.is_jitted(square) and not extending.is_jitted(lw.vectorize(lambda x: x))


# ---- the example of numba's documents, an interval of the real line ----

class Interval:
    def __init__(self, lo, hi):
        self.lo, self.hi = lo, hi


@extending.overload_attribute(Interval, "width")
def interval_width(interval):
    return lambda interval: interval.hi - interval.lo


def hull(x, y):
    return Interval(min(x.lo, y.lo), max(x.hi, y.hi))


def test_interval():
    f = lw.vectorize(lambda x, y: hull(Interval(x, x + 1), Interval(y, y + 2)).width)
    assert np.array_equal(f(X, 0.0), np.maximum(X + 1, 2) - np.minimum(X, 0))
    assert bytes(lw.compile(f.py_func, "float64(float64, float64)", target="sm_90", output="cubin"))[:4] == b"\x7fELF"
