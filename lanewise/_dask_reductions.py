"""Reductions and scans of Dask arrays: blocks become accumulators, which are merged in their order in a tree of Dask's.

Which elements come together follows from the chunks alone, and so do the bits. An empty block has no accumulator: its
part is empty along the axes that are reduced, so that an operator needs no identity for it. `initial=` is combined once,
where the last accumulators are finished.
"""

from __future__ import annotations

import functools
import itertools
import math

import dask
import dask.array as da
import numpy as np
from dask.array.core import unify_chunks
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from lanewise import _objects, _partials, _topk
from lanewise._containers import refuse_axis
from lanewise._reduce import n_arrays
from lanewise._weak import strengthened
from lanewise._dask import Shipped, as_dask, as_mask, axes_of, blocks_of, bounds_of, called, check_dtypes, check_shapes, empty_meta, is_host, is_known, is_object, name_of, refuse_keywords, refuse_out, refuse_stream

# ---- blocks ----


def _block(r, *blocks, axis, converted, of, masked, offsets):
    """The accumulators of a block. blocks: n operands, the mask, and where each reduced axis of the block begins."""
    n = len(of)
    operands = _operands(blocks[:n], of)
    shape = np.broadcast_shapes(*(x.shape for x in operands))
    record = _partials.record_of(_partials.stage_of(r, "partial", of, converted)[1], of, converted)
    full = _partials.with_selected(record) if masked else record
    if 0 in [shape[one] for one in axis]:
        return _partials.new_like(operands[0], [min(size, 1) if i in axis else size for i, size in enumerate(shape)], full)
    if offsets is not None:
        begins = [_begin_of(one) for one in blocks[len(blocks) - len(offsets):]]
        operands.append(_partials.where_lies(operands[0], _offset_of(shape, axis, begins, offsets)))
        r = _partials.with_offset(r, n)
    where = blocks[n] if masked else True
    made = _partials.taken(r, *operands, axis=axis, dtype=converted, keepdims=True, where=where)
    if made.dtype == full:
        return made
    some = (_partials.any_selected(where, shape, axis, True),) if masked else ()
    return _partials.packed((*(made[name] for name in record.names), *some), full)


def _begin_of(bounds):
    """Where a block begins, of the bounds_of() its axis."""
    return int(bounds.reshape(-1)["begin"][0])


def _operands(blocks, dtypes):
    operands = [_partials.as_array(x, f"a block of argument {i + 1}") for i, x in enumerate(blocks)]
    check_dtypes(operands, dtypes)
    return operands


def _offset_of(shape, axis, begins, offsets):
    """What is added to the index in a block for that in the whole array; the same along the last axis that is reduced.
    begins: by reduced axis of the whole array, where the block begins. offsets: (axis, stride) of each of these."""
    last, total = axis[-1], 0
    local = {one: math.prod(shape[other] for other in axis if other > one) for one in axis}
    for (one, stride), begin in zip(offsets, begins):
        total = total + begin * stride
        if one != last:
            steps = [1] * len(shape)
            steps[one] = shape[one]
            total = total + (np.arange(shape[one]) * (stride - local.get(one, 0))).reshape(steps)
    return np.asarray(total, np.int64)


def _merge(r, p, axis, keepdims):
    """Accumulators merged along the axes; nothing stays nothing."""
    if 0 in [p.shape[one] for one in axis]:
        return _partials.new_like(p, [min(size, 1) if i in axis else size for i, size in enumerate(p.shape)], p.dtype)
    if all(p.shape[one] == 1 for one in axis):
        return p
    return _partials.merged(r, p, axis, keepdims=True)


def _itself(p, axis, keepdims):
    return p


def _finish(r, p, axis, keepdims, initial):
    return _partials.finished(r, p, axis, keepdims=keepdims, **initial)


# ---- trees ----


def _tree(shipped, parts, axis, split_every):
    """Parts merged until there is one of each result along the axes."""
    if all(parts.numblocks[one] == 1 for one in axis):
        return parts
    merge, name = shipped.calls(_merge), shipped.__name__
    return da.reduction(parts, chunk=_itself, combine=merge, aggregate=merge, axis=axis, keepdims=True, dtype=parts.dtype, meta=parts._meta,
                        split_every=_merged_at_once(parts, split_every), name=name, concatenate=True)


_AT_ONCE, _FEW_BYTES = 16, 4096


