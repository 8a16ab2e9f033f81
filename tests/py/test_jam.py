"""Loops whose iterations run together, four at a time (core/opt/jam): the sums of the rows keep their order, and
so their bits, whatever the sizes and layouts are and whether arrays share memory."""

import re

import numpy as np
import pytest

import lanewise as lw

SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 22]
TYPES = [np.float32, np.float64]


def in_order(terms):
    """The sum of the terms, each rounded, from the first to the last."""
    total = terms.dtype.type(0)
    for term in terms:
        total = terms.dtype.type(total + term)
    return total


def product(a, x):
    return np.array([in_order(row * x) for row in a], x.dtype)


def rows(a, x, y):
    for i in range(a.shape[0]):
        acc = a.dtype.type(0)
        for j in range(a.shape[1]):
            acc += a[i, j] * x[j]
        y[i] = acc


def row_of(i, a, x, y):
    acc = a.dtype.type(0)
    for j in range(a.shape[1]):
        acc += a[i, j] * x[j]
    y[i] = acc


def parallel_rows(a, x, y):
    for i in lw.prange(a.shape[0]):
        acc = a.dtype.type(0)
        for j in range(a.shape[1]):
            acc += a[i, j] * x[j]
        y[i] = acc


def compile_all():
    plain = {"fma": False, "warn": False}
    return {
        "guvectorize": lw.guvectorize("(m,n),(n)->(m)", **plain)(rows),
        "jit": lw.jit(rows, **plain),
        "prange": lw.jit(parallel_rows, parallel=True, **plain),
        "forall": lw.forall(row_of, **plain),
    }


callers = compile_all()
compiled = callers["jit"]


def run(name, a, x, y, functions=callers):
    if name == "forall":
        functions[name](len(a), a, x, y)
    elif name == "guvectorize":
        functions[name](a, x, out=y)
    else:
        functions[name](a, x, y)


def laid_out(a, layout):
    if layout == "F":
        return np.asfortranarray(a)
    if layout == "reversed":
        return np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1]
    if layout == "strided":
        wide = np.zeros((2 * a.shape[0], 3 * a.shape[1]), a.dtype)
        wide[::2, ::3] = a
        return wide[::2, ::3]
    return a


@pytest.mark.parametrize("layout", ["C", "F", "reversed", "strided"])
@pytest.mark.parametrize("name", callers)
def test_sums_of_rows_keep_their_order(name, layout):
    rng = np.random.default_rng(1)
    for dtype in TYPES:
        for m in SIZES:
            for n in SIZES:
                a = (rng.random((m, n)) * 10.0 ** rng.integers(-6, 6, (m, n))).astype(dtype)
                x, y = rng.standard_normal(n).astype(dtype), np.zeros(m, dtype)
                run(name, laid_out(a, layout), x, y)
                assert y.tobytes() == product(a, x).tobytes(), (dtype, m, n)


def test_the_loops_are_jammed():
    """Four additions for the iterations that run together, and one for the others."""
    a, x, y = np.ones((8, 8)), np.ones(8), np.ones(8)
    functions = compile_all()
    for name, function in functions.items():
        run(name, a, x, y, functions)
        text = str(function.inspect_llvm())
        assert len(re.findall(r"fadd ", text)) >= 5, (name, text)


@pytest.mark.parametrize("name", ["jit", "prange", "forall"])
def test_arrays_that_share_memory(name):
    """There is one thread. y is a part of a or of x, so the results show the order of iterations."""
    for begin in (0, 1, 5, 30, 64, 90):
        for m in (4, 9, 10):
            memory = np.random.default_rng(begin).random(200)
            a, x, y = memory[:80].reshape(10, 8)[:m], memory[80:88], memory[begin:][:m]
            expected = memory.copy()
            ea, ex, ey = expected[:80].reshape(10, 8)[:m], expected[80:88], expected[begin:][:m]
            for i in range(m):
                ey[i] = in_order(ea[i] * ex)
            if name == "jit":
                run(name, a, x, y)
                assert memory.tobytes() == expected.tobytes(), (begin, m)
            elif not np.may_share_memory(y, a) and not np.may_share_memory(y, x):
                run(name, a, x, y)
                assert memory.tobytes() == expected.tobytes(), (begin, m)


