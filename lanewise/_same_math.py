"""The functions of `math="same"`: arithmetic that has the same bits on every CPU and GPU.

Everything here is IEEE 754's + - * / sqrt and fma, comparisons and integers, in the order in which it is written: compiled
without contraction. core/py/compiled/same_math.c compiles FUNCTIONS, core/ir/same_math puts calls of them in place of each
target's own functions.

float64: within one unit in the last place. Where a result is not exact, it is the rounded sum of a pair: a number, and what
is missing to some 60 bits (T. J. Dekker, "A floating-point technique for extending the available precision", 1971; sums by
D. E. Knuth, "The Art of Computer Programming", volume 2, 4.2.2; products by fma).
float32: computed in float64 and rounded; tests/same_math goes through all inputs of functions of one argument, and the few
that are too close to the middle of two float32 numbers for 53 bits are listed here, so that all are correctly rounded.

exp     x = k ln 2 + r with ln 2 as a pair (W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980)
log     a table of 128 numbers c with few bits, x = 2^k m, r = m / c - 1 exactly (P. T. P. Tang, "Table-driven implementation
        of the logarithm function in IEEE floating-point arithmetic", 1990)
sin …   pi/2 in three numbers; from 2^30 on with 192 bits of 2/pi (M. Payne and R. Hanek, "Radian reduction for trigonometric
        functions", 1983)
atan    quotients in the place of the argument so that it is at most sqrt 2 - 1
others  by their definition from these, in pairs
The numbers are made by tests/same_math/coefficients.py.
"""

import math

import numpy as np

from lanewise import cuda
from lanewise._same_math_tables import *  # noqa: F403

fma = cuda.fma
high_product = cuda.libdevice.umul64hi
leading_zeros = cuda.clz

INF = math.inf
NAN = math.nan
ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, which is then in the last bits
ROUND_BITS = 0x4338000000000000
LEAST_NORMAL = 2.2250738585072014e-308


# ---- pairs ----


def poly(x, coefficients):
    value = coefficients[0]
    for c in coefficients[1:]:
        value = fma(value, x, c)
    return value


def two_sum(a, b):
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)


def ordered_sum(a, b):
    """Of numbers of which the first is larger, or 0."""
    s = a + b
    return s, (a - s) + b


def two_product(a, b):
    p = a * b
    return p, fma(a, b, -p)


def quotient(a, a_low, b, b_low):
    inverse = 1.0 / b
    q = a * inverse
    return q, (fma(-q, b, a) + (a_low - q * b_low)) * inverse


def root(x, x_low):
    """The square root of a pair, which is positive or 0."""
    s = math.sqrt(x)
    if s == 0.0:
        return s, 0.0
    return s, (fma(-s, s, x) + x_low) * (0.5 / s)


def power_of_two(n):
    """2.0**n for -1023 < n <= 1024, where the latter is infinite."""
    return ((n + 1023) << 52).view(np.float64)


# ---- exponentials ----


def reduced(x):
    """x = n ln 2 + r + tail, for |x| < 2^10."""
    shifted = fma(x, PER_LN2_HIGH, ROUND)
    k = shifted - ROUND
    r0 = fma(-k, LN2_HIGH, x)
    r = fma(-k, LN2_LOW, r0)
    return r, fma(-k, LN2_LOW, r0 - r), shifted.view(np.int64) - ROUND_BITS


def exp_less_one(r, tail):
    """e^(r + tail) - 1 - r."""
    return fma(r * r, poly(r, EXP), fma(tail, r, tail))


def exp_pair(r, tail):
    high = 1.0 + r
    return high, ((1.0 - high) + r) + exp_less_one(r, tail)


def scaled(x, n):
    """x 2^n, rounded once more where it is subnormal."""
    half = n >> 1
    return x * power_of_two(half) * power_of_two(n - half)


def within(x, low, high):
    x = high if x > high else x
    return low if x < low else x


def exp64(x):
    r, tail, n = reduced(within(x, -746.0, 710.0))
    high, low = exp_pair(r, tail)
    return scaled(high + low, n)


def exp2_64(x):
    v = within(x, -1076.0, 1025.0)
    shifted = v + ROUND
    f = v - (shifted - ROUND)
    r, tail = two_product(f, LN2_HIGH)
    high, low = exp_pair(r, fma(f, LN2_LOW, tail))
    return scaled(high + low, shifted.view(np.int64) - ROUND_BITS)


def exp10_64(x):
    v = within(x, -325.0, 309.0)
    shifted = fma(v, LOG2_10, ROUND)
    k = shifted - ROUND
    f = fma(-k, LOG10_2_SHORT, v)
    r, tail = two_product(f, LN10_HIGH)
    r, tail = ordered_sum(r, fma(f, LN10_LOW, tail) - (k * LOG10_2_REST) * LN10_HIGH)
    high, low = exp_pair(r, tail)
    return scaled(high + low, shifted.view(np.int64) - ROUND_BITS)


def expm1_pair(x):
    """For |x| < 50."""
    r, tail, n = reduced(x)
    high, low = ordered_sum(r, exp_less_one(r, tail))
    s = power_of_two(n)
    whole, rest = two_sum(s, -1.0)
    total, error = two_sum(whole, s * high)
    return total, error + (rest + s * low)


