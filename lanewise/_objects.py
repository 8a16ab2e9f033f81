"""Ufuncs and reductions of objects.

Operands that are objects of a user's class, or arrays of them (`lanewise.extending.dtype_of`), and results that are. A call
with such a one goes to another ufunc, made here, whose operands are the fields: its function builds the objects of them, calls
the user's function and returns the fields of what that gives. So loops, casts, targets and threads are those of every ufunc,
and no memory holds an object but the arrays.

What the user's function gives for these types is asked of `lanewise.jit` (`_core._form_of_call`): None, the name of a dtype, or
(class, names, forms of the items).
"""

from __future__ import annotations

import enum
import inspect
import itertools
import keyword
import re
import weakref

import numpy as np

import lanewise as lw
from lanewise import _core, _elements, _struct_types, _texts
from lanewise._containers import is_dask, is_lazy, refuse_loss, with_library

_cuda = _core.cuda
_made: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # compiled object -> {key: what was made for it}
_number = itertools.count()
_ABSENT = object()  # no out= is given; NumPy tells out=None from it


# ---- operands ----


def _dtype_of_object(value):
    """The dtype that an object has as a record: as its class says, else as its fields are now."""
    cls = type(value)
    try:
        return _elements.dtype_for(cls, {})
    except TypeError:
        names = _field_names(value)
        return _elements.dtype_for(cls, {name: _dtype_of_field(cls, name, getattr(value, name)) for name in names}, has_fields=bool(names))


def _dtype_of_field(cls, name, value):
    if _is_object(value) and not isinstance(value, np.void):
        return _dtype_of_object(value)
    if not _is_number(value) and _class(value) is None:
        raise TypeError(f"an object of class `{cls.__name__}` is taken as an element of an array here, so that its fields must be numbers, or objects of such, and its "
                        f"field `{name}` is {_a(type(value))}; pass the field as an argument of its own, or the object to forall or to lanewise.jit")
    return np.asarray(value).dtype


def dtype_of_type(type_):
    """The same of the type of an object (lanewise.types.Object)."""
    return _elements.dtype_for(type_.cls, {name: dtype_of_type(one) if isinstance(one, lw.types.Object) else np.dtype(one.dtype) for name, one in type_.fields.items()},
                               has_fields=bool(type_.fields))


def leaves_of_type(type_):
    """(type, False) of each number in an object of this type: in a call, it would not be a number of Python."""
    return [leaf for one in type_.fields.values() for leaf in (leaves_of_type(one) if isinstance(one, lw.types.Object) else [(one, False)])]


def _is_device(value):
    return _cuda._is_device_array(value)


def _is_object(value):
    if isinstance(value, tuple):
        return type(value) is not tuple and hasattr(value, "_fields")
    return not isinstance(value, (np.ndarray, np.generic, int, float, complex)) and not _is_device(value) and _core._fields_of_object(value) is not None


def _check_plain(cls):
    """Elements of arrays are objects by their fields: of types with a model they would not have the members, nor the overloads."""
    if cls is not None and _struct_types.typeof_impl.dispatch(cls) is not None:
        raise TypeError(f"an operand of class `{cls.__name__}`, whose objects have a type with a model (typeof_impl): such objects can be arguments "
                        "of lanewise.jit and forall, but not elements of arrays")


class _Apart:
    """An operand that is one object whose fields are not all numbers, so that no element of an array can be it. The numbers in it
    become operands, and its arrays and records excluded arrays; None and members of enum classes are constants.

    form: what it is made of, to compare and to build it: a word, and what goes with it. example: an object of the same types.
    names: what `wholes` are called, by their paths.
    """

    shape, ndim = (), 0

    def __init__(self, called, path, value):
        self.called, self.numbers, self.wholes, self.names = called, [], [], []
        self.form, self.example = self._take(path, value)

    def _take(self, path, value):
        if path.count(".") + path.count("[") > _DEEPEST:
            raise ValueError(f"`{self.called}`: argument `{path}`: objects nested more than {_DEEPEST} deep")
        if value is None or (isinstance(value, enum.Enum) and not isinstance(value, (int, float))):
            return ("constant", type(value), value), value
        if isinstance(value, np.void) and value.dtype.names is not None and _class(value) is None:
            return self._take_whole("record", path, _readonly(np.array([value]))), value
        if _is_array(value):
            return self._take_whole("array", path, value), value
        if type(value) is slice:
            forms, parts = self._take_all({f"{path}.{name}": getattr(value, name) for name in ("start", "stop", "step")})
            return ("slice", forms), slice(*parts)
        if type(value) is tuple:
            forms, parts = self._take_all({f"{path}[{k}]": one for k, one in enumerate(value)})
            return ("tuple", forms), tuple(parts)
        if _is_object(value):
            return self._take_object(path, value)
        number = np.asarray(value) if isinstance(value, (bool, int, float, complex, np.generic, np.ndarray)) else None
        if number is None or number.dtype.kind in "OSUV":
            self._refuse(path, value)
        self.numbers.append(number)
        return ("number",), number[()]

    def _refuse(self, path, value):
        shown = f"{value!r:.100}, which has more than 64 bits" if isinstance(value, int) else _a(type(value))
        hint = ("; pass a tuple, tuple(x)" if isinstance(value, list) else
                f"; or name `{re.split('[.[]', path)[0]}` in static=, which makes the object a constant" if isinstance(value, str) else "")
        raise TypeError(f"`{self.called}`: argument `{path}` is {shown}; expected an array, a number, a record, None, a member of an enum class, or an object or tuple "
                        f"of these{hint}")

    def _take_all(self, parts):
        taken = [self._take(path, value) for path, value in parts.items()]
        return tuple(form for form, _ in taken), [example for _, example in taken]

    def _take_whole(self, word, path, value):
        refuse_loss(f"`{self.called}`: argument `{path}`", value, labels=None)
        self.wholes.append(value)
        self.names.append(path)
        return (word,)

    def _take_object(self, path, value):
        cls, names = type(value), _field_names(value)
        _check_plain(cls)
        forms, parts = self._take_all({f"{path}.{name}": getattr(value, name) for name in names})
        return ("object", cls, names, forms), _object_of(cls, dict(zip(names, parts)))


