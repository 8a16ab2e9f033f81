"""What errors propose where something common cannot be compiled as it is written."""

from __future__ import annotations

import enum
import operator

import numpy as np
import pytest

import lanewise as lw


def test_tuples_in_numbas_spelling():
    f = lw.njit("Tuple((i8, f8))(i8)")(lambda n: (n, 1.5 * n))
    assert f(3) == (3, 4.5) and f.signatures == lw.njit("Tuple(i8, f8)(i8)")(lambda n: (n, 1.5 * n)).signatures
    assert lw.njit("UniTuple(f8, 2)(f8)")(lambda x: (x, 2 * x))(1.0) == (1.0, 2.0)
    assert lw.njit("f8(Tuple((f8, UniTuple(i8, 2))), i8)")(lambda p, n: p[0] + p[1][1] + n)((1.0, (2, 3)), 4) == 8.0
    with pytest.raises(lw.errors.SignatureError, match="expected `\\)`"):
        lw.njit("Tuple((i8, f8), i8)(i8)")(lambda n: n)


def test_cfunc_without_a_signature():
    with pytest.raises(TypeError, match=r'cfunc needs a signature.*@lw.cfunc\("float64\(float64\)"\)'):
        @lw.cfunc
        def f(x):
            return x


@pytest.mark.parametrize("given, written", [
    (max, "max(a, b)"), (np.add, "a + b"), (operator.add, "a + b"), (np.maximum, "np.maximum(a, b)"), (operator.or_, "a | b"),
])
def test_operators_given_to_reduce(given, written):
    with pytest.raises(TypeError) as caught:
        lw.reduce(given)
    assert f"`lambda a, b: {written}`" in str(caught.value)


def test_reductions_in_compiled_code():
    @lw.njit
    def total(x):
        return lw.reductions.sum(x)

    with pytest.raises(lw.errors.TypingError, match=r"lanewise.reductions.sum(.|\n)*`np.sum\(x\)`"):
        total(np.ones(3))


@pytest.mark.parametrize("name", lw.reductions.__all__)
def test_reductions_given_to_decorators(name):
    given = getattr(lw.reductions, name)
    for door in (lw.njit, lw.vectorize, lw.guvectorize([], "(n)->()"), lw.forall, lw.cuda.jit, lw.reduce,
                 lambda function: lw.reduce(map=function, combine=lambda a, b: a + b), lambda function: lw.reduce(lambda a, b: a + b, finish=function)):
        with pytest.raises(TypeError, match=f"got lanewise.reductions.{name}, which is called outside of compiled code"):
            door(given)
    with pytest.raises(lw.errors.TypingError, match="functions of lanewise.reductions are called outside"):
        lw.njit(lambda x: given(x, x, x))(np.ones(3))


def test_a_list_as_a_result():
    assert lw.njit(lambda t, y: [y[1], -y[0]])(1.0, np.ones(2)) == [1.0, -1.0]
    with pytest.raises(lw.errors.TypingError, match=r"E183: a list cannot be a result(.|\n)*return numbers; functions of `njit` return lists"):
        lw.vectorize(lambda t: [t, -t])(1.0)


@pytest.mark.parametrize("f, says", [
    (lambda x: np.nditer(x), r"loop over `x\.flat`, over `np\.ndenumerate\(x\)`, or over `np\.ndindex\(x\.shape\)`"),
    (lambda x: str(x[0]), "strings are constants in compiled code"), (lambda x: repr(x[0]), "strings are constants in compiled code"),
])
def test_functions_of_numbas_programs(f, says):
    with pytest.raises(lw.errors.TypingError, match=says):
        lw.njit(f)(np.ones(2))


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Flags(enum.Flag):
    A = 1
    B = 2


def raised(m, x):
    if x > 0:
        raise ValueError(f"{m}")
    return x


def spaced(m, x):
    if x > 0:
        raise ValueError(f"{x!r:.2f}")
    return x


def looped(m, x):
    n = 0
    for c in m:
        n += 1
    return n


