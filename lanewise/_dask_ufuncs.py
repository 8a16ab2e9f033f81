"""Ufuncs and gufuncs of Dask arrays, block by block; their methods.

Dask's own answer to `__array_ufunc__` has no ufuncs of several outputs, no `where=`, no `outer`, and reads simple layouts only.
"""

from __future__ import annotations

import functools
import inspect

import dask.array as da
import numpy as np
from dask.array.core import unify_chunks

from lanewise import _dask_reductions
from lanewise._dask import Given, Shipped, as_dask, as_mask, blocks_of, called, check_dtypes, check_shapes, in_memory, is_dask, is_host, is_object, item_of, name_of, out_of_tasks, refuse_keywords, refuse_out, zeros_where

# ---- which argument is what ----


def call(ufunc, method, inputs, kwargs):
    """The lazy result of a call, or of a method of that name."""
    given = dict(kwargs)
    name = called(ufunc) if method == "__call__" else f"{called(ufunc)}.{method}"
    if method != "at":
        refuse_out(name, given.pop("out", None))
    if method == "__call__":
        return _call_by_blocks(ufunc, *_arguments(ufunc, inputs, given))
    if method == "outer":
        return _outer(ufunc, inputs, given)
    if method in ("reduce", "accumulate"):
        return _by_reduction(ufunc, method, *inputs, **given)
    raise TypeError(f"{name}() does not take Dask arrays: call it on their blocks, as in x.map_blocks(...), or on x.compute()")


def _arguments(ufunc, inputs, given):
    """The arguments in the order of the parameters, which of them are whole (excluded or static), and the other keywords."""
    options = ufunc._state()["options"]
    marked = [one for key in ("excluded", "static") for one in _several(options.get(key, ()))]
    if not marked:
        return list(inputs), [False] * len(inputs), given
    values, whole, by_name = list(inputs), [], False
    for parameter, is_whole in _given_parameters(ufunc, marked):
        name, default = parameter.name, parameter.default
        by_name = by_name or parameter.kind is parameter.KEYWORD_ONLY
        if not by_name and len(whole) < len(values):
            whole.append(is_whole)  # by position
        elif name not in given and default is parameter.empty:
            raise TypeError(f"{called(ufunc)}() missing a required argument: '{name}'")
        elif not is_whole and default is not parameter.empty:
            by_name = True  # a constant, behind which nothing can come by position
        elif not by_name:
            values.append(given.pop(name, default))
            whole.append(is_whole)
        elif is_dask(given.get(name)):
            raise TypeError(f"{called(ufunc)}: `{name}` follows a parameter that keeps its default value, so it cannot be a Dask array: pass x.compute()")
    if len(values) > len(whole) + ufunc.nout:
        raise TypeError(f"{called(ufunc)}() takes at most {len(whole)} arguments, {len(values)} given")
    return values, whole, given


def _several(names):
    return (names,) if isinstance(names, (str, int)) else names


def _given_parameters(ufunc, marked):
    """The parameters that arguments are for, all but outputs, and whether each is whole. Outputs are the last of those that are neither
    marked nor have a default, where there are more of these than inputs."""
    parameters = list(enumerate(inspect.signature(ufunc.py_func).parameters.values()))
    whole = {parameter.name: parameter.name in marked or i in marked for i, parameter in parameters}
    operands = [one.name for _, one in parameters if not whole[one.name] and one.default is one.empty]
    return [(one, whole[one.name]) for _, one in parameters if one.name not in operands[ufunc.nin:]]


def _call_by_blocks(ufunc, values, whole, given):
    if not any(is_dask(value) for value, is_whole in zip(values, whole) if not is_whole) and not is_dask(given.get("where")):
        read = [in_memory(value) for value in values]  # a table of Dask's, and nothing else
        return ufunc(*read, **given)
    return (_elementwise if ufunc.signature is None else _by_layout)(ufunc, values, whole, given)


# ---- elements ----


def _is_literal(value) -> bool:
    """Numbers go to every block as they are, because Python's are weak, and so do objects of a user's class."""
    return isinstance(value, (bool, int, float, complex, np.generic)) or value is None or is_object(value)


