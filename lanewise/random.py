"""Random numbers as whole arrays, and inside compiled functions.

There are three ways to draw them:

* `Generator` returns whole arrays, like `numpy.random.Generator`; the numbers are the same on CPU and GPU.
* `philox` and its relatives compute random numbers from a seed, an index and a counter, without a state.
* The ``xoroshiro128p_*`` functions draw from states made by `create_xoroshiro128p_states`, one for each thread. They have the
  interface of ``numba.cuda.random``, and the same bits.

    >>> import numpy as np, lanewise as lw
    >>> from lanewise.random import Generator
    >>> Generator(1).random(3).dtype
    dtype('float64')

The ``xoroshiro128p_*`` functions, `philox` and ``philox_*`` can be called in every function that lanewise compiles. Uniform numbers
are in [0, 1) and never 1.0.

The lowest bits of `xoroshiro128p_next` have a known weakness: they are linear, and fail tests of matrix rank and
linear complexity (Lemire and O'Neill, 2019). All functions here use the highest bits, and so should you.
"""

from __future__ import annotations

import functools
import math
import types

import numpy as np

from lanewise import _core
from lanewise.errors import TypingError

__all__ = [
    "Generator", "alias_table", "create_xoroshiro128p_states", "default_rng", "init_xoroshiro128p_state",
    "init_xoroshiro128p_states", "init_xoroshiro128p_states_cpu", "philox", "philox_normal2_float64",
    "philox_normal4_float32", "philox_uniform_float32", "philox_uniform_float64", "uint64_to_unit_float32", "uint64_to_unit_float64",
    "xoroshiro128p_binomial", "xoroshiro128p_choice", "xoroshiro128p_dtype",
    "xoroshiro128p_exponential_float32", "xoroshiro128p_exponential_float64",
    "xoroshiro128p_gamma_float32", "xoroshiro128p_gamma_float64", "xoroshiro128p_integers",
    "xoroshiro128p_jump", "xoroshiro128p_next", "xoroshiro128p_normal2_float32",
    "xoroshiro128p_normal2_float64", "xoroshiro128p_normal_float32",
    "xoroshiro128p_normal_float64", "xoroshiro128p_poisson", "xoroshiro128p_type",
    "xoroshiro128p_uniform2_float32", "xoroshiro128p_uniform_float32", "xoroshiro128p_uniform_float64",
]

#: A state: two 64-bit words, 16 bytes, aligned to 8; numba's layout.
xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
xoroshiro128p_type = xoroshiro128p_dtype

_TWO_PI = 2.0 * math.pi
_TWO_PI_F32 = np.float32(2.0 * math.pi)
_FACTORIALS = tuple(float(math.factorial(i)) for i in range(13))
_sqrt_normal = _core.intrinsics.cuda.sqrt_normal
_log_normal = _core.intrinsics.cuda.log_normal
# Coefficients of the float64 polynomials below, the first those of the highest powers; kernels may pass them as parameters.
_LOG = (-2.0 * 1.479819860511658591e-01, -2.0 * 1.531383769920937332e-01, -2.0 * 1.818357216161805012e-01, -2.0 * 2.222219843214978396e-01,
        -2.0 * 2.857142874366239149e-01, -2.0 * 3.999999999940941908e-01, -2.0 * 6.666666666666735130e-01,
        -2.0 * 1.90821492927058770002e-10, 2.0 * 6.93147180369123816490e-01)
_SINE = (1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06, -1.98412698298579493134e-04,
         8.33333333332248946124e-03, -1.66666666666666324348e-01, math.pi / 2**65)
_COSINE = (-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07, 2.48015872894767294178e-05,
           -1.38888888888741095749e-03, 4.16666666666666019037e-02)
_div_normal = _core.intrinsics.cuda.div_normal
_fma = _core.intrinsics.cuda.fma
_BELOW_ONE_F32 = np.float32(1.0 - 2.0**-24)


# ---- xoroshiro128+ : numba.cuda.random's functions ----


def _check_states(states):
    if isinstance(states, np.ndarray) and (states.dtype != xoroshiro128p_dtype or states.ndim != 1):
        raise TypeError("states must be an array of xoroshiro128p_dtype with one dimension, such as create_xoroshiro128p_states() returns")


def xoroshiro128p_next(states, index):
    """Return the next 64 random bits of ``states[index]``, a uint64, and advance the state by one step.

    Source: Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators", in the form of
    2016 (rotations 55, 14, 36), which numba uses, too.

    Functions of `vectorize` and `guvectorize` receive an array of states as an ``excluded=`` parameter, or make a state of their own:

    >>> from lanewise.random import init_xoroshiro128p_state, xoroshiro128p_dtype, xoroshiro128p_next
    >>> @lw.vectorize
    ... def first_word(seed):
    ...     state = lw.local(1, xoroshiro128p_dtype)
    ...     init_xoroshiro128p_state(state, 0, seed)
    ...     return xoroshiro128p_next(state, 0)
    >>> hex(first_word(0))
    '0xc4415072f63b9b5e'
    """
    _check_states(states)
    s0 = states[index]["s0"]
    s1 = states[index]["s1"]
    result = s0 + s1
    s1 = s1 ^ s0
    states[index]["s0"] = ((s0 << np.uint64(55)) | (s0 >> np.uint64(9))) ^ (s1 << np.uint64(14)) ^ s1
    states[index]["s1"] = (s1 << np.uint64(36)) | (s1 >> np.uint64(28))
    return result


