"""The types of compiled code. A type called with a value casts it; called with types it makes a
signature; indexed with slices it makes an array type.

    >>> float32(1.5), float64(float64, int32), float32[:, ::1]
    (np.float32(1.5), float64(float64, int32), float32[:, ::1])
"""

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

from lanewise._core import _type_from_text


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
    "CPointer", "Signature", "Type", "b1", "bfloat16", "bool_", "boolean", "byte", "c16", "c8", "cdouble",
    "char", "complex128", "complex64", "csingle", "double", "f2", "f4", "f8", "float16",
    "float32", "float64", "float_", "from_dtype", "half", "i1", "i2", "i4", "i8", "int16",
    "int32", "int64", "int8", "int_", "intc", "intp", "long_", "longlong", "none", "short",
    "single", "size_t", "ssize_t", "typeof", "u1", "u2", "u4", "u8", "ubyte", "uchar", "uint",
    "uint16", "uint32", "uint64", "uint8", "uintc", "uintp", "ulong", "ulonglong", "ushort",
    "void", "voidptr",
]
