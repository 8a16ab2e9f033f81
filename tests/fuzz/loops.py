"""Random functions of one row of an array, with loops whose indices are compared with small numbers, checked against CPython.

Compilers split, unroll and count such loops by what is compared: `if i < c: continue`, `if i + c >= n: break`. The numbers are mostly known
only at run time and often negative, and some comparisons are of unsigned or narrow integers. Totals stay small, so that no sum overflows in
compiled code, and the results must equal Python's ints.
"""

from __future__ import annotations

import numpy as np

import lanewise as lw
from check import define
from doors import device, host
from stores import check_drawn, run_ptx

BATCH = 8
ROWS = 20
COMPILED = "import numpy as np\n\n\ndef unsigned(v):\n    return np.uint64(v)\n\n\ndef narrow(v):\n    return np.int32(v)\n\n\ndef byte(v):\n    return np.uint8(v)\n"
PYTHON = "import numpy as np\n\n\ndef unsigned(v):\n    return v & (2**64 - 1)\n\n\ndef narrow(v):\n    return (v + 2**31) % 2**32 - 2**31\n\n\ndef byte(v):\n    return v & 255\n"
DOORS = {
    "guvectorize": "\ndef door(x, c, d, out):\n    out[0] = f(x, c, d)\n",
    "forall": "\ndef door(i, x, c, d, out):\n    out[i] = f(x[i], c[i], d[i])\n",
    "kernel": "\ndef door(x, c, d, out):\n    i = cuda.grid(1)\n    if i < len(out):\n        out[i] = f(x[i], c[i], d[i])\n",
}


class Writer:
    """One program: a function f of (x, c, d)."""

    def __init__(self, rng):
        self.rng, self.lines = rng, []

    def chance(self, p):
        return self.rng.random() < p

    def small(self):
        return self.rng.choice(["c", "d", "c - 3", "d + 1", "2 - c", "c * d", "-d", str(self.rng.randrange(-5, 6)), str(self.rng.randrange(-5, 6))])

    def affine(self, indices):
        i = self.rng.choice(indices)
        text = self.rng.choice([i, i, i, f"2 * {i}", f"-{i}", f"{i} // 2", f"n - 1 - {i}"])
        if len(indices) > 1 and self.chance(0.4):
            text += f" {self.rng.choice('+-')} {self.rng.choice(indices)}"
        return f"{text} + {self.small()}" if self.chance(0.7) else text

    def test(self, indices):
        kind = self.rng.random()
        if kind < 0.15:
            return f"{self.test(indices)} {self.rng.choice(('and', 'or'))} {self.test(indices)}"
        if kind < 0.22:
            return f"({self.affine(indices)}) % 3 {self.rng.choice(('==', '!='))} {self.rng.randrange(3)}"
        op = self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        left, right = self.affine(indices), self.small() if self.chance(0.7) else "n"
        if kind < 0.4:
            cast = self.rng.choice(["unsigned", "narrow", "byte"])
            right = "c" if right.startswith("-") and right != "-d" else right  # a negative constant is refused
            return f"{cast}({left}) {op} {cast}({right})"
        return f"{left} {op} {right}"

    def bounds(self):
        step = self.rng.randrange(1, 4)
        return self.rng.choice(["n", "n", f"abs({self.small()})", f"{self.small()}, n", f"{self.small()}, {self.small()}", f"n - 1, {self.small()}, -{step}", f"{self.small()}, n, {step}", "8"])

    def read(self, indices, pad):
        self.lines.append(f"{pad}k = {self.affine(indices)}")
        if self.chance(0.5):
            self.lines += [f"{pad}if k < 0 or k >= n:", f"{pad}    continue", f"{pad}s += int(x[k]) * {self.rng.randrange(1, 9)}"]
        else:
            self.lines += [f"{pad}if 0 <= k < n:", f"{pad}    s = (s * 3 + int(x[k])) % 10007"]

    def body(self, indices, pad):
        for _ in range(self.rng.randrange(1, 4)):
            kind = self.rng.random()
            if kind < 0.3:
                self.read(indices, pad)
            elif kind < 0.5:
                leave = self.rng.choice(["continue", "continue", "break", "return s", "s -= 7", "s = s ^ 123"])
                self.lines += [f"{pad}if {self.test(indices)}:", f"{pad}    {leave}"]
            elif kind < 0.65:
                self.lines += [f"{pad}if {self.test(indices)}:", f"{pad}    s += {self.affine(indices)}", f"{pad}else:", f"{pad}    s = (s * 5 - int(x[0])) % 1009"]
            elif kind < 0.8 and len(indices) < 3:
                self.loop([*indices, f"i{len(indices)}"], pad)
            elif kind < 0.9:
                self.lines.append(f"{pad}s += {self.rng.choice(('s // 3 % 5', 's % 7', 'int(x[n - 1])', 'max(s, int(x[0])) % 11', 'min(s, 5) % 7'))}")
            else:
                self.lines.append(f"{pad}s += 2 if {self.test(indices)} else 1")

    def loop(self, indices, pad):
        self.lines.append(f"{pad}for {indices[-1]} in range({self.bounds()}):")
        self.body(indices, pad + "    ")

    def source(self):
        for _ in range(self.rng.randrange(1, 3)):
            self.loop(["i0"], "    ")
        return "\n\ndef f(x, c, d):\n    n = len(x)\n    s = 0\n" + "\n".join(self.lines) + "\n    return s\n"


