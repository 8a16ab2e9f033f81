"""NumPy's functions of whole arrays in compiled functions: axes, products, views, joins, statistics, sets, and
subscripts with arrays. Each expression gives NumPy's values, dtype and shape, for several dtypes and layouts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors

DTYPES = [np.bool_, np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64, np.complex64, np.complex128]
REAL = [t for t in DTYPES if not np.issubdtype(t, np.complexfloating)]
NUMBERS = [t for t in DTYPES if t is not np.bool_]
FLOATS = [np.float32, np.float64]


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def target(request):
    if request.param == "cuda" and not cuda.is_available():
        pytest.skip("no CUDA device")
    return request.param


def numbers(dtype, shape=(3, 4, 5)):
    g = np.random.default_rng(7)
    x = g.integers(0, 6, shape) - 2 * (np.dtype(dtype).kind in "ifc")
    if np.dtype(dtype).kind == "c":
        return (x + 1j * g.integers(-2, 3, shape)).astype(dtype)
    return x.astype(dtype)


def layouts(x):
    """C order, a transposed array, every second element backwards."""
    return [x, np.ascontiguousarray(x.T).T, np.repeat(x, 2, axis=-1)[..., ::-2][..., ::-1]]


def same(got, want):
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w)
        return
    if type(got) in (bool, int, float, complex):  # lw.jit returns numbers as Python's, whatever their dtype is
        got = np.dtype(np.asarray(want).dtype).type(got)
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, want.dtype, got.shape, want.shape)
    if want.dtype.kind in "fc":
        tolerance = {2: 4e-3, 4: 2e-6}.get(np.finfo(want.dtype).dtype.itemsize, 1e-13)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(got, want)


def check(f, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = f(*args)
    same(lw.jit(f)(*args), want)


AXES = [
    ("sum", lambda x: x.sum(axis=0), NUMBERS), ("sum1", lambda x: x.sum(1), DTYPES), ("sum2", lambda x: np.sum(x, axis=-1), DTYPES),
    ("sum_pair", lambda x: x.sum(axis=(0, 2)), DTYPES), ("sum_all", lambda x: x.sum(axis=(0, 1, 2)), DTYPES),
    ("sum_keep", lambda x: x.sum(axis=1, keepdims=True), DTYPES), ("sum_keep_all", lambda x: x.sum(keepdims=True), DTYPES),
    ("sum_initial", lambda x: x.sum(axis=2, initial=3), NUMBERS), ("sum_dtype", lambda x: x.sum(axis=0, dtype=np.float64), REAL),
    ("prod", lambda x: x.prod(axis=0), NUMBERS), ("prod2", lambda x: np.prod(x, axis=2), NUMBERS),
    ("mean", lambda x: x.mean(axis=0), NUMBERS), ("mean2", lambda x: x.mean(axis=(1, 2)), NUMBERS), ("mean_keep", lambda x: x.mean(0, keepdims=True), NUMBERS),
    ("var", lambda x: x.var(axis=1), NUMBERS), ("std", lambda x: x.std(axis=-1, ddof=1), NUMBERS), ("var_keep", lambda x: np.var(x, axis=0, keepdims=True), NUMBERS),
    ("min", lambda x: x.min(axis=0), REAL), ("max", lambda x: x.max(axis=1), REAL), ("max_keep", lambda x: x.max(axis=-1, keepdims=True), REAL),
    ("amin", lambda x: np.amin(x, axis=(0, 1)), REAL), ("max_initial", lambda x: x.max(axis=0, initial=2), REAL),
    ("ptp", lambda x: np.ptp(x, axis=1), [t for t in REAL if t is not np.bool_]),
    ("any", lambda x: x.any(axis=0), DTYPES), ("all", lambda x: np.all(x, axis=2), DTYPES), ("all_keep", lambda x: x.all(axis=0, keepdims=True), DTYPES),
    ("count", lambda x: np.count_nonzero(x, axis=1), DTYPES), ("argmin", lambda x: x.argmin(axis=0), REAL), ("argmax", lambda x: np.argmax(x, axis=2), REAL),
    ("argmax_keep", lambda x: x.argmax(axis=1, keepdims=True), REAL),
    ("cumsum", lambda x: x.cumsum(axis=0), DTYPES), ("cumsum2", lambda x: np.cumsum(x, axis=2), NUMBERS), ("cumprod", lambda x: np.cumprod(x, 1), NUMBERS),
    ("cumsum_flat", lambda x: np.cumsum(x), NUMBERS), ("cumsum_dtype", lambda x: np.cumsum(x, 1, np.float64), REAL),
    ("sort", lambda x: np.sort(x, axis=0), DTYPES), ("sort2", lambda x: np.sort(x), DTYPES), ("sort_flat", lambda x: np.sort(x, axis=None), DTYPES),
    ("argsort", lambda x: np.argsort(x, axis=1, kind="stable"), DTYPES), ("argsort_flat", lambda x: x.argsort(axis=None, kind="stable"), REAL),
    ("diff", lambda x: np.diff(x), DTYPES), ("diff0", lambda x: np.diff(x, axis=0), NUMBERS), ("diff2", lambda x: np.diff(x, 2, 1), NUMBERS),
    ("median", lambda x: np.median(x, axis=0), FLOATS), ("quantile", lambda x: np.quantile(x, 0.3, axis=1), FLOATS),
    ("norm", lambda x: np.linalg.norm(x, axis=1), NUMBERS), ("norm1", lambda x: np.linalg.norm(x, 1, 2), NUMBERS),
]

FORMS = [
    ("view", lambda x: x.view(np.uint8).sum(), [np.int8, np.bool_]), ("flat", lambda x: x.flat[7], DTYPES), ("transpose", lambda x: x.transpose().copy(), DTYPES),
    ("transpose_axes", lambda x: x.transpose(1, 2, 0).copy(), DTYPES), ("transpose_tuple", lambda x: np.transpose(x, (2, 0, 1)).copy(), NUMBERS),
    ("swapaxes", lambda x: np.swapaxes(x, 0, -1).copy(), NUMBERS), ("moveaxis", lambda x: np.moveaxis(x, 0, 2).copy(), NUMBERS),
    ("expand", lambda x: np.expand_dims(x, 1).sum(axis=1), NUMBERS), ("squeeze", lambda x: np.expand_dims(x, 2).squeeze(axis=2).copy(), NUMBERS),
    ("broadcast_to", lambda x: np.broadcast_to(x, (2, 3, 4, 5)).copy(), NUMBERS), ("reshape", lambda x: x.reshape(5, -1), DTYPES), ("ravel", lambda x: x.ravel().copy(), DTYPES),
    ("real", lambda x: x.real.copy(), DTYPES), ("imag", lambda x: x.imag.copy(), DTYPES), ("flip", lambda x: np.flip(x, 1).copy(), NUMBERS),
    ("fliplr", lambda x: np.fliplr(x).copy(), NUMBERS), ("diagonal", lambda x: np.diagonal(x[0], 1).copy(), NUMBERS), ("diag", lambda x: np.diag(x[0, 0], -1), NUMBERS),
    ("diag2", lambda x: np.diag(x[0]), NUMBERS), ("trace", lambda x: np.trace(x[0]), NUMBERS), ("clip", lambda x: x.clip(0, 2), NUMBERS[1:2] + FLOATS),
    ("concatenate", lambda x: np.concatenate((x, x[:, :1]), axis=1), DTYPES), ("concatenate_list", lambda x: np.concatenate([x[0], x[1]], axis=-1), NUMBERS),
    ("concatenate_flat", lambda x: np.concatenate((x, x[0, :2]), axis=None), NUMBERS),
    ("stack", lambda x: np.stack((x[0], x[1]), axis=2), NUMBERS), ("vstack", lambda x: np.vstack((x[0, 0], x[1])), NUMBERS), ("hstack", lambda x: np.hstack([x[0], x[1]]), NUMBERS),
    ("hstack_rows", lambda x: np.hstack((x[0, 0], x[1, 0])), NUMBERS), ("column_stack", lambda x: np.column_stack((x[0, 0], x[1].T)), NUMBERS),
    ("repeat", lambda x: np.repeat(x, 2, axis=1), NUMBERS), ("repeat_flat", lambda x: x.repeat(3), NUMBERS), ("tile", lambda x: np.tile(x[0], (2, 3)), NUMBERS),
    ("tile_row", lambda x: np.tile(x[0, 0], 3), NUMBERS), ("roll", lambda x: np.roll(x, 2), NUMBERS), ("roll_axis", lambda x: np.roll(x, -1, axis=1), NUMBERS),
    ("append", lambda x: np.append(x[0], x[1]), NUMBERS), ("nonzero", lambda x: np.nonzero(x), DTYPES), ("argwhere", lambda x: np.argwhere(x), DTYPES),
    ("where", lambda x: np.where(x[0])[0], DTYPES), ("flatnonzero", lambda x: np.flatnonzero(x), DTYPES),
    ("take", lambda x: np.take(x, np.array([2, 0, -1]), axis=1), NUMBERS), ("take_flat", lambda x: x.take(np.array([5, 3])), NUMBERS), ("take_one", lambda x: np.take(x, 1, axis=2), NUMBERS),
    ("array_rows", lambda x: np.array([x[0], x[2]]), NUMBERS), ("array_numbers", lambda x: np.array([[x[0, 0, 0], x[0, 0, 1]], [x[1, 0, 0], x[1, 1, 1]]]), NUMBERS),
    ("tril", lambda x: np.tril(x[0]), NUMBERS), ("triu", lambda x: np.triu(x[0], 1), NUMBERS), ("meshgrid", lambda x: np.meshgrid(x[0, 0], x[1, 1]), NUMBERS),
    ("meshgrid_ij", lambda x: np.meshgrid(x[0, 0], x[1, 1], indexing="ij"), NUMBERS), ("atleast", lambda x: np.atleast_2d(x[0, 0]), NUMBERS),
    ("ascontiguous", lambda x: np.ascontiguousarray(x.T), NUMBERS), ("asarray", lambda x: np.asarray(x, np.float64).copy(), REAL),
]

PRODUCTS = [
    ("matrices", lambda x: x[0] @ x[1].T, DTYPES), ("matrix_row", lambda x: x[0] @ x[1, 0], DTYPES), ("row_matrix", lambda x: x[0, 0] @ x[1].T, DTYPES),
    ("rows", lambda x: x[0, 0] @ x[1, 1], DTYPES), ("dot", lambda x: np.dot(x[0], x[1].T), NUMBERS), ("dot_number", lambda x: np.dot(x[0], 2), NUMBERS),
    ("dot_method", lambda x: x[0].dot(x[1, 1]), NUMBERS), ("matmul", lambda x: np.matmul(x[0].T, x[1]), NUMBERS), ("vdot", lambda x: np.vdot(x[0, 0], x[1, 0]), NUMBERS),
    ("inner", lambda x: np.inner(x[0], x[1]), NUMBERS), ("outer", lambda x: np.outer(x[0], x[1, 0]), NUMBERS), ("kron", lambda x: np.kron(x[0], x[1]), NUMBERS),
    ("cross", lambda x: np.cross(x[0, 0, :3], x[1, 1, :3]), NUMBERS), ("expression", lambda x: (x[0] + x[1]) @ (x[1] - x[2]).T, NUMBERS),
    ("convolve", lambda x: np.convolve(x[0, 0], x[1, 1, :3]), NUMBERS), ("convolve_same", lambda x: np.convolve(x[0, 0], x[1, 1, :3], "same"), NUMBERS),
    ("convolve_valid", lambda x: np.convolve(x[0, 0, :3], x[1, 1], "valid"), NUMBERS), ("correlate", lambda x: np.correlate(x[0, 0], x[1, 1, :3]), NUMBERS),
    ("correlate_full", lambda x: np.correlate(x[0, 0], x[1, 1, :3], mode="full"), NUMBERS), ("correlate_same", lambda x: np.correlate(x[0, 0, :3], x[1, 1], "same"), NUMBERS),
    ("norm_matrix", lambda x: np.linalg.norm(x[0]), NUMBERS), ("norm_inf", lambda x: np.linalg.norm(x[0, 0], np.inf), NUMBERS), ("norm3", lambda x: np.linalg.norm(x[0, 0], 3), FLOATS),
]

STATISTICS = [
    ("nansum", lambda x: np.nansum(x), FLOATS), ("nansum_axis", lambda x: np.nansum(x, axis=1), FLOATS), ("nanprod", lambda x: np.nanprod(x, axis=0), FLOATS),
    ("nanmean", lambda x: np.nanmean(x, axis=2), FLOATS), ("nanvar", lambda x: np.nanvar(x, axis=0), FLOATS), ("nanstd", lambda x: np.nanstd(x, ddof=1), FLOATS),
    ("nanmin", lambda x: np.nanmin(x, axis=0), FLOATS), ("nanmax", lambda x: np.nanmax(x), FLOATS), ("nanmedian", lambda x: np.nanmedian(x, axis=1), FLOATS),
    ("median", lambda x: np.median(x), FLOATS), ("percentile", lambda x: np.percentile(x[0], 30), FLOATS), ("quantiles", lambda x: np.quantile(x[0, 0], np.array([0.1, 0.5, 1.0])), FLOATS),
    ("nanquantile", lambda x: np.nanquantile(x, 0.3), FLOATS), ("nanquantile_axis", lambda x: np.nanquantile(x, 0.7, axis=1), FLOATS),
    ("nanpercentile", lambda x: np.nanpercentile(x, [20, 80.5]), FLOATS), ("size", lambda x: (np.size(x), np.size(x, -1), np.size(3.5), np.size([1, 2])), FLOATS),
    ("shape", lambda x: np.shape(x) + np.shape([[1, 2]]) + np.shape(2), FLOATS), ("ndim", lambda x: (np.ndim(x), np.ndim(x[0, 0, 0]), np.ndim([[1]])), FLOATS),
    ("average", lambda x: np.average(x[0]), FLOATS), ("weights", lambda x: np.average(x[0], weights=abs(x[1]) + 1), FLOATS),
    ("weights_axis", lambda x: np.average(x, axis=1, weights=np.arange(1.0, x.shape[1] + 1)), FLOATS), ("weights_axis0", lambda x: np.average(x, axis=0, weights=np.arange(1, x.shape[0] + 1)), FLOATS),
    ("weights_all", lambda x: np.average(x, axis=-1, weights=abs(x) + 1), FLOATS),
    ("cov", lambda x: np.cov(x[0]), FLOATS), ("cov_row", lambda x: np.cov(x[0, 0]), FLOATS), ("corrcoef", lambda x: np.corrcoef(x[0] + np.eye(4, 5)), [np.float64]),
    ("isclose", lambda x: np.isclose(x, x[0]), NUMBERS), ("allclose", lambda x: np.allclose(x, x), NUMBERS), ("nan_to_num", lambda x: np.nan_to_num(x, nan=1.5), NUMBERS[6:]),
    ("polyval", lambda x: np.polyval(np.array([1.0, -2.0, 3.0]), x), FLOATS), ("interp", lambda x: np.interp(x, np.array([0.0, 1.0, 3.0]), np.array([5.0, 6.0, 9.0])), REAL[1:]),
    ("searchsorted", lambda x: np.searchsorted(np.array([0, 1, 3]), x), REAL[1:]), ("searchsorted_right", lambda x: np.searchsorted(np.array([0.0, 1.0, 3.0]), x, side="right"), FLOATS),
    ("unique", lambda x: np.unique(x), DTYPES), ("isin", lambda x: np.isin(x, np.array([1, 3])), REAL[1:]),
    ("bincount", lambda x: np.bincount(x[0, 0] * x[0, 0]), [np.int8, np.int64, np.uint8]), ("bincount_weights", lambda x: np.bincount(x[0, 0] * x[0, 0], x[1, 1], 40), [np.int32]),
    ("histogram", lambda x: np.histogram(x, 4), FLOATS), ("histogram_edges", lambda x: np.histogram(x, np.array([-1.0, 0.0, 0.5, 4.0])), FLOATS),
    ("histogram_range", lambda x: np.histogram(x, 3, (0.0, 3.0)), FLOATS), ("digitize", lambda x: np.digitize(x, np.array([0.0, 1.0, 3.0])), FLOATS),
    ("digitize_back", lambda x: np.digitize(x, np.array([3.0, 1.0, 0.0]), right=True), FLOATS), ("ediff1d", lambda x: np.ediff1d(x), NUMBERS),
    ("unique_all", lambda x: np.unique(x, return_index=True, return_inverse=True, return_counts=True), DTYPES), ("unique_counts", lambda x: np.unique(x, return_counts=True), DTYPES),
    ("unique_inverse", lambda x: np.unique(x[0, 0], False, True), DTYPES), ("unravel_index", lambda x: np.unravel_index(x.argmax(), x.shape), REAL),
    ("unravel_indices", lambda x: np.unravel_index(np.array([[0, 59], [7, 31]]), x.shape, order="F"), REAL), ("asarray_number", lambda x: np.asarray(x[0, 0, 0]) + x, NUMBERS),
    ("insert_mask", lambda x: np.insert(x[0, 0], np.array([True, False, True, False, False]), 1), DTYPES), ("pad_list", lambda x: np.pad(x[0], [[2, 1], [0, 3]], "edge"), DTYPES),
    ("gradient_narrow", lambda x: np.gradient(x[0, 0], np.array([0, 100, 20, 7, 120], np.uint8), edge_order=2), NUMBERS), ("gradient_narrow_step", lambda x: np.gradient(x[0, 0], np.int8(100), edge_order=2), NUMBERS),
    ("insert", lambda x: np.insert(x, 7, [1, 2, 3]), DTYPES), ("insert_row", lambda x: np.insert(x, -1, x[:, 0], axis=1), DTYPES), ("insert_rows", lambda x: np.insert(x[0], 1, x[1, :2], axis=0), DTYPES),
    ("insert_places", lambda x: np.insert(x[0, 0], [3, 1, 3, -1], [5, 6, 7, 8]), DTYPES), ("insert_columns", lambda x: np.insert(x[0], np.array([0, 5]), 1, axis=1), DTYPES),
    ("pad", lambda x: np.pad(x, ((1, 2), (0, 3), (2, 2)), constant_values=1), DTYPES), ("pad_edge", lambda x: np.pad(x, ((1, 2),), "edge"), DTYPES), ("pad_wrap", lambda x: np.pad(x, (7, 12), "wrap"), DTYPES),
    ("pad_reflect", lambda x: np.pad(x, (7, 12), "reflect"), DTYPES), ("pad_symmetric", lambda x: np.pad(x, 9, mode="symmetric"), DTYPES), ("pad_one", lambda x: np.pad(x[:1], 2, "reflect"), DTYPES),
    ("gradient", lambda x: np.gradient(x), NUMBERS), ("gradient_axis", lambda x: np.gradient(x[0], 0.5, axis=-1), NUMBERS), ("gradient_each", lambda x: np.gradient(x[0], 2, 0.25, edge_order=2), NUMBERS),
    ("gradient_points", lambda x: np.gradient(x[0, 0], np.array([0.0, 1.0, 1.5, 3.0, 5.0])), NUMBERS), ("gradient_points2", lambda x: np.gradient(x[0], np.array([0.0, 1.0, 1.5, 3.0, 5.0]), axis=1, edge_order=2), NUMBERS),
    ("trapezoid", lambda x: np.trapezoid(x[0, 0]), FLOATS), ("trapezoid_x", lambda x: np.trapezoid(x[0, 0], x[1, 1]), FLOATS),
    ("trapezoid_rows", lambda x: np.trapezoid(x), FLOATS), ("trapezoid_axis", lambda x: np.trapezoid(x, dx=2.0, axis=1), FLOATS),
    ("trapezoid_x_axis", lambda x: np.trapezoid(x, x[:, 0, 0] * x[:, 1, 1], axis=0), FLOATS), ("trapezoid_x_each", lambda x: np.trapezoid(x[0], x[1], axis=0), FLOATS),
]

PLACES = [
    ("mask", lambda x: x[x != 0], DTYPES), ("mask_name", lambda x: x[np.array([True, False, True])], DTYPES), ("mask_axis", lambda x: x[:, np.array([True, False, True, True])], NUMBERS),
    ("mask_two", lambda x: x[:, x[0] != 0], NUMBERS), ("mask_last", lambda x: x[0, :, np.array([True, False, True, True, False])], []),
    ("places", lambda x: x[np.array([2, 0, -1])], DTYPES), ("places_axis", lambda x: x[:, np.array([3, 3, 0, 1, 2, -4])], DTYPES), ("places_last", lambda x: x[..., np.array([4, 0])], NUMBERS),
    ("places_int", lambda x: x[1, np.array([2, 0])], NUMBERS), ("places_after", lambda x: x[:, 2, np.array([1, 4])], NUMBERS), ("places_slice", lambda x: x[1:, np.array([0, 2]), ::2], NUMBERS),
    ("matrix", lambda x: x[0, 0][np.array([[0, 4], [2, 2]])], NUMBERS), ("matrix_axis", lambda x: x[:, np.array([[0, 3], [2, 2], [1, 1]])], NUMBERS),
    ("pairs", lambda x: x[np.array([0, 1, 2]), np.array([3, 0, 1])], NUMBERS), ("pairs_last", lambda x: x[:, np.array([0, 1]), np.array([4, 3])], NUMBERS),
    ("nonzero", lambda x: x[np.nonzero(x)], NUMBERS), ("new_axis", lambda x: x[None, np.array([1, 1])], NUMBERS), ("unsigned", lambda x: x[np.array([1, 0], np.uint8)], NUMBERS),
    ("argsort", lambda x: x[0, 0][np.argsort(x[0, 0], kind="stable")], REAL), ("list", lambda x: x[[2, 0]], NUMBERS), ("mask_or", lambda x: x[(x == 1) | (x == 2)], NUMBERS),
]


ROWS = [row for row in AXES + FORMS + PRODUCTS + PLACES if row[2]]
NO_NAN = {"histogram", "histogram_range", "histogram_edges", "digitize", "digitize_back", "isin", "corrcoef"}  # NumPy refuses it, or has no order for it


def chosen(name, dtypes, thorough):
    """Two of the dtypes, which differ from expression to expression; the layouts of the last."""
    k = sum(map(ord, name))
    some = dtypes if thorough else [dtypes[k % len(dtypes)], dtypes[-1]]
    for dtype in dict.fromkeys(some):
        x = numbers(dtype)
        yield from layouts(x) if thorough or dtype is dtypes[-1] else [x]


@pytest.mark.parametrize("name, f, dtypes", ROWS, ids=[row[0] for row in ROWS])
def test_numpys_values_shapes_and_dtypes(name, f, dtypes, request):
    for x in chosen(name, dtypes, request.config.getoption("--thorough")):
        check(f, x)


@pytest.mark.parametrize("name, f, dtypes", STATISTICS, ids=[row[0] for row in STATISTICS])
def test_statistics(name, f, dtypes, request):
    for x in chosen(name, dtypes, request.config.getoption("--thorough")):
        check(f, x)
    if np.dtype(dtypes[-1]).kind == "f" and name not in NO_NAN:
        x = numbers(dtypes[-1])
        x[0, 1, 2] = x[2, 3, 1] = x[0, 0, 0] = np.nan
        check(f, x)


# ---- in place ----


def stores(x, out):
    out[x > 1] = 5
    out[np.array([0, 2])] = x[np.array([1, 1])]
    out[:, np.array([1, 3])] = 7
    out[1, np.array([0, 2])] = x[0, 2:4]
    out[np.array([0, 1]), np.array([2, 3])] = np.array([100.0, 200.0])


def masked_rows(x, out):
    out[np.array([True, False, True])] = x[np.array([False, True, True])] * 2
    out[:, np.array([True, False, False, True])] = -1.0
    out[x == 2] = x[x == 2] + 0.5


def rows_of_lists(x, out):
    a, b = x[0, 0], x[1, 1]
    out[0] = [a, b, 1.0, 2.0]
    out[1:, :2] = [[a, 1.0], [b, 2.0]]
    out[:, 2:] = [a + b, a - b]
    values = [a, b, 3.0]
    out[2, 3] = max(values) + sum([a, b, 1]) + len(values)
    for v in [a, b]:
        out[2, 2] += v


def wider(x, out):
    out[...] = x[0]
    out[1:] = x[2:3]
    out[:, 1:3] = x[0, 1:3]


def indices(x, out):
    for i, j in np.ndindex(x.shape):
        out[i, j] = i * 10 + j
    for index in np.ndindex(2, 3):
        out[index] += x[index]
    for (i, j), v in np.ndenumerate(x.T):
        out[j, i] -= v / 2


def through_views(x, out):
    out.flat[5] = 9
    out.T[0, 1] = 8
    np.swapaxes(out, 0, 1)[2, 2] = 7
    out.reshape(2, 6)[1, 5] = 6
    out.ravel()[0] = 5
    x.sum(axis=1, out=out[:, 1])
    out.view(np.int64)[2, 0] = 0


@pytest.mark.parametrize("kernel", [stores, masked_rows, rows_of_lists, wider, indices, through_views], ids=lambda k: k.__name__)
def test_in_place(kernel, target):
    x = np.arange(12.0).reshape(3, 4) % 5
    want, got = np.full((3, 4), 0.25), np.full((3, 4), 0.25)
    kernel(x.copy(), want)
    cuda.jit(kernel, target=target)[1, 1](x.copy(), got)
    np.testing.assert_array_equal(got, want)


SHAPED = [lambda x: x.reshape(-1), lambda x: x.reshape(2, -1), lambda x: x.reshape((-1, 2)), lambda x: x.reshape(2, 1, -1), lambda x: x.ravel(), lambda x: x.reshape(x.shape[0], -1)]


@pytest.mark.parametrize("f", SHAPED, ids=range(len(SHAPED)))
def test_reshape_is_a_view_where_numpys_is(f):
    compiled = lw.jit(f)
    for x in (np.arange(24.0), np.arange(24.0).reshape(4, 6), np.arange(24.0).reshape(2, 3, 4)):
        for y in (x, x.T, x[::-1], x[..., ::2], x[:, :1] if x.ndim > 1 else x[1::2], np.swapaxes(x, 0, -1), x[:0], np.lib.stride_tricks.as_strided(x, x.shape, [0] + list(x.strides[1:]))):
            try:
                want = f(y)
            except ValueError:
                with pytest.raises(ValueError):
                    compiled(y)
                continue
            got = compiled(y)
            np.testing.assert_array_equal(got, want)
            assert np.shares_memory(got, y) == np.shares_memory(want, y), (y.shape, y.strides)


def test_elements_of_a_copy_are_not_assigned():
    def kernel(x):
        x.T.flat[0] = 1

    with pytest.raises(errors.TypingError, match="E162"):
        lw.compile(kernel, "void(float64[:, ::1])", target="sm_90", output="ptx")


def test_complex_parts_are_written():
    def kernel(z):
        z.real[:] = 3
        z.imag[1] = z.real[0] + 1

    z = np.zeros(3, np.complex64)
    cuda.jit(kernel, target="cpu")[1, 1](z)
    assert z.tolist() == [3, 3 + 4j, 3]


# ---- generators and targets ----


def test_on_a_gpu_and_the_cpu_alike(target):
    @lw.guvectorize("(n,m)->(m),(n),(m)", target=target)
    def f(x, mean, best, order):
        mean[:] = x.mean(axis=0)
        best[:] = x.argmax(axis=1)
        picked = x[x[:, 0] > 0.3]
        order[:] = np.argsort(x[0])
        if picked.shape[0] > 0:
            mean[:] -= picked.sum(axis=0)

    x = np.random.default_rng(3).random((20, 6, 5))
    want_mean, want_best, want_order = np.empty((20, 5)), np.empty((20, 6)), np.empty((20, 5))
    for i in range(20):
        f.py_func(x[i], want_mean[i], want_best[i], want_order[i])
    for got, want in zip(f(x), (want_mean, want_best, want_order)):
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.slow_with_sanitizers
@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
def test_cubins(target):
    def kernel(x, y, out):
        i = cuda.grid(1)
        if i < x.shape[0]:
            row = x[i][x[i] > 0]
            out[i] = np.median(row) + (x @ y)[i].sum() + np.unique(row).size + x.sum(axis=0)[0]

    assert lw.compile(kernel, "void(float32[:, ::1], float32[:, ::1], float32[::1])", target=target, output="cubin")


# ---- errors ----

ERRORS = [
    (lambda x: np.insert(x, np.array([1.5]), 1), IndexError, "arrays used as indices must be of integer"), (lambda x: np.unravel_index(np.array([1.5]), x.shape), TypeError, "only int indices permitted"),
    (lambda x: np.unravel_index(5.0, x.shape), TypeError, "only int indices permitted"), (lambda x: np.unravel_index(5, x.shape, order="K"), ValueError, "only 'C' or 'F' order is permitted"),
    (lambda x: np.gradient(x[:1], axis=0), ValueError, "Shape of array too small to calculate a numerical gradient"), (lambda x: np.gradient(x, 1.0, 2.0, 3.0), TypeError, "invalid number of arguments"),
    (lambda x: np.gradient(x[0], np.array([1.0, 2.0])), ValueError, "distances must match the length"), (lambda x: np.unravel_index(12, x.shape), ValueError, "index 12 is out of bounds for array with size 12"),
    (lambda x: np.insert(x, 13, 1), IndexError, "index 13 is out of bounds for axis 0 with size 12"), (lambda x: np.insert(x, [0, 9], 1, axis=1), IndexError, "index 9 is out of bounds for axis 1 with size 4"),
    (lambda x: np.pad(x, (-1, 2)), ValueError, "index can't contain negative values"), (lambda x: np.pad(x[:0], 1, "edge"), ValueError, "can't extend empty axis 0"),
    (lambda x: x.max(axis=(0, 0)), ValueError, "duplicate value in 'axis'"),
    (lambda x: x[:0].max(axis=0), ValueError, "zero-size array to reduction"), (lambda x: x[np.array([3])], IndexError, "out of bounds"),
    (lambda x: x[np.array([-4])], IndexError, "out of bounds"), (lambda x: x[np.array([True, False])], IndexError, "boolean index did not match"),
    (lambda x: x[np.array([0, 1]), np.array([0, 1, 2])], IndexError, "could not be broadcast"), (lambda x: x @ x, ValueError, r"shapes not aligned: 4 \(dim 1\) != 3 \(dim 0\)"),
    (lambda x: np.concatenate((x, x[:, :2])), ValueError, "must match exactly"), (lambda x: x.transpose(0, 0), ValueError, "repeated axis"),
    (lambda x: np.stack((x[0], x[0, :2])), ValueError, "same shape"), (lambda x: x.squeeze(axis=0), ValueError, "not equal to one"),
    (lambda x: np.quantile(x, 1.5), ValueError, "range"), (lambda x: np.broadcast_to(x, (2, 2)), ValueError, "broadcast"),
    (lambda x: np.array([[x[0, 0]], [x[1, 1], x[2, 2]]]), ValueError, "rows of different lengths"),
]


@pytest.mark.parametrize("f, error, words", ERRORS, ids=range(len(ERRORS)))
def test_errors_while_it_runs(f, error, words):
    x = np.arange(12.0).reshape(3, 4)
    with pytest.raises(Exception):
        f(x)  # NumPy refuses it, too
    with pytest.raises(error, match=words):
        lw.jit(f)(x)


REFUSED = [
    (lambda x: x.sum(axis=3), "E124: the axis is out of bounds for an array with 3 axes"), (lambda x, o: x[0, :, np.array([1])], "E160: arrays and integers that do not stand side by side"),
    (lambda x: x.squeeze(), "E153"), (lambda x: x.nosuch(), "E161"), (lambda x: x[np.array([0.5])], "E160|E120"),
]


@pytest.mark.parametrize("f, words", REFUSED, ids=range(len(REFUSED)))
def test_errors_while_it_is_compiled(f, words):
    with pytest.raises(errors.CompileError, match=words):
        lw.jit(f)(*[np.zeros((2, 3, 4))] * f.__code__.co_argcount)


def test_lists_and_tuples_that_change():
    @lw.jit
    def grows(x):
        values = [x, 2 * x]
        more = [x]
        values += more
        return values[0]

    assert grows(1.5) == 1.5

    @lw.jit
    def assigned(x):
        values = [x, 2 * x]
        values[0] = 3.0
        return values[0]

    assert assigned(1.0) == 3

    @lw.jit
    def adds(x):
        values = [x, 2 * x]
        values[0] += 3.0
        return values[0]

    assert adds(1.0) == 4

    @lw.jit
    def of_a_tuple(x):
        values = (x, 2 * x)
        values[0] = 3.0
        return values[0]

    with pytest.raises(errors.CompileError, match="E162: the items of a tuple cannot be assigned"):
        of_a_tuple(1.0)
    with pytest.raises(errors.CompileError):
        lw.jit(lambda x, p: x[p].__iadd__(1))(np.zeros(3), np.array([0]))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "c16"])
@pytest.mark.parametrize("n", [257, 258, 3001])
def test_medians_of_long_rows(dtype, n):
    """The middle elements are selected; the row is not sorted."""
    r = np.random.default_rng(n)
    rows = [r.normal(size=n) * 50, np.arange(n), np.arange(n)[::-1], np.zeros(n), r.integers(0, 3, n), np.r_[np.arange(n // 2), np.arange(n - n // 2)[::-1]]]
    if dtype[0] in "fc":
        rows += [np.where(r.random(n) < 0.1, np.inf, rows[0]), np.r_[rows[0][1:], np.nan]]
    f = lw.njit(lambda x: (np.median(x), np.nanmedian(x)))
    for row in rows:
        x = np.ascontiguousarray(np.abs(row) if dtype == "u1" else row).astype(dtype)
        kept = x.copy()
        np.testing.assert_array_equal(f(x), (np.median(x), np.nanmedian(x)))
        np.testing.assert_array_equal(x, kept)


def test_median_of_a_row_that_defeats_the_pivots(monkeypatch):
    """McIlroy's adversary ("A killer adversary for quicksort", 1999) makes a row of which each pivot is nearly the least: sorting ends it."""
    from lanewise import _array_library

    state = {"frozen": 0, "candidate": None, "sorts": 0}

    class Item:
        value = np.inf

        def __lt__(self, other):
            if self.value == other.value == np.inf:
                chosen = self if self is state["candidate"] else other
                chosen.value = state["frozen"] = state["frozen"] + 1
            if self.value == np.inf:
                state["candidate"] = self
            elif other.value == np.inf:
                state["candidate"] = other
            return self.value < other.value

    def by_sorting(row):
        state["sorts"] += 1
        return row

    n = 4000
    items = [Item() for _ in range(n)]
    row = np.empty(n, object)
    row[:] = items
    monkeypatch.setattr(_array_library, "sorted_copy", by_sorting)
    _array_library._select(row, n // 2)
    monkeypatch.undo()
    assert state["sorts"] == 1
    x = np.array([min(item.value, n) for item in items], float)
    assert lw.njit(lambda x: np.median(x))(x) == np.median(x)


# ---- functions that write to elements ----


def copyto(x, y):
    np.copyto(x, 2)
    np.copyto(x[0], y[1])
    np.copyto(x, y[0], where=y > 1)
    np.copyto(x[1], [1, 2, 3, 4, 5], where=[True, False, True, True, False])
    return x


def putmask(x, y):
    np.putmask(x, y > 1, [7, 8, 9])
    np.putmask(x[0], y[0] < 1, 3)
    np.putmask(x[1:], y[1:] == 0, y)
    return x


def place(x, y):
    np.place(x, y > 1, [7, 8, 9])
    np.place(x[1], x[1] != 0, x[0, 0])
    return x


def fill_diagonal(x, y):
    np.fill_diagonal(x[0], 9)
    np.fill_diagonal(x[1].T, y[0, 0], wrap=True)
    np.fill_diagonal(x[2, :2, :2].reshape(2, 2), [5, 6])
    np.fill_diagonal(y[:, :3, :3], y[0, 0])
    return x.sum() + y.sum()


@pytest.mark.parametrize("f", [copyto, putmask, place, fill_diagonal])
def test_functions_that_write(f, request):
    dtypes, thorough = [np.int8, np.int64, np.float32, np.float64], request.config.getoption("--thorough")
    for x, w in zip(chosen(f.__name__, dtypes, thorough), chosen(f.__name__, dtypes, thorough)):
        y = numbers(x.dtype)[::-1]
        want = f(w, y.copy())
        same(lw.jit(f)(x, y.copy()), want)
        same(x, w)


@pytest.mark.parametrize("f, error", [
    (lambda x: np.place(x, x == x, np.empty(0)), "Cannot insert from an empty array!"),
    (lambda x: np.putmask(x, x[0] > 0, 1), "mask and data must be the same size"),
    (lambda x: np.fill_diagonal(x, 1), "All dimensions of input must be of equal length"),
    (lambda x: np.fill_diagonal(x[0, 0], 1), "array must be at least 2-d"),
    (lambda x: x.item(), "can only convert an array of size 1"),
])
def test_errors_of_functions_that_write(f, error):
    with pytest.raises(ValueError, match=error):
        f(numbers(np.float64))
    with pytest.raises(ValueError, match=error):
        lw.jit(f)(numbers(np.float64))


@pytest.mark.slow_with_sanitizers
def test_long_rows_are_selected_as_short_ones_are_sorted():
    g = np.random.default_rng(3)
    f, n = lw.jit(lambda x, q: np.quantile(x, q)), lw.jit(lambda x, q: np.nanpercentile(x, q))
    rows = [g.random(1000), np.arange(1001.0), np.arange(1000.0)[::-1].copy(), g.integers(0, 4, 777).astype(float), np.zeros(300)]
    for row in rows:
        for q in (0.0, 0.1, 0.5, 0.999, 1.0, 1 / 3):
            assert f(row, q) == np.quantile(row, q)
            assert n(row, 100 * q) == np.nanpercentile(row, 100 * q)
    assert np.isnan(f(np.array([1.0] * 300 + [np.nan]), 0.2))
    with pytest.raises(ValueError, match="range"):
        f(rows[0], 1.5)


def test_items():
    f = lw.jit(lambda x, z: (x.item(7), x.item(1, 2, 3), x.item((0, 0, 1)), x.item(-1), z.item(), x[:1, 0, 0].item()))
    for dtype in DTYPES[:2] + [np.int64, np.float32, np.complex64]:
        x = numbers(dtype)
        want = f.py_func(x, x[0, 1, 2, ...])
        got = f(x, x[0, 1, 2, ...])
        assert got == want and [type(v) for v in got] == [type(v) for v in want]


@pytest.mark.parametrize("name", ["quantile", "percentile", "nanquantile", "nanpercentile"])
def test_bools_have_no_quantiles(name):
    f, x = getattr(np, name), np.array([[True, False, True]])
    for work in (lambda x: f(x, 0.5), lambda x: f(x, 0.25, axis=1), lambda x: f(x, [0.5, 1.0]), lambda x: f(x, np.array([0.5]))):
        for run in (work, lw.njit(work)):
            with pytest.raises(TypeError, match="numpy boolean subtract"):
                run(x)


@pytest.mark.parametrize("values", [[1, np.inf], [np.inf, np.inf, np.inf], [-np.inf, 1, np.inf], [5]])
def test_quantiles_at_the_ends_are_elements(values):
    """Also beside infinities, where some versions of NumPy find NaN; between infinities there is no number for NumPy either."""
    x, f = np.array(values, float), lw.jit(lambda x, p: np.quantile(x, p))
    assert f(x, 0.0) == x.min() and f(x, 1.0) == x.max()
    with np.errstate(invalid="ignore"):
        for q in (0.25, 0.75):
            check(lambda x, p: np.quantile(x, p), x, q)


REFUSED = [
    ("histogram_nan", lambda x: np.histogram(x, 5), [1, np.nan, 3], "autodetected range of \\[nan, nan\\] is not finite"),
    ("histogram_first_nan", lambda x: np.histogram(x, 5), [np.nan, 3], "autodetected range of \\[nan, nan\\] is not finite"),
    ("histogram_inf", lambda x: np.histogram(x, 5), [1, np.inf], "autodetected range of \\[1.0, inf\\] is not finite"),
    ("histogram_range", lambda x: np.histogram(x, 5, (0.0, np.inf)), [1, 2], "supplied range of \\[0.0, inf\\] is not finite"),
    ("histogram_no_bins", lambda x: np.histogram(x, 0), [1, 2], "`bins` must be positive, when an integer"),
    ("histogram_falling", lambda x: np.histogram(x, np.array([1.0, 3.0, 2.0])), [1, 2], "`bins` must increase monotonically, when an array"),
    ("digitize", lambda x: np.digitize(x, np.array([1.0, 3.0, 2.0])), [1, 2], "bins must be monotonically increasing or decreasing"),
    ("digitize_back", lambda x: np.digitize(x, np.array([3.0, 1.0, 2.0])), [1, 2], "bins must be monotonically increasing or decreasing"),
    ("percentile", lambda x: np.percentile(x, 50), [], "index -1 is out of bounds for axis 0 with size 0"),
    ("quantiles", lambda x: np.quantile(x, np.array([0.1, 0.9])), [], "index -1 is out of bounds for axis 0 with size 0"),
    ("quantile_axis", lambda x: np.quantile(np.expand_dims(x, 0), 0.5, axis=1), [], "index -1 is out of bounds for axis 0 with size 0"),
]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name,f,values,message", REFUSED, ids=[row[0] for row in REFUSED])
def test_what_numpy_refuses_is_refused(name, f, values, message, dtype):
    """Bins of NaN and of infinities would count the wrong elements; of nothing there are no quantiles."""
    x = np.array(values, dtype)
    with pytest.raises((ValueError, IndexError)) as wanted:
        f(x)
    with pytest.raises(type(wanted.value), match=message):
        lw.jit(f)(x)


AXES = [
    ("dot", lambda x, y: np.dot(x, y), 3, 3, "products in compiled code take arrays of at most two axes, not 3 and 3"),
    ("dot_row", lambda x, y: np.dot(x, y), 3, 1, "products in compiled code take arrays of at most two axes, not 3 and 1"),
    ("inner", lambda x, y: np.inner(x, y), 1, 3, "products in compiled code take arrays of at most two axes, not 1 and 3"),
    ("method", lambda x, y: x.dot(y), 2, 3, "products in compiled code take arrays of at most two axes, not 2 and 3"),
    ("matmul", lambda x, y: x @ y, 3, 2, "products in compiled code take arrays of at most two axes, not 3 and 2"),
    ("matmul_number", lambda x, y: x @ y, 0, 2, "matmul takes arrays with axes"),
    ("matmul_numbers", lambda x, y: np.matmul(x, y), 2, 0, "matmul takes arrays with axes"),
    ("kron", lambda x, y: np.kron(x, y), 0, 0, "kron in compiled code takes rows and matrices"),
    ("trace", lambda x, y: np.trace(x), 3, 0, "trace in compiled code takes a matrix, not an array with 3 axes"),
    ("trace_row", lambda x, y: np.trace(x), 1, 0, "trace in compiled code takes a matrix, not an array with 1 axes"),
]


@pytest.mark.parametrize("name,f,x,y,message", AXES, ids=[row[0] for row in AXES])
def test_numbers_of_axes_that_are_refused(name, f, x, y, message):
    with pytest.raises(ValueError, match=message):
        lw.jit(f)(np.ones((2,) * x), np.ones((2,) * y))


def test_long_functions_are_called():
    @lw.njit
    def f(a, b):
        return a @ b @ a + np.linalg.inv(a) @ b

    a = np.array([[2.0, 1.0], [0.5, 3.0]])
    np.testing.assert_allclose(f(a, a), a @ a @ a + np.eye(2))
    heads = [line for text in f.inspect_llvm().values() for line in text.split("\n") if line.startswith("define") and "__add_tile(" in line]
    assert len(heads) > 1 and all(" noinline" in line for line in heads)  # LLVM takes seconds for copies of the loops


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1"])
def test_histograms_of_equal_bins(dtype):
    r = np.random.default_rng(6)
    counted, with_range = lw.njit(lambda a, n: np.histogram(a, n)), lw.njit(lambda a, n, low, high: np.histogram(a, n, (low, high)))
    for n in (1, 3, 10, 64, 1000):
        a = (r.normal(size=2000) * 40 + 100).clip(0, 255).astype(dtype)
        edges = np.linspace(a.min(), a.max(), n + 1).astype(dtype)  # elements at the edges, too
        for x in (a, np.concatenate([a, edges]), a[:1]):
            for got, wanted in ((counted(x, n), np.histogram(x, n)), (with_range(x, n, 50.0, 150.0), np.histogram(x, n, (50.0, 150.0)))):
                assert np.array_equal(got[0], wanted[0]) and np.allclose(got[1], wanted[1], rtol=1e-7)
    special = np.array([np.nan, 1.0, np.inf, 2.0, -np.inf, 4.0])
    assert with_range(special, 4, 0.0, 4.0)[0].tolist() == np.histogram(special, 4, (0.0, 4.0))[0].tolist()


def bools(shape):
    return np.random.default_rng(3).random(shape) < 0.6


@pytest.mark.parametrize("f", [
    lambda x: np.outer(x, x[:4]), lambda x: np.outer(x, x * 2), lambda x: np.kron(x, x[:3]), lambda x: np.convolve(x, x[:4]), lambda x: np.convolve(x, x[:3] * 1.5, "same"),
    lambda x: np.correlate(x, x[:3]), lambda x: np.correlate(x[:3], x, "same"), lambda x: np.trapezoid(x), lambda x: np.trapezoid(x, dx=2), lambda x: np.inner(x, x),
], ids=range(10))
def test_products_of_bools(f):
    """They are bools, as in NumPy, and so are sums of them."""
    for n in (5, 400):
        check(f, bools(n))


@pytest.mark.parametrize("f", [
    lambda x, y: np.average(x, weights=y), lambda x, y: np.average(x.reshape(2, 3), axis=0, weights=y[:2]), lambda x, y: np.average(x.reshape(2, 3), axis=1, weights=y.reshape(2, 3)),
    lambda x, y: np.trapezoid(x, y), lambda x, y: np.polyval(x[:3], y), lambda x, y: np.polyval(x[:3], y[2]), lambda x, y: np.sinc(x),
], ids=["average", "average_rows", "average_elements", "trapezoid", "polyval", "polyval_number", "sinc"])
def test_the_type_in_which_elements_are_multiplied(f):
    """Averages of integers are float64 and do not wrap around, and a polynomial of bools is a bool."""
    for one in ("?", "i1", "u1", "i4", "u8", "f4", "c8"):
        for other in ("?", "i2", "u4", "i8", "f4", "f8"):
            check(f, numbers_of(one), numbers_of(other))


@pytest.mark.parametrize("dtype", ["?", "u8", "f4", "c8", "c16", "M8[s]"])
def test_intersections(dtype):
    """In NumPy's order, and of the common dtype; a NaN is equal to nothing."""
    x, y = (np.random.default_rng(seed).integers(0, 9, 12).astype(dtype) for seed in (1, 2))
    if dtype[0] == "c":
        x, y = np.append(x + 1j * (x.real > 4), np.nan).astype(dtype), np.append(y + 1j * (y.real > 5), [np.nan, 3]).astype(dtype)
    check(lambda a, b: np.intersect1d(a, b), x, y)
    if dtype != "M8[s]":
        check(lambda a, b: np.intersect1d(a, b), x, y.real.astype("i8"))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("f", [lambda z: np.argmax(z), lambda z: np.argmin(z), lambda z: np.argmax(z, axis=0), lambda z: z.argmin(1), lambda z: np.argmin(z[2]), lambda z: np.argmax(z, axis=0, keepdims=True)], ids=range(6))
def test_places_of_complex_numbers(f, dtype):
    """By their real parts first; the first NaN, in either part, is the place."""
    g = np.random.default_rng(3)
    z = (g.integers(-3, 3, (4, 5)) + 1j * g.integers(-3, 3, (4, 5))).astype(dtype)
    check(f, z)
    z[2, 1], z[2, 3], z[0, 4] = complex(1, np.nan), np.nan, complex(np.nan, 2)
    check(f, z)
    check(f, z.T.copy().T[:, ::-1])


@pytest.mark.parametrize("f", [
    lambda x, q: np.quantile(x, q, axis=0), lambda x, q: np.nanquantile(x, q, axis=-1), lambda x, q: np.percentile(x, 100 * q, axis=1), lambda x, q: np.nanpercentile(x, [5, 95], axis=0),
    lambda x, q: np.quantile(x, (0.25, 0.75), 1), lambda x, q: np.quantile(x[0], q, axis=0),
], ids=range(6))
def test_several_quantiles_along_an_axis(f):
    x = np.random.default_rng(3).normal(size=(6, 300))
    check(f, x, np.array([0.1, 0.5, 0.99, 1.0]))
    x[2, 3] = np.nan
    check(f, x, np.array([0.25]))


@pytest.mark.parametrize("f", [
    lambda a, b: np.vdot(a, b), lambda a, b: np.vdot(a.T * 1j, b), lambda a, b: np.vdot(a, b.ravel()), lambda a, b: np.kron(a, b[0]), lambda a, b: np.kron(a[0], b),
    lambda a, b: np.ptp(a.astype("M8[D]"), axis=0), lambda a, b: np.ptp(b.astype("m8[s]"), axis=1),
], ids=range(7))
def test_matrices_where_rows_are_usual(f):
    check(f, np.arange(12.0).reshape(3, 4), np.arange(5.0, 17.0).reshape(4, 3))


@pytest.mark.parametrize("start, stop, step", [
    (1700000000000000000, 1700000000000000100, 1), (2**53, 2**53 + 3, 1), (2**60, 2**60 + 900, 300), (2**63 - 3, 2**63 - 1, 1), (-2**63, -2**63 + 4, 1), (10, 0, -3), (0, -7, -2), (3, 3, 1), (5, -5, 1),
])
def test_ranges_of_large_integers(start, stop, step):
    """The distance of the ends is not rounded before it is divided."""
    check(lambda a, b, c: np.arange(a, b, c), start, stop, step)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "?", "f4", "f8", "c8"])
