"""
Fractals
========

After how many iterations does a point escape from the Mandelbrot set? To which root does Newton's method lead? Both questions are asked for each point of the complex plane independently of
all others, so `lw.vectorize` fits.
"""

# sphinx_gallery_start_ignore
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
# sphinx_gallery_end_ignore

import math

import matplotlib.pyplot as plt
import numpy as np

import lanewise as lw

# %%
# The Mandelbrot set is the set of points that never escape. The loop for a point ends when it escapes. The logarithms turn the number of iterations into a smooth colour.


@lw.vectorize
def mandelbrot(x, y):
    c = complex(x, y)
    z = 0j
    for i in range(500):
        z = z * z + c
        size = z.real * z.real + z.imag * z.imag
        if size > 1000.0:
            return i + 1 - math.log2(0.5 * math.log2(size))
    return 0.0


y, x = np.ogrid[-1.2:1.2:600j, -2.2:1.0:800j]
whole = mandelbrot(x, y)
y, x = np.ogrid[0.10:0.16:600j, -0.79:-0.71:800j]
detail = mandelbrot(x, y)

fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for ax, values in zip(axes, (whole, detail)):
    ax.imshow(np.sqrt(values), cmap="twilight_shifted", origin="lower")
    ax.axis("off")

# %%
# The second fractal shows Newton's method for z³ = 1. A function may return several numbers; the ufunc then has several outputs.


@lw.vectorize
def newton(x, y):
    z = complex(x, y)
    steps = 0
    while abs(z * z * z - 1) > 1e-6 and steps < 60 and abs(z) > 1e-9:
        z -= (z * z * z - 1) / (3 * z * z)
        steps += 1
    root = 0 if z.real > 0 else (1 if z.imag > 0 else 2)
    return root, steps


y, x = np.ogrid[-1.3:1.3:600j, -1.7:1.7:800j]
root, steps = newton(x, y)

colours = np.array([[0.18, 0.42, 0.65], [0.88, 0.55, 0.22], [0.36, 0.62, 0.38]])
shade = np.exp(-steps / 14)[..., None]

fig, ax = plt.subplots(figsize=(6, 4.6), layout="constrained")
ax.imshow(colours[root] * shade, origin="lower")
ax.axis("off")
plt.show()
