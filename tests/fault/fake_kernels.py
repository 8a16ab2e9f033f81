"""forall, jit and random numbers on the fake driver, which test_driver_faults.py runs pytest on in a
process of its own: every driver call fails in turn, and our allocations fail in turn."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from fake_calls import CODES, FAKE, WATCHED, D, E, FOREIGN, OUT, fail_allocations, fail_driver_calls, last_launch
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
FORGETS = ("jit, first launch", "jit, prints, first launch", "jit, two specialisations", "jit, eager", "forall, raises and prints, first call")
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


# ---- calls that are remembered: one after another of the same kind launches what a new reduction launches ----


def launched(call, out):
    """Everything about the one launch of a call that writes to out."""
    before = FAKE.fake_cuda_n_launches()
    assert call(out) is out
    assert FAKE.fake_cuda_n_launches() == before + 1
    launch = last_launch()
    return list(launch.grid), list(launch.block), launch.stream, bytes(launch.values)[:launch.n_bytes]


def f4(*shape):
    return cuda.to_device(np.ones(shape, np.float32))


ALIKE = {  # two operands that lie alike; what is called; the results
    "all": (lambda: f4(600), lambda r, x, out: r(x, out=out), ()),
    "many": (lambda: f4(300_000), lambda r, x, out: r(x, out=out), ()),
    "rows": (lambda: f4(20, 30), lambda r, x, out: r(x, axis=1, out=out), (20,)),
    "columns": (lambda: f4(20, 30), lambda r, x, out: r(x, out=out, axis=-2), (30,)),
    "view": (lambda: f4(40, 60)[::2, ::2], lambda r, x, out: r(x, axis=0, out=out), (30,)),
    "scan": (lambda: f4(600), lambda r, x, out: r.accumulate(x, out=out), (600,)),
    "long scan": (lambda: f4(100_000), lambda r, x, out: r.accumulate(x, 0, out=out), (100_000,)),
    "scanned rows": (lambda: f4(20, 30), lambda r, x, out: r.accumulate(x, axis=1, out=out), (20, 30)),
}


@pytest.mark.parametrize("name", ALIKE)
def test_remembered_calls_launch_the_same(name):
    make, call, shape = ALIKE[name]
    first, second = make(), make()
    results = [cuda.device_array(shape, np.float32) for _ in range(2)]
    warm, fresh = (lw.reduce(lambda a, b: a + b) for _ in range(2))
    launched(lambda out: call(warm, first, out), results[0])
    assert launched(lambda out: call(warm, second, out), results[1]) == launched(lambda out: call(fresh, second, out), results[1])
    made = call(warm, first, None)
    for _ in range(2):  # a result of its own, remembered too
        again = call(warm, second, None)
        assert (again.shape, again.dtype, again.device) == (made.shape, made.dtype, made.device) and again is not made


def test_what_differs_is_not_remembered():
    """Each in turn, after it and all others were called before."""
    big, out = f4(601), cuda.device_array((), np.float32)
    calls = [(big[:600], {"out": out}), (big[1:], {"out": out}), (big[:599], {"out": out}), (f4(20, 30), {"out": out}), (f4(30, 20).T, {"out": out}),
             (big[:600], {"out": cuda.device_array((), np.float64)}), (big[:600], {"out": out, "initial": 3}),
             (cuda.to_device(np.ones(600, np.int32)), {"out": cuda.device_array((), np.int64)}),
             (big[:600], {"out": out, "where": cuda.to_device(np.ones(600, bool))}), (big[:600], {"out": out, "stream": STREAM})]

    def at(r, x, given):
        return launched(lambda out: r(x, **given), given["out"])

    wanted = [at(lw.reduce(lambda a, b: a + b), *call) for call in calls]
    warm = lw.reduce(lambda a, b: a + b)
    for _ in range(3):
        for call, launch in zip(calls, wanted):
            assert at(warm, *call) == launch
            warm(call[0])


def test_remembered_calls_are_checked():
    r, x, out = lw.reduce(lambda a, b: a + b), f4(20, 30), cuda.device_array(30, np.float32)
    for _ in range(3):
        r(x, axis=0, out=out), r(x, axis=0), r(x), r.accumulate(x)
    with pytest.raises(ValueError, match="axis 2 is out of bounds"):
        r(x, axis=2)
    with pytest.raises(TypeError, match="not a bool"):
        r(x, axis=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sum'"):
        r(x, sum=0)
    with pytest.raises(ValueError, match="another shape"):
        r(x, axis=0, out=out[1:])
    with pytest.raises(TypeError, match="given twice"):
        r.accumulate(x, 0, axis=0)
    with pytest.raises(TypeError, match="reduces 1 to"):
        r()
    assert r(x, axis=0, out=x[0]).shape == (30,)  # a part of the operand: made apart
    launches = FAKE.fake_cuda_n_launches()
    r(x, axis=0, out=x[0])
    assert FAKE.fake_cuda_n_launches() == launches + 2


SCALE = 2.0


def test_remembered_calls_see_what_changes():
    global SCALE
    r, x = lw.reduce(lambda a, b: a + b, map=lambda v: v * SCALE), f4(600)
    for _ in range(2):
        r(x)
    modules = FAKE.fake_cuda_live(b"modules")
    SCALE = 3.0
    for _ in range(2):
        r(x)
        assert FAKE.fake_cuda_live(b"modules") == modules + 1  # the new value's code
    SCALE = 2.0
    r(x)
    assert FAKE.fake_cuda_live(b"modules") == modules + 1


# ---- methods of arrays: those that call a Reduction at once launch what the functions launch ----


FORMS = [(), (1,), (None,), ((0, 1),), (-1, None), {"axis": 0}, {"axis": None, "out": None}, {"keepdims": True}, {"axis": 1, "out": None, "keepdims": False}]


def launches_of(call):
    """Kernel, grid and numbers of the one launch; of each array in the parameters that it is one."""
    before = FAKE.fake_cuda_n_launches()
    result = call()
    launch = last_launch()
    numbers = [launch.value(i) for i in range(launch.n_params)]
    assert FAKE.fake_cuda_n_launches() == before + 1
    return result.shape, result.dtype, list(launch.grid), list(launch.block), [n if n < 1 << 32 else "address" for n in numbers]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "?", "c8", "f2"])
@pytest.mark.parametrize("name", "sum prod min max any all mean var std argmin argmax".split())
def test_methods_launch_what_functions_do(name, dtype):
    x, method = cuda.to_device(np.ones((20, 30), dtype)), getattr(lw.reductions, name)
    for form in FORMS:
        args, given = ((), form) if isinstance(form, dict) else (form, {})
        try:
            wanted = launches_of(lambda: method(x, *args, **given))
        except (TypeError, lw.errors.TypingError) as problem:
            with pytest.raises(type(problem)) as told:
                getattr(x, name)(*args, **given)
            assert str(told.value) == str(problem)
        else:
            assert launches_of(lambda: getattr(x, name)(*args, **given)) == wanted
            assert launches_of(lambda: getattr(np, name)(x, *args, **given)) == wanted


def test_methods_are_checked():
    x = f4(20, 30)
    for bad, error, text in [(lambda: x.max(dtype=None), TypeError, "unexpected keyword argument 'dtype'"),
                             (lambda: x.sum(0, axis=1), TypeError, "multiple values for argument 'axis'"),
                             (lambda: x.sum(axis=2), ValueError, "axis 2 is out of bounds"), (lambda: x.sum(axis=True), TypeError, "not a bool"),
                             (lambda: x.sum(axes=1), TypeError, "'axes'"), (lambda: x.sum(*range(20)), TypeError, "arguments"),
                             (lambda: x.argmax((0, 1)), TypeError, "not a tuple"), (lambda: RECORDS.sum(), TypeError, "records|record"),
                             (lambda: x.__array_function__(np.sum, (), x, {}), TypeError, "tuple and a dict")]:
        with pytest.raises(error, match=text):
            bad()
    assert x.__array_function__(len, (), (x,), {}) is NotImplemented
    assert np.count_nonzero(x, axis=0).shape == (30,)
