"""lanewise.reductions on the host, against NumPy."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
import pydoc
import sys
import warnings
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lanewise as lw
from lanewise import _ufunc_methods, reductions

REDUCTIONS = ["sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "argmin", "argmax", "count_nonzero"]
DTYPES = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"]
SHAPES = [(), (1,), (37,), (5, 7), (2, 3, 4), (3, 1000)]
RTOL = {"e": 5e-3, "f": 2e-5, "F": 2e-5}


def some(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.random(shape) * 1.5 + (0.3 if dtype[0] == "u" else -0.4)
    return (x + 1j * rng.random(shape) if dtype[0] == "c" else np.round(x, 3)).astype(dtype)


def same(got, wanted):
    assert type(got) is type(wanted) and got.dtype == wanted.dtype and got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=RTOL.get(wanted.dtype.char, 1e-12), atol=2e-3 if wanted.dtype.char == "e" else 1e-6)


def axes_of(name, shape):
    more = [(0, 1), (-1, 0)] if len(shape) > 1 and not name.startswith("arg") else []
    return [None, *range(-1, len(shape)), *more] if shape else [None]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_as_numpy(name, dtype):
    for shape in SHAPES:
        x = some(shape, dtype)
        for axis in axes_of(name, shape):
            for keepdims in (False, True):
                wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
                same(getattr(reductions, name)(x, axis=axis, keepdims=keepdims), wanted)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("dtype", [int, "u1", bool, "f2", "f4", float, "c8", complex], ids=str)
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "cumsum", "cumprod"])
def test_the_dtype_asked_for(name, dtype):
    for x in (np.array([1, 2, 4]), np.array([[1.0, 2.0, 4.5], [3.0, 3.0, 9.0]]), np.array([1 + 2j, 2.0])):
        for axis in (None, -1):
            if name in ("var", "std") and dtype is bool:  # NumPy makes bools of the mean and of each square
                wanted = getattr(np, name)(x, axis=axis).astype(dtype)
            elif name == "std" and np.dtype(dtype).kind in "iu":  # NumPy fails at roots of arrays
                wanted = np.sqrt(np.var(x, axis=axis, dtype=dtype)).astype(dtype)
            else:
                wanted = getattr(np, name)(x, axis=axis, dtype=dtype)
            same(getattr(reductions, name)(x, axis=axis, dtype=dtype), wanted)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "cumsum", "cumprod"])
def test_a_real_dtype_of_complex_numbers_warns(name):
    for dtype in (float, int):
        for module in (np, reductions):
            with pytest.warns(np.exceptions.ComplexWarning, match="Casting complex values to real discards the imaginary part"):
                getattr(module, name)([1 + 2j, 2.0], dtype=dtype)


@pytest.mark.parametrize("call", [lambda m: m.argmax([]), lambda m: m.argmin(np.empty((0, 3)), axis=0),
                                  lambda m: m.argmax(np.empty(0, complex)), lambda m: m.argmin(np.empty((3, 0)), axis=-1)])
def test_where_nothing_is(call):
    with pytest.raises(ValueError) as wanted:
        call(np)
    with pytest.raises(ValueError) as got:
        call(reductions)
    assert str(got.value) == str(wanted.value)


@pytest.mark.parametrize("call, name", [
    (lambda: reductions.minmax([]), "minmax"), (lambda: reductions.top1([], []), "top1"), (lambda: reductions.top1(np.empty((0, 1)), [1, 2], axis=0), "top1"),
    (lambda: reductions.minmax([1, 2], where=[True, False]), "'minmax'"), (lambda: reductions.minmax(np.empty((2, 0)), axis=(0, 1)), "minmax"),
])
def test_public_names(call, name):
    with pytest.raises(ValueError, match=f"reduction operation {name} "):
        call()
    assert reductions.argmax(np.empty((0, 3)), axis=1).shape == (0,) and reductions.minmax(np.empty((0, 2)), axis=1)[0].shape == (0,)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_scans_as_numpy(name, dtype):
    for shape in SHAPES[1:]:
        x = some(shape, dtype)
        for axis in (None, *range(-1, len(shape))):
            wanted = getattr(np, name)(x, axis=axis, dtype="f4" if dtype == "f2" else None)
            got = getattr(reductions, name)(x, axis=axis)
            assert got.dtype == getattr(np, name)(x[..., :1]).dtype
            same(got.astype(wanted.dtype), wanted if dtype != "f2" else wanted.astype("f2").astype("f4"))


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum", "nancumprod"])
@pytest.mark.parametrize("dtype", [">f4", ">f8", ">i8", ">u2", ">c16"])
def test_scans_ignore_the_byte_order_of_dtype(name, dtype):
    for x in (np.array([1.5, 2, -3]), np.array([[1, 2, 3], [4, 5, 6]], "i4"), np.array([True, True])):
        if np.dtype(dtype).kind not in "iu" or x.dtype.kind != "f":  # NumPy's nancumsum casts floats to no integers
            wanted, got = (getattr(library, name)(x, axis=-1, dtype=dtype) for library in (np, reductions))
            assert got.dtype == wanted.dtype and got.dtype.isnative and np.array_equal(got, wanted)
    with pytest.raises(TypeError, match="dtype= must be a type that kernels compute in"):  # NumPy's reductions refuse it, too
        reductions.sum(x, dtype=dtype)


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_where_of_an_array_without_axes(name):
    """As NumPy's functions, they take axis=0 only with a mask."""
    function, x = getattr(reductions, name), np.array(3.0)
    for axis in (0, -1):
        got = function(x, axis=axis, where=np.array(True))
        assert got == getattr(np, name)(x, axis=axis, where=np.array(True)) and type(got) is np.float64
    for axis, where in ((0, True), (-1, True), ((0,), np.array(True)), (1, np.array(True))):
        for one in (function, getattr(np, name)):
            with pytest.raises(np.exceptions.AxisError):
                one(x, axis=axis, where=where)


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_a_mask_that_does_not_fit_is_refused_without_a_warning(name):
    with warnings.catch_warnings(), pytest.raises(ValueError, match=r"where= of shape \(2,\) cannot be broadcast to \(\)"):
        warnings.simplefilter("error")
        getattr(reductions, name)(np.array(3.0), axis=(), where=[True, False])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of empty slices
