"""numpy.linalg on device arrays (lanewise/_array_linear.py)."""

from __future__ import annotations

import numpy as np
import pytest

from device_checks import back, in_every_layout, put, same  # noqa: F401: put is a fixture
from fake_driver import FAKE, needs_kernels
from lanewise import _array_linear as linear
from lanewise import errors

pytestmark = pytest.mark.filterwarnings("error::lanewise.errors.PerformanceWarning")  # no advice about our own kernels

g = np.random.default_rng(8)
LinAlgError = np.linalg.LinAlgError
A, B = g.normal(size=(3, 5, 5)) + 2 * np.eye(5), g.normal(size=(3, 5, 2))
ONE, TALL, WIDE = A[0], g.normal(size=(2, 9, 4)), g.normal(size=(2, 4, 9))
C = A + 1j * A[::-1]
H = C + C.conj().transpose(0, 2, 1)
P = C @ C.conj().transpose(0, 2, 1) + np.eye(5)
I = g.integers(-4, 5, (5, 5)) + 9 * np.eye(5, dtype=int)
F4 = A.astype("f4")
LOW = (TALL[0] @ np.ones((4, 1))) * g.normal(size=(1, 4))  # of rank 1


@pytest.fixture(params=["a thread for each matrix", "all threads"])
def way(request, monkeypatch):
    """Run a test with both algorithms that are chosen by the size of the matrices."""
    monkeypatch.setattr(linear, "_is_large", lambda a: request.param == "all threads")


