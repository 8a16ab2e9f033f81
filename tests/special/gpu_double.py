"""The polynomials of exp, log and erf of float64 on GPUs (core/emit/gpu_double.c): `python tests/special/gpu_double.py` prints their coefficients, from
the highest on, and the largest error in units of 2**-53 of the result.

Each is a minimax polynomial by Remez's exchange in 40 digits. The lowest coefficients are rounded to float64 first, and the others fitted again.
"""

import math
import struct

import mpmath as mp

mp.mp.dps = 40


def exchange(x, wanted, weights, n, fixed, rounds=60):
    """The coefficients after those that are fixed: n together, for the points x in ascending order."""
    first, n = len(fixed), n - len(fixed)
    rest = [w - mp.polyval(fixed[::-1], v) if fixed else w for v, w in zip(x, wanted)]
    places = [round((len(x) - 1) * (0.5 - 0.5 * math.cos(math.pi * k / n))) for k in range(n + 1)]
    found = []
    for _ in range(rounds):
        rows = [[x[i] ** (first + k) for k in range(n)] + [(-1) ** row / weights[i]] for row, i in enumerate(places)]
        solved = mp.lu_solve(mp.matrix(rows), mp.matrix([rest[i] for i in places]))
        found, level = list(solved[:n]), abs(solved[n])
        errors = [w * (mp.polyval(found[::-1], v) * v**first - r) for v, r, w in zip(x, rest, weights)]
        extremes = []
        for i, e in enumerate(errors):
            if extremes and (errors[extremes[-1]] > 0) == (e > 0):
                if abs(e) > abs(errors[extremes[-1]]):
                    extremes[-1] = i
            else:
                extremes.append(i)
        while len(extremes) > n + 1:
            if len(extremes) == n + 2:
                del extremes[0 if abs(errors[extremes[0]]) < abs(errors[extremes[-1]]) else -1]
            else:
                k = min(range(len(extremes) - 1), key=lambda k: max(abs(errors[extremes[k]]), abs(errors[extremes[k + 1]])))
                del extremes[k : k + 2]
        if len(extremes) <= n or extremes == places or max(map(abs, errors)) <= level * mp.mpf("1.001"):
            break
        places = extremes
    return found


def fit(name, x, wanted, weights, n):
    def error_of(coefficients):
        return max(abs(w * (mp.polyval(coefficients[::-1], v) - r)) for v, r, w in zip(x, wanted, weights))

    best = [float(c) for c in exchange(x, wanted, weights, n, [])]
    for k in range(1, 5):
        fixed = [mp.mpf(c) for c in best[:k]]
        other = best[:k] + [float(c) for c in exchange(x, wanted, weights, n, fixed)]
        if error_of(other) < error_of(best):
            best = other
    print(name, ", ".join(f"0x{struct.unpack('<Q', struct.pack('<d', c))[0]:016X}" for c in reversed(best)), "error", mp.nstr(error_of(best), 3), flush=True)


def between(low, high, n):
    """Chebyshev's points, without 0, near which the quotients below lose their digits."""
    low, high = mp.mpf(low), mp.mpf(high)
    points = [low + (high - low) * (1 - mp.cos(mp.pi * k / (n - 1))) / 2 for k in range(n)]
    return [v for v in points if abs(v) > 1e-6]


def atanh_rest(z):
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) - 2 * s) / (s * z)


if __name__ == "__main__":
    unit = mp.mpf(2) ** 53
    # r in erfc(x) = e**-(x + x r(x)); where erf rounds to 1, some digits of r are enough
    x = between(0, "5.9064", 1000)
    fit("erf", x, [-mp.log(mp.erfc(v)) / v - 1 for v in x], [unit * (v * mp.erfc(v) / mp.erf(v) + mp.mpf("3e-16")) for v in x], 24)
    # |r| is at most ln(2) / 2, and what k = round(x / ln 2) in float32 is off by
    x = between("-0.34662", "0.34662", 600)
    fit("1 - e**-r = r + r**2 q(r)", x, [(1 - mp.e**-v - v) / v**2 for v in x], [unit * v**2 / abs(1 - mp.e**-v) for v in x], 10)
    x = between("-0.3467", "0.3467", 600)
    fit("e**r = 1 + r + r**2 p(r)", x, [(mp.e**v - 1 - v) / v**2 for v in x], [unit * v**2 / mp.e**v for v in x], 10)
    # z = w**2, 2 atanh w = 2 w + w z l(z), |w| at most (sqrt(2) - 1) / (sqrt(2) + 1)
    x = between(0, "0.02945", 600)
    fit("2 atanh w", x, [atanh_rest(v) for v in x], [unit * v / (2 * mp.atanh(mp.sqrt(v)) / mp.sqrt(v)) for v in x], 7)
    half = mp.nint(mp.log(2) / 2 * 2**42) / 2**42
    print("ln(2) / 2 to 42 bits", float(half).hex(), "rest of ln(2)", float(mp.log(2) - 2 * half).hex())
