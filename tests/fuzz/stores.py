"""Random functions that store into the rows of arrays and into small arrays of their own, checked against CPython.

They copy, shift, swap, count, sort and accumulate in loops, read what they stored an iteration before, and leave loops early. What is stored
stays small and whole, also in arrays of floats, so that every result is exact and must equal Python's.
"""

from __future__ import annotations

import random
import warnings

import numpy as np

import lanewise as lw
from check import ARCHITECTURES, Problem, define
from doors import device, host
from ptx_interpreter import Unknown, launch

BATCH = 8
ROWS = 20
SLOTS = 8  # elements of t
HEAD = "import numpy as np\nimport lanewise as lw\nfrom lanewise import cuda\n\n\n"
CALL = "f(x[i], c[i], d[i], y[i], {t})"
DOORS = {
    "guvectorize": "",  # the function itself
    "forall": f"def door(i, x, c, d, y, t):\n    {CALL.format(t='t[i]')}\n",
    "kernel": f"def door(x, c, d, y, t):\n    i = cuda.grid(1)\n    if i < len(c):\n        {CALL.format(t='t[i]')}\n",
    "local": f"def door(x, c, d, y, t):\n    i = cuda.grid(1)\n    own = cuda.local.array({SLOTS}, DTYPE)\n    if i < len(c):\n        for j in range({SLOTS}):\n"
    f"            own[j] = 0\n        {CALL.format(t='own')}\n        for j in range({SLOTS}):\n            t[i, j] = own[j]\n",
    "shared": f"def door(x, c, d, y, t):\n    i = cuda.grid(1)\n    all_of_them = cuda.shared.array((32, {SLOTS}), DTYPE)\n    own = all_of_them[cuda.threadIdx.x]\n    if i < len(c):\n"
    f"        for j in range({SLOTS}):\n            own[j] = 0\n        {CALL.format(t='own')}\n        for j in range({SLOTS}):\n            t[i, j] = own[j]\n",
    "njit": f"def door(x, c, d, y, t):\n    for i in range(len(c)):\n        {CALL.format(t='t[i]')}\n",
    "prange": f"def door(x, c, d, y, t):\n    for i in lw.prange(len(c)):\n        {CALL.format(t='t[i]')}\n",
}