_DEEPEST = 8  # as in arguments of jit


def _is_array(value):
    """Is it an array with axes, of whichever library?"""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.ndim > 0
    return any(hasattr(type(value), name) for name in ("__array__", "__dlpack__", "__cuda_array_interface__"))


def _a(cls):
    name = cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__.partition('.')[0]}.{cls.__name__}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _field_names(value):
    return tuple(value._fields if isinstance(value, tuple) else _core._fields_of_object(value))


def _object_of(cls, values):
    if issubclass(cls, tuple):
        return cls(**values)
    made = object.__new__(cls)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def _says_types(cls):
    """Whether the class itself says which numbers its fields are."""
    try:
        return _elements.dtype_for(cls, {}) is not None
    except TypeError:
        return False


def _is_record(value, deep=0):
    """Are the fields of an object numbers, or objects of such?"""
    if isinstance(value, np.void) or _says_types(type(value)):
        return True
    fields = [getattr(value, name) for name in _field_names(value)]
    return deep < _DEEPEST and all(_is_record(one, deep + 1) if _is_object(one) else _is_number(one) for one in fields)


def _is_number(value):
    if isinstance(value, int):
        return -(2**63) <= value < 2**64
    return isinstance(value, (float, complex)) or (isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0 and not isinstance(value, np.void)
                                                               and value.dtype.kind in "biufcV")


def _operand(called, path, value):
    """An operand as an array, as a number, or as an object that is taken apart, for the function that errors call so; path: its
    parameter."""
    return _Apart(called, path, value) if _is_object(value) and not _is_record(value) else _array(value)


def _array(value):
    """An operand as an array, or as the number that it is. An object becomes an array without axes."""
    _check_plain(_class(value) if hasattr(value, "dtype") else type(value))
    if _is_device(value):
        return _cuda._as_device_array(value)
    if isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, np.ndarray):
        return value  # of a subclass, too: NumPy gives such a result
    if isinstance(value, np.void) or not _is_object(value):
        return np.asarray(value)
    return _elements.array_of([value], _dtype_of_object(value)).reshape(())


def _answers_ufuncs(value):
    """Whether it is an array of another library that calls of ufuncs are left to."""
    return getattr(type(value), "__array_ufunc__", None) is not None and isinstance(getattr(value, "dtype", None), np.dtype)


def _class(operand):
    dtype = getattr(operand, "dtype", None)
    return _elements.class_of(dtype) if isinstance(dtype, np.dtype) else None


def _leaves(dtype, path=()):
    """(path, dtype) of each number in a record."""
    if dtype.names is None:
        return [(path, dtype)]
    return [leaf for name in dtype.names for leaf in _leaves(dtype[name], (*path, name))]


def _at(array, path):
    for name in path:
        array = array[name]
    return array


def _example(operand):
    """A value of the operand's type of elements, for `_form_of_call`."""
    if isinstance(operand, _Apart):
        return operand.example
    dtype = getattr(operand, "dtype", None)
    return operand if dtype is None else _value_of(dtype)


def _value_of(dtype):
    if dtype.names is None:
        return np.zeros((), dtype)[()]
    cls, values = _elements.class_of(dtype), {name: _value_of(dtype[name]) for name in dtype.names}
    if cls is None:
        raise TypeError(f"a record of {dtype!r:.200} among objects: make its class with fields, and its dtype with lanewise.extending.dtype_of")
    return _object_of(cls, values)


# ---- forms of results ----


def _is_objects(form):
    """Whether there is an object in it, at any depth."""
    return isinstance(form, tuple) and (form[0] is not None or any(map(_is_objects, form[2])))


def _dtype_of_form(form):
    if not isinstance(form, tuple):
        return np.dtype(getattr(lw.types, form).dtype) if form != "bool" else np.dtype(bool)
    return _elements.dtype_of(form[0], **{name: _dtype_of_form(item) for name, item in zip(form[1], form[2])})


def _check_form(what, form):
    if isinstance(form, tuple) and form[0] is not None and (not isinstance(form[0], type) or _struct_types.typeof_impl.dispatch(form[0]) is not None):
        raise TypeError(f"`{what}` gives an object of type {getattr(form[0], '__name__', form[0])}, which has a model (typeof_impl): an element of an "
                        "array cannot be one; return its members")
    if form is None or form == "array" or (isinstance(form, tuple) and form[0] is None):
        raise TypeError(f"`{what}` gives {'None' if form is None else 'an array' if form == 'array' else 'a tuple in a tuple'}, which an element of "
                        "an array cannot be")
    if isinstance(form, tuple):
        for item in form[2]:
            _check_form(what, item)


def _outputs(what, form):
    """The forms of the outputs."""
    outputs = list(form[2]) if isinstance(form, tuple) and form[0] is None else [form]
    for output in outputs:
        _check_form(what, output)
    return outputs


# ---- functions of fields ----


