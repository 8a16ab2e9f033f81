"""Calls of gufuncs on contiguous host arrays of a loop's dtypes, which do not go through NumPy once NumPy has run the loop (gufunc/gufunc_direct_py.c)."""

import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from direct_checks import check, n_direct

import lanewise as lw


@pytest.fixture
def product():
    """Multiplies a matrix by a vector, in float64, float32 and int64."""

    @lw.guvectorize("(m,n),(n)->(m)")
    def product(a, v, out):
        for i in range(a.shape[0]):
            total = a[i, 0] * v[0]
            for j in range(1, a.shape[1]):
                total += a[i, j] * v[j]
            out[i] = total

    for dtype in ("f8", "f4", "i8"):
        product(np.ones((2, 2), dtype), np.ones(2, dtype))
    return product


@pytest.fixture
def extent():
    """Has two outputs without core dimensions, and a number among its inputs."""

    @lw.guvectorize("(n),()->(),()")
    def extent(x, scale, low, high):
        low[0] = high[0] = x[0] * scale
        for i in range(1, x.shape[0]):
            low[0] = min(low[0], x[i] * scale)
            high[0] = max(high[0], x[i] * scale)

    extent(np.ones(3), 2.0)
    return extent


def arrays(*shapes, dtype="f8"):
    return [np.arange(1, 1 + np.prod(shape, dtype=int)).astype(dtype).reshape(shape) for shape in shapes]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("shapes", [((3, 4), (4,)), ((1, 1), (1,)), ((5, 3, 4), (5, 4)), ((5, 3, 4), (4,)), ((3, 4), (2, 5, 4)), ((2, 1, 3, 4), (2, 1, 4)),
                                    ((1, 3, 4), (1, 4)), ((1, 3, 4), (4,)), ((300, 3, 4), (300, 4)), ((40, 50), (50,))])
def test_matrices(product, dtype, shapes):
    a, v = arrays(*shapes, dtype=dtype)
    result = check(product, a, v)
    np.testing.assert_array_equal(result, np.matvec(a, v) if hasattr(np, "matvec") else (a @ v[..., None])[..., 0])


def test_first_calls_are_numpys(product):
    a, v = arrays((3, 4), (4,))
    fresh = lw.guvectorize("(m,n),(n)->(m)")(product.py_func)
    assert n_direct(lambda: fresh(a, v)) == 0
    assert n_direct(lambda: fresh(a, v)) == 1
    assert n_direct(lambda: fresh(a.astype("f4"), v)) == 0
    assert n_direct(lambda: fresh(a.astype("f4"), v)) == 1


@pytest.mark.parametrize("shapes, out", [(((3, 4), (4,)), (3,)), (((5, 3, 4), (4,)), (5, 3)), (((3, 4), (5, 1, 4)), (5, 1, 3))])
def test_outputs(product, shapes, out):
    a, v = arrays(*shapes)
    into = np.full(out, -1.0)
    for call in (lambda: product(a, v, into), lambda: product(a, v, out=into), lambda: product(a, v, out=(into,))):
        into.fill(-1)
        assert n_direct(lambda: call()) == 1
        np.testing.assert_array_equal(into, product(a, v))
        assert call() is into
    assert check(product, a, v, out=into).shape == out
    assert check(product, a, v, out=None).shape == out
    assert n_direct(lambda: product(a, v, None)) == 1


def test_outputs_that_are_numpys(product):
    a, v = arrays((3, 4), (4,))
    for wrong in (np.zeros(4), np.zeros((2, 3)), np.zeros(3, "f4"), np.zeros(3, ">f8"), np.zeros(3, "i8"), [0.0] * 3, ()):
        check(product, a, v, out=wrong, direct=False)
    apart = np.zeros(6)
    assert n_direct(lambda: product(a, v, out=apart[::2])) == 0
    np.testing.assert_array_equal(apart[::2], product(a, v))
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        product(a, v, out=fixed)
    with pytest.raises(ValueError, match="tuple"):
        product(a, v, out=(np.zeros(3), np.zeros(3)))
    with pytest.raises(TypeError):
        product(a, v, np.zeros(3), np.zeros(3))
    with pytest.raises(TypeError):
        product(a)


