"""The usual reductions and scans, for host and device arrays. All but `topk`, `argtopk`, medians and quantiles are made with
`lanewise.reduce` alone.

    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.reductions.mean(np.arange(6.0).reshape(2, 3), axis=1)
    array([1., 4.])

Functions that NumPy also has accept the same arguments, return the same dtypes, choose the same one of several equal elements, and
treat NaN in the same way. For device arrays, the results are device arrays, with zero dimensions if all axes are reduced, and calls do
not wait for the device. `stream=` is for device arrays. A DeviceArray has these functions as methods, which `numpy.sum(device)` and so on
call.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
import warnings
from typing import Any

import numpy as np

import lanewise as lw
from lanewise import _core, _labelled
from lanewise._containers import answers_itself, is_dask, plain_of, refuse_loss, refuse_masked_items, refuse_progress, says_no_progress, says_no_stream, with_library
from lanewise._labelled import is_labelled
from lanewise._later import later, named
from lanewise._weak import is_weak

DeviceArray = _core.cuda.DeviceArray  # lanewise.cuda, which has much more, is imported for device arrays only

__all__ = [
    "affine_scan", "all", "any", "argmax", "argmin", "argtopk", "count_nonzero", "cumprod", "cumsum", "logsumexp", "max",
    "mean", "median", "min", "minmax", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod",
    "nanquantile", "nanstd", "nansum", "nanvar", "percentile", "prod", "quantile", "running_maximum", "segmented_sum", "std", "sum", "top1", "topk", "var",
]


def __dir__():
    return __all__


# ---- what the operators are ----


def _add(a, b):
    return a + b


def _multiply(a, b):
    return a * b


def _minimum(a, b):
    return np.minimum(a, b)


def _maximum(a, b):
    return np.maximum(a, b)


def _or(a, b):
    return a or b


def _and(a, b):
    return a and b


def _both_ends(a, b):
    return np.minimum(a[0], b[0]), np.maximum(a[1], b[1])


def _first_largest(a, b):
    """Of (value, index): NaN is larger than all, and the lower index wins."""
    if a[0] == b[0] or (a[0] != a[0] and b[0] != b[0]):
        return a if a[1] < b[1] else b
    return a if a[0] > b[0] or a[0] != a[0] else b


def _first_smallest(a, b):
    if a[0] == b[0] or (a[0] != a[0] and b[0] != b[0]):
        return a if a[1] < b[1] else b
    return a if a[0] < b[0] or a[0] != a[0] else b


def _first_largest_pair(a, b):
    """Of (real, imaginary, index): complex numbers in NumPy's order."""
    a_nan, b_nan = a[0] != a[0] or a[1] != a[1], b[0] != b[0] or b[1] != b[1]
    if (a_nan and b_nan) or (a[0] == b[0] and a[1] == b[1]):
        return a if a[2] < b[2] else b
    return a if a_nan or (not b_nan and (a[0] > b[0] or (a[0] == b[0] and a[1] > b[1]))) else b


def _first_smallest_pair(a, b):
    a_nan, b_nan = a[0] != a[0] or a[1] != a[1], b[0] != b[0] or b[1] != b[1]
    if (a_nan and b_nan) or (a[0] == b[0] and a[1] == b[1]):
        return a if a[2] < b[2] else b
    return a if a_nan or (not b_nan and (a[0] < b[0] or (a[0] == b[0] and a[1] < b[1]))) else b


def _one_of_mean(x):
    """(sum, count) of one element. As in NumPy, integers are summed in float64. Those of 8 and 16 bits are summed in 64-bit integers, which gives the
    same result in less time."""
    return (np.float64(x) if isinstance(x, (np.int32, np.int64, np.uint32, np.uint64)) else x), 1


def _moments_of_one(x):
    """Of one element: (count, origin, mean - origin, squares). Its squared deviation is 0, or NaN where the element is infinite or NaN, as NumPy's.
    The origin of integers is a float, whose differences do not wrap."""
    origin = x * 1.0
    return 1, origin, 0.0, origin - origin


def _moments_of_complex(x):
    return 1, x, 0.0, (x.real - x.real) + (x.imag - x.imag)


def _moments_of_real_part(x):
    """Around the mean of the real parts, the imaginary part of each element is a part of its deviation."""
    return 1, x.real, 0.0, (x.real - x.real) + x.imag * x.imag


def _square_of(d):
    return d * d


def _square_of_complex(d):
    return d.real * d.real + d.imag * d.imag


def _merging(square_of):
    """Counts, means and sums of squared deviations of two parts into those of both (Chan, Golub and LeVeque,
    "Updating formulae and a pairwise algorithm for computing sample variances", 1979).

    A mean is the sum of an origin, which is an element of the part, and of the distance from it. The difference of two
    elements is rounded relative to itself, as a mean in one number is not: of elements 1e9 ± 10, that has lost nine digits.
    No element is farther from the mean than the root of the sum of squares, so an outlier is as good an origin.
    Counts are integers, as a float32 could not count beyond 2**24. Weights are computed in the type of the squares.
    """
    def _merge_moments(a, b):
        delta = (b[1] - a[1]) - (a[2] - b[2])
        of_a, of_b = type(a[3])(a[0]), type(a[3])(b[0])
        weight = of_b / (of_a + of_b)
        return a[0] + b[0], a[1], a[2] + delta * weight, a[3] + b[3] + square_of(delta) * (of_a * weight)

    return _merge_moments


_merge_moments, _merge_complex_moments = _merging(_square_of), _merging(_square_of_complex)


