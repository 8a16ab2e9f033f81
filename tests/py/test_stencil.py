"""lanewise.stencil: numba's decorator for functions of an element's neighbours."""

import contextlib
import copy
import pickle

import numpy as np
import pytest

import lanewise as lw
from lanewise import stencil

SCALE = 2.0


@stencil
def mean_of_four(a):
    return 0.25 * (a[0, 1] + a[1, 0] + a[0, -1] + a[-1, 0])


def expected(a, border=0.0):
    out = np.full(a.shape, border)
    out[1:-1, 1:-1] = 0.25 * (a[1:-1, 2:] + a[2:, 1:-1] + a[1:-1, :-2] + a[:-2, 1:-1])
    return out


@pytest.mark.parametrize("shape", [(10, 11), (3, 3), (2, 5), (1, 1), (0, 4)])
def test_four_neighbours(shape):
    a = np.random.default_rng(0).random(shape)
    assert np.allclose(mean_of_four(a), expected(a), rtol=1e-14, atol=0) and mean_of_four(a).dtype == np.float64
    assert mean_of_four((100 * a).astype(int)).dtype == np.float64 and mean_of_four(a.astype("f4")).dtype == np.float32


def test_in_compiled_functions():
    @lw.njit(parallel=True)
    def steps(a, n):
        for _ in range(n):
            a = mean_of_four(a)
        return a, mean_of_four(a, out=np.ones(a.shape))

    a = np.random.default_rng(1).random((8, 9))
    last, given = steps(a, 2)
    assert np.allclose(last, expected(expected(a))) and np.allclose(given, expected(expected(expected(a)), 1.0))


def test_given_outputs_and_borders():
    a, out = np.random.default_rng(2).random((5, 6)), np.full((5, 6), 7.0)
    assert np.allclose(mean_of_four(a, out=out), expected(a, 7.0)) and np.allclose(out, expected(a, 7.0))
    with_border = stencil("constant", cval=-1.0)(mean_of_four_again)
    assert np.allclose(with_border(a), expected(a, -1.0)) and np.allclose(with_border(a, out=out), expected(a, -1.0))


@pytest.mark.parametrize("cval", [-2.5, np.nan, 3])
@pytest.mark.parametrize("n", [1, 2, 6])
def test_every_cval_is_stored_in_given_outputs(cval, n):
    @lw.stencil(cval=cval)
    def before(a):
        return a[-1] * 2

    out = np.full(n, 42.0)
    before(np.arange(1.0, n + 1), out=out)
    assert np.array_equal(out, [cval, *(2.0 * k for k in range(1, n))], equal_nan=True)
    with pytest.raises(ValueError, match="cval does not fit") if cval != 3 else contextlib.nullcontext():
        before(np.arange(n), out=np.full(n, 42))


def mean_of_four_again(a):
    return 0.25 * (a[0, 1] + a[1, 0] + a[0, -1] + a[-1, 0])


def test_a_neighborhood():
    @stencil(neighborhood=((-4, 0),))
    def moving(a):
        total = 0
        for i in range(-4, 1):
            total += a[i]
        return total / 5

    x = np.random.default_rng(3).random(40)
    assert np.allclose(moving(x)[4:], np.convolve(x, np.ones(5) / 5, "valid")) and (moving(x)[:4] == 0).all()


def test_other_arrays_numbers_and_names_from_outside():
    three = 3.0

    @stencil(standard_indexing=("weights",), cval=np.nan)
    def weighted(a, b, weights, c=1.0):
        t = a[-1] * weights[0] + b[0] * weights[1]
        if t > 4.0:
            return t
        return t * three * SCALE + c

    a, b = np.arange(5.0), np.arange(5.0)[::-1]
    t = a[:-1] * 0.5 + b[1:] * 0.25
    found = weighted(a, b, np.array([0.5, 0.25]), 2.0)
    assert np.isnan(found[0]) and np.allclose(found[1:], np.where(t > 4, t, t * 6 + 2))
    with pytest.raises(ValueError, match="`b` is smaller than `a`"):
        weighted(a, b[:3], np.ones(2), 1.0)


def test_integers_and_plain_python():
    forward = stencil(lambda a: a[0] + a[1])
    assert forward(np.arange(4)).tolist() == [1, 3, 5, 0] and forward(np.arange(4)).dtype == np.int64
    assert forward.py_func(np.arange(4)).tolist() == [1, 3, 5, 0]
    for cval in (np.nan, 0.5, np.inf):
        with pytest.raises(ValueError, match="cval does not fit the integers"):
            stencil(forward_again, cval=cval)(np.arange(4))
        assert repr(stencil(forward_again, cval=cval)(np.arange(2.0))[1].item()) == repr(float(cval))
    assert stencil(forward_again, cval=-1.0)(np.arange(4)).tolist() == [1, 3, 5, -1]


