"""The kernels of the CPU alone give the numbers of those that all devices share, bit for bit."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lanewise as lw
from lanewise import _distribution_kernels, _generator, _random_host
from lanewise import random as r
from lanewise.random import Generator

N = 20011


def same_with_shared_kernels(draw, monkeypatch):
    """Check that small pieces drawn by the host's kernels are the numbers that the shared kernels draw together."""
    monkeypatch.setattr(_generator, "_PIECE", 1000)
    g = Generator(3).jumped()
    x = draw(g)
    monkeypatch.setattr(_generator, "_PIECE", 1 << 60)
    monkeypatch.setattr(_generator, "_FEW", 1 << 60)
    shared = Generator(3).jumped()
    y = draw(shared)
    monkeypatch.undo()
    np.testing.assert_array_equal(x, y)
    assert x.dtype == y.dtype and g.state == shared.state


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [1.0, 2.0, 0.5, 0.001, 1e-300, 5e-324, 0.0, 50.0, 1e10, 1e300, np.nextafter(1.0, 0.0)])
def test_gamma_of_one_shape(shape, dtype, monkeypatch):
    same_with_shared_kernels(lambda g: g.gamma(shape, 1.7, N, dtype), monkeypatch)
    same_with_shared_kernels(lambda g: g.gamma([shape], 1.7, N, dtype), monkeypatch)


@pytest.mark.parametrize("draw", [
    lambda g: g.gamma(np.linspace(0, 3, N), 1.7), lambda g: g.gamma(2.2, np.linspace(0, 3, N)), lambda g: g.gamma(np.linspace(0, 300, N), np.linspace(0, 3, N)),
    lambda g: g.gamma(np.linspace(1, 30, N), 1.7, dtype=np.float32), lambda g: g.gamma(np.linspace(-1, 1, N) ** 2 * 2),
    lambda g: g.beta(2, 3, N), lambda g: g.beta(0.05, 0.03, N), lambda g: g.beta(np.linspace(0.001, 4, N), 3), lambda g: g.standard_t(3, N),
    lambda g: g.chisquare(np.linspace(0.1, 9, N)), lambda g: g.f(3, np.linspace(1, 2, N)), lambda g: g.dirichlet([1, 2, 0.5], N), lambda g: g.dirichlet([3.0], N),
    lambda g: g.dirichlet(np.ones(700), 7), lambda g: g.lognormal(0, 1, N, np.float32), lambda g: g.wald(np.linspace(1, 2, N), 1.0),
    lambda g: g.negative_binomial(3.3, 0.2, N), lambda g: g.geometric(0.2, N), lambda g: g.laplace(0, 1, N - 1)])
def test_formulas_piece_by_piece(draw, monkeypatch):
    same_with_shared_kernels(draw, monkeypatch)


def test_exp_everywhere():
    @lw.forall
    def shared(i, x, out):
        out[i] = r._exp_any_float64(x[i])

    @lw.forall
    def host(i, x, out):
        out[i] = _random_host._exp_any(x[i])

    edges = [math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324]
    edges += [f(e) for e in (709.7, -700.0, 709.5) for f in (float, lambda e: np.nextafter(e, 0), lambda e: np.nextafter(e, 1e3 * e))]
    x = np.concatenate([np.linspace(-760, 760, N), np.linspace(-1e-9, 1e-9, N), edges])
    y, z = np.empty(x.size), np.empty(x.size)
    shared(x.size, x, y)
    host(x.size, x, z)
    np.testing.assert_array_equal(y, z)


def test_beta_of_far_numbers():
    g = np.random.default_rng(1)
    numbers = [np.exp(g.uniform(-50, 50, N)), g.exponential(size=N), np.exp(g.uniform(-50, 50, N)), g.exponential(size=N)]
    parameters = [np.exp(g.uniform(-8, 8, N)) for _ in range(2)]
    x, y = np.empty(N), np.empty(N)
    _random_host.beta(N, *numbers, *parameters, x)
    _distribution_kernels.beta(N, *numbers, *parameters, y)
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 500])
def test_dirichlet_of_far_shapes(rows):
    g = np.random.default_rng(3)
    alpha = np.exp(g.uniform(-8, 4, rows))
    gamma, boost = g.gamma(alpha + 1, size=(501, rows)), g.exponential(size=(501, rows))
    x, y = np.empty((501, rows)), np.empty((501, rows))
    _random_host.dirichlet(501, gamma.copy(), boost, alpha, x)
    _distribution_kernels.dirichlet(501, gamma.copy(), boost, alpha, y)
    np.testing.assert_array_equal(x, y)
