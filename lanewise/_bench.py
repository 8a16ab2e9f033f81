"""``python -m lanewise bench``: what this machine reaches, as ratios measured in one run.

Peers are other libraries that do the same work on the same arrays in the same run. NumPy is always one; those that are
not installed are named at the end.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import math
import os
import subprocess
import sys
import time
from typing import Any, Callable

import numpy as np

import lanewise as lw


def best_of(run: Callable[[], Any], repeats: int, number: int = 1) -> float:
    """Seconds of one call: the least of `repeats` rounds of `number` calls."""
    least = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(number):
            run()
        least = min(least, (time.perf_counter() - start) / number)
    return least


def gpu_seconds(run: Callable[[], Any], number: int = 20, repeats: int = 7) -> float:
    """GPU time of one call by events: the median round of `number` calls."""
    begin, end = lw.cuda.event(), lw.cuda.event()
    rounds = []
    run()
    lw.cuda.synchronize()
    for _ in range(repeats):
        begin.record()
        for _ in range(number):
            run()
        end.record()
        end.synchronize()
        rounds.append(lw.cuda.event_elapsed_time(begin, end) * 1e-3 / number)
    return sorted(rounds)[len(rounds) // 2]


def host_seconds(run: Callable[[], Any], number: int = 2000, repeats: int = 15) -> float:
    """Host time of one asynchronous call; the queue is emptied between rounds."""
    least = math.inf
    for _ in range(200):
        run()
    for _ in range(repeats):
        lw.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(number // 20):
            run()
        least = min(least, (time.perf_counter() - start) / (number // 20))
    lw.cuda.synchronize()
    return least


def muladd(a, b):
    return a * b + a


def mandelbrot(x, y):
    c = complex(x, y)
    z = 0j
    for i in range(100):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag > 4.0:
            return i
    return 100


def black_scholes(price, strike, years, rate, volatility):
    root = volatility * math.sqrt(years)
    d1 = (math.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / root
    d2 = d1 - root
    discounted = strike * math.exp(-rate * years)
    n1 = 0.5 + 0.5 * math.erf(d1 * 0.7071067811865476)
    n2 = 0.5 + 0.5 * math.erf(d2 * 0.7071067811865476)
    call = price * n1 - discounted * n2
    return call, call - price + discounted


CPU_PEERS, GPU_PEERS = ("numba", "numexpr", "torch"), ("cupy", "torch")


class Report:
    """rows: as `--json` writes them. value and peers are in the row's unit."""

    def __init__(self, only: str, quiet: bool = False) -> None:
        self.only = only
        self.quiet = quiet
        self.rows: list[dict[str, Any]] = []
        self.failed: dict[str, str] = {}

    def wants(self, name: str) -> bool:
        return self.only in name

    def add(self, name: str, seconds: float, note: str, peers: dict[str, float] | None = None) -> None:
        """peers: seconds of each."""
        peers = {peer: time for peer, time in (peers or {}).items() if math.isfinite(time)}
        self.rows.append({"name": name, "value": seconds * 1e6, "unit": "us", "note": note, "peers": {peer: time * 1e6 for peer, time in peers.items()}})
        if not self.quiet:
            said = ", ".join([note] * bool(note) + [f"{time / seconds:.2f} x {peer}" for peer, time in peers.items()])
            print(f"{name:<46}{seconds * 1e6:>12.2f} us   {said}", flush=True)

    def peer(self, name: str, make: Callable[[Any], Callable[[], Any]]) -> Callable[[], Any] | None:
        """What the library named does, or None: it is not installed, or cannot do it."""
        if importlib.util.find_spec(name) is None:
            return None
        try:
            run = make(importlib.import_module(name))
            run()  # compiles, where it compiles
        except Exception as problem:  # whatever a peer cannot do is its own matter
            self.failed[name] = f"{type(problem).__name__}: {problem}".splitlines()[0][:200]
            return None
        return run


def together(mine: Callable[[], Any], peers: dict[str, Callable[[], Any] | None], rounds: int) -> tuple[float, dict[str, float]]:
    """Seconds of each, interleaved, so that noise hits all of them."""
    least = {name: math.inf for name, run in peers.items() if run is not None}
    own = math.inf
    for _ in range(rounds):
        own = min(own, best_of(mine, 1))
        for name in least:
            least[name] = min(least[name], best_of(peers[name], 1))  # type: ignore[arg-type]
    return own, least


