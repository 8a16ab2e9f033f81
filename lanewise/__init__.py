"""Compile Python functions that work on elements, rows or indices of arrays, for NVIDIA GPUs and for all cores of a CPU.

    >>> import numpy as np, lanewise as lw
    >>> @lw.vectorize
    ... def axpy(a, x, y):
    ...     return a * x + y
    >>> axpy(np.float32(2), np.arange(3, dtype=np.float32), np.float32(1))
    array([1., 3., 5.], dtype=float32)

The decorators are `vectorize` (elements), `guvectorize` (rows and small matrices), `reduce` (sums and the like), `forall` (indices) and
`jit` (threads, or whole functions). Importing lanewise uses no GPU and loads no compiler.
"""

from collections import namedtuple as _namedtuple

try:
    import lanewise._core as _core
except ModuleNotFoundError as error:  # the folder with the sources hides the installed package from programs that run beside it
    if error.name != "lanewise._core":
        raise
    raise ImportError(
        f"lanewise was imported from {__path__[0]}, which holds its sources but not its compiled part; "
        "install it (pip install .) and run Python from another folder, such as cd /tmp", name="lanewise", path=__file__
    ) from None

from lanewise import _toolchain as _toolchain  # holds up forks while a thread compiles: before any does
from lanewise import _dask_blocks, _numba_names, errors
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
from lanewise._core import _host_threads
from lanewise._core import _services as _set_services
from lanewise._core import intrinsics as _intrinsics
from lanewise._numba_names import literally as literally, objmode as objmode
from lanewise.config import config
from lanewise.errors import LanewiseError, PerformanceWarning, PrecisionWarning

__all__ = [
    "CFunc", "Forall", "Gufunc", "Kernel", "LanewiseError", "PerformanceWarning", "PrecisionWarning", "Reduction", "Ufunc", "bfloat16", "bool_", "cache", "carray", "cfunc", "compile",
    "complex64", "complex128", "config", "cuda", "errors", "explain", "extending", "farray", "float16", "float32", "float64", "forall", "from_dtype", "get_num_threads", "get_thread_id", "guvectorize", "info",
    "int8", "int16", "int32", "int64", "intp", "jit", "literal_unroll", "local", "map_blocks", "njit", "prange", "profile", "random", "reduce", "reductions", "runtime", "set_num_threads", "special", "stencil", "typed", "typeof", "types",
    "ufuncs", "uint8", "uint16", "uint32", "uint64", "uintp", "vectorize", "verify", "void",
]

# Where the extension module finds what is written in Python: core/tables/services.def.
_set_services({
    "array functions": "lanewise._array_functions", "array protocol": "lanewise._array_protocol", "array ufuncs": "lanewise._array_ufuncs", "changes": "lanewise._changes", "new arrays": "lanewise._new_arrays", "array library": "lanewise._array_library", "array parts": "lanewise._array_parts", "linear algebra": "lanewise._linear_algebra",
    "special": "lanewise._special", "callbacks": "lanewise._callbacks", "C functions": "lanewise._c_functions", "containers": "lanewise._containers", "cuda": "lanewise.cuda",
    "device arrays": "lanewise._device_arrays", "device array kernels": "lanewise._device_array_kernels", "cuda on the host": "lanewise._host_cuda", "dicts": "lanewise._dicts", "errors": "lanewise.errors", "extending": "lanewise.extending",
    "foreign functions": "lanewise._foreign", "html": "lanewise._html", "generators": "lanewise._generator_expressions", "growing lists": "lanewise._growing_lists", "growing dicts": "lanewise._growing_dicts", "linking": "lanewise._linking", "local types": "lanewise._local_types", "memory": "lanewise._memory", "methods": "lanewise._methods", "numba names": "lanewise._numba_names", "objects": "lanewise._objects", "families": "lanewise._families",
    "operands": "lanewise._operands", "overloads": "lanewise._overloads", "pickling": "lanewise._pickling", "places": "lanewise._places", "progress": "lanewise._progress", "python random": "lanewise._python_random", "python target": "lanewise._python_target", "reconstructed": "lanewise._reconstructed",
    "reduce": "lanewise._reduce", "rewriting": "lanewise._rewriting", "partials": "lanewise._partials", "dask": "lanewise._dask", "labelled": "lanewise._labelled", "reductions": "lanewise.reductions", "same math": "lanewise._same_math", "slices": "lanewise._slices",
    "thread random": "lanewise._thread_random", "toolchain": "lanewise._toolchain", "typed": "lanewise._typed_containers", "ufunc calls": "lanewise._ufunc_calls", "ufunc methods": "lanewise._ufunc_methods", "ufuncs": "lanewise.ufuncs",
})

_C_FUNCTIONS = ("CFunc", "carray", "cfunc", "farray")
_FUNCTIONS = ("explain", "profile", "stencil", "verify")  # each in a module of its own, loaded when it is asked for
_MODULES = ("cache", "cuda", "experimental", "extending", "random", "reductions", "runtime", "special", "typed", "types", "ufuncs")
local = _intrinsics.local
version_info = _namedtuple("version_info", "major minor patch")(*(int(part) for part in __version__.split(".")[:3]))
njit = jit  # numba's names of the CPU


def prange(*args):
    """A ``range`` whose iterations run in parallel on all CPU cores, in functions of ``jit`` that are called on the host.

    Elsewhere it is an ordinary ``range``.

    >>> @lw.njit
    ... def total(x):
    ...     s = 0.0
    ...     for i in lw.prange(len(x)):
    ...         s += x[i]
    ...     return s
    >>> total(np.arange(5.0))
    10.0
    """
    return range(*args)