class Writer:
    """One program: a function f of (x, c, d, y, t), where x and y have n elements and t has SLOTS."""

    def __init__(self, rng):
        self.rng, self.lines = rng, []
        self.kind = rng.choice(["int", "int", "float"])

    def chance(self, p):
        return self.rng.random() < p

    def add(self, pad, *lines):
        self.lines += [pad + line for line in lines]

    def affine(self, indices):
        i = self.rng.choice([*indices, "c", "d"])
        text = self.rng.choice([i, f"2 * {i}", f"3 * {i}", f"-{i}", f"{i} // 2"])
        for _ in range(self.rng.randrange(3)):
            text += f" {self.rng.choice('+-')} {self.rng.choice([*indices, 'c', 'd', str(self.rng.randrange(9))])}"
        return text

    def place(self, array, indices):
        """A place in the array that exists."""
        length = str(SLOTS) if array == "t" else "n"
        simple = [i for i in indices if indices[i] == length]
        if simple and self.chance(0.6):
            i = self.rng.choice(simple)
            return self.rng.choice([i, i, i, f"{length} - 1 - {i}", f"-1 - {i}"])
        return self.rng.choice(["0", "-1", f"{length} - 1", f"({self.affine(indices)}) % {length}", f"min(max({self.affine(indices)}, 0), {length} - 1)"])

    def element(self, indices, arrays="xxyyt"):
        array = self.rng.choice(arrays)
        return f"{array}[{self.place(array, indices)}]"

    def value(self, indices, depth=2):
        kind = self.rng.random()
        if depth == 0 or kind < 0.4:
            return f"{self.kind}({self.element(indices)})"
        if kind < 0.5:
            return f"{self.kind}({self.rng.choice([*indices, 'c', 'd', str(self.rng.randrange(-9, 10))])})"
        if kind < 0.55:
            return "s"
        if kind < 0.6:
            return f"({self.value(indices, depth - 1)} if {self.test(indices)} else {self.value(indices, depth - 1)})"
        if kind < 0.67:
            return f"{self.rng.choice(('min', 'max'))}({self.value(indices, depth - 1)}, {self.value(indices, depth - 1)})"
        if kind < 0.72:
            return f"({self.value(indices, depth - 1)}) {self.rng.choice(('//', '%'))} {self.rng.randrange(1, 8)}"
        return f"({self.value(indices, depth - 1)} {self.rng.choice('+++--*')} {self.value(indices, depth - 1)})"

    def test(self, indices):
        kind = self.rng.random()
        if kind < 0.4:
            return f"{self.value(indices, 0)} {self.rng.choice(('<', '<=', '>', '>=', '==', '!='))} {self.value(indices, 1)}"
        if kind < 0.55:
            return f"({self.affine(indices)}) % 3 {self.rng.choice(('==', '!='))} {self.rng.randrange(3)}"
        return f"{self.affine(indices)} {self.rng.choice(('<', '<=', '>', '>='))} {self.rng.choice(['n', 'c', 'd', '3'])}"

    def store(self, indices, pad):
        array = self.rng.choice("yyyt")
        at = f"{array}[{self.place(array, indices)}]"
        kind = self.rng.random()
        if kind < 0.4:
            self.add(pad, f"{at} = ({self.value(indices)}) % 97")
        elif kind < 0.55:
            self.add(pad, f"{at} = ({self.kind}({at}) {self.rng.choice('+-')} {self.value(indices)}) % 97")
        elif kind < 0.65:
            self.add(pad, f"t[{self.counted_place(indices)}] += 1")
        elif kind < 0.8:
            other = f"{array}[{self.place(array, indices)}]"
            self.add(pad, f"{at}, {other} = {other}, {at}")
        elif kind < 0.9:
            other = self.element(indices, "yt")
            self.add(pad, f"v = {self.kind}({other})", f"{at} = ({self.value(indices)}) % 89", f"{other} = (v + {self.kind}({at})) % 97")
        else:
            self.add(pad, f"{at} = s % 97", f"s = (s + {self.kind}({self.element(indices)})) % 1009")

    def counted_place(self, indices):
        return f"int({self.element(indices, 'xy')}) % {SLOTS}"

    def statement(self, indices, pad):
        kind = self.rng.random()
        if kind < 0.5:
            self.store(indices, pad)
        elif kind < 0.6:
            self.add(pad, f"s = (s * 3 + {self.value(indices)}) % 1009")
        elif kind < 0.67:
            self.add(pad, f"if {self.value(indices, 1)} > s:", f"    s = {self.value(indices, 1)} % 1009")
        elif kind < 0.77:
            self.add(pad, f"if {self.test(indices)}:")
            self.store(indices, pad + "    ")
            if self.chance(0.5):
                self.add(pad, "else:")
                self.store(indices, pad + "    ")
        elif kind < 0.84 and indices:
            self.add(pad, f"if {self.test(indices)}:", f"    {self.rng.choice(['continue', 'continue', 'break', 'return'])}")
        elif len(indices) < 3:
            self.loop(indices, pad)

    def loop(self, indices, pad):
        kind, i = self.rng.random(), f"i{len(indices)}"
        if kind < 0.08:
            array = self.rng.choice("yt")
            length = str(SLOTS) if array == "t" else "n"
            self.add(pad, f"p, q = 0, {length} - 1", "while p < q:", f"    {array}[p], {array}[q] = {array}[q], {array}[p]", "    p += 1", "    q -= 1")
            return
        if kind < 0.16:
            self.add(pad, f"for {i} in range(1, n):", f"    key = y[{i}]", f"    q = {i} - 1", "    while q >= 0 and y[q] > key:", "        y[q + 1] = y[q]", "        q -= 1", "    y[q + 1] = key")
            return
        if kind < 0.3:
            back = self.rng.choice(["y[{i} - 1]", "y[{i} - 1]", "y[0]", "x[{i} - 1]"]).format(i=i)
            self.add(pad, f"for {i} in range(1, n):")
            inner = {**indices, i: "n"}
            self.add(pad + "    ", f"y[{i}] = ({self.kind}({back}) {self.rng.choice('+-')} {self.value(inner, 1)}) % 97")
        else:
            bound, length = self.rng.choice([("n", "n"), ("n", "n"), ("1, n", "n"), ("n - 1, -1, -1", "n"), ("n - 2, -1, -1", "n"), ("0, n, 2", "n"), (str(SLOTS), str(SLOTS)), ("1, 7", str(SLOTS)), ("abs(c)", str(SLOTS))])
            before = [name for name in indices if indices[name] == "n"]
            if before and self.chance(0.3):
                bound, length = self.rng.choice([f"{before[-1]}", f"{before[-1]} + 1", f"{before[-1]}, n", f"{before[-1]} + 1, n"]), "n"
            inner = {**indices, i: length}
            self.add(pad, f"for {i} in range({bound}):")
        for _ in range(self.rng.randrange(1, 4)):
            self.statement(inner, pad + "    ")
        if not self.lines[-1].startswith(pad + "    "):
            self.add(pad, "    s += 1")

    def body(self):
        self.add("    ", "n = len(x)", f"s = {self.kind}(0)", "for i0 in range(n):", f"    y[i0] = {self.rng.choice(['x[i0]', 'x[n - 1 - i0]', 'i0', '0', 'n - i0'])}", f"for i0 in range({SLOTS}):", f"    t[i0] = {self.rng.choice(['0', 'i0', '7 - i0'])}")
        for _ in range(self.rng.randrange(1, 4)):
            self.loop({}, "    ")
        self.add("    ", f"t[{self.rng.randrange(SLOTS)}] = s % 97")
        return "\n".join(self.lines)

    def source(self, name="f"):
        return f"def {name}(x, c, d, y, t):\n{self.body()}\n"


