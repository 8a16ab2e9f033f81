"""`lanewise.random.Generator`: whole arrays of random numbers, the same on CPU and GPU."""

from __future__ import annotations

import contextlib
import copyreg
import functools
import inspect
import math
import threading
from collections.abc import MutableSequence
from types import GenericAlias

import numpy as np

from lanewise import _core, _placing
from lanewise._containers import is_dask, is_lazy, says_no_stream, with_library
from lanewise._distributions import Distributions
from lanewise._parameters import chances, common_shape, fits, integer, integers, is_scalar, kind_of, on_device, parameter, read_state, refuse_masked, spread, there

_LANES = 65536
_kernels: dict[tuple[str, str, int], object] = {}  # by family, name and bytes of floats
_FEW = 32  # numbers for which a kernel that may be drawn twice is not worth its second launch
_PIECE = 1 << 16  # numbers of a formula's parts at once on the host
_ZERO, _ONE = np.zeros(()), np.ones(())
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def _new_lock():
    try:
        return threading.RLock()
    except RuntimeError as error:  # its word for no memory
        raise MemoryError("no memory for a Generator's lock") from error


class _BitGenerator(str):
    """The name of a generator's bit generator, which is also what SciPy reads the stream from, as of NumPy's bit generators."""

    def __new__(cls, name, generator):
        self = str.__new__(cls, name)
        self._generator = generator
        return self

    capsule = property(lambda self: self._generator.capsule)
    lock = property(lambda self: self._generator.lock)

    def __reduce__(self):
        return str, (str(self),)


