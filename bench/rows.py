"""Calls that users make often and that are hard to bring to the limit, beside their peers in one run on a GPU.

    python bench/rows.py [part ...]          parts: extremes variances ordered scans halves rows masks matrices elements formulas doubles remainders narrow normals distributions calls

Each row is what a user would type, and computes what the peer computes: NaN and ties as NumPy has them, operators that
are not declared commutative. Rates are fractions of a device-to-device copy's; results are checked before they are timed.
"""

from __future__ import annotations

import math
import sys
import warnings
from typing import Any

import numpy as np

import lanewise as lw
from lanewise import cuda
from lanewise._bench import black_scholes, gpu_seconds, host_seconds, mandelbrot
from reduce import check, floats, of_copy, peer, row, with_peers

warnings.filterwarnings("ignore")


def extremes() -> None:
    x = floats(1 << 26)
    assert int(x.argmax()) == x.copy_to_host().argmax()
    row("x.argmax() float32 2^26", with_peers({"lanewise": lambda: x.argmax()}, x, lambda c, v: c.argmax(v), lambda t, v: t.argmax(v)),
        gpu_seconds, of_copy(x.nbytes))
    x = floats(8192, 8192)
    for axis in (1, 0):
        assert (x.argmin(axis=axis).copy_to_host() == x.copy_to_host().argmin(axis=axis)).all()
        row(f"x.argmin(axis={axis}) 8192^2", with_peers({"lanewise": lambda: x.argmin(axis=axis)}, x, lambda c, v: c.argmin(v, axis), lambda t, v: t.argmin(v, axis)),
            gpu_seconds, of_copy(x.nbytes))
    x = floats((1 << 26) + 3)
    row("x[3:].sum() 2^26", with_peers({"lanewise": lambda: x[3:].sum()}, x, lambda c, v: c.sum(v[3:]), lambda t, v: t.sum(v[3:])),
        gpu_seconds, of_copy(x.nbytes))
    x = cuda.to_device(np.random.default_rng(1).integers(-128, 127, 1 << 26, np.int8))
    assert int(x.max()) == 126
    row("x.max() int8 2^26", with_peers({"lanewise": lambda: x.max()}, x, lambda c, v: c.max(v), lambda t, v: t.max(v)), gpu_seconds, of_copy(x.nbytes))


def variances() -> None:
    x = floats(8192, 8192)
    for axis in (1, 0, None):
        check(x.var(axis=axis), x.copy_to_host().var(axis=axis, dtype="f8"))
        row(f"x.var(axis={axis}) 8192^2", with_peers({"lanewise": lambda: x.var(axis=axis)}, x, lambda c, v: c.var(v, axis),
            lambda t, v: t.var(v, axis, correction=0)), gpu_seconds, of_copy(x.nbytes))


def merge_exp(a, b):
    top = max(a[0], b[0])
    return top, a[1] * math.exp(a[0] - top) + b[1] * math.exp(b[0] - top)


undeclared = lw.reduce(merge_exp, map=lambda x: (x, np.float32(1)), finish=lambda m, s: m + math.log(s))
composed = lw.reduce(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), map=lambda a, b: (a, b), finish=lambda a, b: b)


def ordered() -> None:
    x = floats(1 << 26)
    check(undeclared(x), np.log(np.sum(np.exp(x.copy_to_host().astype("f8")))))
    row("log-sum-exp pair, not declared commutative, 2^26",
        with_peers({"lanewise": lambda: undeclared(x)}, x, lambda c, v: c.log(c.sum(c.exp(v))), lambda t, v: t.logsumexp(v, 0)), gpu_seconds, of_copy(x.nbytes))
    y = floats(1 << 26)
    row("affine maps composed, 2^26", {"lanewise": lambda: composed(x, y)}, gpu_seconds, of_copy(2 * x.nbytes))
    x = floats(8192, 8192)
    row("log-sum-exp pair of rows, not declared commutative, 8192^2",
        with_peers({"lanewise": lambda: undeclared(x, axis=1)}, x, lambda c, v: c.log(c.sum(c.exp(v), 1)), lambda t, v: t.logsumexp(v, 1)),
        gpu_seconds, of_copy(x.nbytes))


