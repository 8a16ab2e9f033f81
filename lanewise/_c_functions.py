"""Compiled functions as functions of C: lw.cfunc, and the attributes address, ctypes, cffi of lw.jit's functions."""

from __future__ import annotations

import ctypes
import functools
from types import GenericAlias

import numpy as np

from lanewise import _core, types
from lanewise.extending import overload

_arrays = _core.intrinsics.arrays  # core/tables/array_names.def
_CTYPES = {
    "void": None, "bool": ctypes.c_bool, "float32": ctypes.c_float, "float64": ctypes.c_double,
    **{f"{u}int{bits}": getattr(ctypes, f"c_{u}int{bits}") for u in ("", "u") for bits in (8, 16, 32, 64)},
}
_C_NAMES = {"bool": "_Bool", "float32": "float", "float64": "double", **{f"{u}int{bits}": f"{u}int{bits}_t" for u in ("", "u") for bits in (8, 16, 32, 64)}}


def _split_types(text):
    """The types of "float64, Record(i: int32, d: float64)*": commas in parentheses belong to a type."""
    found, depth = [""] if text else [], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [one.strip() for one in found]


class _Pointer:
    """A function of C: its address and types, as ctypes and cffi see it."""

    native_name = "lw_entry"  # in its code, which is a module of its own

    def __init__(self, owner, kernel, sig):
        self.owner, self.kernel = owner, kernel
        self.address, params, self.result = _core._c_function(kernel, sig)
        if sig is not None:  # which parameters are pointers to anything
            params = sig.partition("(")[2].removesuffix(")")
        self.params = _split_types(params)

    @functools.cached_property
    def ctypes(self):
        kinds = [self._ctypes_type(one) for one in self.params]
        made = ctypes.CFUNCTYPE(_CTYPES[self.result], *kinds)(self.address)
        made._owner = self.owner  # the code lives as long as this
        return made

    @staticmethod
    def _ctypes_type(name):
        if not name.endswith("*"):
            return _CTYPES[name]
        return ctypes.POINTER(_CTYPES[name[:-1]]) if name[:-1] in _CTYPES else ctypes.c_void_p

    @functools.cached_property
    def cffi(self):
        import cffi

        names = [f"{_C_NAMES.get(one[:-1], 'void')} *" if one.endswith("*") else _C_NAMES[one] for one in self.params]
        return cffi.FFI().cast(f"{_C_NAMES.get(self.result, 'void')} (*)({', '.join(names) or 'void'})", self.address)


def attribute(kernel, name):
    """kernel.address, .ctypes, .cffi, .native_name."""
    return getattr(_Pointer(kernel, kernel, None), name)


class CFunc:
    """A Python function compiled as a C function, made by cfunc. A call from Python runs the Python function itself."""

    def __init__(self, function, sig, options):
        self._kernel = _core.jit(**options)(function)
        self._pointer = _Pointer(self, self._kernel, sig)
        self.signature = sig
        functools.update_wrapper(self, function)

    __class_getitem__ = classmethod(GenericAlias)  # CFunc[float]: for type checkers, what the Python function returns

    def __call__(self, *args, **kwargs):
        return self.__wrapped__(*args, **kwargs)

    def __repr__(self):
        return f"<lanewise.CFunc '{self.__name__}' {self.signature}>"

    @property
    def address(self):
        """The address of the C function, an int. The code lives as long as this object."""
        return self._pointer.address

    @property
    def ctypes(self):
        """The C function for ctypes: a callable, which keeps this object alive."""
        return self._pointer.ctypes

    @property
    def cffi(self):
        """The C function for cffi: a function pointer, which does not keep this object alive."""
        return self._pointer.cffi

    @property
    def native_name(self):
        """The name of the function in the text of inspect_llvm()."""
        return _Pointer.native_name

    def inspect_llvm(self):
        """Return the LLVM IR of the function."""
        return _core._c_function_form(self._kernel, self.signature, "llvm")

    def inspect_asm(self):
        """Return the instructions for this CPU."""
        return _core._c_function_form(self._kernel, self.signature, "asm")