def _add_exponentials(a, b):
    """Of (m, s) that stand for s * exp(m): nothing overflows."""
    smaller = np.exp(-abs(a[0] - b[0])) if a[0] != b[0] else 1.0  # infinities may be equal
    if a[0] > b[0]:
        return a[0], a[1] + b[1] * smaller
    return b[0], b[1] + a[1] * smaller


def _add_exponentials_of_floats(a, b):
    """The same for float32, with the exp of float64. Vectors and single numbers have the same bits of that exp, but not of float32's, so that on the
    host a first call can be served by code that is compiled quickly."""
    smaller = math.exp(float(-abs(a[0] - b[0]))) if a[0] != b[0] else 1.0
    if a[0] > b[0]:
        return a[0], a[1] + b[1] * smaller
    return b[0], b[1] + a[1] * smaller


def _first_largest_of_three(a, b):
    """Of (value, index, payload)."""
    if a[0] == b[0] or (a[0] != a[0] and b[0] != b[0]):
        return a if a[1] < b[1] else b
    return a if a[0] > b[0] or a[0] != a[0] else b


def _after(a, b):
    """y -> y * a[0] + a[1], then y -> y * b[0] + b[1]."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def _sum_of_segment(a, b):
    """Of (a segment starts here, sum since then)."""
    return a[0] or b[0], b[1] if b[0] else a[1] + b[1]


# ---- the reductions, by what users call them: in errors, in what progress= shows and in Dask's keys. Errors of nothing to reduce have the
# operators' names, as NumPy's ----

_SUM = later("sum", _add)
_PROD = later("prod", _multiply)
#: From initial=0, and from infinities: each element as NumPy, which starts there, sees it. The product of the elements alone may overflow or
#: underflow, and infinity times zero is NaN.
_PROD_FROM = {"zero": later("prod", _multiply, map=lambda x: x * 0), "infinity": later("prod", _multiply, map=lambda x: x * math.inf)}
_MIN = later("min", _minimum, commutative=True)
_MAX = later("max", _maximum, commutative=True)
_ANY = later("any", _or)
_ALL = later("all", _and)
_MINMAX = later("minmax", _both_ends, map=lambda x: (x, x), commutative=True)
_COUNT = later("count_nonzero", _add, map=lambda x: 1 if x != 0 else 0)
_COUNT_TIMES = later("count_nonzero", _add, map=lambda x: 1 if x else 0)
_ARGMAX = later("argmax", _first_largest, map=lambda x, index: (x, index), finish=lambda value, at: at, commutative=True)
_ARGMIN = later("argmin", _first_smallest, map=lambda x, index: (x, index), finish=lambda value, at: at, commutative=True)
_ARGMAX_COMPLEX = later("argmax", _first_largest_pair, map=lambda x, index: (x.real, x.imag, index),
                        finish=lambda real, imag, at: at, commutative=True)
_ARGMIN_COMPLEX = later("argmin", _first_smallest_pair, map=lambda x, index: (x.real, x.imag, index),
                        finish=lambda real, imag, at: at, commutative=True)
_MEAN = later("mean", map=_one_of_mean, combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
              finish=lambda total, n: total / n, identity=(0, 0))
_LOGSUMEXP = later("logsumexp", _add_exponentials, map=lambda x: (x, 1.0), finish=lambda m, s: m + np.log(s),
                   identity=(-math.inf, 0.0), commutative=True)
_LOGSUMEXP_OF_FLOATS = later("logsumexp", _add_exponentials_of_floats, map=lambda x: (x, 1.0), finish=lambda m, s: m + math.log(float(s)),
                             identity=(-math.inf, 0.0), commutative=True)
#: m is real: exp(z) = exp(m) * exp(1j * z.imag).
_LOGSUMEXP_OF_COMPLEX = later("logsumexp", _add_exponentials, map=lambda z: (z.real, type(z)(complex(np.cos(z.imag), np.sin(z.imag)))),
                              finish=lambda m, s: m + np.log(s), identity=(-math.inf, 0.0), commutative=True)
_TOP1 = later("top1", _first_largest_of_three, map=lambda x, payload, index: (x, index, payload),
              finish=lambda value, at, payload: (value, payload), commutative=True)
_AFFINE = later("affine_scan", _after, map=lambda a, b: (a, b), finish=lambda a, b: b)
_SEGMENTED = later("segmented_sum", _sum_of_segment, map=lambda value, start: (start, value), finish=lambda start, total: total)


@functools.lru_cache(maxsize=None)
def _mean_in(kind: Any) -> lw.Reduction:
    """dtype=int: sums of integers, and the mean is cut off to one."""
    return named("mean", map=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
                 finish=lambda total, n: kind(total / n), identity=(0, 0))


def _variance(root: bool, ddof: float, kind: Any) -> Any:
    """finish of the variance, or of its root: all three are compiled in. kind: what the result is cast to, or None."""
    def _finish(n, squares):
        variance = squares / (n - ddof if n > ddof else 0)
        result = np.sqrt(variance) if root else variance
        return result if kind is None else kind(result)

    return _finish


#: merge and map, by what the elements are. "real part": they stay complex with a real dtype=, of which NumPy computes the mean: it is that of
#: the real parts.
_MOMENTS = {"real": (_merge_moments, _moments_of_one), "complex": (_merge_complex_moments, _moments_of_complex),
            "real part": (_merge_moments, _moments_of_real_part)}


#: of a thread of a GPU: with 93, which the kernel of float32 would have, a multiprocessor has 512 threads, too few to keep its memory busy.
_MOST_REGISTERS = 80


@functools.lru_cache(maxsize=None)
def _moments(name: str, form: str, ddof: float, kind: Any = None) -> lw.Reduction:
    """The reduction that computes `name`, var or std, of elements of this form."""
    merge, of_element = _MOMENTS[form]
    of = _variance(name == "std", ddof, kind)
    return named(name, merge, map=of_element, finish=lambda n, origin, mean, squares: of(n, squares),
                 identity=(0, math.nan, math.nan, math.nan), commutative=True, max_registers=None if form == "complex" else _MOST_REGISTERS)


_VAR = later("var", "real", 0, make=_moments)
_STD = later("std", "real", 0, make=_moments)


@functools.lru_cache(maxsize=None)
def _spread_in(name: str, is_complex: bool, ddof: float, kind: Any) -> lw.Reduction:
    """dtype=int: each square is cut off to one, as are the variance and its root."""
    of = _variance(False, ddof, kind)
    return named(name,
                 map=(lambda x, mean: (1, kind((x - mean).real * (x - mean).real + (x - mean).imag * (x - mean).imag))) if is_complex
                 else (lambda x, mean: (1, kind((x - mean) * (x - mean)))),
                 combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), finish=(lambda n, squares: kind(np.sqrt(of(n, squares)))) if name == "std" else of,
                 identity=(0, 0))


@functools.lru_cache(maxsize=None)
def _spread(name: str, is_complex: bool, ddof: float, kind: Any = None) -> lw.Reduction:
    """The moments around a mean that is given."""
    square_of = _square_of_complex if is_complex else _square_of
    return named(name, map=lambda x, mean: (1, square_of(x - mean)), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
                 finish=_variance(name == "std", ddof, kind), identity=(0, 0))


def __getattr__(name: str) -> Any:
    """`_sum`, `_var` and so on, which the methods of device arrays call: made when they are first asked for."""
    noted = globals().get(name.upper())
    if not isinstance(noted, later):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, noted.one)


# ---- their arguments ----


_PLAIN = frozenset((np.ndarray, DeviceArray, list, tuple, int, float))


_DEFAULTS = {"dtype": None, "out": None, "keepdims": False, "initial": ..., "where": True}


def _theirs(a: Any, name: str, axis: Any, stream: Any, progress: Any, **given: Any) -> Any:
    """What a container answers that has the method (pandas, xarray, Dask), asked as NumPy's function asks it; else NotImplemented.

    Arguments that have their default are not handed on: few methods take all of them. None takes stream= and progress=.
    """
    if type(a) in _PLAIN or is_dask(a) or not answers_itself(a) or not hasattr(a, name):
        return NotImplemented
    if not says_no_stream(stream):
        raise TypeError(f"stream= is for device arrays; `{name}` was called with host operands only")
    if not says_no_progress(progress):
        raise TypeError(f"{name}: progress= is not for {with_library(a)}, whose own method computes this; pass x.{plain_of(a)}")
    given = {key: value for key, value in given.items() if value is not np._NoValue and value is not _DEFAULTS.get(key, np._NoValue)}
    if axis is not None or len(a.shape if hasattr(a, "shape") else ()) != 1:
        given["axis"] = axis
    return getattr(a, name)(**given)


#: These have no where= that a mask could be given to.
_WITHOUT_WHERE = frozenset(("count_nonzero", "argmax", "argmin", "nanargmax", "nanargmin", "top1", "cumsum", "cumprod", "nancumsum",
                            "nancumprod", "running_maximum", "affine_scan", "segmented_sum", "median", "nanmedian", "quantile", "nanquantile",
                            "percentile", "nanpercentile"))
_ENDS = frozenset(("min", "max"))


def _array(a: Any, name: str, place: int = 1, records: bool = False) -> Any:
    """`a`, the argument at `place` of function `name`, if it is an array, wherever it lies, or a lazy one of Dask's; TypeError if it is
    masked or, unless the function takes them, has records."""
    if type(a) not in _PLAIN and not is_dask(a):
        if isinstance(a, np.ma.MaskedArray):
            instead = "x.filled(value)" if name in _WITHOUT_WHERE else "its .data, and where=~x.mask"
            raise TypeError(f"{name}: argument {place} is a masked array, whose mask compiled code would ignore; pass {instead}")
        refuse_loss(f"{name}: argument {place}", a, labels=True)
        if answers_itself(a):
            a = np.asarray(a)
    if type(a) in (list, tuple):
        refuse_masked_items(f"{name}: argument {place}", a)
    if not hasattr(a, "dtype"):
        a = _core.cuda.as_cuda_array(a) if _core.cuda.is_cuda_array(a) else np.asarray(a)
    if not records and getattr(a.dtype, "names", None):
        order = ", which have an order; records have none" if name[-3:] in _ENDS else ", not records"
        raise TypeError(f"{name}() needs numbers{order}: take a field, as in a[{a.dtype.names[0]!r}]")
    if getattr(a.dtype, "kind", "none") in _NOT_OF_TIMES.get(name, ""):  # PyTorch's dtypes have no kind
        _refuse_times(name, a.dtype)
    return a


def _both(a: Any, b: Any, name: str) -> Any:
    """Two arrays, as _array() gives each; a Python number stays one beside an array, whose dtype it adapts to."""
    if is_weak(a) and is_weak(b):
        return _array(a, name), _array(b, name, 2)
    return a if is_weak(a) else _array(a, name), b if is_weak(b) else _array(b, name, 2)


#: What NumPy does not do with dates (M), nor with differences of dates (m), by function.
_NOT_OF_TIMES = {**dict.fromkeys(("sum", "cumsum", "mean", "nansum", "nancumsum", "nanmean", "segmented_sum"), "M"),
                 **dict.fromkeys(("prod", "cumprod", "nanprod", "nancumprod", "var", "std", "nanvar", "nanstd", "logsumexp"), "mM")}


def _refuse_times(name: str, dtype: Any) -> None:
    """TypeError where NumPy raises one. Differences of dates have sums and means, dates have neither."""
    if dtype.kind == "M":
        raise TypeError(f"{name}() is not defined for dates ({dtype}), as in NumPy: their differences from one of them, as in x - x.min(), are "
                        f"timedelta64" + (", which have it" if _NOT_OF_TIMES[name] == "M" else "; divided by a unit, as in (x - x.min()) / np.timedelta64(1, 's'), they are numbers"))
    raise TypeError(f"{name}() is not defined for differences of dates ({dtype}), as in NumPy: divided by a unit, as in x / np.timedelta64(1, 's'), they are numbers")


def _whole(axis: Any) -> Any:
    """axis= as an int, a tuple of ints or None; TypeError in NumPy's words if it is nothing of these."""
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, bool):
        raise TypeError("an integer is required for the axis")
    return tuple(operator.index(one) for one in axis) if isinstance(axis, tuple) else operator.index(axis)


