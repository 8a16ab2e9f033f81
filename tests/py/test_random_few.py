"""Random numbers without the Python code of `Generator`: one or a few at once, and orders by Fisher and Yates' exchanges.
Both are computed twice: by the quick way, and by the kernels or in Python's integers."""

from __future__ import annotations

import gc
import itertools
import math
import sys
import threading

import numpy as np
import pytest

import lanewise as lw
from lanewise import random as r
from lanewise.random import Generator

from random_checks import KINDS, chi2

FEW = [("random", ()), ("uniform", (0.3, 7.7)), ("uniform", (-1e9, 3)), ("normal", (1.7, 0.3)), ("normal", (np.float64(-3.0), 10)),
       ("standard_normal", ()), ("exponential", (2.5,)), ("standard_exponential", ()), ("gamma", (0.4, 1.3)), ("gamma", (3.4, 2)),
       ("standard_gamma", (2.2,)), ("poisson", (3.3,)), ("poisson", (33.3,)), ("binomial", (10, 0.3)), ("binomial", (300, 0.9)), ("integers", (10,)), ("integers", (3 * 2**30,)),
       ("integers", (2**32,)), ("integers", (-5, 2**40)), ("integers", (-(2**63), 2**63 - 1)), ("integers", (0, 3 * 2**61))]


def same(x, y):
    return type(x) is type(y) and np.shape(x) == np.shape(y) and getattr(x, "dtype", None) == getattr(y, "dtype", None) and np.array_equal(x, y)


@pytest.mark.parametrize("name, parameters", FEW)
def test_few_numbers_are_those_of_the_kernels(name, parameters):
    quick, slow = Generator(5).jumped(3), Generator(5).jumped(3)
    for size in [None] * 20 + [5, None, 0, 64, 63, 1, (2,), 512, None, 513, 301, 128, 129, 8192, 8193, 1001] + [None] * 300 + [40]:
        x, y = getattr(quick, name)(*parameters, size=size), getattr(slow, "_" + name)(*parameters, size=size)
        assert same(x, y) and quick.state == slow.state, (size, x, y)


@pytest.mark.parametrize("bounds", [(10,), (-3, 3 * 2**30), (0, 2**32), (5, 6)])
def test_many_integers_are_those_of_the_kernels(bounds):
    quick, slow = Generator(5).jumped(), Generator(5).jumped()
    for size in (100_003, 32_768, 1, 33_025):
        x = quick.integers(*bounds, size=size)
        assert same(x, slow._integers(*bounds, size=size)) and quick.state == slow.state
        with lw.config(threads=1):
            assert same(quick.integers(*bounds, size=size), slow._integers(*bounds, size=size))
    assert same(quick.integers(0, 2**40, size=8193), slow._integers(0, 2**40, size=8193)) and quick.state == slow.state


def test_few_numbers_of_many_kinds_and_parameters_by_turns():
    quick, slow = Generator(6), Generator(6)
    for k in range(40):
        for name, parameters in [("normal", (k, 1.0 + k)), ("random", ()), ("gamma", (1.0 + k,)), ("exponential", (k,)), ("poisson", (float(k),)), ("integers", (-k, 3))]:
            assert same(getattr(quick, name)(*parameters), getattr(slow, "_" + name)(*parameters)) and quick.state == slow.state


ONE = [("lognormal", (0.0, 1.0)), ("laplace", (1, 2)), ("logistic", ()), ("gumbel", ()), ("rayleigh", (2.0,)), ("weibull", (1.5,)), ("pareto", (3.0,)),
       ("power", (3.0,)), ("standard_cauchy", ()), ("standard_t", (3.0,)), ("chisquare", (3.0,)), ("f", (3.0, 4.0)), ("beta", (0.5, 2)),
       ("triangular", (0, 1, 3)), ("wald", (1.0, 2.0)), ("geometric", (0.2,)), ("logseries", (0.6,)), ("negative_binomial", (3, 0.4)), ("noncentral_chisquare", (3.0, 1)), ("hypergeometric", (5, 6, 7)),
       ("hypergeometric", (50, 600, 200)), ("zipf", (1.4,)), ("vonmises", (0.5, 2.0)), ("vonmises", (0, 0.0))]


