"""NumPy's functions on device arrays that multiply, choose and arrange: more of `lanewise/_array_protocol.py`, which imports this file.

`einsum` sums out what only one operand has, and makes each further step a product of (stacks of) matrices.
"""

from __future__ import annotations

import math
import operator
import warnings
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

import lanewise as lw
from lanewise import _array_protocol as _protocol
from lanewise import _array_statistics_kernels as _kernels
from lanewise._array_protocol import _array, _arrays, _deliver, _filled, _first, _kept, _new, _of, _strided
from lanewise._array_statistics import _TO_HOST, _refuse


# ---- einsum ----


def _letters(text: str, n_dims: int, unused: list[str]) -> str:
    """The labels of an operand: one letter for each axis, capital ones of `unused`, from its end, for an ellipsis."""
    given = text.replace("...", "")
    if "." in given or text.count("...") > 1:
        raise ValueError("einstein sum subscripts string contains a '.' that is not part of an ellipsis ('...')")
    more = n_dims - len(given)
    if more < 0 or (more and "..." not in text):
        raise ValueError(f"operand has {'more' if more > 0 else 'fewer'} dimensions than subscripts given in einstein sum: "
                         f"{n_dims} for {text!r}")
    return text.replace("...", "".join(unused[len(unused) - more:]) if more else "")


def _parse(subscripts: Any, operands: tuple[Any, ...]) -> tuple[list[str], str, list[Any]]:
    """The labels of the operands and of the result."""
    if not isinstance(subscripts, str):  # operand, labels, operand, labels, …, labels of the result
        parts = [subscripts, *operands]
        result = parts.pop() if len(parts) % 2 else None
        spell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        texts = ["".join("..." if one is Ellipsis else spell[one] for one in labels) for labels in parts[1::2]]
        operands = tuple(parts[0::2])
        subscripts = ",".join(texts)
        if result is not None:
            subscripts += "->" + "".join("..." if one is Ellipsis else spell[one] for one in result)
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    texts = left.split(",")
    if len(texts) != len(operands):
        raise ValueError(f"{'more' if len(operands) > len(texts) else 'fewer'} operands provided to einstein sum function than specified in the subscripts string")
    for letter in text.replace("->", "").replace(",", "").replace(".", ""):
        if not (letter.isalpha() and letter.isascii()):
            raise ValueError(f"invalid subscript {letter!r} in einstein sum subscripts string, subscripts must be letters")
    unused = [chr(code) for code in range(0x391, 0x391 + 64)]  # no letters of a user
    arrays = _arrays(operands)
    labels = [_letters(one, x.ndim, unused) for one, x in zip(texts, arrays)]
    most = max((sum(letter in unused for letter in one) for one in labels), default=0)
    dots = "".join(unused[len(unused) - most:]) if most else ""
    if arrow:
        result = right.replace("...", dots)
    else:
        every = "".join(labels)
        result = dots + "".join(sorted(letter for letter in set(every) if every.count(letter) == 1 and letter not in unused))
    for letter in result:
        if result.count(letter) > 1:
            raise ValueError(f"einstein sum subscripts string includes output subscript {letter!r} multiple times")
        if not any(letter in one for one in labels):
            raise ValueError(f"einstein sum subscripts string included output subscript {letter!r} which never appeared in an input")
    return labels, result, arrays


