"""Gufuncs with excluded= or static=, with optional or broadcast dimensions, and lanewise's own, called in compiled functions: as called from Python."""

import itertools
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors


@lw.guvectorize("(n),()->(n)", excluded="table", static="scale")
def look_up(x, table, y, out, scale=1):
    for i in range(x.shape[0]):
        out[i] = table[int(x[i]) % table.shape[0]] * scale + y


@lw.guvectorize("(n),(m)->()", excluded="weights")
def weighted(x, y, weights):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            total += x[i] * y[j] * weights[i, j]
    return total


@lw.guvectorize("(n)->(),(n)", static=["power", "name"])
def moments(x, power, total, out, *, name="sum"):
    total[0] = 0
    for i in range(x.shape[0]):
        out[i] = x[i] ** power if name == "sum" else -x[i]
        total[0] += out[i]


@lw.guvectorize("(n),()", excluded="table")
def add_in_place(x, table, y):
    for i in range(x.shape[0]):
        x[i] += y + table[i % table.shape[0]]


@lw.guvectorize("(m?,n),(n,p?)->(m?,p?)")
def product(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


@lw.guvectorize("(n|1),(n|1)->()")
def dot(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


strict_dot = lw.guvectorize("(n),(n)->()")(dot.py_func)


@lw.guvectorize("(3),(n)->()")
def of_three(x, y):
    return x[0] + x[1] + x[2] + y[0]


LOOPS = [(), (1,), (2,), (3,), (1, 1), (3, 1), (1, 2), (3, 2), (0,)]


def array(shape, seed=1, dtype="f8"):
    return np.random.default_rng(seed).integers(-5, 9, shape).astype(dtype)


def both(call, compiled, *arguments):
    """The results of the call from Python and from the compiled function, or the classes of their errors."""
    results = []
    for function in (call, compiled):
        copies = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
        try:
            result = function(*copies)
            results.append(([np.asarray(r) for r in (result if isinstance(result, tuple) else (result,)) if r is not None], copies))
        except (ValueError, TypeError) as problem:
            results.append(type(problem) if isinstance(problem, errors.TypingError) is False else ValueError)
    return results


def check(call, compiled, *arguments):
    expected, got = both(call, compiled, *arguments)
    if isinstance(expected, type) or isinstance(got, type):
        assert expected == got, (expected, got, [getattr(x, "shape", x) for x in arguments])
        return
    for one, other in zip(expected[0] + [x for x in expected[1] if isinstance(x, np.ndarray)], got[0] + [x for x in got[1] if isinstance(x, np.ndarray)], strict=True):
        assert one.shape == other.shape and one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def each(*shape_sets):
    return list(itertools.product(*shape_sets))


def test_excluded_arrays_and_static_values():
    compiled = lw.njit(lambda x, table, y: look_up(x, table, y, scale=3))
    table = array(4, 2)
    for left, right in each(LOOPS, LOOPS):
        check(lambda x, t, y: look_up(x, t, y, scale=3), compiled, array((*left, 5)), table, array(right, 3))


def test_outputs_that_are_passed():
    def by_place(x, table, y, out):
        look_up(x, table, y, 2, out)

    def by_name(x, table, y, out):
        look_up(x, y=y, table=table, out=out)

    for function in (by_place, by_name):
        compiled = lw.njit(function)
        for left, right, out in each([(), (2,), (3, 1)], [(), (2,), (1, 2)], [(), (2,), (3, 2), (1, 2)]):
            check(function, compiled, array((*left, 5)), array(4), array(right, 3), array((*out, 5), 4))


def test_returned_outputs():
    compiled = lw.njit(lambda x, y, w: weighted(x, y, w))
    for left, right in each(LOOPS, LOOPS):
        check(lambda x, y, w: weighted(x, y, w), compiled, array((*left, 3)), array((*right, 2), 2), array((3, 2), 3))


@pytest.mark.parametrize("name", ["sum", "other"])
def test_several_outputs_and_static_texts(name):
    def call(x):
        return moments(x, 2, name=name)

    compiled = lw.njit(lambda x: moments(x, 2, name=name))
    for shape in LOOPS:
        check(call, compiled, array((*shape, 4)))

    def given(x, total, out):
        moments(x, 3, out=(total, out))

    compiled = lw.njit(given)
    for shape, out in each([(), (2,), (2, 3)], [(), (2,), (2, 3)]):
        check(given, compiled, array((*shape, 4)), array(out, 2), array((*out, 4), 3))


def test_in_place():
    def call(x, table, y):
        add_in_place(x, table, y)

    compiled = lw.njit(call)
    for left, right in each([(), (1,), (2,), (3, 2)], [(), (1,), (2,), (3, 1)]):
        check(call, compiled, array((*left, 5)), array(3, 2), array(right, 3))


@pytest.mark.parametrize("gufunc", [product, lw.matmul], ids=["product", "lw.matmul"])
def test_optional_dimensions(gufunc):
    compiled = lw.njit(lambda a, b: gufunc(a, b))
    shapes = [(3,), (2, 3), (1, 2, 3), (4, 2, 3), (5, 1, 2, 3)], [(3,), (3, 2), (1, 3, 2), (4, 3, 2), (5, 1, 3, 2), (4, 2)]
    for left, right in each(*shapes):
        check(lambda a, b: gufunc(a, b), compiled, array(left), array(right, 2))

    def given(a, b, c):
        gufunc(a, b, c)

    compiled = lw.njit(given)
    for left, right, out in [((3,), (3, 2), (2,)), ((2, 3), (3,), (2,)), ((2, 3), (3, 4), (2, 4)), ((4, 2, 3), (3, 4), (4, 2, 4)), ((4, 2, 3), (3, 4), (2, 4))]:
        check(given, compiled, array(left), array(right, 2), array(out, 3))


@pytest.mark.parametrize("gufunc, shapes", [(lw.vecdot, [(3,), (2, 3), (4, 1, 3), (2,)]), (strict_dot, [(3,), (2, 3), (4, 1, 3), (2,), (0,), (1,)]),
                                            (dot, [(3,), (1,), (2, 3), (2, 1), (4, 1, 3), (0,), (2,)]), (of_three, [(3,), (2,), (4, 3), (1, 3)])])
def test_sizes_of_cores(gufunc, shapes):
    compiled = lw.njit(lambda x, y: gufunc(x, y))
    for left, right in each(shapes, shapes):
        if not (gufunc is dot and 0 in left + right):
            check(lambda x, y: gufunc(x, y), compiled, array(left), array(right, 2))


def test_large_shared_dimensions_are_not_read_beyond():
    """A function that returns its outputs once took arrays of other sizes as they were."""
    with pytest.raises(ValueError, match="mismatch in one of its core dimensions"):
        lw.njit(lambda x, y: strict_dot(x, y))(np.ones(5), np.ones(2))
    with pytest.raises(ValueError, match="mismatch in one of its core dimensions"):
        lw.njit(lambda x, y: of_three(x, y))(np.ones(2), np.ones(2))


def test_in_every_decorator():
    table = array(4, 2)
    expected = look_up(array((6, 5)), table, 1.0)

    @lw.guvectorize("(m,n),(k)->(m,n)")
    def outer(x, table, out):
        look_up(x, table, 1.0, out=out)

    @lw.guvectorize("(n)->()", excluded="table")
    def nested(x, table, out):
        row = np.empty(x.shape[0])
        look_up(x, table, 1.0, out=row)
        out[0] = row.sum()

    @lw.forall
    def rows(i, x, table, out):
        look_up(x[i], table, 1.0, out=out[i])

    @lw.vectorize(excluded="table")
    def first(x, table):
        row = np.empty(2)
        row[:] = x
        look_up(row, table, 1.0, out=row)
        return row[0]

    np.testing.assert_array_equal(outer(array((6, 5)), table), expected)
    np.testing.assert_array_equal(nested(array((6, 5)), table), expected.sum(axis=1))
    out = np.zeros((6, 5))
    rows(6, array((6, 5)), table, out)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(first(array((6, 5)), table), expected)


def test_static_values_of_every_kind():
    @lw.guvectorize("(n)->(n)", static="k")
    def scaled(x, k, out):
        for i in range(x.shape[0]):
            out[i] = x[i] * (2.5 if k is None else k)

    number = 4
    x = array((2, 3), dtype="f4")
    for function in (lambda x: scaled(x, 2), lambda x: scaled(x, 2.5), lambda x: scaled(x, None), lambda x: scaled(x, np.float64(2)), lambda x: scaled(x, number), lambda x: scaled(x, True)):
        got, wanted = lw.njit(function)(x), function(x)
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


def passed_on(x, k):
    return look_up(x, np.ones(3), 1.0, scale=k)


@pytest.mark.parametrize("call, message", [
    (lambda x, y: look_up(x, x[0], y, scale=x.shape[0]), "static argument `scale` must be a constant where a compiled function calls it, not int64"),
    (lambda x, y: look_up(x, 2.0, y), "excluded argument `table` must be an array, not float64"),
    (lambda x, y: look_up(x, x, x), None),
    (lambda x, y: look_up(x, x[0]), "needs an argument for `y`"),
    (lambda x, y: look_up(x, x[0], y, y=1.0), "got two values for argument `y`"),
    (lambda x, y: look_up(x, x[0], y, table=x), "got two values for argument `table`"),
    (lambda x, y: look_up(x, x[0], y, axis=0), "keyword `axis` outside of compiled functions only"),
    (lambda x, y: look_up(x, x[0], y, cale=2), "no keyword `cale`"),
    (lambda x, y: look_up(x, x[0], y, 1, x, x), "takes 5 arguments"),
    (lambda x, y: look_up((1.0, 2.0), x[0], y), "argument `x` must be an array or a number"),
    (lambda x, y: look_up(1.0, x[0], y), "does not have enough dimensions"),
    (lambda x, y: look_up(x, x[0], y, 1, 2.0), "output 0 must be an array"),
    (lambda x, y: look_up(x, x[0], y, out=(x, x)), "takes 1 arrays in out="),
])
def test_refused(call, message):
    compiled = lw.njit(call)
    if message is None:
        with pytest.raises((ValueError, TypeError)):
            compiled(array((2, 5)), 1.0)
        return
    with pytest.raises(errors.TypingError, match="E166") as caught:
        compiled(array((2, 5)), 1.0)
    assert message in str(caught.value), str(caught.value)


def test_constants_reach_it_through_functions():
    np.testing.assert_array_equal(lw.njit(lambda x: passed_on(x, 3))(array((2, 5))), look_up(array((2, 5)), np.ones(3), 1.0, scale=3))


def test_signatures():
    typed = lw.guvectorize("void(int64[:], float64[:], float32, float64[:])", "(n),()->(n)", excluded="table", static="scale")(look_up.py_func)
    x, table = array((2, 5), dtype="i8"), array(4)
    np.testing.assert_array_equal(lw.njit(lambda x, t: typed(x, t, np.float32(1)))(x, table), typed(x, table, np.float32(1)))
    with pytest.raises(TypeError, match="E181"):
        lw.njit(lambda x, t: typed(x, t, np.float32(1)))(x * 1.0, table)
    with pytest.raises(TypeError, match="E181"):
        lw.njit(lambda x, t: typed(x, t, np.float32(1)))(x, x)


def test_arrays_without_axes():
    compiled = lw.njit(lambda x, table, y: look_up(x, table, y))
    check(lambda x, t, y: look_up(x, t, y), compiled, array((2, 5)), array(4), np.array(2.0))
    check(lambda x, t, y: look_up(x, t, y), compiled, array((2, 5), dtype="f4"), array(4, dtype="f4"), np.array(2.0))


def test_numbers_do_not_make_outputs_wider():
    x = array((2, 5), dtype="f4")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert lw.njit(lambda x, t: look_up(x, t, 1.0))(x, x[0]).dtype == look_up(x, x[0], 1.0).dtype == np.float32
