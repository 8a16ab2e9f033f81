"""NumPy's functions on device arrays that search, count, combine and arrange: NumPy's values, dtypes and shapes. Without a GPU, arrays that stand for device arrays run the same text."""

from __future__ import annotations

import numpy as np
import pytest

from device_checks import back, in_every_layout, put, same  # noqa: F401: put is a fixture
from fake_driver import FAKE, needs_kernels
from lanewise import errors


g = np.random.default_rng(5)
X = g.normal(size=(6, 7))
N = X.copy()
N[1, 2] = N[4, :3] = np.nan
I = g.integers(0, 9, (6, 7))
S = np.sort(X[0])
B = X > 0
C = X + 1j * X[::-1]
E3 = g.normal(size=(3, 4, 5))
M = g.normal(size=(4, 6))
F4, F2 = X.astype("f4"), X.astype("f2")

CASES = [
    ("searchsorted", lambda a, v: np.searchsorted(a, v), S, X), ("searchsorted_right", lambda a, v: np.searchsorted(a, v, "right"), np.sort(I[0]), I),
    ("searchsorted_mixed", lambda a, v: np.searchsorted(a, v), np.sort(I[0]), X * 4), ("searchsorted_nan", lambda a, v: np.searchsorted(a, v), np.sort(N[1]), N),
    ("searchsorted_nan_right", lambda a, v: np.searchsorted(a, v, side="right"), np.sort(N[1]), N), ("searchsorted_sorter", lambda a, v: np.searchsorted(a, v, sorter=np.argsort(X[0])), X[0], X),
    ("searchsorted_list", lambda a: np.searchsorted(a, [0.1, -3, 9]), S), ("searchsorted_number", lambda a: np.searchsorted(a, 0.1), S), ("searchsorted_empty", lambda a, v: np.searchsorted(a, v), S[:0], X),
    ("searchsorted_dates", lambda a, v: np.searchsorted(a, v), np.sort(I[0]).astype("M8[D]"), I.astype("M8[D]")),
    ("digitize", lambda x: np.digitize(x, [-1, 0, 1]), X), ("digitize_right", lambda x: np.digitize(x, [0, 3, 5], right=True), I), ("digitize_back", lambda x: np.digitize(x, [5, 3, 0]), I),
    ("digitize_back_right", lambda x: np.digitize(x, [5, 3, 0], True), I), ("digitize_device", lambda x, b: np.digitize(x, b), X, S),
    ("isin", lambda x: np.isin(x, [1, 3, 11]), I), ("isin_not", lambda x, y: np.isin(x, y, invert=True), I, I[0]), ("isin_none", lambda x: np.isin(x, []), I), ("isin_nan", lambda x: np.isin(x, [np.nan, 1.0]), N),
    ("bincount", lambda x: np.bincount(x), I.ravel()), ("bincount_more", lambda x: np.bincount(x, minlength=20), I[0].astype("u1")), ("bincount_none", lambda x: np.bincount(x, minlength=3), I.ravel()[:0]),
    ("bincount_weights", lambda x, w: np.bincount(x, w), I.ravel(), X.ravel()), ("bincount_int_weights", lambda x, w: np.bincount(x, weights=w), I[0], I[1].astype("i4")), ("bincount_bool", lambda x: np.bincount(x), I[0] > 3),
    ("histogram", lambda x: np.histogram(x), X), ("histogram_bins", lambda x: np.histogram(x, 5), F4), ("histogram_int", lambda x: np.histogram(x, 4), I), ("histogram_f2", lambda x: np.histogram(x, 6), F2),
    ("histogram_range", lambda x: np.histogram(x, 4, (-1, 1)), N), ("histogram_edges", lambda x: np.histogram(x, [-1, 0, 0.5, 3]), X), ("histogram_density", lambda x: np.histogram(x, 4, density=True), X),
    ("histogram_weights", lambda x, w: np.histogram(x, 4, weights=w), X, X * X), ("histogram_u1", lambda x: np.histogram(x, 3), I.astype("u1")), ("histogram_none", lambda x: np.histogram(x, 3), X[:0]),
    ("histogram_device_edges", lambda x, b: np.histogram(x, b), X, S), ("histogram_one", lambda x: np.histogram(x, 3), np.full(4, 2.0)), ("edges", lambda x: np.histogram_bin_edges(x, 4), X),
    ("histogram_last_edge", lambda x: np.histogram(x, [0, 3, 8]), I), ("histogram_one_edge", lambda x: np.histogram(x, [0]), I), ("histogram_equal_edges", lambda x: np.histogram(x, [0, 2, 2, 8]), I),
    ("median", lambda x: np.median(x), X), ("median_axis", lambda x: np.median(x, axis=0), F4), ("median_even", lambda x: np.median(x, axis=0), I), ("median_keep", lambda x: np.median(x, 1, keepdims=True), X),
    ("median_axes", lambda x: np.median(x, axis=(0, 2)), E3), ("median_keep_all", lambda x: np.median(x, keepdims=True), E3), ("median_nan", lambda x: np.median(x, axis=1), N), ("median_f2", lambda x: np.median(x, axis=-1), F2),
    ("median_bool", lambda x: np.median(x, axis=0), X > 0), ("median_none", lambda x: np.median(x, axis=1), X[:, :0]), ("median_inf", lambda x: np.median(x), np.array([np.inf, np.inf, 1, np.inf])),
    ("nanmedian", lambda x: np.nanmedian(x), N), ("nanmedian_axis", lambda x: np.nanmedian(x, axis=0), N), ("nanmedian_row", lambda x: np.nanmedian(x, axis=1, keepdims=True), N),
    ("quantile", lambda x: np.quantile(x, 0.3), X), ("quantile_axis", lambda x: np.quantile(x, 0.3, axis=1), X), ("quantiles", lambda x: np.quantile(x, [0, 0.25, 0.5, 1], axis=0), X), ("quantile_f4", lambda x: np.quantile(x, 0.3, axis=0), F4),
    ("quantile_int", lambda x: np.quantile(x, [[0.1], [0.7]], axis=(0, 1)), I), ("quantile_keep", lambda x: np.quantile(x, [0.2, 0.9], axis=0, keepdims=True), E3), ("quantile_nan", lambda x: np.quantile(x, 0.5, axis=1), N),
    *((f"quantile_{m}", lambda x, m=m: np.quantile(x, [0.0, 0.1, 0.45, 0.5, 0.99, 1.0], axis=1, method=m), X) for m in ("lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased", "normal_unbiased", "interpolated_inverted_cdf")),
    *((f"percentile_int_{m}", lambda x, m=m: np.percentile(x, [12, 50, 50.5], axis=0, method=m), I) for m in ("lower", "higher", "nearest", "midpoint")),
    ("percentile", lambda x: np.percentile(x, 30), X), ("percentiles", lambda x: np.percentile(x, [5, 95], axis=1), X), ("nanquantile", lambda x: np.nanquantile(x, 0.4, axis=1), N), ("nanpercentile", lambda x: np.nanpercentile(x, [10, 60]), N),
    ("quantile_inf", lambda x: np.quantile(x, [0.3, 0.5], axis=0), np.array([[np.inf, 1, -np.inf], [np.inf, 2.0, np.inf]])),
    ("gradient", lambda x: np.gradient(x), X), ("gradient_row", lambda x: np.gradient(x), X[0]), ("gradient_axis", lambda x: np.gradient(x, 0.5, axis=1), F4), ("gradient_int", lambda x: np.gradient(x, axis=0), I),
    ("gradient_steps", lambda x: np.gradient(x, 0.5, 2.0), X), ("gradient_points", lambda x, p: np.gradient(x, p, axis=1), X, np.cumsum(abs(X[1]))), ("gradient_edge", lambda x: np.gradient(x, 0.5, edge_order=2), E3),
    ("gradient_points_edge", lambda x: np.gradient(x, np.array([0, 1, 3, 4, 8, 9, 11.0]), axis=1, edge_order=2), X),
    ("trapezoid", lambda x: np.trapezoid(x), X), ("trapezoid_axis", lambda x: np.trapezoid(x, dx=0.5, axis=0), E3), ("trapezoid_x", lambda x, p: np.trapezoid(x, p, axis=1), E3, X[0, :4]), ("trapezoid_each", lambda x, p: np.trapezoid(x, p), X, I),
    ("interp", lambda x: np.interp(x, [-1, 0, 2], [5, 6, 9]), X), ("interp_device", lambda x, p, f: np.interp(x, p, f), X, S, X[1]), ("interp_ends", lambda x: np.interp(x, [-0.5, 0, 0.5], [1, 2, 4], left=-7, right=8), F4),
    ("interp_period", lambda x: np.interp(x, [0, 90, 270], [1, 2, 3], period=360), X * 500), ("interp_complex", lambda x, f: np.interp(x, np.arange(7.0), f), X, C[0]), ("interp_one", lambda x: np.interp(x, [0.0], [3.0], right=1), N), ("interp_int", lambda x: np.interp(x, [0, 4, 9], [1, 2, 30]), I),
    ("matrices", lambda a, b: np.einsum("ij,jk->ik", a, b), X, X.T), ("transposed", lambda a, b: np.einsum("ij,kj->ki", a, b), X, F4), ("inner", lambda a, b: np.einsum("i,i", a, b), X[0], X[1]), ("outer", lambda a, b: np.einsum("i,j->ji", a, b), X[0], I[1]),
    ("trace", lambda a: np.einsum("ii", a), X[:, :6]), ("diagonal", lambda a: np.einsum("ii->i", a), X[:, :6]), ("sum", lambda a: np.einsum("ijk->k", a), E3), ("transpose", lambda a: np.einsum("kij", a), E3), ("batches", lambda a, b: np.einsum("bij,bjk->bik", a, b), E3, E3.transpose(0, 2, 1)),
    ("batch_last", lambda a, b: np.einsum("bij,bkj->ikb", a, b), E3, E3), ("elementwise", lambda a, b: np.einsum("ij,ij->ij", a, b), X, I), ("hadamard_sum", lambda a, b: np.einsum("ij,ij->i", a, b), X, X), ("dots", lambda a, b: np.einsum("...ij,jk->...ik", a, b), E3, M[:, :2].repeat(2, 0)[:5]),
    ("dots_both", lambda a, b: np.einsum("...i,...i->...", a, b), E3, E3[0]), ("implicit_dots", lambda a, b: np.einsum("...i,i", a, b), E3, E3[0, 0]), ("three", lambda a, b, c: np.einsum("ij,jk,k->i", a, b, c), X, X.T, X[:, 0]), ("ones", lambda a, b: np.einsum("ij,ij->ij", a, b), X, X[:1]),
    ("ones_summed", lambda a, b: np.einsum("ij,ij->j", a, b), X, X[:1]), ("lists", lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [0, 2]), X, X.T), ("complex", lambda a, b: np.einsum("ij,kj", a, b), C, X), ("repeated", lambda a, b: np.einsum("iij,j->i", a, b), g.normal(size=(3, 3, 5)), X[0, :5]),
    ("integers", lambda a, b: np.einsum("ij,jk", a, b), I, I.T), ("scalar", lambda a, b: np.einsum(",ij->ij", a, b), np.array(2.0), X), ("unused", lambda a, b: np.einsum("ij,k->i", a, b), X, X[0]),
    ("triu_row", lambda x: np.triu(x), X[0]), ("tril_row", lambda x: np.tril(x, -1), I[0]), ("argwhere_0", lambda x: np.argwhere(x), np.array(2.5)), ("argwhere_zero", lambda x: np.argwhere(x), np.array(0j)),
    ("norm", lambda x: np.linalg.norm(x), X), ("norm_int", lambda x: np.linalg.norm(x, axis=1), I), ("norm_keep", lambda x: np.linalg.norm(x, axis=0, keepdims=True), F4), ("norm_complex", lambda x: np.linalg.norm(x, axis=1), C),
    *((f"norm_{o}", lambda x, o=o: np.linalg.norm(x, o, axis=1), X) for o in (0, 1, 2, 3, -1, np.inf, -np.inf)), *((f"norm_matrix_{o}", lambda x, o=o: np.linalg.norm(x, o), X) for o in ("fro", 1, -1, np.inf, -np.inf)),
    ("norm_stack", lambda x: np.linalg.norm(x, 1, axis=(0, 2), keepdims=True), E3), ("norm_stack_inf", lambda x: np.linalg.norm(x, np.inf, axis=(2, 1)), E3),
    *((f"convolve_{m}", lambda a, b, m=m: np.convolve(a, b, m), X[0], X[1, :4]) for m in ("full", "same", "valid")), *((f"convolve_short_{m}", lambda a, b, m=m: np.convolve(a, b, m), X[0, :4], I[1]) for m in ("full", "same", "valid")),
    *((f"correlate_{m}", lambda a, b, m=m: np.correlate(a, b, m), C[0], C[1, :4]) for m in ("full", "same", "valid")), *((f"correlate_bools_{m}", lambda a, b, m=m: np.correlate(a, b, m), B[0], B[1, :4]) for m in ("full", "same", "valid")), *((f"correlate_short_{m}", lambda a, b, m=m: np.correlate(a, b, m), X[0, :4], X[1]) for m in ("full", "same", "valid")),
    ("convolve_bool", lambda a, b: np.convolve(a, b), X[0] > 0, X[1, :3] > 0), ("convolve_f2", lambda a, b: np.convolve(a, b), F2[0], F2[1]),
    ("cov", lambda x: np.cov(x), X), ("cov_columns", lambda x: np.cov(x, rowvar=False, ddof=0), F4), ("cov_two", lambda x, y: np.cov(x, y), X[0], X[1]), ("cov_row", lambda x: np.cov(x, bias=True), X[0]), ("cov_complex", lambda x: np.cov(x), C), ("corrcoef", lambda x: np.corrcoef(x), X), ("corrcoef_two", lambda x, y: np.corrcoef(x, y), X[0], I[1]),
    ("select", lambda x: np.select([x > 1, x < 0], [x, -x]), X), ("select_default", lambda x: np.select([x > 1, x < 0], [x, 2.5], 7), F4), ("select_int", lambda x, y: np.select([x > 4, x > 2], [x, y], default=-1), I, I[0]), ("select_dates", lambda x: np.select([x > np.datetime64(4, "D")], [x], np.datetime64(0, "D")), I.astype("M8[D]")),
    ("meshgrid", lambda a, b: np.meshgrid(a, b), X[0], I[1, :3]), ("meshgrid_ij", lambda a, b: np.meshgrid(a, b, indexing="ij"), X[0], I[1, :3]), ("meshgrid_sparse", lambda a, b, c: np.meshgrid(a, b, c, sparse=True), X[0], X[1], X[2, :2]), ("meshgrid_one", lambda a: np.meshgrid(a), X[0]),
    ("rot90", lambda x: np.rot90(x), X), ("rot90_2", lambda x: np.rot90(x, 2), X), ("rot90_back", lambda x: np.rot90(x, -1, (1, 2)), E3),
]


