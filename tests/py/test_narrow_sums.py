"""W203: loops that add up in narrow types say so, those that lose nothing do not."""

import time
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, float32, float64

X = np.ones(10, np.float32)


def told(compile_, *args):
    """The lines of all W203 of one call, counted from the function's first line."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        compile_(*args)
    texts = [str(w.message) for w in seen if issubclass(w.category, lw.errors.PrecisionWarning)]
    assert all(t.startswith("W203: line ") and __file__ in t for t in texts), texts
    return texts


def core(f, x=X, **options):
    return told(lw.guvectorize("(n)->()", **options)(f), x)


# ---- what loses digits ----


def augmented(x, out):
    m = 0.0
    for v in x:
        m += v
    out[0] = m


def subtracted(x, out):
    m = 0.0
    for i in range(1, x.size):
        m = m - x[i] * x[i]
    out[0] = m


def while_and_tuple(x, out):
    i, s, t = 0, float32(0), float32(0)
    while i < x.size:
        s, t = s + x[i], x[i] + t
        i += 1
    out[0] = s + t


def conditional(x, out):
    s = t = 0.0
    for v in x:
        s = s + v if v > 0 else s
        if v < 0:
            t += v
    out[0] = s + t


def in_memory(x, out):
    out[0] = 0
    for i in range(x.size):
        out[0] += x[i]


def in_memory_spelled_out(x, out):
    out[0] = 0
    for i in range(x.size):
        out[0] = out[0] + x[i]


def nested(x, out):
    s = 0.0
    for v in x:
        for k in range(4):
            s += v * k
    out[0] = s


def python_sum(x, out):
    out[0] = sum(x)


def generator(x, out):
    out[0] = sum(v * v for v in x)


def dot(x, out):
    out[0] = np.dot(x, x)


def _callee(x):
    s = 0.0
    for v in x:
        s += v
    return s


def called(x, out):
    out[0] = _callee(x)


def long_known(x, out):
    s = 0.0
    for i in range(100):
        for k in range(100):
            s += x[(i + k) % x.size]
    out[0] = s


LOSE = [augmented, subtracted, while_and_tuple, conditional, in_memory, in_memory_spelled_out, nested, python_sum, generator, dot,
        called, long_known]


@pytest.mark.parametrize("f", LOSE, ids=lambda f: f.__name__)
def test_what_loses_digits(f):
    assert len(core(f)) == 1
    assert core(f, X.astype(np.float64)) == []
    assert core(f, warn=False) == []


@pytest.mark.parametrize("dtype, named", [("float16", "in float16"), ("float32", "`m: float64 = 0.0`"), ("complex64", "`m: complex128 = 0.0`")])
def test_dtypes(dtype, named):
    def add(x, out):
        m = x[0] - x[0]
        for v in x:
            m += v
        out[0] = m

    assert named in core(add, np.ones(3, dtype))[0]


def test_the_line():
    line = augmented.__code__.co_firstlineno + 3
    assert f"line {line} of {__file__}" in core(augmented)[0]
    line = _callee.__code__.co_firstlineno + 3
    assert f"line {line} of {__file__}" in core(called)[0]
    line = dot.__code__.co_firstlineno + 1  # np.dot's loop is lanewise's own
    assert f"line {line} of {__file__}" in core(dot)[0]


# ---- what does not ----


def wide_total(x, out):
    m: float64 = 0.0
    for v in x:
        m += v
    out[0] = m


def named_type(x, out):
    m = float32(0)
    for v in x:
        m += v
    n = t = np.float32(0.0)
    for i in range(x.size):
        n = n - x[i]
        t += x[i]
    out[0] = m + n + t


def annotated_type(x, out):
    m: float32 = 0.0
    for v in x:
        m += v
    out[0] = m


def wide_terms(x, out):
    m = 0.0
    for v in x:
        m += lw.float64(v)
    out[0] = m


def short(x, out):
    s = float32(0)
    for i in range(64):
        for k in range(64):
            s += x[k % x.size]
    i = 0
    while i < 8:
        s += x[i]
        i += 1
    out[0] = s


def of_each_row(x, out):
    for i in range(x.size):
        s = float32(0)
        for k in range(3):
            s += x[i]
        out[0] = s


def weighted(x, out):
    s = float32(0)
    for v in x:
        s = s * float32(0.9) + v
    out[0] = s


def compensated(x, out):
    s = c = float32(0)
    for v in x:
        y = v - c
        t = s + y
        c = (t - s) - y
        s = t
    out[0] = s


def welford(x, out):
    n, mean = float32(0), float32(0)
    for v in x:
        n = np.float32(n + 1) if n < 1e6 else n * 1
        mean += (v - mean) / 7
    out[0] = mean


def newton(x, out):
    s = float32(1)
    while abs(s * s - x[0]) > 1e-3:
        s = s - (s * s - x[0]) / (2 * s)
    out[0] = s


def series(x, out):
    term, s, k = float32(1), float32(0), 1
    while abs(term) > 1e-7:
        s += term
        term *= x[0] / k
        k += 1
    out[0] = s


def products(x, out):
    p = float32(1)
    for v in x:
        p *= v
    out[0] = p


def elementwise(x, out):
    y = lw.local(16, float32)
    for i in range(x.size):
        y[i] += x[i]
    out[0] = y[0]


def integers(x, out):
    n = 0
    for v in x:
        n += int(v)
    out[0] = n


def numpy_sums(x, out):
    out[0] = np.sum(x) + x.mean() + x.var() + np.std(x) + np.prod(x)


KEEP = [wide_total, named_type, annotated_type, wide_terms, short, of_each_row, weighted, compensated, welford, newton, series, products, elementwise, integers, numpy_sums]


@pytest.mark.parametrize("f", KEEP, ids=lambda f: f.__name__)
def test_what_keeps_them(f):
    assert core(f) == []


def test_a_sum_behind_one_of_a_named_type_is_told():
    def both(x, out):
        m = float32(0)
        for v in x:
            m += v
        n = 0.0
        for v in x:
            n += v
        out[0] = m + n

    assert f"line {both.__code__.co_firstlineno + 6} of" in core(both)[0]


def test_lanewises_own_functions_are_not_told():
    """Draws add in loops of their own, which users cannot change."""
    def total(x, out):  # a loop of a function of lanewise's that adds in float32
        out[0] = ours(x)

    source = "def ours(x):\n    s = x[0] - x[0]\n    for v in x:\n        s += v\n    return s\n"
    scope = {"__name__": "lanewise._drawn"}
    exec(compile_kept(source, "lanewise_drawn.py"), scope)
    ours = scope["ours"]
    assert core(total) == []


def compile_kept(source, file):
    import linecache

    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    return compile(source, file, "exec")


# ---- generators ----


def test_the_line_of_any_caller():
    """The first function that calls a sum may be called by nobody who is told."""
    def total(x):
        return np.dot(x, x)

    def f(x, y, out):
        out[0] = total(x) + np.dot(y, y)

    texts = told(lw.guvectorize("(n),(n)->()")(f), X, X)
    assert len(texts) == 1 and "float32" in texts[0], texts


def test_once_for_each_function():
    f = lw.guvectorize("(n)->()")(augmented)
    texts = told(lambda: (f(X), f(X.astype("f2")), f(X), f(X.astype("f8"))))
    assert len(texts) == 1


@pytest.mark.parametrize("signatures", [None, ["void(float32[:], float32[:])"]])
def test_once_for_each_function_that_is_made_anew(signatures):
    factor = 1.0

    def total(x, out):
        s = 0.0
        for v in x:
            s += v * factor
        out[0] = s

    f = lw.guvectorize("(n)->()")(total) if signatures is None else None

    def calls():
        nonlocal factor, f
        f = f or lw.guvectorize(signatures, "(n)->()")(total)
        for factor in (1.0, 2.0, 3.0):
            assert f(X) == 10 * factor

    assert len(told(calls)) == 1


def test_vectorize():
    def f(x, n):
        s = x - x
        for _ in range(n):
            s += x
        return s

    assert len(told(lw.vectorize(f), X, 3)) == 1
    assert len(told(lambda: lw.vectorize(["f4(f4, i8)"])(f))) == 1
    assert told(lambda: lw.vectorize(["f4(f4, i8)"], warn=False)(f)) == []


def test_forall_and_jit():
    def rows(i, x, out):
        s = 0.0
        for k in range(x.shape[1]):
            s += x[i, k]
        out[i] = s

    def kernel(x, out):
        s = 0.0
        for k in range(cuda.grid(1), x.shape[1], cuda.gridsize(1)):
            s += x[0, k]
        out[0] = s

    def columns(x, out):
        for i in range(x.shape[0]):
            for k in range(x.shape[1]):
                out[k] += x[i, k]

    x, out = np.ones((3, 4), np.float32), np.zeros(4, np.float32)
    assert len(told(lw.forall(rows), 3, x, out)) == 1
    assert len(told(lw.jit(columns), x, out)) == 1
    assert len(told(lambda: cuda.jit(kernel, target="cpu")[1, 1](x, out))) == 1
    assert told(lambda: cuda.jit(kernel, target="cpu", warn=False)[1, 1](x, out)) == []


def test_reduce():
    """The tree of a reduction adds in pairs; a loop in one of its functions does not."""

    def mapped(x):
        s = x - x
        for _ in range(int(x)):
            s += x
        return s

    assert told(lw.reduce(lambda a, b: a + b), X) == []
    assert len(told(lw.reduce(map=mapped, combine=lambda a, b: a + b), X)) == 1


def test_a_warning_that_is_an_error_comes_once():
    f = lw.vectorize(lambda x, n: sum(x for _ in range(n)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", lw.errors.PrecisionWarning)
        with pytest.raises(lw.errors.PrecisionWarning):
            f(X, np.int64(4))
        assert f(X, np.int64(4))[0] == 4


def test_numpys_sums_are_numpys():
    """Data are near 10000, with a variance of 1/12: NumPy adds in pairs; one by one in float32, nothing of the variance would remain."""
    x = (10000 + np.random.default_rng(3).random(200_000)).astype(np.float32)

    def moments(x, total, mean, var, std):
        total[0], mean[0], var[0], std[0] = np.sum(x), x.mean(), np.var(x), x.std()

    got = lw.guvectorize("(n)->(),(),(),()")(moments)(x)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(got, [wide.sum(), wide.mean(), wide.var(), wide.std()], rtol=1e-6)
    z = (x + 1j * x).astype(np.complex64)
    np.testing.assert_allclose(lw.guvectorize("(n)->()")(complex_mean)(z), z.astype(complex).mean(), rtol=1e-6)


def complex_mean(x, out):
    out[0] = x.mean()


@pytest.mark.parametrize("loop, zero, found", [("range(5)", "0.0", False), ("range(n)", "0.0", True), ("range(n)", "np.float32(0)", False)])
def test_many_sums_are_looked_at_in_little_time(loop, zero, found):
    """The search took quadratic time in the number of statements of a loop: minutes for 5,000."""
    totals, lines = range(50), range(5000)
    source = "def f(x, n):\n" + "".join(f"    t{i} = {zero}\n" for i in totals) + f"    for i in {loop}:\n"
    source += "".join(f"        t{k % 50} += x * np.float32({k})\n" for k in lines) + "    return " + " + ".join(f"t{i}" for i in totals) + "\n"
    space = {"np": np}
    exec(compile(source, __file__, "exec"), space)
    before = time.perf_counter()
    f = lw.vectorize(source=source)(space["f"])
    assert bool(told(lambda: f.add("float32(float32, int64)"))) is found
    assert time.perf_counter() - before < 60


# ---- integers ----


def of_bytes(x):
    t = 0
    for v in x:
        t += v
    return t


def of_three(x):
    t = 0
    for k in range(3):
        t += x[k]
    return t


def of_squares(x):
    d = 0
    for i in range(1, x.size):
        d += (x[i] - x[i - 1]) ** 2
    return d


def running(x):
    t = 0
    out = np.zeros(x.size, np.int64)
    for i in range(x.size):
        t = t + x[i]
        out[i] = t
    return out[x.size - 1]


@pytest.mark.parametrize("f, dtype, warns", [
    *[(f, dtype, True) for f in (of_bytes, of_squares, running) for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)],
    *[(f, dtype, False) for f in (of_bytes, of_three, of_squares, running) for dtype in (np.int64, np.uint64)],
    (of_three, np.uint8, True), (of_three, np.int16, True), (of_three, np.int32, False),
])
def test_totals_of_narrow_integers(f, dtype, warns):
    texts = told(lw.njit(f), np.ones(5, dtype))
    assert len(texts) == warns and all(f"adds up in {np.dtype(dtype)}, in a loop" in t and "totals that do not fit wrap around. " in t and "int64" in t for t in texts)


def test_the_cures_of_totals_of_integers():
    x = np.full(100, 200, np.uint8)

    def declared(x):
        t: lw.int64 = 0
        for v in x:
            t += v
        return t

    def converted(x):
        t = 0
        for v in x:
            t += lw.int64(v)
        return t

    def intended(x):
        t = np.uint8(0)
        for v in x:
            t += v
        return t

    for f, result in ((declared, 20000), (converted, 20000), (intended, 32)):
        compiled = lw.njit(f)
        assert not told(compiled, x) and compiled(x) == result
    assert not told(lw.njit(of_bytes, warn=False), x)
    assert not told(lw.njit(of_bytes, typing="numba"), x) and lw.njit(of_bytes, typing="numba")(x) == 20000


def counter(x, step):
    i, n = step * 0, 0
    while i < x.size:
        i += step
        n += 1
    return n


def index(x, step):
    i, t = step * 0, 0.0
    for k in range(x.size // 4):
        t += x[i]
        i += step
    return t


def best(x, step):
    t = most = step * 0
    for v in x:
        t += v
        if t > most:
            most = t
        if t < 0:
            t = step * 0
    return most


def counts(x, h):
    for v in x:
        h[v % 8] += 1


def named(x):
    y = np.dot(x, x)
    return y


@pytest.mark.parametrize("f, args", [
    (named, (np.ones(9, np.uint8),)), (counter, (np.ones(9), np.int32(2))), (index, (np.ones(9), np.int32(2))), (best, (np.ones(9, np.int32), np.int32(1))), (counts, (np.ones(9, np.uint8), np.zeros(8, np.int32))),
    (lambda x: np.convolve(x, x)[0] + np.dot(x, x) + np.cumsum(x)[2] + np.trace(x.reshape(3, 3)), (np.ones(9, np.uint8),)), (lambda x: sum(x) + sum(v * v for v in x), (np.ones(9, np.uint8),)),
])
def test_counters_indices_and_numpys_functions(f, args):
    assert not told(lw.njit(f), *args)
