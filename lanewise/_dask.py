"""Dask arrays as operands: lazily, block by block, with the results of the whole. Imported with the first such operand.

lanewise schedules nothing. A call becomes tasks of Dask's, whose keys begin with the function's name. What is here is
shared by `_dask_ufuncs`, `_dask_reductions`, `_dask_random` and `_dask_kernels`, and is what `core/` and the other modules
call: `array_ufunc`, `reduce`, `accumulate`.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize

from lanewise._containers import says_no_progress


def is_dask(x: Any) -> bool:
    return isinstance(x, da.Array)


# ---- objects on their way to other processes ----


class Shipped:
    """A compiled object as Dask's tasks hold it. However many tasks a process receives with it, it is made, and finds its
    machine code, once there. Calling it calls the object, or a function of this package with the object in front."""

    def __init__(self, made: Any, function: Any = None) -> None:
        self.made, self.function = made, function
        self.__name__ = name_of(made)
        self._packed: Any = None
        self._token: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.made(*args, **kwargs) if self.function is None else self.function(self.made, *args, **kwargs)

    def __dask_tokenize__(self) -> Any:
        if self._token is None:
            parts = self.made if hasattr(self.made, "__dask_tokenize__") else self.made.__reduce__()  # of a configured kernel: the kernel and the rest
            self._token = tokenize(parts)
        return "lanewise", self._token, None if self.function is None else self.function.__qualname__

    def calls(self, function: Any) -> "Shipped":
        """The same object for another function."""
        other = Shipped(self.made, function)
        other._token, other._packed = self._token, self._packed
        return other

    def __reduce__(self) -> Any:
        if self._packed is None:
            self._packed = _dumps(self.made)
        return _receive, (hashlib.sha1(self._packed).hexdigest(), self._packed, self.function)


class Given:
    """An object of a user's class as Dask's tasks hold it. Dask's own token of it would pickle and unpickle it, by which classes of
    `__main__` get new methods, and what was compiled for them does not serve any more."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __dask_tokenize__(self) -> Any:
        from dask.tokenize import normalize_token

        from lanewise import _core, _pickling

        value: Any = self.value
        cls = type(value)
        of = _pickling._value_token(cls, frozenset())
        names: Any = value._fields if issubclass(cls, tuple) else _core._fields_of_object(value)
        fields = [getattr(value, name) for name in names]
        return normalize_token(("lanewise", (cls.__module__, cls.__qualname__) if of is cls else of, names,
                                [Given(one) if not isinstance(one, np.generic) and _core._fields_of_object(one) is not None else one for one in fields]))


def out_of_tasks(blocks: Any) -> list[Any]:
    """The arguments of a block."""
    return [block.value if type(block) is Given else block for block in blocks]


def _dumps(made: Any) -> bytes:
    import cloudpickle  # type: ignore[import-untyped]  # Dask needs it, too

    return cloudpickle.dumps(made)


_KEPT = 256
_received: OrderedDict[str, Any] = OrderedDict()  # by digest, the latest last
_receiving = threading.Lock()


def _receive(digest: str, packed: bytes, function: Any) -> Shipped:
    import pickle

    with _receiving:
        made = _received.pop(digest, None)
        if made is None:
            made = pickle.loads(packed)
        _received[digest] = made
        if len(_received) > _KEPT:
            _received.popitem(last=False)
    return Shipped(made, function)


# ---- what the calls have in common ----


def name_of(made: Any) -> str:
    """What stands before the token in keys, and so in the dashboard: without hyphens, at which Dask cuts names."""
    name = getattr(made, "__name__", type(made).__name__).strip("_")
    return "lambda" if name == "<lambda>" else name.replace("-", "_")


def called(made: Any) -> str:
    """What errors call it: as the user does."""
    name = getattr(made, "__name__", type(made).__name__)
    return name if name.startswith("<") else name.strip("_")


def refuse_out(name: str, out: Any) -> None:
    given = out if isinstance(out, tuple) else (out,)
    if any(one is not None and one is not ... for one in given):
        raise TypeError(f"{name}: out= cannot be given with Dask arrays, which are made when they are computed: use the result of the call")


def refuse_stream(name: str, stream: Any) -> None:
    if stream is not None and not (type(stream) is int and stream == 0):
        raise TypeError(f"{name}: stream= is for device arrays, not for Dask arrays, whose blocks are computed later")