def _merged_at_once(parts, split_every):
    """How many blocks' accumulators a task merges, unless the call or Dask's setting says it: of small ones more than Dask's four, for
    then there are fewer tasks, and a task costs Dask more than their merging."""
    if split_every is None and math.prod(map(max, parts.chunks)) * parts.dtype.itemsize <= _FEW_BYTES:  # False of sizes that are NaN
        return dask.config.get("split_every", _AT_ONCE)
    return split_every


class _Call:
    """The operands of a call: unified chunks, one index for each dimension."""

    def __init__(self, r, arrays, where, method, dtype):
        if not arrays:
            raise TypeError(f"{called(r)}: {method} takes at least one array")
        self.r, self.n = r, len(arrays)
        self.shipped = Shipped(r)
        self.shipped.__dask_tokenize__()  # once for all tasks
        refuse_axis(r, arrays)
        for i, x in enumerate(arrays):
            _refuse_objects(r, i, x)
        operands = [as_dask(x, f"argument {i + 1}") for i, x in enumerate(strengthened(arrays, dtype))]
        self.ndim = max(x.ndim for x in operands)
        self.dtypes = tuple(x.dtype.newbyteorder("=") for x in operands)
        self.masked = where is not True and where is not None and where is not np._NoValue
        if self.masked:
            mask = as_mask(where)
            if mask.ndim > self.ndim:
                raise ValueError(f"where= of shape {mask.shape} cannot be broadcast to {operands[0].shape}")
            operands.append(mask)
        check_shapes([x.shape for x in operands])
        pairs = [one for x in operands for one in (x, tuple(range(self.ndim - x.ndim, self.ndim)))]
        sizes, self.operands = unify_chunks(*pairs)
        self.chunks = tuple(sizes[i] for i in range(self.ndim))
        self.indices = pairs[1::2]
        #: Whose type the blocks of results have: a device array, where there is one.
        self.like = next((x for x in operands if not is_host(x._meta)), operands[0])

    def staged(self, stage, dtype):
        return _partials.stage_of(self.r, stage, self.dtypes, dtype)

    def parts(self, axis, whole_axes, dtype, indexed):
        """An array of accumulators, one block for each of the operands'. axis: what blocks are reduced along."""
        numbers = self.staged("partial", dtype)[1]
        pairs = [one for x, index in zip(self.operands, self.indices) for one in (x, index)]
        offsets = None
        if indexed and whole_axes:
            offsets = self._strides(whole_axes)
            for one in whole_axes:
                pairs += [bounds_of(self.chunks[one]), (one,)]
        record = _partials.record_of(numbers, self.dtypes, dtype)
        if self.masked:
            record = _partials.with_selected(record)
        return da.blockwise(self.shipped.calls(_block), tuple(range(self.ndim)), *pairs, axis=axis, converted=dtype, of=self.dtypes,
                            masked=self.masked, offsets=offsets, meta=empty_meta(self.like, self.ndim, record), adjust_chunks=dict.fromkeys(axis, 1),
                            align_arrays=False, token=name_of(self.r) + "_partial")

    def _strides(self, axes):
        sizes = {one: sum(self.chunks[one]) for one in axes}
        if any(np.isnan(size) for size in sizes.values()):
            raise ValueError(f"{called(self.r)}: map takes the element's index, but the sizes of the chunks are not known: call x.compute_chunk_sizes() first")
        return tuple((one, math.prod(sizes[other] for other in axes if other > one)) for one in axes)


def _refuse_objects(r, i, x):
    """Accumulators of Dask arrays are numbers."""
    of = None if isinstance(x, (int, float, complex, np.number)) else _objects._class(x)
    if of is None and is_object(x):
        of = type(x)
    if of is not None:
        raise TypeError(f"{called(r)}: argument {i + 1} is {'an array of objects' if hasattr(x, 'dtype') else 'an object'} of class `{of.__name__}`, which reductions of Dask arrays do not "
                        f"take: let map capture the object, or pass its fields")


# ---- calls ----


def reduce(r, *arrays, axis=None, dtype=None, out=None, keepdims=False, initial=..., init=..., where=True, stream=0, split_every=None, **more):
    """A Dask array, or a tuple of them, of the results."""
    refuse_out(called(r), out)
    refuse_keywords(called(r), more)
    refuse_stream(called(r), stream)
    if init is not ...:
        initial = init
    call = _Call(r, arrays, where, "a reduction", dtype)
    axes = axes_of(axis, call.ndim)
    _, _, commutes, indexed, results, has_identity, _ = call.staged("partial", dtype)
    if not has_identity and not _partials._initial(initial):
        _check_elements(r, call, axes)
    if commutes or all(len(call.chunks[one]) == 1 for one in axes[1:]):
        merged = _tree(call.shipped, call.parts(axes, axes, dtype, indexed), axes, split_every)
    else:
        merged = _in_order(r, call, axes, dtype, indexed, split_every)
    return _finished(call, merged, axes, bool(keepdims), _partials._initial(initial), results)


