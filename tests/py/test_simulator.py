"""What the CPU tells of kernels that a GPU leaves undefined: divergence, deadlocks, races. And that right kernels pass."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors, float32, int16, int32


def line_of(kernel, text):
    lines, first = inspect.getsourcelines(kernel.py_func)
    return first + next(i for i, line in enumerate(lines) if text in line)


def relay(between, before_next):
    """Turns each row of x around, a row a block: blocks run at the same time."""

    @cuda.jit(target="cpu", check={"bounds"})
    def kernel(x):
        own = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        row = x[cuda.blockIdx.x]
        own[t] = row[t]  # first
        if between:
            cuda.syncthreads()
        y = own[63 - t]  # look
        if before_next:
            cuda.syncthreads()
        own[t] = y  # second
        cuda.syncthreads()
        row[t] = own[t]

    return kernel


def test_right_kernel_has_no_race():
    x = np.arange(3 * 64, dtype=np.float32).reshape(3, 64)
    relay(True, True)[3, 64](x)
    np.testing.assert_array_equal(x, np.arange(3 * 64).reshape(3, 64)[:, ::-1])


@pytest.mark.parametrize("between, before_next, now, then", [(False, True, "writes", "first"), (True, False, "reads", "look")])
def test_race_is_told_of(between, before_next, now, then):
    kernel = relay(between, before_next)
    with pytest.raises(errors.KernelError, match="race on shared memory") as caught:
        kernel[3, 64](np.zeros((3, 64), np.float32))
    assert re.search(rf"block \(0, 0, 0\): race .* {now} 4 bytes at offset \d+ in line {line_of(kernel, '# ' + then)}, which thread ",
                     str(caught.value))


def test_atomics_do_not_race():
    @cuda.jit(target="cpu", debug=True)
    def kernel(x, out):
        most = cuda.shared.array(8, float32)  # an update by a loop
        n = cuda.shared.array(8, int16)  # of a part of a word
        t = cuda.threadIdx.x
        if t < 8:
            most[t], n[t] = 0, 0
        cuda.syncthreads()
        cuda.atomic.max(most, x[t] % 8, float32(x[t]))
        cuda.atomic.add(n, x[t] % 8, int16(1))
        cuda.syncthreads()
        if t < 8:
            out[t] = most[t] + n[t]

    out = np.zeros(8, np.float32)
    kernel[1, 96](np.arange(96), out)
    np.testing.assert_array_equal(out, 88 + np.arange(8) + 12)


def test_race_without_any_barrier():
    @cuda.jit(target="cpu", check={"bounds"})
    def kernel(x):
        own = cuda.shared.array(32, float32)
        own[cuda.threadIdx.x // 2] = x[cuda.threadIdx.x]

    with pytest.raises(errors.KernelError, match=r"thread \(1, 0, 0\) writes 4 bytes at offset 0 .* thread \(0, 0, 0\) wrote"):
        kernel[1, 64](np.zeros(64, np.float32))


def test_divergent_barriers():
    @cuda.jit(target="cpu")
    def kernel(x):
        if cuda.threadIdx.x < 10:
            cuda.syncthreads()  # here
        else:
            cuda.syncthreads()  # there

    with pytest.raises(errors.KernelError) as caught:
        kernel[1, 40](np.zeros(1))
    assert str(caught.value) == (
        "block (0, 0, 0): threads wait at different barriers: thread (0, 0, 0) and 9 others wait at syncthreads() in line "
        f"{line_of(kernel, '# here')}; thread (10, 0, 0) and 29 others wait at syncthreads() in line {line_of(kernel, '# there')}")


def test_barrier_and_warp_for_ever():
    @cuda.jit(target="cpu")
    def kernel(x):
        if cuda.laneid % 2:
            cuda.syncthreads()
        cuda.syncwarp()

    with pytest.raises(errors.KernelError, match=r"for ever: .* wait at syncwarp\(0xffffffff\) in line \d+; .* at syncthreads\(\)"):
        kernel[2, 64](np.zeros(1))


def test_absent_lane():
    @cuda.jit(target="cpu")
    def kernel(x):
        x[cuda.threadIdx.x] = cuda.shfl_down_sync(0xFFFFFFFF, x[cuda.threadIdx.x], 16)

    x = np.arange(32, dtype=np.int32)
    kernel[1, 32](x)
    np.testing.assert_array_equal(x, [*range(16, 32), *range(16, 32)])
    with pytest.raises(errors.KernelError, match="lane 4 reads lane 20, which has ended or is not in the block"):
        kernel[1, 20](np.arange(20, dtype=np.int32))


def test_loop_with_barriers_of_one_line():
    """Whether the compiler unrolls or rotates the loop, it remains one barrier."""

    @cuda.jit(target="cpu")
    def kernel(x, n):
        own = cuda.shared.array(128, int32)
        t = cuda.threadIdx.x
        own[t] = t
        for k in range(n):
            cuda.syncthreads()
            y = own[(t + 1) % 128] if t % 2 else own[(t + 127) % 128]
            cuda.syncthreads()
            own[t] = y + 1
        x[t] = own[t]

    x, own = np.zeros(128, np.int32), np.arange(128)
    kernel[1, 128](x, 5)
    for _ in range(5):
        own = np.where(np.arange(128) % 2, np.roll(own, -1), np.roll(own, 1)) + 1
    np.testing.assert_array_equal(x, own)


def test_large_local_arrays():
    @cuda.jit(target="cpu")
    def kernel(x):
        own = cuda.local.array(40000, np.float64)
        t = cuda.threadIdx.x
        for i in range(40000):
            own[i] = i + t
        cuda.syncthreads()
        x[t] = own[t * 100]

    x = np.zeros(64)
    kernel[2, 64](x)
    np.testing.assert_array_equal(x, np.arange(64) * 101)


def test_stacks_leave_room_for_other_mappings():
    """A stack is two mappings of the 65,530 that a process may have: many cores run large blocks all the same."""
    @cuda.jit(target="cpu")
    def reversed_blocks(x):
        own = cuda.shared.array(1024, float32)
        i, t = cuda.grid(1), cuda.threadIdx.x
        own[t] = x[i]
        cuda.syncthreads()
        x[i] = own[1023 - t]

    def n_mappings():
        with open("/proc/self/maps") as file:
            return len(file.readlines())

    before = n_mappings()  # of the sanitizer and of kernels compiled by now there may be thousands
    start = np.arange(100 * 1024, dtype=np.float32)
    for threads in (100, 3):
        with lw.config(threads=threads):
            for _ in range(3):
                x = start.copy()
                reversed_blocks[100, 1024](x)
                assert (x.reshape(100, 1024)[:, ::-1] == start.reshape(100, 1024)).all()
    with open("/proc/sys/vm/max_map_count") as most:
        assert n_mappings() - before < 0.55 * int(most.read()) + 1000


def test_a_thread_may_wait_for_what_another_writes(cpu):
    """A nap or a fence in its loop lets the thread wait, also in a kernel without a barrier."""

    @cuda.jit
    def by_nap(flag, out):
        if cuda.threadIdx.x == 0:
            while cuda.atomic.add(flag, 0, 0) < cuda.blockDim.x - 1:
                cuda.nanosleep(100)
            out[0] = 1
        else:
            cuda.atomic.add(flag, 0, 1)

    @cuda.jit
    def by_fence(flag, out):
        if cuda.threadIdx.x == 0:
            while flag[0] == 0:
                cuda.threadfence()
            out[0] = 1
        elif cuda.threadIdx.x == 5:
            flag[0] = 1

    for kernel in (by_nap, by_fence):
        out = np.zeros(1)
        kernel[1, 40](np.zeros(1, np.int64), out)
        assert out[0] == 1


# ---- shared memory sized at launch: an index beyond it is an exception, whatever the options ----

pair = np.dtype([("x", np.float32), ("m", np.int16, 4)])


@cuda.jit(device=True)
def put(where, i, value):
    where[i] = value


def through_device_function(i, out):
    s = cuda.shared.array(0, float32)
    put(s, i, 1)
    out[0] = 1


def through_slice(i, out):
    s = cuda.shared.array(0, float32)[1:]
    s[i] = 1
    out[0] = 1


def through_variable(i, out):
    s = cuda.shared.array(0, float32)
    t = s
    for k in range(3):
        t = t[k:]
    out[0] = t[i]


def through_choice(i, out):
    s = cuda.shared.array(0, float32)
    t = lw.local(1000, float32)[:]
    w = s if out[0] == 0 else t
    w[i] = 1
    out[0] = 1


def through_atomic(i, out):
    s = cuda.shared.array(0, int32)
    cuda.atomic.add(s, i, 1)
    out[0] = 1


def through_record(i, out):
    s = cuda.shared.array(0, pair)
    s[i].x = 1
    out[0] = 1


def through_field(i, out):
    s = cuda.shared.array(0, pair)
    s[0].m[i] = 1
    out[0] = 1


def through_wide_index(i, out):
    s = cuda.shared.array(0, float32)
    out[0] = s[np.uint64(i)]


def through_augmented(i, out):
    s = cuda.shared.array(0, int32)
    s[i] += 1
    out[0] = 1


def through_tuple(i, out):
    s = (cuda.shared.array(0, float32), out)
    s[0][i] = 1
    out[0] = 1


def through_barrier(i, out):
    s = cuda.shared.array(0, float32)
    cuda.syncthreads()
    s[i] = 1
    cuda.syncthreads()
    out[0] = 1


ROUTES = [through_device_function, through_slice, through_variable, through_choice, through_atomic, through_record, through_field,
          through_wide_index, through_augmented, through_tuple, through_barrier]


@pytest.mark.parametrize("options", [{}, {"errors": "ignore"}, {"debug": True}], ids=["plain", "ignore", "debug"])
@pytest.mark.parametrize("route", ROUTES, ids=[r.__name__ for r in ROUTES])
def test_dynamic_shared_memory_is_guarded(route, options):
    kernel = cuda.jit(target="cpu", **options)(route)
    out = np.zeros(1)
    kernel[1, 1, 0, 64](1, out)
    if route not in (through_variable, through_wide_index):
        assert out[0] == 1
    for i, n_bytes in [(10**8, 64), (16, 64), (-17, 64), (10**8, 0), (0, 0), (-1, 0)]:
        with pytest.raises(IndexError, match=r"index( -?\d+ is)? out of bounds for axis 0.* at .*\.py:\d+, tid=\[0, 0, 0\] ctaid=\[0, 0, 0\]"):
            kernel[1, 1, 0, n_bytes](i, np.zeros(1))
    kernel[1, 1, 0, 64](1, out)


def test_dynamic_shared_memory_names_the_thread():
    @cuda.jit(target="cpu")
    def kernel(out):
        s = cuda.shared.array(0, float32)
        i = cuda.grid(1)
        s[i] = i
        cuda.syncthreads()
        out[i] = s[i]

    out = np.zeros(64)
    kernel[1, 64, 0, 256](out)
    np.testing.assert_array_equal(out, np.arange(64))
    with pytest.raises(IndexError) as caught:
        kernel[1, 64, 0, 255](out)
    assert str(caught.value) == (
        "index out of bounds for axis 0 of the dynamic shared memory, whose bytes are the launch's sharedmem (raised in `kernel` at "
        f"{__file__}:{line_of(kernel, 's[i] = i')}, tid=[63, 0, 0] ctaid=[0, 0, 0])")
    gpu = kernel.inspect_llvm(kernel.signatures[0])
    assert "define internal void @lw_body" in gpu and "br i1" not in gpu  # there is no guard on a GPU
