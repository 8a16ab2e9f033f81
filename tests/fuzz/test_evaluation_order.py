"""Random `and`, `or`, chains of comparisons and ternaries, nested, in which `:=` assigns variables and methods change objects:
which of the changes happen depends on where evaluation stops, and CPython runs the same text."""

from __future__ import annotations

import random

import numpy as np
import pytest
from check import define

import lanewise as lw

HEAD = """class V:
    def __init__(self, x):
        self.x = x
    def add(self, d):
        self.x += d
        return self.x
    def pos(self):
        return self.x > 0.0
    def __lt__(self, o):
        self.x += 1.0
        return self.x < o.x
    def __ge__(self, o):
        return self.add(2.0) >= o.x
def helper(a, b):
    n = a.x
    return %s
"""
VALUES = (-120.0, -1.5, 0.0, 0.5, 2.0, 60.0, 300.0)
CONSTANTS = ("0.0", "1.0", "2", "-3.0", "50.0", "-100.0", "200.0")
VARIABLES = ("n", "m")


class Programs:
    """One function of x: 1 to 3 statements that hold a random expression, and what is left in all variables."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.variables, self.objects = VARIABLES, ("p", "q")

    def value(self, depth):
        kind = self.random.randrange(10) if depth > 0 else self.random.choice((0, 1, 2, 3, 3, 6))
        variable, constant = self.random.choice(self.variables), self.random.choice(CONSTANTS)
        if kind == 0:
            return constant
        if kind == 1:
            return variable
        if kind == 2:
            return f"{self.random.choice(self.objects)}.x"
        if kind < 6:
            return f"({variable} := {variable} + {constant})" if kind < 5 else f"({variable} := {self.value(depth - 1)})"
        if kind < 8:
            return f"{self.random.choice(self.objects)}.add({constant})"
        if kind == 8:
            return f"({self.value(depth - 1)} if {self.truth(depth - 1)} else {self.value(depth - 1)})"
        return "(" + self.random.choice((" and ", " or ")).join(self.value(depth - 1) for _ in range(self.random.randint(2, 4))) + ")"

    def chain(self, depth):
        links = [self.value(depth - 1)]
        for _ in range(self.random.randint(1, 4)):
            links += [self.random.choice(("<", "<=", ">", ">=", "==", "!=")), self.value(depth - 1)]
        return " ".join(links)

    def truth(self, depth):
        kind = self.random.randrange(15)
        if depth <= 0:
            return self.chain(0)
        if kind < 3:
            return self.chain(depth)
        if kind == 3:
            return self.random.choice(("True", "(1 < 2)", "(0 < 1 < (n := n + 1.0))"))
        if kind == 4:
            return f"{self.random.choice(self.objects)}.pos()"
        if kind == 14:  # a method changes its left operand
            one, other = self.random.sample(self.objects, 2)
            return f"({one} {self.random.choice(('<', '>='))} {other}{self.random.choice(('', f' < {one}', f' >= {one} < {other}'))})"
        if kind == 5:
            return f"(not ({self.truth(depth - 1)}))"
        if kind == 6:
            return f"({self.truth(depth - 1)} if {self.truth(depth - 1)} else {self.truth(depth - 1)})"
        if kind == 7:
            return f"max({self.truth(depth - 1)}, False)"
        return "(" + self.random.choice((" and ", " or ")).join(self.truth(depth - 1) for _ in range(self.random.randint(3, 5))) + ")"

    def statement(self, depth):
        kind = self.random.randrange(7)
        if kind == 0:
            return f"    if {self.truth(depth)}:\n        r += n\n    else:\n        r -= m\n"
        if kind == 1:
            return f"    for i in range(2):\n        r += {self.value(depth)}\n        ok = {self.truth(depth)}\n        r += 1.0 if ok else 2.0\n"
        if kind == 2:
            return f"    while {self.truth(depth)} and k < 3:\n        k += 1\n        ok = {self.truth(depth)}\n"
        if kind == 3:
            return "    ok = helper(p, q)\n    r += 1.0 if ok else 3.0\n"
        if kind == 4:
            return f"    r += {self.value(depth)}\n"
        return f"    ok = {self.truth(depth)}\n    r += 1.0 if ok else 5.0\n"

    def source(self):
        self.variables, self.objects = ("n",), ("a", "b")
        head = HEAD % self.truth(2)
        self.variables, self.objects = VARIABLES, ("p", "q")
        body = "".join(self.statement(3) for _ in range(self.random.randint(1, 3)))
        return (head + "def f(x):\n    n, m, r, k = x, x * 0.5, 0.0, 0\n    ok = False\n    p, q = V(x), V(1.0 - x)\n" + body +
                "    return n, m, r, p.x, q.x, k, ok\n")


def check(source):
    f = define(source, "f")
    want = [f(x) for x in VALUES]
    compiled = lw.jit(cache=False, warn=False)(f)
    got = [compiled(x) for x in VALUES]
    assert got == want, f"{source}\njit:    {got}\nCPython:{want}"
    out = lw.vectorize(cache=False, warn=False)(f)(np.array(VALUES))
    assert list(zip(*(o.tolist() for o in out))) == want, source


@pytest.mark.parametrize("batch", range(15))
def test_what_stops_has_happened(batch):
    for seed in range(10 * batch, 10 * batch + 10):
        check(Programs(seed).source())


def with_or(x):
    n = x
    ok = x < 0 or (n := n + 1) > 0 or (n := n + 100) > 0
    return n, ok


def with_a_chain(x):
    n = x
    ok = x < (n := n + 1) < (n := n - 50) < (n := n + 1)
    return n, ok


def with_a_chain_as_a_condition(x):
    n = x
    if x < (n := n + 1) < (n := n - 50) < (n := n + 1):
        n += 1000.0
    return n


def with_an_object(x):
    p = Counted(x)
    ok = p.x > 0 and p.add(1.0) > 100 and p.add(100.0) > 0
    return p.x, ok


def with_two_objects(x):
    p, q = Counted(x), Counted(x)
    ok = p.pos() and q.pos() and p.add(1.0) > 100 and q.add(1.0) > 0
    return p.x, q.x, ok


def changes(p):
    return p.pos() and p.add(1.0) > 100 and p.pos()


def with_a_call(x):
    p = Counted(x)
    ok = changes(p)
    return p.x, ok


def within_a_call(x):
    n, a = x, x > 0
    ok = max(a and (n := n + 1) > 100 and (n := n + 5) > 0, False)
    return n, ok


def with_known_answers(x):
    a = 1 < 2 < (v := x)
    b = True and (w := x + 1) and x > 5
    return v + w, a, b


class Counted:
    def __init__(self, x):
        self.x = x

    def add(self, d):
        self.x += d
        return self.x

    def pos(self):
        return self.x > 0


@pytest.mark.parametrize("f", (with_or, with_a_chain, with_a_chain_as_a_condition, with_an_object, with_two_objects, with_a_call, within_a_call, with_known_answers))
@pytest.mark.parametrize("x", (1.0, -1.0, 200.0))
def test_what_was_wrong_once(f, x):
    assert lw.jit(f)(x) == f(x)
    out = lw.vectorize(f)(np.array([x]))
    assert np.array(out).T.tolist() == np.array([f(x)]).tolist()


def test_in_the_other_generators():
    @lw.forall
    def over_indices(i, x, out):
        p, n = Counted(x[i]), x[i]
        ok = p.x > 0 and p.add(1.0) > 100 and (n := n + p.add(100.0)) > 0
        out[i] = p.x + n if ok else -p.x

    @lw.guvectorize("(n)->(n)")
    def over_a_core(x, out):
        for i in range(x.shape[0]):
            n = x[i]
            ok = n < 0 or (n := n + 1) > 100 or (n := n + 100) > 150
            out[i] = n if ok else -n

    def mapped(x):
        n = x
        ok = x > 0 and (n := n + 1) > 100 and (n := n + 1) > 0
        return n

    x = np.array([-1.0, 1.0, 50.0, 200.0])
    out = np.zeros(4)
    over_indices(4, x, out)
    assert out.tolist() == [1.0, -2.0, -51.0, 802.0]
    assert over_a_core(x).tolist() == [-1.0, -102.0, 151.0, 201.0]
    assert lw.reduce(lambda a, b: a + b, map=mapped)(x) == -1.0 + 2.0 + 51.0 + 202.0


def test_what_may_have_no_value():
    def third_operand(x):
        ok = x > 0 and x > 1 and (y := x) > 2
        return y

    def third_link(x):
        ok = 0 < 1 < x < (y := x)
        return y

    for f in (third_operand, third_link):
        assert lw.jit(f)(5.0) == 5
        with pytest.raises(UnboundLocalError, match="'y'"):
            lw.jit(f)(0.5)


@pytest.mark.slow_with_sanitizers
def test_they_compile_for_gpus():
    for seed in range(500, 504):
        try:
            lw.compile(define(Programs(seed).source(), "f"), "(float64)", target="sm_90", output="cubin")
        except lw.errors.CompilerNotFound as missing:
            pytest.skip(str(missing))


def test_they_stop_early_and_change_things():
    """Expressions whose changes never depend on where evaluation stops would test nothing."""
    text = "".join(Programs(seed).source() for seed in range(150))
    for feature in (" and ", " or ", ":=", ".add(", " if ", "not ", "max(", "while ", "helper(", " < p"):
        assert text.count(feature) > 20, feature