def xoroshiro128p_jump(states, index):
    """Advance ``states[index]`` by 2**64 steps, to the subsequence of the next state."""
    _check_states(states)
    low = np.uint64(0)
    high = np.uint64(0)
    for word in (np.uint64(0xBEAC0467EBA5FACB), np.uint64(0xD86B048B86AA9922)):
        for bit in range(64):
            if (word >> np.uint64(bit)) & np.uint64(1):
                low ^= states[index]["s0"]
                high ^= states[index]["s1"]
            xoroshiro128p_next(states, index)
    states[index]["s0"] = low
    states[index]["s1"] = high


def init_xoroshiro128p_state(states, index, seed):
    """Seed ``states[index]``. As in numba, both words of the state are the first output of SplitMix64.

    For the seed 7046029254386353131, this output is zero, and the next one is used, because a state of zeros would stay zero
    for ever.
    """
    _check_states(states)
    z = _word(seed, "seed") + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    if z == np.uint64(0):
        z = np.uint64(0xE220A8397B1DCDAF)
    states[index]["s0"] = z
    states[index]["s1"] = z


def uint64_to_unit_float64(x):
    """The top 53 bits of a uint64 as a float64 in [0, 1)."""
    return np.float64(_word(x, "x") >> np.uint64(11)) * (1.0 / 9007199254740992.0)


def uint64_to_unit_float32(x):
    """The top 53 bits of a uint64, rounded to a float32 in [0, 1).

    numba's bits, except that where rounding gives 1.0 (once in 2**25) this gives 1 - 2**-24.
    """
    y = np.float32(_word(x, "x") >> np.uint64(11)) * np.float32(1.0 / 9007199254740992.0)
    return min(y, _BELOW_ONE_F32)


def xoroshiro128p_uniform_float32(states, index):
    """A float32 in [0, 1) from ``states[index]``; never 1.0."""
    return uint64_to_unit_float32(xoroshiro128p_next(states, index))


def xoroshiro128p_uniform2_float32(states, index):
    """Two float32 in [0, 1) with 24 random bits each, from one step of ``states[index]``: half the work of two calls.

    They are made of the upper 24 bits of the two halves of `xoroshiro128p_next`.

    >>> from lanewise.random import create_xoroshiro128p_states, xoroshiro128p_uniform2_float32
    >>> @lw.forall
    ... def points(i, states, out):
    ...     out[i, 0], out[i, 1] = xoroshiro128p_uniform2_float32(states, i)
    >>> out = np.empty((1000, 2), np.float32)
    >>> with lw.config(target="cpu"):
    ...     points(1000, create_xoroshiro128p_states(1000, seed=1), out)
    >>> bool(abs(out.mean() - 0.5) < 0.05)
    True
    """
    x = xoroshiro128p_next(states, index)
    # converted as 64 bits: a GPU does that in a unit which a step of the generator leaves free
    scale = np.float32(2.0**-24)
    return np.float32(x >> np.uint64(40)) * scale, np.float32((x & np.uint64(0xFFFFFFFF)) >> np.uint64(8)) * scale


def xoroshiro128p_uniform_float64(states, index):
    """A float64 in [0, 1) with 53 random bits from ``states[index]``."""
    return uint64_to_unit_float64(xoroshiro128p_next(states, index))


def xoroshiro128p_normal_float32(states, index):
    """A standard normal float32 from ``states[index]``, as numba draws it.

    Box and Muller's cosine of two float32 uniform numbers; the sine is thrown away. For half the
    cost a number, use `xoroshiro128p_normal2_float32`.
    """
    u1 = xoroshiro128p_uniform_float32(states, index)
    x = xoroshiro128p_next(states, index)
    angle = np.float32(x >> np.uint64(11)) * (_TWO_PI_F32 * np.float32(2.0**-53))
    radius = _sqrt_normal(np.float32(-2.0) * _log_normal(u1))
    return (radius if u1 != np.float32(0.0) else np.float32(math.inf)) * math.cos(angle)


def xoroshiro128p_normal_float64(states, index):
    """A standard normal float64 from ``states[index]``, as numba draws it.

    It is computed from float32 numbers, so it is only as accurate as a float32. `xoroshiro128p_normal2_float64` is more accurate.
    """
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    radius = _sqrt_normal(-2.0 * np.float64(_log_normal(u1)))
    return (radius if u1 != np.float32(0.0) else math.inf) * math.cos(_TWO_PI * np.float64(u2))


# ---- xoroshiro128+ : our own ----


