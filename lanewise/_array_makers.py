"""NumPy's functions on device arrays that make arrays from a few numbers, compute with polynomials, and write files: more of
`lanewise/_array_protocol.py`.

Functions that write files copy their arrays to the host: this is what they are called for.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import lanewise as lw
from lanewise import _array_algebra as _algebra
from lanewise import _array_protocol as _protocol
from lanewise._array_protocol import _array, _arrays, _filled, _first, _home, _is_own, _kept, _of


def _on_host(x: Any) -> Any:
    return x.copy_to_host() if _is_own(x) else x


# ---- files ----


@_of(np.save)
def save(file: Any, arr: Any, *args: Any, **kwargs: Any) -> None:
    np.save(file, _on_host(arr), *args, **kwargs)


def _save_all(function: Any) -> None:
    def save_all(file: Any, *args: Any, **kwds: Any) -> None:
        function(file, *map(_on_host, args), **{name: _on_host(x) for name, x in kwds.items()})

    save_all.__name__ = function.__name__
    _of(function)(save_all)


_save_all(np.savez)
_save_all(np.savez_compressed)


@_of(np.savetxt)
def savetxt(fname: Any, X: Any, *args: Any, **kwargs: Any) -> None:
    np.savetxt(fname, _on_host(X), *args, **kwargs)


# ---- equal distances ----


@_of(np.linspace)
def linspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0, *, device: Any = None) -> Any:
    _protocol._host_device(device)
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    like = _first(start, stop)
    common = np.result_type(_protocol._result_type(_kept(start, like), _kept(stop, like)), 1.0)
    start, stop = (_array(x, like).astype(common, copy=False) for x in (start, stop))
    dtype = common if dtype is None else _protocol._dtype(dtype)
    apart = stop - start
    steps = num - 1 if endpoint else num
    places = _array(np.arange(num, dtype=common.type(0).real.dtype), like).reshape((num,) + (1,) * apart.ndim)
    step = apart / steps if steps > 0 else np.nan
    made = places * step if steps > 0 and bool(lw.ufuncs.not_equal(step, 0).all()) else places / max(steps, 1) * apart  # a step may be too small for a number
    made = (made + start).astype(common, copy=False)
    if endpoint and num > 1:
        made[-1] = stop
    if dtype.kind in "iu":
        made = lw.ufuncs.floor(made)
    made = np.moveaxis(made, 0, axis).astype(dtype, copy=False)
    return (made, step) if retstep else made


@_of(np.logspace)
def logspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0) -> Any:
    like = _first(start, stop, base)
    if np.ndim(base) > 0:
        base = _array(base, like)
        start, stop = (_protocol.broadcast_to(_array(x, like), np.broadcast_shapes(np.shape(x), base.shape)) for x in (start, stop))
        base = _protocol.expand_dims(_protocol.broadcast_to(base, start.shape), axis)
    points = linspace(start, stop, num, endpoint, axis=axis) if _is_own(start) or _is_own(stop) else _array(np.linspace(start, stop, num, endpoint, axis=axis), like)
    made = lw.ufuncs.power(base, points)
    return made if dtype is None else made.astype(dtype, copy=False)


# ---- diagonals and triangles ----


@_of(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    return _protocol.diag(v.ravel(), k)


def _indices(like: Any, found: Any) -> Any:
    return tuple(_home(like).to_device(x) for x in found)


@_of(np.diag_indices_from)
def diag_indices_from(arr: Any) -> Any:
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return _indices(arr, np.diag_indices(arr.shape[0], arr.ndim))


def _triangle_indices(function: Any, indices: Any) -> None:
    def indices_from(arr: Any, k: int = 0) -> Any:
        if arr.ndim != 2:
            raise ValueError("input array must be 2-d")
        return _indices(arr, indices(arr.shape[0], k=k, m=arr.shape[1]))

    indices_from.__name__ = function.__name__
    _of(function)(indices_from)


_triangle_indices(np.tril_indices_from, np.tril_indices)
_triangle_indices(np.triu_indices_from, np.triu_indices)


# ---- dtypes ----


@_of(np.common_type)
def common_type(*arrays: Any) -> Any:
    return np.common_type(*(np.empty(0, x.dtype) if _is_own(x) else x for x in arrays))


@_of(np.real_if_close)
def real_if_close(a: Any, tol: Any = 100) -> Any:
    if a.dtype.kind != "c":
        return a
    if tol > 1:
        tol = float(np.finfo(a.dtype).eps) * tol
    return a.real if bool((lw.ufuncs.absolute(a.imag) < tol).all()) else a


@_of(np.einsum_path)
def einsum_path(*operands: Any, **kwargs: Any) -> Any:
    """It looks at shapes alone."""
    return np.einsum_path(*(np.broadcast_to(np.zeros((), x.dtype), x.shape) if _is_own(x) else x for x in operands), **kwargs)


# ---- functions of axes ----


@_of(np.apply_over_axes)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    made = a
    for axis in (axes,) if np.ndim(axes) == 0 else axes:
        axis = axis + a.ndim if axis < 0 else axis
        found = func(made, axis)
        if found.ndim != made.ndim:
            found = _protocol.expand_dims(found, axis)
            if found.ndim != made.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        made = found
    return made


# ---- polynomials ----


def _coefficients(p: Any, like: Any) -> Any:
    p = _protocol._at_least(_array(p, like), 1)
    if p.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    return p


def _without_zeros(p: Any) -> Any:
    """From the first coefficient that is not zero; at least one. Waits for the device."""
    places = p.nonzero()[0]
    return p[int(places[0]):] if places.size else _filled(p, 1, p.dtype, 0)


def _added(a1: Any, a2: Any, operation: Any) -> Any:
    like = _first(a1, a2)
    one, two = (_protocol._at_least(_array(x, like), 1) for x in (a1, a2))
    n = max(len(one), len(two))
    one, two = (_protocol.concatenate([_filled(like, n - len(x), x.dtype, 0), x]) if len(x) < n else x for x in (one, two))
    return operation(one, two)


@_of(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    return _added(a1, a2, lw.ufuncs.add)


@_of(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    return _added(a1, a2, lw.ufuncs.subtract)


@_of(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    like = _first(a1, a2)
    return _algebra.convolve(*(_without_zeros(_coefficients(x, like)) for x in (a1, a2)))


def _order(m: Any, name: str) -> int:
    m = int(m)
    if m < 0:
        raise ValueError(f"Order of {name} must be positive (see {'polyint' if name == 'derivative' else 'polyder'})")
    return m


@_of(np.polyder)
def polyder(p: Any, m: Any = 1) -> Any:
    for _ in range(_order(m, "derivative")):
        n = len(p) - 1
        p = p[:-1] * _array(np.arange(n, 0, -1), p)
    return p


@_of(np.polyint)
def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    like = _first(p, k)
    p, m = _array(p, like), _order(m, "integral")
    k = np.zeros(m) if k is None else np.atleast_1d(_on_host(k))
    if len(k) == 1 and m > 1:
        k = k[0] * np.ones(m)
    if len(k) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for constant in k[:m]:
        p = _protocol.concatenate([p / _array(np.arange(len(p), 0, -1), like), np.asarray([constant])])
    return p


# ---- equations of tensors ----


@_of(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = a.shape[ind:] + a.shape[:ind]
    n = int(np.prod(a.shape[ind:], dtype=np.int64))
    return np.linalg.inv(a.reshape((n, -1))).reshape(shape)


@_of(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    a, b = _arrays((a, b))
    if axes is not None:
        last = [operator.index(axis) for axis in axes]
        if not all(0 <= axis < a.ndim for axis in last):
            raise ValueError(f"axes of tensorsolve must be from 0 to {a.ndim - 1}, got {tuple(last)}")
        a = a.transpose([*(d for d in range(a.ndim) if d not in last), *last])
    shape = a.shape[b.ndim - a.ndim:] if a.ndim > b.ndim else ()
    n = int(np.prod(shape, dtype=np.int64))
    if a.size != n * n:
        raise np.linalg.LinAlgError("Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    return np.linalg.solve(a.reshape((n, n)), b.ravel()).reshape(shape)
