"""Types of the user's own, in the words of numba.extending: what compiled code knows of a type with a model, which
objects and which calls have it. `lanewise.extending` has the public names; the compiler asks for the names with an underscore that
`lanewise/extending.py` imports."""

import inspect
import operator
import threading
from types import SimpleNamespace

import numpy as np

from lanewise import _core, types
from lanewise.errors import UnsupportedError

#: What functions of typeof_impl and type_callable are given; numba's have more.
_context = SimpleNamespace(purpose="argument", resolve_value_type=_core.typeof)


class _Struct:
    """What a type with a model consists of, as core/front/read/struct.c reads it."""

    def __init__(self, type_, names, attributes, field_types, visible, cls):
        self.type = type_  # of all equal ones the first
        self.names = names  # of the fields
        self.attributes = attributes  # what the fields are of Python's objects
        self.types = field_types
        self.visible = visible  # ((attribute, number of the field), …) in compiled code
        self.cls = cls  # of Python's objects; None: it is not known


_structs = {}  # type -> its _Struct
_models = {}  # class of types -> class of its model
_wrappers = {}  # class of types -> {attribute: field}
_classes = {}  # type -> the class of its objects
_lock = threading.RLock()


def _changed(types_):
    """Types have another meaning from now on."""
    from lanewise import extending

    with _lock:
        for type_ in types_:
            _structs.pop(type_, None)
        extending._have_changed([id(_canonical.get(type_, type_)) for type_ in types_])


_canonical = {}  # type -> of all equal ones the first: the compiler tells types apart by identity


# ---- models ----


class _Managers:
    """The dmm of models: numba's DataModelManager, of which models need this."""

    @staticmethod
    def lookup(fe_type):
        return _model_of(fe_type)


class StructModel:
    """The model of a type whose values are structs. members: pairs of a name and a type.

    >>> class PairType(lw.types.Type):
    ...     def __init__(self):
    ...         super().__init__(name="Pair")
    >>> @lw.extending.register_model(PairType)
    ... class PairModel(lw.extending.models.StructModel):
    ...     def __init__(self, dmm, fe_type):
    ...         members = [("first", lw.types.float64), ("second", lw.types.int64)]
    ...         lw.extending.models.StructModel.__init__(self, dmm, fe_type, members)
    """

    def __init__(self, dmm, fe_type, members):
        self._dmm, self._fe_type, self._members = dmm, fe_type, [(name, types._type(type_)) for name, type_ in members]
        for name, _ in self._members:
            if not isinstance(name, str) or not name.isidentifier():
                raise TypeError(f"{type(self).__name__}: a member's name must be an identifier, not {name!r:.200}")

    @property
    def fe_type(self):
        """The type whose model it is."""
        return self._fe_type


class OpaqueModel:
    """The model of a type whose values have no members, so that compiled code knows only their type."""

    def __init__(self, dmm, fe_type):
        self._dmm, self._fe_type, self._members = dmm, fe_type, []


class PrimitiveModel:
    """Not available, because it needs a type of LLVM: raises UnsupportedError. Use a StructModel with one member."""

    def __init__(self, dmm, fe_type, be_type):
        raise UnsupportedError("lanewise.extending.models.PrimitiveModel is not available, because it needs a type of LLVM; write a StructModel of one member, "
                               'as in members = [("value", types.int64)]')


class models:
    """The classes that models are derived from: StructModel, or OpaqueModel for types without members."""

    StructModel = StructModel
    OpaqueModel = OpaqueModel
    PrimitiveModel = PrimitiveModel


_models[types.Dummy] = OpaqueModel  # and Opaque, which is derived from it


def _type_class(typ, what):
    if not isinstance(typ, type) or not issubclass(typ, types.Type):
        raise TypeError(f"{what} must be a class derived from lanewise.types.Type, not {typ!r:.200}")
    return typ