def _in_order(r, call, axes, dtype, indexed, split_every):
    """An operator that needs the order of elements, and several blocks along more than the first axis: one axis after
    the other, the last first, so that what is merged is always what comes next."""
    merged = _tree(call.shipped, call.parts(axes[-1:], axes, dtype, indexed), axes[-1:], split_every)
    for one in reversed(axes[:-1]):
        index = tuple(range(call.ndim))
        merged = da.blockwise(call.shipped.calls(_merge), index, merged, index, axis=(one,), keepdims=True, meta=merged._meta,
                              adjust_chunks={one: 1}, token=name_of(r) + "_partial")
        merged = _tree(call.shipped, merged, (one,), split_every)
    return merged


def _check_elements(r, call, axes):
    """Of an operator without an identity: the errors of the whole array, at once where the sizes are known."""
    name = r.py_func.__name__.lstrip("_")
    if call.masked:
        raise ValueError(f"reduction operation '{name}' does not have an identity, so to use a where mask one has to specify 'initial' (or identity=)")
    if is_known(*call.operands) and any(sum(call.chunks[one]) == 0 for one in axes):
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")


def _finished(call, merged, axes, keepdims, initial, results):
    shipped, index = call.shipped, tuple(range(merged.ndim))
    kept = index if keepdims else tuple(i for i in index if i not in axes)
    return blocks_of(shipped.calls(_finish), kept, (merged, index), results, call.like, axis=axes, keepdims=keepdims, initial=initial,
                     concatenate=True, token=shipped.__name__)


# ---- scans ----


def accumulate(r, *arrays, axis=0, exclusive=False, dtype=None, out=None, initial=..., stream=0, **more):
    """A Dask array, or a tuple of them, of the results on the way: the blocks' totals first, then what comes before each
    block, then the blocks."""
    refuse_out(f"{called(r)}.accumulate", out)
    refuse_keywords(f"{called(r)}.accumulate", more)
    refuse_stream(f"{called(r)}.accumulate", stream)
    n = n_arrays(r) or 1
    arrays, (axis, exclusive) = arrays[:n], (*arrays[n:], *(axis, exclusive)[len(arrays[n:]):])[:2]
    call = _Call(r, arrays, True, "accumulate", dtype)
    axis = _scan_axis(axis, call.ndim)
    _, _, _, indexed, results, *_ = call.staged("partial", dtype)
    parts = call.parts((axis,), (axis,), dtype, indexed)
    before = _before(call.shipped, parts, axis, _partials._initial(initial))
    index = tuple(range(call.ndim))
    pairs = [before, index, *(one for x, own in zip(call.operands, call.indices) for one in (x, own))]
    if indexed:
        call._strides((axis,))
        pairs += [bounds_of(call.chunks[axis]), (axis,)]
    return blocks_of(call.shipped.calls(_scan), index, pairs, results, call.like, axis=axis, exclusive=bool(exclusive), converted=dtype, of=call.dtypes,
                     adjust_chunks={axis: call.chunks[axis]}, token=name_of(r) + "_accumulate")


def _scan_axis(axis, ndim):
    if ndim == 0:
        raise TypeError("cannot accumulate on a scalar")
    axes = axes_of(axis, ndim)
    if len(axes) != 1:
        raise ValueError("accumulate does not allow multiple axes")
    return axes[0]


def _before(shipped, parts, axis, initial):
    """The accumulators of all that comes before each block along the axis; nothing before the first without initial=."""
    name = f"{shipped.__name__}_before-{tokenize(shipped, parts, axis, initial)}"
    begin, append = shipped.calls(_begin_scan), shipped.calls(_append)
    tasks = {}
    for place in itertools.product(*map(range, parts.numblocks)):
        at = place[axis]
        key, last = (name, *place), (*place[:axis], at - 1, *place[axis + 1 :])
        tasks[key] = (append, (name, *last), (parts.name, *last), axis) if at else (begin, (parts.name, *place), axis, initial)
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[parts])
    return da.Array(graph, name, parts.chunks, meta=parts._meta)


