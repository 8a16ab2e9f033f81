"""Formulas of standard numbers that are drawn where they are used: the numbers of the kernels that take them from arrays, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import _distribution_kernels as formulas, _formula_device as device, _random_kernels as kernels, cuda
from lanewise.random import Generator

KEYS, C3 = kernels.round_keys(5, 7), np.uint32(4)
CASES = {
    "lognormal": (["normal"], (1.0, 0.5)), "laplace": (["uniform"], (1.0, 2.0)), "logistic": (["uniform"], (1.0, 2.0)),
    "gumbel": (["exponential"], (1.0, 2.0)), "rayleigh": (["exponential"], (2.0,)), "weibull": (["exponential"], (2.5,)),
    "pareto": (["exponential"], (3.0,)), "power": (["exponential"], (2.5,)), "standard_cauchy": (["normal", "normal"], ()),
    "triangular": (["uniform"], (0.0, 1.0, 3.0)), "wald": (["normal", "uniform"], (1.0, 2.0)), "geometric": (["exponential"], (0.1,)),
    "logseries": (["uniform", "uniform"], (0.7,)),
}  # fmt: skip
COUNTS = {"geometric", "logseries"}


def standard(kind, base, blocks):
    out = cuda.to_device(np.empty(2 * blocks))
    if kind == "exponential":
        kernels.philox_exponential_float64(blocks, KEYS, C3, np.uint64(base), 1.0, out)
    else:
        {"uniform": kernels.philox_random_float64, "normal": kernels.philox_normal_float64}[kind](blocks, KEYS, C3, np.uint64(base), 0.0, 1.0, out)
    return out


@pytest.mark.parametrize("name", CASES)
def test_same_bits_as_from_arrays(name, target):
    draws, parameters = CASES[name]
    blocks, rng = 700, np.random.default_rng(1)
    bases = [2**33 - 5000 + k * blocks for k in range(len(draws))]
    for arrays in ([np.array([p]) for p in parameters], [p * rng.uniform(0.9, 1.0, 2 * blocks) for p in parameters]):
        given = [cuda.to_device(a) for a in arrays]
        for dtype in ("i8",) if name in COUNTS else ("f8", "f4"):
            a, b = (cuda.to_device(np.zeros(2 * blocks, dtype)) for _ in range(2))
            getattr(formulas, name)(2 * blocks, *(standard(d, base, blocks) for d, base in zip(draws, bases)), *given, a)
            device.fused(name, draws, len(parameters))(blocks, device.COEFFICIENTS, KEYS, C3, *map(np.uint64, bases), *given, b)
            assert a.copy_to_host().tobytes() == b.copy_to_host().tobytes()


@pytest.mark.parametrize("name", CASES)
def test_generator_takes_them(name, target):
    """Numbers and the place behind them are those of the host; an odd count ends within a block."""
    draws, parameters = CASES[name]
    there, here = Generator(11, target="cuda"), Generator(11, target="cpu")
    for n in (1, 2, 1003, 4096):
        if name in COUNTS:
            a, b = (getattr(g, name)(*parameters, n, dtype="i8") for g in (there, here))
        else:
            a, b = (getattr(g, name)(*parameters, n) for g in (there, here))
        assert a.copy_to_host().tobytes() == b.tobytes()
        assert there.random() == here.random()
    each = [np.full((3, 5), p) for p in parameters]
    if each:
        a, b = (getattr(g, name)(*each) for g in (there, here))
        assert a.copy_to_host().tobytes() == b.tobytes()


def test_blocks_that_cross_a_multiple_of_2_to_the_32(target):
    """One launch cannot cross it, so these numbers are drawn to arrays."""
    for skipped in (2**32 - 600, 2**32 - 500, 2**32 - 400):
        there, here = Generator(11, target="cuda"), Generator(11, target="cpu")
        for g in (there, here):
            g._place = skipped
        a, b = (g.laplace(1.0, 2.0, 1003) for g in (there, here))
        assert a.copy_to_host().tobytes() == b.tobytes() and there._place == here._place


def test_gamma_numbers_are_drawn_to_arrays():
    assert device.fused("standard_t", ["normal", ("gamma", 0, 0.5, 0.0)], 1) is None
    assert device.fused("beta", [("gamma", 0, 1.0, 1.0), "exponential", ("gamma", 1, 1.0, 1.0), "exponential"], 2) is None
