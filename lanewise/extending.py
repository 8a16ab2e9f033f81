"""Compiled implementations of functions, methods and attributes that lanewise does not know.

An overload is a Python function that receives the types of the arguments of a call (`lanewise.types`) and returns the
function that compiled code runs for them, or None. See the page "Extending" of the documentation.

    >>> def area(shape): ...
    >>> @lw.extending.overload(area)
    ... def _(shape):
    ...     if isinstance(shape, lw.types.Float):
    ...         return lambda shape: shape * shape
    >>> @lw.vectorize
    ... def volume(x):
    ...     return area(x) * 2
    >>> volume(3.0)
    np.float64(18.0)
"""

import dataclasses
import functools
import inspect
import itertools
import math
import operator
import types as _python

from lanewise import _core, types
from lanewise._elements import _reached, array_of, dtype_of
from lanewise._places import place_of
from lanewise._struct_types import (  # noqa: F401: the compiler asks for those with an underscore
    _class_of_result, _frozen_struct, _made, _member_value, _struct_of, _struct_of_object, _typed_class, _typeof_registered,
    as_numba_type, make_attribute_wrapper, models, register_model, type_callable, typeof_impl,
)
from lanewise._linking import declare_device as declare_external
from lanewise.errors import UnsupportedError

__all__ = [
    "NativeValue", "array_of", "as_numba_type", "box", "declare_external", "dtype_of", "get_cython_function_address", "intrinsic", "is_jitted", "lower", "lower_builtin", "lower_cast", "lower_constant",
    "lower_getattr", "lower_getattr_generic", "make_attribute_wrapper", "models", "overload", "overload_attribute", "overload_method", "register", "register_jitable", "register_model",
    "type_callable", "typeof_impl", "unbox",
]


class _Candidate:
    """A selector, and what it has answered for which types."""

    def __init__(self, selector, subject, options):
        self.selector, self.subject, self.answers = selector, subject, {}
        self.strict, self.prefers_literals, self.target = options


_functions = {}  # id of what is called -> (what is called, its candidates, its typers)
_methods = {}  # name -> its candidates, of whatever types
_attributes = {}
_changed = {}  # id or name -> the version in which an overload was registered last

#: What operators call, by the name of the method that a class would have.
_OPERATORS = {name: getattr(operator, name) for name in (
    "__add__", "__sub__", "__mul__", "__truediv__", "__floordiv__", "__mod__", "__pow__", "__matmul__", "__lshift__", "__rshift__", "__and__",
    "__or__", "__xor__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__imatmul__", "__ilshift__",
    "__irshift__", "__iand__", "__ior__", "__ixor__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__neg__", "__pos__",
    "__invert__", "__contains__", "__getitem__", "__setitem__")}
_OPERATOR_NAMES = {id(function): name for name, function in _OPERATORS.items()}

_OF_METHOD, _OF_ATTRIBUTE = 2, 3  # lw_overload_kind of core/front/overload.h


def _overloaded_names():
    """(name, kind, whether some selector prefers literals) of methods and attributes."""
    return tuple((name, kind, any(candidate.prefers_literals for candidate in candidates))
                 for kind, table in ((_OF_METHOD, _methods), (_OF_ATTRIBUTE, _attributes)) for name, candidates in list(table.items()))


def _prefers_literals(number):
    """Whether some selector of the function with this id prefers literals."""
    return any(candidate.prefers_literals for candidate in _functions[number][1])


def _touched(watched, since):
    """Whether an overload of one of these ids and names was registered after this version."""
    return any(_changed.get(key, 0) > since for key in tuple(watched))


def _have_changed(keys):
    """What has captured one of these ids and names is out of date."""
    _changed.update(dict.fromkeys(keys, math.inf))  # before another thread sees that the version is new
    _changed.update(dict.fromkeys(keys, _core._overloads_changed()))


