"""Functions of scipy.special in compiled code.

Compiled, never called. The front end takes the function of this module that has the name of the function of scipy.special which is
called (core/tables/array_functions.def, core/front/read/array_function.c). Each is one algorithm for CPUs and GPUs; only functions that
core/tables/intrinsics.def has, erf and gamma among them, are those of the target.

What begins with an underscore, and the polynomials, are compiled once, however often they are called (core/emit/inlining.c): libNVVM puts
gamma, pow and the like in line wherever they are called.

The result is float32 where all numbers are float32 or Python's, else float64. What is named after `_t(x)` is computed in that type,
everything else in float64 and rounded once. Polynomials are in lanewise/_special_fits.py. DLMF is the NIST Digital Library of
Mathematical Functions, https://dlmf.nist.gov.
"""

from __future__ import annotations

import cmath
import math

import numpy as np

from lanewise import _special_fits as fits
from lanewise._core import intrinsics

_fma = intrinsics.cuda.fma
_exp10 = intrinsics.cuda.libdevice.exp10
_exp10f = intrinsics.cuda.libdevice.exp10f

_EPS = 2.0**-53
_HUGE = 1e308
_EULER = 0.5772156649015329
_LOG_2_LESS_EULER = 0.11593151565841245
_PI = math.pi
_HALF_PI = math.pi / 2
_TWO_OVER_PI = 2 / math.pi
_SQRT_2_PI = math.sqrt(2 * math.pi)
_SQRT_HALF = math.sqrt(0.5)
_SQRT_HALF_LOW = -4.833646656726457e-17  # sqrt(1 / 2) is the sum of both
_SQRT_2 = math.sqrt(2.0)


# ---- types ----


def _t(x):
    """The type of a function of x."""
    return np.float32 if type(x * 1.0) == np.float32 else np.float64


def _t2(x, y):
    return np.float32 if type(x * 1.0 + y * 1.0) == np.float32 else np.float64


def _t3(x, y, z):
    return np.float32 if type(x * 1.0 + y * 1.0 + z * 1.0) == np.float32 else np.float64


# ---- what others need ----


def _nan(x):
    """NaN: on the CPU, an invalid value by the floating-point flags, except where x is NaN."""
    return (x - x) * math.inf


def _lib_lgamma(x):
    return math.lgamma(x)


def _lib_pow(x, y):
    return math.pow(x, y)


def _lib_erfc(x):
    return math.erfc(x)


def _lib_expm1(x):
    return math.expm1(x)


def _lib_exp(x):
    return math.exp(x)


def _times_exp(value, x):
    """value * exp(x), where exp(x) may be too large."""
    is_large = x > 700.0
    e = math.exp(0.5 * x if is_large else x)
    return value * e * (e if is_large else 1.0)


def _exp_of_square(x):
    """exp(x * x): the rounding error of the square counts."""
    s = x * x
    if s > 709.8:
        return math.inf
    return math.exp(s) * (1.0 + _fma(x, x, -s))


def _sinpi(x):
    n = np.rint(x)
    s = math.sin(_PI * (x - n))
    return -s if math.fmod(n, 2.0) != 0.0 else s


def _sinpi_of_sum(x, y):
    """sin(pi * (x + y)), where the sum may be rounded to a multiple of 1."""
    return _sinpi(math.fmod(x, 2.0) + math.fmod(y, 2.0))


def _log1pmx(d):
    """log1p(d) - d."""
    if -0.5 <= d and d <= 1.0:  # log1p(d) = 2 atanh(s)
        s = d / (2.0 + d)
        return s * (2.0 * s * s * fits.atanh_rest(s * s) - d)
    return math.log1p(d) - d


def _stirling(a):
    """log(gamma(a)) - ((a - 0.5) * log(a) - a + log(2 * pi) / 2), for a >= 8 (DLMF 5.11.1)."""
    return fits.stirling_rest(1.0 / (a * a)) / a


def _lgamma1p(a):
    """log(gamma(1 + a)) for a > -0.5."""
    return -math.log1p(a * fits.rgamma1p_rest(a)) if a <= 0.5 else _lib_lgamma(1.0 + a)


def _log_gamma_ratio(a, b):
    """log(gamma(a) / gamma(a + b)) + b * log(a + b), for a >= 10, b >= 0."""
    d = b / a
    return -a * _log1pmx(d) + 0.5 * math.log1p(d) + _stirling(a) - _stirling(a + b)


def _lost_of_sum(a, b):
    """What a + b loses by rounding."""
    total = a + b
    part = total - a
    return (a - (total - part)) + (b - part)


# ---- gamma and what is like it ----


def _gamma_product(x):
    """gamma(x) for -24 <= x <= 24, as numerator and denominator: of 1 + t, |t| <= 0.5, and recurrence (DLMF 5.5.1)."""
    n = np.rint(x)
    t = x - n
    above = 1.0
    i = 1.0
    while i < n:
        above *= t + i
        i += 1.0
    below = 1.0
    i = 0.0
    while i >= n:
        below *= t + i
        i -= 1.0
    return above, below * (1.0 + t * fits.rgamma1p_rest(t))


def _gamma_stirling(x):
    """gamma(x) for 24 < x < 250, as two factors, as it may be too large (DLMF 5.11.1)."""
    is_large = x >= 140.0
    power = _lib_pow(x, 0.5 * x - 0.25 if is_large else x - 0.5)
    return _SQRT_2_PI * power * (math.exp(-x) * math.exp(_stirling(x))), power if is_large else 1.0


def _gamma(x):
    if abs(x) <= 24.0:
        if x == np.floor(x) and x <= 0.0:
            return 1.0 / x if x == 0.0 else _nan(x)
        above, below = _gamma_product(x)
        return above / below
    if x > 0.0:
        if x > 171.7:
            return x * _HUGE
        value, factor = _gamma_stirling(x)
        return value * factor
    if x == np.floor(x) or x != x:
        return _nan(x)
    if x < -200.0:
        return math.copysign(0.0, _sinpi(x))
    value, factor = _gamma_stirling(-x)  # gamma(x) * gamma(-x) * x * sin(pi * x) = -pi (DLMF 5.5.1 and 5.5.3): 1 - x would be rounded
    return _PI / (-x * _sinpi(x)) / value / factor


def _rgamma1p(a):
    """1 / gamma(1 + a) for 0 <= a < 140: 1 + a would be rounded."""
    if a <= 0.5:
        return 1.0 + a * fits.rgamma1p_rest(a)
    if a <= 24.0:
        above, below = _gamma_product(a)
        return below / (above * a)
    value, factor = _gamma_stirling(a)
    return 1.0 / (value * factor * a)


def gamma(x):
    v = _t(x)(x)
    return math.gamma(v) if type(v) == np.float32 else _gamma(v)


def gammaln(x):
    v = _t(x)(x)
    return v if v == -math.inf else math.lgamma(v)


def loggamma(x):
    v = _t(x)(x)
    return _nan(v) if v < 0.0 else math.lgamma(v)


def _gammasgn(x):
    if x > 0.0 or x != x:
        return math.copysign(1.0, x) if x == x else x
    if x == 0.0:
        return math.copysign(1.0, x)
    if x == np.floor(x):
        return _nan(x)
    return 1.0 if math.fmod(np.floor(x), 2.0) == 0.0 else -1.0


def gammasgn(x):
    return _t(x)(_gammasgn(np.float64(x)))


def _rgamma(x):
    if abs(x) <= 24.0:
        if x == np.floor(x) and x <= 0.0:
            return x if x == 0.0 else 0.0
        above, below = _gamma_product(x)
        return below / above
    if x > 0.0:
        if x > 180.0:
            return 0.0
        value, factor = _gamma_stirling(x)
        return 1.0 / value / factor
    if x == np.floor(x) or x != x:
        return x if x != x else 0.0
    if x < -200.0:
        return math.copysign(x * -_HUGE, _sinpi(x))
    value, factor = _gamma_stirling(-x)
    return -x * _sinpi(x) / _PI * value * factor


def rgamma(x):
    return _t(x)(_rgamma(np.float64(x)))


def _psi_right(x):
    """For x > 0: recurrence (DLMF 5.5.2) to [1, 2], or the asymptotic expansion (DLMF 5.11.2)."""
    s = 0.0
    if x < 1.0:
        s = -1.0 / x
        x += 1.0
    if x < 10.0:
        while x > 2.0:
            x -= 1.0
            s += 1.0 / x
        return fits.digamma_12(x) + s
    w = 1.0 / (x * x)
    p = (((((((-3617 / 8160 * w + 1 / 12) * w - 691 / 32760) * w + 1 / 132) * w - 1 / 240) * w + 1 / 252) * w - 1 / 120) * w + 1 / 12) * w
    return math.log(x) - 0.5 / x - p


def _psi(x):
    if x > 0.0:
        return _psi_right(x)
    if x == 0.0:
        return -1.0 / x
    n = np.rint(x)
    if x == n or x != x:
        return _nan(x)
    return _psi_right(1.0 - x) - _PI / math.tan(_PI * (x - n))  # reflection (DLMF 5.5.4)


def psi(x):
    return _t(x)(_psi(np.float64(x)))


_BERNOULLI = (  # B_2k / (2 k)!
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600, -3617 / 10670622842880000,
    43867 / 5109094217170944000, -174611 / 802857662698291200000,
)


def _power(x, y, whole):
    """x**y; whole: y is a negative integer, of few bits."""
    if not whole:
        return _lib_pow(x, y)
    n = int(-y)
    value = 1.0
    while n > 0:
        if n & 1:
            value *= x
        x *= x
        n >>= 1
    return 1.0 / value


def _hurwitz_sum(s, q):
    """sum (k + q)**-s over k >= 0, for s > 1, by the Euler-Maclaurin formula (DLMF 25.11.5 and 2.10.1)."""
    if q > 1e8:
        return (1.0 / (s - 1.0) + 0.5 / q) * _lib_pow(q, 1.0 - s)
    w = q
    whole = s == np.floor(s) and s < 64.0
    term = _power(w, -s, whole)
    total = term
    while w < 12.0 + 0.5 * s:
        w += 1.0
        term = _power(w, -s, whole)
        total += term
        if w > 0.0 and not (abs(term) > 1e-18 * abs(total)):  # also where both are infinite, or total is NaN
            return total
    return total + _rest_of_sum(s, w, term)


def _rest_of_sum(s, w, term):
    """The sum of what follows on term, in proportion to w**-s."""
    total = term * w / (s - 1.0) - 0.5 * term
    rising = s
    term /= w
    i = 1.0
    for b in _BERNOULLI:
        total += b * rising * term
        rising *= (s + i) * (s + i + 1.0)
        term /= w * w
        i += 2.0
    return total


def _hurwitz(s, q):
    """The Hurwitz zeta function; where q is negative the sum of the terms, of integer s only."""
    if not (s > 1.0) or q != q:
        return math.inf if s == 1.0 and q == q else _nan(s + q)
    if q <= 0.0:
        if q == np.floor(q):
            return 1.0 / (q - np.floor(q))
        if s != np.floor(s):
            return _nan(s + q)
    if s == math.inf:
        return 0.0 if q > 1.0 else 1.0 if q == 1.0 else math.inf
    if q >= 0.0:
        return _hurwitz_sum(s, q)
    f = q - np.floor(q)
    is_even = math.fmod(s, 2.0) == 0.0
    if f == 0.5 and not is_even:  # the terms below 0 cancel as many above
        return _hurwitz_sum(s, 1.0 - q)
    if q >= -40.0:
        value = _hurwitz_sum(s, q)
    else:  # the terms below 0 are a difference of two such sums
        mirrored = _hurwitz_sum(s, 1.0 - f)
        rest = _hurwitz_sum(s, 1.0 - q)
        value = _hurwitz_sum(s, f) + mirrored - rest if is_even else _hurwitz_sum(s, f) - mirrored + rest
    if value != value:  # the difference of two infinite terms: the larger is that next to 0
        return math.inf if f < 0.5 else -math.inf
    return value


def _zetac_right(x):
    """zeta(x) - 1 for x >= -0.5."""
    if x < 2.0:
        return 1.0 / (x - 1.0) + (fits.zeta_rest(x) - 1.0)
    if x < 64.0:
        return np.exp2(-x) * fits.zetac_2x(x)
    return np.exp2(-x) + _lib_pow(3.0, -x)


def _zeta(x):
    if x >= 2.0:
        return 1.0 + _zetac_right(x)
    if x >= -0.5:
        return 1.0 / (x - 1.0) + fits.zeta_rest(x)
    if x == -math.inf or x != x:
        return _nan(x)
    if 0.5 * x == np.floor(0.5 * x):
        return 0.0
    if x < -275.0:
        return math.copysign(x * -_HUGE, _sinpi(0.5 * x))
    # the functional equation (DLMF 25.4.1), with -x * gamma(-x) for gamma(1 - x): 1 - x would be rounded
    rest = -x * _sinpi(0.5 * x) / _PI * (1.0 + _zetac_right(1.0 - x))
    value = _lib_pow(2.0 * _PI, x) * (1.0 + x * 3.8981718325193755e-17)  # pi is not a float
    if x > -140.0:
        return value * _gamma(-x) * rest
    root = _lib_pow(-x, -0.25 * x - 0.125)  # gamma(-x) by Stirling's formula may be too large
    return value * root * (_SQRT_2_PI * math.exp(x) * math.exp(_stirling(-x))) * root * root * (root * rest)


