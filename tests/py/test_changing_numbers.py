"""Captured numbers that are others in each step: after three values they are operands of the code, which computes what it computes
with constants, bit for bit but for the signs of NaN."""

from __future__ import annotations

import copy
import math
import pickle
import warnings

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device, needs_kernels
from lanewise import cuda

FLOATS = [0.5, -1.25, 3.0, 0.1, 1e-300, 7.0, math.inf, -0.0, 2.0, 0.3]
INTS = [1, 2, 3, 4, 7, 100, 127, -1, -128, 0, 1000, 300]
VALUES = {
    "float": FLOATS,
    "int": INTS,
    "complex": [complex(v, -v / 3) for v in FLOATS if math.isfinite(v)],
    "float32": [np.float32(v) for v in FLOATS],
    "float16": [np.float16(v) for v in (0.5, 0.1, 3, 2, 7, 9)],
    "float64": [np.float64(v) for v in FLOATS],
    "int32": [np.int32(v) for v in INTS],
    "uint8": [np.uint8(v) for v in (1, 2, 3, 4, 5, 255, 0)],
    "int64": [np.int64(v) for v in INTS],
    "complex64": [np.complex64(complex(v, 1)) for v in FLOATS if math.isfinite(v)],
    "bool": [True, False, True, False],
    "mixed": [1, 2.5, 3, np.float32(4), 5.5, 6j, 7, 8.5, True, 2**70, 9],
}
BODIES = ["x + k", "k * x", "x - k * 3", "x / k", "k / x", "2 * k + x", "x * (k * 0.1)", "x * (k * 3 + 1)", "-k * x", "x > k", "k if x > 2 else x",
          "min(x, k)", "x ** k", "k ** x", "x // k", "x % k", "math.exp(x * k)", "math.exp(k) * x", "np.float32(k) * x", "float(k) + x", "int(k) + x",
          "x if k else -x", "x if k > 2 else -x", "(x, 2 * x, k)[1] + k", "abs(k) + x", "k", "x + k.real", "x + (k == 3)", "x * k + x * k", "x * x + k * 0.1",
          "g(x, k)", "g(x, 1) + k", "np.sqrt(x * x + k)", "x << k", "x & k", "round(x * k, 2)", "x * 1j + k", "~k + x", "not k"]
HEAD = "import math\nimport numpy as np\nk = None\ndef g(x, k):\n    return x * k + 1\n"


def made(value, body):
    """A function in a module of its own, whose global k has this value."""
    space = {"__name__": "changing"}
    exec(HEAD + f"def f(x):\n    return {body}\n", space)
    space["k"] = value
    g = space["g"]
    g = space["g"] = lw.jit(g, source=HEAD[HEAD.index("def g"):])
    return space


def outcome(f, *args):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = f(*args)
            result = np.asarray(result.copy_to_host() if hasattr(result, "copy_to_host") else result)
        except Exception as e:  # the same class is asked for
            return type(e)
    if result.dtype.kind in "fc":  # the sign of a NaN depends on who divides, LLVM or the processor
        parts = np.atleast_1d(result).copy().view(result.real.dtype)
        parts[np.isnan(parts)] = np.nan
        return result.dtype.str, parts.tobytes()
    return result.dtype.str, result.tobytes()


def check(kind, body, dtypes, n=7, given=np.asarray):
    text = f"def f(x):\n    return {body}\n"
    space = made(None, body)
    changing = lw.vectorize(space["f"], source=text)
    for value in VALUES[kind][:n]:
        space["k"] = value
        constant = lw.vectorize(made(value, body)["f"], source=text)
        for dtype in dtypes:
            x = np.arange(1, 20).astype(dtype)
            assert outcome(changing, given(x)) == outcome(constant, given(x)), (value, dtype)


@pytest.mark.parametrize("body", BODIES)
def test_results_are_those_of_constants(body):
    kinds = list(VALUES)
    at = BODIES.index(body)
    check("float", body, ["f4"], 5)
    check("int", body, ["i1"])
    check(kinds[2 + at % (len(kinds) - 2)], body, ["f4"], 5)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("kind", VALUES)
