"""reduce, accumulate, reduceat, outer and at of ufuncs on device arrays.

The functions behind them also take what stands for device arrays where the setting `target` says "cpu": so they are
compared with NumPy without a GPU. On a device, or the fake driver, the calls themselves are tried."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE, needs_device, needs_kernels
from lanewise import _ufunc_methods as methods
from lanewise import cuda

ASSOCIATIVE = ["add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or",
               "bitwise_xor", "logaddexp", "hypot", "gcd", "fmax"]
OTHERS = ["subtract", "divide", "less", "copysign"]
DTYPES = ["?", "i1", "u1", "i4", "f2", "f4", "f8"]
mixed = lw.vectorize(lambda a, b: a * 2 - b)
smooth = lw.vectorize(lambda a, b: a * 0.5 + b)
largest = lw.vectorize(lambda a, b: max(a, b), identity="reorderable")


@pytest.fixture
def host():
    if FAKE:
        pytest.skip("has nothing to do with the driver")
    with lw.config(target="cpu"):
        yield


def some(shape, dtype):
    return (np.arange(1, 1 + np.prod(shape)).reshape(shape) % 5 + 1).astype(dtype)


def outcome(call):
    try:
        return np.asarray(call())
    except Exception as error:
        return type(error)


def same(got, wanted):
    if isinstance(wanted, type) or isinstance(got, type):
        assert isinstance(got, type) and isinstance(wanted, type), (got, wanted)
        return
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=2e-3 if wanted.dtype.char == "e" else 1e-5)


CALLS = [{}, {"axis": -1}, {"axis": None}, {"axis": 1}, {"keepdims": True}, {"initial": 1}, {"dtype": "f8"}, {"axis": (0,)}, {"axis": (0, 1)}]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ASSOCIATIVE + OTHERS)
def test_reduce_as_numpy(name, dtype, host):
    ours, numpys = getattr(lw, name), getattr(np, name)
    for shape in ((5,), (3, 4), (0, 3)):
        x = some(shape, dtype)
        for keywords in CALLS:
            with np.errstate(all="ignore"):
                wanted = outcome(lambda: numpys.reduce(x, **keywords))
            same(outcome(lambda: methods.reduce(ours, cuda.to_device(x), **keywords)), wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ASSOCIATIVE + OTHERS)
def test_accumulate_and_reduceat_as_numpy(name, dtype, host):
    ours, numpys = getattr(lw, name), getattr(np, name)
    for shape in ((5,), (3, 4), (4, 3, 2)):
        x = some(shape, dtype)
        for axis in range(len(shape)):
            for keywords in ({"axis": axis}, {"axis": axis - len(shape), "dtype": "f4"}):
                with np.errstate(all="ignore"):
                    wanted = outcome(lambda: numpys.accumulate(x, **keywords)), outcome(lambda: numpys.reduceat(x, [0, 2, 1], **keywords))
                same(outcome(lambda: methods.accumulate(ours, cuda.to_device(x), **keywords)), wanted[0])
                same(outcome(lambda: methods.reduceat(ours, cuda.to_device(x), [0, 2, 1], **keywords)), wanted[1])


@pytest.mark.parametrize("ufunc", [mixed, smooth, largest, lw.vectorize(["f4(f4, f4)", "f8(f8, f8)"])(lambda a, b: a + b)])
def test_own_functions_do_as_on_the_host(ufunc, host):
    for dtype in ("i1", "i4", "f4", "f8"):
        for shape in ((7,), (3, 4)):
            x = some(shape, dtype)
            for keywords in CALLS:
                same(outcome(lambda: methods.reduce(ufunc, cuda.to_device(x), **keywords)), outcome(lambda: ufunc.reduce(x, **keywords)))
            same(outcome(lambda: methods.accumulate(ufunc, cuda.to_device(x))), outcome(lambda: ufunc.accumulate(x)))
            same(outcome(lambda: methods.reduceat(ufunc, cuda.to_device(x), [1, 0])), outcome(lambda: ufunc.reduceat(x, [1, 0])))


@pytest.mark.parametrize("name", ["add", "maximum", "subtract"])
def test_where_and_out(name, host):
    x, mask = some((5, 6), "f4"), np.arange(30).reshape(5, 6) % 3 > 0
    ours, numpys = getattr(lw, name), getattr(np, name)
    for axis in (0, 1):
        for where in (mask, mask[:1], mask[:, :1]):
            same(np.asarray(methods.reduce(ours, cuda.to_device(x), axis, where=where, initial=2)), numpys.reduce(x, axis, where=where, initial=2))
    out = cuda.device_array(6, "f8")
    assert methods.reduce(ours, cuda.to_device(x), out=(out,)) is out
    same(np.asarray(out), numpys.reduce(x, dtype="f8"))
    out = cuda.device_array((5, 6), "f4")
    assert methods.accumulate(ours, cuda.to_device(x), 1, out=out) is out
    same(np.asarray(out), numpys.accumulate(x, 1))


def test_strict_folds_are_numpys_bits(host):
    x = np.random.default_rng(1).random((3, 100)).astype("f4")
    assert np.array_equal(np.asarray(methods.reduce(lw.subtract, cuda.to_device(x), 1)), np.subtract.reduce(x, 1))
    assert np.array_equal(np.asarray(methods.accumulate(mixed, cuda.to_device(x), 1)), mixed.accumulate(x, 1))


def test_folds_of_functions_that_are_not_associative(host):
    x = np.array([[2.0, 3, 2], [1.5, 2, 3]])  # NumPy's own vector loops of these two fold wrongly
    assert np.asarray(methods.reduce(lw.power, cuda.to_device(x), 1)) == pytest.approx([64, 1.5**6])
    assert np.asarray(methods.reduce(lw.arctan2, cuda.to_device(x), 1)) == pytest.approx(np.arctan2(np.arctan2(x[:, 0], x[:, 1]), x[:, 2]))
    for reduced in (None, (0, 1)):
        with pytest.raises(ValueError, match="'power' is not reorderable"):
            methods.reduce(lw.power, cuda.to_device(x), reduced)


SUMS = {"f4": 2e-6, "f8": 4e-15, "c8": 2e-6, "c16": 4e-15}


@pytest.mark.parametrize("dtype", SUMS)
@pytest.mark.parametrize("n", [255, 256, 258, 2047, 2048, 2049, 100_001, 1_000_000])
def test_sums_on_the_host_are_as_accurate_as_numpys(dtype, n):
    plus = lw.vectorize(lambda a, b: a + b)
    x = np.full(n, 0.1 + 0.3j if dtype[0] == "c" else 0.1, dtype)
    got = plus.reduce(x)
    assert abs(complex(got) / (complex(x[0]) * n) - 1) < SUMS[dtype] * (1 if n > 256 else 100)
    others = np.repeat(x, 3)[::3], x[::-1], x.reshape(1, n)[0]  # the bits depend on n alone
    assert [plus.reduce(other) for other in others] == [got] * 3
    assert plus.reduce(np.stack([x, x]), axis=1).tolist() == [got] * 2
    assert plus.reduceat(x, [0]).tolist() == [got]
    assert np.array_equal(plus.accumulate(x), np.add.accumulate(x))  # from left to right, as ever


FOLDS = {"add": lambda a, b: a + b, "multiply": lambda a, b: a * b, "subtract": lambda a, b: a - b, "maximum": lambda a, b: np.maximum(a, b),
         "minimum": lambda a, b: np.minimum(a, b), "bitwise_and": lambda a, b: a & b, "bitwise_xor": lambda a, b: a ^ b}


@pytest.mark.parametrize("dtype", "bBhHiIlLfdFD")
@pytest.mark.parametrize("name", FOLDS)
def test_folds_on_the_host_as_numpy(name, dtype):
    if dtype in "fdFD" and name.startswith("bitwise"):
        return
    ufunc, theirs = lw.vectorize(FOLDS[name]), getattr(np, name)
    rng = np.random.default_rng(1)
    for n in (1, 5, 63, 64, 65, 256, 300, 2049, 140_000):
        x = (rng.integers(-100, 100, n) / 64 if dtype in "fdFD" else rng.integers(0, 100, n)).astype(dtype)
        for view in (x, np.repeat(x, 2)[::2], x[::-1]):
            with np.errstate(all="ignore"):
                got, wanted = ufunc.reduce(view), theirs.reduce(view, dtype=dtype)
                np.testing.assert_allclose(got, wanted, rtol=1e-3 if dtype in "fF" else 1e-11, atol=1e-4 if dtype in "fF" else 1e-10)
                assert got.dtype == wanted.dtype
                if dtype not in "FD":
                    assert np.array_equal(ufunc.accumulate(view), theirs.accumulate(view, dtype=dtype), equal_nan=dtype in "fd")


def test_folds_on_the_host_that_depend_on_the_order():
    """A NaN vanishes after the next number, so neither lanes nor blocks can be used."""
    larger = lw.vectorize(lambda a, b: a if a > b else b)
    x = np.random.default_rng(1).random(300_000)
    x[200_000] = np.nan
    wanted = x[200_001:].max()
    with np.errstate(invalid="ignore"):
        assert larger.reduce(x) == wanted and larger.accumulate(x)[-1] == wanted
        x[0] = np.nan
        assert larger.reduce(x[:200_000]) == x[1:200_000].max()


@pytest.mark.parametrize("method", ["reduce", "accumulate"])
def test_folds_on_the_host_name_the_element_that_raises(method):
    def positive(a, b):
        if b < 0:
            raise ValueError("negative")
        return a + b

    ufunc = lw.vectorize(positive)
    x = np.ones(300_000, np.int64)
    x[[201_235, 250_000]] = -1
    for _ in range(2):
        with pytest.raises(ValueError, match="element 201234"):
            getattr(ufunc, method)(x)


def test_no_dimension(host):
    zero = cuda.to_device(np.float32(5))
    for ufunc in (lw.add, lw.subtract):
        for axis in (0, -1, None):
            assert float(methods.reduce(ufunc, zero, axis)) == 5
        with pytest.raises(TypeError, match="cannot accumulate on a scalar"):
            methods.accumulate(ufunc, zero)
        with pytest.raises(TypeError, match="cannot reduceat on a scalar"):
            methods.reduceat(ufunc, zero, [0])


def test_outer_and_at(host):
    a, b = some(3, "f4"), some((2, 2), "f4")
    same(np.asarray(methods.outer(lw.multiply, cuda.to_device(a), cuda.to_device(b))), np.multiply.outer(a, b))
    for name in ("add", "subtract", "maximum", "minimum", "fmax", "fmin", "bitwise_xor"):
        x = np.arange(6)
        device = cuda.to_device(x)
        methods.at(getattr(lw, name), device, [0, 0, -1, 3], [7, 1, 2, 9])
        getattr(np, name).at(x, [0, 0, -1, 3], [7, 1, 2, 9])
        assert device.tolist() == x.tolist()


@pytest.mark.parametrize("indices", [
    2, -1, (), (1, 2), slice(None, None, 2), ([0, 0, 3], [1, 1, -1]), ([[0], [3]], [1, 1]), np.arange(4) % 2 == 0, (Ellipsis, [0, 0]), np.zeros(0, int),
], ids=str)
def test_at_takes_numpys_indices(indices, host):
    for x in (np.arange(24).reshape(4, 6), np.arange(96).reshape(8, 12)[::2, ::-2]):
        device, wanted = cuda.to_device(x), x.copy()
        methods.at(lw.add, device, indices, 5)
        np.add.at(wanted, indices, 5)
        assert device.tolist() == wanted.tolist()


@pytest.mark.parametrize("indices, b", [
    ([0, 0, -1], 5), ([[1], [3]], 2), ([1, 1], np.arange(12).reshape(2, 6)), (([0, 0, 3], [1, 1, -1]), [1, 2, 3]), (([[0], [3]], [1, 1]), 7),
], ids=str)
def test_at_takes_indices_on_the_device(indices, b, host):
    x, several = np.arange(24).reshape(4, 6), isinstance(indices, tuple)
    on_device = tuple(cuda.to_device(np.array(index, "i4")) for index in indices) if several else cuda.to_device(np.array(indices, "i4"))
    device = cuda.to_device(x)
    methods.at(lw.subtract, device, on_device, b)
    np.subtract.at(x, indices, b)
    assert device.tolist() == x.tolist()
    with pytest.raises(IndexError, match="out of bounds for axis [01]"):
        methods.at(lw.add, device, (cuda.to_device([1]), cuda.to_device([6])) if several else cuda.to_device([1, 4]), 1)
        cuda.synchronize()


MASK = np.arange(24).reshape(4, 6) % 5 == 0
CASTS = [("divide", "i4", 3), ("add", "i8", 0.7), ("equal", "i4", 2), ("add", "f8", 1j), ("multiply", "i1", 1.5 + 1j), ("add", "?", True), ("negative", "i4", None)]


@pytest.mark.parametrize("indices", [(MASK,), (MASK[:, 0], slice(1, 4)), (slice(None), np.array([0, 0, -1])), (2, np.array([1, 1])), (Ellipsis, MASK[0])], ids=str)
def test_at_takes_masks_and_slices_on_the_device(indices, host):
    x = np.arange(24.0).reshape(4, 6)
    device = cuda.to_device(x)
    methods.at(lw.multiply, device, tuple(cuda.to_device(i) if isinstance(i, np.ndarray) else i for i in indices), 3)
    np.multiply.at(x, indices, 3)
    assert device.tolist() == x.tolist()


@pytest.mark.parametrize("name, dtype, b", CASTS)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_at_casts_results_as_numpy(name, dtype, b, host):
    x, more = np.arange(-3, 3).astype(dtype), () if b is None else (b,)
    device = cuda.to_device(x)
    methods.at(getattr(lw, name), device, [1, 4, 4], *more)
    getattr(np, name).at(x, [1, 4, 4], *more)
    assert device.tolist() == x.tolist()


def test_at_warns_of_lost_imaginary_parts(host):
    with pytest.warns(np.exceptions.ComplexWarning):
        methods.at(lw.add, cuda.to_device(np.ones(3)), [0], 1j)


@pytest.mark.parametrize("name", ["equal", "greater", "logical_or"])
def test_truth_values_of_numbers(name, host):
    x = np.array([0, 1, 1, 3, 0])
    for method in ("reduce", "accumulate"):
        same(np.asarray(getattr(methods, method)(getattr(lw, name), cuda.to_device(x), dtype="?")), np.asarray(getattr(getattr(np, name), method)(x, dtype="?")))


@pytest.mark.parametrize("call, error, text", [
    (lambda x: methods.reduce(lw.exp, x), ValueError, "reduce only supported for binary functions"),
    (lambda x: methods.accumulate(lw.divmod, x), ValueError, "accumulate only supported for functions returning a single value"),
    (lambda x: methods.reduce(lw.subtract, x[:0]), ValueError, "zero-size array to reduction operation subtract which has no identity"),
    (lambda x: methods.reduce(lw.maximum, x[:0]), ValueError, "zero-size"),
    (lambda x: methods.reduce(lw.subtract, x, where=[True] * 4), ValueError, "does not have an identity"),
    (lambda x: methods.reduce(lw.maximum, x, where=[True] * 4), ValueError, "does not have an identity"),
    (lambda x: methods.reduceat(lw.add, x, [0, 4]), IndexError, "index 4 out-of-bounds in add.reduceat"),
    (lambda x: methods.reduceat(lw.subtract, x, [-1]), IndexError, "index -1 out-of-bounds in subtract.reduceat"),
    (lambda x: methods.reduceat(lw.subtract, x, np.ones(2)), TypeError, "according to the rule 'safe'"),
    (lambda x: methods.at(lw.add, x, [4], 1), IndexError, "index 4 is out of bounds"),
    (lambda x: methods.at(lw.add, x, (0, 0), 1), IndexError, "too many indices"),
    (lambda x: methods.at(lw.add, x, cuda.to_device(np.ones(1)), 1), IndexError, "must be of integer"),
    (lambda x: methods.reduce(lw.add, x, out="invalid"), TypeError, "out= must be a device array when an operand is one, not str"),
    (lambda x: methods.reduce(lw.add, x, out=(...,)), TypeError, "must use `...` as `out=...`"),
    (lambda x: methods.reduce(lw.divide, x[:0].reshape((0, 0, 5)), 1), ValueError, "zero-size array to reduction operation divide"),
    (lambda x: methods.reduce(lw.subtract, x, out=cuda.device_array((), "i4")), TypeError, "cannot take results"),
    (lambda x: methods.reduce(lw.subtract, x, out=cuda.device_array(3, "f8")), ValueError, "out= has shape"),
])
def test_refused(call, error, text, host):
    with pytest.raises(error, match=text):
        call(cuda.to_device(np.ones(4)))


# ---- on a device, or the fake driver ----


def is_like(got, wanted):
    assert isinstance(got, cuda.DeviceArray) and got.dtype == wanted.dtype and got.shape == wanted.shape


@needs_device
@pytest.mark.parametrize("name", ["add", "maximum", "subtract", "logical_or"])
def test_calls(name):
    x = some((4, 5), "i2")
    device, ours, numpys = cuda.to_device(x), getattr(lw, name), getattr(np, name)
    for ufunc in (ours, numpys):
        is_like(ufunc.reduce(device), numpys.reduce(x))
        is_like(ufunc.reduce(device, 1, None, None, True), numpys.reduce(x, 1, None, None, True))
        is_like(ufunc.reduce(device, axis=1, dtype="i4" if name != "logical_or" else None, initial=1), numpys.reduce(x, axis=1, dtype="i4" if name != "logical_or" else None))
        is_like(ufunc.reduce(device, where=cuda.to_device(x > 2), initial=0), numpys.reduce(x, where=x > 2, initial=0))
        is_like(ufunc.accumulate(device, 1), numpys.accumulate(x, 1))
        is_like(ufunc.outer(device, device[0]), numpys.outer(x, x[0]))
        out = cuda.to_device(np.zeros(5, numpys.reduce(x).dtype))
        assert ufunc.reduce(device, out=out) is out


@needs_device
@pytest.mark.parametrize("name", ["add", "minimum", "subtract"])
def test_calls_with_indices(name):
    x = some((4, 5), "i4")
    device, numpys = cuda.to_device(x), getattr(np, name)
    for ufunc in (getattr(lw, name), numpys):
        is_like(ufunc.reduceat(device, [0, 2, 1], axis=1), numpys.reduceat(x, [0, 2, 1], axis=1))
        assert ufunc.at(device[0], np.array([0, 0, 4]), 2) is None and ufunc.at(device[0], cuda.to_device([1, 1]), cuda.to_device([5, 2])) is None


@needs_device
def test_arguments_of_calls():
    f4, i8 = cuda.to_device(np.ones(3, "f4")), cuda.to_device(np.arange(3))
    mask = np.array([True, False, True])
    for where in (mask, cuda.to_device(mask), [1, 0, 1], None):
        with pytest.warns(UserWarning, match="'where' used without 'out'"):
            is_like(lw.add(f4, i8, where=where), np.ones(3))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            lw.add(f4, i8, where=where, out=None)
            lw.add(f4, i8, where=where, out=cuda.device_array(3))
    with pytest.raises(TypeError, match="rule 'safe'"):
        lw.add(f4, i8, where=np.ones(3), out=None)
    is_like(lw.ldexp(f4, i8, dtype="d"), np.ones(3))
    is_like(lw.ldexp(f4, i8, signature=(None, None, "d")), np.ones(3))
    with pytest.raises(TypeError, match="No loop matching"):
        lw.ldexp(f4, cuda.to_device(np.ones(3, "u8")), dtype="d")
    is_like(lw.equal(i8, 2**300, out=None, where=mask), mask)
    is_like(lw.add(f4, f4, out=...), np.ones(3, "f4"))
    with pytest.raises(TypeError, match="must use `...` as `out=...`"):
        lw.add(f4, f4, out=(...,))
    with pytest.raises(TypeError, match="only allowed as a keyword"):
        lw.add(f4, f4, ...)


@needs_device
def test_refused_on_a_device():
    device = cuda.to_device(np.ones((2, 3)))
    with pytest.raises(ValueError, match="not reorderable"):
        np.subtract.reduce(device, axis=None)
    with pytest.raises(TypeError, match='target="cpu"'):
        lw.vectorize(lambda a, b: a + b, target="cpu").reduce(device)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        lw.add.reduce(device, order="C")


@needs_kernels
@needs_device
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ASSOCIATIVE + OTHERS)
def test_results(name, dtype):
    ours, numpys = getattr(lw, name), getattr(np, name)
    for shape in ((5,), (3, 4), (0, 3), (2, 3000)):
        x = some(shape, dtype)
        for keywords in CALLS if x.size < 100 or name in ("add", "maximum") else ():
            with np.errstate(all="ignore"):
                wanted = outcome(lambda: numpys.reduce(x, **keywords))
            got = outcome(lambda: numpys.reduce(cuda.to_device(x), **keywords).copy_to_host())
            same(got, wanted)
        if 0 < x.size < 100:
            with np.errstate(all="ignore"):
                wanted = outcome(lambda: numpys.accumulate(x)), outcome(lambda: numpys.reduceat(x, [0, 2, 1]))
            same(outcome(lambda: numpys.accumulate(cuda.to_device(x)).copy_to_host()), wanted[0])
            same(outcome(lambda: ours.reduceat(cuda.to_device(x), [0, 2, 1]).copy_to_host()), wanted[1])


@needs_kernels
@needs_device
def test_large_results():
    x = np.random.default_rng(2).random((300, 4000)).astype("f4")
    device, mask = cuda.to_device(x), x > 0.5
    for axis in (0, 1):
        same(np.add.reduce(device, axis=axis, where=cuda.to_device(mask)).copy_to_host(), np.add.reduce(x, axis=axis, where=mask))
        same(np.maximum.reduce(device, axis=axis).copy_to_host(), np.maximum.reduce(x, axis=axis))
        assert np.array_equal(mixed.reduce(device, axis=axis, dtype="f8").copy_to_host(), mixed.reduce(x, axis=axis, dtype="f8"), equal_nan=True)
    counts = cuda.to_device(np.zeros(10, "i8"))
    indices = np.random.default_rng(3).integers(0, 10, 100_000)
    np.add.at(counts, cuda.to_device(indices), 1)
    assert counts.tolist() == np.bincount(indices).tolist()


@pytest.mark.parametrize("n", [5, 70_000])
def test_two_outputs_over_the_same_memory(n):
    """NumPy permits it: every element is one of both results. Shifted parts are as NumPy's."""
    f = lw.vectorize(["dd->dd"])(lambda x, y: (x // y, x % y))
    x = np.arange(n) + 5.0
    a = np.zeros(n)
    results = f(x, 3.0, out=(a, a))
    assert results[0] is a and results[1] is a
    assert ((a == x // 3) | (a == x % 3)).all()
    for first, second in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
        got, expected = np.zeros(n + 1), np.zeros(n + 1)
        f(x, 3.0, out=(got[first], got[second]))
        np.divmod(x, 3.0, out=(expected[first], expected[second]))
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("method, args", [("reduce", ()), ("accumulate", ()), ("reduceat", ([0, 2],))])
def test_streams_where_there_is_no_gpu(method, args):
    """stream= means what it means in calls: nothing on the CPU target, and a stream is an error for host operands elsewhere."""
    f, x = lw.vectorize(["int64(int64, int64)"])(lambda a, b: a + b), np.arange(5)
    expected = getattr(np.add, method)(x, *args)
    assert np.array_equal(getattr(f, method)(x, *args, stream=0), expected)
    with pytest.raises(TypeError, match="stream= is for device arrays"):
        getattr(f, method)(x, *args, stream=12)
    with lw.config(target="cpu"):
        stream = cuda.stream()
        assert np.array_equal(getattr(f, method)(cuda.to_device(x, stream), *args, stream=stream), expected)


COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_xor"]
TRUTHS = [[3, 3, 3], [3, 3, 3, 0], [0, 3, 3], [256, 256], [0.5, 0.2]]


def check_comparison_as_bools(name, memory):
    """dtype=bool asks for the truth of the elements first: the loop for the array's own dtype has bools as results, too."""
    for values in TRUTHS:
        for dtype in ("i8", "f4", "u1", "c8"):
            x = np.array(values).astype(dtype)
            assert bool(getattr(lw, name).reduce(memory(x), dtype=bool)) == getattr(np, name).reduce(x, dtype=bool), (values, dtype)


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_reduce_bools(name, host):
    check_comparison_as_bools(name, np.asarray)
    check_comparison_as_bools(name, cuda.to_device)


@needs_kernels
@needs_device
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_reduce_bools_on_a_device(name):
    check_comparison_as_bools(name, cuda.to_device)


def test_a_users_comparison_reduces_bools():
    same_truth = lw.vectorize(lambda a, b: a == b)
    assert same_truth.reduce(np.array([3, 3, 3]), dtype=bool) and not same_truth.reduce(np.array([3, 3, 3, 0]), dtype=bool)
