"""Ctrl-C in long calls on the CPU (ufuncs, gufuncs, reductions, forall, jit; kernels: test_kernel_threads.py), and while code is
compiled; and that other threads run during such calls."""

from __future__ import annotations

import os
import signal
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import _core

START = """
import signal, time
import numpy as np
import lanewise as lw

@lw.vectorize
def slow(x, n):
    total = 0.0
    for k in range(n):
        total += x / (total + k + 1)
    return total

@lw.vectorize
def add(x, y):
    return x + y

@lw.vectorize
def slow_add(x, y):
    return x * 0 + slow(y, 1_000_000)

@lw.vectorize
def sines(x):
    total = 0.0
    for k in range(1_000_000):
        total += np.sin(x + k)
    return total

@lw.guvectorize(["(f8[:], i8, f8[:])"], "(m),()->(m)")
def rows(x, n, out):
    for i in range(x.size):
        total = 0.0
        for k in range(n):
            total += x[i] / (total + k + 1)
        out[i] = total

@lw.guvectorize(["(f8, i8, f8[:])"], "(),()->()")
def one(x, n, out):
    total = 0.0
    for k in range(n):
        total += x / (total + k + 1)
    out[0] = total

@lw.vectorize
def escape(x, n):
    z = 0.0
    k = 0
    while abs(z) < 2.0 and k < n:  # the lanes of a vector go on until the last is done
        z = z * z + x
        k += 1
    return k

@lw.vectorize
def scramble(x, n):
    for k in range(n):
        x = (x * 1103515245 + 12345) & 0x7fffffff
    return x

@lw.guvectorize(["(i8, i8, f8[:])"], "(),()->()")
def remainders(x, n, out):
    y = x
    for k in range(n):
        y = (y * 31 + k) % (x + 1000003)
    out[0] = y

@lw.forall(target="cpu")
def escapes(i, x, n, out):
    z = 0.0
    k = 0
    c = x[i]
    while abs(z) < 2.0 and k < n:
        z = z * z + c
        k += 1
    out[i] = k

@lw.vectorize
def square(x, n):
    total = 0.0
    for i in range(n):
        for k in range(n):
            total = max(total, x * i - k)
    return total

@lw.vectorize
def calls(x, n):
    total = 0.0
    for i in range(n):
        total += slow(x, 100_000)
    return total

@lw.guvectorize(["(f8[:], f8[:])"], "(m)->(m)")
def differences(x, out):
    for i in range(x.size):
        out[i] = 0.0
        for k in range(x.size):
            out[i] += abs(x[i] - x[k])

@lw.forall(target="cpu")
def elements(i, x, n, out):
    total = 0.0
    for k in range(n):
        total += x[i] / (total + k + 1)
    out[i] = total

@lw.forall(target="cpu")
def late_elements(i, x, n, out):
    total = 0.0
    if i > 400:  # those of the thread that is asked are done at once
        for k in range(n):
            total += x[i] / (total + k + 1)
    out[i] = total

def forall(f, size, n):
    f(size, x, n, np.zeros(size))

@lw.njit
def chain(n):
    total = 0.0
    for k in range(n):
        total += 1.0 / (total + k + 1)
    return total

@lw.njit
def pairs(x):
    total = 0.0
    row = np.zeros(100)
    for i in range(x.size):
        for k in range(x.size):
            total = max(total, abs(x[i] - x[k]))
        row[i % 100] = total
    return row

@lw.njit(parallel=True)
def parallel_chains(x, n):
    for i in lw.prange(x.size):
        total = 0.0
        for k in range(n):
            total += x[i] / (total + k + 1)
        x[i] = total + np.random.random()

@lw.njit(parallel=True)
def parallel_sum(n, m):
    total = 0.0
    for i in lw.prange(n):
        for k in range(m):
            total += i * 0.5 - k
    return total

@lw.njit(parallel=True)
def parallel_many(n):
    total = 0
    for i in lw.prange(n):
        total += i % 7
    return total

@lw.vectorize
def parallel_inside(x, n):
    return x + parallel_sum(1000, n)

total = lw.reduce(lambda x, y: x + y)
costliest = lw.reduce(lambda x, y: x + y, map=lambda x: slow(x, 10_000_000))
costlier = lw.reduce(lambda x, y: x + y, map=lambda x: slow(x, 300_000))
in_order = lw.reduce(lambda x, y: x + y, map=lambda x: slow(x, 300_000), commutative=False)
largest = lw.reduce(lambda x, y: y if y[0] > x[0] or y[0] == x[0] and y[1] < x[1] else x, map=lambda x, index: (slow(x, 300_000), index))
costly = lw.reduce(lambda x, y: x + y, map=lambda x: slow(x, 5_000))
any_zero = lw.reduce(lambda x, y: x | y, map=lambda x: x == 0)
x = np.ones(1_000_000)
endless = np.broadcast_to(np.ones(1), 10**12)
tall = np.broadcast_to(np.ones(1), (10**6, 10**6))
"""

