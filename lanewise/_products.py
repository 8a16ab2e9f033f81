"""NumPy's matmul, matvec, vecmat and vecdot as functions of one item; `lanewise.ufuncs` makes Gufuncs of them.

Sums are made from the first element to the last, in the dtype of the result; of float16, in float32.
"""

from __future__ import annotations

import numpy as np

from lanewise import _core

__all__ = ["LAYOUTS", "make"]

LAYOUTS = {
    "matmul": "(n?,k),(k,m?)->(n?,m?)",
    "matvec": "(m,n),(n)->(m)",
    "vecmat": "(n),(n,m)->(m)",
    "vecdot": "(n),(n)->()",
}
#: What a Gufunc declares: NumPy's own loops, of the types that kernels know.
_DTYPES = "?bBhHiIlLefdFD"


#: Multiplications an item from which on NumPy's loops, which are BLAS's, are faster on the CPU (NumPy 2.4 with
#: OpenBLAS: from 8 x 8 matrices on).
_LARGE = 1000
#: Of these dtypes: those of BLAS, but for what NumPy 2.4's vecmat gets wrong where the result is strided.
_LIBRARY = {"matmul": "fdFD", "matvec": "fdFD", "vecmat": "fd", "vecdot": "fdFD"}


# Each is written out for three kinds of dtypes: that a loop is a sum must be seen where it stands (core/opt/loops/spread.c).


def matmul(a, b, out):
    for i in range(out.shape[0]):
        if out.dtype == np.float16:
            for j in range(out.shape[1]):
                wide = np.float32(0)
                for k in range(a.shape[1]):
                    wide += np.float32(a[i, k]) * np.float32(b[k, j])
                out[i, j] = wide
        else:
            for j in range(out.shape[1]):
                out[i, j] = out.dtype.type(0)
            for k in range(a.shape[1]):  # along rows: they lie densely
                x = a[i, k]
                for j in range(out.shape[1]):
                    if out.dtype == np.bool_:
                        out[i, j] |= x & b[k, j]
                    else:
                        out[i, j] += x * b[k, j]


def matvec(a, x, out):
    for i in range(out.shape[0]):
        if out.dtype == np.float16:
            wide = np.float32(0)
            for k in range(x.shape[0]):
                wide += np.float32(a[i, k]) * np.float32(x[k])
            out[i] = wide
        else:
            total = out.dtype.type(0)
            for k in range(x.shape[0]):
                if out.dtype == np.bool_:
                    total |= a[i, k] & x[k]
                else:
                    total += a[i, k] * x[k]
            out[i] = total


def _conjugate(x):
    return np.conj(x) if isinstance(x, (np.complex64, np.complex128)) else x


def vecmat(x, a, out):
    for j in range(out.shape[0]):
        if out.dtype == np.float16:
            wide = np.float32(0)
            for k in range(x.shape[0]):
                wide += np.float32(x[k]) * np.float32(a[k, j])
            out[j] = wide
        else:
            total = out.dtype.type(0)
            for k in range(x.shape[0]):
                if out.dtype == np.bool_:
                    total |= x[k] & a[k, j]
                else:
                    total += _conjugate(x[k]) * a[k, j]
            out[j] = total


def vecdot(x, y, out):
    if out.dtype == np.float16:
        wide = np.float32(0)
        for k in range(x.shape[0]):
            wide += np.float32(x[k]) * np.float32(y[k])
        out[0] = wide
    else:
        total = out.dtype.type(0)
        for k in range(x.shape[0]):
            if out.dtype == np.bool_:
                total |= x[k] & y[k]
            else:
                total += _conjugate(x[k]) * y[k]
        out[0] = total


# ---- large ones on a device ----

#: Multiplications an item from which on these kernels take over: below 16 x 16 matrices a thread an item does well.
_TILED = 16**3
_SIDE, _DEPTH = 64, 16
_kernels: dict[tuple[str, str], object] = {}
_dots = {}


def _tile_kernel(dtype, target):
    """c[z] = a[z] @ b[z]: a block makes a tile of 64 x 64 with a thread for 4 x 4 of it, from tiles in shared memory."""
    from lanewise import cuda

    scalar = dtype.type
    wide = np.float32 if dtype == np.float16 else scalar
    zero, zero_sum = scalar(0), wide(0)

    @cuda.jit(target=target, lineinfo=False, warn=False)
    def tiles(a, b, c):
        left = cuda.shared.array((_DEPTH, _SIDE + 1), scalar)
        right = cuda.shared.array((_DEPTH, _SIDE), scalar)
        sums = cuda.local.array((4, 4), wide)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        t = 16 * y + x
        row, column = _SIDE * cuda.blockIdx.y, _SIDE * cuda.blockIdx.x
        for z in range(cuda.blockIdx.z, c.shape[0], cuda.gridDim.z):
            for i in range(4):
                for j in range(4):
                    sums[i, j] = zero_sum
            for start in range(0, a.shape[2], _DEPTH):
                for i in range(4):
                    k, r = start + t % _DEPTH, t // _DEPTH + 16 * i
                    left[t % _DEPTH, r] = a[z, row + r, k] if row + r < a.shape[1] and k < a.shape[2] else zero
                    k, r = t // _SIDE + 4 * i, t % _SIDE
                    right[k, r] = b[z, start + k, column + r] if start + k < b.shape[1] and column + r < b.shape[2] else zero
                cuda.syncthreads()
                for k in range(_DEPTH):
                    for i in range(4):
                        for j in range(4):
                            sums[i, j] += wide(left[k, y + 16 * i]) * wide(right[k, x + 16 * j])
                cuda.syncthreads()
            for i in range(4):
                for j in range(4):
                    if row + y + 16 * i < c.shape[1] and column + x + 16 * j < c.shape[2]:
                        c[z, row + y + 16 * i, column + x + 16 * j] = sums[i, j]

    return tiles


