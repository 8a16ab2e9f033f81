"""lanewise.types: casting, array types, signatures, typeof and from_dtype; signature strings."""

from __future__ import annotations

import collections
import copy
import math
import pickle

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors, types
from lanewise._core import _parse_signature, _sort_signatures
from lanewise.types import (bool_, complex64, complex128, float16, float32, float64, from_dtype,
                            int8, int32, int64, intp, typeof, uint8, uint64, uintp, void)

SCALARS = [getattr(types, name) for name in
           "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
           "complex64 complex128".split()]


@pytest.mark.parametrize("type_", SCALARS, ids=str)
def test_scalars_agree_with_numpy(type_):
    dtype = np.dtype(str(type_))
    assert type_.dtype == dtype and type_ == dtype and dtype == type_
    assert hash(type_) == hash(dtype)
    assert from_dtype(dtype) is type_ and typeof(dtype.type(1)) is type_
    assert np.zeros(2, dtype=type_).dtype == dtype
    value = type_(1)
    assert type(value) is dtype.type and value == 1


@pytest.mark.parametrize("type_", [*SCALARS, types.bfloat16, void, float32[:], float32[:, ::1],
                                   int8[::1, :, :], float64(float32, int32), void(float32[::1])],
                         ids=str)
def test_value_semantics(type_):
    again = pickle.loads(pickle.dumps(type_))
    assert again == type_ and hash(again) == hash(type_) and str(again) == repr(type_)
    assert copy.deepcopy(type_) == type_ and not type_ != again and type_ != "float32"
    with pytest.raises(AttributeError):
        type_.anything = 1


def test_casts_follow_compiled_code():
    assert int8(300) == 44 and uint8(-1) == 255 and uint64(2**70 + 5) == 5
    assert int8(300.7) == 127 and int8(-1e30) == -128 and int32(math.nan) == 0
    assert bool_(3) and not bool_(0) and bool_(2**70)
    assert float16(1e9) == np.inf and float32(0.1) == np.float32(0.1)
    assert complex64(1 + 2j) == np.complex64(1 + 2j) and complex128(3) == 3
    assert float32(np.int64(7)) == 7 and float32(np.array(2.5)) == 2.5
    assert int32(np.array([1.5, -2.5])).tolist() == [1, -2]
    assert float(types.bfloat16(1.3)) == 1.296875