def _elementwise(ufunc, values, whole, given):
    mask = given.pop("where", True)
    operands = [value if is_whole or _is_literal(value) else as_dask(value, f"argument {i + 1}") for i, (value, is_whole) in enumerate(zip(values, whole))]
    lie = [not (is_whole or _is_literal(value)) for value, is_whole in zip(operands, whole)]
    if mask is not True:
        operands.append(as_mask(mask))
        lie.append(True)
    check_shapes([x.shape for x, is_array in zip(operands, lie) if is_array])
    ndim = max(x.ndim for x, is_array in zip(operands, lie) if is_array)
    pairs = _unified(operands, [tuple(range(ndim - x.ndim, ndim)) if is_array else None for x, is_array in zip(operands, lie)])
    sample = [_zero_of(value, is_array) for value, is_array in zip(operands[: len(values)], lie)]
    dtypes = _dtypes_of(ufunc(*sample, **given))
    pairs[::2] = [Given(x) if not is_array and is_object(x) else x for x, is_array in zip(pairs[::2], lie)]
    more = {"given": dtypes} if mask is not True else {}
    return blocks_of(Shipped(ufunc, _masked if mask is not True else _on_elements), tuple(range(ndim)), pairs, dtypes, _like(operands),
                     token=name_of(ufunc), of=_of(operands), keywords=given, **more)


def _of(operands):
    """The dtypes that blocks must have, for check_dtypes()."""
    return tuple(x.dtype if is_dask(x) else None for x in operands)


def _on_elements(ufunc, *blocks, of, keywords):
    """Dask's functions have keywords of the same names, as dtype=."""
    check_dtypes(blocks, of)
    return ufunc(*out_of_tasks(blocks), **keywords)


def _unified(operands, indices):
    """Arrays of common chunks, and their indices; None: the same for every block."""
    arrays = [one for x, index in zip(operands, indices) if index is not None for one in (x, index)]
    _, unified = unify_chunks(*arrays)
    left = iter(unified)
    return [one for x, index in zip(operands, indices) for one in (x if index is None else next(left), index)]


def _zero_of(value, is_array):
    """What stands for an operand where dtypes are asked for."""
    if not is_array:
        return in_memory(value)
    meta = value._meta
    shape = (0,) * max(value.ndim, 1)
    return np.empty(shape, value.dtype) if is_host(meta) or not hasattr(meta, "shape") else meta.reshape(shape)


def _dtypes_of(results):
    return tuple(map(_dtypes_of, results)) if isinstance(results, tuple) else results.dtype


def _like(operands):
    """Whose type the blocks of results have: a device array, where there is one."""
    arrays = [x for x in operands if is_dask(x)]
    return next((x for x in arrays if not is_host(x._meta)), arrays[0])


def _masked(ufunc, *blocks, of, keywords, given):
    """Elements that the mask leaves out are 0: nobody's memory, whatever the chunks."""
    check_dtypes(blocks, of)
    *operands, mask = out_of_tasks(blocks)
    dtypes = given if isinstance(given, tuple) else (given,)
    shape = np.broadcast_shapes(*(np.shape(x) for x in operands), mask.shape)
    masks = [np.ma.getmaskarray(x) for x in operands if isinstance(x, np.ma.MaskedArray)]
    operands = [x.data if isinstance(x, np.ma.MaskedArray) else x for x in operands]
    made = ufunc(*operands, where=mask, out=tuple(zeros_where(operands, shape, one) for one in dtypes), **keywords)
    return _with_masks(made, masks, shape) if masks else made


def _with_masks(made, masks, shape):
    """Results of masked arrays: masked where one of them is."""
    if isinstance(made, tuple):
        return tuple(_with_masks(one, masks, shape) for one in made)
    return np.ma.array(made, mask=functools.reduce(np.logical_or, [np.broadcast_to(one, shape) for one in masks]))


def _outer(ufunc, inputs, given):
    mask = given.pop("where", True)
    x, y = (as_dask(value, f"argument {i + 1}") for i, value in enumerate(inputs))
    dtypes = _dtypes_of(ufunc.outer(np.empty(0, x.dtype), np.empty(0, y.dtype), **given))
    first, second = tuple(range(x.ndim)), tuple(range(x.ndim, x.ndim + y.ndim))
    more = {"token": name_of(ufunc), "of": (x.dtype, y.dtype), "keywords": given}
    if mask is True:
        return blocks_of(Shipped(ufunc, _outer_of), first + second, [x, first, y, second], dtypes, x, **more)
    mask, index = as_mask(mask), first + second
    check_shapes([x.shape + y.shape, mask.shape])
    if mask.ndim > len(index):
        raise ValueError(f"{called(ufunc)}.outer: where= of shape {mask.shape} cannot be broadcast to {x.shape + y.shape}")
    pairs = _unified([x, y, mask], [first, second, index[len(index) - mask.ndim:]])
    return blocks_of(Shipped(ufunc, _outer_where), index, pairs, dtypes, x, given=dtypes, **more)


