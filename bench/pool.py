"""Device memory: the pool (core/device/pool.h) beside the driver's own stream-ordered calls.

    python bench/pool.py

ns of host time for taking and giving back. "pool" is a DeviceArray made and dropped, object and all; "driver" is cuMemAllocAsync
and cuMemFreeAsync, called through ctypes, less what ctypes takes for calls of three and two arguments (of cuCtxGetDevice's cost and
more, so that the driver's figures are a little too small). "driver, kept" is the driver's default pool with a release threshold
that gives nothing back to the system, which is what one would use in place of ours.
"""

from __future__ import annotations

import ctypes
import time

import numpy as np

from lanewise import cuda

driver = ctypes.CDLL("libcuda.so.1")
alloc, free = driver.cuMemAllocAsync, driver.cuMemFreeAsync
alloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
free.argtypes = [ctypes.c_uint64, ctypes.c_void_p]
nothing = driver.cuDriverGetVersion
nothing.argtypes = [ctypes.c_void_p]
pool_handle, keep_all = ctypes.c_void_p(), ctypes.c_uint64(2**64 - 1)


def check(code: int) -> None:
    if code:
        raise RuntimeError(f"driver error {code}")


def seconds(run, number: int = 2000, rounds: int = 15) -> float:
    times = []
    for _ in range(rounds):
        cuda.synchronize()
        start = time.perf_counter()
        for _ in range(number):
            run()
        times.append((time.perf_counter() - start) / number)
    cuda.synchronize()
    return min(times)


def by_pool(sizes, stream):
    def run():
        arrays = [cuda.device_array(n, np.uint8, stream=stream) for n in sizes]
        del arrays
    return run


def by_driver(sizes, stream):
    addresses = [ctypes.c_uint64() for _ in sizes]
    places = [ctypes.addressof(address) for address in addresses]

    def run():
        for n, place in zip(sizes, places):
            alloc(place, n, stream)
        for address in addresses:
            free(address.value, stream)
    return run


def by_nothing(sizes):
    version = ctypes.c_int()
    place = ctypes.addressof(version)

    def run():
        for _ in sizes:
            nothing(place)
        for _ in sizes:
            nothing(place)
    return run


CASES = {
    "1 KB": [1 << 10], "1 MB": [1 << 20], "64 MB": [64 << 20], "1 GB": [1 << 30],
    "8 of 1 MB": [1 << 20] * 8, "8 of 1 KB to 128 MB": [1 << (10 + 17 * k // 7) for k in range(8)],
}


def main() -> None:
    keeper = cuda.device_array(1, np.uint8)  # the context
    cuda.synchronize()
    device = ctypes.c_int()
    check(driver.cuCtxGetDevice(ctypes.byref(device)))
    check(driver.cuDeviceGetDefaultMemPool(ctypes.byref(pool_handle), device))
    stream = cuda.stream()
    handle = int(stream.handle.value if hasattr(stream.handle, "value") else stream.handle)
    print(f"{'':24}{'pool':>10}{'driver':>10}{'driver, kept':>14}   ns a block, taken and given back")
    rows = {}
    for kept in (False, True):
        if kept:
            check(driver.cuMemPoolSetAttribute(pool_handle, 4, ctypes.byref(keep_all)))  # RELEASE_THRESHOLD
        for name, sizes in CASES.items():
            run = by_driver(sizes, handle)
            run()
            number = 2000 if kept or sum(sizes) < 1 << 20 else 200
            rows.setdefault(name, []).append(
                (seconds(run, number) - seconds(by_nothing(sizes), number)) / len(sizes) * 1e9)
    for name, sizes in CASES.items():
        run = by_pool(sizes, stream)
        run()
        ours = seconds(run) / len(sizes) * 1e9
        print(f"{name:24}{ours:10.0f}{rows[name][0]:10.0f}{rows[name][1]:14.0f}")
    del keeper


if __name__ == "__main__":
    main()