def xoroshiro128p_normal2_float32(states, index):
    """Two independent standard normal float32 numbers, from one step of ``states[index]``.

    Box and Muller's pair; the radius has 32 random bits, the angle the next 32.
    """
    x = xoroshiro128p_next(states, index)
    return _normal2_float32(np.uint32(x >> np.uint64(32)), np.uint32(x & np.uint64(0xFFFFFFFF)))


def xoroshiro128p_normal2_float64(states, index):
    """Two independent standard normal float64 numbers, from two steps of ``states[index]``."""
    x = xoroshiro128p_next(states, index)
    y = xoroshiro128p_next(states, index)
    return _normal2_float64(x, y)


def xoroshiro128p_exponential_float32(states, index):
    """An exponential float32 of mean 1 from ``states[index]``."""
    return _exponential_float32(np.uint32(xoroshiro128p_next(states, index) >> np.uint64(32)))


def xoroshiro128p_exponential_float64(states, index):
    """An exponential float64 of mean 1 from ``states[index]``."""
    return _exponential_float64(xoroshiro128p_next(states, index))


def xoroshiro128p_integers(states, index, low, high):
    """An int64 from low up to, but not including, high, from ``states[index]``; all are equally likely.

    Source: Lemire, "Fast Random Integer Generation in an Interval", 2019. If high <= low, the result is low.
    """
    _check_integer(low, "low")
    _check_integer(high, "high")
    span = np.uint64(np.int64(high) - np.int64(low))
    if np.int64(high) <= np.int64(low):
        return np.int64(low)
    top, rest = _multiply(xoroshiro128p_next(states, index), span)
    if rest < span:
        least = (np.uint64(0) - span) % span
        while rest < least:
            top, rest = _multiply(xoroshiro128p_next(states, index), span)
    return np.int64(low) + np.int64(top)


def xoroshiro128p_gamma_float64(states, index, shape, scale=1.0):
    """A float64 of the gamma distribution from ``states[index]``; shape > 0, scale > 0.

    Source: Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", 2000. NaN where shape is not positive.
    """
    a = np.float64(shape)
    if not a > 0.0:
        return np.float64(math.nan)
    boost = 1.0
    if a < 1.0:
        boost = _exp_float64(max(_log_float64(_open_float64(xoroshiro128p_next(states, index))) / a, -700.0))
        a += 1.0
    d = a - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    v = np.float64(0.0)
    while True:
        x, unused = xoroshiro128p_normal2_float64(states, index)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = 1.0 - xoroshiro128p_uniform_float64(states, index)
        if u < 1.0 - 0.0331 * (x * x) * (x * x):
            break
        if _log_float64(u) < 0.5 * x * x + d * (1.0 - v + _log_float64(v)):
            break
    return boost * d * v * np.float64(scale)


def xoroshiro128p_gamma_float32(states, index, shape, scale=1.0):
    """A float32 of the gamma distribution: see `xoroshiro128p_gamma_float64`."""
    return np.float32(xoroshiro128p_gamma_float64(states, index, shape, scale))


def xoroshiro128p_poisson(states, index, lam):
    """An int64 of the Poisson distribution with mean lam >= 0 from ``states[index]``.

    Below 10 by multiplying uniform numbers (Knuth), from 10 on by transformed rejection (Hörmann, "The Transformed
    Rejection Method for Generating Poisson Random Variables", 1993). -1 where lam is negative or NaN.
    """
    mean = np.float64(lam)
    if not mean >= 0.0:
        return np.int64(-1)
    if mean < 10.0:
        limit = math.exp(-mean)
        product = xoroshiro128p_uniform_float64(states, index)
        count = np.int64(0)
        while product > limit:
            product *= xoroshiro128p_uniform_float64(states, index)
            count += 1
        return count
    result = np.int64(-1)
    while result < 0:
        u = xoroshiro128p_uniform_float64(states, index)
        v = 1.0 - xoroshiro128p_uniform_float64(states, index)
        result = _poisson_try(mean, u, v)
    return result


def xoroshiro128p_binomial(states, index, n, p):
    """An int64 from ``states[index]``: the number of successes in n trials of probability p.

    Inversion where n * min(p, 1 - p) is below 10, else transformed rejection (Hörmann's BTRS, "The Generation of Binomial
    Random Variates", 1993). -1 where n < 0 or p is outside [0, 1].

    >>> from lanewise.random import create_xoroshiro128p_states, xoroshiro128p_binomial
    >>> @lw.forall
    ... def throw(i, states, n, p, out):
    ...     out[i] = xoroshiro128p_binomial(states, i, n, p)
    >>> heads = np.zeros(1000, np.int64)
    >>> with lw.config(target="cpu"):
    ...     throw(1000, create_xoroshiro128p_states(1000, seed=1), 10, 0.5, heads)
    >>> bool(4.8 < heads.mean() < 5.2)
    True
    """
    _check_integer(n, "n")
    trials = np.int64(n)
    chance = np.float64(p)
    if trials < 0 or not (0.0 <= chance <= 1.0):
        return np.int64(-1)
    small = min(chance, 1.0 - chance)
    result = np.int64(-1)
    if trials == 0 or small == 0.0:
        result = np.int64(0)
    while result < 0:
        u = xoroshiro128p_uniform_float64(states, index)
        if trials * small < 10.0:
            result = _binomial_sum(trials, small, math.exp(trials * math.log1p(-small)), u)
        else:
            v = 1.0 - xoroshiro128p_uniform_float64(states, index)
            result = _binomial_try(trials, small, u, v)
    return result if chance <= 0.5 else trials - result


