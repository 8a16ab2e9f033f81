"""Makes lanewise/_special_fits.py: polynomials for the functions of lanewise/special.py, by mpmath.

    python tests/special/fit.py > lanewise/_special_fits.py

Each function of the result is a polynomial in x - m, m the middle of its interval: the Chebyshev interpolant of a smooth function
(Trefethen, Approximation Theory and Approximation Practice, 2013, chapters 3 and 4), with as many terms as leave an error below
2**-57 of the least value, in powers. A polynomial is kept only if its powers do not cancel: the sum of their sizes stays within
five times the value everywhere. Where the function has a zero, the polynomial is that of its quotient by x - zero, so that the
error is relative there, too.
"""

from __future__ import annotations

import sys
import textwrap

import mpmath as mp

mp.mp.dps = 45
NODES = 64
_HEAD = '''"""Polynomials for lanewise/special.py, made by tests/special/fit.py: do not edit."""
'''


def chebyshev(f, a, b):
    """The coefficients of the interpolant in NODES Chebyshev points, and its values."""
    m, h = (a + b) / 2, (b - a) / 2
    angles = [mp.pi * (j + mp.mpf(1) / 2) / NODES for j in range(NODES)]
    values = [mp.re(f(m + h * mp.cos(t))) for t in angles]
    out = []
    for k in range(NODES):
        out.append((1 if k == 0 else 2) * sum(v * mp.cos(k * t) for v, t in zip(values, angles)) / NODES)
    return out, values


def powers(c):
    """Coefficients of powers of u on [-1, 1]."""
    n = len(c)
    before, now = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    total = [mp.mpf(0)] * n
    total[0] += c[0]
    for k in range(1, n):
        for i, t in enumerate(now):
            total[i] += c[k] * t
        following = [mp.mpf(0)] + [2 * t for t in now]
        for i, t in enumerate(before):
            following[i] -= t
        before, now = now, following
    return total


def fit(name, f, a, b):
    """The text of a function, the polynomial for f on [a, b]."""
    a, b = mp.mpf(a), mp.mpf(b)
    c, values = chebyshev(f, a, b)
    least = min(abs(v) for v in values)
    n = next((n for n in range(2, NODES - 8) if sum(abs(x) for x in c[n:]) < mp.mpf(2) ** -57 * least), None)
    if n is None:
        raise ValueError(f"{name}: no polynomial on [{a}, {b}]: {[mp.nstr(x / least, 3) for x in c[::6]]}")
    p = powers(c[:n])
    m, h = (a + b) / 2, (b - a) / 2
    worst = max(sum(abs(x) * abs(u) ** i for i, x in enumerate(p)) / abs(f(m + h * u)) for u in (mp.mpf(i) / 8 for i in range(-8, 9)))
    print(f"{name:24} [{mp.nstr(a, 4)}, {mp.nstr(b, 4)}] degree {n - 1}, condition {mp.nstr(worst, 3)}", file=sys.stderr)
    if worst > 5:
        raise ValueError(f"{name}: powers cancel")
    coefficients = [float(x / h**i) for i, x in enumerate(p)]
    shift = f" - {float(m)!r}" if m > 0 else f" + {float(-m)!r}" if m < 0 else ""
    return f"\n\ndef {name}(x):\n    v = x{shift}\n    return (\n{horner(coefficients)}\n    )\n"


def horner(coefficients):
    text = repr(coefficients[-1])
    for x in coefficients[-2::-1]:
        text = f"({text}) * v" if " " in text else f"{text} * v"
        text += f" {'-' if x < 0 else '+'} {abs(x)!r}"
    return textwrap.fill(text, 150, initial_indent=" " * 8, subsequent_indent=" " * 8, break_on_hyphens=False, break_long_words=False)


