"""
Game of Life
============

A cell survives with two or three neighbours, and is born with three. The board is a torus, so the right edge is joined to the left one, and the top to the bottom. An index like ``(i + 1) % n`` wraps around at the edge, and is
never out of bounds.
"""

# sphinx_gallery_start_ignore
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
# sphinx_gallery_end_ignore

import matplotlib.pyplot as plt
import numpy as np

import lanewise as lw


@lw.forall(ndim=2)
def generation(i, j, old, new):
    n, m = old.shape
    up, down = (i - 1) % n, (i + 1) % n
    left, right = (j - 1) % m, (j + 1) % m
    around = (old[up, left] + old[up, j] + old[up, right] + old[i, left]
              + old[i, right] + old[down, left] + old[down, j] + old[down, right])
    new[i, j] = around == 3 or (around == 2 and old[i, j] == 1)


# %%
# We start from random cells, compute 500 generations, and record where cells have lived: the trace of a dead cell fades a little in each generation.

@lw.vectorize
def fade(trace, alive):
    return 1.0 if alive else 0.985 * trace


board = (lw.random.Generator(7).random((240, 400)) < 0.18).astype(np.uint8)
first = board.copy()
trace = np.zeros(board.shape)
new = np.empty_like(board)
population = []
for _ in range(500):
    generation(board.shape, board, new)
    board, new = new, board
    fade(trace, board, out=trace)
    population.append(int(board.sum()))

fig, axes = plt.subplots(1, 2, figsize=(11, 3.5), layout="constrained")
axes[0].imshow(first, cmap="binary")
axes[0].set_title("at the start")
axes[1].imshow(trace, cmap="magma")
axes[1].set_title("after 500 generations, with traces")
for ax in axes:
    ax.axis("off")

# %%
# Most of the initial cells die quickly.

fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.plot(population)
ax.set(xlabel="generation", ylabel="living cells")
plt.show()
