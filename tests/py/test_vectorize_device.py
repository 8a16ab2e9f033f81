"""@vectorize on device arrays: every layout and keyword against NumPy. Needs a GPU."""

import math
import threading

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

from fake_driver import FAKE, needs_kernels

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("simulated"), pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")]

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
          "float16", "float32", "float64", "complex64", "complex128"]


def data(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.integers(-50, 50, shape)
    if np.dtype(dtype).kind in "fc":
        values = values / 8
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.integers(-9, 9, shape)
    return values.astype(dtype)


@lw.vectorize(fma=False)
def muladd(a, b):
    return a * b + a


def reference(a, b):
    with np.errstate(all="ignore"):
        return a * b + a


def check(device, expected):
    host = device.copy_to_host()
    assert host.shape == expected.shape
    assert host.dtype == expected.dtype
    np.testing.assert_array_equal(host, expected)


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("n", [0, 1, 2, 31, 255, 256, 257, 2047, 2048, 2049, 100_003])
def test_contiguous(dtype, n):
    a, b = data(n, dtype, 1), data(n, dtype, 2)
    check(muladd(cuda.to_device(a), cuda.to_device(b)), reference(a, b))


@pytest.mark.parametrize("left", DTYPES[1:])
@pytest.mark.parametrize("right", ["int8", "uint32", "int64", "float16", "float32", "complex64"])
def test_mixed_dtypes(left, right):
    a, b = data(1000, left, 1), data(1000, right, 2)
    check(muladd(cuda.to_device(a), cuda.to_device(b)), reference(a, b))


LAYOUTS = {
    "transposed": lambda x: x.T, "every second": lambda x: x[:, ::2], "backwards": lambda x: x[::-1, ::-1],
    "one row": lambda x: x[:1], "one column": lambda x: x[:, :1], "offset": lambda x: x[1:, 3:],
    "strided rows": lambda x: x[::3], "0-d": lambda x: x[1:2, 2:3].reshape(()), "new axis": lambda x: x[:, None, :],
}


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
def test_layouts(dtype, left, right):
    x = data((24, 24), dtype, 3)
    a, b = LAYOUTS[left](x), LAYOUTS[right](x)
    d = cuda.to_device(x)
    try:
        expected = reference(a, b)
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            muladd(LAYOUTS[left](d), LAYOUTS[right](d))
        return
    check(muladd(LAYOUTS[left](d), LAYOUTS[right](d)), np.asarray(expected))


def test_many_dimensions():
    x = data((2, 3, 1, 4, 2, 3, 2), "float64", 4)
    moved = np.moveaxis(x, (0, 2, 5), (5, 0, 3))
    d = cuda.to_device(x)
    y = cuda.to_device(np.ascontiguousarray(moved))
    check(muladd(y, y[::-1]), reference(moved, moved[::-1]))
    check(muladd(d, d), reference(x, x))


@pytest.mark.parametrize("scalar", [2, 2.5, np.float32(2.5), np.int64(3), True])
@pytest.mark.parametrize("dtype", ["int16", "int32", "float32", "float64", "complex64"])
def test_scalars(scalar, dtype):
    a = data(1000, dtype, 1)
    check(muladd(cuda.to_device(a), scalar), reference(a, scalar))
    check(muladd(scalar, cuda.to_device(a)), reference(scalar, a))


def test_weak_scalar_that_does_not_fit():
    with pytest.raises(OverflowError):
        muladd(cuda.to_device(np.ones(3, np.int8)), 300)


@pytest.mark.parametrize("where", ["dense", "strided", "broadcast"])
def test_where(where):
    a = data((40, 60), "float64", 1)
    mask = np.random.default_rng(0).random((40, 120)) < 0.5
    mask = {"dense": mask[:, :60].copy(), "strided": mask[:, ::2], "broadcast": mask[0, :60]}[where]
    out = np.full((40, 60), 7.0)
    d_out, d_mask = cuda.to_device(out), cuda.to_device(mask)
    np.add(a, a, out=out, where=mask)
    f = lw.vectorize(lambda x, y: x + y)
    d = cuda.to_device(a)
    assert f(d, d, out=d_out, where=d_mask) is d_out
    np.testing.assert_array_equal(d_out.copy_to_host(), out)
    f(d, d, out=d_out, where=mask)  # a host mask is copied over
    np.testing.assert_array_equal(d_out.copy_to_host(), out)
    with pytest.raises(TypeError, match="bool"):
        f(d, d, out=d_out, where=cuda.to_device(np.ones((40, 60), np.int32)))


def test_out():
    a, b = data((20, 30), "float32", 1), data((20, 30), "float32", 2)
    d_a, d_b = cuda.to_device(a), cuda.to_device(b)
    expected = reference(a, b)
    out = cuda.device_array((20, 30), np.float32)
    assert muladd(d_a, d_b, out=out) is out
    check(out, expected)
    assert muladd(d_a, d_b, out) is out
    assert muladd(d_a, d_b, out=(out,)) is out
    strided = cuda.to_device(np.zeros((40, 60), np.float32))
    muladd(d_a, d_b, out=strided[::2, ::2])
    check(strided[::2, ::2], expected)
    assert strided[1::2].copy_to_host().sum() == 0
    wider = cuda.device_array((20, 30), np.float64)
    muladd(d_a, d_b, out=wider)
    check(wider, expected.astype(np.float64))
    turned = cuda.device_array((30, 20), np.float32)
    muladd(d_a, d_b, out=turned.T)
    check(turned, expected.T)


@pytest.mark.parametrize("call, error, words", [
    (lambda f, d: f(d, d, out=cuda.device_array(9, np.float32)), ValueError, "broadcast"),
    (lambda f, d: f(d, d, out=cuda.device_array(10, np.int32)), TypeError, "cast"),
    (lambda f, d: f(d, d, out=np.zeros(10, np.float32)), TypeError, "device array"),
    (lambda f, d: f(d, d, out=[1]), TypeError, "out"),
    (lambda f, d: f(d, d, out=(d, d)), ValueError, "tuple"),
    (lambda f, d: f(d, d, d, out=d), TypeError, "out"),
    (lambda f, d: f(d), TypeError, "argument"),
    (lambda f, d: f(d, d, d, d), TypeError, "argument"),
    (lambda f, d: f(d, d, axis=0), TypeError, "axis"),
    (lambda f, d: f(d, d, nonsense=1), TypeError, "nonsense"),
    (lambda f, d: f(d, d, order="Z"), ValueError, "order"),
    (lambda f, d: f(d, d, casting="odd"), ValueError, "casting"),
    (lambda f, d: f(d, cuda.to_device(np.ones(7))), ValueError, "broadcast"),
    (lambda f, d: f(d, d, stream="x"), TypeError, "stream"),
])
def test_refused(call, error, words):
    before = np.arange(10, dtype=np.float32)
    d = cuda.to_device(before)
    with pytest.raises(error, match=words):
        call(muladd, d)
    check(d, before)


def test_overlap():
    a = np.arange(2000, dtype=np.float64)
    add = lw.vectorize(lambda x, y: x + y)
    d = cuda.to_device(a)
    add(d[:-1], d[1:], out=d[1:])
    expected = a.copy()
    np.add(expected[:-1], expected[1:], out=expected[1:])
    check(d, expected)
    d = cuda.to_device(a)
    add(d, d[::-1], out=d)
    check(d, a + a[::-1])
    d = cuda.to_device(a)
    add(d, d, out=d)
    check(d, a + a)


def test_several_outputs():
    f = lw.vectorize(lambda x, y: (x + y, x < y, x // 2))
    a, b = data(1000, "int32", 1), data(1000, "int32", 2)
    results = f(cuda.to_device(a), cuda.to_device(b))
    for got, expected in zip(results, (a + b, a < b, a // 2)):
        check(got, expected)
    out = cuda.device_array(1000, np.bool_)
    assert f(cuda.to_device(a), cuda.to_device(b), out=(None, out, None))[1] is out
    check(out, a < b)


def test_order():
    a = np.asfortranarray(data((5, 7), "float32", 1))
    d = cuda.to_device(a)
    assert muladd(d, d).strides == (a * a).strides
    assert muladd(d, d, order="C").strides == (28, 4)
    assert muladd(d, d, order="F").strides == (4, 20)
    c = np.moveaxis(data((3, 4, 5), "float64", 1), 0, 1)
    moved = cuda.to_device(data((3, 4, 5), "float64", 1)).transpose((1, 0, 2))
    assert muladd(moved, moved).strides == (c * c).strides


@pytest.mark.parametrize("order", "KACF")
@pytest.mark.parametrize("left, right", [(left, right) for left in range(6) for right in range(6)])
def test_order_of_results(left, right, order):
    """The layout of results is NumPy's, also if the operands have different ones."""
    layouts = [((3, 4, 5), lambda x: x), ((5, 4, 3), lambda x: x.T), ((4, 3, 5), lambda x: x.transpose(1, 0, 2)),
               ((3, 4, 5), lambda x: x[:, ::-1]), ((3, 4, 5), lambda x: x[:, :1]), ((4, 5), lambda x: x)]
    (shape, view), (other_shape, other_view) = layouts[left], layouts[right]
    x, y = data(shape, "float64", 1), data(other_shape, "float64", 2)
    a, b = view(x), other_view(y)
    expected = np.add(a, b, order=order)
    result = lw.add(view(cuda.to_device(x)), other_view(cuda.to_device(y)), order=order)
    assert result.strides == expected.strides
    check(result, expected)


def test_order_of_results_beside_a_mask_and_an_output():
    a, mask = data(4, "float64", 1), np.ones((4, 3), bool).T
    expected = np.add(a, a, where=mask, out=None)
    d = cuda.to_device(a)
    assert lw.add(d, d, where=cuda.to_device(np.ones((4, 3), bool)).T, out=None).strides == expected.strides
    x = data((3, 4), "float64", 1) + 100
    out = np.zeros((4, 3)).T
    expected = np.divmod(x, x, out, None)[1]
    _, made = lw.divmod(cuda.to_device(x), cuda.to_device(x), cuda.to_device(np.zeros((4, 3))).T, None)
    assert made.strides == expected.strides
    check(made, expected)


@pytest.mark.parametrize("keywords", [{}, {"out": ...}])
def test_numbers_only(keywords):
    """target= decides that this runs on the device, though no array is there."""
    f = lw.vectorize(["dd->d"], target="cuda")(lambda x, y: x * y + x)
    g = lw.guvectorize("(),()->()", target="cuda")(lambda x, y: x * y + x)
    for h in (f, g):
        assert h(2.0, 5.0, **keywords) == 12.0
    assert type(f(2.0, 5.0)) is np.float64


@pytest.mark.parametrize("dtype", [">f8", "longdouble"])
def test_outputs_of_dtypes_that_kernels_do_not_have(dtype):
    f = lw.vectorize(["dd->d"], target="cuda")(lambda x, y: x * y + x)
    x, out = data(6, "float64", 1), np.zeros(6, dtype)
    assert f(x, x, out=out) is out
    np.testing.assert_array_equal(out.astype("d"), x * x + x)
    with pytest.raises(ValueError, match="non-broadcastable"):
        f(x, x, out=np.zeros(7, dtype))
    with pytest.raises(TypeError, match="casting"):
        f(x, x, out=out, casting="no")


def test_outputs_that_overlap():
    """The last output is written last."""
    both = lw.vectorize(["d->dd"])(lambda x: (x + 1, x * 100))
    x = data(1000, "float64", 1)
    for first, second in ((slice(0, 1000), slice(0, 1000)), (slice(0, 1000), slice(3, 1003)), (slice(3, 1003), slice(0, 1000))):
        out = cuda.to_device(np.zeros(1003))
        both(cuda.to_device(x), out=(out[first], out[second]))
        expected = np.zeros(1003)
        expected[first] = x + 1
        expected[second] = x * 100
        np.testing.assert_array_equal(out.copy_to_host(), expected)


@pytest.mark.parametrize("keywords, problem", [
    ({"casting": None}, TypeError), ({"subok": None}, TypeError), ({"signature": None}, TypeError), ({"axis": 0}, TypeError),
    ({"signature": "dd->d", "dtype": "d"}, TypeError), ({"out": (...,)}, TypeError)])
def test_keywords_that_numpy_refuses(keywords, problem):
    x = np.ones(3)
    with pytest.raises(problem):
        np.add(x, x, **keywords)
    with pytest.raises(problem):
        lw.add(cuda.to_device(x), cuda.to_device(x), **keywords)


def test_out_ellipsis():
    x = cuda.to_device(np.ones(3))
    check(lw.add(x, x, out=...), np.full(3, 2.0))


def test_dtype_and_signature():
    a = np.arange(10, dtype=np.float32)
    d = cuda.to_device(a)
    check(muladd(d, d, dtype=np.float64), reference(a.astype("f8"), a.astype("f8")))
    check(muladd(d, d, signature="dd->d"), reference(a.astype("f8"), a.astype("f8")))
    declared = lw.vectorize(["float64(float64, float64)", "float32(float32, float32)"])(lambda x, y: x * y)
    assert declared.types == ["ff->f", "dd->d"]
    check(declared(d, d), a * a)
    check(declared(cuda.to_device(a.astype(np.int16)), d), a * a)


@needs_kernels  # the fake driver's memory is the host's, and four gigabytes take a minute
def test_large():
    n = (1 << 31) + 5
    x = cuda.device_array(n, np.int8)
    x.fill(3)
    f = lw.vectorize(lambda v: v + np.int8(1))
    y = f(x)
    tail = y[-7:].copy_to_host()
    assert tail.tolist() == [4] * 7
    f(x[::2], out=y[::2])
    f(x[1::2], out=y[1::2])
    f(y[::2], out=y[::2])
    assert y[-6:].copy_to_host().tolist() == [4, 5] * 3
    assert y[:6].copy_to_host().tolist() == [5, 4] * 3


def test_streams_are_ordered():
    stream, other = cuda.stream(), cuda.stream()
    f = lw.vectorize(lambda x: x + 1)
    x = cuda.to_device(np.zeros(1 << 20))
    for _ in range(20):
        x = f(x, stream=stream)
        x = f(x, stream=other)
        x = f(x)
    assert set(np.unique(x.copy_to_host())) == {60.0}


def test_raise_reaches_python():
    @lw.vectorize
    def root(x):
        if x < 0:
            raise ValueError("negative input")
        return math.sqrt(x)

    good = cuda.to_device(np.arange(100.0))
    check(root(good), np.sqrt(np.arange(100.0)))
    bad = np.arange(100.0)
    bad[17] = -1
    with pytest.raises(ValueError, match="negative input.*element 17"):
        root(cuda.to_device(bad))
    check(root(good), np.sqrt(np.arange(100.0)))
    later = lw.vectorize(errors="defer")(root.py_func)
    result = later(cuda.to_device(bad))
    with pytest.raises(ValueError, match="negative input.*element 17"):
        result.copy_to_host()
    check(later(cuda.to_device(np.arange(100.0))), np.sqrt(np.arange(100.0)))


def test_threads_share_one_kernel():
    f = lw.vectorize(cache=False)(lambda x, y: x * 3 + y)
    a = cuda.to_device(np.arange(1000.0))
    barrier, results = threading.Barrier(8), []

    def work():
        barrier.wait()
        results.append(f(a, a).copy_to_host())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    for result in results:
        np.testing.assert_array_equal(result, np.arange(1000.0) * 4)


def test_host_arrays_with_target_cuda():
    f = lw.vectorize(target="cuda")(lambda x, y: x * 2 + y)
    a = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(f(a, 1), a * 2 + 1)
    out = np.zeros((2, 3))
    assert f(a, a, out=out) is out
    np.testing.assert_array_equal(out, a * 3)
    assert f(2.0, 3.0) == 7.0
    with pytest.raises(ValueError):
        f(a, a, out=np.zeros(3))
    with pytest.raises(TypeError):
        f(a, a, out=np.zeros((2, 3), np.int32))


@needs_kernels  # of another library, on memory that the fake driver does not have
def test_cupy():
    cupy = pytest.importorskip("cupy")
    a = cupy.arange(1000, dtype=cupy.float32).reshape(10, 100)
    result = muladd(a, a.T.copy().T)
    assert isinstance(result, cupy.ndarray)
    np.testing.assert_array_equal(cupy.asnumpy(result), reference(*[cupy.asnumpy(a)] * 2))
    out = cupy.empty_like(a)
    assert muladd(a, 2, out=out) is out
    np.testing.assert_array_equal(cupy.asnumpy(out), reference(cupy.asnumpy(a), 2))


@needs_kernels  # of another library, on memory that the fake driver does not have
def test_torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    a = torch.arange(1000, dtype=torch.float32, device="cuda").reshape(10, 100)
    result = muladd(a, a)
    assert isinstance(result, torch.Tensor) and result.is_cuda
    np.testing.assert_array_equal(result.cpu().numpy(), reference(*[a.cpu().numpy()] * 2))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        b = torch.ones(1 << 20, device="cuda") * 3
        c = muladd(b, b) + 1
    torch.cuda.synchronize()
    assert c.unique().tolist() == [13.0]


@needs_kernels  # nvdisasm comes with a toolkit
def test_inspection():
    f = lw.vectorize(["f4(f4, f4)"])(lambda x, y: x * y)
    assert ".entry" in f.inspect_ptx("f4(f4, f4)")
    resources = f.resources("f4(f4, f4)")
    assert 0 < resources["registers"] < 128 and resources["local_bytes"] == 0
    assert f.inspect_sass("f4(f4, f4)")


def test_numpy_operators():
    a = data((5, 6), "float64", 1)
    d = cuda.to_device(a)
    for got, expected in ((d + d, a + a), (d * 2 - 1, a * 2 - 1), (2 / (d + 100), 2 / (a + 100)),
                          (-d, -a), (abs(d), abs(a)), (d > 0, a > 0), (np.sqrt(abs(d)), np.sqrt(abs(a))),
                          (np.maximum(d, d.T.T), np.maximum(a, a)), (d // 3, a // 3), (d % 3, a % 3)):
        check(got, expected)


def test_leak():
    a = cuda.to_device(np.ones(1000))
    for _ in range(50):
        muladd(a, a)
    cuda.synchronize()
    taken = []
    for _ in range(3):  # other processes use the device, too: a leak shows each time
        before = cuda.current_context().get_memory_info().free
        for _ in range(2_000 if FAKE else 20_000):
            muladd(a, a)
        cuda.synchronize()
        taken.append(before - cuda.current_context().get_memory_info().free)
    assert min(taken) < 64 << 20, taken


@pytest.mark.parametrize("signature, args", [("f4(f4)", (1.5,)), ("i4(i4)", (3,)), ("i4(i4,i4)", (3, 4)), ("f4(f4,f4)", (3, 0.5))])
def test_python_numbers_alone_take_the_dtype_of_the_signature(signature, args):
    function = (lambda x: x * 2) if len(args) == 1 else (lambda x, y: x * y)
    f = lw.vectorize([signature], target="cuda")(function)
    result = f(*args)
    assert result.dtype == signature[:2] and result == function(*args)


@pytest.mark.parametrize("args", [(2**40, 1), (1, 2**40)])
def test_python_ints_alone_that_do_not_fit_the_signature(args):
    f, g = lw.vectorize(["i4(i4,i4)"], target="cuda")(lambda x, y: x + y), lw.vectorize(["i4(i4)"], target="cuda")(lambda x: x)
    with pytest.raises(OverflowError):
        f(*args)
    with pytest.raises(OverflowError):
        g(2**40)


def test_a_python_number_alone_in_a_gufunc():
    @lw.guvectorize(["void(i4, i4[:])"], "()->()", target="cuda")
    def twice(x, out):
        out[0] = x * 2

    assert twice(10) == 20
    with pytest.raises(OverflowError):
        twice(2**40)
