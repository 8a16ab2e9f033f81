"""
N-body: two galaxies meet
=========================

The two heavy cores attract each other and all stars. The stars do not attract each other, so each star can be moved independently of the others, by a function of its index.
"""

# sphinx_gallery_start_ignore
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
# sphinx_gallery_end_ignore

import math

import matplotlib.pyplot as plt
import numpy as np

import lanewise as lw

# %%
# The plain function ``pull`` computes the acceleration that one core causes. The kernel calls it, so it is compiled along with the kernel.


def pull(x, y, core_x, core_y, mass):
    dx, dy = core_x - x, core_y - y
    r2 = dx * dx + dy * dy + 0.02
    strength = mass / (r2 * math.sqrt(r2))
    return strength * dx, strength * dy


@lw.forall
def move(k, position, velocity, cores, dt):
    ax, ay = 0.0, 0.0
    for c in range(cores.shape[0]):
        px, py = pull(position[k, 0], position[k, 1], cores[c, 0], cores[c, 1], cores[c, 2])
        ax += px
        ay += py
    velocity[k, 0] += dt * ax
    velocity[k, 1] += dt * ay
    position[k, 0] += dt * velocity[k, 0]
    position[k, 1] += dt * velocity[k, 1]


# %%
# At the start, there are two discs of stars on circular orbits, which move towards each other.


def disc(n, seed, centre, speed, mass, turn):
    g = lw.random.Generator(seed)
    radius = 0.25 + 1.4 * np.sqrt(g.random(n))
    angle = 2 * np.pi * g.random(n)
    orbit = turn * np.sqrt(mass / radius)
    where = np.column_stack((radius * np.cos(angle), radius * np.sin(angle))) + centre
    return where, np.column_stack((-orbit * np.sin(angle), orbit * np.cos(angle))) + speed


a, va = disc(30_000, 1, (-2.5, -0.6), (0.42, 0.10), 1.0, 1)
b, vb = disc(20_000, 2, (2.5, 0.6), (-0.58, -0.15), 0.7, -1)
stars, speeds = np.concatenate((a, b)), np.concatenate((va, vb))
cores = np.array([[-2.5, -0.6, 1.0], [2.5, 0.6, 0.7]])
core_speeds = np.array([[0.42, 0.10], [-0.58, -0.15]])

dt = 0.01
pictures = []
for t in range(1201):
    if t in (0, 550, 1200):
        pictures.append((t * dt, stars.copy()))
    for c, other in ((0, 1), (1, 0)):  # the cores themselves: two bodies, in plain Python
        core_speeds[c] += dt * np.array(pull(*cores[c, :2], *cores[other]))
    cores[:, :2] += dt * core_speeds
    move(len(stars), stars, speeds, cores, dt)

# %%
# Tidal forces tear arms out of both discs.

fig, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained", facecolor="black")
for ax, (time, where) in zip(axes, pictures):
    ax.set_facecolor("black")
    ax.scatter(*where[:30_000].T, s=0.15, c="#8ecae6", linewidths=0, alpha=0.6)
    ax.scatter(*where[30_000:].T, s=0.15, c="#ffb703", linewidths=0, alpha=0.6)
    ax.set(xlim=(-5, 5), ylim=(-5, 5), aspect="equal", xticks=[], yticks=[])
    ax.set_title(f"t = {time:.1f}", color="white")
plt.show()
