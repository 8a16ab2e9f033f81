"""``python -m lanewise demo``: Mandelbrot and Black-Scholes on what this machine has, checked
against NumPy, with times, speed-ups and where a cold start spends its time."""

from __future__ import annotations

import contextlib
import math
import os
import time
from typing import Any, Callable, Iterator

import numpy as np

import lanewise as lw

ROWS = 200


def mandelbrot(x, y):
    c = complex(x, y)
    z = 0j
    for i in range(ROWS):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag > 4.0:
            return i
    return ROWS


def cumulative_normal(d):
    """Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, formula 26.2.17."""
    k = 1.0 / (1.0 + 0.2316419 * abs(d))
    poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.3989422804014327 * math.exp(-0.5 * d * d) * poly
    return 1.0 - tail if d > 0.0 else tail


def black_scholes(price, strike, years):
    rate, volatility = 0.02, 0.30
    root = math.sqrt(years)
    d1 = (math.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / (volatility * root)
    d2 = d1 - volatility * root
    discounted = strike * math.exp(-rate * years)
    call = price * cumulative_normal(d1) - discounted * cumulative_normal(d2)
    return call, call - price + discounted


def numpy_mandelbrot(x, y):
    c = x + 1j * y
    z = np.zeros_like(c)
    count = np.full(c.shape, ROWS, np.int64)
    inside = np.ones(c.shape, bool)
    for i in range(ROWS):
        z[inside] = z[inside] * z[inside] + c[inside]
        gone = inside & (z.real * z.real + z.imag * z.imag > 4.0)
        count[gone] = i
        inside &= ~gone
    return count


def numpy_normal(d):
    k = 1.0 / (1.0 + 0.2316419 * np.abs(d))
    poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.3989422804014327 * np.exp(-0.5 * d * d) * poly
    return np.where(d > 0.0, 1.0 - tail, tail)


def numpy_black_scholes(price, strike, years):
    rate, volatility = 0.02, 0.30
    root = np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / (volatility * root)
    d2 = d1 - volatility * root
    discounted = strike * np.exp(-rate * years)
    call = price * numpy_normal(d1) - discounted * numpy_normal(d2)
    return call, call - price + discounted


@contextlib.contextmanager
def step(title: str, rows: list[tuple[str, float]]) -> Iterator[None]:
    """Says what runs, and how long one run of it takes: what the block adds to the rows, as the table below has it."""
    print(f"  {title} ...", end=" ", flush=True)
    yield
    seconds = rows[-1][1]
    print(f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1e3:.2f} ms", flush=True)


def best(run: Callable[[], Any], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def scalar_time(function: Callable[..., Any], columns: list[np.ndarray], sample: int) -> float:
    """CPython's time for the whole arrays, from a sample spread over them."""
    rows = np.linspace(0, columns[0].size - 1, sample).astype(np.int64)
    picked = list(zip(*(column.reshape(-1)[rows].tolist() for column in columns)))
    start = time.perf_counter()
    for row in picked:
        function(*row)
    return (time.perf_counter() - start) * columns[0].size / sample


def gpu_time(function: lw.Ufunc, columns: list[np.ndarray]) -> tuple[float, Any]:
    device = [lw.cuda.to_device(column) for column in columns]
    result = function(*device)
    lw.cuda.synchronize()

    def run() -> None:
        function(*device)
        lw.cuda.synchronize()

    return best(run, 10), result


def table(title: str, rows: list[tuple[str, float]]) -> None:
    """Times with speed-ups over CPython and NumPy."""
    base = dict(rows)
    print(f"\n{title}\n  {'':<22}{'time':>12}{'over CPython':>15}{'over NumPy':>13}")
    for name, seconds in rows:
        print(f"  {name:<22}{seconds * 1e3:>9.2f} ms{base['CPython'] / seconds:>14.1f}x{base['NumPy'] / seconds:>12.1f}x")


def cold_start(has_gpu: bool) -> list[tuple[str, float]]:
    """Where the time goes before the first result, caches off."""
    parts = []

    def first_call(text: str, make: Callable[[], Callable[[], Any]]) -> None:
        call = make()
        start = time.perf_counter()
        call()
        cold = time.perf_counter() - start
        parts.append((text, cold - best(call)))

    start = time.perf_counter()
    import llvmlite.binding  # noqa: F401  the CPU compiler, needed on a cache miss only

    parts.append(("load LLVM (once, on a cache miss)", time.perf_counter() - start))
    x = np.linspace(0.0, 1.0, 1000)
    warm = lw.vectorize(cache=False)(lambda a: a - 1)
    warm(x)

    def on_host() -> Callable[[], Any]:
        function = lw.vectorize(cache=False)(lambda a, b: a * b + 3)
        return lambda: function(x, x)

    first_call("compile a*b+k for the CPU", on_host)
    if has_gpu:
        start = time.perf_counter()
        device = lw.cuda.to_device(x)
        lw.vectorize(cache=False)(lambda a: a - 2)(device)
        lw.cuda.synchronize()
        parts.append(("start CUDA, load libNVVM and nvJitLink", time.perf_counter() - start))

        def on_device() -> Callable[[], Any]:
            function = lw.vectorize(cache=False)(lambda a, b: a * b + 4)

            def call() -> None:
                function(device, device)
                lw.cuda.synchronize()

            return call

        first_call("compile a*b+k for the GPU", on_device)
    return parts


def check(name: str, good: bool, detail: str) -> bool:
    print(f"  {name}: {'equal to NumPy' if good else 'DIFFERS FROM NUMPY'} ({detail})")
    return good


def draw(count: np.ndarray, path: str) -> None:
    try:
        from matplotlib import image
    except ImportError:
        print("  no picture: matplotlib is not installed (pip install lanewise[demo])")
        return
    image.imsave(path, np.log1p(count), cmap="inferno")
    print(f"  picture: {path}")


def run_mandelbrot(output: str, small: bool, has_gpu: bool) -> bool:
    height, width = (300, 450) if small else (1000, 1500)
    y, x = (axis.astype(np.float64) for axis in np.ogrid[-1.0 : 1.0 : height * 1j, -2.0 : 1.0 : width * 1j])
    full = [np.broadcast_to(x, (height, width)), np.broadcast_to(y, (height, width))]
    function = lw.vectorize(mandelbrot)
    rows: list[tuple[str, float]] = []
    print(f"\nMandelbrot, {width} x {height}, up to {ROWS} iterations, complex128")
    with step("CPython (a sample, scaled up)", rows):
        rows.append(("CPython", scalar_time(mandelbrot, full, 2000 if small else 10000)))
    with step("NumPy", rows):
        start = time.perf_counter()
        expected = numpy_mandelbrot(*full)
        rows.append(("NumPy", time.perf_counter() - start))
    with step("lanewise, CPU", rows):
        count = function(x, y)
        rows.append(("lanewise, CPU", best(lambda: function(x, y))))
    results = [("CPU", count)]
    if has_gpu:
        with step("lanewise, GPU", rows):
            seconds, on_gpu = gpu_time(function, [x, y])
            rows.append(("lanewise, GPU", seconds))
        results.append(("GPU", on_gpu.copy_to_host()))
    good = True
    for name, result in results:
        # a*b+c is rounded once here and twice in NumPy: pixels on the edge may tell
        off = int(np.count_nonzero(result != expected))
        good &= check(name, off <= expected.size // 1000, f"{off} of {expected.size} pixels off, at the edge of the set")
    draw(count, os.path.join(output, "mandelbrot.png"))
    table("Mandelbrot", rows)
    return good


def run_black_scholes(small: bool, has_gpu: bool) -> bool:
    n = 1_000_000 if small else 10_000_000
    rng = np.random.default_rng(7)
    columns = [rng.uniform(5.0, 30.0, n), rng.uniform(1.0, 100.0, n), rng.uniform(0.25, 10.0, n)]
    function = lw.vectorize(black_scholes)
    rows: list[tuple[str, float]] = []
    print(f"\nBlack-Scholes, {n:,} options, float64, call and put")
    with step("CPython (a sample, scaled up)", rows):
        rows.append(("CPython", scalar_time(black_scholes, columns, 20_000 if small else 100_000)))
    with step("NumPy", rows):
        start = time.perf_counter()
        expected = numpy_black_scholes(*columns)
        rows.append(("NumPy", time.perf_counter() - start))
    with step("lanewise, CPU", rows):
        results: list[tuple[str, Any]] = [("CPU", function(*columns))]
        rows.append(("lanewise, CPU", best(lambda: function(*columns))))
    if has_gpu:
        with step("lanewise, GPU", rows):
            seconds, on_gpu = gpu_time(function, columns)
            rows.append(("lanewise, GPU", seconds))
        results.append(("GPU", tuple(array.copy_to_host() for array in on_gpu)))
    good = True
    for name, result in results:
        worst = max(float(np.max(np.abs(a - b))) for a, b in zip(result, expected))
        good &= check(name, worst < 1e-10, f"largest difference {worst:.1e}")
    table("Black-Scholes", rows)
    return good


def run(output: str, small: bool = False) -> int:
    """The demo; 0 when all results agree with NumPy, else 1."""
    os.makedirs(output, exist_ok=True)
    has_gpu = lw.config.target not in ("cpu", "parallel") and lw.cuda.is_available()
    gpu = lw.cuda.get_current_device().name if has_gpu else "none found: the CPU does the work"
    print(f"lanewise {lw.__version__}; GPU: {gpu}")
    parts = cold_start(has_gpu)
    good = run_mandelbrot(output, small, has_gpu)
    good &= run_black_scholes(small, has_gpu)
    print("\nWhere a cold start spends its time (caches off)")
    for text, seconds in parts:
        print(f"  {text:<42}{seconds * 1e3:>9.2f} ms")
    return 0 if good else 1
