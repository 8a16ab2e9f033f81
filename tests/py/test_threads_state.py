"""What objects change while several threads use them: loops, specialisations, renewed objects, members of families, places of
random numbers. On a Python without the GIL nothing else keeps them apart (ARCHITECTURE.md, "Without the GIL"). What is kept
on devices has test_threads_device.py."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import lanewise as lw
from test_threads import together

X = np.arange(24.0)
DTYPES = ["f4", "f8", "i4", "i8", "c8", "c16", "u2", "i1"]


def without_problems(results):
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


# ---- loops ----


def test_loops_are_made_and_looked_at():
    """Each thread asks for another dtype first; others list what is there."""
    for _ in range(6):
        f = lw.vectorize(lambda x: x * x + x)

        def work(i, f=f):
            for k in range(len(DTYPES)):
                x = np.arange(5).astype(DTYPES[(i + k) % len(DTYPES)])
                assert (f(x) == x * x + x).all()
                assert len(f.types) == len(set(f.types)) and f.ntypes >= 1 and f.stats["loops"] >= 1
                assert f.resolve_dtypes((x.dtype, None))[0] == x.dtype
            return f.types

        without_problems(together(8, work))
        assert f.ntypes == len(DTYPES) == len(set(f.types))


def test_signatures_are_added_while_methods_run():
    f = lw.vectorize(["f8(f8, f8)"])(lambda x, y: x + y)

    def work(i):
        if i == 0:
            for sig in ("f4(f4, f4)", "i8(i8, i8)", "c8(c8, c8)", "c16(c16, c16)", "i2(i2, i2)"):
                f.add(sig)
        for _ in range(60):
            assert f.reduce(X) == X.sum() and (f.accumulate(X) == X.cumsum()).all()
            assert (f.outer(X, X) == X[:, None] + X).all()
            y = X.copy()
            f.at(y, [1, 1], 1.0)
            assert y[1] == 3
            assert f(X, X)[5] == 10
        return True

    assert together(8, work) == [True] * 8 and f.ntypes == 6


def test_the_same_signature_is_added_twice():
    f = lw.vectorize(["f8(f8)"])(lambda x: x + 1)
    g = lw.guvectorize(["f8(f8[:])"], "(n)->()")(lambda x: x[0] + 1)

    def work(i):
        said = 0
        for sig, scalar in (("f4(f4)", f), ("f4(f4[:])", g)):
            try:
                scalar.add(sig)
            except (ValueError, lw.errors.CompileError):
                said += 1
        return said

    together(8, work)
    assert sorted(f.types) == ["d->d", "f->f"] and sorted(g.types) == ["d->d", "f->f"]
    assert f(np.float32(1)) == 2 and g(np.ones(3, "f4")) == 2


class Sees:
    """Keeps the ufunc that it is shown, as pandas does; a name that means something shows the inner one."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc


def test_the_inner_ufunc_outlives_its_ufunc():
    def add(x, y):
        return x + y

    for _ in range(10):
        holder = [lw.vectorize(add)]
        inner = holder[0](Sees(), 1)
        x = np.arange(7.0)

        def work(i, holder=holder, inner=inner, x=x):
            if i == 0:
                holder.clear()
                gc.collect()
            for dtype in DTYPES[:4]:
                try:
                    assert (inner(x.astype(dtype), x.astype(dtype)) == x.astype(dtype) * 2).all()
                except ReferenceError:
                    assert not holder
            return True

        assert together(4, work) == [True] * 4


def test_parameters_with_defaults_become_operands():
    for _ in range(4):
        f = lw.vectorize(lambda x, y=3: x * y)
        assert together(6, lambda i, f=f: f(X, float(i)).tolist() == (X * i).tolist() and f(X)[1] == 3) == [True] * 6


# ---- what they captured changes ----

GLOBAL = 0.0
SCALE = 1.0


def by_ufunc():
    f = lw.vectorize(lambda x: x + GLOBAL)
    return lambda: f(X) - X


def by_gufunc():
    @lw.guvectorize("(n)->()")
    def g(x, out):
        out[()] = x[0] + GLOBAL
    return lambda: g(X.reshape(-1, 4)) - X[::4]


def by_reduce():
    r = lw.reduce(lambda a, b: a + b, map=lambda a: a + GLOBAL)
    return lambda: (r(X) - X.sum()) / X.size


def by_forall():
    @lw.forall
    def k(i, x, out):
        out[i] = x[i] + GLOBAL

    def run():
        out = np.empty_like(X)
        k(X.size, X, out)
        return out - X
    return run


def by_jit():
    @lw.jit
    def k(x, out):
        i = lw.cuda.grid(1)
        if i < x.size:
            out[i] = x[i] + GLOBAL

    def run():
        out = np.empty_like(X)
        k[2, 16](X, out)
        return out - X
    return run


