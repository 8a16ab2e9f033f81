"""datetime64 and timedelta64: everything is compared with NumPy."""
import itertools
import warnings

import numpy as np
import pytest

import lanewise as lw

UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]
NAT = np.iinfo(np.int64).min
STEPS = [0, 1, -1, 2, -2, 7, -7, 13, 59, -61, 365, -366, 1000, 12345, -99999, 10 ** 6 + 1, NAT]
SOME = ["D", "h", "s", "ms", "3h", "7D", "25s"]
NUMBERS = {"?": [True, False], "i1": [3, -7, 0], "u2": [5, 0, 1], "i4": [-2, 9, 0], "i8": [0, 1, -1, 2, 10 ** 12], "u8": [0, 3, 8],
           "f2": [0.5, -2, 0], "f4": [1.5, np.nan, np.inf], "f8": [0.0, -0.25, 3.75, np.nan, -np.inf, 1e300]}


def times(kind, unit, steps=STEPS):
    return np.array(steps, "i8").view(f"{kind}8[{unit}]")


def every_operand():
    """An array of each kind in several units, and of numbers."""
    for kind, unit in itertools.product("mM", ["Y", "M", "D", "s", "10ms", "generic"]):
        yield times(kind, unit)
    for dtype, values in NUMBERS.items():
        yield np.array(values, dtype)


def outcome(function, *args, **keywords):
    """What a call gives: its arrays, or the class of its exception."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            made = function(*args, **keywords)
        except (TypeError, ValueError, OverflowError) as error:
            return error
    return made if isinstance(made, tuple) else (made,)


def same(ours, numpys, what):
    """NumPy's dtype, units included, and values; or both refuse."""
    if isinstance(numpys, Exception) or isinstance(ours, Exception):
        assert isinstance(ours, Exception) and isinstance(numpys, Exception), (what, ours, numpys)
        assert isinstance(ours, TypeError), (what, ours)
        return
    assert len(ours) == len(numpys), what
    for x, y in zip(ours, numpys):
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == y.dtype, (what, x.dtype, y.dtype)
        if x.dtype.kind in "mM":
            x, y = x.view("i8"), y.view("i8")
        np.testing.assert_array_equal(x, y, str(what))


# ---- ufuncs ----

BINARY = ("add subtract multiply divide floor_divide remainder divmod fmod power maximum minimum fmax fmin equal not_equal less less_equal "
          "greater greater_equal logical_and logical_or logical_xor arctan2 bitwise_and").split()
UNARY = ("absolute negative positive sign isnat isnan isinf isfinite logical_not floor ceil trunc rint square sqrt conjugate signbit "
         "invert fabs exp").split()


@pytest.mark.parametrize("name", BINARY)
def test_binary_ufuncs_are_numpys(name):
    ours, numpys = getattr(lw.ufuncs, name), getattr(np, name)
    operands = list(every_operand())
    for x, y in itertools.product(operands, operands):
        pair = {str(x.dtype), str(y.dtype)}
        if "datetime64" in pair and pair & {f"{kind}64[{unit}]" for kind in ("datetime", "timedelta") for unit in "YM"}:
            continue  # dates without a unit are NaT alone: NumPy raises ValueError for others
        if x.dtype.kind in "mM" or y.dtype.kind in "mM":
            x, y = x[:, None], y[None, :]
            same(outcome(ours, x, y), outcome(numpys, x, y), (name, x.dtype, y.dtype))


@pytest.mark.parametrize("name", UNARY)
def test_unary_ufuncs_are_numpys(name):
    for x in every_operand():
        if x.dtype.kind in "mM":
            same(outcome(getattr(lw.ufuncs, name), x), outcome(getattr(np, name), x), (name, x.dtype))


# ---- conversions ----

def casted(x, dtype):
    return x.astype(dtype)


@pytest.mark.parametrize("kind", "mM")
def test_casts_between_units_are_numpys(kind):
    """Every pair of units, of NaT and of numbers before and after 1970, leap days included."""
    units = [*UNITS, "generic", "3Y", "5M", "7D", "25s", "10ms"]
    steps = [*STEPS, *range(-900, 900, 31), -719529, 2 ** 40 + 1, -2 ** 40 - 3, 10 ** 17 + 7, -10 ** 17 - 9]
    for a, b in itertools.product(units, units):
        x = times(kind, a, steps)
        if a in "YM" or a[-1] in "YM":
            x = x[np.abs(x.view("i8")) < 10 ** 5]
        dtype = np.dtype(f"{kind}8[{b}]")
        if "generic" in (a, b) and kind == "M" or b == "generic":
            continue
        if kind == "m" and {a, b} in ({"3Y", "ns"}, {"5M", "ns"}):
            continue  # NumPy's ratio of the two wraps
        numpys = outcome(x.astype, dtype)
        cast = lw.vectorize(lambda v: v.astype(dtype))
        if isinstance(numpys, OverflowError):
            with pytest.raises(lw.errors.TypingError, match="E120"):
                cast(x)
            continue
        same(outcome(cast, x), numpys, (a, b))


def test_casts_to_and_from_numbers():
    x = times("m", "s")
    for dtype in (np.int64, np.int32, np.uint8, np.float64, np.float32, np.bool_):
        same(outcome(lw.vectorize(lambda v: v.astype(dtype)), x), outcome(x.astype, dtype), dtype)
        same(outcome(lw.vectorize(lambda v: dtype(v)), x), outcome(x.astype, dtype), dtype)
    for y in (np.array([1, -5, 2 ** 40]), np.array([0.5, -7.9, np.nan, np.inf, 1e300, -1e300]), np.array([True, False]), np.array([3], "u1")):
        same(outcome(lw.vectorize(lambda v: np.timedelta64(v, "ms")), y), outcome(y.astype, "m8[ms]"), y.dtype)
