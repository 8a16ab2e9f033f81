"""Runs one function as a kernel's body on the host, on real memory: no door, no launch."""

from __future__ import annotations

import struct

import numpy as np

from lanewise._core import _run_kernel


def spec(value, records=None) -> str:
    """The type of an argument, as `_run_kernel` reads it; dtypes with fields go to `records`."""
    name = getattr(value, "dtype", np.dtype(bool)).name
    if isinstance(value, (np.ndarray, np.void)) and value.dtype.names:
        records.append(value.dtype)
        name = f"record{len(records) - 1}"
    if isinstance(value, np.ndarray):
        axes = [":"] * value.ndim
        if value.ndim and value.flags.c_contiguous:
            axes[-1] = "::1"
        elif value.ndim and value.flags.f_contiguous:
            axes[0] = "::1"
        return f"{'' if value.flags.writeable else 'const '}{name}[{', '.join(axes)}]"
    if isinstance(value, tuple):
        return f"Tuple({', '.join(map(spec, value))})"
    names = {bool: "bool", int: "index", float: "pyfloat"}
    return names.get(type(value)) or name


def words(value) -> bytes:
    if isinstance(value, np.ndarray):
        return struct.pack(f"={1 + 2 * value.ndim}q", value.ctypes.data, *value.shape, *value.strides)
    if isinstance(value, tuple):
        return b"".join(map(words, value))
    if isinstance(value, np.void):
        return struct.pack("=q", np.frombuffer(value.data, np.uint8).ctypes.data)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return struct.pack("=q" if isinstance(value, int) else "=d", value)
    value = np.asarray(value)
    if value.dtype.kind == "c":
        return b"".join(part.tobytes().ljust(8, b"\0") for part in (value.real, value.imag))
    return value.tobytes().ljust(8, b"\0")


def run(function, *args, **options):
    """None, or (exception, message, line) that it raised."""
    records = []
    types = ", ".join(spec(a, records) for a in args)
    return _run_kernel(function, types, b"".join(map(words, args)), records=records, **options)


def check(function, *args, **options):
    """Check that the compiled and the interpreted function leave the same in all arrays, with wide and with narrow offsets."""
    for narrow in (False, True):
        mine, theirs = ([_copy(a) for a in args] for _ in range(2))
        assert run(function, *mine, narrow=narrow, **options) is None
        with np.errstate(all="ignore"):
            function(*theirs)
        for a, b in zip(mine, theirs):
            if isinstance(a, np.ndarray):
                np.testing.assert_array_equal(a, b)


def _copy(value):
    """A copy of all the memory around the array, viewed with the same strides."""
    if not isinstance(value, np.ndarray):
        return value
    base = value if value.base is None else value.base
    if not isinstance(base, np.ndarray) or base.dtype != value.dtype:
        return value.copy()
    whole = base.copy(order="K")
    shift = value.ctypes.data - base.ctypes.data
    made = np.ndarray(value.shape, value.dtype, whole, shift, value.strides) if whole.size else value.copy()
    made.flags.writeable = value.flags.writeable
    return made