def _check_within(a: Any, axis: Any, where: Any = True) -> None:
    """AxisError for an axis of an array without axes, of which NumPy's reductions take 0 and -1, but neither its scans nor its means,
    unless there is a mask."""
    if axis is not None and axis != () and len(a.shape) == 0 and (where is True or isinstance(axis, tuple)):
        raise np.exceptions.AxisError(axis[0] if isinstance(axis, tuple) else axis, 0)


def _kind(a: Any) -> str:
    dtype = a.dtype
    if not isinstance(dtype, np.dtype):  # another library's
        dtype = _core.cuda.as_cuda_array(a).dtype
    return dtype.kind


def _in_floats(a: Any, dtype: Any) -> Any:
    """Means of integers are computed in float64."""
    return np.float64 if dtype is None and _kind(a) in "biu" else dtype


def _computed_in(a: Any, dtype: Any, out: Any) -> Any:
    """In what means and deviations are made: NumPy's sums of fractions are of the dtype that takes in both a and out=."""
    kind = _kind(a)
    given, to = a.dtype, getattr(out, "dtype", None)
    if dtype is not None or kind not in "fc" or not isinstance(to, np.dtype) or to.kind not in ("fc" if kind == "f" else "c") or not isinstance(given, np.dtype):
        return _in_floats(a, dtype)
    found = np.result_type(given, to.type().real.dtype if kind == "f" else to)
    return None if found == given else np.dtype(np.float32) if given == np.float16 else found