def _is_new(func):
    """No function has been compiled that knows this callable: its overloads put none out of date."""
    _changed.pop(id(func), None)


def _add(candidates, key, candidate):
    keys, name = [key], _OPERATOR_NAMES.get(key)
    candidates.append(candidate)
    if key in _functions:
        _core._operator_overloaded("()", candidate.prefers_literals)  # LW_CALL_OF_OWN
    if name is not None:
        keys.append(name)
        if name[:3] == "__i" and "__" + name[3:] in _OPERATORS:
            keys.append("__" + name[3:])  # which `x += y` has been compiled to
        _core._operator_overloaded(name, candidate.prefers_literals)
    _have_changed(keys)


def _entry(func):
    return _functions.setdefault(id(func), (func, [], []))  # it keeps func, and so its id


def _add_typer(func, typer):
    _add(_entry(func)[2], id(func), _Candidate(typer, func, (True, False, "generic")))


# ---- what compiled code is told ----

def _object_type(cls, names, items):
    return cls if isinstance(cls, types.Type) else types.Object(cls, zip(names, items))


def _literal(value):
    return types.Literal(value)


def _scalar(type_, value):
    return type_.dtype.type(value)


def _array_without_axes(dtype):
    from lanewise import _gufunc_calls

    return _gufunc_calls.NoAxes(dtype)


def _weak_number(dtype):
    from lanewise import _gufunc_calls

    return _gufunc_calls.WeakNumber(dtype)


def _parameters(function):
    """Names, kinds and defaults, as two functions have to have them to be called alike."""
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


def _names(parameters):
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return f"({', '.join(stars.get(kind, '') + name for name, kind, _ in parameters)})"


def _source(function):
    return getattr(function, "py_func", getattr(function, "__func__", function))


def _call(selector, arguments, keywords):
    """(what a function of types answers, None), or (None, why it is passed over)."""
    try:
        inspect.signature(selector).bind(*arguments, **keywords)
    except TypeError as problem:
        return None, f"its signature does not take these arguments: {problem}"
    return _found_by(selector, arguments, keywords)


def _found_by(selector, arguments, keywords):
    try:
        found = selector(*arguments, **keywords)
    except MemoryError:
        raise
    except Exception as problem:
        return None, f"it raised {type(problem).__name__}: {problem}"
    return found, "it returned None" if found is None else None


def _ask(candidate, arguments, keywords):
    """(implementation, None), or (None, why the candidate is passed over)."""
    found, reason = _call(candidate.selector, arguments, keywords)
    if found is None:
        return None, reason
    if not isinstance(_source(found), _python.FunctionType):
        return None, f"it returned {found!r:.100}, which is not a Python function"
    wanted, got = _parameters(candidate.selector), _parameters(_source(found))
    if candidate.strict and wanted != got:
        return None, (f"its implementation has the parameters {_names(got)} and not {_names(wanted)}, "
                      "by name, kind and default (strict=False allows that)")
    return found, None


def _ask_typer(candidate, arguments, keywords):
    """The same of type_callable: what makes a value of the type that it says."""
    found, reason = _call(candidate.selector, arguments, keywords)
    return (None, reason) if found is None else _made(candidate.subject, found)


def _answer(candidate, arguments, keywords, ask=_ask):
    """The same, asked once for each types; a thread that is slower takes the answer of the first."""
    key = (tuple(arguments), tuple(sorted(keywords.items(), key=lambda item: item[0])))
    try:
        known = candidate.answers.get(key)
    except TypeError:  # a literal that cannot be hashed
        return ask(candidate, arguments, keywords)
    return known or candidate.answers.setdefault(key, ask(candidate, arguments, keywords))


def _place(selector):
    place = place_of(_source(selector))
    return f" ({place})" if place else ""


_ORDERS = {"cpu": ("cpu", "generic", "cuda"), "cuda": ("cuda", "generic", "cpu")}


