"""reduce, accumulate, reduceat, outer and at of Ufuncs on device arrays; the extension calls them by name
(ufunc/ufunc_call_py.c). On host arrays these are NumPy's own.

Where the operator is known to be associative (an identity or "reorderable" was given, or it is +, *, min and
the like), `lanewise.reduce` does the work. Else the result is NumPy's left fold, one thread a result.
"""

from __future__ import annotations

import functools
import operator
import warnings
import weakref
from typing import Any

import numpy as np

import lanewise as lw
from lanewise import _core, _device_array_kernels, _placing, cuda, reductions

#: Keywords of vectorize that say how code is made; they hold for the reduction as well.
_OF_CODE = ("typing", "fastmath", "cache", "link", "debug", "lineinfo", "opt", "fma", "precise", "math", "max_registers")

_reductions: weakref.WeakKeyDictionary[Any, "_Reducer"] = weakref.WeakKeyDictionary()


def _not_given(value: Any) -> bool:
    return value is ... or value is np._NoValue


class _Reducer:
    """What the methods of one Ufunc keep."""

    def __init__(self, ufunc: Any) -> None:
        state = ufunc._state()
        options = {name: state["options"][name] for name in _OF_CODE if name in state["options"]}
        self.name = ufunc.__name__
        self.identity = state["options"].get("identity")  # ufunc.identity is None for "reorderable", as NumPy's
        self.is_numpys = ufunc.__module__ == "lanewise.ufuncs"
        known = self.identity is not None
        self.has_identity = known and not isinstance(self.identity, str)
        all_bits = self.is_numpys and self.name == "bitwise_and"  # -1 is no unsigned number; the reduction knows it
        self.reduction = lw.reduce(ufunc.py_func, source=state["options"].get("source"),
                                   identity=self.identity if self.has_identity and not all_bits else None,
                                   commutative=True if known else None, **options)
        self.callee = getattr(np, self.name) if self.is_numpys else ufunc.py_func
        self.options = options
        self.dtypes: dict[Any, np.dtype[Any]] = {}
        self.kernels: dict[str, Any] = {}

    def fold(self, kind: str) -> Any:
        if kind not in self.kernels:
            self.kernels[kind] = _FOLDS[kind](self.callee, self.options)
        return self.kernels[kind]


def _reducer(ufunc: Any) -> _Reducer:
    found = _reductions.get(ufunc)
    if found is None:
        found = _reductions[ufunc] = _Reducer(ufunc)
    return found


# ---- left folds: rows of a two-dimensional array ----


def _make_reduce(f, options):
    @lw.forall(**options)
    def fold(i, a, out):
        acc = a[i, 0]
        for k in range(1, a.shape[1]):
            acc = f(acc, a[i, k])
        out[i] = acc

    return fold


def _make_reduce_from(f, options):
    @lw.forall(**options)
    def fold(i, a, out, initial):
        acc = initial
        for k in range(a.shape[1]):
            acc = f(acc, a[i, k])
        out[i] = acc

    return fold


def _make_reduce_where(f, options):
    @lw.forall(**options)
    def fold(i, a, mask, out, initial):
        acc = initial
        for k in range(a.shape[1]):
            if mask[i, k]:
                acc = f(acc, a[i, k])
        out[i] = acc

    return fold


def _make_accumulate(f, options):
    @lw.forall(**options)
    def fold(i, a, out):
        acc = a[i, 0]
        out[i, 0] = acc
        for k in range(1, a.shape[1]):
            acc = f(acc, a[i, k])
            out[i, k] = acc

    return fold


def _make_reduceat(f, options):
    @lw.forall(ndim=2, **options)
    def fold(i, s, a, starts, out):
        begin = starts[s]
        end = starts[s + 1] if s + 1 < starts.shape[0] else a.shape[1]
        acc = a[i, begin]
        for k in range(begin + 1, end):
            acc = f(acc, a[i, k])
        out[i, s] = acc

    return fold


