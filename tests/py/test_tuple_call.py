"""`tuple(x)` in compiled functions."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw

PAIRS = [7, 8]


def test_tuple_of_a_tuple():
    assert lw.jit(lambda t: tuple(t))((1, 2.5)) == (1, 2.5)
    assert lw.jit(lambda x: tuple(x.shape) + tuple() + tuple(PAIRS))(np.zeros((2, 3))) == (2, 3, 7, 8)
    with pytest.raises(lw.errors.TypingError, match="only a tuple can be unpacked with `.`, or be the argument of `tuple`") as error:
        lw.jit(lambda x: tuple(x))(np.arange(3))
    assert error.value.code == "E120"
    with pytest.raises(lw.errors.TypingError, match="E152"):
        lw.jit(lambda x: tuple(x, x))((1, 2))
