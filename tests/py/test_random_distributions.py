"""Random numbers: every distribution against its own. Seeds are fixed: nothing here fails by chance."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lanewise as lw
from lanewise import random as r
from lanewise.random import Generator

from random_checks import FORMULAS, KINDS, N, bits, chi2, distance, states_of


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_continuous_distributions(kind, dtype):
    g = Generator(11, kind)
    uniform = g.random(N, dtype)
    assert 0 <= uniform.min() and uniform.max() < 1 and uniform.dtype == dtype
    assert distance(uniform, lambda v: v) < 1.9
    assert distance(g.standard_normal(N, dtype), lambda v: 0.5 * math.erfc(-v / math.sqrt(2))) < 1.9
    assert distance(g.exponential(2.0, N, dtype), lambda v: -math.expm1(-v / 2)) < 1.9
    assert distance(g.normal(3.0, 0.5, N, dtype), lambda v: 0.5 * math.erfc(-(v - 3) / (0.5 * math.sqrt(2)))) < 1.9
    assert distance(g.uniform(-2, 6, N, dtype), lambda v: (v + 2) / 8) < 1.9
    for shape in (1.0, 2.0, 3.0):  # the sums of exponentials
        terms = int(shape)
        assert distance(g.gamma(shape, 1.5, N, dtype), lambda v: 1 - math.exp(-v / 1.5) * sum((v / 1.5)**k / math.factorial(k) for k in range(terms))) < 1.9
    half = g.gamma(0.5, 1.0, N, dtype)
    assert distance(half, lambda v: math.erf(math.sqrt(v))) < 1.9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mean", [0.1, 1.0, 4.5, 9.9, 10.0, 25.0, 300.0])
def test_poisson(kind, mean):
    x = Generator(5, kind).poisson(mean, N)
    expected = [N * math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(int(mean + 10 * math.sqrt(mean) + 10))]
    assert abs(chi2(np.bincount(x, minlength=len(expected))[:len(expected)], expected)) < 4.5
    assert x.min() >= 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mean", [0, 1e-300])
def test_poisson_of_nothing(kind, mean):
    assert not Generator(5, kind).poisson(mean, 1000).any()


@pytest.mark.parametrize("kind", KINDS)
def test_booleans(kind):
    g = Generator(3, kind)
    x = g.integers(2, size=N, dtype=bool)
    assert x.dtype == bool and abs(x.mean() - 0.5) < 0.01
    assert isinstance(g.integers(2, dtype=bool), np.bool_)
    assert g.integers(0, 1, 50, bool, endpoint=True).any() and not g.integers(1, size=50, dtype=bool).any()
    out = np.zeros((4, 6), bool)[:, ::2]
    assert g.integers(1, 2, out=out) is out and out.all() and not out.base[:, 1::2].any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n, p", [(1, 0.3), (10, 0.5), (20, 0.9), (40, 0.25), (100, 0.2), (1000, 0.013), (5000, 0.7)])
def test_binomial(kind, n, p):
    x = Generator(6, kind).binomial(n, p, N)
    log = math.lgamma(n + 1)
    expected = [N * math.exp(log - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(p) + (n - k) * math.log1p(-p)) for k in range(n + 1)]
    assert abs(chi2(np.bincount(x, minlength=n + 1), expected)) < 4.5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("low, high, dtype", [(0, 10, np.int64), (-3, 4, np.int8), (0, 256, np.uint8), (5, 6, np.int32),
                                              (0, 3 * 2**30, np.uint32), (-2**63, 2**63, np.int64), (0, 2**64, np.uint64),
                                              (0, 2**32, np.uint32), (-5, 3 * 2**61, np.int64)])
def test_integers(kind, low, high, dtype):
    x = Generator(8, kind).integers(low, high, N, dtype)
    assert x.dtype == dtype and int(x.min()) >= low and int(x.max()) < high
    if high - low <= 256:
        counts = np.bincount(x.astype(np.int64) - low, minlength=high - low)
        assert high - low == 1 or abs(chi2(counts, [N / (high - low)] * (high - low))) < 4.5
    else:
        assert distance((x.astype(np.float64) - low) / (high - low), lambda v: v) < 1.9


@pytest.mark.parametrize("kind", KINDS)
def test_choice_and_permutation(kind):
    g = Generator(9, kind)
    p = np.array([0.5, 0.1, 0.0, 0.4])
    counts = np.bincount(g.choice(4, N, p=p), minlength=4)
    assert counts[2] == 0 and abs(chi2(counts[[0, 1, 3]], N * p[[0, 1, 3]])) < 4.5
    order = g.permutation(1000)
    assert sorted(order) == list(range(1000)) and list(order) != list(range(1000))
    table = np.arange(12).reshape(4, 3)
    assert sorted(map(tuple, g.permutation(table))) == sorted(map(tuple, table))
    assert len(set(g.choice(50, 50, replace=False))) == 50


def test_neighbouring_states_are_uncorrelated():
    @lw.forall
    def fill(i, states, out):
        for j in range(out.shape[1]):
            out[i, j] = r.xoroshiro128p_uniform_float64(states, i)

    x = np.empty((200, 5000))
    fill(200, states_of(200, 1), x)
    z = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    assert np.abs((z[1:] * z[:-1]).mean(1)).max() < 5 / math.sqrt(5000)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name, parameters", FORMULAS)
def test_formulas(kind, name, parameters):
    g, cdf = Generator(21, kind), FORMULAS[name, parameters]
    x = getattr(g, name)(*parameters, N)
    assert x.dtype == np.float64 and np.isfinite(x).all() and distance(x, cdf) < 1.9
    single = getattr(Generator(21, kind), name)(*parameters, N, np.float32)
    np.testing.assert_array_equal(single, x.astype(np.float32))
    if parameters:
        each = getattr(Generator(21, kind), name)(*[np.full(N, p) for p in parameters])
        np.testing.assert_array_equal(each, x)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_by_formulas(kind):
    g = Generator(22, kind)
    x = g.geometric(0.3, N)
    assert x.dtype == np.int64 and abs(chi2(np.bincount(x, minlength=60)[:60], [0] + [N * 0.3 * 0.7**k for k in range(59)])) < 4.5
    assert (g.geometric(1.0, 100) == 1).all() and g.geometric(1e-300) == 2**63 - 1
    failures = [N * math.comb(k + 4, k) * 0.4**5 * 0.6**k for k in range(80)]
    assert abs(chi2(np.bincount(g.negative_binomial(5, 0.4, N), minlength=80)[:80], failures)) < 4.5
    counts = g.multinomial(20, [0.2, 0.3, 0.5], 2000)
    assert counts.shape == (2000, 3) and (counts.sum(1) == 20).all()
    np.testing.assert_allclose(counts.mean(0), [4, 6, 10], rtol=0.03)
    assert g.multinomial(9, np.full(10, 0.1, np.float32)).sum() == 9 and g.multinomial(9, [0.4, 0.7]).sum() == 9  # the last is what the others leave
    assert g.multinomial([3, 4], [0.5, 0.5]).sum(1).tolist() == [3, 4] and g.multinomial(7, [1.0]).tolist() == [7]
    shares = g.dirichlet([0.5, 1.0, 1.5], (50, 40))
    assert shares.shape == (50, 40, 3)
    np.testing.assert_allclose(shares.sum(-1), 1)
    assert distance(shares[..., 0].ravel(), lambda v: 1 - (1 - v) ** 0.5 * (1 - v) ** 2) > 1.9  # not beta(1, 2.5)
    assert distance(1 - shares[..., 1].ravel(), lambda v: v**2) < 1.9  # beta(1, 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parameters_may_be_arrays(kind, dtype):
    """If all elements are equal, the numbers are those for one number; otherwise each element has its own parameter."""
    n, new = 5001, lambda: Generator(3, kind)
    full = lambda v: np.full(n, v)
    np.testing.assert_array_equal(new().normal(full(3.0), 0.3, dtype=dtype), new().normal(3.0, 0.3, n, dtype))
    np.testing.assert_array_equal(new().uniform(full(-1.0), full(7.0), dtype=dtype), new().uniform(-1, 7, n, dtype))
    np.testing.assert_array_equal(new().exponential(full(0.7), dtype=dtype), new().exponential(0.7, n, dtype))
    np.testing.assert_array_equal(new().gamma(full(0.7), full(2.0), dtype=dtype), new().gamma(0.7, 2.0, n, dtype))
    x = new().normal([[0.0], [100.0]], [1.0, 10.0, 0.0], (4, 2, 3), dtype)
    assert x.shape == (4, 2, 3) and (x[:, 1, 2] == 100).all() and (x[:, 0, 2] == 0).all() and np.ptp(x[:, 1, 1]) > 1
    out = np.zeros((2, 3, 2), dtype)[:, :, 0]
    assert new().normal([[0.0], [100.0]], [1.0, 10.0, 0.0], out=out) is out and out[1].min() > 50


@pytest.mark.parametrize("kind", KINDS)
def test_counts_with_arrays(kind):
    n, new = 5001, lambda: Generator(3, kind)
    full = lambda v: np.full(n, v)
    for mean in (4.0, 40.0):
        np.testing.assert_array_equal(new().poisson(full(mean)), new().poisson(mean, n))
    for trials, p in ((20, 0.9), (1000, 0.3)):
        np.testing.assert_array_equal(new().binomial(full(trials), full(p)), new().binomial(trials, p, n))
    means = new().poisson([0.0, 3.0, 70.0], (4000, 3)).mean(0)
    np.testing.assert_allclose(means, [0, 3, 70], rtol=0.03)
    np.testing.assert_allclose(new().binomial([0, 10, 10, 1000], [0.5, 0.0, 1.0, 0.4], (2000, 4)).mean(0), [0, 0, 10, 400], rtol=0.01)
    x = new().integers([0, -5, -7], [[1], [40]], (3000, 2, 3))
    assert (x >= [0, -5, -7]).all() and (x < [[1], [40]]).all() and (x[:, 0, 0] == 0).all()
    assert set(x[:, 0, 1]) == set(range(-5, 1)) and x[:, 1, 1].max() == 39
    whole = new().integers([-2**63], [2**63 - 1], 1000, endpoint=True)
    assert whole.min() < -2**62 and whole.max() > 2**62
    top = new().integers(np.zeros(3, np.uint64), np.full(3, 2**64 - 1, np.uint64), (500, 3), np.uint64, endpoint=True)
    assert top.dtype == np.uint64 and top.max() > 2**63
    assert set(new().integers([1, 1], 3, (100, 2), np.int8, endpoint=True).ravel()) == {1, 2, 3}


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_a_device(kind):
    """With this target, arrays are in the CPU's memory, and everything else is the same."""
    with lw.config(target="cpu"):
        mean = lw.cuda.to_device(np.linspace(0, 50, 999))
        for name, parameters in (("poisson", (mean,)), ("normal", (mean, 2.0)), ("lognormal", (mean, 1.0)), ("gamma", (mean,)),
                                 ("negative_binomial", (4.0, lw.cuda.to_device(np.linspace(0.1, 1, 999))))):
            hosts = [p.copy_to_host() if hasattr(p, "copy_to_host") else p for p in parameters]
            expected = getattr(Generator(2, kind), name)(*hosts)
            for target in (None, "cuda"):
                got = getattr(Generator(2, kind, target), name)(*parameters)
                np.testing.assert_array_equal(np.asarray(got), expected)
        x = lw.cuda.to_device(np.arange(20).reshape(10, 2))
        Generator(1, kind).shuffle(x)
        assert sorted(map(tuple, x.copy_to_host())) == [(2 * k, 2 * k + 1) for k in range(10)]