def expm1_64(x):
    if abs(x) < 2.0**-54:
        return x
    if x > 50.0:
        return exp64(x)
    high, low = expm1_pair(-40.0 if x < -40.0 else x)
    return high + low


def quarter_exponentials(a):
    """e^a / 4 and e^-a / 4 as pairs, for 0 <= a <= 710.5."""
    r, tail, n = reduced(a)
    high, low = exp_pair(r, tail)
    high, low = ordered_sum(high, low)
    s = power_of_two(n - 2)
    high = high * s
    low = low * s
    inverse = 0.0625 / high
    rest = fma(-inverse, high, 0.0625) - inverse * low
    return high, low, inverse, rest * (16.0 * inverse)


def sinh64(x):
    a = abs(x)
    if a < 0.3:
        z = x * x
        return fma(x * z, poly(z, SINH), x)
    if a > 710.5:
        return math.copysign(INF, x)
    high, low, inverse, rest = quarter_exponentials(a)
    s, error = two_sum(high, -inverse)
    y = s + (error + (low - rest))
    return math.copysign(y + y, x)


def cosh64(x):
    a = abs(x)
    if a > 710.5:
        return INF
    high, low, inverse, rest = quarter_exponentials(a)
    s, error = two_sum(high, inverse)
    y = s + (error + (low + rest))
    return y + y


def tanh64(x):
    a = abs(x)
    if a < 2.0**-28:
        return x
    high, low = expm1_pair(44.0 if a > 22.0 else a + a)
    below, rest = two_sum(high, 2.0)
    q, error = quotient(high, low, below, rest + low)
    return math.copysign(q + error, x)


# ---- logarithms ----


def split(x):
    """x = 2^k m for positive normal numbers, and the place of m's interval in the table."""
    bits = x.view(np.int64)
    offset = bits - 0x3FE6000000000000
    k = offset >> 52
    return k, (bits - (k << 52)).view(np.float64), ((offset >> 45) & 127) * 3


def log_of_interval(i, p, p_low):
    """log(c (p + p_low)) as a pair, where the interval has this place in the table."""
    r = p - 1.0
    h, h_low = two_product(0.5 * r, r)
    a = r - h
    tail = ((r - a) - h) - h_low
    tail = tail + fma(r * (h + h), poly(r, LOG), fma(-p_low, r, p_low))
    s, error = two_sum(LOG_TABLE[i + 1], a)
    return s, error + (tail + LOG_TABLE[i + 2])


def log_parts(x):
    """x = 2^k m, log m as a pair, for positive x."""
    small = x < LEAST_NORMAL
    k, m, i = split(x * 2.0**54 if small else x)
    p, p_low = two_product(m, LOG_TABLE[i])
    r = p - 1.0
    s, low = log_of_interval(i, p, fma(p_low, r * r, p_low))  # a product with 1 - r follows, which should be one with 1 / (1 + r)
    return np.float64(k - 54 if small else k), s, low


def with_exponent(k, s, low):
    """k ln 2 + s + low as a pair."""
    s, error = two_sum(k * LN2_SHORT, s)
    return s, error + fma(k, LN2_REST, low)


def log_pair(x):
    k, s, low = log_parts(x)
    return with_exponent(k, s, low)


def log1p_pair(x, x_low):
    """log(1 + x + x_low), where x_low is below x's last digit."""
    u, rest = two_sum(1.0, x)
    k, m, i = split(u)
    c = LOG_TABLE[i]
    p, p_low = two_product(m, c)
    s, low = log_of_interval(i, p, fma((rest + x_low) * power_of_two(-k if k < 1000 else -1000), c, p_low))
    return with_exponent(np.float64(k), s, low)


def or_special(y, x):
    """The logarithm y of x; of 0, negative numbers, infinity and NaN what it has to be. There is no branch, so that loops can use vectors."""
    y = y if (x > 0.0) & (x < INF) else x
    y = -INF if x == 0.0 else y
    return NAN if x < 0.0 else y


def log64(x):
    s, low = log_pair(x)
    return or_special(s + low, x)


def log2_64(x):
    k, s, low = log_parts(x)
    p, rest = two_product(s, PER_LN2_HIGH)
    rest = rest + fma(s, PER_LN2_LOW, low * PER_LN2_HIGH)
    s, error = two_sum(k, p)
    return or_special(s + (error + rest), x)


def log10_64(x):
    k, s, low = log_parts(x)
    p, rest = two_product(s, PER_LN10_HIGH)
    rest = rest + fma(s, PER_LN10_LOW, low * PER_LN10_HIGH)
    s, error = two_sum(k * LOG10_2_SHORT, p)
    return or_special(s + (error + fma(k, LOG10_2_REST, rest)), x)


def log1p_64(x):
    if abs(x) < 2.0**-54:
        return x
    if not -1.0 < x < INF:
        return -INF if x == -1.0 else NAN if x < -1.0 else x
    s, low = log1p_pair(x, 0.0)
    return s + low


def log_of_twice(a):
    s, low = log_pair(a)
    s, error = two_sum(s, LN2_HIGH)
    return s + (error + (low + LN2_LOW))