def register_model(typ):
    """A decorator: the decorated class is the model of a class of types. It is derived from `models.StructModel`, or is models.OpaqueModel.

    In compiled code, values of such a type are structs of the members. A value that is stored in a member is converted to the member's
    type. Compiled code can read the attributes that make_attribute_wrapper declares. A call of the type in compiled code, with
    the members in their order as arguments, makes a value.

        >>> class MetresType(lw.types.Type):
        ...     def __init__(self):
        ...         super().__init__(name="Metres")
        >>> metres = MetresType()
        >>> @lw.extending.register_model(MetresType)
        ... class MetresModel(lw.extending.models.StructModel):
        ...     def __init__(self, dmm, fe_type):
        ...         super().__init__(dmm, fe_type, [("value", lw.types.float64)])
        >>> lw.extending.make_attribute_wrapper(MetresType, "value", "value")
        >>> @lw.vectorize
        ... def doubled(x):
        ...     return metres(x).value * 2
        >>> doubled(1.5)
        np.float64(3.0)
    """
    _type_class(typ, "typ")

    def register(model):
        if not isinstance(model, type) or not issubclass(model, (StructModel, OpaqueModel, PrimitiveModel)):
            raise TypeError(f"a model must be derived from models.StructModel, not {model!r:.200}")
        _models[typ] = model
        _changed([known for known in list(_canonical) if isinstance(known, typ)])
        return model

    return register


def make_attribute_wrapper(typeclass, struct_attr, python_attr):
    """Declare an attribute `python_attr` of values of a class of types, which reads the member `struct_attr` of their model.

    An object that is passed to a compiled function is read by these attributes.

        >>> lw.extending.make_attribute_wrapper(float, "re", "real")
        Traceback (most recent call last):
        TypeError: typeclass must be a class derived from lanewise.types.Type, not <class 'float'>
    """
    _type_class(typeclass, "typeclass")
    for name, value in (("struct_attr", struct_attr), ("python_attr", python_attr)):
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a str, not {value!r:.200}")
    _wrappers.setdefault(typeclass, {})[python_attr] = struct_attr
    _changed([known for known in list(_canonical) if isinstance(known, typeclass)])


def _model_of(type_):
    """The model of a type, made for it; None: its class has none."""
    cls = next((cls for cls in type(type_).__mro__ if cls in _models), None)
    return None if cls is None else _models[cls](_Managers, type_)


def _visible(type_, model):
    """The attributes of a type with the numbers of their members."""
    numbers = {name: i for i, (name, _) in enumerate(model._members)}
    found = {}
    for cls in reversed(type(type_).__mro__):
        for attribute, member in _wrappers.get(cls, {}).items():
            if member not in numbers:
                raise TypeError(f"make_attribute_wrapper({cls.__name__}, {member!r}, {attribute!r}): {type(model).__name__} has no member {member!r}")
            found[attribute] = numbers[member]
    return tuple(found.items())


def _holds_what_structs_hold(type_):
    if isinstance(type_, types.Tuple):
        return all(map(_holds_what_structs_hold, type_.types))
    return isinstance(type_, (types.Number, types.Boolean)) or isinstance(type_, types.Array) and isinstance(type_.dtype, (types.Number, types.Boolean))


def _check_member(model, name, type_):
    if not (_struct_of(type_) if isinstance(type_, types.Type) and not isinstance(type_, _core.CoreType) else _holds_what_structs_hold(type_)):
        raise TypeError(f"{type(model).__name__}: the member `{name}` is {type_!r:.200}; expected the type of a number, of an array of numbers, "
                        "a tuple of such types, or a type that has a StructModel itself")


def _struct_of(type_):
    """The _Struct of a type; None: it has no model."""
    if not any(cls in _models for cls in type(type_).__mro__):
        return None
    known = _structs.get(type_)
    if known is not None:
        return known
    model = _model_of(type_)
    for name, member in model._members:
        _check_member(model, name, member)
    visible = _visible(type_, model)
    names = tuple(name for name, _ in model._members)
    attributes = {number: attribute for attribute, number in reversed(visible)}
    with _lock:
        first = _canonical.setdefault(type_, type_)
        struct = _Struct(first, names, tuple(attributes.get(i, name) for i, name in enumerate(names)), tuple(member for _, member in model._members),
                         visible, _classes.get(first))
        return _structs.setdefault(first, struct)


def _set_class(type_, cls):
    """Objects of this type are of this Python class: of several the one that others are derived from, or the first."""
    first = _canonical.setdefault(type_, type_)
    known = _classes.setdefault(first, cls)
    if known is not cls and issubclass(known, cls):
        known = _classes[first] = cls
    if first in _structs:
        _structs[first].cls = known


# ---- the types of Python's objects ----


