"""reduce, accumulate, reduceat, outer and at of ufuncs in compiled functions; lists and `*args` of functions called on the host."""

import numpy as np
import pytest

import lanewise as lw


@lw.vectorize
def minus(a, b):
    return a - b


@lw.vectorize(identity=1)
def times(a, b):
    return a * b


def forms(u):
    def f(a):
        return (u.reduce(a, axis=1), u.reduce(a[0], axis=-1, keepdims=True), u.reduce(a[0, 0], initial=3), u.accumulate(a[0], axis=-1),
                u.reduceat(a[0], np.array([0, 1, 0]), axis=1), u.outer(a[0, 0], a[0]))

    return f


@pytest.mark.parametrize("ufunc, dtype", [(np.add, "f4"), (np.multiply, "?"), (np.logical_and, "f8"), (minus, "f8"), (times, "i8")])
def test_the_same_as_numpy(ufunc, dtype):
    a = (np.random.default_rng(1).random((2, 3, 4)) * 5 + 1).astype(dtype)
    f = forms(ufunc)
    for got, wanted in zip(lw.njit(f)(a), f(a), strict=True):
        if isinstance(got, np.ndarray):
            assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_axes():
    a = np.arange(24.0).reshape(2, 3, 4)[:, ::-1]
    f = lw.njit(lambda a: np.maximum.reduce(a, axis=None))
    assert f(a) == 23
    f = lw.njit(lambda a, axis: np.add.reduce(a, axis=axis))
    for axis in (0, -1, (0, 2), (1, -1), ()):
        np.testing.assert_array_equal(f(a, axis), np.add.reduce(a, axis=axis))
    np.testing.assert_array_equal(lw.njit(lambda a: np.add.reduce(a, (0, 2), keepdims=True))(a), np.add.reduce(a, (0, 2), keepdims=True))


@pytest.mark.parametrize("f, error, text", [
    (lambda a: np.maximum.reduce(a[:0]), ValueError, "zero-size array to reduction operation maximum which has no identity"),
    (lambda a: np.add.reduce(a[:0, 0], initial=None), ValueError, "zero-size array"),
    (lambda a: np.subtract.reduce(a, axis=None), lw.errors.TypingError, "'subtract' is not reorderable"),
    (lambda a: np.add.reduce(a, axis=(0, 0)), ValueError, "duplicate value in 'axis'"),
    (lambda a: np.less.reduce(a), TypeError, "no loop of less"),
    (lambda a: np.negative.reduceat(a, [0]), lw.errors.TypingError, "reduceat only supported for binary functions"),
    (lambda a: np.add.reduceat(a, [0, 9]), IndexError, "index 9 out-of-bounds"),
    (lambda a: np.add.accumulate(a, out=np.zeros(3)), ValueError, "does not have the shape"),
])
def test_errors(f, error, text):
    with pytest.raises(error, match=text):
        lw.njit(f)(np.arange(6.0).reshape(2, 3))


def test_an_argument_of_another_kind_is_named():
    with pytest.raises(lw.errors.TypingError, match=r'E120: The first argument "array" must be array-like'):
        lw.njit(lambda a: np.add.reduce(a))("text")


@pytest.mark.parametrize("f, text", [
    (lambda a: np.add.reduceat(a, [0, 1], out=()), "output must be an array"),
    (lambda a: np.add.reduceat(a, [0, 1], axis=(0,)), '"axis" must be an integer'),
    (lambda a: np.add.reduceat(a, "abc"), '"indices" must be array-like'),
    (lambda a: np.add.reduceat(a, 1), '"indices" must be array-like'),
    (lambda a: np.add.reduceat(a, np.zeros((2, 2), int)), "at most 1 dimension"),
    (lambda a: np.negative.at(a, [0], 1), "second operand provided when ufunc is unary"),
])
def test_types_that_do_not_suit_are_told_when_the_call_is_compiled(f, text):
    with pytest.raises(lw.errors.TypingError, match=f"E120: .*{text}"):
        lw.njit(f)(np.arange(5))