def _not_of_times(a: Any, dtype: Any) -> Any:
    """dtype= of a sum or mean: a number's says nothing about timedelta64, for NumPy either."""
    kind = _asked_for(dtype)
    if kind is None:
        return dtype
    return None if _kind(a) == "m" else kind


def _asked_for(dtype: Any) -> Any:
    """None: nothing, or a type of which NumPy does not know the kind."""
    try:
        given = None if dtype is None or dtype is np._NoValue else np.dtype(dtype)
    except TypeError:  # bfloat16, or nothing at all, which is told later
        return None
    return given if given is not None and given.kind in "biufc" else None


def _warn_of_nothing(a: Any, axis: Any, where: Any, least: float, text: str, above: int = 0) -> None:
    """As NumPy, where elements are so few: on the host, for on a device nobody waits for what a mask holds."""
    if not isinstance(a, (np.ndarray, np.generic)) or (where is True and least <= 0 < a.size):
        return
    if where is True:
        axes = range(a.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        counts: Any = math.prod(a.shape[one] for one in axes if -a.ndim <= one < a.ndim)
    else:
        try:
            mask = where if isinstance(where, np.ndarray) and where.shape == a.shape else np.broadcast_to(where, a.shape)
        except ValueError:  # which the reduction refuses
            return
        counts = np.count_nonzero(mask, axis=axis)
    are_few = counts <= least
    if are_few.any() if isinstance(are_few, np.ndarray) else are_few:
        warnings.warn(text, RuntimeWarning, stacklevel=3 + above)


def _check_not_empty(shape: Any, axis: Any, text: str) -> None:
    """ValueError where a result has no elements, before the operator, whose name is its own, tells of it."""
    ndim = len(shape)
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if 0 in [shape[one] for one in axes if hasattr(one, "__index__") and -ndim <= one < ndim]:
        raise ValueError(text)


def _options(**given: Any) -> dict[str, Any]:
    """Those that say something. np._NoValue is how NumPy's functions say nothing; keepdims=None is an error."""
    return {name: value for name, value in given.items() if (value is not None or name == "keepdims") and value is not np._NoValue}


def _initial(value: Any) -> dict[str, Any]:
    return {} if value is ... or value is np._NoValue else {"initial": value}


def _start(a: Any, initial: Any, dtype: Any) -> Any:
    """What a product starts from in its dtype: "zero", "infinity", or None, which stands for every other value."""
    kind = _asked_for(dtype if dtype is not None else a.dtype)
    if kind is None or kind.kind not in "fc" or not isinstance(initial, (int, float, complex, np.number, np.bool_)):
        return None
    if kind.kind == "f" and isinstance(initial, (complex, np.complexfloating)):
        return None
    with np.errstate(all="ignore"):
        first = np.asarray(initial).astype(kind)
    if first == 0:
        return "zero"
    return "infinity" if kind.kind == "f" and np.isinf(first) else None


def _at_once(reduction: Any, kinds: str, dtype: Any = None, unless_nan: bool = False, several: bool = True, gives_places: bool = False) -> Any:
    """The usual call, of one array of these kinds and at most axis= and keepdims=, goes to `reduction.one`; all others go to the function. With
    unless_nan= only calls on the host do, and the function is called, too, if there is NaN among the results, or with gives_places= a place below 0. several: axis= may be a tuple."""
    given = {"unless_nan": unless_nan, "several": several, "gives_places": gives_places}
    return lambda function: functools.update_wrapper(_core.ReductionFunction(function, reduction, kinds, dtype, **given), function)


def _scans_at_once(reduction: later, kinds: str) -> Any:
    """The same for scans. Without axis= only arrays with one dimension are usual."""
    return lambda function: functools.update_wrapper(_core.ReductionFunction(function, reduction, kinds, scans=True), function)


@_at_once(_SUM, "biufc")
def sum(a, axis=None, dtype=None, out=None, keepdims=False, initial=..., where=True, *, stream=None, progress=None):
    """The sum of the elements, like numpy.sum.

    >>> lw.reductions.sum(np.arange(6).reshape(2, 3), axis=0)
    array([3, 5, 7])
    >>> lw.reductions.sum([1, 2, 3], where=[True, False, True])
    np.int64(4)
    """
    if (answer := _theirs(a, "sum", axis, stream, progress, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)) is not NotImplemented:
        return answer
    a = _array(a, "sum")
    return _SUM.one(a, axis=axis, where=where, **_initial(initial), **_options(dtype=_not_of_times(a, dtype), out=out, keepdims=keepdims, stream=stream, progress=progress))


@_at_once(_PROD, "biufc")
def prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=..., where=True, *, stream=None, progress=None):
    """The product of elements, as numpy.prod.

    >>> lw.reductions.prod([1.5, 4.0])
    np.float64(6.0)
    """
    if (answer := _theirs(a, "prod", axis, stream, progress, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)) is not NotImplemented:
        return answer
    a = _array(a, "prod")
    return _PROD_FROM.get(_start(a, initial, dtype), _PROD).one(a, axis=axis, where=where, **_initial(initial), **_options(dtype=dtype, out=out, keepdims=keepdims, stream=stream, progress=progress))


