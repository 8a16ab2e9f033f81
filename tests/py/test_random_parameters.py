"""Parameters of a Generator: numbers and arrays of them, what is refused, and how it is said."""

from __future__ import annotations

import array
import collections
import math
import pickle

import numpy as np
import pytest

import lanewise as lw
from lanewise import _parameters
from lanewise.random import Generator

from random_checks import KINDS

FORMULAS = [("uniform", (-1.5, 3.25)), ("normal", (0.3, 1.7)), ("exponential", (2.3,)), ("gamma", (1.3, 0.7)), ("poisson", (3.7,)),
            ("poisson", (40,)), ("binomial", (30, 0.3)), ("lognormal", (0.1, 0.3)), ("beta", (0.7, 2)), ("geometric", (0.3,)),
            ("negative_binomial", (3.5, 0.4)), ("standard_t", (3,)), ("wald", (1, 2.5))]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 7, 300])
@pytest.mark.parametrize("name, parameters", FORMULAS)
def test_one_number_in_every_element(kind, n, name, parameters):
    one, each = Generator(3, kind), Generator(3, kind)
    np.testing.assert_array_equal(getattr(one, name)(*parameters, n), getattr(each, name)(*[[p] * n for p in parameters]))
    if name in ("uniform", "normal", "exponential"):
        np.testing.assert_array_equal(getattr(one, name)(*parameters, n, np.float32),
                                      getattr(each, name)(*[[p] * n for p in parameters], dtype=np.float32))
    assert one._place == each._place


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("low, high, dtype", [
    (0, 100, "i8"), (0, 100, "i4"), (3, 256, "u1"), (0, 2**32, "i8"), (-1, 2**32, "i8"), (0, 2**40, "i8"), (0, 2**64, "u8"), (-2**63, 2**63, "i8")])
def test_one_pair_of_bounds_in_every_element(kind, low, high, dtype):
    for n in (1, 6, 300):
        one, lows, highs = Generator(1, kind), Generator(1, kind), Generator(1, kind)
        for end in (0, 1):
            expected = one.integers(low, high - end, n, dtype, bool(end))
            np.testing.assert_array_equal(lows.integers([low] * n, [high - 1] * n, dtype=dtype, endpoint=True), expected)
            np.testing.assert_array_equal(highs.integers(low, np.full(1, high - 1, "u8" if high > 2**63 else "i8"), n, dtype, True), expected)
        assert one._place == lows._place == highs._place


