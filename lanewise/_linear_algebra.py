"""NumPy's eigenvalues, singular values and what follows from them: `np.linalg.eigh(a)`, `svd`, `qr`, `lstsq`, `pinv`, `matrix_rank`.

Compiled, never called; see lanewise/_array_functions.py. Matrices are small here, so methods that are accurate and short are taken: rotations
of pairs for Hermitian matrices (C. G. J. Jacobi); reflections for qr (A. S. Householder), with LAPACK's signs; for singular values rotations of
columns (M. R. Hestenes, "Inversion of matrices by biorthogonalization", 1958) of the adjoint of R, after qr (Z. Drmač and K. Veselić, "New fast
and accurate Jacobi SVD algorithm", 2008). What is rotated stands in rows, so that the loops are along them. All are computed in float64 or
complex128.
"""

from __future__ import annotations

import math

import numpy as np

from lanewise._array_library import _check_square, _check_type, _copied, _eliminate, _linear, _refuse_axes, _substituted
from lanewise._array_library import norm as _norm
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


def _rotate_rows(a, p, q, c, s, turn):
    for k in range(a.shape[1]):
        x = a[p, k]
        y = a[q, k] * turn
        a[p, k] = c * x - s * y
        a[q, k] = s * x + c * y


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
    """Rotate pairs of rows and columns of h until it is diagonal, and the rows of v in the same way."""
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
                first, second = _real(h[p, p]) - t * size, _real(h[q, q]) + t * size
                _rotate_rows(h, p, q, c, c * t, phase)
                for k in range(n):
                    h[k, p] = h[p, k].conjugate()
                    h[k, q] = h[q, k].conjugate()
                h[p, p] = first
                h[q, q] = second
                h[p, q] = h[q, p] = 0
                _rotate_rows(v, p, q, c, c * t, phase.conjugate())
        if done:
            return


def _eigen(a, UPLO):
    """Eigenvalues, and eigenvectors in rows."""
    _check_square(a)
    t = type(_wide(a))
    h = _hermitian(a, t, UPLO == "U" or UPLO == "u")
    v = eye(a.shape[0], None, 0, t)
    largest = 0.0
    for i in range(h.shape[0]):
        for j in range(i + 1):
            largest = max(largest, abs(h[i, j]))
    scale = largest if 0 < largest < 1e-100 or 1e100 < largest < math.inf else 1.0  # so that no product underflows or overflows
    for i in range(h.shape[0]):
        for j in range(h.shape[1]):
            h[i, j] /= scale
    _diagonalise(h, v)
    values = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        values[i] = _real(h[i, i]) * scale
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
            out[i, k] = v[order[k], i]
    return w, out


# ---- singular values ----


def _product(a, p, q):
    return np.vdot(a[p], a[q])


def _square(a, p):
    return _real(np.vdot(a[p], a[p]))


def _orthogonalise(u, v):
    """Rotate the rows of u until they are orthogonal, and those of v in the same way."""
    n = u.shape[0]
    squares = np.empty(n)
    for sweep in range(_SWEEPS):
        done = True
        for p in range(n):
            squares[p] = _square(u, p)
        for p in range(n - 1):
            for q in range(p + 1, n):
                g = _product(u, p, q)
                size = abs(g)
                x = squares[p]
                y = squares[q]
                if not size > 1e-16 * math.sqrt(x) * math.sqrt(y) or size < 1e-290:
                    continue
                done = False
                t = _tangent((y - x) / (2 * size))
                c = 1 / math.sqrt(1 + t * t)
                turn = (g / size).conjugate()
                _rotate_rows(u, p, q, c, c * t, turn)
                _rotate_rows(v, p, q, c, c * t, turn)
                squares[p] = x - t * size if x - t * size > 0.1 * x else _square(u, p)
                squares[q] = y + t * size if y + t * size > 0.1 * y else _square(u, q)
        if done:
            return


def _complete(u, k):
    """Make row k a unit vector that is orthogonal to those before it."""
    for e in range(u.shape[1]):
        for i in range(u.shape[1]):
            u[k, i] = 1 if i == e else 0
        for again in range(2):
            for j in range(k):
                g = _product(u, j, k)
                for i in range(u.shape[1]):
                    u[k, i] -= g * u[j, i]
        size = math.sqrt(_square(u, k))
        if size > 0.5 / math.sqrt(u.shape[1]):
            for i in range(u.shape[1]):
                u[k, i] /= size
            return


