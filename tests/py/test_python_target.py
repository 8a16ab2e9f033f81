"""target="python": functions run as plain Python, and give what compiled ones give."""

from __future__ import annotations

import math
import os
import pdb
import signal
import subprocess
import sys
import time
import warnings

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
    """Check that a call gives the same values and dtypes as plain Python and compiled."""
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
    same(lambda: ends(np.arange(6.0).reshape(2, 3), axis=0))
    same(lambda: product(np.arange(24.0).reshape(2, 3, 4), np.ones(2), axes=[(2, 0), 0, 0]))
    with lw.config(target="python"), pytest.raises(ValueError, match="Input operand 1 has a mismatch"):
        product(np.ones((2, 3)), np.ones(4))


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


def test_reductions_with_several_results():
    two = lw.reduce(map=lambda x: (x, x), combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])))
    nested = lw.reduce(lambda a, b, c, d: ((a, b), c + d) if a > c else ((c, d), a + b), map=lambda x, y: (x, y), finish=lambda a, b: ((a, b), a))
    X, out = np.arange(6.0).reshape(2, 3), (np.zeros(3), np.ones(3))
    same(lambda: two(X))
    same(lambda: two(X.astype("i1"), axis=0))
    same(lambda: two(X, axis=0, out=out))
    same(lambda: two(X, where=X > 1, initial=(9, -9)))
    assert out[0].tolist() == [0, 1, 2]


def alike(call):
    """The results have the same classes and the same order in memory, or are exceptions of the same class."""
    def told(target):
        with lw.config(target=target), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = call()
            except Exception as problem:
                return type(problem), None
        made = result if isinstance(result, tuple) else (result,)
        flags = [(np.asarray(one).dtype, np.asarray(one).strides, repr(one)) for one in made]
        return [type(one) for one in made], flags

    assert told("python") == told("cpu")


@lw.vectorize
def add(x, y):
    return x + y


@lw.vectorize
def both(x, y=1):
    return x > y, x * y


@lw.vectorize(excluded="table")
def look_up(i, table):
    return table[i]


@lw.guvectorize("(n),(n)->()")
def inner(x, y, out):
    out[0] = 0
    for i in range(x.shape[0]):
        out[0] += x[i] * y[i]


X, Y, BOOLS, MASKED = np.arange(6.0).reshape(2, 3), np.arange(6).reshape(2, 3), np.array([True, False]), np.ma.array([1, 2], mask=[0, 1])
READ_ONLY = np.zeros((2, 3))
READ_ONLY.flags.writeable = False


class Sub(np.ndarray):
    pass


UFUNC_KEYWORDS = [
    {"casting": "bogus"}, {"casting": "no"}, {"casting": "safe"}, {"dtype": int}, {"dtype": int, "casting": "unsafe"}, {"dtype": "f4"},
    {"order": "Z"}, {"order": "F"}, {"order": "C"}, {"subok": 7}, {"subok": False}, {"out": ()}, {"out": ...}, {"out": [1]}, {"out": (None,)},
    {"signature": "dd->d", "dtype": float}, {"signature": "dd->d"}, {"sig": "ff->f"}, {"stream": "x"}, {"stream": None}, {"bogus": 1},
    {"where": np.ones((7, 2, 3), bool)}, {"where": Y}, {"where": MASKED}, {"axis": 0}, {"keepdims": True}, {"out": READ_ONLY}, {"out": np.zeros(3)},
]


@pytest.mark.parametrize("keywords", UFUNC_KEYWORDS, ids=str)
def test_keywords_of_ufuncs(keywords):
    alike(lambda: add(X, Y, **keywords))
    alike(lambda: add(X.T, 1, **keywords))
    alike(lambda: add(Y, Y.view(Sub), **keywords))
    alike(lambda: both(X, **keywords))
    alike(lambda: look_up(Y, np.arange(10.0), **keywords))
    alike(lambda: inner(X, Y, **keywords))
    alike(lambda: inner(X.astype("f4"), Y.view(Sub), **keywords))


