"""DeviceArray against NumPy: contents, views, assignment, conversion, printing."""

from __future__ import annotations

import copy
import operator
import pickle
import warnings

import numpy as np
import pytest

from fake_driver import needs_device, needs_kernels
from lanewise import cuda

pytestmark = needs_device

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
          "float16", "float32", "float64", "complex64", "complex128"]
RECORD = np.dtype([("a", "i4"), ("b", "f8"), ("c", "u1", (3,))])


def data(shape, dtype="float64"):
    n = int(np.prod(shape))
    values = (np.arange(n) * 7 % 101 - 20).reshape(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * (values % 5)
    return values.astype(dtype)


def same(device, host):
    got = device.copy_to_host() if isinstance(device, cuda.DeviceArray) else device
    assert np.shape(got) == np.shape(host)
    assert np.asarray(got).dtype == np.asarray(host).dtype
    np.testing.assert_array_equal(got, host)


# ---- to the device and back ----


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 4), (0, 5), (2, 3, 4), (1,) * 9, (2,) * 12])
def test_round_trip(dtype, shape):
    a = data(shape, dtype)
    d = cuda.to_device(a)
    same(d, a)
    assert (d.shape, d.ndim, d.size, d.nbytes, d.itemsize) == (a.shape, a.ndim, a.size, a.nbytes, a.itemsize)
    assert d.dtype == a.dtype
    if a.size:
        assert d.strides == a.strides


@pytest.mark.parametrize("dtype", ["M8[ns]", "m8[s]", "S5", "U3", "V7", ">i4", RECORD, "longdouble"])
def test_any_dtype_is_stored(dtype):
    a = np.zeros((3, 2), dtype)
    if np.dtype(dtype).kind not in "V":
        a[1] = np.array(["5"]).astype(dtype) if np.dtype(dtype).kind in "SU" else np.array([5]).astype(dtype)
    d = cuda.to_device(a)
    assert d.dtype == a.dtype
    assert d.copy_to_host().tobytes() == a.tobytes()
    assert d[::-1, 1].copy_to_host().tobytes() == a[::-1, 1].tobytes()


@pytest.mark.parametrize("make", [
    lambda a: a, lambda a: a.T, lambda a: a[::2], lambda a: a[:, ::-1], lambda a: np.asfortranarray(a),
    lambda a: np.broadcast_to(a[0], (4, *a[0].shape)), lambda a: a.transpose(1, 2, 0)])
def test_host_layouts(make):
    a = make(data((4, 5, 6), "int32"))
    same(cuda.to_device(a), a)
    target = np.empty(a.shape, a.dtype)[...]
    assert cuda.to_device(a).copy_to_host(target) is target
    np.testing.assert_array_equal(target, a)
    target = np.zeros((*a.shape, 2), a.dtype)[..., 1]
    cuda.to_device(a).copy_to_host(ary=target)
    np.testing.assert_array_equal(target, a)


def test_fortran_order_is_kept():
    d = cuda.to_device(np.asfortranarray(data((3, 4))))
    assert d.flags["F_CONTIGUOUS"] and not d.flags["C_CONTIGUOUS"] and d.is_f_contiguous()
    assert d.copy_to_host().flags.f_contiguous


def test_objects_are_refused():
    with pytest.raises(TypeError, match="Python objects"):
        cuda.to_device(np.array([object()]))
    with pytest.raises(TypeError, match="Python objects"):
        cuda.device_array(3, object)
    with pytest.raises(TypeError, match="Python objects"):
        cuda.device_array_like(np.array([None]))


def test_copy_to_host_checks_its_target():
    d = cuda.to_device(data((2, 3)))
    with pytest.raises(TypeError, match="ary: expected a NumPy array, got list"):
        d.copy_to_host([1])
    with pytest.raises(ValueError, match="shape"):
        d.copy_to_host(np.empty((3, 2)))
    with pytest.raises(TypeError, match="float32"):
        d.copy_to_host(np.empty((2, 3), "f4"))
    target = np.empty((2, 3))
    target.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        d.copy_to_host(target)


# ---- views ----

