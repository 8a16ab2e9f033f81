"""forall and jit kernels from many threads, during forks and under signals. What may hang runs in a process of its own."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors, float32
from test_threads import compiled, forks, fresh, together

DTYPES = ["f4", "f8", "i4", "i8", "u2", "c8", "c16", "i1"]
X = np.arange(1, 65)


def body(i, x, out):
    out[i] = x[i] * 2 + 1


@cuda.jit(target="cpu")
def reverse(x):
    own = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    own[i] = x[i]
    cuda.syncthreads()
    x[i] = own[63 - i]


@pytest.mark.parametrize("kind", ["forall", "jit"])
def test_new_specialisations_at_once(kind, tmp_path):
    """Sixteen threads call with eight types: there are eight specialisations, eight compilations, and right results."""
    with lw.config(cache_dir=str(tmp_path)):
        number = fresh()

        def body(i, x, out):
            if i < number:
                out[i] = x[i] * 2 + 1

        def plain(x, out):
            i = cuda.grid(1)
            if i < min(out.size, number):
                out[i] = x[i] * 2 + 1
        kernel = lw.forall(body) if kind == "forall" else cuda.jit(target="cpu")(plain)
        call = (lambda x, out: kernel(64, x, out)) if kind == "forall" else (lambda x, out: kernel[2, 32](x, out))
        before = compiled()

        def work(i):
            x = X.astype(DTYPES[i % 8])
            for _ in range(5):
                out = np.zeros_like(x)
                call(x, out)
                assert (out == x * 2 + 1).all()
            return True

        assert together(16, work) == [True] * 16
        assert kernel.stats["specialisations"] == 8
        assert compiled() - before == 8
        assert len(set(kernel.signatures)) == len(kernel.signatures) == 8


def test_layouts_at_once():
    """All threads start with a new kernel, and call it with the same dtype, but different strides and overlaps."""
    f = lw.forall(body)
    flat = np.arange(128.0)
    cases = [(flat[:64], np.zeros(64)), (flat[::2], np.zeros(64)), (flat[:64], np.zeros((64, 2))[:, 1]), (flat[::-2], np.zeros(64)),
             (flat[:64].astype(">f8").astype("f8"), np.zeros(64))]

    def work(i):
        x, out = cases[i % 5]
        out = out.copy() if out.flags.c_contiguous else np.zeros((64, 2))[:, 1]
        for _ in range(20):
            f(64, x, out)
            assert (out == x * 2 + 1).all()
            step = f.bind(64, x, out)
            step()
        return True

    assert together(15, work) == [True] * 15


def test_launches_at_once():
    """The blocks have barriers, so each thread has stacks of its own; configurations are made and dropped meanwhile."""
    def work(i):
        for k in range(30):
            x = np.arange(64, dtype=np.float32) + i
            reverse[1, 64, 0, 16 * (k % 7)](x)
            assert (x == np.arange(64)[::-1] + i).all()
        return True

    assert together(8, work) == [True] * 8


def test_errors_at_once():
    """An exception belongs to the call that met it."""
    def raising(i, x):
        if x[i] < 0:
            raise ValueError(f"no {x[i]}")

    f = lw.forall(raising)

    def work(i):
        for _ in range(50):
            x = np.ones(64)
            f(64, x)
            x[i] = -1 - i
            with pytest.raises(ValueError, match=rf"no -{i + 1}.0 .*element {i}\)"):
                f(64, x)
        return True

    assert together(8, work) == [True] * 8


def test_compile_errors_at_once():
    def bad(i, x):
        x[i].colour = 3

    f = lw.forall(bad)
    results = together(8, lambda i: f(3, np.ones(3)))
    assert all(isinstance(r, errors.CompileError) for r in results)
    assert len({str(r) for r in results}) == 1 and len({id(r) for r in results}) == 8


def test_kernels_dropped_while_others_call():
    kept = []

    def work(i):
        for _ in range(20):
            f = lw.forall(body)
            f.bind(64, X, np.zeros(64))()
            kept.append(weakref.ref(f))
        return True

    assert together(6, work) == [True] * 6
    gc.collect()
    assert [r() for r in kept] == [None] * 120


START = """
import faulthandler, os, signal, sys, threading, time
faulthandler.dump_traceback_later(40, exit=True)
import numpy as np, lanewise as lw
from lanewise import cuda
@lw.forall
def scaled(i, x, out):
    out[i] = x[i] * 2
@cuda.jit(target="cpu")
def waits(x, n):
    i, t = cuda.grid(1), cuda.threadIdx.x
    own = cuda.shared.array(64, lw.float32)
    total = 0.0
    for k in range(n):
        own[t] = x[i] + k
        cuda.syncthreads()
        total += own[63 - t]
        cuda.syncthreads()
    x[i] = total
