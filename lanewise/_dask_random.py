"""Dask arrays of random numbers: `Generator.<distribution>(…, size=, chunks=)`.

A number of Philox depends on its place in the stream alone, so each block draws those of its places, in whatever order
blocks are made and wherever: the numbers are those of the array made at once, and the generator stands afterwards where
it would. Which place a number has is the formula of `lanewise/_generator.py`, where `Generator._window` says what is drawn.
"""

from __future__ import annotations

import inspect
import itertools
import math
import operator
from typing import Any

import dask.array as da
import numpy as np
from dask.tokenize import normalize_token

from lanewise import _generator
from lanewise._dask import bounds_of, by_block, empty_meta, is_dask, refuse_out, refuse_stream
from lanewise._generator import Generator

alone: Any = getattr(_generator, "_Alone")  # which its stubs do not show
shape_of: Any = getattr(_generator, "_shape")

#: Parameters that are not broadcast with size: the same for every number.
_WHOLE = {"multinomial": ("pvals",), "dirichlet": ("alpha",), "multivariate_hypergeometric": ("colors", "nsample", "method"),
          "multivariate_normal": ("mean", "cov", "check_valid", "tol", "method"), "choice": ("a", "replace", "p", "axis", "shuffle"), "integers": ("endpoint",)}


def draw(generator, name, method, args, kwargs, chunks):
    """The method's call as a Dask array. The generator moves at once."""
    given = inspect.signature(method).bind(generator, *args, **kwargs)
    given.apply_defaults()
    values = dict(given.arguments)
    values.pop("self")
    refuse_stream(f"Generator.{name}", values.pop("stream", None))
    refuse_out(f"Generator.{name}", values.pop("out", None))
    _refuse(generator, name, values)
    size = values.pop("size")
    _refuse_unknown(size, chunks)
    values = {key: _number(key, value) for key, value in values.items()}
    spread = {key: value for key, value in values.items() if key not in (*_WHOLE.get(name, ()), "dtype") and np.ndim(value)}
    shape = np.broadcast_shapes(*(np.shape(value) for value in spread.values())) if size is None else shape_of(size)
    for value in spread.values():
        np.broadcast_to(value, shape)
    if name == "integers" and spread:
        values, spread = _bounds(values)
    sample = _Numbers(generator, name, method, {**values, **{key: np.asarray(value).reshape(-1)[:1] for key, value in spread.items()}}, (), shape)
    with alone(generator):
        if spread:  # what is wrong with any of them is told now
            method(_copy(generator), **values)
        first, place = sample.some([], 0)
        numbers = _Numbers(generator, name, method, values, tuple(spread), shape)
        sizes = _sizes(chunks, shape, first.dtype)
        generator._place = place
    return _by_blocks(numbers, sizes, first, {key: da.from_array(np.asarray(value), chunks=-1) for key, value in spread.items()})


def _by_blocks(numbers, sizes, first, arrays):
    """An array of these blocks. first: no items of it; arrays: parameters, which every block gets as a whole."""
    index, tail = tuple(range(len(sizes))), dict(enumerate(first.shape[1:], len(sizes)))
    pairs = [one for axis, own in enumerate(sizes) for one in (bounds_of(own), (axis,))] or [0, None]
    meta = empty_meta(first, len(sizes) + len(tail), first.dtype)
    return by_block(numbers, (*index, *tail), *pairs, adjust_chunks=dict(zip(index, sizes)), new_axes=tail, align_arrays=False, meta=meta,
                    token=numbers.__name__, **arrays)


def _refuse(generator, name, values):
    if generator.bit_generator != "philox":
        raise TypeError('chunks= needs a "philox" generator, whose numbers depend only on their positions; with "xoroshiro128p", use spawn() to make one generator for each block')
    if name == "choice" and not values["replace"]:
        raise TypeError("choice(replace=False) does not accept chunks=: each element depends on those before it. "
                        "dask.array.from_array(g.choice(...), chunks=...) divides what was drawn into blocks")
    if name == "choice" and values["axis"] != 0:
        raise TypeError("choice() accepts chunks= only for axis=0")


def _refuse_unknown(size, chunks):
    """Of sizes that are NaN, as those of x[x > 0]."""
    def unknown(x):
        return any(map(unknown, x)) if isinstance(x, (tuple, list)) else isinstance(x, float) and math.isnan(x)

    for name, value in (("size", size), ("chunks", chunks)):
        if unknown(value):
            raise ValueError(f"{name}= must be numbers, not {value!r:.200}: of an array x whose sizes are not known, pass them after x.compute_chunk_sizes()")