@_at_once(_MIN, "biufc")
def min(a, axis=None, out=None, keepdims=False, initial=..., where=True, *, stream=None, progress=None):
    """The smallest element, or NaN where there is one, as numpy.min.

    >>> lw.reductions.min([[3, 1], [2, 5]], axis=1)
    array([1, 2])
    """
    if (answer := _theirs(a, "min", axis, stream, progress, out=out, keepdims=keepdims, initial=initial, where=where)) is not NotImplemented:
        return answer
    return _MIN.one(_array(a, "min"), axis=axis, where=where, **_initial(initial), **_options(out=out, keepdims=keepdims, stream=stream, progress=progress))


@_at_once(_MAX, "biufc")
def max(a, axis=None, out=None, keepdims=False, initial=..., where=True, *, stream=None, progress=None):
    """The largest element, or NaN where there is one, as numpy.max.

    >>> lw.reductions.max([3, 9, 1], initial=5)
    np.int64(9)
    """
    if (answer := _theirs(a, "max", axis, stream, progress, out=out, keepdims=keepdims, initial=initial, where=where)) is not NotImplemented:
        return answer
    return _MAX.one(_array(a, "max"), axis=axis, where=where, **_initial(initial), **_options(out=out, keepdims=keepdims, stream=stream, progress=progress))


@_at_once(_ANY, "biufc", dtype=np.dtype(bool))
def any(a, axis=None, out=None, keepdims=False, *, where=True, stream=None, progress=None):
    """Whether any element is true, as numpy.any.

    >>> lw.reductions.any([[0, 0], [0, 2]], axis=1)
    array([False,  True])
    """
    if (answer := _theirs(a, "any", axis, stream, progress, out=out, keepdims=keepdims, where=where)) is not NotImplemented:
        return answer
    return _ANY.one(_array(a, "any"), axis=axis, dtype=np.bool_, where=where, **_options(out=out, keepdims=keepdims, stream=stream, progress=progress))


@_at_once(_ALL, "biufc", dtype=np.dtype(bool))
def all(a, axis=None, out=None, keepdims=False, *, where=True, stream=None, progress=None):
    """Whether all elements are true, as numpy.all.

    >>> lw.reductions.all([1.0, 0.5])
    np.True_
    """
    if (answer := _theirs(a, "all", axis, stream, progress, out=out, keepdims=keepdims, where=where)) is not NotImplemented:
        return answer
    return _ALL.one(_array(a, "all"), axis=axis, dtype=np.bool_, where=where, **_options(out=out, keepdims=keepdims, stream=stream, progress=progress))


@_at_once(_COUNT, "biufc")
def count_nonzero(a, axis=None, *, keepdims=False, stream=None, progress=None):
    """The number of elements that are not zero, as numpy.count_nonzero.

    >>> lw.reductions.count_nonzero([[0, 1], [2, 3]], axis=0)
    array([1, 2])
    """
    if is_labelled(a):
        return _labelled.call(count_nonzero, locals())
    a = _array(a, "count_nonzero")
    return (_COUNT_TIMES if _kind(a) in "mM" else _COUNT).one(_of_numpy(a) if axis is None else a, axis=axis, **_options(keepdims=keepdims, stream=stream, progress=progress))


@_at_once(_ARGMAX, "biuf", several=False)
@_at_once(_ARGMAX_COMPLEX, "c", several=False)
def argmax(a, axis=None, out=None, *, keepdims=False, stream=None, progress=None):
    """The index of the largest element, as numpy.argmax: of the first among equal ones, or of the first NaN if there is one.

    >>> lw.reductions.argmax([3, 9, 9, 1])
    np.int64(1)
    """
    return _argument("argmax", _ARGMAX, _ARGMAX_COMPLEX, a, axis, out, keepdims, stream, progress)


