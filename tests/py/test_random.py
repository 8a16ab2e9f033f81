"""Random numbers: numba's states and draws bit for bit, Philox's known answers, the same
numbers on every target and launch. Seeds are fixed: nothing here fails by chance."""

from __future__ import annotations

import inspect
import math
import pickle
import re
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import random as r
from lanewise.random import Generator

from random_checks import FORMULAS, KINDS, N, bits, distance, phi, states_of

# States 0, 1, 2 and draws of state 0: numba 0.68.1 on the CPU and numba-cuda 0.30.4 on an H200 give the same.
VECTORS = {
    0: ("e220a8397b1dcdaf e220a8397b1dcdaf 12513ce25be05eb1 70d189c276ba17a4 65853d86b6ebe9b4 062a041b9acda8da",
        "c4415072f63b9b5e d7f110541cbd8ee6 ac68de60d41b5562 9d7622f1bc59ea2a 524fb1135dc9ec1d 75ab0a9b560db808",
        "3f444150 3f57f110 3f2c68de 3f1d7623 3ea49f62 3eeb5615",
        "3fe8882a0e5ec773 3feafe220a8397b1 3fe58d1bcc1a836a 3fe3aec45e378b3d 3fd493ec44d7727a 3fdd6ac2a6d5836e",
        "3eceefdc bf2aaa3a bfbaa826 bf2eca7e", "3fd9ddfb9b3bf107 bfe5554752fbcd3a bff75504b955d9e4 bfe5d94ff564bcce"),
    1: ("910a2dec89025cc1 910a2dec89025cc1 73c19a5348fc9098 6c96c932f21d71ee 0b3d0cd6ddfa7a4c d3c2c33e9b8e707a",
        "22145bd91204b982 60c88516f644812e 3b056fab69fc74dd 75dde50d5f276a45 412751ff803711f1 e3aed13b126c2177",
        "3e08516f 3ec1910a 3e6c15bf 3eebbbca 3e824ea4 3f63aed1",
        "3fc10a2dec89025c 3fd8322145bd9120 3fcd82b7d5b4fe38 3fdd77794357c9da 3fd049d47fe00dc4 3fec75da27624d84",
        "bfb93964 bfd48647 3fa2a3a7 bf8ed3c3", "bff7272c547f7da7 bffa90c8d9010593 3ff45474d7f82ed1 bff1da7849293d8e"),
    42: ("bdd732262feb6e95 bdd732262feb6e95 045a2c270718bc3b 05b3939a23e533b4 a67324e5ecccb8dc 4a81bbd6c315729e",
         "7bae644c5fd6dd2a 4adeeb991317f5b7 5d1d1b9dd0e277de 8c70b43c88a533db bd80846bb2cdf21b 9e5c9f064dbc596c",
         "3ef75cc9 3e95bdd7 3eba3a37 3f0c70b4 3f3d8084 3f1e5c9f",
         "3fdeeb991317f5b6 3fd2b7bae644c5fc 3fd74746e774389c 3fe18e16879114a6 3fe7b0108d7659be 3fe3cb93e0c9b78b",
         "bea2d3e3 bfad9fd5 bf11edbf 3f08f194", "bfd45a7c263e1332 bff5b3faa820e560 bfe23db7ebcca5b0 3fe11e32618dc051"),
    2**64 - 1: ("e4d971771b652c20 e4d971771b652c20 f06e5493d9197688 5d1905e55c940204 451fc10b7cd06b84 c2c48037ad7bec7f",
                "c9b2e2ee36ca5840 10726cb8bb8db296 792fa4ce929cbfda 5120576d7e5ca606 116d2d9034100c5b 9e255c115cd13fd2",
                "3f49b2e3 3d839366 3ef25f4a 3ea240af 3d8b696d 3f1e255c",
                "3fe9365c5dc6d94b 3fb0726cb8bb8db0 3fde4be933a4a72e 3fd44815db5f9728 3fb16d2d90341008 3fe3c4ab822b9a27",
                "3f229012 beff8615 bfdb274f bfa5bbb0", "3fe45202619f0c94 bfdff0c236eb4e8c bffb64e9d54d8281 bff4b7760963eea1"),
}
ZERO_SEED = 7046029254386353131


@lw.forall
def draw_next(i, states, out):
    out[i] = r.xoroshiro128p_next(states, 0)


@lw.forall
def draw_uniform_float32(i, states, out):
    out[i] = r.xoroshiro128p_uniform_float32(states, 0)