def asinh64(x):
    a = abs(x)
    if not 2.0**-28 < a < INF:
        return x
    if a > 2.0**28:
        return math.copysign(log_of_twice(a), x)
    square, square_low = two_product(a, a)
    y, y_low = two_sum(1.0, square)
    s, s_low = root(y, y_low + square_low)
    d, d_low = two_sum(1.0, s)
    q, q_low = quotient(square, square_low, d, d_low + s_low)
    u, u_low = two_sum(a, q)
    s, low = log1p_pair(u, u_low + q_low)
    return math.copysign(s + low, x)


def acosh64(x):
    if not 1.0 <= x < INF:
        return NAN if x < 1.0 else x
    if x > 2.0**28:
        return log_of_twice(x)
    d = x - 1.0
    square, square_low = two_product(d, d)
    y, y_low = two_sum(d + d, square)
    s, s_low = root(y, y_low + square_low)
    u, u_low = two_sum(s, d)
    s, low = log1p_pair(u, u_low + s_low)
    return s + low


def atanh64(x):
    a = abs(x)
    if a < 2.0**-28:
        return x
    if not a < 1.0:
        return math.copysign(INF, x) if a == 1.0 else NAN
    d, d_low = two_sum(1.0, -a)
    q, q_low = quotient(a + a, 0.0, d, d_low)
    s, low = log1p_pair(q, q_low)
    return math.copysign(0.5 * (s + low), x)


def pow_parts(x, y):
    """x^y = (high + low) 2^n for finite positive x and finite y. Far outside of the range n is as far outside."""
    s, low = log_pair(x)
    s, low = ordered_sum(s, low)
    e = y * s
    v = within(e, -760.0, 760.0)
    r, tail, n = reduced(v)
    r, tail = ordered_sum(r, tail + (fma(y, s, -e) + y * low if v == e else 0.0))
    high, low = exp_pair(r, tail)
    return high, low, n


def pow_special(size, x, y):
    """x^y, whose size is known where |x| and y are finite and |x| is not 0: annex F of C. Selections in place of branches."""
    a = abs(x)
    whole = np.floor(y) == y
    half = 0.5 * y
    odd = whole & (np.floor(half) != half)
    size = (INF if (a == 0.0) == (y < 0.0) else 0.0) if (a == 0.0) | (a == INF) else size
    size = (INF if (a > 1.0) == (y > 0.0) else 0.0) if abs(y) == INF else size
    size = 1.0 if a == 1.0 else size
    size = math.copysign(size, x) if odd else size
    size = NAN if (x < 0.0) & (a < INF) & (abs(y) < INF) & (not whole) else size
    size = x + y if (x != x) | (y != y) else size
    return 1.0 if (x == 1.0) | (y == 0.0) else size


def pow64(x, y):
    high, low, n = pow_parts(abs(x), y)
    return pow_special(scaled(high + low, n), x, y)


# ---- trigonometric functions ----


def far_reduced(x):
    """The same for |x| >= 2^30."""
    bits = x.view(np.int64)
    exponent = ((bits >> 52) & 0x7FF) - 1075
    mantissa = ((bits & 0xFFFFFFFFFFFFF) | 0x10000000000000).view(np.uint64)
    first = exponent + 62  # the bit of 2/pi, of which 64 zeros stand in front, from which on the product is below 4
    j = first >> 6
    shift = np.uint64(first & 63)
    back = np.uint64(63) - shift
    b0 = TWO_PER_PI_BITS[j]
    b1 = TWO_PER_PI_BITS[j + 1]
    b2 = TWO_PER_PI_BITS[j + 2]
    b3 = TWO_PER_PI_BITS[j + 3]
    one = np.uint64(1)
    w0 = (b0 << shift) | ((b1 >> one) >> back)
    w1 = (b1 << shift) | ((b2 >> one) >> back)
    w2 = (b2 << shift) | ((b3 >> one) >> back)
    x2 = mantissa * w2
    carried = np.uint64(high_product(mantissa.view(np.int64), w2.view(np.int64)))
    low = mantissa * w1
    x1 = low + carried
    x0 = mantissa * w0 + np.uint64(high_product(mantissa.view(np.int64), w1.view(np.int64))) + (one if x1 < low else np.uint64(0))
    two = np.uint64(2)
    q = np.int64(x0 >> np.uint64(62))
    high = (x0 << two) | (x1 >> np.uint64(62))
    low = (x1 << two) | (x2 >> np.uint64(62))
    minus = high >> np.uint64(63) != np.uint64(0)
    if minus:
        q += 1
        high = ~high + (one if low == np.uint64(0) else np.uint64(0))
        low = np.uint64(0) - low
    zeros = np.uint64(leading_zeros(high.view(np.int64)))
    high = (high << zeros) | ((low >> one) >> (np.uint64(63) - zeros))
    low = low << zeros
    f = np.float64(np.int64(high >> np.uint64(11))) * 2.0**-53
    f_low = np.float64(np.int64(((high & np.uint64(0x7FF)) << np.uint64(42)) | (low >> np.uint64(22)))) * 2.0**-106
    r, tail = two_product(f, HALF_PI_1)
    tail = tail + fma(f, HALF_PI_2, f_low * HALF_PI_1)
    s = power_of_two(-np.int64(zeros))
    s = -s if minus != (x < 0.0) else s
    return r * s, tail * s, -q if x < 0.0 else q