def _for_target(candidates, target):
    """The candidates in the order in which code for a target asks them."""
    return sorted(candidates, key=lambda candidate: _ORDERS[target].index(candidate.target))


def _first(candidates, typers, arguments, keywords, passed_over):
    for candidate in candidates:
        found, reason = _answer(candidate, arguments, keywords)
        if found is not None:
            return found
        passed_over[candidate] = reason
    for candidate in typers:
        found, reason = _answer(candidate, arguments, keywords, _ask_typer)
        if found is not None:
            return found
        passed_over[candidate] = reason
    return None


_PREFERRED = 1  # lw_overload_literals: literals for the selectors that prefer them


def _choose(candidates, typers, arguments, keywords, literals, for_gpu):
    """(implementation or [that for CPUs, that for GPUs] or None, why none). for_gpu: code that is for GPUs, even where a CPU runs it."""
    if literals == _PREFERRED:
        candidates, typers = [candidate for candidate in candidates if candidate.prefers_literals], ()
    passed_over = {}
    on_gpu = _first(_for_target(candidates, "cuda"), typers, arguments, keywords, passed_over)
    on_cpu = on_gpu
    if not for_gpu and any(candidate.target != "generic" for candidate in candidates):
        on_cpu = _first(_for_target(candidates, "cpu"), typers, arguments, keywords, passed_over)
    if on_gpu is not None:
        return (on_gpu if on_cpu is on_gpu else _split(on_cpu, on_gpu)), None
    reasons = "".join(f"\n      `{getattr(candidate.selector, '__name__', repr(candidate.selector))}`{_place(candidate.selector)}: {reason}"
                      for candidate, reason in passed_over.items())
    return None, "the overloads that were asked, in this order:" + reasons if reasons else None


def _split(on_cpu, on_gpu):
    if _parameters(_source(on_cpu)) != _parameters(_source(on_gpu)):
        raise TypeError(f"the implementations for CPUs, {_names(_parameters(_source(on_cpu)))}, and for GPUs, {_names(_parameters(_source(on_gpu)))}, must have "
                        "the same parameters, by name, kind and default")
    return [on_cpu, on_gpu]


def _of_function(callee, *asked):
    if isinstance(getattr(callee, "__func__", callee), _core.Gufunc) and id(callee) not in _functions:
        from lanewise import _gufunc_calls

        return _gufunc_calls.choose(callee, *asked[:2])
    _, candidates, typers = _functions.get(id(callee), (None, (), ()))
    return _choose(tuple(candidates), tuple(typers), *asked)


def _of_operator(name, *asked):
    return _of_function(_OPERATORS[name], *asked)


def _is_of(subject, type_):
    """Whether overloads of methods of `subject` are for objects of this type."""
    if isinstance(subject, types.Type):
        return type_ == subject
    if isinstance(type_, types.Object):
        return subject is types.Object or issubclass(type_.cls, subject)
    struct = getattr(type_, "__lanewise_struct__", None)
    if struct is not None and struct.cls is not None and issubclass(struct.cls, subject):
        return True
    return isinstance(type_, subject)


def _of_object(table, name, arguments, *asked):
    fitting = [candidate for candidate in table.get(name, ()) if _is_of(candidate.subject, arguments[0])]
    return _choose(fitting, (), arguments, *asked)


def _of_method(name, *asked):
    return _of_object(_methods, name, *asked)


def _of_attribute(name, *asked):
    return _of_object(_attributes, name, *asked)


# ---- what users write ----

_TARGETS = {"generic": "generic", "cpu": "cpu", "cuda": "cuda", "gpu": "cuda"}


def _check_selector(selector):
    if not callable(selector):
        raise TypeError(f"an overload must be a function of types, not {selector!r:.200}")


