"""Reductions that leave NaN out: numpy.nansum and its like, for `lanewise.reductions`."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import numpy as np

import lanewise as lw
from lanewise import _labelled
from lanewise import reductions as _all_elements
from lanewise._containers import is_dask, refuse_progress
from lanewise._labelled import is_labelled
from lanewise._later import later, named
from lanewise.reductions import _at_once

# ---- what the operators are ----


def _add(a, b):
    return a + b


def _multiply(a, b):
    return a * b


def _fmin(a, b):
    return np.fmin(a, b)


def _fmax(a, b):
    return np.fmax(a, b)


def _or_zero(x):
    return 0 if x != x else x


def _or_one(x):
    return 1 if x != x else x


def _merge_sums(a, b):
    return a[0] + b[0], a[1] + b[1]


def _number_and_one(x):
    return (0, 0) if x != x else _all_elements._one_of_mean(x)


def _larger(a, b):
    """Of (value, index): NaN is smaller than all, and the lower index wins."""
    if a[0] == b[0] or (a[0] != a[0] and b[0] != b[0]):
        return a if a[1] < b[1] else b
    return a if a[0] > b[0] or b[0] != b[0] else b


def _smaller(a, b):
    if a[0] == b[0] or (a[0] != a[0] and b[0] != b[0]):
        return a if a[1] < b[1] else b
    return a if a[0] < b[0] or b[0] != b[0] else b


def _larger_pair(a, b):
    """Of (real, imaginary, index): complex numbers in NumPy's order."""
    a_nan, b_nan = a[0] != a[0] or a[1] != a[1], b[0] != b[0] or b[1] != b[1]
    if (a_nan and b_nan) or (a[0] == b[0] and a[1] == b[1]):
        return a if a[2] < b[2] else b
    return a if b_nan or (not a_nan and (a[0] > b[0] or (a[0] == b[0] and a[1] > b[1]))) else b


def _smaller_pair(a, b):
    a_nan, b_nan = a[0] != a[0] or a[1] != a[1], b[0] != b[0] or b[1] != b[1]
    if (a_nan and b_nan) or (a[0] == b[0] and a[1] == b[1]):
        return a if a[2] < b[2] else b
    return a if b_nan or (not a_nan and (a[0] < b[0] or (a[0] == b[0] and a[1] < b[1]))) else b


def _moments_of_one(x):
    n, origin, mean, squares = _all_elements._moments_of_one(x)
    return n if x == x else 0, origin, mean, squares


def _moments_of_complex(x):
    none = (x.real - x.real) + (x.imag - x.imag)
    return (0, x, 0.0, none) if x != x else (1, x, 0.0, none)


def _moments_of_real_part(x):
    square = (x.real - x.real) + x.imag * x.imag
    return (0, x.real, 0.0, square) if x != x else (1, x.real, 0.0, square)


def _unless_empty(merge):
    """`merge` for parts that may have no elements, where the first number of each is its count."""
    def _merge(a, b):
        if a[0] == 0:
            return b
        if b[0] == 0:
            return a
        return merge(a, b)

    return _merge


_merge_moments, _merge_complex_moments = _unless_empty(_all_elements._merge_moments), _unless_empty(_all_elements._merge_complex_moments)
_merge_spread = _unless_empty(lambda a, b: (a[0] + b[0], a[1] + b[1]))


def _mean_of(total, n):
    return (total if n > 0 else math.nan) / n  # of nothing without a floating-point flag, as numpy.nanmean


# ---- the reductions ----

_NANSUM = later("nansum", _add, map=_or_zero, identity=0)
_NANPROD = later("nanprod", _multiply, map=_or_one, identity=1)
_NANPROD_FROM = {"zero": later("nanprod", _multiply, map=lambda x: _or_one(x) * 0, identity=1),
                 "infinity": later("nanprod", _multiply, map=lambda x: _or_one(x) * math.inf, identity=1)}
