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
    """To a process without the file: their text is all that there is."""
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
