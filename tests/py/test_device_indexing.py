"""Arrays as subscripts, sorting, unique and the rest of lanewise/_device_arrays.py against NumPy: its functions on NumPy
arrays, the stand-ins of device arrays under target="cpu", and device arrays."""

import math
import operator

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device, needs_kernels
from lanewise import _device_arrays as functions
from lanewise import cuda

RECORD = np.dtype([("a", "i4"), ("b", "f8")])


def same(got, expected):
    got = got.copy_to_host() if hasattr(got, "copy_to_host") else np.asarray(got)
    expected = np.asarray(expected)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)


class Direct:
    """Calls the functions themselves on NumPy arrays."""

    array = staticmethod(np.array)
    get, put = staticmethod(functions.getitem), staticmethod(functions.setitem)
    sort, argsort, unique = staticmethod(functions.sort), staticmethod(functions.argsort), staticmethod(functions.unique)
    nonzero, argwhere, flatnonzero = staticmethod(functions.nonzero), staticmethod(functions.argwhere), staticmethod(functions.flatnonzero)
    take = staticmethod(functions.take)


class Device:
    """Does what a user writes."""

    array = staticmethod(lambda a: cuda.to_device(np.array(a)))
    get, put = staticmethod(operator.getitem), staticmethod(operator.setitem)
    sort, argsort, unique = np.sort, np.argsort, np.unique
    nonzero, argwhere, flatnonzero, take = np.nonzero, np.argwhere, np.flatnonzero, np.take


@pytest.fixture(params=["functions", "cpu", pytest.param("cuda", marks=[pytest.mark.gpu, needs_device, needs_kernels])])
def api(request):
    if request.param == "functions":
        yield Direct
    else:
        with lw.config(target=request.param):
            yield Device


def numbers(shape, dtype="int64", seed=1):
    return np.random.default_rng(seed).integers(-9, 9, shape).astype(dtype)


X = numbers((4, 5, 6))
KEYS = [
    (np.array([1, 2, -1]),), ([0, 3],), (slice(None), [1, 2]), (slice(None), slice(None), np.array([[0, 1], [2, -1]])),
    (np.array([1, 2]), slice(None), np.array([0, -1])), (1, slice(None), [0, 2]), (None, [1], ..., [2, 3]), ([1], ..., [2, 3]),
    (X[:, 0, 0] > 0,), (X > 2,), (slice(None), X[0, :, 0] > 0), (..., X[0] > 0), ([],), (np.array([1], np.uint8), None, 2),
    (slice(1, 3), [4, 0], slice(None, None, -2)), (X[..., 0] > 0, slice(None, 3)), ([[0], [3]], [[1, 2]]), (np.array(2), [1, 3]),
    (X > 99,), ([3, 3, 0],), ([2], [1], [0]), (..., [1, 5]), (slice(0, 0), [1, 2]),
]


@pytest.mark.parametrize("key", KEYS, ids=map(str, range(len(KEYS))))
@pytest.mark.parametrize("layout", [lambda x: x, lambda x: x[::-1], lambda x: np.asfortranarray(x)], ids=["c", "reversed", "f"])
@pytest.mark.parametrize("on_device", [False, True], ids=["host indices", "device indices"])
def test_get_and_set(api, key, layout, on_device):
    given = tuple(api.array(k) if on_device and isinstance(k, np.ndarray) and k.ndim else k for k in key)
    given = given[0] if len(given) == 1 else given
    key = key[0] if len(key) == 1 else key
    x = api.array(layout(X))
    same(api.get(x, given), layout(X)[key])
    values = numbers(X[key].shape, seed=2)
    for value in (values, 7, values[..., :1] if values.ndim and values.shape[-1] else 8):
        expected = layout(X).copy()
        expected[key] = value
        x = api.array(layout(X))
        api.put(x, given, value if api is Direct or np.ndim(value) == 0 or not on_device else api.array(value))
        same(x, expected)


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f8", "c16", "M8[s]", RECORD, "S5", "U3"])
def test_every_dtype(api, dtype):
    x = np.zeros((5, 3), dtype)
    if dtype is RECORD:
        x["a"], x["b"] = numbers((5, 3)), 0.5
    else:
        x[...] = numbers((5, 3)).astype(dtype) if np.dtype(dtype).kind not in "SUM" else np.abs(numbers((5, 3))).astype(dtype)
    for key in ([4, 0, -2], (slice(None), [2, 0]), np.arange(15).reshape(5, 3) % 2 == 0):
        same(api.get(api.array(x), key), x[key])
        to = api.array(np.zeros_like(x))
        api.put(to, key, x[key])
        expected = np.zeros_like(x)
        expected[key] = x[key]
        same(to, expected)