def zeta(x, q=None):
    if q is None:
        return _t(x)(_zeta(np.float64(x)))
    return _t2(x, q)(_hurwitz(np.float64(x), np.float64(q)))


def zetac(x):
    v = np.float64(x)
    return _t(x)(_zetac_right(v) if v >= -0.5 else _zeta(v) - 1.0)


def _large_polygamma(n, x):
    """n! * zeta(n + 1, x), where one of the factors may be out of range: n! / x**(n + 1) times the sum of (x / (x + k))**(n + 1)."""
    power = n * (math.log(n / x) - 1.0)
    if power > 720.0 or power < -800.0:
        return power * _HUGE if power > 0.0 else 0.0
    s = n + 1.0
    w = x
    term = 1.0
    total = 1.0
    while w < 12.0 + 0.5 * s and term > 1e-18 * total:
        w += 1.0
        term = math.exp(-s * math.log1p((w - x) / x))
        total += term
    if term > 1e-18 * total:
        total += _rest_of_sum(s, w, term)
    e = math.exp(0.5 * power)
    return e * (math.sqrt(2.0 * _PI * n) * math.exp(_stirling(n)) * (total / x)) * e


def _polygamma(n, x):
    """DLMF 25.11.12."""
    if n == 0.0:
        return _psi(x)
    if not (n > 0.0) or n != np.floor(n):
        return _nan(n + x)
    if x < 0.0 and x - np.floor(x) == 0.5 and math.fmod(n, 2.0) == 0.0:  # DLMF 5.15.6, where the cotangent is 0
        x = 1.0 - x
    if n > 100.0 and x > 0.0 and n < math.inf and x < math.inf:
        value = _large_polygamma(n, x)
    else:
        value = _gamma(n + 1.0) * _hurwitz(n + 1.0, x)
    return value if math.fmod(n, 2.0) == 1.0 else -value


def polygamma(n, x):
    return _t2(n, x)(_polygamma(np.float64(n), np.float64(x)))


def _power_over_gamma(a, x):
    """x**a * exp(-x) / gamma(a + 1), for a > 0, x > 0."""
    if a < 90.0:
        if x >= 1400.0:
            return 0.0
        is_large = x >= 500.0
        e = math.exp(-0.5 * x if is_large else -x)
        return _lib_pow(x, a) * e * _rgamma1p(a) * (e if is_large else 1.0)
    d = (x - a) / a
    rest = math.exp(-_stirling(a)) / math.sqrt(2.0 * _PI * a)
    q = x / a
    power = _lib_pow(q, 0.5 * a) if abs(d) >= 0.3 and abs(x - a) <= 1400.0 else 0.0
    if power < 1e-307:
        return math.exp(a * (_log1pmx(d) if d >= -0.5 else math.log(x / a) - d)) * rest
    root = power * math.exp(0.5 * (a - x))  # of (x / a)**a * exp(a - x); below, what the quotient and the difference lose by rounding
    return root * (rest * (1.0 + (_fma(-q, a, x) / q + _lost_of_sum(a, -x)))) * root


def _gammainc_series(a, x):
    """P(a, x), DLMF 8.11.4."""
    term = 1.0
    total = 1.0
    n = a
    while term > _EPS * total:
        n += 1.0
        term *= x / n
        total += term
    return total * _power_over_gamma(a, x)


def _gammaincc_series(a, x):
    """Q(a, x) for small a and x (DLMF 8.7.1): differences from 1 by themselves, as in DiDonato and Morris, "Computation of the
    incomplete gamma function ratios and their inverse", 1986."""
    power = a * math.log(x) - _lgamma1p(a)
    term = 1.0
    total = 0.0
    n = 0.0
    while abs(term) > 1e-18:
        n += 1.0
        term *= -x / n
        total += term / (a + n)
    return -_lib_expm1(power) - math.exp(power) * a * total


def _gammaincc_fraction(a, x):
    """Q(a, x) by the even part of the continued fraction DLMF 8.9.2, summed as in DLMF 3.10(iii) (Steed's algorithm)."""
    b = x + 1.0 - a
    d = 1.0 / b
    step = d
    h = d
    i = 1.0
    while i < 10000.0:
        k = i * (a - i)
        b += 2.0
        before = d
        d = 1.0 / (k * d + b)
        step *= -k * before * d
        h += step
        if abs(step) < _EPS * abs(h):
            break
        i += 1.0
    return h * a * _power_over_gamma(a, x)


def _temme(a, x, sign):
    """Q(a, x) for sign 1, P(a, x) for -1: the uniform expansion (DLMF 8.12.3 and 8.12.4; Temme, "The asymptotic expansion of the
    incomplete gamma functions", 1979)."""
    d = (x - a) / a
    half = -_log1pmx(d)
    eta = math.copysign(math.sqrt(2.0 * half), d)
    rest = math.exp(-a * half) / math.sqrt(2.0 * _PI * a) * fits.temme_sum(eta, a)
    return 0.5 * _lib_erfc(sign * eta * math.sqrt(0.5 * a)) + sign * rest


def _gamma_limits(a, x):
    """P(a, x) where it is no number between 0 and 1, else -1: NaN without a flag, which would take time here."""
    if not (a >= 0.0 and x >= 0.0):
        return math.nan
    if a == 0.0:
        return 1.0 if x > 0.0 else math.nan
    if x == 0.0:
        return 0.0
    if a == math.inf:
        return math.nan if x == math.inf else 0.0
    return 1.0 if x == math.inf else -1.0


def _gammainc(a, x):
    limit = _gamma_limits(a, x)
    if limit != -1.0:
        return limit if limit == limit else _nan(a + x)
    if a > 20.0 and abs(x - a) < 0.3 * a:
        return _temme(a, x, -1.0)
    if x > 1.0 and x > a:
        return 1.0 - _gammaincc_fraction(a, x)
    return _gammainc_series(a, x)


def _gammaincc(a, x):
    limit = _gamma_limits(a, x)
    if limit != -1.0:
        return 1.0 - limit if limit == limit else _nan(a + x)
    if a > 20.0 and abs(x - a) < 0.3 * a:
        return _temme(a, x, 1.0)
    if x > 1.1:
        return 1.0 - _gammainc_series(a, x) if x < a else _gammaincc_fraction(a, x)
    if (x <= 0.5 and -0.4 / math.log(x) < a) or (x > 0.5 and 1.1 * x < a):
        return 1.0 - _gammainc_series(a, x)
    return _gammaincc_series(a, x)


def gammainc(a, x):
    return _t2(a, x)(_gammainc(np.float64(a), np.float64(x)))


def gammaincc(a, x):
    return _t2(a, x)(_gammaincc(np.float64(a), np.float64(x)))


# ---- beta ----


def _times_gamma_ratio(value, a, b):
    """value * gamma(a) / gamma(a + b) for a >= 9, a + b >= 9, where the quotient may be out of range."""
    log = _log_gamma_ratio(a, b) if b >= 0.0 else -_log_gamma_ratio(a + b, -b)
    root = _lib_pow(a + b if b >= 0.0 else a, -0.5 * b)
    return value * root * math.exp(log) * root


def _lost_of_gamma(x, lost):
    """gamma(x + lost) / gamma(x) - 1, where x is a rounded sum and lost what it lost."""
    return 0.0 if lost == 0.0 or _is_pole(x) else lost * _psi(x)


def _beta_right(a, b):
    """For a >= b > 0."""
    if b >= 10.0:
        if b > 2000.0:
            return 0.0
        total = a + b
        lost = _lost_of_sum(a, b)
        x = a / total
        y = b / total
        # x**a and y**b of the exact quotients: pow is accurate where the exponential function of a logarithm would not be
        rest = _stirling(a) + _stirling(b) - _stirling(total) + (_fma(-x, total, a) - x * lost) + (_fma(-y, total, b) - y * lost)
        return math.sqrt(2.0 * _PI * (1.0 / a + 1.0 / b)) * _lib_pow(x, a) * _lib_pow(y, b) * math.exp(rest)
    if a >= 10.0:
        return _times_gamma_ratio(_gamma(b), a, b)
    total = a + b
    lost = _lost_of_sum(a, b)
    return _gamma(a) / (_gamma(total) * (1.0 + lost * _psi_right(total) if lost != 0.0 else 1.0)) * _gamma(b)


def _betaln_right(a, b):
    if b >= 10.0:
        rest = _stirling(a) + _stirling(b) - _stirling(a + b)
        return 0.5 * math.log(2.0 * _PI * (1.0 / a + 1.0 / b)) + (rest - a * math.log1p(b / a) - b * math.log1p(a / b))
    if a >= 10.0:
        return (_lib_lgamma(b) if b > 1e-300 else -math.log(b)) - b * math.log(a + b) + _log_gamma_ratio(a, b)
    return math.log(_beta_right(a, b)) if b > 1e-300 else math.log1p(b / a) - math.log(b)


def _is_pole(x):
    return x <= 0.0 and x == np.floor(x)


def _beta_with_poles(a, b, log):
    """Where gamma(a) has a pole: a finite limit if gamma(a + b) has one, too, and b is a positive integer."""
    if b == np.floor(b) and 1.0 - a - b > 0.0:
        c = 1.0 - a - b
        if log:
            return _betaln_right(c if c > b else b, b if c > b else c) if b > 0.0 else math.inf
        value = _beta_right(c if c > b else b, b if c > b else c) if b > 0.0 else math.inf
        return value if math.fmod(b, 2.0) == 0.0 else -value
    return 1.0 / (a - np.floor(a))


def _beta_reflected(a, b):
    """What beta is where one argument is negative: sines / factor, times or divided by beta(c, d) with positive c and d (DLMF 5.5.3)."""
    if a < 0.0 and b < 0.0:
        return _PI * _sinpi_of_sum(a, b) / (_sinpi(a) * _sinpi(b)), 1.0 - a - b, 1.0 - a, 1.0 - b, False
    if b > 0.0:
        a, b = b, a
    if a + b < 0.0:
        return _sinpi_of_sum(a, b) / _sinpi(b), 1.0, a, 1.0 - a - b, True
    return _PI / _sinpi(b), a, 1.0 - b, a + b, False


def _beta(a, b):
    if a != a or b != b:
        return _nan(a + b)
    if a == -math.inf or b == -math.inf:
        return math.inf
    if a > 0.0 and b > 0.0:
        return _beta_right(a if a > b else b, b if a > b else a) if a != math.inf and b != math.inf else 0.0
    if _is_pole(a):
        return _beta_with_poles(a, b, False)
    if _is_pole(b):
        return _beta_with_poles(b, a, False)
    if _is_pole(a + b) and _lost_of_sum(a, b) == 0.0:
        return 0.0
    if a == math.inf or b == math.inf:  # the sign of gamma of the other one, which is negative
        return math.copysign(math.inf, _gammasgn(min(a, b)))
    if abs(a) < abs(b):
        a, b = b, a
    total = a + b
    if a >= 9.0 and total >= 9.0 and b > -100.0:
        return _times_gamma_ratio(_gamma(b), a, b)
    if a > -160.0 and a < 170.0 and total > -160.0:
        return _gamma(a) * _rgamma(total) * (1.0 - _lost_of_gamma(total, _lost_of_sum(a, b))) * _gamma(b)
    sines, factor, c, d, is_above = _beta_reflected(a, b)
    value = _beta_right(c if c > d else d, d if c > d else c)
    if value < 1e-300:  # the quotient may be in the range
        log = _betaln_right(c if c > d else d, d if c > d else c)
        return math.copysign(math.exp(math.log(abs(sines)) - math.log(factor) + (log if is_above else -log)), sines)
    return sines / factor * value if is_above else sines / factor / value


def _betaln(a, b):
    if a != a or b != b:
        return _nan(a + b)
    if a == -math.inf or b == -math.inf:
        return math.inf
    if a > 0.0 and b > 0.0:
        return _betaln_right(a if a > b else b, b if a > b else a) if a != math.inf and b != math.inf else -math.inf
    if _is_pole(a):
        return _beta_with_poles(a, b, True)
    if _is_pole(b):
        return _beta_with_poles(b, a, True)
    if _is_pole(a + b) and _lost_of_sum(a, b) == 0.0:
        return -math.inf
    if a == math.inf or b == math.inf:
        return math.inf
    if min(abs(a), abs(b)) < 1e-200:  # beta is 1 / a + 1 / b
        return math.log(abs(a + b)) - math.log(abs(a)) - math.log(abs(b))
    value = abs(_beta(a, b))
    if value > 1e-290 and value < 1e290:
        return math.log(value)
    sines, factor, c, d, is_above = _beta_reflected(a, b)
    value = _betaln_right(c if c > d else d, d if c > d else c)
    return math.log(abs(sines) / factor) + (value if is_above else -value)


def beta(a, b):
    return _t2(a, b)(_beta(np.float64(a), np.float64(b)))


def betaln(a, b):
    return _t2(a, b)(_betaln(np.float64(a), np.float64(b)))


def _beyond_mean(a, b, x):
    """(a + b) * x - a, rounded once: 1 - x, which is itself rounded, times a large b would lose it."""
    return _fma(x, a + b, -a) + x * _lost_of_sum(a, b)


def _lost_beside(x, y):
    """What the larger one of x and y = 1 - x has lost: it has been rounded, where one was."""
    return (1.0 - y) - x if y > x else (1.0 - x) - y