# many seconds each
CALLS = {
    "ufunc": "slow(x, 1_000_000)",
    "ufunc of few": "slow(x[:600], 30_000_000)",
    "ufunc of few, as vectors": "sines(x[:2000])",
    "ufunc of few, divergent vectors": "escape(np.where(x[:64] * np.arange(64) % 3 == 0, 9.0, -0.3), 10**9)",
    "ufunc of few, vectors of integers": "scramble(np.arange(64), 10**10)",
    "ufunc of few, vectors of many lanes": "escape(np.full(64, -0.3, 'f4'), np.int32(10**9))",
    "gufunc of one, a chain of integers": "remainders(7, 10**10)",
    "forall, vectors": "escapes(64, np.full(64, -0.3), 10**9, np.zeros(64))",
    "ufunc.at": "slow_add.at(np.zeros(9), np.arange(10**6) % 9, 1.0)",
    "ufunc, strided": "slow(x[::2], 1_000_000)",
    "ufunc, cast": "slow(x.astype('f4'), 1_000_000)",
    "ufunc.reduce": "add.reduce(endless)",
    "ufunc in NumPy's buffers": "add.reduce(endless, dtype='i8')",
    "gufunc": "rows(x.reshape(10_000, 100), 100_000)",
    "gufunc of few": "one(x[:50], 100_000_000)",
    "gufunc of many": "one(x, 1_000_000)",
    "ufunc of one": "square(1.0, 10**6)",
    "ufunc of one that calls": "calls(1.0, 10**6)",
    "ufunc.reduce, costly": "slow_add.reduce(x)",
    "ufunc.accumulate, costly": "slow_add.accumulate(x)",
    "ufunc.reduceat, costly": "slow_add.reduceat(x, np.arange(0, 10**6, 100))",
    "ufunc.outer": "slow_add.outer(x, x[:20])",
    "gufunc of one": "differences(x)",
    "gufunc of two": "differences(np.ones((2, 10**6)))",
    "gufunc of one, a chain": "one(1.0, 10**11)",
    "forall": "forall(elements, 10**6, 10**6)",
    "forall of one": "forall(elements, 1, 10**11)",
    "forall of two": "forall(elements, 2, 10**11)",
    "forall, uneven": "forall(late_elements, 1000, 10**8)",
    "reduce": "total(endless)",
    "reduce, stops": "any_zero(endless)",
    "reduce, rows": "total(np.broadcast_to(np.ones(1), (10**7, 3000)), axis=1)",
    "reduce, long rows": "total(tall, axis=1)",
    "reduce, columns": "total(tall, axis=0)",
    "scan": "costly.accumulate(x)",
    "scan of few": "costliest.accumulate(x[:4000])",
    "reduce, costly": "costlier(x)",
    "reduce, costly, short rows": "costlier(x.reshape(-1, 100), axis=1)",
    "reduce, costly, rows": "costlier(x.reshape(-1, 10_000), axis=1)",
    "reduce, costly, columns": "costlier(x.reshape(-1, 500), axis=0)",
    "reduce, costly, in order": "in_order(x)",
    "reduce, costly, mask": "in_order(x, where=x > 0)",
    "reduce, costly, largest": "largest(x)",
    "scan, costly": "costlier.accumulate(x)",
    "scan, costly, in order": "in_order.accumulate(x)",
    "reduceat, costly": "costlier.reduceat(x, np.arange(0, 10**6, 100))",
    "reduceat, costly, long": "costlier.reduceat(x, [0, 500_000])",
    "reduceat": "total.reduceat(endless, np.arange(0, 10**12, 10**10))",
    "reduceat, short": "total.reduceat(np.broadcast_to(np.ones(1), (10**4, 10**6)), np.arange(0, 10**6, 500), axis=1)",
    "reduceat, wide": "total.reduceat(tall, np.arange(0, 10**6, 10**4), axis=0)",
    "reductions.sum": "lw.reductions.sum(endless)",
    "reductions.logsumexp": "lw.reductions.logsumexp(endless)",
    "jit": "chain(10**11)",
    "jit, nested": "pairs(np.ones(10**7))",
    "jit, prange": "parallel_chains(np.ones(1000), 10**9)",
    "jit, prange with a sum": "parallel_sum(1000, 10**9)",
    "jit, prange of one": "parallel_chains(np.ones(1), 10**11)",
    "jit, prange without loops": "parallel_many(10**10)",
    "jit in a ufunc": "parallel_inside(x, 10**8)",
    "reductions.cumsum": "[lw.reductions.cumsum(x) for _ in range(10**6)]",
}