_NANMIN = later("nanmin", _fmin, commutative=True)
_NANMAX = later("nanmax", _fmax, commutative=True)
_COUNTED = later("_add", _add, map=lambda x: 0 if x != x else 1, identity=0)
_NANMEAN = later("nanmean", _merge_sums, map=_number_and_one, finish=_mean_of, identity=(0, 0))
_NANARGMAX = later("nanargmax", _larger, map=lambda x, index: (x, index), finish=lambda value, at: at, commutative=True)
_NANARGMIN = later("nanargmin", _smaller, map=lambda x, index: (x, index), finish=lambda value, at: at, commutative=True)
#: Of floats on the host: -1 where there are only NaN, which is a case for the functions below.
_NANARGMAX_FOUND = later("nanargmax", _larger, map=lambda x, index: (x, index), finish=lambda value, at: at if value == value else -1, commutative=True)
_NANARGMIN_FOUND = later("nanargmin", _smaller, map=lambda x, index: (x, index), finish=lambda value, at: at if value == value else -1, commutative=True)
_NANARGMAX_COMPLEX = later("nanargmax", _larger_pair, map=lambda x, index: (x.real, x.imag, index),
                           finish=lambda real, imag, at: at, commutative=True)
_NANARGMIN_COMPLEX = later("nanargmin", _smaller_pair, map=lambda x, index: (x.real, x.imag, index),
                           finish=lambda real, imag, at: at, commutative=True)


@functools.lru_cache(maxsize=None)
def _nanmean_of_real(kind: Any) -> lw.Reduction:
    return named("nanmean", _merge_sums, map=lambda x: (0, 0) if x != x else (x.real, 1), finish=lambda total, n: kind(_mean_of(total, n)), identity=(0, 0))


def _forms(usual: later, combine: Any, combine_in: Any, neutral: int) -> Any:
    """nansum or nanprod by what dtype= asks for: no other type; int or bool; of complex elements float; of these int."""
    name = usual.__name__

    @functools.lru_cache(maxsize=None)
    def in_kind(kind):
        """NaN is left out before elements become such numbers, of which none is NaN."""
        return named(name, combine_in(kind), map=lambda x: kind(neutral) if x != x else kind(x), identity=kind(neutral))

    @functools.lru_cache(maxsize=None)
    def of_real(kind):
        """An element is NaN if its imaginary part is, which is gone when it has become real."""
        return named(name, combine, map=lambda x: neutral if x != x else x.real, finish=lambda total: kind(total), identity=neutral)

    @functools.lru_cache(maxsize=None)
    def of_real_in_kind(kind):
        return named(name, combine_in(kind), map=lambda x: kind(neutral) if x != x else kind(x.real), identity=kind(neutral))

    return usual, in_kind, of_real, of_real_in_kind


_SUMS = _forms(_NANSUM, _add, lambda kind: lambda a, b: kind(a + b), 0)
_PRODUCTS = _forms(_NANPROD, _multiply, lambda kind: lambda a, b: kind(a * b), 1)


def _summed_in(a: Any, dtype: Any, out: Any) -> Any:
    """dtype=, or what takes in both a and out=, as for sums and products in which NaN counts."""
    given, to = a.dtype, getattr(out[0] if isinstance(out, tuple) and len(out) == 1 else out, "dtype", None)
    if dtype is not None or not isinstance(to, np.dtype) or not isinstance(given, np.dtype) or given.kind + to.kind not in _PAIRS or to.char in "gG":
        return dtype
    found = np.promote_types(given, to)
    return found if np.can_cast(found, to, "same_kind") else None


_PAIRS = frozenset(a + b for a in "biufc" for b in "biufc")  # kinds of numbers


