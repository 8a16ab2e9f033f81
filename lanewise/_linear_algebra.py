"""NumPy's eigenvalues, singular values and what follows from them: `np.linalg.eigh(a)`, `svd`, `qr`, `lstsq`, `pinv`, `matrix_rank`.

Compiled, never called; see lanewise/_array_functions.py. Matrices are small here, so methods that are accurate and short are taken: rotations
of pairs for Hermitian matrices (C. G. J. Jacobi) and of columns for singular values (M. R. Hestenes, "Inversion of matrices by
biorthogonalization", 1958), reflections for qr (A. S. Householder), with LAPACK's signs. All are computed in float64 or complex128.
"""

from __future__ import annotations

import math

import numpy as np

from lanewise._array_library import _check_square, _check_type, _linear, _refuse_axes
from lanewise._core import intrinsics
from lanewise._new_arrays import eye, zeros

_arrays = intrinsics.arrays  # core/tables/array_names.def

_SWEEPS = 60  # the methods need about ten


def _wide(a):
    """A number of the type that is computed in."""
    return np.complex128(0) if isinstance(a.dtype.type(0), np.complexfloating) else np.float64(0)


def _real(z):
    return z.real if isinstance(z, np.complexfloating) else z


def _converted(a, t):
    """A copy of the matrix or row, of this type."""
    out = np.empty(a.shape, t)
    for i in range(a.shape[0]):
        if a.ndim == 2:
            for j in range(a.shape[1]):
                out[i, j] = t(a[i, j])
        else:
            out[i] = t(a[i])
    return out


def _tangent(x):
    """Of the smaller angle whose doubled cotangent is x."""
    return (1.0 if x >= 0 else -1.0) / (abs(x) + math.sqrt(1 + x * x))


def _rotate_columns(a, p, q, c, s, turn):
    for k in range(a.shape[0]):
        x = a[k, p]
        y = a[k, q] * turn
        a[k, p] = c * x - s * y
        a[k, q] = s * x + c * y


# ---- Hermitian matrices ----


def _hermitian(a, t, upper):
    h = np.empty(a.shape, t)
    for i in range(a.shape[0]):
        for j in range(i + 1):
            z = t(a[j, i]).conjugate() if upper else t(a[i, j])
            h[i, j] = z if i != j else t(_real(z))
            h[j, i] = z.conjugate() if i != j else t(_real(z))
    return h


def _diagonalise(h, v):
    n = h.shape[0]
    for sweep in range(_SWEEPS):
        done = True
        for p in range(n - 1):
            for q in range(p + 1, n):
                size = abs(h[p, q])
                if not size > 1e-17 * math.sqrt(abs(h[p, p])) * math.sqrt(abs(h[q, q])) or size < 1e-300:
                    continue
                done = False
                phase = h[p, q] / size
                t = _tangent((_real(h[q, q]) - _real(h[p, p])) / (2 * size))
                c = 1 / math.sqrt(1 + t * t)
                s = c * t
                _rotate_columns(h, p, q, c, s, phase.conjugate())
                _rotate_columns(h.T, p, q, c, s, phase)
                _rotate_columns(v, p, q, c, s, phase.conjugate())
                h[p, q] = h[q, p] = 0
        if done:
            return


def _eigen(a, UPLO):
    _check_square(a)
    t = type(_wide(a))
    h = _hermitian(a, t, UPLO == "U" or UPLO == "u")
    v = eye(a.shape[0], None, 0, t)
    _diagonalise(h, v)
    values = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        values[i] = _real(h[i, i])
    return values, v


def eigvalsh(a, UPLO="L"):
    t = type(abs(_linear(a)))
    if a.ndim != 2:
        _refuse_axes(a, "eigvalsh")
        return np.empty(0, t)
    values, v = _eigen(a, UPLO)
    values.sort()
    return _converted(values, t)


def eigh(a, UPLO="L"):
    t = type(abs(_linear(a)))
    if a.ndim != 2:
        _refuse_axes(a, "eigh")
        return np.empty(0, t), np.empty((0, 0), type(_linear(a)))
    values, v = _eigen(a, UPLO)
    order = np.argsort(values)
    w = np.empty(values.shape[0], t)
    out = np.empty(v.shape, type(_linear(a)))
    for k in range(order.shape[0]):
        w[k] = t(values[order[k]])
        for i in range(v.shape[0]):
            out[i, k] = v[i, order[k]]
    return w, out


