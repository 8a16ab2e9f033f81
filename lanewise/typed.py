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
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, MutableMapping, MutableSequence, ValuesView
from typing import Any

import numpy as np

from lanewise import _core, types
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
    if dtype.kind not in "biufc" or dtype.char in "gG" or not dtype.isnative or getattr(type_, "ndim", None) or type_ is None:
        raise TypeError(f"{what} must be the type of a number, of an array, of a typed list or dict, str, or the type of a tuple of these, not {type_!r:.200}")
    return np.empty(0, dtype)


def _like_of(x: Any, what: str) -> Any:
    """The same of items such as this one."""
    if isinstance(x, tuple) and x:
        return tuple(_like_of(one, what) for one in x)
    if isinstance(x, str):
        return no_texts()
    if isinstance(x, np.ndarray):
        _check_mask(x, what)
        if not x.dtype.isnative:
            raise TypeError(f"{what} must be arrays in this machine's byte order, not {x.dtype!r:.200}: x.astype(x.dtype.newbyteorder('='))")
        return _array_kind(x.dtype, x.ndim, x.flags.c_contiguous, x.flags.writeable)
    if isinstance(x, (List, Dict)):
        return _like_container(x)
    if not isinstance(x, (bool, int, float, complex, np.bool_, np.number)) or isinstance(x, (np.longdouble, np.clongdouble)):
        raise TypeError(f"{what} must be numbers, strings, arrays, typed lists or dicts, or tuples of these, not {type(x).__name__!r:.100}: {x!r:.100}")
    dtype = np.array(x).dtype
    if dtype.hasobject:
        raise OverflowError(f"{what} have at most 64 bits, which {x!r:.100} exceeds")
    return np.empty(0, dtype)


def _check_mask(x: Any, what: str) -> None:
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{what} have no masks: pass x.filled(v), or x.data to ignore the mask")


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


def _type_of(like: Any) -> Any:
    """The type of the items."""
    if isinstance(like, Texts):
        return types.unicode_type
    if isinstance(like, ArrayKind):
        return _core.typeof(like.like)
    if isinstance(like, (List, Dict)):
        return like._numba_type_
    return types.Tuple(tuple(map(_type_of, like))) if isinstance(like, tuple) else types.from_dtype(like.dtype)


def _compared(x: List, other: object, compare: Callable[[Any, Any], bool]) -> Any:
    if not isinstance(other, (list, List)):
        return NotImplemented
    return compare(x._list(), other._list() if isinstance(other, List) else other)


def _converted(like: Any, x: Any, what: str) -> Any:
    """The value as an item, or a TypeError: called for values that C code does not convert at once."""
    if isinstance(like, tuple):
        if not isinstance(x, tuple) or len(x) != len(like):
            raise TypeError(f"{what} are of the type {_type_of(like)}, not {x!r:.100}")
        return tuple(_converted(one, value, what) for one, value in zip(like, x))
    if isinstance(like, Texts):
        if not isinstance(x, str):
            raise TypeError(f"{what} are strings, not {type(x).__name__!r:.100}: {x!r:.100}")
        return x
    if isinstance(like, ArrayKind):
        _check_mask(x, what)
        if not isinstance(x, np.ndarray) or not _can_stand_for(x, like.like):
            raise TypeError(f"{what} are of the type {_type_of(like)}, not {_core.typeof(x) if isinstance(x, np.ndarray) else type(x).__name__!r:.100}")
        return x
    if isinstance(like, (List, Dict)):
        if type(x) is not type(like) or _like_container(x)._numba_type_ != like._numba_type_:
            raise TypeError(f"{what} are of the type {_type_of(like)}, not {str(x._numba_type_) if isinstance(x, (List, Dict)) else type(x).__name__!r:.100}: {x!r:.100}")
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


_call = jit(target="cpu")  # also where functions run as plain Python
_sort = _call(lambda x, reverse: x.sort(reverse=reverse))


class List(_core.ListCells, MutableSequence):
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

    __slots__ = ("__weakref__",)

    def __init__(self, iterable: Iterable[Any] = ()) -> None:
        _known[self._begin()] = self
        self._like: Any = None
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

    def _decide(self, x: Any) -> None:
        """x is the first item, which decides what type items have."""
        like = _checked(_like_of(x, "items of a typed list"))
        if self._like is None:  # another thread, or a method of x, may have decided it
            self._like = like

    def _replace(self, items: list[Any]) -> None:
        made = _list_again(self._like, items)
        self._like = made._like
        self.clear()
        self.extend(made)

    def _slice(self, i: slice) -> List:
        return _list_again(self._like, self._list()[i])

    def _set_slice(self, i: slice, values: Iterable[Any]) -> None:
        items = self._list()
        items[i] = values
        self._replace(items)

    def _delete_slice(self, i: slice) -> None:
        items = self._list()
        del items[i]
        self._replace(items)

    def remove(self, value: Any) -> None:
        """Remove the first item that is equal to the value."""
        if value not in self:
            raise ValueError("list.remove(x): x not in list")
        del self[self.index(value)]

    def copy(self) -> List:
        """Return a list with the same items."""
        return self[:]

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the index of the first item that is equal to the value."""
        return self._list().index(value, start, len(self) if stop is None else stop)

    def count(self, value: Any) -> int:
        """Return how often the list has the value."""
        return self._list().count(value)

    def sort(self, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> None:
        """Sort the items; equal items keep their order."""
        if len(self) and key is None:
            _sort(self, bool(reverse))
        elif len(self):
            self._replace(sorted(self._list(), key=key, reverse=reverse))

    def __eq__(self, other: object) -> Any:
        return _compared(self, other, operator.eq)

    def __lt__(self, other: object) -> Any:
        return _compared(self, other, operator.lt)

    def __le__(self, other: object) -> Any:
        return _compared(self, other, operator.le)

    def __gt__(self, other: object) -> Any:
        return _compared(self, other, operator.gt)

    def __ge__(self, other: object) -> Any:
        return _compared(self, other, operator.ge)

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an array of a typed list is a copy of its items")
        return np.array(self._list(), self._like.dtype if dtype is None and isinstance(self._like, np.ndarray) else dtype)

    def __str__(self) -> str:
        return str(self._list())

    def __repr__(self) -> str:
        return f"List({self})" if self._like is None else f"{self._numba_type_}({self})"

    @property
    def _numba_type_(self) -> Any:
        """The type, ``types.ListType``, under numba's name."""
        if self._like is None:
            raise TypeError("nobody knows yet of what type the items of this typed list are: put one into it")
        return types.ListType(_type_of(self._like))

    def __reduce__(self) -> Any:
        return _list_again, (self._like, self._list())


