#!/usr/bin/env python3
"""Computes the numbers of lanewise/_same_math_tables.py and prints that file.

Polynomials are minimax fits by the exchange algorithm of E. Remez (1934) in 300 bits, weighted so that the
error is relative to the function that they belong to; then each coefficient is rounded to float64. Tables of the
logarithm have entries of few bits, so that products with them are exact (P. T. P. Tang, "Table-driven
implementation of the logarithm function in IEEE floating-point arithmetic", 1990).

    python tests/same_math/coefficients.py > lanewise/_same_math_tables.py
"""

from __future__ import annotations

import sys

import mpmath as mp

mp.mp.prec = 300
GRID = 24  # points between two extrema


def remez(function, low, high, degree, weight=lambda x: mp.mpf(1)):
    """The polynomial's coefficients, lowest first, and the largest weighted error."""
    low, high = mp.mpf(low), mp.mpf(high)
    middle, half = (low + high) / 2, (high - low) / 2
    n = degree + 2
    places = [middle - half * mp.cos(mp.pi * k / (n - 1)) for k in range(n)]
    grid = [middle - half * mp.cos(mp.pi * k / (GRID * n)) for k in range(GRID * n + 1)]
    values = [(function(x), weight(x)) for x in grid]
    coefficients, worst = [], mp.mpf(0)
    for _ in range(12):
        rows = mp.matrix(n, n)
        right = mp.matrix(n, 1)
        for i, x in enumerate(places):
            for j in range(degree + 1):
                rows[i, j] = ((x - middle) / half) ** j
            rows[i, degree + 1] = (-1) ** i / weight(x)
            right[i] = function(x)
        solved = mp.lu_solve(rows, right)
        scaled = [solved[j] for j in range(degree + 1)]
        errors = [(mp.polyval(scaled[::-1], (x - middle) / half) - y) * w for x, (y, w) in zip(grid, values)]
        worst = max(map(abs, errors))
        coefficients = scaled
        extrema = []  # the largest error between two changes of sign
        for x, e in zip(grid, errors):
            if extrema and (e > 0) == (extrema[-1][1] > 0):
                if abs(e) > abs(extrema[-1][1]):
                    extrema[-1] = (x, e)
            else:
                extrema.append((x, e))
        if len(extrema) < n:
            break
        while len(extrema) > n:
            extrema.pop(0 if abs(extrema[0][1]) < abs(extrema[-1][1]) else -1)
        places = [x for x, _ in extrema]
        if abs(worst / abs(solved[degree + 1]) - 1) < mp.mpf("0.01"):
            break
    return in_powers(coefficients, middle, half), worst


def in_powers(scaled, middle, half):
    """The polynomial in (x - middle) / half as one in x."""
    out = [mp.mpf(0)] * len(scaled)
    power = [mp.mpf(1)]
    for c in scaled:
        for i, p in enumerate(power):
            out[i] += c * p
        power = [(power[i - 1] if i else 0) / half - (power[i] * middle / half if i < len(power) else 0) for i in range(len(power) + 1)]
    return out


def number(x):
    return repr(float(x))


def pair(x):
    high = mp.mpf(float(x))
    return float(high), float(x - high)


def trimmed(x, bits):
    """The first bits of x."""
    mantissa, exponent = mp.frexp(x)
    return mp.ldexp(mp.nint(mantissa * 2**bits), int(exponent) - bits)


def show(name, numbers, comment):
    print(f"\n# {comment}")
    print(f"{name} = (" + ", ".join(map(number, numbers)) + ",)")


def show_fit(name, function, low, high, degree, weight, comment):
    coefficients, worst = remez(function, low, high, degree, weight)
    show(name, coefficients[::-1], f"{comment}: off by 2^{mp.nstr(mp.log(worst, 2), 4)}")
    print(f"{name}: 2^{mp.nstr(mp.log(worst, 2), 4)}", file=sys.stderr)


def show_pair(name, value, comment=""):
    high, low = pair(value)
    print(f"{name}_HIGH, {name}_LOW = {high!r}, {low!r}" + (f"  # {comment}" if comment else ""))


def series(function, terms):
    """A function that is smooth at 0 and is not computed there by its formula."""
    def at(x):
        return function(x) if abs(x) > mp.mpf(2) ** -40 else sum(c * x**k for k, c in enumerate(terms))
    return at


