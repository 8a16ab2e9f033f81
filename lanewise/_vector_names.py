"""The names of CUDA's vector types: numba's, such as float32x4, and those of CUDA C, such as float4. `lanewise._vector_types` has the classes,
and is imported when one of them is asked for."""

from __future__ import annotations

from struct import calcsize as _size

_BASES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
_COUNTS = (1, 2, 3, 4)
_C_TYPES = {  # the code in `struct` of each type of C
    "char": "b", "short": "h", "int": "i", "long": "l", "longlong": "q", "uchar": "B", "ushort": "H", "uint": "I", "ulong": "L", "ulonglong": "Q",
    "float": "f", "double": "d",
}


def _base(code: str) -> str:
    kind = "float" if code in "fd" else "uint" if code.isupper() else "int"
    return f"{kind}{8 * _size(code)}"


#: {name: (base type, how many numbers)}
CLASSES = {f"{base}x{count}": (base, count) for base in _BASES for count in _COUNTS}
#: {name in CUDA C: name}
ALIASES = {f"{name}{count}": f"{_base(code)}x{count}" for name, code in _C_TYPES.items() for count in _COUNTS}
NAMES = (*CLASSES, *ALIASES)
