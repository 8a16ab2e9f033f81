"""2**35 outputs of each generator through tests that count in the kernel: minutes of a battery in a second of a GPU.

    python tests/stat/gpu_battery.py [log2 of the outputs, 35]

Counts, each compared with its expectation by chi squared and given in standard deviations from its mean: how many bits a
word has set; its upper and lower 16 bits; the upper bytes of a word and of the one before it; the lengths between words whose top
three bits are 0. Beyond 5 deviations is a failure. The lower bits of
xoroshiro128+ are known to be linear; no test here looks for that.
"""

from __future__ import annotations

import math
import sys

import numpy as np

import lanewise as lw
from lanewise import cuda, random as lr

THREADS = 1 << 18
GAPS = 64


@lw.forall
def count_philox(i, draws, ones, upper, lower, pairs, gaps):
    last = np.uint32(0)
    gap = 0
    for k in range(draws // 4):
        for word in lr.philox(7, i, k):
            cuda.atomic.add(ones, cuda.popc(word), np.uint64(1))
            cuda.atomic.add(upper, word >> np.uint32(16), np.uint64(1))
            cuda.atomic.add(lower, word & np.uint32(0xFFFF), np.uint64(1))
            cuda.atomic.add(pairs, ((word >> np.uint32(24)) << np.uint32(8)) | (last >> np.uint32(24)), np.uint64(1))
            last = word
            if word >> np.uint32(29) == np.uint32(0):
                cuda.atomic.add(gaps, min(gap, GAPS - 1), np.uint64(1))
                gap = 0
            else:
                gap += 1


@lw.forall
def count_xoroshiro(i, states, draws, ones, upper, lower, pairs, gaps):
    last = np.uint32(0)
    gap = 0
    for k in range(draws):
        word = np.uint32(lr.xoroshiro128p_next(states, i) >> np.uint64(32))
        cuda.atomic.add(ones, cuda.popc(word), np.uint64(1))
        cuda.atomic.add(upper, word >> np.uint32(16), np.uint64(1))
        cuda.atomic.add(lower, word & np.uint32(0xFFFF), np.uint64(1))
        cuda.atomic.add(pairs, ((word >> np.uint32(24)) << np.uint32(8)) | (last >> np.uint32(24)), np.uint64(1))
        last = word
        if word >> np.uint32(29) == np.uint32(0):
            cuda.atomic.add(gaps, min(gap, GAPS - 1), np.uint64(1))
            gap = 0
        else:
            gap += 1


def deviations(counts: np.ndarray, expected: np.ndarray) -> float:
    keep = expected >= 10
    value = ((counts[keep] - expected[keep]) ** 2 / expected[keep]).sum()
    freedom = int(keep.sum()) - 1
    return float((value - freedom) / math.sqrt(2 * freedom))


def main() -> None:
    log2 = int(sys.argv[1]) if len(sys.argv) > 1 else 35
    draws = max(4, (1 << log2) // THREADS)
    n = draws * THREADS
    sizes = (33, 65536, 65536, 65536, GAPS)
    chance = np.array([math.comb(32, k) for k in range(33)]) / 2.0**32
    # a gap of k words that ends at word j of a thread: j = k, or one more hit in front of it
    gap = np.array([0.125 * 0.875**k * (1 + 0.125 * (draws - 1 - k)) for k in range(GAPS)]) * THREADS
    on_gpu = cuda.is_available() and lw.config.target != "cpu"
    failed = False
    for name in ("philox", "xoroshiro128p"):
        counts = [np.zeros(size, np.uint64) for size in sizes]
        arrays = [cuda.to_device(c) for c in counts] if on_gpu else counts
        if name == "philox":
            count_philox(THREADS, draws, *arrays)
        else:
            count_xoroshiro(THREADS, lr.create_xoroshiro128p_states(THREADS, 7), draws, *arrays)
        ones, upper, lower, pairs, gaps = (a.copy_to_host() if on_gpu else a for a in arrays)
        assert int(ones.sum()) == n
        pairs = pairs.astype(float)
        found = {
            "bits set": deviations(ones.astype(float), chance * n),
            "upper 16 bits": deviations(upper.astype(float), np.full(65536, n / 65536)),
            "lower 16 bits": deviations(lower.astype(float), np.full(65536, n / 65536)),
            "gaps": deviations(gaps[:-1].astype(float), gap[:-1]),
        }
        # the first word of a thread has 0 before it
        first = np.zeros(65536)
        first[np.arange(256) << 8] = THREADS / 256
        found["pairs"] = deviations(pairs, first + (n - THREADS) / 65536)
        print(f"{name}: 2**{log2} words; " + ", ".join(f"{test} {value:+.2f}" for test, value in found.items()))
        failed |= any(abs(value) > 5 for value in found.values())
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