@cuda.jit(target="cpu")
def plain(x, n):
    i = cuda.grid(1)
    total = 0.0
    for k in range(n):
        total += x[i] / (total + k + 1)
    x[i] = total
x = np.arange(1 << 18, dtype=float)
out = np.zeros_like(x)
few = np.arange(64 * 4000, dtype=np.float32)
scaled(5, x, out), waits[1, 64](few.copy(), 2), plain[1, 64](few.copy(), 2)
"""


@forks
def test_fork_while_kernels_run(run_python, tmp_path):
    """The child has one thread, and no lock or stack of another one; it starts its own pool."""
    script = tmp_path / "forks.py"
    script.write_text(START + """
stop = []
def busy(i):
    mine = few[:640].copy()
    while not stop:
        scaled(x.size, x, np.empty_like(x))
        waits[10, 64](mine, 20)
        lw.forall(scaled.py_func)(3, x.astype("f4"), out)
threads = [threading.Thread(target=busy, args=(i,), daemon=True) for i in range(3)]
for thread in threads:
    thread.start()
for i in range(10):
    time.sleep(0.01)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        got = np.empty_like(x)
        scaled(x.size, x, got)
        mine = few[:640].copy()
        waits[10, 64](mine, 1)
        os._exit(0 if (got == x * 2).all() and (mine.reshape(10, 64) == few[:640].reshape(10, 64)[:, ::-1]).all() else 1)
    assert os.waitpid(child, 0)[1] == 0, i
stop.append(1)
for thread in threads:
    thread.join(30)
""")
    run_python(str(script), timeout=110)


@pytest.mark.parametrize("call", ["waits[4000, 64](few, 20_000)", "plain[4000, 64](few, 200_000)"])
def test_control_c_ends_a_long_launch(call, run_python, tmp_path):
    """The launch ends between two blocks, and the next launch is complete."""
    script = tmp_path / "interrupted.py"
    script.write_text(START + f"""
signal.signal(signal.SIGINT, signal.default_int_handler)
for again in range(2):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.perf_counter()
    try:
        {call}
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("not interrupted")
    assert time.perf_counter() - start < 5
    mine = few[:640] = np.arange(640)
    few[:640] = np.arange(640)
    waits[10, 64](few[:640], 1)
    assert (few[:640].reshape(10, 64) == np.arange(640).reshape(10, 64)[:, ::-1]).all()
""")
    run_python(str(script), timeout=110)


def test_control_c_that_is_handled(run_python, tmp_path):
    """A handler that raises nothing runs soon, and the launch goes on to its end."""
    script = tmp_path / "handled.py"
    script.write_text(START + """
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(time.perf_counter()))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
mine = few[:64_000]
mine[:] = 1
waits[1000, 64](mine, 1500)
end = time.perf_counter()
signal.setitimer(signal.ITIMER_REAL, 0)
assert len(seen) > 2 and seen[1] < end - 0.02, (seen, end)
assert (mine == 1500 + 1499 * 750).all()
""")
    run_python(str(script), timeout=110)


def test_control_c_ends_a_long_forall(run_python, tmp_path):
    """What an element stores after its loop is stored or not, and the next call is complete."""
    script = tmp_path / "forall.py"
    script.write_text(START + """
@lw.forall
def long(i, v, n):
    total = 0.0
    for k in range(n):
        total += v[i] / (total + k + 1)
    v[i] = total
signal.signal(signal.SIGINT, signal.default_int_handler)
v = np.ones(100_000)
long(10, v, 40_000)
done = v[0]
v[:] = 1
for again in range(2):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.perf_counter()
    try:
        while time.perf_counter() - start < 60:
            v[:] = 1
            long(v.size, v, 40_000)
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("not interrupted")
    assert set(v) <= {1.0, done}, set(v)
v[:] = 1
long(2000, v, 40_000)
assert (v[:2000] == done).all() and (v[2000:] == 1).all()
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
v[:] = 1
start = time.perf_counter()
long(5000, v, 40_000)
took = time.perf_counter() - start
signal.setitimer(signal.ITIMER_REAL, 0)
assert len(seen) > 1 or took < 1, (seen, took)
assert (v[:5000] == done).all()
""")
    run_python(str(script), timeout=110)


def test_subinterpreters_are_refused(run_python):
    """By name where Python can tell a module so (3.12 and later), and never by a crash."""
    subinterpreters = pytest.importorskip("_xxsubinterpreters")
    assert subinterpreters
    done = run_python("-c", "import lanewise, numpy\nimport _xxsubinterpreters as s\ni = s.create()\ntry:\n"
                      "    s.run_string(i, 'import lanewise')\nexcept Exception as problem:\n    print('refused', problem)\nprint('end')\n", check=False)
    assert done.returncode == 0 and "end" in done.stdout, (done.returncode, done.stdout, done.stderr)
    assert "refused" in done.stdout