def _root_of_ratio(x, lost, total, lost_of_total, a):
    """((x + lost) * (total + lost_of_total) / a)**(a / 2), and what the rounded quotient has lost of its a-th power."""
    p = x * total
    q = p / a
    return _lib_pow(q, 0.5 * a), a * (((_fma(-q, a, p) + _fma(x, total, -p)) + (x * lost_of_total + lost * total)) / p)


def _beta_power(a, b, x, y, c):
    """x**a * y**b / beta(a, b), y = 1 - x, c = (a + b) * x - a."""
    if a >= 10.0 and b >= 10.0:
        d = c / a
        e = -c / b
        power = a * (_log1pmx(d) if d >= -0.5 else math.log(x * (a + b) / a) - d) + b * (_log1pmx(e) if e >= -0.5 else math.log(y * (a + b) / b) - e)
        rest = _stirling(a + b) - _stirling(a) - _stirling(b)
        front = math.sqrt(a / (a + b) * b / (2.0 * _PI))
        if power < -12.0 and power > -720.0:  # exp would make |power| ULP of the exponent's rounding
            lost = _lost_beside(x, y)
            lost_of_total = _lost_of_sum(a, b)
            root_x, rest_x = _root_of_ratio(x, 0.0 if y > x else lost, a + b, lost_of_total, a)
            root_y, rest_y = _root_of_ratio(y, lost if y > x else 0.0, a + b, lost_of_total, b)
            root = root_x * root_y
            if root_x > 1e-290 and root_y > 1e-290 and root_x < 1e290 and root_y < 1e290 and abs(rest_x + rest_y) < 1e-8:
                return root * (front * math.exp(rest) * (1.0 + (rest_x + rest_y))) * root
        return front * math.exp(power + rest)
    log_y = math.log1p(-x) if x < 0.5 else math.log(y)
    log_x = math.log1p(-y) if y < 0.5 else math.log(x)
    power = a * log_x + b * log_y
    if power < -12.0:
        rest = _lost_beside(x, y) * (b / y if y > x else a / x)
        root = _lib_pow(x, 0.5 * a) * _lib_pow(y, 0.5 * b)
        if root > 1e-290 and abs(rest) < 1e-8:
            return root * ((1.0 + rest) / (_beta_right(a, b) if a > b else _beta_right(b, a))) * root
    if power < -708.0:  # the product would be subnormal
        return math.exp(power - (_betaln_right(a, b) if a > b else _betaln_right(b, a)))
    by_x = math.exp(a * log_x) if y < 0.25 else _lib_pow(x, a)
    by_y = math.exp(b * log_y) if x < 0.25 else _lib_pow(y, b)
    return by_x * by_y / (_beta_right(a, b) if a > b else _beta_right(b, a))


def _betainc_fraction(a, b, x, y, c):
    """I_x(a, b) for x below (a + 1) / (a + b + 2): the even part of the continued fraction DLMF 8.17.22, written with c = (a + b) * x - a."""
    n = a + 1.0
    base = (1.0 - c) / n
    d = 1.0 / (base if base != 0.0 else 1e-300)
    step = d
    h = d
    odd = (a + b) / n * x  # with a minus sign, the coefficient of the fraction of odd number
    m = 1.0
    while m < 20000.0:
        n = a + 2.0 * m
        even = m / n * ((b - m) / (n - 1.0)) * x
        k = odd * even
        base = even + (a + m) / n * ((1.0 - c + m * (1.0 + y)) / (n + 1.0)) + m / n
        odd = (a + m) / n * ((a + b + m) / (n + 1.0)) * x
        before = d
        d = k * d + base
        d = 1.0 / (d if d != 0.0 else 1e-300)
        step *= -k * before * d
        h += step
        m += 1.0
        if abs(step) < _EPS * abs(h):
            break
    return h * (_beta_power(a, b, x, y, c) / a)


def _betainc_terms(a, b, x):
    """What is behind 1 / a in the series of I_x(a, b) (DLMF 8.17.7)."""
    term = 1.0
    total = 0.0
    n = 0.0
    while abs(term) > 1e-18:
        n += 1.0
        term *= (n - b) * x / n
        total += term / (a + n)
    return total


def _log_a_beta(a, b):
    """log(a * beta(a, b)) = log(gamma(1 + a)) - log(gamma(a + b) / gamma(b)), for a <= 0.5."""
    if a > 0.01:
        total = _lgamma1p(a)
        while b < 10.0:
            total += math.log1p(a / b)
            b += 1.0
        return total + _log_gamma_ratio(b, a) - a * math.log(a + b)
    c = b + 1.0 + 0.5 * a  # the integral of the digamma function from b + 1 to a + b + 1
    d = c + 1.0
    fifth = 1.0 / (c * c * c * c * c) + 1.0 / (d * d * d * d * d) + 0.25 / ((d + 0.5) * (d + 0.5) * (d + 0.5) * (d + 0.5))  # hurwitz(5, c) to a thousandth
    rest = a * _psi_right(c) - a * a * a / 12.0 * _hurwitz(3.0, c) - a * a * a * a * a / 80.0 * fifth
    return _lgamma1p(a) + math.log1p(a / b) - rest


def _betainc_series(a, b, x, y, c):
    """I_x(a, b) for b * x <= 1."""
    total = 1.0 / a + _betainc_terms(a, b, x)
    return total * (_beta_power(a, b, x, y, c) * math.exp(-b * math.log1p(-x)))


def _betaincc_near(a, b, x, y, c):
    """1 - I_x(a, b) where it is small: for small a in the way of _gammaincc_series."""
    if a <= 0.5 and x <= 0.95 and b * x <= 1.0:
        power = a * math.log(x) - _log_a_beta(a, b)
        return -_lib_expm1(power) - math.exp(power) * a * _betainc_terms(a, b, x)
    return _betainc_fraction(b, a, y, x, -c)


def _betainc_part(a, b, x, y, c):
    return _betainc_series(a, b, x, y, c) if x <= 0.95 and b * x <= 1.0 else _betainc_fraction(a, b, x, y, c)


def _betainc_uniform(a, b, c, sign):
    """I_x(a, b) for sign = 1, 1 - I_x(a, b) for -1, for large a and b, c = (a + b) * x - a: the error function and two terms of an asymptotic
    expansion, by partial integration (DLMF 8.18(ii); Temme, "Uniform asymptotic expansions of the incomplete gamma functions and the incomplete beta
    function", 1975)."""
    half = -(a * _log1pmx(c / a) + b * _log1pmx(-c / b)) if c > -a and c < b else math.inf
    if not (half < 750.0):
        return 1.0 if (c > 0.0) == (sign > 0.0) else 0.0
    z = math.copysign(math.sqrt(2.0 * half), c)
    spread = math.sqrt(a) * math.sqrt(b / (a + b))  # c / spread is about z
    r = 1.0 / (a + b)
    e = (b - a) * r / spread
    # g(z) = z * spread / c = 1 + g1 * z + g2 * z**2 ...; first = (g - 1) / z, second = (first' - first'(0)) / z
    g3 = -e * (r / 15.0 + e * e * (2.0 / 135.0))
    g4 = r * r / 96.0 + e * e * (r / 144.0 + e * e / 864.0)
    if abs(z) < 1.0:
        first = ((g4 * z + g3) * z + (0.25 * r + e * e / 12.0)) * z - e / 3.0
    else:
        first = spread / c - 1.0 / z
    rest = math.exp(_stirling(a + b) - _stirling(a) - _stirling(b) - half) / _SQRT_2_PI * (first + (2.0 * g3 + 3.0 * g4 * z))
    return 0.5 * _lib_erfc(-sign * z * _SQRT_HALF) - sign * rest


def _betainc_either(a, b, x, upper):
    if not (a >= 0.0 and b >= 0.0 and x >= 0.0 and x <= 1.0):
        return _nan(a + b + x)
    if (a > 1e150) != (b > 1e150) and min(a, b) < 1e7 and max(a, b) < math.inf and x > 0.0 and x < 1.0:  # the limit (DLMF 8.17.2 and 8.2.4)
        if b > a:
            return _gammaincc(a, b * x) if upper else _gammainc(a, b * x)
        return _gammainc(b, a * (1.0 - x)) if upper else _gammaincc(b, a * (1.0 - x))
    if (a < 1e-300 and b > 1e-250) or (b < 1e-300 and a > 1e-250) or a == 0.0 or b == 0.0 or a == math.inf or b == math.inf:
        if (a == 0.0 and b == 0.0) or (a == math.inf and b == math.inf):
            return _nan(a + b + x)
        low = 1.0 if a < b else 0.0
        if (x == 0.0 and low == 1.0) or (x == 1.0 and low == 0.0):
            low = x
        return 1.0 - low if upper else low
    if x == 0.0 or x == 1.0:
        return 1.0 - x if upper else x
    y = 1.0 - x
    if a + b == math.inf:  # all is on one side of x
        a *= 0.25
        b *= 0.25
    c = _beyond_mean(a, b, x)
    if a >= 1e7 and b >= 1e7:
        return _betainc_uniform(a, b, c, -1.0 if upper else 1.0)
    if (x <= 0.95 and b * x <= 1.0) or x <= (a + 1.0) / (a + b + 2.0):
        part = _betainc_part(a, b, x, y, c)
        if not upper or part <= 0.6:
            return 1.0 - part if upper else part
        return _betaincc_near(a, b, x, y, c)
    part = _betainc_part(b, a, y, x, -c)
    if upper or part <= 0.6:
        return part if upper else 1.0 - part
    return _betaincc_near(b, a, y, x, -c)


def betainc(a, b, x):
    return _t3(a, b, x)(_betainc_either(np.float64(a), np.float64(b), np.float64(x), False))


def betaincc(a, b, x):
    return _t3(a, b, x)(_betainc_either(np.float64(a), np.float64(b), np.float64(x), True))


# ---- factorials ----


def _power_by_exp(x, y, e):
    """x**y * exp(e), where one of the factors may be out of range."""
    log = y * math.log(x) + e
    if log > 715.0 or log < -750.0:
        return log * _HUGE if log > 0.0 else 0.0
    root = _lib_pow(x, 0.5 * y)
    return root * math.exp(e) * root


def _poch(z, m):
    """gamma(z + m) / gamma(z)."""
    if m == np.floor(m) and abs(m) <= 180.0:
        value = 1.0
        while m > 0.0:
            m -= 1.0
            value *= z + m
        below = 1.0
        while m < 0.0:
            below *= z + m
            m += 1.0
        return value / below if below != 0.0 else math.inf
    if z != z or m != m or z == -math.inf or (abs(z) == math.inf and abs(m) == math.inf):
        return _nan(z + m)
    if z == math.inf or (z > 0.0 and m == math.inf):
        return math.inf if m > 0.0 else 0.0
    if _is_pole(z):
        if m != np.floor(m):
            return 0.0
        if _is_pole(z + m):
            value = _gamma_quotient(1.0 - z, 1.0 - z - m)
            return value if math.fmod(m, 2.0) == 0.0 else -value
        return 0.0
    if _is_pole(z + m):
        return 0.0 if z + m < -200.0 and _lost_of_sum(z, m) != 0.0 else math.inf
    if z < -10.0 and z + m < -10.0:  # reflection (DLMF 5.5.3)
        return _poch(1.0 - z - m, m) * _sinpi(z) / _sinpi_of_sum(z, m)
    if z >= 9.0 and m > 0.0:
        return _power_by_exp(z + m, m, -_log_gamma_ratio(z, m))
    if z + m >= 9.0 and m < 0.0:
        return _power_by_exp(z, m, _log_gamma_ratio(z + m, -m))
    return _gamma_quotient(z + m, z) * (1.0 + _lost_of_gamma(z + m, _lost_of_sum(z, m)))


def _gamma_quotient(x, y):
    """gamma(x) / gamma(y), of no poles."""
    if abs(x) < 160.0 and abs(y) < 160.0:
        return _gamma(x) * _rgamma(y)
    return _gammasgn(x) * _gammasgn(y) * math.exp(_lib_lgamma(x) - _lib_lgamma(y))


def poch(z, m):
    return _t2(z, m)(_poch(np.float64(z), np.float64(m)))


def _binom(n, k):
    if n != n or k != k:
        return _nan(n + k)
    if n < 0.0 and n == np.floor(n):
        return _nan(n + k)
    if k == np.floor(k):
        i = k
        if n == np.floor(n) and n > 0.0 and i > 0.5 * n:
            i = n - i
        if i < 0.0:
            return 0.0
        if i <= 30.0 or (i < 150.0 and (n < i + 10.0 or n > 1e6)):
            value = 1.0
            j = 1.0
            while j <= i:
                value = value * (n - (i - j)) / j if abs(value) < 1e290 else value / j * (n - (i - j))
                j += 1.0
            return value
    if n == math.inf or k == math.inf:
        return _nan(n + k) if n == k or n < -1.0 else 0.0 if k == math.inf or k < 0.0 else math.inf
    if n > -1.0:
        if k < 0.0:
            return -_sinpi(k) / _PI * _beta(n + 1.0, -k)  # DLMF 5.5.3, here and below
        if k > n:
            return -_sinpi_of_sum(n, -k) / _PI * _beta(n + 1.0, k - n)
        i = min(k, n - k)
        if n - i >= 9.0 and (i < 10.0 or (i < 100.0 and i * i < n)):
            return _times_gamma_ratio(_rgamma(i + 1.0), n + 1.0, -i)
        return 1.0 / ((n + 1.0) * _beta(1.0 + n - k, 1.0 + k))
    if k > 2.0**53:  # k is even
        return _lib_pow(k, -n - 1.0) * _rgamma(-n)
    if k < 0.0 and k > n:
        return -_sinpi(k) * _sinpi_of_sum(n, -k) / _sinpi(n) / _PI * _beta(-k, k - n)
    i = k if k >= 0.0 else n - k
    return _sinpi_of_sum(n, -i) / _sinpi(n) / ((i - n) * _beta(i + 1.0, -n))


