"""Types of the weak mode, from docs/typing.md: promotion, joins, operators, named functions.

A type is a string of semantics.DTYPES, "ix", "pf", "pc" (weak), ("lit", low, high) for ints known
within bounds, or ("tup", types...). Rules answer with types or raise Reject(code).
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from semantics import COMPLEX, FLOATS, HIGH, INTS, LOW, NUMPY, SIGNED, STORED

ROOT = Path(__file__).resolve().parents[2]
SHORT = {NUMPY[t]: t for t in NUMPY}


class Reject(Exception):
    """The program is wrong: the compiler says so with this code."""

    def __init__(self, code, why=""):
        super().__init__(f"{code} {why}")
        self.code = code


class Unclear(Exception):
    """The oracle has no opinion: the generator should not have written this."""


class Value(NamedTuple):
    """A type, and the value where it is known at compile time."""

    type: object
    constant: object = None


def is_lit(t):
    return isinstance(t, tuple) and t[0] == "lit"


def is_tuple(t):
    return isinstance(t, tuple) and t[0] == "tup"


def is_weak_int(t):
    return t == "ix" or is_lit(t)


def is_strong_int(t):
    return isinstance(t, str) and t in INTS


def is_int(t):
    return is_weak_int(t) or is_strong_int(t)


def is_real(t):
    return t == "pf" or (isinstance(t, str) and t in FLOATS)


def is_complex(t):
    return t == "pc" or (isinstance(t, str) and t in COMPLEX)


def is_number(t):
    return t == "b1" or is_int(t) or is_real(t) or is_complex(t)


def stored(t):
    """Alone a constant is int64, or uint64 where only that holds it; what neither holds is only ever a float."""
    if is_lit(t):
        return "i8" if fits(t, "i8") else "u8" if fits(t, "u8") else "f8"
    return STORED.get(t, t)


def is_wide(t):
    """A constant that int64 does not hold."""
    return is_lit(t) and not fits(t, "i8")


def literal(value):
    return Value(("lit", value, value), value)


def fits(t, dtype):
    return dtype not in INTS or (LOW[dtype] <= t[1] and t[2] <= HIGH[dtype])


def of_python(value):
    """A number of Python, or a NumPy scalar, as the compiler sees it."""
    if isinstance(value, np.generic):
        return Value(SHORT[value.dtype], value.item())
    if isinstance(value, bool):
        return Value("b1", value)
    if isinstance(value, int):
        return literal(value)
    if isinstance(value, float):
        return Value("pf", value)
    if isinstance(value, complex):
        return Value("pc", value)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = tuple(value)  # a table: strong numbers
    if isinstance(value, tuple):
        items = tuple(of_python(v) for v in value)
        return Value(("tup", *(v.type for v in items)), items)
    raise Unclear(repr(value))


# ---- promotion ----


@functools.cache
def promote_strong(x, y):
    return SHORT[np.promote_types(NUMPY[x], NUMPY[y])]


def complex_of(t):
    return "c16" if t in ("f8", "pf") or is_int(t) or t == "b1" else t if is_complex(t) else "c8"


def promote_weak(weak, strong):
    if strong == "b1":
        return "ix" if is_lit(weak) else weak
    if strong in COMPLEX:
        return strong
    if weak == "pc":
        return complex_of(strong)
    if strong in FLOATS:
        return strong
    if weak == "pf":
        return "f8"
    if is_lit(weak) or strong == "u8":
        return strong
    return promote_strong(strong, "i8")


def promote(x, y):
    """What arithmetic computes in."""
    x, y = _as_index(x, y), _as_index(y, x)
    strong = [isinstance(t, str) and t in NUMPY for t in (x, y)]
    if all(strong):
        return "ix" if x == y == "b1" else promote_strong(x, y)
    if strong[0]:
        return promote_weak(y, x)
    if strong[1]:
        return promote_weak(x, y)
    order = ["ix", "pf", "pc"]
    return max(("ix" if is_lit(t) else t for t in (x, y)), key=order.index)


def _as_index(x, y):
    return "ix" if is_lit(x) and x[1] != x[2] and is_strong_int(y) and not fits(x, y) else x


lenient = False  # while facts still grow, a constant that does not fit is passed over


def check_literal(x, to):
    dtype = stored(to)
    if not lenient and is_lit(x) and not is_lit(to) and is_strong_int(dtype) and not fits(x, dtype):
        raise Reject("E130", f"{x} as {to}")


def common(x, y):
    t = promote(x, y)
    check_literal(x, t)
    check_literal(y, t)
    return t


# ---- joins: the type of a variable, ternary or result that receives all of these ----


def join(types):
    types = [t for t in types if t is not None]
    if not types or all(t == types[0] for t in types):
        return types[0] if types else None
    if any(is_tuple(t) for t in types):
        if not all(is_tuple(t) for t in types) or len({len(t) for t in types}) > 1:
            raise Reject("E140")
        return ("tup", *(join(column) for column in zip(*(t[1:] for t in types))))
    return _join_numbers(types)


def _join_numbers(types):
    lits = [t for t in types if is_lit(t)]
    weak = {t for t in types if t in ("ix", "pf", "pc")}
    strong = [t for t in types if isinstance(t, str) and t in NUMPY]
    ints, reals = [t for t in strong if t in INTS], [t for t in strong if t in FLOATS or t in COMPLEX]
    has_bool = "b1" in strong
    if not reals and not weak & {"pf", "pc"}:
        return _join_ints(lits, "ix" in weak, ints, has_bool)
    if not reals and not ints:
        return "pc" if "pc" in weak else "pf"
    real = functools.reduce(promote_strong, reals) if reals else None
    if ints:
        integer = functools.reduce(promote_strong, ints)
        real = integer if real is None else promote_strong(real, integer)
    if weak & {"pf", "pc"} and real in INTS:
        real = "f8"
    if "pc" in weak and real not in COMPLEX:
        return complex_of(real)
    return real


def _join_ints(lits, index, ints, has_bool):
    lit = None
    if any(map(is_wide, lits)):
        raise Unclear("joined with a constant beyond int64")
    if lits:
        low, high = min(t[1] for t in lits), max(t[2] for t in lits)
        lit = ("lit", min(low, 0), max(high, 1)) if has_bool else ("lit", low, high)
    if not ints:
        return "ix" if index else lit if lits else "b1"
    integer = functools.reduce(promote_strong, ints)
    if lits and not fits(lit, integer):
        index = True
    if "u8" in ints and (index or any(t in SIGNED for t in ints)):
        raise Reject("E143")
    return promote_strong(integer, "i8") if index else integer


# ---- operators: (result, operand) ----


def needs_real(t):
    if is_complex(t):
        raise Reject("E120", "real numbers")


def type_binary(op, x, y):
    """x, y: Values. `operand` is what both are converted to first (shifts: the left one)."""
    if op == "+" and is_tuple(x.type) and is_tuple(y.type):
        t = x.type + y.type[1:]
        return t, t
    if not is_number(x.type) or not is_number(y.type):
        raise Reject("E120", op)
    if op == "/":
        return _type_division(x.type, y.type)
    if op in ("//", "%"):
        t = common(x.type, y.type)
        needs_real(t)
        return t, t
    if op == "**":
        return _type_power(x, y)
    if op in ("<<", ">>"):
        return _type_shift(x.type, y.type)
    if op in ("&", "|", "^"):
        return _type_bits(x.type, y.type)
    t = common(x.type, y.type)
    return t, t


def is_beyond(literal, other):
    """Whether a literal does not fit the integer beside it: then NumPy divides in float64."""
    return is_lit(literal) and literal[1] == literal[2] and is_strong_int(other) and not fits(literal, other)


def _type_division(x, y):
    if is_beyond(x, y) or is_beyond(y, x):
        return "f8", "f8"
    t = common(x, y)
    if not is_int(t) and t != "b1":
        return t, t
    t = "f8" if is_strong_int(x) or is_strong_int(y) else "pf"
    return t, t


def _type_power(x, y):
    int_base, int_exponent = is_int(x.type) or x.type == "b1", is_int(y.type) or y.type == "b1"
    if not int_exponent:
        t = common(x.type, y.type)
        return t, t
    if int_base and is_lit(y.type) and y.constant is not None and y.constant < 0:
        raise Reject("E131")
    if int_base and (y.constant is None or not is_lit(y.type) and y.type != "b1"):
        t = common(x.type, y.type)
        return t, t
    t = "ix" if x.type == "b1" or is_lit(x.type) else x.type
    return t, t


def _is_bits(t):
    return t == "b1" or is_int(t)


def _type_shift(x, y):
    if not _is_bits(x) or not _is_bits(y):
        raise Reject("E120", "integers")
    if is_wide(y):
        raise Unclear("a count beyond int64")
    t = x if is_strong_int(x) or x == "ix" else y if is_lit(x) and is_strong_int(y) else "ix"
    if is_strong_int(x) and is_strong_int(y) and is_int(common(x, y)):  # not int64 with uint64
        t = common(x, y)
    check_literal(x, t)
    return t, t


def _type_bits(x, y):
    if not _is_bits(x) or not _is_bits(y):
        raise Reject("E120", "integers")
    if x == y == "b1":
        return "b1", "b1"
    t = common(x, y)
    if t == "f8":
        raise Reject("E120", "int64 with uint64")
    return t, t


def type_unary(op, x):
    if not (_is_bits(x) if op == "~" else is_number(x)):
        raise Reject("E120", op)
    return "ix" if is_lit(x) or (x == "b1" and op != "~") else x


def _compare_tuples(op, x, y):
    """(("each", operands), known)."""
    if op in ("==", "!=") and len(x) != len(y):
        return None, op == "!="
    found = [compare_operand("==", a, b) for a, b in zip(x, y)]
    if any(known is not None for _, known in found):
        raise Unclear("a constant in a tuple")
    if op not in ("==", "!=") and any(is_complex(t) for t in (*x, *y)):
        raise Reject("E120")
    return ("each", [operand for operand, _ in found]), None


KIND_RANKS = "b u i f c"


def check_stored(t, to):
    """May a value of this type be kept as `to`? Same-kind conversions pass."""
    rank = [KIND_RANKS.index(stored(one)[0]) for one in (t, to)]
    if rank[0] > max(rank[1], KIND_RANKS.index("i") if rank[1] else 0):
        raise Reject("E142")
    if is_lit(t) and is_strong_int(to) and not fits(t, to):
        raise Reject("E130")


def compare_operand(op, x, y):
    """(what both are converted to, or None: by value as they are; the answer where it is known)."""
    if is_tuple(x) and is_tuple(y):
        return _compare_tuples(op, x[1:], y[1:])
    if not is_number(x) or not is_number(y):
        raise Unclear("comparison of a tuple with a number")
    if op not in ("==", "!=") and (is_complex(x) or is_complex(y)):
        raise Reject("E120", "order of complex numbers")
    for lit, other, left in ((x, y, True), (y, x, False)):
        if is_lit(lit) and not is_lit(other) and lit[1] == lit[2] and is_strong_int(stored(other)) and not fits(lit, stored(other)):
            smaller = (lit[1] > 0) != left  # the left side is the smaller one
            return None, {"<": smaller, "<=": smaller, ">": not smaller, ">=": not smaller, "==": False, "!=": True}[op]
    if _is_bits(x) and _is_bits(y):
        return None, None
    return promote(x, y), None


# ---- named functions ----


class Row(NamedTuple):
    least: int
    most: int
    rule: str
    impl: str


@functools.cache
def names():
    """names.def: {"math.sin": Row(...)}."""
    text = (ROOT / "core/tables/names.def").read_text()
    rows = re.findall(r'^NAMED\(\w+,\s*"([\w.]+)",\s*(\d+),\s*(\d+),\s*(\w+),\s*(\w+)\)', text, re.M)
    return {path: Row(int(a), int(b), rule, impl) for path, a, b, rule, impl in rows}


@functools.cache
def ulps():
    """intrinsics.def: {name: (GPU f32, GPU f64, host f32, host f64)}."""
    text = (ROOT / "core/tables/intrinsics.def").read_text()
    rows = re.findall(r"^INTRINSIC\((\w+),.*?(\d+),\s*(\d+),\s*(\d+),\s*(\d+)\)", text, re.M)
    return {name: tuple(map(int, numbers)) for name, *numbers in rows}
