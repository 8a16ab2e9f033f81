"""Calls of NumPy's functions at random, with device arrays: NumPy itself makes the same call with host arrays, and what comes back must be
equal: values, dtype and shape, or the class of the exception.

`CALLS` has a row for each function that device arrays support: what draws its arguments. About one argument in ten is not what the function
asks for: an axis that is out of bounds, a float where an int belongs, a text. Arrays have zero to four dimensions, of 0 to 4 elements, in C or
Fortran order, with gaps, reversed, or broadcast.

    python tests/fuzz/numpy_calls.py --count 20000 [--seed N] [--only median,roll]
"""

from __future__ import annotations

import random
import warnings

import numpy as np

import lanewise as lw
from lanewise import cuda

REAL = "?bBhHiIlLefd"
DTYPES = REAL + "FD"
_COMMON = "?bBilfdFDe"
windows = np.lib.stride_tricks.sliding_window_view


class Draw:
    """What arguments are drawn from."""

    def __init__(self, seed: int, hostile: float = 0.1) -> None:
        self.random, self.numbers, self.hostile, self.faults = random.Random(seed), np.random.default_rng(seed), hostile, 0
        self.faults = 0

    def maybe(self, p: float = 0.5) -> bool:
        return self.random.random() < p

    def one(self, *choices):
        chosen = self.random.choice(choices)
        self.faults += isinstance(chosen, str) and chosen == "x"
        return chosen

    def some(self, **drawers):
        """Keywords, each of which is there in one call of three."""
        return {name: draw() for name, draw in drawers.items() if self.maybe(0.35)}

    # ---- arrays ----

    def dtype(self, chars: str = _COMMON) -> str:
        return self.random.choice(chars)

    def shape(self, ndim=None, low: int = 0):
        ndim = self.random.choice([0, 1, 1, 1, 2, 2, 2, 3, 4]) if ndim is None else ndim
        return tuple(max(self.random.choice([0, 1, 2, 3, 3, 4, 4]), low) for _ in range(ndim))

    def array(self, shape=None, chars: str = _COMMON, low: int = 0, ndim=None, special: float = 0.15, integers=None):
        shape = self.shape(ndim, low) if shape is None else shape
        dtype = np.dtype(self.dtype(chars))
        if integers is not None:
            values = self.numbers.integers(*integers, shape).astype(dtype)
        elif dtype.kind == "b":
            values = self.numbers.random(shape) < 0.5
        elif dtype.kind in "iu":
            values = self.numbers.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
        else:
            values = np.asarray(self.numbers.normal(size=shape) * self.one(1, 3, 0.2))
            if self.maybe(0.4):
                values = np.asarray(np.rint(values * 2))
            values = values.astype(dtype)
            if dtype.kind == "c":
                values = (values + 1j * self.numbers.normal(size=shape)).astype(dtype)
            if self.maybe(special) and values.size:
                flat = values.reshape(-1)
                flat[self.numbers.integers(0, flat.size, 2)] = self.one(np.nan, np.inf, -np.inf, 0.0, -0.0)
        return self.laid_out(np.asarray(values))

    def laid_out(self, x):
        """The same elements in another layout."""
        kind = self.random.randrange(8)
        if x.ndim == 0 or kind < 3:
            return x
        if kind == 3:
            return np.asfortranarray(x)
        if kind == 4:
            wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
            wide[..., ::2] = x
            return wide[..., ::2]
        if kind == 5:
            return x[::-1].copy()[::-1]
        if kind == 6:
            axes = self.random.sample(range(x.ndim), x.ndim)
            return np.ascontiguousarray(x.transpose(axes)).transpose(np.argsort(axes))
        d = self.random.randrange(x.ndim)
        index = tuple(slice(None, None, -1) if k == d else slice(None) for k in range(x.ndim))
        return x[index].copy()[index]

    def like(self, x, chars: str = _COMMON, special: float = 0.15):
        """An array that broadcasts with x, mostly."""
        shape = tuple(1 if self.maybe(0.2) else n for n in x.shape)
        if self.maybe(0.2):
            shape = shape[self.random.randrange(len(shape) + 1):]
        return self.array(self.bad(shape, self.shape), chars, special=special)

    def number(self):
        return self.one(0, 1, -1, 2, 3, 2.5, -0.5, True, np.float32(1.5), np.int8(2), np.float64(0.3), 1j)

    def real(self):
        return self.one(0, 1, -1, 2, 3, 2.5, -0.5, np.float32(1.5), np.int8(2), np.float64(0.3))

    def mask(self, x):
        return self.array(x.shape, "?") if self.maybe(0.8) else self.like(x, "?")

    # ---- other arguments ----

    def bad(self, good, bad):
        """good, or now and then what bad() draws."""
        if not self.maybe(self.hostile):
            return good
        self.faults += 1
        return bad()

    def junk(self):
        return self.one(1.5, "x", None, True, 99, -99, (0, 0), [1], np.float64(2.0), 2.0, np.int64(1), np.bool_(True), 2**70, b"a", 1j)

    def int(self, low: int, high: int):
        number = self.random.randint(low, high)
        return self.bad(np.int16(number) if self.maybe(0.1) else number, self.junk)

    def axis(self, ndim: int):
        n = max(ndim, 1)
        return self.bad(self.random.randrange(-n, n), lambda: self.one(ndim, -ndim - 1, 1.0, "x", None, True, (0,), np.int64(0), [0], 0.5))

    def axes(self, ndim: int):
        """None, an axis or a tuple of them."""
        if self.maybe(0.3):
            return None
        if self.maybe(0.6):
            return self.axis(ndim)
        some = tuple(d - (ndim if self.maybe(0.3) else 0) for d in self.random.sample(range(ndim), self.random.randint(0, ndim)))
        return self.bad(some, lambda: self.one((0, 0), (ndim,), [0], (0.0,), (0, -1, 0), "x"))

    def bool(self):
        return self.one(True, False)

    def order(self):
        return self.one("C", "F", "A", "K", "x") if self.maybe(0.9) else self.one(None, 3)

    def lists(self, n: int):
        return [self.random.randint(-n, n) for _ in range(n)]

    def out(self, result, exact: float = 0.8):
        """An array for the result that NumPy gives, mostly."""
        if not isinstance(result, (np.ndarray, np.generic)):
            return None
        result = np.asarray(result)
        if self.maybe(exact):
            return self.laid_out(np.zeros_like(result))
        return np.zeros(self.one(result.shape, self.shape()), self.dtype())


CALLS: dict[str, tuple] = {}


def call(name: str, function=None, *, values: bool = True, out: bool = False, changes: bool = False, weight: int = 1):
    """Registers what draws the arguments of np.<name>. values: whether elements are compared; out: an output is given at times; changes: the first
    argument is changed."""
    def register(draw):
        given = function
        if given is None:
            given = np
            for part in name.split("."):
                given = getattr(given, part, None)
        if given is not None:
            CALLS[name] = (given, draw, values, out, changes)
        return draw

    return register


