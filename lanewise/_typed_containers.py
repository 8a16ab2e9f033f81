"""Typed lists and dicts, `lanewise.typed`, in compiled code.

They have the methods of the lists and dicts that functions make themselves (lanewise/_growing_lists.py, lanewise/_growing_dicts.py), but their
numbers and arrays are not fields of the object: they stand in `words` (core/ir/cell_words.h), an array of int64 that Python and all functions share.
So a change is seen at once by whoever holds the container, under whichever name, and stays if an exception follows. `like` and the like are
arrays without elements, `Texts` of such an array, `ArrayKind`, a typed list or dict without items and words, or tuples of these, which say what
type the items have; None says that nobody knows it yet.

Items that are arrays, and the words of items that are typed lists or dicts, stand in slots with references to their memory.

An array in a cell may be used until the cell gets another one, when the list grows. What outlives that, as what a loop goes over, has a reference to its memory.

`InnerList` and `InnerDict` are the items of plain lists and values of plain dicts.

The classes and functions are compiled and never called, except `in_python`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise._core import intrinsics
from lanewise._growing_dicts import (
    KEYS, VALUES, GrownDict, View, are_same_ints, converted, entry_of, first_places, hash_of, ints_converted, live, settle,
)
from lanewise._growing_lists import ITEMS, Arrays, GrownList, Texts, bounds, check_first, check_number, empty, get, matrix, place, put, view
from lanewise._growing_lists_arrays import ArrayKind, KeptArrays, Shared, new_words, slot
from lanewise import types
from lanewise.errors import TypingError
from lanewise.types import unicode_type

_arrays = intrinsics.arrays  # core/tables/array_names.def

N, USED, FILLED, TAG = 0, 1, 2, 3  # words with numbers; the last one of an InnerList or InnerDict
CELL = 3  # words of a cell
LIST_ITEMS = 4  # cells: of a list
HASHES, PLACES, DICT_KEYS = 4, 7, 10  # of a dict, with those of the values behind those of the keys
WORDS = 64  # of any container
MOST_CELLS = 16  # of its items

OTHER_ITEMS = " are typed lists or dicts with items of one type, and this one is not: all must have one type"
PLAIN = " can be typed lists and dicts, and this is a plain one: make it by `lanewise.typed.List(...)` or `Dict(...)`; in a plain list, write the inner list where it is put in, as in `x.append([v])`"
NOT_KNOWN = "nobody knows yet of what type the items of this list or dict are: put one into it, before it is put into another list or dict; or begin with `List.empty_list(...)` or `Dict.empty(...)`"

NEVER_NONE = "a list or dict of compiled code is never None, so `d.get(k)` needs the one that is taken where the key is missing: write `d.get(k, [])`, or `d[k] if k in d else []`"
UNSEEN = "an inner list or dict has items of a type that the outer one does not know: write `x[i].append(v)` or `x[k][j] = v`, where x is the variable of the outer one, to put in the first item, or begin with an inner list that has an item"
NUMBERS: tuple[Any, ...] = (np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64, np.complex64, np.complex128)


# ---- items that are typed lists or dicts ----


class Containers(KeptArrays):
    """Their words, which are arrays in slots. `like` is such a list or dict."""

    def form(self):
        return _arrays.slot_kind(self.words)

    def over(self, words):
        return Containers(words, self.like)

    def get(self, at):
        return self.like.over(_arrays.slot(self.words, slot(self.form(), at), self.form()))

    def lent(self, at):
        """The same for an expression that uses it at once (core/front/tree.h), of which no reference is counted."""
        return self.like.over(_arrays.lent_slot(self.words, slot(self.form(), at), self.form()))

    def put(self, at, x):
        self.keep(at, x.words)

    def check(self, x, what):
        check(self.like, x, what)

    def check_optional(self):
        raise TypingError(NEVER_NONE)

    def check_comparable(self):
        pass

    def stacked(self, n, axis=0):
        raise TypingError("no array of lists or dicts is made: fill one in a loop, or write `np.array([[... for v in y] for u in x])`")

    def augment(self, at, x, op):
        y = self.get(at)
        if op == "+":
            y += x
        else:
            raise TypingError("only `+=` has a meaning for lists in a list")


def slots_of(x, n):
    """Slots for n lists or dicts of the type of x."""
    like = x.without_words()
    return Containers(new_words(like.words, n), like)


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
        raise TypeError("an item of a typed list, or a key and a value of a typed dict together, can have at most 16 numbers, strings, arrays and containers")


def lent(words, like, k):
    """The arrays in the cells from word k on."""
    if like is None:
        return None
    if isinstance(like, tuple):
        return lent_row(words, like, k)
    if isinstance(like, Texts):
        return Texts(_arrays.cell(words, k, like.words))
    if isinstance(like, ArrayKind):
        return KeptArrays(_arrays.cell(words, k, words), like.like)
    if isinstance(like, (TypedList, TypedDict)):
        return Containers(_arrays.cell(words, k, words), like.without_words())
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
    if isinstance(like, Texts):
        return Texts(_arrays.held_cell(words, k, like.words))
    if isinstance(like, ArrayKind):
        return KeptArrays(_arrays.held_cell(words, k, words), like.like)
    if isinstance(like, (TypedList, TypedDict)):
        return Containers(_arrays.held_cell(words, k, words), like.without_words())
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
    elif isinstance(like, Texts):
        make_room(words, like.words, k, n)
    elif isinstance(like, (ArrayKind, TypedList, TypedDict)):
        arrays = lent(words, like, k)
        if arrays.room() == n:
            _arrays.set_cell(words, k, arrays.grown(n).words)
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
    elif isinstance(items, (Arrays, Texts)):
        put_in(words, items.words, k)
    elif items is not None:
        _arrays.set_cell(words, k, items)


def like_of_type(type_):
    """type_: the type of a number or of strings, or what `form_of_type` has made of another type."""
    if isinstance(type_, tuple):
        if isinstance(type_[0], str):
            return type_[1]()
        return likes_of_types(type_)
    if type_ is str or type_ is unicode_type:
        return texts_kind()
    return _arrays.slot_kind(np.empty(0, type_))


def likes_of_types(row):
    if len(row) == 1:
        return (like_of_type(row[0]),)
    return (like_of_type(row[0]),) + likes_of_types(row[1:])


def kind_of(x):
    """The `like` of items such as this one."""
    if isinstance(x, tuple):
        return kinds_of(x)
    if isinstance(x, str):
        return texts_kind()
    if isinstance(x, np.ndarray):
        return array_kind(x)
    if isinstance(x, (TypedList, TypedDict)):
        return x.without_words()
    return _arrays.slot_kind(x)


def texts_kind():
    return Texts(_arrays.slot_kind(0))


def array_kind(x):
    return ArrayKind(_arrays.slot_kind(x), _arrays.is_dense(x))


def kinds_of(x):
    if len(x) == 1:
        return (kind_of(x[0]),)
    return (kind_of(x[0]),) + kinds_of(x[1:])


def check_new(x, what):
    """Whether x may be the first item."""
    if isinstance(x, tuple):
        check_new(x[0], what)
        if len(x) > 1:
            check_new(x[1:], what)
    elif isinstance(x, (TypedList, TypedDict)):
        pass
    elif isinstance(x, (list, dict)):
        raise TypingError("the ", what, PLAIN)
    else:
        check_first(x, what)


def check(like, x, what):
    """Whether x can be stored among such items, as it can in an array of their dtype."""
    if like is None:
        check_new(x, what)
    elif isinstance(like, tuple):
        if not isinstance(x, tuple):
            raise TypingError("the ", what, " are tuples, but this is not one: all must have one type")
        elif len(x) != len(like):
            raise TypingError("the ", what, " are tuples of another length: all must have one type")
        else:
            check(like[0], x[0], what)
            if len(like) > 1:
                check(like[1:], x[1:], what)
    elif isinstance(like, Texts):
        if not isinstance(x, str):
            raise TypingError("the ", what, " are strings, but this is not one: all must have one type")
    elif isinstance(like, ArrayKind):
        if not isinstance(x, np.ndarray):
            raise TypingError("the ", what, " are arrays, but this is not one: all must have one type")
    elif isinstance(like, (TypedList, TypedDict)):
        check_new(x, what)
        if isinstance(x, (TypedList, TypedDict)):
            x.check_known()
        check_alike(like, x, what)
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


def check_typed(x, what):
    """Whether x, which is put into a typed list or dict, is no plain list or dict."""
    if isinstance(x, (InnerList, InnerDict)):
        raise TypingError("the ", what, PLAIN)


def check_alike(like, x, what):
    """Whether x says that items have the same type as `like` does."""
    if like is None or x is None:
        pass  # of an InnerList without items
    elif isinstance(like, tuple) and isinstance(x, tuple) and len(like) == len(x):
        check_alike(like[0], x[0], what)
        if len(like) > 1:
            check_alike(like[1:], x[1:], what)
    elif isinstance(like, ArrayKind) and isinstance(x, ArrayKind):
        check_alike(like.like, x.like, what)
    elif isinstance(like, TypedList) and isinstance(x, TypedList):
        check_alike(like.like, x.like, what)
    elif isinstance(like, TypedDict) and isinstance(x, TypedDict):
        check_alike(like.key_like, x.key_like, what)
        check_alike(like.value_like, x.value_like, what)
    elif isinstance(like, Texts) and isinstance(x, Texts):
        pass
    elif not isinstance(like, np.ndarray) or not isinstance(x, np.ndarray):
        raise TypingError("the ", what, OTHER_ITEMS)
    elif not _arrays.is_alike(like, x):
        raise TypingError("the ", what, OTHER_ITEMS)


def forget(items, at):
    """Drops the references of an item that is no longer in its list or dict."""
    if isinstance(items, tuple):
        forget(items[0], at)
        if len(items) > 1:
            forget(items[1:], at)
    elif isinstance(items, KeptArrays):
        items.forget(at)


# ---- lists ----


class TypedList(GrownList, Shared):
    def __init__(self, x=None, *, words=None, like=None):
        self.words = _arrays.cells(WORDS) if words is None else words
        self.like = like
        if x is not None:
            self.extend(x)

    def over(self, words):
        """The list of this type with these words."""
        return TypedList(words=words, like=self.like)

    def another(self):
        """A list of this type without items."""
        return made_list(self.like)

    def check_known(self):
        if self.like is None:
            raise TypingError(NOT_KNOWN)

    def without_words(self):
        """What says that items are such lists."""
        self.check_known()
        return self.over(_arrays.slot_kind(self.words))

    def slots(self, n):
        return slots_of(self, n)

    @property
    def n(self):
        return int(self.words[N])

    @n.setter
    def n(self, n):
        _arrays.set_word(self.words, N, n)

    def check_told(self):
        """Whether the type that is known of the items is theirs; an InnerList may have been told another one."""

    @property
    def items(self):
        self.check_told()
        return lent(self.words, self.like, LIST_ITEMS)

    @items.setter
    def items(self, items):
        put_in(self.words, items, LIST_ITEMS)

    def held_items(self):
        self.check_told()
        return held(self.words, self.like, LIST_ITEMS)

    def __iter__(self):
        items = self.held_items()
        if isinstance(items, np.ndarray):  # which keeps its reference
            return iter(_arrays.shaped(items, self.n))
        return iter(view(items, self.n))

    def __lentiter__(self):
        """For a loop whose body changes no typed list."""
        return iter(view(self.items, self.n))

    def __array__(self):
        if isinstance(self.like, tuple):
            return matrix(self.items, self.n)
        if isinstance(self.like, (ArrayKind, TypedList, TypedDict)):
            return self.items.stacked(self.n)
        return view(self.held_items(), self.n)

    def check_item(self, x, what):
        check_typed(x, what)
        check(self.like, x, what)

    def append(self, x):
        self.check_item(x, ITEMS)
        n = self.n
        if self.like is None:
            check_cells(n_cells(kind_of(x)))
            self.like = kind_of(x)
        check_cells(n_cells(self.like))
        make_room(self.words, self.like, LIST_ITEMS, n)
        put(self.items, n, x)
        self.n = n + 1

    def __setitem__(self, i, x):
        self.check_item(x, ITEMS)
        put(self.items, place(i, self.n), x)

    def __delslice__(self, start=None, stop=None, step=None):
        before = self.n
        super().__delslice__(start, stop, step)
        for k in range(self.n, before):
            forget(self.items, k)

    def pop(self, i=-1):
        x = super().pop(i)
        forget(self.items, self.n)
        return x

    def clear(self):
        for k in range(self.n):
            forget(self.items, k)
        self.n = 0

    def __getslice__(self, start=None, stop=None, step=None):
        first, by, n = bounds(start, stop, step, self.n)
        made = self.another()
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
        return made_list(like_of_type(item_type))


TypedList.__name__ = "List"  # as messages show it


def made_list(like):
    return TypedList(like=like)


# ---- dicts ----


class TypedDict(GrownDict, Shared):
    def __init__(self, x=None, *, words=None, key_like=None, value_like=None):
        self.words = _arrays.cells(WORDS) if words is None else words
        self.key_like = key_like
        self.value_like = value_like
        if words is None:
            _arrays.set_cell(self.words, HASHES, np.empty(8, np.int64))
            _arrays.set_cell(self.words, PLACES, first_places())
        if x is not None:
            self.update(x)

    def over(self, words):
        """The dict of this type with these words."""
        return TypedDict(words=words, key_like=self.key_like, value_like=self.value_like)

    def check_known(self):
        if self.key_like is None:
            raise TypingError(NOT_KNOWN)

    def without_words(self):
        """What says that items are such dicts."""
        self.check_known()
        return self.over(_arrays.slot_kind(self.words))

    def slots(self, n):
        return slots_of(self, n)

    @property
    def n(self):
        return int(self.words[N])

    @n.setter
    def n(self, n):
        _arrays.set_word(self.words, N, n)

    @property
    def used(self):
        return int(self.words[USED])

    @used.setter
    def used(self, used):
        _arrays.set_word(self.words, USED, used)

    @property
    def filled(self):
        return int(self.words[FILLED])

    @filled.setter
    def filled(self, filled):
        _arrays.set_word(self.words, FILLED, filled)

    @property
    def hashes(self):
        return _arrays.cell(self.words, HASHES, self.words)

    @hashes.setter
    def hashes(self, hashes):
        _arrays.set_cell(self.words, HASHES, hashes)

    @property
    def places(self):
        return _arrays.cell(self.words, PLACES, self.words)

    @places.setter
    def places(self, places):
        _arrays.set_cell(self.words, PLACES, places)

    def check_told(self):
        """As of lists."""

    @property
    def key_items(self):
        self.check_told()
        return lent(self.words, self.key_like, DICT_KEYS)

    @key_items.setter
    def key_items(self, items):
        put_in(self.words, items, DICT_KEYS)

    @property
    def value_items(self):
        self.check_told()
        return lent(self.words, self.value_like, values_at(self.key_like))

    @value_items.setter
    def value_items(self, items):
        put_in(self.words, items, values_at(self.key_like))

    def held_keys(self):
        self.check_told()
        return held(self.words, self.key_like, DICT_KEYS)

    def held_values(self):
        self.check_told()
        return held(self.words, self.value_like, values_at(self.key_like))

    def as_key(self, key):
        if isinstance(key, np.ndarray):
            raise TypingError(NO_HASH)
        check_hashed(key)
        check(self.key_like, key, KEYS)
        return converted(self.key_like, key)

    def found(self, key):
        """The entry with a key that is equal to this one, which may be an int of another type; -1: there is none."""
        one = ints_converted(self.key_like, key)
        return entry_of(self, self.as_key(one)) if are_same_ints(one, key) else -1

    def as_new_key(self, key):
        one = self.as_key(key)
        if not are_same_ints(one, key):
            raise OverflowError("a key does not fit the type of the keys")
        return one

    def insert(self, key, value):
        hashed = hash_of(key)
        if 3 * self.filled >= 2 * len(self.places):
            self.rebuild()
        used = self.used
        make_room(self.words, self.words, HASHES, used)
        make_room(self.words, self.key_like, DICT_KEYS, used)
        make_room(self.words, self.value_like, values_at(self.key_like), used)
        put(self.key_items, used, key)
        put(self.value_items, used, value)
        self.hashes[used] = hashed
        self.used = used + 1
        self.filled += 1
        self.n += 1
        settle(self.places, hashed, used + 1)

    def check_item(self, x, what):
        check_typed(x, what)
        check(self.value_like, x, what)

    def __setitem__(self, key, value):
        one = self.as_new_key(key)
        self.check_item(value, VALUES)
        if self.key_like is None:
            check_cells(n_cells(kind_of(key)) + n_cells(kind_of(value)))
            self.key_like = kind_of(key)
            self.value_like = kind_of(value)
        check_cells(n_cells(self.key_like) + n_cells(self.value_like))
        entry = entry_of(self, one)
        if entry < 0:
            self.insert(one, value)
        else:
            put(self.value_items, entry, value)

    def remove_entry(self, entry):
        super().remove_entry(entry)
        forget(self.key_items, entry)
        forget(self.value_items, entry)

    def clear(self):
        for entry in range(self.used):
            forget(self.value_items, entry)
        super().clear()

    def setdefault(self, key, default):
        one = self.as_new_key(key)
        self.check_item(default, VALUES)
        entry = entry_of(self, one)
        if self.value_like is None or entry < 0:
            self[key] = default
            return converted(self.value_like, default)
        return get(self.value_items, entry)

    def __iter__(self):
        return iter(live(self.held_keys(), self))

    def keys(self):
        return typed_view(self.held_keys(), self)

    def values(self):
        return typed_view(self.held_values(), self)

    def items(self):
        if self.key_like is None:
            return typed_view(None, self)
        return typed_view((self.held_keys(), self.held_values()), self)

    def another(self):
        """A dict of this type without entries."""
        return made_dict(self.key_like, self.value_like)

    def copy(self):
        made = self.another()
        made.update(self)
        return made

    @staticmethod
    def empty(key_type, value_type, n_keys=0):
        check_hashed(like_of_type(key_type))
        return made_dict(like_of_type(key_type), like_of_type(value_type))


TypedDict.__name__ = "Dict"


NO_HASH = "keys of a typed dict must be numbers, strings, or tuples of these: arrays, lists and dicts have no hash"


def check_hashed(key):
    """Whether the key, or what says of what type keys are, has a hash."""
    if isinstance(key, tuple):
        check_hashed(key[0])
        if len(key) > 1:
            check_hashed(key[1:])
    elif isinstance(key, (ArrayKind, list, dict)):
        raise TypingError(NO_HASH)


class TypedView(View):
    """It has the words of the dict, whose size must not change in a loop over it (core/front/lower/iterator.c)."""

    def __init__(self, items, n, words):
        self.items = items
        self.n = n
        self.words = words


TypedView.__name__ = "typed dict view"


def typed_view(items, table):
    if items is None:
        return TypedView(None, 0, table.words)
    return TypedView(live(items, table), table.n, table.words)


def values_at(key_like):
    """The first cell of the values."""
    return DICT_KEYS + CELL * n_cells(key_like)


def made_dict(key_like, value_like):
    return TypedDict(key_like=key_like, value_like=value_like)


# ---- lists and dicts in plain lists and dicts ----


class InnerList(TypedList):
    """A list that is an item of a plain list, or a value of a plain dict: `x[i].append(v)` changes the one list that all see which have it.

    What type its items have need not be known when it is put there, as in `[[] for _ in range(n)]`: `learned` tells the outer list of the first
    item. A word with the type of the items, as a number, keeps those who were told of another type, or of none, from reading them."""

    def over(self, words):
        return InnerList(words=words, like=self.like)

    def another(self):
        return InnerList(like=self.like)

    def check_known(self):
        pass

    def check_item(self, x, what):
        check_inner(self.like, x, what)

    def check_told(self):
        check_tag(self.words, self.like)

    def append(self, x):
        set_tag(self.words, kind_of(x) if self.like is None else self.like)
        super().append(x)

    def take_over(self, items, n):
        """Makes the items of another list, which ends here, those of this one."""
        self.like = kind_of_items(items)
        check_cells(n_cells(self.like))
        set_tag(self.words, self.like)
        put_in(self.words, items, LIST_ITEMS)
        self.n = n

    def __getslice__(self, start=None, stop=None, step=None):
        if self.like is None:
            self.check_told()
            return InnerList()
        return super().__getslice__(start, stop, step)


InnerList.__name__ = "list"


class InnerDict(TypedDict):
    """The same of dicts."""

    def over(self, words):
        return InnerDict(words=words, key_like=self.key_like, value_like=self.value_like)

    def another(self):
        return InnerDict(key_like=self.key_like, value_like=self.value_like)

    def check_known(self):
        pass

    def check_item(self, x, what):
        check_inner(self.value_like, x, what)

    def as_new_key(self, key):
        check_inner(self.key_like, key, KEYS)
        return super().as_new_key(key)

    def check_told(self):
        check_tag(self.words, likes_of(self.key_like, self.value_like))

    def insert(self, key, value):
        set_tag(self.words, likes_of(self.key_like, self.value_like))
        super().insert(key, value)


InnerDict.__name__ = "dict"


def check_inner(like, x, what):
    """Whether x keeps its value among such items, as it must in a plain list."""
    check(like, x, what)
    if isinstance(like, tuple):
        check_inner(like[0], x[0], what)
        if len(like) > 1:
            check_inner(like[1:], x[1:], what)
    elif isinstance(like, np.ndarray):
        check_number(x, like.dtype.type(0), what)


def likes_of(key_like, value_like):
    return None if key_like is None else (key_like, value_like)


# ---- the type of the items as a number ----


def check_tag(words, like):
    """Whether the items, if there are any, have this type."""
    tag = words[TAG]
    if tag != 0 and tag != tag_of(like):
        raise TypeError(UNSEEN)


def set_tag(words, like):
    """The same, before an item is put in."""
    tag = words[TAG]
    if tag != tag_of(like):
        if tag != 0:
            raise TypeError(UNSEEN)
        _arrays.set_word(words, TAG, tag_of(like))


def tag_of(like):
    """A constant; 0: nobody knows the type."""
    if like is None:
        return 0
    if isinstance(like, tuple):
        return tag_of_row(like)
    if isinstance(like, Texts):
        return 1
    if isinstance(like, ArrayKind):
        return 2 + 8 * (tag_of(like.like) + 512 * (2 * like.like.ndim + like.is_dense))
    if isinstance(like, InnerList):
        return 3
    if isinstance(like, InnerDict):
        return 4
    if isinstance(like, TypedList):
        return tag_of_row((3, like.like))
    if isinstance(like, TypedDict):
        return tag_of_row((4, like.key_like, like.value_like))
    if isinstance(like, int):
        return like
    return 5 + 8 * tag_of_number(like.dtype.type(0))


def tag_of_row(row):
    if len(row) == 1:
        return 6 + 8 * tag_of(row[0])
    return (7 + 8 * (tag_of(row[0]) + 10007 * tag_of_row(row[1:]))) & 0xFFFFFFFFFF


def tag_of_number(x):
    for k, type_ in enumerate(NUMBERS):
        if isinstance(x, type_):
            return k
    raise TypingError("items of this type are in no list of a list")


def may_move(items):
    """Whether the cells of an InnerList can hold what holds the items of a plain list: those of a list of arrays have no references to arguments."""
    if items is None:
        return False
    if isinstance(items, tuple):
        if len(items) == 1:
            return may_move(items[0])
        return may_move(items[0]) and may_move(items[1:])
    return isinstance(items, Containers) or not isinstance(items, Arrays)


def kind_of_items(items):
    if isinstance(items, tuple):
        return kinds_of_items(items)
    if isinstance(items, Texts):
        return texts_kind()
    if isinstance(items, Containers):
        return items.like
    if isinstance(items, Arrays):
        return array_kind(items.like)
    return _arrays.slot_kind(items)


def kinds_of_items(items):
    if len(items) == 1:
        return (kind_of_items(items[0]),)
    return (kind_of_items(items[0]),) + kinds_of_items(items[1:])


def inner(x):
    """The value as an item of a plain list or dict."""
    if isinstance(x, Shared):
        return x
    if isinstance(x, GrownList):
        made = InnerList()
        if may_move(x.items):
            made.take_over(x.items, x.n)
        else:
            made.extend(x)
        return made
    if isinstance(x, GrownDict):
        table = InnerDict()
        table.update(x)
        return table
    return x


def columns(rows):
    """``[list(r) for r in zip(*rows)]``."""
    made = empty()
    n = len(rows[0]) if len(rows) > 0 else 0
    for row in rows:
        n = min(n, len(row))
    for j in range(n):
        column = InnerList()
        for row in rows:
            column.append(row[j])
        made.append(column)
        learned(made, column)
    return made


def learned(x, item):
    """Tells a list or dict of the type of one of its items, which was empty until now. Where the type is known, this changes nothing in x."""
    if isinstance(x, Shared):
        pass
    elif isinstance(x, GrownList):
        if isinstance(x.items, Containers):
            if isinstance(item, InnerList):
                if x.items.like.like is None:
                    x.items = Containers(x.items.words, item.without_words())
            elif isinstance(item, InnerDict):
                if x.items.like.key_like is None:
                    x.items = Containers(x.items.words, item.without_words())
    elif isinstance(x, GrownDict):
        if isinstance(x.value_items, Containers):
            if isinstance(item, InnerList):
                if x.value_items.like.like is None:
                    x.value_items = Containers(x.value_items.words, item.without_words())
            elif isinstance(item, InnerDict):
                if x.value_items.like.key_like is None:
                    x.value_items = Containers(x.value_items.words, item.without_words())


def learned_items(x, items):
    """The same, of the items of a list that x has got."""
    if isinstance(items, GrownList):
        if isinstance(items.items, Containers):
            learned(x, items.items.like)


# ---- what Python calls (lanewise/typed.py) ----


def converted_in_python(like: Any, x: Any, what: str) -> Any:
    """The value as an item of `lanewise.typed`, or a TypeError. Not compiled."""
    from lanewise import typed

    return typed._converted(like, x, what)


def again(like: Any, words: Any) -> Any:
    """The object of `lanewise.typed` with these words, which has the type of `like`. Not compiled."""
    from lanewise import typed

    return typed._again(like, words)


_forms: dict[Any, Any] = {}  # kept, because the compiler knows constants by their addresses


def form_of_type(type_: Any) -> Any:
    """For `like_of_type`, a pair with a function that is compiled; None: it is no type of an array, a tuple, or a typed list or dict. Not compiled."""
    if isinstance(type_, types.Array):
        shape, dtype, is_contiguous = (0,) * type_.ndim, type_.dtype, type_.layout == "C"

        def like() -> Any:
            none = np.empty(shape, dtype)
            return array_kind(none if is_contiguous else none[..., ::2])
    elif isinstance(type_, types.ListType):
        item = _like_of(type_.item_type)

        def like() -> Any:
            return made_list(item()).without_words()
    elif isinstance(type_, types.DictType):
        key, value = _like_of(type_.key_type), _like_of(type_.value_type)

        def like() -> Any:
            return made_dict(key(), value()).without_words()
    elif isinstance(type_, types.Tuple) and type_.count > 0:
        like = _like_of_row(tuple(map(_like_of, type_.types)))
    else:
        return None
    return _forms.setdefault(type_, ("like", like))


def _like_of(type_: Any) -> Any:
    form = form_of_type(type_)
    if form is not None:
        return form[1]
    return lambda: like_of_type(type_)


def _like_of_row(row: Any) -> Any:
    if len(row) == 1:
        (last,) = row
        return lambda: (last(),)
    first, rest = row[0], _like_of_row(row[1:])
    return lambda: (first(),) + rest()


def in_python(cls: Any, words: Any, *likes: Any) -> Any:
    """The object of `lanewise.typed` with these words. Not compiled."""
    from lanewise import typed

    if cls in (InnerList, InnerDict):
        return typed._of_inner(typed._InnerList if cls is InnerList else typed._InnerDict, words, likes)
    return typed._of_words(typed.List if cls is TypedList else typed.Dict, words, likes)
