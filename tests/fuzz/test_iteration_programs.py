"""Loops over prange that call functions, in each run of the suite: iterations.py."""

from __future__ import annotations

import random

import iterations
import pytest
from test_fuzz import fuzz


@pytest.mark.slow_with_sanitizers
def test_random_programs():
    code, text = fuzz("--iterations", "--seed", "11000", "--count", "48")
    assert code == 0, text


def test_they_are_of_all_kinds():
    text = "".join(iterations.Writer(random.Random(seed)).source() for seed in range(200))
    parts = ("else:", "for k", "return v1", "np.full", "counts[x[i]", "own[i] +=", "= c1(", "max(")
    assert not [part for part in parts if part not in text]


def test_a_wrong_result_is_found(monkeypatch):
    source = "\n\ndef loop(x, counts, own):\n    for i in prange(x.shape[0]):\n        own[i] = x[i]\n    return 0\n"
    assert iterations.check_source(source) is None
    taken = iter((1, 2))
    monkeypatch.setattr(iterations, "results", lambda function, x: (next(taken), [], []))
    assert "in parallel the sum is 2" in iterations.check_source(source)
