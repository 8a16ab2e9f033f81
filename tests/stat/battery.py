"""Random bits without end on standard output, for a statistical battery that reads them there.

    python tests/stat/battery.py philox | dieharder -g 200 -a
    python tests/stat/battery.py xoroshiro128p | RNG_test stdin32

The words are uint32: Philox's as they are, of xoroshiro128+ the top halves of its 64-bit outputs, 65,536 states in turn. Not part of the suite:
a battery takes hours.
"""

from __future__ import annotations

import argparse
import os
import sys

import numpy as np

from lanewise.random import Generator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("generator", choices=["philox", "xoroshiro128p"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--words", type=float, default=float("inf"), help="stop after so many uint32")
    options = parser.parse_args()
    generator = Generator(options.seed, options.generator)
    left = options.words
    try:
        while left > 0:
            block = generator.integers(0, 2**64, 1 << 20, np.uint64)
            os.write(sys.stdout.fileno(), memoryview(block).cast("B"))
            left -= 2 * block.size
    except BrokenPipeError:
        pass  # the battery has seen enough


if __name__ == "__main__":
    main()