def arguments(rng):
    numbers = np.random.RandomState(rng.randrange(2**31))
    dtype, index = rng.choice(["i8", "i8", "i4", "i2", "u1"]), rng.choice(["i8", "i8", "i4"])
    x = numbers.randint(0, 100, (ROWS, rng.choice([1, 5, 9]))).astype(dtype)
    return [x, numbers.randint(-6, 7, ROWS).astype(index), numbers.randint(-4, 5, ROWS).astype(index)]


def call(door, source, args, gpu):
    space = COMPILED + ("from lanewise import cuda\n" if door == "kernel" else "") + source + DOORS[door]
    function = define(space, "door")
    x, c, d, out = [device(a, gpu) for a in (*args, np.zeros(ROWS, np.int64))]
    target = "cuda" if gpu else "cpu"
    if door == "guvectorize":
        lw.guvectorize([], "(n),(),()->()", warn=False)(function)(x, c, d, out=out)
    elif door == "forall":
        lw.forall(function, target=target, warn=False)(ROWS, x, c, d, out)
    else:
        lw.cuda.jit(function, target=target, warn=False)[1, 32](x, c, d, out)
    return host(out)


def check_program(source, rng, gpu=False):
    """What is wrong, or None."""
    args, door = arguments(rng), rng.choice(list(DOORS))
    reference = define(PYTHON + source, "f")
    wanted = [reference([int(v) for v in row], int(c), int(d)) for row, c, d in zip(*args)]
    if str(gpu).startswith("ptx "):
        door, got = "kernel", np.zeros(ROWS, np.int64)
        run_ptx(COMPILED + "from lanewise import cuda\n" + source + DOORS[door], gpu.removeprefix("ptx "), [*args, got])
    elif isinstance(gpu, str):
        lw.compile(define(COMPILED + source + DOORS["forall"], "door"), lw.typeof(0)(*map(lw.typeof, [0, *args, np.zeros(1, np.int64)])), target=gpu, output="cubin")
        return None
    else:
        got = call(door, source, args, gpu)
    wrong = [i for i in range(ROWS) if got[i] != wanted[i]]
    if not wrong:
        return None
    i = wrong[0]
    row = [a[i].tolist() for a in args]
    return f"{door} of {', '.join(str(a.dtype) for a in args)}: f({', '.join(map(str, row))}) is {wanted[i]}, got {got[i]} ({len(wrong)} of {ROWS} rows)"


def draw(rng):
    source = Writer(rng).source()
    return source, lambda rng, target: check_program(source, rng, target)


def check_batch(seed, size=BATCH, gpu=False):
    return check_drawn("loops", draw, seed, size, gpu)
