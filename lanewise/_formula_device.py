"""Formulas of standard numbers on a GPU: kernels that draw the numbers where they use them, so that each result is written once and
nothing is read. The numbers are those of `_distribution_kernels`, whose kernels take the standard numbers from arrays, bit for bit.

A thread makes the two numbers of a philox block, or of one block for each standard number. Coefficients are parameters, as in
`_random_device`. `fused` is the table."""

from __future__ import annotations

from lanewise import _distribution_kernels as formulas, random as r
from lanewise._core import forall
from lanewise._random_device import _NORMAL
from lanewise._random_kernels import _block, _long, _store2

__all__: list[str] = []


# ---- the standard numbers of a block, as `Generator` fills arrays with them ----


def _uniform(c, keys, c3, base, i):
    w, x, y, z = _block(keys, c3, base, i)
    return r._unit_float64(w, x), r._unit_float64(y, z)


def _exponential(c, keys, c3, base, i):
    w, x, y, z = _block(keys, c3, base, i)
    return r._exponential_float64(_long(w, x), c[0]), r._exponential_float64(_long(y, z), c[0])


def _normal(c, keys, c3, base, i):
    w, x, y, z = _block(keys, c3, base, i)
    a, b = r._normal2_float64(_long(w, x), _long(y, z), *c)
    return 0.0 + a, 0.0 + b  # as loc + scale * a: no zero is negative


# ---- kernels by the number of standard numbers and of parameters ----


def _one_of_1(draw, formula):
    @forall
    def fused(i, c, keys, c3, base, p, out):
        x, y = draw(c, keys, c3, base, i)
        k = 2 * i
        _store2(out, i, formula(x, r._at(p, k)), formula(y, r._at(p, k + 1)))

    return fused


def _one_of_2(draw, formula):
    @forall
    def fused(i, c, keys, c3, base, p, q, out):
        x, y = draw(c, keys, c3, base, i)
        k = 2 * i
        _store2(out, i, formula(x, r._at(p, k), r._at(q, k)), formula(y, r._at(p, k + 1), r._at(q, k + 1)))

    return fused


def _one_of_3(draw, formula):
    @forall
    def fused(i, c, keys, c3, base, p, q, s, out):
        x, y = draw(c, keys, c3, base, i)
        k = 2 * i
        _store2(out, i, formula(x, r._at(p, k), r._at(q, k), r._at(s, k)), formula(y, r._at(p, k + 1), r._at(q, k + 1), r._at(s, k + 1)))

    return fused


def _two_of_0(draw, other, formula):
    @forall
    def fused(i, c, keys, c3, base, second, out):
        x, y = draw(c, keys, c3, base, i)
        u, v = other(c, keys, c3, second, i)
        _store2(out, i, formula(x, u), formula(y, v))

    return fused


def _two_of_1(draw, other, formula):
    @forall
    def fused(i, c, keys, c3, base, second, p, out):
        x, y = draw(c, keys, c3, base, i)
        u, v = other(c, keys, c3, second, i)
        k = 2 * i
        _store2(out, i, formula(x, u, r._at(p, k)), formula(y, v, r._at(p, k + 1)))

    return fused


def _two_of_2(draw, other, formula):
    @forall
    def fused(i, c, keys, c3, base, second, p, q, out):
        x, y = draw(c, keys, c3, base, i)
        u, v = other(c, keys, c3, second, i)
        k = 2 * i
        _store2(out, i, formula(x, u, r._at(p, k), r._at(q, k)), formula(y, v, r._at(p, k + 1), r._at(q, k + 1)))

    return fused


_DRAWS = {"uniform": _uniform, "exponential": _exponential, "normal": _normal}
_MAKERS = {(1, 1): _one_of_1, (1, 2): _one_of_2, (1, 3): _one_of_3, (2, 0): _two_of_0, (2, 1): _two_of_1, (2, 2): _two_of_2}
_made: dict[str, object] = {}
COEFFICIENTS = _NORMAL


def fused(name, draws, n_parameters):
    """The kernel for this formula of `_distribution_kernels`: of an index of blocks, COEFFICIENTS, the keys, the counter's last word,
    where the blocks of each standard number begin, the parameters as arrays, and out. None: its numbers are drawn to arrays."""
    if name not in _made:
        draw, formula = [_DRAWS.get(d) if isinstance(d, str) else None for d in draws], getattr(formulas, f"_{name}", None)
        maker = _MAKERS.get((len(draws), n_parameters))
        _made[name] = None if None in draw or formula is None or maker is None else maker(*draw, formula)
    return _made[name]
