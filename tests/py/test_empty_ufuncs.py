"""Ufuncs with an empty output in compiled code."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import cuda


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (0, 5, 2)])
def test_an_empty_output_has_no_row_to_look_at(shape, cpu):
    @cuda.jit(check={"bounds"})
    def sines(x, out):
        np.sin(x, out)

    out = np.zeros(shape)
    sines[1, 1](np.zeros(shape), out)
    sines[1, 1](np.zeros(shape[1:]), out)
    assert out.shape == shape
