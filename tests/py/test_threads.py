"""Threads, signals, forks and the interpreter's end: no deadlock, one compile a kernel, errors that
do not spill over. What may hang runs in a process of its own with a time limit."""

from __future__ import annotations

import gc
import itertools
import os
import threading
import time

import numpy as np
import pytest

import lanewise as lw

X = np.arange(100.0)
DTYPES = ["f4", "f8", "i4", "c16"]
WAIT = 120
# The child of a process with threads: libasan before GCC 14 leaves it the locks of its allocator as they were.
forks = pytest.mark.skipif("LW_ASAN" in os.environ, reason="the sanitizer's allocator does not outlive a fork among threads")


def together(n, work):
    """Run work(i) in n threads that start together; returns what they returned or raised."""
    barrier, results = threading.Barrier(n), [None] * n

    def run(i):
        barrier.wait(WAIT)
        try:
            results[i] = work(i)
        except Exception as problem:
            results[i] = problem

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
        assert not thread.is_alive(), "a thread hangs"
    return results


def compiled():
    return lw.cache.info()["compiled"]


_fresh = itertools.count((1 << 20) + 1, 2)


def fresh():
    """A number that no other test of this process has compiled into a kernel, because equal texts share one."""
    return next(_fresh)


@pytest.mark.parametrize("cache", [True, False])
def test_one_compile_for_each_signature(cache, tmp_path):
    with lw.config(cache_dir=str(tmp_path)):
        number = fresh()
        f = lw.vectorize(lambda x, y: x * y + number, cache=cache)
        before = compiled()
        data = {dtype: (X + 1).astype(dtype) for dtype in DTYPES}
        results = together(16, lambda i: f(data[DTYPES[i % 4]], data[DTYPES[i % 4]]))
        for i, result in enumerate(results):
            x = data[DTYPES[i % 4]]
            assert not isinstance(result, Exception), result
            assert result.dtype == x.dtype and (result == x * x + number).all()
        if cache:
            assert compiled() - before == 4
        assert sorted(f.types) == ["DD->D", "dd->d", "ff->f", "ii->i"]


def test_one_ufunc_for_each_thread(tmp_path):
    """Sixteen ufuncs of one text are one kernel."""
    with lw.config(cache_dir=str(tmp_path)):
        number = fresh()

        def body(x):
            return x * 7 - number
        before = compiled()
        results = together(16, lambda i: lw.vectorize(body)(X))
        assert all((r == X * 7 - number).all() for r in results)
        assert compiled() - before == 1


def test_a_compile_error_reaches_each_thread():
    f = lw.vectorize(lambda x: x + "text")
    results = together(16, lambda i: f(X))
    assert {type(r) for r in results} == {type(results[0])} and isinstance(results[0], lw.errors.CompileError)
    assert len({str(r) for r in results}) == 1
    assert len({id(r) for r in results}) == 16, "an exception is shared between threads"


def test_errors_do_not_spill_over():
    good, bad = lw.vectorize(lambda x: x + 11), lw.vectorize(lambda x: [x])

    def work(i):
        for _ in range(20):
            if i % 2:
                with pytest.raises(lw.errors.CompileError):
                    bad(X)
            else:
                assert (good(X) == X + 11).all()
        return True

    assert together(8, work) == [True] * 8


def test_calls_while_signatures_are_added():
    f = lw.vectorize(["f8(f8)"])(lambda x: x + 1)

    def work(i):
        if i == 0:
            for sig in ("f4(f4)", "i8(i8)", "c8(c8)", "c16(c16)", "i2(i2)"):
                f.add(sig)
        for _ in range(300):
            assert (f(X) == X + 1).all()
        return True

    assert together(8, work) == [True] * 8
    assert len(f.types) == 6


def made(dtype, n=40):
    return np.arange(n).astype(dtype)


def by_gufunc():
    @lw.guvectorize("(n)->()")
    def total(x, out):
        s = x[0]
        for k in range(1, x.shape[0]):
            s += x[k]
        out[()] = s
    return lambda x: (total(x.reshape(4, 10)) == x.reshape(4, 10).sum(1)).all()