def test_bounds_that_differ():
    found = Generator(1).integers([0, 10, 20], [[10, 20, 30]] * 1000)
    assert (found // 10 == [0, 1, 2]).all() and len(np.unique(found)) == 30


MASKED = np.ma.masked_array([1, 2, 3, 4], [True, False, False, False])


@pytest.mark.parametrize("call, name", [
    (lambda g: g.normal(MASKED), "loc"), (lambda g: g.normal(0, MASKED, 4), "scale"), (lambda g: g.uniform(0, MASKED), "high"),
    (lambda g: g.exponential(MASKED), "scale"), (lambda g: g.gamma(MASKED), "shape"), (lambda g: g.poisson(MASKED), "lam"),
    (lambda g: g.integers(MASKED), "high"), (lambda g: g.integers(MASKED, 9), "low"), (lambda g: g.integers(MASKED[1:2].reshape(())), "high"),
    (lambda g: g.normal(np.ma.masked), "loc"), (lambda g: g.binomial(MASKED, 0.5), "n"), (lambda g: g.wald(MASKED, 1), "mean"),
    (lambda g: g.triangular(0, MASKED, 9), "mode"), (lambda g: g.negative_binomial(MASKED, 0.5), "n"), (lambda g: g.geometric(MASKED / 8.0), "p"),
    (lambda g: g.dirichlet(MASKED), "alpha"), (lambda g: g.multinomial(MASKED, [0.5, 0.5]), "n"), (lambda g: g.multinomial(3, MASKED / 10.0), "pvals"),
    (lambda g: g.shuffle(MASKED), "x"), (lambda g: g.permutation(MASKED), "x"), (lambda g: g.permuted(MASKED), "x"),
    (lambda g: g.permuted(np.arange(4), out=MASKED), "out"), (lambda g: g.choice(MASKED), "a"), (lambda g: g.choice(4, p=MASKED / 10.0), "p"),
    (lambda g: g.random(out=MASKED.astype(float)), "out"), (lambda g: g.poisson(2, out=MASKED), "out"),
    (lambda g: g.integers(0, 2, out=MASKED.astype(bool)), "out"), (lambda g: g.lognormal(out=MASKED.astype(float)), "out"),
    (lambda g: g.negative_binomial(2, 0.5, out=MASKED), "out"), (lambda g: Generator(MASKED), "seed"), (lambda g: g.random(MASKED), "size"),
])
def test_masked_arrays(call, name):
    g = Generator(1)
    with pytest.raises(TypeError, match=f"^{name} is a masked array, whose mask a Generator would ignore; pass its .data$"):
        call(g)
    assert g._place == 0 and MASKED.tolist() == [None, 2, 3, 4]


@pytest.mark.parametrize("call, problem, text", [
    (lambda g: g.integers(0, 256, dtype="u1", endpoint=True), ValueError, "low and high must be within uint8 and low at most high, not 0 and 256"),
    (lambda g: g.integers(0, 257, dtype="u1"), ValueError, "low and high must be within uint8 and low below high, not 0 and 257"),
    (lambda g: g.integers(5, 4, endpoint=True), ValueError, "low and high must be within int64 and low at most high, not 5 and 4"),
    (lambda g: g.integers(0, 2, dtype=bool, endpoint=True), ValueError, "low and high must be within bool and low at most high, not 0 and 2"),
    (lambda g: g.integers(0, 5, endpoint=np.ones(2)), ValueError, "The truth value of an array"),
    (lambda g: g.jumped(2**30), ValueError, "jumps must be from 0 to 1073741823, not 1073741824: a seed has 2[*][*]30 streams"),
    (lambda g: g.jumped(3).jumped(2**30 - 3), ValueError, "jumps must be from 0 to 1073741820, not 1073741821"),
    (lambda g: g.jumped(-1), ValueError, "jumps must be from 0 to 1073741823, not -1"),
    (lambda g: g.jumped(1.0), TypeError, "jumps must be an int, not float"),
    (lambda g: g.choice(5, 3, p=[0.2] * 4), ValueError, "p must have 5 elements, not 4: a and p must have same size"),
    (lambda g: g.choice("abc"), ValueError, "a must be an int or an array with a dimension, not str"),
    (lambda g: g.choice(5.0), ValueError, "a must be an int or an array with a dimension, not float"),
    (lambda g: g.choice(True), ValueError, "a must be an int or an array with a dimension, not bool"),
    (lambda g: g.choice(None), ValueError, "a must be an int or an array with a dimension, not NoneType"),
    (lambda g: g.permutation("abc"), TypeError, "x must be an int or an array with a dimension, not str"),
    (lambda g: g.shuffle(np.array(5)), TypeError, "x must be a NumPy or device array with a dimension, or a mutable sequence, not ndarray"),
    (lambda g: g.shuffle(None), TypeError, "x must be a NumPy or device array with a dimension, or a mutable sequence, not NoneType"),
    (lambda g: g.normal(np.zeros(3, complex)), TypeError, "loc must be a number or an array of numbers, not ndarray of complex128"),
    (lambda g: g.integers(np.array([1.5])), TypeError, "high must be an int or an array of ints, not ndarray of float64"),
    (lambda g: g.integers([1.5], 3), TypeError, "low must be an int or an array of ints, not list of float64"),
    (lambda g: g.poisson(["a"]), TypeError, "lam must be a number or an array of numbers, not list of <U1"),
    (lambda g: g.binomial([True], 0.5), TypeError, "n must be an int or an array of ints, not list of bool"),
])
def test_bad_parameters(call, problem, text):
    g = Generator(1)
    with pytest.raises(problem, match=f"^{text}"):
        call(g)
    assert g._place == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("jumps", [0, 1, 5, 2**29 + 1])
def test_jumps_start_where_the_generator_stands(kind, jumps):
    g, far = Generator(3, kind), Generator(3, kind).jumped(jumps)
    for draw in (lambda g: g.random(1000), lambda g: g.random(70000), lambda g: g.standard_normal(3)):
        np.testing.assert_array_equal(g.jumped(jumps).random(8), pickle.loads(pickle.dumps(far)).random(8))
        draw(g), draw(far)
    last = g.jumped(jumps)
    assert last.state["place"] == g.state["place"] and (last.random() == g.random()) == (jumps == 0)
    if 0 < jumps < 9:
        np.testing.assert_array_equal(g.jumped(jumps - 1).jumped().random(9), g.jumped(jumps).random(9))


def test_a_jump_keeps_the_key_of_the_state():
    g, other = Generator(1), Generator(2)
    g.state = other.state
    assert g.jumped(2).random() == other.jumped(2).random()


@pytest.mark.parametrize("kind", KINDS)
def test_dirichlet_of_some_zeros(kind):
    expected, found = Generator(1, kind).dirichlet([2.0, 0.1], (5, 40)), Generator(1, kind).dirichlet([0, 2.0, 0, 0.1], (5, 40))
    np.testing.assert_array_equal(found, np.stack([0 * expected[..., 0], expected[..., 0], 0 * expected[..., 0], expected[..., 1]], -1))
    assert Generator(1, kind).dirichlet([0, 3.0]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("kind", [list, bytearray, collections.deque, collections.UserList, lambda x: array.array("d", x)])
def test_shuffle_of_sequences(kind):
    x, order = kind(range(10, 200)), Generator(1).permutation(190)
    assert Generator(1).shuffle(x) is None and list(x) == (order + 10).tolist()
    with pytest.raises(NotImplementedError, match=f"axis must be 0 for a {type(x).__name__}"):
        Generator(1).shuffle(x, 1)


@pytest.mark.parametrize(
    ("mean", "scale", "lowest", "highest"),
    [(1e300, 1.0, 0.05, 50.0), (1e-300, 1.0, 0.9e-300, 1.1e-300), (1.0, math.inf, 1.0, 1.0), (1.0, 1e300, 1.0, 1.0), (1.0, 1e-300, 1e-302, 1e-298), (1e200, 1e200, 1e198, 1e202),
     (1e-200, 1e200, 0.9e-200, 1.1e-200), (math.inf, 1.0, 0.05, 50.0)],
)
def test_wald_numbers_of_parameters_far_from_1(mean, scale, lowest, highest):
    """Products of the parameters overflowed or vanished, so that the numbers were NaN or 0."""
    for size in (20, 2000):
        x = np.sort(lw.random.default_rng(3).wald(mean, scale, size))[size // 4: -(size // 4)]  # these are Levy numbers where the mean is large
        assert ((x >= lowest) & (x <= highest)).all(), x
    assert lw.random.default_rng(3).wald(np.full(5, mean), scale).tolist() == lw.random.default_rng(3).wald(mean, scale, 5).tolist()


def test_methods_of_standard_exponential():
    """NumPy has two algorithms; here both names mean the same one."""
    expected = lw.random.default_rng(3).standard_exponential(5)
    for method in ("zig", "inv"):
        assert lw.random.default_rng(3).standard_exponential(5, method=method).tolist() == expected.tolist()
        out = np.empty(5)
        assert lw.random.default_rng(3).standard_exponential(method=method, out=out) is out and out.tolist() == expected.tolist()
        assert lw.random.default_rng(3).standard_exponential(5, dtype="f4", method=method).dtype == np.float32
        assert Generator(3, bit_generator="xoroshiro128p").standard_exponential(3, method=method).shape == (3,)
    with pytest.raises(ValueError, match="method must be 'zig' or 'inv', which give the same numbers here, not 'log'"):
        lw.random.default_rng(3).standard_exponential(5, method="log")


@pytest.mark.parametrize("rule", _parameters._RULES)
def test_rules_are_what_their_limits_say(rule):
    """Arrays are first compared with the limits, and with the rule itself only if they are outside."""
    holds = _parameters._RULES[rule][0]
    values = [-np.inf, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, np.nextafter(1.0, 2.0), 1e9 - 1, 1e9, 1e15, np.nextafter(1e15, 2e15), 2.0**53, 2.0**53 + 2,
              np.finfo(float).max, np.inf, np.nan]
    for value in values:
        for given in (np.array(value), np.array([value]), np.array([[1.0, value]])):
            if holds(given).all():
                assert _parameters.check("p", given, rule) is given
            else:
                with np.errstate(all="raise"), pytest.raises(ValueError, match="p must be"):
                    _parameters.check("p", given, rule)
