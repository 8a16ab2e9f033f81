"""Loops of gufunc bodies with loop-carried variables, shared by a block on the device, against
the host side of the same function. Data are small whole numbers, so that any order of sums is exact."""

import warnings

import numpy as np
import pytest

import lanewise as lw
from gufunc_checks import ALONE, SHARED, check, data, mapping
from lanewise import cuda

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("simulated"), pytest.mark.filterwarnings("error::lanewise.errors.PerformanceWarning"),
              pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")]


# ---- what is spread ----


@lw.guvectorize("(n),()->(n)")
def moving_average(a, w, out):
    total = a[0] - a[0]
    for i in range(w):
        total += a[i]
        out[i] = total / (i + 1)
    for i in range(w, len(a)):
        total += a[i] - a[i - w]
        out[i] = total / w


@lw.guvectorize(["void(float64[:], int64[:], float64[:])", "void(float32[:], int64[:], float32[:])"], "(n),()->(n)")
def counted_average(a, width, out):
    w = width[0]
    total = 0.0
    count = 0
    for i in range(w):
        total += a[i]
        count += 1
        out[i] = total / count
    for i in range(w, len(a)):
        total += a[i] - a[i - w]
        out[i] = total / count


@pytest.mark.parametrize("n", [32, 33, 64, 65, 100, 127, 128, 129, 511, 512, 513, 1000, 4096, 5000])
@pytest.mark.parametrize("w", [1, 2, 31, 32])
def test_moving_average(n, w):
    x = data((3, n), seed=n)
    check(moving_average, x, w)
    check(counted_average, x.astype("float32"), w)


def test_moving_average_is_spread():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(moving_average, data((3, 600)), 600)
    for cc in ("sm_75", "sm_90", "sm_100", "sm_120"):
        assert moving_average.resources("dl->d", cc)["large_cores"] == SHARED
    assert mapping(counted_average, "dl->d") == SHARED


@lw.guvectorize("(n)->(n),(n),()")
def several(x, sums, largest, last):
    total = x[0] - x[0]
    most = x[0]
    half = 0
    count = 0
    squares = total
    for i in range(len(x)):
        sums[i] = total + count  # before it is updated, and below after
        count += 3
        if x[i] < 0:
            total -= x[i]
            most = max(most, x[i])
        elif x[i] == 0:
            largest[i] = 0
            continue
        else:
            total += 2 * x[i]
            half += i
        squares += total
        if x[i] > most:
            most = x[i]
        largest[i] = most * 1000 + total + half
    last[0] = total + count + most + half + squares


@lw.guvectorize("(n)->(n),(n),(n)")
def bits(x, a, b, c):
    u, v, w = x[0], x[0] - x[0], x[0] - x[0]
    p = v + 1
    for i in range(len(x)):
        u &= x[i]
        v |= x[i]
        w ^= x[i]
        p *= 2 * x[i] + 1
        a[i], b[i], c[i] = u, v, w + p


@lw.guvectorize("(m,n)->(m,n),(m)")
def table_sums(x, sums, rows):
    total = x[0, 0] - x[0, 0]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += x[i, j]
            sums[i, j] = total
        rows[i] = total


@lw.guvectorize("(n)->(n),(n)")
def extremes(x, low, high):
    smallest = x[0]
    largest = x[0]
    for i in range(len(x)):
        smallest = min(smallest, x[i])
        largest = np.maximum(largest, x[i])
        low[i] = smallest
        high[i] = largest


@lw.guvectorize("(n)->(n)", writable_args=(0,))
def in_place(x, y):
    total = x[0] - x[0]
    for i in range(1, len(x)):
        total += x[i]
        x[i] = total
        y[i - 1] = total + x[i]
    y[len(x) - 1] = total


@lw.guvectorize("(n)->(n),(n)")
def suffixes(x, y, z):
    s = x[0] - x[0]
    for i in range(len(x) - 1, -1, -1):
        s += x[i]
        y[i] = s
        z[len(x) - 1 - i] = s + x[i]
    for i in range(1, len(x), 2):
        s += x[i]
        y[i] -= s
        z[i - 1] += y[i]


def spreads(function, types):
    assert mapping(function, types) == SHARED, mapping(function, types)


