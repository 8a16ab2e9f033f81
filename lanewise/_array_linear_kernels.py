"""Kernels of `lanewise/_array_linear.py`.

The generalized ufuncs take one small matrix a thread, and are NumPy's functions in compiled code (`lanewise/_array_library.py`,
`lanewise/_linear_algebra.py`). The others work on large matrices: a launch for each column of an elimination, a launch for each set of
disjoint pairs of columns that are rotated (M. R. Hestenes, "Inversion of matrices by biorthogonalization", 1958; R. P. Brent and
F. T. Luk, "The solution of singular-value and symmetric eigenvalue problems on multiprocessor arrays", 1985, for the order of the pairs).
"""

import math

import numpy as np

import lanewise as lw
from lanewise import cuda

THREADS = 128  # of the block that works on a column, or on a pair of columns


# ---- one small matrix a thread ----


@lw.guvectorize("(n,n),(n,k)->(n,k)", warn=False)
def solve(a, b, x):
    x[:] = np.linalg.solve(a, b)


@lw.guvectorize("(n,n)->(n,n)", warn=False)
def inv(a, x):
    x[:] = np.linalg.inv(a)


@lw.guvectorize("(n,n)->()", warn=False)
def det(a, d):
    d[()] = np.linalg.det(a)


@lw.guvectorize("(n,n)->(),()", warn=False)
def slogdet(a, sign, log):
    sign[()], log[()] = np.linalg.slogdet(a)


@lw.guvectorize("(n,n)->(n,n)", warn=False)
def cholesky(a, low):
    low[:] = np.linalg.cholesky(a)


@lw.guvectorize("(n,n)->(n),(n,n)", warn=False)
def eigh(a, w, v):
    values, vectors = np.linalg.eigh(a)
    w[:] = values
    v[:] = vectors


@lw.guvectorize("(n,n)->(n)", warn=False)
def eigvalsh(a, w):
    w[:] = np.linalg.eigvalsh(a)


@lw.guvectorize("(m,n)->(m,k),(k),(k,n)", sizes={"k": lambda m, n: min(m, n)}, warn=False)
def svd(a, u, s, v):
    left, values, right = np.linalg.svd(a, False)
    u[:] = left
    s[:] = values
    v[:] = right


@lw.guvectorize("(m,n)->(k)", sizes={"k": lambda m, n: min(m, n)}, warn=False)
def svdvals(a, s):
    s[:] = np.linalg.svd(a, False, False)


@lw.guvectorize("(m,n)->(m,k),(k,n)", sizes={"k": lambda m, n: min(m, n)}, warn=False)
def qr(a, q, r):
    left, right = np.linalg.qr(a)
    q[:] = left
    r[:] = right


@lw.guvectorize("(m,n)->(k,n)", sizes={"k": lambda m, n: min(m, n)}, warn=False)
def triangle(a, r):
    r[:] = np.linalg.qr(a, "r")


# ---- elimination, a column a launch ----


def _size(z):
    """As LAPACK compares complex numbers."""
    return abs(z.real) + abs(z.imag)


@lw.jit(warn=False)
def pivot(u, n, k, flips):
    """Brings the largest element of column k, from row k on, to row k: a block for each matrix. flips: how often rows were exchanged, or -1
    for a singular matrix."""
    sizes = cuda.shared.array(THREADS, np.float64)
    rows = cuda.shared.array(THREADS, np.int64)
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    best, at = -1.0, n
    for i in range(k + t, n, THREADS):
        size = float(_size(u[b, i, k]))
        if size > best or (size != size and best == best):
            best, at = size, i
    sizes[t], rows[t] = best, at
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            other = sizes[t + step]
            better = other > sizes[t] or (other != other and sizes[t] == sizes[t])
            if better or (other == sizes[t] and rows[t + step] < rows[t]):
                sizes[t], rows[t] = other, rows[t + step]
        cuda.syncthreads()
        step //= 2
    p = rows[0]
    if t == 0 and sizes[0] == 0.0:
        flips[b] = -1
    elif t == 0 and p != k and flips[b] >= 0:
        flips[b] += 1
    if p != k:
        for j in range(k + t, u.shape[2], THREADS):
            z = u[b, k, j]
            u[b, k, j] = u[b, p, j]
            u[b, p, j] = z


