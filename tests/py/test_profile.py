"""lanewise.profile(): every generator on the host here; kernels' times on a GPU or on the fake driver."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda
from fake_driver import needs_device


@lw.vectorize
def triple(x):
    return 3 * x


@lw.guvectorize("(n)->()")
def total(x, out):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    out[0] = s


@lw.forall
def scale(i, a, x, y):
    y[i] = a * x[i]


@cuda.jit
def copy(x, y):
    i = cuda.grid(1)
    if i < len(x):
        y[i] = x[i]


@lw.jit
def span(x):
    return x[-1] - x[0]


largest = lw.reduce(lambda a, b: max(a, b))


def find(p, name, target="cpu"):
    [row] = [row for row in p.table().rows if row["function"] == name and row["target"] == target]
    return row


def test_all_generators():
    x, y = np.arange(1000.0), np.zeros(1000)
    with lw.config(target="cpu"), lw.profile() as p:
        triple(x)
        triple(x, out=y)
        total(x.reshape(10, 100))
        scale(1000, 2.0, x, y)
        scale.bind(1000, 2.0, x, y)()
        copy[10, 100](x, y)
        copy.forall(1000)(x, y)
        span(x)
        largest(x)
        largest.accumulate(x)
    rows = {row["function"].split(" (")[0]: row for row in p.table().rows if row["decorator"]}
    assert {name: (row["decorator"], row["calls"], row["bytes"]) for name, row in rows.items() if name != "<lambda>"} == {
        "triple": ("vectorize", 2, 32000), "total": ("guvectorize", 1, 8080), "scale": ("forall", 2, 32000),
        "copy": ("jit", 2, 32000), "span": ("jit", 1, 8000)}
    reductions = [row for row in p.table().rows if row["decorator"] == "reduce"]
    assert sorted(row["bytes"] for row in reductions) == [8000, 16000]
    assert all(row["target"] == "cpu" and row["failed"] == 0 and row["run_s"] > 0 for row in p.table().rows if row["decorator"])
    assert all(row["place"].startswith(__file__ + ":") for row in p.table().rows if row["decorator"])
    assert 'triple' in p.table() and "<table" in p.table()._repr_html_()


def test_names_of_reductions():
    x = np.arange(6.0)
    with lw.profile() as p:
        lw.reductions.segmented_sum(x, x == 2)
        lw.reductions.nanargmin(x + 1j)
        lw.reductions.std(x)
        lw.reductions.nanvar(x)
    names = {row["function"] for row in p.table().rows}
    assert any("segmented" in name for name in names) and any("nanargmin" in name for name in names), names
    assert not any("made" in name for name in names)
    assert {"reductions.std", "reductions.nanvar"} <= names, names


def test_compiling_is_apart_from_running():
    def fresh(x):
        return x * 7 - 2

    f = lw.vectorize(fresh, cache=False)
    with lw.profile() as p:
        f(np.arange(3.0))
    first = find(p, "fresh")
    with lw.profile() as p:
        f(np.arange(3.0))
    second = find(p, "fresh")
    assert first["compile_s"] > 1e-3 > second["compile_s"] == 0
    assert first["call_s"] < first["compile_s"]


def test_off_means_off_and_profiles_nest():
    x = np.arange(4.0)
    with lw.profile() as outer:
        triple(x)
        with lw.profile() as inner:
            triple(x)
            inside = find(inner, "triple")["calls"]  # while it is open
            triple(x)
    triple(x)
    assert (inside, find(inner, "triple")["calls"], find(outer, "triple")["calls"]) == (1, 2, 3)
    with lw.profile() as p:
        pass
    assert p.table().rows == []
    with pytest.raises(RuntimeError, match="has not begun"):
        lw.profile().table()


def test_threads_and_trace(tmp_path):
    x = np.arange(1000.0)
    with lw.profile() as p:
        threads = [threading.Thread(target=lambda: [triple(x) for _ in range(20)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert find(p, "triple")["calls"] == 80
    p.trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    calls = [e for e in events if e["ph"] == "X" and e["cat"] == "call"]
    assert len(calls) == 80 and len({e["tid"] for e in calls}) == 4
    assert all(e["name"] == "triple" and e["ts"] >= 0 and e["dur"] > 0 and e["args"]["bytes"] == 16000 for e in calls)


def test_failures_count_and_pass_on():
    with lw.profile() as p:
        with pytest.raises(TypeError):
            triple(1, 2, 3, 4)
        triple(2.0)
    assert (find(p, "triple")["calls"], find(p, "triple")["failed"]) == (2, 1)


def test_python_target():
    with lw.config(target="python"), lw.profile() as p:
        triple(np.arange(3.0))
    assert find(p, "triple", "python")["calls"] == 1


def test_a_call_within_a_call_of_the_same_function_counts_once():
    class Wrapped:
        def __init__(self, of):
            self.of = of

        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return ufunc(self.of)

    with lw.profile() as p:
        triple(Wrapped(np.arange(3.0)))
    assert find(p, "triple")["calls"] == 1


def test_a_finished_profile_prints_its_table():
    p = lw.profile(nvtx=False)
    assert repr(p) == "<lanewise.profile>"
    with p:
        assert repr(p) == "<lanewise.profile, open>"
        triple(np.arange(3.0))
    assert repr(p) == str(p) == str(p.table()) and "triple" in repr(p)
    with pytest.raises(TypeError, match="nvtx= must be True, False or None, not 3"):
        lw.profile(nvtx=3)


RANGES = """
#include <stdio.h>
static int depth;
int nvtxRangePushA(const char *name) { fprintf(stderr, "push %s\\n", name); return depth++; }
int nvtxRangePop(void) { fprintf(stderr, "pop\\n"); return --depth; }
"""


def test_ranges_of_nvidia(tmp_path):
    (tmp_path / "ranges.c").write_text(RANGES)
    library = tmp_path / "libnvToolsExt.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", str(tmp_path / "ranges.c"), "-o", str(library)], check=True)
    program = ("import lanewise as lw\n"
               "f = lw.vectorize('float64(float64)', source='lambda x: x + 1')(lambda x: x + 1)\n"
               "with lw.profile() as p: f(1.0)\n"
               "f(1.0)\n"
               "assert p.ranges\n"
               "with lw.profile(nvtx=False) as p: f(1.0)\n"
               "assert not p.ranges\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env=dict(__import__("os").environ, LD_LIBRARY_PATH=str(tmp_path)))
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == ["push <lambda>", "pop"]


@needs_device
def test_kernels_on_a_device():
    x = cuda.to_device(np.arange(1000.0))
    with lw.profile() as p:
        triple(x)
        triple(x)
        scale(1000, 2.0, x, x)
        largest(x)
    row = find(p, "triple", "cuda")
    assert (row["calls"], row["kernels"], row["bytes"]) == (2, 2, 32000)
    assert find(p, "scale", "cuda")["kernels"] == 1
    assert row["run_s"] >= 0 and row["call_s"] > 0


@needs_device
def test_kernels_in_the_trace(tmp_path):
    x = cuda.to_device(np.arange(1000.0))
    with lw.profile() as p:
        triple(x)
        cuda.synchronize()
    p.trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    [kernel] = [e for e in events if e["ph"] == "X" and e["cat"] == "kernel"]
    assert kernel["name"] == "triple" and kernel["pid"] == 2
    assert [e["args"]["name"] for e in events if e["ph"] == "M" and e["pid"] == 2] == ["GPU", "GPU 0"]


def test_costs_nothing_when_off():
    x = np.arange(3.0)
    triple(x)

    def fastest(n=2000):
        least = 1e9
        for _ in range(20):
            start = time.perf_counter()
            for _ in range(n):
                triple(x)
            least = min(least, (time.perf_counter() - start) / n)
        return least

    before = fastest()
    with lw.profile():
        triple(x)
    assert any(fastest() < 1.5 * before for _ in range(10))  # leaves no trace in later calls; other programs may take the processor for a while


def test_parts_of_reductions_are_rows():
    mean = lw.reduce(map=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), finish=lambda s, n: s / n)
    mean.__name__ = "mean"
    placed = lw.reduce(lambda a, b: a + b, map=lambda x, index: x * index)
    placed.__name__ = "placed"
    x = np.arange(1000.0)
    with lw.profile() as p:
        parts = [mean.partial(x), mean.partial(x.astype(np.float32).astype(np.float64))]
        mean.finish(mean.merge(*parts))
        placed.partial(x, offset=0)
    calls = {row["function"]: (row["calls"], row["failed"]) for row in p.table().rows if row["calls"]}
    assert calls == {"mean.partial": (2, 0), "mean.merge": (1, 0), "mean.finish": (1, 0), "placed.partial": (1, 0)}
    assert next(row["bytes"] for row in p.table().rows if row["function"] == "mean.partial") >= 2 * x.nbytes


def test_blocks_of_dask_arrays_are_rows():
    da = pytest.importorskip("dask.array")
    total = lw.reduce(lambda a, b: a * b + 1)
    total.__name__ = "total"
    with lw.profile() as p:
        total(da.arange(100.0, chunks=10)).compute(scheduler="synchronous")
        total.accumulate(da.arange(100.0, chunks=10))  # nothing is computed
    calls = {row["function"]: row["calls"] for row in p.table().rows if row["calls"]}
    assert calls["total.partial"] == 10 and calls["total.finish"] == 1 and "total.accumulate" not in calls and "total" not in calls


@dataclasses.dataclass(frozen=True)
class Line:
    a: float
    b: float


def test_calls_with_objects_have_one_row():
    """The ufunc of the fields that is made for them is a part of the call, not a call of its own."""
    @lw.vectorize
    def at(x, line):
        return line.a * x + line.b

    @lw.guvectorize("(n),()->()")
    def mean_at(x, line):
        return line.a * x.mean() + line.b

    line = Line(2.0, 1.0)
    total = lw.reduce(lambda p, q: Line(p.a + q.a, p.b * q.b))
    lines = lw.extending.array_of([line, line])
    with lw.profile() as p:
        assert at(np.arange(3.0), line).tolist() == [1, 3, 5] and mean_at(np.arange(3.0), line) == 3
        assert total(lines).a == 4
    rows = [row for row in p.table().rows if row["decorator"]]
    assert sorted(row["decorator"] for row in rows) == ["guvectorize", "reduce", "vectorize"] and {row["calls"] for row in rows} == {1}
