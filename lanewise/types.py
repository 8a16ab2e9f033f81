"""The types of compiled code. Calling a type with a number converts the number. Calling it with types makes a
signature, in which it is the type of the result. With slices as a subscript, it makes the type of an array.

    >>> float32(1.5), float64(float64, int32), float32[:, ::1]
    (np.float32(1.5), float64(float64, int32), float32[:, ::1])
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from lanewise._core import (
    CoreType,
    Signature,
    Type,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    from_dtype,
    int8,
    int16,
    int32,
    int64,
    intp,
    typeof,
    uint8,
    uint16,
    uint32,
    uint64,
    uintp,
    void,
)

from lanewise._core import _tuple_type, _type_from_text


class _KindType(type):
    """Kinds of types, for isinstance(): `isinstance(x, Float)` asks whether the type x is of the kind, not whether x
    is an object of the class. NumPy's dtypes are of the kinds of their types, literals of those of their values."""

    def __instancecheck__(cls, type_: object) -> bool:
        if isinstance(type_, np.dtype):
            try:
                type_ = from_dtype(type_)
            except Exception:  # a dtype that compiled code does not know
                return False
        if type.__instancecheck__(cls, type_):
            return True
        if type.__instancecheck__(Literal, type_):
            type_ = type_.literal_type  # type: ignore[attr-defined]
        if type.__instancecheck__(cls, type_):
            return True
        return isinstance(type_, CoreType) and cls.__module__ == __name__ and cls._holds(type_)

    def _holds(cls, type_: CoreType) -> bool:
        return False


class _Kind(Type, metaclass=_KindType):
    """What all kinds are derived from."""


def _check_made(cls: type) -> None:
    """Of kinds whose calls make types of lanewise's own."""
    if cls.__module__ != __name__:
        raise TypeError(f"{cls.__name__} cannot be derived from {cls.__mro__[1].__name__}, whose types lanewise makes itself; "
                        "derive it from lanewise.types.Type")


def _type(type_: Any) -> Any:
    """A type, also where NumPy's dtype stands for it, as in `types.Array(x.dtype, 1, "C")`."""
    return from_dtype(type_) if isinstance(type_, np.dtype) else type_


def _letters(type_: CoreType) -> str:
    """The letter of a scalar type's NumPy kind; "" of other types."""
    if type_ == bfloat16:
        return "f"
    return type_.dtype.kind if hasattr(type_, "__lanewise_dtype__") and type_ != void else ""


class Dummy(_Kind):
    """A type without fields, whose objects only select overloads."""


class Opaque(Dummy):
    """The same as Dummy, under another name that numba has for it."""


class Number(_Kind):
    """Integers, floats and complex numbers."""

    _kinds = "iufc"

    @classmethod
    def _holds(cls, type_: CoreType) -> bool:
        return _letters(type_) in tuple(cls._kinds)


class Integer(Number):
    """Signed and unsigned integers."""

    _kinds = "iu"


class Float(Number):
    """float16, bfloat16, float32, float64."""

    _kinds = "f"


class Complex(Number):
    """complex64, complex128."""

    _kinds = "c"


class Boolean(_Kind):
    """bool_, which is not a Number."""

    @classmethod
    def _holds(cls, type_: CoreType) -> bool:
        return type_ == bool_


class NPDatetime(_Kind):
    """``NPDatetime("D")``: NumPy's datetime64 of that unit, which may be a multiple, such as "10ms". Called with a value, it converts it.

    >>> lw.types.NPDatetime("D"), lw.types.NPDatetime("D")("2020-02-29")
    (datetime64[D], np.datetime64('2020-02-29'))
    """

    _name, _kind = "datetime64", "M"

    def __new__(cls, unit: str) -> Any:
        _check_made(cls)
        return from_dtype(np.dtype(f"{cls._name}[{unit}]" if unit else cls._name))

    @classmethod
    def _holds(cls, type_: CoreType) -> bool:
        return type_.ndim == 0 and _letters(type_) == cls._kind


class NPTimedelta(NPDatetime):
    """``NPTimedelta("s")``: NumPy's timedelta64 of that unit.

    >>> lw.types.NPTimedelta("s")[:], lw.types.NPTimedelta("ms")(1500)
    (timedelta64[s][:], np.timedelta64(1500,'ms'))
    """

    _name, _kind = "timedelta64", "m"


class NoneType(_Kind):
    """The type of None."""

    @classmethod
    def _holds(cls, type_: CoreType) -> bool:
        return type_ == void