@lw.forall
def draw_uniform_float64(i, states, out):
    out[i] = r.xoroshiro128p_uniform_float64(states, 0)


@lw.forall
def draw_normal_float32(i, states, out):
    out[i] = r.xoroshiro128p_normal_float32(states, 0)


@lw.forall
def draw_normal_float64(i, states, out):
    out[i] = r.xoroshiro128p_normal_float64(states, 0)


def one_by_one(kernel, seed, n, dtype):
    """n draws in order from state 0, by one launch each."""
    states, out = states_of(1, seed), np.empty(n, dtype)
    for k in range(n):
        kernel(1, states, out[k:])
    return out


@pytest.mark.parametrize("seed", VECTORS)
def test_states_are_numbas(seed):
    assert bits(states_of(3, seed).view(np.uint64)) == VECTORS[seed][0]


@pytest.mark.parametrize("seed", VECTORS)
def test_draws_are_numbas(seed):
    _, words, float32, float64, normal32, normal64 = VECTORS[seed]
    assert bits(one_by_one(draw_next, seed, 6, np.uint64)) == words
    assert bits(one_by_one(draw_uniform_float32, seed, 6, np.float32)) == float32
    assert bits(one_by_one(draw_uniform_float64, seed, 6, np.float64)) == float64
    for got, expected in ((one_by_one(draw_normal_float32, seed, 4, np.float32), normal32),
                          (one_by_one(draw_normal_float64, seed, 4, np.float64), normal64)):
        kind = np.uint32 if got.dtype == np.float32 else np.uint64
        right = np.array([int(x, 16) for x in expected.split()], kind).view(got.dtype)
        np.testing.assert_allclose(got, right, rtol=3e-7)  # the logarithm is the CPU's own


@pytest.mark.parametrize("dtype, draw", [(np.float32, draw_normal_float32), (np.float64, draw_normal_float64)])
def test_normal_numbers_of_a_zero_are_infinite(dtype, draw, target):
    """They use the logarithm of a uniform number of 0, as numba's do."""
    states, out = np.zeros(1, r.xoroshiro128p_dtype), np.zeros(1, dtype)
    states["s0"], states["s1"] = 5, 2**64 - 5
    draw(1, states, out)
    assert np.isinf(out).all()


def test_states_by_doubling_are_the_jumped_ones():
    states = states_of(70000, 5)
    for i in (0, 1, 2, 3, 4095, 4096, 65535, 65536, 69999):
        assert lw._core._xoroshiro_seed(5, i) == tuple(states[i].tolist())
    np.testing.assert_array_equal(states_of(100, 5, 69900), states[69900:])
    walked = states[:1].copy()
    with np.errstate(over="ignore"):
        r.xoroshiro128p_jump(walked, 0)
    assert walked[0] == states[1]


def test_far_subsequences():
    last = lw._core._xoroshiro_seed(3, 2**64 - 1)
    one_more = states_of(1, 3)
    walked = np.array([last], np.uint64).view(r.xoroshiro128p_dtype).reshape(1)
    with np.errstate(over="ignore"):
        r.xoroshiro128p_jump(walked, 0)  # 2**64 jumps of 2**64 steps: one step of the seed's state
        r.xoroshiro128p_next(one_more, 0)
    assert walked[0] == one_more[0]


def test_the_zero_seed_gives_another_state():
    state = states_of(1, ZERO_SEED)[0]
    assert state["s0"] != 0
    host = np.empty(1, r.xoroshiro128p_dtype)
    with np.errstate(over="ignore"):
        r.init_xoroshiro128p_state(host, 0, np.uint64(ZERO_SEED))
    assert host[0] == state


@pytest.mark.parametrize("seed, problem", [(1.5, TypeError), (None, TypeError), ("1", TypeError), (True, TypeError),
                                           (math.nan, TypeError), (2**64, ValueError), (-2**63 - 1, ValueError)])
def test_bad_seeds(seed, problem):
    with pytest.raises(problem, match="seed must be"):
        states_of(1, seed)


def test_seeds_are_words():
    np.testing.assert_array_equal(states_of(2, -1), states_of(2, 2**64 - 1))


@pytest.mark.parametrize("n, start, problem", [(-1, 0, ValueError), (2.0, 0, TypeError), (1, -1, ValueError), (1, 0.5, TypeError)])
def test_bad_counts(n, start, problem):
    with lw.config(target="cpu"), pytest.raises(problem):
        r.create_xoroshiro128p_states(n, 1, start)