def test_strides_of_zero():
    a, x, y = np.random.default_rng(1).random((9, 8)), np.random.default_rng(2).random(8), np.zeros(1)
    compiled(np.broadcast_to(a[0], a.shape), x, np.lib.stride_tricks.as_strided(y, (9,), (0,)))
    assert y[0] == in_order(a[0] * x)
    last = np.lib.stride_tricks.as_strided(y, (9,), (0,))
    compiled(a, x, last)
    assert y[0] == in_order(a[-1] * x)


def test_items_of_a_gufunc():
    @lw.guvectorize("(n),(n)->()", fma=False)
    def dot(a, b, out):
        acc = a.dtype.type(0)
        for j in range(a.shape[0]):
            acc += a[j] * b[j]
        out[0] = acc

    for m in SIZES:
        a, b = np.random.default_rng(m).random((2, m, 9))
        assert dot(a, b).tobytes() == np.array([in_order(r) for r in a * b]).tobytes()
        assert dot(a.T, b.T).tobytes() == np.array([in_order(r) for r in (a * b).T]).tobytes()


def test_product_of_matrices():
    @lw.guvectorize("(m,k),(k,n)->(m,n)", fma=False)
    def matmul(a, b, c):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                acc = 0.0
                for k in range(a.shape[1]):
                    acc += a[i, k] * b[k, j]
                c[i, j] = acc

    for n in SIZES:
        a, b = np.random.default_rng(n).random((3, 5, 9)), np.random.default_rng(n).random((3, 9, n))
        expected = np.array([[[in_order(row * column) for column in q.T] for row in p] for p, q in zip(a, b)])
        assert matmul(a, b).tobytes() == expected.reshape(3, 5, n).tobytes()


def test_several_loops_and_variables():
    """Means and variances of rows; variables that keep what the last iteration left; a sum over rows; branches."""

    @lw.jit(fma=False)
    def statistics(a, means, variances, largest):
        seen, total = -1.0, 0.0
        for i in range(a.shape[0]):
            mean, best = 0.0, -np.inf
            for j in range(a.shape[1]):
                mean += a[i, j]
            mean /= a.shape[1]
            variance = 0.0
            for j in range(a.shape[1]):
                d = a[i, j] - mean
                variance += d * d
                if a[i, j] > best:
                    best = a[i, j]
                seen = a[i, j]
            means[i], variances[i] = mean, variance / a.shape[1]
            if best > 0.9:
                largest[i] = best
            total += mean
        return seen, total

    for m in SIZES:
        a = np.random.default_rng(m).random((m, 7))
        got, expected = np.zeros((3, m)), np.zeros((3, m))
        seen, total = statistics(a, *got)
        for i, row in enumerate(a):
            mean = in_order(row) / 7
            variance = in_order((row - mean) ** 2) / 7
            expected[:, i] = mean, variance, row.max() if row.max() > 0.9 else 0
        assert got.tobytes() == expected.tobytes()
        assert total == in_order(expected[0]) and seen == (a[-1, -1] if m else -1.0)


def in_place(a, x, y):
    for i in range(a.shape[0]):
        y[i] = 0
        for j in range(a.shape[1]):
            y[i] += a[i, j] * x[j]


def added(a, x, y):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            y[i] += a[i, j] * x[j]


def scaled_and_added(a, x, y):
    for i in range(a.shape[0]):
        acc = y[i]
        for j in range(a.shape[1]):
            acc += a[i, j] * x[j]
        y[i] = acc * y[i]


def starts_with_loop(a, x, y, z):
    """z[i] is set in the loop's head as well, and both are read after it."""
    for i in range(a.shape[0]):
        y[i] = i
        z[i] = 2.0
        for j in range(a.shape[1]):
            y[i] += a[i, j] * x[j]
            z[i] *= y[i]
        y[i] -= z[i]