def laid_out(rng, x):
    """The same rows with other strides."""
    kind = rng.randrange(5)
    if kind == 0:
        return np.asfortranarray(x)
    if kind == 1:
        return np.repeat(x, 2, 1)[:, ::2]
    if kind == 2:
        return np.ascontiguousarray(x[:, ::-1])[:, ::-1]
    return x


def arguments(rng, kind):
    numbers = np.random.RandomState(rng.randrange(2**31))
    reals = ["f8", "f8", "f4"] if kind == "float" else ["i8", "i8", "i4", "i2", "u1"]
    n = rng.choice([1, 2, 5, 9, 16, 33])
    x = laid_out(rng, numbers.randint(0, 97, (ROWS, n)).astype(rng.choice(reals)))
    index = rng.choice(["i8", "i8", "i4"])
    y = laid_out(rng, np.zeros((ROWS, n), rng.choice(reals)))
    t = np.zeros((ROWS, SLOTS), rng.choice(reals[:3]))
    return [x, numbers.randint(-6, 7, ROWS).astype(index), numbers.randint(-4, 5, ROWS).astype(index), y, t]


def code_of(door, source, dtype):
    if door == "guvectorize":
        return HEAD + source.replace("def f(x, c, d, y, t)", "def door(x, c, d, k, y, t)")
    return HEAD + f"DTYPE = np.dtype('{dtype}')\n\n\n" + source + "\n\n" + DOORS[door]