def tile_product(a, b, c, stream=0, target="cuda"):
    """c[...] = a @ b for arrays of one dtype and equal numbers of dimensions, the outer ones broadcast already."""
    if c.ndim > 3:
        for at in range(c.shape[0]):
            tile_product(a[at], b[at], c[at], stream, target)
        return
    if c.ndim == 2:
        a, b, c = a[None], b[None], c[None]
    key = c.dtype.char, target
    if key not in _kernels:
        _kernels[key] = _tile_kernel(c.dtype, target)
    grid = -(-c.shape[2] // _SIDE), -(-c.shape[1] // _SIDE), min(c.shape[0], 65535)
    if grid[1] > 65535:
        half = c.shape[1] // 2
        tile_product(a[:, :half], b, c[:, :half], stream, target)
        tile_product(a[:, half:], b, c[:, half:], stream, target)
        return
    _kernels[key][grid, (16, 16), stream](a, b, c)


def _dot(x, y, out):
    """vecdot without the conjugate."""
    if out.dtype == np.float16:
        wide = np.float32(0)
        for k in range(x.shape[0]):
            wide += np.float32(x[k]) * np.float32(y[k])
        out[0] = wide
    else:
        total = out.dtype.type(0)
        for k in range(x.shape[0]):
            if out.dtype == np.bool_:
                total |= x[k] & y[k]
            else:
                total += x[k] * y[k]
        out[0] = total


def _dot_gufunc():
    if "dot" not in _dots:
        signatures = [f"{dtype * 2}->{dtype}" for dtype in _DTYPES]
        _dots["dot"] = _core.guvectorize(signatures, "(n),(n)->()", target="auto", warn=False)(_dot)
    return _dots["dot"]


def _external(handle):
    from lanewise import cuda

    return cuda.external_stream(handle) if handle else 0


def _large_matmul(a, b, out, handle):
    stream = _external(handle)
    if out.shape[-1] < 16 and (out.shape[-2] < 16 or a.shape[-1] >= 64):  # few columns: each sum by itself
        columns = b.transpose(*range(b.ndim - 2), b.ndim - 1, b.ndim - 2)
        _dot_gufunc()(a[..., :, None, :], columns[..., None, :, :], out=out, stream=stream)
    elif out.dtype == np.bool_:
        return False
    else:
        tile_product(a, b, out, stream)
    return True


def _large_matvec(a, x, out, handle):
    _dot_gufunc()(a, x[..., None, :], out=out, stream=_external(handle))
    return True


def _large_vecmat(x, a, out, handle):
    stream = _external(handle)
    if out.dtype == np.bool_:
        return False
    if out.dtype.kind == "c":
        from lanewise import ufuncs

        x = ufuncs.conjugate(x, stream=stream)
    tile_product(x[..., None, :], a, out[..., None, :], stream)
    return True


_LARGE_ONES = {"matmul": _large_matmul, "matvec": _large_matvec, "vecmat": _large_vecmat}

_DOCS = {
    "matmul": "matmul(a, b): matrix products of stacks of matrices, as numpy.matmul, on host and device arrays.",
    "matvec": "matvec(a, x): products of matrices and vectors, as numpy.matvec, on host and device arrays.",
    "vecmat": "vecmat(x, a): products of vectors, conjugated, and matrices, as numpy.vecmat, on host and device arrays.",
    "vecdot": "vecdot(x, y): sums of products, the first vector conjugated, as numpy.vecdot, on host and device arrays.",
}


def make(name, module):
    """The Gufunc of that name, as if `module` had made it: pickles find it there."""
    function = globals()[name]
    function.__module__ = module
    function.__doc__ = _DOCS[name]
    layout = LAYOUTS[name]
    signatures = [f"{dtype * 2}->{dtype}" for dtype in _DTYPES]
    made = _core.guvectorize(signatures, layout, target="auto", warn=False)(function)  # whatever the setting is just now
    if hasattr(np, name):
        _core._use_library(made, getattr(np, name), _LIBRARY[name], _LARGE)
    if name in _LARGE_ONES:
        _core._use_large(made, _LARGE_ONES[name], _TILED)
    return made