def _of_dtype(forms: Any, a: Any, dtype: Any, out: Any) -> tuple[lw.Reduction, Any]:
    """The reduction for dtype= and out=, and the dtype= that it is given."""
    usual, in_kind, of_real, of_real_in_kind = forms
    dtype = _summed_in(a, dtype, out)
    kind, given = _all_elements._asked_for(dtype), _all_elements._kind(a)
    if kind is not None and given == "c" and kind.kind in "iuf":
        _all_elements._warn_of_real(above=1)
        if kind.kind == "f":
            return of_real(kind.type), _all_elements._complex_of(a, kind)
        return of_real_in_kind(kind.type), None
    if kind is not None and (kind.kind == "b" or (kind.kind in "iu" and given == "f")):
        return in_kind(kind.type), None
    return usual.one, dtype


def _check_inexact(dtype: Any) -> None:
    kind = _all_elements._asked_for(dtype)
    if kind is not None and kind.kind in "biu":
        raise TypeError(f"If a is inexact, then dtype must be inexact, not {kind}")


def _variance(root: bool, ddof: float, kind: Any) -> Any:
    """finish of the variance, or of its root. kind: the type that the result is cast to, or None."""
    def _finish(n, squares):
        variance = squares / (n - ddof) if n > ddof else squares * math.nan
        result = np.sqrt(variance) if root else variance
        return result if kind is None else kind(result)

    return _finish


#: As those of lanewise.reductions; and what the sum of squares of no elements is.
_MOMENTS = {"real": (_merge_moments, _moments_of_one, math.nan), "complex": (_merge_complex_moments, _moments_of_complex, math.nan),
            "real part": (_merge_moments, _moments_of_real_part, 0.0)}


@functools.lru_cache(maxsize=None)
def _moments(name: str, form: str, ddof: float, kind: Any = None) -> lw.Reduction:
    """The reduction that computes `name`, nanvar or nanstd, of elements of this form."""
    merge, of_element, of_none = _MOMENTS[form]
    of = _variance(name == "nanstd", ddof, kind)
    return named(name, merge, map=of_element, finish=lambda n, origin, mean, squares: of(n, squares),
                 identity=(0, math.nan, math.nan, of_none), commutative=True)


_NANVAR = later("nanvar", "real", 0, make=_moments)
_NANSTD = later("nanstd", "real", 0, make=_moments)


def _square_of(x, mean):
    return (0, (mean - mean) * (x - x)) if x != x else (1, (x - mean) * (x - mean))


def _square_of_complex(x, mean):
    d = x - mean
    return (0, d.real - d.real) if x != x else (1, d.real * d.real + d.imag * d.imag)


@functools.lru_cache(maxsize=None)
def _spread(name: str, is_complex: bool, ddof: float, kind: Any = None) -> lw.Reduction:
    """The moments around a mean that is given."""
    return named(name, _merge_spread, map=_square_of_complex if is_complex else _square_of,
                 finish=_variance(name == "nanstd", ddof, kind), identity=(0, math.nan))


# ---- warnings, on the host alone: on a device nobody waits for the result ----


def _has_nan(result: Any) -> bool:
    return isinstance(result, (np.ndarray, np.generic)) and not isinstance(result, _all_elements.DeviceArray) and bool(np.any(result != result))  # also of objects


def _warn_of_few(a: Any, result: Any, axis: Any, where: Any, least: float, text: str) -> None:
    if _has_nan(result) and np.any(_COUNTED.one(a, axis=axis, where=where) <= least):
        warnings.warn(text, RuntimeWarning, stacklevel=4)


# ---- with NumPy's arguments ----


@_at_once(_NANSUM, "biufc")
def nansum(a, axis=None, dtype=None, out=None, keepdims=False, initial=..., where=True, *, stream=None, progress=None):
    """The sum of the elements that are not NaN, as numpy.nansum.

    >>> lw.reductions.nansum([1.0, np.nan, 3.0])
    np.float64(4.0)
    """
    if is_labelled(a):
        return _labelled.call(nansum, locals())
    a = _all_elements._array(a, "nansum")
    if _all_elements._kind(a) == "m":  # NaT is no NaN, neither is it one for NumPy
        return _all_elements.sum(a, axis, dtype, out, keepdims, initial, where, stream=stream, progress=progress)
    reduction, dtype = _of_dtype(_SUMS, a, dtype, out)
    return reduction(a, axis=axis, where=where, **_all_elements._initial(initial),
                     **_all_elements._options(dtype=dtype, out=out, keepdims=keepdims, stream=stream, progress=progress))


