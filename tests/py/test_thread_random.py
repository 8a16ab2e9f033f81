"""np.random in functions of njit: distributions, errors, seeds, and the same numbers from prange for every number of threads."""

import warnings

import numpy as np
import pytest

import lanewise as lw

stats = pytest.importorskip("scipy.stats")
N = 20000
R = np.random


@lw.njit
def seed(n):
    np.random.seed(n)


@lw.njit
def reals():
    R.seed(11)
    return (R.random(N), R.uniform(1.0, 3.0, N), R.normal(1, 2, N), R.lognormal(0, 1, N), R.exponential(2.0, N), R.gamma(2.5, 2.0, N),
            R.standard_gamma(0.3, N), R.beta(2.0, 3.0, N), R.beta(0.2, 0.3, N), R.chisquare(3, N), R.f(3, 5, N), R.standard_t(4, N),
            R.standard_cauchy(N), R.laplace(1, 2, N), R.logistic(1, 2, N), R.gumbel(1, 2, N), R.rayleigh(2, N), R.weibull(1.5, N),
            R.pareto(3, N), R.power(2.5, N), R.triangular(0, 1, 3, N), R.wald(2, 3, N), R.vonmises(0, 2, N), R.noncentral_chisquare(3, 2, N))


REALS = [("uniform", ()), ("uniform", (1, 2)), ("norm", (1, 2)), ("lognorm", (1,)), ("expon", (0, 2)), ("gamma", (2.5, 0, 2)),
         ("gamma", (0.3,)), ("beta", (2, 3)), ("beta", (0.2, 0.3)), ("chi2", (3,)), ("f", (3, 5)), ("t", (4,)), ("cauchy", ()),
         ("laplace", (1, 2)), ("logistic", (1, 2)), ("gumbel_r", (1, 2)), ("rayleigh", (0, 2)), ("weibull_min", (1.5,)), ("lomax", (3,)),
         ("powerlaw", (2.5,)), ("triang", (1 / 3, 0, 3)), ("invgauss", (2 / 3, 0, 3)), ("vonmises", (2,)), ("ncx2", (3, 2))]


def test_reals():
    for x, (name, args) in zip(reals(), REALS, strict=True):
        assert x.dtype == np.float64 and stats.kstest(x, getattr(stats, name)(*args).cdf).pvalue > 1e-4, name


@lw.njit
def counts():
    R.seed(12)
    return (R.poisson(3.5, N), R.poisson(35, N), R.binomial(20, 0.3, N), R.geometric(0.2, N), R.negative_binomial(3, 0.3, N),
            R.logseries(0.6, N), R.zipf(2.5, N), R.randint(3, 9, N), R.choice(4, N, p=np.array([0.1, 0.0, 0.6, 0.3])))


COUNTS = [("poisson", (3.5,)), ("poisson", (35,)), ("binom", (20, 0.3)), ("geom", (0.2,)), ("nbinom", (3, 0.3)), ("logser", (0.6,)),
          ("zipf", (2.5,)), ("randint", (3, 9)), ("rv_discrete", ())]


def test_counts():
    for x, (name, args) in zip(counts(), COUNTS, strict=True):
        law = stats.rv_discrete(values=(range(4), (0.1, 0.0, 0.6, 0.3))) if name == "rv_discrete" else getattr(stats, name)(*args)
        k = np.arange(x.min(), int(law.ppf(0.99)) + 1)
        k = k[law.pmf(k) * N > 5]
        seen, wanted = np.array([(x == i).sum() for i in k]), law.pmf(k) * N
        rest = [N - seen.sum()], [N - wanted.sum()]
        seen, wanted = (np.append(seen, rest[0]), np.append(wanted, rest[1])) if rest[1][0] > 5 else (seen, wanted * seen.sum() / wanted.sum())
        assert x.dtype == np.int64 and stats.chisquare(seen, wanted).pvalue > 1e-4, name


def test_orders_and_choices():
    @lw.njit
    def f():
        R.seed(3)
        x, m = np.arange(10), np.arange(6).reshape(3, 2)
        R.shuffle(x)
        R.shuffle(m)
        return (x, m, R.permutation(6), R.permutation([1.5, 2.5]), R.choice(6, 3, replace=False), R.choice(np.array([1, 2, 3]), 50, p=[0.1, 0, 0.9]),
                R.choice(4, 2, replace=False, p=[0.5, 0.5, 0, 0]), R.dirichlet([1.0, 2.0, 3.0], 4), R.multinomial(10, [0.2, 0.3, 0.5], (2, 2)),
                R.rand(2, 3), R.randn(), R.choice(3))

    x, m, order, two, three, chosen, both, shares, parts, block, one, place = f()
    assert sorted(x) == list(range(10)) and x.tolist() != list(range(10)) and sorted(m[:, 0]) == [0, 2, 4] and (m[:, 1] == m[:, 0] + 1).all()
    assert sorted(order) == list(range(6)) and sorted(two) == [1.5, 2.5] and len(set(three)) == 3 and set(chosen) == {1, 3} and sorted(both) == [0, 1]
    assert shares.shape == (4, 3) and np.allclose(shares.sum(1), 1) and parts.shape == (2, 2, 3) and (parts.sum(-1) == 10).all()
    assert block.shape == (2, 3) and isinstance(one, float) and 0 <= place < 3


