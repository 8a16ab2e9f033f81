"""Gufuncs called in compiled functions: they loop over items there, too."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors


@lw.guvectorize("(m,n),(n,p)->(m,p)")
def matmul(a, b, c):
    m, n = a.shape
    n, p = b.shape
    for i in range(m):
        for j in range(p):
            c[i, j] = 0
            for k in range(n):
                c[i, j] += a[i, k] * b[k, j]


@lw.guvectorize("(n),()->(n)")
def add(x, y, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + y


@lw.guvectorize("(n)->()")
def total(x, out):
    out[0] = 0
    for i in range(x.shape[0]):
        out[0] += x[i]


@lw.guvectorize("(n),()->(n)")
def add_indexed(x, y, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + y[0]


@lw.guvectorize("(n)->(),()")
def extremes(x):
    low = high = x[0]
    for i in range(1, x.shape[0]):
        low, high = min(low, x[i]), max(high, x[i])
    return low, high


@lw.guvectorize("(n),()")
def fill(x, y):
    for i in range(x.shape[0]):
        x[i] = y


def compiled(gufunc, n):
    """A compiled function of n arguments that passes all of them to the gufunc."""
    if n == 2:
        return lw.jit(lambda x, y: gufunc(x, y))
    if n == 3:
        return lw.jit(lambda x, y, z: gufunc(x, y, z))
    return lw.jit(lambda x, y, z, w: gufunc(x, y, z, w))


CASES = [
    (matmul, (4, 2, 3), (4, 3, 5), (4, 2, 5)), (matmul, (2, 3), (4, 3, 5), (4, 2, 5)), (matmul, (6, 1, 2, 3), (4, 3, 5), (6, 4, 2, 5)),
    (matmul, (2, 3), (3, 5), (2, 5)), (matmul, (0, 2, 3), (3, 5), (0, 2, 5)),
    (add, (4, 2, 5), (), (4, 2, 5)), (add, (4, 2, 5), (4, 2), (4, 2, 5)), (add, (4, 2, 5), (2,), (4, 2, 5)), (add, (5,), (4, 2), (4, 2, 5)),
    (add_indexed, (4, 5), (4,), (4, 5)), (add_indexed, (4, 5), (1,), (4, 5)), (add_indexed, (5,), (), (5,)),
    (total, (4, 10), (4,)), (total, (10,), (4,)), (total, (10,), ()), (total, (2, 3, 10), (2, 3)),
    (extremes, (4, 10), (4,), (4,)), (extremes, (10,), (3,), (3,)), (extremes, (10,), (), ()),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{'-'.join(map(str, case[1:]))}")
@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_as_its_calls_on_the_host(case, order):
    gufunc, *shapes = case
    rng = np.random.default_rng(1)

    def made(shape):
        if order == "strided":
            return rng.integers(-9, 9, (*shape[:-1], 2 * shape[-1]))[..., ::2] if shape else rng.integers(-9, 9, ())[()]
        array = np.array(rng.integers(-9, 9, shape), order=order)
        return array if shape else array[()]

    inputs = [made(shape) for shape in shapes[:gufunc.nin]]
    outputs = [np.zeros(shape, int) for shape in shapes[gufunc.nin:]]
    expected = [array.copy() for array in outputs]
    gufunc(*inputs, *expected)
    compiled(gufunc, len(shapes))(*inputs, *outputs)
    for got, wanted in zip(outputs, expected):
        np.testing.assert_array_equal(got, wanted)


def test_in_place_and_by_keyword():
    x = np.zeros((3, 4))
    lw.jit(lambda x, y: fill(x, y))(x, np.array([1.0, 2.0, 3.0]))
    assert x[:, 0].tolist() == [1, 2, 3] == x[:, 3].tolist()
    out = np.zeros((3, 4))
    lw.jit(lambda x, y, z: add(x, y, out=z))(x, 1.0, out)
    assert (out == x + 1).all()


def test_numbers_are_converted_to_the_signature():
    f = lw.guvectorize("int64[:], int64, int64[:]", "(n),()->(n)")(add.py_func)
    x, out = np.arange(40).reshape(4, 2, 5), np.zeros((4, 2, 5), int)
    lw.jit(lambda x, y, out: f(x, y, out))(x, np.int32(100), out)
    assert (out == x + 100).all()
    lw.jit(lambda x, y, out: f(x, y, out))(x, np.arange(2, dtype="i2"), out)
    assert (out == x + np.arange(2)[:, None]).all()
    with pytest.raises(TypeError, match="E181"):
        lw.jit(lambda x, y, out: f(x, y, out))(x * 1.0, 1, out)


@pytest.mark.parametrize("shapes, message", [
    (((2, 3), (4, 5), (2, 5)), "core dimensions"), (((7, 2, 3), (4, 3, 5), (4, 2, 5)), "Loop and array shapes"), (((2, 2, 3), (3, 5), (2, 5)), "Loop and array shapes"),
    (((2, 3), (3, 5), (2, 4)), "core dimensions"),
])
def test_shapes_that_do_not_fit(shapes, message):
    with pytest.raises(ValueError, match=message):
        compiled(matmul, 3)(*(np.zeros(shape) for shape in shapes))


def test_dimensions_that_are_missing():
    with pytest.raises(errors.TypingError, match=r"matmul: Input operand 1 does not have enough dimensions \(has 1, gufunc core with signature \(m,n\),\(n,p\)->\(m,p\) requires 2\)"):
        compiled(matmul, 3)(np.zeros((2, 3)), np.zeros(3), np.zeros((2, 3)))
    with pytest.raises(errors.TypingError, match="Output operand 0 does not have enough dimensions"):
        compiled(add, 3)(np.zeros(3), 1.0, np.array(0.0))
    with pytest.raises(errors.TypingError, match="`add` needs an argument for `y`"):
        lw.jit(lambda x: add(x))(np.zeros((2, 3)))


@pytest.mark.parametrize("target", ["sm_75", "sm_90"])
def test_for_gpus(target):
    kernel = lw.jit(lambda x, y, out: add(x, y, out))
    assert len(lw.compile(kernel, "void(float32[:, :], float32[:], float32[:, :])", target=target, output="cubin")) > 1000


# ---- without outputs ----


@lw.guvectorize("(n)->(3)")
def first_three(x, out):
    for k in range(3):
        out[k] = x[k]


@lw.guvectorize(["f4[:],f4[:]", "f8[:],f8[:]"], "(n)->(n)")
def declared(x, out):
    for k in range(x.shape[0]):
        out[k] = x[k] + 1


@lw.guvectorize("(m),(n)->(m,n)")
def outer(x, y, out):
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            out[i, j] = x[i] * y[j]


A, B = np.arange(24.0).reshape(2, 3, 4), np.arange(5.0)


@pytest.mark.parametrize("gufunc, args", [
    (add, (A, 1.5)), (add, (A[0, 0], 1.5)), (add, (A.astype("f4"), np.float32(2))), (add, (A.astype("i4"), np.int32(1))), (add, (A.astype("i8"), 1)), (add, (A, A[:, :, 0])), (add, (B, B)),
    (add_indexed, (A, 2.0)), (total, (A,)), (total, (B,)), (total, (A[:, ::-1, ::2],)), (extremes, (A,)), (extremes, (B,)), (first_three, (A,)), (declared, (A,)),
    (declared, (A.astype("f4"),)), (outer, (B, A[0, 0])), (outer, (A, B)), (matmul, (A, A[0].T.copy())), (matmul, (A[0], A[1].T.copy())),
], ids=str)
def test_results_without_outputs(gufunc, args):
    wanted = gufunc(*args)
    got = lw.jit(lambda *args: gufunc(*args))(*args)
    for x, y in zip(got, wanted) if isinstance(wanted, tuple) else [(got, wanted)]:
        assert np.shape(x) == np.shape(y)
        if np.shape(y):
            assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)


def test_a_dtype_that_depends_on_weak_numbers():
    x, f = A.astype("i4"), lw.jit(lambda x, y: add(x, y))
    assert f(x, 1).dtype == add(x, 1).dtype == np.int32
    with pytest.raises(errors.TypingError, match="whether a number is one of Python"):
        f(x, np.int64(1))


def test_results_in_expressions():
    @lw.jit
    def f(x):
        return total(x).sum() + (add(x, 1.0) * 2.0).sum() + total(x[0, 0])

    assert f(A) == A.sum() + ((A + 1) * 2).sum() + A[0, 0].sum()


def test_an_output_of_unknown_size():
    @lw.guvectorize("(n)->(m)")
    def g(x, out):
        out[0] = x[0]

    with pytest.raises(errors.TypingError, match="needs its outputs as arguments, because no input has the dimension m"):
        lw.jit(lambda x: g(x))(B)


def test_shapes_that_do_not_fit_without_outputs():
    with pytest.raises(ValueError, match="core dimensions"):
        lw.jit(lambda x, y: matmul(x, y))(np.ones((2, 3)), np.ones((4, 2)))
    with pytest.raises(ValueError, match="incompatible"):
        lw.jit(lambda x, y: add(x, y))(np.ones((2, 3)), np.ones(3))


def scaling(dtype):
    @lw.guvectorize([f"void({dtype}, {dtype}[:], {dtype}[:])"], "(),(n)->(n)")
    def scaled(a, x, out):
        for i in range(x.shape[0]):
            out[i] = a * x[i]

    return scaled


@pytest.mark.parametrize("dtype, number", [("float32", 0.1), ("float32", 2), ("int32", -3), ("complex64", 0.5), ("complex64", 2j), ("uint64", 3), ("uint8", 255)])
def test_python_numbers_take_the_types_of_a_signature(dtype, number):
    scaled = scaling(dtype)
    x = np.arange(3).astype(dtype)
    expected = scaled(number, x)

    @lw.njit
    def passed(a, x):
        return scaled(a, x)

    @lw.njit
    def written(x):
        return scaled(number, x)

    @lw.njit
    def filled(a, x, out):
        scaled(a, x, out)

    out = np.zeros_like(x)
    filled(number, x, out)
    for result in (passed(number, x), written(x), out):
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


def from_both_sides(dtype):
    """A gufunc, and a compiled function that calls it."""
    scaled = scaling(dtype)

    @lw.njit
    def passed(a, x):
        return scaled(a, x)

    return scaled, passed


@pytest.mark.parametrize("dtype, number", [("int32", 2**31), ("int32", -(2**31) - 1), ("uint8", 256), ("uint64", -1)])
def test_python_ints_that_do_not_fit_the_signature(dtype, number):
    for call in from_both_sides(dtype):
        with pytest.raises(OverflowError, match=f"out of bounds for {dtype}"):
            call(number, np.zeros(3, dtype))


@pytest.mark.parametrize("dtype, number", [("int32", 1.5), ("float32", 1j), ("int32", np.int64(1)), ("float32", np.float64(1))])
def test_other_numbers_are_still_cast_safely(dtype, number):
    for call in from_both_sides(dtype):
        with pytest.raises(TypeError, match="E181"):
            call(number, np.zeros(3, dtype))
