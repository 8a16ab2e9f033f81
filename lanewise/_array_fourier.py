"""NumPy's module `fft` on device arrays: more of `lanewise/_array_protocol.py`.

A transform of n elements is a sequence of passes, one for each factor of n, first those of 4, with butterflies that are written out for 2, 3
and 4 and a sum over all pairs for larger primes. If n has a prime factor above `_LARGEST`, the transform is made a convolution with
a chirp, whose length is a power of two (L. I. Bluestein, "A linear filtering approach to the computation of discrete Fourier transform",
1970). Axes need not be the last: the elements of the axes behind it are transformed side by side.
"""

from __future__ import annotations

import math
import operator
import threading
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

import lanewise as lw
from lanewise import _array_fourier_kernels as _kernels
from lanewise import _array_protocol as _protocol
from lanewise._array_protocol import _before, _deliver, _filled, _new, _of

_LARGEST = 61  # of the primes whose butterflies are sums over all pairs
_KEPT_BYTES = 1 << 25  # of tables on all devices together; larger transforms make theirs anew


# ---- tables ----

_tables: dict[Any, Any] = {}
_lock = threading.Lock()


def _table(like: Any, name: str, n: int, dtype: Any, make: Any) -> Any:
    """The array that make() gives, kept for the next transform of that length on this device."""
    key = ("host" if isinstance(like, np.ndarray) else like.device.id, name, n, np.dtype(dtype).char)
    found = _tables.get(key)
    if found is None or not (isinstance(found, np.ndarray) or found._is_alive):
        found = make()
        with _lock:
            if found.nbytes <= _KEPT_BYTES // 4:
                _tables.pop(key, None)
                while _tables and sum(x.nbytes for x in _tables.values()) + found.nbytes > _KEPT_BYTES:
                    _tables.pop(next(iter(_tables)))
                _tables[key] = found
    return found


def _roots(like: Any, n: int, dtype: Any) -> Any:
    def make() -> Any:
        out = _new(like, n, dtype)
        _kernels.roots(n, n, out)
        return out

    return _table(like, "roots", n, dtype, make)


# ---- one axis ----


def _factors(n: int) -> list[int]:
    """4s first, then 2, 3 and the other primes."""
    found, rest = [], n
    for f in (4, 2):
        while rest % f == 0:
            found.append(f)
            rest //= f
    f = 3
    while f * f <= rest:
        while rest % f == 0:
            found.append(f)
            rest //= f
        f += 2
    return found + [rest] * (rest > 1)


_WRITTEN_OUT = {2: _kernels.butterfly_2, 3: _kernels.butterfly_3, 4: _kernels.butterfly_4}


