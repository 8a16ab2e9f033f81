"""The largest or smallest elements along an axis, in order: `topk` and `argtopk` of `lanewise.reductions`.

Everything goes by places. The order of elements is NumPy's: NaN and NaT count as the largest, -0.0 and 0.0 are equal, and of equal
elements the one with the lower index comes first. So a result does not depend on how an array was divided, and `topk` takes the
elements at the places of `argtopk`, with their bits.

On the host lines are partitioned (introselect) and only what that selects is sorted, if this is a small part; several lines, or the parts of one,
by several threads. On devices kernels of
`_topk_kernels` select it, if it is at most 2,048 elements. All else is sorted stably, device arrays by the radix sort of `_device_arrays`. Of a Dask array, each block
gives its own best, and a tree chooses among those of several blocks.
"""

from __future__ import annotations

import functools
import operator
import sys
from typing import Any

import numpy as np

import lanewise as lw
from lanewise import _labelled
from lanewise._containers import is_dask, refuse_progress
from lanewise._labelled import is_labelled
from lanewise._row_threads import of_rows

_LONG = 16  # elements of a line from which on partitioning it pays
_PART = 1 << 16  # of a line that several threads work on


def topk(a, k, axis=-1, split_every=None, *, progress=None):
    """The k largest elements along an axis, the largest first; with k < 0, the -k smallest, the smallest first.

    NaN counts as larger than all numbers, as in numpy.sort. If there are fewer than `abs(k)` elements, the result has all of them.
    `split_every=` is for Dask arrays: how many blocks are merged at once.

    >>> lw.reductions.topk([5, 1, 3, 6], 2)
    array([6, 5])
    >>> lw.reductions.topk([[5.0, 1.0], [3.0, np.nan]], -1, axis=0)
    array([[3., 1.]])
    """
    refuse_progress("topk", progress, a)
    if is_labelled(a):
        return _labelled.call(topk, locals())
    return _top("topk", a, k, axis, split_every)


def argtopk(a, k, axis=-1, split_every=None, *, progress=None):
    """The indices of the elements that `topk` returns: of equal elements, the one with the lower index comes first.

    >>> lw.reductions.argtopk([5, 1, 6, 6], 2)
    array([2, 3])
    >>> lw.reductions.argtopk([5, 1, 6, 6], -2)
    array([1, 0])
    """
    refuse_progress("argtopk", progress, a)
    if is_labelled(a):
        return _labelled.call(argtopk, locals())
    return _top("argtopk", a, k, axis, split_every)


def _top(name: str, a: Any, k: Any, axis: Any, split_every: Any) -> Any:
    reductions: Any = lw.reductions  # whose stubs show public names only; it imports this module
    given, a = a, reductions._array(a, name)
    if isinstance(k, (bool, np.bool_)) or not hasattr(k, "__index__"):
        raise TypeError(f"{name}: k must be an int, the number of elements, not {k!r:.200}")
    if axis is None or isinstance(axis, (tuple, list)):
        raise TypeError(f"{name}: axis= must be an int, not {axis!r:.200}" + (": pass x.reshape(-1) to select from all elements" if axis is None else ""))
    k, axis = operator.index(k), reductions._whole(axis)
    if not is_dask(a) and lw.cuda.is_cuda_array(a) and not isinstance(a, np.ndarray):
        a = lw.cuda.as_cuda_array(a)
    if a.dtype.kind not in "biufcmM" and a.dtype.name != "bfloat16":
        raise TypeError(f"{name}() needs numbers, dates or differences of dates, not elements of dtype {a.dtype}")
    axis = np.lib.array_utils.normalize_axis_index(axis, len(a.shape))
    if is_dask(a):
        from lanewise import _dask_reductions

        return _dask_reductions.top(name, a, k, axis, split_every)
    if split_every is not None:
        raise TypeError(f"{name}: split_every= is for Dask arrays, not for {type(given).__name__}")
    return _as_given((best if name == "topk" else places)(a, k, axis), given)


def _as_given(result: Any, given: Any) -> Any:
    """In the library that the device array came from."""
    if isinstance(result, np.ndarray) or isinstance(given, lw.cuda.DeviceArray):
        return result
    library = sys.modules.get(type(given).__module__.partition(".")[0])
    taken = getattr(library, "from_dlpack", None)
    return result if taken is None else taken(result)


