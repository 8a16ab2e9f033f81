"""Long calls of guvectorize on host arrays of any loop layout, which all cores share, against NumPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw

rng = np.random.default_rng(7)


@lw.guvectorize("(m,n),(n)->(m)")
def matvec(a, v, out):
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * v[j]
        out[i] = s


@lw.guvectorize("(n),()->(n),()")
def scaled(a, factor, out, total):
    s = 0.0
    for i in range(a.shape[0]):
        out[i] = a[i] * factor
        s += out[i]
    total[0] = s


@lw.guvectorize("(n)->()")
def picky(a, out):
    for i in range(a.shape[0]):
        if a[i] < 0:
            raise ValueError("negative")
    out[0] = a[0]


@pytest.fixture(params=[1, 3], autouse=True)
def threads(request):
    with lw.config(threads=request.param):
        yield request.param


def stacks():
    a = rng.random((30, 40, 3, 3))
    v = rng.random((30, 40, 3))
    yield "matrices along one axis, vectors along the other", a[:, :1], v[0]
    yield "one matrix", a[0, 0], v[:, ::2]
    yield "one vector", a[::2, 1:-1], v[0, 0]
    yield "slices", a[1:-1, 1:-1], v[2:, 2:]
    yield "backwards", a[::-1, ::-1], v[::-1, ::-1]
    yield "transposed", a.transpose(1, 0, 2, 3), v.transpose(1, 0, 2)
    yield "one transposed", rng.random((35, 35, 3, 3)), rng.random((35, 35, 3)).transpose(1, 0, 2)
    yield "cores transposed", a.transpose(0, 1, 3, 2)[:, 1:], v[:, 1:]
    yield "cores with gaps", rng.random((30, 40, 6, 6))[:, :, ::2, ::2], rng.random((30, 40, 6))[:, :, ::-2]
    yield "cores first in memory", rng.random((3, 3, 30, 40)).transpose(2, 3, 0, 1), rng.random((3, 30, 40)).transpose(1, 2, 0)
    yield "many dimensions", rng.random((2, 1, 5, 1, 7, 3, 3)), rng.random((4, 1, 6, 1, 3))
    yield "large cores", rng.random((3, 1, 50, 60)), rng.random((4, 60))


CASES = {name: (a, v) for name, a, v in stacks()}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_layout(name, dtype):
    a, v = (x if dtype == np.float64 else x.astype(dtype) for x in CASES[name])
    expected = np.einsum("...ij,...j->...i", a, v)
    for _ in range(2):
        result = matvec(a, v)
        np.testing.assert_allclose(result, expected, rtol=1e-12 if dtype == np.float64 else 1e-5)
        assert result.dtype == dtype
    loop = np.broadcast_shapes(a.shape[:-2], v.shape[:-1])
    whole = matvec(np.ascontiguousarray(np.broadcast_to(a, loop + a.shape[-2:])), np.ascontiguousarray(np.broadcast_to(v, loop + v.shape[-1:])))
    np.testing.assert_array_equal(result, whole)
    for out in (np.empty(expected.shape, dtype), np.empty(expected.shape[::-1], dtype).T, np.empty(expected.shape + (2,), dtype)[..., 1], np.empty(expected.shape, dtype)[::-1]):
        assert matvec(a, v, out=out) is out
        np.testing.assert_array_equal(out, whole)
        out[...] = 0
        assert matvec(a, v, out) is out
        np.testing.assert_array_equal(out, whole)


@pytest.mark.parametrize("name", CASES)
def test_several_outputs_and_numbers(name):
    v = CASES[name][1]
    v = v if v.ndim > 2 else np.broadcast_to(v[0], (60, 50) + v.shape[-1:])
    for factor in (2.5, np.float64(2.5), np.array(2.5), np.full(v.shape[:-1][::-1], 2.5).T):
        out, total = scaled(v, factor)
        np.testing.assert_allclose(out, v * 2.5, rtol=1e-14)
        np.testing.assert_allclose(total, (v * 2.5).sum(-1), rtol=1e-12)
    given = np.empty(v.shape[:-1][::-1]).T
    assert scaled(v, 2.5, out=(None, given))[1] is given
    np.testing.assert_array_equal(given, total)


def test_layout_of_new_outputs_is_numpys():
    a, v = rng.random((30, 40, 3, 3)), rng.random((30, 40, 3))
    for x, y in ((a.transpose(1, 0, 2, 3), v.transpose(1, 0, 2)), (a[:, :1], v[0]), (a[::-1], v), (a[:, ::-1][::-1], v[::-1, ::-1])):
        numpys = np.matvec(x, y) if hasattr(np, "matvec") else None
        if numpys is not None:
            assert matvec(x, y).strides == numpys.strides


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_axis(axis):
    for v in (rng.random((20, 30, 40)), rng.random((20, 30, 40)).T, rng.random((20, 60, 40))[:, ::2]):
        factor = rng.random(np.delete(v.shape, axis))
        along = np.expand_dims(factor, axis)
        for _ in range(2):
            out, total = scaled(v, factor, axis=axis)
            np.testing.assert_array_equal(out, v * along)
            np.testing.assert_allclose(total, (v * along).sum(axis), rtol=1e-12)
            assert out.strides == scaled(v, factor, axes=[axis, (), axis, ()])[0].strides
        given = np.empty(v.shape[::-1]).T
        assert scaled(v, factor, out=(given, None), axis=axis)[0] is given
        np.testing.assert_array_equal(given, out)
    with pytest.raises(np.exceptions.AxisError):
        scaled(v, factor, axis=3)
    with pytest.raises(OverflowError):
        scaled(v, factor, axis=2**70)


def test_outputs_that_share_memory():
    v = rng.random((60, 60, 4))
    expected = v * 2.0
    part = v[::-1]
    scaled(v, 2.0, out=(part, None))
    np.testing.assert_array_equal(v, expected[::-1])
    v = rng.random((60, 60, 4))
    expected = (v * 3.0).transpose(1, 0, 2).copy()
    scaled(v.transpose(1, 0, 2), 3.0, out=(v, None))
    np.testing.assert_array_equal(v, expected)


def test_errors_are_numpys():
    a = rng.random((50, 60, 3, 3))
    with pytest.raises(ValueError, match="broadcast|mismatch"):
        matvec(a[:, ::2], rng.random((50, 29, 3)))
    with pytest.raises(ValueError, match="core dimension|mismatch|size"):
        matvec(a[:, ::2], rng.random((50, 30, 4)))
    with pytest.raises(ValueError):
        matvec(a[:, ::2], rng.random((50, 30, 3)), out=np.empty((50, 31, 3)))
    x = np.ones((40, 50, 8))[:, 1:]
    x[13, 17, 2] = x[13, 18, 0] = x[39, 2, 1] = -1
    with pytest.raises(ValueError, match="negative"):
        picky(x)
    x[x < 0] = 1
    np.testing.assert_array_equal(picky(x), 1)


def test_floating_point_flags_are_numpys():
    @lw.guvectorize("(n),(n)->(n)")
    def quotients(a, b, out):
        for i in range(a.shape[0]):
            out[i] = a[i] / b[i]

    a, b = np.ones((40, 50, 8)), np.ones((40, 100, 8))[:, ::2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quotients(a, b)
        b[3, 4, 5] = 0
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in quotients"):
            quotients(a, b)
        with np.errstate(divide="ignore"):
            assert np.isinf(quotients(a, b)).sum() == 1


def test_empty_stacks():
    assert matvec(np.empty((0, 50, 3, 3)), np.empty((50, 3))).shape == (0, 50, 3)
    assert matvec(np.empty((40, 1, 3, 3)), np.empty((0, 3))).shape == (40, 0, 3)
