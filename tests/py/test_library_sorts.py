"""np.sort, np.argsort, np.partition and np.median on the CPU: NumPy's own sorts, called by compiled code.

Every result has the bits of NumPy's, those of NaN and of the order of -0.0 and 0.0 included. Code for GPUs, kernels with threads, and elements
that NumPy does not sort have loops of the package instead (tests/py/test_array_library.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import lanewise as lw
from lanewise import _core

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "F", "D", "M8[s]", "m8[10ns]"]

HEAPSORT_IS_DEFAULT = np.lib.NumpyVersion(np.__version__) >= "2.4.0"

by_default = lw.njit(lambda x: np.sort(x))
stably = lw.njit(lambda x: np.sort(x, kind="stable"))
stable_too = lw.njit(lambda x: np.sort(x, stable=True))
by_heapsort = lw.njit(lambda x: np.sort(x, kind="heapsort"))
places = lw.njit(lambda x: np.argsort(x))


@lw.njit
def in_place(x):
    x.sort()


def rows(dtype, n):
    """Rows of random numbers, of few different ones, of special ones, and a sorted one."""
    r, d = np.random.default_rng(n), np.dtype(dtype)
    if d.kind in "fc":
        few = np.round(r.standard_normal(n))
        special = np.where(r.random(n) < 0.3, np.nan, np.where(r.random(n) < 0.5, -0.0, np.where(r.random(n) < 0.1, np.inf, few)))
        made = [x.astype(d) for x in (r.standard_normal(n), few, special, np.sort(few))]
        if d.kind == "c":
            other = np.where(r.random(n) < 0.2, np.nan, np.round(r.standard_normal(n)))
            for x in made:
                x.imag = other
        return made
    if d.kind in "mM":
        made = [r.integers(-(2**60), 2**60, n), r.integers(-3, 3, n), np.where(r.random(n) < 0.2, np.iinfo("i8").min, r.integers(-3, 3, n)), np.arange(n)]
        return [x.view(d) for x in made]
    return [x.astype(d) for x in (r.integers(-(2**62), 2**62, n), r.integers(0, 3, n), np.arange(n) % 2, np.arange(n) // 3)]


def same_bits(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape and np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


@pytest.mark.parametrize("n", [0, 1, 2, 3, 16, 17, 100, 257, 5000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_bits_are_those_of_numpy(dtype, n):
    for x in rows(dtype, n):
        for view in (x, x[::-1], np.repeat(x, 3)[1::3]):
            same_bits(by_default(view), np.sort(view))
            same_bits(by_heapsort(view), np.sort(view, kind="heapsort" if HEAPSORT_IS_DEFAULT else "quicksort"))
            same_bits(stably(view), np.sort(view, kind="stable"))
            same_bits(stable_too(view), np.sort(view, kind="stable"))
            same_bits(places(view), np.argsort(view, kind="stable"))


@pytest.mark.parametrize("n", [2, 100, 5000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sorting_in_place(dtype, n):
    """Elements that are not contiguous, or not aligned, are sorted in a buffer; the memory between them does not change."""
    for x in rows(dtype, n):
        twice = np.repeat(x, 2)
        in_place(twice[::2])
        same_bits(twice[::2], np.sort(x))
        same_bits(twice[1::2], x)
        misaligned = np.zeros(n * x.itemsize + 1, "u1")[1:].view(x.dtype)
        misaligned[:] = x
        in_place(misaligned)
        same_bits(misaligned, np.sort(x))
        misaligned[:] = x
        same_bits(places(misaligned), np.argsort(x, kind="stable"))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, None])
@pytest.mark.parametrize("dtype", ["f8", "i2", "D", "M8[s]"])
def test_axes(dtype, axis):
    x = rows(dtype, 5040)[2].reshape(18, 20, 14)
    same_bits(lw.njit(lambda x: np.sort(x, axis))(x) if axis is not None else lw.njit(lambda x: np.sort(x, None))(x), np.sort(x, axis))
    same_bits(lw.njit(lambda x: np.argsort(x, axis))(x) if axis is not None else lw.njit(lambda x: np.argsort(x, None))(x), np.argsort(x, axis, kind="stable"))
    if axis is not None:
        kept = np.asfortranarray(x)
        lw.njit(lambda x: x.sort(axis))(kept)
        same_bits(kept, np.sort(x, axis))


def test_code_calls_the_library():
    """The code calls it by name, because an address would not be valid in another process."""
    f = lw.njit(lambda x: np.sort(x))
    f(np.ones(3))
    text = str(f.inspect_llvm())
    assert "@lw_library_sort(" in text and "inttoptr" not in text


def test_kinds_that_numpy_refuses():
    x = np.ones(3)
    with pytest.raises(ValueError, match="sort kind must be one of"):
        lw.njit(lambda x: np.sort(x, kind="shell"))(x)
    with pytest.raises(ValueError, match="can't be provided at the same time"):
        lw.njit(lambda x: np.sort(x, kind="stable", stable=True))(x)


def test_a_read_only_row_is_not_sorted():
    x = np.arange(5.0)[::-1]
    x.flags.writeable = False
    with pytest.raises(lw.errors.CompileError, match="E162"):
        in_place(x)
    same_bits(by_default(x), np.sort(x))


def test_kernels_and_other_elements_have_their_own_sorts():
    x = np.random.default_rng(1).standard_normal((50, 40))
    x[3, 5] = np.nan

    @lw.guvectorize("(n)->(n)")
    def of_row(row, out):
        out[:] = row
        out.sort()

    @lw.forall
    def of_index(i, x):
        x[i].sort()

    same_bits(of_row(x), np.sort(x))
    y = x.copy()
    of_index(50, y)
    same_bits(y, np.sort(x))
    ml_dtypes = pytest.importorskip("ml_dtypes")
    half = x[0].astype(ml_dtypes.bfloat16)
    same_bits(by_default(half), np.sort(half))


def test_rows_of_a_parallel_loop():
    @lw.njit(parallel=True)
    def each(x, out):
        for i in lw.prange(x.shape[0]):
            row = np.sort(x[i])
            out[i] = row[np.argsort(-row)[0]] - row[0]
            x[i].sort()

    x = np.random.default_rng(1).standard_normal((200, 333))
    kept, out = x.copy(), np.zeros(200)
    each(x, out)
    same_bits(x, np.sort(kept))
    same_bits(out, kept.max(1) - kept.min(1))


def test_threads_sort_at_the_same_time():
    x, wrong = np.random.default_rng(1).standard_normal((8, 20000)), []

    def work(row):
        for _ in range(20):
            if by_default(row).tobytes() != np.sort(row).tobytes() or places(row).tobytes() != np.argsort(row, kind="stable").tobytes():
                wrong.append(row)

    threads = [threading.Thread(target=work, args=(row,)) for row in x]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_sorts():
    x = np.random.default_rng(1).standard_normal(1000)
    by_default(x)
    child = os.fork()
    if child == 0:
        os._exit(0 if by_default(x).tobytes() == np.sort(x).tobytes() and places(x.astype("f4"))[0] == x.astype("f4").argmin() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_code_from_the_disk_cache_sorts(tmp_path):
    """In the second process NumPy is at other addresses."""
    (tmp_path / "sorting.py").write_text(
        "import numpy as np, lanewise as lw\n"
        "f = lw.njit(lambda x: (np.sort(x), np.argsort(x)))\n"
        "x = np.random.default_rng(1).standard_normal(300)\n"
        "a, b = f(x)\n"
        "assert a.tobytes() == np.sort(x).tobytes() and b.tobytes() == np.argsort(x, kind='stable').tobytes()\n"
        "print(lw._core._cache_info()['compiled'])\n"
    )
    environment = {**os.environ, "LANEWISE_CACHE_DIR": str(tmp_path / "cache")}
    shown = [subprocess.run([sys.executable, "sorting.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert [int(text) for text in shown] == [1, 0]


def test_no_flags_are_left():
    x = np.array([np.nan, 1.0, -1.0, np.nan] * 40)
    with np.errstate(all="raise"):
        by_default(x)
        places(x)


@pytest.mark.skipif(not hasattr(_core, "_memory_fail_at"), reason="this build cannot make allocations fail")
def test_no_memory_for_a_buffer():
    x = np.arange(20000.0)[::-2]
    in_place(x.copy()[::2])
    for n in range(3):
        y = np.repeat(x, 2)
        _core._memory_fail_at(n)
        try:
            in_place(y[::2])
        except MemoryError:
            same_bits(y[::2], x)
        else:
            same_bits(y[::2], np.sort(x))
        finally:
            _core._memory_fail_at(-1)


# ---- what is built on them ----


@pytest.mark.parametrize("n", [1, 5, 127, 129, 300, 1000, 20011])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u1", "D", "?"])
def test_partitions(dtype, n):
    f = lw.njit(lambda x, k: np.partition(x, k))
    r = np.random.default_rng(n)
    for x in (r.standard_normal(n) * 50, r.integers(0, 3, n), np.zeros(n), np.arange(n), np.arange(n)[::-1], np.arange(n) % 128, np.abs(np.arange(n) - n // 2)):
        x = (np.abs(x) if dtype == "u1" else x).astype(dtype)
        wanted = np.sort(x)
        for k in {0, n // 3, n // 2, n - 1}:
            got = f(x, k)
            assert got[k] == wanted[k] and (np.sort(got[:k]) == wanted[:k]).all() and (np.sort(got[k:]) == wanted[k:]).all()


@pytest.mark.parametrize("dtype", ["f8", "i4", "u8"])
def test_rows_that_defeat_the_samples(dtype):
    """All samples are small elements, again and again, and the row is still sorted in the end."""
    n = 100_000
    x = np.arange(n)
    x[np.arange(n) % 7 == 0] = 0
    f = lw.njit(lambda x: (np.median(x), np.quantile(x, 0.999)))
    for row in (x, x[::-1], np.r_[x[::2], x[1::2]], np.where(np.arange(n) % 782 < 700, 0, x)):
        row = np.ascontiguousarray(row).astype(dtype)
        np.testing.assert_allclose(f(row), (np.median(row), np.quantile(row, 0.999)), rtol=1e-14)


def test_unique_and_isin():
    x = np.array([3.0, np.nan, 1.0, 3.0, -0.0, 0.0, np.nan, np.inf] * 50)
    np.testing.assert_array_equal(lw.njit(lambda x: np.unique(x))(x), np.unique(x))
    np.testing.assert_array_equal(lw.njit(lambda x: np.isin(x, x[:3]))(x), np.isin(x, x[:3]))


# ---- functions that may also run on a GPU ----


@lw.guvectorize("(n)->(n)")
def sorted_row(x, out):
    out[:] = np.sort(x)


@lw.guvectorize("(n)->(n)")
def sorted_places(x, out):
    out[:] = np.argsort(x)


@lw.forall
def sort_row(i, rows):
    rows[i].sort()


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype[0] not in "mM"])
def test_gufuncs_and_forall_sort_like_numpy(dtype):
    x = np.stack(rows(dtype, 300))
    same_bits(sorted_row(x), np.sort(x))
    same_bits(sorted_row(x[:, ::-3]), np.sort(x[:, ::-3]))
    np.testing.assert_array_equal(sorted_places(x), np.argsort(x, kind="stable"))
    y = x.copy()
    sort_row(len(y), y)
    same_bits(y, np.sort(x))


@lw.vectorize(excluded="table")
def with_rank(v, table, k):
    return v + np.partition(table, k)[k] + np.median(table)


def test_vectorize_selects_like_numpy():
    table = np.random.default_rng(5).random(1000)
    expected = 1.0 + np.partition(table, 7)[7] + np.median(table)
    assert (with_rank(np.ones(3), table, 7) == expected).all()


def test_code_for_a_gpu_does_not_call_the_host():
    assert "lw_library" not in lw.compile(sort_row, "void(int64, float64[:,::1])", target="sm_90", output="ptx")
