"""CUDA's vector types, `cuda.float32x4` and its like: a class for each row of `_vector_names.CLASSES`, with a type that has a model (`lanewise.extending`).

In compiled code the call of a class has an overload, so that values are structs of their numbers, and `typeof_impl` says the type of
objects from Python. `lanewise.cuda` has the classes under their names and under those of CUDA C.
"""

from __future__ import annotations

from typing import Any, Callable, ClassVar

import numpy as np

from lanewise import _vector_names, extending, types
from lanewise._struct_types import _set_class

_FIELDS = "xyzw"


class Vector:
    """A value of a vector type: one to four numbers of the type `base_type`, in the fields x, y, z and w.

    Its class is called with the numbers, with vectors of the same base type, or with both: all of their numbers in order. They are
    converted to the base type, and cannot be assigned.
    """

    __slots__ = ()
    base_type: ClassVar[Any]
    num_elements: ClassVar[int]
    aliases: ClassVar[tuple[str, ...]]

    def __new__(cls, *numbers: Any) -> Any:
        if not hasattr(cls, "base_type"):
            raise TypeError(f"{cls.__name__} is not a vector type: call lanewise.cuda.float32x4 or another one")
        found = [number for item in numbers for number in _numbers_of(cls, item)]
        _check_count(cls, len(found))
        self = object.__new__(cls)
        for field, number in zip(_FIELDS, found):
            object.__setattr__(self, field, number)
        return self

    def _numbers(self) -> Any:
        raise NotImplementedError

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed: make a new one")

    def __eq__(self, other: Any) -> Any:
        return type(self) is type(other) and self._numbers() == other._numbers()

    def __ne__(self, other: Any) -> Any:
        return not (type(self) is type(other) and self._numbers() == other._numbers())

    def __hash__(self) -> int:
        return hash((type(self), self._numbers()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(str(number) for number in self._numbers())})"

    def __reduce__(self) -> Any:
        return type(self), self._numbers()


# _numbers is also compiled: constructors and comparisons in compiled code call it.


class Vector1(Vector):
    __slots__ = ("x",)

    def _numbers(self) -> Any:
        return (self.x,)


class Vector2(Vector):
    __slots__ = ("x", "y")

    def _numbers(self) -> Any:
        return self.x, self.y


class Vector3(Vector):
    __slots__ = ("x", "y", "z")

    def _numbers(self) -> Any:
        return self.x, self.y, self.z


class Vector4(Vector):
    __slots__ = ("x", "y", "z", "w")

    def _numbers(self) -> Any:
        return self.x, self.y, self.z, self.w


# ---- types ----


class VectorType(types.Type):
    """The type of the objects of a class of vectors."""

    def __init__(self, cls: type[Vector]) -> None:
        super().__init__(name=cls.__name__)
        self.cls = cls


@extending.register_model(VectorType)
class VectorModel(extending.models.StructModel):
    def __init__(self, dmm: Any, fe_type: VectorType) -> None:
        super().__init__(dmm, fe_type, [(field, fe_type.cls.base_type) for field in _FIELDS[:fe_type.cls.num_elements]])


def _type_class(count: int) -> type[VectorType]:
    made = type(f"VectorType{count}", (VectorType,), {"__module__": __name__})
    for field in _FIELDS[:count]:
        extending.make_attribute_wrapper(made, field, field)
    return made


VectorType1, VectorType2, VectorType3, VectorType4 = (_type_class(count) for count in (1, 2, 3, 4))


# ---- constructors ----


def _unexpected(cls: type[Vector], what: Any) -> TypeError:
    return TypeError(f"{cls.__name__} takes numbers and vectors of {cls.base_type}, not {what}")


def _check_vector(cls: type[Vector], vector: type[Vector]) -> None:
    if vector.base_type != cls.base_type:
        raise _unexpected(cls, f"{vector.__name__}, a vector of {vector.base_type}")


def _numbers_of(cls: type[Vector], item: Any) -> tuple[Any, ...]:
    """The numbers of an argument from Python."""
    if isinstance(item, Vector):
        _check_vector(cls, type(item))
        return item._numbers()
    try:
        number = cls.base_type(item)
    except TypeError:
        number = None
    if not isinstance(number, np.generic):  # but an array
        raise _unexpected(cls, f"{type(item).__name__} {item!r:.100}")
    return (number,)


def _count_of(cls: type[Vector], item: Any) -> int:
    """How many numbers an argument of compiled code has, of which this is the type."""
    if isinstance(item, VectorType):
        _check_vector(cls, item.cls)
        return item.cls.num_elements
    if not isinstance(item, (types.Number, types.Boolean)) or isinstance(item, types.Complex):
        raise _unexpected(cls, item)
    return 1


def _check_count(cls: type[Vector], count: int) -> None:
    if count != cls.num_elements:
        expected = "1 number" if cls.num_elements == 1 else f"{cls.num_elements} numbers in all"
        raise TypeError(f"{cls.__name__} takes {expected}, as numbers or in vectors, not {count}")


def _implementation(type_: VectorType, are_vectors: list[bool]) -> Callable[..., Any]:
    """What compiled code runs for a call with these arguments."""
    base = type_.cls.base_type

    def of_number(item: Any) -> Any:
        return (base(item),)

    def of_vector(item: Any) -> Any:
        return item._numbers()

    first, second, third, fourth = ([of_vector if is_vector else of_number for is_vector in are_vectors] + [None] * 3)[:4]
    return {
        1: lambda *items: type_(*first(items[0])),
        2: lambda *items: type_(*first(items[0]), *second(items[1])),
        3: lambda *items: type_(*first(items[0]), *second(items[1]), *third(items[2])),
        4: lambda *items: type_(*first(items[0]), *second(items[1]), *third(items[2]), *fourth(items[3])),
    }[len(are_vectors)]


_DOC = """A vector: {what} of the type {base}, in {fields}.

    >>> cuda.{name}({numbers}).{last}
    np.{base}({shown})
    >>> cuda.{name}(cuda.{name}({numbers})).num_elements
    {count}
"""


def _make(name: str, base: str, count: int) -> type[Vector]:
    """The class of vectors of so many numbers of a type, known to compiled code."""
    bases = {1: Vector1, 2: Vector2, 3: Vector3, 4: Vector4}
    cls = type(name, (bases[count],), {
        "__module__": "lanewise.cuda", "__qualname__": name, "__slots__": (), "base_type": getattr(types, base), "num_elements": count,
        "aliases": tuple(alias for alias, meant in _vector_names.ALIASES.items() if meant == name),
        "__doc__": _DOC.format(name=name, base=base, what="a number" if count == 1 else f"{count} numbers", fields=", ".join(_FIELDS[:count]),
                               numbers=", ".join("1234"[:count]), last=_FIELDS[count - 1], count=count, shown=count if "int" in base else float(count))})
    type_ = (VectorType1, VectorType2, VectorType3, VectorType4)[count - 1](cls)
    extending.typeof_impl.register(cls, lambda val, c: type_)
    _set_class(type_, cls)

    def select(*items: Any) -> Any:
        _check_count(cls, sum(_count_of(cls, item) for item in items))
        return _implementation(type_, [isinstance(item, VectorType) for item in items])

    select.__name__ = name
    extending.overload(cls, strict=False)(select)
    extending._is_new(cls)
    return cls


#: The classes by all of their names.
NAMES: dict[str, type[Vector]] = {name: _make(name, *row) for name, row in _vector_names.CLASSES.items()}
NAMES.update({alias: NAMES[name] for alias, name in _vector_names.ALIASES.items()})