# ---- of arrays in memory ----


def best(a: Any, k: int, axis: int) -> Any:
    """The elements themselves, of an array wherever it lies."""
    return both(a, k, axis)[0]


def both(a: Any, k: int, axis: int) -> tuple[Any, Any]:
    """The elements and their indices."""
    a = _proper(a)
    if _is_selected(a, k, axis):
        return selected(a, k, axis)
    found = _places(a, k, axis)
    return np.take_along_axis(a, found, axis), found


def places(a: Any, k: int, axis: int) -> Any:
    """Their indices along the axis, int64."""
    return _places(_proper(a), k, axis)


def _places(a: Any, k: int, axis: int) -> Any:
    n = a.shape[axis]
    if hasattr(a, "copy_to_host") and not isinstance(a, np.ndarray):
        return selected(a, k, axis)[1] if _is_selected(a, k, axis) else _sorted(a, k, axis)
    kind = type(a) if hasattr(a, "copy_to_host") else np.ndarray
    a = a.view(np.ndarray)
    if a.dtype.kind == "V":
        found = _sorted(a, k, axis)
    elif a.ndim == 1 and n >= 4 * _PART and 0 < abs(k) * 64 <= _PART and a.dtype.kind != "c":
        found = _of_line(a, k)
    else:
        found = np.moveaxis(of_rows(lambda lines: _of_lines(lines, k), np.moveaxis(a, axis, -1)), -1, axis)
    return found.view(kind) if kind is not np.ndarray else found


def _proper(a: Any) -> Any:
    """The array, or for bools a copy that has only the bytes 0 and 1: any byte but 0 is true, but sorts compare bytes."""
    return a.view("u1") != 0 if a.dtype.kind == "b" else a


def _of_lines(lines: Any, k: int) -> Any:
    """The places along the last axis."""
    n = lines.shape[-1]
    return _selected(lines, k) if n >= _LONG and 0 < abs(k) * 4 <= n and lines.dtype.kind != "c" else _sorted(lines, k, lines.ndim - 1)


def _of_line(line: Any, k: int) -> Any:
    """Of one long line: the best of what its parts have as their best, which are in the order of the parts, and so equal ones in that of places."""
    whole = line.size - line.size % _PART
    parts = line[:whole].reshape(-1, _PART)
    found = (of_rows(lambda lines: _of_lines(lines, k), parts) + np.arange(0, whole, _PART)[:, np.newaxis]).reshape(-1)
    if whole < line.size:
        found = np.concatenate([found, whole + _of_lines(line[whole:], k)])
    return found[_of_lines(line[found], k)]


def _sorted(a: Any, k: int, axis: int) -> Any:
    """By a stable sort of all. For the largest, of the reversed line, so that the lower one of equal elements is the later."""
    back: Any = tuple(slice(None, None, -1) if one == axis else slice(None) for one in range(len(a.shape)))
    part = tuple(slice(abs(k)) if one == axis else slice(None) for one in range(len(a.shape)))
    n = a.shape[axis]
    if k <= 0:
        return _order(a, axis)[part]
    return n - 1 - _order(a[back], axis)[back][part]


def _order(a: Any, axis: int) -> Any:
    if not isinstance(a, np.ndarray):
        return a.argsort(axis)
    if a.dtype.kind == "V":  # bfloat16
        from lanewise import _device_arrays

        return _device_arrays.argsort(a, axis)
    return np.argsort(a, axis, kind="stable")