def scans() -> None:
    for shape, axis in (((1 << 26,), 0), ((1 << 21, 32), 0), ((8192, 8192), 1), ((8192, 8192), 0)):
        x = floats(*shape)
        row(f"cumsum float32 {shape} axis {axis}", with_peers({"lanewise": lambda: np.cumsum(x, axis=axis)}, x, lambda c, v: c.cumsum(v, axis), lambda t, v: t.cumsum(v, axis)),
            gpu_seconds, of_copy(2 * x.nbytes))
    x = cuda.to_device(1 + 1e-9 * np.random.default_rng(1).random(1 << 25))
    row("cumprod float64 2^25", with_peers({"lanewise": lambda: np.cumprod(x)}, x, lambda c, v: c.cumprod(v), lambda t, v: t.cumprod(v, 0)), gpu_seconds, of_copy(2 * x.nbytes))


def halves() -> None:
    x = cuda.to_device(np.random.default_rng(1).integers(0, 2, 1 << 26).astype("f2"))
    row("cumsum float16 2^26", with_peers({"lanewise": lambda: np.cumsum(x)}, x, lambda c, v: c.cumsum(v), lambda t, v: t.cumsum(v, 0)), gpu_seconds, of_copy(2 * x.nbytes))
    y = x.reshape(8192, 8192)
    for axis in (1, 0):
        row(f"cumsum(axis={axis}) float16 8192^2", with_peers({"lanewise": lambda: np.cumsum(y, axis=axis)}, y, lambda c, v: c.cumsum(v, axis), lambda t, v: t.cumsum(v, axis)),
            gpu_seconds, of_copy(2 * x.nbytes))
    for axis in (1, 0, None):
        row(f"x.var(axis={axis}) float16 8192^2", with_peers({"lanewise": lambda: y.var(axis=axis)}, y, lambda c, v: c.var(v, axis),
            lambda t, v: t.var(v, axis, correction=0)), gpu_seconds, of_copy(x.nbytes))


@lw.guvectorize("(n)->(n)")
def softmax(x, y):
    top = x[0]
    for i in range(x.shape[0]):
        top = max(top, x[i])
    total = x[0] * 0
    for i in range(x.shape[0]):
        y[i] = math.exp(x[i] - top)
        total += y[i]
    for i in range(x.shape[0]):
        y[i] /= total


@lw.guvectorize("(n)->(n)")
def centre(x, y):
    s = x[0] * 0
    for i in range(x.shape[0]):
        s += x[i]
    s /= x.shape[0]
    for i in range(x.shape[0]):
        y[i] = x[i] - s


@lw.guvectorize("(n),(n),(n)->(n)")
def layer_norm(x, weight, bias, y):
    s = x[0] * 0
    for i in range(x.shape[0]):
        s += x[i]
    s /= x.shape[0]
    v = x[0] * 0
    for i in range(x.shape[0]):
        v += (x[i] - s) * (x[i] - s)
    scale = 1 / math.sqrt(v / x.shape[0] + 1e-5)
    for i in range(x.shape[0]):
        y[i] = (x[i] - s) * scale * weight[i] + bias[i]


@lw.guvectorize("(n),(n)->(n)")
def recurrence(a, b, y):
    y[0] = b[0]
    for i in range(1, a.shape[0]):
        y[i] = a[i] * y[i - 1] + b[i]


top1 = lw.reduce(lambda a, b: a if a[0] >= b[0] else b, map=lambda x, p: (x, p))


