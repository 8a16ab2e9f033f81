"""A captured device array that is an argument, too: the two are one memory."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda


@pytest.fixture(autouse=True)
def on_the_cpu(cpu):
    pass


def test_a_copy_from_a_captured_array_onto_its_reverse():
    captured = cuda.to_device(np.arange(10.0))

    @cuda.jit
    def copy(x):
        x[:] = captured

    copy[1, 1](captured[::-1])
    assert captured.copy_to_host().tolist() == list(range(9, -1, -1))


def test_a_copy_between_others_is_what_it_was():
    captured = cuda.to_device(np.arange(10.0))
    other = cuda.to_device(np.zeros(10))

    @cuda.jit
    def copy(x):
        x[:] = captured

    copy[1, 1](other[::-1])
    assert other.copy_to_host().tolist() == list(range(9, -1, -1))


def test_elements_of_a_forall_stay_in_order():
    captured = cuda.to_device(np.arange(100.0))
    expected = np.arange(100.0)

    @lw.forall
    def shift(i, x):
        x[i + 1] = captured[i] + 1

    shift(99, captured)
    for i in range(99):
        expected[i + 1] = expected[i] + 1
    assert captured.copy_to_host().tolist() == expected.tolist()
