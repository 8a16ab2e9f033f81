"""Loops that count in 32 bits (core/opt/loops/pieces): the IR before and after gives the same results, whatever the size of a piece."""

from __future__ import annotations

import linecache
import random
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import lanewise as lw
from lanewise import _core, cuda

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))

import ir_interpreter
import ptx_interpreter

MOST = 1 << 24
WRAPS = (2**63 - 1, -(2**63))
I8, I4, U8 = np.int64, np.int32, np.uint64


def hits(n, total, word):
    for _ in range(n):
        word = word * 5 + 7
        if word & 8:
            total += 1
    return total


def flags(n, total, word):
    for _ in range(n):
        word = word * 5 + 7
        total = total + (word & 8 > 0)
    return total


def choices(n, total, word):
    for _ in range(n):
        word = word * 5 + 7
        total += 3 if word & 8 else -2
    return total


def several(n, total, word):
    other = total
    for i in range(n):
        word = word * 5 + i
        if word & 8:
            total -= 1
            if word & 16:
                total += 7
        elif word & 32:
            other -= word & 64 > 0
    return total * 3 + other


def jumps(n, total, word):
    steps = 0
    for i in range(n):
        word = word * 5 + i
        if word & 56 == 8:
            continue
        steps += 2
        if word & 1016 == 24:
            break
        if word & 8:
            total += 1
    return total + steps * 100


def returns(n, total, word):
    for i in range(n):
        word = word * 5 + 7
        if word & 504 == 16:
            return i
        if word & 8:
            total += 1
    return total


def leaves_both(n, total, word):
    seen = 0
    for i in range(4):
        seen += 1
        for j in range(n):
            word = word * 5 + i + j
            word ^= (word >> 3) * 7 + (word >> 5) * 11 + (word >> 7) * 13
            word ^= (word >> 2) * 5 + (word >> 4) * 3
            if word & 8:
                total += 1
            if word & 1016 == 40:
                break
            if word & 2040 == 48:
                continue
            if word & 1016 == 56:
                seen += 1000
    return total + seen


def inner(n, total, word):
    for i in range(n):
        word = word * 5 + i
        for k in range(3):
            if word >> k & 8:
                total += 1
    return total


def backwards(n, total, word):
    for i in range(n, -n, -3):
        word = word * 5 + i
        if word & 8:
            total += i & 1 > 0
    return total


def escapes(n, total, word):
    for i in range(n):
        if word & 1016 == 24:
            break
        word = word * 5 + i
        total += 1
    return total


def finds(n, total, word):
    found = -1
    for i in range(n):
        word = word * 5 + 7
        if word & 504 == 24:
            found = i
            break
    return found + total


def counts_down(n, total, word):
    for i in range(n):
        total -= 5
        word = word * 5 + i
        if word & 504 == 24:
            return total + i
    return total


def looks_up(n, total, word):
    for i in range(n):
        word = word * 5 + i
        if word & 504 == 24:
            break
        if word & 8:
            total += 1
    else:
        total += 1000
    return total


def narrow_range(n, total, word):
    for i in range(np.int32(n)):
        word = word * 5 + i
        if word & 8:
            total += 1
    return total


PROGRAMS = (hits, flags, choices, several, jumps, returns, leaves_both, inner, backwards, escapes, finds, counts_down, looks_up, narrow_range)


def same(ir, most, rows):
    after, rewritten = _core._in_pieces(ir, most)
    assert ir_interpreter.run(after, rows) == ir_interpreter.run(ir, rows), after
    return rewritten


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_programs(f, dtype):
    if dtype == "uint64" and f in (choices, returns, finds):
        pytest.skip("not a program for unsigned numbers")
    ir = _core._dump_ir(f, f"{dtype}(int64, {dtype}, int64)")
    rows = [(n, start % 2**64 if dtype == "uint64" else start, word) for n in (*range(-1, 6), 15, 16, 17) for start in WRAPS for word in (1, 12)]
    for most in (1, 4, 16, MOST):
        assert same(ir, most, rows) > 0


def test_types():
    """Integers of 32 bits are counted, too; floats are not."""
    for dtype in ("int32", "uint32"):
        ir = _core._dump_ir(hits, f"{dtype}(int64, {dtype}, int64)")
        assert same(ir, 4, [(n, start, 5) for n in range(20) for start in (0, 2**31 - 1)]) == 1
    for dtype in ("float32", "float64"):
        ir = _core._dump_ir(hits, f"{dtype}(int64, {dtype}, int64)")
        assert _core._in_pieces(ir, 4) == (ir, 0)


def reads(n, total, word):
    for i in range(n):
        word = word * 5 + i
        if word & 8:
            total += 1
        word += total
    return total


def resets(n, total, word):
    for i in range(n):
        word = word * 5 + i
        total = total + 1 if word & 8 else 0
    return total


def doubles(n, total, word):
    for i in range(n):
        word = word * 5 + i
        if word & 8:
            total += total
    return total


def sums(n, total, word):
    for i in range(n):
        word = word * 5 + i
        total += word & 8
    return total


def large(n, total, word):
    for i in range(n):
        word = word * 5 + i
        if word & 8:
            total += 1000
    return total


def old_value(n, total, word):
    for i in range(n):
        before = total
        if word & 8:
            total += 1
        word = word * 5 + before
    return total


