"""Methods made by vectorize, guvectorize and njit, called by compiled functions and with all that plain calls take."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors

X = np.arange(3.0)


class Line:
    def __init__(self, a, b):
        self.a = a
        self.b = b

    @lw.vectorize
    def __call__(self, x):
        return self.a * x + self.b

    @lw.vectorize
    def shifted(self, x, d=1.0, factor=1):
        return (self(x) + d) * factor

    @lw.vectorize(static="n")
    def power(self, x, n):
        s = self.b
        for _ in range(n):
            s = s * x
        return s

    @lw.guvectorize("(n)->(n)")
    def row(self, x, out):
        for i in range(len(x)):
            out[i] = self(x[i])

    @lw.guvectorize("(n)->()")
    def total(self, x):
        s = 0.0
        for v in x:
            s += self.a * v
        return s

    @lw.guvectorize("(),(n)->()")
    def with_place(self, x):
        return self.a * x[0]

    @lw.guvectorize("()->()")
    def one(self, x):
        return self.a * x

    @lw.guvectorize("(n)->()", static="p")
    def powers(self, x, p):
        s = 0.0
        for v in x:
            s += self.a * v**p
        return s

    @lw.guvectorize("(n)->()", excluded="w")
    def weighted(self, x, w):
        s = 0.0
        for i in range(len(x)):
            s += self.a * x[i] * w[i]
        return s

    @lw.njit
    def sum_of(self, x):
        s = 0.0
        for v in x:
            s += self(v) + self.shifted(v, d=0.5) + self.scaled(v)
        return s

    @lw.njit
    def scaled(self, x):
        return self.a * x


class Doubled(Line):
    @lw.vectorize
    def shifted(self, x):
        return 2 * super().shifted(x)


LINE = Line(2.0, 1.0)


def test_parameters_with_defaults():
    assert LINE.shifted(X).tolist() == [2, 4, 6]
    assert LINE.shifted(X, 0.0).tolist() == LINE.shifted(X, d=0.0).tolist() == [1, 3, 5]
    assert LINE.shifted(X, factor=3).tolist() == [6, 12, 18]
    assert Line.shifted(LINE, X, 0.0, 2).tolist() == [2, 6, 10]
    out = np.zeros(3)
    assert LINE.shifted(X, 0.0, 1, out) is out and out.tolist() == [1, 3, 5]
    assert LINE.shifted(X, d=X).tolist() == [1, 4, 7]
    with pytest.raises(TypeError, match="multiple values for argument 'd'"):
        LINE.shifted(X, 1.0, d=2.0)


def test_keyword_only_defaults_in_calls_with_objects():
    @lw.vectorize
    def f(p, x, *, d=1.0):
        return p.a * x + d

    assert f(LINE, X).tolist() == [1, 3, 5] and f(LINE, X, d=0.5).tolist() == [0.5, 2.5, 4.5]


class Kind(np.ndarray):
    pass


def test_the_result_is_what_a_plain_function_gives():
    matrix, kind = np.matrix([[1.0, 2.0]]), X.view(Kind)
    for f in (LINE, LINE.shifted, LINE.row):
        assert type(f(matrix)) is np.matrix and type(f(kind)) is Kind
    masked = LINE(np.ma.masked_array(X, [False, True, False]))
    plain = lw.vectorize(lambda x: 2.0 * x + 1.0)(np.ma.masked_array(X, [False, True, False]))
    assert type(masked) is type(plain) and np.array_equal(np.ma.getmaskarray(masked), np.ma.getmaskarray(plain))


def test_device_arrays_on_the_cpu(monkeypatch):
    monkeypatch.setattr(lw.config, "target", "cpu")
    d = lw.cuda.to_device(X)

    @lw.vectorize
    def moved(p, x):
        return Line(p.a, x)

    for f in (LINE, LINE.shifted, LINE.row, lambda x: moved(LINE, x)):
        result = f(d)
        assert isinstance(result, lw.cuda.DeviceArray) and len(result.copy_to_host()) == 3


@pytest.mark.parametrize("call", [lambda p, x: p(x), lambda p, x: p.shifted(x), lambda p, x: p.shifted(x, 0.5), lambda p, x: p.shifted(x, factor=2),
                                  lambda p, x: p.power(x, 2), lambda p, x: p.row(x), lambda p, x: p.total(x), lambda p, x: p.with_place(x),
                                  lambda p, x: p.one(x), lambda p, x: p.powers(x, 2), lambda p, x: p.weighted(x, x), lambda p, x: p.sum_of(x),
                                  lambda p, x: p.scaled(x[0]), lambda p, x: p.total(x.reshape(1, 3)), lambda p, x: p.shifted(x + 1)])
def test_compiled_functions_call_them(call):
    wanted = call(LINE, X)
    assert np.array_equal(lw.njit(call)(LINE, X), wanted)  # the object is an argument
    assert np.array_equal(lw.njit(lambda x: call(LINE, x))(X), wanted)  # it is captured
    assert np.array_equal(lw.njit(lambda a, x: call(Line(a, 1.0), x))(2.0, X), wanted)  # it is made there


def test_every_decorator_calls_them():
    assert lw.vectorize(lambda x: LINE(x))(X).tolist() == [1, 3, 5]
    out = np.zeros(3)

    @lw.forall
    def fill(i, p, x, out):
        out[i] = p(x[i]) + p.total(x)

    fill(3, LINE, X, out)
    assert out.tolist() == [7, 9, 11]

    @lw.guvectorize("(),(n)->()")
    def last(p, x):
        return p.shifted(x[-1])

    assert last(LINE, X) == 6.0
    assert lw.reduce(lambda a, b: a + b, map=lambda x: LINE(x))(X) == 9.0


def test_super_and_inheritance():
    made = Doubled(2.0, 1.0)
    assert made.shifted(X).tolist() == lw.njit(lambda p, x: p.shifted(x))(made, X).tolist() == [4, 8, 12]
    assert lw.njit(lambda p, x: p.shifted(x))(made, 2.0) == 12.0


def test_it_is_called_and_not_kept():
    with pytest.raises(errors.TypingError, match="E165: `shifted` of `Line` is not called"):
        lw.njit(lambda p: p.shifted)(LINE)


def test_a_replaced_method_is_seen(monkeypatch):
    class Changing:
        def __init__(self):
            self.a = 2.0

        @lw.vectorize
        def f(self, x):
            return self.a * x

    f = lw.njit(lambda p, x: p.f(x))
    assert f(Changing(), 3.0) == 6.0

    class Other:
        @lw.vectorize
        def f(self, x):
            return self.a + x

    monkeypatch.setattr(Changing, "f", Other.f)
    assert f(Changing(), 3.0) == 5.0


def test_the_layout_of_a_method():
    assert LINE.total.signature == "(n)->()" and Line.total.signature == "(),(n)->()"
    assert LINE.with_place.signature == "(n)->()"
    assert LINE.total(np.ones((2, 3))).tolist() == [6, 6] and LINE.one(X).tolist() == [0, 2, 4]
    assert pickle.loads(pickle.dumps(Line.total)).signature == "(),(n)->()"
    with pytest.raises(TypeError, match=r"`f` has 4 parameters, but layout `\(n\)->\(\)` needs 2 .*; the layout of a method may leave out `self`"):
        class Wrong:
            @lw.guvectorize("(n)->()")
            def f(self, x, y, z):
                pass
    with pytest.raises(TypeError, match=r"may leave out `self`"):
        class WrongFamily:
            @lw.guvectorize("(n)->()", static="z")
            def f(self, x, y, w, z):
                pass


def test_guvectorize_of_functions_with_objects_in_functions():
    @lw.guvectorize("(),(n)->(n)")
    def g(p, x, out):
        for i in range(len(x)):
            out[i] = p.a * x[i]

    assert lw.njit(lambda p, x: g(p, x))(LINE, X).tolist() == [0, 2, 4]
    assert lw.njit(lambda p, x: g(p, x))(LINE, np.float32([1, 2])).tolist() == [2, 4]
    assert lw.njit(lambda p, x, out: g(p, x, out))(LINE, X, np.zeros(3)) is None
    with pytest.raises(errors.TypingError, match=r"argument `x` is an object, which has no dimensions"):
        lw.njit(lambda p, x: g(p, p))(LINE, X)