def by_value():
    f = lw.jit(lambda x: x + GLOBAL)
    return lambda: f(2.0) - 2.0


def by_family():
    f = lw.vectorize(lambda i, table: table[i] + GLOBAL, excluded=["table"])
    return lambda: f(np.arange(5), X) - X[:5]


@pytest.mark.parametrize("door", [by_ufunc, by_gufunc, by_reduce, by_forall, by_jit, by_value, by_family])
@pytest.mark.parametrize("called_before", [False, True])
def test_a_global_changes(door, called_before):
    """Each call computes with one of the values that the name had."""
    values = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0]
    globals()["GLOBAL"] = values[0]
    call = door()
    if called_before:
        assert not np.any(call())

    def work(i):
        for k in range(24):
            if i == 0:
                globals()["GLOBAL"] = values[k % len(values)]
            got = np.unique(call())
            assert got.size == 1 and got[0] in values, got
        return True

    try:
        assert without_problems(together(6, work)) == [True] * 6
        globals()["GLOBAL"] = 4.0
        assert np.all(call() == 4.0)
    finally:
        globals()["GLOBAL"] = 0.0


def helper(x):
    return x + SCALE


def test_a_helper_changes():
    """Its code, its defaults and a name that it uses change."""
    def other(x, step=2.0):
        return x + step

    f = lw.vectorize(lambda x: helper(x) + other(x))
    codes = [other.__code__, (lambda x, step=5.0: x - step).__code__]

    def work(i):
        for k in range(20):
            if i == 0:
                other.__code__ = codes[k % 2]
                other.__defaults__ = (float(k % 3),)
                globals()["SCALE"] = float(k % 4)
            assert np.isfinite(f(X)).all()
        return True

    try:
        assert without_problems(together(6, work)) == [True] * 6
    finally:
        globals()["SCALE"] = 1.0


@pytest.mark.filterwarnings("ignore:.*W204")
@pytest.mark.parametrize("size", [3, 5000])
def test_contents_change(size):
    """A list grows and shrinks, and an array is written to: small ones are compared, large ones frozen."""
    numbers, array = [1.0] * size, np.ones(size)
    f = lw.vectorize(lambda i: numbers[i] + array[i])
    where = np.arange(3)
    assert (f(where) == 2).all()

    def work(i):
        for k in range(30):
            if i == 0:
                array[:3] = 1.0 + k % 3
                numbers.append(2.0)
                numbers[0] = numbers[1] = numbers[2] = 1.0 + k % 2
                numbers.pop()
            assert np.isfinite(f(where)).all()
        return True

    assert without_problems(together(6, work)) == [True] * 6


# ---- families ----


def test_static_values_change():
    f = lw.vectorize(lambda x, n: x * n + 1, static=["n"])

    def work(i):
        for k in range(30):
            n = (i + k) % 5
            assert (f(X, n=n) == X * n + 1).all()
            if i == 0:
                f.types, f.stats, f.signatures
        return True

    assert without_problems(together(8, work)) == [True] * 8
    assert f.ntypes == 5


def test_static_values_of_kernels():
    @lw.forall(static=["n"])
    def k(i, x, n, out):
        out[i] = x[i] * n

    def work(i):
        for j in range(20):
            out = np.empty_like(X)
            k(X.size, X, (i + j) % 4, out)
            assert (out == X * ((i + j) % 4)).all()
        return True

    assert without_problems(together(8, work)) == [True] * 8
    assert k.stats["specialisations"] == 4


def test_excluded_arrays_of_several_types():
    f = lw.vectorize(lambda i, table: table[i], excluded=["table"])

    def work(i):
        for k in range(20):
            table = np.arange(10).astype(DTYPES[(i + k) % 4])
            assert (f(np.arange(4), table) == table[:4]).all()
        return True

    assert without_problems(together(8, work)) == [True] * 8


# ---- specialisations and their numbers ----


def test_specialisations_are_counted_once():
    for _ in range(4):
        total = lw.reduce(lambda a, b: a + b, map=lambda a: a + 0)
        configured = lw.jit(lambda x, out: None)

        @lw.forall
        def twice(i, x, out):
            out[i] = x[i] + x[i]

        def work(i, total=total, twice=twice, configured=configured):
            for k in range(8):
                x = np.arange(1, 9).astype(DTYPES[(i + k) % 4])
                out = np.empty_like(x)
                twice(x.size, x, out)
                assert (out == x + x).all() and total(x) == x.sum()
                assert (total.accumulate(x) == x.cumsum()).all()
                configured[1 + k, 32](x, out)
            return True

        assert without_problems(together(8, work)) == [True] * 8
        assert total.stats["specialisations"] == 4 and twice.stats["specialisations"] == 4