class _Values(ValuesView):
    """The values of a typed dict, which are read without a look-up of each key."""

    __slots__ = ()
    _mapping: Dict

    def __iter__(self) -> Iterator[Any]:
        return self._mapping._iterate_values()


class _Items(ItemsView):
    """The same of the items."""

    __slots__ = ()
    _mapping: Dict

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return self._mapping._iterate_pairs()


class Dict(_core.DictCells, MutableMapping):
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

    __slots__ = ("__weakref__",)

    def __init__(self, items: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = ()) -> None:
        _known[self._begin()] = self
        self._key_like: Any = None
        self._value_like: Any = None
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

    def _decide(self, key: Any, value: Any) -> None:
        """They are the first key and value, which decide what types keys and values have."""
        key_like = _hashed(_like_of(key, "keys of a typed dict"), "keys")
        likes = _checked(key_like, _like_of(value, "values of a typed dict"))
        if self._key_like is None:  # another thread, or a method of the key, may have decided it
            self._key_like, self._value_like = likes

    def values(self) -> ValuesView[Any]:
        """Return a view of the values."""
        return _Values(self)

    def items(self) -> ItemsView[Any, Any]:
        """Return a view of the pairs of keys and values."""
        return _Items(self)

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
        return f"Dict({self})" if self._key_like is None else f"{self._numba_type_}({self})"

    @property
    def _numba_type_(self) -> Any:
        """The type, ``types.DictType``, under numba's name."""
        if self._key_like is None:
            raise TypeError("nobody knows yet of what types the keys and values of this typed dict are: put one into it")
        return types.DictType(_type_of(self._key_like), _type_of(self._value_like))

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


def _of_words(cls: Any, words: np.ndarray, likes: tuple[Any, ...]) -> Any:
    """The object with these words: the one that Python has, or a new one."""
    found = _known.get(words.ctypes.data) if words.size else None
    if found is None:
        found = object.__new__(cls)
        found._words = words
        if words.size:  # else it says what the items of another one are
            _known[words.ctypes.data] = found
    if issubclass(cls, List):
        found._like = _of_result(likes[0])
    else:
        found._key_like, found._value_like = map(_of_result, likes)
    return found


class _InnerList(List):
    """A list that is an item of a plain one, while it becomes a list of Python."""


class _InnerDict(Dict):
    """The same of a dict."""


def _of_inner(cls: Any, words: np.ndarray, likes: tuple[Any, ...]) -> Any:
    """The list or dict of Python, or what says that the items of another one are such lists or dicts."""
    made = _of_words(cls, words, likes)
    return _in_python(made) if words.size else made


def _in_python(x: Any) -> Any:
    """Lists and dicts that are items of plain ones become those of Python."""
    if type(x) is tuple:
        return tuple(map(_in_python, x))
    if type(x) not in (_InnerList, _InnerDict):
        return x
    likes = _likes(x)
    _compiled.check_tag(x._words, _compiled_like(likes if len(likes) > 1 else likes[0]))
    if likes[0] is None:
        return [] if type(x) is _InnerList else {}
    return [*map(_in_python, x)] if type(x) is _InnerList else {key: _in_python(value) for key, value in x.items()}


def _compiled_like(like: Any) -> Any:
    """The same with the classes of compiled code, for `tag_of`."""
    if isinstance(like, tuple):
        return None if like[0] is None else tuple(map(_compiled_like, like))
    for cls, form in ((_InnerList, _compiled.InnerList), (_InnerDict, _compiled.InnerDict), (List, _compiled.TypedList), (Dict, _compiled.TypedDict)):
        if type(like) is cls:
            made = object.__new__(form)
            for name, value in zip(("like",) if issubclass(cls, List) else ("key_like", "value_like"), _likes(like)):
                setattr(made, name, _compiled_like(value))
            return made
    return like


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


_core._typed_kinds(Texts, ArrayKind)
for _cls, _form, _names, _fields in (
        (List, _compiled.TypedList, ("_words", "_like"), ("words", "like")),
        (Dict, _compiled.TypedDict, ("_words", "_key_like", "_value_like"), ("words", "key_like", "value_like"))):
    setattr(_cls, "__lanewise_compiled__", _form)
    _core._container(object.__new__(_cls), _form, _names, _fields)