@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "all", "mean", "var", "std"])
def test_where(name):
    rng = np.random.default_rng(2)
    x = rng.random((20, 30))
    more = {"initial": 0.5} if name in ("sum", "prod", "min", "max") else {}
    for mask in (rng.random((20, 30)) < 0.5, rng.random(30) < 0.5, rng.random((20, 1)) < 0.9):
        for axis in (None, 0):
            same(getattr(reductions, name)(x, axis=axis, where=mask, **more), getattr(np, name)(x, axis=axis, where=mask, **more))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8"])
def test_nan_and_ties(dtype):
    nan = complex(0, float("nan")) if dtype == "c8" else float("nan")
    for values in ([1, nan, 3, nan], [nan, 1], [2, 2, 1, 2], [1, 1], [0, -0.0], [np.inf, -np.inf, np.inf], [nan] * 300, [3] * 1000 + [4, nan, 4] * 9):
        x = np.array(values, dtype)
        for name in ("argmin", "argmax", "min", "max"):
            got, wanted = getattr(reductions, name)(x), getattr(np, name)(x)
            assert np.array_equal(got, wanted, equal_nan=True) and got.dtype == wanted.dtype, (name, values, got, wanted)


def test_complex_order():
    x = np.array([1 + 2j, 1 + 5j, 1 + 5j, 0 + 9j, 1 - 3j])
    assert reductions.argmax(x) == np.argmax(x) == 1 and reductions.argmin(x) == np.argmin(x) == 3


@pytest.mark.parametrize("name", ["min", "max", "nanmin", "nanmax"])
@pytest.mark.parametrize("dtype", ["c8", "c16", "M8[s]", "m8[D]"])
def test_extremes_that_lanes_look_for(name, dtype):
    """Complex numbers and times may change places: there are ties in the real parts, and a NaN in either part, or NaT, is NaN."""
    rng = np.random.default_rng(3)
    for n in (1, 7, 64, 1000, 9000, 300_000):
        for few in (False, True):
            x = rng.integers(-5, 5, n) if dtype[0] != "c" else rng.integers(-5, 5, n) + 1j * rng.integers(-5, 5, n)
            x = x.astype(dtype)
            if few:
                nothing = [np.nan, complex(0, np.nan), complex(np.nan, 1)] if dtype[0] == "c" else ["NaT"]
                x[rng.integers(0, n, 1 + n // 50)] = rng.choice(nothing, 1 + n // 50)
            for view in (x, x[::-1], x.reshape(-1, 4) if n % 4 == 0 else x[1:-1]):
                for axis in (None, 0, -1):
                    if view.size:
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            np.testing.assert_array_equal(getattr(reductions, name)(view, axis=axis), getattr(np, name)(view, axis=axis))


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=300))
@settings(max_examples=50, deadline=None)
def test_small_values(values):
    x = np.array(values, "i1")
    for name in REDUCTIONS:
        same(getattr(reductions, name)(x), getattr(np, name)(x))


def test_dtype_out_initial_and_ddof():
    x = np.arange(12, dtype="i2").reshape(3, 4)
    same(reductions.sum(x, 0, "f4"), np.sum(x, 0, "f4"))
    same(reductions.mean(x, dtype="f4"), np.mean(x, dtype="f4"))
    same(reductions.prod(x, axis=1, initial=2), np.prod(x, axis=1, initial=2))
    same(reductions.max(x, axis=1, initial=5), np.max(x, axis=1, initial=5))
    same(reductions.cumsum(x, dtype="f4"), np.cumsum(x, dtype="f4"))
    for ddof in (0, 1, 0.5, 3):
        same(reductions.var(x, axis=0, ddof=ddof) if ddof < 3 else reductions.var(x, axis=1, ddof=ddof), np.var(x, axis=0 if ddof < 3 else 1, ddof=ddof))
    same(reductions.std(x, correction=1), np.std(x, ddof=1))
    out = np.zeros(4)
    assert reductions.mean(x, axis=0, out=out) is out and out.tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize("name", ["sum", "prod", "nansum", "nanprod", "max", "min"])
def test_initial_of_bools_is_a_truth_value(name):
    for elements in ([False] * 3, [True] * 3, []):
        x = np.array(elements, "?")
        for initial in (0.5, -0.25, 0.0, 2, float("nan"), np.float32(0.5), np.array(0.5)):
            said = {} if name in ("max", "min") else {"dtype": bool}
            same(getattr(reductions, name)(x, initial=initial, **said), getattr(np, name)(x, initial=initial, **said))
    total = lw.reduce(lambda a, b: a + b, finish=lambda n: n > 3)
    assert total(np.array([1, 1]), initial=2) and not total(np.array([1, 1]), initial=1)


def _exact_variance(x, axis, where=True):
    """The variance by two passes in long double, around a mean that is subtracted from numbers near it."""
    wide = np.clongdouble if x.dtype.kind == "c" else np.longdouble
    d = x.astype(wide) - x.reshape(-1)[0]
    d = d - np.mean(d, axis=axis, keepdims=True, where=where)
    return np.mean(d.real ** 2 + d.imag ** 2 if x.dtype.kind == "c" else d * d, axis=axis, where=where)


