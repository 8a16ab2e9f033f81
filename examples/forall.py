"""`lw.forall`: functions of an index, which run on all CPU cores, and on a GPU if there is one. Run: python examples/forall.py"""

# Functions that lanewise compiles are typed by their calls, and have no annotations.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import math

import numpy as np

import lanewise as lw


# The first parameter is the index of the element; the number of elements is the first argument of the call.
@lw.forall
def saxpy(i, a, x, y, out):
    out[i] = a * x[i] + y[i]


# Two indices. The function reads the neighbours of its element; elements at the edge do not have four of them, so they are copied.
@lw.forall(ndim=2)
def smooth(i, j, field, out):
    if 0 < i < field.shape[0] - 1 and 0 < j < field.shape[1] - 1:
        out[i, j] = (field[i - 1, j] + field[i + 1, j] + field[i, j - 1] + field[i, j + 1]) / 4
    else:
        out[i, j] = field[i, j]


# The function may contain loops, here one over all bodies, and may call other functions.
def pull(dx, dy, dz, softening):
    distance = math.sqrt(dx * dx + dy * dy + dz * dz + softening)
    return 1.0 / (distance * distance * distance)


@lw.forall
def accelerate(i, bodies, masses, softening, out):
    x, y, z = bodies[i, 0], bodies[i, 1], bodies[i, 2]
    ax = ay = az = 0.0
    for j in range(bodies.shape[0]):
        dx, dy, dz = bodies[j, 0] - x, bodies[j, 1] - y, bodies[j, 2] - z
        weight = masses[j] * pull(dx, dy, dz, softening)
        ax += weight * dx
        ay += weight * dy
        az += weight * dz
    out[i, 0], out[i, 1], out[i, 2] = ax, ay, az


# Several indices may add to the same element, so the addition has to be atomic.
@lw.forall
def count(i, data, bins):
    lw.cuda.atomic.add(bins, data[i], 1)


# The fields of structured arrays are accessed by name.
particle = np.dtype([("position", np.float32), ("speed", np.float32)])


@lw.forall
def drift(i, particles, dt):
    particles[i].position += dt * particles[i].speed


def main() -> None:
    rng = np.random.default_rng(7)

    x, y, out = rng.random(1_000_000), rng.random(1_000_000), np.empty(1_000_000)
    saxpy(x.size, 2.0, x, y, out)
    np.testing.assert_allclose(out, 2.0 * x + y, rtol=1e-15)
    print("saxpy:", out[:3])

    field, smoothed = rng.random((300, 200)), np.empty((300, 200))
    smooth(field.shape, field, smoothed)
    expected = field.copy()
    expected[1:-1, 1:-1] = (field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:]) / 4
    np.testing.assert_allclose(smoothed, expected, rtol=1e-15)
    print("smooth:", float(field.std()), "->", float(smoothed.std()))

    bodies, masses, pulls = rng.normal(size=(500, 3)), rng.random(500), np.empty((500, 3))
    accelerate(len(bodies), bodies, masses, 1e-3, pulls)
    apart = bodies[None, :, :] - bodies[:, None, :]
    weights = masses / ((apart**2).sum(axis=2) + 1e-3) ** 1.5
    np.testing.assert_allclose(pulls, (weights[:, :, None] * apart).sum(axis=1), rtol=1e-9)
    print("n-body:", pulls[0])

    data, bins = rng.integers(0, 256, 1_000_000, dtype=np.uint8), np.zeros(256, np.int64)
    count(data.size, data, bins)
    np.testing.assert_array_equal(bins, np.bincount(data, minlength=256))
    print("histogram:", bins[:4])

    particles = np.zeros(10, particle)
    particles["speed"] = np.arange(10)
    drift(len(particles), particles, np.float32(0.5))
    np.testing.assert_array_equal(particles["position"], np.arange(10) / 2)
    print("records:", particles["position"])

    if lw.cuda.is_available():
        on_gpu = lw.cuda.to_device(x)
        result = lw.cuda.device_array_like(on_gpu)
        saxpy(x.size, 2.0, on_gpu, lw.cuda.to_device(y), result)  # runs where the arrays are
        print("on the GPU:", result.copy_to_host()[:3])


if __name__ == "__main__":
    main()
