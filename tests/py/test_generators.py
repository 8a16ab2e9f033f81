"""sum, min, max, any, all and math.prod of generator expressions in compiled code."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda


def run(kernel, *args):
    cuda.jit(kernel, target="cpu")[1, 1](*args)


def test_against_python():
    def kernel(x, y, n, out):
        scale = 2.0
        out[0] = sum(x[i] for i in range(n))
        out[1] = sum(v * v for v in x)
        out[2] = sum((x[i] * y[i] for i in range(n) if i % 2), 0.5)
        out[3] = sum((scale * v for v in x), start=1)
        out[4] = min(abs(v) for v in x)
        out[5] = max(v - w for v, w in zip(x, y))
        out[6] = 1 if any(v > 3 for v in x) else 0
        out[7] = 1 if all(v > 3 for v in x) else 0
        out[8] = math.prod(v for v in x if v)
        out[9] = sum(v * w for v in x for w in y if w > v)
        out[10] = sum(sum(v * w for w in y) for v in x)
        out[11] = max(i for i, v in enumerate(x) if v == 2)
        out[12] = sum(1 for v in x if v < 0)
        out[14] = sum([v + 1 for v in x])
        out[13] = math.prod((v for v in x), start=2)

    x, y = np.array([1.0, -2, 4, 2]), np.array([3.0, 1, -1, 2])
    got, expected = np.zeros(15), np.zeros(15)
    run(kernel, x, y, 4, got)
    kernel(x, y, 4, expected)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int32, np.uint64, np.float32, np.float64])
def test_types(dtype):
    def kernel(x, out, least):
        out[0] = sum(v for v in x)
        least[0] = min(v for v in x)

    x = np.array([100, 120, 117]).astype(dtype)
    out, least = np.zeros(1, np.sum(x).dtype), np.zeros(1, np.int64 if dtype is bool else dtype)
    run(kernel, x, out, least)
    assert out[0] == np.sum(x)
    assert least[0] == np.min(x)


def test_none_at_all():
    def empty(x, out):
        out[0] = max(v for v in x if v > 10)

    def total(x, out):
        out[0] = sum(v for v in x if v > 10)

    out = np.ones(1)
    run(total, np.arange(3.0), out)
    assert out[0] == 0
    with pytest.raises(ValueError, match=r"max\(\) iterable argument is empty"):
        run(empty, np.arange(3.0), out)


def test_in_functions_of_numbers_lambdas_and_gufuncs():
    table = np.arange(5.0)
    f = lw.vectorize(lambda x: sum(c * x**i for i, c in enumerate(table)))
    np.testing.assert_allclose(f(np.array([0.5, 2.0])), [sum(c * x**i for i, c in enumerate(table)) for x in (0.5, 2.0)])

    @lw.guvectorize("(n)->()")
    def norm(row, out):
        out[0] = math.sqrt(sum(v * v for v in row))

    x = np.random.default_rng(1).random((4, 9))
    np.testing.assert_allclose(norm(x), np.linalg.norm(x, axis=1))


@pytest.mark.parametrize("f", [
    lambda x: sum(x for x in x), lambda x: np.array([x * 2 for x in x if x > 1]).sum(), lambda x: (lambda v: sum((v for v in x), v) + v)(100.0),
    lambda x: max(max(x * w for x in x) for w in x), lambda x: sum(x + i for i, x in enumerate(x)), lambda x: np.array([[v * x for x in range(3)] for v in x]).sum(),
    lambda x: (lambda n: np.array([[v * n for n in range(n)] for v in x]).sum() + n)(3),
])
def test_the_first_iterable_does_not_see_the_loop_variables(f):
    x = np.array([1.0, 2.0, 3.0, 0.5])
    assert lw.njit(f)(x) == f(x)


def test_names_of_the_expression_stay_inside():
    @lw.vectorize
    def f(x):
        i = 7
        return sum(i * x for i in range(3)) + i

    assert f(1.0) == 0 + 1 + 2 + 7


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
def test_gpu_code(target):
    def kernel(x, out):
        out[0] = sum(v * v for v in x) + max(v for v in x)

    assert lw.compile(kernel, "void(float32[:], float32[:])", target=target)


def test_the_largest_of_tuples():
    assert lw.njit(lambda a: max((v, i) for i, v in enumerate(a)))(np.ones(3)) == (1.0, 2)
