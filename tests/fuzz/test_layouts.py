"""Calls of generalized ufuncs at random, in each run of the suite: layouts.py."""

from __future__ import annotations

import pytest

import layouts
from lanewise import cuda


@pytest.mark.parametrize("seed", range(60))
def test_calls_of_a_layout(seed):
    layouts.run(seed, 20)


@pytest.mark.gpu
@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("seed", range(60, 100))
def test_calls_on_a_device(seed):
    layouts.run(seed, 6, device=True)


def test_layouts_are_of_all_kinds():
    drawn = [layouts.draw_program(seed) for seed in range(60)]
    text = " ".join(program.layout for program in drawn)
    assert all(mark in text for mark in ("?", "|1", "3", "k", "()"))
    assert {program.fills for program in drawn} == {True, False} and any(not program.inputs for program in drawn)