@_at_once(_NANPROD, "biufc")
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False, initial=..., where=True, *, stream=None, progress=None):
    """The product of the elements that are not NaN, as numpy.nanprod.

    >>> lw.reductions.nanprod([2.0, np.nan, 3.0])
    np.float64(6.0)
    """
    if is_labelled(a):
        return _labelled.call(nanprod, locals())
    a = _all_elements._array(a, "nanprod")
    reduction, dtype = _of_dtype(_PRODUCTS, a, dtype, out)
    start = _all_elements._start(a, initial, dtype) if reduction is _NANPROD.one else None
    reduction = _NANPROD_FROM[start].one if start else reduction
    return reduction(a, axis=axis, where=where, **_all_elements._initial(initial),
                     **_all_elements._options(dtype=dtype, out=out, keepdims=keepdims, stream=stream, progress=progress))


@_at_once(_NANMIN, "biuf", unless_nan=True)
def nanmin(a, axis=None, out=None, keepdims=False, initial=..., where=True, *, stream=None, progress=None):
    """The smallest element that is not NaN, as numpy.nanmin. If there is none, the result is NaN, with a warning on the host.

    >>> lw.reductions.nanmin([[3.0, np.nan], [np.nan, 5.0]], axis=1)
    array([3., 5.])
    """
    if is_labelled(a):
        return _labelled.call(nanmin, locals())
    return _end("nanmin", _NANMIN.one, "fmin", a, axis, out, keepdims, initial, where, stream, progress)


@_at_once(_NANMAX, "biuf", unless_nan=True)
def nanmax(a, axis=None, out=None, keepdims=False, initial=..., where=True, *, stream=None, progress=None):
    """The largest element that is not NaN, as numpy.nanmax.

    >>> lw.reductions.nanmax([3.0, np.nan, 1.0])
    np.float64(3.0)
    """
    if is_labelled(a):
        return _labelled.call(nanmax, locals())
    return _end("nanmax", _NANMAX.one, "fmax", a, axis, out, keepdims, initial, where, stream, progress)


def _end(name, reduction, operator, a, axis, out, keepdims, initial, where, stream, progress):
    a, axis = _all_elements._array(a, name), _all_elements._whole(axis)
    if not _all_elements._initial(initial):
        _all_elements._check_not_empty(a.shape, axis, f"zero-size array to reduction operation {operator} which has no identity")
    result = reduction(a, axis=axis, where=where, **_all_elements._initial(initial),
                       **_all_elements._options(out=out, keepdims=keepdims, stream=stream, progress=progress))
    if _has_nan(result):
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=3)
    return result


@_at_once(_NANARGMAX, "biu", several=False)
@_at_once(_NANARGMAX_FOUND, "f", unless_nan=True, several=False, gives_places=True)
def nanargmax(a, axis=None, out=None, *, keepdims=False, stream=None, progress=None):
    """The index of the largest element that is not NaN, as numpy.nanargmax.

    For a slice in which all elements are NaN, the result is 0 on device arrays, and NumPy's ValueError is raised on the host.

    >>> lw.reductions.nanargmax([np.nan, 9.0, 9.0, 1.0])
    np.int64(1)
    """
    if is_labelled(a):
        return _labelled.call(nanargmax, locals())
    return _argument("nanargmax", _NANARGMAX, _NANARGMAX_COMPLEX, a, axis, out, keepdims, stream, progress)


