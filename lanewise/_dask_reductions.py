"""Reductions and scans of Dask arrays: blocks become accumulators, which are merged in their order in a tree of Dask's.

Which elements come together follows from the chunks alone, and so do the bits. An empty block has no accumulator: its
part is empty along the axes that are reduced, so that an operator needs no identity for it. `initial=` is combined once,
where the last accumulators are finished.
"""

from __future__ import annotations

import functools
import linecache
import math
import weakref
from typing import Any

import dask.array as da
import numpy as np
from dask.array.core import unify_chunks

import lanewise as lw
from lanewise import _partials
from lanewise._dask import Shipped, as_dask, axes_of, empty_meta, is_known, name_of, refuse_keywords, refuse_out

# ---- blocks ----


def _block(r, *blocks, axis, converted, n, masked, offsets):
    """The accumulators of a block. blocks: n operands, the mask, and where each reduced axis of the block begins."""
    operands = [_partials.as_array(x, f"a block of argument {i + 1}") for i, x in enumerate(blocks[:n])]
    shape = np.broadcast_shapes(*(x.shape for x in operands))
    dtypes = tuple(x.dtype for x in operands)
    record = _partials.record_of(_partials.stage_of(r, "partial", dtypes, converted)[1], dtypes, converted)
    if 0 in [shape[one] for one in axis]:
        return np.empty([min(size, 1) if i in axis else size for i, size in enumerate(shape)], record)
    if offsets is not None:
        begins = [int(one.reshape(-1)[0]) for one in blocks[len(blocks) - len(offsets):]]
        operands.append(_offset_of(shape, axis, begins, offsets))
        r = _with_offset(r, n)
    where = blocks[n] if masked else True
    made = _partials.partial(r, *operands, axis=axis, dtype=converted, keepdims=True, where=where)
    return made if made.dtype == record else _partials.packed(tuple(made[name] for name in record.names), record)


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


_shifted: Any = weakref.WeakKeyDictionary()  # by Reduction: map's function, and the Reduction with an offset


def _with_offset(r, n):
    """The same reduction, of one array more: what is added to the index."""
    known = _shifted.get(r)
    if known is None or known[0] is not r.map:
        keywords = {key: value for key, value in r._state()["options"].items() if key not in ("map", "source")}
        _shifted[r] = known = r.map, lw.reduce(r.py_func, map=_map_with_offset(r.map, n), **keywords)
    return known[1]


def _map_with_offset(element, n):
    names = ", ".join(f"x{i}" for i in range(n))
    text = f"def map_with_offset({names}, offset, index):\n    return element({names}, int(index + offset))\n"
    filename = f"<lanewise map with an offset, {n}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    scope = {"element": element}
    exec(compile(text, filename, "exec"), scope)
    return scope["map_with_offset"]


def _merge(r, p, axis, keepdims):
    """Accumulators merged along the axes; nothing stays nothing."""
    if 0 in [p.shape[one] for one in axis]:
        return np.empty([min(size, 1) if i in axis else size for i, size in enumerate(p.shape)], p.dtype)
    if all(p.shape[one] == 1 for one in axis):
        return p
    return _partials.merged(r, p, axis, keepdims=True)


def _itself(p, axis, keepdims):
    return p


def _finish(r, p, axis, keepdims, initial, which):
    result = _partials.finished(r, p, axis, keepdims=keepdims, **initial)
    for i in which:
        result = result[i]
    return result


# ---- trees ----


def _tree(r, parts, axis, split_every):
    """Parts merged until there is one of each result along the axes."""
    if all(parts.numblocks[one] == 1 for one in axis):
        return parts
    merge, name = Shipped(r, _merge), name_of(r)
    return da.reduction(parts, chunk=_itself, combine=merge, aggregate=merge, axis=axis, keepdims=True, dtype=parts.dtype, meta=parts._meta,
                        split_every=split_every, name=name, concatenate=True)


