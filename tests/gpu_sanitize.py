"""Every class of device kernel once, small: what tests/gpu.sh runs under compute-sanitizer. Without a GPU, the kernels of
gpu_kernels.py on the CPU."""

import warnings

import numpy as np

import gpu_kernels
import lanewise as lw


def ufuncs():
    f = lw.vectorize(fma=False)(lambda a, b: a * b + a)
    two = lw.vectorize(lambda a: (a + 1, a > 0))
    for dtype in ("int8", "float16", "float32", "float64", "complex64", "complex128"):
        for n in (1, 255, 257, 300_001):
            x = np.arange(n).astype(dtype)
            d = lw.cuda.to_device(x)
            np.testing.assert_array_equal(f(d, d).copy_to_host(), x * x + x)
            f(d, 2)
            f(d[::-1], d)
            f(d[::2], d[::2], out=d[::2])
        y = lw.cuda.to_device(np.ones((600, 512), dtype))
        f(y, y.T[:512, :600].T)
        f(y, y[:1])
        f(y, y[:, :1])
        f(y, y, where=lw.cuda.to_device(np.eye(600, 512, dtype=bool)), out=y)
        y.copy()
        y.astype(np.complex128)
        y.fill(3)
    two(lw.cuda.to_device(np.arange(1000)))


@lw.guvectorize("(m,n),(n)->(m)")
def matvec(a, x, y):
    for i in range(a.shape[0]):
        total = a[i, 0] * x[0]
        for j in range(1, a.shape[1]):
            total += a[i, j] * x[j]
        y[i] = total


@lw.guvectorize("(n)->(n),()")
def scaled(x, y, total):
    t = x[0] - x[0]
    for i in range(x.shape[0]):
        t += x[i]
    for i in range(x.shape[0]):
        y[i] = x[i] * t
    total[0] = t


def gufuncs():
    """One thread an item, staged or not, and a block an item; whole and partial blocks, results of our own and given."""
    rng = np.random.default_rng(1)
    for dtype in ("int8", "float32", "float64"):
        for n in (1, 7, 4096, 5001):
            for m, k in ((3, 3), (4, 4), (2, 30)):
                a, x = rng.integers(-3, 3, (n, m, k)).astype(dtype), rng.integers(-3, 3, (n, k)).astype(dtype)
                want = matvec(a, x)
                da, dx = lw.cuda.to_device(a), lw.cuda.to_device(x)
                out = lw.cuda.to_device(np.zeros_like(want))
                for got in (matvec(da, dx), matvec(da, dx, out=out), matvec(da[::-1], dx[::-1])[::-1]):
                    np.testing.assert_array_equal(got.copy_to_host(), want)
                matvec(da, dx, out=dx if m == k else None)
    for n in (40, 129, 1000, 5000):
        x = rng.integers(-3, 3, (3, n))
        for got, want in zip(scaled(lw.cuda.to_device(x)), scaled(x)):
            np.testing.assert_array_equal(got.copy_to_host(), want)


@lw.guvectorize("(n),()->(n)")
def moving_average(a, w, out):
    total = a[0] - a[0]
    for i in range(w):
        total += a[i]
        out[i] = total / (i + 1)
    for i in range(w, len(a)):
        total += a[i] - a[i - w]
        out[i] = total / w


@lw.guvectorize("(n),()->()")
def place_of(x, value, out):
    out[0] = -1
    for i in range(len(x)):
        if x[i] == value:
            out[0] = i
            break


@lw.guvectorize("(n)->(n)")
def decaying(x, y):
    """One thread an item, its rows brought through shared memory in tiles."""
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = y[i - 1] // 2 + x[i]


def shared_cores():
    """Large cores that a block shares: prefix sums, searches, rows in tiles."""
    rng = np.random.default_rng(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.errors.PerformanceWarning)
        for items, n in ((3, 33), (5, 1000), (70, 129), (2, 20_000)):
            x = rng.integers(-9, 9, (items, n)).astype("f8")
            d = lw.cuda.to_device(x)
            for function, *rest in ((moving_average, 7), (place_of, 8.0), (place_of, 99.0), (decaying,)):
                np.testing.assert_array_equal(function(d, *rest).copy_to_host(), function(x, *rest))


def reductions():
    """Each mapping: rows and columns, long and short, several blocks to a result, masks, accumulators of several numbers; scans of
    one tile and of many, along rows and columns; slices, keys, records."""
    rng = np.random.default_rng(3)
    total, largest = lw.reduce(lambda a, b: a + b), lw.reduce(lambda a, b: max(a, b))
    mean = lw.reduce(map=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), finish=lambda s, n: s / n)
    affine = lw.reduce(lambda a, b, c, d: (a * c, b * c + d), map=lambda a, b: (a, b))
    for dtype in ("int8", "float16", "float32", "float64", "complex64"):
        for shape in ((1,), (257,), (300_001,), (300, 300), (2000, 5), (5, 2000), (3, 4, 500)):
            x = rng.integers(-3, 3, shape).astype(dtype)
            d = lw.cuda.to_device(x)
            for axis in (None, *range(len(shape))):
                equal(total(d, axis=axis), total(x, axis=axis))
                equal(total(d, axis=axis, where=d != 0), total(x, axis=axis, where=x != 0))
                if dtype != "complex64":
                    equal(largest(d if axis else d[::-1], axis=axis), largest(x, axis=axis))
                    equal(mean(d, axis=axis), mean(x, axis=axis))
            for axis in range(len(shape)):
                equal(total.accumulate(d, axis=axis), total.accumulate(x, axis=axis))
                equal(total.accumulate(d, axis=axis, exclusive=True, initial=2), total.accumulate(x, axis=axis, exclusive=True, initial=2))
    signs, x = rng.choice([-1, 1], 30_000), rng.integers(-3, 3, 30_000)
    for n in (1, 33, 3000, 30_000):
        device = [lw.cuda.to_device(a[:n]) for a in (signs, x)]
        for got, want in zip(affine.accumulate(*device), affine.accumulate(signs[:n], x[:n])):
            equal(got, want)
        equal(total.reduceat(device[1], [0, n // 3, n // 2]), total.reduceat(x[:n], [0, n // 3, n // 2]))
        equal(total.by_key(lw.cuda.to_device(np.arange(n) // 7), device[1])[1], total.by_key(np.arange(n) // 7, x[:n])[1])


def equal(got, want):
    np.testing.assert_array_equal(got.copy_to_host(), want)


if gpu_kernels.GPU and not gpu_kernels.FAKE:
    ufuncs()
    gufuncs()
    shared_cores()
    reductions()
with lw.config(target="auto" if gpu_kernels.GPU else "cpu"):
    gpu_kernels.main()
if gpu_kernels.GPU:
    lw.cuda.synchronize()
print("ok")