@pytest.mark.parametrize(("dtype", "mean"), [("f8", 0), ("f8", 1e9), ("f8", 1e12), ("f4", 1e4), ("f4", 1e6), ("c16", 1e9), ("c8", 1e4), ("f2", 100), ("i8", 1 << 50)])
def test_variances_are_as_accurate_as_their_dtype_where_the_mean_is_large(dtype, mean):
    rng = np.random.default_rng(1)
    for shape, axis in (((100_000,), None), ((20, 3000), 1), ((3000, 20), 0), ((30, 10, 40), (0, 2)), ((7,), 0)):
        x = mean + 10 * rng.normal(size=shape)
        x = (x + 1j * (mean / 2 + rng.normal(size=shape)) if dtype[0] == "c" else x).astype(dtype)
        some = rng.random(shape) < 0.7
        rel = 8 * max(np.finfo(x.dtype if x.dtype.kind in "fc" else "f8").eps, np.finfo("f8").eps)
        np.testing.assert_allclose(reductions.var(x, axis=axis), _exact_variance(x, axis).astype("f8"), rtol=rel)
        np.testing.assert_allclose(reductions.std(x, axis=axis, where=some), np.sqrt(_exact_variance(x, axis, some)).astype("f8"), rtol=rel)
        if dtype[0] in "fc":
            holes = np.where(some, x, np.nan).astype(dtype)
            np.testing.assert_allclose(reductions.nanvar(holes, axis=axis), _exact_variance(x, axis, some).astype("f8"), rtol=rel)
            np.testing.assert_allclose(reductions.nanstd(x, axis=axis), np.sqrt(_exact_variance(x, axis)).astype("f8"), rtol=rel)


def test_an_outlier_may_come_first_and_parts_may_be_merged():
    for first in (1e9, -1e12, 0.0):
        x = 1e6 + np.random.default_rng(2).random(50_000)
        x[::1000] = first
        assert reductions.var(x) == pytest.approx(float(_exact_variance(x, None)), rel=1e-14)
        assert reductions.var(x[::-1].reshape(100, 500)) == pytest.approx(float(_exact_variance(x, None)), rel=1e-14)
    kept = reductions._VAR.one
    x = 1e9 + np.random.default_rng(3).random(10_000)
    merged = kept.finish(kept.merge(kept.partial(x[:3000]), kept.partial(x[3000:3001]), kept.partial(x[3001:])))
    assert merged == pytest.approx(float(_exact_variance(x, None)), rel=1e-14)
    one = kept.partial(np.ones(1, "f4"))
    many, count = one.copy(), one.dtype.names[0]
    many[count] = (1 << 24) - 1
    assert kept.merge(many, one, one)[count] == (1 << 24) + 1  # which no float32 is
    for same in (0.1, 1e300):
        assert reductions.var(np.full(1000, same)) == 0
    with np.errstate(invalid="ignore"):
        assert all(np.isnan(reductions.var([1.0, odd, 2.0])) for odd in (np.inf, -np.inf, np.nan))


def test_variances_of_compiled_functions_are_corrected_for_the_rounding_of_the_mean():
    x = 1e9 + 10 * np.random.default_rng(4).normal(size=200_000)
    exact = float(_exact_variance(x, None))
    assert lw.jit(lambda a: np.var(a))(x) == pytest.approx(exact, rel=1e-13)
    assert lw.jit(lambda a: np.nanstd(a) ** 2)(np.append(x, np.nan)) == pytest.approx(exact, rel=1e-13)
    table = x.reshape(-1, 20)
    np.testing.assert_allclose(lw.jit(lambda a: a.var(axis=0))(table), _exact_variance(table, 0).astype("f8"), rtol=1e-13)
    np.testing.assert_allclose(lw.guvectorize("(n)->()")(lambda a: np.std(a))(table.T), np.sqrt(_exact_variance(table, 0)).astype("f8"), rtol=1e-13)
    for same in (np.full(1000, 0.1), np.full(1000, 0.1, "f4"), np.full(1000, 0.1 + 0.7j)):
        assert 0 <= lw.jit(lambda a: np.std(a))(same) < 1e-15
    assert lw.jit(lambda a: np.var(a))(x.astype("c16") * (1 + 1j)) == pytest.approx(2 * exact, rel=1e-13)


def test_the_variance_of_a_device_kernel_is_as_accurate():
    x = 1e9 + 10 * np.random.default_rng(5).normal(size=5000)
    y = (1e4 + 10 * np.random.default_rng(5).normal(size=(500, 12))).astype("f4")
    for kept in (reductions._VAR.one, lw._nan_reductions._NANVAR.one):
        assert np.asarray(kept._simulate(x)).item() == pytest.approx(float(_exact_variance(x, None)), rel=2e-15)
        for axis in (0, 1):
            np.testing.assert_allclose(kept._simulate(y, axis=axis), _exact_variance(y, axis).astype("f8"), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "b1"])
