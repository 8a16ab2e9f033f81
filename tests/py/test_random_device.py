"""Kernels for many numbers on a GPU draw the numbers of the kernels that every target has, bit for bit."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lanewise as lw
from lanewise import _generator, _random_device as device, _random_kernels as shared, cuda, random as r
from lanewise.random import Generator

KEYS, C3 = shared.round_keys(5, 7), np.uint32(4)
WORDS = np.random.default_rng(3)


def words(n):
    """Random words; a quarter of them have leading zeros, and a quarter leading ones."""
    w = WORDS.integers(0, 2**64, n, dtype=np.uint64)
    w[: n // 4] >>= WORDS.integers(0, 64, n // 4, dtype=np.uint64)
    w[n // 4 : n // 2] |= ~(np.uint64(2**64 - 1) >> WORDS.integers(0, 64, n // 2 - n // 4, dtype=np.uint64))
    w[:4] = 0, 1, 2**64 - 1, 2**63
    return w


def same(a, b):
    np.testing.assert_array_equal(a.view(f"u{a.itemsize}"), b.view(f"u{b.itemsize}"))


@pytest.mark.parametrize("count", [1000, 1001])
@pytest.mark.parametrize("single, parameters", [("normal_float64", (1.5, 2.5)), ("exponential_float64", (2.5,))])
def test_two_blocks_side_by_side(single, parameters, count, target):
    """The second half of the blocks has the same upper half of the counter, whatever base is."""
    for base in (0, 2**40 + 12345, 2**33 - count):
        out = [cuda.to_device(np.zeros(2 * count)) for _ in range(2)]
        kernel = getattr(shared, f"philox_{single}")
        kernel(count, KEYS, C3, np.uint64(base), *parameters, out[0])
        device.fitting(kernel)(count, KEYS, C3, np.uint64(base), *parameters, out[1])
        same(out[0].copy_to_host(), out[1].copy_to_host())


@pytest.mark.parametrize("shape", [1.0, 2.0, 30.0, 1e5, 1e9, 1e300])
def test_gamma_by_lanes(shape, target):
    n = 20_011
    out = [cuda.to_device(np.zeros(n)) for _ in range(2)]
    shared.philox_gamma(n, KEYS, C3, np.uint64(2**32 - 999), shape, 2.5, out[0])
    device.gamma_by(512, KEYS, C3, np.uint64(2**32 - 999), shape, 2.5, out[1])
    same(out[0].copy_to_host(), out[1].copy_to_host())


@lw.forall(fastmath={"afn"})
def margins(i, first, second, third_word, shape, out):
    third = shape - 1.0 / 3.0
    x = r._normal2_float64(first[i], second[i])[0]
    w = 1.0 + 1.0 / np.sqrt(9.0 * third) * x
    if w > 0.0:
        excess, error = device._screened(third_word[i], x, third, w)
        v = w * w * w
        exact = r._log_float64(r._open_float64(third_word[i])) - (0.5 * x * x + third * (1.0 - v + r._log_float64(v)))
        out[i, 0] = abs(np.float64(excess) - exact)
        out[i, 1] = error


def test_margin_of_the_screen(target):
    """The error of what float32 decides is less than half of its margin; with usual shapes it decides nearly all attempts."""
    n = 1 << 18
    for shape in (1.0, 1.3, 2.0, 10.0, 1e3, 1e6, 9e6, 1e8):
        out = np.zeros((n, 2))
        out[:, 1] = 1.0
        out = cuda.to_device(out)
        margins(n, *(cuda.to_device(words(n)) for _ in range(3)), shape, out)
        out = out.copy_to_host()
        known = np.isfinite(out[:, 1])
        assert (out[known, 0] < 0.5 * out[known, 1]).all()
        assert known[n // 2 :].mean() > 0.99 if shape < 1e7 else not known[out[:, 1] != 1.0].any()


@lw.vectorize(["float64(uint64)"])
def formula(word):
    return -2.0 * r._log_float64(r._open_float64(word))


@lw.vectorize(["float64(uint64)"])
def shorter(word):
    return r._minus_2_log_float64(word)


def test_logarithm_of_a_word(target):
    w = words(1 << 18)
    w = w if target == "cpu" else cuda.to_device(w)
    a, b = formula(w), shorter(w)
    same(*(x if target == "cpu" else x.copy_to_host() for x in (a, b)))


def test_generator_takes_them(monkeypatch, target):
    """Arrays on a device have the numbers of host arrays, where Python's code takes the fillers for short ones, and C for long ones."""
    monkeypatch.setattr(_generator._core, "_few_blocks", 4)
    taken = []
    monkeypatch.setattr(device, "fitting", lambda kernel, of=device.fitting: taken.append(kernel) or of(kernel))
    there, here = Generator(11, target="cuda"), Generator(11, target="cpu")
    for name, parameters in (("standard_normal", ()), ("normal", (1.0, 2.0)), ("standard_exponential", ()), ("standard_gamma", (2.0,))):
        for dtype in ("f4", "f8"):
            for n in (1003, 70_001):
                a, b = (getattr(g, name)(*parameters, n, dtype=dtype) for g in (there, here))
                same(a.copy_to_host(), b)
    assert taken.count(shared.philox_gamma) >= 2 and shared.philox_normal_float64 in taken and shared.philox_exponential_float64 in taken


