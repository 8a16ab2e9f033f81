"""xarray objects, over Dask and in memory: reductions, scans, topk and map_blocks give xarray objects; gufuncs say how to call them."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions as R

xr = pytest.importorskip("xarray")
da = pytest.importorskip("dask.array")

total = lw.reduce(lambda a, b: a + b)
ends = lw.reduce(map=lambda x: (x, x), combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])))
RAW = np.array([[3.0, 1.0, 2.0, np.nan], [0.0, 5.0, 4.0, 6.0], [9.0, 7.0, 8.0, 2.5]])
HOST = xr.DataArray(RAW, dims=("t", "x"), coords={"t": [1, 2, 3], "x": list("abcd"), "season": ("t", [10, 20, 30])}, name="wind", attrs={"units": "m"})
FULL = HOST.fillna(1.5)
FORMS = {"memory": lambda x: x, "dask": lambda x: x.chunk({dim: size for dim, size in (("t", 2), ("x", 3)) if dim in x.dims})}


@pytest.fixture(params=FORMS)
def form(request):
    return FORMS[request.param]


def same(got, want, x):
    """With the labels that xarray gives to its own results, and lazy if the array was."""
    assert isinstance(got, xr.DataArray) and isinstance(got.data, da.Array) == isinstance(x.data, da.Array)
    xr.testing.assert_identical(got.compute(), want)


@pytest.mark.parametrize("axis, keepdims", [(None, False), (0, False), (-1, False), ((0, 1), False), (1, True), (None, True)])
def test_reductions(form, axis, keepdims):
    x = form(FULL)
    want = FULL.reduce(np.sum, axis=axis, keepdims=keepdims)
    same(total(x, axis=axis, keepdims=keepdims), want, x)
    low, high = ends(x, axis=axis, keepdims=keepdims)
    same(low, FULL.reduce(np.min, axis=axis, keepdims=keepdims), x)
    same(high, FULL.reduce(np.max, axis=axis, keepdims=keepdims), x)
    same(R.nansum(form(HOST), axis=axis, keepdims=keepdims), HOST.reduce(np.nansum, axis=axis, keepdims=keepdims), x)


def test_masks_and_several_arrays(form):
    x, row = form(FULL), form(FULL.isel(t=0, drop=True))
    same(total(x, axis=0, where=x > 2), FULL.reduce(lambda a, axis: np.sum(a, axis, where=FULL.data > 2), axis=0), x)
    product = lw.reduce(lambda a, b: a + b, map=lambda x, y: x * y)
    same(product(x, row, axis=1), (FULL * FULL.isel(t=0, drop=True)).reduce(np.sum, axis=1).rename("wind").assign_attrs(product(x, row, axis=1).attrs), x)
    largest, season = R.top1(x, form(FULL.T), axis=1)
    np.testing.assert_array_equal(largest.compute(), RAW[[0, 1, 2], [0, 3, 0]])
    assert largest.dims == season.dims == ("t",)
    with pytest.raises(TypeError, match=r"argument 2 is ndarray, whose dimensions have no names.*pass xarray.DataArray\(x, dims=...\)"):
        product(x, RAW[0], axis=1)


def test_scans_and_the_largest(form):
    x = form(FULL)
    same(total.accumulate(x, 1), FULL.copy(data=FULL.data.cumsum(1)), x)
    same(total.accumulate(x, axis=1, exclusive=True), FULL.copy(data=FULL.data.cumsum(1) - FULL.data), x)
    same(R.running_maximum(x, axis=-1), FULL.copy(data=np.maximum.accumulate(FULL.data, 1)), x)
    same(R.nancumsum(form(HOST)[1]), HOST[1].copy(data=HOST.data[1].cumsum()), x)
    best = R.topk(x, 2, axis=1)
    assert best.dims == ("t", "x") and "x" not in best.coords and list(best.season) == [10, 20, 30]
    np.testing.assert_array_equal(best.compute(), np.sort(FULL.data, 1)[:, :1:-1])
    np.testing.assert_array_equal(R.argtopk(x, -1, axis=0).compute(), FULL.data.argmin(0)[None])
    with pytest.raises(TypeError, match="nancumsum: argument 1 is an xarray DataArray of 2 dimensions, whose elements have no order without axis="):
        R.nancumsum(x)


def test_functions_that_xarray_does_not_have(form):
    x = form(HOST)
    for name, own in (("nanmean", np.nanmean), ("nanvar", np.nanvar), ("nanargmax", np.nanargmax), ("nanmax", np.nanmax)):
        got = getattr(R, name)(x, axis=1)
        assert got.dims == ("t",) and list(got.season) == [10, 20, 30]
        np.testing.assert_allclose(got.compute(), own(RAW, axis=1), rtol=1e-14)
    np.testing.assert_array_equal(R.count_nonzero(x, axis=0).compute(), np.count_nonzero(RAW, axis=0))
    np.testing.assert_allclose(R.logsumexp(form(FULL), axis=1).compute(), np.log(np.exp(FULL.data).sum(1)), rtol=1e-14)


@lw.forall
def slope(i, x, out):
    if 0 < i < x.size - 1:
        out[i] = (x[i + 1] - x[i - 1]) / 2


@lw.forall(ndim=2)
def twice(i, j, x, y, small, large):
    small[i, j], large[i, j] = x[i, j] + y[i, j], 2 * x[i, j]


def test_map_blocks():
    line = FULL[1].chunk({"x": 3})
    got = lw.map_blocks(slope, line, depth=1)
    assert isinstance(got, xr.DataArray) and got.chunks == ((3, 1),) and list(got.x.values) == list("abcd") and int(got.season) == 20
    np.testing.assert_array_equal(got.compute(), [0, (4.0 - 0) / 2, (6.0 - 5) / 2, 0])
    lazy = FULL.chunk({"t": 2})
    small, large = lw.map_blocks(twice, lazy, lazy.data)
    np.testing.assert_array_equal(small.compute(), 2 * FULL)
    np.testing.assert_array_equal(large.compute(), 2 * FULL)
    with pytest.raises(ValueError, match=r"run over the dimensions \('t', 'x'\) of one array, and \('x', 't'\) of another: pass x.transpose"):
        lw.map_blocks(twice, lazy, lazy.T)
    with pytest.raises(ValueError, match="have different coordinates"):
        lw.map_blocks(twice, lazy, lazy.assign_coords(t=[4, 5, 6]))


@lw.guvectorize("(n)->()")
def largest(x, out):
    out[0] = x.max()


def test_gufuncs_and_methods_say_how_to_call_them(form):
    x = form(FULL).chunk({"x": -1}) if isinstance(form(FULL).data, da.Array) else FULL
    with pytest.raises(NotImplementedError, match=r"apply_ufunc\(largest, ..., input_core_dims=\[\['x'\]\], output_core_dims=\[\[\]\], dask='allowed'\)"):
        largest(x)
    same(xr.apply_ufunc(largest, x, input_core_dims=[["x"]], output_core_dims=[[]], dask="allowed"), xr.apply_ufunc(np.max, FULL, input_core_dims=[["x"]], kwargs={"axis": -1}), x)
    with pytest.raises(NotImplementedError, match=r"x.reduce\(add.reduce, dim=...\)"):
        lw.add.reduce(x)
    same(x.reduce(lw.add.reduce, dim="t"), FULL.reduce(np.sum, dim="t"), x)
    with pytest.raises(NotImplementedError, match=r"x.copy\(data=add.accumulate\(x.data, axis\)\)"):
        lw.add.accumulate(x)


def test_lazy_arrays_are_not_computed_as_a_whole():
    lazy = FULL[0].chunk({"x": 2})
    with pytest.raises(TypeError, match=r"xarray DataArray.* block by block: call lw.map_blocks\(kernel, x\)"):
        slope(4, lazy, np.zeros(4))
    with pytest.raises(TypeError, match="a is an xarray DataArray, which would be computed as a whole"):
        lw.random.Generator(1).choice(lazy)
    with pytest.raises(TypeError, match="takes the names of dimensions"):
        total(lazy, axis="x")
    with pytest.raises(TypeError, match="argument 2 of `.*` must be an array, not 0; did you mean axis=0"):
        total(lazy, 0)


@pytest.mark.parametrize("number", [2.0, 2j, 2])
def test_python_numbers_are_weak_and_are_no_axis(form, number):
    dot = lw.reduce(lambda a, b: a + b, map=lambda x, y: x * y)
    x = form(FULL.astype("f4").drop_vars("season"))
    wanted = np.result_type(np.float32, number)
    for got in (dot(x, number), dot(number, x), dot.accumulate(x, number, axis=1), dot.accumulate(x, number, 1), R.affine_scan(x, number), R.affine_scan(number, x, axis=1)):
        assert isinstance(got, xr.DataArray) and got.dtype == wanted
    want = dot.accumulate(FULL.values.astype("f4"), number, axis=1)
    for got in (dot.accumulate(x, number, axis=1), dot.accumulate(x, number, 1)):
        np.testing.assert_allclose(got.values, want, rtol=1e-6)
    np.testing.assert_allclose(R.affine_scan(number, x, axis=1).values, R.affine_scan(number, FULL.values.astype("f4"), axis=1), rtol=1e-6)
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        dot(x.astype("i1"), 300)


def test_an_axis_that_comes_twice_is_named(form):
    with pytest.raises(TypeError, match=r"total.accumulate takes 1 array, and got axis= twice: as argument 2, 2.0, and as axis=0"):
        named(form(FULL), "accumulate", 2.0, axis=0)
    with pytest.raises(TypeError, match=r"axis= must be an int or a tuple of ints, not 2.0"):
        total.accumulate(form(FULL), 2.0)


def named(x, method, *args, **kwargs):
    r = lw.reduce(lambda a, b: a + b)
    r.__name__ = "total"
    return getattr(r, method)(x, *args, **kwargs)