def _sizes(labels: list[str], arrays: list[Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one, x in zip(labels, arrays):
        for letter, n in zip(one, x.shape):
            if found.setdefault(letter, n) == 1:
                found[letter] = n
            elif n not in (1, found[letter]):
                raise ValueError(f"operands could not be broadcast together with remapped shapes: axis {letter!r} has the sizes {found[letter]} and {n}")
    return found


def _prepared(x: Any, labels: str, keep: str, sizes: dict[str, int]) -> tuple[Any, str]:
    """Diagonals of repeated labels, and sums over those that nothing else has; axes of size 1 that are broadcast are dropped."""
    for letter in sorted(set(labels)):
        same = [d for d, one in enumerate(labels) if one == letter]
        if len(same) > 1:
            n = max(x.shape[d] for d in same)
            strides = sum(x.strides[d] for d in same if x.shape[d] != 1 or n == 1)
            rest = [d for d in range(x.ndim) if d not in same]
            x = _strided(x, (n, *(x.shape[d] for d in rest)), (strides, *(x.strides[d] for d in rest)))
            labels = letter + "".join(labels[d] for d in rest)
    for letter in labels:
        at = labels.index(letter)
        if letter not in keep and x.shape[at] == sizes[letter]:
            x, labels = x.sum(axis=at, dtype=x.dtype), labels[:at] + labels[at + 1:]
        elif x.shape[at] == 1 and sizes[letter] != 1:
            x, labels = x.reshape(x.shape[:at] + x.shape[at + 1:]), labels[:at] + labels[at + 1:]
    return x, labels


def _product(a: Any, of_a: str, b: Any, of_b: str, keep: str) -> tuple[Any, str]:
    """a times b, summed over the labels of both that are not kept, as one product of stacks of matrices."""
    both = [letter for letter in of_a if letter in of_b]
    stacks, inner = [x for x in both if x in keep], [x for x in both if x not in keep]
    rows, columns = [x for x in of_a if x not in both], [x for x in of_b if x not in both]
    sizes = {**dict(zip(of_a, a.shape)), **dict(zip(of_b, b.shape))}
    if not inner:
        a = a.transpose([of_a.index(x) for x in stacks + rows]).reshape([sizes[x] for x in stacks + rows] + [1] * len(columns))
        b = b.transpose([of_b.index(x) for x in stacks + columns]).reshape([sizes[x] for x in stacks] + [1] * len(rows) + [sizes[x] for x in columns])
        return lw.ufuncs.multiply(a, b), "".join(stacks + rows + columns)
    outer = [sizes[x] for x in stacks]
    m, k, n = (math.prod(sizes[x] for x in part) for part in (rows, inner, columns))
    a = a.transpose([of_a.index(x) for x in stacks + rows + inner]).reshape([*outer, m, k])
    b = b.transpose([of_b.index(x) for x in stacks + inner + columns]).reshape([*outer, k, n])
    made = lw.ufuncs.matmul(a, b).reshape(outer + [sizes[x] for x in rows + columns])
    return made, "".join(stacks + rows + columns)


@_of(np.einsum)
def einsum(subscripts: Any, *operands: Any, out: Any = None, dtype: Any = None, order: str = "K", casting: Any = "safe", optimize: Any = False) -> Any:
    labels, result, arrays = _parse(subscripts, operands)
    sizes = _sizes(labels, arrays)
    kind = np.dtype(dtype) if dtype is not None else np.result_type(*(x.dtype for x in arrays))
    if kind.kind in "mM":
        raise TypeError(f"invalid data type for einsum: {kind}")
    for x in arrays:
        if not np.can_cast(x.dtype, kind, casting):
            raise TypeError(f"Iterator operand 0 dtype could not be cast from {x.dtype!r} to {kind!r} according to the rule {casting!r}")
    arrays = [x if x.dtype == kind else x.astype(kind) for x in arrays]
    made: Any = None
    of_made = ""
    for at, (x, own) in enumerate(zip(arrays, labels)):
        later = "".join(labels[at + 1:]) + result
        x, own = _prepared(x, own, later + of_made, sizes)
        if made is None:
            made, of_made = x, own
        else:
            made, of_made = _product(made, of_made, x, own, later)
        made, of_made = _prepared(made, of_made, later, {**sizes, **dict(zip(of_made, made.shape))})
    missing = [letter for letter in result if letter not in of_made]  # axes of size 1 that were dropped
    made = made.transpose([of_made.index(letter) for letter in result if letter in of_made])
    made = made.reshape([1 if letter in missing else sizes[letter] for letter in result])
    if any(sizes[letter] != 1 for letter in missing):
        made = _protocol.broadcast_to(made, tuple(sizes[letter] for letter in result))
    return _deliver(made, out)


# ---- norms ----


def root_of_squares(x: Any, axis: Any, keepdims: bool) -> Any:
    squares = x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x
    return lw.ufuncs.sqrt(squares.sum(axis=axis, keepdims=keepdims))


@_of(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if x.dtype.kind not in "fc":
        x = x.astype(np.float64)
    if axis is None:
        if ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1):
            return root_of_squares(x, None, keepdims)
        axis = tuple(range(x.ndim))
    elif not isinstance(axis, tuple):
        try:
            axis = int(axis)
        except Exception as error:
            raise TypeError("'axis' must be None, an integer or a tuple of integers") from error
    axes = normalize_axis_tuple(axis, x.ndim)
    size = lw.ufuncs.absolute(x)
    if len(axes) == 1:
        return _vector_norm(x, size, ord, axes[0], keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if ord in (None, "fro", "f"):
        return root_of_squares(x, axes, keepdims)
    if ord in (2, -2, "nuc"):
        from lanewise import _array_linear

        rest = [d for d in range(x.ndim) if d not in axes]
        values = _array_linear.svdvals(x.transpose([*rest, *axes]))
        made = values.sum(axis=-1) if ord == "nuc" else values.max(axis=-1) if ord == 2 else values.min(axis=-1)
        return made.reshape(tuple(1 if d in axes else n for d, n in enumerate(x.shape))) if keepdims else made
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError("Invalid norm order for matrices.")
    summed, left = axes if abs(ord) == 1 else axes[::-1]
    total = size.sum(axis=summed, keepdims=True)
    ends = total.max(axis=left, keepdims=True) if ord > 0 else total.min(axis=left, keepdims=True)
    return ends if keepdims else ends.reshape(tuple(n for d, n in enumerate(x.shape) if d not in axes))


def _vector_norm(x: Any, size: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    if ord is None or ord == 2:
        return root_of_squares(x, axis, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord == math.inf:
        return size.max(axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return size.min(axis=axis, keepdims=keepdims)
    if ord == 0:
        return (x != 0).astype(size.dtype).sum(axis=axis, keepdims=keepdims)
    if ord == 1:
        return size.sum(axis=axis, keepdims=keepdims)
    return lw.ufuncs.power((size ** size.dtype.type(ord)).sum(axis=axis, keepdims=keepdims), size.dtype.type(1.0 / ord))


# ---- convolutions, covariances ----


_MODES = ("valid", "same", "full")


def _mode(mode: Any) -> str:
    """The name of a mode, which may be given by its number."""
    if not isinstance(mode, str):
        mode = operator.index(mode)
        mode = _MODES[mode] if 0 <= mode < len(_MODES) else mode
    if mode not in _MODES:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    return mode


def _convolved(a: Any, v: Any, mode: str) -> Any:
    n, m = max(a.size, v.size), min(a.size, v.size)
    size, first = (n + m - 1, 0) if mode == "full" else (n, (m - 1) // 2) if mode == "same" else (n - m + 1, m - 1)
    out = _new(a, size, np.result_type(a.dtype, v.dtype))
    _kernels.convolve(size, a, v, first, out)
    return out


def _rows(name: str, a: Any, v: Any) -> tuple[Any, Any, bool]:
    """The two rows, in one dtype, and whether they are bools: counts then say where the result is True."""
    a, v = (x.reshape(1) if x.ndim == 0 and name == "convolve" else x for x in _arrays((a, v)))
    if a.ndim == 0 or v.ndim == 0:
        raise ValueError("object of too small depth for desired array")
    if a.ndim > 1 or v.ndim > 1:
        raise ValueError("object too deep for desired array")
    if a.size == 0 or v.size == 0:
        raise ValueError(f"{'a' if a.size == 0 else 'v'} cannot be empty" if name == "convolve" else f"{'first' if a.size == 0 else 'second'} array argument cannot be empty")
    kind = np.result_type(a.dtype, v.dtype)
    is_bool = kind.kind == "b"
    if is_bool:
        kind = np.dtype(np.int64)
    return a.astype(kind), v.astype(kind), is_bool


@_of(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    mode = _mode(mode)
    a, v, is_bool = _rows("convolve", a, v)
    made = _convolved(a, v, mode)
    return made != 0 if is_bool else made


@_of(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    mode = _mode(mode)
    a, v, is_bool = _rows("correlate", a, v)
    v = lw.ufuncs.conjugate(v)[::-1].copy()
    if mode == "same" and v.size > a.size:  # numpy swaps the two, and turns the result around
        made = _convolved(a[::-1].copy(), v[::-1].copy(), mode)[::-1].copy()
    else:
        made = _convolved(a, v, mode)
    return made != 0 if is_bool else made


def _variables(m: Any, y: Any, rowvar: bool, dtype: Any) -> Any:
    """A matrix of which each row is a variable."""
    def rows(x: Any) -> Any:
        if x.ndim > 2:
            raise ValueError("m has more than 2 dimensions")
        x = x.astype(dtype).reshape((1, -1)) if x.ndim < 2 else x.astype(dtype)
        return x if rowvar or x.shape[0] == 1 else x.T

    return rows(m) if y is None else _protocol.concatenate([rows(m), rows(y)], 0)


@_of(np.cov)
def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None, aweights: Any = None, *, dtype: Any = None) -> Any:
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    if fweights is not None or aweights is not None:
        raise _refuse("cov", "fweights= and aweights= are not supported", _TO_HOST)
    like = _first(m, y)
    m, y = _array(m, like), None if y is None else _array(y, like)
    dtype = np.result_type(m.dtype, np.float64, *(() if y is None else (y.dtype,))) if dtype is None else np.dtype(dtype)
    x = _variables(m, y, rowvar, dtype)
    if x.shape[0] == 0:
        return _new(like, (0, 0), np.float64)
    less = x.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    if less <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=4)
        less = 0
    x = x - x.mean(axis=1, keepdims=True)
    made = lw.ufuncs.matmul(x, lw.ufuncs.conjugate(x.T)) * (1 / less) if less else lw.ufuncs.matmul(x, lw.ufuncs.conjugate(x.T)) * math.inf
    return made.reshape(()) if made.shape == (1, 1) else made


@_of(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = lw.ufuncs.sqrt(_protocol.diagonal(c).real)
    c = c / deviation.reshape((-1, 1)) / deviation.reshape((1, -1))
    if c.dtype.kind != "c":
        return _protocol.clip(c, -1.0, 1.0)
    made = _new(c, c.shape, c.dtype)
    made.real, made.imag = _protocol.clip(c.real, -1.0, 1.0), _protocol.clip(c.imag, -1.0, 1.0)
    return made


# ---- choosing, arranging ----


@_of(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    like = _first(*condlist, *choicelist, default)
    conditions = [_array(one, like) for one in condlist]
    for i, one in enumerate(conditions):
        if one.dtype.kind != "b":
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    values = [_kept(one, like) for one in (*choicelist, default)]
    kind = np.result_type(*(one if not hasattr(one, "dtype") else one.dtype for one in values))
    shape = np.broadcast_shapes(*(np.shape(one) for one in (*conditions, *values[:-1])))
    made = _filled(like, shape, kind, values[-1])
    for condition, value in zip(conditions[::-1], values[-2::-1]):
        made = _protocol.where(condition, value.astype(kind) if hasattr(value, "dtype") else _array(np.asarray(value, kind), like), made)
    return made


@_of(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    arrays = _arrays(xi)
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[0], order[1] = 1, 0
    grids = [x.reshape(tuple(-1 if d == at else 1 for d in range(len(arrays)))) for x, at in zip(arrays, order)]
    if not sparse:
        shape = np.broadcast_shapes(*(x.shape for x in grids))
        grids = [_protocol.broadcast_to(x, shape) for x in grids]
    return tuple(x.copy() for x in grids) if copy else tuple(grids)


@_of(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    a, b = axes = tuple(axes)
    if len(axes) != 2 or normalize_axis_index(a, m.ndim) == normalize_axis_index(b, m.ndim):
        raise ValueError("Axes must be different.")

    def flipped(x: Any, axis: int) -> Any:
        return x[tuple(slice(None, None, -1) if d == normalize_axis_index(axis, x.ndim) else slice(None) for d in range(x.ndim))]

    k %= 4
    if k == 0:
        return m[...]
    if k == 2:
        return flipped(flipped(m, a), b)
    return _protocol.swapaxes(flipped(m, b), a, b) if k == 1 else flipped(_protocol.swapaxes(m, a, b), b)
