"""Compile Python functions that work on elements, rows or indices of arrays, for NVIDIA GPUs and for all cores of a CPU."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeVar
from typing import Any, Protocol, SupportsIndex

from lanewise import cache as cache
from lanewise import cuda as cuda
from lanewise import errors as errors
from lanewise import extending as extending
from lanewise import random as random
from lanewise import reductions as reductions
from lanewise import runtime as runtime
from lanewise import special as special
from lanewise import typed as typed
from lanewise import types as types
from lanewise import ufuncs as ufuncs
from lanewise._c_functions import CFunc as CFunc
from lanewise._c_functions import carray as carray
from lanewise._c_functions import cfunc as cfunc
from lanewise._c_functions import farray as farray
from lanewise._core import (
    Forall as Forall,
    Gufunc as Gufunc,
    Kernel as Kernel,
    Reduction as Reduction,
    Ufunc as Ufunc,
    __version__ as __version__,
    bfloat16 as bfloat16,
    bool_ as bool_,
    compile as compile,
    complex64 as complex64,
    complex128 as complex128,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    forall as forall,
    from_dtype as from_dtype,
    guvectorize as guvectorize,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    intp as intp,
    jit as jit,
    reduce as reduce,
    typeof as typeof,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    uintp as uintp,
    vectorize as vectorize,
    void as void,
)
from lanewise.config import config as config
from lanewise.errors import LanewiseError as LanewiseError, PerformanceWarning as PerformanceWarning, PrecisionWarning as PrecisionWarning
from lanewise._explain import explain as explain
from lanewise._profile import profile as profile
from lanewise._stencil import stencil as stencil
from lanewise._verify import verify as verify
from lanewise.types import (
    Signature as Signature, Type as Type,
    b1 as b1, boolean as boolean, byte as byte, c16 as c16, c8 as c8, cdouble as cdouble,
    char as char, csingle as csingle, double as double, f2 as f2, f4 as f4, f8 as f8, float_
    as float_, half as half, i1 as i1, i2 as i2, i4 as i4, i8 as i8, int_ as int_, intc as
    intc, long_ as long_, longlong as longlong, none as none, optional as optional, short as short, single as
    single, size_t as size_t, ssize_t as ssize_t, u1 as u1, u2 as u2, u4 as u4, u8 as u8,
    ubyte as ubyte, uchar as uchar, uint as uint, uintc as uintc, ulong as ulong, ulonglong
    as ulonglong, ushort as ushort,
)
from lanewise.ufuncs import (
    abs as abs, absolute as absolute, acos as acos, acosh as acosh, add as add, arccos as
    arccos, arccosh as arccosh, arcsin as arcsin, arcsinh as arcsinh, arctan as arctan, arctan2
    as arctan2, arctanh as arctanh, asin as asin, asinh as asinh, atan as atan, atan2 as atan2,
    atanh as atanh, bitwise_and as bitwise_and, bitwise_count as bitwise_count, bitwise_invert
    as bitwise_invert, bitwise_left_shift as bitwise_left_shift, bitwise_not as bitwise_not,
    bitwise_or as bitwise_or, bitwise_right_shift as bitwise_right_shift, bitwise_xor as
    bitwise_xor, cbrt as cbrt, ceil as ceil, conj as conj, conjugate as conjugate, copysign as
    copysign, cos as cos, cosh as cosh, deg2rad as deg2rad, degrees as degrees, divide as
    divide, divmod as divmod, equal as equal, exp as exp, exp2 as exp2, expm1 as expm1, fabs as
    fabs, float_power as float_power, floor as floor, floor_divide as floor_divide, fmax as
    fmax, fmin as fmin, fmod as fmod, frexp as frexp, gcd as gcd, greater as greater,
    greater_equal as greater_equal, heaviside as heaviside, hypot as hypot, invert as invert,
    isfinite as isfinite, isinf as isinf, isnan as isnan, isnat as isnat, lcm as lcm, ldexp as ldexp, left_shift
    as left_shift, less as less, less_equal as less_equal, log as log, log10 as log10, log1p as
    log1p, log2 as log2, logaddexp as logaddexp, logaddexp2 as logaddexp2, logical_and as
    logical_and, logical_not as logical_not, logical_or as logical_or, logical_xor as
    logical_xor, matmul as matmul, matvec as matvec, maximum as maximum, minimum as minimum, mod as mod, modf as modf, multiply as
    multiply, negative as negative, nextafter as nextafter, not_equal as not_equal, positive as
    positive, pow as pow, power as power, rad2deg as rad2deg, radians as radians, reciprocal as
    reciprocal, remainder as remainder, right_shift as right_shift, rint as rint, sign as sign,
    signbit as signbit, sin as sin, sinh as sinh, spacing as spacing, sqrt as sqrt, square as
    square, subtract as subtract, tan as tan, tanh as tanh, true_divide as true_divide, trunc as
    trunc, vecdot as vecdot, vecmat as vecmat,
)

__all__ = [
    "CFunc", "Forall", "Gufunc", "Kernel", "LanewiseError", "PerformanceWarning", "PrecisionWarning", "Reduction", "Ufunc", "bfloat16", "bool_", "cache", "carray", "cfunc", "compile",
    "complex64", "complex128", "config", "cuda", "errors", "explain", "extending", "farray", "float16", "float32", "float64", "forall", "from_dtype", "get_num_threads", "get_thread_id", "guvectorize", "info",
    "int8", "int16", "int32", "int64", "intp", "jit", "literal_unroll", "local", "map_blocks", "njit", "prange", "profile", "random", "reduce", "reductions", "runtime", "set_num_threads", "special", "stencil", "typed", "typeof", "types",
    "ufuncs", "uint8", "uint16", "uint32", "uint64", "uintp", "vectorize", "verify", "void",
]

class _local(Protocol):
    """A new array of this call, uninitialised: an int or tuple of ints and a dtype, all known when the function is compiled."""

    def __call__(self, shape: Any, dtype: Any) -> Any: ...

local: _local
njit = jit

_T = TypeVar("_T")
def prange(*args: SupportsIndex) -> range: ...

def literal_unroll(items: _T) -> _T: ...
def literally(obj: _T) -> _T: ...

class objmode:
    def __init__(self, *args: Any, **types: Any) -> None: ...
    def __enter__(self) -> objmode: ...
    def __exit__(self, *exception: Any) -> None: ...

class _VersionInfo(NamedTuple):
    major: int
    minor: int
    patch: int

version_info: _VersionInfo
def map_blocks(
    kernel: Any, /, *args: Any, depth: int | Sequence[int] | dict[int, int] = 0, boundary: Any = "none", dtype: Any = None, progress: Any = None,
    **named: Any,
) -> Any: ...
def set_num_threads(n: SupportsIndex) -> None: ...
def get_num_threads() -> int: ...
def get_thread_id() -> int: ...
def info() -> dict[str, Any]: ...