@pytest.mark.parametrize("name", CALLS)
def test_control_c_ends_a_long_call(name, run_python, tmp_path):
    script = tmp_path / "interrupted.py"
    script.write_text(START + f"""
signal.signal(signal.SIGALRM, signal.default_int_handler)
late = []
while not late or min(late) > 0.1 and len(late) < 20:  # where other processes have the CPU it may be later
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    start = time.perf_counter()
    try:
        {CALLS[name]}
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("not interrupted")
    late.append(time.perf_counter() - start - 0.3)
    assert chain(1) == 1 and parallel_sum(1000, 2) == 498500.0 and parallel_many(10**6) == 2999997
    assert (slow(x[:100], 1) == 1).all() and add.reduce(x) == 1e6 and (one(x, 1) == 1).all() and total(x) == 1e6
assert min(late) < 0.1, late
""")
    run_python(str(script), timeout=110)


# some seconds each; NumPy, and we, expect few elements to be done soon, so that the lock of the interpreter is held
BESIDE = ["slow(np.ones(2), n)", "slow(1.0, n)", "slow(np.ones(3), n, where=[True, False, True], out=np.zeros(3))", "one(np.ones(2), n)", "one(1.0, n)",
          "sized.reduce(np.full(3, n))", "sized.accumulate(np.full(3, n))", "sized.outer([1], [n])", "sized.at(np.ones(2), [0, 1], n)",
          "elements(1, x, n, np.zeros(1))", "chain(n)", "parallel_chains(np.ones(3), n)", "sizes(np.full(3, n))", "sizes.accumulate(np.full(3, n))"]


@pytest.mark.parametrize("call", BESIDE)
def test_other_threads_run_during_a_long_call(call, run_python, tmp_path):
    script = tmp_path / "beside.py"
    script.write_text(START + f"""
import threading

@lw.vectorize(["f8(f8, f8)"], identity=0)
def sized(x, n):
    return x * 0 + slow(1.0, int(n))

sizes = lw.reduce(lambda x, y: x + y, map=lambda n: slow(1.0, int(n)))

def call(n):
    {call}

for n in (2, 2):  # compiled, and its cost is known
    call(n)
shares = []
while not shares or min(shares) > 0.3 and len(shares) < 5:
    thread, start = threading.Thread(target=call, args=(150_000_000,)), time.perf_counter()
    thread.start()
    longest, last = 0.0, start
    while thread.is_alive():
        time.sleep(0.001)
        longest, last = max(longest, time.perf_counter() - last), time.perf_counter()
    longest = max(longest, time.perf_counter() - last)
    shares.append(longest / (time.perf_counter() - start))
assert min(shares) <= 0.3, shares  # nearly all of it, where no other thread could run
""")
    run_python("-W", "ignore", str(script), timeout=110)


