"""numba's typed containers: lists and dicts that Python and compiled functions share.

A `List` or `Dict` is passed to functions of `njit`, which change it in place, and is used in Python like a list or a dict. See docs/supported.md.

    >>> from lanewise.typed import Dict, List
    >>> @lw.njit
    ... def squares(out, n):
    ...     for i in range(n):
    ...         out.append(i * i)
    >>> x = List([100])
    >>> squares(x, 4)
    >>> x
    ListType[int64]([100, 0, 1, 4, 9])
"""

from __future__ import annotations

import operator
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence
from typing import Any

import numpy as np

from lanewise import _core, _growing_dicts, types
from lanewise import _typed_containers as _compiled
from lanewise._core import jit
from lanewise._growing_lists_arrays import ArrayKind
from lanewise._growing_lists_texts import Texts, no_texts

__all__ = ["Dict", "List"]

typedlist = typeddict = sys.modules[__name__]  # numba's modules of List and of Dict

_BY_PYTHON = {int: types.int64, float: types.float64, bool: types.bool_, complex: types.complex128}


# ---- types of items ----


def _like(type_: Any, what: str) -> Any:
    """Arrays without elements that say what type the items have."""
    if isinstance(type_, types.Tuple):
        return tuple(_like(one, what) for one in type_)  # type: ignore[attr-defined]
    if type_ is str or type_ == types.unicode_type:
        return no_texts()
    if isinstance(type_, types.ListType):
        return List.empty_list(type_.item_type)
    if isinstance(type_, types.DictType):
        return Dict.empty(type_.key_type, type_.value_type)
    if isinstance(type_, types.Array) and isinstance(type_.dtype, np.dtype):
        return _array_kind(type_.dtype, type_.ndim, type_.layout == "C", type_.mutable)
    try:
        given: Any = _BY_PYTHON.get(type_, type_) if isinstance(type_, type) else type_
        dtype = np.dtype(getattr(given, "dtype", given))
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in "biufc" or getattr(type_, "ndim", None) or type_ is None:
        raise TypeError(f"{what} must be the type of a number, of an array, of a typed list or dict, str, or the type of a tuple of these, not {type_!r:.200}")
    return np.empty(0, dtype)


def _like_of(x: Any, what: str) -> Any:
    """The same of items such as this one."""
    if isinstance(x, tuple) and x:
        return tuple(_like_of(one, what) for one in x)
    if isinstance(x, str):
        return no_texts()
    if isinstance(x, np.ndarray):
        if not x.dtype.isnative:
            raise TypeError(f"{what} must be arrays in this machine's byte order, not {x.dtype!r:.200}: x.astype(x.dtype.newbyteorder('='))")
        return _array_kind(x.dtype, x.ndim, x.flags.c_contiguous, x.flags.writeable)
    if isinstance(x, (List, Dict)):
        return _like_container(x)
    if not isinstance(x, (bool, int, float, complex, np.bool_, np.number)):
        raise TypeError(f"{what} must be numbers, strings, arrays, typed lists or dicts, or tuples of these, not {type(x).__name__!r:.100}: {x!r:.100}")
    return np.empty(0, np.array(x).dtype)


def _likes(x: Any) -> tuple[Any, ...]:
    """What says of which types the items of a list or dict are."""
    return (x._like,) if isinstance(x, List) else (x._key_like, x._value_like)


def _like_container(x: Any) -> Any:
    """A list or dict of this type without items."""
    if _likes(x)[0] is None:
        raise TypeError(f"nobody knows yet of what type the items of this typed {type(x).__name__.lower()} are: put one into it before it is put into another one")
    return _list_again(x._like, []) if isinstance(x, List) else _dict_again(x._key_like, x._value_like, {})


def _array_kind(dtype: np.dtype, ndim: int, is_dense: bool, is_writeable: bool = True) -> ArrayKind:
    """What says that items are such arrays: one of their type in compiled code, which has some elements where it must not be contiguous."""
    made = np.empty((0,) * ndim, dtype) if is_dense else np.zeros((*(2,) * (ndim - 1), 4), dtype)[..., ::2]
    made.flags.writeable = is_writeable
    return ArrayKind(made, is_dense)


def _type_of(like: Any) -> str:
    """The type of the items, as it is shown."""
    if isinstance(like, Texts):
        return str(types.unicode_type)
    if isinstance(like, ArrayKind):
        return str(_core.typeof(like.like))
    if isinstance(like, List):
        return f"ListType[{_type_of(like._like)}]"
    if isinstance(like, Dict):
        return f"DictType[{_type_of(like._key_like)},{_type_of(like._value_like)}]"
    return f"Tuple({', '.join(map(_type_of, like))})" if isinstance(like, tuple) else str(types.from_dtype(like.dtype))


