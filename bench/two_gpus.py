"""Two GPUs of one host beside one: a Monte Carlo price of twice the paths, and copies from GPU to GPU.

    python bench/two_gpus.py [--paths 24] [--steps 256] [--repeats 7]

The paths are independent and each GPU gets half of them, so that twice the paths should take as long as the paths took on
one GPU: the speed-up in paths a second is 2 at best. The same paths have the same bits on either GPU, which is checked.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time

import numpy as np

import lanewise as lw
from lanewise import cuda
from lanewise.random import philox_normal4_float32

SPOT, STRIKE, RATE, VOLATILITY, YEARS = 100.0, 105.0, 0.02, 0.3, 1.0


@lw.forall(warn=False)  # sums of so few numbers lose less than their noise
def payoffs(i, first, steps, out):
    step = np.float32(VOLATILITY * math.sqrt(YEARS / steps))
    moved = np.float32(0)
    for k in range(steps // 4):
        a, b, c, d = philox_normal4_float32(7, first + i, k)
        moved += step * ((a + b) + (c + d))
    price = np.float32(SPOT) * math.exp(moved + np.float32((RATE - VOLATILITY**2 / 2) * YEARS))
    out[i] = max(price - np.float32(STRIKE), np.float32(0))


def black_scholes():
    normal = statistics.NormalDist().cdf
    spread = VOLATILITY * math.sqrt(YEARS)
    d = (math.log(SPOT / STRIKE) + (RATE + VOLATILITY**2 / 2) * YEARS) / spread
    return SPOT * normal(d) - STRIKE * math.exp(-RATE * YEARS) * normal(d - spread)


def wait(devices):
    for device in devices:
        device.synchronize()


def seconds(run, devices, repeats):
    """The median of some runs, each of them waited for on all devices."""
    found = []
    for _ in range(repeats + 2):
        wait(devices)
        begin = time.perf_counter()
        run()
        wait(devices)
        found.append(time.perf_counter() - begin)
    return statistics.median(found[2:])


def monte_carlo(devices, paths, steps, repeats):
    rooms = []
    for device in devices:
        with device:
            rooms.append(cuda.device_array(paths, np.float32))

    def on(count):
        """The work of `count` GPUs is launched before any is waited for; kernels follow their arrays."""
        means = []
        for k, out in enumerate(rooms[:count]):
            payoffs(paths, k * paths, steps, out)
            means.append(out.mean(dtype=np.float64))
        return means

    one = seconds(lambda: on(1), devices, repeats)
    two = seconds(lambda: on(2), devices, repeats)
    speed_up = 2 * one / two
    print(f"Monte Carlo, {steps} steps a path\n"
          f"  {paths:,} paths on one GPU       {1e3 * one:8.2f} ms\n"
          f"  {2 * paths:,} paths on two GPUs      {1e3 * two:8.2f} ms\n"
          f"  paths a second, two beside one  {speed_up:8.3f} x   (1.95 is wanted)")
    price = math.exp(-RATE * YEARS) * statistics.fmean(float(mean) for mean in on(2))
    print(f"  price {price:.4f}, by Black and Scholes {black_scholes():.4f}")
    again = cuda.device_array(paths, np.float32)
    payoffs(paths, paths, steps, again)  # the second GPU's paths on the first
    same = np.array_equal(again.copy_to_host(), rooms[1].copy_to_host())
    print(f"  the same paths on either GPU: {'the same bits' if same else 'OTHER BITS'}")
    return speed_up


def copies(devices, repeats):
    print("\nCopies, GB/s of the bytes that arrive\n"
          "      bytes      0 -> 1   1 -> 0   both ways   on one GPU   by way of the host")
    for log2 in (16, 20, 24, 28, 30):
        n = 1 << log2
        rooms = []
        for device in devices:
            with device:
                rooms.append([cuda.device_array(n, np.uint8) for _ in range(2)])
                rooms[-1][0][...] = 1
        (a, a_in), (b, b_in) = rooms
        host = cuda.pinned_array(n, np.uint8)

        def by_host():
            a.copy_to_host(host)
            b_in.copy_to_device(host)

        def both():
            b_in.copy_to_device(a)
            a_in.copy_to_device(b)

        times = max(1, min(50, (1 << 32) >> log2))

        def rate(run, n_bytes=n, times=times):
            def many():
                for _ in range(times):
                    run()

            return times * n_bytes / seconds(many, devices, repeats) / 1e9

        print(f"{n:11,}  {rate(lambda: b_in.copy_to_device(a)):10.2f} {rate(lambda: a_in.copy_to_device(b)):8.2f} {rate(both, 2 * n):11.2f}"
              f" {rate(lambda: a_in.copy_to_device(a)):12.2f} {rate(by_host, times=1):20.2f}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--paths", type=int, default=24, help="2 to this power on each GPU")
    arguments.add_argument("--steps", type=int, default=256)
    arguments.add_argument("--repeats", type=int, default=7)
    given = arguments.parse_args()
    if not cuda.is_available() or len(cuda.gpus) < 2:
        raise SystemExit("needs two CUDA devices: " + (repr(cuda.gpus) if cuda.is_available() else "there is none"))
    devices = cuda.gpus[0], cuda.gpus[1]
    print(*devices)
    monte_carlo(devices, 1 << given.paths, given.steps, given.repeats)
    copies(devices, given.repeats)


if __name__ == "__main__":
    main()