VIEWS = {
    "int": np.s_[1], "negative": np.s_[-2], "slice": np.s_[1:3], "step": np.s_[::2], "back": np.s_[::-1],
    "two": np.s_[1, 2], "three ints": np.s_[1, 2, 3], "mixed": np.s_[:, 1, ::3], "ellipsis": np.s_[..., 2],
    "ellipsis middle": np.s_[1, ..., ::-2], "ellipsis alone": np.s_[...], "newaxis": np.s_[None],
    "newaxis inside": np.s_[:, None, 1], "empty tuple": (), "empty slice": np.s_[3:1], "far": np.s_[100:],
    "wide step": np.s_[::1000], "negative wide": np.s_[3:0:-2, 4:1:-1], "ints and ellipsis": np.s_[1, 2, 3, ...],
    "numpy int": np.s_[np.int64(2)], "huge": np.s_[-10**30:10**30], "back to start": np.s_[2::-1, ::2, -1:-6:-2],
}


@pytest.mark.parametrize("key", VIEWS.values(), ids=VIEWS)
def test_views(key):
    a = data((4, 5, 6), "int16")
    d = cuda.to_device(a)
    view = d[key]
    same(view, a[key])
    if isinstance(view, cuda.DeviceArray):
        assert view.base is d
        assert view.flags["C_CONTIGUOUS"] == a[key].flags.c_contiguous
        assert view.flags["F_CONTIGUOUS"] == a[key].flags.f_contiguous
        assert not view.flags["OWNDATA"]
        if view.size:
            assert view.strides == a[key].strides
    else:
        assert isinstance(view, np.int16)


@pytest.mark.parametrize("key, text", [
    (4, "out of bounds for axis 0 with size 4"), (-5, "out of bounds"), (np.s_[0, 0, 0, 0], "too many indices"),
    (np.s_[..., ...], "single ellipsis"), (True, "got bool"),
    (1.0, "got float"), ((0, "x"), "got str"), (10**30, "fit"), (np.True_, "got bool")])
def test_bad_index(key, text):
    d = cuda.to_device(data((4, 5, 6)))
    with pytest.raises(IndexError, match=text):
        d[key]
    with pytest.raises(IndexError, match=text):
        d[key] = 1


def test_slice_step_zero():
    with pytest.raises(ValueError):
        cuda.to_device([1])[::0]


def test_fields():
    a = np.zeros(4, RECORD)
    a["a"] = [1, 2, 3, 4]
    a["b"] = 0.5
    a["c"] = np.arange(12).reshape(4, 3)
    d = cuda.to_device(a)
    for name in RECORD.names:
        same(d[name], a[name])
    d["a"][1:] = 9
    assert d.copy_to_host()["a"].tolist() == [1, 9, 9, 9]
    assert d[1]["a"] == 9
    with pytest.raises(ValueError, match="no field"):
        d["nothing"]


RESHAPES = [((4, 6), (24,)), ((4, 6), (2, 2, 6)), ((4, 6), (-1,)), ((4, 6), (3, -1, 2)), ((24,), (2, 3, 4)), ((1,), ()),
            ((), (1, 1)), ((0, 3), (3, 0)), ((0,), (5, 0, 2)), ((2, 1, 3), (6, 1)), ((6,), (6, 1, 1)), ((4, 6), (8, 3))]


