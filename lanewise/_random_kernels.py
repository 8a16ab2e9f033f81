"""The kernels behind `lanewise.random`: each fills one array, in the language of `forall`.

Philox: words of block b are those of the counter (b, 0, c3); draw k of element e those of (e, k, c3 + 1). So a number
depends on its place in the stream alone, whatever the launch. xoroshiro128+: lane i draws elements i, i + lanes, … in order.
"""

from __future__ import annotations

import math

import numpy as np

from lanewise import _core, random as r
from lanewise._later import forall, made_when_asked

__all__ = ["fill_states", "round_keys"]  # and the kernels, which `Generator` takes by name


# ---- states of xoroshiro128+ ----


@forall
def _double(i, states, half, table):
    """states[half + i] = J**half states[i], by look-ups in the table of its products with each byte."""
    s0 = states[i]["s0"]
    s1 = states[i]["s1"]
    low = np.uint64(0)
    high = np.uint64(0)
    for byte in range(8):
        v = np.int64((s0 >> np.uint64(8 * byte)) & np.uint64(255))
        low ^= table[byte, v, 0]
        high ^= table[byte, v, 1]
    for byte in range(8):
        v = np.int64((s1 >> np.uint64(8 * byte)) & np.uint64(255))
        low ^= table[8 + byte, v, 0]
        high ^= table[8 + byte, v, 1]
    states[half + i]["s0"] = low
    states[half + i]["s1"] = high


@forall
def _first(i, states, s0, s1):
    states[i]["s0"] = s0
    states[i]["s1"] = s1


_tables: dict[tuple[int, int], object] = {}


def _table(level, device):
    from lanewise import cuda

    key = (level, device)
    if key not in _tables or not _tables[key]._is_alive:
        host = np.frombuffer(_core._xoroshiro_table(level), np.uint64).reshape(16, 256, 2)
        _tables[key] = cuda.to_device(host)
    return _tables[key]


def fill_states(states, s0, s1, stream):
    """All states of a device array that starts with (s0, s1), on its stream."""
    from lanewise import cuda

    n = states.size
    if n == 0:
        return
    device = cuda.get_current_device().id
    _own("_first")(1, states, np.uint64(s0), np.uint64(s1), stream=stream)
    half, level = 1, 0
    while half < n:
        _own("_double")(min(half, n - half), states, half, _table(level, device), stream=stream)
        half *= 2
        level += 1


# ---- philox: four words a block ----


def _rounds(keys, c0, c1, c2, c3):
    """Philox-4x32 with the words of the key for each round, from `round_keys`."""
    for k0, k1 in keys:
        x = np.uint64(c0) * np.uint64(0xD2511F53)
        y = np.uint64(c2) * np.uint64(0xCD9E8D57)
        c0 = np.uint32(y >> np.uint64(32)) ^ c1 ^ k0
        c1 = np.uint32(y & np.uint64(0xFFFFFFFF))
        c2 = np.uint32(x >> np.uint64(32)) ^ c3 ^ k1
        c3 = np.uint32(x & np.uint64(0xFFFFFFFF))
    return c0, c1, c2, c3


def round_keys(k0, k1):
    """What the ten rounds of `philox` add: made once a call, on the host."""
    words = 2**32
    return tuple((np.uint32((k0 + i * 0x9E3779B9) % words), np.uint32((k1 + i * 0xBB67AE85) % words)) for i in range(10))


def _block(keys, c3, base, i):
    """Block base + i; the lower halves' sum never carries (`Generator` sees to it), so that all of the first two
    rounds that depends on the upper half alone is computed once a thread."""
    c0, c1 = r._halves(base)
    return _rounds(keys, c0 + np.uint32(i), c1, np.uint32(0), c3)


def _draw(keys, c3, element, attempt):
    c0, c1 = r._halves(element)
    return _rounds(keys, c0, c1, np.uint32(attempt), c3 + np.uint32(1))


def _long(high, low):
    return (np.uint64(high) << np.uint64(32)) | np.uint64(low)


# `out` holds whole blocks: stores without a test between them merge into accesses of 16 bytes.


def _store4(out, i, a, b, c, d):
    out[4 * i] = a
    out[4 * i + 1] = b
    out[4 * i + 2] = c
    out[4 * i + 3] = d


def _store2(out, i, a, b):
    out[2 * i] = a
    out[2 * i + 1] = b


@forall
def philox_random_float32(i, keys, c3, base, low, scale, out):
    a, b, c, d = _block(keys, c3, base, i)
    _store4(out, i, low + scale * r._unit_float32(a), low + scale * r._unit_float32(b),
            low + scale * r._unit_float32(c), low + scale * r._unit_float32(d))


