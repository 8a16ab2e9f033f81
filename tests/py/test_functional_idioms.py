"""map, filter, functools.reduce, `tuple` of generator expressions, and texts that are formatted by %, format, str and +, against CPython."""

from __future__ import annotations

import collections
import functools
import itertools
import operator

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors

MODE = "fast"
CODES = {"fastx": 1, "f8": 3}


def maps(n):
    a = list(range(-n, n))
    k = 3
    s = t = 0
    for v in map(lambda p, q: p * q + k, a, range(n)):
        if v > 9:
            continue
        s += v
        if s > 40:
            break
    else:
        s -= 1
    for v in filter(None, a):
        t += v
    out = [w for v in map(lambda v: v + 1, a) for w in (v, 2 * v)]
    out.extend(map(abs, a))
    return s, t, out, sorted(map(lambda v: -v, a)), max(map(abs, a)), any(map(lambda v: v > 8, a)), {v: k for v in map(abs, a)}


def filters(n):
    a = list(range(n))
    found = 0
    for v in filter(lambda v: v % 2, map(abs, a)):
        if v == 5:
            break
        found += v
    else:
        found = -5
    pairs = [p + q for p, q in zip(map(lambda v: v * 2, a), filter(lambda v: v > 0, a))]
    return found, pairs, list(filter(lambda v: v > 1, a)), sum(map(float, filter(lambda v: v > 2, a))), [i * v for i, v in enumerate(map(abs, a))]


class Scale:
    def __init__(self, k):
        self.k = k

    def of(self, v):
        return self.k * v


def of_containers(n):
    d, g, o = {i: i % 3 for i in range(n)}, [[1, n], [3], []], Scale(n)
    counts = {}
    for k in map(lambda i: d[i], d):
        counts[k] = counts.get(k, 0) + 1
    return counts, list(map(len, g)), list(filter(len, g)), list(map(lambda kv: kv[0] * kv[1], d.items())), list(map(o.of, d.values())), \
        min(map(abs, d), default=-1), max(map(abs, d), key=lambda v: -v), next(filter(lambda v: v > 4, d), -1), dict(map(lambda k: (k, k * 2), d))


def reductions(n):
    a = list(range(1, n))
    return functools.reduce(max, a), functools.reduce(lambda p, q: p + q * n, a, 0.5), functools.reduce(operator.mul, map(abs, a)), functools.reduce(operator.add, (1, 2.5, n)), \
        functools.reduce(lambda p, q: p + [q], a, [0])


def tuples(n):
    u, v = (n, 2, 3.5), (1, n + 1, 2)
    for _ in range(3):
        u = tuple(x * 1.5 for x in u)
    places = tuple(u[i] - v[i] for i in range(len(u)))
    return u, places, tuple([a + b for a, b in zip(u, v)]), tuple(a * b - c for a, b, c in zip(u, (1, 2), v)), tuple(i * a for i, a in enumerate(v)), \
        tuple(p + q for p, q in ((1, 2), (3, 4.5))), tuple(map(float, v)), tuple(range(4)), tuple(x for x in ()), tuple((x, -x) for x in v)


def known_texts(n):
    return CODES[MODE + "x"], CODES["%s%d" % ("f", 8)], CODES["f" + str(8)], CODES["{}{}".format("f", 8)], "x" + MODE == "xfast"


@pytest.mark.parametrize("program", [maps, filters, of_containers, reductions, tuples, known_texts], ids=lambda f: f.__name__)
def test_programs(program):
    compiled = lw.njit(program)
    for n in (2, 7):
        assert compiled(n) == program(n)


def test_reduce_of_nothing():
    f = lw.njit(lambda n: functools.reduce(operator.add, list(range(n))))
    assert f(4) == 6
    with pytest.raises(TypeError, match="empty iterable with no initial value"):
        f(0)


def test_tuples_in_every_decorator():
    def norm(x, y):
        return sum(tuple(v * v for v in (x, y, 1.0)))

    x = np.arange(4.0)
    assert lw.vectorize(norm)(x, 2).tolist() == (x * x + 5).tolist()
    out = np.zeros(4)

    @lw.forall
    def fill(i, x, out):
        out[i] = norm(x[i], 2)

    fill(4, x, out)
    assert out.tolist() == (x * x + 5).tolist()
    assert lw.reduce(lambda a, b: tuple(p + q for p, q in zip(a, b)), map=lambda x: (x, 1))(x) == (6.0, 4)
    assert lw.reduce(lambda a, b: tuple(map(max, a, b)), map=lambda x: (x, -x))(x) == (3.0, 0.0)


def shown(n):
    m = "a" if n > 2 else "b"
    print("is " + m, "%5s|%-5s|%s" % (m, n, m), "%5.2f %05d %+d %% %x %e %i" % (n / 3, n, n, n, n / 3, n), sep=";")
    print("%d %5d %-5d| %05d" % (n / 2, n * 1.75, -n * 2.5, n * 3.99), "%5.1f%%" % n)
    print("{0} {1:>6.2f} {0!s} {name}".format(n, n / 3, name=m), str(n) + "!", str(n / 2))
    raise KeyError("bad %s: %d" % (m, n))


@pytest.mark.parametrize("n", [1, 3])
def test_formatted_texts(n, capfd):
    with pytest.raises(KeyError):
        shown(n)
    wanted = capfd.readouterr().out
    with pytest.raises(KeyError, match=f"bad {'ab'[n < 3]}: {n}"):
        lw.njit(shown)(n)
    assert capfd.readouterr().out == wanted


def test_messages():
    @lw.njit
    def check(n, name):
        assert n > 5, "not " + str(n)
        raise ValueError("unknown " + name + ", n = " + str(n))

    with pytest.raises(AssertionError, match="^not 3 "):
        check(3, "mode")
    with pytest.raises(ValueError, match="^unknown mode, n = 7 "):
        check(7, "mode")


@pytest.mark.parametrize("function, message", [
    (lambda x: tuple(v for v in x), "E120: `tuple` makes a tuple of what a generator expression gives for the items of a tuple"),
    (lambda x: print("x is " + x[0]), "E120: only a string can be added to a string"),
    (lambda x: tuple(v for v in x if v > 0), "E103"),
])  # fmt: skip
def test_errors(function, message):
    with pytest.raises(errors.CompileError, match=message):
        lw.njit(function)(np.arange(3))


@pytest.mark.parametrize("function, help", [
    (lambda x: collections.deque(x), "use a list"), (lambda x: collections.Counter(x), "count in a dict"),
    (lambda x: collections.defaultdict(list), "setdefault"), (lambda x: itertools.product(x, x), "write one loop in the other"),
    (lambda x: sorted(x, key=operator.itemgetter(1)), "lambda x"), (lambda x: np.random.default_rng(1), "np.random.seed"),
    (lambda x: x.append(1.0), "collect values in a list"),
])  # fmt: skip
def test_help_with_what_is_not_there(function, help):
    with pytest.raises(errors.CompileError) as error:
        lw.njit(function)(np.arange(3))
    assert help in str(error.value)


def test_names_that_hide_them():
    def map(f, x):  # noqa: A001
        return f(x) + 100

    assert lw.njit(lambda x: map(abs, x))(-1) == 101
