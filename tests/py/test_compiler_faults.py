"""Programs that versions of ptxas or libNVVM compile wrongly (core/link/ptx_mend.c, core/link/libnvvm.h and core/emit/closed_form.c list the faults), on every target.

On a GPU the values are what counts; without one, what the PTX must not contain."""

import math
import re

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE

EDGES = {dtype: np.array([np.iinfo(dtype).min, np.iinfo(dtype).min + 1, -7, -2, -1, 0, 1, 2, 5, np.iinfo(dtype).max], dtype) for dtype in ("i1", "i2", "i4", "i8")}


def on(target, arrays):
    return [lw.cuda.to_device(a) for a in arrays] if target == "cuda" else arrays


def back(result):
    return result.copy_to_host() if hasattr(result, "copy_to_host") else result


def largest(a, b, c):
    return max(a, -b, c)


def least(a, b, c):
    return min(a, -b, c)


def largest_of_differences(a, b, c):
    w = a
    a = a + b
    return max(w - (a | a), a // a if a else a, c)


@pytest.mark.parametrize("dtype", EDGES)
@pytest.mark.parametrize("function", [largest, least, largest_of_differences])
def test_a_minus_in_a_chain_of_max_and_min(target, function, dtype):
    a, b, c = (np.ravel(x) for x in np.meshgrid(*[EDGES[dtype]] * 3))
    with np.errstate(all="ignore"):
        wanted = [function(*row) for row in zip(a, b, c)]
    got = back(lw.vectorize(function)(*on(target, (a, b, c))))
    np.testing.assert_array_equal(got, np.array(wanted).astype(got.dtype))


@pytest.mark.parametrize("dtype", ["i2", "i4", "i8"])
def test_the_largest_of_negated_elements(target, dtype):
    x = np.random.default_rng(1).integers(-1000, 1000, (50, 37)).astype(dtype)

    def rows(x, out):
        best = -x[0]
        for i in range(1, len(x)):
            best = max(best, -x[i])
        out[0] = best

    f = lw.guvectorize(f"({dtype}[:], {dtype}[:])", "(n)->()")(rows)
    np.testing.assert_array_equal(back(f(*on(target, (x,)))), (-x).max(axis=1))
    r = lw.reduce(map=lambda x: -x, combine=lambda a, b: max(a, b), identity=-(2**15) + 1)
    assert back(r(*on(target, (x,)))) == (-x).max()


def double_taken_from_sign(x):
    return (x < 0) - 2 * x


def sign_and_double(x):
    return (x >> 63) + (x << 1)


def shifts_apart(x):
    return (x >> 40) - (x << 24)


def shifts_apart_turned(x):
    return (x << 17) - (x >> 47)


def negated_shifts(x):
    return -(x >> 63) - (x << 1)


def rotated(x):
    return (x << 24) | (x >> 40)


SHIFTS = [double_taken_from_sign, sign_and_double, shifts_apart, shifts_apart_turned, negated_shifts, rotated]


@pytest.mark.parametrize("dtype", ["i8", "u8"])
@pytest.mark.parametrize("function", SHIFTS)
def test_shifts_whose_distances_make_64(target, function, dtype):
    x = np.concatenate([EDGES["i8"], np.random.default_rng(2).integers(-(2**63), 2**63, 50)]).astype(dtype)
    with np.errstate(all="ignore"):
        wanted = function(x)
    got = back(lw.vectorize(function)(*on(target, (x,))))
    np.testing.assert_array_equal(got, np.asarray(wanted).astype(got.dtype))


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8"])
def test_what_the_least_integer_becomes(target, dtype):
    x = EDGES[dtype]
    with np.errstate(all="ignore"):
        f = lw.vectorize(lambda b, c: ((-b) * c, (-b) % 3, abs(b) // 7, (b - b) - b))
        got = f(*on(target, (x, x)))
        minus, size = np.negative(x), np.abs(x)
        for a, b in zip(got, (minus * x, minus % 3, size // 7, minus)):
            np.testing.assert_array_equal(back(a), b.astype(back(a).dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_sign_of_what_has_its_own_sign(target, dtype):
    x = np.array([0.0, -0.0, 1.5, -1.5, 40.0, -40.0, np.inf, -np.inf], dtype)
    f = lw.vectorize(lambda x: (math.remainder(math.copysign(x, x), dtype_of(33.0)), math.copysign(2.0, np.copysign(x, x))))
    dtype_of = {"f4": np.float32, "f8": np.float64}[dtype]
    rest, sign = f(*on(target, (x,)))
    finite = np.isfinite(x)
    wanted = [math.remainder(v, 33.0) for v in x[finite]]
    np.testing.assert_array_equal(back(rest)[finite], wanted)
    np.testing.assert_array_equal(np.signbit(back(rest)[finite]), np.signbit(wanted))
    np.testing.assert_array_equal(back(sign), np.copysign(2.0, x))


def without_larger(n, c, a):
    x = 2.5
    if a == 3.0:
        return x
    for i in range(n):
        if i > c:
            continue
        x = x * x
        x /= a
    return x


def only_from(n, c, a):
    x = 2.5
    if a == 3.0:
        return x
    for i in range(n):
        if i < c:
            continue
        x = x * x
        x /= a
    return x


def within(n, c, a):
    x = 2.5
    if a == 3.0:
        return x
    for i in range(n & 15):
        if i > c and i < n:
            continue
        x = x * x
        x /= a
    return x


def beyond_a_constant(n, c, a):
    x = 2.5
    if a == 3.0:
        return x
    for i in range(abs(n)):
        if i > -9:
            continue
        x = x * x
        x /= a
    return x


def shifted(n, c, a):
    x = 2.5
    if a == 3.0:
        return x
    for i in range(c, n):
        if i - c > c:
            continue
        x = x * x
        x /= a
    return x


@pytest.mark.parametrize("dtype", ["i4", "i8"])
@pytest.mark.parametrize("function", [without_larger, only_from, within, beyond_a_constant, shifted])
def test_loops_that_compare_their_index_with_negative_numbers(target, function, dtype):
    """libNVVM splits such loops, and compares without a sign."""
    n, c = (np.ravel(x) for x in np.meshgrid(np.array([-3, 0, 1, 3, 5], dtype), np.array([-9, -3, -1, 0, 2, 4], dtype)))
    wanted = [function(int(k), int(m), 1.37) for k, m in zip(n, c)]
    got = back(lw.vectorize(function)(*on(target, (n, c, np.full(n.shape, 1.37)))))
    np.testing.assert_allclose(got, wanted, rtol=1e-13)
    for arch in ["sm_75", "sm_90"]:  # the body, and four iterations of it in an unrolled loop
        assert lw.compile(function, f"({dtype}, {dtype}, f8)", target=arch, output="ptx").count("div.rn") <= 5, arch


@pytest.mark.gpu
@pytest.mark.skipif(FAKE or not lw.cuda.is_available(), reason="no CUDA device that runs kernels")
def test_loops_that_are_linked_with_ltoir():
    """nvJitLink, which compiles what is linked as LTO-IR, has the same fault."""
    code, _ = lw.cuda.compile(lambda x: x * 2, lw.float32(lw.float32), output="ltoir", abi_info={"abi_name": "lto_twice"})
    twice = lw.cuda.declare_device("lto_twice", "float32(float32)", abi="c", link=[lw.cuda.LTOIR(code)])

    @lw.cuda.jit
    def k(x, n, c):
        j = lw.cuda.grid(1)
        if j < x.size:
            v = x[j]
            if v == 3:
                x[j] = 0
            else:
                for i in range(n & 7):
                    if i > c:
                        continue
                    v = twice(v * v)
                    v /= 1.5
                x[j] = v

    x = lw.cuda.to_device(np.full(32, 2, np.float32))
    k[1, 32](x, 5, -9)
    np.testing.assert_array_equal(x.copy_to_host(), 2)


def ends_where_it_wraps(n, d, a):
    y = 0.0
    for i in range(d, n):
        if i < d:
            break
        y += a / (i + 1)
    return y


def ends_where_32_bits_wrap(n, d, a):
    y = 0.0
    for i in range(d, n, 2):
        if np.uint32(i) < np.uint32(d):
            break
        y += a / (i + 1)
    return y


def ends_where_8_bits_wrap(n, d, a):
    y = 0.0
    for i in range(d, n):
        if np.uint8(i + 3) < np.uint8(d + 3):
            break
        y += a / (i + 1)
    return y


def unsigned(x):
    return np.uint64(x)


def ends_where_calls_say_so(n, d, a):
    y = 0.0
    for i in range(d, n):
        if unsigned(i - 3) < unsigned(d):
            break
        y += a / (i + 1)
    return y


def below(x, y):
    return x < y


def ends_where_a_function_of_both_says_so(n, d, a):
    y = 0.0
    for i in range(d, n):
        if below(unsigned(i + 3), unsigned(d + 1)):
            break
        y += a / (i + 1)
    return y


def ends_where_a_sum_is_less(n, d, a):
    y = 0.0
    for i in range(n):
        if i + d < d:
            break
        y += a / (i + 1)
    return y


def ends_where_a_difference_is_more(n, d, a):
    y = 0.0
    for i in range(n):
        if np.int64(d) - 3 - i > np.int64(d) - 3:
            break
        y += a / (i + 1)
    return y


def ends_where_a_multiple_is_less(n, d, a):
    y = 0.0
    for i in range(n):
        if i * 3 + d * 3 < d * 3:
            break
        y += a / (i + 1)
    return y


def ends_where_an_inverse_is_more(n, d, a):
    y = 0.0
    for i in range(n):
        if ~(i + d) > ~d:
            break
        y += a / (i + 1)
    return y


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("function", [ends_where_it_wraps, ends_where_32_bits_wrap, ends_where_8_bits_wrap, ends_where_calls_say_so, ends_where_a_function_of_both_says_so, ends_where_a_sum_is_less, ends_where_a_difference_is_more,
                                      ends_where_a_multiple_is_less, ends_where_an_inverse_is_more])
def test_loops_that_end_where_a_sum_wraps(target, function, dtype):
    """libNVVM ended such loops after one iteration."""
    n, d = (np.ravel(x) for x in np.meshgrid(np.array([1, 5, 40], dtype), np.array([5, 7, 30], dtype)))
    wanted = [function(int(k), int(m), 1.37) for k, m in zip(n, d)]
    got = back(lw.vectorize(function)(*on(target, (n, d, np.full(n.shape, 1.37)))))
    np.testing.assert_allclose(got, wanted, rtol=1e-13)
    for arch in ["sm_75", "sm_90"]:  # a loop is there
        text = lw.compile(function, f"({dtype}, {dtype}, f8)", target=arch, output="ptx")
        assert text.count("bra") >= 4, arch


def ends_where_a_stored_sum_is_less(n, d, t, y):
    y[0] = 0
    for i in range(n):
        t[0] = i + d
        if t[0] < d:
            break
        y[0] += 1 / (i + 1)


def ends_where_a_sum_is_less_than_what_is_stored(n, d, t, y):
    y[0] = 0
    for i in range(n):
        t[0] = d
        if i + d < t[0]:
            break
        y[0] += 1 / (i + 1)


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("function", [ends_where_a_stored_sum_is_less, ends_where_a_sum_is_less_than_what_is_stored])
def test_loops_that_end_where_a_sum_in_memory_wraps(target, function, dtype):
    n, d, t, y = np.array([1, 5, 40], dtype), np.array([5, 7, 30], dtype), np.zeros((3, 1), dtype), np.zeros(3)
    f = lw.guvectorize(f"({dtype}, {dtype}, {dtype}[:], f8[:])", "(),(),(k)->()", writable_args=("t",))(function)
    got = back(f(*on(target, (n, d, t))))
    np.testing.assert_allclose(got, [sum(1 / (i + 1) for i in range(k)) for k in n], rtol=1e-13)
    for arch in ["sm_75", "sm_90"]:  # a loop is there
        text = lw.compile(function, f"({dtype}, {dtype}, {dtype}[:], f8[:])", target=arch, output="ptx")
        assert text.count("bra") >= 3, arch


def keep(c, z):
    c[0] = z


def fill(c, i, d):
    c[0] = i + d
    c[1] = d


def first_is_less(c, d):
    return c[0] < d


def ends_where_a_function_has_stored(n, d, y):
    own = lw.local(2, np.int64)
    y[0] = 0
    for i in range(n):
        keep(own, i + d)
        if own[0] < d:
            break
        y[0] += 1 / (i + 1)


def ends_where_a_function_has_stored_both(n, d, y):
    own = lw.local(2, np.int64)
    y[0] = 0
    for i in range(n):
        fill(own, i, d)
        if own[0] < own[1]:
            break
        y[0] += 1 / (i + 1)


def ends_where_a_function_compares(n, d, y):
    own = lw.local(2, np.int64)
    y[0] = 0
    for i in range(n):
        own[0] = i + d
        if first_is_less(own, d):
            break
        y[0] += 1 / (i + 1)


@pytest.mark.parametrize("function", [ends_where_a_function_has_stored, ends_where_a_function_has_stored_both, ends_where_a_function_compares])
def test_loops_that_end_where_a_sum_in_memory_of_several_functions_wraps(target, function):
    n, d = np.array([1, 5, 40]), np.array([5, 7, 30])
    got = back(lw.guvectorize("(i8, i8, f8[:])", "(),()->()")(function)(*on(target, (n, d))))
    np.testing.assert_allclose(got, [sum(1 / (i + 1) for i in range(k)) for k in n], rtol=1e-13)
    for arch in ["sm_75", "sm_90"]:  # a loop is there
        text = lw.compile(function, "(i8, i8, f8[:])", target=arch, output="ptx")
        assert text.count("bra") >= 3, arch


@pytest.mark.parametrize("number", [0, 1, 100])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2"])
def test_short_extrema_with_what_ptxas_finds_to_be_constant(target, dtype, number):
    t = np.dtype(dtype).type
    close = number + 1e-5  # neither LLVM computes int(close)

    def f(a):
        k = t(close if a == a else 2.0)
        low, high = min(a, k), max(a, k)
        return low // (low if low != 0 else t(1)), high if high > 0 else t(7), high == k

    x = np.array([0, 1, 2, 99, 100, 101, 127], dtype)
    low, high = np.minimum(x, t(number)), np.maximum(x, t(number))
    wanted = low // np.where(low != 0, low, t(1)), np.where(high > 0, high, t(7)), high == number
    for got, want in zip(lw.vectorize(f)(*on(target, (x,))), wanted):
        np.testing.assert_array_equal(back(got), want)
    text = lw.compile(f, f"({dtype},)", target="sm_90", output="ptx")
    assert not re.search(r"(max|min)\.[su]16", text)
    assert re.search(r"(max|min)\.[su]16", lw.compile(lambda a, b: max(a, b), f"({dtype}, {dtype})", target="sm_90", output="ptx"))  # only stored


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100"])
def test_ptx_has_none_of_them(arch):
    def ptx(function, signature):
        text = lw.compile(function, signature, target=arch, output="ptx")
        return text if isinstance(text, str) else text[0]

    for function in (largest, least):
        assert "max.s32" in (text := ptx(function, "(i4, i4, i4)")) or "min.s32" in text
        assert "neg.s32" not in text
    for function in SHIFTS[:-1]:
        assert "mul.lo.s64" in ptx(function, "(i8,)")
    assert "copysign" not in ptx(lambda x: math.remainder(math.copysign(x, x), 33.0), "(f8,)")
    assert "mul.lo.s64" not in ptx(rotated, "(u8,)")  # a rotation stays one


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
def test_integers_beyond_float16_are_infinite(target, dtype):
    """LLVM: an integer with few significant bits, converted to float16 and back, was finite."""
    x = np.array([0, 1, 2, 3, 1023, 2047], dtype)
    f = lw.vectorize(lambda x: (float(np.float16(x << 20)), np.float32(np.float16(x * 4096)), np.float16(-(x << 17)) + np.float16(1)))
    with np.errstate(all="ignore"):
        wanted = (x << 20).astype("f2").astype("f8"), (x * np.dtype(dtype).type(4096)).astype("f2").astype("f4"), (-(x << 17)).astype("f2") + np.float16(1)
        for got, want in zip(f(*on(target, (x,))), wanted):
            np.testing.assert_array_equal(back(got), want)
    limits = np.array([65503, 65504, 65519, 65520, 65536], dtype)
    got = back(lw.vectorize(lambda x: np.float16(x))(*on(target, (limits,))))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, limits.astype("f2"))


def quotient(x):
    v = np.float64(0) / np.float64(0)
    return v == v, v >= v


def narrow_difference(x):
    v = np.float32(np.inf) - np.float32(np.inf)
    return v == v, not (v != v)


def in_a_variable(x):
    v = np.float64(0)
    for _ in range(2):
        v = v / v
    return v == v, v <= v


def of_counters(x):
    v = 0.0
    for i in range(1):
        v = float(i) / float(i)
    return v == v, not (v != v)


@pytest.mark.parametrize("opt", [True, False])
@pytest.mark.parametrize("function", [quotient, narrow_difference, in_a_variable, of_counters])
def test_a_computed_constant_nan_differs_from_itself(target, function, opt):
    """libNVVM leaves 0/0 to the device to compute, but regards it as the same constant as another 0/0, and so as equal to it."""
    f = lw.vectorize(function, opt=opt)
    with np.errstate(invalid="ignore"):
        assert [bool(back(part)[0]) for part in f(*on(target, (np.ones(1),)))] == [False, False]
    for arch in ["sm_75", "sm_90", "sm_120"]:  # the last by another LLVM, which computes 0/0 itself
        text = lw.compile(f, "(f8,)", target=arch, output="ptx")
        true = re.findall(r"mov\.[ub]16\s+%rs\d+, 1;|mov\.pred\s+%p\d+, -1;|st\.\S+\s.*, 1;", text)
        assert ".entry" in text and not true, (arch, true)
