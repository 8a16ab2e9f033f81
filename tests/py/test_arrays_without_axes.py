"""Arrays without axes in compiled code: expressions of them are numbers, as in NumPy, and NumPy's functions take them."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors

Z, I, C, B, V = np.array(2.5), np.array(7, np.int32), np.array(2 + 3j), np.array(True), np.arange(3.0)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def target(request):
    if request.param == "cuda" and not cuda.is_available():
        pytest.skip("no CUDA device")
    return request.param


NUMBERS = [
    lambda z, i, c, b, v: z + 1,
    lambda z, i, c, b, v: -z,
    lambda z, i, c, b, v: (z * i) + np.sqrt(z),
    lambda z, i, c, b, v: i // 2,
    lambda z, i, c, b, v: c * z,
    lambda z, i, c, b, v: z > 1,
    lambda z, i, c, b, v: 1 if z > 1 else 2,
    lambda z, i, c, b, v: 1 if not (z + 1 > 5) else 2,
    lambda z, i, c, b, v: 3 if (z > 3) or (i > 3) else 4,
    lambda z, i, c, b, v: float(z + 1),
    lambda z, i, c, b, v: max(z + 1, 3),
    lambda z, i, c, b, v: float(z) + float(i) + float(b),
    lambda z, i, c, b, v: int(z) + int(i),
    lambda z, i, c, b, v: complex(z, i) + complex(c),
    lambda z, i, c, b, v: bool(z) and bool(b) and not bool(c - c),
    lambda z, i, c, b, v: np.float32(z) + np.int8(i),
    lambda z, i, c, b, v: (1 if z else 2) + (3 if not b else 4) + (5 if c else 6),
    lambda z, i, c, b, v: 1 if z[()] > 3 or b else 2,
    lambda z, i, c, b, v: z.item() + i.item(),
    lambda z, i, c, b, v: np.array([z, z]).sum() + np.array((i, i))[1],
    lambda z, i, c, b, v: v[i - 6],
    lambda z, i, c, b, v: np.round(z),
    lambda z, i, c, b, v: np.round(z, 1),
    lambda z, i, c, b, v: np.clip(z, 0, 1),
    lambda z, i, c, b, v: z.clip(0, 1),
    lambda z, i, c, b, v: np.where(z > 1, z, 0.0),
    lambda z, i, c, b, v: np.where(z > 3, i, 3),
    lambda z, i, c, b, v: np.isnan(z),
    lambda z, i, c, b, v: np.isclose(z, z),
    lambda z, i, c, b, v: np.allclose(z, i),
    lambda z, i, c, b, v: np.dot(z, z),
    lambda z, i, c, b, v: np.dot(b, b),
    lambda z, i, c, b, v: np.vdot(c, c),
    lambda z, i, c, b, v: np.inner(c, c),
    lambda z, i, c, b, v: np.array_equal(z, z),
    lambda z, i, c, b, v: np.array_equal(z, i),
    lambda z, i, c, b, v: np.array_equal(z, v),
    lambda z, i, c, b, v: np.add.reduce(3),
    lambda z, i, c, b, v: np.add.reduce(True),
    lambda z, i, c, b, v: np.add.reduce(3, initial=4),
    lambda z, i, c, b, v: np.multiply.reduce(3.5),
    lambda z, i, c, b, v: np.maximum.reduce(z),
    lambda z, i, c, b, v: np.logical_and.reduce(2),
]


@pytest.mark.parametrize("f", NUMBERS, ids=range(len(NUMBERS)))
def test_numbers(f, target):
    kernel = lw.jit(f)
    wanted = np.asarray(f(Z, I, C, B, V))
    if target == "cpu":
        given = kernel(Z, I, C, B, V)
        assert np.ndim(given) == 0 and not isinstance(given, np.ndarray)
    else:
        given = np.zeros((), wanted.dtype)
        out, *operands = (cuda.to_device(x) for x in (np.zeros(1, wanted.dtype), Z, I, C, B, V))

        @lw.forall
        def store(k, out, z, i, c, b, v):
            out[k] = kernel(z, i, c, b, v)

        store(1, out, *operands)
        given = out.copy_to_host()[0]
    assert np.allclose(given, wanted, 1e-15) and np.asarray(given).dtype.kind == wanted.dtype.kind


ARRAYS = [
    lambda z, i, c, b, v: np.interp(z, v, v),
    lambda z, i, c, b, v: np.searchsorted(v, z),
    lambda z, i, c, b, v: (z + 1) * v,
    lambda z, i, c, b, v: v + z,
    lambda z, i, c, b, v: np.dot(v, z),
    lambda z, i, c, b, v: np.dot(i, v),
    lambda z, i, c, b, v: np.where(z > 1, z, v),
    lambda z, i, c, b, v: np.copy(z),
    lambda z, i, c, b, v: z.copy(),
    lambda z, i, c, b, v: np.array(i),
    lambda z, i, c, b, v: np.full((2,), z),
    lambda z, i, c, b, v: np.nan_to_num(z),
    lambda z, i, c, b, v: np.unique(z),
    lambda z, i, c, b, v: z.flatten(),
    lambda z, i, c, b, v: np.atleast_1d(z),
    lambda z, i, c, b, v: np.atleast_2d(z),
    lambda z, i, c, b, v: np.ascontiguousarray(z),
    lambda z, i, c, b, v: np.tile(z, 2),
    lambda z, i, c, b, v: np.tile(z, (2, 2)),
    lambda z, i, c, b, v: np.isin(z, v),
]


@pytest.mark.parametrize("f", ARRAYS, ids=range(len(ARRAYS)))
def test_arrays(f):
    given, wanted = lw.jit(f)(Z, I, C, B, V), f(Z, I, C, B, V)
    assert np.array_equal(given, wanted) and given.dtype == wanted.dtype and given.shape == wanted.shape


def statements(z, other, out):
    s = 0.0
    s += z
    s += z * 2
    out[0] = z + 1
    out[1] = s
    out[2] += z * 2
    out[3:] = z * 3
    z += 1
    z[...] = z * 2
    other[...] = z
    y = z + 1
    if z > 3:
        y = y + 1
    for _ in range(3):
        y += z
    out[4] = y
    return y


def test_statements():
    given, wanted = [np.array(2.5), np.array(0.0), np.ones(6)], [np.array(2.5), np.array(0.0), np.ones(6)]
    assert lw.jit(statements)(*given) == statements(*wanted)
    assert all(map(np.array_equal, given, wanted))


def test_the_element_has_its_type():
    assert lw.jit(lambda z: (z * z) / 2)(np.array(255, np.uint8)) == np.uint8(1) / 2
    assert lw.jit(lambda z: z + np.float32(1))(np.array(1.5, np.float32)) == 2.5
    assert lw.jit(lambda z: z + z)(np.array(3, "m8[s]")) == np.timedelta64(6, "s")


@pytest.mark.parametrize(("f", "error", "words"), [
    (lambda z: np.add.reduce(3, axis=1), ValueError, "axis 1 is out of bounds for array of dimension 0"),
    (lambda z: np.add.accumulate(3), TypeError, "cannot accumulate on a scalar"),
    (lambda z: np.add.reduceat(3, [0]), TypeError, "cannot reduceat on a scalar"),
    (lambda z: np.sort(z), errors.TypingError, "E124"),
])
def test_refused(f, error, words):
    with pytest.raises(error, match=words):
        lw.jit(f)(Z)
