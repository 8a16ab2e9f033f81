"""numba's own tests of vectorize, guvectorize and their ufuncs in compiled functions: numba/tests/npyufunc of the released
wheel, on the CPU. (The 4,000 tests of NumPy's ufuncs in compiled functions, test_ufuncs.py beside them, take half an hour; they
run where the file's path is given.)

What a user of numba imports is lanewise's. What only numba's own tests import, its compiler's parts, are stand-ins of this
file; the tests' helpers, numba/tests/support.py, are the wheel's.
"""

import ast
import importlib
import importlib.abc
import importlib.machinery
import os
import pathlib
import sys
import types as modules

import numpy

import lanewise
from lanewise import errors

WHEEL = "numba==0.68.1"
FILES = ["numba/tests/npyufunc/test_*.py"]

# Why tests fail.
NO_OBJECTS = "there is no object mode; the error gives the line to write"
OWN_CACHE = "reads the log and the files of numba's cache; lanewise has its own, in one folder"
EMPTY_LIST = "numba refuses an empty list as an argument with a ValueError; here one is an index, of too many axes"
EXPERIMENTAL = "numba warns that its ufunc.at is experimental"
NO_INITIAL = "initial=None says in NumPy that there is no value to start from; in numba, to take the identity"
OVERWRITTEN = "with out= the very array, numba reads what it has written; the result is NumPy's here"
POWER = "integers to negative powers are 0, and the least int64 in numba"
MADE = "without signatures outputs are made, where numba wants them given"
UNWRITTEN = "an output that the function never writes is E185; typing='numba' warns, W207"
CUT = "a float64 stored in an int32 is E142; typing='numba' cuts it"
COUNT = "numba says 'too few' of too many arguments; here the error is NumPy's"
LEADING = "an output may lack leading loop dimensions of size 1, as in NumPy's gufuncs; numba refuses it in compiled functions"
SIZES = "a dimension in outputs only is measured by out=, or by sizes=; numba refuses it with a NameError"
RAGGED = "a list of lists and numbers as operand is a ValueError, as in NumPy, where numba has a TypingError"
WORKS = "expected to fail in numba, and works here"
WRITABLE = "writable_args= works on GPUs too, and a name that is none is a ValueError"
THREADS = "more than 256 threads are refused, where numba takes any number and starts what it can"


def tests(reason, where, names):
    """Items of EXPECTED for the tests of a class."""
    return [(f"{where}::{name}", reason) for name in names.split()]


