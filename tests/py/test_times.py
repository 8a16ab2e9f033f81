"""datetime64 and timedelta64: everything is compared with NumPy."""
import datetime
import itertools
import warnings

import numpy as np
import pytest

import lanewise as lw

UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]
NAT = np.iinfo(np.int64).min
STEPS = [0, 1, -1, 2, -2, 7, -7, 13, 59, -61, 365, -366, 1000, 12345, -99999, 10 ** 6 + 1, NAT]
NUMBERS = {"?": [True, False], "i1": [3, -7, 0], "u2": [5, 0, 1], "i4": [-2, 9, 0], "i8": [0, 1, -1, 2, 10 ** 12], "u8": [0, 3, 8],
           "f2": [0.5, -2, 0], "f4": [1.5, np.nan, np.inf], "f8": [0.0, -0.25, 3.75, np.nan, -np.inf, 1e300]}


def times(kind, unit, steps=STEPS):
    return np.array(steps, "i8").view(f"{kind}8[{unit}]")


def every_operand():
    """Arrays of each kind in several units, and of numbers."""
    for kind, unit in itertools.product("mM", ["Y", "M", "D", "s", "10ms", "generic"]):
        yield times(kind, unit)
    for dtype, values in NUMBERS.items():
        yield np.array(values, dtype)


NUMPY_2_5 = tuple(int(part) for part in np.__version__.split(".")[:2]) >= (2, 5)


def outcome(function, *args, **keywords):
    """The arrays that a call returns, or the class of its exception."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            made = function(*args, **keywords)
        except (TypeError, ValueError, OverflowError) as error:
            return error
    return made if isinstance(made, tuple) else (made,)


def same(ours, numpys, what):
    """Check that dtypes, units included, and values are NumPy's, or that both refuse the call."""
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
    if name == "sign" and NUMPY_2_5:
        pytest.skip("sign of timedelta64 is float64 from NumPy 2.5 on (docs/differences.md)")
    for x in every_operand():
        if x.dtype.kind in "mM":
            same(outcome(getattr(lw.ufuncs, name), x), outcome(getattr(np, name), x), (name, x.dtype))


# ---- conversions ----

@pytest.mark.parametrize("kind", "mM")
def test_casts_between_units_are_numpys(kind, thorough):
    """Every pair of units, or a third of the pairs, is tested with NaT and numbers before and after 1970, leap days included."""
    units = [*UNITS, "generic", "3Y", "5M", "7D", "25s", "10ms"]
    steps = [*STEPS, *range(-900, 900, 31), -719529, 2 ** 40 + 1, -2 ** 40 - 3, 10 ** 17 + 7, -10 ** 17 - 9]
    for (i, a), (j, b) in itertools.product(enumerate(units), enumerate(units)):
        if (i + j) % 3 != "mM".index(kind) and not thorough:
            continue
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
        if isinstance(numpys, OverflowError) and NUMPY_2_5:
            continue  # it looks at the values; before, and here, they wrap (docs/differences.md)
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


# ---- reductions ----

REDUCTIONS = "sum min max mean any all argmin argmax count_nonzero cumsum prod var".split()


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_are_numpys(name):
    rng = np.random.default_rng(1)
    for kind, unit, with_nat in itertools.product("mM", ["s", "D", "10ms"], [False, True]):
        steps = rng.integers(-10 ** 9, 10 ** 9, 6000)
        steps[rng.integers(0, 6000, 20)] = NAT if with_nat else 0
        x = steps.view(f"{kind}8[{unit}]").reshape(30, 200)
        for a, axis in [(x, None), (x, 0), (x, 1), (x[::3, ::-7], 1), (x[:1, :1], None), (x[:3, :7], 0)]:
            keywords = {} if name == "cumsum" and axis is None else {"axis": axis}
            same(outcome(getattr(lw.reductions, name), a, **keywords), outcome(getattr(np, name), a, **keywords), (name, a.dtype, a.shape, axis))