def test_sums_of_small_integers_in_a_device_kernel(dtype):
    """They are made in 32 bits, some elements at a time: the largest and the smallest numbers must not overflow."""
    rng = np.random.default_rng(6)
    ends = (0, 1) if dtype == "b1" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for shape in ((20_001,), (70, 1000), (1000, 70), (900, 24), (24, 900), (7,)):
        x = rng.integers(ends[0], ends[1], shape, endpoint=True).astype(dtype)
        x.reshape(-1)[:x.size // 3] = ends[1]
        x.reshape(-1)[x.size // 3:x.size // 2] = ends[0]
        for axis in (None, 0, 1)[:x.ndim + 1]:
            for reduction, wanted in ((reductions._SUM.one, np.sum(x, axis=axis)), (reductions._COUNT.one, np.count_nonzero(x, axis=axis)),
                                      (reductions._MEAN.one, np.mean(x, axis=axis))):
                found = np.asarray(reduction._simulate(x, axis=axis))
                assert found.dtype == np.asarray(wanted).dtype and np.array_equal(found, wanted)


def test_a_device_kernel_adds_small_integers_in_32_bits():
    code = reductions._SUM.one.inspect_ptx("int64(int16)", "sm_90")
    assert code.count("add.s32") >= 2 * 31  # of the first four accesses, and of those of an iteration
    # as u32, -1 is no small integer, and its sum needs 64 bits
    total = lw.reduce(lambda a, b: a + b, map=lambda x: np.int64(np.uint32(x)))
    x = np.full(5000, -1, "i1")
    assert np.asarray(total._simulate(x)) == total(x) == 5000 * 0xffffffff


def test_means_are_exact_to_a_few_units_in_the_last_place():
    y = (1000 + np.random.default_rng(1).random(1_000_000)).astype("f4")
    assert reductions.mean(y) == pytest.approx(np.mean(y.astype("f8")), rel=3e-7)
    assert reductions.mean(y.reshape(-1, 8), axis=0) == pytest.approx(np.mean(y.astype("f8").reshape(-1, 8), axis=0), rel=3e-7)


@pytest.mark.parametrize("call", [
    lambda m, **more: m.mean(np.zeros((3, 0)), axis=1, **more), lambda m, **more: m.mean(np.zeros((0, 3)), axis=1, **more),
    lambda m, **more: m.mean([1.0, 2.0], where=[False, False], **more), lambda m, **more: m.mean([1.0, 2.0], where=[False, True], **more),
    lambda m, **more: m.var([1.0], ddof=1, **more), lambda m, **more: m.std(np.ones((2, 3)), axis=0, ddof=2, **more),
    lambda m, **more: m.std(np.ones((2, 3)), axis=(0, -1), ddof=5, **more), lambda m, **more: m.var(np.ones((2, 3)), where=[True, False, False], axis=1, ddof=1, **more),
])
def test_numpys_warnings(call):
    texts = []
    for module in (np, reductions):
        with warnings.catch_warnings(record=True) as seen, np.errstate(all="ignore"):
            warnings.simplefilter("always")
            call(module)
        texts.append([str(w.message).rstrip(".") for w in seen if "invalid value" not in str(w.message)])
        assert all(w.filename == __file__ for w in seen if module is reductions)
    assert texts[0] == texts[1]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nothing():
    empty = np.empty(0, "f4")
    assert reductions.sum(empty) == 0 and reductions.prod(empty) == 1 and reductions.all(empty) and not reductions.any(empty)
    assert np.isnan(reductions.mean(empty)) and np.isnan(reductions.var(empty)) and reductions.count_nonzero(empty) == 0
    assert reductions.logsumexp(empty) == -np.inf and reductions.cumsum(empty).shape == (0,)
    for name in ("min", "max", "argmin", "argmax", "minmax"):
        with pytest.raises(ValueError, match="zero-size array|attempt to get"):
            getattr(reductions, name)(empty)


def test_minmax_and_top1():
    x, tag = some((30, 40), "f4"), np.arange(1200).reshape(30, 40)
    low, high = reductions.minmax(x, axis=1)
    assert np.array_equal(low, x.min(1)) and np.array_equal(high, x.max(1))
    value, payload = reductions.top1(x, tag, axis=0)
    assert np.array_equal(value, x.max(0)) and np.array_equal(payload, tag[x.argmax(0), np.arange(40)])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_logsumexp_of_complex_numbers(dtype):
    """m + log(sum(exp(z - m))), m being the largest real part."""
    g = np.random.default_rng(5)
    z = (30 * g.normal(size=(40, 7)) + 1j * g.normal(size=(40, 7))).astype(dtype)
    for axis in (None, 0, 1):
        m = z.real.max(axis, keepdims=True)
        wanted = np.squeeze(m, axis) + np.log(np.exp(z.astype(complex) - m).sum(axis))
        got = reductions.logsumexp(z, axis=axis)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, wanted, rtol=20 * np.finfo(dtype).eps)
    assert reductions.logsumexp(z[:0, 0]) == -np.inf


def test_logsumexp_of_nothing_is_no_division(recwarn):
    assert reductions.logsumexp([]) == -np.inf and (reductions.logsumexp(np.zeros((0, 3), np.float32), axis=0) == -np.inf).all()
    assert not recwarn.list


def test_logsumexp():
    x = np.random.default_rng(3).normal(size=(50, 60)) * 300
    wanted = np.logaddexp.reduce(x, axis=1)
    np.testing.assert_allclose(reductions.logsumexp(x, axis=1), wanted, rtol=1e-12)
    assert reductions.logsumexp([-np.inf, -np.inf]) == -np.inf and reductions.logsumexp([np.inf, 1.0]) == np.inf
    assert np.isnan(reductions.logsumexp([np.nan, 1.0])) and reductions.logsumexp(np.float32([0, 0])).dtype == np.float32
    assert reductions.logsumexp([1, 1]) == pytest.approx(1 + np.log(2))


def test_running_maximum_affine_scan_and_segments():
    x = some((20, 30), "f8")
    assert np.array_equal(reductions.running_maximum(x, axis=1), np.maximum.accumulate(x, axis=1))
    a, b = np.random.default_rng(4).random((2, 50_000)) * 0.9
    y, wanted = 0.0, []
    for p, q in zip(a, b):
        y = y * p + q
        wanted.append(y)
    np.testing.assert_allclose(reductions.affine_scan(a, b), wanted, rtol=1e-12)
    np.testing.assert_allclose(reductions.affine_scan(a[:3], b[:3], initial=7.0)[0], 7 * a[0] + b[0])
    starts = np.random.default_rng(5).random(10_000) < 0.01
    values = np.arange(10_000)
    total, wanted = 0, []
    for value, start in zip(values, starts):
        total = value if start else total + value
        wanted.append(total)
    assert np.array_equal(reductions.segmented_sum(values, starts), wanted)


@pytest.mark.parametrize("call, error, text", [
    (lambda x: reductions.argmax(x, axis=(0, 1)), TypeError, "axis= must be an int or None, not a tuple"),
    (lambda x: reductions.sum(x, axis=2), np.exceptions.AxisError, "axis 2 is out of bounds"),
    (lambda x: reductions.var(x, ddof=1, correction=1), ValueError, "give one"),
    (lambda x: reductions.max(x, where=x > 3), ValueError, "where mask"),
])
def test_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(np.ones((2, 3)))


def test_the_module_is_found():
    for call in (reductions.max, reductions.min):
        with pytest.raises(ValueError, match=f"zero-size array to reduction operation {call.__name__}imum which has no identity"):
            call([])
    assert lw.reductions is reductions and set(reductions.__all__) <= set(dir(reductions))


# ---- the kernels for GPUs, on the simulator ----


@pytest.mark.parametrize("blocks", [1, 7])
def test_the_kernels_simulated(blocks, thorough):
    rng = np.random.default_rng(6)
    x = rng.integers(-50, 50, 20_011).astype("f4")
    mask = rng.random(x.size) < 0.3
    tie = x.copy()
    tie[[500, 9000]] = np.nan
    assert reductions._argmax._simulate(x, size=blocks) == x.argmax() and reductions._argmin._simulate(x, size=blocks) == x.argmin()
    assert reductions._argmax._simulate(tie, size=blocks) == 500 == reductions._argmin._simulate(tie, size=blocks)
    assert reductions._argmax_complex._simulate(x * (1 + 1j), size=blocks) == x.argmax()
    assert reductions._mean._simulate(x, size=blocks) == pytest.approx(x.mean(), rel=1e-4)
    assert reductions._mean._simulate(x, size=blocks, where=mask) == pytest.approx(x[mask].mean(), rel=1e-4)
    for root, numpy_function in ((False, np.var), (True, np.std)):
        for ddof in (0, 1) if thorough else (int(root),):
            moments = reductions._moments("std" if root else "var", "real", ddof)
            assert moments._simulate(x, size=blocks) == pytest.approx(numpy_function(x, ddof=ddof), rel=1e-4)
            assert moments._simulate(x, size=blocks, where=mask) == pytest.approx(numpy_function(x[mask], ddof=ddof), rel=1e-4)
    assert reductions._count._simulate(x, size=blocks) == np.count_nonzero(x)
    assert reductions._logsumexp._simulate(x, size=blocks) == pytest.approx(np.logaddexp.reduce(x.astype("f8")), rel=1e-5)
    assert reductions._top1._simulate(x, np.arange(x.size), size=blocks) == (x.max(), x.argmax())
    assert [float(v) for v in reductions._minmax._simulate(x, size=blocks)] == [x.min(), x.max()]
    assert np.isnan(reductions._mean._simulate(x, size=blocks, where=np.zeros(x.size, bool)))


@pytest.mark.slow_with_sanitizers
@pytest.mark.parametrize("cc", [75, 90, 100, 120])
def test_the_kernels_compile_for_gpus(cc):
    pytest.importorskip("cuda.pathfinder", reason="no compiler for GPUs")
    x = some(100_000, "f4")
    for r in (reductions._argmax, reductions._mean, reductions._STD.one, reductions._logsumexp):
        assert r._simulate(x, res=cc)[:4] == b"\x7fELF"


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("values", [[np.nan], [np.inf], [1, np.inf], [np.inf, 1, 2], [-np.inf, np.inf], [3], [1, np.nan, 2]])
@pytest.mark.parametrize("name", ["var", "std"])
def test_deviations_of_what_is_not_finite(name, values, dtype):
    x = np.array(values, dtype)
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(x), getattr(np, name)(x[:, None], axis=1)
    for got, one in zip((getattr(lw.reductions, name)(x), getattr(lw.reductions, name)(x[:, None], axis=1)), wanted):
        assert got.dtype == one.dtype and np.array_equal(got, one, equal_nan=True)


def test_sums_on_the_way_over_a_matrix():
    x = np.matrix([[1, 2], [3, 4]])
    assert np.array_equal(lw.reductions.cumsum(x), np.cumsum(x)) and np.array_equal(lw.reductions.cumprod(x), np.cumprod(x)) and np.array_equal(reductions.cumsum(x, 0), np.cumsum(x, 0))


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_records_have_no_order(name):
    with pytest.raises(TypeError, match="records have none: take a field, as in a..height.."):
        getattr(lw.reductions, name)(np.zeros(3, [("height", "f8"), ("id", "i4")]))


RECORDS = np.zeros(3, [("height", "f8"), ("id", "i4")])


QUANTILES = ("quantile", "nanquantile", "percentile", "nanpercentile")


@pytest.mark.parametrize("name", [name for name in lw.reductions.__all__ if name not in ("affine_scan", "segmented_sum", "top1")])
def test_records_and_masked_arrays_are_refused_by_the_public_name(name):
    call = getattr(lw.reductions, name)
    if name in ("topk", "argtopk"):
        call = functools.partial(call, k=1)
    if name in QUANTILES:
        call = functools.partial(call, q=0.5)
    with pytest.raises(TypeError, match=rf"^{name}\(\) needs numbers.*: take a field, as in a..height..$"):
        call(RECORDS)
    with pytest.raises(TypeError, match=f"^{name}: argument 1 is a masked array"):
        call(np.ma.array([1.0, 2.0], mask=[False, True]))


def test_a_payload_may_be_records():
    payload = np.array([(1.5, 1), (2.5, 2)], RECORDS.dtype)
    value, record = lw.reductions.top1(np.array([1.0, 3.0]), payload)
    assert value == 3.0 and record == payload[1]
    with pytest.raises(TypeError, match="take a field"):
        lw.reductions.top1(payload, payload["id"])


class Index:
    def __index__(self):
        return 1


AXES = [np.array(0), np.array([0]), np.array([0, 1]), [0], [0, 1], (), (0, 1), "a", 1.0, np.array(0.0), np.int8(1), Index(), True, 2, -3]
OF_NUMPY = [name for name in lw.reductions.__all__ if hasattr(np, name)]


def outcome(call):
    """What a call gives, or the class of NumPy's that its error has."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call()
    except (TypeError, ValueError) as error:
        return next(kind for kind in (np.exceptions.AxisError, TypeError, ValueError) if isinstance(error, kind))
    return result.dtype, result.shape, np.asarray(result, "f8").round(12).tolist()


@pytest.mark.parametrize("name", [*OF_NUMPY, "running_maximum"])
def test_every_kind_of_axis(name):
    x = np.array([[1.0, 2, 3], [4, 5, 7]])
    call, numpys = getattr(lw.reductions, name), getattr(np, name, np.maximum.accumulate)
    if name in QUANTILES:
        call, numpys = functools.partial(call, q=0.25), functools.partial(numpys, q=0.25)
    for axis in AXES:
        assert outcome(lambda: call(x, axis=axis)) == outcome(lambda: numpys(x, axis=axis)), axis
    for axis in (None, 0, -1, 1, -2):
        for one in (3.0, np.array(3)):
            if name != "running_maximum" or axis is not None:
                assert outcome(lambda: call(one, axis=axis)) == outcome(lambda: numpys(one, axis=axis)), (one, axis)


@pytest.mark.parametrize("name", ["affine_scan", "segmented_sum", "top1"])
def test_an_axis_is_no_operand(name):
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    call = getattr(lw.reductions, name)
    assert np.array_equal(call(a, a > 1, axis=np.array(1)), call(a, a > 1, axis=1))
    with pytest.raises(TypeError, match="'list' object cannot be interpreted as an integer"):
        call(a, a > 1, axis=[0])
    with pytest.raises(TypeError, match=f"^{name}: argument 2 is a masked array"):
        call(a, np.ma.array(a))


@pytest.mark.parametrize("name", ["argmax", "argmin", "nanargmax", "nanargmin"])
def test_where_places_can_be_written(name):
    x = np.array([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]])
    call, numpys = getattr(lw.reductions, name), getattr(np, name)
    for dtype in ("i8", "i4", "f4", "f8", "c16", "u8"):
        assert outcome(lambda: call(x, axis=1, out=np.zeros(2, dtype))) == outcome(lambda: numpys(x, axis=1, out=np.zeros(2, dtype))), dtype


def test_means_that_are_no_means_of_the_array():
    for name in ("var", "std"):
        of = getattr(lw.reductions, name)
        for x in (np.arange(4.0), np.arange(4)):
            for mean in (1j, np.array([1j])):
                with pytest.raises(TypeError, match=f"^{name}: mean= is complex, but the array has the dtype {x.dtype}"):
                    of(x, mean=mean)
        assert np.isclose(of(np.arange(4) + 0j, mean=1j), getattr(np, name)(np.arange(4) + 0j, mean=np.array([1j])).real)
    for name in ("var", "std", "nanvar"):
        for mean in ("x", ["x"], [None]):
            with pytest.raises(TypeError, match=f"^{name}: mean= must be a number or an array of numbers, not of dtype"):
                getattr(lw.reductions, name)(np.arange(4.0), mean=mean)


def first_by_hand(x, largest):
    """NumPy's answer: the first NaN, or else the first of the best elements."""
    return int(np.argmax(x) if largest else np.argmin(x))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i8", "u2"])
def test_the_first_of_equal_elements_in_long_rows(dtype):
    """Blocks and chunks are searched separately: there are ties and NaN on both sides of their borders."""
    rng = np.random.default_rng(3)
    for n in (63, 64, 65, 511, 513, 4159, 4160, 8321, 16641, 66_559, 66_561, 300_001):
        plain = rng.integers(0, 90, n).astype(dtype)
        places = sorted({0, n - 1, n // 2, min(n - 1, 512), min(n - 1, 8320), min(n - 1, 66_560)})
        for k, place in enumerate(places):
            for value in (100, 0) if dtype[0] != "f" else (100, -1, np.nan, np.inf, -np.inf):
                x = plain.copy()
                x[place] = x[places[-1 - k]] = value
                x[-1] = value if k == 1 else x[-1]
                assert reductions.argmax(x) == first_by_hand(x, True), (n, place, value)
                assert reductions.argmin(x) == first_by_hand(x, False), (n, place, value)
    if dtype[0] == "f":
        x = np.full(70_000, np.nan, dtype)
        assert reductions.argmax(x) == 0 and reductions.argmin(x[5:]) == 0
        x[:] = -0.0
        x[40_000] = 0.0
        assert reductions.argmax(x) == 0 == reductions.argmin(x)


@pytest.mark.parametrize("name, numpys", [("cumsum", np.cumsum), ("cumprod", np.cumprod), ("running_maximum", np.maximum.accumulate)])
def test_the_usual_scan_is_that_with_keywords(name, numpys):
    """One array with one dimension goes to the reduction at once."""
    scan = getattr(reductions, name)
    for dtype in ("i1", "u4", "f2", "f4", "f8"):
        x = (np.arange(40) % 3 + 1).astype(dtype)
        for a in (x, x[::-2], x[:1]):
            got = scan(a)
            assert got.dtype == scan(a, axis=0).dtype and got.tobytes() == scan(a, axis=0).tobytes() == scan(a, axis=-1).tobytes()
            np.testing.assert_allclose(got, numpys(a), rtol=1e-2 if dtype == "f2" else 1e-6)
    assert scan(np.zeros(0)).shape == (0,)
    with pytest.raises(TypeError, match=name):
        scan()
    if name != "running_maximum":
        assert scan(np.ones((2, 3))).shape == (6,) and scan([1, 2]).tolist() == [1, 3 if name == "cumsum" else 2]


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("dtype", ["f4", "f8", ">f8", "f2", "i4", "c8"])
def test_usual_calls_of_deviations(name, dtype):
    """Those that are passed on without a look at the other arguments give what the others give, and warn of the same."""
    rng = np.random.default_rng(1)
    function = getattr(reductions, name)
    for shape in ((1,), (2,), (7,), (3, 4), (4, 0), (5, 1), ()):
        x = (rng.standard_normal(shape) * 10).astype(dtype)
        for axis in (None, 0, -1) if shape else (None,):
            for ddof in (0, 1, -1, 2):
                told = []
                for given in ({"ddof": ddof}, {"correction": ddof}):  # the latter looks at everything
                    with warnings.catch_warnings(record=True) as caught:
                        warnings.simplefilter("always")
                        got = function(x, axis=axis, keepdims=ddof == 1, **given)
                    told.append((got.dtype, got.shape, got.tobytes(), [str(one.message) for one in caught]))
                assert told[0] == told[1], (shape, axis, ddof)


@pytest.mark.parametrize("name", ["mean", "count_nonzero"])
def test_usual_calls(name):
    """The same holds for functions whose usual calls go to the reduction directly."""
    rng, function = np.random.default_rng(1), getattr(reductions, name)

    def told(call, x, given):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                got = call(x, **given)
                return np.asarray(got).tobytes(), np.asarray(got).dtype, type(got), [str(one.message) for one in caught]
            except Exception as error:
                return type(error), str(error)

    for dtype in ("f2", "f4", "f8", ">f8", "c8", "c16", "i4", "?", "u1"):
        for shape in ((1,), (7,), (3, 4), (4, 0), ()):
            x = (rng.standard_normal(shape) * 10).astype(dtype)
            for given in ({}, {"axis": 0}, {"axis": -1}, {"axis": None}, {"axis": 5}, {"keepdims": True}):
                assert told(function, x, given) == told(function.__wrapped__, x, given), (dtype, shape, given)


LISTS = [[1.0, 2.5, -3.0], (4, 2, 9), [True, False], [1, 2.5, np.nan], (1j, 2 - 1j), [0], [1, np.float32(2)], [7, np.int8(3)], [[1, 2], [3, 4]], [], (2**70, 1), [1.0, "a"], [1, [2]], [None]]


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "min", "max", "any", "all", "argmax", "argmin", "count_nonzero", "cumsum", "cumprod", "nanmax", "nansum", "nanmean", "nanargmin"])
def test_lists_of_numbers(name):
    """They are made into arrays without a step in Python; others, and what makes no array of numbers, go to the Python function as they are."""
    function = getattr(reductions, name)

    def outcome(call, x, **given):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                got = call(x, **given)
            except Exception as error:
                return type(error), str(error)
        return np.asarray(got).tobytes(), np.asarray(got).dtype, type(got), [str(one.message) for one in caught]

    for x in LISTS:
        for given in ({}, {"axis": 0}, {"axis": -1}, {"axis": 3}, {"axis": "x"}, {"axis": 0, "keepdims": True}):
            if "keepdims" not in given or not name.startswith("cum"):
                assert outcome(function, x, **given) == outcome(function.__wrapped__, x, **given), (x, given)


class Interrupted:
    """Raises an exception when it is made into an array for the first time."""

    def __init__(self, error):
        self.errors = [error]

    def __array__(self, *args, **keywords):
        if self.errors:
            raise self.errors.pop()
        return np.array(2.0)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ValueError])
