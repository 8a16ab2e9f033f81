"""get_num_threads() and get_thread_id() in functions called on the host: a row of an array for each thread."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import get_num_threads, get_thread_id, njit, prange


@pytest.fixture
def four_threads():
    before = lw.config.threads
    lw.set_num_threads(4)
    yield
    lw.config.threads = before


def test_number_of_threads():
    @njit
    def f():
        return get_num_threads()

    before = lw.config.threads
    try:
        for n in (3, 5):
            lw.set_num_threads(n)
            assert f() == n == get_num_threads()
    finally:
        lw.config.threads = before


def test_zero_outside_of_loops():
    @njit
    def f():
        return lw.get_thread_id()

    assert f() == 0 == get_thread_id()


@njit
def count(x, n_bins):
    rows = np.zeros((get_num_threads(), n_bins), np.int64)
    for i in prange(len(x)):
        rows[get_thread_id(), x[i] % n_bins] += 1
    return rows


def test_a_row_for_each_thread(four_threads):
    x = np.random.default_rng(1).integers(0, 1000, 300_000)
    for _ in range(20):
        rows = count(x, 10)
        assert rows.shape == (4, 10) and (rows.sum(axis=0) == np.bincount(x % 10, minlength=10)).all()


def test_rows_are_the_threads_own():
    """No atomic operation is needed, and elements may be of any width."""
    count(np.arange(20), 10)
    (text,) = count.inspect_llvm().values()
    assert not [line for line in text.splitlines() if "atomicrmw" in line and "%m" not in line]  # %m: counts of references

    @njit
    def narrow(x, n):
        rows = np.zeros((n, 300), np.int8)
        for i in prange(len(x)):
            t = get_thread_id()
            for k in range(300):
                rows[t, k] = rows[t, k] * 2 + x[i]
            rows[t, 0] += 1
        return rows

    assert narrow(np.zeros(5000, np.int8), get_num_threads())[:, 0].astype(int).sum() != 1


def test_scratch_memory(four_threads):
    @njit
    def medians(x, scratch):
        out = np.empty(len(x))
        for i in prange(len(x)):
            own = scratch[get_thread_id()]
            for k in range(x.shape[1]):
                own[k] = x[i, k]
            own.sort()
            out[i] = own[x.shape[1] // 2]
        return out

    x = np.random.default_rng(2).normal(size=(20_000, 7))
    for _ in range(10):
        assert (medians(x, np.empty((4, 7))) == np.median(x, axis=1)).all()


def test_an_index_besides_is_still_shared():
    """Two threads may have one element where the number of the thread is not the index of an axis."""

    @njit
    def f(x):
        for i in prange(1000):
            x[get_thread_id() + i % 3] *= 2

    with pytest.raises(lw.errors.CompileError, match="E168"):
        f(np.ones(10))


def test_ids_are_less_than_the_number_of_threads(four_threads):
    @njit
    def seen(n):
        ids = np.full(n, -1)
        for i in prange(n):
            s = 0.0
            for k in range(20_000):
                s += np.sin(s + k)
            ids[i] = get_thread_id() if s < 1e9 else -2
        return ids

    for _ in range(5):
        ids = seen(400)
        assert ids.min() >= 0 and ids.max() < 4  # how many take part depends on what else the machine does


def test_only_on_the_host():
    for make in (lw.forall, lw.cuda.jit(target="cpu"), lw.vectorize):
        @make
        def f(i, x):
            x[0] = get_thread_id()

        if make is lw.vectorize:
            f = make(lambda x: x + get_num_threads())
            call = lambda: f(1.0)
        else:
            call = (lambda: f(3, np.zeros(3))) if make is lw.forall else (lambda: f[1, 1](0, np.zeros(3)))
        with pytest.raises(lw.errors.CompileError, match=r"E163.*get_(thread_id|num_threads)|get_.*E163"):
            call()


def test_kept_on_disk(tmp_path):
    @njit(cache=True)
    def f(n):
        out = np.empty(n)
        for i in prange(n):
            out[i] = get_thread_id() * 0 + get_num_threads()
        return out

    assert (f(5) == get_num_threads()).all()


def test_python_target():
    with lw.config(target="python"):
        assert count(np.arange(20), 10).sum() == 20