def test_outputs_that_overlap(product):
    square, v = arrays((4, 4), (4,))
    wanted = product(square, v)
    for out, inputs in ((v, (square, v)), (square[1], (square, v.copy()))):
        before = [x.copy() for x in (square, v)]
        assert n_direct(lambda: product(*inputs, out=out)) == 0
        np.testing.assert_array_equal(out, wanted)
        square[...], v[...] = before
    memory = np.zeros(20)
    memory[:16], memory[12:16] = square.ravel(), v
    assert n_direct(lambda: product(memory[:16].reshape(4, 4), v, memory[16:])) == 1  # beside it, but apart
    halves = lw.guvectorize("(n)->(n),(n)")(_halves)
    halves(v)
    out = np.zeros(6)
    assert n_direct(lambda: halves(v, out[:4], out[2:])) == 0


def _halves(x, low, high):
    for i in range(x.shape[0]):
        low[i] = x[i] / 2
        high[i] = x[i] - low[i]


def test_shapes_that_are_numpys(product):
    for shapes in (((3, 4), (5,)), ((3, 4), (1,)), ((4,), (4,)), ((3, 4), ()), ((2, 3, 4), (3, 4)), ((1, 3, 4), (2, 4)), ((3, 1, 3, 4), (2, 4)),
                   ((0, 4), (4,)), ((3, 0), (0,)), ((0, 3, 4), (4,))):
        check(product, *arrays(*shapes), direct=False)


def test_layouts_and_dtypes_that_are_numpys(product):
    a, v = arrays((4, 4), (4,))
    check(product, a.T, v, direct=False)
    for given in ((a[:, ::-1], v[::-1]), (a[::-1], v), (np.repeat(a, 2, axis=1)[:, ::2], v), (a, np.repeat(v, 2)[::2])):
        assert n_direct(lambda: product(*given)) == 0
        np.testing.assert_array_equal(product(*given), product(*[np.ascontiguousarray(x) for x in given]))
    check(product, a.astype(">f8"), v, direct=False)
    unaligned = np.frombuffer(b"\0" + a.tobytes(), "u1")[1:].view("f8").reshape(4, 4)
    assert n_direct(lambda: product(unaligned, v)) == 0
    np.testing.assert_array_equal(product(unaligned, v), product(a, v))
    check(product, a.tolist(), v, direct=False)
    check(product, a, v.tolist(), direct=False)


def test_keywords_are_numpys(product):
    a, v = arrays((3, 4), (4,))
    wanted = product(a, v)
    for kwargs in ({"axes": [(0, 1), 0, 0]}, {"dtype": "f8"}, {"casting": "same_kind"}, {"order": "C"}, {"subok": False}, {"signature": "dd->d"}):
        assert n_direct(lambda: np.testing.assert_array_equal(product(a, v, **kwargs), wanted)) == 0
    with pytest.raises(TypeError):
        product(a, v, ouf=np.zeros(3))


def test_subclasses_are_numpys(product):
    class Own(np.ndarray):
        pass

    a, v = arrays((3, 4), (4,))
    assert n_direct(lambda: product(a.view(Own), v)) == 0 and type(product(a.view(Own), v)) is Own
    out = np.zeros(3).view(Own)
    assert product(a, v, out=out) is out and n_direct(lambda: product(a, v, out=out)) == 0
    with pytest.raises(TypeError, match="masked"):
        product(np.ma.array(a, mask=a > 3), v)


def test_numbers(extent):
    x = np.arange(6.0)
    for number in (2.0, -3, 0.5, float("inf"), 10**6):
        check(extent, x[1:].copy(), number)
    low, high = check(extent, x, np.array(2.0))
    assert isinstance(low, np.float64) and high == 10
    check(extent, x.reshape(2, 3), np.array([2.0, -1.0]))
    check(extent, x.reshape(2, 3), 2)
    check(extent, x, 2.0, out=(np.array(0.0), None))
    check(extent, x, 2.0, out=(np.zeros(()), np.zeros(())))
    for number in (True, 2**53 + 1, np.float64(2), 1j, "2", None):
        check(extent, x, number, direct=False)
    for number in (2**70, -(2**70)):
        assert n_direct(lambda: extent(x, number)) == 0
    check(extent, 2.0, 2.0, direct=False)