@pytest.mark.parametrize("n", [32, 63, 64, 65, 200, 513, 1100])
def test_scans(n):
    for dtype in ("float32", "float64", "int32", "int64", "uint32", "uint64"):
        x = data((2, n), dtype, n, 0 if dtype[0] == "u" else -9)
        check(several, x)
        check(extremes, x)
        check(in_place, x)
        check(suffixes, x)
        if dtype[0] != "f":
            check(bits, x)
    check(table_sums, data((2, n, 5), seed=n))
    check(table_sums, data((2, 5, n), seed=n))


def test_scans_are_spread():
    for f in (several, extremes):
        spreads(f, "d->ddd" if f is several else "d->dd")
    spreads(bits, "l->lll")
    spreads(table_sums, "d->dd")
    spreads(suffixes, "d->dd")
    spreads(in_place, "d->d")


# ---- what must not be spread, or not always ----


@lw.guvectorize("(n)->(n)")
def reset(x, y):
    s = x[0] - x[0]
    for i in range(len(x)):
        s = s * 0.5 + x[i]
        if s > 1:
            s = s - s
        y[i] = s


@lw.guvectorize("(n)->(n)")
def saturating(x, y):
    s = x[0]
    for i in range(len(x)):
        s += x[i]
        if s > 20:
            s -= x[i]
        y[i] = s


@lw.guvectorize("(n)->(n)")
def reads_behind(x, y):
    s = x[0] - x[0]
    y[0] = s
    for i in range(1, len(x)):
        s += x[i] + y[i - 1]
        y[i] = s


@lw.guvectorize("(n)->(n)")
def reads_itself(x, y):
    s = x[0] - x[0]
    for i in range(len(x)):
        y[i] = s + x[i]
        s += y[i] - s


@lw.guvectorize("(n)->(n)", writable_args=(0,))
def reads_shifted(x, y):
    s = x[0] - x[0]
    for i in range(len(x) - 1):
        s += x[i]
        x[i + 1] = s
        y[i] = s
    y[len(x) - 1] = s


@lw.guvectorize("(n)->(n)")
def two_of_them(x, y):
    s = x[0] - x[0]
    t = s
    for i in range(len(x)):
        s += x[i]
        t += s
        y[i] = x[i] + t


@lw.guvectorize("(n)->(n)")
def not_from_now(x, y):
    s = x[0] - x[0]
    for i in range(len(x)):
        t = s
        for j in range(3):
            s = t + x[i] * j
        y[i] = s


@lw.guvectorize("(n)->(n)")
def only_the_last(x, y):
    s = x[0] - x[0]
    total = s
    for i in range(len(x)):
        t = total
        for j in range(3):
            total = t + x[i] * j
    for i in range(len(x)):
        y[i] = total


@lw.guvectorize("(n)->(n)")
def mixed(x, y):
    s = x[0]
    for i in range(len(x)):
        if i % 3 == 0:
            s *= x[i]
        else:
            s += x[i]
        y[i] = s


@lw.guvectorize("(n)->(n)")
def subtracted_from(x, y):
    s = x[0]
    for i in range(len(x)):
        s = x[i] - s
        y[i] = s


@lw.guvectorize("(n)->(n)")
def doubled(x, y):
    s = x[0]
    for i in range(len(x)):
        s += s
        s += x[i]
        y[i] = s % 1000


@lw.guvectorize("(n)->(n)")
def stops(x, y):
    s = x[0] - x[0]
    for i in range(len(x)):
        y[i] = s
    for i in range(len(x)):
        s += x[i]
        if s > 50:
            break
        y[i] = s


@lw.guvectorize("(n)->(n)")
def steps_by_total(x, y):
    s = 0
    for i in range(len(x)):
        y[i] = 0
    for i in range(len(x)):
        y[s % len(x)] += x[i]
        s += 2


@lw.guvectorize("(n)->(n)")
def rounds_by_total(x, y):
    s = 0
    t = 0
    for i in range(len(x)):
        for j in range(s % 4):
            t += 1
        s += i
        y[i] = x[i] + t


