"""Programs of lists, dicts, sets and tuples, in each run of the suite: containers.py."""

from __future__ import annotations

import random

import containers
import pytest
from check import define
from test_fuzz import fuzz

import lanewise as lw


@pytest.mark.slow_with_sanitizers
def test_random_programs():
    code, text = fuzz("--containers", "--seed", "8000", "--count", "16")
    assert code == 0, text


def test_they_are_of_all_kinds():
    drawn = [containers.Writer(random.Random(seed)).source() for seed in range(900)]
    text = "".join(drawn)
    parts = (".append(", ".insert(", "del li", "*li", " in zip(", "in enumerate(", ".items():", "while li", "except KeyError", "finally:", "np.concatenate(", "sort(key=", "setdefault(", "grown(li")
    assert not [part for part in parts if part not in text]
    results = [containers.outcome(define(source, "f"), 3, 1)[0] for source in drawn]
    assert {ValueError, KeyError, IndexError} <= {result for result in results if isinstance(result, type)}
    assert sum(not isinstance(result, type) for result in results) > len(results) / 2


SOURCE = containers.HEAD + "def f(x, n, k):\n    li1 = [n, k]\n    li1.append(2)\n    x[0] = 2.5\n    return li1, n\n"


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        (lambda x, n, k: ([n, k, 2.0], n), "f(x, 3, 1) is ([3, 1, 2], 3), got ([3, 1, 2.0], 3)"),
        (lambda x, n, k: ([n, k, 2], n), "f(x, 3, 1) makes x array([ 2.5 , "),
    ],
)
def test_a_wrong_result_is_found(monkeypatch, changed, wrong):
    assert containers.check_program(SOURCE) is None
    monkeypatch.setattr(lw, "njit", lambda f: changed)
    assert containers.check_program(SOURCE).startswith(wrong)


def test_a_problem_is_shrunk(monkeypatch):
    """Of a program the lines remain that the problem needs."""
    monkeypatch.setattr(containers, "check_source", lambda source: "wrong" if "li1.append(2)" in source else None)
    assert containers.shrunk(SOURCE)[len(containers.HEAD) :] == "def f(x, n, k):\n    li1.append(2)\n"
