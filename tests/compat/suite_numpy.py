"""NumPy's own tests of its ufuncs, with lanewise's ufuncs in the place of NumPy's.

In the test files `import numpy as np` and its like give modules that hold what NumPy's hold, but for the
ufuncs and products that `lanewise.ufuncs` has, which are lanewise's: np.add, np.add.reduce, ncu.add,
np._core.umath.add. Operators, methods of arrays and functions like np.sum stay NumPy's.

With LANEWISE_COMPAT_DEVICE=1 the calls are made on device arrays (numpy_on_device.py): of a GPU, or, where
LANEWISE_TARGET=cpu, those that stand for them. With LANEWISE_COMPAT_DEVICE=fake on the fake driver of tests/fault.
"""

import builtins
import os
import sys
import types

import numpy

import lanewise
from lanewise import ufuncs
from numpy_on_device import OnDevice

WHEEL = f"numpy=={numpy.__version__}"
FILES = [f"numpy/_core/tests/{name}.py" for name in
         ("test_ufunc", "test_umath", "test_umath_complex", "test_umath_accuracy", "test_half")]
DEVICE = os.environ.get("LANEWISE_COMPAT_DEVICE", "")

#: The modules whose ufuncs the tests use.
_MODULES = ("numpy", "numpy._core", "numpy._core.umath", "numpy._core._multiarray_umath")
_stand_ins = {}
_in_use = {}


class _Kinds(type(numpy.ufunc)):
    """np.ufunc of the tests: lanewise's ufuncs are instances, too; what else is asked for is NumPy's."""

    def __instancecheck__(cls, value):
        return isinstance(value, (numpy.ufunc, lanewise.Ufunc, OnDevice))

    def __getattr__(cls, name):
        return getattr(numpy.ufunc, name)


class ufunc(metaclass=_Kinds):
    pass


def _stand_in(module):
    """A module that holds what this one does, with lanewise's ufuncs."""
    made = types.ModuleType(module.__name__, module.__doc__)
    made.__dict__.update(module.__dict__)
    for name, value in module.__dict__.items():
        ours = ufuncs._for_numpy(value) if isinstance(value, numpy.ufunc) else None
        if ours is not None:
            made.__dict__[name] = _in_use.setdefault(ours, OnDevice(ours, DEVICE) if DEVICE else ours)
    made.__getattr__ = lambda name: getattr(module, name)
    return made


def install(root):
    for name in _MODULES:
        _stand_ins[name] = _stand_in(sys.modules[name])
    for name in _MODULES[1:]:
        setattr(_stand_ins[name.rpartition(".")[0]], name.rpartition(".")[2], _stand_ins[name])
    _stand_ins["numpy"].ufunc = ufunc
    folder, import_module = str(root), builtins.__import__

    def import_for_tests(name, globals=None, locals=None, fromlist=(), level=0):
        found = import_module(name, globals, locals, fromlist, level)
        if globals is None or not str(globals.get("__file__")).startswith(folder):
            return found
        return _stand_ins.get(found.__name__, found)

    builtins.__import__ = import_for_tests


EXPECTED = {
    "test_umath.py::TestBitwiseUFuncs::test_bitwise_count[input_dtype_obj15-65]":
        "a Python int beyond 64 bits is an OverflowError, where NumPy computes with objects",
    "test_ufunc.py::TestUfunc::test_pickle_withstring": "an old pickle of numpy.cos is numpy.cos",
    "test_umath.py::TestAdd_newdoc_ufunc::test_ufunc_arg": "sets the documentation of a numpy.ufunc, and takes nothing else",
    "test_umath.py::TestSpecialMethods::test_ufunc_docstring": "compares __dict__, which holds __module__ 'numpy' there",
    "test_umath_accuracy.py::TestAccuracy::test_validate_transcendentals":
        "float64 within 1 ULP; sin, cos, tan, arcsin, sinh and expm1 of the vector library have 2 (docs/differences.md, Error bounds)",
}

if DEVICE:
    EXPECTED |= {
        "test_umath.py::TestSpecialMethods::test_wrap": "func is np.minimum: there it is the Ufunc behind this suite's stand-in",
        "test_umath.py::TestReplaceLoopBySignature::test_replace_loop": "NumPy takes a numpy.ufunc, and not this suite's stand-in",
        "test_umath.py::TestSpecialMethods::test_priority": "a device array beside an object with __array_wrap__ gives a device array",
    }
if DEVICE and DEVICE != "methods":
    EXPECTED |= {
        "test_ufunc.py::TestUfunc::test_cast_safety_scalar_special":
            "casting='equiv' of a comparison with an int beyond 64 bits: NumPy compares objects, which no device can",
    }
if DEVICE == "methods":
    EXPECTED |= {"test_ufunc.py::TestUfuncGenericLoops::test_unary_PyUFunc_O_O_method_full[arccosh]": "calls raise no floating-point flag"}
if DEVICE == "fake":
    EXPECTED |= {"test_ufunc.py::TestUfunc::test_ufunc_at_boolean": "a mask's elements are counted by a kernel, and none runs"}

#: What asks for a floating-point warning or error, which a GPU has no flags for (docs/differences.md).
_FLAGS = {
    "test_half.py::TestHalf": "test_half_fpe",
    "test_umath_complex.py::TestClog": "test_special_values",
    "test_ufunc.py": "test_ufunc_methods_floaterrors[*] "
                     "test_ufunc_input_floatingpoint_error[*]",
    "test_umath.py::TestDivision": "test_division_int_reduce[*] test_floor_division_errors[*]",
    "test_umath.py::TestDivisionIntegerOverflowsAndDivideByZero":
        "test_overflows[*] test_divide_by_zero[*] test_signed_division_overflow[*]",
    "test_umath.py::TestRemainder": "test_float_remainder_errors[*] test_float_divmod_errors[*] test_float_remainder_overflow",
    "test_umath.py::TestSpecialFloats":
        "test_sincos_errors[*] test_tan test_square_values test_sinh test_reciprocal_values test_log_values test_expm1 "
        "test_exp_exceptions test_exp2 test_cosh test_arctanh test_arcsincos test_arccosh",
    "test_umath.py::TestPower": "test_zero_power_nonzero",
}
if DEVICE == "methods" or DEVICE and DEVICE != "fake" and os.environ.get("LANEWISE_TARGET") != "cpu":
    EXPECTED |= {f"{place}::{test}": "a GPU has no floating-point flags" for place, tests in _FLAGS.items() for test in tests.split()}
    EXPECTED |= {"test_umath.py::TestSpecialMethods::test_ufunc_override_with_super":
                 "calls of subclasses are NumPy's, on the host, whose sin differs in the last digit",
                 "test_ufunc.py::test_ufunc_types[sign]": "the sign of a duration is a duration, and a float64 in NumPy from 2.5 on"}
    EXPECTED |= {"test_umath.py::test_memoverlap_accumulate_symmetric[*]":
                 "scans of logaddexp and hypot add in a fixed order of their own, which rounds differently in the last digit"}
