"""Calls of functions that never return, because these arguments leave only a `raise`: the rest of the statement is not typed, and what Python evaluates before the call runs."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw


def scale(mode):
    if mode == "a":
        return 1.0
    raise ValueError(mode)


def count(a, i):
    a[i] += 1
    return a[i]


def fail(text):
    raise ValueError(text)


class Point:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        raise ValueError("points")


def times(x, a):
    return x * scale("b")


def negated(x, a):
    return -scale("b")


def called(x, a):
    return np.sin(max(scale("b"), x))


def attribute(x, a):
    return scale("b").real


def compared(x, a):
    return scale("b") < x < scale("c")


def element(x, a):
    a[0] = scale("b")


def added_to(x, a):
    a[0] += 2 * scale("b")


def whole(x, a):
    return (a + x) * scale("b") + a


def iterated(x, a):
    for i in range(scale("b")):
        x += i
    return x


def condition(x, a):
    while x > scale("b"):
        x -= 1
    return x


def both_arms(x, a):
    return 3 * (scale("b") if x > 100 else scale("b"))


def method(x, a):
    return 2 * (Point(x) + x)


def through_another(x, a):
    return times(x, a) / x


def comprehension(x, a):
    return [v + scale("b") for v in a]


def asserted(x, a):
    assert scale("b") > 1
    return x


@pytest.mark.parametrize("function", [times, negated, called, attribute, compared, element, added_to, whole, iterated, condition, both_arms, method, through_another, comprehension, asserted], ids=lambda f: f.__name__)
def test_the_users_exception_is_raised(function):
    with pytest.raises(ValueError, match="points" if function is method else "^b"):
        lw.jit(function)(2.0, np.ones(3))


def chain(x, a):
    return 1 < x < scale("b") < count(a, 2)


def both(x, a):
    return 1.0 if x > 1 and scale("b") > 3 else 2.0


def either(x, a):
    return 1.0 if x < 1 or scale("b") > 3 else 2.0


def arm(x, a):
    return 2 * (scale("b") if x > 1 else x)


def value(x, a):
    return (x > 1 and scale("b") + 1) + 1


def guard(x, a):
    match x:
        case 2.0 if scale("b") > 1:
            return 4.0
    return 5.0


def branch(x, a):
    if x < 1:
        y = x + 1
    else:
        fail("b")
    return y


@pytest.mark.parametrize("function", [chain, both, either, arm, value, guard, branch], ids=lambda f: f.__name__)
def test_a_call_that_other_operands_skip_raises_only_where_it_is_made(function):
    f, a = lw.jit(function), np.zeros(3)
    assert f(0.5, a) == function(0.5, a)
    with pytest.raises(ValueError, match="^b"):
        f(2.0, a)
    assert not a.any()


def before(a):
    return count(a, 0) * scale("b") + count(a, 1)


def before_store(a):
    a[int(count(a, 2))] = count(a, 0) + scale("b")


@pytest.mark.parametrize("function", [before, before_store], ids=lambda f: f.__name__)
def test_what_python_evaluates_before_the_call_runs(function):
    a = np.zeros(3)
    with pytest.raises(ValueError, match="^b"):
        lw.jit(function)(a)
    np.testing.assert_array_equal(a, [1, 0, 0])


def caught(x):
    steps = 0
    try:
        y = x * scale("b")
        steps = 10
    except ValueError:
        y = 7.0
    else:
        y = 9.0
    finally:
        steps += 1
    return y, steps


def test_a_handler_catches_it():
    assert lw.jit(caught)(2.0) == (7.0, 1)


def test_every_decorator():
    x = np.array([1.0, -1.0])

    def one(x):
        return x if x > 0 else x * scale("b")

    def rows(x, out):
        for i in range(len(x)):
            out[i] = x[i] if x[i] > 0 else 2 * scale("b")

    def index(i, x):
        x[i] = x[i] if x[i] > 0 else 2 * scale("b")

    def combine(a, b):
        return a + b if b > 0 else a * scale("b")

    calls = [lw.vectorize(one), lw.guvectorize("(n)->(n)")(rows), lambda x: lw.forall(index)(len(x), x), lw.reduce(combine)]
    for call in calls:
        call(x[:1].copy())
        with pytest.raises(ValueError, match="^b"):
            call(x.copy())


def test_arguments_of_one_call_decide():
    @lw.jit
    def pick(x, n):
        if n == 1:
            return x
        raise ValueError("no")

    @lw.jit
    def both(x):
        return pick(x, 1) + pick(x, 2)

    with pytest.raises(ValueError, match="no"):
        both(2.0)


@lw.vectorize(errors="ignore")
def ignored(x):
    if x > 0:
        return x
    return x * scale("b")


def test_where_exceptions_are_ignored():
    assert ignored(np.array([1.0, -1.0]))[0] == 1
