"""What the functions of lanewise/special.py are compared with: mpmath's functions, and where numbers are drawn for them.

    python tests/special/reference.py [--points 10000] [--seconds 60] [names]

prints the table of docs/special.md. The error is counted in units in the last place of the result, beyond what one half such unit of
each argument changes: `error / (ulp(result) + change)`. The second column is without the change.
"""

from __future__ import annotations

import argparse
import time

import mpmath as mp
import numpy as np

mp.mp.dps = 40
ONE = mp.mpf(1)


def _entropy(x):
    return -x * mp.log(x) if x else mp.mpf(0)


def _log_ratio(x, y):
    return x * mp.log(x / y)


def _expn(n, x):
    return mp.expint(n, x)


def _hurwitz(s, q):
    return mp.zeta(s, q)


def _regularised(a, x, upper):
    """Between 0 and 1, with digits enough for small values and small differences from 1."""
    with mp.workdps(60):
        return mp.gammainc(a, x, regularized=True) if upper else mp.gammainc(a, 0, x, regularized=True)


def _betainc(a, b, x, upper):
    with mp.workdps(60):
        return mp.betainc(b, a, 0, 1 - x, regularized=True) if upper else mp.betainc(a, b, 0, x, regularized=True)


def _ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _erfcinv(p):
    if p > 1:
        return -_erfcinv(2 - p)
    x = mp.erfinv(1 - p) if p > mp.mpf(10) ** -10 else mp.sqrt(-mp.log(p))
    for _ in range(80):  # Newton's method for the logarithm
        e = mp.erfc(x)
        step = (mp.log(e) - mp.log(p)) * e * mp.sqrt(mp.pi) / 2 * mp.exp(x * x)
        x += step
        if abs(step) < abs(x) * mp.mpf(10) ** -36 + mp.mpf(10) ** -50:
            break
    return x


def _quantile(name, value, slope):
    """Two of Newton's steps from the function's own result: a wrong one stays wrong."""

    def wanted(*arguments):
        import lanewise as lw

        x = mp.mpf(float(getattr(lw.special, name)(*map(float, arguments))))
        for _ in range(2):
            x -= (value(*arguments[:-1], x) - arguments[-1]) / slope(*arguments[:-1], x)
        return x

    return wanted


def _gamma_slope(a, x):
    return x ** (a - 1) * mp.exp(-x) / mp.gamma(a)


def _beta_slope(a, b, x):
    return x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b)


def _log_ndtr(x):
    return mp.log(_ndtr(x)) if x < 0 else mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2)


def _fresnel(which):
    return lambda x: (mp.fresnels, mp.fresnelc)[which](x)


def _pseudo(d, r):
    return d * d * (mp.sqrt(1 + (r / d) ** 2) - 1)


def _scaled(f, sign):
    return lambda n, x: f(n, x) * mp.exp(sign * abs(x))


def _y(n, x):
    return mp.bessely(n, x)


line, log, ints, both = "line", "log", "ints", "both"  # evenly; evenly by exponents; integers; log with either sign
WIDE = (log, -300, 300)