def by_reduce():
    total = lw.reduce(lambda a, b: a + b)
    return lambda x: total(x) == x.sum()


def by_forall():
    @lw.forall
    def twice(i, x, out):
        out[i] = x[i] + x[i]

    def check(x):
        out = np.zeros_like(x)
        twice(x.size, x, out)
        return (out == x + x).all()
    return check


def by_jit():
    @lw.jit
    def shift(x, out):
        i = lw.cuda.grid(1)
        if i < x.size:
            out[i] = x[x.size - 1 - i]

    def check(x):
        out = np.zeros_like(x)
        shift[3, 16](x, out)
        return (out == x[::-1]).all()
    return check


def by_excluded():
    pick = lw.vectorize(lambda i, table: table[i], excluded=["table"])
    return lambda x: (pick(np.arange(7), x) == x[:7]).all()


def by_record():
    @lw.forall
    def first(i, rows, out):
        out[i] = rows[i].x

    def check(x):
        rows = np.zeros(x.size, [("x", x.dtype), ("y", "i4")])
        rows["x"], out = x, np.zeros_like(x)
        first(x.size, rows, out)
        return (out == x).all()
    return check


@pytest.mark.parametrize("door", [by_gufunc, by_reduce, by_forall, by_jit, by_excluded, by_record])
def test_a_new_object_of_each_door(door):
    """Several threads make its first calls, for several types."""
    check, dtypes = door(), ["f4", "f8", "i4", "c16"]

    def work(i):
        return all(check(made(dtypes[(i + k) % 4])) for k in range(4))

    assert together(8, work) == [True] * 8


def test_types_that_come_and_go():
    f = lw.vectorize(lambda x: x + 1)

    def work(i):
        for k in range(100):
            assert (f(X.view(type(f"Array{k}", (np.ndarray,), {}))) == X + 1).all()
        return True

    assert together(8, work) == [True] * 8


def test_ufuncs_made_and_dropped():
    def work(i):
        for k in range(60):
            u = lw.vectorize(lambda x: x + 1)
            u.me = u
            assert u(1.0) == 2.0
        return True

    assert together(8, work) == [True] * 8
    gc.collect()


def test_cache_is_cleared_meanwhile(tmp_path):
    with lw.config(cache_dir=str(tmp_path)):
        def work(i):
            for _ in range(30):
                if i == 0:
                    lw.cache.clear(memory_only=_ % 2 == 0)
                else:
                    assert (lw.vectorize(lambda x: x * 13)(X) == X * 13).all()
            return True

        assert together(6, work) == [True] * 6


def test_settings_change_meanwhile(tmp_path):
    """A thread that reads a path while another one sets two paths reads one of them."""
    def work(i):
        for k in range(200):
            if i < 2:
                lw.config.cache_dir = str(tmp_path / f"{i}{k % 3}")
            elif i < 4:
                lw.cache.info()
            else:
                lw.vectorize(lambda x: x + 5)(X)
        return True

    with lw.config(cache_dir=str(tmp_path)):
        assert together(6, work) == [True] * 6


class Collects(np.ndarray):
    """Collects garbage, and calls the ufunc again, in the middle of a call."""

    def __array_finalize__(self, other):
        gc.collect()

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        gc.collect()
        return ufunc(*[np.asarray(x) for x in inputs])


@pytest.mark.slow_with_sanitizers
def test_garbage_is_collected_within_a_call(thorough):
    f = lw.vectorize(lambda x: x + 17)
    for _ in range(20 if thorough else 5):
        u = lw.vectorize(lambda x: x + 1)
        u.me = u
        del u
        assert (f(X.view(Collects)) == X + 17).all()
        f.add("f4(f4)") if _ == 0 else None


def test_last_reference_dropped_within_a_call():
    """The array's own method deletes the ufunc that is running."""
    holder = {}

    class Drops:
        def __array__(self, dtype=None, copy=None):
            holder.clear()
            gc.collect()
            return np.arange(3.0)

    for _ in range(10):
        holder["f"] = lw.vectorize(lambda x: x + 1)
        assert holder["f"](Drops()).tolist() == [1, 2, 3]