def test_all_results_are_those_of_constants(kind, body, request):
    if not request.config.getoption("--thorough"):
        pytest.skip("with --thorough")
    check(kind, body, ["f8", "f4", "i8", "i1", "u1"], 12)


# ---- every decorator ----

K = 0.5


class Settings:
    def __init__(self):
        self.k = 0.5


SETTINGS = Settings()


@lw.jit
def scaled(x):
    return x * K + 1


def rows(x, y):
    for i in range(x.shape[0]):
        y[i] = x[i] * K + 1


def each(i, x, out):
    out[i] = x[i] * K + 1


def kernel(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i] = x[i] * K + 1


def waiting(x, out):
    shared = cuda.shared.array(4, lw.float64)
    i = cuda.threadIdx.x
    shared[i] = x[i] * K
    cuda.syncthreads()
    out[i] = shared[3 - i] + K


def plain(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * K
    return total


def parallel(x, out):
    for i in lw.prange(x.shape[0]):
        out[i] = x[i] * K + 1


X = np.linspace(0.1, 7.3, 4)


def doors():
    def launched(f, *shape):
        f = cuda.jit(f)

        def run():
            x, out = cuda.to_device(X), cuda.to_device(np.zeros(4))
            f[shape](x, out)
            return out.copy_to_host()
        return run

    def indexed(f, give):
        def run():
            x, out = give(X), give(np.zeros(4))
            f(4, x, out)
            return np.asarray(out.copy_to_host() if hasattr(out, "copy_to_host") else out)
        return run

    def filled(f):
        def run():
            out = np.zeros(4)
            f(X, out)
            return out
        return run

    def on_device(f):
        return lambda: f(cuda.to_device(X)).copy_to_host()

    simple = lw.vectorize(lambda x: x * K + 1)
    called = lw.vectorize(lambda x: scaled(x))
    gufunc = lw.guvectorize("(n)->(n)")(rows)
    total = lw.reduce(map=lambda x: x * K, combine=lambda a, b: a + b + K)
    forall = lw.forall(each)
    attribute = lw.vectorize(lambda x: x * SETTINGS.k + 1)
    return {"vectorize": lambda: simple(X), "vectorize, device": on_device(simple), "called": lambda: called(X), "guvectorize": lambda: gufunc(X),
            "guvectorize, device": on_device(gufunc), "reduce": lambda: total(X), "reduce, device": lambda: total(cuda.to_device(X)).copy_to_host(),
            "forall": indexed(forall, np.array), "forall, device": indexed(forall, cuda.to_device), "kernel": launched(kernel, 1, 32),
            "waiting": launched(waiting, 1, 4), "jit": lambda j=lw.jit(plain): j(X), "prange": filled(lw.jit(parallel)), "attribute": lambda: attribute(X)}


def expected(door, k):
    if door.startswith("reduce"):
        y = X * k
        return ((y[0] + y[1] + k) + y[2] + k) + y[3] + k
    if door == "jit":
        return sum(v * k for v in X)
    if door == "waiting":
        return (X * k)[::-1] + k
    return X * k + 1


DOORS = ["vectorize", "vectorize, device", "called", "guvectorize", "guvectorize, device", "reduce", "reduce, device", "forall", "forall, device", "kernel",
         "waiting", "jit", "prange", "attribute"]


def steps(run, change, n=12):
    """The results after each change, and the warnings W206."""
    results, told = [], []
    for step in range(n):
        change(step)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results.append(run())
        told += [str(w.message) for w in caught if "W206" in str(w.message)]
    return results, told


def change_k(step):
    global K
    K = SETTINGS.k = step * 0.3 + 0.1


def check_door(door):
    results, told = steps(doors()[door], change_k)
    for step, result in enumerate(results):
        np.testing.assert_allclose(result, expected(door, step * 0.3 + 0.1), rtol=1e-15)
    assert len(told) == 1 and "from now on it is read at each call" in told[0]


@pytest.mark.parametrize("door", DOORS)
def test_every_decorator(cpu, door):
    check_door(door)


@pytest.mark.parametrize("door", DOORS)
def test_nothing_is_compiled_after_the_fourth_value(cpu, door, capfd, monkeypatch):
    monkeypatch.setenv("LANEWISE_LOG", "1")
    with lw.config(log=1):
        steps(doors()[door], change_k)
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("lanewise: ")]
    assert 0 < len(lines) <= (8 if door == "vectorize, device" else 4)


