"""Functions, methods and attributes of other code in compiled functions.

An overload is a Python function that looks at the types of a call (`lanewise.types`) and returns the
function that compiled code runs for them, or None. See docs/extending.md.

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
import inspect
import types as _python

from lanewise import _core, types
from lanewise._elements import array_of, dtype_of
from lanewise._linking import declare_device as declare_external
from lanewise.errors import UnsupportedError

__all__ = [
    "NativeValue", "array_of", "box", "declare_external", "dtype_of", "intrinsic", "lower", "lower_builtin", "lower_cast", "lower_constant", "lower_getattr",
    "make_attribute_wrapper", "overload", "overload_attribute", "overload_method", "register", "register_jitable", "register_model", "type_callable", "unbox",
]


class _Candidate:
    """A selector, and what it has answered for which types."""

    def __init__(self, selector, subject, strict):
        self.selector, self.subject, self.strict, self.answers = selector, subject, strict, {}


_functions = {}  # id of what is called -> (what is called, its candidates)
_methods = {}  # name -> its candidates, of whatever types
_attributes = {}
_changed = {}  # id or name -> the version in which an overload was registered last


def _overloaded_names():
    return (*((name, False) for name in list(_methods)), *((name, True) for name in list(_attributes)))


def _touched(watched, since):
    """Whether an overload of one of these ids and names was registered after this version."""
    return any(_changed.get(key, 0) > since for key in tuple(watched))


def _add(candidates, key, candidate):
    candidates.append(candidate)
    _changed[key] = _core._overloads_changed()


# ---- what compiled code is told ----

def _object_type(cls, names, items):
    return types.Object(cls, zip(names, items))


def _literal(value):
    return types.Literal(value)


def _parameters(function):
    """Names, kinds and defaults, as two functions have to have them to be called alike."""
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


def _names(parameters):
    return f"({', '.join(name for name, _, _ in parameters)})"


def _source(function):
    return getattr(function, "py_func", getattr(function, "__func__", function))


def _ask(candidate, arguments, keywords):
    """(implementation, None), or (None, why the candidate is passed over)."""
    try:
        inspect.signature(candidate.selector).bind(*arguments, **keywords)
    except TypeError as problem:
        return None, f"its signature does not take these arguments: {problem}"
    try:
        found = candidate.selector(*arguments, **keywords)
    except MemoryError:
        raise
    except Exception as problem:
        return None, f"it raised {type(problem).__name__}: {problem}"
    if found is None:
        return None, "it returned None"
    if not isinstance(_source(found), _python.FunctionType):
        return None, f"it returned {found!r:.100}, which is no Python function"
    wanted, got = _parameters(candidate.selector), _parameters(_source(found))
    if candidate.strict and wanted != got:
        return None, (f"its implementation has the parameters {_names(got)} and not {_names(wanted)}, "
                      "by name, kind and default (strict=False allows that)")
    return found, None


def _answer(candidate, arguments, keywords):
    """The same, asked once for each types; a thread that is slower takes the answer of the first."""
    key = (tuple(arguments), tuple(sorted(keywords.items(), key=lambda item: item[0])))
    try:
        known = candidate.answers.get(key)
    except TypeError:  # a literal that cannot be hashed
        return _ask(candidate, arguments, keywords)
    return known or candidate.answers.setdefault(key, _ask(candidate, arguments, keywords))


def _place(selector):
    code = getattr(_source(selector), "__code__", None)
    return f" ({code.co_filename}:{code.co_firstlineno})" if code else ""


def _choose(candidates, arguments, keywords):
    passed_over = []
    for candidate in candidates:
        found, reason = _answer(candidate, arguments, keywords)
        if found is not None:
            return found, None
        name = getattr(candidate.selector, "__name__", repr(candidate.selector))
        passed_over.append(f"\n      `{name}`{_place(candidate.selector)}: {reason}")
    return None, "the overloads that were asked, in this order:" + "".join(passed_over) if passed_over else None


def _of_function(callee, arguments, keywords):
    return _choose(tuple(_functions[id(callee)][1]), arguments, keywords)


def _is_of(subject, type_):
    """Whether overloads of methods of `subject` are for objects of this type."""
    if isinstance(subject, types.Type):
        return type_ == subject
    if isinstance(type_, types.Object):
        return subject is types.Object or issubclass(type_.cls, subject)
    return isinstance(type_, subject)


def _of_object(table, name, arguments, keywords):
    fitting = [candidate for candidate in table.get(name, ()) if _is_of(candidate.subject, arguments[0])]
    return _choose(fitting, arguments, keywords)


def _of_method(name, arguments, keywords):
    return _of_object(_methods, name, arguments, keywords)


def _of_attribute(name, arguments, keywords):
    return _of_object(_attributes, name, arguments, keywords)


# ---- what users write ----

def _check_selector(selector):
    if not callable(selector):
        raise TypeError(f"an overload must be a function of types, not {selector!r:.200}")


def _check_options(strict, inline):
    if not isinstance(strict, bool):
        raise TypeError(f"strict must be True or False, not {strict!r:.200}")
    if inline not in ("never", "always"):
        raise ValueError(f'inline must be "never" or "always", not {inline!r:.200}')


def overload(func, *, strict=True, inline="never"):
    """Decorates a function of types, which gives compiled code the implementation of func.

    func: any callable: a function of yours, of a library, a builtin, a class. The decorated function is
    called with the types of the arguments as func is called, and returns a Python function with the
    same parameters (strict=False: with any), or None where it is not for these types. Overloads are
    asked in the order in which they were registered. inline: "never" or "always", which numba
    distinguishes; the compiler decides.

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
    _check_options(strict, inline)

    def register(selector):
        _check_selector(selector)
        entry = _functions.setdefault(id(func), (func, []))  # it keeps func, and so its id
        _add(entry[1], id(func), _Candidate(selector, func, strict))
        return selector

    return register


