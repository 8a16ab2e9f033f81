"""`lanewise.map_blocks`: kernels over Dask arrays, block by block, with the results of the whole.

A function of `forall` runs for the indices of its block, which are those of the whole array, and so are the arrays that it
sees: of the whole's shape, with what the block and its halo hold at their places. The rest is memory that no one has
touched, and costs none: it reads as zero. What lies beyond the ends of an axis, as `boundary=` says it, has places, too: behind
the end, because the arrays are parts of longer ones, and for indices below 0, which count from the end, at the end. Where a
block needs these places for its own elements, it is computed in two parts, of which each needs one of both.

A kernel of `jit` counts its threads from 0, so it sees the block and its halo as they are, and its last parameter may be
`offset`, where they begin.
"""

from __future__ import annotations

import inspect
import itertools
import math
import mmap

import dask
import dask.array as da
import numpy as np
from dask.array.core import unify_chunks

import lanewise as lw
from lanewise._containers import with_library
from lanewise._labelled import Labels, is_labelled
from lanewise._dask import Shipped, blocks_of, bounds_of, called, check_dtypes, is_dask, name_of, refuse_keywords, refuse_masks, zeros_where


def map_blocks(kernel, *args, depth=0, boundary="none", dtype=None, progress=None, **named):
    """Implements lanewise.map_blocks."""
    refuse_keywords("map_blocks", {"progress": progress})
    if not isinstance(kernel, (lw.Forall, lw.Kernel, lw._core.Launcher)):
        raise TypeError(f"map_blocks() runs functions of lw.forall and lw.jit, not {type(kernel).__name__}; a ufunc, gufunc or reduction is called with the arrays")
    bound = _Bound(kernel, args, named)
    args = bound.args
    labelled = [x for x in args if is_labelled(x)]
    labels = Labels(f"map_blocks(): {called(kernel)}", labelled) if labelled else None
    args = [x.data if is_labelled(x) else x for x in args]
    arrays = [x for x in args if is_dask(x)]
    for i, x in enumerate(args):
        if not is_dask(x) and dask.is_dask_collection(x):
            raise TypeError(f"map_blocks(): argument {i + 1} of {called(kernel)} is {with_library(x)} of a lazy array, which each block would compute as a "
                            f"whole; pass {'x.data' if hasattr(x, 'data') else 'x.to_dask_array(lengths=True)'}")
    if not arrays:
        raise TypeError(f"map_blocks() needs a Dask array among its arguments: " + (f"pass x.chunk() of an xarray DataArray in memory, or call {called(kernel)} itself with x.data"
                        if labelled else f"call {called(kernel)} itself for others"))
    if labels is not None:
        labels.check(labelled, _ndim_of(kernel, arrays))
    plan = _Plan(kernel, bound, arrays)
    depth = _depths(depth, plan.ndim)
    ends = _ends(boundary, plan.ndim)
    kinds = plan.kinds(dtype)
    is_global = isinstance(kernel, lw.Forall)
    if is_global:
        _check_room(plan, depth, ends)
    whole = [da.overlap.overlap(x, dict(enumerate(depth)), dict(enumerate(ends))) if any(depth) else x for x in plan.arrays]
    sizes = plan.chunks if not any(depth) else _without_halo(whole[0].chunks[: plan.ndim], depth, ends)
    index = tuple(range(plan.ndim))
    pairs = [one for axis, own in enumerate(sizes) for one in (bounds_of(own), (axis,))]
    left = iter(whole)
    for x in args:
        x = next(left) if is_dask(x) else x
        pairs += [x, (*index, *range(plan.ndim, x.ndim))] if is_dask(x) else [x, None]
    function = _global if is_global else _local
    made = blocks_of(Shipped(kernel, function), index, pairs, kinds if len(kinds) > 1 else kinds[0], whole[0], token=name_of(kernel), shape=plan.shape,
                     depth=depth, ends=tuple(end if end in ("none", "periodic") else "other" for end in ends), kinds=kinds, adjust_chunks=dict(enumerate(sizes)), concatenate=True,
                     of=tuple(x.dtype if is_dask(x) else None for x in args), order=bound.order, **({} if is_global else {"begins": bound.takes_offset}))
    return made if labels is None else labels.of_results(made, plan.ndim)