CASES = [
    ("solve", lambda a, b: np.linalg.solve(a, b), A, B), ("solve_row", lambda a, b: np.linalg.solve(a, b), ONE, B[0, :, 0]), ("solve_one", lambda a, b: np.linalg.solve(a, b), ONE, B), ("solve_mixed", lambda a, b: np.linalg.solve(a, b), F4, B), ("solve_complex", lambda a, b: np.linalg.solve(a, b), A, C),
    ("solve_ints", lambda a, b: np.linalg.solve(a, b), I, I), ("solve_none", lambda a, b: np.linalg.solve(a, b), A[:0], B[:0]), ("solve_pivot", lambda a, b: np.linalg.solve(a, b), np.array([[0.0, 1], [2, 0]]), np.array([3.0, 4])),
    ("inv", lambda a: np.linalg.inv(a), A), ("inv_one", lambda a: np.linalg.inv(a), ONE), ("inv_f4", lambda a: np.linalg.inv(a), F4), ("inv_complex", lambda a: np.linalg.inv(a), C), ("inv_ints", lambda a: np.linalg.inv(a), I), ("inv_none", lambda a: np.linalg.inv(a), A[:, :0, :0]),
    ("det", lambda a: np.linalg.det(a), A), ("det_one", lambda a: np.linalg.det(a), ONE), ("det_complex", lambda a: np.linalg.det(a), C), ("det_singular", lambda a: np.linalg.det(a), np.zeros((2, 3, 3))), ("det_none", lambda a: np.linalg.det(a), A[:, :0, :0]),
    ("slogdet", lambda a: np.linalg.slogdet(a), A), ("slogdet_complex", lambda a: np.linalg.slogdet(a), C), ("slogdet_f4", lambda a: np.linalg.slogdet(a), F4), ("slogdet_singular", lambda a: np.linalg.slogdet(a), np.array([[1.0, 2], [2, 4]])), ("slogdet_none", lambda a: np.linalg.slogdet(a), A[:, :0, :0]),
    ("cholesky", lambda a: np.linalg.cholesky(a), P), ("cholesky_upper", lambda a: np.linalg.cholesky(a, upper=True), P), ("cholesky_real", lambda a: np.linalg.cholesky(a), P.real), ("eigvalsh", lambda a: np.linalg.eigvalsh(a), H), ("eigvalsh_real", lambda a: np.linalg.eigvalsh(a, "U"), A), ("eigvalsh_f4", lambda a: np.linalg.eigvalsh(a), F4),
    ("svdvals", lambda a: np.linalg.svdvals(a), TALL), ("svd_values", lambda a: np.linalg.svd(a, compute_uv=False), WIDE), ("svd_values_complex", lambda a: np.linalg.svd(a, compute_uv=False), C), ("pinv", lambda a: np.linalg.pinv(a), TALL), ("pinv_wide", lambda a: np.linalg.pinv(a), WIDE), ("pinv_complex", lambda a: np.linalg.pinv(a), C),
    ("pinv_rank", lambda a: np.linalg.pinv(a, rcond=1e-10), LOW), ("rank", lambda a: np.linalg.matrix_rank(a), TALL), ("rank_low", lambda a: np.linalg.matrix_rank(a)[None], np.stack([LOW, TALL[0]])), ("rank_tol", lambda a: np.linalg.matrix_rank(a, tol=2.0), A), ("cond", lambda a: np.linalg.cond(a), A), ("cond_low", lambda a: np.linalg.cond(a, -2), A),
    ("cond_1", lambda a: np.linalg.cond(a, 1), A), ("cond_fro", lambda a: np.linalg.cond(a, "fro"), C), ("norm_2", lambda a: np.linalg.norm(a, 2, (1, 2)), TALL), ("norm_-2", lambda a: np.linalg.norm(a, -2, (2, 0), keepdims=True), A), ("norm_nuc", lambda a: np.linalg.norm(a, "nuc"), ONE),
    ("lstsq", lambda a, b: [x for x in np.linalg.lstsq(a, b) if np.ndim(x)], TALL[0], TALL[1]), ("lstsq_row", lambda a, b: [x for x in np.linalg.lstsq(a, b) if np.ndim(x)], TALL[0], TALL[1, :, 0]), ("lstsq_wide", lambda a, b: [x for x in np.linalg.lstsq(a, b) if np.ndim(x)], WIDE[0], WIDE[1]),
    ("lstsq_rank", lambda a, b: [x for x in np.linalg.lstsq(a, b, 1e-10)[:2]], LOW, TALL[1]), ("lstsq_complex", lambda a, b: [x for x in np.linalg.lstsq(a, b) if np.ndim(x)], C[0, :, :3], A[0]),
    ("polyfit", lambda x, y: np.polyfit(x, y, 2), TALL[0].ravel(), TALL[1].ravel()), ("polyfit_weights", lambda x, y, w: np.polyfit(x, y, 1, w=w), TALL[0].ravel(), TALL[1].ravel(), abs(TALL[0].ravel())), ("polyfit_cov", lambda x, y: np.polyfit(x, y, 2, cov=True), TALL[0].ravel(), TALL[1].ravel()), ("polyfit_columns", lambda x, y: np.polyfit(x, y, 3), TALL[0, :, 0], TALL[1]),
    ("matrix_power", lambda a: np.linalg.matrix_power(a, 5), A), ("matrix_power_0", lambda a: np.linalg.matrix_power(a, 0), A), ("matrix_power_-2", lambda a: np.linalg.matrix_power(a, -2), C), ("multi_dot", lambda a, b: np.linalg.multi_dot([a, b, a]), TALL[0], WIDE[0]), ("multi_dot_rows", lambda a, b: np.linalg.multi_dot([b, a, b]), ONE, ONE[0]),
    ("multi_dot_row", lambda a, b: np.linalg.multi_dot([b, a, a]), ONE, ONE[0]), ("vector_norm", lambda a: np.linalg.vector_norm(a), A), ("vector_norm_axes", lambda a: np.linalg.vector_norm(a, axis=(0, 2), keepdims=True, ord=1), A), ("vector_norm_axis", lambda a: np.linalg.vector_norm(a, axis=1, ord=3), A), ("matrix_norm", lambda a: np.linalg.matrix_norm(a, ord=1), A),
    ("outer", lambda a, b: np.linalg.outer(a, b), ONE[0], ONE[1]), ("trace", lambda a: np.linalg.trace(a, offset=1), A), ("diagonal", lambda a: np.linalg.diagonal(a), A), ("cross", lambda a, b: np.linalg.cross(a, b), A[0, :, :3], A[1, :, :3]), ("matmul", lambda a, b: np.linalg.matmul(a, b), A, B), ("vecdot", lambda a, b: np.linalg.vecdot(a, b, axis=1), C, A),
    ("matrix_transpose", lambda a: np.linalg.matrix_transpose(a), A), ("tensordot", lambda a, b: np.linalg.tensordot(a, b, axes=1), A, A[0]),
]