def _transformed(x: Any, n: int, sign: float, scale: float, dtype: Any) -> Any:
    """Of x, an array [batch, n, s], along its middle axis; x is overwritten only if it is complex and `dtype`."""
    batch, _, inner = x.shape
    factors = _factors(n)
    real = np.dtype(dtype).type(0).real.dtype.type
    if not factors:
        return (x * real(scale)).astype(dtype)
    if factors[-1] > _LARGEST:
        return _by_chirp(x, n, sign, scale, dtype)
    w = _roots(x, n, dtype)
    rows, s, left = x.reshape((batch, n * inner)), inner, n
    spare: list[Any] = []
    for at, radix in enumerate(factors):
        m = left // radix
        out = spare.pop() if spare else _new(x, (batch, n * inner), dtype)
        factor = real(scale if at == 0 else 1.0)
        if radix in _WRITTEN_OUT:
            _WRITTEN_OUT[radix]((batch, m * s), rows, w, m, s, s // inner, real(sign), factor, out)
        else:
            _kernels.butterfly((batch, m * s), rows, w, radix, m, s, s // inner, real(sign), factor, out)
        if at:
            spare.append(rows)
        rows, s, left = out, s * radix, m
    return rows.reshape((batch, n, inner))


def _by_chirp(x: Any, n: int, sign: float, scale: float, dtype: Any) -> Any:
    batch, _, inner = x.shape
    size = 1 << (2 * n - 2).bit_length()
    real = np.dtype(dtype).type(0).real.dtype.type

    def make_chirp() -> Any:
        out = _new(x, n, dtype)
        _kernels.chirp(n, n, out)
        return out

    def make_spectrum() -> Any:
        out = _new(x, (1, size, 1), dtype)
        _kernels.reversed_chirp(size, chirp, n, size, out.reshape((size,)))
        return _transformed(out, size, 1.0, 1.0, dtype).reshape((size,))

    chirp = _table(x, "chirp", n, dtype, make_chirp)
    spectrum = _table(x, "spectrum", n, dtype, make_spectrum)
    wide = _new(x, (batch, size, inner), dtype)
    _kernels.chirped((batch, size, inner), x, chirp, n, real(sign), real(scale), wide)
    wide = _transformed(wide, size, sign, 1.0, dtype)
    _kernels.times_spectrum((batch, size, inner), wide, spectrum, real(sign))
    wide = _transformed(wide, size, -sign, 1.0 / size, dtype)
    out = _new(x, (batch, n, inner), dtype)
    _kernels.chirped((batch, n, inner), wide, chirp, n, real(sign), real(1), out)
    return out


def _scale(norm: Any, n: int, forward: bool) -> float:
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f"Invalid norm value {norm}; should be \"backward\",\"ortho\" or \"forward\".")
    if norm == "ortho":
        return 1.0 / math.sqrt(n)
    return 1.0 / n if forward == (norm == "forward") else 1.0


def _complex_type(a: Any) -> Any:
    return np.complex64 if a.dtype.char in "efF" else np.complex128


def _length(n: Any, default: int) -> int:
    n = default if n is None else operator.index(n)
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    return n


def _stacked(a: Any, n: int, axis: int) -> Any:
    """a as [batch, n, the axes behind], cut off or filled up with zeros to n elements."""
    if a.dtype.kind not in "biufc":
        raise TypeError(f"numpy.fft of device arrays: the elements are {a.dtype}, but must be numbers")
    if a.dtype.char not in "fdFD":
        a = a.astype(np.float32 if a.dtype.char == "e" else np.float64)
    have = a.shape[axis]
    shape = (math.prod(a.shape[:axis]), n, math.prod(a.shape[axis + 1:]))
    if have > n:
        a = a[_before(axis) + (slice(0, n),)]
    a = a.reshape((shape[0], min(have, n), shape[2]))
    if have < n:
        wide = _filled(a, shape, a.dtype, 0)
        wide[:, :have] = a
        return wide
    return a if a.flags["C_CONTIGUOUS"] else a.copy()


def _unstacked(made: Any, shape: Any, axis: int) -> Any:
    return made.reshape((*shape[:axis], made.shape[1], *shape[axis + 1:]))


def _complex(a: Any, n: Any, axis: int, norm: Any, out: Any, forward: bool) -> Any:
    axis = normalize_axis_index(axis, a.ndim)
    n = _length(n, a.shape[axis])
    scale, dtype = _scale(norm, n, forward), _complex_type(a)
    if a.size == 0 and 0 in a.shape[:axis] + a.shape[axis + 1:]:
        return _deliver(_new(a, (*a.shape[:axis], n, *a.shape[axis + 1:]), dtype), out)
    made = _transformed(_stacked(a, n, axis), n, 1.0 if forward else -1.0, scale, dtype)
    return _deliver(_unstacked(made, a.shape, axis), out)


@_of(np.fft.fft)
def fft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    return _complex(a, n, axis, norm, out, True)


@_of(np.fft.ifft)
def ifft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    return _complex(a, n, axis, norm, out, False)


@_of(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    axis = normalize_axis_index(axis, a.ndim)
    n = _length(n, a.shape[axis])
    _scale(norm, n, True)
    if a.dtype.kind == "c":
        raise TypeError(f"numpy.fft.rfft of device arrays: expected real numbers, got {a.dtype}")
    if n % 2 == 0 and a.size and math.prod(a.shape[axis + 1:]) == 1:
        scale, dtype = _scale(norm, n, True), _complex_type(a)
        half = _transformed(_stacked(a, n, axis).reshape((-1, n)).view(dtype)[:, :, None], n // 2, 1.0, 1.0, dtype)
        whole = _new(a, (half.shape[0], n // 2 + 1), dtype)
        _kernels.from_half(whole.shape, half[:, :, 0], _roots(a, n, dtype), dtype(0.5 * scale).real, whole)
        return _deliver(_unstacked(whole[:, :, None], a.shape, axis), out)
    made = _complex(a, n, axis, norm, None, True)[_before(axis) + (slice(0, n // 2 + 1),)]
    return _deliver(made.copy() if out is None else made, out)


@_of(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    axis = normalize_axis_index(axis, a.ndim)
    n = _length(n, 2 * (a.shape[axis] - 1))
    scale, dtype = _scale(norm, n, False), _complex_type(a)
    kind = a.dtype if a.dtype.char == "e" else dtype(0).real.dtype
    half = _stacked(a if a.dtype == dtype else a.astype(dtype), n // 2 + 1, axis)
    if n % 2 == 0 and a.size and half.shape[2] == 1:
        packed = _new(a, (half.shape[0], n // 2), dtype)
        _kernels.to_half(packed.shape, half[:, :, 0], _roots(a, n, dtype), dtype(scale).real, packed)
        made = _transformed(packed[:, :, None], n // 2, -1.0, 1.0, dtype).reshape((-1, n // 2)).view(kind if kind.char != "e" else np.float32)
        return _deliver(_unstacked(made[:, :, None].astype(kind, copy=False), a.shape, axis), out)
    whole = _new(a, (half.shape[0], n, half.shape[2]), dtype)
    if whole.size:
        _kernels.mirrored(whole.shape, half, n, whole)
        whole = _transformed(whole, n, -1.0, scale, dtype)
    return _deliver(_unstacked(whole.real.astype(kind), a.shape, axis), out)


@_of(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    axis = normalize_axis_index(axis, a.ndim)
    n = _length(n, 2 * (a.shape[axis] - 1))
    return irfft(lw.ufuncs.conjugate(a), n, axis, _SWAPPED.get(norm, norm), out)


@_of(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    axis = normalize_axis_index(axis, a.ndim)
    n = _length(n, a.shape[axis])
    return _deliver(lw.ufuncs.conjugate(rfft(a, n, axis, _SWAPPED.get(norm, norm))), out)


_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward"}


# ---- several axes ----


def _lengths(a: Any, s: Any, axes: Any, inverse_real: bool = False) -> tuple[list[int], list[int]]:
    """Lengths and axes, as NumPy reads them; a length of -1 is that of the array."""
    if s is None:
        axes = list(range(a.ndim)) if axes is None else list(axes)
        lengths = [a.shape[axis] for axis in axes]
        if inverse_real:
            lengths[-1] = 2 * (a.shape[axes[-1]] - 1)
        return lengths, axes
    lengths = list(s)
    axes = list(range(-len(lengths), 0)) if axes is None else list(axes)
    if len(lengths) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return [a.shape[axis] if n == -1 else n for n, axis in zip(lengths, axes)], axes


def _over_axes(function: Any, a: Any, s: Any, axes: Any, norm: Any, out: Any) -> Any:
    lengths, axes = _lengths(a, s, axes)
    made = a
    for n, axis in list(zip(lengths, axes))[::-1]:
        made = function(made, n, axis, norm)
    return _deliver(made, out) if axes else a


@_of(np.fft.fftn)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    return _over_axes(fft, a, s, axes, norm, out)


@_of(np.fft.ifftn)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    return _over_axes(ifft, a, s, axes, norm, out)


@_of(np.fft.fft2)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    return fftn(a, s, axes, norm, out)


@_of(np.fft.ifft2)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    return ifftn(a, s, axes, norm, out)


@_of(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    lengths, axes = _lengths(a, s, axes)
    made = rfft(a, lengths[-1], axes[-1], norm)
    for n, axis in list(zip(lengths, axes))[-2::-1]:
        made = fft(made, n, axis, norm)
    return _deliver(made, out)


@_of(np.fft.rfft2)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    return rfftn(a, s, axes, norm, out)


@_of(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    lengths, axes = _lengths(a, s, axes, inverse_real=True)
    made = a
    for n, axis in list(zip(lengths, axes))[:-1]:
        made = ifft(made, n, axis, norm)
    return irfft(made, lengths[-1], axes[-1], norm, out)


@_of(np.fft.irfft2)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    return irfftn(a, s, axes, norm, out)


def _shifted(x: Any, axes: Any, sign: int) -> Any:
    axes = tuple(range(x.ndim)) if axes is None else (axes,) if isinstance(axes, (int, np.integer)) else tuple(axes)
    return _protocol.roll(x, tuple(sign * (x.shape[axis] // 2) for axis in axes), axes)


@_of(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, 1)


@_of(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, -1)