_FOLDS = {"reduce": _make_reduce, "reduce_from": _make_reduce_from, "reduce_where": _make_reduce_where,
          "accumulate": _make_accumulate, "reduceat": _make_reduceat}


# ---- what the methods have in common ----


def _check_arity(ufunc: Any, method: str) -> None:
    if ufunc.nin != 2:
        raise ValueError(f"{method} only supported for binary functions")
    if ufunc.nout != 1:
        raise ValueError(f"{method} only supported for functions returning a single value")


def _only(out: Any) -> Any:
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError("The 'out' tuple must have exactly one entry")
        out = out[0]
        if out is ...:
            raise TypeError("must use `...` as `out=...` and not per-operand/in a tuple")
    if out is ...:  # results are arrays, also those without dimensions
        return None
    if out is not None and not cuda.is_cuda_array(out):
        raise TypeError(f"out= must be a device array when an operand is one, not {type(out).__name__}")
    return out


def _dtype_of(array: Any) -> Any:
    """None: NumPy does not know it (bfloat16)."""
    dtype = array.dtype
    if not isinstance(dtype, np.dtype):  # another library's
        dtype = cuda.as_cuda_array(array).dtype
    return dtype if dtype.isbuiltin == 1 else None


def _computed_in(ufunc: Any, own: _Reducer, array: Any, dtype: Any, out: Any) -> Any:
    """The dtype of the loop, by NumPy's rules. None: the array's."""
    given = _dtype_of(array)
    if given is None:
        return dtype
    wanted = _core.cuda._dtype(dtype) if dtype is not None else None
    written = _dtype_of(out) if dtype is None and out is not None else None
    found = own.dtypes.get((given, wanted, written))
    if found is None:
        known = getattr(np, own.name) if own.is_numpys else ufunc
        if written is not None:
            found = known.resolve_dtypes((written, given, written), casting="unsafe")[2]
        elif wanted is not None:
            found = known.resolve_dtypes((None, given, None), reduction=True, signature=(wanted, None, None), casting="unsafe")[2]
        else:
            found = known.resolve_dtypes((None, given, None), reduction=True)[2]
        own.dtypes[given, wanted, written] = found
    return found


def _one_axis(axis: Any, ndim: int) -> int:
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def _only_axis(name: str, axis: Any, ndim: int) -> int:
    """Of what goes along one axis: a tuple of one, or None where there is but one, say it too."""
    if ndim == 0 and (axis is None or axis in (0, -1, ())):
        raise TypeError(f"cannot {name} on a scalar")
    axes = [_one_axis(one, ndim) for one in (range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,))]
    if len(axes) != 1:
        raise ValueError(f"{name} does not allow multiple axes")
    return axes[0]


def _is_associative(own: _Reducer, dtype: Any, array: Any) -> bool:
    return own.identity is not None or own.reduction._reorders(array.dtype if dtype is None else dtype)


def _rows(array: Any, axis: int, dtype: Any) -> Any:
    """Two dimensions, the axis last, in the dtype that is computed in."""
    array = cuda.as_cuda_array(array)
    if dtype is not None and array.dtype != dtype:
        array = array.astype(dtype)
    order = [d for d in range(array.ndim) if d != axis] + [axis]
    array = array.transpose(order)
    n_rows = 1
    for n in array.shape[:-1]:
        n_rows *= n
    return array.reshape((n_rows, array.shape[-1]))


def _deliver(result: Any, out: Any) -> Any:
    if out is None:
        return result
    to = cuda.as_cuda_array(out)
    if to.shape != result.shape:
        raise ValueError(f"out= has shape {to.shape}, but the result has {result.shape}")
    if not np.can_cast(result.dtype, to.dtype, "same_kind"):
        raise TypeError(f"out= has dtype {to.dtype!r:.200}, which cannot take results of {result.dtype!r:.200}")
    to[...] = result
    return out


def _on_stream(stream: Any) -> dict[str, Any]:
    return {} if stream is None else {"stream": stream}


# ---- a call on the host ----