@_at_once(_NANARGMIN, "biu", several=False)
@_at_once(_NANARGMIN_FOUND, "f", unless_nan=True, several=False, gives_places=True)
def nanargmin(a, axis=None, out=None, *, keepdims=False, stream=None, progress=None):
    """The index of the smallest element that is not NaN, as numpy.nanargmin.

    >>> lw.reductions.nanargmin([[np.nan, 1.0], [2.0, 5.0]], axis=1)
    array([1, 0])
    """
    if is_labelled(a):
        return _labelled.call(nanargmin, locals())
    return _argument("nanargmin", _NANARGMIN, _NANARGMIN_COMPLEX, a, axis, out, keepdims, stream, progress)


def _argument(name, plain, of_complex, a, axis, out, keepdims, stream, progress):
    a = _all_elements._array(a, name)
    if isinstance(axis, tuple):
        raise TypeError("axis= must be an int or None, not a tuple")
    axis = _all_elements._whole(axis)
    _all_elements._check_takes_indices(out)
    _all_elements._check_not_empty(a.shape, axis, f"attempt to get {name[3:]} of an empty sequence")
    kind = _all_elements._kind(a)
    on_host = kind in "fc" and isinstance(a, (np.ndarray, np.generic)) and not isinstance(a, _all_elements.DeviceArray)
    if on_host and out is not None and np.any(_COUNTED.one(a, axis=axis) == 0):  # before anything is written to out=
        raise ValueError("All-NaN slice encountered")
    result = (of_complex if kind == "c" else plain).one(_all_elements._of_numpy(a) if axis is None else a, axis=axis, **_all_elements._options(out=out, keepdims=keepdims, stream=stream, progress=progress))
    if on_host and out is None and np.any(np.isnan(_elements_at(np.asarray(a), np.asarray(result), axis, keepdims or axis is not None and np.ndim(result) == a.ndim))):
        raise ValueError("All-NaN slice encountered")
    if kind in "fc" and is_dask(a):
        from lanewise import _dask

        return _dask.where_counted(result, _COUNTED.one(a, axis=axis, keepdims=keepdims))
    return result


def _elements_at(a: np.ndarray, places: Any, axis: int | None, keepdims: bool) -> Any:
    """The elements of `a` that argmax(a, axis, keepdims=keepdims) and the like name. One is NaN only if its slice has nothing else."""
    if a.ndim == 0:  # which has an axis 0 here, as for NumPy's argmax
        return a
    if axis is None:
        return a.flat[np.asarray(places).item()]
    return np.take_along_axis(a, np.asarray(places) if keepdims else np.expand_dims(places, axis), axis)


@_at_once(_NANMEAN, "biuf", unless_nan=True)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True, stream=None, progress=None):
    """The mean of the elements that are not NaN, as numpy.nanmean.

    >>> lw.reductions.nanmean([1.0, np.nan, 6.0])
    np.float64(3.5)
    """
    if is_labelled(a):
        return _labelled.call(nanmean, locals())
    a = _all_elements._array(a, "nanmean")
    if _all_elements._kind(a) in "bium":
        return _all_elements.mean(a, axis, dtype, out, keepdims, where=where, stream=stream, progress=progress)
    _check_inexact(dtype)
    kind = _all_elements._asked_for(dtype)
    if _all_elements._is_cast_to_real(a, kind):
        _all_elements._warn_of_real()
        reduction, dtype = _nanmean_of_real(kind.type), _all_elements._complex_of(a, kind)
    else:
        reduction, dtype = _NANMEAN.one, _all_elements._computed_in(a, dtype, out)
    result = reduction(a, axis=axis, where=where, **_all_elements._options(dtype=dtype, out=out, keepdims=keepdims, stream=stream, progress=progress))
    _warn_of_few(a, result, axis, where, 0, "Mean of empty slice")
    return result


@_at_once(_NANVAR, "biuf", unless_nan=True)
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=..., correction=..., stream=None, progress=None):
    """The variance of the elements that are not NaN, as numpy.nanvar; NaN if there are at most `ddof` of them.

    >>> lw.reductions.nanvar([1.0, 2.0, np.nan, 3.0, 4.0])
    np.float64(1.25)
    """
    if is_labelled(a):
        return _labelled.call(nanvar, locals())
    return _deviate("nanvar", a, axis, dtype, out, ddof, keepdims, where, mean, correction, stream, progress)


