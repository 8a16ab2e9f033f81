"""Items of dicts in compiled code, whose keys are known only at run time. Compiled, never called: the reader (core/front/read/dict.c) makes
``D[key]`` and ``D.get(key, default)`` calls of these functions, with the keys and values that the dict has as constant tuples."""

from __future__ import annotations


def _position(keys, key):
    i = 0
    for one in keys:
        if one == key:
            return i
        i += 1
    return -1


def item(keys, values, key):
    i = _position(keys, key)
    if i < 0:
        if isinstance(key, str):
            raise KeyError(f"{key!r}")
        raise KeyError(key)
    return values[i]


def item_of(keys, values, key):
    """The same, of keys that exceptions do not show: tuples, members of enum classes."""
    i = _position(keys, key)
    if i < 0:
        raise KeyError("the dict has no such key")
    return values[i]


def get(keys, values, key):
    i = _position(keys, key)
    if i < 0:
        return None
    return values[i]


def get_or(keys, values, key, default):
    i = _position(keys, key)
    return default if i < 0 else values[i]