def _known_word(text: str) -> int:
    """The word of a string that may be in a container; a string that is only looked up is not kept."""
    word = _core._known_text_word(text)
    if word == 0:
        raise OverflowError  # as for a number that no key is equal to
    return word


def _converted(like: Any, x: Any, what: str, word: Callable[[str], int] = _core._text_word) -> Any:
    """The value as an item; a string becomes `Texts` of one word, because its characters would be constants of the compiled code."""
    if isinstance(like, tuple):
        if not isinstance(x, tuple) or len(x) != len(like):
            raise TypeError(f"{what} are of the type {_type_of(like)}, not {x!r:.100}")
        return tuple(_converted(one, value, what, word) for one, value in zip(like, x))
    if isinstance(like, Texts):
        if not isinstance(x, str):
            raise TypeError(f"{what} are strings, not {type(x).__name__!r:.100}: {x!r:.100}")
        return Texts(np.array([word(x)], np.int64))
    if isinstance(like, ArrayKind):
        if not isinstance(x, np.ndarray) or not _can_stand_for(x, like.like):
            raise TypeError(f"{what} are of the type {_type_of(like)}, not {_core.typeof(x) if isinstance(x, np.ndarray) else type(x).__name__!r:.100}")
        return x
    if isinstance(like, (List, Dict)):
        if type(x) is not type(like) or _type_of(_like_container(x)) != _type_of(like):
            raise TypeError(f"{what} are of the type {_type_of(like)}, not {_type_of(x) if isinstance(x, (List, Dict)) else type(x).__name__!r:.100}: {x!r:.100}")
        return x
    kind = like.dtype.kind
    if isinstance(x, (bool, np.bool_)):
        fits = True
    elif isinstance(x, (int, np.integer)):
        fits = kind != "b"
    elif isinstance(x, (float, np.floating)):
        fits = kind in "fc"
    else:
        fits = isinstance(x, (complex, np.complexfloating)) and kind == "c"
    if not fits:
        raise TypeError(f"{what} are of the type {_type_of(like)}, not {type(x).__name__!r:.100}: {x!r:.100}")
    return like.dtype.type(x)


def _can_stand_for(x: np.ndarray, like: np.ndarray) -> bool:
    """Whether the array can be beside arrays like the other one."""
    return (x.dtype == like.dtype and x.ndim == like.ndim and (x.flags.c_contiguous or not like.flags.c_contiguous)
            and (x.flags.writeable or not like.flags.writeable))


def _has_references(like: Any) -> bool:
    """Whether items hold arrays or containers, of which there are no columns."""
    return any(map(_has_references, like)) if isinstance(like, tuple) else isinstance(like, (ArrayKind, List, Dict))


def _hashed(like: Any, what: str) -> Any:
    if _has_references(like):
        raise TypeError(f"{what} of a typed dict must be numbers, strings, or tuples of these, which have a hash, not {_type_of(like)}")
    return like


def _columns(like: Any, items: list[Any]) -> Any:
    """Arrays of these items, which have been converted."""
    if isinstance(like, tuple):
        return tuple(_columns(one, [x[k] for x in items]) for k, one in enumerate(like))
    if isinstance(like, Texts):
        return Texts(np.concatenate([x.words for x in items] or [like.words]))
    return np.array(items, like.dtype)


def _rows_of(arrays: Any, n: int, like: Any) -> list[Any]:
    """The first n items as Python has them."""
    if isinstance(like, tuple):
        return [*zip(*(_rows_of(part, n, one) for part, one in zip(arrays, like)))]
    if isinstance(like, (List, Dict)):
        return [None if words is None else _again(like, words) for words in arrays[:n]]  # None: a deleted entry of a dict
    return arrays[:n] if isinstance(arrays, list) else arrays[:n].tolist()  # a list: of strings or arrays


# ---- what Python calls ----

