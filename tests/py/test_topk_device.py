"""topk and argtopk of device arrays: the kernels against a stable sort, on the simulator and on a GPU."""

import numpy as np
import pytest

from lanewise import _topk, _topk_kernels as kernels, cuda, reductions as R
from test_topk import numbers, same_bits, sorted_places

DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "u1", "u8", "?", "M8[s]", "m8[ms]"]
SHAPES = {  # shape, axis, k: lines of a warp, of a block and of several, which are sorted, bounded, or selected by their digits
    "one element": ((1,), 0, 3), "a few": ((7,), 0, 3), "more than there are": ((5, 40), 1, 60), "first axis": ((300, 3), 0, -7), "a block": ((2, 2048), 1, 100),
    "one more": ((1, 2049), 1, -1), "long": ((9001,), 0, 17), "all that a block sorts": ((2, 3000), 1, 2048), "middle axis": ((2, 2500, 2), 1, 5), "smallest": ((3, 2500), 1, -900),
    "short": ((300, 16), 1, 2), "short, all": ((70, 32), 1, -40), "short, odd": ((1000, 5), 1, 3), "short, one line": ((27,), 0, 9),
    "a warp each": ((520, 150), 1, 5), "a warp each, many of few": ((520, 70), 1, -60), "parts": ((30_000,), 0, -200), "more in a block": ((2, 1500), 1, 256),
}


def check(a, k, axis=-1):
    axis %= a.ndim
    places = sorted_places(a, k, axis)
    values, found = _topk.selected(cuda.to_device(a), k, axis)
    host = [one.copy_to_host() if hasattr(one, "copy_to_host") else one for one in (values, found)]
    same_bits(np.ascontiguousarray(host[1]), places)
    same_bits(np.ascontiguousarray(host[0]), np.take_along_axis(a, places, axis))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_against_a_stable_sort(dtype, shape, target):
    shape, axis, k = SHAPES[shape]
    check(numbers(np.random.default_rng(len(shape) * abs(k)), shape, dtype), k, axis)


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_of_all_kinds(dtype, target):
    """The bits are arbitrary: NaN of all payloads, subnormal numbers, infinities, zeros of both signs."""
    rng = np.random.default_rng(1)
    kind = np.dtype(dtype)
    raw = rng.integers(0, 256, (6000, kind.itemsize), np.uint8)
    raw[::5] = raw[0]
    raw[1::7, -1] &= 0x80
    a = raw.view(kind).ravel() if kind != bool else raw.ravel() > 127
    for k in (1, -1, 64, -64, 1500):
        check(a, k)


@pytest.mark.parametrize("dtype", ["f4", "i8"])
def test_equal_elements_are_taken_by_their_index(dtype, target):
    a = np.zeros(20_000, dtype)
    for k in (1, -1, 1000, -1000):
        check(a, k)
    a[7::3] = 5
    for k in (1, 300, -300):
        check(a, k)
    check(np.sort(np.random.default_rng(2).integers(0, 40, 5000)).astype(dtype)[::-1].copy(), 900)


@pytest.mark.parametrize(("n", "lines", "k", "size", "wanted"), [
    (1 << 16, 1, 256, 4, True), (1 << 20, 1, 129, 2, True), (1 << 23, 1, 256, 4, True), (1 << 22, 1, 100, 4, True),
    ((1 << 16) - 1, 1, 256, 4, False), ((1 << 23) + 1, 1, 256, 4, False), (1 << 20, 1, 256, 8, False), (1 << 20, 2, 256, 4, False),
    (1 << 20, 1, 100, 4, False), (1 << 23, 1, 100, 4, False), (1 << 22, 1, 64, 4, False),
])
def test_which_selection_is_quicker(n, lines, k, size, wanted):
    assert _topk._is_by_digits(n, lines, k, size) == wanted


