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


if gpu_kernels.GPU and not gpu_kernels.FAKE:
    ufuncs()
with lw.config(target="auto" if gpu_kernels.GPU else "cpu"):
    gpu_kernels.main()
if gpu_kernels.GPU:
    lw.cuda.synchronize()
print("ok")