def xoroshiro128p_choice(states, index, probability, alias):
    """An int64 index drawn with the weights of `alias_table`'s two arrays: one draw, two loads.

    Source: Walker, "An Efficient Method for Generating Discrete Random Variables", 1977; Vose, 1991.

    >>> from lanewise.random import alias_table, create_xoroshiro128p_states, xoroshiro128p_choice
    >>> @lw.forall
    ... def pick(i, states, probability, alias, out):
    ...     out[i] = xoroshiro128p_choice(states, i, probability, alias)
    >>> picked = np.zeros(1000, np.int64)
    >>> with lw.config(target="cpu"):
    ...     pick(1000, create_xoroshiro128p_states(1000, seed=1), *alias_table([1, 0, 3]), picked)
    >>> sorted(set(picked.tolist())), bool(picked.mean() > 1.4)
    ([0, 2], True)
    """
    top, rest = _multiply(xoroshiro128p_next(states, index), np.uint64(len(probability)))
    i = np.int64(top)
    if uint64_to_unit_float64(rest) < probability[i]:
        return i
    return np.int64(alias[i])


# ---- philox: no state at all ----


def philox(seed, index, counter=0):
    """Return four random uint32 words that are computed from the three arguments alone, by Philox-4x32-10.

    seed, index and counter are integers from -2**63 to 2**64 - 1. Equal arguments give equal words on every device, and different pairs
    (index, counter) give different words for the same seed. Pass the number of the element as index; if an element needs several
    numbers, pass 0, 1, 2, ... as counter.

    Source: Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", 2011; equal to Random123's
    known answers with the counter (counter, index) and the key seed, low words first.

    >>> from lanewise.random import philox
    >>> @lw.vectorize
    ... def word(seed, index):
    ...     return philox(seed, index)[0]
    >>> word(0, np.arange(2))
    array([...], dtype=uint32)
    """
    c0, c1 = _halves(_word(counter, "counter"))
    c2, c3 = _halves(_word(index, "index"))
    k0, k1 = _halves(_word(seed, "seed"))
    return _philox4x32(k0, k1, c0, c1, c2, c3)


def philox_uniform_float32(seed, index, counter=0):
    """A float32 in [0, 1) with 24 random bits, from the first word of `philox`.

    >>> from lanewise.random import philox_uniform_float32
    >>> @lw.vectorize
    ... def with_noise(x, seed, i):
    ...     return x + philox_uniform_float32(seed, i)
    >>> bool((with_noise(np.zeros(9), 1, np.arange(9)) < 1).all())
    True
    """
    return _unit_float32(philox(seed, index, counter)[0])


def philox_uniform_float64(seed, index, counter=0):
    """A float64 in [0, 1) with 53 random bits, from the first two words of `philox`."""
    words = philox(seed, index, counter)
    return _unit_float64(words[0], words[1])


def philox_normal4_float32(seed, index, counter=0):
    """Four independent standard normal float32 numbers, from the four words of `philox`.

    >>> from lanewise.random import philox_normal4_float32
    >>> @lw.forall
    ... def paths(i, seed, steps, out):
    ...     for k in range(steps // 4):
    ...         a, b, c, d = philox_normal4_float32(seed, i, k)
    ...         out[i] += a + b + c + d
    >>> ends = np.zeros(1000)
    >>> paths(1000, 7, 16, ends)
    >>> bool(3.5 < ends.std() < 4.5)
    True
    """
    a, b, c, d = philox(seed, index, counter)
    w, x = _normal2_float32(a, b)
    y, z = _normal2_float32(c, d)
    return w, x, y, z


def philox_normal2_float64(seed, index, counter=0):
    """Two independent standard normal float64 numbers, from the four words of `philox`."""
    a, b, c, d = philox(seed, index, counter)
    half = np.uint64(32)
    return _normal2_float64((np.uint64(a) << half) | np.uint64(b), (np.uint64(c) << half) | np.uint64(d))


# ---- the parts, in the language of kernels ----


def _check_integer(x, name):
    """A float is not cut to an integer: its neighbours would give the same numbers."""
    if isinstance(x, (float, np.floating)):
        raise TypingError("`", name, "` needs an integer, not a float: write `int(...)` or `round(...)`")
    if not isinstance(x, (int, np.integer, np.bool_)):
        raise TypingError("`", name, "` needs an integer")


def _word(x, name):
    """The 64 bits of a parameter of this name, an integer from -2**63 to 2**64 - 1."""
    _check_integer(x, name)
    return np.uint64(np.int64(x)) if x < 0 else np.uint64(x)


