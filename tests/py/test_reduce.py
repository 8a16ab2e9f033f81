"""lanewise.reduce on the CPU: against NumPy over axes, strides and dtypes, and against
functools.reduce where order matters."""

from __future__ import annotations

import functools
import inspect
import math
import os
import pickle
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, reductions

total = lw.reduce(lambda a, b: a + b)
product = lw.reduce(lambda a, b: a * b)
biggest = lw.reduce(lambda a, b: max(a, b))

ordered_last = lw.reduce(lambda a, b: b, identity=0)

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
#: Around the lanes (16 … 128), the blocks of 65 rows of lanes, the chunks of 16 blocks.
SIZES = [*range(0, 140), 255, 256, 257, 599, 600, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193,
         2079, 2080, 2081, 4159, 4160, 4161, 4223, 8320, 32767, 32768, 32769, 33279, 33280, 33281, 66559, 66560, 66561, 66625,
         131072, 133119, 133120, 133121, 300001]


def some(shape, dtype="f8", seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random(shape) * 7).astype(dtype)


def close(got, wanted):
    wanted = np.asarray(wanted)
    assert np.asarray(got).dtype == wanted.dtype and np.shape(got) == wanted.shape
    tolerance = {"e": 2e-3, "f": 2e-6, "F": 2e-6}.get(wanted.dtype.char, 1e-13)
    np.testing.assert_allclose(got, wanted, rtol=tolerance)


# ---- against NumPy ----


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_every_size(dtype):
    data = some(max(SIZES), dtype)
    for n in SIZES:
        close(total(data[:n]), np.add.reduce(data[:n]))


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_sums_among_other_numbers_widen(dtype):
    x = np.full(300, 100).astype(dtype)
    mean = lw.reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]), map=lambda x: (x, 1))
    wanted = np.add.reduce(x)
    for got in (mean(x), mean._simulate(x), mean(x.reshape(3, 100), axis=1)[0].sum(), mean.accumulate(x)[0][-1],
                mean.reduceat(x, [0])[0][0], lw.reduce(lambda a, b: a + b, map=lambda x: x)(x)):
        got = got[0] if isinstance(got, tuple) else got
        assert got == wanted and got.dtype == wanted.dtype
    both = lw.reduce(lambda a, b, c, d: (a * c, max(b, d)), map=lambda x: (x, x))
    for got in (both(x), both._simulate(x)):
        assert got[0] == np.multiply.reduce(x) and got[0].dtype == wanted.dtype
        assert got[1] == x[0] and got[1].dtype == x.dtype


def test_sums_that_keep_their_type():
    x = np.full(300, 200, "u1")
    pair, parts = (lambda x: (x, x)), (lambda a, b: (a[0] + b[0], a[1] + b[1]))
    said = lw.reduce(parts, map=pair, identity=(np.uint8(0), 0))(x)
    assert [v.dtype for v in said] == ["u1", "u8"] and said == (96, 60000)
    assert lw.reduce(lambda a, b: a + b, identity=np.uint8(0))(x).dtype == "u1"
    records = np.zeros(300, [("a", "u1"), ("b", "u1")])
    records["a"] = x
    behind = lambda p, q: (p[0], p[1] + q[1])  # noqa: E731
    for nothing in ({"a": 0, "b": 0}, np.zeros((), records.dtype)[()]):
        got = lw.reduce(behind, map=lambda r: (r, r.a), identity=(nothing, np.uint8(0)))(records)
        assert got[0] == records[0] and got[1] == 96 and got[1].dtype == "u1"
    assert [v.dtype for v in lw.reduce(parts, map=pair)(x, dtype="u1")] == ["u1", "u1"]
    for combine in (lambda a, b: (a[0] + b[0], a[1] + b[0]), lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]),
                    lambda a, b: (a[0] | b[0], a[1] ^ b[1]), lambda a, b: (a[1] + b[1], a[0] + b[0]),
                    lambda a, b: (a[0] + b[0] + np.uint8(1), a[0] if a[1] > b[1] else b[0])):
        assert [v.dtype for v in lw.reduce(combine, map=pair)(x)] == ["u1", "u1"]


@pytest.mark.parametrize("axis", [0, -1, (0, 1), np.int64(1), None], ids=str)
def test_an_axis_goes_by_its_name(axis):
    x = np.ones((3, 4))
    pairs = lw.reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]))  # of so many arrays as come
    mapped = lw.reduce(lambda a, b: a + b, map=lambda x, y: x * y)
    for call in (lambda: total(x, axis), lambda: pairs(x, axis), lambda: total(x, x, axis), lambda: mapped(x, x, axis)):
        with pytest.raises(TypeError, match=r"argument [23] of `<lambda>` must be an array, not .*; did you mean axis="):
            call()
    assert mapped(x, 2) == 24 and pairs(x, np.array(2)) == (12, 24)


@pytest.mark.parametrize("call", [lambda f, x: f(x, dtype="f4"), lambda f, x: f.accumulate(x, dtype="f8"),
                                  lambda f, x: f.reduceat(x, [0], dtype="i4"), lambda f, x: f(x, dtype="u1", axis=0)])
def test_imaginary_parts_are_not_lost_in_silence(call):
    x = np.array([1 + 2j, 3], "c8")
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        assert np.ravel(call(total, x))[-1] == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(np.exceptions.ComplexWarning):
            call(total, x)
        assert total(x, dtype="?") and total(x, dtype="c16") == 4 + 2j and total(x.real, dtype="f8") == 4


@pytest.mark.parametrize("bad", ["one", b"x", [0], {1}, object(), abs, (0, "a"), (0, (1, None)), {"x": "a"}], ids=type)
def test_identity_is_made_of_numbers(bad):
    with pytest.raises(TypeError, match=r"identity= must be a number, or a tuple or a record of numbers, (not|but) \w+"):
        lw.reduce(lambda a, b: a + b, identity=bad)


def test_numbers_that_cannot_be_held():
    x = np.ones(3)
    with pytest.raises(TypeError, match="identity= must be a number that float64 can hold, not complex 1j"):
        lw.reduce(lambda a, b: a + b, identity=1j)(x[:0])
    with pytest.raises(TypeError, match="initial= must be a number that float64 can hold, not str 'one'"):
        total(x, initial="one")
    with pytest.raises(TypeError, match="initial= must be a number that int64 can hold, not NoneType None"):
        lw.reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]), map=lambda x: (x, 1))(x, initial=(0, None))
    with pytest.raises(TypeError, match="identity= must be a tuple of 2 numbers"):
        lw.reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]), map=lambda x: (x, 1), identity=np.array(0))(x)
    with pytest.raises(ValueError, match="of int64 has no identity, for nan is no such number"):
        lw.reduce(lambda a, b: a + b, identity=math.nan)(np.empty(0, int))
    assert lw.reduce(lambda a, b: a + b, identity=np.float32(2))(np.empty(0, int)) == 2


@pytest.mark.parametrize("role", ["map", "combine", "finish"])
def test_functions_are_pythons(role):
    for bad in (3, "x", np.sin, len, int, [abs], np.array(1)):
        with pytest.raises(TypeError, match=f"{role}= must be a Python function, not {type(bad).__module__}" if isinstance(bad, (np.ndarray, np.ufunc))
                           else f"{role}= must be a Python function, not {type(bad).__name__} "):
            lw.reduce(**{"combine": lambda a, b: a + b, role: bad})
    with pytest.raises(TypeError, match=f"{role}=: `<lambda>` must not have parameters with"):
        lw.reduce(**{"combine": lambda a, b: a + b, role: lambda *a: a[0]})


def test_what_functions_give():
    for function, came in ((lambda x: b"s", "constant"), (lambda x: (x, b"s"), r"tuple\(float64, constant\)")):
        for role in ("map", "finish"):
            with pytest.raises(TypeError, match=f"{role} function `<lambda>` must give a number, or a tuple or a record of numbers, not {came}"):
                lw.reduce(lambda a, b: a + b, **{role: function})(np.ones(3))