def with_objects(m, x):
    with lw.objmode(y="float64"):
        y = x
    return y


@pytest.mark.parametrize("f, first, says", [
    (lambda m, x: len(x), 1, r"this is float(.|\n)*pass an array, if only of one element"), (lambda m, x: x.shape, 1, "pass an array, if only of one element"),
    (lambda m, x: x.mean(), 1, "pass an array, if only of one element; in `guvectorize`, the layout says which operands have axes"),
    (looped, "abc", r"a for loop needs a range(.|\n)*this is the string 'abc'(.|\n)*pass the characters as an array, `np.frombuffer"),
    (with_objects, 1, r"there is no object mode(.|\n)*call it from a Python function, which does this with its results, and calls a second compiled function"),
    (lambda m, x: Color[m].value, "RED", r"members of an enum class are found by names and values that are constants, `C\[\"A\"\]` and `C\(1\)`: pass the member"),
    (lambda m, x: Flags.A, 1, r"E183(.|\n)*a member of an enum.Flag(.|\n)*as the `.value` of a member, or a member of an `enum.Enum`"),
    (lambda m, x: Flags.A if x > 0 else Flags.B, 1, r"E104(.|\n)*those of an `enum.Flag` have numbers, `.value`"),
    (raised, Color.RED, r"this is Color(.|\n)*show its value, `{m.value}`"), (spaced, 1, r"this format of a field of an f-string is not for strings"),
])
def test_what_is_written_instead(f, first, says):
    with pytest.raises(lw.errors.CompileError, match=says):
        lw.njit(f)(first, 1.5)


def test_what_is_written_instead_works():
    assert lw.njit(looped)(tuple("abc"), 1.0) == 3
    assert lw.njit(lambda m, x: m)(Color["RED"], 1.0) is Color.RED and lw.njit(lambda x: Flags.A.value if x > 0 else Flags.B.value)(1.0) == 1

    def shown(m, x):
        raise ValueError(f"{m.value} {x:>6}")

    with pytest.raises(ValueError, match="1    1.5"):
        lw.njit(shown)(Color.RED, 1.5)


def test_numbers_of_gufuncs():
    with pytest.raises(lw.errors.TypingError, match="the layout says which operands have axes, as `\\(n\\)`"):
        lw.guvectorize("(),(n)->()")(lambda s, x, out: len(s))(1.0, np.ones(2))


@pytest.mark.parametrize("decorator", [lw.jit, lw.njit, lw.cuda.jit, lw.vectorize, lw.forall, lw.reduce])
def test_object_mode(decorator):
    with pytest.raises(lw.errors.UnsupportedError, match="there is no object mode"):
        decorator(nopython=False)


def test_parameters_of_gufuncs_that_are_no_operands():
    @lw.guvectorize("(n)->(n)")
    def scaled(x, out, factor=2.0):
        for i in range(x.size):
            out[i] = x[i] * factor

    x = np.ones(3)
    with pytest.raises(TypeError, match=r"scaled\(\) got 'factor', which has a default and is no operand of the layout, .*: name it in static="):
        scaled(x, factor=3.0)
    assert lw.guvectorize("(n)->(n)", static="factor")(scaled.py_func)(x, factor=3.0).tolist() == [3, 3, 3]
    with pytest.raises(TypeError, match=r"<lambda>\(\) got the output 'made' by name: pass it by out="):
        lw.guvectorize("(n)->(n)")(lambda x, made: None)(x, made=x)
    with pytest.raises(TypeError, match="got multiple values for argument 'y'"):
        lw.vectorize(lambda x, y: x + y)(x, x, y=x)


def test_names_that_are_loaded_when_they_are_asked_for_are_in_dir():
    assert {"experimental", "special", "typed", "add", "float64"} <= set(dir(lw)) and set(lw.__all__) <= set(dir(lw))
    for module in (lw.random, lw.cuda, lw.reductions, lw.special, lw.ufuncs, lw.types, lw.typed, lw.extending, lw.errors):
        assert set(module.__all__) <= set(dir(module)), module