@pytest.mark.parametrize("name,f,arrays", [(row[0], row[1], row[2:]) for row in CASES], ids=[row[0] for row in CASES])
def test_numpys_results(name, f, arrays, put):
    if FAKE and name.split("_")[0] in ("bincount", "digitize", "histogram", "edges", "select"):
        pytest.skip("reads from the device how large the result is; the fake driver runs no kernels")
    in_every_layout(f, arrays, put)


@pytest.mark.parametrize("method", ["linear", "hazen", "midpoint", "lower"])
@pytest.mark.parametrize("q", [0.3, [0.3, 0.7], (0.25,), np.array([0.3], "f4"), np.float32(0.3)], ids=repr)
@pytest.mark.parametrize("x", [F2, F4, X, I], ids=["f2", "f4", "f8", "i8"])
def test_dtypes_of_quantiles(x, q, method, put):
    """The dtype of the elements for a Python number, otherwise the common one; NumPy rounds differences of elements to their dtype."""
    for f in (np.quantile, np.nanquantile, lambda x, q, **kw: np.percentile(x, np.asarray(q) * 100 if type(q) is not float else q * 100, **kw)):
        want, got = f(x, q, axis=0, method=method), back(f(put(x), q, axis=0, method=method))
        assert got.dtype == want.dtype and got.shape == want.shape
        if not FAKE:
            np.testing.assert_allclose(got, want, rtol=4e-3 if x.dtype == np.float16 else 1e-5, atol=1e-3)