#: What lies beyond the ends of an axis, in Dask's words; numbers are others.
_BOUNDARIES = ("none", "periodic", "reflect", "nearest")


def _ends(boundary, ndim):
    """boundary= for each axis."""
    given = ([boundary.get(axis, "none") for axis in range(ndim)] if isinstance(boundary, dict) else list(boundary) if isinstance(boundary, (tuple, list))
             else [boundary] * ndim)
    given = ["none" if one is None else one for one in given]
    if len(given) != ndim:
        raise ValueError(f"boundary= must be one for all axes, or one for each of {ndim} axes, not {boundary!r:.200}")
    for one in given:
        if not (one in _BOUNDARIES if isinstance(one, str) else isinstance(one, (bool, int, float, complex, np.generic))):
            raise ValueError(f"boundary= must be {', '.join(map(repr, _BOUNDARIES))} or a number, not {one!r:.200}")
    return tuple(given)


def _check_room(plan, depth, ends):
    """What lies before the beginning and what lies at the end have the same places in the arrays of a forall function: see _parts()."""
    for axis, (size, deep, end) in enumerate(zip(plan.shape, depth, ends)):
        if deep and end not in ("none", "periodic") and size <= 2 * deep:
            raise ValueError(f"{plan.name}: boundary={end!r} with depth={deep} needs more than {2 * deep} elements along axis {axis}, which has {size}")
        # arrays that are contiguous but for an axis of one element have the strides of contiguous ones, which have no room behind their rows
        if deep and size == 1 and any(more and beyond != "none" for more, beyond in zip(depth[axis + 1 :], ends[axis + 1 :])):
            raise ValueError(f"{plan.name}: axis {axis} has only one element, so depth={deep} cannot read neighbours along it if later axes have a "
                             f"boundary=, too: give this axis depth 0, or write x[0] for x[1] and x[-1]")


def _ndim_of(kernel, arrays):
    """How many axes the indices run over."""
    return kernel._state()["options"].get("ndim", 1) if isinstance(kernel, lw.Forall) else max(x.ndim for x in arrays)


class _Bound:
    """Which parameter is what: an argument, by position or by name; a constant, which has a default; or else an output."""

    def __init__(self, kernel, args, named):
        function = kernel.kernel.py_func if isinstance(kernel, lw._core.Launcher) else kernel.py_func
        parameters, name = inspect.signature(function).parameters, called(kernel)
        is_forall = isinstance(kernel, lw.Forall)
        self.takes_offset = not is_forall and list(parameters)[-1:] == ["offset"]
        rest = list(parameters)[_ndim_of(kernel, ()) if is_forall else 0 : len(parameters) - self.takes_offset]
        for one in named:
            if one not in rest:
                raise TypeError(f"map_blocks() got an unexpected keyword argument '{one}'; expected depth, boundary, dtype or a parameter of {name}: {', '.join(rest)}")
            if one in rest[: len(args)]:
                raise TypeError(f"map_blocks(): {name} got multiple values for argument '{one}'")
        self.args, self.outputs = list(args), []
        #: Of each parameter: ("argument", which), ("output", which) or ("constant", its value).
        self.order = ()
        for i, one in enumerate(rest):
            default = parameters[one].default
            if i < len(args):
                place = "argument", i
            elif one in named:
                place = "argument", len(self.args)
                self.args.append(named[one])
            elif default is not inspect.Parameter.empty:
                place = "constant", default
            else:
                place = "output", len(self.outputs)
                self.outputs.append(one)
            self.order += (place,)
        while self.order and self.order[-1][0] == "constant" and not self.takes_offset:  # the kernel knows them
            self.order = self.order[:-1]
        if not self.outputs or len(args) > len(rest):
            raise TypeError(f"map_blocks() makes an array for each parameter of {name} that has no argument and no default, but {len(self.args)} arguments leave none: "
                            f"its parameters are {inspect.signature(function)}; those with a default are passed by name")