class _Typeof:
    """`@typeof_impl.register(C)` is a decorator: the decorated function receives an object of class C and a context, and returns its type.

    The type must be derived from lanewise.types.Type and have a model. Arguments of compiled functions that are objects of C, or of a
    class derived from it, have this type. They are read by the attributes that make_attribute_wrapper declares, and results become objects
    of the class in the same way. `typeof_impl(value)` returns the type of any value, as lanewise.typeof does.

        >>> class Celsius:
        ...     def __init__(self, degrees):
        ...         self.degrees = degrees
        >>> class CelsiusType(lw.types.Type):
        ...     def __init__(self):
        ...         super().__init__(name="Celsius")
        >>> @lw.extending.typeof_impl.register(Celsius)
        ... def _(val, c):
        ...     return CelsiusType()
        >>> lw.typeof(Celsius(20.0))
        Celsius
    """

    def __init__(self):
        self.registry = {}  # class -> function
        self._asked = {}  # class -> function or None, of all classes that were asked for: core/py/object_shape.c reads it

    def register(self, cls, func=None):
        if not isinstance(cls, type):
            raise TypeError(f"typeof_impl.register takes a class, not {cls!r:.200}")
        if func is None:
            return lambda func: self.register(cls, func)
        if not callable(func):
            raise TypeError(f"typeof_impl.register({cls.__name__}) takes a function of an object and a context, not {func!r:.200}")
        self.registry[cls] = func
        self._asked.clear()
        _core._typed_classes(self._asked, _context)
        _core._overloads_changed()
        return func

    def dispatch(self, cls):
        """The function for objects of a class, or None."""
        for one in cls.__mro__:
            if one in self.registry:
                return self.registry[one]
        return None

    def __call__(self, val, c=None):
        return _core.typeof(val)

    def __repr__(self):
        return "<lanewise.extending.typeof_impl>"


typeof_impl = _Typeof()


def _typed_class(cls):
    """Notes and gives the function for objects of a class, or None."""
    return typeof_impl._asked.setdefault(cls, typeof_impl.dispatch(cls))


def _typeof_registered(value):
    """The type of an object that lanewise knows by typeof_impl; None: it is of no such class."""
    function = typeof_impl.dispatch(type(value))
    return None if function is None else function(value, _context)


def _struct_of_object(value, type_):
    """The _Struct of an argument that typeof_impl has given this type."""
    struct = _struct_of(type_) if isinstance(type_, types.Type) and not isinstance(type_, _core.CoreType) else None
    cls = type(value)
    if struct is None:
        what = f"{type(type_).__name__}, which has no model: register_model({type(type_).__name__})" if isinstance(type_, types.Type) else repr(type_)[:200]
        if isinstance(type_, _core.CoreType):
            what = f"{type_}; expected a type of your own, derived from lanewise.types.Type"
        raise TypeError(f"typeof_impl says that an object of `{cls.__name__}` is of type {what}")
    if struct.cls is not cls:
        _set_class(type_, next(one for one in cls.__mro__ if one in typeof_impl.registry))
    return struct


def _frozen_value(type_, value):
    """A member of a frozen object as a constant of its type."""
    if isinstance(type_, types.Tuple):
        return tuple(_frozen_value(item, one) for item, one in zip(type_.types, value, strict=True))
    if isinstance(type_, types.Boolean):
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{value!r:.50} is not a bool")
    elif isinstance(type_, types.Integer):
        value = operator.index(value)
        limits = np.iinfo(type_.dtype)
        if not limits.min <= value <= limits.max:
            raise OverflowError(f"{value} does not fit {type_}")
    elif isinstance(type_, types.Float):
        value = float(value)
    return type_(value) if isinstance(type_, (types.Number, types.Boolean)) else value


def _member_value(struct, number, value):
    """The tuple in an attribute of an argument, its numbers as NumPy's of the member's type."""
    try:
        return _frozen_value(struct.types[number], value)
    except (TypeError, ValueError, OverflowError) as problem:
        raise TypeError(f"the attribute `{struct.attributes[number]}` of an object of type {struct.type} is {value!r:.100}; "
                        f"expected {struct.types[number]}, the type of the member `{struct.names[number]}`") from problem


def _frozen_struct(value):
    """(type, values of its members) of an object that a function finds as a global; None: it has no type with a model."""
    function = typeof_impl.dispatch(type(value))
    if function is None:
        return None
    struct = _struct_of_object(value, function(value, _context))
    return struct.type, tuple(_frozen_value(type_, getattr(value, name)) for name, type_ in zip(struct.attributes, struct.types))