def test_the_last_of_several_values_stays(api):
    rng = np.random.default_rng(5)
    places, values = rng.integers(0, 50, 3000), rng.integers(0, 10**6, (3000, 4))
    x, expected = api.array(np.zeros((50, 4), np.int64)), np.zeros((50, 4), np.int64)
    api.put(x, places, values)
    expected[places] = values
    same(x, expected)


def test_casts_of_what_is_assigned(api):
    x, expected = api.array(np.zeros(4, np.int32)), np.zeros(4, np.int32)
    api.put(x, [1, 2], [1.7, -2.2])
    expected[[1, 2]] = [1.7, -2.2]
    same(x, expected)


@pytest.mark.parametrize("key, error, text", [
    ([4], IndexError, "index 4 is out of bounds for axis 0 with size 4"),
    ((slice(None), [0, -6]), IndexError, "index -6 is out of bounds for axis 1 with size 5"),
    ([0.5], IndexError, "arrays used as indices must be of integer|only integers, slices"),
    (True, IndexError, "got bool"), (np.True_, IndexError, "got bool"),
    (1.5, IndexError, "only integers, slices .* got float"), (([0], [0], [0], [0]), IndexError, "too many indices"),
    (([0, 1], [0, 1, 2]), IndexError, "shape mismatch: indexing arrays could not be broadcast together"),
    (np.ones(3, bool), IndexError, "boolean index did not match indexed array along axis 0; size of axis is 4 but size of corresponding boolean axis is 3"),
    ((..., [0], ...), IndexError, "single ellipsis"),
], ids=str)
def test_what_is_no_index(api, key, error, text):
    with pytest.raises(error, match=text):
        api.get(api.array(X), key)
    with pytest.raises(error, match=text):
        api.put(api.array(X), key, 0)


def test_indices_in_memory_of_the_device_are_checked(api):
    bad = api.array(np.array([0, 9]))
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        api.get(api.array(X), bad)
        cuda.synchronize()
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        api.put(api.array(X), bad, 1)
        cuda.synchronize()


def test_values_that_do_not_fit(api):
    with pytest.raises(ValueError, match="shape mismatch|broadcast"):
        api.put(api.array(X), [0, 1], np.zeros((3, 5, 6)))


def special(shape, dtype, seed=3):
    rng = np.random.default_rng(seed)
    a = rng.integers(-50, 50, shape)
    kind = np.dtype(dtype).kind
    if kind in "fc":
        a = a / 7
        for value, share in ((np.nan, 0.1), (-np.nan, 0.05), (-0.0, 0.1), (0.0, 0.1), (np.inf, 0.02), (-np.inf, 0.02)):
            a = np.where(rng.random(shape) < share, value, a)
    if kind == "c":
        imag = np.where(rng.random(shape) < 0.1, np.nan, rng.integers(-3, 3, shape))
        made = np.empty(shape, dtype)
        made.real, made.imag = a, imag
        return made
    if kind in "u":
        a = abs(a)
    a = a.astype(dtype)
    if kind in "mM" and a.size:
        a.reshape(-1)[::7] = "NaT"
    if kind in "iu" and a.size > 1:
        a.reshape(-1)[:2] = np.iinfo(dtype).max, np.iinfo(dtype).min
    return a