@pytest.mark.parametrize("name, parameters", ONE)
def test_one_number_of_a_formula(name, parameters, monkeypatch):
    quick, slow = Generator(5).jumped(2), Generator(5).jumped(2)
    monkeypatch.setattr(slow, "_is_near", lambda: False)
    for k in range(150):
        assert same(getattr(quick, name)(*parameters), getattr(slow, name)(*parameters)) and quick.state == slow.state, k
        if k % 3 == 0 and k > 50:
            assert quick.random() == slow.random() and quick.beta(1.0, 1.0 + k) == slow.beta(1.0, 1.0 + k)
    state = quick.state
    first = [getattr(quick, name)(*parameters) for _ in range(5)]
    quick.state = state
    assert [getattr(quick, name)(*parameters) for _ in range(5)] == first
    quick.state = slow.state = state | {"place": 2**32 - 30}
    assert [getattr(quick, name)(*parameters) for _ in range(40)] == [getattr(slow, name)(*parameters) for _ in range(40)]
    if parameters:
        with pytest.raises(ValueError, match="must be"):
            getattr(quick, name)(*(-type(p)(1) for p in parameters))


def test_one_number_of_formulas_with_parameters_by_turns():
    quick, slow = Generator(5), Generator(5)
    slow._is_near = lambda: False
    for k in range(300):
        for name, parameters in [("beta", (0.5, 2)), ("chisquare", (1.0 + k % 20,)), ("f", (3, 4.0)), ("laplace", (k % 3, 1.0)), ("binomial", (k % 5, 0.5))]:
            assert same(getattr(quick, name)(*parameters), getattr(slow, "_" + name)(*parameters)) and quick.state == slow.state, k
    assert quick.beta(b=2, a=0.5) == slow._beta(0.5, 2) and quick.triangular(0, right=2.0, mode=1) == slow._triangular(0, 1, 2)
    assert quick.beta(0.5, 2, size=(3, 2)).tolist() == slow._beta(0.5, 2, (3, 2)).tolist() and quick.state == slow.state
    for call, problem in [(lambda: quick.beta(0.5), TypeError), (lambda: quick.beta(0.5, 2, b=3), TypeError), (lambda: quick.beta(0.5, -2), ValueError),
                          (lambda: quick.binomial(2.5, 0.5), TypeError), (lambda: quick.binomial(-1, 0.5), ValueError), (lambda: quick.binomial(3, 1.5), ValueError)]:
        with pytest.raises(problem):
            call()
        assert quick.state == slow.state


def test_numbers_of_formulas_are_kept_for_the_stream_they_are_of():
    g, numbers = Generator(5), np.arange(1.0, 5.0)
    at = g._place
    g._keep(g._changes, "beta", (2.0, 3.0), at, 4, numbers)
    assert g.beta(2, 3) == 1.0 and g._place == at + 4
    g._place = at + 3
    assert g.beta(2, 3) == 4.0 and g._place == at + 7
    g = Generator(5)
    changes = g._changes
    g.state = Generator(6).state
    g._keep(changes, "beta", (2.0, 3.0), g._place, 4, numbers)
    assert g.beta(2, 3) == Generator(6).beta(2, 3)
    g._keep(g._changes, "no formula", (), g._place, 4, numbers)
    for arguments, problem in [(("beta", (1.0,) * 4, 0, 1, numbers), ValueError), (("beta", ("a",), 0, 1, numbers), TypeError),
                               (("beta", (1.0,), 0, 1, numbers.astype("f4")), TypeError), (("beta", (1.0,), 0, 1, numbers[::2]), TypeError)]:
        with pytest.raises(problem):
            g._keep(g._changes, *arguments)


def test_few_numbers_follow_the_state():
    g = Generator(7)
    g.normal()
    saved = g.state
    first = [g.normal(), g.gamma(2.0), g.random()]
    g.state = saved | {"place": 2**32 - 3}
    far = [g.normal(size=20), g.normal(), g.random(20), g.integers(5, size=20)]
    slow = Generator(7)
    slow.state = saved | {"place": 2**32 - 3}
    assert all(map(np.array_equal, far, [slow._normal(size=20), slow._normal(), slow._random(20), slow._integers(5, size=20)]))
    g.state = saved
    assert [g.normal(), g.gamma(2.0), g.random()] == first
    other = Generator(8)
    other.normal()
    other.state = saved
    assert [other.normal(), other.gamma(2.0), other.random()] == first


@pytest.mark.parametrize("part, value", [("key", (1, 2, 3)), ("key", (1, -2)), ("jumps", 2**31), ("jumps", "1"), ("place", -1), ("place", 2**64), ("place", "x")])
def test_a_wrong_state_changes_nothing(part, value):
    g = Generator(7)
    state = g.state
    with pytest.raises((ValueError, TypeError, OverflowError)):
        g.state = state | {"key": (5, 6), part: value}
    assert g.state == state
    g.state = state | {"place": 2**64 - 3}
    for draw in (g.normal, lambda: g.random(10**5), lambda: g.beta(2, 3)):  # the last place is 2**64 - 1
        with pytest.raises(OverflowError):
            draw()
            draw()
            draw()
    assert g.state["place"] >= 2**64 - 3


