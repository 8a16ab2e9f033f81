"""
K-means
=======

Lloyd's algorithm assigns each point to its nearest centre, then moves each centre to the mean of its points, and repeats this until nothing changes. The first step is a function of a
point and all centres (`lw.guvectorize`), and the second is a reduction by key (`lw.reduce`).
"""

# sphinx_gallery_start_ignore
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
# sphinx_gallery_end_ignore

import matplotlib.pyplot as plt
import numpy as np

import lanewise as lw

# %%
# The layout ``(d),(k,d)->()`` says that the function receives one point of d coordinates and k centres of d coordinates, and returns one number. The generalized ufunc adds the loop over all points.


@lw.guvectorize("(d),(k,d)->()")
def nearest(point, centres):
    best, best_at = np.inf, 0
    for k in range(centres.shape[0]):
        distance = 0.0
        for c in range(point.shape[0]):
            distance += (point[c] - centres[k, c]) ** 2
        if distance < best:
            best, best_at = distance, k
    return best_at


# %%
# This reduction computes means, from pairs of a sum and a count. ``by_key`` applies it to the points of each centre.

mean = lw.reduce(map=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), finish=lambda total, n: total / n)


def k_means(points, k, seed):
    centres = points[lw.random.Generator(seed).choice(len(points), k, replace=False)]
    path = [centres]
    while True:
        labels = nearest(points, centres)
        order = np.argsort(labels, kind="stable")  # equal keys become neighbours
        keys = labels[order]
        moved = centres.copy()
        for c in range(points.shape[1]):
            used, means = mean.by_key(keys, points[order, c])
            moved[used, c] = means
        path.append(moved)
        if np.allclose(moved, centres):
            return labels, np.array(path)
        centres = moved


g = lw.random.Generator(20)
middles = g.uniform(-6, 6, (7, 2))
points = np.concatenate([m + g.standard_normal((30_000, 2)) @ g.uniform(-0.9, 0.9, (2, 2)) for m in middles])
labels, path = k_means(points, 7, seed=1)  # with other seeds, the algorithm may end in a worse local minimum
print(len(points), "points,", len(path) - 1, "iterations")

fig, ax = plt.subplots(figsize=(7, 5.4), layout="constrained")
ax.scatter(points[::15, 0], points[::15, 1], c=labels[::15], s=2, cmap="Set2")
for k in range(path.shape[1]):
    ax.plot(*path[:, k].T, "-", color="black", linewidth=0.9)
ax.plot(*path[-1].T, "*", color="black", markersize=13)
ax.set(title="seven clusters, and the paths of their centres", aspect="equal")
plt.show()
