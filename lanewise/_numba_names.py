"""Names of numba that lanewise does not have: what to write instead, in the error of their import.

`from lanewise import stencil` and `from lanewise.typed import List` are what is left of a program of numba in which the
name of the package was replaced. Python's own error would say only that there is no such name. `literally` and `objmode` are
names that whole packages import, though few of their functions use them.
"""

import opcode
import sys

CONTAINERS = "lists and dicts that Python and compiled functions share are `lanewise.typed.List` and `Dict`, of the types `types.ListType(dtype)` and `types.DictType(key, value)`"
_CLASSES = "a class needs no decorator: pass its objects to a function of `njit`; a field that the function assigns changes in the caller's object"

HINTS = {
    "jitclass": "`from lanewise.experimental import jitclass`; or " + _CLASSES,
    "generated_jit": "use `lanewise.extending.overload`, or `isinstance` in the function, which is decided when it is compiled",
    "core": "`numba.core.types` is `lanewise.types`, `numba.core.errors` is `lanewise.errors`, `numba.core.runtime` is `lanewise.runtime`",
    "np": "`numba.np.numpy_support.from_dtype` is `lanewise.from_dtype`; the ufuncs are `lanewise.vectorize` and `lanewise.guvectorize`",
    "misc": "`numba.misc.special.literal_unroll` is `lanewise.literal_unroll`, `prange` is `lanewise.prange`",
    "pycc": "`lanewise.compile` makes code ahead of time",
    **dict.fromkeys(("gdb_init", "gdb_breakpoint"), "set breakpoints with the setting `target=\"python\"`; the page \"Debugging\" of the documentation shows how"),
    "runtests": "the tests of lanewise are in its repository, not in the package",
    "gdb": "set breakpoints with the setting `target=\"python\"`; the page \"Debugging\" of the documentation shows how",
    "threading_layer": "there is a single pool of threads; `lanewise.get_num_threads()` is their number",
    "deferred_type": "classes need no declared types of fields: pass their objects to a function of `njit`",
    "pndindex": "write the outermost loop over `prange(x.shape[0])`, and `range` inside",
    "jit_module": "decorate each function with `njit`",
    **dict.fromkeys(("set_parallel_chunksize", "get_parallel_chunksize", "parallel_chunksize"),
                    "leave it out: the parts of a loop over `prange` are chosen by the measured time of an iteration"),
}


# Names of numba.experimental.
EXPERIMENTAL = {"structref": _CLASSES, "function_type": "functions are arguments as they are"}


# Names of numba.cuda.
CUDA = {
    "vectorize": "`from lanewise import vectorize`: the target is found from the arguments, or by `target=\"cuda\"`",
    "guvectorize": "`from lanewise import guvectorize`: the target is found from the arguments, or by `target=\"cuda\"`",
    "CudaSupportError": "`from lanewise.errors import DriverError`",
    "KernelRuntimeError": "`from lanewise.errors import LaunchError`; exceptions of kernels are raised as they are",
    "cudadrv": "`numba.cuda.cudadrv.driver` is `lanewise.cuda`, and its errors are `lanewise.errors.DriverError`",
    "driver": "`lanewise.cuda` has the functions that programs call; other functions of the driver are in the package `cuda.bindings`",
    "devicearray": "`lanewise.cuda.DeviceArray` is the class of device arrays",
    "runtime": "`lanewise.info()` has the version of the driver",
}


# Names of CuPy, which its programs ask of `lanewise`.
CUPY = {
    "ElementwiseKernel": "`lanewise.vectorize` of a Python function",
    "fuse": "`lanewise.vectorize`; a sum at its end is `lanewise.reduce` with map=",
    "ReductionKernel": "`lanewise.reduce` with map=, combine=, finish= and identity=",
    **dict.fromkeys(("RawKernel", "RawModule"), "a kernel of `lanewise.cuda.jit` that calls a function written in CUDA C++, `lanewise.cuda.CUSource`"),
    "asnumpy": "`d.copy_to_host()`",
    "get_array_module": "use NumPy's functions, which take device arrays",
    "get_default_memory_pool": "`lanewise.cuda.current_context().pool_statistics()`, and `trim()`",
    "get_default_pinned_memory_pool": "`lanewise.cuda.pinned_array(shape, dtype)` makes an array in pinned memory",
    "scatter_add": "`numpy.add.at(d, i, v)`",
}


