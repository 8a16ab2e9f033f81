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
import textwrap
import time

import numpy as np

from lanewise import _core, _elements, _objects, _progress, _python_threads, errors
from lanewise._python_intrinsics import intrinsic as intrinsic, value as value

_cuda = _core.cuda
_NOTHING = object()
_TYPES = ("dtype", "signature", "sig")  # keywords that choose among types of compiled code


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

    def __init__(self, compiled) -> None:
        self.name = compiled.__name__
        self.copies: list[tuple] = []

    def take(self, value):
        if isinstance(value, np.ma.MaskedArray):
            raise TypeError(f"{self.name}: an argument is a masked array, whose mask compiled code would ignore; pass its .data and its .mask")
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
def forall(compiled, *args, progress=None, **kwargs):
    """The body for one index after the other."""
    taken = _Arguments(compiled)

    def loop(space, given):
        values = [taken.take(value) for value in given]
        ranges = [range(start, start + step * n, step) for start, step, n in space]
        for index in _told(_product(*ranges), progress, math.prod(map(len, ranges)), compiled.__name__):
            compiled.py_func(*index, *values)

    _core._call_with_loop(loop, compiled, args, kwargs)
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


@_quietly
def launch(launcher, *args, **kwargs):
    """kernel[grid, block](...), kernel.forall(n)(...)."""
    kernel = launcher.kernel
    grid, block = launcher.griddim, launcher.blockdim
    if launcher.ntasks is not None:
        width = launcher.thread_per_block or 32
        grid, block = (-(-launcher.ntasks // width), 1, 1), (width, 1, 1)
    taken = _Arguments(kernel)
    args = [taken.take(value) for value in args]
    kwargs = {name: taken.take(value) for name, value in kwargs.items()}
    _python_threads.run(kernel.py_func, grid, block, launcher.sharedmem, args, kwargs)
    taken.give_back()


@_quietly
def call(compiled, *args, **kwargs):
    """A function of lw.jit, called by a program or by another function."""
    if _python_threads.current() is not None:
        return compiled.py_func(*args, **kwargs)
    taken = _Arguments(compiled)
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


# ---- calls whose arguments are those of compiled code ----


class _OnHost:
    """Arrays of a GPU as arrays of the host, for the time of a call."""

    def __init__(self) -> None:
        self.copies: list[tuple] = []

    def take(self, value):
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return tuple(map(self.take, value))
        if isinstance(value, np.ndarray) or not _cuda._is_device_array(value):
            return value
        device = _cuda._as_device_array(value)
        self.copies.append((value, device, device.copy_to_host()))
        return self.copies[-1][2]

    def give_back(self, result):
        """What the call returns: a new array stands for one on a GPU where an argument is there."""
        for _, device, host in self.copies:
            device.copy_to_device(host)
        return tuple(map(self._returned, result)) if isinstance(result, tuple) else self._returned(result)

    def _returned(self, result):
        for value, _, host in self.copies:
            if result is host:
                return value
        if self.copies and type(result) is np.ndarray:
            from lanewise._host_cuda import HostArray

            return result.view(HostArray)
        return result


def _compiled_call(loop, compiled, args, kwargs):
    """The call as compiled code makes it, which runs the loop; _NOTHING: the function cannot be compiled for these arguments."""
    ran = False

    def run(*given):
        nonlocal ran
        ran = True
        loop(*given)

    try:
        return _core._call_with_loop(run, compiled, args, kwargs)
    except (errors.TypingError, errors.UnsupportedError):
        if ran or any(kwargs.get(name) is not None for name in _TYPES):  # of a function that the user's calls; or for these types
            raise
        return _NOTHING


def _refuse_types(compiled, kwargs) -> None:
    for name in _TYPES:
        if kwargs.get(name) is not None:
            raise errors.UnsupportedError(f"{compiled.__name__}: {name}= chooses among types of compiled code, and with target=\"python\" there are "
                                          "none for operands that are objects")


def _for_host(compiled):
    """The same object, which leaves arrays of the host where they are."""
    if _options(compiled).get("target") != "cuda":
        return compiled
    from lanewise._verify import _twin

    return _twin(compiled, target="cpu")


class _Values:
    """The values of one result, whose dtype is that of all of them: numbers stand for them in an array, until all are known."""

    def __init__(self) -> None:
        self.out: np.ndarray | None = None
        self.numbers: np.ndarray | None = None  # in place of `out`, at first those of its own elements
        self.first = 0  # the number of the first value
        self.values: list = []

    def stand_for(self, out):
        """What is passed as out=."""
        if not isinstance(out, np.ndarray):
            return out
        self.out, self.first, self.numbers = out, out.size, np.arange(out.size).reshape(out.shape)
        self.numbers.flags.writeable = out.flags.writeable
        return self.numbers

    def add(self, value) -> int:
        self.values.append(value)
        return self.first + len(self.values) - 1

    def before(self, number):
        """What an element was before it got a value."""
        return self.out.flat[number] if self.out is not None else 0

    def result(self, numbers, casting, operands, name):
        """The array, or scalar, of the values."""
        table = _table(self.values, operands)
        valid = (np.asarray(numbers) >= self.first) & (np.asarray(numbers) < self.first + len(self.values))
        found = table[np.asarray(numbers)[valid] - self.first]
        if self.out is not None and numbers is self.numbers:
            if not np.can_cast(table.dtype, self.out.dtype, casting):
                raise TypeError(f"{name}: out= has dtype {self.out.dtype}, which cannot take results of {table.dtype} by the rule {casting!r}")
            self.out[valid] = found
            return self.out
        if not isinstance(numbers, np.ndarray):
            return found[0]
        made = np.empty_like(numbers, table.dtype)
        made.view(np.ndarray)[valid] = found
        return made


def _table(values, operands):
    """The values as an array of one dimension: of objects, where they are such."""
    if any(map(_objects._is_object, values)):
        made = np.zeros(len(values), _objects._dtype_of_object(values[0]))
    else:
        made = np.empty(len(values), _common(values, operands))
    for i, value in enumerate(values):
        made[i] = value
    return made


def _common(values, operands):
    """The dtype of what a function gave, by NumPy's rules."""
    kinds = {(type(v), getattr(v, "dtype", None)): v for v in values}
    return np.result_type(*(kinds.values() or map(np.asarray, operands)))


# ---- ufuncs and gufuncs ----


def _apart(ufunc) -> set:
    """Parameters that are no operands."""
    options = _options(ufunc)
    return {*_names(options.get("excluded")), *_names(options.get("static"))}


def _filled(ufunc) -> list:
    """Of a gufunc, the parameters that are outputs; none: the function returns them."""
    if ufunc._layout is None:
        return []
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
    constants = {name: _Arguments(ufunc).take(given.pop(name)) for name in list(given) if name in apart}
    return given, constants, args[len(names):]


def _operand_names(ufunc, args, kwargs):
    """(names of the operands in their order, constants by name) of a call."""
    parameters = inspect.signature(ufunc.py_func).parameters
    if _apart(ufunc):
        given, constants, _ = _place(ufunc, args, dict(kwargs))
        return [name for name in parameters if name in given], constants
    if ufunc._layout is not None:
        return [p.name for p in parameters.values() if _is_needed(p)][:ufunc.nin], {}
    return list(parameters), {}


def _caller(function, names, constants):
    """The function of operands with these names, in this order."""
    parameters = inspect.signature(function).parameters
    if names == list(parameters)[:len(names)] and all(parameters[n].kind is not inspect.Parameter.KEYWORD_ONLY for n in names):
        return functools.partial(function, **constants)
    return lambda *values: function(**dict(zip(names, values)), **constants)


def _run_elements(ufunc, names, constants, arrays) -> None:
    outputs = [_plain(a) for a in arrays[len(arrays) - ufunc.nout:]]
    inputs = [_plain(a) for a in arrays[:min(len(names), len(arrays) - ufunc.nout)]]
    call = _caller(ufunc.py_func, names[:len(inputs)], constants)
    for i in range(len(arrays[0])):
        results = call(*(a[i] for a in inputs))
        for out, one in zip(outputs, results if ufunc.nout > 1 else (results,), strict=True):
            out[i] = one


def _indexed(function) -> frozenset:
    """Parameters that the function indexes."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return frozenset()
    return frozenset(node.value.id for node in ast.walk(tree)
                     if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name))


def _item(array, i, indexed):
    """Item i as functions take it: a number, or where the function indexes it an array of one."""
    return array[i:i + 1] if array.ndim == 1 and indexed else array[i]


def _run_items(ufunc, names, constants, arrays) -> None:
    filled, indexed = _filled(ufunc), _indexed(ufunc.py_func)
    inputs = [_plain(a) for a in arrays[:len(names)]]
    outputs = [_plain(a) for a in arrays[len(arrays) - ufunc.nout:]] if ufunc.nout else []
    call = _caller(ufunc.py_func, names + filled, constants)
    for i in range(len(arrays[0])):
        values = [_item(a, i, name in indexed) for name, a in zip(names, inputs)]
        if filled or not outputs:
            call(*values, *(_item(out, i, True) for out in outputs))
            continue
        results = call(*values)
        for out, one in zip(outputs, results if ufunc.nout > 1 else (results,), strict=True):
            out[i] = one


def _stand_in(ufunc, names, signatures=None):
    """A compiled function with these operands, and the layout of one that cannot be compiled."""
    filled = _filled(ufunc)
    stores = "".join(f"    {name}[...] = 0\n" for name in filled) or "    pass\n"
    returned = f"    return {', '.join(['0'] * ufunc.nout)}\n"
    name = ufunc.__name__ if ufunc.__name__.isidentifier() else "function"
    text = f"def {name}({', '.join(names + filled)}):\n{returned if ufunc.nout and not filled else stores}"
    space = {"__name__": __name__}
    exec(text, space)
    declared = () if signatures is None else (signatures,)
    if ufunc._layout is None:
        return _core.vectorize(*declared, source=text)(space[name])
    sizes = {"sizes": _options(ufunc)["sizes"]} if _options(ufunc).get("sizes") else {}
    return _core.guvectorize(*declared, ufunc._layout, source=text, warn=False, **sizes)(space[name])


def _has_objects(operands) -> bool:
    return any(_objects._is_object(x) or _objects._class(x) is not None for x in operands)


@_quietly
def vectorize(ufunc, *args, **kwargs):
    """Element by element."""
    return _call(ufunc, _run_elements, args, kwargs)


@_quietly
def guvectorize(ufunc, *args, **kwargs):
    """Item by item."""
    return _call(ufunc, _run_items, args, kwargs)


def _call(ufunc, run, args, kwargs):
    host = _OnHost()
    args = tuple(map(host.take, args))
    kwargs = {name: host.take(value) for name, value in kwargs.items()}
    result = _NOTHING
    if not _has_objects(args):
        declared = ufunc.__dict__.get("_declared_signatures")
        compiled = _for_host(ufunc) if declared is None else _stand_in(ufunc, list(inspect.signature(ufunc.py_func).parameters)[:ufunc.nin], declared)
        result = _compiled_call(lambda *arrays: run(ufunc, *_operand_names(ufunc, args, kwargs), arrays), compiled, args, kwargs)
    if result is _NOTHING:
        result = _call_untyped(ufunc, args, kwargs)
    return host.give_back(result)


class _Table:
    """An operand that NumPy does not handle: numbers stand for its elements, which are objects, or numbers of Python."""

    def __init__(self, value) -> None:
        self.value = value
        array = value if isinstance(value, np.ndarray) else _boxed(value)
        self.flat = array.reshape(-1)
        self.numbers = np.arange(array.size).reshape(array.shape)

    def put(self, numbers, items) -> None:
        """After the function has written to the items."""
        self.flat[numbers] = items
        if not np.shares_memory(self.flat, self.value):
            self.value[...] = self.flat.reshape(self.value.shape)


def _boxed(value):
    """An array without axes, whose element is the object itself."""
    made = np.empty((), object)
    made[()] = value
    return made


def _as_operand(ufunc, value):
    if isinstance(value, tuple) and not _core._takes_as_object(ufunc, value):
        return value
    if type(value) in (int, float, complex) or _objects._is_object(value) or _objects._class(value) is not None:
        return _Table(value)
    return value


def _call_untyped(ufunc, args, kwargs):
    """Of a function without types: its operands are handled as those of a compiled one, and so are the numbers of its results."""
    _refuse_types(ufunc, kwargs)
    kwargs = dict(kwargs)
    given, constants, positional = _place(ufunc, args, kwargs)
    operands = {name: _as_operand(ufunc, value) for name, value in given.items()}
    results = [_Values() for _ in range(ufunc.nout)]
    if kwargs.get("out") is not None:
        out = kwargs["out"]
        kwargs["out"] = tuple(r.stand_for(o) for r, o in zip(results, out)) if isinstance(out, tuple) and len(out) == len(results) else results[0].stand_for(out)
    positional = (*(r.stand_for(o) for r, o in zip(results, positional)), *positional[len(results):])
    written = set(given) if not ufunc.nout else {list(given)[w] if isinstance(w, int) else w for w in _writable(ufunc)}

    def run(*arrays):
        chunk = [x.flat[a] if isinstance(x, _Table) else a for x, a in zip(operands.values(), arrays)]
        _run_untyped(ufunc, list(operands), constants, chunk, arrays[len(arrays) - ufunc.nout:] if ufunc.nout else (), results)
        for (name, x), a, items in zip(operands.items(), arrays, chunk):
            if name in written and isinstance(x, _Table):
                x.put(a, items)

    passed = [x.numbers if isinstance(x, _Table) else x for x in operands.values()]
    numbers = _core._call_with_loop(run, _stand_in(ufunc, list(operands)), (*passed, *positional), kwargs)
    if not results:
        return None
    casting = kwargs.get("casting", "same_kind")
    made = [r.result(n, casting, given.values(), ufunc.__name__) for r, n in zip(results, numbers if len(results) > 1 else (numbers,))]
    return made[0] if len(made) == 1 else tuple(made)


def _writable(ufunc) -> tuple:
    given = _options(ufunc).get("writable_args")
    return (given,) if isinstance(given, int) else _names(given)


def _run_untyped(ufunc, names, constants, inputs, outputs, results) -> None:
    filled, indexed = _filled(ufunc), _indexed(ufunc.py_func) if ufunc._layout is not None else ()
    call = _caller(ufunc.py_func, names + filled, constants)
    inputs = list(map(_plain, inputs))
    for i in range(len(inputs[0] if inputs else outputs[0])):
        values = [_item(a, i, name in indexed) for name, a in zip(names, inputs)]
        items = [np.empty(out.shape[1:] or 1, object) for out in outputs] if filled else []
        for item, out, result in zip(items, outputs, results):
            item.flat[:] = [result.before(number) for number in out[i:i + 1].flat]
        returned = call(*values, *items)
        for item, out, result in zip(items or (returned if ufunc.nout > 1 else (returned,)), outputs, results):
            elements = item.flat if items else np.asarray(item).flat if out.ndim > 1 else (item,)
            out[i:i + 1].flat[:] = [result.add(element) for element in elements]


def _layout(text):
    """The core dimensions of inputs and outputs: lists of names, sizes as digits; optional ones end in '?'."""
    sides = []
    for side in text.replace(" ", "").split("->"):
        cores = side[1:-1].split("),(") if side else []
        sides.append([[d for d in core.split(",") if d] for core in cores])
    return sides[0], sides[1] if len(sides) > 1 else []


# ---- reductions ----


def _unpacks(function, k: int) -> bool:
    return len(inspect.signature(function).parameters) != k


def _cast(value, dtypes):
    """The numbers of an accumulator in its dtypes."""
    if isinstance(value, tuple):
        return tuple(_cast(one, dtypes) for one in value)
    dtype = next(dtypes)
    return bool(value) if dtype == np.bool_ else np.asarray(value).astype(dtype)[()]


def _numbers(value) -> list:
    return [number for one in value for number in _numbers(one)] if isinstance(value, tuple) else [value]


def _fold(reduction, elements, total, indexed, cast):
    """The accumulator of (position, values) of elements, from left to right."""
    map_one, combine = _options(reduction).get("map"), reduction.py_func
    for position, values in elements:
        if map_one is not None:
            one = map_one(*values, position) if indexed else map_one(*values)
        else:
            one = values[0] if len(values) == 1 else tuple(values)
        one = cast(one)
        if total is not _NOTHING:
            one = cast(combine(*total, *one) if isinstance(one, tuple) and _unpacks(combine, 2) else combine(total, one))
        total = one
    return total


def _run_reduction(reduction, progress, fold, operands, mask, shape, reduced, rooms) -> None:
    """Stores fold(elements) for each result: (position, values) of the elements that where= selects."""
    kept = [d for d, is_reduced in enumerate(reduced) if not is_reduced]
    order = (*kept, *(d for d, is_reduced in enumerate(reduced) if is_reduced))
    places = tuple(shape[d] for d in kept)
    views = [_plain(np.broadcast_to(a, shape, subok=True).transpose(order)) for a in operands]
    inside = None if mask is None else np.broadcast_to(mask, shape).transpose(order)
    rooms = [room.reshape(places) for room in rooms]
    for place in _told(np.ndindex(places), progress, math.prod(places), reduction.__name__):
        rows = [view[place + (...,)] for view in views]
        elements = ((position, [row[i] for row in rows]) for position, i in enumerate(np.ndindex(rows[0].shape))
                    if inside is None or inside[place][i])
        for room, number in zip(rooms, fold(elements), strict=True):
            room[place] = number


def _finished(reduction, total):
    finish = _options(reduction).get("finish")
    if finish is None:
        return total
    return finish(*total) if isinstance(total, tuple) and _unpacks(finish, 1) else finish(total)


@_quietly
def reduce(reduction, *arrays, **kwargs):
    """Element by element, from left to right."""
    host = _OnHost()
    arrays = tuple(map(host.take, arrays))
    kwargs = {name: host.take(value) for name, value in kwargs.items()}
    result = _NOTHING if _has_objects(arrays) else _reduce_typed(reduction, arrays, kwargs)
    if result is _NOTHING:
        result = _reduce_untyped(reduction, arrays, kwargs)
    return host.give_back(result)


def _reduce_typed(reduction, arrays, kwargs):
    def loop(operands, mask, shape, reduced, dtypes, empty, begins, indexed, results):
        def cast(value):
            return _cast(value, iter(dtypes))

        def fold(elements):
            total = _fold(reduction, elements, cast(empty) if begins else _NOTHING, indexed, cast)
            return _numbers(_finished(reduction, cast(empty) if total is _NOTHING else total))

        _run_reduction(reduction, kwargs.get("progress"), fold, operands, mask, shape, reduced, results)

    return _compiled_call(loop, _for_host(reduction), arrays, kwargs)


def _initial(reduction, kwargs):
    """What each result begins with, and what nothing is reduced to."""
    if "init" in kwargs and "initial" in kwargs:
        raise TypeError(f"{reduction.__name__}() got both initial= and init=: give one")
    initial = kwargs.pop("init", kwargs.pop("initial", np._NoValue))
    begins = initial is not None and initial is not ... and initial is not np._NoValue
    empty = initial if begins else _options(reduction).get("identity") if initial is not None else None
    return (initial if begins else _NOTHING), (_NOTHING if empty is None else empty)


def _reduce_untyped(reduction, arrays, kwargs):
    """Of functions without types, and of objects: numbers stand for the results, as in _call_untyped."""
    _refuse_types(reduction, kwargs)
    kwargs = dict(kwargs)
    initial, empty = _initial(reduction, kwargs)
    result, res = _Values(), kwargs.pop("res", None)
    out = kwargs.get("out")
    kwargs["out"] = tuple(map(result.stand_for, out)) if isinstance(out, tuple) and len(out) == 1 else result.stand_for(out)
    map_one = _options(reduction).get("map")
    indexed = map_one is not None and list(inspect.signature(map_one).parameters)[len(arrays):] == ["index"]
    objects = [np.asarray(a) if isinstance(a, np.ndarray) and a.dtype.names is not None else None for a in arrays]

    def fold(elements):
        total = _fold(reduction, elements, initial, indexed, lambda value: value)
        if total is _NOTHING and empty is _NOTHING:
            raise ValueError(f"zero-size array to reduction operation {reduction.__name__} which has no identity")
        total = _finished(reduction, empty if total is _NOTHING else total)
        if isinstance(total, tuple):
            raise errors.UnsupportedError(f"{reduction.__name__}: reductions with several results that cannot be compiled do not work with "
                                          "target=\"python\": let finish= return one of them")
        return [result.add(total)]

    def loop(operands, mask, shape, reduced, dtypes, empty, begins, indexed, results):
        own = [a if found is None else found[:len(a)] if a.ndim else found for a, found in zip(operands, objects)]
        _run_reduction(reduction, kwargs.get("progress"), fold, own, mask, shape, reduced, results)

    names = ", ".join(f"x{i}" for i in range(len(arrays)))
    space = {"__name__": __name__}
    text = f"def zero({names}):\n    return 0\n"
    exec(text, space)
    stand_in = _core.reduce(map=space["zero"], combine=lambda a, b: a, identity=0)
    stand_in.__name__ = reduction.__name__
    passed = tuple(a if found is None else np.zeros(found.shape, "i1") for a, found in zip(arrays, objects))
    numbers = _core._call_with_loop(loop, stand_in, passed, kwargs)
    made = result.result(numbers, "same_kind", arrays, reduction.__name__)
    if res is None:
        return made
    res[0] = made
    return None
