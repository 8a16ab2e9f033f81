"""Objects that hold the parameters of a function: one rule for every decorator, target="python", verify and explain."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

import lanewise as lw


@dataclasses.dataclass
class Data:
    a: float
    b: float
    n: int = 3


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: float
    b: float
    n: int = 3

    def at(self, x):
        return self.a * x ** self.n + self.b


class Tuple(NamedTuple):
    a: float
    b: float
    n: int = 3


class WithMethod(NamedTuple):
    a: float
    b: float
    n: int = 3

    def at(self, x):
        return self.a * x ** self.n + self.b


class Own:
    def __init__(self, a, b, n=3):
        self.a = a
        self.b = b
        self.n = n


Untyped = collections.namedtuple("Untyped", "a b n", defaults=(3,))

CLASSES = [Data, Frozen, Tuple, WithMethod, Own, Untyped]
X = np.linspace(0.5, 3.0, 7)


def f(x, p):
    return p.a * x ** p.n + p.b


def read(x, p):
    return f(x, p)  # reads the fields in another function


def row(x, p, out):
    for i in range(len(x)):
        out[i] = p.a * x[i] ** p.n + p.b


def kernel(i, x, p, out):
    out[i] = p.a * x[i] ** p.n + p.b


@contextlib.contextmanager
def on(target):
    with lw.config(target=target) if target else contextlib.nullcontext():
        yield


@pytest.mark.parametrize("target", [None, "python"])
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_object_is_an_argument_of_every_decorator(cls, target):
    p = cls(2.0, 1.0)
    want = f(X, p)
    with on(target):
        np.testing.assert_allclose(lw.vectorize(f)(X, p), want, rtol=1e-15)
        np.testing.assert_allclose(lw.vectorize(read)(X, p), want, rtol=1e-15)
        np.testing.assert_allclose(lw.vectorize(f)(X, p=p), want, rtol=1e-15)
        assert lw.vectorize(f)(2.0, p) == 17.0
        np.testing.assert_allclose(lw.guvectorize("(n),()->(n)")(row)(X, p), want, rtol=1e-15)
        np.testing.assert_allclose(lw.guvectorize("(n),()->(n)")(row)(np.stack([X, X]), p, out=np.empty((2, 7))), [want, want], rtol=1e-15)
        np.testing.assert_allclose(lw.guvectorize("(n),()->(n)")(row)(X, p=p), want, rtol=1e-15)
        out = np.empty(7)
        lw.forall(kernel)(7, X, p, out)
        np.testing.assert_allclose(out, want, rtol=1e-15)
        assert lw.jit(f)(2.0, p) == 17.0


@pytest.mark.parametrize("target", [None, "python"])
@pytest.mark.parametrize("cls", [Frozen, Tuple, WithMethod, Untyped], ids=lambda cls: cls.__name__)
def test_an_object_is_a_static_value_of_every_decorator(cls, target):
    p, out = cls(2.0, 1.0), np.empty(7)
    with on(target):
        for value in (p, cls(0.5, -1.0, 2), p):
            want = f(X, value)
            np.testing.assert_allclose(lw.vectorize(f, static="p")(X, value), want, rtol=1e-15)
            np.testing.assert_allclose(lw.vectorize(f, static="p")(X, p=value), want, rtol=1e-15)
            np.testing.assert_allclose(lw.guvectorize("(n)->(n)", static="p")(row)(X, value), want, rtol=1e-15)
            lw.forall(kernel, static="p")(7, X, value, out)
            np.testing.assert_allclose(out, want, rtol=1e-15)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_object_is_no_array_where_the_parameter_is_excluded(cls):
    p = cls(2.0, 1.0)
    np.testing.assert_allclose(lw.vectorize(f, excluded=["p"])(X, p), f(X, p), rtol=1e-15)


def table_at(x, p, t, k=1):
    return p.a * x + t[int(p.b) + k]


def row_of(x, p, t, out, k=1):
    for i in range(len(x)):
        out[i] = p.a * x[i] + t[int(p.b) + k]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_beside_excluded_and_static_parameters(cls):
    p, t = cls(2.0, 1.0), np.arange(10.0) ** 2
    g = lw.vectorize(table_at, excluded="t", static="k")
    np.testing.assert_array_equal(g(X, p, t), 2 * X + 4)
    np.testing.assert_array_equal(g(X, p, t, 3), 2 * X + 16)
    np.testing.assert_array_equal(g(X, p, t=list(t), k=2), 2 * X + 9)
    out = np.empty(7)
    assert g(X, p, t, 3, out) is out and g(X, p, t, out=out) is out
    h = lw.guvectorize("(n),()->(n)", excluded="t", static="k")(row_of)
    np.testing.assert_array_equal(h(X, p, t), 2 * X + 4)
    assert h(X, p, t, 1, out) is out
    np.testing.assert_array_equal(h(np.stack([X, -X]), p, t, k=2), [2 * X + 9, -2 * X + 9])
    with pytest.raises(TypeError, match="missing a required argument: 't'"):
        g(X, p)
    with pytest.raises(TypeError, match="multiple values for argument 'p'"):
        g(X, p, t, p=p)


def test_arrays_of_objects_beside_excluded_and_static_parameters():
    items = lw.extending.array_of([Frozen(1.0, 2.0), Frozen(3.0, 4.0)])
    g = lw.vectorize(table_at, excluded="t", static="k")
    np.testing.assert_array_equal(g(2.0, items, np.arange(9.0), 2), [2 + 4, 6 + 6])


def test_a_gufunc_of_an_object_has_the_dtypes_and_axes_of_one_of_its_fields():
    g = lw.guvectorize("(n),()->(n)")(row)
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(g(x, Frozen(1.0, 0.0), axis=0), x ** 3)
    total = lw.guvectorize("(n),()->()")(lambda x, p: p.a * x.sum() + p.b)
    np.testing.assert_array_equal(total(x, Data(2.0, 1.0)), [7.0, 25.0])


def test_a_namedtuple_that_a_function_computes_with_is_a_row_as_for_numpy():
    np.testing.assert_array_equal(lw.vectorize(lambda x, p: x + p)(1.0, Tuple(1.0, 2.0)), [2.0, 3.0, 4.0])
    np.testing.assert_array_equal(lw.add(1.0, Tuple(1.0, 2.0)), [2.0, 3.0, 4.0])
    with lw.config(target="python"):
        np.testing.assert_array_equal(lw.vectorize(lambda x, p: x + p)(1.0, Tuple(1.0, 2.0)), [2.0, 3.0, 4.0])


@pytest.mark.parametrize("g", [lw.vectorize(f, static="p"), lw.forall(lambda i, x, p, out: None, static="p")])
def test_a_static_object_that_cannot_be_a_constant(g):
    with pytest.raises(TypeError, match="static argument `p` must be hashable .* not Data; make its class a dataclass with frozen=True, or take the parameter out of static="):
        g(X, Data(1.0, 2.0)) if isinstance(g, lw.Ufunc) else g(7, X, Data(1.0, 2.0), X)


@pytest.mark.parametrize("cls", [Data, Tuple], ids=lambda cls: cls.__name__)
def test_verify_compares_with_python(cls):
    for g, args in ((lw.vectorize(f), (X, cls(2.0, 1.0))), (lw.guvectorize("(n),()->(n)")(row), (X, cls(2.0, 1.0)))):
        report = lw.verify(g, *args)
        assert report.ok and "not possible" not in str(report)


@pytest.mark.parametrize("cls", [Data, Tuple], ids=lambda cls: cls.__name__)
def test_explain_shows_the_types_of_the_fields(cls, capsys):
    p = cls(2.0, 1.0)
    for g, args in ((lw.vectorize(f), (X, p)), (lw.guvectorize("(n),()->(n)")(row), (X, p)), (f, (X, p)), (lw.jit(f), (1.0, p)), (lw.forall(kernel), (7, X, p, X))):
        text = lw.explain(g, *args)
        assert "p.a" in text and ("Data(a: " in text if cls is Data else "(a: " in text or "Tuple" in text or "p: (" in text), text
        assert text.sections[0].lines


def power(x, k=2):
    return x ** k


@pytest.mark.parametrize("keywords", [{"static": "k"}, {"static": ["k"], "fma": False}])
def test_static_parameters_may_keep_their_default_in_plain_python(keywords):
    def filled(x, out, k=2):
        for i in range(len(x)):
            out[i] = x[i] ** k

    def total(x, k=2):
        s = 0.0
        for v in x:
            s += v ** k
        return s

    x = np.arange(6.0).reshape(2, 3)
    for g in (lw.vectorize(power, **keywords), lw.guvectorize("(n)->(n)", **keywords)(filled), lw.guvectorize("(n)->()", **keywords)(total)):
        want = g(x)
        with lw.config(target="python"):
            np.testing.assert_array_equal(g(x), want)
            np.testing.assert_array_equal(g(x, k=2), want)
        assert "not possible" not in str(lw.verify(g, x))