#: Those of which the mask is one more operand on the host, and one (fmax) whose elements are put together first.
MASKED = {"add": lambda a, b: a + b, "multiply": lambda a, b: a * b, "maximum": lambda a, b: np.maximum(a, b), "minimum": lambda a, b: a if a < b else b,
          "bitwise_or": lambda a, b: a | b, "bitwise_xor": lambda a, b: a ^ b, "bitwise_and": lambda a, b: a & b, "fmax": lambda a, b: np.fmax(a, b)}


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "f4", "f8", "c16"])
@pytest.mark.parametrize("name", MASKED)
def test_masks_of_known_operators(name, dtype):
    if dtype[0] in "fc" and name.startswith("bitwise") or dtype == "c16" and name in ("maximum", "minimum", "fmax"):
        pytest.skip("NumPy has none")
    rng, reduction = np.random.default_rng(3), lw.reduce(MASKED[name])
    for shape, axes in (((7,), [0]), ((70_001,), [0]), ((30, 50), [0, 1, None]), ((5, 6, 7), [(0, 2)]), ((2000, 3), [0, 1])):
        x = (rng.choice([-1, 1], shape) if name == "multiply" else rng.integers(0 if dtype[0] in "?u" else -9, 9, shape)).astype(dtype)
        for mask in (rng.random(shape) < 0.5, rng.random(shape[-1:]) < 0.1, np.zeros(shape, bool), np.ones(shape, bool)):
            for axis in axes:
                initial = {} if axis is None and name == "add" else {"initial": x.dtype.type(1)}
                for array in (x, np.asfortranarray(x)):
                    wanted = getattr(np, name).reduce(array, axis=axis, where=mask, **initial)
                    close(reduction(array, axis=axis, where=mask, **initial), wanted)


def test_masks_and_nothing():
    zeros = np.array([-0.0, -0.0])
    assert np.signbit(total(zeros, where=[True, False])) and not np.signbit(total(zeros, where=[False, False]))
    rows, masks = np.array([[0, 5], [0, 5], [3, -3]]), [[True, False], [False, False], [True, True]]
    assert lw.reduce(lambda a, b: a + b, identity=7)(rows, axis=1, where=masks).tolist() == [0, 7, 0]
    top = lw.reduce(lambda a, b: np.maximum(a, b), identity=0)
    assert top(np.full((2, 1), -np.inf), axis=1, where=[[True], [False]]).tolist() == [-np.inf, 0]
    assert np.isnan(top(np.array([np.nan, -np.inf]), where=[True, True])) and top(np.array([np.nan, -np.inf]), where=[False, True]) == -np.inf
    few = lw.reduce(lambda a, b: (a[0] + b[0], max(a[1], b[1])), map=lambda x: (x, x), identity=(0, -128))
    x, mask = np.arange(-100, 100, dtype="i1"), np.arange(200) % 7 == 0
    assert few(x, where=mask) == (x[mask].sum(), x[mask].max()) and few(x, where=False) == (0, -128)


def test_masked_elements_are_not_looked_up():
    table = np.arange(4.0)
    looked_up = lw.reduce(lambda a, b: a + b, map=lambda i: table[i])
    assert looked_up(np.array([1, 2**40, 3]), where=[True, False, True]) == 4
    counted = lw.reduce(lambda a, b: a + b, map=lambda x, y: x / y)
    assert counted(np.array([1.0, 1.0]), np.array([2.0, 0.0]), where=[True, False]) == 0.5


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    a = some((37, 41), dtype)
    for axis in (None, 0, 1):
        got = total(a, axis=axis)
        close(got, np.add.reduce(a, axis=axis, dtype="f4").astype("f2") if dtype == "f2" else np.add.reduce(a, axis=axis))
        if dtype not in ("c8", "c16"):
            assert np.array_equal(biggest(a, axis=axis), np.max(a, axis=axis))
    close(product((a[0, :5] % 3 + 1).astype(dtype) if a.dtype.kind not in "c?" else a[0, :5]),
          np.multiply.reduce((a[0, :5] % 3 + 1).astype(dtype) if a.dtype.kind not in "c?" else a[0, :5]))


