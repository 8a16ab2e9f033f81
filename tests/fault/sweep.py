"""Fail the n-th allocation for n = 0, 1, 2, … until the work passes; this file holds no test.

`python sweep.py python` walks Python's own allocations through the scenarios below, in a process
of its own, for CPython does not promise to live on; `python sweep.py device` walks ours on the
fake driver.
"""

from __future__ import annotations

import enum
import gc
import pickle
import sys
import traceback

import numpy as np

import kernel_work
import lanewise as lw
from lanewise import _core

X = np.arange(1, 40, dtype=np.float64)
FLOATS = np.arange(1, 40, dtype=np.float32)


def axpy(a, x):
    return a * x + x


def two(x, y):
    if x < y:
        return x, y
    return y, x


def helper(x):
    return x + 1


def calls(x):
    total = 0.0
    for _ in range(3):
        total += helper(x)
    return total


POINTS = np.zeros(3, [("x", "f8"), ("n", "i4")])


def moved(points):
    out = np.empty(len(points), POINTS.dtype)
    for i in range(len(points)):
        out[i] = (points[i].x + 2, points[i].n - 1)
    return out


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 4

    def twice(self):
        return self.value * 2

    @property
    def half(self):
        return self.value / 2


def of_members(i):
    return Colour(i).twice() + Colour.BLUE.half


def compiled_is(f, x, wanted):
    got = lw.njit(f)(x)
    assert np.asarray(got).tolist() == wanted, got


KEPT = lw.vectorize(axpy, identity=None)
DECLARED = lw.vectorize(["f8(f8, f8)", "f4(f4, f4)"])(axpy)
SUM = lw.vectorize(identity=0)(lambda x, y: x + y)


WANTED = {"axpy": X * X + X, "axpy2": 3 * X, "min": np.minimum(X, X[::-1]), "calls": 3 * X + 3, "sum": X.sum(),
          "weak": FLOATS * 2 + 2, "three": np.float64(3)}
MASK = X > 3


def equal(got, wanted):
    """By bytes: NumPy's own comparison is not what is tried."""
    if got.tobytes() != WANTED[wanted].tobytes():
        raise AssertionError(f"{got} instead of {WANTED[wanted]}")


def forget():
    lw.cache.clear(memory_only=True)


def declared_new():
    f = lw.vectorize(["f8(f8, f8)", "f4(f4, f4)"])(axpy)
    equal(f(X, X), "axpy")


def refused_syntax():
    try:
        lw.vectorize(lambda x: [x])(X)
    except lw.errors.CompileError as problem:
        assert "list" in str(problem)
    else:
        raise AssertionError("a list was returned")


def refused_operand():
    try:
        KEPT("text", X)
    except TypeError as problem:
        assert "text" in str(problem) or "str" in str(problem).lower(), problem
    else:
        raise AssertionError("a text was taken")


def rows(m, out):
    v = m[1:]
    for i, row in enumerate(m[::-1]):
        out[i] += total_of(row) + v[0, -1]


def total_of(v):
    s = 0
    for x in v:
        s += x
    return s


def inspected():
    assert "total" in lw.vectorize(["f8(f8)"])(calls).inspect_types("f8(f8)")
    assert "define" in KEPT.inspect_llvm("f8(f8, f8)")


# name -> (work, what brings the state back that the work starts from)
def row_sums(x, y, out):
    out[0] = 0
    for i in range(x.shape[0]):
        out[0] += x[i] * y[i]


def returned(x):
    return x[0], x.shape[0]


ROWS = np.arange(12.0).reshape(3, 4)
SUMS = lw.guvectorize("(n|1),(n|1)->()")(row_sums)
SUMS(ROWS, ROWS)


def sums_are_right(sums):
    assert sums(ROWS, ROWS).tolist() == [14, 126, 366]


