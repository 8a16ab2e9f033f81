"""Calls of functions that capture a number: the same one at each call, and another one at each call; beside functions that capture
none. Medians of many calls in microseconds, interleaved. `--gpu` measures device arrays."""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

import lanewise as lw

K = 0.5


def times(runs, rounds=400, calls=20):
    """The median time of a call of each, in µs."""
    took = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            begin = time.perf_counter()
            for _ in range(calls):
                run()
            took[name].append((time.perf_counter() - begin) / calls)
    return {name: 1e6 * float(np.median(t)) for name, t in took.items()}


def main():
    global K
    gpu = "--gpu" in sys.argv
    x = np.linspace(0, 1, 256)
    out = np.zeros(256)
    if gpu:
        from lanewise import cuda
        x, out = cuda.to_device(x), cuda.to_device(out)
    without = lw.vectorize(lambda x: x * 0.5 + 1)
    same = lw.vectorize(lambda x: x * K + 1)
    changing = lw.vectorize(lambda x: x * K + 1)
    argument = lw.vectorize(lambda x, k: x * k + 1)
    for f in (without, same):
        f(x, out=out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in range(8):
            K = 0.25 + step
            changing(x, out=out)
    K = 0.5
    argument(x, 0.5, out=out)
    step = 0.0

    def next_value():
        global K
        nonlocal step
        step += 1.0
        K = step
        changing(x, out=out)

    def next_argument():
        nonlocal step
        step += 1.0
        argument(x, step, out=out)

    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in range(20):
            K = 1000.5 + step
            changing(x, out=out)
    print(f"20 steps with another value each: {1e3 * (time.perf_counter() - begin):.3f} ms")
    K = 0.5
    measured = {"no captured number": lambda: without(x, out=out), "captured, the same": lambda: same(x, out=out)}
    for name, value in times(measured).items():
        print(f"{name:32} {value:8.3f} µs")
    if "--baseline" in sys.argv:
        return
    measured = {"an argument, another each time": next_argument}
    if time.perf_counter() - begin < 3:
        measured["captured, another each time"] = next_value
    for name, value in times(measured, rounds=60).items():
        print(f"{name:32} {value:8.3f} µs")


main()
