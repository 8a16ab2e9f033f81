"""target="python": functions run as plain Python, and give what compiled ones give."""

from __future__ import annotations

import math
import pdb
import sys

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors, float32
from lanewise.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32


@pytest.fixture
def python():
    with lw.config(target="python"):
        yield


def same(call):
    """What a call gives as plain Python, and compiled: the same values and dtypes."""
    with lw.config(target="python"):
        ours = call()
    with lw.config(target="cpu"):
        compiled = call()
    pairs = zip(ours, compiled) if isinstance(ours, tuple) else [(ours, compiled)]
    for a, b in pairs:
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
    return ours


@pytest.mark.parametrize("arguments", [
    (np.arange(4, dtype="f4"), 2), (np.arange(4), 2.5), (np.arange(6.0).reshape(2, 3), np.arange(3, dtype="f4")),
    (np.array([120, 127], "i1"), np.int8(3)), (2, 3), (np.zeros((0, 3)), 1),
])
def test_vectorize(arguments):
    @lw.vectorize
    def f(x, y):
        return x * 2 + y if x > y else y - x

    same(lambda: f(*arguments))


def test_vectorize_with_keywords():
    @lw.vectorize(["float32(float32)", "float64(float64)"])
    def half(x):
        return x / 2

    @lw.vectorize
    def both(x, k=3):
        return x * k, x + k

    @lw.vectorize(excluded="table", static="n")
    def nth(i, table, n=1):
        return table[i] * n

    x, table = np.arange(4), np.array([1.0, 10.0, 100.0, 1000.0])
    same(lambda: half(x))
    same(lambda: half(x, out=np.full(4, 9.0), where=x > 1))
    same(lambda: half(np.float32(1)))
    same(lambda: both(x))
    same(lambda: both(x, k=4))
    same(lambda: nth(x, table, n=2))


def test_guvectorize():
    @lw.guvectorize(["void(float64[:,:], float64[:], float64[:])"], "(m,n),(n)->(m)")
    def product(a, x, y):
        for i in range(a.shape[0]):
            y[i] = 0
            for j in range(a.shape[1]):
                y[i] += a[i, j] * x[j]

    @lw.guvectorize("(n)->(),()")
    def ends(x):
        return x[0], x[x.shape[0] - 1]

    @lw.guvectorize("(n),(m)->(k)", sizes={"k": lambda n, m: n + m})
    def joined(x, y, out):
        for i in range(out.shape[0]):
            out[i] = x[i] if i < x.shape[0] else y[i - x.shape[0]]

    same(lambda: product(np.arange(24.0).reshape(4, 2, 3), np.arange(3)))
    same(lambda: ends(np.arange(6, dtype="f4").reshape(2, 3)))
    same(lambda: joined([1, 2, 3], [4.5, 5]))
    with lw.config(target="python"), pytest.raises(ValueError, match="core dimension n"):
        product(np.ones((2, 3)), np.ones(4))
    with lw.config(target="python"), pytest.raises(errors.UnsupportedError, match="axis="):
        ends(np.ones((2, 3)), axis=0)


def test_gufunc_that_cannot_be_compiled(python):
    seen = []

    @lw.guvectorize("(n)->(n)", excluded="factors")
    def scaled(x, factors, out):
        seen.append(x.shape)
        for i in range(x.shape[0]):
            out[i] = x[i] * factors[i]

    result = scaled(np.arange(4).reshape(2, 2), np.array([0.5, 1.5]))
    assert result.tolist() == [[0.0, 1.5], [1.0, 4.5]] and result.dtype == np.float64
    assert seen == [(2,), (2,)]


def test_reduce():
    total = lw.reduce(lambda a, b: a + b)
    largest = lw.reduce(lambda a, b: max(a, b), identity=-math.inf)
    mean = lw.reduce(map=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), finish=lambda s, n: s / n)
    same(lambda: total(np.arange(255, dtype="u1")))
    same(lambda: total(np.arange(6.0).reshape(2, 3), axis=1, keepdims=True))
    same(lambda: total(np.arange(6).reshape(2, 3), axis=(0, 1), initial=10))
    same(lambda: total(np.arange(6), where=np.arange(6) % 2 == 0))
    same(lambda: largest(np.array([1.0, 3.0, 2.0])))
    same(lambda: largest(np.zeros(0)))
    same(lambda: mean(np.arange(250, dtype="u1")))
    with lw.config(target="python"), pytest.raises(ValueError):
        lw.reduce(lambda a, b: a if a > b else b)(np.zeros(0))


def test_what_reductions_refuse(python):
    total = lw.reduce(lambda a, b: a + b)
    two = lw.reduce(map=lambda x: (x, x), combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])))
    with pytest.raises(ValueError, match="axis"):
        total(np.ones((2, 3)), axis=2)
    with pytest.raises(ValueError, match="size= must be 0 to 3"):
        total(np.ones(3), size=-1)
    with pytest.raises(errors.UnsupportedError, match="several results"):
        two(np.arange(3.0))