@pytest.mark.parametrize("call", [
    lambda: add(X, Y, np.zeros((2, 3))), lambda: add(X, Y, np.zeros((2, 3), int)), lambda: add(X, Y, np.zeros((2, 3)), out=np.zeros((2, 3))),
    lambda: add(X, Y, np.zeros((2, 3), "f4"), where=X > 2), lambda: add(X, Y, out=np.zeros((4, 2, 3)), where=X > 2), lambda: add(X, 1, casting="no"),
    lambda: add(np.int8([100]), 300), lambda: add(MASKED, 1), lambda: add(MASKED, MASKED.data), lambda: add(X, Y, out=(np.zeros((2, 3)), None)),
    lambda: add(np.zeros((1,) * 40), 1), lambda: add("a", 1), lambda: add(X), lambda: add(X, 1, 2, 3), lambda: add(x=X, y=2), lambda: add(X, x=2), lambda: add(X, z=2),
    lambda: both(X, out=(None, np.zeros((2, 3)))), lambda: both(X, y=2, out=np.zeros((2, 3))), lambda: add(X[:0], 1), lambda: add(2, 3.5), lambda: add([1, 2], (3, 4)),
    lambda: look_up(Y, [1, 2, 3, 4, 5, 6.5]), lambda: look_up(Y), lambda: inner(MASKED, MASKED), lambda: inner(X, 1), lambda: inner(X, Y, axis=0),
    lambda: inner(X, Y, keepdims=True), lambda: inner(X, Y, axes=[0, 0, ()]), lambda: inner(X, Y, axis=7), lambda: inner(X, Y, out=np.zeros(2, "f4")),
    lambda: inner(X, Y, np.zeros(2)), lambda: add(np.array(["2020"], "M8[D]"), np.array([1], "m8[D]")),
], ids=range(33))
def test_calls_of_ufuncs(call):
    alike(call)


REDUCE_KEYWORDS = [
    {"where": np.ones((7, 2, 3), bool)}, {"where": X > 2}, {"where": X > 2, "initial": 1}, {"where": MASKED}, {"initial": None}, {"initial": ...}, {"init": 4},
    {"init": 4, "initial": 3}, {"initial": "a"}, {"axis": True}, {"axis": [0, 1]}, {"axis": (0, 1)}, {"axis": (0, 0)}, {"axis": ()}, {"axis": 2}, {"axis": -1},
    {"axis": 0, "out": (np.zeros(3),)}, {"axis": 0, "out": np.zeros(3)}, {"axis": 0, "out": np.zeros(2)}, {"axis": 0, "out": np.zeros(3, int)}, {"out": ...},
    {"out": [1]}, {"out": ()}, {"axis": 1, "keepdims": True}, {"keepdims": "x"}, {"dtype": int}, {"dtype": "f4"}, {"dtype": complex}, {"dtype": "O"},
    {"stream": "x"}, {"stream": 0}, {"bogus": 1}, {"size": 2}, {"res": np.zeros(5)}, {"progress": 7},
]


@pytest.mark.parametrize("keywords", REDUCE_KEYWORDS, ids=str)
def test_keywords_of_reductions(keywords):
    total = lw.reduce(lambda a, b: a + b)
    longest = lw.reduce(lambda a, b: a if a > b else b)
    mean = lw.reduce(map=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), finish=lambda s, n: s / n)
    for r in (total, longest, mean):
        alike(lambda: r(X, **keywords))
        alike(lambda: r(Y.astype("i1"), **keywords))
        alike(lambda: r(X.view(Sub), **keywords))