def _simple(names: str, draw, **how) -> None:
    for name in names.split():
        call(name, **how)(draw)


# ---- arrays like another, shapes ----


def _made(d):
    a = d.array()
    return [a], d.some(dtype=lambda: d.bad(d.dtype(), d.junk), order=d.order, shape=lambda: d.bad(d.shape(), lambda: d.one(3, -1, 2.0, "x")))


_simple("empty_like", _made, values=False)
_simple("zeros_like ones_like", _made)
call("full_like")(lambda d: ([(a := d.array()), d.one(d.number(), d.like(a))], _made(d)[1]))
call("copy")(lambda d: ([d.array()], d.some(order=d.order)))
call("astype")(lambda d: ([d.array(special=0), d.bad(d.dtype(), d.junk)], d.some(copy=d.bool)))
call("swapaxes")(lambda d: ([(a := d.array()), d.axis(a.ndim), d.axis(a.ndim)], {}))


def _permutation(d, n):
    axes = tuple(a - (n if d.maybe(0.2) else 0) for a in d.random.sample(range(n), n))
    return d.bad(axes, lambda: d.one((0, 0), (9,), list(axes), None, 1, (0.0, 1.0), "x", axes[:-1]))


_simple("transpose permute_dims", lambda d: ([(a := d.array()), _permutation(d, a.ndim)], {}))
_simple("matrix_transpose linalg.matrix_transpose", lambda d: ([d.array()], {}))
call("expand_dims")(lambda d: ([(a := d.array()), d.axis(a.ndim + 1) if d.maybe() else d.axes(a.ndim + 2)], {}))
_simple("atleast_1d atleast_2d atleast_3d", lambda d: ([d.array() for _ in range(d.one(1, 1, 2))], {}))


def _wider(d, shape):
    return d.shape()[:2] + tuple(d.random.randint(0, 4) if n == 1 else n for n in shape)


call("broadcast_to")(lambda d: ([(a := d.array()), d.bad(_wider(d, a.shape), lambda: d.one(d.shape(), 3, -1, (2.0,), "x", [2, 3]))], {}))
call("broadcast_arrays")(lambda d: ([(a := d.array()), *(d.like(a) for _ in range(d.one(0, 1, 2)))], {}))
call("ravel")(lambda d: ([d.array()], d.some(order=d.order)))


def _reshaped(d, a):
    shape = list(d.one((a.size,), (1, a.size), (a.size, 1), a.shape[::-1], (*a.shape, 1)))
    if shape and d.maybe(0.4):
        shape[d.random.randrange(len(shape))] = -1
    return d.bad(tuple(shape), lambda: d.one(-1, (a.size + 1,), (-1, -1), 2.0, "x", None, shape, [1.0, -1], (3, -1), np.int64(a.size)))


call("reshape")(lambda d: ([(a := d.array()), _reshaped(d, a)], d.some(order=d.order)))
call("squeeze")(lambda d: ([(a := d.array()), *([d.axes(a.ndim)] if d.maybe() else [])], {}))
call("moveaxis")(lambda d: ([(a := d.array()), *((d.axis(a.ndim), d.axis(a.ndim)) if d.maybe() else (d.axes(a.ndim), d.axes(a.ndim)))], {}))
call("rollaxis")(lambda d: ([(a := d.array()), d.axis(a.ndim)], d.some(start=lambda: d.int(-a.ndim, a.ndim))))
_simple("fliplr flipud", lambda d: ([d.array()], {}))
call("flip")(lambda d: ([(a := d.array()), *([d.axes(a.ndim)] if d.maybe(0.7) else [])], {}))
call("rot90")(lambda d: ([(a := d.array()), *([d.int(-5, 5)] if d.maybe() else [])], d.some(axes=lambda: d.bad((d.axis(a.ndim), d.axis(a.ndim)), lambda: d.one(1, (0,), (0, 1, 2), None)))))
call("lib.stride_tricks.sliding_window_view")(
    lambda d: ([(a := d.array()), d.one(d.int(0, 3), tuple(d.int(1, 2) for _ in a.shape)), *([d.axes(a.ndim)] if d.maybe() else [])], {}))


def _sections(d):
    return d.one(d.int(0, 4), [1, 2], (0, 2, 9), [], [-1], np.array([1, 3]), 2, 1)


_simple("split array_split", lambda d: ([(a := d.array()), _sections(d), *([d.axis(a.ndim)] if d.maybe() else [])], {}))
_simple("hsplit vsplit dsplit", lambda d: ([d.array(), _sections(d)], {}))
call("unstack")(lambda d: ([(a := d.array())], d.some(axis=lambda: d.axis(a.ndim))))


# ---- joining ----


def _parts(d, differ_in=0, n=None):
    a = d.array()
    more = []
    for _ in range(d.random.randint(0, 2) if n is None else n - 1):
        shape = tuple(d.random.randint(0, 3) if k == differ_in % max(a.ndim, 1) else m for k, m in enumerate(a.shape))
        more.append(d.array(d.bad(shape, d.shape)))
    return d.one(list, tuple)([a, *more])


def _joined(d):
    parts = _parts(d, axis := d.random.randint(-1, 1))
    return [parts, d.bad(axis, lambda: d.one(None, d.axis(parts[0].ndim)))], d.some(dtype=lambda: d.dtype(), casting=lambda: d.one("no", "safe", "same_kind", "unsafe", "x"))


call("concatenate", out=True)(_joined)
call("stack", out=True)(lambda d: ([[(a := d.array()), *(d.array(d.bad(a.shape, d.shape)) for _ in range(d.one(0, 1, 2)))]], d.some(axis=lambda: d.axis(a.ndim + 1), dtype=lambda: d.dtype(), casting=lambda: d.one("safe", "unsafe"))))
_simple("vstack hstack", lambda d: ([_parts(d, d.one(0, 1))], d.some(dtype=lambda: d.dtype())))
_simple("dstack column_stack", lambda d: ([_parts(d, d.one(1, 2))], {}))
call("append")(lambda d: ([*_parts(d, axis := d.one(0, 1, -1), 2), *([d.bad(axis, lambda: d.axis(2))] if d.maybe() else [])], {}))
call("roll")(lambda d: ([(a := d.array()), *((d.int(-5, 5), d.axis(a.ndim)) if d.maybe() else (tuple(d.int(-5, 5) for _ in a.shape), d.axes(a.ndim)) if d.maybe() else (d.int(-5, 5),))], {}))
call("repeat")(lambda d: ([(a := d.array()), d.one(d.int(0, 3), [2], [1, 0, 2], [1.5], d.lists(2)), *([d.axis(a.ndim)] if d.maybe() else [])], {}))
call("tile")(lambda d: ([d.array(), d.one(d.int(0, 3), (2, 1), (1, 0, 2), [2, 2], ())], {}))


