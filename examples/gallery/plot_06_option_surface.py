"""
Option surface
==============

The first function computes the price of an option by Black and Scholes (1973), for a whole surface of strikes and maturities. The second one is its inverse: which volatility explains a given price?
"""

# sphinx_gallery_start_ignore
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
# sphinx_gallery_end_ignore

import math

import matplotlib.pyplot as plt
import numpy as np

import lanewise as lw

# %%
# ``price_and_slope`` computes the price and its derivative with respect to the volatility. Parameters with a default, such as ``rate``, may be left out of a call.


def normal(d):
    return 0.5 * math.erfc(-d / math.sqrt(2.0))


def price_and_slope(spot, strike, years, volatility, rate):
    root = volatility * math.sqrt(years)
    d1 = (math.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / root
    price = spot * normal(d1) - strike * math.exp(-rate * years) * normal(d1 - root)
    slope = spot * math.sqrt(years) * math.exp(-0.5 * d1 * d1) / math.sqrt(2 * math.pi)
    return price, slope


@lw.vectorize
def call_price(spot, strike, years, volatility, rate=0.02):
    price, slope = price_and_slope(spot, strike, years, volatility, rate)
    return price


strike, years = np.meshgrid(np.linspace(60, 150, 300), np.linspace(0.05, 2, 300))
smile = 0.18 + 0.25 * np.log(strike / 100) ** 2 / np.sqrt(years + 0.2)
price = call_price(100.0, strike, years, smile)

fig = plt.figure(figsize=(6, 4.6), layout="constrained")
ax = fig.add_subplot(projection="3d")
ax.plot_surface(strike, years, price, cmap="viridis", rcount=60, ccount=60)
ax.set(xlabel="strike", ylabel="years", zlabel="price")

# %%
# The implied volatility of each price is computed by Newton's method. Each of the 90,000 options takes only as many steps as it needs.


@lw.vectorize
def implied(price, spot, strike, years, rate=0.02):
    volatility, steps = 0.3, 0
    for steps in range(50):
        value, slope = price_and_slope(spot, strike, years, volatility, rate)
        if abs(value - price) < 1e-10 or slope < 1e-9:
            break
        volatility = min(max(volatility - (value - price) / slope, 0.01), 3.0)
    return volatility, steps


found, steps = implied(price, 100.0, strike, years)
certain = price > np.maximum(100 - strike * np.exp(-0.02 * years), 0) + 1e-6  # elsewhere, any volatility explains the price
print("largest error:", np.abs(found - smile)[certain].max())

fig, axes = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
extent = (60, 150, 0.05, 2)
for ax, values, name in ((axes[0], np.where(certain, found, np.nan), "implied volatility"), (axes[1], steps, "steps of Newton's method")):
    fig.colorbar(ax.imshow(values, origin="lower", extent=extent, aspect="auto"), ax=ax)
    ax.set(title=name, xlabel="strike", ylabel="years")
plt.show()