def binom(n, k):
    return _t2(n, k)(_binom(np.float64(n), np.float64(k)))


def comb(N, k, *, exact=False, repetition=False):
    if exact:
        if int(N) != N or int(k) != k:
            raise ValueError("N and k must be integers where exact=True")
        if repetition and k == 0:
            return 1 if N >= 0 else 0  # the formula for n below would be -1 where N is 0
        n = int(N) + int(k) - 1 if repetition else int(N)
        return math.comb(n, int(k)) if 0 <= int(k) and int(k) <= n else 0
    if repetition:
        return _t2(N, k)(1.0 if k == 0 and N >= 0 else _binom(np.float64(N) + np.float64(k) - 1.0, np.float64(k)))
    n = np.float64(N)
    return _t2(N, k)(_binom(n, np.float64(k)) if 0.0 <= k and k <= n and n >= 0.0 else 0.0)


def perm(N, k, exact=False):
    if exact:
        if int(N) != N or int(k) != k:
            raise ValueError("N and k must be integers where exact=True")
        return math.perm(int(N), int(k)) if 0 <= int(k) and int(k) <= int(N) else 0
    n = np.float64(N)
    return _t2(N, k)(_poch(n - k + 1.0, np.float64(k)) if 0.0 <= k and k <= n and n >= 0.0 else 0.0)


def factorial(n, exact=False):
    if exact:
        if int(n) != n:
            raise ValueError("n must be an integer where exact=True")
        return math.factorial(int(n)) if n >= 0 else 0
    v = np.float64(n)
    return _t(n)(0.0 if v < 0.0 else v * _gamma(v) if v > 0.5 else 1.0 / _rgamma1p(v))


# ---- the error function ----


def erf(x):
    return math.erf(_t(x)(x))


def erfc(x):
    return math.erfc(_t(x)(x))


def _erfcx_right(x):
    return fits.erfcx_right(x) if x < 8.0 else fits.erfcx_tail(1.0 / (x * x)) / x


def _erfcx(x):
    if x != x:
        return x
    return _erfcx_right(x) if x >= 0.0 else 2.0 * _exp_of_square(x) - _erfcx_right(-x)


def erfcx(x):
    return _t(x)(_erfcx(np.float64(x)))


def _erfcinv_right(p):
    """For 0 < p <= 0.5."""
    t = math.sqrt(-math.log(p))
    return t * fits.erfcinv_tail(t)


def _erfinv(x):
    if abs(x) <= 0.5:
        return x * fits.erfinv_middle(x * x)
    if not (abs(x) < 1.0):
        return math.copysign(1.0 / (1.0 - abs(x)), x) if abs(x) == 1.0 else _nan(x)
    return math.copysign(_erfcinv_right(1.0 - abs(x)), x)


def erfinv(x):
    return _t(x)(_erfinv(np.float64(x)))


def _erfcinv(p):
    if p >= 0.5 and p <= 1.5:
        return _erfinv(1.0 - p)
    if not (p > 0.0 and p < 2.0):
        return 1.0 / abs(p) if p == 0.0 else -1.0 / (2.0 - p) if p == 2.0 else _nan(p)
    return _erfcinv_right(p) if p < 1.0 else -_erfcinv_right(2.0 - p)


def erfcinv(y):
    return _t(y)(_erfcinv(np.float64(y)))


def _ndtri(p):
    if p >= 0.25 and p <= 0.75:
        return _SQRT_2 * _erfinv(2.0 * p - 1.0)
    if not (p > 0.0 and p < 1.0):
        return -1.0 / abs(p) if p == 0.0 else 1.0 / (1.0 - p) if p == 1.0 else _nan(p)
    return -_SQRT_2 * _erfcinv_right(2.0 * p) if p < 0.5 else _SQRT_2 * _erfcinv_right(2.0 * (1.0 - p))


def ndtri(y):
    return _t(y)(_ndtri(np.float64(y)))


def _upper_tail(v):
    """erfc(t) / 2 of t = v / sqrt(2), |v| <= 40. What t loses by rounding changes erfc by a factor of 1 - low * g, where g = -erfc'(t) / erfc(t) lies
    between t + sqrt(t * t + 4 / pi) and t + sqrt(t * t + 2) (DLMF 7.8.2)."""
    t = v * _SQRT_HALF
    low = _fma(v, _SQRT_HALF, -t) + v * _SQRT_HALF_LOW
    lost = low * (t + math.sqrt(t * t + 1.9)) if t > 0.0 else 0.0  # of t below 0, where erfc is 1 to 2, it is less than a rounding
    return 0.5 * _lib_erfc(t) * (1.0 - lost)


def ndtr(x):
    """Without branches, so that loops are computed in vectors."""
    v = np.float64(x)
    v = -40.0 if v < -40.0 else 40.0 if v > 40.0 else v
    return _t(x)(_upper_tail(-v))


def _log_ndtr(x):
    if x < -1.0:
        return math.log(0.5 * _erfcx_right(-x * _SQRT_HALF)) - 0.5 * x * x
    tail = _upper_tail(min(abs(x), 40.0))
    return math.log(tail) if x < 0.0 else math.log1p(-tail)


def log_ndtr(x):
    return _t(x)(_log_ndtr(np.float64(x)))


def _dawsn(x):
    v = abs(x)
    if v <= 1.0:
        return x * fits.dawsn_left(x * x)
    return math.copysign(fits.dawsn_right(v) if v < 8.0 else fits.dawsn_tail(1.0 / (v * v)) / v, x) if x == x else x


def dawsn(x):
    return _t(x)(_dawsn(np.float64(x)))


# ---- logistic functions, entropies and the like ----


def expit(x):
    v = _t(x)(x)
    e = math.exp(-abs(v))
    return (e if v < 0.0 else type(e)(1.0)) / (1.0 + e)


def logit(x):
    p = _t(x)(x)
    if p > 0.3 and p < 0.65:
        return 2.0 * math.atanh(2.0 * p - 1.0)
    return math.log(p / (1.0 - p))


def log_expit(x):
    v = _t(x)(x)
    return (v if v < 0.0 else 0.0 * v) - math.log1p(math.exp(-abs(v))) if v != math.inf else 0.0 / v


def softplus(x):
    v = _t(x)(x)
    return (v if v > 0.0 else 0.0 * v) + math.log1p(math.exp(-abs(v))) if v != -math.inf else 0.0 / v


def xlogy(x, y):
    t = _t2(x, y)
    v = t(x)
    w = t(y)
    return t(0.0) if v == 0.0 and w == w else v * math.log(w)


def xlog1py(x, y):
    t = _t2(x, y)
    v = t(x)
    w = t(y)
    return t(0.0) if v == 0.0 and w == w else v * math.log1p(w)


def entr(x):
    v = _t(x)(x)
    if v > 0.0:
        return -v * math.log(v)
    return v if v == 0.0 or v != v else type(v)(-math.inf)


def _rel_entr(x, y):
    if x != x or y != y:
        return _nan(x + y)
    if x > 0.0 and y > 0.0:
        r = x / y
        if 0.5 < r and r < 2.0:
            return x * math.log1p((x - y) / y)
        if 1e-300 < r and r < math.inf:
            return x * math.log(r)
        return x * (math.log(x) - math.log(y))
    return 0.0 if x == 0.0 and y >= 0.0 else math.inf


def rel_entr(x, y):
    return _t2(x, y)(_rel_entr(np.float64(x), np.float64(y)))


def _kl_div(x, y):
    if x > 0.0 and y > 0.0:
        d = (x - y) / y
        if -0.5 < d and d < 1.0:  # y * ((1 + d) * log1p(d) - d)
            return y * (d * d + (1.0 + d) * _log1pmx(d))
        return _rel_entr(x, y) - x + y
    if x != x or y != y:
        return _nan(x + y)
    return y if x == 0.0 and y >= 0.0 else math.inf


def kl_div(x, y):
    return _t2(x, y)(_kl_div(np.float64(x), np.float64(y)))


def exprel(x):
    v = _t(x)(x)
    if abs(v) < 1e-30:
        return type(v)(1.0)
    is_large = v > (88.0 if type(v) == np.float32 else 709.0)
    e = math.expm1(v * type(v)(0.5) if is_large else v)  # exp(v) may be too large, then expm1 is the same
    return v if v == math.inf else e / v * (e if is_large else type(v)(1.0))


def expm1(x):
    return math.expm1(_t(x)(x))


def log1p(x):
    return math.log1p(_t(x)(x))


def cosm1(x):
    s = math.sin(_t(x)(0.5 * x))
    return -2.0 * s * s


def cbrt(x):
    return np.cbrt(_t(x)(x))


def exp2(x):
    return np.exp2(_t(x)(x))


def exp10(x):
    v = _t(x)(x)
    return _exp10f(v) if type(v) == np.float32 else _exp10(v)


def huber(delta, r):
    t = _t2(delta, r)
    d = t(delta)
    v = abs(t(r))
    if d < 0.0:
        return t(math.inf)
    return 0.5 * v * v if v <= d else d * (v - 0.5 * d)


def pseudo_huber(delta, r):
    t = _t2(delta, r)
    d = t(delta)
    if d < 0.0:
        return t(math.inf)
    if d == 0.0 or r == 0.0:
        return t(0.0)
    v = t(r) / d
    return t(r) / (1.0 + math.sqrt(1.0 + v * v)) * t(r) if abs(v) < 1e15 else d * (abs(t(r)) - d)


def boxcox(x, lmbda):
    t = _t2(x, lmbda)
    k = np.float64(lmbda)
    w = math.log(np.float64(x))
    return t(w if abs(k) < 1e-19 else math.expm1(k * w) / k)


def boxcox1p(x, lmbda):
    t = _t2(x, lmbda)
    k = np.float64(lmbda)
    w = math.log1p(np.float64(x))
    return t(w if (w == 0.0 and abs(k) < math.inf) or abs(k * w) < 1e-154 or abs(k) < 1e-19 else math.expm1(k * w) / k)


def _log1p_of_product(k, v):
    """log1p(k * v), also where the product is out of range."""
    w = k * v
    return math.log(abs(k)) + math.log(abs(v)) if w > 1e300 else math.log1p(w)


def inv_boxcox(x, lmbda):
    t = _t2(x, lmbda)
    k = np.float64(lmbda)
    v = np.float64(x)
    return t(math.exp(v if k == 0.0 or abs(k * v) < 1e-154 else _log1p_of_product(k, v) / k))


def inv_boxcox1p(x, lmbda):
    t = _t2(x, lmbda)
    k = np.float64(lmbda)
    v = np.float64(x)
    return t(math.expm1(v) if k == 0.0 else v if abs(k * v) < 1e-154 else math.expm1(_log1p_of_product(k, v) / k))


# ---- Bessel functions ----


def _log_of_half(x):
    return math.log(0.5 * x) if x > 1e-300 else math.log(x) - math.log(2.0)


def _j0(x):
    v = abs(x)
    if v < 1.5:
        return fits.j0_left(v * v)
    if v < 8.0:
        return fits.j0_right(v)
    if v == math.inf:
        return 0.0
    w = 1.0 / (v * v)
    s = math.sin(v)
    c = math.cos(v)
    return (fits.p0(w) * (c + s) - fits.q0(w) / v * (s - c)) / (2.0 * math.sqrt(0.25 * _PI * v))  # DLMF 10.17.3


def _j1_right(v):
    if v < 1.75:
        return v * fits.j1_left(v * v)
    if v < 8.0:
        return fits.j1_right(v)
    if v == math.inf:
        return 0.0
    w = 1.0 / (v * v)
    s = math.sin(v)
    c = math.cos(v)
    return (fits.p1(w) * (s - c) + fits.q1(w) / v * (s + c)) / (2.0 * math.sqrt(0.25 * _PI * v))


def _j1(x):
    return _j1_right(x) if x >= 0.0 else -_j1_right(-x)


def _y0(x):
    if not (x > 0.0):
        return -1.0 / abs(x) if x == 0.0 else _nan(x)
    if x < 0.5:
        z = x * x
        return _TWO_OVER_PI * _log_of_half(x) * fits.j0_left(z) + fits.y0_left(z)
    if x < 8.0:
        return fits.y0_right(x)
    if x == math.inf:
        return 0.0
    w = 1.0 / (x * x)
    s = math.sin(x)
    c = math.cos(x)
    return (fits.p0(w) * (s - c) + fits.q0(w) / x * (s + c)) / (2.0 * math.sqrt(0.25 * _PI * x))


