"""Bodies of several indices in one iteration of a thread: the loads of all come before the stores of any."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device, needs_kernels
from lanewise import cuda

LOAD, STORE = r"ld\.global\.(?:nc\.)?f32", r"st\.global\.f32"


@lw.forall
def saxpy(i, a, x, y):
    y[i] = a * x[i] + y[i]


@lw.forall
def saxpy_out(i, a, x, y, out):
    out[i] = a * x[i] + y[i]


@lw.forall
def branches(i, x, y):
    t = y[i]
    if t > 0.5:
        t = t * x[i]
        y[i] = t
    x[i] = t + y[i]


@lw.forall
def own(i, x, y):
    x[i] += 1
    y[i] = x[i] * y[i]
    x[i] += y[i]


@lw.forall(ndim=2)
def add_rows(i, j, x, y):
    y[i, j] += x[j]


@lw.forall
def count(i, x, n):
    cuda.atomic.add(n, x[i], 1)
    x[i] = 0


@lw.forall
def leaves(i, x, y):
    if x[i] > 0.5:
        return
    y[i] += x[i]


@lw.forall
def many(i, x, y):
    t = y[i, 0] + y[i, 1] + y[i, 2] + y[i, 3] + y[i, 4] + y[i, 5] + y[i, 6] + y[i, 7]
    y[i, 0] = t + x[i]


def accesses(kernel, signature):
    """The loads and stores of the loop that computes four indices, "L" and "S" in the order of the text."""
    loop = next(part for part in kernel.inspect_ptx(signature, "sm_90").split("$L__BB")[1:] if "ld.global" in part)
    return "".join("L" if re.match(LOAD, found) else "S" for found in re.findall(f"{LOAD}|{STORE}", loop))


def test_loads_come_first():
    assert accesses(saxpy, "(f4, f4[::1], f4[::1])") == "LLLLLLLLSSSS"
    assert accesses(add_rows, "(f4[::1], f4[:, ::1])") == "LLLLLLLLSSSS"
    assert accesses(saxpy, "(f4, f4[:], f4[:])") == "LLLLLLLLSSSS"


@pytest.mark.parametrize("kernel, signature, is_divided", [
    (saxpy, "(f4, f4[::1], f4[::1])", True),
    (branches, "(f4[::1], f4[::1])", True),
    (own, "(f4[::1], f4[::1])", True),
    (count, "(i4[::1], i4[::1])", True),
    (saxpy_out, "(f4, f4[::1], f4[::1], f4[::1])", False),  # ptxas moves these loads by itself
    (leaves, "(f4[::1], f4[::1])", False),  # it leaves before its end
    (many, "(f4[::1], f4[:, ::1])", False),  # nine loads for each index
], ids=lambda value: getattr(value, "__name__", None))
def test_which_bodies_are_divided(kernel, signature, is_divided):
    calls = kernel.inspect_ir(signature, "sm_90").split("func kernel")[1].count("call void @lw_body")
    assert calls == (1 if is_divided else 5)


# enough for several iterations of whole batches of 132 SMs, and for remainders
SIZES = [1, 1000, 270_336, 3 * 270_336 + 5, 1_081_344, 1_081_345, (1 << 23) + 77, 18_000_001]


@needs_device
@needs_kernels
@pytest.mark.parametrize("n", SIZES)
def test_results(n):
    rng = np.random.default_rng(n)
    x, y = rng.integers(0, 4, (2, n)).astype("f4") / 4
    for kernel in (branches, own, leaves):
        dx, dy, hx, hy = cuda.to_device(x), cuda.to_device(y), x.copy(), y.copy()
        kernel(n, dx, dy)
        kernel(n, hx, hy)
        np.testing.assert_array_equal(dx.copy_to_host(), hx, kernel.__name__)
        np.testing.assert_array_equal(dy.copy_to_host(), hy, kernel.__name__)
    dy = cuda.to_device(y)
    saxpy(n, 2.0, cuda.to_device(x), dy)
    np.testing.assert_array_equal(dy.copy_to_host(), 2 * x + y)
    saxpy(n, 2.0, dy, dy)  # one array twice
    np.testing.assert_array_equal(dy.copy_to_host(), 3 * (2 * x + y))


@needs_device
@needs_kernels
def test_results_in_two_dimensions_and_with_atomics():
    y, x = np.ones((1003, 4001), "f4"), np.arange(4001, dtype="f4")
    dy = cuda.to_device(y)
    add_rows(y.shape, cuda.to_device(x), dy)
    np.testing.assert_array_equal(dy.copy_to_host(), y + x)
    numbers = np.random.default_rng(1).integers(0, 50, 5_000_003, "i4")
    dn, counts = cuda.to_device(numbers), cuda.to_device(np.zeros(50, "i4"))
    count(numbers.size, dn, counts)
    np.testing.assert_array_equal(counts.copy_to_host(), np.bincount(numbers))
    assert not dn.copy_to_host().any()


@needs_device
@needs_kernels
@pytest.mark.parametrize("space", [range(5, 5_000_000, 3), range(4_999_999, -1, -1)], ids=str)
def test_results_of_steps(space):
    x, y = np.random.default_rng(1).integers(0, 9, (2, 5_000_000)).astype("f4")
    dx, dy = cuda.to_device(x), cuda.to_device(y)
    saxpy(space, 2.0, dx, dy)
    want = y.copy()
    want[space.start:None if space.stop < 0 else space.stop:space.step] += 2 * x[space.start:None if space.stop < 0 else space.stop:space.step]
    np.testing.assert_array_equal(dy.copy_to_host(), want)
