"""``np.array([e for v in it])`` in compiled code: an array that grows, of NumPy's dtype."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, njit

X = np.array([3.0, 1.0, 2.0])

CASES = [
    (lambda x: np.array([i * i for i in range(len(x))]), X),
    (lambda x: np.array([i * 0.5 for i in range(1000)]), X),
    (lambda x: np.array([i for i in range(8)]), X),
    (lambda x: np.array([i for i in range(9)]), X),
    (lambda x: np.array([v + 1 for v in x]), X.astype(np.float32)),
    (lambda x: np.array([v for v in x]), X.astype(np.uint8)),
    (lambda x: np.array([v > 1 for v in x]), X),
    (lambda x: np.array([v * 1j for v in x]), X),
    (lambda x: np.array([v for v in x if v > 1 if v < 3]), X),
    (lambda x: np.array([i * 10 + j for i in range(5) for j in range(i) if j != 2]), X),
    (lambda x: np.array([v for v in x], dtype=np.float32), X),
    (lambda x: np.array([i for i in range(4)], np.int8), X),
    (lambda x: np.asarray([i * v for i, v in enumerate(x)]), X),
    (lambda x: np.array([a * b for a, b in zip(x, x[::-1])]), X),
    (lambda x: np.array([np.sum(x[:i]) for i in range(3)]), X),
    (lambda x: np.array([v for v in x]) + np.array([v * x[0] for v in x]), X),
    (lambda x: np.array([v for v in np.array([u * 2 for u in x])]).reshape(1, -1), X),
    (lambda x: np.array([1.5 if v > 1 else v for v in x]), X),
    (lambda x: np.array([(v, v * 2, i) for i, v in enumerate(x)]), X),
    (lambda x: np.array([[i, v] for i, v in enumerate(x) if i]), X),
    (lambda x: np.array([[i, i > 1] for i in range(20)]), X),
    (lambda x: np.array([[i > 1] for i in range(3)], np.uint8), X),
    (lambda x: np.array([[v * u for v in x] for u in x[1:]]), X),
    (lambda x: np.array([[i for i in range(4)] for i in range(3)], dtype=np.float32), X),
    (lambda x: np.array([[np.sum(x[x > i]) for j in range(2) if j < 5] for i in range(3) if i != 1]), X),
    (lambda x: np.array([[v for v in x if v > 9] for u in x]), X),
    (lambda x: np.array([1.7 for v in x], dtype=np.int64), X),
    (lambda x: np.array([-v * 0.7 for v in x], dtype=int), X),
    (lambda x: np.array([[v * u * 0.3 for v in x] for u in x], dtype=np.uint8), X),
    (lambda x: np.array([(v * 0.7, 1) for v in x], dtype=np.int16), X),
    (lambda x: np.array([v - 1 for v in x], dtype=bool), X),
    (lambda x: np.array([0.0 for v in x], dtype=np.bool_), X),
    (lambda x: np.array([i for i in range(3)], dtype=bool), X),
]


@pytest.mark.parametrize("f, x", CASES)
def test_as_in_numpy(f, x):
    mine, wanted = njit(f)(x), f(x)
    assert (mine.dtype, mine.shape, mine.tolist()) == (wanted.dtype, wanted.shape, wanted.tolist())


def test_without_elements():
    assert njit(lambda n: np.array([i for i in range(n)]))(0).dtype == np.int64
    assert njit(lambda x: np.array([v for v in x if v > 9]))(X.astype(np.float32)).dtype == np.float32


def test_order_of_evaluation():
    """Conditions and elements are evaluated once, as in Python."""
    def f(counts):
        def asked(i):
            counts[0] += 1
            return i % 2 == 0

        def given(i):
            counts[1] += 1
            return i

        return np.array([given(i) for i in range(21) if asked(i)])

    mine, wanted = np.zeros(2), np.zeros(2)
    assert njit(f)(mine).tolist() == f(wanted).tolist() and mine.tolist() == wanted.tolist() == [21, 11]


def test_rows_of_different_lengths():
    with pytest.raises(ValueError, match="The rows have different lengths"):
        njit(lambda n: np.array([[j for j in range(i)] for i in range(n)]))(3)
    assert njit(lambda n: np.array([[i, j] for i in range(n) for j in range(i)]))(0).shape == (0, 0)


def test_in_kernels(target):
    @cuda.jit
    def k(x, out):
        i = cuda.grid(1)
        if i < len(out):
            out[i] = np.array([v * i for v in x if v > 1]).sum()

    out = np.zeros(3)
    k[1, 3](X, out)
    assert out.tolist() == [0, 5, 10]
    assert lw.compile(k, "void(float64[:], float64[:])", target="sm_80", output="cubin")


def test_numba_typing():
    f = njit(lambda x: np.array([v * 2 for v in x]), typing="numba")
    assert f(X.astype(np.int32)).dtype == np.int64 and f(X.astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize("f, message", [
    (lambda x: np.array([((v,), v) for v in x]), "E120: an array of a list of tuples that contain tuples"), (lambda x: np.array([[[v * u for v in x] for u in x] for w in x]), "E120: no array of lists"),
    (lambda x: np.array(v for v in x), "E103: a generator expression cannot be compiled"), (lambda x: np.zeros([v for v in x]), "E120: `numpy.empty` needs a shape"),
])
def test_what_is_refused(f, message):
    with pytest.raises(lw.errors.CompileError, match=message):
        njit(f)(X)


def test_lists():
    assert njit(lambda x: [v for v in x])(X) == X.tolist() and njit(lambda x: np.array([v for v in x], copy=True))(X).tolist() == X.tolist()


# ---- np.array([x] * n) ----


REPEATED = [
    lambda x, n: np.array([x] * n),
    lambda x, n: np.array(n * [x]),
    lambda x, n: np.asarray([x + 1] * (n + 1)),
    lambda x, n: np.array([0.0] * n),
    lambda x, n: np.array([2] * 4),
    lambda x, n: np.array([x] * n, dtype=np.float32),
    lambda x, n: np.array([[x] * n] * 2),
    lambda x, n: np.array([[0] * 3] * n),
    lambda x, n: np.array([True] * n),
    lambda x, n: np.array([1j * x] * len(np.zeros(n))),
    lambda x, n: np.array([[1, 2]] * n),
    lambda x, n: np.array(n * [(x, 1.5)]),
    lambda x, n: np.array([[1.5, x]] * n, dtype=np.int8),
    lambda x, n: np.array([[x * i for i in range(n)]] * 2),
    lambda x, n: np.array([[0] * n for _ in range(2)]),
    lambda x, n: np.array([[x + i] * 3 for i in range(n)], dtype=np.float32),
    lambda x, n: np.array([[[x] * 2] * 3] * n),
    lambda x, n: np.array([np.arange(n)] * 3),
    lambda x, n: np.array([np.ones((2, 6))[:, ::2] * x] * n),
    lambda x, n: np.array([np.array([x, 1.7])] * n, dtype=int),
    lambda x, n: np.array([np.float32(x)] * n),
    lambda x, n: np.array([x * 1.7] * n, dtype=np.int64),
    lambda x, n: np.array([x] * n, dtype=bool),
]


@pytest.mark.parametrize("function", REPEATED)
@pytest.mark.parametrize("n", [1, 3, 20])
def test_repeated_lists(function, n):
    for x in (2.5, 3):
        expected, got = function(x, n), lw.jit(function)(x, n)
        assert got.dtype == expected.dtype and np.array_equal(got, expected)


def test_repeated_lists_without_items():
    for n in (0, -2):
        assert lw.jit(lambda x, n: np.array([x] * n))(2.5, n).shape == (0,)


def test_what_is_repeated_is_evaluated_once():
    @lw.jit
    def f(a):
        def next_one():
            a[0] += 1
            return a[0]

        return np.array([next_one()] * 3)

    a = np.zeros(1)
    assert f(a).tolist() == [1, 1, 1] and a[0] == 1


def test_rows_are_evaluated_once():
    @lw.jit
    def f(a):
        def next_one():
            a[0] += 1
            return a[0]

        return np.array([[next_one()] * 2] * 3), np.array([[next_one()] * 2 for _ in range(2)])

    a = np.zeros(1)
    same, rows = f(a)
    assert (same == 1).all() and rows.tolist() == [[2, 2], [3, 3]] and a[0] == 3


def test_repeated_in_kernels(target):
    @cuda.jit
    def k(x, out):
        i = cuda.grid(1)
        if i < len(out):
            out[i] = np.array([x[i]] * 3).sum() + np.array([[1.0, 2.0]] * i).sum()

    out = np.zeros(3)
    k[1, 3](X, out)
    assert out.tolist() == [9, 6, 12]
    assert lw.compile(k, "void(float64[:], float64[:])", target="sm_80", output="cubin")


def test_repeated_with_the_typing_of_numba():
    assert njit(lambda x: np.array([x] * 3), typing="numba")(np.int32(4)).dtype == np.int32


def test_arrays_as_elements():
    """The message names no variable that lanewise has made."""
    with pytest.raises(lw.errors.TypingError, match=r"E140: a comprehension makes .* not of arrays(?s:.)*an element is float64\[::1\]") as caught:
        njit(lambda x: np.array([x for _ in range(2)]))(X)
    assert ".value" not in str(caught.value)


# ---- `:=` ----


@pytest.mark.parametrize("f", [lambda x: sum(y for v in x if (y := v * 2) > 2), lambda x: np.array([y for v in x if (y := v * 2) > 2])])
def test_assignments_in_comprehensions(f):
    with pytest.raises(lw.errors.CompileError, match="E103: `:=` in a .* cannot be compiled"):
        njit(f)(X)


ROWS = [
    lambda x: np.array([(v, 255) for v in x]),
    lambda x: np.array([[v, 0.1] for v in x]),
    lambda x: np.array([(i, v) for i, v in enumerate(x)]),
    lambda x: np.array([(v, 1j) for v in x]),
    lambda x: np.array([(v, v + v) for v in x]),
    lambda x: np.array([(v == 0, v == 3) for v in x]),
    lambda x: np.array([(i, v, i, v, 2 * i) for i, v in enumerate(x)]),
]


# the sum of two bools is int64 here: docs/differences.md
@pytest.mark.parametrize("function, dtype", [(f, dtype) for f in ROWS for dtype in ("?", "u1", "i4", "u8", "f4", "f8", "c8") if not (dtype == "?" and f is ROWS[4])])
def test_rows_have_numpys_dtype(function, dtype):
    x = np.array([3, 4, 0]).astype(dtype)
    got, wanted = njit(function)(x), function(x)
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)
