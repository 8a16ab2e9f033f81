"""Objects from Python whose fields a compiled function assigns.

In compiled code an object is its fields, by value. A function of `lanewise.jit` that assigns fields of an argument gives the
changed objects beside its result, as new ones (forall/jit/jit_result_py.c); here their fields are assigned to the caller's objects.
That is what Python does if nothing else that the function knows holds the object, which is checked before the call.
"""

from __future__ import annotations

import enum
import weakref

import numpy as np

from lanewise import _struct_types

_PYTHONS = frozenset({bool, int, float, complex})

# By class: None for numbers, arrays and whatever else has no fields, () for tuples, otherwise the names of its slots.
_slots: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _slots_of(cls, value):
    """What `_slots` has of a class, which is that of `value`."""
    if issubclass(cls, tuple):
        found = ()
    elif "__lanewise_compiled__" in cls.__dict__:
        found = None  # a typed list or dict: all its holders share what changes
    elif issubclass(cls, (np.generic, np.ndarray, int, float, complex, str, type, type(None), enum.Enum)) or hasattr(cls, "__array_interface__") or (
            hasattr(value, "__code__")):
        found = None
    else:
        slots = [base.__dict__.get("__slots__", ()) for base in cls.__mro__]
        names = [name for names in slots for name in ((names,) if isinstance(names, str) else names) if not name.startswith("__")]
        found = tuple(names) if names or hasattr(value, "__dict__") else None
    _slots[cls] = found
    return found


def _kind(value):
    cls = type(value)
    slots = _slots.get(cls, value)
    return _slots_of(cls, value) if slots is value else slots


def _fields(value, slots):
    """The object's attributes: names and values."""
    fields = getattr(value, "__dict__", {})
    return {**{name: getattr(value, name) for name in slots if hasattr(value, name)}, **fields} if slots else fields


def _objects(value, found):
    """Append the objects in the value, at any depth, once for each place where they are."""
    slots = _kind(value)
    if slots is None:
        return
    if isinstance(value, tuple):
        for item in value:
            _objects(item, found)
        return
    found.append(value)
    for item in _fields(value, slots).values():
        _objects(item, found)


def check_apart(function, args, places):
    """Raise a TypeError if an object in one of the arguments that are changed, those at `places`, is anywhere else in the arguments."""
    changed, seen = [], set()
    for place in places:
        _objects(args[place], changed)
    for value in changed:
        if id(value) in seen:
            _refuse(function, value)
        seen.add(id(value))
    others = []
    for place, value in enumerate(args):
        if place not in places:
            _objects(value, others)
    for value in others:
        if id(value) in seen:
            _refuse(function, value)


def _refuse(function, value):
    raise TypeError(f"{function}: it assigns fields of an object of class {type(value).__name__} that is in two places of the arguments, and in compiled "
                    "code each would have its own fields; expected an object of its own in each place: pass a copy for one of them")


def _is_same_memory(old, new):
    if not isinstance(new, (np.ndarray, np.void)) or not (hasattr(old, "__array_interface__") or hasattr(old, "__array__")):
        return False
    old, new = np.asarray(old), np.asarray(new)
    return (old.dtype, old.shape, old.strides) == (new.dtype, new.shape, new.strides) and (
        old.__array_interface__["data"] == new.__array_interface__["data"] or (isinstance(new, np.void) and bool(old == new)))


def _merged(old, new):
    """What a field has after the call: the same array, tuple or object if that is still there; of a number, its new value in a type of
    Python if it had one, otherwise in one of NumPy."""
    if type(old) is type(new) and type(new) in _PYTHONS:
        return new
    if isinstance(new, tuple):
        if type(old) is not type(new) or len(old) != len(new):
            return new
        items = [_merged(x, y) for x, y in zip(old, new)]
        if all(x is y for x, y in zip(old, items)):
            return old
        return tuple.__new__(type(new), items)
    if isinstance(new, (np.ndarray, np.void)):
        return old if _is_same_memory(old, new) else new
    if isinstance(new, np.generic):
        return new.item() if type(old) in _PYTHONS and new.dtype.kind in "biufc" else new
    if type(new) in _PYTHONS:
        return np.asarray(new)[()] if isinstance(old, np.generic) else new
    if type(old) is type(new) and _kind(new) is not None:
        if _struct_types.typeof_impl.dispatch(type(new)) is not None:
            return old  # its members cannot be assigned in compiled code
        return write_back(old, new)
    return new


def write_back(old, new):
    """Assign the fields of `new` to `old`, which is returned."""
    for name, value in _fields(new, _kind(new)).items():
        object.__setattr__(old, name, _merged(getattr(old, name, None), value))
    return old
