"""lw.matmul, matvec, vecmat, vecdot against NumPy's: on host arrays, on their stand-in under target="cpu", and
on device arrays (on the fake driver, kernels run on the simulator)."""

import pickle

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE, needs_kernels
from lanewise import _core, _products, cuda

NAMES = ("matmul", "matvec", "vecmat", "vecdot")
DTYPES = "?bBhHiIlLefdFD"
pytestmark = pytest.mark.usefixtures("simulated")
on_device = [pytest.mark.gpu, pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")]


def reference(name):
    """NumPy's result, or that of einsum if NumPy's version lacks the function."""
    if hasattr(np, name):
        return getattr(np, name)
    formula = {"matvec": "...mn,...n->...m", "vecmat": "...n,...nm->...m", "vecdot": "...n,...n->..."}[name]

    def by_einsum(x, y):
        x, y = np.asarray(x), np.asarray(y)
        return np.einsum(formula, x if name == "matvec" else np.conj(x) if x.dtype.kind == "c" else x, y)

    return by_einsum


def numbers(rng, shape, char):
    """Small whole numbers, whose sums are exact in every dtype."""
    values = rng.integers(0 if char in "?BHIL" else -2, 3, shape)
    if char in "FD":
        values = values + 1j * rng.integers(-2, 3, shape)
    return values.astype(char)


def shapes(name, batch, m=4, n=5, k=3):
    return {"matmul": (batch + (m, k), (k, n)), "matvec": (batch + (m, n), batch + (n,)),
            "vecmat": ((n,), batch + (n, m)), "vecdot": (batch + (n,), (n,))}[name]


def same(got, want):
    got = got.copy_to_host() if hasattr(got, "copy_to_host") else np.asarray(got)
    assert got.dtype == want.dtype and got.shape == np.shape(want)
    assert (got == want).all()


def test_faces():
    for name in NAMES:
        g = getattr(lw, name)
        assert isinstance(g, lw.Gufunc) and g is getattr(lw.ufuncs, name) and g.__name__ == name
        assert pickle.loads(pickle.dumps(g)) is g
        if hasattr(np, name):
            theirs = getattr(np, name)
            assert g.signature == theirs.signature and (g.nin, g.nout) == (theirs.nin, theirs.nout)
            assert g.types == theirs.types


@pytest.mark.parametrize("char", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_on_the_host(name, char):
    rng = np.random.default_rng(3)
    for batch in ((), (6,), (2, 3)):
        x, y = (numbers(rng, shape, char) for shape in shapes(name, batch))
        same(getattr(lw, name)(x, y), reference(name)(x, y))


@pytest.mark.parametrize("a, b", [((4, 3), (3,)), ((3,), (3, 4)), ((3,), (3,)), ((2, 5, 4, 3), (3,)), ((0, 3), (3, 2)), ((2, 0), (0, 3)),
                                  ((7, 1, 2, 3), (4, 3, 5))])
def test_shapes_of_matmul(a, b):
    rng = np.random.default_rng(4)
    x, y = rng.random(a), rng.random(b)
    want = np.matmul(x, y)
    got = lw.matmul(x, y)
    assert got.shape == want.shape and np.allclose(got, want)


def test_keywords():
    rng = np.random.default_rng(5)
    a, b = rng.random((3, 4, 5)), rng.random((3, 5, 6))
    out = np.empty((3, 4, 6))
    assert lw.matmul(a, b, out=out) is out and np.allclose(out, a @ b)
    assert np.allclose(lw.matmul(a, b, axes=[(1, 2), (1, 2), (-1, -2)]), (a @ b).swapaxes(1, 2))
    assert lw.matmul(a, b, dtype="f4").dtype == np.float32
    v = rng.random((5, 3))
    assert np.allclose(lw.vecdot(v, v, axis=0), (v * v).sum(0))
    assert lw.vecdot(v, v, keepdims=True).shape == (5, 1)
    assert np.allclose(lw.matvec(a, v, axes=[(1, 2), 0, 0]), np.einsum("bmn,nb->mb", a, v))
    with pytest.raises(ValueError, match="mismatch"):
        lw.matmul(a, a)
    with pytest.raises(ValueError, match="enough dimensions"):
        lw.matmul(a, 3.0)
    with pytest.raises(TypeError):
        lw.matmul(a, a, where=True)


def test_mixed_dtypes_promote_as_in_numpy():
    a = np.arange(6).reshape(2, 3)
    for x, y in (("b", "B"), ("l", "f"), ("L", "l"), ("e", "i"), ("F", "d"), ("?", "h"), ("e", "e")):
        for name in ("matmul", "vecdot"):
            x_, y_ = a.astype(x), a.astype(y).T if name == "matmul" else a.astype(y)
            same(getattr(lw, name)(x_, y_), getattr(np, name)(x_, y_))


def test_halves_are_summed_in_float32():
    x = np.full(3000, 1, "e")
    assert lw.vecdot(x, x) == 3000 and lw.matmul(x, x) == 3000


@pytest.mark.parametrize("char", "ilefdFD")
@pytest.mark.parametrize("name", NAMES)
def test_large_cores_on_the_host(name, char):
    """NumPy's own loops compute these, and others are computed without them: strides of all kinds, several items, casts."""
    rng = np.random.default_rng(11)
    for m, n, k in ((9, 10, 11), (10, 10, 10), (33, 50, 20)):
        x, y = (numbers(rng, shape, char) for shape in shapes(name, (3,), m, n * (1 if name != "vecdot" else 40), k))
        want = np.array(reference(name)(x, y))
        same(getattr(lw, name)(x, y), want)
        same(getattr(lw, name)(np.asfortranarray(x), y[..., ::-1][..., ::-1]), want)
        out = np.empty(want.shape[:-1] + (2 * want.shape[-1],), char)[..., ::2] if want.ndim else None
        same(getattr(lw, name)(x, y, out=out), want)
        same(getattr(lw, name)(x.astype("h") if char in "il" else x, y, dtype=char), want)


@pytest.mark.parametrize("name", NAMES)
def test_stand_in_of_device_arrays(name):
    rng = np.random.default_rng(6)
    x, y = (rng.random(shape) for shape in shapes(name, (2,)))
    want = reference(name)(x, y)
    with lw.config(target="cpu"):
        d, e = cuda.to_device(x), cuda.to_device(y)
        results = [getattr(lw, name)(d, e)]
        if hasattr(np, name):
            results.append(getattr(np, name)(d, e))
        if name == "matmul":
            results += [d @ e, x @ e, d @ y]
            square = cuda.to_device(np.eye(4))
            square @= square
            assert (np.asarray(square) == np.eye(4)).all()
        for result in results:
            assert hasattr(result, "copy_to_host") and np.allclose(result.copy_to_host(), want)


@pytest.mark.parametrize("char", "bHiLefdFD")
def test_tiles(char):
    """The kernel of large products runs on the simulator, for sizes that are not multiples of a tile, for strides and several items."""
    rng = np.random.default_rng(12)
    for shape, columns in (((1, 1), 1), ((64, 16), 64), ((65, 17), 70), ((3, 33), 130), ((2, 5, 20), 66), ((2, 2, 9, 7), 5)):
        a, b = numbers(rng, shape, char), numbers(rng, (*shape[:-2], shape[-1], columns), char)
        c = np.full((*shape[:-1], columns), 1, char)
        _products.tile_product(a, b, c, target="cpu")
        assert (c == np.matmul(a, b)).all()
        back = np.full((*shape[:-2], columns, shape[-2]), 1, char).swapaxes(-1, -2)
        _products.tile_product(np.asfortranarray(a)[..., ::-1], b[..., ::-1, ::-1], back[..., ::-1], target="cpu")
        assert (back == np.matmul(a, b)).all()


def test_tiles_of_all_architectures():
    kernel = _products._tile_kernel(np.dtype("f"), "cuda")
    for cc in ("sm_75", "sm_90", "sm_100", "sm_120"):
        try:
            used = kernel.resources("void(float32[:,:,:], float32[:,:,:], float32[:,:,:])", cc)
        except lw.errors.CompilerNotFound as missing:
            pytest.skip(str(missing).splitlines()[0])
        assert used["spill_bytes"] == used["local_bytes"] == 0 and used["max_threads_per_block"] >= 256


class TestDevice:
    pytestmark = on_device

    @pytest.mark.parametrize("char", DTYPES)
    @pytest.mark.parametrize("name", NAMES)
    def test_against_numpy(self, name, char):
        rng = np.random.default_rng(7)
        for batch in ((), (6,)):
            x, y = (numbers(rng, shape, char) for shape in shapes(name, batch))
            got = getattr(lw, name)(cuda.to_device(x), cuda.to_device(y))
            assert isinstance(got, cuda.DeviceArray)
            same(got, reference(name)(x, y))

    def test_operators(self):
        rng = np.random.default_rng(8)
        a, b = rng.random((2, 4, 4)), rng.random((4, 4))
        d, e = cuda.to_device(a), cuda.to_device(b)
        for got, want in ((d @ e, a @ b), (d @ b, a @ b), (a @ e, a @ b), (e @ e[0], b @ b[0]), (e[0] @ e, b[0] @ b), (e[0] @ e[1], b[0] @ b[1])):
            assert isinstance(got, cuda.DeviceArray) and got.shape == want.shape and np.allclose(got.copy_to_host(), want)
        with pytest.raises(ValueError):
            d @ cuda.to_device(np.ones(3))
        with pytest.raises(ValueError, match="enough dimensions"):
            d @ 3.0
        with pytest.raises(ValueError):
            e[0] @= e[0]

    @needs_kernels  # to copy what overlaps
    def test_in_place(self):
        rng = np.random.default_rng(8)
        a, b = rng.random((2, 4, 4)), rng.random((4, 4))
        d, e = cuda.to_device(a), cuda.to_device(b)
        before = d
        d @= e
        a @= b
        assert d is before and np.allclose(d.copy_to_host(), a)
        row = e[0]
        row @= cuda.to_device(b)
        assert np.allclose(e.copy_to_host()[0], b[0] @ b)

    def test_through_numpy(self):
        rng = np.random.default_rng(9)
        for name in NAMES:
            if hasattr(np, name):
                x, y = (rng.random(shape) for shape in shapes(name, (3,)))
                got = getattr(np, name)(cuda.to_device(x), cuda.to_device(y))
                assert isinstance(got, cuda.DeviceArray) and np.allclose(got.copy_to_host(), getattr(np, name)(x, y))

    def test_keywords(self):
        rng = np.random.default_rng(10)
        a, b = rng.random((3, 4, 5)), rng.random((3, 5, 6))
        d, e, out = cuda.to_device(a), cuda.to_device(b), cuda.device_array((3, 4, 6))
        assert lw.matmul(d, e, out=out) is out and np.allclose(out.copy_to_host(), a @ b)
        turned = lw.matmul(d, e, axes=[(1, 2), (1, 2), (-1, -2)])
        assert np.allclose(turned.copy_to_host(), (a @ b).swapaxes(1, 2))
        v = cuda.to_device(a[0])
        assert np.allclose(lw.vecdot(v, v, axis=0).copy_to_host(), (a[0] * a[0]).sum(0))
        assert lw.vecdot(v, v, keepdims=True).shape == (4, 1)

    def test_large_cores_go_to_a_function(self):
        """The function receives the dimensions of the loop, broadcast, then those of the cores, and strides as axes= and out= define them."""
        seen = []

        def instead(a, b, out, stream):
            seen.append((a.shape, b.shape, out.shape, b.strides, stream))
            if a.shape[-1] == 5:
                return False
            out[...] = cuda.to_device(a.copy_to_host() @ b.copy_to_host())
            return True

        g = lw.guvectorize(["ff->f"], "(n?,k),(k,m?)->(n?,m?)")(_products.matmul)
        _core._use_large(g, instead, 12)
        rng = np.random.default_rng(13)
        for a, b in (((2, 3, 4), (4, 3)), ((3, 4), (2, 4, 2)), ((4,), (4, 3)), ((5, 4), (4,)), ((2, 4, 5), (5, 3))):
            x, y = rng.random(a).astype("f"), rng.random(b).astype("f")
            assert np.allclose(g(cuda.to_device(x), cuda.to_device(y)).copy_to_host(), x @ y)
        assert seen == [((2, 3, 4), (2, 4, 3), (2, 3, 3), (0, 12, 4), 0), ((2, 3, 4), (2, 4, 2), (2, 3, 2), (32, 8, 4), 0),
                        ((1, 4), (4, 3), (1, 3), (12, 4), 0), ((5, 4), (4, 1), (5, 1), (4, 0), 0), ((2, 4, 5), (2, 5, 3), (2, 4, 3), (0, 12, 4), 0)]
        x = rng.random((4, 3, 2)).astype("f")
        out = cuda.device_array((3, 3, 2), "f")
        assert g(cuda.to_device(x), cuda.to_device(x), out=out, axes=[(1, 0), (0, 1), (0, 1)]) is out
        assert np.allclose(out.copy_to_host(), np.einsum("ijb,ikb->jkb", x, x)) and seen[-1][:3] == ((2, 3, 4), (2, 4, 3), (2, 3, 3))
        del seen[:]
        g(cuda.to_device(x[0, 0]), cuda.to_device(x[0, 0]))
        assert not seen
        _core._use_large(g, lambda *_: 1 / 0, 1)
        with pytest.raises(ZeroDivisionError):
            g(cuda.to_device(x), cuda.to_device(x[0].T.copy()))

    @pytest.mark.parametrize("char", "?ilefdFD")
    @pytest.mark.parametrize("name", NAMES)
    def test_large(self, name, char, monkeypatch):
        def tiles_on_the_host(a, b, c, stream=0):  # the fake driver runs no tiles
            c[...] = cuda.to_device(np.ascontiguousarray(np.matmul(a.copy_to_host(), b.copy_to_host())))

        if FAKE:
            if name == "vecmat" and char in "FD":
                pytest.skip("conjugates by a ufunc, which the simulator has not")
            monkeypatch.setattr(_products, "tile_product", tiles_on_the_host)
        rng = np.random.default_rng(14)
        all_sizes = [(16, 16, 16), (20, 30, 17), (7, 600, 3), (300, 20, 1)]
        if not FAKE:
            all_sizes += [(100, 70, 130), (1, 300, 200), (7, 5000, 3), (3, 40, 600), (129, 65, 64)]
        for m, n, k in all_sizes:
            for batch in ((), (3,), (2, 2)):
                x, y = (numbers(rng, shape, char) for shape in shapes(name, batch, m, n, k))
                same(getattr(lw, name)(cuda.to_device(x), cuda.to_device(y)), np.array(reference(name)(x, y)))
