"""Long calls of vectorize on host arrays of any layout, which all cores share, against NumPy."""

from __future__ import annotations

import math
import threading
import warnings

import numpy as np
import pytest

import lanewise as lw

rng = np.random.default_rng(5)


@lw.vectorize
def madd(a, b):
    return a * b + a


@lw.vectorize(["f8(f8,f8)", "f4(f4,f4)"])
def declared(a, b):
    return a * b + a


@lw.vectorize
def split(a, b):
    return a + b, a - b


@lw.vectorize
def steps(x, y):
    n = 0
    while x > 1.0 and n < 50:
        x = x * 0.7 + y * 0.01
        n += 1
    return n


@lw.vectorize
def positive(x, y):
    if x < 0:
        raise ValueError("negative: {}", x)
    return x + y


def plain_steps(x, y):
    x, y = np.broadcast_arrays(x, y)
    x = x.copy()
    n = np.zeros(x.shape, np.int64)
    for _ in range(50):
        going = x > 1.0
        x = np.where(going, x * 0.7 + y * 0.01, x)
        n += going
    return n


def layouts():
    a = rng.random((260, 300)) * 4
    b = rng.random((260, 300)) * 4
    square = rng.random((280, 280))
    cube = rng.random((30, 40, 50))
    yield "a column and a row", a[:, :1], b[0]
    yield "parts of rows", a[1:-1, 1:-1], b[:-2, 2:]
    yield "every second column", a[:, ::2], b[:, 1::2]
    yield "backwards", a[::-1, ::-1], b[::-1, ::-1]
    yield "one backwards", a[::-1], b[:, ::-1]
    yield "transposed", square, rng.random((280, 280)).T
    yield "transposed, rows a power of two apart", rng.random((512, 512)), rng.random((512, 512)).T
    yield "axes turned, a power of two apart", rng.random((4, 256, 257)), rng.random((257, 4, 256)).transpose(1, 2, 0)
    yield "both transposed", a.T, b.T
    yield "axes turned", cube.transpose(2, 0, 1), rng.random((50, 30, 40))
    yield "axes turned otherwise", cube, rng.random((50, 40, 30)).transpose(2, 1, 0)
    yield "rows of three", rng.random((20000, 3)), np.array([1.0, 2.0, 3.0])
    yield "columns of three", rng.random((3, 20000)).T, rng.random((20000, 3))
    yield "rows of one, of many dimensions", rng.random((2, 1, 3, 1, 5, 7, 1, 11, 13)), rng.random((13,))
    yield "three broadcast dimensions", rng.random((40, 1, 30)), rng.random((50, 1))
    yield "no dimension", np.array(2.0), b
    yield "fortran and c", np.asfortranarray(a), b
    yield "overlapping input", np.lib.stride_tricks.sliding_window_view(rng.random(3000), 40), rng.random((2961, 40))


CASES = {name: (a, b) for name, a, b in layouts()}


@pytest.fixture(params=[1, 3], autouse=True)
def threads(request):
    with lw.config(threads=request.param):
        yield request.param


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_every_layout(name, dtype):
    a, b = (x if dtype == np.float64 else (x * 9).astype(dtype) for x in CASES[name])
    expected = a * b + a
    for _ in range(2):
        result = madd(a, b)
        np.testing.assert_allclose(result, expected, rtol=1e-6)
        assert result.dtype == expected.dtype
        assert result.strides == np.add(a, b).strides
    np.testing.assert_array_equal(madd(a, b), madd(np.ascontiguousarray(np.broadcast_to(a, expected.shape)), np.ascontiguousarray(np.broadcast_to(b, expected.shape))))


@pytest.mark.parametrize("name", CASES)
def test_outputs_of_every_layout(name):
    a, b = CASES[name]
    expected = np.asarray(a * b + a)
    shape = expected.shape
    outs = [np.empty(shape), np.empty(shape[::-1]).T, np.empty(shape + (2,))[..., 1], np.empty(shape)[::-1], np.empty(shape, np.float32), np.empty(shape, ">f8")]
    if len(shape) == 2:
        outs.append(np.empty((shape[0], shape[1] + 3))[:, 1:-2])
    for out in outs:
        assert madd(a, b, out=out) is out
        np.testing.assert_allclose(out, expected, rtol=1e-6)
        out[...] = 0
        assert madd(a, b, out) is out
        np.testing.assert_allclose(out, expected, rtol=1e-6)
    s, d = split(a, b)
    np.testing.assert_array_equal(s, a + b)
    np.testing.assert_array_equal(d, a - b)
    s, d = np.empty(shape[::-1]).T, None
    assert split(a, b, out=(s, d))[0] is s
    np.testing.assert_array_equal(s, a + b)
    np.testing.assert_array_equal(split(a, b, s)[1], a - b)