HOST = {
    "guvectorize": (lambda: lw.guvectorize("(n),(n)->()")(row_sums), None),
    "guvectorize with signatures": (lambda: lw.guvectorize(["void(f8[:], f8[:], f8[:])", "void(f4[:], f4[:], f4[:])"], "(n),(n)->()")(row_sums), None),
    "first call of a gufunc": (lambda: sums_are_right(lw.guvectorize("(n),(n)->()")(row_sums)), forget),
    "a gufunc that returns": (lambda: lw.guvectorize("(n)->(),()")(returned)(ROWS), forget),
    "gufunc": (lambda: sums_are_right(SUMS), None),
    "gufunc, stretched": (lambda: SUMS(ROWS, [2.0]), None),
    "gufunc's attributes": (lambda: (SUMS.types, SUMS.signatures, SUMS.stats, repr(SUMS), SUMS.inspect_types("dd->d")), None),
    "gufunc pickled": (lambda: sums_are_right(pickle.loads(pickle.dumps(SUMS))), None),
    "add a signature to a gufunc": (lambda: lw.guvectorize("void(f8[:], f8[:], f8[:])", "(n),(n)->()")(row_sums).add("void(f4[:], f4[:], f4[:])"), None),
    "bad layout": (lambda: caught(ValueError, lw.guvectorize, "(n)->("), None),
    "type and lower a kernel": (lambda: _core._dump_kernel(rows, "const int32[:, ::1], int64[:]"), None),
    "decorate": (lambda: lw.vectorize(axpy), None),
    "decorate with signatures": (lambda: lw.vectorize(["f8(f8, f8)", "ff->f"])(axpy), None),
    "decorate with types": (lambda: lw.vectorize([lw.float64(lw.float64, lw.float64)], identity=1)(axpy), None),
    "first call, cached": (lambda: equal(lw.vectorize(axpy)(X, X), "axpy"), forget),
    "first call, declared": (declared_new, forget),
    "first call, not cached": (lambda: equal(lw.vectorize(axpy, cache=False)(2.0, X), "axpy2"), forget),
    "several outputs": (lambda: equal(lw.vectorize(two)(X, X[::-1])[0], "min"), forget),
    "helper function": (lambda: equal(lw.vectorize(calls)(X), "calls"), forget),
    "call": (lambda: equal(KEPT(X, X), "axpy"), None),
    "call with weak scalar": (lambda: equal(KEPT(FLOATS, 2), "weak"), None),
    "call with strides and out": (lambda: KEPT(X[::2], X[1::2][0], out=np.zeros(20)), None),
    "call with where": (lambda: KEPT(X, X, out=np.zeros(39), where=MASK), None),
    "call with dtype": (lambda: DECLARED(X, X, dtype="f4", casting="unsafe"), None),
    "reduce": (lambda: equal(SUM.reduce(X), "sum"), None),
    "outer": (lambda: SUM.outer(X, X), None),
    "accumulate": (lambda: SUM.accumulate(X), None),
    "add a signature": (lambda: lw.vectorize(["f8(f8, f8)"])(axpy).add("f4(f4, f4)"), None),
    "compile error": (refused_syntax, None),
    "operand refused": (refused_operand, None),
    "bad signature": (lambda: caught(lw.errors.SignatureError, lw.vectorize, "f8(f8"), None),
    "read a function": (lambda: _core._dump_tree(calls), None),
    "captures": (lambda: _core._captures(calls), None),
    "parse a signature": (lambda: _core._parse_signature("f8(i4, c16, uint8)"), None),
    "sort signatures": (lambda: _core._sort_signatures(["f8(f8)", "f4(f4)", "i2(i2)"]), None),
    "explain": (lambda: lw.explain(calls, "f4(f4)"), None),
    "inspect": (inspected, None),
    "compile to nvvm": (lambda: lw.compile(two, "(f4, f4)", "sm_90", "nvvm"), None),
    "compile to ir": (lambda: lw.compile(axpy, "f4(f4, f4)", "sm_90", "ir"), None),
    "compile to object": (lambda: lw.compile(axpy, "f4(f4, f4)", "cpu", "object"), None),
    "attributes": (lambda: (DECLARED.types, DECLARED.signatures, DECLARED.stats, repr(DECLARED)), None),
    "resolve_dtypes": (lambda: SUM.resolve_dtypes((np.dtype("f4"), np.dtype("i2"), None)), None),
    "pickle": (lambda: equal(pickle.loads(pickle.dumps(SUM))(1.0, 2.0), "three"), None),
    "types": (lambda: (lw.float32[:, ::1], lw.float64(lw.int32), lw.typeof(X), lw.from_dtype("f4")), None),
    "settings": (lambda: settings(), None),
    "records": (lambda: compiled_is(moved, POINTS, [(2.0, -1)] * 3), forget),
    "members of an Enum": (lambda: compiled_is(of_members, 4, 10.0), forget),
    "bind": (lambda: KEPT.bind(X, X)(), None),
}


