"""lw.power of integers: NumPy's ValueError for negative exponents, and nothing else changed."""

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device, needs_kernels

MESSAGE = "Integers to negative integer powers are not allowed"

EXPONENTS = [
    np.array([2, -1]), np.array([-1, 2], np.int8), np.int64(-1), np.int8(-1), -1, [-1, 2],
]


@pytest.mark.parametrize("exponent", EXPONENTS, ids=repr)
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8"])
def test_negative_exponents_of_integers(dtype, exponent):
    x = np.array([2, 3], dtype)
    with pytest.raises(ValueError, match=MESSAGE):
        np.power(x, exponent)
    with pytest.raises(ValueError, match=MESSAGE):
        lw.power(x, exponent)


def test_numbers_alone():
    with pytest.raises(ValueError, match=MESSAGE):
        lw.power(2, -1)
    assert lw.power(2, 3) == 8 and lw.power(2.0, -1) == 0.5 and lw.power(2, -1.0) == 0.5


@pytest.mark.parametrize("base", ["?", "i1", "u1", "i4", "u4", "i8", "u8", "f4", "f8", "c8"])
@pytest.mark.parametrize("exponent", ["?", "i1", "u1", "i8", "u8", "f4"])
def test_all_else_is_numpys(base, exponent):
    x, n = np.array([1, 2, 3]).astype(base), np.array([0, 1, 2]).astype(exponent)
    expected, got = np.power(x, n), lw.power(x, n)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_unsigned_bases_with_signed_exponents_are_floats():
    x, n = np.array([2, 4], np.uint64), np.array([-1, -2])
    assert lw.power(x, n).tolist() == np.power(x, n).tolist() == [0.5, 0.0625]


def test_nothing_is_raised_where_nothing_is_computed():
    x, n, out = np.array([2, 3]), np.array([-1, 2]), np.zeros(2, int)
    assert lw.power(x, n, out=out, where=n >= 0).tolist() == [0, 9]
    assert lw.power(x[:0], -1).shape == (0,)


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
def test_the_gpus_kernel_reports_it(target):
    assert len(lw.compile(lw.power, "i8(i8,i8)", target=target)) > 0
    assert "atom." in lw.power.inspect_ptx("qq->q", target)  # who raises first claims the record
    assert "atom." not in lw.power.inspect_ptx("dd->d", target)



@needs_device
@needs_kernels
def test_device_arrays():
    d = lw.cuda.to_device(np.array([2, 3]))
    with pytest.raises(ValueError, match=MESSAGE):
        lw.power(d, -1)
    with pytest.raises(ValueError, match=MESSAGE):
        d ** lw.cuda.to_device(np.array([1, -1]))
    assert (d**2).copy_to_host().tolist() == [4, 9]
