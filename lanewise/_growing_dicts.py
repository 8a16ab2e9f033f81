"""Dicts and sets that grow, ``d = {}`` and ``d[k] = v``, ``s = set()`` and ``s.add(x)``, in compiled code.

In compiled code a dict is an object of `GrownDict`, and a set one of `GrownSet`, with the methods of Python's. Both are tables with open
addressing and linear probing (D. E. Knuth, The Art of Computer Programming, volume 3, section 6.4): the entries stand in arrays in the order in
which they were added, and `places` holds, at the place that a key's hash says or one behind it, the number of the entry plus one. An entry
that is deleted stays, marked by -1 as its hash and at its place, until the table is made anew. The arrays have room for two thirds of the places, so
that one comparison says whether there is room for an entry. Keys and values are arrays, tuples of arrays or None, as the items of lists are
(lanewise/_growing_lists.py).

Which expressions make dicts and sets is said by lanewise/_dict_displays.py. The classes and the functions are compiled and never
called, except `in_python` and `set_in_python`.
"""

from __future__ import annotations

import enum
import math
import operator
from typing import Any

import numpy as np

from lanewise import _growing_lists
from lanewise._growing_lists import NO_ARRAY, Arrays, GrownList, Items, Texts, augmented, check, filled, get, listed, put, taken, view, word_of
from lanewise._growing_lists_arrays import Shared
from lanewise.errors import TypingError

KEYS, VALUES, ITEMS = "keys of this dict", "values of this dict", "items of this set"
DELETED = -1


class Default(enum.Enum):
    """What stands for an argument that is not given, which no program passes."""

    MISSING = 0


# ---- hashes ----


def mixed(bits):
    """The finaliser of SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, 2014), without the sign."""
    z = np.uint64(bits)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((z ^ (z >> np.uint64(31))) >> np.uint64(1))


PRIME = np.uint64(2**61 - 1)  # Python's hashes of numbers are modulo this


def python_hash(x):
    """`hash(x)`: Python's, but 0 for NaN, whose hash is that of an object. Those of strings are other ones in each process."""
    if isinstance(x, tuple):
        return hash_of_items(x)
    if isinstance(x, (complex, np.complexfloating)):
        return not_minus_one(np.int64(np.uint64(python_hash(x.real)) + np.uint64(1000003) * np.uint64(python_hash(x.imag))))
    if isinstance(x, (float, np.floating)):
        return hash_of_float(np.float64(x))
    if isinstance(x, str):
        raise TypeError("hash() of a string differs from process to process: compiled code has that of numbers and tuples of numbers")
    if x < 0:
        return not_minus_one(-np.int64((~np.uint64(x) + np.uint64(1)) % PRIME))
    return np.int64(np.uint64(x) % PRIME)


def not_minus_one(bits):
    return np.int64(-2) if bits == -1 else bits


def hash_of_float(x):
    if not math.isfinite(x):
        return np.int64(0 if x != x else 314159 if x > 0 else -314159)
    m, e = math.frexp(abs(x))
    bits = np.uint64(0)
    while m != 0:
        bits = ((bits << np.uint64(28)) & PRIME) | (bits >> np.uint64(33))
        m *= 2.0**28
        e -= 28
        part = np.uint64(m)
        m -= float(part)
        bits += part
        if bits >= PRIME:
            bits -= PRIME
    shift = np.uint64(e % 61)
    bits = ((bits << shift) & PRIME) | (bits >> (np.uint64(61) - shift))
    return not_minus_one(-np.int64(bits) if x < 0 else np.int64(bits))


def hash_of_items(row):
    """Python's of tuples, which is xxHash with a round for each item (Y. Collet)."""
    bits = rounds(row, np.uint64(2870177450012600261)) + (np.uint64(len(row)) ^ np.uint64(2870177450012600261 ^ 3527539))
    return np.int64(1546275796) if bits == np.uint64(2**64 - 1) else np.int64(bits)


