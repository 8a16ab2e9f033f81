"""Lists that grow, ``out = []`` and ``out.append(x)``, in compiled code.

In compiled code a list is an object of `GrownList`: the array of its items, which has room for more, and their number. Its methods are
those of Python's lists. Nobody knows the dtype of a list without items, so its array is None; where such a list meets
one with items, None becomes an array without elements (core/front/join.c). The items of a list of tuples are a tuple of arrays, one for each item
of the tuples; those of a list of arrays are `Arrays` (lanewise/_growing_lists_arrays.py), and those of a list of strings `Texts`, which has an
array of words (lanewise/_growing_lists_texts.py).

Which expressions make such lists is said by lanewise/_list_displays.py and, for comprehensions, by lanewise/_generator_expressions.py.

The class and the functions are compiled and never called, except `in_python`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise._growing_lists_arrays import Arrays, Shared, slots_for
from lanewise._growing_lists_texts import Texts, word_of
from lanewise.errors import TypingError


ITEMS = "items of this list"
NO_TYPE = "nothing has been put into this list, dict or set before it is read here, so its items have no type: put an item into it where it is made, or make it by `lanewise.typed.Dict.empty(key_type, value_type)` or `lanewise.typed.List.empty_list(item_type)`"
NO_ARRAY = "no array of strings is made, as NumPy's functions, `any` and `all` need it: use a loop, or numbers that stand for the strings"
NARROW = " have a type of fewer bits than this one: convert it, or the first one"


class NoTypeYet(TypingError):
    """An item is read from a list into which nothing has been put so far; another path may put the first one (core/front/infer/infer.c)."""


def place(i, n):
    at = i + n if i < 0 else i
    if at < 0 or at >= n:
        raise IndexError("list index out of range")
    return at


def bounds(start, stop, step, n):
    """The start, the step and the number of the items of a slice."""
    by = 1 if step is None else step
    if by == 0:
        raise ValueError("slice step cannot be zero")
    lower = 0 if by > 0 else -1
    upper = n if by > 0 else n - 1
    first = (lower if by > 0 else upper) if start is None else clipped(start, n, lower, upper)
    last = (upper if by > 0 else lower) if stop is None else clipped(stop, n, lower, upper)
    return first, by, max(0, (last - first + by - 1) // by if by > 0 else (first - last - by - 1) // -by)


def clipped(bound, n, lower, upper):
    if bound < 0:
        return max(bound + n, lower)
    return min(bound, upper)


# ---- items: an array, a tuple of items, or None ----


def get(items, at):
    if items is None:
        raise NoTypeYet(NO_TYPE)
    if isinstance(items, tuple):
        return get_row(items, at)
    if isinstance(items, (Arrays, Texts)):
        return items.get(at)
    return items[at]


def check_width(x, y, what):
    """Whether x is not wider than y, another number of its kind."""
    if isinstance(x, (np.int8, np.uint8)):
        pass
    elif isinstance(x, (np.int16, np.uint16, np.float16)):
        if isinstance(y, (np.int8, np.uint8)):
            raise TypingError("the ", what, NARROW)
    elif isinstance(x, (np.int32, np.uint32, np.float32)):
        if isinstance(y, (np.int8, np.uint8, np.int16, np.uint16, np.float16)):
            raise TypingError("the ", what, NARROW)
    elif isinstance(y, (np.int8, np.uint8, np.int16, np.uint16, np.float16, np.int32, np.uint32, np.float32)):
        raise TypingError("the ", what, NARROW)


def check_first(x, what):
    """Whether x may be the first item."""
    if isinstance(x, tuple):
        check_first(x[0], what)
        if len(x) > 1:
            check_first(x[1:], what)
    elif not isinstance(x, (bool, np.bool_, int, float, complex, np.number, np.ndarray, str, Shared)):
        raise TypingError("the ", what, " must be numbers, strings, arrays, lists or dicts that are made for it, or tuples of these: write `list(x)` for a list that was made elsewhere, a dict `{v: True}` for a set, and a tuple or one list for each field for objects")


def check(items, x, what):
    """Whether x keeps its value among the items."""
    if items is None:
        check_first(x, what)
    elif isinstance(items, tuple):
        if not isinstance(x, tuple):
            raise TypingError("the ", what, " are tuples, but this is not one: all must have one type")
        elif len(x) != len(items):
            raise TypingError("the ", what, " are tuples of another length: all must have one type")
        else:
            check(items[0], x[0], what)
            if len(items) > 1:
                check(items[1:], x[1:], what)
    elif isinstance(items, Arrays):
        items.check(x, what)
    elif isinstance(items, Texts):
        if not isinstance(x, str):
            raise TypingError("the ", what, " are strings, but this is not one: all must have one type")
    elif not isinstance(x, (bool, np.bool_, int, float, complex, np.number)):
        raise TypingError("the ", what, " are numbers, but this is not one: all must have one type")
    else:
        check_number(x, items.dtype.type(0), what)


def check_number(x, y, what):
    """The same for y, a number of the type of the items."""
    if isinstance(x, (bool, np.bool_)):
        if not isinstance(y, np.bool_):
            raise TypingError("the ", what, " are numbers, and this is a bool: write int(x)")
    elif isinstance(y, np.bool_):
        raise TypingError("the ", what, " are bools, and this is a number: use 0 and 1 for the first items")
    elif isinstance(x, (int, np.integer)) and isinstance(y, np.integer):
        if isinstance(x, np.unsignedinteger) != isinstance(y, np.unsignedinteger):
            raise TypingError("the ", what, " are signed integers, and this one is not, or the reverse: convert the item, or the first one")
        check_width(x, y, what)
    elif isinstance(x, (float, np.floating)) and isinstance(y, np.integer):
        raise TypingError("the ", what, " are ints, and this is a float: begin with a float, 0.0, or convert the item")
    elif isinstance(x, (float, np.floating)) and isinstance(y, np.floating):
        check_width(x, y, what)
    elif isinstance(x, (complex, np.complexfloating)) and not isinstance(y, np.complexfloating):
        raise TypingError("the ", what, " are real numbers, and this is a complex one: begin with 0j")


def get_row(items, at):
    if len(items) == 1:
        return (get(items[0], at),)
    return (get(items[0], at),) + get_row(items[1:], at)


def put(items, at, x):
    if items is None:
        raise NoTypeYet(NO_TYPE)
    if isinstance(items, tuple):
        put_row(items, at, x)
    elif isinstance(items, (Arrays, Texts)):
        items.put(at, x)
    else:
        items[at] = x


def put_row(items, at, x):
    put(items[0], at, x[0])
    if len(items) > 1:
        put_row(items[1:], at, x[1:])


def appended(items, n, x):
    """The items with x as the item n."""
    if isinstance(x, tuple):
        return appended_row(items, n, x)
    if isinstance(x, (np.ndarray, Shared)):
        return appended_array(items, n, x)
    if isinstance(x, str):
        return Texts(appended(None if items is None else items.words, n, word_of(x)))
    if items is None:
        first = np.array([x])
        made = np.empty(8, first.dtype)
        made[0] = x
        return made
    if n < items.shape[0]:
        items[n] = x
        return items
    more = grown(items, n)
    more[n] = x
    return more


def appended_array(items, n, x):
    more = slots_for(x, 8) if items is None else items.grown(n)
    more.put(n, x)
    return more


def appended_row(items, n, x):
    if items is None:
        if len(x) == 1:
            return (appended(None, n, x[0]),)
        return (appended(None, n, x[0]),) + appended_row(None, n, x[1:])
    if len(x) == 1:
        return (appended(items[0], n, x[0]),)
    return (appended(items[0], n, x[0]),) + appended_row(items[1:], n, x[1:])


def grown(items, n):
    """A copy of the first n items, with room for as many again."""
    more = np.empty(max(8, 2 * n), items.dtype)
    for k in range(n):  # a copy of slices, which may be anywhere, takes more code
        more[k] = items[k]
    return more


def room(items):
    """How many items the arrays have room for."""
    if items is None:
        return 0
    if isinstance(items, tuple):
        return room(items[0])
    if isinstance(items, Arrays):
        return items.room()
    if isinstance(items, Texts):
        return room(items.words)
    return items.shape[0]


def view(items, n):
    """The arrays with the first n items."""
    if items is None:
        return np.empty(0, np.int64)
    if isinstance(items, tuple):
        return view_rows(items, n)
    if isinstance(items, Arrays):
        return items.first(n)
    if isinstance(items, Texts):
        return Texts(view(items.words, n))
    return items[:n]


def view_rows(items, n):
    if len(items) == 1:
        return (view(items[0], n),)
    return (view(items[0], n),) + view_rows(items[1:], n)


def matrix(items, n):
    """An array of two axes with the first n items, which are tuples of numbers."""
    made = np.empty((n, len(items)), np.array(zeros(items)).dtype)
    store_columns(made, items, n, 0)
    return made


def zeros(items):
    if isinstance(items[0], Arrays):
        raise TypingError("an array of a list of tuples that contain arrays: make a list of numbers or of arrays")
    elif isinstance(items[0], Texts):
        raise TypingError(NO_ARRAY)
    elif isinstance(items[0], tuple):
        raise TypingError("an array of a list of tuples that contain tuples: make a list of plain tuples")
    zero = items[0].dtype.type(0)
    if len(items) == 1:
        return (zero,)
    return (zero,) + zeros(items[1:])


def store_columns(made, items, n, j):
    made[:, j] = items[0][:n]
    if len(items) > 1:
        store_columns(made, items[1:], n, j + 1)


def taken(items, start, step, n):
    """A copy of n items."""
    if items is None:
        return None
    if isinstance(items, tuple):
        return taken_rows(items, start, step, n)
    if isinstance(items, Arrays):
        return items.taken(start, step, n)
    if isinstance(items, Texts):
        return Texts(taken(items.words, start, step, n))
    made = np.empty(n, items.dtype)
    for k in range(n):
        made[k] = items[start + k * step]
    return made


def taken_rows(items, start, step, n):
    if len(items) == 1:
        return (taken(items[0], start, step, n),)
    return (taken(items[0], start, step, n),) + taken_rows(items[1:], start, step, n)


def check_comparable(x):
    if isinstance(x.items, Arrays):
        x.items.check_comparable()


def check_order(x):
    """Whether x has a place among other values of its type."""
    if isinstance(x, tuple):
        check_order(x[0])
        if len(x) > 1:
            check_order(x[1:])
    elif isinstance(x, np.ndarray):
        raise TypingError("arrays have no order: sort by a key, `key=lambda x: x.sum()`")
    elif isinstance(x, (list, dict)):
        raise TypingError("lists and dicts in a list have no order here: sort by a key, `key=lambda x: x[0]`")
    elif isinstance(x, (complex, np.complexfloating)):
        raise TypingError("complex numbers have no order: sort by a key, `key=lambda z: z.real` or `key=abs`")


def check_order_of(items):
    if isinstance(items, Arrays):
        raise TypingError("arrays, lists and dicts have no order: give a key, `key=lambda x: x[0]`")


def in_order(items, order):
    """Puts the item order[k] at place k."""
    if isinstance(items, tuple):
        in_order(items[0], order)
        if len(items) > 1:
            in_order(items[1:], order)
    elif isinstance(items, Arrays):
        sorted_items = items.in_places(order)
        for k in range(len(order)):
            items.put(k, sorted_items.get(k))
    elif isinstance(items, Texts):
        in_order(items.words, order)
    else:
        items[: len(order)] = items[: len(order)][order]


def order_of(items, n, order):
    """The places of the first n items, sorted by their values; items of the same value in the given order."""
    if isinstance(items, tuple):
        if len(items) > 1:
            return order_of(items[0], n, order_of(items[1:], n, order))
        return order_of(items[0], n, order)
    if isinstance(items, Texts):
        return items.order_of(order)
    return order[np.argsort(items[:n][order], kind="stable")]


def augmented(old, x, op):
    """What `x[i] += v` and the like store; op: the operator, a constant."""
    if op == "+":
        return old + x
    elif op == "-":
        return old - x
    elif op == "*":
        return old * x
    elif op == "/":
        return old / x
    elif op == "//":
        return old // x
    elif op == "%":
        return old % x
    elif op == "**":
        return old**x
    elif op == "&":
        return old & x
    elif op == "|":
        return old | x
    elif op == "^":
        return old ^ x
    elif op == "<<":
        return old << x
    elif op == ">>":
        return old >> x
    else:
        raise TypingError("this operator has no meaning for items of a list or values of a dict")


# ---- lists ----


class Items:
    """What lists and the views of dicts have in common."""

    def __init__(self, items, n):
        self.items = items
        self.n = n

    def __len__(self):
        return self.n

    def __bool__(self):
        return self.n > 0

    def __iter__(self):
        return iter(view(self.items, self.n))

    def __max__(self):
        check_order_of(self.items)
        if self.n == 0:
            raise ValueError("max() iterable argument is empty")
        return extreme_of(self.items, self.n, 1)

    def __min__(self):
        check_order_of(self.items)
        if self.n == 0:
            raise ValueError("min() iterable argument is empty")
        return extreme_of(self.items, self.n, -1)


class GrownList(Items):
    def __array__(self):
        if isinstance(self.items, tuple):
            return matrix(self.items, self.n)
        if isinstance(self.items, Arrays):
            return self.items.stacked(self.n)
        if isinstance(self.items, Texts):
            raise TypingError(NO_ARRAY)
        return view(self.items, self.n)

    def __getitem__(self, i):
        return get(self.items, place(i, self.n))

    def __lentitem__(self, i):
        return self.items.lent(place(i, self.n))

    def __getslice__(self, start=None, stop=None, step=None):
        first, by, n = bounds(start, stop, step, self.n)
        return GrownList(taken(self.items, first, by, n), n)

    def __setitem__(self, i, x):
        check(self.items, x, ITEMS)
        put(self.items, place(i, self.n), x)

    def __setslice__(self, x, start=None, stop=None, step=None):
        first, by, n = bounds(start, stop, step, self.n)
        new = listed(x)
        if step is not None and by != 1:
            if new.n != n:
                raise ValueError("attempt to assign sequence to extended slice of another size")
            if new.items is not None:
                for k in range(n):
                    put(self.items, first + k * by, get(new.items, k))
        else:
            rest = self.__getslice__(first + n)
            self.n = first
            self.extend(new)
            self.extend(rest)

    def __augment__(self, i, x, op):
        at = place(i, self.n)
        if isinstance(self.items, Arrays):
            self.items.augment(at, x, op)
        else:
            put(self.items, at, augmented(get(self.items, at), x, op))

    def __delitem__(self, i):
        self.pop(i)

    def __delslice__(self, start=None, stop=None, step=None):
        first, by, n = bounds(start, stop, step, self.n)
        if by < 0:
            first, by = first + (n - 1) * by, -by
        to = first
        for k in range(first, self.n):
            if k >= first + n * by or (k - first) % by != 0:
                put(self.items, to, get(self.items, k))
                to += 1
        if n > 0:
            self.n -= n

    def append(self, x):
        check(self.items, x, ITEMS)
        if self.items is not None and self.n < room(self.items):
            put(self.items, self.n, x)
        else:
            self.items = appended(self.items, self.n, x)
        self.n += 1

    def extend(self, others):
        if isinstance(others, GrownList):
            if others.items is not None:
                for k in range(others.n):
                    self.append(get(others.items, k))
        else:
            for x in others:
                self.append(x)

    def insert(self, i, x):
        at = max(i + self.n, 0) if i < 0 else min(i, self.n)
        self.append(x)
        for k in range(self.n - 1, at, -1):
            put(self.items, k, get(self.items, k - 1))
        put(self.items, at, x)

    def pop(self, i=-1):
        if self.n == 0:
            raise IndexError("pop from empty list")
        if i == -1:
            self.n -= 1
            return get(self.items, self.n)
        at = i + self.n if i < 0 else i
        if at < 0 or at >= self.n:
            raise IndexError("pop index out of range")
        x = get(self.items, at)
        for k in range(at, self.n - 1):
            put(self.items, k, get(self.items, k + 1))
        self.n -= 1
        return x

    def remove(self, x):
        at = found(self, x, 0, self.n)
        if at < 0:
            raise ValueError("list.remove(x): x not in list")
        self.pop(at)

    def clear(self):
        self.n = 0

    def copy(self):
        return GrownList(taken(self.items, 0, 1, self.n), self.n)

    def reverse(self):
        for k in range(self.n // 2):
            x = get(self.items, k)
            put(self.items, k, get(self.items, self.n - 1 - k))
            put(self.items, self.n - 1 - k, x)

    def sort(self, *, key=None, reverse=False):
        if self.items is not None and self.n > 1:
            check_order(get(self.items, 0) if key is None else key(get(self.items, 0)))
            if reverse:
                self.reverse()  # so that items of the same value stay in their order
            if key is not None:
                keys = GrownList(None, 0)
                for k in range(self.n):
                    keys.append(key(get(self.items, k)))
                in_order(self.items, order_of(keys.items, self.n, np.arange(self.n)))
            elif isinstance(self.items, (tuple, Arrays, Texts)):
                in_order(self.items, order_of(self.items, self.n, np.arange(self.n)))
            elif isinstance(self.items.dtype.type(0), np.floating):
                self.items[: self.n].sort(kind="stable")  # zeros of both signs are equal, and stay in their order
            else:
                self.items[: self.n].sort()
            if reverse:
                self.reverse()

    def index(self, x, start=0, stop=None):
        first, by, n = bounds(start, stop, None, self.n)
        at = found(self, x, first, first + n)
        if at < 0:
            raise ValueError("list.index(x): x not in list")
        return at

    def count(self, x):
        check_comparable(self)
        total = 0
        if self.items is not None:
            for k in range(self.n):
                if get(self.items, k) == x:
                    total += 1
        return total

    def __contains__(self, x):
        return found(self, x, 0, self.n) >= 0

    def __add__(self, other):
        check_list(other, "+")
        made = self.copy()
        made.extend(other)
        return made

    def __radd__(self, other):
        check_list(other, "+")
        made = listed(other)
        made.extend(self)
        return made

    def __iadd__(self, other):
        self.extend(other)
        return self

    def __mul__(self, n):
        return repeated(self, n)

    def __rmul__(self, n):
        return repeated(self, n)

    def __imul__(self, n):
        check_times(n)
        times = max(n, 0)
        self.items = repeated_items(self.items, self.n, times)
        self.n *= times
        return self

    def __eq__(self, other):
        if isinstance(other, np.ndarray):
            return np.asarray(self) == other
        return isinstance(other, (list, GrownList)) and compared(self, listed(other)) == 0

    def __ne__(self, other):
        if isinstance(other, np.ndarray):
            return np.asarray(self) != other
        return not isinstance(other, (list, GrownList)) or compared(self, listed(other)) != 0

    def __lt__(self, other):
        if isinstance(other, np.ndarray):
            return np.asarray(self) < other
        check_list(other, "<")
        return compared(self, listed(other)) == -1

    def __le__(self, other):
        if isinstance(other, np.ndarray):
            return np.asarray(self) <= other
        check_list(other, "<=")
        sign = compared(self, listed(other))
        return sign == -1 or sign == 0

    def __gt__(self, other):
        if isinstance(other, np.ndarray):
            return np.asarray(self) > other
        check_list(other, ">")
        return compared(self, listed(other)) == 1

    def __ge__(self, other):
        if isinstance(other, np.ndarray):
            return np.asarray(self) >= other
        check_list(other, ">=")
        sign = compared(self, listed(other))
        return sign == 1 or sign == 0


GrownList.__name__ = "list"  # as messages show it


def empty():
    return GrownList(None, 0)


def listed(x):
    """A new list of these items."""
    if isinstance(x, GrownList):
        return GrownList(taken(x.items, 0, 1, x.n), x.n)
    made = GrownList(None, 0)
    made.extend(x)
    return made


def apart(x):
    """What a variable adds to itself: a copy of a list, and other values as they are."""
    if isinstance(x, GrownList):
        return x.copy()
    return x


def delete_slice(x, start=None, stop=None, step=None):
    """`del x[start:stop:step]`"""
    if isinstance(x, GrownList):
        x.__delslice__(start, stop, step)
    else:
        raise TypingError("only items of lists can be deleted: `np.delete(x, np.arange(start, stop))` makes an array without elements")


def check_enough(x, n):
    """Whether ``a, *b = x`` finds n items."""
    if len(x) < n:
        raise ValueError("not enough values to unpack")


def check_list(x, op):
    """Whether an operand beside a list is one."""
    if isinstance(x, tuple):
        if op == "+":
            raise TypingError("only a list can be added to a list: write `x + list(t)`")
        else:
            raise TypingError("a list and a tuple have no order: write `list(t)`")
    elif not isinstance(x, (list, GrownList)):
        if op == "+":
            raise TypingError("only a list can be added to a list: write `x + [v]`, or `np.array(x) + v`, which adds to each item")
        else:
            raise TypingError("a list has no order among other values: compare it with a list, or `np.array(x)`, whose items are compared one by one")


def check_times(n):
    if not isinstance(n, (bool, np.bool_, int, np.integer)):
        raise TypingError("a list can be repeated by an int only: `np.array(x) * v` multiplies each item")


def repeated(x, n):
    """`x * n`, where x is a list."""
    check_times(n)
    times = max(n, 0)
    return GrownList(repeated_items(x.items, x.n, times), x.n * times)


def repeated_items(items, n, times):
    if items is None:
        return None
    if times > 0 and n > (1 << 62) // times:
        raise MemoryError("there is no memory for so many items of a list")
    if isinstance(items, tuple):
        return repeated_rows(items, n, times)
    if isinstance(items, Arrays):
        return items.repeated(n, times)
    if isinstance(items, Texts):
        return Texts(repeated_items(items.words, n, times))
    made = np.empty(n * times, items.dtype)
    for k in range(times):
        for j in range(n):
            made[k * n + j] = items[j]
    return made


def repeated_rows(items, n, times):
    if len(items) == 1:
        return (repeated_items(items[0], n, times),)
    return (repeated_items(items[0], n, times),) + repeated_rows(items[1:], n, times)


def repeated_item(x, n):
    """`[x] * n`"""
    check_times(n)
    times = max(n, 0)
    return GrownList(filled(x, times), times)


def filled(x, n):
    check_first(x, ITEMS)
    if isinstance(x, tuple):
        return filled_row(x, n)
    if isinstance(x, (np.ndarray, Shared)):
        made = slots_for(x, n)
        for k in range(n):
            made.put(k, x)
        return made
    if isinstance(x, str):
        return Texts(filled(word_of(x), n))
    first = np.array([x])
    made = np.empty(n, first.dtype)
    made[:] = x
    return made


def filled_row(x, n):
    if len(x) == 1:
        return (filled(x[0], n),)
    return (filled(x[0], n),) + filled_row(x[1:], n)


def extreme_of(items, n, sign):
    """The greatest item, for the sign 1, or the least one, for -1, of tuples."""
    best = get(items, 0)
    for k in range(1, n):
        y = get(items, k)
        if (y > best) if sign > 0 else (y < best):
            best = y
    return best


def found(x, value, start, stop):
    """The first place of the value, or -1."""
    check_comparable(x)
    if x.items is not None:
        for k in range(start, stop):
            if get(x.items, k) == value:
                return k
    return -1


def compared(x, y):
    """-1, 0 or 1, as x is less than y, equal to it, or greater; 2: neither."""
    check_comparable(x)
    if x.items is not None and y.items is not None:
        for k in range(min(x.n, y.n)):
            a, b = get(x.items, k), get(y.items, k)
            if not a == b:
                return -1 if a < b else 1 if a > b else 2
    return -1 if x.n < y.n else 1 if x.n > y.n else 0


# ---- heapq ----


def sift_down(items, start, at):
    """As heapq's _siftdown: the item moves up to its place."""
    x = get(items, at)
    while at > start:
        parent = (at - 1) // 2
        y = get(items, parent)
        if not x < y:
            break
        put(items, at, y)
        at = parent
    put(items, at, x)