def near_reduced(x):
    """x = q pi/2 + r + tail."""
    shifted = fma(x, TWO_PER_PI, ROUND)
    n = shifted - ROUND
    r0 = fma(-n, HALF_PI_1, x)
    w, w_low = two_product(n, HALF_PI_2)
    r, error = two_sum(r0, -w)
    return r, fma(-n, HALF_PI_3, error - w_low), shifted.view(np.int64)


def sin_rest(r, tail):
    """sin(r + tail) - r."""
    z = r * r
    return fma(r * z, poly(z, SIN), fma(-0.5 * z, tail, tail))


def cos_pair(r, tail):
    z, z_low = two_product(r, r)
    h = 0.5 * z
    w = 1.0 - h
    return w, ((1.0 - w) - h) + (fma(z * z, poly(z, COS), -r * tail) - 0.5 * z_low)


def sine(r, tail, q):
    """sin(q pi/2 + r + tail)."""
    if q & 1:
        high, low = cos_pair(r, tail)
        y = high + low
    else:
        y = r + sin_rest(r, tail)
    return -y if q & 2 else y


def quarters_of(x):
    """x less whole quarters of a turn, its tail, and how many; for finite x."""
    if abs(x) < 2.0**30:
        return near_reduced(x)
    return far_reduced(x)


def sin64(x):
    if abs(x) < 2.0**-27:
        return x
    if not (abs(x) < INF):
        return NAN
    r, tail, q = quarters_of(x)
    return sine(r, tail, q)


def cos64(x):
    if not (abs(x) < INF):
        return NAN
    r, tail, q = quarters_of(x)
    return sine(r, tail, q + 1)


def tan64(x):
    if abs(x) < 2.0**-27:
        return x
    if not (abs(x) < INF):
        return NAN
    r, tail, q = quarters_of(x)
    s, s_low = ordered_sum(r, sin_rest(r, tail))
    c, c_low = cos_pair(r, tail)
    c, c_low = ordered_sum(c, c_low)
    if q & 1:
        y, low = quotient(-c, -c_low, s, s_low)
    else:
        y, low = quotient(s, s_low, c, c_low)
    return y + low


# ---- their inverses ----


def atan_rest(q, q_low):
    """atan(q + q_low) - q, for |q| <= sqrt 2 - 1."""
    z = q * q
    return fma(q * z, poly(z, ATAN), fma(-z, q_low, q_low))


def atan_from(base, base_low, q, q_low):
    s, error = two_sum(base, q)
    return s, error + (base_low + atan_rest(q, q_low))


def atan64(x):
    a = abs(x)
    if a < 2.0**-27:
        return x
    if a < 0.41421356237309503:
        y = a + atan_rest(a, 0.0)
    else:
        if a < 2.414213562373095:
            above, above_low = two_sum(a, -1.0)
            below, below_low = two_sum(a, 1.0)
            q, q_low = quotient(above, above_low, below, below_low)
            s, low = atan_from(QUARTER_PI_HIGH, QUARTER_PI_LOW, q, q_low)
        else:
            q, q_low = quotient(-1.0, 0.0, 1e20 if a > 1e20 else a, 0.0)
            s, low = atan_from(HALF_PI_1, HALF_PI_2, q, q_low)
        y = s + low
    return math.copysign(y, x)


def atan2_pair(a, b):
    """atan(a / b) for finite a > 0, b > 0."""
    if a > 2.0**1000 or b > 2.0**1000:
        a = a * 2.0**-200
        b = b * 2.0**-200
    elif a < 2.0**-900 and b < 2.0**-700:
        a = a * 2.0**200
        b = b * 2.0**200
    elif b < 2.0**-900 and a < 2.0**-700:
        a = a * 2.0**200
        b = b * 2.0**200
    if a * 2.414213562373095 < b:
        q = a / b
        q_low = fma(-q, b, a) / b
        return q, atan_rest(q, q_low)
    if a < 2.414213562373095 * b:
        above, above_low = two_sum(a, -b)
        below, below_low = two_sum(a, b)
        q, q_low = quotient(above, above_low, below, below_low)
        return atan_from(QUARTER_PI_HIGH, QUARTER_PI_LOW, q, q_low)
    q = -b / a
    return atan_from(HALF_PI_1, HALF_PI_2, q, fma(-q, a, -b) / a)


def atan2_64(y, x):
    if y != y or x != x:
        return y + x
    a = abs(y)
    b = abs(x)
    left = math.copysign(1.0, x) < 0.0
    if a == 0.0:
        s, low = 0.0, 0.0
    elif b == 0.0 or (a == INF and b < INF):
        return math.copysign(HALF_PI_1, y)
    elif a == INF:
        s, low = QUARTER_PI_HIGH, QUARTER_PI_LOW
    elif b == INF:
        s, low = 0.0, 0.0
    else:
        s, low = atan2_pair(a, b)
    if left:
        s, error = two_sum(PI_HIGH, -s)
        low = error + (PI_LOW - low)
    return math.copysign(s + low, y)