def test_forall():
    @lw.forall
    def axpy(i, a, x, y, out):
        out[i] = a * x[i] + y[i]

    @lw.forall(ndim=2)
    def fill(i, j, out):
        out[i, j] = 10 * i + j

    def run(f, n, shape, *args):
        out = np.zeros(shape)
        f(n, *args, out=out)
        return out

    same(lambda: run(axpy, 5, 5, 2.0, np.arange(5.0), np.ones(5)))
    same(lambda: run(fill, (range(1, 3), slice(0, 4, 2)), (4, 4)))
    with lw.config(target="python"), pytest.raises(TypeError, match="2 dimensions"):
        fill(3, np.zeros((3, 3)))


def test_threads():
    @cuda.jit
    def turn(x, out):
        own = cuda.shared.array(64, float32)
        i, t = cuda.grid(1), cuda.threadIdx.x
        own[t] = x[i]
        cuda.syncthreads()
        v = own[cuda.blockDim.x - 1 - t]
        for d in (16, 8, 4, 2, 1):
            v += cuda.shfl_xor_sync(-1, v, d)
        if cuda.laneid == 0:
            cuda.atomic.add(out, cuda.blockIdx.x, v)
        n = cuda.syncthreads_count(t % 4 == 0)
        x[i] = own[cuda.blockDim.x - 1 - t] + n + cuda.popc(t)

    def run():
        x, out = np.arange(128, dtype="f4"), np.zeros(2, "f4")
        turn[2, 64](x, out)
        return x, out

    same(run)


def test_meeting_of_all_blocks_and_dynamic_memory():
    @cuda.jit
    def k(x):
        room = cuda.shared.array(0, lw.int64)
        i = cuda.grid(1)
        room[cuda.threadIdx.x] = i
        cuda.cg.this_grid().sync()
        x[i] = room[3 - cuda.threadIdx.x]

    def run():
        x = np.zeros(8, np.int64)
        k[2, 4, 0, 32](x)
        return x

    same(run)


def test_threads_that_never_meet(python):
    @cuda.jit
    def k(x):
        if cuda.threadIdx.x == 0:
            cuda.syncthreads()
        else:
            cuda.syncthreads_count(1)

    with pytest.raises(errors.KernelError, match="never come: .* cuda.syncthreads, .* cuda.syncthreads_count"):
        k[1, 2](np.zeros(2))


def test_errors_name_the_thread(python):
    @cuda.jit
    def k(x):
        x[cuda.grid(1)] = 1

    with pytest.raises(IndexError) as raised:
        k[2, 8](np.zeros(10))
    if sys.version_info >= (3, 11):
        assert raised.value.__notes__ == ["tid=[2, 0, 0] ctaid=[1, 0, 0]"]


def test_random_numbers():
    @cuda.jit
    def draw(states, out):
        i = cuda.grid(1)
        out[i] = xoroshiro128p_uniform_float32(states, i)

    def run():
        out = np.zeros(4, "f4")
        draw[1, 4](create_xoroshiro128p_states(4, seed=1), out)
        return out

    same(run)


def test_functions_that_are_called():
    @lw.jit
    def first(x):
        return x[0] * 2

    @lw.njit
    def more(x):
        return first(x) + 1, 3

    with lw.config(target="python"):
        assert more(np.ones(3, "f4")) == (3.0, 3) and type(more(np.ones(3, "f4"))[0]) is float


@pytest.mark.parametrize("stop", [breakpoint, pdb.set_trace])
def test_debuggers(stop, monkeypatch):
    @lw.vectorize
    def f(x):
        stop()
        return x * 2

    @cuda.jit
    def k(x):
        stop()
        x[cuda.grid(1)] += 1

    for call in (lambda: f(1.0), lambda: k[1, 1](np.zeros(1))):
        with lw.config(target="cpu"), pytest.raises(errors.CompileError, match="LANEWISE_TARGET=python"):
            call()
    if stop is pdb.set_trace:
        return
    places = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: places.append(sys._getframe(1).f_locals["x"]))
    with lw.config(target="python"):
        assert f(np.arange(2.0)).tolist() == [0, 2]
        k[1, 3](np.zeros(3))
    assert places[:2] == [0.0, 1.0] and len(places) == 5


def test_a_program_that_is_started_so(run_python, tmp_path):
    (tmp_path / "program.py").write_text("""
import numpy as np, lanewise as lw
from lanewise import cuda
lines = []
@lw.vectorize(["float32(float32)"])
def f(x):
    lines.append(str(x))
    return x + 1
@cuda.jit("void(float32[:])")
def k(x):
    lines.append("k")
    x[cuda.grid(1)] *= 2
d = cuda.to_device(f(np.zeros(2, np.float32)))
k[1, 2](d)
print(d.copy_to_host(), d.dtype, lines)
""")
    done = run_python("program.py", LANEWISE_TARGET="python")
    assert done.stdout == "[2. 2.] float32 ['0.0', '0.0', 'k', 'k']\n"
