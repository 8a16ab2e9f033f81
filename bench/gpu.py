"""lanewise against torch, CuPy and numba-cuda on a GPU, in one run.

    python bench/gpu.py

Peers that are not installed are left out. numba-cuda needs numpy.row_stack, which NumPy 2.5
removed: it is put back here for its sake. GPU times are medians of rounds between two events.
"""

from __future__ import annotations

import warnings
from typing import Any, Callable

import numpy as np

import lanewise as lw
from lanewise._bench import black_scholes, copy_seconds, gpu_seconds, host_seconds, mandelbrot, muladd

warnings.filterwarnings("ignore")
if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack
try:
    import cupy
except ImportError:
    cupy = None
try:
    import torch
except ImportError:
    torch = None
try:
    import numba.cuda
    from numba import vectorize as numba_vectorize
except ImportError:
    numba = None


def row(title: str, runs: dict[str, Callable[[], Any]], timer: Callable[..., float], note: Callable[[float], str]) -> None:
    print(title)
    for name, run in runs.items():
        try:
            seconds = timer(run)
        except Exception as problem:  # a peer that cannot do it says so in the table
            print(f"    {name:<22} {type(problem).__name__}: {str(problem).splitlines()[0][:90]}")
            continue
        print(f"    {name:<22}{seconds * 1e6:>11.2f} us   {note(seconds)}", flush=True)


def as_torch(array: Any) -> Any:
    return torch.from_dlpack(array)


