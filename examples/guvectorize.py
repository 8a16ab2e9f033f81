"""`lw.guvectorize`: functions of rows and small matrices, applied to whole stacks of them. Run: python examples/guvectorize.py

`cases` returns each function with arguments, and with a function that computes one item with NumPy.
"""

# Functions that lanewise compiles are typed by their calls, and have no annotations.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import numpy as np

import lanewise as lw


# The layout gives the shapes of one item; the compiled function loops over all other dimensions. The function fills its output.
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
            total: lw.float64 = a[i, j]  # type: ignore[valid-type]  # float64, because a sum in float32 is less accurate (W203)
            for k in range(j):
                total -= out[i, k] * out[j, k]
            out[i, j] = np.sqrt(total) if i == j else total / out[j, j]


# A function may have several outputs.
@lw.guvectorize("(n,n)->(n,n),(n)")
def lu(a, out, pivots):
    """The two factors, stored in one matrix, and for each row the row with which it was exchanged."""
    n = a.shape[0]
    out[:] = a
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(out[i, k]) > abs(out[best, k]):
                best = i
        pivots[k] = best
        for j in range(n):
            t = out[k, j]
            out[k, j] = out[best, j]
            out[best, j] = t
        for i in range(k + 1, n):
            out[i, k] /= out[k, k]
            for j in range(k + 1, n):
                out[i, j] -= out[i, k] * out[k, j]


# Fixed sizes are constants of the code, so loops over them are unrolled. lw.local creates a small array for one call.
@lw.guvectorize("(3,3),(3)->(3)")
def solve3(a, b, x):
    """Cramer's rule."""
    d = lw.local(3, np.float64)
    d[0] = a[1, 1] * a[2, 2] - a[1, 2] * a[2, 1]
    d[1] = a[1, 2] * a[2, 0] - a[1, 0] * a[2, 2]
    d[2] = a[1, 0] * a[2, 1] - a[1, 1] * a[2, 0]
    scale = 1.0 / (a[0, 0] * d[0] + a[0, 1] * d[1] + a[0, 2] * d[2])
    x[0] = (b[0] * d[0] + a[0, 1] * (a[1, 2] * b[2] - b[1] * a[2, 2]) + a[0, 2] * (b[1] * a[2, 1] - a[1, 1] * b[2])) * scale
    x[1] = (a[0, 0] * (b[1] * a[2, 2] - a[1, 2] * b[2]) + b[0] * d[1] + a[0, 2] * (a[1, 0] * b[2] - b[1] * a[2, 0])) * scale
    x[2] = (a[0, 0] * (a[1, 1] * b[2] - b[1] * a[2, 1]) + a[0, 1] * (b[1] * a[2, 0] - a[1, 0] * b[2]) + b[0] * d[2]) * scale


@lw.guvectorize("(3),(3)->(3)")
def cross(a, b, out):
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


# Outputs that are numbers may be returned.
@lw.guvectorize("(n),()->()")
def polynomial(coefficients, x):
    """Evaluate a polynomial by Horner's rule; the coefficient of the highest power comes first."""
    total = coefficients[0]
    for i in range(1, coefficients.shape[0]):
        total = total * x + coefficients[i]
    return total


@lw.guvectorize("(n)->(n)")
def sort_rows(x, out):
    """Sort each row by insertion sort, which is fast for short rows."""
    for i in range(x.shape[0]):
        k = i
        while k > 0 and out[k - 1] > x[i]:
            out[k] = out[k - 1]
            k -= 1
        out[k] = x[i]


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


# Only the output has the dimension k, so `sizes=` computes its size from the others.
@lw.guvectorize("(n),(m)->(k)", sizes={"k": lambda n, m: n + m - 1})
def convolve(x, w, out):
    for i in range(out.shape[0]):
        total = 0.0
        for j in range(max(0, i - x.shape[0] + 1), min(i + 1, w.shape[0])):
            total += x[i - j] * w[j]
        out[i] = total


@lw.guvectorize("(n),()->()", writable_args=["row"])
def quantile(row, q):
    """The quantile with linear interpolation, as in numpy.quantile. The function sorts the row in place."""
    n = row.shape[0]
    for i in range(1, n):
        value, k = row[i], i
        while k > 0 and row[k - 1] > value:
            row[k] = row[k - 1]
            k -= 1
        row[k] = value
    at = q * (n - 1)
    low = int(at)
    high = min(low + 1, n - 1)
    return row[low] + (row[high] - row[low]) * (at - low)