def _likely(name):
    """Whose name was asked of `lanewise`, and what stands for it; two empty strings: nobody's."""
    import numpy

    if name in CUPY:
        return "CuPy", CUPY[name]
    if not name.startswith("_") and callable(getattr(numpy, name, None)):
        from lanewise import reductions

        if name in reductions.__all__:
            return "NumPy", f"`lanewise.reductions.{name}` takes host and device arrays"
        return "NumPy", f"`numpy.{name}` takes device arrays, too, if the page \"Kernels\" of the documentation lists it; `lanewise.cuda.to_device` makes them"
    return "", ""


# Attributes of numba's compiled functions that ours do not have.
ATTRIBUTES = {
    "recompile": "leave it out: when a global or closure variable has changed, the next call compiles the function again",
    "parallel_diagnostics": "a loop over `prange` is parallel, or compiling it is an error that says why; `lanewise.explain(f, *args)` shows the loops",
    "get_metadata": "`lanewise.explain(f, *args)` shows what was made of the function, and `f.inspect_types()` its types",
    "inspect_cfg": "`f.inspect_llvm()` has the text, of which LLVM's `opt` draws the graph",
    "inspect_disasm_cfg": "`f.inspect_asm()` has the text",
    "get_call_template": "call the function in another compiled function; `lanewise.extending.overload` gives a type of yours a meaning",
    "get_compile_result": "`f.overloads[signature]` is the code for a signature",
    "get_overload": "`f.overloads[signature]` is the code for a signature, `f.address` the address of a function with one signature",
    "enable_caching": "leave it out: compiled code is always kept on disk",
}


def literally(obj):
    """Return the object. It is for numba's programs, in which it makes a constant of an argument: strings, functions and types are
    constants without it, and for numbers there is the keyword ``static=``."""
    return obj


class objmode:
    """numba's ``with objmode(x="float64"):``, which Python runs as it is. Compiled functions cannot contain it (E101), because there is
    no object mode: call the compiled function from a Python function that does the rest."""

    def __init__(self, *args, **types):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass


class Stats(dict):
    """What `stats` of a compiled object is: a dict, whose attributes are those of numba's, with what to read instead."""

    _NUMBAS = {"cache_hits": "`f.stats[\"from_disk\"]` counts what was found in the cache", "cache_misses": "`f.stats[\"compiled\"]` counts what was not found in the cache",
               "cache_path": "`lanewise.cache.info()` has the folder of the cache, of all functions"}

    def __getattr__(self, name):
        if name in self._NUMBAS:
            raise AttributeError(f"stats is a dict and has no attribute {name!r}, which numba has: {self._NUMBAS[name]}")
        raise AttributeError(f"'dict' object has no attribute {name!r:.200}")


def attribute_hint(kind, name):
    """The text of the error for an attribute that a compiled function does not have; None: numba has none either."""
    if name not in ATTRIBUTES:
        return None
    return f"{kind!r} object has no attribute {name!r}, which numba has: {ATTRIBUTES[name]}"


def is_import(frame):
    """Whether the frame is at `from lanewise import name`, whose own error would drop the hint of an AttributeError."""
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == opcode.opmap["IMPORT_FROM"]


def refuse(name, frame, module="lanewise", hints=HINTS):
    """Raise the error of a name that the module does not have."""
    said = f"module {module!r} has no attribute {name!r:.200}"
    origin, hint = ("numba", hints[name]) if name in hints else _likely(name) if hints is HINTS else ("", "")
    if not hint:
        raise AttributeError(said)
    if is_import(frame):
        raise ImportError(f"{module} has no {name!r}, which {origin} has: {hint}", name=module)
    raise AttributeError(f"{said}, which {origin} has: {hint}")


class _Finder:
    """Is asked for modules that no other finder has found."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        package, _, rest = name.partition(".")
        if package == "lanewise" and rest in HINTS and _is_imported():
            raise ModuleNotFoundError(f"No module named {name!r}, which numba has: {HINTS[rest]}", name=name)
        return None


def _is_imported():
    """Whether an import statement has named this module: `importlib.util.find_spec` asks whether there is one, and
    `from lanewise import name` asks for the attribute after it."""
    frame, names = sys._getframe(2), set()
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    return "_find_and_load_unlocked" in names and "_handle_fromlist" not in names


def install():
    sys.meta_path.append(_Finder)
