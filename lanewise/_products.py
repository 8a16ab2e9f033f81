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


def _zero(out):
    return np.float32(0) if out.dtype == np.float16 else out.dtype.type(0)


def _add(total, x, y):
    """total + x * y"""
    if isinstance(x, np.bool_):
        return total | (x & y)
    if isinstance(x, np.float16):
        return total + np.float32(x) * np.float32(y)
    return total + x * y


def _conjugate(x):
    return np.conj(x) if isinstance(x, (np.complex64, np.complex128)) else x


def matmul(a, b, out):
    for i in range(out.shape[0]):
        if out.dtype == np.float16:
            for j in range(out.shape[1]):
                total = np.float32(0)
                for k in range(a.shape[1]):
                    total = _add(total, a[i, k], b[k, j])
                out[i, j] = total
        else:
            for j in range(out.shape[1]):
                out[i, j] = out.dtype.type(0)
            for k in range(a.shape[1]):  # along rows: they lie densely
                x = a[i, k]
                for j in range(out.shape[1]):
                    out[i, j] = _add(out[i, j], x, b[k, j])


def matvec(a, x, out):
    for i in range(out.shape[0]):
        total = _zero(out)
        for k in range(x.shape[0]):
            total = _add(total, a[i, k], x[k])
        out[i] = total


def vecmat(x, a, out):
    for j in range(out.shape[0]):
        total = _zero(out)
        for k in range(x.shape[0]):
            total = _add(total, _conjugate(x[k]), a[k, j])
        out[j] = total


def vecdot(x, y, out):
    total = _zero(out)
    for k in range(x.shape[0]):
        total = _add(total, _conjugate(x[k]), y[k])
    out[0] = total


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
    made = _core.guvectorize(signatures, layout, target="auto")(function)  # whatever the setting is just now
    if hasattr(np, name):
        _core._use_library(made, getattr(np, name), _LIBRARY[name], _LARGE)
    return made