def test_another_thread_goes_on_during_a_compile():
    """The lock of the interpreter is free while code is made."""
    steps, stop = [0], []

    def count():
        while not stop:
            steps[0] += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    text = "def g(x):\n" + "    x = x * 1.5 + 1 / (x + 2)\n" * 150 + "    return x\n"
    scope = {}
    exec(text, scope)
    for dtype in ("f4", "f8"):
        lw.vectorize(scope["g"], source=text, cache=False)(X.astype(dtype))
    stop.append(1)
    thread.join(WAIT)
    assert steps[0] > 20


START = """
import faulthandler, os, signal, sys, threading, time
faulthandler.dump_traceback_later(100, exit=True)
import numpy as np, lanewise as lw
x = np.arange(100.0)
LONG = "def g(x):\\n" + "    x = x * 1.5 + 1 / (x + 2)\\n" * 100 + "    return x\\n"
scope = {}
exec(LONG, scope)
def fresh(n=[0]):  # a new text each time: the same one is compiled once a process
    n[0] += 1
    text = LONG.replace("1.5", f"1.{n[0]:03}5")
    exec(text, scope)
    return lw.vectorize(scope["g"], source=text, cache=False)
def small(v):
    return v + 1
SMALL = "def small(v):\\n    return v + 1\\n"
f = lw.vectorize(small, source=SMALL)
"""


def go(run_python, code, **variables):
    return run_python("-c", START + code, timeout=110, **variables)


def test_a_signal_during_a_compile(run_python):
    """The handler runs soon enough, and the compilation is complete."""
    go(run_python, """
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(time.perf_counter()))
f(x)
signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
for dtype in ("f4", "f8", "c16"):
    fresh()(x.astype(dtype))
signal.setitimer(signal.ITIMER_REAL, 0)
assert seen
assert f(x)[1] == 2
""")


def test_a_signal_that_raises_during_a_compile(run_python):
    """The caller gets the handler's exception unchanged, and the next call works."""
    go(run_python, """
class Enough(Exception):
    pass
def handler(*_):
    raise Enough("now")
f(x)
signal.signal(signal.SIGALRM, handler)
came = 0
for delay in (0.002, 0.01, 0.02, 0.04, 0.08, 0.12):
    g = fresh()
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        g(x)
        time.sleep(delay)
    except Enough:
        came += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert g(x).shape == (100,)
assert came >= 5, came
assert f(x)[1] == 2
""")


def test_control_c_during_a_compile(run_python):
    go(run_python, """
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell starts us with it ignored
f(x)
came = 0
for delay in (0.002, 0.01, 0.02, 0.04, 0.08, 0.12):
    g = fresh()
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        g(x)
        time.sleep(2)
    except KeyboardInterrupt:
        came += 1
    timer.join()
    assert g(x).shape == (100,)
assert came == 6, came
""")


@pytest.mark.parametrize("ending", ["", "sys.exit(3)", "raise SystemExit(3)", "raise ValueError", "os.kill(os.getpid(), signal.SIGTERM)"])
def test_exit_with_living_kernels(ending, run_python):
    done = run_python("-c", START + "g = fresh()\ng(x)\nf(x)\nf.me = f\nkeep = [lw.vectorize(small, source=SMALL) for _ in range(5)]\n" + ending, check=False, timeout=110)
    assert done.returncode == {"": 0, "raise ValueError": 1}.get(ending, 3 if "3" in ending else -15), done.stderr
    assert "Segmentation" not in done.stderr and "fatal" not in done.stderr.lower().replace("faulthandler", "")


def test_calls_at_exit(run_python):
    done = go(run_python, """
import atexit
atexit.register(lambda: print("at exit", f(x)[1], flush=True))
class Late:
    def __del__(self):
        try:
            print("late", f is not None and f(x)[1], flush=True)
        except Exception as problem:
            print("late", type(problem).__name__, flush=True)
late = Late()
f(x)
""")
    assert "at exit 2.0" in done.stdout


