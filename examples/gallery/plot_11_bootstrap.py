"""
Bootstrap
=========

How certain is the median of a sample? The bootstrap draws new samples from it, with replacement, and looks at their medians. Each of these resamples is one call of a function. Its random
numbers depend only on the seed and the number of the resample.
"""

# sphinx_gallery_start_ignore
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
# sphinx_gallery_end_ignore

import matplotlib.pyplot as plt
import numpy as np

import lanewise as lw
from lanewise.random import philox_uniform_float64

# %%
# The function receives the sample and the number of the resample, and returns two numbers. ``np.empty_like`` and ``np.median`` work inside compiled functions; the memory is freed when the call ends.


@lw.guvectorize("(n),()->(),()")
def resampled(x, number):
    n = x.shape[0]
    drawn = np.empty_like(x)
    for k in range(n):
        drawn[k] = x[int(n * philox_uniform_float64(42, number, k))]
    return np.mean(drawn), np.median(drawn)


# %%
# The sample contains the waiting times of 150 customers. We draw 20,000 resamples.

sample = lw.random.Generator(8).gamma(1.5, 4.0, 150)
means, medians = resampled(sample, np.arange(20_000))

fig, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
axes[0].hist(sample, bins=25, color="0.6")
axes[0].set(title="the sample", xlabel="minutes")
for ax, values, estimate, name in ((axes[1], means, sample.mean(), "mean"), (axes[2], medians, np.median(sample), "median")):
    low, high = np.percentile(values, (2.5, 97.5))
    ax.hist(values, bins=60)
    ax.axvspan(low, high, color="tab:orange", alpha=0.25)
    ax.axvline(estimate, color="black")
    ax.set(title=f"{name}: {estimate:.2f}, 95 % in [{low:.2f}, {high:.2f}]", xlabel="minutes")
    print(f"{name}: {estimate:.3f}, 95 % interval {low:.3f} to {high:.3f}")
plt.show()