def _registers(table, typ, attr, strict, inline):
    if not isinstance(attr, str):
        raise TypeError(f"attr must be a str, not {attr!r:.200}")
    if not isinstance(typ, (type, types.Type)):
        raise TypeError(f"typ must be a type of lanewise.types or a class, not {typ!r:.200}")
    if isinstance(typ, type) and issubclass(typ, (int, float, complex)):
        raise TypeError(f"typ must be a type of compiled code, as lanewise.types.Float, not {typ.__name__}")
    _check_options(strict, inline)

    def register(selector):
        _check_selector(selector)
        _add(table.setdefault(attr, []), attr, _Candidate(selector, typ, strict))
        return selector

    return register


def overload_method(typ, attr, *, strict=True, inline="never"):
    """Decorates a function of types, which gives compiled code the method `attr` of objects of type `typ`.

    typ: a kind (`lw.types.Array`, `lw.types.Float`), one type (`lw.types.float64`) or a class of yours.
    The object is the first argument.

        >>> @lw.extending.overload_method(lw.types.Float, "limited")
        ... def _(x, lo, hi):
        ...     return lambda x, lo, hi: min(max(x, lo), hi)
        >>> @lw.vectorize
        ... def f(x): return x.limited(0.0, 1.0)
        >>> f([-3.0, 0.25, 7.0])
        array([0.  , 0.25, 1.  ])
    """
    return _registers(_methods, typ, attr, strict, inline)


def overload_attribute(typ, attr, *, strict=True, inline="never"):
    """Decorates a function of a type, which gives compiled code the attribute `attr` of objects of type `typ`,
    as overload_method does methods. It is read only.

        >>> @lw.extending.overload_attribute(lw.types.Array, "centre")
        ... def _(row):
        ...     if row.ndim == 1:
        ...         return lambda row: row[row.size // 2]
    """
    return _registers(_attributes, typ, attr, strict, inline)


def register_jitable(function=None, **options):
    """Says that a function is for compiled code too. It is returned as it is: every function with
    Python source can be called in compiled functions. Options of numba's are taken and do nothing."""
    def register(function):
        if not callable(function):
            raise TypeError(f"register_jitable takes a function, not {function!r:.200}")
        return function

    return register if function is None else register(function)


# ---- numba's hooks that build intermediate representation ----

def _refused(name, instead):
    def refuse(*args, **kwargs):
        raise UnsupportedError(f"lanewise.extending.{name}: there is no builder of intermediate representation here; {instead}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Raises UnsupportedError: {instead}."
    return refuse


_FUNCTION = "write an overload(func), which is compiled from Python, or use declare_external for a function in another language"
_ATTRIBUTE = "write an overload_attribute(typ, name)"
_CLASS = "objects of classes are their fields in compiled code without it"

intrinsic = _refused("intrinsic", _FUNCTION)
lower_builtin = _refused("lower_builtin", _FUNCTION)
lower = _refused("lower", _FUNCTION)
lower_cast = _refused("lower_cast", "call an overload(func) that makes the one from the other")
lower_getattr = _refused("lower_getattr", _ATTRIBUTE)
lower_constant = _refused("lower_constant", _CLASS)
box = _refused("box", _CLASS)
unbox = _refused("unbox", _CLASS)
NativeValue = _refused("NativeValue", _CLASS)
type_callable = _refused("type_callable", _FUNCTION)
register_model = _refused("register_model", _CLASS)
make_attribute_wrapper = _refused("make_attribute_wrapper", _ATTRIBUTE)


# ---- classes ----


def _fields_of(cls):
    """The names that objects of the class may have as fields."""
    names = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    code = getattr(getattr(cls, "__init__", None), "__code__", None)
    return names | set(code.co_names if code else ())


def register(cls=None, /, **fields):
    """Fix the types of the fields of a class.

    The fields of an object follow from the arguments of each call, unless their types are fixed: then what is assigned to them in
    compiled code is converted as to an annotated variable, and what objects have that are passed as arguments must fit.

    Args:
        cls: a dataclass, or a class with an `__init__` of its own. Left out: for use as a decorator.
        **fields: for each field that is fixed, its type: `lw.float64`, or another number's.

    Returns:
        The class.

    Raises:
        TypeError: it is no such class, it has no such field, or a type is not a number's.

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
        raise TypeError(f"register: the items of the namedtuple `{cls.__name__}` are what they are given; make it a dataclass")
    known = _fields_of(cls)
    for name, given in fields.items():
        if name not in known:
            raise TypeError(f"register: `{cls.__name__}` has no field `{name}`")
        if not isinstance(given, _core.Type) or not getattr(given, "__lanewise_dtype__", None):
            raise TypeError(f"register: {name}={given!r} must be the type of a number, as lw.float64")
    cls.__lanewise_fields__ = {**getattr(cls, "__lanewise_fields__", {}), **fields}
    return cls