def test_wrong_arrays():
    with pytest.raises(TypeError, match="xoroshiro128p_dtype"):
        r.init_xoroshiro128p_states(np.empty(3), 1)
    strided = np.zeros(6, r.xoroshiro128p_dtype)
    r.init_xoroshiro128p_states(strided[::2], 9)
    np.testing.assert_array_equal(strided[::2], states_of(3, 9))


def test_uniform_float32_is_never_one():
    top = np.array([2**64 - 1, 2**64 - 2**39, 2**64 - 2**40], np.uint64)

    @lw.vectorize
    def to_unit(x):
        return r.uint64_to_unit_float32(x)

    assert to_unit(top).max() == np.float32(1 - 2.0**-24)


def test_uniform_float32_rounds_53_bits():
    """As in numba, the upper 53 bits are rounded once; the lower 11 bits break no tie."""
    @lw.vectorize
    def to_unit(x):
        return r.uint64_to_unit_float32(x)

    ties = [(1 << 63) | (1 << 39) | low for low in (0, 1, 0x7FF, 0x800)] + [3 << 38 | 0x7FF, 0x7FF, 0x800, 0, 5]
    x = np.concatenate([np.array(ties, np.uint64), np.random.default_rng(1).integers(0, 2**64, 100_000, np.uint64)])
    wanted = (x >> np.uint64(11)).astype(np.float32) * np.float32(2.0**-53)
    np.testing.assert_array_equal(to_unit(x), np.minimum(wanted, np.float32(1 - 2.0**-24)))


@lw.forall
def points_inside(i, states, n, out):
    inside = 0
    for _ in range(n):
        x = r.xoroshiro128p_uniform_float32(states, i)
        y = r.xoroshiro128p_uniform_float32(states, i)
        inside += x * x + y * y <= 1
    out[i] = inside


def test_states_stay_in_registers():
    """They are written back once, after the loop."""
    out = np.zeros(4, np.int64)
    points_inside(4, states_of(4, 1), 100, out)
    try:
        ptx = points_inside.inspect_ptx(target="sm_90")
    except lw.errors.CompilerNotFound as problem:
        pytest.skip(str(problem).splitlines()[0])
    text = ptx if isinstance(ptx, str) else next(iter(ptx.values()))
    stores = [m.start() for m in re.finditer(r"st\.global\.v2\.[ub]64", text)]
    assert "lop3.b32" in text and "and.b64" in text
    assert len(stores) == 1 and "bra" not in text[stores[0] : text.index("st.global", stores[0] + 9)].split("\n", 2)[1]


# ---- philox ----


@lw.vectorize
def words(seed, index, counter):
    return r.philox(seed, index, counter)


@pytest.mark.parametrize("counter, key, expected", [  # Random123's kat_vectors
    ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ((2**32 - 1,) * 4, (2**32 - 1,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0), "d16cfe09 94fdcceb 5001e420 24126ea1"),
])
def test_philox_known_answers(counter, key, expected):
    c0, c1, c2, c3 = counter
    got = words(np.uint64(key[0] | key[1] << 32), np.uint64(c2 | c3 << 32), np.uint64(c0 | c1 << 32))
    assert " ".join(f"{int(x):08x}" for x in got) == expected


WEIGHTS = r.alias_table([1.0, 0.0, 3.0])


def all_draws(i, k):
    """One number that depends on all draws, from a state of the call's own and without one."""
    state = lw.local(1, r.xoroshiro128p_dtype)
    r.init_xoroshiro128p_state(state, 0, i)
    a, b = r.xoroshiro128p_normal2_float32(state, 0)
    c, d = r.xoroshiro128p_normal2_float64(state, 0)
    total = a + 2 * b + 3 * c + 5 * d + r.xoroshiro128p_exponential_float32(state, 0) + r.xoroshiro128p_exponential_float64(state, 0)
    total += r.xoroshiro128p_integers(state, 0, -5, 6) + r.xoroshiro128p_gamma_float64(state, 0, 1.5) + r.xoroshiro128p_poisson(state, 0, 20.0)
    total += r.xoroshiro128p_binomial(state, 0, 50, 0.4) + 7 * r.xoroshiro128p_choice(state, 0, WEIGHTS[0], WEIGHTS[1])
    a, b, e, f = r.philox_normal4_float32(3, i, k)
    c, d = r.philox_normal2_float64(3, i, k)
    return total + a + 2 * b + 3 * c + 5 * d + 7 * e + 9 * f + r.philox_uniform_float32(3, i, k) + 2 * r.philox_uniform_float64(3, i, k)


