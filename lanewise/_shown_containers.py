"""``print(x)`` of lists, dicts and sets that a compiled function makes, with Python's text: the parts are printed one after the other.

The rewriting of lanewise/_list_displays.py calls `shown`. All functions are compiled, and called by nothing else."""

from __future__ import annotations

from lanewise._growing_dicts import GrownDict, GrownSet
from lanewise._growing_lists import GrownList


def _item(x):
    """An item, or a key or value, as Python's containers show it."""
    if isinstance(x, str):
        print(f"{x!r}", end="")
    else:
        print(x, end="")


def _inner(x):
    """The same, which may have items itself."""
    if isinstance(x, GrownDict):
        _show_dict(x, _item)
    elif isinstance(x, GrownList):
        _show_list(x, _item)
    else:
        _item(x)


def _show_list(x, item):
    print("[", end="")
    for i in range(len(x)):
        if i > 0:
            print(", ", end="")
        item(x[i])
    print("]", end="")


def _show_dict(x, item):
    print("{", end="")
    is_first = True
    for key, value in x.items():
        if not is_first:
            print(", ", end="")
        is_first = False
        _item(key)
        print(": ", end="")
        item(value)
    print("}", end="")


def _show_set(x):
    if len(x) == 0:
        print("set()", end="")
        return
    print("{", end="")
    is_first = True
    for key in x:
        if not is_first:
            print(", ", end="")
        is_first = False
        _item(key)
    print("}", end="")


def shown(x, end):
    if isinstance(x, GrownDict):
        _show_dict(x, _inner)
        print(end=end)
    elif isinstance(x, GrownSet):
        _show_set(x)
        print(end=end)
    elif isinstance(x, GrownList):
        _show_list(x, _inner)
        print(end=end)
    else:
        print(x, end=end)