def _padded(d):
    a = d.array()
    mode = d.one("constant", "edge", "reflect", "symmetric", "wrap", "constant")
    width = d.one(d.int(0, 3), (1, 2), ((1, 0),) * max(a.ndim, 1), [[0, 2]], -1, 1.5, {0: 1}, {-1: (1, 2)})
    more = d.some(constant_values=lambda: d.one(d.number(), (1, 2), 7)) if mode == "constant" or d.maybe(0.1) else {}
    return [a, width, d.bad(mode, lambda: d.one("x", None))], more


call("pad")(_padded)
call("block")(lambda d: ([d.one([(a := d.array(low=1)), a], [[a, a], [a, a]], [a, 1.0], a, [[a], [a]], [], [a, [a]], (a, a))], {}))
call("append")(lambda d: ([d.array(), d.array()], {}))
call("resize")(lambda d: ([d.array(), d.one(d.int(0, 9), d.shape(), (-1,), (2.0,), ())], {}))
call("meshgrid")(lambda d: ([d.array(ndim=d.one(0, 1, 1, 1, 2)) for _ in range(d.one(1, 2, 3))], d.some(copy=d.bool, sparse=d.bool, indexing=lambda: d.one("xy", "ij", "x"))))


# ---- choosing ----


call("where")(lambda d: ([(m := d.array(chars="?????ld")), d.one(d.like(m), d.number()), d.one(d.like(m), d.number())] if d.maybe(0.9) else [d.array()], {}))
call("clip", out=True)(lambda d: ([(a := d.array(chars=_COMMON.replace("F", "").replace("D", ""))), d.one(None, d.real(), d.like(a, REAL), -300), d.one(None, d.real(), d.like(a, REAL), 300)], {}))
call("diagonal")(lambda d: ([(a := d.array(ndim=d.one(1, 2, 2, 3)))], d.some(offset=lambda: d.int(-4, 4), axis1=lambda: d.axis(a.ndim), axis2=lambda: d.axis(a.ndim))))
call("trace", out=True)(lambda d: ([(a := d.array(ndim=d.one(1, 2, 2, 3)))], d.some(offset=lambda: d.int(-4, 4), axis1=lambda: d.axis(a.ndim), axis2=lambda: d.axis(a.ndim), dtype=lambda: d.dtype("ldfD"))))
call("diag")(lambda d: ([d.array(ndim=d.one(0, 1, 1, 2, 3))], d.some(k=lambda: d.int(-3, 3))))
_simple("tril triu", lambda d: ([d.array()], d.some(k=lambda: d.int(-3, 3))))
call("sort")(lambda d: ([(a := d.array()), *([d.axis(a.ndim)] if d.maybe() else [])], d.some(**d.one({"kind": lambda: d.bad("stable", lambda: d.one("quicksort", "x", 3))}, {"stable": d.bool}))))
call("argsort")(lambda d: ([(a := d.array()), *([d.axis(a.ndim)] if d.maybe() else [])], {"stable": True} if d.maybe(0.9) else {"kind": "x"}))
call("unique")(lambda d: ([(a := d.array())], d.some(return_index=d.bool, return_inverse=d.bool, return_counts=d.bool, axis=lambda: d.axis(a.ndim), equal_nan=d.bool)))
_simple("flatnonzero argwhere nonzero", lambda d: ([d.array()], {}))
call("take", out=True)(lambda d: ([(a := d.array()), d.one(d.int(-3, 3), d.array(chars="lbB", integers=(0, 3)), [0, 1], [[0], [-1]], d.array(chars="d?"), []), *([d.axes(a.ndim)] if d.maybe(0.7) else [])], d.some(mode=lambda: d.one("raise", "wrap", "clip", "x"))))
call("take_along_axis")(lambda d: ([(a := d.array(low=1)), d.array(d.bad(a.shape, d.shape), "l?d" if d.maybe(0.1) else "lbi", integers=(-1, 1)), *([d.axis(a.ndim)] if d.maybe(0.8) else [])], {}))
call("compress", out=True)(lambda d: ([d.one(d.array(ndim=1, chars="?l"), [True, False, True], [0, 1], d.array(ndim=1)), (a := d.array()), *([d.axis(a.ndim)] if d.maybe() else [])], {}))
call("extract")(lambda d: ([(m := d.array()), d.array(d.bad(m.shape, d.shape))], {}))
call("choose")(lambda d: ([(a := d.array(chars="lbB?lld", integers=(d.one(0, -1), d.one(2, 3)))), d.one(list, tuple)(d.one(d.like(a), d.number()) for _ in range(d.one(1, 2, 2, 3)))], d.some(mode=lambda: d.one("raise", "wrap", "clip", "x"))))
call("select")(lambda d: ([[(m := d.array(chars="????l")), *(d.like(m, "?") for _ in range(d.one(0, 1)))], [d.one(d.like(m), d.number()) for _ in range(d.one(1, 2))]], d.some(default=lambda: d.one(d.number(), d.like(m)))))
def _pieces(d):
    a, n = d.array(), d.one(1, 2)
    return [a, [d.array(a.shape, "?") for _ in range(n)], [d.one(1, 2.5, -1) for _ in range(n + d.one(0, 0, 1, 2))]], {}


call("piecewise")(_pieces)
_simple("partition argpartition", lambda d: ([(a := d.array()), d.one(d.int(-3, 3), 0, [0], [0, -1], 1.0), *([d.axes(a.ndim)] if d.maybe() else [])], d.some(kind=lambda: d.bad("introselect", lambda: "x"))), values=False)
call("lexsort")(lambda d: ([d.one(((a := d.array()), *(d.array(d.bad(a.shape, d.shape)) for _ in range(d.one(0, 1)))), a)], d.some(axis=lambda: d.axis(a.ndim))))
call("sort_complex")(lambda d: ([d.array()], {}))
call("searchsorted")(lambda d: ([np.sort(d.array(ndim=d.one(1, 1, 1, 1, 2))), d.one(d.array(), d.number(), [1, 2])], d.some(side=lambda: d.one("left", "right", "x", 1))))
call("digitize")(lambda d: ([d.array(), d.one(np.sort(d.array(ndim=1, chars="dfl")), np.sort(d.array(ndim=1, chars="dfl"))[::-1], d.array(), [0, 1, 2])], d.some(right=d.bool)))
call("isin")(lambda d: ([d.array(), d.one(d.array(), [1, 2], 2, d.array())], d.some(invert=d.bool, assume_unique=d.bool, kind=lambda: d.one(None, "sort", "table", "x"))))


# ---- arithmetic ----


