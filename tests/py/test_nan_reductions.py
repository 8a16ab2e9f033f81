"""lanewise.reductions that leave NaN out, against NumPy's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw

NAMES = ["nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanvar", "nanstd", "nanargmin", "nanargmax", "nancumsum", "nancumprod"]
DTYPES = ["f2", "f4", "f8", "c8", "c16", "i4", "u1", "?"]


def numbers(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    made = (rng.random(shape) * 4 - 1 + (1j * rng.random(shape) if dtype[0] == "c" else 0))
    made = np.rint(made).astype(dtype) if dtype[0] in "iu?" else made.astype(dtype)
    if made.dtype.kind in "fc":
        made[rng.random(shape) < 0.3] = np.nan
        made[..., 0] = 0.25
    return made


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_as_numpys(name, dtype):
    for shape in ((7,), (5, 6), (3, 4, 5)):
        a = numbers(dtype, shape)
        for axis in (None, 0, -1):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                want = getattr(np, name)(a, axis=axis)
                got = getattr(lw.reductions, name)(a, axis=axis)
            assert got.dtype == want.dtype and np.shape(got) == np.shape(want), (shape, axis)
            tolerance = 4e-3 if dtype == "f2" else 1e-5 if dtype in ("f4", "c8") else 1e-12
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", NAMES[:7])
def test_keywords(name):
    a = numbers("f8", (5, 6))
    where = np.arange(30).reshape(5, 6) % 7 != 0
    given = {"where": where, "keepdims": True, "axis": 1}
    if name in ("nanmin", "nanmax"):
        given["initial"] = 0.5
    want = getattr(np, name)(a, **given)
    np.testing.assert_allclose(getattr(lw.reductions, name)(a, **given), want)
    out = np.empty((5, 1))
    assert getattr(lw.reductions, name)(a, **given, out=out) is out
    np.testing.assert_allclose(out, want)


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmean", "nancumsum", "nancumprod"])
def test_a_wider_out_is_what_is_computed_in(name):
    for dtype, large in (("f4", 3e38), ("f2", 6e4), ("u1", 200), ("i4", 2e9), ("c8", 3e38)):
        a = np.full(6, large, dtype)
        if a.dtype.kind == "f":
            a[2] = np.nan
        for to in ("f4", "f8", "c16"):
            if a.dtype.kind == "c" and to != "c16" or name == "nanmean" and a.dtype.kind in "iu":
                continue
            with np.errstate(all="ignore"):
                want = getattr(np, name)(a, out=np.zeros(np.shape(getattr(np, name)(a)), to))
                got = getattr(lw.reductions, name)(a, out=np.zeros_like(want))
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got.real, want.real, rtol=1e-3 if "f2" in (dtype, to) else 1e-6)
    assert lw.reductions.nansum(np.full(3, 100, "i1"), out=np.zeros((), "i1")) == 44  # as numpy.nansum


def test_a_mean_of_real_numbers_into_a_complex_out():
    a = np.full(5, 3e38, "f4")
    for name in ("mean", "nanmean"):
        out = np.zeros((), "c16")
        assert getattr(lw.reductions, name)(a, out=out) is out and out == np.float64(np.float32(3e38))


def said(function, *args, **kwargs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*args, **kwargs)
    return result, [(one.category, str(one.message)) for one in caught], [one.filename for one in caught]


@pytest.mark.parametrize("name", NAMES[:7])
@pytest.mark.parametrize("a", [[np.nan, np.nan], [[1.0, np.nan], [np.nan, np.nan]], [[1.0, 2.0], [3.0, 4.0]], [np.inf, -np.inf]])
def test_warnings(name, a):
    with np.errstate(all="ignore"):
        want, told, _ = said(getattr(np, name), np.array(a), axis=-1)
        got, ours, where = said(getattr(lw.reductions, name), np.array(a), axis=-1)
    np.testing.assert_array_equal(got, want)
    assert ours == told and all(file == __file__ for file in where)


def test_degrees_of_freedom():
    a = np.array([[1.0, np.nan, 4.0], [np.nan, 2.0, np.nan], [1.0, 2.0, 4.0]])
    for ddof in (1, 2):
        want, told, _ = said(np.nanvar, a, axis=1, ddof=ddof)
        got, ours, _ = said(lw.reductions.nanvar, a, axis=1, ddof=ddof)
        np.testing.assert_allclose(got, want)
        assert ours == told
    np.testing.assert_allclose(lw.reductions.nanstd(a, axis=0, correction=1), np.nanstd(a, axis=0, ddof=1))


def test_errors():
    for name in ("nanargmin", "nanargmax"):
        with pytest.raises(ValueError, match="All-NaN slice"):
            getattr(lw.reductions, name)([[1.0, 2.0], [np.nan, np.nan]], axis=1)
        for one in (np.nan, np.array(np.nan), np.float32(np.nan), np.complex64(complex(np.nan, 1))):
            with pytest.raises(ValueError, match="All-NaN slice"):
                getattr(lw.reductions, name)(one)
        with pytest.raises(ValueError, match="empty sequence"):
            getattr(lw.reductions, name)([])
    for name in ("nanmin", "nanmax"):
        with pytest.raises(ValueError, match="zero-size array"):
            getattr(lw.reductions, name)([])
    assert lw.reductions.nansum([]) == 0 and lw.reductions.nanprod([]) == 1


def test_arrays_of_a_device():
    a = numbers("f4", (8, 9))
    with lw.config(target="cpu"):
        d = lw.cuda.to_device(a)
        for name in NAMES:
            result = getattr(lw.reductions, name)(d, axis=0)
            assert isinstance(result, lw.cuda.DeviceArray)
            np.testing.assert_allclose(result.copy_to_host(), getattr(np, name)(a, axis=0), rtol=1e-5)
        nothing = lw.cuda.to_device(np.full((2, 3), np.nan))
        assert lw.reductions.nanargmax(nothing, axis=1).copy_to_host().tolist() == [0, 0]


def test_times_are_no_nan():
    for times in (np.array([1, 2, 4], "m8[s]"), np.array([1, 2, "NaT"], "m8[s]")):
        for name in ("nansum", "nanmean", "nancumsum", "nanmax", "nanmin"):
            mine, theirs = getattr(lw.reductions, name)(times), getattr(np, name)(times)
            assert mine.dtype == theirs.dtype and str(mine) == str(theirs), name


def answer(call):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except TypeError:
        return TypeError


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nancumsum", "nancumprod", "nanmean", "nanvar", "nanstd"])
def test_every_dtype_asked_for(name):
    call, numpys = getattr(lw.reductions, name), getattr(np, name)
    for a in (np.array([[1.5, np.nan, 2.0], [np.nan, 0.0, 3.0]]), np.array([[1.0, np.nan, 2.0]], "f4"), np.array([[3, 2, 1]])):
        for dtype in ("?", "i2", "i4", "u8", "f4", "f8", "c8", "c16"):
            for axis in (None, 1):
                got, wanted = answer(lambda: call(a, axis=axis, dtype=dtype)), answer(lambda: numpys(a, axis=axis, dtype=dtype))
                if name == "nanstd" and np.dtype(dtype).kind in "biu" and a.dtype.kind == "i":  # NumPy has errors if results are arrays
                    continue
                if wanted is TypeError:
                    assert got is TypeError, (a.dtype, dtype, got)
                else:
                    assert got.dtype == wanted.dtype and np.allclose(got, wanted), (a, dtype, axis, got, wanted)


def test_a_dtype_of_integers_with_the_other_arguments():
    a = np.array([[2.0, np.nan, 3.0], [4.0, 5.0, np.nan]])
    mask = np.array([[True, True, False], [True, True, True]])
    for dtype in ("i4", "?"):
        for name in ("nansum", "nanprod"):
            call, numpys = getattr(lw.reductions, name), getattr(np, name)
            for more in ({"where": mask}, {"initial": 2}, {"keepdims": True}, {"axis": 0, "where": mask, "initial": 3}, {"axis": 0, "out": np.zeros(3, dtype)}):
                got, wanted = call(a, dtype=dtype, **more), np.array(numpys(a, dtype=dtype, **more))
                assert got.dtype == wanted.dtype and np.array_equal(got, wanted), (name, dtype, more, got, wanted)
    assert lw.reductions.nansum(a[:, :0], dtype=bool) == np.False_ and lw.reductions.nanprod(a[:, :0], dtype="i4") == 1


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanvar", "nanstd"])
def test_results_that_are_python_numbers(name):
    """out= with objects was written, and then a TypeError said that isnan has no such loop."""
    x, out = np.array([[1.0, np.nan, 4.0], [2.0, 3.0, 5.0]]), np.zeros(2, object)
    assert getattr(lw.reductions, name)(x, axis=1, out=out) is out
    np.testing.assert_allclose(out.astype(float), getattr(np, name)(x, axis=1))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i8", "u4", "b1", "c16"])
@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanvar", "nanstd", "nanargmax", "nanargmin", "var", "std", "mean",
                                  "cumsum", "cumprod"])
def test_short_calls_answer_and_warn_as_numpy(name, dtype):
    """They go to the reduction directly, and to the Python function if NumPy warns of NaN."""
    rng = np.random.default_rng(8)
    for shape in ((7,), (4, 5), ()):
        plain = np.asarray(0.5 + rng.random(shape)).astype(dtype)
        cases = [plain]
        if plain.dtype.kind in "fc":
            if name.startswith("nanarg"):
                continue  # all NaN is an error
            holes, empty = plain.copy(), np.full_like(plain, np.nan)
            holes.reshape(-1)[::3] = np.nan
            cases += [holes, empty]
            if shape:
                cases.append(plain.copy())
                cases[-1][0] = np.nan
        for x in cases:
            for axis in ({}, {"axis": 0}, {"axis": -1}):
                if axis and not shape:
                    continue
                said = []
                for function in (getattr(lw.reductions, name), getattr(np, name)):
                    with warnings.catch_warnings(record=True) as caught:
                        warnings.simplefilter("always")
                        result = np.asarray(function(x, **axis))
                    said.append([str(one.message) for one in caught])
                    if function is not getattr(np, name):
                        found = result
                assert (found.dtype, found.shape, said[0]) == (result.dtype, result.shape, said[1])
                np.testing.assert_allclose(found, result, rtol=2e-2 if dtype == "f2" else 1e-5)