@forall
def philox_random_float64(i, keys, c3, base, low, scale, out):
    a, b, c, d = _block(keys, c3, base, i)
    _store2(out, i, low + scale * r._unit_float64(a, b), low + scale * r._unit_float64(c, d))


@forall
def philox_normal_float32(i, keys, c3, base, loc, scale, out):
    a, b, c, d = _block(keys, c3, base, i)
    w, x = r._normal2_float32(a, b)
    y, z = r._normal2_float32(c, d)
    _store4(out, i, loc + scale * w, loc + scale * x, loc + scale * y, loc + scale * z)


@forall
def philox_standard_normal_float32(i, keys, c3, base, out):
    a, b, c, d = _block(keys, c3, base, i)
    w, x = r._normal2_float32(a, b)
    y, z = r._normal2_float32(c, d)
    _store4(out, i, w, x, y, z)


@forall
def philox_normal_float64(i, keys, c3, base, loc, scale, out):
    a, b, c, d = _block(keys, c3, base, i)
    x, y = r._normal2_float64(_long(a, b), _long(c, d))
    _store2(out, i, loc + scale * x, loc + scale * y)


@forall
def philox_exponential_float32(i, keys, c3, base, scale, out):
    a, b, c, d = _block(keys, c3, base, i)
    _store4(out, i, scale * r._exponential_float32(a), scale * r._exponential_float32(b),
            scale * r._exponential_float32(c), scale * r._exponential_float32(d))


@forall
def philox_exponential_float64(i, keys, c3, base, scale, out):
    a, b, c, d = _block(keys, c3, base, i)
    _store2(out, i, scale * r._exponential_float64(_long(a, b)), scale * r._exponential_float64(_long(c, d)))


@forall
def philox_bits(i, keys, c3, base, out):
    """Whole 64-bit words: integers of the full range, and the keys of permutations."""
    a, b, c, d = _block(keys, c3, base, i)
    _store2(out, i, _long(a, b), _long(c, d))


def _below32(keys, c3, element, word, span, least):
    """word * span >> 32 without bias: words below the threshold are drawn again."""
    product = np.uint64(word) * np.uint64(span)
    attempt = 0
    while np.uint32(product & np.uint64(0xFFFFFFFF)) < least:
        product = np.uint64(_draw(keys, c3, element, attempt)[0]) * np.uint64(span)
        attempt += 1
    return product >> np.uint64(32)


@forall
def philox_integers32(i, keys, c3, base, low, span, least, out):
    a, b, c, d = _block(keys, c3, base, i)
    e = (base + np.uint64(i)) * np.uint64(4)
    start = np.uint64(low)
    _store4(out, i, start + _below32(keys, c3, e, a, span, least),
            start + _below32(keys, c3, e + np.uint64(1), b, span, least),
            start + _below32(keys, c3, e + np.uint64(2), c, span, least),
            start + _below32(keys, c3, e + np.uint64(3), d, span, least))


@forall
def philox_integers64(i, keys, c3, base, low, span, least, out):
    element = base + np.uint64(i)
    attempt = 0
    a, b, c, d = _draw(keys, c3, element, attempt)
    top, rest = r._multiply(_long(a, b), span)
    while rest < least:
        attempt += 1
        a, b, c, d = _draw(keys, c3, element, attempt)
        top, rest = r._multiply(_long(a, b), span)
    out[i] = np.uint64(low) + top


# ---- philox: as many draws as an element needs ----


def _gamma(keys, c3, element, shape, scale):
    """Marsaglia and Tsang, 2000: two attempts' words are a normal pair's and a uniform's."""
    a, b, c, d = _draw(keys, c3, element, 0)
    boost = 1.0
    alpha = shape
    if shape < 1.0:
        boost = r._exp_float64(max(r._log_float64(r._open_float64(_long(a, b))) / shape, -700.0))
        alpha = shape + 1.0
    third = alpha - 1.0 / 3.0
    slope = 1.0 / math.sqrt(9.0 * third)
    attempt = 1
    v = 0.0
    while True:
        a, b, c, d = _draw(keys, c3, element, attempt)
        x, unused = r._normal2_float64(_long(a, b), _long(c, d))
        a, b, c, d = _draw(keys, c3, element, attempt + 1)
        attempt += 2
        v = 1.0 + slope * x
        if v <= 0.0:
            continue
        v = v * v * v
        if _accepts(_long(a, b), x, third, v):
            break
    return boost * third * v * scale if shape > 0.0 else 0.0


