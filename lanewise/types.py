"""The types of compiled code. A type called with a value casts it; called with types it makes a
signature; indexed with slices it makes an array type.

    >>> float32(1.5), float64(float64, int32), float32[:, ::1]
    (np.float32(1.5), float64(float64, int32), float32[:, ::1])
"""

from __future__ import annotations

from collections.abc import Iterable
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


def Array(dtype: Type, ndim: int, layout: str) -> Type:
    """Arrays of ndim axes; the layout is "C", "F", or "A" for any strides.

    >>> lw.types.Array(float32, 2, "C")
    float32[:, ::1]
    """
    if layout not in ("A", "C", "F"):
        raise ValueError(f'layout must be "A", "C" or "F", not {layout!r:.200}')
    axes = [slice(None)] * ndim
    if ndim and layout != "A":
        axes[0 if layout == "F" and ndim > 1 else -1] = slice(None, None, 1)
    return dtype[tuple(axes)]


def Tuple(types: Iterable[Type]) -> Type:
    """A tuple of these types: ``Tuple((int64, float64))``."""
    return _tuple_type(tuple(types), None, None)


def UniTuple(dtype: Type, count: int) -> Type:
    """A tuple of `count` items of one type: ``UniTuple(float64, 3)``."""
    return _tuple_type((dtype,) * count, None, None)


def NamedTuple(types: Iterable[Type], cls: type) -> Type:
    """A namedtuple of class `cls`, its items of these types."""
    return _tuple_type(tuple(types), cls._fields, cls.__name__)  # type: ignore[attr-defined]


def NamedUniTuple(dtype: Type, count: int, cls: type) -> Type:
    """A namedtuple of class `cls`, its `count` items of one type."""
    return NamedTuple((dtype,) * count, cls)


class Record:
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
    "Array", "CPointer", "NamedTuple", "NamedUniTuple", "Record", "Tuple", "UniTuple", "Signature", "Type", "b1", "bfloat16", "bool_", "boolean", "byte", "c16", "c8", "cdouble",
    "char", "complex128", "complex64", "csingle", "double", "f2", "f4", "f8", "float16",
    "float32", "float64", "float_", "from_dtype", "half", "i1", "i2", "i4", "i8", "int16",
    "int32", "int64", "int8", "int_", "intc", "intp", "long_", "longlong", "none", "short",
    "single", "size_t", "ssize_t", "typeof", "u1", "u2", "u4", "u8", "ubyte", "uchar", "uint",
    "uint16", "uint32", "uint64", "uint8", "uintc", "uintp", "ulong", "ulonglong", "ushort",
    "void", "voidptr",
]
