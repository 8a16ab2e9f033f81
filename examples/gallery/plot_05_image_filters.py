"""
Image filters
=============

A filter computes each pixel from its neighbours. ``lw.forall(ndim=2)`` passes the two indices of a pixel to the function, which may read any other pixels.
"""

# sphinx_gallery_start_ignore
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
# sphinx_gallery_end_ignore

import matplotlib.pyplot as plt
import numpy as np

import lanewise as lw

# %%
# The test picture contains rings and a bright square, with noise and dead pixels.

y, x = np.mgrid[-1:1:400j, -1:1:400j]
picture = 0.5 + 0.5 * np.cos(24 * np.hypot(x, y) ** 1.5)
picture[120:280, 60:180] = 0.9
g = lw.random.Generator(3)
picture += 0.08 * g.standard_normal(picture.shape)
picture[g.random(picture.shape) < 0.04] = 0

# %%
# ``correlate`` computes a weighted sum of the neighbours, with any weights. Beyond the border, it uses the nearest pixel.


@lw.forall(ndim=2)
def correlate(i, j, image, weights, out):
    n, m = image.shape
    h, w = weights.shape
    total = 0.0
    for a in range(h):
        for b in range(w):
            row = min(max(i + a - h // 2, 0), n - 1)
            column = min(max(j + b - w // 2, 0), m - 1)
            total += weights[a, b] * image[row, column]
    out[i, j] = total


# %%
# ``median`` computes the median of 3 × 3 pixels. ``lw.local`` creates a small array for each pixel, which is kept in registers where possible.


@lw.forall(ndim=2)
def median(i, j, image, out):
    n, m = image.shape
    nine = lw.local(9, lw.float64)
    for k in range(9):
        v = image[min(max(i + k // 3 - 1, 0), n - 1), min(max(j + k % 3 - 1, 0), m - 1)]
        at = k
        while at > 0 and nine[at - 1] > v:      # insertion sort
            nine[at] = nine[at - 1]
            at -= 1
        nine[at] = v
    out[i, j] = nine[4]


# %%
# Edges are where the gradient is large. Its two components are correlations; its length is computed element by element, so it is a `lw.vectorize` function.


@lw.vectorize
def length(dx, dy):
    return (dx * dx + dy * dy) ** 0.5


def filtered(image, weights):
    out = np.empty_like(image)
    correlate(image.shape, image, weights, out)
    return out


k = np.exp(-np.linspace(-2, 2, 9) ** 2)
blurred = filtered(picture, np.outer(k, k) / k.sum() ** 2)
cleaned = np.empty_like(picture)
median(picture.shape, picture, cleaned)
sobel = np.array([[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]])
edges = length(filtered(blurred, sobel), filtered(blurred, sobel.T.copy()))

fig, axes = plt.subplots(1, 4, figsize=(12, 3.3), layout="constrained")
for ax, image, name in zip(axes, (picture, blurred, cleaned, edges), ("noisy", "blurred", "median", "edges")):
    ax.imshow(image, cmap="gray")
    ax.set_title(name)
    ax.axis("off")
plt.show()