def fits():
    edge = mp.log(2) / 2 * mp.mpf("1.0001")
    show_fit("EXP", series(lambda x: (mp.expm1(x) - x) / x**2, [mp.mpf(1) / 2, mp.mpf(1) / 6, mp.mpf(1) / 24, mp.mpf(1) / 120]), -edge, edge, 10,
             lambda x: max(x * x, mp.mpf(2)**-12) / 8, "(e^x - 1 - x) / x^2")
    edge = (mp.pi / 4 * mp.mpf("1.0001")) ** 2
    show_fit("SIN", lambda z: mp.mpf(-1) / 6 if z == 0 else (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0, edge, 6,
             lambda z: max(z, mp.mpf(2)**-10), "(sin x - x) / x^3 of x^2")
    show_fit("COS", lambda z: mp.mpf(1) / 24 if z == 0 else (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, 0, edge, 5,
             lambda z: max(z * z, mp.mpf(2)**-12), "(cos x - 1 + x^2/2) / x^4 of x^2")
    edge = mp.mpf(2) ** -7 * mp.mpf("1.02")
    show_fit("LOG", series(lambda x: (mp.log1p(x) - x + x * x / 2) / x**3, [mp.mpf(1) / 3, mp.mpf(-1) / 4, mp.mpf(1) / 5, mp.mpf(-1) / 6]), -edge, edge, 6,
             lambda x: max(x * x, mp.mpf(2)**-20), "(log(1 + x) - x + x^2/2) / x^3")
    edge = (mp.sqrt(2) - 1) ** 2 * mp.mpf("1.0001")
    show_fit("ATAN", lambda z: mp.mpf(-1) / 3 if z == 0 else (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0, edge, 11,
             lambda z: max(z, mp.mpf(2)**-10), "(atan x - x) / x^3 of x^2")
    show_fit("ASIN", lambda z: mp.mpf(1) / 6 if z == 0 else (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0, mp.mpf("0.25001"), 12,
             lambda z: max(z, mp.mpf(2)**-10), "(asin x - x) / x^3 of x^2")
    show_fit("SINH", lambda z: mp.mpf(1) / 6 if z == 0 else (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0, mp.mpf("0.0901"), 4,
             lambda z: max(z, mp.mpf(2)**-10), "(sinh x - x) / x^3 of x^2, to 0.3")
    show_fit("ERF", lambda z: 2 / mp.sqrt(mp.pi) - 1 if z == 0 else mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 0, mp.mpf("0.2501"), 9,
             lambda z: mp.mpf(1), "erf x / x - 1 of x^2, to 1/2; the last one is a pair with ERF_LOW")
    coefficients, _ = remez(lambda z: 2 / mp.sqrt(mp.pi) - 1 if z == 0 else mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 0, mp.mpf("0.2501"), 9)
    print(f"ERF_LOW = {pair(coefficients[0])[1]!r}")
    show_fit("CBRT", lambda x: x ** (mp.mpf(-1) / 3), 1, 2, 6, lambda x: x ** (mp.mpf(1) / 3), "x^(-1/3) from 1 to 2")


    show_fit("STIRLING", lambda w: mp.mpf(1) / 12 if w < mp.mpf(2) ** -60 else binet(1 / mp.sqrt(w)) / mp.sqrt(w), 0, mp.mpf(1) / 256, 4, lambda w: mp.mpf(1) / 16,
             "x (log gamma x - (x - 1/2) log x + x - log(2 pi) / 2) of 1 / x^2, from 16 on")
    edge = mp.log(2) / 2 * mp.mpf("1.0001")
    show_fit("EXP_SINGLE", mp.exp, -edge, edge, 11, lambda x: mp.exp(-x), "for float32: e^x")
    edge = (mp.pi / 4 * mp.mpf("1.0001")) ** 2
    show_fit("SIN_SINGLE", lambda z: mp.mpf(-1) / 6 if z == 0 else (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0, edge, 5,
             lambda z: max(z, mp.mpf(2)**-10), "for float32: (sin x - x) / x^3 of x^2")
    show_fit("COS_SINGLE", lambda z: mp.mpf(-1) / 2 if z == 0 else (mp.cos(mp.sqrt(z)) - 1) / z, 0, edge, 6,
             lambda z: max(z, mp.mpf(2)**-10), "for float32: (cos x - 1) / x^2 of x^2")
    edge = mp.mpf(2) ** -7 * mp.mpf("1.02")
    show_fit("LOG_SINGLE", series(lambda x: (mp.log1p(x) - x) / x**2, [mp.mpf(-1) / 2, mp.mpf(1) / 3, mp.mpf(-1) / 4, mp.mpf(1) / 5]), -edge, edge, 5,
             lambda x: max(abs(x), mp.mpf(2)**-10), "for float32: (log(1 + x) - x) / x^2")


def constants():
    print("\n# constants as the sum of two or three numbers")
    show_pair("LN2", mp.log(2))
    short = trimmed(mp.log(2), 42)
    print(f"LN2_SHORT, LN2_REST = {number(short)}, {number(mp.log(2) - short)}  # 42 bits and the rest: products with exponents are exact")
    short = trimmed(mp.log10(2), 42)
    print(f"LOG10_2_SHORT, LOG10_2_REST = {number(short)}, {number(mp.log10(2) - short)}")
    show_pair("PER_LN2", 1 / mp.log(2))
    show_pair("PER_LN10", 1 / mp.log(10))
    show_pair("LN10", mp.log(10))
    print(f"LOG2_10 = {number(mp.log(10, 2))}")
    half_pi = mp.pi / 2
    first = mp.mpf(float(half_pi))
    second = mp.mpf(float(half_pi - first))
    print(f"HALF_PI_1, HALF_PI_2, HALF_PI_3 = {number(first)}, {number(second)}, {number(half_pi - first - second)}")
    print(f"TWO_PER_PI = {number(2 / mp.pi)}")
    show_pair("QUARTER_PI", mp.pi / 4)
    show_pair("PI", mp.pi)
    show_pair("HALF_LOG_2PI", mp.log(2 * mp.pi) / 2)
    show_pair("LOG_PI", mp.log(mp.pi))
    show_pair("CBRT_2", mp.cbrt(2))
    show_pair("CBRT_4", mp.cbrt(4))


def logarithms():
    """128 intervals from 11/16 on: 1/c in 10 bits, and log c as 42 bits and the rest."""
    inverse, high, low = [], [], []
    for i in range(128):
        bits = 0x3FE6000000000000 + (i << 45)
        middle = as_float(bits + (1 << 44))
        c = trimmed(1 / middle, 10)
        if as_float(bits) <= 1 <= as_float(bits + (1 << 45)):
            c = mp.mpf(1)
        log_c = -mp.log(c)
        first = mp.nint(log_c * 2**42) / 2**42
        inverse.append(c)
        high.append(first)
        low.append(log_c - first)
        for x in (as_float(bits), as_float(bits + (1 << 45))):
            assert abs(x * c - 1) < mp.mpf(2) ** -7 * mp.mpf("1.02"), (i, x * c - 1)
    return inverse, high, low


def as_float(bits):
    import struct

    return mp.mpf(struct.unpack("<d", struct.pack("<Q", bits))[0])


def array(name, numbers, comment, dtype="float64", form=number):
    print(f"\n# {comment}\n{name} = np.array([")
    for at in range(0, len(numbers), 6):
        print("    " + ", ".join(map(form, numbers[at:at + 6])) + ",")
    print(f"], np.{dtype})")


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


ERFC_DEGREE, BINET_DEGREE, LGAMMA_DEGREE = 10, 9, 9


def binet(x):
    """log gamma x - ((x - 1/2) log x - x + log(2 pi) / 2)."""
    return mp.loggamma(x) - ((x - mp.mpf(1) / 2) * mp.log(x) - x + mp.log(2 * mp.pi) / 2)


def between_zeros(x):
    """log gamma x / ((x - 1) (x - 2)), also at 1 and 2."""
    if abs(x - 1) < mp.mpf(2) ** -100:
        return +mp.euler
    if abs(x - 2) < mp.mpf(2) ** -100:
        return 1 - mp.euler
    return mp.loggamma(x) / ((x - 1) * (x - 2))


def pieces(name, function, degree, n, relative=True):
    """From 1/2 on, 16 intervals for each power of two: polynomials in x - middle, highest first, the last one as a pair."""
    table, worst = [], mp.mpf(0)
    for i in range(n):
        bits = 0x3FE0000000000000 + (i << 48)
        low, high = as_float(bits), as_float(bits + (1 << 48))
        middle = (low + high) / 2
        coefficients, error = remez(lambda u: function(middle + u), low - middle, high - middle, degree,
                                    (lambda u: 1 / function(middle + u)) if relative else lambda u: mp.mpf(1))
        worst = max(worst, error)
        first, second = pair(coefficients[0])
        table += [*coefficients[:0:-1], mp.mpf(first), mp.mpf(second)]
    print(f"{name}: 2^{mp.nstr(mp.log(worst, 2), 4)}", file=sys.stderr)
    return table


def main():
    print('"""Numbers of lanewise/_same_math.py. Made by tests/same_math/coefficients.py; do not edit.\n\nPolynomials have their highest coefficient first."""')
    print("\nimport numpy as np")
    fits()
    constants()
    inverse, high, low = logarithms()
    array("LOG_TABLE", [x for row in zip(inverse, high, low) for x in row], "of each interval 1/c, log c with 42 bits behind the point, the rest of it")
    with mp.workprec(1500):
        whole = int(mp.floor(2 / mp.pi * mp.mpf(2) ** 1344))
    words = [(whole >> (1344 - 64 * (k + 1))) & (2**64 - 1) for k in range(21)]
    words.insert(0, 0)
    array("TWO_PER_PI_BITS", words, "the bits of 2/pi behind the point, 64 in each word but the first", "uint64", hex)
    array("ERFC", pieces("ERFC", erfcx, ERFC_DEGREE, 96), f"e^(x^2) erfc x from 1/2 to 32: {ERFC_DEGREE + 2} numbers of each interval")
    array("BINET", pieces("BINET", binet, BINET_DEGREE, 80, False), f"log gamma x - (x - 1/2) log x + x - log(2 pi) / 2 from 1/2 to 16: {BINET_DEGREE + 2} numbers")
    array("LGAMMA", pieces("LGAMMA", between_zeros, LGAMMA_DEGREE, 48), f"log gamma x / ((x - 1) (x - 2)) from 1/2 to 4: {LGAMMA_DEGREE + 2} numbers")


if __name__ == "__main__":
    main()