def pieces(name, f, *ends, tail=None, power=1, zeros=()):
    """A function that takes the polynomial of the interval in which x lies. tail: of f at 1 / x**power beyond the last end."""
    texts, chooser = [], f"\n\ndef {name}(x):\n"
    for i in range(len(ends) - 1):
        here = [z for z in zeros if mp.mpf(ends[i]) <= z <= mp.mpf(ends[i + 1])]
        if here:
            z = here[0]
            slope = mp.diff(f, z)
            texts.append(fit(f"_{name}_{i}", lambda x: f(x) / (x - z) if abs(x - z) > mp.mpf(10) ** -25 else slope, ends[i], ends[i + 1]))
            high = float(z)
            low = float(z - mp.mpf(high))
            value = f"(x - {high!r} {'-' if low > 0 else '+'} {abs(low)!r}) * _{name}_{i}(x)"
        else:
            texts.append(fit(f"_{name}_{i}", f, ends[i], ends[i + 1]))
            value = f"_{name}_{i}(x)"
        last = i == len(ends) - 2 and tail is None
        chooser += f"    return {value}\n" if last else f"    if x < {float(ends[i + 1])!r}:\n        return {value}\n"
    if tail is not None:
        texts.append(fit(f"_{name}_tail", tail, 0, mp.mpf(1) / mp.mpf(ends[-1]) ** power))
        chooser += f"    return _{name}_tail({'1.0 / x' if power == 1 else '1.0 / (x * x)' if power == 2 else '1.0 / (x * x * x * x)'})\n"
    if len(texts) == 1 and not zeros:  # the polynomial is the function
        return texts[0].replace(f"def _{name}_0(", f"def {name}(").replace(f"def _{name}_tail(", f"def {name}(")
    return "".join(texts) + chooser


# ---- the smooth functions ----

ONE = mp.mpf(1)
EULER = mp.euler
fac = mp.factorial


def at(f, z, limit):
    """f(z), by the limit where z is 0."""
    return limit if z == 0 else f(z)


def of_square(f, limit, k=2):
    """The function z -> f(z**(-1/k)), for the tail of f."""
    return lambda z: limit if z == 0 else f(z ** (-ONE / k))


def entire(coefficient):
    """The function with the power series sum coefficient(k) * z**k."""
    known = [coefficient(k) for k in range(120)]

    def f(z):
        total = mp.mpf(0)
        for c in reversed(known):
            total = total * z + c
        return total

    return f


def harmonic(k):
    return sum((ONE / i for i in range(1, k + 1)), mp.mpf(0))


def hankel(n, z, odd):
    """P(x), or x Q(x), of the Hankel expansion of Bessel functions, at z = 1 / x**2 (DLMF 10.17.3)."""
    if z == 0:
        return (4 * mp.mpf(n) ** 2 - 1) / 8 if odd else ONE
    x = 1 / mp.sqrt(z)
    chi = x - mp.pi * n / 2 - mp.pi / 4
    s = mp.sqrt(mp.pi * x / 2)
    j, y = mp.besselj(n, x), mp.bessely(n, x)
    return x * s * (y * mp.cos(chi) - j * mp.sin(chi)) if odd else s * (j * mp.cos(chi) + y * mp.sin(chi))


def sine_f(x):
    """x f(x) of the sine and cosine integrals (DLMF 6.2.17)."""
    return x * (mp.ci(x) * mp.sin(x) - (mp.si(x) - mp.pi / 2) * mp.cos(x))


def sine_g(x):
    """x**2 g(x) of them (DLMF 6.2.18)."""
    return -x * x * (mp.ci(x) * mp.cos(x) + (mp.si(x) - mp.pi / 2) * mp.sin(x))


def fresnel_f(x):
    """pi x f(x) of the Fresnel integrals (DLMF 7.2.10)."""
    t = mp.pi * x * x / 2
    return mp.pi * x * ((ONE / 2 - mp.fresnels(x)) * mp.cos(t) - (ONE / 2 - mp.fresnelc(x)) * mp.sin(t))