def bandwidth(dtype: str) -> None:
    n = 1 << 26
    rng = np.random.default_rng(0)
    a, b = (lw.cuda.to_device(rng.random(n).astype(dtype)) for _ in range(2))
    out = lw.cuda.device_array(n, dtype)
    f = lw.vectorize(muladd)
    runs: dict[str, Callable[[], Any]] = {"lanewise": lambda: f(a, b, out=out)}
    if torch is not None:
        ta, tb, to = as_torch(a), as_torch(b), as_torch(out)
        compiled = torch.compile(lambda x, y, o: torch.add(x * y, x, out=o))
        runs["torch.compile"] = lambda: compiled(ta, tb, to)
        runs["torch eager"] = lambda: torch.addcmul(ta, ta, tb, out=to)
    if cupy is not None:
        ca, cb, co = cupy.from_dlpack(a), cupy.from_dlpack(b), cupy.from_dlpack(out)
        letter = {"float32": "float32", "float16": "float16", "float64": "float64"}[dtype]
        kernel = cupy.ElementwiseKernel(f"{letter} a, {letter} b", f"{letter} o", "o = a * b + a", "muladd")
        runs["CuPy ElementwiseKernel"] = lambda: kernel(ca, cb, co)
    if numba is not None and dtype != "float16":
        peer = numba_vectorize([f"{dtype}({dtype}, {dtype})"], target="cuda")(muladd)
        runs["numba-cuda"] = lambda: peer(a, b, out=out)
    moved = 3 * a.nbytes
    copy = copy_seconds(moved // 2)
    row(f"a*b+a {dtype} 2^26 (copy: {moved / copy / 1e9:.0f} GB/s)", runs, gpu_seconds, lambda s: f"{copy / s:.3f} of copy")


def calls() -> None:
    f = lw.vectorize(muladd)
    a, b, out = (lw.cuda.to_device(np.ones(256, np.float32)) for _ in range(3))
    f(a, b, out=out)
    raw = min(lw._core._time_launch(f, 100, a, b) for _ in range(30) if lw.cuda.synchronize() is None)
    given: dict[str, Callable[[], Any]] = {"lanewise": lambda: f(a, b, out=out)}
    fresh: dict[str, Callable[[], Any]] = {"lanewise": lambda: f(a, b)}
    if torch is not None:
        ta, tb, to = as_torch(a), as_torch(b), as_torch(out)
        given["torch addcmul"] = lambda: torch.addcmul(ta, ta, tb, out=to)
        fresh["torch addcmul"] = lambda: torch.addcmul(ta, ta, tb)
        given["lanewise on torch"] = lambda: f(ta, tb, out=to)
        fresh["lanewise on torch"] = lambda: f(ta, tb)
    if cupy is not None:
        ca, cb, co = cupy.from_dlpack(a), cupy.from_dlpack(b), cupy.from_dlpack(out)
        kernel = cupy.ElementwiseKernel("float32 a, float32 b", "float32 o", "o = a * b + a", "muladd")
        given["CuPy ElementwiseKernel"] = lambda: kernel(ca, cb, co)
        fresh["CuPy ElementwiseKernel"] = lambda: kernel(ca, cb)
        given["lanewise on CuPy"] = lambda: f(ca, cb, out=co)
        fresh["lanewise on CuPy"] = lambda: f(ca, cb)
    if numba is not None:
        peer = numba_vectorize(["float32(float32, float32)"], target="cuda")(muladd)
        na, nb, no = (numba.cuda.to_device(np.ones(256, np.float32)) for _ in range(3))
        given["numba-cuda"] = lambda: peer(na, nb, out=no)
        fresh["numba-cuda"] = lambda: peer(na, nb)
    row(f"host time, 256 elements, out= (raw launch {raw * 1e6:.2f} us)", given, host_seconds, lambda s: f"raw + {(s - raw) * 1e6:.2f} us")
    row("host time, 256 elements, result allocated", fresh, host_seconds, lambda s: f"raw + {(s - raw) * 1e6:.2f} us")


def compute() -> None:
    y, x = np.ogrid[-1.5:1.5:4096j, -2.0:1.0:4096j]
    dx, dy = lw.cuda.to_device(x), lw.cuda.to_device(y)
    f = lw.vectorize(mandelbrot)
    out = f(dx, dy)
    runs: dict[str, Callable[[], Any]] = {"lanewise": lambda: f(dx, dy, out=out)}
    if cupy is not None:
        kernel = cupy.ElementwiseKernel(
            "float64 x, float64 y", "int64 o",
            """double zr = 0, zi = 0; o = 100;
               for (int i = 0; i < 100; i++) { double t = zr*zr - zi*zi + x; zi = 2*zr*zi + y; zr = t;
                   if (zr*zr + zi*zi > 4.0) { o = i; break; } }""", "mandelbrot")
        cx, cy, co = cupy.asarray(x), cupy.asarray(y), cupy.empty((4096, 4096), np.int64)
        runs["CuPy, by hand"] = lambda: kernel(cx, cy, co)
    if numba is not None:
        peer = numba_vectorize(["int64(float64, float64)"], target="cuda")(mandelbrot)
        fx, fy = (lw.cuda.to_device(np.ascontiguousarray(np.broadcast_to(v, (4096, 4096)))) for v in (x, y))
        runs["numba-cuda, dense x y"] = lambda: peer(fx, fy, out=out)
    row("mandelbrot 4096^2 x 100 float64", runs, lambda run: gpu_seconds(run, 5), lambda s: "")

    n = 1 << 24
    rng = np.random.default_rng(3)
    columns = [lw.cuda.to_device(rng.uniform(low, high, n).astype(np.float32)) for low, high in ((5, 30), (1, 100), (0.25, 10))]
    outs = (lw.cuda.device_array(n, np.float32), lw.cuda.device_array(n, np.float32))
    g = lw.vectorize(black_scholes)
    runs = {"lanewise": lambda: g(*columns, 0.02, 0.3, out=outs)}
    if torch is not None:
        tensors = [as_torch(c) for c in columns]

        @torch.compile
        def by_torch(price, strike, years):
            root = 0.3 * torch.sqrt(years)
            d1 = (torch.log(price / strike) + (0.02 + 0.5 * 0.09) * years) / root
            d2 = d1 - root
            discounted = strike * torch.exp(-0.02 * years)
            n1 = 0.5 + 0.5 * torch.erf(d1 * 0.7071067811865476)
            n2 = 0.5 + 0.5 * torch.erf(d2 * 0.7071067811865476)
            call = price * n1 - discounted * n2
            return call, call - price + discounted

        runs["torch.compile"] = lambda: by_torch(*tensors)
    copy = copy_seconds(5 * 4 * n // 2)
    row("black-scholes float32 2^24", runs, gpu_seconds, lambda s: f"{copy / s:.3f} of copy")


if __name__ == "__main__":
    print(f"{lw.cuda.get_current_device().name}; NumPy {np.__version__}")
    for dtype in ("float32", "float16", "float64"):
        bandwidth(dtype)
    calls()
    compute()
