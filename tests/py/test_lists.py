"""Lists in compiled functions: tuples whose type says that they are lists. Slices of lists and `*rest` are lists, too, so that
they compare, print and index arrays as Python's do."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors

PLACES = [0, 1, 2]
MASK = [True, False, True]


def first_of(x, places):
    return x[places]


def slice_of_a_variable(x):
    i = [1, 2]
    return x[i[0:2]]


def slice_of_a_global(x):
    return x[PLACES[1:]]


def two_slices(x):
    return x[PLACES[0:2], PLACES[1:3]]


def reversed_display(x):
    return x[[1, 2][::-1]]


def rest_of_a_tuple(x):
    first, *rest = (0, 1, 2)
    return x[rest]


def rest_of_a_list(x):
    *rest, last = [0, 2, 1]
    again = rest
    return x[again]


def rest_in_a_tuple(x):
    (first, *rest), last = ((0, 1, 2), 3)
    return x[rest]


def slice_of_a_tuple(x):
    i = (0, 2)
    return x[i[:2]]


def more_arguments(x):
    def element(*i):
        return x[i]
    return element(0, 1)


def computed(x):
    i = [int(x[0, 1]), int(x[0, 2])]
    return x[i[1:]]


def variable(x):
    i = [0, 2]
    return x[i]


def negative(x):
    i = [-1, 0]
    return x[i]


def joined(x):
    return x[[0] + [1]]


def chosen(x):
    i = [0, 1] if x[0, 0] == 0 else [1, 2]
    return x[i]


def argument(x):
    return first_of(x, [0, 2])


def captured(x):
    i = [0, 2]

    def rows():
        return x[i]
    return rows()


def nested(x):
    i = [[0, 2], [1, 1]]
    return x[i]


def mask(x):
    i = [True, False, True]
    return x[i]


def mask_of_both_axes(x):
    i = [[True, False, True], [False, False, False], [False, True, True]]
    return x[i]


def mask_from_outside(x):
    return x[MASK]


def empty(x):
    i = []
    return x[i]


def second_axis(x):
    i = [0, 2]
    return x[:, i]


def with_an_integer(x):
    i = [0, 2]
    return x[i, 1]


def both_axes(x):
    i = [0, 2]
    j = [1, 2]
    return x[i, j]


def list_in_a_tuple(x):
    i = ([0, 2], 1)
    return x[i]


def tuple_in_a_tuple(x):
    i = (0, 2)
    return x[(i,)]


def stored(x):
    i = [0, 2]
    x[i] = 5.0
    return x


def stored_rows(x):
    i = [2, 0]
    x[i[:1], :] = x[i[1:]]
    return x


INDICES = [slice_of_a_variable, slice_of_a_global, two_slices, reversed_display, rest_of_a_tuple, rest_of_a_list, rest_in_a_tuple, slice_of_a_tuple,
           more_arguments, computed, variable, negative, joined, chosen, argument, captured, nested, mask, mask_of_both_axes, mask_from_outside, empty,
           second_axis, with_an_integer, both_axes, list_in_a_tuple, tuple_in_a_tuple, stored, stored_rows]


@pytest.mark.parametrize("f", INDICES, ids=lambda f: f.__name__)
def test_lists_select_elements(f):
    x = np.arange(9.0).reshape(3, 3)
    want = f(x.copy())
    got = lw.jit(f)(x.copy())
    assert np.shape(got) == np.shape(want)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("f", [lambda x: [1, 2, 3][1:] == [2, 3], lambda x: [1, 2, 3][:2] == (1, 2), lambda x: (1, 2, 3)[:2] == (1, 2),
                               lambda x: [x, 2.0][1:] == [2.0], lambda x: [x, 2.0][1:] == (2.0,), lambda x: (x, 2.0)[1:] == [2.0],
                               lambda x: isinstance([x, x][1:], list), lambda x: isinstance([x, x][1:], tuple), lambda x: isinstance((x, x)[1:], list),
                               lambda x: isinstance((x, x)[1:], tuple), lambda x: isinstance([1, 2][1:], list), lambda x: len([x, x][1:] + [1.0]),
                               lambda x: sum([x, x][1:] + [1.0]), lambda x: [1, 2] < [1, 3], lambda x: [[1], [2]][1:] == [[2]],
                               lambda x: [2] in [[1], [2]][1:], lambda x: (2,) in [[1], [2]], lambda x: not [1][1:], lambda x: (*[1, 2][1:],) == (2,)])
def test_slices_compare_as_lists(f):
    got, want = lw.jit(f)(3.0), f(3.0)
    assert got == want and isinstance(got, bool) == isinstance(want, bool)


LONG = list(range(0, 400, 2))


@pytest.mark.parametrize("f", [lambda x: x[LONG], lambda x: x[LONG[1:]], lambda x: np.take(x, LONG), lambda x: np.array(LONG), lambda x: np.isin(x, LONG),
                               lambda x: np.concatenate((x, LONG)), lambda x: x[LONG, ]])
def test_long_lists(f):
    x = np.arange(500.0)
    np.testing.assert_array_equal(lw.jit(f)(x), f(x))


def kinds_of_rests(x):
    a, *b = (1, 2, 3)
    *c, d = [x, x, x]
    s = 0
    for e, *rest in ((1, 2, 3), (4, 5, 6)):
        s += rest[1] + isinstance(rest, list)
    else:
        s += 100
    return isinstance(b, list), isinstance(b, tuple), b == [2, 3], c == [x, x], c == (x, x), s


def kinds_of_more(x):
    def f(*args):
        return isinstance(args, tuple), isinstance(args[1:], tuple), args[1:] == (2,)
    return f(1, 2)


def over_slices(x):
    s = 0
    for v in [1, 2, 3][1:]:
        s += v
    else:
        s += 100
    return s


@pytest.mark.parametrize("f", [kinds_of_rests, kinds_of_more, over_slices])
def test_rests_are_lists(f):
    assert lw.jit(f)(3.0) == f(3.0)


def test_slices_and_rests_are_printed_as_lists(capfd):
    @lw.jit
    def f(x, out):
        a, *rest = (x, 2, 3)
        print([1, 2, 3][1:], rest, (1, 2)[1:], [x][1:])
        out[0] = a

    f[1, 1](3.0, np.zeros(1))
    assert capfd.readouterr().out == "[2, 3] [2, 3] (2,) []\n"


@pytest.mark.parametrize("call", [lambda x: x[[0, 3]], lambda x: x[[0, 3][1:]], lambda x: x[[-4, 0]]])
def test_places_beyond_the_end(call):
    with pytest.raises(IndexError, match="out of bounds"):
        lw.jit(call)(np.arange(3.0))


@pytest.mark.parametrize("call, words", [(lambda x: x[[1.0, 2.0]], "array index must be an integer"), (lambda x: x[[1, 2.0][1:]], "array index must be an integer"),
                                         (lambda x: x[[None, 2]], "array index must be an integer"), (lambda x: [1, 2][1:] + (1,), r"`\+` is not defined")])
def test_what_is_no_list_of_places(call, words):
    with pytest.raises(errors.TypingError, match=words):
        lw.jit(call)(np.arange(3.0))


def test_a_slice_of_a_list_is_no_result():
    with pytest.raises(errors.TypingError, match="E183"):
        lw.jit(lambda x: [x, x][1:])(3.0)
    with pytest.raises(errors.TypingError, match="E183"):
        def f(x):
            a, *rest = (x, x)
            return rest
        lw.jit(f)(3.0)
