"""Names that are nearly right, and objects that are nearly arguments: what the error suggests."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors, njit, prange


class Point:
    def __init__(self, width):
        self.width = width

    def scaled(self, by):
        return self.width * by


@pytest.mark.parametrize("function, argument, near", [
    (lambda x: x.sape[0], np.ones(3), "shape"),
    (lambda x: x.summ(), np.ones(3), "sum"),
    (lambda x: x.dtyp, np.ones(3), "dtype"),
    (lambda x: x.rael, 1j, "real"),
    (lambda x: Point(x).widthh, 2.0, "width"),
    (lambda x: Point(x).scale(x), 2.0, "scaled"),
])
def test_attributes(function, argument, near):
    with pytest.raises(errors.TypingError, match=f"E161(.|\n)*did you mean `{near}`"):
        njit(function)(argument)


def test_array_attributes_of_numbers_name_the_other_decorators():
    with pytest.raises(errors.TypingError, match="E161(.|\n)*guvectorize"):
        lw.vectorize(lambda x: x.shape[0])(np.ones(3))


@pytest.mark.parametrize("name, hint", [("ListTypeIteratorType", "loop over the list")])
def test_numbas_containers(name, hint):
    with pytest.raises(AttributeError, match=f"lanewise.types has no {name}: .*{hint}"):
        getattr(lw.types, name)
    with pytest.raises(AttributeError, match="module 'lanewise.types' has no attribute 'flot64'"):
        lw.types.flot64


@pytest.mark.parametrize("value, hint", [(datetime.datetime(2020, 1, 1), "np.datetime64"), (datetime.date(2020, 1, 1), "np.datetime64"), (datetime.timedelta(3), "np.timedelta64")])
def test_dates_of_python(value, hint):
    with pytest.raises(TypeError, match=hint):
        njit(lambda x: x)(value)


def test_functions_that_are_not_known_name_the_page():
    with pytest.raises(errors.TypingError, match='E152(.|\n)*the page "Supported Python" of the documentation'):
        njit(lambda x: np.fft.fft(x))(np.ones(3))


def test_the_index_of_an_extremum_in_prange():
    @njit(parallel=True)
    def largest(x):
        best, at = -np.inf, 0
        for i in prange(len(x)):
            if x[i] > best:
                best, at = x[i], i
        return at

    with pytest.raises(errors.CompileError, match=r"E168(.|\n)*`argmax\(\)`"):
        largest(np.ones(3))


# ---- clip: bounds that no element passes bound nothing ----


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "u4", "u8", "i8", "f2", "f4"])
def test_constant_bounds(dtype):
    x = np.array([1, 3, 100, 0]).astype(dtype)
    for function in (lambda x: np.clip(x, -2, 50), lambda x: np.clip(x, 2, 3000), lambda x: np.clip(x, -1000, 70000) if x.dtype.type != np.float16 else x,
                     lambda x: x.clip(-2, 50), lambda x: np.clip(x, -2, None)):
        expected = function(x)
        got = njit(function)(x)
        assert got.dtype == expected.dtype and np.array_equal(got, expected)
    assert np.array_equal(lw.vectorize(lambda x: np.clip(x, -2, 50))(x), np.clip(x, -2, 50))


def test_a_lower_bound_above_all_elements_is_refused():
    with pytest.raises(errors.TypingError, match="E130"):
        njit(lambda x: np.clip(x, 300, 400))(np.arange(3, dtype=np.uint8))


def test_negative_bounds_of_uint64():
    x = np.array([1, 3, 200, 2**64 - 1], np.uint64)
    assert np.array_equal(njit(lambda x, low: np.clip(x, low, 50))(x, -2), [1, 3, 50, 50])
    assert np.array_equal(njit(lambda x, low: x.clip(low, 50))(x, -2), [1, 3, 50, 50])
    assert njit(lambda x, low: np.clip(x, low, 50))(x[1], -2) == 3
    assert np.array_equal(njit(lambda x, low: np.clip(x, low, 50))(x, 2), [2, 3, 50, 50])


# ---- verify says what it has compared ----


def test_verify_says_that_python_was_left_out():
    doubled = njit(lambda x: x * 2)
    assert any("left out, because Python would compute 20000 elements" in way for way in lw.verify(doubled, np.zeros(20_000)).compared)
    assert lw.verify(doubled, np.zeros(20_000), sample=20_000).compared[-1] == "CPU with fma=False against Python"
