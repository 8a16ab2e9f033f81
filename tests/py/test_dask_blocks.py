"""Dask arrays whose blocks are device arrays: on the CPU's, and on a GPU's where there is one."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

rng = np.random.default_rng(15)
A, B, V = rng.random((12, 10)), rng.random((12, 10)), rng.random(20)
M = A > 0.5


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@lw.vectorize(fma=False)
def muladd(x, y):
    return x * y + x


@lw.guvectorize("(n)->()")
def total(x, out):
    out[0] = 0
    for k in range(x.shape[0]):
        out[0] += x[k]


def on_device(array, chunks):
    return da.from_array(array, chunks=chunks).map_blocks(cuda.to_device)


CASES = {
    "elements": lambda a, b, v, m: [a + 2 * b, np.sin(a), muladd(a, b), da.map_blocks(muladd, a, b), a.astype("f4"), a.round(2), da.clip(a, 0.2, 0.8), da.where(m, a, b), da.where(a > 0.5, a, 0), da.isclose(a, a), da.nan_to_num(a)],
    "reductions": lambda a, b, v, m: [a.sum(), a.sum(axis=0), a.mean(axis=1), a.mean(), a.var(axis=0), a.std(), a.max(axis=1), a.min(), m.any(axis=0), m.all(), a.prod(axis=0), da.nansum(a, axis=0), da.nanmax(a), da.ptp(a, 0),
                                      a.cumsum(axis=0), a.cumprod(axis=1), da.count_nonzero(m, axis=0), da.average(a, axis=0), da.linalg.norm(a)],
    "parts": lambda a, b, v, m: [a[2:9, ::3], a[3], a[::-1], a[[1, 5, 7]], a[:, [9, 0, 3]], a[m], a[:, None], da.take(a, [1, 3], axis=0), da.tril(a[:10]), da.diag(v), da.diff(v), da.compress([True, False, True], a, axis=0)],
    "shapes": lambda a, b, v, m: [a.T, a.reshape(-1), a.ravel(), a.rechunk((12, 3)), a.rechunk((7, 10)), da.concatenate([a, b]), da.concatenate([a, b], axis=1), da.stack([a, b]), da.vstack([a, b]), da.squeeze(a[:, None]),
                                  da.broadcast_to(v, (3, 20)), da.flip(a, 0), da.roll(a, 3, 0), da.tile(v, 2), da.repeat(v, 2), da.pad(a, 1), da.map_overlap(lambda x: x + 1, a, depth=1, boundary="reflect"),
                                  da.map_overlap(lambda x: 2 * x, v, depth=2, boundary=0), da.lib.stride_tricks.sliding_window_view(v, 3)],
    "products": lambda a, b, v, m: [a @ b.T, a.dot(b.T), da.tensordot(a, b, axes=([0], [0])), da.tensordot(a, b, axes=([0, 1], [0, 1])), da.outer(v, v), da.vdot(v, v), a @ v[:10], da.apply_gufunc(total, "(n)->()", a.rechunk((5, -1)))],
    "like": lambda a, b, v, m: [da.zeros_like(a), da.ones_like(a) + a, da.full_like(a, 3)],
}


@pytest.mark.parametrize("group", CASES)
def test_as_on_host_blocks(group, target):
    inputs = (A, (5, 4)), (B, (5, 4)), (V, 6), (M, (5, 4))
    with np.errstate(all="ignore"):
        got = CASES[group](*(on_device(*pair) for pair in inputs))
        want = CASES[group](*(da.from_array(array, chunks=chunks) for array, chunks in inputs))
        for one, other in zip(got, want):
            result, other = one.compute(), other.compute()
            assert isinstance(result, cuda.DeviceArray) and result.dtype == other.dtype and result.shape == other.shape, one.name
            np.testing.assert_allclose(result.copy_to_host(), other, rtol=1e-6 if other.dtype == np.float32 else 1e-12, err_msg=one.name)


def test_there_and_back(target):
    x = on_device(A, (5, 4))
    assert isinstance(x._meta, cuda.DeviceArray) and isinstance((x + x.T.T)._meta, cuda.DeviceArray)
    back = (x + 1).map_blocks(lambda block: block.copy_to_host())
    assert type(back._meta) is np.ndarray and type(back.compute()) is np.ndarray and (back.compute() == A + 1).all()
    whole = da.from_array(cuda.to_device(A), chunks=(5, 4))  # cut where it lies
    assert isinstance(whole._meta, cuda.DeviceArray) and np.allclose(whole.sum(axis=0).compute().copy_to_host(), A.sum(axis=0))


def test_assigned(target):
    x, host = on_device(A, (5, 4)), da.from_array(A, chunks=(5, 4))
    for array in (x, host):
        array[2:4] = 7
        array[:, 3] = -1
    assert (x.compute().copy_to_host() == host.compute()).all()


def test_refused(target):
    with pytest.raises(TypeError, match=r"numpy.linalg.eigvals does not take a DeviceArray: call copy_to_host\(\)"):
        on_device(A, (5, 4)).map_blocks(np.linalg.eigvals, dtype=complex).compute()


def test_transformed(target):
    got = da.fft.fft(on_device(V, 20)).compute()
    assert isinstance(got, cuda.DeviceArray) and np.allclose(got.copy_to_host(), np.fft.fft(V))


def test_size_and_names(target):
    from dask.base import tokenize
    from dask.sizeof import sizeof

    d = cuda.to_device(A)
    assert sizeof(d) == A.nbytes and sizeof(d[:3]) == A[:3].nbytes
    assert tokenize(d) == tokenize(cuda.to_device(A)) == tokenize(d.copy())
    assert len({tokenize(d), tokenize(A), tokenize(cuda.to_device(B)), tokenize(d.T), tokenize(d.astype("f4"))}) == 5
    assert da.from_array(d).name == da.from_array(cuda.to_device(A)).name


@pytest.mark.parametrize("family", ["dask", "cuda", "pickle"])
def test_travels(family, target):
    protocol = pytest.importorskip("distributed.protocol")
    for array in (A, A.T, A[::2, ::3], np.float32(3), np.empty((0, 3)), np.zeros(3, [("a", "i4"), ("b", "f8")]), M, V.astype("M8[s]")):
        d = cuda.to_device(A)[::2, ::3] if array.shape == (6, 4) else cuda.to_device(array)
        header, frames = protocol.serialize(d, serializers=[family], on_error="raise")
        again = protocol.deserialize(header, frames, deserializers=[family])
        assert header["serializer"] == family and type(again) is type(d) and again.dtype == d.dtype and again.shape == d.shape
        np.testing.assert_array_equal(again.copy_to_host(), array)
        assert again.flags["F_CONTIGUOUS"] == d.flags["F_CONTIGUOUS"] or not d.flags["C_CONTIGUOUS"]


CLUSTER = """
import lanewise as lw  # before Dask: its tables get their rows when they are made
import sys
assert not [name for name in sys.modules if name.partition(".")[0] in ("dask", "distributed")]
import numpy as np
from lanewise import cuda

if __name__ == "__main__":
    import dask.array as da
    from distributed import Client, LocalCluster

    a = np.arange(40.0).reshape(8, 5)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        x = da.from_array(a, chunks=(4, 5)).map_blocks(cuda.to_device)
        result = (x @ x.T).rechunk((8, 4)).persist().compute()
        assert isinstance(result, cuda.DeviceArray) and (result.copy_to_host() == a @ a.T).all()
        assert (x.map_blocks(lambda block: block.copy_to_host()).compute() == a).all()
    print("done")
"""


def test_on_a_cluster(run_python, tmp_path):
    pytest.importorskip("distributed")
    program = tmp_path / "cluster.py"
    program.write_text(CLUSTER)
    assert run_python(str(program), LANEWISE_TARGET="cpu").stdout.strip().endswith("done")
