"""Every class of device kernel once, small: what tests/gpu.sh runs under compute-sanitizer. Without a GPU, the kernels of
gpu_kernels.py on the CPU."""

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


if gpu_kernels.GPU and not gpu_kernels.FAKE:
    ufuncs()
    gufuncs()
with lw.config(target="auto" if gpu_kernels.GPU else "cpu"):
    gpu_kernels.main()
if gpu_kernels.GPU:
    lw.cuda.synchronize()
print("ok")