def _halves(x):
    word = np.uint64(x)
    return np.uint32(word & np.uint64(0xFFFFFFFF)), np.uint32(word >> np.uint64(32))


def _philox4x32(k0, k1, c0, c1, c2, c3):
    """Ten rounds; the words of the key grow by the golden ratio and by sqrt(3) - 1."""
    for _ in range(10):
        x = np.uint64(c0) * np.uint64(0xD2511F53)
        y = np.uint64(c2) * np.uint64(0xCD9E8D57)
        c0 = np.uint32(y >> np.uint64(32)) ^ c1 ^ k0
        c1 = np.uint32(y & np.uint64(0xFFFFFFFF))
        c2 = np.uint32(x >> np.uint64(32)) ^ c3 ^ k1
        c3 = np.uint32(x & np.uint64(0xFFFFFFFF))
        k0 = k0 + np.uint32(0x9E3779B9)
        k1 = k1 + np.uint32(0xBB67AE85)
    return c0, c1, c2, c3


def _unit_float32(word):
    return np.float32(word >> np.uint32(8)) * np.float32(2.0**-24)


def _unit_float64(high, low):
    bits = (np.uint64(high >> np.uint32(5)) << np.uint64(26)) | np.uint64(low >> np.uint32(6))
    return np.float64(bits) * 2.0**-53


def _multiply(x, y):
    """The high and low halves of a product of two uint64."""
    mask = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    low = (x & mask) * (y & mask)
    middle = (x >> half) * (y & mask) + (low >> half)
    other = (x & mask) * (y >> half) + (middle & mask)
    high = (x >> half) * (y >> half) + (middle >> half) + (other >> half)
    return high, (other << half) | (low & mask)


# Logarithm, sine and cosine by arithmetic alone, so that every device gives the same bits.


def _minus_2_log_float32(word):
    """-2 log(u), u = (word + 1/2) / 2**32 rounded to a float32 below 1: from 1.1e-7 to 45.8, never 0.

    u = m 2**k with m in [2/3, 4/3), and a minimax polynomial of log(m) / (m - 1); 2e-7 off at most.
    """
    u = np.float32(word) * np.float32(2.0**-32 - 2.0**-56) + np.float32(2.0**-33)
    bits = u.view(np.uint32)
    k = (bits - np.uint32(0x3F2AAAAB)) & np.uint32(0xFF800000)
    f = (bits - k).view(np.float32) - np.float32(1.0)
    y = np.float32(0.3063855767) * f + np.float32(-0.3423056602)
    y = y * f + np.float32(0.3286166489)
    y = y * f + np.float32(-0.3958822191)
    y = y * f + np.float32(0.5001367927)
    y = y * f + np.float32(-0.6667611003)
    y = y * f + np.float32(0.9999991059)
    y = y * f + np.float32(-1.9999996424)
    return np.float32(np.int32(k)) * np.float32(math.log(2.0) * -(2.0**-22)) + f * y


def _log_float64(x):
    """The natural logarithm of a positive, normal float64: the method of fdlibm's e_log.c (Sun, 1993)."""
    bits = np.float64(x).view(np.uint64) + np.uint64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
    k = np.float64(np.int32(bits >> np.uint64(52)) - np.int32(1023))
    m = ((bits & np.uint64(0xFFFFFFFFFFFFF)) + np.uint64(0x3FE6A09E667F3BCD)).view(np.float64)
    f = m - 1.0
    s = _div_normal(f, 2.0 + f)
    z = s * s
    r = 1.479819860511658591e-01
    r = r * z + 1.531383769920937332e-01
    r = r * z + 1.818357216161805012e-01
    r = r * z + 2.222219843214978396e-01
    r = r * z + 2.857142874366239149e-01
    r = r * z + 3.999999999940941908e-01
    r = r * z + 6.666666666666735130e-01
    r = r * z
    half = 0.5 * f * f
    return k * 6.93147180369123816490e-01 - ((half - (s * (half + r) + k * 1.90821492927058770002e-10)) - f)


def _minus_2_log_float64(word, c=_LOG):
    """-2 `_log_float64` of `_open_float64`, bit for bit.

    The number stays an integer and a half, so its exponent is 53 too large, and each term is the other's times -2. Both halves
    of the number are handled on their own: the lower one is that of m, and takes part in the choice of k alone.
    """
    n = (np.float64(word >> np.uint64(11)) + 0.5).view(np.uint64)
    high = np.uint32((n + np.uint64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)) >> np.uint64(32))
    k = np.float64(np.int32(high >> np.uint32(20)) - np.int32(1023 + 53))
    top = np.uint32(n >> np.uint64(32)) - (high & np.uint32(0xFFF00000)) + np.uint32(0x3FF00000)
    f = _join(top, np.uint32(n & np.uint64(0xFFFFFFFF))).view(np.float64) - 1.0
    s = _div_normal(f, 2.0 + f)
    z = s * s
    square = f * f
    r = c[0]
    for i in range(1, 7):
        r = _fma(r, z, c[i])
    tail = _fma(s, _fma(r, z, -square), k * c[7])
    return -_fma(k, c[8], _fma(2.0, f, -(square + tail)))