def test_outputs():
    a = np.arange(4)
    out = np.zeros(4)

    @lw.njit
    def into(a, out):
        np.add.accumulate(a, out=out)
        np.add.reduceat(a, np.array([0, 3, 1, 2]), out=a)  # reads a before it is written

    into(a, out)
    assert out.tolist() == [0, 1, 3, 6] and a.tolist() == [3, 3, 1, 5]


@pytest.mark.parametrize("index, b", [
    (np.array([[0, 1], [1, -1]]), np.ones(4)), (np.array([True, False, True]), 2), (1, np.float32(0.5)), ([2, 0, 2], np.arange(3.0)[:, None]),
    ((1, np.array([0, 0])), 2), ((np.array([0, 1, 0]), np.array([2, 2, 2])), np.arange(3.0)),
])
def test_at(index, b):
    def f(a, index, b):
        np.add.at(a, index, b)

    a = np.arange(12.0).reshape(3, 4)
    got = a.copy()
    f(a, index, b)
    lw.njit(f)(got, index, b)
    np.testing.assert_array_equal(got, a)


def test_at_casts_back_and_checks_first():
    @lw.njit
    def power_at(a, i, b):
        np.power.at(a, i, b)

    a = np.arange(10)
    power_at(a, [1, 2, 3, 2], 3.5)
    assert a.tolist() == [0, 1, 4414, 46, 4, 5, 6, 7, 8, 9]
    lw.njit(lambda a: np.negative.at(a, [0, 1, 1, 1]))(a)
    assert a.tolist() == [0, -1, 4414, 46, 4, 5, 6, 7, 8, 9]
    with pytest.raises(IndexError, match="index 10 is out of bounds"):
        power_at(a, [1, 10], 2.0)
    with pytest.raises(ValueError, match="remapped shapes"):
        power_at(a, [1, 2], np.ones(3))
    with pytest.raises(lw.errors.TypingError, match="second operand needed"):
        power_at(a, [1, 2], None)
    assert a[1] == -1


def test_rest_arguments():
    @lw.njit
    def f(a, b=2, *args, k=5):
        s = a + b + k
        for x in args:
            s += x
        return s, len(args)

    assert f(1) == (8, 0) and f(1, 1, 1.5) == (8.5, 1) and f(1, 1, 1, 1, k=0) == (4, 2) and f(b=1, a=2) == (8, 0)
    with pytest.raises(TypeError, match="missing a required argument: 'a'"):
        f()
    with pytest.raises(TypeError, match="unexpected keyword argument 'args'"):
        f(1, args=3)
    with pytest.raises(lw.errors.UnsupportedError, match=r"takes `\*args`"):
        f[1, 1](1)


def test_lists_are_arguments():
    @lw.njit
    def f(x):
        s = 0.0
        for v in x:
            s += v
        return s, len(x)

    values = [1, 2.5, True]
    assert f(values) == (4.5, 3) and f([]) == (0.0, 0)
    values.append(4)
    assert f(values) == (8.5, 4)
    assert lw.njit(lambda x: np.sum(np.array(x)))([[1, 2], [3, 4]]) == 10
    with pytest.raises(TypeError, match="list of up to 64 items"):
        f([1] * 65)

    @lw.njit
    def change(x):
        x[0] = 1

    with pytest.raises(lw.errors.TypingError, match="E162"):
        change([1])


@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat"])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "floor_divide", "true_divide", "remainder", "logical_or"])
def test_dtypes_for_times_are_numpys(method, name):
    """NumPy ignores dtype= for sums of durations, and refuses it for products and for dates."""
    more = ([0, 1],) if method == "reduceat" else ()
    ours, numpys = getattr(getattr(lw, name), method), getattr(getattr(np, name), method)
    for x in (np.array([3, 1, 4], "m8[s]"), np.array([3, "NaT", 4], "M8[D]")):
        for dtype in ("f4", "u2", "?", "m8[ms]"):
            try:
                want = numpys(x, *more, dtype=dtype)
            except TypeError:
                with pytest.raises(TypeError):
                    ours(x, *more, dtype=dtype)
            else:
                got = ours(x, *more, dtype=dtype)
                assert got.dtype == want.dtype and got.tobytes() == want.tobytes()