class Generator(_core._Draws, Distributions):
    """A generator of arrays of random numbers, with the method names and keywords of `numpy.random.Generator`.

    Parameters
    ----------
    seed : None, int, sequence of ints or numpy.random.SeedSequence
        Ints must not be negative. With None, the seed comes from the operating system.
    bit_generator : "philox" or "xoroshiro128p"
        With Philox-4x32-10 (Salmon and others, 2011), a number depends on the seed and its position in the stream alone.
        xoroshiro128+ (Blackman and Vigna, 2018) has 65,536 lanes; lane i draws the elements i, i + 65536, ….
    target : None, "cpu" or "cuda"
        Where results are created if no ``out=`` is given. With None, the setting ``lanewise.config.target`` decides; its
        default "auto" means NumPy arrays.

    Every method accepts ``size=`` (an int, a tuple, or None for one number), ``dtype=`` (None means the dtype of ``out``, or
    else float64 or int64), ``out=`` (a NumPy or device array; ``size`` may then be left out) and ``stream=``. Parameters of
    distributions are numbers, or arrays on the host or a device, which broadcast with ``size`` as in NumPy. If one of them is
    on a device, the result is there, too. The numbers do not depend on the target, the launch or the number of threads.

    Raises TypeError and ValueError for arguments of the wrong kind or outside of the distribution's domain.

    >>> import numpy as np
    >>> from lanewise.random import Generator
    >>> g = Generator(42)
    >>> g.integers(10, size=5).shape
    (5,)
    >>> bool(np.all(Generator(7).random(6) == Generator(7).random(6)))
    True
    """

    # So that isinstance(g, numpy.random.Generator) holds: scipy.stats takes it as random_state=, and calls its methods.
    vars()["__class__"] = property(lambda self: np.random.Generator)

    __class_getitem__ = classmethod(GenericAlias)  # Generator[DeviceArray]: for type checkers, the arrays that it makes

    def __init__(self, seed=None, bit_generator="philox", target=None):
        if bit_generator not in ("philox", "xoroshiro128p"):
            raise ValueError(f'bit_generator must be "philox" or "xoroshiro128p", not {bit_generator!r:.200}')
        if target not in (None, "cpu", "cuda"):
            raise ValueError(f'target must be None, "cpu" or "cuda", not {target!r:.200}')
        self._sequence = seed if isinstance(seed, np.random.SeedSequence) else _sequence(seed)
        self._name = str(bit_generator)
        self._is_philox = bit_generator == "philox"
        self.target = target
        self._jumps = 0
        self._place = 0
        self._states = None
        k0, k1 = (int(word) for word in self._sequence.generate_state(2))
        self._key = (k0, k1)
        self._round_keys = None, None  # of which key, and they
        self._lock = _new_lock()
        self._formulas = {}  # of their numbers made ahead: by name and parameters, the first's place and how many

    def __repr__(self):
        return f"Generator({self._name!r}, place={self._place})"

    @property
    def bit_generator(self):
        """The name of the bit generator."""
        return _BitGenerator(self._name, self)

    @property
    def capsule(self):
        """A PyCapsule through which NumPy draws from this stream, as from the bit generators of NumPy.

        Raises TypeError for xoroshiro128+.
        """
        copyreg.pickle(np.random.Generator, _reduced)
        return super().capsule

    #: By these, scipy.stats.qmc makes children: of a bit generator, the sequence that seeds it; of a Generator, its bit generator.
    _seed_seq = property(lambda self: self._sequence)
    _bit_generator = property(lambda self: self)

    @property
    def lock(self):
        """The lock that NumPy holds while it draws from this stream through `capsule`."""
        return self._lock

    # ---- streams ----

    def spawn(self, n_children):
        """Return a list of n_children new generators, whose streams are independent of this one and of each other."""
        n_children = integer("n_children", n_children)
        if n_children < 0:
            raise ValueError(f"n_children must not be negative, not {n_children}")
        return [Generator(child, self._name, self.target) for child in self._sequence.spawn(n_children)]

    def jumped(self, jumps=1):
        """Return a generator at the same position of another stream of the same seed. Streams do not overlap; jumped(0) is a copy."""
        jumps = integer("jumps", jumps)
        if not 0 <= jumps < 2**30 - self._jumps:
            raise ValueError(f"jumps must be from 0 to {2**30 - 1 - self._jumps}, not {jumps}: a seed has 2**30 streams")
        new, state = Generator(self._sequence, self._name, self.target), self.state
        state["jumps"] += jumps
        if state["states"] is not None:
            state["states"] = _jumped(state["states"], jumps * _LANES)
        new.state = state
        return new

    @property
    def state(self):
        """The state of the generator, a dict. Assign it again later to repeat the numbers that follow.

        NumPy draws from the stream in groups of 64 blocks (`numpy.random.default_rng(g)`). After the state has been read, it
        begins a new group.
        """
        with _Alone(self):
            self._drop_words()
            states = self._states
            if states is not None:
                states = np.array(states if isinstance(states, np.ndarray) else states.copy_to_host())
            return {"bit_generator": self._name, "key": self._key, "jumps": self._jumps,
                    "place": self._place, "states": states}

    @state.setter
    def state(self, value):
        new = read_state(value, self._name, _LANES)
        with _Alone(self):
            before = self._key, self._jumps, self._place, self._states
            try:
                self._key, self._jumps, self._place, self._states = new
            except BaseException:
                self._key, self._jumps, self._place, self._states = before
                raise
            self._formulas = {}

    def __reduce__(self):
        return _blank, (type(self),), self.__getstate__()

    def __dask_tokenize__(self):
        from dask.tokenize import normalize_token

        return normalize_token(("lanewise", self.__getstate__()["state"], self.target))

    def __getstate__(self):
        return {"state": self.state, "sequence": self._sequence, "target": self.target}

    def __setstate__(self, saved):
        self.__init__(saved["sequence"], saved["state"]["bit_generator"], saved["target"])
        self.state = saved["state"]

    # ---- distributions: what `_Draws` leaves of its methods of the same names ----

    def _random(self, size=None, dtype=None, out=None, *, stream=0):
        return self._placed("random", _ZERO, _ONE, size, dtype, out, stream, None)

    def _uniform(self, low=0.0, high=1.0, size=None, dtype=None, out=None, *, stream=0):
        target = self._target_of(low, high)
        low, high = parameter("low", low), parameter("high", high)
        common_shape(None, (low, high), None)
        with np.errstate(over="ignore", invalid="ignore"):
            width = high - low
        if not np.isfinite(width).all():
            raise OverflowError(f"high - low must be a finite number, not {high} - {low}")
        if (width < 0).any():
            raise ValueError(f"high - low < 0: high must be at least low, not {high} and {low}")
        return self._placed("random", low, np.asarray(width), size, dtype, out, stream, target)

    def _standard_normal(self, size=None, dtype=None, out=None, *, stream=0):
        return self._placed("normal", _ZERO, _ONE, size, dtype, out, stream, None)

    def _normal(self, loc=0.0, scale=1.0, size=None, dtype=None, out=None, *, stream=0):
        target = self._target_of(loc, scale)
        loc, scale = parameter("loc", loc), parameter("scale", scale, "not negative")
        return self._placed("normal", loc, scale, size, dtype, out, stream, target)

    def _standard_exponential(self, size=None, dtype=None, out=None, *, stream=0, method="zig"):
        if method not in ("zig", "inv"):
            raise ValueError(f"method must be 'zig' or 'inv', which give the same numbers here, not {method!r:.200}")
        return self._placed("exponential", _ZERO, _ONE, size, dtype, out, stream, None)

    def _exponential(self, scale=1.0, size=None, dtype=None, out=None, *, stream=0):
        target = self._target_of(scale)
        return self._placed("exponential", _ZERO, parameter("scale", scale, "not negative"), size, dtype, out, stream, target)

    def _ahead(self, name, place, blocks, *parameters):
        """The numbers of some blocks, made for `_Draws`: standard ones, or with the parameters."""
        from lanewise import _random_kernels as kernels

        stream = self._keys(), np.uint32(2 * self._jumps), np.uint64(place)
        first, second = map(np.float64, parameters)
        if name == "normal":
            kernels.philox_normal_float64(blocks, *stream, np.float64(0.0), np.float64(1.0), out := np.empty(2 * blocks, np.float64))
        elif name == "exponential":
            kernels.philox_exponential_float64(blocks, *stream, np.float64(1.0), out := np.empty(2 * blocks, np.float64))
        elif name == "gamma":
            from lanewise._random_host import fill_gamma

            (fill_gamma if blocks >= _FEW else kernels.philox_gamma)(blocks, *stream, first, second, out := np.empty(blocks, np.float64))
        elif name == "uniform":
            self._fill_uniform(place, 0.0, 1.0, out := np.empty(2 * blocks, np.float64))
        elif name == "binomial":
            kernels.philox_binomial(blocks, *stream, np.int64(first), second, out := np.empty(blocks, np.int64))
        else:
            kernels.philox_poisson(blocks, *stream, first, out := np.empty(blocks, np.int64))
        return out

    def _kernel_named(self, name):
        from lanewise import _random_kernels as kernels

        return getattr(kernels, name)

    def _kernel_of_many(self, name):
        from lanewise._random_device import fitting

        return fitting(self._kernel_named(name))

    def _keys(self):
        key, (known, keys) = self._key, self._round_keys
        if key != known:
            from lanewise._random_kernels import round_keys

            keys = round_keys(*key)
            self._round_keys = key, keys
        return keys

    def _placed(self, name, loc, scale, size, dtype, out, stream, target):
        """loc + scale * standard numbers."""
        size = common_shape(None if size is None else _shape(size), (loc, scale), out)
        fill = self._start(name, size, dtype, out, _FLOATS, stream, target)
        cast, per_block = fill.dtype.type, 4 if fill.dtype.itemsize == 4 else 2
        lanes = name == "random" and per_block == 4 and not self._is_philox  # whose kernel rounds once more
        if not is_scalar(loc, scale) or lanes and not (loc == 0 and scale == 1):
            fill.place, loc, scale = (loc, scale), 0.0, 1.0
        if name == "normal" and per_block == 4 and loc == 0 and scale == 1 and self._is_philox:
            fill.name = "standard_normal"
            return fill.run(4)
        return fill.run(per_block, *([cast(scale)] if name == "exponential" else [cast(loc), cast(scale)]))

    def _target_of(self, *values):
        """Where parameters on a device make the result lie, unless the generator or out say it."""
        return there(*values) if self.target is None else None

    def _integers(self, low, high=None, size=None, dtype=None, endpoint=False, out=None, *, stream=0):
        if high is None:
            low, high = 0, low
        kind = _dtype_of(dtype, out, np.int64)
        if any(on_device(v) or np.ndim(v) for v in (low, high)):
            return self._integers_each(low, high, size, kind, bool(endpoint), out, stream)
        low, high, end = integer("low", low), integer("high", high), bool(endpoint)
        if kind.kind == "b":
            return self._booleans(low, high, end, size, out, stream)
        if kind.kind not in "iu":
            raise TypeError(f"{'dtype' if out is None else 'out.dtype'} must be bool or an integer type, not {kind}")
        bounds = np.iinfo(kind)
        if not bounds.min <= low < high + end <= int(bounds.max) + 1:
            raise _out_of_bounds(kind, low, high, end)
        return self._integers_one(low, high + end, size, kind, out, stream)

    def _integers_one(self, low, high, size, kind, out, stream, target=None):
        """Bounds that are ints, the same for every number: up to 2**32 numbers apart 32 bits make one."""
        span, wide = high - low, np.uint64 if kind == np.uint64 else np.int64
        one = self._is_philox and span <= 2**32
        fill = self._start("integers32" if one else "integers64", size, kind, out, (kind,), stream, target)
        if span == 2**64:
            fill.name = "bits"
            return fill.run(2)
        least = (2**32 - span) % span if one else (2**64 - span) % span
        if one:
            if span == 2**32:
                least = 0
            return fill.run(4, wide(low), np.uint64(span), np.uint32(least))
        return fill.run(1, wide(low), np.uint64(span), np.uint64(least))

    def _integers_each(self, low, high, size, kind, endpoint, out, stream):
        """Bounds that are arrays."""
        if kind.kind not in "iu":
            raise TypeError(f"{'dtype' if out is None else 'out.dtype'} must be an integer type where low or high are arrays, not {kind}")
        target = self._target_of(low, high)
        low, high = integers("low", low), integers("high", high)
        size = common_shape(None if size is None else _shape(size), (low, high), out)
        bounds = np.iinfo(kind)
        if (low < bounds.min).any():
            raise ValueError(f"low is out of bounds for {kind}: it must be at least {bounds.min}, not {low.min()}")
        top = high if endpoint else np.where(high > bounds.min, high - np.array(1, high.dtype), high)
        if (top > bounds.max).any():
            raise ValueError(f"high is out of bounds for {kind}: it must be at most {int(bounds.max) + (not endpoint)}, not {high.max()}")
        if not ((low <= high) if endpoint else (low < high)).all():
            raise ValueError(f"low {'> high: low must be at most' if endpoint else '>= high: low must be below'} high everywhere")
        if self._window is None and low.size and high.size and (low == low.flat[0]).all() and (high == high.flat[0]).all():
            return self._integers_one(int(low.flat[0]), int(high.flat[0]) + endpoint, size, kind, out, stream, target)
        span = high.astype(np.uint64) - low.astype(np.uint64) + np.uint64(endpoint)
        fill = self._start("integers_each", size, kind, out, (kind,), stream, target)
        return fill.run(1, spread(low.astype(np.uint64), fill.shape, np.uint64), spread(span, fill.shape, np.uint64))

    def _booleans(self, low, high, end, size, out, stream):
        """integers of dtype bool: bytes that are 0 or 1."""
        from lanewise import cuda

        if not 0 <= low < high + end <= 2:
            raise _out_of_bounds("bool", low, high, end)
        high += end
        if out is None:
            return self.integers(low, high, size, np.uint8, stream=stream).astype(np.bool_)
        if isinstance(out, np.ndarray):
            self.integers(low, high, size, out=out.view(np.uint8), stream=stream)
            return out
        to = cuda.as_cuda_array(out)
        with _placing.on_device_of(to):
            drawn = cuda.device_array(tuple(out.shape), np.uint8, stream=stream)
            self.integers(low, high, size, out=drawn, stream=stream)
            to[...] = drawn.astype(np.bool_)
        return out

    def _gamma(self, shape, scale=1.0, size=None, dtype=None, out=None, *, stream=0):
        target = self._target_of(shape, scale)
        arrays = parameter("shape", shape, "shape"), parameter("scale", scale, "not negative")
        return self._each("gamma", arrays, _FLOATS, size, dtype, out, stream, target)

    def _standard_gamma(self, shape, size=None, dtype=None, out=None, *, stream=0):
        return self._gamma(shape, 1.0, size, dtype, out, stream=stream)

    def _poisson(self, lam=1.0, size=None, dtype=None, out=None, *, stream=0):
        return self._poisson_numbers("lam", parameter("lam", lam, "mean"), size, dtype, out, stream, self._target_of(lam))

    def _poisson_numbers(self, name, means, size, dtype, out, stream, target):
        """name: what a narrow dtype is too narrow for."""
        fits(name, _dtype_of(dtype, out, np.int64), lambda: means + 12.0 * np.sqrt(means) + 60.0)  # what 1e-30 of all exceed
        return self._each("poisson", (means,), "iu", size, dtype, out, stream, target, np.int64)

    def _binomial(self, n, p, size=None, dtype=None, out=None, *, stream=0):
        """Draw the number of successes in n >= 0 trials of probability p: by inversion for n * p < 10, by Hörmann's BTRS (1993) otherwise."""
        target = self._target_of(n, p)
        arrays = integers("n", n, "count"), parameter("p", p, "chance")
        fits("n", _dtype_of(dtype, out, np.int64), lambda: arrays[0])
        return self._each("binomial", arrays, "iu", size, dtype, out, stream, target, np.int64)

    def _each(self, name, arrays, kinds, size, dtype, out, stream, target, default=np.float64):
        """Numbers by a kernel that takes the parameters of each."""
        size = common_shape(None if size is None else _shape(size), arrays, out)
        fill = self._start(name, size, dtype, out, kinds, stream, target, default)
        if is_scalar(*arrays):
            return fill.run(1, *(a.dtype.type(a) for a in arrays))
        fill.name += "_each"
        return fill.run(1, *(spread(a, fill.shape, a.dtype) for a in arrays))

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True, *, stream=0):
        """Draw elements of `a` along an axis. If `a` is an int, they are drawn from arange(a); if it is a device array, the result is one.

        p: the probability of each element; with None, all are equally likely. With replace=False, no element is drawn twice,
        and the probabilities of the remaining elements keep their ratios: the elements with the smallest e / p are taken, where e
        are exponential numbers (Efraimidis and Spirakis, "Weighted Random Sampling with a Reservoir", 2006). shuffle is accepted
        for NumPy's programs; the order is always random.

            >>> sorted(lw.random.Generator(1).choice(["a", "b", "c"], 2, replace=False, p=[0.5, 0.5, 0.0]).tolist())
            ['a', 'b']
        """
        refuse_masked("a", a)
        _refuse_dask("a", a, "choice(len(a), size)")
        is_here = type(a) is int or not hasattr(a, "copy_to_host")
        items = None if type(a) is int or np.ndim(a) == 0 and not on_device(a) else np.asarray(a) if is_here else a
        if items is None:
            if isinstance(a, (bool, np.bool_)) or not hasattr(a, "__index__") or isinstance(a, np.ndarray) and a.dtype.kind not in "iu":
                raise ValueError(f"a must be an int or an array with a dimension, not {kind_of(a, np.asarray(a))}")
            n = max(a.__index__(), 0)
            if n >= 2**63:
                raise ValueError(f"a must be at most 2**63 - 1, not {n}")
            if axis != 0 or isinstance(axis, bool):
                _axis(axis, np.empty(0))
        else:
            axis = _axis(axis, items)
            n = items.shape[axis]
        shape = _shape(size)
        count = math.prod(shape)
        if n == 0 and count > 0:
            raise ValueError("a must be a positive int or not empty, unless size is 0")
        if p is not None:
            p = chances("p", p, n)
        if replace:
            index = self._choose(n, shape, p, stream)
        else:
            index = self._without(n, count, p, stream).reshape(shape)
        if items is None:
            return int(index) if size is None else index  # as NumPy
        found = np.take(items, index, axis)  # of a device array on its device
        return found[()] if size is None and is_here and isinstance(found, np.ndarray) else found

    def _choose(self, n, shape, p, stream):
        """Indices below n with replacement, in a NumPy array."""
        if p is None and len(shape) < 2 and stream == 0 and self._is_here():
            return self.integers(n or 1, size=shape[0] if shape else None)
        index = np.empty(shape, np.int64)
        if p is None:
            return self.integers(n or 1, out=index)
        from lanewise.random import alias_table

        return self._start("choice", None, np.int64, index, "iu", 0).run(1, *alias_table(p))

    def _without(self, n, count, p, stream):
        """count different indices below n, in the order of the draws."""
        if count > n:
            raise ValueError(f"cannot take {count} of {n} elements without replacement: a larger sample than population")
        if p is None:
            return self._first(n, count, stream)
        if np.count_nonzero(p) < count:
            raise ValueError(f"fewer non-zero entries in p than size: {np.count_nonzero(p)} and {count}")
        keys = self.standard_exponential(out=np.empty(n, np.float64))
        with np.errstate(divide="ignore"):
            keys /= p
        if not 0 < count < n // 4:
            return np.argsort(keys, kind="stable")[:count]
        least = np.sort(np.argpartition(keys, count - 1)[:count])
        return least[np.argsort(keys[least], kind="stable")]

    def _is_here(self):
        from lanewise import config

        return (self.target or config.target) != "cuda"

    def _words(self, steps, stream):
        """64 random bits for each exchange of an order; None: of Philox, which counts them itself."""
        if self._is_philox:
            return None
        return self._start("bits", None, np.uint64, np.empty(steps, np.uint64), "iu", stream).run(2)

    def _order(self, n, stream):
        """The numbers below n in random order."""
        return self._first(n, n, stream)

    def _first(self, n, count, stream):
        """The first of them."""
        with _Alone(self):
            return self._sample(n, count, self._words(count, stream), stream)

    def _mixed(self, array, axis, together, stream):
        """Exchanges in a contiguous array: parts along its first axis, or the elements of each line along any."""
        if array.size:
            with _Alone(self):
                self._mix(array, axis, together, self._words(array.shape[0] if together else array.size, stream), stream)
        return array

    def permutation(self, x, axis=0, *, stream=0):
        """Return a copy of x with its slices along the axis in random order. If x is an int, return arange(x) in random order."""
        refuse_masked("x", x)
        _refuse_dask("x", x, "permutation(len(x))")
        if type(x) is int or np.ndim(x) == 0 and not on_device(x):
            if not hasattr(x, "__index__"):
                raise TypeError(f"x must be an int or an array with a dimension, not {type(x).__name__}")
            n = max(integer("x", x), 0)
            if n >= 2**63:
                raise ValueError(f"x must be at most 2**63 - 1, not {n}")
            return self._order(n, stream)
        host = x.copy_to_host() if hasattr(x, "copy_to_host") else np.asarray(x)
        axis = _axis(axis, host)
        if host.ndim == 1:
            mixed = self._mixed(np.array(host), 0, True, stream)
        else:
            mixed = np.take(host, self._order(host.shape[axis], stream), axis)
        if not hasattr(x, "copy_to_host"):
            return mixed
        from lanewise import cuda

        with _placing.on_device_of(x):
            return cuda.to_device(mixed, stream=stream)

    def shuffle(self, x, axis=0, *, stream=0):
        """Put the slices of x along the axis in random order, in place. x is a NumPy or device array, or a mutable sequence."""
        if isinstance(x, MutableSequence):
            if axis != 0:
                raise NotImplementedError(f"axis must be 0 for a {type(x).__name__}")
            for k, item in enumerate([x[k] for k in self._order(len(x), stream).tolist()]):
                x[k] = item
            return
        _refuse_dask("x", x, "permutation(len(x))")
        x = _target(x, "x", "a NumPy or device array, or a mutable sequence")
        if x is None or not x.ndim:
            raise TypeError(f"x must be a NumPy or device array with a dimension, or a mutable sequence, not {type(x).__name__}")
        if isinstance(x, np.ndarray) and not x.flags.writeable:
            raise ValueError("x is read-only")
        if type(x) is np.ndarray and x.flags.c_contiguous and _axis(axis, x) == 0:
            self._mixed(x, 0, True, stream)
        else:
            x[...] = self.permutation(x, axis, stream=stream)

    def permuted(self, x, axis=None, out=None, *, stream=0):
        """Return a copy of x in which each line along the axis has a random order of its own. With axis=None, all elements are mixed.

        out: an array of the shape of x for the result; it may be x itself.
        """
        refuse_masked("x", x)
        _refuse_dask("x", x, "permutation(len(x))")
        x = np.asarray(x)
        if not x.ndim:
            raise TypeError("x must be an array with a dimension")
        if out is not None:
            if not isinstance(out, np.ndarray):
                raise TypeError(f"out must be a NumPy array, not {type(out).__name__}")
            refuse_masked("out", out)
            if out.shape != x.shape:
                raise ValueError(f"out has shape {out.shape}, x {x.shape}: different shapes")
            if not out.flags.writeable:
                raise ValueError("out is read-only")
            if not np.can_cast(x.dtype, out.dtype):
                raise TypeError(f"out must take x's dtype {x.dtype}, not {out.dtype}")
        if axis is not None:
            axis = _axis(axis, x)
        mixed = np.array(x, order="C")
        if axis is None:
            self._mixed(mixed.reshape(-1), 0, True, stream)
        else:
            self._mixed(mixed, axis, False, stream)
        if out is None:
            return mixed
        out[...] = mixed
        return out

    def bytes(self, length, *, stream=0):
        """Return this number of random bytes."""
        length = integer("length", length)
        if length < 0:
            raise ValueError(f"length must not be negative, not {length}")
        if length >= 2**63:
            raise OverflowError(f"length must be below 2**63, not {length}")
        return _core._bytes_of_words(length, lambda words: self._start("bits", None, np.uint64, words, "iu", stream).run(2))

    # ---- filling ----

    def _start(self, name, size, dtype, out, kinds, stream, target=None, default=np.float64):
        return _Fill(self, name, size, _dtype_of(dtype, out, default), out, kinds, stream, target)