def _sizes(chunks, shape, dtype):
    """The sizes of blocks along each axis; ValueError for what says none."""
    for one, size in _named(chunks, shape):
        parts = one if isinstance(one, (tuple, list)) else (one,)
        for part in parts:
            if isinstance(part, bool) or part is not None and not isinstance(part, str) and not hasattr(part, "__index__"):
                raise TypeError(f"chunks= must be ints, tuples of ints, -1, None or strings of Dask's, not {chunks!r:.200}")
            if hasattr(part, "__index__") and (part < 0 if one is parts else part < -1 or part == 0 != size):
                raise ValueError(f"chunks= must be sizes of blocks, at least 1, or -1 for the whole axis, not {chunks!r:.200}")
    try:
        return da.core.normalize_chunks(chunks, shape, dtype=dtype)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise ValueError(f"chunks={chunks!r:.200} does not divide an array of shape {shape}: {error}") from error


def _named(chunks, shape):
    """What chunks= says of axes, and their sizes, as far as there is one."""
    if isinstance(chunks, dict):
        for axis in chunks:
            if isinstance(axis, bool) or not hasattr(axis, "__index__") or not -len(shape) <= axis < len(shape):
                raise ValueError(f"chunks= has axis {axis!r:.50}, but an array of shape {shape} has {len(shape)} axes")
        return [(one, shape[axis]) for axis, one in chunks.items()]
    if isinstance(chunks, (tuple, list)):
        if len(shape) == 1 and len(chunks) > 1:  # the sizes of all blocks
            return [(chunks, None)]
        return list(itertools.zip_longest(chunks, shape[: len(chunks)]))
    return [(chunks, size) for size in shape]


def _number(name, value):
    if is_dask(value):
        raise TypeError(f"{name} must be numbers, not a Dask array: with chunks=, parameters are numbers or NumPy arrays")
    return value


def _bounds(values):
    """integers() of arrays of bounds that are the same everywhere draws as of two numbers; which of them are arrays."""
    low, high = (0, values["low"]) if values["high"] is None else (values["low"], values["high"])
    arrays = {"low": np.asarray(low), "high": np.asarray(high)}
    if all(one.size and (one == one.flat[0]).all() for one in arrays.values()):
        arrays = {key: one.flat[0].item() for key, one in arrays.items()}
    return {**values, **arrays}, {key: one for key, one in arrays.items() if np.ndim(one)}


def _copy(generator):
    return _made(_state_of(generator), generator.target)


def _state_of(generator):
    """Its state, of whoever is alone with it."""
    return {"bit_generator": "philox", "key": generator._key, "jumps": generator._jumps, "place": generator._place, "states": None}


def _made(state, target):
    new = Generator(0, "philox", target)
    new.state = state
    return new


class _Numbers:
    """What makes the numbers of any block. values: the arguments; spread: the names of those that are arrays, of which a
    block takes its part."""

    def __init__(self, generator, name, method, values, spread, shape):
        self.state = _state_of(generator)
        # where the setting says now, not where a block is made later
        self.target, self.__name__, self.shape = "cpu" if generator._is_here() else "cuda", name, tuple(shape)
        self.values = {key: value for key, value in values.items() if key not in spread}

    def __dask_tokenize__(self):
        return normalize_token(("lanewise", self.__name__, self.state, self.target, self.values, self.shape))

    def some(self, starts, run, **arrays):
        """Runs of items, one after the other, and where the generator stands after all of the array."""
        g = _made(self.state, self.target)
        g._is_busy = True  # no number that _Draws has made ahead
        g._window = starts, run, math.prod(self.shape)
        drawn = getattr(g, f"_{self.__name__}", None) or getattr(g, self.__name__)
        return drawn(**self.values, **arrays, size=(len(starts) * run,)), g._place

    def __call__(self, *bounds, **arrays):
        location = [one.reshape(-1)[0].tolist() for one in bounds[: len(self.shape)]]
        block = tuple(end - begin for begin, end in location)
        inner = len(block)  # axes from here on lie in one piece
        while inner > 0 and (inner == len(block) or block[inner] == self.shape[inner]):
            inner -= 1
        strides = [math.prod(self.shape[k + 1 :]) for k in range(len(block))]
        begin = sum(one[0] * stride for one, stride in zip(location[inner:], strides[inner:]))
        starts = [begin + sum(map(operator.mul, place, strides)) for place in itertools.product(*(range(*one) for one in location[:inner]))]
        spread = {key: _part(value, self.shape, location) for key, value in arrays.items()}
        if not math.prod(block):
            starts, spread = [], {key: np.reshape(value, -1)[:1] for key, value in arrays.items()}
        made = self.some(starts, math.prod(block[inner:]), **spread)[0]
        return made.reshape(block + made.shape[1:])


def _part(value, shape, location):
    """A parameter's numbers of a block, in C order."""
    part = np.broadcast_to(value, shape)[tuple(slice(*one) for one in location)]
    return np.ascontiguousarray(part).reshape(-1)