@pytest.mark.parametrize("name", CASES)
def test_masks_of_every_layout(name):
    a, b = CASES[name]
    expected = a * b + a
    masks = [rng.random(expected.shape) < 0.5, rng.random(expected.shape[::-1]).T < 0.9, rng.random(expected.shape[-1:]) < 0.3, np.array(True)]
    for mask in masks:
        out = np.full(expected.shape[::-1], -1.0).T
        assert madd(a, b, out=out, where=mask) is out
        np.testing.assert_allclose(out, np.where(mask, expected, -1.0), rtol=1e-14)
        both = np.full(expected.shape, -1.0), np.full(expected.shape, -2.0)
        split(a, b, out=both, where=mask)
        np.testing.assert_array_equal(both[0], np.where(mask, a + b, -1.0))
        np.testing.assert_array_equal(both[1], np.where(mask, a - b, -2.0))


@pytest.mark.parametrize("name", CASES)
def test_loops_of_different_lengths(name):
    a, b = CASES[name]
    np.testing.assert_array_equal(steps(a, b), plain_steps(a, b))


def test_casts():
    a, b = rng.random((300, 200)), rng.random((300, 1))
    for x in (a.astype("f4"), (a * 9).astype("i8"), a.astype(">f8"), (a * 9).astype("u1")):
        np.testing.assert_allclose(declared(x, b), x * b + x, rtol=1e-6)
        np.testing.assert_allclose(declared(x[::-1, ::2], 2.5), x[::-1, ::2] * 2.5 + x[::-1, ::2], rtol=1e-6)
    for number in (2, 2.5, np.float64(3), np.int32(7), np.float32(0.5)):
        np.testing.assert_allclose(madd(a.T, number), a.T * number + a.T, rtol=1e-12)
        assert madd(a.T.astype("f4"), number).dtype == np.multiply(a.T.astype("f4"), number).dtype
    unaligned = np.empty(300 * 200 * 8 + 1, np.uint8)[1:].view("f8").reshape(300, 200)
    unaligned[:] = a
    np.testing.assert_array_equal(madd(unaligned, b), madd(a, b))
    with pytest.raises(TypeError, match="same_kind"):
        declared(a, b, out=np.empty((300, 200), np.int64))
    with pytest.raises(ValueError, match="broadcast"):
        madd(a, rng.random((299, 1)))
    with pytest.raises(ValueError, match="[Nn]on-broadcastable|broadcast"):
        madd(a, b, out=np.empty((1, 200)))