_simple("round around", lambda d: ([d.array()], d.some(decimals=lambda: d.int(-2, 3))), out=True)
call("ptp", out=True)(lambda d: ([(a := d.array())], d.some(axis=lambda: d.axes(a.ndim), keepdims=d.bool)))
call("diff")(lambda d: ([(a := d.array())], d.some(n=lambda: d.int(-1, 3), axis=lambda: d.axis(a.ndim), prepend=lambda: d.one(d.number(), d.like(a)), append=lambda: d.one(d.number(), d.like(a)))))
call("angle")(lambda d: ([d.array()], d.some(deg=d.bool)))
call("nan_to_num")(lambda d: ([d.array(special=0.8)], d.some(nan=d.real, posinf=d.real, neginf=d.real)))
call("average")(lambda d: ([(a := d.array())], d.some(axis=lambda: d.axes(a.ndim), weights=lambda: d.one(d.array(a.shape), d.array(ndim=1)), returned=d.bool, keepdims=d.bool)))
_simple("isclose allclose", lambda d: ([(a := d.array()), d.one(d.like(a), d.number(), a.copy())], d.some(rtol=lambda: 0.5, atol=lambda: 1.0, equal_nan=d.bool)))
_simple("array_equal", lambda d: ([(a := d.array()), d.one(a.copy(), d.like(a), 1)], d.some(equal_nan=d.bool)))
_simple("array_equiv", lambda d: ([(a := d.array()), d.one(a.copy(), d.like(a), 1)], {}))
_simple("tensordot linalg.tensordot", lambda d: ([(a := d.array()), d.array(d.one(a.shape[::-1], a.shape, d.shape()))], {"axes": d.one(1, 0, 2, ([0], [0]), (-1, 0), ([0, 1], [1, 0]), d.int(-1, 2))} if d.maybe(0.8) else {}))
_simple("dot", lambda d: ([(a := d.array()), d.one(d.array(d.one(a.shape[::-1], a.shape, a.shape[-1:], d.shape())), d.number())], {}), out=True)
_simple("vdot inner", lambda d: ([(a := d.array()), d.array(d.one(a.shape, a.shape, a.shape[-1:], d.shape()))], {}))
_simple("outer", lambda d: ([d.array(), d.one(d.array(), d.number())], {}), out=True)
call("kron")(lambda d: ([d.array(ndim=d.one(0, 1, 2, 3)), d.array(ndim=d.one(0, 1, 2))], {}))


def _crossed(d):
    s = d.shape()[:2]
    return [d.array((*s, d.one(3, 3, 3, 2, 1))), d.array((*d.one(s, s[:0], s), d.one(3, 3, 3, 2)))], d.some(axis=lambda: d.axis(len(s) + 1))


_simple("cross linalg.cross", _crossed)


def _einsum(d):
    m, n, k, b = (d.random.randint(0, 3) for _ in range(4))
    text, shapes = d.one(("ij,jk->ik", [(m, n), (n, k)]), ("ij,jk", [(m, n), (n, k)]), ("ii->i", [(m, m)]), ("ii", [(m, m)]), ("ij->ji", [(m, n)]), ("i,j", [(m,), (n,)]), ("bij,bjk->bik", [(b, m, n), (b, n, k)]),
                         ("...i,...i->...", [(b, m), (b, m)]), ("ij->", [(m, n)]), ("ij,j", [(m, n), (n,)]), ("i,i,i->i", [(m,), (m,), (m,)]), ("ij,kj->ki", [(m, n), (k, n)]), ("ij->ik", [(m, n)]), ("i,,->i", [(m,), (), ()]), ("ij,ij", [(m, n), (n, m)]))
    return [text, *(d.array(s) for s in shapes)], d.some(**({"dtype": lambda: d.dtype("dDl")} if len(shapes) > 1 else {}), optimize=d.bool, casting=lambda: d.one("safe", "unsafe", "same_kind"))


call("einsum", out=True)(_einsum)


# ---- reductions ----


def _reduced(*names, where=True, initial=False, dtype="", ddof=False):
    def draw(d):
        a = d.array()
        how = {"axis": lambda: d.axes(a.ndim), "keepdims": d.bool}
        if where:
            how["where"] = lambda: d.mask(a)
        if initial:
            how["initial"] = lambda: d.real()
        if dtype:
            how["dtype"] = lambda: d.dtype(dtype)
        if ddof:
            how["ddof"] = lambda: d.one(0, 1, 2, 0.5)
            how["correction"] = lambda: d.one(0, 1, 1.5)
        return [a], d.some(**how)

    _simple(" ".join(names), draw, out=True)


_reduced("all", "any")
_reduced("max", "min", "amax", "amin", "nanmax", "nanmin", initial=True)
_reduced("sum", "prod", "nansum", "nanprod", initial=True, dtype="dfDlie")
_reduced("mean", "nanmean", dtype="dfD")
_reduced("std", "var", "nanstd", "nanvar", dtype="dfD", ddof=True)
_reduced("count_nonzero", where=False)
_simple("argmax argmin nanargmax nanargmin", lambda d: ([(a := d.array())], d.some(axis=lambda: d.axis(a.ndim), keepdims=d.bool)), out=True)
_simple("cumsum cumprod nancumsum nancumprod", lambda d: ([(a := d.array())], d.some(axis=lambda: d.axis(a.ndim), dtype=lambda: d.dtype("dfDlie"))), out=True)
_simple("cumulative_sum cumulative_prod", lambda d: ([(a := d.array())], d.some(axis=lambda: d.axis(a.ndim), dtype=lambda: d.dtype("dfDlie"), include_initial=d.bool)), out=True)
_simple("median nanmedian", lambda d: ([(a := d.array(chars=REAL))], d.some(axis=lambda: d.axes(a.ndim), keepdims=d.bool)), out=True)


def _quantiles(scale):
    def draw(d):
        a = d.array(chars=REAL[1:], special=0)
        q = d.one(0.3, 0, 1, [0.1, 0.75], np.array([[0.5, 0.2]]), 1.5, np.float32(0.4), [])
        q = q if np.size(q) == 0 else (np.asarray(q) * scale if np.ndim(q) else type(q)(q * scale)) if scale != 1 else q
        return [a, q], d.some(axis=lambda: d.axes(a.ndim), keepdims=d.bool, method=lambda: d.one("linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased", "normal_unbiased", "interpolated_inverted_cdf", "x"))

    return draw


_simple("quantile nanquantile", _quantiles(1), out=True)
_simple("percentile nanpercentile", _quantiles(100), out=True)


# ---- counting, sets ----


call("bincount")(lambda d: ([(a := d.array(ndim=d.one(1, 1, 1, 1, 0, 2), chars="lbBi?" if d.maybe(0.9) else "dL", integers=(d.one(0, 0, 0, -1), 5)))], d.some(weights=lambda: d.array(d.bad(a.shape, d.shape), "dflDb"), minlength=lambda: d.int(-1, 9))))


def _histogram(d):
    a = d.array(chars=REAL, special=0.05)
    return [a], d.some(bins=lambda: d.one(d.int(0, 5), [0, 1, 2], [0, 2.5, 3.5], [2, 1], np.array([0, 1.0, 5]), "auto", 3), range=lambda: d.one((0, 3), (1.0, 1.0), (3, 0), (0, np.inf), None, (0,)),
                       weights=lambda: d.array(d.bad(a.shape, d.shape), "dlf"), density=d.bool)