@pytest.mark.slow_with_sanitizers
def test_kernels_compile_for_gpus():
    from lanewise import _distribution_kernels as made, _random_kernels as kernels

    g = Generator(1)
    for name, parameters in FORMULAS:
        getattr(g, name)(*parameters, 8)
    g.poisson([1.0, 2.0]), g.binomial([1, 2], 0.5), g.gamma([1.0, 2.0]), g.integers([0, 1], 4), g.dirichlet([1.0, 2.0]), g.normal([0, 1]), g.zipf([2.0, 3.0]), g.vonmises(0.0, 1.0)
    x, rows = np.ones(2), np.ones((1, 2))  # those that the CPU has kernels of its own for
    made.beta(2, x, x, x, x, x, x, x.copy()), made.dirichlet(1, rows.copy(), rows, x, rows.copy())
    found = {name: f for module in (made, kernels) for name, f in vars(module).items() if isinstance(f, lw._core.Forall) and f.signatures}
    assert {"beta", "wald", "f", "place", "philox_poisson_each", "dirichlet", "philox_zipf_each", "philox_vonmises"} <= found.keys()
    for kernel in found.values():
        try:
            text = kernel.inspect_ptx(target="sm_90")
        except lw.errors.CompilerNotFound as problem:
            pytest.skip(str(problem).splitlines()[0])
        assert all(".entry" in ptx for ptx in ([text] if isinstance(text, str) else text.values()))