def test_reductions_of_nothing_where_and_initial():
    nothing = np.zeros(0, "m8[s]")
    same(outcome(lw.reductions.sum, nothing), outcome(np.sum, nothing), "sum")
    same(outcome(lw.reductions.mean, nothing), outcome(np.mean, nothing), "mean")
    with pytest.raises(ValueError, match="identity"):
        lw.reductions.max(nothing)
    x, mask = times("m", "s")[:-1], np.arange(len(STEPS) - 1) % 3 == 0
    same(outcome(lw.reductions.sum, x, where=mask), outcome(np.sum, x, where=mask), "where")
    first = np.timedelta64(10, "m")
    same(outcome(lw.reductions.sum, x, initial=first), outcome(np.sum, x, initial=first), "initial")
    same(outcome(lw.reductions.max, x, initial=first, where=mask), outcome(np.max, x, initial=first, where=mask), "both")
    for wrong in (np.timedelta64(1, "ms"), np.datetime64("2000", "s"), 0.5):
        with pytest.raises(TypeError, match="initial= must be a number that timedelta64.s. can hold"):
            lw.reductions.sum(x, initial=wrong)
    with pytest.raises(TypeError, match="initial="):
        lw.reductions.sum(np.arange(3), initial=first)


@pytest.mark.parametrize("initial", [
    datetime.date(2022, 1, 1), datetime.datetime(2022, 1, 1), np.datetime64("2022-01-01T00"), np.array("2022-01-01T00", "M8[h]"), np.array("2022-01-01T00", ">M8[h]"),
    np.datetime64("2022"), np.datetime64("NaT", "us"), np.datetime64("NaT"),
    datetime.timedelta(30000), np.timedelta64(720000, "h"), np.timedelta64("NaT", "us"),
])
def test_initial_of_other_classes_and_units(initial):
    """The unit of the elements holds these without rounding."""
    is_date = isinstance(initial, (datetime.date, np.datetime64, np.ndarray))
    for unit in ("D", "s"):
        x = np.array([18000, 19000]).astype("M8[D]" if is_date else "m8[D]").astype(f"{'M' if is_date else 'm'}8[{unit}]")
        for name in ("min", "max") if is_date else ("min", "max", "sum"):
            same(outcome(getattr(lw.reductions, name), x, initial=initial), outcome(getattr(np, name), x, initial=initial), (name, unit))


@pytest.mark.parametrize("initial", [
    datetime.datetime(2022, 1, 1, 13), np.datetime64("2022-01-01T13"), "2022-01-01", b"2022-01-01", [datetime.date(2022, 1, 1)], 5, np.timedelta64(3, "D"), datetime.timedelta(3), object(),
])
def test_initial_that_is_not_a_date(initial):
    """NumPy rounds it, or takes its number for one of days."""
    with pytest.raises(TypeError, match=r"initial= must be a number that datetime64\[D\] can hold, not "):
        lw.reductions.max(np.array(["2020-01-01"], "M8[D]"), initial=initial)


@pytest.mark.parametrize("initial", [
    datetime.date(9999, 1, 1), datetime.datetime(1, 1, 1), np.datetime64("9999-01-01"), np.array("2262-04-12", "M8[D]"), datetime.timedelta.max, np.timedelta64(10**6, "D"),
])
def test_initial_that_is_out_of_range(initial):
    """In nanoseconds, these times take more than 64 bits. NumPy's wrap around."""
    dtype = "m8[ns]" if isinstance(initial, (datetime.timedelta, np.timedelta64)) else "M8[ns]"
    for name in ("min", "max"):
        with pytest.raises(TypeError, match="initial= must be a number that .*64.ns. can hold, not "):
            getattr(lw.reductions, name)(np.array([1, 2], dtype), initial=initial)


class Failing:
    """Raises an exception when it is made into an array."""

    def __init__(self, error):
        self.error = error

    def __array__(self, *args, **keywords):
        raise self.error


@pytest.mark.parametrize("error, raised", [(KeyboardInterrupt, KeyboardInterrupt), (MemoryError, MemoryError), (ValueError, TypeError)])
def test_initial_that_fails(error, raised):
    """An interrupt and a lack of memory are not taken for a wrong initial=."""
    with pytest.raises(raised):
        lw.reductions.max(np.array(["2020-01-01"], "M8[D]"), initial=Failing(error()))