REFUSED = [
    ("bincount_negative", lambda d: np.bincount(d.astype(np.int64).ravel() - 9), ValueError, "must have no negative elements"), ("bincount_float", lambda d: np.bincount(d.ravel()), TypeError, "according to the rule 'safe'"),
    ("bincount_2d", lambda d: np.bincount(d.astype(np.int64)), ValueError, "too deep"), ("histogram_nan", lambda d: np.histogram(d * np.nan), ValueError, r"autodetected range of \[nan, nan\] is not finite"),
    ("histogram_auto", lambda d: np.histogram(d, "auto"), errors.UnsupportedError, "bins='auto' looks at all elements"), ("histogram_falling", lambda d: np.histogram(d, [3, 1]), ValueError, "must increase monotonically"),
    ("histogram_range", lambda d: np.histogram(d, 3, (0, np.inf)), ValueError, "supplied range"), ("histogram_zero", lambda d: np.histogram(d, 0), ValueError, "must be positive"),
    ("digitize", lambda d: np.digitize(d, [1, 3, 2]), ValueError, "monotonically"), ("side", lambda d: np.searchsorted(d.ravel(), 1.0, "middle"), ValueError, "search side must be"), ("searchsorted_2d", lambda d: np.searchsorted(d, 1.0), ValueError, "too deep"),
    ("quantile", lambda d: np.quantile(d, 1.5), ValueError, r"Quantiles must be in the range \[0, 1\]"), ("percentile", lambda d: np.percentile(d, [10, -1]), ValueError, r"Percentiles must be in the range \[0, 100\]"),
    ("quantile_none", lambda d: np.quantile(d[:0], 0.5), IndexError, "index -1 is out of bounds"), ("method", lambda d: np.quantile(d, 0.5, method="best"), ValueError, "is not a valid method"), ("cdf", lambda d: np.quantile(d, 0.5, method="inverted_cdf"), errors.UnsupportedError, "inverted_cdf"),
    ("median_complex", lambda d: np.median(d * 1j), errors.UnsupportedError, "elements are complex128"), ("einsum_letters", lambda d: np.einsum("ijk", d), ValueError, "fewer dimensions"), ("einsum_sizes", lambda d: np.einsum("ij,ij", d, d.T), ValueError, "could not be broadcast"),
    ("einsum_out", lambda d: np.einsum("ij->k", d), ValueError, "never appeared"), ("einsum_count", lambda d: np.einsum("ij,jk", d), ValueError, "operands provided"), ("norm_order", lambda d: np.linalg.norm(d, 3), ValueError, "Invalid norm order for matrices"),
    ("convolve", lambda d: np.convolve(d.ravel(), []), ValueError, "v cannot be empty"), ("mode", lambda d: np.convolve(d.ravel(), [1.0], "most"), ValueError, "mode must be one of"), ("gradient", lambda d: np.gradient(d, 1, 2, 3), TypeError, "invalid number of arguments"), ("gradient_bools", lambda d: np.gradient(d > 0), TypeError, "boolean subtract"), ("gradient_small", lambda d: np.gradient(d[:1]), ValueError, "too small"),
    ("select", lambda d: np.select([d > 0], [d, d]), ValueError, "same length"), ("select_numbers", lambda d: np.select([d], [d]), TypeError, "should be boolean"), ("interp", lambda d: np.interp(d, [], []), ValueError, "sample points is empty"), ("weights", lambda d: np.cov(d, fweights=[1]), errors.UnsupportedError, "fweights"),
    ("searchsorted_times", lambda d: np.searchsorted(d.ravel().astype("m8[s]"), d.astype("M8[s]")), TypeError, "cannot be compared"), ("quantile_times", lambda d: np.quantile(d.astype("m8[s]"), 0.5), errors.UnsupportedError, r"elements are timedelta64\[s\]"), ("gradient_times", lambda d: np.gradient(d.astype("M8[D]")), errors.UnsupportedError, r"elements are datetime64\[D\]"),
    ("einsum_times", lambda d: np.einsum("ij->i", d.astype("m8[s]")), TypeError, "invalid data type for einsum"), ("sinc_times", lambda d: np.sinc(d.astype("m8[s]")), TypeError, r"takes numbers, not timedelta64\[s\]"),
    ("interp_complex", lambda d: np.interp(d * 1j, [0.0, 1.0], [1.0, 2.0]), TypeError, "according to the rule 'safe'"), ("interp_points", lambda d: np.interp(d, d[0] * 1j, d[0]), TypeError, "according to the rule 'safe'"),
]


