"""numba's questions about a kernel's code: an int for a signature, else a dict by tuples of types."""

import collections

import numpy as np
import pytest

import lanewise as lw
from lanewise import boolean, complex128, cuda, float32, float64, int64, types, void

pytest.importorskip("cuda.pathfinder", reason="libNVVM and nvJitLink are looked for with it")

NAMES = ["get_regs_per_thread", "get_const_mem_size", "get_shared_mem_per_block", "get_local_mem_per_thread", "get_max_threads_per_block"]


def staged(x, n):
    part = cuda.shared.array(10, x.dtype)
    i = cuda.grid(1)
    part[i % 10] = x[i]
    cuda.syncthreads()
    if i < n:
        x[i] = part[9 - i % 10] / n


@pytest.mark.parametrize("name", NAMES)
def test_a_dict_by_types(cpu, name):
    kernel = cuda.jit(staged)
    kernel[1, 10](np.zeros(10, np.float32), 10)
    kernel[1, 10](np.zeros(10), 10)
    ask = getattr(kernel, name)
    narrow, wide = void(float32[::1], int64), void(float64[::1], int64)
    found = ask()
    assert set(found) == {narrow.args, wide.args}
    assert found[narrow.args] == ask(narrow) and found[wide.args] == ask(wide)
    assert all(type(value) is int for value in found.values())


def test_what_the_numbers_are(cpu):
    kernel = cuda.jit(staged)
    narrow, wide = void(float32[::1], int64), void(float64[::1], int64)
    assert kernel.get_shared_mem_per_block(narrow) == 40 and kernel.get_shared_mem_per_block(wide) == 80
    assert kernel.get_regs_per_thread(narrow) == kernel.resources(narrow, "sm_90")["registers"] > 0
    assert kernel.get_max_threads_per_block(wide) == 1024
    assert kernel.get_const_mem_size(narrow) > 0


def test_of_a_kernel_for_one_signature():
    for kernel in (cuda.jit("void(float32[::1], int64)")(staged), cuda.jit(staged).specialize(np.zeros(3, np.float32), 3)):
        assert kernel.specialized and kernel.get_shared_mem_per_block() == 40
        assert type(kernel.get_regs_per_thread()) is int
    both = cuda.jit(["void(float32[::1], int64)", "void(float64[::1], int64)"])(staged)
    assert both.get_shared_mem_per_block() == {(float32[::1], int64): 40, (float64[::1], int64): 80}


def test_keys_of_every_kind(cpu):
    pair = collections.namedtuple("pair", "a b")

    @cuda.jit
    def kernel(x, t, p, z, flag, nothing, left_out=None):
        if flag:
            x[0, 0] = t[0] + t[1] + p.a + z.real

    record = np.zeros(1, [("a", "f4")])
    kernel[1, 1](np.zeros((3, 3)).T, (1, np.float32(2)), pair(np.int8(1), 2.0), 1j, True, None)
    (key, value), = kernel.get_max_threads_per_block().items()
    assert key[0] == float64[::1, :] and key[3:] == (complex128, boolean, types.none)
    assert len(key) == 6 and value == 1024
    assert kernel.overloads[key].max_threads_per_block == 1024
    assert kernel.overloads[list(kernel.overloads)[0]].signature == kernel.signatures[0]
    assert lw.typeof(record[0]) not in key


def test_static_parameters_are_texts(cpu):
    @cuda.jit(static="k")
    def kernel(x, k, m):
        x[0] = k + m

    kernel[1, 1](np.zeros(3), 3, 5)
    assert list(kernel.get_max_threads_per_block()) == [(float64[::1], "k=3", int64)]


def test_overloads_by_what_numba_calls_them(cpu):
    kernel = cuda.jit(staged)
    kernel[1, 10](np.zeros(10, np.float32), 10)
    one = kernel.overloads[float32[::1], int64]  # a Python int is int64
    assert one.regs_per_thread == kernel.overloads[void(float32[::1], int64)].regs_per_thread
    with pytest.raises(KeyError):
        kernel.overloads[float32[::1], float64]


def test_types_of_variables():
    """`overload.type_annotation.typemap`, as programs for numba read it; numba's other name is `_type_annotation`."""
    pair = np.dtype([("a", "f4"), ("b", "i8")])

    @cuda.jit("void(int32[::1], float32)", target="cpu")
    def f(x, q):
        near = cuda.local.array(10, dtype=np.int32)
        both = cuda.local.array(2, dtype=pair)
        near[0] = x[0]
        y = q
        for i in range(3):
            y = y * 2 + both[0].a
            near[i] = i
        z = 1.5 * x[0]
        x[0] = near[0] + (1 if z > y else 2)

    with lw.config(target="cpu"):
        overload = f.overloads[lw.int32[::1], lw.float32]
        types = overload.type_annotation.typemap
    assert types["x"] == types["near"] == lw.int32[::1] and types["near"].dtype == lw.int32
    assert (types["y"], types["z"], types["i"]) == (lw.float32, lw.float64, lw.int64) and types["both"] == lw.from_dtype(pair)[::1]
    assert overload._type_annotation.typemap == types