class Array(_Kind):
    """``Array(dtype, ndim, layout, readonly=False)``: arrays of ndim axes; the layout is "C", "F", or "A" for any strides.
    With readonly=True, the function must not write to the array, and read-only arrays are accepted, too. `aligned` makes no difference.

    >>> lw.types.Array(float32, 2, "C"), isinstance(float32[:], lw.types.Array)
    (float32[:, ::1], True)
    >>> lw.types.Array(float32, 1, "C", readonly=True)
    Array(float32, 1, 'C', readonly=True)
    """

    dtype: Any
    ndim: int
    layout: str
    mutable: bool

    def __new__(cls, dtype: Any, ndim: int, layout: str, readonly: bool = False, name: "str | None" = None, aligned: bool = True) -> Any:
        _check_made(cls)
        if layout not in ("A", "C", "F"):
            raise ValueError(f'layout must be "A", "C" or "F", not {layout!r:.200}')
        axes = [slice(None)] * ndim
        if ndim and layout != "A":
            axes[0 if layout == "F" and ndim > 1 else -1] = slice(None, None, 1)
        array = _type(dtype)[tuple(axes)]
        return _type_from_text(f"Array({_type(dtype)}, {ndim}, '{layout}', readonly=True)") if readonly else array

    @classmethod
    def _holds(cls, type_: CoreType) -> bool:
        return type_.ndim > 0


def _items(type_: CoreType) -> tuple[Type, ...] | None:
    return getattr(type_, "types", None)


class Tuple(_Kind):
    """The base class of all types of tuples; ``Tuple((int64, float64))`` makes one."""

    types: tuple[Any, ...]
    count: int
    dtype: Any

    def __new__(cls, types: Iterable[Any]) -> Any:
        _check_made(cls)
        return _tuple_of(map(_type, types))

    @classmethod
    def _holds(cls, type_: CoreType) -> bool:
        return _items(type_) is not None


class _TupleOfContainers(Tuple):
    """A tuple with typed lists, typed dicts or strings in it, as an item of a typed list or dict: no signature has such a type."""

    def __new__(cls, types: tuple[Any, ...]) -> Any:
        return Type.__new__(cls)

    def __init__(self, types: tuple[Any, ...]) -> None:
        Type.__init__(self, f"Tuple({', '.join(map(str, types))})")
        self.types, self.count = types, len(types)

    @property
    def key(self) -> Any:
        return self.types

    def __reduce__(self) -> Any:
        return Tuple, (self.types,)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.types)

    def __len__(self) -> int:
        return self.count


def _tuple_of(types: Iterable[Any]) -> Any:
    items = tuple(types)
    beside = ListType, DictType, UnicodeType, _TupleOfContainers
    return _TupleOfContainers(items) if any(isinstance(item, beside) for item in items) else _tuple_type(items, None, None)


class UniTuple(Tuple):
    """A tuple of `count` items of one type: ``UniTuple(float64, 3)``."""

    def __new__(cls, dtype: Any, count: int) -> Any:
        _check_made(cls)
        return _tuple_of((_type(dtype),) * count)

    @classmethod
    def _holds(cls, type_: CoreType) -> bool:
        items = _items(type_)
        return items is not None and all(item == items[0] for item in items)


class NamedTuple(Tuple):
    """A namedtuple of class `cls`, whose items have these types."""

    def __new__(cls_, types: Iterable[Any], cls: type) -> Any:
        _check_made(cls_)
        return _tuple_type(tuple(map(_type, types)), cls._fields, cls.__name__)  # type: ignore[attr-defined]

    @classmethod
    def _holds(cls, type_: CoreType) -> bool:
        return _items(type_) is not None and type_.fields is not None


class NamedUniTuple(NamedTuple):
    """A namedtuple of class `cls`, whose `count` items have one type."""

    def __new__(cls_, dtype: Any, count: int, cls: type) -> Any:
        _check_made(cls_)
        return NamedTuple((dtype,) * count, cls)

    @classmethod
    def _holds(cls, type_: CoreType) -> bool:
        return isinstance(type_, NamedTuple) and isinstance(type_, UniTuple)


class Optional(_Kind):
    """``Optional(uint64)``: an argument of a signature that may be None. The signature then stands for two: one with the type, and one with `none`.

    >>> float64(float64, lw.types.Optional(int64))
    float64(float64, optional(int64))
    """

    type: Any

    def __new__(cls, typ: Any) -> Any:
        _check_made(cls)
        return _type_from_text(f"optional({_type(typ)})")

    @classmethod
    def _holds(cls, type_: CoreType) -> bool:
        return hasattr(type_, "type")


