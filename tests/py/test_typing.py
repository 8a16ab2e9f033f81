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
    """What f returns, from the header of its typed tree."""
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


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8", "?"])
def test_numba_cuts_floats(dtype):
    """Array elements, results, augmented stores and annotations; out of range saturates as any cast."""
    x = np.array([1.9, 100.5, 0.0, 2.5])

    def store(i, x, out):
        out[i] = x[i]
        out[i] += 0.75 * (out[i] > 1)

    with pytest.raises(lw.errors.TypingError, match="E142"):
        lw.forall(store)(4, x, np.zeros(4, dtype))
    out = np.zeros(4, dtype)
    lw.forall(typing="numba")(store)(4, x, out)
    assert out.tolist() == x.astype(dtype).tolist()
    name = {"?": "b1"}.get(dtype, dtype)
    assert lw.vectorize([f"{name}(f8)"], typing="numba")(lambda v: v)(x).tolist() == x.astype(dtype).tolist()
    with pytest.raises(lw.errors.TypingError, match="E142"):
        lw.vectorize([f"{name}(c16)"], typing="numba")(lambda v: v)


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
