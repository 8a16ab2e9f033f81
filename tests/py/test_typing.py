"""Promotion, joins and casts, pair by pair: NumPy's own answers, and numba's recorded table."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import lanewise as lw
from lanewise._core import _can_cast, _dump_typed, _join, _named_functions, _promote

NUMPY = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
         "float16", "float32", "float64", "complex64", "complex128"]
INTEGERS = NUMPY[1:9]
PAIRS = list(itertools.product(NUMPY, NUMPY))


@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_strong_pairs_are_numpys(x, y):
    wanted = str(np.promote_types(x, y))
    assert _promote(f"{x}, {y}") == ("int (weak)" if x == y == "bool" else wanted)


@pytest.mark.parametrize(("x", "y"), PAIRS)
@pytest.mark.parametrize("casting", ["safe", "same_kind"])
def test_casts_are_numpys(x, y, casting):
    assert _can_cast(x, y, casting) == np.can_cast(x, y, casting)


BFLOAT16 = {"bool": "bfloat16", "int8": "bfloat16", "uint8": "bfloat16", "int16": "float32",
            "uint16": "float32", "int32": "float64", "uint32": "float64", "int64": "float64",
            "uint64": "float64", "float16": "float32", "bfloat16": "bfloat16",
            "float32": "float32", "float64": "float64", "complex64": "complex64",
            "complex128": "complex128"}


@pytest.mark.parametrize(("other", "wanted"), BFLOAT16.items())
def test_bfloat16(other, wanted):
    assert _promote(f"bfloat16, {other}") == wanted == _promote(f"{other}, bfloat16")


@pytest.mark.parametrize("x", NUMPY[1:])
@pytest.mark.parametrize(("weak", "value"), [("lit 1", 1), ("pyfloat", 1.0), ("pycomplex", 1j)])
def test_python_literals_are_weak_as_in_numpy(x, weak, value):
    wanted = str(np.result_type(np.dtype(x), value))
    assert _promote(f"{x}, {weak}") == wanted == _promote(f"{weak}, {x}")


@pytest.mark.parametrize("x", NUMPY[1:])
def test_run_time_ints_widen_integers_and_keep_floats(x):
    wide = "uint64" if x == "uint64" else str(np.promote_types(x, "int64"))
    assert _promote(f"{x}, index") == (wide if x in INTEGERS else x)


def test_weak_with_weak():
    assert _promote("lit 1, lit 2") == "int (weak)"
    assert _promote("index, pyfloat") == "float (weak)"
    assert _promote("pyfloat, pycomplex") == "complex (weak)"
    assert _promote("bool, lit 3") == "int (weak)"
    assert _promote("bool, pyfloat") == "float (weak)"


# numba 0.68.1: the rows of the table where it differs from NumPy
def numba_wanted(x, y):
    kinds = {np.dtype(x).kind, np.dtype(y).kind}
    if kinds <= {"b", "i", "u"}:
        return "uint64" if kinds == {"u"} else "int64"
    if {x, y} == {"uint16", "float32"}:
        return "float64"
    if {x, y} == {"uint16", "complex64"}:
        return "complex128"
    return str(np.promote_types(x, y))


@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_numba_pairs(x, y):
    assert _promote(f"{x}, {y}", "numba") == numba_wanted(x, y)


JOINS = [
    ("int16, uint16, float32", "float64"),
    ("float32, lit 0", "float32"),
    ("int32, float32", "float64"),
    ("int8, lit 100", "int8"),
    ("int8, lit 200", "int64"),
    ("uint8, index", "int64"),
    ("lit 0, lit 7", "int 0 to 7"),
    ("lit 0, index", "int (weak)"),
    ("bool, int8", "int8"),
    ("bool, bool", "bool"),
    ("bool, lit 5", "int 0 to 5"),
    ("pyfloat, float32", "float32"),
    ("pyfloat, int32", "float64"),
    ("pyfloat, lit 1", "float (weak)"),
    ("pycomplex, float32", "complex64"),
    ("pycomplex, int8", "complex128"),
    ("pycomplex, float64", "complex128"),
    ("uint64, lit 5", "uint64"),
    ("uint64, lit -1", "E143"),
    ("uint8, lit 9223372036854775807", "int64"),
    ("uint64, int64", "E143"),
    ("uint64, int8", "E143"),
    ("uint64, index", "E143"),
    ("uint64, int64, float64", "float64"),
    ("None, float32", "E112"),
    ("None, None", "None"),
]


@pytest.mark.parametrize(("types", "wanted"), JOINS)
def test_joins_do_not_depend_on_order(types, wanted):
    for order in itertools.permutations(types.split(", ")):
        assert _join(", ".join(order)) == wanted


@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_joins_of_strong_pairs(x, y):
    joined = _join(f"{x}, {y}")
    signed_with_u64 = "uint64" in (x, y) and {np.dtype(x).kind, np.dtype(y).kind} == {"u", "i"}
    assert joined == ("E143" if signed_with_u64 else str(np.promote_types(x, y)))
    assert _join(f"{x}, {y}", "numba") == str(np.promote_types(x, y))


def numpy_functions():
    for path, low, high in _named_functions():
        module, _, name = path.partition(".")
        function = getattr(np, name, None)
        if module == "numpy" and isinstance(function, np.ufunc) and low == high == function.nin:
            yield name


def result_types(text: str) -> list[str]:
    """The types that f returns, from the header of its typed tree."""
    types = text.splitlines()[0].split(" -> ")[1]
    return types.removeprefix("tuple(").rstrip(")").split(", ")


# 8-bit integers and bool in functions of floats: NumPy has float16, we float32 (typing.md)
def wanted_types(ufunc, dtypes):
    outs = [str(t) for t in ufunc.resolve_dtypes((*dtypes, *[None] * ufunc.nout))[ufunc.nin:]]
    floats = all(loop.split("->")[0] in ("e", "ee", "ei", "el") or "e" in loop for loop in ufunc.types[:1])
    if floats and all(t.kind in "biu" for t in dtypes):
        outs = ["float32" if t == "float16" else t for t in outs]
    return outs


@pytest.mark.parametrize("name", sorted(set(numpy_functions())))
def test_ufuncs_have_numpys_types(name):
    ufunc = getattr(np, name)
    arguments = ", ".join("xyz"[:ufunc.nin])
    space = {"np": np}
    source = f"def f({arguments}):\n    return np.{name}({arguments})\n"
    exec(source, space)
    for dtype in NUMPY:
        types = (np.dtype(dtype),) * ufunc.nin
        try:
            wanted = wanted_types(ufunc, types)
        except TypeError:
            continue
        if dtype.startswith("complex") and name.startswith(("less", "greater")):
            continue  # complex numbers have no order in compiled code (E120)
        found = result_types(_dump_typed(space["f"], ", ".join([dtype] * ufunc.nin), source=source))
        assert found == wanted, dtype


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8"])
def test_numba_cuts_floats(dtype):
    """This holds for array elements, results, augmented stores and annotations; values out of range saturate as in any cast."""
    x = np.array([1.9, 100.5, 0.0, 2.5])

    def store(i, x, out):
        out[i] = x[i]
        out[i] += 0.75 * (out[i] > 1)

    with pytest.raises(lw.errors.TypingError, match="E142"):
        lw.forall(store)(4, x, np.zeros(4, dtype))
    out = np.zeros(4, dtype)
    lw.forall(typing="numba")(store)(4, x, out)
    assert out.tolist() == x.astype(dtype).tolist()
    assert lw.vectorize([f"{dtype}(f8)"], typing="numba")(lambda v: v)(x).tolist() == x.astype(dtype).tolist()
    with pytest.raises(lw.errors.TypingError, match="E142"):
        lw.vectorize([f"{dtype}(c16)"], typing="numba")(lambda v: v)


INT_EDGES = np.array([0, 5, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 1], np.uint64)
FLOAT_EDGES = np.array([1e30, -1e30, np.nan, np.inf, -np.inf, 2.0**63, -(2.0**63), 1.9, -1.9])


@pytest.mark.parametrize("convert", [lambda x: int(x), lambda x: np.int64(x)], ids=["int", "int64"])
def test_integers_wrap_and_floats_saturate(convert):
    f = lw.vectorize(["i8(u8)", "i8(f8)"])(convert)
    np.testing.assert_array_equal(f(INT_EDGES), INT_EDGES.astype(np.int64))
    most, least = 2**63 - 1, -(2**63)
    assert f(FLOAT_EDGES).tolist() == [most, least, 0, most, least, most, least, 1, -1]
    body = {s: f.inspect_llvm(s, target="sm_90").split("@lw_body")[1].split("}")[0] for s in ("i8(u8)", "i8(f8)")}
    assert re.search(r"(%v\d+) = bitcast i64 %p0 to i64.*\n *ret i64 \1", body["i8(u8)"])
    assert re.search(r"@llvm.nvvm.d2ll.rz\(double %p0\)", body["i8(f8)"])  # PTX: saturates


def test_int_of_a_constant_is_exact():
    big = np.uint64(2**63 + 5)
    assert lw.vectorize(lambda x: x + int(big))(np.uint64(1)) == 2**63 + 6
    with pytest.raises(lw.errors.TypingError, match="9223372036854775813 does not fit int64"):
        lw.vectorize(lambda x: x + int(big))(np.int64(1))


def _stores(value):
    def kernel(i, out):
        out[i] = value
    return kernel


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_constants_are_stored_where_they_fit(dtype):
    """NumPy raises OverflowError where a Python int does not fit; so does compilation."""
    least, most = (int(getattr(np.iinfo(dtype), name)) for name in ("min", "max"))
    for value in (least, most):
        out = np.zeros(1, dtype)
        lw.forall(_stores(value))(1, out)
        assert out[0] == value
    for value in (least - 1, most + 1, 2**63 if most < 2**63 else 2**64):
        out = np.zeros(1, dtype)
        with pytest.raises(lw.errors.TypingError, match="E130"):
            lw.forall(_stores(value))(1, out)


def _early(x):
    if x > 5:
        return x
    return 300


@pytest.mark.parametrize("function", [lambda x: 300, lambda x: x if x > 5 else 300, _early])
@pytest.mark.parametrize("signature", ["i1(i1)", "u1(u1)"])
def test_constants_are_returned_where_they_fit(function, signature):
    for door in (lw.jit, lambda text: lw.vectorize([text])):
        with pytest.raises(lw.errors.TypingError, match="E130"):
            door(signature)(function)(1)


# ---- docs/typing.md, sentence by sentence ----

def _dtype(function, *args, **options):
    return lw.vectorize(function, target="cpu", **options)(*args).dtype


@pytest.mark.parametrize("integer", INTEGERS)
def test_quotients_of_integers_are_float64(integer):
    """They are strong, as NumPy's are; those of Python's ints are weak, as Python's floats are."""
    x = np.array([7]).astype(integer)[0]
    for function in (lambda x: x / x, lambda x: x / 2, lambda x: 2 / x, lambda x: x / x * np.float32(2), lambda x: x / len((1, 2)),
                     lambda x: x / 2**70, lambda x: -(2**40) / x, lambda x: np.true_divide(x, 2**33), lambda x: np.float_power(x, 2**9)):
        assert _dtype(function, x) == function(x).dtype == np.float64
    assert _dtype(lambda x: int(x) / int(x) * np.float32(2), x) == np.float32
    assert _dtype(lambda x: (x > 1) / 2 * np.float32(2), x) == np.float32