def test_all_orders_are_as_likely():
    @lw.njit
    def orders(n):
        R.seed(1)
        out = np.zeros((3, 3, 3), np.int64)
        for _ in range(n):
            p = R.permutation(3)
            out[p[0], p[1], p[2]] += 1
        return out

    seen = orders(60000)
    assert np.count_nonzero(seen) == 6 and stats.chisquare(seen[seen > 0]).pvalue > 1e-4


def test_seeds():
    @lw.njit
    def five():
        return np.random.random(), np.random.normal(), np.random.random(3)

    seed(1)
    a = five()
    b = five()
    seed(1)
    c = five()
    seed(2)
    d = five()
    assert a[:2] == c[:2] and (a[2] == c[2]).all() and len({a[0], b[0], d[0]}) == 3
    seed(None)
    assert five()[0] not in (a[0], b[0], d[0])
    np.random.seed(5)  # NumPy's own state is another one
    before = np.random.get_state()[1].copy()
    five()
    assert (np.random.get_state()[1] == before).all()
    for wrong in (-1, 2**32):
        with pytest.raises(ValueError, match="Seed must be between"):
            seed(wrong)


def test_prange_gives_the_same_numbers_for_every_number_of_threads():
    @lw.njit
    def draws(n):
        np.random.seed(5)
        out, s = np.empty(n), 0.0
        for i in lw.prange(n):
            out[i] = np.random.normal()
            s += np.random.random()
        again = np.empty(n)
        for i in lw.prange(n):
            again[i] = np.random.normal()
        return out, s, again, np.random.random()

    results = []
    before = lw.get_num_threads()
    try:
        for n in (1, 2, 5):
            lw.set_num_threads(n)
            results.append(draws(20000))
    finally:
        lw.set_num_threads(before)
    for r in results[1:]:
        assert (r[0] == results[0][0]).all() and r[1] == results[0][1] and (r[2] == results[0][2]).all() and r[3] == results[0][3]
    out, s, again, _ = results[0]
    assert np.unique(np.concatenate([out, again])).size == 40000 and stats.kstest(out, "norm").pvalue > 1e-4
    assert abs(s / 20000 - 0.5) < 0.02


@pytest.mark.parametrize("f, text", [
    (lambda: R.normal(0, -1), "scale < 0"), (lambda: R.randint(3, 3), "low >= high"), (lambda: R.gamma(-1.0), "shape < 0"),
    (lambda: R.binomial(3, 1.5), "p < 0, p > 1"), (lambda: R.choice(3, 4, replace=False), "larger sample than population"),
    (lambda: R.choice(2, p=[0.5, 0.4]), "do not sum to 1"), (lambda: R.choice(2, p=np.array([0.5, 0.499], np.float32)), "do not sum to 1"),
    (lambda: R.multinomial(3, [0.5, 0.6, 0.1]), "sum.pvals..-1.. > 1"), (lambda: R.multinomial(3, [0.5, 0.5, 5.0]), "pvals > 1"), (lambda: R.beta(0, 1), "a <= 0"), (lambda: R.poisson(np.nan), "lam < 0"),
])
def test_errors(f, text):
    with pytest.raises(ValueError, match=text):
        lw.njit(f)()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_chances_whose_sum_is_rounded(dtype):
    """Ten times 0.1, as of a softmax; numpy.random.choice allows the square root of the epsilon of their dtype."""
    p = np.full(10, 0.1, dtype)

    @lw.njit
    def drawn(p):
        return R.choice(10, 50, True, p), R.multinomial(50, p)

    with warnings.catch_warnings():
        warnings.simplefilter("error", lw.errors.PrecisionWarning)  # chances are added up in float64
        places, counts = drawn(p)
    assert places.min() >= 0 and places.max() < 10 and counts.sum() == 50
    g = lw.random.default_rng(3)
    assert g.choice(10, 50, p=p).max() < 10 and g.choice(10, 5, replace=False, p=p).max() < 10
    with pytest.raises(ValueError, match="sum 1, not 0.99"):
        g.choice(10, 50, p=p.astype(float) * 0.999)


def test_elsewhere():
    @lw.vectorize
    def f(x):
        return x + np.random.random()

    with pytest.raises(lw.errors.TypingError, match="E163.*np.random"):
        f(1.0)
    state = np.random.RandomState(3)
    with pytest.raises(lw.errors.TypingError, match="E152"):
        lw.njit(lambda: state.normal())()
