"""Corners in which a Dask array has to answer as the array in memory does."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions as R

pytest.importorskip("dask.array")
from dask_checks import Pairs, da  # noqa: E402


@pytest.mark.parametrize("f", [R.nanargmax, R.nanargmin])
def test_nanarg_of_nothing_but_nan_raises_when_it_is_computed(f):
    x = np.array([[1.0, np.nan, 3.0], [np.nan] * 3])
    lazy = f(da.from_array(x, chunks=(1, 2)), axis=1)
    with pytest.raises(ValueError, match="All-NaN slice encountered"):
        lazy.compute(scheduler="synchronous")
    with pytest.raises(ValueError, match="All-NaN slice encountered"):
        f(da.from_array(x[1] * 1j, chunks=2)).compute(scheduler="synchronous")
    pairs, d = Pairs(), da.from_array(x, chunks=(1, 2))
    pairs.add(f(x[0]), f(d[0]))
    pairs.add(f(x[:1], axis=1, keepdims=True), f(d[:1], axis=1, keepdims=True))
    pairs.check()


add = lw.vectorize(lambda a, b: a + b)


def test_methods_of_a_ufunc_have_the_dtype_of_the_host():
    x, pairs = np.full(10, 100, np.int8), Pairs()
    d = da.from_array(x, chunks=3)
    for f in (add, lw.add):
        for given in ({}, {"dtype": "i2"}):
            pairs.add(f.reduce(x, **given), f.reduce(d, **given), (f, given))
            pairs.add(f.accumulate(x, **given), f.accumulate(d, **given), (f, given))
    pairs.check()


def test_axis_and_keepdims_of_a_gufunc():
    @lw.guvectorize("(n)->()")
    def largest(x, out):
        out[0] = x.max()

    x, pairs = np.arange(12.0).reshape(3, 4), Pairs()
    for axis in (0, 1, -2):
        pairs.add(largest(x, axis=axis, keepdims=True), largest(da.from_array(x, chunks=(-1, -1)), axis=axis, keepdims=True), axis)
    pairs.check()


def test_an_index_where_nothing_is_reduced():
    placed, pairs = lw.reduce(lambda a, b: a + b, map=lambda x, index: x + index), Pairs()
    x = np.arange(5.0)
    d = da.from_array(x, chunks=2)
    pairs.add(placed(x, axis=()), placed(d, axis=()))
    pairs.add(placed(x[3]), placed(d[3]))
    pairs.check()


@pytest.mark.filterwarnings("ignore:.where. used without:UserWarning")
def test_where_takes_truth_values_only():
    x = np.ones(4)
    d, mask = da.from_array(x, chunks=2), np.array([1.0, 0.0, 0.5, 0.0])
    for call in (lambda a, mask: add(a, 1, where=mask), lambda a, mask: R.sum(a, where=mask), lambda a, mask: lw.add.reduce(a, where=mask)):
        for where in (mask, da.from_array(mask, chunks=2), mask > 0):
            if where.dtype == bool:
                call(d, where).compute(scheduler="synchronous")
                continue
            with pytest.raises(TypeError, match="Cannot cast array data"):
                call(d, where)
        with pytest.raises(TypeError, match="Cannot cast array data"):
            call(x, mask)


@pytest.mark.parametrize("left, right", [((7,), (7, 4)), ((3, 7), (7,)), ((7,), (7,)), ((3, 7), (7, 4)), ((2, 3, 7), (7,)), ((7,), (2, 7, 4)), ((2, 3, 7), (7, 4))])
def test_optional_dimensions(left, right):
    pair = lw.guvectorize("(m?,n),(n,p?)->(m?,p?),()")(_both)
    x, y, pairs = np.arange(np.prod(left) * 1.0).reshape(left), np.arange(np.prod(right) * 1.0).reshape(right), Pairs()
    d, e = da.from_array(x, chunks=(1,) * (x.ndim > 2) + (-1,) * min(x.ndim, 2)), da.from_array(y, chunks=-1)
    pairs.add(np.matmul(x, y), lw.matmul(d, e), "both of Dask")
    pairs.add(np.matmul(x, y), lw.matmul(d, y), "one of Dask")
    pairs.add(pair(x, y), pair(d, e), "two results")
    pairs.check()


def _both(x, y, product, size):
    size[0] = x.shape[1]
    for i in range(x.shape[0]):
        for j in range(y.shape[1]):
            product[i, j] = 0
            for k in range(x.shape[1]):
                product[i, j] += x[i, k] * y[k, j]


@pytest.mark.parametrize("marked", [{"static": ("c",)}, {"excluded": ("c",)}])
def test_ufuncs_of_values_pickle_after_a_call(marked):
    cloudpickle = pytest.importorskip("cloudpickle")
    f = lw.vectorize(lambda x, c: x * c[0] + c[1], **marked)
    c, x, pairs = (2.0, 3.0) if "static" in marked else np.array([2.0, 3.0]), np.arange(5.0), Pairs()
    expected = f(x, c)
    np.testing.assert_array_equal(cloudpickle.loads(cloudpickle.dumps(f))(x, c), expected)
    pairs.add(expected, f(da.from_array(x, chunks=2), c))
    pairs.check()


def test_partial_of_a_map_with_an_index_asks_where_the_part_begins():
    x = np.array([4, 1, 3, 9, 9, 2])
    largest = lw.reduce(lambda a, b: a if a[0] >= b[0] else b, map=lambda x, index: (x, index), finish=lambda value, at: at)
    p, q = largest.partial(x[:2], offset=0), largest.partial(x[2:], offset=2)
    assert p.dtype == q.dtype and q.tolist() == (9, 3)
    assert largest.finish(largest.merge(p, q)) == 3 == largest(x)
    rows = x.reshape(3, 2)
    parts = largest.partial(rows[:2], axis=0, offset=0), largest.partial(rows[2:], axis=0, offset=2)
    np.testing.assert_array_equal(largest.finish(largest.merge(*parts)), largest(rows, axis=0))
    with pytest.raises(ValueError, match="begins anew in each part: pass offset="):
        largest.partial(x[:2])
    with pytest.raises(TypeError, match="its map has no index"):
        R._max.partial(x, offset=2)
    with pytest.raises(TypeError, match="float"):
        largest.partial(x, offset=1.5)


def _raises(error, text, call):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


def test_errors_speak_of_what_the_caller_gave():
    x = da.ones((7, 10), chunks=(3, 4))
    inner = lw.guvectorize("(n)->()")(lambda x: x.sum())
    total, product = lw.reduce(lambda a, b: a + b), lw.reduce(lambda a, b: a + b, map=lambda x, y: x * y)
    _raises(ValueError, "core dimension 'n', axis 0, in 3 chunks: pass x.rechunk({0: -1})", lambda: inner(x, axis=0))
    _raises(ValueError, "core dimension 'n', axis 0, in 3 chunks", lambda: inner(x, axes=[(-2,), ()]))
    _raises(ValueError, "core dimension 'n', axis 1, in 3 chunks", lambda: inner(x))
    _raises(TypeError, "argument 2 of `<lambda>` must be an array, not 0; did you mean axis=0?", lambda: total(x, 0))
    assert product(x, 2).compute(scheduler="synchronous") == 140
    for other in (np.ones(9), da.ones(9, chunks=3)):
        for call in (lambda: add(x, other), lambda: product(x, other)):
            _raises(ValueError, "operands could not be broadcast together with shapes (7,10) (9,)", call)
    _raises(ValueError, "could not be broadcast together with shapes (2,) (5,)",
            lambda: lw.matmul(da.ones((2, 3, 4), chunks=-1), da.ones((5, 4, 4), chunks=-1)))


@pytest.mark.parametrize("number", [3.0, 3j, 2, True, np.float64(2)])
def test_python_numbers_are_weak_in_reductions_and_scans(number):
    dot = lw.reduce(lambda a, b: a + b, map=lambda x, y: x * y)
    x, pairs = np.arange(6, dtype="f4"), Pairs()
    d = da.from_array(x, chunks=4)
    wide = {"dtype": np.result_type("f8", number)}
    for given in ({}, wide):
        pairs.add(dot(x, number, **given), dot(d, number, **given))
        pairs.add(dot(number, x, **given), dot(number, d, **given))
        pairs.add(dot.accumulate(x, number, **given), dot.accumulate(d, number, **given))
    pairs.check()
    if type(number) is not np.float64:
        assert dot(d, number).dtype == np.result_type(np.float32, number)
    assert dot.finish(dot.partial(x, number)).dtype == dot(x, number).dtype
    assert dot.finish(dot.partial(number, x, **wide)).dtype == dot(x, number, **wide).dtype


def test_an_int_beside_a_dask_array_wraps_or_overflows_as_on_the_host():
    dot = lw.reduce(lambda a, b: a + b, map=lambda x, y: x * y)
    x, pairs = np.full(4, 3, np.int8), Pairs()
    d = da.from_array(x, chunks=2)
    pairs.add(dot(x, 100), dot(d, 100))
    pairs.add(dot.accumulate(x, 100), dot.accumulate(d, 100))
    pairs.check()
    for f, a in ((dot, x), (dot, d), (dot.accumulate, x), (dot.accumulate, d), (dot.partial, x)):
        with pytest.raises(OverflowError, match="300 out of bounds for int8"):
            f(a, 300)


@pytest.mark.parametrize("number", [0.5, 1j, 2])
def test_scans_of_reductions_take_python_numbers_as_weak(number):
    x, pairs = np.arange(6, dtype="f4"), Pairs()
    d = da.from_array(x, chunks=4)
    for f in (R.affine_scan, R.segmented_sum):
        if f is R.segmented_sum and type(number) is complex:
            continue
        pairs.add(f(x, number), f(d, number))
        pairs.add(f(number, x), f(number, d))
        assert f(number, x).dtype == np.result_type(np.float32, number)
    pairs.check()
    assert R.affine_scan(x, number).dtype == np.result_type(np.float32, number)


@pytest.mark.parametrize("number", [2.0, 2j, 2, True, np.float64(2)])
def test_python_numbers_are_weak_in_gufuncs(number):
    @lw.guvectorize("(n),()->(n)")
    def times(x, k, out):
        for i in range(x.size):
            out[i] = x[i] * k

    x, pairs = np.arange(12, dtype="f4").reshape(3, 4), Pairs()
    d = da.from_array(x, chunks=(2, 4))
    pairs.add(times(x, number), times(d, number))
    pairs.add(times(x, number, axes=[(1,), (), (0,)]), times(d, number, axes=[(1,), (), (0,)]))
    pairs.check()
    if type(number) is not np.float64:
        assert times(d, number).dtype == np.result_type(np.float32, number)
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        times(d.astype("i1"), 300)


@lw.guvectorize("(n)->(n)", excluded="table", static="scale")
def look_up(codes, table, out, scale=1):
    for i in range(codes.size):
        out[i] = table[codes[i]] * scale


@lw.guvectorize("(n)->(n),()", excluded=["table"], static=["scale", "offset"])
def two(offset, codes, out, table, total, scale=1):
    total[0] = offset
    for i in range(codes.size):
        out[i] = table[codes[i]] * scale + offset
        total[0] += out[i]


def test_gufuncs_that_fill_outputs_take_whole_arrays_and_constants():
    x, table, pairs = np.array([[0, 2], [1, 1], [2, 0]]), np.array([1.0, 10.0, 100.0]), Pairs()
    d, lazy = da.from_array(x, chunks=(2, -1)), da.from_array(table, chunks=2)
    for args, given in (((), {"table": 0}), ((0,), {}), ((0,), {"scale": 2}), ((0, 2), {}), ((), {"table": 0, "scale": 2}), ((0,), {"axis": 1})):
        for whole in (table, lazy):
            mine = [{key: t if key == "table" else value for key, value in given.items()} for t in (table, whole)]
            pairs.add(look_up(x, *(table if i == 0 else a for i, a in enumerate(args)), **mine[0]), look_up(d, *(whole if i == 0 else a for i, a in enumerate(args)), **mine[1]))
    pairs.add(look_up(codes=x, table=table), look_up(codes=d, table=table))
    pairs.add(two(1, x, table, 2), two(1, d, table, 2))
    pairs.add(two(1, x, table, scale=3), two(1, d, lazy, scale=3))
    pairs.add(two(offset=1, codes=x, table=table), two(offset=1, codes=d, table=table))
    pairs.check()
    with pytest.raises(TypeError, match="out= cannot be given with Dask arrays"):
        look_up(d, table, 2, np.empty((3, 2)))
    with pytest.raises(TypeError, match=r"look_up\(\) missing a required argument: 'table'"):
        look_up(d)


def test_ufuncs_mark_parameters_by_one_name_by_number_and_by_keyword_only():
    x, table, pairs = np.arange(5.0), np.array([1.0, 10.0]), Pairs()
    d, lazy = da.from_array(x, chunks=2), da.from_array(table)
    keyword = lw.vectorize(static="t", excluded="e")(_keyword_only)
    number = lw.vectorize(excluded=[1])(_with_table)
    constant = lw.vectorize(static="t")(_behind_a_constant)
    pairs.add(keyword(x, table, t=5), keyword(d, lazy, t=5))
    pairs.add(keyword(x, e=table), keyword(d, e=lazy))
    pairs.add(number(x, table), number(d, lazy))
    pairs.add(constant(x, t=5), constant(d, t=5))
    pairs.check()


def _keyword_only(x, e, *, t=1):
    return x + t + e[1]


def _with_table(x, e):
    return x + e[1]


def _behind_a_constant(x, c=2.0, t=1):
    return x * c + t


@pytest.mark.parametrize("call", [
    lambda x: lw.gcd(x, x), lambda x: lw.gcd(x, 2), lambda x: lw.gcd(x.astype(int), x.astype(int), dtype="f8"), lambda x: lw.add(x, x, dtype="i4"),
    lambda x: lw.add(x.astype("U3"), 1), lambda x: lw.invert(x), lambda x: lw.matmul(x.astype("M8[s]"), x.astype("M8[s]")),
])
def test_operands_without_a_loop_raise_what_they_raise_on_the_host(call):
    x = np.arange(4.0)
    with pytest.raises(TypeError) as host:
        call(x)
    with pytest.raises(type(host.value)) as lazy:
        call(da.from_array(x, chunks=4))
    assert str(lazy.value).split(" -> ")[0] == str(host.value).split(" -> ")[0]


def test_what_numpy_alone_computes_is_lazy_too():
    x, pairs = np.array(["a", "bc", "d"]), Pairs()
    d = da.from_array(x, chunks=2)
    pairs.add(lw.equal(x, "d"), lw.equal(d, "d"))
    pairs.add(lw.isnat(np.array(["NaT", "2020-01-01"], "M8[D]")), lw.isnat(da.from_array(np.array(["NaT", "2020-01-01"], "M8[D]"), chunks=1)))
    pairs.check()
    o = np.array([1, 2, 3], object)
    got = lw.add(da.from_array(o, chunks=2), da.from_array(o, chunks=2))
    assert isinstance(got, da.Array) and got.compute(scheduler="synchronous").tolist() == [2, 4, 6]
