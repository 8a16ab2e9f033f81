"""Memory runs out at every place there is: a MemoryError, nothing kept, and the next try works."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import sweep

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", sweep.HOST)
def test_our_allocations(name):
    total, noticed = sweep.sweep(*sweep.HOST[name])
    assert noticed <= total


@pytest.mark.parametrize("name", sweep.HEAVY)
def test_compilers(name):
    total, noticed = sweep.sweep(*sweep.HEAVY[name])
    assert noticed > 10


def test_failures_are_noticed():
    """The sweep is no empty loop: these allocate, and each failure is seen."""
    for name in ("decorate with signatures", "read a function", "parse a signature"):
        total, noticed = sweep.sweep(*sweep.HOST[name])
        assert total == noticed > 0, name


@pytest.mark.parametrize("name", sweep.AGAIN)
def test_the_same_object_again(name):
    """What a first call could not do for want of memory the next one does, with the same dtypes."""
    assert sweep.sweep_again(name) > 5


@pytest.mark.skipif("LW_ASAN" in os.environ, reason="set_nomemory replaces the allocator that ASan watches")
def test_the_same_object_again_after_pythons_allocations(run_python):
    """A loop that NumPy could not be given is not one that its promoter finds from then on."""
    pytest.importorskip("_testcapi")
    names = [name for name in sweep.AGAIN if "ufunc" in name]
    done = run_python(str(HERE / "sweep.py"), "again", "30", *names, check=False, timeout=200)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-3000:]


GROUPS = [[name for name in sweep.HOST if name not in sweep.NUMPYS_OWN][i::8] for i in range(8)]


@pytest.mark.skipif("LW_ASAN" in os.environ, reason="set_nomemory replaces the allocator that ASan watches")
@pytest.mark.parametrize("names", GROUPS, ids=list("abcdefgh"))
def test_pythons_allocations(names, run_python, thorough):
    pytest.importorskip("_testcapi")
    done = run_python(str(HERE / "sweep.py"), "python", "120" if thorough else "60", *names, check=False, timeout=200)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-3000:]
