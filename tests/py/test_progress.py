"""progress= of forall and of reductions of host arrays."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device
from lanewise import _progress, cuda


@lw.forall
def slow(i, x, out):
    s = 0.0
    for k in range(2000):
        s += (x[i] + k) % 3.7
    out[i] = s


@lw.forall
def quick(i, x, out):
    out[i] = x[i] + 1


def costly(a, b):
    for k in range(300):
        a += (b + k) % 1.1
    return a


total = lw.reduce(lambda a, b: a + b)
folded = lw.reduce(costly, identity=0.0)
N = 60_000


class Told(list):
    def __call__(self, done, total):
        self.append((done, total))

    def check(self, total, least=1):
        done = [each for each, _ in self]
        assert {each for _, each in self} == {total} and done == sorted(done) and done[-1] == total and len(done) >= least


@pytest.mark.parametrize("threads", [1, 2])
def test_forall_tells_and_computes_the_same(threads):
    x, out, expected = np.linspace(0, 9, N), np.zeros(N), np.zeros(N)
    with lw.config(threads=threads):
        slow(N, x, expected)
        told = Told()
        slow(N, x, out, progress=told)
    told.check(N, 3)
    assert (out == expected).all()


@pytest.mark.parametrize("r, n", [(total, 3_000_000), (folded, 400_000)], ids=["sum", "costly"])
def test_reductions_tell_and_have_the_same_bits(r, n):
    x = np.random.default_rng(3).random(n).astype(np.float32 if r is total else np.float64)
    told = Told()
    assert r(x, progress=told) == r(x)
    told.check(n, 3 if r is folded else 1)
    told = Told()
    assert (r(x.reshape(20, -1), axis=1, progress=told) == r(x.reshape(20, -1), axis=1)).all()
    told.check(n)


WITHOUT = {"cumsum", "cumprod", "running_maximum", "affine_scan", "segmented_sum", "nancumsum", "nancumprod", "topk", "argtopk",
           "median", "nanmedian", "quantile", "nanquantile", "percentile", "nanpercentile"}


@pytest.mark.parametrize("name", sorted(set(lw.reductions.__all__) - WITHOUT))
def test_ready_made_reductions_tell(name):
    x, told = np.random.default_rng(4).random((30, 20)), Told()
    arrays = (x, x) if name == "top1" else (x,)
    found, expected = getattr(lw.reductions, name)(*arrays, axis=1, progress=told), getattr(lw.reductions, name)(*arrays, axis=1)
    told.check(600)
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(TypeError, match="progress= must be True, False, None or a function"):
        getattr(lw.reductions, name)(*arrays, progress=5)


def test_a_bar_has_a_public_name(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    for name in ("max", "mean", "var", "nanmin", "sum"):
        getattr(lw.reductions, name)(np.ones(1000), progress=True)
        assert capsys.readouterr().err.startswith(f"{name}: 100 %")
    lw.reductions.mean(np.ones(1000), dtype=int, progress=True)
    assert capsys.readouterr().err.startswith("mean: 100 %")


def test_a_renewed_reduction_keeps_its_name(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    total = lw.reduce(lambda a, b: a + b)
    total.__name__ = "total"
    with lw.config(check="nan"):
        total(np.ones(1000), progress=True)
    assert capsys.readouterr().err.startswith("total: 100 %")
    with lw.config(check="nan"):
        made = lw.reduce(lambda a, b: a + b)
    made.__name__ = "made under a setting"
    made(np.ones(1000), progress=True)
    assert capsys.readouterr().err.startswith("made under a setting: 100 %")


def test_two_dimensions_and_nothing_to_do():
    @lw.forall(ndim=2)
    def both(i, j, out):
        out[i, j] = i * j

    out, told = np.zeros((300, 200)), Told()
    both((300, 200), out, progress=told)
    told.check(60_000)
    quick(0, out[0], out[0], progress=Told())
    quick(5, x=np.arange(5.0), out=out[0], progress=None)
    quick(5, np.arange(5.0), out[0], progress=False)


def test_a_function_that_raises_ends_the_work():
    x, out = np.ones(20 * N), np.zeros(20 * N)

    def enough(done, total):
        if done:
            raise StopIteration("enough")

    start = time.perf_counter()
    with pytest.raises(StopIteration, match="enough"):
        slow(20 * N, x, out, progress=enough)
    assert (out == 0).any() and time.perf_counter() - start < 60
    with pytest.raises(StopIteration):
        folded(np.ones(20 * N), progress=enough)
    slow(4, x, out)  # goes on as before


def test_an_error_of_the_function_is_not_hidden():
    @lw.forall
    def picky(i, x):
        if x[i] < 0:
            raise ValueError("negative")

    told = Told()
    with pytest.raises(ValueError, match="negative"):
        picky(3, np.array([1.0, -1.0, 2.0]), progress=told)
    assert (3, 3) not in told


def test_a_line_without_tqdm(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    quick(5, np.arange(5.0), np.zeros(5), progress=True)
    assert capsys.readouterr().err.startswith("quick: 100 %, 0.")
    line = _progress.reporter(True, 1000, "name")
    line.over = True
    line.said -= 1
    line.tell(420)
    line.end(False)
    assert capsys.readouterr().err == "\rname:  42 %, 0 s \rname: ended early, 0.0 s \n"


def test_a_bar_with_tqdm(monkeypatch):
    class Bar:
        seen = []

        def __init__(self, total, desc, **_):
            self.n = 0
            self.seen.append((total, desc))

        def update(self, n):
            self.n += n
            self.seen.append(self.n)

        def close(self):
            self.seen.append("closed")

    monkeypatch.setitem(sys.modules, "tqdm.auto", type(sys)("tqdm.auto"))
    sys.modules["tqdm.auto"].tqdm = Bar
    assert total(np.arange(10.0), progress=True) == 45
    assert Bar.seen[0][0] == 10 and Bar.seen[-2:] == [10, "closed"]


def test_wrong_uses():
    x = np.arange(5.0)
    with pytest.raises(TypeError, match="progress= must be True, False, None or a function"):
        quick(5, x, x, progress=3)
    with pytest.raises(TypeError, match="bind.. takes no progress="):
        quick.bind(5, x, x, progress=True)
    with pytest.raises(TypeError, match="progress"):
        total.accumulate(x, progress=True)


def test_python_target():
    told, x = Told(), np.arange(50.0)
    with lw.config(target="python"):
        quick(50, x, x.copy(), progress=told)
    told.check(50)
    with lw.config(target="python"):
        assert total(x, progress=told) == x.sum()


@needs_device
def test_refused_on_a_device():
    x = cuda.to_device(np.arange(5.0))
    with pytest.raises(TypeError, match="progress= is for arrays of the host"):
        quick(5, x, x, progress=True)
    with pytest.raises(TypeError, match="progress= is for arrays of the host"):
        total(x, progress=True)


def test_bools_of_numpy_are_bools(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert lw.reductions.sum(np.ones(9), progress=np.False_) == 9 and capsys.readouterr().err == ""
    assert lw.reductions.sum(np.ones(9), progress=np.True_) == 9 and capsys.readouterr().err.startswith("sum: 100 %")