def _join(high, low):
    return (np.uint64(high) << np.uint64(32)) | np.uint64(low)


def _exp_float64(x):
    """exp(x) for x in [-700, 0]: reduced by multiples of log 2, then the Taylor polynomial of degree 13."""
    k = math.floor(x * 1.4426950408889634 + 0.5)
    y = (x - np.float64(k) * 6.93147180369123816490e-01) - np.float64(k) * 1.90821492927058770002e-10
    r = 1.0 / 6227020800.0
    for i in range(12, -1, -1):
        r = r * y + 1.0 / _FACTORIALS[i]
    return math.ldexp(r, k)


def _times_sincos_float32(radius, word):
    """radius times cosine and sine of an angle that is uniform in the circle: the word is it in the half where
    cosines are positive, in units of pi / 2**32, and its lowest bit (odd: turned by pi) chooses the half.

    Minimax polynomials of cos(pi/2 x) and sin(pi/2 x) / x in x**2, 6e-8 off at most.
    """
    x = np.float32(np.int32(word)) * np.float32(2.0**-31)
    z = x * x
    c = np.float32(8.556601824e-4) * z + np.float32(-2.080607414e-2)
    c = c * z + np.float32(0.2536482215)
    c = c * z + np.float32(-1.233697772)
    c = c * z + np.float32(0.9999999404)
    s = np.float32(1.556536008e-4) * z + np.float32(-4.682554863e-3)
    s = s * z + np.float32(7.969559729e-2)
    s = s * z + np.float32(-0.6459650397)
    s = s * z + np.float32(1.5707963705)
    signed = (radius.view(np.uint32) + (word << np.uint32(31))).view(np.float32)
    return signed * c, signed * x * s


def _log1p_float64(x):
    """log(1 + x) for x > -1, with the factor that makes up for the rounding of the sum (Kahan)."""
    u = 1.0 + x
    d = u - 1.0
    return x if d == 0.0 else _log_float64(u) * (x / d)


def _exp_any_float64(x):
    """exp(x): 0 below -700, infinite from 709.7 on."""
    if x >= 709.7:
        return math.inf
    return _exp_float64(x) if x >= -700.0 else 0.0


def _at(p, i):
    """Element i of a parameter: of one element, or of as many as numbers are drawn."""
    return p[min(i, len(p) - 1)]


def _sincos_float64(word, a=_SINE, b=_COSINE):
    """Sine and cosine of 2 pi word / 2**64: octants exactly, then fdlibm's polynomials (Sun, 1993)."""
    turned = np.uint32(word >> np.uint64(32)) + np.uint32(0x20000000)
    y = np.float64(np.int64(word << np.uint64(2))) * a[6]
    z = y * y
    s = _fma(a[0], z, a[1])
    s = _fma(s, z, a[2])
    s = _fma(s, z, a[3])
    s = _fma(s, z, a[4])
    s = _fma(s, z, a[5])
    s = _fma(s, z * y, y)
    c = _fma(b[0], z, b[1])
    c = _fma(c, z, b[2])
    c = _fma(c, z, b[3])
    c = _fma(c, z, b[4])
    c = _fma(c, z, b[5])
    c = _fma(c, z * z, _fma(-0.5, z, 1.0))
    swap = (turned & np.uint32(0x40000000)) != np.uint32(0)
    top = np.uint32(0x80000000)
    return _with_sign(c if swap else s, turned & top), _with_sign(s if swap else c, (turned ^ (turned << np.uint32(1))) & top)


def _with_sign(x, bit):
    """x, whose sign the bit turns round."""
    return (x.view(np.uint64) ^ _join(bit, np.uint32(0))).view(np.float64)


def _open_float64(word):
    """A float64 in (0, 1) with 53 random bits."""
    return (np.float64(word >> np.uint64(11)) + 0.5) * 2.0**-53


def _normal2_float32(first, second):
    return _times_sincos_float32(_sqrt_normal(_minus_2_log_float32(first)), second)


def _normal2_float64(first, second, log=_LOG, sine_of=_SINE, cosine_of=_COSINE):
    radius = _sqrt_normal(_minus_2_log_float64(first, log))
    sine, cosine = _sincos_float64(second, sine_of, cosine_of)
    return radius * cosine, radius * sine


def _exponential_float32(word):
    return np.float32(0.5) * _minus_2_log_float32(word)


def _exponential_float64(word, log=_LOG):
    return 0.5 * _minus_2_log_float64(word, log)


def _log_factorial(k):
    """log(k!) for k >= 0: exact sums below 10, Stirling's series above."""
    x = np.float64(k)
    if x < 10.0:
        product = 1.0
        for i in range(2, 10):
            if i <= x:
                product *= np.float64(i)
        return _log_float64(product)
    y = x + 1.0
    r = 1.0 / (y * y)
    series = ((-1.0 / 1680.0 * r + 1.0 / 1260.0) * r - 1.0 / 360.0) * r + 1.0 / 12.0
    return (y - 0.5) * _log_float64(y) - y + 0.9189385332046727418 + series / y


