"""Functions of `vectorize` called with arrays in compiled functions: for each element, as from Python."""

import itertools

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors


@lw.vectorize
def clipped(x, low):
    return x if x > low else low


@lw.vectorize
def second(x, y):
    return y


@lw.vectorize
def constant(x, y):
    return 1.5


@lw.vectorize
def changes_its_parameter(x, y):
    x += y
    x *= 2
    return x


@lw.vectorize
def looped(x, y):
    total = 0.0
    for i in range(3):
        if i == 2 and x < 0:
            break
        total += x * i
    return total - y


@lw.vectorize(excluded="table", static="scale")
def looked_up(x, table, scale=2):
    return table[int(x) % table.shape[0]] * scale + table.shape[0]


@lw.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
def declared(x, y):
    return x - y / 2


def array(shape, seed=1, dtype="f8"):
    return np.random.default_rng(seed).integers(-5, 9, shape).astype(dtype)


def same(got, wanted):
    assert np.shape(got) == np.shape(wanted)
    assert np.asarray(got).dtype == np.asarray(wanted).dtype
    np.testing.assert_array_equal(got, wanted)


SHAPES = [(), (1,), (3,), (2, 3), (2, 1), (0,)]


@pytest.mark.parametrize("f", [clipped, second, constant, changes_its_parameter, looped, declared], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_as_from_python(f, dtype):
    compiled = lw.njit(lambda x, y: f(x, y))
    for left, right in itertools.product(SHAPES, SHAPES):
        x, y = array(left, dtype=dtype), array(right, 2, dtype)
        if left == right == ():
            continue
        try:
            wanted = f(x, y)
        except ValueError:
            with pytest.raises(ValueError):
                compiled(x, y)
            continue
        before = x.copy(), y.copy()
        same(compiled(x, y), wanted)
        same(x, before[0])  # which `x += y` once changed
        same(y, before[1])


def test_numbers_beside_arrays():
    x = array((2, 3), dtype="f4")
    same(lw.njit(lambda x: clipped(x, 2.5))(x), clipped(x, 2.5))
    same(lw.njit(lambda x: clipped(1, x))(x), clipped(1, x))
    same(lw.njit(lambda x: clipped(x[0, 0], x[0]))(x), clipped(x[0, 0], x[0]))
    assert lw.njit(lambda x: clipped(x[0, 0], 100))(x) == 100


def test_layouts():
    x = array((4, 6))
    for view in (x.T, x[::-1], x[:, ::-2], np.asfortranarray(x), x[1:, 2:]):
        same(lw.njit(lambda x, y: looped(x, y))(view, 2.0), looped(view, 2.0))


@pytest.mark.parametrize("scale", [2, 2.5])
def test_excluded_arrays(scale):
    table = array(4, 3)
    compiled = lw.njit(lambda x, t: looked_up(x, t, scale=scale))
    for shape in SHAPES[1:]:
        same(compiled(array(shape), table), looked_up(array(shape), table, scale=scale))
    same(lw.njit(lambda x, t: looked_up(x, t * 2))(array(3), table), looked_up(array(3), table * 2))
    same(lw.njit(lambda x, t: looked_up(x + 1, t) - looked_up(x, t + 1))(array(3), table), looked_up(array(3) + 1, table) - looked_up(array(3), table + 1))


def test_excluded_arrays_that_are_the_target():
    def into(x, out):
        out[:] = looked_up(x, out)

    out, x = array(5, 3), array(5)
    wanted = looked_up(x, out.copy())
    lw.njit(into)(x, out)
    same(out, wanted)

    def added(x, out):
        out[1:] += looked_up(x, out)

    out, x = array(6, 3), array(5)
    wanted = out.copy()
    wanted[1:] += looked_up(x, out.copy())
    lw.njit(added)(x, out)
    same(out, wanted)


def test_stores_need_no_memory():
    def into(x, table, out):
        out[:] = looked_up(x, table)

    text = lw.njit("void(float64[:], float64[:], float64[:])")(into).inspect_llvm()
    out = np.zeros(5)
    lw.njit(into)(array(5), array(4), out)
    same(out, looked_up(array(5), array(4)))
    assert text


def test_in_expressions():
    x, y = array((2, 3)), array(3, 2)

    def f(x, y):
        out = np.zeros((2, 3))
        out += clipped(x, y) * 2 - looped(x - y, 1.0)
        out[out > 3] = 0
        return out + np.sqrt(constant(out, 1))

    same(lw.njit(f)(x, y), f(x, y))


def test_in_every_decorator():
    x = array((4, 3))

    @lw.guvectorize("(n)->(n)")
    def rows(x, out):
        out[:] = clipped(x, 0.5)

    @lw.forall
    def each(i, x, out):
        out[i, :] = clipped(x[i], x[i, ::-1])

    @lw.reduce(map=lambda x: clipped(x, 0.0))
    def total(a, b):
        return a + b

    same(rows(x), clipped(x, 0.5))
    out = np.zeros_like(x)
    each(4, x, out)
    same(out, clipped(x, x[:, ::-1]))
    assert total(x) == clipped(x, 0.0).sum()


def test_errors_of_elements():
    @lw.vectorize
    def inverse(x):
        if x == 0:
            raise ValueError(f"no inverse of {x}")
        return 1 / x

    same(lw.njit(lambda x: inverse(x))(np.array([1.0, 2.0])), inverse(np.array([1.0, 2.0])))
    with pytest.raises(ValueError, match="no inverse of 0"):
        lw.njit(lambda x: inverse(x))(np.array([1.0, 0.0]))


def test_refused():
    @lw.vectorize
    def pair(x):
        return x, x + 1

    with pytest.raises(errors.UnsupportedError, match="E160: `pair` of a whole array has several results"):
        lw.njit(lambda x: pair(x)[0])(np.ones(3))
    with pytest.raises(errors.TypingError, match="static argument `scale` of `looked_up` must be a constant"):
        lw.njit(lambda x: looked_up(x, x, x))(np.ones(3))
    with pytest.raises(ValueError, match="could not broadcast|shapes"):
        lw.njit(lambda x, y: clipped(x, y))(np.ones(3), np.ones(2))


class Model:
    def __init__(self):
        self.a = 2.0

    @lw.vectorize
    def second(self, x, y):
        return y * self.a

    @lw.guvectorize("(),(n)->(n)")
    def rows(self, x, out):
        for i in range(x.shape[0]):
            out[i] = x[i] * self.a


def test_methods():
    model, x = Model(), array((2, 3))
    same(lw.njit(lambda x: model.second(x, 1.0))(x), model.second(x, 1.0))
    same(lw.njit(lambda x: model.second(1.0, x[0]))(x), model.second(1.0, x[0]))
    same(lw.njit(lambda x: model.rows(x))(x), model.rows(x))


def test_operands_that_are_no_numbers():
    for call in (lambda x: second((1.0, 2.0), x), lambda x: second([1.0, 2.0], x)):
        with pytest.raises(errors.TypingError, match="E120: an operand of `second` must be a number or an array of numbers"):
            lw.njit(call)(np.ones(2))
    with pytest.raises(errors.TypingError, match="E120: an operand of `second` must be a number or an array of numbers"):
        lw.njit(lambda x: second(x, 1.0))(np.zeros(2, [("a", "f8")]))


@pytest.mark.parametrize("target", ["sm_75", "sm_90"])
def test_for_gpus(target):
    def kernel(x, table, out):
        i = lw.cuda.grid(1)
        if i < out.shape[0]:
            out[i] = looked_up(x[i], table) + clipped(x[i], 0.5)

    types = "void(float32[:, :], float32[:], float32[:, :])"
    assert len(lw.compile(lw.cuda.jit(kernel), types, target=target, output="cubin")) > 1000