def _with_chunks(name, method):
    """The method with chunks=, for a Dask array: lanewise/_dask_random.py."""

    @functools.wraps(method)
    def draw(self, *args, chunks=None, **kwargs):
        if chunks is None:
            if "stream" in kwargs:
                _check_stream(self, name, args, kwargs)
            return method(self, *args, **kwargs)
        from lanewise._dask_random import draw as lazily

        return lazily(self, name, method, args, kwargs, chunks)

    shown = inspect.signature(method)
    chunks = inspect.Parameter("chunks", inspect.Parameter.KEYWORD_ONLY, default=None)
    draw.__signature__ = shown.replace(parameters=[*shown.parameters.values(), chunks])
    return draw


def _with_stream(name, method):
    """The method, whose stream= is refused where nothing is on a device."""

    @functools.wraps(method)
    def draw(self, *args, **kwargs):
        if "stream" in kwargs:
            _check_stream(self, name, args, kwargs)
        return method(self, *args, **kwargs)

    return draw


#: What gives numbers of the host whatever the target is; permutation and shuffle do for all but device arrays.
_ON_HOST = frozenset(("choice", "multinomial", "multivariate_normal", "multivariate_hypergeometric", "hypergeometric", "permuted", "bytes"))


def _check_stream(generator, name, args, kwargs):
    """TypeError, as of reductions, for a stream that says something of a call whose numbers are made on the host."""
    stream = kwargs["stream"]
    if says_no_stream(stream):
        return
    if not isinstance(stream, int) and not any(hasattr(stream, one) for one in ("__cuda_stream__", "cuda_stream", "ptr", "handle")):
        raise TypeError(f"stream: expected a stream, a handle, 0 or None, got {type(stream).__name__}")
    is_here = generator._is_here() or name in ("permutation", "shuffle")
    if name in _ON_HOST or isinstance(kwargs.get("out"), np.ndarray) or is_here and not any(map(on_device, (*args, *kwargs.values()))):
        raise TypeError(f"stream= is for device arrays; `Generator.{name}` was called for arrays of the host")


