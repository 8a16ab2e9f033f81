"""Tables, columns and labelled arrays of other libraries, where a NumPy array would be made of them.

`np.asarray` makes NaN of a missing value, numbers of categories, and loses names of dimensions, all without a word.
Where compiled code takes such an object (core/py/array/host_view.c), this module says what would be lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def _library(a: Any) -> str:
    return type(a).__module__.partition(".")[0]


def is_dask(a: Any) -> bool:
    """Is it a Dask array? Without importing Dask."""
    return type(a).__module__.startswith("dask.array") and hasattr(type(a), "__dask_graph__")


def is_lazy(a: Any) -> bool:
    """Is it a Dask array, or a labelled one of xarray that holds one?"""
    return is_dask(a) or _library(a) == "xarray" and is_dask(getattr(a, "data", None))


def promised(a: Any) -> "str | None":
    """Of Dask's collections that stand for no array: what to pass instead, behind "argument 1 is "."""
    kind = type(a).__module__ if hasattr(type(a), "__dask_graph__") else ""
    if kind.startswith("dask.delayed"):
        return f"{with_library(a)}, which has no values yet; pass x.compute(), or dask.array.from_delayed(x, shape=..., dtype=...)"
    if kind.startswith("dask.bag"):
        return f"{with_library(a)}, whose items are not an array; pass numpy.array(x.compute())"
    return None


def _has_missing(a: Any) -> bool:
    """Values that are no values: NA of pandas, null of Arrow and Polars. NaN is a number."""
    nulls = getattr(a, "null_count", None)  # pyarrow's attribute, Polars' method
    if nulls is not None:
        nulls = nulls() if callable(nulls) else nulls
        by_column = getattr(nulls, "row", None)  # of a Polars frame
        return bool(any(by_column(0)) if by_column else nulls > 0) if by_column or isinstance(nulls, int) else False
    if _is_missing(a):
        return True
    if _library(a) not in ("pandas", "xarray"):
        return False
    dtypes = a.dtypes if hasattr(a, "columns") else [getattr(a, "dtype", None)]
    if not any(_is_missing(getattr(dtype, "na_value", None)) for dtype in dtypes):
        return False
    return bool(a.isna().any(axis=None) if hasattr(a, "columns") else (a.isna() if hasattr(a, "isna") else a.isnull()).any())


def _is_missing(a: Any) -> bool:
    """pandas.NA, and a null of Arrow."""
    return type(a).__name__ == "NAType" or (_library(a) == "pyarrow" and getattr(a, "is_valid", True) is False)


def _is_category(a: Any) -> bool:
    return _library(a) == "pandas" and str(getattr(a, "dtype", "")) == "category"


def with_library(a: Any) -> str:
    """What an error calls it: "a pandas Series"."""
    return f"{'an' if _library(a)[:1] in 'aeioux' else 'a'} {_library(a)} {type(a).__name__}"


def plain_of(a: Any) -> str:
    """The attribute or call that gives its elements as an array."""
    return "data" if _library(a) == "xarray" else "to_numpy()"


def _named(a: Any) -> str:
    dtype = getattr(a, "dtype", None)
    return with_library(a) + ("" if dtype is None else f" of dtype {dtype}")


def what_is_lost(a: Any, labels: "bool | None") -> "str | None":
    """What stands behind "argument 1 is ", or None. labels: the result is made of `a` as a whole, and would not have its labels;
    None: a kernel's argument."""
    if isinstance(a, np.ma.MaskedArray):
        return "a masked array, whose mask compiled code would ignore; pass its .data, or x.filled(value)"
    if is_dask(a) and isinstance(getattr(a, "_meta", None), np.ma.MaskedArray):
        return "a Dask array of masked arrays, whose mask compiled code would ignore; pass dask.array.ma.getdata(x), or dask.array.ma.filled(x, value)"
    promise = promised(a)
    if promise:
        return promise
    library, shown = _library(a), _named(a)
    if library == "polars" and type(a).__name__ == "LazyFrame":
        return f"{shown}, which has no values yet; pass x.collect().to_numpy()"
    if _has_missing(a):
        if _is_missing(a):
            return f"{shown}, which is not a number; numpy.nan stands for a missing number"
        how = ("x.fillna(...).data" if library == "xarray" else "x.fill_null(...).to_numpy()" if library in ("pyarrow", "polars")
               else "x.to_numpy(dtype=..., na_value=...), or x.dropna().to_numpy()")
        return f"{shown} with missing values, which compiled code would ignore; pass {how}"
    if _is_category(a):
        return f"{shown}, whose elements are not numbers; pass their codes"
    if labels is None and is_lazy(a):
        return f"{shown}, which a kernel takes block by block: call lw.map_blocks(kernel, x), or pass x.compute()"
    if not labels:
        return None
    if library == "xarray":
        return f"{shown}, whose dimensions and coordinates the result would not have; pass x.data, or let it call the reduction, x.reduce(f)"
    if library == "dask":
        how = "x.compute()" if is_dask(a) else "x.to_dask_array(lengths=True), or x.compute()"
        return f"{shown}, which would be computed as a whole; pass {how}"
    if hasattr(a, "columns"):
        return f"{shown}, whose columns the result would not have; pass {'a column, or x.to_pandas()' if library == 'pyarrow' else 'x'}.to_numpy()"
    return None