def call_wrapping(ufunc, *operands):
    """A host call with an operand that is no array and has an __array_wrap__, which sees the Ufunc that was called."""
    wrap, priority = None, -np.inf
    for operand in operands:
        if type(operand) is np.ndarray:
            wrap, priority = (wrap, priority) if priority >= 0 else (None, 0.0)
        elif hasattr(operand, "__array_wrap__") and not isinstance(operand, np.generic):
            own = getattr(operand, "__array_priority__", 0.0)
            if wrap is None or own > priority:
                wrap, priority = operand.__array_wrap__, own
    results = ufunc(*(np.asarray(operand) if hasattr(operand, "__array_wrap__") else operand for operand in operands))
    if wrap is None:  # scalars of another library's dtype
        return results
    several = isinstance(results, tuple)
    wrapped = tuple(wrap(np.asarray(result), (ufunc, operands, i), np.ndim(result) == 0)
                    for i, result in enumerate(results if several else (results,)))
    return wrapped if several else wrapped[0]


# ---- the methods ----


def _where_they_lie(method):
    """What the method makes lies on the device of its arrays, which must be one."""
    @functools.wraps(method)
    def call(ufunc, *args, **kwargs):
        if _placing.is_alone():
            return method(ufunc, *args, **kwargs)
        with _placing.on_device_of_arguments(args, kwargs, f"{ufunc.__name__}.{method.__name__}"):
            return method(ufunc, *args, **kwargs)

    return call


@_where_they_lie
def reduce(ufunc, array, axis=0, dtype=None, out=None, keepdims=False, initial=..., where=True, *, stream=None):
    _check_arity(ufunc, "reduce")
    own, out = _reducer(ufunc), _only(out)
    if not cuda.is_cuda_array(array):
        raise TypeError(f"`{own.name}`.reduce: out= and where= are on a device, so the array must be as well")
    ndim = len(array.shape)
    if ndim == 0 and axis in (0, -1):
        axis = None
    n_axes = ndim if axis is None else len(axis) if isinstance(axis, tuple) else 1
    if own.identity is None and n_axes > 1:
        raise ValueError(f"reduction operation '{own.name}' is not reorderable, so at most one axis may be specified")
    dtype = _computed_in(ufunc, own, array, dtype, out)
    if _not_given(initial):
        initial = ... if own.has_identity else None
    if n_axes == 1 and not _is_associative(own, dtype, array):
        axis = _one_axis(axis[0] if isinstance(axis, tuple) else 0 if axis is None else axis, ndim or 1)
        return _fold(own, array, axis, dtype, out, keepdims, initial, where, stream)
    start = reductions._start(array, initial, dtype) if own.is_numpys and own.name == "multiply" else None
    reduction = reductions._PROD_FROM[start].one if start else own.reduction
    return reduction(array, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where, **_on_stream(stream))


def _fold(own, array, axis, dtype, out, keepdims, initial, where, stream):
    array = cuda.as_cuda_array(array)
    if array.ndim == 0:
        array, axis = array.reshape(1), 0
    rows = _rows(array, axis, dtype)
    shape = [n for d, n in enumerate(array.shape) if d != axis]
    result = cuda.device_array(rows.shape[0], rows.dtype)
    more = _on_stream(stream)
    first = None if initial is None else rows.dtype.type(initial)
    if where is not True:
        if first is None:
            raise ValueError(f"reduction operation '{own.name}' does not have an identity, so to use a where mask one has to specify 'initial'")
        mask = cuda.device_array(array.shape, np.bool_)
        mask[...] = where
        own.fold("reduce_where")(rows.shape[0], rows, _rows(mask, axis, None), result, first, **more)
    elif first is not None:
        own.fold("reduce_from")(rows.shape[0], rows, result, first, **more)
    elif rows.shape[1] == 0:
        raise ValueError(f"zero-size array to reduction operation {own.name} which has no identity")
    else:
        own.fold("reduce")(rows.shape[0], rows, result, **more)
    if keepdims:
        shape.insert(axis, 1)
    return _deliver(result.reshape(tuple(shape)), out)