def rounds(row, bits):
    if len(row) == 0:
        return bits
    bits += np.uint64(python_hash(row[0])) * np.uint64(14029467366897019727)
    bits = ((bits << np.uint64(31)) | (bits >> np.uint64(33))) * np.uint64(11400714785074694791)
    return rounds(row[1:], bits)


def hash_of(x):
    """0 or more; equal keys of one type have the same."""
    if isinstance(x, tuple):
        first = hash_of(x[0])
        if len(x) > 1:
            return mixed(first ^ (hash_of(x[1:]) << 1))
        return first
    if isinstance(x, (complex, np.complexfloating)):
        return mixed(hash_of(x.real) ^ (hash_of(x.imag) << 1))
    if isinstance(x, (float, np.floating)):
        return mixed(np.int64(0) if x == 0 else np.float64(x).view(np.int64))  # -0.0 equals 0.0
    if isinstance(x, str):
        return mixed(word_of(x))
    return mixed(np.int64(x))


# ---- tables ----


def first_places():
    return np.zeros(8, np.int64)


class Table:
    def __init__(self, key_items, value_items, hashes, places, used, filled, n):
        self.key_items = key_items
        self.value_items = value_items  # None: of a set
        self.hashes = hashes
        self.places = places
        self.used = used  # entries, also those that are deleted
        self.filled = filled  # places of entries, also of those that are deleted
        self.n = n

    def __len__(self):
        return self.n

    def __bool__(self):
        return self.n > 0

    def __iter__(self):
        return iter(live(self.key_items, self))

    def __array__(self):
        return array_of(live(self.key_items, self))

    def __max__(self):
        return live_view(self.key_items, self).__max__()

    def __min__(self):
        return live_view(self.key_items, self).__min__()

    def clear(self):
        self.places = first_places()
        self.hashes = np.empty(0, np.int64)  # the next entry makes the arrays anew
        self.used = 0
        self.filled = 0
        self.n = 0

    def insert(self, key, value):
        """Adds an entry for a key that is in none."""
        hashed = hash_of(key)
        if self.filled >= len(self.hashes):
            self.rebuild()
        if self.key_items is None:
            self.key_items = filled(key, len(self.hashes))
        else:
            put(self.key_items, self.used, key)
        if value is not None:
            if self.value_items is None:
                self.value_items = filled(value, len(self.hashes))
            else:
                put(self.value_items, self.used, value)
        self.hashes[self.used] = hashed
        self.used += 1
        self.filled += 1
        self.n += 1
        settle(self.places, hashed, self.used)

    def remove_entry(self, entry):
        at = self.hashes[entry] & (len(self.places) - 1)
        while self.places[at] != entry + 1:
            at = (at + 1) & (len(self.places) - 1)
        self.places[at] = DELETED
        self.hashes[entry] = DELETED
        self.n -= 1

    def rebuild(self):
        """Without the deleted entries, and with twice the places that the others need at least."""
        size = 8
        while size < 4 * self.n:
            size *= 2
        room = 2 * size // 3
        places = np.zeros(size, np.int64)  # all arrays are there before one of them takes its place: memory may be missing
        key_items = moved(self.key_items, self.hashes, self.used, room)
        value_items = moved(self.value_items, self.hashes, self.used, room)
        hashes = moved(self.hashes, self.hashes, self.used, room)
        for k in range(self.n):
            settle(places, hashes[k], k + 1)
        self.key_items = key_items
        self.value_items = value_items
        self.hashes = hashes
        self.places = places
        self.used = self.n
        self.filled = self.n

    def last_entry(self):
        entry = self.used - 1
        while self.hashes[entry] == DELETED:
            entry -= 1
        return entry

    def remove_last(self, entry):
        self.remove_entry(entry)
        self.used = entry


def moved(items, hashes, used, room):
    """The items of the entries that are not deleted, in arrays with this room."""
    if items is None:
        return None
    if isinstance(items, tuple):
        return moved_row(items, hashes, used, room)
    if isinstance(items, Texts):
        return Texts(moved(items.words, hashes, used, room))
    made = items.with_room(room) if isinstance(items, Arrays) else np.empty(room, items.dtype)
    to = 0
    for k in range(used):
        if hashes[k] != DELETED:
            put(made, to, get(items, k))
            to += 1
    return made