def test_operators_of_reductions():
    x = times("M", "D", np.arange(10000) * 37 % 5001)
    latest = lw.reduce(lambda a, b: a if a > b else b)
    assert latest(x) == x.max() and latest(x).dtype == x.dtype
    span = lw.reduce(lambda a, b: (min(a[0], b[0]), max(a[1], b[1])), map=lambda v: (v, v), finish=lambda low, high: high - low)
    assert span(x) == np.ptp(x) and span(x).dtype == np.dtype("m8[D]")
    hours = lw.reduce(lambda a, b: a + b, map=lambda v, start: (v - start) / np.timedelta64(1, "h"), identity=0.0)
    assert hours(x, x[:1].repeat(len(x))) == ((x - x[0]) / np.timedelta64(1, "h")).sum()
    running = lw.reductions.running_maximum(x)
    np.testing.assert_array_equal(running, np.maximum.accumulate(x))
    assert lw.reductions.minmax(x) == (x.min(), x.max())


# ---- kernels ----

def test_forall_and_records():
    dates, steps = times("M", "D"), times("m", "h")
    out, rec = np.zeros(len(dates), "M8[s]"), np.zeros(len(dates), [("t", "M8[s]"), ("d", "m8[ms]", (2,)), ("x", "i4")])

    @lw.forall
    def move(i, out, dates, steps, rec):
        out[i] = dates[i] + steps[i]
        rec[i].t = out[i]
        rec[i].d[1] = rec[i].t - np.datetime64("1970")
        rec[i].x = 1 if np.isnat(rec[i].t) else 2

    move(len(dates), out, dates, steps, rec)
    expected = dates + steps
    np.testing.assert_array_equal(out, expected.astype("M8[s]"))
    np.testing.assert_array_equal(rec["t"], out)
    np.testing.assert_array_equal(rec["d"][:, 1], (out - np.datetime64("1970")).astype("m8[ms]"))
    np.testing.assert_array_equal(rec["x"], np.where(np.isnat(out), 1, 2))


def test_values_in_and_out_of_functions():
    epoch = np.datetime64("2000-01-01T12", "h")
    table = np.array(["2001", "2002", "NaT"], "M8[D]")

    @lw.jit
    def since(t, n):
        later = t + np.timedelta64(n, "m")
        return later - epoch, later > epoch, table[n % 3], np.isnat(table[2]), -np.timedelta64(5, "s") if n else np.timedelta64(n, "ms")

    t, n = np.datetime64("2020-02-29", "D"), 7
    later = t + np.timedelta64(n, "m")
    made = since(t, n)
    assert made == (later - epoch, later > epoch, table[1], True, np.timedelta64(-5000, "ms"))
    assert [np.asarray(v).dtype for v in made[:3]] == [np.dtype("m8[m]"), np.dtype("?"), np.dtype("M8[D]")]
    assert made[4].dtype == np.dtype("m8[ms]")

    @lw.jit
    def steps(t):
        return t.view(np.int64), t.astype("m8[D]").astype(np.int64), int(t.view("i8")) + 1, bool(t), divmod(t, np.timedelta64(7, "h"))

    d = np.timedelta64(100, "h")
    assert steps(d) == (100, 4, 101, True, divmod(d, np.timedelta64(7, "h")))


def test_simulated_kernels_and_shared_memory():
    @lw.cuda.jit(target="cpu")
    def largest(out, x):
        tile = lw.cuda.shared.array(32, "M8[D]")
        i = lw.cuda.threadIdx.x
        tile[i] = x[i]
        lw.cuda.syncthreads()
        if i == 0:
            best = tile[0]
            for k in range(1, 32):
                best = np.fmax(best, tile[k])
            out[0] = best

    x = times("M", "D", np.arange(32) * 11 % 29)
    x[3] = "NaT"
    out = np.zeros(1, "M8[D]")
    largest[1, 32](out, x)
    assert out[0] == np.nanmax(x)


