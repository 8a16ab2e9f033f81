"""Device arrays that kernels capture: used where they lie, as numba-cuda does, not frozen."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda
from lanewise.errors import UnsupportedError

from fake_driver import FAKE

ON_GPU = cuda.is_available() and not cuda.config.ENABLE_CUDASIM


@pytest.fixture(autouse=True)
def target():
    if ON_GPU:
        yield
        return
    before = lw.config.target
    lw.config.target = "cpu"
    yield
    lw.config.target = before


runs = pytest.mark.skipif(FAKE, reason="the fake driver runs no kernels")


class Foreign:
    """An array of another library."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


@runs
def test_reads_what_the_array_holds_now():
    captured = cuda.to_device(np.arange(5, dtype="f4"))

    @cuda.jit(device=True)
    def item(i):
        return captured[i]

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < captured.size:
            out[i] = item(i) + captured[-1] + captured.shape[0] + len(captured)

    out = cuda.device_array(5, "f4")
    kernel[1, 8](out)
    assert out.copy_to_host().tolist() == [14, 15, 16, 17, 18]
    captured.copy_to_device(np.full(5, 2, "f4"))
    kernel[1, 8](out)
    assert out.copy_to_host().tolist() == [14] * 5


@runs
def test_writes_and_atomics():
    captured = cuda.to_device(np.zeros((2, 3), "i4"))

    @cuda.jit
    def kernel(k):
        i = cuda.grid(1)
        if i < 3:
            captured[0, i] = i * k
            captured[1, i] += 1
            cuda.atomic.add(captured, (1, 0), 10)

    kernel[1, 4](5)
    kernel[1, 4](6)
    assert captured.copy_to_host().tolist() == [[0, 6, 12], [62, 2, 2]]


@runs
def test_strides_offsets_fields_and_no_dimension():
    base = cuda.to_device(np.arange(24, dtype="i8").reshape(4, 6))
    columns, zero = base.T[1:, ::2], cuda.to_device(np.array(42.0))
    records = cuda.to_device(np.array([(1, 2.5), (3, 4.5)], [("n", "i4"), ("x", "f8")]))

    @cuda.jit
    def kernel(out):
        out[0] = columns[0, 1]
        out[1] = columns[-1, -1]
        out[2] = zero[()]
        out[3] = records[1].x
        out[4] = columns.shape[0]
        records[0].n = 7

    out = cuda.device_array(5, "f8")
    kernel[1, 1](out)
    assert out.copy_to_host().tolist() == [13, 17, 42, 4.5, 5]
    assert records.copy_to_host()["n"].tolist() == [7, 3]


@runs
def test_another_array_of_the_name_is_another_compilation():
    captured = cuda.to_device(np.array([1.0]))

    @cuda.jit
    def kernel(out):
        out[0] = captured[0]

    out = cuda.device_array(1, "f8")
    kernel[1, 1](out)
    captured = cuda.to_device(np.array([2.0]))
    kernel[1, 1](out)
    assert out.copy_to_host().tolist() == [2.0]


@pytest.mark.skipif(not ON_GPU or FAKE, reason="another library's array lies on a GPU")
def test_arrays_of_other_libraries():
    captured = Foreign(cuda.to_device(np.arange(3.0)))

    @cuda.jit
    def kernel():
        captured[cuda.threadIdx.x] *= 2

    kernel[1, 3]()
    assert captured.array.copy_to_host().tolist() == [0, 2, 4]


@runs
def test_an_index_outside_raises_in_a_ufunc():
    captured = cuda.to_device(np.arange(10.0)[::2])
    f = lw.vectorize(["f8(i8)"])(lambda i: captured[i])
    i = cuda.to_device(np.arange(-5, 5))
    assert np.array(f(i).copy_to_host()).tolist() == [0, 2, 4, 6, 8] * 2
    with pytest.raises(IndexError):
        f(cuda.to_device(np.arange(7)))
        cuda.synchronize()


def test_code_for_the_other_place_is_refused():
    captured = cuda.to_device(np.arange(3.0))

    def f(i):
        return captured[i]

    where = {"target": "cpu", "output": "asm"} if ON_GPU else {"target": "sm_90", "output": "ptx"}
    with pytest.raises(UnsupportedError, match="E169: an array that the function captured"):
        lw.compile(f, "float64(int64)", **where)