def _accepts(word, x, third, v):
    return r._log_float64(r._open_float64(word)) < 0.5 * x * x + third * (1.0 - v + r._log_float64(v))


@forall
def philox_gamma(i, keys, c3, base, shape, scale, out):
    out[i] = _gamma(keys, c3, base + np.uint64(i), shape, scale)


@forall
def philox_gamma_each(i, keys, c3, base, shape, scale, out):
    out[i] = _gamma(keys, c3, base + np.uint64(i), r._at(shape, i), r._at(scale, i))


def _poisson(keys, c3, element, mean):
    attempt = 0
    result = np.int64(-1)
    if mean < 10.0:
        limit = r._exp_float64(-mean)
        product = 1.0
        while result < 0 or product > limit:  # at least one draw: the limit of a mean of 0 is 1.0
            a, b, c, d = _draw(keys, c3, element, attempt)
            product *= r._open_float64(_long(a, b))
            result += 1
            if product > limit:
                product *= r._open_float64(_long(c, d))
                result += 1
            attempt += 1
    else:
        while result < 0:
            a, b, c, d = _draw(keys, c3, element, attempt)
            result = r._poisson_try(mean, r._unit_float64(a, b), r._open_float64(_long(c, d)))
            attempt += 1
    return result


@forall
def philox_poisson(i, keys, c3, base, mean, out):
    out[i] = _poisson(keys, c3, base + np.uint64(i), mean)


@forall
def philox_poisson_each(i, keys, c3, base, mean, out):
    out[i] = _poisson(keys, c3, base + np.uint64(i), r._at(mean, i))


def _binomial(keys, c3, element, n, chance):
    """The rarer of success and failure is counted; none: the chance that it never comes."""
    attempt = 0
    p = min(chance, 1.0 - chance)
    none = r._exp_float64(max(n * r._log1p_float64(-p), -700.0))
    result = np.int64(-1)
    while result < 0:
        a, b, c, d = _draw(keys, c3, element, attempt)
        u = r._unit_float64(a, b)
        if n * p < 10.0:
            result = r._binomial_sum(n, p, none, u)
        else:
            result = r._binomial_try(n, p, u, r._open_float64(_long(c, d)))
        attempt += 1
    return n - result if chance > 0.5 else result


@forall
def philox_binomial(i, keys, c3, base, n, p, out):
    out[i] = _binomial(keys, c3, base + np.uint64(i), n, p)


@forall
def philox_binomial_each(i, keys, c3, base, n, p, out):
    out[i] = _binomial(keys, c3, base + np.uint64(i), r._at(n, i), r._at(p, i))


def _zipf_try(a, u, v):
    """One attempt (Devroye, 1986, X.6.1), by a power of a uniform number that stays below 2**63; -1: rejected. u, v in (0, 1)."""
    power = min(a, 1000.0) - 1.0  # above: all numbers are 1
    x = np.floor(math.exp(-math.log1p(u * math.expm1(-power * _LOG_MOST)) / power))
    if x >= 2.0**63:
        return np.int64(-1)
    t, b = power * math.log1p(1.0 / x), power * math.log(2.0)
    return np.int64(x) if v * x * math.expm1(t) / math.expm1(b) <= math.exp(t - b) else np.int64(-1)


_LOG_MOST = 63.0 * math.log(2.0)


@forall(math="same")
def philox_zipf(i, keys, c3, base, power, out):
    out[i] = _zipf(keys, c3, base + np.uint64(i), power)


@forall(math="same")
def philox_zipf_each(i, keys, c3, base, power, out):
    out[i] = _zipf(keys, c3, base + np.uint64(i), r._at(power, i))


def _zipf(keys, c3, element, power):
    attempt = 0
    result = np.int64(-1)
    while result < 0:
        a, b, c, d = _draw(keys, c3, element, attempt)
        result = _zipf_try(power, r._open_float64(_long(a, b)), r._open_float64(_long(c, d)))
        attempt += 1
    return result


def _vonmises_try(kappa, first, second):
    """One attempt (Best and Fisher, 1979) of the angle from the mean, by two words; 4: rejected."""
    if kappa > 1e6:
        return r._normal2_float64(first, second)[0] / math.sqrt(kappa)
    sine, z = r._sincos_float64(first)
    f = z
    if kappa >= 1e-8:
        tau = 1.0 + math.sqrt(1.0 + 4.0 * kappa * kappa)
        rho = (tau - math.sqrt(2.0 * tau)) / (2.0 * kappa)
        s = (1.0 + rho * rho) / (2.0 * rho) if kappa >= 1e-5 else 1.0 / kappa + kappa  # without the difference
        f = (1.0 + s * z) / (s + z)
        c = kappa * (s - f)
        v = r._open_float64(second)
        if c * (2.0 - c) - v <= 0.0 and math.log(c / v) + 1.0 - c < 0.0:
            return 4.0
    angle = math.acos(min(max(f, -1.0), 1.0))
    return -angle if sine < 0.0 else angle


