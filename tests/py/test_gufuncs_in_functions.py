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
    """A compiled function of n arguments that passes all of them on."""
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
    with pytest.raises(errors.TypingError, match="the inputs and the outputs, and 2 were given"):
        compiled(add, 2)(np.zeros((2, 3)), 1.0)


@pytest.mark.parametrize("target", ["sm_75", "sm_90"])
def test_for_gpus(target):
    kernel = lw.jit(lambda x, y, out: add(x, y, out))
    assert len(lw.compile(kernel, "void(float32[:, :], float32[:], float32[:, :])", target=target, output="cubin")) > 1000