call("histogram")(_histogram)
call("histogram_bin_edges")(lambda d: (_histogram(d)[0], {k: v for k, v in _histogram(d)[1].items() if k != "density"}))
call("histogram2d")(lambda d: ([(a := d.array(ndim=1, chars="dfl", special=0)), d.array(d.bad(a.shape, d.shape), "dfl", special=0)], d.some(bins=lambda: d.one(d.int(0, 4), [2, 3], [0, 1, 2], [[0, 1, 2], 3]), range=lambda: d.one([[0, 1], [0, 2]], None, [[1, 0], [0, 1]]), density=d.bool)))
call("histogramdd")(lambda d: ([d.array((d.random.randint(0, 5), d.random.randint(1, 3)), "dfl", special=0)], d.some(bins=lambda: d.one(d.int(0, 4), [2, 3], 3), density=d.bool)))
_simple("union1d", lambda d: ([d.array(), d.array()], {}))
_simple("setxor1d setdiff1d", lambda d: ([d.array(special=0.05), d.one(d.array(), [1, 2])], {}))
call("intersect1d")(lambda d: ([d.array(special=0.05), d.array(special=0.05)], d.some(return_indices=d.bool)))
_simple("unique_counts unique_inverse unique_all", lambda d: ([d.array()], {}))
call("unique_values", lambda a: np.sort(np.unique_values(a)))(lambda d: ([d.array()], {}))
call("trim_zeros")(lambda d: ([d.array(ndim=d.one(1, 1, 2), chars="lbd?D", integers=(0, 2))], d.some(trim=lambda: d.one("f", "b", "fb", "FB", "x", ""), axis=lambda: d.axes(1))))
call("delete")(lambda d: ([(a := d.array()), d.one(d.int(-3, 3), [0], [0, 1, 0], slice(0, 2), slice(None, None, 2), [], np.array([True, False, True]), [1.0], [9]), *([d.axis(a.ndim)] if d.maybe() else [])], {}))
call("insert")(lambda d: ([(a := d.array()), d.one(d.int(-3, 3), [0], [0, 1], slice(0, 2), [], [1.0], [9], [[0]]), d.one(d.number(), [1, 2], d.like(a)), *([d.axis(a.ndim)] if d.maybe() else [])], {}))


# ---- changes ----


call("put", changes=True)(lambda d: ([(a := d.array()), d.one(d.int(-3, 3), [0, 1], d.array(chars="lb", integers=(0, 3)), []), d.one(d.number(), [1, 2, 3], d.array())], d.some(mode=lambda: d.one("raise", "wrap", "clip", "x"))))
call("place", changes=True)(lambda d: ([(a := d.array()), d.array(d.bad(a.shape, d.shape), "?l"), d.one(d.number(), [1, 2, 3], d.array())], {}))
call("putmask", changes=True)(lambda d: ([(a := d.array()), d.array(d.bad(a.shape, d.shape), "?l"), d.one(d.number(), [1, 2, 3], d.array())], {}))
call("put_along_axis", changes=True)(lambda d: ([(a := d.array(low=1)), d.array(d.bad(a.shape, d.shape), "lb", integers=(0, 1)), d.one(d.number(), d.like(a)), d.axis(a.ndim)], {}))
call("fill_diagonal", changes=True)(lambda d: ([d.array(d.one((3, 3), (2, 4), (4, 2), (2, 2, 2), (1, 2, 3), (0, 0), (3,), ())), d.one(d.number(), [1, 2], d.array())], d.some(wrap=d.bool)))
call("copyto", changes=True)(lambda d: ([(a := d.array()), d.one(d.number(), d.like(a))], d.some(where=lambda: d.one(d.mask(a), True, False), casting=lambda: d.one("safe", "unsafe", "same_kind", "x"))))


# ---- numbers of elements, bits ----


call("unravel_index")(lambda d: ([d.array(chars="lbB?d" if d.maybe(0.2) else "lbi", integers=(d.one(0, 0, 0, -1), 6)), d.one((2, 3), 6, (3, 2, 1), (), (2.0, 3), (0, 2), d.shape())], d.some(order=lambda: d.one("C", "F", "x"))))
call("ravel_multi_index")(lambda d: ([tuple(d.array((3,), "lbid" if d.maybe(0.1) else "li", integers=(d.one(0, 0, 0, -1), d.one(2, 4))) for _ in range(d.one(2, 2, 2, 1)))], {"dims": d.one((2, 3), (4, 4), 4, (2.0, 3)), **d.some(order=lambda: d.one("C", "F", "x"), mode=lambda: d.one("raise", "wrap", "clip", ("wrap", "clip"), "x"))}))
call("ix_")(lambda d: ([d.array(ndim=d.one(1, 1, 1, 2), chars="l?bd" if d.maybe(0.2) else "l?", integers=(0, 2)) for _ in range(d.one(1, 2))], {}))
call("packbits")(lambda d: ([(a := d.array(chars="?Bld"))], d.some(axis=lambda: d.axis(a.ndim), bitorder=lambda: d.one("big", "little", "x"))))
call("unpackbits")(lambda d: ([(a := d.array(chars="B" * 9 + "l"))], d.some(axis=lambda: d.axis(a.ndim), bitorder=lambda: d.one("big", "little", "x"), count=lambda: d.int(-9, 20) if a.size else None)))


# ---- functions of elements, polynomials, neighbours ----


