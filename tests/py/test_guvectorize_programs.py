"""guvectorize on the host: programs as users write them."""

from __future__ import annotations


import numpy as np
import pytest

import lanewise as lw
from lanewise import _core


rng = np.random.default_rng(5)


@lw.guvectorize(["void(float64[:], int64, float64[:])", "void(float32[:], int64, float32[:])"], "(n),()->(n)")
def moving_average(x, window, out):
    total = 0.0
    count = 0
    for i in range(x.shape[0]):
        total += x[i]
        if i >= window:
            total -= x[i - window]
        else:
            count += 1
        out[i] = total / count


def test_moving_average():
    x = rng.random((3, 20))
    want = np.array([[row[max(0, i - 4):i + 1].mean() for i in range(20)] for row in x])
    assert np.allclose(moving_average(x, 5), want)
    assert moving_average(x.astype("f4"), 5).dtype == np.float32
    assert np.allclose(moving_average(x.T, 5, axes=[0, (), 0]), want.T)


@lw.guvectorize("(3,3),(3)->(3)")
def solve3(a, b, x):
    det = (a[0, 0] * (a[1, 1] * a[2, 2] - a[1, 2] * a[2, 1]) - a[0, 1] * (a[1, 0] * a[2, 2] - a[1, 2] * a[2, 0])
           + a[0, 2] * (a[1, 0] * a[2, 1] - a[1, 1] * a[2, 0]))
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        total = b[0] * 0
        for r in range(3):
            p, q = (r + 1) % 3, (r + 2) % 3
            total += b[r] * (a[p, i] * a[q, j] - a[p, j] * a[q, i])
        x[k] = total / det


def test_solve_3x3():
    a, b = rng.random((50, 3, 3)) + 2 * np.eye(3), rng.random((50, 3))
    assert np.allclose(solve3(a, b), np.linalg.solve(a, b[..., None])[..., 0])
    assert np.allclose(solve3(a.swapaxes(1, 2), b[0]), np.linalg.solve(a.swapaxes(1, 2), b[0][:, None])[..., 0])
    with pytest.raises(ValueError, match="size 4 is different from 3"):
        solve3(np.ones((4, 4)), np.ones(4))


@lw.guvectorize("(n,n)->(n,n),(n,n)")
def lu(a, l, u):
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            u[i, j] = a[i, j]
            l[i, j] = 1.0 if i == j else 0.0
    for k in range(n):
        for i in range(k + 1, n):
            factor = u[i, k] / u[k, k]
            l[i, k] = factor
            for j in range(k, n):
                u[i, j] -= factor * u[k, j]


def test_lu():
    a = rng.random((4, 5, 6, 6)) + 6 * np.eye(6)
    l, u = lu(a)
    assert l.shape == u.shape == a.shape
    assert np.allclose(l @ u, a) and np.allclose(np.tril(u, -1), 0)
    assert lu.types == ["d->dd"]


@lw.guvectorize(["void(float64[:,:], float64[:,:])"], "(n,n)->(n,n)")
def cholesky(a, out):
    out[:] = 0.0
    for i in range(a.shape[0]):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            out[i, j] = np.sqrt(total) if i == j else total / out[j, j]


def test_cholesky():
    a = rng.random((30, 4, 4))
    a = a @ a.swapaxes(1, 2) + np.eye(4)
    assert np.allclose(cholesky(a), np.linalg.cholesky(a))


@lw.guvectorize("(3),(3)->(3)")
def cross(a, b, out):
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8", "c8", "c16"])
def test_cross_product(dtype):
    a, b = (100 * rng.random((7, 3))).astype(dtype), (100 * rng.random((5, 1, 3))).astype(dtype)
    got = cross(a, b)
    assert got.dtype == dtype and np.allclose(got, np.cross(a, b), rtol=1e-4)


@lw.guvectorize("(n),()->()")
def polynomial(c, x):
    result = c[0] * 0
    for i in range(c.shape[0]):
        result = result * x + c[i]
    return result


def test_polynomial():
    c, x = rng.random(6), rng.random((4, 9))
    assert np.allclose(polynomial(c, x), np.polyval(c, x))
    assert polynomial([1, 2, 3], 10) == 123
    assert polynomial(c.astype("f4"), 2.0).dtype == np.float32


@lw.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")
def sort_row(x, out):
    for i in range(x.shape[0]):
        value = x[i]
        j = i
        while j > 0 and out[j - 1] > value:
            out[j] = out[j - 1]
            j -= 1
        out[j] = value


def test_sort_of_short_rows():
    x = rng.random((100, 9))
    assert np.array_equal(sort_row(x), np.sort(x))
    assert np.array_equal(sort_row(x, axis=0), np.sort(x, axis=0))


@lw.guvectorize("(),(n),(n)->()")
def interpolate(x, xp, fp):
    n = xp.shape[0]
    if x <= xp[0]:
        return fp[0]
    if x >= xp[n - 1]:
        return fp[n - 1]
    low, high = 0, n - 1
    while high - low > 1:
        middle = (low + high) // 2
        if xp[middle] <= x:
            low = middle
        else:
            high = middle
    return fp[low] + (x - xp[low]) / (xp[high] - xp[low]) * (fp[high] - fp[low])


