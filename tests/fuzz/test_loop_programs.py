"""Loops whose indices are compared with small numbers, in each run of the suite: loops.py."""

from __future__ import annotations

import random

import loops
import pytest
from check import define
from test_fuzz import fuzz

import lanewise as lw


@pytest.mark.slow_with_sanitizers
def test_random_programs():
    code, text = fuzz("--loops", "--seed", "9000", "--count", "24")
    assert code == 0, text


def test_they_compile_for_gpus():
    code, text = fuzz("--loops", "--seed", "9100", "--count", "8", "--compile")
    assert code == 0, text


def test_they_are_of_all_kinds():
    drawn = [loops.Writer(random.Random(seed)).source() for seed in range(300)]
    text = "".join(drawn)
    parts = ("continue", "break", "return s\n    ", "unsigned(", "narrow(", "byte(", "for i2", ", -1)", "range(n - 1", " and ", "// 2", "x[k]")
    assert not [part for part in parts if part not in text]


def test_a_wrong_result_is_found(monkeypatch):
    source = "\n\ndef f(x, c, d):\n    return c + d\n"
    assert loops.check_program(source, random.Random(1)) is None
    monkeypatch.setattr(loops, "call", lambda door, source, args, gpu: args[1] + args[2] + (args[1] < 0))
    assert "rows)" in loops.check_program(source, random.Random(1))


@pytest.mark.parametrize("value", [-3, 0, 2**31, -(2**40), 300])
def test_the_casts_of_the_reference(value):
    python = {name: define(loops.PYTHON, name)(value) for name in ("unsigned", "narrow", "byte")}
    compiled = {name: int(lw.njit(define(loops.COMPILED, name))(value)) for name in python}
    assert python == compiled