@pytest.mark.parametrize("sm", ["sm_75", "sm_120"])
def test_gpu_code_has_no_slow_paths(sm):
    """There are two stores of 16 bytes for each pair of blocks, and neither div.rn nor sqrt.rn, which branch."""
    n = 64
    with lw.config(target="cpu"):
        device.normal_float64(n, np.uint32(n), device._NORMAL, KEYS, C3, np.uint64(0), 0.0, 1.0, np.empty(2 * n), np.empty(2 * n))
        device.gamma_by(n, KEYS, C3, np.uint64(0), 2.0, 1.0, np.empty(n, "f4"))
    try:
        texts = [k.inspect_ptx(target=sm) for k in (device.normal_float64, device.gamma)]
    except lw.errors.CompilerNotFound as problem:
        pytest.skip(str(problem).splitlines()[0])
    normal, gamma = ("\n".join(t.values()) if isinstance(t, dict) else t for t in texts)
    stores = len(re.findall(r"st\.global\.v2\.[bf]64", normal))
    assert stores > 0 and stores % 2 == 0
    assert not re.search(r"(div|sqrt)\.rn\.f64", normal)
    assert gamma.count("rcp.approx.ftz.f64") >= 3 and "st.local" not in gamma


# ---- numbers drawn from states ----


@cuda.jit
def fill(states, out):
    start = cuda.grid(1)
    for i in range(start, out.size, cuda.gridsize(1)):
        out[i] = r.xoroshiro128p_uniform_float64(states, start)


@pytest.mark.parametrize("n", [0, 1, 64, 4 * 64, 4 * 64 + 1, 1000])
def test_fill_program(n, target):
    """numba's program. On GPUs, four iterations run together; numbers and states are unchanged."""
    states = r.create_xoroshiro128p_states(64, 5)
    mine = states.copy_to_host()
    want = np.empty(n)
    for i in range(n):
        x = mine[i % 64]
        s0, s1 = int(x["s0"]), int(x["s1"])
        want[i] = ((s0 + s1) % 2**64 >> 11) * 2.0**-53
        s1 ^= s0
        x["s0"] = ((s0 << 55 | s0 >> 9) ^ s1 << 14 ^ s1) % 2**64
        x["s1"] = (s1 << 36 | s1 >> 28) % 2**64
    out = cuda.to_device(np.zeros(n))
    fill[2, 32](states, out)
    np.testing.assert_array_equal(out.copy_to_host(), want)
    np.testing.assert_array_equal(states.copy_to_host(), mine)


def test_fill_program_is_unrolled():
    with lw.config(target="cpu"):
        fill[1, 32](r.create_xoroshiro128p_states(32, 5), np.empty(99))
    try:
        ptx = fill.inspect_ptx(target="sm_90")
    except lw.errors.CompilerNotFound as problem:
        pytest.skip(str(problem).splitlines()[0])
    ptx = "\n".join(ptx.values()) if isinstance(ptx, dict) else ptx
    assert len(re.findall(r"cvt\.rn\.f64\.u64", ptx)) == 5  # four iterations, and the rest one by one


@lw.forall
def pairs(i, states, out):
    out[i, 0], out[i, 1] = r.xoroshiro128p_uniform2_float32(states, i)


def test_uniform2_float32(target):
    """The upper 24 bits of both halves of the next word; even and independent."""
    n = 1 << 17
    states = r.create_xoroshiro128p_states(n, 9)
    before = states.copy_to_host()
    out = cuda.to_device(np.zeros((n, 2), np.float32))
    pairs(n, states, out)
    out = out.copy_to_host()
    word = before["s0"] + before["s1"]
    np.testing.assert_array_equal(out[:, 0], (word >> np.uint64(40)) * 2.0**-24)
    np.testing.assert_array_equal(out[:, 1], ((word >> np.uint64(8)) & np.uint64(2**24 - 1)) * 2.0**-24)
    assert 0.0 <= out.min() and out.max() < 1.0
    counts = np.histogram2d(*out.T, bins=16, range=((0, 1), (0, 1)))[0]
    assert abs((((counts - n / 256) ** 2).sum() / (n / 256) - 255) / np.sqrt(2 * 255)) < 4.5


@cuda.jit
def store_pair(states, out):
    out[0], out[1] = r.xoroshiro128p_uniform2_float32(states, 0)


def test_uniform2_float32_converts_64_bits():
    """On a GPU, that is not done by the unit which a step of the generator keeps busy."""
    ptx = store_pair.inspect_ptx(lw.void(lw.from_dtype(r.xoroshiro128p_dtype)[::1], lw.float32[::1]), "sm_90")
    assert ptx.count("cvt.rn.f32.u64") == 2 and "cvt.rn.f32.u32" not in ptx