@lw.guvectorize("(n)->(n)")
def chosen_by_total(x, y):
    s = x[0] - x[0]
    t = s
    for i in range(len(x)):
        s += x[i]
        if s > 0:
            t += 1
        y[i] = x[i] + t


@lw.guvectorize("(n)->(n)")
def skips_by_total(x, y):
    s = x[0] - x[0]
    t = s
    for i in range(len(x)):
        y[i] = t
        s += x[i]
        if s > 0:
            continue
        t += x[i]
        y[i] = t


@lw.guvectorize("(n)->(n)")
def nan_takes_over(x, y):
    m = x[0]
    for i in range(len(x)):
        m = max(x[i], m)
        y[i] = m


@lw.guvectorize("(n)->(n)")
def another(x, y):
    m = x[0]
    for i in range(1, len(x)):
        if x[i] > m:
            m = x[i - 1]
        y[i] = m
    y[0] = m


@lw.guvectorize("(n)->(n)")
def largest_or_not(x, y):
    m = x[0]
    for i in range(len(x)):
        if x[i] < m:
            m = x[i]
        else:
            m = m - 1
        y[i] = m


NEVER = [reset, saturating, reads_behind, reads_itself, reads_shifted, two_of_them, not_from_now, only_the_last, stops, steps_by_total, rounds_by_total, chosen_by_total, skips_by_total,
         nan_takes_over, another, largest_or_not]


@pytest.mark.parametrize("function", NEVER, ids=lambda f: f.__name__)
def test_never(function):
    for n in (33, 200):
        x = data((3, n), seed=n)
        if function is nan_takes_over:
            x[:, ::7] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lw.errors.PerformanceWarning)
            check(function, x)
    assert mapping(function, "d->d").startswith(ALONE)


@pytest.mark.parametrize("function, lengths, low, high", [(mixed, (33, 200), -1, 2), (subtracted_from, (33, 200), -9, 9), (doubled, (33, 40), -9, 9)])
def test_recurrences(function, lengths, low, high):
    for n in lengths:
        check(function, data((3, n), seed=n, low=low, high=high))
    assert mapping(function, "d->d") == SHARED


@lw.guvectorize("(n),()->(n),()")
def wrapping(x, first, y, last):
    s = x[0] - x[0]
    for i in range(len(x)):
        y[i] = 0
    for i in range(first, len(x)):
        s += x[i]
        y[i] = s
    last[0] = s


@lw.guvectorize("(n),(),()->(n)")
def far_behind(x, first, back, y):
    s = x[0] - x[0]
    count = 7
    for i in range(len(x)):
        y[i] = i
    for i in range(first, len(x)):
        s += x[i] - y[i - back]
        count -= 2
        y[i - back] = s + count
    for i in range(len(x)):
        y[i] += s + count


@lw.guvectorize("(n),(),()->(n),(n)")
def backwards(x, first, last, y, z):
    s = x[0] - x[0]
    for i in range(len(x)):
        y[i] = z[len(x) - 1 - i] = 0
    for i in range(first, last, -1):
        s += x[i]
        y[i] = s
        z[-1 - i] = s - x[i]
    for i in range(0, len(x) - 1, 2):
        s += x[i]
        y[i] -= s
        z[i + 1] = y[i]