SORTED = [((1000,), -1), ((7, 33), 1), ((7, 33), 0), ((3, 4, 50), 1), ((0,), 0), ((5, 0), 1), ((4, 0), 0), ((1,), 0), ((9000,), 0), ((300, 5), None)]


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "M8[s]", "m8[ns]"])
def test_sort(api, dtype):
    for shape, axis in SORTED:
        a = special(shape, dtype)
        order = np.argsort(a, axis, kind="stable")
        same(api.argsort(api.array(a), axis), order)
        got = api.sort(api.array(a), axis)
        expected = np.sort(a, axis, kind="stable")
        same(got, expected)
        host = got.copy_to_host() if hasattr(got, "copy_to_host") else got
        assert host.tobytes() == np.ascontiguousarray(np.take_along_axis(a if axis is not None else a.reshape(-1), order, axis if axis is not None else 0)).tobytes()


def test_sort_of_bfloat16(api):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 of its own")
    a = special(2000, np.float32).astype(ml_dtypes.bfloat16)
    got = api.argsort(api.array(a))
    same(got, np.argsort(a.astype(np.float32), kind="stable"))


def test_sort_of_views(api):
    a = special((40, 30), "f8")
    for view in (lambda x: x.T, lambda x: x[::-1, ::2], lambda x: x[3]):
        same(api.sort(view(api.array(a))), np.sort(view(a)))


@pytest.mark.parametrize("dtype", ["?", "i4", "u8", "f4", "c16", "m8[s]"])
def test_unique(api, dtype):
    for shape in ((500,), (7, 9), (0,), (1,)):
        a = special(shape, dtype)
        for got, expected in zip(api.unique(api.array(a), True, True, True), np.unique(a, True, True, True)):
            same(got, expected)
        same(api.unique(api.array(a)), np.unique(a))
    if np.dtype(dtype).kind == "f":
        same(api.unique(api.array(a), equal_nan=False), np.unique(a, equal_nan=False))


@pytest.mark.parametrize("dtype", ["?", "i2", "f4", "c16", "M8[s]"])
def test_unique_rows(api, dtype):
    one_nan = np.unique([np.nan, np.nan], axis=0).size == 1  # of a vector with axis=: older NumPy returns each NaN
    for shape, axis in (((300, 2), 0), ((3, 40), 1), ((4, 6, 2), -2), ((5, 1), 0), ((0, 3), 0), ((3, 0), 0), ((9,), 0)):
        a = numbers(shape, "i8").clip(-1, 1).astype(dtype)
        if np.dtype(dtype).kind == "f" and a.size and (a.ndim > 1 or one_nan):
            a.flat[::7] = np.nan
        for got, expected in zip(api.unique(api.array(a), True, True, True, axis=axis), np.unique(a, True, True, True, axis=axis), strict=True):
            same(got, expected)
        same(api.unique(api.array(a), axis=axis), np.unique(a, axis=axis))
    with pytest.raises(np.exceptions.AxisError):
        api.unique(api.array(a), axis=2)


@pytest.mark.parametrize("mode", ["wrap", "clip", "raise"])
def test_take_with_modes(api, mode):
    a = numbers((4, 5))
    out = -3 if mode == "raise" else 11
    for axis in (None, 0, 1):
        for indices in ([[0, -1, out]], np.array([3, 1], np.uint8), [True, False], 2, np.zeros(0, np.int32)):
            given = api.array(indices) if isinstance(indices, np.ndarray) else indices
            same(api.take(api.array(a), given, axis, mode=mode), a.take(indices, axis, mode=mode))
    to = api.array(np.zeros(2, int))
    same(api.take(api.array(a), [1, out], out=to, mode=mode), a.take([1, out], mode=mode))
    with pytest.raises(TypeError, match="Cannot cast array data"):
        api.take(api.array(a), api.array([0.5]), mode=mode)
    with pytest.raises(IndexError, match="empty axes"):
        api.take(api.array(np.zeros((0, 3))), [0], 0, mode=mode)
    with pytest.raises(ValueError, match="clipmode must be one of"):
        api.take(api.array(a), [0], mode="foo")