class _Writer:
    """Writes a function in the language of compiled functions, line by line."""

    def __init__(self, name):
        self.name = name if name.isidentifier() and not keyword.iskeyword(name) else "function"
        self.names, self.lines, self.n = {}, [], 0
        self.numbers, self.wholes = [], []  # parameters

    def constant(self, value):
        for name, known in self.names.items():
            if known is value:
                return name
        name = f"_{getattr(value, '__name__', 'value')}_{len(self.names)}"
        name = name if name.isidentifier() else f"_value_{len(self.names)}"
        self.names[name] = value
        return name

    def number(self):
        """The next parameter that is a number."""
        self.numbers.append(f"x{len(self.numbers)}")
        return self.numbers[-1]

    def whole(self, path):
        """The next parameter that is an excluded array, which errors call so."""
        name = re.sub(r"\W+", "_", path).strip("_")
        while name in self.wholes or re.fullmatch(r"[xo]\d+", name):
            name += "_"
        self.wholes.append(name)
        return name

    def operand(self, operand):
        """The value of an operand whose numbers and arrays are the next parameters."""
        if isinstance(operand, _Apart):
            numbers, wholes = [self.number() for _ in operand.numbers], [self.whole(path) for path in operand.names]
            return self.build_apart(operand.form, iter(numbers), iter(wholes))
        if _class(operand) is None:
            return self.number()
        return self.build(operand.dtype, iter([self.number() for _ in _leaves(operand.dtype)]))

    def build_apart(self, form, numbers, wholes):
        """The object of such a form."""
        word = form[0]
        if word == "constant":
            return "None" if form[2] is None else self.constant(form[2])
        if word in ("number", "array", "record"):
            return next(numbers) if word == "number" else next(wholes) + "[0]" * (word == "record")
        parts = [self.build_apart(one, numbers, wholes) for one in form[-1]]
        if word == "object":
            return self.make(form[1], dict(zip(form[2], parts)))
        return f"slice({', '.join(parts)})" if word == "slice" else f"({', '.join(parts)}{',' * (len(parts) == 1)})"

    def variable(self):
        self.n += 1
        return f"_v{self.n}"

    def build(self, dtype, leaves):
        """An object of the variables that `leaves` gives one after the other; its variable."""
        if dtype.names is None:
            return next(leaves)
        items = {name: self.build(dtype[name], leaves) for name in dtype.names}
        return self.make(_elements.class_of(dtype), items)

    def build_form(self, form, leaves):
        """The same of a form."""
        if not isinstance(form, tuple):
            return next(leaves)
        items = [self.build_form(item, leaves) for item in form[2]]
        if form[0] is not None:
            return self.make(form[0], dict(zip(form[1], items)))
        return f"({', '.join(items)}{',' * (len(items) == 1)})"

    def make(self, cls, items):
        made = self.variable()
        if issubclass(cls, tuple):
            self.lines.append(f"{made} = {self.constant(cls)}({', '.join(f'{name}={value}' for name, value in items.items())})")
            return made
        self.lines.append(f"{made} = object.__new__({self.constant(cls)})")
        self.lines += [f"object.__setattr__({made}, {name!r}, {value})" for name, value in items.items()]
        return made

    def flatten(self, form, value):
        """Expressions of the numbers in a value of this form."""
        if not isinstance(form, tuple):
            return [value]
        parts = [f"{value}.{name}" for name in form[1]] if form[1] is not None else [f"{value}[{k}]" for k in range(len(form[2]))]
        return [leaf for part, item in zip(parts, form[2]) for leaf in self.flatten(item, part)]

    def function(self, parameters, like):
        """The function, which inspect and the compiler find the text of."""
        path = f"<lanewise objects {next(_number)}>"
        text = f"def {self.name}({', '.join(parameters)}):\n" + "".join(f"    {line}\n" for line in self.lines)
        made = _texts.run(text, path, dict(self.names))[self.name]
        made.__module__ = getattr(like, "__module__", __name__)
        made.__name__ = getattr(like, "__name__", self.name)
        made._lanewise_part_of = like  # for profiles (core/py/compiled/entry.c)
        return made


def _n_leaves(form):
    return sum(map(_n_leaves, form[2])) if isinstance(form, tuple) else 1


# ---- what was made before ----


def _kept(compiled, key, make):
    """What was made for this object and key."""
    table = _made.setdefault(compiled, {})
    if key not in table:
        table[key] = make()
    return table[key]


_NOT_FOR_JIT = ("identity", "target", "excluded", "static", "source", "order", "writable_args", "sizes", "errors", "map", "finish", "commutative", "ndim")


def _probe(compiled, function):
    options = {name: value for name, value in compiled._state()["options"].items() if name not in _NOT_FOR_JIT}
    return _kept(compiled, ("probe", function), lambda: lw.jit(function, **options))


def _form(compiled, function, examples):
    return _core._form_of_call(_probe(compiled, function), *examples)


def _refuse_keywords(compiled, kwargs, allowed):
    for name in kwargs:
        if name not in allowed:
            raise TypeError(f"`{compiled.__name__}` got {name}=, which a call with objects does not take; expected {', '.join(allowed)}")


def _refuse_options(compiled, state, names=()):
    for name in names:
        if state["options"].get(name):
            raise TypeError(f"`{compiled.__name__}` has {name}=, and an operand is an object or an array of objects: pass its fields")
    if state["signatures"] is not None:
        raise TypeError(f"no signature of `{compiled.__name__}` takes an object: signatures name numbers; leave them out")


# ---- excluded= and static= ----


def parameter_names(given, parameters):
    """The parameters that excluded= or static= names or counts."""
    given = (given,) if isinstance(given, (str, int)) else tuple(given or ())
    return {one if isinstance(one, str) else parameters[one] for one in given}


