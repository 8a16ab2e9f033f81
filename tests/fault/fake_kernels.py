"""forall, jit and random numbers on the fake driver, which test_driver_faults.py runs pytest on in a
process of its own: every driver call fails in turn, and our allocations fail in turn."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from fake_calls import CODES, WATCHED, D, E, FOREIGN, OUT, fail_allocations, fail_driver_calls
from lanewise import cuda, float32, random
from lanewise.random import Generator

HOST = np.arange(600, dtype=np.float32).reshape(20, 30)
LINE = cuda.to_device(np.zeros(600, np.float32))
RECORDS = cuda.to_device(np.zeros(20, np.dtype([("a", "f4"), ("n", "i8")], align=True)))
STREAM = cuda.stream()


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i, 0] = x[i, 0] + y[i, 0]


@cuda.jit
def scale(r, factor=2, *, shift=0.5):
    i = cuda.grid(1)
    if i < r.size:
        r[i].a = r[i].a * factor + shift


@cuda.jit
def pairs(pair, out):
    out[0] = pair[0][0] + pair[1]


@cuda.jit
def reverse(x):
    own = cuda.shared.array(0, float32)
    i = cuda.threadIdx.x
    own[i] = x[i]
    cuda.syncthreads()
    x[i] = own[cuda.blockDim.x - 1 - i]


@cuda.jit
def whole_grid(x):
    cuda.cg.this_grid().sync()
    x[cuda.grid(1)] = 1


@cuda.jit
def raising(x):
    if x[cuda.grid(1)] < 0:
        raise ValueError(f"negative: {x[0]}")


@cuda.jit
def printing(x):
    print("x is", x[cuda.grid(1)])


@cuda.jit
def making(x, n):
    y = np.zeros(n)
    x[cuda.grid(1)] = y.sum()


@lw.forall(ndim=2)
def both(i, j, x, out):
    out[i, j] = x[j, i]


@lw.forall
def shows(i, x):
    print(i, x[i, 0])
    if x[i, 0] < 0:
        raise ValueError("negative")


@lw.forall
def drawn(i, states, out):
    out[i] = random.xoroshiro128p_uniform_float32(states, i)


TOGETHER = cuda.jit(cooperative=True)(add.py_func)
HOSTED = lw.forall(target="cuda", ndim=2)(both.py_func)
TALL = np.zeros((30, 20), np.float32)
TALL_D = cuda.to_device(TALL)
BOUND = add[1, 32].bind(D, E, OUT)
STATES = random.create_xoroshiro128p_states(600, 1)
GENERATOR = Generator(3)
OLD = Generator(3, bit_generator="xoroshiro128p")


def on_a_stream():
    stream, d = cuda.stream(), cuda.to_device(HOST)
    cuda.jit(add.py_func)[1, 32, stream](d, d, d)  # a kernel keeps the last streams that it was configured with
    both((20, 30), d.T, d, stream=stream)
    stream.synchronize()


def first_launch():
    cuda.jit(add.py_func)[1, 32](D, E, OUT)


def two_specialisations():
    kernel = cuda.jit(pairs.py_func)
    kernel[1, 1]((LINE, 2.0), LINE)
    kernel[1, 1]((LINE, 2), LINE)


def fills(generator):
    def work():
        for name in ("random", "standard_normal", "exponential"):
            getattr(generator, name)(out=LINE, dtype="f4")
        generator.integers(0, 9, out=COUNTS)
        generator.poisson(3.0, out=COUNTS)
    return work


total = lw.reduce(lambda a, b: a + b)
top = lw.reduce(lambda a, b: a if a.y >= b.y else b)
POINTS = cuda.to_device(np.zeros((40, 50), [("x", "f4"), ("y", "f4")]))
LONG = cuda.to_device(np.zeros(9000, np.float32))
KEYS = cuda.to_device(np.zeros(9000, np.int8))


def scans_of_views():
    cube = cuda.to_device(np.zeros((30, 20, 15), np.float32))  # it remembers the stream
    total.accumulate(cube.transpose(1, 0, 2), axis=2, exclusive=True, stream=STREAM)
    total.reduceat(cube.transpose(1, 0, 2), [1, 2, 0], axis=2, out=cuda.device_array((20, 30, 3), np.float32))


COUNTS = cuda.to_device(np.zeros(600, np.int64))
SCENARIOS = {
    "reduce": lambda: (total(LONG), total(D, axis=0), total(D.T[::2], axis=1, keepdims=True)),
    "reduce, first call": lambda: lw.reduce(lambda a, b: b)(LONG),
    "reduce, foreign arrays": lambda: total(FOREIGN, axis=0, initial=1),
    "reduce, records": lambda: (top(POINTS, axis=0), top(POINTS), top.accumulate(POINTS[:, 1]), top(POINTS, axis=1, out=cuda.device_array(40, POINTS.dtype))),
    "reduce, scan": lambda: total.accumulate(LONG),
    "reduce, scan, first call": lambda: lw.reduce(lambda a, b: b).accumulate(LONG),
    "reduce, scan of foreign arrays": lambda: total.accumulate(FOREIGN, axis=1, out=cuda.device_array((20, 30), np.float32)),
    "reduce, scans and slices of views": scans_of_views,
    "reduce, slices": lambda: (total.reduceat(LONG, [1, 5, 0]), total.reduceat(FOREIGN, [3])),
    "reduce, keys": lambda: total.by_key(KEYS, LONG),
    "jit": lambda: add[1, 32](D, E, OUT),
    "jit, foreign arrays": lambda: add[1, 32](FOREIGN, E, OUT),
    "jit, host arrays": lambda: add[1, 32](HOST, HOST, HOST.copy()),
    "jit, host and device arrays": lambda: add[1, 32](HOST, E, OUT),
    "jit, In and Out": lambda: add[1, 32](cuda.In(HOST), cuda.InOut(HOST.copy()), cuda.Out(HOST.copy())),
    "jit, strided host arrays": lambda: add[1, 32](HOST[::2], HOST[1::2].T.copy().T, HOST.copy()[::2]),
    "jit, records and defaults": lambda: scale[1, 32](RECORDS, shift=1),
    "jit, host records": lambda: scale[1, 32](np.zeros(20, RECORDS.dtype)),
    "jit, tuples": lambda: pairs[1, 1]((LINE, 1.5), LINE),
    "jit, tuples of host arrays": lambda: pairs[1, 1]((HOST[0], 1.5), LINE),
    "jit, stream": on_a_stream,
    "jit, dynamic shared memory": lambda: reverse[1, 64, 0, 256](LINE),
    "jit, much shared memory": lambda: cuda.jit(reverse.py_func)[1, 64, 0, 60_000](LINE),
    "jit, cooperative": lambda: TOGETHER[1, 32](D, E, OUT),
    "jit, grid sync": lambda: whole_grid[2, 32](LINE),
    "jit, raises": lambda: raising[1, 32](LINE),
    "jit, prints": lambda: printing[1, 32](LINE),
    "jit, prints, first launch": lambda: cuda.jit(printing.py_func)[1, 32](LINE),
    "jit, makes arrays": lambda: making[1, 32](LINE, 3),
    "jit, makes arrays, first launch": lambda: cuda.jit(making.py_func)[1, 32](LINE, 3),
    "jit, forall": lambda: add.forall(20)(D, E, OUT),
    "jit, forall with shared memory": lambda: reverse.forall(64, sharedmem=1024)(LINE),
    "jit, bound": lambda: BOUND(),
    "jit, first launch": first_launch,
    "jit, two specialisations": two_specialisations,
    "jit, eager": lambda: cuda.jit("void(float32[:, ::1], float32[:, ::1], float32[:, ::1])")(add.py_func)[1, 32](D, E, OUT),
    "jit, resources": lambda: cuda.jit(add.py_func).specialize(D, E, OUT).get_regs_per_thread(),
    "jit, cooperative blocks": lambda: TOGETHER.max_cooperative_grid_blocks(32),
    "forall, two dimensions": lambda: both((20, 30), TALL_D, OUT),
    "forall, raises and prints": lambda: shows(20, D),
    "forall, raises and prints, first call": lambda: lw.forall(shows.py_func)(20, D),
    "forall, stream and sizes": lambda: both((20, 30), TALL_D, OUT, stream=STREAM, tpb=64, sharedmem=512),
    "forall, strided host arrays": lambda: HOSTED((10, 30), np.zeros((30, 40), np.float32)[:, ::4], HOST.copy()[::2]),
    "forall, bound, target cuda": lambda: HOSTED.bind((20, 30), TALL_D, OUT)(),
    "forall, resources": lambda: both.resources("(float32[:, ::1], float32[:, ::1])"),
    "states": lambda: random.create_xoroshiro128p_states(600, 1),
    "states, on a stream": lambda: random.create_xoroshiro128p_states(600, 1, stream=STREAM),
    "states drawn from": lambda: drawn(600, STATES, LINE),
    "fills": fills(GENERATOR),
    "fills of the old generator": fills(OLD),
    "new arrays filled": lambda: ON_DEVICE.gamma(2.0, size=601),
    "strided arrays filled": lambda: GENERATOR.normal(out=OUT[:, ::2]),
    "foreign arrays filled": lambda: GENERATOR.uniform(out=FOREIGN),
    "a new generator of states": lambda: Generator(1, "xoroshiro128p").random(out=LINE),
    "permutation": lambda: GENERATOR.permutation(LINE),
}
ON_DEVICE = Generator(5, target="cuda")
FORGETS = ("jit, first launch", "jit, prints, first launch", "jit, makes arrays, first launch", "jit, two specialisations", "jit, eager", "forall, raises and prints, first call")
WATCHED += [HOST, LINE, RECORDS, STREAM, STATES, TALL, TALL_D, GENERATOR, add, reverse, both]
SILENT = ("jit, cooperative blocks", "forall, resources")  # the driver's answers are kept


def forget(name):
    if name in FORGETS:
        lw.cache.clear(memory_only=True)


@pytest.mark.parametrize("code, word", CODES, ids=[word for _, word in CODES])
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_driver_call_fails(name, code, word):
    noticed = fail_driver_calls(SCENARIOS[name], lambda: forget(name), code, word, 400)
    assert noticed > 0 or name in SILENT


@pytest.mark.parametrize("name", SCENARIOS)
def test_our_allocations_fail(name):
    fail_allocations(SCENARIOS[name], lambda: forget(name))
