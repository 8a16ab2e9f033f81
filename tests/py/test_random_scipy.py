"""lanewise.random.Generator as scipy.stats' random_state."""

from __future__ import annotations

import copy
import pickle

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