def test_exit_during_a_compile(run_python):
    """A thread is compiling when the interpreter ends."""
    done = go(run_python, """
f(x)
threading.Thread(target=lambda: fresh()(x), daemon=True).start()
threading.Thread(target=lambda: [f(np.ones(1 << 20)) for _ in range(10_000)], daemon=True).start()
time.sleep(0.05)
print("end")
""")
    assert done.stdout == "end\n" and "Fatal" not in done.stderr


@forks
def test_fork_while_threads_work(run_python):
    """The child has one thread, and no lock that another thread held."""
    go(run_python, """
f(x)  # llvmlite is imported: CPython's own import locks do not outlive a fork
stop = []
def busy():
    while not stop:
        fresh()(x)
        f(np.ones(300_000))
threads = [threading.Thread(target=busy, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for i in range(10):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        good = f(x)[1] == 2 and lw.vectorize(lambda v: v + 2, source="lambda v: v + 2")(x)[1] == 3 and f(np.ones(300_000)).sum() == 600_000
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0, i
stop.append(1)
for thread in threads:
    thread.join(30)
""")


@forks
@pytest.mark.parametrize("call", ["heavy(x)", "total(x)", "each(len(x), x, y)"])
def test_fork_by_a_handler_in_the_middle_of_a_call(run_python, call):
    """What other threads compute belongs to the parent: in the child, the call ends with an exception, and later calls are complete."""
    go(run_python, f"""
@lw.vectorize
def heavy(v):
    s = 0.0
    for k in range(20000):
        s += np.sin(v + k)
    return s
@lw.njit
def total(x):
    s = 0.0
    for i in lw.prange(len(x)):
        for k in range(20000):
            s += np.sin(x[i] + k)
    return s
@lw.forall
def each(i, x, y):
    for k in range(20000):
        y[i] += np.sin(x[i] + k)
x, y, child, returned = np.ones(3), np.zeros(30_000), None, []
def handler(number, frame):
    global child
    if child is None:
        child = os.fork()
        if child == 0:  # a long call before the handler returns is whole
            t = time.monotonic()
            while time.monotonic() < t + 0.3:
                assert heavy(x[:200]).min() == heavy(x[:1])[0]
            returned.append(True)
signal.signal(signal.SIGALRM, handler)
{call}
x = np.ones(30_000)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    result = {call}
except RuntimeError as problem:
    assert child == 0 and returned and "os.fork() while threads were at work" in str(problem), (child, problem)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(60)
    os._exit(0 if (heavy(x[:200]) == heavy(x[:1])).all() and f(np.ones(300_000)).sum() == 600_000 else 1)
if child == 0:
    os._exit(2)
assert child and os.waitpid(child, 0)[1] == 0
assert result is None or np.isclose(np.sum(result), total(x), rtol=1e-6)
""", LANEWISE_NUM_THREADS="4")


POOL = """
import multiprocessing as mp
import numpy as np, lanewise as lw
@lw.vectorize
def g(v):
    return v * 2 + 1
lam = lw.vectorize(["f8(f8)"])(lambda v: v - 1)
def apply(pair):
    u, x = pair
    return u(x)
if __name__ == "__main__":
    x = np.arange(4.0)
    g(x)
    with mp.get_context({method!r}).Pool(2) as pool:
        got = pool.map_async(apply, [(g, x), (lam, x), (g, x.astype("f4"))]).get(90)
    assert [r.tolist() for r in got] == [[1, 3, 5, 7], [-1, 0, 1, 2], [1, 3, 5, 7]]
    assert got[2].dtype == "f4"
"""


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_worker_processes(method, run_python, tmp_path):
    script = tmp_path / "work.py"
    script.write_text(POOL.format(method=method))
    run_python(str(script), timeout=110)


def test_thread_settings(run_python):
    for threads in ("1", "2", "7", "1000"):
        go(run_python, "y = np.arange(1 << 20, dtype=float)\nassert (f(y) == y + 1).all()\n", LANEWISE_NUM_THREADS=threads)


def test_many_threads_call_long_arrays():
    f = lw.vectorize(lambda x: x * 2)
    y = np.arange(1 << 18, dtype=float)
    results = together(8, lambda i: all((f(y) == y * 2).all() for _ in range(10)))
    assert results == [True] * 8