def test_draws_in_every_kind_of_function():
    results = np.zeros((3, 16))

    @lw.vectorize
    def ufunc(i, k):
        return all_draws(i, k)

    @lw.guvectorize("(n),()->(n)")
    def gufunc(x, k, out):
        for j in range(len(x)):
            out[j] = all_draws(x[j], k)

    @lw.forall
    def each(i, k, out):
        out[i] = all_draws(i, k)

    @lw.cuda.jit
    def kernel(k, out):
        i = lw.cuda.grid(1)
        out[i] = all_draws(i, k)

    with lw.config(target="cpu"):
        expected = ufunc(np.arange(16), 2)
        results[0] = gufunc(np.arange(16), 2)
        each(16, 2, results[1])
        kernel[2, 8](2, results[2])
    assert len(set(expected)) == 16 and (results == expected).all()


def test_stateless_normals():
    @lw.forall
    def fill(i, single, double):
        single[i, 0], single[i, 1], single[i, 2], single[i, 3] = r.philox_normal4_float32(5, i, 1)
        double[i, 0], double[i, 1] = r.philox_normal2_float64(5, i, 1)

    single, double = np.zeros((N // 4, 4), np.float32), np.zeros((N // 2, 2))
    fill(N // 4, single, double)
    fill(N // 2, np.zeros((N // 2, 4), np.float32), double)
    for x in (single, double):
        assert distance(x.ravel(), phi) < 1.9 and np.abs(np.corrcoef(x.T) - np.eye(x.shape[1])).max() < 0.05


# ---- streams ----


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_do_not_depend_on_threads_or_layout(kind):
    expected = Generator(3, kind).standard_normal(200001, np.float32)
    out = np.empty((200001, 2), np.float32)[:, 0]
    assert Generator(3, kind).standard_normal(out=out, dtype=np.float32) is out
    np.testing.assert_array_equal(out, expected)
    with lw.config(threads=1):
        np.testing.assert_array_equal(Generator(3, kind).standard_normal(200001, np.float32), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_state_is_saved_and_restored(kind):
    g = Generator(4, kind)
    g.random(1000)
    saved, clone = g.state, pickle.loads(pickle.dumps(g))
    following = g.random(1000)
    np.testing.assert_array_equal(clone.random(1000), following)
    g.state = saved
    np.testing.assert_array_equal(g.random(1000), following)


@pytest.mark.parametrize("kind", KINDS)
def test_streams_differ(kind):
    g = Generator(4, kind)
    streams = [g, g.jumped(), g.jumped(2), *g.spawn(2), Generator(5, kind)]
    firsts = [tuple(s.random(4)) for s in streams]
    assert len(set(firsts)) == len(firsts)
    assert tuple(g.random(4)) not in firsts


def test_blocks_of_a_stream_join():
    whole = Generator(1).random(4000, np.float32)
    g = Generator(1)
    np.testing.assert_array_equal(np.concatenate([g.random(1000, np.float32) for _ in range(4)]), whole)


def test_blocks_join_where_the_lower_word_of_the_counter_ends():
    def near(place):
        g = Generator(1)
        g.state = g.state | {"place": place}
        return g

    whole = near(2**32 - 100).random(1000, np.float32)
    np.testing.assert_array_equal(near(2**32 - 50).random(800, np.float32), whole[200:])
    np.testing.assert_array_equal(near(2**32).random(600, np.float32), whole[400:])
    assert not (near(0).random(600, np.float32) == whole[400:]).all()


def test_dask_blocks():
    da = pytest.importorskip("dask.array")
    children = Generator(1).spawn(3)
    lazy = da.concatenate([da.from_delayed(__import__("dask").delayed(child.standard_normal)(100), (100,), np.float64) for child in children])
    np.testing.assert_array_equal(lazy.compute(), np.concatenate([c.standard_normal(100) for c in Generator(1).spawn(3)]))


def test_scalars_and_shapes():
    g = Generator(1)
    assert isinstance(g.random(), float) and g.random((2, 3)).shape == (2, 3) and g.random(0).size == 0
    assert isinstance(g.integers(5), np.int64) and type(g.integers(0, 2**32, dtype=np.uint32)) is np.uint32
    numpys = np.random.default_rng(1)
    for name, arguments in (("random", ()), ("random", (None, np.float32)), ("standard_normal", ()), ("normal", (1.0, 2.0)), ("uniform", (1, 2)),
                            ("exponential", ()), ("gamma", (2.0,)), ("poisson", (3.0,)), ("binomial", (3, 0.5)), ("geometric", (0.5,)),
                            ("beta", (1.0, 2.0)), ("lognormal", ()), ("integers", (3,)), ("choice", (3,)), ("choice", ([1, 2],)), ("choice", (["a", "b"],))):
        assert type(getattr(g, name)(*arguments)) is type(getattr(numpys, name)(*arguments)), name


def test_what_numpy_takes_too():
    from decimal import Decimal
    from fractions import Fraction

    g = Generator(1)
    assert g.random(np.array([2, 3])).shape == (2, 3) and g.integers([], 5).shape == (0,) and g.dirichlet([2.0]).tolist() == [1.0]
    assert Generator(1).normal(Decimal(1), Fraction(1, 2)) == Generator(1).normal(1.0, 0.5)
    assert g.poisson(3, 3, np.uint8).dtype == np.uint8 and g.binomial(127, 0.5, dtype=np.int8) <= 127 and g.geometric(0.9, dtype=np.int8) < 128


def test_out_of_other_kinds_of_arrays():
    expected = Generator(1).random((3, 4))
    for out in (np.zeros((3, 4)).view(np.matrix), np.zeros((3, 4)).view(np.recarray), np.zeros((3, 4), order="F"), np.zeros((6, 8))[::-2, ::2]):
        assert Generator(1).random(out=out) is out
        np.testing.assert_array_equal(np.asarray(out), expected)
    matrix = np.arange(12.0).reshape(3, 4).view(np.matrix)
    Generator(1).shuffle(matrix)
    assert sorted(matrix[:, 0].A1) == [0, 4, 8] and Generator(1).gamma(2.0, out=matrix) is matrix


@pytest.mark.parametrize("call, problem, text", [
    (lambda g: g.random(3, np.int32), TypeError, "dtype must be float32 or float64"),
    (lambda g: g.random(-1), ValueError, "size must not be negative"),
    (lambda g: g.random(np.array([[2]])), TypeError, "size must be an int or a tuple of ints"),
    (lambda g: g.random(foo=1), TypeError, r"Generator.random\(\) got an unexpected keyword argument 'foo'"),
    (lambda g: g.uniform(5, 1), ValueError, "high - low < 0: high must be at least low"),
    (lambda g: g.uniform([5, 1], 3), ValueError, "high - low < 0"),
    (lambda g: g.gamma(math.inf), ValueError, "shape < 0 or shape is infinite: shape must be at least 0 and finite, not inf"),
    (lambda g: g.standard_gamma([1, math.inf]), ValueError, "shape is infinite"),
    (lambda g: g.chisquare(math.inf), ValueError, "df is infinite: df must be above 0 and finite"),
    (lambda g: g.standard_t(math.inf), ValueError, "df is infinite"),
    (lambda g: g.f(2, math.inf), ValueError, "dfden is infinite"),
    (lambda g: g.beta(math.inf, 2), ValueError, "a is infinite"),
    (lambda g: g.dirichlet([math.inf, 2]), ValueError, "alpha is infinite"),
    (lambda g: g.negative_binomial(math.inf, 0.5), ValueError, "n is infinite"),
    (lambda g: g.multinomial(3, []), ValueError, "pvals must be one-dimensional and not empty"),
    (lambda g: g.poisson(1000, dtype=np.int8), ValueError, "lam is too large for numbers of int8: take a wider dtype"),
    (lambda g: g.binomial([3, 40000], 0.5, dtype=np.int16), ValueError, "n is too large for numbers of int16"),
    (lambda g: g.geometric(1e-3, out=np.empty(3, np.uint8)), ValueError, "1 / p is too large for numbers of uint8"),
    (lambda g: g.negative_binomial(3, 1e-6, 4, np.uint16), ValueError, r"n \* \(1 - p\) / p is too large for numbers of uint16"),
    (lambda g: g.normal(10**400), OverflowError, "loc is too large for a float"),
    (lambda g: g.permutation(np.arange(3), 2), np.exceptions.AxisError, "axis must be from -1 to 0, not 2"),
    (lambda g: g.permuted(5), TypeError, "x must be an array with a dimension"),
    (lambda g: g.choice(np.array(5.0)), ValueError, "a must be an int or an array with a dimension, not ndarray of float64"),
    (lambda g: g.random(2.5), TypeError, "size must be an int"),
    (lambda g: g.random(3, out=np.empty(4)), ValueError, "out has shape"),
    (lambda g: g.random(out=[1.0]), TypeError, "out must be a NumPy or device array, not list"),
    (lambda g: g.random(out=np.empty(3, int)), TypeError, "out.dtype must be float32 or float64, not int64"),
    (lambda g: g.random(3, np.float64, np.empty(3, np.float32)), TypeError, "out must have the dtype float64, not float32"),
    (lambda g: g.random(3, stream="x"), TypeError, "stream: expected a stream"),
    (lambda g: g.uniform(0, math.inf), OverflowError, "high - low must be a finite number"),
    (lambda g: g.integers(0, 3, dtype=bool), ValueError, "within bool"),
    (lambda g: g.integers(np.array([1.5, 2]), 5), TypeError, "low must be an int or an array of ints, not ndarray of float64"),
    (lambda g: g.integers([1, 2], 2), ValueError, "low >= high"),
    (lambda g: g.integers([1, 2], [3, 300], dtype=np.uint8), ValueError, "high is out of bounds for uint8: it must be at most 256, not 300"),
    (lambda g: g.integers([-1, 2], 5, dtype=np.uint8), ValueError, "low is out of bounds for uint8"),
    (lambda g: g.normal([0, math.nan]), ValueError, "loc must be a number, not nan"),
    (lambda g: g.normal(0, [1, -2.5]), ValueError, "scale < 0: scale must be at least 0, not -2.5"),
    (lambda g: g.normal([1, 2], [1, 2, 3]), ValueError, "cannot be broadcast together"),
    (lambda g: g.normal([1, 2], 1, 3), ValueError, r"Output size \(3,\) is not compatible with broadcast dimensions of inputs \(2,\)"),
    (lambda g: g.normal([1, 2], out=np.empty((2, 3))), ValueError, "not compatible"),
    (lambda g: g.normal("a"), TypeError, "loc must be a number or an array of numbers, not str"),
    (lambda g: g.normal(1j), TypeError, "loc must be a number or an array of numbers, not complex"),
    (lambda g: g.normal([[1], [1, 2]]), TypeError, "loc must be a number or an array of numbers, not a ragged list"),
    (lambda g: g.poisson([1, -1]), ValueError, "lam < 0, lam too large or lam is NaN: lam must be from 0 to 1e[+]15, not -1.0"),
    (lambda g: g.binomial([5, -1], 0.5), ValueError, "n < 0 or n too large"),
    (lambda g: g.binomial(5, [0.5, 2]), ValueError, "p < 0, p > 1 or p is NaN"),
    (lambda g: g.binomial(2.5, 0.5), TypeError, "n must be an int or an array of ints, not float"),
    (lambda g: g.pareto(0), ValueError, "a <= 0: a must be above 0"),
    (lambda g: g.geometric(0), ValueError, "p <= 0, p > 1 or p contains NaNs"),
    (lambda g: g.triangular(0, 2, 1), ValueError, "mode > right"),
    (lambda g: g.triangular(1, 1, 1), ValueError, "left == right"),
    (lambda g: g.multinomial(3, [0.6, 0.6, 0.1]), ValueError, "pvals"),
    (lambda g: g.dirichlet([1, -1]), ValueError, "alpha < 0"),
    (lambda g: g.dirichlet([0, 0]), ValueError, "alpha must have an element above 0"),
    (lambda g: g.choice(3, 3, replace=False, p=[0.5, 0.5, 0]), ValueError, "fewer non-zero entries in p than size"),
    (lambda g: g.choice(3, axis=1), ValueError, "axis must be from -1 to 0, not 1"),
    (lambda g: g.shuffle((1, 2)), TypeError, "x must be a NumPy or device array, or a mutable sequence, not tuple"),
    (lambda g: g.bytes(-1), ValueError, "length must not be negative"),
    (lambda g: g.lognormal(size=3, dtype=int), TypeError, "dtype must be float32 or float64"),
    (lambda g: g.geometric(0.5, 3, float), TypeError, "dtype must be an integer type"),
    (lambda g: g.choice(0, 3), ValueError, "a must be a positive int"),
    (lambda g: g.choice([], 3), ValueError, "a must be a positive int"),
    (lambda g: g.choice(2, p=[0.5, 0.6]), ValueError, "p must have the sum 1, not 1.1"),
    (lambda g: g.spawn(-1), ValueError, "n_children must not be negative"),
    (lambda g: Generator("a"), TypeError, "seed must be None, an int, ints or a SeedSequence, not str"),
    (lambda g: Generator(np.random.PCG64(1)), TypeError, "seed must be .* not PCG64"),
    (lambda g: Generator(-1), ValueError, "seed must not be negative, not -1"),
    (lambda g: g.normal(0, -1), ValueError, "scale must be at least 0"),
    (lambda g: g.poisson(-1), ValueError, "lam must be"),
    (lambda g: g.poisson(math.nan), ValueError, "lam must be"),
    (lambda g: g.binomial(-1, 0.5), ValueError, "n must be"),
    (lambda g: g.binomial(1, 1.5), ValueError, "p must be"),
    (lambda g: g.integers(5, 5), ValueError, "low below high"),
    (lambda g: g.integers(0, 300, dtype=np.uint8), ValueError, "within uint8"),
    (lambda g: g.integers(0, 3, dtype=np.float32), TypeError, "integer type"),
    (lambda g: g.choice(3, 4, replace=False), ValueError, "cannot take 4"),
    (lambda g: g.choice(3, p=[0.5, 0.5]), ValueError, "3 elements"),
    (lambda g: g.choice(2, p=[-1, 2]), ValueError, "p must be from 0 to 1, not -1"),
    (lambda g: Generator(1.5), TypeError, "seed must be"),
    (lambda g: Generator(1, "mt19937"), ValueError, "philox"),
])
def test_bad_arguments(call, problem, text):
    with pytest.raises(problem, match=text):
        call(Generator(1))


# ---- on the GPU ----


@pytest.fixture
def gpu():
    if not lw.cuda.is_available():
        pytest.skip("no CUDA device")


@pytest.mark.gpu
@pytest.mark.parametrize("n", [0, 1, 2, 3, 1000, 1 << 20, 2_000_003])
def test_states_are_made_on_the_device(gpu, n):
    states = r.create_xoroshiro128p_states(n, 42, 7)
    np.testing.assert_array_equal(states.copy_to_host(), states_of(n, 42, 7))


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_numbers_on_both(gpu, kind):
    def all_of(g):
        return [g.random(5001, np.float32), g.random(5001), g.standard_normal(5001, np.float32), g.standard_normal(5001),
                g.exponential(2.0, 5001, np.float32), g.exponential(2.0, 5001), g.integers(10, size=5001),
                g.integers(0, 2**40, 5001), g.gamma(0.5, 2.0, 5001), g.gamma(4.0, 2.0, 5001), g.poisson(3.0, 5001),
                g.poisson(50.0, 5001), g.binomial(20, 0.3, 5001), g.binomial(1000, 0.6, 5001), g.uniform(-1, 1, 5001),
                *[getattr(g, name)(*parameters, 5001) for name, parameters in FORMULAS], g.geometric(0.1, 5001),
                g.negative_binomial(3.5, 0.2, 5001), g.dirichlet([0.1, 1.0, 3.0], 777), g.normal(np.arange(5001.0), 2.0, dtype=np.float32),
                g.normal(np.arange(5001.0), 2.0), g.poisson(np.arange(5001) / 90), g.binomial(np.arange(5001), 0.3),
                g.gamma(np.arange(5001) / 99, 2.0), g.integers(0, np.arange(1, 5002) ** 4)]

    for ours, theirs in zip(all_of(Generator(1, kind, "cpu")), all_of(Generator(1, kind, "cuda"))):
        np.testing.assert_array_equal(theirs.copy_to_host(), ours)


@pytest.mark.gpu
@pytest.mark.parametrize("seed", VECTORS)
def test_draws_on_the_device_are_numbas(gpu, seed):
    @lw.forall
    def draw(i, states, words, singles, doubles, normals):
        words[0] = r.xoroshiro128p_next(states, 0)
        singles[0] = r.xoroshiro128p_uniform_float32(states, 1)
        doubles[0] = r.xoroshiro128p_uniform_float64(states, 2)
        normals[0] = r.xoroshiro128p_normal_float32(states, 3)

    first = states_of(1, seed)
    states = lw.cuda.to_device(np.repeat(first, 4))
    got = [[], [], [], []]
    arrays = [lw.cuda.device_array(1, t) for t in (np.uint64, np.float32, np.float64, np.float32)]
    for _ in range(4):
        draw(1, states, *arrays)
        for values, array in zip(got, arrays):
            values.append(bits(array.copy_to_host()))
    _, words_, float32, float64, _, _ = VECTORS[seed]
    assert got[0] == words_.split()[:4] and got[1] == float32.split()[:4] and got[2] == float64.split()[:4]
    gpu_normals = {0: "3eceefdc bf2aaa3b bfbaa826 bf2eca7f", 1: "bfb93964 bfd48647 3fa2a3a7 bf8ed3c3",
                   42: "bea2d3e3 bfad9fd5 bf11edbf 3f08f194", 2**64 - 1: "3f229013 beff8613 bfdb2750 bfa5bbb0"}
    assert got[3] == gpu_normals[seed].split()


@pytest.mark.parametrize("keywords", [{"debug": True}, {"check": {"overflow", "divide", "bounds"}}])
def test_numbers_are_the_same_with_checks(keywords):
    """Their words wrap on purpose; the sums of the caller are still checked."""
    def draw(i, states, out):
        out[i, 0] = r.xoroshiro128p_uniform_float64(states, i)
        out[i, 1] = r.xoroshiro128p_normal_float64(states, i)
        out[i, 2] = r.xoroshiro128p_integers(states, i, 0, 10**18)
        out[i, 3] = r.xoroshiro128p_gamma_float64(states, i, 0.5)
        out[i, 4] = r.xoroshiro128p_poisson(states, i, 40.0)
        out[i, 5] = r.philox(7, i, 2**63)[0]
        r.xoroshiro128p_jump(states, i)

    plain, checked = np.zeros((8, 6)), np.zeros((8, 6))
    lw.forall(draw)(8, states_of(8, 5), plain)
    lw.forall(**keywords)(draw)(8, states_of(8, 5), checked)
    assert (plain == checked).all() and (plain != 0).all()

    def own(i, states, out):
        out[i] = r.xoroshiro128p_next(states, i) * np.uint64(2**63 + 3)

    with pytest.raises(OverflowError, match="raised in `own`"):
        lw.forall(**keywords)(own)(8, states_of(8, 5), np.zeros(8, np.uint64))


def test_default_rng():
    generator = lw.random.Generator(5)
    assert lw.random.default_rng(generator) is generator
    assert lw.random.default_rng(3).random(4).tolist() == lw.random.Generator(3).random(4).tolist()
    assert lw.random.default_rng().random() != lw.random.default_rng().random()
    for other in (np.random.default_rng(1), np.random.PCG64(1), np.random.RandomState(1)):
        with pytest.raises(TypeError, match="seed must be an int, a SeedSequence or a lanewise.random.Generator, not NumPy's"):
            lw.random.default_rng(other)


def test_results_lie_where_parameters_do(cpu):
    """A stand-in for a device array makes the result a stand-in, too, as on a GPU."""
    p = lw.cuda.to_device(np.array([0.5, 1.0, 2.0]))
    for draw in (lambda g, v: g.normal(v), lambda g, v: g.uniform(v, 3), lambda g, v: g.poisson(v), lambda g, v: g.gamma(v), lambda g, v: g.laplace(0, v), lambda g, v: g.binomial(5, v / 2), lambda g, v: g.normal(v, size=(2, 3))):
        got, want = draw(Generator(5), p), draw(Generator(5), p.copy_to_host())
        assert isinstance(got, lw.cuda.DeviceArray) and type(want) is np.ndarray and np.array_equal(got.copy_to_host(), want)
    assert type(Generator(5, target="cpu").normal(p)) is np.ndarray


def test_plain_python_draws_without_warnings():
    """Integers of uint32 and uint64 wrap around, which NumPy's scalars would warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in (0, 3, 2**64 - 1):
            assert r.philox(seed, 5, 7) == tuple(words(np.uint64(seed), np.uint64(5), np.uint64(7)))
            assert 0.0 <= r.philox_uniform_float32(seed, 1, 2) < 1.0 and 0.0 <= r.philox_uniform_float64(seed, 1, 2) < 1.0
        states = r.create_xoroshiro128p_states(3, 1)
        for name in ("next", "jump", "uniform_float32", "uniform_float64", "normal_float32", "exponential_float32"):
            getattr(r, "xoroshiro128p_" + name)(states, 1)
        r.xoroshiro128p_integers(states, 1, 0, 7)
        r.xoroshiro128p_choice(states, 1, *r.alias_table([1.0, 2.0]))


def test_wrapped_functions_are_what_they_were():
    assert r.philox.__name__ == "philox" and list(inspect.signature(r.philox).parameters) == ["seed", "index", "counter"]
    assert pickle.loads(pickle.dumps(r.philox)) is r.philox
    assert lw.vectorize(r.philox_uniform_float64)(3, 1, 2) == r.philox_uniform_float64(3, 1, 2)