def test_interpolation():
    xp, fp, x = np.sort(rng.random(12)), rng.random(12), rng.random((3, 40)) * 1.4 - 0.2
    assert np.allclose(interpolate(x, xp, fp), np.interp(x, xp, fp))


@lw.guvectorize("(n),(m)->(k)", sizes={"k": lambda n, m: n + m - 1})
def convolve(x, w, out):
    for k in range(out.shape[0]):
        total = x[0] * w[0] * 0
        for j in range(w.shape[0]):
            if 0 <= k - j < x.shape[0]:
                total += x[k - j] * w[j]
        out[k] = total


@pytest.fixture
def old_numpy():
    """Act as NumPy 2.0, which does not ask for sizes."""
    _core._make_gufunc_outputs(True)
    yield
    _core._make_gufunc_outputs(False)


def check_convolution():
    x, w = rng.random((4, 10)), rng.random(3)
    assert np.allclose(convolve(x, w), [np.convolve(row, w) for row in x])
    out = np.empty((4, 12))
    assert convolve(x, w, out) is out and np.allclose(out, convolve(x, w))
    assert convolve(x, w, out=out) is out and convolve(x, w, out=(out,)) is out and convolve(x, w, None).shape == convolve(x, w, out=None).shape == (4, 12)
    with pytest.raises(ValueError, match="sizes= gives 12"):
        convolve(x, w, np.empty((4, 11)))
    with pytest.raises(TypeError):
        convolve(x, w, "out")
    with pytest.raises(TypeError):
        convolve(x)


def test_convolution():
    check_convolution()


def test_convolution_where_numpy_makes_no_outputs(old_numpy):
    check_convolution()


def test_outputs_that_are_made(old_numpy):
    @lw.guvectorize("(n),()->(k),()", sizes={"k": lambda n: n - 1})
    def f(x, by, out, last):
        for i in range(out.shape[0]):
            out[i] = (x[i + 1] - x[i]) * by
        last[0] = x[x.shape[0] - 1]

    x = np.arange(12, dtype="f4").reshape(3, 4)
    out, last = f(x, [[1], [2.0]])
    assert out.shape == (2, 3, 3) and last.shape == (2, 3) and out.dtype == np.float64
    out, last = f(x, 2)
    assert out.dtype == last.dtype == np.float32 and np.array_equal(out, np.full((3, 3), 2)) and list(last) == [3, 7, 11]
    out, last = f(x[0], np.float64(2))
    assert out.dtype == np.float64 and isinstance(last, np.generic)
    assert f(np.arange(4), 1, dtype="f8", casting="same_kind")[0].dtype == np.float64
    assert f(x[:, ::-1], 1, order="F")[0].flags.f_contiguous
    assert f(np.empty((0, 4)), 1)[0].shape == (0, 3)
    given = np.empty(3, "f4")
    out, last = f(x, 2, out=(None, given))
    assert last is given and list(given) == [3, 7, 11] and out.shape == (3, 3)
    with pytest.raises(ValueError, match="does not have enough dimensions"):
        f(1.0, 2)
    with pytest.raises(ValueError, match="an int from 0 on"):
        f(np.empty(0), 2)
    with pytest.raises(TypeError):
        f(["a"], 2)
    with pytest.raises(TypeError, match="unexpected keyword"):
        f(x, 2, other=1)


@lw.guvectorize("(n),()->()")
def quantile(x, q):
    """The quantile of sorted rows."""
    at = q * (x.shape[0] - 1)
    i = int(at)
    if i + 1 == x.shape[0]:
        return x[i]
    return x[i] + (x[i + 1] - x[i]) * (at - i)


def test_quantile():
    x = np.sort(rng.random((6, 31)))
    for q in 0.0, 0.25, 0.9, 1.0:
        assert np.allclose(quantile(x, q), np.quantile(x, q, axis=-1))


@lw.guvectorize("(n)->(n),(n),()")
def run_lengths(x, values, lengths, count):
    k = -1
    for i in range(x.shape[0]):
        if i == 0 or x[i] != x[i - 1]:
            k += 1
            values[k] = x[i]
            lengths[k] = 0
        lengths[k] += 1
    for i in range(k + 1, x.shape[0]):
        values[i] = 0
        lengths[i] = 0
    count[0] = k + 1


def test_run_lengths():
    values, lengths, count = run_lengths(np.array([[1, 1, 2, 2, 2, 1.5], [3, 3, 3, 3, 3, 3]]))
    assert values.tolist() == [[1, 2, 1.5, 0, 0, 0], [3, 0, 0, 0, 0, 0]]
    assert lengths.tolist() == [[2, 3, 1, 0, 0, 0], [6, 0, 0, 0, 0, 0]] and lengths.dtype == np.int64
    assert count.tolist() == [3, 1] and values.dtype == np.float64


def dot_of(a, b):
    total = a[0] * b[0]
    for i in range(1, a.shape[0]):
        total += a[i] * b[i]
    return total


def test_functions_are_called_with_arrays():
    @lw.guvectorize("(m,n),(n)->(m)")
    def matvec(a, x, y):
        for i in range(a.shape[0]):
            y[i] = dot_of(a[i], x)

    a, x = rng.random((5, 4, 3)), rng.random((5, 3))
    assert np.allclose(matvec(a, x), np.einsum("kij,kj->ki", a, x))