class _Placed:
    """The arguments of a call by their parameters: operands, and what is beside them. count_defaults: a parameter with a default
    to which the call gives a value is an operand as well.

    function: that of the operands (and of outputs that it fills), followed by the excluded arrays; static values are constants
    of it. It is the user's where there is neither.
    """

    def __init__(self, compiled, args, kwargs, filled=(), count_defaults=False):
        options, self.function, self.excluded, self.wholes = compiled._state()["options"], compiled.py_func, [], []
        self.operands, self.outputs = (), ()
        of_function = inspect.signature(compiled.py_func).parameters
        parameters = self.names = list(of_function)  # of the operands, the first ones
        static, excluded = parameter_names(options.get("static"), parameters), parameter_names(options.get("excluded"), parameters)
        names = [name for name in parameters if name not in filled]
        by_place = [name for name in names if of_function[name].kind is not inspect.Parameter.KEYWORD_ONLY]
        n_given = min(len(args), len(by_place)) + sum(name in kwargs for name in names)
        if not static and not excluded and not (count_defaults and n_given > compiled.nin):
            return
        given = dict(zip(by_place, args))
        for name in [name for name in names if name in kwargs]:
            if name in given:
                raise TypeError(f"{compiled.__name__}() got multiple values for argument {name!r}")
            given[name] = kwargs.pop(name)
        missing = [name for name in names if name not in given and of_function[name].default is inspect.Parameter.empty]
        if missing:
            raise TypeError(f"{compiled.__name__}() missing a required argument: {missing[0]!r}")
        constants = {name: value for name, value in given.items() if name in static}
        self.excluded = [name for name in given if name in excluded and not _core._takes_as_object(compiled, given[name])]
        self.wholes = [_readonly(np.array(given[name])) if type(given[name]) in (list, tuple) else given[name] for name in self.excluded]
        beside = {*constants, *self.excluded}
        self.operands, self.outputs = tuple(given[name] for name in given if name not in beside), args[len(by_place):]
        self.names = order = [name for name in given if name not in beside]
        key = ("bound", tuple(order), tuple(self.excluded), *((name, _static_key(compiled, name, value)) for name, value in constants.items()))
        self.function = _kept(compiled, key, lambda: self._bound(compiled, [*order, *filled], constants))

    def _bound(self, compiled, order, constants):
        write = _Writer(compiled.py_func.__name__)
        parameters = [*order, *self.excluded]
        given = [f"{name}={name}" for name in parameters]
        given += [f"{name}={write.constant(value)}" for name, value in constants.items()]
        write.lines.append(f"return {write.constant(compiled.py_func)}({', '.join(given)})")
        return write.function(parameters, compiled.py_func)


def _static_key(compiled, name, value):
    """As numbers that compare equal are not the same constant."""
    try:
        hash(value)
    except TypeError:
        raise TypeError(f"{compiled.__name__}: static argument `{name}` must be hashable (a number, bool, str, None, a type, a function, or a tuple of "
                        f"these), not {type(value).__name__}" + ("; make its class a dataclass with frozen=True, or take the parameter out of static=, as an "
                                                                 "object may be an argument like a number" if _is_object(value) else "")) from None
    return type(value), repr(value) if isinstance(value, (float, complex)) else value


# ---- vectorize ----


def _of_fields(ufunc, operands, form, placed):
    """The ufunc of the fields of these operands; excluded arrays are behind them."""
    write = _Writer(ufunc.py_func.__name__)
    given = [write.operand(operand) for operand in operands] + [write.whole(name) for name in placed.excluded]
    if not write.numbers:
        write.number()  # _fields() gives a 0 for it
    write.lines.append(f"result = {write.constant(placed.function)}({', '.join(given)})")
    write.lines.append(f"return {', '.join(write.flatten(form, 'result'))}")
    options = {name: value for name, value in ufunc._state()["options"].items() if name not in ("excluded", "static", "source", "identity")}
    return lw.vectorize(write.function([*write.numbers, *write.wholes], ufunc.py_func), **options, **({"excluded": write.wholes} if write.wholes else {}))


def _fields(operands):
    """The operands with fields in the place of objects."""
    return [number for operand in operands for number in _numbers_of(operand)] or [np.zeros((), np.int8)]


def _numbers_of(operand):
    if isinstance(operand, _Apart):
        return operand.numbers
    return [_at(operand, path) for path, _ in (_leaves(operand.dtype) if _class(operand) is not None else [((), None)])]


def _wholes(operands, placed):
    """The arrays of a call that are excluded: those of objects, then the user's."""
    return [*(array for operand in operands if isinstance(operand, _Apart) for array in operand.wholes), *placed.wholes]


def _key_of(operand):
    """What the function of the fields depends on."""
    if isinstance(operand, _Apart):
        return operand.form
    return None if _class(operand) is None else (_class(operand), operand.dtype)


def _new_array(shape, dtype, operands, stream):
    if any(map(_is_device, operands)):
        return _cuda.device_array(shape, dtype, stream=stream) if stream is not None else _cuda.device_array(shape, dtype)
    stand_in = next((type(x) for x in operands if isinstance(x, np.ndarray) and isinstance(x, _cuda.DeviceArray)), np.ndarray)
    return np.empty(shape, dtype).view(stand_in)


def _one_out(positional, out):
    """Outputs are given behind the operands or by out=, as NumPy has it."""
    if positional and out is not _ABSENT:
        raise TypeError("cannot specify 'out' as both a positional and keyword argument")
    return positional or (None if out is _ABSENT else out)


def _counted(n, what):
    return f"{n} {what}{'s' * (n != 1)}"


def _given_outputs(compiled, out, n):
    outs = (None,) * n if out is None or out is ... else out if isinstance(out, tuple) else (out,)
    if len(outs) != n:
        raise ValueError(f"`{compiled.__name__}`: out= has {_counted(len(outs), 'array')}, and the function has {_counted(n, 'output')}")
    return outs


def _check_output(compiled, out, dtype):
    """Whether a given array has the fields of the result."""
    given = getattr(out, "dtype", None)
    if given is None or [path for path, _ in _leaves(given)] != [path for path, _ in _leaves(dtype)]:
        raise TypeError(f"`{compiled.__name__}`: out= is an array of {given!r:.100}; expected one of {dtype!r:.200}")


def _by_names(compiled, args, kwargs, n):
    """The operands of a call, those given by name in their places."""
    for name in list(inspect.signature(compiled.py_func).parameters)[len(args):n]:
        if name not in kwargs:
            break
        args = (*args, kwargs.pop(name))
    return args