def forall_of(x):
    out = np.zeros(x.shape)
    return lambda kernel: (kernel(x.size, x, out), out)[1]


def kernel_of(x):
    out = np.zeros(x.shape)

    def call(kernel):
        with lw.config(target="cpu"):
            kernel[1, x.size](x, out)
        return out

    return call


def doubled(i, x, out):
    out[i] = x[i] * 2


def doubled_by_threads(x, out):
    i = lw.cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * 2


WHOLE = np.arange(1, 5)
FEW, FEW_FLOATS = WHOLE * 0.5, (WHOLE * 0.5).astype(np.float32)
# name -> (what makes the object, its first call): the object whose first call failed is called again
AGAIN = {
    "ufunc of a mix": (lambda: lw.vectorize(axpy), lambda f: f(FEW, WHOLE)),
    "ufunc of a Python int": (lambda: lw.vectorize(axpy), lambda f: f(FEW_FLOATS, 2)),
    "ufunc with dtype": (lambda: lw.vectorize(axpy), lambda f: f(WHOLE, WHOLE, dtype="f4", casting="unsafe")),
    "declared ufunc": (lambda: lw.vectorize(["f8(f8, f8)", "f4(f4, f4)"])(axpy), lambda f: f(2, FEW_FLOATS)),
    "gufunc of a mix": (lambda: lw.guvectorize("(n),(n)->()")(row_sums), lambda f: f(ROWS, [1, 2, 3, 4])),
    "ufunc.reduce": (lambda: lw.vectorize(identity=0)(lambda x, y: x + y), lambda f: f.reduce(FEW)),
    "ufunc.reduce with dtype": (lambda: lw.vectorize(identity=0)(lambda x, y: x + y), lambda f: f.reduce(WHOLE, dtype="f8")),
    "static value": (lambda: lw.vectorize(static="n")(lambda a, n: a * n), lambda f: f(FEW, 3)),
    "excluded array": (lambda: lw.vectorize(excluded={"t"})(lambda a, t: a * t[0]), lambda f: f(FEW, WHOLE)),
    "reduction": (lambda: lw.reduce(lambda a, b: a + b, map=lambda v: v * 2), lambda f: f(FEW)),
    "forall": (lambda: lw.forall(target="cpu")(doubled), forall_of(FEW)),
    "kernel": (lambda: lw.cuda.jit(doubled_by_threads), kernel_of(FEW)),
}


def like(got, wanted):
    assert got.dtype == wanted.dtype and got.tobytes() == wanted.tobytes(), (got, wanted)


def sweep_again(name, most=300):
    """Our n-th allocation fails in an object's first call; the number of those that were noticed."""
    make, call = AGAIN[name]
    wanted = call(make()).copy()
    for n in range(most):
        made = make()
        _core._memory_fail_at(n)
        problem = once(lambda: like(call(made), wanted))
        if _core._memory_fail_at(-1):
            return n
        assert problem is None or issubclass(problem[0], MemoryError), (n, *problem)
        problem = once(lambda: like(call(made), wanted))
        assert problem is None, (n, *problem)
    raise AssertionError(f"still failing after {most} allocations")


def sweep_python_again(name, most=40):
    """The same for Python's and NumPy's allocations, each in a child of its own: NumPy 2.4 ends the process where its
    PyArrayMethod_FromSpec gets no memory."""
    import _testcapi
    import os

    make, call = AGAIN[name]
    wanted, bad = call(make()).copy(), 0
    for n in range(most):
        made = make()
        child = os.fork()
        if child == 0:
            _testcapi.set_nomemory(n, n + 1)
            try:
                call(made)
            except (MemoryError, SystemError):
                pass
            finally:
                _testcapi.remove_mem_hooks()
            try:
                like(call(made), wanted)
            except BaseException as problem:
                print(f"{name}: after allocation {n} failed the next call gave {problem!r}", flush=True)
                os._exit(1)
            os._exit(0)
        bad += os.waitpid(child, 0)[1] == 1 << 8
    return bad