class _Call:
    """The operands of a call: unified chunks, one index for each dimension."""

    def __init__(self, r, arrays, where, method):
        if not arrays:
            raise TypeError(f"{name_of(r)}: {method} takes at least one array")
        self.r, self.n = r, len(arrays)
        operands = [as_dask(x, f"argument {i + 1}") for i, x in enumerate(arrays)]
        self.ndim = max(x.ndim for x in operands)
        self.dtypes = tuple(x.dtype.newbyteorder("=") for x in operands)
        self.masked = where is not True and where is not None and where is not np._NoValue
        if self.masked:
            mask = as_dask(where, "where=")
            if mask.ndim > self.ndim:
                raise ValueError(f"where= of shape {mask.shape} cannot be broadcast to {operands[0].shape}")
            operands.append(mask if mask.dtype == np.bool_ else mask.astype(np.bool_))
        pairs = [one for x in operands for one in (x, tuple(range(self.ndim - x.ndim, self.ndim)))]
        sizes, self.operands = unify_chunks(*pairs)
        self.chunks = tuple(sizes[i] for i in range(self.ndim))
        self.indices = pairs[1::2]

    def staged(self, stage, dtype):
        return _partials.stage_of(self.r, stage, self.dtypes, dtype)

    def parts(self, axis, whole_axes, dtype, indexed):
        """An array of accumulators, one block for each of the operands'. axis: what blocks are reduced along."""
        numbers = self.staged("partial", dtype)[1]
        pairs = [one for x, index in zip(self.operands, self.indices) for one in (x, index)]
        offsets = None
        if indexed:
            offsets = self._strides(whole_axes)
            for one in whole_axes:
                pairs += [_begins(self.chunks[one]), (one,)]
        record = _partials.record_of(numbers, self.dtypes, dtype)
        return da.blockwise(Shipped(self.r, _block), tuple(range(self.ndim)), *pairs, axis=axis, converted=dtype, n=self.n,
                            masked=self.masked, offsets=offsets, meta=np.empty((0,) * self.ndim, record), adjust_chunks=dict.fromkeys(axis, 1),
                            align_arrays=False, token=name_of(self.r) + "_partial")

    def _strides(self, axes):
        sizes = {one: sum(self.chunks[one]) for one in axes}
        if any(np.isnan(size) for size in sizes.values()):
            raise ValueError(f"{name_of(self.r)}: map takes the element's index, but the sizes of the chunks are not known: call x.compute_chunk_sizes() first")
        return tuple((one, math.prod(sizes[other] for other in axes if other > one)) for one in axes)


def _begins(sizes):
    """Where each block along an axis begins, as an array with one block for each."""
    return da.from_array(np.concatenate(([0], np.cumsum(sizes[:-1]))).astype(np.int64), chunks=1)


# ---- calls ----


def reduce(r, *arrays, axis=None, dtype=None, out=None, keepdims=False, initial=..., init=..., where=True, stream=0, split_every=None, **more):
    """A Dask array, or a tuple of them, of the results."""
    refuse_out(name_of(r), out)
    refuse_keywords(name_of(r), more)
    if init is not ...:
        initial = init
    call = _Call(r, arrays, where, "a reduction")
    axes = axes_of(axis, call.ndim)
    _, _, commutes, indexed, results, has_identity = call.staged("partial", dtype)
    if not has_identity and not _partials._initial(initial):
        _check_elements(r, call, axes)
    if commutes or all(len(call.chunks[one]) == 1 for one in axes[1:]):
        merged = _tree(r, call.parts(axes, axes, dtype, indexed), axes, split_every)
    else:
        merged = _in_order(r, call, axes, dtype, indexed, split_every)
    return _finished(r, merged, axes, bool(keepdims), _partials._initial(initial), results)


def _in_order(r, call, axes, dtype, indexed, split_every):
    """An operator that needs the order of elements, and several blocks along more than the first axis: one axis after
    the other, the last first, so that what is merged is always what comes next."""
    merged = _tree(r, call.parts(axes[-1:], axes, dtype, indexed), axes[-1:], split_every)
    for one in reversed(axes[:-1]):
        index = tuple(range(call.ndim))
        merged = da.blockwise(Shipped(r, _merge), index, merged, index, axis=(one,), keepdims=True, meta=merged._meta,
                              adjust_chunks={one: 1}, token=name_of(r) + "_partial")
        merged = _tree(r, merged, (one,), split_every)
    return merged


def _check_elements(r, call, axes):
    """Of an operator without an identity: the errors of the whole array, at once where the sizes are known."""
    name = name_of(r)
    if call.masked:
        raise ValueError(f"reduction operation '{name}' does not have an identity, so to use a where mask one has to specify 'initial' (or identity=)")
    if is_known(*call.operands) and any(sum(call.chunks[one]) == 0 for one in axes):
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")


def _finished(r, merged, axes, keepdims, initial, results):
    index = tuple(range(merged.ndim))
    kept = index if keepdims else tuple(i for i in index if i not in axes)

    def give(dtype, which):
        if isinstance(dtype, tuple):
            return tuple(give(one, (*which, i)) for i, one in enumerate(dtype))
        return da.blockwise(Shipped(r, _finish), kept, merged, index, axis=axes, keepdims=keepdims, initial=initial, which=which,
                            concatenate=True, meta=empty_meta(None, len(kept), dtype), token=name_of(r))

    return give(results, ())