def by_hand(function, a, x, *outs):
    with np.errstate(all="ignore"):
        function(a, x, *outs)


@pytest.mark.parametrize("function", [in_place, added, scaled_and_added, starts_with_loop])
def test_sums_in_elements(function):
    """The sum is in the array: it may be a part of another one, reversed, or one element for all rows."""
    made = lw.jit(function, fma=False, warn=False)
    n_outs = 2 if function is starts_with_loop else 1
    rng = np.random.default_rng(1)
    for m in SIZES:
        for n in (0, 1, 7, 20):
            for step in (1, 2, -1, 0):
                for begin in (0, 3, 8, 170, 200):
                    memory = rng.random(600)
                    both = []
                    for run_it in (made, lambda *args: by_hand(function, *args)):
                        own = memory.copy()
                        a, x = own[: m * n].reshape(m, n), own[170 : 170 + n]
                        outs = [
                            np.lib.stride_tricks.as_strided(own[begin + 40 + 2 * k :], (m,), (8 * step,))
                            for k in range(n_outs)
                        ]
                        run_it(a, x, *outs)
                        both.append(own.tobytes())
                    assert both[0] == both[1], (m, n, step, begin)


def test_sums_in_outputs_of_gufuncs():
    made = lw.guvectorize("(m,n),(n)->(m)", fma=False)(in_place)
    matmul = lw.guvectorize("(m,k),(k,n)->(m,n)", fma=False)(matmul_in_place)
    for m in SIZES:
        a, x = np.random.default_rng(m).random((2, m, 20)), np.random.default_rng(m).random(20)
        assert made(a, x).tobytes() == np.array([product(each, x) for each in a]).tobytes()
        out = np.zeros((2, 3 * m))[:, ::3]
        assert made(a, x, out=out).tobytes() == np.array([product(each, x) for each in a]).tobytes()
        b = np.random.default_rng(m).random((20, 7))
        expected = np.array([[[in_order(row * column) for column in b.T] for row in each] for each in a])
        assert matmul(a, b).tobytes() == expected.reshape(2, m, 7).tobytes()
    assert len(re.findall(r"fadd ", str(made.inspect_llvm()))) >= 5


def matmul_in_place(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def test_complex_sums():
    @lw.guvectorize("(m,n)->(m)", fma=False)
    def sums(a, y):
        for i in range(a.shape[0]):
            acc = 0j
            for j in range(a.shape[1]):
                acc += a[i, j]
            y[i] = acc

    rng = np.random.default_rng(1)
    for m in SIZES:
        a = rng.random((m, 9)) + 1j * rng.random((m, 9))
        assert sums(a).tobytes() == np.array([in_order(row) for row in a], complex).tobytes()


def test_loops_that_stay():
    """Sums in which the next row needs that of the row before, exceptions, prefix sums and triangles."""

    @lw.jit(fma=False)
    def previous(a, y):
        for i in range(1, a.shape[0]):
            acc = y[i - 1]
            for j in range(a.shape[1]):
                acc += a[i, j]
            y[i] = acc

    @lw.jit(fma=False)
    def triangle(a, y):
        for i in range(a.shape[0]):
            acc = 0.0
            for j in range(i):
                acc += a[i, j]
            y[i] = acc

    @lw.jit(fma=False)
    def first_bad(a, y):
        for i in range(a.shape[0]):
            acc = 0.0
            for j in range(a.shape[1]):
                acc += a[i, j]
            if acc > 4:
                raise ValueError("too much")
            y[i] = acc

    a = np.random.default_rng(1).random((22, 22))
    y = np.zeros(22)
    previous(a, y)
    expected = 0.0
    for i in range(1, 22):
        expected = in_order(np.concatenate([[expected], a[i]]))
        assert y[i] == expected
    triangle(a, y)
    assert y.tolist() == [in_order(a[i, :i]) for i in range(22)]
    y[:] = 0
    a[:9] /= 10
    with pytest.raises(ValueError, match="too much"):
        first_bad(a, y)
    assert (y[:9] > 0).all() and (y[9:] == 0).all()
