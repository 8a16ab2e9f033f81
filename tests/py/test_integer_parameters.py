"""What takes an integer does not cut a float to one: seeds and indices of random numbers, NumPy's counts, places and axes, stores into integers."""

import enum
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise.random import (
    init_xoroshiro128p_state, philox, philox_normal2_float64, philox_normal4_float32, philox_uniform_float32, philox_uniform_float64, uint64_to_unit_float64, xoroshiro128p_binomial,
    xoroshiro128p_dtype, xoroshiro128p_integers,
)

DRAWS = {
    "uniform index": (lambda x: philox_uniform_float64(1, x), "index"),
    "uniform seed": (lambda x: philox_uniform_float32(x, 1), "seed"),
    "uniform counter": (lambda x: philox_uniform_float64(1, 1, x), "counter"),
    "words": (lambda x: philox(1, x)[0], "index"),
    "normal": (lambda x: philox_normal2_float64(1, x)[0], "index"),
    "four normal numbers": (lambda x: philox_normal4_float32(x, 0)[0], "seed"),
    "unit": (lambda x: uint64_to_unit_float64(x), "x"),
}


def with_state(draw):
    """Draw with a state that is made for this."""
    def f(x):
        states = lw.local(1, xoroshiro128p_dtype)
        init_xoroshiro128p_state(states, 0, 7)
        return draw(states, x)

    return f


def seeded(x):
    init_xoroshiro128p_state(lw.local(1, xoroshiro128p_dtype), 0, x)
    return 0.0


DRAWS |= {
    "state": (seeded, "seed"),
    "low": (with_state(lambda states, x: xoroshiro128p_integers(states, 0, x, 9)), "low"),
    "high": (with_state(lambda states, x: xoroshiro128p_integers(states, 0, 0, x)), "high"),
    "trials": (with_state(lambda states, x: xoroshiro128p_binomial(states, 0, x, 0.5)), "n"),
}


@pytest.mark.parametrize("typing", ["weak", "numba"])
@pytest.mark.parametrize("dtype", [float, np.float32, np.float16])
@pytest.mark.parametrize("draw, name", DRAWS.values(), ids=DRAWS)
def test_random_functions_take_no_floats(draw, name, dtype, typing):
    f = lw.vectorize(draw, typing=typing)
    with pytest.raises(lw.errors.TypingError, match=f"E120: `{name}` needs an integer, not a float"):
        f(np.array([0.0, 0.25], dtype))
    f(np.array([0, 1], np.uint16))


def test_every_decorator_says_so():
    def draw(i):
        return philox_uniform_float64(1, i)

    def row(x, out):
        for k in range(x.shape[0]):
            out[k] = draw(x[k])

    def one(i, x, out):
        out[i] = draw(x[i])

    x, out = np.array([0.0, 0.25]), np.zeros(2)
    for call in (lambda: lw.guvectorize("(n)->(n)")(row)(x), lambda: lw.forall(one)(2, x, out), lambda: lw.jit(draw)(0.25), lambda: lw.jit(row)(x, out),
                 lambda: lw.reduce(lambda a, b: a + b, map=draw)(x), lambda: lw.vectorize(["f8(f8)"])(draw)):
        with pytest.raises(lw.errors.TypingError, match="`index` needs an integer, not a float"):
            call()
    with pytest.raises(lw.errors.TypingError, match=r"`index` needs an integer\n"):
        lw.jit(lambda x: philox(1, 1j)[0])(1)
    with pytest.raises(TypeError, match="`index` needs an integer, not float"):
        philox(1, 0.25)  # in plain Python


def test_integers_of_every_kind_are_seeds():
    class Seed(enum.IntEnum):
        FIRST = 5

    wanted = philox(5, 1)[0]
    f = lw.vectorize(lambda seed: philox(seed, 1)[0])
    for dtype in (np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64):
        assert f(dtype(5)) == wanted
    assert f(Seed.FIRST) == wanted and lw.jit(lambda: philox(Seed.FIRST, True)[0])() == wanted
    assert f(True) == f(np.bool_(True)) == philox(1, 1)[0] == philox(np.True_, 1)[0]


