"""Objects that run their function for many elements, forall and reduce, are refused by compiled code, which would run one step."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors, njit, prange


@lw.forall
def square(i, x, out):
    out[i] = x[i] ** 2


@lw.forall(ndim=2)
def square_2d(i, j, x, out):
    out[i, j] = x[i, j] ** 2


@lw.forall
def count(i, x, counts):
    cuda.atomic.add(counts, x[i], 1)


dot = lw.reduce(lambda a, b: a + b, map=lambda u, v: u * v)
total = lw.reduce(lambda a, b: a + b)
mean = lw.reduce(map=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), finish=lambda a: a[0] / a[1])


def call_forall(x, out):
    square(x.size, x, out)


def call_forall_in_prange(x, out):
    for i in prange(x.size):
        square(i, x, out)


def call_forall_2d(x, out):
    square_2d(x.shape, x, out)


def call_atomic(x, out):
    count(x.size, x, out)


REFUSED = "(?s)E152: this cannot be called from compiled code.*range"


@pytest.mark.parametrize("f", [call_forall, call_forall_in_prange, call_forall_2d, call_atomic])
@pytest.mark.parametrize("compiled", [njit, lw.jit, lambda f: cuda.jit(f, target="cpu")[1, 1]], ids=["njit", "jit", "kernel"])
def test_forall(f, compiled):
    with pytest.raises(errors.TypingError, match=REFUSED):
        shape = (2, 2) if f is call_forall_2d else 4
        compiled(f)(np.zeros(shape, np.int64), np.zeros(shape, np.int64))


def test_forall_in_forall_and_device_functions():
    @lw.forall
    def outer(i, x, out):
        square(i, x, out)

    helper = cuda.jit(device=True)(call_forall)

    @lw.forall
    def through_helper(i, x, out):
        helper(x, out)

    for f in outer, through_helper:
        with pytest.raises(errors.TypingError, match=REFUSED):
            f(4, np.zeros(4), np.zeros(4))


def test_the_function_of_forall_can_be_called():
    @njit
    def f(x):
        out = np.zeros(x.size)
        for i in prange(x.size):
            square.py_func(i, x, out)
        return out

    assert f(np.arange(4.0)).tolist() == [0, 1, 4, 9]


REDUCES = "(?s)E152: this cannot be called from compiled code.*reduces whole arrays"


@pytest.mark.parametrize("r", [total, mean])
def test_reductions(r):
    def of_array(x):
        return r(x)

    def of_numbers(x):
        return r(x[0], x[1])

    for f in of_array, of_numbers:
        with pytest.raises(errors.TypingError, match=REDUCES):
            njit(f)(np.arange(5.0))


def test_reductions_of_two_arrays():
    @njit
    def f(x, y):
        return dot(x, y)

    with pytest.raises(errors.TypingError, match=REDUCES):
        f(np.arange(5.0), np.arange(5.0))


def element(x):
    return total(x, x)


def row(x, out):
    out[0] = total(x)


def test_reductions_in_the_other_generators():
    x = np.arange(4.0)
    calls = [lambda: lw.vectorize(element)(x), lambda: lw.guvectorize("(n)->()")(row)(x), lambda: lw.reduce(lambda a, b: total(a, b))(x),
             lambda: lw.forall(lambda i, y: total(y, y))(2, x)]
    for call in calls:
        with pytest.raises(errors.TypingError, match=REDUCES):
            call()


def test_the_function_that_combines_can_be_called():
    @njit
    def f(x):
        return total.py_func(x[0], x[1])

    assert f(np.array([2.0, 3.0])) == 5 and lw.reduce(total)(np.arange(5.0)) == 10


@pytest.mark.parametrize("check", ["bounds", "bounds,divide", {"bounds"}, ["bounds"], ""])
@pytest.mark.parametrize("decorator", [njit, lw.jit, lw.vectorize, lw.forall, lw.reduce, lw.guvectorize("(n)->()"), cuda.jit])
def test_check_as_a_text(check, decorator):
    def f(i, x):
        return x[i]

    if decorator is njit and check:
        with pytest.raises(IndexError):
            njit(f, check=check)(9, np.ones(3))
    elif decorator in (njit, lw.jit, lw.forall, cuda.jit):
        decorator(f, check=check)
    elif decorator is lw.vectorize:
        lw.vectorize(check=check)(lambda x: x)
    elif decorator is lw.reduce:
        lw.reduce(lambda a, b: a + b, check=check)
    else:
        lw.guvectorize("(n)->()", check=check)(row)


def test_check_with_another_word():
    for check in "bound", "bounds divide", 3:
        with pytest.raises((TypeError, ValueError), match="check= must be a set of divide overflow nan bounds race"):
            njit(lambda x: x, check=check)


def test_a_gufunc_is_named_where_its_arguments_do_not_fit():
    g = lw.guvectorize("(n)->()")(row_sum)
    with pytest.raises(errors.TypingError, match="no overload of `row_sum` takes these arguments"):
        njit(lambda x: g(x, 3.0))(np.ones(3))


def row_sum(x, out):
    out[0] = x.sum()


# ---- ufuncs with parameters that are no operands ----


@lw.vectorize(excluded="table")
def looked_up(x, table):
    return x + table[1]


@lw.vectorize(static="n")
def times(x, n):
    return x * n


@lw.vectorize
def scaled(x, by=2.0):
    return x * by - 1


def test_values_by_position_are_no_outputs():
    x = np.arange(4.0)
    assert njit(lambda x: looked_up(x[2], x))(x) == 3.0
    assert njit(lambda x: times(x[2], 3))(x) == 6.0 and njit(lambda x: times(x, 3))(x).tolist() == [0, 3, 6, 9]
    assert njit(lambda x: scaled(x[2], 5.0))(x) == 9.0
    assert njit(lambda x: scaled(x, 5.0))(x).tolist() == [-1, 4, 9, 14]
    assert njit(lambda x: scaled(x, x))(x).tolist() == [-1, 0, 3, 8] and x.tolist() == [0, 1, 2, 3]  # x is a value, and keeps its elements
    out = np.zeros(4)
    njit(lambda x, out: scaled(x, out=out))(x, out)
    assert out.tolist() == [-1, 1, 3, 5]
    assert lw.vectorize(lambda x: scaled(x, 5.0) + times(x, 3))(x).tolist() == [-1, 7, 15, 23]


def test_types_and_stats_count_calls_with_other_defaults():
    x = np.arange(3.0)

    @lw.vectorize
    def f(x, k, c=2.0):
        return x * k + c

    f(x, x)
    before = f.stats
    assert (f.types, f.ntypes, f.stats["loops"]) == (["dd->d"], 1, 1)
    assert f(x, x, 5.0).tolist() == [5, 6, 9]
    assert (f.types, f.ntypes, f.stats["loops"]) == (["dd->d", "ddd->d"], 2, 2)
    assert f.signatures == ["float64(float64, float64)", "float64(float64, float64, float64)"]
    assert f.stats["compiled"] > before["compiled"]
    assert f.inspect_types().count("c: float") >= 1


# ---- races ----


def _counts(x, out):
    for i in lw.prange(len(x)):
        out[int(x[i])] += 1


def _doubled(x):
    return abs(x) * 2


@pytest.mark.parametrize("keywords", [{}, {"parallel": False}, {"debug": True}], ids=str)
def test_races_of_prange_are_not_looked_for(keywords):
    out = np.zeros(2, int)
    with pytest.raises(ValueError, match=r"check: 'race'.*prange.*`_counts`.*forall"):
        lw.njit(check={"race"}, **keywords)(_counts)(np.ones(3), out)
    lw.njit(debug=True)(_counts)(np.ones(3), out)  # which asks for the checks that there are
    with lw.config(check="race"):
        lw.njit(_counts)(np.ones(3), out)
    assert out.tolist() == [0, 6]
    assert lw.njit(check={"race"})(lambda x: x[1])(np.ones(3)) == 1
    assert lw.njit(check={"race"})(lambda x: _doubled(x[1]) + _doubled(x[2]))(np.ones(3)) == 4  # a tree of several functions