@pytest.mark.parametrize("array", [
    BOOLS, MASKED, np.full(5000, 1, "f2"), np.full(300, 200, "u1"), np.zeros(0), np.zeros((0, 3)), 5, 2.5, [1, 2.5], "a", np.ones((1,) * 40),
], ids=lambda a: str(np.asarray(a).dtype) + str(np.shape(a)))
def test_arrays_of_reductions(array):
    total = lw.reduce(lambda a, b: a + b)
    last = lw.reduce(lambda a, b: b)
    either = lw.reduce(lambda a, b: a or b, identity=False)
    pairs = lw.reduce(lambda a, b, c, d: (a + c, b + d))
    for r in (total, last, either):
        alike(lambda: r(array))
        alike(lambda: r(array, axis=0))
    alike(lambda: pairs(array, array))
    alike(lambda: pairs(array, X))


def test_res_gets_one_element():
    def run():
        q = np.zeros(5)
        return lw.reduce(lambda a, b: a + b)(np.arange(10.0), res=q) is None, q

    same(run)


@pytest.mark.parametrize("text", ["x + y", "x - y", "-x", "x * y", "x / (y + 1)", "x & y", "x ^ y", "x << y", "+x", "x + 1", "min(x, y)", "not x", "x and y", "x if y else 3"])
def test_bools_are_numbers(text):
    """As in compiled code; NumPy's own bools have another sum, and no difference."""
    source = f"def f(x, y):\n    return {text}\n"
    space = {}
    exec(source, space)
    f = space["f"]
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    ufunc = lw.vectorize(f, source=source)
    same(lambda: ufunc(a, b))
    same(lambda: ufunc(np.True_, True))

    @lw.guvectorize("(n),(n)->(n)")
    def items(x, y, out):
        for i in range(x.shape[0]):
            out[i] = ufunc(x[i], y[i])

    @lw.forall
    def stored(i, x, y, out):
        out[i] = ufunc(x[i], y[i])

    @lw.jit
    def summed(x, y):
        return sum([ufunc(v, w) for v, w in zip(x, y)])

    def run():
        out = np.zeros(4)
        stored(4, a, b, out)
        return out, items(a, b), summed(a, b)

    same(run)


def test_arrays_of_bools_that_are_returned():
    @lw.jit
    def parts(x):
        return x[1:], x, x[0], x.sum(), x.any()

    same(lambda: parts(BOOLS))
    with lw.config(target="python"):
        assert list(map(type, parts(BOOLS))) == [np.ndarray, np.ndarray, bool, int, bool]


def test_an_inverted_bool_is_told(python):
    @lw.vectorize("bool_(bool_)")
    def returned(x):
        return ~x

    @lw.forall
    def stored(i, x, out):
        out[i] = ~x[i]

    with pytest.raises(TypeError, match="write `not x`"):
        stored(2, BOOLS, BOOLS.copy())
    with pytest.raises(TypeError, match="write `not x`"):
        returned(BOOLS)