def refuse_axis(r: Any, arrays: Any) -> None:
    """TypeError, as for NumPy arrays, for a number behind the array of a reduction, which has no axis by position."""
    import inspect

    if getattr(r, "map", 0) is None and len(inspect.signature(r.py_func).parameters) == 2:
        for i, x in enumerate(arrays[1:]):
            if isinstance(x, int):
                raise TypeError(f"argument {i + 2} of `{r.__name__}` must be an array, not {x!r}; did you mean axis={x}?")


def refuse_loss(what: str, a: Any, labels: bool) -> None:
    """TypeError, "<what> is a pandas Series of dtype Int64 with missing values, ..."."""
    if isinstance(a, (int, float, np.generic, list, tuple)) or isinstance(a, np.ndarray) and not isinstance(a, np.ma.MaskedArray):
        return
    lost = what_is_lost(a, labels)
    if lost is not None:
        raise TypeError(f"{what} is {lost}")


def refuse_masks(function: Any, args: Any, kwargs: Any) -> None:
    """TypeError for a masked array among the arguments of NumPy's function, or among the items of one: its result has no mask."""
    for key, value in (*enumerate(args), *kwargs.items()):
        found = _masked_in(value)
        if found is not None:
            name = f"argument {key + 1}" if isinstance(key, int) else f"{key}="
            refuse_loss(f"{_called(function)}: {'' if found is value else 'an item of '}{name}", found, labels=False)


def _masked_in(value: Any) -> Any:
    """The value if it is a masked array, the first one among the items of lists, or None."""
    if type(value) in (list, tuple):
        return next((found for found in map(_masked_in, value) if found is not None), None)
    return value if issubclass(type(value), np.ma.MaskedArray) else None  # isinstance would ask for the attribute __class__


def refuse_masked_items(what: str, items: "list[Any] | tuple[Any, ...]") -> None:
    """TypeError for a masked array among arrays of which one is made."""
    if items and isinstance(items[0], (np.ndarray, list, tuple)):
        found = _masked_in(items)
        if found is not None:
            refuse_loss(f"an item of {what}", found, labels=False)


def _called(function: Any) -> str:
    """NumPy's function as a program calls it, or a ufunc that is not one of NumPy's own."""
    name = function.__name__
    if getattr(np, name, None) is function:
        return f"numpy.{name}"
    return name if isinstance(function, np.ufunc) else f"{function.__module__}.{name}"


def answers_itself(a: Any) -> bool:
    """Does it say itself what NumPy's functions make of it? Arrays of NumPy and of devices do not."""
    from lanewise import cuda

    return getattr(type(a), "__array_ufunc__", None) is not None and not hasattr(type(a), "__array_finalize__") and not cuda.is_cuda_array(a)


def says_no_stream(stream: Any) -> bool:
    """Is it the default stream? On the CPU in a GPU's place, all streams are."""
    from lanewise import config

    if stream is None or type(stream) is int and stream == 0:
        return True
    return config.target in ("cpu", "parallel", "python") and (type(stream) is int or hasattr(stream, "__cuda_stream__"))


def refuse_progress(name: str, progress: Any, a: Any) -> None:
    """TypeError for progress= of scans and selections, which nothing shows."""
    if not says_no_progress(progress):
        hint = ": use dask.diagnostics.ProgressBar" if is_lazy(a) else ", which reductions and functions of forall and jit have"
        raise TypeError(f"{name}() has no progress={hint}")


def says_no_progress(progress: Any) -> bool:
    return progress is None or isinstance(progress, (bool, np.bool_)) and not progress