def test_few_numbers_by_keywords_and_wrong_ones():
    g, slow = Generator(9), Generator(9)
    assert g.normal(scale=2.0, loc=1) == slow._normal(scale=2.0, loc=1) and g.uniform(high=3) == slow._uniform(high=3)
    assert g.integers(low=4, high=9) == slow._integers(low=4, high=9) and g.integers(4, high=9) == slow._integers(4, high=9)
    assert g.integers(4, None) == slow._integers(4, None) and g.integers(3, 3, endpoint=True) == 3 == slow._integers(3, 3, endpoint=True)
    state = g.state
    for call, problem in [(lambda: g.normal(1, 2, loc=1), TypeError), (lambda: g.gamma(), TypeError), (lambda: g.gamma(scale=1.0), TypeError),
                          (lambda: g.integers(), TypeError), (lambda: g.random(sizes=1), TypeError), (lambda: g.random(-1), ValueError),
                          (lambda: g.normal(math.nan), ValueError), (lambda: g.normal(0, -1.0), ValueError), (lambda: g.exponential(-1), ValueError),
                          (lambda: g.uniform(0, math.inf), OverflowError), (lambda: g.integers(5, 5), ValueError), (lambda: g.integers(2.5), TypeError),
                          (lambda: g.integers(True), TypeError), (lambda: g.poisson(1e16), ValueError), (lambda: g.standard_gamma(-1), ValueError),
                          (lambda: g.random(1, 2, 3, 4, 5), TypeError), (lambda: g.normal("a"), TypeError), (lambda: g.random(True), TypeError)]:
        with pytest.raises(problem):
            call()
        assert g.state == state
    assert g.normal(math.inf) == math.inf and g.normal(3, 0) == 3.0


def test_few_numbers_where_the_target_says():
    g = Generator(1, target="cpu")
    with lw.config(target="cuda"):
        assert isinstance(g.random(), float) and isinstance(g.choice(5), int)
    g.target = None
    assert isinstance(g.normal(), float)


def test_threads_draw_different_numbers():
    g, drawn = Generator(12), [[] for _ in range(6)]

    def draw(mine):
        for k in range(400):
            mine += [g.normal(), g.random(), *g.normal(size=20), g.gamma(2.0 + k % 2), g.exponential()]

    threads = [threading.Thread(target=draw, args=(mine,)) for mine in drawn]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)
    numbers = sum(drawn, [])
    assert len(numbers) == 6 * 400 * 24 == len(set(numbers))
    assert g._place == 6 * 400 * (1 + 1 + 10 + 1 + 1)


def test_a_generator_gives_its_memory_back():
    g, made = Generator(1), np.arange(4.0)
    held = [made]
    g._ahead = lambda *_: held[0]
    before = sys.getrefcount(made)
    with pytest.raises(TypeError, match="_ahead"):  # eight blocks are sixteen numbers
        g.normal()
    assert sys.getrefcount(made) == before
    held[0] = made = np.arange(16.0)
    before = sys.getrefcount(made)
    assert [g.normal() for _ in range(8)] == [0, 2, 4, 6, 8, 10, 12, 14] and sys.getrefcount(made) == before + 1
    g.state = g.state
    assert sys.getrefcount(made) == before
    g.exponential()
    assert sys.getrefcount(made) == before + 1
    del g
    gc.collect()
    assert sys.getrefcount(made) == before


# ---- orders ----


@lw.vectorize
def words(seed, index, counter):
    return r.philox(seed, index, counter)