@pytest.mark.slow_with_sanitizers
@pytest.mark.parametrize("call", ["g.permutation(2 * 10**7)", "g.shuffle(order)", "g.choice(10**9, 10**7, replace=False)"])
def test_control_c_ends_random_orders(call, run_python, tmp_path):
    """Fills with uniform numbers: tests/c/test_groups."""
    script = tmp_path / "interrupted.py"
    script.write_text(f"""
import signal, time
import numpy as np
import lanewise as lw

signal.signal(signal.SIGALRM, signal.default_int_handler)
order = np.arange(5 * 10**7).astype(np.uint8)
g = lw.random.default_rng(7)
ended = 0
for _ in range(9):
    signal.setitimer(signal.ITIMER_REAL, 0.06)
    try:
        {call}
    except KeyboardInterrupt:
        ended += signal.setitimer(signal.ITIMER_REAL, 0)[0] == 0
        break
    signal.setitimer(signal.ITIMER_REAL, 0)
assert ended == 1
assert (np.bincount(order) == np.bincount(np.arange(5 * 10**7).astype(np.uint8))).all()
""")
    run_python(str(script), timeout=60)


def test_control_c_in_accumulate(run_python, tmp_path):
    """Results that have been written stay."""
    script = tmp_path / "accumulate.py"
    script.write_text(START + """
signal.signal(signal.SIGALRM, signal.default_int_handler)
source, out = np.ones(20_000_000, np.int64), np.zeros(20_000_000, np.int64)
wanted = np.arange(1, source.size + 1)
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    while True:
        out[:] = 0
        total.accumulate(source, out=out)
except KeyboardInterrupt:
    pass
assert ((out == wanted) | (out == 0)).all()
assert (total.accumulate(source, out=out) == wanted).all()
""")
    run_python(str(script), timeout=110)


def test_a_handler_that_raises_nothing(run_python, tmp_path):
    """The handler runs soon, and the call goes on to its end and gives the same bits."""
    script = tmp_path / "handled.py"
    script.write_text(START + """
y = np.arange(2_000_000) * 0.1
calls = [lambda: slow(y[:2000], 20_000), lambda: rows(y[:2000].reshape(20, 100), 20_000), lambda: one(y[:2000], 20_000),
         lambda: slow(y[:4000:2], 20_000), lambda: add.accumulate(y), lambda: total(y), lambda: total.accumulate(y)]
wanted = [call() for call in calls]
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
start = time.perf_counter()
while time.perf_counter() - start < 2 or len(seen) < 3:
    for call, want in zip(calls, wanted):
        np.testing.assert_array_equal(call(), want)
signal.setitimer(signal.ITIMER_REAL, 0)
""")
    run_python(str(script), timeout=110)


@pytest.mark.slow_with_sanitizers
def test_cuts_between_costly_elements_change_no_bit(run_python, tmp_path):
    """The clock decides at which elements a costly call is interrupted; the result does not depend on it."""
    script = tmp_path / "cuts.py"
    script.write_text(START + """
near = lambda x: slow(x, 300)
some = lw.reduce(lambda x, y: x + y, map=lambda x: near(x))
ordered = lw.reduce(lambda x, y: x + y, map=lambda x: near(x), commutative=False)
x = np.random.default_rng(0).random(70_001)
calls = [lambda: some(x), lambda: ordered(x), lambda: some(x[::-1]), lambda: some(x, where=x > 0.5), lambda: ordered(x, where=x > 0.5),
         lambda: some(x[:70_000].reshape(100, 700), axis=0), lambda: some(x[:70_000].reshape(100, 700), axis=1),
         lambda: some(x[:70_000].reshape(700, 100), axis=1), lambda: some.accumulate(x), lambda: ordered.accumulate(x),
         lambda: some.reduceat(x, [0, 100, 60_000]), lambda: ordered.reduceat(x, [0, 100, 60_000])]
wanted = [call() for call in calls]
mapped = slow(x, 300)
np.testing.assert_allclose(wanted[0], mapped.sum())
np.testing.assert_allclose(wanted[1], mapped.sum())
np.testing.assert_allclose(wanted[6], mapped[:70_000].reshape(100, 700).sum(axis=1))
np.testing.assert_allclose(wanted[8], np.add.accumulate(mapped))
np.testing.assert_allclose(wanted[10], np.add.reduceat(mapped, [0, 100, 60_000]))
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
start = time.perf_counter()
while time.perf_counter() - start < 2 or len(seen) < 3:
    for call, want in zip(calls, wanted):
        np.testing.assert_array_equal(call(), want)
signal.setitimer(signal.ITIMER_REAL, 0)
""")
    run_python(str(script), timeout=110)