def fresnel_g(x):
    """pi**2 x**3 g(x) of them (DLMF 7.2.11)."""
    t = mp.pi * x * x / 2
    return mp.pi**2 * x**3 * ((ONE / 2 - mp.fresnelc(x)) * mp.cos(t) + (ONE / 2 - mp.fresnels(x)) * mp.sin(t))


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def dawson(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def erfc_inverse(t):
    """erfcinv(exp(-t**2)) / t, by Newton's method for log(erfc)."""
    y = t
    for _ in range(200):
        e = mp.erfc(y)
        step = (mp.log(e) + t * t) * e * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y += step
        if abs(step) < mp.mpf(10) ** -38 * abs(y):
            break
    return y / t


def stirling(x):
    """x times the logarithm of gamma(x) over Stirling's formula."""
    return x * (mp.loggamma(x) - ((x - ONE / 2) * mp.log(x) - x + mp.log(2 * mp.pi) / 2))


def scaled(f, sign, power):
    return lambda x: mp.exp(sign * x) * x**power * f(x)


def temme():
    """c_k(eta) of the uniform expansion of incomplete gamma functions (DLMF 8.12.9 to 8.12.12), as power series, and their sum in 1 / a."""
    n, n_k = 50, 14
    # lambda - 1 = mu: eta**2 / 2 = mu - log(1 + mu), so that mu' (mu / (1 + mu)) = eta; by powers of eta
    mu = [mp.mpf(0), ONE] + [mp.mpf(0)] * n
    for k in range(2, n + 1):
        # mu mu' = eta (1 + mu), the coefficient of eta**k: sum_{i + j = k + 1} j mu_i mu_j = mu_{k - 1}
        known = sum(j * mu[k + 1 - j] * mu[j] for j in range(2, k))
        mu[k] = (mu[k - 1] - known) / (k + 1)
    # 1 / mu = (1 / eta) sum r_i eta**i
    r = [ONE]
    for k in range(1, n):
        r.append(-sum(mu[i + 1] * r[k - i] for i in range(1, k + 1)))
    g = [ONE]  # of gamma(a) = sqrt(2 pi / a) (a / e)**a sum g_k a**-k (DLMF 5.11.3)
    logs = [mp.mpf(0)] + [mp.bernoulli(k + 1) / (k * (k + 1)) for k in range(1, n_k + 2)]
    for k in range(1, n_k + 1):
        g.append(sum(i * logs[i] * g[k - i] for i in range(1, k + 1)) / k)
    # c_0 = 1 / mu - 1 / eta; c_k = (c_{k-1}' + (-1)**k g_k eta / mu) / eta
    c = r[1:]
    text = []
    for k in range(n_k):
        rest = [abs(x) * mp.mpf("0.4") ** i * mp.mpf(20) ** -k for i, x in enumerate(c)]
        keep = next(i for i in range(2, len(c)) if sum(rest[i:]) < mp.mpf(2) ** -60)
        text.append([float(x) for x in c[:keep]])
        following = [(i + 1) * c[i + 1] for i in range(len(c) - 1)]
        sign = -1 if (k + 1) % 2 else 1
        total = [following[i] + sign * g[k + 1] * r[i] for i in range(min(len(following), len(r)))]
        assert abs(total[0]) < mp.mpf(10) ** -30, total[0]
        c = total[1:]
    out = "\n\ndef temme_sum(v, a):\n    w = 1.0 / a\n"
    for k, terms in reversed(list(enumerate(text))):
        out += f"    s = (\n{horner(terms)}\n    )\n" if k == len(text) - 1 else f"    s = s * w + (\n{horner(terms)}\n    )\n"
    print(f"temme_sum: {[len(t) for t in text]} terms", file=sys.stderr)
    return out + "    return s\n"


def all_fits():
    half = ONE / 2
    psi = mp.findroot(mp.digamma, mp.mpf("1.4616321"))
    yield pieces("digamma_12", mp.digamma, 1, 2, zeros=[psi])
    # log1p(d) - d = -s d + 2 s**3 f(s**2), s = d / (2 + d)
    yield pieces("atanh_rest", entire(lambda k: ONE / (2 * k + 3)), 0, ONE / 9)
    # 1 / gamma(1 + x) = 1 + x f(x)
    yield pieces("rgamma1p_rest", lambda x: at(lambda z: (mp.rgamma(1 + z) - 1) / z, x, EULER), -half, 0, half)
    yield pieces("stirling_rest", of_square(stirling, ONE / 12), 0, ONE / 64)
    yield pieces("zeta_rest", lambda x: at(lambda d: mp.zeta(1 + d) - 1 / d, x - 1, EULER), -half, 2)
    yield pieces("zetac_2x", lambda x: (mp.zeta(x) - 1) * mp.mpf(2) ** x, 2, 4, 8, 16, 32, 64)
    yield temme()
    yield pieces("erfcx_right", erfcx, 0, 1, 2, 4, 8)
    yield pieces("erfcx_tail", of_square(lambda x: x * erfcx(x), 1 / mp.sqrt(mp.pi)), 0, ONE / 64)
    yield pieces("erfinv_middle", lambda z: at(lambda z: mp.erfinv(mp.sqrt(z)) / mp.sqrt(z), z, mp.sqrt(mp.pi) / 2), 0, ONE / 4)
    yield pieces("erfcinv_tail", erfc_inverse, "0.8125", 1, "1.5", 2, 3, 4, 6, 8, 12, 16, 28)
    yield pieces("dawsn_left", lambda z: at(lambda z: dawson(mp.sqrt(z)) / mp.sqrt(z), z, ONE), 0, 1)
    yield pieces("dawsn_right", dawson, 1, 2, 3, 4, 6, 8)
    yield pieces("dawsn_tail", of_square(lambda x: x * dawson(x), half), 0, ONE / 64)
    for n in (0, 1):
        j, y, i, k = (lambda x, f=f, n=n: f(n, x) for f in (mp.besselj, mp.bessely, mp.besseli, mp.besselk))
        zeros = [[mp.besseljzero(n, m) for m in range(1, 4)], [mp.besselyzero(n, m) for m in range(1, 4)]]
        yield pieces(f"j{n}_left", entire(lambda k: (-ONE / 4) ** k / (fac(k) * fac(k + n)) / 2**n), 0, 1, 4 if n else 3)
        if n == 0:
            yield pieces("j0_right", j, "1.5", 2, 3, 4, 5, 6, 7, 8, zeros=zeros[0])
        else:
            yield pieces("j1_right", j, "1.75", 3, 5, 6, 8, zeros=zeros[0])
        # Y0 = 2 / pi log(x / 2) J0 + f(x**2), Y1 = 2 / pi (log(x / 2) J1 - 1 / x) + x f(x**2)   (DLMF 10.8.1)
        yield pieces(f"y{n}_left", entire(lambda k: (-ONE / 4) ** k / (fac(k) * fac(k + n)) / 2**n / mp.pi * (2 * EULER - harmonic(k) - harmonic(k + n))), 0, 1)
        yield pieces(f"y{n}_right", y, *((half, "1.25", 2, 3, 5, 6, 8) if n == 0 else (half, 1, "1.5", "2.5", 3, 4, 5, 6, 7, 8)), zeros=zeros[1])
        yield pieces(f"p{n}", lambda z: hankel(n, z, False), 0, ONE / 64)
        yield pieces(f"q{n}", lambda z: hankel(n, z, True), 0, ONE / 64)
        yield pieces(f"i{n}_left", entire(lambda k: (ONE / 4) ** k / (fac(k) * fac(k + n)) / 2**n), 0, 4, 16)
        yield pieces(f"i{n}_right", scaled(i, -1, half), 4, 8, tail=of_square(scaled(i, -1, half), 1 / mp.sqrt(2 * mp.pi), 1))
        # K0 = -(log(x / 2) + euler) I0 + x**2 f(x**2), without a difference; K1 = 1 / x + log(x / 2) I1 + x f(x**2)   (DLMF 10.31.1)
        if n == 0:
            yield pieces("k0_left", entire(lambda k: (ONE / 4) ** (k + 1) / fac(k + 1) ** 2 * harmonic(k + 1)), 0, ONE / 4)
        else:
            yield pieces("k1_left", entire(lambda k: -((ONE / 4) ** k) / (fac(k) * fac(k + 1)) / 2 * (harmonic(k) + harmonic(k + 1) - 2 * EULER) / 2), 0, ONE / 4)
        yield pieces(f"k{n}_middle", k, half, "0.7", 1)
        yield pieces(f"k{n}_right", scaled(k, 1, half), 1, 2, 4, 8, tail=of_square(scaled(k, 1, half), mp.sqrt(mp.pi / 2), 1))
    e1 = lambda x: mp.e1(x)  # noqa: E731
    yield pieces("exp1_left", entire(lambda k: (-1) ** k * ONE / ((k + 1) * fac(k + 1))), 0, half)
    yield pieces("exp1_right", scaled(e1, 1, 1), half, 1, 2, 4, 8, 16, tail=of_square(scaled(e1, 1, 1), ONE, 1))
    yield pieces("expi_left", entire(lambda k: ONE / ((k + 1) * fac(k + 1))), 0, half)
    yield pieces("expi_middle", mp.ei, ONE / 4, half, 1, 2, 4, zeros=[mp.findroot(mp.ei, mp.mpf("0.3725"))])
    yield pieces("expi_right", scaled(mp.ei, -1, 1), 4, 8, 12, 16, 24, 32, 64, tail=of_square(scaled(mp.ei, -1, 1), ONE, 1))
    yield pieces("si_left", entire(lambda k: (-1) ** k * ONE / ((2 * k + 1) * fac(2 * k + 1))), 0, 4, 16)
    yield pieces("ci_left", entire(lambda k: -((-1) ** k) * ONE / ((2 * k + 2) * fac(2 * k + 2))), 0, 1)
    ci_zeros = [mp.findroot(mp.ci, mp.mpf("0.6165")), mp.findroot(mp.ci, mp.mpf("3.384"))]
    yield pieces("ci_middle", mp.ci, half, 1, 2, 3, 4, zeros=ci_zeros)
    yield pieces("sine_f", sine_f, 4, 5, 6, 8, 12, 16, tail=of_square(sine_f, ONE), power=2)
    yield pieces("sine_g", sine_g, 4, 5, 6, 8, 12, 16, tail=of_square(sine_g, ONE), power=2)
    yield pieces("shi_left", entire(lambda k: ONE / ((2 * k + 1) * fac(2 * k + 1))), 0, 4)
    yield pieces("chi_left", entire(lambda k: ONE / ((2 * k + 2) * fac(2 * k + 2))), 0, 1)
    yield pieces("chi_middle", mp.chi, ONE / 4, "0.375", "0.75", "1.25", 2, zeros=[mp.findroot(mp.chi, mp.mpf("0.5238"))])
    yield pieces("fresnel_s_left", entire(lambda k: (-1) ** k * (mp.pi / 2) ** (2 * k + 1) / (fac(2 * k + 1) * (4 * k + 3))), 0, 1, "5.0625")
    yield pieces("fresnel_c_left", entire(lambda k: (-1) ** k * (mp.pi / 2) ** (2 * k) / (fac(2 * k) * (4 * k + 1))), 0, 1, "5.0625")
    yield pieces("fresnel_f", fresnel_f, "1.5", 2, 3, 4, 6, tail=of_square(fresnel_f, ONE, 4), power=4)
    yield pieces("fresnel_g", fresnel_g, "1.5", 2, 3, 4, 6, tail=of_square(fresnel_g, ONE, 4), power=4)


if __name__ == "__main__":
    print(_HEAD + "".join(all_fits()), end="")
