"""Kernels with many float64 coefficients, which go to constant memory on sm_90: the results are the same.

On a GPU the values are what counts; without one, what the PTX contains."""

import math
import re

import numpy as np

import lanewise as lw
from target_checks import back, check_equal, on


def prices(price, strike, years, rate, volatility):
    root = volatility * math.sqrt(years)
    d1 = (math.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / root
    d2 = d1 - root
    discounted = strike * math.exp(-rate * years)
    return price * (0.5 + 0.5 * math.erf(d1 * 0.7071067811865476)) - discounted * (0.5 + 0.5 * math.erf(d2 * 0.7071067811865476))


def four(x):
    return math.exp(x), math.log(x), math.erf(x), math.lgamma(x)


def table_of(ptx):
    found = re.search(r"\.const \.align 8 \.b64 lw_constants\[(\d+)\]", ptx)
    return int(found.group(1)) if found else 0


def test_many_coefficients_go_to_constant_memory():
    f = lw.vectorize(prices)
    assert table_of(f.inspect_ptx("ddddd->d", "sm_90")) > 40
    for target in ("sm_75", "sm_80", "sm_100", "sm_120"):
        assert table_of(f.inspect_ptx("ddddd->d", target)) == 0
    assert table_of(f.inspect_ptx("fffff->f", "sm_90")) == 0
    assert table_of(lw.vectorize(lambda x: math.log(x)).inspect_ptx("d->d", "sm_90")) >= 8
    assert table_of(lw.vectorize(lambda x: x * 1.1 + 2.2).inspect_ptx("d->d", "sm_90")) == 0


def test_their_values(target):
    """Kernels of one function each, and one of all four, whose coefficients are at other places of its table."""
    f = lw.vectorize(four)
    assert table_of(f.inspect_ptx("d->dddd", "sm_90")) > 100
    x = on(target, np.concatenate([np.random.default_rng(2).uniform(1e-3, 30, 20000), [1.0, 2.0, 5e-324, 1e300, np.inf, np.nan]]))
    with np.errstate(all="ignore"):
        for y, g in zip(f(x), (math.exp, math.log, math.erf, math.lgamma)):
            check_equal(target, y, lw.vectorize(lambda x: g(x))(x))


def test_two_programs_with_tables(target):
    @lw.forall
    def both(i, x, out):
        out[i] = prices(x[i], 1.0, 2.0, 0.02, 0.3) + math.lgamma(x[i])

    x = np.linspace(0.5, 3, 1000)
    device = on(target, x)
    out = on(target, np.empty_like(x))
    both(len(x), device, out)
    wanted = [prices(v, 1.0, 2.0, 0.02, 0.3) + math.lgamma(v) for v in x]
    np.testing.assert_allclose(back(out), wanted, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(back(lw.vectorize(prices)(device, 1.0, 2.0, 0.02, 0.3)), [prices(v, 1.0, 2.0, 0.02, 0.3) for v in x], rtol=1e-12, atol=1e-13)
