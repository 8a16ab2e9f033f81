"""Elements of arrays that are objects of a user's class.

An array of objects is a NumPy array of records, whose dtype has a type of elements of its own: a class derived from the user's
and from `numpy.void`. So the dtype alone says which class it is, and keeps that through views, copies, concatenation, pickles
and memory of a device; and in Python `a[i]` has the class's methods and operators, over the memory of the array, as in
compiled code.
"""

from __future__ import annotations

import copyreg
import dataclasses
import dis
import operator
import sys
import threading
import typing

import numpy as np

from lanewise import _core

if sys.version_info >= (3, 14):
    import annotationlib

_PYTHON = {bool: np.dtype(np.bool_), int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype(np.complex128)}
_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "lshift", "rshift", "and", "or", "xor")
_ORDERS = ("eq", "ne", "lt", "le", "gt", "ge")
_SKIPPED = {"__new__", "__init__", "__slots__", "__dict__", "__weakref__", "__getattribute__", "__class__", "__init_subclass__"}

_lock = threading.Lock()
_types: dict = {}  # (class, names of its fields) -> type of elements
_dtypes: dict = {}  # (class, names, dtypes of its fields) -> dtype


# ---- types of elements ----


class _ElementType(type):
    """The metaclass of the types of elements, by which they are pickled."""

    __lanewise_class__: type
    __lanewise_names__: tuple  # of its fields


def _field(name):
    def get(element):
        return np.void.__getitem__(element, name)

    def set(element, value):
        np.void.__setitem__(element, name, _item_of(value, element.dtype[name]))

    return property(get, set)


def _show(element):
    fields = ", ".join(f"{name}={np.void.__getitem__(element, name)}" for name in element.dtype.names)
    return f"{type(element).__lanewise_class__.__name__}({fields})"


def _body(cls, names):
    def new(_, *args, **kwargs):  # type(p)(...) makes an object, not an element of an array
        return cls(*args, **kwargs)

    body = {name: _field(name) for name in names}
    body |= {"__new__": new, "__class__": property(lambda element: cls), "__lanewise_class__": cls, "__lanewise_names__": names,
             "__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    if cls.__repr__ is object.__repr__ or issubclass(cls, tuple):
        body["__repr__"] = _show
    if issubclass(cls, tuple) and cls.__iter__ is tuple.__iter__ and cls.__getitem__ is not tuple.__getitem__:
        body["__iter__"] = lambda element: iter(_items(element))  # np.void would go by __getitem__, without an end
    if cls.__str__ is object.__str__ or issubclass(cls, tuple):
        body["__str__"] = lambda element: repr(element)
    return body | _without_numpy(cls)


def _not_implemented(element, other):
    return NotImplemented


def _not_equal(element, other):
    """What object.__ne__ does."""
    equal = element.__eq__(other)
    return equal if equal is NotImplemented else not equal


def _items(x):
    """Those of a tuple or of an element that is one, whose class may have a `__getitem__` of its own."""
    return tuple(np.void.__getitem__(x, i) for i in range(len(x.dtype.names))) if isinstance(x, np.void) else tuple(tuple.__iter__(x))


def _as_tuples(compare):
    def compared(element, other):
        return compare(_items(element), _items(other)) if isinstance(other, tuple | np.void) else NotImplemented

    return compared


def _defines(cls, name):
    """Whether the class, or one that it is derived from, has the method; object and the metaclass do not count."""
    return any(name in vars(base) for base in cls.__mro__ if base is not object and (base is not tuple or name != "__bool__"))


def _comparisons(cls):
    if issubclass(cls, tuple):
        return {f"__{name}__": _as_tuples(getattr(operator, name)) for name in _ORDERS if getattr(cls, f"__{name}__") is getattr(tuple, f"__{name}__")}
    body = {f"__{name}__": _not_implemented for name in _ORDERS[2:] if not _defines(cls, f"__{name}__")}
    if _defines(cls, "__eq__") and not _defines(cls, "__ne__"):
        body["__ne__"] = _not_equal
    return body


def _without_numpy(cls):
    """What objects of the class do not do, and elements of NumPy's arrays do."""
    names = [f"__{kind}{name}__" for name in _OPERATORS for kind in ("", "r")]
    body = {name: _not_implemented for name in names if not _defines(cls, name)}
    if not _defines(cls, "__bool__"):
        body["__bool__"] = (lambda element: len(element) != 0) if _defines(cls, "__len__") else (lambda element: True)
    return body | _comparisons(cls)


def _members(cls):
    """What the class defines, where it cannot be a base: its objects have slots, or are tuples."""
    found = {}
    for base in reversed(cls.__mro__[:-1]):
        if base is not tuple:
            found |= {name: value for name, value in vars(base).items()
                      if name not in _SKIPPED and type(value).__name__ not in ("member_descriptor", "getset_descriptor", "_tuplegetter")}
    return found


def _make_type(cls, names):
    try:
        return _ElementType(cls.__name__, (cls, np.void), _body(cls, names))
    except TypeError:  # its objects have another layout
        return _ElementType(cls.__name__, (np.void,), _members(cls) | _body(cls, names))


def _element_type(cls, names):
    with _lock:
        made = _types.get((cls, names))
        if made is None:
            made = _types[cls, names] = _make_type(cls, names)
        return made


copyreg.pickle(_ElementType, lambda made: (_element_type, (made.__lanewise_class__, made.__lanewise_names__)))


# ---- types of fields ----


def _own_hints(cls):
    """The annotations in the class's own text, as far as their names are bound."""
    if sys.version_info >= (3, 14):  # it evaluates them when they are asked for
        return annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
    return vars(cls).get("__annotations__", {})


def _hints(cls):
    try:
        return typing.get_type_hints(cls)
    except Exception:  # a name in an annotation that is bound nowhere: of another field, perhaps
        return {name: hint for base in reversed(cls.__mro__) for name, hint in _own_hints(base).items()}


def _dtype(cls, name, given):
    """The dtype of a field whose type is given so."""
    if isinstance(given, np.dtype):
        found = given
    elif given in _PYTHON if isinstance(given, type) else False:
        found = _PYTHON[given]
    elif isinstance(given, _core.Type) and getattr(given, "__lanewise_dtype__", None):
        found = np.dtype(getattr(np, given.name, None) or given.dtype)
    elif isinstance(given, type) and issubclass(given, np.generic) and not issubclass(given, np.void):
        found = np.dtype(given)
    elif isinstance(given, type) and not issubclass(given, (str, bytes)) and given.__module__ != "builtins":
        found = dtype_of(given)
    else:
        found = None
    if found is None or (found.kind not in "biufcV") or (found.kind == "V" and found.names is None):
        raise TypeError(f"dtype_of: the field `{name}` of `{cls.__name__}` has the type {given!r:.100}; expected a number's, as in "
                        f"dtype_of({cls.__name__}, {name}=lw.float64), or a class with such fields")
    return found


def _names(cls, known):
    """The fields in the order that objects of the class have, as far as it is known."""
    if dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls)]
    if issubclass(cls, tuple):
        return list(cls._fields)
    assigned = _assigned(cls) if known else []
    return assigned + [name for name in known if name not in assigned]