def gpu_peers(report: Report, dtype: str, a: Any, b: Any) -> dict[str, float]:
    """a*b+a by the others, on arrays of their own."""
    times: dict[str, float] = {}

    def by_cupy(cupy: Any) -> Callable[[], Any]:
        kernel = cupy.ElementwiseKernel("T a, T b", "T out", "out = a * b + a", "muladd")
        x, y = cupy.asarray(a), cupy.asarray(b)
        out = cupy.empty_like(x)
        return lambda: kernel(x, y, out)

    def by_torch(torch: Any) -> Callable[[], Any]:
        x, y = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
        out = torch.empty_like(x)
        return lambda: torch.addcmul(x, x, y, out=out)

    for name, make in (("cupy", by_cupy), ("torch", by_torch)):
        run = report.peer(name, make)
        if run is not None:  # on streams of their own: timed from outside
            times[name] = host_rounds(importlib.import_module(name), run)
    return times


def host_rounds(module: Any, run: Callable[[], Any], number: int = 20) -> float:
    """Seconds of one call of another library: rounds of many, each ended by its own wait."""
    wait = module.cuda.Device().synchronize if module.__name__ == "cupy" else module.cuda.synchronize
    rounds = []
    for _ in range(7):
        wait()
        start = time.perf_counter()
        for _ in range(number):
            run()
        wait()
        rounds.append((time.perf_counter() - start) / number)
    return sorted(rounds)[len(rounds) // 2]


def copy_seconds(n_bytes: int) -> float:
    source = lw.cuda.device_array(n_bytes, np.uint8)
    target = lw.cuda.device_array(n_bytes, np.uint8)
    return gpu_seconds(lambda: target.copy_to_device(source))


def gpu_bandwidth(report: Report, dtype: str) -> None:
    name = f"gpu a*b+a {dtype} 2^26"
    if not report.wants(name):
        return
    n = 1 << 26
    f = lw.vectorize(muladd)
    rng = np.random.default_rng(1)
    host = [rng.random(n).astype(dtype) for _ in range(2)]
    a, b = map(lw.cuda.to_device, host)
    out = lw.cuda.device_array(n, dtype)
    seconds = gpu_seconds(lambda: f(a, b, out=out))
    expected = muladd(a.copy_to_host(), b.copy_to_host())
    np.testing.assert_allclose(out.copy_to_host(), expected, rtol=2e-3 if dtype == "float16" else 1e-6)
    moved = 3 * n * np.dtype(dtype).itemsize
    copy = copy_seconds(moved // 2)
    report.add(name, seconds, f"{moved / seconds / 1e9:.0f} GB/s, {copy / seconds:.3f} of copy's rate", gpu_peers(report, dtype, *host))


def gpu_strided(report: Report) -> None:
    n = 8192
    f = lw.vectorize(muladd)
    x = lw.cuda.to_device(np.random.default_rng(1).random((n, n)).astype(np.float32))
    row, out = x[:1], lw.cuda.device_array((n, n), np.float32)
    copy = copy_seconds(x.nbytes)
    for name, left, right, arrays in (
        ("gpu a*b+a broadcast row", x, row, 2), ("gpu a*b+a column", x, x[:, :1], 2),
        ("gpu a*b+a transposed", x, x.T, 3), ("gpu a*b+a every 2nd", x[:, ::2], x[:, 1::2], 1.5),
    ):
        if not report.wants(name):
            continue
        target = out[:, : left.shape[1]]
        seconds = gpu_seconds(lambda: f(left, right, out=target))
        report.add(name, seconds, f"{copy * arrays / 2 / seconds:.3f} of copy's rate on its own bytes")


def gpu_calls(report: Report) -> None:
    f = lw.vectorize(muladd)
    a, b, out = (lw.cuda.to_device(np.ones(256, np.float32)) for _ in range(3))
    if not report.wants("gpu call"):
        return
    raw = math.inf
    for _ in range(30):
        lw.cuda.synchronize()
        raw = min(raw, lw._core._time_launch(f, 100, a, b))
    report.add("gpu call: raw launch of that kernel", raw, "")
    given = host_seconds(lambda: f(a, b, out=out))
    report.add("gpu call: 256 elements, out= given", given, f"raw + {(given - raw) * 1e6:.2f} us")
    fresh = host_seconds(lambda: f(a, b))
    report.add("gpu call: 256 elements, result allocated", fresh, f"raw + {(fresh - raw) * 1e6:.2f} us")
    weak = host_seconds(lambda: f(a, 2.0, out=out))
    report.add("gpu call: with a Python scalar", weak, f"raw + {(weak - raw) * 1e6:.2f} us")
    empty = best_of(lambda: lw.vectorize, 20, 1000)
    report.add("an attribute look-up, for scale", empty, "")


def gpu_compile(report: Report) -> None:
    name = "gpu cold compile a*b+k to first result"
    if not report.wants(name):
        return
    a = lw.cuda.to_device(np.ones(256, np.float32))
    times = []
    for k in range(8):
        scope: dict[str, Any] = {"k": 3 + k}
        source = f"def f(a, b):\n    return a * b + {3 + k}\n"
        exec(source, scope)
        start = time.perf_counter()
        f = lw.vectorize(source=source, cache=False)(scope["f"])
        f(a, a)
        lw.cuda.synchronize()
        times.append(time.perf_counter() - start)
    report.add(name, min(times[1:]), f"first in the process {times[0] * 1e3:.1f} ms, median {sorted(times)[4] * 1e3:.1f} ms")


def gpu_compute(report: Report) -> None:
    if report.wants("gpu mandelbrot"):
        f = lw.vectorize(mandelbrot)
        y, x = np.ogrid[-1.5:1.5:4096j, -2.0:1.0:4096j]
        dx, dy = lw.cuda.to_device(x), lw.cuda.to_device(y)
        out = f(dx, dy)
        seconds = gpu_seconds(lambda: f(dx, dy, out=out), 5)
        count = out.copy_to_host()
        report.add("gpu mandelbrot 4096^2 x 100 float64", seconds, f"{count.sum() / seconds / 1e9:.0f} G iterations/s")
    if report.wants("gpu black-scholes"):
        n = 1 << 24
        f = lw.vectorize(black_scholes)
        rng = np.random.default_rng(3)
        columns = [rng.uniform(low, high, n).astype(np.float32) for low, high in ((5, 30), (1, 100), (0.25, 10))]
        device = [lw.cuda.to_device(c) for c in columns]
        outs = (lw.cuda.device_array(n, np.float32), lw.cuda.device_array(n, np.float32))
        seconds = gpu_seconds(lambda: f(*device, 0.02, 0.3, out=outs))
        moved = 5 * 4 * n
        report.add("gpu black-scholes float32 2^24", seconds, f"{moved / seconds / 1e9:.0f} GB/s, {copy_seconds(moved // 2) / seconds:.3f} of copy's rate")


def _exp(x):
    return math.exp(x)


def _sin(x):
    return math.sin(x)


def _log(x):
    return math.log(x)


def _pow(x):
    return x**1.7


def _same(x):
    return x


def cpu_math(report: Report) -> None:
    x = np.random.default_rng(5).uniform(0.1, 10.0, 1_000_000)
    out = np.empty_like(x)
    for name, function, reference in (
        ("exp", _exp, lambda: np.exp(x, out=out)), ("sin", _sin, lambda: np.sin(x, out=out)),
        ("log", _log, lambda: np.log(x, out=out)), ("pow", _pow, lambda: np.power(x, 1.7, out=out)),
    ):
        if not report.wants(f"cpu {name}"):
            continue
        f = lw.vectorize(function)
        f(x, out=out)
        text = "x**1.7" if name == "pow" else f"{name}(x)"
        peers = cpu_peers(report, function, text, x, out=out)
        report.add(f"cpu {name} float64 10^6", *plain(together(lambda: f(x, out=out), {"numpy": reference, **peers}, 20)))


def cpu_peers(report: Report, function: Callable[..., Any], text: str, *arrays: Any, out: Any) -> dict[str, Callable[[], Any] | None]:
    """The function by the others; text: as an expression of x and y."""
    names = dict(zip("xy", arrays))

    def by_numba(numba: Any) -> Callable[[], Any]:
        made = numba.vectorize([f"f8({','.join(['f8'] * len(arrays))})"])(function)
        return lambda: made(*arrays, out=out)

    def by_numexpr(numexpr: Any) -> Callable[[], Any]:
        return lambda: numexpr.evaluate(text, names, out=out)

    def by_torch(torch: Any) -> Callable[[], Any]:
        scope = {"exp": torch.exp, "sin": torch.sin, "log": torch.log, **{name: torch.from_numpy(array) for name, array in names.items()}}
        code = compile(text, "peer", "eval")
        return lambda: eval(code, scope)

    return {name: report.peer(name, make) for name, make in (("numba", by_numba), ("numexpr", by_numexpr), ("torch", by_torch))}


def plain(times: tuple[float, dict[str, float]]) -> tuple[float, str, dict[str, float]]:
    return times[0], "", times[1]


def cpu_muladd(report: Report) -> None:
    if not report.wants("cpu a*b+a"):
        return
    n = 20_000_000
    a, b, out = (np.random.default_rng(5).random(n) for _ in range(3))
    f, same = lw.vectorize(muladd), lw.vectorize(_same)
    f(a, b, out=out)
    same(a, out=out)

    def by_numpy() -> None:
        np.multiply(a, b, out=out)
        np.add(out, a, out=out)

    peers = cpu_peers(report, muladd, "x*y+x", a, b, out=out)
    mine, times = together(lambda: f(a, b, out=out), {"copy": lambda: same(a, out=out), "numpy": by_numpy, **peers}, 10)
    copy = times.pop("copy")  # by all cores: NumPy's copies run on one, and reach less
    report.add("cpu a*b+a float64 2*10^7", mine, f"{24 * n / mine / 1e9:.1f} GB/s, {24 / 16 * copy / mine:.3f} of copy's rate", times)


def cpu_small(report: Report) -> None:
    if not report.wants("cpu call"):
        return
    x, out = np.ones(8), np.ones(8)
    f = lw.vectorize(["f8(f8,f8)"])(muladd)
    f(x, x)
    mine, numpy = math.inf, math.inf
    for _ in range(50):
        mine = min(mine, best_of(lambda: f(x, x, out=out), 1, 1000))
        numpy = min(numpy, best_of(lambda: np.add(x, x, out=out), 1, 1000))
    report.add("cpu call, 8 elements, out= given", mine, "NumPy's is np.add", {"numpy": numpy})


def cpu_compile(report: Report) -> None:
    if not report.wants("cpu cold compile"):
        return
    x = np.ones(16)
    times = []
    for k in range(8):
        scope: dict[str, Any] = {}
        source = f"def f(a, b):\n    return a * b + {3 + k}\n"
        exec(source, scope)
        start = time.perf_counter()
        lw.vectorize(source=source, cache=False)(scope["f"])(x, x)
        times.append(time.perf_counter() - start)
    report.add("cpu cold compile a*b+k to first result", min(times[1:]), f"first in the process, LLVM loaded with it: {times[0] * 1e3:.0f} ms")


_HIT = """
import time, numpy as np, lanewise as lw
x = np.ones(16)
source = "def f(a, b):\\n    return a * b + 12345\\n"
scope = {}
exec(source, scope)
start = time.perf_counter()
lw.vectorize(source=source)(scope["f"])(x, x)
print(time.perf_counter() - start)
import sys
assert "--warm" in sys.argv or "llvmlite" not in sys.modules
"""


def cpu_disk(report: Report) -> None:
    if report.wants("cpu disk"):
        subprocess.run([sys.executable, "-c", _HIT, "--warm"], check=True, capture_output=True)
        runs = [float(subprocess.run([sys.executable, "-c", _HIT], check=True, capture_output=True, text=True).stdout) for _ in range(5)]
        report.add("cpu disk-cache hit to first result", min(runs), "a new process, LLVM not loaded")
    if report.wants("import"):
        code = "import numpy, time; s = time.perf_counter(); import lanewise; print(time.perf_counter() - s)"
        runs = [float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout) for _ in range(5)]
        report.add("import lanewise beyond NumPy", min(runs), "")


def machine() -> dict[str, Any]:
    """What the figures belong to."""
    from lanewise._info import info

    found = info()
    gpus = [text for name, text in found["cuda driver"].items() if name.startswith("device ")]
    return {"cpu": found["cpu"], "gpus": gpus, "platform": found["platform"], "python": found["python"].split()[0],
            "lanewise": found["lanewise"], "numpy": found["numpy"], "date": time.strftime("%Y-%m-%d")}


def peers_found(gpu: bool) -> tuple[dict[str, str], list[str]]:
    """Versions of the peers that are installed, and the names of the others."""
    from lanewise._info import version

    names = dict.fromkeys(CPU_PEERS + (GPU_PEERS if gpu else ()))
    there = [name for name in names if importlib.util.find_spec(name) is not None]
    return {"numpy": np.__version__, **{name: version(name) for name in there}}, [name for name in names if name not in there]


def run(only: str = "", as_json: bool = False) -> int:
    """All cases whose name contains `only`; as_json: as one JSON document on standard output."""
    os.environ.setdefault("CUDA_CACHE_DISABLE", "1")  # nvJitLink and the driver would take code of an earlier run from ~/.nv
    report = Report(only, quiet=as_json)
    gpu = lw.config.target not in ("cpu", "parallel") and lw.cuda.is_available()
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        for case in (cpu_math, cpu_muladd, cpu_small, cpu_compile, cpu_disk):
            case(report)
        if gpu:
            for dtype in ("float32", "float16", "float64"):
                gpu_bandwidth(report, dtype)
            for case in (gpu_strided, gpu_calls, gpu_compile, gpu_compute):
                case(report)
    found, missing = peers_found(gpu)
    if as_json:
        print(json.dumps({"machine": machine(), "rows": report.rows, "peers": found, "peers not found": missing, "peers that failed": report.failed}, indent=1))
        return 0
    if not report.rows:
        print(f"no case has {only!r} in its name", file=sys.stderr)
        return 2
    if not gpu:
        print("no GPU found: its cases are left out")
    print("peers: " + ", ".join(f"{name} {of}" for name, of in found.items()) + ("; not found: " + ", ".join(missing) if missing else ""))
    for name, problem in report.failed.items():
        print(f"{name} failed: {problem}")
    return 0
