"""Device arrays that functions capture: where the setting `target` says "cpu", their stand-ins are read as they are at the time,
not as they were when the function was compiled."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

GLOBAL = None


@pytest.fixture
def table(cpu):
    global GLOBAL
    GLOBAL = cuda.to_device(np.arange(12.0).reshape(3, 4))
    yield GLOBAL
    GLOBAL = None


def doors():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < 4:
            out[i] = GLOBAL[1, i]

    @lw.forall
    def each(i, out):
        out[i] = GLOBAL[1, i]

    @cuda.jit
    def waiting(out):
        i = cuda.threadIdx.x
        cuda.syncthreads()
        out[i] = GLOBAL[1, i]

    def launched(launch):
        def run():
            out = cuda.to_device(np.zeros(4))
            launch(out)
            return out.copy_to_host()
        return run

    picked = lw.vectorize(lambda i: GLOBAL[1, i])
    rows = lw.guvectorize("(n)->(n)")(copy_row)
    last = lw.reduce(map=lambda i: GLOBAL[1, i], combine=lambda a, b: b)
    return {"jit": launched(kernel[1, 32]), "block": launched(waiting[1, 4]), "forall": launched(lambda out: each(4, out)), "vectorize": lambda: picked(np.arange(4)),
            "guvectorize": lambda: rows(np.zeros(4)), "reduce": lambda: last(np.arange(4).reshape(1, 4), axis=0),
            "nested": lambda: lw.vectorize(lambda i: helper(i))(np.arange(4))}


def copy_row(x, y):
    for i in range(x.shape[0]):
        y[i] = GLOBAL[1, i]


@lw.jit
def helper(i):
    return GLOBAL[1, i]


@pytest.mark.parametrize("door", ["jit", "block", "forall", "vectorize", "guvectorize", "reduce", "nested"])
def test_later_changes_are_seen(table, door):
    run = doors()[door]
    for value in (None, 7.5, -1.0):
        if value is not None:
            table[1] = value
        want = table.copy_to_host()[1]
        np.testing.assert_array_equal(run(), want)
        np.testing.assert_array_equal(run(), want)


def test_a_kernel_sees_what_another_wrote(table):
    @cuda.jit
    def write(x):
        x[1, cuda.threadIdx.x] = 40 + cuda.threadIdx.x

    read = doors()["block"]
    assert read().tolist() == [4, 5, 6, 7]
    write[1, 4](table)
    assert read().tolist() == [40, 41, 42, 43]


def test_another_array_is_another_memory(table):
    global GLOBAL
    read = lw.vectorize(lambda i: GLOBAL[1, i])
    assert read(2) == 6
    GLOBAL = cuda.to_device(np.full((3, 4), 9.0))
    assert read(2) == 9
    GLOBAL[1, 2] = 3
    assert read(2) == 3
    GLOBAL = table
    table[1, 2] = 5
    assert read(2) == 5


def test_records_and_slices(cpu):
    records = cuda.to_device(np.array([(1, 2.5), (3, 4.5)], [("n", "i4"), ("x", "f8")]))
    tail = cuda.to_device(np.arange(6))[2:]
    f = lw.vectorize(lambda i: records[i].x + tail[i])
    assert f(np.arange(2)).tolist() == [4.5, 7.5]
    records[1] = (0, 10.0)
    tail[1] = 100
    assert f(np.arange(2)).tolist() == [4.5, 110.0]


def test_any_strides(cpu):
    strided = cuda.to_device(np.arange(6.0))[::2]
    assert lw.vectorize(lambda i: strided[i])(np.arange(3)).tolist() == [0, 2, 4]


def test_large_numpy_arrays_are_constants(cpu):
    host = np.arange(400.0)  # more than what is compared at each call
    f = lw.vectorize(lambda i: host[i])
    assert f(1) == 1
    host[1] = 50
    assert f(1) == 1


def test_code_for_elsewhere_is_refused(table):
    """An object file must not name memory of this process."""
    f = lw.vectorize(["l->d"])(lambda i: GLOBAL[1, i])
    there = table.__array_interface__["data"][0]
    f(1)
    assert f"inttoptr i64 {there} to ptr" in str(f.inspect_llvm(target="cpu"))
    with pytest.raises(lw.errors.UnsupportedError, match="E169"):
        lw.compile(f, "l->d", target="cpu", output="object")


def test_code_that_names_memory_is_not_kept_for_other_processes(table, tmp_path):
    """Nobody else has that memory; code without it is kept."""
    with lw.config(cache_dir=str(tmp_path)):
        assert lw.vectorize(lambda i: GLOBAL[2, i] + 0.125)(1) == 9.125
        assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size > 0]
        assert lw.vectorize(lambda x: x + 0.125)(1.0) == 1.125
        assert [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size > 0]
