"""Functions that call themselves or each other: results as CPython's, in every generator; too deep a recursion is a RecursionError."""

from __future__ import annotations

import os
import pickle
import re
import signal
import sys
import threading
import time

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors

rng = np.random.default_rng(7)


def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


def gcd(a, b):
    return a if b == 0 else gcd(b, a % b)


def power(x, n):
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    return half * half * (x if n % 2 else 1.0)


def hanoi(n, a, b, c):
    if n == 0:
        return 0, 0
    x = hanoi(n - 1, a, c, b)
    y = hanoi(n - 1, c, b, a)
    return x[0] + y[0] + 1, x[1] + y[1] + a * c


def compositions(n):
    return 1 if n == 0 else sum(compositions(n - k) for k in range(1, n + 1))


def collatz(n, steps=0):
    return steps if n == 1 else collatz(n // 2 if n % 2 == 0 else 3 * n + 1, steps + 1)


def nested(n):
    step = n % 3 + 1

    def down(k):
        return 0 if k <= 0 else step + down(k - 1)

    return down(n)


def applied(n):
    def down(k):
        return 0 if k <= 0 else n + down(k - 1)

    def call(f, k):
        return f(k)

    return call(down, n)


def narrow(x, n):
    return x if n == 0 else narrow(x * x + x, n - 1)


def pair(n, z):
    return (z, n) if n == 0 else pair(n - 1, z * z + 1)


NUMBERS = [
    (factorial, [np.arange(12)]), (fibonacci, [np.arange(15)]), (ackermann, [np.arange(3)[:, None], np.arange(5)]),
    (is_even, [np.arange(9)]), (is_odd, [np.arange(9)]), (gcd, [np.arange(1, 30)[:, None], np.arange(1, 30)]),
    (power, [np.linspace(0.5, 1.5, 7)[:, None], np.arange(9)]), (hanoi, [np.arange(6), 1, 2, 3]), (compositions, [np.arange(9)]),
    (collatz, [np.arange(1, 20)]), (nested, [np.arange(9)]), (applied, [np.arange(6)]), (narrow, [np.float32(0.25), np.arange(5)]),
    (pair, [np.arange(4), np.array([0.5 + 0.25j, 0.25j])[:, None]]),
]


@pytest.mark.parametrize("f, args", NUMBERS, ids=lambda f: getattr(f, "__name__", ""))
def test_numbers(f, args, target):
    inner = [None, lambda x: f(x), lambda x, y: f(x, y), None, lambda x, y, z, w: f(x, y, z, w)][len(args)]
    expected = np.frompyfunc(f, len(args), 2 if f in (hanoi, pair) else 1)(*args)
    given = args if target == "cpu" else [cuda.to_device(np.asarray(a)) for a in args]
    for got in (lw.vectorize(inner)(*given), lw.vectorize(f)(*given)):
        for one, wanted in zip(got if type(got) is tuple else (got,), expected if type(expected) is tuple else (expected,)):
            one = np.asarray(one.copy_to_host() if target == "cuda" else one)
            np.testing.assert_allclose(one, np.asarray(wanted).astype(one.dtype), rtol=0 if one.dtype.kind in "iub" else 1e-6)


@pytest.mark.parametrize("f, dtype, result", [(factorial, "i4", "i4"), (factorial, "f4", "f4"), (fibonacci, "u1", "u1"), (collatz, "i2", "i8"),
                                              (is_even, "i8", "?"), (power, "f4", "f4"), (lambda n: 0 if n == 0 else 1 + deep(n - 1), "i4", "i8")])
def test_types_of_results(f, dtype, result):
    args = [np.ones(3, dtype)] + [2] * (f.__code__.co_argcount - 1 - len(f.__defaults__ or ()))
    assert lw.vectorize(f)(*args).dtype == result


def test_numba_typing():
    assert lw.vectorize(factorial, typing="numba")(np.int32(5)) == 120
    assert lw.vectorize(["i8(i8)"], typing="numba")(fibonacci)(20) == 6765


# ---- arrays ----

def quicksort(a, low, high):
    if low >= high:
        return
    pivot = a[(low + high) // 2]
    i, j = low, high
    while i <= j:
        while a[i] < pivot:
            i += 1
        while a[j] > pivot:
            j -= 1
        if i <= j:
            a[i], a[j] = a[j], a[i]
            i, j = i + 1, j - 1
    quicksort(a, low, j)
    quicksort(a, i, high)


def quicksort_slices(a):
    if len(a) < 2:
        return
    last = 0
    for i in range(1, len(a)):
        if a[i] < a[0]:
            last += 1
            a[last], a[i] = a[i], a[last]
    a[0], a[last] = a[last], a[0]
    quicksort_slices(a[:last])
    quicksort_slices(a[last + 1:])


def tree_sum(node, left, right, value):
    if node < 0:
        return 0.0
    return value[node] + tree_sum(left[node], left, right, value) + tree_sum(right[node], left, right, value)


def search(a, x, low, high):
    if low >= high:
        return low
    middle = (low + high) // 2
    if a[middle] < x:
        return search(a, x, middle + 1, high)
    return search(a, x, low, middle)


def tree_of(n):
    left, right = np.full(n, -1), np.full(n, -1)
    for i in range(1, n):
        at = 0
        while True:
            side = left if rng.random() < 0.5 else right
            if side[at] < 0:
                side[at] = i
                break
            at = side[at]
    return left, right, rng.integers(0, 100, n).astype(float)


@pytest.mark.parametrize("sort", [lambda a: quicksort(a, 0, len(a) - 1), quicksort_slices])
def test_quicksort(sort):
    x = rng.random(500)

    @lw.jit
    def by_jit(a):
        sort(a)

    @lw.guvectorize("(n)->(n)")
    def by_items(a, o):
        o[:] = a
        sort(o)

    @lw.forall
    def by_rows(i, a):
        sort(a[i])

    @lw.jit
    def by_threads(a):
        sort(a[cuda.grid(1)])

    a, rows, threads = x.copy(), x.reshape(20, 25).copy(), x.reshape(20, 25).copy()
    by_jit(a)
    np.testing.assert_array_equal(a, np.sort(x))
    np.testing.assert_array_equal(by_items(x.reshape(20, 25)), np.sort(x.reshape(20, 25)))
    with lw.config(target="cpu"):
        by_rows(20, rows)
        by_threads[4, 5](threads)
    np.testing.assert_array_equal(rows, np.sort(x.reshape(20, 25)))
    np.testing.assert_array_equal(threads, rows)


def test_a_tree_in_arrays():
    left, right, value = tree_of(300)
    for array in (left, right, value):
        array.flags.writeable = False  # it is only read, through all levels

    @lw.guvectorize("(n),(n),(n)->()")
    def total(left, right, value):
        return tree_sum(0, left, right, value)

    @lw.jit
    def once(left, right, value):
        return tree_sum(0, left, right, value)

    assert total(left, right, value) == once(left, right, value) == value.sum()


def test_binary_search_in_a_simulated_block():
    a, xs = np.sort(rng.random(100)), rng.random(64)

    @lw.jit
    def found(a, xs, out):
        shared = cuda.shared.array(32, lw.float64)
        shared[cuda.threadIdx.x] = xs[cuda.grid(1)]
        cuda.syncthreads()
        out[cuda.grid(1)] = search(a, shared[31 - cuda.threadIdx.x], 0, len(a))
        cuda.syncthreads()

    out = np.zeros(64, int)
    with lw.config(target="cpu"):
        found[2, 32](a, xs, out)
    np.testing.assert_array_equal(out, np.searchsorted(a, xs.reshape(2, 32)[:, ::-1]).ravel())


def merged(x):
    if len(x) < 2:
        return x.copy()
    left, right = merged(x[: len(x) // 2]), merged(x[len(x) // 2:])
    out, i, j = np.empty(len(x)), 0, 0
    for k in range(len(x)):
        if j >= len(right) or (i < len(left) and left[i] <= right[j]):
            out[k], i = left[i], i + 1
        else:
            out[k], j = right[j], j + 1
    return out


def spread(n, x, y):
    x += y
    return n if n < 2 else spread(n - 1, x, y) + spread(n - 2, x, y)


def test_exceptions_have_room_for_extents_only_with_arrays():
    plain, of_arrays = lw.njit(fibonacci), lw.njit(spread)
    plain(5), of_arrays(5, np.ones(2), np.ones(2))
    heads = [re.search(r"func internal lw_body {(.*?)\nbody", next(iter(one.inspect_ir().values())), re.S)[1] for one in (plain, of_arrays)]
    assert [head.count("result u64") for head in heads] == [1, 2]


def test_arrays_as_results():
    x = rng.random(100)
    made = lw.jit(merged)
    np.testing.assert_array_equal(made(x), np.sort(x))
    rows = lw.guvectorize("(n)->(n)")(lambda x, o: _store(o, merged(x)))
    np.testing.assert_array_equal(rows(x.reshape(4, 25)), np.sort(x.reshape(4, 25)))


def quick(x):
    if x.size <= 1:
        return x.copy()
    rest = x[1:]
    return np.concatenate((quick(rest[rest < x[0]]), np.full(1, x[0]), quick(rest[rest >= x[0]])))


def heap_then_raises(n):
    row = np.full(4, n)
    if n == 0:
        raise ValueError("the bottom")
    return row[0] if n < 0 else heap_then_raises(n - 1) + row[1]


@pytest.fixture
def balance():
    """The number of allocations minus that of frees on the CPU, counted from here on."""
    lw.runtime.memsys_enable_stats(target="cpu")
    before = lw.runtime.get_allocation_stats(target="cpu")
    yield lambda: [now - then for now, then in zip(lw.runtime.get_allocation_stats(target="cpu"), before)]
    lw.runtime.memsys_disable_stats(target="cpu")


def test_arrays_are_freed(balance):
    x = rng.random(64)
    np.testing.assert_array_equal(lw.jit(quick)(x), np.sort(x))
    made = lw.jit(heap_then_raises)
    with pytest.raises(ValueError, match="the bottom"):
        made(100)
    with pytest.raises(RecursionError):
        made(10**9)
    alloc, free, mi_alloc, mi_free = balance()
    assert alloc == free > 1000 and mi_alloc == mi_free


def test_kernels_make_arrays(balance):
    def k(x, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = quick(x[i:])[0]

    x = rng.random(40)
    out = np.zeros(40)
    cuda.jit(k, target="cpu")[2, 32](x, out)
    np.testing.assert_array_equal(out, [x[i:].min() for i in range(40)])
    alloc, free, *_ = balance()
    assert alloc == free > 0
    found = cuda.jit(k, target="cuda").resources("void(float64[::1], float64[::1])", "sm_90")
    assert found["level_bytes"] > 0


def _store(o, x):
    o[:] = x


def test_reductions():
    total = lw.reduce(lambda a, b: a + b, map=lambda x: fibonacci(x))
    assert total(np.arange(15)) == sum(map(fibonacci, range(15)))
    common = lw.reduce(gcd)
    assert common(np.array([84, 126, 210])) == 42


class Tree:
    def __init__(self, left, right):
        self.left = left
        self.right = right

    def size(self, node):
        return 0 if node < 0 else 1 + self.size(self.left[node]) + self.size(self.right[node])


def test_methods():
    left, right, _ = tree_of(40)
    assert lw.jit(lambda left, right: Tree(left, right).size(0))(left, right) == 40


# ---- names ----

def test_names_that_the_decorator_binds():
    """The name is bound when the decorator, which compiles the function, returns."""
    @lw.vectorize(["i8(i8)"])
    def eager(n):
        return 1 if n <= 1 else n * eager(n - 1)

    assert eager(5) == 120
    space = {"lw": lw}
    source = "@lw.jit('i8(i8)')\ndef fact(n):\n    return 1 if n <= 1 else n * fact(n - 1)\n"
    path = os.path.join(os.getcwd(), "eager_fact.py")
    with open(path, "w") as file:
        file.write(source)
    try:
        exec(compile(source, path, "exec"), space)
        assert space["fact"](5) == 120 and space["fact"](6) == 720
        before = space["fact"].py_func
        space["fact2"] = space["fact"]
        space["fact"] = lambda n: 10  # bound to something else: a change like any other
        assert space["fact2"](5) == before(5) == 50
    finally:
        os.remove(path)


def test_a_callee_that_changes():
    scale = 2

    def down(n):
        return 0 if n == 0 else scale + down(n - 1)

    made = lw.vectorize(lambda n: down(n))
    assert made(5) == 10
    scale = 3
    assert made(5) == 15


# ---- too deep ----

def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


def raises(n):
    if n == 0:
        raise KeyError("at the bottom", n)
    if n > 0:
        return raises(n - 1) + 1
    return 0


TOO_DEEP = r"`deep` was called ([\d,]+) levels deep, and the stack has no room for more \(raised in `deep` at .*test_recursion.py:\d+"


@lw.forall
def forall_deep(i, n, out):
    out[i] = deep(n[i])


@lw.jit
def jit_deep(n, out):
    out[cuda.grid(1)] = deep(n[cuda.grid(1)])


@lw.jit
def block_deep(n, out):
    cuda.syncthreads()
    out[cuda.grid(1)] = deep(n[cuda.grid(1)])
    cuda.syncthreads()


GENERATORS = {
    "vectorize": lambda n: lw.vectorize(deep)(n),
    "guvectorize": lambda n: lw.guvectorize("()->()")(lambda n: deep(n))(n),
    "forall": lambda n: forall_deep(len(n), n, np.zeros_like(n)),
    "jit": lambda n: lw.jit(lambda n: deep(n[3]))(n),
    "threads": lambda n: jit_deep[1, len(n)](n, np.zeros_like(n)),
    "block": lambda n: block_deep[1, len(n)](n, np.zeros_like(n)),
    "map": lambda n: lw.reduce(lambda a, b: a + b, map=lambda x: deep(x))(n),
    "combine": lambda n: lw.reduce(lambda a, b: a + b + 0 * deep(b))(n),
    "scan": lambda n: lw.reduce(lambda a, b: a + b, map=lambda x: deep(x)).accumulate(n),
}


@pytest.mark.parametrize("errors", ["raise", "ignore"])
@pytest.mark.parametrize("name", GENERATORS)
def test_too_deep(name, errors, cpu):
    """No result could replace the exception, so it is raised whatever errors= says."""
    n = np.array([3, 4, 5, 10**8, 6])
    call = GENERATORS[name] if errors == "raise" else lambda n: lw.vectorize(deep, errors="ignore")(n)
    with pytest.raises(RecursionError, match=TOO_DEEP) as raised:
        call(n)
    assert raised.value.function == "deep" and raised.value.line > 0
    assert int(re.search(TOO_DEEP, str(raised.value))[1]) > 1000
    n[3] = 200
    call(n)  # and nothing is lost


def test_the_place_of_it(cpu):
    n = np.array([3, 4, 5, 10**8, 6])
    for name, attribute, value in (("vectorize", "element", 3), ("forall", "index", 3), ("threads", "thread", (3, 0, 0)), ("block", "thread", (3, 0, 0))):
        with pytest.raises(RecursionError) as raised:
            GENERATORS[name](n)
        assert getattr(raised.value, attribute) == value


def test_levels_follow_from_the_stack():
    levels = {}

    def run(kb):
        try:
            lw.vectorize(deep)(10**8)
        except RecursionError as problem:
            levels[kb] = int(re.search(TOO_DEEP, str(problem))[1])

    before = threading.stack_size()
    for kb in (256, 1024, 4096):
        threading.stack_size(kb << 10)
        thread = threading.Thread(target=run, args=(kb,))
        thread.start()
        thread.join()
    threading.stack_size(before)
    assert 3 < levels[1024] / levels[256] < 6 and 3.5 < levels[4096] / levels[1024] < 4.5


def large_frames(n):
    row = lw.local(1000, lw.float64)
    row[n % 1000] = n
    return row[n % 1000] if n == 0 else row[n % 1000] + large_frames(n - 1)


def test_large_frames():
    """Each level takes 8 KB: the address of the stack is checked, not the number of calls."""
    assert lw.vectorize(large_frames)(50) == sum(range(51))
    with pytest.raises(RecursionError) as raised:
        lw.vectorize(large_frames)(10**6)
    assert 20 < int(re.search(r"called (\d+) levels", str(raised.value))[1]) < 2000
    with lw.config(target="cpu", stack_kb=1024):
        out = np.zeros(2)

        @lw.jit
        def kernel(out, n):
            cuda.syncthreads()
            out[cuda.threadIdx.x] = large_frames(n)

        kernel[1, 2](out, 50)
        np.testing.assert_array_equal(out, sum(range(51)))
        with pytest.raises(RecursionError):
            kernel[1, 2](out, 5000)


def test_the_setting_of_the_simulator():
    levels = []
    for kb in (16, 1024):
        with lw.config(target="cpu", stack_kb=kb), pytest.raises(RecursionError) as raised:
            lw.jit(lambda n, out: deep_at(n, out))[1, 2](np.array([1, 10**8]), np.zeros(2))
        levels.append(int(re.search(TOO_DEEP, str(raised.value))[1]))
    assert levels[1] > 5 * levels[0] > (5000 if "LW_ASAN" not in os.environ else 0)  # whose frames are larger


def deep_at(n, out):
    cuda.syncthreads()
    out[cuda.threadIdx.x] = deep(n[cuda.threadIdx.x])


def test_exceptions_from_deep_inside(cpu):
    made = lw.vectorize(raises)
    with pytest.raises(KeyError, match=r"at the bottom', 0.*raised in `raises`") as raised:
        made(np.array([-1, -1, 700]))
    assert raised.value.element == 2
    with pytest.raises(ValueError, match="negative"):
        lw.vectorize(negative)(np.array([3, 5]))


def negative(n):
    if n < 0:
        raise ValueError("negative")
    return negative(n - 1) if n != 7 else 0


def test_many_threads():
    """Each thread has its own stack."""
    made, failed = lw.vectorize(deep), []
    made(3)

    def run():
        for _ in range(20):
            try:
                made(np.array([10**7]))
            except RecursionError:
                failed.append(1)
            failed.append(int(made(500) != 500))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(failed) == 160


@pytest.mark.skipif(sys.platform != "linux", reason="interval timers")
@pytest.mark.parametrize("call", [
    lambda: lw.vectorize(fibonacci)(90), lambda: lw.guvectorize("()->()")(lambda n: fibonacci(n))(90),
    lambda: lw.reduce(lambda a, b: a + b, map=lambda x: fibonacci(x))(np.array([90, 90]))])
def test_ctrl_c(call):
    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        began = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 1)
        with pytest.raises(KeyboardInterrupt):
            call()
        assert time.monotonic() - began < 10
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ---- what is refused, and what counts constants down ----

def test_refused():
    """These are E151; tests/golden/errors has the messages."""
    def endless(n):
        return endless(n + 1)

    def annotated(n) -> lw.int64:
        return annotated(n - 1) + 1

    with pytest.raises(errors.UnsupportedError, match="E151: .*every path to a return of `endless` calls it again"):
        lw.vectorize(endless)(1)
    with pytest.raises(RecursionError):
        lw.vectorize(annotated)(1)


def test_constants_count_down_or_lose_their_values():
    def tuples(n):
        return () if n == 0 else (n,) + tuples(n - 1)

    def shifts(x, n):
        return x if n == 0 else shifts(x + x, n - 1)

    assert lw.jit(lambda: tuples(4))() == (4, 3, 2, 1)
    assert "recur" not in lw.compile(lambda x: shifts(x, 20), "(float64)", target="cpu", output="ir")
    text = lw.compile(lambda x: shifts(x, 200), "(float64)", target="cpu", output="ir")
    assert text.count("recur ") == 1
    assert lw.vectorize(lambda x: shifts(x, 200))(1.0) == 2.0**200


def test_checks_of_a_guarded_table():
    """Guards that let the function continue cannot be used, because it might not end."""
    table = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)

    def walk(i, n):
        return table[i] if n == 0 else walk(table[i] // 10, n - 1)

    made = lw.vectorize(walk)
    assert made(1, 3) == 50
    with pytest.raises(IndexError):
        made(1, 30)


# ---- code ----

KERNELS = [lambda i, x: _store(x[i:i + 1], factorial(i)), lambda i, x: _store(x[i:i + 1], is_even(i)), lambda i, x: quicksort(x, 0, i),
           lambda i, x: _store(x[i:i + 1], round(tree_sum(i, x, x, x))), lambda i, x: _store(x[:1], len(merged(np.zeros(i))))]


@pytest.mark.parametrize("cc", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("f", KERNELS, ids=["factorial", "is_even", "quicksort", "tree", "merge"])
def test_code_for_gpus(f, cc):
    def kernel(x):
        f(cuda.grid(1), x)

    text = lw.compile(kernel, "void(int64[:])", target=cc, output="ptx")
    assert "lw_recursion_levels" in text and len(lw.compile(kernel, "void(int64[:])", target=cc, output="cubin")) > 1000


def test_resources():
    kernel = lw.jit(lambda x: quicksort(x, 0, len(x) - 1))
    assert 32 <= kernel.resources("void(int64[:])", "sm_90")["level_bytes"] <= 128
    assert lw.jit(lambda x: _store(x, 0)).resources("void(int64[:])", "sm_90")["level_bytes"] == 0


def test_functions_without_recursion_know_nothing_of_it():
    for target in ("cpu", "sm_90"):
        text = lw.compile(lambda x: x + 1, "(float64)", target=target, output="llvm" if target == "cpu" else "nvvm")
        assert "lw_recursion" not in text and "%stack" not in text


def test_an_object_file_assumes_a_small_stack():
    text = lw.compile(factorial, "(int64)", target="cpu", output="object")
    assert b"lw_recursion_begin" not in text


# ---- constants of many kinds ----


def clamp(v):
    return min(max(v, -100), 100)


def wide_0(n, x):
    if n <= 1:
        return 0.5
    one = clamp(wide_0(n - 1, clamp(x * 2)))
    other = x * n - clamp(wide_0(n - 2, clamp(x)))
    return 1 - clamp(wide_1(n - 1, clamp(1))) + (one + other) * 0


def wide_1(n, x):
    if n <= 2:
        return 1
    row = np.full(2, 0.5 + n)
    row[0] = row[0] + 1
    more = clamp(wide_1(n - 1, clamp(0.5 + 1))) + row[0]
    return n * 0.5 + clamp(wide_2(n - 1, clamp(0.5))) + more * 0


def wide_2(n, x):
    if n <= 0:
        return n
    pair = 2, clamp(wide_0(n - 3, clamp(1)))
    y = pair[0] - pair[1]
    return clamp(wide_1(n - 2, clamp(n if y > 2 else 1)))


@pytest.mark.parametrize("x", [1, 1.0])
def test_recursion_with_many_constants(x):
    """Each constant would make further instances, too many of them, so the ints of these functions are no constants."""
    assert lw.jit(wide_0)(5, x) == wide_0(5, x)


def test_pickles_of_functions_that_name_themselves():
    """A function that cannot be imported is pickled with what it names, which may be the function itself."""
    @lw.vectorize
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    @lw.jit
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    @lw.vectorize
    def both(x, n):
        return power(x, n) + factorial(n)

    for f, args, expected in ((factorial, (5,), 120), (power, (2.0, 3), 8.0), (both, (2.0, 3), 14.0)):
        received = pickle.loads(pickle.dumps(f))
        assert received is not f and received(*args) == f(*args) == expected


def test_dask_keys_of_functions_that_call_themselves():
    da = pytest.importorskip("dask.array")

    @lw.vectorize
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    @lw.jit
    def even(n):
        return True if n == 0 else odd(n - 1)

    @lw.jit
    def odd(n):
        return False if n == 0 else even(n - 1)

    is_even = lw.vectorize(lambda n: even(n))
    d = da.from_array(np.arange(5), chunks=2)
    assert factorial(d).name == factorial(d).name != is_even(d).name
    assert factorial(d).compute(scheduler="synchronous").tolist() == [1, 1, 2, 6, 24]
    assert is_even(d).compute(scheduler="synchronous").tolist() == [True, False, True, False, True]