def _class_of_result(struct, values):
    """The class of whose objects typeof_impl says that they have the type, for a result that is the first thing seen of it."""
    if not struct.names:
        raise TypeError(f"a result of type {struct.type} cannot become a Python object: the type has no members")
    for cls, function in list(typeof_impl.registry.items()):
        try:
            made = object.__new__(cls)
            for name, value in zip(struct.attributes, values):
                object.__setattr__(made, name, value)
            found = function(made, _context) == struct.type
        except Exception:  # a class whose objects are made in another way
            continue
        if found:
            _set_class(struct.type, cls)
            return cls
    raise TypeError(f"a result of type {struct.type} cannot become a Python object: no class was given the type by typeof_impl, "
                    "type_callable or as_numba_type")


# ---- the types of calls ----


class _AsType:
    """`as_numba_type(C)` returns the type of objects of class C. `as_numba_type.register(C, type)` sets it, also for `C(...)` in compiled code.

    >>> lw.extending.as_numba_type(float)
    float64
    """

    def __init__(self):
        self._known = {int: types.int64, float: types.float64, complex: types.complex128, bool: types.bool_, type(None): types.none}

    def register(self, func_or_py_type, numba_type=None):
        if numba_type is None or not isinstance(func_or_py_type, type):
            raise UnsupportedError("lanewise.extending.as_numba_type.register takes a class and its type")
        if not isinstance(numba_type, types.Type):
            raise TypeError(f"numba_type must be a type, not {numba_type!r:.200}")
        self._known[func_or_py_type] = numba_type
        if not isinstance(numba_type, _core.CoreType):
            _set_class(numba_type, func_or_py_type)
        _add_typer(func_or_py_type, lambda *args, **kwargs: numba_type)

    def __call__(self, py_type):
        if isinstance(py_type, types.Type):
            return py_type
        if py_type is None:
            return types.none
        if py_type in self._known:
            return self._known[py_type]
        raise TypeError(f"{py_type!r:.200} has no type: as_numba_type.register({getattr(py_type, '__name__', '...')}, type)")

    def __repr__(self):
        return "<lanewise.extending.as_numba_type>"


as_numba_type = _AsType()


def _add_typer(func, typer):
    from lanewise import extending

    extending._add_typer(func, typer)


def type_callable(func):
    """A decorator for the types of calls of func: the decorated function receives a context, and returns a *typer*, which is a function
    that receives the types of a call's arguments and returns the type of the call.

    If func is a class whose objects have that type, compiled code runs its `__init__` and keeps the members of the type. For other
    functions, write an `overload(func)`, which has priority; its implementation may return `type(...)` of the members.

        >>> class Kelvin:
        ...     def __init__(self, degrees):
        ...         self.degrees = degrees + 273.15
        >>> class KelvinType(lw.types.Type):
        ...     def __init__(self):
        ...         super().__init__(name="Kelvin")
        >>> kelvin = KelvinType()
        >>> @lw.extending.register_model(KelvinType)
        ... class KelvinModel(lw.extending.models.StructModel):
        ...     def __init__(self, dmm, fe_type):
        ...         super().__init__(dmm, fe_type, [("degrees", lw.types.float64)])
        >>> lw.extending.make_attribute_wrapper(KelvinType, "degrees", "degrees")
        >>> @lw.extending.type_callable(Kelvin)
        ... def _(context):
        ...     def typer(degrees):
        ...         if isinstance(degrees, lw.types.Number):
        ...             return kelvin
        ...     return typer
        >>> lw.vectorize(lambda x: Kelvin(x).degrees)(20.0)
        np.float64(293.15)
    """
    if isinstance(func, str) or not callable(func):
        raise UnsupportedError(f"lanewise.extending.type_callable: {func!r:.200} is a part of numba's compiler; expected a function or class")

    def register(f):
        typer = f(_context)
        if not callable(typer):
            raise TypeError(f"type_callable({getattr(func, '__name__', func)}): the decorated function must return a function of types, not {typer!r:.200}")
        _add_typer(func, typer)
        return f

    return register


def _made(func, type_):
    """(what makes a value of the type when func is called, None), or (None, why nothing does)."""
    name = getattr(func, "__name__", repr(func))
    struct = _struct_of(type_) if isinstance(type_, types.Type) and not isinstance(type_, _core.CoreType) else None
    if struct is None:
        return None, f"it says that the result is {type_!r:.100}, but not how it is computed: write an overload({name})"
    if not inspect.isclass(func):
        return None, f"it says that the result is {type_!r:.100}, but not how it is made: write an overload({name}) that returns {type_}(...) of its members"
    _set_class(type_, func)
    return (struct.type, func), None
