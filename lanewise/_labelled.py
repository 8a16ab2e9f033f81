"""Labelled arrays of xarray (DataArrays) as operands of reductions, scans and `map_blocks`: their elements are computed with, lazily if
they are Dask's, and the results have their dimensions and coordinates, as xarray gives them to the results of its own methods.

An axis has the number that it has in the first array; several arrays are aligned and broadcast by the names of their dimensions, as in
xarray's arithmetic. xarray itself calls ufuncs, by its `__array_ufunc__`; of gufuncs and of the methods of ufuncs, for which it needs to
be told the dimensions, the errors here say how.
"""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np

from lanewise._containers import refuse_axis, refuse_loss
from lanewise._reduce import n_arrays
from lanewise._weak import strengthened


def is_labelled(x: Any) -> bool:
    """Is it a DataArray? Without importing xarray."""
    return type(x).__name__ == "DataArray" and type(x).__module__.startswith("xarray.")


def _xarray() -> Any:
    return sys.modules["xarray"]


def _name_of(r: Any) -> str:
    return getattr(r, "__name__", "a reduction")


# ---- operands ----


def _aligned(name: str, arrays: Any, dtype: Any = None) -> list[Any]:
    """The arrays with the same dimensions, in the order of the first labelled one. dtype: what the call says to compute in."""
    for i, x in enumerate(arrays):
        refuse_loss(f"{name}: argument {i + 1}", x, labels=False)  # missing values
    for i, x in enumerate(arrays):
        if not is_labelled(x) and np.ndim(x) > 0:
            raise TypeError(f"{name}: argument {i + 1} is {type(x).__name__}, whose dimensions have no names, beside an xarray DataArray: "
                            f"pass xarray.DataArray(x, dims=...), or x.data of the others")
    xr = _xarray()
    arrays = [x if is_labelled(x) else xr.DataArray(x) for x in strengthened(arrays, dtype)]
    if len({x.dims for x in arrays}) == 1 and len(arrays) == 1:
        return arrays
    return list(xr.broadcast(*xr.align(*arrays, join=xr.get_options()["arithmetic_join"])))


def _numbers(axis: Any) -> Any:
    """axis= as ints; TypeError for names of dimensions."""
    if axis is None:
        return None
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    for one in axes:
        if isinstance(one, (bool, np.bool_)) or not hasattr(one, "__index__"):
            raise TypeError(f"axis= must be an int or a tuple of ints, not {axis!r:.200}; x.reduce(f, dim={axis!r:.100}) takes the names of dimensions")
    return tuple(map(operator.index, axes)) if isinstance(axis, (tuple, list)) else operator.index(axis)


def _refuse_out(name: str, out: Any) -> None:
    if out is not None:
        raise TypeError(f"{name}: out= cannot be given with xarray objects: use the result of the call")


def _of_each(results: Any, function: Any) -> Any:
    return tuple(_of_each(one, function) for one in results) if isinstance(results, tuple) else function(results)


def _first(results: Any) -> Any:
    return _first(results[0]) if isinstance(results, tuple) else results


# ---- reductions and scans ----


def reduce(r: Any, *arrays: Any, axis: Any = None, keepdims: Any = False, where: Any = True, out: Any = None, **given: Any) -> Any:
    """r(*arrays, ...)"""
    name = _name_of(r)
    _refuse_out(name, out)
    axis = _numbers(axis)
    refuse_axis(r, arrays)
    masked = is_labelled(where)
    whole, *others = _aligned(name, (*arrays, where) if masked else arrays, given.get("dtype"))
    if masked:
        where = others.pop().data
    if where is not True and where is not None:
        given["where"] = where
    if axis == ():
        axis = None if whole.ndim == 0 else ()
    axes = tuple(range(whole.ndim)) if axis is None else tuple(np.lib.array_utils.normalize_axis_tuple(axis, whole.ndim))
    results = r(whole.data, *(x.data for x in others), axis=axis, **given)
    if axes:
        template = whole.reduce(lambda *_, **__: _first(results), axis=None if axis is None else axes, keepdims=bool(keepdims))
    else:
        template = whole.copy(data=_first(results))
    kept: Any = tuple(np.newaxis if keepdims and i in axes else slice(None) for i in range(whole.ndim) if keepdims or i not in axes)
    return _of_each(results, lambda one: template.copy(data=np.asarray(one)[kept] if isinstance(one, np.generic) else one[kept]))


def accumulate(r: Any, *arrays: Any, axis: Any = ..., out: Any = None, **given: Any) -> Any:
    """r.accumulate(*arrays, ...)"""
    name = f"{_name_of(r)}.accumulate"
    _refuse_out(name, out)
    n = n_arrays(r) or next((i for i, x in enumerate(arrays) if not (is_labelled(x) or np.ndim(x))), len(arrays))
    arrays, behind = arrays[:n], list(arrays[n:])  # axis and exclusive may come by position, behind the arrays
    if behind and axis is not ...:
        raise TypeError(f"{name} takes {n} array{'s' * (n > 1)}, and got axis= twice: as argument {n + 1}, {behind[0]!r:.200}, and as axis={axis!r:.200}")
    axis = _numbers(behind.pop(0) if behind else 0 if axis is ... else axis)
    whole, *others = _aligned(name, arrays, given.get("dtype"))
    results = r.accumulate(whole.data, *(x.data for x in others), axis, *behind, **given)
    return _of_each(results, lambda one: whole.copy(data=one))


