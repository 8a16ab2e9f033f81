"""Reductions by key: what needs no machine code of its own."""

import numpy as np


def by_key(reduction, keys, *values):
    """Of runs of equal neighbouring keys: (the keys, the results)."""
    keys = np.asarray(keys)
    if keys.ndim != 1:
        raise ValueError(f"keys must have one dimension, not {keys.ndim}")
    values = [np.asarray(value) for value in values]
    for value in values:
        if value.shape[:1] != keys.shape:
            raise ValueError(f"values of shape {value.shape} do not go with {keys.size} keys")
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if keys.size else np.empty(0, np.int64)
    return keys[starts], reduction.reduceat(*values, starts)
