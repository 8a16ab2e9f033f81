"""Random loops over prange that call functions, run in parallel and in order: the results must be equal.

The functions, and the iterations, count in a small array at computed indices, write elements of their own, make arrays, call each other, and have
branches, loops and early returns. All numbers are integers, so that sums do not depend on an order. A program that is refused as a race (E168) is
looked at, and no failure.
"""

from __future__ import annotations

import random
import warnings

import numpy as np

import lanewise as lw
from check import Problem, define
from lanewise import errors

BATCH = 8
N = 60_000  # iterations: enough for two threads to have parts at the same time
CALLS = 3  # how often a program runs in parallel: an update may be lost in some calls only
HEAD = "import numpy as np\n\nfrom lanewise import njit, prange\n"


class Writer:
    """One program: functions c0, c1, ... and `loop`, of (x, counts, own)."""

    def __init__(self, rng):
        self.rng, self.functions = rng, []

    def value(self, names, depth=2):
        if depth == 0 or self.rng.random() < 0.3:
            return self.rng.choice([*names, str(self.rng.randrange(5))])
        op = self.rng.choice(["+", "-", "*", "max", "min", "%"])
        a, b = self.value(names, depth - 1), self.value(names, depth - 1)
        if op == "%":
            return f"(({a}) % {self.rng.randrange(2, 7)})"
        return f"{op}({a}, {b})" if op in ("max", "min") else f"({a} {op} {b})"

    def place(self, names):
        return self.rng.choice(["i % 8", "x[i] % 8", "x[i] % 8", f"i % {self.rng.randrange(2, 8)}", f"abs({self.value(names, 1)}) % 8", str(self.rng.randrange(8))])

    def statements(self, names, depth, pad):
        lines = []
        for _ in range(self.rng.randrange(1, 4)):
            kind = self.rng.random()
            if kind < 0.2:
                lines.append(f"{pad}v{self.rng.randrange(3)} = {self.value(names)}")
            elif kind < 0.35:
                lines.append(f"{pad}counts[{self.place(names)}] {self.rng.choice(('+=', '-='))} {self.value(names)}")
            elif kind < 0.5:
                lines.append(f"{pad}own[i] {self.rng.choice(('=', '+=', '-='))} {self.value(names)}")
            elif kind < 0.65 and depth:
                lines += [f"{pad}if {self.value(names, 1)} > {self.rng.randrange(5)}:", *self.statements(names, depth - 1, pad + "    ")]
                if self.rng.random() < 0.5:
                    lines += [f"{pad}else:", *self.statements(names, depth - 1, pad + "    ")]
            elif kind < 0.75 and depth:
                lines += [f"{pad}for k in range({self.rng.choice(('3', 'x[i] % 4'))}):", *self.statements([*names, "k"], depth - 1, pad + "    ")]
            elif kind < 0.85:
                lines += [f"{pad}t = np.full(3, {self.value(names, 1)})", f"{pad}counts[x[i] % 8] += t.sum()"]
            elif self.functions:
                lines.append(f"{pad}v{self.rng.randrange(3)} = {self.rng.choice(self.functions)}(x, counts, own, i, {self.value(names, 1)})")
        return lines or [f"{pad}pass"]

    def function(self, name):
        names = ["a", "x[i]", "v0", "v1", "v2"]
        lines = ["", "", "@njit", f"def {name}(x, counts, own, i, a):", *(f"    v{k} = {self.rng.randrange(4)}" for k in range(3)), *self.statements(names, 2, "    ")]
        if self.rng.random() < 0.4:
            lines += [f"    if v0 > {self.rng.randrange(9)}:", "        return v1"]
        return [*lines, f"    return {self.value(['a', 'v0', 'v1', 'v2'], 1)}"]

    def source(self):
        lines = []
        for number in range(self.rng.randrange(1, 4)):
            lines += self.function(f"c{number}")
            self.functions.append(f"c{number}")
        lines += ["", "", "def loop(x, counts, own):", "    s = 0", "    for i in prange(x.shape[0]):", *(f"        v{k} = {self.rng.randrange(4)}" for k in range(3))]
        lines += self.statements(["i", "x[i]", "v0", "v1", "v2"], 2, "        ")
        return "\n".join([*lines, f"        s += {self.rng.choice(self.functions)}(x, counts, own, i, v0)", "    return s"]) + "\n"


def results(function, x):
    counts, own = np.zeros(8, np.int64), np.zeros(x.size, np.int64)
    return function(x, counts, own), counts.tolist(), own.tolist()


def check_source(source, seed=0):
    """What is wrong, or None."""
    loop = define(HEAD + source, "loop")
    x = np.random.default_rng(seed).integers(0, 20, N)
    wanted = results(lw.njit(parallel=False)(loop), x)
    parallel = lw.njit(parallel=True)(loop)
    for _ in range(CALLS):
        try:
            got = results(parallel, x)
        except errors.CompileError as error:
            return None if error.code == "E168" else str(error)
        if got != wanted:
            return f"in parallel the sum is {got[0]} and the counts are {got[1]}; in order {wanted[0]} and {wanted[1]}"
    return None


def check_batch(seed, size=BATCH, gpu=False):
    """(programs looked at, [check.Problem])."""
    warnings.simplefilter("ignore")
    problems = []
    for i in range(size):
        source = Writer(random.Random(f"iterations {seed} {i}")).source()
        wrong = check_source(source, seed)
        if wrong:
            problems.append(Problem("iterations", source, ("int64[:]", "int64[:]", "int64[:]"), wrong))
    return size, problems
