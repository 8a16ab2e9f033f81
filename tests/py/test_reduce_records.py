"""Reductions of records: elements, accumulators and results with fields, and tuples in tuples."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device, needs_kernels
from lanewise import cuda

POINT = np.dtype([("x", "f4"), ("n", "i4"), ("y", "f8")])
PACKED = np.dtype([("k", "i1"), ("y", "f8"), ("c", "c8")])
NESTED = np.dtype([("at", [("t", "f8"), ("u", "i2")]), ("v", "f4", (2, 2))], align=True)

sums = lw.reduce(lambda a, b: (a.x + b.x, a["n"] + b["n"], max(a.y, b.y)))
top = lw.reduce(lambda a, b: a if a.y >= b.y else b)
moved = lw.reduce(lambda a, b: (a.x * b.x, a.n, a.y * b.x + b.y))  # not commutative


def some(shape, dtype=POINT, seed=0):
    rng = np.random.default_rng(seed)
    array = np.zeros(shape, dtype)
    fill(array, rng)
    return array


def fill(array, rng):
    for name in array.dtype.names or ():
        field = array[name]
        if field.dtype.names:
            fill(field, rng)
        else:
            field[...] = rng.integers(0, 100, field.shape)


@pytest.mark.parametrize("shape, axis", [((1,), None), ((1000,), 0), ((70_000,), 0), ((30, 40), 0), ((30, 40), 1), ((5, 6, 7), (0, 2))], ids=str)
def test_fields_one_by_one(shape, axis):
    a = some(shape)
    got = sums(a, axis=axis)
    assert got.dtype == POINT
    for name, ufunc in (("x", np.add), ("n", np.add), ("y", np.maximum)):
        np.testing.assert_array_equal(got[name], ufunc.reduce(a[name], axis=axis, dtype=a[name].dtype))


def test_the_record_itself():
    a = some(5000, seed=3)
    assert top(a) == a[np.argmax(a["y"])] and isinstance(top(a), np.void)
    assert top(a[::-3]) == a[::-3][np.argmax(a["y"][::-3])]
    out = np.zeros(50, POINT)
    assert top(a.reshape(50, 100), axis=1, out=out) is out
    np.testing.assert_array_equal(out, [row[np.argmax(row["y"])] for row in a.reshape(50, 100)])


def test_map_combine_finish():
    a = some(3000)
    dot = lw.reduce(lambda a, b: a + b, map=lambda p, w: p.x * w)
    assert dot(a, np.arange(3000.0)) == (a["x"] * np.arange(3000.0)).sum()
    counted = lw.reduce(map=lambda p, index: (p, index), finish=lambda p, at: (at, p),
                        combine=lambda a, b: a if a[0].n > b[0].n or (a[0].n == b[0].n and a[1] < b[1]) else b)
    at, best = counted(a)
    assert at == np.argmax(a["n"]) and best == a[at] and best.dtype == POINT
    assert lw.reduce(lambda ax, an, ay, bx, bn, by: (ax + bx, an, by))(a)["x"] == a["x"].sum()
    assert lw.reduce(lambda a, b: a, finish=lambda x, n, y: x + y)(a) == a["x"][0] + a["y"][0]


def test_packed_and_nested_records():
    a = some(400, PACKED)
    got = lw.reduce(lambda a, b: (a.k + b.k, a.y + b.y, a.c + b.c))(a)
    assert got.dtype == PACKED
    assert got["k"] == a["k"].sum(dtype="i1") and got["y"] == a["y"].sum() and got["c"] == a["c"].sum()
    a = some((6, 50), NESTED)
    last = lw.reduce(lambda a, b: b if b.at.t > a.at.t else a)
    np.testing.assert_array_equal(last(a, axis=1), [row[np.argmax(row["at"]["t"])] for row in a])
    corner, inner = lw.reduce(map=lambda q: (q.v[0][1], q.at), combine=lambda a, b: (a[0] + b[0], b[1]))(a)
    assert corner == a["v"][..., 0, 1].sum() and inner["u"] == a["at"]["u"][-1, -1] and inner.dtype.names == ("t", "u")


def test_wider_fields_make_another_dtype():
    a = np.array([(1, 2.0), (3, 4.0)], [("n", "i4"), ("f", "f4")])
    got = lw.reduce(lambda a, b: (a.n + b.f, b.f))(a)
    assert got.dtype.names == ("n", "f") and got["n"].dtype == np.float64 and got["n"] == 5


def test_where_initial_identity():
    a = some(90)
    assert sums(a, where=np.arange(90) < 10, initial=(1, 2, -np.inf)) == sums(np.concatenate([np.array([(1, 2, -np.inf)], POINT), a[:10]]))
    start = np.array((5, 6, 7), POINT)
    for initial in ((5, 6, 7), start, start[()]):
        assert sums(a[:0], initial=initial) == start[()]
    given = lw.reduce(lambda a, b: (a.x + b.x, a.n + b.n, a.y + b.y), identity=(0, 0, 0))
    np.testing.assert_array_equal(given(np.zeros((0, 3), POINT), axis=0), np.zeros(3, POINT))


def test_scans_slices_keys():
    a = some(3000, seed=5)
    np.testing.assert_array_equal(top.accumulate(a), [a[np.argmax(a["y"][:i + 1])] for i in range(3000)])
    rows = a.reshape(30, 100)
    np.testing.assert_array_equal(top.accumulate(rows, axis=1)[7], top.accumulate(rows[7]))
    np.testing.assert_array_equal(top.reduceat(a, [0, 10, 500]), [top(a[:10]), top(a[10:500]), top(a[500:])])
    keys, best = top.by_key(np.arange(3000) // 700, a)
    np.testing.assert_array_equal(best, [top(a[i:i + 700]) for i in range(0, 3000, 700)])
    assert keys.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("n", [1, 2, 33, 700])
def test_order_is_kept(n):
    a = some(n, seed=n)
    a["x"] = a["n"] % 2 * 2 - 1  # exact
    step = lambda p, q: (p[0] * q[0], p[1], p[2] * q[0] + q[2])
    wanted = functools.reduce(step, [tuple(item) for item in a.tolist()])
    assert moved(a).tolist() == wanted and moved._simulate(a, size=3).tolist() == wanted


# ---- the kernels for GPUs, simulated ----


@pytest.mark.parametrize("n", [1, 31, 1000, 9000])
def test_simulated(n):
    a = some(n, seed=n)
    assert sums._simulate(a, size=4) == sums(a)
    a["x"] = a["n"] % 2 * 2 - 1  # exact
    np.testing.assert_array_equal(moved._simulate_scan(a[:700], size=2), moved.accumulate(a[:700]))
    np.testing.assert_array_equal(top._simulate_slices(a, [0, n // 2]), top.reduceat(a, [0, n // 2]))
    keys, best = top._simulate_by_key(np.arange(n) // 7, a)
    np.testing.assert_array_equal(best, top.by_key(np.arange(n) // 7, a)[1])


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 255, 256, 257, 511, 513, 1023, 1025, 4095, 4096, 4097])
def test_hashes_one_behind_the_other(n):
    """As in hashes of strings, an element has the value of the whole and the weight of its length; the order must not change."""
    data = np.empty(n, [("value", "u8"), ("weight", "u8")])
    data["value"], data["weight"] = np.random.default_rng(n).integers(0, 1 << 63, (2, n), dtype="u8") | np.uint64(1)
    joined = lw.reduce(lambda a, b: (a.value * b.weight + b.value, a.weight * b.weight))
    wanted = functools.reduce(lambda a, b: ((a[0] * b[1] + b[0]) % 2**64, a[1] * b[1] % 2**64), data.tolist())
    assert joined(data).item() == wanted
    assert joined._simulate(data, size=3).item() == wanted
    assert joined._simulate_scan(data[-300:], size=1)[-1].item() == joined(data[-300:]).item()


def test_simulated_along_axes():
    a = some((40, 60), NESTED)
    last = lw.reduce(lambda a, b: b if b.at.t > a.at.t else a)
    for axis in (0, 1):
        np.testing.assert_array_equal(last._simulate(a, axis=axis), last(a, axis=axis))
        np.testing.assert_array_equal(last._simulate_scan(a[:20, :20], axis=axis), last.accumulate(a[:20, :20], axis=axis))


@pytest.mark.parametrize("cc", [75, 120])
def test_compiles_for_gpus(cc):
    assert sums._simulate(some(1000), res=cc)[:4] == b"\x7fELF"


# ---- device arrays ----


@needs_device
def test_device_arrays():
    a = some((30, 40))
    device = cuda.to_device(a)
    for got, wanted in ((top(device), ()), (top(device, axis=1), (30,)), (top(device.T, axis=0, keepdims=True), (1, 30)), (top.accumulate(device, axis=1), (30, 40)),
                        (top.reduceat(device, [0, 7]), (2, 40)), (top(device[::2, ::-3]), ())):
        assert isinstance(got, cuda.DeviceArray) and got.dtype == POINT and got.shape == wanted
    out = cuda.to_device(np.zeros(40, POINT))
    assert top(device, axis=0, out=out) is out
    assert top.by_key(cuda.to_device(np.zeros(30, "u2")), device)[0].dtype == "u2"  # the keys, not a number of the records
    counted = lw.reduce(map=lambda p, w: (p.x * w, (p, 1)), combine=lambda a, b: (a[0], b[1]))
    first, (record, one) = counted(device, cuda.to_device(np.ones((30, 40))), axis=0)
    assert (first.dtype, record.dtype, one.dtype) == (np.float64, POINT, np.int64) and record.shape == (40,)
    assert lw.reduce(lambda a, b: a)(cuda.to_device(some(5, PACKED))).dtype == PACKED


@needs_device
@needs_kernels
def test_device_arrays_give():
    a = some((300, 40))
    a["x"] = a["n"] % 2 * 2 - 1  # exact
    device = cuda.to_device(a)
    for axis in (0, 1, None):
        assert (top(device, axis=axis).copy_to_host() == top(a, axis=axis)).all()
        assert (sums(device, axis=axis).copy_to_host() == sums(a, axis=axis)).all()
    assert (top.accumulate(device, axis=1).copy_to_host() == top.accumulate(a, axis=1)).all()
    keys, best = moved.by_key(cuda.to_device(np.arange(300) // 7), device)
    assert (best.copy_to_host() == moved.by_key(np.arange(300) // 7, a)[1]).all() and keys.size == 43


# ---- tuples in tuples ----


def test_nested_tuples():
    a = np.arange(100.0)
    nested = lw.reduce(lambda a, b: ((a[0][0] + b[0][0], a[0][1] + b[0][1]), a[1] + b[1]), map=lambda x: ((x, x * x), 1))
    assert nested(a) == ((a.sum(), (a * a).sum()), 100) == nested._simulate(a, size=2)
    assert nested(a, initial=((1, 2), 3)) == ((a.sum() + 1, (a * a).sum() + 2), 103)
    outs = tuple(np.zeros(5, t) for t in ("f8", "f8", "i8"))
    (x, y), z = nested(a.reshape(5, 20), axis=1, out=outs)
    assert x is outs[0] and y is outs[1] and z is outs[2] and z.tolist() == [20] * 5
    pair = lw.reduce(lambda a, b: (a[0] + b[0], a[1]), finish=lambda p, n: (p, (n, n)))
    assert pair(a, np.arange(100)) == (a.sum(), (0, 0))


@pytest.mark.parametrize("call, error, text", [
    (lambda a: lw.reduce(lambda a, b: a.z)(a), lw.errors.TypingError, "no attribute `z`(.|\n)*record.x: float32, n: int32, y: float64."),
    (lambda a: lw.reduce(lambda a, b: a["z"])(a), lw.errors.TypingError, "the record has no field `z`"),
    (lambda a: lw.reduce(lambda a, b: (a.x, b.y))(a), TypeError, "gives a tuple of 2 numbers, but the accumulators"),
    (lambda a: lw.reduce(lambda a, b: a + b)(a), TypeError, "gives a tuple of 6 numbers, but the accumulators that it takes have a record of 3"),
    (lambda a: sums(a, dtype="f4"), TypeError, "dtype= is for arrays of numbers"),
    (lambda a: sums(a, initial=3), TypeError, "initial= must be a record or a tuple of 3 items"),
    (lambda a: sums(a, initial=(1, 2)), TypeError, "initial= must be a record or a tuple of 3 items"),
    (lambda a: sums(a, out=np.zeros((), "f4")), TypeError, "cannot take results"),
    (lambda a: sums(np.zeros(3, [("s", "O"), ("x", "f4")])), TypeError, "field `s`"),
    (lambda a: sums(np.zeros(3, [("v", "f4", 17)])), TypeError, "17 numbers"),
    (lambda a: lw.reduce(lambda a, b: a, map=lambda p: ())(a), TypeError, "tuple of 0 numbers"),
])
def test_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(some(10))