# ---- singular values ----


def _column_product(a, p, q):
    s = a.dtype.type(0)
    for k in range(a.shape[0]):
        s += a[k, p].conjugate() * a[k, q]
    return s


def _orthogonalise(u, v):
    """Rotate the columns of u until they are orthogonal, and those of v in the same way."""
    n = u.shape[1]
    for sweep in range(_SWEEPS):
        done = True
        for p in range(n - 1):
            for q in range(p + 1, n):
                x = _real(_column_product(u, p, p))
                y = _real(_column_product(u, q, q))
                g = _column_product(u, p, q)
                size = abs(g)
                if not size > 1e-16 * math.sqrt(x) * math.sqrt(y) or size < 1e-290:
                    continue
                done = False
                t = _tangent((y - x) / (2 * size))
                c = 1 / math.sqrt(1 + t * t)
                turn = (g / size).conjugate()
                _rotate_columns(u, p, q, c, c * t, turn)
                _rotate_columns(v, p, q, c, c * t, turn)
        if done:
            return


def _complete(u, k):
    """Make column k a unit vector that is orthogonal to those before it."""
    for e in range(u.shape[0]):
        for i in range(u.shape[0]):
            u[i, k] = 1 if i == e else 0
        for again in range(2):
            for j in range(k):
                g = _column_product(u, j, k)
                for i in range(u.shape[0]):
                    u[i, k] -= g * u[i, j]
        size = math.sqrt(_real(_column_product(u, k, k)))
        if size > 0.5 / math.sqrt(u.shape[0]):
            for i in range(u.shape[0]):
                u[i, k] /= size
            return


def _decomposed(a):
    """u, s, v of a matrix with no more columns than rows: a = u * s @ v^H, s from the largest on."""
    u = a
    n = a.shape[1]
    v = eye(n, None, 0, a.dtype.type)
    largest = 0.0
    for i in range(a.shape[0]):
        for j in range(n):
            size = abs(a[i, j])
            if not size < math.inf:
                raise np.linalg.LinAlgError("SVD did not converge")
            largest = max(largest, size)
    scale = largest if largest > 0 else 1.0
    for i in range(a.shape[0]):
        for j in range(n):
            u[i, j] /= scale
    _orthogonalise(u, v)
    sizes = np.empty(n)
    for k in range(n):
        sizes[k] = math.sqrt(_real(_column_product(u, k, k)))
    order = np.argsort(-sizes)
    s = np.empty(n)
    left = np.empty(u.shape, a.dtype.type)
    right = np.empty(v.shape, a.dtype.type)
    for k in range(n):
        size = sizes[order[k]]
        s[k] = size * scale
        for i in range(n):
            right[i, k] = v[i, order[k]]
        if size > 1e-17 * sizes[order[0]]:
            for i in range(u.shape[0]):
                left[i, k] = u[i, order[k]] / size
        else:
            _complete(left, k)
    return left, s, right


def _adjoint(a, t):
    out = np.empty((a.shape[1], a.shape[0]), t)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j, i] = t(a[i, j]).conjugate()
    return out


def _singular(a):
    t = type(_wide(a))
    if a.shape[0] >= a.shape[1]:
        return _decomposed(_converted(a, t))
    v, s, u = _decomposed(_adjoint(a, t))
    return u, s, v


def svd(a, full_matrices=True, compute_uv=True):
    t = type(_linear(a))
    if a.ndim != 2:
        _refuse_axes(a, "svd")
    _check_type(a)
    u, s, v = _singular(a)
    values = _converted(s, type(abs(_linear(a))))
    if not compute_uv:
        return values
    if full_matrices and a.shape[0] != a.shape[1]:
        raise ValueError("svd in compiled code takes full_matrices=False for matrices that are not square")
    return _converted(u, t), values, _converted(_adjoint(v, v.dtype.type), t)


def matrix_rank(A, tol=None):
    if A.ndim < 2:
        return 1 if np.any(A != 0) else 0
    if A.ndim != 2:
        _refuse_axes(A, "matrix_rank")
    if A.size == 0:
        return 0
    u, s, v = _singular(A)
    limit = s[0] * max(A.shape[0], A.shape[1]) * _spacing(A) if tol is None else float(tol)
    n = 0
    for x in s:
        n += 1 if x > limit else 0
    return n


def _spacing(a):
    return 2.0**-23 if isinstance(abs(_linear(a)), np.float32) else 2.0**-52


