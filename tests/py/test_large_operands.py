"""Ufuncs of operands that are larger than the caches, whose outputs are written past them."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw

BYTES = 72 << 20  # of all operands: more than the size from which on it is done
muladd = lw.vectorize(lambda a, b: a * b + a)
both = lw.vectorize(lambda a, b: (a + b, a - b))
scaled = lw.vectorize(lambda a: 2 * a + 1)


@lw.vectorize
def checked(a):
    if a < 0:
        raise ValueError("negative")
    return a + 1


def numbers(n: int, dtype: object, *, skip: int = 0) -> np.ndarray:
    """n elements that begin `skip` elements behind the alignment of NumPy's memory."""
    return np.resize(np.arange(251) - 100, n + skip).astype(dtype)[skip:]


@pytest.fixture(params=[1, None], ids=["one thread", "all threads"], autouse=True)
def threads(request):
    with lw.config(threads=request.param) if request.param else lw.config():
        yield


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16", "i1", "i2", "i8"])
@pytest.mark.parametrize("skip", [0, 1])
def test_output(dtype, skip):
    n = BYTES // (3 * np.dtype(dtype).itemsize) + 13
    a, b, out = (numbers(n, dtype, skip=skip) for _ in range(3))
    assert muladd(a, b, out=out) is out
    np.testing.assert_array_equal(out, a * b + a)
    np.testing.assert_array_equal(muladd(a, b), out)


def test_output_that_is_an_input():
    n = BYTES // 16 + 5
    a = numbers(n, "f8")
    expected = 2 * a + 1
    scaled(a, out=a)
    np.testing.assert_array_equal(a, expected)
    # elements that were written must not be read
    scaled(a[:-1], out=a[1:])
    np.testing.assert_array_equal(a[1:], 2 * expected[:-1] + 1)


def test_two_outputs():
    n = BYTES // 32 + 7
    a, b = numbers(n, "f8"), numbers(n, "f8", skip=3)
    outs = np.empty(n), np.empty(n + 1)[1:]
    both(a, b, out=outs)
    np.testing.assert_array_equal(outs[0], a + b)
    np.testing.assert_array_equal(outs[1], a - b)


def test_inputs_with_steps_and_of_other_types():
    n = BYTES // 24 + 3
    a = numbers(2 * n, "f8")
    np.testing.assert_array_equal(muladd(a[::2], 3.0), a[::2] * 3.0 + a[::2])
    np.testing.assert_array_equal(muladd(a[:n], a[::-2]), a[:n] * a[::-2] + a[:n])
    whole = numbers(n, "i2")
    np.testing.assert_array_equal(lw.ufuncs.add(whole, 1.5), whole + 1.5)


def test_rows():
    columns = 5000
    rows = BYTES // (24 * columns) + 2
    a, b = (numbers(rows * columns, "f8").reshape(rows, columns) for _ in range(2))
    out = np.zeros((rows + 2, columns + 2))
    muladd(a, b, out=out[1:-1, 1:-1])
    np.testing.assert_array_equal(out[1:-1, 1:-1], a * b + a)
    for edge in (out[0], out[-1], out[:, 0], out[:, -1]):
        assert not edge.any()
    np.testing.assert_array_equal(muladd(a, b[0]), a * b[0] + a)
    np.testing.assert_array_equal(muladd(a, b[:, :1]), a * b[:, :1] + a)
    mask = numbers(columns, "i1") > 0
    out = np.full((rows, columns), -1.0)
    muladd(a, b, out=out, where=mask)
    np.testing.assert_array_equal(out, np.where(mask, a * b + a, -1.0))


def test_element_that_raises():
    n = BYTES // 16 + 5
    a = np.ones(n)
    a[n - 2] = -1
    with pytest.raises(ValueError, match="negative"):
        checked(a)


def test_flags():
    n = BYTES // 24 + 5
    a, b = np.ones(n), np.ones(n)
    with np.errstate(all="raise"):
        lw.ufuncs.divide(a, b)
    b[n - 3] = 0
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide"):
        lw.ufuncs.divide(a, b)
