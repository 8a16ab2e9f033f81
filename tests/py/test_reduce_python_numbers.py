"""Python numbers beside arrays have the arrays' precision in reductions, as in NumPy and in lw.vectorize."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import lanewise as lw

product_sum = lw.reduce(lambda a, b: a + b, map=lambda x, p: x * p)
three = lw.reduce(lambda a, b: a + b, map=lambda x, y, p: x * y * p)


def times(x, p):
    return x * p


@pytest.mark.parametrize("p", [3, 3.0, 3.0 + 1j, True, np.float64(3), np.float32(3), np.array(3.0)], ids=repr)
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float16, np.float32, np.float64, np.complex64])
def test_the_dtype_is_that_of_vectorize(p, dtype):
    x = np.arange(5).astype(dtype)
    mapped = lw.vectorize(times)(x, p)
    assert mapped.dtype == (x * p).dtype
    sum_of = lw.reduce(lambda a, b: a + b)
    got, want = product_sum(x, p), sum_of(mapped)
    assert got.dtype == want.dtype and got == want


def test_the_number_may_come_first_and_be_one_of_several():
    x = np.ones(4, np.float32)
    assert three(2.0, x, 3).dtype == np.float32
    assert three(2.0, x, np.ones(4)).dtype == np.float64
    assert three(2.0, 3, 4.0).dtype == np.float64


def test_dtype_keeps_the_digits_of_the_number():
    x = np.ones(1, np.float32)
    assert product_sum(x, 0.1, dtype=np.float64) == 0.1


def test_dtypes_keep_their_references():
    x, dtype = np.ones(4, np.float32), np.dtype(np.float64)
    before = sys.getrefcount(dtype)
    for _ in range(100):
        product_sum(x, 0.5, dtype=np.float64)
    assert abs(sys.getrefcount(dtype) - before) < 50


def test_methods_follow_the_same_rule():
    x = np.ones(4, np.float32)
    assert product_sum.accumulate(x, 2.0).dtype == np.float32


def test_a_number_that_does_not_fit_is_an_error():
    with pytest.raises(OverflowError, match="300"):
        product_sum(np.ones(3, np.int8), 300)


def test_threads_and_large_arrays():
    x = np.ones(100_000, np.float32)
    assert product_sum(x, 0.5).dtype == np.float32 and product_sum(x, 0.5) == 50_000


def test_runs_of_keys():
    keys, x = np.array([1, 1, 2, 2, 2]), np.arange(10, dtype=np.float32).reshape(5, 2)
    firsts, sums = product_sum.by_key(keys, x, 0.5)
    assert firsts.tolist() == [1, 2] and sums.dtype == np.float32 and sums.tolist() == [[1, 2], [9, 10.5]]
    assert product_sum.by_key(keys, 2, x)[1].tolist() == [[4, 8], [36, 42]]
    with pytest.raises(ValueError, match="do not go with 5 keys"):
        product_sum.by_key(keys, 2.0, 3.0)