def forward_again(a):
    return a[0] + a[1]


def test_names_and_changed_globals(monkeypatch):
    def scaled(a):
        """What it says."""
        return a[0] * SCALE

    made = stencil(scaled)
    assert made.__name__ == "scaled" and made.__doc__ == "What it says." and made(np.ones(2)).tolist() == [2, 2]
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert made(np.ones(2)).tolist() == [5, 5]


def assigns(a):
    a[0] = 1
    return a[0]


def by_variable(a, i):
    return a[i]


def of_two_kinds(a):
    return a[0] + a[0, 1]


def slices(a):
    return a[0:2]


def by_a_second_name(a):
    b = a
    return b[-1] + a[1]


def passed_on(a):
    return a[1] + first_of(a)


def first_of(x):
    return x[0]


def one_after_the_other(a):
    return a[0][1]


def assigned(a):
    a = a[0] * 2
    return a


def hidden(a):
    return max(a[0] for a in (1, 2))


def in_a_lambda(a):
    return (lambda a: a[0])((1.0,)) + a[1]


@pytest.mark.parametrize("function, keywords, error, says", [
    (by_a_second_name, {}, TypeError, "`a` has relative indices, and can be used only as in"), (passed_on, {}, TypeError, "`a` has relative indices"),
    (one_after_the_other, {}, TypeError, "write all indices in one subscript"), (assigned, {}, TypeError, "give other variables other names"),
    (hidden, {}, TypeError, "give other variables other names"), (in_a_lambda, {}, TypeError, "give other variables other names"),
    (assigns, {}, TypeError, "assigning to arrays that are passed"), (by_variable, {}, TypeError, "give neighborhood="), (of_two_kinds, {}, TypeError, "has 2 indices, other subscripts have 1"),
    (slices, {}, lw.errors.UnsupportedError, "a slice of `a`"), (forward_again, {"neighborhood": ((0, 1), (0, 1))}, ValueError, "neighborhood= has 2 axes"),
    (forward_again, {"neighborhood": ((1, 0),)}, ValueError, "the first and the last index"), (forward_again, {"standard_indexing": "b"}, ValueError, "'b', which is not a parameter"),
    (forward_again, {"standard_indexing": ("a",)}, ValueError, "must use relative indices"), (forward_again, {"cval": "x"}, TypeError, "cval= must be a number"),
    (lambda: 1, {}, TypeError, "an array as its first parameter"), (3, {}, TypeError, "expected a Python function"), (max, {}, TypeError, "expected a Python function"),
])
def test_bad_stencils(function, keywords, error, says):
    with pytest.raises(error, match=says):
        stencil(**keywords)(function)
    with pytest.raises(ValueError, match="the mode must be 'constant', not 'wrap'"):
        stencil("wrap")


def test_the_result_is_an_array_of_its_own_and_of_the_same_shape():
    a = np.arange(20.0)
    two = stencil(lambda a: a[-1] + a[1])
    square = np.ones((5, 6))
    for f, x, out in ((two, a, np.zeros(3)), (two, a, np.zeros(30)), (two, a, np.zeros((20, 2))), (mean_of_four, square, np.zeros((3, 8))), (mean_of_four, square, np.zeros((5, 7)))):
        before = out.copy()
        for call in (f, lw.njit(lambda x, out: f(x, out=out))):
            with pytest.raises(ValueError, match=r"the shape of `out` is not that of `a`"):
                call(x, out=out) if call is f else call(x, out)
            assert (out == before).all()
    big = np.arange(30.0)
    for x, out in ((big, big), (big[:8], big[2:10]), (big[2:10], big[:8])):
        with pytest.raises(ValueError, match="`out` and `a` overlap in memory"):
            two(x, out=out)
    assert (big == np.arange(30.0)).all()
    assert (two(big[:10], out=big[10:20])[1:-1] == 2 * np.arange(1, 9)).all()


def test_stencils_travel_by_their_source():
    scale = 3.0

    @lw.stencil(cval=1.5)
    def wide(a, k):
        return (a[-1] + a[1]) * k * scale

    x, out = np.arange(6.0), np.zeros(6)
    want = wide(x, 2)
    for again in (pickle.loads(pickle.dumps(wide)), copy.copy(wide), copy.deepcopy(wide)):
        assert np.array_equal(again(x, 2), want) and np.array_equal(again(x, 2, out=out), want)
        with pytest.raises(ValueError, match="overlap in memory"):
            again(x, 2, out=x)
