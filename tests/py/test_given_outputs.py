"""Without signatures the dtypes of the outputs that a call gives are those that the function fills."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda


def total(x, out):
    out[0] = 0
    for i in range(x.shape[0]):
        out[0] += x[i]


def total_and_last(x, out, last):
    out[0] = 0
    for i in range(x.shape[0]):
        out[0] += x[i]
    last[0] = x[x.shape[0] - 1]


@pytest.fixture(params=["auto", "python"], autouse=True)
def _target(request):
    with lw.config(target=request.param):
        yield


BYTES = np.full((3, 4), 100, "int8")


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("call", [lambda f, x, out: f(x, out), lambda f, x, out: f(x, out=out), lambda f, x, out: f(x, out=(out,))])
def test_sums_are_made_in_the_outputs_dtype(dtype, call):
    f = lw.guvectorize("(n)->()", warn=False)(total)
    out = np.zeros(3, dtype)
    assert call(f, BYTES, out) is out
    assert out.tolist() == [400, 400, 400]
    assert f(BYTES).tolist() == [-112] * 3  # as the inputs have it
    call(f, BYTES, out)
    assert out.tolist() == [400, 400, 400]


def test_one_of_two_outputs():
    f = lw.guvectorize("(n)->(),()")(total_and_last)
    sums = np.zeros(3, "int64")
    got, last = f(BYTES, out=(sums, None))
    assert got is sums and sums.tolist() == [400] * 3 and last.dtype == np.int8 and last.tolist() == [100] * 3


def test_signatures_are_not_changed_by_it():
    f = lw.guvectorize(["void(int8[:], int8[:])"], "(n)->()")(total)
    out = np.zeros(3, "int64")
    f(BYTES, out)
    assert out.tolist() == [-112] * 3
    lazy = lw.guvectorize("(n)->()")(total)
    lazy(BYTES, out, signature="b->b")
    assert out.tolist() == [-112] * 3


def test_what_cannot_be_stored_there_is_numpys_error():
    f = lw.guvectorize("(n)->()")(total)
    with pytest.raises(TypeError, match="same_kind"):
        f(np.ones((3, 4)), np.zeros(3, "int32"))
    out = np.zeros(3, "int32")
    f(np.ones((3, 4)), out, casting="unsafe")
    assert out.tolist() == [4, 4, 4]


def test_views_and_other_orders():
    f = lw.guvectorize("(n)->()")(total)
    out = np.zeros(6, "int64")[::-2]
    f(BYTES, out)
    assert out.tolist() == [400] * 3
    swapped = np.zeros(3, ">i8")
    f(BYTES, swapped)
    assert swapped.tolist() == [400] * 3


K = 1


def test_captured_values_that_change():
    global K
    f = lw.guvectorize("(n)->()")(lambda x, out: _store(x, out))
    out = np.zeros(3, "int64")
    try:
        for K in (1, 2, 1, 3):
            f(BYTES, out)
            assert out.tolist() == [400 * K] * 3
    finally:
        K = 1


def _store(x, out):
    out[0] = 0
    for i in range(x.shape[0]):
        out[0] += x[i] * np.int64(K)


@pytest.mark.gpu
@pytest.mark.usefixtures("simulated")
@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
def test_device_arrays():
    f = lw.guvectorize("(n)->()")(total)
    out = cuda.to_device(np.zeros(3, "int64"))
    f(cuda.to_device(BYTES), out)
    assert out.copy_to_host().tolist() == [400] * 3
