"""
π by throwing points
====================

A random point of the unit square lies in the quarter circle with probability π / 4. So the share of the points inside, times 4, approximates π. How many points are needed for each digit?
"""

# sphinx_gallery_start_ignore
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
# sphinx_gallery_end_ignore

import matplotlib.pyplot as plt
import numpy as np

import lanewise as lw
from lanewise.random import philox_uniform_float64

# %%
# ``point`` draws the point with a given index, and ``inside`` tells whether it lies inside the circle. The random numbers depend only on the seed and this index, so any core, or a GPU, may draw any of them.


@lw.vectorize
def point(index, seed):
    return philox_uniform_float64(seed, index, 0), philox_uniform_float64(seed, index, 1)


@lw.vectorize
def inside(index, seed):
    x, y = point(index, seed)
    return 1.0 if x * x + y * y < 1.0 else 0.0


# %%
# The means of the first n points, for all n, are computed by a scan: `lw.reductions.cumsum`, which is made with `lw.reduce`.

n = np.arange(1, 1_000_001)
runs = [4 * lw.reductions.cumsum(inside(n, seed)) / n for seed in range(20)]

# %%
# With a reduction, the points need not be stored: ``map`` draws a point, and the function that combines two values counts. Ten million points take a fraction of a second.

count = lw.reduce(lambda a, b: a + b, map=lambda index, seed: inside(index, seed), identity=0)
print("10 million points:", 4 * count(np.arange(10_000_000), 123) / 10_000_000)

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=(2, 3))
x, y = point(np.arange(4000), 0)
hit = inside(np.arange(4000), 0) == 1
left.scatter(x[hit], y[hit], s=3)
left.scatter(x[~hit], y[~hit], s=3)
left.set(aspect="equal", title="the first 4000 points")
shown = np.unique(np.geomspace(10, 1_000_000, 400).astype(int)) - 1
for run in runs:
    right.loglog(n[shown], np.abs(run - np.pi)[shown], color="tab:blue", alpha=0.25, linewidth=0.8)
right.loglog(n[shown], 1.64 / np.sqrt(n[shown]), color="tab:red", label="1.64 / √n, the standard deviation")
right.set(xlabel="points", ylabel="error", ylim=(1e-6, 3), title="20 runs")
right.legend()
plt.show()
