"""Reductions by key, and the call's signature: what needs no machine code of its own."""

import inspect

import numpy as np

from lanewise._containers import refuse_loss
from lanewise._weak import strengthened


def _call(a, /, *more, axis=None, dtype=None, out=None, keepdims=False, initial=..., where=True, stream=0,
          size=None, res=None, init=...):
    """How a Reduction is called."""


def signature():
    return inspect.signature(_call)


def n_arrays(r):
    """How many arrays come first in the arguments of a scan; None where the function does not say it."""
    if r.map is None:
        return None
    names = list(inspect.signature(r.map).parameters)
    return len(names) - (len(names) > 1 and names[-1] == "index")


def _there(array):
    from lanewise import cuda

    if isinstance(array, np.ma.MaskedArray):
        raise TypeError("compiled code would ignore the mask of a masked array; pass its .data, and where=~x.mask")
    refuse_loss("an argument", array, labels=True)
    array = np.asarray(array)
    return cuda.to_device(array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("=")))


def _back(result, keep):
    if isinstance(result, tuple):
        return tuple(_back(one, keep) for one in result)
    host = result.copy_to_host()
    return host if keep else host[()]


def _put(out, result):
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out= must be a NumPy array where the input is one, not {type(out).__name__}")
    if out.shape != result.shape:
        raise ValueError(f"out= has shape {out.shape}, but the result has {result.shape}")
    np.copyto(out, result, casting="same_kind")
    return out


def through_device(reduction, method, n, args, kwargs):
    """Of target="cuda", with host arrays: n of args at most are copied there, and results back."""
    kwargs = dict(kwargs or {})
    out, res = kwargs.pop("out", None), kwargs.pop("res", None)
    result = getattr(reduction, method)(*map(_there, strengthened(args[:n], kwargs.get("dtype"))), *args[n:], **kwargs)
    result = _back(result, keep=out is not None)
    if res is not None:
        res[0] = result
        return None
    if out is None or out is ...:
        return result
    if not isinstance(result, tuple):
        return _put(out[0] if isinstance(out, tuple) else out, result)
    if not isinstance(out, tuple) or len(out) != len(result):
        raise TypeError(f"out= must be a tuple of {len(result)} arrays")
    return tuple(made if to is None else _put(to, made) for to, made in zip(out, result))


def by_key(reduction, keys, *values, stream=0):
    """Of runs of equal neighbouring keys: (the keys, the results)."""
    # What stands for device arrays on the CPU comes back as such.
    kinds = [type(array) for array in (keys, *values) if isinstance(array, np.ndarray) and hasattr(array, "copy_to_host")]
    if any(isinstance(array, np.ma.MaskedArray) for array in (keys, *values)):
        raise TypeError("by_key() does not see the mask of a masked array: pass its .data, or .compressed() of all")
    for i, array in enumerate((keys, *values)):
        refuse_loss(f"by_key(): argument {i + 1}", array, labels=True)
    keys = np.asarray(keys)
    if keys.ndim != 1:
        raise ValueError(f"keys must have one dimension, not {keys.ndim}")
    arrays = [np.asarray(value) for value in values]
    numbers = len(arrays) > 1 and any(array.ndim for array in arrays)  # beside arrays, they are the same for every key
    for array in arrays:
        if array.shape[:1] != keys.shape and not (numbers and array.ndim == 0):
            raise ValueError(f"values of shape {array.shape} do not go with {keys.size} keys")
    values = [value if array.ndim == 0 else array for value, array in zip(values, arrays)]
    starts = np.flatnonzero(keys[1:] != keys[:-1])
    starts += 1
    if keys.size:
        starts = np.concatenate(([0], starts))
    firsts, results = keys[starts], reduction.reduceat(*values, starts)
    if not kinds:
        return firsts, results
    several = isinstance(results, tuple)
    return firsts.view(kinds[0]), tuple(r.view(kinds[0]) for r in results) if several else results.view(kinds[0])
