"""forall, jit and random numbers a thousand times on the fake driver, good and failing; test_leak.py runs pytest on this file."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from test_leak import ROUNDS, keeps_nothing

sys.path.insert(0, str(Path(__file__).parents[1] / "fault"))
import fake_kernels as kernels  # noqa: E402
from fake_calls import FAKE, counts, drop_errors  # noqa: E402
from lanewise import cuda, errors  # noqa: E402


def rounds_for(run):
    """A thousand, or as many as take a fifth of a second."""
    run()
    start = time.perf_counter()
    run()
    return max(20, min(ROUNDS, int(0.2 / (time.perf_counter() - start + 1e-9))))


@pytest.mark.parametrize("name", kernels.SCENARIOS)
def test_a_thousand_times(name):
    run = kernels.SCENARIOS[name]
    rounds = rounds_for(run)
    for _ in range(rounds // 5):
        run()
    before = counts()
    keeps_nothing(run, rounds)
    assert counts() == before


FAILING = ["cuLaunchKernel", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuStreamSynchronize", "cuMemAllocFromPoolAsync"]
WHERE = ["jit", "jit, host arrays", "jit, raises", "forall, raises and prints", "forall, bound, target cuda",
         "jit, tuples of host arrays", "states", "fills", "a new generator of states"]
IN_TURN = pytest.mark.thorough("two calls fail in each scenario")


@pytest.mark.parametrize("name, call", [pytest.param(name, call, marks=IN_TURN if (i + j) % 5 > 1 else ()) for i, name in enumerate(WHERE) for j, call in enumerate(FAILING)])
def test_failing_a_thousand_times(name, call):
    run, refused = kernels.SCENARIOS[name], 0

    def once():
        nonlocal refused
        FAKE.fake_cuda_fail(call.encode(), 1, 700)
        try:
            run()
        except errors.DriverError:
            refused += 1
        FAKE.fake_cuda_fail(None, 0, 0)

    run()
    rounds = min(rounds_for(once), 200)
    for _ in range(rounds):
        once()
    drop_errors()
    before = counts()
    keeps_nothing(once, rounds)
    drop_errors()
    assert counts() == before
    if call == "cuLaunchKernel":
        assert refused > rounds
    run()
    cuda.synchronize()
