"""Parameters of distributions: numbers or arrays, on the host or a device, checked with NumPy's words for what is wrong."""

from __future__ import annotations

import math
import sys

import numpy as np

from lanewise._containers import is_dask, refuse_loss

# rule: what holds, what NumPy says where it does not, what is expected
_RULES = {
    "number": (lambda a: ~np.isnan(a), "{0} is NaN", "a number"),
    "not negative": (lambda a: a >= 0, "{0} < 0", "at least 0"),
    "positive": (lambda a: a > 0, "{0} <= 0", "above 0"),
    "shape": (lambda a: (a >= 0) & (a < math.inf), "{0} < 0 or {0} is infinite", "at least 0 and finite"),
    "positive shape": (lambda a: (a > 0) & (a < math.inf), "{0} <= 0 or {0} is infinite", "above 0 and finite"),
    "chance": (lambda a: (a >= 0) & (a <= 1), "{0} < 0, {0} > 1 or {0} is NaN", "from 0 to 1"),
    "positive chance": (lambda a: (a > 0) & (a <= 1), "{0} <= 0, {0} > 1 or {0} contains NaNs", "above 0 and at most 1"),
    "mean": (lambda a: (a >= 0) & (a <= 1e15), "{0} < 0, {0} too large or {0} is NaN", "from 0 to 1e+15"),
    "count": (lambda a: (a >= 0) & (a <= 2**53), "{0} < 0 or {0} too large", "from 0 to 2**53"),
    "in an urn": (lambda a: (a >= 0) & (a < 10**9), "{0} < 0 or {0} too large", "at least 0 and less than 10**9"),
}


# the same for numbers of float64, of which most parameters are one: from, to
_LEAST, _MOST = 5e-324, sys.float_info.max
_LIMITS = {
    "number": (-math.inf, math.inf), "not negative": (0.0, math.inf), "positive": (_LEAST, math.inf),
    "shape": (0.0, _MOST), "positive shape": (_LEAST, _MOST), "chance": (0.0, 1.0), "positive chance": (_LEAST, 1.0), "mean": (0.0, 1e15), "count": (0.0, 2.0**53), "in an urn": (0.0, 1e9 - 1),
}


def on_device(value):
    """Whether it is an array that lies on a GPU."""
    if isinstance(value, (int, float, np.ndarray, np.generic, list, tuple)):
        return False
    from lanewise import cuda

    return cuda.is_cuda_array(value)


class _There(str):
    """The target "cuda", and on which device."""


def there(*values):
    """The target for what is drawn with parameters among which one lies on a GPU, or stands for such an array: there. Else None."""
    first = next((value for value in values if on_device(value) or _stands_for_one(value)), None)
    if first is None:
        return None
    from lanewise import cuda

    target = _There("cuda")
    target.device = cuda.as_cuda_array(first).device
    return target


def _stands_for_one(value):
    """Whether it is a device array of a machine without a GPU."""
    if type(value) is np.ndarray or not isinstance(value, np.ndarray):
        return False
    from lanewise import cuda

    return isinstance(value, cuda.DeviceArray)


def refuse_masked(name, value):
    """TypeError for an array of numpy.ma, or a table with missing values."""
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask a Generator would ignore; pass its .data")
    refuse_loss(name, value, labels=False)


def _host(name, value, expected):
    if is_dask(value):
        value = value.compute()  # a masked one has a mask only now
    refuse_masked(name, value)
    if on_device(value):
        from lanewise import cuda

        return cuda.as_cuda_array(value).copy_to_host()
    try:
        array = np.asarray(value)
    except ValueError:
        raise TypeError(f"{name} must be {expected}, not a ragged {type(value).__name__}") from None
    return array


def kind_of(value, array):
    """For messages: its type, and of what."""
    return f"{type(value).__name__} of {array.dtype}" if array.ndim or isinstance(value, np.ndarray) else type(value).__name__


def parameter(name, value, rule="number"):
    """The parameter as a float64 array of its own shape: () for a number."""
    if type(value) is float or type(value) is int and -(2**53) < value < 2**53:
        low, high = _LIMITS[rule]
        if low <= value <= high:
            return np.array(value, np.float64)
    array = _host(name, value, "a number or an array of numbers")
    if array.dtype.kind == "O" and array.ndim == 0 and hasattr(value, "__float__"):
        try:
            array = np.asarray(float(value))
        except OverflowError:
            raise OverflowError(f"{name} is too large for a float") from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be a number or an array of numbers, not {kind_of(value, array)}")
    return check(name, array.astype(np.float64), rule)


def integers(name, value, rule=None):
    """The same of integers: int64, or uint64 where that is needed."""
    array = _host(name, value, "an int or an array of ints")
    if array.dtype.kind == "O" and all(hasattr(v, "__index__") for v in array.flat):
        low, high = (f([v.__index__() for v in array.flat]) for f in (min, max))
        if not -(2**63) <= low or not high < 2**64 or (low < 0 and high >= 2**63):
            raise ValueError(f"{name} is out of bounds: it must fit into int64 or uint64")
        array = array.astype(np.uint64 if high >= 2**63 else np.int64)
    if array.size == 0 and isinstance(value, (list, tuple)):  # of no type of its own
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be an int or an array of ints, not {kind_of(value, array)}")
    array = array.astype(np.uint64 if array.dtype == np.uint64 else np.int64)
    return array if rule is None else check(name, array, rule)