def cfunc(sig, **options):
    """Compile a Python function as a C function, for libraries that accept function pointers.

    sig: the types of the result and of the arguments: `"float64(float64)"`, `"void(float64*, int64)"`. They can be
    numbers and pointers (`CPointer(float64)`, `voidptr`). The function indexes a pointer like an array, or makes an array of
    it with `carray`.
    options: the keywords of jit.

    Returns a CFunc. An exception in the function is passed to sys.unraisablehook, and the C function then returns 0.
    Raises CompileError for a function that cannot be compiled, and SignatureError for a signature that cannot be read.

        >>> from scipy import LowLevelCallable, integrate
        >>> @lw.cfunc("float64(float64)")
        ... def f(x): return x * x
        >>> f.ctypes(3.0)
        9.0
        >>> round(integrate.quad(LowLevelCallable(f.ctypes), 0, 3)[0], 9)
        9.0
    """
    if hasattr(sig, "__code__"):
        raise TypeError(f'cfunc needs a signature, because C has no types to infer: @lw.cfunc("float64(float64)") above {sig.__name__}')
    text = _core._device_signature(sig, True)
    return lambda function: CFunc(function, text, options)


def _viewed(pointer, shape, dtype, order):
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if isinstance(pointer, np.ndarray):
        flat = pointer.reshape(-1).view(pointer.dtype if dtype is None else dtype)
        return flat[:int(np.prod(shape))].reshape(shape, order=order)
    if isinstance(pointer, ctypes.c_void_p):
        if dtype is None:
            raise TypeError("dtype: a pointer to anything needs the type of its elements")
        pointer = ctypes.cast(pointer, ctypes.POINTER(np.ctypeslib.as_ctypes_type(np.dtype(dtype))))
    elif not isinstance(pointer, ctypes._Pointer):
        raise TypeError(f"expected a pointer of ctypes, got {type(pointer).__name__}")
    elif dtype is not None and np.dtype(dtype) != np.dtype(pointer._type_):
        raise TypeError(f"mismatching dtype '{np.dtype(dtype)}' for pointer to {np.dtype(pointer._type_)}")
    return np.ctypeslib.as_array(pointer, shape[::-1] if order == "F" else shape).T if order == "F" else np.ctypeslib.as_array(pointer, shape)


def carray(ptr, shape, dtype=None):
    """Return an array of this shape, in C order, over the memory at a pointer, without a copy.

    It works in functions of cfunc, and in Python for pointers of ctypes. dtype is needed only for `voidptr`.

        >>> @lw.cfunc("void(float64*, float64*, int64)")
        ... def double(x, out, n):
        ...     lw.carray(out, n)[:] = 2 * lw.carray(x, n)
        >>> x, out = np.arange(3.0), np.empty(3)
        >>> double.ctypes(np.ctypeslib.as_ctypes(x), np.ctypeslib.as_ctypes(out), 3)
        >>> out
        array([0., 2., 4.])
    """
    return _viewed(ptr, shape, dtype, "C")


def farray(ptr, shape, dtype=None):
    """The same as carray, with the elements in Fortran order.

        >>> x = np.arange(6.0)
        >>> lw.farray(x, (2, 3))
        array([[0., 2., 4.],
               [1., 3., 5.]])
    """
    return _viewed(ptr, shape, dtype, "F")


@overload(carray)
def _carray(ptr, shape, dtype=None):
    if isinstance(shape, types.Integer):
        if dtype is None or isinstance(dtype, types.NoneType):
            return lambda ptr, shape, dtype=None: _arrays.shaped(ptr, (shape,))
        return lambda ptr, shape, dtype=None: _arrays.shaped(ptr, (shape,), dtype)
    if dtype is None or isinstance(dtype, types.NoneType):
        return lambda ptr, shape, dtype=None: _arrays.shaped(ptr, shape)
    return lambda ptr, shape, dtype=None: _arrays.shaped(ptr, shape, dtype)


@overload(farray)
def _farray(ptr, shape, dtype=None):
    if isinstance(shape, types.Integer):
        return lambda ptr, shape, dtype=None: carray(ptr, shape, dtype)
    return lambda ptr, shape, dtype=None: carray(ptr, shape[::-1], dtype).T
