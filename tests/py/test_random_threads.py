"""Threads that share one Generator."""

from __future__ import annotations

import sys
import threading

import pytest

from lanewise.random import Generator

from random_checks import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_threads_share_a_generator(kind):
    """Each block is used once, whichever code draws it: the quick one, kernels, formulas, orders."""
    g, drawn, failed = Generator(3, kind), [], []

    def draw(lam):
        try:
            for _ in range(20):
                drawn.extend([g.normal(), g.random(), *g.exponential(size=5), *g.normal(size=600), g.gumbel(), g.beta(lam, 0.7)])
                g.poisson(lam), g.permutation(9), g.negative_binomial(lam, 0.5)
                assert g.state["place"] > 0
        except BaseException as error:  # noqa: BLE001: told below
            failed.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=draw, args=(2.0 + k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not failed and len(set(drawn)) == len(drawn) == 4 * 20 * 609
    alone = Generator(3, kind)
    for lam in 20 * [2.0, 3.0, 4.0, 5.0]:
        alone.normal(), alone.random(), alone.exponential(size=5), alone.normal(size=600), alone.gumbel(), alone.beta(lam, 0.7)
        alone.poisson(lam), alone.permutation(9), alone.negative_binomial(lam, 0.5)
    assert g._place == alone._place


def test_a_state_set_while_threads_draw_is_the_one_that_follows():
    g, state, done = Generator(3), Generator(4).state, []

    def draw():
        while not done:
            g.normal(), g.poisson(4.5), g.gumbel()

    threads = [threading.Thread(target=draw) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        g.state = state
    done.append(True)
    for thread in threads:
        thread.join()
    g.state = state
    h = Generator(4)
    assert [g.normal(), g.poisson(4.5), g.gumbel()] == [h.normal(), h.poisson(4.5), h.gumbel()]
