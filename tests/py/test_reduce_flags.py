"""Floating-point flags of reductions and scans on the host: warnings and errstate, as NumPy has them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions as R

inf, nan = np.inf, np.nan
total = lw.reduce(lambda a, b: a + b)
product = lw.reduce(lambda a, b: a * b)
inverses = lw.reduce(map=lambda x: 1 / x, combine=lambda a, b: a + b)
root = lw.reduce(lambda a, b: (a * a + b * b) ** 0.5)


def messages(f):
    """The warnings of a call, and what it raises if they are errors."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f()
    try:
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f()
    except FloatingPointError as error:
        return [str(one.message) for one in caught], str(error)
    return [str(one.message) for one in caught], None


def values(dtype, name):
    big = {"e": 6e4, "f": 3e38, "F": 3e38}.get(np.dtype(dtype).char, 1e308)
    return np.array({"opposite": [inf, -inf], "big": [big] * 10, "nan": [nan, 1], "plain": [1.5, 2], "infinite": [inf, 1]}[name], dtype)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("name", ["opposite", "big", "nan", "plain", "infinite"])
@pytest.mark.parametrize("function", ["sum", "prod", "cumsum", "cumprod", "nansum", "nancumsum", "max", "min", "nanmax", "argmax", "any", "all", "count_nonzero"])
def test_numpys_warnings(function, name, dtype):
    x = values(dtype, name)
    for a in (x, np.resize(x, 20 * x.size), np.resize(x, (6, x.size)), np.resize(x, 40_000) if name != "plain" else x):
        for options in ({}, {"axis": 0}, {"axis": -1}):
            assert messages(lambda: getattr(R, function)(a, **options)) == messages(lambda: getattr(np, function)(a, **options)), (a.shape, options)


@pytest.mark.parametrize("function", ["mean", "nanmean", "var", "std"])
def test_means(function):
    """The step that meets the value has another name than in NumPy."""
    assert messages(lambda: getattr(R, function)(np.array([inf, -inf]))) == (["invalid value encountered in reduce"],) + ("invalid value encountered in reduce",)
    assert messages(lambda: getattr(R, function)(np.array([1.0, 2.0]))) == ([], None)
    assert messages(lambda: getattr(R, function)(np.array([1.0, nan]))) == ([], None)
    with pytest.warns(RuntimeWarning, match="overflow encountered in reduce"):
        R.mean([1e308] * 4)
    assert messages(lambda: R.nanmean([])) == (["Mean of empty slice"], None)
    assert messages(lambda: R.mean([])) == (["Mean of empty slice", "invalid value encountered in reduce"], "invalid value encountered in reduce")


def test_own_reductions():
    big = np.array([3e38] * 10, np.float32)
    for a, options in ((big, {}), (big.reshape(2, 5), {"axis": 1}), (big.reshape(2, 5), {"axis": 0}), (np.tile(big, 10_000), {}), (big[::-2], {})):
        with pytest.warns(RuntimeWarning, match="overflow encountered in reduce"):
            total(a, **options)
    with pytest.warns(RuntimeWarning, match="overflow encountered in accumulate"):
        total.accumulate(big)
    for a, indices, axis in ((big, [0, 2, 5], 0), (np.repeat(big, 3000), [0, 10_000], 0), (np.tile(big, (20, 1)), [0, 5], 1)):
        with pytest.warns(RuntimeWarning, match="overflow encountered in reduceat"):
            total.reduceat(a, indices, axis=axis)
    with pytest.warns(RuntimeWarning, match="underflow"), np.errstate(under="warn"):
        product(np.array([1e-200, 1e-200]))
    with pytest.raises(FloatingPointError, match="divide by zero encountered in reduce"), np.errstate(divide="raise"):
        inverses(np.array([1.0, 0.0]))
    seen = []
    with np.errstate(over="call", call=lambda kind, flag: seen.append((kind, flag))):
        total(big)
    assert seen == [("overflow", 2)]
    assert messages(lambda: total(np.array([100, 100], np.int8))) == ([], None)


def test_only_what_results_show():
    """Vectorised code computes branches that are not taken, and elements that a mask leaves out."""
    a, on = np.array([1.0, 0.0] * 50), np.array([True, False] * 50)
    assert messages(lambda: inverses(a, where=on)) == ([], None)
    assert messages(lambda: inverses(a, where=~on))[1] == "divide by zero encountered in reduce"
    guarded = lw.reduce(map=lambda x: 1 / x if x != 0 else 0.0, combine=lambda a, b: a + b)
    assert messages(lambda: guarded(a)) == ([], None)
    larger = lw.reduce(lambda a, b: a if a > b else b)
    assert messages(lambda: larger(np.array([nan, 1.0, 2.0] * 9000))) == ([], None)
    assert messages(lambda: R.minmax(np.array([nan, 1.0]))) == messages(lambda: R.running_maximum([nan, 1.0])) == ([], None)
    assert messages(lambda: R.logsumexp(np.array([[0, -1000.0, -inf]] * 500))) == ([], None)
    rows = np.array([[nan, 1.0], [1e200, 1e200]])
    assert messages(lambda: root(rows, axis=1))[0] == ["overflow encountered in reduce"]  # NaN in another row explains nothing
    assert messages(lambda: root(rows[:1], axis=1)) == ([], None)
    with pytest.raises(ZeroDivisionError), np.errstate(all="raise"):
        lw.reduce(map=lambda x: 1 / x, combine=lambda a, b: a + b, check={"divide"})(np.array([1.0, 0.0]))


def test_out_is_written_before_the_exception():
    out = np.zeros(2)
    with pytest.raises(FloatingPointError), np.errstate(all="raise"):
        total(np.array([[1.0, inf], [2.0, -inf]]), axis=0, out=out)
    assert out[0] == 3 and np.isnan(out[1])


def test_arrays_that_stand_for_device_arrays():
    with lw.config(target="cpu"):
        d = lw.cuda.to_device(np.array([3e38] * 10, np.float32))
        for f in (lambda: d.sum(), lambda: np.cumsum(d), lambda: lw.add.reduce(d), lambda: total(d)):
            with pytest.warns(RuntimeWarning, match="overflow encountered in (reduce|accumulate)"):
                f()


def test_flags_that_stood_before_are_not_its_own():
    with np.errstate(all="ignore"):
        np.array([1.0]) / np.array([0.0])
    assert messages(lambda: total(np.arange(10.0))) == ([], None)


@pytest.mark.parametrize("name", ["nanvar", "nanstd"])
@pytest.mark.parametrize("x", [[1.0], [1.0 + 1.0j], [[np.nan, 1.0], [np.nan, 2.0]]], ids=range(3))
def test_too_few_elements_are_one_warning(name, x):
    """As in NumPy, which computes NaN for them without "invalid value"."""
    of = [messages(lambda m=m: getattr(m, name)(x, axis=0, ddof=1))[0] for m in (np, R)]
    assert of[0] == of[1] and len(of[0]) == 1