def vectorize(ufunc, *args, out=_ABSENT, **kwargs):
    given, named = args, dict(kwargs)
    placed = _Placed(ufunc, args, kwargs, count_defaults=True)
    args = (*placed.operands, *placed.outputs) if placed.operands else _by_names(ufunc, args, kwargs, ufunc.nin)
    nin = len(placed.operands) or ufunc.nin
    _refuse_options(ufunc, ufunc._state())
    _refuse_keywords(ufunc, kwargs, ("out", "where", "casting", "order", "subok", "stream"))
    if _are_lazy(ufunc, (*args, *placed.wholes, kwargs.get("where"))):
        from lanewise._dask_ufuncs import call

        return call(ufunc, "__call__", given[:len(given) - len(args[nin:])], {**named, "out": _one_out(args[nin:], None if out is _ABSENT else out)})
    operands = [_operand(ufunc.__name__, name, value) for name, value in zip(placed.names, args[:nin])]
    out = _one_out(args[nin:], out)
    if len(operands) < nin:
        raise TypeError(f"`{ufunc.__name__}` takes {nin} operands, {len(operands)} given")
    form = _form(ufunc, placed.function, [*map(_example, operands), *placed.wholes])
    forms = _outputs(ufunc.__name__, form)
    if not any(map(_is_objects, forms)):  # the result is what the library of such an operand makes of it
        operands = [value if _answers_ufuncs(value) else operand for value, operand in zip(args, operands)]
    inner = _kept(ufunc, (tuple(map(_key_of, operands)), form, placed.function), lambda: _of_fields(ufunc, operands, form, placed))
    return _call(ufunc, inner, operands, forms, _given_outputs(ufunc, out, len(forms)), kwargs, _wholes(operands, placed))


def _are_lazy(compiled, values):
    """Is there a Dask array? TypeError where there is one in another library's array, whose labels the result would not have."""
    for i, value in enumerate(values):
        if not is_dask(value) and is_lazy(value):
            raise TypeError(f"`{compiled.__name__}`: argument {i + 1} is {with_library(value)} of a Dask array, beside an object or for a function that gives some: pass x.data")
    return any(map(is_dask, values))


def _call(ufunc, inner, operands, forms, outs, kwargs, wholes=()):
    """The call of the ufunc of fields, into the fields of its outputs."""
    shape = np.broadcast_shapes(*(getattr(x, "shape", ()) for x in operands), getattr(kwargs.get("where"), "shape", ()))
    made, places = [], []
    for form, out in zip(forms, outs):
        if not isinstance(form, tuple):
            made.append(out)
            places.append(out)
            continue
        dtype = _dtype_of_form(form)
        if out is None:
            made.append(_new_array(shape, dtype, [*operands, *wholes], kwargs.get("stream")))
        else:
            _check_output(ufunc, out, dtype)
            made.append(out)
        places += [_at(made[-1], path) for path, _ in _leaves(dtype)]
    given = [*_fields(operands), *wholes]
    results = inner(*given, out=tuple(places), **kwargs) if any(place is not None for place in places) else inner(*given, **kwargs)
    results = iter(results if isinstance(results, tuple) else (results,))
    final = []
    for form, out, array in zip(forms, outs, made):
        numbers = [next(results) for _ in range(_n_leaves(form))]
        if not isinstance(form, tuple):
            final.append(numbers[0])
        else:
            final.append(array[()] if out is None and shape == () and type(array) is np.ndarray else array)
    return final[0] if len(final) == 1 else tuple(final)


_INSTEAD = {"reduce": "lanewise.reduce({0}.py_func)(a)", "accumulate": "lanewise.reduce({0}.py_func).accumulate(a)",
            "reduceat": "lanewise.reduce({0}.py_func).reduceat(a, indices)", "outer": "{0}(a[:, None], b[None, :])",
            "at": "a[indices] = {0}(a[indices], b)"}


def refuse_method(ufunc, method):
    raise TypeError(f"`{ufunc.__name__}.{method}` takes no objects; write {_INSTEAD[method].format(ufunc.__name__)}")


# ---- guvectorize ----


def _layout(gufunc):
    """Dimensions of the inputs and of the outputs, by name."""
    text = gufunc._layout
    if "?" in text or "|" in text:
        raise TypeError(f"`{gufunc.__name__}` has the layout {text}, and an operand is an array of objects: optional and broadcast dimensions do "
                        "not go with them; pass the fields")
    sides = text.split("->")
    return [[tuple(name.strip() for name in dims.split(",") if name.strip()) for dims in re.findall(r"\(([^)]*)\)", side)] for side in sides]


def _sizes(gufunc, operands, dims):
    sizes = {}
    for operand, names in zip(operands, dims):
        if operand.ndim < len(names):
            raise ValueError(f"`{gufunc.__name__}`: an operand has {operand.ndim} dimensions, but {gufunc._layout} needs {len(names)}")
        for name, size in zip(names, operand.shape[operand.ndim - len(names):]):
            if sizes.setdefault(name, int(name) if name.isdigit() else size) != size:
                raise ValueError(f"`{gufunc.__name__}`: dimension {name} of {gufunc._layout} is {sizes[name]} in one operand and {size} in another")
    return sizes


def _readonly(operand):
    if isinstance(operand, np.ndarray):
        operand = operand.view()
        operand.flags.writeable = False
    return operand


def _rows(operand, n_core, loop):
    """The operand with one axis in front of its core; and whether all elements share its only row."""
    core, own = operand.shape[operand.ndim - n_core:], operand.shape[:operand.ndim - n_core]
    if all(size == 1 for size in own):
        return operand.reshape((1, *core)), True
    if own != loop:
        if _is_device(operand):
            raise TypeError("arrays of objects on a device are not broadcast against each other; give them one shape")
        operand = np.broadcast_to(operand, loop + core)
    return operand.reshape((-1, *core)), False


def _items_kernel(gufunc, dims, shared, returned, n_out, placed):
    """The kernel that calls the user's function for one element."""
    write = _Writer(gufunc.py_func.__name__)
    inputs = [f"a{k}" for k in range(len(shared))]
    outputs = [f"o{k}" for k in range(n_out)]
    given = [f"{name}[{0 if one else 'i'}]" for name, one in zip(inputs, shared)]
    callee = write.constant(placed.function)
    wholes = [f"t{k}" for k in range(len(placed.wholes))]
    if returned:
        write.lines.append(f"result = {callee}({', '.join([*given, *wholes])})")
        values = ["result"] if n_out == 1 else [f"result[{k}]" for k in range(n_out)]
        write.lines += [f"{name}[i] = {value}" for name, value in zip(outputs, values)]
    else:
        given += [f"{name}[i]" if dims[1][k] else f"{name}[i:i + 1]" for k, name in enumerate(outputs)]
        write.lines.append(f"{callee}({', '.join([*given, *wholes])})")
    options = {name: value for name, value in gufunc._state()["options"].items() if name not in ("excluded", "static", "source", "identity", "writable_args", "sizes", "order")}
    return lw.forall(write.function(["i", *inputs, *outputs, *wholes], gufunc.py_func), **options)