def asin_of_root(z):
    """asin sqrt z as a pair, z <= 1/4."""
    s, s_low = root(z, 0.0)
    return s, fma(s * z, poly(z, ASIN), fma(0.5 * z, s_low, s_low))


def asin64(x):
    a = abs(x)
    if a <= 0.5:
        if a < 2.0**-27:
            return x
        z = x * x
        return fma(x * z, poly(z, ASIN), x)
    s, low = asin_of_root((1.0 - a) * 0.5)
    s, error = two_sum(HALF_PI_1, -2.0 * s)
    return math.copysign(s + (error + (HALF_PI_2 - 2.0 * low)), x)


def acos64(x):
    if abs(x) <= 0.5:
        z = x * x
        s, error = two_sum(HALF_PI_1, -x)
        return s + (error + fma(-x * z, poly(z, ASIN), HALF_PI_2))
    s, low = asin_of_root((1.0 - abs(x)) * 0.5)
    if x > 0.0:
        return 2.0 * s + 2.0 * low
    s, error = two_sum(PI_HIGH, -2.0 * s)
    return s + (error + (PI_LOW - 2.0 * low))


# ---- roots ----


def cbrt64(x):
    a = abs(x)
    if not 0.0 < a < INF:
        return x
    small = a < LEAST_NORMAL
    bits = (a * 2.0**54 if small else a).view(np.int64)
    exponent = (bits >> 52) + 2049  # 3 n + j, + 3072
    n = exponent // 3
    j = exponent - 3 * n
    m = ((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
    v = poly(m, CBRT)
    h = fma(-m, v * v * v, 1.0)
    v = fma(v * h, fma(0.2222222222222222, h, 0.3333333333333333), v)
    square = v * v
    y = m * square
    y2, y2_low = two_product(y, y)
    y3, y3_low = two_product(y2, y)
    low = ((m - y3) - fma(y2_low, y, y3_low)) * (square * 0.3333333333333333)
    c = 1.0 if j == 0 else CBRT_2_HIGH if j == 1 else CBRT_4_HIGH
    c_low = 0.0 if j == 0 else CBRT_2_LOW if j == 1 else CBRT_4_LOW
    p, p_low = two_product(y, c)
    y = p + (p_low + fma(y, c_low, low * c))
    return math.copysign(y * power_of_two(n - 1024 - (18 if small else 0)), x)


def hypot64(x, y):
    a = abs(x)
    b = abs(y)
    if a == INF or b == INF:
        return INF
    if a < b:
        a, b = b, a
    back = 1.0
    if a > 2.0**500:
        a = a * 2.0**-600
        b = b * 2.0**-600
        back = 2.0**600
    elif a < 2.0**-400:
        a = a * 2.0**600
        b = b * 2.0**600
        back = 2.0**-600
    p, p_low = two_product(a, a)
    q, q_low = two_product(b, b)
    s, error = two_sum(p, q)
    s, low = root(s, error + (p_low + q_low))
    return (s + low) * back


def rsqrt64(x):
    if not 0.0 < x < INF:
        return math.copysign(INF, x) if x == 0.0 else NAN if x < 0.0 or x != x else 0.0
    small = x < 2.0**-900
    v = x * 2.0**200 if small else x
    y = 1.0 / math.sqrt(v)
    p, p_low = two_product(v, y)
    h = fma(p, y, -1.0) + p_low * y
    y = fma(-0.5 * y, h, y)
    return y * 2.0**100 if small else y


# ---- error functions ----


def erfc_parts(x):
    """erfc x = (high + low) 2^n, for 1/2 <= x < 32."""
    i, u = piece(x)
    at = i * 12
    p = ERFC[at]
    for j in (1, 2, 3, 4, 5, 6, 7, 8, 9):
        p = fma(p, u, ERFC[at + j])
    q, q_low = ordered_sum(ERFC[at + 10], fma(p, u, ERFC[at + 11]))
    square, square_low = two_product(x, x)
    r, tail, n = reduced(-square)
    r, tail = ordered_sum(r, tail - square_low)
    e, e_low = exp_pair(r, tail)
    high, low = two_product(e, q)
    return high, low + fma(e, q_low, e_low * q), n


def erf_rest(x):
    """erf x - x, for |x| < 1/2."""
    z = x * x
    return fma(x, poly(z, ERF), x * ERF_LOW)


def erf64(x):
    a = abs(x)
    if a < 0.5:
        return x if x == 0.0 else x + erf_rest(x)
    if not a < 6.0:
        return math.copysign(1.0, x) if a >= 6.0 else x
    high, low, n = erfc_parts(a)
    s = power_of_two(n)
    y, error = two_sum(1.0, -high * s)
    return math.copysign(y + (error - low * s), x)


def erfc64(x):
    a = abs(x)
    if a < 0.5:
        s, error = two_sum(1.0, -x)
        return s + (error - erf_rest(x))
    if not a < 28.0:
        return (2.0 if x < 0.0 else 0.0) if a >= 28.0 else x
    high, low, n = erfc_parts(a)
    if x > 0.0:
        return scaled(high + low, n)
    s = power_of_two(n if n > -1000 else -1000)
    y, error = two_sum(2.0, -high * s)
    return y + (error - low * s)


# ---- gamma functions ----


def piece(x):
    """For tables from 1/2 on: the number of x's interval, and its distance from the middle."""
    bits = x.view(np.int64)
    return (bits - 0x3FE0000000000000) >> 48, x - (((bits >> 48) << 48) | 0x800000000000).view(np.float64)


def binet_of(x):
    """What Stirling's formula lacks of log gamma x, for x >= 1/2."""
    if x >= 16.0:
        inverse = 1.0 / x
        return inverse * poly(inverse * inverse, STIRLING)
    i, u = piece(x)
    at = i * 11
    p = BINET[at]
    for j in (1, 2, 3, 4, 5, 6, 7, 8, 9):
        p = fma(p, u, BINET[at + j])
    return p


def stirling(x):
    """log gamma x as a pair, off by 2^-57 or so, for x >= 1/2."""
    s, low = log_pair(x)
    s, low = ordered_sum(s, low)
    d, d_low = two_sum(x, -0.5)
    p, rest = two_product(d, s)
    e, error = two_sum(p, -x)
    rest = rest + fma(d_low, s, d * low) + error
    e, error = two_sum(e, HALF_LOG_2PI_HIGH)
    rest = rest + (error + HALF_LOG_2PI_LOW)
    e, error = two_sum(e, binet_of(x))
    return ordered_sum(e, rest + error)


def exp_of_pair(e, e_low):
    r, tail, n = reduced(e)
    r, tail = ordered_sum(r, tail + e_low)
    high, low = exp_pair(r, tail)
    high, low = ordered_sum(high, low)
    return high, low, n


def sin_of_turns(a):
    """|sin(pi a)| as a pair, for a >= 0; 0 where a is an integer."""
    t = abs(a - np.rint(a))
    near = t <= 0.25
    t = t if near else 0.5 - t
    r, tail = two_product(t, PI_HIGH)
    tail = fma(t, PI_LOW, tail)
    if near:
        return ordered_sum(r, sin_rest(r, tail))
    high, low = cos_pair(r, tail)
    return ordered_sum(high, low)


def tgamma64(x):
    if not abs(x) < INF:
        return NAN if x < 0.0 else x
    if abs(x) < 2.0**-60:
        return 1.0 / x
    if x > 172.0:
        return INF
    if x >= 0.5:
        e, e_low = stirling(x)
        high, low, n = exp_of_pair(e, e_low)
        return scaled(high + low, n)
    if x > -0.5:
        u, rest = two_sum(1.0, x)
        e, e_low = stirling(u)
        s, low = log_pair(u)
        slope = s - 0.5 / u - 0.08333333333333333 / (u * u)
        high, low, n = exp_of_pair(e, e_low + slope * rest)
        s = power_of_two(n)
        q = high * s / x
        return q + (fma(-q, x, high * s) + low * s) / x
    a = -x
    if a == np.floor(a):
        return NAN
    below = 0.5 * np.floor(a)
    sign = 1.0 if below != np.floor(below) else -1.0
    if a > 190.0:
        return sign * 0.0
    s, s_low = sin_of_turns(a)
    m, m_low = two_product(a, s)
    e, e_low = stirling(a)
    high, low, n = exp_of_pair(-e, -e_low)
    p, p_low = two_product(high, PI_HIGH)
    q, q_low = quotient(p, p_low + fma(high, PI_LOW, low * PI_HIGH), m, fma(a, s_low, m_low))
    return scaled(sign * (q + q_low), n)


def between_zeros(u):
    """log gamma u / ((u - 1) (u - 2)) as a pair, for 1/2 <= u < 4."""
    i, v = piece(u)
    at = i * 11
    p = LGAMMA[at]
    for j in (1, 2, 3, 4, 5, 6, 7, 8):
        p = fma(p, v, LGAMMA[at + j])
    return ordered_sum(LGAMMA[at + 9], fma(p, v, LGAMMA[at + 10]))


def lgamma_pair(a):
    """log gamma a for a > 0."""
    if a >= 4.0:
        return stirling(a)
    small = a < 0.5
    u = 1.0 + a if small else a
    d, d_low = two_sum(u, -1.0)
    d, d_low = (a, 0.0) if small else (d, d_low)
    b, b_low = two_sum(a, -1.0 if small else -2.0)
    p, p_low = two_product(d, b)
    p_low = p_low + fma(d, b_low, d_low * b)
    g, g_low = between_zeros(u)
    q, q_low = two_product(p, g)
    q_low = q_low + fma(p, g_low, p_low * g)
    if not small:
        return q, q_low
    s, low = log_pair(a)
    s, error = two_sum(-s, q)
    return s, error + (q_low - low)


def lgamma64(x):
    if not abs(x) < INF:
        return abs(x)
    if x > 0.0:
        s, low = lgamma_pair(x)
        y = s + low
        return y if y < INF else INF
    a = -x
    if a == np.floor(a):
        return INF
    if a < 2.0**-60:
        s, low = log_pair(a)
        return -(s + low)
    s, s_low = sin_of_turns(a)
    if a < 0.5:
        m, m_low = s, s_low
        g, g_low = lgamma_pair(1.0 + a)
        u, rest = two_sum(1.0, a)
        g_low = g_low + (-0.5772156649015329) * rest
    else:
        m, m_low = two_product(a, s)
        m_low = fma(a, s_low, m_low)
        g, g_low = lgamma_pair(a)
    s, low = log_pair(m)
    low = low + m_low / m
    s, error = two_sum(LOG_PI_HIGH, -s)
    low = error - low + LOG_PI_LOW
    s, error = two_sum(s, -g)
    return s + (error + (low - g_low))


# ---- float32 ----


def odd(high, low):
    """The sum of a pair whose last bit is set where it is not exact: rounded again to fewer bits it is the pair rounded once.

    Pairs are right to about 57 bits: what is less counts as nothing, so that exact results in the middle of two numbers stay there.
    """
    y, rest = ordered_sum(high, low)
    bits = y.view(np.int64)
    if abs(rest) > 2.0**-56 * abs(y) and (bits & 1) == 0:
        bits += 1 if (rest > 0.0) == (y > 0.0) else -1
    return bits.view(np.float64)


def exp32(x):
    v = within(np.float64(x), -104.0, 89.0)
    shifted = fma(v, PER_LN2_HIGH, ROUND)
    k = shifted - ROUND
    r = fma(-k, LN2_LOW, fma(-k, LN2_HIGH, v))
    return np.float32(poly(r, EXP_SINGLE) * power_of_two(shifted.view(np.int64) - ROUND_BITS))


def exp2_32(x):
    v = within(np.float64(x), -151.0, 129.0)
    shifted = v + ROUND
    r = (v - (shifted - ROUND)) * LN2_HIGH
    return np.float32(poly(r, EXP_SINGLE) * power_of_two(shifted.view(np.int64) - ROUND_BITS))


def exp10_32(x):
    v = within(np.float64(x), -46.0, 39.0)
    shifted = fma(v, LOG2_10, ROUND)
    k = shifted - ROUND
    r = fma(-k, LOG10_2_REST, fma(-k, LOG10_2_SHORT, v)) * LN10_HIGH
    return np.float32(poly(r, EXP_SINGLE) * power_of_two(shifted.view(np.int64) - ROUND_BITS))


def log_single(x):
    """log x for a float32 as float64: m / c has at most 34 bits."""
    k, m, i = split(x)
    r = fma(m, LOG_TABLE[i], -1.0)
    n = np.float64(k)
    small = fma(r * r, poly(r, LOG_SINGLE), fma(n, LN2_REST, LOG_TABLE[i + 2]))
    return fma(n, LN2_SHORT, LOG_TABLE[i + 1]) + (r + small)


def log32(x):
    v = np.float64(x)
    return np.float32(or_special(log_single(v), v))


def log2_32(x):
    v = np.float64(x)
    return np.float32(or_special(log_single(v) * PER_LN2_HIGH, v))


def log10_32(x):
    v = np.float64(x)
    return np.float32(or_special(log_single(v) * PER_LN10_HIGH, v))


def near_single(x):
    shifted = fma(x, TWO_PER_PI, ROUND)
    n = shifted - ROUND
    return fma(-n, HALF_PI_2, fma(-n, HALF_PI_1, x)), shifted.view(np.int64)


def sine_single(r, q):
    z = r * r
    y = fma(z, poly(z, COS_SINGLE), 1.0) if q & 1 else fma(r * z, poly(z, SIN_SINGLE), r)
    return np.float32(-y if q & 2 else y)


def sin32(x):
    v = np.float64(x)
    if abs(v) < 2.0**30:
        r, q = near_single(v)
        return x if v == 0.0 else sine_single(r, q)
    if not abs(v) < INF:
        return np.float32(NAN)
    r, tail, q = far_reduced(v)
    return sine_single(r, q)


def cos32(x):
    v = np.float64(x)
    if abs(v) < 2.0**30:
        r, q = near_single(v)
        return sine_single(r, q + 1)
    if not abs(v) < INF:
        return np.float32(NAN)
    r, tail, q = far_reduced(v)
    return sine_single(r, q + 1)


def tan32(x):
    v = np.float64(x)
    if abs(v) < 2.0**30:
        r, q = near_single(v)
    elif abs(v) < INF:
        r, tail, q = far_reduced(v)
    else:
        return np.float32(NAN)
    z = r * r
    s = fma(r * z, poly(z, SIN_SINGLE), r)
    c = fma(z, poly(z, COS_SINGLE), 1.0)
    return x if v == 0.0 else np.float32(-c / s if q & 1 else s / c)


def pow32(x, y):
    u, v = np.float64(x), np.float64(y)
    high, low, n = pow_parts(abs(u), v)
    n = -300 if n < -300 else 300 if n > 300 else n
    return np.float32(pow_special(odd(high, low) * power_of_two(n), u, v))


def atan2_32(y, x):
    v, u = np.float64(y), np.float64(x)
    a, b = abs(v), abs(u)
    if not (0.0 < a < INF and 0.0 < b < INF):
        return np.float32(atan2_64(v, u))
    s, low = atan2_pair(a, b)
    if u < 0.0:
        s, error = two_sum(PI_HIGH, -s)
        low = error + (PI_LOW - low)
    return np.float32(math.copysign(odd(s, low), v))


def hypot32(x, y):
    a, b = abs(np.float64(x)), abs(np.float64(y))
    if a == INF or b == INF:
        return np.float32(INF)
    s, error = two_sum(a * a, b * b)
    s, low = root(s, error)
    return np.float32(odd(s, low))


def _rounded(function):
    """The same in float64, rounded."""

    def rounded(x):
        return np.float32(function(np.float64(x)))

    return rounded


def _but(function, exceptions):
    """The function, but for a few inputs: pairs of the bits of the input and of the result."""

    def excepting(x):
        bits = x.view(np.uint32)
        y = function(x)
        for wrong, right in exceptions:
            y = np.uint32(right).view(np.float32) if bits == np.uint32(wrong) else y
        return y

    return excepting


EXCEPTIONS = {  # float32 inputs whose results 53 bits do not decide: the bits of both; all were found by tests/same_math/single.py
    "exp2": (
        (0x3B429D37, 0x3F804385), (0xBCF3A937, 0x3F7AC6B1),
    ),
    "log": (
        (0x3C413D3A, 0xC08E158F), (0x41178FEB, 0x400FE5E7), (0x4C5D65A5, 0x418F034B), (0x65D890D3, 0x4254D1F9),
        (0x6F31A8EC, 0x42845A89),
    ),
    "log1p": (
        (0x35400003, 0x353FFFFF), (0x3710001B, 0x370FFFF3), (0x3EFD81AD, 0x3ECDEEE1), (0x41078FEB, 0x400FE5E7),
        (0x65D890D3, 0x4254D1F9), (0x6F31A8EC, 0x42845A89), (0xB53FFFFD, 0xB5400001), (0xB70FFFE5, 0xB710000D),
        (0xBB0EC8C4, 0xBB0EF0A5),
    ),
    "sin": (
        (0x46199998, 0xBEB1FA5D), (0xC6199998, 0x3EB1FA5D),
    ),
    "cos": (
        (0x5F18B878, 0x3F7F14BB), (0x6115CB11, 0x3F78142F), (0x61703976, 0x3EDACC56), (0xDF18B878, 0x3F7F14BB),
        (0xE115CB11, 0x3F78142F), (0xE1703976, 0x3EDACC56),
    ),
    "log10": (
        (0x0A4D4CE8, 0xC2000527), (0x0EFEEE7A, 0xC1E99D23), (0x2F149212, 0xC11DE885),
    ),
    "atan": (
        (0x3D8D6B23, 0x3D8D31C3), (0xBD8D6B23, 0xBD8D31C3),
    ),
    "acos": (
        (0x328885A3, 0x3FC90FDB), (0x39826222, 0x3FC907B5),
    ),
    "sinh": (
        (0x3A1285FF, 0x3A1285FF), (0xBA1285FF, 0xBA1285FF),
    ),
    "erfc": (
        (0xB76C9F62, 0x3F800085),
    ),
    "asinh": (
        (0x4BDD65A5, 0x418F034B), (0x655890D3, 0x4254D1F9), (0x6EB1A8EC, 0x42845A89), (0xCBDD65A5, 0xC18F034B),
        (0xE55890D3, 0xC254D1F9), (0xEEB1A8EC, 0xC2845A89),
    ),
    "acosh": (
        (0x655890D3, 0x4254D1F9), (0x6EB1A8EC, 0x42845A89),
    ),
    "lgamma": (
        (0x3B7C53AA, 0x40B1D661), (0xB0D6F2CA, 0x41A23559),
    ),
    "tgamma": (
        (0x27DE86A9, 0x57134133), (0x27E05475, 0x57121211),
    ),
}

FUNCTIONS = {  # names of core/tables/intrinsics.def: for float32, for float64
    "rsqrt": (_rounded(rsqrt64), rsqrt64),
    "cbrt": (_rounded(cbrt64), cbrt64),
    "exp": (exp32, exp64),
    "exp2": (exp2_32, exp2_64),
    "exp10": (exp10_32, exp10_64),
    "expm1": (_rounded(expm1_64), expm1_64),
    "log": (log32, log64),
    "log2": (log2_32, log2_64),
    "log10": (log10_32, log10_64),
    "log1p": (_rounded(log1p_64), log1p_64),
    "sin": (sin32, sin64),
    "cos": (cos32, cos64),
    "tan": (tan32, tan64),
    "asin": (_rounded(asin64), asin64),
    "acos": (_rounded(acos64), acos64),
    "atan": (_rounded(atan64), atan64),
    "atan2": (atan2_32, atan2_64),
    "sinh": (_rounded(sinh64), sinh64),
    "cosh": (_rounded(cosh64), cosh64),
    "tanh": (_rounded(tanh64), tanh64),
    "asinh": (_rounded(asinh64), asinh64),
    "acosh": (_rounded(acosh64), acosh64),
    "atanh": (_rounded(atanh64), atanh64),
    "pow": (pow32, pow64),
    "hypot": (hypot32, hypot64),
    "erf": (_rounded(erf64), erf64),
    "erfc": (_rounded(erfc64), erfc64),
    "tgamma": (_rounded(tgamma64), tgamma64),
    "lgamma": (_rounded(lgamma64), lgamma64),
}
FUNCTIONS.update((name, (_but(FUNCTIONS[name][0], exceptions), FUNCTIONS[name][1])) for name, exceptions in EXCEPTIONS.items())