def refuse_keywords(name: str, given: dict[str, Any]) -> None:
    for key, value in given.items():
        if key == "progress" and says_no_progress(value):
            continue
        hint = ", whose tasks dask.diagnostics.ProgressBar shows" if key == "progress" else ""
        raise TypeError(f"{name}() got {key}=, which is not for Dask arrays{hint}")


def as_dask(x: Any, what: str) -> da.Array:
    """An operand as a Dask array; those of other libraries as they are asked elsewhere."""
    from lanewise._partials import as_array

    if is_dask(x):
        if not isinstance(x.dtype, np.dtype):
            raise TypeError(f"{what} is a Dask array of dtype {x.dtype}, which compiled code does not compute in")
        return x
    if hasattr(type(x), "__dask_graph__"):
        raise TypeError(f"{what} is a {type(x).__module__.partition('.')[0]} {type(x).__name__}; pass its Dask array")
    return da.asanyarray(as_array(x, what))


def as_mask(where: Any) -> da.Array:
    """What where= says, with NumPy's error for anything but truth values."""
    mask = as_dask(where, "where=")
    if mask.dtype != np.bool_:
        raise TypeError(f"where= must be an array of bool, not of {mask.dtype}: Cannot cast array data from {mask.dtype!r} to dtype('bool') according to the rule 'safe'")
    return mask


def check_shapes(shapes: Any) -> None:
    """NumPy's error for arrays that have no common shape; sizes that are not known are not looked at."""
    for axis in range(1, max(map(len, shapes)) + 1):
        if len({shape[-axis] for shape in shapes if len(shape) >= axis and shape[-axis] != 1 and not np.isnan(shape[-axis])}) > 1:
            raise ValueError("operands could not be broadcast together with shapes " + " ".join(_shown(shape) for shape in shapes))


def _shown(shape: Any) -> str:
    return "(" + ",".join(str(size) for size in shape) + ("," if len(shape) == 1 else "") + ")"


def is_known(*arrays: da.Array) -> bool:
    """Are the sizes of all blocks known?"""
    return not any(np.isnan(size) for x in arrays for sizes in x.chunks for size in sizes)


def bounds_of(sizes: Any) -> Any:
    """Where each block along an axis begins and ends, as an array with a block for each."""
    ends = np.cumsum(sizes, dtype=np.int64)
    bounds = np.empty(len(sizes), [("begin", np.int64), ("end", np.int64)])
    bounds["begin"], bounds["end"] = ends - np.asarray(sizes, np.int64), ends
    return da.from_array(bounds, chunks=1)


def empty_meta(x: Any, ndim: int, dtype: Any) -> Any:
    """What stands for a block of a result: an empty array of the type that the blocks of x have."""
    meta = getattr(x, "_meta", x)
    shape = (0,) * ndim
    if meta is None or is_host(meta) or not hasattr(meta, "shape"):
        return np.empty(shape, dtype)
    return np.empty_like(meta, shape=shape, dtype=dtype)


def is_object(x: Any) -> bool:
    """Is it one object of a user's class, and no array of them?"""
    from lanewise import _objects

    return not hasattr(x, "dtype") and _objects._is_object(x)


def in_memory(x: Any) -> Any:
    """The elements of a Dask array, with their mask if there is one; anything else as it is."""
    return x.compute() if is_dask(x) else x


def is_host(x: Any) -> bool:
    """Is it a NumPy array, and none that stands for a device array on the CPU?"""
    return isinstance(x, np.ndarray) and not hasattr(x, "copy_to_host")


def zeros_where(blocks: Any, shape: Any, dtype: Any) -> Any:
    """Zeros in a device array if one of the blocks is one: on its device."""
    from lanewise import _placing, cuda

    zeros = np.zeros(shape, dtype)
    for block in blocks:
        if hasattr(block, "copy_to_host"):
            with _placing.on_device_of(block):
                return cuda.to_device(zeros)
    return zeros


def blocks_of(function: Any, index: Any, pairs: Any, dtypes: Any, like: Any = None, **more: Any) -> Any:
    """A Dask array of what the function gives of blocks, or, where dtypes is a tuple, one for each of its results, in tuples
    as the dtypes are. pairs: arrays and their indices; like: whose type the blocks' results have."""
    made = by_block(function, index, *pairs, meta=empty_meta(like, len(index), _first(dtypes)), align_arrays=False, **more)
    return _items(made, index, dtypes, like, more.get("token"))