def test_keywords_of_functions_without_types(python):
    """A function that cannot be compiled takes the types of its values; other calls keep their keywords."""
    seen = []

    @lw.vectorize
    def f(x, y=2):
        seen.append(x)
        return x / y

    @lw.vectorize(excluded="k")
    def parts(x, k):
        seen.append(k)
        return x > 1, complex(x, k[0])

    r = lw.reduce(map=lambda x: seen.append(x) or x, combine=lambda a, b: a + b)
    out = np.full((3, 2), 9, "f4")
    assert f(X.T, out=out, where=X.T > 1) is out and out.tolist() == [[9, 1.5], [9, 2], [1, 2.5]] and len(seen) == 4
    assert f(X.astype("f4"), y=4).dtype == np.float32 and f(3).dtype == np.float64
    assert f(X, order="F").flags.f_contiguous and isinstance(f(MASKED), np.ma.MaskedArray) and f(MASKED).mask.tolist() == [False, True]
    large, numbers = parts(Y, [2])
    assert large.dtype == bool and numbers.dtype == complex and numbers[1, 2] == 5 + 2j
    for keywords, error in [({"order": "Z"}, ValueError), ({"casting": "bogus"}, ValueError), ({"out": [1]}, TypeError), ({"out": np.zeros(3)}, ValueError),
                            ({"out": np.zeros((2, 3), int)}, TypeError), ({"stream": "x"}, TypeError), ({"bogus": 1}, TypeError), ({"out": READ_ONLY}, ValueError),
                            ({"dtype": float}, errors.TypingError), ({"signature": "d->d"}, errors.TypingError)]:
        with pytest.raises(error):
            f(X, **keywords)
    assert r(X) == 15 and r(X, axis=0, keepdims=True).tolist() == [[3, 5, 7]] and r(X, where=X > 3, initial=1) == 10
    out, res = np.zeros(3, "f4"), np.zeros(2)
    assert r(X, axis=0, out=out) is out and out.tolist() == [3, 5, 7] and r(X, res=res) is None and res.tolist() == [15, 0]
    for keywords, error in [({"where": np.ones((7, 2, 3), bool)}, ValueError), ({"axis": True}, TypeError), ({"out": [1]}, TypeError), ({"dtype": "f4"}, errors.TypingError),
                            ({"init": 1, "initial": 2}, TypeError), ({"stream": "x"}, TypeError), ({"where": X > 9}, ValueError), ({"axis": 0, "out": np.zeros(3, int)}, TypeError)]:
        with pytest.raises(error):
            r(X, **keywords)
    with pytest.raises(TypeError, match="mask"):
        r(MASKED)


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
    with lw.config(target="python"), pytest.raises(TypeError, match="a tuple of 2"):
        fill(3, np.zeros((3, 3)))


@pytest.mark.parametrize("keywords", [{"stream": "x"}, {"stream": 0}, {"tpb": "a"}, {"tpb": -1}, {"tpb": 32}, {"sharedmem": "x"}, {"sharedmem": -1},
                                      {"progress": 7}, {"bogus": 1}, {"x": 1}], ids=str)
def test_keywords_of_forall(keywords):
    @lw.forall
    def double(i, x, out):
        out[i] = x[i] + x[i]

    def run():
        out = np.zeros(2)
        double(2, BOOLS, out=out, **keywords)
        return out

    alike(run)


@pytest.mark.parametrize("n", [-1, 2.5, True, None, "a", slice(2), slice(None), slice(1.5, 2), range(1, -1, -1), slice(1, -1, -1), (2,), (2, 2), np.int64(2), 2**70, 0], ids=str)
def test_index_spaces(n):
    @lw.forall
    def count(i, out):
        out[i] += 1

    def run():
        out = np.zeros(2)
        count(n, out)
        return out

    alike(run)
    alike(lambda: count())


def test_masked_arrays_are_refused(python):
    @lw.forall
    def first(i, x):
        x[i] = 0

    @cuda.jit
    def second(x):
        x[0] = 0

    @lw.jit
    def third(x):
        return x[0]

    for call in (lambda: first(2, MASKED), lambda: second[1, 1](MASKED), lambda: third(MASKED), lambda: third(x=(MASKED, 1))):
        with pytest.raises(TypeError, match="an argument is a masked array"):
            call()


@pytest.mark.parametrize("space, expected", [((2**40, 3), [(0, 0), (0, 1), (0, 2), (1, 0)]), ((3, 2**40), [(0, 0), (0, 1), (0, 2), (0, 3)])])
def test_forall_keeps_no_list_of_indices(python, space, expected):
    seen = []

    @lw.forall(ndim=2)
    def f(i, j):
        seen.append((i, j))
        if len(seen) == 4:
            raise KeyError

    with pytest.raises(KeyError):
        f(space)
    assert seen == expected


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