@lw.guvectorize("(n)->(n),(n),()")
def runs(x, values, lengths, count):
    """Run-length encoding. The unused elements of the outputs are 0."""
    values[:] = 0
    lengths[:] = 0
    found = 0
    for i in range(x.shape[0]):
        if i == 0 or x[i] != x[i - 1]:
            values[found] = x[i]
            found += 1
        lengths[found - 1] += 1
    count[0] = found


# ---- the same with NumPy, one item at a time ----


def plain_runs(x):
    starts = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    values, lengths = np.zeros_like(x), np.zeros_like(x)
    values[: len(starts)] = x[starts]
    lengths[: len(starts)] = np.diff(np.append(starts, len(x)))
    return values, lengths, len(starts)


def plain_lu(a):
    out, pivots = a.copy(), np.zeros(len(a))
    for k in range(len(a)):
        pivots[k] = best = k + np.argmax(abs(out[k:, k]))
        out[[k, best]] = out[[best, k]]
        out[k + 1 :, k] /= out[k, k]
        out[k + 1 :, k + 1 :] -= np.outer(out[k + 1 :, k], out[k, k + 1 :])
    return out, pivots


def plain_average(x, window):
    sums = np.cumsum(x)
    sums[window:] -= sums[:-window].copy()
    return sums / np.minimum(np.arange(len(x)) + 1, window)


def each(function, n_core, *arguments):
    """Call the function for each item; the last n_core[i] dimensions of argument i are core dimensions."""
    loop = np.broadcast_shapes(*(np.shape(a)[: np.ndim(a) - n] for a, n in zip(arguments, n_core)))
    whole = [np.broadcast_to(a, loop + np.shape(a)[np.ndim(a) - n :]) for a, n in zip(arguments, n_core)]
    results = [function(*(a[at].copy() if n else a[at] for a, n in zip(whole, n_core))) for at in np.ndindex(*loop)]
    if isinstance(results[0], tuple):
        return tuple(np.reshape(list(part), loop + np.shape(part[0])) for part in zip(*results))
    return np.reshape(results, loop + np.shape(results[0]))


def cases(n_items=40):
    """{name: (the gufunc, the function that computes one item with NumPy, numbers of core dimensions of the inputs, the inputs)}"""
    random = np.random.default_rng(1)
    rows, matrices = random.random((n_items, 20)), random.random((n_items, 4, 4))
    knots = np.sort(random.random(20))
    return {
        "moving average": (moving_average, plain_average, (1, 0), (rows, 5)),
        "Cholesky": (cholesky, np.linalg.cholesky, (2,), (matrices @ matrices.swapaxes(1, 2) + np.eye(4),)),
        "LU": (lu, plain_lu, (2,), (matrices,)),
        "3 x 3 solve": (solve3, np.linalg.solve, (2, 1), (random.random((n_items, 3, 3)) + 2 * np.eye(3), random.random(3))),
        "cross product": (cross, lambda a, b: np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]),
                          (1, 1), (random.random((n_items, 3)), random.random(3))),
        "polynomial": (polynomial, np.polyval, (1, 0), (random.random(6), random.random((n_items, 3)))),
        "sort of rows": (sort_rows, np.sort, (1,), (rows,)),
        "interpolation": (interpolate, np.interp, (0, 1, 1), (random.random((n_items, 2)), knots, random.random(20))),
        "convolution": (convolve, np.convolve, (1, 1), (rows, random.random(4))),
        "quantile of rows": (quantile, np.quantile, (1, 0), (rows, 0.3)),
        "run lengths": (runs, plain_runs, (1,), (random.integers(0, 3, (n_items, 20)).astype(float),)),
    }


def agree(got, want):
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    return all(np.shape(g) == w.shape and np.allclose(g, w) for g, w in zip(got, want))


def main() -> None:
    done = cases()
    for name, (function, plain, n_core, arguments) in done.items():
        want = each(plain, n_core, *arguments)
        assert agree(function(*(np.array(a) for a in arguments)), want), name
    rows = np.random.default_rng(2).random((30, 50))
    assert np.allclose(moving_average(rows, 5, axes=[0, (), 0])[-1], rows[-5:].mean(axis=0))
    print("agree with NumPy:", ", ".join(done))


if __name__ == "__main__":
    main()