@pytest.mark.parametrize("call, message", [
    (lambda: float32("1"), "expected a number, got str"),
    (lambda: float32(None), "expected a number, got NoneType"),
    (lambda: float32(1j), "take .real or abs"),
    (lambda: float32(1, 2), "argument 1 of a signature must be a type, got int"),
    (lambda: float32(x=1), "no keyword arguments"),
    (lambda: float32[0], "expected `:`"),
    (lambda: float32[::2], "expected `:`"),
    (lambda: float32[::1, ::1], "expected `:`"),
    (lambda: float32[:, ::1, :], "expected `:`"),
    (lambda: void[:], "cannot be the element"),
    (lambda: from_dtype("V3"), "no arithmetic"),
    (lambda: from_dtype(">f8"), "native byte order"),
    (lambda: typeof("text"), "got str"),
    (lambda: type(float32)(), "cannot create"),
])
def test_wrong_uses(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_names():
    assert intp is int64 and uintp is uint64 and types.f4 is float32 and types.double is float64
    from lanewise import b1, boolean, c8, c16, f4, f8, i4, i8, u4, u8, uint

    assert (b1, boolean, c8, c16, f4, f8, i4, i8, u4, u8, uint) == tuple(
        map(lw.from_dtype, ("?", "?", "F", "D", "f", "d", "i", "q", "I", "Q", "Q")))
    assert [name for name in types.__all__ if getattr(lw, name, None) is not getattr(types, name)] == []
    assert [str(t) for t in (bool_, void, types.bfloat16)] == ["bool", "void", "bfloat16"]
    assert (float32[:, ::1].ndim, float32[:, ::1].layout, float32[:].dtype) == (2, "C", np.float32)
    assert float32[::1].layout == "C" and float32[::1, :].layout == "F" and float32.layout is None


def test_signature_objects():
    signature = float64(float32, int, np.int8, int32)
    assert str(signature) == "float64(float32, int64, int8, int32)"
    assert signature.return_type is float64 and signature.args[0] is float32
    assert signature != float64(float32) and signature == float64(float32, int64, int8, int32)


@pytest.mark.parametrize("value, text", [
    (1, "int64"), (2**80, "int64"), (1.0, "float64"), (True, "bool"), (1j, "complex128"),
    (None, "void"), (np.float16(1), "float16"), (np.zeros(3), "float64[::1]"),
    (np.zeros((2, 3), "f4"), "float32[:, ::1]"), (np.zeros((2, 3), "f4").T, "float32[::1, :]"),
    (np.zeros(8)[::2], "float64[:]"), (np.array(3, "i2"), "int16"),
])
def test_typeof(value, text):
    assert str(typeof(value)) == text


# ---- tuples, records, and numba's names of what makes types ----

Point = collections.namedtuple("Point", "x y")
FIELDS = np.dtype([("a", "i4"), ("b", "f8")])


def test_makers_of_types():
    assert types.Array(float32, 2, "C") == float32[:, ::1]
    assert types.Array(float32, 2, "F") == float32[::1, :] and types.Array(int8, 1, "A") == int8[:]
    assert types.UniTuple(float64, 2) == types.Tuple((float64, float64)) != types.Tuple((float64, int32))
    named = types.NamedTuple((int64, float64), Point)
    assert str(named) == "NamedTuple(Point, x: int64, y: float64)" and named.fields == ("x", "y")
    assert named == typeof(Point(1, 2.0)) != typeof((1, 2.0)) and types.Tuple(()).fields is None
    assert types.NamedUniTuple(int64, 2, Point) == typeof(Point(1, 2))
    record = types.Record.make_c_struct([("a", int32), ("b", float64)])
    assert record == from_dtype(np.dtype([("a", "i4"), ("b", "f8")], align=True)) != from_dtype(FIELDS)
    assert types.Record([("a", {"type": int32, "offset": 0}), ("b", {"type": float64, "offset": 4})], 12) == from_dtype(FIELDS)
    assert [t.itemsize for t in (int8, float32[:], complex128, types.bfloat16, record)] == [1, 4, 16, 2, 16]
    assert (float32.bitwidth, record[:].bitwidth) == (32, 128)
    assert typeof(np.zeros(1, FIELDS)[0]) == from_dtype(FIELDS)
    for call, error in ((lambda: types.Array(int8, 1, "X"), ValueError), (lambda: types.Tuple((1,)), TypeError),
                        (lambda: types.NamedTuple((int8,), Point), TypeError), (lambda: void.itemsize, AttributeError),
                        (lambda: int8.types, AttributeError), (lambda: types.Tuple((int8,)).itemsize, AttributeError)):
        with pytest.raises(error):
            call()


@pytest.mark.parametrize("value", [(1, 2.5), Point(1, 2.5), (np.float32(1), (np.zeros(3), None)),
                                   Point(np.zeros(2, FIELDS), np.zeros(1, FIELDS)[0])], ids=str)
def test_types_of_tuples(value):
    kind = typeof(value)
    again = pickle.loads(pickle.dumps(kind))
    assert again == kind and hash(again) == hash(kind) and copy.deepcopy(kind) == kind
    assert kind.types == tuple(map(typeof, value))
    assert pickle.loads(pickle.dumps(void(kind))) == void(kind)
    assert _parse_signature(f"void({kind})") == f"void({kind})"


@pytest.mark.parametrize("value", [(1, 2.5), Point(1, 2.5)])
def test_tuples_in_eager_kernels(value):
    def named(i, t, out):
        out[i] = t.x + 2 * t.y

    def plain(i, t, out):
        out[i] = t[0] + 2 * t[1]

    kind = typeof(value)
    for signature in ([void(kind, float64[:])], [f"void({kind}, float64[:])"], (kind, float64[:])):
        kernel, out = lw.forall(signature)(named if kind.fields else plain), np.zeros(2)
        kernel(2, value, out)
        assert out.tolist() == [6, 6]
        with pytest.raises(TypeError, match="E181"):
            kernel(2, (1j, 2.0), out)
    pair = lw.forall(void(types.UniTuple(float64, 2), float64[:]))(plain)
    for numbers in ((1, 2), (1.0, 2), (np.float32(1), True + 1), Point(1, 2)):  # numbers in tuples are converted too
        pair(2, numbers, out)
        assert out.tolist() == [5, 5]
    with pytest.raises(TypeError, match="E181"):
        lw.forall(void(types.NamedTuple((float64, float64), Point), float64[:]))(named)(2, (1.0, 2.0), out)


def test_types_of_read_only_arrays():
    data, frozen = np.arange(3, dtype="f4"), np.arange(3, dtype="f4")
    frozen.flags.writeable = False
    record = from_dtype(np.dtype([("x", "f4")]))
    kind = types.Array(float32, 1, "C", readonly=True)
    assert str(kind) == "Array(float32, 1, 'C', readonly=True)" and not kind.mutable and float32[::1].mutable
    assert kind == types.Array(float32, 1, "C", True, aligned=True) == typeof(frozen) != float32[::1] == typeof(data)
    for one in (kind, types.Array(record, 2, "F", readonly=True)):
        assert pickle.loads(pickle.dumps(one)) == one and hash(pickle.loads(pickle.dumps(one))) == hash(one)

    def first(x):
        return x[1]

    both = lw.njit(["f4(f4[::1])", float32(kind)])(first)
    assert both(data) == both(frozen) == 1 and both.signatures == ["float32(float32[::1])", f"float32({kind})"]
    for signature in (float32(kind), f"f4({kind})", (kind,)):  # one that is read-only accepts both
        assert lw.njit(signature)(first)(data) == lw.njit(signature)(first)(frozen) == 1
    with pytest.raises(TypeError, match=r"E181(?s:.*)`x` is Array\(float32, 1, 'C', readonly=True\); the signature has float32\[::1\]"):
        lw.njit("f4(f4[::1])")(first)(frozen)
    with pytest.raises(TypeError, match="E181"):
        lw.njit(float32(kind))(first)(data[::2])

    def put(x):
        x[0] = 1

    with pytest.raises(errors.TypingError, match="E162"):
        lw.njit(void(kind))(put)
    total = lw.guvectorize([(kind, float32[:])], "(n)->()")(lambda x, out: store_sum(x, out))
    assert total(data) == total(frozen) == 3


@lw.njit
def store_sum(x, out):
    out[0] = x.sum()


def test_lists_of_read_only_arrays():
    kind = types.Array(float64, 1, "C", readonly=True)
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    arrays = lw.typed.List.empty_list(kind)
    arrays.append(frozen)
    arrays.append(np.ones(2))

    @lw.njit
    def total(arrays):
        t = 0.0
        for x in arrays:
            t += x.sum()
        return t

    @lw.njit
    def made():
        x = lw.typed.List.empty_list(kind)
        x.append(np.ones(3))
        return x

    assert total(arrays) == 5 and total(made()) == 3
    with pytest.raises(TypeError, match="readonly=True"):
        lw.typed.List.empty_list(float64[::1]).append(frozen)


def test_tuples_as_results():
    assert _parse_signature("UniTuple(f4 x 2)(f4)") == _parse_signature("UniTuple(f4, 2)(f4)")
    both = lw.vectorize([types.UniTuple(float64, 2)(float64)])(lambda x: (x, -x))
    assert both(2.0) == (2.0, -2.0) and both.types == ["d->dd"]
    with lw.config(target="cpu"):
        @lw.cuda.jit(void(types.Tuple((int64, float64[::1])), float64))
        def scale(pair, by):
            i = lw.cuda.grid(1)
            if i < pair[0]:
                pair[1][i] *= by

        data = np.ones(3)
        scale[1, 32]((2, data), 4)
    assert data.tolist() == [4, 4, 1]
    assert lw.compile(scale, void(types.Tuple((int64, float64[::1])), float64), target="sm_90")[:4] == b"\x7fELF"
    for wrong in ("NamedTuple(P", "NamedTuple(P, x float64)", "NamedTuple()"):
        with pytest.raises(errors.SignatureError, match="E180"):
            _parse_signature(f"void({wrong})")


def test_signature_strings():
    assert _parse_signature("f4(f4, i4,)") == "float32(float32, int32)"
    assert _parse_signature("dl->dd") == "Tuple(float64, float64)(float64, int64)"
    assert _sort_signatures(["dd->d", "f4(f4,f4)", "i8(i8,i8)"]) == [
        "int64(int64, int64)", "float32(float32, float32)", "float64(float64, float64)"]
    for dtype in "?bBhHiIlLqQefdFD":
        assert _parse_signature(f"{dtype}->{dtype}") == "{0}({0})".format(np.dtype(dtype).name)


@pytest.mark.parametrize("texts, code, message", [
    (["float32(flaot32)"], "E180", "did you mean `float32`"),
    (["f4(f4[:])"], "E183", "float32"),
    (["void(f4)"], "E183", "void"),
    (["f4(f4)", "f8(f4)"], "E182", "float32(float32)` and `float64(float32)"),
    (["f4(f4)", "f4(f4)"], "E182", "twice"),
])
def test_signature_errors(texts, code, message):
    with pytest.raises(errors.SignatureError) as caught:
        _sort_signatures(texts)
    assert caught.value.code == code and message in str(caught.value)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, errors.CompileError)


@pytest.mark.parametrize("make", [lw.vectorize, lw.jit, lw.njit, lw.cfunc], ids=lambda make: make.__name__)
def test_signatures_with_another_number_of_arguments(make):
    with pytest.raises(errors.SignatureError, match=r"E182: signature `(f4|float32)\((f4|float32)\)` has 1 argument, but `<lambda>` takes 2"):
        make("f4(f4)")(lambda x, y: x)
