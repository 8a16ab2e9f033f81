"""NumPy's rules in compiled functions of whole arrays, which calls drawn at random (tests/fuzz/compiled_calls.py) found broken: each with
the arguments that showed it."""

import numpy as np
import pytest

import lanewise as lw

STACK = np.arange(8).reshape(2, 2, 2)
TABLE = np.arange(6).reshape(2, 3)
C = np.array([True, False, True])
F4, I1 = np.array([1, 2, 3], "f4"), np.array([1, 2, 3], "i1")


def stored(x, a, b):
    x[a, b] = 7
    return x


def added(x, a, b):
    x[a, b] += 5
    return x


def contiguous(x):
    y = np.ascontiguousarray(x)
    y[0] = 99
    return y, y.strides


def copied(x, y):
    np.copyto(x, y)
    return x


CALLS = [
    (lambda x: abs(x), C),
    (lambda x: abs(x) | ~x, C),
    (lambda x: np.triu(x), STACK),
    (lambda x: np.tril(x, -1), STACK),
    (lambda x: np.tril(x, 1), TABLE),
    (lambda x: np.diagonal(x), STACK),
    (lambda x: x.diagonal(), np.arange(24).reshape(2, 3, 4)),
    (lambda x: np.diagonal(x, 1), TABLE),
    (lambda m: np.bartlett(m), np.uint8(3)),
    (lambda m: np.hanning(m), np.uint64(3)),
    (lambda m: np.hamming(m), np.int8(4)),
    (lambda m: np.round(np.kaiser(m, 2.0), 12), np.uint8(4)),
    (copied, np.zeros(2), np.array([-7, 1])),
    (lambda x, a, b: x[a, b], TABLE, np.array([1]), np.array([0, 2])),
    (lambda x, a, b: x[a, b], TABLE, np.array([[1], [0]]), np.array([0, 2])),
    (lambda x, a, b: x[a, b], TABLE, C[:2], np.array([0, 2])),
    (lambda x, a, b: x[:, a, b], STACK, np.array([1]), np.array([0, 1])),
    (stored, TABLE, np.array([1]), np.array([0, 2])),
    (stored, TABLE, np.array([[0], [1]]), np.array([0, 2])),
    (added, TABLE, np.array([1]), np.array([0, 2])),
    (lambda x, n: np.repeat(x, n), np.arange(3), np.uint8(2)),
    (lambda x: np.repeat(x, np.uint8(2)), np.arange(3)),
    (lambda x, n: np.tile(x, (2, n)), np.arange(3), np.int16(2)),
    (lambda x: np.nanquantile(x, [0.5, 1.0]), np.array([np.nan, 1, 2, 5])),
    (lambda x, b: np.histogram(x, bins=b), np.arange(3.0), np.zeros(0)),
    (lambda x, b: np.histogram(x, bins=b), np.ones(3), np.ones(1)),
    (lambda c, x: np.select([c, ~c], [x, 2], default=1), C, F4),
    (lambda c, x: np.select([c, ~c], [2, x], default=1), C, I1),
    (lambda c, x, y: np.select([c, ~c], [x, y], 2.5), C, I1, F4),
    (lambda c, x: np.select([c], [c]), C, F4),
    (lambda x: np.linalg.norm(x, keepdims=True), STACK.astype("f4")),
    (contiguous, np.arange(6.0)[::2]),
    (contiguous, np.arange(6.0).reshape(2, 3).T),
    (contiguous, np.arange(6.0)),
    (lambda x: np.partition(x, (1, 2)), np.array([3, 1, 2])),
    (lambda x: np.flip(x, (0, 1)), STACK),
]


def shown(made):
    """The result with its dtype and shape; numbers are Python's in compiled functions."""
    if isinstance(made, tuple):
        return tuple(map(shown, made))
    return (made.dtype, made.shape, made.tolist()) if isinstance(made, np.ndarray) else made


@pytest.mark.distinct_cases
@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_results_are_numpys(call):
    function, *arguments = call
    ours, numpys = ([np.array(x) if isinstance(x, np.ndarray) and x.flags.c_contiguous else x for x in arguments] for _ in range(2))
    with np.errstate(all="ignore"):
        np.testing.assert_equal(shown(lw.njit(function)(*ours)), shown(function(*numpys)))
    np.testing.assert_equal(ours, numpys)


def test_no_place_or_a_missing_row_of_quantiles():
    assert np.isnan(lw.njit(lambda x: np.nanquantile(x, [0.5, 1.0]))(np.zeros(0))).all()


def to_more_axes(x):
    out = np.zeros((2, 3))
    np.sum(x, axis=0, out=out)


def to_a_row(x):
    out = np.zeros(4)
    np.max(x, out=out)


def to_a_longer_row(x):
    out = np.zeros(3)
    np.mean(x, axis=1, out=out)


def to_unsigned(x):
    np.copyto(np.zeros(3, np.uint64), np.arange(3))


ERRORS = [
    (to_more_axes, ValueError),
    (to_a_row, ValueError),
    (to_a_longer_row, ValueError),
    (to_unsigned, TypeError),
    (lambda x: np.argpartition(x[0], 5), ValueError),
    (lambda x: np.partition(x[0], (1, 7)), ValueError),
    (lambda x: np.flip(x, (0, 0)), ValueError),
    (lambda x: np.ptp(x > 0), TypeError),
    (lambda x: x[np.array([0, 0, 0]), np.array([0, 0])], IndexError),
    (lambda x: np.pad(x, (-1, 2)), ValueError),
]


@pytest.mark.distinct_cases
@pytest.mark.parametrize(("function", "error"), ERRORS, ids=range(len(ERRORS)))
def test_errors_are_numpys(function, error):
    x = np.ones((1, 3))
    with pytest.raises(error):
        function(x)
    with pytest.raises(error):
        lw.njit(function)(x)
