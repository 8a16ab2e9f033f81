"""Scalar Python functions as machine-code kernels, on NVIDIA GPUs and on every core of a CPU.

    >>> import numpy as np, lanewise as lw
    >>> @lw.vectorize
    ... def axpy(a, x, y):
    ...     return a * x + y
    >>> axpy(np.float32(2), np.arange(3, dtype=np.float32), np.float32(1))
    array([1., 3., 5.], dtype=float32)

Importing touches no GPU and loads no compiler.
"""

from lanewise import _toolchain as _toolchain  # holds up forks while a thread compiles: before any does
from lanewise import errors
from lanewise._core import (
    Forall,
    Gufunc,
    Kernel,
    Reduction,
    Ufunc,
    __version__,
    bfloat16,
    bool_,
    complex64,
    complex128,
    compile,
    explain,
    float16,
    float32,
    float64,
    forall,
    from_dtype,
    guvectorize,
    int8,
    int16,
    int32,
    int64,
    intp,
    jit,
    reduce,
    typeof,
    uint8,
    uint16,
    uint32,
    uint64,
    uintp,
    vectorize,
    void,
)
from lanewise._core import _services as _set_services
from lanewise._core import intrinsics as _intrinsics
from lanewise.config import config
from lanewise.errors import LanewiseError, PerformanceWarning, PrecisionWarning

__all__ = [
    "Forall", "Gufunc", "Kernel", "LanewiseError", "PerformanceWarning", "PrecisionWarning", "Reduction", "Ufunc", "bfloat16", "bool_", "cache", "compile",
    "complex64", "complex128", "config", "cuda", "errors", "explain", "extending", "float16", "float32",
    "float64", "forall", "from_dtype", "guvectorize", "info", "int8", "int16", "int32", "int64", "intp", "jit", "local", "njit", "prange", "random", "reduce", "reductions", "runtime", "typeof",
    "types", "ufuncs", "uint8", "uint16", "uint32", "uint64", "uintp", "vectorize", "void",
]

# Where the extension module finds what is written in Python: core/tables/services.def.
_set_services({
    "array functions": "lanewise._array_functions", "array ufuncs": "lanewise._array_ufuncs", "new arrays": "lanewise._new_arrays", "array library": "lanewise._array_library", "callbacks": "lanewise._callbacks",
    "containers": "lanewise._containers", "cuda": "lanewise.cuda", "device arrays": "lanewise._device_arrays", "cuda on the host": "lanewise._host_cuda", "errors": "lanewise.errors", "extending": "lanewise.extending",
    "generators": "lanewise._generator_expressions", "linking": "lanewise._linking", "memory": "lanewise._memory", "objects": "lanewise._objects", "overloads": "lanewise._overloads",
    "pickling": "lanewise._pickling", "python target": "lanewise._python_target", "reduce": "lanewise._reduce", "reductions": "lanewise.reductions",
    "toolchain": "lanewise._toolchain", "ufunc methods": "lanewise._ufunc_methods", "ufuncs": "lanewise.ufuncs",
})

_MODULES = ("cache", "cuda", "extending", "random", "reductions", "runtime", "types", "ufuncs")
local = _intrinsics.local
njit = jit  # numba's names of the CPU
prange = range


def info():
    """What was found on this machine, as a dict: see ``python -m lanewise info``."""
    from lanewise._info import info as _info

    return _info()


def __getattr__(name):
    import importlib

    if name in _MODULES:
        return importlib.import_module("lanewise." + name)
    if not name.startswith("_"):
        types = importlib.import_module("lanewise.types")
        if name in types.__all__:  # numba's and NumPy's other spellings: f4, boolean, double
            return getattr(types, name)
        ufuncs = importlib.import_module("lanewise.ufuncs")
        if name in ufuncs.__all__:
            return getattr(ufuncs, name)
    raise AttributeError(f"module 'lanewise' has no attribute {name!r:.200}")