# The rest of `_Draws`' methods, by the names of its own tables: lanewise/_core calls them.
for _name in [name for name in vars(_core._Draws) if hasattr(Generator, f"_{name}") and not name.startswith("_")]:
    getattr(Generator, f"_{_name}").__qualname__ = f"Generator.{_name}"  # what TypeErrors name
    setattr(Generator, f"_{_name}", _with_chunks(_name, getattr(Generator, f"_{_name}")))
for _name in (
    "multinomial", "dirichlet", "noncentral_f", "multivariate_hypergeometric", "multivariate_normal", "choice",
):
    getattr(Generator, _name).__qualname__ = f"Generator.{_name}"
    setattr(Generator, _name, _with_chunks(_name, getattr(Generator, _name)))
for _name in ("permutation", "shuffle", "permuted", "bytes"):
    setattr(Generator, _name, _with_stream(_name, getattr(Generator, _name)))


def _blank(kind):
    """A Generator before its state is set."""
    return kind.__new__(kind)


def _reduced(rng):
    """How copy and pickle make a NumPy Generator again: NumPy's own way knows no bit generators but its own."""
    return (np.random.Generator, (rng.bit_generator,)) if type(rng.bit_generator) is Generator else rng.__reduce__()


def default_rng(seed=None):
    """Return a `Generator`, as `numpy.random.default_rng` does.

    seed: an int, a SeedSequence or None, as for `Generator`; or a `Generator`, which is returned unchanged.

    Raises TypeError for a generator of NumPy, because it would draw other numbers.

        >>> lw.random.default_rng(7).random() == lw.random.Generator(7).random()
        True
    """
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, (np.random.Generator, np.random.BitGenerator, np.random.RandomState)):
        raise TypeError(f"seed must be an int, a SeedSequence or a lanewise.random.Generator, not NumPy's {type(seed).__name__}: it would draw other numbers")
    return Generator(seed)


