"""
Ray marching
============

A single function describes the scene: the distance of a point to the nearest surface. A ray advances by this distance until it reaches a surface. Every pixel is one call of a compiled function, which calls small plain ones.
"""

# sphinx_gallery_start_ignore
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
# sphinx_gallery_end_ignore

import math

import matplotlib.pyplot as plt
import numpy as np

import lanewise as lw

# %%
# The scene consists of three spheres that melt into each other, a ring, and a floor. The normal vector is returned as a tuple.


def smooth_minimum(a, b, k):
    h = max(k - abs(a - b), 0.0) / k
    return min(a, b) - h * h * k * 0.25


def ball(x, y, z, cx, cy, cz, r):
    return math.sqrt((x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2) - r


def distance(x, y, z):
    blob = ball(x, y, z, -0.9, 0.0, 0.0, 0.9)
    blob = smooth_minimum(blob, ball(x, y, z, 0.6, 0.2, 0.3, 0.7), 0.6)
    blob = smooth_minimum(blob, ball(x, y, z, 0.1, 1.1, -0.2, 0.5), 0.6)
    ring = math.hypot(math.hypot(x - 0.2, z) - 1.9, y + 0.6) - 0.14
    return min(min(blob, ring), y + 0.9)


def normal(x, y, z):
    e = 1e-4
    nx = distance(x + e, y, z) - distance(x - e, y, z)
    ny = distance(x, y + e, z) - distance(x, y - e, z)
    nz = distance(x, y, z + e) - distance(x, y, z - e)
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    return nx / length, ny / length, nz / length


# %%
# ``march`` follows a ray to the surface, and ``light`` continues from there to the light. If this ray passes close to another surface, the point is in half shadow.


def march(x, y, z, dx, dy, dz):
    t = 0.0
    for _ in range(120):
        step = distance(x + t * dx, y + t * dy, z + t * dz)
        if step < 1e-4 * (1 + t):
            return t
        t += step
        if t > 30:
            break
    return -1.0


def light(x, y, z, lx, ly, lz):
    open_, t = 1.0, 0.03
    for _ in range(60):
        step = distance(x + t * lx, y + t * ly, z + t * lz)
        open_ = min(open_, 10 * step / t)
        if open_ < 0.01 or t > 8:
            break
        t += max(step, 0.01)
    return max(open_, 0.0)


@lw.vectorize(static=("sun",))
def pixel(u, v, sun=(0.48, 0.74, -0.47)):
    ox, oy, oz = 0.0, 1.1, -5.0
    length = math.sqrt(u * u + v * v + 2.7)
    dx, dy, dz = u / length, (v - 0.25) / length, 1.63 / length
    t = march(ox, oy, oz, dx, dy, dz)
    sky = 0.55 + 0.4 * v
    if t < 0:
        return 0.55 * sky, 0.75 * sky, sky
    x, y, z = ox + t * dx, oy + t * dy, oz + t * dz
    nx, ny, nz = normal(x, y, z)
    lit = max(nx * sun[0] + ny * sun[1] + nz * sun[2], 0.0)
    if lit > 0:
        lit *= light(x, y, z, sun[0], sun[1], sun[2])
    ambient = 0.25 + 0.2 * ny
    if y < -0.89:                                       # a chessboard on the floor
        tone = 0.75 if (math.floor(x) + math.floor(z)) % 2 == 0 else 0.35
        r, g, b = tone, tone, tone
    else:
        r, g, b = 0.92, 0.45 + 0.25 * y, 0.30
    fog = math.exp(-0.006 * t * t)
    r = r * (ambient + 0.9 * lit) * fog + (1 - fog) * 0.5
    g = g * (ambient + 0.85 * lit) * fog + (1 - fog) * 0.65
    b = b * (ambient + 0.75 * lit) * fog + (1 - fog) * 0.8
    return r, g, b


v, u = np.ogrid[0.75:-0.75:450j, -1.2:1.2:720j]
red, green, blue = pixel(u, v)
image = np.dstack((red, green, blue)).clip(0, 1) ** 0.6

fig, ax = plt.subplots(figsize=(8, 5), layout="constrained")
ax.imshow(image)
ax.axis("off")
plt.show()