def _inverse_times(u, s, v, b, limit):
    """v / s @ u^H @ b, without the singular values up to the limit."""
    out = zeros((v.shape[0], b.shape[1]), u.dtype.type)
    for k in range(s.shape[0]):
        if s[k] > limit:
            for j in range(b.shape[1]):
                g = u.dtype.type(0)
                for i in range(u.shape[0]):
                    g += u[i, k].conjugate() * b[i, j]
                g /= s[k]
                for i in range(v.shape[0]):
                    out[i, j] += g * v[i, k]
    return out


def pinv(a, rcond=None):
    if a.ndim != 2:
        _refuse_axes(a, "pinv")
    u, s, v = _singular(a)
    limit = (1e-15 if rcond is None else float(rcond)) * (s[0] if s.shape[0] > 0 else 0.0)
    return _converted(_inverse_times(u, s, v, eye(a.shape[0], None, 0, u.dtype.type), limit), type(_linear(a)))


def _residuals(a, x, b):
    out = zeros(b.shape[1], np.float64)
    for j in range(b.shape[1]):
        for i in range(a.shape[0]):
            r = x.dtype.type(b[i, j])
            for k in range(a.shape[1]):
                r -= a[i, k] * x[k, j]
            out[j] += abs(r) * abs(r)
    return out


def lstsq(a, b, rcond=None):
    t = type(_linear(a) + _linear(b))
    wide = type(_wide(a) + _wide(b))
    if a.ndim != 2:
        _refuse_axes(a, "lstsq")
    if b.ndim > 2:
        raise ValueError(f"lstsq in compiled code takes one vector or matrix, not an array with {b.ndim} axes")
    if b.shape[0] != a.shape[0]:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    right = _converted(b if b.ndim == 2 else np.expand_dims(b, 1), wide)
    left = _converted(a, wide)
    u, s, v = _singular(left)
    limit = (_spacing(a) * max(a.shape[0], a.shape[1]) if rcond is None else float(rcond)) * (s[0] if s.shape[0] > 0 else 0.0)
    x = _inverse_times(u, s, v, right, limit)
    rank = 0
    for size in s:
        rank += 1 if size > limit else 0
    real = type(abs(t(0)))
    sums = _residuals(left, x, right) if rank == a.shape[1] and a.shape[0] > a.shape[1] else np.empty(0)
    return _converted(x if b.ndim == 2 else x[:, 0], t), _converted(sums, real), rank, _converted(s, real)


# ---- qr ----


def _reflect(r, k, vs, taus):
    """One step of Householder's: what is below r[k, k] becomes 0."""
    alpha = r[k, k]
    rest = 0.0
    for i in range(k + 1, r.shape[0]):
        rest = math.hypot(rest, abs(r[i, k]))
    taus[k] = 0
    if rest == 0 and alpha == _real(alpha):
        return
    beta = math.copysign(math.hypot(abs(alpha), rest), -_real(alpha))
    taus[k] = (beta - alpha) / beta
    vs[k, k] = 1
    for i in range(k + 1, r.shape[0]):
        vs[i, k] = r[i, k] / (alpha - beta)
    _apply(r, k, vs, taus[k].conjugate())


def _apply(r, k, vs, tau):
    for j in range(r.shape[1]):
        g = r.dtype.type(0)
        for i in range(k, r.shape[0]):
            g += vs[i, k].conjugate() * r[i, j]
        for i in range(k, r.shape[0]):
            r[i, j] -= tau * g * vs[i, k]


def qr(a, mode="reduced"):
    if a.ndim != 2:
        _refuse_axes(a, "qr")
    if mode != "reduced" and mode != "r":
        raise ValueError("qr in compiled code takes mode='reduced' or 'r'")
    t = type(_linear(a))
    n = min(a.shape[0], a.shape[1])
    r = _converted(a, type(_wide(a)))
    vs = zeros((a.shape[0], n), r.dtype.type)
    taus = zeros(n, r.dtype.type)
    for k in range(n):
        _reflect(r, k, vs, taus)
    upper = zeros((n, a.shape[1]), t)
    for i in range(n):
        for j in range(i, a.shape[1]):
            upper[i, j] = t(r[i, j])
    if mode == "r":
        return upper
    q = zeros((a.shape[0], n), r.dtype.type)
    for k in range(n):
        q[k, k] = 1
    for k in range(n - 1, -1, -1):
        _apply(q, k, vs, taus[k])
    return _converted(q, t), upper