def steady(n, total, word):
    for i in range(n):
        word = word * 5 + i
        total += 1
    return total + word


def small(n, total, word):
    for i in range(9):
        word = word * 5 + n
        if word & 8:
            total += 1
    return total


def around_a_loop(n, total, word):
    for i in range(n):
        while word > 3:
            word //= 2
        word += i
        if word & 1:
            total += 1
    return total


def brief(n, total, word):
    for i in range(n):
        for j in range(word & 7):
            if j & n:
                total += 1
        word += i
    return total


def unbounded(n, total, word):
    while word > 1:
        if word & 1:
            total += 1
        word //= 2
    return total + n


@pytest.mark.parametrize("f", [reads, resets, doubles, sums, large, old_value, steady, small, around_a_loop, brief, unbounded], ids=lambda f: f.__name__)
def test_other_loops_stay(f):
    ir = _core._dump_ir(f, "int64(int64, int64, int64)")
    assert _core._in_pieces(ir, MOST) == (ir, 0)


def lowered(text):
    space: dict = {}
    linecache.cache["drawn"] = (len(text), None, text.splitlines(keepends=True), "drawn")
    exec(compile(text, "drawn", "exec"), space)
    return _core._dump_ir(space["f"], "int64(int64, int64, int64, int64)")


class Draw:
    """A program of loops, tallies and jumps."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.lines = ["def f(n, a, b, word):", "    c = a"]
        self.variables = 0
        self.block(4, 0, 3)
        self.lines.append("    return a * 7 + b * 31 + c * 3 + word")

    def block(self, indent, loops, depth):
        for _ in range(self.r.randint(1, 4)):
            self.statement(" " * indent, indent, loops, depth)

    def statement(self, pad, indent, loops, depth):
        r, lines = self.r, self.lines
        kind = r.randrange(9)
        condition = f"word >> {r.randrange(5)} & {r.choice((1, 3, 7))} == {r.randrange(2)}"
        if kind < 3 and depth and loops < 2:
            self.variables += 1
            limit = r.choice(("n", "n", "n - 3", "5", "n * 2", "70"))
            lines.append(f"{pad}for i{self.variables} in range({limit}):")
            lines.append(f"{pad}    word = word * 5 + i{self.variables}")
            if loops:  # an inner loop has to be long
                lines += [f"{pad}    word ^= (word >> 3) * 7 + (word >> 5) * 11 + (word >> 7) * 13"] * 2
            self.block(indent + 4, loops + 1, depth - 1)
        elif kind == 3 and depth:
            lines.append(f"{pad}if {condition}:")
            self.block(indent + 4, loops, depth - 1)
            if r.randrange(2):
                lines.append(f"{pad}else:")
                self.block(indent + 4, loops, depth - 1)
        elif kind == 4 and loops:
            lines.append(f"{pad}if {condition} and word & 96 == 32:")
            lines.append(f"{pad}    {r.choice(('break', 'break', 'continue', 'return word', 'return a'))}")
        elif kind == 5:
            lines.append(f"{pad}word ^= word >> 3")
        else:
            step = r.choice(("1", "1", "3", f"({condition})", f"(2 if {condition} else -1)"))
            lines.append(f"{pad}{r.choice('aabbc')} {r.choice('+-')}= {step}")


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed):
    text = "\n".join(Draw(seed).lines)
    ir = lowered(text)
    rows = [(n, a, -a, 1234567) for n in (0, 1, 4, 9) for a in WRAPS]
    for most in (1, 4, 64):
        same(ir, most, rows)


# ---- what becomes of kernels ----


@cuda.jit
def counts(x, n, out):
    k = cuda.grid(1)
    total = out[k]
    for i in range(n):
        if x[i] > k:
            total += 1
    out[k] = total


@cuda.jit
def first(x, n, out):
    k = cuda.grid(1)
    out[k] = -5
    for i in range(n):
        if x[i] == k:
            out[k] = i
            break


@cuda.jit
def steps(x, n, out):
    k = cuda.grid(1)
    done = 0
    for i in range(n):
        if x[i] == k:
            break
        done += 3
    out[k] = done


def ptx_of(kernel, *arguments):
    return kernel.inspect_ptx(tuple(lw.typeof(a) for a in arguments), "sm_90")


@pytest.mark.parametrize("kernel", [counts, first, steps], ids=lambda k: k.py_func.__name__)
def test_kernels(kernel):
    x, out = np.arange(50, dtype=np.float32) % 7, np.zeros(4, np.int64)
    text = ptx_of(kernel, x, 5, out)
    for n in (0, 1, 2, 3, 4, 5, 9, 50):
        want, got = np.full(4, WRAPS[0] - 3), np.full(4, WRAPS[0] - 3)
        with lw.config(target="cpu"):
            kernel[1, 4](x, n, want)
        ptx_interpreter.launch(text, [x, np.int64(n), got], threads=4)
        np.testing.assert_array_equal(got, want)


def test_the_code():
    x, out = np.zeros(4, np.float32), np.zeros(4, np.int64)
    text = ptx_of(counts, x, 5, out)
    assert "add.rn.f32" in text or "add.f32" in text
    assert re.search(r"add\.s32 \t%r\d+, %r\d+, 1;", ptx_of(first, x, 5, out))