def test_norms_of_the_largest_element(dtype):
    """The least integer of a type has no magnitude in it."""
    x = np.array([np.iinfo(dtype).min, 5] if dtype[0] == "i" else [1, 3]).astype(dtype)
    for order in (np.inf, -np.inf):
        check(lambda x, order: np.linalg.norm(x, order), x, order)
        check(lambda x, order: np.linalg.norm(x.reshape(1, 2), order, axis=1, keepdims=True), x, order)
    with pytest.raises(ValueError, match="zero-size"):
        lw.njit(lambda x: np.linalg.norm(x, -np.inf))(x[:0])


@pytest.mark.parametrize("start, stop", [(-0.5, 0.5), (-0.3, 0.3), (1, 10), (-1e-3, 7.7)])
def test_spacings_have_numpys_bits(start, stop):
    """The product is rounded before the start is added, so that 0 is among the edges of a histogram around it."""
    for n in (2, 7, 11, 50, 97):
        for f in (lambda a, b, n: np.linspace(a, b, n), lambda a, b, n: np.linspace(np.float32(a), np.float32(b), n, endpoint=False)):
            assert lw.njit(f)(start, stop, n).tobytes() == f(start, stop, n).tobytes()
    assert lw.njit(lambda x: np.histogram(x)[0])(np.zeros(4)).tolist() == np.histogram(np.zeros(4))[0].tolist()