def _poisson_try(mean, u, v):
    """One attempt of PTRS with u in [0, 1), v in (0, 1]; -1: rejected."""
    slam = math.sqrt(mean)
    loglam = _log_float64(mean)
    b = 0.931 + 2.53 * slam
    a = -0.059 + 0.02483 * b
    inverse = 1.1239 + 1.1328 / (b - 3.4)
    x = u - 0.5
    us = 0.5 - abs(x)
    if us <= 0.0:
        return np.int64(-1)
    k = np.int64(math.floor((2.0 * a / us + b) * x + mean + 0.43))
    if us >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2.0):
        return k
    if k < 0 or (us < 0.013 and v > us):
        return np.int64(-1)
    left = _log_float64(v) + _log_float64(inverse) - _log_float64(a / (us * us) + b)
    return k if left <= k * loglam - mean - _log_factorial(k) else np.int64(-1)


def _binomial_sum(n, p, none, u):
    """Inversion by summing the probabilities, `none` that of 0, until u is passed; -1: never."""
    chance = none
    odds = p / (1.0 - p)
    k = np.int64(0)
    while u > chance:
        u -= chance
        k += 1
        if k > n or k > 200:
            return np.int64(-1)
        chance *= odds * (np.float64(n) - np.float64(k) + 1.0) / np.float64(k)
    return k


def _binomial_try(n, p, u, v):
    """One attempt of BTRS, for n * p >= 10; -1: rejected."""
    q = 1.0 - p
    spread = math.sqrt(n * p * q)
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = n * p + 0.5
    limit = 0.92 - 4.2 / b
    x = u - 0.5
    us = 0.5 - abs(x)
    if us <= 0.0:
        return np.int64(-1)
    k = np.int64(math.floor((2.0 * a / us + b) * x + c))
    if us >= 0.07 and v <= limit:
        return k
    if k < 0 or k > n:
        return np.int64(-1)
    alpha = (2.83 + 5.1 / b) * spread
    mode = np.int64(math.floor((n + 1) * p))
    left = _log_float64(v * alpha / (a / (us * us) + b))
    right = _log_factorial(mode) + _log_factorial(n - mode) - _log_factorial(k) - _log_factorial(n - k)
    right += np.float64(k - mode) * _log_float64(p / q)
    return k if left <= right else np.int64(-1)


# ---- states and tables, on the host ----


def _seed_states(n, seed, subsequence_start):
    if isinstance(n, (bool, np.bool_)) or not hasattr(n, "__index__"):
        raise TypeError(f"n must be an int, not {type(n).__name__}")
    count = n.__index__()
    if count < 0:
        raise ValueError(f"n must not be negative, not {count}")
    return count, _core._xoroshiro_seed(seed, subsequence_start)


def init_xoroshiro128p_states_cpu(states, seed, subsequence_start=0):
    """Fill a NumPy array of `xoroshiro128p_dtype` with states `subsequence_start`, … of `seed`.

    >>> import numpy as np
    >>> from lanewise import random
    >>> states = np.empty(2, random.xoroshiro128p_dtype)
    >>> random.init_xoroshiro128p_states_cpu(states, seed=1)
    >>> hex(states[1]["s0"])
    '0x73c19a5348fc9098'
    """
    if not isinstance(states, np.ndarray) or states.dtype != xoroshiro128p_dtype or states.ndim != 1:
        raise TypeError("states must be a one-dimensional NumPy array of xoroshiro128p_dtype, "
                        f"not {type(states).__name__} {getattr(states, 'dtype', '')}")
    if states.flags.c_contiguous:
        _core._xoroshiro_states(states.view(np.uint8), seed, subsequence_start)
    else:
        filled = np.empty(len(states), xoroshiro128p_dtype)
        _core._xoroshiro_states(filled.view(np.uint8), seed, subsequence_start)
        states[:] = filled


def init_xoroshiro128p_states(states, seed, subsequence_start=0, stream=0):
    """Fill an array of states, on the device or the host, as `create_xoroshiro128p_states` does.

    On the device the states are made there, by doubling: 2**20 of them take 20 short kernels.
    """
    if isinstance(states, np.ndarray):
        init_xoroshiro128p_states_cpu(states, seed, subsequence_start)
        return
    from lanewise import _placing, _random_kernels as kernels, cuda

    array = states if isinstance(states, cuda.DeviceArray) else cuda.as_cuda_array(states)
    if array.dtype != xoroshiro128p_dtype or array.ndim != 1:
        raise TypeError("states must be a one-dimensional array of xoroshiro128p_dtype, "
                        f"not {array.ndim}-dimensional {array.dtype}")
    with _placing.on_device_of(array):
        kernels.fill_states(array, *_core._xoroshiro_seed(seed, subsequence_start), stream)