EXPECTED = dict([
    *tests(OWN_CACHE, "test_caching.py::TestDUfuncCacheTest", """
        test_direct_dufunc_cache test_indirect_dufunc_cache
    """),
    *tests(OWN_CACHE, "test_caching.py::TestGUfuncCacheTest", """
        test_direct_gufunc_cache test_direct_gufunc_cache_parallel test_filename_prefix test_indirect_gufunc_cache
        test_indirect_gufunc_cache_parallel
    """),
    *tests(NO_OBJECTS, "test_caching.py::TestGUfuncCacheTest", """
        test_direct_gufunc_cache_objmode
    """),
    *tests(OWN_CACHE, "test_caching.py::TestUfuncCacheTest", """
        test_direct_ufunc_cache test_direct_ufunc_cache_parallel test_indirect_ufunc_cache
        test_indirect_ufunc_cache_parallel
    """),
    *tests(NO_OBJECTS, "test_caching.py::TestUfuncCacheTest", """
        test_direct_ufunc_cache_objmode
    """),
    *tests(EMPTY_LIST, "test_dufunc.py::TestDUFuncAt", """
        test_ufunc_at_0D
    """),
    *tests(RAGGED, "test_dufunc.py::TestDUFuncAt", """
        test_numpy_ufunc_at_basic
    """),
    *tests(EXPERIMENTAL, "test_dufunc.py::TestDUFuncAt", """
        test_ufunc_at_experimental_warning
    """),
    *tests(NO_INITIAL, "test_dufunc.py::TestDUFuncReduceNumPyTests", """
        test_reduce_zero_axis
    """),
    *tests(WORKS, "test_dufunc.py::TestDUFuncReduceNumPyTests", """
        test_numpy_scalar_reduction
    """),
    *tests(OVERWRITTEN, "test_dufunc.py::TestDUFuncReduceAt", """
        test_reduceat_out_kw
    """),
    *tests(NO_OBJECTS, "test_errors.py::TestExceptions", """
        test_gufunc_raise_objmode test_ufunc_raise_objmode
    """),
    *tests(POWER, "test_errors.py::TestFloatingPointExceptions", """
        test_power_integer
    """),
    *tests(MADE, "test_gufunc.py::TestDynamicGUFunc", """
        test_dynamic_scalar_output
    """),
    *tests(LEADING, "test_gufunc.py::TestGUVectorizeJit", """
        test_mismatch_loop_shape
    """),
    *tests(COUNT, "test_gufunc.py::TestMultipleOutputs", """
        test_incorrect_number_of_pos_args
    """),
    *tests(NO_OBJECTS, "test_ufunc.py::TestUFuncs", """
        test_ufunc_exception_on_write_to_readonly
    """),
    *tests(NO_OBJECTS, "test_ufuncbuilding.py::TestGUfuncBuilding", """
        test_gufunc_struct_forceobj
    """),
    *tests(NO_OBJECTS, "test_ufuncbuilding.py::TestGUfuncBuildingJitDisabled", """
        test_gufunc_struct_forceobj
    """),
    *tests(NO_OBJECTS, "test_ufuncbuilding.py::TestUfuncBuilding", """
        test_ufunc_forceobj
    """),
    *tests(NO_OBJECTS, "test_ufuncbuilding.py::TestUfuncBuildingJitDisabled", """
        test_ufunc_forceobj
    """),
    *tests(NO_OBJECTS, "test_ufuncbuilding.py::TestVectorizeDecor", """
        test_guvectorize_error_in_objectmode test_guvectorize_objectmode test_guvectorize_scalar_objectmode
        test_vectorize_objmode
    """),
    *tests(SIZES, "test_ufuncbuilding.py::TestVectorizeDecor", """
        test_guvectorize_invalid_layout
    """),
    *tests(NO_OBJECTS, "test_ufuncbuilding.py::TestVectorizeDecorJitDisabled", """
        test_guvectorize_error_in_objectmode test_guvectorize_objectmode test_guvectorize_scalar_objectmode
        test_vectorize_objmode
    """),
    *tests(SIZES, "test_ufuncbuilding.py::TestVectorizeDecorJitDisabled", """
        test_guvectorize_invalid_layout
    """),
    *tests(THREADS, "test_parallel_env_variable.py::TestParallelEnvVariable", "test_num_threads_variable"),
    *tests(WRITABLE, "test_update_inplace.py::TestUpdateInplace", """
        test_exceptions
    """),
])


if os.environ.get("LANEWISE_TYPING") != "numba":
    EXPECTED |= dict([
        *tests(UNWRITTEN, "test_gufunc.py::TestGUVectorizeJit", "test_issue_10287"),
        *tests(CUT, "test_gufunc.py::TestGUVectorizeScalar", "test_scalar_output"),
        *tests(CUT, "test_gufunc.py::TestGUVectorizeScalarParallel", "test_scalar_output"),
    ])

WITHOUT = {
    "numba's cache and object mode": (OWN_CACHE, NO_OBJECTS),
    "what numba refuses, warns of or expects to fail, and works here": (EMPTY_LIST, EXPERIMENTAL, LEADING, MADE, SIZES, WORKS, WRITABLE),
}


def from_dtype(dtype):
    """numba.np.numpy_support.from_dtype, whose error is one of its compiler."""
    try:
        return lanewise.from_dtype(dtype)
    except TypeError as error:
        raise errors.UnsupportedError(str(error)) from None


UFUNC_LISTS = ["math_operations", "trigonometric_functions", "bit_twiddling_functions", "comparison_functions",
               "floating_functions", "logic_functions"]
WARNINGS = ["NumbaWarning", "NumbaDeprecationWarning", "NumbaExperimentalFeatureWarning"]


class Placeholder:
    """A name of numba's compiler that the tests' helpers import and the tests do not use."""

    def __init__(self, *args, **keywords):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder()

    def __call__(self, *args, **keywords):
        return args[0] if len(args) == 1 and callable(args[0]) else Placeholder()


class Internal(modules.ModuleType):
    """A module of numba's compiler: its names are modules where the wheel has such, else classes that can be
    derived from and called."""

    __path__ = ()
    root = None

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        place = self.root.joinpath(*self.__name__.split("."), name)
        if place.is_dir() or place.with_suffix(".py").exists() or list(place.parent.glob(name + ".*.so")):
            return importlib.import_module(f"{self.__name__}.{name}")
        if self.__name__ == "numba":  # whose names are lanewise's
            raise AttributeError(name)
        value = type(name, (Placeholder,), {})
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules of numba: those of MODULES, the wheel's own under numba.tests, placeholders otherwise."""

    def __init__(self, root, made):
        self.root, self.made = root, made

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] != "numba":
            return None
        if name.startswith("numba.tests"):
            folder = self.root.joinpath(*name.split(".")[:-1])
            return importlib.machinery.PathFinder.find_spec(name, [str(folder)])
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return self.made.get(spec.name) or Internal(spec.name)

    def exec_module(self, module):
        pass