def test_indices_are_tuples(capsys):
    """cuda.threadIdx and similar names are tuples where they are read."""
    @lw.jit
    def k(out):
        i = cuda.threadIdx.x
        x, y, z = cuda.threadIdx
        match cuda.threadIdx:
            case (0, 0, 0):
                out[i, 0] = 1
            case (x, 0, 0):
                out[i, 0] = 10 * x
        if cuda.threadIdx == (1, 0, 0) and cuda.threadIdx in ((1, 0, 0),):
            print(cuda.threadIdx, f"{cuda.blockDim}")
            out[i, 1] = 1
        out[i, 2] = cuda.threadIdx != (1, 0, 0)
        out[i, 3] = isinstance(cuda.threadIdx, tuple) and not (not cuda.threadIdx)
        out[i, 4] = len(cuda.threadIdx) + max(cuda.blockDim) + (cuda.threadIdx + (7,))[3]
        for a, b in zip(cuda.threadIdx, cuda.blockDim):
            out[i, 5] += a * b
        for a in cuda.threadIdx:
            out[i, 6] += a
        out[i, 7] = cuda.threadIdx[0] + 10 * len(cuda.threadIdx[1:]) + 100 * (0, *cuda.blockDim)[1]

    def run():
        out = np.zeros((3, 8), int)
        k[1, 3](out)
        return out

    assert same(run).tolist() == [[1, 0, 1, 1, 13, 0, 0, 320], [10, 1, 0, 1, 13, 3, 1, 321], [20, 0, 1, 1, 13, 6, 2, 322]]
    assert capsys.readouterr().out == 2 * "(1, 0, 0) (3, 1, 1)\n"
    assert repr(cuda.threadIdx) == "<cuda.threadIdx: works in kernels>" and cuda.threadIdx != (1, 0, 0)


def test_indices_under_another_name(python):
    t, shape = cuda.threadIdx, cuda.blockDim

    @lw.jit
    def k(out, seen):
        x, *_ = t
        match t:
            case (2, 0, z):
                out[x] = z + 5
        out[x] += 100 * ((1, 0, 0) == t) + 1000 * (t != (0, 0, 0)) + isinstance(t, tuple) + len(t[1:])
        seen.append((f"{t} {t!r}", (7,) + t + shape, hash(t) == hash((x, 0, 0)), t < (1, 0, 0), max(shape)))
        with pytest.raises(TypeError, match="write cuda.threadIdx, or tuple"):
            out[t]

    out, seen = np.zeros(3, int), []
    with lw.config(target="python"):
        k[1, 3](out, seen)
    assert out.tolist() == [3, 1103, 1008]
    assert seen[2] == ("(2, 0, 0) threadIdx(x=2, y=0, z=0)", (7, 2, 0, 0, 3, 1, 1), True, False, 3) and seen[0][3]
    assert t != (0, 0, 0) and hash(t) == hash(cuda.threadIdx) and not isinstance(t, tuple) and t.__class__ is type(t)
    with pytest.raises(TypeError, match="threadIdx has no items outside of kernels"):
        len(t)


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


@pytest.mark.parametrize("pause", [cuda.threadfence, cuda.threadfence_block, cuda.threadfence_system, lambda: cuda.nanosleep(1)])
def test_threads_that_pause(python, pause):
    """Thread 1 waits in a loop for what thread 0 writes after its own pause."""
    @cuda.jit
    def k(x):
        if cuda.threadIdx.x == 1:
            while x[0] == 0:
                pause()
            x[1] = x[0] + 1
        else:
            pause()
            x[0] = 6

    x = np.zeros(2)
    k[1, 2](x)
    assert x.tolist() == [6, 7]


def test_threads_that_never_meet(python):
    @cuda.jit
    def k(x):
        if cuda.threadIdx.x == 0:
            cuda.syncthreads()
        else:
            cuda.syncthreads_count(1)

    with pytest.raises(errors.KernelError, match="do not reach the same call: .* cuda.syncthreads, .* cuda.syncthreads_count"):
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


# ---- debuggers, coverage, profilers, as a new user starts them ----

