"""The distributions of `lanewise.random.Generator` that are formulas of standard numbers."""

from __future__ import annotations

import numpy as np

from lanewise import _placing
from lanewise._host_distributions import HostDistributions, _shape_of
from lanewise._parameters import check, common_shape, fits, integers, parameter, there


class Distributions(HostDistributions):
    """Methods of `Generator`. Draws come from the stream in the order of the formula's standard numbers.

    Those with an underscore are what `_Draws` leaves of its methods of the same names (random/formulas.def)."""

    def _lognormal(self, mean=0.0, sigma=1.0, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the log-normal distribution: exp of normal numbers; sigma >= 0."""
        return self._made("lognormal", ["normal"], [("mean", mean, "number"), ("sigma", sigma, "not negative")], size, dtype, out, stream)

    def _laplace(self, loc=0.0, scale=1.0, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the Laplace (double exponential) distribution; scale >= 0."""
        return self._made("laplace", ["uniform"], _placed(loc, scale), size, dtype, out, stream)

    def _logistic(self, loc=0.0, scale=1.0, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the logistic distribution, by inversion; scale >= 0."""
        return self._made("logistic", ["uniform"], _placed(loc, scale), size, dtype, out, stream)

    def _gumbel(self, loc=0.0, scale=1.0, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the Gumbel (largest extreme value) distribution, by inversion; scale >= 0."""
        return self._made("gumbel", ["exponential"], _placed(loc, scale), size, dtype, out, stream)

    def _rayleigh(self, scale=1.0, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the Rayleigh distribution: lengths of two-dimensional normal vectors; scale >= 0."""
        return self._made("rayleigh", ["exponential"], [("scale", scale, "not negative")], size, dtype, out, stream)

    def _weibull(self, a, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the Weibull distribution: e**(1 / a) of exponential numbers e; a >= 0."""
        return self._made("weibull", ["exponential"], [("a", a, "not negative")], size, dtype, out, stream)

    def _pareto(self, a, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the Lomax (Pareto II) distribution, by inversion; a > 0."""
        return self._made("pareto", ["exponential"], [("a", a, "positive")], size, dtype, out, stream)

    def _power(self, a, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the power distribution: u**(1 / a) of uniform numbers u; a > 0."""
        return self._made("power", ["exponential"], [("a", a, "positive")], size, dtype, out, stream)

    def _standard_cauchy(self, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the Cauchy distribution: quotients of two normal numbers."""
        return self._made("standard_cauchy", ["normal", "normal"], [], size, dtype, out, stream)

    def _standard_t(self, df, size=None, dtype=None, out=None, *, stream=0):
        """Draw from Student's t distribution: normal numbers divided by the square root of gamma numbers; df > 0."""
        return self._made("standard_t", ["normal", ("gamma", 0, 0.5, 0.0)], [("df", df, "positive shape")], size, dtype, out, stream)

    def _chisquare(self, df, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the chi-square distribution: gamma numbers of shape df / 2 and scale 2; df > 0."""
        return self._made("chisquare", [("gamma", 0, 0.5, 0.0)], [("df", df, "positive shape")], size, dtype, out, stream)

    def _f(self, dfnum, dfden, size=None, dtype=None, out=None, *, stream=0):
        """Fisher's F: quotients of two chi-square numbers by their degrees of freedom, which are > 0."""
        draws = [("gamma", 0, 0.5, 0.0), ("gamma", 1, 0.5, 0.0)]
        return self._made("f", draws, [("dfnum", dfnum, "positive shape"), ("dfden", dfden, "positive shape")], size, dtype, out, stream)

    def _beta(self, a, b, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the beta distribution: X / (X + Y) of gamma numbers of shapes a > 0 and b > 0."""
        draws = [("gamma", 0, 1.0, 1.0), "exponential", ("gamma", 1, 1.0, 1.0), "exponential"]
        return self._made("beta", draws, [("a", a, "positive shape"), ("b", b, "positive shape")], size, dtype, out, stream)

    def _triangular(self, left, mode, right, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the triangular distribution, by inversion; left <= mode <= right, left < right."""
        corners = [parameter(name, value) for name, value in (("left", left), ("mode", mode), ("right", right))]
        common_shape(None, corners, None)
        if not (corners[0] <= corners[1]).all():
            raise ValueError(f"left > mode: left must be at most mode, not {left} and {mode}")
        if not (corners[1] <= corners[2]).all():
            raise ValueError(f"mode > right: mode must be at most right, not {mode} and {right}")
        if not (corners[0] < corners[2]).all():
            raise ValueError(f"left == right: left must be below right, not {left} and {right}")
        given = [("left", left, "number"), ("mode", mode, "number"), ("right", right, "number")]
        return self._made("triangular", ["uniform"], given, size, dtype, out, stream)

    def _wald(self, mean, scale, size=None, dtype=None, out=None, *, stream=0):
        """Draw from the Wald (inverse Gaussian) distribution (Michael, Schucany and Haas, 1976); mean > 0, scale > 0."""
        return self._made("wald", ["normal", "uniform"], [("mean", mean, "positive"), ("scale", scale, "positive")], size, dtype, out, stream)

    def _geometric(self, p, size=None, dtype=None, out=None, *, stream=0):
        """Trials up to the first success, by inversion; 0 < p <= 1. At most 2**63 - 1, which only tiny p reach."""
        from lanewise._generator import _dtype_of

        fits("1 / p", _dtype_of(dtype, out, np.int64), lambda: 70.0 / parameter("p", p, "positive chance"))
        return self._made("geometric", ["exponential"], [("p", p, "positive chance")], size, dtype, out, stream, integers=True)

    def _negative_binomial(self, n, p, size=None, dtype=None, out=None, *, stream=0):
        """Draw the number of failures before n > 0 successes: Poisson numbers whose means are gamma numbers; 0 < p <= 1."""
        from lanewise._generator import _Alone

        given = [("n", n, "positive shape"), ("p", p, "positive chance")]
        if self._is_single(size, dtype, out, stream, n, p):
            number = self._one("negative_binomial", (n, p), 2, lambda place, count: self._few_negative(given, place, count))
            if number is not None:
                return number
        arrays = [parameter(*one) for one in given]
        size = common_shape(_tuple(size), arrays, out)
        _check_failures(*arrays)
        target = None if self.target else there(n, p)
        if out is not None and size is None:
            size = _shape_of(out)
        start = self._start("random", size, np.float64, None, "f", stream, target or (None if out is None else _where(out)))
        with _Alone(self):
            place = self._place
            try:
                mean = start.made("failures", [("gamma", 0, 1.0, 0.0)], arrays)
                return self._poisson_numbers("n * (1 - p) / p", parameter("n", mean), size, dtype, out, stream, None if self.target else there(mean))
            except BaseException:
                self._place = place
                raise

    def _few_negative(self, given, place, count):
        from lanewise._random_kernels import philox_poisson_each

        arrays = [parameter(*one) for one in given]
        _check_failures(*arrays)
        mean = self._several("failures", [("gamma", 0, 1.0, 0.0)], arrays, place, count)
        philox_poisson_each(count, self._keys(), np.uint32(2 * self._jumps), np.uint64(place + 1), mean, out := np.empty(count, np.int64))
        return out

    def multinomial(self, n, pvals, size=None, *, stream=0):
        """Draw how often each of len(pvals) outcomes occurs in n trials: an int64 NumPy array of shape (*size, len(pvals)).

        Binomial numbers one after the other, each of what is left. As in NumPy, the last outcome has the chance that the others leave,
        whatever pvals[-1] is."""
        trials, p = integers("n", n, "count"), check("pvals", parameter("pvals", pvals), "chance")
        if p.ndim != 1 or p.size == 0:
            raise ValueError(f"pvals must be one-dimensional and not empty, not of shape {p.shape}")
        if not p[:-1].sum() <= 1.0 + 1e-12:
            raise ValueError(f"sum(pvals[:-1]) > 1.0: the chances before the last, which takes the rest, must have a sum of at most 1, not {p[:-1].sum()}")
        shape = common_shape(_tuple(size), [trials], None) or ()
        left, counts = np.array(np.broadcast_to(trials, shape)), np.zeros((*shape, p.size), np.int64)
        rest = 1.0
        for k in range(p.size - 1):
            chance = min(max(p[k] / rest, 0.0), 1.0) if rest > 0.0 else 0.0
            counts[..., k] = self.binomial(left, chance, shape, out=np.empty(shape, np.int64))
            left, rest = left - counts[..., k], rest - p[k]
        counts[..., -1] = left
        return counts

    def dirichlet(self, alpha, size=None, *, stream=0):
        """Draw from the Dirichlet distribution: gamma numbers of shapes alpha >= 0, divided by their sum. The result has shape (*size, len(alpha))."""
        shapes = parameter("alpha", alpha, "shape")
        if shapes.ndim != 1 or shapes.size == 0:
            raise ValueError(f"alpha must be one-dimensional and not empty, not of shape {shapes.shape}")
        some = shapes[shapes > 0]
        if not some.size:
            raise ValueError("alpha must have an element above 0: all are 0")
        size = (*(_tuple(size) or ()), some.size)
        fill = self._start("random", size, np.float64, None, "f", stream, None if self.target else there(alpha))
        made = fill.made("dirichlet", [("gamma", 0, 1.0, 1.0), "exponential"], [some], rows=some.size)
        return made if some.size == shapes.size else _with_zeros(made, shapes > 0, stream)

    def _made(self, name, draws, given, size, dtype, out, stream, integers=False):
        """Numbers by the kernel of that name. draws: "uniform", "normal", "exponential" or ("gamma", k, factor, more):
        of the shape factor * parameter k + more. given: name, value and rule of each parameter."""
        if self._is_single(size, dtype, out, stream, *(value for _, value, _ in given)):
            def make(place, count):
                return self._several(name, draws, [parameter(*one) for one in given], place, count, np.int64 if integers else np.float64)

            number = self._one(name, [value for _, value, _ in given], len(draws), make)
            if number is not None:
                return number
        target = None if self.target else there(*(value for _, value, _ in given))
        arrays = [parameter(*one) for one in given]
        size = common_shape(_tuple(size), arrays, out)
        if integers:
            return self._start(name, size, dtype, out, "iu", stream, target, np.int64).made(name, draws, arrays)
        return self._start(name, size, dtype, out, (np.dtype(np.float32), np.dtype(np.float64)), stream, target).made(name, draws, arrays)

    def _is_near(self):
        """May numbers be made ahead: on the host, by place, in one launch?"""
        return self._is_philox and self._is_here() and (self._place + 4096) >> 32 == self._place >> 32

    def _is_single(self, size, dtype, out, stream, *values):
        """Is it a call for one number, with plain numbers as parameters, that may be made ahead?"""
        return size is dtype is out is None and type(stream) is int and stream == 0 and self._is_near() and all(type(value) in (float, int) for value in values)

    def _one(self, name, values, blocks, make):
        """One number, which takes so many blocks. make(place, count) -> the numbers of calls at each of the next places; None
        where it cannot. Where the last ones of these parameters have been used up, more are made, and kept for `_Draws`. None:
        make cannot, or another thread draws."""
        try:
            key = name, values = name, tuple(map(float, values))
        except OverflowError:  # which the other path says with the parameter's name
            return None
        changes, known, place = self._changes, self._formulas, self._take_blocks(blocks)
        if place is None:
            return None
        start, count = known.get(key, (place, 0))
        follows = count and 0 <= place - start < count + 16
        count = min(max(2 * count, 8), 512 * blocks) if follows else 1
        made = None
        try:
            made = make(place, count)
        finally:
            if made is None:
                self._give_back(place, blocks)
        if made is None:
            return None
        if len(known) >= 16:
            known.clear()
        known[key] = place, count
        self._keep(changes, name, values, place, blocks, made)
        return made[0].item()

    def _several(self, name, draws, arrays, place, count, dtype=np.float64):
        """What a call for one number gives at each of the next places: its standard numbers are a block's first each."""
        from lanewise import _distribution_kernels as shared, _random_host as host

        drawn = []
        for k, draw in enumerate(draws):
            if isinstance(draw, tuple):
                drawn.append(self._ahead("gamma", place + k, count, draw[2] * arrays[draw[1]] + draw[3], 1.0))
            else:
                drawn.append(np.ascontiguousarray(self._ahead(draw, place + k, count, 0.0, 0.0)[::2]))
        out = np.empty(count, dtype)
        getattr(host if name == "beta" else shared, name)(count, *drawn, *[a.reshape(1) for a in arrays], out)
        return out


def _check_failures(n, p):
    """ValueError where the mean of a Poisson number would be too large: ten deviations above its own mean."""
    most = (n + 10.0 * np.sqrt(n)) * ((1.0 - p) / p)
    if not (most <= 1e15).all():
        raise ValueError(f"n too large or p too small: n * (1 - p) / p must be at most about 1e+15, not {(n * ((1.0 - p) / p)).max():.16g}")


def _placed(loc, scale):
    return [("loc", loc, "number"), ("scale", scale, "not negative")]


def _with_zeros(rows, places, stream):
    """The rows' elements at the places that are True, 0 at the others."""
    host = rows if isinstance(rows, np.ndarray) else rows.copy_to_host(stream=stream)
    wide = np.zeros((*host.shape[:-1], places.size))
    wide[..., places] = host
    if host is rows:
        return wide
    from lanewise import cuda

    with _placing.on_device_of(rows):
        return cuda.to_device(wide, stream=stream)


def _where(out):
    return "cpu" if isinstance(out, np.ndarray) else "cuda"


def _tuple(size):
    from lanewise._generator import _shape

    return None if size is None else _shape(size)