def rows() -> None:
    x, w, b = floats(65536, 1024), floats(1024), floats(1024)
    out = cuda.device_array_like(x)
    torch = peer("torch")
    host = x.copy_to_host().astype("f8")
    e = np.exp(host - host.max(1, keepdims=True))
    check(softmax(x), e / e.sum(1, keepdims=True))
    runs: Any = {"lanewise": lambda: softmax(x, out=out)}
    if torch is not None:
        tx, tw, tb = map(torch.from_dlpack, (x, w, b))
        their = torch.compile(lambda v: torch.softmax(v, 1))
        runs |= {"torch": lambda: torch.softmax(tx, 1), "torch.compile": lambda: their(tx)}
    row("softmax of rows, three loops, 65536 x 1024", runs, gpu_seconds, of_copy(2 * x.nbytes))
    runs = {"lanewise": lambda: centre(x, out=out)}
    if torch is not None:
        centred = torch.compile(lambda v: v - v.mean(1, keepdim=True))
        runs["torch.compile"] = lambda: centred(tx)
    check(centre(x), host - host.mean(1, keepdims=True))
    row("rows centred", runs, gpu_seconds, of_copy(2 * x.nbytes))
    runs = {"lanewise": lambda: layer_norm(x, w, b, out=out)}
    if torch is not None:
        norm = torch.compile(lambda v: torch.nn.functional.layer_norm(v, (1024,), tw, tb))
        runs |= {"torch": lambda: torch.nn.functional.layer_norm(tx, (1024,), tw, tb), "torch.compile": lambda: norm(tx)}
    row("layer norm of rows", runs, gpu_seconds, of_copy(2 * x.nbytes))
    p = cuda.to_device(np.arange(x.size, dtype="i4").reshape(x.shape))
    for count, n in ((65536, 1024), (128, 1 << 18)):
        a, b, y = floats(count, n), floats(count, n), cuda.device_array((count, n), "f4")
        expected = np.zeros(n)
        for i, (factor, term) in enumerate(zip(a[0].copy_to_host().tolist(), a[1].copy_to_host().tolist())):
            expected[i] = factor * expected[i - 1] + term
        check(recurrence(a[:1], a[1:2])[0], expected)
        row(f"linear recurrence of rows, {count} x {n}", {"lanewise": lambda: recurrence(a, b, out=y)}, gpu_seconds, of_copy(3 * a.nbytes))
    row("top 1 of rows with a payload (int32)", {"lanewise": lambda: top1(x, p, axis=1)}, gpu_seconds, of_copy(2 * x.nbytes))


def masks() -> None:
    x = floats(8192, 8192)
    out = cuda.device_array_like(x)
    mask = cuda.to_device(np.random.default_rng(2).random((8192, 8192)) < 0.5)
    add = lw.vectorize(lambda a, b: a + b)
    torch = peer("torch")
    runs: Any = {"lanewise": lambda: add(x, x.T, out=out)}
    masked: Any = {"lanewise": lambda: add(x, x.T, out=out, where=mask)}
    if torch is not None:
        tx, tm, to = map(torch.from_dlpack, (x, mask.view(np.uint8), out))
        tm = tm.bool()
        their = torch.compile(lambda v: v + v.T)
        runs["torch.compile"] = lambda: their(tx)
        masked["torch.where"] = lambda: torch.where(tm, tx + tx.T, to, out=to)
    row("x + x.T 8192^2", runs, gpu_seconds, of_copy(3 * x.nbytes))
    row("the same where a mask is set (half)", masked, gpu_seconds, of_copy(3 * x.nbytes + mask.nbytes))


@lw.guvectorize("(m,n),(n)->(m)")
def matvec(a, x, y):
    for i in range(a.shape[0]):
        total = a.dtype.type(0)
        for j in range(a.shape[1]):
            total += a[i, j] * x[j]
        y[i] = total


def matrices() -> None:
    torch = peer("torch")
    for size in (17, 24, 32, 48, 64, 100, 128, 160, 200):
        count = (1 << 26) // size**2
        a, x = floats(count, size, size), floats(count, size)
        out = cuda.device_array_like(x)
        check(matvec(a[:5], x[:5]), np.matvec(a[:5].copy_to_host().astype("f8"), x[:5].copy_to_host().astype("f8")))
        runs: Any = {"lanewise": lambda: matvec(a, x, out=out)}
        if torch is not None:
            ta, tx = torch.from_dlpack(a), torch.from_dlpack(x)[:, :, None]
            runs["torch.bmm"] = lambda: torch.bmm(ta, tx)
        row(f"{count} matrices of {size} x {size} times vectors", runs, gpu_seconds, of_copy(a.nbytes))


