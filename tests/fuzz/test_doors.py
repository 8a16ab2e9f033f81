"""Programs of forall, kernels with shared memory, reduce, records and axes, in each run of the suite: doors.py."""

from __future__ import annotations

from collections import Counter

import doors
import numpy as np
import pytest
from test_fuzz import fuzz

from lanewise import cuda


def test_random_programs_of_the_other_generators(thorough):
    code, text = fuzz("--doors", "--seed", "3000", "--count", "80" if thorough else "40")
    assert code == 0, text


@pytest.mark.gpu
@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
def test_random_programs_of_the_other_generators_on_a_device():
    code, text = fuzz("--doors", "--seed", "4000", "--count", "80", "--gpu")
    assert code == 0, text


def test_they_are_of_all_kinds():
    cases = [doors.draw(seed, i) for seed in range(20) for i in range(doors.BATCH)]
    assert min(Counter(case.kind for case in cases).values()) >= 30
    text = "".join(case.source for case in cases)
    for part in ("syncthreads", "shared.array", "atomic.", "while d <", "keepdims", "axis=(", "scan=True", "['h']", "for v in", "break", "np.median", "np.stack"):
        assert part in text, part


@pytest.mark.parametrize("kind", ["forall", "kernel", "reduce", "records", "axes"])
def test_a_wrong_result_is_found(kind):
    """One element that differs in the first program of each kind that has any."""
    case = next(c for c in (doors.draw(seed, i) for seed in range(9) for i in range(doors.BATCH)) if c.kind == kind)

    def run(f, gpu):
        results = case.run(f, gpu)
        if gpu is not None:
            first = results[0] = np.array(results[0])
            name = first.dtype.names and next(n for n in first.dtype.names if first.dtype[n].names is None)
            flat = (first[name] if name else first).reshape(-1)
            flat[-1] = not flat[-1] if flat.dtype.kind == "b" else flat[-1] + 1
            if name:
                first[name] = flat.reshape(first[name].shape)
        return results

    assert doors.check_case(case, False) is None
    assert "# expected" in doors.check_case(case._replace(run=run), False)
