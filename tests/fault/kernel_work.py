"""What sweep.py runs of forall, jit, random numbers and print on the CPU; this file holds no test."""

from __future__ import annotations

import contextlib
import io
import pickle

import numpy as np

import lanewise as lw
from lanewise import cuda, float32, int64, random
from lanewise.random import Generator

X = np.arange(1, 40, dtype=np.float64)
OUT = np.zeros(39)
WORDS = np.zeros(64, np.float32)
RECORDS = np.zeros(4, np.dtype([("a", "f8"), ("b", [("n", "i4"), ("m", "u1")]), ("v", "f4", (3,))], align=True))


@lw.forall
def scaled(i, a, x, out):
    out[i] = a * x[i]


@lw.forall(ndim=2)
def summed(i, j, x, out):
    out[13 * j + i] += x[i, j]


@lw.forall
def twenty(i, a, b, c, d, e, f, g, h, k, l, m, n, o, p, q, r, s, t, u):
    u[i] = a[i] + b + c[i] + d + e[i] + f + g[i] + h + k[i] + l + m[i] + n + o[i] + p + q[i] + r + s[i] + t


@lw.forall
def of_tuples(i, pair, out):
    (x, a), none, (b, (y,)) = pair
    if none is None:
        out[i] = x[i] * a + b * y[i]


@lw.forall
def of_records(i, r, one):
    r[i].a += one.b.n + r[i]["v"][1]
    r[i].b.m = 7


@lw.forall
def negative(i, x):
    if x[i] < 0:
        raise ValueError(f"negative: {x[i]}")
    print("x is", x[i])


@cuda.jit(target="cpu")
def plain(x, out, factor=2, *, shift=0.5):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * factor + shift


@cuda.jit(target="cpu")
def reverse(x):
    own = cuda.shared.array(0, float32)
    mine = cuda.local.array(4, int64)
    i = cuda.threadIdx.x
    mine[i % 4] = cuda.blockDim.x - 1 - i
    own[i] = cuda.shfl_xor_sync(0xFFFFFFFF, x[i], 1)
    cuda.syncthreads()
    x[i] = own[mine[i % 4]]


@cuda.jit(target="cpu")
def whole_grid(x):
    cuda.atomic.add(x, 0, 1)
    cuda.cg.this_grid().sync()
    x[cuda.grid(1)] = x[0]


@cuda.jit(target="cpu")
def divergent(x):
    if cuda.threadIdx.x < 32:
        cuda.syncthreads()
    else:
        cuda.syncthreads()
        x[0] = 1


@cuda.jit(target="cpu", debug=True)
def racing(x):
    own = cuda.shared.array(2, float32)
    own[0] = x[cuda.threadIdx.x]
    x[1] = own[0]


@cuda.jit(target="cpu")
def raising(x):
    i = cuda.grid(1)
    print("thread", i, x[i], sep="|")
    if i == 2:
        raise ValueError(f"no {x[i]}")


@lw.jit
def makes(x, n):
    y = x
    for i in range(n):
        y = y * 2 + i
        if y[0] > 100:
            break
    if n > 5:
        raise ValueError(f"no {n}")
    return y, x + 1


@cuda.jit(target="cpu")
def makes_too(x):
    x[cuda.grid(1)] = np.arange(4.0).sum() + (x + 1)[0] * 0


@lw.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)")
def centred(x, out):
    t = x - x.mean()
    out[:] = np.sort(t)


@lw.jit(device=True)
def helper(x):
    return x + 1


@cuda.jit(target="cpu")
def with_helper(x):
    x[cuda.grid(1)] = helper(x[cuda.grid(1)])


STATES = np.zeros(8, random.xoroshiro128p_dtype)
PHILOX, LANES = Generator(1), Generator(1, "xoroshiro128p")


def refused(problem, words, call, *args):
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            call(*args)
        except problem as error:
            if not str(error):  # CPython up to 3.11.2: without memory for the words the class is raised alone
                raise MemoryError from error
            assert words in str(error), error
            return
    raise AssertionError("not refused")


def quietly(call, *args):
    with contextlib.redirect_stdout(io.StringIO()):
        call(*args)


def twenty_arguments():
    twenty(39, *[value for _ in range(9) for value in (X, 1.5)], OUT)