class _Alone:
    """While threads draw from one generator: what begins at its place has all blocks up to where it ends. Calls that
    `_Draws` would serve come here meanwhile, and wait."""

    __slots__ = ("generator", "before")

    def __init__(self, generator):
        self.generator = generator

    def __enter__(self):
        self.generator._lock.acquire()
        self.before, self.generator._is_busy = self.generator._is_busy, True

    def __exit__(self, *raised):
        self.generator._is_busy = self.before
        self.generator._lock.release()


class _Fill:
    """One array being filled: where it lies, and which kernel does it."""

    def __init__(self, generator, name, size, dtype, out, kinds, stream, target):
        self.given, out = out, _target(out)
        self.place, self.window = None, generator._window
        self.generator, self.name, self.out, self.stream = generator, name, out, stream
        self.dtype = dtype
        if dtype not in kinds if isinstance(kinds, tuple) else dtype.kind not in kinds:
            allowed = " or ".join(map(str, kinds)) if isinstance(kinds, tuple) else "an integer type"
            raise TypeError(f"{'dtype' if out is None else 'out.dtype'} must be {allowed}, not {dtype}")
        if out is not None and size is not None and tuple(out.shape) != _shape(size):
            raise ValueError(f"out has shape {tuple(out.shape)}, size is {_shape(size)}")
        if isinstance(out, np.ndarray) and not out.flags.writeable:
            raise ValueError("out is read-only")
        self.shape = _shape(size) if out is None else tuple(out.shape)
        self.scalar = size is None and out is None
        self.on_host = isinstance(out, np.ndarray)
        self.device = getattr(target, "device", None)
        if out is None:
            self.on_host = target != "cuda" if target else generator._is_here()

    def run(self, per_block, *parameters):
        """Fill it; per_block: numbers that one philox block gives. The place is as before if that fails."""
        with _Alone(self.generator), self._there():
            place = self.generator._place
            try:
                return self._run(per_block, parameters)
            except BaseException:
                self.generator._place = place
                raise

    def made(self, name, draws, arrays, rows=0):
        """Fill it with the kernel of that name in _distribution_kernels; rows: where one index makes that many numbers."""
        with self._there():
            flat = self._flat()
            with _Alone(self.generator):
                place = self.generator._place
                try:
                    if self.window is not None:
                        self._made_part(name, draws, arrays, rows, flat)
                    elif flat.size:
                        self._made(name, draws, arrays, rows, flat)
                except BaseException:
                    self.generator._place = place
                    raise
            return self._result(flat)

    def _there(self):
        """The device of out, or of the parameters, is the current one meanwhile."""
        return _placing.on_device_of(self.out) if self.out is not None else self.device or contextlib.nullcontext()

    def _made(self, name, draws, arrays, rows, flat):
        """Piece by piece where that is possible: the standard numbers then stay in the caches."""
        g, count = self.generator, flat.size
        shapes = [spread(d[2] * arrays[d[1]] + d[3], self.shape, np.float64) if isinstance(d, tuple) else None for d in draws]
        given = self._moved(arrays if rows else [spread(a, self.shape, np.float64) for a in arrays])
        if not (self.on_host or rows) and g._is_philox and self._fused(name, draws, shapes, given, flat):
            return
        whole = 2 * max(rows, 1)
        piece = -(-_PIECE // whole) * whole if self.on_host and g._is_philox else count
        rooms = [self._new(min(piece, count), np.float64) for _ in draws]
        if piece >= count:
            self._piece(name, draws, rooms, shapes, given, rows, flat)
            return
        lengths = [count if isinstance(d, tuple) else (count + 1) // 2 for d in draws]  # in blocks
        starts = [g._place + sum(lengths[:k]) for k in range(len(draws))]
        for at in range(0, count, piece):
            places = [start + (at if isinstance(d, tuple) else at // 2) for start, d in zip(starts, draws)]
            part = slice(at, at + piece)
            own = given if rows else [a[part] if a.size > 1 else a for a in given]
            self._piece(name, draws, rooms, [a if a is None or a.size == 1 else a[part] for a in shapes], own, rows, flat[part], places)
        g._place = starts[0] + sum(lengths)

    def _fused(self, name, draws, shapes, given, flat):
        """Fill it with one kernel that draws the standard numbers as well. False: there is none."""
        from lanewise import _formula_device as device

        g, count = self.generator, flat.size // 2
        starts = [g._place + k * (count + flat.size % 2) for k in range(len(draws))]
        kernel = device.fused(name, draws, len(given))
        if kernel is None or count == 0 or any(start % 2**32 + count > 2**32 for start in starts):  # see `_block`
            return False
        kernel(count, device.COEFFICIENTS, g._keys(), np.uint32(2 * g._jumps), *map(np.uint64, starts), *given, flat[: 2 * count], **self._where())
        g._place += count * len(draws)
        if flat.size % 2:
            last = [a[2 * count :] if a.size > 1 else a for a in given]
            self._piece(name, draws, [self._new(1, np.float64) for _ in draws], shapes, last, 0, flat[2 * count :], [start + count for start in starts])
        return True

    def _made_part(self, name, draws, arrays, rows, flat):
        """The same for the window's numbers."""
        g, (starts, run, total) = self.generator, self._runs()
        lengths = [total if isinstance(d, tuple) else (total + 1) // 2 for d in draws]
        places = [g._place + sum(lengths[:k]) for k in range(len(draws))]
        shapes = [spread(d[2] * arrays[d[1]] + d[3], self.shape, np.float64) if isinstance(d, tuple) else None for d in draws]
        given = arrays if rows else [spread(a, self.shape, np.float64) for a in arrays]
        g._window = None
        try:
            for i, first in enumerate(starts if run else ()):
                part = slice(i * run, (i + 1) * run)
                self._made_run(name, draws, places, first, [a if a is None or a.size == 1 else a[part] for a in shapes],
                               given if rows else [a if a.size == 1 else a[part] for a in given], rows, flat[part])
        finally:
            g._window = self.window
        g._place = places[0] + sum(lengths)

    def _made_run(self, name, draws, places, first, shapes, given, rows, flat):
        """Numbers from the first one on: from that on with which its block begins."""
        before = first % (2 * max(rows, 1))
        at, room = first - before, self._new(before + flat.size)
        places = [place + (at if isinstance(d, tuple) else at // 2) for place, d in zip(places, draws)]
        given = self._moved(given if rows else [_repeated(a, before) for a in given])
        rooms = [self._new(room.size, np.float64) for _ in draws]
        self._piece(name, draws, rooms, [a if a is None else _repeated(a, before) for a in shapes], given, rows, room, places)
        flat[...] = room[before:]

    def _runs(self):
        """The window, in numbers."""
        starts, run, total = self.window
        each = math.prod(self.shape[1:])
        return [start * each for start in starts], run * each, total * each

    def _piece(self, name, draws, rooms, shapes, given, rows, flat, places=None):
        """Numbers of `flat`; places: where each of the standard numbers begin."""
        if self.on_host and name in ("beta", "dirichlet"):
            from lanewise import _random_host as kernels
        else:
            from lanewise import _distribution_kernels as kernels
        drawn = []
        for k, draw in enumerate(draws):
            if places is not None:
                self.generator._place = places[k]
            drawn.append(self._drawn(draw, rooms[k][: flat.size], shapes[k]))
        if rows:
            drawn, flat = [d.reshape(-1, rows) for d in drawn], flat.reshape(-1, rows)
        getattr(kernels, name)(len(flat), *drawn, *given, flat, **self._where())

    def _drawn(self, draw, out, shape):
        """float64 standard numbers for a formula, where the result lies."""
        if shape is not None:
            return self.generator._start("gamma_each", None, None, out, _FLOATS, self.stream).run(1, shape, np.ones(1))
        return getattr(self.generator, {"uniform": "random"}.get(draw, f"standard_{draw}"))(out=out, stream=self.stream)

    def _moved(self, arrays):
        return arrays if self.on_host else _on_device(arrays, self.stream)

    def _run(self, per_block, parameters):
        flat = self._flat()
        if self.window is not None:
            self._philox_part(flat, per_block, parameters)
        elif flat.size:
            if self.generator._is_philox:
                self._philox(flat, per_block, parameters)
            else:
                self._lanes(flat, parameters)
        if flat.size:
            if self.place is not None:
                from lanewise._random_kernels import place

                loc, scale = self._moved([spread(a, self.shape, self.dtype) for a in self.place])
                place(flat.size, loc, scale, flat, **self._where())
        return self._result(flat)

    def _result(self, flat):
        if self.out is None:
            result = flat if self.shape == flat.shape else flat.reshape(self.shape)
            if not (self.scalar and self.on_host):
                return result
            # as NumPy: integers() gives a scalar of its dtype, all others Python's float or int
            return result[()] if self.name.startswith(("integers", "bits")) else result.item()
        if not self._shares:
            self.out[...] = flat.reshape(self.shape)
        return self.given

    def _flat(self):
        """A contiguous one-dimensional array: a view of out where that is possible."""
        self._shares = self.out is not None and self.out.flags["C_CONTIGUOUS"]
        if self._shares:
            if self.out.ndim == 1:
                return self.out
            flat = self.out.reshape(-1)
            if flat.ndim == 1:  # not of a matrix
                return flat
            self._shares = False
        return self._new(math.prod(self.shape))

    def _new(self, count, dtype=None):
        from lanewise import cuda

        if self.on_host:
            return np.empty(count, dtype or self.dtype)
        return cuda.device_array(count, dtype or self.dtype, stream=self.stream)

    def _kernel(self, family):
        key = family, self.name, self.dtype.itemsize if self.dtype.kind == "f" else 0
        if key not in _kernels:
            from lanewise import _random_kernels as kernels

            name = f"{family}_{self.name}"
            if self.dtype.kind == "f" and not self.name.startswith(("gamma", "vonmises")):
                name += f"_{self.dtype.name}"
            _kernels[key] = getattr(kernels, name)
        return _kernels[key]

    def _philox(self, flat, per_block, parameters):
        whole = flat.size // per_block
        if not self.on_host:
            parameters = _on_device(parameters, self.stream)
        done = 0
        while done < whole:  # one launch of blocks never crosses a multiple of 2**32: `_block` relies on it
            count = min(whole - done, 2**32 - self.generator._place % 2**32) if per_block > 1 else whole
            part = flat if count * per_block == flat.size else flat[done * per_block : (done + count) * per_block]
            self._blocks(count, parameters, part)
            done += count
        if whole * per_block < flat.size:
            last = self._new(per_block)
            self._blocks(1, parameters, last)
            flat[whole * per_block :] = last[: flat.size - whole * per_block]

    def _philox_part(self, flat, per_block, parameters):
        """The window's numbers."""
        g, (starts, run, total) = self.generator, self._runs()
        place, own = g._place, parameters
        for i, first in enumerate(starts if run else ()):
            part = slice(i * run, (i + 1) * run)
            if self.name.endswith("_each"):
                own = [a[part] if isinstance(a, np.ndarray) and a.size > 1 else a for a in parameters]
            g._place = place + first // per_block
            self._philox_run(flat[part], first % per_block, per_block, own)
        g._place = place + -(-total // per_block)

    def _philox_run(self, flat, begin, per_block, parameters):
        """Numbers from number `begin` of a block on."""
        inside = min(-begin % per_block, flat.size)
        if inside:
            block = self._new(per_block)
            self._blocks(1, parameters if self.on_host else _on_device(parameters, self.stream), block)
            flat[:inside] = block[begin : begin + inside]
        self._philox(flat[inside:], per_block, parameters)

    def _blocks(self, count, parameters, part):
        g = self.generator
        if self.on_host and self.name == "random" and self.dtype == np.float64 and type(self.stream) is int and self.stream == 0 and part.flags.carray:
            g._fill_uniform(g._place, *parameters, part)
            g._place += count
            return
        kernel = self._kernel("philox")
        if self.on_host and self.name.startswith("gamma") and count >= _FEW:
            from lanewise._random_host import fill_gamma as kernel
        elif not self.on_host and count > _core._few_blocks:
            from lanewise._random_device import fitting

            kernel = fitting(kernel)
        kernel(count, g._keys(), np.uint32(2 * g._jumps), np.uint64(g._place), *parameters, part,
               **self._where())
        g._place += count

    def _lanes(self, flat, parameters):
        self.name = {"integers64": "integers", "integers32": "integers"}.get(self.name, self.name)
        if not self.on_host:
            self._refuse_capture()
            parameters = _on_device(parameters, self.stream)
        self._kernel("lanes")(min(flat.size, _LANES), self._take_states(), _LANES, *parameters, flat, **self._where())
        self.generator._place += flat.size

    def _where(self):
        return {"stream": self.stream}

    def _refuse_capture(self):
        """RuntimeError where a graph would keep the states' addresses: they may move, and launches of the graph advance them."""
        if _core.cuda._is_capturing(self.stream):
            raise RuntimeError(f'a Generator of {self.generator._name} cannot draw on a stream that is being captured: its states would '
                               'change at each launch of the graph. Use bit_generator="philox", or draw before the capture')

    def _take_states(self):
        """The lanes' states, moved to where the array lies."""
        from lanewise import cuda
        from lanewise.random import init_xoroshiro128p_states_cpu, xoroshiro128p_dtype

        g = self.generator
        if g._states is None:
            states = np.empty(_LANES, xoroshiro128p_dtype)
            seed = g._key[0] | g._key[1] << 32
            init_xoroshiro128p_states_cpu(states, seed, g._jumps * _LANES)
            g._states = states
        if self.on_host and not isinstance(g._states, np.ndarray):
            g._states = g._states.copy_to_host()
        elif not self.on_host:
            g._states = cuda.to_device(g._states, stream=self.stream)  # no copy of what is on this device
        return g._states


def _repeated(array, before):
    """As many of the first elements once more in front: numbers of theirs are thrown away."""
    return array if array.size == 1 or not before else np.concatenate([array[:before], array])


def _jumped(states, jumps):
    """xoroshiro128+ states that many jumps on: products by bytes with the tables of J**(2**level)."""
    words = np.ascontiguousarray(states).view(np.uint64).reshape(-1, 2)
    for level in range(jumps.bit_length()):
        if jumps >> level & 1:
            table = np.frombuffer(_core._xoroshiro_table(level), np.uint64).reshape(16, 256, 2)
            places = words.astype("<u8").view(np.uint8)
            words = np.bitwise_xor.reduce([table[k, places[:, k]] for k in range(16)])
    return words.reshape(-1).view(states.dtype)


def _out_of_bounds(kind, low, high, endpoint):
    return ValueError(f"low and high must be within {kind} and low {'at most' if endpoint else 'below'} high, not {low} and {high}")


def _refuse_dask(name, x, indices):
    """TypeError for what would be computed here, as a whole. indices: what draws the indices of elements."""
    if is_lazy(x):
        kind = "a Dask array" if is_dask(x) else with_library(x)
        raise TypeError(f"{name} is {kind}, which would be computed as a whole: pass {name}.compute(), or draw indices, as in {name}[g.{indices}]")


def _axis(axis, array):
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise TypeError(f"axis must be an int, not {type(axis).__name__}")
    if not -array.ndim <= axis.__index__() < array.ndim:
        raise np.exceptions.AxisError(f"axis must be from {-array.ndim} to {array.ndim - 1}, not {axis}")
    return axis.__index__() % array.ndim


def _target(out, name="out", expected="a NumPy or device array"):
    """out as one of the two kinds of arrays that are filled; another library's is viewed."""
    if out is None or type(out) is np.ndarray:
        return out
    from lanewise import cuda

    if type(out) is cuda.DeviceArray:
        return out
    refuse_masked(name, out)
    if isinstance(out, (np.ndarray, cuda.DeviceArray)):
        return out
    if not cuda.is_cuda_array(out) and not hasattr(out, "__dlpack__"):
        raise TypeError(f"{name} must be {expected}, not {type(out).__name__}")
    return cuda.as_cuda_array(out)


def _on_device(parameters, stream):
    return tuple(_moved(p, stream) if isinstance(p, np.ndarray) else p for p in parameters)


_numbers: dict[tuple[str, int, str, bytes], object] = {}  # on devices, which kernels read: by target, device, dtype and value
_MOST_NUMBERS = 256


def _moved(parameter, stream):
    """The parameter on the current device."""
    from lanewise import cuda

    made = _number(parameter) if parameter.shape == (1,) else cuda.to_device(parameter)
    if stream is not None and not (type(stream) is int and stream == 0) and _core.cuda._is_capturing(stream):
        _core.cuda._keep_for_graph(stream, made)
    return made


def _number(parameter):
    """An array of one number: it is kept on the device, so that calls with the same ones copy nothing."""
    from lanewise import config, cuda

    key = config.target, cuda.get_current_device().id, parameter.dtype.char, parameter.tobytes()
    found = _numbers.get(key)
    if found is None or not getattr(found, "_is_alive", True):
        if len(_numbers) >= _MOST_NUMBERS:
            _numbers.clear()
        found = _numbers[key] = cuda.to_device(parameter)
    return found


def _sequence(seed):
    """The SeedSequence of None, an int or ints."""
    refuse_masked("seed", seed)
    parts = () if seed is None else seed if isinstance(seed, (tuple, list, np.ndarray)) else (seed,)
    for part in parts:
        if isinstance(part, (bool, np.bool_)) or not hasattr(part, "__index__"):
            raise TypeError(f"seed must be None, an int, ints or a SeedSequence, not {type(part).__name__}")
        if part.__index__() < 0:
            raise ValueError(f"seed must not be negative, not {part}")
    return np.random.SeedSequence(seed)


def _dtype_of(dtype, out, default):
    """What is asked for, or out's: they must be the same."""
    if out is None:
        return np.dtype(default if dtype is None else dtype)
    found = np.dtype(_target(out).dtype)
    if dtype is not None and np.dtype(dtype) != found:
        raise TypeError(f"out must have the dtype {np.dtype(dtype)}, not {found}")
    return found


def _shape(size):
    if size is None:
        return ()
    if type(size) is int and size >= 0:
        return (size,)
    if type(size) is tuple and all(type(part) is int and part >= 0 for part in size):
        return size
    refuse_masked("size", size)
    if isinstance(size, np.ndarray) and size.ndim == 1:
        size = size.tolist()
    parts = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    for part in parts:
        if isinstance(part, (bool, np.bool_)) or not hasattr(part, "__index__") or np.ndim(part):
            raise TypeError(f"size must be an int or a tuple of ints, not {size!r:.200}")
        if part.__index__() < 0:
            raise ValueError(f"size must not be negative, not {size!r:.200}")
    return tuple(part.__index__() for part in parts)

