"""guvectorize layouts without outputs, "(t),()": the function works in place."""

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda


def every_second(x, y):
    for t in range(0, x.shape[0], 2):
        x[t] = y[0]


def plain(function, x, *rest):
    """Call the function for each item, in order."""
    for index in np.ndindex(x.shape[:-1]):
        function(x[index], *(r[index] for r in rest))


SIGNATURE = "void(f8[:], f8[:])"


@pytest.fixture(params=["declared", "lazy", "writable_args", "python"])
def in_place(request):
    if request.param == "declared":
        yield lw.guvectorize([SIGNATURE], "(t),()")(every_second)
    elif request.param == "lazy":
        yield lw.guvectorize("(t),()")(every_second)
    elif request.param == "writable_args":
        yield lw.guvectorize([SIGNATURE], "(t),()", writable_args=("x",))(every_second)
    else:
        with lw.config(target="python"):
            yield lw.guvectorize([SIGNATURE], "(t),()")(every_second)


@pytest.mark.parametrize("shape", [(10,), (3, 10), (2, 3, 10), (0, 10), (3, 0), (200, 300)])
def test_writes_into_its_arrays(in_place, shape):
    x = np.arange(np.prod(shape), dtype=float).reshape(shape)
    y = np.arange(np.prod(shape[:-1]), dtype=float).reshape(shape[:-1])
    expected = x.copy()
    plain(every_second, expected, y[..., None])
    assert in_place(x, y) is None
    np.testing.assert_array_equal(x, expected)


def test_strided_and_transposed(in_place):
    x = np.zeros((10, 6))[:, ::2].T
    in_place(x, 7)
    assert (x[:, ::2] == 7).all() and (x[:, 1::2] == 0).all()


def test_items_that_share_an_array_run_in_order():
    f = lw.guvectorize([SIGNATURE], "(t),()")(every_second)
    x = np.zeros(100)
    f(x, np.arange(5000.0))  # every item writes to x
    assert (x[::2] == 4999).all() and (x[1::2] == 0).all()


def test_attributes():
    f = lw.guvectorize([SIGNATURE], "(t),()")(every_second)
    assert (f.nin, f.nout, f.nargs, f.signature, f.types) == (2, 0, 2, "(t),()", ["dd->"])
    assert f.signatures == ["void(float64[:], float64[:])"]
    assert len(lw.compile(f, "void(f8[:], f8[:])", target="sm_75", output="ptx")) > 100


def test_without_arrow_is_no_output_and_with_one_is_an_error():
    with pytest.raises(ValueError, match="bad token in signature"):
        lw.guvectorize([SIGNATURE], "(t),()->")(every_second)
    with pytest.raises(TypeError, match="needs 3"):
        lw.guvectorize("(t),(),()")(every_second)


def test_what_a_cast_loses_is_told():
    f = lw.guvectorize([SIGNATURE], "(t),()")(every_second)
    x = np.zeros(4, "float32")
    with pytest.warns(RuntimeWarning, match=r"writes to a copy of argument `x`.*float32.*writable_args=\('x',\)"):
        f(x, 1)
    assert not x.any()
    back = lw.guvectorize([SIGNATURE], "(t),()", writable_args=(0,))(every_second)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        back(x, 1)
    assert x.tolist() == [1, 0, 1, 0]


def test_bad_calls():
    f = lw.guvectorize([SIGNATURE], "(t),()")(every_second)
    x = np.zeros(4)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="`x`, which is read-only"):
        f(x, 1)
    with pytest.raises(TypeError, match="`x`, which must be an array, not list"):
        f([1.0, 2.0], 1)
    with pytest.raises(ValueError, match="does not have enough dimensions"):
        f(np.array(1.0), 1)
    with pytest.raises(TypeError):
        f(np.zeros(3))
    with pytest.raises(TypeError):
        f(np.zeros(3), 1, np.zeros(3))
    f(np.zeros(4), x[0])  # read only: fine where it only reads


@pytest.mark.gpu
@pytest.mark.usefixtures("simulated")
@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("items", [3, 4200])
def test_device_arrays(items):
    f = lw.guvectorize([SIGNATURE], "(t),()")(every_second)
    x, y = np.zeros((items, 5)), np.arange(items, dtype=float)
    device = cuda.to_device(x)
    assert f(device, cuda.to_device(y)) is None
    f(x, y)
    np.testing.assert_array_equal(device.copy_to_host(), x)


@pytest.mark.gpu
@pytest.mark.usefixtures("simulated")
@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("layout,options", [("(t),()", {}), ("(t),()->()", {"writable_args": (0,)})])
def test_host_arrays_of_target_cuda_come_back(layout, options):
    if "->" in layout:
        f = lw.guvectorize([SIGNATURE.replace(")", ", f8[:])")], layout, target="cuda", **options)(filling)
    else:
        f = lw.guvectorize([SIGNATURE], layout, target="cuda", **options)(every_second)
    x = np.zeros((3, 4))
    f(x, np.array([1.0, 2.0, 3.0]))
    assert x[:, 0].tolist() == [1, 2, 3] and not x[:, 1].any()


def filling(x, y, out):
    for t in range(0, x.shape[0], 2):
        x[t] = y[0]
    out[0] = y[0]