def test_nonzero(api):
    for a in (numbers(300), numbers((7, 5, 3), "f4"), numbers((4, 4)) > 0, np.zeros((2, 3)), np.zeros((0, 3)), numbers((3, 3), "c8")):
        for got, expected in zip(api.nonzero(api.array(a)), np.nonzero(a), strict=True):
            same(got, expected)
        same(api.argwhere(api.array(a)), np.argwhere(a))
        same(api.flatnonzero(api.array(a)), np.flatnonzero(a))


def test_sorting_that_is_refused(api):
    x = api.array(np.arange(3))
    with pytest.raises(ValueError, match="sort kind must be"):
        api.sort(x, kind="fast")
    with pytest.raises(np.exceptions.AxisError):
        api.sort(x, 1)
    with pytest.raises(ValueError, match="no fields"):
        api.argsort(x, order="a")


def test_records_have_no_order():
    with pytest.raises(TypeError, match="sort a field"):
        functions.sort(np.zeros(3, RECORD))
    with pytest.raises(TypeError, match="can be sorted"):
        functions.argsort(np.zeros(3, "S4"))


# ---- methods and attributes of device arrays ----


def test_methods(target):
    a = numbers((6, 4), "f8")
    d = cuda.to_device(a)
    d.sort(0)
    same(d, np.sort(a, 0))
    same(d.argsort(kind="mergesort"), np.argsort(np.sort(a, 0), kind="stable"))
    same(d.take([3, 0], axis=1), np.sort(a, 0)[:, [3, 0]])
    same(d.take([[3, 0]]), np.sort(a, 0).take([[3, 0]]))
    same(np.take(d, [1], axis=0), np.take(np.sort(a, 0), [1], axis=0))
    same(d.nonzero()[1], np.sort(a, 0).nonzero()[1])
    assert isinstance(np.unique(d), cuda.DeviceArray) and isinstance(d[[0]], cuda.DeviceArray)
    d[d < 0] = 0
    d[[0, 1]] += 1
    expected = np.sort(a, 0)
    expected[expected < 0] = 0
    expected[[0, 1]] += 1
    same(d, expected)


def test_parts_of_complex_numbers(target):
    a = numbers((3, 4)) + 1j * numbers((3, 4), seed=2)
    d = cuda.to_device(a)
    same(d.real, a.real)
    same(d[:, 1].imag, a[:, 1].imag)
    d.imag = 5
    d.real[0] = 1
    a.imag = 5
    a.real[0] = 1
    same(d, a)
    same(np.real(d), a.real)
    real = cuda.to_device(numbers(3))
    same(real.imag, np.zeros(3, np.int64))
    real.real[1] = 9
    assert real[1] == 9
    with pytest.raises(TypeError, match="imaginary part"):
        real.imag = 1


def test_split(target):
    d = cuda.to_device(np.arange(10))
    left, right = d.split(5)
    same(left, np.arange(5))
    same(right, np.arange(5, 10))
    assert [one.size for one in d.split(4)] == [4, 4, 2]
    left[0] = 7
    assert d[0] == 7
    with pytest.raises(ValueError, match="section"):
        d.split(0)


def test_one_number_is_converted(target):
    d = cuda.to_device(np.array(2.5))
    assert float(d) == 2.5 and int(d) == 2 and complex(d) == 2.5 and d.item() == 2.5 and math.sqrt(d) == math.sqrt(2.5)
    assert np.float32(d) == np.float32(2.5) and np.asarray(d) == 2.5 and np.asarray(d).shape == ()
    n = cuda.to_device(np.array(3))
    assert operator.index(n) == 3 and list(range(n)) == [0, 1, 2] and [1, 2, 3, 4][n] == 4
    assert np.array([n, n]).tolist() == [3, 3]
    same(cuda.to_device(np.arange(5))[n], 3)
    with pytest.raises(TypeError, match="integer"):
        operator.index(d)


@needs_device
def test_a_stream_is_bound():
    stream = cuda.stream()
    d = cuda.to_device(np.arange(3))
    bound = d.bind(stream)
    assert bound.stream == stream and stream == bound.stream and bound.stream != cuda.stream()
    assert {stream: 1}[stream] == 1 and hash(stream) == hash(stream.handle)
    assert bound.base is d and d.bind().stream == cuda.default_stream()
    assert not stream.external and not cuda.default_stream().external and not cuda.per_thread_default_stream().external
    assert cuda.external_stream(stream.handle).external