@pytest.mark.parametrize("kind", KINDS)
def test_choice_without_replacement_by_weights(kind):
    """As drawn one after the other: the chances of each ordered pair."""
    g, p = Generator(12, kind), np.array([0.5, 0.3, 0.0, 0.2])
    pairs = [tuple(g.choice(4, 2, replace=False, p=p)) for _ in range(3000)]
    found, expected = [], []
    for a in (0, 1, 3):
        for b in {0, 1, 3} - {a}:
            found.append(pairs.count((a, b)))
            expected.append(3000 * p[a] * p[b] / (1 - p[a]))
    assert sum(found) == 3000 and abs(chi2(found, expected)) < 4.5
    table = np.arange(12).reshape(3, 4)
    assert sorted(g.choice(table, 3, False, axis=1).sum(0)) in ([12, 15, 18], [12, 15, 21], [12, 18, 21], [15, 18, 21])
    assert g.choice(["a", "b"], p=[0, 1]) == "b" and g.choice(5, (2, 3)).shape == (2, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_shuffle_permuted_and_bytes(kind):
    g = Generator(13, kind)
    x = np.arange(60).reshape(3, 20)
    g.shuffle(x, axis=1)
    assert (np.sort(x[0]) == np.arange(20)).all() and (x[1] == x[0] + 20).all() and list(x[0]) != list(range(20))
    items = list(range(50))
    g.shuffle(items)
    assert sorted(items) == list(range(50)) and items != list(range(50))
    lines = g.permuted(np.tile(np.arange(30), (4, 1)), axis=1)
    assert (np.sort(lines, 1) == np.arange(30)).all() and (lines[0] != lines[1]).any()
    assert sorted(g.permuted(x).ravel()) == list(range(60))
    firsts = [g.permutation(4)[0] for _ in range(2000)]
    assert abs(chi2(np.bincount(firsts, minlength=4), [500] * 4)) < 4.5
    data = g.bytes(20001)
    assert len(data) == 20001 and isinstance(data, bytes) and abs(chi2(np.bincount(np.frombuffer(data, np.uint8), minlength=256), [20001 / 256] * 256)) < 4.5
    assert g.bytes(0) == b"" and Generator(13, kind).bytes(5) == Generator(13, kind).bytes(8)[:5]


@pytest.mark.parametrize("kind, normals, exponentials", [  # ours: no device and no release may change them
    ("philox", "bf78a20f 3f8d03fd be7e3a73 bef4d8cd 3f88d6bf 3e928f31 3e7c6af9 bff125f9", "3f8a0bfe 3ea12303 3e14a601 3f87445e"),
    ("xoroshiro128p", "3f6ea6c3 bea92df8 bf84ec4a bcf0b492 3e8655f1 3f08b0c9 bfdf8b20 bf83eb24", "3ede9eac 3d855986 3f0ebf1f 3c36dfcb"),
])
def test_bits_of_float32(kind, normals, exponentials):
    assert bits(Generator(1, kind).standard_normal(8, np.float32)) == normals
    assert bits(Generator(1, kind).exponential(size=4, dtype=np.float32)) == exponentials
    np.testing.assert_array_equal(Generator(1, kind).normal(0, 2, 8, np.float32) / 2, Generator(1, kind).standard_normal(8, np.float32))


def test_float32_normals_are_accurate():
    @lw.vectorize
    def cosine(a, b):
        return r._normal2_float32(a, b)[0]

    @lw.vectorize
    def sine(a, b):
        return r._normal2_float32(a, b)[1]

    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2**32, (2, 200_000), np.uint32)
    a[:4], b[:4] = (0, 1, 2**32 - 1, 2**31), (0, 2**31, 2**31 - 1, 2**32 - 1)
    u = (a.astype(np.float32) * np.float32(2.0**-32 - 2.0**-56) + np.float32(2.0**-33)).astype(np.float64)
    radius = np.sqrt(-2 * np.log(u)) * np.where(b & 1, -1, 1)
    angle = b.view(np.int32) * (math.pi / 2**32)
    assert u.max() < 1
    for got, right in ((cosine(a, b), radius * np.cos(angle)), (sine(a, b), radius * np.sin(angle))):
        assert (np.abs(got - right) <= 3e-7 * np.abs(radius)).all()