def _y1(x):
    if not (x > 0.0):
        return -1.0 / abs(x) if x == 0.0 else _nan(x)
    if x < 0.5:
        z = x * x
        return _TWO_OVER_PI * (_log_of_half(x) * (x * fits.j1_left(z)) - 1.0 / x) + x * fits.y1_left(z)
    if x < 8.0:
        return fits.y1_right(x)
    if x == math.inf:
        return 0.0
    w = 1.0 / (x * x)
    s = math.sin(x)
    c = math.cos(x)
    return (fits.q1(w) / x * (s - c) - fits.p1(w) * (c + s)) / (2.0 * math.sqrt(0.25 * _PI * x))


def j0(x):
    return _t(x)(_j0(np.float64(x)))


def j1(x):
    return _t(x)(_j1(np.float64(x)))


def y0(x):
    return _t(x)(_y0(np.float64(x)))


def y1(x):
    return _t(x)(_y1(np.float64(x)))


def _j_ratio_right(v, x):
    """J(v, x) / J(v - 1, x) for 0 < x <= v, by its continued fraction (DLMF 10.10.1), whose terms are positive there."""
    d = x / (2.0 * v)
    step = d
    ratio = d
    k = v
    while k < v + 10000.0:
        k += 1.0
        before = d
        d = 1.0 / (2.0 * k / x - d)
        step *= before * d
        ratio += step
        if abs(step) < _EPS * ratio:
            break
    return ratio


def _jn_right(n, x):
    """For n >= 2, x > 0."""
    if x == math.inf:
        return 0.0
    if x * x < 1e-16 * n:  # DLMF 10.2.2
        return _lib_pow(0.5 * x, n) * _rgamma(n + 1.0)
    if x > n:  # upwards, DLMF 10.6.1
        before = _j0(x)
        now = _j1_right(x)
        k = 1.0
        while k < n:
            before, now = now, 2.0 * k / x * now - before
            k += 1.0
        return now
    h = _j_ratio_right(n, x)  # and downwards
    result = 1.0
    above = h  # J(n)
    now = 1.0  # J(n - 1)
    k = n - 1.0
    while k > 0.5:
        above, now = now, 2.0 * k / x * now - above
        if abs(now) > 1e200:
            now *= 1e-200
            above *= 1e-200
            result *= 1e-200
        k -= 1.0
    zero = _j0(x)
    one = _j1_right(x)
    return h * (result * zero / now if abs(zero) > abs(one) else result * one / above)


def _jn(n, x):
    v = abs(x)
    if x != x:
        return x
    m = abs(n)
    value = _j0(v) if m == 0.0 else _j1_right(v) if m == 1.0 else 0.0 if v == 0.0 else _jn_right(m, v) if m < 1000.0 or v == math.inf else _large_jy(m, v)[0]
    return -value if (n < 0.0) != (x < 0.0) and math.fmod(m, 2.0) == 1.0 else value


def jv(v, z):
    n = np.float64(v)
    return _t2(v, z)(_jn(n, np.float64(z)) if n == np.floor(n) and abs(n) < math.inf else _jv(n, np.float64(z)))


def _yn(n, x):
    m = abs(n)
    if not (x > 0.0) or x == math.inf:
        if x == 0.0:
            return (1.0 if n < 0.0 and math.fmod(m, 2.0) == 1.0 else -1.0) / abs(x)
        return 0.0 if x == math.inf else _nan(n + x)
    if m >= 1000.0:
        now = _large_jy(m, x)[1] if m < math.inf else -math.inf
        return -now if n < 0.0 and math.fmod(m, 2.0) == 1.0 else now
    before = _y0(x)
    if m == 0.0:
        return before
    now = _y1(x)
    k = 1.0
    while k < m and now > -math.inf:
        before, now = now, 2.0 * k / x * now - before
        k += 1.0
    return -now if n < 0.0 and math.fmod(m, 2.0) == 1.0 else now


def yn(n, x):
    k = np.float64(n)
    if k != np.floor(k):
        raise ValueError("scipy.special.yn in compiled code takes integers as orders")
    return _t2(n, x)(_yn(k, np.float64(x)))


def yv(v, z):
    k = np.float64(v)
    return _t2(v, z)(_yn(k, np.float64(z)) if k == np.floor(k) and abs(k) < math.inf else _yv(k, np.float64(z)))


def _i0e(x):
    v = abs(x)
    if v < 4.0:
        return math.exp(-v) * fits.i0_left(v * v)
    return fits.i0_right(v) / math.sqrt(v)


def _i0(x):
    v = abs(x)
    if v < 4.0:
        return fits.i0_left(v * v)
    return _times_exp(fits.i0_right(v) / math.sqrt(v), v) if v < 800.0 else v * _HUGE


def _i1e(x):
    v = abs(x)
    if v < 4.0:
        return math.exp(-v) * (x * fits.i1_left(v * v))
    return math.copysign(fits.i1_right(v) / math.sqrt(v), x)


def _i1(x):
    v = abs(x)
    if v < 4.0:
        return x * fits.i1_left(v * v)
    return _times_exp(math.copysign(fits.i1_right(v) / math.sqrt(v), x), v) if v < 800.0 else x * _HUGE


def i0(x):
    return _t(x)(_i0(np.float64(x)))


def i0e(x):
    return _t(x)(_i0e(np.float64(x)))


def i1(x):
    return _t(x)(_i1(np.float64(x)))


def i1e(x):
    return _t(x)(_i1e(np.float64(x)))


def _k0_left(x):
    """For 0 < x < 1: from 0.5 on, the logarithm would lose digits."""
    if x >= 0.5:
        return fits.k0_middle(x)
    z = x * x
    return _fma(_LOG_2_LESS_EULER - math.log(x), fits.i0_left(z), z * fits.k0_left(z))


def _k0e(x):
    if not (x > 0.0):
        return 1.0 / abs(x) if x == 0.0 else _nan(x)
    return math.exp(x) * _k0_left(x) if x < 1.0 else fits.k0_right(x) / math.sqrt(x)


def _k0(x):
    if not (x > 0.0):
        return 1.0 / abs(x) if x == 0.0 else _nan(x)
    return _k0_left(x) if x < 1.0 else math.exp(-x) * (fits.k0_right(x) / math.sqrt(x))


def _k1_left(x):
    """For 0 < x < 1."""
    if x >= 0.5:
        return fits.k1_middle(x)
    z = x * x
    return 1.0 / x + x * (_log_of_half(x) * fits.i1_left(z) + fits.k1_left(z))


def _k1e(x):
    if not (x > 0.0):
        return 1.0 / abs(x) if x == 0.0 else _nan(x)
    return math.exp(x) * _k1_left(x) if x < 1.0 else fits.k1_right(x) / math.sqrt(x)


def _k1(x):
    if not (x > 0.0):
        return 1.0 / abs(x) if x == 0.0 else _nan(x)
    return _k1_left(x) if x < 1.0 else math.exp(-x) * (fits.k1_right(x) / math.sqrt(x))


def k0(x):
    return _t(x)(_k0(np.float64(x)))


def k0e(x):
    return _t(x)(_k0e(np.float64(x)))


def k1(x):
    return _t(x)(_k1(np.float64(x)))


def k1e(x):
    return _t(x)(_k1e(np.float64(x)))


def _kne(n, x):
    """exp(x) * K(n, x), upwards (DLMF 10.29.1)."""
    before = _k0e(x)
    m = abs(n)
    if m == 0.0 or not (x > 0.0):
        return before
    if m >= 200.0:
        return (_large_k(m, x, 0.0) if m < math.inf else math.inf) if x < math.inf else 0.0
    now = _k1e(x)
    k = 1.0
    while k < m and now < math.inf:
        before, now = now, 2.0 * k / x * now + before
        k += 1.0
    return now


def _kn(n, x):
    m = abs(n)
    if m >= 200.0 and m < math.inf and x > 0.0 and x < math.inf:
        return _large_k(m, x, x)
    if not (x < 650.0):
        return math.exp(-0.5 * x) * _kne(n, x) * math.exp(-0.5 * x) if x == x and x < math.inf else 0.0 if x == x else x
    return math.exp(-x) * _kne(n, x)


def kn(n, x):
    k = np.float64(n)
    if k != np.floor(k):
        raise ValueError("scipy.special.kn in compiled code takes integers as orders")
    return _t2(n, x)(_kn(k, np.float64(x)))


def kv(v, z):
    k = np.float64(v)
    return _t2(v, z)(_kn(k, np.float64(z)) if k == np.floor(k) and abs(k) < math.inf else _kv(k, np.float64(z)))


def kve(v, z):
    k = np.float64(v)
    return _t2(v, z)(_kne(k, np.float64(z)) if k == np.floor(k) and abs(k) < math.inf else _kve(k, np.float64(z)))


def _ie_far(v, x):
    """exp(-x) * I(v, x) for x that is large beside v * v (DLMF 10.40.1)."""
    term = 1.0
    total = 1.0
    k = 1.0
    while abs(term) > 1e-17 and k < 60.0:
        term *= -(2.0 * v - 2.0 * k + 1.0) * (2.0 * v + 2.0 * k - 1.0) / (8.0 * k * x)
        total += term
        k += 1.0
    return 0.25 * total / math.sqrt(0.125 * _PI * x)


def _i_ratio(v, x):
    """I(v, x) / I(v - 1, x) by its continued fraction (DLMF 10.33.1), backwards, so that errors decrease: with each step by the square of the ratio,
    exp(-2 * asinh(k / x)) at order k."""
    n = np.floor(math.sqrt(v * v + 38.0 * x) - v) + 4.0
    k = v + n
    ratio = x / (k + math.hypot(k, x))
    while n >= 0.0:
        ratio = 1.0 / (2.0 * (v + n) / x + ratio)
        n -= 1.0
    return ratio


def _ine_right(n, x):
    """exp(-x) * I(n, x) for n >= 2, x > 0."""
    if x * x < 1e-16 * n:  # DLMF 10.25.2
        return math.exp(-x) * _lib_pow(0.5 * x, n) * _rgamma(n + 1.0)
    if x > 50.0 and x > 2.0 * n * n:
        return _ie_far(n, x)
    result = _i_ratio(n, x)
    above = result
    now = 1.0
    k = n - 1.0
    while k > 0.5:
        above, now = now, 2.0 * k / x * now + above
        if now > 1e200:
            now *= 1e-200
            above *= 1e-200
            result *= 1e-200
        k -= 1.0
    return result * (_i0e(x) / now)


def _ine(n, x):
    v = abs(x)
    m = abs(n)
    if x != x or v == math.inf:
        return x if x != x else 0.0
    value = _i0e(v) if m == 0.0 else _i1e(v) if m == 1.0 else 0.0 if v == 0.0 else _ine_right(m, v) if m < 200.0 else _large_i(m, v, 0.0)
    return -value if x < 0.0 and math.fmod(m, 2.0) == 1.0 else value


def ive(v, z):
    k = np.float64(v)
    return _t2(v, z)(_ine(k, np.float64(z)) if k == np.floor(k) and abs(k) < math.inf else _ive(k, np.float64(z)))


def _in(n, x):
    if abs(x) == math.inf:
        return -math.inf if x < 0.0 and math.fmod(n, 2.0) != 0.0 else math.inf
    if abs(n) >= 200.0 and abs(x) > 0.0:
        value = _large_i(abs(n), abs(x), abs(x))
        return -value if x < 0.0 and math.fmod(n, 2.0) != 0.0 else value
    e = math.exp(0.5 * abs(x))
    return e * _ine(n, x) * e


def iv(v, z):
    k = np.float64(v)
    return _t2(v, z)(_in(k, np.float64(z)) if k == np.floor(k) and abs(k) < math.inf else _iv(k, np.float64(z)))


# Large orders: recurrence would take as many steps as the order, and exp(-x) * I may be out of range where I is not.

def _debye_sum(w, q):
    """The sum of U(k, p) / v**k (DLMF 10.41.10), w = p / v, q = p**2."""
    u1 = 1 / 8 - 5 / 24 * q
    u2 = (385 / 1152 * q - 77 / 192) * q + 9 / 128
    u3 = ((-85085 / 82944 * q + 17017 / 9216) * q - 4563 / 5120) * q + 75 / 1024
    u4 = (((37182145 / 7962624 * q - 7436429 / 663552) * q + 144001 / 16384) * q - 96833 / 40960) * q + 3675 / 32768
    u5 = ((((-5391411025 / 191102976 * q + 5391411025 / 63700992) * q - 108313205 / 1179648) * q + 250881631 / 5898240) * q - 67608983 / 9175040) * q + 59535 / 262144
    u6 = (5849680962125 / 27518828544 * q - 1169936192425 / 1528823808) * q + 4445922195 / 4194304
    u6 = (((u6 * q - 33010308331 / 47185920) * q + 1441372804469 / 6606028800) * q - 388895895 / 14680064) * q + 2401245 / 4194304
    return 1.0 + w * (u1 + w * (u2 + w * (u3 + w * (u4 + w * (u5 + w * u6)))))


def _debye_exponent(v, x):
    """log(exp(-x) * I(v, x)) but for a factor: what exp(-x) takes away is not subtracted but left out."""
    return v * (v / (math.hypot(v, x) + x) - math.asinh(v / x))


def _large_i(v, x, shift):
    """exp(shift - x) * I(v, x) for v >= 200, 0 < x < inf (DLMF 10.41.3)."""
    power = _debye_exponent(v, x) + shift
    if power > 760.0 or power < -760.0:
        return power * _HUGE if power > 0.0 else 0.0
    root = math.hypot(v, x)
    p = v / root
    e = math.exp(0.5 * power)
    return e * (_debye_sum(1.0 / root, p * p) / (math.sqrt(2.0 * _PI) * math.sqrt(root))) * e