def _item_example(operand, n_core):
    if n_core == 0:
        return _value_of(operand.dtype)
    return np.zeros((1,) * n_core, operand.dtype)


def _examples_of_items(operands, dims):
    return [_readonly(_item_example(x, len(names))) for x, names in zip(operands, dims)]


def _check_filled(gufunc, operands, results, dims, placed):
    """Types the function for such arrays: what it cannot do is told of it, and not of the kernel that calls it."""
    outputs = [np.zeros((1,) * max(len(names), 1), x.dtype) for x, names in zip(results, dims[1])]
    form = _form(gufunc, placed.function, _examples_of_items(operands, dims[0]) + outputs + placed.wholes)
    if form is not None:
        raise TypeError(f"`{gufunc.__name__}` has {len(outputs)} parameters that it fills, and returns a value too: leave out the one or the other")


def _address(array):
    return array.__array_interface__["data"][0] if isinstance(array, np.ndarray) else array.__cuda_array_interface__["data"][0]


def _output_dtypes(gufunc, operands, dims, returned, placed):
    """What the outputs have where the function returns them, or is like its inputs."""
    if returned:
        forms = _outputs(gufunc.__name__, _form(gufunc, placed.function, _examples_of_items(operands, dims[0]) + placed.wholes))
        if len(forms) != len(dims[1]) or any(dims[1]):
            raise TypeError(f"`{gufunc.__name__}` returns {len(forms)} values, and its layout is {gufunc._layout}: with arrays of objects it returns "
                            "numbers and objects for outputs without dimensions; give it parameters that it fills")
        return [_dtype_of_form(form) for form in forms]
    dtypes = {(x.dtype, x.dtype.type): x.dtype for x in operands}
    if len(dtypes) != 1:
        raise TypeError(f"`{gufunc.__name__}`: its operands have different dtypes, so that those of its outputs are not known: give them by out=")
    return [operands[0].dtype] * len(dims[1])


def _filled(gufunc):
    """The parameters that are outputs; none: the function returns them."""
    parameters = inspect.signature(gufunc.py_func).parameters
    options = gufunc._state()["options"]
    apart = parameter_names(options.get("static"), list(parameters)) | parameter_names(options.get("excluded"), list(parameters))
    needed = [name for name, one in parameters.items() if name not in apart and one.default is one.empty]
    return needed[gufunc.nin:gufunc.nin + gufunc.nout]


def _gufunc_of_fields(gufunc, args, out, placed):
    """The gufunc whose operands are the fields of the objects, where objects are parameters: they have no dimensions of the
    layout, and neither all operands nor an output are objects; its operands. Else None."""
    operands = [_operand(gufunc.__name__, name, value) if _is_object(value) else value for name, value in zip(placed.names, args[:gufunc.nin])]
    sides = gufunc._layout.split("->")
    outs = [*args[gufunc.nin:], *(out if isinstance(out, tuple) else (out,))]
    cores = re.findall(r"\([^)]*\)", sides[0])
    apart, of_class = any(isinstance(x, _Apart) for x in operands), [_key_of(x) is not None for x in operands]
    if len(operands) < gufunc.nin or (all(of_class) and not apart) or not any(of_class) or any(_class(one) is not None for one in outs):
        return None
    if any(of_class[k] and core != "()" for k, core in enumerate(core.replace(" ", "") for core in cores)):
        return None
    key = ("gufunc", tuple(map(_key_of, operands)), placed.function)
    return _kept(gufunc, key, lambda: _make_gufunc(gufunc, operands, cores, sides[1] if len(sides) > 1 else "", placed)), operands


def gufunc_of_fields(gufunc, values):
    """The gufunc of the fields of such arguments (by parameter), arrays of objects without axes among them, or None; the
    excluded arrays, which are its last arguments."""
    placed = _Placed(gufunc, (), dict(values), _filled(gufunc))
    operands = placed.operands or tuple(values.values())
    found = _gufunc_of_fields(gufunc, operands, None, placed)
    return found and found[0], placed.wholes


def _make_gufunc(gufunc, operands, cores, right, placed):
    write = _Writer(gufunc.py_func.__name__)
    given, left = [], []
    for operand, core in zip(operands, cores):
        n = len(write.numbers)
        given.append(write.operand(operand))
        left += [core] * (len(write.numbers) - n)
    if not write.numbers:
        write.number()  # _fields() gives a 0 for it
        left.append("()")
    filled, wholes = [f"o{k}" for k in range(len(_filled(gufunc)))], [write.whole(name) for name in placed.excluded]
    write.lines.append(f"return {write.constant(placed.function)}({', '.join([*given, *filled, *wholes])})")
    options = {name: value for name, value in gufunc._state()["options"].items() if name not in ("excluded", "static", "source")}
    if writable := options.pop("writable_args", None):
        places = list(inspect.signature(gufunc.py_func).parameters)
        given_names = [one if isinstance(one, str) else places[one] for one in ((writable,) if isinstance(writable, (str, int)) else writable)]
        options["writable_args"] = [given[placed.names.index(name)] for name in given_names]
    function = write.function([*write.numbers, *filled, *write.wholes], gufunc.py_func)
    return lw.guvectorize(f"{','.join(left)}->{right}", **options, **({"excluded": write.wholes} if write.wholes else {}))(function)


