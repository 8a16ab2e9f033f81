"""What compiled functions raise: class, text, place and attributes, on every target."""
import linecache

import numpy as np
import pytest

import lanewise as lw
import lanewise.errors


class Own(Exception):
    pass


class Picky(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


def raises_value(x):
    if x > 2:
        raise ValueError("too big")
    return x


def raises_own(x):
    if x > 2:
        raise Own("too big")
    return x


def raises_picky(x):
    if x > 2:
        raise Picky("too", "big")
    return x


def asserts(x):
    assert x <= 2, "at most two"
    return x


def line_of(function, part):
    code = function.__code__
    for line in range(code.co_firstlineno, code.co_firstlineno + 30):
        if part in linecache.getline(code.co_filename, line):
            return line
    raise AssertionError(part)


@pytest.mark.parametrize("function, part, cls, message", [
    (raises_value, "raise ", ValueError, "too big"),
    (raises_own, "raise ", Own, "too big"),
    (asserts, "assert ", AssertionError, "at most two"),
])
def test_word_for_word(function, part, cls, message):
    f = lw.vectorize(function)
    x = np.arange(6.0)
    line = line_of(function, part)
    with pytest.raises(cls) as info:
        f(x)
    assert type(info.value) is cls
    name = function.__name__
    assert str(info.value) == f"{message} (raised in `{name}` at {__file__}:{line}, element 3)"
    assert info.value.function == name and info.value.file == __file__
    assert info.value.line == line and info.value.element == 3
    assert (f(x[:3]) == x[:3]).all()  # clean afterwards


def test_a_class_that_takes_no_text():
    with pytest.raises(RuntimeError, match="too"):
        lw.vectorize(raises_picky)(np.arange(6.0))


def carries_text_and_value(x):
    if x > 2:
        raise ValueError("too big:", x)
    return x


def carries_value(x):
    if x > 2:
        raise ValueError(x)
    return x


def carries_two(x):
    if x > 2:
        raise Own("it's", x, x + 1, "big")
    return x


def carries_from_inside(x):
    return carries_text_and_value(x) + 1


@pytest.mark.parametrize("function", [carries_text_and_value, carries_value, carries_two,
                                      carries_from_inside])
@pytest.mark.parametrize("dtype", ["f8", "i8", "u1", "i2"])
def test_numbers_are_carried(function, dtype):
    x = np.arange(20_000, dtype="i8") % 7
    x[:5000] = 0
    x = x.astype(dtype)
    with pytest.raises(Exception) as wanted:
        for value in x.tolist():
            function(value)
    with pytest.raises(type(wanted.value)) as info:
        lw.vectorize(function)(x)
    assert str(info.value).startswith(f"{wanted.value} (raised in `")
    assert info.value.element == np.argmax(x > 2)


def test_too_many_numbers():
    def f(x):
        raise ValueError(x, x, x)

    with pytest.raises(lw.errors.CompileError, match="at most 2"):
        lw.vectorize(f)(1.0)