@pytest.mark.parametrize("old, new", RESHAPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_reshape(old, new, order):
    a = data(old)
    a = np.asfortranarray(a) if order == "F" else a
    d = cuda.to_device(a)
    same(d.reshape(new, order=order), a.reshape(new, order=order))
    if new:
        same(d.reshape(*new, order=order), a.reshape(*new, order=order))
    assert d.reshape(new, order=order).base is d


@pytest.mark.parametrize("key", [np.s_[::2], np.s_[:, ::2], np.s_[::-1], np.s_[1:3, :, 1], np.s_[:, None]])
@pytest.mark.parametrize("new", [(-1,), (2, -1), (-1, 2, 1)])
def test_reshape_of_views_that_need_no_copy(key, new):
    a = data((4, 5, 6))
    expected = a[key]
    try:
        reshaped = expected.view()
        reshaped.shape = tuple(expected.size // abs(int(np.prod(new))) if n == -1 else n for n in new)
    except (AttributeError, ValueError):
        pytest.skip("NumPy copies here too")
    d = cuda.to_device(a)
    view = d[key].reshape(new)
    assert view.base is d
    same(view, reshaped)


@needs_kernels
def test_reshape_that_copies():
    a = data((4, 5, 6))
    d = cuda.to_device(a)
    same(d.T.reshape(-1), a.T.reshape(-1))
    same(d[:, ::2].ravel(), a[:, ::2].ravel())
    same(d.T.flatten(), a.T.flatten())


@pytest.mark.parametrize("new", [(5,), (-1, -1), (-1, 5), (-2, 12), (2**62, 4, 4)])
def test_bad_reshape(new):
    with pytest.raises(ValueError):
        cuda.to_device(data((4, 6))).reshape(new)


@pytest.mark.parametrize("new", ["ab", 2.0, (2.0, 12), None])
def test_reshape_wrong_type(new):
    with pytest.raises(TypeError):
        cuda.to_device(data((4, 6))).reshape(new)


def test_transpose_and_squeeze():
    a = data((2, 1, 3))
    d = cuda.to_device(a)
    same(d.T, a.T)
    same(d.transpose(), a.transpose())
    same(d.transpose(2, 0, 1), a.transpose(2, 0, 1))
    same(d.transpose((1, -1, 0)), a.transpose((1, -1, 0)))
    same(d.squeeze(), a.squeeze())
    same(d.squeeze(1), a.squeeze(1))
    same(d[None].squeeze((0, 2)), a[None].squeeze((0, 2)))
    for bad in [(0, 1), (0, 0, 1), (0, 1, 3)]:
        with pytest.raises(ValueError):
            d.transpose(bad)
    with pytest.raises(ValueError):
        d.squeeze(0)
    with pytest.raises(TypeError):
        d.transpose("a", "b", "c")


def test_view_as_other_dtype():
    a = data((4, 6), "int32")
    d = cuda.to_device(a)
    for dtype in ["f4", "u4", "i2", "i8", "V4"]:
        assert d.view(dtype).copy_to_host().tobytes() == a.view(dtype).tobytes()
        assert d.view(dtype).shape == a.view(dtype).shape
    assert d.view().base is d
    with pytest.raises(ValueError):
        d.view("V5")
    with pytest.raises(ValueError):
        d.T.view("i2")


# ---- assignment ----


@pytest.mark.parametrize("dtype", DTYPES + ["M8[s]", RECORD])
@pytest.mark.parametrize("value", [0, 1, 77])
@pytest.mark.parametrize("key", [np.s_[...], np.s_[1], np.s_[::2], np.s_[:, 1:3], np.s_[::-1, ::-1], np.s_[3:3]])
def test_fill_part(dtype, value, key):
    a = np.zeros((5, 7), dtype)
    d = cuda.to_device(a)
    value = np.array([value]).astype(dtype)[0]
    a[key] = value
    d[key] = value
    same(d, a)


@pytest.mark.parametrize("n", [1, 3, 1000, 5000])
@pytest.mark.parametrize("item", [1.5, 2 + 3j, -1])
def test_fill_pattern(n, item):
    for dtype in ["complex128", "complex64"]:
        d = cuda.device_array(n, dtype)
        d.fill(item)
        same(d, np.full(n, item, dtype))


def test_fill_records():
    item = np.array((5, 2.25, [1, 2, 3]), RECORD)[()]
    d = cuda.device_array(3000, RECORD)
    d.fill(item)
    assert (d.copy_to_host() == np.full(3000, item)).all()
    d = cuda.device_array(5, "V3000")
    d.fill(np.void(b"abc" * 1000))
    assert d.copy_to_host().tobytes() == b"abc" * 5000


@pytest.mark.parametrize("key, shape", [
    (np.s_[...], (5, 6)), (np.s_[...], (6,)), (np.s_[...], (5, 1)), (np.s_[...], (1, 5, 6)), (np.s_[1], (6,)),
    (np.s_[::2], (3, 6)), (np.s_[:, 2], (5,)), (np.s_[::-1], (5, 6)), (np.s_[:, ::-1], (6,)), (np.s_[1:3, 2:4], (2, 2))])
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_assign_host(key, shape, dtype):
    a = data((5, 6), "int32")
    d = cuda.to_device(a)
    value = data(shape, dtype) + 100
    a[key] = value
    d[key] = value
    same(d, a)


def test_assign_to_fortran_order():
    a = np.asfortranarray(data((5, 6)))
    d = cuda.to_device(a)
    d[...] = np.arange(30.0).reshape(5, 6)
    same(d, np.arange(30.0).reshape(5, 6))
    d.T[...] = np.arange(30.0).reshape(6, 5)
    same(d, np.arange(30.0).reshape(6, 5).T)


@pytest.mark.parametrize("key, other", [
    (np.s_[...], np.s_[...]), (np.s_[1], np.s_[2]), (np.s_[1:3], np.s_[2:4]), (np.s_[::-1], np.s_[...]),
    (np.s_[0:4], np.s_[1:5]), (np.s_[1:5], np.s_[0:4]), (np.s_[...], np.s_[3]), (np.s_[:, :3], np.s_[:, 3:])])
def test_assign_device_also_overlapping(key, other):
    a = data((5, 6))
    d = cuda.to_device(a)
    a[key] = a[other].copy()
    d[key] = d[other]
    same(d, a)


def test_assign_between_arrays():
    d = cuda.to_device(data((5, 6)))
    e = cuda.to_device(data((6,)))
    d[...] = e
    same(d, np.broadcast_to(data((6,)), (5, 6)))
    d[2] = cuda.to_device(9.0)
    same(d[2], np.full(6, 9.0))
    with pytest.raises(ValueError, match="broadcast"):
        d[...] = cuda.to_device(data((5,)))
    with pytest.raises(ValueError):
        d[...] = np.zeros(5)
    with pytest.raises(ValueError):
        d[0:0] = cuda.to_device(data((5,)))


@needs_kernels
def test_assign_with_cast_and_strides():
    a = data((64, 65), "int16")
    d = cuda.to_device(np.zeros((64, 65), "f4"))
    d[:, ::2] = cuda.to_device(a)[:, ::2]
    expected = np.zeros((64, 65), "f4")
    expected[:, ::2] = a[:, ::2]
    same(d, expected)
    d[:, 1] = 3
    expected[:, 1] = 3
    same(d, expected)
    for dtype in DTYPES:
        same(cuda.to_device(a).astype(dtype), a.astype(dtype))


def test_imaginary_parts_are_not_lost_in_silence():
    d = cuda.to_device(np.empty(0, "c8"))
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        assert d.astype("f4").dtype == "f4"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert d.astype("c16").dtype == "c16" and d.astype("?").dtype == "?"


def test_bad_assignment():
    d = cuda.to_device(np.zeros(4, "u1"))
    with pytest.raises(OverflowError):
        d[0] = 300
    with pytest.raises((ValueError, TypeError)):
        d[0] = "x"
    with pytest.raises(ValueError, match="delete"):
        del d[0]
    with pytest.raises(ValueError, match="scalar"):
        d.fill([1, 2])
    same(d, np.zeros(4, "u1"))


def test_read_only():
    class Exporter:
        pass

    d = cuda.to_device(data((4,)))
    exporter = Exporter()
    exporter.__cuda_array_interface__ = {**d.__cuda_array_interface__, "data": (d.__cuda_array_interface__["data"][0], True)}
    e = cuda.as_cuda_array(exporter)
    assert not e.flags["WRITEABLE"] and not e[1:].flags["WRITEABLE"]
    assert e.__cuda_array_interface__["data"][1] is True
    for write in (lambda: operator.setitem(e, 0, 1), lambda: e[1:].fill(1), lambda: e.copy_to_device(d)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert e.copy().flags["WRITEABLE"]


def test_copy_to_device():
    d = cuda.device_array((3, 4), "f4")
    d.copy_to_device(data((3, 4), "f4"))
    same(d, data((3, 4), "f4"))
    d.copy_to_device(cuda.to_device(np.ones((3, 4), "f4")))
    same(d, np.ones((3, 4), "f4"))
    e = cuda.to_device(data((3, 4), "f4"), to=d)
    assert e is d
    same(d, data((3, 4), "f4"))
    with pytest.raises(TypeError, match="to: expected a DeviceArray"):
        cuda.to_device([1], to=[2])


def test_bfloat16():
    d = cuda.device_array(4, "bfloat16")
    assert d.itemsize == 2 and "bfloat16" in repr(d)
    d.fill(1.5)
    assert d.copy_to_host().view("u2").tolist() == [0x3FC0] * 4
    d[1:] = [1.0, -2.0, 3.140625]
    assert d.copy_to_host().view("u2").tolist() == [0x3FC0, 0x3F80, 0xC000, 0x4049]
    assert d.copy().dtype.itemsize == 2 and "bfloat16" in repr(d.copy())


# ---- copies ----


def test_copies():
    a = data((3, 4))
    d = cuda.to_device(a)
    for e in (d.copy(), copy.copy(d), copy.deepcopy(d), d.astype(d.dtype)):
        same(e, a)
        assert e.base is None and e.__cuda_array_interface__["data"] != d.__cuda_array_interface__["data"]
    assert d.astype(d.dtype, copy=False) is d
    assert d[1:].copy().is_c_contiguous()
    same(d[1:].copy(), a[1:])
    f = cuda.to_device(np.asfortranarray(a))
    assert f.copy(order="K").is_f_contiguous()
    with pytest.raises(ValueError, match="order"):
        d.copy(order="X")
    with pytest.raises(TypeError):
        d.astype("nonsense")


def test_pickle():
    for a in (data((3, 4)), np.zeros(3, RECORD), np.array(5)):
        same(pickle.loads(pickle.dumps(cuda.to_device(a))), a)


# ---- as numbers, as sequences ----


def test_numbers():
    one = cuda.to_device(np.array([2.5]))
    assert float(one) == 2.5 and int(one) == 2 and complex(one) == 2.5 and bool(one)
    assert one.item() == 2.5 and type(one.item()) is float
    assert operator.index(cuda.to_device(np.array(3))) == 3
    assert not cuda.to_device(0)
    many = cuda.to_device([1, 2])
    for convert in (float, int, complex, operator.index):
        with pytest.raises(TypeError):
            convert(many)
    with pytest.raises(TypeError):
        operator.index(one)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(many)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(cuda.device_array(0))
    with pytest.raises(ValueError, match="size 1"):
        many.item()
    host, matrix = data((2, 3)), cuda.to_device(data((2, 3)))
    for index in ((0,), (5,), (-1,), (np.int16(4),), (1, -1), ((1, 2),), ((3,),)):  # one number counts the elements in C order
        assert matrix.item(*index) == host.item(*index)
    for index, error in (((6,), IndexError), ((-7,), IndexError), ((1, 2, 0), ValueError), ((True,), TypeError), ((1.0,), TypeError), ((0, 3), IndexError)):
        with pytest.raises(error):
            matrix.item(*index)
    assert cuda.to_device(np.array(7)).item(0) == 7 and matrix.T.item(1) == host.T.item(1)
    assert many.item(1) == 2 and cuda.to_device(data((2, 3))).item(1, 2) == data((2, 3)).item(1, 2)
    assert cuda.to_device(data((2, 3))).tolist() == data((2, 3)).tolist()


def test_sequence():
    a = data((3, 2))
    d = cuda.to_device(a)
    assert len(d) == 3
    for row, expected in zip(d, a):
        same(row, expected)
    assert list(cuda.to_device([4, 5])) == [4, 5]
    for call in (len, iter):
        with pytest.raises(TypeError):
            call(cuda.to_device(1.0))
    with pytest.raises(TypeError):
        hash(d)
    with pytest.raises(TypeError, match="cannot be called"):
        cuda.DeviceArray()
    with pytest.raises(TypeError):
        type("Sub", (cuda.DeviceArray,), {})


def test_numpy_conversion_is_explicit():
    d = cuda.to_device(data((3,)))
    with pytest.raises(TypeError, match="copy_to_host"):
        np.asarray(d)
    with pytest.raises(TypeError, match="copy_to_host"):
        np.sum(d.__array__())
    with pytest.raises(ValueError, match="copy=False"):
        d.__array__(copy=False)
    np.testing.assert_array_equal(np.array(d, copy=True), data((3,)))
    assert d.__array__(np.float32, copy=True).dtype == np.float32
    with pytest.raises((BufferError, RuntimeError, TypeError)):
        np.from_dlpack(d)


def test_operators_stand_back():
    class Other:
        __array_ufunc__ = None

        def __radd__(self, other):
            return "reflected"

        def __rpow__(self, other):
            return "power"

        def __gt__(self, other):
            return "greater"

    d = cuda.to_device([1.0])
    assert d + Other() == "reflected"
    assert d ** Other() == "power"
    assert (d < Other()) == "greater"
    with pytest.raises(TypeError):
        d - Other()
    with pytest.raises(TypeError):
        d @ Other()


def test_ufunc_without_counterpart():
    with pytest.raises(TypeError, match=r"has no lanewise counterpart"):
        np.frompyfunc(lambda x: x, 1, 1)(cuda.to_device([1.0]))


@needs_kernels
@pytest.mark.parametrize("op", ["add", "sub", "mul", "truediv", "floordiv", "mod", "lt", "le", "eq", "ne", "gt", "ge"])
def test_operators(op):
    function = getattr(operator, op)
    a, b = data((50,)), data((50,)) + 30.5
    same(function(cuda.to_device(a), cuda.to_device(b)), function(a, b))
    same(function(cuda.to_device(a), 3.0), function(a, 3.0))
    same(function(3.0, cuda.to_device(b)), function(3.0, b))


@needs_kernels
def test_more_operators():
    a, i = data((50,)), data((50,), "int32")
    d, e = cuda.to_device(a), cuda.to_device(i)
    same(-d, -a)
    same(abs(d), abs(a))
    same(+d, +a)
    same(~e, ~i)
    same(e << 2, i << 2)
    same(e >> 1, i >> 1)
    same(e & 6, i & 6)
    same(e | 6, i | 6)
    same(e ^ 6, i ^ 6)
    same(d ** 2, a ** 2)
    keep = d
    d += 1
    assert d is keep
    same(d, a + 1)
    same(np.add(e, e), i + i)


# ---- printing ----


@pytest.mark.parametrize("make", [
    lambda: data((3,)), lambda: data((3, 4), "f4"), lambda: np.zeros(0), lambda: np.array(5), lambda: data((2000,)),
    lambda: data((40, 50), "i4"), lambda: data((8, 2, 100)), lambda: np.array([True, False]), lambda: np.linspace(0, 1, 5),
    lambda: data((3, 4)).T, lambda: data((1001,), "c8"), lambda: np.array(["2020-01-01"], "M8[D]")])
def test_printing(make):
    a = make()
    d = cuda.to_device(a)
    text = np.array2string(a, separator=", ", prefix="DeviceArray(", suffix=")")
    dtype = "bool" if a.dtype == bool else str(a.dtype)
    assert repr(d) == f"DeviceArray({text}, dtype={dtype}, device={int(d.device)})"
    assert str(d) == str(a)


def test_printing_empty():
    assert repr(cuda.device_array((0, 3))) == "DeviceArray([], shape=(0, 3), dtype=float64, device=0)"


def test_printing_fetches_edges_only():
    d = cuda.device_array(2**26, "u1")  # 64 MB
    d.fill(3)
    with np.printoptions(edgeitems=2):
        assert repr(d) == "DeviceArray([3, 3, ..., 3, 3], dtype=uint8, device=0)"


def test_a_text_is_no_array():
    for text, dtype in (("abc", "<U3"), (b"abc", "S3")):
        with pytest.raises(TypeError, match=f"obj: expected an array or numbers, got {type(text).__name__} .*{dtype}"):
            cuda.to_device(text)
    assert cuda.to_device(np.array(["abc"])).copy_to_host()[0] == "abc"


@needs_device
@pytest.mark.parametrize("name", ["get", "cpu", "numpy"])
def test_spellings_of_other_libraries_name_copy_to_host(name):
    d = cuda.to_device(np.arange(3.0))
    assert not hasattr(d, name)  # by which programs tell CuPy's arrays and PyTorch's tensors
    with pytest.raises(AttributeError, match=rf"DeviceArray has no `{name}`: copy_to_host\(\) returns a NumPy array"):
        getattr(d, name)()
