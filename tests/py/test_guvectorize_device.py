"""@guvectorize on device arrays against the host side of the same Gufunc. On the fake driver kernels run
on the simulator: there, what needs copies on the device (casts, overlap, odd results) is left out."""

import warnings

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE, needs_kernels
from lanewise import cuda

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("simulated"), pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")]


@lw.guvectorize("(m,n),(n)->(m)")
def matvec(a, x, y):
    for i in range(a.shape[0]):
        total = a[i, 0] * x[0] if a.shape[1] else x.dtype.type(0)
        for j in range(1, a.shape[1]):
            total += a[i, j] * x[j]
        y[i] = total


@lw.guvectorize("(n),(n)->()")
def dot(a, b):
    total = a[0] * b[0]
    for i in range(1, a.shape[0]):
        total += a[i] * b[i]
    return total


@lw.guvectorize("(n),()->(n),()")
def shift(x, by, y, last):
    for i in range(x.shape[0]):
        y[i] = x[i] + by
    last[0] = x[x.shape[0] - 1]


@lw.guvectorize("(3),(3)->(3)")
def cross(a, b, c):
    c[0] = a[1] * b[2] - a[2] * b[1]
    c[1] = a[2] * b[0] - a[0] * b[2]
    c[2] = a[0] * b[1] - a[1] * b[0]


@lw.guvectorize("(m),(n)->(m,n)")
def outer(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            out[i, j] = a[i] * b[j]


@lw.guvectorize("(n)->(n)")
def ordered(x, y):
    for i in range(x.shape[0]):
        k = i
        while k > 0 and y[k - 1] > x[i]:
            y[k] = y[k - 1]
            k -= 1
        y[k] = x[i]


@lw.guvectorize("(n,n)->(n,n)")
def cholesky(a, l):
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            l[i, j] = 0
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= l[i, k] * l[j, k]
            if i == j:
                l[i, j] = s**0.5
            else:
                l[i, j] = s / l[j, j]


@lw.guvectorize("(n)->()")
def positive(x, out):
    for i in range(x.shape[0]):
        if x[i] > 0:
            out[0] = x[i]


def data(shape, dtype="float32", seed=0):
    values = np.random.default_rng(seed).integers(-9, 9, shape)
    if np.dtype(dtype).kind == "c":
        return (values + 1j * np.roll(values, 1)).astype(dtype)
    return values.astype(dtype)


def check(function, *arrays, **keywords):
    """Check that host and device give the same arrays; in C order on the fake driver, which cannot copy other layouts back."""
    want = function(*arrays, **keywords)
    if FAKE:
        keywords["order"] = "C"
    got = function(*[cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in arrays], **keywords)
    for w, g in zip(want if isinstance(want, tuple) else (want,), got if isinstance(got, tuple) else (got,)):
        assert isinstance(g, cuda.DeviceArray)
        assert g.shape == np.shape(w) and g.dtype == w.dtype
        np.testing.assert_array_equal(g.copy_to_host(), w)
    return got


# ---- mappings: few and many items, small and large cores ----


@pytest.mark.parametrize("items", [0, 1, 7, 4096, 5000, 12345])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "int64", "complex64", "complex128"])
def test_cross(items, dtype):
    check(cross, data((items, 3), dtype, 1), data((items, 3), dtype, 2))


@pytest.mark.parametrize("m, n", [(3, 3), (1, 1), (4, 4), (2, 16), (16, 2), (3, 17), (40, 5)])
@pytest.mark.parametrize("items", [3, 4500])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_matvec(m, n, items, dtype):
    check(matvec, data((items, m, n), dtype, 1), data((items, n), dtype, 2))


def test_one_vector_for_all():
    check(matvec, data((5000, 3, 3), seed=1), data(3, seed=2))
    check(matvec, data((3, 3), seed=1), data((5000, 3), seed=2))
    check(outer, data(4, seed=1), data((4100, 2), seed=2))