def step(g, place, element, span, narrow):
    """The number below span that one step of an order uses: a word of the blocks, then attempts of the element."""
    key = np.uint64(g._key[0] | g._key[1] << 32)
    c3, width = 2 * g._jumps, 32 if narrow else 64
    each = 4 if narrow else 2
    block = [int(w) for w in words(key, np.uint64(c3 << 32), np.uint64(place + element // each))]
    k, element, attempt = element % each, place * each + element, 0
    word = block[k] if narrow else block[2 * k] << 32 | block[2 * k + 1]
    while word * span % 2**width < (2**width - span) % span:
        block = [int(w) for w in words(key, np.uint64(attempt | c3 + 1 << 32), np.uint64(element))]
        word = block[0] if narrow else block[0] << 32 | block[1]
        attempt += 1
    return word * span >> width


def sample(g, n, count):
    place, moved, out = g._place, {}, []
    for i in range(count):
        j = i + step(g, place, i, n - i, n < 2**32)
        out.append(moved.get(j, j))
        moved[j] = moved.get(i, i)
    return out


@pytest.mark.parametrize("n, count", [(1, 1), (7, 7), (300, 300), (300, 299), (1000, 5), (5000, 200), (10**9, 300), (3 * 2**30, 60), (2**32 - 1, 3),
                                      (2**32, 3), (3 * 2**61, 40), (2**63 - 1, 4), (5, 0), (0, 0)])
def test_samples_are_fisher_and_yates(n, count):
    g = Generator(3).jumped(2)
    g.random(11)
    expected, place = sample(g, n, count), g._place
    assert g.choice(n, count, replace=False).tolist() == expected
    each = 4 if n < 2**32 else 2
    assert g._place == place + -(-count // each)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_is_the_front_of_an_order(kind):
    for n in (2, 17, 1000, 40000):
        whole = Generator(4, kind).permutation(n)
        assert sorted(whole) == list(range(n))
        for count in {0, 1, n // 100, n // 17, n // 2, n - 1, n}:
            if kind == "philox" or count == n:  # else the lanes take their steps by turns
                np.testing.assert_array_equal(Generator(4, kind).choice(n, count, replace=False), whole[:count])
            assert len(set(Generator(4, kind).choice(n, count, replace=False).tolist())) == count


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n, count", [(5, 3), (40, 2), (4, 4)])
def test_ordered_samples_are_uniform(kind, n, count):
    g, every = Generator(6, kind), list(itertools.permutations(range(n), count))
    found = {one: 0 for one in every}
    for _ in range(20 * len(every)):
        found[tuple(g.choice(n, count, replace=False).tolist())] += 1
    assert abs(chi2(list(found.values()), [20] * len(every))) < 4.5


@pytest.mark.parametrize("dtype", ["i1", "i2", "S3", "f4", "f8", "S13", "c16", "S63", "S64", "S65", "S200", "O"])
def test_items_of_every_size(dtype):
    x = np.array([str(k % 100) for k in range(500)] if dtype[0] == "S" else [k % 100 for k in range(500)], dtype)
    before, order = x.copy(), Generator(2).permutation(500)
    np.testing.assert_array_equal(Generator(2).permutation(x), before[order])
    np.testing.assert_array_equal(Generator(2).permuted(x), before[order])
    Generator(2).shuffle(x)
    np.testing.assert_array_equal(x, before[order])
    table, rows = before.reshape(100, 5).copy(), Generator(2).permutation(100)
    np.testing.assert_array_equal(Generator(2).permutation(table), before.reshape(100, 5)[rows])
    Generator(2).shuffle(table)
    np.testing.assert_array_equal(table, before.reshape(100, 5)[rows])
    strided = np.repeat(before, 2)[::2]
    Generator(2).shuffle(strided)
    np.testing.assert_array_equal(strided, before[order])
    items = before.tolist()
    Generator(2).shuffle(items)
    assert items == before[order].tolist()


def test_a_small_sample_by_weights_is_the_front_of_a_large_one():
    p = np.arange(1000.0) / np.arange(1000.0).sum()
    whole = Generator(4).choice(1000, 999, False, p)
    for count in (1, 2, 100, 249, 250, 500):
        np.testing.assert_array_equal(Generator(4).choice(1000, count, False, p), whole[:count])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_lines_are_permuted_along_any_axis(kind, axis):
    x = np.arange(4 * 5 * 300).reshape(4, 5, 300)
    last = np.moveaxis(x, axis, -1)
    mixed = Generator(8, kind).permuted(x, axis)
    np.testing.assert_array_equal(np.sort(mixed, axis), x)
    np.testing.assert_array_equal(np.moveaxis(mixed, axis, -1), Generator(8, kind).permuted(np.ascontiguousarray(last), 2))
    out = np.empty(x.shape)
    assert Generator(8, kind).permuted(x, axis, out=out) is out
    np.testing.assert_array_equal(out, mixed)
    assert Generator(8, kind).permuted(x, axis, x) is x
    np.testing.assert_array_equal(x, mixed)
    lines = np.moveaxis(mixed, axis, -1).reshape(-1, mixed.shape[axis])
    assert len({tuple(np.argsort(line)) for line in lines}) > 1


def test_orders_keep_references():
    thing = object()
    x = np.array([thing] * 50 + [None] * 50, object)
    before = sys.getrefcount(thing)
    g = Generator(1)
    mixed = g.permuted(x)
    assert sys.getrefcount(thing) == before + 50
    g.shuffle(x)
    del mixed
    assert sys.getrefcount(thing) == before and sum(o is thing for o in x) == 50


@pytest.mark.parametrize("call, problem, text", [
    (lambda g: g.permuted(np.arange(3), out=np.empty(4)), ValueError, "different shapes"),
    (lambda g: g.permuted(np.arange(3.0), out=np.empty(3, int)), TypeError, "out must take x's dtype"),
    (lambda g: g.permuted(np.arange(3), out=[1, 2, 3]), TypeError, "out must be a NumPy array, not list"),
    (lambda g: g.permuted(np.arange(3), 1), ValueError, "axis must be from -1 to 0, not 1"),
    (lambda g: g.permutation(5, stream="x"), TypeError, "stream: expected a stream"),
    (lambda g: g.choice(5, 2, False, stream="x"), TypeError, "stream: expected a stream"),
    (lambda g: g.choice(5, stream="x"), TypeError, "stream: expected a stream"),
    (lambda g: g.choice(5.5), ValueError, "a must be an int or an array with a dimension, not float"),
    (lambda g: g.choice(10**6, 10**6 + 1, False), ValueError, "larger sample than population"),
    (lambda g: g.permutation(1.5), TypeError, "x must be an int"),
])
def test_bad_orders(call, problem, text):
    with pytest.raises(problem, match=text):
        call(Generator(1))


def test_orders_of_nothing():
    g = Generator(1)
    assert g.permutation(0).shape == (0,) and g.permuted(np.empty((0, 3)), 1).shape == (0, 3) and g.permutation(np.empty((3, 0))).shape == (3, 0)
    g.shuffle([])
    g.shuffle(np.empty((0, 2)))
    assert g.choice(0, 0, replace=False).shape == (0,) and g.choice([], 0).shape == (0,) and g._place == 1


# ---- weights ----


def vose(weights):
    p = np.asarray(weights, np.float64)
    probability, alias = p * (p.size / p.sum()), np.arange(p.size)
    small, large = [i for i in range(p.size) if probability[i] < 1.0], [i for i in range(p.size) if probability[i] >= 1.0]
    while small and large:
        i, j = small.pop(), large[-1]
        alias[i] = j
        probability[j] -= 1.0 - probability[i]
        if probability[j] < 1.0:
            small.append(large.pop())
    probability[small + large] = 1.0
    return probability, alias


@pytest.mark.parametrize("weights", [[1], [1, 3], [0, 0, 5], [1, 1, 1, 1], list(range(100)), list(range(100, 0, -1)), [0.1] * 10, [1e-300, 1e200]])
def test_alias_tables(weights):
    for ours, theirs in zip(r.alias_table(weights), vose(weights)):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype


def test_alias_tables_of_far_weights():
    for weights in ([1e308] * 3, [5e-324], [1.7e308, 5e-324], [5e-324, 1e-323]):
        probability, alias = r.alias_table(weights)
        chance = probability.copy()
        np.add.at(chance, alias, 1.0 - probability)
        largest = np.asarray(weights) / max(weights)
        np.testing.assert_allclose(chance / len(weights), largest / largest.sum(), rtol=1e-12)
    weights = np.random.default_rng(1).random(2000)
    probability, alias = r.alias_table(weights)
    np.add.at(probability, alias, 1.0 - probability)
    np.testing.assert_allclose(probability / 2000, weights / weights.sum(), rtol=1e-9)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 255, 257, 1024, 9_000, 70_001, 200_003])
def test_float32_numbers_are_the_kernels(n):
    for dtype in (np.float32, np.dtype("f4"), "float32"):
        g, twin = Generator(11), Generator(11)
        for _ in range(2):
            x = g.random(n, dtype=dtype)
            assert x.dtype == np.float32 and x.tobytes() == twin._random(n, dtype=np.float32).tobytes()
        assert g.state["place"] == twin.state["place"]
    assert g.random(3, np.float32).tobytes() == twin._random(3, np.float32).tobytes()
    assert g.random(None, np.float32) == twin._random(None, np.float32)
    with pytest.raises(TypeError, match="dtype must be float32 or float64, not >f4"):
        g.random(3, dtype=">f4")


@pytest.mark.parametrize("draw", [lambda g: g.lognormal(10**400), lambda g: g.beta(10**400, 2.0), lambda g: g.laplace(0, 10**400)])
def test_a_parameter_that_is_no_float_is_named(draw):
    g = Generator(1)
    with pytest.raises((OverflowError, ValueError), match="mean|a is|scale|a must|scale must"):
        draw(g)
    assert g.state["place"] == 0
