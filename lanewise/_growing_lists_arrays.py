"""The items of lists of arrays, ``out.append(x[i:j])``, in compiled code.

Such a list holds the arrays themselves, not their elements: each item is a slot of `words` (core/ir/cell_words.h) with the address, the
shape, the strides and a reference to the memory of an array, which may be a view of another one. All arrays of a list have one dtype and
one number of axes: those of `like`, an array without elements. Functions called on the host have such lists.

The class and the functions are compiled and never called.
"""

from __future__ import annotations

import numpy as np

from lanewise._array_functions import _axis_first
from lanewise._core import intrinsics
from lanewise.errors import TypingError

_arrays = intrinsics.arrays  # core/tables/array_names.def

FIRST = 4  # words in front of the slots
CELL = 3  # words of a cell: a slot has one, and one for each axis


def slot_words(like):
    return CELL + CELL * like.ndim


def slot(like, at):
    """The first word of a slot."""
    return FIRST + at * slot_words(like)


def new_words(like, n):
    """Slots for n arrays."""
    if n > 1 << 40:
        raise MemoryError("there is no memory for so many arrays in a list")
    return _arrays.cells(slot(like, n))


def slots_for(x, n):
    """Slots for n arrays, or typed lists or dicts, of the type of x."""
    if isinstance(x, Shared):
        return x.slots(n)
    like = _arrays.slot_kind(x)
    return Arrays(new_words(like, n), like)


class ArrayKind:
    """What says that the items of a typed list or dict are arrays: `like`, one without elements. `is_dense` is for Python, which cannot see the type."""

    def __init__(self, like, is_dense):
        self.is_dense = is_dense
        self.like = like


class Shared:
    """Typed lists and dicts (lanewise/_typed_containers.py), which can be items: whoever holds the words sees every change."""

    def __init__(self, words):
        self.words = words


class Arrays:
    def __init__(self, words, like):
        self.words = words
        self.like = like

    def check(self, x, what):
        """Whether x can be one of the items."""
        if not isinstance(x, np.ndarray):
            raise TypingError("the ", what, " are arrays, but this is not one: all must have one type")

    def form(self):
        """What has the type of the arrays in the slots."""
        return self.like

    def over(self, words):
        """Items of this kind in other slots."""
        return Arrays(words, self.like)

    def room(self):
        """How many slots there are."""
        return max(0, (self.words.shape[0] - FIRST) // slot_words(self.form()))

    def get(self, at):
        return _arrays.slot(self.words, slot(self.like, at), self.like)

    def put(self, at, x):
        _arrays.set_slot(self.words, slot(self.like, at), x, self.like)

    def first(self, n):
        """The first n items."""
        return self.over(self.words[: slot(self.form(), n)])

    def with_room(self, n):
        """New slots for n items."""
        return self.over(new_words(self.form(), n))

    def taken(self, start, step, n):
        """A copy of n items, which are the same arrays."""
        return self.copied(start, step, n, n)

    def grown(self, n):
        """A copy of the first n items, with room for as many again."""
        return self.copied(0, 1, n, max(8, 2 * n))

    def copied(self, start, step, n, room):
        made = self.with_room(room)
        for k in range(n):
            made.put(k, self.get(start + k * step))
        return made

    def in_places(self, places):
        """A copy of the items in these places, in their order."""
        made = self.with_room(len(places))
        for k in range(len(places)):
            made.put(k, self.get(places[k]))
        return made

    def repeated(self, n, times):
        made = self.with_room(n * times)
        for k in range(times):
            for j in range(n):
                made.put(k * n + j, self.get(j))
        return made

    def check_optional(self):
        """An array may be None where it is missing."""

    def check_comparable(self):
        raise TypingError("whether arrays in a list are equal is not one truth value: compare them in a loop, with np.array_equal")

    def augment(self, at, x, op):
        """What `out[at] += x` and the like change: the array itself, as Python does."""
        y = self.get(at)
        if op == "+":
            y += x
        elif op == "-":
            y -= x
        elif op == "*":
            y *= x
        elif op == "/":
            y /= x
        elif op == "//":
            y //= x
        elif op == "%":
            y %= x
        elif op == "**":
            y **= x
        elif op == "&":
            y &= x
        elif op == "|":
            y |= x
        elif op == "^":
            y ^= x
        elif op == "<<":
            y <<= x
        elif op == ">>":
            y >>= x
        else:
            raise TypingError("this operator has no meaning for arrays in a list")

    def stacked(self, n, axis=0):
        """One array with the first n items along a new axis, as `np.array` and `np.stack` make it."""
        if n == 0:
            raise ValueError("np.array of a list without arrays: their shape is not known")
        shape = self.get(0).shape
        made = np.empty((*shape[:axis], n, *shape[axis:]), self.like.dtype)
        rows = _axis_first(made, axis)
        for k in range(n):
            x = self.get(k)
            if x.shape != shape:
                raise ValueError("all input arrays must have the same shape")
            rows[k] = x
        return made


class KeptArrays(Arrays):
    """The same in a typed list or dict, which lives longer than the call: arguments that are put into it have a reference from there."""

    def over(self, words):
        return KeptArrays(words, self.like)

    def keep(self, at, array):
        _arrays.keep_slot(self.words, slot(self.form(), at), array, self.form())

    def put(self, at, x):
        self.keep(at, x)

    def forget(self, at):
        """The item is no longer in the list, whose slot holds no array from now on."""
        self.keep(at, self.form())