def _large_k(v, x, shift):
    """exp(x - shift) * K(v, x) for v >= 200, 0 < x < inf (DLMF 10.41.4)."""
    power = -_debye_exponent(v, x) - shift
    if power > 760.0 or power < -1200.0:
        return power * _HUGE if power > 0.0 else 0.0
    root = math.hypot(v, x)
    p = v / root
    e = math.exp(0.5 * power)
    return e * (_debye_sum(-1.0 / root, p * p) * (math.sqrt(_HALF_PI) / math.sqrt(root))) * e


# Orders that are no integers: mu + n with |mu| <= 0.5. Near 0 by N. M. Temme's series (J. Comput. Phys. 19, 1975, and 21, 1976).


def _split_order(v):
    """(mu, n) of v = mu + n, for v >= 0."""
    n = np.floor(v + 0.5)
    return v - n, n


def _upwards(mu, n, x, sign, pair):
    """From K (sign = 1) or Y (sign = -1) of the orders mu and mu + 1 to those of mu + n and mu + n + 1 (DLMF 10.29.1, 10.6.1)."""
    now, above = pair
    k = 1.0
    while k <= n and abs(now) < math.inf:
        now, above = above, 2.0 * (mu + k) / x * above + sign * now
        k += 1.0
    return now, above


def _pair_near_zero(mu, x, sign):
    """K(mu, x) and K(mu + 1, x) with sign = 1, Y(mu, x) and Y(mu + 1, x) with sign = -1; for x <= 2.

    Above 1, the terms of K are several times as large as their sum: the series would lose digits.
    """
    log = -_log_of_half(x)
    s = mu * log
    left = fits.rgamma1p_rest(-mu)  # 1 / gamma(1 + t) = 1 + t * rest(t)
    right = fits.rgamma1p_rest(mu)
    even = 1.0 + 0.5 * mu * (right - left)
    sinh_over = math.sinh(s) / s if abs(s) > 1e-8 else 1.0
    pi_mu = _PI * mu
    f = (math.cosh(s) * (-0.5 * (left + right)) + sinh_over * log * even) * (pi_mu / _sinpi(mu) if mu != 0.0 else 1.0)
    p = 0.5 * math.exp(s) / (1.0 + mu * right)
    q = 0.5 * math.exp(-s) / (1.0 - mu * left)
    half = _sinpi(0.5 * mu)
    of_q = 2.0 * half * half / mu if sign < 0.0 and mu != 0.0 else 0.0
    if sign < 0.0:
        f *= _TWO_OVER_PI
        p *= _TWO_OVER_PI
        q *= _TWO_OVER_PI
    c = 1.0
    k = 0.0
    first = f + of_q * q
    second = p
    z = sign * 0.25 * x * x
    while k < 60.0:
        k += 1.0
        f = (k * f + p + q) / (k * k - mu * mu)
        p /= k - mu
        q /= k + mu
        c *= z / k
        g = f + of_q * q
        first += c * g
        second += c * (p - k * g)
        if abs(c * g) < 1e-17 * abs(first) and abs(c * k * g) + abs(c * p) < 1e-17 * abs(second):
            break
    return sign * first, sign * (2.0 * second) / x


_STEP = 0.21
_AT_STEPS = tuple((2.0 * math.sinh(0.5 * _STEP * k) ** 2, math.exp(_STEP * k)) for k in range(24))  # cosh(t) - 1 and exp(t)


def _kmu_pair(mu, x):
    """exp(x) * K(mu, x) and that of mu + 1, for x >= 1: the integral of exp(-x * (cosh(t) - 1)) * cosh(mu * t) (DLMF 10.32.9) by equal steps."""
    first = 0.5
    second = 0.5
    if x < 9.5:
        k = 1
        while k < 24:
            less, e = _AT_STEPS[k]
            right = _lib_exp(mu * (_STEP * k) - x * less)
            left = _lib_exp(-mu * (_STEP * k) - x * less)
            first += 0.5 * (right + left)
            second += 0.5 * (right * e + left / e)
            if right + left < 1e-19:
                break
            k += 1
        return _STEP * first, _STEP * second
    h = 0.65 / math.sqrt(x)
    t = 0.0
    weight = 1.0
    while weight > 1e-19:
        t += h
        s = math.sinh(0.5 * t)
        weight = math.exp(-x * s * (2.0 * s))
        first += weight * math.cosh(mu * t)
        second += weight * math.cosh((mu + 1.0) * t)
    return h * first, h * second


def _k_pair(v, x):
    """exp(x) * K(v, x) and that of v + 1, for v >= 0, x > 0."""
    mu, n = _split_order(v)
    if x < 1.0:
        before, now = _pair_near_zero(mu, x, 1.0)
        e = math.exp(x)
        before *= e
        now *= e
    else:
        before, now = _kmu_pair(mu, x)
    return _upwards(mu, n, x, 1.0, (before, now))


def _kve(v, x):
    """exp(x) * K(v, x) of any order."""
    if not (x > 0.0) or x == math.inf or not (abs(v) < math.inf):
        return 0.0 if x == math.inf and abs(v) < math.inf else 1.0 / abs(x) if x == 0.0 and v == v else _nan(v + x)
    if abs(v) >= 200.0:
        return _large_k(abs(v), x, 0.0)
    value, _ = _k_pair(abs(v), x)
    return value


def _kv(v, x):
    if abs(v) >= 200.0 and abs(v) < math.inf and x > 0.0 and x < math.inf:
        return _large_k(abs(v), x, x)
    e = math.exp(-0.5 * x)
    return e * _kve(v, x) * e if x < 1500.0 or x != x else 0.0 if abs(v) < math.inf else _nan(v + x)


def _power_series(v, x, sign):
    """The series of J(v, x), sign = -1, and I(v, x), sign = 1 (DLMF 10.2.2, 10.25.2), for v > -1."""
    z = sign * 0.25 * x * x
    term = 1.0
    total = 1.0
    k = 0.0
    while abs(term) > 1e-18 * abs(total):
        k += 1.0
        term *= z / (k * (v + k))
        total += term
    if v < 160.0:
        return total * _lib_pow(0.5 * x, v) * _rgamma(v + 1.0)
    return total * _power_over_gamma(v, 0.5 * x) * math.exp(0.5 * x)


def _ive_right(v, x):
    """exp(-x) * I(v, x) for v >= 0, x > 0."""
    if x < 2.0 or x * x < v:
        return math.exp(-x) * _power_series(v, x, 1.0)
    if x > 50.0 and x > 2.0 * v * v:
        return _ie_far(v, x)
    now, above = _k_pair(v, x)
    return 1.0 / (x * (above + _i_ratio(v + 1.0, x) * now))  # the Wronskian of I and K (DLMF 10.28.2)


def _large_i_either(v, x, shift):
    """exp(shift - x) * I(v, x) for abs(v) >= 200, 0 < x < inf."""
    value = _large_i(abs(v), x, shift)
    if v > 0.0:
        return value
    return value - _TWO_OVER_PI * _sinpi(v) * _large_k(-v, x, 2.0 * x - shift)  # DLMF 10.27.2


def _ive(v, x):
    if not (x >= 0.0) or not (abs(v) < math.inf):
        return 0.0 if abs(v) == math.inf and abs(x) < math.inf else _nan(v + x)
    if x == 0.0:
        return 0.0 if v > 0.0 else _gammasgn(v + 1.0) / abs(x)
    if x == math.inf:
        return 0.0
    if abs(v) >= 200.0:
        return _large_i_either(v, x, 0.0)
    if v > 0.0:
        return _ive_right(v, x)
    value = _ive_right(-v, x)
    return value - _TWO_OVER_PI * _sinpi(v) * _kve(v, x) * math.exp(-2.0 * x)  # DLMF 10.27.2


def _iv(v, x):
    if x == math.inf and abs(v) < math.inf:
        return x
    if abs(v) >= 200.0 and abs(v) < math.inf and x > 0.0 and x < math.inf:
        return _large_i_either(v, x, x)
    e = math.exp(0.5 * abs(x))
    return e * _ive(v, x) * e


def _hankel(v, x):
    """J(v, x) and Y(v, x) for large x (DLMF 10.17.3)."""
    even = 1.0
    odd = 0.0
    term = 1.0
    k = 0.0
    while abs(term) > 1e-17 and k < 60.0:
        term *= (2.0 * v - 2.0 * k - 1.0) * (2.0 * v + 2.0 * k + 1.0) / (8.0 * (k + 1.0) * x)
        odd += term
        term *= -(2.0 * v - 2.0 * k - 3.0) * (2.0 * v + 2.0 * k + 3.0) / (8.0 * (k + 2.0) * x)
        even += term
        k += 2.0
    turn = math.fmod(0.5 * v + 0.25, 2.0)
    s = math.sin(x)
    c = math.cos(x)
    cosine = _sinpi(turn + 0.5)
    sine = _sinpi(turn)
    root = 0.5 / math.sqrt(0.125 * _PI * x)
    at_c = c * cosine + s * sine
    at_s = s * cosine - c * sine
    return root * (even * at_c - odd * at_s), root * (even * at_s + odd * at_c)


def _j_ratio(mu, x):
    """J(mu + 1, x) / J(mu, x) by its continued fraction (DLMF 10.10.1), and the sign of J(mu, x), for 2 <= x <= 30."""
    d = x / (2.0 * (mu + 1.0))
    c = 1e300
    ratio = d
    sign = 1.0
    k = mu + 1.0
    while k < 1000.0:
        k += 1.0
        c = 2.0 * k / x - 1.0 / c
        d = 2.0 * k / x - d
        c = c if c != 0.0 else 1e-300
        d = 1.0 / (d if d != 0.0 else 1e-300)
        ratio *= c * d
        if d < 0.0:
            sign = -sign
        if abs(c * d - 1.0) <= 2.0 * _EPS:  # rounding may keep it from being 0
            break
    return ratio, sign


def _hankel_slope(mu, x):
    """(J' + i Y') / (J + i Y) of order mu by its continued fraction: the real and the imaginary part, for x >= 2."""
    b = complex(2.0 * x, 2.0)
    a = 0.25 - mu * mu  # 0 for orders half-way between integers: then all moves are 0
    e = 1.0 / b
    move = a * e
    total = move
    k = 1.0
    while k < 1000.0:
        k += 1.0
        a += 2.0 * (k - 1.0)
        b += 2j
        e = 1.0 / (b + a * e)
        move *= b * e - 1.0
        total += move
        if abs(move.real) + abs(move.imag) <= _EPS * (abs(total.real) + abs(total.imag)):
            break
    return -0.5 / x - total.imag / x, 1.0 + total.real / x


def _steed(mu, x):
    """J(mu, x), J(mu + 1, x), Y(mu, x) and Y(mu + 1, x) for 2 <= x <= 30 by two continued fractions (J. B. Campbell, 1979; DLMF 3.10.13)."""
    ratio, sign = _j_ratio(mu, x)
    slope = mu / x - ratio  # J'(mu) / J(mu)
    p, q = _hankel_slope(mu, x)
    gamma = (p - slope) / q
    j = math.copysign(math.sqrt(_TWO_OVER_PI / x / ((p - slope) * gamma + q)), sign)
    y = gamma * j
    y_slope = q * j + p * y  # Y'
    return j, ratio * j, y, mu / x * y - y_slope


_SCALE = 2.0**664


def _yv_scaled(mu, n, x, pair):
    """From Y of the orders mu and mu + 1 to those of v = mu + n and v + 1, and the factor by which they are too small."""
    now, above = pair
    size = 1.0
    k = 1.0
    while k <= n:
        now, above = above, 2.0 * (mu + k) / x * above - now
        if abs(above) > _SCALE:
            now /= _SCALE
            above /= _SCALE
            size *= _SCALE
        k += 1.0
    return now, above, size


def _jy_from_pairs(v, x):
    """J(v, x) and Y(v, x) for x >= 2: by recurrence from orders near 0 as long as J does not decrease, else by the Wronskian (DLMF 10.5.2)."""
    mu, n = _split_order(v)
    if x <= 30.0:
        j, j_above, y, y_above = _steed(mu, x)
    else:
        j, y = _hankel(mu, x)
        j_above, y_above = _hankel(mu + 1.0, x)
    if v < x:
        j, _ = _upwards(mu, n, x, -1.0, (j, j_above))
        y, _ = _upwards(mu, n, x, -1.0, (y, y_above))
        return j, y
    y, y_above, size = _yv_scaled(mu, n, x, (y, y_above))
    return _TWO_OVER_PI / x / (_j_ratio_right(v + 1.0, x) * y - y_above) / size, y * size


def _small_jy(v, x):
    """J(v, x) and Y(v, x) for 0 <= v < 1000, 0 < x < inf."""
    if x > 30.0 and x > 0.5 * v * v:
        return _hankel(v, x)
    j = 0.0
    if x < 2.0:
        mu, n = _split_order(v)
        y, _ = _upwards(mu, n, x, -1.0, _pair_near_zero(mu, x, -1.0))
    else:
        j, y = _jy_from_pairs(v, x)
    if x < 2.0 or x * x < v:
        j = _power_series(v, x, -1.0)
    return j, y


# Large orders of J and Y: the expansion in Airy functions, which holds for all x (DLMF 10.20).

