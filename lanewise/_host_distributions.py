"""The distributions of `lanewise.random.Generator` that are made on the host, of its uniform and normal numbers, and
those that are mixtures of others."""

from __future__ import annotations

import math

import numpy as np

from lanewise._parameters import common_shape, integers, parameter


class HostDistributions:
    """Methods of `Generator`. What is made on the host is a NumPy array, whatever the target."""

    def _noncentral_chisquare(self, df, nonc, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the noncentral chi-square distribution: chi-square numbers of df + 2 * K degrees of freedom, with K from the Poisson distribution of mean nonc / 2; df > 0, nonc >= 0."""
        if self._is_single(size, dtype, out, stream, df, nonc):
            number = self._one("noncentral_chisquare", (df, nonc), 2, lambda place, count: self._few_noncentral(df, nonc, place, count))
            if number is not None:
                return number
        df, nonc, shape = self._mixed_parameters("df", df, nonc, size, out)
        is_one = size is out is None and shape == ()
        with self._all_or_nothing():
            total = df + 2.0 * self._host_poisson(nonc / 2.0, shape, stream)
            return self.chisquare(float(total) if is_one else total, None if is_one else shape, dtype, out, stream=stream)

    def noncentral_f(self, dfnum, dfden, nonc, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the noncentral F distribution; dfnum > 0, dfden > 0, nonc >= 0.

        The numbers are quotients of noncentral chi-square and chi-square numbers, each divided by its degrees of freedom.
        """
        below = parameter("dfden", dfden, "positive shape")
        above, nonc, shape = self._mixed_parameters("dfnum", dfnum, nonc, size, out, below)
        is_one = size is out is None and shape == ()
        with self._all_or_nothing():
            more = self._host_poisson(nonc / 2.0, shape, stream)
            given = [("shape", above / 2.0 + more, "positive shape"), ("dfden", below, "positive shape"), ("dfnum", above, "positive shape")]
            if is_one:
                given = [(name, float(value), rule) for name, value, rule in given]
            return self._made("noncentral_f", [("gamma", 0, 1.0, 0.0), ("gamma", 1, 0.5, 0.0)], given, None if is_one else shape, dtype, out, stream)

    def _logseries(self, p, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the logarithmic series distribution (Kemp, 1981, algorithm LK); 0 <= p < 1."""
        if not (parameter("p", p, "chance") < 1).all():
            raise ValueError(f"p < 0, p >= 1 or p is NaN: p must be at least 0 and below 1, not {p}")
        return self._made("logseries", ["uniform", "uniform"], [("p", p, "chance")], size, dtype, out, stream, integers=True)

    def _zipf(self, a, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the Zipf distribution: k with probability k**-a / zeta(a), by rejection (Devroye, 1986, X.6.1); a > 1. The results are below 2**63."""
        power = parameter("a", a, "positive")
        if not (power > 1).all():
            raise ValueError(f"a <= 1 or a is NaN: a must be above 1, not {a}")
        if self._is_single(size, dtype, out, stream, a):
            number = self._one("zipf", (a,), 1, lambda place, count: self._few_each("zipf", (power,), place, np.empty(count, np.int64)))
            if number is not None:
                return number
        from lanewise._generator import _dtype_of

        kind = _dtype_of(dtype, out, np.int64)
        if kind.kind in "iu" and kind.itemsize < 8 and power.size and power.min() < 1.0 + 30.0 * math.log(10.0) / math.log(np.iinfo(kind).max):
            raise ValueError(f"a is so small that numbers would exceed the range of {kind} with a probability above 1e-30: use a wider dtype")
        return self._each("zipf", (power,), "iu", size, dtype, out, stream, self._target_of(a), np.int64)

    def _vonmises(self, mu, kappa, size=None, dtype=None, out=None, *, stream=0):
        """Draw angles between -pi and pi from the von Mises distribution around mu, by rejection (Best and Fisher, 1979); kappa >= 0."""
        arrays = parameter("mu", mu), parameter("kappa", kappa, "not negative")
        if self._is_single(size, dtype, out, stream, mu, kappa):
            number = self._one("vonmises", (mu, kappa), 1, lambda place, count: self._few_each("vonmises", arrays, place, np.empty(count)))
            if number is not None:
                return number
        floats = np.dtype(np.float32), np.dtype(np.float64)
        return self._each("vonmises", arrays, floats, size, dtype, out, stream, self._target_of(mu, kappa))

    def _hypergeometric(self, ngood, nbad, nsample, size=None, *, stream=0):
        """Draw the number of good items among nsample of ngood + nbad items, by inversion: an int64 NumPy array. Each parameter is less than 10**9."""
        if self._is_single(size, None, None, stream, ngood, nbad, nsample):
            number = self._one("hypergeometric", (ngood, nbad, nsample), 1, lambda place, count: self._few_hypergeometric(ngood, nbad, nsample, place, count))
            if number is not None:
                return number
        given = [integers(name, value, "in an urn") for name, value in (("ngood", ngood), ("nbad", nbad), ("nsample", nsample))]
        if not (given[2] <= given[0] + given[1]).all():
            raise ValueError(f"ngood + nbad < nsample: nsample must be at most ngood + nbad, not {nsample}")
        shape = common_shape(_tuple(size), given, None) or ()
        uniform = self.random(out=np.empty(shape))
        result = np.zeros(shape, np.int64)
        for row, here in _alike(given, shape):
            result.reshape(-1)[here] = _draw_hypergeometric(*row, uniform.reshape(-1)[here])
        return result if size is not None or shape else int(result)

    def multivariate_hypergeometric(self, colors, nsample, size=None, method="marginals", *, stream=0):
        """Draw nsample of sum(colors) items, and return how many of each colour they are: an int64 NumPy array of shape (*size, len(colors))."""
        if method not in ("count", "marginals"):
            raise ValueError(f'method must be "count" or "marginals", not {method!r:.200}')
        counts = integers("colors", colors, "in an urn")
        sample = integers("nsample", nsample, "in an urn")
        if counts.ndim != 1 or sample.ndim != 0:
            raise ValueError("colors must be a one-dimensional sequence of ints, and nsample an int")
        total, left = int(counts.sum()), int(sample)
        if total >= 10**9:
            raise ValueError(f"sum(colors) must be less than 10**9, not {total}")
        if left > total:
            raise ValueError(f"nsample > sum(colors): nsample must be at most {total}, not {left}")
        shape = _tuple(size) or ()
        result = np.zeros((*shape, counts.size), np.int64)
        drawn = np.full(shape, left, np.int64)
        for k, count in enumerate(counts[:-1].tolist()):
            total -= count
            result[..., k] = self.hypergeometric(count, total, drawn, shape)
            drawn = drawn - result[..., k]
        if counts.size:
            result[..., -1] = drawn
        return result

    def multivariate_normal(self, mean, cov, size=None, check_valid="warn", tol=1e-8, *, method="svd", stream=0):
        """Draw normal vectors with this mean and covariance matrix: a float64 NumPy array of shape (*size, len(mean))."""
        import warnings

        if method not in ("svd", "eigh", "cholesky"):
            raise ValueError(f'method must be one of {{"eigh", "svd", "cholesky"}}, not {method!r:.200}')
        if check_valid not in ("warn", "raise", "ignore"):
            raise ValueError("check_valid must equal 'warn', 'raise', or 'ignore'")
        mean, cov = parameter("mean", mean), parameter("cov", cov)
        if mean.ndim != 1:
            raise ValueError("mean must be 1 dimensional")
        if cov.shape != (mean.size, mean.size):
            raise ValueError("cov must be 2 dimensional and square, and mean and cov must have same length")
        if method == "svd":
            _, values, vectors = np.linalg.svd(cov)
            valid = np.allclose((vectors.T * values) @ vectors, cov, rtol=tol, atol=tol)
            factor = np.sqrt(values)[:, None] * vectors
        elif method == "eigh":
            values, vectors = np.linalg.eigh(cov)
            valid = not (values < -tol).any()
            factor = (vectors * np.sqrt(np.abs(values))).T
        else:
            factor, valid = np.linalg.cholesky(cov).T, True
        if check_valid != "ignore" and not valid:
            if check_valid == "raise":
                raise ValueError("covariance is not symmetric positive-semidefinite.")
            warnings.warn("covariance is not symmetric positive-semidefinite.", RuntimeWarning, stacklevel=2)
        shape = (*(_tuple(size) or ()), mean.size)
        return _by_tiles(self.standard_normal(out=np.empty(shape)), factor, self._window) + mean

    # ---- parts of them ----

    def _mixed_parameters(self, name, df, nonc, size, out, *more):
        df, nonc = parameter(name, df, "positive shape"), parameter("nonc", nonc, "mean")
        shape = common_shape(_tuple(size), [df, nonc, *more], out)
        return df, nonc, _shape_of(out) if shape is None and out is not None else shape or ()

    def _host_poisson(self, mean, shape, stream):
        return np.asarray(self._poisson(mean, shape, out=np.empty(shape, np.int64)))

    def _few_each(self, name, arrays, place, out):
        from lanewise import _random_kernels as kernels

        kernel = getattr(kernels, f"philox_{name}")
        kernel(out.size, self._keys(), np.uint32(2 * self._jumps), np.uint64(place), *(a.dtype.type(a) for a in arrays), out)
        return out

    def _few_noncentral(self, df, nonc, place, count):
        from lanewise._distribution_kernels import chisquare
        from lanewise._random_kernels import philox_gamma_each

        df, nonc = parameter("df", df, "positive shape"), parameter("nonc", nonc, "mean")
        total = df + 2.0 * self._ahead("poisson", place, count, nonc / 2.0, 0.0)
        stream = self._keys(), np.uint32(2 * self._jumps), np.uint64(place + 1)
        philox_gamma_each(count, *stream, 0.5 * total, np.ones(1), gamma := np.empty(count))
        chisquare(count, gamma, total, out := np.empty(count))
        return out

    def _few_hypergeometric(self, ngood, nbad, nsample, place, count):
        if not all(type(one) is int and 0 <= one < 10**9 for one in (ngood, nbad, nsample)) or nsample > ngood + nbad:
            return None
        uniform = self._ahead("uniform", place, count, 0.0, 0.0)[::2]
        return _draw_hypergeometric(ngood, nbad, nsample, uniform).astype(np.int64)

    def _all_or_nothing(self):
        return _Together(self)


_TILE = 64


def _by_tiles(vectors, factor, window):
    """vectors @ factor in tiles of rows that begin at multiples of _TILE of the whole array, so that a row's bits depend on its
    place alone: a product of other rows may round otherwise."""
    rows = vectors.reshape(-1, vectors.shape[-1])
    starts, run, _ = window or ([0], len(rows), 0)
    made = np.empty_like(rows)
    for i, first in enumerate(starts):
        before, part = first % _TILE, slice(i * run, (i + 1) * run)
        tiles = np.zeros((-(-(before + run) // _TILE) * _TILE, rows.shape[1]))
        tiles[before : before + run] = rows[part]
        made[part] = (tiles.reshape(-1, _TILE, rows.shape[1]) @ factor).reshape(tiles.shape)[before : before + run]
    return made.reshape(vectors.shape)


class _Together:
    """Several draws, none of another thread between them; the place is as before if one fails."""

    def __init__(self, generator):
        from lanewise._generator import _Alone

        self.generator, self.alone = generator, _Alone(generator)

    def __enter__(self):
        self.alone.__enter__()
        self.place = self.generator._place

    def __exit__(self, kind, error, trace):
        if kind is not None:
            self.generator._place = self.place
        self.alone.__exit__(kind, error, trace)


def _alike(given, shape):
    """The rows of parameters that are there, and the places in the flat result of each: a sort, where many differ."""
    if all(one.size == 1 for one in given):
        yield [int(one.flat[0]) for one in given], slice(None)
        return
    rows = [np.broadcast_to(one, shape).ravel() for one in given]
    order = np.lexsort(rows)
    differs = np.logical_or.reduce([one[order[1:]] != one[order[:-1]] for one in rows])
    for here in np.split(order, np.flatnonzero(differs) + 1) if order.size else ():
        yield [int(one[here[0]]) for one in rows], here


def _draw_hypergeometric(good, bad, sample, uniform):
    """By a table of the chances around the mode, outside of which there are less than 2**-60 of them."""
    low, high = max(0, sample - bad), min(good, sample)
    total = good + bad
    mode = min(max((sample + 1) * (good + 1) // (total + 2), low), high)
    spread = math.sqrt(sample * (good / total) * (bad / total)) if total else 0.0
    reach = int(12 * spread + 40)
    low, high = max(low, mode - reach), min(high, mode + reach)
    up = np.arange(mode, high, dtype=np.float64)  # p(k + 1) / p(k)
    down = np.arange(mode, low, -1, dtype=np.float64)  # p(k - 1) / p(k)
    above = np.cumprod((good - up) * (sample - up) / ((up + 1.0) * (bad - sample + up + 1.0)))
    below = np.cumprod(down * (bad - sample + down) / ((good - down + 1.0) * (sample - down + 1.0)))
    chances = np.cumsum(np.concatenate((below[::-1], [1.0], above)))
    return low + np.minimum(np.searchsorted(chances, uniform * chances[-1], side="right"), high - low)


def _shape_of(out):
    from lanewise._generator import _target

    return tuple(_target(out).shape)


def _tuple(size):
    from lanewise._generator import _shape

    return None if size is None else _shape(size)