def _decomposed(a):
    """u, s, v of a matrix with no more columns than rows: a = u * s @ v^H, s from the largest on; a is overwritten."""
    n = a.shape[1]
    t = a.dtype.type
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
            a[i, j] /= scale
    vs, taus = _triangle(a)
    right = zeros((n, n), t)  # in rows the columns of the adjoint of R
    for i in range(n):
        for j in range(i, n):
            right[i, j] = a[i, j].conjugate()
    turned = eye(n, None, 0, t)
    _orthogonalise(right, turned)
    sizes = np.empty(n)
    for k in range(n):
        sizes[k] = math.sqrt(_square(right, k))
    order = np.argsort(-sizes)
    s = np.empty(n)
    left = zeros(a.shape, t)
    rows = np.empty((n, n), t)
    for k in range(n):
        size = sizes[order[k]]
        s[k] = size * scale
        for i in range(n):
            left[i, k] = turned[order[k], i]
        if size > 1e-17 * sizes[order[0]]:
            for i in range(n):
                rows[k, i] = right[order[k], i] / size
        else:
            _complete(rows, k)
    work = np.empty(n, t)
    for k in range(n - 1, -1, -1):
        _apply(left, k, 0, vs, taus[k], work)
    return left, s, rows.T


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


def cond(x, p=None):
    t = type(abs(_linear(x)))
    if x.ndim != 2:
        _refuse_axes(x, "cond")
    if x.size == 0:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    if p is None:
        return t(_ratio_of_singular(x, False))
    if not isinstance(p, str) and (p == 2 or p == -2):
        return t(_ratio_of_singular(x, p == -2))
    return t(_product_of_norms(x, p))


def _ratio_of_singular(x, is_least):
    u, s, v = _singular(x)
    ratio = s[-1] / s[0] if is_least else s[0] / s[-1]
    return ratio if ratio == ratio else math.inf  # of a matrix of zeros


def _product_of_norms(x, p):
    """Of the matrix and its inverse: infinite for a singular one, NaN only if it has a NaN itself."""
    _check_square(x)
    wide = _converted(x, type(_wide(x)))
    inverse = zeros(x.shape, wide.dtype.type)
    for i in range(x.shape[0]):
        inverse[i, i] = 1
    length = norm(wide, p)
    product = length * norm(inverse, p) if _substituted(wide, inverse) else math.nan
    if product != product:
        for z in x.flat:
            if z != z:
                return product
        product = math.inf
    return product


def _check_least(n):
    if n == 0:
        raise ValueError("zero-size array to reduction operation minimum which has no identity")


def _sum_norm(a, order):
    """The largest or smallest sum of a column (1, -1) or of a row (inf, -inf)."""
    if order != 1 and order != -1 and order != math.inf and order != -math.inf:
        raise ValueError("Invalid norm order for matrices.")
    wide = type(_wide(a))
    of_columns = order == 1 or order == -1
    n = a.shape[1] if of_columns else a.shape[0]
    if order < 0:
        _check_least(n)
    best = 0.0
    for j in range(n):
        total = 0.0
        for i in range(a.shape[0] if of_columns else a.shape[1]):
            total += abs(wide(a[i, j] if of_columns else a[j, i]))
        if j == 0 or total != total or (total > best if order > 0 else total < best):
            best = total
    return best


def _matrix_norm(a, order):
    """The conditions are constants, so that code for singular values is compiled only for the norms that need it."""
    if isinstance(order, str):
        if order != "nuc":
            raise ValueError("Invalid norm order for matrices.")
        _check_type(a)
        return np.sum(_singular(a)[1])
    if isinstance(order, (int, np.integer)) and (order == 2 or order == -2):
        _check_type(a)
        s = _singular(a)[1]
        if order < 0:
            _check_least(s.shape[0])
        return 0.0 if s.shape[0] == 0 else s[0] if order == 2 else s[-1]
    return _sum_norm(a, order)


def norm(x, ord=None, axis=None, keepdims=False):
    if axis is not None or x.ndim != 2 or ord is None or (isinstance(ord, str) and ord == "fro"):
        return _norm(x, ord, axis, keepdims)
    zero = np.float64(0) if isinstance(x.dtype.type(0), (np.integer, np.bool_)) else abs(x.dtype.type(0))
    length = type(zero)(_matrix_norm(x, ord))
    return np.full((1, 1), length) if keepdims else length


def slogdet(a):
    t = type(_linear(a))
    if a.ndim != 2:
        _refuse_axes(a, "slogdet")
    _check_square(a)
    u = _copied(a, t)
    flips = _eliminate(u, np.empty((a.shape[0], 0), t))
    sign = t(0) if flips < 0 else t(1) if flips % 2 == 0 else t(-1)
    total = type(abs(t(0)))(0 if flips >= 0 else -math.inf)
    for i in range(a.shape[0]):
        if flips >= 0:
            sign *= u[i, i] / abs(u[i, i])
            total += type(total)(math.log(abs(u[i, i])))
    return sign, total


def _spacing(a):
    return 2.0**-23 if isinstance(abs(_linear(a)), np.float32) else 2.0**-52


