"""NumPy's functions on device arrays that edit, order and choose, and those that are computed with others (lanewise/_array_editing.py, lanewise/_array_numbers.py)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from device_checks import back, in_every_layout, put, same  # noqa: F401: put is a fixture
from fake_driver import needs_kernels

pytestmark = pytest.mark.filterwarnings("error::lanewise.errors.PerformanceWarning")  # no advice about our own kernels

g = np.random.default_rng(6)
X = g.normal(size=(6, 7))
I, J = g.integers(0, 9, (6, 7)), g.integers(3, 14, (5, 4))
F4, C, B = X.astype("f4"), X + 1j * X[::-1], X > 0
D = I.astype("M8[D]")
E3 = g.normal(size=(3, 4, 5))
V3 = g.normal(size=(6, 3))
N = X.copy()
N[1, 2] = N[4, :3] = np.nan
POSITIVE = abs(X[0])


def changed(function):
    """A function that returns its first argument after it has changed it."""
    def f(a, *rest):
        a = a.copy()
        assert function(a, *rest) is None
        return a

    return f


CASES = [
    ("union1d", lambda a, b: np.union1d(a, b), I, J), ("union1d_mixed", lambda a, b: np.union1d(a, b), X, I), ("intersect1d", lambda a, b: np.intersect1d(a, b), I, J), ("nonzero_dates", lambda a: np.nonzero(a), D), ("argwhere_times", lambda a: np.argwhere(a), D - D[0]), ("where_dates", lambda a, b: np.where(a, a, b), D, D[::-1]),
    ("dates_as_complex", lambda a: a.astype(np.complex64), D), ("times_as_complex", lambda a: a.astype("c16"), D - D[0]), ("complex_as_times", lambda a: a.astype("m8[s]"), np.array([1 + 2j, -3j, 4])), ("isreal_dates", lambda a: np.isreal(a), D),
    ("intersect1d_dates", lambda a, b: np.intersect1d(a, b), D, D[:2]),
    ("intersect1d_at", lambda a, b: np.intersect1d(a, b, return_indices=True), I, J), ("intersect1d_unique", lambda a, b: np.intersect1d(a, b, True, True), np.arange(9)[::-1].copy(), np.arange(4, 20)),
    ("setxor1d", lambda a, b: np.setxor1d(a, b), I, J), ("setxor1d_none", lambda a, b: np.setxor1d(a, b), I[:0], J[:0]), ("setdiff1d", lambda a, b: np.setdiff1d(a, b), I, J), ("setdiff1d_kept", lambda a, b: np.setdiff1d(a, b, True), I, J),
    ("unique_values", lambda a: np.sort(np.unique_values(a)), N), ("unique_counts", lambda a: np.unique_counts(a), I), ("unique_inverse", lambda a: np.unique_inverse(a), I), ("unique_all", lambda a: np.unique_all(a), N),
    *((f"delete_{n}", lambda a, o=o, ax=ax: np.delete(a, o, ax), X) for n, (o, ax) in enumerate([(3, None), (-1, 0), (2, 1), ([1, 1, 3], 0), ([], 1), (slice(1, 9, 2), 1), (slice(None, None, -2), 0), (np.array([True, False] * 3), 0), ([-1, 2], -1), (np.array([], int), 0)])),
    ("delete_device", lambda a, o: np.delete(a, o, 1), X, np.array([1, 4, 1])),
    *((f"insert_{n}", lambda a, o=o, v=v, ax=ax: np.insert(a, o, v, ax), X) for n, (o, v, ax) in enumerate([
        (3, 7, None), (-1, 5, 0), (7, 1.5, 1), ([1, 1, 3], 2, 0), ([1, 3], np.arange(7.0), 0), ([0, 2, 7], [[1], [2], [3], [4], [5], [6]], 1), (slice(1, 4), 9, 1), (1, np.arange(6.0), 1), ([1], np.arange(6.0)[:, None], 1),
        ([], 3, 0), (2, np.ones((3, 7)), 0), ([-1, 0, -6], 4, 0), (np.array([True, False, False, True, False, False]), 8, 0)])),
    ("insert_device", lambda a, v: np.insert(a, [0, 2], v, 0), X, X[:2]), ("insert_int", lambda a: np.insert(a, 1, 3.7), I[0]), ("insert_dates", lambda a: np.insert(a, 1, np.datetime64("2020-01-01"), 0), D),
    ("resize", lambda a: np.resize(a, (5, 20)), X), ("resize_less", lambda a: np.resize(a, 4), I), ("resize_none", lambda a: np.resize(a, (2, 3)), X[:0]), ("resize_to_none", lambda a: np.resize(a, (0, 3)), X),
    *((f"trim_zeros_{t}", lambda a, t=t: np.trim_zeros(a, t), np.array([0, 0, 1, 0, 2, 0])) for t in ("fb", "f", "b")), ("trim_zeros_all", lambda a: np.trim_zeros(a), np.zeros(5)),
    ("block", lambda a, b: np.block([[a, a], [b, b]]), X, I), ("block_row", lambda a: np.block([a, 1.0, a]), X[0]), ("block_deep", lambda a: np.block([[[a], [a]]]), E3), ("block_one", lambda a: np.block(a), X),
    ("block_numbers", lambda a: np.block([[a, np.zeros((6, 2))], [np.ones((1, 9))]]), X), ("unstack", lambda a: np.unstack(a), X), ("unstack_axis", lambda a: np.unstack(a, axis=-1), E3),
    ("partition", lambda a: np.partition(a, 3)[..., 3], X), ("partition_axis", lambda a: np.partition(a, [1, -1], axis=0)[[1, -1]], I), ("partition_all", lambda a: np.partition(a, 9, None)[9:10], X), ("argpartition", lambda a: np.take_along_axis(a, np.argpartition(a, 2, 1), 1)[:, 2], X),
    ("lexsort", lambda a, b: np.lexsort((a, b)), I.ravel(), I[::-1].ravel() % 3), ("lexsort_array", lambda a: np.lexsort(a), I % 3), ("lexsort_axis", lambda a, b: np.lexsort((a, b), axis=0), I % 4, I % 2), ("lexsort_floats", lambda a, b: np.lexsort((a, b, a)), N.ravel(), F4.ravel()),
    ("sort_complex", lambda a: np.sort_complex(a), C), ("sort_complex_int", lambda a: np.sort_complex(a), I), ("sort_complex_bytes", lambda a: np.sort_complex(a), I.astype("i1")),
    ("choose", lambda a, b: np.choose(a % 3, [b, -b, 7.5]), I, X), ("choose_broadcast", lambda a, b: np.choose(a % 2, [b, 1]), I[:, :1], I[0]), ("choose_wrap", lambda a, b: np.choose(a - 4, (b, b * 2), mode="wrap"), I, F4), ("choose_clip", lambda a, b: np.choose(a - 4, [b, b * 2, b * 3], mode="clip"), I, X),
    ("choose_bool", lambda a, b: np.choose(a, [b, -b]), B, X), ("choose_array", lambda a, b: np.choose(a % 6, b), I[0], I), ("compress", lambda c, a: np.compress(c, a, axis=0), B[0, :6], X), ("compress_flat", lambda c, a: np.compress(c, a), B[0], X), ("compress_list", lambda a: np.compress([0, 1, 1], a, 1), X),
    ("extract", lambda c, a: np.extract(c, a), B, X), ("extract_int", lambda c, a: np.extract(c % 3, a), I, F4),
    ("put", changed(lambda a: np.put(a, [1, 9, -2], [5, 6])), X), ("put_number", changed(lambda a: np.put(a, [1, 1], 3)), I), ("put_wrap", changed(lambda a: np.put(a, [43, -50], [1, 2], mode="wrap")), X), ("put_clip", changed(lambda a: np.put(a, [430, -50], [1, 2], mode="clip")), X),
    ("place", changed(lambda a, m: np.place(a, m, [1, 2, 3])), X, B), ("place_none", changed(lambda a: np.place(a, np.zeros((6, 7), bool), [1, 2, 3])), X), ("putmask", changed(lambda a, m, v: np.putmask(a, m, v)), X, B, X[0]), ("putmask_number", changed(lambda a, m: np.putmask(a, m, -1)), I, B),
    ("put_along_axis", changed(lambda a: np.put_along_axis(a, np.argmax(a, 1)[:, None], 0.0, 1)), X), ("put_along_axis_0", changed(lambda a, i, v: np.put_along_axis(a, i, v, 0)), X, I[:2] % 6, X[:2]), ("put_along_axis_flat", changed(lambda a, i: np.put_along_axis(a, i, 0, None)), X, I[0]),
    ("fill_diagonal", changed(lambda a: np.fill_diagonal(a, 3)), X), ("fill_diagonal_tall", changed(lambda a: np.fill_diagonal(a, 3)), X.T), ("fill_diagonal_wrap", changed(lambda a: np.fill_diagonal(a, 3, wrap=True)), np.zeros((9, 3))), ("fill_diagonal_array", changed(lambda a, v: np.fill_diagonal(a, v)), X, X[0, :2]),
    ("fill_diagonal_3", changed(lambda a: np.fill_diagonal(a, 3)), np.zeros((3, 3, 3))),
    ("unravel_index", lambda a: np.unravel_index(a, (4, 5)), I), ("unravel_index_f", lambda a: np.unravel_index(a, (4, 5), order="F"), I), ("ravel_multi_index", lambda a, b: np.ravel_multi_index((a, b), (9, 14)), I[:5, :4], J),
    ("ravel_multi_index_clip", lambda a, b: np.ravel_multi_index((a, b), (5, 6), mode=("clip", "wrap"), order="F"), I[:5, :4], J),
    ("ix_", lambda x, i, j: x[np.ix_(i, j)], X, np.array([1, 4]), np.array([0, 3, 3])), ("ix_mask", lambda x, m: x[np.ix_(m, [1, 2])], X, B[:, 0]),
    ("equals_none", lambda x: x == None, X), ("differs_from_none", lambda x: x != None, I), ("equals_text", lambda x: x == "a", X), ("differs_from_bytes", lambda x: x != b"a", X),  # noqa: E711
    ("polyval", lambda x: np.polyval([1, 2.5, -3], x), X), ("polyval_device", lambda p, x: np.polyval(p, x), X[0, :4], I), ("polyval_int", lambda x: np.polyval([1, 2], x), I), ("poly1d", lambda x: np.poly1d([1.0, 0, 2])(x), F4), ("polyval_number", lambda p: np.polyval(p, 3.0), X[0]),
    ("vander", lambda x: np.vander(x), X[0]), ("vander_more", lambda x: np.vander(x, 3, increasing=True), I[0]), ("vander_1", lambda x: np.vander(x, 1), F4[0]), ("vander_0", lambda x: np.vander(x, 0), X[0]),
    ("cross", lambda a, b: np.cross(a, b), V3, V3[::-1]), ("cross_one", lambda a, b: np.cross(a, b), V3, V3[0]), ("cross_axis", lambda a, b: np.cross(a, b, axis=0), V3.T, V3.T[:, ::-1]), ("cross_int", lambda a, b: np.cross(a, b), I[:, :3], V3), ("cross_axisc", lambda a, b: np.cross(a, b, axisc=0), V3, V3[::-1]),
    ("kron", lambda a, b: np.kron(a, b), X[:2, :3], I), ("kron_rows", lambda a, b: np.kron(a, b), X[0], I[0]), ("kron_mixed", lambda a, b: np.kron(a, b), E3, I[0]),
    ("cumulative_sum", lambda x: np.cumulative_sum(x), X[0]), ("cumulative_sum_axis", lambda x: np.cumulative_sum(x, axis=1, include_initial=True), I), ("cumulative_prod", lambda x: np.cumulative_prod(x, axis=0, include_initial=True), X), ("cumulative_sum_dtype", lambda x: np.cumulative_sum(x, dtype="f4"), I[0]),
    ("ediff1d", lambda x: np.ediff1d(x), X), ("ediff1d_ends", lambda x: np.ediff1d(x, to_end=[1, 2.0], to_begin=7), F4), ("unwrap", lambda x: np.unwrap(x * 5), X), ("unwrap_axis", lambda x: np.unwrap(x * 9, axis=0, discont=4.0), X), ("unwrap_int", lambda x: np.unwrap(x, period=4), I), ("unwrap_f4", lambda x: np.unwrap(x * 7), F4),
    ("sinc", lambda x: np.sinc(x), X), ("sinc_int", lambda x: np.sinc(x), I), ("sinc_f4", lambda x: np.sinc(x), np.array([0, 0.5, 1], "f4")), ("i0", lambda x: np.i0(x), X), ("fix", lambda x: np.fix(x * 3), X), ("isposinf", lambda x: np.isposinf(x), np.array([1, np.inf, -np.inf, np.nan])),
    ("isneginf", lambda x: np.isneginf(x), np.array([1, np.inf, -np.inf, np.nan])), ("iscomplex", lambda x: np.iscomplex(x), C * B), ("isreal", lambda x: np.isreal(x), C * B), ("isreal_int", lambda x: np.isreal(x), I), ("iscomplex_int", lambda x: np.iscomplex(x), I),
    ("piecewise", lambda x: np.piecewise(x, [x < 0, x >= 1], [lambda v: -v, 5]), X), ("piecewise_rest", lambda x: np.piecewise(x, [x < 0], [-1, lambda v, k: v * k], 3), I - 4), ("piecewise_one", lambda x: np.piecewise(x, x < 0, [1, 2]), F4[0]),
    ("apply_along_axis", lambda x: np.apply_along_axis(lambda row: row.sum(), 1, x), X), ("apply_along_axis_0", lambda x: np.apply_along_axis(lambda row: row[::-1] * 2, 0, x), E3), ("apply_along_axis_more", lambda x: np.apply_along_axis(lambda row: np.outer(row, row), 1, x), E3),
    ("packbits", lambda x: np.packbits(x), B), ("packbits_axis", lambda x: np.packbits(x, axis=1, bitorder="little"), B), ("packbits_0", lambda x: np.packbits(x, axis=0), I), ("unpackbits", lambda x: np.unpackbits(x), I.astype("u1")), ("unpackbits_axis", lambda x: np.unpackbits(x, axis=0, count=13, bitorder="little"), I.astype("u1")),
    ("unpackbits_less", lambda x: np.unpackbits(x, axis=1, count=-3), I.astype("u1")), ("unpackbits_more", lambda x: np.unpackbits(x, count=400), I.astype("u1")),
    ("histogram2d", lambda x, y: np.histogram2d(x, y), X.ravel(), X[::-1].ravel()), ("histogram2d_bins", lambda x, y: np.histogram2d(x, y, [3, 4], [(-1, 1), (0, 2)], density=True), X.ravel(), X[::-1].ravel()), ("histogram2d_edges", lambda x, y: np.histogram2d(x, y, [[0, 2, 5, 8], 3]), I.ravel(), X.ravel()),
    ("histogram2d_same", lambda x, y: np.histogram2d(x, y, [0, 1, 2, 3.0]), X.ravel(), X[::-1].ravel()), ("histogram2d_weights", lambda x, y, w: np.histogram2d(x, y, 5, weights=w), X.ravel(), X[::-1].ravel(), POSITIVE.repeat(6)), ("histogramdd", lambda x: np.histogramdd(x, 3), V3), ("histogramdd_list", lambda x, y: np.histogramdd([x, y], (2, 3)), X[0], F4[1]),
    ("array2string", lambda x: np.array2string(x, precision=2), X[:2]),
]


@needs_kernels
@pytest.mark.parametrize("name,f,arrays", [(row[0], row[1], row[2:]) for row in CASES], ids=[row[0] for row in CASES])
def test_numpys_results(name, f, arrays, put):
    in_every_layout(f, arrays, put)


REFUSED = [
    ("delete", lambda d: np.delete(d, 3, 0), IndexError, "index 3 is out of bounds for axis 0 with size 3"), ("delete_mask", lambda d: np.delete(d, [True], 0), ValueError, "must be one dimensional and match the axis length of 3"), ("delete_float", lambda d: np.delete(d, 1.5), IndexError, "must be of integer"),
    ("insert", lambda d: np.insert(d, 9, 1, 1), IndexError, "index 9 is out of bounds for axis 1 with size 4"), ("insert_2d", lambda d: np.insert(d, [[1, 2]], 1, 1), ValueError, "one dimensional or scalar"), ("resize", lambda d: np.resize(d, (-1, 2)), ValueError, "must be non-negative"),
    ("block_tuple", lambda d: np.block(([d], [d])), TypeError, "arrays is a tuple"), ("block_depth", lambda d: np.block([[d], d]), ValueError, "List depths are mismatched"), ("block_empty", lambda d: np.block([[d], []]), ValueError, "cannot be empty"),
    ("partition", lambda d: np.partition(d, 4), ValueError, r"kth\(=4\) out of bounds \(4\)"), ("argpartition", lambda d: np.argpartition(d, 0, kind="best"), ValueError, "select kind must be"), ("lexsort", lambda d: np.lexsort((d, d[0])), ValueError, "same shape"),
    ("choose", lambda d: np.choose((d > 2) * 5, [d, d]), ValueError, "invalid entry in choice array"), ("choose_mode", lambda d: np.choose(d > 2, [d, d]) + np.choose((d > 2) * 1, [d], mode="most"), ValueError, "clipmode must be"), ("choose_float", lambda d: np.choose(d, [d]), TypeError, "according to the rule 'safe'"),
    ("compress", lambda d: np.compress(d > 1, d), ValueError, "condition must be a 1-d array"), ("place", lambda d: np.place(d, d > 1, []), ValueError, "Cannot insert from an empty array"), ("putmask", lambda d: np.putmask(d, d[0] > 1, 0), ValueError, "must be the same size"),
    ("put_host", lambda d: np.put(np.zeros(4), d[0] > 9, 0), TypeError, "must be a device array"), ("put_mode", lambda d: np.put(d, [0], 1, mode="all"), ValueError, "clipmode must be"), ("put_along_axis", lambda d: np.put_along_axis(d, [0], 1, 0), ValueError, "same number of dimensions"),
    ("fill_diagonal", lambda d: np.fill_diagonal(d[0], 1), ValueError, "at least 2-d"), ("unravel_index", lambda d: np.unravel_index(d.astype("i8"), (2, 3)), ValueError, "index 11 is out of bounds for array with size 6"), ("unravel_index_float", lambda d: np.unravel_index(d, (3, 4)), TypeError, "only int indices"),
    ("ravel_multi_index", lambda d: np.ravel_multi_index((d.astype("i8"),), (3,)), ValueError, "invalid entry in coordinates array"), ("cross", lambda d: np.cross(d, d), ValueError, "dimension must be 3"), ("cumulative_sum", lambda d: np.cumulative_sum(d), ValueError, "``axis`` argument is required"),
    ("vander", lambda d: np.vander(d), ValueError, "one-dimensional"), ("piecewise", lambda d: np.piecewise(d, [d > 1], []), ValueError, "either 1 or 2 functions are expected"), ("packbits", lambda d: np.packbits(d), TypeError, "integer or boolean"), ("unpackbits", lambda d: np.unpackbits(d), TypeError, "unsigned byte"),
    ("histogram2d", lambda d: np.histogram2d(d[0], d[1], [[1, 0], 3]), ValueError, "monotonically increasing"), ("histogramdd", lambda d: np.histogramdd(d, [1, 2]), ValueError, "dimension of bins must be equal"), ("i0", lambda d: np.i0(d * 1j), TypeError, "complex"),
]


@needs_kernels
@pytest.mark.parametrize("name,f,kind,message", REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_refused(name, f, kind, message, put):
    with pytest.raises(kind, match=message):
        f(put(np.arange(12.0).reshape(3, 4)))


@needs_kernels
def test_index_out_of_bounds_changes_nothing(put):
    d = put(np.arange(6.0))
    with pytest.raises(IndexError):
        np.put(d, [1, 9], 5.0)
        d.copy_to_host()


@needs_kernels
def test_views_and_outputs(put):
    """unstack returns views, put writes through views, and out= is filled."""
    d = put(X.copy())
    np.unstack(d)[1][...] = 0
    assert (back(d)[1] == 0).all()
    np.put(d[:, ::2], [1], -5.0)
    assert back(d)[0, 2] == -5.0
    out = put(np.zeros((6, 7)))
    assert np.choose(put(I % 2), [d, -d], out=out) is out
    same(back(out), np.choose(I % 2, [back(d), -back(d)]))


METHODS = [
    ("clip", lambda x: x.clip(-0.5, 1), X), ("clip_low", lambda x: x.clip(3), I), ("clip_high", lambda x: x.clip(max=0.25), F4), ("clip_arrays", lambda x, low: x.clip(low, low + 1), X, X[0]), ("round", lambda x: x.round(), X), ("round_1", lambda x: x.round(1), F4),
    ("conj", lambda x: x.conj(), C), ("conjugate", lambda x: x.conjugate(), I), ("diagonal", lambda x: x.diagonal(1), X), ("diagonal_axes", lambda x: x.diagonal(axis1=1, axis2=2), E3), ("trace", lambda x: x.trace(axis1=0, axis2=2), E3), ("dot", lambda x, y: x.dot(y), X, X[0]),
    ("repeat", lambda x: x.repeat(2), X), ("repeat_axis", lambda x: x.repeat([1, 0, 2, 1, 1, 3], axis=0), X), ("searchsorted", lambda x, v: x.searchsorted(v, side="right"), np.sort(X[0]), X), ("swapaxes", lambda x: x.swapaxes(0, -1), E3), ("mT", lambda x: x.mT, E3),
    ("choose", lambda x, y: (x % 2).choose([y, -y]), I, X), ("compress", lambda x: x.compress([True, False, True], axis=1), X), ("argpartition", lambda x: np.take_along_axis(x, x.argpartition(2, axis=1), 1)[:, 2], X), ("partition", changed(lambda x: x.partition(1)), X[:, :2]),
    ("put", changed(lambda x: x.put([1, -1], 5)), X),
]


@needs_kernels
@pytest.mark.parametrize("name,f,arrays", [(row[0], row[1], row[2:]) for row in METHODS], ids=[row[0] for row in METHODS])
def test_methods(name, f, arrays, put):
    in_every_layout(f, arrays, put)


def test_methods_refuse_as_numpys_do(put):
    d = put(X)
    for call, kind, message in (
        (lambda: d.conj(1), TypeError, "positional argument"), (lambda: d[0].mT, ValueError, "matrix transpose with ndim < 2"), (lambda: d.partition(9), ValueError, r"kth\(=9\) out of bounds"), (lambda: d.swapaxes(0, 5), np.exceptions.AxisError, "out of bounds"),
        (lambda: d.resize(3), AttributeError, "has no"), (lambda: d.get(), AttributeError, "copy_to_host"),
    ):
        with pytest.raises(kind, match=message):
            call()


@needs_kernels
def test_methods_write_through_views(put):
    d = put(X.copy())
    d.swapaxes(0, 1)[0] = 0
    d.mT[1] = 1
    assert (back(d)[:, 0] == 0).all() and (back(d)[:, 1] == 1).all()
    d[:, ::2].partition(1, axis=0)
    same(np.sort(back(d)[:, 2]), np.sort(X[:, 2]))
    assert np.may_share_memory(d.diagonal(), d)


@needs_kernels
def test_numbers_of_arrays_without_dimensions(put):
    """f-strings, round() and `in` work as they do with NumPy's results."""
    total = put(X).sum()
    assert f"{total:.3f} {total:10.2e}" == f"{X.sum():.3f} {X.sum():10.2e}" and round(total, 2) == round(X.sum(), 2) and round(total) == round(X.sum())
    assert f"{put(I)}" == f"{I}" and 7 in put(np.arange(9)) and 9.5 not in put(np.arange(9)) and None not in put(X)
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{put(X):.2f}"
    with pytest.raises(TypeError, match="without dimensions"):
        round(put(X))