def test_what_a_handler_divides_by_zero_is_not_the_calls(run_python, tmp_path):
    script = tmp_path / "flags.py"
    script.write_text(START + """
import warnings
seen = []

def handle(*_):
    with np.errstate(all="ignore"):
        seen.append(np.ones(1) / 0)

warnings.simplefilter("error")
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
while len(seen) < 5:
    slow(x[:2000], 20_000)
signal.setitimer(signal.ITIMER_REAL, 0)
""")
    run_python(str(script), timeout=110)


# ---- while code is compiled ----

COMPILE = """
import gc, signal, sys, time, numpy.testing
import numpy as np
import lanewise as lw
from lanewise import cuda, float32

x = np.arange(1.0, 4.0)

def ufunc(k):
    f = lw.vectorize(lambda v: v * k)
    return lambda: f(x)

def gufunc(k):
    @lw.guvectorize("(n)->()")
    def f(v, out):
        out[0] = v[0] * k
        for i in range(1, v.size):
            out[0] += v[i] * k
    return lambda: f(x)

def reduction(k):
    f = lw.reduce(lambda a, b: a + b, map=lambda v: v * k)
    return lambda: f(x)

def forall(k):
    @lw.forall(target="cpu")
    def f(i, v, out):
        out[i] = v[i] * k
    def call():
        out = np.empty(3)
        f(3, x, out)
        return out
    return call

def kernel(k):
    @cuda.jit
    def f(v, out):
        i = cuda.grid(1)
        if i < v.size:
            out[i] = v[i] * k
    def call():
        out = np.empty(3)
        with lw.config(target="cpu"):
            f[1, 3](x, out)
        return out
    return call

def asm(k):
    f = lw.vectorize(["f8(f8)"])(lambda v: v * k)
    return lambda: "ret" in f.inspect_asm("f8(f8)")

def cubin(k):
    f = lw.vectorize(["f8(f8)"])(lambda v: v * k)
    return lambda: lw.compile(f, "f8(f8)", "sm_90", "cubin")[:4] == b"\\x7fELF"

def linked(k):
    source = cuda.CUSource('extern "C" __device__ float scaled(float x) { return x * %d; }' % k, "scaled.cu")
    scaled = cuda.declare_device("scaled", "float32(float32)", abi="c", link=source)
    @lw.forall(target="cuda")
    def f(i, v, out):
        out[i] = scaled(v[i])
    return lambda: f.inspect_cubin("void(float32[::1], float32[::1])", "sm_90")[:4] == b"\\x7fELF"

def right(result, k, make):
    wanted = {ufunc: x * k, forall: x * k, kernel: x * k, gufunc: x.sum() * k, reduction: x.sum() * k}.get(make, True)
    np.testing.assert_allclose(result, wanted)

unraisable = []
sys.unraisablehook = lambda what: unraisable.append(repr(what))
"""
MAKERS = ["ufunc", "gufunc", "reduction", "forall", "kernel", "asm",
          *(pytest.param(name, marks=pytest.mark.skipif(not all(_core._toolchain_info()[part][0] for part in parts), reason="no GPU compiler"))
            for name, parts in {"cubin": ["libNVVM", "nvJitLink"], "linked": ["libNVVM", "nvJitLink"]}.items())]


@pytest.mark.parametrize("name", MAKERS)
def test_no_handler_runs_inside_llvmlite(name, run_python, tmp_path):
    """What a handler raised there would leave llvmlite with something that it frees twice."""
    script = tmp_path / "handlers.py"
    script.write_text(COMPILE + f"""
make = {name}
inside, calls = [], 0
def handle(_, frame):
    global calls
    calls += 1
    while frame is not None:
        if "llvmlite" in frame.f_code.co_filename or frame.f_code.co_name in ("compile_host", "_compile_host"):
            inside.append(frame.f_code.co_name)
        frame = frame.f_back
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
start, k = time.perf_counter(), 2
while time.perf_counter() - start < 0.7 or calls < 20:
    right(make(k)(), k, make)
    k += 1
signal.setitimer(signal.ITIMER_REAL, 0)
assert not inside, set(inside)
assert not unraisable, unraisable
assert gc.isenabled()
""")
    run_python(str(script), timeout=110, LANEWISE_CACHE_DIR=str(tmp_path / "cache"))