_simple("sinc i0 fix isposinf isneginf iscomplex isreal", lambda d: ([d.array()], {}))
_simple("real imag iscomplexobj isrealobj ndim shape min_scalar_type", lambda d: ([d.array()], {}))
call("size")(lambda d: ([(a := d.array()), *([d.axes(a.ndim)] if d.maybe() else [])], {}))
call("polyval")(lambda d: ([d.one(d.array(ndim=1), [1, 2.5], [3]), d.one(d.array(), d.number())], {}))
call("vander")(lambda d: ([d.array(ndim=d.one(1, 1, 1, 2, 0))], d.some(N=lambda: d.int(-1, 4), increasing=d.bool)))
call("polyfit")(lambda d: ([np.arange(n := d.random.randint(0, 6), dtype=d.one("d", "l", "f")), d.array(d.bad(d.one((n,), (n, 2)), d.shape), "dlf", special=0), d.int(-1, 2)], d.some(w=lambda: np.ones(n), full=d.bool)), )
call("ediff1d")(lambda d: ([d.array()], d.some(to_end=lambda: d.one(1, [1, 2], 2.5), to_begin=lambda: d.one(1, [1, 2], d.array()))))
call("unwrap")(lambda d: ([(a := d.array(chars="dflbBi", special=0.0))], d.some(discont=lambda: d.one(0.5, 2, None), axis=lambda: d.axis(a.ndim), period=lambda: d.one(2, 3, 4.5))))
call("gradient")(lambda d: ([(a := d.array(ndim=d.one(1, 1, 2, 3, 0), chars="dflbBDi")), *([d.one(2, 0.5, d.array(a.shape[:1], "dl", special=0))] if d.maybe(0.3) else [])], d.some(axis=lambda: d.axes(a.ndim), edge_order=lambda: d.int(0, 3))))
call("trapezoid")(lambda d: ([(a := d.array())], d.some(x=lambda: d.one(d.array(a.shape), d.array(a.shape[-1:])), dx=d.real, axis=lambda: d.axis(a.ndim))))
call("interp")(lambda d: ([d.one(d.array(chars=REAL, special=0), 0.5), np.arange(n := d.random.randint(0, 4)) * d.one(1, 0.7) - 1, d.array(d.bad((n,), d.shape), "dlfD", special=0)], d.some(left=lambda: 7, right=lambda: 8.5, period=lambda: d.one(3, 0))))
_simple("convolve correlate", lambda d: ([d.array(ndim=d.one(1, 1, 1, 1, 0, 2)), d.array(ndim=d.one(1, 1, 1, 1, 0, 2))], d.some(mode=lambda: d.one("full", "same", "valid", "x", 1, 2))))
call("cov")(lambda d: ([(a := d.array(ndim=d.one(0, 1, 2, 2, 3)))], d.some(y=lambda: d.array(a.shape), rowvar=d.bool, bias=d.bool, ddof=lambda: d.one(0, 1, 0.5, 9), dtype=lambda: d.dtype("fdD"))))
call("corrcoef")(lambda d: ([(a := d.array(ndim=d.one(0, 1, 2, 2, 3)))], d.some(y=lambda: d.array(a.shape), rowvar=d.bool, dtype=lambda: d.dtype("fdD"))))
call("apply_along_axis")(lambda d: ([d.one(lambda row: row.sum(), lambda row: row[::-1], lambda row: 3), d.axis((a := d.array()).ndim), a], {}))


# ---- fft ----


_simple("fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft", lambda d: ([(a := d.array(chars=DTYPES, special=0))], d.some(n=lambda: d.int(-1, 9), axis=lambda: d.axis(a.ndim), norm=lambda: d.one("ortho", "forward", "backward", "x", None))), out=True)


def _lengths(d):
    a = d.array(special=0, low=0 if d.maybe(0.1) else 1)
    axes = d.axes(a.ndim)
    axes = (axes,) if isinstance(axes, int) else axes
    n = len(axes) if isinstance(axes, tuple) else d.random.randint(0, 2)
    return [a], d.some(axes=lambda: axes, s=lambda: d.bad(tuple(d.random.randint(1, 5) for _ in range(n)), lambda: d.one((2, 0), (1.5, 2), 3, "x", (-1, -1), (2, 3))), norm=lambda: d.one("ortho", "forward", "x"))


_simple("fft.fftn fft.ifftn fft.fft2 fft.ifft2 fft.rfftn fft.rfft2 fft.irfftn fft.irfft2", _lengths, out=True)
_simple("fft.fftshift fft.ifftshift", lambda d: ([(a := d.array())], d.some(axes=lambda: d.axes(a.ndim))))


# ---- arrays of a few numbers ----


def _spaced(d):
    start = d.array(ndim=d.one(0, 1, 2), special=0)
    return [start, d.one(d.like(start, special=0), d.real())], d.some(num=lambda: d.int(0, 5), endpoint=d.bool, dtype=lambda: d.dtype("fdlD"), axis=lambda: d.axis(start.ndim + 1))


call("linspace")(lambda d: (lambda args, kwargs: (args, {**kwargs, **d.some(retstep=d.bool)}))(*_spaced(d)))
call("logspace")(_spaced)
call("diagflat")(lambda d: ([d.array()], d.some(k=lambda: d.int(-2, 2))))
call("diag_indices_from")(lambda d: ([d.array(d.one((3, 3), (2, 2, 2), (2, 3), (3,), d.shape()))], {}))
_simple("tril_indices_from triu_indices_from", lambda d: ([d.array(ndim=d.one(2, 2, 2, 1, 3))], d.some(k=lambda: d.int(-2, 2))))
call("common_type")(lambda d: ([d.array(), d.array()], {}))
call("real_if_close")(lambda d: ([d.one(d.array(), np.array([1 + 1e-15j, 2]), np.array([1 + 1e-3j, 2]))], d.some(tol=lambda: d.one(1000, 0.1))))
call("apply_over_axes")(lambda d: ([d.one(np.sum, np.max, np.mean), (a := d.array(low=1, chars="dlf")), d.bad(d.axes(a.ndim) or 0, lambda: 7)], {}))
_simple("polyadd polysub polymul", lambda d: ([d.array(ndim=1), d.one(d.array(ndim=1), [0, 1, 2], 3)], {}))
call("polyder")(lambda d: ([d.array(ndim=1), *([d.int(-1, 3)] if d.maybe() else [])], {}))
call("polyint")(lambda d: ([d.array(ndim=1), *([d.int(-1, 3)] if d.maybe() else [])], d.some(k=lambda: d.one(1, [1, 2], [2.5]))))


# ---- linalg ----


def _matrices(d, square=True, chars="dfFDlb?"):
    n = d.random.choice([0, 1, 2, 3, 4])
    stack = d.one((), (), (2,), (0,), (2, 1))
    a = d.array((*stack, n, n) if square else (*stack, n, d.random.randint(0, 4)), chars, special=0)
    if square and d.maybe(0.9):  # far from singular
        a = d.laid_out((a + (9 * np.eye(n)).astype(a.dtype)).astype(a.dtype) if a.dtype.kind != "b" else np.broadcast_to(np.eye(n, dtype=bool), a.shape).copy())
    return d.bad(a, d.array)


call("linalg.solve")(lambda d: ([(a := _matrices(d)), d.array(d.one(a.shape, a.shape[-1:], (*a.shape[:-1], 2), d.shape()), special=0)], {}))
_simple("linalg.inv linalg.det linalg.slogdet", lambda d: ([_matrices(d)], {}))


def _positive(d):
    a = _matrices(d, chars="dfDF")
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or a.dtype.kind not in "fc":
        return a
    return (a @ a.conj().mT + np.eye(a.shape[-1])).astype(a.dtype) if d.maybe(0.9) else a