@needs_device
@needs_kernels
@pytest.mark.parametrize("door", [door for door in DOORS if "device" in door or door in ("kernel", "waiting")])
def test_on_a_gpu(door):
    check_door(door)


@needs_device
@needs_kernels
def test_launches_that_have_not_run_keep_their_value():
    global K
    f = lw.vectorize(lambda x: x * K + 1, fma=False)
    x = cuda.to_device(np.linspace(0, 1, 1 << 20))
    outs = [cuda.device_array(1 << 20, np.float64) for _ in range(40)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, out in enumerate(outs):
            K = float(i)
            f(x, out=out)
    for i, out in enumerate(outs):
        np.testing.assert_array_equal(out.copy_to_host(), np.linspace(0, 1, 1 << 20) * i + 1)


@needs_device
@needs_kernels
@pytest.mark.parametrize("body", ["x + k", "k * x", "x / k", "x * (k * 0.1)", "-k * x", "x > k", "k if x > 2 else x", "x ** k", "math.exp(k) * x", "g(x, k)", "x % k"])
@pytest.mark.parametrize("kind", ["float", "int", "complex64", "float32", "float16", "uint8", "bool"])
def test_bits_on_a_gpu(kind, body):
    check(kind, body, ["f4"], 6, cuda.to_device)


# ---- what has to be a constant ----

N = 1


def unrolled(x):
    pair = (x, x * 2, x * 3, x * 4, x * 5, x * 6, x * 7, x * 8, x * 9, x * 10, x * 11, x * 12)
    return pair[N]


def powers(x):
    return x ** N


def looped(x):
    total = x * 0
    for i in range(N):
        total += x * i
    return total


def sized(x):
    table = lw.local(N, lw.float64)
    for i in range(N):
        table[i] = x * i
    return table[N - 1]


def folded(x):
    return x + (1 if N > 3 else N)


@pytest.mark.parametrize("function, want, constant", [(unrolled, lambda x, n: x * (n + 1), True), (powers, lambda x, n: x ** n, None),
                                                      (looped, lambda x, n: x * (n * (n - 1) // 2), None), (sized, lambda x, n: x * (n - 1), True),
                                                      (folded, lambda x, n: x + (1 if n > 3 else n), True)])
def test_what_has_to_be_a_constant_stays_one(function, want, constant):
    global N

    def change(step):
        global N
        N = step % 11 + 1

    x = np.arange(1.0, 6.0)
    results, told = steps(lambda f=lw.vectorize(function): f(x), change, 11)
    for step, result in enumerate(results):
        np.testing.assert_allclose(result, want(x, step % 11 + 1), rtol=1e-15)
    needed = [text for text in told if "is compiled for each value" in text]
    assert len(told) - len(needed) == 1
    if constant is not None:
        assert len(needed) == constant and (not needed or "`N`" in needed[0])


def test_others_become_operands_beside_a_constant():
    global N, K

    def f(x):
        return (x, x * K, x * K + 1)[N]

    def change(step):
        global N, K
        N, K = step // 8, step + 0.5

    x = np.arange(4.0)
    results, _ = steps(lambda f=lw.vectorize(f): f(x), change, 24)
    for step, result in enumerate(results):
        k = step + 0.5
        np.testing.assert_array_equal(result, (x, x * k, x * k + 1)[step // 8])


# ---- where the number is ----

def test_closures():
    k = 0.5

    def change(step):
        nonlocal k
        k = step + 0.25

    f = lw.vectorize(lambda x: x * k)
    results, told = steps(lambda: f(2.0), change)
    assert results == [2 * (step + 0.25) for step in range(12)]
    assert len(told) == 1 and "`k`" in told[0]


def test_attributes_of_modules_and_classes(monkeypatch):
    import types
    module = types.ModuleType("numbers_of_mine")
    module.k = 1.0

    class Place:
        k = 1.0

    f = lw.vectorize(lambda x: x * module.k + Place.k)

    def change(step):
        module.k, Place.k = step + 0.5, np.float32(step)

    results, told = steps(lambda: f(2.0), change)
    assert results == [2 * (step + 0.5) + step for step in range(12)]
    assert len(told) == 1


def test_objects_as_a_whole():
    f = lw.vectorize(lambda x: used(SETTINGS, x))
    results, _ = steps(lambda: f(2.0), change_k)
    np.testing.assert_allclose(results, [2 * (step * 0.3 + 0.1) for step in range(12)], rtol=1e-15)


@lw.jit
def used(settings, x):
    return settings.k * x


def test_copies_begin_anew_and_pickles_hold_the_value():
    f = lw.vectorize(lambda x: x * K)
    steps(lambda: f(2.0), change_k)
    results, _ = steps(lambda made=copy.copy(f): made(2.0), change_k, 6)
    np.testing.assert_allclose(results, [2 * (step * 0.3 + 0.1) for step in range(6)], rtol=1e-15)
    made, at_the_time = pickle.loads(pickle.dumps(f)), K
    change_k(11)
    assert made(2.0) == 2 * at_the_time and f(2.0) == 2 * K


def test_warnings_can_be_turned_off():
    f = lw.vectorize(lambda x: x * K, warn=False)
    results, told = steps(lambda: f(2.0), change_k)
    assert told == [] and results[-1] == 2 * K


def test_a_value_that_comes_back():
    global K
    f = lw.vectorize(lambda x: x * K)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in [0.5, 1.5, 2.5, 3.5, 0.5, 4.5, 0.5, 1.5, -0.0, math.nan, 0.5, 1, 2.5, np.float32(7), 8.5]:
            K = k
            np.testing.assert_array_equal(f(2.0), 2.0 * k)


def test_a_second_dtype_after_the_number_has_become_an_operand():
    global K
    f = lw.vectorize(lambda x: x * K)
    steps(lambda: f(2.0), change_k)
    for k in (0.7, 0.9):
        K = k
        assert f(np.float32(2)) == np.float32(2) * np.float32(k)
        assert f(2.0) == 2 * k


def test_excluded_and_static_arguments():
    f = lw.vectorize(lambda x, table: x * K + table[1], excluded=["table"])
    g = lw.forall(lambda i, x, out, n: write(i, x, out, n), static=["n"])
    out = np.zeros(3)
    table = np.array([1.0, 2.0])

    def run():
        g(3, X[:3], out, 2)
        return f(X, table), out.copy()

    results, _ = steps(run, change_k)
    for step, (first, second) in enumerate(results):
        k = step * 0.3 + 0.1
        np.testing.assert_allclose(first, X * k + 2, rtol=1e-15)
        np.testing.assert_allclose(second, X[:3] * k + 2, rtol=1e-15)


@lw.jit
def write(i, x, out, n):
    out[i] = x[i] * K + n


def test_a_sum_that_leaves_int64_is_compiled_for_itself():
    global K
    f = lw.vectorize(lambda x: x + (K * 2 - K))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in (1, 2, 3, 4, 5, 2**62, 2**40, 6):
            K = k
            assert f(1) == 1 + k


def test_dask_arrays():
    """The stages of reductions have their own captures."""
    global K
    array = pytest.importorskip("dask.array")
    f, r = lw.vectorize(lambda x: x * K), lw.reduce(map=lambda x: x * K, combine=lambda a, b: a + b)
    x = array.from_array(np.arange(40.0), chunks=7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in range(9):
            K = step + 0.5
            np.testing.assert_array_equal(f(x).compute(), np.arange(40.0) * K)
            assert float(r(x)) == 780 * K


def test_a_number_as_numba_keeps_its_first_value():
    global K
    f = lw.vectorize(lambda x: x * K, typing="numba")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for K in (2.0, 3.0, 4.0, 5.0, 6.0):
            assert f(1.0) == 2.0
