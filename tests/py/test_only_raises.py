"""Functions that only raise, because they are not written yet, or because a constant leads there: the call raises the exception."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw

MODE = "zeros"


def refuse(mode):
    raise ValueError(f"unknown mode {mode}")


def refuse_later(mode):
    found = refuse(mode)
    return found + 1


def chosen(x, mode="ones"):
    if mode == "ones":
        return x * 0 + 1
    raise ValueError(f"unknown mode {mode}")


def chosen_by_assert(x, mode="ones"):
    assert mode == "ones", "unknown mode"
    return x * 0 + 1


def chosen_by_match(x, mode="ones"):
    match mode:
        case "ones":
            return x * 0 + 1
        case _:
            raise ValueError("unknown mode")


def chosen_by_call(x, mode="ones"):
    if mode == "ones":
        return x * 0 + 1
    return refuse_later(mode)


def chosen_by_statement(x, mode="ones"):
    if mode != "ones":
        refuse(mode)
    return x * 0 + 1


def chosen_in_an_expression(x, mode="ones"):
    first, second = chosen(x, mode) * x - x, chosen(x, mode)
    if chosen(x, mode) > 1 or x < -chosen(x, mode):
        return second
    for i in range(int(chosen(x, mode))):
        first = first + second
    return first if mode == "ones" else chosen(x, mode)


CHOSEN = [chosen, chosen_by_assert, chosen_by_match, chosen_by_call, chosen_by_statement, chosen_in_an_expression]


def later(x):
    raise NotImplementedError("later")


@pytest.mark.parametrize("function", CHOSEN)
@pytest.mark.parametrize("signatures", [(), (["f8(f8)", "i8(i8)"],)])
def test_a_static_value_of_vectorize(function, signatures, target):
    f = lw.vectorize(*signatures, static="mode", target=target)(function)
    for x in (1.0, np.arange(3), np.ones((2, 3))):
        for call in (lambda: f(x, mode="two"), lambda: f(x, "two"), lambda: f(x, mode="two", out=np.zeros(np.shape(x)))):
            with pytest.raises((ValueError, AssertionError), match="unknown mode"):
                call()
    assert f(2.0) == 1.0


@pytest.mark.parametrize("function", CHOSEN)
def test_a_static_value_of_guvectorize(function, target):
    def row(x, mode="ones"):
        return function(x[0], mode)

    def fill(x, out, mode="ones"):
        out[:] = function(x[0], mode)

    for f in (lw.guvectorize("(n)->()", static="mode", target=target)(row), lw.guvectorize("(n)->(n)", static="mode", target=target)(fill),
              lw.guvectorize(["(f8[:], f8[:])"], "(n)->(n)", static="mode", target=target)(fill)):
        with pytest.raises((ValueError, AssertionError), match="unknown mode"):
            f(np.ones((2, 3)), mode="two")
        assert np.all(f(np.ones((2, 3))) == 1)


@pytest.mark.parametrize("function", CHOSEN)
def test_a_static_value_of_kernels(function):
    @lw.forall(static="mode")
    def fill(i, out, mode="ones"):
        out[i] = function(out[i], mode)

    out = np.zeros(3)
    for call in (lambda: fill(3, out, mode="two"), lambda: lw.njit(function)(1.0, "two"), lambda: lw.njit(static="mode")(function)(1.0, mode="two")):
        with pytest.raises((ValueError, AssertionError), match="unknown mode"):
            call()
    fill(3, out)
    assert np.all(out == 1) and lw.njit(function)(2.0) == 1.0


def test_a_captured_value():
    global MODE
    made = [lw.vectorize(lambda x: chosen(x, MODE)), lw.vectorize(["f8(f8)"])(lambda x: chosen(x, MODE)), lw.guvectorize("(n)->()")(lambda x: chosen(x[0], MODE)),
            lw.reduce(lambda a, b: chosen(a + b, MODE)), lw.reduce(map=lambda x: chosen(x, MODE), combine=lambda a, b: a * b),
            lw.reduce(lambda a, b: a * b, finish=lambda a: chosen(a, MODE)), lw.njit(lambda x: chosen(x[0], MODE))]
    for mode in ("zeros", "ones", "twos", "ones"):
        MODE = mode
        for f in made:
            if mode == "ones":
                assert np.all(f(np.full(2, 3.0)) == 1.0)
            else:
                with pytest.raises(ValueError, match=f"unknown mode {mode}"):
                    f(np.full(2, 3.0))


@pytest.mark.parametrize("signature", ["f8(f8)", "f4(f8)", "i2(f8)", "c16(f8)", "UniTuple(f8, 2)(f8)", "f8[:](f8)", "void(f8)"])
def test_signatures_say_what_would_be_returned(signature):
    functions = [lw.njit(signature)(later)]
    if "Tuple" not in signature and "[" not in signature and "void" not in signature:
        functions.append(lw.vectorize([signature])(later))
    for f in functions:
        with pytest.raises(NotImplementedError, match="later"):
            f(1.0)


def test_ufuncs_of_any_types():
    @lw.vectorize
    def one(x, y):
        raise NotImplementedError("later")

    @lw.vectorize(static="ready")
    def two(x, y, ready=False):
        if ready:
            return x, y
        raise NotImplementedError("later")

    x = np.arange(3.0)
    calls = [lambda: one(1j, np.int8(1)), lambda: one(x, x[:, None]), lambda: one.outer(x, x), lambda: one.at(x.copy(), [0], 1.0),
             lambda: one(x, 1, out=np.zeros(3, np.int8)), lambda: one(x, 1, where=[True, False, True], out=x.copy()),
             lambda: one(np.datetime64("2020-01-01"), np.timedelta64(1, "D")), lambda: two(x, 2), lambda: two(x, x, out=(x.copy(), np.zeros(3, np.int8)))]
    for call in calls:
        with pytest.raises(NotImplementedError, match="later"):
            call()
    assert one.nout == 1 and two.nout == 2


def test_no_element_no_exception():
    f = lw.vectorize(static="mode")(chosen)
    g = lw.guvectorize("(n)->(n)")(lambda x, out: later(x))
    assert f(np.zeros((0, 2)), mode="two").shape == (0, 2)
    assert g(np.zeros((0, 2))).shape == (0, 2)
    assert f(np.ones(2), mode="two", where=False, out=np.full(2, 7.0)).tolist() == [7.0, 7.0]
    with pytest.raises(NotImplementedError):  # a row without elements is a row
        g(np.zeros((2, 0)))


def test_reductions():
    def pair(x):
        return x, 1

    def no_pair(a, b):
        raise NotImplementedError("later")

    for f in (lw.reduce(no_pair), lw.reduce(map=pair, combine=no_pair, finish=lambda s, n: s / n), lw.reduce(map=later, combine=lambda a, b: a + b),
              lw.reduce(lambda a, b: a + b, finish=later)):
        for call in (lambda: f(np.arange(5.0)), lambda: f(np.arange(6).reshape(2, 3), axis=0)):
            with pytest.raises(NotImplementedError, match="later"):
                call()
    assert lw.reduce(no_pair)(np.array([7.0])) == 7.0  # nothing is combined


class Scale:
    def __init__(self, by):
        self.by = by

    @lw.vectorize
    def one(self, x):
        raise NotImplementedError("later")

    @lw.vectorize(static="mode")
    def two(self, x, mode="ones"):
        return chosen(x, mode), self.by

    @lw.guvectorize("(n)->()")
    def row(self, x):
        raise NotImplementedError("later")

    @lw.guvectorize("(n)->(n)")
    def fill(self, x, out):
        raise NotImplementedError("later")

    @lw.njit
    def compiled(self, x):
        raise NotImplementedError("later")


@pytest.mark.parametrize("name", ["one", "row", "fill", "compiled"])
def test_methods(name):
    with pytest.raises(NotImplementedError, match="later"):
        getattr(Scale(2.0), name)(np.ones(3))


def test_a_method_with_a_static_value():
    with pytest.raises(ValueError, match="unknown mode two"):
        Scale(2.0).two(np.ones(3), mode="two")
    assert [part.tolist() for part in Scale(2.0).two(np.ones(2))] == [[1.0, 1.0], [2.0, 2.0]]


# ---- calls of functions that only raise end a path, as `raise` does ----


@lw.vectorize
def caught(x):
    try:
        y = x if x > 0 else x - 1
        if y < 0:
            y = refuse_later(y)
        y += 1
    except ValueError:
        return -1.0
    finally:
        x = 2.0
    return y + x


@lw.vectorize
def in_a_loop(x, n):
    for i in range(n):
        if i > x:
            refuse(i)
        x += 0.5
    return x


def test_paths_that_a_call_ends():
    assert caught([1.0, -1.0]).tolist() == [4.0, -1.0]
    assert in_a_loop(1.0, 2) == 2.0
    with pytest.raises(ValueError, match="unknown mode 1"):
        in_a_loop(0.0, 2)


def test_a_loop_on_all_cores():
    @lw.njit(parallel=True)
    def total(x):
        s = 0.0
        for i in lw.prange(len(x)):
            if x[i] > 5:
                refuse(i)
            s += x[i]
        return s

    assert total(np.arange(6.0)) == 15.0
    with pytest.raises(ValueError, match="unknown mode 6"):
        total(np.arange(7.0))


def test_what_inspection_shows():
    f = lw.vectorize(["f8(f8)"])(later)
    assert "later(x: float64) -> NoReturn  (can raise)" in f.inspect_types()


def test_dropped_exceptions_leave_nothing_to_return():
    with pytest.raises(lw.errors.TypingError, match="E154(.|\n)*nothing is returned"):
        lw.vectorize(errors="ignore")(later)(1.0)