def test_streams_of_the_cpu(cpu):
    stream = cuda.stream()
    d = cuda.to_device(np.arange(3)).bind(stream)
    assert d.stream == stream == stream.handle and not stream.external and cuda.external_stream(99).external


@needs_device
def test_from_cuda_array_interface():
    d = cuda.to_device(np.arange(6.0).reshape(2, 3))
    x = cuda.from_cuda_array_interface(d.T.__cuda_array_interface__, d)
    same(x, d.T.copy_to_host())
    d[0, 1] = 9
    assert x[1, 0] == 9
    same(cuda.from_cuda_array_interface({**d.__cuda_array_interface__, "stream": None}, owner=d, sync=False), d.copy_to_host())
    with pytest.raises(TypeError, match="desc: expected"):
        cuda.from_cuda_array_interface(d)


@needs_device
def test_shapes_without_kernels():
    """What needs no result of a kernel works on the fake driver, too."""
    d = cuda.to_device(X)
    for key in KEYS:
        key = key[0] if len(key) == 1 else key
        got = d[key]
        assert got.shape == X[key].shape and got.dtype == X.dtype and got.device == d.device
        d[key] = 1
    assert np.sort(d, 1).shape == d.argsort(1).shape == X.shape and d.argsort().dtype == np.int64
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0"):
        d[[4]]
    with pytest.raises(ValueError, match="shape mismatch"):
        d[[0, 1]] = np.zeros((3, 1, 1))


@pytest.mark.slow_with_sanitizers
@pytest.mark.parametrize("cc", ["sm_75", "sm_90", "sm_120"])
def test_kernels_compile_for_gpus(cc):
    pytest.importorskip("cuda.pathfinder", reason="libNVVM and nvJitLink are looked for with it")
    from lanewise import _device_array_kernels as kernels

    for key, order in (("uint8", "int32"), ("uint32", "int32"), ("uint64", "int64")):
        arrays = f"int64[::1], int64[::1], {key}[::1], {order}[::1]"
        assert kernels.scatter.inspect_cubin(f"void({key}[::1], {order}[::1], {key}, {arrays})", cc)[1:4] == b"ELF"
        found = kernels.scatter.resources(f"void({key}[::1], {order}[::1], {key}, {arrays})", cc)
        assert found["spill_bytes"] == 0 and found["shared_bytes"] == 8 * 8 * 256
        assert kernels.count_digits.inspect_cubin(f"void({key}[::1], {key}, int64[::1])", cc)[1:4] == b"ELF"
    rows = "float32[:, :], int64[::1], float32[:, ::1]"
    assert lw.compile(kernels.take_pairs, f"(int64, int64, {rows})", target=cc, output="cubin")[1:4] == b"ELF"


@needs_device
def test_masked_arrays_are_no_indices():
    """The mask would be ignored, as it would if a value or a host array were masked."""
    x, places = np.array([1.0, 2.0, 3.0]), np.ma.array([0, 1, 2], mask=[0, 1, 0])
    d, half = cuda.to_device(x), cuda.device_array(3, lw.bfloat16)

    def mapped():
        with cuda.mapped(np.ma.array(x, mask=[0, 1, 0])):
            pass

    for f in (lambda: d[places], lambda: d[places > 0], lambda: d[None, places], lambda: d.__setitem__(places, 9), lambda: d.__setitem__(places > 0, 9), lambda: d.take(places),
              mapped, lambda: lw.reductions._sum.reduceat(d, places), lambda: half.__setitem__(slice(None), places), lambda: np.stack([places, d]), lambda: np.block([[d], [places]])):
        with pytest.raises(TypeError, match="is a masked array, whose mask compiled code would ignore; pass its .data"):
            f()
    with pytest.raises(TypeError, match="ary: expected a NumPy array, got MaskedArray"):
        d.copy_to_host(np.ma.array(x))
    assert d.copy_to_host().tolist() == [1, 2, 3]
