"""Distributions of lanewise.random.Generator against SciPy's. Seeds are fixed: nothing here fails by chance."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

from lanewise.random import Generator

N = 20_000


@pytest.mark.parametrize("kind", ["philox", "xoroshiro128p"])
@pytest.mark.parametrize("name, args, of", [
    ("noncentral_chisquare", (3.0, 2.5), st.ncx2(3.0, 2.5)),
    ("noncentral_chisquare", (0.5, 10.0), st.ncx2(0.5, 10.0)),
    ("noncentral_chisquare", (4.0, 0.0), st.chi2(4.0)),
    ("noncentral_f", (3.0, 6.0, 2.0), st.ncf(3.0, 6.0, 2.0)),
    ("vonmises", (0.5, 2.0), st.vonmises(2.0, loc=0.5)),
    ("vonmises", (0.0, 0.1), st.vonmises(0.1)),
    ("vonmises", (0.0, 0.0), st.uniform(-np.pi, 2 * np.pi)),
    ("vonmises", (1.0, 1e8), st.norm(1.0, 1e-4)),
])
def test_continuous(kind, name, args, of):
    x = getattr(Generator(3, kind), name)(*args, N)
    assert x.dtype == np.float64 and st.kstest(x, of.cdf).pvalue > 0.001


@pytest.mark.parametrize("name, args, of", [
    ("logseries", (0.6,), st.logser(0.6)), ("logseries", (0.99,), st.logser(0.99)), ("logseries", (0.01,), st.logser(0.01)),
    ("zipf", (2.5,), st.zipf(2.5)), ("zipf", (1.3,), st.zipf(1.3)), ("zipf", (8.0,), st.zipf(8.0)),
    ("hypergeometric", (10, 20, 12), st.hypergeom(30, 10, 12)), ("hypergeometric", (5, 3, 8), st.hypergeom(8, 5, 8)),
    ("hypergeometric", (40_000, 60_000, 500), st.hypergeom(100_000, 40_000, 500)),
    ("hypergeometric", (3, 0, 2), st.hypergeom(3, 3, 2)),
])
def test_of_integers(name, args, of):
    x = getattr(Generator(4), name)(*args, N)
    assert x.dtype == np.int64
    values, counts = np.unique(np.minimum(x, 300), return_counts=True)
    expected = N * np.where(values == 300, of.sf(299), of.pmf(values))
    enough = expected > 8
    assert (x >= of.support()[0]).all() and (x <= of.support()[1]).all()
    if enough.sum() > 1:
        square = ((counts - expected)[enough] ** 2 / expected[enough]).sum()
        assert st.chi2.sf(square, enough.sum()) > 0.001
    else:
        assert counts[enough][0] == pytest.approx(expected[enough][0], rel=0.01)


def test_targets_agree():
    for name, args in (("noncentral_chisquare", (0.7, 3.0)), ("noncentral_f", (3.0, 4.0, 1.0)), ("logseries", (0.9,)), ("zipf", (1.5,)), ("vonmises", (0.5, 2.0))):
        whole = getattr(Generator(5), name)(*args, 1000)
        again = getattr(Generator(5), name)(*args, out=np.empty(1000, whole.dtype))
        assert (whole == again).all()
        assert np.ndim(getattr(Generator(5), name)(*args)) == 0


def test_zipf_and_vonmises_as_other_distributions():
    """Their numbers have places in the stream: parameters that are arrays change none of them, and dtype, out and lanes work."""
    for bits in ("philox", "xoroshiro128p"):
        angles = Generator(8, bits).vonmises(0.5, 2.0, 500)
        assert (Generator(8, bits).vonmises([0.5], np.full(500, 2.0)) == angles).all() and np.abs(angles).max() <= np.pi
        assert (Generator(8, bits).vonmises(0.5, 2.0, out=np.empty(500, np.float32)) == angles.astype(np.float32)).all()
        numbers = Generator(8, bits).zipf(2.0, 500)
        assert (Generator(8, bits).zipf(np.full(500, 2.0)) == numbers).all() and numbers.dtype == np.int64 and numbers.min() == 1
        assert (Generator(8, bits).zipf(2.0, out=np.empty(500, np.uint64)) == numbers.astype(np.uint64)).all()
    for a in (np.nextafter(1.0, 2.0), 1.01, 1e300):  # no number is too large, and none is never found
        assert (Generator(2).zipf(a, 200) >= 1).all()
    with pytest.raises(ValueError, match="a is so small that numbers would exceed the range of int32"):
        Generator(1).zipf(2.0, 3, np.int32)


def test_parameters_broadcast():
    g = Generator(6)
    assert g.noncentral_chisquare([[1.0], [2.0]], [0.0, 50.0, 1e6]).shape == (2, 3)
    assert g.vonmises(np.zeros(3), 1.0).shape == (3,) and g.zipf([2.0, 2000.0], (5, 2)).shape == (5, 2)
    x = g.hypergeometric([1000, 10], [10, 1000], 500, (400, 2))
    assert x[:, 0].min() >= 490 and x[:, 1].max() <= 10
    assert type(g.hypergeometric(3, 4, 2)) is int and type(g.zipf(2.0)) is int and type(g.vonmises(0.0, 1.0)) is float


def test_urns_of_several_kinds():
    """Each number depends only on its own urn and place, whatever is drawn beside it."""
    urns = np.random.default_rng(1).integers(5, 9, (40, 3))
    mixed = Generator(8).hypergeometric(*urns.T, (5, 40))
    for i in (0, 17, 39):
        assert (mixed[:, i] == Generator(8).hypergeometric(*urns[i].tolist(), (5, 40))[:, i]).all()


def test_vectors():
    g = Generator(7)
    colours = np.array([16, 8, 4, 0])
    x = g.multivariate_hypergeometric(colours, 9, N)
    assert x.shape == (N, 4) and (x.sum(axis=1) == 9).all() and (x <= colours).all()
    of = st.multivariate_hypergeom(colours[:3], 9)
    assert np.abs(x[:, :3].mean(axis=0) - of.mean()).max() < 0.05
    cov = np.array([[2.0, 0.6], [0.6, 1.0]])
    for method in ("svd", "eigh", "cholesky"):
        y = g.multivariate_normal([1.0, -1.0], cov, N, method=method)
        assert np.abs(y.mean(axis=0) - [1, -1]).max() < 0.05 and np.abs(np.cov(y.T) - cov).max() < 0.08
    assert g.multivariate_normal([0.0], [[1.0]]).shape == (1,)
    with pytest.warns(RuntimeWarning, match="positive-semidefinite"):
        g.multivariate_normal([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize("call, text", [
    (lambda g: g.noncentral_chisquare(0.0, 1.0), "df <= 0"), (lambda g: g.noncentral_chisquare(1.0, -1.0), "nonc < 0"),
    (lambda g: g.noncentral_f(1.0, 0.0, 1.0), "dfden <= 0"), (lambda g: g.logseries(1.0), "p >= 1"), (lambda g: g.zipf(1.0), "a <= 1"),
    (lambda g: g.vonmises(0.0, -1.0), "kappa < 0"), (lambda g: g.hypergeometric(2, 2, 5), r"ngood \+ nbad < nsample"),
    (lambda g: g.hypergeometric(10**9, 2, 5), "less than"), (lambda g: g.multivariate_hypergeometric([1, 2], 4), "nsample > sum"),
    (lambda g: g.multivariate_hypergeometric([1, 2], 2, method="other"), "method"),
    (lambda g: g.multivariate_normal([[0.0]], [[1.0]]), "1 dimensional"), (lambda g: g.multivariate_normal([0.0], [1.0]), "square"),
    (lambda g: g.multivariate_normal([0.0], [[-1.0]], check_valid="raise"), "semidefinite"),
])
def test_refused(call, text):
    g = Generator(8)
    with pytest.raises(ValueError, match=text):
        call(g)
    assert g.random() == Generator(8).random()  # nothing was taken
