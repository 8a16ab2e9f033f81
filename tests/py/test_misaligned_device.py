"""Device arrays whose elements are not at multiples of their size: every door computes what NumPy does, and leaves what it
should not write. A kernel that loaded such an element whole would end the context, and all that follows would fail."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device, needs_kernels
from lanewise import cuda, reductions

pytestmark = needs_device
values = needs_kernels  # these tests compare numbers
DTYPES = ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
PACKED = np.dtype([("flag", "i1"), ("x", "f8"), ("n", "i4"), ("y", "f8")])


def place(array, offset):
    """A device array with these contents, `offset` bytes after a multiple of 256, and the bytes around it."""
    array = np.asarray(array)
    room = np.full(array.nbytes + 32, 0x5A, np.uint8)
    room[offset:offset + array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)
    bytes_there = cuda.to_device(room)
    view = bytes_there[offset:offset + array.nbytes].view(array.dtype).reshape(array.shape)
    assert view.__cuda_array_interface__["data"][0] % 256 == offset and view.dtype == array.dtype
    return view, bytes_there


def put(array, offset=1):
    return place(array, offset)[0]


def numbers(dtype, n=1000, seed=1):
    values = np.random.default_rng(seed).integers(1, 9, n)
    return (values + (1j * values[::-1] if np.dtype(dtype).kind == "c" else 0)).astype(dtype)


def same(got, want):
    got = got.copy_to_host() if isinstance(got, cuda.DeviceArray) else got
    assert got.dtype == np.asarray(want).dtype
    np.testing.assert_array_equal(got, want)


class Foreign:
    """An array of another library."""

    def __init__(self, array, **changes):
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "stream": 1, **changes}


class Strided:
    """A number starts at the n-th byte of each stride of an array of bytes."""

    def __new__(cls, n, dtype, stride):
        room = cuda.to_device(np.zeros(n * stride + 16, np.uint8))
        return Foreign(room, typestr=np.dtype(dtype).str, descr=[("", np.dtype(dtype).str)], shape=(n,), strides=(stride,))


# ---- what arrays say of themselves ----


def test_a_view_keeps_its_dtype():
    a = put(np.arange(5.0), 4)
    assert a.dtype == np.float64 and a.itemsize == 8 and "float64" in repr(a)
    assert a.copy_to_host().tolist() == [0, 1, 2, 3, 4] and a[3] == 3 and a[::2].copy_to_host().tolist() == [0, 2, 4]
    assert a.view("u1").view("f8").copy_to_host().tolist() == [0, 1, 2, 3, 4]


def test_foreign_arrays_may_be_anywhere():
    a, room = place(np.arange(5, dtype="i4"), 3)
    got = cuda.as_cuda_array(Foreign(a))
    assert got.dtype == np.int32 and got.copy_to_host().tolist() == [0, 1, 2, 3, 4]
    assert cuda.as_cuda_array(Strided(4, "f8", 9)).strides == (9,)


def test_dlpack_cannot_say_it():
    with pytest.raises(BufferError, match="not aligned.*copy"):
        put(np.arange(5.0)).__dlpack__()
    assert put(np.arange(5.0)).copy().__dlpack__()


def test_a_forall_that_is_bound_takes_aligned_arrays():
    @lw.forall
    def double(i, x):
        x[i] *= 2

    with pytest.raises(ValueError, match="not aligned"):
        double.bind(5, put(np.arange(5.0)))


def test_arguments_that_share_memory():
    @lw.forall
    def shift(i, x, y):
        y[i] = x[i]

    a = put(np.arange(9.0))
    shift(9, a, a)
    with pytest.raises(ValueError, match="`x` share memory"):
        shift(8, a[1:], a[:-1])
    with pytest.raises(ValueError, match="`x` share memory"):
        shift(9, Foreign(a, shape=(8,)), a)


# ---- every door ----


@values
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", [1, 2, 4, 8, 15])
def test_elementwise(dtype, offset):
    a = numbers(dtype, 300_000)
    f = lw.vectorize(lambda x, y: x * y + x)
    two = lw.vectorize(lambda x: (x + x, x * x))
    x = put(a, offset)
    for _ in range(3):  # the later ones are remembered
        same(f(x, x), f(a, a))
        same(f(cuda.to_device(a), x), f(a, a))
    same(f(x[::3], x[::3]), f(a[::3], a[::3]))
    same(f(x[::-1], x), f(a[::-1], a))
    for got, want in zip(two(x), two(a)):
        same(got, want)


@values
@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise_output(dtype):
    a = numbers(dtype)
    f = lw.vectorize(lambda x: x + x)
    for size in (slice(None), slice(None, None, 2), slice(None, None, -1)):
        out, room = place(np.zeros_like(a), 3)
        want = np.zeros_like(a)
        f(cuda.to_device(a)[size], out=out[size])
        want[size] = f(a[size])
        same(out, want)
        around = room.copy_to_host()
        assert (around[:3] == 0x5A).all() and (around[3 + a.nbytes:] == 0x5A).all()
    where = np.arange(a.size) % 3 == 0
    out = put(a, 5)
    assert f(out, out=out, where=cuda.to_device(where)) is out
    same(out, np.where(where, a + a, a).astype(dtype))
    out = put(a, 5)
    f(out[:-1], out=out[1:])
    same(out, np.concatenate([a[:1], f(a[:-1])]))
    out = put(np.zeros(a.size, "c16"), 7)
    f(put(a, 3), out=out)
    same(out, f(a).astype("c16"))
    x = put(a)
    x += x
    same(x, a + a)


@values
@pytest.mark.parametrize("items, core", [(5, 3), (4200, 3), (3, 5000)])
@pytest.mark.parametrize("dtype", ["i2", "f4", "f8", "c16"])
def test_gufuncs(dtype, items, core):
    @lw.guvectorize("(n),()->(n),()")
    def scaled(x, by, y, total):
        t = x[0] - x[0]
        for i in range(x.shape[0]):
            y[i] = x[i] * by
            t += x[i]
        total[0] = t

    a, by = numbers(dtype, items * core).reshape(items, core), numbers(dtype, items, 2)
    want = scaled(a, by)
    for _ in range(3):
        for got, expected in zip(scaled(put(a), put(by, 3)), want):
            same(got, expected)
    out, total = put(np.zeros_like(a)), put(np.zeros(items, want[1].dtype), 7)
    got = scaled(put(a, 5), put(by), out=(out, total))
    assert got[0] is out and got[1] is total
    same(out, want[0])
    same(total, want[1])
    wide = put(np.zeros(a.shape, "c16"))
    scaled(put(a), put(by), out=(wide, None))
    same(wide, want[0].astype("c16"))


@values
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", [1, 4, 8])
def test_reductions(dtype, offset):
    a = numbers(dtype, 60_000).reshape(200, 300)
    x = put(a, offset)
    total, last = lw.reduce(lambda a, b: a + b), lw.reduce(lambda a, b: b)
    for axis in (None, 0, 1, (0, 1)):
        for _ in range(2):
            same(total(x, axis=axis), total(a, axis=axis))
            same(last(x, axis=axis), last(a, axis=axis))
        same(total(x[::2, ::-1], axis=axis), total(a[::2, ::-1], axis=axis))
    same(x.max(axis=1) if a.dtype.kind != "c" else x.sum(axis=1), a.max(axis=1) if a.dtype.kind != "c" else reductions.sum(a, axis=1))
    want = total(a, axis=0)
    out = put(np.zeros_like(want), offset)
    assert total(x, axis=0, out=out) is out
    same(out, want)
    out = put(np.zeros(300, "c16"))
    total(x, axis=0, out=out)
    same(out, want.astype("c16"))
    same(total(x, where=cuda.to_device(a.real > 4)), total(a, where=a.real > 4))


@values
@pytest.mark.parametrize("dtype", DTYPES)
def test_scans_slices_and_keys(dtype):
    a = numbers(dtype, 20_000)
    x, total = put(a), lw.reduce(lambda a, b: a + b)
    for _ in range(2):
        same(total.accumulate(x), total.accumulate(a))
    out = put(np.zeros_like(total.accumulate(a)), 3)
    total.accumulate(x, out=out)
    same(out, total.accumulate(a))
    same(total.accumulate(put(a.reshape(50, 400)), axis=0), total.accumulate(a.reshape(50, 400), axis=0))
    same(total.reduceat(x, [0, 5, 700, 3]), total.reduceat(a, [0, 5, 700, 3]))
    same(total.reduceat(x, put(np.array([0, 5, 700, 3]))), total.reduceat(a, [0, 5, 700, 3]))
    if a.dtype.kind in "iu":
        keys = np.sort(a)
        for got, want in zip(total.by_key(put(keys, 3), x), total.by_key(keys, a)):
            same(got, want)


@values
def test_packed_records():
    a = np.zeros((40, 50), PACKED)
    for name in PACKED.names:
        a[name] = np.random.default_rng(1).integers(0, 100, a.shape)
    d = cuda.to_device(a)
    best = lw.reduce(lambda p, q: p if p.x >= q.x else q)
    for axis in (None, 0, 1):
        same(best(d, axis=axis), best(a, axis=axis))
        same(reductions.sum(d["x"], axis=axis), a["x"].sum(axis=axis))
        same(reductions.sum(d[::2, ::3]["y"], axis=axis), a[::2, ::3]["y"].sum(axis=axis))
    same(best.accumulate(d, axis=1), best.accumulate(a, axis=1))
    for name in PACKED.names:
        same(d[name].copy(), a[name])
        same(d[name] + 1, a[name] + 1)
        same(d[::2, 1:][name].astype("f4"), a[::2, 1:][name].astype("f4"))
    d["y"][...] = d["x"]
    d["n"].fill(7)
    d["x"][::2] = 3
    a["y"], a["n"], a["x"][::2] = a["x"], 7, 3
    same(d, a)
    aligned = put(np.array([(1, 2.5), (3, 4.5)], np.dtype([("n", "i4"), ("x", "f8")], align=True)), 1)
    assert lw.reduce(lambda p, q: p if p.x >= q.x else q)(aligned).copy_to_host().item() == (3, 4.5)


@values
@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_casts_and_fills(dtype):
    a = numbers(dtype, 3000).reshape(30, 100)
    for offset in range(1, 16):
        x = put(a, offset)
        same(x.copy(), a)
        same(x.T[::2, 1:].copy(), a.T[::2, 1:])
        for to in ("c16", dtype) if a.dtype.kind == "c" else ("f8", "c16", "i1", dtype):
            same(x.astype(to), a.astype(to))
            same(x[:, ::2].astype(to), a[:, ::2].astype(to))
        y = put(np.zeros_like(a), 16 - offset)
        y[:, ::2] = x[:, ::2]
        want = np.zeros_like(a)
        want[:, ::2] = a[:, ::2]
        same(y, want)
        z = put(np.zeros(a.shape, "c16"), offset)
        z[:, 1::3] = x[:, 1::3]
        want = np.zeros(a.shape, "c16")
        want[:, 1::3] = a[:, 1::3]
        same(z, want)
        x.fill(3)
        y[:, 1::2] = 5
        want = np.where(np.arange(100) % 2, 5, a).astype(dtype)
        same(y, want)
        assert (x.copy_to_host() == 3).all()
        y[1:, 2:] = y[:-1, :-2]  # overlapping
        want[1:, 2:] = want[:-1, :-2].copy()
        same(y, want)


@values
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", [1, 2, 4, 8])
def test_kernels(dtype, offset):
    @lw.forall
    def double(i, x, y):
        y[i] = x[i] + x[i]

    @cuda.jit
    def pairs(x, y):
        i = cuda.grid(1)
        if 2 * i + 1 < x.size:
            y[2 * i] = x[2 * i + 1]
            y[2 * i + 1] = x[2 * i]

    a = numbers(dtype)
    want = (a + a).astype(dtype)
    for x, y in ((put(a, offset), put(np.zeros_like(a), offset)), (cuda.to_device(a), put(np.zeros_like(a), offset)),
                 (put(a, offset), cuda.to_device(np.zeros_like(a)))):
        double(a.size, x, y)
        same(y, want)
        pairs[4, 256](x, y)
        same(y, a.reshape(-1, 2)[:, ::-1].ravel())
        same(x, a)
    x = put(a, offset)
    double(a.size, x, x)
    same(x, want)
    x = put(a, offset)
    double(a[::3].size, x[::3], x[::3])
    b = a.copy()
    b[::3] += b[::3]
    same(x, b)
    y = put(np.zeros_like(a), 16 - offset)
    double(a.size, Foreign(put(a, offset)), Foreign(y))
    same(y, want)


@values
def test_strides_that_are_no_multiples():
    room = np.zeros(100 * 9 + 16, np.uint8)
    host = np.ndarray((100,), "f8", room, 1, (9,))
    host[:] = np.arange(100)
    there = cuda.to_device(room)
    x = Foreign(there, typestr="<f8", descr=[("", "<f8")], shape=(100,), strides=(9,), data=(there.__cuda_array_interface__["data"][0] + 1, False))
    f = lw.vectorize(lambda x: x * 2)
    same(f(x), host * 2)
    same(lw.reduce(lambda a, b: a + b)(x), host.sum())
    assert f(x, out=x) is x
    host *= 2
    assert there.copy_to_host().tobytes() == room.tobytes()


@values
def test_excluded_arrays():
    @lw.vectorize(excluded={1})
    def pick(i, table):
        return table[i]

    a, i = numbers("f8"), np.arange(0, 1000, 7)
    for x in (put(a, 4), Foreign(put(a, 1))):
        same(pick(cuda.to_device(i), x), a[i])


@values
def test_products():
    rng = np.random.default_rng(1)
    for dtype in ("f4", "f8"):
        for n in (3, 64, 200):
            a, b = (rng.integers(-5, 5, (n, n)).astype(dtype) for _ in range(2))
            same(put(a) @ put(b, 3), a @ b)
            out = put(np.zeros_like(a), 7)
            lw.ufuncs.matmul(put(a), cuda.to_device(b), out=out)
            same(out, a @ b)


@values
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_random_fills(dtype):
    for name in ("random", "standard_normal", "exponential"):
        want = cuda.to_device(np.zeros(3001, dtype))
        out, room = place(np.zeros(3001, dtype), 3)
        getattr(lw.random.Generator(3), name)(out=want, **({} if name == "exponential" else {"dtype": dtype}))
        getattr(lw.random.Generator(3), name)(out=out, **({} if name == "exponential" else {"dtype": dtype}))
        same(out, want.copy_to_host())
        around = room.copy_to_host()
        assert (around[:3] == 0x5A).all() and (around[3 + out.nbytes:] == 0x5A).all()