@_where_they_lie
def accumulate(ufunc, array, axis=0, dtype=None, out=None, *, stream=None):
    _check_arity(ufunc, "accumulate")
    own, out = _reducer(ufunc), _only(out)
    ndim = len(array.shape)
    axis = _only_axis("accumulate", axis, ndim)
    dtype = _computed_in(ufunc, own, array, dtype, out)
    if _is_associative(own, dtype, array):
        return own.reduction.accumulate(array, axis, dtype=dtype, out=out, **_on_stream(stream))
    rows = _rows(array, axis, dtype)
    result = cuda.device_array(rows.shape, rows.dtype)
    if rows.shape[1]:
        own.fold("accumulate")(rows.shape[0], rows, result, **_on_stream(stream))
    return _deliver(_back(result, array.shape, axis, array.shape[axis]), out)


def _back(rows: Any, shape: Any, axis: int, n: int) -> Any:
    """Rows to the array's order of axes, with n elements along the axis."""
    kept = [size for d, size in enumerate(shape) if d != axis]
    order = list(range(len(kept)))
    order.insert(axis, len(kept))
    return rows.reshape((*kept, n)).transpose(order)


@_where_they_lie
def reduceat(ufunc, array, indices, axis=0, dtype=None, out=None, *, stream=None):
    _check_arity(ufunc, "reduceat")
    own, out = _reducer(ufunc), _only(out)
    ndim = len(array.shape)
    axis = _only_axis("reduceat", axis, ndim)
    dtype = _computed_in(ufunc, own, array, dtype, out)
    if _is_associative(own, dtype, array):
        return own.reduction.reduceat(array, indices, axis, dtype=dtype, out=out, **_on_stream(stream))
    host = indices.copy_to_host() if isinstance(indices, cuda.DeviceArray) else np.asarray(indices)
    if host.ndim != 1:
        raise ValueError("reduceat takes a one-dimensional array of indices")
    if not np.can_cast(host.dtype, np.intp, "safe") and host.size:
        raise TypeError(f"Cannot cast array data from {host.dtype!r:.200} to {np.dtype(np.intp)!r:.200} according to the rule 'safe'")
    host = host.astype(np.intp)
    size = array.shape[axis]
    for index in host[(host < 0) | (host >= size)][:1]:
        raise IndexError(f"index {index} out-of-bounds in {own.name}.reduceat [0, {size})")
    rows = _rows(array, axis, dtype)
    result = cuda.device_array((rows.shape[0], host.size), rows.dtype)
    if result.size:
        own.fold("reduceat")(result.shape, rows, cuda.to_device(host), result, **_on_stream(stream))
    return _deliver(_back(result, array.shape, axis, host.size), out)


@_where_they_lie
def outer(ufunc, A, B, /, **kwargs):
    if ufunc.nin != 2:
        raise ValueError("outer product only supported for binary functions")
    A, B = (value if cuda.is_cuda_array(value) or np.isscalar(value) else np.asarray(value) for value in (A, B))
    if np.isscalar(A) or np.isscalar(B):
        return ufunc(A, B, **kwargs)
    A = cuda.as_cuda_array(A) if cuda.is_cuda_array(A) else A
    return ufunc(A.reshape(tuple(A.shape) + (1,) * len(B.shape)), B, **kwargs)