def test_a_number_takes_the_dtype_of_the_arrays(extent):
    x = np.arange(4, dtype="f4")
    extent(x, 2.0)
    assert check(extent, x, 0.1)[1].dtype == "f4"
    check(extent, x, 1e300, direct=False)
    whole = np.arange(4)
    extent(whole, 2)
    assert check(extent, whole, 3)[1].dtype == "i8"
    assert extent(whole, 0.5)[1] == 1.5 and n_direct(lambda: extent(whole, 0.5)) == 0


def test_a_number_chooses_the_signature_that_it_always_does():
    @lw.guvectorize(["void(f8[:], i8, f8[:])", "void(f8[:], f8, f8[:])"], "(n),()->(n)")
    def shifted(x, n, out):
        for i in range(x.shape[0]):
            out[i] = x[i] + n * 4611686018427387904 * 4

    x = np.ones(3)
    first = shifted(x, 3)
    shifted(x, np.float64(3)), shifted(x, np.array(3.0)), shifted(x, np.array(3))
    np.testing.assert_array_equal(shifted(x, 3), first)
    assert shifted(x, 3.0)[0] > 1e19


def test_flags_are_numpys():
    @lw.guvectorize("(n),()->(n)")
    def quotient(x, y, out):
        for i in range(x.shape[0]):
            out[i] = x[i] / y

    x = np.array([1.0, 0.0])
    quotient(x, 1.0)
    with np.errstate(all="warn"):
        check(quotient, x, 0.0)
        check(quotient, x, 1.0)
        check(quotient, np.array([1e300, 1.0]), 1e-300)
    with np.errstate(all="raise"):
        assert isinstance(check(quotient, x, 0.0), FloatingPointError)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        quotient(x, 0.0)
    with np.errstate(all="ignore"):
        quotient(x, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quotient(x, 1.0)  # what was ignored before is not told now


def test_exceptions_of_items():
    @lw.guvectorize("(n)->()")
    def first(x, out):
        if x[0] < 0:
            raise ValueError("negative")
        out[0] = x[0]

    x = np.arange(6.0).reshape(3, 2)
    first(x)
    check(first, x)
    x[2, 0] = -1
    assert "negative" in str(check(first, x)) and "negative" in str(check(first, x, out=np.zeros(3)))
    x[2, 0] = 5
    check(first, x)


def test_printing(capfd):
    @lw.guvectorize("(n)->()")
    def shown(x, out):
        print(x[0])
        out[0] = x[0]

    x = np.arange(2.0)
    for _ in range(3):
        shown(x)
    assert capfd.readouterr().out.split() == ["0.0"] * 3


def test_in_place():
    @lw.guvectorize("(n),()")
    def shift(x, by):
        for i in range(x.shape[0]):
            x[i] += by

    x = np.zeros(3)
    shift(x, 1.0)
    assert n_direct(lambda: shift(x, 1.0)) == 1 and shift(x, 1.0) is None
    np.testing.assert_array_equal(x, [3, 3, 3])
    rows = np.zeros((4, 3))
    assert n_direct(lambda: shift(rows, np.arange(4.0))) == 1
    np.testing.assert_array_equal(rows, np.repeat(np.arange(4.0), 3).reshape(4, 3))
    assert n_direct(lambda: shift(x, np.arange(4.0))) == 0  # items that write to the same elements
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        shift(fixed, 1.0)


def test_writable_inputs():
    @lw.guvectorize("(n),(n)->()", writable_args=("x",))
    def moved(x, by, out):
        out[0] = 0.0
        for i in range(x.shape[0]):
            x[i] += by[i]
            out[0] += x[i]

    x, by = np.zeros((2, 3)), np.ones((2, 3))
    moved(x, by)
    assert n_direct(lambda: moved(x, by)) == 1
    np.testing.assert_array_equal(x, np.full((2, 3), 2.0))
    memory = np.arange(6.0)
    wanted = memory.copy()
    wanted[:4] += memory[2:]
    assert n_direct(lambda: moved(memory[:4], memory[2:])) == 0
    np.testing.assert_array_equal(memory, wanted)
    fixed = np.zeros((2, 3))
    fixed.flags.writeable = False
    with pytest.raises(ValueError):
        moved(fixed, by)


def test_layouts_that_drop_or_stretch_dimensions():
    @lw.guvectorize("(m?,n),(n)->(m?)")
    def optional(a, v, out):
        for i in range(a.shape[0]):
            out[i] = a[i, 0] * v[0]

    @lw.guvectorize("(n|1),(n)->(n)")
    def stretched(x, y, out):
        for i in range(y.shape[0]):
            out[i] = x[i] + y[i]

    a, v = arrays((3, 4), (4,))
    optional(a, v)
    check(optional, a, v)
    check(optional, v, v, direct=False)
    stretched(v, v)
    for x in (v, v[:1]):
        assert n_direct(lambda: stretched(x, v)) == 0
        np.testing.assert_array_equal(stretched(x, v), x + v)


def test_sizes_of_outputs_alone():
    @lw.guvectorize("(n)->(k)")
    def repeated(x, out):
        for i in range(out.shape[0]):
            out[i] = x[i % x.shape[0]]

    x, out = np.arange(3.0), np.zeros(7)
    repeated(x, out)
    assert n_direct(lambda: repeated(x, out)) == 1
    np.testing.assert_array_equal(out, [0, 1, 2, 0, 1, 2, 0])
    with pytest.raises(ValueError, match="`k`"):
        repeated(x)
    sized = lw.guvectorize("(n)->(k)", sizes={"k": lambda n: 2 * n})(repeated.py_func)
    for _ in range(3):
        np.testing.assert_array_equal(sized(x), [0, 1, 2, 0, 1, 2])
    fixed = lw.guvectorize("(3)->(2)")(repeated.py_func)
    fixed(x)
    check(fixed, x)
    check(fixed, np.arange(4.0), direct=False)
    check(fixed, x, out=np.zeros(3), direct=False)


def test_outputs_of_another_dtype():
    @lw.guvectorize("(n)->(n)")
    def doubled(x, out):
        for i in range(x.shape[0]):
            out[i] = 2 * x[i]

    x = np.arange(3.0)
    doubled(x)
    for _ in range(3):
        narrow = np.zeros(3, "f4")
        assert doubled(x, out=narrow) is narrow and narrow[2] == 4
    check(doubled, x, out=np.zeros(3))


def test_excluded_and_static_are_numpys():
    @lw.guvectorize("(n)->(n)", static=("k",))
    def scaled(x, k, out):
        for i in range(x.shape[0]):
            out[i] = k * x[i]

    x = np.arange(3.0)
    for k in (2, 3, 2, 3):
        np.testing.assert_array_equal(scaled(x, k), k * x)


offset = 1.0


def test_captured_values_that_change():
    global offset

    @lw.guvectorize("(n)->(n)")
    def moved(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i] + offset

    x = np.arange(3.0)
    for value in (1.0, 1.0, 2.0, 3.0, 3.0, 4.0):
        offset = value
        for _ in range(3):
            np.testing.assert_array_equal(moved(x), x + value)
    assert n_direct(lambda: moved(x)) == 1


def test_functions_of_lanewise():
    for name in ("matvec", "vecmat", "vecdot", "matmul"):
        if not hasattr(lw.ufuncs, name):
            continue
        f = getattr(lw.ufuncs, name)
        args = {"matvec": ((4, 4), (4,)), "vecmat": ((4,), (4, 4)), "vecdot": ((4,), (4,)), "matmul": ((4, 4), (4, 4))}[name]
        args = arrays(*args)
        f(*args)
        check(f, *args)


def test_threads(product):
    a, v = arrays((50, 40), (40,))
    wanted = product(a, v)

    def work(_):
        return all(np.array_equal(product(a, v), wanted) for _ in range(200))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))  # an exception of a thread is raised here


def test_calls_do_not_keep_their_arrays(product, extent):
    a, v = arrays((3, 4), (4,))
    out, low = np.zeros(3), np.zeros(())
    held = (a, v, out, low)
    counts = [sys.getrefcount(x) for x in held]
    for _ in range(50):
        product(a, v)
        product(a, v, out=out)
        extent(v, 2.0)
        extent(v, 2.0, out=(low, None))
        with pytest.raises(ValueError):
            product(a, out)
    assert [sys.getrefcount(x) for x in held] == counts