class Record(_Kind):
    """``Record([(name, {"type": type, "offset": bytes}), …], size, aligned)``: the type that
    from_dtype gives the structured dtype of these fields."""

    def __new__(cls, fields: Iterable[tuple[str, dict[str, Any]]], size: int, aligned: bool = False) -> Any:
        _check_made(cls)
        listed = [(name, field["type"].dtype, field["offset"]) for name, field in fields]
        names, formats, offsets = zip(*listed) if listed else ((), (), ())
        return from_dtype(np.dtype(
            {"names": names, "formats": formats, "offsets": offsets, "itemsize": size}, align=aligned))

    @staticmethod
    def make_c_struct(name_types: Iterable[tuple[str, Any]]) -> CoreType:
        """Return a record with these fields, laid out as in C: ``[("x", float32), ("y", float64)]``."""
        return from_dtype(np.dtype([(name, type_.dtype) for name, type_ in name_types], align=True))

    @classmethod
    def _holds(cls, type_: CoreType) -> bool:
        return type_.ndim == 0 and getattr(getattr(type_, "dtype", None), "names", None) is not None


class Object(Type):
    """The type of an object, as an overload receives it: its class `cls`, and `fields`, a dict of the types of its fields.

    >>> class Point: ...
    >>> lw.types.Object(Point, {"x": float32, "y": float32})
    Point(x: float32, y: float32)
    """

    def __init__(self, cls: type, fields: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        super().__init__(cls.__name__)
        self.cls, self.fields = cls, dict(fields)

    @property
    def key(self) -> Any:
        return self.cls, tuple(self.fields.items())

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{name}: {type_}' for name, type_ in self.fields.items())})"


class ListType(Type):
    """The type of a typed list, ``lanewise.typed.List``: that of its items is `item_type`.

    >>> lw.types.ListType(float64)
    ListType[float64]
    """

    def __init__(self, item_type: Any) -> None:
        self.item_type = self.dtype = _type(item_type)
        super().__init__(f"ListType[{self.item_type}]")

    @property
    def key(self) -> Any:
        return self.item_type


class DictType(Type):
    """The type of a typed dict, ``lanewise.typed.Dict``: those of its keys and values, `key_type` and `value_type`.

    >>> lw.types.DictType(int64, float64)
    DictType[int64,float64]
    """

    def __init__(self, key_type: Any, value_type: Any) -> None:
        self.key_type, self.value_type = _type(key_type), _type(value_type)
        super().__init__(f"DictType[{self.key_type},{self.value_type}]")

    @property
    def key(self) -> Any:
        return self.key_type, self.value_type


class Literal(Type, metaclass=_KindType):
    """The type of an argument whose value, `literal_value`, is known when a function is compiled. Overloads receive it for strings, functions,
    types and members of enums that are known. For ints and bools that are known, they receive it only with `prefer_literal=True`, or if no
    overload takes the ordinary types. A string is a StringLiteral, an int an IntegerLiteral and an Integer, and a bool a BooleanLiteral and a
    Boolean.

    >>> two = lw.types.Literal(2)
    >>> isinstance(two, lw.types.Integer), two.literal_value, two.literal_type
    (True, 2, int64)
    """

    def __new__(cls, literal_value: Any) -> Literal:
        if cls is Literal:
            cls = _literals.get(type(literal_value), Literal)
        return super().__new__(cls)

    def __init__(self, literal_value: Any) -> None:
        super().__init__(f"Literal({literal_value!r})")
        self.literal_value = literal_value

    @property
    def literal_type(self) -> Type | None:
        """The type of other values of this kind, such as int64 for 2; None if there is none."""
        return _literal_types.get(type(self.literal_value))

    @property
    def key(self) -> Any:
        return type(self.literal_value), self.literal_value


class IntegerLiteral(Literal):
    """An int that is known at compile time."""


class BooleanLiteral(Literal):
    """True or False, known at compile time."""


class StringLiteral(Literal):
    """A string that is known when the function is compiled."""


class Omitted(_Kind):
    """numba's type of an argument that a call leaves out. Nothing is an instance of it, because overloads do not receive such arguments."""

    def __new__(cls, default: Any) -> Any:
        from lanewise.errors import UnsupportedError

        raise UnsupportedError("types.Omitted: leave parameters with a default value out of the signature")


class WrapperAddressProtocol:
    """The base class, as in numba, of classes whose objects stand for C functions: ``__wrapper_address__()`` returns the address, and
    ``signature()`` the types. Compiled code can call such objects."""

    def __wrapper_address__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__}.__wrapper_address__ must return the address of the function")

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{type(self).__name__} is a function that only compiled code calls")

    def signature(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.signature must return the types of the function, as float64(float64)")


class UnicodeType(_Kind):
    """The type of strings. StringLiteral is derived from it; overloads receive None for a string that is not known when the function is compiled."""


def literal(value: Any) -> Literal:
    """Return the literal type of a value.

    >>> lw.types.literal("fast")
    Literal('fast')
    """
    return Literal(value)


def unliteral(type_: Any) -> Any:
    """Return the ordinary type of a literal's value, or any other type unchanged.

    >>> lw.types.unliteral(lw.types.literal(3)), lw.types.unliteral(lw.types.float32)
    (int64, float32)
    """
    known = type_.literal_type if isinstance(type_, Literal) else None
    return type_ if known is None else known


unicode_type = UnicodeType("unicode_type")
_literals = {int: IntegerLiteral, bool: BooleanLiteral, str: StringLiteral}
_literal_types: dict[type, Type] = {int: int64, bool: bool_, str: unicode_type}


def CPointer(dtype: Type) -> Type:
    """A pointer to numbers or records of this type, as in C.

    >>> lw.types.CPointer(float32)
    float32*
    """
    return _type_from_text(f"CPointer({dtype})")


voidptr = _type_from_text("void*")

# other spellings, as numba and NumPy have them
BaseTuple = Tuple
boolean = b1 = bool_
optional = Optional
none = void
i1 = byte = char = int8
i2 = short = int16
i4 = intc = int32
i8 = int_ = long_ = longlong = ssize_t = int64
u1 = ubyte = uchar = uint8
u2 = ushort = uint16
u4 = uintc = uint32
u8 = uint = ulong = ulonglong = size_t = uint64
f2 = half = float16
f4 = single = float32
f8 = double = float_ = float64
c8 = csingle = complex64
c16 = cdouble = complex128

# numba's sets of number types
signed_domain = frozenset([int8, int16, int32, int64])
unsigned_domain = frozenset([uint8, uint16, uint32, uint64])
integer_domain = signed_domain | unsigned_domain
real_domain = frozenset([float32, float64])
complex_domain = frozenset([complex64, complex128])
number_domain = real_domain | integer_domain | complex_domain

_ABSENT = {  # numba's containers, and what takes their place
    "ListTypeIteratorType": "loop over the list", "List": "the type of a typed list is `types.ListType(dtype)`, and other lists have none", "Set": "a set is a sorted array, as np.unique makes it",
    "pyobject": "there is no object mode", "ClassType": "objects of ordinary classes are arguments as they are",
    "FunctionType": "functions are captured, or passed to the function that calls them",
    "deferred_type": "classes need no declared types of fields", "StructRef": "objects of ordinary classes are arguments as they are; lanewise.experimental.jitclass fixes the types of their fields",
    "string": "it is `types.unicode_type`", "undefined": "a function without a signature finds its types by itself", "ffi": "functions of cffi and ctypes are called as they are",
    "py_func": "functions are arguments as they are", "ClassInstanceType": "objects of ordinary classes are arguments as they are", "Callable": "functions are arguments as they are",
    "Function": "functions are arguments as they are", "Dispatcher": "functions of njit are arguments as they are",
    "SliceType": "slices are arguments as they are", "RangeType": "pass the bounds of the range, and call `range` in the function", "Bytes": "bytes are an array of uint8, np.frombuffer(b, np.uint8)",
    "misc": "the classes of types are attributes of lanewise.types",
}


def __getattr__(name: str) -> Any:
    if name in _ABSENT:
        raise AttributeError(f"lanewise.types has no {name}: {_ABSENT[name]}", name=name)
    raise AttributeError(f"module 'lanewise.types' has no attribute {name!r}", name=name, obj=sys.modules[__name__])


__all__ = [
    "Array", "BaseTuple", "Boolean", "BooleanLiteral", "CPointer", "Complex", "DictType", "Dummy", "Float", "Integer", "IntegerLiteral", "ListType", "Literal", "NPDatetime", "NPTimedelta", "NamedTuple",
    "NamedUniTuple", "NoneType", "Number", "Object", "Omitted", "Opaque", "Optional", "Record", "StringLiteral", "Tuple", "UniTuple", "UnicodeType", "Signature", "Type", "WrapperAddressProtocol", "b1", "bfloat16", "bool_", "boolean", "byte", "c16", "c8", "cdouble",
    "char", "complex128", "complex64", "complex_domain", "csingle", "double", "f2", "f4", "f8", "float16",
    "float32", "float64", "float_", "from_dtype", "half", "i1", "i2", "i4", "i8", "int16",
    "int32", "int64", "int8", "int_", "intc", "integer_domain", "intp", "literal", "long_", "longlong", "none", "number_domain", "optional", "real_domain", "short", "signed_domain",
    "single", "size_t", "ssize_t", "typeof", "u1", "u2", "u4", "u8", "ubyte", "uchar", "uint",
    "uint16", "uint32", "uint64", "uint8", "uintc", "uintp", "ulong", "ulonglong", "unicode_type", "unliteral", "unsigned_domain", "ushort",
    "void", "voidptr",
]
