"""Hundreds of random chunkings: every kind of call, lazily and in memory, bit for bit where docs/dask.md promises it."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions as R
from lanewise.random import Generator

pytest.importorskip("dask.array")
from dask_checks import Pairs, chunkings, da, shapes  # noqa: E402

total = lw.reduce(lambda a, b: a + b)
ordered = lw.reduce(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), map=lambda x: (3, x), finish=lambda a, b: b)
placed = lw.reduce(lambda a, b: a + b, map=lambda x, index: x * index)
farthest = lw.reduce(lambda a, b: a if a[0] > b[0] or (a[0] == b[0] and a[1] < b[1]) else b, map=lambda x, y, index: (x * x + y * y, index), finish=lambda d, at: at)


@lw.vectorize(fma=False)
def three(x, y):
    return x + y, x * y - 1, x > y


@lw.guvectorize("(n),(n)->(),(n)")
def running(x, y, s, out):
    t = 0.0
    for i in range(x.shape[0]):
        t += x[i] * y[i]
        out[i] = t
    s[0] = t


@lw.forall
def slope(i, x, out):
    out[i] = x[i] if i == 0 or i == x.size - 1 else x[i + 1] * 2 - x[i - 1]


def kernel_over(x):
    out = np.zeros(x.size)
    slope(x.size, x, out)
    return out


def last_whole(d):
    return d.rechunk({d.ndim - 1: -1})


#: By name: what the call gives of floats x, integers n and a mask m in memory, and of the same in chunks; rtol where sums of floats are rounded by chunk.
CALLS = {
    "ufunc of three outputs": lambda x, n, m: three(x, x * 2),
    "weak numbers": lambda x, n, m: three(n, 3),
    "lw.ufuncs": lambda x, n, m: lw.hypot(x, n),
    "outer": lambda x, n, m: lw.subtract.outer(x, n[0]),
    "integers' sum": lambda x, n, m: R.sum(n, axis=0),
    "in order": lambda x, n, m: ordered(n),
    "in order, along an axis": lambda x, n, m: ordered(n, axis=-1, keepdims=True),
    "by index": lambda x, n, m: placed(n, axis=0),
    "several arrays and an index": lambda x, n, m: farthest(x, x + 1, axis=-1),
    "where": lambda x, n, m: total(n, axis=0, where=m, initial=2),
    "largest with where": lambda x, n, m: R.max(x, axis=-1, where=m, initial=-99.0),
    "argmin": lambda x, n, m: R.argmin(x),
    "argmax": lambda x, n, m: R.argmax(n, axis=0),
    "minmax": lambda x, n, m: R.minmax(x, axis=0),
    "any": lambda x, n, m: R.any(m, axis=0),
    "count_nonzero": lambda x, n, m: R.count_nonzero(n),
    "top1": lambda x, n, m: R.top1(x, n, axis=0),
    "topk": lambda x, n, m: R.topk(x, 3, axis=0),
    "argtopk": lambda x, n, m: R.argtopk(n, -2),
    "cumsum": lambda x, n, m: R.cumsum(n, axis=0),
    "running_maximum": lambda x, n, m: R.running_maximum(x),
    "exclusive": lambda x, n, m: total.accumulate(n, axis=-1, exclusive=True, initial=1),
    "ufunc.accumulate": lambda x, n, m: lw.maximum.accumulate(n, axis=-1),
}
CLOSE = {
    "mean": lambda x, n, m: R.mean(x, axis=0),
    "var": lambda x, n, m: R.var(x, ddof=0),
    "std": lambda x, n, m: R.std(x, axis=-1),
    "logsumexp": lambda x, n, m: R.logsumexp(x, axis=0),
    "nansum": lambda x, n, m: R.nansum(x),
    "floats' cumsum": lambda x, n, m: R.cumsum(x, axis=-1),
}


def arrays(rng):
    shape = shapes(rng)
    return rng.normal(size=shape).round(2), rng.integers(-4, 5, shape), rng.random(shape) < 0.6


def in_chunks(rng, *inputs):
    """Dask arrays of the arguments, each with its own chunks, or all with the same."""
    same = chunkings(rng, inputs[0].shape)
    return [da.from_array(one, chunks=chunkings(rng, one.shape) if rng.random() < 0.3 else same) for one in inputs]


def test_random_chunkings(thorough):
    rng, exact, close = np.random.default_rng(15), Pairs(), Pairs(rtol=1e-12)
    names = [*CALLS, *CLOSE]
    n_calls = len(names) * (16 if thorough else 6)
    for i in range(n_calls):
        name, inputs = names[i % len(names)], arrays(rng)
        lazy = in_chunks(rng, *inputs)
        call = CALLS.get(name) or CLOSE[name]
        (exact if name in CALLS else close).add(call(*inputs), call(*lazy), (name, [one.chunks for one in lazy]))
    for _ in range(12):
        x = rng.integers(0, 9, (*shapes(rng, most=2), 4)).astype("f8")
        d = last_whole(da.from_array(x, chunks=chunkings(rng, x.shape)))
        exact.add(running(x, x), running(d, d), d.chunks)
        shape = shapes(rng)
        exact.add(Generator(5).normal(size=shape), Generator(5).normal(size=shape, chunks=chunkings(rng, shape)), shape)
        x = rng.normal(size=int(rng.integers(3, 30)))
        exact.add(kernel_over(x), lw.map_blocks(slope, da.from_array(x, chunks=chunkings(rng, x.shape, empty=False)).rechunk(max(3, x.size // 4)), depth=1), x.size)
    assert exact.check() + close.check() >= n_calls + 36
