"""Loops of gufunc bodies whose variables keep what one iteration assigns (the largest element and its index, the
last that is positive, flags), shared by a block on the device, against the host side of the same function, to the bit."""

import itertools
import warnings

import numpy as np
import pytest

import lanewise as lw
from gufunc_checks import ALONE, SHARED, mapping
from lanewise import cuda

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("simulated"), pytest.mark.filterwarnings("ignore::RuntimeWarning"),
              pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")]


def bits(array):
    return np.ascontiguousarray(array).reshape(-1).view("u1")


def check(function, *arrays, note=""):
    """Check that the device gives what the host gives, signs of zeros included."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.errors.PerformanceWarning)
        want = function(*arrays)
        got = function(*(cuda.to_device(a) for a in arrays))
    for w, g in zip(want, got, strict=True) if isinstance(want, tuple) else [(want, got)]:
        g = g.copy_to_host()
        assert g.dtype == w.dtype and np.array_equal(bits(g), bits(w)), (note, w, g)


def built(text, layout, types):
    names = {"np": np}
    exec(compile(text, "<drawn>", "exec"), names)
    return lw.guvectorize(types, layout, source=text)(names["drawn"])


def rows(n, dtype, seed=0):
    """Rows of few values, so that there are many ties; of floats with NaNs here and there, zeros and infinities."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind != "f":
        info = np.iinfo(dtype)
        few = np.array([info.min, info.min + 1, 0, 1, 5, info.max], dtype)
        return np.array([rng.choice(few[a:b], n) for a, b in ((0, 6), (0, 2), (2, 5), (0, 1), (4, 6), (1, 5))])
    nan, inf = np.nan, np.inf
    made = [rng.choice(of, n) for of in ([nan, 1, 2, -3, 0.0, -0.0, inf, -inf], [0.0, -0.0], [-inf, -1], [nan, -inf], [nan], [inf, 7.5],
                                         [3.0, -2.0, 4.0], [nan, 0.0, -0.0, -1.0])]
    late, first = rng.choice([1.0, 2.0, -0.0], (2, n))
    late[n // 2:] = nan
    first[0] = nan
    return np.array([*made, late, first], dtype)


SIZES = [33, 64, 200, 1100]


# ---- the largest, the smallest and what stands beside it ----

PAIR = """
def drawn(x, y, start, best, at, other):
    m = {start}
    k = -7
    o = y[0]
    for i in range({first}, len(x)):
        v = x[i]
        if {condition}:
            {sets}
    best[0], at[0], other[0] = m, k, o
"""
ORDERS = ["m = v\n            k = i\n            o = y[i] + 1", "m, k, o = x[i], i, y[i]", "k = i; o = y[i]; m = v", "m = v; k = i + 1; o = y[i]"]

# condition: whether it takes the best of an order, of floats; of integers all do
CONDITIONS = {
    "v > m": True, "v >= m": True, "v < m": True, "v <= m": True, "m < v": True, "x[i] > m": True,
    "not v <= m": False, "not v < m": False, "not v >= m": False,
    "v > m or v != v": True, "v >= m or v != v": True, "v > m or (v != v and m == m)": True, "not v <= m and m == m": True,
    "v < m or np.isnan(v)": True, "v > m or m != m": True, "v <= m or np.isnan(m)": True,
    "v > m or v != v or m != m": False,
    "y[i] > 0 and v > m": True, "v > m and y[i] != y[0]": True, "(y[i] > 0 and v > m) or (y[i] > 1 and v > m)": True,
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint64", "int8"])
def test_pairs(dtype):
    code = np.dtype(dtype).char
    name = np.dtype(dtype).name
    for number, (condition, of_floats) in enumerate(CONDITIONS.items()):
        start = ["x[0]", "start", "x[0]", "start"][number % 4]
        text = PAIR.format(condition=condition, start=start, first=number % 3, sets=ORDERS[number % len(ORDERS)])
        f = built(text, "(n),(n),()->(),(),()", [f"void({name}[:], int32[:], {name}, {name}[:], int64[:], int32[:])"])
        shares = mapping(f, f"{code}i{code}->{code}li") == SHARED
        assert shares == (of_floats or code not in "fd") or (code not in "fd" and "isnan" in condition), text
        for n in SIZES if dtype == "float64" else SIZES[1:3]:
            x = rows(n, dtype, n + number)
            y = np.random.default_rng(n).integers(-1, 3, (len(x), n)).astype("int32")
            for value in (0, 1, np.nan, -np.inf, np.inf, -0.0) if code in "fd" and start == "start" else (1,):
                check(f, x, y, np.array(value, dtype), note=text)


@lw.guvectorize("(m,n)->(),(),()")
def in_table(x, best, row, column):
    m = x[0, 0]
    r = c = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] >= m:
                m = x[i, j]
                r, c = i, j
    best[0], row[0], column[0] = m, r, c


@lw.guvectorize("(n)->(),(),(),(),()")
def with_others(x, low, at, high, where, total):
    a = b = x[0]
    i0 = i1 = -1
    s = 0
    for i, v in enumerate(x):
        if v < a:
            a = v
            i0 = i
        s += i
        half = v * 2
        if half > b:
            b = half
            i1 = i
        if v > 0:
            s += 2
    low[0], at[0], high[0], where[0], total[0] = a, i0, b, i1, s


@lw.guvectorize("(n)->(n),(),()")
def seen(x, y, best, at):
    m = x[0]
    k = 0
    for i in range(len(x)):
        if x[i] > m:
            m = x[i]
            k = i
        y[i] = m
    best[0], at[0] = m, k


@lw.guvectorize("(n)->(),()")
def twice_a_round(x, best, at):
    m = x[0]
    k = -1
    for i in range(len(x) // 2):
        if x[2 * i] > m:
            m = x[2 * i]
            k = 2 * i
        if x[2 * i + 1] > m:
            m = x[2 * i + 1]
            k = 2 * i + 1
    best[0], at[0] = m, k


@lw.guvectorize("(n)->(),()")
def numpys(x, low, high):
    low[0] = np.argmin(x)
    high[0] = np.argmax(x)


@lw.guvectorize("(n)->(),()")
def only_values(x, low, high):
    a = b = x[0]
    for v in x:
        if v < a:
            a = v
        b = v if v > b else b
    low[0], high[0] = a, b


@lw.guvectorize("(n)->(),()")
def backwards(x, best, at):
    m = x[0]
    k = 0
    for i in range(len(x) - 1, -1, -3):
        if x[i] <= m:
            m, k = x[i], i
    best[0], at[0] = m, k


@lw.guvectorize("(n),(n)->(),(),()")
def by_place(x, y, high, low, other):
    k = len(x) - 1
    j = 0
    r = -1
    o = y[0]
    for i in range(len(x)):
        if x[i] > x[k]:
            k = i
        if x[j] >= x[i]:
            j = i
        if y[i] < x[i] and x[r] < x[i]:
            r = i
            o = y[i]
    high[0], low[0], other[0] = k, j, r + o


WHOLE = {by_place: "dd->lld", in_table: "d->dll", with_others: "d->dldll", seen: "d->ddl", twice_a_round: "d->dl", numpys: "d->ll", only_values: "d->dd", backwards: "d->dl"}


@pytest.mark.parametrize("function", WHOLE, ids=lambda f: f.__name__)
def test_pairs_in_bodies(function):
    assert mapping(function, WHOLE[function]) == SHARED
    assert function.resources(WHOLE[function], "sm_75")["registers"] and function.resources(WHOLE[function], "sm_120")["registers"]
    for n in SIZES:
        x = rows(n, "float64", n)
        if function is by_place:
            check(function, x, rows(n, "float64", n + 1))
        else:
            check(function, x.reshape(len(x), -1, 1 if n % 11 else 11) if function is in_table else x)


@lw.guvectorize("(n)->(),(),()")
def of_generators(x, high, low, count):
    high[0] = max(v * 2 for v in x)
    low[0] = min(v for v in x)
    count[0] = sum(1 for v in x if v > 0)


@lw.guvectorize("(n),()->(),(),(),(),()")
def with_first(x, t, best, at, count, total, every):
    has = False
    m = t
    k = -1
    n = 7
    s = 0
    a = True
    for i in range(len(x)):
        if not has or x[i] <= m:
            m = x[i]
            k = i
            has = True
        n += 3
        s += i
        a = a and x[i] == x[i]
    best[0], at[0], count[0], total[0], every[0] = m, k, n, s, a


@lw.guvectorize("(n)->(),()")
def of_some(x, best, at):
    has = False
    m = 0
    k = -1
    for i in range(len(x)):
        if x[i] % 3 == 1 and (not has or x[i] > m):
            m, k, has = x[i], i, True
    best[0], at[0] = m, k


@pytest.mark.parametrize("n", SIZES)
def test_the_first_that_comes(n):
    assert mapping(of_generators, "d->ddl") == mapping(with_first, "dd->dlll?") == mapping(of_some, "l->ll") == SHARED
    assert with_first.resources("dd->dlll?", "sm_75")["registers"]
    assert not mapping(of_some, "d->dl").startswith(SHARED)  # a NaN would stay, but only where it comes first
    x = rows(n, "float64", n)
    check(of_generators, x)
    check(with_first, x, np.array(1.0))
    check(with_first, np.zeros((3, 0)), np.array(2.0))
    check(of_some, x)
    for dtype in ("int64", "int32"):
        check(of_generators, rows(n, dtype, n) // 3)
        check(of_some, rows(n, dtype, n))
    check(of_some, np.zeros((2, n), "int64"))


# ---- what the last iteration leaves, and flags ----


@lw.guvectorize("(n),()->(),(),(),(),()")
def last_of(x, t, found, where, value, none, two):
    f = False
    ok = True
    k = -1
    v = t
    w = 0
    for i in range(len(x)):
        if x[i] > t:
            f = True
            k = i
            v = x[i] * 2
        if x[i] != x[i]:
            ok = False
        elif x[i] == t:
            w = 2
        else:
            w = i % 3
    found[0], where[0], value[0], none[0], two[0] = f, k, v, ok, w


@lw.guvectorize("(n),()->(),(),()")
def counted(x, t, count, total, last):
    n = 0
    s = 0
    previous = t
    for i in range(len(x)):
        if x[i] > t:
            n += 1
            s += i
        previous = x[i]
    count[0], total[0], last[0] = n, s, previous


@lw.guvectorize("(n),()->(n),()")
def last_by_total(x, t, y, where):
    s = 0
    k = -1
    for i in range(len(x)):
        if x[i] > t:
            s += i
        if s % 3 == 1:
            k = s
        y[i] = s
    where[0] = k


@lw.guvectorize("(n),()->(),(),(),(),()")
def flags(x, t, every, some, both, odd, cut):
    a = True
    o = False
    n = x[0] > t
    b = n
    p = False
    for i in range(len(x)):
        v = x[i]
        b = b and v >= t
        p = p or v != v
        a = a and x[i] > t and x[len(x) - 1 - i] != t
        o = o or x[i] > t or (x[i] < 0 and x[i] != t)
        n = n and x[i] == x[i]
    every[0], some[0], both[0], odd[0], cut[0] = a, o, b, p, n


@lw.guvectorize("(n),()->()")
def odd(x, t, out):
    p = q = False
    r = True
    for i in range(len(x)):
        p ^= x[i] > t
        q |= x[i] < t
        r &= x[i] >= t
    out[0] = p or (q and r)


@lw.guvectorize("(n),()->(),()")
def guarded(x, k, whole, more):
    a = True
    b = False
    for i in range(k, len(x) + k):
        a = a and x[i] == x[i]
        b = b or x[i - k] != x[i - k]
    whole[0], more[0] = a, b


LAST = {flags: "dd->?????", odd: "dd->?", last_of: "dd->?ld?l", counted: "dd->lld", last_by_total: "dd->ll"}


@pytest.mark.parametrize("function", LAST, ids=lambda f: f.__name__)
def test_last(function):
    assert mapping(function, LAST[function]) == SHARED
    for n in SIZES:
        for t in (0.0, 1.0, 1e300, np.inf, np.nan):
            check(function, rows(n, "float64", n), np.array(t))


def stops_first(x, k, whole, more):
    a = True
    for i in range(len(x)):
        a = a and x[i * k] == x[0]
    whole[0] = more[0] = a


@pytest.mark.parametrize("n", [40, 300])
def test_flags_beyond_the_end(n):
    """Iterations that one thread would not run load no elements beyond the end; otherwise one thread runs all iterations."""
    assert mapping(guarded, "dl->??") == SHARED
    x = np.arange(4.0 * n).reshape(4, n)
    x[:, n - 1] = np.nan
    for k in (0, -1, -5):
        check(guarded, x, np.array(k))
    x[:, 3] = np.nan
    check(guarded, x, np.array(5))
    far = x.copy()
    far[:, 0] = np.nan
    check(lw.guvectorize("(n),()->(),()")(stops_first), far, np.array(1 << 40))


# ---- what is no pair: scanned, or not shared ----

SCANNED = {
    "the second": "if x[i] > m:\n            k = m\n            m = x[i]",
    "how often": "if x[i] > m:\n            m = x[i]\n            k += 1",
}
NEVER = {
    "an iteration of several": "if x[i] > m:\n            m = x[i]\n            if i % 2:\n                k = i",
    "another": "if x[i] > m:\n            m = x[i - 1]\n            k = i",
    "not by it": "if x[i] > m:\n            m = x[i]\n        if x[i] > 1:\n            k = k * 2 + i",
    "else": "if x[i] > m:\n            m = x[i]\n            k = i\n        else:\n            m = m - 1",
    "both ways": "if x[i] > m:\n            m = x[i]\n            k = i\n        if x[i] < m:\n            m = x[i]\n            k = i",
    "with others": "if x[i] > m and k < i - 3:\n            m = x[i]\n            k = i",
    "what is left": "if x[i] > m:\n            m = x[i]\n            k = i\n        elif x[i] > 0:\n            k = -i",
    "nearly": "if x[i] > m + 1:\n            m = x[i]\n            k = i",
    "the difference": "if x[i] - m > 0:\n            m = x[i]\n            k = i",
    "of the place": "if x[i] > x[k]:\n            k = i + 0 * k",
    "before the place": "if x[i] > x[k]:\n            k = i - 1",
    "of another place": "if x[i] > x[k - 1]:\n            k = i",
    "twice the place": "if 2 * x[i] > x[k]:\n            k = i",
    "between places": "if x[i] > x[k] and x[k] < 3:\n            k = i",
}


@pytest.mark.parametrize("name", [*SCANNED, *NEVER])
def test_no_pairs(name):
    text = ("def drawn(x, best, at):\n    m = x[0]\n    k = 0\n    for i in range(1, len(x)):\n"
            f"        {(SCANNED | NEVER)[name]}\n    best[0], at[0] = m, k\n")
    f = built(text, "(n)->(),()", ["void(int64[:], int64[:], int64[:])"])
    assert mapping(f, "l->ll").startswith(SHARED if name in SCANNED else ALONE)
    for n in SIZES[:3]:
        check(f, np.random.default_rng(n).integers(-5, 6, (4, n)), note=text)


# ---- calls whose loops are shared as if they stood in line ----


@lw.jit
def place_in(row, value):
    for i in range(len(row)):
        if row[i] == value:
            return i
    return -1


@lw.jit
def largest_of(row):
    m = row[0]
    for v in row:
        m = v if v > m else m
    return m


@lw.guvectorize("(n),()->(),(),()")
def by_calls(x, t, where, some, every):
    k = place_in(x, largest_of(x))
    if k < 0:
        k = place_in(x, t) * 2
    where[0] = k
    some[0] = any(v > t for v in x)
    every[0] = all(v >= t for v in x)


def test_calls():
    assert mapping(by_calls, "dd->l??") == SHARED
    assert by_calls.resources("dd->l??", "sm_75")["registers"]
    for n in SIZES:
        for t in (0.0, -np.inf, 2.0, np.nan):
            check(by_calls, rows(n, "float64", n), np.array(t))


# ---- drawn at random ----


def test_drawn():
    rng = np.random.default_rng(5)
    pieces = ["v > m", "v >= m", "v < m", "v == m", "v != v", "m != m", "y[i] > 0", "i > 5", "v <= m", "m == m", "v > 1"]
    shared = 0
    for seed, (joint, deny) in itertools.islice(enumerate(itertools.cycle(itertools.product(["and", "or"], ["", "not "]))), 40):
        a, b, c = rng.choice(pieces, 3)
        condition = f"{a} {joint} {deny}({b} {rng.choice(['and', 'or'])} {c})" if seed % 3 else f"{a} {joint} {deny}{b}"
        text = PAIR.format(condition=condition, start="start", first=0, sets=ORDERS[seed % len(ORDERS)])
        f = built(text, "(n),(n),()->(),(),()", ["void(float64[:], int32[:], float64, float64[:], int64[:], int32[:])"])
        shared += mapping(f, "did->dli") == SHARED
        for n in (40, 130):
            x = rows(n, "float64", n + seed)
            y = rng.integers(-1, 3, (len(x), n)).astype("int32")
            for value in (0.0, np.nan, -np.inf):
                check(f, x, y, np.array(value), note=text)
    assert shared > 3
