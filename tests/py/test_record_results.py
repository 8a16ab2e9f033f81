"""Single records: as results of functions, and stored under masks and arrays of indices."""

from __future__ import annotations

import collections
import gc

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, njit, runtime

REC = np.dtype([("a", "i4"), ("b", "f8"), ("c", "f4", 2)])
NESTED = np.dtype([("k", "i2"), ("r", REC)])
TABLE = np.zeros(3, REC)
TABLE["a"] = [5, 6, 7]
Found = collections.namedtuple("Found", "record at")


def records(n=4, dtype=REC):
    x = np.zeros(n, dtype)
    (x if dtype is REC else x["r"])["a"] = np.arange(n)
    return x


def own(y):
    x = np.zeros(3, y.dtype)
    x[2] = y[1]
    return x[2]


def best(y):
    at = 0
    for i in range(len(y)):
        if y[i]["a"] > y[at]["a"]:
            at = i
    return y[at]


def either(y):
    x = np.zeros(2, y.dtype)
    x[1]["a"] = 77
    return (y[1] if len(y) == 4 else x[1]), (y[1] if len(y) != 4 else x[1])


RESULTS = [
    lambda y: y[1], lambda y: y[::-1][0], lambda y: (y[0], 3, y[1:], (y[1],)), lambda y: TABLE[len(y) - 3], lambda y: Found(y[2], 2),
    lambda y: y.reshape(2, 2)[1, 0], own, best, either, lambda y: best(y), lambda y: own(y),
]


@pytest.mark.parametrize("f", RESULTS)
def test_as_in_numpy(f):
    y = records()
    assert repr(njit(f)(y)) == repr(f(y))
    y.flags.writeable = False
    assert repr(njit(f)(y)) == repr(f(y))


def test_a_record_shows_its_array():
    y = records()
    r = njit(lambda y: y[1])(y)
    assert type(r) is np.void and r.dtype == REC and np.shares_memory(np.asarray(r), y)
    r["a"] = 9
    assert y[1]["a"] == 9
    assert njit(lambda r: r)(y[1])["a"] == 9
    inner = njit(lambda y: y[2].r)(records(dtype=NESTED))
    assert inner.dtype == REC and inner["a"] == 2
    y.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        njit(lambda y: y[1])(y)["a"] = 1


def test_memory_outlives_the_array():
    make = njit(own)
    runtime.memsys_enable_stats()
    before = runtime.rtsys.get_allocation_stats()
    kept = [make(records()) for _ in range(50)]
    assert all(r["a"] == 1 for r in kept)
    after = runtime.rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == 50 and after.free == before.free
    del kept
    gc.collect()
    assert runtime.rtsys.get_allocation_stats().free - before.free == 50
    runtime.memsys_disable_stats()


def test_what_is_refused():
    @njit
    def local(i):
        return lw.local(2, REC)[i]

    with pytest.raises(lw.errors.CompileError, match="E102: a local array leaves the function"):
        local(1)
    with pytest.raises(lw.errors.TypingError, match="E183: an array or record cannot be a result"):
        lw.vectorize(lambda i: TABLE[i])(1)
    with pytest.raises(lw.errors.TypingError, match="E183: a kernel cannot return a value"):
        cuda.jit(target="cpu")(lambda y: y[0])[1, 1](records())


def masked(y, m, at):
    y[m] = y[1]


def placed(y, m, at):
    y[at] = y[3]


def with_tuple(y, m, at):
    y[m] = (8, 2.5, (1, 2))
    y[at] = (9, 1, (3, 4))


def with_number(y, m, at):
    y[m] = 2
    y[at] = 3


def with_records(y, m, at):
    y[m] = y[at]


def fields(y, m, at):
    y["a"][m] = 4
    y["b"][at] = y["b"][at] + 1
    y[at]["c"] = 7


@pytest.mark.parametrize("f", [masked, placed, with_number, with_records, fields, with_tuple])
def test_stores_under_arrays(f):
    y, z, m, at = records(), records(), np.array([True, False, False, True]), np.array([2, 0])
    njit(f)(y, m, at)
    f(z, m, at)
    assert repr(y) == repr(z)


def test_stores_in_kernels_and_of_other_kinds(target):
    @cuda.jit
    def k(y, m):
        y[m] = y[1]

    y = records()
    k[1, 1](y, np.array([True, False, False, True]))
    assert y["a"].tolist() == [1, 1, 2, 1]
    days = np.arange(4).astype("M8[D]")
    njit(lambda d, m: store(d, m))(days, np.array([False, False, True, True]))
    njit(lambda d, m: store(d, m))(days, np.array([0]))
    assert days.astype(int).tolist() == [1, 1, 1, 1]


def store(d, m):
    d[m] = d[1]


@pytest.mark.parametrize("value, code, text", [
    ((1, 2), "E120", "a tuple of 2 items cannot be assigned to a record with 3 fields"),
    (1.5, "E142", "cannot be stored as int32"),
    ("x", "E120", "cannot receive this"),
])
def test_what_cannot_be_stored(value, code, text):
    @njit
    def f(y, at):
        y[at] = value

    with pytest.raises(lw.errors.TypingError, match=text) as caught:
        f(records(), np.array([1]))
    assert caught.value.code == code