def moved_row(items, hashes, used, room):
    if len(items) == 1:
        return (moved(items[0], hashes, used, room),)
    return (moved(items[0], hashes, used, room),) + moved_row(items[1:], hashes, used, room)


def array_of(items):
    if isinstance(items, tuple):
        raise TypingError("the items are tuples, which cannot become an array: loop over them")
    elif isinstance(items, Arrays):
        return items.stacked(items.room())
    elif isinstance(items, Texts):
        raise TypingError(NO_ARRAY)
    return items


def settle(places, hashed, entry):
    at = hashed & (len(places) - 1)
    while places[at] != 0:
        at = (at + 1) & (len(places) - 1)
    places[at] = entry


def entry_of(table, key):
    """The number of the key's entry, or -1."""
    if table.key_items is None:
        return -1
    hashed = hash_of(key)
    at = hashed & (len(table.places) - 1)
    while table.places[at] != 0:
        entry = table.places[at] - 1
        if entry >= 0 and get(table.key_items, entry) == key:
            return entry
        at = (at + 1) & (len(table.places) - 1)
    return -1


def live_entries(hashes, used, n):
    order = np.empty(n, np.int64)
    to = 0
    for k in range(used):
        if hashes[k] != DELETED:
            order[to] = k
            to += 1
    return order


def in_places(items, order):
    if items is None:
        return None
    if isinstance(items, tuple):
        return in_places_row(items, order)
    if isinstance(items, Arrays):
        return items.in_places(order)
    if isinstance(items, Texts):
        return Texts(in_places(items.words, order))
    return items[order]


def in_places_row(items, order):
    if len(items) == 1:
        return (in_places(items[0], order),)
    return (in_places(items[0], order),) + in_places_row(items[1:], order)


def live(items, table):
    """The arrays of the keys, or of the values, of the entries that are not deleted."""
    if table.n == table.used:
        return view(items, table.n)
    return view(in_places(items, live_entries(table.hashes, table.used, table.n)), table.n)


def live_view(items, table):
    if items is None:
        return View(None, 0)
    return View(live(items, table), table.n)


def as_key(keys, key, what):
    """The key in the type that the others have, so that equal ones have the same hash."""
    if isinstance(key, np.ndarray):
        raise TypingError("the ", what, " must be numbers, strings, or tuples of these, and this is an array, which has no hash: use its place, or a number that stands for it")
    check(keys, key, what)
    return converted(keys, key)


def ints_converted(keys, key):
    """The key with the types of the keys, where these are ints; of those that no key can be equal to, another one."""
    if isinstance(keys, tuple):
        if isinstance(key, tuple):
            if len(keys) == len(key):
                return ints_converted_row(keys, key)
        return key
    if keys is None or isinstance(keys, Texts) or isinstance(key, (bool, np.bool_)):
        return key
    if isinstance(key, (int, np.integer)):
        zero = keys.dtype.type(0)
        if isinstance(zero, np.unsignedinteger):
            return zero if key < 0 else keys.dtype.type(key)
        if isinstance(zero, np.integer):
            return keys.dtype.type(key)
    return key


def ints_converted_row(keys, key):
    if len(keys) == 1:
        return (ints_converted(keys[0], key[0]),)
    return (ints_converted(keys[0], key[0]),) + ints_converted_row(keys[1:], key[1:])


def are_same_ints(one, key):
    """Whether the conversion has kept the values of ints."""
    if isinstance(key, tuple):
        if len(key) > 1:
            return are_same_ints(one[0], key[0]) and are_same_ints(one[1:], key[1:])
        return are_same_ints(one[0], key[0])
    if isinstance(key, (int, np.integer)) and isinstance(one, (int, np.integer)):
        return one == key
    return True


def looked_up(table, key, what):
    """The entry with a key that is equal to this one, which may be an int of another type; -1: there is none."""
    one = ints_converted(table.key_items, key)
    return entry_of(table, as_key(table.key_items, one, what)) if are_same_ints(one, key) else -1