def elements() -> None:
    x = floats(256)
    at = cuda.to_device(np.random.default_rng(3).permutation(256))
    mask = cuda.to_device(np.arange(256) % 3 == 0)
    many = floats(1 << 24)
    everywhere = cuda.to_device(np.random.default_rng(3).permutation(1 << 24))

    def clear(array, places):
        array[places] = 0

    cases = {"x[i]": (lambda v, i, m: v[i]), "x[mask]": (lambda v, i, m: v[m]), "x[i] = 0": (lambda v, i, m: clear(v, i)), "x[mask] = 0": (lambda v, i, m: clear(v, m))}
    assert (x[at].copy_to_host() == x.copy_to_host()[at.copy_to_host()]).all()
    for size, v, i, m, timer in ((256, x, at, mask, host_seconds), (1 << 24, many, everywhere, None, gpu_seconds)):
        for title, call in cases.items():
            if m is None and "mask" in title:
                continue
            runs: Any = {"lanewise": lambda: call(v, i, m)}
            cupy, torch = peer("cupy"), peer("torch")
            if cupy is not None:
                c = [None if o is None else cupy.asarray(o) for o in (v, i, m)]
                runs["cupy"] = lambda c=c: call(*c)
            if torch is not None:
                t = [None if o is None else torch.from_dlpack(o.view(np.uint8)).bool() if o.dtype == bool else torch.from_dlpack(o) for o in (v, i, m)]
                runs["torch"] = lambda t=t: call(*t)
            row(f"{title} of {size}", runs, timer, lambda s: "")
    torch = peer("torch")
    for shape, k in (((1 << 22,), 100), ((1 << 26,), 100), ((64, 1 << 18), 50), ((4096, 4096), 10), ((100_000, 100), 5)):
        x = floats(*shape)
        runs = {"lanewise": lambda: lw.reductions.topk(x, k)}
        if torch is not None:
            tx = torch.from_dlpack(x)
            assert (lw.reductions.topk(x, k).copy_to_host() == torch.topk(tx, k)[0].cpu().numpy()).all()
            runs["torch"] = lambda: torch.topk(tx, k)
        row(f"topk of {shape}, k = {k}", runs, gpu_seconds, lambda s: "")


def formulas() -> None:
    rng = np.random.default_rng(1)
    for dtype in ("f4", "f8"):
        n = 1 << 24
        price, strike, years = (cuda.to_device(rng.uniform(low, high, n).astype(dtype)) for low, high in ((5, 30), (1, 100), (0.25, 10)))
        call, put = cuda.device_array(n, dtype), cuda.device_array(n, dtype)
        f = lw.vectorize(black_scholes)
        rate, vol = np.dtype(dtype).type(0.02), np.dtype(dtype).type(0.3)
        runs: Any = {"lanewise": lambda: f(price, strike, years, rate, vol, out=(call, put))}
        torch = peer("torch")
        if torch is not None:
            tp, ts, ty = map(torch.from_dlpack, (price, strike, years))

            def formula(p, s, y):
                root = 0.3 * y.sqrt()
                d1 = ((p / s).log() + (0.02 + 0.5 * 0.3 * 0.3) * y) / root
                d2 = d1 - root
                discounted = s * (-0.02 * y).exp()
                n1 = 0.5 + 0.5 * (d1 * 0.7071067811865476).erf()
                n2 = 0.5 + 0.5 * (d2 * 0.7071067811865476).erf()
                value = p * n1 - discounted * n2
                return value, value - p + discounted

            theirs = torch.compile(formula)
            runs["torch.compile"] = lambda: theirs(tp, ts, ty)
        row(f"Black-Scholes {dtype} 2^24", runs, gpu_seconds, of_copy(5 * price.nbytes))
    x = cuda.to_device(np.linspace(-2, 1, 4096))
    y = cuda.to_device(np.linspace(-1.5, 1.5, 4096)[:, None])
    out = cuda.device_array((4096, 4096), "i4")
    f = lw.vectorize(["int32(float64,float64)"])(mandelbrot)
    row("Mandelbrot 4096^2 x 100, complex128, int32 out", {"lanewise": lambda: f(x, y, out=out)}, gpu_seconds, lambda s: "")


