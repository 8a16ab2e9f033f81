"""Warnings that are asked for: grids of few blocks, and copies of host arrays by launches."""

import warnings

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device
from lanewise import cuda, errors


def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def test_grids_of_few_blocks():
    kernel = cuda.jit(add_one, target="cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel[1, 1]  # nothing was asked for
        with cuda.config(CUDA_LOW_OCCUPANCY_WARNINGS=1):
            kernel[128, 32]
            kernel[(8, 16), 32]
            cuda.jit(add_one, target="cpu")[1, 1]
    with lw.config(warn_occupancy=1), pytest.warns(errors.PerformanceWarning, match=r"Grid size 6: .*low occupancy"):
        kernel[(2, 3), 1]


@needs_device
def test_copies_of_host_arrays():
    kernel = cuda.jit(add_one, target="cuda")
    x = np.zeros(100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel[1, 128](x)
        with lw.config(warn_copies=1):
            kernel[1, 128](cuda.InOut(x))
            kernel[1, 128](cuda.to_device(x))
            for make in cuda.mapped_array, cuda.managed_array:
                there = make(100)
                there[...] = 0
                kernel[1, 128](there)
                kernel[1, 64](there[:64])
                cuda.synchronize()
                assert there.tolist() == [2] * 64 + [1] * 36
    with lw.config(CUDA_WARN_ON_IMPLICIT_COPY=1), pytest.warns(errors.PerformanceWarning, match="will incur copy overhead"):
        kernel[1, 128](x)
    assert (x == 3).all()
