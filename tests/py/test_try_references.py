"""References of arrays, lists and dicts where exceptions leave functions that change objects: random programs give what CPython gives, and nothing leaks."""

from __future__ import annotations

import linecache
import random

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors

HEAD = '''
class Pair:
    def __init__(self, x, y):
        self.x = x
        self.y = y
        self.n = 0

    def note(self):
        self.n += 1

    def swap(self):
        self.x, self.y = self.y, self.x
        self.n += 1

    def again(self, k):
        self.x = self.y
        if k % 3 == 1:
            raise ValueError("again")
        self.y = self.y + k

    def renew(self, k):
        if k % 3 == 0:
            self.x = self.y + k
        elif k % 3 == 1:
            self.note()
        else:
            self.swap()
        if k % 5 == 2:
            raise KeyError(k)
        self.note()

    def deep(self, k):
        self.renew(k)
        self.again(k + 1)

    def guarded(self, k):
        try:
            self.deep(k)
        except KeyError:
            self.swap()
        finally:
            self.note()

    def renewed(self, k):
        self.renew(k)
        self.note()
        return self.x


def outer(p, k):
    p.deep(k)
    p.x = p.x + 1
    p.guarded(k)


def both(p, q, k):
    p.renew(k)
    q.again(k)
    p.swap()
    q.deep(k + 1)


def grow(items, k):
    items.append(k * 1.5)
    if k % 4 == 3:
        raise ValueError("grow")
    items.append(k + 0.5)


def fill(table, k):
    table[k % 6] = k + 0.5
    if k % 5 == 4:
        raise KeyError(k)
    del table[k % 6]
    table[k] = 1.0


def f(x):
    p = Pair(x + 1, x + 2)
    q = Pair(x * 3, x - 1)
    items = [1.0]
    table = {0: 1.0}
    w = x + 0
    total = 0.0
    for k in range(8):
'''
END = '''
    for v in items:
        total += v
    for key in table:
        total += key * table[key]
    return (total, p.x - 2 * p.y + 3 * q.x - 5 * q.y + p.n + 7 * q.n, w)
'''
STATEMENTS = ["p.renew(k)", "p.again(k)", "p.deep(k)", "p.guarded(k)", "q.renew(k)", "q.swap()", "p.note()", "outer(p, k)", "outer(q, k + 1)",
              "both(p, q, k)", "both(q, p, k)", "p.swap()", "total += p.renewed(k).sum()", "grow(items, k)", "fill(table, k)", "p.x = p.y + k",
              "q.y = p.x", "items.append(2.0)", "w = p.x", "w = w + q.y"]
CAUGHT = ["ValueError", "KeyError", "(ValueError, KeyError)"]


def block(draw, depth, indent):
    lines, inner = [], indent + "    "
    for _ in range(draw.randint(1, 3)):
        kind = draw.random()
        if kind < 0.35 and depth < 3:
            lines += [indent + "try:", *block(draw, depth + 1, inner)]
            catches = draw.random() < 0.75
            if catches:
                lines += [f"{indent}except {draw.choice(CAUGHT)}:", *block(draw, depth + 1, inner)]
            if not catches or draw.random() < 0.3:
                lines += [indent + "finally:", inner + "p.note()", inner + draw.choice(["total += 1.0", "q.note()"])]
        elif kind < 0.45:
            lines += [f"{indent}if k % {draw.randint(2, 4)} == 1:", inner + draw.choice(STATEMENTS)]
        elif kind < 0.5:
            lines += [f"{indent}if k == {draw.randint(2, 7)}:", inner + draw.choice(["break", "continue", "return (total, p.x, w)"])]
        else:
            lines.append(indent + draw.choice(STATEMENTS))
    return lines


def outcome(f, x):
    try:
        return f(x)
    except (ValueError, KeyError, errors.TypingError) as problem:
        return type(problem), str(problem).split(" (raised")[0].strip("'")


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed):
    text = HEAD + "\n".join(block(random.Random(seed), 0, "        ")) + END
    path = f"<references {seed}>"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    names = {}
    exec(compile(text, path, "exec"), names)
    f, x = names["f"], np.arange(5.0)
    compiled = lw.njit(f)
    wanted, got = outcome(f, x), outcome(compiled, x)
    if isinstance(wanted[0], type):
        assert got == wanted
    else:
        assert all(map(np.array_equal, got, wanted))
    del got
    lw.runtime.memsys_enable_stats()
    try:
        before = lw.runtime.get_allocation_stats()
        for _ in range(10):
            outcome(compiled, x)
        after = lw.runtime.get_allocation_stats()
    finally:
        lw.runtime.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0