def remainders() -> None:
    cupy, torch = peer("cupy"), peer("torch")
    rng = np.random.default_rng(1)
    for dtype in ("f4", "f8"):
        x, y = rng.uniform(0, 100, 1 << 25).astype(dtype), rng.uniform(0.5, 4.5, 1 << 25).astype(dtype)
        a, b, out = cuda.to_device(x), cuda.to_device(y), cuda.device_array(x.shape, dtype)
        bodies: dict[str, Any] = {"fmod": lambda v, w: np.fmod(v, w), "remainder": lambda v, w: v % w, "floor_divide": lambda v, w: v // w}
        for name, body in bodies.items():
            f = lw.vectorize(body)
            assert np.array_equal(f(a[:1000], b[:1000]).copy_to_host(), getattr(np, name)(x[:1000], y[:1000]))
            runs: Any = {"lanewise": lambda f=f: f(a, b, out=out)}
            if cupy is not None:
                ca, cb, co = map(cupy.from_dlpack, (a, b, out))
                runs["CuPy"] = lambda name=name: getattr(cupy, name)(ca, cb, out=co)
            if torch is not None:
                ta, tb, to = map(torch.from_dlpack, (a, b, out))
                runs["torch"] = lambda name=name: getattr(torch, name)(ta, tb, out=to)
            row(f"{name} {dtype} 2^25", runs, gpu_seconds, of_copy(3 * x.nbytes))


def narrow() -> None:
    """Reductions of elements of one or two bytes, and scans whose results are wider than their elements."""
    rng = np.random.default_rng(1)
    for dtype in ("i1", "b1", "u2"):
        x = cuda.to_device(rng.integers(0, 2 if dtype == "b1" else 100, (8192, 8192)).astype(dtype))
        in_torch: dict[str, Any] = {"sum": lambda t, v, axis: t.sum(v, axis), "mean": lambda t, v, axis: t.mean(v, axis, dtype=t.float64),
                                    "max": lambda t, v, axis: t.amax(v) if axis is None else t.amax(v, axis)}  # fmt: skip
        for axis in (None, 0, 1):
            for name, of_torch in in_torch.items():
                check(getattr(x, name)(axis=axis), getattr(x.copy_to_host(), name)(axis=axis))
                runs = with_peers({"lanewise": lambda name=name, axis=axis: getattr(x, name)(axis=axis)}, x, lambda c, v, name=name, axis=axis: getattr(c, name)(v, axis),
                                  lambda t, v, of_torch=of_torch, axis=axis: of_torch(t, v, axis))  # fmt: skip
                row(f"x.{name}(axis={axis}) {dtype} 8192^2", runs, gpu_seconds, of_copy(x.nbytes))
    for dtype in ("i1", "i4"):
        x = cuda.to_device(rng.integers(0, 100, (8192, 8192)).astype(dtype))
        row(f"x.cumsum(axis=1) {dtype} 8192^2, results of int64", with_peers({"lanewise": lambda: x.cumsum(axis=1)}, x, lambda c, v: c.cumsum(v, 1), lambda t, v: t.cumsum(v, 1)),
            gpu_seconds, of_copy(x.nbytes + 8 * x.size))


def doubles() -> None:
    """Functions of float64, whose instructions take about as long as their memory, or longer; Black-Scholes is in formulas."""
    n, torch = 1 << 25, peer("torch")
    x = cuda.to_device(np.random.default_rng(1).uniform(0.1, 5, n))
    out = cuda.device_array(n)
    tx = None if torch is None else torch.from_dlpack(x)
    bodies: dict[str, Any] = {"exp": lambda v: math.exp(v), "log": lambda v: math.log(v), "erf": lambda v: math.erf(v), "erfc": lambda v: math.erfc(v), "expm1": lambda v: math.expm1(v),
                              "tanh": lambda v: math.tanh(v), "sin": lambda v: math.sin(v), "log(1 + exp(-x))": lambda v: math.log(1 + math.exp(-v)),
                              "0.5 (1 + erf(x / 1.414))": lambda v: 0.5 * (1 + math.erf(v / 1.4142135623730951))}  # fmt: skip
    for name, body in bodies.items():
        f = lw.vectorize(body)
        runs: Any = {"lanewise": lambda f=f: f(x, out=out)}
        if torch is not None and hasattr(torch, name):
            runs["torch"] = lambda name=name: getattr(torch, name)(tx)
        row(f"{name} float64 2^25", runs, gpu_seconds, of_copy(2 * x.nbytes))

    @lw.forall
    def series(i, v, out, terms):
        total = 0.0
        for k in range(terms):
            total += math.exp(-v[i] * k) * math.log(v[i] + k)
        out[i] = total

    few = 1 << 20
    row("a loop of 100 exp and log, 2^20 float64", {"lanewise": lambda: series(few, x, out, 100)}, gpu_seconds, lambda s: "")
    many = 1 << 24
    rng = np.random.default_rng(1)
    price, strike, years = (rng.uniform(low, high, many) for low, high in ((5, 30), (1, 100), (0.25, 10)))
    call, put = cuda.device_array(many), cuda.device_array(many)
    for name, share, options in (("no NaN", 0.0, {}), ("at most 64 registers", 0.0, {"max_registers": 64}), ("one NaN of 1000", 0.001, {}), ("one NaN of 20", 0.05, {})):
        some = np.where(rng.random(many) < share, np.nan, strike)
        f = lw.vectorize(black_scholes, **options)
        data = [cuda.to_device(v) for v in (price, some, years)]
        row(f"Black-Scholes float64 2^24, {name}", {"lanewise": lambda f=f, data=data: f(*data, 0.02, 0.3, out=(call, put))}, gpu_seconds, of_copy(5 * price.nbytes))


def normals() -> None:
    g = lw.random.Generator(1)
    torch = peer("torch")
    for dtype in ("f4", "f8"):
        out = cuda.device_array(1 << 27, dtype)
        runs: Any = {"lanewise": lambda: g.standard_normal(out=out, dtype=dtype)}
        if torch is not None:
            to = torch.from_dlpack(out)
            runs["torch"] = lambda: to.normal_()
        row(f"standard_normal {dtype} 2^27", runs, gpu_seconds, of_copy(out.nbytes))
    out = cuda.device_array(1 << 26, "f4")
    row("standard_gamma(2) float32 2^26", {"lanewise": lambda: g.standard_gamma(2.0, out=out, dtype="f4")}, gpu_seconds, of_copy(out.nbytes))


def distributions() -> None:
    """Writes count; standard_normal and gamma are in normals."""
    g, n = lw.random.Generator(1, target="cuda"), 1 << 26
    theirs = peer("cupy")
    theirs = theirs.random.default_rng(1) if theirs is not None else None
    for name, parameters in (("exponential", (2.0,)), ("laplace", (1.0, 2.0)), ("logistic", (1.0, 2.0)), ("gumbel", (1.0, 2.0)), ("weibull", (2.5,)), ("pareto", (3.0,)),
                             ("rayleigh", (2.0,)), ("power", (2.5,)), ("lognormal", (1.0, 0.5)), ("triangular", (0.0, 1.0, 3.0)), ("standard_cauchy", ()), ("wald", (1.0, 2.0))):
        runs: Any = {"lanewise": lambda: getattr(g, name)(*parameters, n)}
        if hasattr(theirs, name):
            runs["CuPy"] = lambda: getattr(theirs, name)(*parameters, size=n)
        row(f"{name} float64 2^26", runs, gpu_seconds, of_copy(8 * n))


def calls() -> None:
    cupy, torch = peer("cupy"), peer("torch")
    add = lw.vectorize(lambda a, b: a + b)
    a, b, out = floats(256), floats(256), floats(256)
    add(a, b, out=out)
    raw = min(lw._core._time_launch(add, 100, a, b) for _ in range(30) if cuda.synchronize() is None)
    over = lambda s: f"raw {raw * 1e6:.2f} + {(s - raw) * 1e6:.2f} us"
    x = floats(256, 4)
    runs: Any = {"f(a, b, out=) lanewise": lambda: add(a, b, out=out), "f(a, b) lanewise": lambda: add(a, b)}
    if cupy is not None:
        ca, cb, co = map(cupy.from_dlpack, (a, b, out))
        runs |= {"f(CuPy, out=)": lambda: add(ca, cb, out=co), "f(CuPy)": lambda: add(ca, cb), "cupy.add(out=)": lambda: cupy.add(ca, cb, out=co), "cupy a + b": lambda: ca + cb}
    if torch is not None:
        ta, tb, to = map(torch.from_dlpack, (a, b, out))
        runs |= {"f(torch, out=)": lambda: add(ta, tb, out=to), "f(torch)": lambda: add(ta, tb), "torch.add(out=)": lambda: torch.add(ta, tb, out=to), "torch a + b": lambda: ta + tb}
    runs |= {"lw.ufuncs.sin(x)": lambda: lw.ufuncs.sin(a), "np.sin(x)": lambda: np.sin(a), "x.sum()": lambda: a.sum(), "x.var(axis=1)": lambda: x.var(axis=1),
             "np.add.reduce(x)": lambda: np.add.reduce(a), "x.astype('f8')": lambda: a.astype("f8")}
    row("host time of calls on 256 elements", runs, host_seconds, over)
    host = a.copy_to_host()
    row("1 KB", {"copy_to_host": lambda: a.copy_to_host(), "to_device": lambda: cuda.to_device(host)}, host_seconds, lambda s: "")


PARTS = {f.__name__: f for f in (extremes, variances, ordered, scans, halves, rows, masks, matrices, elements, formulas, doubles, remainders, narrow, normals, distributions, calls)}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