def guvectorize(gufunc, *args, out=_ABSENT, stream=None, **kwargs):
    placed = _Placed(gufunc, args, kwargs, _filled(gufunc))
    args = (*placed.operands, *placed.outputs) if placed.operands else _by_names(gufunc, args, kwargs, gufunc.nin)
    if (found := _gufunc_of_fields(gufunc, args, out, placed)) is not None:
        inner, operands = found
        more = {**({} if stream is None else {"stream": stream}), **({} if out is _ABSENT else {"out": out})}
        return inner(*_fields(operands), *_wholes(operands, placed), *args[gufunc.nin:], **more, **kwargs)
    _refuse_options(gufunc, gufunc._state(), ("writable_args", "sizes"))
    dims = _layout(gufunc)
    nin, nout = len(dims[0]), len(dims[1])
    if _are_lazy(gufunc, args):
        raise TypeError(f"`{gufunc.__name__}` is called with an object, or gives some, and with a Dask array, which would be computed as a whole: call it block by "
                        f"block, as in x.map_blocks(lambda block: {gufunc.__name__}(..., block, out=...), dtype=...)")
    _refuse_keywords(gufunc, kwargs, ("out", "stream"))
    operands = [_readonly(x if hasattr(x, "shape") else np.asarray(x)) for x in map(_array, args[:nin])]
    if len(operands) < nin:
        raise TypeError(f"`{gufunc.__name__}` takes {nin} operands, {len(operands)} given")
    out = _one_out(args[nin:], out)
    outs = _given_outputs(gufunc, out, nout)
    sizes = _sizes(gufunc, operands, dims[0])
    loop = np.broadcast_shapes(*(x.shape[:x.ndim - len(names)] for x, names in zip(operands, dims[0])))
    returned = not _filled(gufunc)
    dtypes = None if all(o is not None for o in outs) else _output_dtypes(gufunc, operands, dims, returned, placed)
    results = []
    for k, names in enumerate(dims[1]):
        missing = [name for name in names if name not in sizes and not name.isdigit()]
        if missing and outs[k] is None:
            raise ValueError(f"`{gufunc.__name__}`: no operand says how large dimension {missing[0]} of {gufunc._layout} is: give the output by out=")
        shape = loop + tuple(sizes.get(name, int(name) if name.isdigit() else None) for name in names) if not missing else outs[k].shape
        if outs[k] is not None and tuple(outs[k].shape) != shape:
            raise ValueError(f"`{gufunc.__name__}`: out= has the shape {tuple(outs[k].shape)}, the result {shape}")
        results.append(outs[k] if outs[k] is not None else _new_array(shape, dtypes[k], operands, stream))
    if not returned:
        _check_filled(gufunc, operands, results, dims, placed)
    rows = [_rows(x, len(names), loop) for x, names in zip(operands, dims[0])]
    filled = [r.reshape((-1, *r.shape[r.ndim - len(names):])) for r, names in zip(results, dims[1])]
    shared = tuple(one for _, one in rows)
    kernel = _kept(gufunc, ("items", shared, returned, placed.function), lambda: _items_kernel(gufunc, dims, shared, returned, nout, placed))
    kernel(int(np.prod(loop)), *(row for row, _ in rows), *filled, *placed.wholes, **({} if stream is None else {"stream": stream}))
    for made, given, seen in zip(results, filled, outs):
        if _address(made) != _address(given):  # an output whose axes are not one behind the other
            made[...] = given.reshape(made.shape)
    results = [r[()] if o is None and r.ndim == 0 and type(r) is np.ndarray else r for r, o in zip(results, outs)]
    return results[0] if nout == 1 else tuple(results)


# ---- reduce ----


def _form_of_dtype(dtype):
    if dtype.names is None:
        return str(dtype)
    return (_elements.class_of(dtype), dtype.names, tuple(_form_of_dtype(dtype[name]) for name in dtype.names))


def _has_index(given, n):
    names = given.__code__.co_varnames[:given.__code__.co_argcount]
    return len(names) == n + 1 and names[-1] == "index"


def _takes_items(finish, form):
    """Whether finish takes the items of an accumulator that is a tuple, one by one."""
    return isinstance(form, tuple) and form[0] is None and finish.__code__.co_argcount == len(form[2])


def _names_of_form(form):
    """A form without the types of its numbers, to compare."""
    return (form[0], form[1], tuple(map(_names_of_form, form[2]))) if isinstance(form, tuple) else None


def _forms(reduction, operands):
    """The forms of an accumulator and of the result. What one of the functions cannot do is told of it here."""
    options = reduction._state()["options"]
    given, finish = options.get("map"), options.get("finish")
    if given is None and len(operands) != 1:
        raise TypeError(f"`{reduction.__name__}` takes {len(operands)} arrays, and has no map=")
    if given is None:
        form = _form_of_dtype(operands[0].dtype)
    else:
        form = _form(reduction, given, [*map(_example, operands), *[0] * _has_index(given, len(operands))])
    _outputs("map", form)
    example = _example_of_form(form)
    combined = _form(reduction, reduction.py_func, [example, example])
    if _names_of_form(combined) != _names_of_form(form):
        raise TypeError(f"`{reduction.__name__}` combines two of {_shown(form)} to {_shown(combined)}; expected a value that can be combined again: "
                        "return one, and compute the result from it in finish=")
    if finish is None:
        return form, form
    final = _form(reduction, finish, example if _takes_items(finish, form) else [example])
    _outputs("finish", final)
    return form, final


def _shown(form):
    if not isinstance(form, tuple):
        return str(form)
    if form[0] is None:
        return f"({', '.join(map(_shown, form[2]))}{',' * (len(form[2]) == 1)})"
    return f"{form[0].__name__}({', '.join(f'{name}: {_shown(item)}' for name, item in zip(form[1], form[2]))})"


def _example_of_form(form):
    if not isinstance(form, tuple):
        return np.dtype(form).type(0)
    items = [_example_of_form(item) for item in form[2]]
    if form[0] is None:
        return tuple(items)
    return _value_of(_dtype_of_form(form))


