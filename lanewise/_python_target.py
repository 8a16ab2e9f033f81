"""Functions as plain Python: what calls do where the setting `target` says "python".

The extension comes here (core/py/compiled/in_python.c) with the object that is called. Its function then
runs as Python runs it, element by element, item by item or thread by thread, in the calling thread wherever
that is possible, so that pdb, coverage and profilers see it. Elements are NumPy scalars, so that arithmetic
has the dtypes that compiled code has. Nothing is fast here.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import operator
import textwrap
import time
import types
import weakref

import numpy as np

from lanewise import _core, _elements, _objects, _progress, _python_threads, errors
from lanewise._python_intrinsics import intrinsic as intrinsic, value as value

_cuda = _core.cuda
_NOTHING = object()


def _quietly(function):
    """Without NumPy's warnings: compiled code wraps, and has infinities and NaN, in silence too."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return call


# ---- arguments ----


class _Arguments:
    """Arguments as Python functions take them, and what has to go back to a GPU behind the call."""

    def __init__(self) -> None:
        self.copies: list[tuple] = []

    def take(self, value):
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return tuple(self.take(item) for item in value)
        if isinstance(value, (_cuda.In, _cuda.Out, _cuda.InOut)):
            return self.take(value.value)
        if isinstance(value, np.ndarray):
            return _plain(value)
        if isinstance(value, np.bool_):
            return bool(value)
        if _cuda._is_device_array(value):
            device = _cuda._as_device_array(value)
            self.copies.append((device, device.copy_to_host()))
            return _plain(self.copies[-1][1])
        if hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__"):
            return _plain(np.asarray(value)) if not isinstance(value, np.generic) else value
        return value

    def give_back(self) -> None:
        for device, host in self.copies:
            device.copy_to_device(host)


def _plain(array):
    """The memory as an ndarray; fields of records are attributes too, as in compiled code."""
    return _elements.viewed(array)


def _options(compiled) -> dict:
    return compiled._state()["options"]


def _names(given) -> tuple:
    return (given,) if isinstance(given, str) else tuple(given or ())


def _is_needed(parameter) -> bool:
    """Whether a call must give it."""
    return parameter.default is parameter.empty and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)


# ---- kernels ----


@_quietly
def forall(compiled, n, *args, stream=0, tpb=0, sharedmem=0, progress=None, **kwargs):
    """The body for one index after the other."""
    spaces = n if isinstance(n, tuple) else (n,)
    ndim = _options(compiled).get("ndim", 1)
    if len(spaces) != ndim:
        raise TypeError(f"{compiled.__name__}: the index space has {ndim} dimension{'s' * (ndim > 1)}, got {n!r:.200}")
    taken = _Arguments()
    args = [taken.take(value) for value in args]
    kwargs = {name: taken.take(value) for name, value in kwargs.items()}
    ranges = [_indices(space) for space in spaces]
    for index in _told(_product(*ranges), progress, math.prod(map(len, ranges)), compiled.__name__):
        compiled.py_func(*index, *args, **kwargs)
    taken.give_back()


def _product(first, *more):
    """What itertools.product gives, which makes tuples of all items of the ranges before the first."""
    for index in first:
        if more:
            yield from ((index, *rest) for rest in _product(*more))
        else:
            yield (index,)


def _told(items, progress, total, name):
    """The items; progress= is told about them on the way."""
    if progress is None or progress is False:
        yield from items
        return
    reporter, done, good, next_time = _progress.reporter(progress, total, name), 0, False, time.monotonic() + 0.05
    try:
        for item in items:
            if time.monotonic() > next_time:
                reporter.tell(done)
                next_time = time.monotonic() + 0.05
            yield item
            done += 1
        good = True
    finally:
        reporter.end(good)


def _indices(space) -> range:
    if isinstance(space, range):
        return space
    if isinstance(space, slice):
        if space.stop is None:
            raise ValueError("a slice of indices needs a stop")
        return range(space.start or 0, space.stop, 1 if space.step is None else space.step)
    n = operator.index(space)
    if n < 0:
        raise ValueError(f"the number of elements must not be negative: {n}")
    return range(n)


