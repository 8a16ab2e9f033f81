"""Accumulators of parts of arrays: `r.partial`, `r.merge` and `r.finish` of a Reduction.

An array of accumulators is an array of records, whose fields `f0`, `f1`, … are the numbers of one accumulator. What they
are accumulators of decides their types together with the functions: a count that is a Python int stays weak when it is
merged, and a sum of float16 is a float32 that becomes a float16 at the end. Records of equal fields may differ in that,
so the title of the first field says it.
"""

from __future__ import annotations

import ast
import functools
import operator
import weakref
from typing import Any

import numpy as np

import lanewise as lw
from lanewise import _profile, _texts
from lanewise._containers import refuse_loss
from lanewise._weak import strengthened


def partial(r, a, /, *more, axis=None, dtype=None, keepdims=False, where=True, offset=None):
    """The accumulators of these elements. offset: the index of the first one."""
    arrays = [as_array(x, f"argument {i + 1}") for i, x in enumerate(strengthened((a, *more), dtype))]
    *_, indexed, _, _, has_neutral = stage_of(r, "partial", tuple(x.dtype for x in arrays), dtype)
    if where is not True and where is not None and not has_neutral:
        _check_selected(r, arrays, axis, where)
    if not indexed:
        if offset is not None:
            raise TypeError(f"{_name(r)}: offset= is the index of the first element, and its map has no index")
        return taken(r, *arrays, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    if offset is None:
        raise ValueError(f"{_name(r)}: its map takes the element's index, which begins anew in each part: pass offset=, the index of the "
                         f"part's first element in the whole (0 for the first part)")
    offset = operator.index(offset)
    record = record_of(stage_of(r, "partial", tuple(x.dtype for x in arrays), dtype)[1], tuple(x.dtype for x in arrays), dtype)
    begin = where_lies(arrays[0], np.asarray(offset, np.int64))
    made = taken(with_offset(r, len(arrays)), *arrays, begin, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    return packed(tuple(made[name] for name in record.names), record)


def _check_selected(r, arrays, axis, where):
    """An operator without an identity has no accumulator of no element."""
    if not bool(np.all(any_selected(where, np.broadcast_shapes(*(x.shape for x in arrays)), axis, False))):
        raise ValueError(f"{_name(r)}: where= selects no element for one of the accumulators, and the operator has no identity: give identity= to reduce")


def any_selected(where, shape, axis, keepdims):
    """Whether a mask that is broadcast to the shape selects an element for each accumulator, wherever the mask lies."""
    mask = where if hasattr(where, "copy_to_host") else np.asarray(where)
    return lw.reductions.any(np.broadcast_to(mask, shape) if mask.shape != tuple(shape) else mask, axis=axis, keepdims=keepdims)


def _name(r):
    return f"{getattr(r, '__name__', 'a reduction')}.partial"


def on_gpu(x: Any) -> bool:
    """Whether it is a device array that does not stand for one on the CPU."""
    return hasattr(x, "copy_to_host") and not isinstance(x, np.ndarray)


def where_lies(like, array):
    """A NumPy array, where the other one lies, whichever device is current."""
    if not on_gpu(like):
        return array
    from lanewise import _placing, cuda

    with _placing.on_device_of(like):
        return cuda.to_device(array)


def taken(r, *arrays, axis=None, dtype=None, keepdims=False, where=True):
    """The accumulators of arrays that as_array() has read; an index of map begins at 0."""
    stage, numbers, *_ = stage_of(r, "partial", tuple(x.dtype for x in arrays), dtype)
    made = stage(*arrays, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    return packed(made, record_of(numbers, tuple(x.dtype for x in arrays), dtype))


def merge(r, p, /, *more):
    """The accumulators of several parts as those of one."""
    parts = [accumulators(one, "merge", i) for i, one in enumerate((p, *more))]
    for i, part in enumerate(parts):
        if part.dtype != parts[0].dtype:
            raise TypeError(f"merge(): argument {i + 1} has accumulators {_shown(part.dtype)}, argument 1 has {_shown(parts[0].dtype)}")
    shape = np.broadcast_shapes(*(part.shape for part in parts))
    if len(parts) == 1:
        return parts[0].copy()
    return merged(r, np.stack([np.broadcast_to(part, shape) for part in parts]), 0)


def finish(r, p, /, *, initial=...):
    """The results of accumulators."""
    return finished(r, accumulators(p, "finish", 0)[np.newaxis], 0, initial=initial)


# ---- where a part begins ----

_shifted: Any = weakref.WeakKeyDictionary()  # by Reduction: map's function, and the Reduction with an offset


def with_offset(r, n):
    """The same reduction, of one array more: what is added to the index."""
    known = _shifted.get(r)
    if known is None or known[0] is not r.map:
        keywords = {key: value for key, value in r._state()["options"].items() if key not in ("map", "source")}
        made = lw.reduce(r.py_func, map=_map_with_offset(r.map, n), **keywords)
        made.__name__ = _profile.name_of(r)
        _shifted[r] = known = r.map, made
    return known[1]


def _map_with_offset(element, n):
    names = ", ".join(f"x{i}" for i in range(n))
    text = f"def map_with_offset({names}, offset, index):\n    return element({names}, int(index + offset))\n"
    filename = f"<lanewise map with an offset, {n}>"
    return _texts.run(text, filename, {"element": element})["map_with_offset"]


# ---- along axes, for what is merged block by block ----


def merged(r, p, axis, keepdims=False, initial=...):
    """The accumulators of `p`, which are merged along the axes; of those marked by with_selected(), the ones with elements."""
    dtypes, dtype = _made_of(p.dtype)
    stage, numbers, *_ = stage_of(r, "merge", dtypes, dtype)
    if SELECTED not in p.dtype.names:
        return packed(stage(*_numbers(p, numbers), axis=axis, keepdims=keepdims, **_initial(initial)), p.dtype)
    some = p[SELECTED]
    made = stage(*_numbers(p, numbers), axis=axis, keepdims=keepdims, where=some, **_initial(initial))
    made = made if isinstance(made, tuple) else (made,)
    return packed((*made, lw.reductions.any(some, axis=axis, keepdims=keepdims)), p.dtype)


def finished(r, p, axis, keepdims=False, initial=...):
    """The results of the accumulators of `p`, which are merged along the axes first, as merged() does."""
    dtypes, dtype = _made_of(p.dtype)
    stage, numbers, *_ = stage_of(r, "finish", dtypes, dtype)
    masked = {"where": p[SELECTED]} if SELECTED in p.dtype.names else {}
    return _as_given(stage(*_numbers(p, numbers), axis=axis, keepdims=keepdims, **masked, **_initial(initial)), dtypes)


def scanned(r, p, axis, exclusive=False):
    """The results on the way, of accumulators of single elements."""
    dtypes, dtype = _made_of(p.dtype)
    stage, numbers, *_ = stage_of(r, "finish", dtypes, dtype)
    return _as_given(stage.accumulate(*_numbers(p, numbers), axis=axis, exclusive=exclusive), dtypes)


# ---- arrays of accumulators ----


def stage_of(r, stage, dtypes, dtype):
    """(what calls it, dtypes of an accumulator's numbers, whether elements may change places, whether map has an index, dtypes of
    results, whether there is an identity, whether there is one or a value that changes no other)"""
    return r._staged(stage, dtypes, None if dtype is None else np.dtype(dtype))


def as_array(x: Any, what: str) -> Any:
    """An array of the machine's byte order, wherever it lies."""
    from lanewise import cuda

    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{what} is a masked array, whose mask compiled code would ignore; pass its .data, and where=~x.mask")
    if cuda.is_cuda_array(x):
        return cuda.as_cuda_array(x)
    refuse_loss(what, x, labels=True)
    x = np.asanyarray(x) if hasattr(x, "copy_to_host") else np.asarray(x)
    return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))


def record_of(numbers, dtypes, dtype=None) -> np.dtype:
    """The dtype of accumulators of these numbers. dtypes: of the arrays that they are made of."""
    return _record_of(tuple(numbers), tuple(dtypes), None if dtype is None else np.dtype(dtype))


def _new_record(numbers, dtypes, dtype):
    title = "of " + repr(([_text(one) for one in dtypes], None if dtype is None else _text(dtype)))
    return np.dtype([((title, "f0"), numbers[0]), *((f"f{i}", number) for i, number in enumerate(numbers) if i)])


#: The last field of accumulators that a mask may have left without any element: whether there was one.
SELECTED = "selected"


def with_selected(record: np.dtype) -> np.dtype:
    """The dtype of accumulators that say so."""
    fields: Any = record.fields
    return np.dtype([((fields[name][2], name) if len(fields[name]) == 3 else name, fields[name][0]) for name in record.names or ()] + [(SELECTED, np.bool_)],
                    align=True)


_record_of: Any = functools.lru_cache(maxsize=1024)(_new_record)


def _text(dtype: np.dtype) -> Any:
    """What numpy.dtype makes this dtype of, as a literal."""
    if dtype.names is not None:
        return np.lib.format.dtype_to_descr(dtype)
    return dtype.str if dtype.kind in "mM" else dtype.name


def _read_record(record: np.dtype) -> Any:
    fields: Any = record.fields or {}
    title = fields["f0"][2] if len(fields.get("f0", ())) == 3 else ""
    if not title.startswith("of "):
        raise TypeError(f"expected accumulators that partial() has made, not an array of dtype {record}")
    dtypes, dtype = ast.literal_eval(title[3:])
    read = np.lib.format.descr_to_dtype
    return tuple(read(one) if isinstance(one, list) else np.dtype(one) for one in dtypes), None if dtype is None else np.dtype(dtype)


_made_of: Any = functools.lru_cache(maxsize=1024)(_read_record)


def _shown(record: np.dtype) -> str:
    dtypes, dtype = _made_of(record)
    return "of " + ", ".join(map(str, dtypes)) + ("" if dtype is None else f" as {dtype}")


def accumulators(p: Any, method: str, i: int) -> Any:
    if not hasattr(p, "dtype"):
        raise TypeError(f"{method}(): argument {i + 1} must be accumulators, as partial() makes them, not {type(p).__name__}")
    _made_of(p.dtype)
    return p if hasattr(p, "copy_to_host") else np.asarray(p)


def _numbers(p: Any, numbers: Any) -> list[Any]:
    return [p[f"f{i}"] for i in range(len(numbers))]


def packed(made: Any, record: np.dtype) -> Any:
    """The numbers of accumulators as records."""
    made = made if isinstance(made, tuple) else (made,)
    p = new_like(made[0], np.shape(made[0]), record)
    for name, number in zip(record.names or (), made):
        p[name] = number
    return p


def new_like(x: Any, shape: Any, dtype: Any) -> Any:
    """An array without contents where x lies."""
    if on_gpu(x):
        from lanewise import cuda

        return cuda.device_array(tuple(shape), dtype)
    return np.empty_like(x, dtype, shape=tuple(shape)) if hasattr(x, "copy_to_host") else np.empty(shape, dtype)


def _initial(value: Any) -> dict[str, Any]:
    return {} if value is ... or value is np._NoValue else {"initial": value}


def _as_given(result: Any, dtypes: Any) -> Any:
    """Records that are results have the dtype that came, where it has their fields."""
    if isinstance(result, tuple):
        return tuple(_as_given(one, dtypes) for one in result)
    found = getattr(result, "dtype", None)
    if found is None or found.names is None:
        return result
    for dtype in dtypes:
        if dtype.names == found.names and dtype != found and all(dtype[name] == found[name] for name in found.names):
            return result.astype(dtype)
    return result
