"""What a compiled function captured changes: every door reads and compiles it again."""

import gc
import linecache
import math
import threading
import warnings
import weakref

import numpy as np
import pytest

import lanewise as lw

K = 2
WEIGHTS = (1.0, 2.0)


def scaled(x):
    return x * K


def helped(x):
    return scaled(x) + K


@pytest.fixture(autouse=True)
def restore():
    global K, WEIGHTS, scaled
    before = K, WEIGHTS, scaled
    yield
    K, WEIGHTS, scaled = before


def test_a_ufunc():
    global K
    f = lw.vectorize(helped)
    assert f(3.0) == 8 and f.inspect_llvm("d->d")
    K = 5
    assert f(3.0) == 20
    assert f(np.float32(3)) == 20 and f(np.float32(3)).dtype == np.float32  # new dtypes, too
    K = 2
    assert f(3.0) == 8
    K = 2 + 0  # equal: nothing changed
    assert f(3.0) == 8


def test_inspection_shows_what_runs():
    global K
    f = lw.vectorize(lambda x: x + K)
    K = 1234
    assert f(1) == 1235
    K = 4321
    assert "4321" in f.inspect_llvm("q->q", "cpu") and "1234" not in f.inspect_llvm("q->q", "cpu")


def test_eager_signatures():
    global K
    f = lw.vectorize(["f8(f8)", "f4(f4)"])(helped)
    assert f(3.0) == 8
    K = 5
    assert f(3.0) == 20 and f(np.float32(3)) == 20
    assert f.types == ["f->f", "d->d"]


def test_a_helper_defined_anew():
    global scaled
    f = lw.vectorize(lambda x: scaled(x))
    assert f(3.0) == 6
    exec_before = scaled

    def again(x):
        return x - 1

    scaled = again
    assert f(3.0) == 2
    scaled = exec_before
    assert f(3.0) == 6


def test_a_helper_with_other_code_or_defaults():
    def helper(x, n=1):
        return x + n

    def other(x, n=1):
        return x - n

    f = lw.vectorize(lambda x: helper(x))
    assert f(3.0) == 4
    helper.__code__ = other.__code__
    assert f(3.0) == 2
    helper.__defaults__ = (3,)
    assert f(3.0) == 0


def test_attributes_of_the_object_of_a_method():
    class Model:
        def __init__(self):
            self.slope = 2.0

        def line(self, x):
            return x * self.slope

    model = Model()
    f = lw.vectorize(model.line)
    assert f(3.0) == 6
    model.slope = 5.0
    assert f(3.0) == 15


def test_a_tuple_of_constants():
    global WEIGHTS
    f = lw.vectorize(lambda x: x * WEIGHTS[1])
    assert f(3.0) == 6
    WEIGHTS = (1.0, -2.0)
    assert f(3.0) == -6


def test_a_table():
    table = np.array([1.0, 2.0])
    f = lw.vectorize(lambda i: table[i])
    assert f(1) == 2
    table = np.array([1.0, 7.0])
    assert f(1) == 7


def test_a_closure_cell():
    c = 3

    @lw.vectorize
    def f(x):
        return x * c

    assert f(2.0) == 6
    c = 10
    assert f(2.0) == 20


def test_methods_of_a_ufunc():
    global K
    f = lw.vectorize(lambda a, b: a + b + K)
    assert f.reduce(np.arange(3.0)) == 7
    K = 5
    assert f.reduce(np.arange(3.0)) == 13
    assert f.outer([1], [1])[0, 0] == 7


def test_excluded_and_static():
    global K
    f = lw.vectorize(lambda x, table, n: x * table[n] + K, excluded=["table"], static=["n"])
    table = np.array([1.0, 2.0])
    assert f(3.0, table, 1) == 8
    K = 5
    assert f(3.0, table, 1) == 11 and f(3.0, table, 0) == 8


def test_a_gufunc():
    global K
    g = lw.guvectorize("(n)->()")(lambda x: x[0] * K)
    assert g(np.ones(3)) == 2
    K = 9
    assert g(np.ones(3)) == 9
    assert g(np.ones(3, np.float32)) == 9


def test_a_gufunc_with_excluded_arrays():
    global K
    g = lw.guvectorize("(n)->()", excluded=["table"])(lambda x, table: x[0] * K + table[0])
    assert g(np.ones(3), np.array([0.5])) == 2.5
    K = 9
    assert g(np.ones(3), np.array([0.5])) == 9.5


def test_a_gufunc_with_signatures():
    global K

    @lw.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)")
    def g(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i] + K

    assert g(np.ones(2)).tolist() == [3, 3]
    K = 4
    assert g(x=np.ones(2)).tolist() == [5, 5]


def test_a_forall_and_its_bound_call():
    global K

    @lw.forall
    def add(i, x):
        x[i] += K

    x = np.zeros(3)
    add(3, x)
    bound = add.bind(3, x)
    K = 100
    add(3, x)
    assert x.tolist() == [102, 102, 102]
    bound()  # looks, as any call does
    assert x.tolist() == [202, 202, 202]
    add.bind(3, x)()
    assert x.tolist() == [302, 302, 302]
    K = 2
    bound()
    assert x.tolist() == [304, 304, 304]


def test_a_kernel_and_its_launchers():
    global K

    @lw.jit
    def fill(x):
        i = lw.cuda.grid(1)
        if i < x.size:
            x[i] = K

    x = np.zeros(3)
    launcher, sized = fill[1, 32], fill.forall(3)
    launcher(x)
    assert x.tolist() == [2, 2, 2]
    K = 7
    launcher(x)
    assert x.tolist() == [7, 7, 7]
    K = 8
    sized(x)
    assert x.tolist() == [8, 8, 8]