@_quietly
def launch(launcher, *args, **kwargs):
    """kernel[grid, block](...), kernel.forall(n)(...)."""
    kernel = launcher.kernel
    grid, block = launcher.griddim, launcher.blockdim
    if launcher.ntasks is not None:
        width = launcher.thread_per_block or 32
        grid, block = (-(-launcher.ntasks // width), 1, 1), (width, 1, 1)
    taken = _Arguments()
    args = [taken.take(value) for value in args]
    kwargs = {name: taken.take(value) for name, value in kwargs.items()}
    _python_threads.run(kernel.py_func, grid, block, launcher.sharedmem, args, kwargs)
    taken.give_back()


@_quietly
def call(compiled, *args, **kwargs):
    """A function of lw.jit, called by a program or by another function."""
    if _python_threads.current() is not None:
        return compiled.py_func(*args, **kwargs)
    taken = _Arguments()
    args = [taken.take(value) for value in args]
    result = compiled.py_func(*args, **{name: taken.take(value) for name, value in kwargs.items()})
    taken.give_back()
    return _as_python(result)


def _as_python(result):
    if isinstance(result, tuple):
        return tuple(map(_as_python, result))
    if isinstance(result, np.ndarray) and result.dtype == np.bool_:
        return result.view(np.ndarray)
    return result.item() if isinstance(result, np.generic) else result


# ---- ufuncs and gufuncs ----


def _asked_others(ufunc, args, kwargs):
    """NEP 13: operands with an `__array_ufunc__` of their own are asked first."""
    for operand in args:
        ask = getattr(type(operand), "__array_ufunc__", _NOTHING)
        if ask is _NOTHING or isinstance(operand, (np.ndarray, np.generic)) or _cuda._is_device_array(operand):
            continue
        if ask is None:
            raise TypeError(f"operand '{type(operand).__name__}' does not support ufuncs (__array_ufunc__=None)")
        result = operand.__array_ufunc__(ufunc, "__call__", *args, **kwargs)
        if result is not NotImplemented:
            return result
    return _NOTHING


def _apart(ufunc) -> set:
    """Parameters that are no operands."""
    options = _options(ufunc)
    return {*_names(options.get("excluded")), *_names(options.get("static"))}


def _filled(ufunc) -> list:
    """Of a gufunc, the parameters that are outputs; none: the function returns them."""
    parameters = inspect.signature(ufunc.py_func).parameters.values()
    operands = [p.name for p in parameters if _is_needed(p) and p.name not in _apart(ufunc)]
    return operands[ufunc.nin:ufunc.nin + ufunc.nout]


def _place(ufunc, args, kwargs):
    """(operands by name, constants by name, outputs given by position)."""
    signature = inspect.signature(ufunc.py_func)
    apart = _apart(ufunc)
    names = list(signature.parameters)
    if ufunc._layout is not None:
        filled = _filled(ufunc)
        names = [n for n in names if n not in filled and (n in apart or _is_needed(signature.parameters[n]))]
    elif len(args) > ufunc.nin and len(names) == ufunc.nin:
        names = names[:ufunc.nin]
    given = dict(zip(names, args))
    for name in [name for name in kwargs if name in names]:
        if name in given:
            raise TypeError(f"{ufunc.__name__}() got multiple values for argument {name!r}")
        given[name] = kwargs.pop(name)
    missing = [n for n in names if n not in given and signature.parameters[n].default is inspect.Parameter.empty]
    if missing:
        raise TypeError(f"{ufunc.__name__}() takes from {len(names)} arguments but {len(args)} were given: "
                        f"{', '.join(missing)} missing")
    constants = {name: given.pop(name) for name in list(given) if name in apart}
    return given, constants, args[len(names):]


def _take(ufunc, args, kwargs):
    """(what was taken, operands by name, on the host, constants by name, outputs given by position)."""
    given, constants, positional = _place(ufunc, args, kwargs)
    _no_more(ufunc, kwargs)
    taken = _Arguments()
    operands = [taken.take(value) for value in given.values()]
    return taken, given, operands, {name: taken.take(value) for name, value in constants.items()}, positional


def _stand_in(ufunc):
    """A function of the declared signatures, where the user's cannot be compiled."""
    signatures = ufunc.__dict__.get("_declared_signatures")
    if signatures is None:
        return ufunc
    operands = ", ".join(f"a{i}" for i in range(ufunc.nin))
    results = ", ".join(["0"] * ufunc.nout)
    text = f"def stand_in({operands}):\n    return {results}\n"
    if ufunc._layout is not None:
        outputs = [f"r{i}" for i in range(ufunc.nout)]
        stores = "".join(f"    {name}[...] = 0\n" for name in outputs)
        text = f"def stand_in({operands}, {', '.join(outputs)}):\n{stores}"
    names = {"__name__": __name__}
    exec(text, names)
    if ufunc._layout is None:
        return _core.vectorize(signatures, source=text)(names["stand_in"])
    return _core.guvectorize(signatures, ufunc._layout, source=text, warn=False)(names["stand_in"])


def _dtypes(ufunc, operands, dtype, signature):
    """The dtypes of the loop that compiled code would take; None: it has none, for one reason or another."""
    asked = tuple(type(x) if type(x) in (int, float, complex) else np.asarray(x).dtype for x in operands)
    if dtype is not None:
        signature = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    try:
        return _stand_in(ufunc).resolve_dtypes(asked + (None,) * ufunc.nout, **({"signature": signature} if signature else {}))
    except (errors.TypingError, errors.UnsupportedError):
        return None


def _as_arrays(operands, found):
    """The operands in these dtypes. Where none are known Python's numbers stay what they are, as NumPy takes them."""
    def dtype(i, x):
        return found[i] if found else object if type(x) in (int, float, complex) else None

    return [_boxed(x) if _objects._is_object(x) else _plain(np.asarray(x, dtype(i, x))) for i, x in enumerate(operands)]


def _boxed(value):
    """An array without axes, whose element is the object itself."""
    made = np.empty((), object)
    made[()] = value
    return made


def _as_operands(ufunc, operands):
    """Namedtuples that are sequences for this function, as arrays."""
    return [np.asarray(x) if isinstance(x, tuple) and not _core._takes_as_object(ufunc, x) else x for x in operands]


def _has_objects(operands) -> bool:
    return any(_objects._is_object(x) or _objects._class(x) is not None for x in operands)


def _as_outputs(results, shape, operands):
    """What the calls gave, by index, as an array: of objects, where they are such."""
    if any(map(_objects._is_object, results.values())):
        first = next(iter(results.values()))
        made = np.zeros(shape, _objects._dtype_of_object(first))
    else:
        made = np.empty(shape, _common(results.values(), operands))
    for index, one in results.items():
        made[index] = one
    return made


def _common(values, operands):
    """The dtype of what a function gave, by NumPy's rules."""
    kinds = {(type(v), getattr(v, "dtype", None)): v for v in values}
    return np.result_type(*(kinds.values() or operands))


def _outputs(ufunc, out, positional):
    outs = tuple(positional) if positional else out if isinstance(out, tuple) else (out,) * (out is not None)
    if outs and len(outs) != ufunc.nout:
        raise ValueError(f"{ufunc.__name__}: out= needs {ufunc.nout} arrays, got {len(outs)}")
    return outs + (None,) * (ufunc.nout - len(outs))


def _finish(results, outs, taken, on_device, casting="same_kind", where=True):
    done = []
    for result, out in zip(results, outs):
        if out is not None:
            np.copyto(taken.take(out), result, casting=casting, where=where)
        elif on_device:
            from lanewise._host_cuda import HostArray

            out = result.view(HostArray)
        done.append(out if out is not None else result[()])
    taken.give_back()
    return done[0] if len(done) == 1 else tuple(done) or None


def _is_device(value) -> bool:
    from lanewise._host_cuda import is_cuda_array

    return is_cuda_array(value)


@_quietly
def vectorize(ufunc, *args, out=None, where=True, casting="same_kind", order="K", dtype=None, signature=None,
              sig=None, subok=True, stream=0, **kwargs):
    """Element by element."""
    overridden = _asked_others(ufunc, args, {**kwargs, **({} if out is None else {"out": out})})
    if overridden is not _NOTHING:
        return overridden
    taken, given, operands, constants, positional = _take(ufunc, args, kwargs)
    operands = _as_operands(ufunc, operands)
    found = None if _apart(ufunc) or len(operands) != ufunc.nin or _has_objects(operands) else _dtypes(ufunc, operands, dtype, signature or sig)
    arrays = _as_arrays(operands, found)
    outs = _outputs(ufunc, out, positional)
    mask = np.asarray(taken.take(where))
    shape = np.broadcast_shapes(mask.shape, *(a.shape for a in arrays), *(o.shape for o in outs if o is not None))
    arrays = [np.broadcast_to(a, shape, subok=True) for a in arrays]
    mask = np.broadcast_to(mask, shape)
    call_one = functools.partial(ufunc.py_func, **constants)
    named = list(given)
    results = [{} for _ in range(ufunc.nout)]
    for index in np.ndindex(shape):
        if mask[index]:
            values = call_one(**{name: a[index] for name, a in zip(named, arrays)})
            for result, one in zip(results, values if ufunc.nout > 1 else (values,)):
                result[index] = one
    made = []
    for k, result in enumerate(results):
        if not found:
            made.append(_as_outputs(result, shape, operands))
            continue
        array = np.empty(shape, found[ufunc.nin + k])
        for index, one in result.items():
            array[index] = one
        made.append(array)
    return _finish(made, outs, taken, any(map(_is_device, given.values())), casting, mask if mask.ndim else where)


def _no_more(compiled, kwargs) -> None:
    if kwargs:
        raise TypeError(f"{compiled.__name__}() got an unexpected keyword argument {next(iter(kwargs))!r}")


def _layout(text):
    """The core dimensions of inputs and outputs: lists of names, sizes as digits; optional ones end in '?'."""
    sides = []
    for side in text.replace(" ", "").split("->"):
        cores = side[1:-1].split("),(") if side else []
        sides.append([[d for d in core.split(",") if d] for core in cores])
    return sides[0], sides[1] if len(sides) > 1 else []


def _core_sizes(ufunc, arrays, inputs):
    """Sizes by name, and names that are dropped because an operand is too short for them."""
    dropped = set()
    for array, core in zip(arrays, inputs):
        optional = [d for d in core if d.endswith("?")]
        if array.ndim < len(core):
            if array.ndim < len(core) - len(optional):
                raise ValueError(f"{ufunc.__name__}: an operand has {array.ndim} dimensions, and needs {len(core)} core dimensions")
            dropped.update(optional)
    sizes = {}
    for array, core in zip(arrays, inputs):
        kept = [d for d in core if d not in dropped]
        for name, size in zip(kept, array.shape[array.ndim - len(kept):]):
            plain = name.rstrip("?").removesuffix("|1")
            wanted = int(plain) if plain.isdigit() else sizes.get(plain, size)
            if name.endswith("|1") and 1 in (wanted, size):
                wanted = size = max(wanted, size)
            if wanted != size:
                raise ValueError(f"{ufunc.__name__}: core dimension {plain} is {wanted} and {size}")
            sizes[plain] = size
    return sizes, dropped


def _more_sizes(ufunc, sizes, outs, outputs, dropped) -> None:
    """Of dimensions that only outputs have: from out=, or from sizes=."""
    rules = _options(ufunc).get("sizes") or {}
    for core, out in zip(outputs, outs):
        kept = [d for d in core if d not in dropped]
        for place, name in enumerate(kept):
            plain = name.rstrip("?").removesuffix("|1")
            if plain.isdigit():
                sizes[plain] = int(plain)
            elif plain not in sizes and plain in rules:
                rule = rules[plain]
                sizes[plain] = rule(*(sizes[p] for p in inspect.signature(rule).parameters)) if callable(rule) else rule
            elif plain not in sizes and out is not None:
                sizes[plain] = out.shape[out.ndim - len(kept) + place]
            elif plain not in sizes:
                raise ValueError(f"{ufunc.__name__}: core dimension {plain} needs out= or sizes=")


def _indexed(function) -> frozenset:
    """Parameters that the function indexes."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return frozenset()
    return frozenset(node.value.id for node in ast.walk(tree)
                     if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name))


def _as_item(array, core, dropped, indexed):
    if not isinstance(array, (np.ndarray, np.generic)):  # an object
        return array
    if not core:
        return array.reshape(1) if indexed else array[()]
    for place, name in enumerate(core):
        if name in dropped:
            array = np.expand_dims(array, place)
    return array


@_quietly
def guvectorize(ufunc, *args, out=None, casting="same_kind", order="K", dtype=None, signature=None, sig=None,
                subok=True, stream=0, axes=None, axis=None, keepdims=False, **kwargs):
    """Item by item."""
    if axes is not None or axis is not None or keepdims:
        raise errors.UnsupportedError(f"{ufunc.__name__}: axes=, axis= and keepdims= do not work with target=\"python\": "
                                      "move the axes with numpy.moveaxis before the call")
    overridden = _asked_others(ufunc, args, {**kwargs, **({} if out is None else {"out": out})})
    if overridden is not _NOTHING:
        return overridden
    taken, given, operands, constants, positional = _take(ufunc, args, kwargs)
    operands = _as_operands(ufunc, operands)
    found = None if _apart(ufunc) or _has_objects(operands) else _dtypes(ufunc, operands, dtype, signature or sig)
    writable = _names(_options(ufunc).get("writable_args")) if not isinstance(_options(ufunc).get("writable_args"), int) else ()
    writable = {list(given)[w] if isinstance(w, int) else w for w in writable}
    arrays = _as_arrays(operands, found)
    inputs, outputs = _layout(ufunc._layout)
    sizes, dropped = _core_sizes(ufunc, arrays, inputs)
    outs = _outputs(ufunc, out, positional)
    _more_sizes(ufunc, sizes, outs, outputs, dropped)
    n_core = [len([d for d in core if d not in dropped]) for core in inputs]
    loop = np.broadcast_shapes(*(a.shape[:a.ndim - n] for a, n in zip(arrays, n_core)),
                               *(o.shape[:o.ndim - len(c)] for o, c in zip(outs, outputs) if o is not None))
    written = writable if outputs else set(given)  # without outputs it works in place
    arrays = [_stretched(a, loop, core, sizes, dropped, name in written)
              for a, core, name in zip(arrays, inputs, given)]
    made = []
    for k, core in enumerate(outputs):
        shape = tuple(sizes[d.rstrip("?").removesuffix("|1")] for d in core if d not in dropped)
        filled = found[ufunc.nin + k] if found else object
        if found and outs[k] is not None and ufunc.is_dynamic and _filled(ufunc) and not (dtype or signature or sig):
            given_dtype = np.dtype(taken.take(outs[k]).dtype)
            filled = given_dtype if np.can_cast(filled, given_dtype, "same_kind") else filled
        made.append(np.zeros(loop + shape, filled))
        if outs[k] is not None:
            made[k][...] = taken.take(outs[k])  # elements may stay as they are
    _run_items(ufunc, given, arrays, made, inputs, outputs, constants, loop, dropped)
    if not found:
        made = [array.astype(_common(array.flat, arrays)) for array in made]
    for array, operand, name in zip(arrays, operands, given):
        if name in writable and isinstance(operand, np.ndarray) and not np.shares_memory(array, operand):
            operand[...] = array
    return _finish(made, outs, taken, any(map(_is_device, given.values())), casting)


def _stretched(array, loop, core, sizes, dropped, writable):
    shape = loop + tuple(sizes[d.rstrip("?").removesuffix("|1")] for d in core if d not in dropped)
    if writable and array.shape == shape:
        return array
    array = np.broadcast_to(array, shape, subok=True)
    return array.copy() if writable else array


def _run_items(ufunc, given, arrays, made, inputs, outputs, constants, loop, dropped) -> None:
    indexed = _indexed(ufunc.py_func)
    filled = _filled(ufunc)
    for index in np.ndindex(loop):
        values = [_as_item(a[index], core, dropped, name in indexed)
                  for a, core, name in zip(arrays, inputs, given)]
        named = dict(zip(given, values))
        if filled:
            items = [array[index + (...,)] for array in made]
            shown = [item.reshape(1) if not core else _as_item(item, core, dropped, True) for item, core in zip(items, outputs)]
            named.update(zip(filled, shown))
            ufunc.py_func(**named, **constants)
            continue
        results = ufunc.py_func(**named, **constants)
        for array, one in zip(made, results if ufunc.nout > 1 else (results,)):
            array[index] = one


# ---- reductions ----


_twins: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _own(function):
    """The same function as one of this package, which stays compiled."""
    if not isinstance(function, types.FunctionType):
        return function
    made = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__,
                              function.__closure__)
    made.__kwdefaults__, made.__module__ = function.__kwdefaults__, __name__
    return made


def _twin(reduction):
    """The reduction, compiled: it tells dtypes, and what nothing is reduced to."""
    twin = _twins.get(reduction)
    if twin is None:
        options = dict(_options(reduction))
        options.pop("combine", None)
        twin = _core.reduce(_own(reduction.py_func), **options)
        _twins[reduction] = twin
    return twin


def _unpacks(function, k: int) -> bool:
    return len(inspect.signature(function).parameters) != k


def _wide(number):
    """Small integers as the 64-bit ones that sums of them have."""
    if isinstance(number, tuple):
        return tuple(map(_wide, number))
    if isinstance(number, (np.bool_, np.integer)):
        return np.uint64(number) if isinstance(number, np.unsignedinteger) else np.int64(number)
    return number


def _fold(reduction, elements, start):
    """From left to right."""
    options = _options(reduction)
    map_one, combine, finish = options.get("map"), reduction.py_func, options.get("finish")
    total = start
    for index, values in elements:
        if map_one is not None:
            named = "index" in inspect.signature(map_one).parameters and len(inspect.signature(map_one).parameters) > len(values)
            one = _wide(map_one(*values, index) if named else map_one(*values))
        else:
            one = values[0]
        if total is _NOTHING:
            total = one
        else:
            total = combine(*total, *one) if isinstance(one, tuple) and _unpacks(combine, 2) else combine(total, one)
    if finish is None or total is _NOTHING:
        return total
    return finish(*total) if isinstance(total, tuple) and _unpacks(finish, 1) else finish(total)


@_quietly
def reduce(reduction, *arrays, axis=None, dtype=None, out=None, keepdims=False, initial=_NOTHING, where=True,
           stream=0, size=None, res=None, init=_NOTHING, progress=None):
    """Element by element, from left to right."""
    taken = _Arguments()
    on_device = any(map(_is_device, arrays))
    arrays = tuple(np.asarray(taken.take(a)) for a in arrays)
    if size is not None:
        if not 0 <= operator.index(size) <= min(map(len, arrays)):
            raise ValueError(f"size= must be 0 to {min(map(len, arrays))}, the number of elements, not {size}")
        arrays = tuple(a[:size] for a in arrays)
    initial = init if initial is _NOTHING else initial
    mask = np.asarray(taken.take(where))
    shape = np.broadcast_shapes(mask.shape, *(a.shape for a in arrays))
    axes = tuple(range(len(shape))) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, len(shape), "axis")
    kept = [d for d in range(len(shape)) if d not in axes]
    order = (*kept, *sorted(axes))
    views = [np.broadcast_to(a, shape).transpose(order) for a in arrays]
    views = [_plain(v.astype(dtype)) if dtype is not None else _plain(v) for v in views]
    mask = np.broadcast_to(mask, shape).transpose(order)
    known = _known_dtype(reduction, views, dtype)
    if known is not None and not _options(reduction).get("map") and not _options(reduction).get("finish"):
        views = [v.astype(known) for v in views]
    results = {}
    places = tuple(shape[d] for d in kept)
    for place in _told(np.ndindex(places), progress, math.prod(places), reduction.__name__):
        rows = [v[place] for v in views]
        inside = [i for i in np.ndindex(rows[0].shape) if mask[place][i]]
        start = initial
        if not inside and initial is _NOTHING:
            start = _twin(reduction)(*(np.asarray(a).ravel()[:0] for a in arrays), **({} if dtype is None else {"dtype": dtype}))
            results[place] = start
            continue
        elements = ((int(np.ravel_multi_index(i, rows[0].shape)) if i else 0, [row[i] for row in rows]) for i in inside)
        results[place] = _fold(reduction, elements, start)
    if any(isinstance(one, tuple) for one in results.values()):
        raise errors.UnsupportedError(f"{reduction.__name__}: reductions with several results do not work with target=\"python\": "
                                      "let finish= return one of them, or use target=\"cpu\" for this call")
    made = np.empty(tuple(shape[d] for d in kept), known if known is not None else _common(results.values(), arrays))
    for place, one in results.items():
        made[place] = one
    if keepdims:
        made = np.expand_dims(made, tuple(sorted(axes)))
    target = res if res is not None else out
    if target is not None:
        np.copyto(taken.take(target), made if res is None else made.reshape(1), casting="same_kind")
        taken.give_back()
        return target
    if on_device and made.ndim:
        from lanewise._host_cuda import HostArray

        return made.view(HostArray)
    return made[()]


def _known_dtype(reduction, views, dtype):
    """The dtype of the result as compiled code has it; None where it cannot be compiled."""
    if any(v.size == 0 for v in views):
        probe = [np.ones(1, v.dtype) for v in views]
    else:
        probe = [np.asarray(v).ravel()[:1] for v in views]
    try:
        result = _twin(reduction)(*probe, **({} if dtype is None else {"dtype": dtype}))
    except (errors.LanewiseError, ArithmeticError, ValueError):
        return None
    return getattr(result, "dtype", None)
