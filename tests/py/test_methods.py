"""Ufuncs as methods: bound where the function was written as one."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import numpy as np
import pytest

import lanewise as lw


class Scaled:
    def __init__(self, k):
        self.k = k

    @lw.vectorize
    def f(self, x):
        return self.k * x

    @staticmethod
    @lw.vectorize
    def next(x):
        return x + 1

    @lw.vectorize
    def unbound(x):
        return x - 1

    square = lw.vectorize(lambda x: x * x)


class Derived(Scaled):
    pass


def test_a_method_gets_its_instance():
    x = np.arange(3.0)
    for made in (Scaled(2.0), Derived(2.0)):
        assert made.f(x).tolist() == [0, 2, 4] and type(made).f(made, x).tolist() == [0, 2, 4]
    out = np.empty(3)
    assert Scaled(3.0).f(x, out=out) is out and out.tolist() == [0, 3, 6]
    assert Scaled(2.0).f(4.0) == 8.0


def test_a_changed_field_is_seen():
    made = Scaled(2.0)
    assert made.f(1.0) == 2.0
    made.k = 5.0
    assert made.f(1.0) == 5.0


class Shared:
    """Its objects have no fields until one is assigned: what its functions read is the class's."""

    scale = 2.0

    @lw.vectorize
    def f(self, x):
        return self.scale * x

    @lw.guvectorize("(),(n)->(n)")
    def g(self, x, out):
        for i in range(len(x)):
            out[i] = self.scale * x[i]


def test_an_object_without_fields(monkeypatch):
    x, made = np.arange(3.0), Shared()
    assert made.f(x).tolist() == made.g(x).tolist() == Shared.f(made, x).tolist() == [0, 2, 4] and made.f(3.0) == 6.0
    monkeypatch.setattr(Shared, "scale", 7.0)
    assert made.f(x).tolist() == made.g(x).tolist() == [0, 7, 14]
    made.scale = 5.0
    assert made.f(x).tolist() == made.g(x).tolist() == [0, 5, 10] and Shared().f(1.0) == 7.0

    @lw.vectorize
    def apply(model, x):
        return model.k * x

    class Constant:
        k = 3

        def unused(self):
            return self.k

    assert apply(Constant(), x).tolist() == [0, 3, 6]
    with pytest.raises(TypeError, match="`Shared` does not say which fields"):
        lw.extending.dtype_of(Shared)


def test_of_the_class_it_is_the_ufunc():
    assert type(Scaled.f) is lw.Ufunc and Scaled.f.nin == 2
    assert [*inspect.signature(Scaled(1.0).f).parameters][0] == "x"


def test_what_was_not_written_as_a_method_is_not_bound():
    x = np.arange(3.0)
    made = Scaled(2.0)
    assert type(made.next) is type(made.unbound) is type(made.square) is lw.Ufunc
    assert made.next(x).tolist() == Scaled.next(x).tolist() == [1, 2, 3]
    assert made.unbound(x).tolist() == [-1, 0, 1] and made.square(x).tolist() == [0, 1, 4]

    def local(self, x):
        return self + x

    class Holder:
        add = lw.vectorize(local)
        numpys = lw.add

    assert Holder().add(1.0, 2.0) == 3.0 and Holder().numpys(1.0, 2.0) == 3.0


def test_dataclasses():
    @dataclass
    class Line:
        a: float
        b: float

        @lw.vectorize
        def at(self, x):
            return self.a * x + self.b

    assert Line(2.0, 1.0).at(np.arange(3)).tolist() == [1, 3, 5]


def test_class_methods_get_the_class():
    class Counted:
        @classmethod
        @lw.reduce
        def total(a, b):
            return a + b

    with pytest.raises(TypeError):
        Counted.total(np.arange(3))
    assert inspect.ismethod(Counted.total) and Counted.total.__self__ is Counted