_AIRY_A1 = (  # in powers of zeta
    -0.00444444444424822, -0.001463709425826472, 0.0007064180393889388, 0.0006730163914662742, 0.0001539513415185641, -5.979636673893284e-05, -4.904264531329048e-05,
)  # fmt: skip
_AIRY_B0 = (
    0.017998872141355333, 0.008888888888859787, 0.0016256871626930485, -0.0003642848604607755, -0.0003020604506687435, -5.844379100788781e-05, 1.6769949205535e-05,
    1.3020512408592756e-05, 2.4453322391572198e-06, -8.067813074313687e-07, -5.66933976818537e-07,
)  # fmt: skip
_AIRY_B1 = (
    -0.0014928295318285872, -0.0013940661367536913, -0.00038209611232223816, 0.00016929206621580815, 0.00017102887233631122, 3.777822066328556e-05,
    -1.7772321769909974e-05,
)  # fmt: skip


def _airy_coefficients(zeta, s, sign):
    """A1, B0 and B1 of DLMF 10.20.10 and 10.20.11; sign is that of zeta, s = sqrt(abs(1 - z * z))."""
    a1 = 0.0
    b0 = 0.0
    b1 = 0.0
    if abs(zeta) < 0.35:
        for c in _AIRY_A1[::-1]:
            a1 = a1 * zeta + c
        for c in _AIRY_B0[::-1]:
            b0 = b0 * zeta + c
        for c in _AIRY_B1[::-1]:
            b1 = b1 * zeta + c
        return a1, b0, b1
    root = math.sqrt(abs(zeta))
    w = 1.5 / (root * root * root)
    p = 1.0 / s
    q = sign * p * p
    h1 = 1 / 8 - 5 / 24 * q
    h2 = (385 / 1152 * q - 77 / 192) * q + 9 / 128
    h3 = ((-85085 / 82944 * q + 17017 / 9216) * q - 4563 / 5120) * q + 75 / 1024
    a1 = q * h2 - 7 / 72 * w * p * h1 - 455 / 10368 * sign * w * w
    b0 = -(sign * p * h1 + 5 / 72 * w) / root
    b1 = -(sign * p * q * h3 + 5 / 72 * w * q * h2 + 385 / 10368 * w * w * p * h1 + 85085 / 2239488 * sign * w * w * w) / root
    return a1, b0, b1


def _airy_series(y):
    """Ai, Ai', Bi and Bi' (DLMF 9.4)."""
    z = y * y * y
    t = 1.0
    u = y
    f = t
    g = u
    f_slope = 0.0
    g_slope = 1.0
    k = 0.0
    while k < 300.0:
        k += 3.0
        f_slope += t * y * y / (k - 1.0)
        g_slope += u * y * y / k
        t *= z / (k * (k - 1.0))
        u *= z / (k * (k + 1.0))
        f += t
        g += u
        if abs(t) * (k + 1.0) < 1e-18 and abs(u) * (k + 1.0) < 1e-18 or (y > 2.1 and t < 1e-17 * f and u < 1e-17 * g):
            break
    f *= 0.355028053887817239
    f_slope *= 0.355028053887817239
    g *= 0.258819403792806799
    g_slope *= 0.258819403792806799
    return f - g, f_slope - g_slope, math.sqrt(3.0) * (f + g), math.sqrt(3.0) * (f_slope + g_slope)


def _airy_right(y, xi):
    """exp(xi) * Ai(y) and Ai', exp(-xi) * Bi(y) and Bi', for y > 2, xi = y**1.5 / 1.5 (DLMF 9.6.2, 9.6.3, 9.7.7 and 9.7.8)."""
    one_third, four_thirds = _kmu_pair(1 / 3, xi)
    two_thirds = four_thirds - one_third / (1.5 * xi)
    a = math.sqrt(y / 3.0) / _PI * one_third
    a_slope = -y / (_PI * math.sqrt(3.0)) * two_thirds
    if xi < 20.0:
        _, _, b, b_slope = _airy_series(y)
        e = math.exp(-xi)
        return a, a_slope, b * e, b_slope * e
    u = 1.0
    b = 1.0
    b_slope = 1.0
    k = 0.0
    while u > 1e-18 and k < 30.0:
        k += 1.0
        u *= (6.0 * k - 5.0) * (6.0 * k - 3.0) * (6.0 * k - 1.0) / (216.0 * k * (2.0 * k - 1.0) * xi)
        b += u
        b_slope -= u * (6.0 * k + 1.0) / (6.0 * k - 1.0)
    root = math.sqrt(math.sqrt(y))
    return a, a_slope, b / (math.sqrt(_PI) * root), b_slope * (root / math.sqrt(_PI))


def _airy_left(y, xi):
    """Ai, Ai', Bi and Bi' of -y, y > 2, xi = y**1.5 / 1.5 (DLMF 9.6.6 to 9.6.9)."""
    root = math.sqrt(y)
    j, other = _small_jy(1 / 3, xi)
    opposite = 0.5 * j - 0.5 * math.sqrt(3.0) * other  # J(-1/3)
    k, other = _small_jy(2 / 3, xi)
    k_opposite = -0.5 * k - 0.5 * math.sqrt(3.0) * other
    return root / 3.0 * (j + opposite), y / 3.0 * (k - k_opposite), root / math.sqrt(3.0) * (opposite - j), y / math.sqrt(3.0) * (k + k_opposite)


def _log_less(s, sign):
    """3 * (atanh(s) - s) / s**3 for sign = 1, 3 * (s - atan(s)) / s**3 for sign = -1, of 0 <= s < 1 or any s."""
    u = sign * s * s
    if s < 0.3:
        total = 0.0
        power = 3.0
        k = 3.0
        while k < 37.0:
            total += power / k
            power *= u
            k += 2.0
        return total
    return 3.0 * sign * (math.atanh(s) - s if sign > 0.0 else math.atan(s) - s) / (s * s * s)


def _large_jy(v, x):
    """J(v, x) and Y(v, x) for 1000 <= v < inf, 0 < x < inf."""
    if x > 0.5 * v * v:
        return _hankel(v, x)
    z = x / v
    square = (x - v) / v * (z + 1.0)
    sign = -1.0 if square > 0.0 else 1.0
    s = math.sqrt(abs(square))
    if sign > 0.0 and s > 0.9:
        xi = math.log((1.0 + s) / z) - s if z > 0.0 else math.inf
        stretch = 0.0
        if xi * v > 1500.0:
            return 0.0, v * -_HUGE
        stretch = 3.0 * xi / (s * s * s)
    else:
        stretch = _log_less(s, sign)
    ratio = np.cbrt(0.25 * stretch * stretch)  # abs(zeta) / s**2
    zeta = sign * s * s * ratio
    xi = v * (s * s * s * stretch / 3.0)
    if sign > 0.0 and xi > 1500.0:
        return 0.0, v * -_HUGE
    third = np.cbrt(v)
    y = third * third * zeta
    low = 0.0
    if y > 2.0:
        a, a_slope, b, b_slope = _airy_right(y, xi)
        low = -xi
    elif y < -2.0:
        a, a_slope, b, b_slope = _airy_left(-y, xi)
    else:
        a, a_slope, b, b_slope = _airy_series(y)
    a1, b0, b1 = _airy_coefficients(zeta, s, sign)
    first = (1.0 + a1 / v / v) / third
    second = (b0 + b1 / v / v) / (third * third * v)
    factor = math.sqrt(2.0 * math.sqrt(ratio))
    e = math.exp(0.5 * low)
    inverse = 1.0 / e
    return e * (factor * (a * first + a_slope * second)) * e, -inverse * (factor * (b * first + b_slope * second)) * inverse


def _jy(v, x):
    """J(v, x) and Y(v, x) for v >= 0, 0 < x < inf."""
    return _small_jy(v, x) if v < 1000.0 else _large_jy(v, x)


def _jv(v, x):
    if not (x >= 0.0) or not (abs(v) < math.inf):
        return 0.0 if abs(v) == math.inf and x >= 0.0 and x < math.inf else _nan(v + x)
    if x == 0.0 or x == math.inf:
        return 0.0 if v > 0.0 or x > 0.0 else _gammasgn(v + 1.0) / abs(x)
    j, y = _jy(abs(v), x)
    return j if v > 0.0 else _sinpi(0.5 - v) * j + _sinpi(v) * y  # DLMF 10.2.3


def _yv(v, x):
    if x == 0.0 and abs(v) == math.inf:
        return -1.0 / abs(x)
    if not (x >= 0.0) or not (abs(v) < math.inf):
        return _nan(v + x)
    if x == math.inf:
        return 0.0
    if x == 0.0:
        return -1.0 / abs(x) if v > 0.0 else 0.0 if _sinpi(0.5 - v) == 0.0 else -math.copysign(1.0 / abs(x), _sinpi(0.5 - v))
    j, y = _jy(abs(v), x)
    if v > 0.0:
        return y
    cosine = _sinpi(0.5 - v)
    return (cosine * y if cosine != 0.0 else 0.0) - _sinpi(v) * j


# ---- exponential and trigonometric integrals ----


def _exp1(x):
    if not (x > 0.0):
        return 1.0 / abs(x) if x == 0.0 else _nan(x)
    if x < 0.5:
        return x * fits.exp1_left(x) - _EULER - math.log(x)  # DLMF 6.6.2
    return math.exp(-x) * (fits.exp1_right(x) / x)


def _expi(x):
    if x < 0.0:
        return -_exp1(-x)
    if x < 0.25:
        return math.log(x) + _EULER + x * fits.expi_left(x) if x > 0.0 else -1.0 / abs(x)
    if x < 4.0:
        return fits.expi_middle(x)
    if x == math.inf:
        return x
    return _times_exp(fits.expi_right(x) / x, x)


def exp1(x):
    return _t(x)(_exp1(np.float64(x)))


def expi(x):
    return _t(x)(_expi(np.float64(x)))


def _expn(n, x):
    if not (n >= 0.0 and x >= 0.0):
        return _nan(n + x)
    if x == 0.0:
        return 1.0 / (n - 1.0) if n > 1.0 else 1.0 / abs(x)
    if x == math.inf:
        return 0.0
    if n == 0.0:
        return math.exp(-x) / x
    if n == 1.0:
        return _exp1(x)
    if x > 1.0:  # the even part of DLMF 8.19.17
        b = x + n
        d = 1.0 / b
        step = d
        h = d
        i = 1.0
        while i < 10000.0:
            k = -i * (n - 1.0 + i)
            b += 2.0
            before = d
            d = 1.0 / (k * d + b)
            step *= -k * before * d
            h += step
            if abs(step) < _EPS * abs(h):
                break
            i += 1.0
        return h * math.exp(-x)
    # DLMF 8.19.8
    term = 1.0
    total = 1.0 / (n - 1.0)
    i = 0.0
    while i < 200.0 and (abs(term) > 1e-18 * abs(total) or i < n):
        i += 1.0
        term *= -x / i
        if term == 0.0:
            break
        total += term * (_psi_right(n) - math.log(x)) if i == n - 1.0 else -term / (i - n + 1.0)
    return total


def expn(n, x):
    k = np.float64(n)
    if k != np.floor(k):
        return _t2(n, x)(_nan(k + np.float64(x)))
    return _t2(n, x)(_expn(k, np.float64(x)))


def _si(v):
    """For v >= 0."""
    if v <= 4.0:
        return v * fits.si_left(v * v)
    return _HALF_PI - fits.sine_f(v) / v * math.cos(v) - fits.sine_g(v) / (v * v) * math.sin(v) if v < math.inf else _HALF_PI  # DLMF 6.2.19


def _ci(v):
    if v < 0.5:
        return math.log(v) + _EULER + v * v * fits.ci_left(v * v) if v > 0.0 else -1.0 / abs(v)
    if v < 4.0:
        return fits.ci_middle(v)
    return fits.sine_f(v) / v * math.sin(v) - fits.sine_g(v) / (v * v) * math.cos(v) if v < math.inf else 0.0


def sici(x):
    t = _t(x)
    v = np.float64(x)
    ci = _ci(abs(v))
    if v != v:
        return t(math.nan), t(math.nan)
    return t(math.copysign(_si(abs(v)), v)), t(ci if v >= 0.0 or v > -math.inf else math.nan)


def _shi(v):
    return v * fits.shi_left(v * v) if v <= 2.0 else 0.5 * (_expi(v) + _exp1(v))


def _chi(v):
    if v < 0.25:
        return math.log(v) + _EULER + v * v * fits.chi_left(v * v) if v > 0.0 else -1.0 / abs(v)
    return fits.chi_middle(v) if v < 2.0 else 0.5 * (_expi(v) - _exp1(v))


def shichi(x):
    t = _t(x)
    v = np.float64(x)
    if v != v:
        return t(math.nan), t(math.nan)
    return t(math.copysign(_shi(abs(v)), v)), t(_chi(abs(v)))


def _quarter_turns(v):
    """pi / 2 * v * v, less whole turns: of the exact square."""
    s = v * v
    e = _fma(v, v, -s)
    return _HALF_PI * (math.fmod(s, 4.0) + math.fmod(e, 4.0))


