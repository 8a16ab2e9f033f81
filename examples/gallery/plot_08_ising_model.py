"""
Ising model
===========

Spins on a lattice point up or down. They tend to agree with their neighbours, but heat disturbs them. Below a critical temperature, the spins of whole regions agree. The Metropolis
algorithm updates the black squares of a chessboard, then the white ones, so that no spin changes while a neighbour reads it.
"""

# sphinx_gallery_start_ignore
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
# sphinx_gallery_end_ignore

import math

import matplotlib.pyplot as plt
import numpy as np

import lanewise as lw
from lanewise.random import philox_uniform_float32


@lw.forall(ndim=2)
def sweep(i, j, spins, colour, beta, seed, step):
    n, m = spins.shape
    column = 2 * j + (i + colour) % 2
    around = (spins[(i - 1) % n, column] + spins[(i + 1) % n, column]
              + spins[i, (column - 1) % m] + spins[i, (column + 1) % m])
    cost = 2 * spins[i, column] * around
    if cost <= 0 or philox_uniform_float32(seed, i * m + column, step) < math.exp(-beta * cost):
        spins[i, column] = -spins[i, column]


def run(n, temperature, steps, seed, up=0.5):
    spins = np.where(lw.random.Generator(seed).random((n, n)) < up, 1, -1).astype(np.int8)
    magnetisation = []
    for step in range(steps):
        for colour in (0, 1):
            sweep((n, n // 2), spins, colour, 1 / temperature, seed, step)
        magnetisation.append(abs(int(spins.sum(dtype=np.int64))) / n**2)
    return spins, float(np.mean(magnetisation[steps // 2 :]))


# %%
# The pictures show lattices below, at and above the critical temperature, 2 / log(1 + √2) ≈ 2.269.

fig, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
for ax, temperature in zip(axes, (1.8, 2.269, 3.0)):
    spins, _ = run(256, temperature, 300, seed=5)
    ax.imshow(spins, cmap="cividis", interpolation="nearest")
    ax.set_title(f"T = {temperature}")
    ax.axis("off")

# %%
# The last figure compares the magnetisation of a small lattice with Onsager's exact result for an infinite one. All spins point up at the start, because from a random start, a cold lattice would
# stay divided into regions for a long time.

temperatures = np.linspace(1.6, 3.2, 17)
measured = [run(48, t, 500, seed=11, up=1.0)[1] for t in temperatures]
exact = np.linspace(1.6, 2 / math.log(1 + math.sqrt(2)), 200)

fig, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
ax.plot(exact, np.maximum(1 - np.sinh(2 / exact) ** -4, 0) ** 0.125, color="tab:red", label="Onsager, infinite lattice")
ax.plot(temperatures, measured, "o", label="48 × 48 spins")
ax.set(xlabel="temperature", ylabel="magnetisation")
ax.legend()
plt.show()