def _turned(mean, angle):
    return (mean + angle + math.pi) % (2.0 * math.pi) - math.pi


def _vonmises(keys, c3, element, mean, kappa):
    attempt = 0
    angle = 4.0
    while angle == 4.0:
        a, b, c, d = _draw(keys, c3, element, attempt)
        angle = _vonmises_try(kappa, _long(a, b), _long(c, d))
        attempt += 1
    return _turned(mean, angle)


@forall(math="same")
def philox_vonmises(i, keys, c3, base, mean, kappa, out):
    out[i] = _vonmises(keys, c3, base + np.uint64(i), mean, kappa)


@forall(math="same")
def philox_vonmises_each(i, keys, c3, base, mean, kappa, out):
    out[i] = _vonmises(keys, c3, base + np.uint64(i), r._at(mean, i), r._at(kappa, i))


@forall
def philox_integers_each(i, keys, c3, base, low, span, out):
    """A span of 0 is all of 2**64."""
    element = base + np.uint64(i)
    attempt = 0
    width = r._at(span, i)
    a, b, c, d = _draw(keys, c3, element, attempt)
    top, rest = r._multiply(_long(a, b), width)
    if rest < width:
        least = (np.uint64(0) - width) % width
        while rest < least:
            attempt += 1
            a, b, c, d = _draw(keys, c3, element, attempt)
            top, rest = r._multiply(_long(a, b), width)
    out[i] = np.uint64(r._at(low, i)) + (top if width != np.uint64(0) else _long(a, b))


@forall
def philox_choice(i, keys, c3, base, probability, alias, out):
    a, b, c, d = _draw(keys, c3, base + np.uint64(i), 0)
    top, rest = r._multiply(_long(a, b), np.uint64(len(probability)))
    k = np.int64(top)
    out[i] = k if r._unit_float64(c, d) < probability[k] else alias[k]


@forall
def place(i, loc, scale, out):
    """Standard numbers moved and stretched where they lie."""
    out[i] = r._at(loc, i) + r._at(scale, i) * out[i]


# ---- xoroshiro128+: each lane draws its elements in order ----


@forall
def lanes_random_float32(i, states, lanes, low, scale, out):
    for j in range(i, len(out), lanes):
        out[j] = low + scale * np.float32(r.xoroshiro128p_next(states, i) >> np.uint64(40)) * np.float32(2.0**-24)


@forall
def lanes_random_float64(i, states, lanes, low, scale, out):
    for j in range(i, len(out), lanes):
        out[j] = low + scale * r.xoroshiro128p_uniform_float64(states, i)


@forall
def lanes_normal_float32(i, states, lanes, loc, scale, out):
    for j in range(i, len(out), 2 * lanes):
        x, y = r.xoroshiro128p_normal2_float32(states, i)
        out[j] = loc + scale * x
        if j + lanes < len(out):
            out[j + lanes] = loc + scale * y


@forall
def lanes_normal_float64(i, states, lanes, loc, scale, out):
    for j in range(i, len(out), 2 * lanes):
        x, y = r.xoroshiro128p_normal2_float64(states, i)
        out[j] = loc + scale * x
        if j + lanes < len(out):
            out[j + lanes] = loc + scale * y


@forall
def lanes_exponential_float32(i, states, lanes, scale, out):
    for j in range(i, len(out), lanes):
        out[j] = scale * r.xoroshiro128p_exponential_float32(states, i)


@forall
def lanes_exponential_float64(i, states, lanes, scale, out):
    for j in range(i, len(out), lanes):
        out[j] = scale * r.xoroshiro128p_exponential_float64(states, i)


@forall
def lanes_bits(i, states, lanes, out):
    for j in range(i, len(out), lanes):
        high = r.xoroshiro128p_next(states, i) >> np.uint64(32)
        out[j] = (high << np.uint64(32)) | (r.xoroshiro128p_next(states, i) >> np.uint64(32))


@forall
def lanes_integers(i, states, lanes, low, span, least, out):
    for j in range(i, len(out), lanes):
        top, rest = r._multiply(r.xoroshiro128p_next(states, i), span)
        while rest < least:
            top, rest = r._multiply(r.xoroshiro128p_next(states, i), span)
        out[j] = np.uint64(low) + top