#: name: (reference, results or None: one, where each argument is drawn)
CASES = {
    "gamma": (mp.gamma, None, [(line, -20, 170)]),
    "gammaln": (lambda x: mp.re(mp.loggamma(x)), None, [(log, -5, 5)]),
    "rgamma": (mp.rgamma, None, [(line, -150, 175)]),
    "psi": (mp.digamma, None, [(line, -20, 20)]),
    "polygamma": (lambda n, x: mp.polygamma(int(n), x), None, [(ints, 0, 6), (log, -3, 3)]),
    "gammainc": (lambda a, x: _regularised(a, x, False), None, [(log, -2, 3), (log, -2, 3)]),
    "gammaincc": (lambda a, x: _regularised(a, x, True), None, [(log, -2, 3), (log, -2, 3)]),
    "beta": (mp.beta, None, [(log, -3, 3), (log, -3, 3)]),
    "betaln": (lambda a, b: mp.log(mp.beta(a, b)), None, [(log, -3, 4), (log, -3, 4)]),
    "betainc": (lambda a, b, x: _betainc(a, b, x, False), None, [(log, -1, 2.5), (log, -1, 2.5), (line, 0, 1)]),
    "betaincc": (lambda a, b, x: _betainc(a, b, x, True), None, [(log, -1, 2.5), (log, -1, 2.5), (line, 0, 1)]),
    "gammaincinv": (_quantile("gammaincinv", lambda a, x: _regularised(a, x, False), _gamma_slope), None, [(log, -1, 3), (line, 0, 1)]),
    "gammainccinv": (_quantile("gammainccinv", lambda a, x: _regularised(a, x, True), lambda a, x: -_gamma_slope(a, x)), None, [(log, -1, 3), (log, -30, 0)]),
    "betaincinv": (_quantile("betaincinv", lambda a, b, x: _betainc(a, b, x, False), _beta_slope), None, [(log, -0.5, 2), (log, -0.5, 2), (log, -20, 0)]),
    "betainccinv": (_quantile("betainccinv", lambda a, b, x: _betainc(a, b, x, True), lambda a, b, x: -_beta_slope(a, b, x)), None, [(log, -0.5, 2), (log, -0.5, 2), (line, 0, 1)]),
    "chdtri": (_quantile("chdtri", lambda v, x: _regularised(v / 2, x / 2, True), lambda v, x: -_gamma_slope(v / 2, x / 2) / 2), None, [(log, -1, 2), (log, -30, 0)]),
    "erf": (mp.erf, None, [(line, -6, 6)]),
    "erfc": (mp.erfc, None, [(line, -6, 26)]),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), None, [(line, -26, 50)]),
    "erfinv": (mp.erfinv, None, [(line, -1, 1)]),
    "erfcinv": (_erfcinv, None, [(log, -300, 0.3)]),
    "ndtr": (_ndtr, None, [(line, -37, 9)]),
    "ndtri": (lambda p: -mp.sqrt(2) * _erfcinv(2 * p), None, [(line, 0, 1)]),
    "log_ndtr": (_log_ndtr, None, [(line, -50, 9)]),
    "dawsn": (mp.re and (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)), None, [(line, -30, 30)]),
    "expit": (lambda x: 1 / (1 + mp.exp(-x)), None, [(line, -80, 40)]),
    "logit": (lambda p: mp.log(p / (1 - p)), None, [(line, 0, 1)]),
    "log_expit": (lambda x: -mp.log1p(mp.exp(-x)), None, [(line, -80, 40)]),
    "softplus": (lambda x: mp.log1p(mp.exp(x)), None, [(line, -80, 40)]),
    "xlogy": (lambda x, y: x * mp.log(y), None, [(both, -3, 3), (log, -30, 30)]),
    "xlog1py": (lambda x, y: x * mp.log1p(y), None, [(both, -3, 3), (log, -30, 30)]),
    "entr": (_entropy, None, [(log, -3, 1)]),
    "rel_entr": (_log_ratio, None, [(log, -3, 3), (log, -3, 3)]),
    "kl_div": (lambda x, y: _log_ratio(x, y) - x + y, None, [(log, -3, 3), (log, -3, 3)]),
    "exprel": (lambda x: mp.expm1(x) / x, None, [(line, -80, 80)]),
    "expm1": (mp.expm1, None, [(both, -5, 1.9)]),
    "log1p": (mp.log1p, None, [(log, -9, 9)]),
    "cosm1": (lambda x: -2 * mp.sin(x / 2) ** 2, None, [(line, -20, 20)]),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), None, [(both, -20, 20)]),
    "exp2": (lambda x: mp.mpf(2) ** x, None, [(line, -100, 100)]),
    "exp10": (lambda x: mp.mpf(10) ** x, None, [(line, -30, 30)]),
    "huber": (lambda d, r: r * r / 2 if abs(r) <= d else d * (abs(r) - d / 2), None, [(log, -3, 3), (both, -3, 3)]),
    "pseudo_huber": (_pseudo, None, [(log, -3, 3), (both, -3, 3)]),
    "boxcox": (lambda x, k: (x**k - 1) / k, None, [(log, -3, 3), (line, -5, 5)]),
    "boxcox1p": (lambda x, k: mp.expm1(k * mp.log1p(x)) / k, None, [(log, -9, 3), (line, -5, 5)]),
    "inv_boxcox": (lambda x, k: mp.exp(mp.log1p(k * x) / k), None, [(log, -3, 3), (log, -2, 1)]),
    "inv_boxcox1p": (lambda x, k: mp.expm1(mp.log1p(k * x) / k), None, [(log, -9, 3), (log, -2, 1)]),
    "j0": (mp.j0, None, [(line, -60, 60)]),
    "j1": (mp.j1, None, [(line, -60, 60)]),
    "y0": (lambda x: _y(0, x), None, [(line, 0, 60)]),
    "y1": (lambda x: _y(1, x), None, [(line, 0, 60)]),
    "jv": (mp.besselj, None, [(ints, -20, 20), (line, -60, 60)]),
    "yn": (lambda n, x: mp.bessely(n, x), None, [(ints, 0, 20), (line, 0, 60)]),
    "i0": (lambda x: mp.besseli(0, x), None, [(line, -60, 60)]),
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), None, [(line, -60, 60)]),
    "i1": (lambda x: mp.besseli(1, x), None, [(line, -60, 60)]),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), None, [(line, -60, 60)]),
    "iv": (mp.besseli, None, [(ints, -20, 20), (line, -60, 60)]),
    "ive": (_scaled(mp.besseli, -1), None, [(ints, -20, 20), (line, -60, 60)]),
    "k0": (lambda x: mp.besselk(0, x), None, [(log, -5, 1.9)]),
    "k0e": (lambda x: mp.besselk(0, x) * mp.exp(x), None, [(log, -5, 1.9)]),
    "k1": (lambda x: mp.besselk(1, x), None, [(log, -5, 1.9)]),
    "k1e": (lambda x: mp.besselk(1, x) * mp.exp(x), None, [(log, -5, 1.9)]),
    "kn": (mp.besselk, None, [(ints, -10, 10), (log, -1, 1.9)]),
    "kve": (_scaled(mp.besselk, 1), None, [(ints, -10, 10), (log, -1, 1.9)]),
    "jv, any order": (mp.besselj, None, [(line, -20, 20), (line, 0, 60)]),
    "yv, any order": (mp.bessely, None, [(line, -20, 20), (line, 0, 60)]),
    "iv, any order": (mp.besseli, None, [(line, -20, 20), (line, 0, 60)]),
    "ive, any order": (_scaled(mp.besseli, -1), None, [(line, -20, 20), (line, 0, 60)]),
    "kv, any order": (mp.besselk, None, [(line, -20, 20), (log, -1, 1.9)]),
    "kve, any order": (_scaled(mp.besselk, 1), None, [(line, -20, 20), (log, -1, 1.9)]),
    "zeta": (mp.zeta, None, [(line, -20, 20)]),
    "zetac": (lambda x: mp.zeta(x) - 1, None, [(line, -20, 70)]),
    "expi": (mp.ei, None, [(line, -40, 60)]),
    "exp1": (mp.e1, None, [(log, -5, 1.9)]),
    "expn": (_expn, None, [(ints, 0, 20), (log, -3, 1.9)]),
    "sici": (lambda x: (mp.si(x), mp.ci(x)), 2, [(log, -3, 2)]),
    "shichi": (lambda x: (mp.shi(x), mp.chi(x)), 2, [(log, -3, 1.9)]),
    "fresnel": (lambda x: (mp.fresnels(x), mp.fresnelc(x)), 2, [(log, -3, 1.5)]),
    "binom": (mp.binomial, None, [(line, 0, 100), (line, 0, 60)]),
    "comb": (lambda n, k: mp.binomial(n, k) if 0 <= k <= n else mp.mpf(0), None, [(ints, 0, 100), (ints, 0, 60)]),
    "perm": (lambda n, k: mp.ff(n, k) if 0 <= k <= n else mp.mpf(0), None, [(ints, 0, 60), (ints, 0, 60)]),
    "factorial": (lambda x: mp.gamma(x + 1), None, [(line, 0, 169)]),
    "poch": (mp.rf, None, [(line, 0, 40), (line, 0, 40)]),
    "ellipk": (mp.ellipk, None, [(line, -10, 1)]),
    "ellipkm1": (lambda p: mp.ellipk(1 - p), None, [(log, -15, 2)]),
    "ellipe": (mp.ellipe, None, [(line, -10, 1)]),
    "chdtr": (lambda v, x: _regularised(v / 2, x / 2, False), None, [(log, -1, 2), (log, -1, 2)]),
    "chdtrc": (lambda v, x: _regularised(v / 2, x / 2, True), None, [(log, -1, 2), (log, -1, 2)]),
    "pdtr": (lambda k, m: _regularised(k + 1, m, True), None, [(ints, 0, 60), (log, -1, 2)]),
    "pdtrc": (lambda k, m: _regularised(k + 1, m, False), None, [(ints, 0, 60), (log, -1, 2)]),
}
#: The largest error beyond the arguments' that docs/special.md promises, where it is not that of most.
BOUNDS = {
    "erf": (5.0, 4.0), "exp10": (5.0, 4.0), "betainc": (20.0, 2.0), "betaincc": (20.0, 2.0), "gammainc": (10.0, 2.0), "gammaincc": (10.0, 2.0),
    "chdtr": (10.0, 2.0), "gammaincinv": (10.0, 2.0), "gammainccinv": (10.0, 2.0), "betaincinv": (10.0, 2.0), "betainccinv": (20.0, 2.0), "kv, any order": (10.0, 2.0), "kve, any order": (10.0, 2.0), "ive, any order": (10.0, 2.0), "chdtrc": (10.0, 2.0), "pdtr": (10.0, 2.0), "pdtrc": (10.0, 2.0), "ive": (10.0, 2.0), "perm": (10.0, 2.0), "comb": (10.0, 2.0),
    "gamma": (5.0, 4.0), "exprel": (5.0, 4.0), "cosm1": (5.0, 4.0), "expn": (10.0, 2.0), "ellipe": (10.0, 2.0), "inv_boxcox": (10.0, 2.0), "inv_boxcox1p": (10.0, 2.0),
}
#: Names that are other functions at the same numbers.
SAME = {"loggamma": "gammaln", "yv": "yn", "kv": "kn"}
#: Compared with SciPy alone.
EXACT = ("gammasgn",)
#: Compared in a test of its own.
COMPLEX = ("lambertw", "sinc")