def test_errors_of_items_of_a_list_are_not_lost(error):
    with pytest.raises(error):
        reductions.sum([1.0, Interrupted(error)])


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_errors_of_an_operand_beside_a_number_are_not_lost(error):
    scaled = lw.reduce(map=lambda x, y: x * y, combine=lambda a, b: a + b, identity=0)
    with pytest.raises(error):
        scaled(3.0, Interrupted(error))
    assert scaled(3.0, Interrupted(ValueError)) == 6.0  # which is asked again


@pytest.mark.parametrize("x", [np.float32(3), np.int16(3), np.complex64(2 + 1j), np.bool_(True)], ids=lambda x: type(x).__name__)
def test_numbers_of_numpy_warn_as_arrays_of_one(x):
    for name, keywords, text in [("var", {"ddof": 1}, "Degrees of freedom"), ("std", {"where": False}, "Degrees of freedom"), ("mean", {"where": False}, "Mean of empty slice")]:
        for one in (x, np.array(x), np.array([x])):
            with pytest.warns(RuntimeWarning, match=text), np.errstate(all="ignore"):
                assert np.isnan(getattr(reductions, name)(one, **keywords))


# ---- complex elements with a real dtype= ----

WITH_DTYPE = ["sum", "prod", "mean", "var", "std", "cumsum", "cumprod", "nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nancumsum", "nancumprod"]


