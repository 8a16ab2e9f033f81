"""Times of first calls, with an empty cache: each function of lanewise.reductions, ufuncs and special is called in a process of its
own, forked from one that has imported lanewise. Minima of several, in milliseconds of
processor time; slowest first.

    python bench/first_calls.py [--times N] [--above MS] [--warm] [--only reductions.argmax ...]

--warm: LLVM has been loaded, and has compiled something else."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
import warnings

import numpy as np

import lanewise as lw
from lanewise import reductions, special, ufuncs

warnings.simplefilter("ignore")
X = np.linspace(0.1, 0.9, 64)
TWO = {"topk": (X, 3), "argtopk": (X, 3), "percentile": (X, 30), "quantile": (X, 0.3), "nanquantile": (X, 0.3), "nanpercentile": (X, 30)}


def arguments(function, name, integers):
    """Those with which it can be called, or None."""
    x = np.arange(1, 65) if integers else X
    if name in TWO:
        return TWO[name]
    for n in range(1, 6):
        try:
            function(*[x] * n)
            return (x,) * n
        except Exception:  # another number of arguments
            continue
    return None


def in_child(work):
    """What work returns in a forked process, with a cache of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        folder = tempfile.mkdtemp()
        lw.config.cache_dir = folder
        try:
            os.write(write, repr(work()).encode())
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return eval(text) if text else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--above", type=float, default=0)
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    if given.warm:
        lw.vectorize(lambda x: x * 3 - 1)(X)
    rows = []
    for module in (reductions, ufuncs, special):
        for name in module.__all__:
            place = module.__name__.split(".")[-1] + "." + name
            if given.only and place not in given.only:
                continue

            def shape(module=module, name=name):
                function = getattr(module, name)
                for integers in (False, True):
                    found = arguments(function, name, integers) if callable(function) else None
                    if found is not None:
                        return integers, len(found)
                return None

            found = in_child(shape)
            if found is None:
                print("not called:", place)
                continue

            def first(module=module, name=name, found=found):
                x = np.arange(1, 65) if found[0] else X
                args = TWO.get(name, (x,) * found[1])
                begin = time.process_time()
                getattr(module, name)(*args)
                return time.process_time() - begin

            rows.append((1e3 * min(in_child(first) or 9 for _ in range(given.times)), place))
    for took, place in sorted(rows, reverse=True):
        if took >= given.above:
            print(f"{took:8.1f}  {place}")
    print(f"{len(rows)} functions, {sum(took > 60 for took, _ in rows)} above 60 ms")


sys.exit(main())