def function(case):
    return case.split(",")[0]


def bound(name, dtype):
    most, single = BOUNDS.get(name, (5.0, 2.0))
    return most if dtype == np.float64 else single


def draw(rng, kind, low, high, n, dtype):
    if kind == ints:
        return rng.integers(low, high, n, endpoint=True).astype(dtype)
    if kind == line:
        return rng.uniform(low, high, n).astype(dtype)
    info = np.finfo(dtype)
    low, high = max(low, np.log10(float(info.tiny))), min(high, np.log10(float(info.max)))
    values = (10.0 ** rng.uniform(low, high, n)).astype(dtype)
    return values * rng.choice([-1, 1], n).astype(dtype) if kind == both else values


def _each(f, arguments, count):
    value = f(*arguments)
    values = value if count else (value,)
    return [mp.re(v) for v in values]


def errors(name, dtype, n, seconds, seed=1):
    """(largest error beyond the arguments', largest error in ULP, its arguments, points)"""
    import lanewise as lw

    reference, count, where = CASES[name]
    rng = np.random.default_rng(seed)
    arguments = [draw(rng, kind, low, high, n, dtype) for kind, low, high in where]
    got = getattr(lw.special, function(name))(*arguments)
    got = [np.asarray(g) for g in (got if count else (got,))]
    assert all(g.dtype == dtype for g in got), (name, got[0].dtype)
    info = np.finfo(dtype)
    half = mp.mpf(float(info.eps)) / 4
    worst, worst_ulp, at, end, done = 0.0, 0.0, None, time.monotonic() + seconds, 0
    for i in range(n):
        if i > 20 and time.monotonic() > end:
            break
        done = i + 1
        exact = [mp.mpf(float(a[i])) for a in arguments]
        wanted = _each(reference, exact, count)
        moved = [mp.mpf(0)] * len(wanted)
        for j, (kind, _, _) in enumerate(where):
            if kind != ints:
                near = list(exact)
                near[j] = exact[j] * (1 + half)
                if name in ("betainc", "betaincc", "erfinv", "ndtri", "logit", "ellipk", "ellipe") and j == len(where) - 1 and near[j] >= 1:
                    continue
                for k, v in enumerate(_each(reference, near, count)):
                    moved[k] += abs(v - wanted[k])
        for k, value in enumerate(wanted):
            if not (float(info.tiny) < abs(value) < float(info.max)):
                continue
            ulp = mp.ldexp(1, max(int(mp.floor(mp.log(abs(value), 2))), info.minexp) - info.nmant)
            error = abs(mp.mpf(float(got[k][i])) - value) if np.isfinite(got[k][i]) else mp.inf
            worst_ulp = max(worst_ulp, float(error / ulp))
            scaled = float(error / (ulp + moved[k]))
            if scaled > worst or at is None:
                worst, at = max(worst, scaled), [float(x) for x in exact]
    return worst, worst_ulp, at, done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=10000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--where", action="store_true")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    for name in given.names or CASES:
        cells = [f"`{name}`"]
        for dtype in (np.float64, np.float32):
            worst, ulp, at, done = errors(name, dtype, given.points, given.seconds)
            cells += [f"{worst:.1f}", f"{ulp:.1f}" if ulp < 1e4 else f"{ulp:.0e}"] + ([str(at), str(done)] if given.where else [])
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
