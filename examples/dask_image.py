"""An image in blocks, with Dask: a stencil with halos, a gufunc of rows, and reductions. Four processes give the same bits as one."""

# Functions that lanewise compiles are typed by their calls, and have no annotations.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import dask.array as da
import numpy as np
from dask.base import compute

import lanewise as lw


@lw.forall(ndim=2)
def blur(i, j, image, out):
    """The mean of a pixel and its neighbours. It is written for the whole image; `map_blocks` runs it for the blocks, with depth=1."""
    total, n = 0.0, 0
    for di in range(-1, 2):
        for dj in range(-1, 2):
            if 0 <= i + di < image.shape[0] and 0 <= j + dj < image.shape[1]:
                total += image[i + di, j + dj]
                n += 1
    out[i, j] = total / n


@lw.guvectorize([], "(n)->(n)")
def stretch(row, out):
    """Scale each row to the range from 0 to 1."""
    low, high = row.min(), row.max()
    for k in range(row.shape[0]):
        out[k] = (row[k] - low) / (high - low) if high > low else 0.0


@lw.vectorize
def edges(a, b):
    """Two images: how much each pixel is brighter, and how much it is darker, than its surroundings."""
    return max(a - b, 0.0), max(b - a, 0.0)


brightest = lw.reduce(lambda a, b: a if a[0] > b[0] or (a[0] == b[0] and a[1] < b[1]) else b, map=lambda x, index: (x, index))


def program(image):
    blurred = lw.map_blocks(blur, image, depth=1)
    bright, dark = edges(image, blurred)
    rows = stretch(bright.rechunk({1: -1}))
    return brightest(bright), lw.reductions.std(dark), lw.reductions.mean(rows, axis=1), blurred


if __name__ == "__main__":
    y, x = np.ogrid[:600, :800]
    picture = np.sin(x / 40.0) * np.cos(y / 30.0) + lw.random.Generator(seed=1).normal(scale=0.1, size=(600, 800))
    lazy = program(da.from_array(picture, chunks=(200, 300)))  # pyright: ignore[reportArgumentType] (dask annotates chunks as str)
    one = compute(*lazy, scheduler="synchronous")
    four = compute(*lazy, scheduler="processes", num_workers=4)
    assert all(np.array_equal(a, b) for a, b in zip(one, four))
    whole = np.empty_like(picture)
    blur(picture.shape, picture, whole)
    assert np.array_equal(whole, four[3])
    (value, place), deviation, means, _ = four
    print(f"brightest {value:.3f} at {tuple(map(int, np.unravel_index(place, picture.shape)))}, deviation {deviation:.4f}, rows {means.mean():.4f}")
