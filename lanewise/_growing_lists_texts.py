"""The items of lists of strings, ``names.append("a")``, in compiled code.

In compiled code a string is a word, which is computed from its characters (core/ir/format.h), so such a list is an array of words. What the
characters are is known to the process alone: an item has the type of a string of which nothing is known. The order, the length and the parts of such a string
are asked of the host (core/host/texts.c), so functions called on the host have such lists.

The class is compiled and never called.
"""

from __future__ import annotations

import numpy as np

from lanewise._core import intrinsics

_arrays = intrinsics.arrays  # core/tables/array_names.def


class Texts:
    def __init__(self, words):
        self.words = words

    def get(self, at):
        return _arrays.text(self.words[at])

    def put(self, at, x):
        self.words[at] = word_of(x)

    def order_of(self, order):
        """The given places, sorted by the strings there; equal strings in the given order."""
        places = order.copy()
        _arrays.sort_texts(places, self.words)
        return places


def word_of(x):
    return _arrays.text_word(x)


def no_texts():
    """What says that items are strings."""
    return Texts(np.empty(0, np.int64))