def _selected(lines: Any, k: int) -> Any:
    """Of lines along the last axis: what lies beyond the last element that is taken, then the first of those equal to it; in order."""
    count, is_largest = abs(k), k > 0
    at = lines.shape[-1] - k if is_largest else count - 1
    last = np.partition(lines, at)[..., at : at + 1]
    equal, beyond = lines == last, ~(lines <= last) if is_largest else lines < last
    if lines.dtype.kind in "fmM" and (ends := last != last).any():  # in NaN and NaT, than which nothing is larger
        missing = lines != lines
        np.logical_and(ends, missing, out=equal, where=ends)
        np.logical_and(not is_largest, ~missing, out=beyond, where=ends)
    left = count - np.count_nonzero(beyond, axis=-1)
    many = np.count_nonzero(equal, axis=-1) > left
    if many.any():
        some = equal[many]
        equal[many] = some & (np.cumsum(some, axis=-1, dtype=np.int32 if lines.shape[-1] < 2**31 else np.int64) <= left[many][..., np.newaxis])
    beyond |= equal
    found = np.flatnonzero(beyond).reshape(*lines.shape[:-1], count) % lines.shape[-1]
    order = _sorted(np.take_along_axis(lines, found, -1), k, lines.ndim - 1)
    return np.take_along_axis(found, order, -1)


# ---- of device arrays ----

_SHORT = 8192  # elements of a line that a warp takes the best from, or of a part that a block takes them from
_LATER = 32768  # elements of a later part: those that earlier parts gave
_BLOCKS = 4  # of a multiprocessor, at most
_LEAST_BY_DIGITS, _MOST_BY_DIGITS = 1 << 16, 1 << 23  # elements of one line, of which a block would take the best too often
_MANY = 512  # lines that occupy a device if each has a warp
_LINES = 4096  # at once of a radix select: each has 8 KiB of counts


def _is_selected(a: Any, k: int, axis: int) -> bool:
    """Is it a device array whose elements one key tells apart, and little enough of it that is taken?"""
    from lanewise import _topk_kernels as kernels

    if not hasattr(a, "copy_to_host") or isinstance(a, np.ndarray) or a.dtype.kind == "c" or not a.size:
        return False
    return 0 < min(abs(k), a.shape[axis]) <= kernels.MOST and a.shape[axis] < 2**31 - 2**12


def selected(a: Any, k: int, axis: int) -> tuple[Any, Any]:
    """The elements and their indices, in order."""
    from lanewise import _topk_kernels as kernels
    from lanewise._device_arrays import _device_of

    with _device_of(a):
        return _selected_here(kernels, a, k, axis)


def _selected_here(kernels: Any, a: Any, k: int, axis: int) -> tuple[Any, Any]:
    from lanewise._device_arrays import _empty

    moved = a.transpose([one for one in range(a.ndim) if one != axis] + [axis]) if axis != a.ndim - 1 else a
    if not (moved.flags["C_CONTIGUOUS"] if isinstance(moved, np.ndarray) else moved.is_c_contiguous()):
        moved = moved.copy()
    n = moved.shape[-1]
    count, lines = min(abs(k), n), moved.size // n
    bits = moved.reshape((moved.size,)).view(f"u{a.dtype.itemsize}")
    out, out_places = _empty(a, lines * count, bits.dtype), _empty(a, lines * count, np.int64)
    order = _order_of(a.dtype, k > 0)
    if count <= kernels.SOME and not _is_by_digits(n, lines, count, a.dtype.itemsize):
        _few(kernels, bits, n, count, order, out, out_places)
    else:
        at_once = lines if n <= kernels.MOST else _LINES
        for begin in range(0, lines, at_once):
            end = min(begin + at_once, lines)
            _more(kernels, bits[begin * n : end * n], n, count, order, out[begin * count : end * count], out_places[begin * count : end * count])
    back = list(range(a.ndim - 1))
    back.insert(axis, a.ndim - 1)
    shape = (*moved.shape[:-1], count)
    found = out.view(a.dtype).reshape(shape), out_places.reshape(shape)
    return found if axis == a.ndim - 1 else tuple(one.transpose(back) for one in found)


def _new_order(dtype: Any, is_largest: bool) -> tuple[int, Any, Any, Any]:
    """How keys are made: the kind, the sign bit, the bits of infinity, and those that are inverted, so that the least keys are taken."""
    from lanewise import _topk_kernels as kernels

    bits = 8 * dtype.itemsize
    infinity = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}.get(dtype.name)
    kind = kernels.FLOAT if infinity else {"i": kernels.SIGNED, "m": kernels.TIME, "M": kernels.TIME}.get(dtype.kind, kernels.UNSIGNED)
    number = np.dtype(f"u{dtype.itemsize}").type
    return kind, number(1 << (bits - 1)), number(infinity or 0), number((1 << bits) - 1 if is_largest else 0)


