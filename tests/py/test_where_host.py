"""where= with out= on host arrays: what is selected is computed as without a mask, the rest is neither read nor written."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw


def plain(a, b):
    return a * b + a


def branches(a, b):
    return a - b if a > b else b * b


def vectors(a, b):
    return np.sin(a) * b


def own(a, b):
    return np.exp(a) + b


def loops(a, b):
    total = a
    for _ in range(3):
        total = total * b + a
    return total


FUNCTIONS = [plain, branches, vectors, own, loops]
MASKS = {"none": 0.0, "few": 0.01, "half": 0.5, "most": 0.99, "all": 1.0}


def made(f):
    u = lw.vectorize(f)
    for dtype in ("f4", "f8", "i8"):
        u(np.ones(3, dtype), np.ones(3, dtype))
    return u


def check(u, a, b, mask, out):
    """Check the bits of the whole result: those of a call without a mask where the mask is true, and the old ones elsewhere."""
    whole, before = u(a, b), out.copy()
    want = np.where(mask, np.broadcast_to(whole, out.shape), before)
    assert u(a, b, out=out, where=mask) is out
    assert out.tobytes() == want.tobytes()


@pytest.mark.parametrize("density", MASKS)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_same_bits_as_without(f, density):
    u, rng = made(f), np.random.default_rng(5)
    for dtype in ("f4", "f8"):
        for n in (64, 65, 1000, 40_000):
            a, b = rng.random(n).astype(dtype), rng.random(n).astype(dtype)
            mask = rng.random(n) < MASKS[density]
            check(u, a, b, mask, np.full(n, 7, dtype))
            check(u, a[::-1], b, mask[::-1], np.full(2 * n, 7, dtype)[::2])
            check(u, a, 0.5, mask, np.full(n, 7, dtype))
    a, b = rng.random((30, 1, 9)), rng.random((1, 20, 9))
    check(u, a, b, rng.random((30, 20, 9)) < MASKS[density], np.zeros((30, 20, 9)))
    check(u, a, b, rng.random((20, 1)) < MASKS[density], np.zeros((30, 20, 9), order="F"))


def test_outputs_among_the_inputs():
    u, rng = made(plain), np.random.default_rng(5)
    x, mask = rng.random(5000), rng.random(5000) < 0.5
    want = np.where(mask, u(x, x), x)
    assert u(x, x, out=x, where=mask).tobytes() == want.tobytes()
    y = rng.random(5001)  # shifted by one: what is read is what was there before
    want = np.where(mask, u(y[:-1], 2.0), y[1:])
    u(y[:-1], 2.0, out=y[1:], where=mask)
    assert y[1:].tobytes() == want.tobytes()
    flags = rng.random(5000) < 0.5
    both = lw.vectorize(lambda a, b: a and not b)
    both(flags, mask)
    want = np.where(flags, flags & ~mask, flags)
    both(flags, mask, out=flags, where=flags)  # the mask is the output
    assert (flags == want).all()


@pytest.mark.parametrize("f", [lambda a, b: a / b, lambda a, b: (a / b if b < 9 else b)])
def test_elements_that_are_left_out_warn_of_nothing(f):
    u = lw.vectorize(f)
    x, zero = np.ones(1000), np.zeros(1000)
    u(x, x)
    zero[::3] = 2.0
    mask, out = zero != 0, np.full(1000, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        u(x, zero, out=out, where=mask)
    assert (out[mask] == 0.5).all() and (out[~mask] == -1).all()
    mask[1] = True
    with pytest.warns(RuntimeWarning, match="divide by zero encountered"):
        u(x, zero, out=out, where=mask)
    assert out[1] == np.inf
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        u(x, zero, out=out, where=mask)


def test_errors_name_the_element_among_all():
    def refuses(x):
        if x > 10:
            raise ValueError("too big")
        return x

    u = lw.vectorize(refuses)
    x, out = np.zeros(1000), np.zeros(1000)
    u(x)
    x[[100, 777, 900]] = 11
    mask = np.arange(1000) % 7 == 0  # of these only 777
    with pytest.raises(ValueError, match=r"too big.*element 777"):
        u(x, out=out, where=mask)
    u(x, out=out, where=x < 10)


def test_what_numpy_refuses_is_refused():
    u = made(plain)
    x, out, mask = np.ones(100), np.zeros(100), np.ones(100, bool)
    with pytest.raises(ValueError, match="broadcast"):
        u(x, np.ones(99), out=out, where=mask)
    with pytest.raises(ValueError, match="broadcast|non-broadcastable"):
        u(x, x, out=out, where=np.ones((2, 100), bool))
    with pytest.raises(TypeError, match="bool"):
        u(x, x, out=out, where=np.ones(100))
    with pytest.raises(OverflowError):
        u(np.ones(100, int), 2**70, out=np.zeros(100, int), where=mask)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        u(x, x, out=out, where=mask)


@pytest.mark.parametrize("name", ["add", "divide", "maximum", "sqrt", "less"])
def test_numpys_own(name):
    ours, numpys = getattr(lw, name), getattr(np, name)
    rng = np.random.default_rng(2)
    x, mask = rng.random(3000), rng.random(3000) < 0.5
    args = (x,) if ours.nin == 1 else (x, 0.5)
    want = numpys(*args, out=np.zeros(3000, numpys(*args).dtype), where=mask)
    ours(*args)
    assert (ours(*args, out=np.zeros_like(want), where=mask) == want).all()


@pytest.mark.parametrize("step", [1, -2])
def test_at_of_many_indices(step):
    """at() of an array of one dimension is a compiled loop from some number of elements on, with the same results."""
    def weighted(a, b):
        return a * 0.75 + b

    rng = np.random.default_rng(4)
    u = lw.vectorize(weighted)
    for n in (10, 5000, 200_000, 200_000):
        index = rng.integers(-50, 50, n)
        for b in (rng.random(n)[::step] if step == 1 else rng.random(2 * n)[::step], 2.0):
            got = rng.random(100)[::step]
            got = got[:50] if step == 1 else got
            want = got.copy()
            u.at(got, index, b)
            for i, value in zip(index.tolist(), np.broadcast_to(b, n).tolist()):
                want[i] = weighted(want[i], value)
            np.testing.assert_allclose(got, want, rtol=1e-15)


def test_at_names_the_element_that_raises():
    def refuses(a, b):
        if b > 5:
            raise ValueError("too much")
        return a + b

    u = lw.vectorize(refuses)
    for n in (1000, 300_000):
        b = np.zeros(n)
        b[n - 3] = 6
        with pytest.raises(ValueError, match=rf"too much.*element {n - 3}\)"):
            u.at(np.zeros(4), np.zeros(n, int), b)


def test_at_of_unary_functions():
    u = lw.vectorize(lambda a: a * 2 + 1)
    x = np.zeros(3)
    u.at(x, [0, 0, -1])
    assert x.tolist() == [3.0, 0.0, 1.0]