def converted(keys, key):
    if keys is None or isinstance(keys, Texts):
        return key
    if isinstance(keys, tuple):
        return converted_row(keys, key)
    if not isinstance(keys, np.ndarray):  # of arrays and other objects, which stay what they are
        return key
    return keys.dtype.type(key)


def converted_row(keys, key):
    if len(keys) == 1:
        return (converted(keys[0], key[0]),)
    return (converted(keys[0], key[0]),) + converted_row(keys[1:], key[1:])


def copied(items, n):
    return taken(items, 0, 1, n)


def missing(key):
    """An exception carries at most two numbers."""
    if isinstance(key, tuple):
        if len(key) > 2:
            raise KeyError("no such key")
        if isinstance(key[0], (tuple, complex)):
            raise KeyError("no such key")
        if isinstance(key[-1], (tuple, complex)):
            raise KeyError("no such key")
    raise KeyError(key)


# ---- loops over tables that change ----


def next_entry(table, entry):
    """The first entry from this one on that is not deleted."""
    while entry < table.used and table.hashes[entry] == DELETED:
        entry += 1
    return entry


def goes_on(table, entry, n):
    """Whether a loop has an entry to go on with; n: of the entries when it began."""
    if table.n != n:
        if isinstance(table, GrownSet):
            raise RuntimeError("Set changed size during iteration")
        raise RuntimeError("dictionary changed size during iteration")
    return next_entry(table, entry) < table.used


def check_loop(x):
    """Refuses a loop over a parameter that changes in it by a method that lists have, too, if it is no list."""
    if isinstance(x, Table):
        raise TypingError("a dict or a set that is an argument changes in a loop over it: loop over `list(x)`")


def key_of_entry(table, entry):
    return get(table.key_items, entry)


def value_of_entry(table, entry):
    return get(table.value_items, entry)


def item_of_entry(table, entry):
    return get(table.key_items, entry), get(table.value_items, entry)


# ---- dicts ----


class GrownDict(Table):
    def found(self, key):
        return looked_up(self, key, KEYS)

    def __contains__(self, key):
        return self.found(key) >= 0

    def __getitem__(self, key):
        entry = self.found(key)
        if entry < 0:
            missing(key)
        return get(self.value_items, entry)

    def __lentitem__(self, key):
        entry = self.found(key)
        if entry < 0:
            missing(key)
        return self.value_items.lent(entry)

    def __setitem__(self, key, value):
        check(self.value_items, value, VALUES)
        one = as_key(self.key_items, key, KEYS)
        entry = entry_of(self, one)
        if entry < 0:
            self.insert(one, value)
        else:
            put(self.value_items, entry, value)

    def __augment__(self, key, x, op):
        if isinstance(self.value_items, Arrays):
            entry = self.found(key)
            if entry < 0:
                missing(key)
            self.value_items.augment(entry, x, op)
        else:
            self[key] = augmented(self[key], x, op)

    def __delitem__(self, key):
        entry = self.found(key)
        if entry < 0:
            missing(key)
        self.remove_entry(entry)

    def get(self, key, default=None):
        entry = self.found(key)
        if self.value_items is None:
            return default
        if default is None:
            if isinstance(self.value_items, Arrays):
                self.value_items.check_optional()
            if entry < 0:
                return None
        elif entry < 0:
            return default
        return get(self.value_items, entry)

    def pop(self, key, default=Default.MISSING):
        entry = self.found(key)
        if default is Default.MISSING:
            if entry < 0:
                missing(key)
        else:
            if isinstance(default, str) and self.value_items is not None and not isinstance(self.value_items, Texts):
                raise TypingError("the default must be a number, an array or a tuple of these, as the values are")
            if entry < 0:
                return default
        value = get(self.value_items, entry)
        self.remove_entry(entry)
        return value

    def popitem(self):
        if self.n == 0:
            raise KeyError("popitem(): dictionary is empty")
        entry = self.last_entry()
        item = get(self.key_items, entry), get(self.value_items, entry)
        self.remove_last(entry)
        return item

    def setdefault(self, key, default):
        one = as_key(self.key_items, key, KEYS)
        entry = entry_of(self, one)
        if self.value_items is None or entry < 0:
            self[key] = default
            if isinstance(default, Shared):
                return self[key]  # another object with the same words: two names would be of one
            return default
        return get(self.value_items, entry)

    def keys(self):
        return live_view(self.key_items, self)

    def values(self):
        return live_view(self.value_items, self)

    def items(self):
        if self.key_items is None:
            return View((None, None), 0)
        return live_view((self.key_items, self.value_items), self)

    def update(self, other):
        if isinstance(other, GrownDict):
            if other.key_items is not None:
                for entry in range(other.used):
                    if other.hashes[entry] != DELETED:
                        self[get(other.key_items, entry)] = get(other.value_items, entry)
        else:
            for key, value in other:
                self[key] = value

    def copy(self):
        return GrownDict(copied(self.key_items, self.used), copied(self.value_items, self.used), copied(self.hashes, self.used), self.places.copy(), self.used, self.filled, self.n)

    def __or__(self, other):
        if not isinstance(other, GrownDict):
            raise TypingError("only a dict can be joined with a dict: write `d | dict(x)`")
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other):
        self.update(other)
        return self

    def __eq__(self, other):
        if not isinstance(other, GrownDict) or self.n != other.n:
            return False
        if self.key_items is not None and other.key_items is not None:
            for entry in range(self.used):
                if self.hashes[entry] != DELETED:
                    at = looked_up(other, get(self.key_items, entry), KEYS)
                    if at < 0 or get(other.value_items, at) != get(self.value_items, entry):
                        return False
        return True

    def __ne__(self, other):
        return not self == other


