"""Processes of distributed: the same bits as in this one, a worker killed in the middle, objects that travel."""

import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import lanewise as lw

pytest.importorskip("distributed")
from dask_checks import dask  # noqa: E402

offset = np.arange(3.0)
spread = lw.reduce(map=lambda x: (x, x), combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])), finish=lambda low, high: high - low)
shifted = lw.vectorize(lambda x: x + offset[2])


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    with dask.config.set({"distributed.comm.timeouts.connect": "60s", "distributed.scheduler.allowed-failures": 10}):
        with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster) as one:
            yield one


def slow(block):
    time.sleep(0.05)
    return block


@lw.guvectorize("(n)->()")
def largest(x, out):
    out[0] = x.max()


@lw.forall
def slope(i, x, out):
    if 0 < i < x.size - 1:
        out[i] = (x[i + 1] - x[i - 1]) / 2


def lazily():
    d = lw.random.Generator(9).standard_normal(size=(24, 1000), chunks=(3, 250))
    line = d.reshape(-1)
    last = lw.reduce(lambda a, b: (a[0] * 0.5 + b[0], 0), map=lambda x: (x, 0), finish=lambda a, b: a, identity=(0.0, 0))
    return [lw.reductions.sum(d), lw.reductions.var(d, axis=0), last(d), spread(d, axis=1), shifted(d), lw.reductions.cumsum(line), lw.reductions.topk(line, 5),
            lw.map_blocks(slope, line, depth=1, boundary="reflect"), largest(d, allow_rechunk=True), lw.random.Generator(3).integers(9, size=500, chunks=7)]


def equal(results, lazy):
    for one, other in zip(results, dask.compute(*lazy, scheduler="synchronous")):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def test_the_same_bits_in_two_processes(client):
    lazy = lazily()
    equal(client.gather(client.compute(lazy)), lazy)


@pytest.mark.skipif("LW_MANY_PROCESSES" not in os.environ, reason="sixteen processes take a core half a minute to start: LW_MANY_PROCESSES=1 runs them")
@pytest.mark.parametrize("count", [1, 4, 16])
def test_the_same_bits_for_every_number_of_processes(count):
    lazy = lazily()
    equal(dask.compute(*lazy, scheduler="processes", num_workers=count), lazy)


def test_a_worker_is_killed(client):
    d = lw.random.Generator(3).normal(size=2000, chunks=125).map_blocks(slow, dtype="f8")
    lazy = [lw.reductions.var(d), spread(d), shifted(d), lw.reductions.cumsum(d)]
    expected = dask.compute(*lazy, scheduler="synchronous")
    pids = client.run(os.getpid)
    futures = client.compute(lazy)
    time.sleep(0.5)
    os.kill(next(iter(pids.values())), signal.SIGKILL)
    for one, other in zip(client.gather(futures), expected):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


MAIN = '''
import pickle, sys
import numpy as np, lanewise as lw

LEVEL = 4.0


class Base:
    def __init__(self, a):
        self.a = a


class Point(Base):
    def twice(self):
        return self.a * 2 + LEVEL


def helper(x):
    return Point(x).twice()


f = lw.vectorize(helper)
total = lw.reduce(lambda a, b: a + b, map=lambda x: helper(x))
out = np.zeros(3)
bound = lw.forall(lambda i, x, out: None).bind(3, out, out)
sys.stdout.buffer.write(pickle.dumps((f, total, bound, f(np.arange(3.0)))))
'''


def test_classes_of_main_travel(tmp_path):
    """The process that receives them has no file, only the text of the class."""
    script = tmp_path / "program.py"
    script.write_text(MAIN)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    made = subprocess.run([sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, check=True).stdout
    script.unlink()
    f, total, bound, expected = pickle.loads(made)
    np.testing.assert_array_equal(f(np.arange(3.0)), expected)
    assert total(np.arange(3.0)) == expected.sum()
    bound()
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(again(np.arange(3.0)), expected)


RAISES = '''
import pickle, sys
import numpy as np, lanewise as lw


class Outer:
    class Bad(Exception):
        pass


def helper(a, b):
    if a + b > 5:
        raise Outer.Bad("a sum")
    return a + b


def make():
    class Local(ValueError):
        pass

    @lw.vectorize
    def limited(x):
        if x > 5:
            raise Local("too large")
        return x

    return limited


@lw.forall
def copied(i, x, out):
    if x[i] > 5:
        raise ZeroDivisionError("no")
    out[i] = x[i]


sys.stdout.buffer.write(pickle.dumps((make(), lw.reduce(helper), copied)))
'''


def test_errors_in_other_processes_name_the_users_file(tmp_path):
    """They are instances of the user's classes, also if these are local to functions and classes, and if the other process does not have the file."""
    cloudpickle = pytest.importorskip("cloudpickle")
    script = tmp_path / "program.py"
    script.write_text(RAISES.replace("import pickle,", "import cloudpickle as pickle,"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    made = subprocess.run([sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, check=True).stdout
    script.unlink()
    lines = RAISES.splitlines()
    for given, again in zip(pickle.loads(made), cloudpickle.loads(cloudpickle.dumps(pickle.loads(made)))):
        for f in (given, again):
            arguments = {"limited": (np.arange(10.0),), "helper": (np.arange(10.0),), "copied": (10, np.arange(10.0), np.zeros(10))}[f.py_func.__name__]
            name, base, words = {"limited": ("Local", ValueError, "raise Local("), "helper": ("Bad", Exception, "raise Outer.Bad("), "copied": ("ZeroDivisionError", ArithmeticError, "raise Zero")}[f.py_func.__name__]
            with pytest.raises(base) as raised:
                f(*arguments)
            line = 1 + next(i for i, text in enumerate(lines) if words in text)
            assert type(raised.value).__name__ == name and f"at {script}:{line}" in str(raised.value)
            assert (raised.value.file, raised.value.line) == (str(script), line)


def test_errors_of_compiling_in_other_processes_name_the_users_file(tmp_path):
    script = tmp_path / "program.py"
    script.write_text("import pickle, sys, lanewise as lw\n\n\n@lw.vectorize\ndef f(x):\n    return x + undefined\n\n\nsys.stdout.buffer.write(pickle.dumps(f))\n")
    made = subprocess.run([sys.executable, str(script)], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, stdout=subprocess.PIPE, check=True).stdout
    script.unlink()
    with pytest.raises(lw.errors.LanewiseError) as raised:
        pickle.loads(made)(np.arange(3.0))
    assert f"--> {script}:6" in str(raised.value)
