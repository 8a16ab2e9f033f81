"""A thousand calls, good and failing, and fifty compiles: Python's blocks and ours grow by a handful
at most. device_leak.py does the same on the fake driver, in a process of its own."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import lanewise as lw
from blocks import n_blocks
from lanewise import _core

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ROUNDS = 1000 if "LW_ASAN" not in os.environ else 200
X = np.arange(40.0)


def grown(work, rounds=ROUNDS, tries=7):
    """(Python's blocks, ours) that the rounds keep: the least of some tries, for a leak is in each."""
    least = [sys.maxsize, sys.maxsize]
    for _ in range(max(rounds // 5, 5)):
        work()
    for _ in range(tries):
        before = n_blocks(), _core._memory_live()
        for _ in range(rounds):
            work()
        after = n_blocks(), _core._memory_live()
        least = [min(least[i], after[i] - before[i]) for i in range(2)]
        if least[0] < 20 and least[1] < 5:
            break
    return least


def keeps_nothing(work, rounds=ROUNDS):
    python, ours = grown(work, rounds)
    assert ours <= 4, f"{ours} blocks of ours in {rounds} rounds"
    assert python < max(rounds // 10, 40), f"{python} blocks of Python's in {rounds} rounds"


@pytest.mark.skipif("LW_ASAN" in os.environ, reason="with PYTHONMALLOC=malloc Python counts no blocks; ours are counted all the same")
def test_the_measure_finds_a_leak():
    kept = []
    python, _ = grown(lambda: kept.append(object()))
    assert python >= ROUNDS


OUT = np.zeros(40)
RECORDS = np.zeros(4, np.dtype([("a", "f8"), ("n", "i4")], align=True))


@lw.forall
def axpy(i, a, x, out):
    out[i] = a * x[i] + out[i]


@lw.forall
def pairs(i, pair, out):
    out[i] = pair[0][0] * pair[0][1][i]


@lw.forall
def records(i, r, one):
    r[i].a = one.n


@lw.forall
def raising_forall(i, x):
    if x[i] < 0:
        raise ValueError("negative")


def row_sums(x, y, out):
    out[0] = 0
    for i in range(x.shape[0]):
        if x[i] < 0:
            raise ValueError("negative")
        out[0] += x[i] * y[i]


@lw.vectorize(identity=0)
def f(x, y):
    return x * y + x


@lw.vectorize
def raising(x):
    if x < 0:
        raise ValueError("negative")
    return x


def refused(error, call, *args, **kwargs):
    def work():
        try:
            call(*args, **kwargs)
        except error:
            return
        raise AssertionError("not refused")
    return work


def one(x):
    return x + 1


def one_output(x, out):
    out = x


@lw.guvectorize("(n)->(k)", sizes={"k": lambda n: n // 2})
def halves(x, out):
    for i in range(out.shape[0]):
        out[i] = x[2 * i]


sums = lw.guvectorize("(n|1),(n|1)->()")(row_sums)
X2 = X.reshape(4, 10)

WORK = {
    "gufunc": lambda: sums(X2, X2[0]),
    "gufunc, stretched": lambda: sums(X2, [2.0]),
    "gufunc, axes and out": lambda: sums(X2, X2, axes=[0, 0, ()], out=np.zeros(10)),
    "gufunc with sizes": lambda: halves(X2),
    "new gufunc": lambda: lw.guvectorize("(n),(n)->()")(row_sums)(X2, X2),
    "new gufunc with signatures": lambda: lw.guvectorize("void(f8[:], f8[:], f8[:])", "(n),(n)->()", warn=False)(row_sums).add("void(f4[:], f4[:], f4[:])"),
    "pickled gufunc": lambda: pickle.loads(pickle.dumps(sums))(X2, X2),
    "gufunc's inspection": lambda: (sums.inspect_types("dd->d"), sums.types, sums.signatures, sums.stats, sums.bind(X2, X2)()),
    "raise in a gufunc": refused(ValueError, sums, -X2, X2),
    "gufunc's bad sizes": refused(ValueError, sums, X2, X2[:, :3]),
    "gufunc's bad out": refused(ValueError, halves, X2, np.zeros((4, 3))),
    "gufunc's bad keyword": refused(TypeError, sums, X2, X2, where=True),
    "bad layout": refused(ValueError, lw.guvectorize, "(n)->("),
    "gufunc refused": lambda: refused(lw.errors.CompileError, lw.guvectorize("void(f8[:], f8[:])", "(n)->()"), one_output)(),
    "call": lambda: f(X, X),
    "weak scalar": lambda: f(X, 2),
    "out, where": lambda: f(X, X, out=np.zeros(40), where=X > 3),
    "swapped and misaligned": lambda: f(X.astype(">f8"), np.frombuffer(b"x" * 321, np.uint8)[1:].view("f8")),
    "long": lambda: f(np.ones(5000), 1.0),
    "accumulate": lambda: f.accumulate(X[:4]),
    "reduceat": lambda: f.reduceat(X, [0, 5]),
    "resolve_dtypes": lambda: f.resolve_dtypes((np.dtype("f8"), np.dtype("f8"), None)),
    "bind": lambda: f.bind(X, X)(),
    "forall": lambda: axpy(40, 2.0, X, OUT),
    "forall with tuples and none": lambda: pairs(40, ((1.0, X), None), OUT),
    "forall of records": lambda: records(4, RECORDS, RECORDS[0]),
    "forall, bound": lambda: axpy.bind(40, 2.0, X, OUT)(),
    "new forall of an old kernel": lambda: lw.forall(axpy.py_func)(40, 2.0, X, OUT),
    "new forall with signatures": lambda: lw.forall("(float32, float64[:], float64[:])")(axpy.py_func)(40, 2, X, OUT),
    "pickled forall": lambda: pickle.loads(pickle.dumps(lw.forall(axpy.py_func))),
    "forall's inspection": lambda: axpy.inspect_types("(float64, float64[:], float64[:])"),
    "raise in a forall": refused(ValueError, raising_forall, 40, -X),
    "bad space": refused(TypeError, lambda: axpy(1.5, 2.0, X, OUT)),
    "bad argument": refused(TypeError, lambda: axpy(40, 2.0, [1], OUT)),
    "bad count": refused(TypeError, lambda: axpy(40, (2.0, X), OUT)),
    "forall's compile error": lambda: refused(lw.errors.CompileError, lw.forall(lambda i, x: x[i].y), 3, X)(),
    "new ufunc of an old kernel": lambda: lw.vectorize(["f8(f8)"])(one)(1.0),
    "new ufunc without signatures": lambda: lw.vectorize(one)(X),
    "pickle": lambda: pickle.loads(pickle.dumps(f)),
    "types": lambda: (lw.float64[:, ::1], lw.float32(lw.int8), lw.typeof(X), hash(lw.float64)),
    "explain": lambda: lw.explain(one, "f4(f4)"),
    "inspect": lambda: f.inspect_types("f8(f8, f8)"),
    "nvvm": lambda: lw.compile(one, "f4(f4)", "sm_90", "nvvm"),
    "config": lambda: lw.config(threads=2).__enter__() and setattr(lw.config, "threads", 0),
    "cache.info": lambda: lw.cache.info(),
    "info": lambda: lw.info(),
    "raise in a kernel": refused(ValueError, raising, -X),
    "bad shapes": refused(ValueError, f, X, X[:3]),
    "bad dtype": refused(TypeError, f, X, X, dtype="U3"),
    "bad operand": refused(TypeError, f, X, "text"),
    "bad out": refused((TypeError, ValueError), f, X, X, out=np.zeros(3)),
    "bad casting": refused(TypeError, f, X, X, out=np.zeros(40, int)),
    "bad keyword": refused(TypeError, f, X, X, colour=3),
    "bad stream": refused(TypeError, f, X, X, stream="x"),
    "bad signature": refused(ValueError, lw.vectorize, "f8(f8"),
    "bad option": refused(ValueError, lw.vectorize, target="gpu"),
    "bad target": refused(ValueError, lw.compile, one, "f4(f4)", "sm_1"),
    "bad setting": refused(ValueError, setattr, lw.config, "threads", "many"),
    "compile error": lambda: refused(lw.errors.CompileError, lw.vectorize(lambda x: [x]), X)(),
    "the same compile error": refused(lw.errors.CompileError, lw.vectorize(lambda x: [x]), X),
    "syntax refused": lambda: refused(lw.errors.CompileError, lw.explain, lambda x: {x}, "f8(f8)")(),
    "no source": refused(OSError, lambda: lw.vectorize(eval("lambda x: sum(x for _ in (0,))"))),
}


@pytest.mark.parametrize("name", WORK)
def test_a_thousand_times(name):
    slow = name in ("info", "nvvm", "new ufunc without signatures", "compile error", "syntax refused", "pickle", "explain", "inspect", "no source",
                    "new ufunc of an old kernel", "raise in a kernel") or "new gufunc" in name or name in ("pickled gufunc", "gufunc refused", "gufunc's inspection")
    keeps_nothing(WORK[name], ROUNDS // (20 if name == "info" else 5) if slow else ROUNDS)


def test_fifty_compiles():
    """A new kernel each time, not cached on disk: memory forgets them on demand."""
    number = [0]

    def work():
        number[0] += 1
        k = float(number[0])
        assert lw.vectorize(lambda x: x * k, cache=False)(2.0) == 2 * k
        lw.cache.clear(memory_only=True)

    keeps_nothing(work, 25 if "LW_ASAN" in os.environ else 50)


def test_fifty_cubins():
    number = [0]

    def work():
        number[0] += 1
        k = float(number[0])
        lw.compile(lambda x: x * k, "f4(f4)", "sm_90", "ptx")
        lw.cache.clear(memory_only=True)

    with lw.config(cache_size_mb=0):
        work()
        keeps_nothing(work, 10)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif("LW_ASAN" in os.environ, reason="ASan keeps freed memory aside")
def test_resident_memory():
    """What neither count sees: code pages, LLVM's memory."""
    number = [0]

    def work():
        number[0] += 1
        k = float(number[0]) + 0.5
        lw.vectorize(lambda x: x * k, cache=False)(2.0)
        lw.cache.clear(memory_only=True)

    for _ in range(30):
        work()
    before = resident()
    for _ in range(60):
        work()
    assert resident() - before < 6 << 20
    for _ in range(200):
        f(X, X)
    before = resident()
    for _ in range(20_000):
        f(X, X)
    assert resident() - before < 1 << 20


@pytest.mark.skipif("LW_FAKE_DRIVER" in os.environ, reason="runs one process, not two")
@pytest.mark.parametrize("file", ["device_leak.py", "device_kernel_leak.py"])
def test_on_the_fake_driver(file, tmp_path_factory, run_python, thorough):
    sys.path.insert(0, str(ROOT / "tests" / "py"))
    try:
        from fake_driver import build
    finally:
        sys.path.pop(0)
    library = build(tmp_path_factory.mktemp("driver"))
    done = run_python("-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), str(HERE / file),
                      *([] if thorough else ["-m", "not thorough"]), check=False, LANEWISE_CUDA_DRIVER=str(library), LW_FAKE_DRIVER="1")
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "passed" in done.stdout
