"""`p.v += x` where `v` is a property: the getter, the operator and the setter, one after the other, as in Python."""
import numpy as np
import pytest

import lanewise as lw
from lanewise import errors
from lanewise.extending import array_of


class Scale:
    def __init__(self, c):
        self.c = c
        self.gets = 0

    @property
    def f(self):
        return self.c * 2.0 + 32

    @f.setter
    def f(self, v):
        self.c = (v - 32) / 2.0

    @property
    def counted(self):
        self.gets += 1
        return self.c

    @counted.setter
    def counted(self, v):
        self.c = v + 0.5

    @property
    def fixed(self):
        return self.c

    @property
    def pair(self):
        return self.c, 1.0

    @pair.setter
    def pair(self, v):
        self.c = v[0]


class Holder:
    def __init__(self, c):
        self.scale = Scale(c)


class Plain:
    def __init__(self, c):
        self.c = c

    @property
    def doubled(self):
        return self.c * 2.0

    @doubled.setter
    def doubled(self, v):
        self.c = v / 2.0


def raised(s):
    s.f += 1.0


def of_a_variable(x):
    s = Scale(x)
    s.f += 1.0
    s.f *= 2
    s.f -= s.f / 4.0
    return s.c, s.f


def getters_that_change_things(x):
    s = Scale(x)
    s.counted += 1.0
    s.counted -= s.counted
    return s.c, s.gets


def of_a_field(x):
    h = Holder(x)
    h.scale.f += x
    h.scale.counted **= 2
    return h.scale.c, h.scale.gets


def on_some_paths(x):
    s = Scale(x)
    for i in range(3):
        if x > i:
            s.f += i
        else:
            s.counted -= 1
    return s.c, s.gets


def of_a_parameter(x):
    s = Scale(x)
    raised(s)
    raised(s)
    return s.c


WAYS = (of_a_variable, getters_that_change_things, of_a_field, on_some_paths, of_a_parameter)


@pytest.mark.parametrize("f", WAYS)
def test_as_in_python(f):
    compiled, ufunc = lw.jit(fma=False)(f), lw.vectorize(fma=False)(f)
    for x in (-1.0, 0.5, 1.5, 4.0):
        assert compiled(x) == f(x)
        assert np.array(ufunc(np.array([x]))).T.tolist() == np.array([f(x)]).tolist()


@pytest.mark.parametrize("f", WAYS)
def test_they_compile_for_gpus(f):
    try:
        lw.compile(f, "(float64)", target="sm_90", output="cubin")
    except errors.CompilerNotFound as missing:
        pytest.skip(str(missing))


def test_elements_of_arrays():
    a = array_of([Plain(1.0), Plain(2.0)], lw.extending.dtype_of(Plain, c=lw.float64))

    @lw.jit
    def f(a):
        p = a[0]
        p.doubled += 3.0

    f(a)
    assert a["c"].tolist() == [2.5, 2.0]


def test_what_is_refused():
    def no_setter(x):
        s = Scale(x)
        s.fixed += 1.0

    def tuples(x):
        s = Scale(x)
        s.pair += (x,)

    def another_object_behind_the_value(x):
        s = Scale(x)
        s.f += (s := Scale(1.0)).c

    def a_call(x):
        Holder(x).scale.f += 1.0

    for f, text in ((no_setter, "E165: `Scale` has a property of this name without a setter"), (tuples, "E165: an augmented assignment to a property"),
                    (another_object_behind_the_value, "E165: an augmented assignment to a property"), (a_call, "E165: an augmented assignment to a property")):
        with pytest.raises(errors.CompileError, match=text):
            lw.jit(f)(1.0)