@pytest.mark.parametrize("shapes", [((4, 1, 3, 3), (5, 3)), ((1, 6, 2, 3), (5, 1, 3)), ((70, 1, 3, 3), (80, 3)),
                                    ((2, 3, 4, 2, 2), (2,)), ((2, 2), (0, 2))])
def test_broadcast(shapes):
    check(matvec, data(shapes[0], seed=1), data(shapes[1], seed=2))


@pytest.mark.parametrize("items", [5, 6000])
def test_scalars(items):
    check(shift, data((items, 5)), data(items, seed=3))
    check(shift, data((items, 5)), 3)
    check(shift, data((items, 5), "int32"), 7)
    check(dot, data((items, 4)), data(4))


def test_outputs_read_by_the_body():
    a = data((4200, 4, 4), "float64", 1)
    a = a @ a.swapaxes(-1, -2) + 100 * np.eye(4)
    device = cholesky(cuda.to_device(a)).copy_to_host()
    np.testing.assert_allclose(device, np.linalg.cholesky(a), rtol=1e-12, atol=1e-12)
    check(ordered, data((4100, 6)))
    check(ordered, data((10, 40)))


# ---- large cores ----


@lw.guvectorize("(n)->(n)")
def centre(x, y):
    total = x[0]
    for i in range(1, x.shape[0]):
        total += x[i]
    mean = total / x.shape[0]
    for i in range(x.shape[0]):
        y[i] = x[i] - mean


@lw.guvectorize("(n)->(n),()")
def squares(x, y, last):
    for i in range(x.shape[0]):
        square = x[i] * x[i]
        if x[i] < 0:
            square = -square
        y[i] = square
    total = y[0] - y[0]
    for i in range(x.shape[0]):
        if y[i] > 0:
            total += y[x.shape[0] - 1 - i]
    last[0] = total
    last[0] += 1
    for i in range(x.shape[0]):
        y[i] += last[0]


@lw.guvectorize("(m,n)->(n),()")
def columns(a, sums, product):
    p = a[0, 0] - a[0, 0] + 1
    for j in range(a.shape[1]):
        total = a[0, j]
        for i in range(1, a.shape[0]):
            if a[i, j] > 5:
                continue
            total += a[i, j]
        sums[j] = total
        p -= total
    product[0] = p


@lw.guvectorize("(n)->(n)")
def running(x, y):
    total = x[0] - x[0]
    for i in range(x.shape[0]):
        total += x[i]
        y[i] = total


@lw.guvectorize("(n)->(n)")
def slices(x, y):
    y[:] = x
    if y[0] == 9:
        raise ValueError("nine")
    y[1:] = x[:-1]
    y[2:-1] = x[0]
    for i in range(1, x.shape[0]):
        y[i] -= 1


@lw.guvectorize("(n)->(n)")
def neighbours(x, y):
    for i in range(x.shape[0]):
        y[i] = x[i]
    for i in range(2, x.shape[0]):
        y[i] = y[i - 2] + x[i]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("shape", [(1, 512), (3, 1000), (2, 129), (70, 600), (2, 3, 700)])
def test_spread(shape, dtype):
    """A block computes each item of maps and sums over large cores."""
    x = data(shape, dtype, 1)
    check(squares, x)
    check(slices, np.minimum(x, 8))
    check(columns, data((2, 40, shape[-1]), dtype, 2))
    if dtype[0] == "f" and shape[-1] == 512:
        check(centre, x * shape[-1])  # the mean is exact
    x = x.astype("float64")
    got = centre(cuda.to_device(x)).copy_to_host()
    np.testing.assert_allclose(got, x - x.mean(-1, keepdims=True), atol=1e-9)


def test_spread_matvec():
    check(matvec, data((3, 200, 40), "float64", 1), data((3, 40), "float64", 2))
    check(matvec, data((3, 40, 200), "int32", 1), data((1, 200), "int32", 2))
    check(outer, data((2, 40), "float32", 1), data((2, 50), "float32", 2))