@_at_once(_ARGMIN, "biuf", several=False)
@_at_once(_ARGMIN_COMPLEX, "c", several=False)
def argmin(a, axis=None, out=None, *, keepdims=False, stream=None, progress=None):
    """The index of the smallest element, as numpy.argmin.

    >>> lw.reductions.argmin([[3, 1], [2, 5]], axis=1)
    array([1, 0])
    """
    return _argument("argmin", _ARGMIN, _ARGMIN_COMPLEX, a, axis, out, keepdims, stream, progress)


def _argument(name, plain, of_complex, a, axis, out, keepdims, stream, progress):
    if (answer := _theirs(a, name, axis, stream, progress, out=out, keepdims=keepdims)) is not NotImplemented:
        return answer
    a = _array(a, name)
    if isinstance(axis, tuple):
        raise TypeError("axis= must be an int or None, not a tuple")
    axis = _whole(axis)
    _check_takes_indices(out)
    _check_not_empty(a.shape, axis, f"attempt to get {name} of an empty sequence")
    reduction = (of_complex if _kind(a) == "c" else plain).one
    return reduction(_of_numpy(a) if axis is None else a, axis=axis, **_options(out=out, keepdims=keepdims, stream=stream, progress=progress))


def _of_numpy(a: Any) -> Any:
    """Without its subclass: one index and one count are numbers in NumPy."""
    return a.view(np.ndarray) if isinstance(a, np.ndarray) and not isinstance(a, DeviceArray) else a


def _check_takes_indices(out: Any) -> None:
    """TypeError in NumPy's words, whose out= of argmax has integers that int64 can hold."""
    dtype = getattr(out, "dtype", None)
    if isinstance(dtype, np.dtype) and not np.can_cast(dtype, np.intp):
        raise TypeError(f"Cannot cast array data from {dtype!r} to {np.dtype(np.intp)!r} according to the rule 'safe'")


@_at_once(_MEAN, "biufc")
def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True, stream=None, progress=None):
    """The mean, as numpy.mean; NaN if there are no elements.

    >>> lw.reductions.mean([1, 2, 6])
    np.float64(3.0)
    """
    if (answer := _theirs(a, "mean", axis, stream, progress, dtype=dtype, out=out, keepdims=keepdims, where=where)) is not NotImplemented:
        return answer
    a, axis = _array(a, "mean"), _whole(axis)
    _check_within(a, axis, where)
    _warn_of_nothing(a, axis, where, 0, "Mean of empty slice", above=1)
    dtype = _not_of_times(a, dtype)
    kind = _asked_for(dtype)
    reduction = _mean_in(kind.type) if kind is not None and kind.kind in "biu" else _MEAN.one
    if dtype is None and _kind(a) in "fc":
        dtype = _computed_in(a, dtype, out)
    return reduction(a, axis=axis, where=where, **_options(dtype=dtype, out=out, keepdims=keepdims, stream=stream, progress=progress))