_call = jit(target="cpu")  # also where functions run as plain Python
_new_list = _call(lambda like: _compiled.made_list(like).words)
_new_dict = _call(lambda: _compiled.TypedDict().words)
_rows = _call(_compiled.held_words)
_append_rows = _call(_compiled.append_rows)
_get = _call(lambda x, i: x[i])
_entry_of = _call(lambda x, key: _compiled.entry_of(x, x.as_key(_compiled.given(key))))
_value_of = _call(lambda x, entry: _compiled.get(x.value_items, entry))
_pop = _call(lambda x, i: x.pop(i))
_pop_item = _call(lambda x: x.popitem())
_append = _call(lambda x, value: x.append(_compiled.given(value)))
_insert = _call(lambda x, i, value: x.insert(i, _compiled.given(value)))
_reverse = _call(lambda x: x.reverse())
_sort = _call(lambda x, reverse: x.sort(reverse=reverse))
_clear = _call(lambda x: x.clear())
_store = _call(_compiled.store)
_remove = _call(_compiled.remove)
_entries = _call(lambda x: (_compiled.held_words(x.words, x.key_like, _compiled.DICT_KEYS),
                            _compiled.held_words(x.words, x.value_like, _compiled.values_at(x.key_like)), _compiled.held(x.words, x.words, _compiled.HASHES)))