#: Scans of lanewise.reductions; and those whose results have other elements along the axis than the array.
_SCANS = frozenset(("running_maximum", "affine_scan", "segmented_sum", "nancumsum", "nancumprod"))
_PARTS = frozenset(("topk", "argtopk"))


def call(function: Any, arguments: dict[str, Any]) -> Any:
    """A function of lanewise.reductions with these arguments, those that are arrays first: of their elements."""
    name, given = function.__name__, dict(arguments)
    if name in _SCANS or name in _PARTS:
        given.pop("progress")
    parameters = list(given)
    arrays = [given.pop(one) for one in parameters[: parameters.index("k" if name in _PARTS else "axis")]]
    if name in _PARTS:
        return _top(function, *arrays, **given)
    if name not in _SCANS:
        return reduce(function, *arrays, **given)
    _refuse_out(name, given.pop("out"))
    whole, *others = _aligned(name, arrays)
    axis = _numbers(given.pop("axis"))
    if axis is None and whole.ndim != 1:
        raise TypeError(f"{name}: argument 1 is an xarray DataArray of {whole.ndim} dimensions, whose elements have no order without axis=")
    result = function(whole.data, *(x.data for x in others), axis=0 if axis is None else axis, **given)
    return whole.copy(data=result)


def _top(function: Any, x: Any, k: Any, axis: Any, split_every: Any) -> Any:
    """topk and argtopk: the coordinates along the axis belong to other elements, and are dropped."""
    axis = _numbers(axis)
    result = function(x.data, k, axis, split_every)
    dim = x.dims[axis]
    coords = {name: one for name, one in x.coords.items() if dim not in one.dims}
    return _xarray().DataArray(result, dims=x.dims, coords=coords, name=x.name)


# ---- ufuncs ----


def array_ufunc(x: Any, ufunc: Any, method: str, /, *inputs: Any, **kwargs: Any) -> Any:
    """What `x.__array_ufunc__` is asked for a ufunc or gufunc of lanewise: xarray's answer, or how to call what it does not know."""
    name = ufunc.__name__
    if method != "__call__":
        way = {"reduce": f"x.reduce({name}.reduce, dim=...)", "accumulate": f"x.copy(data={name}.accumulate(x.data, axis))"}.get(method, f"{name}.{method}(x.data, ...)")
        raise NotImplementedError(f"{name}.{method}() does not take xarray objects: call {way}")
    if ufunc.signature is None:
        return x.__array_ufunc__(ufunc, method, *inputs, **kwargs)
    inner, outer = ([[one.rstrip("?") for one in core] for core in side] for side in _layout(ufunc.signature))
    dims = [list(one.dims[one.ndim - len(core):]) if is_labelled(one) and one.ndim >= len(core) else [] for one, core in zip(inputs, inner)]
    known = {symbol: dim for own, core in zip(dims, inner) for symbol, dim in zip(core, own)}
    made = [own if len(set(own)) == len(own) else core for core in outer for own in [[known.get(symbol, symbol) for symbol in core]]]
    raise NotImplementedError(f"{name}() does not take xarray objects, whose dimensions it does not know: call "
                              f"xarray.apply_ufunc({name}, ..., input_core_dims={dims}, output_core_dims={made}, dask='allowed')")


def _layout(signature: str) -> Any:
    """Names of the core dimensions of each operand, inputs and outputs."""
    sides = []
    for side in signature.replace(" ", "").split("->"):
        groups = [part.split(")")[0] for part in side.split("(")[1:]]
        sides.append([[name for name in group.split(",") if name] for group in groups])
    return sides


# ---- map_blocks ----


class Labels:
    """What the results of map_blocks() have of the labelled arrays among its arguments."""

    def __init__(self, name: str, arrays: Any) -> None:
        self.whole, self.name = arrays[0], name
        for x in arrays[1:]:
            try:
                _xarray().align(self.whole, x, join="exact")
            except ValueError as error:
                raise ValueError(f"{name}: the xarray objects among its arguments have different coordinates: {error}") from None

    def check(self, arrays: Any, ndim: int) -> None:
        """The space of indices is that of the first axes: they have the same names in all."""
        for x in arrays:
            if x.dims[:ndim] != self.whole.dims[:ndim]:
                raise ValueError(f"{self.name}: its {ndim} indices run over the dimensions {self.whole.dims[:ndim]} of one array, and {x.dims[:ndim]} of "
                                 f"another: pass x.transpose(...)")

    def of_results(self, made: Any, ndim: int) -> Any:
        dims = self.whole.dims[:ndim]
        coords = {name: one for name, one in self.whole.coords.items() if set(one.dims) <= set(dims)}
        return _of_each(made, lambda one: _xarray().DataArray(one, dims=dims, coords=coords, name=self.whole.name))