def _fresnel(v):
    """(S, C) for v >= 0."""
    if v <= 1.5:
        w = v * v
        w *= w
        return v * v * v * fits.fresnel_s_left(w), v * fits.fresnel_c_left(w)
    if v > 1e17:
        return 0.5, 0.5
    angle = _quarter_turns(v)
    s = math.sin(angle)
    c = math.cos(angle)
    f = fits.fresnel_f(v) / (_PI * v)
    g = fits.fresnel_g(v) / (_PI * _PI * v * v * v)
    return 0.5 - f * c - g * s, 0.5 + f * s - g * c  # DLMF 7.5.3, 7.5.4


def fresnel(z):
    t = _t(z)
    v = np.float64(z)
    s, c = _fresnel(abs(v))
    if v != v:
        return t(math.nan), t(math.nan)
    return t(math.copysign(s, v)), t(math.copysign(c, v))


# ---- elliptic integrals ----


def _ellipkm1(p):
    """By the arithmetic-geometric mean (DLMF 19.8.5)."""
    if not (p > 0.0) or p == math.inf:
        return 1.0 / abs(p) if p == 0.0 else 0.0 if p == math.inf else _nan(p)
    a = 1.0
    b = math.sqrt(p)
    while abs(a - b) > 1e-8 * a:
        a, b = 0.5 * (a + b), math.sqrt(a * b)
    return _PI / (a + b)


def _ellipe(m):
    if not (m < 1.0) or m == -math.inf:
        return 1.0 if m == 1.0 else math.inf if m == -math.inf else _nan(m)
    if m < 0.0:  # DLMF 19.7.2
        return math.sqrt(1.0 - m) * _ellipe_right(1.0 / (1.0 - m))
    return _ellipe_right(1.0 - m)


def _ellipe_right(p):
    """Of m = 1 - p: Bulirsch's cel2(sqrt(p), 1, p), in which all terms are positive (R. Bulirsch, Numer. Math. 7, 1965, 78-90)."""
    if p < 1e-18:
        return 1.0
    k = math.sqrt(p)
    a = 1.0 + p
    b = 2.0 * (k + p)
    before = 1.0
    mean = 1.0 + k
    last = a
    a += b / mean
    while abs(before - k) > 1e-8 * before:
        k = 2.0 * math.sqrt(k * before)
        b = 2.0 * (last * k + b)
        before = mean
        mean += k
        last = a
        a += b / mean
    return 0.5 * _HALF_PI * a / mean


def ellipkm1(p):
    return _t(p)(_ellipkm1(np.float64(p)))


def ellipk(m):
    return _t(m)(_ellipkm1(1.0 - np.float64(m)))


def ellipe(m):
    return _t(m)(_ellipe(np.float64(m)))


def sinc(x):
    return np.sinc(x)


# ---- distributions that are other names of functions above ----


def chdtr(v, x):
    return _t2(v, x)(_gammainc(0.5 * np.float64(v), 0.5 * np.float64(x)))


def chdtrc(v, x):
    return _t2(v, x)(_gammaincc(0.5 * np.float64(v), 0.5 * np.float64(x)))


def pdtr(k, m):
    return _t2(k, m)(_gammaincc(np.floor(np.float64(k)) + 1.0, np.float64(m)) if k >= 0.0 else _nan(np.float64(k) + m))


def pdtrc(k, m):
    return _t2(k, m)(_gammainc(np.floor(np.float64(k)) + 1.0, np.float64(m)) if k >= 0.0 else _nan(np.float64(k) + m))


# ---- inverses ----


def _newton(x, low, high, value, wanted, slope):
    """One step for log(x), by the logarithm of the value; within low and high, which are moved before. slope: of the value."""
    ratio = value / wanted
    distance = math.log1p((value - wanted) / wanted) if abs(ratio - 1.0) < 0.5 else math.log(ratio) if ratio > 0.0 else -700.0
    move = -distance * value / slope if slope != 0.0 and value > 0.0 else math.nan
    if abs(move) < 1e-3:
        after = x + x * move * (1.0 + 0.5 * move)
    else:
        after = x * math.exp(min(max(move, -50.0), 50.0))
    if after == x or (after > low and after < high):  # x is low or high: if it stays, nothing is to be gained
        return after
    if low == 0.0:
        return 1e-3 * high
    return math.sqrt(low) * math.sqrt(high) if high < math.inf else 8.0 * low


def _gamma_inverse(a, p, q):
    """x of P(a, x) = p and Q(a, x) = q; the smaller of both counts."""
    is_low = p <= q
    wanted = p if is_low else q
    below = (math.log(p) if p < 0.5 else math.log1p(-q)) + _lgamma1p(a)  # P(a, x) < x**a / gamma(a + 1)
    x = _lib_exp(below / a)
    if a > 0.5:
        z = _ndtri(p) if is_low else -_ndtri(q)
        w = 1.0 - 1.0 / (9.0 * a) + z / (3.0 * math.sqrt(a))  # Wilson and Hilferty, 1931
        x = max(x, a * w * w * w) if w > 0.1 else x
    elif not is_low:
        x = max(x, -math.log(q) - 1.0)
    if x < 1e-305:
        return x
    low = 0.0
    high = math.inf
    for _ in range(100):
        value = _gammainc(a, x) if is_low else _gammaincc(a, x)
        if value == wanted:
            return x
        if (value < wanted) == is_low:
            low = x
        else:
            high = x
        slope = a * _power_over_gamma(a, x)
        before = x
        x = _newton(x, low, high, value, wanted, slope if is_low else -slope)
        if abs(x - before) <= 2e-16 * x or x == low or x == high:
            return x
    return x


def _gamma_inverse_of(a, y, is_low):
    if not (a >= 0.0 and y >= 0.0 and y <= 1.0):
        return _nan(a + y)
    if y == 0.0 or y == 1.0:
        return 0.0 if (y == 0.0) == is_low else math.inf
    if a == 0.0 or a == math.inf:
        return _nan(a + y)
    return _gamma_inverse(a, y, 1.0 - y) if is_low else _gamma_inverse(a, 1.0 - y, y)


def gammaincinv(a, y):
    return _t2(a, y)(_gamma_inverse_of(np.float64(a), np.float64(y), True))


def gammainccinv(a, y):
    return _t2(a, y)(_gamma_inverse_of(np.float64(a), np.float64(y), False))


def chdtri(v, p):
    return _t2(v, p)(2.0 * _gamma_inverse_of(0.5 * np.float64(v), np.float64(p), False))


def _near_beta_inverse(a, b, z):
    """About the x where I_x(a, b) is the probability of a normal variable above z, for a and b above 1 (Abramowitz and Stegun 26.5.22)."""
    by_a = 1.0 / (2.0 * a - 1.0)
    by_b = 1.0 / (2.0 * b - 1.0)
    h = 2.0 / (by_a + by_b)
    k = (z * z - 3.0) / 6.0
    w = z * math.sqrt(h + k) / h - (by_b - by_a) * (k + 5.0 / 6.0 - 2.0 / (3.0 * h))
    return a / (a + b * _lib_exp(2.0 * w))


def _beta_inverse(a, b, p, q, z):
    """x <= 0.5 of I_x(a, b) = p and 1 - I_x(a, b) = q; q counts where it is small. z: a normal variable is above it with probability p."""
    is_low = p <= 0.9
    wanted = p if is_low else q
    below = math.log(p) if p < 0.5 else math.log1p(-q)
    below += _log_a_beta(a, b) if a <= 0.5 else math.log(a) + _betaln_right(max(a, b), min(a, b))  # I_x(a, b) = x**a / (a * beta(a, b)) * (1 + ...)
    x = min(_lib_exp(below / a), 0.5)
    if x < 1e-305:
        return x
    if a > 1.0 and b > 1.0:  # else x is near enough; here it is less than the result
        x = min(max(x, _near_beta_inverse(a, b, z)), 0.5)
    low = 0.0
    high = 0.5000000001
    for _ in range(100):
        value = _betainc_either(a, b, x, not is_low)
        if value == wanted:
            return x
        if (value < wanted) == is_low:
            low = x
        else:
            high = x
        slope = _beta_power(a, b, x, 1.0 - x, _beyond_mean(a, b, x)) / (1.0 - x)
        before = x
        x = _newton(x, low, high, value, wanted, slope if is_low else -slope)
        if abs(x - before) <= 2e-16 * x or x == low or x == high:
            return x
    return x


def _beta_inverse_of(a, b, y, is_low):
    if not (a > 0.0 and b > 0.0 and y >= 0.0 and y <= 1.0):
        return _nan(a + b + y)
    if y == 0.0 or y == 1.0:
        return y if is_low else 1.0 - y
    if a == math.inf or b == math.inf:
        return _nan(a + b + y)
    if a + b == math.inf:
        a *= 0.25
        b *= 0.25
    p = y if is_low else 1.0 - y
    q = 1.0 - y if is_low else y
    half = _betainc_either(a, b, 0.5, not is_low)
    t = math.sqrt(-2.0 * math.log(min(p, q)))
    z = math.copysign(t - (2.30753 + 0.27061 * t) / (1.0 + (0.99229 + 0.04481 * t) * t), q - p)  # Abramowitz and Stegun 26.2.22: to 0.003
    if (y <= half) == is_low:
        return _beta_inverse(a, b, p, q, z)
    return 1.0 - _beta_inverse(b, a, q, p, -z)


def betaincinv(a, b, y):
    return _t3(a, b, y)(_beta_inverse_of(np.float64(a), np.float64(b), np.float64(y), True))


def betainccinv(a, b, y):
    return _t3(a, b, y)(_beta_inverse_of(np.float64(a), np.float64(b), np.float64(y), False))


# ---- Lambert's W ----

_LAMBERT = (-1.0, 1.0, -1 / 3, 11 / 72, -43 / 540, 769 / 17280, -221 / 8505, 680863 / 43545600, -1963 / 204120)  # DLMF 4.13.6


def _lambert_series(p):
    value = 0.0 * p
    for c in _LAMBERT[::-1]:
        value = value * p + c
    return value


def _above_branch_point(x):
    """e * x + 1."""
    return _fma(x, math.e, 1.0) + x * 1.4456468917292502e-16


def _lambert_real(x, is_lower):
    """W(0, x) for x >= -1/e, W(-1, x) for -1/e <= x < 0: steps of F. N. Fritsch, R. E. Shafer and W. P. Crowley, 1973."""
    if x == 0.0 or x == math.inf:
        return -math.inf if is_lower else x
    above = _above_branch_point(x)
    p = math.sqrt(2.0 * above) if above > 0.0 else 0.0
    w = _lambert_series(-p if is_lower else p)
    if p < 0.02:
        return w
    if is_lower and x > -0.2:
        a = math.log(-x)
        b = math.log(-a)
        w = a - b + b / a
    elif not is_lower and x > -0.2:
        if abs(x) < 1e-9:
            return x - x * x
        a = math.log1p(x)
        w = a * (1.0 - math.log1p(a) / (2.0 + a))
    for _ in range(8):
        z = (math.log(x) - math.log(w) if x > 1e290 else math.log(x / w)) - w
        q = 2.0 * (1.0 + w) * (1.0 + w + 2.0 * z / 3.0)
        step = z / (1.0 + w) * ((q - z) / (q - 2.0 * z))
        w += w * step
        if abs(step) < 1e-7:
            break
    return w


def _lambert_complex(x, k):
    """W(k, x) where it is not real: Newton's method for w + log(w) = log(x) + 2 pi i k."""
    wanted = complex(math.log(abs(x)), (_PI if x < 0.0 else 0.0) + 2.0 * _PI * k)
    above = _above_branch_point(x)
    if above < 0.0 and above > -1.0 and (k == 0.0 or k == -1.0):
        p = complex(0.0, math.sqrt(-2.0 * above))
        w = _lambert_series(p if k == 0.0 else -p)
        if above > -2e-4:
            return w
    else:
        w = wanted - cmath.log(wanted)
    for _ in range(40):
        step = (w + cmath.log(w) - wanted) * w / (1.0 + w)
        w -= step
        if abs(step.real) + abs(step.imag) < 1e-15 * (abs(w.real) + abs(w.imag)):
            break
    return w


def _lambertw(x, k):
    if x != x or k != np.floor(k):
        return complex(_nan(x + k), 0.0)
    if k == 0.0 and (x >= 0.0 or _above_branch_point(x) >= 0.0):
        return complex(_lambert_real(x, False), 0.0)
    if k == -1.0 and x < 0.0 and _above_branch_point(x) >= 0.0:
        return complex(_lambert_real(x, True), 0.0)
    if x == 0.0:
        return complex(-math.inf, 0.0)
    if abs(x) == math.inf:
        return complex(math.inf, (_PI if x < 0.0 else 0.0) + 2.0 * _PI * k)
    return _lambert_complex(x, k)


def lambertw(z, k=0, tol=1e-8):
    v = _t(z)(z)
    w = _lambertw(np.float64(z), np.float64(k))
    return np.complex64(w) if type(v) == np.float32 else w


# ---- names that are not here ----


def _hint(name):
    """What to say of a name of scipy.special that compiled code does not have."""
    import difflib

    from lanewise.special import __all__ as known
    from lanewise.special import _ELSEWHERE as elsewhere

    if name in elsewhere:
        return f"scipy.special.{name} is a function of whole arrays: call `{elsewhere[name]}` outside of compiled functions"
    near = difflib.get_close_matches(name, known, 4, 0.6)
    listed = f"; near names that are: {', '.join(near)}" if near else ""
    return f"scipy.special.{name} is not among the functions of scipy.special that compiled code has{listed}; docs/special.md lists them"