def _outer_of(ufunc, x, y, of, keywords):
    check_dtypes((x, y), of)
    return ufunc.outer(x, y, **keywords)


def _outer_where(ufunc, x, y, mask, of, keywords, given):
    check_dtypes((x, y), of)
    return _masked(ufunc, x.reshape(x.shape + (1,) * y.ndim), y, mask, of=of, keywords=keywords, given=given)


#: What else the methods take, as NumPy's; and split_every=, which is Dask's.
_TAKEN = {"reduce": {"keepdims", "initial", "where", "stream", "split_every"}, "accumulate": {"stream"}}


def _by_reduction(ufunc, method, x, axis=0, dtype=None, **given):
    from lanewise._ufunc_methods import _check_arity, _computed_in, _reducer

    _check_arity(ufunc, method)
    refuse_keywords(f"{called(ufunc)}.{method}", {key: value for key, value in given.items() if key not in _TAKEN[method]})
    reducer = _reducer(ufunc)
    x = as_dask(x, "argument 1")
    if reducer.identity is None and not reducer.reduction._reorders(x.dtype):
        raise TypeError(f"{called(ufunc)}.{method}() of a Dask array needs an operator that is known to be associative: give vectorize identity=, or call lw.reduce(f)")
    made = getattr(_dask_reductions, method)
    return made(reducer.reduction, x, axis=axis, dtype=_computed_in(ufunc, reducer, x, dtype, None), **given)


# ---- layouts ----


def _layout(signature):
    """Names of the core dimensions of each operand, inputs and outputs: "(m,n?),(n|1)->(m)"."""
    sides = []
    for side in signature.replace(" ", "").split("->"):
        groups = [part.split(")")[0] for part in side.split("(")[1:]]
        sides.append([[name for name in group.split(",") if name] for group in groups])
    return sides


def _by_layout(ufunc, values, whole, given):
    allow = bool(given.pop("allow_rechunk", False))
    name = called(ufunc)
    places = [i for i, is_whole in enumerate(whole) if not is_whole]
    arrays = [as_dask(values[i], f"argument {i + 1}") for i in places]
    layout = _layout(ufunc.signature)
    literal = [i for i, names in zip(places, layout[0]) if not names and _is_literal(values[i])]
    missing = _missing(layout[0], arrays)
    inputs, outputs = ([[name for name in names if name not in missing] for names in side] for side in layout)
    moves = _Axes(name, given, inputs, outputs)
    arrays = [moves.to_end(x, k) for k, x in enumerate(arrays)]
    arrays = [_in_one_chunk(name, x, names, i, allow, moves.of_operand(x, k)) for k, (x, names, i) in enumerate(zip(arrays, inputs, places))]
    check_shapes([x.shape[: x.ndim - len(names)] for x, names in zip(arrays, inputs)])
    loops = max(x.ndim - len(names) for x, names in zip(arrays, inputs))
    operands, indices = list(values), [None] * len(values)
    core = loops
    for i, x, names in zip(places, arrays, inputs):
        if i in literal:
            continue
        own = x.ndim - len(names)
        operands[i], indices[i] = x, (*range(loops - own, loops), *range(core, core + len(names)))
        core += len(names)
    sample = list(values)
    for i, x, names, whole_core in zip(places, arrays, inputs, layout[0]):
        if i in literal:
            continue
        sizes = iter(x.shape[x.ndim - len(names):])
        sample[i] = np.empty((0, *(1 if one in missing else int(next(sizes)) for one in whole_core)), x.dtype)
    probe = ufunc(*map(in_memory, sample), **given)
    results = [(one.dtype, [n for n, core_name in zip(one.shape[1:], names) if core_name not in missing])
               for one, names in zip(probe if isinstance(probe, tuple) else (probe,), layout[1])]
    made = _layout_blocks(ufunc, _unified(operands, indices), loops, core, results, given)
    return moves.results(made)


def _missing(inputs, arrays):
    """The optional dimensions that an operand does not have."""
    return {name for names, x in zip(inputs, arrays) if x.ndim < len(names) for name in names if name.endswith("?")}


def _in_one_chunk(name, x, names, i, allow, given):
    """given: where the operand had its core dimensions when it came, for what errors say."""
    for k, core in enumerate(names):
        core = core.rstrip("?")
        axis = x.ndim - len(names) + k
        if x.ndim < len(names):
            raise ValueError(f"{name}: argument {i + 1} has {x.ndim} dimensions, its core ({','.join(names)}) {len(names)}")
        if np.isnan(x.shape[axis]):
            raise ValueError(f"{name}: argument {i + 1} has its core dimension '{core}', axis {given[k]}, of an unknown size: call x.compute_chunk_sizes() first")
        if x.numblocks[axis] > 1:
            if not allow:
                raise ValueError(f"{name}: argument {i + 1} has its core dimension '{core}', axis {given[k]}, in {x.numblocks[axis]} chunks: pass "
                                 f"x.rechunk({{{given[k]}: -1}}), or allow_rechunk=True, which makes blocks larger")
            x = x.rechunk({axis: -1})
    return x