@needs_kernels
@pytest.mark.parametrize("name,f,kind,message", REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_refused(name, f, kind, message, put):
    with pytest.raises(kind, match=message):
        f(put(np.arange(12.0).reshape(3, 4)))


@needs_kernels
def test_out(put):
    d = put(X)
    for f, out in ((lambda o: np.median(d, axis=0, out=o), put(np.zeros(7))), (lambda o: np.quantile(d, 0.3, axis=1, out=o), put(np.zeros(6))), (lambda o: np.einsum("ij->j", d, out=o), put(np.zeros(7)))):
        assert f(out) is out
        np.testing.assert_array_equal(back(out), back(f(put(np.ones(out.shape)))))


@needs_kernels
def test_many_elements(put):
    """Several blocks of threads count, and the counts are exact in any order."""
    x = g.integers(0, 1000, 300_000)
    same(back(np.bincount(put(x))), np.bincount(x))
    y = g.normal(size=300_000)
    same(back(np.histogram(put(y), 64)), np.histogram(y, 64))
    same(back(np.searchsorted(put(np.sort(y)), put(y[:5000]))), np.searchsorted(np.sort(y), y[:5000]))
    same(back(np.quantile(put(y), [0.01, 0.5, 0.99])), np.quantile(y, [0.01, 0.5, 0.99]))