@pytest.mark.parametrize("put_in", [
    lambda d, v: np.insert(d, [0, 2], v), lambda d, v: np.insert(d, 0, v), lambda d, v: np.put(d, [0], v), lambda d, v: np.place(d, d > 1, [v]),
    lambda d, v: np.fill_diagonal(d[:4].reshape(2, 2), v), lambda d, v: np.putmask(d, d > 1, v),
], ids=range(6))
def test_numbers_that_do_not_fit(put_in, put):
    """As in NumPy: a number of Python must fit, and an array is cast."""
    for value, error in ((300, OverflowError), (float("nan"), ValueError)):
        x = np.arange(5, dtype="u1")
        for it in (x, put(x)):
            with pytest.raises(error):
                put_in(it, value)
    assert back(np.insert(put(x), 0, np.array([300]))).tolist() == [44, 0, 1, 2, 3, 4]


@pytest.mark.parametrize("value", [np.int16(300), np.float64(300.5), np.timedelta64(94, "s"), np.datetime64("2020-01-01"), np.int64(-1), np.float32(2.5), np.uint64(2**63), np.complex64(2 + 1j)], ids=repr)
@pytest.mark.parametrize("key", [slice(None), 1, ..., [0, 2]], ids=str)
@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "f4", "?", "m8[s]", "M8[D]"])
def test_scalars_are_stored_as_numpy_stores_them(dtype, key, value, put):
    """What does not fit is an error since NumPy 2.5, but not beside indices in arrays."""
    def stored(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                x[key] = value
            except (TypeError, ValueError, OverflowError) as error:
                return type(error)
        return x.tolist() if isinstance(x, np.ndarray) else x.copy_to_host().tolist()

    assert stored(put(np.ones(3, dtype))) == stored(np.ones(3, dtype))


def test_types_without_a_common_one_are_not_equal(put):
    dates, numbers = np.arange(3).astype("M8[D]"), np.arange(3.0)
    d = put(dates)
    for other in (numbers, put(numbers), 3, 2.5, [[1.0], [2.0]]):
        wanted = dates == (np.arange(3.0) if hasattr(other, "copy_to_host") else other)
        assert np.array_equal((d == other).copy_to_host(), wanted) and np.array_equal((d != other).copy_to_host(), ~wanted)
    assert not np.array_equal(d, put(numbers))
    with pytest.raises(ValueError, match="shape"):
        d == np.zeros(2)
    with pytest.raises(TypeError):
        d < numbers