HEAVY = {
    "compile to cubin": (lambda: lw.compile(axpy, "f4(f4, f4)", "sm_90", "cubin"), None),
    "cold compile": (lambda: equal(lw.vectorize(calls, cache=False)(X), "calls"), forget),
}
HOST.update({name: (work, forget if fresh else None) for name, (work, fresh) in kernel_work.WORK.items()})


# NumPy 2.4 itself crashes in np.add.outer when memory is out
NUMPYS_OWN = ("outer",)


def settings():
    with lw.config(dump_only="nobody"):
        assert lw.config.dump_only == "nobody"


def caught(kind, call, *args):
    try:
        call(*args)
    except kind:
        return
    raise AssertionError(f"{call} did not raise {kind}")


def state(reset, wanted=None):
    """Our blocks; collected garbage counts only where they are not as wanted."""
    if reset is not None:
        reset()
    live = _core._memory_live()
    if wanted is None or live != wanted:
        gc.collect()
        live = _core._memory_live()
    return live


def once(work):
    """The class and words of what work raises, and its traceback as text; None when it passes."""
    try:
        work()
    except Exception as problem:
        return type(problem), str(problem), traceback.format_exc(limit=4)
    return None


def sweep(work, reset=None, most=2000, live=state):
    """Fail allocation 0, 1, …; the number of those that were noticed."""
    noticed, n, before = 0, 0, None
    for _ in range(3):
        live(reset)
        work()
    gc.collect()
    gc.freeze()
    for n in range(most):
        before = live(reset, before)
        _core._memory_fail_at(n)
        problem = once(work)
        if _core._memory_fail_at(-1):
            assert problem is None, problem
            return n, noticed
        if problem is not None:
            noticed += 1
            assert issubclass(problem[0], MemoryError), (n, *problem)
        after = live(reset, before)
        if after != before:  # a compiler loaded for the first time stays; a leak is there each time
            before = after
            _core._memory_fail_at(n)
            problem = once(work)
            _core._memory_fail_at(-1)
            after = live(reset, before)
        assert after == before, f"allocation {n} failed: {before} blocks before, {after} after: {problem}"
        problem = once(work)
        assert problem is None, (n, *problem)
    raise AssertionError(f"still failing after {n} allocations")


ALLOWED = (MemoryError, lw.errors.LanewiseError)


def is_cpythons(text):
    """len(5) in a function, plain np.add and functions of Python's end like this when memory is out."""
    return text == "error return without exception set" or text.endswith("without setting an exception") and ("ufunc" in text or text.startswith("<function"))


def sweep_python(name, work, most):
    """The same for Python's allocations. A failure that is not seen is one that CPython or NumPy
    got over."""
    import _testcapi

    noticed = 0
    for _ in range(3):
        work()
    for n in range(most):
        problem = None
        try:
            _testcapi.set_nomemory(n, n + 1)
            try:
                work()
            finally:
                _testcapi.remove_mem_hooks()
        except ALLOWED:
            noticed += 1
        except SystemError as caught_problem:  # plain np.add does so too: see test_allocation.py
            if not is_cpythons(str(caught_problem)):
                problem = caught_problem
        except BaseException as caught_problem:
            problem = caught_problem
        if problem is not None:
            print(f"{name}: allocation {n} gave {problem!r}")
            traceback.print_exception(problem, limit=6)
            return 1
        work()
    print(f"{name}: {noticed} of {most} noticed")
    return 0


if __name__ == "__main__":
    kind, most, wanted = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    bad = 0
    if kind == "again":
        sys.exit(sum(sweep_python_again(name, most) for name in wanted or AGAIN) != 0)
    for title in wanted or [name for name in HOST if name not in NUMPYS_OWN]:
        print(title, flush=True)
        bad += sweep_python(title, HOST[title][0], most)
    sys.exit(bad != 0)
