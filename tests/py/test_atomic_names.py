"""cuda.atomic.* on the cores of the CPU, against what each is defined to leave behind and to give back."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

N = 5000
SLOTS = 7
INTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "float32", "float64"]


def update(name: str, extra: int = 1):
    """forall over updates; the old values are kept."""
    space = {"cuda": cuda}
    values = ", ".join(f"v{i}[i]" for i in range(extra))
    parameters = ", ".join(f"v{i}" for i in range(extra))
    source = f"def f(i, a, k, old, {parameters}):\n    old[i] = cuda.atomic.{name}(a, k[i], {values})\n"
    exec(source, space)
    return lw.forall(source=source)(space["f"])


def run(name: str, dtype: str, values, start=0, keys=None):
    a = np.full(SLOTS, start, dtype)
    values = np.asarray(values).astype(dtype)
    keys = np.arange(len(values)) % SLOTS if keys is None else keys
    old = np.zeros(len(values), dtype)
    update(name)(len(values), a, keys, old, values)
    return a, old, keys, values


def numbers(dtype: str, low=0, high=100):
    return np.random.default_rng(7).integers(low, high, N).astype(dtype)


@pytest.mark.parametrize("dtype", INTS + ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", ["add", "sub"])
def test_sums(name, dtype):
    values = numbers(dtype)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * numbers(dtype)[::-1]
    a, old, keys, values = run(name, dtype, values)
    wanted = np.zeros(SLOTS, dtype)
    np.add.at(wanted, keys, values)
    assert (a == (wanted if name == "add" else np.zeros(SLOTS, dtype) - wanted)).all()


def test_sums_of_float16():
    a, old, keys, values = run("add", "float16", np.ones(SLOTS * 2000))
    assert (a == 2000).all()
    for slot in range(SLOTS):
        assert sorted(old[keys == slot]) == list(range(2000))


@pytest.mark.parametrize("dtype", INTS + FLOATS)
@pytest.mark.parametrize(("name", "best"), [("max", np.maximum), ("min", np.minimum), ("nanmax", np.fmax), ("nanmin", np.fmin)])
def test_extremes(name, best, dtype):
    signed = np.dtype(dtype).kind != "u"
    a, old, keys, values = run(name, dtype, numbers(dtype, -100 if signed else 0), start=5)
    wanted = np.full(SLOTS, 5, dtype)
    best.at(wanted, keys, values)
    assert (a == wanted).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "stays"), [("max", True), ("min", True), ("nanmax", False), ("nanmin", False)])
def test_extremes_of_nan(name, stays, dtype):
    a, *_ = run(name, dtype, [math.nan, 3.0], start=1, keys=np.array([0, 0]))
    assert a[0] == (3.0 if "max" in name else 1.0)
    a, *_ = run(name, dtype, [3.0], start=math.nan, keys=np.array([0]))
    assert math.isnan(a[0]) if stays else a[0] == 3.0


@pytest.mark.parametrize("dtype", [*INTS, "bool"])
@pytest.mark.parametrize(("name", "ufunc"), [("and_", np.bitwise_and), ("or_", np.bitwise_or), ("xor", np.bitwise_xor)])
def test_bits(name, ufunc, dtype):
    values = numbers("int64", 0, 2) if dtype == "bool" else numbers(dtype, 0, 120)
    start = True if dtype == "bool" else 85
    a, old, keys, values = run(name, dtype, values, start=start)
    wanted = np.full(SLOTS, start, dtype)
    ufunc.at(wanted, keys, values)
    assert (a == wanted).all()


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS, "bool"])
def test_exchange_loses_nothing(dtype):
    count = 2 if dtype == "bool" else 100
    a, old, keys, values = run("exch", dtype, np.arange(count) % count, keys=np.zeros(count, int))
    everything = [0, *values.tolist()]
    assert sorted([a[0].item(), *old.tolist()]) == sorted(everything)


@pytest.mark.parametrize("dtype", [name for name in INTS if name.startswith("u")])
def test_counters_wrap(dtype):
    a, old, keys, _ = run("inc", dtype, np.full(SLOTS * 100, 9))
    assert (a == 0).all() and all(sorted(old[keys == s]) == sorted(list(range(10)) * 10) for s in range(SLOTS))
    a, old, keys, _ = run("dec", dtype, np.full(SLOTS * 101, 9), start=200)
    assert (a == 9).all() and all(sorted(old[keys == s])[-2:] == [9, 200] for s in range(SLOTS))


@pytest.mark.parametrize("dtype", INTS + FLOATS)
def test_compare_and_swap(dtype):
    a = np.zeros(2, dtype)
    old = np.full(50, 77, dtype)
    expected, new = np.zeros(50, dtype), np.arange(1, 51).astype(dtype)
    update("cas", 2)(50, a, np.ones(50, int), old, expected, new)
    winner = np.flatnonzero(old == 0)
    assert len(winner) == 1 and a[1] == new[winner[0]] and a[0] == 0 and set(old) <= {0, a[1]}


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_are_compared_by_their_bits(dtype):
    a = np.array([math.nan, 0.0, -0.0, 1.5], dtype)
    old, k = np.zeros(4, dtype), np.arange(4)
    update("cas", 2)(4, a, k, old, np.array([math.nan, -0.0, -0.0, 1.5], dtype), np.full(4, 7, dtype))
    assert a.tolist() == [7, 0, 7, 7] and math.isnan(old[0]) and np.signbit(old).tolist()[1:] == [False, True, False]


def test_compare_and_swap_of_the_first_element():
    @lw.forall
    def f(i, a, old):
        old[i] = cuda.atomic.compare_and_swap(a, -1, i)

    a, old = np.array([-1, -1]), np.zeros(100, int)
    f(100, a, old)
    winner = np.flatnonzero(old == -1)
    assert len(winner) == 1 and a.tolist() == [winner[0], -1]


def test_indices_and_layouts():
    @lw.forall(ndim=2)
    def f(i, j, a, b):
        cuda.atomic.add(a, (i % 2, j % 3), 1)
        cuda.atomic.add(b, (-1, j % 3), i)

    a, b = np.zeros((3, 2), np.int32).T, np.zeros((8, 6))[::2, ::2]
    f((10, 12), a, b)
    assert (a == 20).all() and (b[-1] == 45 * 4).all() and (b[:-1] == 0).all()


def test_neighbours_keep_what_is_theirs():
    """Bytes of one word, each counted by its own elements."""
    a = np.zeros(4, np.uint8)
    update("add")(40000, a, np.arange(40000) % 4, np.zeros(40000, np.uint8), np.ones(40000, np.uint8))
    assert (a == 10000 % 256).all()


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("name", ["add", "sub", "max", "nanmin", "exch", "and_", "inc", "cas"])
def test_machine_code_of_gpus(name, target):
    extra = 2 if name == "cas" else 1
    kernel = update(name, extra)
    for dtype in ["uint32", "uint16", "float32", "float16", "complex128"]:
        if dtype[0] != "u" and (name not in ("add", "sub", "max", "nanmin", "exch", "cas") or dtype[0] == "c" and name not in ("add", "sub")):
            continue
        code = kernel.inspect_ptx(f"void(int64, {dtype}[::1], int64[::1], {dtype}[::1]{f', {dtype}[::1]' * extra})", target)
        assert "atom." in code or "red." in code