def _checked(strict, inline, prefer_literal, jit_options, target):
    """(strict, prefer_literal, target)"""
    for name, value in (("strict", strict), ("prefer_literal", prefer_literal)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False, not {value!r:.200}")
    if not callable(inline) and inline not in ("never", "always"):
        raise ValueError(f'inline must be "never" or "always", not {inline!r:.200}')
    if not isinstance(jit_options, (dict, type(None))):
        raise TypeError(f"jit_options must be a dict, not {jit_options!r:.200}")
    if not isinstance(target, str) or target not in _TARGETS:
        raise ValueError(f'target must be "generic", "cpu", "cuda" or "gpu", not {target!r:.200}')
    return strict, prefer_literal, _TARGETS[target]


@functools.cache
def _built_in_operands(name, n):
    """Types of n operands for which an operator is built in."""
    numbers = [getattr(types, one) for one in ("boolean", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128")]
    arrays = [of[(slice(None),) * ndim] for of in (types.int64, types.float32, types.float64) for ndim in (1, 2)]
    if name == "__setitem__":
        return [*itertools.product(arrays, [types.int64], numbers)]
    if name in ("__getitem__", "__contains__"):
        return [*itertools.product(arrays, numbers)]
    return [*itertools.product(numbers + arrays, repeat=n)]


def _refuse_numbers(selector, operator_, name):
    """TypeError if the selector answers for numbers or arrays alone, whose operators are built in: an overload would have no effect."""
    try:
        operands = _built_in_operands(name, len(inspect.signature(operator_).parameters))
        inspect.signature(selector).bind(*operands[0])
    except (TypeError, ValueError):  # there is no signature, or calls find that it does not fit, and pass it over
        return
    for given in operands:
        found, _ = _found_by(selector, given, {})
        if found is not None:
            raise TypeError(f"an overload of operator.{operator_.__name__} has no effect for ({', '.join(map(str, given))}), for which the operator is built in: "
                            f"let `{getattr(selector, '__name__', 'it')}` return None for numbers and arrays")


def get_cython_function_address(module_name, function_name):
    """Return the address of a C function that a Cython module exports (`cdef ... api`, or in its .pxd), an int for a function type of ctypes.

    Raises ValueError if the module exports no such function.

        >>> import ctypes
        >>> address = lw.extending.get_cython_function_address("scipy.special.cython_special", "gammaln")
        >>> gammaln = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)
        >>> @lw.vectorize
        ... def f(x): return gammaln(x)
        >>> f([1.0, 2.0, 3.0]).round(6).tolist()
        [0.0, 0.0, 0.693147]
    """
    import ctypes
    import importlib

    functions = getattr(importlib.import_module(module_name), "__pyx_capi__", None)
    if functions is None:
        raise ValueError(f"module {module_name!r} exports no functions of Cython: it has no __pyx_capi__")
    if function_name not in functions:
        raise ValueError(f"no function {function_name!r:.200} in __pyx_capi__ of module {module_name!r}")
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.argtypes, name_of.restype = [ctypes.py_object], ctypes.c_char_p
    pointer_of.argtypes, pointer_of.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    capsule = functions[function_name]
    return pointer_of(capsule, name_of(capsule))


def overload(func, jit_options=None, strict=True, inline="never", prefer_literal=False, *, target="generic"):
    """A decorator: the decorated function returns the implementation of func in compiled code, for given types of arguments.

    The decorated function is called with the types of the arguments, by position and by name as in the call of func. It returns a Python
    function, or None if it has none for these types. Overloads are tried in the order in which they were registered.

    func: any callable: a function of your own or of a library, a builtin, a class, or a function of `operator` for objects.
    strict: whether the implementation must have the same parameters as the decorated function.
    prefer_literal: True calls the decorated function first with a `types.Literal` for each number that is known at compile time.
    target: in code for its target, an overload for "cpu" or "cuda" is tried before the "generic" ones, and in other code after them.
    inline, jit_options: accepted for numba's programs; the compiler decides.

        >>> import ctypes.util
        >>> cbrt = ctypes.CDLL(ctypes.util.find_library("m")).cbrt
        >>> @lw.extending.overload(cbrt)
        ... def _(x):
        ...     if isinstance(x, lw.types.Float):
        ...         return lambda x: np.cbrt(x)
        >>> @lw.vectorize
        ... def f(x): return cbrt(x)
        >>> f([8.0, 27.0])
        array([2., 3.])
    """
    if not callable(func):
        raise TypeError(f"func must be callable, not {func!r:.200}")
    options = _checked(strict, inline, prefer_literal, jit_options, target)

    def register(selector):
        _check_selector(selector)
        if id(func) in _OPERATOR_NAMES:
            _refuse_numbers(selector, func, _OPERATOR_NAMES[id(func)])
        _add(_entry(func)[1], id(func), _Candidate(selector, func, options))
        return selector

    return register


def _registers(table, typ, attr, options):
    if not isinstance(attr, str):
        raise TypeError(f"attr must be a str, not {attr!r:.200}")
    if not isinstance(typ, (type, types.Type)):
        raise TypeError(f"typ must be a type of lanewise.types or a class, not {typ!r:.200}")
    if isinstance(typ, type) and issubclass(typ, (int, float, complex)):
        raise TypeError(f"typ must be a type of compiled code, as lanewise.types.Float, not {typ.__name__}")
    options = _checked(**options)

    def register(selector):
        _check_selector(selector)
        _add(table.setdefault(attr, []), attr, _Candidate(selector, typ, options))
        return selector

    return register


def overload_method(typ, attr, *, jit_options=None, strict=True, inline="never", prefer_literal=False, target="generic"):
    """A decorator: the decorated function returns the implementation of the method `attr` of objects of type `typ`, as for overload.

    typ: a kind (`lw.types.Array`, `lw.types.Float`), one type (`lw.types.float64`), a class of types of your own, or a class of your own.
    The object is the first argument. The other keywords are those of overload.

        >>> @lw.extending.overload_method(lw.types.Float, "limited")
        ... def _(x, lo, hi):
        ...     return lambda x, lo, hi: min(max(x, lo), hi)
        >>> @lw.vectorize
        ... def f(x): return x.limited(0.0, 1.0)
        >>> f([-3.0, 0.25, 7.0])
        array([0.  , 0.25, 1.  ])
    """
    return _registers(_methods, typ, attr, {"jit_options": jit_options, "strict": strict, "inline": inline, "prefer_literal": prefer_literal, "target": target})


def overload_attribute(typ, attr, *, jit_options=None, strict=True, inline="never", prefer_literal=False, target="generic"):
    """A decorator: the decorated function returns the implementation of the attribute `attr` of objects of type `typ`.

    It receives the type of the object. The attribute can be read, but not set. The keywords are those of overload_method.

        >>> @lw.extending.overload_attribute(lw.types.Array, "centre")
        ... def _(row):
        ...     if row.ndim == 1:
        ...         return lambda row: row[row.size // 2]
    """
    return _registers(_attributes, typ, attr, {"jit_options": jit_options, "strict": strict, "inline": inline, "prefer_literal": prefer_literal, "target": target})


def register_jitable(function=None, **options):
    """Return the function unchanged, because compiled functions can call every function with Python source.

    It is for numba's programs, whose options it accepts.
    """
    def register(function):
        if not callable(function):
            raise TypeError(f"register_jitable takes a function, not {function!r:.200}")
        return function

    return register if function is None else register(function)


# ---- numba's hooks that build intermediate representation ----

def _refused(name, instead):
    def refuse(*args, **kwargs):
        raise UnsupportedError(f"lanewise.extending.{name} is not available, because lanewise has no functions that build intermediate representation. {instead}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Not available: raises UnsupportedError. {instead}."
    return refuse


def is_jitted(function):
    """Return whether a function was made by lanewise.jit.

        >>> lw.extending.is_jitted(lw.jit(lambda x: x)), lw.extending.is_jitted(max)
        (True, False)
    """
    return isinstance(function, _core.Kernel)


_FUNCTION = "Write an overload(func), which is compiled from Python, or use declare_external for a function in another language"
_CLASS = ("Write an overload(func), which is compiled from Python; a class with a type_callable needs none, because compiled "
          "code runs its __init__")
_PASSED = "It is not needed: arguments that are objects are read by the attributes that make_attribute_wrapper declares"



def intrinsic(*args, **options):
    """Return a function whose calls raise UnsupportedError, and are an error in compiled code (E152), because lanewise has no functions that
    generate LLVM IR. Packages that define such functions can be imported nevertheless. Write an overload(func), which is compiled from Python, or use
    declare_external for a function in another language."""
    if not args:
        return intrinsic

    def refuse(*args, **kwargs):
        raise UnsupportedError(f"{name}: {instead}")

    name = args[0].__name__
    instead = f"lanewise.extending.intrinsic is not available, because there is no builder of intermediate representation here. {_FUNCTION}"
    refuse.__code__ = refuse.__code__.replace(co_name=name)
    refuse.__name__ = refuse.__qualname__ = name
    refuse.__module__ = args[0].__module__
    refuse.__lanewise_refused__ = instead  # core/front/read/python.c
    return refuse


lower_builtin = _refused("lower_builtin", _CLASS)
lower = _refused("lower", _CLASS)
lower_cast = _refused("lower_cast", "Write an overload(func) that converts the value, and call it")
lower_getattr = _refused("lower_getattr", "Write an overload_attribute(typ, name), or make_attribute_wrapper for a member of the model")
lower_getattr_generic = _refused("lower_getattr_generic", "Write an overload_attribute(typ, name) for each name")
lower_constant = _refused("lower_constant", "It is not needed: compiled code copies the attributes that make_attribute_wrapper declares from objects that are global variables")
box = _refused("box", "It is not needed: a result becomes an object of the class that typeof_impl, type_callable or as_numba_type connects "
                      "with the type. The object has the attributes that make_attribute_wrapper declares")
unbox = _refused("unbox", _PASSED)
NativeValue = _refused("NativeValue", _PASSED)


# ---- classes ----


def register(cls=None, /, **fields):
    """Fix the types of the fields of a class.

    Without this, each call infers the types of the fields from its arguments. In compiled code, a value that is assigned to a field
    with a fixed type is converted to that type. An object that is passed as an argument must have a value that fits the type.

    Args:
        cls: a dataclass, or a class written in Python. Without it, the call returns a decorator.
        **fields: the type of each field to fix, such as `x=lw.float64`.

    Returns:
        The class.

    Raises:
        TypeError: cls is not such a class, it has no such field, or a type is not that of a number.

    >>> class Point:
    ...     def __init__(self, x, y):
    ...         self.x = x
    ...         self.y = y
    >>> lw.extending.register(Point, x=lw.float64) is Point
    True
    """
    if cls is None:
        return lambda cls: register(cls, **fields)
    if not isinstance(cls, type):
        raise TypeError(f"register: expected a class, not {cls!r}")
    if issubclass(cls, tuple):
        raise TypeError(f"register: the items of a namedtuple have the types of their values, so `{cls.__name__}` cannot be registered; make it a dataclass")
    known = _reached(cls) | {field.name for field in (dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ())}
    for name, given in fields.items():
        if name not in known:
            raise TypeError(f"register: `{cls.__name__}` has no field `{name}`")
        if not isinstance(given, _core.Type) or not getattr(given, "__lanewise_dtype__", None):
            raise TypeError(f"register: {name}={given!r} must be the type of a number, as lw.float64")
    cls.__lanewise_fields__ = {**getattr(cls, "__lanewise_fields__", {}), **fields}
    return cls
