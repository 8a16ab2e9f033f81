"""Loops over literal_unroll(t), where t is an argument, a variable or a tuple that is written there: items of different types."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, literal_unroll

DIFFERENT = np.ones(2), np.ones(3, np.int32), np.zeros((3, 1))[:, 0]


def of_argument(t):
    s = 0.0
    for x in literal_unroll(t):
        s += float(x[0]) * len(x)
    return s


def of_variables(a, b):
    s = 0.0
    for x in lw.literal_unroll((a, b, 3)):
        if isinstance(x, int):
            continue
        s += float(x.sum()) * x.ndim
    return s


def with_jumps(t, limit):
    s, n = 0.0, 0
    for x in literal_unroll(t):
        if n >= limit:
            break
        n += 1
        for i in range(5):
            if i == 3:
                break
            if i == 1:
                continue
            s += float(x[0])
    return s, n


def of_the_rest(*args):
    s = 0.0
    for x in literal_unroll(args):
        for y in literal_unroll((x, 2)):
            s += float(y) if isinstance(y, int) else float(y[1])
    return s


def of_a_variable(n):
    items = n, 2.5, np.ones(2)
    out = []
    for x in literal_unroll(items):
        if isinstance(x, np.ndarray):
            out.append(float(x[0]))
        else:
            out.append(x * 1.0)
    return out


def read_once(n):
    a, b, s = n, 2.5, 0.0
    for x in literal_unroll((a, b)):
        b = 100.0
        s += x
    return s + b


@pytest.mark.parametrize("function, arguments", [
    (of_argument, (DIFFERENT,)), (of_argument, ((np.ones(2),),)), (of_argument, ((),)), (of_argument, ((np.ones(2),) * 40,)), (of_variables, (np.ones((2, 2)), np.ones(3, np.int8))),
    (with_jumps, (DIFFERENT, 2)), (with_jumps, (DIFFERENT, 9)), (with_jumps, (DIFFERENT, 0)), (of_the_rest, DIFFERENT[:2]), (of_the_rest, ()), (of_a_variable, (3,)), (read_once, (1,)),
])
def test_like_python(function, arguments):
    assert lw.njit(function)(*arguments) == function(*arguments)


def loops_in_loops(x, t):
    s = 0.0
    for a in literal_unroll((1, 2.5, x)):
        for b in literal_unroll((10, 20.5)):
            if b > 15:
                break
            s += a * b
        for b in literal_unroll(t):
            if b > 2:
                break
            s += a * 10 + b
        if s > 500:
            break
        s += 0.25
    return s


def assigned_meanwhile(x, t):
    s = 0.0
    for v in literal_unroll(t):
        t = (x, x)
        s += v * t[0]
    return s


@pytest.mark.parametrize("function", [loops_in_loops, assigned_meanwhile])
@pytest.mark.parametrize("x", [3.5, 1, 100])
@pytest.mark.parametrize("t", [(1, 2.5, 3), (1.5, 2), (4,)])
def test_each_loop_is_left_for_itself(function, x, t):
    assert lw.njit(function)(x, t) == function(x, t)


def test_too_many_items_of_different_types():
    with pytest.raises(lw.errors.TypingError, match="E140"):
        lw.njit(of_argument)((np.ones(2),) * 16 + (np.ones(2, np.int8),))


def test_kernels_and_ufuncs(monkeypatch):
    @cuda.jit
    def kernel(t, out):
        for x in literal_unroll(t):
            out[0] += x[0]

    @lw.vectorize
    def total(a, b):
        s = 0
        for x in literal_unroll((a, b)):
            s += x
        return s

    monkeypatch.setattr(lw.config, "target", "cpu")
    out = np.zeros(1)
    kernel[1, 1]((np.ones(2), np.ones(3, np.int32)), out)
    assert out[0] == 2 and total(np.arange(3.0), np.arange(3)).tolist() == [0, 2, 4]