def _assigned(cls):
    """The fields that `__init__` assigns, in order; setters of properties assign others."""
    codes = [vars(base)["__init__"].__code__ for base in reversed(cls.__mro__) if hasattr(vars(base).get("__init__"), "__code__")]
    names = [step.argval for code in codes for step in dis.get_instructions(code) if step.opname == "STORE_ATTR"]
    return [name for name in dict.fromkeys(names) if not isinstance(getattr(cls, name, None), property)]


def _reached(cls):
    """Names that can be those of fields."""
    found = set(_hints(cls)) | set(getattr(cls, "_fields", ()))
    for base in cls.__mro__:
        for value in vars(base).values():
            functions = [value, *(getattr(value, name, None) for name in ("fget", "fset", "__func__", "py_func"))]
            found |= {name for function in functions for name in getattr(getattr(function, "__code__", None), "co_names", ())}
    return found


def _types_of(cls, fields):
    known = {name: hint for name, hint in _hints(cls).items() if typing.get_origin(hint) is not typing.ClassVar and hint is not typing.ClassVar}
    known |= getattr(cls, "__lanewise_fields__", {})
    known |= fields
    names = _names(cls, known)
    reached = _reached(cls)
    for name in fields:
        if name not in names or name not in reached:
            raise TypeError(f"dtype_of: `{cls.__name__}` has no field `{name}`")
    for name in names:
        if name not in known:
            raise TypeError(f"dtype_of: the field `{name}` of `{cls.__name__}` has no type: annotate it, or name it here, as in "
                            f"dtype_of({cls.__name__}, {name}=lw.float64)")
    return {name: _dtype(cls, name, known[name]) for name in names}


def dtype_of(cls, /, **fields):
    """Return the dtype of arrays whose elements are objects of a class.

    It is a structured dtype with aligned fields that remembers the class. In compiled code and in Python, elements have the
    methods, properties and operators of the class. Compiled code can store objects in such an array; in Python, assign a
    tuple of the fields. Views, copies and pickles keep the class. Files of `numpy.save` do not: restore it with
    `np.load(file).view(dtype)`.

    Args:
        cls: a class with an `__init__` of its own, a dataclass, or a namedtuple class with methods.
        **fields: types of fields, for those that neither `register` nor an annotation in the class fixes:
            `lw.float32`, `np.int64`, `float`, or another class.

    Raises:
        TypeError: cls is not a class, a field has no type, or a type that an element cannot have.

    >>> class Interval:
    ...     lo: float
    ...     hi: float
    ...     def __init__(self, lo, hi):
    ...         self.lo = lo
    ...         self.hi = hi
    ...     def width(self):
    ...         return self.hi - self.lo
    >>> a = np.array([(0.0, 1.0), (2.0, 5.0)], lw.extending.dtype_of(Interval))
    >>> a[1].width()
    np.float64(3.0)
    """
    if not isinstance(cls, type):
        raise TypeError(f"dtype_of: expected a class, not {cls!r:.200}")
    if isinstance(cls, _ElementType):
        cls = cls.__lanewise_class__
    if issubclass(cls, tuple) and not hasattr(cls, "_fields"):
        raise TypeError(f"dtype_of: `{cls.__name__}` is derived from tuple, but is not a namedtuple")
    if issubclass(cls, tuple) and not _core._has_code(cls):
        raise TypeError(f"dtype_of: `{cls.__name__}` is a namedtuple without methods, which is a plain tuple in compiled code: give it a "
                        "method, or make it a dataclass")
    return dtype_for(cls, fields)


