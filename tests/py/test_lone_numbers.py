"""Python numbers alone in calls of ufuncs with signatures that do not take an int64 or a float64."""

import numpy as np
import pytest

import lanewise as lw


def halves(signatures, **keywords):
    return lw.vectorize(signatures, **keywords)(lambda x: x / 2)


def twice(signature, **keywords):
    def fill(x, out):
        out[0] = x * 2

    return lw.guvectorize([signature], "()->()", **keywords)(fill)


@pytest.mark.parametrize(
    "signature, number, expected",
    [
        ("float32(float32)", 3.0, np.float32(1.5)),
        ("float32(float32)", 3, np.float32(1.5)),
        ("float64(int8)", -3, np.float64(-1.5)),
        ("complex64(complex64)", 3j, np.complex64(1.5j)),
        ("complex64(complex64)", 3, np.complex64(1.5)),
    ],
)
def test_the_number_takes_the_dtype_of_the_signature(signature, number, expected):
    result = halves([signature])(number)
    assert type(result) is type(expected)
    assert result == expected


def test_gufuncs_take_it_too():
    assert twice("void(int32, int32[:])")(10) == 20
    assert twice("void(float32, float32[:])")(0.1) == np.float32(0.1) * 2


def test_the_number_goes_to_what_it_is_by_itself_first():
    f = lw.vectorize(["int32(int32)", "float64(float64)"])(lambda x: x * 2)
    assert type(f(3)) is np.float64  # an int64, which float64 takes safely, as for NumPy's ufuncs
    assert type(f(np.int32(3))) is np.int32


def test_an_int_beyond_int64_is_a_uint64_first():
    f = lw.vectorize(["float32(float32)", "uint64(uint64)"])(lambda x: x * 2)
    assert type(f(3)) is np.uint64 and f(2**62) == 2**63
    assert type(f(2**63 + 1)) is np.uint64 and f(2**63 + 1) == 2


def test_out_and_keywords_are_those_of_the_call():
    out = np.zeros(3, np.float32)
    assert halves(["float32(float32)"])(3.0, out=out) is out
    assert out.tolist() == [1.5] * 3
    f = halves(["float32(float32)"])
    assert f(3.0, where=True) == 1.5
    with pytest.raises(TypeError, match="wher"):
        f(3.0, wher=True)


@pytest.mark.parametrize("number", [200, -129, 2**40, 2**70])
def test_an_int_that_does_not_fit_is_an_error(number):
    with pytest.raises(OverflowError):
        halves(["float64(int8)"])(number)
    with pytest.raises(OverflowError):
        twice("void(int8, int8[:])")(number)


def test_a_float_beyond_float32_is_infinite_as_beside_other_operands():
    f, g = halves(["float32(float32)"]), lw.vectorize(["float32(float32,float32)"])(lambda x, y: x * y)
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert f(1e300) == np.inf
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert g(1e300, 1.0) == np.inf


@pytest.mark.parametrize("operand", [1.5, 1j, "a", None, np.float64(1.5), np.int64(1), [1], np.arange(3)])
def test_what_no_signature_takes_is_still_an_error(operand):
    with pytest.raises(TypeError):
        halves(["float64(int8)"])(operand)


def test_an_error_of_the_function_is_the_caller_s():
    def check(x):
        if x > 1:
            raise TypeError("no")
        return x

    with pytest.raises(TypeError, match="no"):
        lw.vectorize(["float32(float32)"])(check)(2.0)


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_other_targets(target, monkeypatch):
    with lw.config(target="cpu"):
        assert halves(["float32(float32)"], target=target)(3.0) == np.float32(1.5)
        assert twice("void(int32, int32[:])", target=target)(10) == 20
    with lw.config(target="python"):
        assert halves(["float32(float32)"])(3.0) == 1.5