BARRIER = """import numpy as np
import lanewise as lw
from lanewise import cuda


@cuda.jit(device=True)
def twice(v):
    return v * 2


@cuda.jit
def turn(x):
    own = cuda.shared.array(4, lw.float32)
    i = cuda.threadIdx.x
    own[i] = twice(x[i])
    cuda.syncthreads()
    y = own[3 - i]
    x[i] = y


@lw.vectorize
def halve(v):
    w = v / 2
    return w


x = np.arange(4, dtype=np.float32)
turn[1, 4](x)
print(x, halve(x))
"""
LINES = {text.strip(): n for n, text in enumerate(BARRIER.splitlines(), 1)}
RESULT = "[6. 4. 2. 0.] [3. 2. 1. 0.]"


@pytest.fixture
def debug(tmp_path):
    """The output, prompts included, of a program that runs with these arguments of Python and this input."""
    program = tmp_path / "program.py"
    program.write_text(BARRIER)

    def run(*arguments, commands="", text=BARRIER):
        program.write_text(text)
        done = subprocess.run([sys.executable, *arguments, program], input="\n".join([*commands.split("; "), "q", ""]), capture_output=True, text=True,
                              timeout=120, env={**os.environ, "LANEWISE_TARGET": "python", "LANEWISE_NO_CUDA": "1"}, cwd=tmp_path)
        return done.stdout + done.stderr

    return run


def test_breakpoint_in_a_thread_that_waited(debug):
    stops = BARRIER.replace("    y = own", "    if i == 1:\n        breakpoint()\n    y = own")
    said = debug(text=stops, commands="p i; p cuda.threadIdx; p cuda.gridDim; n; p y; n; c")
    assert "threadIdx(x=1, y=0, z=0)" in said and "gridDim(x=1, y=1, z=1)" in said and "-> x[i] = y" in said and "4.0" in said and RESULT in said, said


def test_stepping_over_a_barrier(debug):
    """A breakpoint that was set from outside stops each thread; `next` at the barrier continues in the thread that moves."""
    line = LINES["own[i] = twice(x[i])"]
    said = debug("-m", "pdb", commands=f"b {line}; c; p i; n; n; p i; n; cl 1; c; c; c")
    assert said.count("-> own[i] = twice(x[i])") == 2 and said.count("-> cuda.syncthreads()") == 2, said
    assert "(Pdb) 0\n" in said and "(Pdb) 1\n" in said and RESULT in said


def test_breakpoints_behind_a_barrier(debug):
    line = LINES["x[i] = y"]
    said = debug("-m", "pdb", commands=f"b {line}; c; p i, float(y); c; p i, float(y); c; p i, float(y); c; p i, float(y); c")
    assert [pair in said for pair in ("(0, 6.0)", "(1, 4.0)", "(2, 2.0)", "(3, 0.0)")] == [True] * 4, said
    assert RESULT in said


@pytest.mark.parametrize("name, shown", [("turn", "-> own = cuda.shared.array(4, lw.float32)"), ("twice", "-> return v * 2"),
                                         ("halve", "-> w = v / 2")])
def test_breakpoints_by_name(debug, name, shown):
    said = debug("-m", "pdb", commands=f"b {LINES['turn[1, 4](x)']}; c; b {name}; c; w")
    assert shown in said.split("(Pdb)", 3)[3], said


def test_conditions(debug):
    line = LINES["y = own[3 - i]"]
    said = debug("-m", "pdb", commands=f"b {line}, i == 2; c; p i; c")
    assert said.count("-> y = own[3 - i]") == 1 and "(Pdb) 2\n" in said and RESULT in said, said


def test_leaving_a_debugger_ends_the_threads(debug):
    stops = BARRIER.replace("    y = own", "    breakpoint()\n    y = own")
    said = debug(text="import threading\n" + stops.replace("turn[1, 4](x)", "try:\n    turn[1, 4](x)\nexcept BaseException as e:\n"
                                                           "    print(type(e).__name__, threading.active_count())"), commands="q")
    assert "BdbQuit 1" in said, said


