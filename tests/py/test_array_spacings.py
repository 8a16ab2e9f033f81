"""np.gradient by points and steps, np.insert at one place of a list, np.pad's widths and np.unravel_index's shapes: NumPy's results, or its errors."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import errors, njit

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

TOLERANCE = {2: 2e-3, 4: 1e-6, 8: 1e-14}


def check(f, *args):
    try:
        want = f(*args)
    except Exception as failed:
        with pytest.raises((type(failed), errors.TypingError)):
            njit(f)(*args)
        return
    same(njit(f)(*args), want)


def same(got, want):
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for one, other in zip(got, want):
            same(one, other)
        return
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    if want.dtype.kind == "f":
        np.testing.assert_allclose(got, want, rtol=TOLERANCE[want.dtype.itemsize], atol=0)
    else:
        np.testing.assert_array_equal(got, want)


def slopes(f, x):
    return np.gradient(f, x), np.gradient(f, x, edge_order=2)


@pytest.mark.parametrize("x", [[0.0, 1, 2, 3], [0.0, 1, 3, 4], [0.0, 1e-200, 2e-200, 3e-200], [3.0, 1, -1, -3]], ids=str)
@pytest.mark.parametrize("f", [[1, np.nan, 3, 4], [1, np.inf, 3, 4], [1.0, 2, 4, 8]], ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_points_with_equal_distances_are_a_step(f, x, dtype):
    check(slopes, np.array(f, dtype), np.array(x))
    check(slopes, np.array(f, dtype), np.array(x, dtype))


def test_products_have_the_points_type():
    check(lambda f, x: np.gradient(f, x), (1e6 + np.array([0, 1, 4, 9.0])).astype("f4"), np.array([0, 3, 6, 9], "f4"))
    check(slopes, np.array([0, 0.01, 0.03, 0.05], "f2"), np.array([0, 1e-6, 3e-6, 4e-6]))
    check(slopes, (1e4 + np.array([0, 1, 3, 7, 12.0])).astype("f4"), np.array([0, 1e-3, 2.5e-3, 4e-3, 6e-3]))


@pytest.mark.parametrize("dx", [1e-200, 0.1, 2, np.float64(0.1), np.float32(0.1), np.int8(3), np.array(2.0)], ids=repr)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1"])
def test_steps(dx, dtype):
    check(slopes, np.array([1, 2, 4, 8], dtype), dx)


def test_points_of_several_axes():
    f = np.arange(12.0).reshape(3, 4) ** 2
    check(lambda f, x, y: np.gradient(f, x, y), f, np.array([0, 1, 4.0]), 2.0)
    check(lambda f, x: np.gradient(f, x, axis=1), f, np.array([0, 1, 4.0, 6]))
    check(slopes, np.ones((3, 3)), np.arange(3.0))  # one array of points is for one axis
    check(slopes, np.ones(4, bool), 1.0)
    check(lambda f: np.gradient(f), np.array(3.0))
    check(lambda f: np.gradient(f, (0.0, 1.0, 4.0)), np.array([1.0, 2, 5]))


ROWS = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
INSERTED = [
    lambda a: np.insert(a, [1], [7, 8, 9]), lambda a: np.insert(a, np.array([1]), [7, 8, 9]), lambda a: np.insert(a, 1, [7, 8, 9]), lambda a: np.insert(a, [], 5), lambda a: np.insert(a, [], []),
    lambda a: np.insert(a, [0, 2], [7, 8]), lambda a: np.insert(a, [-1], [7, 8]), lambda a: np.insert(a, np.array(1), 4), lambda a: np.insert(a, 1, np.array(3)), lambda a: np.insert(a, [3], 2),
    lambda a: np.insert(a, [99], 2), lambda a: np.insert(a, np.array([[1]]), 2), lambda a: np.insert(a, [1], [[7], [8], [9]], axis=1), lambda a: np.insert(a, [1], [7, 8, 9, 1], axis=0),
    lambda a: np.insert(a, 1, [7, 8, 9], axis=1), lambda a: np.insert(a, [1], 5, axis=1), lambda a: np.insert(a, np.array([1]), ROWS, axis=0), lambda a: np.insert(a, 1, ROWS, axis=0),
    lambda a: np.insert(a, [0, 2], ROWS, axis=0), lambda a: np.insert(a, [1], np.array([[1, 2], [3, 4], [5, 6]]), axis=1), lambda a: np.insert(a, 1, np.array([[1, 2, 3], [3, 4, 5]]), axis=1),
]


@pytest.mark.distinct_cases
@pytest.mark.parametrize("f", INSERTED, ids=range(len(INSERTED)))
def test_insertions(f):
    check(f, np.arange(12).reshape(3, 4))


def test_dates_move():
    days = np.array(["2020-01-01", "2021-01-01"], "M8[D]")
    check(lambda a: (np.insert(a, 1, a[0]), np.insert(a, [0, 2], a), np.pad(a, 1, mode="edge")), days)


WIDTHS = [
    lambda a: np.pad(a, (1, 2, 3)), lambda a: np.pad(a, ((1, 2, 3), (1, 2, 3))), lambda a: np.pad(a, ((1, 2),)), lambda a: np.pad(a, ((1,), (2,))), lambda a: np.pad(a, (1,)),
    lambda a: np.pad(a, ((1, 2), (0, 3))), lambda a: np.pad(a, ((1, 2), (0, 3), (1, 1))), lambda a: np.pad(a, ((1, 2, 3),)), lambda a: np.pad(a, 2, "reflect"),
]


@pytest.mark.distinct_cases
@pytest.mark.parametrize("f", WIDTHS, ids=range(len(WIDTHS)))
def test_widths(f):
    check(f, np.arange(12).reshape(3, 4))
    check(f, np.ones((2, 2, 2)))


@pytest.mark.parametrize("f, words", [
    (lambda a: np.pad(a, np.array([[1, 2]])), "pad_width must be an int or a tuple"), (lambda a: np.pad(a, 1, constant_values=(5, 6)), "constant_values must be one number"),
    (lambda a: np.insert(a, slice(0, 2), 1), "not a slice"),
])
def test_what_is_missing_is_said(f, words):
    with pytest.raises(errors.TypingError, match=words):
        njit(f)(np.arange(4))


@pytest.mark.parametrize("n", [3, np.int8(3), np.uint64(3)], ids=repr)
def test_shapes_of_unravelled_places(n):
    check(lambda i, n: np.unravel_index(i, (n, n)), 5, n)
    check(lambda i, n: np.unravel_index(i, (n, n)), np.array([5, 2]), n)


@pytest.mark.parametrize("i", [np.array([], float), np.array([], int), np.array([True, False]), True, 2.5], ids=repr)
def test_kinds_of_unravelled_places(i):
    check(lambda i: np.unravel_index(i, (3, 3)), i)
    check(lambda: np.unravel_index([], (3, 3)))
