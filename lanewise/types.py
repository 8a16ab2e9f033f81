"""The types of compiled code. A type called with a value casts it; called with types it makes a
signature; indexed with slices it makes an array type.

    >>> float32(1.5), float64(float64, int32), float32[:, ::1]
    (np.float32(1.5), float64(float64, int32), float32[:, ::1])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from lanewise._core import (
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
    is an object of the class. NumPy's dtypes are of the kinds of their types."""

    def __instancecheck__(cls, type_: object) -> bool:
        if isinstance(type_, np.dtype):
            try:
                type_ = from_dtype(type_)
            except Exception:  # a dtype that compiled code does not know
                return False
        return type.__instancecheck__(cls, type_) or isinstance(type_, Type) and cls._holds(type_)

    def _holds(cls, type_: Type) -> bool:
        return False


def _letters(type_: Type) -> str:
    """The letter of a scalar type's NumPy kind; "" of other types."""
    if type_ == bfloat16:
        return "f"
    return type_.dtype.kind if hasattr(type_, "__lanewise_dtype__") and type_ != void else ""


class Number(metaclass=_KindType):
    """Integers, floats and complex numbers."""

    _kinds = "iufc"

    @classmethod
    def _holds(cls, type_: Type) -> bool:
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


class Boolean(metaclass=_KindType):
    """bool_, which is no Number."""

    @classmethod
    def _holds(cls, type_: Type) -> bool:
        return type_ == bool_


class NoneType(metaclass=_KindType):
    """The type of None."""

    @classmethod
    def _holds(cls, type_: Type) -> bool:
        return type_ == void


class Array(metaclass=_KindType):
    """``Array(dtype, ndim, layout)``: arrays of ndim axes; the layout is "C", "F", or "A" for any strides.

    >>> lw.types.Array(float32, 2, "C"), isinstance(float32[:], lw.types.Array)
    (float32[:, ::1], True)
    """

    def __new__(cls, dtype: Type, ndim: int, layout: str) -> Type:  # type: ignore[misc]
        if layout not in ("A", "C", "F"):
            raise ValueError(f'layout must be "A", "C" or "F", not {layout!r:.200}')
        axes = [slice(None)] * ndim
        if ndim and layout != "A":
            axes[0 if layout == "F" and ndim > 1 else -1] = slice(None, None, 1)
        return dtype[tuple(axes)]

    @classmethod
    def _holds(cls, type_: Type) -> bool:
        return type_.ndim > 0


def _items(type_: Type) -> tuple[Type, ...] | None:
    return getattr(type_, "types", None)


class Tuple(metaclass=_KindType):
    """A tuple of these types: ``Tuple((int64, float64))``. All tuples are of this kind."""

    def __new__(cls, types: Iterable[Type]) -> Type:  # type: ignore[misc]
        return _tuple_type(tuple(types), None, None)

    @classmethod
    def _holds(cls, type_: Type) -> bool:
        return _items(type_) is not None


class UniTuple(Tuple):
    """A tuple of `count` items of one type: ``UniTuple(float64, 3)``."""

    def __new__(cls, dtype: Type, count: int) -> Type:  # type: ignore[misc]
        return _tuple_type((dtype,) * count, None, None)

    @classmethod
    def _holds(cls, type_: Type) -> bool:
        items = _items(type_)
        return items is not None and all(item == items[0] for item in items)


class NamedTuple(Tuple):
    """A namedtuple of class `cls`, its items of these types."""

    def __new__(cls_, types: Iterable[Type], cls: type) -> Type:  # type: ignore[misc]
        return _tuple_type(tuple(types), cls._fields, cls.__name__)  # type: ignore[attr-defined]

    @classmethod
    def _holds(cls, type_: Type) -> bool:
        return _items(type_) is not None and type_.fields is not None