def dtype_for(cls, fields, has_fields=True):
    """The dtype for objects of the class, also for a namedtuple without methods, which as an argument is an object too. Of
    objects without fields it is a byte that nothing reads, since NumPy's loops need elements that have a size."""
    types = _types_of(cls, fields)
    if has_fields and not types:
        raise TypeError(f"dtype_of: `{cls.__name__}` does not say which fields its objects have: annotate them in the class, or name "
                        f"them here, as in dtype_of({cls.__name__}, x=lw.float64)")
    key = (cls, tuple(types), tuple((dtype, dtype.type) for dtype in types.values()))  # equal dtypes may have other types of elements
    found = _dtypes.get(key)
    if found is None:
        plain = np.dtype({"names": list(types), "formats": list(types.values()), **({} if types else {"itemsize": 1})}, align=True)
        found = _dtypes[key] = np.dtype((_element_type(cls, tuple(types)), plain))
    return found


setattr(dtype_of, "__lanewise_folds__", True)  # in compiled code: `lw.local(3, dtype_of(Interval))`


def _item_of(value, dtype):
    """A value as NumPy stores it in an element of this dtype: an object as the tuple of its fields."""
    if dtype.names is None or isinstance(value, np.void):
        return value
    items = value if isinstance(value, tuple) else [getattr(value, name) for name in dtype.names]
    return tuple(_item_of(item, dtype[name]) for item, name in zip(items, dtype.names, strict=True))


def array_of(objects, dtype=None):
    """Return an array of objects of one class.

    Args:
        objects: an iterable of objects of one class.
        dtype: the dtype of the array, as returned by `dtype_of`; with None, `dtype_of` the class of the first object.

    Raises:
        TypeError: the dtype is not that of a class, or an object lacks one of its fields.
        ValueError: there is neither an object nor a dtype.

    >>> class Point:
    ...     x: float
    ...     y: float
    ...     def __init__(self, x, y):
    ...         self.x = x
    ...         self.y = y
    >>> lw.extending.array_of([Point(1.0, 2.0), Point(3.0, 4.0)])["y"]
    array([2., 4.])
    """
    try:
        objects = list(objects)
    except TypeError:
        raise TypeError(f"array_of: expected an iterable of objects of one class, not {type(objects).__name__}") from None
    if dtype is None and not objects:
        raise ValueError("array_of: there is no object, so the dtype has to be given: array_of([], dtype_of(C))")
    if dtype is None:
        try:
            dtype = dtype_of(type(objects[0]))
        except TypeError as problem:
            raise TypeError(str(problem).replace("dtype_of:", "array_of: its second argument is the dtype to make.", 1)) from None
    dtype = np.dtype(dtype)
    if class_of(dtype) is None:
        raise TypeError(f"array_of: {dtype!r:.200} is not the dtype of a class; lanewise.extending.dtype_of makes one")
    try:
        return np.array([_item_of(one, dtype) for one in objects], dtype)
    except AttributeError as problem:
        raise TypeError(f"array_of: an object has no field: {problem}") from None


def class_of(dtype):
    """The class of the elements of such a dtype, or None."""
    return vars(dtype.type).get("__lanewise_class__") if isinstance(dtype.type, _ElementType) else None


class _Objects(np.ndarray):
    """Arrays as functions see them that run as plain Python: objects are stored, and fields are attributes too."""

    def __setitem__(self, key, value):
        super().__setitem__(key, value if isinstance(value, np.ndarray) else _item_of(value, self.dtype))

    def __getattr__(self, name):
        if name in (self.dtype.names or ()):
            return self[name]
        raise AttributeError(name)


class _Bools(np.ndarray):
    """Arrays of bools as functions see them that run as plain Python. The elements are Python's bools: as in compiled code,
    they are numbers in sums, where NumPy's are not."""

    def __getitem__(self, key):
        found = super().__getitem__(key)
        return bool(found) if isinstance(found, np.bool_) else found

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return array.view(np.ndarray)[()] if return_scalar else viewed(array)

    def __setitem__(self, key, value):
        if type(value) is int and value < 0:
            raise TypeError(f"{value} is stored in an array of bools: with target=\"python\", ~x of a bool x is an int; write `not x`")
        super().__setitem__(key, value)


def viewed(array):
    """The memory as an array for compiled functions that run as plain Python."""
    if array.dtype.names is None:
        return np.asarray(array).view(_Bools if array.dtype == np.bool_ else np.ndarray)
    return array.view(np.recarray if class_of(array.dtype) is None else _Objects)