def check(name, array, rule):
    """The array, or ValueError with the first element that breaks the rule."""
    holds, words, expected = _RULES[rule]
    low, high = _LIMITS[rule]
    if array.dtype.kind == "f" and array.size and low <= array.min() and array.max() <= high:
        return array  # without arrays of what holds: both ends are NaN if an element is
    good = holds(array)
    if not good.all():
        bad = array[~good].flat[0] if array.ndim else array[()]
        raise ValueError(f"{words.format(name)}: {name} must be {expected}, not {bad}")
    return array


def common_shape(size, arrays, out):
    """What to draw: a tuple, or None for one number or as many as out holds."""
    if is_scalar(*arrays):
        return size
    try:
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError:
        raise ValueError(f"parameters of the shapes {', '.join(str(a.shape) for a in arrays)} cannot be broadcast together") from None
    if size is None and out is None:
        return shape
    if out is not None and not hasattr(out, "shape"):
        raise TypeError(f"out must be a NumPy or device array, not {type(out).__name__}")
    whole = tuple(getattr(out, "shape", ())) if size is None else size
    if len(shape) > len(whole) or any(a not in (1, b) for a, b in zip(shape[::-1], whole[::-1])):
        raise ValueError(f"Output size {whole} is not compatible with broadcast dimensions of inputs {shape}.")
    return size


def spread(array, shape, dtype):
    """One element, or one for each number drawn, in C order."""
    if array.size == 1:
        return np.ascontiguousarray(array.reshape(1), dtype)
    return np.ascontiguousarray(np.broadcast_to(array, shape), dtype).reshape(-1)


def is_scalar(*arrays):
    return all(a.ndim == 0 for a in arrays)


def fits(name, dtype, largest):
    """ValueError where numbers of a narrow integer type, up to what `largest` gives, would wrap."""
    if dtype.kind in "iu" and dtype.itemsize < 8:
        most = largest()
        if most.size and most.max() > np.iinfo(dtype).max:
            raise ValueError(f"{name} is too large for numbers of {dtype}: take a wider dtype")


def chances(name, value, count):
    """One-dimensional chances, of things of that count, whose sum is 1 within the square root of the epsilon of their dtype."""
    given = _host(name, value, "an array of numbers")
    p = parameter(name, given, "chance")
    if p.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, not of shape {p.shape}")
    if p.size != count:
        raise ValueError(f"{name} must have {count} elements, not {p.size}: a and {name} must have same size")
    rounded = np.finfo(given.dtype if given.dtype.kind == "f" and given.dtype.itemsize < 8 else np.float64).eps ** 0.5
    if not abs(math.fsum(p) - 1.0) <= rounded:
        raise ValueError(f"{name} must have the sum 1, not {math.fsum(p)}: probabilities do not sum to 1")
    return p


def integer(name, value):
    refuse_masked(name, value)
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__") or np.ndim(value) != 0:
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if isinstance(value, np.ndarray) and value.dtype.kind not in "iu":
        raise TypeError(f"{name} must be an int, not an array of {value.dtype}")
    return value.__index__()


# ---- the state of a generator ----


def _below(end, name, value):
    """A number of a state. From Python 3.12 on a C field takes -1 for its largest, with a warning."""
    value = integer(f"state's {name}", value)
    if not 0 <= value < end:
        raise ValueError(f"state's {name} must be from 0 to {end - 1}, not {value}")
    return value


def _lanes(states, bit_generator, n_lanes):
    """A copy of a state's `states`, which kernels index without a look at their number."""
    from lanewise.random import xoroshiro128p_dtype

    if states is None:
        return None
    if bit_generator == "philox":
        raise ValueError(f"state's states must be None for a philox generator, not {type(states).__name__}")
    if not isinstance(states, np.ndarray):
        raise TypeError(f"state's states must be None or an array, not {type(states).__name__}")
    if states.dtype != xoroshiro128p_dtype or states.shape != (n_lanes,):
        raise ValueError(f"state's states must be {n_lanes} of dtype {xoroshiro128p_dtype}, not an array of shape "
                         f"{states.shape} and dtype {states.dtype!s:.200}")
    if not (states["s0"] | states["s1"]).all():
        raise ValueError("state's states must not contain a state of zeros, which would give only zeros")
    return np.array(states)


def read_state(value, bit_generator, n_lanes):
    """key, jumps, place and states of the dict that a generator's `state` is."""
    if not isinstance(value, dict) or value.get("bit_generator") != bit_generator:
        raise ValueError(f"state must be a dict of a {bit_generator} generator, as `state` gives it")
    for name in ("key", "jumps", "place", "states"):
        if name not in value:
            raise ValueError(f"state has no {name}")
    key = value["key"]
    if not isinstance(key, (tuple, list)) or len(key) != 2:
        raise ValueError(f"state's key must be a tuple of two ints, not {key!r:.200}")
    return (tuple(_below(2**32, "key", word) for word in key), _below(2**30, "jumps", value["jumps"]),
            _below(2**64, "place", value["place"]), _lanes(value["states"], bit_generator, n_lanes))