def _layout_blocks(ufunc, pairs, loops, core, results, given):
    """results: dtype and sizes of the core dimensions of each."""
    index = tuple(range(loops))
    function, token = Shipped(ufunc, _on_blocks), name_of(ufunc)
    sizes = [dict(enumerate(own, core)) for _, own in results]
    like, of = _like(pairs[::2]), _of(pairs[::2])
    if len(results) == 1:
        return blocks_of(function, index + tuple(sizes[0]), pairs, results[0][0], like, new_axes=sizes[0], token=token, of=of, keywords=given)
    made = blocks_of(function, index, pairs, results[0][0], like, token=token, of=of, keywords=given)
    return tuple(_result(made, index, i, size, dtype, like, token) for i, (size, (dtype, _)) in enumerate(zip(sizes, results)))


def _result(made, index, i, size, dtype, like, token):
    return blocks_of(item_of, index + tuple(size), [made, index, i, None], dtype, like, new_axes=size, token=token)


def _on_blocks(ufunc, *blocks, of, keywords):
    """Dask gives the blocks along a dimension that the result does not have in lists, here of one."""
    blocks = [_out_of_lists(block) for block in blocks]
    check_dtypes(blocks, of)
    return ufunc(*blocks, **keywords)


def _out_of_lists(block):
    while isinstance(block, list):
        block = block[0]
    return block


class _Axes:
    """axes=, axis= and keepdims=, as NumPy's gufuncs have them: core dimensions go to the end, and results' to their places."""

    def __init__(self, name, given, inputs, outputs):
        axes, axis, self.keepdims = given.pop("axes", None), given.pop("axis", None), bool(given.pop("keepdims", False))
        self.inputs, self.outputs, self.name = inputs, outputs, name
        if self.keepdims and (any(outputs) or len({len(names) for names in inputs}) != 1):
            raise TypeError(f"{name} does not support keepdims: its signature {inputs}->{outputs} requires multiple core dimensions or outputs that have some")
        if axis is not None:
            if any(len(names) > 1 for names in inputs + outputs):
                raise TypeError(f"{name}: axis can only be used with a single shared core dimension")
            axes = [(axis,) if names or self.keepdims else () for names in inputs + outputs]
        self.axes = None if axes is None else self._checked(axes)

    def _checked(self, axes):
        if not isinstance(axes, list):
            raise TypeError("axes should be a list.")
        axes = [one if isinstance(one, tuple) else (one,) for one in axes]
        cores = [len(names) for names in self.inputs + self.outputs]
        if len(axes) == len(self.inputs) and not any(self.outputs):
            axes += [axes[0] if self.keepdims else ()] * len(self.outputs)
        elif len(axes) != len(cores):
            raise ValueError("axes should be a list with an entry for all inputs and outputs; entries for outputs can only be omitted if none of them has core axes.")
        for i, (one, core) in enumerate(zip(axes, cores)):
            wanted = len(self.inputs[0]) if self.keepdims and i >= len(self.inputs) and not core else core
            if len(one) != wanted and not (i >= len(self.inputs) and not core and not self.keepdims):
                raise np.exceptions.AxisError(f"{self.name}: axes item {i} has {len(one)} elements, {wanted} were expected")
        return axes

    def to_end(self, x, k):
        return x if self.axes is None or not self.axes[k] else da.moveaxis(x, self.axes[k], tuple(range(-len(self.axes[k]), 0)))

    def of_operand(self, x, k):
        """The axes of its core dimensions, counted as the caller does."""
        names = self.inputs[k]
        return [one % x.ndim for one in self.axes[k]] if self.axes is not None else range(x.ndim - len(names), x.ndim)

    def results(self, made):
        if isinstance(made, tuple):
            return tuple(self._placed(one, i) for i, one in enumerate(made))
        return self._placed(made, 0)

    def _placed(self, x, i):
        core = len(self.outputs[i])
        if self.keepdims:
            core = len(self.inputs[0])
            x = x[(Ellipsis,) + (np.newaxis,) * core]
        axes = None if self.axes is None else self.axes[len(self.inputs) + i]
        return x if not axes or not core else da.moveaxis(x, tuple(range(-core, 0)), axes)
