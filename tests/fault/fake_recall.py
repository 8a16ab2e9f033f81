"""Calls on device arrays that are remembered, on the fake driver: test_driver_faults.py runs pytest on this in a process of its own.
One call after another of the same kind launches what a new function's first call launches."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from fake_calls import FAKE, Foreign, last_launch
from lanewise import cuda

STREAM = cuda.stream()


def launched(call, out):
    """Everything about the one launch of a call that writes to out."""
    before = FAKE.fake_cuda_n_launches()
    assert call(out) is out
    assert FAKE.fake_cuda_n_launches() == before + 1
    launch = last_launch()
    return launch.name, list(launch.grid), list(launch.block), launch.stream, bytes(launch.values)[:launch.n_bytes]


def f4(*shape):
    return cuda.to_device(np.ones(shape, np.float32))


ALIKE = {  # two operands that lie alike; what is called; the results
    "all": (lambda: f4(600), lambda r, x, out: r(x, out=out), ()),
    "many": (lambda: f4(300_000), lambda r, x, out: r(x, out=out), ()),
    "rows": (lambda: f4(20, 30), lambda r, x, out: r(x, axis=1, out=out), (20,)),
    "nothing said": (lambda: f4(600), lambda r, x, out: r(x, axis=None, out=out, dtype=None, initial=..., where=True, keepdims=False), ()),
    "dtype": (lambda: cuda.to_device(np.ones(600, np.int16)), lambda r, x, out: r(x, dtype=np.dtype("f4"), out=out), ()),
    "scan in a dtype": (lambda: cuda.to_device(np.ones(600, np.int16)), lambda r, x, out: r.accumulate(x, dtype=np.dtype("f4"), out=out), (600,)),
    "columns": (lambda: f4(20, 30), lambda r, x, out: r(x, out=out, axis=-2), (30,)),
    "rows of results": (lambda: f4(20, 30, 40), lambda r, x, out: r(x, axis=1, out=out), (20, 40)),
    "rows of elements": (lambda: f4(20, 30, 40)[:, :, :32], lambda r, x, out: r(x, axis=2, out=out), (20, 30)),
    "part": (lambda: f4(40, 60)[:, :32], lambda r, x, out: r(x, out=out), ()),
    "both ends": (lambda: f4(20, 30, 40), lambda r, x, out: r(x[:, ::2], axis=1, out=out), (20, 40)),
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
    *grids, warm_values = launched(lambda out: call(warm, second, out), results[1])
    *wanted, fresh_values = launched(lambda out: call(fresh, second, out), results[1])
    counters = slice(72, 80 if name == "many" else 72)  # each reduction keeps those of its split launches
    assert grids == wanted
    assert warm_values[:72] + warm_values[counters.stop:] == fresh_values[:72] + fresh_values[counters.stop:]
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
             (big[:600], {"out": cuda.device_array((), np.float64), "dtype": np.dtype("f8")}),
             (big[:600], {"out": out, "dtype": None}),
             (big[:600], {"out": out, "where": cuda.to_device(np.ones(600, bool))}), (big[:600], {"out": out, "stream": STREAM})]

    def at(r, x, given):
        return launched(lambda out: r(x, **given), given["out"])

    wanted = [at(lw.reduce(lambda a, b: a + b), *call) for call in calls]
    warm = lw.reduce(lambda a, b: a + b)
    for _ in range(3):
        for call, launch in zip(calls, wanted):
            assert at(warm, *call) == launch
            warm(call[0])


def test_scans_into_outputs_that_lie_elsewhere():
    """Results are stored 16 bytes at a time only where they begin there."""
    r, x, big = lw.reduce(lambda a, b: a + b), f4(100_000), f4(100_004)
    modules = FAKE.fake_cuda_live(b"modules")
    for at, more in [(0, 1), (4, 1), (1, 2), (0, 2), (1, 2), (2, 2), (0, 2)]:
        for _ in range(2):
            r.accumulate(x, out=big[at:at + 100_000])
            assert FAKE.fake_cuda_live(b"modules") == modules + more


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
    with pytest.raises(ValueError, match=r"has shape \(29,\), but the result has \(30,\)"):
        r(x, axis=0, out=out[1:])
    for given in (0, None):
        with pytest.raises(TypeError, match="given twice"):
            r.accumulate(x, given, axis=0)
    for given in ({"where": True}, {"keepdims": False}):
        r(x, **given)
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            r.accumulate(x, **given)
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


METHODS = "sum prod min max any all mean var std argmin argmax cumsum cumprod".split()
IN_TURN = pytest.mark.thorough("each dtype with a third of the names, each name with two dtypes")


@pytest.mark.parametrize("name, dtype", [pytest.param(name, dtype, marks=IN_TURN if (i + j) % 3 else ())
                                         for i, name in enumerate(METHODS) for j, dtype in enumerate(["f4", "f8", "i4", "?", "c8", "f2"])])
def test_methods_launch_what_functions_do(name, dtype):
    x, method = cuda.to_device(np.ones((20, 30), dtype)), getattr(lw.reductions, name)
    for form in FORMS:
        args, given = ((), form) if isinstance(form, dict) else (form, {})
        try:
            wanted = launches_of(lambda: method(x, *args, **given))
        except (TypeError, ValueError, lw.errors.TypingError) as problem:
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
                             (lambda: x.argmax((0, 1)), TypeError, "not a tuple"), (lambda: cuda.to_device(np.zeros(20, [('a', 'f4'), ('n', 'i8')])).sum(), TypeError, "records|record"),
                             (lambda: x.__array_function__(np.sum, (), x, {}), TypeError, "tuple and a dict")]:
        with pytest.raises(error, match=text):
            bad()
    assert x.__array_function__(len, (), (x,), {}) is NotImplemented
    assert np.count_nonzero(x, axis=0).shape == (30,)


# ---- ufuncs and generalized ufuncs ----


def muladd(x, y):
    return x * y + x


def twice(x):
    return x * 2


def scale(x, by, y):
    for i in range(x.shape[0]):
        y[i] = x[i] * by


def matvec(a, x, y):
    for i in range(a.shape[0]):
        y[i] = 0
        for j in range(x.shape[0]):
            y[i] += a[i, j] * x[j]


DOORS = {"muladd": lambda: lw.vectorize(muladd), "twice": lambda: lw.vectorize(twice), "declared": lambda: lw.vectorize(["f4(f4,f4)", "f8(f8,f8)"])(muladd),
         "scale": lambda: lw.guvectorize("(n),()->(n)")(scale), "matvec": lambda: lw.guvectorize("(m,n),(n)->(m)")(matvec)}
CALLS = {  # the function; operands that lie alike each time they are made; the output
    "flat": ("muladd", lambda: (f4(600), f4(600)), lambda: f4(600)),
    "matrix": ("muladd", lambda: (f4(20, 30), f4(20, 30)), lambda: f4(20, 30)),
    "broadcast": ("muladd", lambda: (f4(20, 30), f4(30)), lambda: f4(20, 30)),
    "backwards": ("muladd", lambda: (f4(20, 30)[::-1, ::-1], f4(20, 30)[::-1, ::-1]), lambda: f4(20, 30)[::-1, ::-1]),
    "partly backwards": ("muladd", lambda: (f4(20, 30)[::-1], f4(20, 30)[:, ::-1]), lambda: f4(20, 30)),
    "transposed": ("muladd", lambda: (f4(64, 64).T, f4(64, 64)), lambda: f4(64, 64)),
    "views": ("muladd", lambda: (f4(40, 60)[::2, ::2], f4(20, 60)[:, 1::2]), lambda: f4(40, 60)[::2, ::2]),
    "misaligned": ("muladd", lambda: (f4(601)[1:], f4(600)), lambda: f4(600)),
    "mixed": ("muladd", lambda: (f4(600), cuda.to_device(np.ones(600, np.int16))), lambda: f4(600)),
    "float": ("muladd", lambda: (f4(600), 2.5), lambda: f4(600)),
    "int": ("muladd", lambda: (f4(600), 3), lambda: f4(600)),
    "ints": ("muladd", lambda: (cuda.to_device(np.ones(600, np.int32)), -3), lambda: cuda.device_array(600, np.int32)),
    "one": ("twice", lambda: (f4(5),), lambda: f4(5)),
    "declared": ("declared", lambda: (f4(600), f4(600)), lambda: f4(600)),
    "many": ("muladd", lambda: (f4(300_000), f4(300_000)), lambda: f4(300_000)),
    "scale": ("scale", lambda: (f4(20, 30), f4(20)), lambda: f4(20, 30)),
    "scale by a float": ("scale", lambda: (f4(20, 30), 2.5), lambda: f4(20, 30)),
    "scale backwards": ("scale", lambda: (f4(20, 30)[::-1, ::-1], f4(20)[::-1]), lambda: f4(20, 30)[::-1]),
    "scale many": ("scale", lambda: (f4(3000, 30), f4(3000)), lambda: f4(3000, 30)),
    "matvec": ("matvec", lambda: (f4(3, 3), f4(3)), lambda: f4(3)),
    "many matvecs": ("matvec", lambda: (f4(300, 3, 3), f4(3)), lambda: f4(300, 3)),
    "matvec of views": ("matvec", lambda: (f4(8, 3, 6)[:, :, ::2], f4(8, 3)), lambda: f4(8, 3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_ufuncs_launch_the_same_again(name):
    door, make, output = CALLS[name]
    warm, fresh, out = DOORS[door](), DOORS[door](), output()
    warm(*make(), out=output()), warm(*make())
    for n in range(3):
        operands = [type(x)(7.25 + n) if isinstance(x, (int, float)) else x for x in make()]
        wanted = launched(lambda out: fresh(*operands, out=out, subok=True), out)  # a keyword: the long way
        assert launched(lambda out: warm(*operands, out=out), out) == wanted
        assert launched(lambda out: warm(*operands, out), out) == launched(lambda out: warm(*operands, out=(out,)), out) == wanted
        made, again = warm(*operands), fresh(*operands, subok=True)
        assert (made.shape, made.dtype, made.strides) == (again.shape, again.dtype, again.strides) == (again.shape, out.dtype, again.strides)


def test_in_place_and_apart_are_two_calls():
    f, x, y, out = lw.vectorize(muladd), f4(600), f4(600), f4(600)
    big, launches = f4(1200), []
    calls = [lambda f: f(x, y, out=out), lambda f: f(x, y, out=x), lambda f: f(x, y, out=y), lambda f: f(x, x, out=x), lambda f: f(big[:600], y, out=big[600:]),
             lambda f: f(x, x, out=out)]
    for call in calls:
        fresh = lw.vectorize(muladd)
        call(fresh)
        launches.append((last_launch().name, bytes(last_launch().values)))
    for _ in range(3):
        for call, wanted in zip(calls, launches):
            call(f)
            assert (last_launch().name, bytes(last_launch().values)) == wanted
    before = FAKE.fake_cuda_n_launches()
    f(big[:600], y, out=big[300:900])  # an overlap: the input is copied first
    f(big[:600], y, out=big[300:900])
    assert FAKE.fake_cuda_n_launches() == before + 4


def test_remembered_ufuncs_are_checked():
    f, g, x, out = lw.vectorize(muladd), lw.guvectorize("(n),()->(n)")(scale), f4(600), f4(600)
    for call, by in ((f, x), (g, 2.0)):
        for _ in range(3):
            call(x, by, out=out), call(x, by)
        launches = FAKE.fake_cuda_n_launches()
        for bad, error in [(lambda: call(x), TypeError), (lambda: call(x, by, out, out), TypeError), (lambda: call(x, by, (out,)), TypeError),
                           (lambda: call(x, by, out=(out, out)), (ValueError, TypeError)), (lambda: call(x, by, out, out=out), TypeError),
                           (lambda: call(x, by, out=out[1:]), ValueError), (lambda: call(x, by, out=np.ones(600, "f4")), TypeError),
                           (lambda: call(x, by, into=out), TypeError), (lambda: call(x, f4(7), out=out), ValueError),
                           (lambda: call(x, by, out=cuda.device_array(600, np.int32)), TypeError)]:
            with pytest.raises(error):
                bad()
        assert FAKE.fake_cuda_n_launches() == launches


def test_numbers_that_do_not_fit():
    f, x, out = lw.vectorize(muladd), cuda.to_device(np.ones(5, np.int8)), cuda.device_array(5, np.int8)
    for _ in range(3):
        assert f(x, 100).dtype == f(x, 100, out=out).dtype == np.int8
    for _ in range(2):
        for number in (1000, 1 << 70):
            with pytest.raises(OverflowError):
                f(x, number)
        assert f(x, 2.0).dtype == np.float64 and f(x, True).dtype == np.int8 and f(x, np.int16(1)).dtype == np.int16
    assert (DOORS["twice"]()(x)).dtype == np.int8


def test_read_only_outputs_are_refused():
    x, out, total = f4(30), f4(30), lw.reduce(lambda a, b: a + b)
    add, by = DOORS["muladd"](), DOORS["scale"]()
    frozen = Foreign(out)
    frozen.__cuda_array_interface__["data"] = (out.__cuda_array_interface__["data"][0], True)
    frozen = cuda.as_cuda_array(frozen)
    for call in (lambda out: add(x, x, out=out), lambda out: by(x, 2.0, out=out), lambda out: total.accumulate(x, out=out)):
        for _ in range(2):
            assert call(out) is out
        with pytest.raises(ValueError, match="read-only"):
            call(frozen)


def test_what_add_changes_is_not_remembered():
    f = lw.vectorize(["f8(f8)"])(twice)
    x = cuda.to_device(np.ones(5, np.float32))
    for _ in range(3):
        assert f(x).dtype == np.float64
    f.add("f4(f4)")
    for _ in range(3):
        assert f(x).dtype == np.float32


def test_more_calls_than_are_remembered():
    f, out = lw.vectorize(muladd), {n: f4(n) for n in range(1, 9)}
    for n in [*out, *reversed(out)] * 3:
        assert f(f4(n), f4(n), out=out[n]) is out[n]
        assert last_launch().value(0) == n


FACTOR = 2.0


def test_ufuncs_see_what_changes():
    global FACTOR
    f, x = lw.vectorize(lambda v: v * FACTOR), f4(600)
    for _ in range(3):
        f(x)
    modules = FAKE.fake_cuda_live(b"modules")
    FACTOR = 3.0
    for _ in range(2):
        f(x)
        assert FAKE.fake_cuda_live(b"modules") == modules + 1
    FACTOR = 2.0
