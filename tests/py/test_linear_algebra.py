"""np.linalg.eigh, svd, qr, lstsq, pinv, matrix_rank in compiled functions: as accurate as LAPACK's."""

import numpy as np
import pytest

import lanewise as lw

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
EPS = {np.dtype(t): np.finfo(t).eps for t in DTYPES}


def matrix(dtype, shape, seed=1):
    g = np.random.default_rng(seed)
    return (g.normal(size=shape) + 1j * g.normal(size=shape)).astype(dtype) if np.dtype(dtype).kind == "c" else g.normal(size=shape).astype(dtype)


eigh, eigvalsh, pinv = lw.njit(lambda a: np.linalg.eigh(a)), lw.njit(lambda a: np.linalg.eigvalsh(a)), lw.njit(lambda a: np.linalg.pinv(a))
svd, qr, lstsq = lw.njit(lambda a: np.linalg.svd(a, full_matrices=False)), lw.njit(lambda a: np.linalg.qr(a)), lw.njit(lambda a, b: np.linalg.lstsq(a, b))
rank, values_of, upper_of = lw.njit(lambda a: np.linalg.matrix_rank(a)), lw.njit(lambda a: np.linalg.svd(a, compute_uv=False)), lw.njit(lambda a: np.linalg.qr(a, "r"))


def is_near(x, y, dtype, scale=1.0, factor=60):
    assert x.dtype == y.dtype and x.shape == y.shape, (x.dtype, y.dtype, x.shape, y.shape)
    assert np.abs(x - y).max(initial=0) <= factor * EPS[np.dtype(dtype)] * max(scale, 1e-300)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 5, 12, 30])
def test_eigh(dtype, n):
    a = matrix(dtype, (n, n))
    h = a + a.T.conj()
    w, v = eigh(h)
    wanted = np.linalg.eigh(h)
    is_near(w, wanted[0], dtype, np.abs(wanted[0]).max())
    is_near(eigvalsh(h), wanted[0], dtype, np.abs(wanted[0]).max())
    is_near(v.conj().T @ v, np.eye(n, dtype=dtype), dtype)
    is_near((v * w) @ v.conj().T, h, dtype, np.abs(w).max())
    np.testing.assert_array_equal(eigh(np.tril(h))[0], w)  # the lower triangle alone is read
    np.testing.assert_allclose(lw.njit(lambda a: np.linalg.eigvalsh(a, "U"))(np.triu(h)), w, atol=60 * EPS[np.dtype(dtype)] * np.abs(w).max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (9, 4), (4, 9), (20, 20), (6, 1), (1, 6)])
def test_svd_and_qr(dtype, shape):
    a = matrix(dtype, shape)
    u, s, vh = svd(a)
    wanted = np.linalg.svd(a, full_matrices=False)
    is_near(s, wanted[1], dtype, s[0])
    is_near(values_of(a), wanted[1], dtype, s[0])
    assert u.shape == wanted[0].shape and vh.shape == wanted[2].shape and u.dtype == vh.dtype == a.dtype
    is_near((u * s) @ vh, a, dtype, s[0])
    is_near(u.conj().T @ u, np.eye(u.shape[1], dtype=dtype), dtype)
    is_near(vh @ vh.conj().T, np.eye(vh.shape[0], dtype=dtype), dtype)
    q, r = qr(a)
    wanted = np.linalg.qr(a)
    is_near(q, wanted[0], dtype, 1, 400)
    is_near(r, wanted[1], dtype, s[0])
    is_near(upper_of(a), wanted[1], dtype, s[0])
    is_near(q @ r, a, dtype, s[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 4), (9, 4), (4, 9)])
def test_pinv_lstsq_rank(dtype, shape):
    a, b = matrix(dtype, shape), matrix(dtype, (shape[0], 3), 5)
    condition = np.linalg.cond(a)
    is_near(pinv(a), np.linalg.pinv(a), dtype, condition * np.abs(np.linalg.pinv(a)).max())
    for right in (b, b[:, 0].copy()):
        got, wanted = lstsq(a, right), np.linalg.lstsq(a, right)
        is_near(got[0], wanted[0], dtype, condition**2 * np.abs(wanted[0]).max())
        is_near(got[1], wanted[1], dtype, condition * np.abs(right).max() ** 2 * shape[0])
        assert got[2] == wanted[2]
        is_near(got[3], wanted[3], dtype, wanted[3][0])
    assert rank(a) == np.linalg.matrix_rank(a) == 4


