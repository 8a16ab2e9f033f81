"""NumPy's module `linalg` on device arrays: more of `lanewise/_array_protocol.py`.

Small matrices, in stacks of any shape, are taken one a thread. On a device, matrices of more than `_ONE_A_THREAD` rows and columns are worked
on by all threads: by a launch for each column of an elimination, and for singular values and eigenvalues by launches that rotate disjoint
pairs of columns. A matrix that is much taller than wide is first reduced to a triangle, block by block of its rows.

A matrix that is singular or not positive definite is a LinAlgError as in NumPy, for which functions wait for the device.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

import lanewise as lw
from lanewise import _array_algebra as _algebra
from lanewise import _array_linear_kernels as _kernels
from lanewise import _array_numbers as _numbers
from lanewise import _array_protocol as _protocol
from lanewise._array_protocol import _array, _arrays, _filled, _new, _of

_ONE_A_THREAD = 48  # rows; of larger matrices on a device, a thread would take longer than a launch for each column
_SWEEPS = 40  # about ten are needed
_Error = np.linalg.LinAlgError


def _find_result(function: Any) -> Any:
    """The class of what NumPy's function returns, a named tuple."""
    return type(function(np.eye(1)))


_result_of: Any = functools.cache(_find_result)


# ---- arguments ----


def _numbers_of(a: Any) -> Any:
    """In a dtype that is computed in."""
    if a.dtype.kind not in "biufc":
        raise TypeError(f"numpy.linalg of device arrays: the elements are {a.dtype}, but must be numbers")
    if a.dtype.char == "e":
        raise TypeError("array type float16 is unsupported in linalg")
    return a if a.dtype.char in "fdFD" else a.astype(np.float64)


