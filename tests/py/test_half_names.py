"""cuda.fp16 and cuda.bf16: CUDA's names for what float16 and bfloat16 do, against exact arithmetic."""

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, float32

ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 of its own")

TYPES = {"fp16": (np.float16, cuda.fp16, 11, -24, 65504.0), "bf16": (ml_dtypes.bfloat16, cuda.bf16, 8, -133, float(ml_dtypes.finfo(ml_dtypes.bfloat16).max))}
MODES = ("rn", "rz", "rd", "ru")
INTEGERS = ("int16", "uint16", "int32", "uint32", "int64", "uint64")


@pytest.fixture(params=TYPES)
def half(request):
    return TYPES[request.param]


def called(function, *arguments, dtype):
    """The results of a kernel for each element of the arrays."""
    n = len(inspect.signature(function).parameters)
    text = f"def kernel({', '.join('abc'[:n])}, out):\n    i = cuda.grid(1)\n    if i < out.size:\n        out[i] = f({', '.join(x + '[i]' for x in 'abc'[:n])})\n"
    space = {"f": function, "cuda": cuda}
    exec(text, space)
    out = np.zeros(arguments[0].size, dtype)
    cuda.jit(space["kernel"], source=text, target="cpu")[-(-out.size // 64), 64](*arguments, out)
    return out


def every_value(dtype):
    return np.arange(65536, dtype=np.uint16).view(dtype)


def some_pairs(dtype):
    few = every_value(dtype)[::397]
    few = np.concatenate([few, np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]).astype(dtype)])
    return np.repeat(few, few.size), np.tile(few, few.size)


def same(x, y):
    with np.errstate(invalid="ignore"):
        x, y = np.asarray(x).astype(np.float64), np.asarray(y).astype(np.float64)
    return ((x == y) | (np.isnan(x) & np.isnan(y))).all()


def test_arithmetic(half):
    dtype, names, *_ = half
    a, b = some_pairs(dtype)
    x, y = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        for name, exact in {"hadd": x + y, "hsub": x - y, "hmul": x * y, "hadd_rn": x + y, "__hmul_rn": x * y}.items():
            # two 11-bit numbers' sums and products are exact in float64, or far from a tie
            assert same(called(getattr(names, name), a, b, dtype=dtype), exact.astype(dtype)), name
            assert same(called(names.hadd_sat, a, b, dtype=dtype), np.where(np.isnan(x + y), 0, np.clip(x + y, 0, 1)).astype(dtype))
        assert same(called(names.hdiv, a, b, dtype=dtype), (x / y).astype(dtype))
        assert same(called(names.hmax, a, b, dtype=dtype), np.fmax(x, y)) and same(called(names.hmin, a, b, dtype=dtype), np.fmin(x, y))
        assert same(called(names.hmax_nan, a, b, dtype=dtype), np.maximum(x, y)) and same(called(names.hmin_nan, a, b, dtype=dtype), np.minimum(x, y))


def test_comparisons(half):
    dtype, names, *_ = half
    a, b = some_pairs(dtype)
    x, y = a.astype(np.float64), b.astype(np.float64)
    nan = np.isnan(x) | np.isnan(y)
    for word, ordered in {"eq": x == y, "ne": (x != y) & ~nan, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}.items():
        assert (called(getattr(names, "h" + word), a, b, dtype=np.bool_) == ordered).all(), word
        assert (called(getattr(names, f"__h{word}u"), a, b, dtype=np.bool_) == ordered | nan).all(), word
    assert (called(names.hisnan, a, dtype=np.bool_) == np.isnan(x)).all()
    assert (called(names.hisinf, a, dtype=np.int32) == np.isinf(x) * np.sign(np.nan_to_num(x))).all()


def rounded(exact, mode, precision, least, largest):
    """A Fraction, rounded in a direction to a multiple of the last bit's value; overflow is that of IEEE 754."""
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = max(math.floor(math.log2(size)), -2000)
    exponent += (Fraction(2) ** (exponent + 1) <= size) - (Fraction(2) ** exponent > size)
    unit = Fraction(2) ** max(exponent - precision + 1, least)
    number = exact / unit
    steps = {"rn": round, "rz": math.trunc, "rd": math.floor, "ru": math.ceil}[mode](number)
    value = float(steps * unit)
    if abs(value) > largest:
        inward = mode == "rz" or (mode == "rd" and value > 0) or (mode == "ru" and value < 0)
        return math.copysign(largest if inward else math.inf, value)
    return value