_order_of: Any = functools.cache(_new_order)


def _is_by_digits(n: int, lines: int, count: int, itemsize: int) -> bool:
    """Whether a radix select finds as few elements as blocks could sort sooner than they do: elements of 8 bytes have twice as many digits."""
    if lines > 1 or itemsize > 4 or not _LEAST_BY_DIGITS <= n <= _MOST_BY_DIGITS:
        return False
    return count > 128 or (count > 64 and _MOST_BY_DIGITS // 4 < n <= _MOST_BY_DIGITS // 2)


def _few(kernels: Any, bits: Any, n: int, count: int, order: Any, out: Any, out_places: Any) -> None:
    """Of lines of n elements, one after the other: of parts of them, then of what these gave, until each line is one part."""
    from lanewise._device_arrays import _empty

    kind, *rest = order
    lines = bits.size // n
    if n <= kernels.MOST_LANES:
        lanes = max(2, 1 << (n - 1).bit_length())
        kernels.of_short(kind, lanes)[-(-lines * lanes // 256), 256](bits, n, count, lines, *rest, out, out_places)
        return
    now, now_n, indices, size = bits, n, _empty(bits, 0, np.int64), bits.dtype.itemsize
    if count <= kernels.FEW and n <= _SHORT and lines >= _MANY:
        kernels.by_warp(kind, size)[-(-lines // 8), 256](bits, indices, bits, n, n, n, count, lines, 1, *rest, out, out_places)
        return
    blocks = _BLOCKS * lw.cuda.get_current_device().MULTIPROCESSOR_COUNT
    while True:
        per = -(-now_n // max(1, min(blocks // lines, now_n // (_SHORT if now is bits else _LATER))))
        parts = -(-now_n // per)
        found = (out, out_places) if parts == 1 else (_empty(bits, lines * parts * count, bits.dtype), _empty(bits, lines * parts * count, np.int64))
        every = 4 if per >= max(_SHORT, 256 * count) else 1  # that fewer elements make groups costs more candidates
        kernels.by_block(kind, size)[(lines, parts), kernels.THREADS_OF_SOME](now, indices, bits, n, now_n, per, count, lines, every, *rest, *found)
        if parts == 1:
            return
        kind, rest[2] = kernels.UNSIGNED, bits.dtype.type(0)
        (now, indices), now_n = found, parts * count


def _more(kernels: Any, bits: Any, n: int, count: int, order: Any, out: Any, out_places: Any) -> None:
    """Of lines of n elements, one after the other."""
    from lanewise._device_arrays import _empty, _zeros

    lines = bits.size // n
    if n <= kernels.MOST:
        nothing = _empty(bits, 0, np.uint64), _empty(bits, 0, np.int64)
        kernels.arrange[_of_sort(lines, n)](bits, n, n, count, *order, *nothing, out, out_places)
        return
    grid = min(-(-n // (4 * kernels.BLOCK)), max(1, 2 * lw.cuda.get_current_device().MULTIPROCESSOR_COUNT // lines)), lines
    stride = kernels.HEAD if grid[0] == 1 else kernels.WORDS
    words = _zeros(bits, lines * stride, np.uint64)
    ints = words.view(np.int32)
    for by_index, width in ((False, 8 * bits.dtype.itemsize), (True, (n - 1).bit_length())):
        for known in range(width, 0, -kernels.BITS):
            kernels.narrow[grid, kernels.BLOCK](bits, n, count, *order, known, max(known - kernels.BITS, 0), by_index, stride, words, ints)
    keys, places = _empty(bits, lines * count, np.uint64), _empty(bits, lines * count, np.int64)
    kernels.collect[grid, kernels.BLOCK](bits, n, count, *order, stride, words, ints, keys, places)
    kernels.arrange[_of_sort(lines, count)](bits, n, count, count, *order, keys, places, out, out_places)


def _of_sort(lines: int, count: int) -> tuple[int, int, int, int]:
    """The launch whose blocks sort so many elements: blocks, threads, each of which compares two, the stream, and bytes of shared memory."""
    size = max(1 << (count - 1).bit_length(), 2)
    return lines, min(max(size >> 1, 32), 512), 0, 16 * size