def _in_order(order, args, made):
    """What a kernel is called with."""
    return [value if kind == "constant" else (args if kind == "argument" else made)[value] for kind, value in order]


class _Plan:
    """The outputs, and the space of indices: that of the Dask arrays' first axes."""

    def __init__(self, kernel, bound, arrays):
        self.name, self.outputs = called(kernel), bound.outputs
        self.ndim = _ndim_of(kernel, arrays)
        for x in arrays:
            if x.ndim < self.ndim:
                raise ValueError(f"{self.name} runs over {self.ndim} axes, but a Dask array among its arguments has {x.ndim}")
            if any(np.isnan(size) for size in x.shape):
                raise ValueError(f"{self.name}: the sizes of the chunks are not known: call x.compute_chunk_sizes() first")
            if x.shape[: self.ndim] != arrays[0].shape[: self.ndim]:
                raise ValueError(f"Dask arrays of the shapes {arrays[0].shape} and {x.shape} have no common space of indices; pass the smaller one as a NumPy array")
            for axis in range(self.ndim, x.ndim):
                if x.numblocks[axis] > 1:
                    raise ValueError(f"{self.name} runs over the first {self.ndim} axes, and axis {axis} is in {x.numblocks[axis]} chunks: pass x.rechunk({{{axis}: -1}})")
        unified = unify_chunks(*(one for k, x in enumerate(arrays) for one in (x, (*range(self.ndim), *((k, axis) for axis in range(self.ndim, x.ndim))))))[1]
        self.arrays, self.shape = unified, tuple(map(int, arrays[0].shape[: self.ndim]))
        self.chunks = unified[0].chunks[: self.ndim]

    def kinds(self, dtype):
        """The outputs' dtypes."""
        given = dtype if isinstance(dtype, (list, tuple)) else [self.arrays[0].dtype if dtype is None else dtype] * len(self.outputs)
        if len(given) != len(self.outputs):
            raise ValueError(f"dtype= has {len(given)} dtypes, but {self.name} has {len(self.outputs)} outputs: {', '.join(self.outputs)}")
        return tuple(np.dtype(one) for one in given)


def _depths(depth, ndim):
    given = [depth.get(axis, 0) for axis in range(ndim)] if isinstance(depth, dict) else list(depth) if isinstance(depth, (tuple, list)) else [depth] * ndim
    if len(given) != ndim:
        raise ValueError(f"depth= must be a number, or one for each of {ndim} axes, not {depth!r:.200}")
    for one in given:
        if isinstance(one, bool) or not hasattr(one, "__index__") or one.__index__() < 0:
            raise ValueError(f"depth= must be numbers from 0 on, not {depth!r:.200}")
    return tuple(one.__index__() for one in given)


def _without_halo(chunks, depth, ends):
    """The sizes of blocks of which these are those with their halos."""
    sizes = []
    for own, deep, end in zip(chunks, depth, ends):
        last = len(own) - 1
        sizes.append(tuple(size - deep * ((i > 0 or end != "none") + (i < last or end != "none")) for i, size in enumerate(own)))
    return tuple(sizes)


# ---- blocks ----


def _global(kernel, *values, shape, depth, ends, kinds, of, order):
    """Of forall: the indices of the whole array. ends: "none" where a halo does not reach beyond the ends of an axis, "periodic" or
    "other". of: dtypes of the arguments that are blocks, None of others."""
    blocks = values[len(shape) :]
    check_dtypes(blocks, of)
    refuse_masks(blocks, of)
    own = [tuple(one.reshape(-1)[0].tolist()) for one in values[: len(shape)]]
    halos = [_halo(*one) for one in zip(own, shape, depth, ends)]
    made = [_sparse(shape, kind, depth) for kind in kinds]
    for part in itertools.product(*map(_parts, own, shape, depth)):
        if all(begin < end for begin, end in part):
            near = [_halo(*one) for one in zip(part, shape, depth, ends)]
            cut = tuple(slice(begin - halo[0], end - halo[0]) for (begin, end), halo in zip(near, halos))
            args = [x if dtype is None else _placed(x[cut], shape, depth, near, ends) for x, dtype in zip(blocks, of)]
            space = tuple(range(*one) for one in part)
            kernel._call_with_halos(space if len(space) > 1 else space[0], *_in_order(order, args, made))
    block = tuple(slice(*one) for one in own)
    results = tuple(one[block].copy() for one in made)
    return results if len(results) > 1 else results[0]