def test_gufuncs():
    latest = lw.guvectorize("(n)->()")(_latest)
    x = times("M", "D", np.arange(60) * 7 % 31).reshape(6, 10)
    np.testing.assert_array_equal(latest(x), x.max(axis=1))
    np.testing.assert_array_equal(latest(x.astype("M8[10ms]")), x.max(axis=1).astype("M8[10ms]"))
    assert latest(x.view("i8")).dtype == np.int64
    declared = lw.guvectorize(["(M8[D][:],m8[D],M8[s][:])"], "(n),()->(n)")(_shifted)
    np.testing.assert_array_equal(declared(x, np.timedelta64(3, "D")), (x + np.timedelta64(3, "D")).astype("M8[s]"))
    with pytest.raises(TypeError, match="E181"):
        declared(x.astype("M8[s]"), np.timedelta64(3, "D"))


def _latest(x, out):
    best = x[0]
    for i in range(1, x.shape[0]):
        best = max(best, x[i])
    out[()] = best


def _shifted(x, by, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + by


# ---- whole arrays ----

WHOLE = [
    lambda x: x.min(), lambda x: x.max(), lambda x: np.ptp(x), lambda x: x.any(), lambda x: x.all(), lambda x: np.count_nonzero(x), lambda x: x.argmin(),
    lambda x: x.argmax(), lambda x: x.sum(), lambda x: x.max(axis=0), lambda x: x.cumsum(), lambda x: np.zeros_like(x), lambda x: x.copy(),
    lambda x: x.astype("i8"), lambda x: x.astype("M8[s]"), lambda x: x.astype("m8[ms]"), lambda x: x.reshape(-1), lambda x: x.ravel(),
    lambda x: x.view(np.int64), lambda x: x.T, lambda x: np.flip(x, 0), lambda x: np.repeat(x, 2), lambda x: np.tile(x, 2), lambda x: np.sort(x),
    lambda x: np.argsort(x), lambda x: np.array_equal(x, x), lambda x: x - x, lambda x: x + np.timedelta64(1, "h"), lambda x: x == x,
    lambda x: np.isnat(x), lambda x: np.maximum(x, x), lambda x: np.where(np.isnat(x), x, x), lambda x: np.concatenate((x, x)),
    lambda x: np.zeros(3, "m8[s]"), lambda x: np.full(3, np.timedelta64(5, "s")), lambda x: np.array([np.timedelta64(5, "s"), np.timedelta64(7, "s")]),
    lambda x: np.stack((x, x)), lambda x: np.unique(x), lambda x: np.diff(x), lambda x: x[np.array([1, 0])], lambda x: x[x == x], lambda x: -x,
    lambda x: abs(x), lambda x: x / np.timedelta64(1, "h"), lambda x: x // np.timedelta64(2, "s"), lambda x: x * 2, lambda x: x * 0.5,
    lambda x: x % np.timedelta64(2, "s"), lambda x: np.clip(x, x, x), lambda x: np.roll(x, 2), lambda x: np.nonzero(x), lambda x: np.median(x),
    lambda x: x.mean(), lambda x: np.searchsorted(np.sort(x), x), lambda x: x.prod(), lambda x: np.sqrt(x), lambda x: np.nanmax(x), lambda x: x @ x,
    lambda x: x.mean(axis=0), lambda x: np.mean(x, axis=-1, keepdims=True), lambda x: np.median(x, axis=0), lambda x: np.diff(x, 2), lambda x: np.diff(x, axis=0),
]


def test_functions_of_whole_arrays(thorough):
    """NumPy's results, or a refusal; and no function gives what NumPy refuses. Vectors of dates and matrices of differences, or the other way
    round, or both."""
    refused = 0
    for (i, function), (j, kind), (k, shape) in itertools.product(enumerate(WHOLE), enumerate("mM"), enumerate([(6,), (2, 3)])):
        if (i + j + k) % 2 and not thorough:
            continue
        compiled = lw.jit(function)
        for nat in (3, NAT):
            a = times(kind, "s", [5, 1, 7, nat, 9, 2]).reshape(shape)
            ours, numpys = outcome(compiled, a.copy()), outcome(function, a)
            if isinstance(ours, TypeError) and not isinstance(numpys, Exception):
                assert "E1" in str(ours)
                refused += 1
                continue
            same(ours, numpys, (function.__code__.co_consts, function.__code__.co_names, kind))
    assert refused <= 12, refused


# ---- types and signatures ----

def test_names_of_types():
    types = lw.types
    assert str(types.NPDatetime("D")) == "datetime64[D]" and types.NPTimedelta("10ms").dtype == np.dtype("m8[10ms]")
    assert types.NPDatetime("D") == lw.from_dtype("M8[D]") == lw.from_dtype(np.dtype("M8[D]")) and types.NPDatetime("D") != types.NPDatetime("s")
    assert types.NPDatetime("D").unit == "D" and types.NPTimedelta("25s").unit == "25s" and types.NPTimedelta("").unit == "generic"
    assert isinstance(types.NPDatetime("D"), types.NPDatetime) and not isinstance(types.NPTimedelta("D"), types.Number)
    assert isinstance(types.NPTimedelta("D"), types.NPTimedelta) and not isinstance(types.NPTimedelta("D"), types.NPDatetime)
    assert str(types.NPTimedelta("s")[:, ::1]) == "timedelta64[s][:, ::1]" and types.NPDatetime("D")("2020-02-29") == np.datetime64("2020-02-29")
    assert lw.typeof(np.datetime64("2020", "D")) == types.NPDatetime("D") and lw.typeof(times("m", "s")) == types.NPTimedelta("s")[::1]
    import pickle

    for t in (types.NPDatetime("D"), types.NPTimedelta("7D")[:, ::1]):
        assert pickle.loads(pickle.dumps(t)) == t
    with pytest.raises(TypeError, match="Invalid datetime unit"):
        types.NPDatetime("fortnight")


@pytest.mark.parametrize("signature", ["m8[s](M8[s],M8[s])", "timedelta64[s](datetime64[s], datetime64[s])",
                                       [lw.types.NPTimedelta("s")(lw.types.NPDatetime("s"), lw.types.NPDatetime("s"))]])
def test_signatures(signature):
    f = lw.vectorize(signature if isinstance(signature, list) else [signature])(lambda a, b: a - b)
    x = times("M", "D")
    same(outcome(f, x, x[3]), ((x - x[3]).astype("m8[s]"),), "safe casts to the signature")
    with pytest.raises(TypeError, match="E181"):
        f(x.astype("M8[ms]"), x)
    with pytest.raises(TypeError, match="E181"):
        f(x.view("i8"), x)


def test_wrong_signatures():
    for text in ("M8[D", "M8[x](M8[D])", "m8[0s](m8[s])", "MM->m"):
        with pytest.raises(lw.errors.SignatureError, match="E180"):
            lw.vectorize([text])(lambda a: a)


# ---- what is refused ----

@pytest.mark.parametrize("function, message", [
    (lambda a, b: a + a, "not defined between these types"),
    (lambda a, b: a * 2, "NumPy refuses this of a datetime64"),
    (lambda a, b: b ** 2, "not defined"),
    (lambda a, b: b & b, "not defined"),
    (lambda a, b: b << 1, "not defined"),
    (lambda a, b: ~b, "not defined of this type"),
    (lambda a, b: -a, "not defined of this type"),
    (lambda a, b: np.sqrt(b), "not defined of this type"),
    (lambda a, b: np.floor(b), "not defined of this type"),
    (lambda a, b: a < 5, "not defined"),
    (lambda a, b: a < b, "not defined"),
    (lambda a, b: int(b), "real number"),
    (lambda a, b: float(b), "real number"),
    (lambda a, b: b + np.timedelta64(1, "Y"), "years and months have no fixed number of days"),
    (lambda a, b: b + 1.5, "not defined"),
    (lambda a, b: np.complex128(b), "cannot be converted to complex128"),
    (lambda a, b: np.timedelta64(b, "fortnight"), "must be a unit"),
])
def test_refusals(function, message):
    with pytest.raises(TypeError, match=message):
        lw.vectorize(function)(times("M", "D"), times("m", "D"))


def test_stores_that_lose():
    @lw.forall
    def store(i, out, x):
        out[i] = x[i]

    x, dates = times("m", "s"), times("M", "s")
    store(len(x), out := np.zeros(len(x), "m8[ms]"), x)
    np.testing.assert_array_equal(out, x.astype("m8[ms]"))
    store(len(x), out := np.zeros(len(x), "M8[D]"), dates)  # NumPy casts "same_kind" in assignments
    np.testing.assert_array_equal(out, dates.astype("M8[D]"))
    for target, source in [(np.zeros(len(x), "M8[s]"), x), (np.zeros(len(x), "i8"), x), (np.zeros(len(x)), x), (np.zeros(len(x), "M8[s]"), np.arange(len(x))),
                           (np.zeros(len(x), "m8[Y]"), x)]:
        with pytest.raises(TypeError, match="E142"):
            store(len(x), target, source)


@pytest.mark.parametrize("kind", "mM")
def test_arguments_are_converted_to_signatures(kind):
    """A scalar is converted before the call, by code of its own."""
    steps = [0, 1, -1, 59, -61, 365, -366, 11016, -719529, NAT]
    for b in ["Y", "M", "W", "D", "h", "ms", "3h", "5M", "ns"]:
        f = lw.jit(f"int64({kind}8[{b}])")(_steps_of)
        for a in [*UNITS[:10], "7D", "10ms", "3Y"]:
            x = times(kind, a, steps)
            if not np.can_cast(x.dtype, f"{kind}8[{b}]", "same_kind"):
                with pytest.raises(TypeError):
                    f(x[0])
                continue
            expected = outcome(x.astype, f"{kind}8[{b}]")
            if not isinstance(expected, Exception):
                assert [f(v) for v in x] == expected[0].view("i8").tolist(), (a, b)


def _steps_of(t):
    return t.view(np.int64)


@pytest.mark.parametrize("kind", "mM")
def test_times_are_searched(kind):
    """NaT is behind all others, and other units are converted exactly."""
    x, v = np.sort(times(kind, "D", [3, 5, 5, 9, NAT])), times(kind, "D", [[NAT, 2, 3], [5, 10, 4]])
    finer = v.astype(f"{kind}8[ms]") + np.timedelta64(1, "ms")
    for f in (lambda x, v: np.searchsorted(x, v), lambda x, v: x.searchsorted(v), lambda x, v: np.searchsorted(x, v, "right"), lambda x, v: np.isin(v, x)):
        run = lw.njit(f)
        for values in (v, finer, v.T, v[0, 1], finer[1, 1], v[0, 0], v[:0]):
            for row in (x, x[:0], x[:4], np.repeat(x, 2)[::2]):
                np.testing.assert_array_equal(run(row, values), f(row, values))
    above = lw.vectorize(lambda t: np.searchsorted(x, t))
    np.testing.assert_array_equal(above(finer), np.searchsorted(x, finer))
    if kind == "m":
        assert lw.njit(lambda x, n: np.searchsorted(x, n))(x, 4) == 1
    with pytest.raises(lw.errors.TypingError, match="E120.*`<` is not defined"):
        lw.njit(lambda x, v: np.searchsorted(x, v))(x, 1.5)
    with pytest.raises(lw.errors.TypingError, match="E120.*one-dimensional"):
        lw.njit(lambda x, v: np.searchsorted(v, x))(x, v)


@pytest.mark.parametrize("kind", "mM")
def test_least_and_largest_times_but_for_nat(kind):
    x = times(kind, "h", [[4, NAT, 7], [NAT, NAT, -3]])
    for f in (lambda x: np.nanmin(x), lambda x: np.nanmax(x), lambda x: np.nanmin(x, axis=0), lambda x: np.nanmax(x[:, ::2], axis=1), lambda x: np.intersect1d(x, x[0])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            np.testing.assert_array_equal(lw.njit(f)(x), f(x))