@pytest.mark.parametrize("wide", ["i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
def test_inputs_of_narrower_types(wide):
    name = np.dtype(wide).name
    f = lw.vectorize([f"{name}({name},{name})"])(lambda a, b: a + b)
    b = rng.integers(0, 100, (250, 300)).astype(wide)
    for narrow in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4"):
        if not np.can_cast(narrow, wide):
            continue
        limits = np.iinfo(narrow) if np.dtype(narrow).kind in "iu" else None
        a = rng.integers(limits.min, limits.max, (250, 300), endpoint=True, dtype=narrow) if limits else rng.integers(0, 2, (250, 300)).astype(narrow) if narrow == "?" else rng.normal(size=(250, 300)).astype(narrow)
        for x, y in ((a, b), (a.reshape(-1), b.reshape(-1)), (a[::2, ::-1], b[1::2]), (a.T, b.T), (a[:, :1], b), (a[0], b), (np.ascontiguousarray(a[:, :3]), b[:, :3][::-1]), (a, b[0]), (a, 7), (a.byteswap().view(a.dtype.newbyteorder()), b)):
            for _ in range(2):
                np.testing.assert_array_equal(f(x, y), x.astype(wide) + np.asarray(y).astype(wide))
        mask = rng.random((250, 300)) < 0.5
        np.testing.assert_array_equal(f(a, b, out=np.zeros((250, 300), wide), where=mask), np.where(mask, a.astype(wide) + b, 0))
        both = np.zeros((250, 300), wide)
        np.testing.assert_array_equal(f(a, both, out=both), a.astype(wide))


def test_outputs_that_share_memory():
    for view in (np.s_[1:], np.s_[::-1], np.s_[:, ::-1], np.s_[2:, :-3]):
        x = rng.random((301, 303))
        expected = x.copy()
        part, first = x[view], expected[view]
        other = np.random.default_rng(1).random(part.shape)
        source = x[tuple(slice(0, n) for n in part.shape)]
        np.add(source.copy() * other, source.copy(), out=first)
        madd(source, other, out=part)
        np.testing.assert_allclose(x, expected, rtol=1e-14)
    x = rng.random((300, 300))
    expected = x.T * x + x.T
    np.testing.assert_allclose(madd(x.T, x, out=x), expected, rtol=1e-14)
    x = rng.random((512, 512))
    expected = x.T * x + x.T
    np.testing.assert_allclose(madd(x.T, x, out=x), expected, rtol=1e-14)
    x = rng.random((300, 300))[:, 1:-1]
    expected = x * x + x
    np.testing.assert_allclose(madd(x, x, out=x), expected, rtol=1e-14)
    # elements of the output that are one: the last one stays, as with NumPy
    x, once = rng.random((3000, 4)), np.zeros(4)
    out = np.lib.stride_tricks.as_strided(once, (3000, 4), (0, 8))
    madd(x, 1.0, out=out)
    np.testing.assert_array_equal(once, x[-1] * 1.0 + x[-1])


def test_vector_math_has_the_same_bits_everywhere():
    @lw.vectorize
    def bell(x, y):
        return math.exp(-x * x) * math.sin(y)

    for a, b in CASES.values():
        whole = bell(*(np.ascontiguousarray(x) for x in np.broadcast_arrays(a, b)))
        np.testing.assert_array_equal(bell(a, b), whole)
        np.testing.assert_allclose(whole, np.exp(-a * a) * np.sin(b), rtol=1e-13)


def test_failures_name_the_first_element():
    x = np.ones((512, 512))
    x[150, 7] = x[150, 9] = x[199, 1] = -3
    for y in (np.ones((512, 1)), np.ones((512, 512)).T):
        with pytest.raises(ValueError, match="-3.0") as caught:
            positive(x, y)
        assert f"element {150 * 512 + 7}" in "".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    few = np.ones((20000, 3))
    few[7000, 1] = few[7000, 2] = few[19999, 0] = -3
    with pytest.raises(ValueError) as caught:
        positive(few, np.ones(3))
    assert f"element {7000 * 3 + 1}" in "".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    mask = x > 0
    np.testing.assert_array_equal(positive(x, np.ones((512, 1)), out=np.zeros((512, 512)), where=mask), np.where(mask, 2.0, 0.0))


def test_floating_point_flags_are_numpys():
    @lw.vectorize
    def quotient(a, b):
        return a / b

    a, b = np.ones((300, 200)), np.ones((300, 400))[:, ::2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quotient(a, b)
        b[123, 45] = 0
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in quotient"):
            quotient(a, b)
        with np.errstate(divide="ignore"):
            assert np.isinf(quotient(a, b)).sum() == 1
        i, j = np.full((300, 200), 7), np.full((300, 400), 2)[:, ::2]
        np.testing.assert_array_equal(lw.ufuncs.floor_divide(i, j), 3)
        j[3, 3] = 0
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            lw.ufuncs.floor_divide(i, j)


def test_flags_of_short_rows_are_numpys():
    """Rows of 3 go through scratch memory. The quotient overflows, and NumPy's way to it is invalid, too, which no value shows."""
    a, b = np.full((30000, 3), 2.0), np.full(3, 1e-300)
    a[5000, 1] = 1e300

    def warned(divide):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            divide(a, b)
        return {str(one.message) for one in caught}

    assert warned(lw.ufuncs.floor_divide) == warned(np.floor_divide)


def test_many_threads_of_python():
    a, b = rng.random((500, 1)), rng.random((600,))
    expected = a * b + a
    wrong = []

    def calls():
        for _ in range(20):
            if not np.allclose(madd(a, b), expected, rtol=1e-14):
                wrong.append(1)

    every = [threading.Thread(target=calls) for _ in range(4)]
    for one in every:
        one.start()
    for one in every:
        one.join()
    assert not wrong


def test_subclasses_and_empty_arrays_are_numpys():
    class Mine(np.ndarray):
        pass

    a = rng.random((100, 200)).view(Mine)
    assert type(madd(a, a[:, :1])) is Mine
    assert madd(np.empty((0, 5000)), 1.0).shape == (0, 5000)
    assert madd(np.empty((5000, 0, 3)), np.empty((1, 3))).shape == (5000, 0, 3)


def test_inputs_of_which_too_many_or_too_different_lie_across():
    @lw.vectorize
    def mix(a, b):
        return a * 2.0 + b

    @lw.vectorize
    def six(a, b, c, d, e, f):
        return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f

    a, b = rng.integers(-100, 100, (1024, 1024), dtype=np.int8), rng.random((1024, 1024))
    np.testing.assert_array_equal(mix(a.T, b.T, out=np.empty((1024, 1024))), a.T * 2.0 + b.T)
    every = [rng.integers(0, 9, (1024, 1024)).astype("f8").T for _ in range(6)]
    np.testing.assert_array_equal(six(*every, out=np.empty((1024, 1024))), sum((i + 1) * x for i, x in enumerate(every)))


def test_numbers_of_elements_in_errors_are_those_of_c_order():
    x = np.ones((64, 3, 2048))
    x[5, 1, 9] = -1
    number = (5 * 3 + 1) * 2048 + 9
    turned = np.ones((2048, 3, 64)).T
    for call in (lambda: positive(x, 1.0), lambda: positive(x, turned), lambda: positive(x, 1.0, out=np.empty(x.shape[::-1]).T), lambda: positive(x, 1.0, out=np.empty(x.shape)[::-1, :, ::-1]),
                 lambda: positive(x[..., None], np.ones((64, 1, 1, 1))), lambda: positive(np.asfortranarray(x), turned)):
        with pytest.raises(ValueError) as caught:
            call()
        assert f"element {number}" in "".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_axes_of_size_one():
    x, mask = rng.random((3000, 1, 1)), rng.random((3000, 1, 1)) < 0.5
    np.testing.assert_array_equal(madd(x, x, out=np.zeros(x.shape), where=mask), np.where(mask, madd(x, x), 0))
    y = rng.random((6000, 2, 1))[::2, :1]
    np.testing.assert_allclose(madd(y, x), y * x + y, rtol=1e-14)


def test_outputs_given_twice():
    x = rng.random((300, 200))
    one, two = np.empty((300, 200)), np.empty((300, 200))
    with pytest.raises(TypeError, match="out"):
        madd(x[:, :1], x, one, out=two)
    with pytest.raises(TypeError, match="out"):
        split(x[:, :1], x, one, out=(None, two))
    with pytest.raises(TypeError, match="out"):
        madd(x[:, :1], x, one, out=two, where=x > 0)


def test_bools_of_other_bytes():
    odd = np.full((300, 200), 2, np.uint8).view(bool)
    np.testing.assert_array_equal(declared(odd, np.ones(200)), 2.0)


def test_outer():
    a, b = rng.random((20, 30)), rng.random((7, 9))[::2]
    np.testing.assert_array_equal(madd.outer(a, b), madd(a[:, :, None, None], b))
    assert madd.outer(a.T, b).shape == (30, 20, 4, 9)
    out = np.empty((30, 20, 4, 9))
    assert madd.outer(a.T, b, out=out) is out
    np.testing.assert_array_equal(out, madd.outer(a.T, b))
    assert madd.outer(a, b, dtype=np.float32).dtype == np.float32
    x = a[::2, ::3]
    np.testing.assert_array_equal(madd.outer(x, b), madd(np.ascontiguousarray(x)[:, :, None, None], b))
    with pytest.raises(ValueError, match="broadcast"):
        madd.outer(a, b, out=np.empty((30, 20, 4, 8)))