def test_a_function_called_on_the_host():
    global K
    f = lw.jit(helped)
    assert f(1.0) == 4
    K = 10
    assert f(1.0) == 20 and f(1) == 20
    K = 2
    assert f(1.0) == 4


def test_a_reduction():
    global K
    r = lw.reduce(map=lambda x: x * K, combine=lambda a, b: a + b, finish=lambda s: s + K)
    x = np.arange(4.0)
    assert r(x) == 14
    K = 3
    assert r(x) == 21
    plain = lw.reduce(lambda a, b: a + b + K)
    assert plain.accumulate(x).tolist() == [0, 4, 9, 15]
    K = 0
    assert plain.accumulate(x).tolist() == [0, 1, 3, 6]
    assert plain.reduceat(x, [0, 2]).tolist() == [1, 5]
    assert plain.by_key([1, 1, 2, 2], x)[1].tolist() == [1, 5]


@pytest.mark.parametrize("make", [
    lambda: lw.vectorize(helped, typing="numba"),
    lambda: lw.jit(helped, typing="numba"),
])
def test_numba_mode_keeps_the_value_and_warns_once(make):
    global K
    f = make()
    assert f(3.0) == 8
    K = 5
    with pytest.warns(RuntimeWarning, match="has changed"):
        assert f(3.0) == 8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(3.0) == 8


def test_numba_mode_without_warnings():
    global K
    f = lw.vectorize(helped, typing="numba", warn=False)
    assert f(3.0) == 8
    K = 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(3.0) == 8


def test_what_cannot_be_compiled_any_more_is_told():
    global K
    f = lw.vectorize(helped)
    assert f(3.0) == 8
    K = object()
    with pytest.raises(lw.errors.CompileError):
        f(3.0)
    K = 2
    assert f(3.0) == 8


def test_numpy_scalars_are_compared_by_value():
    global K
    K = np.float64(2)
    f = lw.vectorize(lambda x: x * K)
    assert f(3.0) == 6
    K = np.float64(2)
    assert f(3.0) == 6 and f.stats["loops"] == 1
    K = np.float64(-0.0)
    assert math.copysign(1, f(3.0)) == -1
    K = np.float64(0.0)
    assert math.copysign(1, f(3.0)) == 1


def test_attributes_that_are_new_at_each_look():
    class Settings:
        def __getattr__(self, name):
            return [1.5, 2.5]

    settings = Settings()
    f = lw.vectorize(lambda x: x * settings.factors[1])
    assert f(2.0) == 5.0
    before = f.stats["loops"]
    assert f(2.0) == 5.0 and f.stats["loops"] == before


def test_overrides_see_the_function_that_was_called():
    global K
    f = lw.vectorize(helped)
    assert f(3.0) == 8
    K = 5
    seen = []

    class Other:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            seen.append(ufunc)
            return 1

    assert f(Other()) == 1
    assert seen == [f]


def test_threads_see_one_value_or_another():
    global K
    f = lw.vectorize(helped)
    x = np.ones(4)
    f(x)
    failures = []

    def work():
        for _ in range(50):
            result = set(f(x).tolist())
            if len(result) != 1 or not result <= {4.0, 6.0}:
                failures.append(result)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for i in range(200):
        K = 2 + i % 2
    for thread in threads:
        thread.join()
    assert failures == []
    K = 3
    assert f(1.0) == 6


def test_old_versions_go():
    global K
    f = lw.vectorize(helped)
    for K in range(20):
        assert f(1.0) == 2 * K
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None


DOORS = {"vectorize": (lw.vectorize, lambda f: f(3.0)), "guvectorize": (lw.guvectorize("()->()"), lambda f: f(3.0)),
         "reduce": (lambda f: lw.reduce(lambda a, b: a + b, map=f), lambda f: f(np.array([3.0])))}


@pytest.mark.parametrize("door", DOORS)
def test_two_calls_read_a_function_at_once(door, monkeypatch):
    """Reading a function runs Python code, during which other threads run."""
    global K
    make, call = DOORS[door]
    f, inner = make(lambda x: x * K + K), []
    K = 5
    read = linecache.getlines

    def getlines(*args, **keywords):
        if not inner:
            inner.append(None)
            inner[0] = call(f)
        return read(*args, **keywords)

    monkeypatch.setattr(linecache, "getlines", getlines)
    assert call(f) == 20 and inner == [20]
    K = 2
    assert call(f) == 8


def test_names_of_the_package_are_not_compared_in_calls(monkeypatch):
    """NumPy's functions are compiled from private modules of the package; calls do not check whether these have changed."""
    from lanewise import _new_arrays

    f = lw.njit(lambda x: np.sort(x))
    x = np.array([3.0, 1.0, 2.0])
    f(x)
    monkeypatch.setattr(_new_arrays, "copy", None)
    np.testing.assert_array_equal(f(x), [1.0, 2.0, 3.0])


def test_names_of_the_package_are_not_compared(monkeypatch):
    """Methods of lists and dicts use hundreds of names, which each call would compare."""
    from lanewise import _growing_dicts, _growing_lists

    def fail(*args):
        raise ValueError("not this one")

    @lw.njit
    def last(n):
        out = []
        counts = {}
        for i in range(n):
            out.append(i)
            counts[i] = out[i]
        return counts[n - 1]

    assert last(3) == 2
    monkeypatch.setattr(_growing_lists, "place", fail)
    monkeypatch.setattr(_growing_dicts.Table, "insert", fail)
    assert last(4) == 3