@pytest.mark.parametrize("name,f,arrays", [(row[0], row[1], row[2:]) for row in CASES], ids=[row[0] for row in CASES])
def test_numpys_results(name, f, arrays, put, way):
    if FAKE and (linear._is_large(None) or name.startswith(("lstsq", "polyfit_cov"))):
        pytest.skip("looks at what kernels computed; the fake driver runs none")
    in_every_layout(f, arrays, put)


def close(got, want, most=1e-12):
    got = back(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    assert abs(got - want).max() <= (most if want.dtype.itemsize > 8 or want.dtype == np.float64 else 1e5 * most * 10) * max(abs(want).max(), 1)


@needs_kernels
@pytest.mark.parametrize("a", [A, C, F4, C.astype("F"), ONE, g.normal(size=(1, 20, 20)), np.diag([1.0, 2, 2, -2, 0]), np.zeros((3, 3)), 1e160 * ONE, 1e-160 * ONE, I])
def test_eigenvectors(a, put, way):
    """a @ v = w * v, and v is unitary; also for eigenvalues that are equal, or of opposite signs."""
    h = a + a.conj().swapaxes(-1, -2)
    scale = abs(h).max() or 1
    for uplo in "LU":
        w, v = map(back, np.linalg.eigh(put(h), uplo))
        close(w / scale, np.linalg.eigh(h)[0] / scale)
        close(v.conj().swapaxes(-1, -2) @ v, np.broadcast_to(np.eye(v.shape[-1], dtype=v.dtype), v.shape))
        close((h @ v / scale).astype(v.dtype), (v * w[..., None, :] / scale).astype(v.dtype))


@needs_kernels
def test_many_rotations_do_not_change_lengths(put, monkeypatch):
    monkeypatch.setattr(linear, "_is_large", lambda a: True)
    a = g.normal(size=(40, 40))
    w, v = map(back, np.linalg.eigh(put(a + a.T)))
    assert abs((v * v).sum(axis=0) - 1).max() < 2e-15 and abs(w - np.linalg.eigvalsh(a + a.T)).max() < 3e-15 * abs(w).max()


@needs_kernels
@pytest.mark.parametrize("a", [A, C, TALL, WIDE, F4, C.astype("F")[:, :3], LOW, LOW.T, ONE, g.normal(size=(1, 20, 20)), np.diag([2.0, 2, 2, 0]), np.zeros((4, 3)), 1e160 * ONE, 1e-160 * ONE, I])
def test_singular_vectors(a, put, way):
    for full in (False, True):
        u, s, vh = map(back, np.linalg.svd(put(a), full))
        want = np.linalg.svd(a, full)
        scale = abs(a).max() or 1
        close(s / scale, want[1] / scale)
        k = s.shape[-1]
        close(((u[..., :k] * s[..., None, :]) @ vh[..., :k, :] / scale).astype(u.dtype), (a / scale).astype(u.dtype))
        for q, other in ((u, want[0]), (vh.swapaxes(-1, -2), want[2].swapaxes(-1, -2))):
            assert q.shape == other.shape and q.dtype == other.dtype
            close(q.conj().swapaxes(-1, -2) @ q, np.broadcast_to(np.eye(q.shape[-1], dtype=q.dtype), (*q.shape[:-2], q.shape[-1], q.shape[-1])))


@needs_kernels
@pytest.mark.parametrize("a", [A, C, TALL, WIDE, F4, LOW, I])
def test_qr(a, put):
    for mode in ("reduced", "complete"):
        q, r = map(back, np.linalg.qr(put(a), mode))
        want = np.linalg.qr(a, mode)
        assert q.shape == want[0].shape and r.shape == want[1].shape and q.dtype == want[0].dtype
        close((q @ r).astype(q.dtype), a.astype(q.dtype))
        close(q.conj().swapaxes(-1, -2) @ q, np.broadcast_to(np.eye(q.shape[-1], dtype=q.dtype), (*q.shape[:-2], q.shape[-1], q.shape[-1])))
        close(np.tril(r, -1), np.zeros_like(r))
    close(abs(back(np.linalg.qr(put(a), "r"))), abs(np.linalg.qr(a, "r")))


@needs_kernels
def test_tall_matrices(put):
    """Least squares reduce the rows block by block; the rank is a number."""
    a, b = g.normal(size=(5001, 3)), g.normal(size=(5001, 2))
    x, residuals, rank, s = np.linalg.lstsq(put(a), put(b))
    want = np.linalg.lstsq(a, b)
    assert rank == 3
    close(x, want[0]), close(residuals, want[1], 1e-11), close(s, want[3], 1e-11)
    assert np.linalg.lstsq(put(np.ones((4, 2))), put(np.ones(4)))[2] == 1


@needs_kernels
def test_the_input_stays(put, way):
    for f in (np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.svd, np.linalg.qr, np.linalg.eigh, np.linalg.pinv):
        d = put(A.copy())
        f(d)
        same(back(d), A)


REFUSED = [
    ("singular", lambda d: np.linalg.inv(d * 0), LinAlgError, "Singular matrix"), ("singular_solve", lambda d: np.linalg.solve(d * 0, d), LinAlgError, "Singular matrix"), ("definite", lambda d: np.linalg.cholesky(-d), LinAlgError, "not positive definite"), ("square", lambda d: np.linalg.det(d[:2]), LinAlgError, "must be square"),
    ("axes", lambda d: np.linalg.inv(d[0]), LinAlgError, "1-dimensional array given"), ("solve", lambda d: np.linalg.solve(d, d[:2]), ValueError, "does not fit"), ("half", lambda d: np.linalg.inv(d.astype("f2")), TypeError, "float16 is unsupported"), ("uplo", lambda d: np.linalg.eigh(d, "X"), ValueError, "UPLO argument"), ("mode", lambda d: np.linalg.qr(d, "most"), ValueError, "Unrecognized mode"),
    ("raw", lambda d: np.linalg.qr(d, "raw"), errors.UnsupportedError, "mode='raw'"), ("lstsq", lambda d: np.linalg.lstsq(d, d[:2]), LinAlgError, "Incompatible dimensions"), ("lstsq_3d", lambda d: np.linalg.lstsq(d[None], d), LinAlgError, "must be two-dimensional"), ("multi_dot", lambda d: np.linalg.multi_dot([d]), ValueError, "at least two"),
    ("pinv", lambda d: np.linalg.pinv(d, 1e-9, rtol=1e-9), ValueError, "can't be both set"), ("dates", lambda d: np.linalg.inv(d.view("M8[s]")), TypeError, "must be numbers"), ("power", lambda d: np.linalg.matrix_power(d, 1.5), TypeError, "integer"), ("empty", lambda d: np.linalg.cond(d[:0, :0]), LinAlgError, "empty arrays"), ("outer", lambda d: np.linalg.outer(d, d), ValueError, "one-dimensional"),
]


@needs_kernels
@pytest.mark.parametrize("name,f,kind,message", REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_refused(name, f, kind, message, put, way):
    with pytest.raises(kind, match=message):
        f(put(np.eye(3)))


@needs_kernels
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("f", [np.linalg.svd, np.linalg.svdvals, np.linalg.pinv, np.linalg.matrix_rank, np.linalg.cond, lambda a: np.linalg.lstsq(a, a[:, 0])], ids=range(6))
def test_singular_values_of_what_is_no_number(f, bad, put, way):
    a = ONE.copy()
    a[1, 3] = bad
    with pytest.raises(LinAlgError, match="SVD did not converge"):
        f(put(a))


def test_ranks_of_empty_matrices(put):
    for shape in ((0, 0), (3, 0, 0), (2, 0, 4)):
        assert np.array_equal(back(np.linalg.matrix_rank(put(np.zeros(shape)))), np.linalg.matrix_rank(np.zeros(shape)))