def _map_of_fields(reduction, operands, form, has_index):
    given = reduction._state()["options"].get("map")
    write = _Writer("map")
    parameters, values = [], []
    for operand in operands:
        names = [f"x{len(parameters) + k}" for k in range(len(_leaves(operand.dtype)) if _class(operand) is not None else 1)]
        parameters += names
        values.append(write.build(operand.dtype, iter(names)) if _class(operand) is not None else names[0])
    if has_index:
        parameters.append("index")
        values.append("index")
    value = f"{write.constant(given)}({', '.join(values)})" if given is not None else values[0]
    write.lines.append(f"result = {value}")
    write.lines.append(f"return {', '.join(write.flatten(form, 'result'))}")
    return write.function(parameters, given or reduction.py_func)


def _parts(form, name):
    return iter([name] if _n_leaves(form) == 1 else [f"{name}[{k}]" for k in range(_n_leaves(form))])


def _combine_of_fields(reduction, form):
    name = reduction.py_func.__name__
    write = _Writer(name if name.isidentifier() else "combine")
    x, y = (write.build_form(form, _parts(form, name)) for name in "ab")
    write.lines.append(f"result = {write.constant(reduction.py_func)}({x}, {y})")
    write.lines.append(f"return {', '.join(write.flatten(form, 'result'))}")
    return write.function(["a", "b"], reduction.py_func)


def _finish_of_fields(finish, form, final):
    write = _Writer("finish")
    value = write.build_form(form, _parts(form, "a"))
    write.lines.append(f"result = {write.constant(finish)}({'*' * _takes_items(finish, form)}{value})")
    write.lines.append(f"return {', '.join(write.flatten(final, 'result'))}")
    return write.function(["a"], finish)


def _flat(form, value):
    """The numbers of a value of this form."""
    if not isinstance(form, tuple):
        return (value,)
    parts = [getattr(value, name) for name in form[1]] if form[0] is not None else list(value)
    return tuple(leaf for item, part in zip(form[2], parts) for leaf in _flat(item, part))


def _of_numbers(form, value):
    numbers = _flat(form, value)
    return numbers if len(numbers) > 1 else numbers[0]


class _Fields:
    """The reduction of fields that takes the place of one of objects."""

    def __init__(self, reduction, operands, form, final):
        options = dict(reduction._state()["options"])
        given, finish = options.pop("map", None), options.pop("finish", None)
        self.form, self.final = form, final
        if options.get("identity") is not None:
            options["identity"] = _of_numbers(form, options["identity"])
        made = {"map": _map_of_fields(reduction, operands, form, given is not None and _has_index(given, len(operands)))}
        if finish is not None:
            made["finish"] = _finish_of_fields(finish, form, final)
        options.pop("source", None)
        self.reduction = lw.reduce(_combine_of_fields(reduction, form), **made, **options)

    def result(self, results, out):
        """Arrays of numbers as arrays of objects, or as `out` says."""
        results = iter(results if isinstance(results, tuple) else (results,))
        outputs = _outputs("finish", self.final)
        made = [_joined(form, [next(results) for _ in range(_n_leaves(form))]) for form in outputs]
        if out is not None and out is not ...:
            for to, value in zip(out if isinstance(out, tuple) else (out,), made):
                to[...] = value
            made = list(out) if isinstance(out, tuple) else [out]
        return made[0] if len(made) == 1 else tuple(made)


def _joined(form, numbers):
    """One array of records of arrays of numbers."""
    if not isinstance(form, tuple):
        return numbers[0]
    dtype = _joined_dtype(form, iter(numbers))
    if _is_device(numbers[0]):
        made = _cuda.device_array(numbers[0].shape, dtype)
        for (path, _), array in zip(_leaves(dtype), numbers):
            _at(made, path)[...] = array
        return made
    made = np.empty(np.shape(numbers[0]), dtype)
    for (path, _), array in zip(_leaves(dtype), numbers):
        _at(made, path)[...] = array
    return made[()]


def _joined_dtype(form, numbers):
    """The dtype for what the numbers have become: accumulators may be wider than elements."""
    if not isinstance(form, tuple):
        return next(numbers).dtype
    return _elements.dtype_of(form[0], **{name: _joined_dtype(item, numbers) for name, item in zip(form[1], form[2])})


def _made_of(reduction, args):
    """The operands as arrays, and the reduction of their fields."""
    if reduction._state()["signatures"] is not None:
        raise TypeError(f"no signature of `{reduction.__name__}` takes an object: leave the signatures out")
    operands = [x if hasattr(x, "dtype") else np.asarray(x) for x in map(_array, args)]
    form, final = _forms(reduction, operands)
    key = ("reduce", tuple((_class(x), x.dtype) for x in operands), form, final)
    return operands, _kept(reduction, key, lambda: _Fields(reduction, operands, form, final))


def _reduced(method, reduction, args, out, kwargs):
    n = len(args) if method != "reduceat" else len(args) - 1
    if kwargs.get("dtype") is not None:
        raise TypeError(f"`{reduction.__name__}` got dtype=, which objects do not have: give their fields types with lanewise.extending.dtype_of")
    operands, made = _made_of(reduction, args[:n])
    for name in ("initial", "init"):
        if name in kwargs and kwargs[name] is not ...:
            kwargs[name] = _of_numbers(made.form, kwargs[name])
    results = getattr(made.reduction, method)(*_fields(operands), *args[n:], **kwargs)
    return made.result(results, out)


def reduce(reduction, *args, out=None, **kwargs):
    return _reduced("__call__", reduction, args, out, kwargs)


def accumulate(reduction, *args, out=None, **kwargs):
    if len(args) > 1 and not hasattr(args[1], "dtype"):  # the axis
        kwargs["axis"], args = args[1], args[:1] + args[2:]
    return _reduced("accumulate", reduction, args, out, kwargs)


def reduceat(reduction, *args, out=None, **kwargs):
    return _reduced("reduceat", reduction, args, out, kwargs)


def by_key(reduction, keys, *args, **kwargs):
    if _is_object(keys) or _class(keys) is not None:
        raise TypeError(f"`{reduction.__name__}.by_key`: keys are objects, which are not compared; expected an array of numbers")
    operands, made = _made_of(reduction, args)
    given, results = made.reduction.by_key(keys, *_fields(operands), **kwargs)
    return given, made.result(results, None)