def test_spread_on_views():
    x = data((4, 900, 6), "float64", 3)
    want = squares(x.transpose(0, 2, 1)[:, ::2, ::-1])
    got = squares(cuda.to_device(x).transpose(0, 2, 1)[:, ::2, ::-1], order="C")
    for w, g in zip(want, got):
        np.testing.assert_array_equal(g.copy_to_host(), w)


def test_what_spreads():
    assert all(f.resources("d->d" if f in (centre, slices) else "d->dd", "sm_90")["large_cores"] == "block per item"
               for f in (centre, slices, squares, columns))
    assert matvec.resources("dd->d", "sm_90")["large_cores"] == "block per item"
    assert running.resources("d->d", "sm_90")["large_cores"] == "block per item"
    first = neighbours.py_func.__code__.co_firstlineno
    for f, why in ((neighbours, f"{first + 4}: in line {first + 5} iterations may"), (ordered, "iterations may")):
        told = f.resources("d->d", "sm_90")["large_cores"]
        assert told.startswith("thread per item, staged through shared memory up to 8 KB an item: the loop in line") and why in told, told


def test_warning():
    again = lw.guvectorize("(n)->(n)")(neighbours.py_func)
    x = data((3, 600), "float64", 1)
    with pytest.warns(lw.errors.PerformanceWarning, match=r"3 items .* the loop in line \d+ of .*_device\.py: in line \d+ iterations") as seen:
        got = again(cuda.to_device(x))
    assert seen[0].filename == __file__
    np.testing.assert_array_equal(got.copy_to_host(), again(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again(cuda.to_device(x))
        centre(cuda.to_device(x))
        running(cuda.to_device(x))


# ---- strides ----


@pytest.mark.parametrize("items", [6, 4200])
@pytest.mark.parametrize("view", [lambda x: x[::2], lambda x: x[::-1], lambda x: x[:, ::-1], lambda x: x.transpose(0, 2, 1),
                                  lambda x: x[:, :3, 1:4], lambda x: x.transpose(2, 0, 1)[:3]])
def test_views(view, items):
    host = data((items, 4, 5), seed=4)
    vector = data(view(host).shape[-1], seed=5)
    want = matvec(view(host), vector)
    got = matvec(view(cuda.to_device(host)), cuda.to_device(vector), order="C")
    np.testing.assert_array_equal(got.copy_to_host(), want)


@pytest.mark.parametrize("items", [6, 4200])
def test_unaligned(items):
    """The addresses of operands are no multiples of 16 bytes."""
    a, b = data(items * 3 + 1, seed=1), data(items * 3 + 3, seed=2)
    want = cross(a[1:].reshape(items, 3), b[3:].reshape(items, 3))
    got = cross(cuda.to_device(a)[1:].reshape(items, 3), cuda.to_device(b)[3:].reshape(items, 3))
    np.testing.assert_array_equal(got.copy_to_host(), want)


# ---- out ----


@pytest.mark.parametrize("items", [6, 4200])
def test_out(items):
    a, b = data((items, 3), seed=1), data((items, 3), seed=2)
    x, y = cuda.to_device(a), cuda.to_device(b)
    for give in (lambda o: cross(x, y, o), lambda o: cross(x, y, out=o), lambda o: cross(x, y, out=(o,))):
        out = cuda.to_device(np.zeros((items, 3), "float32"))
        assert give(out) is out
        np.testing.assert_array_equal(out.copy_to_host(), cross(a, b))
    base = cuda.to_device(np.full((items, 6), 7, "float32"))
    cross(x, y, out=base[:, ::2])
    want = np.full((items, 6), 7, "float32")
    want[:, ::2] = cross(a, b)
    np.testing.assert_array_equal(base.copy_to_host(), want)


def test_out_of_several():
    x = data((9, 4), seed=1)
    y = cuda.to_device(np.zeros((9, 4), "float32"))
    got = shift(cuda.to_device(x), 2, out=(y, None))
    assert got[0] is y
    np.testing.assert_array_equal(y.copy_to_host(), x + 2)
    np.testing.assert_array_equal(got[1].copy_to_host(), x[:, -1])


@pytest.mark.parametrize("items", [6, 4200])
def test_what_is_not_written_stays(items):
    """As on the host, elements of `out` that the body does not write keep their values."""
    x = data((items, 3), seed=1)
    start = data(items, seed=9)
    want = positive(x, start.copy())
    out = cuda.to_device(start)
    positive(cuda.to_device(x), out)
    np.testing.assert_array_equal(out.copy_to_host(), want)

    @lw.guvectorize("(n)->(n)")
    def some(x, y):
        for i in range(x.shape[0]):
            if x[i] > 0:
                y[i] = x[i]

    start = data((items, 3), seed=9)
    want = some(x, start.copy())
    out = cuda.to_device(start)
    some(cuda.to_device(x), out)
    np.testing.assert_array_equal(out.copy_to_host(), want)


def test_out_broadcasts_the_loop():
    x, y = data((5, 3), seed=1), data(3, seed=2)
    out = cuda.to_device(np.zeros((2, 5, 3), "float32"))
    cross(cuda.to_device(x), cuda.to_device(y), out=out)
    np.testing.assert_array_equal(out.copy_to_host(), np.broadcast_to(cross(x, y), (2, 5, 3)))


@pytest.mark.parametrize("loop, given", [((1,), ()), ((1, 1), (1,)), ((1, 1), ()), ((1, 4), (4,)), ((2,), ()), ((1, 4), ()), ((1, 4), (2, 1))])
def test_out_without_leading_dimensions(loop, given):
    """An output may lack leading loop dimensions of size 1, as NumPy's may, and no others."""
    x, y = data((*loop, 3), seed=1), data(3, seed=2)
    out = np.zeros((*given, 3), "float32")
    device = cuda.to_device(out)
    try:
        cross(x, y, out=out)
    except ValueError:
        with pytest.raises(ValueError, match="non-broadcastable output operand 0"):
            cross(cuda.to_device(x), cuda.to_device(y), out=device)
    else:
        assert out.any()
        assert cross(cuda.to_device(x), cuda.to_device(y), out=device) is device
    np.testing.assert_array_equal(device.copy_to_host(), out)


@pytest.mark.parametrize("order", "KCFA")
def test_order(order):
    x = np.asfortranarray(data((4, 5, 3), "float64"))
    v, a = data(3, "float64"), data((3, 3), "float64")
    d, dv, da = cuda.to_device(x), cuda.to_device(v), cuda.to_device(a)
    for want, got in ((cross(x, v, order=order), cross(d, dv, order=order)),
                      (cross(x.T[:3].T, v, order=order), cross(d.T[:3].T, dv, order=order)),
                      (dot(x, v, order=order), dot(d, dv, order=order)),
                      (matvec(a, x, order=order), matvec(da, d, order=order))):
        assert got.strides == want.strides


# ---- axes, axis, keepdims ----


def test_axes():
    a, x = data((2, 3, 7), seed=1), data((3, 7), seed=2)
    check(matvec, a, x, axes=[(0, 1), 0, 0])
    check(matvec, a, x, axes=[(0, 1), (0,), (-1,)])
    check(matvec, data((3, 7, 3), seed=3), data((7, 3), seed=2), axes=[(2, 0), 1, 1])
    check(cross, data((3, 5000), seed=3), data((3, 5000), seed=2), axis=0)
    check(dot, data((5, 4), seed=1), data((5, 4), seed=2), axis=0)
    check(dot, data((5, 4), seed=1), data((5, 4), seed=2), axis=0, keepdims=True)
    check(dot, data((5, 4, 2), seed=1), data((4, 2), seed=2), axes=[1, 0], keepdims=True)
    check(dot, data((5, 4), seed=1), data(4, seed=2), axes=[1, 0, ()])
    check(dot, data((5, 4), seed=1), data(4, seed=2), keepdims=True)


BAD = [
    (lambda x, y: cross(x, y[:, :2]), ValueError, "core dimension 0"),
    (lambda x, y: cross(x, y[:4]), ValueError, "could not be broadcast"),
    (lambda x, y: cross(x, 1.0), ValueError, "does not have enough dimensions"),
    (lambda x, y: cross(x, y, where=True), TypeError, "where"),
    (lambda x, y: cross(x, y, nothing=1), TypeError, "nothing"),
    (lambda x, y: cross(x), TypeError, "from 2 to 3"),
    (lambda x, y: cross(x, y, out=(x, y)), ValueError, "out"),
    (lambda x, y: cross(x, y, out=np.zeros((6, 3), "f4")), TypeError, "device array"),
    (lambda x, y: cross(x, y, out=x[:5]), ValueError, "broadcast"),
    (lambda x, y: cross(x, y, out=x[:, :2]), ValueError, "core dimension 0"),
    (lambda x, y: cross(x, y, x, out=x), TypeError, "both"),
    (lambda x, y: cross(x, y, axes=3), TypeError, "axes should be a list"),
    (lambda x, y: cross(x, y, axes=[0]), ValueError, "axes should be a list"),
    (lambda x, y: cross(x, y, axes=[5, 0, 0]), np.exceptions.AxisError, "axis 5"),
    (lambda x, y: cross(x, y, axes=[(0, 1), 0, 0]), np.exceptions.AxisError, "axes tuple"),
    (lambda x, y: cross(x, y, axes=[1.5, 0, 0]), TypeError, "integer"),
    (lambda x, y: cross(x, y, axis=2), np.exceptions.AxisError, "axis 2"),
    (lambda x, y: cross(x, y, axis=0, axes=[0, 0, 0]), TypeError, "both"),
    (lambda x, y: cross(x, y, keepdims=True), TypeError, "keepdims"),
    (lambda x, y: dot(x, y, keepdims=1), TypeError, "boolean"),
    (lambda x, y: matvec(x, y, axis=0), TypeError, "axis can only be used"),
    (lambda x, y: matvec(x.reshape(2, 3, 3), y, axes=[(0, 0), 1, 1]), ValueError, "repeated"),
    (lambda x, y: cross(x, y, order="Q"), ValueError, "order"),
    (lambda x, y: cross(x, y, subok=1), TypeError, "subok"),
    (lambda x, y: cross(x, y, out=cuda.to_device(np.zeros((6, 3), "i4"))), TypeError, "cast"),
]


@pytest.mark.parametrize("call, error, words", BAD)
def test_bad_calls(call, error, words):
    x, y = data((6, 3), seed=1), data((6, 3), seed=2)
    device = cuda.to_device(x)
    with pytest.raises(error, match=words):
        call(device, cuda.to_device(y))
    np.testing.assert_array_equal(device.copy_to_host(), x)


@pytest.mark.parametrize("call", [
    lambda f, x, y: f(x, y[:, :2]), lambda f, x, y: f(x, y[:4]), lambda f, x, y: f(x, 1.0),
    lambda f, x, y: f(x, y, out=x[:, :2]), lambda f, x, y: f(x, y, axes=3), lambda f, x, y: f(x, y, axes=[0]),
    lambda f, x, y: f(x, y, axes=[5, 0, 0]), lambda f, x, y: f(x, y, axis=2), lambda f, x, y: f(x, y, axes=[(0, 1), 0, 0])])
def test_words_of_numpy(call):
    """The same exception as NumPy's own on the host, word for word but for shapes' remapping."""
    x, y = data((6, 3), seed=1), data((6, 3), seed=2)
    with pytest.raises(Exception) as host:
        call(cross, x, y)
    with pytest.raises(type(host.value)) as device:
        call(cross, cuda.to_device(x), cuda.to_device(y))
    if "remapped" not in str(host.value):
        assert str(device.value) == str(host.value)


# ---- layouts beyond names ----


@lw.guvectorize("(n|1),(n|1)->(n)")
def stretched(a, b, out):
    for i in range(out.shape[0]):
        out[i] = a[i] + 2 * b[i]


@lw.guvectorize("(m?,n),(n,p?)->(m?,p?)")
def product(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = a[i, 0] - a[i, 0]
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            out[i, j] = total


@lw.guvectorize("(m),(n)->(k)", sizes={"k": lambda m, n: m + n - 1})
def convolve(a, b, out):
    for i in range(out.shape[0]):
        out[i] = 0
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            out[i + j] += a[i] * b[j]


@pytest.mark.parametrize("items", [5, 4200])
def test_marks(items):
    one, three = data((items, 1), seed=1), data((items, 3), seed=2)
    for a, b in ((one, three), (three, one), (three, three), (one, one), (three[0], one)):
        check(stretched, a, b)
    with pytest.raises(ValueError, match="core dimension 0"):
        stretched(cuda.to_device(three), cuda.to_device(three[:, :2]))
    a, b = data((items, 2, 3), seed=1), data((items, 3, 4), seed=2)
    check(product, a, b)
    check(product, data((2, 3), seed=3), data(3, seed=4))
    check(product, data(3, seed=3), data(3, seed=4))
    check(product, data(3, seed=3), b)
    check(convolve, data((items, 4), seed=1), data((items, 3), seed=2))
    check(convolve, data((items, 4), seed=1), data(2, seed=2))
    out = cuda.to_device(np.ones((items, 6), "float32"))
    convolve(cuda.to_device(a[:, 0]), cuda.to_device(b[:, 0]), out)
    np.testing.assert_array_equal(out.copy_to_host(), convolve(a[:, 0], b[:, 0]))


@pytest.mark.parametrize("items", [5, 4200])
def test_writable_inputs(items):
    @lw.guvectorize("(n),()->(n)", writable_args=(0,))
    def swap(x, y, out):
        for i in range(x.shape[0]):
            out[i] = x[i]
            x[i] = y

    x, y = data((items, 3), seed=1), data(items, seed=2)
    device = cuda.to_device(x)
    out = swap(device, cuda.to_device(y))
    np.testing.assert_array_equal(out.copy_to_host(), x)
    np.testing.assert_array_equal(device.copy_to_host(), np.broadcast_to(y[:, None], x.shape))


@needs_kernels
def test_raises():
    @lw.guvectorize("(n)->()")
    def root(x, out):
        total = x[0]
        for i in range(1, x.shape[0]):
            total += x[i]
        if total < 0:
            raise ValueError("negative")
        out[0] = total**0.5

    x = np.ones((5000, 4), "float64")
    np.testing.assert_array_equal(root(cuda.to_device(x)).copy_to_host(), 2)
    x[777] = -1
    with pytest.raises(ValueError, match="negative") as raised:
        root(cuda.to_device(x))
    assert raised.value.index == root_index(root, x)


def root_index(function, x):
    """The error that the host raises."""
    with pytest.raises(ValueError) as raised:
        function(x)
    return raised.value.index


# ---- casts, overlap, libraries ----


@needs_kernels
def test_casts():
    declared = lw.guvectorize(["(f8[:],f8[:],f8[:])"], "(3),(3)->(3)")(cross.py_func)
    a, b = data((50, 3), "int32", 1), data((50, 3), "float32", 2)
    check(declared, a, b)
    out = cuda.to_device(np.zeros((50, 3), "float32"))
    assert declared(cuda.to_device(a), cuda.to_device(b), out=out) is out
    np.testing.assert_array_equal(out.copy_to_host(), declared(a, b).astype("float32"))
    check(cross, a, b, dtype="float64")
    check(cross, a, a.astype("int64"))


def test_copies_are_made():
    """The numbers are not compared, so this runs without kernels, too."""
    declared = lw.guvectorize(["(f8[:],f8[:],f8[:])"], "(3),(3)->(3)")(cross.py_func)
    x, y = cuda.to_device(data((50, 3), "int32", 1)), cuda.to_device(data((50, 3), "float32", 2))
    assert declared(x, y).dtype == "float64"
    assert declared(x, y, out=y) is y
    assert declared(x, x, casting="safe").dtype == "float64"
    with pytest.raises(TypeError, match="cast"):
        declared(x, y, out=x)
    both = cuda.to_device(data((51, 3), "float32", 3))
    assert cross(both[:-1], both[1:], out=both[:-1]).shape == (50, 3)
    shift(both, 1, out=(both, both[:, 0]))


@needs_kernels
@pytest.mark.parametrize("items", [5, 5000])
def test_overlap(items):
    host = data((items + 1, 3), seed=1)
    for into, of in ((slice(0, -1), slice(1, None)), (slice(1, None), slice(0, -1)), (slice(0, -1), slice(0, -1))):
        want, device = host.copy(), cuda.to_device(host)
        want[into] = cross(host[of].copy(), host[:-1].copy())
        cross(device[of], device[:-1], out=device[into])
        np.testing.assert_array_equal(device.copy_to_host(), want)


@needs_kernels
def test_two_outputs_in_one_array():
    x = data((9, 4), seed=1)
    whole = np.zeros((9, 4), "float32")
    want = whole.copy()
    shift(x, 2, out=(want, want[:, 0]))
    device = cuda.to_device(whole)
    shift(cuda.to_device(x), 2, out=(device, device[:, 0]))
    np.testing.assert_array_equal(device.copy_to_host()[:, 1:], want[:, 1:])


@pytest.mark.parametrize("library", ["torch", "cupy"])
@needs_kernels
def test_libraries(library):
    module = pytest.importorskip(library)
    x, y = data((50, 3), seed=1), data((50, 3), seed=2)
    if library == "torch":
        got = cross(module.from_numpy(x).cuda(), module.from_numpy(y).cuda())
        assert isinstance(got, module.Tensor)
        got = got.cpu().numpy()
    else:
        got = cross(module.asarray(x), module.asarray(y))
        assert isinstance(got, module.ndarray)
        got = got.get()
    np.testing.assert_array_equal(got, cross(x, y))
    declared = lw.guvectorize(["(f8[:],f8[:],f8[:])"], "(3),(3)->(3)")(cross.py_func)
    theirs = module.from_numpy(x).cuda() if library == "torch" else module.asarray(x)
    out = theirs * 0
    got = declared(theirs, cuda.to_device(y))  # the first operand is copied, its library stays
    assert isinstance(got, type(theirs))
    assert declared(theirs, theirs + 1, out=out) is out
    want = declared(x, x + 1).astype("float32")
    np.testing.assert_array_equal(out.cpu().numpy() if library == "torch" else out.get(), want)


def test_stream():
    stream = cuda.stream()
    x, y = data((50, 3), seed=1), data((50, 3), seed=2)
    got = cross(cuda.to_device(x), cuda.to_device(y), stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(got.copy_to_host(), cross(x, y))


def test_host_arrays_beside_device_arrays():
    x, y = data((50, 3), seed=1), data((50, 3), seed=2)
    np.testing.assert_array_equal(cross(cuda.to_device(x), y).copy_to_host(), cross(x, y))


def test_target_cuda():
    forced = lw.guvectorize("(3),(3)->(3)", target="cuda")(cross.py_func)
    x, y = data((50, 3), seed=1), data((50, 3), seed=2)
    got = forced(x, y)
    assert isinstance(got, np.ndarray)
    np.testing.assert_array_equal(got, cross(x, y))
    out = np.zeros((50, 3), "float32")
    assert forced(x, y, out=out) is out
    np.testing.assert_array_equal(out, cross(x, y))


def test_resources():
    told = cross.resources("ff->f", "sm_90")
    assert "staged" in told["mapping"] and told["shared_bytes"] > 0 and told["core_sizes"] == {"3": 3}


# ---- anything at all ----

CASES = [(matvec, "mn,n->m"), (dot, "n,n->"), (cross, "n,n->n"), (outer, "m,n->mn"), (ordered, "n->n")]


def random_operand(rng, core, loop, sizes, dtype):
    """A host array and how to view it: some loop dimensions have size 1, axes are in any order, and there are steps."""
    kept = loop[rng.integers(0, len(loop) + 1):]
    shape = [1 if rng.random() < 0.25 else n for n in kept] + [sizes[c] for c in core]
    order = rng.permutation(len(shape)) if not FAKE or rng.random() < 0.7 else np.arange(len(shape))
    steps = [int(rng.choice([1, 1, 2, -1])) for _ in shape]
    base = data([shape[k] * abs(steps[k]) for k in order], dtype, int(rng.integers(1 << 30)))

    def view(x):
        x = x.transpose(tuple(int(k) for k in np.argsort(order)))
        return x[tuple(slice(None, None, s) for s in steps)]

    return base, view


@pytest.mark.parametrize("seed", range(60))
def test_anything(seed):
    rng = np.random.default_rng(seed)
    function, layout = CASES[rng.integers(len(CASES))]
    dtype = str(rng.choice(["float32", "float64", "int32", "int8"]))
    ins = layout.split("->")[0].split(",")
    sizes = {c: 3 if function is cross else int(rng.choice([1, 2, 3, 5, 16, 17, 30])) for c in "mn"}
    loop = [int(n) for n in rng.choice([1, 2, 3, 7, 0, 20, 65], rng.integers(0, 4), p=[.2, .2, .2, .2, .02, .1, .08])]
    made = [random_operand(rng, core, loop, sizes, dtype) for core in ins]
    want = function(*[view(base) for base, view in made])
    got = function(*[view(cuda.to_device(base)) for base, view in made], order="C")
    assert got.shape == np.shape(want) and got.dtype == want.dtype
    np.testing.assert_array_equal(got.copy_to_host(), want)


@pytest.mark.parametrize("keywords", [
    {"keepdims": False}, {"keepdims": True}, {"signature": None}, {"sig": None}, {"casting": None}, {"casting": "foo"},
    {"axis": 9, "casting": "foo"}, {"axes": [(0,), (7,), ()], "casting": "foo"}, {"signature": "dd->d", "dtype": "d"},
    {"keepdims": False, "casting": 3}], ids=str)
@pytest.mark.parametrize("function", [dot, outer], ids=["dot", "outer"])
def test_mistakes_as_numpy(function, keywords):
    """The error is about the mistake that NumPy would find first, in its words."""
    def outcome(*arrays):
        try:
            return function(*arrays, **keywords).shape
        except (TypeError, ValueError) as error:
            return type(error), str(error)

    x = data((3, 4), "float64", 1)
    assert outcome(cuda.to_device(x), cuda.to_device(x)) == outcome(x, x)


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
def test_strides_of_new_outputs(order):
    """They are those of NumPy's outputs, also with axes=."""
    calls = [(dot, {"axis": 0}), (dot, {"axis": 1, "keepdims": True}), (cross, {"axes": [(0,), (1,), (2,)]}), (cross, {"axis": 0}),
             (outer, {}), (outer, {"axes": [(0,), (1,), (0, 2)]}), (outer, {"axes": [(2,), (0,), (3, 1)]})]
    for axes in ((0, 1, 2), (2, 0, 1), (1, 0, 2), (2, 1, 0)):
        x = data((3, 3, 3), "float64", 1)
        host, device = x.transpose(axes), cuda.to_device(x).transpose(axes)
        for function, keywords in calls:
            want, got = function(host, host, order=order, **keywords), function(device, device, order=order, **keywords)
            assert got.strides == want.strides, (axes, keywords)
            np.testing.assert_array_equal(got.copy_to_host(), want)
