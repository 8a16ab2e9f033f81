"""lanewise.types: casting, array types, signatures, typeof and from_dtype; signature strings."""

from __future__ import annotations

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
    (lambda: from_dtype("M8[s]"), "no arithmetic"),
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