def told(function, *args, **keywords):
    """The result, and the categories of all warnings but those of overflow."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = np.asarray(function(*args, **keywords))
    return result, sorted({w.category.__name__ for w in seen if w.category is not RuntimeWarning})


def like_numpy(name, x, **keywords):
    wanted, warned = told(getattr(np, name), x, **keywords)
    got, told_of = told(getattr(reductions, name), x, **keywords)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape and told_of == warned, (name, keywords)
    np.testing.assert_allclose(got, wanted, rtol=2e-2 if wanted.dtype == "f2" else 1e-4, atol=1e-2 if wanted.dtype == "f2" else 1e-5, err_msg=f"{name} {keywords}")


@pytest.mark.parametrize("name", WITH_DTYPE)
@pytest.mark.parametrize("of", ["c8", "c16"])
def test_complex_elements_with_a_real_dtype(name, of):
    """NumPy's mean is real then, and its deviations from it stay complex; an element with a NaN in its imaginary part is NaN."""
    rng = np.random.default_rng(3)
    x = (rng.normal(size=(5, 4)) + 1j * rng.normal(size=(5, 4)) * 3).astype(of) * 2
    x[1, 2], x[3, 0] = complex(1, np.nan), complex(np.nan, 1)
    for dtype in ("f2", "f4", "f8", "i8", "i4", "c16"):
        array = x if name.startswith("nan") and dtype[0] != "i" else np.nan_to_num(x)
        if name[3:] in ("mean", "var", "std") and dtype[0] == "i":
            continue  # a TypeError
        like_numpy(name, array, dtype=dtype)
        if not (dtype[0] == "i" and name == "std"):  # of which NumPy does not store the root
            like_numpy(name, array, dtype=dtype, axis=0)
        if "cum" not in name and not (dtype[0] == "i" and name == "std"):
            like_numpy(name, array, dtype=dtype, axis=1, keepdims=True, where=rng.random((5, 4)) > 0.2)


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_complex_deviations_from_a_given_mean(name):
    x = np.array([1 + 1j, 2 - 3j, 4 + 0.5j])
    for dtype in ("f4", "f8", "c16", *(("i8",) if name[0] != "n" else ())):
        for mean in (2.0, 1 + 1j, np.array([2 + 1j])):
            like_numpy(name, x, dtype=dtype, mean=mean)