def test_deficient_and_special():
    a = np.outer(np.arange(1.0, 6.0), np.arange(4.0))
    u, s, vh = svd(a)
    assert rank(a) == 1 and rank(np.zeros((3, 3))) == 0 and rank(np.zeros(3)) == 0 and rank(np.ones(3)) == 1
    np.testing.assert_allclose((u * s) @ vh, a, atol=1e-13)
    np.testing.assert_allclose(u.T @ u, np.eye(4), atol=1e-13)
    np.testing.assert_allclose(pinv(a), np.linalg.pinv(a), atol=1e-14)
    for scale in (1e-150, 1e150):
        np.testing.assert_allclose(values_of(a * scale)[0], np.linalg.svd(a * scale, compute_uv=False)[0], rtol=1e-13)
    m = np.array([[2, 1], [1, 3]])
    for got, wanted in zip(eigh(m), np.linalg.eigh(m)):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(abs(got), abs(wanted), rtol=1e-14)
    with pytest.raises(ValueError, match="full_matrices=False"):
        lw.njit(lambda a: np.linalg.svd(a))(a)
    hilbert = 1 / (np.arange(8)[:, None] + np.arange(8) + 1.0)
    np.testing.assert_allclose(eigvalsh(hilbert), np.linalg.eigvalsh(hilbert), atol=1e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_singular_values_of_what_is_no_number(bad):
    a = np.eye(3)
    a[0, 2] = bad
    for f in (lambda a: np.linalg.svd(a)[1], lambda a: np.linalg.pinv(a), lambda a: np.linalg.matrix_rank(a), lambda a: np.linalg.lstsq(a, a[0])[0]):
        with pytest.raises(np.linalg.LinAlgError, match="SVD did not converge"):
            lw.njit(f)(a)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e160, 1e300])
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_extreme_sizes(scale, dtype):
    r = np.random.default_rng(3)
    a = r.normal(size=(6, 6)).astype(dtype)
    if dtype == "c16":
        a = a + 1j * r.normal(size=(6, 6))
    a = (a + a.conj().T) * scale
    w, v = lw.njit(lambda a: np.linalg.eigh(a))(a)
    np.testing.assert_allclose(w / scale, np.linalg.eigvalsh(a / scale), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose((a / scale) @ v, v * (w / scale), atol=1e-12)
    np.testing.assert_allclose(lw.njit(lambda a: np.linalg.svd(a)[1])(a) / scale, np.linalg.svd(a / scale)[1], rtol=1e-12)


@pytest.mark.parametrize("shape", [(40, 7), (7, 40), (30, 30)])
@pytest.mark.parametrize("kind", ["full", "one column twice", "rank 1", "graded", "zero"])
def test_singular_values_of_larger_matrices(shape, kind):
    a = np.random.default_rng(4).normal(size=shape)
    if kind == "one column twice":
        a[:, -1] = a[:, 0]
    elif kind == "rank 1":
        a = np.outer(a[:, 0], a[0])
    elif kind == "graded":
        a = a * 10.0 ** -np.arange(shape[1])
    elif kind == "zero":
        a = a * 0
    u, s, v = lw.njit(lambda a: np.linalg.svd(a, full_matrices=False))(a)
    largest = s[0] if s[0] > 0 else 1.0
    np.testing.assert_allclose(s / largest, np.linalg.svd(a, compute_uv=False) / largest, atol=1e-14)
    np.testing.assert_allclose((u * s) @ v, a, atol=1e-13 * largest)
    np.testing.assert_allclose(u.T @ u, np.eye(len(s)), atol=1e-13)
    np.testing.assert_allclose(v @ v.T, np.eye(len(s)), atol=1e-13)
    assert lw.njit(lambda a: np.linalg.matrix_rank(a))(a) == np.linalg.matrix_rank(a)
    q, r = lw.njit(lambda a: np.linalg.qr(a))(a)
    np.testing.assert_allclose(q @ r, a, atol=1e-13 * largest)
    assert np.array_equal(np.triu(r), r)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i4"])
def test_condition_and_logarithm_of_the_determinant(dtype):
    cond, least, slogdet = (lw.njit(f) for f in (lambda a: np.linalg.cond(a), lambda a: np.linalg.cond(a, -2), lambda a: np.linalg.slogdet(a)))
    r = np.random.default_rng(5)
    for n in (1, 2, 5, 9):
        a = (r.normal(size=(n, n)) * 5 + (1j * r.normal(size=(n, n)) if dtype == "c16" else 0) + 9 * np.eye(n)).astype(dtype)
        tolerance = 1e-4 if dtype == "f4" else 1e-11
        np.testing.assert_allclose(cond(a), np.linalg.cond(a), rtol=tolerance)
        np.testing.assert_allclose(least(a), np.linalg.cond(a, -2), rtol=tolerance)
        got, wanted = slogdet(a), np.linalg.slogdet(a)
        np.testing.assert_allclose(got, tuple(wanted), rtol=tolerance, atol=1e-5 if dtype == "f4" else 1e-12)
    singular = np.ones((3, 3), dtype)
    assert slogdet(singular * 0) == (0, -np.inf) and cond(singular * 0) == np.inf == np.linalg.cond(singular * 0)
    with pytest.raises(np.linalg.LinAlgError, match="must be square"):
        slogdet(np.ones((2, 3)))


@pytest.mark.parametrize("p", [1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"])
def test_condition_by_norms(p):
    cond = lw.njit(lambda a: np.linalg.cond(a, p))
    for dtype in ("f4", "f8", "c8", "c16", "i4", "?"):
        a = (matrix("c16" if dtype[0] == "c" else "f8", (4, 4)) * 3 + 5 * np.eye(4)).astype(dtype) if dtype != "?" else np.triu(np.ones((4, 4), bool))
        for x in (a, a.T, a[::-1, ::-1], a[:1, :1]):
            got, wanted = cond(x), np.linalg.cond(x, p)
            np.testing.assert_allclose(got, wanted, rtol=1e-4 if dtype in ("f4", "c8") else 1e-11)
        assert lw.vectorize(lambda x: cond(np.array([[x, 1], [2, x]])))(np.array([3.0]))[0] == pytest.approx(np.linalg.cond(np.array([[3.0, 1], [2, 3]]), p))
    for x in (np.ones((2, 2)), np.zeros((3, 3)), np.diag([1.0, 0, 2])):
        if p != 2 and not (p == -2 and x.any()):  # which is rounded
            assert cond(x) == np.inf and (p == "nuc" or np.linalg.cond(x, p) == np.inf)  # where NumPy's own singular values fail
    bad = np.array([[1.0, np.nan], [2.0, 3.0]])
    if p not in (2, -2):
        assert p == "nuc" or (np.isnan(cond(bad)) and np.isnan(np.linalg.cond(bad, p)))
        for wrong, error, says in ((np.ones((2, 3)), np.linalg.LinAlgError, "must be square"), (np.eye(2, dtype="f2"), TypeError, "float16")):
            with pytest.raises(error, match=says):
                cond(wrong)


def test_condition_by_a_norm_that_is_chosen_later():
    cond, a = lw.njit(lambda a, p: np.linalg.cond(a, p)), matrix("f8", (3, 3))
    for p in (1, -1, 2, -2, np.inf, -np.inf, None, "fro", "nuc"):
        np.testing.assert_allclose(cond(a, p), np.linalg.cond(a, p), rtol=1e-11)
    for p in (3, "most"):
        with pytest.raises(ValueError, match="Invalid norm order for matrices"):
            cond(a, p)


def test_loops_of_long_functions_are_not_unrolled():
    """Their code takes LLVM longer than it ever runs; the short functions compute, and so do users' loops."""
    @lw.njit
    def f(a):
        total = 0.0
        for i in range(a.shape[0]):
            total += a[i, 0]
        return total

    svd = lw.njit(lambda a: np.linalg.svd(a))
    a = np.eye(3)
    svd(a)
    f(a)
    assert "llvm.loop.unroll.disable" in str(svd.inspect_llvm()) and "llvm.loop.unroll.disable" not in str(f.inspect_llvm())


NORMS = {"1": lambda a: np.linalg.norm(a, 1), "-1": lambda a: np.linalg.norm(a, -1), "inf": lambda a: np.linalg.norm(a, np.inf), "-inf": lambda a: np.linalg.norm(a, -np.inf),
         "2": lambda a: np.linalg.norm(a, 2), "-2": lambda a: np.linalg.norm(a, ord=-2), "nuc": lambda a: np.linalg.norm(a, "nuc"), "fro": lambda a: np.linalg.norm(a, "fro"),
         "keep": lambda a: np.linalg.norm(a, np.inf, keepdims=True), "turned": lambda a: np.linalg.norm(a.T[::-1], 1), "axis": lambda a: np.linalg.norm(a, 1, axis=0)}


@pytest.mark.parametrize("name", NORMS)
def test_norms_of_matrices(name):
    norm = lw.njit(NORMS[name])
    for dtype in (*DTYPES, np.int32, np.bool_):
        for shape in ((3, 3), (4, 6), (1, 5), (6, 2)):
            a = (matrix(np.float64, shape) * 3).astype(dtype) if dtype in (np.int32, np.bool_) else matrix(dtype, shape)
            np.testing.assert_allclose(norm(a), NORMS[name](a), rtol=1e-5 if np.dtype(dtype).itemsize == 4 or dtype == np.complex64 else 1e-12, atol=1e-6 if name == "-2" else 0)
    bad = np.ones((2, 3))
    bad[0, 1] = np.nan
    if name not in ("2", "-2", "nuc", "axis"):
        assert np.isnan(norm(bad)).all() and np.isnan(NORMS[name](bad)).all()
    for shape in ((0, 3), (3, 0)):
        empty = np.empty(shape)
        try:
            wanted = NORMS[name](empty)
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error)[:40]):
                norm(empty)
        else:
            np.testing.assert_array_equal(norm(empty), wanted)


def test_norms_that_there_are_not():
    a, half = np.eye(3), np.eye(3, dtype=np.float16)
    for order in (3, "most"):
        with pytest.raises(ValueError, match="Invalid norm order for matrices"):
            lw.njit(lambda a: np.linalg.norm(a, order))(a)
    with pytest.raises(ValueError, match="Improper number of dimensions"):
        lw.njit(lambda a: np.linalg.norm(a, 1))(np.ones((2, 2, 2)))
    with pytest.raises(TypeError, match="float16 is unsupported"):
        lw.njit(lambda a: np.linalg.norm(a, 2))(half)

    @lw.guvectorize("(m,n)->()")
    def largest_row(x):
        return np.linalg.norm(x, np.inf)

    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_allclose(largest_row(x), np.linalg.norm(x, np.inf, axis=(1, 2)))
