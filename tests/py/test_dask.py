"""Ufuncs, gufuncs and kernels over Dask arrays against the call in memory; xarray over Dask; what is refused."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

pytest.importorskip("dask.array")
from dask_checks import Pairs, chunkings, da, dask, shapes  # noqa: E402

TABLE = np.arange(100.0)


@lw.vectorize
def wave(x, y):
    return x * y + 1


@lw.vectorize
def two(x, y):
    return x + y, x * 2 - y


look = lw.vectorize(lambda x, table: table[int(x)], excluded=["table"])
times = lw.vectorize(lambda x, k: x * k, static=["k"])


@lw.guvectorize([], "(n),(n)->(),(n)")
def running(x, y, s, out):
    t = 0.0
    for i in range(x.shape[0]):
        t += x[i] * y[i]
        out[i] = t
    s[0] = t


@lw.guvectorize([], "(m,n),(n)->(m)")
def product(a, v, out):
    for i in range(a.shape[0]):
        out[i] = 0
        for k in range(v.shape[0]):
            out[i] += a[i, k] * v[k]


def test_elements():
    rng, pairs = np.random.default_rng(1), Pairs()
    for _ in range(10):
        shape = shapes(rng)
        x, y, mask = rng.integers(0, 9, shape), rng.integers(1, 9, shape[1:]), rng.integers(0, 2, shape).astype(bool)
        d, e, m = (da.from_array(one, chunks=chunkings(rng, one.shape)) for one in (x, y, mask))
        pairs.add(two(x, y), two(d, e), "two outputs")
        pairs.add(wave(x, 2), wave(d, 2), "a number")
        pairs.add(wave(y, x), wave(y, d), "NumPy's and Dask's")
        pairs.add(np.where(mask, wave(x, y), 0), wave(d, e, where=m), "where")
        pairs.add(np.where(mask, wave(x, y), 0), wave(x, y, where=m), "where alone")
        pairs.add(wave.outer(x, y), wave.outer(d, e), "outer")
        pairs.add(TABLE[x], look(d, TABLE), "excluded")
        pairs.add(TABLE[x], look(d, table=da.from_array(TABLE, chunks=7)), "excluded, Dask's")
        pairs.add(x * 3, times(d, k=3), "static")
        pairs.add(np.add(x, y), lw.add(d, e), "lw.add")
        pairs.add(np.divmod(x, y), lw.divmod(d, e), "lw.divmod")
        pairs.add(np.add.reduce(x), lw.add.reduce(d), "reduce")
        pairs.add(np.add.accumulate(x), lw.add.accumulate(d), "accumulate")
    pairs.add(np.float32(5), wave(da.from_array(np.float32(2)), 2), "no dimension, a weak number")
    pairs.add(wave(x, y, dtype="f4"), wave(d, e, dtype="f4"), "dtype")
    assert pairs.check() > 140


def test_layouts():
    rng, pairs = np.random.default_rng(2), Pairs()
    for _ in range(8):
        x = rng.integers(0, 9, (*shapes(rng, most=2), 4)).astype("f8")
        d = da.from_array(x, chunks=chunkings(rng, x.shape))
        axis = int(rng.integers(x.ndim))
        whole = d.rechunk({axis: -1})
        pairs.add(running(x, x), running(d, d, allow_rechunk=True), "allow_rechunk")
        pairs.add(running(x, x, axes=[axis, axis, (), axis]), running(whole, whole, axes=[axis, axis, (), axis]), "axes")
        pairs.add(running(x, x[..., :]), running(d.rechunk({-1: -1}), x), "NumPy's and Dask's")
        a = rng.integers(0, 9, (*x.shape[:-1], 3, 4)).astype("f8")
        b = da.from_array(a, chunks=(*chunkings(rng, a.shape[:-2]), 3, 4))
        pairs.add(product(a, x[..., :]), product(b, x), "two core dimensions")
        pairs.add(product(a, x, axes=[(-2, -1), -1, 0]), product(b, x, axes=[(-2, -1), -1, 0]), "axes of the result")
        pairs.add(a @ x[..., None], lw.matmul(b, x[..., None]), "lw.matmul")
    matrix = np.arange(12.0).reshape(3, 4)
    pairs.add(matrix @ matrix.T, lw.matmul(da.from_array(matrix, chunks=(2, -1)), matrix.T, allow_rechunk=True), "no loop")
    pairs.check()


def test_names_and_tokens():
    d = da.ones((4, 4), chunks=2)
    assert wave(d, 1).name.startswith("wave-") and two(d, 1)[1].name.startswith("two-")
    assert wave(d, 1).name == wave(d, 1).name != wave(d, 2).name
    assert lw.random.Generator(1).normal(size=4, chunks=2).name.startswith("normal-")
    assert dask.base.tokenize(lw.random.Generator(1)) == dask.base.tokenize(lw.random.Generator(1))


# ---- kernels ----


@lw.forall(ndim=2)
def smooth(i, j, field, out):
    if 0 < i < field.shape[0] - 1 and 0 < j < field.shape[1] - 1:
        out[i, j] = (field[i - 1, j] + field[i + 1, j] + field[i, j - 1] + field[i, j + 1]) / 4
    else:
        out[i, j] = field[i, j]


@lw.forall
def place(i, x, scale, out, at):
    out[i] = x[i] * scale + i
    at[i] = i


@lw.forall
def around(i, x, out):
    out[i] = x[i - 1] + x[(i + 1) % x.size]


@lw.jit
def thread(x, out, offset):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + i + offset


@lw.jit
def threads(x, out, offset):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        out[i, j] = x[i, j] + (i + offset[0]) * 100 + j + offset[1]


def test_map_blocks():
    rng, pairs = np.random.default_rng(3), Pairs()
    field = rng.integers(0, 100, (400, 400)).astype("f8")  # from a megabyte on, addresses without memory
    expected = np.zeros_like(field)
    smooth(field.shape, field, expected)
    for chunks in ((100, 70), (400, 400), ((1, 399), (200, 199, 1))):
        pairs.add(expected, lw.map_blocks(smooth, da.from_array(field, chunks=chunks), depth=1), chunks)
    x = rng.integers(0, 9, 50)
    d = da.from_array(x, chunks=(7, 3, 20, 20))
    pairs.add((x * 2 + np.arange(50), np.arange(50, dtype="i4")), lw.map_blocks(place, d, 2, dtype=["i8", "i4"]), "two outputs")
    pairs.add(np.roll(x, 1) + np.roll(x, -1), lw.map_blocks(around, d, depth=1, boundary="periodic"), "periodic")
    with lw.config(target="cpu"):
        pairs.add(x + np.arange(50), lw.map_blocks(thread, d, depth=2), "jit")
        pairs.add(x + np.arange(50), lw.map_blocks(thread[4, 32], d), "a grid")
        rows, columns = np.ogrid[:400, :400]
        pairs.add(field + rows * 100 + columns, lw.map_blocks(threads, da.from_array(field, chunks=(130, 90))), "jit of two axes")
        pairs.check()


def test_kernels_say_what_to_do():
    d = da.ones(6, chunks=2)
    for call in (lambda: around(6, d, np.zeros(6)), lambda: thread[1, 8](d, np.zeros(6), 0)):
        with lw.config(target="cpu"), pytest.raises(TypeError, match="call lw.map_blocks"):
            call()
    with pytest.raises(TypeError, match="leave none: its parameters are"):
        lw.map_blocks(around, d, np.zeros(6))
    with pytest.raises(TypeError, match="needs a Dask array"):
        lw.map_blocks(around, np.ones(6))
    with pytest.raises(TypeError, match="is called with the arrays"):
        lw.map_blocks(wave, d)
    with pytest.raises(ValueError, match=r"rechunk\({1: -1}\)"):
        lw.map_blocks(around, da.ones((4, 4), chunks=2))
    with pytest.raises(ValueError, match="depth="):
        lw.map_blocks(around, d, depth=-1)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        lw.map_blocks(around, d[d > 0])
    with pytest.raises(ValueError, match="boundary= must be"):
        lw.map_blocks(around, d, boundary="mirror")


# ---- what cannot be ----


def test_ufuncs_say_what_to_do():
    d = da.ones((4, 4), chunks=2)
    with pytest.raises(TypeError, match="out= cannot be given"):
        wave(d, 1, out=np.empty((4, 4)))
    with pytest.raises(ValueError, match=r"core dimension 'n', axis 1, in 2 chunks: pass x.rechunk\({1: -1}\), or allow_rechunk"):
        product(d.rechunk({0: -1}), np.ones(4))
    with pytest.raises(ValueError, match="of an unknown size: call x.compute_chunk_sizes"):
        running(da.ones(4)[da.ones(4) > 0], np.ones(1))
    with pytest.raises(TypeError, match="known to be associative: give vectorize identity="):
        wave.reduce(d)
    with pytest.raises(TypeError, match="reduceat.* does not take Dask arrays"):
        wave.reduceat(d, [0, 1])
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        wave(d, 1, allow_rechunk=True)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        running(np.ones(3), np.ones(3), allow_rechunk=True)


# ---- others that hold Dask arrays ----


def test_xarray_keeps_labels_and_chunks():
    xr = pytest.importorskip("xarray")
    x = np.arange(12.0).reshape(3, 4)
    lazy = xr.DataArray(x, dims=("t", "x"), coords={"t": [1, 2, 3]}).chunk({"t": 2})
    made = wave(lazy, 2)
    assert isinstance(made, xr.DataArray) and made.dims == ("t", "x") and made.chunks == ((2, 1), (4,)) and list(made.t) == [1, 2, 3]
    np.testing.assert_array_equal(made.compute(), x * 2 + 1)
    total = lw.reduce(lambda a, b: a + b)
    summed = lazy.reduce(total, dim="t")
    assert isinstance(summed.data, da.Array) and summed.dims == ("x",)
    np.testing.assert_array_equal(summed.compute(), x.sum(0))
    assert isinstance(lw.reductions.max(lazy, axis=0).data, da.Array)
    assert isinstance(total(lazy).data, da.Array)


def test_numpys_functions_of_the_results():
    d = wave(da.ones((4, 4), chunks=2), 2.0)
    assert np.sum(d).compute() == 48 and np.mean(d, axis=0).compute().tolist() == [3.0] * 4
    assert np.concatenate([d, d]).shape == (8, 4) and (d + d).sum().compute() == 96
    assert wave(d, d).persist().sum().compute() == 160