@forall
def lanes_gamma(i, states, lanes, shape, scale, out):
    for j in range(i, len(out), lanes):
        out[j] = r.xoroshiro128p_gamma_float64(states, i, shape, scale) if shape > 0.0 else 0.0


@forall
def lanes_gamma_each(i, states, lanes, shape, scale, out):
    for j in range(i, len(out), lanes):
        own = r._at(shape, j)
        out[j] = r.xoroshiro128p_gamma_float64(states, i, own, r._at(scale, j)) if own > 0.0 else 0.0


def _lane_poisson(states, i, mean):
    result = np.int64(-1)
    if mean < 10.0:
        limit = r._exp_float64(-mean)
        product = 1.0
        while result < 0 or product > limit:
            product *= r._open_float64(r.xoroshiro128p_next(states, i))
            result += 1
    else:
        while result < 0:
            u = r.xoroshiro128p_uniform_float64(states, i)
            result = r._poisson_try(mean, u, r._open_float64(r.xoroshiro128p_next(states, i)))
    return result


@forall
def lanes_poisson(i, states, lanes, mean, out):
    for j in range(i, len(out), lanes):
        out[j] = _lane_poisson(states, i, mean)


@forall
def lanes_poisson_each(i, states, lanes, mean, out):
    for j in range(i, len(out), lanes):
        out[j] = _lane_poisson(states, i, r._at(mean, j))


def _lane_binomial(states, i, n, chance):
    p = min(chance, 1.0 - chance)
    none = r._exp_float64(max(n * r._log1p_float64(-p), -700.0))
    result = np.int64(-1)
    while result < 0:
        u = r.xoroshiro128p_uniform_float64(states, i)
        if n * p < 10.0:
            result = r._binomial_sum(n, p, none, u)
        else:
            result = r._binomial_try(n, p, u, r._open_float64(r.xoroshiro128p_next(states, i)))
    return n - result if chance > 0.5 else result


@forall
def lanes_binomial(i, states, lanes, n, p, out):
    for j in range(i, len(out), lanes):
        out[j] = _lane_binomial(states, i, n, p)


@forall
def lanes_binomial_each(i, states, lanes, n, p, out):
    for j in range(i, len(out), lanes):
        out[j] = _lane_binomial(states, i, r._at(n, j), r._at(p, j))


def _lane_zipf(states, i, power):
    result = np.int64(-1)
    while result < 0:
        u = r._open_float64(r.xoroshiro128p_next(states, i))
        result = _zipf_try(power, u, r._open_float64(r.xoroshiro128p_next(states, i)))
    return result


@forall(math="same")
def lanes_zipf(i, states, lanes, power, out):
    for j in range(i, len(out), lanes):
        out[j] = _lane_zipf(states, i, power)


@forall(math="same")
def lanes_zipf_each(i, states, lanes, power, out):
    for j in range(i, len(out), lanes):
        out[j] = _lane_zipf(states, i, r._at(power, j))


def _lane_vonmises(states, i, mean, kappa):
    angle = 4.0
    while angle == 4.0:
        first = r.xoroshiro128p_next(states, i)
        angle = _vonmises_try(kappa, first, r.xoroshiro128p_next(states, i))
    return _turned(mean, angle)


@forall(math="same")
def lanes_vonmises(i, states, lanes, mean, kappa, out):
    for j in range(i, len(out), lanes):
        out[j] = _lane_vonmises(states, i, mean, kappa)


@forall(math="same")
def lanes_vonmises_each(i, states, lanes, mean, kappa, out):
    for j in range(i, len(out), lanes):
        out[j] = _lane_vonmises(states, i, r._at(mean, j), r._at(kappa, j))


@forall
def lanes_integers_each(i, states, lanes, low, span, out):
    for j in range(i, len(out), lanes):
        width = r._at(span, j)
        word = r.xoroshiro128p_next(states, i)
        top, rest = r._multiply(word, width)
        if rest < width:
            least = (np.uint64(0) - width) % width
            while rest < least:
                word = r.xoroshiro128p_next(states, i)
                top, rest = r._multiply(word, width)
        out[j] = np.uint64(r._at(low, j)) + (top if width != np.uint64(0) else word)


@forall
def lanes_choice(i, states, lanes, probability, alias, out):
    for j in range(i, len(out), lanes):
        out[j] = r.xoroshiro128p_choice(states, i, probability, alias)


__getattr__ = _own = made_when_asked(globals())
