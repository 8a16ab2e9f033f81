"""Typed lists, `lanewise.typed.List`, and the cells of typed containers, in compiled code: see lanewise/_typed_containers.py."""

from __future__ import annotations

import numpy as np

from lanewise._core import intrinsics
from lanewise._growing_lists import ITEMS, GrownList, bounds, check_first, get, matrix, place, put, view
from lanewise.errors import TypingError

_arrays = intrinsics.arrays  # core/tables/array_names.def

N, USED, FILLED = 0, 1, 2  # words with numbers
IS_PLAIN = 3  # 1: an item of a list or dict that a function made, which is a list of Python there
CELL = 3  # words of a cell
LIST_ITEMS = 8  # cells: of a list
HASHES, PLACES, DICT_KEYS = 8, 11, 14  # of a dict, with those of the values behind those of the keys
WORDS = 64  # of any container
MOST_CELLS = 16  # of its items


# ---- cells ----


def n_cells(like):
    """How many cells the items have: one for each number of a tuple."""
    if isinstance(like, tuple):
        if len(like) == 1:
            return n_cells(like[0])
        return n_cells(like[0]) + n_cells(like[1:])
    return 1


def check_cells(n):
    if n > MOST_CELLS:
        raise TypeError("the items of a typed list, or a key and a value of a typed dict, have at most 16 numbers")


def lent(words, like, k):
    """The arrays in the cells from word k on."""
    if like is None:
        return None
    if isinstance(like, tuple):
        return lent_row(words, like, k)
    return _arrays.cell(words, k, like)


def lent_row(words, like, k):
    if len(like) == 1:
        return (lent(words, like[0], k),)
    return (lent(words, like[0], k),) + lent_row(words, like[1:], k + CELL * n_cells(like[0]))


def held(words, like, k):
    """The same with references to their memory."""
    if like is None:
        return None
    if isinstance(like, tuple):
        return held_row(words, like, k)
    return _arrays.held_cell(words, k, like)


def held_row(words, like, k):
    if len(like) == 1:
        return (held(words, like[0], k),)
    return (held(words, like[0], k),) + held_row(words, like[1:], k + CELL * n_cells(like[0]))


def make_room(words, like, k, n):
    """Makes room for the item n, in arrays that have room for n at least."""
    if isinstance(like, tuple):
        make_room(words, like[0], k, n)
        if len(like) > 1:
            make_room(words, like[1:], k + CELL * n_cells(like[0]), n)
    elif words[k + 1] == n:
        more = np.empty(max(8, 2 * n), like.dtype)
        more[:n] = _arrays.cell(words, k, like)[:n]
        _arrays.set_cell(words, k, more)


def put_in(words, items, k):
    """Puts arrays that the function has made into cells."""
    if isinstance(items, tuple):
        put_in(words, items[0], k)
        if len(items) > 1:
            put_in(words, items[1:], k + CELL * n_cells(items[0]))
    elif items is not None:
        _arrays.set_cell(words, k, items)


def kind_of(x):
    """The `like` of items such as this one."""
    if isinstance(x, tuple):
        return kinds_of(x)
    return np.empty(0, np.array([x]).dtype)


def kinds_of(x):
    if len(x) == 1:
        return (kind_of(x[0]),)
    return (kind_of(x[0]),) + kinds_of(x[1:])


def check(like, x, what):
    """Whether x can be stored among such items, as it can in an array of their dtype."""
    if isinstance(x, (np.ndarray, list, GrownList)):
        raise TypingError("the ", what, " must be numbers, or tuples of numbers, and this is an array or a list: use an array of several axes")
    elif like is None:
        check_first(x, what)
    elif isinstance(like, tuple):
        if not isinstance(x, tuple):
            raise TypingError("the ", what, " are tuples, but this is not one: all must have one type")
        elif len(x) != len(like):
            raise TypingError("the ", what, " are tuples of another length: all must have one type")
        else:
            check(like[0], x[0], what)
            if len(like) > 1:
                check(like[1:], x[1:], what)
    elif not isinstance(x, (bool, np.bool_, int, float, complex, np.number)):
        raise TypingError("the ", what, " are numbers, but this is not one: all must have one type")
    elif isinstance(like.dtype.type(0), np.bool_):
        if not isinstance(x, (bool, np.bool_)):
            raise TypingError("the ", what, " are bools, and this is a number: write bool(x)")
    elif isinstance(x, (complex, np.complexfloating)):
        if not isinstance(like.dtype.type(0), np.complexfloating):
            raise TypingError("the ", what, " are real numbers, and this is a complex one: write x.real, or make the container for complex numbers")
    elif isinstance(x, (float, np.floating)) and isinstance(like.dtype.type(0), np.integer):
        raise TypingError("the ", what, " are ints, and this is a float: write int(x), or make the container for floats, `types.float64`")


# ---- lists ----


class TypedList(GrownList):
    def __init__(self, x=None, *, _words=WORDS):
        self.words = _arrays.cells(_words)
        self.like = None
        if x is not None:
            self.extend(x)

    @property
    def n(self):
        return int(self.words[N])

    @n.setter
    def n(self, n):
        _arrays.set_word(self.words, N, n)

    @property
    def items(self):
        return lent(self.words, self.like, LIST_ITEMS)

    @items.setter
    def items(self, items):
        put_in(self.words, items, LIST_ITEMS)

    def __iter__(self):
        return iter(view(held(self.words, self.like, LIST_ITEMS), self.n))

    def __array__(self):
        if isinstance(self.like, tuple):
            return matrix(self.items, self.n)
        return view(held(self.words, self.like, LIST_ITEMS), self.n)

    def append(self, x):
        check(self.like, x, ITEMS)
        n = self.n
        if self.like is None:
            self.like = kind_of(x)
        check_cells(n_cells(self.like))
        make_room(self.words, self.like, LIST_ITEMS, n)
        put(self.items, n, x)
        self.n = n + 1

    def __setitem__(self, i, x):
        check(self.like, x, ITEMS)
        put(self.items, place(i, self.n), x)

    def __getslice__(self, start=None, stop=None, step=None):
        first, by, n = bounds(start, stop, step, self.n)
        made = made_list(self.like)
        _arrays.set_word(made.words, IS_PLAIN, self.words[IS_PLAIN])
        for k in range(n):
            made.append(get(self.items, first + k * by))
        return made

    def copy(self):
        return self.__getslice__()

    def __mul__(self, n):
        made = self.copy()
        made *= n
        return made

    def __rmul__(self, n):
        return self * n

    @staticmethod
    def empty_list(item_type, allocated=0):
        return made_list(np.empty(0, item_type))


TypedList.__name__ = "List"  # as messages show it


def plain_list(like):
    """An item of a list or dict: there may be many, so that it has no more words than it needs."""
    made = TypedList(_words=LIST_ITEMS + CELL * (MOST_CELLS if like is None else n_cells(like)))
    made.like = like
    _arrays.set_word(made.words, IS_PLAIN, 1)
    return made


def made_list(like):
    made = TypedList()
    made.like = like
    return made