def test_variance_in_integers():
    """The mean and each square are truncated to integers, whatever the elements are."""
    for x in ([0, 0, 0, 3], [0.0, 1.9], [0.0, 9.0, 9.5, 9.0], [1 + 2j, 3.5j, 4]):
        like_numpy("var", np.array(x), dtype="i8")
        like_numpy("std", np.array(x), dtype="i4")


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", ["prod", "nanprod"])
def test_products_that_start_from_zero_or_infinity(name, dtype):
    """The product of the elements overflows or underflows, and zero times infinity is NaN, because NumPy starts from `initial`."""
    top, ours, numpys = np.finfo(dtype).max, getattr(reductions, name), getattr(np, name)
    tiny = 1e-9 if dtype == "f2" else 1e-300  # 0 in the narrow dtypes
    for n in (1, 3, 40, 3000):
        signs = np.where(np.arange(n) % 3 == 1, -1, 1)
        for x in ((top * signs / 2).astype(dtype), (signs / top).astype(dtype), np.where(np.arange(n) == n // 2, np.inf, top / 2).astype(dtype), np.where(np.arange(n) == n - 1, np.nan, top / 2).astype(dtype)):
            for initial in (0, 0.0, -0.0, False, np.float32(0), *((tiny,) if dtype in ("f2", "f4", "c8") else ()), *((np.inf, -np.inf) if dtype[0] == "f" else (0j,))):
                for more in ({}, {"where": np.arange(n) % 4 > 0}, {"axis": 0, "keepdims": True}, {"dtype": "f8"} if dtype[0] == "f" and initial != tiny else {}):
                    with np.errstate(all="ignore"):
                        got, expected = ours(x, initial=initial, **more), numpys(x, initial=initial, **more)
                    assert got.dtype == expected.dtype
                    np.testing.assert_array_equal(got, expected)
                    if dtype[0] == "f":
                        np.testing.assert_array_equal(np.signbit(got)[~np.isnan(got)], np.signbit(expected)[~np.isnan(got)])
    rows = np.full((3, 4), top / 2, dtype)
    with np.errstate(all="ignore"):
        assert (ours(rows, axis=1, initial=0) == 0).all() and ours(rows, axis=(0, 1), initial=0) == 0
        assert ours(np.arange(4), initial=0.0) == 0 and ours(np.ones(4, "?"), initial=0) == 0


def test_products_of_stand_ins_start_from_zero():
    with lw.config(target="cpu"), np.errstate(all="ignore"):
        d = lw.cuda.to_device(np.full(5, 1e200))
        for got in (d.prod(initial=0), np.prod(d, initial=0), np.multiply.reduce(d, initial=0), lw.multiply.reduce(d, initial=0), reductions.prod(d, initial=-0.0),
                    _ufunc_methods.reduce(lw.multiply, d, initial=0)):
            assert np.asarray(got) == 0


@pytest.mark.parametrize("name", [name for name in reductions.__all__ if name not in {"affine_scan", "segmented_sum"}])
def test_functions_are_objects_like_any_other(name):
    """Whether calls of a function go through C or not, it is pickled by its name, and shows its parameters, however it is asked."""
    f = getattr(reductions, name)
    assert pickle.loads(pickle.dumps(f)) is copy.copy(f) is copy.deepcopy(f) is f and {f: 1}[f] == 1 and weakref.ref(f)() is f
    shown = list(inspect.signature(f).parameters)
    assert shown[0] == "a" and shown == inspect.getfullargspec(f).args + inspect.getfullargspec(f).kwonlyargs
    assert f.__name__ == f.__qualname__ == name and f.__module__.startswith("lanewise.") and name in pydoc.render_doc(f, renderer=pydoc.plaintext)
    assert inspect.isroutine(f) and f.__doc__ and f"def {name}(" in inspect.getsource(f)


def test_functions_bind_as_functions_do():
    class Own(np.ndarray):
        total = reductions.sum
        still = staticmethod(reductions.sum)

    x = np.arange(6.0).reshape(2, 3).view(Own)
    assert x.total() == 15 and (x.total(axis=0) == [3, 5, 7]).all() and x.still(np.ones(3)) == 3 and Own.total is reductions.sum


USUAL = [((), {"axis": None}), ((None,), {}), ((0,), {}), ((-1,), {"keepdims": False}), ((), {"keepdims": True}), ((1,), {"keepdims": True}), ((), {"keepdims": True, "axis": 0})]


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "all", "count_nonzero", "argmin", "argmax", "mean", "var", "std", "nansum", "nanmax", "nanmean", "nanstd", "cumsum"])
def test_usual_calls_take_no_step_in_python(name):
    """axis= by name or by position, also None, and keepdims=: their checks in Python took longer than the reduction of a few elements."""
    x = np.random.default_rng(4).random((4, 5))
    function, numpys = getattr(reductions, name), getattr(np, name)
    for args, kwargs in USUAL:
        if name == "cumsum" and (kwargs or None in args):
            continue
        expected = numpys(x, *args, **kwargs)
        calls = []
        function(x, *args, **kwargs)  # compiled
        sys.setprofile(lambda frame, event, of: calls.append(frame.f_code.co_name) if event == "call" else None)
        try:
            result = function(x, *args, **kwargs)
        finally:
            sys.setprofile(None)
        assert not calls, (args, kwargs)
        assert type(result) is type(expected) and np.asarray(result).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(result, expected, rtol=1e-14)
        assert np.shape(result) == np.shape(expected)


def test_calls_with_wrong_axes_and_keepdims():
    x = np.ones((4, 5))
    for args, kwargs, kind in (((0,), {"axis": 0}, TypeError), ((2,), {}, np.exceptions.AxisError), ((1.5,), {}, TypeError), ((0,), {"keepdim": True}, TypeError), ((True,), {}, TypeError)):
        for function in (reductions.sum, reductions.mean, reductions.nanmax, reductions.argmax):
            with pytest.raises(kind):
                function(x, *args, **kwargs)
    with pytest.raises(TypeError):
        reductions.cumsum(x, 0, keepdims=False)
    point = reductions.sum(np.array(3.0), keepdims=True)
    assert isinstance(point, np.ndarray) == isinstance(np.sum(np.array(3.0), keepdims=True), np.ndarray) and point == 3