def create_xoroshiro128p_states(n, seed, subsequence_start=0, stream=0):
    """Return n states of xoroshiro128+. Each is 2**64 steps after the one before it.

    n: the number of states. seed: an int from -2**63 to 2**64 - 1. subsequence_start: how many states to skip.
    The states equal numba's for the same seed. They are on the current GPU, or, if ``lanewise.config.target`` is "cpu", in
    an array like those of `lanewise.cuda.device_array`; on a machine without a GPU, they are a NumPy array. Raises TypeError or ValueError for
    other arguments.

    >>> import lanewise as lw
    >>> from lanewise.random import create_xoroshiro128p_states
    >>> with lw.config(target="cpu"):
    ...     create_xoroshiro128p_states(2, seed=1).copy_to_host()["s1"]
    array([10451216379200822465,  7824662623250379246], dtype=uint64)
    """
    count, first = _seed_states(n, seed, subsequence_start)
    from lanewise import config, cuda

    if config.target == "auto" and not cuda.is_available():
        states = np.empty(count, xoroshiro128p_dtype)
    else:
        states = cuda.device_array(count, xoroshiro128p_dtype, stream=stream)
    if isinstance(states, np.ndarray):
        init_xoroshiro128p_states_cpu(states, seed, subsequence_start)
        return states
    from lanewise import _random_kernels as kernels

    kernels.fill_states(states, *first, stream)
    return states


def alias_table(weights):
    """The two arrays from which `xoroshiro128p_choice` draws an index with these weights.

    weights: one-dimensional, not negative, with a positive sum. Returns (probability float64, alias int64).

    >>> from lanewise.random import alias_table
    >>> probability, alias = alias_table([1.0, 3.0])
    >>> probability.tolist(), alias.tolist()
    ([0.5, 1.0], [1, 1])
    """
    p = np.asarray(weights, np.float64)
    if p.ndim != 1 or p.size == 0:
        raise ValueError(f"weights must be one-dimensional and not empty, not of shape {p.shape}")
    if not ((p >= 0) & (p < math.inf)).all() or not p.any():
        raise ValueError("weights must be finite and not negative, and one of them positive")
    if not 1e-280 < p.max() < 1e280:  # the sum or its inverse may be infinite
        p = p / p.max()
    probability, alias = p * (p.size / p.sum()), np.empty(p.size, np.int64)
    _core._alias_table(probability, alias)
    return probability, alias


def _quiet(function):
    """In plain Python, the function without NumPy's warnings: its integers wrap around, as those of compiled code do. The reader compiles
    the function itself (core/front/read/constant.c)."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        with np.errstate(over="ignore"):
            return _plain()[function.__name__](*args, **kwargs)

    call.__lanewise_quiet__ = function
    return call


def _check_plain_integer(x, name):
    if not isinstance(x, (int, np.integer, np.bool_)) and (getattr(x, "ndim", None) != 0 or x.dtype.kind not in "iub"):
        raise TypeError(f"`{name}` needs an integer, not {type(x).__name__}: write `int(...)` or `round(...)`")


@functools.cache
def _plain():
    """The functions of this module for plain Python, where names of lanewise.cuda are no functions: made again, with Python's functions in
    place of these names."""
    from lanewise._python_intrinsics import intrinsic

    scope = {}
    scope.update({name: types.FunctionType(each.__code__, scope, name, each.__defaults__, each.__closure__) if isinstance(each, types.FunctionType)
                  and each.__module__ == __name__ else each for name, each in _compiled.items()})
    scope["_check_integer"] = _check_plain_integer
    scope.update({name: intrinsic(_compiled[name]) for name in ("_sqrt_normal", "_log_normal", "_div_normal", "_fma")})
    return scope


_compiled = dict(globals())
globals().update({name: _quiet(each) for name, each in list(globals().items())
                  if isinstance(each, types.FunctionType) and (name.startswith(("philox", "xoroshiro128p_", "uint64_to_")) or name == "init_xoroshiro128p_state")})


def __dir__():
    return sorted({*globals(), *__all__})


def __getattr__(name):
    if name in ("Generator", "default_rng"):
        from lanewise import _generator

        return getattr(_generator, name)
    import sys

    from lanewise import _numba_names

    hint = ""
    if name == "philox_normal_float64" or name == "philox_normal_float32":
        hint = f": philox_normal2{name[13:]} returns two numbers"
    elif name == "seed":
        hint = ": `lanewise.random.default_rng(seed)` returns a generator"
    elif callable(getattr(np.random, name, None)) and not name.startswith("_"):
        method = {"rand": "random", "randn": "standard_normal", "randint": "integers", "random_sample": "random"}.get(name, name)
        hint = f": `lanewise.random.default_rng(seed).{method}(...)` draws arrays" if hasattr(np.random.Generator, method) else ""
    if hint and _numba_names.is_import(sys._getframe(1)):
        raise ImportError(f"cannot import name {name!r} from 'lanewise.random'{hint}", name="lanewise.random")
    raise AttributeError(f"module 'lanewise.random' has no attribute {name!r:.200}{hint}")