class NamedUniTuple(NamedTuple):
    """A namedtuple of class `cls`, its `count` items of one type."""

    def __new__(cls_, dtype: Type, count: int, cls: type) -> Type:  # type: ignore[misc]
        return NamedTuple((dtype,) * count, cls)

    @classmethod
    def _holds(cls, type_: Type) -> bool:
        return isinstance(type_, NamedTuple) and isinstance(type_, UniTuple)


class Record(metaclass=_KindType):
    """``Record([(name, {"type": type, "offset": bytes}), …], size, aligned)``: the type that
    from_dtype gives the structured dtype of these fields."""

    def __new__(cls, fields: Iterable[tuple[str, dict[str, Any]]], size: int, aligned: bool = False) -> Type:  # type: ignore[misc]
        listed = [(name, field["type"].dtype, field["offset"]) for name, field in fields]
        names, formats, offsets = zip(*listed) if listed else ((), (), ())
        return from_dtype(np.dtype(
            {"names": names, "formats": formats, "offsets": offsets, "itemsize": size}, align=aligned))

    @staticmethod
    def make_c_struct(name_types: Iterable[tuple[str, Type]]) -> Type:
        """The record that C lays out for these fields: ``[("x", float32), ("y", float64)]``."""
        return from_dtype(np.dtype([(name, type_.dtype) for name, type_ in name_types], align=True))

    @classmethod
    def _holds(cls, type_: Type) -> bool:
        return type_.ndim == 0 and getattr(getattr(type_, "dtype", None), "names", None) is not None


class Object:
    """What an overload is told of an object of a class: `cls`, and `fields`, a dict of the fields' types.

    >>> class Point: ...
    >>> lw.types.Object(Point, {"x": float32, "y": float32})
    Point(x: float32, y: float32)
    """

    def __init__(self, cls: type, fields: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        self.cls, self.fields = cls, dict(fields)

    @property
    def name(self) -> str:
        return self.cls.__name__

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{name}: {type_}' for name, type_ in self.fields.items())})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Object):
            return NotImplemented
        return self.cls is other.cls and [*self.fields.items()] == [*other.fields.items()]

    def __hash__(self) -> int:
        return hash((self.cls, *self.fields.items()))


class Literal:
    """What an overload is told of an argument that is known when a function is compiled and has no type but
    itself (a text, a function, a type, a member of an enum): `literal_value`."""

    def __init__(self, literal_value: Any) -> None:
        self.literal_value = literal_value

    def __repr__(self) -> str:
        return f"Literal({self.literal_value!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        same_type = type(self.literal_value) is type(other.literal_value)
        return same_type and bool(self.literal_value == other.literal_value)

    def __hash__(self) -> int:
        return hash(self.literal_value)


def CPointer(dtype: Type) -> Type:
    """A pointer, as declare_device's functions take them.

    >>> lw.types.CPointer(float32)
    float32*
    """
    return _type_from_text(f"{dtype}*")


voidptr = _type_from_text("void*")

# other spellings, as numba and NumPy have them
boolean = b1 = bool_
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

__all__ = [
    "Array", "Boolean", "CPointer", "Complex", "Float", "Integer", "Literal", "NamedTuple", "NamedUniTuple", "NoneType", "Number", "Object", "Record",
    "Tuple", "UniTuple", "Signature", "Type", "b1", "bfloat16", "bool_", "boolean", "byte", "c16", "c8", "cdouble",
    "char", "complex128", "complex64", "csingle", "double", "f2", "f4", "f8", "float16",
    "float32", "float64", "float_", "from_dtype", "half", "i1", "i2", "i4", "i8", "int16",
    "int32", "int64", "int8", "int_", "intc", "intp", "long_", "longlong", "none", "short",
    "single", "size_t", "ssize_t", "typeof", "u1", "u2", "u4", "u8", "ubyte", "uchar", "uint",
    "uint16", "uint32", "uint64", "uint8", "uintc", "uintp", "ulong", "ulonglong", "ushort",
    "void", "voidptr",
]