def test_a_function_is_called_as_kernel_and_on_the_host():
    for _ in range(4):
        @lw.jit
        def f(x):
            return x * 2 + 1

        assert without_problems(together(8, lambda i, f=f: [f(float(k)) for k in range(20)])) == [[2.0 * k + 1 for k in range(20)]] * 8


def test_targets_are_asked_while_the_setting_changes():
    k = lw.jit(lambda x, out: None)

    def work(i):
        for j in range(60):
            if i == 0:
                lw.config.target = ["cpu", "parallel"][j % 2]
            k[1, 1](X, X)
        return True

    with lw.config(target="cpu"):
        assert without_problems(together(4, work)) == [True] * 4


# ---- random numbers ----


@pytest.mark.parametrize("draw", [
    lambda r: r.random(), lambda r: r.standard_normal(), lambda r: r.exponential(), lambda r: r.standard_gamma(2.5),
    lambda r: float(r.uniform(size=5)[0]), lambda r: int(r.integers(0, 1 << 62)), lambda r: float(r.random(size=9000)[0]),
], ids=["random", "normal", "exponential", "gamma", "few", "integers", "many"])
def test_each_place_is_drawn_once(draw):
    """Numbers depend on their places only, so the threads together get those of one thread."""
    n, each = 6, 25
    alone, shared = lw.random.Generator(5), lw.random.Generator(5)
    expected = sorted(draw(alone) for _ in range(n * each))
    results = without_problems(together(n, lambda i: [draw(shared) for _ in range(each)]))
    assert sorted(value for result in results for value in result) == expected


def test_places_are_taken_in_two_ways():
    """C draws a few numbers, and Python code arrays, while it holds the generator."""
    rng = lw.random.Generator(3)

    def work(i):
        seen = []
        for _ in range(20):
            seen += [rng.random(), rng.normal(1.0, 2.0)] if i % 2 else rng.random(size=9000)[:1].tolist()
            if i == 0:
                rng.spawn(1)
        return seen

    seen = [value for result in without_problems(together(6, work)) for value in result]
    assert len(set(seen)) == len(seen)


# ---- the rest ----


def test_errors_that_bodies_raise():
    """Many threads raise exceptions together, and each gets its own."""
    @lw.vectorize
    def root(x):
        if x < 0:
            raise ValueError(f"{x} is negative")
        return x ** 0.5

    def work(i):
        said = []
        for k in range(20):
            with pytest.raises(ValueError) as problem:
                root(np.array([4.0, -1.0 - i, 9.0]))
            said.append(str(problem.value))
            assert root(4.0) == 2
        return said

    for i, said in enumerate(without_problems(together(6, work))):
        assert all(text.startswith(f"{-1.0 - i} is negative") for text in said), said


def test_records_and_types():
    def work(i):
        for k in range(30):
            dtype = np.dtype([("x", "f8"), (f"y{(i + k) % 5}", "i4")])
            record = lw.types.from_dtype(dtype)
            assert record.dtype == dtype and lw.float64(lw.float32, record) == lw.float64(lw.float32, lw.types.from_dtype(dtype))
        return True

    assert without_problems(together(8, work)) == [True] * 8


FIRST = """
import sys, threading, time
import numpy as np, lanewise as lw
sys.setswitchinterval(1e-5)
x = np.arange(10.0)
def inc(v):
    return v + 1
def total(a, b):
    return a + b
def fill(i, out):
    out[i] = i
barrier = threading.Barrier(8)
seen = []
def work(i):
    barrier.wait()
    f = lw.vectorize(inc, source="def inc(v):\\n    return v + 1\\n")
    r = lw.reduce(total, source="def total(a, b):\\n    return a + b\\n")
    k = lw.forall(fill, source="def fill(i, out):\\n    out[i] = i\\n")
    out = np.empty(4)
    k(4, out)
    assert f(x)[1] == 2 and r(x) == 45 and out[3] == 3
    assert lw.ufuncs.add(x, x)[1] == 2 and lw.random.Generator(i).random() < 1 and lw.cache.info()["compiled"] >= 0
    assert lw.reductions.sum(x) == 45 and lw.cuda.is_available() in (True, False)
    seen.append(i)
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(seen) == 8
"""


def test_everything_at_first_use(run_python):
    """Eight threads are the first to import, look up and compile."""
    run_python("-c", FIRST, timeout=110)


def test_without_the_gil(run_python):
    """Where Python runs without it, lanewise does not turn it on."""
    if not hasattr(sys, "_is_gil_enabled"):
        pytest.skip("a Python that always has the GIL: below 3.13")
    done = run_python("-W", "error", "-c", "import sys\nbefore = sys._is_gil_enabled()\nimport lanewise\n"
                      "print(before, sys._is_gil_enabled())", PYTHON_GIL="", timeout=110)
    before, after = done.stdout.split()
    assert before == after
