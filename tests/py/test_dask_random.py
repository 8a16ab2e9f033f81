"""`Generator.<distribution>(…, size=, chunks=)`: the numbers and the place of the array made at once, for random chunkings."""

import numpy as np
import pytest

from lanewise.random import Generator

pytest.importorskip("dask.array")
from dask_checks import Pairs, chunkings, da, dask, shapes  # noqa: E402

CALLS = {
    "random": (), "uniform": (1, 3), "standard_normal": (), "normal": (2.0, 3.0), "standard_exponential": (), "exponential": (2.0,), "integers": (0, 2**40),
    "gamma": (0.5, 3.0), "standard_gamma": (2.0,), "poisson": (30.0,), "binomial": (10, 0.3), "lognormal": (), "laplace": (), "logistic": (), "gumbel": (),
    "rayleigh": (), "weibull": (2.0,), "pareto": (2.0,), "power": (2.0,), "standard_cauchy": (), "standard_t": (3.0,), "chisquare": (3.0,), "f": (3.0, 4.0),
    "beta": (2.0, 3.0), "triangular": (0.0, 1.0, 3.0), "wald": (1.0, 2.0), "geometric": (0.3,), "negative_binomial": (3.0, 0.4),
    "multinomial": (10, [0.2, 0.3, 0.5]), "dirichlet": ([1.0, 0.0, 3.0],), "noncentral_chisquare": (3.0, 1.0), "noncentral_f": (3.0, 4.0, 1.0),
    "logseries": (0.4,), "zipf": (2.0,), "vonmises": (1.0, 2.0), "hypergeometric": (10, 12, 5), "multivariate_hypergeometric": ([3, 4, 5], 6),
    "multivariate_normal": ([1.0, 2.0], [[1.0, 0.2], [0.2, 2.0]]), "choice": (np.arange(12.0).reshape(4, 3),),
}
MORE = [
    ("random", (), {"dtype": "f4"}), ("standard_normal", (), {"dtype": "f4"}), ("integers", (10,), {}), ("integers", (0, 2**32), {"dtype": "u8"}),
    ("integers", (0, 5), {"dtype": "u1"}), ("integers", (2,), {"dtype": bool}), ("choice", ([1.5, 2.0, 9.0],), {"p": [0.2, 0.3, 0.5]}),
]
ARRAYS = {"normal": 2, "uniform": 2, "gamma": 2, "poisson": 1, "lognormal": 2, "beta": 2, "standard_t": 1, "vonmises": 2, "negative_binomial": 2, "binomial": 2, "integers": 2}


def test_numbers_do_not_depend_on_the_chunks():
    rng, pairs = np.random.default_rng(1), Pairs()
    for _ in range(3):
        for name, args, given in [(name, args, {}) for name, args in CALLS.items()] + MORE:
            shape, skip = shapes(rng, longest=8), int(rng.integers(3))
            g, h = Generator(5), Generator(5)
            g.random(skip), h.random(skip)
            expected = getattr(g, name)(*args, size=shape, **given)
            pairs.add(expected, getattr(h, name)(*args, size=shape, chunks=chunkings(rng, shape), **given), (name, shape))
            assert g.state == h.state, name
    assert pairs.check() == 3 * (len(CALLS) + len(MORE))


def test_parameters_that_are_arrays():
    rng, pairs = np.random.default_rng(2), Pairs()
    for name, n in ARRAYS.items():
        shape = shapes(rng, longest=8)
        arrays = [rng.uniform(0.2, 0.8, shape[i % len(shape):]) + (name == "uniform") * i for i in range(n)]
        if name == "binomial":
            arrays[0] = rng.integers(0, 9, shape)
        if name == "integers":
            arrays = [rng.integers(0, 3, shape), 5 + rng.integers(0, 2, shape[-1:])]
        g, h = Generator(5), Generator(5)
        expected = getattr(g, name)(*arrays)
        pairs.add(expected, getattr(h, name)(*arrays, chunks=chunkings(rng, shape)), name)
        assert g.state == h.state, name
    g, h = Generator(3), Generator(3)
    pairs.add(g.integers([0, 0], [5, 5]), h.integers([0, 0], [5, 5], chunks=1), "bounds that are the same")
    pairs.add(g.normal([0.0, 1.0], size=(3, 2)), h.normal([0.0, 1.0], size=(3, 2), chunks=2), "size and arrays")
    pairs.add(g.random(()), h.random((), chunks=()), "no dimension")
    pairs.add(g.random(10), h.random(10, chunks="auto"), "auto")
    pairs.check()


def test_blocks_in_any_order_and_by_threads():
    expected = Generator(9).standard_normal((60, 70))
    lazy = Generator(9).standard_normal((60, 70), chunks=(13, 17))
    for i, j in ((4, 4), (0, 0), (2, 3)):
        np.testing.assert_array_equal(lazy.blocks[i, j].compute(scheduler="synchronous"), expected[13 * i : 13 * i + 13, 17 * j : 17 * j + 17])
    for workers in (1, 4, 16):
        np.testing.assert_array_equal(lazy.compute(scheduler="threads", num_workers=workers), expected)
    g = Generator(9).jumped(3)
    np.testing.assert_array_equal(g.jumped(0).random(9, chunks=2).compute(), g.random(9))


def test_vectors_have_the_bits_of_their_place():
    mean, cov = np.zeros(5), np.eye(5) + 0.3
    expected = Generator(2).multivariate_normal(mean, cov, 300)
    for chunks in (7, 64, 299):
        assert Generator(2).multivariate_normal(mean, cov, 300, chunks=chunks).compute().tobytes() == expected.tobytes()


def test_what_has_no_chunks():
    g = Generator(1)
    before = g.state
    with pytest.raises(TypeError, match=r"choice\(replace=False\) does not accept chunks="):
        g.choice(5, 3, replace=False, chunks=2)
    with pytest.raises(TypeError, match="out= cannot be given"):
        g.random(3, out=np.empty(3), chunks=2)
    with pytest.raises(ValueError, match="scale < 0"):
        g.normal(0.0, -1.0, size=3, chunks=2)
    with pytest.raises(ValueError, match="scale < 0"):
        g.normal([0.0, 1.0], [1.0, -1.0], chunks=2)
    with pytest.raises(ValueError, match="[Cc]hunks"):
        g.random(4, chunks=(3, 3))
    with pytest.raises(TypeError, match="with chunks=, parameters are numbers or NumPy arrays"):
        g.normal(da.ones(3), size=3, chunks=2)
    with pytest.raises(TypeError, match="xoroshiro128p.*spawn"):
        Generator(1, "xoroshiro128p").random(4, chunks=2)
    assert g.state == before