@pytest.mark.parametrize("name", MAKERS)
def test_control_c_while_compiling(name, run_python, tmp_path):
    """The program's work ends, not the process, and the next call works."""
    script = tmp_path / "interrupted.py"
    script.write_text(COMPILE + f"""
import random
make, raised, seen, k = {name}, 0, 0, 1
def handle(*_):
    global raised
    raised += 1
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, handle)
start = time.perf_counter()
right(make(1)(), 1, make)
rng = random.Random({name!r})
while raised < 40 and time.perf_counter() - start < 5 or raised < 5:
    k += 1
    call = make(k)
    before = time.perf_counter()
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 0.015))
        call()
        time.sleep(0.1)
    except KeyboardInterrupt:
        seen += 1
    right(call(), k, make)
assert seen == raised, (seen, raised)
assert not unraisable, unraisable
""")
    run_python(str(script), timeout=110, LANEWISE_CACHE_DIR=str(tmp_path / "cache"))


@pytest.mark.skipif("LW_ASAN" in os.environ, reason="a child that is forked while another thread allocates may wait forever for a lock of GCC's sanitizer")
def test_a_compile_in_another_thread_in_a_child_and_at_the_end(run_python, tmp_path):
    script = tmp_path / "places.py"
    script.write_text(COMPILE + """
import atexit, os, threading

def work(k):
    right(ufunc(k)(), k, ufunc)
    done.append(k)

done = []
threads = [threading.Thread(target=work, args=(k,)) for k in range(2, 6)]
for thread in threads:
    thread.start()
for k in range(10, 14):  # forks while others compile
    child = os.fork()
    if child == 0:
        work(k)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
for thread in threads:
    thread.join()
assert sorted(done) == [2, 3, 4, 5]

class Late:
    def __init__(self, call):
        self.call = call
    def __del__(self, write=os.write):  # at the end nothing can be imported; all that counts is that it ends
        try:
            self.call()
        except Exception:
            pass
        write(1, b"finalizer")

atexit.register(lambda: (work(20), print("atexit", flush=True)))
late, sys.unraisablehook = Late(ufunc(21)), sys.__unraisablehook__  # a hook would keep this module alive
""")
    done = run_python(str(script), timeout=110, LANEWISE_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout.split() == ["atexit", "finalizer"], (done.stdout, done.stderr)


# ---- exceptions of Python code that runs while a call compiles ----


def _total(x):
    m = x - x  # a total in float32, which is warned of
    i = 0
    while i < int(x):
        m += x
        i += 1
    return m


def _total_of_row(x, out):
    m = x[0] - x[0]
    for i in range(x.shape[0]):
        m += x[i]
    out[0] = m


@pytest.mark.parametrize("make, operand", [
    (lambda: lw.vectorize(_total), np.ones(3, "f4")),
    (lambda: lw.guvectorize("(n)->()")(_total_of_row), np.ones((3, 3), "f4")),
], ids=["vectorize", "guvectorize"])
def test_an_exception_of_a_handler_is_not_remembered(make, operand):
    """Only what the compiler reports about the function is remembered for the next call."""
    f = make()

    def late(*_):
        raise TimeoutError("late")

    before = signal.signal(signal.SIGALRM, late)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = lambda *_, **__: signal.raise_signal(signal.SIGALRM)
            with pytest.raises(TimeoutError):
                f(operand)
    finally:
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(f(operand), operand.sum(axis=1) if operand.ndim == 2 else operand)


def test_an_exception_of_a_handler_while_source_is_parsed(monkeypatch):
    """It may come within Python code that the reader calls."""
    class Interrupted(warnings.catch_warnings):
        def __exit__(self, *given):
            super().__exit__(*given)
            raise TimeoutError("late")

    def half(x):
        return x / 2

    with monkeypatch.context() as patched:
        patched.setattr(warnings, "catch_warnings", Interrupted)
        with pytest.raises(TimeoutError):
            lw.vectorize(half)(4.0)
    assert lw.vectorize(half)(4.0) == 2