def set_num_threads(n):
    """Set the number of CPU threads that loops may use from now on, in the whole process: the setting ``config.threads``.

    Raises ValueError unless 1 <= n <= 256.

    >>> lw.set_num_threads(1)
    >>> lw.get_num_threads()
    1
    >>> lw.config.threads = 0  # as many as there are cores
    """
    from operator import index

    from lanewise.config import MOST_THREADS

    if not 1 <= index(n) <= MOST_THREADS:
        raise ValueError(f"the number of threads must be between 1 and {MOST_THREADS}, not {n!r:.200}")
    config.threads = index(n)


def get_num_threads():
    """Return the number of CPU threads that a loop can use. Functions of ``jit`` that are called on the host may call it, too."""
    return _host_threads()


def get_thread_id():
    """Return the number of the thread that runs this iteration of a loop over ``prange``, in a function of ``jit`` that is
    called on the host: from 0 to ``get_num_threads() - 1``. Outside of such a loop, and in Python, it is 0.

    >>> @lw.njit
    ... def total(x):
    ...     sums = np.zeros((lw.get_num_threads(), 8))
    ...     for i in lw.prange(len(x)):
    ...         sums[lw.get_thread_id(), 0] += x[i]
    ...     return sums.sum()
    >>> total(np.arange(5.0))
    10.0
    """
    return 0


def literal_unroll(items):
    """Unroll a loop: in compiled code, the body of ``for x in literal_unroll(items)`` is compiled once for each item.

    So the items may have different types, for example arrays of one and of two dimensions. They may be at most 64 if the tuple is
    from outside the function; in an argument or a variable, at most 16 if their types differ. In Python, ``literal_unroll(items)`` is ``items``.

    >>> import numpy as np, lanewise as lw
    >>> cases = np.arange(3.0), np.ones((2, 2))
    >>> @lw.jit
    ... def total():
    ...     s = 0.0
    ...     for x in lw.literal_unroll(cases):
    ...         s += x.sum()
    ...     return s
    >>> total()
    7.0
    """
    return items


literal_unroll.__lanewise_unroll__ = True


def map_blocks(kernel, /, *args, depth=0, boundary="none", dtype=None, progress=None, **named):
    """Run a function of ``forall`` or ``jit`` over Dask arrays, block by block.

    The parameters of the kernel that receive no argument, by position or by name, and have no default value are its outputs.
    The result is a Dask array for the only output, or a tuple of Dask arrays. Nothing is computed before ``compute()``.

    A function of ``forall`` uses the indices of the whole array. A kernel of ``jit`` sees a block with its halo, which are the
    ``depth`` elements around the block; if its last parameter is named ``offset``, it is the position of their first element in
    the whole array. NumPy arrays and numbers are passed whole to each block. For DataArrays of xarray that hold Dask
    arrays, the results are DataArrays with the same labels.

    depth: how far from its own element the kernel reads, for all axes or one for each; elements farther away read as zero.
    boundary: what the kernel reads beyond the ends of an axis, for all axes or one for each: "periodic", the elements at the other
    end; "reflect", the last elements in the opposite order; "nearest", the last element; a number; or "none", which reads nothing
    there.
    dtype: the dtype of the results, for all or one for each; None means the dtype of the first array.
    progress: must be None or False, because ``dask.diagnostics.ProgressBar`` shows the progress.

    Needs Dask: ``pip install lanewise[dask]``.

    >>> import dask.array as da
    >>> @lw.forall
    ... def slope(i, x, out):
    ...     if 0 < i < x.size - 1:
    ...         out[i] = (x[i + 1] - x[i - 1]) / 2
    >>> lw.map_blocks(slope, da.arange(8.0, chunks=3) ** 2, depth=1).compute()
    array([ 0.,  2.,  4.,  6.,  8., 10., 12.,  0.])
    """
    from lanewise._dask_kernels import map_blocks as by_blocks

    return by_blocks(kernel, *args, depth=depth, boundary=boundary, dtype=dtype, progress=progress, **named)


def info():
    """Return what was found on this machine (GPUs, libraries, settings) as a dict, as ``python -m lanewise info`` prints it."""
    from lanewise._info import info as _info

    return _info()


_dask_blocks.install()
_numba_names.install()


def __getattr__(name):
    import sys

    found = _find(name)
    if found is None:
        _numba_names.refuse(name, sys._getframe(1))
    globals()[name] = found  # so that `lw.add` is looked up once, not in every call
    return found


def _find(name):
    """What a public name stands for that is loaded when it is asked for, or None."""
    import importlib

    if name in _MODULES:
        return importlib.import_module("lanewise." + name)
    if name in _C_FUNCTIONS:
        return getattr(importlib.import_module("lanewise._c_functions"), name)
    if name in _FUNCTIONS:
        return getattr(importlib.import_module("lanewise._" + name), name)
    if not name.startswith("_"):
        types = importlib.import_module("lanewise.types")
        if name in types.__all__:  # numba's and NumPy's other spellings: f4, boolean, double
            return getattr(types, name)
        ufuncs = importlib.import_module("lanewise.ufuncs")
        if name in ufuncs.__all__:
            return getattr(ufuncs, name)
    return None


def __dir__():
    """Every public name, also of what is loaded when it is asked for."""
    import importlib

    others = (importlib.import_module("lanewise." + name).__all__ for name in ("types", "ufuncs"))
    return sorted({name for name in globals() if not name.startswith("_") or name.endswith("__")}.union(__all__, _MODULES, *others))