@pytest.mark.parametrize("n", [40, 300])
def test_indices_that_wrap(n):
    """From a negative start on elements are written twice: one thread does it, in order."""
    x = data((2, n), seed=n)
    for first in (-n, -5, -1, 0, 1, n - 1, n, n + 3):
        check(wrapping, x, first)
    for first, back in ((0, 5), (5, 5), (6, 5), (5, 6), (0, n), (n - 1, 0), (3, 3)):
        check(far_behind, x, first, back)
    for first, last in ((n - 1, -1), (n - 1, n // 2), (n - 1, -6), (5, -n - 1), (-1, -n - 1), (-3, -5), (3, 30)):
        check(backwards, x, first, last)
    assert mapping(backwards, "dll->dd") == SHARED
    assert mapping(wrapping, "dl->dd") == mapping(far_behind, "dll->d") == SHARED


def test_what_is_no_number_and_infinity():
    x = data((2, 300))
    x[0, 150] = np.nan
    x[1, 7], x[1, 170] = np.inf, -np.inf
    check(extremes, x)
    check(moving_average, x, 3)
    check(several, x)


def test_same_bits_each_time():
    x = np.random.default_rng(3).standard_normal((2, 1000))
    first = moving_average(cuda.to_device(x), 10).copy_to_host()
    again = moving_average(cuda.to_device(x[::-1].copy()), 10).copy_to_host()
    np.testing.assert_array_equal(first, again[::-1])
    np.testing.assert_allclose(first, moving_average(x, 10), atol=1e-12)


# ---- programs drawn at random: whole numbers, which are exact in any order ----


class Program:
    """A loop of a few statements over x, y, z and the variables s, t, u; most look like scans, many are none."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.halved = int(self.one_in(4))
        self.start = self.pick(["0", "1", "k", "k + 1", "2 * k"])
        lines = ["def drawn(x, k, y, z):", "    s, t, u = x[0], 3, x[1] - k", "    for i in range(len(x)):",
                 "        y[i] = i", "        z[i] = -i",
                 f"    for i in {self.pick(self.ranges())}:", *self.block(2, 0)]
        lines += ["    for i in range(len(x)):", "        y[i] += s * 3 + t + u * 5"]
        self.text = "\n".join(lines) + "\n"

    def ranges(self):
        middle = "(len(x) - k) // 2" if self.halved else "len(x) - k"
        return [f"range({self.start}, {middle})"] * 3 + [f"range({middle} - 1, {self.start}, -1)", f"range(k, {middle}, 3)",
                                                        f"range({middle} - 1, -1, -2)"]

    def pick(self, these):
        return these[self.rng.integers(len(these))]

    def one_in(self, n):
        return self.rng.integers(n) == 0

    def index(self):
        return self.pick(["i", "i", "i", "i", "i - k", "i + k", "i + 1 - 1", "i - 1", "len(x) - 1 - i",
                          *["i + i - 5", "2 * i - k", "2 * i"] * self.halved])

    def term(self, plain):
        if self.one_in(3):
            return f"{self.pick(['y', 'z'])}[{self.index()}]"
        if not plain or self.one_in(9):
            return self.pick(["s", "t", "u", "v"])
        return self.pick(["x[i]", "x[i]", "x[i - k]", "x[len(x) - 1 - i]", "i", "k", "2", "7"])

    def value(self, plain):
        text = self.term(plain)
        for _ in range(self.rng.integers(3)):
            text = f"({text} {self.pick(['+', '-', '*', '&'])} {self.term(plain)})"
        return text

    def update(self):
        name = self.pick(["s", "t", "u"])
        value = self.pick(["x[i]", "x[i] - x[i - k]", "x[i] * k", "i", "3"]) if not self.one_in(4) else self.value(True)
        return self.pick([f"{name} += {value}", f"{name} -= {value}", f"{name} += {value}", f"{name} = {value} + {name}",
                          f"{name} = max({name}, {value})", f"{name} = min({value}, {name})", f"{name} ^= {value}",
                          f"{name} *= 2 * {value} + 1", f"{name} = {value} - {name}", f"{name} = {name}",
                          f"{name} += {name} * {value}", f"{name} = {name} if {value} < {name} else {value}"])

    def statement(self, depth, inner):
        pad = "    " * depth
        kind = self.rng.integers(12)
        if kind < 4:
            return [pad + self.update()]
        if kind < 8:
            return [f"{pad}{self.pick(['y', 'z'])}[{self.index() if self.one_in(5) else 'i'}] = {self.value(False)}"]
        if kind == 8 and depth < 4:
            condition = f"{self.term(not self.one_in(4))} {self.pick(['<', '>'])} {self.term(not self.one_in(4))}"
            body = [f"{pad}if {condition}:", *self.block(depth + 1, inner)]
            return body + ([f"{pad}else:", *self.block(depth + 1, inner)] if self.one_in(2) else [])
        if kind == 9 and depth < 4:
            name = self.pick(["s", "t", "u"])
            return [f"{pad}if x[i] {self.pick(['<', '>', '>='])} {name}:", f"{pad}    {name} = {self.pick(['x[i]', 'x[i]', 'i'])}"]
        if kind == 10 and depth < 4 and not inner:
            return [f"{pad}for j in range({self.pick(['3', 'k', 'x[i] & 3', '(s & 1)'])}):", *self.block(depth + 1, 1)]
        if kind == 11 and depth > 2 and self.one_in(2):
            return [pad + "continue"]
        return [f"{pad}v = {self.value(True)}"]

    def block(self, depth, inner):
        lines = ["    " * depth + f"v = {self.pick(['x[i]', 'x[i - k]', 'i', 'y[i]'])}"] if depth == 2 else []
        for _ in range(self.rng.integers(1, 5)):
            lines += self.statement(depth, inner)
            if lines[-1].endswith("continue"):
                break
        return [line.replace("v]", "i]") for line in lines]


def drawn(seed, n, items=2):
    """Whether the loop is shared, and the results of the host and of the device."""
    text = Program(seed).text
    names = {}
    exec(compile(text, f"<drawn {seed}>", "exec"), {"__builtins__": __builtins__}, names)
    function = lw.guvectorize(["void(int64[:], int64, int64[:], int64[:])"], "(n),()->(n),(n)", source=text)(names["drawn"])
    x = data((items, n), "int64", seed)
    k = int(seed % 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = function(x, k)
        got = [g.copy_to_host() for g in function(cuda.to_device(x), k)]
    return mapping(function, "ll->ll") == SHARED, want, got, text


@pytest.mark.parametrize("first", [0, 8, 16])
def test_drawn(first):
    for seed in range(first, first + 8):
        _, want, got, text = drawn(seed, 40 + 13 * seed)
        for w, g in zip(want, got):
            np.testing.assert_array_equal(g, w, err_msg=text)


# ---- loops in branches that all threads take alike ----


@lw.guvectorize("(n),()->(n)")
def centred_if(x, k, y):
    total = x[0] - x[0]
    if k > 0:
        for i in range(len(x)):
            total += x[i]
        if total > 3:
            y[0] = 1
            total = total + y[0]
        elif k == 2:
            for i in range(len(x)):
                total = min(total, x[i])
    for i in range(len(x)):
        y[i] = x[i] - total


@lw.guvectorize("(n),()->(n)")
def scan_or_map(x, k, y):
    if k == 0:
        y[:] = x
        return
    if k == 1:
        for i in range(k, len(x)):
            y[i] = x[i - k]
        y[0] = y[len(x) - 1]
    else:
        s = x[0] - x[0]
        for i in range(len(x)):
            s += x[i]
            if k > 5:
                y[i] = s
            else:
                y[i] = -s
    y[1] = y[0]


@lw.guvectorize("(n),()->()")
def sum_or_product(x, k):
    s = x[0] - x[0]
    if k > 3:
        raise ValueError("k")
    if k:
        for i in range(len(x)):
            s += x[i] if k > 1 else x[i] * x[i]
        return s
    for i in range(len(x)):
        s = max(s, x[i])
    return s


@pytest.mark.parametrize("function", [centred_if, scan_or_map, sum_or_product], ids=lambda f: f.__name__)
def test_uniform_branches(function):
    assert mapping(function, "dl->d") == SHARED
    assert function.resources("dl->d", "sm_75")["registers"] and function.resources("dl->d", "sm_120")["registers"]
    for n in (33, 200):
        check(function, data((8, n), seed=n), np.array([0, 1, 2, 3, 3, 2, 1, 0]))
    if function is scan_or_map:
        check(function, data((2, 70)), np.array([6, 5]))


# ---- loops that look for something ----


@lw.guvectorize("(n),()->()")
def place_of(x, v):
    for i in range(len(x)):
        if x[i] == v:
            return i
    return -1


@lw.guvectorize("(n),()->(),()")
def two_ends(x, v, found, where):
    a = 0
    b = -5
    for i in range(len(x)):
        if x[i] == v:
            a = i
            break
        elif i > 20 and x[i] == v + 1:
            b = i * 2 + a
            break
    found[0] = a + 1000 * b
    where[0] = b


@lw.guvectorize("(m,n),()->()")
def row_with(a, v):
    k = 0
    for i in range(a.shape[0]):
        total = a[i, 0] * 0
        for j in range(a.shape[1]):
            if a[i, j] == 3:
                continue
            if a[i, j] == -3:
                break
            total += a[i, j]
        if total == 1:
            continue
        if total > v + 3:
            k = i + 1
            break
    return k


@lw.guvectorize("(n),()->(n)")
def checked(x, v, y):
    for i in range(len(x)):
        if x[i] == v:
            raise ValueError("found")
    for i in range(len(x)):
        y[i] = x[i] - v


LOOKING = {place_of: "dl->l", two_ends: "dl->ll", checked: "dl->d"}


@pytest.mark.parametrize("function", LOOKING, ids=lambda f: f.__name__)
def test_searches(function):
    assert mapping(function, LOOKING[function]) == SHARED
    assert function.resources(LOOKING[function], "sm_75")["registers"]
    for n in (33, 600, 3000):
        x = data((6, n), seed=n)
        x[3], x[4], x[5] = 5, 0, 5
        x[5, n - 2:] = 77
        for v in (77, -9, 76) if function is not checked else (78, -78):
            check(function, x, np.array(v))


def sentinel(x, v):
    for i in range(10 ** 9):
        if x[i] == v:
            return i
    return -2


def followed(x, places, v):
    for i in range(len(places)):
        if places[i] < 0:
            break
        if x[places[i]] == v:
            return i
    return -1


def last_place(x, v):
    for i in range(len(x)):
        if x[len(x) - 1 - i] == v or x[i - 1] == v + 1:
            return i
    return -1


def test_searches_load_nothing_beyond_the_last_iteration():
    """The loads after the iteration that ends the loop are of existing elements, or one thread makes them."""
    x = data((2, 70))
    x[:, 40] = 77
    rows = lw.guvectorize("(m,n),()->()")(row_with.py_func)
    bounded = lw.guvectorize("(n),()->()")(sentinel)
    nested = lw.guvectorize("(n),(m),()->()")(followed)
    back = lw.guvectorize("(n),()->()")(last_place)
    assert not mapping(rows, "dl->l").startswith(SHARED) and not mapping(nested, "dll->l").startswith(SHARED)
    assert mapping(bounded, "dl->l") == mapping(back, "dl->l") == SHARED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.errors.PerformanceWarning)
        check(rows, x[:, :69].reshape(2, 23, 3), np.array(2))
        check(bounded, x, np.array(77))
        check(back, x, np.array(77))
        check(back, x[:, ::-1].copy(), np.array(76))
        places = np.full((2, 50), 10 ** 15)
        places[:, :5] = 3, 1, 40, 6, -1
        check(nested, x, places, np.array(77))
        check(nested, x, places, np.array(78))


def test_a_search_that_raises():
    x = data((3, 100))
    x[1, 60] = 77
    with pytest.raises(ValueError, match="found"):
        checked(cuda.to_device(x), 77).copy_to_host()


# ---- several iterations in a thread ----


@lw.guvectorize("(n),()->(n)")
def window_in_one_loop(a, w, out):
    """What is read in a branch, or in few iterations, is kept between the two passes."""
    total = a[0] - a[0]
    for i in range(len(a)):
        total += a[i]
        if i >= w:
            total -= a[i - w]
        out[i] = total


@lw.guvectorize("(n),(n)->(n),()")
def runs(a, b, out, top):
    """Two loop-carried variables, of which one changes in a branch whose condition reads it."""
    best = a[0]
    count = 0
    for i in range(len(a)):
        if a[i] > best:
            best = a[i]
        if b[i] > 0:
            count += b[i]
        out[i] = best + count
    top[0] = best


@pytest.mark.parametrize("items", [1, 3, 5000])
@pytest.mark.parametrize("n", [32, 33, 127, 128, 129, 255, 257, 511, 512, 513, 1000, 2049])
def test_several_rounds(n, items):
    if items * n > 200_000:
        n = 32 + n % 7  # many items: a warp each
    assert mapping(window_in_one_loop, "dl->d") == SHARED and mapping(runs, "dd->dd") == SHARED
    a, b = data((items, n)), data((items, n), seed=1)
    for w in (1, 7, n // 2, n, n + 5):
        check(window_in_one_loop, a, w)
    check(runs, a, b)