def _matrices(a: Any) -> Any:
    if a.ndim < 2:
        raise _Error(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    return _numbers_of(a)


def _square(a: Any) -> Any:
    if a.ndim >= 2 and a.shape[-1] != a.shape[-2]:
        raise _Error("Last 2 dimensions of the array must be square")
    return _matrices(a)


def _is_large(a: Any) -> bool:
    return min(a.shape[-2:]) > _ONE_A_THREAD and not isinstance(a, np.ndarray)


def _stack(a: Any) -> Any:
    """A copy with three axes, in C order."""
    return a.reshape((-1, *a.shape[-2:])).copy()


def _eye(like: Any, n: int, dtype: Any) -> Any:
    made = _filled(like, (n, n), dtype, 0)
    made.reshape((n * n,))[::n + 1] = 1
    return made


def _real_type(dtype: Any) -> Any:
    return np.dtype(dtype).type(0).real.dtype


def _adjoint(a: Any) -> Any:
    return lw.ufuncs.conjugate(a.mT) if a.dtype.kind == "c" else a.mT


# ---- linear systems ----


def _upper(u: Any, n: int) -> Any:
    """Eliminates in place, and returns how often rows were exchanged: -1 for a singular matrix."""
    flips = _filled(u, u.shape[0], np.int64, 0)
    for k in range(n):
        _kernels.pivot[u.shape[0], _kernels.THREADS](u, n, k, flips)
        rest = (u.shape[0], n - k - 1, u.shape[2] - k - 1)
        if math.prod(rest):
            _kernels.eliminate(rest, u, k)
    return flips


def _solved(a: Any, b: Any) -> Any:
    """For large matrices: both have three axes."""
    n = a.shape[1]
    u = _protocol.concatenate([a, b], 2)
    if bool((_upper(u, n) < 0).any()):
        raise _Error("Singular matrix")
    for k in range(n - 1, 0, -1):
        _kernels.substitute((u.shape[0], k, b.shape[2]), u, k, n)
    out = _new(a, b.shape, a.dtype)
    _kernels.divide(b.shape, u, n, out)
    return out


@_of(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    a, b = _arrays((a, b))
    a, b = _square(a), _numbers_of(b)
    row = b.ndim == 1
    b = b[:, None] if row else b
    if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
        raise ValueError(f"numpy.linalg.solve: b of shape {(b[:, 0] if row else b).shape} does not fit a of shape {a.shape}")
    dtype = np.result_type(a.dtype, b.dtype)
    a, b = (x if x.dtype == dtype else x.astype(dtype) for x in (a, b))
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if 0 in (*shape, *b.shape, *a.shape):
        made = _new(a, (*shape, *b.shape[-2:]), dtype)
    elif _is_large(a):
        whole = [_stack(_protocol.broadcast_to(x, (*shape, *x.shape[-2:]))) for x in (a, b)]
        made = _solved(*whole).reshape((*shape, *b.shape[-2:]))
    else:
        made = _kernels.solve(a, b)
    return made[..., 0] if row else made


@_of(np.linalg.inv)
def inv(a: Any) -> Any:
    a = _square(a)
    if a.size == 0:
        return a.copy()
    if not _is_large(a):
        return _kernels.inv(a)
    stack = _stack(a)
    return _solved(stack, _protocol.broadcast_to(_eye(a, a.shape[-1], a.dtype), stack.shape)).reshape(a.shape)


def _diagonal_of_upper(a: Any) -> tuple[Any, Any]:
    """The diagonal after an elimination, and the sign by which the product of it is to be multiplied, as numbers of that dtype."""
    u = _stack(a)
    flips = _upper(u, a.shape[-1])
    sign = (1 - 2 * (flips % 2)).astype(a.dtype) * (flips >= 0).astype(a.dtype)
    return np.diagonal(u, 0, 1, 2), sign


@_of(np.linalg.det)
def det(a: Any) -> Any:
    a = _square(a)
    if a.size == 0:
        return _filled(a, a.shape[:-2], a.dtype, 1)
    if not _is_large(a):
        return _kernels.det(a)
    diagonal, sign = _diagonal_of_upper(a)
    return _protocol.where(sign == 0, sign, diagonal.prod(axis=1) * sign).reshape(a.shape[:-2])


@_of(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    a = _square(a)
    real = _real_type(a.dtype)
    kind = _result_of(np.linalg.slogdet)
    if a.size == 0:
        return kind(_filled(a, a.shape[:-2], a.dtype, 1), _filled(a, a.shape[:-2], real, 0))
    if not _is_large(a):
        return kind(*_kernels.slogdet(a))
    diagonal, sign = _diagonal_of_upper(a)
    size = lw.ufuncs.absolute(diagonal)
    singular = sign == 0
    one = _array(np.asarray(1, size.dtype), a)
    size = _protocol.where(singular[:, None], one, size)
    phases = (_protocol.where(singular[:, None], one, diagonal) / size).prod(axis=1) * sign
    logs = _protocol.where(singular, _array(np.asarray(-math.inf, real), a), lw.ufuncs.log(size).sum(axis=1))
    return kind(phases.reshape(a.shape[:-2]), logs.reshape(a.shape[:-2]))


@_of(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    a = _square(a)
    if upper:
        return _adjoint(cholesky(_adjoint(a)))
    if a.size == 0:
        return a.copy()
    if not _is_large(a):
        return _kernels.cholesky(a)
    low, n = _stack(a), a.shape[-1]
    failed = _filled(a, low.shape[0], np.int64, 0)
    for k in range(n):
        _kernels.root[low.shape[0], _kernels.THREADS](low, n, k, failed)
        if k + 1 < n:
            _kernels.downdate((low.shape[0], n - k - 1, n - k - 1), low, k)
    if bool(failed.any()):
        raise _Error("Matrix is not positive definite")
    return _protocol.tril(low).reshape(a.shape)


# ---- singular values, eigenvalues ----


def _rotated(columns: Any, with_vectors: bool) -> Any:
    """Rotates columns, given as [batch][column][element], until they are orthogonal, in place; the rotations, in the same form.

    The lengths of the rotated vectors drift by some units in the last place with each sweep: with vectors, this is taken back at the end.
    """
    batch, n, m = columns.shape
    v = _new(columns, (batch, n, n if with_vectors else 0), columns.dtype)
    if with_vectors:
        v[...] = _eye(columns, n, columns.dtype)
    tolerance = 1e-16 * max(math.sqrt(m), 4.0)
    for _ in range(_SWEEPS):
        changed = _filled(columns, batch, np.int64, 0)
        for step in range(n + n % 2 - 1):
            _kernels.rotate[(batch, (n + 1) // 2), _kernels.THREADS](columns, v, step, tolerance, changed)
        if not bool(changed.any()):
            if with_vectors:
                length = _algebra.root_of_squares(v, 2, True)
                v /= length
                columns /= length
            return v
    raise _Error("SVD did not converge")


def _wide_type(a: Any) -> Any:
    return np.complex128 if a.dtype.kind == "c" else np.float64


def _svd_of_large(a: Any, with_vectors: bool) -> Any:
    """u, s, vh of [batch][m][n] with m >= n: u * s @ vh."""
    columns = a.mT.astype(_wide_type(a)).copy()
    scale = lw.ufuncs.absolute(columns).max(axis=(1, 2), keepdims=True)
    scale = _protocol.where(scale > 0, scale, _array(np.asarray(1.0), a))
    columns = columns / scale
    v = _rotated(columns, with_vectors)
    s = _algebra.root_of_squares(columns, 2, False)
    order = (-s).argsort(1)
    s = np.take_along_axis(s, order, 1)
    if not with_vectors:
        return s * scale[:, :, 0]
    columns, v = (np.take_along_axis(x, order[:, :, None], 1) for x in (columns, v))
    largest = s[:, :1]
    usable = s > 1e-17 * largest
    u = columns / _protocol.where(usable, s, _array(np.asarray(1.0), a))[:, :, None]
    if not bool(usable.all()):  # columns that are all zero become orthogonal to the others
        u = _protocol.where(usable[:, :, None], u, _kernels.qr(_protocol.where(usable[:, :, None], u, _array(np.zeros((), u.dtype), a)).mT)[0].mT)
    return u.mT, s * scale[:, :, 0], lw.ufuncs.conjugate(v)


def _svd(a: Any, with_vectors: bool = True) -> Any:
    """u, s, vh, with as many singular values as the smaller extent; the values alone without vectors."""
    k = min(a.shape[-2:])
    shape, (m, n) = a.shape[:-2], a.shape[-2:]
    real = _real_type(a.dtype)
    if a.size == 0:
        s = _new(a, (*shape, k), real)
        return (_protocol.broadcast_to(_eye(a, m, a.dtype)[:, :k], (*shape, m, k)).copy(), s, _protocol.broadcast_to(_eye(a, n, a.dtype)[:k], (*shape, k, n)).copy()) if with_vectors else s
    if not bool(lw.ufuncs.isfinite(lw.ufuncs.absolute(a)).all()):
        raise _Error("SVD did not converge")
    if not (_is_large(a) or (not isinstance(a, np.ndarray) and max(m, n) > 32 * _ONE_A_THREAD)):
        return _kernels.svd(a) if with_vectors else _kernels.svdvals(a)
    stack = a.reshape((-1, m, n))
    found = _svd_of_large(stack if m >= n else _adjoint(stack), with_vectors)
    if not with_vectors:
        return found.astype(real).reshape((*shape, k))
    u, s, vh = found if m >= n else (_adjoint(found[2]), found[1], _adjoint(found[0]))
    return u.astype(a.dtype).reshape((*shape, m, k)), s.astype(real).reshape((*shape, k)), vh.astype(a.dtype).reshape((*shape, k, n))


def _completed(q: Any) -> Any:
    """Orthogonal columns, and as many more as make a square matrix."""
    m, k = q.shape[-2:]
    more = _protocol.broadcast_to(_eye(q, m, q.dtype), (*q.shape[:-2], m, m))
    full = _kernels.qr(_protocol.concatenate([q, more], -1))[0]
    return _protocol.concatenate([q, full[..., k:]], -1)


@_of(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    a = _matrices(a)
    if hermitian:
        a = _square(a)
    if not compute_uv:
        return _svd(a, False)
    u, s, vh = _svd(a)
    if full_matrices and a.shape[-2] != a.shape[-1]:
        u, vh = (_completed(u), vh) if a.shape[-2] > a.shape[-1] else (u, _adjoint(_completed(_adjoint(vh))))
    return _result_of(np.linalg.svd)(u, s, vh)


@_of(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    return _svd(_matrices(x), False)


def _triangle_of(UPLO: str) -> str:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return UPLO.upper()


def _hermitian(a: Any, UPLO: str) -> Any:
    """Of the triangle that UPLO names."""
    low = _protocol.tril(a, -1) if UPLO == "L" else _adjoint(_protocol.triu(a, 1))
    made = low + _adjoint(low)
    at = np.arange(a.shape[-1])
    made[..., at, at] = np.diagonal(a, 0, -2, -1).real
    return made


def _eigh(a: Any) -> Any:
    """Of a Hermitian matrix, or of a stack of them."""
    if not _is_large(a):
        return _kernels.eigh(a)
    shape, n = a.shape, a.shape[-1]
    wide = a.reshape((-1, n, n)).astype(_wide_type(a))
    size = lw.ufuncs.absolute(wide).sum(axis=2).max(axis=1)
    if not bool(lw.ufuncs.isfinite(size).all()):
        raise _Error("Eigenvalues did not converge")
    size = _protocol.where(size > 0, size, _array(np.asarray(1.0), a))
    wide = wide / size[:, None, None]
    shifted = wide.mT.copy()  # with the shift, no eigenvalue is negative: singular vectors are the eigenvectors
    at = np.arange(n)
    shifted[:, at, at] = shifted[:, at, at] + 1
    v = _rotated(shifted, True).mT
    w = (lw.ufuncs.conjugate(v) * lw.ufuncs.matmul(wide, v)).sum(axis=1).real * size[:, None]
    order = w.argsort(1)
    w, v = np.take_along_axis(w, order, 1), np.take_along_axis(v, order[:, None, :], 2)
    return w.astype(_real_type(a.dtype)).reshape(shape[:-1]), v.astype(a.dtype).reshape(shape)


@_of(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    UPLO, a = _triangle_of(UPLO), _square(a)
    kind = _result_of(np.linalg.eigh)
    if a.size == 0:
        return kind(_new(a, a.shape[:-1], _real_type(a.dtype)), a.copy())
    return kind(*_eigh(_hermitian(a, UPLO)))


@_of(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    UPLO, a = _triangle_of(UPLO), _square(a)
    if a.size == 0:
        return _new(a, a.shape[:-1], _real_type(a.dtype))
    a = _hermitian(a, UPLO)
    return _eigh(a)[0] if _is_large(a) else _kernels.eigvalsh(a)


# ---- qr, least squares ----


@_of(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    if mode == "raw":
        raise lw.errors.UnsupportedError("numpy.linalg.qr of device arrays: mode='raw' is not supported; 'reduced', 'complete' and 'r' are")
    a = _matrices(a)
    m, n = a.shape[-2:]
    k, shape = min(m, n), a.shape[:-2]
    kind = _result_of(np.linalg.qr)
    if a.size == 0:
        q = _protocol.broadcast_to(_eye(a, m, a.dtype)[:, :m if mode == "complete" else k], (*shape, m, m if mode == "complete" else k)).copy()
        r = _new(a, (*shape, m if mode == "complete" else k, n), a.dtype)
        return r if mode == "r" else kind(q, r)
    if mode == "r":
        return _kernels.triangle(a)
    if mode == "reduced" or m <= n:
        return kind(*_kernels.qr(a))
    more = _protocol.broadcast_to(_eye(a, m, a.dtype), (*shape, m, m))
    q, r = _kernels.qr(_protocol.concatenate([a, more], -1))
    return kind(q, r[..., :n].copy())


def _reduced_rows(a: Any) -> Any:
    """A matrix with fewer rows, whose product with its adjoint is the same: the triangles of blocks of rows, and of these in turn."""
    m, n = a.shape
    while m > max(8 * n, 512):
        rows = max(4 * n, 128)
        blocks = -(-m // rows)
        if blocks * rows != m:
            wide = _filled(a, (blocks * rows, n), a.dtype, 0)
            wide[:m] = a
            a = wide
        a = _kernels.triangle(a.reshape((blocks, rows, n))).reshape((blocks * n, n))
        m = blocks * n
    return a


@_of(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    a, b = _arrays((a, b))
    if a.ndim != 2:
        raise _Error(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    row = b.ndim == 1
    b = b[:, None] if row else b
    if b.ndim != 2:
        raise _Error(f"{b.ndim}-dimensional array given. Array must be two-dimensional")
    a, b = _numbers_of(a), _numbers_of(b)
    (m, n), k = a.shape, b.shape[1]
    if b.shape[0] != m:
        raise _Error("Incompatible dimensions")
    dtype = np.result_type(a.dtype, b.dtype)
    real = _real_type(dtype)
    rcond = np.finfo(real).eps * max(m, n) if rcond is None else max(float(rcond), float(np.finfo(real).eps)) if rcond != -1 else float(np.finfo(real).eps)
    if 0 in (m, n):
        x = _filled(a, (n, k), dtype, 0)
        size = lw.ufuncs.absolute(b.astype(dtype))
        residuals = (size * size).sum(axis=0) if m and k else _new(a, (0,), real)
        return x[:, 0] if row else x, residuals, np.int32(0), _new(a, (0,), real)
    both = _reduced_rows(_protocol.concatenate([a.astype(dtype), b.astype(dtype)], 1))
    a, b = both[:, :n], both[:, n:]
    u, s, vh = _svd(a)
    rank = np.int32(int((s > rcond * s[:1]).sum()))
    parts = lw.ufuncs.matmul(_adjoint(u[:, :rank]), b) / s[:rank, None]
    x = lw.ufuncs.matmul(_adjoint(vh[:rank]), parts)
    if rank == n and m > n and k:
        rest = lw.ufuncs.absolute(b - lw.ufuncs.matmul(a, x))
        residuals = (rest * rest).sum(axis=0)
    else:
        residuals = _new(a, (0,), real)
    return x[:, 0] if row else x, residuals, rank, s


@_of(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    if a.ndim >= 2 and 0 in a.shape[-2:]:
        return _new(a, (*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)  # of integers, too, as in NumPy
    a = _matrices(a)
    if a.size == 0:
        return _new(a, (*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    if rcond is None:
        rcond = 1e-15 if rtol is np._NoValue else max(a.shape[-2:]) * np.finfo(a.dtype).eps if rtol is None else rtol
    elif rtol is not np._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    u, s, vh = _svd(a)
    limit = s.max(axis=-1, keepdims=True) * (s.dtype.type(rcond) if np.ndim(rcond) == 0 else _array(rcond, a)[..., None])
    zero, one = (_array(np.asarray(value, s.dtype), a) for value in (0, 1))
    inverse = _protocol.where(s > limit, one / _protocol.where(s > limit, s, one), zero)
    return lw.ufuncs.matmul(_adjoint(vh), inverse[..., None] * _adjoint(u))


@_of(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    if A.ndim < 2:
        return int(bool((A != 0).any()))
    s = _svd(_matrices(A), False)
    if s.shape[-1] == 0:
        return s.sum(axis=-1, dtype=np.int64)
    if tol is None:
        relative = max(A.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else rtol
        limit = s.max(axis=-1, keepdims=True) * (s.dtype.type(relative) if np.ndim(relative) == 0 else _array(relative, A)[..., None])
    else:
        limit = _array(np.asarray(tol) if not hasattr(tol, "device") else tol, A)[..., None]
    return (s > limit).sum(axis=-1, dtype=np.int64)


@_of(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    if x.size == 0 and 0 in x.shape[-2:]:
        raise _Error("cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        s = _svd(_matrices(x), False)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    x = _square(x)
    return _algebra.norm(x, p, (-2, -1)) * _algebra.norm(inv(x), p, (-2, -1))


# ---- products, and names of the array API standard ----


@_of(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Any:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        _square(a)
    n = operator.index(n)
    if n == 0:
        return _protocol.broadcast_to(_eye(a, a.shape[-1], a.dtype), a.shape).copy()
    if n < 0:
        a, n = inv(a), -n
    made, power = None, a
    while n:
        if n % 2:
            made = power if made is None else lw.ufuncs.matmul(made, power)
        n //= 2
        if n:
            power = lw.ufuncs.matmul(power, power)
    return made.copy() if made is a else made


@_of(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    arrays = _arrays(arrays)
    n = len(arrays)
    if n < 2:
        raise ValueError("Expecting at least two arrays.")
    first, last = arrays[0].ndim, arrays[-1].ndim
    items = [arrays[0][None] if first == 1 else arrays[0], *arrays[1:-1], arrays[-1][:, None] if last == 1 else arrays[-1]]
    for x in items:
        if x.ndim != 2:
            raise _Error(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    sizes = [x.shape[0] for x in items] + [items[-1].shape[1]]

    @functools.lru_cache(None)
    def best(i: int, j: int) -> tuple[int, int]:
        """The least number of multiplications for the product of i to j, and where it is split."""
        return min((best(i, k)[0] + best(k + 1, j)[0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)) if i < j else (0, i)

    def product(i: int, j: int) -> Any:
        return items[i] if i == j else lw.ufuncs.matmul(product(i, best(i, j)[1]), product(best(i, j)[1] + 1, j))

    made = product(0, n - 1)
    made = made.reshape(()) if first == last == 1 else made[0] if first == 1 else made[:, 0] if last == 1 else made
    if out is not None:
        _protocol._check_dot_out(out, made.dtype, made.shape)
    return _protocol._deliver(made, out)


@_of(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    shape = x.shape
    if axis is None:
        x, axes, axis = x.ravel(), list(range(len(shape))), 0
    elif isinstance(axis, tuple):
        axes = [d % len(shape) for d in axis]
        rest = [d for d in range(len(shape)) if d not in axes]
        x = x.transpose(list(axes) + rest).reshape((math.prod(shape[d] for d in axes), *(shape[d] for d in rest)))
        axis = 0
    else:
        return _algebra.norm(x, ord, axis, keepdims)
    made = _algebra.norm(x, ord, axis)
    return made.reshape(tuple(1 if d in axes else n for d, n in enumerate(shape))) if keepdims else made


@_of(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return _algebra.norm(x, ord, (-2, -1), keepdims)


@_of(np.linalg.outer)
def outer(x1: Any, x2: Any, /) -> Any:
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are x1.ndim={np.ndim(x1)} and x2.ndim={np.ndim(x2)}.")
    return _protocol.outer(*_arrays((x1, x2)))


@_of(np.linalg.trace)
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return _protocol.trace(x, offset, -2, -1, dtype)


@_of(np.linalg.diagonal)
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return _protocol.diagonal(x, offset, -2, -1)


@_of(np.linalg.cross)
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    axis = operator.index(axis)
    return _numbers.cross(x1, x2, axis=axis)


@_of(np.linalg.matmul)
def matmul(x1: Any, x2: Any, /) -> Any:
    return lw.ufuncs.matmul(*_arrays((x1, x2)))


@_of(np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return lw.ufuncs.vecdot(*_arrays((x1, x2)), axis=axis)


@_of(np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    return _protocol.matrix_transpose(x)


@_of(np.linalg.tensordot)
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return _protocol.tensordot(*_arrays((x1, x2)), axes)