def exactly(call, *args):
    """OUT as NumPy would have it."""
    OUT[:] = 0
    call(*args)
    if OUT.tobytes() != (2 * X).tobytes():
        raise AssertionError(OUT)


def fresh(function, *args, **options):
    return lw.forall(**options)(function.py_func)(*args)


def bound():
    step = scaled.bind(39, 2.0, X, OUT)
    step()
    step()


def reversed_words():
    reverse[2, 32, 0, 128](WORDS)


def inspected():
    kernel = cuda.jit("void(float64[:], float64[:])", target="cpu")(plain.py_func)
    assert "define" in kernel.inspect_llvm(kernel.signatures[0])
    assert kernel.inspect_types() and repr(kernel) and kernel.stats


def states():
    random.init_xoroshiro128p_states_cpu(STATES, 5)
    if STATES["s0"][0] == 0:
        raise AssertionError("not filled")


# name -> (work, does it start from an empty cache?)
total = lw.reduce(lambda a, b: a + b)


def merge(a, b):
    return a[0] + b[0], a[1] + b[1]


WORK = {
    "forall": (lambda: exactly(scaled, 39, 2.0, X, OUT), False),
    "forall, first call": (lambda: exactly(fresh, scaled, 39, 2.0, X, OUT), True),
    "forall, not cached": (lambda: fresh(scaled, 39, np.float32(2), X, OUT, cache=False), True),
    "forall with signatures": (lambda: lw.forall("(float64, float64[:], float64[:])")(scaled.py_func)(39, 2, X, OUT), True),
    "forall, parts": (lambda: (scaled(range(1, 30, 2), 2, X, OUT), scaled(slice(4, 9), 2, X, OUT)), False),
    "forall, two dimensions": (lambda: summed((13, 3), X.reshape(13, 3), OUT), False),
    "forall, overlapping": (lambda: scaled(20, 2.0, X.copy()[:20], OUT[5:25]), False),
    "forall, twenty arguments": (twenty_arguments, False),
    "forall, twenty arguments, first call": (lambda: fresh(twenty, 39, *[value for _ in range(9) for value in (X, 1)], OUT), True),
    "forall, tuples": (lambda: of_tuples(39, ((X, 2.0), None, (3, (X,))), OUT), False),
    "forall, tuples, first call": (lambda: fresh(of_tuples, 39, ((X, 2), None, (3.5, (X,))), OUT), True),
    "forall, records": (lambda: of_records(4, RECORDS, RECORDS[1]), False),
    "forall, records, first call": (lambda: fresh(of_records, 4, RECORDS, RECORDS[1]), True),
    "forall, bound": (bound, False),
    "forall, raises": (lambda: refused(ValueError, "negative: -1.0", negative, 39, -X), False),
    "forall, prints": (lambda: quietly(negative, 39, X), False),
    "forall, prints, first call": (lambda: quietly(fresh, negative, 39, X), True),
    "forall, refused": (lambda: refused(TypeError, "list", scaled, 39, 2.0, [1], OUT), False),
    "forall, bad count": (lambda: refused(TypeError, "argument", scaled, 39, 2.0), False),
    "forall, compile error": (lambda: refused(lw.errors.CompileError, "E", lw.forall(lambda i, x: x[i].y), 39, X), False),
    "forall, pickled": (lambda: pickle.loads(pickle.dumps(scaled)), False),
    "forall, inspected": (lambda: (scaled.inspect_types("(float64, float64[:], float64[:])"), repr(scaled), scaled.stats, scaled.signatures), False),
    "reduce": (lambda: total(X), False),
    "reduce, axes": (lambda: total(X.reshape(13, 3), axis=0, keepdims=True, initial=2), False),
    "reduce, first call": (lambda: lw.reduce(merge, map=lambda x: (1, x), finish=lambda n, s: s / n)(X), True),
    "reduce, masked": (lambda: total(X, where=X > 1, out=OUT[:1].reshape(())), False),
    "reduce, accumulated": (lambda: (total.accumulate(X), total.accumulate(X, exclusive=True)), False),
    "reduce, slices": (lambda: (total.reduceat(X, [0, 5, 3]), total.by_key([1, 1, 2], [1, 2, 3])), False),
    "reduce, simulated": (lambda: total._simulate(X, size=3), False),
    "reduce, simulated, first call": (lambda: lw.reduce(merge, map=lambda x, index: (index, x))._simulate(X, size=3), True),
    "reduce, scans simulated": (lambda: (total._simulate_scan(X, size=1), total._simulate_slices(X, [0, 5, 3]), total._simulate_by_key(X > 1, X)), False),
    "reduce, scans simulated, first call": (lambda: lw.reduce(merge, map=lambda x, index: (index, x))._simulate_scan(X, size=1), True),
    "reduce, refused": (lambda: refused(TypeError, "positional", lw.reduce, 1, 2), False),
    "reduce, compile error": (lambda: refused(TypeError, "number", lw.reduce(lambda a, b: None), X), False),
    "reduce, pickled": (lambda: pickle.loads(pickle.dumps(total)), False),
    "jit": (lambda: plain[2, 32](X, OUT), False),
    "jit, keywords": (lambda: plain[2, 32](out=OUT, x=X, shift=1), False),
    "jit, forall": (lambda: plain.forall(39)(X, OUT, 3), False),
    "jit, first launch": (lambda: cuda.jit(target="cpu")(plain.py_func)[2, 32](X, OUT), True),
    "jit, many configurations": (lambda: [plain[n, 32](X, OUT) for n in range(2, 40)], False),
    "jit, In and Out": (lambda: plain[2, 32](cuda.In(X), cuda.Out(OUT)), False),
    "jit, bound": (lambda: plain[2, 32].bind(X, OUT, factor=3)(), False),
    "jit, barriers and shared memory": (reversed_words, False),
    "jit, barriers, first launch": (lambda: cuda.jit(target="cpu")(reverse.py_func)[2, 32, 0, 128](WORDS), True),
    "jit, grid sync": (lambda: whole_grid[2, 16](WORDS), False),
    "jit, divergent": (lambda: refused(lw.errors.KernelError, "barrier", divergent[1, 64], WORDS), False),
    "jit, racing": (lambda: refused(lw.errors.KernelError, "race", racing[1, 2], WORDS), False),
    "jit, raises and prints": (lambda: refused(ValueError, "no 3.0", raising[1, 8], X), False),
    "jit, raises, first launch": (lambda: refused(ValueError, "no 3.0", cuda.jit(target="cpu")(raising.py_func)[1, 8], X), True),
    "jit, makes arrays": (lambda: (makes(X, 3), makes_too[2, 16](X.copy())), False),
    "jit, makes arrays, first call": (lambda: lw.jit(makes.py_func)(X, 4), True),
    "jit, makes arrays and raises": (lambda: refused(ValueError, "no 7", makes, X, 7), False),
    "guvectorize, makes arrays": (lambda: centred(X.reshape(13, 3)), False),
    "jit, device function": (lambda: with_helper[1, 8](X.copy()), False),
    "jit, refused": (lambda: refused(TypeError, "str", plain[2, 32], X, "text"), False),
    "jit, bad configuration": (lambda: refused(ValueError, "block.x", lambda: plain[1, 2000]), False),
    "jit, with signatures": (lambda: cuda.jit(["void(float64[:], float64[:])"], target="cpu")(with_two), True),
    "jit, inspected": (inspected, False),
    "jit, pickled": (lambda: pickle.loads(pickle.dumps(plain))[2, 32](X, OUT), False),
    "jit, compile error": (lambda: refused(lw.errors.CompileError, "E", cuda.jit(target="cpu")(lambda x: [x])[1, 1], X), False),
    "wrappers": (lambda: (repr(cuda.In("x")), cuda.Out(X).value, cuda.InOut(X)), False),
    "states": (states, False),
    "fills": (lambda: (PHILOX.random(39, out=OUT), PHILOX.normal(size=3, dtype="f4"), PHILOX.integers(9, size=5), PHILOX.poisson(3.0)), False),
    "fills of lanes": (lambda: LANES.random(out=OUT), False),
    "a new generator": (lambda: Generator(7).gamma(2.0, size=5), True),
    "permutation": (lambda: PHILOX.permutation(X), False),
}


def with_two(x, out):
    out[cuda.grid(1)] = x[cuda.grid(1)]