@pytest.mark.parametrize("seed", [-(2**63), -5, -1, 0, 2**63, 2**64 - 1])
def test_the_whole_range_of_seeds(seed):
    """Seeds are constants, Python ints, or numbers of NumPy, also in plain Python; a negative seed is the unsigned one with the same bits."""
    strong = np.int64(seed) if seed < 2**63 else np.uint64(seed)
    wanted = philox_uniform_float64(strong, 3, 2**40)
    f = lw.vectorize(lambda seed, i: philox_uniform_float64(seed, i, 2**40))
    assert lw.vectorize(lambda i: philox_uniform_float64(seed, i, 2**40))(3) == wanted
    assert lw.jit(lambda i: philox_uniform_float64(seed, i, 2**40))(3) == wanted
    assert f(strong, np.array([3]))[0] == f(strong, 3) == wanted
    assert philox_uniform_float64(seed, 3, 2**40) == philox_uniform_float64(np.uint64(seed % 2**64), 3, 2**40) == wanted
    assert lw.vectorize(lambda i: philox_uniform_float64(1, seed, i))(3) == philox_uniform_float64(1, strong, 3)
    assert lw.vectorize(lambda x: seeded_word(x, seed))(3) == seeded_word_of(strong)
    if seed < 2**63:
        assert f(seed, np.array([3]))[0] == wanted


def seeded_word(x, seed):
    states = lw.local(1, xoroshiro128p_dtype)
    init_xoroshiro128p_state(states, 0, seed)
    return states[0]["s0"]


def seeded_word_of(seed):
    states = np.zeros(1, xoroshiro128p_dtype)
    init_xoroshiro128p_state(states, 0, seed)
    return states["s0"][0]


def test_seeds_beyond_the_range():
    f = lw.vectorize(lambda seed, i: philox_uniform_float64(seed, i))
    for beside in (np.arange(3), 3, np.arange(3, dtype=np.uint8)):
        with pytest.raises(OverflowError, match=r"argument `seed`: beside the other operands, a Python int is int64 or narrower here, and 18446744073709551615 does not fit; pass np.uint64\(...\)"):
            f(2**64 - 1, beside)
    for seed in (2**64, -(2**63) - 1):
        with pytest.raises(OverflowError, match="argument `seed`: a Python int is int64 or uint64 here"):
            f(seed, np.arange(3))
        with pytest.raises(lw.errors.TypingError, match="E130"):
            lw.vectorize(lambda i: philox_uniform_float64(seed, i))(3)