@pytest.mark.parametrize("f", [
    lambda a: np.sum(a, axis=0, dtype=np.int64), lambda a: np.prod(a, axis=0, dtype=np.int32), lambda a: np.mean(a, axis=0, dtype=np.int64), lambda a: np.sum(a > 0, axis=0, dtype=np.int8),
    lambda a: np.mean((3 * a).astype(np.int32), axis=0, dtype=np.int64), lambda a: np.unwrap(a.ravel().astype(np.int32), period=7), lambda a: np.unwrap(a.ravel().astype(np.int64), period=360),
    lambda a: np.nanvar(a[0].astype(np.int32), ddof=5), lambda a: np.nanvar(a[0], ddof=5), lambda a: np.trapezoid(a[0], [0, 1, 3, 7]), lambda a: np.trapezoid(a, (0.0, 1.0, 3.0, 4.5)),
], ids=range(11))
def test_types_of_results(f):
    check(f, 10 * np.random.default_rng(0).normal(size=(5, 4)))


def test_what_numpy_refuses():
    for f, text in ((lambda: np.bincount(np.array([1, 2]), minlength=-1), "must not be negative"), (lambda: np.arange(1.0, np.nan), "cannot compute length")):
        with pytest.raises(ValueError, match=text):
            lw.njit(f)()


def numbers_of(dtype):
    """Large enough that a product of two does not fit into their type."""
    if dtype == "?":
        return bools(6)
    return np.array([100, 120, 90, 110, 101, 127]).astype(dtype) * np.array(1 if dtype in ("i1", "u1") else 200).astype(dtype)


@pytest.mark.parametrize("f", [lambda x: np.ediff1d(x), lambda x: np.cross(x[:3], x[3:6]), lambda x: np.gradient(x)], ids=range(3))
def test_differences_of_bools(f):
    with pytest.raises(TypeError, match="boolean subtract"):
        f(bools(9))
    with pytest.raises(TypeError, match="boolean subtract"):
        lw.jit(f)(bools(9))