def sift_up(items, at, n):
    """As heapq's _siftup: the smaller child moves up until a leaf is reached, then the item moves up to its place."""
    start = at
    x = get(items, at)
    child = 2 * at + 1
    while child < n:
        if child + 1 < n and not get(items, child) < get(items, child + 1):
            child += 1
        put(items, at, get(items, child))
        at = child
        child = 2 * at + 1
    put(items, at, x)
    sift_down(items, start, at)


def heappush(heap, item):
    heap.append(item)
    sift_down(heap.items, 0, heap.n - 1)


def heappop(heap):
    last = heap.pop()
    if heap.n == 0:
        return last
    x = get(heap.items, 0)
    put(heap.items, 0, last)
    sift_up(heap.items, 0, heap.n)
    return x


def heapify(x):
    if x.items is not None:
        for at in range(x.n // 2 - 1, -1, -1):
            sift_up(x.items, at, x.n)


def heapreplace(heap, item):
    x = heap[0]
    heap[0] = item
    sift_up(heap.items, 0, heap.n)
    return x


def heappushpop(heap, item):
    if heap.n == 0 or not heap[0] < item:
        return item
    return heapreplace(heap, item)


def nsmallest(n, iterable, key=None):
    return sorted(iterable, key=key)[: max(n, 0)]


def nlargest(n, iterable, key=None):
    return sorted(iterable, key=key, reverse=True)[: max(n, 0)]


# ---- bisect ----


def bisect_left(a, x, lo=0, hi=None, *, key=None):
    if lo < 0:
        raise ValueError("lo must be non-negative")
    low = lo
    high = last_place(a, hi)
    while low < high:
        middle = (low + high) // 2
        y = a[middle]
        if (y if key is None else key(y)) < x:
            low = middle + 1
        else:
            high = middle
    return low


def bisect_right(a, x, lo=0, hi=None, *, key=None):
    if lo < 0:
        raise ValueError("lo must be non-negative")
    low = lo
    high = last_place(a, hi)
    while low < high:
        middle = (low + high) // 2
        y = a[middle]
        if x < (y if key is None else key(y)):
            high = middle
        else:
            low = middle + 1
    return low


def last_place(a, hi):
    high = len(a) if hi is None else hi
    if high > len(a):
        raise IndexError("list index out of range")
    return high


def insort_left(a, x, lo=0, hi=None, *, key=None):
    check_growing(a)
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


def insort_right(a, x, lo=0, hi=None, *, key=None):
    check_growing(a)
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


def check_growing(a):
    if not isinstance(a, GrownList):
        raise TypingError("an item can be inserted into a list that the function has made only: `x = list(a)`")


# ---- max(x, key=f) ----


def greatest(*items, key=None):
    if len(items) == 1 and isinstance(items[0], Items):
        x = items[0] if isinstance(items[0], GrownList) else listed(items[0])
        place = place_of_most(x, key, 1)
        if place < 0:
            raise ValueError("max() iterable argument is empty")
        return x[place]
    best = most(items[0], key, 1) if len(items) == 1 else most(items, key, 1)
    if best is None:
        raise ValueError("max() iterable argument is empty")
    return best


def least(*items, key=None):
    if len(items) == 1 and isinstance(items[0], Items):
        x = items[0] if isinstance(items[0], GrownList) else listed(items[0])
        place = place_of_most(x, key, -1)
        if place < 0:
            raise ValueError("min() iterable argument is empty")
        return x[place]
    best = most(items[0], key, -1) if len(items) == 1 else most(items, key, -1)
    if best is None:
        raise ValueError("min() iterable argument is empty")
    return best


def greatest_or(x, /, *, default, key=None):
    best = most(x, key, 1)
    return default if best is None else best


def least_or(x, /, *, default, key=None):
    best = most(x, key, -1)
    return default if best is None else best


def greatest_in_range(*bounds, key):
    best = most_in_range(bounds, key, 1)
    if best is None:
        raise ValueError("max() iterable argument is empty")
    return best


def least_in_range(*bounds, key):
    best = most_in_range(bounds, key, -1)
    if best is None:
        raise ValueError("min() iterable argument is empty")
    return best


def greatest_in_range_or(*bounds, default, key=None):
    best = most_in_range(bounds, key, 1)
    return default if best is None else best


def least_in_range_or(*bounds, default, key=None):
    best = most_in_range(bounds, key, -1)
    return default if best is None else best


def most_in_range(bounds, key, sign):
    best = None
    value = None
    for y in range(*bounds):
        of_y = y if key is None else key(y)
        if value is None or (of_y > value if sign > 0 else of_y < value):
            best = y
            value = of_y
    return best


def reduced(f, x, *first):
    """functools.reduce(f, x, first)."""
    made = x if isinstance(x, (GrownList, tuple, np.ndarray)) else listed(x)
    if len(first) == 0:
        if len(made) == 0:
            raise TypeError("reduce() of empty iterable with no initial value")
        result = made[0]
        for i in range(1, len(made)):
            result = f(result, made[i])
        return result
    result = first[0]
    for i in range(len(made)):
        result = f(result, made[i])
    return result


def place_of_most(x, key, sign):
    """The place of the item that `most` gives, in a list, whose items cannot be None; -1: there are no items."""
    place = -1
    value = None
    for i in range(len(x)):
        of_y = x[i] if key is None else key(x[i])
        if value is None or (of_y > value if sign > 0 else of_y < value):
            place = i
            value = of_y
    return place


def most(x, key, sign):
    """The first item whose key is greatest, for the sign 1, or least, for -1; None: there are no items."""
    best = None
    value = None
    for y in x:
        of_y = y if key is None else key(y)
        if value is None or (of_y > value if sign > 0 else of_y < value):
            best = y
            value = of_y
    return best


def sorted(x, /, *, key=None, reverse=False):
    made = listed(x)
    made.sort(key=key, reverse=reverse)
    return made


def in_python(items: Any, n: int) -> Any:
    """The list. Not compiled."""
    if items is None:
        return []
    if isinstance(items, tuple):
        return [*zip(*(in_python(part, n) for part in items))]
    if not isinstance(items, list):
        return items[:n].tolist()
    from lanewise import typed

    return [*map(typed._in_python, items[:n])]  # arrays, strings, or typed lists and dicts
