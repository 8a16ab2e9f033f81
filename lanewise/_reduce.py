"""Reductions by key, and the call's signature: what needs no machine code of its own."""

import inspect

import numpy as np


def _call(a, /, *more, axis=None, dtype=None, out=None, keepdims=False, initial=..., where=True, stream=0,
          size=None, res=None, init=...):
    """How a Reduction is called."""


def signature():
    return inspect.signature(_call)


def by_key(reduction, keys, *values, stream=0):
    """Of runs of equal neighbouring keys: (the keys, the results)."""
    # What stands for device arrays on the CPU comes back as such.
    kinds = [type(array) for array in (keys, *values) if isinstance(array, np.ndarray) and hasattr(array, "copy_to_host")]
    keys = np.asarray(keys)
    if keys.ndim != 1:
        raise ValueError(f"keys must have one dimension, not {keys.ndim}")
    values = [np.asarray(value) for value in values]
    for value in values:
        if value.shape[:1] != keys.shape:
            raise ValueError(f"values of shape {value.shape} do not go with {keys.size} keys")
    starts = np.flatnonzero(keys[1:] != keys[:-1])
    starts += 1
    if keys.size:
        starts = np.concatenate(([0], starts))
    firsts, results = keys[starts], reduction.reduceat(*values, starts)
    if not kinds:
        return firsts, results
    several = isinstance(results, tuple)
    return firsts.view(kinds[0]), tuple(r.view(kinds[0]) for r in results) if several else results.view(kinds[0])