def module(name, **names):
    made = Internal(name)
    vars(made).update(names)
    return made


def numba_errors():
    names = {name: getattr(errors, name) for name in errors.__all__}
    names.update(NumbaNotImplementedError=errors.UnsupportedError, LoweringError=errors.CompileError)
    names.update({name: type(name, (Warning,), {}) for name in WARNINGS})
    return module("numba.core.errors", **names)


class Builder:
    """numba's classes that collect signatures and then build a ufunc."""

    def __init__(self, decorate, options):
        self.decorate, self.options, self.signatures = decorate, options, []

    def add(self, signature):
        self.signatures.append(signature)
        return modules.SimpleNamespace(objectmode=False)

    def build_ufunc(self):
        return self.decorate(self.signatures)


def numbas_jit(*args, **keywords):
    """Without the keywords that numba's own tests give for parts of its compiler."""
    return lanewise.njit(*args, **{name: value for name, value in keywords.items() if name not in ("_nrt", "no_rewrites")})


def options_of(keywords):
    targetoptions = keywords.pop("targetoptions", {})
    keywords.pop("is_dynamic", None)
    return {**keywords, **targetoptions}


def Vectorize(function, **keywords):
    options = options_of(keywords)
    return Builder(lambda signatures: lanewise.vectorize(signatures, **options)(function), options)


def GUVectorize(function, layout, *, is_dynamic=False, **keywords):
    options = options_of(keywords)
    if is_dynamic:
        return lanewise.guvectorize(layout, **options)(function)
    return Builder(lambda signatures: lanewise.guvectorize(signatures, layout, **options)(function), options)


def DUFunc(function, **keywords):
    return lanewise.vectorize(**options_of(keywords))(function)


def supported_ufuncs(root):
    """What numba says it supports: the lists of names in its own source."""
    tree = ast.parse((root / "numba/core/typing/npydecl.py").read_text())
    lists = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.Set)):
            lists[node.targets[0].id] = ast.literal_eval(node.value)
    names = [name for key in UFUNC_LISTS for name in lists[key]]
    return [getattr(numpy, name) for name in names if name not in ("frexp", "modf")]


def numba_modules(root):
    """What is found where in numba, and is lanewise's or a small stand-in of it."""
    from lanewise import runtime, types

    names = {name: getattr(lanewise, name) for name in dir(lanewise) if not name.startswith("_")}
    names.update({name: getattr(types, name) for name in types.__all__}, jit=numbas_jit, njit=numbas_jit)
    numpy_support = module("numba.np.numpy_support", from_dtype=from_dtype, as_dtype=lambda type_: getattr(type_, "dtype", type_),
                           numpy_version=tuple(map(int, numpy.__version__.split(".")[:2])))
    made = [
        module("numba", **names), numba_errors(), numpy_support,
        module("numba.core.utils", PYVERSION=sys.version_info[:2]),
        module("numba.core.runtime", rtsys=runtime.rtsys),
        module("numba.core.runtime._nrt_python", memsys_enable_stats=runtime.memsys_enable_stats,
               memsys_disable_stats=runtime.memsys_disable_stats),
        module("numba.core.typing.npydecl", supported_ufuncs=supported_ufuncs(root)),
        module("numba.np.ufunc", Vectorize=Vectorize, GUVectorize=GUVectorize, PyUFunc_One=1, PyUFunc_Zero=0),
        module("numba.np.ufunc.dufunc", DUFunc=DUFunc),
        module("numba.np.ufunc.ufuncbuilder", GUFuncBuilder=GUVectorize),
        module("numba.np.ufunc.parallel", get_thread_count=lambda: lanewise.config.NUMBA_NUM_THREADS),
    ]
    named = {each.__name__: each for each in made}
    named["numba.types"] = named["numba.core.types"] = types
    named["numba.core.config"] = lanewise.config
    return named


def install(root):
    Internal.root = root
    child = str(pathlib.Path(__file__).resolve().parent / "child")  # for the processes that tests start
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if child not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([child, *paths])
    sys.meta_path.insert(0, Finder(root, numba_modules(root)))
    import numba.tests.support  # noqa: F401