call("linalg.cholesky")(lambda d: ([_positive(d)], d.some(upper=d.bool)))
call("linalg.svd", values=False)(lambda d: ([_matrices(d, False)], d.some(full_matrices=d.bool, compute_uv=d.bool)))
call("linalg.svdvals")(lambda d: ([_matrices(d, False)], {}))
call("linalg.eigh", values=False)(lambda d: ([_positive(d)], d.some(UPLO=lambda: d.one("L", "U", "l", "x"))))
call("linalg.eigvalsh")(lambda d: ([_positive(d)], d.some(UPLO=lambda: d.one("L", "U", "l", "x"))))
call("linalg.qr", values=False)(lambda d: ([_matrices(d, False)], d.some(mode=lambda: d.one("reduced", "complete", "r", "x"))))
call("linalg.lstsq")(lambda d: ([(a := d.array((d.random.randint(0, 5), d.random.randint(0, 3)), "dfDl", special=0)), d.array(d.bad(d.one(a.shape[:1], (a.shape[0], 2)), d.shape), "dfl", special=0)], d.some(rcond=lambda: d.one(None, -1, 0.1))))
call("linalg.pinv")(lambda d: ([_matrices(d, False)], d.some(rcond=lambda: 0.01, hermitian=lambda: False)))
call("linalg.tensorinv")(lambda d: ([(d.array((2, 3, 6), "dfl", special=0) + 0 if d.maybe() else np.eye(6).reshape(2, 3, 3, 2)), *([d.int(0, 3)] if d.maybe() else [])], {}))
call("linalg.tensorsolve")(lambda d: ([np.eye(6).reshape(d.one((2, 3, 6), (6, 2, 3), (2, 3, 2, 3))) + 0.1, d.array(d.one((2, 3), (6,), (3,)), "dfl", special=0)], d.some(axes=lambda: d.one((0,), (0, 2), (-1,)))))
call("linalg.matrix_rank")(lambda d: ([_matrices(d, False)], d.some(tol=lambda: 0.1)))
call("linalg.cond")(lambda d: ([_matrices(d)], d.some(p=lambda: d.one(None, 1, -1, 2, -2, np.inf, "fro", "x"))))
call("linalg.matrix_power")(lambda d: ([_matrices(d, d.maybe(0.9)), d.int(-2, 4)], {}))
call("linalg.multi_dot", out=True)(lambda d: ([[d.array((2, 3)), d.array(d.bad((3, 4), d.shape)), *([d.array((4, d.one(0, 2)))] if d.maybe() else [])]], {}))
call("linalg.norm")(lambda d: ([(a := d.array())], d.some(ord=lambda: d.one(None, 0, 1, -1, 2, -2, 3, 2.5, np.inf, -np.inf, "fro", "nuc", "x"), axis=lambda: d.axes(a.ndim), keepdims=d.bool)))
call("linalg.vector_norm")(lambda d: ([(a := d.array())], d.some(ord=lambda: d.one(0, 1, -1, 2, 3, np.inf, -np.inf, "x"), axis=lambda: d.axes(a.ndim), keepdims=d.bool)))
call("linalg.matrix_norm")(lambda d: ([d.array()], d.some(ord=lambda: d.one("fro", 1, -1, 2, np.inf, "nuc", "x", None), keepdims=d.bool)))
call("linalg.outer")(lambda d: ([d.array(ndim=d.one(1, 1, 1, 2)), d.array(ndim=1)], {}))
call("linalg.trace")(lambda d: ([d.array()], d.some(offset=lambda: d.int(-2, 2), dtype=lambda: d.dtype("dDl"))))
call("linalg.diagonal")(lambda d: ([d.array()], d.some(offset=lambda: d.int(-2, 2))))
call("linalg.matmul")(lambda d: ([(a := d.array()), d.array(d.one(a.shape, a.shape[::-1], a.shape[-1:], d.shape()))], {}))
call("linalg.vecdot")(lambda d: ([(a := d.array()), d.like(a)], d.some(axis=lambda: d.axis(a.ndim))))


# ---- methods ----

METHODS = ("all any argmax argmin argsort choose clip compress conj copy cumprod cumsum diagonal dot max mean min nonzero prod ravel repeat reshape round searchsorted squeeze std sum "
           "swapaxes take trace transpose var").split()


def _method(name: str) -> None:
    function, draw, *rest = CALLS.get(name, (None, lambda d: ([d.array()], {}), True, False, False))

    def called(*args, **kwargs):
        return getattr(args[0], name)(*args[1:], **kwargs)

    def drawn(d):
        args, kwargs = draw(d)
        if name in ("compress",):
            args[0], args[1] = args[1], args[0]
        return args, {k: v for k, v in kwargs.items() if k != "correction"}  # which only NumPy's functions take

    if isinstance(draw(Draw(0))[0][0], np.ndarray) or name == "compress":
        CALLS["ndarray." + name] = (called, drawn, *rest)


for _name in METHODS:
    _method(_name)
call("ndarray.astype", lambda a, *args, **kwargs: a.astype(*args, **kwargs))(lambda d: ([d.array(special=0), d.bad(d.dtype(), d.junk)], d.some(copy=d.bool, order=d.order)))
call("ndarray.fill", lambda a, value: a.fill(value), changes=True)(lambda d: ([d.array(), d.one(d.number(), "x")], {}))
call("ndarray.item", lambda a, *index: a.item(*index))(lambda d: ([(a := d.array(chars="ldb?")), *(d.int(-2, 2) for _ in range(d.one(0, 1, a.ndim)))], {}))
call("ndarray.view", lambda a, dtype: a.view(dtype))(lambda d: ([d.array(), d.dtype()], {}))
call("ndarray.tobytes", lambda a, *order: a.tobytes(*order))(lambda d: ([d.array(), *([d.order()] if d.maybe() else [])], {}))


def _index(d):
    a = d.array()
    one = lambda: d.one(d.random.randint(-3, 3), slice(None), slice(None, None, -1), slice(1, 3), Ellipsis, None, [0, 1], np.array([True, False, True]), d.array(chars="l", ndim=1, integers=(-2, 2)), 1.5, "x", [[0], [1]])  # noqa: E731
    return [a, d.one(one(), tuple(one() for _ in range(d.one(1, 2, 2, 3))), d.array(a.shape, "?"))], {}


call("ndarray[index]", lambda a, key: a[key])(_index)


def _stored(d):
    args, _ = _index(d)
    return [*args, d.one(d.number(), d.like(args[0]), [1, 2])], {}


def _store(a, key, value):
    a[key] = value


call("ndarray[index]=", _store, changes=True)(_stored)


# ---- comparing ----


#: What device arrays refuse, as documented: outputs of another dtype than the results' in reductions and products, cross products in a plane.
REFUSED = ("which cannot take results of", "output array is not acceptable", "dimension must be 3", "could not be cast from")
#: What NumPy refuses for reasons that device arrays do not have.
ACCEPTED = ("division by zero", "newaxis", "an integer is required", "index -1 is out of bounds for axis 0 with size 0", "Cannot cast ufunc 'divide' output", "must have the right datatype, number of dimensions, and be a C-Array", "not enough values to unpack (expected 2, got 0)")


#: The classes of exceptions that arguments may give. Where several are wrong, which of them is told of first is not compared.
OF_ARGUMENTS = (TypeError, ValueError, IndexError, OverflowError, lw.errors.UnsupportedError)


def is_documented(refused: Exception) -> bool:
    """Whether it says what device arrays refuse: an UnsupportedError tells of which function, and others have the classes that NumPy's have."""
    if isinstance(refused, lw.errors.UnsupportedError):
        return "device array" in str(refused)
    return isinstance(refused, (TypeError, ValueError)) and any(words in str(refused) for words in REFUSED)


