"""lanewise.random.Generator in SciPy and NumPy: as `random_state=`, as `rng=`, and under NumPy's own Generator."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest
import scipy.stats as st

import lanewise as lw

FROZEN = [st.norm(1.0, 2.0), st.uniform(2.0, 3.0), st.gamma(2.5), st.beta(2.0, 3.0), st.expon(), st.t(5.0), st.chi2(3.0), st.f(3.0, 8.0),
          st.laplace(), st.logistic(), st.cauchy(), st.lognorm(0.5), st.pareto(3.0), st.weibull_min(1.5), st.vonmises(2.0), st.wald(),
          st.poisson(4.0), st.binom(20, 0.3), st.geom(0.2), st.nbinom(5, 0.4), st.hypergeom(20, 7, 12), st.zipf(2.5), st.logser(0.6), st.randint(2, 9)]


@pytest.mark.parametrize("of", FROZEN, ids=lambda of: of.dist.name)
def test_distributions_take_it(of):
    x = of.rvs(size=4000, random_state=lw.random.default_rng(1))
    assert x.shape == (4000,) and (x == of.rvs(size=4000, random_state=lw.random.default_rng(1))).all()
    if isinstance(of.dist, st.rv_continuous):
        assert st.kstest(x, of.cdf).pvalue > 0.001
    else:
        assert x.min() >= of.support()[0] and abs(np.median(x) - of.median()) <= 1


def test_vectors_and_resampling():
    x = st.multivariate_normal([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]]).rvs(3000, random_state=lw.random.default_rng(2))
    assert np.abs(x.mean(axis=0) - [0, 1]).max() < 0.15
    kde = st.gaussian_kde(np.arange(50.0))
    assert kde.resample(10, seed=lw.random.default_rng(3)).shape == (1, 10)


def test_it_is_still_itself():
    g = lw.random.default_rng(4)
    assert type(g) is lw.random.Generator and isinstance(g, lw.random.Generator) and lw.random.default_rng(g) is g
    assert type(pickle.loads(pickle.dumps(g))) is type(copy.copy(g)) is lw.random.Generator
    assert pickle.loads(pickle.dumps(g)).random() == g.random()


def test_numpy_draws_from_the_stream():
    g, twin = lw.random.default_rng(5), lw.random.default_rng(5)
    rng = np.random.default_rng(g)
    assert type(rng) is np.random.Generator and rng.bit_generator is g
    x = rng.random(1000)
    assert x.tolist() == twin.random(1000).tolist()
    twin.random(24)  # NumPy has taken eight times 64 blocks of two words
    assert g.random() == twin.random()
    assert (rng.integers(0, 256, 100_000, dtype=np.uint32) < 256).all() and abs(rng.normal(size=100_000).mean()) < 0.02
    assert rng.spawn(2)[0].bit_generator.random() != rng.spawn(2)[0].bit_generator.random()


def test_scipy_takes_rng():
    g = lw.random.default_rng(1)
    first = st.bootstrap((np.arange(20.0),), np.mean, rng=g, n_resamples=99).confidence_interval
    again = st.bootstrap((np.arange(20.0),), np.mean, rng=lw.random.default_rng(1), n_resamples=99).confidence_interval
    assert first == again and 5 < first.low < 9.5 < first.high < 14


def test_a_new_state_drops_the_words_taken():
    g = lw.random.default_rng(2)
    rng = np.random.default_rng(g)
    state = g.state
    first = rng.random(3).tolist()
    g.state = state
    assert rng.random(3).tolist() == first


def test_reading_the_state_drops_the_words_taken_too():
    g = lw.random.default_rng(2)
    rng = np.random.default_rng(g)
    rng.random(3)
    rng.integers(9, size=3, dtype=np.uint32)
    saved, copy_of_g = g.state, pickle.loads(pickle.dumps(g))
    following = rng.random(5).tolist()
    g.state = saved
    assert rng.random(5).tolist() == np.random.default_rng(copy_of_g).random(5).tolist() == following


def test_threads_share_the_stream():
    g = lw.random.default_rng(3)
    rng = np.random.default_rng(g)
    made = [None] * 8

    def draw(i):
        made[i] = rng.random(5000) if i % 2 else np.concatenate([g.random(50) for _ in range(100)])

    threads = [threading.Thread(target=draw, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    numbers = np.concatenate(made)
    assert len(np.unique(numbers)) == len(numbers)


def test_lanes_are_refused():
    with pytest.raises(TypeError, match="xoroshiro128p, whose parallel sequences have no common order"):
        np.random.default_rng(lw.random.Generator(1, "xoroshiro128p"))


@pytest.mark.parametrize("of", [st.nchypergeom_wallenius(20, 7, 12, 0.5), st.nchypergeom_fisher(20, 7, 12, 0.5), st.random_table([2, 3], [1, 4])],
                         ids=["wallenius", "fisher", "table"])
def test_what_reads_the_bit_generator(of):
    """C code of SciPy draws from random_state.bit_generator.capsule."""
    x = np.asarray(of.rvs(size=5, random_state=lw.random.default_rng(1)))
    assert (x == np.asarray(of.rvs(size=5, random_state=lw.random.default_rng(1)))).all() and x.shape[0] == 5
    g = lw.random.default_rng(1)
    assert g.bit_generator == "philox" and type(pickle.loads(pickle.dumps(g.bit_generator))) is str and type(g.state["bit_generator"]) is str


def test_engines_of_qmc():
    """They copy what they are given, and make children of it, which NumPy's own Generators can do with their own bit generators alone."""
    qmc = st.qmc
    for make in (lambda rng: qmc.Sobol(2, rng=rng), lambda rng: qmc.Halton(2, rng=rng), lambda rng: qmc.LatinHypercube(2, rng=rng),
                 lambda rng: qmc.PoissonDisk(2, rng=rng), lambda rng: qmc.MultivariateNormalQMC([0.0, 1.0], rng=rng)):
        for given in (lambda: lw.random.default_rng(3), lambda: np.random.default_rng(lw.random.default_rng(3))):
            engine = make(given())
            x = engine.random(4)
            assert x.shape == (4, 2) and (make(given()).random(4) == x).all()
            if hasattr(engine, "reset"):
                assert (engine.reset().random(4) == x).all()


def test_numpys_generator_is_copied_and_pickled():
    rng = np.random.default_rng(lw.random.default_rng(9))
    rng.random(5)
    for other in (copy.deepcopy(rng), pickle.loads(pickle.dumps(rng))):
        assert type(other) is np.random.Generator and type(other.bit_generator) is lw.random.Generator and other.bit_generator is not rng.bit_generator
    twin = copy.deepcopy(rng)
    assert (twin.random(100) == rng.random(100)).all()
    own = np.random.default_rng(1)  # NumPy's own are copied as before
    assert (pickle.loads(pickle.dumps(own)).random(3) == copy.deepcopy(own).random(3)).all()
    assert type(pickle.loads(pickle.dumps(own)).bit_generator) is np.random.PCG64
