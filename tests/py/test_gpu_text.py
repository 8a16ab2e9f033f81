"""GPU code that must not hold an instruction whose corner differs from ours (found by fuzzing on an H200)."""

import numpy as np
import pytest

import lanewise as lw


def ptx(function, signature, target):
    try:
        return lw.compile(function, signature, target=target, output="ptx")
    except lw.errors.CompilerNotFound as problem:
        pytest.skip(str(problem).splitlines()[0])


def least(c):
    return min(0.0, c)


def largest(c):
    return max(c, 0.0)


def magnitude(v):
    return abs(v) % 7


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_zeros_keep_their_sign_in_min_and_max(target, dtype):
    for function in (least, largest):
        text = ptx(function, f"({dtype})", target)
        assert "setp." in text and "min.f" not in text and "max.f" not in text


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("dtype", ["i4", "i8"])  # narrower ones are widened first, where abs is exact
def test_the_least_integer_has_no_positive_absolute_value(target, dtype):
    assert "abs.s" not in ptx(magnitude, f"({dtype})", target)


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_100", "sm_120"])
def test_narrow_remainders_are_done_in_32_bits(target):
    text = ptx(lambda b, c: (-b) % c, "(i2, i2)", target)
    assert "rem.s32" in text and "rem.s16" not in text


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("dtype", ["i2", "u2"])
def test_16_bit_integers_are_not_negated_by_neg(target, dtype):
    for function in (lambda b, c: (-b) * c,
                     lambda b, c: ((b - b) - b) * c,
                     lambda b, c: b == -(c & 7)):  # LLVM turns the compare round and negates b
        text = ptx(function, f"({dtype}, i4)", target)
        assert "neg.s16" not in text


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("dtype, letter", [("f4", "f32"), ("f8", "f64")])
def test_minimum_of_zeros_is_left_to_the_hardware(target, dtype, letter):
    text = ptx(lambda x: (np.minimum(0.0, -(x - x)), np.fmax(x - x, -0.0)), f"({dtype})", target)
    assert f"min.{letter}" in text and f"max.{letter}" in text
