"""GPU code that must not hold an instruction whose corner differs from ours (found by fuzzing on an H200)."""

import math
import re

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda


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
    assert re.search(rf"min(\.NaN)?\.{letter}", text) and f"max.{letter}" in text


def of_a_sum(n, out):
    s = 0
    for i in range(n):
        for j in range(s % 4):
            out[i] += j
        s += i


def of_a_longer_sum(n, out):
    s = 0
    for i in range(n):
        for j in range(s & 3):
            out[i] += j
        s = 5 + (s + i) + 1


def of_a_square(n, out):
    for i in range(n):
        for j in range(i * i & 7):
            out[i] += j


def of_a_counter(n, out):
    for i in range(n):
        for j in range(i % 4):
            out[i] += j


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_heaviside_keeps_the_sign_of_its_value_at_zero(target, dtype):
    for function in (lambda x: np.heaviside(x, x), lambda x: np.heaviside(np.float64(x), x)):
        assert "setp.le" not in ptx(function, f"({dtype})", target)


@pytest.mark.parametrize(("target", "dtype", "at_once"), [("sm_75", "f4", False), ("sm_80", "f4", True), ("sm_90", "f2", True), ("sm_120", "f8", False)])
def test_maxima_that_keep_nan_are_one_instruction_where_there_is_one(target, dtype, at_once):
    text = ptx(lambda a, b: np.maximum(a, b), f"({dtype}, {dtype})", target)
    assert ("max.NaN.f32" in text, "setp.nan" in text) == (at_once, not at_once)


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("function, hidden", [(of_a_sum, True), (of_a_longer_sum, True), (of_a_square, True), (of_a_counter, False)])
def test_llvm_makes_no_closed_forms_of_truncated_counts(target, function, hidden):
    """LLVM's closed form loses a bit: a loop of s % 4 iterations never ended."""
    text = ptx(lw.jit(function), "void(int64, int64[:])", target)
    assert ("begin inline asm" in text) is hidden


def plus(a):
    return a + 12345


def minus(a):
    return a - 12345


def flipped(a):
    return a ^ -2147483648


def plus_by_a_helper(a):
    return added(a, 12345)


def added(a, b):
    return a + b


def plus_in_a_loop(a):
    for i in range(3):
        a += 4115
    return a


def plus_in_64_bits(a):
    return np.int32(np.int64(a) + 12345)


def loops(a):
    n = 0
    last = 0.25
    while n < 3:
        n += 1
        if a % n:
            continue
        if a:
            last = math.gcd(1, a)
    return 1 // (0.25 % a), last


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("sum_of", [plus, minus, flipped, plus_by_a_helper, plus_in_a_loop, plus_in_64_bits])
def test_a_sum_of_32_bits_wraps_before_it_is_widened(target, sum_of):
    """libNVVM widened its operand and added the constant in 64 bits, where another place widens the operand too."""

    def function(a):
        total = sum_of(a)
        return np.int64(total), 1.0 % total, *loops(a)

    text = ptx(function, "(int32)", target)
    widened = re.findall(r"cvt\.s64\.s32\s+(%rd\d+),", text)
    assert widened
    for register in widened:
        assert not re.search(rf"(add|sub)\.s64\s+%rd\d+, {register}, -?(12345|4115|2147483648);", text)


@pytest.mark.parametrize("dtype, hidden", [("i1", False), ("i2", False), ("i4", True), ("u4", False)])
def test_only_signed_sums_of_32_bits_are_hidden(dtype, hidden):
    text = ptx(lambda a: np.int64(a + a), f"({dtype})", "sm_90")
    assert ("begin inline asm" in text) is hidden


@pytest.mark.parametrize("dtype, fastmath, n", [("f4", {"afn"}, 1), ("f2", True, 1), ("f4", {"contract"}, 0), ("f4", False, 0), ("f8", True, 0)])
def test_tanh_is_one_instruction_where_approximations_are_allowed(dtype, fastmath, n):
    f = lw.vectorize([f"{dtype}({dtype})"], fastmath=fastmath, warn=False)(lambda x: math.tanh(x))
    assert f.inspect_ptx(target="sm_90").count("tanh.approx.f32 ") >= n
    assert n or "tanh.approx" not in f.inspect_ptx(target="sm_90")


@cuda.jit
def mirrored(x, y):
    t = cuda.shared.array(64, np.float32)
    i = cuda.grid(1)
    t[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    y[i] = t[63 - cuda.threadIdx.x] * y[i] + x[i + 1]


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_100", "sm_120"])
def test_arrays_that_are_only_read_use_the_read_only_path(target):
    """Such loads use the read-only path also across barriers, and beside memory that the kernel changes."""
    text = mirrored.inspect_ptx("(float32[::1], float32[::1])", target)
    assert len(re.findall(r"ld\.global\.nc\.[fb]32", text)) == 2 and len(re.findall(r"ld\.global\.[fb]32", text)) == 1
