"""The first calls of a reduction use loops that are compiled sooner; results have the same bits as of those that come later."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw

BIG = 1 << 22


def made():
    return {
        "sum": lw.reduce(lambda a, b: a + b),
        "max": lw.reduce(lambda a, b: max(a, b)),
        "mean": lw.reduce(map=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), finish=lambda s, n: s / n),
        "argmax": lw.reduce(lambda a, b: (a if a[1] < b[1] else b) if a[0] == b[0] else (a if a[0] > b[0] else b),
                            map=lambda x, index: (x, index), finish=lambda v, i: i, commutative=True),
    }


@pytest.mark.parametrize("name", made())
@pytest.mark.parametrize("dtype", ["f4", "i8"])
def test_same_bits(name, dtype):
    r, rng = made()[name], np.random.default_rng(7)
    cases = [rng.choice(np.array([0.0, -0.0, 1.5, -2.25, 3.125]), size=n).astype(dtype) for n in (1, 2, 7, 64, 129, 5000)]
    cases += [(100 * rng.standard_normal(n)).astype(dtype)[::step] for n in (1, 1000, 40_000) for step in (1, 3)]
    cases += [np.ascontiguousarray((10 * rng.standard_normal((30, 40))).astype(dtype)), np.arange(64).reshape(8, 8).astype(dtype).T]
    cases += [(10 * rng.standard_normal(shape)).astype(dtype) for shape in ((3, 5, 700), (1000, 3), (4, 9000))]
    cases += [(10 * rng.standard_normal((40, 60, 6))).astype(dtype)[::2, 1:, ::3]]

    def bits():
        once = [np.asarray(r(case)).tobytes() for case in cases]
        once += [np.asarray(r(case, axis=axis)).tobytes() for case in cases if case.ndim > 1 for axis in range(case.ndim)]
        rows = [r.accumulate(case[:500]).tobytes() for case in cases if case.ndim == 1]
        return once, rows, [r.reduceat(case, [0]).tobytes() for case in cases if case.ndim == 1]

    first, compiled = bits(), r.stats["compiled"]
    assert compiled == 3  # for one result, for several, and with the loops of scans
    r(np.zeros(BIG, dtype))
    r.accumulate(np.zeros(BIG, dtype))
    assert r.stats["compiled"] == compiled + 2
    assert bits() == first and r.stats["compiled"] == compiled + 2


def test_what_is_compiled_in_full_at_once():
    """Masks, loops, and functions whose last bits depend on vectors."""
    r = lw.reduce(lambda a, b: a + b)
    assert (r(np.ones((BIG // 4, 5)), axis=0) == BIG // 4).all() and r(np.ones(9), where=np.arange(9) < 4) == 4
    full = r.stats["compiled"]
    r(np.ones(10))
    assert r.stats["compiled"] == full

    def exponentials(a, b):
        return np.exp(a - b) + b

    e = lw.reduce(exponentials, identity=0.0)
    first = e(np.linspace(0, 1, 999))
    e(np.zeros(BIG))
    assert e.stats["compiled"] == 1 and e(np.linspace(0, 1, 999)) == first
