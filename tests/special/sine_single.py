"""The numbers of sin and cos of float32 on GPUs (core/emit/gpu_single.c): `python tests/special/sine_single.py` prints them.

The polynomials are fitted as in erf_single.py, with the constant terms, 1, fixed. pi / 2 is a sum of three float32. The words of 2 / pi are those of
the integer 2 / pi * 2**215, from the highest on; the C file has pairs of neighbours.
"""

import mpmath as mp
import numpy as np

from erf_single import weighted

mp.mp.dps = 100


def fit(size, wanted, weights, terms):
    """Coefficients of size, size**2 and so on, and the largest error."""
    columns = np.vander(size, terms + 1, increasing=True)[:, 1:].astype(np.longdouble)
    fixed = []
    for k in range(terms):
        rest = wanted - columns[:, :k] @ np.array(fixed, np.longdouble)
        fixed.append(float(np.float32(weighted(columns[:, k:].astype(float), rest.astype(float), weights)[0])))
    return fixed, float(np.abs((columns @ np.array(fixed, np.longdouble) - wanted) * weights).max())


def in_llvm(x):
    """A float as LLVM's text has it."""
    return f"0x{np.float64(x).view(np.uint64):016X}"


if __name__ == "__main__":
    places = 0.5 - 0.5 * np.cos(np.linspace(0, np.pi, 2001)[1:])
    x = places.astype(np.longdouble) * np.longdouble(0.7862)
    for name, value, terms in (("sin", np.sin(x) / x, 3), ("cos", np.cos(x), 4)):
        coefficients, error = fit(x * x, value - 1, (2.0**24 / value).astype(float), terms)
        print(name, *map(in_llvm, coefficients), f"error {error:.4f} of 2**-24")
    rest, parts = mp.pi / 2, []
    for _ in range(3):
        part = np.float32(float(rest))
        parts.append(np.nextafter(part, np.float32(0)) if part > rest else part)  # none below 0: sin(-0) is -0
        rest -= mp.mpf(float(parts[-1]))
    print("-pi / 2", *(in_llvm(-part) for part in parts))
    print("2 / pi", in_llvm(np.float32(float(2 / mp.pi))))
    whole = int(mp.floor(2 / mp.pi * mp.mpf(2) ** 215))
    words = [whole >> 32 * k & 0xFFFFFFFF for k in range(6, -1, -1)]
    print("words", *(f"{word:08X}" for word in words))
    print("pairs", *(int(np.uint64(a << 32 | b).view(np.int64)) for a, b in zip(words, words[1:])))
    print("pi / 2**63", in_llvm(float(mp.pi / mp.mpf(2) ** 63)))