class List(MutableSequence):
    """A list that Python and compiled functions share; numba's ``typed.List``.

    Its items are numbers of one type, strings, arrays, typed lists or dicts, or tuples of these. Functions of ``njit`` change the list itself.
    A number of another type is converted as in an assignment to an element of an array: an int becomes a float, and a float in a list of ints
    is a TypeError. Arrays are not copied: what ``x[0]`` gives shares the memory of the array that was put in. Containers are the objects themselves.

    Args:
        iterable: the first items. The type of the first one is that of all.

    Raises:
        TypeError: an item is none of these, or not of the type of the others.
        ValueError: a string contains a null character.

        >>> x = lw.typed.List([1.5, 2])
        >>> x.append(3)
        >>> x[-1], len(x)
        (3.0, 3)
        >>> lw.njit(lambda x: x.pop(0))(x)
        1.5
        >>> x
        ListType[float64]([2.0, 3.0])
    """

    __slots__ = ("__weakref__", "_like", "_words")
    _words: np.ndarray

    def __init__(self, iterable: Iterable[Any] = ()) -> None:
        self._like: Any = None
        _begin(self, _new_list(None))
        self.extend(iterable)

    @staticmethod
    def empty_list(item_type: Any, allocated: int = 0) -> List:
        """Return a list without items.

        Args:
            item_type: the type of its items: of a number, ``lw.float64``, of strings, ``str`` or ``lw.types.unicode_type``, of an array,
                ``lw.float64[:]``, of a typed list or dict, ``lw.types.ListType(lw.int64)``, or of a tuple of these,
                ``lw.types.UniTuple(lw.int64, 2)``.
            allocated: has no effect; numba makes room for that many items.

        Raises:
            TypeError: ``item_type`` is not such a type.

            >>> lw.typed.List.empty_list(lw.float64)
            ListType[float64]([])
            >>> x = lw.typed.List.empty_list(lw.float64[:])
            >>> x.append(np.ones(2))
            >>> lw.njit(lambda x: x[0].sum())(x)
            2.0
        """
        made = List()
        made._like = _checked(_like(item_type, "item_type"))
        return made

    def _found_type(self, x: Any) -> Any:
        """x as an item; the first one decides what type items have."""
        if self._like is None:
            self._like = _checked(_like_of(x, "items of a typed list"))
        return _converted(self._like, x, "items of this list")

    def _list(self) -> list[Any]:
        return [] if self._like is None else _rows_of(_rows(self._words, self._like, _compiled.LIST_ITEMS), len(self), self._like)

    def _replace(self, items: list[Any]) -> None:
        if items or self._like is not None:
            made = [self._found_type(x) for x in items]
            _clear(self)
            self._add(made)

    def _place(self, i: Any, said: str) -> int:
        at, n = operator.index(i), len(self)
        at += n if at < 0 else 0
        if not 0 <= at < n:
            raise IndexError(said)
        return at

    def __len__(self) -> int:
        return int(self._words[_compiled.N])

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            made = List()
            made._like = self._like
            made._replace(self._list()[i])
            return made
        return _get(self, self._place(i, "list index out of range"))

    def __setitem__(self, i: Any, value: Any) -> None:
        if isinstance(i, slice):
            items = self._list()
            items[i] = value
            self._replace(items)
        else:
            at = self._place(i, "list assignment index out of range")
            _store(self, at, _converted(self._like, value, "items of this list"))

    def __delitem__(self, i: Any) -> None:
        if isinstance(i, slice):
            items = self._list()
            del items[i]
            self._replace(items)
        else:
            _pop(self, self._place(i, "list assignment index out of range"))

    def __iter__(self) -> Iterator[Any]:
        i = 0
        while i < len(self):
            yield _get(self, i)
            i += 1

    def __contains__(self, x: Any) -> bool:
        return x in self._list()

    def append(self, value: Any) -> None:
        """Add an item to the end."""
        _append(self, self._found_type(value))

    def extend(self, values: Iterable[Any]) -> None:
        """Add items to the end."""
        self._add([self._found_type(x) for x in (values._list() if isinstance(values, List) else values)])

    def _add(self, made: list[Any]) -> None:
        """Add items that have been converted."""
        if made and _has_references(self._like):
            for one in made:
                _append(self, one)
        elif made:
            _append_rows(self, _columns(self._like, made))

    def insert(self, index: int, value: Any) -> None:
        """Add an item in front of the one at the index."""
        one = self._found_type(value)
        _insert(self, min(max(operator.index(index), -len(self)), len(self)), one)

    def pop(self, index: int = -1) -> Any:
        """Remove the item at the index, and return it."""
        if not len(self):
            raise IndexError("pop from empty list")
        return _pop(self, self._place(index, "pop index out of range"))

    def remove(self, value: Any) -> None:
        """Remove the first item that is equal to the value."""
        if value not in self:
            raise ValueError("list.remove(x): x not in list")
        del self[self.index(value)]

    def clear(self) -> None:
        """Remove all items."""
        if len(self):
            _clear(self)

    def copy(self) -> List:
        """Return a list with the same items."""
        return self[:]

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the index of the first item that is equal to the value."""
        return self._list().index(value, start, len(self) if stop is None else stop)

    def count(self, value: Any) -> int:
        """Return how often the list has the value."""
        return self._list().count(value)

    def reverse(self) -> None:
        """Reverse the order of the items."""
        if len(self):
            _reverse(self)

    def sort(self, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> None:
        """Sort the items; equal items keep their order."""
        if len(self) and key is None:
            _sort(self, bool(reverse))
        elif len(self):
            self._replace(sorted(self._list(), key=key, reverse=reverse))

    def __eq__(self, other: object) -> Any:
        return self._list() == (other._list() if isinstance(other, List) else other) if isinstance(other, (list, List)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an array of a typed list is a copy of its items")
        return np.array(self._list(), self._like.dtype if dtype is None and isinstance(self._like, np.ndarray) else dtype)

    def __str__(self) -> str:
        return str(self._list())

    def __repr__(self) -> str:
        return f"ListType[{_type_of(self._like)}]({self})" if self._like is not None else f"List({self})"

    def __reduce__(self) -> Any:
        return _list_again, (self._like, self._list())


class Dict(MutableMapping):
    """A dict that Python and compiled functions share; numba's ``typed.Dict``.

    Its keys have one type: numbers, strings, or tuples of these. So have its values, which may also be arrays or typed lists and dicts. Functions
    of ``njit`` change the dict itself. The order of the items is that in which the keys were added, as in Python's dicts.

    Args:
        items: the first items, a mapping or pairs.

    Raises:
        TypeError: a key or a value is none of these, or not of the type of the others.
        ValueError: a string contains a null character.

        >>> d = lw.typed.Dict.empty(key_type=lw.int64, value_type=lw.float64)
        >>> d[3] = 1
        >>> lw.njit(lambda d: d.pop(3))(d), len(d)
        (1.0, 0)
    """

    __slots__ = ("__weakref__", "_key_like", "_value_like", "_words")
    _words: np.ndarray

    def __init__(self, items: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = ()) -> None:
        self._key_like: Any = None
        self._value_like: Any = None
        _begin(self, _new_dict())
        self.update(items)

    @staticmethod
    def empty(key_type: Any, value_type: Any, n_keys: int = 0) -> Dict:
        """Return a dict without items.

        Args:
            key_type, value_type: types as for :meth:`List.empty_list`; keys are numbers, strings or tuples of these.
            n_keys: has no effect; numba makes room for that many keys.

        Raises:
            TypeError: ``key_type`` or ``value_type`` is not such a type.

            >>> lw.typed.Dict.empty(lw.int64, lw.float64), lw.typed.Dict.empty(str, lw.float64)
            (DictType[int64,float64]({}), DictType[unicode_type,float64]({}))
        """
        made = Dict()
        made._key_like, made._value_like = _checked(_hashed(_like(key_type, "key_type"), "key_type"), _like(value_type, "value_type"))
        return made

    def _entry(self, key: Any) -> int:
        if self._key_like is None:
            return -1
        try:
            return _entry_of(self, _converted(self._key_like, key, "keys of this dict", _known_word))
        except OverflowError:  # no key is equal to this one
            return -1

    def _dict(self) -> dict[Any, Any]:
        if self._key_like is None:
            return {}
        used = int(self._words[_compiled.USED])
        keys, values, hashes = _entries(self)
        entries = zip(_rows_of(keys, used, self._key_like), _rows_of(values, used, self._value_like), hashes)
        return {key: value for key, value, hashed in entries if hashed != _growing_dicts.DELETED}

    def __len__(self) -> int:
        return int(self._words[_compiled.N])

    def __getitem__(self, key: Any) -> Any:
        entry = self._entry(key)
        if entry < 0:
            raise KeyError(key)
        return _value_of(self, entry)

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._key_like is None:
            self._key_like, self._value_like = _checked(_hashed(_like_of(key, "keys of a typed dict"), "keys"), _like_of(value, "values of a typed dict"))
        _store(self, _converted(self._key_like, key, "keys of this dict"), _converted(self._value_like, value, "values of this dict"))

    def __delitem__(self, key: Any) -> None:
        if self._entry(key) < 0:
            raise KeyError(key)
        _remove(self, _converted(self._key_like, key, "keys of this dict"))

    def __contains__(self, key: Any) -> bool:
        return self._entry(key) >= 0

    def __iter__(self) -> Iterator[Any]:
        n = len(self)
        for key in self._dict():
            yield key
            if len(self) != n:
                raise RuntimeError("dictionary changed size during iteration")

    def popitem(self) -> tuple[Any, Any]:
        """Remove the item that was added last, and return it."""
        if not len(self):
            raise KeyError("popitem(): dictionary is empty")
        return _pop_item(self)

    def clear(self) -> None:
        """Remove all items."""
        if len(self):
            _clear(self)

    def copy(self) -> Dict:
        """Return a dict with the same items."""
        return _dict_again(self._key_like, self._value_like, self._dict())

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Return the value of the key, after adding it with the default if it is not there."""
        if key not in self:
            self[key] = default
        return self[key]

    def __eq__(self, other: object) -> Any:
        return self._dict() == (other._dict() if isinstance(other, Dict) else other) if isinstance(other, (dict, Dict)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return str(self._dict())

    def __repr__(self) -> str:
        return f"DictType[{_type_of(self._key_like)},{_type_of(self._value_like)}]({self})" if self._key_like is not None else f"Dict({self})"

    def __reduce__(self) -> Any:
        return _dict_again, (self._key_like, self._value_like, self._dict())


def _n_cells(like: Any) -> int:
    return sum(map(_n_cells, like)) if isinstance(like, tuple) else 1


def _checked(*likes: Any) -> Any:
    if sum(map(_n_cells, likes)) > _compiled.MOST_CELLS:
        raise TypeError(f"an item of a typed list, or a key and a value of a typed dict together, can have at most {_compiled.MOST_CELLS} numbers, strings, arrays and containers")
    return likes if len(likes) > 1 else likes[0]


def _list_again(like: Any, items: list[Any]) -> List:
    made = List()
    made._like = like
    made.extend(items)
    return made


def _dict_again(key_like: Any, value_like: Any, items: dict[Any, Any]) -> Dict:
    made = Dict()
    made._key_like, made._value_like = key_like, value_like
    made.update(items)
    return made


# ---- objects of compiled functions ----

#: The objects that Python has, by the address of their words.
_known: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def _begin(x: Any, words: np.ndarray) -> None:
    x._words = words
    _known[words.ctypes.data] = x


def _of_words(cls: Any, words: np.ndarray, likes: tuple[Any, ...]) -> Any:
    """The object with these words: the one that Python has, or a new one."""
    found = _known.get(words.ctypes.data) if words.size else None
    if found is None:
        found = object.__new__(cls)
        if words.size:  # else it says what the items of another one are
            _begin(found, words)
        else:
            found._words = words
    if cls is List:
        found._like = _of_result(likes[0])
    else:
        found._key_like, found._value_like = map(_of_result, likes)
    return found


def _again(like: Any, words: np.ndarray) -> Any:
    """The object with these words that has the type of another one."""
    return _of_words(type(like), words, _likes(like))


def _of_result(like: Any) -> Any:
    """What says the type of the items that a compiled function has returned: a list becomes `Texts`."""
    if isinstance(like, tuple):
        return tuple(map(_of_result, like))
    if isinstance(like, ArrayKind):
        x = like.like
        return _array_kind(x.dtype, x.ndim, like.is_dense, x.flags.writeable)
    return no_texts() if isinstance(like, list) else like


for _cls, _form, _names, _fields in (
        (List, _compiled.TypedList, ("_words", "_like"), ("words", "like")),
        (Dict, _compiled.TypedDict, ("_words", "_key_like", "_value_like"), ("words", "key_like", "value_like"))):
    setattr(_cls, "__lanewise_compiled__", _form)
    _core._container(object.__new__(_cls), _form, _names, _fields)