@_where_they_lie
def at(ufunc, a, indices, b=None, /):
    """By atomics where there are some for the operator, which repeated indices reach in any order. Else, and for float16, in
    NumPy's order: indices are sorted on the host, and one thread does what belongs to one place."""
    if ufunc.nout != 1 or ufunc.nin > 2:
        raise ValueError("Only single output ufuncs supported at this time" if ufunc.nout != 1 else "Only unary and binary ufuncs supported at this time")
    if b is None and ufunc.nin == 2:
        raise ValueError("second operand needed for ufunc")
    if b is not None and ufunc.nin == 1:
        raise ValueError("second operand provided when ufunc is unary")
    if not cuda.is_cuda_array(a):
        raise TypeError("the first operand must be a device array, as another one is")
    to = cuda.as_cuda_array(a)
    if b is not None and not cuda.is_cuda_array(b) and type(b) not in (int, float, complex):
        b = np.asarray(b)
    is_numpys = ufunc.__module__ == "lanewise.ufuncs"
    computed = _computed_at(ufunc, is_numpys, to, b)
    kernel = _atomic(ufunc.__name__) if is_numpys and to.dtype not in (np.float16, np.bool_) else None
    if kernel is not None and computed[0] != to.dtype:
        same = ufunc.__name__ in _CASTS_FIRST and np.can_cast(computed[-1], to.dtype, "same_kind")
        kernel = kernel if same else None
    rows, shape, n_rows, block = _places(to, indices)
    values = None
    if b is not None:
        values = cuda.device_array(shape, to.dtype if kernel is not None else computed[1])
        if values.size:
            values[...] = b
    if 0 in shape:
        return
    straight = to if to.is_c_contiguous() else to.copy()
    flat, n = straight.reshape(n_rows * block), np.prod(shape, dtype=int)
    rows = rows.reshape(n // block)
    if kernel is not None:
        kernel(n, flat, n_rows, block, rows, values.reshape(n))
    else:
        _in_order(ufunc, is_numpys, computed, flat, n_rows, block, rows, None if values is None else values.reshape(n))
    if straight is not to:
        to[...] = straight


def _computed_at(ufunc, is_numpys, to, b):
    """The dtypes of operands and result, which is cast to the array's, whatever that loses."""
    known = getattr(np, ufunc.__name__) if is_numpys else ufunc
    given = [to.dtype]
    if b is not None:
        given.append(type(b) if type(b) in (int, float, complex) else _dtype_of(b))
    return known.resolve_dtypes((*given, None), casting="unsafe")


def _in_order(ufunc, is_numpys, computed, flat, n_rows, block, rows, values):
    host = np.asarray(rows.copy_to_host(), np.int64)
    wrong = (host < -n_rows) | (host >= n_rows)
    if wrong.any():
        raise IndexError(f"index {host[wrong][0]} is out of bounds for axis 0 with size {n_rows}")
    host = np.where(host < 0, host + n_rows, host)
    order = np.argsort(host, kind="stable")
    places, starts = np.unique(host[order], return_index=True)
    starts = cuda.to_device(np.append(starts, host.size))
    loses_imaginary = computed[-1].kind == "c" and flat.dtype.kind != "c"
    if loses_imaginary:
        warnings.warn("Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning, stacklevel=4)
    fold = _ordered_kernel(ufunc, is_numpys, computed, loses_imaginary)
    operands = () if values is None else (cuda.to_device(order), values)
    fold(places.size * block, flat, block, cuda.to_device(places), starts, *operands)


def _ordered_kernel(ufunc, is_numpys, computed, loses_imaginary):
    kernels, key = _ordered.setdefault(ufunc, {}), (computed, loses_imaginary)
    if key not in kernels:
        state = ufunc._state()
        options = {name: state["options"][name] for name in _OF_CODE if name in state["options"]}
        callee = getattr(np, ufunc.__name__) if is_numpys else ufunc.py_func
        if loses_imaginary:
            callee = _real_part(callee, ufunc.nin)
        make = _make_ordered_unary if ufunc.nin == 1 else _make_ordered_binary
        kernels[key] = make(callee, [dtype.type for dtype in computed], options)
    return kernels[key]


def _real_part(f, nin):
    def of_one(x):
        return f(x).real

    def of_two(x, y):
        return f(x, y).real

    return of_one if nin == 1 else of_two


_ordered: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()


def _make_ordered_unary(f, kinds, options):
    first = kinds[0]

    @lw.forall(errors="defer", **options)
    def fold(i, a, block, places, starts):
        s = i // block
        at = places[s] * block + i % block
        for _ in range(starts[s], starts[s + 1]):
            a[at] = a.dtype.type(f(first(a[at])))

    return fold


def _make_ordered_binary(f, kinds, options):
    first, second = kinds[0], kinds[1]

    @lw.forall(errors="defer", **options)
    def fold(i, a, block, places, starts, order, values):
        s = i // block
        at = places[s] * block + i % block
        for k in range(starts[s], starts[s + 1]):
            a[at] = a.dtype.type(f(first(a[at]), second(values[order[k] * block + i % block])))

    return fold


def _places(a, indices):
    """Where indices lead in `a`: rows (a device array), the shape of what is there, how many rows `a` has, of how many elements."""
    several = indices if isinstance(indices, tuple) else (indices,)
    if not any(cuda.is_cuda_array(index) for index in several):
        places = np.asarray(np.arange(a.size).reshape(a.shape)[indices])  # NumPy's rules and errors
        return cuda.to_device(places), places.shape, a.size, 1
    arrays = all(isinstance(index, np.ndarray) or cuda.is_cuda_array(index) for index in several)
    if not arrays or not all(index.dtype.kind in "iu" for index in map(_indices_of, several)) or len(several) not in (1, a.ndim) or a.ndim == 0:
        return _places_of_any(a, indices)
    if len(several) == 1:
        rows = cuda.as_cuda_array(several[0])
        rows = rows if rows.is_c_contiguous() else rows.copy()
        return rows, tuple(rows.shape) + tuple(a.shape[1:]), a.shape[0], a.size // max(a.shape[0], 1)
    shape = np.broadcast_shapes(*(tuple(index.shape) for index in map(_indices_of, several)))
    places = cuda.to_device(np.zeros(shape, np.int64))
    flat, one = places.reshape(places.size), cuda.device_array(shape, np.int64)
    for axis, index in enumerate(several):
        one[...] = index
        if flat.size:
            _along_axis()(flat.size, flat, one.reshape(flat.size), a.shape[axis], axis)
    return places, shape, a.size, 1


def _places_of_any(a, indices):
    """Masks, arrays beside slices, and the like: where elements' numbers go if they are indexed so."""
    numbers = cuda.device_array(a.size, np.int64)
    if a.size:
        _device_array_kernels.count_up(a.size, numbers)
    places = numbers.reshape(a.shape)[indices]
    return (places if places.is_c_contiguous() else places.copy()), places.shape, a.size, 1


def _indices_of(index):
    return cuda.as_cuda_array(index) if cuda.is_cuda_array(index) else np.asarray(index)


#: Ufuncs and the atomics that do the same.
_ATOMICS = {"add": "add", "subtract": "sub", "maximum": "max", "minimum": "min", "fmax": "nanmax", "fmin": "nanmin",
            "bitwise_and": "and_", "bitwise_or": "or_", "bitwise_xor": "xor"}

#: Those of them for which it is one whether an operand is cast to the array's dtype, or the result.
_CASTS_FIRST = {"add", "subtract", "bitwise_and", "bitwise_or", "bitwise_xor"}

_scatters: dict[str, Any] = {}


def _atomic(name):
    if name in _ATOMICS and name not in _scatters:
        _scatters[name] = _make_scatter(getattr(cuda.atomic, _ATOMICS[name]))
    return _scatters.get(name)


def _make_scatter(update):
    @lw.forall(errors="defer")
    def scatter(i, a, n_rows, block, rows, values):
        row = np.int64(rows[i // block])
        if row < 0:
            row += n_rows
        if row < 0 or row >= n_rows:
            raise IndexError(f"index {np.int64(rows[i // block])} is out of bounds for axis 0 with size {n_rows}")
        update(a, row * block + i % block, values[i])

    return scatter


def _along_axis():
    if "along_axis" not in _scatters:
        @lw.forall(errors="defer")
        def along_axis(i, flat, index, size, axis):
            at = index[i]
            if at < 0:
                at += size
            if at < 0 or at >= size:
                raise IndexError(f"index {index[i]} is out of bounds for axis {axis}")
            flat[i] = flat[i] * size + at

        _scatters["along_axis"] = along_axis
    return _scatters["along_axis"]