A, S = np.arange(12.0), np.arange(4)
NUMPY = {
    "repeat": (lambda a, s, x: np.repeat(a, x), "repeats"),
    "repeat of an array": (lambda a, s, x: np.repeat(a, a), "repeats"),
    "repeat of a list": (lambda a, s, x: np.repeat(s, [1, 2, x, 0]), "repeats"),
    "tile": (lambda a, s, x: np.tile(a, x), "reps"),
    "tile of two": (lambda a, s, x: np.tile(a, (2, x)), "reps"),
    "tril": (lambda a, s, x: np.tril(a.reshape(3, 4), x), "k"),
    "triu": (lambda a, s, x: np.triu(a.reshape(3, 4), x), "k"),
    "rot90": (lambda a, s, x: np.rot90(a.reshape(3, 4), x), "k"),
    "take": (lambda a, s, x: np.take(a, x), "indices"),
    "method take": (lambda a, s, x: a.take(x), "indices"),
    "take of an array": (lambda a, s, x: np.take(a, a), "indices"),
    "take of a list": (lambda a, s, x: np.take(a, [1, x]), "indices"),
    "take_along_axis": (lambda a, s, x: np.take_along_axis(a, a, 0), "indices"),
    "bincount": (lambda a, s, x: np.bincount(a), "x"),
    "partition": (lambda a, s, x: np.partition(a, x), "kth"),
    "argpartition": (lambda a, s, x: np.argpartition(a, x), "kth"),
    "matrix_power": (lambda a, s, x: np.linalg.matrix_power(np.eye(2), x), "n"),
    "histogram": (lambda a, s, x: np.histogram(a, x)[0], "bins"),
    "put": (lambda a, s, x: np.put(a, x, 1.0), "ind"),
    "delete": (lambda a, s, x: np.delete(a, x), "obj"),
    "delete of an array": (lambda a, s, x: np.delete(a, a), "obj"),
    "insert": (lambda a, s, x: np.insert(a, x, 1.0), "obj"),
    "randint": (lambda a, s, x: np.random.randint(x, 10), "low"),
    "randint below": (lambda a, s, x: np.random.randint(x), "high"),
    "seed": (lambda a, s, x: np.random.seed(x), "seed"),
    "binomial": (lambda a, s, x: np.random.binomial(x, 0.5), "n"),
    "multinomial": (lambda a, s, x: np.random.multinomial(x, [0.5, 0.5]), "n"),
    "choice": (lambda a, s, x: np.random.choice(x), "a"),
}
STORES = {
    "fill": lambda a, s, x: s.fill(x),
    "fill by an array without axes": lambda a, s, x: s.fill(np.array(x)),
    "full_like": lambda a, s, x: np.full_like(s, x),
    "full_like of an array": lambda a, s, x: np.full_like(s, a[:4]),
    "put": lambda a, s, x: np.put(s, 0, x),
    "insert": lambda a, s, x: np.insert(s, 0, x),
    "insert of an array": lambda a, s, x: np.insert(s, 0, a),
}


@pytest.mark.parametrize("f, name", NUMPY.values(), ids=NUMPY)
def test_functions_of_numpy(f, name):
    for typing in "weak", "numba":
        with pytest.raises(lw.errors.TypingError, match=f"E120: `{name}` needs (an integer, not a float|integers, and the elements)"):
            lw.jit(f, typing=typing)(A.copy(), S.copy(), 1.5)


@pytest.mark.parametrize("f", STORES.values(), ids=STORES)
def test_stores_into_integers(f):
    with pytest.raises(lw.errors.TypingError, match="E142"):
        lw.jit(f)(A, S.copy(), 1.5)
    mine, of_numpy = S.copy(), S.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.array_equal(lw.jit(f, typing="numba")(A, mine, 1.5), f(A, of_numpy, 1.5)) or f(A, of_numpy, 1.5) is None
    assert np.array_equal(mine, of_numpy)  # it truncates, as numba does


def test_a_dtype_that_is_given_is_a_conversion():
    f = lw.jit(lambda s, x: (np.full(2, x, np.int64), np.full_like(s, x, dtype=np.int32), np.array([x], np.int64)))
    for made in f(S, 1.5):
        assert (made == 1).all()
    with pytest.raises(lw.errors.TypingError, match="`fill` needs a number"):
        lw.jit(lambda s: s.fill(s))(S.copy())


def test_integers_are_taken_as_before():
    f = lw.jit(lambda a, s, k: (np.repeat(a, k), np.repeat(s, s), np.repeat(a, ()).size if a.size == 0 else 0, np.tile(s, (2, k)), np.take(a, s), np.take(a, (1, 2)),
                                np.take(s, s == 3), np.bincount(s), np.delete(a, s), np.delete(a, [0, 5]), np.insert(s, k, 7), np.insert(s, [0, 1], s[:2])))
    for k in (np.int64(2), np.uint8(2), True):
        of_numpy = (np.repeat(A, k), np.repeat(S, S), 0, np.tile(S, (2, k)), np.take(A, S), np.take(A, (1, 2)), np.take(S, S == 3), np.bincount(S), np.delete(A, S), np.delete(A, [0, 5]),
                    np.insert(S, int(k), 7), np.insert(S, [0, 1], S[:2]))
        for mine, wanted in zip(f(A, S, k), of_numpy):
            assert np.array_equal(mine, wanted), k
