"""Proofs that an index is inside of a constant array: what only looks like a modulus is none."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw


def test_a_select_that_resembles_a_modulus():
    table = np.arange(7.0)

    @lw.vectorize(["f8(i8)"], target="cpu")
    def look_up(i):
        r = np.fmod(i, 7)
        return table[np.where((r != 5) & ((r ^ 7) < 3), r + 7, r)]

    assert look_up(np.array([0, 3, 4])).tolist() == [0.0, 3.0, 4.0]
    with pytest.raises(IndexError):
        look_up(np.array([6]))  # item 13