def _halo(own, size, deep, beyond):
    begin, end = own
    return (begin - deep, end + deep) if beyond != "none" else (max(begin - deep, 0), min(end + deep, size))


def _parts(own, size, deep):
    """The indices of a block along an axis, divided so that no part reads both what lies before the beginning and the last elements,
    which have the same places: in two where the axis is long enough, else one by one."""
    begin, end = own
    if begin >= deep or end + deep <= size - deep or size <= 2 * deep:
        return [own]
    if size < 3 * deep:
        return [(i, i + 1) for i in range(begin, end)]
    middle = max(deep, min((begin + end) // 2, size - 2 * deep))
    return [(begin, middle), (middle, end)]


def _sparse(shape, dtype, more=()):
    """An array of zeros that takes memory where it is touched. more: so many elements behind the end of each axis are zeros, too,
    those of the first axis at other addresses than all elements."""
    whole = (shape[0] + 1 + sum(more), *shape[1:]) if any(more) else shape
    nbytes = math.prod(whole) * dtype.itemsize
    if nbytes < 1 << 20:
        return np.zeros(whole, dtype)[: shape[0]] if shape else np.zeros(whole, dtype)
    try:
        memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0))
    except OSError as error:
        raise MemoryError(f"no address space for an array of {nbytes} bytes, of which only a block is used: {error}") from error
    return np.frombuffer(memory, dtype).reshape(whole)[: shape[0]]


def _placed(block, shape, depth, halos, ends):
    """A part and its halo at their places in the whole."""
    if not isinstance(block, np.ndarray):
        raise TypeError(f"forall takes NumPy blocks here, not {type(block).__name__}: write a kernel of lw.jit, which sees blocks as they are")
    rest = block.shape[len(shape) :]
    sizes = [max(size, end) for size, (_, end) in zip(shape, halos)]  # with what lies behind the end
    whole = _sparse((*sizes, *rest), block.dtype, depth)
    if all(0 <= begin and end <= size for (begin, end), size in zip(halos, shape)):
        whole[tuple(slice(*one) for one in halos)] = block
    else:
        for places in itertools.product(*map(_places, halos, shape, ends)):
            whole[np.ix_(*places)] = block
    return whole[tuple(slice(size) for size in shape)]


def _places(halo, size, end):
    """Where the elements of a halo along an axis are: what lies behind the end of a periodic one is there and at the beginning."""
    places = np.arange(*halo)
    places[places < 0] += size
    return [places % size, places] if end == "periodic" and halo[1] > size else [places]


def _local(kernel, *values, shape, depth, ends, kinds, of, order, begins):
    """Of jit: the block and its halo as they are."""
    check_dtypes(values[len(shape) :], of)
    refuse_masks(values[len(shape) :], of)
    own = [tuple(one.reshape(-1)[0].tolist()) for one in values[: len(shape)]]
    halos = [_halo(*one) for one in zip(own, shape, depth, ends)]
    args = values[len(shape) :]
    sizes = tuple(end - begin for begin, end in halos)
    made = [zeros_where(args, sizes, kind) for kind in kinds]
    where = tuple(begin for begin, _ in halos)
    if math.prod(sizes):
        _launched(kernel, sizes)(*_in_order(order, args, made), *((where if len(where) > 1 else where[0],) if begins else ()))
    part = tuple(slice(one[0] - halo[0], one[1] - halo[0]) for one, halo in zip(own, halos))
    results = tuple(one[part] for one in made)
    return results if len(results) > 1 else results[0]


def _launched(kernel, sizes):
    if isinstance(kernel, lw._core.Launcher):
        return kernel
    if len(sizes) == 1:
        return kernel.forall(sizes[0])
    threads = (16, 16) if len(sizes) == 2 else (8, 8, 4)
    return kernel[tuple(-(-size // block) for size, block in zip(sizes, threads)), threads]
