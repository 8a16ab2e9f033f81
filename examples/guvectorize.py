"""The guvectorize door: python examples/guvectorize.py. Functions of rows and small matrices over whole stacks of them."""

import numpy as np

import lanewise as lw


# The layout says what one item is; the rest is looped over. Outputs are filled.
@lw.guvectorize("(n),()->(n)")
def moving_average(x, window, out):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
        if i >= window:
            total -= x[i - window]
        out[i] = total / min(i + 1, window)


@lw.guvectorize(["void(f4[:,:], f4[:,:])", "void(f8[:,:], f8[:,:])"], "(n,n)->(n,n)")
def cholesky(a, out):
    out[:] = 0
    for i in range(a.shape[0]):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            out[i, j] = np.sqrt(total) if i == j else total / out[j, j]


# Outputs that are numbers may be returned.
@lw.guvectorize("(),(n),(n)->()")
def interpolate(x, xp, fp):
    low, high = 0, xp.shape[0] - 1
    if x <= xp[low]:
        return fp[low]
    if x >= xp[high]:
        return fp[high]
    while high - low > 1:
        middle = (low + high) // 2
        if xp[middle] <= x:
            low = middle
        else:
            high = middle
    return fp[low] + (x - xp[low]) / (xp[high] - xp[low]) * (fp[high] - fp[low])


def main():
    random = np.random.default_rng(1)
    rows = random.random((1000, 50))
    smooth = moving_average(rows, 5)
    assert np.allclose(smooth[:, -1], rows[:, -5:].mean(axis=1))
    assert np.allclose(moving_average(rows, 5, axes=[0, (), 0])[-1], rows[-5:].mean(axis=0))

    a = random.random((2000, 4, 4))
    a = a @ a.swapaxes(1, 2) + np.eye(4)
    assert np.allclose(cholesky(a), np.linalg.cholesky(a))

    knots, values = np.sort(random.random(20)), random.random(20)
    x = random.random((100, 100))
    assert np.allclose(interpolate(x, knots, values), np.interp(x, knots, values))
    print("moving averages, Cholesky factors and interpolation agree with NumPy")


if __name__ == "__main__":
    main()
