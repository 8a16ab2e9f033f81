"""
Heat equation
=============

Heat flows from each point to its neighbours. The new value of a point depends on its neighbours, so this is a function of an *index*, made with `lw.forall`.
"""

# sphinx_gallery_start_ignore
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
# sphinx_gallery_end_ignore

import matplotlib.pyplot as plt
import numpy as np

import lanewise as lw

# %%
# The function computes one time step. ``wall`` marks the points whose temperature is fixed, which include the edge of the plate.


@lw.forall(ndim=2)
def step(i, j, old, wall, new):
    if wall[i, j]:
        new[i, j] = old[i, j]
    else:
        around = old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1]
        new[i, j] = old[i, j] + 0.24 * (around - 4 * old[i, j])


# %%
# The plate has a warm left edge, three cold edges, and a hot disc in the middle.

n, m = 200, 300
i, j = np.ogrid[:n, :m]
disc = (i - 100) ** 2 + (j - 170) ** 2 < 30**2
wall = disc.copy()
wall[[0, -1], :] = wall[:, [0, -1]] = True

now = np.zeros((n, m))
now[:, 0] = 60
now[disc] = 100
new = np.empty_like(now)

pictures = []
for t in range(10_001):
    if t in (300, 2_000, 10_000):
        pictures.append((t, now.copy()))
    step(now.shape, now, wall, new)
    now, new = new, now

# %%
# The loop updated 600 million points. It allocates no arrays, because the two arrays swap their roles after each step.

fig, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained", sharey=True)
for ax, (t, values) in zip(axes, pictures):
    ax.imshow(values, cmap="inferno", vmin=0, vmax=100)
    ax.contour(values, levels=[10, 25, 50, 75], colors="white", linewidths=0.6)
    ax.set_title(f"after {t} steps")
fig.colorbar(axes[0].images[0], ax=axes, label="temperature")
plt.show()