@pytest.mark.parametrize("integer", INTEGERS)
def test_counts_of_shifts_outside_of_the_width(integer):
    info = np.iinfo(integer)
    values = np.array([info.min, info.min // 2, 0, 1, 5, info.max], integer)
    for count in (info.bits - 1, info.bits, info.bits + 1, 127):
        own = np.array(count).astype(integer)[()]
        for shifted, exact in ((lambda x, n: x >> n, [int(v) >> count for v in values]), (lambda x, n: x << n, [int(v) << count for v in values])):
            wanted = [(v + 2**(info.bits - 1)) % 2**info.bits - 2**(info.bits - 1) if info.min < 0 else v % 2**info.bits for v in exact]
            assert lw.vectorize(shifted, target="cpu")(values, own).tolist() == wanted
    for count in (-1, -info.bits, -128):
        both = [lw.vectorize(lambda x, n: x >> n, target="cpu")(values, np.int64(count)), lw.vectorize(lambda x, n: x << n, target="cpu")(values, np.int64(count))]
        assert both[0].tolist() == [-1 if v < 0 else 0 for v in values] and not both[1].any()
        if integer[0] == "i":  # NumPy's own
            assert (both[0] == values >> np.array(count, integer)).all() and (both[1] == values << np.array(count, integer)).all()


def test_constant_counts_of_shifts():
    values = np.array([-5, 0, 5], "i4")
    assert lw.vectorize(lambda x: x >> -1)(values).tolist() == [-1, 0, 0]
    assert lw.vectorize(lambda x: x << -1)(values).tolist() == [0, 0, 0]
    assert lw.vectorize(lambda x: x >> 70)(values).tolist() == [-1, 0, 0]


def test_constants_have_to_fit_where_a_type_is_called():
    for function in (lambda x: lw.uint8(300), lambda x: np.uint8(300), lambda x: lw.int8(-129), lambda x: np.uint64(-1)):
        with pytest.raises(lw.errors.TypingError, match="E130"):
            lw.vectorize(function)(1)
    assert lw.vectorize(lambda x: lw.uint8(x))(300) == 44 == lw.uint8(300)
    assert lw.vectorize(lambda x: lw.int8(x))(300.7) == 127 == lw.int8(300.7)
    assert lw.vectorize(lambda x: lw.uint8(300), typing="numba")(1) == 44


@pytest.mark.parametrize("integer", INTEGERS)
def test_uint64_with_signed_integers_of_any_width(integer):
    x, y = np.array([1]).astype(integer)[0], np.uint64(2)
    for function in (lambda x, y: x if x > 1 else y, lambda x, y: max(x, y), lambda x, y: x or y):
        if integer[0] == "u":
            assert _dtype(function, x, y) == np.uint64
            continue
        with pytest.raises(lw.errors.TypingError, match="E143"):
            lw.vectorize(function)(x, y)
        assert _dtype(function, x, y, typing="numba") == np.float64
    for function in (lambda x, y: y if x > 1 else -1, lambda x, y: max(y, len((1, 2)) if x > 1 else int(x))):
        with pytest.raises(lw.errors.TypingError, match="E143"):
            lw.vectorize(function)(x, y)


def test_what_is_chosen_at_compile_time_keeps_its_type():
    """As in CPython, the result is one of the operands, without a common type."""
    for function in (lambda x: np.int8(3) or 7.5, lambda x: np.int8(0) or np.float32(7), lambda x: np.int8(3) and np.float32(7), lambda x: min(np.int8(3), 7.5),
                     lambda x: max(np.int8(3), np.float32(7)), lambda x: min(np.uint64(3), np.int8(7)), lambda x: max((np.int8(3), 300))):
        wanted = function(np.float64(1))
        assert _dtype(function, np.float64(1)) == np.asarray(wanted).dtype
        assert lw.vectorize(function)(np.float64(1)) == wanted
    x = np.float32(1)
    assert _dtype(lambda x: x or 7.5, x) == np.float32 and _dtype(lambda x: x or np.float64(7), x) == np.float64
    assert _dtype(lambda x: min(x, 2), x) == np.float32 and _dtype(lambda x: min(x, np.float64(2)), x) == np.float64


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_rounding_to_decimals(dtype):
    """NumPy's, bit for bit, where x * 10**n does not overflow; with numba's typing as numba: a float64."""
    values = np.array([2.675, 0.5, 1.5, 2.5, -0.25, 0.15, 123.456, -321.5, 1e-3, np.inf, -np.inf, np.nan, -0.0], dtype)
    for n in (-3, -1, 0, 1, 2):
        for function in (lambda x, n: round(x, n), lambda x, n: np.round(x, n)):
            got = lw.vectorize(function, target="cpu")(values, np.int64(n))
            assert got.dtype == values.dtype and np.array_equal(got, np.round(values, n), equal_nan=True)
        got = lw.vectorize(lambda x, n: round(x, n), target="cpu", typing="numba")(values, np.int64(n))
        assert got.dtype == np.float64 and np.array_equal(got, np.round(values.astype("f8"), n), equal_nan=True)
    assert lw.vectorize(lambda x: round(x, 2), typing="numba")(np.float32(2.675)) == 2.67
    assert lw.vectorize(lambda x: round(x, 30))(np.float32(1e30)) == np.float32(1e30)  # NumPy: inf


def test_ranges_of_run_time_uint64():
    """They have as many iterations as Python's, also if a bound is beyond int64."""
    u = np.uint64

    @lw.vectorize
    def first_five(n):
        count = 0
        for _ in range(n):
            count += 1
            if count >= 5:
                break
        return count

    @lw.vectorize
    def count(a, b):
        n = 0
        for _ in range(a, b):
            n += 1
        return n

    @lw.vectorize
    def total(a, b, step):
        s = 0
        for i in reversed(range(a, b, step)):
            s += i
        return s

    assert first_five(np.array([0, 3, 2**63 + 3, 2**64 - 1], u)).tolist() == [0, 3, 5, 5]
    i = np.int64
    for a, b in ((u(2**63 - 2), u(2**63 + 2)), (u(2**63 + 2), u(2**63 - 2)), (i(-3), u(4)), (u(3), i(-4)), (u(2**64 - 3), u(2**64 - 1)), (u(3), 9)):
        assert count(a, b) == len(range(int(a), int(b)))
    for a, b, step in ((u(3), u(10), 2), (u(10), u(3), i(-2)), (0, 10, u(2**63)), (7, 10, u(2**63)), (2, u(10), u(3)), (u(9), i(-3), i(-4))):
        assert total(a, b, step) == sum(range(int(a), int(b), int(step)))
    with pytest.raises(ValueError, match="must not be zero"):
        total(u(3), u(9), 0)


def test_numbers_are_stored_as_bools_by_their_truth(target):
    def choose(i, out, n):
        out[i] = 1 if i > n else 0

    def fill(i, out, n):
        out[i] = 1

    def five(i, out, n):
        out[i] = 5

    def runtime(i, out, n):
        out[i] = (i - 1) * n

    def half(i, out, n):
        out[i] = (i - 1) * 0.25

    def imaginary(i, out, n):
        out[i] = (i - 1) * 0.25j

    def added(i, out, n):
        out[i] = False
        out[i] += i - 1

    out = np.zeros(3, bool)
    for function, wanted in ((choose, [False, False, True]), (fill, [True] * 3), (five, [True] * 3), *((one, [True, False, True]) for one in (runtime, half, imaginary, added))):
        for typing in ("weak", "numba"):
            lw.forall(function, typing=typing)(3, out, 1)
            assert out.tolist() == wanted, function
    numbers = np.array([0.0, -0.0, 0.5, np.nan, -np.inf])
    for typing in ("weak", "numba"):
        assert lw.vectorize(["b1(f8)"], typing=typing)(lambda x: x)(numbers).tolist() == numbers.astype(bool).tolist()
    assert lw.vectorize(["b1(f8)"])(lambda x: 1 if x > 0 else 0)(np.array([1.0, -1.0])).tolist() == [True, False]


@pytest.mark.parametrize(("f", "wanted"), [
    (lambda u, n: u + n, 0), (lambda u, n: u * n, 2**64 - 4), (lambda u, n: u > n, True), (lambda u, n: u == n, False),
], ids=range(4))
def test_negative_ints_with_uint64(f, wanted):
    """docs/typing.md: modulo 2**64, except in comparisons (test_signs.py has what raises); an int64 is NumPy's float64."""
    assert lw.jit(f)(np.uint64(2), -2) == wanted


SMALL = ("?", "i1", "u1", "i2", "u2")


@pytest.mark.parametrize("name", ["hypot", "arctan2", "logaddexp", "copysign", "nextafter", "heaviside"])
def test_functions_of_two_small_integers_give_float32(name):
    """As NumPy (but for 8 bits, where NumPy gives float16): float32 holds each of them, though integers that hold both have 32 bits."""
    function = getattr(np, name)
    of_numbers, of_arrays = lw.vectorize(lambda x, y: function(x, y)), lw.njit(lambda x, y: function(x, y))
    for x, y in itertools.product(SMALL, SMALL):
        a, b = np.array([1, 0, 1], x), np.array([1, 1, 0], y)
        expected = function(a.astype(np.float32), b.astype(np.float32))
        for got in (of_numbers(a, b), of_arrays(a, b)):
            assert got.dtype == np.float32 and np.allclose(got, expected, rtol=1e-6), (x, y)
    assert of_numbers(np.int8(1), np.int32(1)).dtype == np.float64


@pytest.mark.parametrize("x", ["i1", "u1", "i2", "u4", "i8", "u8"])
def test_shifts_of_two_integers_have_numpys_dtype(x):
    """uint8 << uint32 is a uint32, so that bytes can be put together; beside a Python int, the left operand keeps its dtype."""
    left, right = lw.vectorize(lambda a, b: a << b), lw.njit(lambda a, b: a >> b)
    a = np.array([1, 3, 100, 127]).astype(x)
    for y in ("i1", "u1", "i2", "u4", "i8", "u8"):
        if {x, y} & {"u8"} and {x, y} & {"i1", "i2", "i8"}:
            continue  # NumPy has no common integer type
        b = np.array([1, 7, 2, 5]).astype(y)
        for got, wanted in ((left(a, b), np.left_shift(a, b)), (right(a, b), np.right_shift(a, b))):
            assert got.dtype == wanted.dtype and np.array_equal(got, wanted)
    assert left(a, 2).dtype == a.dtype

    @lw.njit
    def packed(row):
        word = np.uint32(0)
        for i in range(4):
            word |= row[i] << np.uint32(8 * i)
        return word

    assert packed(np.arange(1, 5, dtype=np.uint8)) == 0x04030201
