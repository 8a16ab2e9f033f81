"""Arrays of records that compiled functions make, copy and return: as NumPy does it, for packed, aligned and nested dtypes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, njit, prange

PACKED = np.dtype([("a", "f8"), ("b", "i1"), ("v", "f4", (2, 3)), ("n", [("p", "i2"), ("q", "c8")])])
ALIGNED = np.dtype(PACKED.descr, align=True)
LARGE = np.dtype([("a", "f8", (50,)), ("b", "u1"), ("n", [("q", "i4")])])


def filled(dtype, n):
    x = np.zeros(n, dtype)
    rng = np.random.default_rng(5)
    for name in dtype.names:
        for field in [x[name]] if dtype[name].names is None else [x[name][m] for m in dtype[name].names]:
            field[...] = rng.integers(1, 100, field.shape)
    return x


def columns(x):
    return [c for name in x.dtype.names for c in columns(x[name])] if x.dtype.names else [x.tolist()]


def same(mine, wanted):
    if isinstance(wanted, tuple):
        assert len(mine) == len(wanted)
        for pair in zip(mine, wanted):
            same(*pair)
    elif isinstance(wanted, np.ndarray):
        assert (mine.dtype, mine.dtype.isalignedstruct, mine.shape) == (wanted.dtype, wanted.dtype.isalignedstruct, wanted.shape)
        assert columns(mine) == columns(wanted)
    else:
        assert mine == wanted


def like_numpy(f, *args):
    mine, theirs = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    same(njit(f)(*mine), f(*theirs))
    same(tuple(mine), tuple(theirs))


def makes(x):
    return np.zeros(2, x.dtype), np.zeros((2, 3), x.dtype), np.ones(2, x.dtype), np.full(3, x[1]), np.zeros_like(x), np.ones_like(x[:1]), np.empty_like(x).shape


def copies(x):
    y = np.copy(x)
    y[2:5] = x[:3]
    z = np.zeros((3, len(x)), x.dtype)
    z[:] = y
    z[1] = y[::-1]
    z[2, :] = x[3]
    z[0, 4] = x[0]
    return x.copy(), x[::-1].copy(), y, z, z.T.copy(), z[:, ::2].copy()


def overlaps(x):
    y, z, w = x.copy(), x.copy(), x.copy()
    x[:] = x[::-1]
    y[1:] = y[:-1]
    z[:-2] = z[2:]
    w[1:4] = w[3:6]
    return y, z, w


def moves(x):
    return (np.concatenate((x, x[1:3])), np.stack((x, x)), np.repeat(x, 2), np.tile(x, 2), np.roll(x, 2), x.reshape(2, 3), np.take(x, [4, 1]),
            x[x["b"] > 40], x[np.array([5, 0, 5])], np.flip(x), x.reshape(3, 2).T.ravel())


def asks(x):
    y = x.copy()
    return y.size, y.shape, y.ndim, y.itemsize, y.nbytes, y.strides, y.dtype.itemsize, y.dtype == x.dtype, len(y.dtype.names)


def views(x):
    y = x.copy()
    y["b"] = 7
    y["n"]["q"][1:] = 3
    r = y[2]
    r["b"] = 9
    y[3] = r
    for s in y[4:]:
        s["b"] = 1
    return y, y["b"], y["n"], y["n"]["q"].copy()


@pytest.mark.parametrize(("f", "dtype"), [
    *[(f, PACKED) for f in (makes, copies, overlaps, moves, asks, views)], (makes, ALIGNED), (views, ALIGNED), (overlaps, LARGE)])
def test_as_in_numpy(f, dtype):
    like_numpy(f, filled(dtype, 6))


def stores(x):
    y = np.zeros(5, x.dtype)
    y[0] = (1.5, 2, 3, (4, 5))
    y[1] = x[1]["a"], 2, x["v"][1], x[2]["n"]
    y[2:] = (1, 2, [5, 6, 7], (8, 9))
    y[3] = 6
    y["n"][4] = (1, 2)
    x[:] = 0
    return y


@pytest.mark.parametrize("dtype", [PACKED, ALIGNED])
def test_tuples_and_numbers_are_stored_in_records(dtype):
    like_numpy(stores, filled(dtype, 3))


def of_tuples(x):
    return (np.array([(1, 2, 3, (4, 5)), (x[0]["a"], 2, x[1]["v"], x[2]["n"])], x.dtype), np.array([[(1, 2, 3, (4, 5))], [(6, 7, 8, (9, 0))]], dtype=PACKED),
            np.array((1, 2, 3, (4, 5)), x.dtype), np.array([x[0], x[2]]), np.append(x, np.array([x[1]], x.dtype)), np.array([], x.dtype), np.array([5, 6], x.dtype))


def test_arrays_of_tuples():
    like_numpy(of_tuples, filled(PACKED, 3))


def test_padding_is_zeroed():
    assert not njit(lambda n: np.zeros(n, ALIGNED))(50).view(np.uint8).any()


def last(n):
    y = np.zeros(2, PACKED)
    y[1]["a"] = n
    y[1]["n"]["p"] = n + 1
    y[1]["v"][1] = n
    return y[1]


def outlives(n):
    first = np.zeros(1, PACKED)[0]
    rows = first["v"]
    before = now = last(100)
    for i in range(n):
        y = np.zeros(1, PACKED)
        y[0]["a"] = i + 1
        y[0]["v"][0, 1] = i + 1
        if i == 1:
            first, rows = y[0], y[0]["v"]
        before, now = now, last(i)
    pair = last(7)["n"], 1
    last(50)
    return first["a"], rows[0, 1], before["a"], now["n"]["p"], now["v"][1, 2], pair[0]["p"]


def test_records_keep_their_memory():
    assert njit(outlives)(5) == outlives(5) == (2, 2, 3, 5, 4, 8)


def test_results_hold_the_only_reference():
    y, column, nested, copy = njit(views)(filled(PACKED, 6))
    assert [copy.base.refcount, y.base.refcount] == [1, 3]
    del column, nested
    assert y.base.refcount == 1


def test_dtypes_of_results():
    titled = np.dtype([(("title", "a"), "f8"), ("b", "i4")])
    plain = np.dtype([("a", "f8"), ("b", "i4")])
    f = njit(lambda x: (x.copy(), np.zeros(1, x.dtype), x[1:]))
    for dtype in (plain, titled, np.dtype((np.record, plain)), np.dtype(plain.descr, align=True)):
        for made in f(np.zeros(3, dtype)):
            assert made.dtype == dtype and made.dtype.type is dtype.type and made.dtype.isalignedstruct == dtype.isalignedstruct
    x = np.zeros(4, plain)
    x.flags.writeable = False
    copy, _, view = f(x)
    assert copy.flags.writeable and not view.flags.writeable and np.shares_memory(view, x)
    made = njit(lambda n: np.ones(n, titled))
    assert "-> Record(a: float64, b: int32)[::1]" in lw.explain(made, 2)
    assert pickle.loads(pickle.dumps(made))(2).dtype == titled
    kind = lw.from_dtype(plain)
    assert njit(kind[::1](lw.int64))(lambda n: np.ones(n, plain))(2).tolist() == [(1, 1), (1, 1)]


NUMBERS = np.arange(6.0).reshape(2, 3)
TABLE = filled(PACKED, 3)


def test_arrays_of_constant_shape_are_results():
    x = filled(PACKED, 3)
    for f in (lambda r: r["v"], lambda r: r["v"][1], lambda r: (r["v"], 1)):
        same(njit(f)(x[1]), f(x[1]))
    assert np.shares_memory(njit(lambda x: x[1]["v"])(x), x)
    like_numpy(lambda n: (NUMBERS, NUMBERS[n], TABLE, TABLE[1:], TABLE[n]["v"]), 1)


def in_thread(x, out):
    i = cuda.grid(1)
    if i < out.size:
        y = np.zeros(2, PACKED)
        z = x.copy()
        y[0] = z[i]
        y[1] = y[0]
        r = y[1]
        r["a"] += 1
        r["n"]["p"] = i
        y[:] = y[::-1]
        out[i] = y[0]


def test_kernels():
    x = filled(PACKED, 4)
    out, wanted = np.zeros(4, PACKED), x.copy()
    wanted["a"] += 1
    wanted["n"]["p"] = np.arange(4)
    kernel = cuda.jit(in_thread)
    with lw.config(target="cpu"):
        kernel[1, 32](x, out)
    same(out, wanted)
    kind = lw.from_dtype(PACKED)
    assert lw.compile(kernel, lw.void(kind[::1], kind[::1]), target="sm_90")[:4] == b"\x7fELF"


def test_other_decorators():
    @lw.guvectorize("(n)->()")
    def weighted(v, out):
        y = np.zeros(len(v), ALIGNED)
        for i in range(len(v)):
            y[i] = (v[i], i, v[i], (i, v[i]))
        s = 0.0
        for r in y[::-1].copy():
            s += r["a"] * r["b"] + r["v"][0, 1]
        out[()] = s

    assert weighted(np.arange(6.0).reshape(2, 3)).tolist() == [8, 26]

    @njit
    def parallel(n):
        out = np.zeros(n, ALIGNED)
        for i in prange(n):
            r = out[i]
            r["a"] = i
            r["v"][1] = i
            r["n"] = (i, 2 * i)
        return out

    out = parallel(100)
    assert (out["a"] == np.arange(100)).all() and (out["v"][:, 1, 2] == out["a"]).all() and (out["n"]["q"] == 2 * out["a"]).all()


class Span:
    lo: float
    hi: float

    def __init__(self, lo, hi):
        self.lo = lo
        self.hi = hi


def test_arrays_of_objects():
    dtype = lw.extending.dtype_of(Span)

    @njit
    def spans(n):
        y = np.zeros(n, dtype)
        y[1:] = Span(3.0, 4.0)
        y[0] = Span(1.0, 2.0)
        z = y[::-1].copy()
        z[1].lo = 9.0
        return z

    made = spans(3)
    assert made.dtype == dtype and isinstance(made[0], Span) and [(s.lo, s.hi) for s in made] == [(3, 4), (9, 4), (1, 2)]