def _begin_scan(r, part, axis, initial):
    shape = list(part.shape)
    shape[axis] = 0
    nothing = _partials.new_like(part, shape, part.dtype)
    return _partials.merged(r, nothing, axis, keepdims=True, **initial) if initial else nothing


def _append(r, before, part, axis):
    return _merge(r, np.concatenate([before, part], axis), (axis,), True)


def _scan(r, before, *blocks, axis, exclusive, converted, of):
    """Results on the way in a block. blocks: n operands, and where the block begins if map takes the index."""
    n = len(of)
    operands = _operands(blocks[:n], of)
    if before.shape[axis] == 0:
        return r.accumulate(*operands, axis=axis, exclusive=exclusive, dtype=converted)
    shape = np.broadcast_shapes(*(x.shape for x in operands))
    if len(shape) == 1 and len(before.dtype) == 1 and len(blocks) == n:
        return r.accumulate(*operands, axis=axis, exclusive=exclusive, dtype=converted, initial=before["f0"][0])
    elements = [x[np.newaxis] for x in operands]
    if len(blocks) > n:
        places = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
        elements.append(_partials.where_lies(operands[0], places[np.newaxis] + _begin_of(blocks[n])))
    made = _partials.taken(_partials.with_offset(r, n) if len(blocks) > n else r, *elements, axis=0, dtype=converted)
    joined = _partials.new_like(made, (*shape[:axis], shape[axis] + 1, *shape[axis + 1 :]), before.dtype)
    first, rest = (tuple(part if i == axis else slice(None) for i in range(len(shape))) for part in (slice(1), slice(1, None)))
    for name in joined.dtype.names:
        joined[name][first], joined[name][rest] = before[name], made[name]
    results = _partials.scanned(r, joined, axis)
    part = tuple((slice(-1) if exclusive else slice(1, None)) if i == axis else slice(None) for i in range(len(shape)))
    return _cut(results, part)


def _cut(results, part):
    return tuple(_cut(one, part) for one in results) if isinstance(results, tuple) else results[part]


# ---- the largest and the smallest ----


def top(name, x, k, axis, split_every):
    """topk and argtopk: records of the best elements of each block and their indices, from which merged ones are chosen."""
    x = as_dask(x, "argument 1")
    indexed = name == "argtopk"
    size = sum(x.chunks[axis])
    if indexed and np.isnan(size):
        raise ValueError("argtopk: the sizes of the chunks are not known: call x.compute_chunk_sizes() first")
    index, best = tuple(range(x.ndim)), size if np.isnan(size) else min(abs(k), size)
    record = np.dtype([("value", x.dtype.newbyteorder("=")), *([("index", np.int64)] if indexed else ())], align=True)
    pairs = [bounds_of(x.chunks[axis]), (axis,)] if indexed else []
    sizes = tuple(one if np.isnan(one) else min(abs(k), one) for one in x.chunks[axis])
    parts = da.blockwise(_best_of_block, index, x, index, *pairs, k=k, axis=axis, of=record["value"], record=record, meta=empty_meta(x, x.ndim, record),
                         adjust_chunks={axis: sizes}, align_arrays=False, token=f"{name}_partial")
    if len(sizes) > 1:
        merge, split_every = functools.partial(_best_of_parts, k=k), _merged_at_once(parts, split_every)
        parts = da.reduction(parts, chunk=_itself, combine=merge, aggregate=merge, axis=(axis,), keepdims=True, dtype=record, meta=parts._meta,
                             split_every=split_every, name=name, concatenate=True, output_size=best)
    field = "index" if indexed else "value"
    dtype = x.dtype if field == "value" else record[field]
    return blocks_of(_field_of, index, (parts, index), dtype, x, field=field, given=dtype, token=name)


def _best_of_block(block, *bounds, k, axis, of, record):
    (block,) = _operands([block], (of,))
    values, places = _topk.both(block, k, axis)
    made = _partials.new_like(block, places.shape, record)
    made["value"] = values
    if bounds:
        made["index"] = places + _begin_of(bounds[0])
    return made


def _best_of_parts(parts, axis, keepdims, k):
    """Blocks are in their order, so that of equal elements the one with the lower index stands first here, too."""
    axis = axis[0]
    places = _topk.places(parts["value"], k, axis)
    made = _partials.new_like(parts, places.shape, parts.dtype)
    for name in parts.dtype.names:
        made[name] = np.take_along_axis(parts[name], places, axis)
    return made


def _field_of(parts, field, given):
    """A copy, with the order of bytes of what was given."""
    return parts[field].copy() if given.isnative else parts[field].astype(given)
