"""Functions that call themselves and change what they are given: objects, lists, dicts and sets."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors


def fib(n, memo):
    if n in memo:
        return memo[n]
    r = fib(n - 1, memo) + fib(n - 2, memo)
    memo[n] = r
    return r


def memoised(n):
    memo = {0: 0, 1: 1}
    return fib(n, memo), len(memo)


def move(n, a, b, c, moves):
    if n == 0:
        return
    move(n - 1, a, c, b, moves)
    moves.append((a, b))
    move(n - 1, c, b, a, moves)


def hanoi(n):
    moves = [(0, 0)]
    move(n, 0, 1, 2, moves)
    return moves


def visit(v, limit, seen):
    seen.add(v)
    for w in (2 * v, v + 3):
        if w < limit and w not in seen:
            visit(w, limit, seen)


def reached(n):
    seen = {1}
    visit(1, 10 * n, seen)
    return len(seen), sum(seen)


def choose(items, k, current, out):
    if k == len(items):
        s = 0
        for v in current:
            s += v
        out.append(s)
        return
    choose(items, k + 1, current, out)
    current.append(items[k])
    choose(items, k + 1, current, out)
    current.pop()


def sums_of_subsets(n):
    out, current = [0], [0]
    choose(np.arange(n), 0, current, out)
    return out


def even(n, counts):
    counts[0] += 1
    return True if n == 0 else odd(n - 1, counts)


def odd(n, counts):
    counts[1] += 1
    return False if n == 0 else even(n - 1, counts)


def both(n):
    counts = [0]
    counts.append(0)
    return even(n, counts), counts[0], counts[1]


def built(n):
    if n == 0:
        return [0]
    x = built(n - 1)
    x.append(n)
    return x


def grown(n):
    x = built(n)
    x.append(-1)
    return x


class Tree:
    def __init__(self):
        self.n = 0
        self.depths = 0.0

    def visit(self, depth):
        self.n += 1
        self.depths += depth
        if depth > 0:
            self.visit(depth - 1)
            self.visit(depth - 1)


def nodes(n):
    tree = Tree()
    tree.visit(n)
    return tree.n, tree.depths


@pytest.mark.parametrize("function", [memoised, hanoi, reached, sums_of_subsets, both, grown, nodes])
def test_programs(function):
    for n in (2, 5):
        assert lw.njit(function)(n) == function(n)


def test_under_other_decorators():
    n = np.arange(2, 6)
    want = [memoised(int(k))[0] for k in n]
    assert lw.vectorize(lambda n: memoised(n)[0])(n).tolist() == want
    out = np.zeros(4, np.int64)

    @lw.forall
    def fill(i, n, out):
        out[i] = memoised(n[i])[0]

    fill(4, n, out)
    assert out.tolist() == want
    assert lw.reduce(lambda a, b: a + b, map=lambda n: memoised(n)[0])(n) == sum(want)


def starts_empty(n):
    memo = {}
    return fib2(n, memo)


def fib2(n, memo):
    if n < 2:
        r = n
    else:
        r = fib2(n - 1, memo) + fib2(n - 2, memo)
    memo[n] = r
    return r


def reads_empty(n):
    memo = {}
    return fib(n, memo)


def kept(n, x, holder):
    if n == 0:
        holder.x = x
        return
    kept(n - 1, x, holder)
    x.append(n)


class Holder:
    def __init__(self):
        self.x = [1]


def keeps(n):
    holder, x = Holder(), [0]
    kept(n, x, holder)
    return len(holder.x)


def picked(n, x):
    if n == 0:
        return x
    y = picked(n - 1, x)
    y.append(n)
    return y


def picks(n):
    x = [0]
    y = picked(n, x)
    return len(x) + len(y)


@pytest.mark.parametrize(("function", "said"), [
    (starts_empty, "E165: `fib2` calls itself and changes the type of an object"),
    (starts_empty, r"E165(.|\n)*lanewise.typed.Dict.empty"),
    (reads_empty, r"E120: nothing has been put into this list, dict or set.*lanewise.typed.Dict.empty"),
    (keeps, "E165: a list that may have two names"), (picks, "E165: a list that may have two names"),
])
def test_refused(function, said):
    with pytest.raises(errors.CompileError, match=said):
        lw.njit(function)(3)


def test_empty_memos_with_types():
    """The code is what the messages propose."""
    @lw.njit
    def f(n):
        memo = lw.typed.Dict.empty(lw.int64, lw.int64)
        memo[0], memo[1] = 0, 1
        return fib(n, memo), fib2(n, lw.typed.Dict.empty(lw.int64, lw.int64))

    assert f(20) == (6765, 6765)