def test_tracing_counts_lines_of_all_threads(debug, tmp_path):
    debug("-m", "trace", "--count", "-C", str(tmp_path / "counts"))
    found = (tmp_path / "counts" / "program.cover").read_text().splitlines()
    counts = {line[7:].strip(): line[:6].strip(" :") for line in found}
    for line in ("own[i] = twice(x[i])", "return v * 2", "y = own[3 - i]", "x[i] = y", "w = v / 2"):
        assert counts[line] == "4", (line, found)


def test_coverage(debug, tmp_path):
    pytest.importorskip("coverage")
    debug("-m", "coverage", "run", "--branch", f"--data-file={tmp_path / 'data'}")
    said = subprocess.run([sys.executable, "-m", "coverage", "report", "-m", f"--data-file={tmp_path / 'data'}", "--include=*/program.py"],
                          capture_output=True, text=True, cwd=tmp_path).stdout
    assert "100%" in said, said


def test_profilers(debug):
    said = debug("-m", "cProfile", text=BARRIER.replace("    cuda.syncthreads()\n", ""))
    calls = {line.rsplit("(")[-1].rstrip(")"): line.split()[0] for line in said.splitlines() if "program.py" in line}
    assert calls["turn"] == calls["twice"] == calls["halve"] == "4", said


LOOPS = """import numpy as np
from lanewise import cuda


@cuda.jit
def spin(x):
    i = cuda.threadIdx.x
    cuda.syncthreads()
    print("spins", flush=True)
    while x[i] == 0:
        x[i] *= 2


spin[1, 4](np.zeros(4))
"""


def test_ctrl_c_ends_threads_that_wait_for_each_other(tmp_path):
    program = tmp_path / "spins.py"
    program.write_text(LOOPS)
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "LANEWISE_TARGET": "python", "LANEWISE_NO_CUDA": "1"},
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)) as process:
        assert process.stdout.readline() == "spins\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        try:
            said = process.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert said.rstrip().endswith("KeyboardInterrupt") and "in spin" in said, said


def test_code_of_what_is_called():
    def f(x):
        return x + 1

    assert all(door(f).__code__ is f.__code__ for door in (lw.vectorize, lw.jit, lw.njit, lw.forall))


def test_operands_may_be_kept_and_inputs_stay_as_they_are(python):
    kept = []

    @lw.guvectorize("(n)->(n)")
    def f(x, out):
        kept.append(x)
        out[:] = x * 2
        x[0] = 100

    a = np.arange(3.0)
    a.flags.writeable = False
    assert f(a).tolist() == [0, 2, 4] and a.tolist() == [0, 1, 2] and kept[0].tolist() == [100, 1, 2]

    @lw.guvectorize(["void(f8[:])"], "(n)")
    def in_place(x):
        x[0] = 7

    b = np.arange(3.0)
    in_place(b)
    assert b.tolist() == [7, 1, 2]


def test_masks_of_lanes_have_32_bits():
    @cuda.jit(target="cpu")
    def masks(x, out):
        i = cuda.grid(1)
        below, mine = cuda.lanemask_lt(), 1 << cuda.laneid
        votes = cuda.ballot_sync(0xFFFFFFFF, x[i] > 0)
        out[i, 0], out[i, 1], out[i, 2] = votes, cuda.popc(votes), cuda.popc(~votes)
        out[i, 3], out[i, 4], out[i, 5] = cuda.popc(votes & below), cuda.clz(votes), cuda.ffs(votes & -votes)
        out[i, 6], out[i, 7] = votes & mine, cuda.popc(votes >> 3)
        out[i, 8], out[i, 9] = cuda.popc(~below), ~below
        out[i, 10] = cuda.popc(cuda.match_any_sync(0xFFFFFFFF, x[i] > 0))
        out[i, 11] = votes + x[i]

    x = np.arange(-20, 44)
    found, expected = np.zeros((2, 64, 12), int)
    masks[1, 64](x, expected)
    with lw.config(target="python"):
        masks[1, 64](x, found)
    np.testing.assert_array_equal(found, expected)
    assert (found[:32, 1] == 11).all()
