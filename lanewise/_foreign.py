"""Functions of this process that compiled code calls by their addresses: those of ctypes, cffi and WrapperAddressProtocol."""

from __future__ import annotations

import ctypes
import sys

from lanewise import _core
from lanewise.types import WrapperAddressProtocol

_SIGNED, _UNSIGNED = "bhilq", "BHILQ"  # ctypes' and struct's codes of integers
_PYTHON_API = 4  # FUNCFLAG_PYTHONAPI of ctypes: such a function needs the GIL


def function(object):
    """(name, signature, address) of such a function; TypeError where compiled code cannot call it."""
    if isinstance(object, WrapperAddressProtocol):
        return type(object).__name__, _core._device_signature(object.signature(), True), object.__wrapper_address__()
    name, types, result, address = (_of_ctypes if isinstance(object, ctypes._CFuncPtr) else _of_cffi)(object)
    if not address:
        raise TypeError(f"{name}: the function pointer is NULL")
    return name, _core._device_signature(f"{result}({', '.join(types)})", True), address


def _number(signed, n_bytes):
    return f"{'int' if signed else 'uint'}{8 * n_bytes}"


# ---- ctypes ----

def _ctypes_type(name, kind, what):
    code = getattr(kind, "_type_", None)
    if kind is None:
        return "void"
    if hasattr(kind, "_dtype_"):  # numpy.ctypeslib.ndpointer
        return "void*" if kind._dtype_ is None else f"{kind._dtype_.name}*"
    if isinstance(code, str) and len(code) == 1:
        if code in _SIGNED or code in _UNSIGNED:
            return _number(code in _SIGNED, ctypes.sizeof(kind))
        if code in "fd":
            return {"f": "float32", "d": "float64"}[code]
        if code in "?c":
            return {"?": "bool", "c": "int8"}[code]
        if code in "PzZ":
            return "void*"
    elif isinstance(kind, type) and issubclass(kind, ctypes._Pointer):
        item = _ctypes_type(name, code, what) if isinstance(getattr(code, "_type_", None), str) else "void"
        return "void*" if item.endswith("*") or item == "void" else f"{item}*"
    elif isinstance(kind, type) and issubclass(kind, ctypes._CFuncPtr):
        return "void*"
    raise TypeError(f"{name}: compiled code cannot pass its {what}, {getattr(kind, '__name__', kind)!s:.200}; expected numbers and pointers of ctypes")


def _of_ctypes(f):
    name = getattr(f, "__name__", None) or type(f).__name__
    if type(f)._flags_ & _PYTHON_API:
        raise TypeError(f"{name}: a function of ctypes.pythonapi or PyDLL needs the GIL, which compiled code has released; expected one of ctypes.CDLL or CFUNCTYPE")
    if f.argtypes is None:
        raise TypeError(f"ctypes function {name!r} doesn't define its argument types: set argtypes, "
                        f"as in `{name}.argtypes = [ctypes.c_double]; {name}.restype = ctypes.c_double`")
    if getattr(f, "errcheck", None) not in (None, 0) and callable(f.errcheck):
        raise TypeError(f"{name}: it has an errcheck, which compiled code does not call; expected a function without")
    types = [_ctypes_type(name, kind, "argument") for kind in f.argtypes]
    result = _ctypes_type(name, f.restype, "result")
    return name, types, "uint64" if result.endswith("*") else result, ctypes.cast(f, ctypes.c_void_p).value


# ---- cffi ----

def _cffi_type(name, kind, what, cffi):
    if kind.kind == "void":
        return "void"
    if kind.kind == "pointer":
        item = _cffi_type(name, kind.item, what, cffi) if kind.item.kind == "primitive" else "void"
        return f"{item}*"
    if kind.kind == "function":
        return "void*"
    if kind.kind in ("primitive", "enum") and kind.cname not in ("long double", "wchar_t", "char16_t", "char32_t") and "omplex" not in kind.cname:
        n_bytes = cffi.sizeof(kind)
        if kind.cname in ("float", "double"):
            return f"float{8 * n_bytes}"
        if kind.cname in ("_Bool", "bool"):
            return "bool"
        return _number(kind.cname == "char" or int(cffi.cast(kind, -1)) < 0, n_bytes)
    raise TypeError(f"{name}: compiled code cannot pass its {what}, {kind.cname:.200}; expected numbers and pointers")


def _of_cffi(f):
    cffi = sys.modules["_cffi_backend"]
    name, pointer = "a function of cffi", f
    if not isinstance(f, cffi._CDataBase):  # it is one of a compiled module
        name, pointer = f.__name__, cffi.FFI().addressof(f.__self__, f.__name__)
    kind = cffi.typeof(pointer)
    if kind.kind == "pointer" and kind.item.kind == "function":
        kind = kind.item
    if kind.kind != "function":
        raise TypeError(f"{kind.cname:.200} of cffi is not a function")
    if kind.ellipsis:
        raise TypeError(f"{name}: compiled code cannot call a function of any number of arguments")
    types = [_cffi_type(name, one, "argument", cffi) for one in kind.args]
    result = _cffi_type(name, kind.result, "result", cffi)
    return name, types, "uint64" if result.endswith("*") else result, int(cffi.cast(cffi.new_primitive_type("uintptr_t"), pointer))


def from_buffer(kind, buffer=None):
    """ffi.from_buffer in compiled code, where a pointer takes the array itself."""
    return kind if buffer is None else buffer