def test_fused(half):
    dtype, names, precision, least, largest = half
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        a, b, c = ((rng.standard_normal(3000) * 2.0 ** rng.integers(-9, 9, 3000)).astype(dtype) for _ in range(3))
        c[:1000] = (-(a[:1000].astype(np.float64) * b[:1000].astype(np.float64)) * (1 + rng.standard_normal(1000) * 1e-4)).astype(dtype)
    found = called(names.hfma, a, b, c, dtype=dtype).astype(np.float64)
    for x, y, z, r in zip(a.astype(float), b.astype(float), c.astype(float), found):
        assert r == rounded(Fraction(x) * Fraction(y) + Fraction(z), "rn", precision, least, largest)
    assert same(called(names.hfma_relu, a, b, c, dtype=dtype), np.maximum(found, 0))
    assert same(called(names.hfma_sat, a, b, c, dtype=dtype), np.clip(found, 0, 1))


FUNCTIONS = {
    "habs": abs, "hneg": np.negative, "hceil": np.ceil, "hfloor": np.floor, "htrunc": np.trunc, "hrint": np.rint, "hsqrt": np.sqrt,
    "hrsqrt": lambda x: 1 / np.sqrt(x), "hrcp": np.reciprocal, "hexp": np.exp, "hexp2": np.exp2, "hexp10": lambda x: 10.0**x, "hlog": np.log,
    "hlog2": np.log2, "hlog10": np.log10, "hsin": np.sin, "hcos": np.cos, "htanh": np.tanh, "htanh_approx": np.tanh,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(half, name):
    dtype, names, *_ = half
    a = every_value(dtype)
    if name in ("hsin", "hcos"):
        a = a[(a.view(np.uint16) & 0x7fff) < np.array(1e4, dtype).view(np.uint16)]
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[name](a.astype(np.float64)).astype(dtype)
    found = called(getattr(names, name), a, dtype=dtype)
    off = np.abs(found.view(np.int16).astype(int) - exact.view(np.int16))
    with np.errstate(invalid="ignore"):
        off[np.isnan(found.astype(float)) & np.isnan(exact.astype(float))] = 0
    # computed in float32 and rounded once: one unit where that is near a tie
    assert off.max() <= 1 and (off > 0).mean() < 1e-3


@pytest.mark.parametrize("integer", INTEGERS)
def test_integers(half, integer):
    dtype, names, precision, least, largest = half
    word = "float16" if dtype is np.float16 else "bfloat16"
    info = np.iinfo(integer)
    rng = np.random.default_rng(3)
    numbers = {info.min, info.max, 0, 1, info.max - 1, info.min // 2, 65519, 65520, 65504, 65505, 70000}
    numbers |= {int(sign * (2**k + d)) for k in range(64) for d in (-1, 0, 1, 3) for sign in (1, -1)}
    numbers |= set(rng.integers(info.min, info.max, 300, dtype=integer, endpoint=True).tolist())
    values = np.array([n for n in sorted(numbers) if info.min <= n <= info.max], integer)
    halves = every_value(dtype)[::11]
    with np.errstate(invalid="ignore"):
        exact = halves.astype(np.float64)
    for mode in MODES:
        found = called(getattr(names, f"{integer}_to_{word}_{mode}"), values, dtype=dtype).astype(float)
        assert found.tolist() == [rounded(Fraction(int(n)), mode, precision, least, largest) for n in values], mode
        with np.errstate(invalid="ignore"):
            step = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}[mode](exact)
        back = called(getattr(names, f"{word}_to_{integer}_{mode}"), halves, dtype=integer)
        expected = [0 if math.isnan(x) else int(min(max(x, info.min), info.max)) if math.isfinite(x) else (info.max if x > 0 else info.min) for x in step]
        assert back.tolist() == expected, mode


def test_floats(half):
    dtype, names, precision, least, largest = half
    word = "half" if dtype is np.float16 else "bfloat16"
    rng = np.random.default_rng(4)
    x = (rng.standard_normal(4000) * 2.0 ** rng.integers(-40, 40, 4000)).astype(np.float32)
    x[:8] = 0, 65519, 65520, -65520, 1e38, -3e38, 2.0**-26, -(2.0**-149)
    for mode in MODES:
        found = called(getattr(names, f"float2{word}_{mode}"), x, dtype=dtype).astype(float)
        assert found.tolist() == [rounded(Fraction(float(n)), mode, precision, least, largest) for n in x], mode
    special = np.array([np.nan, np.inf, -np.inf], np.float32)
    for mode in MODES:
        assert same(called(getattr(names, f"float2{word}_{mode}"), special, dtype=dtype), special)
    every = every_value(dtype)
    assert same(called(getattr(names, f"{word}2float"), every, dtype=np.float32), every.astype(np.float32))
    wide = rng.standard_normal(500)
    assert same(called(getattr(names, f"double2{word}"), wide, dtype=dtype), wide.astype(dtype) if dtype is np.float16 else
                [rounded(Fraction(n), "rn", precision, least, largest) for n in wide.tolist()])


def test_bits(half):
    dtype, names, *_ = half
    word = "half" if dtype is np.float16 else "bfloat16"
    every = every_value(dtype)
    for cuda_word, integer in (("short", np.int16), ("ushort", np.uint16)):
        bits = called(getattr(names, f"{word}_as_{cuda_word}"), every, dtype=integer)
        assert (bits == every.view(integer)).all()
        assert (called(getattr(names, f"{cuda_word}_as_{word}"), bits, dtype=dtype).view(integer) == bits).all()


def test_names_of_both_kinds():
    assert cuda.fp16.hadd is cuda.fp16.__dict__["__hadd"] and "hadd" in cuda.fp16.__all__
    assert cuda.bf16.int2bfloat16_rn is cuda.bf16.int32_to_bfloat16_rn
    from lanewise.cuda.bf16 import bfloat16
    from lanewise.cuda.fp16 import hsin

    assert bfloat16 is lw.bfloat16 and hsin is cuda.fp16.hsin
    for module in (cuda.fp16, cuda.bf16):
        assert all(getattr(module, name).__doc__ for name in module.__all__ if name != "bfloat16")
    assert cuda.is_float16_supported() is True and cuda.is_bfloat16_supported() is True


def test_other_types_are_converted():
    @cuda.jit(target="cpu")
    def kernel(out):
        out[0] = cuda.fp16.hadd(1.0, float32(2.0001))
        out[1] = cuda.fp16.hmul(3, 0.1)

    out = np.zeros(2)
    kernel[1, 1](out)
    assert out.tolist() == [3.0, float(np.float16(3) * np.float16(0.1))]


@pytest.mark.parametrize("cc", ["sm_75", "sm_90", "sm_120"])
def test_machine_code(half, cc):
    pytest.importorskip("cuda.pathfinder", reason="libNVVM and nvJitLink are looked for with it")
    names = half[1]
    calls = []
    for name in names.__all__:
        if name == "bfloat16" or name.startswith("__"):
            continue
        n = len(inspect.signature(getattr(names, name)).parameters)
        calls.append(f"    out[i] += float(names.{name}({', '.join(['a[i]', 'a[i + 1]', 'a[i + 2]'][:n])}))")
    text = "def kernel(a, out):\n    i = cuda.grid(1)\n" + "\n".join(calls) + "\n"
    space = {"cuda": cuda, "names": names}
    exec(text, space)
    cubin = lw.compile(cuda.jit(space["kernel"], source=text), "void(float32[::1], float64[::1])", target=cc, output="cubin")
    assert cubin[1:4] == b"ELF"


@pytest.mark.gpu
@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
def test_on_a_gpu(half):
    dtype, names, *_ = half
    a, b = some_pairs(dtype)
    c = a[::-1].copy()

    def kernel(a, b, c, out, flags):
        i = cuda.grid(1)
        if i < a.size:
            out[0, i] = names.hfma(a[i], b[i], c[i])
            out[1, i] = names.hdiv(a[i], b[i])
            out[2, i] = names.hmax_nan(a[i], b[i])
            out[3, i] = names.hadd_sat(a[i], b[i])
            flags[0, i] = names.hneu(a[i], b[i])
            flags[1, i] = names.hne(a[i], b[i])
            flags[2, i] = names.hisinf(a[i])

    found = []
    for target in ("cpu", "cuda"):
        out, flags = np.zeros((4, a.size), dtype), np.zeros((3, a.size), np.int32)
        cuda.jit(kernel, target=target)[-(-a.size // 128), 128](a, b, c, out, flags)
        found.append((out, flags))
    assert same(found[0][0], found[1][0]) and (found[0][1] == found[1][1]).all()