@pytest.mark.parametrize(("dtype", "k"), [("f4", 200), ("i2", -256), ("u1", 256)])
def test_a_line_of_which_few_are_selected_by_their_digits(dtype, k, target, monkeypatch):
    monkeypatch.setattr(_topk, "_LEAST_BY_DIGITS", 9000)
    monkeypatch.setattr(_topk, "_few", None)  # is not called
    check(numbers(np.random.default_rng(6), (9001,), dtype), k)


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
def test_lines_whose_best_lie_together(dtype, target):
    """At the end, at the beginning, at distances that put them into the same groups: there is not room for all that a first bound lets pass."""
    n = np.arange(26_000)
    for line in (n, -n, np.where(n % 2048 < 3, n, 0), np.where(n % 4096 < 1024, 0, n), np.where(n % 4096 < 1024, n, 0)):
        for k in (1, 40, -256, 300):
            check((line % 250 if dtype == "u1" else line).astype(dtype), k)
    many = np.where(n % 64 < 3, n, 0)[:150] * np.ones((520, 1))
    for k in (1, 16, -40, 64):
        check(many.astype(dtype), k)


def test_more_lines_than_counts_at_once(target, monkeypatch):
    monkeypatch.setattr(_topk, "_LINES", 2)
    a = np.random.default_rng(3).normal(size=(5, 2100)).astype("f4")
    check(a, 300)
    check(a[:, :50].copy(), -9)


def test_views(target):
    a = np.random.default_rng(4).normal(size=(60, 90))
    d = cuda.to_device(a)
    for view in (lambda x: x[::2, ::3], lambda x: x.T, lambda x: x[5], lambda x: x[:, 4]):
        for k in (3, -3):
            found = R.topk(view(d), k), R.argtopk(view(d), k)
            for one, other in zip(found, (R.topk(view(a), k), R.argtopk(view(a), k))):
                assert isinstance(one, cuda.DeviceArray)
                same_bits(np.ascontiguousarray(one.copy_to_host()), other)


@pytest.mark.gpu
@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
def test_large_arrays_on_a_gpu():
    rng = np.random.default_rng(5)
    for shape, dtype, k in (((1 << 22,), "f4", 100), ((1 << 22,), "f8", 2048), ((3_000_001,), "i4", -5), ((70_000, 100), "f4", 5), ((300, 30_000), "i2", 700), ((5000, 2500), "f2", 3)):
        a = rng.normal(size=shape).astype(dtype) if dtype[0] == "f" else rng.integers(-30_000, 30_000, shape).astype(dtype)
        check(a, k)
        d = cuda.to_device(a)
        same_bits(R.topk(d, k).copy_to_host(), np.take_along_axis(a, sorted_places(a, k, a.ndim - 1), -1))
    check(rng.normal(size=1 << 20), 5000 - 2953)  # the most that is selected
    a = rng.normal(size=1 << 20)
    same_bits(R.topk(cuda.to_device(a), 3000).copy_to_host(), R.topk(a, 3000))  # more: sorted


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_compiled_for_every_gpu(arch, bits):
    number, elements = f"uint{bits}", f"uint{bits}[::1]"
    order = f"{number}, {number}, {number}"
    few = f"void({elements}, int64[::1], {elements}, {', '.join(['int64'] * 6)}, {order}, {elements}, int64[::1])"
    for kernel, signature in (
        (kernels.narrow, f"void({elements}, int64, int64, int64, {order}, int64, int64, bool, int64, uint64[::1], int32[::1])"),
        (kernels.collect, f"void({elements}, int64, int64, int64, {order}, int64, uint64[::1], int32[::1], uint64[::1], int64[::1])"),
        (kernels.arrange, f"void({elements}, int64, int64, int64, int64, {order}, uint64[::1], int64[::1], {elements}, int64[::1])"),
        (kernels.of_short(kernels.FLOAT, 16), f"void({elements}, int64, int64, int64, {order}, {elements}, int64[::1])"),
        (kernels.by_block(kernels.FLOAT, bits // 8), few), (kernels.by_warp(kernels.TIME, bits // 8), few),
    ):
        ptx = kernel.inspect_ptx(signature, arch)
        assert f".target {arch}" in ptx and (".shared" in ptx or kernel is kernels.collect or "shfl" in ptx)
