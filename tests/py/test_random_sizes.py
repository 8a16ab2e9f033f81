"""Large sizes of a `Generator`'s methods: their memory, what they refuse, and Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from lanewise import _core
from lanewise.random import Generator

NAMES = ["philox", "xoroshiro128p"]


@pytest.mark.parametrize("name", NAMES)
def test_bytes_are_the_words(name):
    for length in (0, 1, 7, 8, 9, 1001):
        words = Generator(3, name).integers(0, 2**64 - 1, (length + 7) // 8, np.uint64, endpoint=True)
        made = Generator(3, name).bytes(length)
        assert type(made) is bytes and made == words.astype("<u8").tobytes()[:length]


def test_bytes_need_their_own_memory_alone():
    code = ("import resource, lanewise as lw; g = lw.random.Generator(3); g.bytes(8)\n"
            "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; made = g.bytes(10**8 + 1)\n"
            "print(len(made), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)")
    length, grown = map(int, subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100).stdout.split())
    assert length == 10**8 + 1 and grown * 1024 < 1.4e8


def test_the_array_of_words_cannot_be_kept():
    with pytest.raises(SystemError, match="kept"):
        _core._bytes_of_words(8, [].append)
    with pytest.raises(ZeroDivisionError):
        _core._bytes_of_words(8, lambda words: 1 // 0)


@pytest.mark.parametrize("call, error", [
    (lambda g: g.bytes(2**63), OverflowError), (lambda g: g.bytes(2**64), OverflowError), (lambda g: g.bytes(2**70), OverflowError),
    (lambda g: g.bytes(2**63 - 1), (MemoryError, OverflowError)), (lambda g: g.bytes(2**62), MemoryError),
    (lambda g: g.permutation(2**63), ValueError), (lambda g: g.permutation(2**70), ValueError), (lambda g: g.permutation(2**62), (MemoryError, ValueError)),
    (lambda g: g.random(2**64), (MemoryError, ValueError)), (lambda g: g.random((2**40, 2**24)), (MemoryError, ValueError)),
    (lambda g: g.integers(5, size=2**62), (MemoryError, ValueError)), (lambda g: g.normal(size=2**62), (MemoryError, ValueError)),
    (lambda g: g.lognormal(size=2**62), (MemoryError, ValueError)), (lambda g: g.poisson(size=(2**32, 2**32)), (MemoryError, ValueError)),
])
@pytest.mark.parametrize("name", NAMES)
def test_sizes_that_no_memory_has(call, error, name):
    g = Generator(3, name)
    with pytest.raises(error):
        call(g)
    assert g._place == 0


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"), reason="needs signals")
def test_ctrl_c_ends_bytes():
    class Ended(Exception):
        pass

    def end(*args):
        raise Ended

    g, before = Generator(3), signal.signal(signal.SIGALRM, end)
    g.bytes(8)
    place = g._place
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(Ended):
            g.bytes(2 * 10**9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert g._place == place