IGNORES_OUT = {"fft.hfft", "fft.irfft2"}  # in NumPy 2.0 to 2.4


class Difference(AssertionError):
    pass


def on_device(x, put):
    if isinstance(x, np.ndarray):
        if x.flags.c_contiguous or x.flags.f_contiguous or not x.size:
            return put(x)
        made = cuda.device_array(x.shape, x.dtype, strides=x.strides)
        made[...] = x
        return made
    if isinstance(x, (tuple, list)) and not hasattr(x, "_fields"):
        return type(x)(on_device(item, put) for item in x)
    return x


def outcome(function, args, kwargs):
    """What comes back, or the exception."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*args, **kwargs), None
        except Exception as error:
            return None, error


_TOLERANCES = {2: 1e-2, 4: 3e-5}


def tolerance_of(x) -> float:
    """By the narrowest floating-point dtype of the arguments."""
    if isinstance(x, (tuple, list)):
        return max(map(tolerance_of, x), default=1e-10)
    return _TOLERANCES.get(np.finfo(x.dtype).dtype.itemsize, 1e-10) if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc" else 1e-10


def compare(got, want, values: bool, tolerance: float) -> None:
    if isinstance(want, (tuple, list)):
        if not isinstance(got, type(want)) and not (isinstance(got, (tuple, list)) and not hasattr(want, "_fields")):
            raise Difference(f"{type(got).__name__} for {type(want).__name__}")
        if len(got) != len(want):
            raise Difference(f"{len(got)} items for {len(want)}")
        for one, other in zip(got, want):
            compare(one, other, values, tolerance)
    elif isinstance(want, (np.ndarray, np.generic)):
        if isinstance(got, np.generic) and isinstance(want, np.generic):
            got = np.asarray(got)
        elif not isinstance(got, cuda.DeviceArray):
            raise Difference(f"{type(got).__name__} {got!r:.60} for {type(want).__name__}")
        if got.dtype != want.dtype:
            raise Difference(f"dtype {got.dtype} for {want.dtype}")
        if got.shape != want.shape:
            raise Difference(f"shape {got.shape} for {want.shape}")
        if not values:
            return
        got = got.copy_to_host() if isinstance(got, cuda.DeviceArray) else got
        if want.dtype.kind in "fc":
            scale = np.abs(want[np.isfinite(want)]).max(initial=1e-3) if want.size else 1.0
            tolerance = max(tolerance, tolerance_of(want))
            with np.errstate(all="ignore"):
                same = np.isclose(got, want, tolerance, tolerance * scale, equal_nan=True)
            if want.dtype.kind == "c":  # infinity times a complex number is NaN, or is not
                same |= ~np.isfinite(want)
        else:
            same = got == want
        if not np.all(same):
            raise Difference(f"values {got.tolist()!r:.200} for {want.tolist()!r:.200}")
    elif type(got) is not type(want) or got != want:
        raise Difference(f"{got!r:.80} for {want!r:.80}")


def _shown(x) -> str:
    if isinstance(x, np.ndarray):
        return f"<{x.dtype.char} {x.shape} {x.tolist()!r:.120}>"
    if isinstance(x, (tuple, list)):
        return "(" + ", ".join(map(_shown, x)) + ")"
    return repr(x)


def text_of(name, args, kwargs) -> str:
    return f"np.{name}({', '.join([*map(_shown, args), *(f'{k}={_shown(v)}' for k, v in kwargs.items())])})"


def run(name: str, seed: int, put, values: bool = True) -> str:
    """One call: 'same', 'error' for an exception of the same class, 'refused' where device arrays refuse what NumPy does. Raises Difference."""
    function, draw, compares, has_out, changes = CALLS[name]
    values = values and compares
    d = Draw(seed)
    args, kwargs = draw(d)
    if has_out and name not in IGNORES_OUT and d.maybe(0.25):
        result, error = outcome(function, args, kwargs)
        out = d.out(result)
        if out is not None:
            kwargs = {**kwargs, "out": out}
    if str(kwargs.get("dtype", "d")) in "bBhHiIlL?" and any(isinstance(x, np.ndarray) and x.dtype.kind in "fc" and not np.isfinite(x).all() for x in args):
        values = False  # what an integer becomes from NaN and infinity is not defined
    tolerance = tolerance_of([*args, *kwargs.values()])
    to = [on_device(x, put) for x in args]
    to_kwargs = {k: on_device(v, put) for k, v in kwargs.items()}
    text = text_of(name, args, kwargs)
    host = [x.copy() if changes and isinstance(x, np.ndarray) else x for x in args]
    want, failed = outcome(function, host, kwargs)
    got, refused = outcome(function, to, to_kwargs)
    try:
        if failed is not None:
            if refused is None and any(words in str(failed) for words in ACCEPTED):
                return "accepted"
            if refused is None:
                raise Difference(f"no {type(failed).__name__}: {failed}")
            if not isinstance(refused, OF_ARGUMENTS):
                raise Difference(f"{type(refused).__name__}: {refused!s:.160}\n  for {type(failed).__name__}: {failed!s:.160}") from refused
            one_fault = d.faults < 2 and "out" not in kwargs and not isinstance(refused, lw.errors.UnsupportedError)
            if one_fault and not isinstance(refused, type(failed)) and not (isinstance(failed, TypeError) and isinstance(refused, TypeError)):
                raise Difference(f"{type(refused).__name__}: {refused!s:.160}\n  for {type(failed).__name__}: {failed!s:.160}")
            return "error"
        if refused is not None and is_documented(refused):
            return "refused"
        if refused is not None:
            raise Difference(f"{type(refused).__name__}: {refused!s:.300}") from refused
        compare(got, want, values, tolerance)
        if "out" in kwargs and want is kwargs["out"] and got is not to_kwargs["out"]:
            raise Difference("the result is not out")
        if changes:
            compare(to[0], host[0], values, tolerance)
    except Difference as difference:
        raise Difference(f"{text}  [seed {seed}]\n  {difference}") from difference.__cause__
    return "same"


def main() -> None:
    import argparse
    import collections

    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--show", type=int, default=3)
    parser.add_argument("--dtypes-only", action="store_true")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else sorted(CALLS)
    found: dict = collections.defaultdict(list)
    counts: collections.Counter = collections.Counter()
    for k in range(given.count):
        name = names[k % len(names)]
        try:
            counts[run(name, given.seed + k, cuda.to_device, not given.dtypes_only)] += 1
        except Difference as difference:
            counts["differs"] += 1
            found[name].append(str(difference))
    for name, texts in found.items():
        print(f"==== {name}: {len(texts)}")
        for text in texts[:given.show]:
            print(text)
    print(dict(counts))


if __name__ == "__main__":
    with lw.config(target="auto" if cuda.is_available() else "cpu"):
        main()
