"""The functions of lanewise.random, called from plain Python, draw what they draw in compiled code."""

import inspect

import numpy as np
import pytest

import lanewise as lw
from lanewise import random

MORE = {"gamma": (2.5,), "poisson": (3.5,), "binomial": (10, 0.3), "integers": (0, 100), "choice": random.alias_table([1.0, 2.0, 3.0])}
NAMES = [name for name in dir(random) if inspect.isfunction(getattr(random, name)) and name.startswith(("philox", "xoroshiro128p_")) and not name.endswith("_jump")]


@pytest.mark.parametrize("name", NAMES)
def test_draws(name):
    function = getattr(random, name)
    compiled = lw.njit(lambda *arguments: function(*arguments))
    more = next((values for part, values in MORE.items() if part in name), ())
    plain, ours = (np.zeros(4, random.xoroshiro128p_dtype) for _ in range(2))
    random.init_xoroshiro128p_states_cpu(plain, 7, 0)
    random.init_xoroshiro128p_states_cpu(ours, 7, 0)
    for k in range(20):
        first = ((k, 5), (k, 5)) if name.startswith("philox") else ((plain, 1), (ours, 1))
        np.testing.assert_allclose(np.ravel(function(*first[0], *more)), np.ravel(compiled(*first[1], *more)), rtol=1e-5, atol=1e-6)
    assert (plain == ours).all()
