"""`lanewise.map_blocks`: kernels over Dask arrays, block by block, with the results of the whole.

A function of `forall` runs for the indices of its block, which are those of the whole array, and so are the arrays that it
sees: of the whole's shape, with what the block and its halo hold at their places. The rest is memory that no one has
touched, and costs none: it reads as zero. A kernel of `jit` counts its threads from 0, so it sees the block and its halo as
they are, and its last parameter may be `offset`, where they begin.
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
from lanewise._dask import Shipped, blocks_of, bounds_of, check_dtypes, is_dask, name_of, zeros_where


def map_blocks(kernel, *args, depth=0, boundary="none", dtype=None):
    """Implements lanewise.map_blocks."""
    if not isinstance(kernel, (lw.Forall, lw.Kernel, lw._core.Launcher)):
        raise TypeError(f"map_blocks() runs functions of lw.forall and lw.jit, not {type(kernel).__name__}; a ufunc, gufunc or reduction is called with the arrays")
    if boundary not in ("none", "periodic"):
        raise ValueError(f'boundary must be "none" or "periodic", not {boundary!r:.200}')
    arrays = [x for x in args if is_dask(x)]
    for i, x in enumerate(args):
        if not is_dask(x) and dask.is_dask_collection(x):
            raise TypeError(f"map_blocks(): argument {i + 1} of {name_of(kernel)} is {with_library(x)} of a lazy array, which each block would compute as a "
                            f"whole; pass {'x.data' if hasattr(x, 'data') else 'x.to_dask_array(lengths=True)'}")
    if not arrays:
        raise TypeError(f"map_blocks() needs a Dask array among its arguments: call {name_of(kernel)} itself for others")
    plan = _Plan(kernel, args, arrays)
    depth = _depths(depth, plan.ndim)
    kinds = plan.kinds(dtype)
    whole = [da.overlap.overlap(x, {axis: depth[axis] for axis in range(plan.ndim)}, dict.fromkeys(range(plan.ndim), boundary)) if any(depth) else x
             for x in plan.arrays]
    sizes = plan.chunks if not any(depth) else _without_halo(whole[0].chunks[: plan.ndim], depth, boundary)
    index = tuple(range(plan.ndim))
    pairs = [one for axis, own in enumerate(sizes) for one in (bounds_of(own), (axis,))]
    left = iter(whole)
    for x in args:
        x = next(left) if is_dask(x) else x
        pairs += [x, (*index, *range(plan.ndim, x.ndim))] if is_dask(x) else [x, None]
    function = _global if isinstance(kernel, lw.Forall) else _local
    return blocks_of(Shipped(kernel, function), index, pairs, kinds if len(kinds) > 1 else kinds[0], whole[0], token=name_of(kernel), shape=plan.shape,
                     depth=depth, periodic=boundary == "periodic", kinds=kinds, adjust_chunks=dict(enumerate(sizes)), concatenate=True,
                     of=tuple(x.dtype if is_dask(x) else None for x in args), **({} if function is _global else {"begins": plan.takes_offset}))


class _Plan:
    """Which parameter is what, and the space of indices: that of the Dask arrays' first axes."""

    def __init__(self, kernel, args, arrays):
        function = kernel.kernel.py_func if isinstance(kernel, lw._core.Launcher) else kernel.py_func
        parameters, self.name = list(inspect.signature(function).parameters), name_of(kernel)
        is_forall = isinstance(kernel, lw.Forall)
        self.ndim = kernel._state()["options"].get("ndim", 1) if is_forall else max(x.ndim for x in arrays)
        self.takes_offset = not is_forall and parameters[-1:] == ["offset"]
        rest = parameters[self.ndim if is_forall else 0 : len(parameters) - self.takes_offset]
        self.outputs = rest[len(args) :]
        if not self.outputs:
            raise TypeError(f"map_blocks() makes an array for each parameter of {self.name} behind the arguments, but {len(args)} arguments leave none: "
                            f"its parameters are ({', '.join(parameters)})")
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


def _without_halo(chunks, depth, boundary):
    """The sizes of blocks of which these are those with their halos."""
    sizes = []
    for own, deep in zip(chunks, depth):
        last = len(own) - 1
        sizes.append(tuple(size - deep * ((i > 0 or boundary == "periodic") + (i < last or boundary == "periodic")) for i, size in enumerate(own)))
    return tuple(sizes)


# ---- blocks ----


def _global(kernel, *values, shape, depth, periodic, kinds, of):
    """Of forall: the indices of the whole array. of: dtypes of the arguments that are blocks, None of others."""
    check_dtypes(values[len(shape) :], of)
    own = [tuple(one.reshape(-1)[0].tolist()) for one in values[: len(shape)]]
    halos = [_halo(*one) for one in zip(own, shape, depth, itertools.repeat(periodic))]
    args = [x if dtype is None else _placed(x, shape, halos) for x, dtype in zip(values[len(shape) :], of)]
    part = tuple(slice(*one) for one in own)
    made = [_sparse(shape, kind) for kind in kinds]
    if all(begin < end for begin, end in own):
        space = tuple(range(*one) for one in own)
        kernel(space if len(space) > 1 else space[0], *args, *made)
    results = tuple(one[part].copy() for one in made)
    return results if len(results) > 1 else results[0]


def _halo(own, size, deep, periodic):
    begin, end = own
    return (begin - deep, end + deep) if periodic else (max(begin - deep, 0), min(end + deep, size))


def _sparse(shape, dtype):
    """An array of zeros that takes memory where it is touched."""
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes < 1 << 20:
        return np.zeros(shape, dtype)
    try:
        memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0))
    except OSError as error:
        raise MemoryError(f"no addresses for an array of {nbytes} bytes, of which a block is touched: {error}") from error
    return np.frombuffer(memory, dtype).reshape(shape)


def _placed(block, shape, halos):
    """The block and its halo at their places in the whole."""
    if not isinstance(block, np.ndarray):
        raise TypeError(f"forall takes NumPy blocks here, not {type(block).__name__}: write a kernel of lw.jit, which sees blocks as they are")
    whole = _sparse((*shape, *block.shape[len(shape) :]), block.dtype)
    if all(0 <= begin and end <= size for (begin, end), size in zip(halos, shape)):
        whole[tuple(slice(*one) for one in halos)] = block
    else:
        whole[np.ix_(*(np.arange(*one) % size for one, size in zip(halos, shape)))] = block
    return whole


def _local(kernel, *values, shape, depth, periodic, kinds, of, begins):
    """Of jit: the block and its halo as they are."""
    check_dtypes(values[len(shape) :], of)
    own = [tuple(one.reshape(-1)[0].tolist()) for one in values[: len(shape)]]
    halos = [_halo(*one) for one in zip(own, shape, depth, itertools.repeat(periodic))]
    args = values[len(shape) :]
    sizes = tuple(end - begin for begin, end in halos)
    made = [zeros_where(args, sizes, kind) for kind in kinds]
    where = tuple(begin for begin, _ in halos)
    if math.prod(sizes):
        _launched(kernel, sizes)(*args, *made, *((where if len(where) > 1 else where[0],) if begins else ()))
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