AXES = [None, (), 0, 1, 2, 3, -1, -3, (0, 1), (1, 3), (0, 2, 3), (-1, 0), (3, 2, 1, 0)]


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_axes_and_strides(axis):
    a = some((7, 5, 6, 9))
    views = [a, a.T, a[::2, ::-1], np.asfortranarray(a), np.broadcast_to(a[:1], a.shape), a[:, :, 1:2], a[:, ::3, :, ::-2]]
    for view in views:
        for keepdims in (False, True):
            close(total(view, axis=axis, keepdims=keepdims), np.add.reduce(view, axis=axis, keepdims=keepdims))
            assert np.array_equal(biggest(view, axis=axis, keepdims=keepdims), np.max(view, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("shape", [(20000, 3), (3, 20000), (700, 300), (5000, 40), (40, 5000), (100, 10, 50), (0, 5), (5, 0), (1, 1), ()], ids=str)
def test_shapes(shape):
    a = some(shape)
    for axis in [None, *range(len(shape))]:
        close(total(a, axis=axis), np.add.reduce(a, axis=axis))


@pytest.mark.parametrize("dtype", [">f4", ">i2", ">u8", ">c16"])
def test_swapped_bytes(dtype):
    r, x = lw.reduce(lambda a, b: a + b), np.arange(24).reshape(2, 3, 4).astype(dtype)
    assert r(x) == 276 and r(x).dtype == np.add.reduce(x, axis=None).dtype
    assert (r(x, axis=1) == np.add.reduce(x, axis=1)).all()
    assert (r.accumulate(x[0, 1]) == np.add.accumulate(x[0, 1])).all()
    assert (r.reduceat(x[0, 1], [0, 2]) == np.add.reduceat(x[0, 1], [0, 2])).all()


def test_complex_products_are_known():
    x = np.exp(1j * some(70_000)).reshape(70, 1000)
    for dtype in ("c8", "c16"):
        assert product._reorders(dtype) and lw.reduce(lambda a, b: b * a, fma=False)._reorders(dtype)
        assert not lw.reduce(lambda a, b: a * b.conjugate())._reorders(dtype)
        np.testing.assert_allclose(product(x.astype(dtype), axis=1), np.prod(x, axis=1), rtol=2e-4)
    assert product(x[:0]) == 1 and (product(x[:0], axis=0) == np.ones(1000)).all()


def test_an_array_of_no_dimension():
    for axis in (None, 0, -1, ()):
        assert repr(total(np.float32(3), axis=axis)) == repr(np.float32(3)) == repr(total(np.array(3, "f4"), axis=axis, keepdims=True))


def test_where_and_initial():
    a = some((300, 20))
    mask = some((300, 20), seed=1) > 3.5
    for axis in (None, 0, 1):
        close(total(a, axis=axis, where=mask), np.add.reduce(a, axis=axis, where=mask))
        close(total(a, axis=axis, where=mask, initial=5), np.add.reduce(a, axis=axis, where=mask, initial=5))
        close(biggest(a, axis=axis, where=mask, initial=2), np.max(a, axis=axis, where=mask, initial=2))
        close(biggest(a, axis=axis, initial=100), np.max(a, axis=axis, initial=100))
    close(total(a, axis=0, where=mask[:1]), np.add.reduce(a, axis=0, where=mask[:1]))
    close(total(a, where=False), 0.0)
    close(total(np.empty((0, 3)), axis=0, initial=7), np.full(3, 7.0))


def test_a_mask_that_thins_blocks():
    a = np.arange(200_000)
    for keep in (a % 1000 == 3, a < 70, (a > 70_000) & (a < 70_010), a % 4160 < 63, a != 5):
        assert total(a, where=keep) == a[keep].sum()
        assert ordered_last(a, where=keep, initial=0) == a[keep][-1]


def test_dtype_and_out():
    a = some((30, 20), "f4")
    close(total(a, axis=0, dtype="f8"), np.add.reduce(a, axis=0, dtype="f8"))
    assert total(a, dtype="i8") == np.add.reduce(a.astype("i8"), axis=None)
    assert total(np.full(1000, 100, "i1"), dtype="i1") == np.add.reduce(np.full(1000, 100, "i1"), dtype="i1")
    halves = np.array([0.5, 0.5, 0])
    for x in (halves, halves[:0], halves[2:]):  # dtype= comes first, and sums of bools are bools there
        assert total(x, dtype=bool) is np.add.reduce(x, dtype=bool) and product(x, dtype=bool) is np.multiply.reduce(x, dtype=bool)
    assert lw.reduce(lambda a, b: a + 0.5 * b)(halves + 1, dtype=int) == 2
    out = np.empty((20, 2))[:, 0]
    assert total(a, axis=0, out=out) is out
    close(out, np.add.reduce(a, axis=0, out=np.empty(20)))
    square = some((20, 20))
    wanted = np.add.reduce(square.copy(), axis=0)
    close(total(square, axis=0, out=square[0]), wanted)  # out is part of the input
    read_only, other = np.zeros(20), np.full(20, 7.0)
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        total(a, axis=0, out=read_only)
    with pytest.raises(ValueError, match="out= has shape"):
        total(a, axis=0, out=other[:5])
    assert not read_only.any() and (other == 7).all()
    assert (total(square, axis=0, out=np.zeros(40)[::2]) == total(square, axis=0)).all()
    assert (total(square, axis=0, out=np.zeros(20, ">f8")) == total(square, axis=0)).all()
    assert (total(square, axis=0, out=np.zeros(20, np.float32)) == total(square, axis=0).astype(np.float32)).all()
    for more in ({"initial": np._NoValue}, {"out": ...}):
        assert repr(total(square, **more)) == repr(np.add.reduce(square, axis=None, **more))
    zero = np.zeros(())
    assert total(a, out=(zero,)) is zero and zero == pytest.approx(float(a.sum()))


def test_float_sums_are_as_exact_as_numpys():
    a = some(1 << 20, "f4", seed=3)
    exact = np.add.reduce(a.astype("f8"))
    assert abs(float(total(a)) - exact) <= 2 * abs(float(np.add.reduce(a)) - exact) + exact * 2e-7
    ones = np.full(1 << 25, 0.1, "f4")
    exact = float(np.float32(0.1)) * ones.size
    assert abs(float(total(ones)) - exact) <= exact * 3e-7


# ---- order ----


def times(a, b):
    return a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]


matrices = lw.reduce(times, map=lambda p, q, r, s: (p, q, r, s))


@pytest.mark.parametrize("n", [1, 2, 3, 15, 16, 17, 100, 599, 1024, 1025, 4097, 20001])
def test_matrix_products_keep_their_order(n):
    data = np.random.default_rng(n).integers(0, 2**32, (4, n), dtype="u4")

    def step(a, b):
        return tuple(v & 0xFFFFFFFF for v in times(a, b))

    wanted = functools.reduce(step, zip(*data.tolist()))
    assert tuple(int(v) for v in matrices(*data)) == wanted


def test_affine_maps_keep_their_order():
    compose = lw.reduce(lambda a, b, c, d: (a * c, b * c + d), map=lambda a, b: (a, b), identity=(1, 0))
    data = np.random.default_rng(5).integers(0, 2**32, (2, 3, 4000), dtype="u4")
    for axis in (0, 1):
        got = compose(data[0], data[1], axis=axis)
        for place in np.ndindex(got[0].shape):
            row = (place if axis else (slice(None),) + place)
            a, b = 1, 0
            for c, d in zip(data[0][row].tolist(), data[1][row].tolist()):
                a, b = a * c & 0xFFFFFFFF, (b * c + d) & 0xFFFFFFFF
            assert (got[0][place], got[1][place]) == (a, b)
            if axis == 0 and place[0] > 50:
                break
    assert compose(data[0][:, :0], data[1][:, :0]) == (1, 0)


def test_first_of_all():
    first = lw.reduce(lambda a, b: a)
    last = lw.reduce(lambda a, b: b)
    for n in (1, 2, 17, 2049, 70000):
        x = np.arange(n, dtype="i4")
        assert first(x) == 0 and last(x) == n - 1
    x = np.arange(3000).reshape(300, 10)
    assert np.array_equal(first(x, axis=0), x[0]) and np.array_equal(last(x, axis=1), x[:, -1])


# ---- map, combine, finish ----


def merge_moments(a, b):
    n = a[0] + b[0]
    delta = b[1] - a[1]
    return n, a[1] + delta * b[0] / n, a[2] + b[2] + delta * delta * a[0] * b[0] / n


def test_an_identity_that_integers_cannot_hold():
    largest = lw.reduce(lambda a, b: max(a, b), identity=-np.inf)
    assert largest(np.array([3, 1, 2])) == 3 and largest.accumulate([1, 3, 2]).tolist() == [1, 3, 3]
    assert largest([]) == -np.inf and largest(np.ones(0, int), initial=5) == 5
    for call in (lambda: largest(np.ones(0, int)), lambda: largest([1, 2], where=[True, False])):
        with pytest.raises(ValueError, match="of int64 has no identity, for -inf is no such number: give initial="):
            call()
    with pytest.raises(ValueError, match="0.5 is no such number"):
        lw.reduce(lambda a, b: a * b + 0, identity=0.5)(np.ones(0, int))
    assert lw.reduce(lambda a, b: a * b + 0, identity=1.0)(np.ones(0, int)) == 1
    for none in (-np.inf, -1, 2, 0.5, np.nan):
        most = lw.reduce(lambda a, b: max(a, b), identity=none)
        assert not most(np.zeros(3, bool))
        with pytest.raises(ValueError, match="of bool has no identity, for .* is no such number"):
            most(np.zeros(3, bool), where=False)
    assert lw.reduce(lambda a, b: a and b, identity=1)(np.ones(0, bool))


def test_variance():
    variance = lw.reduce(map=lambda x: (1, x, 0.0), combine=merge_moments, finish=lambda n, m, s: s / n)
    x = some((500, 60), "f8") + 1e6
    for axis in (None, 0, 1):
        np.testing.assert_allclose(variance(x, axis=axis), x.var(axis=axis), rtol=1e-7)
    assert variance(some(100, "f4")).dtype == np.float32


def test_index_and_ties():
    def better(a, b):
        return a if a[0] > b[0] or (a[0] == b[0] and a[1] < b[1]) else b

    argmax = lw.reduce(better, map=lambda x, index: (x, index), finish=lambda value, at: at)
    x = some((300, 70), "i4")
    assert argmax(x) == x.argmax() and argmax(x).dtype == np.int64
    assert np.array_equal(argmax(x, axis=0), x.argmax(0)) and np.array_equal(argmax(x, axis=1), x.argmax(1))
    y = some((4, 5, 6), "i4")
    assert np.array_equal(argmax(y, axis=(0, 2)), y.transpose(1, 0, 2).reshape(5, -1).argmax(1))
    masked = np.where(x > 3, -1, x)
    assert argmax(x, where=x <= 3, initial=(-1, 0)) == masked.argmax()


def first_best(a, b):
    return a if a[0] > b[0] or (a[0] == b[0] and a[1] < b[1]) else b


in_order = lw.reduce(lambda a, b: b if b[0] < a[0] else a, map=lambda x, index: (x, index))
by_index = lw.reduce(first_best, map=lambda x, index: (x, index), commutative=True)
of_squares = lw.reduce(first_best, map=lambda x, index: (x * x + 1, index), commutative=True)
with_payload = lw.reduce(lambda a, b: a if a[0] >= b[0] else b, map=lambda x, y: (x, y + 1))


@pytest.mark.parametrize("dtype", ["i1", "u2", "i8", "f2", "f4", "f8"])
@pytest.mark.parametrize("n", [1, 255, 256, 1023, 1024, 1025, 2079, 2080, 4161, 33281, 66561, 200_001])
def test_the_best_and_where_it_is(n, dtype):
    """There are ties everywhere, and the best element is at each place of a block."""
    rng = np.random.default_rng(n)
    for a in (rng.integers(0, 100, n).astype(dtype), np.zeros(n, dtype), np.arange(n).clip(0, 100).astype(dtype)):
        for at in (0, n // 2, n - 1):
            a[at] = 101
            assert by_index(a) == (a.max(), a.argmax())
            assert in_order(a) == (a.min(), a.argmin())
            assert in_order(a[::-1]) == (a.min(), a[::-1].argmin())
            assert of_squares(a.astype("f8"))[1] == a.argmax()
            assert with_payload(a, np.arange(n)) == (a.max(), a.argmax() + 1)
            assert lw.reductions.argmax(a) == a.argmax() and lw.reductions.argmin(a) == a.argmin()
    assert (lw.reductions.argmax(a.reshape(1, n), axis=1) == a.argmax()).all()
    keep = rng.random(n) < 0.5
    if keep.any():
        assert by_index(a, where=keep, initial=(0, n))[1] == np.flatnonzero(keep)[a[keep].argmax()]


@pytest.mark.parametrize("n", [1000, 3000, 66561, 140_000])
def test_the_best_among_nan_and_zeros(n):
    rng = np.random.default_rng(n)
    for places in ([n - 1], [0], [n // 2, n // 2 + 1, n - 1], [3, n - 3]):
        a = rng.random(n, dtype="f4")
        a[places] = np.nan
        assert lw.reductions.argmax(a) == lw.reductions.argmin(a) == a.argmax() == places[0]
        assert np.isnan(lw.reductions.top1(a, a)[0])
        state = (a[0], 0)
        for i in range(1, n):  # what the operator says of NaN, where no block begins with one
            state = (a[i], i) if a[i] < state[0] else state
        if n <= 3000:
            np.testing.assert_array_equal(in_order(a), state)
    table = rng.integers(0, 3, (n // 50, 50)).astype("f4")
    table[rng.random(table.shape) < 50 / n] = np.nan
    for view in (table, table[:, ::-2]):
        assert (lw.reductions.argmax(view, axis=0) == view.argmax(0)).all() and (lw.reductions.argmin(view, axis=0) == view.argmin(0)).all()
    for rare in (np.arange(n) == n // 2, np.arange(n) != n // 2, np.zeros(n, "?")):
        assert lw.reductions.argmax(rare) == rare.argmax() and lw.reductions.argmin(rare) == rare.argmin()
    zeros = np.where(rng.random(n) < 0.5, -0.0, 0.0)
    assert lw.reductions.argmax(zeros) == 0 == lw.reductions.argmin(zeros)
    value, at = in_order(zeros)
    assert at == 0 and np.signbit(value) == np.signbit(zeros[0])


def test_several_arrays_broadcast():
    dot = lw.reduce(lambda a, b: a + b, map=lambda x, y: x * y)
    x, y = some((30, 40)), some(40, "f4", seed=2)
    close(dot(x, y), np.sum(x * y))
    close(dot(x, y, axis=1), x @ y)
    close(dot(x, 2.0, axis=0), 2 * x.sum(0))
    low, high = lw.reduce(lambda a, b: (min(a[0], b[0]), max(a[1], b[1])), map=lambda v: (v, v))(x, axis=0)
    assert np.array_equal(low, x.min(0)) and np.array_equal(high, x.max(0))


def test_no_bools_have_no_extreme():
    for f in (lw.reduce(lambda a, b: np.minimum(a, b)), lw.reduce(lambda a, b: max(a, b)), reductions.max):
        with pytest.raises(ValueError, match="identity"):
            f(np.zeros(0, bool))


def test_logical_and_bitwise():
    x = np.array([True, True, False])
    assert lw.reduce(lambda a, b: a and b)(x) == False  # noqa: E712
    assert lw.reduce(lambda a, b: a or b)(x) == True  # noqa: E712
    assert lw.reduce(lambda a, b: a and b)(x[:0]) == True  # noqa: E712
    for at in (0, 133_000, 299_999):  # those behind are not looked at, which nobody sees
        rare = np.arange(300_000) == at
        for where in (True, np.arange(300_000) % 2 == 0):
            assert lw.reductions.any(rare, where=where) == rare.any(where=where)
            assert lw.reductions.all(~rare, where=where) == (~rare).all(where=where)
        for x in (rare, ~rare, rare[::-3]):
            for least, most in ((lw.reductions.min, lw.reductions.max), (lw.reduce(lambda a, b: np.minimum(a, b)), lw.reduce(lambda a, b: np.maximum(a, b))),
                                (lw.reduce(lambda a, b: min(a, b)), lw.reduce(lambda a, b: a if a > b else b))):
                assert (least(x), most(x)) == (x.min(), x.max())
            for where in (np.arange(x.size) % 2 == 0, x, ~x):
                assert lw.reductions.min(x, where=where, initial=True) == x.min(where=where, initial=True)
                assert lw.reductions.max(x, where=where, initial=False) == x.max(where=where, initial=False)
        assert lw.reduce(lambda a, b: a ^ b)(rare) and not lw.reduce(lambda a, b: a ^ b)(rare | rare[::-1])
    bits = np.arange(1, 200, dtype="u2")
    for function, ufunc in ((lambda a, b: a & b, np.bitwise_and), (lambda a, b: a | b, np.bitwise_or), (lambda a, b: a ^ b, np.bitwise_xor)):
        assert lw.reduce(function)(bits) == ufunc.reduce(bits)
        assert lw.reduce(function)(bits[:0]) == ufunc.reduce(bits[:0])


def test_closures_are_read_at_the_first_call():
    offset = 1
    r = lw.reduce(lambda a, b: a + b, map=lambda x: x + offset)
    offset = 2
    assert r(np.arange(3)) == 9


# ---- keywords that say nothing sensible ----


@pytest.mark.parametrize("call, error, text", [
    (lambda r, x: r(x, keepdims="no"), TypeError, "keepdims= must be True or False, not str 'no'"),
    (lambda r, x: r(x, keepdims=None), TypeError, "keepdims= must be True or False, not NoneType None"),
    (lambda r, x: reductions.mean(x, keepdims="no"), TypeError, "keepdims= must be True or False, not str 'no'"),
    (lambda r, x: reductions.sum(x, keepdims=None), TypeError, "keepdims= must be True or False, not NoneType None"),
    (lambda r, x: r.accumulate(x, exclusive="a"), TypeError, "exclusive= must be True or False, not str 'a'"),
    (lambda r, x: r.accumulate(x, 0, None), TypeError, "exclusive= must be True or False, not NoneType None"),
    (lambda r, x: r(x, where=np.ma.array(x > 2, mask=x > 3)), TypeError, "where= is a masked array, whose mask compiled code would ignore"),
    (lambda r, x: r(x, stream=types.SimpleNamespace(ptr=0)), TypeError, "stream= is for device arrays; `sum_of` was called with host operands only"),
    (lambda r, x: r.accumulate(x, stream=types.SimpleNamespace(ptr=0)), TypeError, "stream= is for device arrays"),
    (lambda r, x: r.reduceat(x, [0], stream=types.SimpleNamespace(ptr=0)), TypeError, "stream= is for device arrays"),
    (lambda r, x: r(x.astype(int), initial=2**70), OverflowError, "initial= must be a number that int64 can hold, not int 1180591620717411303424"),
    (lambda r, x: reductions.var(x, ddof="a"), TypeError, "ddof= must be a number, not str 'a'"),
    (lambda r, x: reductions.std(x, ddof=None), TypeError, "ddof= must be a number, not NoneType None"),
    (lambda r, x: reductions.std(x, correction=[1]), TypeError, r"correction= must be a number, not list \[1\]"),
])
def test_wrong_keywords(call, error, text):
    def sum_of(a, b):
        return a + b

    r, x = lw.reduce(sum_of), np.arange(10.0)
    with pytest.raises(error, match="^" + text):
        call(r, x)


def test_keywords_as_numbers():
    r, x = lw.reduce(lambda a, b: a + b), np.arange(10.0)
    for keepdims in (1, np.True_, np.int8(1)):
        assert r(x, keepdims=keepdims).tolist() == [45]
    assert r(x, keepdims=0) == r(x, keepdims=np.False_) == r(x, where=np.ones(10, bool)) == 45
    assert r.accumulate(x[:3], exclusive=1).tolist() == [0, 0, 1]
    for ddof in (1, 1.0, True, np.float32(1), np.array(1)):
        assert reductions.var(x, ddof=ddof) == reductions.var(x, ddof=1)


# ---- numba's spelling ----


def test_numbas_call():
    x = np.arange(10.0)
    r = cuda.reduce(lambda a, b: a + b)
    assert r(x, size=4) == 6 and r(x, init=100) == 145 and r(x, stream=0) == 45
    assert r(x, size=10) == 45 and r(x, size=np.int8(3)) == 3 and r([1, 2, 3], size=2) == 3 and r(x, size=None) == 45
    for size in (-1, -3, 11, 2**70):
        with pytest.raises(ValueError, match=rf"size= must be 0 to 10, the number of elements, not {size}"):
            r(x, size=size)
    for size in (2.5, "3", True, np.array(3)):
        with pytest.raises(TypeError, match="size= must be an int, not "):
            r(x, size=size)
    for array in (x.reshape(2, 5), np.float64(3)):
        with pytest.raises(ValueError, match="size= is for an array of one dimension, not of [20]"):
            r(array, size=1)
    with pytest.raises(TypeError, match="size= is for one array"):
        lw.reduce(lambda a, b: a + b, map=lambda x, y: x * y)(x, x, size=1)
    res = np.zeros(2)
    assert r(x, res=res) is None and res.tolist() == [45, 0]

    @cuda.Reduce
    def also(a, b):
        return a + b

    assert also(x) == 45 and also.__name__ == "also"


# ---- scans and slices ----


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_accumulate(axis):
    a = some((5, 6, 7))
    for view in (a, a.T, a[::-1, ::2]):
        close(total.accumulate(view, axis=axis), np.add.accumulate(view, axis=axis))
        got = total.accumulate(view, axis, exclusive=True)
        wanted = np.add.accumulate(view, axis=axis) - view
        np.testing.assert_allclose(got, wanted, atol=1e-12)
    assert total.accumulate(np.ones(3, "i1")).dtype == np.int64
    assert biggest.accumulate([1, 3, 2, 5]).tolist() == [1, 3, 3, 5] == biggest.accumulate([1, 3, 2, 5], None).tolist()
    assert biggest.accumulate([1, 3, 2, 5], exclusive=True, initial=0).tolist() == [0, 1, 3, 3]
    out = np.zeros(3)
    assert total.accumulate([1.0, 2.0, 3.0], out=out) is out and out.tolist() == [1, 3, 6]


@pytest.mark.parametrize("n", [32767, 32768, 32769, 5 * 8128, 5 * 8128 + 1, 5 * 8128 + 2, 64 * 8128 + 5000])
def test_accumulate_of_long_rows(n):
    a = np.random.default_rng(n).integers(-9, 9, n)
    close(total.accumulate(a), np.cumsum(a))
    close(total.accumulate(a.astype("f4")), np.cumsum(a).astype("f4"))  # exact
    close(total.accumulate(a[::-1], exclusive=True), np.cumsum(a[::-1]) - a[::-1])
    close(total.accumulate(a, exclusive=True, initial=5), np.cumsum(a) - a + 5)
    close(biggest.accumulate(a), np.maximum.accumulate(a))
    close(ordered_last.accumulate(a, initial=3), a)
    close(total.accumulate(np.stack([a, a[::-1]], axis=1), axis=0), np.cumsum(np.stack([a, a[::-1]], axis=1), axis=0))
    weighted = lw.reduce(lambda a, b: a + b, map=lambda v, index: v * index)
    close(weighted.accumulate(np.stack([a, a]), axis=1), np.cumsum(np.stack([a, a]) * np.arange(n), axis=1))
    compose = lw.reduce(lambda a, b, c, d: (a * c, b * c + d), map=lambda a, b: (a, b), finish=lambda a, b: b)
    wanted, state = np.empty(n, "i8"), 0
    signs = np.where(a > 0, 1, -1)
    for i in range(n):
        state = wanted[i] = state * signs[i] + a[i]
    close(compose.accumulate(signs, a), wanted)


def test_accumulate_of_tuples_and_index():
    compose = lw.reduce(lambda a, b, c, d: (a * c, b * c + d), map=lambda a, b: (a, b), finish=lambda a, b: b)
    x = some((2, 50))
    state, wanted = 0.0, []
    for a, b in x.T:
        state = state * a + b
        wanted.append(state)
    np.testing.assert_allclose(compose.accumulate(x[0], x[1]), wanted)
    weighted = lw.reduce(lambda a, b: a + b, map=lambda v, index: v * index)
    close(weighted.accumulate(x, 1), np.add.accumulate(x * np.arange(50), axis=1))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_reduceat(axis):
    a = some((9, 10))
    for indices in ([0], [0, 4, 1, 6], [3, 3, 8], [8, 0]):
        close(total.reduceat(a, indices, axis), np.add.reduceat(a, indices, axis))
        close(biggest.reduceat(a.T, indices, axis=axis), np.maximum.reduceat(a.T, indices, axis))
    assert total.reduceat(a, np.empty(0, int)).shape == (0, 10)


@pytest.mark.parametrize("length", [1, 3, 7, 8, 9, 15, 16, 17, 49, 511, 512, 513, 5000])
def test_reduceat_of_many_slices(length):
    n = 70_000
    a = np.random.default_rng(length).integers(-9, 9, n)
    indices = np.arange(0, n, length)
    close(total.reduceat(a, indices), np.add.reduceat(a, indices))
    close(total.reduceat(a[::-1], indices), np.add.reduceat(a[::-1], indices))
    uneven = np.sort(np.random.default_rng(1).integers(0, n, n // length + 2))
    close(total.reduceat(a, uneven), np.add.reduceat(a, uneven))
    close(total.reduceat(a.reshape(7, 5000, 2), [0, 3, 2, 9, 4000], axis=1),
          np.add.reduceat(a.reshape(7, 5000, 2), [0, 3, 2, 9, 4000], axis=1))
    last = np.append(indices[1:], n) - 1
    close(ordered_last.reduceat(a, indices), a[last])
    numbered = lw.reduce(lambda a, b: a + b, map=lambda x, index: x * index)
    starts = np.repeat(indices, np.diff(np.append(indices, n)))
    close(numbered.reduceat(a, indices), np.add.reduceat(a * (np.arange(n) - starts), indices))
    both = lw.reduce(lambda a, b: (a[0] + b[0], np.maximum(a[1], b[1])), map=lambda x: (x, x))
    sums, tops = both.reduceat(a.astype("i2"), indices)
    close(sums, np.add.reduceat(a.astype("i2"), indices, dtype=sums.dtype))
    close(tops, np.maximum.reduceat(a, indices).astype(tops.dtype))
    keys = np.cumsum(np.isin(np.arange(n), indices))
    close(total.by_key(keys, a)[1], np.add.reduceat(a, indices))


def test_by_key():
    keys, values = np.repeat([3, 1, 3, 7], [5, 1, 2, 4]), some(12)
    unique, sums = total.by_key(keys, values)
    assert unique.tolist() == [3, 1, 3, 7]
    close(sums, np.add.reduceat(values, [0, 5, 6, 8]))
    assert total.by_key([], np.empty(0))[1].size == 0
    assert total.by_key(keys=[1, 1], values=[2, 3])[1].tolist() == [5] == total.reduceat([2, 3], indices=[0]).tolist()
    with pytest.raises(ValueError, match="5 keys"):
        total.by_key(np.zeros(5), values)


# ---- the same bits ----

BITS = """
import hashlib, numpy as np, lanewise as lw
rng = np.random.default_rng(1)
total = lw.reduce(lambda a, b: a + b)
ordered = lw.reduce(lambda a, b: a + b, commutative=False)
for shape in [(1000003,), (1000, 1003), (7, 150001), (150001, 7)]:
    x = rng.random(shape, dtype="f4")
    for r in (total, ordered):
        for axis in [None, *range(x.ndim)]:
            print(np.asarray(r(x, axis=axis)).tobytes()[:64].hex())
        print(hashlib.sha256(r.accumulate(x, -1).tobytes()).hexdigest())
    print(hashlib.sha256(total.reduceat(x, np.arange(0, len(x), 7)).tobytes()).hexdigest())
"""


@pytest.mark.slow_with_sanitizers
def test_the_same_bits_for_any_number_of_threads():
    seen = []
    for threads in ("1", "2", "3"):
        environment = {**os.environ, "LANEWISE_NUM_THREADS": threads}
        done = subprocess.run([sys.executable, "-c", BITS], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        seen.append(done.stdout)
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "c8", "i1"])
def test_the_same_bits_wherever_the_elements_lie(dtype):
    """Contiguous elements are added in whole chunks, rows several at a time, others block by block."""
    apart = some(2 * 140_000, dtype)[::2]
    for n in SIZES:
        if n == 0 or n > len(apart):
            continue
        x = apart[:n].copy()
        wanted = total(apart[:n])
        assert total(x).tobytes() == wanted.tobytes(), n
        if n < 9000:
            rows = np.stack([x[::-1], x, x])
            assert total(rows, axis=1)[1:].tobytes() == 2 * wanted.tobytes(), n


# ---- the GPU's kernel, run by the simulator ----


@pytest.mark.parametrize("n", [1, 2, 3, 31, 33, 255, 256, 257, 1000, 1024, 4095, 4096, 4097, 5001, 70001])
def test_the_kernel_simulated(n):
    first, last = lw.reduce(lambda a, b: a), lw.reduce(lambda a, b: b)
    for dtype in ("f4", "i1", "f8"):
        x = some(n, dtype, seed=n)
        for blocks in (1, 7):
            np.testing.assert_allclose(total._simulate(x, size=blocks), np.add.reduce(x), rtol=1e-5)
    x = np.arange(n, dtype="i4")
    for blocks in (1, 5):
        assert first._simulate(x, size=blocks) == 0 and last._simulate(x, size=blocks) == n - 1
        assert biggest._simulate(x, size=blocks, initial=n + 5) == n + 5
        assert lw.reduce(lambda a, b: b, max_blocksize=64)._simulate(x, size=blocks) == n - 1


@pytest.mark.parametrize("n", [24_575, 24_577, 40_001, 65_536, 81_923])
def test_blocks_that_take_turns_see_every_element_once(n):
    seen = lw.reduce(lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2]), map=lambda x, index: (x, index, 1))
    grown = lw.reduce(lambda a, b: a + b, map=lambda x: np.exp(x))  # loads an iteration ahead
    first_of = lw.reductions._argmax
    x = np.random.default_rng(n).integers(-99, 99, n, np.int64)
    for blocks in (2, 3, 16):
        assert seen._simulate(x, size=blocks) == (x.sum(), n * (n - 1) // 2, n)
        assert first_of._simulate(x, size=blocks) == x.argmax()
        assert grown._simulate(x / 99, size=blocks) == pytest.approx(np.exp(x / 99).sum(), rel=1e-13)
    narrow = np.ones(8 * n, np.int8)
    for at in (0, 4 * n + 1, 8 * n - 1):
        narrow[at] = 2
        assert biggest._simulate(narrow, size=3) == 2 and first_of._simulate(narrow, size=3) == at
        narrow[at] = 1
    table = x[: n // 2 * 2].reshape(-1, 2)
    assert np.array_equal(seen._simulate(table, axis=0, size=16)[0], table.sum(0)) and np.array_equal(first_of._simulate(table, axis=0, size=16), table.argmax(0))


@pytest.mark.parametrize("shape", [(5, 7), (300, 40), (40, 300), (3, 5000), (5000, 3), (1, 700)], ids=str)
def test_the_kernel_simulated_along_axes(shape):
    a = some(shape)
    for axis in (0, 1, None):
        for blocks in (1, 50):
            for view in (a, a.T):
                wanted = np.add.reduce(view, axis=axis, initial=3.0)
                np.testing.assert_allclose(total._simulate(view, axis=axis, size=blocks, initial=3.0), wanted, rtol=1e-12)


@pytest.mark.parametrize("shape", [(1,), (700,), (70_001,), (5, 700), (700, 5), (40, 300)], ids=str)
def test_the_kernel_simulated_with_a_mask(shape, thorough):
    rng = np.random.default_rng(3)
    for dtype in ("f4", "i1", "c8", "f2") if thorough else ("i1", "c8"):
        a = some(shape, dtype) if dtype != "f2" else some(shape, "?").astype("f2") / 64  # no sum overflows
        for mask in (rng.random(shape) < 0.5, rng.random(shape[-1:]) < 0.3, np.zeros(shape, bool), np.ones(shape, bool)):
            for axis in (None, *range(len(shape))):
                mask = mask if axis is not None else np.array(np.broadcast_to(mask, shape), order="C")
                for blocks in (1, 30):
                    got = total._simulate(a, axis=axis, size=blocks, where=mask)
                    wanted = np.add.reduce(a, axis=axis, where=mask, dtype="f4" if dtype == "f2" else got.dtype)
                    np.testing.assert_allclose(got, wanted,
                                               rtol=2e-3 if dtype == "f2" else 2e-5, atol=1e-4)
                    if dtype != "c8":
                        got = biggest._simulate(a, axis=axis, size=blocks, where=mask, initial=2)
                        assert np.array_equal(got, np.max(a, axis=axis, where=mask, initial=2))


def test_the_kernel_simulated_never_combines_what_the_mask_hides():
    rng = np.random.default_rng(5)
    last = lw.reduce(lambda a, b: b, identity=-1)
    joined = lw.reduce(lambda a, b: (a[0], b[1], a[2] + b[2] + (1 if a[1] > b[0] else 0)), map=lambda x: (x, x, 0), identity=(-7, -8, -9))
    for n in (1, 33, 5000, 40_001):
        x, mask = np.arange(n), rng.random(n) < 0.1
        for where in (mask, np.zeros(n, bool)):
            kept = x[where]
            for blocks in (1, 9):
                assert last._simulate(x, size=blocks, where=where) == (kept[-1] if kept.size else -1)
                got = [int(v) for v in joined._simulate(x, size=blocks, where=where)]
                assert got == ([kept[0], kept[-1], 0] if kept.size else [-7, -8, -9])


def test_the_kernel_simulated_keeps_order_and_index():
    argmax = lw.reduce(lambda a, b: a if a[0] > b[0] or (a[0] == b[0] and a[1] < b[1]) else b,
                       map=lambda x, index: (x, index), finish=lambda value, at: at, commutative=True)
    rng = np.random.default_rng(4)
    data = rng.integers(0, 2**32, (4, 30001), dtype="u4")
    assert tuple(matrices._simulate(*data, size=30)) == tuple(matrices(*data))
    x = rng.integers(0, 1000, 20000).astype("f4")
    assert argmax._simulate(x, size=9) == x.argmax()
    y = x[:18000].reshape(90, 200)
    for axis in (0, 1):
        assert np.array_equal(argmax._simulate(y, axis=axis, size=30), y.argmax(axis))


#: Few and many accesses a row, whole ones and not, rows that fill no warp; a warp's lanes make 1 to 32 of them.
SHORT = [(64, 1), (700, 2), (65, 3), (1000, 8), (129, 12), (300, 20), (100, 33), (77, 64), (64, 100), (67, 256), (5000, 4), (4097, 32)]


@pytest.mark.parametrize("shape", SHORT, ids=str)
def test_the_kernel_simulated_on_short_rows(shape):
    for dtype in ("i1", "f2", "f4", "f8", "c8"):
        x = some(shape, dtype) if dtype != "f2" else some(shape, "?").astype("f2")
        wanted = np.add.reduce(x, axis=1)
        np.testing.assert_allclose(total._simulate(x, axis=1, size=4), wanted, rtol=1e-5)
        np.testing.assert_allclose(total._simulate(x, axis=1, size=4, initial=2), wanted + 2, rtol=1e-5)
        if dtype != "c8":
            assert np.array_equal(biggest._simulate(x, axis=1, size=4), x.max(axis=1))
            assert np.array_equal(biggest._simulate(x[::-1, ::-1], axis=1, size=4), x.max(axis=1)[::-1])
    both = lw.reduce(map=lambda a, b, index: (a * b, index), combine=lambda a, b: (a[0] + b[0], min(a[1], b[1])), commutative=True)
    a, b = some(shape), some((shape[1],))
    sums, least = both._simulate(a, b, axis=1, size=4)
    np.testing.assert_allclose(sums, a @ b, rtol=1e-12)
    assert not least.any()


def test_the_kernel_simulated_on_many_rows_at_a_time():
    """There are so many rows that a thread takes eight of them, and the last thread fewer."""
    x = np.arange((1 << 17) + 3, dtype="i2")[:, None] * np.int16([1, 3])
    assert np.array_equal(biggest._simulate(x, axis=1, size=4), x.max(axis=1))
    y = some(((1 << 15) + 5, 32), "f4")
    np.testing.assert_allclose(total._simulate(y, axis=1, size=4), y.sum(axis=1, dtype="f8"), rtol=1e-6)


@pytest.mark.slow_with_sanitizers
@pytest.mark.parametrize("shape", [(5, 4), (33, 8), (32, 1000), (1000, 32), (700, 48), (9, 20), (4000, 16)], ids=str)
def test_the_kernel_simulated_on_columns_that_lie_in_vectors(shape, request):
    first, last = lw.reduce(lambda a, b: a), lw.reduce(lambda a, b: b)
    for dtype in ("i1", "u2", "f4", "f8") if request.config.getoption("--thorough") else ("i1", "f4"):
        x = some(shape, dtype)
        for blocks in (1, 60):
            np.testing.assert_allclose(total._simulate(x, axis=0, size=blocks), np.add.reduce(x, axis=0), rtol=1e-5)
            assert np.array_equal(biggest._simulate(x, axis=0, size=blocks), x.max(axis=0))
            assert np.array_equal(first._simulate(x, axis=0, size=blocks), x[0]) and np.array_equal(last._simulate(x, axis=0, size=blocks), x[-1])
            assert np.array_equal(reductions._argmax._simulate(x, axis=0, size=blocks), x.argmax(axis=0))
            mask = x > 2
            got = biggest._simulate(x, axis=0, size=blocks, where=mask, initial=1)
            assert np.array_equal(got, np.max(x, axis=0, where=mask, initial=1))


PICKS = [(lambda a, b: max(a, b), np.max), (lambda a, b: min(a, b), np.min), (lambda a, b: a if a >= b else b, np.max),
         (lambda a, b: b if a >= b else a, np.min), (lambda a, b: a if b > a else b, np.min), (lambda a, b: b if b > a else a, np.max)]


@pytest.mark.slow_with_sanitizers
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2"])
def test_the_kernel_simulated_on_narrow_integers(dtype):
    limits, rng = np.iinfo(dtype), np.random.default_rng(6)
    for n in (256, 1000, 16_384, 70_001):
        spread = rng.integers(limits.min, limits.max, n, dtype, endpoint=True)
        low, high = (np.full(n, value, dtype) for value in (limits.min, limits.max))
        low[n // 2] += 1
        high[n - 1] -= 1
        for x in (spread, spread // 3, low, high, low[::-1].copy()):
            for combine, wanted in PICKS:
                for blocks in (1, 7):
                    assert lw.reduce(combine)._simulate(x, size=blocks) == wanted(x)
    rows = spread[:69_632].reshape(34, 2048)
    assert np.array_equal(biggest._simulate(rows, axis=1, size=1), rows.max(axis=1))


def merge_exp(a, b):
    top = max(a[0], b[0])
    return top, a[1] * math.exp(a[0] - top) + b[1] * math.exp(b[0] - top)


@pytest.mark.parametrize("n", [1, 4096, 8191, 8192, 8195, 12_288, 20_001, 50_000, 100_003])
def test_the_kernel_simulated_that_loads_a_round_ahead(n):
    logs = lw.reduce(map=lambda x: (x, np.float32(1)), combine=merge_exp, finish=lambda top, s: top + math.log(s), commutative=True)
    where = lw.reduce(map=lambda x, index: (math.exp(x), index), combine=lambda a, b: a if a[0] > b[0] or (a[0] == b[0] and a[1] < b[1]) else b,
                      finish=lambda v, at: at, commutative=True)
    product = lw.reduce(map=lambda x, y: math.log(x) * y, combine=lambda a, b: a + b)
    x, y = some(n, "f4"), some(n, "f8", seed=1)
    for blocks in (1, 3):
        assert logs._simulate(x, size=blocks) == pytest.approx(np.log(np.exp(x.astype("f8")).sum()), rel=1e-5)
        assert where._simulate(x, size=blocks) == x.argmax()
        assert product._simulate(x + 1, y, size=blocks) == pytest.approx((np.log(x.astype("f8") + 1) * y).sum(), rel=1e-5)
    if n > 4096:
        square = x[:n // 64 * 64].reshape(-1, 64)
        for axis in (0, 1):
            got = logs._simulate(square, axis=axis, size=30)
            np.testing.assert_allclose(got, np.log(np.exp(square.astype("f8")).sum(axis)), rtol=1e-5)


@pytest.mark.parametrize("view, axis", [
    (lambda x: x, 1), (lambda x: x[:, :, :31], 1), (lambda x: x[::-1, ::3], 1), (lambda x: x[:, ::2], 2), (lambda x: x[:, 1:, :32], 2), (lambda x: x[:, 1::2, 3:], -1),
    (lambda x: x.reshape(5, 7, 10, 40), 1), (lambda x: x.reshape(5, 7, 10, 40), 2), (lambda x: x.transpose(1, 0, 2), 0), (lambda x: x.transpose(0, 2, 1), 2),
])
def test_the_kernel_simulated_on_rows_of_results(view, axis):
    for dtype in ("i1", "f4", "f8", "c8"):
        x = view(some((5, 70, 40), dtype))
        for blocks in (1, 60):
            np.testing.assert_allclose(total._simulate(x, axis=axis, size=blocks), np.add.reduce(x, axis=axis), rtol=1e-5)
            mask = x.real > 2
            np.testing.assert_allclose(total._simulate(x, axis=axis, size=blocks, where=mask), np.add.reduce(x, axis=axis, where=mask), rtol=1e-5)
            if dtype != "c8":
                assert np.array_equal(reductions._argmax._simulate(x, axis=axis, size=blocks), x.argmax(axis=axis))
    weights = some(40, "f4")
    dots = lw.reduce(map=lambda a, w: a * w, combine=lambda a, b: a + b)
    x = some((5, 70, 40), "f4")
    np.testing.assert_allclose(dots._simulate(x, weights, axis=1, size=9), (x * weights).sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize("view, axis", [
    (lambda x: x, (0, 2)), (lambda x: x[:, :, :31], (0, 2)), (lambda x: x[:, ::2], None), (lambda x: x[:, :, :32], None), (lambda x: x[2, ::-1, 3:], None),
    (lambda x: x.reshape(5, 7, 10, 40), (0, 2)), (lambda x: x.reshape(5, 7, 10, 40), (1, 3)), (lambda x: x.reshape(5, 70, 10, 4), (0, 3)), (lambda x: x.transpose(1, 0, 2), (0, 2)),
])
def test_the_kernel_simulated_on_rows_of_elements(view, axis):
    for dtype in ("i1", "f4", "f8", "c8"):
        x = view(some((5, 70, 40), dtype))
        for blocks in (1, 60):
            np.testing.assert_allclose(total._simulate(x, axis=axis, size=blocks), np.add.reduce(x, axis=axis), rtol=1e-5)
            mask = x.real > 2
            np.testing.assert_allclose(total._simulate(x, axis=axis, size=blocks, where=mask), np.add.reduce(x, axis=axis, where=mask), rtol=1e-5)
            if dtype != "c8":
                assert np.array_equal(biggest._simulate(x, axis=axis, size=blocks), x.max(axis=axis))
    numbers = view(np.arange(5 * 70 * 40).reshape(5, 70, 40))
    for fold, end in ((lambda a, b: a, 0), (lambda a, b: b, -1)):  # in NumPy's order
        moved = np.moveaxis(numbers, axis, range(-len(axis), 0)) if axis else numbers
        wanted = moved.reshape(*moved.shape[:moved.ndim - len(axis)], -1)[..., end] if axis else numbers.ravel()[end]
        assert np.array_equal(lw.reduce(fold)._simulate(numbers, axis=axis, size=7), wanted)


def test_the_kernel_simulated_on_bools_and_complex_numbers_in_vectors():
    some_are, rng = lw.reduce(lambda a, b: a or b), np.random.default_rng(8)
    for shape in ((20_001,), (33, 64), (3000, 8), (7, 3008)):
        flags, numbers = rng.random(shape) < 0.001, some(shape, "c8")
        for axis in (None, *range(len(shape))):
            for blocks in (1, 30):
                assert np.array_equal(some_are._simulate(flags, axis=axis, size=blocks), flags.any(axis=axis))
                assert np.array_equal(total._simulate(flags, axis=axis, size=blocks), flags.sum(axis=axis))
                np.testing.assert_allclose(total._simulate(numbers, axis=axis, size=blocks), numbers.sum(axis=axis), rtol=1e-5)


@pytest.mark.slow_with_sanitizers
@pytest.mark.parametrize("cc", [75, 90, 100, 120])
def test_the_kernel_compiles_for_gpus(cc):
    pytest.importorskip("cuda.pathfinder", reason="no compiler for GPUs")
    for r, x, axis in [(total, some(100_000, "f4"), None), (total, some((40, 300), "c16"), 0), (total, some((700, 32), "f4"), 1), (biggest, some(9999, "i1"), None), (matrices, some(999, "i1"), None), (biggest, some(9999, "f2"), None)]:
        arrays = [x] * 4 if r is matrices else [x]
        assert r._simulate(*arrays, axis=axis, res=cc)[:4] == b"\x7fELF"
        if r is not matrices:
            assert r._simulate(*arrays, axis=axis, res=cc, where=x.real > 3, initial=1)[:4] == b"\x7fELF"


# ---- errors ----


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: biggest(np.empty(0)), ValueError, "zero-size array to reduction operation .* which has no identity"),
        (lambda: total(np.empty(0), initial=None), ValueError, "zero-size"),
        (lambda: total(np.zeros(3, [("a", "f4"), ("b", "i4")])), TypeError, "have a record of 2"),
        (lambda: biggest(np.ones(3), where=[True, False, True]), ValueError, "where mask"),
        (lambda: total(np.ones(3), axis=1), np.exceptions.AxisError, "axis 1 is out of bounds"),
        (lambda: total(np.ones((3, 3)), axis=(0, 0)), ValueError, "duplicate value in 'axis'"),
        (lambda: total(np.ones((3, 3)), axis=True), TypeError, "an integer is required"),
        (lambda: total(np.ma.array([1.0, 2.0], mask=[True, False])), TypeError, "argument 1 is a masked array"),
        (lambda: total.accumulate(np.ma.ones(3)), TypeError, "argument 1 is a masked array"),
        (lambda: total.reduceat(np.ma.ones(3), [0, 1]), TypeError, "argument 1 is a masked array"),
        (lambda: total.by_key([1, 1, 2], np.ma.ones(3)), TypeError, "mask of a masked array"),
        (lambda: total(np.float32(3), axis=1), np.exceptions.AxisError, "axis 1 is out of bounds"),
        (lambda: total.accumulate(np.ones((3, 3)), axis=None), ValueError, "accumulate does not allow multiple axes"),
        (lambda: total.reduceat(np.ones((3, 3)), [0], axis=(0, 1)), ValueError, "reduceat does not allow multiple axes"),
        (lambda: total(np.ones(3), axes=1), TypeError, "unexpected keyword argument 'axes'"),
        (lambda: total(np.ones(3), out=np.ones(2)), ValueError, r"out= has shape \(2,\)"),
        (lambda: total(np.ones(3), out=np.array(0)), TypeError, r"cannot take results of dtype\('float64'\); the array is of dtype\('float64'\)"),
        (lambda: total(np.ones(3, "f4"), out=np.array(0, "i4")), TypeError, r"cannot take results of dtype\('float64'\); the array is of dtype\('float32'\)"),
        (lambda: total(np.ones(3), where=[True, False]), ValueError, "where= of shape"),
        (lambda: total(np.ones(3), init=1, initial=2), TypeError, "give one"),
        (lambda: total(np.array(["a"])), TypeError, "argument 1 has dtype"),
        (lambda: total(np.ones(3), dtype="U3"), TypeError, "dtype= must be"),
        (lambda: total(), TypeError, "reduces 1 to 16 arrays, not 0"),
        (lambda: lw.reduce(lambda a, b: a + b, map=lambda a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q: a)(*[np.ones(3)] * 17), TypeError,
         "its map takes 17 arrays; expected at most 16"),
        (lambda: matrices(np.ones(3)), TypeError, "reduces 4 arrays"),
        (lambda: total.accumulate(np.float64(1)), TypeError, "cannot accumulate on a scalar"),
        (lambda: biggest.accumulate(np.ones(3), exclusive=True), ValueError, "not known"),
        (lambda: total.accumulate(np.ones(3), 0, False, 1), TypeError, "positional"),
        (lambda: total.reduceat(np.ones(3), [3]), IndexError, "out-of-bounds"),
        (lambda: total.reduceat(np.ones(3)), TypeError, "indices"),
        (lambda: total.by_key([1], keys=[1]), TypeError, "multiple values for argument .keys"),
        (lambda: total.by_key([1]), TypeError, "takes keys and 1 array of values, not 0"),
        (lambda: total.by_key([1], [1], [1]), TypeError, "takes keys and 1 array of values, not 2"),
        (lambda: total(np.ones(3), initial=np.ones(3)), ValueError, "initial= must be one number"),
        (lambda: lw.reduce(3), TypeError, "must be a Python function"),
        (lambda: lw.reduce(lambda a, b: a, color=1), TypeError, "unexpected keyword argument 'color'"),
        (lambda: lw.reduce(color=1), TypeError, "unexpected keyword argument 'color'"),
        (lambda: lw.reduce(lambda a, b: a, combine=max), TypeError, "twice"),
        (lambda: lw.reduce(lambda *a: a), TypeError, "must not have parameters with"),
        (lambda: lw.reduce(lambda a, b: a, commutative=1), TypeError, "commutative= must be"),
        (lambda: lw.reduce(lambda a, b, c: a)(np.ones(3)), TypeError, "takes 3 parameters"),
        (lambda: lw.reduce(lambda a, b: (a, b))(np.ones(3)), TypeError, "gives a tuple of 2 numbers"),
        (lambda: lw.reduce(lambda a, b: (a[0],), map=lambda x: (x, x))(np.ones(3)), TypeError, "gives a tuple of 1 number"),
        (lambda: lw.reduce(lambda a, b: a, map=lambda x, y, z: x)(np.ones(3)), TypeError, "reduces 3 arrays"),
        (lambda: lw.reduce(times, identity=1, map=lambda x: (x, x, x, x))(np.ones(0)), TypeError, "identity= must be a tuple of 4"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_target():
    add = {target: lw.reduce(lambda a, b: a + b, target=target) for target in ("auto", "cpu", "cuda")}
    assert add["auto"](np.ones(3)) == add["cpu"](np.ones(3)) == 3
    for call in (lambda r: r(np.ones(3)), lambda r: r.accumulate(np.ones(3)), lambda r: r.reduceat(np.ones(3), [0])):
        if cuda.is_available():
            assert np.array_equal(call(add["cuda"]), call(add["cpu"]))
        else:
            with pytest.raises((lw.errors.DriverError, lw.errors.CompilerNotFound)):
                call(add["cuda"])


def test_errors_in_the_function_show_its_line():
    with pytest.raises(lw.LanewiseError, match="unknown_name"):
        lw.reduce(lambda a, b: a + unknown_name)(np.ones(3))  # noqa: F821


# ---- the object ----


def test_the_object():
    @lw.reduce(identity=0)
    def add(a, b):
        "Adds."
        return a + b

    assert add.__name__ == "add" and add.__doc__ == "Adds." and add.identity == 0
    assert str(inspect.signature(add)).startswith("(a, /, *more, axis=None, dtype=None, out=None, keepdims=False, initial=")
    assert add.py_func(1, 2) == 3 and add.map is None and repr(add) == "<lanewise.Reduction 'add'>"
    assert isinstance(add, lw.Reduction)
    add(np.ones(3))
    add(np.ones(3, "f4"))
    assert add.stats["specialisations"] == 2 and add.stats["compiled"] == 2
    add.accumulate(np.ones(3))  # the loops of scans are compiled when one is called
    add.reduceat(np.ones(3), [0, 1])
    assert add.stats["specialisations"] == 2 and add.stats["compiled"] == 4  # those of reduceat are others


def test_pickle():
    scale = 3
    r = pickle.loads(pickle.dumps(lw.reduce(lambda a, b: a + b, map=lambda x: x * scale, finish=lambda s: s + 1, identity=0)))
    assert r(np.arange(4)) == 19 and r(np.empty(0)) == 1
    assert pickle.loads(pickle.dumps(total))(np.arange(4)) == 6


def test_what_others_hold_is_let_go():
    import gc
    import weakref

    r = lw.reduce(lambda a, b: a + b)
    r(np.ones(3))
    gone = weakref.ref(r)
    del r
    gc.collect()
    assert gone() is None