def _inverse_times(u, s, v, b, limit):
    """v / s @ u^H @ b, without the singular values up to the limit."""
    out = zeros((v.shape[0], b.shape[1]), u.dtype.type)
    parts = zeros((s.shape[0], b.shape[1]), u.dtype.type)
    for i in range(u.shape[0]):
        for k in range(s.shape[0]):
            for j in range(b.shape[1]):
                parts[k, j] += u[i, k].conjugate() * b[i, j]
    for k in range(s.shape[0]):
        if s[k] > limit:
            for i in range(v.shape[0]):
                for j in range(b.shape[1]):
                    out[i, j] += parts[k, j] / s[k] * v[i, k]
    return out


def pinv(a, rcond=None):
    if a.ndim != 2:
        _refuse_axes(a, "pinv")
    u, s, v = _singular(a)
    limit = (1e-15 if rcond is None else float(rcond)) * (s[0] if s.shape[0] > 0 else 0.0)
    return _converted(_inverse_times(u, s, v, eye(a.shape[0], None, 0, u.dtype.type), limit), type(_linear(a)))


def _residuals(a, x, b):
    out = zeros(b.shape[1], np.float64)
    row = np.empty(b.shape[1], x.dtype.type)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            row[j] = b[i, j]
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                row[j] -= a[i, k] * x[k, j]
        for j in range(b.shape[1]):
            out[j] += abs(row[j]) * abs(row[j])
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
    u, s, v = _singular(_converted(a, wide))
    limit = (_spacing(a) * max(a.shape[0], a.shape[1]) if rcond is None else float(rcond)) * (s[0] if s.shape[0] > 0 else 0.0)
    x = _inverse_times(u, s, v, right, limit)
    rank = 0
    for size in s:
        rank += 1 if size > limit else 0
    real = type(abs(t(0)))
    sums = _residuals(left, x, right) if rank == a.shape[1] and a.shape[0] > a.shape[1] else np.empty(0)
    return _converted(x if b.ndim == 2 else x[:, 0], t), _converted(sums, real), rank, _converted(s, real)


# ---- qr ----


def _reflect(r, k, vs, taus, work):
    """One step of Householder's: what is below r[k, k] becomes 0."""
    alpha = r[k, k]
    largest = rest = 0.0
    for i in range(k + 1, r.shape[0]):
        largest = max(largest, abs(r[i, k]))
    scale = largest if largest > 0 else 1.0
    for i in range(k + 1, r.shape[0]):
        part = abs(r[i, k]) / scale
        rest += part * part
    rest = scale * math.sqrt(rest)
    taus[k] = 0
    if rest == 0 and alpha == _real(alpha):
        return
    beta = math.copysign(math.hypot(abs(alpha), rest), -_real(alpha))
    taus[k] = (beta - alpha) / beta
    vs[k, k] = 1
    for i in range(k + 1, r.shape[0]):
        vs[i, k] = r[i, k] / (alpha - beta)
    _apply(r, k, k, vs, taus[k].conjugate(), work)


def _apply(r, k, first, vs, tau, work):
    """Reflection k of the columns from the first on; work: a row."""
    right = r[k:, first:]
    vector = vs[k:, k]
    sums = work[: right.shape[1]]
    for j in range(sums.shape[0]):
        sums[j] = 0
    for i in range(right.shape[0]):
        f = vector[i].conjugate()
        for j in range(sums.shape[0]):
            sums[j] += f * right[i, j]
    for j in range(sums.shape[0]):
        sums[j] *= tau
    for i in range(right.shape[0]):
        f = vector[i]
        for j in range(sums.shape[0]):
            right[i, j] -= f * sums[j]


def _triangle(r):
    """Makes r an upper triangle; the vectors of the reflections, and their factors."""
    n = min(r.shape[0], r.shape[1])
    vs = zeros((r.shape[0], n), r.dtype.type)
    taus = zeros(n, r.dtype.type)
    work = np.empty(r.shape[1], r.dtype.type)
    for k in range(n):
        _reflect(r, k, vs, taus, work)
    return vs, taus


def qr(a, mode="reduced"):
    if a.ndim != 2:
        _refuse_axes(a, "qr")
    if mode != "reduced" and mode != "r":
        raise ValueError("qr in compiled code takes mode='reduced' or 'r'")
    t = type(_linear(a))
    n = min(a.shape[0], a.shape[1])
    r = _converted(a, type(_wide(a)))
    vs, taus = _triangle(r)
    upper = zeros((n, a.shape[1]), t)
    for i in range(n):
        for j in range(i, a.shape[1]):
            upper[i, j] = t(r[i, j])
    if mode == "r":
        return upper
    q = zeros((a.shape[0], n), r.dtype.type)
    for k in range(n):
        q[k, k] = 1
    work = np.empty(n, r.dtype.type)
    for k in range(n - 1, -1, -1):
        _apply(q, k, k, vs, taus[k], work)
    return _converted(q, t), upper