def by_block(function: Any, index: Any, *pairs: Any, meta: Any, **more: Any) -> Any:
    made: Any = da.blockwise(function, index, *pairs, meta=meta, **more)
    if type(made._meta) is not type(meta):  # Dask makes a NumPy array of what an index without dimensions gives
        made._meta = meta
    return made


def _first(dtypes: Any) -> Any:
    return _first(dtypes[0]) if isinstance(dtypes, tuple) else dtypes


def item_of(results: Any, i: int) -> Any:
    """Of a block's results. Dask takes operator.getitem for a part of an array."""
    return results[i]


def _items(made: Any, index: Any, dtypes: Any, like: Any, token: Any) -> Any:
    if not isinstance(dtypes, tuple):
        return made
    return tuple(_items(by_block(item_of, index, made, index, i, None, align_arrays=False, meta=empty_meta(like, len(index), _first(dtype)), token=token),
                        index, dtype, like, token) for i, dtype in enumerate(dtypes))


def where_counted(result: Any, counted: Any) -> Any:
    """The result of nanargmax and nanargmin; NumPy's error at the computation where no element of a slice was counted."""
    index = tuple(range(result.ndim))
    return by_block(_counted_or_error, index, result, index, counted, index, dtype=result.dtype, meta=result._meta, align_arrays=False,
                     token=result.name.rpartition("-")[0])


def _counted_or_error(result: Any, counted: Any) -> Any:
    if not np.all(counted):
        raise ValueError("All-NaN slice encountered")
    return result


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that are reduced, in order; NumPy's errors."""
    if axis is None or (ndim == 0 and axis in (0, -1) and not isinstance(axis, bool)):
        return tuple(range(ndim))
    if isinstance(axis, bool):
        raise TypeError("an integer is required for the axis, not a bool")
    for one in axis if isinstance(axis, (tuple, list)) else (axis,):
        if isinstance(one, bool) or not hasattr(one, "__index__"):
            raise TypeError(f"axis= must be an int or a tuple of ints, not {axis!r:.200}")
    found = tuple(np.lib.array_utils.normalize_axis_tuple(axis, ndim))
    return tuple(sorted(found))


def check_dtypes(blocks: Any, dtypes: Any) -> None:
    """TypeError where a block has another dtype than its Dask array. dtypes: None for what is no block of one."""
    for i, (x, dtype) in enumerate(zip(blocks, dtypes)):
        found = getattr(x, "dtype", None)
        if dtype is not None and found != dtype and isinstance(found, np.dtype):
            raise TypeError(f"a block of argument {i + 1} has dtype {found}, the Dask array {dtype}, so its blocks are of different types: "
                            f"pass x.map_blocks(lambda block: block.astype({dtype.name!r})), or make the array with the right meta=")


def refuse_masks(blocks: Any, dtypes: Any) -> None:
    """TypeError where a block of a Dask array is a masked array, of which a kernel would see all elements."""
    for i, (x, dtype) in enumerate(zip(blocks, dtypes)):
        if dtype is not None and isinstance(x, np.ma.MaskedArray):
            raise TypeError(f"a block of argument {i + 1} is a masked array, whose mask compiled code would ignore; pass dask.array.ma.getdata(x) and "
                            f"dask.array.ma.getmaskarray(x)")


# ---- where the calls come from ----


def array_ufunc(x, ufunc, method, /, *inputs, **kwargs):
    """What `x.__array_ufunc__` is asked for a ufunc or gufunc of lanewise, with all arguments as they were given."""
    from lanewise import _dask_ufuncs

    if any(_answers_first(one) for one in (*inputs, *kwargs.get("out", ()))):
        return NotImplemented
    return _dask_ufuncs.call(ufunc, method, inputs, kwargs)


def _answers_first(x: Any) -> bool:
    """xarray, pandas: they wrap Dask arrays, and ask for the call with these."""
    from dask.array.core import is_valid_array_chunk

    method = getattr(type(x), "__array_ufunc__", None)
    return method is not None and not is_dask(x) and not is_valid_array_chunk(x)


def reduce(r, *arrays, **kwargs):
    """r(*arrays, ...)"""
    from lanewise import _dask_reductions

    return _dask_reductions.reduce(r, *arrays, **kwargs)


def accumulate(r, *arrays, **kwargs):
    """r.accumulate(*arrays, ...)"""
    from lanewise import _dask_reductions

    return _dask_reductions.accumulate(r, *arrays, **kwargs)