@_at_once(_VAR, "biuf")
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=..., correction=..., stream=None, progress=None):
    """The variance, as numpy.var, in one pass over the elements, by merging moments. `mean=`, if given, keeps the reduced axes with size 1.

    >>> lw.reductions.var([1.0, 2.0, 3.0, 4.0])
    np.float64(1.25)
    >>> lw.reductions.var([1.0, 2.0, 3.0], ddof=1)
    np.float64(1.0)
    """
    if dtype is None and out is None and where is True and mean is ... and correction is ... and stream is None and progress is None and _is_usual(a, axis, ddof):
        return _moments("var", "real", ddof)(a, axis=axis, keepdims=keepdims)
    return _deviate("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction, stream, progress)


@_at_once(_STD, "biuf")
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=..., correction=..., stream=None, progress=None):
    """The standard deviation, as numpy.std.

    >>> lw.reductions.std([[1.0, 3.0], [2.0, 8.0]], axis=1)
    array([1., 3.])
    """
    if dtype is None and out is None and where is True and mean is ... and correction is ... and stream is None and progress is None and _is_usual(a, axis, ddof):
        return _moments("std", "real", ddof)(a, axis=axis, keepdims=keepdims)
    return _deviate("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction, stream, progress)


def _is_usual(a: Any, axis: Any, ddof: Any) -> bool:
    """Whether nothing is left to check of a call that has only ddof= besides axis= and keepdims=: there are more float32 or float64 elements on
    the host than ddof=. `_deviate` takes three times as long to reduce a hundred elements."""
    if type(a) is not np.ndarray or type(ddof) is not int or a.dtype.char not in "fd":
        return False
    if axis is None:
        return a.size > ddof and a.size > 0
    return type(axis) is int and -a.ndim <= axis < a.ndim and a.shape[axis] > ddof and a.size > 0


def _degrees(name: str, value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
        raise TypeError(f"{name}= must be a number, not {type(value).__name__} {value!r:.200}")
    return value


def _around(a, mean, name):
    """mean= as an array beside `a`, or None where the mean is computed. Python's numbers are of a's dtype if it has fractions."""
    if mean is ... or mean is None or mean is np._NoValue:
        return None
    if isinstance(mean, (int, float, complex)) and not isinstance(mean, np.generic):
        is_weak = a.dtype.kind == "c" or (a.dtype.kind == "f" and not isinstance(mean, complex))
        mean = np.asarray(mean, a.dtype if is_weak else complex if isinstance(mean, complex) else float)
        if _core.cuda.is_cuda_array(a) and not isinstance(a, np.ndarray):
            return _core.cuda.to_device(mean)
    try:
        mean = _array(mean, name, "mean")
    except TypeError as error:
        raise TypeError(str(error).replace("argument mean", "mean=")) from None
    if isinstance(mean.dtype, np.dtype) and mean.dtype.kind in "OSU":
        raise TypeError(f"{name}: mean= must be a number or an array of numbers, not of dtype {mean.dtype}")
    _broadcast_within(mean.shape, a.shape)
    return mean


def _broadcast_within(shape, whole):
    if len(shape) > len(whole) or builtins.any(one not in (1, size) for one, size in zip(reversed(shape), reversed(whole)) if one == one and size == size):
        raise ValueError(f"mean= of shape {shape} cannot be broadcast to the array's {whole}: its mean over axis= with keepdims=True can")


def _deviate(name, a, axis, dtype, out, ddof, keepdims, where, mean, correction, stream, progress):
    if correction is not ... and correction is not np._NoValue:
        if ddof != 0:
            raise ValueError("ddof= and correction= are the same: give one")
        ddof = _degrees("correction", correction)
    ddof = _degrees("ddof", ddof)
    given = {"dtype": dtype, "out": out, "ddof": ddof, "keepdims": keepdims, "where": where, **({} if mean is ... else {"mean": mean})}
    if (answer := _theirs(a, name, axis, stream, progress, **given)) is not NotImplemented:
        return answer
    a, axis = _array(a, name), _whole(axis)
    _check_within(a, axis, where)
    _warn_of_nothing(a, axis, where, ddof, "Degrees of freedom <= 0 for slice", above=1)
    kind = _asked_for(dtype)
    mean = _around(a, mean, name)
    if mean is not None and _kind(mean) == "c" and _kind(a) != "c":
        raise TypeError(f"{name}: mean= is complex, but the array has the dtype {a.dtype}: pass mean.real, or a.astype(complex)")
    options = _options(out=out, keepdims=keepdims, stream=stream, progress=progress)
    if kind is not None and kind.kind in "iu":  # NumPy cuts off the mean and each square
        if mean is None:
            mean = _mean_in(kind.type)(a, axis=axis, where=where, keepdims=True, **_options(dtype=kind, stream=stream))
        return _spread_in(name, _kind(a) == "c", ddof, kind.type)(a, mean, axis=axis, where=where, **options)
    if kind is not None and kind.kind == "b":
        dtype = None
    if _is_cast_to_real(a, kind):
        if mean is not None:
            return _spread(name, True, ddof, kind.type)(a, mean, axis=axis, where=where, **_options(dtype=_complex_of(a, kind)), **options)
        _warn_of_real(above=1)
        return _moments(name, "real part", ddof, kind.type)(a, axis=axis, where=where, **_options(dtype=_complex_of(a, kind)), **options)
    dtype = _computed_in(a, dtype, out)
    is_complex = (_kind(a) if dtype is None else np.dtype(dtype).kind) == "c"
    kind = kind.type if kind is not None and kind.kind in "bc" else None
    arrays, reduction = ((a,), _moments(name, "complex" if is_complex else "real", ddof, kind)) if mean is None else ((a, mean), _spread(name, is_complex, ddof, kind))
    return reduction(*arrays, axis=axis, where=where, **_options(dtype=dtype), **options)


def _is_cast_to_real(a: Any, kind: Any) -> bool:
    return kind is not None and kind.kind == "f" and _kind(a) == "c"


def _complex_of(a: Any, kind: Any) -> Any:
    """The complex dtype in which deviations of `a` from a mean of this real dtype are computed."""
    return np.result_type(a.dtype if isinstance(a.dtype, np.dtype) else lw.cuda.as_cuda_array(a).dtype, kind)


def _warn_of_real(above: int = 0) -> None:
    """As NumPy does where a mean is real."""
    warnings.warn(np.exceptions.ComplexWarning("Casting complex values to real discards the imaginary part"), stacklevel=3 + above)


def minmax(a, axis=None, out=None, keepdims=False, *, initial=..., where=True, stream=None, progress=None):
    """The smallest and the largest element, in one pass.

    >>> lw.reductions.minmax([3, 9, 1])
    (np.int64(1), np.int64(9))
    """
    if is_labelled(a):
        return _labelled.call(minmax, locals())
    a, axis = _array(a, "minmax"), _whole(axis)
    if not _initial(initial):
        _check_not_empty(a.shape, axis, "zero-size array to reduction operation minmax which has no identity")
        if where is not True:
            raise ValueError("reduction operation 'minmax' does not have an identity, so to use a where mask one has to specify 'initial'")
    return _MINMAX.one(a, axis=axis, where=where, **_initial(initial), **_options(out=out, keepdims=keepdims, stream=stream, progress=progress))


def logsumexp(a, axis=None, out=None, keepdims=False, *, where=True, stream=None, progress=None):
    """log(sum(exp(a))), in one pass and without overflow. Of no elements it is -inf, without a warning, as in SciPy.

    >>> lw.reductions.logsumexp([1000.0, 1000.0])
    np.float64(1000.6931471805599)
    """
    if is_labelled(a):
        return _labelled.call(logsumexp, locals())
    a = _array(a, "logsumexp")
    block = a._meta if is_dask(a) else a
    of = (_LOGSUMEXP_OF_COMPLEX if _kind(a) == "c" else _LOGSUMEXP_OF_FLOATS if type(block) is np.ndarray and block.dtype.char in "ef" else _LOGSUMEXP)
    options = _options(dtype=_in_floats(a, None), out=out, keepdims=keepdims, stream=stream, progress=progress)
    if 0 in a.shape:
        with np.errstate(divide="ignore"):
            return of.one(a, axis=axis, where=where, **options)
    return of.one(a, axis=axis, where=where, **options)


def top1(a, payload, axis=None, out=None, keepdims=False, *, stream=None, progress=None):
    """The largest element, and the element of `payload` at the same position, as a tuple.

    >>> lw.reductions.top1([0.5, 2.0, 1.0], [10, 20, 30])
    (np.float64(2.0), np.int64(20))
    """
    if is_labelled(a):
        return _labelled.call(top1, locals())
    a, payload = _array(a, "top1"), _array(payload, "top1", 2, records=True)
    axis = _whole(axis)
    shape = a.shape if a.shape == payload.shape else np.broadcast_shapes(a.shape, payload.shape)
    _check_not_empty(shape, axis, "zero-size array to reduction operation top1 which has no identity")
    return _TOP1.one(a, payload, axis=axis, **_options(out=out, keepdims=keepdims, stream=stream, progress=progress))


# ---- scans ----


def _flat(a: Any, axis: Any, name: str) -> tuple[Any, int]:
    """Without an axis, NumPy's cumsum goes over all elements in order; an array without axes has one for it."""
    a = _array(a, name)
    if axis is not None:
        return a if len(a.shape) else a.reshape(1), operator.index(_whole(axis))
    if is_dask(a) and 0 in a.shape:  # which Dask's reshape does not take
        import dask.array as da

        return da.empty_like(a, shape=(0,)), 0
    return (a.reshape(1, -1), 1) if isinstance(a, np.matrix) else (a.reshape(-1), 0)


def _scan(name: str, reduction: lw.Reduction, *arrays: Any, **given: Any) -> Any:
    """reduction.accumulate(…), whose errors of arguments have the name of the function that was called. As in NumPy's scans, but not in its
    reductions, the byte order of dtype= does not count."""
    if (dtype := _asked_for(given.get("dtype"))) is not None and not dtype.isnative:
        given["dtype"] = dtype.newbyteorder("=")
    try:
        return reduction.accumulate(*arrays, **given)
    except TypeError as error:
        text, own = str(error), reduction.__name__
        told = name + text[len(own) + 11:] if text.startswith(f"{own}.accumulate") else text.replace(f"`{own}`", f"`{name}`")
        if told == text:
            raise
        raise TypeError(told) from None


@_scans_at_once(_SUM, "biufc")
def cumsum(a, axis=None, dtype=None, out=None, *, stream=None, progress=None):
    """Cumulative sums, as numpy.cumsum.

    >>> lw.reductions.cumsum([[1, 2], [3, 4]])
    array([ 1,  3,  6, 10])
    """
    if (answer := _theirs(a, "cumsum", axis, stream, progress, dtype=dtype, out=out)) is not NotImplemented:
        return answer
    refuse_progress("cumsum", progress, a)
    a, axis = _flat(a, axis, "cumsum")
    return _scan("cumsum", _SUM.one, a, axis=axis, **_options(dtype=_not_of_times(a, dtype), out=out, stream=stream))


@_scans_at_once(_PROD, "biufc")
def cumprod(a, axis=None, dtype=None, out=None, *, stream=None, progress=None):
    """Cumulative products, as numpy.cumprod.

    >>> lw.reductions.cumprod([[1, 2], [3, 4]], axis=1)
    array([[ 1,  2],
           [ 3, 12]])
    """
    if (answer := _theirs(a, "cumprod", axis, stream, progress, dtype=dtype, out=out)) is not NotImplemented:
        return answer
    refuse_progress("cumprod", progress, a)
    a, axis = _flat(a, axis, "cumprod")
    return _scan("cumprod", _PROD.one, a, axis=axis, **_options(dtype=dtype, out=out, stream=stream))


@_scans_at_once(_MAX, "biuf")
def running_maximum(a, axis=0, out=None, *, stream=None, progress=None):
    """The largest element so far at each position, like numpy.maximum.accumulate.

    >>> lw.reductions.running_maximum([3, 1, 4, 1, 5])
    array([3, 3, 4, 4, 5])
    """
    refuse_progress("running_maximum", progress, a)
    if is_labelled(a):
        return _labelled.call(running_maximum, locals())
    a, axis = _array(a, "running_maximum"), _whole(axis)
    if axis not in (0, -1):
        _check_within(a, axis)
    return _scan("running_maximum", _MAX.one, a, axis=axis, **_options(out=out, stream=stream))


def affine_scan(a, b, axis=0, out=None, *, initial=0, stream=None, progress=None):
    """The linear recurrence y[i] = y[i - 1] * a[i] + b[i], which starts from `initial`; computed in parallel.

    >>> lw.reductions.affine_scan([0.5, 0.5, 0.5], [1.0, 1.0, 1.0])
    array([1.  , 1.5 , 1.75])
    """
    refuse_progress("affine_scan", progress, a)
    if is_labelled(a) or is_labelled(b):
        return _labelled.call(affine_scan, locals())
    return _scan("affine_scan", _AFFINE.one, *_both(a, b, "affine_scan"), axis=_whole(axis), initial=(1, initial), **_options(out=out, stream=stream))


def segmented_sum(values, starts, axis=0, out=None, *, stream=None, progress=None):
    """Running sums that start again from zero wherever `starts` is true.

    >>> lw.reductions.segmented_sum([1, 2, 3, 4], [True, False, True, False])
    array([1, 3, 3, 7])
    """
    refuse_progress("segmented_sum", progress, values)
    if is_labelled(values) or is_labelled(starts):
        return _labelled.call(segmented_sum, locals())
    return _scan("segmented_sum", _SEGMENTED.one, *_both(values, starts, "segmented_sum"), axis=_whole(axis), **_options(out=out, stream=stream))


from lanewise._nan_reductions import (  # noqa: E402: they use what stands above
    nanargmax, nanargmin, nancumprod, nancumsum, nanmax, nanmean, nanmin, nanprod, nanstd, nansum, nanvar,
)
from lanewise._quantiles import median, nanmedian, nanpercentile, nanquantile, percentile, quantile  # noqa: E402
from lanewise._topk import argtopk, topk  # noqa: E402
