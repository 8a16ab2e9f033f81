"""Random programs of functions that call themselves and each other, against CPython.

Numbers stay small, so that Python's ints and floats are exactly what compiled code has: values must be equal, and so must
the class of an exception. What functions allocate must be freed, also behind an exception. `n` counts down.
"""

from __future__ import annotations

import random
import sys
import warnings

import numpy as np

import lanewise as lw
from check import ARCHITECTURES, Problem, define

BATCH = 8
MOST_CALLS = 20000  # of Python functions, for one result
HEAD = "import numpy as np\n\n\ndef clamp(v):\n    return min(max(v, -100), 100)\n"


class TooLong(Exception):
    """A program has an exponential number of calls."""


class Writer:
    """One program: functions f0, f1, … of (n, x), of which f0 is called."""

    def __init__(self, rng):
        self.rng, self.n_functions = rng, rng.randrange(1, 4)
        self.names, self.n_names = ["x", "n"], 0

    def leaf(self):
        return self.rng.choice([*self.names, "1", "2", "0.5"])

    def condition(self):
        return f"{self.rng.choice(self.names)} {self.rng.choice(('<', '>', '<=', '=='))} {self.leaf()}"

    def call(self, depth):
        return f"clamp(f{self.rng.randrange(self.n_functions)}(n - {self.rng.randint(1, 3)}, clamp({self.expr(depth - 1, False)})))"

    def expr(self, depth, calls=True):
        kind = self.rng.randrange(10)
        if depth <= 0 or kind < 2:
            return self.leaf()
        if kind < 6:
            return f"({self.expr(depth - 1, calls)} {self.rng.choice('+-*')} {self.expr(depth - 1, calls)})"
        if kind == 6:
            return f"({self.expr(depth - 1, calls)} if {self.condition()} else {self.expr(depth - 1, calls)})"
        return self.call(depth) if calls else self.leaf()

    def name(self):
        self.n_names += 1
        return f"y{self.n_names}"

    def statement(self):
        kind, name = self.rng.randrange(8), self.name()
        if kind == 0:
            return [f"if {self.condition()}:", f"    return {self.expr(2)}"]
        if kind == 1:
            return [f"if {self.condition()}:", f"    raise {self.rng.choice(('ValueError', 'KeyError', 'IndexError'))}('{name}')"]
        lines = {
            2: [f"{name} = x", "for q in range(2):", f"    {name} = clamp({name} + {self.expr(1)})"],
            3: [f"if {self.condition()}:", f"    {name} = {self.expr(2)}", "else:", f"    {name} = {self.expr(2)}"],
            4: [f"row = np.full({self.rng.randint(1, 3)}, {self.expr(1)})", f"row[0] = row[0] + {self.rng.randint(1, 3)}", f"{name} = {self.call(2)} + row[0]"],
            5: [f"pair = {self.expr(1)}, {self.expr(1)}", f"{name} = pair[0] - pair[1]"],
        }.get(kind, [f"{name} = {self.expr(2)}"])
        self.names = [*self.names, name]
        return lines

    def function(self, number):
        self.names = ["x", "n"]
        lines = [f"if n <= {self.rng.randrange(3)}:", f"    return {self.expr(1, False)}"]
        for _ in range(self.rng.randrange(4)):
            lines += self.statement()
        lines.append(f"return {self.expr(2)}")
        return "\n\n" + "\n".join([f"def f{number}(n, x):", *("    " + line for line in lines)]) + "\n"

    def source(self):
        return HEAD + "".join(map(self.function, range(self.n_functions)))


def outcome(f, n, x):
    """The value, or the class of the exception."""
    try:
        return f(n, x)
    except (ValueError, KeyError, IndexError) as raised:
        return type(raised)


def in_python(f, n, x):
    """The same in CPython."""
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"
        if calls > MOST_CALLS:
            raise TooLong

    sys.setprofile(count)
    try:
        return outcome(f, n, x)
    finally:
        sys.setprofile(None)


def check_program(source, gpu=False):
    """None, or what is wrong."""
    f = define(source, "f0")
    if isinstance(gpu, str):
        for x in ("int64", "float64"):
            lw.compile(f, f"(int64, {x})", target=gpu, output="cubin")
        return None
    made = lw.vectorize(f, fma=False, warn=False, target="cuda" if gpu else "cpu")
    for x in (3, 0.25):
        for n in range(6):
            wanted, got = in_python(f, n, x), outcome(made, n, x)
            if not (got is wanted if isinstance(wanted, type) else np.array_equal(got, wanted)):
                return f"f0({n}, {x}) is {wanted!r}, got {got!r}"
    return None


def kept_memory():
    stats = lw.runtime.get_allocation_stats(target="cpu")
    return stats.alloc - stats.free


def check_batch(seed, size=BATCH, gpu=False):
    """(programs looked at, [check.Problem])."""
    warnings.simplefilter("ignore")
    lw.runtime.memsys_enable_stats(target="cpu")
    problems, looked_at = [], 0
    for i in range(size):
        source = Writer(random.Random(f"recursion {seed} {i}")).source()
        before = kept_memory()
        try:
            wrong = check_program(source, ARCHITECTURES[(seed + i) % len(ARCHITECTURES)] if gpu == "compile" else gpu)
        except TooLong:
            continue
        except Exception as problem:
            wrong = f"{type(problem).__name__}: {problem}"
        if wrong is None and kept_memory() != before:
            wrong = f"{kept_memory() - before} allocations are not freed"
        looked_at += 1
        if wrong:
            problems.append(Problem("recursion", source, ("int64", "int64 or float64"), wrong))
    return looked_at, problems