GrownDict.__name__ = "dict"  # as messages show it


def empty_dict():
    return GrownDict(None, None, np.empty(0, np.int64), first_places(), 0, 0, 0)


def dict_of(pairs):
    """`dict(x)`, of another dict or of pairs."""
    made = empty_dict()
    made.update(pairs)
    return made


# ---- keys(), values(), items() ----


class View(Items):
    """What a loop, `list`, `sorted` and the like go over. It has the items of the dict at the time of the call, so it is not kept."""

    def __array__(self):
        return array_of(view(self.items, self.n))

    def __contains__(self, x):
        for k in range(self.n):
            if get(self.items, k) == x:
                return True
        return False

    def __eq__(self, other):
        refuse_comparison()

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__


View.__name__ = "dict view"


def refuse_comparison():
    raise TypingError("keys(), values() and items() cannot be compared: write `set(d.keys()) == ...` or `list(d.values()) == ...`")


# ---- sets ----


class GrownSet(Table):
    def __contains__(self, x):
        return looked_up(self, x, ITEMS) >= 0

    def add(self, x):
        one = as_key(self.key_items, x, ITEMS)
        if entry_of(self, one) < 0:
            self.insert(one, None)

    def discard(self, x):
        entry = looked_up(self, x, ITEMS)
        if entry >= 0:
            self.remove_entry(entry)

    def remove(self, x):
        entry = looked_up(self, x, ITEMS)
        if entry < 0:
            missing(x)
        self.remove_entry(entry)

    def pop(self):
        if self.n == 0:
            raise KeyError("pop from an empty set")
        entry = self.last_entry()
        key = get(self.key_items, entry)
        self.remove_last(entry)
        return key

    def copy(self):
        return GrownSet(copied(self.key_items, self.used), None, copied(self.hashes, self.used), self.places.copy(), self.used, self.filled, self.n)

    def update(self, other):
        if isinstance(other, (GrownList, Table)):
            others = items_of(other)
            if others.items is not None:
                for k in range(others.n):
                    self.add(get(others.items, k))
        else:
            for x in other:
                self.add(x)

    def union(self, other):
        made = self.copy()
        made.update(other)
        return made

    def difference_update(self, other):
        others = items_of(other)
        if others.items is not None:
            for k in range(others.n):
                self.discard(get(others.items, k))

    def difference(self, other):
        made = self.copy()
        made.difference_update(other)
        return made

    def intersection(self, other):
        made = empty_set()
        others = items_of(other)
        if others.items is not None:
            for k in range(others.n):
                if get(others.items, k) in self:
                    made.add(get(others.items, k))
        return made

    def intersection_update(self, other):
        others = set_of(other)
        if self.key_items is not None:
            for entry in range(self.used):
                if self.hashes[entry] != DELETED and get(self.key_items, entry) not in others:
                    self.remove_entry(entry)

    def symmetric_difference_update(self, other):
        others = items_of(set_of(other))
        if others.items is not None:
            for k in range(others.n):
                x = get(others.items, k)
                if x in self:
                    self.remove(x)
                else:
                    self.add(x)

    def symmetric_difference(self, other):
        made = self.copy()
        made.symmetric_difference_update(other)
        return made

    def issubset(self, other):
        return is_within(self, set_of(other))

    def issuperset(self, other):
        return is_within(set_of(other), self)

    def isdisjoint(self, other):
        others = items_of(other)
        if others.items is not None:
            for k in range(others.n):
                if get(others.items, k) in self:
                    return False
        return True

    def __or__(self, other):
        return self.union(a_set(other))

    def __and__(self, other):
        return self.intersection(a_set(other))

    def __sub__(self, other):
        return self.difference(a_set(other))

    def __xor__(self, other):
        return self.symmetric_difference(a_set(other))

    def __ior__(self, other):
        self.update(a_set(other))
        return self

    def __iand__(self, other):
        self.intersection_update(a_set(other))
        return self

    def __isub__(self, other):
        self.difference_update(a_set(other))
        return self

    def __ixor__(self, other):
        self.symmetric_difference_update(a_set(other))
        return self

    def __eq__(self, other):
        return isinstance(other, GrownSet) and self.n == other.n and is_within(self, other)

    def __ne__(self, other):
        return not self == other

    def __le__(self, other):
        return is_within(self, a_set(other))

    def __lt__(self, other):
        return self.n < len(a_set(other)) and is_within(self, other)

    def __ge__(self, other):
        return is_within(a_set(other), self)

    def __gt__(self, other):
        return len(a_set(other)) < self.n and is_within(other, self)


