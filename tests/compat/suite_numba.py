"""numba's own tests of vectorize, guvectorize and of NumPy's ufuncs in compiled functions: numba/tests/npyufunc and
numba/tests/test_ufuncs.py of the released wheel, on the CPU.

What a user of numba imports is lanewise's (`NAMES`). What only numba's own tests import, its compiler's parts, are
stand-ins of this file; the tests' helpers, numba/tests/support.py, are the wheel's.
"""

import ast
import importlib
import importlib.abc
import importlib.machinery
import sys
import types as modules

import numpy

import lanewise
from lanewise import errors

WHEEL = "numba==0.68.1"
FILES = ["numba/tests/npyufunc/test_*.py"]
EXPECTED = {}

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
    names.update({name: getattr(types, name) for name in types.__all__})
    numpy_support = module("numba.np.numpy_support", from_dtype=lanewise.from_dtype, as_dtype=lambda type_: type_.dtype,
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
    sys.meta_path.insert(0, Finder(root, numba_modules(root)))
    import numba.tests.support  # noqa: F401
