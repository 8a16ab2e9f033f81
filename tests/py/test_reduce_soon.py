"""The first calls of a reduction use loops that are compiled sooner; results have the same bits as of those that come later."""

from __future__ import annotations

import timeit

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


def softplus():
    return lw.reduce(map=lambda x: np.log(1 + np.exp(x)), combine=lambda a, b: a + b * np.tanh(a), commutative=True)


@pytest.mark.parametrize("name", ["softplus", *made()])
@pytest.mark.parametrize("dtype", ["f4", "i8"])
def test_same_bits(name, dtype):
    """Functions of float64 that the loops compute themselves are among those that are compiled early."""
    r, rng = softplus() if name == "softplus" else made()[name], np.random.default_rng(7)
    dtype = "f8" if name == "softplus" else dtype
    cases = [rng.choice(np.array([0.0, -0.0, 1.5, -2.25, 3.125]), size=n).astype(dtype) for n in (1, 2, 7, 64, 129, 5000)]
    cases += [(100 * rng.standard_normal(n)).astype(dtype)[::step] for n in (1, 1000, 40_000) for step in (1, 3)]
    cases += [np.ascontiguousarray((10 * rng.standard_normal((30, 40))).astype(dtype)), np.arange(64).reshape(8, 8).astype(dtype).T]
    cases += [(10 * rng.standard_normal(shape)).astype(dtype) for shape in ((3, 5, 700), (1000, 3), (4, 9000))]
    cases += [(10 * rng.standard_normal((40, 60, 6))).astype(dtype)[::2, 1:, ::3]]

    def bits():
        once = [np.asarray(r(case)).tobytes() for case in cases]
        once += [np.asarray(r(case, axis=axis)).tobytes() for case in cases if case.ndim > 1 for axis in range(case.ndim)]
        rows = [r.accumulate(case[:500]).tobytes() for case in cases if case.ndim == 1]
        rows += [r.accumulate(cases[-1].ravel()[:n]).tobytes() for n in (8, 9, 10, 16, 17, 18, 25)]
        rows += [r.accumulate(cases[5][:n], exclusive=True).tobytes() for n in (1, 9, 100)] if name == "sum" else []
        return once, rows, [r.reduceat(case, [0]).tobytes() for case in cases if case.ndim == 1]

    first, compiled = bits(), r.stats["compiled"]
    assert compiled == 3  # for any number of results, for scans, and for slices, which need the loops of both
    r(np.zeros(BIG, dtype))
    r.accumulate(np.zeros(BIG, dtype))
    assert r.stats["compiled"] == compiled + 2
    assert bits() == first and r.stats["compiled"] == compiled + 2


@pytest.mark.parametrize("name", ["sum", "mean", "max"])
def test_same_bits_with_a_mask(name):
    """sum and mean replace elements that are left out by the neutral one; max of int64 does so as well, and that of a pair gathers."""
    rng = np.random.default_rng(7)
    for dtype in ("f4", "f8", "i8"):
        r = made()[name]
        cases = [(100 * rng.standard_normal(shape)).astype(dtype) for shape in (1, 9, 1000, 40_000, (30, 700), (1000, 3))]
        masks = [rng.random(case.shape) < 0.5 for case in cases]
        initial = {"initial": -1000} if name == "max" else {}

        def bits():
            once = [np.asarray(r(case, where=mask, **initial)).tobytes() for case, mask in zip(cases, masks)]
            return once + [np.asarray(r(case, where=mask, axis=0, **initial)).tobytes() for case, mask in zip(cases, masks)]

        first, compiled = bits(), r.stats["compiled"]
        assert compiled == 1  # for any number of results
        r(np.zeros(BIG, dtype), where=np.ones(BIG, bool), **initial)
        assert r.stats["compiled"] == compiled + 1
        assert bits() == first and r.stats["compiled"] == compiled + 1


def test_masks_of_a_function_without_a_neutral_element():
    r = lw.reduce(lambda a, b: b)
    x, mask = np.arange(2000.0).reshape(20, 100), np.arange(2000).reshape(20, 100) % 7 == 3
    for _ in range(2):
        assert r(x, where=mask, axis=None, initial=-1.0) == x[mask][-1]
        assert r(x, where=mask, axis=1, initial=-1.0).tolist() == [row[m][-1] for row, m in zip(x, mask)]
        r(np.zeros(BIG), where=np.ones(BIG, bool), initial=-1.0)


@pytest.mark.parametrize("name", ["softplus", "affine", *made()])
def test_the_first_scan_may_be_long(name):
    """Long rows are scanned in parts, whose totals are combined."""
    x = np.random.default_rng(11).integers(0, 2, 300_000).astype("f8")
    for case, axis in ((x, 0), (x[::-1], 0), (x.reshape(3, -1), 1)):
        if name == "affine":
            r = lw.reduce(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), map=lambda x: (x, 1 - x))
        else:
            r = softplus() if name == "softplus" else made()[name]
        once = r.accumulate(case, axis=axis)
        r(np.ones(BIG))  # now all is compiled
        for a, b in zip(np.atleast_2d(once), np.atleast_2d(r.accumulate(case, axis=axis))):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_what_is_compiled_in_full_at_once():
    """These are loops, and functions whose last bits depend on vectors."""
    r = lw.reduce(lambda a, b: a + b)
    assert (r(np.ones((BIG // 4, 5)), axis=0) == BIG // 4).all() and r(np.ones(9), where=np.arange(9) < 4) == 4
    full = r.stats["compiled"]
    r(np.ones(10))
    assert r.stats["compiled"] == full

    def exponentials(a, b):
        return np.exp(a - b) + b

    e = lw.reduce(exponentials, identity=np.float32(0))
    x = np.linspace(0, 1, 999, dtype="f4")
    first = e(x)
    e(np.zeros(BIG, "f4"))
    assert e.stats["compiled"] == 1 and e(x) == first


LOGSUMEXP = """
import sys
import numpy as np
import lanewise as lw

def results():
    return lw.reductions.logsumexp(x), lw.reductions.logsumexp(x.reshape(30, 100), axis=0).tobytes()

dtype, name = sys.argv[1:]
x = (100 * np.random.default_rng(3).standard_normal(3000)).astype(dtype)
first = results()
lw.reductions.logsumexp(np.zeros(1 << 22, dtype))
print(getattr(lw.reductions, name).stats["compiled"], results() == first, first[0].dtype)
assert abs(first[0] - np.logaddexp.reduce(x.astype("f8"))) <= 4 * np.spacing(first[0])
"""


@pytest.mark.parametrize("dtype, name", [("float64", "_logsumexp"), ("float32", "_logsumexp_of_floats"), ("float16", "_logsumexp_of_floats")])
def test_logsumexp_is_soon_there(run_python, dtype, name):
    assert run_python("-c", LOGSUMEXP, dtype, name).stdout.split() == ["2", "True", dtype]  # one soon, one in full


def test_first_scans_are_not_slow():
    x = np.random.default_rng(0).random(8192, np.float32)
    total = made()["sum"]
    soon = min(timeit.repeat(lambda: total.accumulate(x), number=1, repeat=100))
    total.accumulate(np.zeros(BIG, np.float32))
    later = min(timeit.repeat(lambda: total.accumulate(x), number=1, repeat=100))
    assert soon < 5 * later  # 1.4; element by element it took 15 times as long