@lw.forall(ndim=3)
def eliminate(b, i, j, u, k):
    """From the rows below row k, which keep their element of column k."""
    u[b, k + 1 + i, k + 1 + j] -= u[b, k + 1 + i, k] / u[b, k, k] * u[b, k, k + 1 + j]


@lw.forall(ndim=3)
def substitute(b, i, j, u, k, n):
    """Row k of the right side, behind column n, from the rows above."""
    u[b, i, n + j] -= u[b, i, k] * (u[b, k, n + j] / u[b, k, k])


@lw.forall(ndim=3)
def divide(b, i, j, u, n, out):
    out[b, i, j] = u[b, i, n + j] / u[b, i, i]


@lw.jit(warn=False)
def root(a, n, k, failed):
    """Column k of a Cholesky factor, before the columns behind it are changed: a block for each matrix."""
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    d = a[b, k, k].real
    if t == 0 and d <= 0:
        failed[b] = 1
    r = math.sqrt(d) if not d <= 0 else d * 0 + 1
    cuda.syncthreads()
    for i in range(k + 1 + t, n, THREADS):
        a[b, i, k] /= r
    if t == 0:
        a[b, k, k] = r


@lw.forall(ndim=3)
def downdate(b, i, j, a, k):
    if j <= i:
        a[b, k + 1 + i, k + 1 + j] -= a[b, k + 1 + i, k] * a[b, k + 1 + j, k].conjugate()


# ---- rotations, disjoint pairs of columns a launch ----


@lw.jit(warn=False)
def rotate(a, v, step, tolerance, changed):
    """Columns, which are rows here, a[b, p] and a[b, q] are made orthogonal, and v[b, p] and v[b, q] rotated with them: a block for each pair."""
    xs = cuda.shared.array(THREADS, np.float64)
    ys = cuda.shared.array(THREADS, np.float64)
    gs = cuda.shared.array(THREADS, np.float64)
    hs = cuda.shared.array(THREADS, np.float64)
    b, pair, t = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    n = a.shape[1]
    most = n + n % 2 - 1  # a tournament: the last one stays, the others go around
    p = (step + pair) % most
    q = (step + most - pair) % most if pair > 0 else most
    if p < n and q < n:
        if p > q:
            p, q = q, p
        x, y, g, h = 0.0, 0.0, 0.0, 0.0
        for k in range(t, a.shape[2], THREADS):
            one, two = a[b, p, k], a[b, q, k]
            x += one.real * one.real + one.imag * one.imag
            y += two.real * two.real + two.imag * two.imag
            product = one.conjugate() * two
            g += product.real
            h += product.imag
        xs[t], ys[t], gs[t], hs[t] = x, y, g, h
        cuda.syncthreads()
        half = THREADS // 2
        while half > 0:
            if t < half:
                xs[t] += xs[t + half]
                ys[t] += ys[t + half]
                gs[t] += gs[t + half]
                hs[t] += hs[t + half]
            cuda.syncthreads()
            half //= 2
        x, y, g, h = xs[0], ys[0], gs[0], hs[0]
        size = math.hypot(g, h)
        if size > tolerance * math.sqrt(x) * math.sqrt(y) and size > 1e-290:
            z = (y - x) / (2.0 * size)
            tangent = (1.0 if z >= 0.0 else -1.0) / (abs(z) + math.sqrt(1.0 + z * z))
            c = 1.0 / math.sqrt(1.0 + tangent * tangent)
            s = c * tangent
            turn = complex(g / size, -h / size) if isinstance(a[0, 0, 0], np.complexfloating) else (1.0 if g > 0.0 else -1.0)
            for k in range(t, a.shape[2], THREADS):
                one, two = a[b, p, k], a[b, q, k] * turn
                a[b, p, k] = c * one - s * two
                a[b, q, k] = s * one + c * two
            for k in range(t, v.shape[2], THREADS):
                one, two = v[b, p, k], v[b, q, k] * turn
                v[b, p, k] = c * one - s * two
                v[b, q, k] = s * one + c * two
            if t == 0:
                changed[b] = 1