def call(door, source, args, gpu):
    function = define(code_of(door, source, args[4].dtype), "door")
    x, c, d, y, t = [device(a, gpu) for a in args]
    target = "cuda" if gpu else "cpu"
    if door == "guvectorize":
        lw.guvectorize([], "(n),(),(),(k)->(n),(k)", warn=False)(function)(x, c, d, t, out=(y, t))
    elif door == "forall":
        lw.forall(function, target=target, warn=False)(ROWS, x, c, d, y, t)
    elif door in ("njit", "prange"):
        lw.njit(function, parallel=door == "prange", warn=False)(x, c, d, y, t)
    else:
        lw.cuda.jit(function, target=target, warn=False)[1, 32](x, c, d, y, t)
    return host(y), host(t)


def run_ptx(code, architecture, args):
    """Runs the kernel `door` of the code, as PTX for the architecture, in threads that are interpreted."""
    text = lw.compile(define(code, "door"), lw.void(*map(lw.typeof, args)), target=architecture, output="ptx")
    launch(text, args, 32)


def check_program(source, kind, rng, gpu=False):
    """What is wrong, or None."""
    args = arguments(rng, kind)
    door = rng.choice([door for door in DOORS if not gpu or door not in ("njit", "prange")])
    ptx, gpu = (str(gpu).removeprefix("ptx "), False) if str(gpu).startswith("ptx ") else (None, gpu)
    reference, wanted = define("import numpy as np\n\n\n" + source, "f"), []
    number = float if kind == "float" else int
    for row, c, d in zip(args[0], args[1], args[2]):
        y, t = [number(0)] * len(row), [number(0)] * SLOTS
        reference([number(v) for v in row], int(c), int(d), y, t)
        wanted.append((y, t))
    if isinstance(gpu, str):
        code = code_of("forall", source, args[4].dtype)
        lw.compile(define(code, "door"), lw.typeof(0)(*map(lw.typeof, [0, *args])), target=gpu, output="cubin")
        return None
    if ptx:
        door = rng.choice(["kernel", "local"])
        run_ptx(code_of(door, source, args[4].dtype), ptx, args)
        y, t = args[3:]
    else:
        y, t = call(door, source, args, gpu)
    wrong = [i for i in range(ROWS) if y[i].tolist() != wanted[i][0] or t[i].tolist() != wanted[i][1]]
    if not wrong:
        return None
    i = wrong[0]
    row = [a[i].tolist() for a in args[:3]]
    return f"{door} of {', '.join(f'{a.dtype}{a.strides}' for a in args)}: f({', '.join(map(str, row))}) stores {wanted[i]}, got {y[i].tolist(), t[i].tolist()} ({len(wrong)} of {ROWS} rows)"


def target_of(gpu, number):
    """What check_program takes: for "compile" and "ptx", one of the architectures."""
    architecture = ARCHITECTURES[number % len(ARCHITECTURES)]
    return {"compile": architecture, "ptx": f"ptx {architecture}"}.get(gpu, gpu)


def check_drawn(kind, draw, seed, size, gpu):
    """(programs looked at, [check.Problem]). draw(rng) gives a program, and a function of (rng, target) that says what is wrong with it.
    Programs that the interpreter of PTX does not know are not counted."""
    warnings.simplefilter("ignore")
    problems, unknown = [], 0
    for i in range(size):
        rng = random.Random(f"{kind} {seed} {i}")
        source, check = draw(rng)
        try:
            wrong = check(rng, target_of(gpu, seed + i))
        except Unknown:
            unknown += 1
            continue
        except Exception as problem:
            wrong = f"{type(problem).__name__}: {problem}"
        if wrong:
            problems.append(Problem(kind, source, ("array", "int", "int"), wrong))
    return size - unknown, problems


def draw(rng):
    writer = Writer(rng)
    source = writer.source()
    return source, lambda rng, target: check_program(source, writer.kind, rng, target)


def check_batch(seed, size=BATCH, gpu=False):
    return check_drawn("stores", draw, seed, size, gpu)