GrownSet.__name__ = "set"


def items_of(x):
    """A list of what a method of sets is given."""
    if not isinstance(x, Table):
        return listed(x)
    if x.key_items is None:
        return GrownList(None, 0)
    return GrownList(live(x.key_items, x), x.n)


def a_set(x):
    """An operand: operators of sets take no other iterables."""
    if not isinstance(x, GrownSet):
        raise TypingError("only a set can be combined or compared with a set: write `set(x)`")
    return x


def is_within(x, y):
    if x.key_items is not None:
        for entry in range(x.used):
            if x.hashes[entry] != DELETED and get(x.key_items, entry) not in y:
                return False
    return True


def empty_set():
    return GrownSet(None, None, np.empty(0, np.int64), first_places(), 0, 0, 0)


def set_of(items):
    """`set(x)`"""
    if isinstance(items, GrownSet):
        return items.copy()
    made = empty_set()
    made.update(items)
    return made


# ---- del ----


def delete(x, i):
    """`del x[i]`"""
    if isinstance(x, (GrownList, GrownDict)):
        x.__delitem__(i)
    elif isinstance(x, (np.ndarray, tuple)):
        raise TypingError("only items of lists and dicts can be deleted: `np.delete(x, i)` makes an array without an element")
    else:
        operator.delitem(x, i)


# ---- results ----


def in_python(items: Any, values: Any, hashes: Any, places: Any, used: int, filled: int, n: int) -> Any:
    """The dict. Not compiled."""
    entries = zip(_growing_lists.in_python(items, used), _growing_lists.in_python(values, used), hashes)
    return {key: value for key, value, hashed in entries if hashed != DELETED}


def set_in_python(items: Any, values: Any, hashes: Any, places: Any, used: int, filled: int, n: int) -> Any:
    """The set. Not compiled."""
    return {item for item, hashed in zip(_growing_lists.in_python(items, used), hashes) if hashed != DELETED}
