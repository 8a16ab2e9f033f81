"""
Moving averages
===============

Moving averages are functions of a whole row. This program computes means over a window, an exponential average, and bands around a price. The same decorated function works on a single series or on a thousand.
"""

# sphinx_gallery_start_ignore
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
# sphinx_gallery_end_ignore

import math

import matplotlib.pyplot as plt
import numpy as np

import lanewise as lw

# %%
# The prices are random walks of 1000 shares.

g = lw.random.Generator(12)
prices = 100 * np.exp(np.cumsum(0.01 * g.standard_normal((1000, 500)), axis=1))

# %%
# The mean and the standard deviation over the last w days are computed in one pass: the element that enters the window is added, and the one that leaves it is subtracted. The layout ``(n),()->(n),(n)`` says that a row and a
# number give two rows.


@lw.guvectorize("(n),()->(n),(n)")
def moving(x, w, mean, deviation):
    total, squares = 0.0, 0.0
    for i in range(x.shape[0]):
        total += x[i]
        squares += x[i] * x[i]
        if i >= w:
            total -= x[i - w]
            squares -= x[i - w] * x[i - w]
        n = min(i + 1, w)
        mean[i] = total / n
        deviation[i] = math.sqrt(max(squares / n - (total / n) ** 2, 0.0))


mean, deviation = moving(prices, 20)
assert mean.shape == prices.shape

# %%
# Several windows can be passed at once, because arguments are broadcast.

several, _ = moving(prices[0], np.array([5, 20, 80]))
assert several.shape == (3, 500)

# %%
# The exponential average y = 0.94 · y + 0.06 · x is a scan, so it can run in parallel, too: `lw.reductions.affine_scan` computes y = a · y + b.

smooth = lw.reductions.affine_scan(np.full(500, 0.94), np.concatenate((prices[0, :1], 0.06 * prices[0, 1:])))

fig, (above, below) = plt.subplots(2, 1, figsize=(9, 6), layout="constrained", sharex=True)
days = np.arange(500)
above.fill_between(days, mean[0] - 2 * deviation[0], mean[0] + 2 * deviation[0], alpha=0.25, label="20 days, ± 2 deviations")
above.plot(days, prices[0], linewidth=0.8, color="black", label="price")
above.plot(days, mean[0], label="20 days, mean")
above.legend(loc="upper left")
for row, w in zip(several, (5, 20, 80)):
    below.plot(days, row, label=f"{w} days")
below.plot(days, smooth, "--", color="black", linewidth=1, label="exponential")
below.set(xlabel="day")
below.legend(loc="upper left")
plt.show()
