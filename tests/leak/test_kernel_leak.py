"""forall, jit, random numbers and print a thousand times on the CPU, and what only many rounds show: no block, no
reference, no object, no thread and no descriptor is kept."""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda
from test_leak import ROUNDS, keeps_nothing

sys.path.insert(0, str(Path(__file__).parents[1] / "fault"))
import kernel_work as work  # noqa: E402

WATCHED = [work.X, work.OUT, work.WORDS, work.RECORDS, work.STATES, work.scaled, work.plain, work.reverse, work.negative,
           work.raising, work.PHILOX, work.X.dtype, work.RECORDS.dtype]


POOL = len(os.sched_getaffinity(0))


def n_threads():
    """Those of the system, once those that have ended are gone; the pool's may start late."""
    for _ in range(1000):
        n = len(os.listdir("/proc/self/task"))
        if n <= threading.active_count() + POOL:
            break
        time.sleep(0.01)
    return max(n, POOL + 1)


def outside():
    """Threads, descriptors, and objects that the collector knows."""
    gc.collect()
    return threading.active_count(), n_threads(), len(os.listdir("/proc/self/fd")), len(gc.get_objects())


def rounds_for(run):
    """A thousand, or what half a second allows."""
    run()
    start = time.perf_counter()
    run()
    return max(20, min(ROUNDS, int(0.5 / (time.perf_counter() - start + 1e-9))))


@pytest.mark.parametrize("name", work.WORK)
def test_a_thousand_times(name):
    run, _ = work.WORK[name]
    rounds = rounds_for(run)
    for _ in range(rounds // 5 + 5):
        run()
    threads, tasks, files, objects = outside()
    references = [sys.getrefcount(x) for x in WATCHED]
    keeps_nothing(run, rounds)
    now = outside()
    assert now[:3] == (threads, tasks, files)
    assert now[3] - objects < 40, f"{now[3] - objects} objects"
    assert [a - b for a, b in zip((sys.getrefcount(x) for x in WATCHED), references)] == [0] * len(WATCHED)


def test_kernels_go_away():
    """With all that they made: specialisations, code, configured launches, bound calls."""
    def once():
        f = lw.forall(work.scaled.py_func)
        k = cuda.jit(target="cpu")(work.plain.py_func)
        f(3, 2.0, work.X, work.OUT)
        f(3, 2, work.X, work.OUT)
        step = f.bind(3, 2.0, work.X, work.OUT)
        launch = k[1, 32]
        launch(work.X, work.OUT)
        again = launch.bind(work.X, work.OUT)
        step(), again()
        return [weakref.ref(x) for x in (f, k, step)]

    gone = once()
    gc.collect()
    assert [r() for r in gone] == [None] * 3
    keeps_nothing(once, ROUNDS // 5)


def test_specialisations_are_counted_once():
    """Twenty types of arguments, each again and again, are twenty specialisations."""
    f = lw.forall(work.scaled.py_func)
    arrays = [work.X.astype(dtype) for dtype in ("f4", "f8", "i4", "i8", "u2")]
    outs = [np.zeros(39, dtype) for dtype in ("f8", "f4", "c16", "c8")]

    def once():
        for x in arrays:
            for out in outs:
                f(39, 2, x, out)

    once()
    before = f.stats
    keeps_nothing(once, ROUNDS // 20)
    assert f.stats["specialisations"] == before["specialisations"] == 20
    assert f.stats["compiled"] == before["compiled"]


def test_cycles_are_found():
    """An array that holds a kernel that holds it, by way of a bound call."""
    class Holder(np.ndarray):
        pass

    def once():
        array = np.zeros(39).view(Holder)
        f = lw.forall(work.scaled.py_func)
        array.step = f.bind(39, 2.0, work.X, array)
        return weakref.ref(f)

    gone = once()
    gc.collect()
    assert gone() is None
    keeps_nothing(once, ROUNDS // 5)


def test_threads_of_the_pool_are_few():
    """However many threads call: one pool."""
    big = np.zeros(1 << 18)
    before = n_threads()

    def call():
        for _ in range(5):
            work.scaled(big.size, 2.0, big, np.empty_like(big))
            work.reverse[8, 32, 0, 128](np.zeros(256, np.float32))

    for _ in range(5):
        threads = [threading.Thread(target=call) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    assert n_threads() == before


def test_pickles():
    def once():
        for kernel in (work.scaled, work.plain, work.PHILOX):
            pickle.loads(pickle.dumps(kernel))
        pickle.loads(pickle.dumps(lw.forall(work.of_records.py_func)))(4, work.RECORDS, work.RECORDS[1])

    keeps_nothing(once, ROUNDS // 5)


@pytest.mark.skipif("LW_ASAN" in os.environ, reason="ASan keeps freed memory aside")
def test_resident_memory():
    """Stacks and code that neither count sees."""
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def once(n=[0]):
        n[0] += 1
        k = float(n[0])
        work.reverse[4, 256, 0, 1024](np.zeros(1024, np.float32))
        kernel = cuda.jit(target="cpu", cache=False)(made(k))
        kernel[1, 8](work.X.copy())
        lw.cache.clear(memory_only=True)

    def made(k):
        def body(x):
            x[cuda.grid(1)] = k
        return body

    for _ in range(30):
        once()
    before = resident()
    for _ in range(60):
        once()
    assert resident() - before < 6 << 20