@_at_once(_NANSTD, "biuf", unless_nan=True)
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=..., correction=..., stream=None, progress=None):
    """The standard deviation of the elements that are not NaN, as numpy.nanstd.

    >>> lw.reductions.nanstd([[1.0, 3.0], [2.0, np.nan]], axis=1)
    array([1., 0.])
    """
    if is_labelled(a):
        return _labelled.call(nanstd, locals())
    return _deviate("nanstd", a, axis, dtype, out, ddof, keepdims, where, mean, correction, stream, progress)


def _deviate(name, a, axis, dtype, out, ddof, keepdims, where, mean, correction, stream, progress):
    a = _all_elements._array(a, name)
    if _all_elements._kind(a) in "biu":
        of_all = _all_elements.std if name == "nanstd" else _all_elements.var
        return of_all(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction, stream=stream, progress=progress)
    if correction is not ... and correction is not np._NoValue:
        if ddof != 0:
            raise ValueError("ddof= and correction= are the same: give one")
        ddof = _all_elements._degrees("correction", correction)
    ddof = _all_elements._degrees("ddof", ddof)
    _check_inexact(dtype)
    kind, dtype_of_a = _all_elements._asked_for(dtype), a.dtype
    form = "complex" if (_all_elements._kind(a) if dtype is None else np.dtype(dtype).kind) == "c" else "real"
    if _all_elements._is_cast_to_real(a, kind):
        form, dtype = "real part", _all_elements._complex_of(a, kind)
    kind = kind.type if kind is not None and (form == "real part" or kind.kind == "c") else None
    if (mean := _all_elements._around(a, mean, name)) is not None:
        arrays, reduction = (a, mean), _spread(name, form != "real", ddof, kind)
        dtype = dtype_of_a if dtype is None else dtype  # that of mean= does not count for NumPy
    else:
        if form == "real part":
            _all_elements._warn_of_real(above=1)
        arrays, reduction = (a,), _moments(name, form, ddof, kind)
    result = reduction(*arrays, axis=axis, where=where, **_all_elements._options(dtype=dtype, out=out, keepdims=keepdims, stream=stream, progress=progress))
    _warn_of_few(a, result, axis, where, ddof, "Degrees of freedom <= 0 for slice.")
    return result


def nancumsum(a, axis=None, dtype=None, out=None, *, stream=None, progress=None):
    """Cumulative sums in which NaN counts as 0, as numpy.nancumsum.

    >>> lw.reductions.nancumsum([1.0, np.nan, 3.0])
    array([1., 1., 4.])
    """
    refuse_progress("nancumsum", progress, a)
    if is_labelled(a):
        return _labelled.call(nancumsum, locals())
    a, axis = _all_elements._flat(a, axis, "nancumsum")
    if _all_elements._kind(a) == "m":
        return _all_elements.cumsum(a, axis, dtype, out, stream=stream)
    reduction, dtype = _of_dtype(_SUMS, a, dtype, out)
    return _all_elements._scan("nancumsum", reduction, a, axis=axis, **_all_elements._options(dtype=dtype, out=out, stream=stream))


def nancumprod(a, axis=None, dtype=None, out=None, *, stream=None, progress=None):
    """Cumulative products in which NaN counts as 1, as numpy.nancumprod.

    >>> lw.reductions.nancumprod([2.0, np.nan, 3.0])
    array([2., 2., 6.])
    """
    refuse_progress("nancumprod", progress, a)
    if is_labelled(a):
        return _labelled.call(nancumprod, locals())
    a, axis = _all_elements._flat(a, axis, "nancumprod")
    reduction, dtype = _of_dtype(_PRODUCTS, a, dtype, out)
    return _all_elements._scan("nancumprod", reduction, a, axis=axis, **_all_elements._options(dtype=dtype, out=out, stream=stream))
