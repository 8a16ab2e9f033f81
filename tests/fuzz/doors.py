"""Random programs of the generators other than vectorize: forall over two dimensions, kernels whose threads share memory,
reductions with operators of the user's over axes, arrays of records, and NumPy's functions with axes.

CPython and NumPy run the same text, and that is the reference. A program is drawn as a Case: its text, and a function
that runs it by lanewise or by Python and returns arrays, which must be equal. Threads of a block are generators in the
reference, which yield where a thread waits for the others. Numbers are chosen so that every result is exact.

    python tests/fuzz/run.py --doors --count 2000            on the CPU; with --gpu on device arrays
"""

from __future__ import annotations

import itertools
import math
import random
import warnings
from typing import Any, NamedTuple

import numpy as np

from check import Problem, space_of

BATCH = 8


class Case(NamedTuple):
    kind: str
    source: str
    run: Any  # run(function, gpu): gpu None is the reference; gives a list of arrays
    exact: bool = True


class Drawn:
    """Draws, and what a program's expressions are made of."""

    def __init__(self, rng):
        self.rng = rng

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, *items):
        return self.rng.choice(items)

    def number(self, most=9):
        return str(self.rng.randrange(-3, most))

    def whole(self, leaves, depth=2):
        """An expression of ints that stays small."""
        form = self.rng.randrange(9) if depth else 0
        x = self.rng.choice(leaves)
        if form < 2:
            return x if self.chance(0.8) else self.number()
        y, z = self.whole(leaves, depth - 1), self.whole(leaves, depth - 1)
        if form < 5:
            return f"({y} {self.pick('+', '-', '*')} {z})"
        if form == 5:
            return f"({y} {self.pick('//', '%')} {self.rng.randrange(1, 6)})"
        if form == 6:
            return f"({y} if {x} {self.pick('<', '>=', '==', '!=')} {self.number()} else {z})"
        return f"{self.pick('min', 'max')}({y}, {z})" if form == 7 else f"({y} {self.pick('&', '|', '^')} {z})"

    def real(self, leaves, depth=2):
        """The same of floats: sums and products of small halves."""
        form = self.rng.randrange(7) if depth else 0
        x = self.rng.choice(leaves)
        if form < 2:
            return x if self.chance(0.8) else self.pick("0.5", "2.0", "-1.5", "3")
        y, z = self.real(leaves, depth - 1), self.real(leaves, depth - 1)
        if form < 5:
            return f"({y} {self.pick('+', '-', '*')} {z})"
        return f"({y} if {x} {self.pick('<', '>=', '==')} {self.number()} else {z})" if form == 5 else self.pick(f"abs({y})", f"-{y}", f"np.maximum({y}, {z})", f"np.floor({y})")


def values(seed, shape, dtype):
    g = np.random.default_rng(seed)
    x = g.integers(-4, 8, shape)
    return (x / 2).astype(dtype) if np.dtype(dtype).kind == "f" else (abs(x) if np.dtype(dtype).kind in "ub" else x).astype(dtype)


def laid_out(rng, x):
    """The same elements in another layout."""
    form = rng.randrange(4)
    if form == 0 and x.ndim > 1:
        return np.ascontiguousarray(x.T).T
    if form == 1:
        return np.repeat(x, 2, axis=-1)[..., ::2]
    return x[..., ::-1].copy()[..., ::-1] if form == 2 else x


def device(x, gpu):
    if not gpu:
        return x
    from lanewise import cuda

    return cuda.to_device(x)


def host(x):
    return x.copy_to_host() if hasattr(x, "copy_to_host") else x


# ---- forall over two dimensions ----


def draw_forall(rng):
    d = Drawn(rng)
    dtype = rng.choice(["i8", "f8", "f4"])
    n, m = rng.randrange(1, 12), rng.randrange(1, 12)
    expression = d.whole if dtype == "i8" else d.real
    at = [f"a[{i}, {j}]" for i, j in (("i", "j"), ("(i + 1) % a.shape[0]", "j"), ("i", "-1"), ("0", "(j * 2) % a.shape[1]"), ("-1 - i", "-1 - j"))] + ["b[j]", "b[-1]"]
    leaves = at + (["i", "j"] if dtype == "i8" else ["i", "(i - j)"])
    lines = [f"x = {expression(leaves)}"]
    if d.chance(0.5):
        lines += [f"for k in range({rng.choice(['3', 'j', 'a.shape[0]', 'i, a.shape[1]', '5, 0, -2'])}):", f"    x = {d.pick('x +', 'x -', '')} {expression([*at, 'k', 'x'] if not lines[0].count('*') else [*at, 'k'], 1)}"]
        if d.chance(0.3):
            lines += [f"    if k {d.pick('>', '==')} {rng.randrange(0, 4)}:", f"        {d.pick('break', 'continue')}", "    x += 1"]
    if d.chance(0.5):
        lines += [f"if {rng.choice(leaves)} {d.pick('<', '>', '!=')} {d.number()}:", f"    x = {expression([*leaves, 'x'], 1)}"]
        if d.chance(0.4):
            lines += ["elif i > j:", "    return"]
    if d.chance(0.4):
        lines += [f"for v in {d.pick('b', 'a[i]', 'b[::-1]')}:", "    x += v"]
    lines += [d.pick("out[i, j] = x", "out[i, j] += x", "out[-1 - i, j] = x")]
    head = "def f(i, j, a, b, out):\n" if d.chance(0.7) else "def f(ij, a, b, out):\n    i, j = ij\n"
    source = "import numpy as np\n" + head.replace("ij, a", "i, j, a").replace("    i, j = ij\n", "") + "".join(f"    {line}\n" for line in lines)
    seed, form = rng.randrange(1 << 30), random.Random(rng.random())

    def run(f, gpu):
        again = random.Random(seed)
        a, b = laid_out(again, values(seed, (n, m), dtype)), values(seed + 1, m, dtype)
        out = laid_out(again, values(seed + 2, (n, m), dtype))
        if gpu is None:
            for i, j in itertools.product(range(n), range(m)):
                f(i, j, a, b, out)
            return [out]
        import lanewise as lw

        a, b, out = (device(x, gpu) for x in (a, b, out))
        lw.forall(ndim=2, cache=False, warn=False, fma=False)(f)((n, m), a, b, out)
        return [host(out)]

    return Case("forall", source, run)


# ---- kernels whose threads share memory ----


def draw_kernel(rng):
    """Phases between which the threads of a block wait: one reads what others wrote, another writes its own element."""
    d = Drawn(rng)
    threads, blocks = rng.choice([1, 2, 7, 32, 33, 64]), rng.randrange(1, 4)
    two = d.chance(0.3)
    rows = rng.randrange(1, 4) if two else 1
    total = threads * rows
    lines = ["s = {SHARED}", "t = {TX}" + (" + {TY} * {BX}" if two else ""), "g = {BLOCK} * " + str(total) + " + t", f"s[t] = a[g] + {d.number()}", "{SYNC}"]
    for _ in range(rng.randrange(1, 4)):
        form = rng.randrange(6)
        other = d.pick(f"(t + {rng.randrange(1, 9)}) % {total}", f"{total - 1} - t", f"(t * {rng.randrange(1, 5)}) % {total}", "t // 2")
        if form < 2:
            lines += [f"v = {d.whole([f's[{other}]', 's[t]', 't', 'g'], 1)}", "{SYNC}", "s[t] = v", "{SYNC}"]
        elif form == 2:
            lines += [f"for r in range({rng.randrange(1, 4)}):", f"    v = s[{other}] % 1000", "    {SYNC}", f"    s[t] = v + {d.pick('r', 't', 's[t] % 100')}", "    {SYNC}"]
        elif form == 3:
            lines += ["d = 1", f"while d < {total}:", "    v = s[t - d] if t >= d else 0", "    {SYNC}", f"    s[t] {d.pick('+=', '^=', '|=')} v", "    d *= 2", "    {SYNC}"]
        elif form == 4:
            lines += [f"if {{BLOCK}} {d.pick('==', '!=', '>')} {rng.randrange(0, 2)}:", f"    v = s[{other}] % 1000", "    {SYNC}", "    s[t] = v", "    {SYNC}"]
        else:
            name = d.pick("add", "max", "min", "or_")
            lines += [f"{{ATOMIC}}{name}(s, {d.pick('0', f't % {rng.randrange(1, 4)}' if total > 3 else '0', str(total - 1))}, {d.pick('t', 'a[g]', '1')})", "{SYNC}"]
    if d.chance(0.4):
        lines += [f"{{ATOMIC}}{d.pick('add', 'max')}(out, {d.pick('0', 'g % 2', 'g')}, s[t] % 100)"]
    else:
        lines += ["out[g] = s[t]" if d.chance(0.6) else f"if t {d.pick('>', '!=')} {rng.randrange(0, 4)}:", *([] if lines[-1] == "x" else [])]
        if lines[-1].startswith("if"):
            lines += ["    return", "out[g] = s[t]"]
    template = "".join(f"    {line}\n" for line in lines)
    shown = {"{SHARED}": f"cuda.shared.array({total}, np.int64)", "{TX}": "cuda.threadIdx.x", "{TY}": "cuda.threadIdx.y", "{BX}": "cuda.blockDim.x", "{BLOCK}": "cuda.blockIdx.x", "{SYNC}": "cuda.syncthreads()", "{ATOMIC}": "cuda.atomic."}
    meant = {"{SHARED}": "shared_", "{TX}": "tx_", "{TY}": "ty_", "{BX}": str(threads), "{BLOCK}": "block_", "{SYNC}": "yield", "{ATOMIC}": "atomic_"}
    source, python = "import numpy as np\nfrom lanewise import cuda\ndef f(a, out):\n" + template, "def f(a, out, shared_, tx_, ty_, block_):\n" + template + "    yield\n"
    for word in shown:
        source, python = source.replace(word, shown[word]), python.replace(word, meant[word])
    seed = rng.randrange(1 << 30)

    def run(f, gpu):
        size = total * blocks
        a, out = values(seed, size, "i8"), values(seed + 1, size + 2, "i8")
        if gpu is None:
            each = function_of(python, {"atomic_add": _atomic(lambda x, y: x + y), "atomic_max": _atomic(max), "atomic_min": _atomic(min), "atomic_or_": _atomic(lambda x, y: x | y)})
            for block in range(blocks):
                shared = np.zeros(total, np.int64)
                waiting = [each(a, out, shared, k % threads, k // threads, block) for k in range(total)]
                while waiting:
                    waiting = [one for one in waiting if next(one, "end") != "end"]
            return [out]
        from lanewise import cuda

        kernel = cuda.jit(cache=False, warn=False, **({} if gpu else {"target": "cpu"}))(f)
        a, out = device(a, gpu), device(out, gpu)
        kernel[blocks, (threads, rows)](a, out)
        return [host(out)]

    return Case("kernel", source, run)


def _atomic(operation):
    def update(array, index, value):
        array[index] = operation(array[index], value)

    return update


# ---- reductions ----

P = 10007
OPERATORS = [  # map, combine, finish, dtypes, whether the order of elements matters, initial values that fit
    ("lambda x: x", "lambda a, b: a + b", None, "i8 f8 i4 u1", False),
    ("lambda x: (x, 1)", "lambda a, b: (a[0] + b[0], a[1] + b[1])", "lambda s, n: s * 2 - n", "i8 f8", False),
    ("lambda x: (x, x)", "lambda a, b: (min(a[0], b[0]), max(a[1], b[1]))", "lambda lo, hi: hi - lo", "i8 f8 f4", False),
    ("lambda x: x * x", "lambda a, b: max(a, b)", None, "i8 f8", False),
    ("lambda x: x if x > 0 else 0", "lambda a, b: a | b", None, "i8", False),
    ("lambda x: abs(int(x)) + 1", "lambda a, b: math.gcd(a, b)", None, "i8", False),
    (f"lambda x: (int(x) % {P}, 1)", f"lambda a, b: ((a[0] * b[0]) % {P}, (a[1] * b[0] + b[1]) % {P})", None, "i8", True),
    ("lambda x: (x, 1)", "lambda a, b: b if b[0] > a[0] else a", "lambda x, n: x", "i8 f8", True),
    ("lambda x: x", "lambda a, b: a", None, "i8 f8 f4", True),
    ("lambda x: x", "lambda a, b: b", None, "i8 f8", True),
    ("lambda x, y: x * y", "lambda a, b: a + b", None, "i8 f8", False),
    ("lambda x, y: (x + y, y)", "lambda a, b: (a[0] + b[0], max(a[1], b[1]))", "lambda s, m: (s, m)", "i8 f8", False),
    ("lambda x: (x > 1, x)", "lambda a, b: (a[0] and b[0], b[1])", None, "i8", True),
    ("lambda x: ((x, x), 1)", "lambda a, b: ((a[0][0] + b[0][0], min(a[0][1], b[0][1])), a[1] + b[1])", "lambda p, n: p[0] * n + p[1]", "i8", False),
]


def draw_reduce(rng):
    d = Drawn(rng)
    mapped, combine, finish, dtypes, _ = rng.choice(OPERATORS)
    dtype = rng.choice(dtypes.split())
    ndim = rng.randrange(1, 4)
    shape = tuple(rng.choice([1, 2, 3, 5, 17, 40] if ndim < 3 else [1, 2, 3, 7]) for _ in range(ndim))
    if ndim == 1 and d.chance(0.3):
        shape = (rng.choice([300, 5000, 70000]),)
    axes = rng.sample(range(ndim), rng.randrange(1, ndim + 1))
    axis = None if d.chance(0.2) else axes[0] if len(axes) == 1 else tuple(a - ndim * rng.randrange(2) for a in axes)
    keepdims, masked = d.chance(0.3), False
    scan = d.chance(0.25) and finish is None and "(" not in mapped.split(":")[1]
    seed = rng.randrange(1 << 30)
    n_arrays = 2 if "x, y" in mapped else 1
    source = "import math\n" + f"m = {mapped}\nc = {combine}\ne = {finish}\ndef f():\n    return m, c, e\n# {dtype} {shape} axis={axis} keepdims={keepdims} scan={scan} seed={seed}\n"

    def run(f, gpu):
        again = random.Random(seed)
        xs = [laid_out(again, values(seed + k, shape, dtype)) for k in range(n_arrays)]
        m, c, e = f()
        if gpu is None:
            return _scanned(xs, m, c, axes[0]) if scan else _reduced(xs, m, c, e, axis, keepdims)
        import lanewise as lw

        r = lw.reduce(c, map=m, finish=e, cache=False, warn=False, fma=False)
        xs = [device(x, gpu) for x in xs]
        got = r.accumulate(*xs, axis=axes[0]) if scan else r(*xs, axis=axis, keepdims=keepdims)
        return [np.asarray(host(one)) for one in (got if isinstance(got, tuple) else (got,))]

    return Case("reduce", source, run)


def _python(x):
    return x.item()


def _flat(x):
    return [v for item in x for v in _flat(item)] if isinstance(x, tuple) else [x]


def _reduced(xs, m, c, e, axis, keepdims):
    ndim = xs[0].ndim
    axes = tuple(range(ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = sorted(a % ndim for a in axes)
    kept = [a for a in range(ndim) if a not in axes]
    outs = {}
    for place in np.ndindex(*(xs[0].shape[a] for a in kept)):
        total = None
        for inner in np.ndindex(*(xs[0].shape[a] for a in axes)):
            at = [0] * ndim
            for a, i in (*zip(kept, place), *zip(axes, inner)):
                at[a] = i
            one = m(*(_python(x[tuple(at)]) for x in xs))
            total = one if total is None else c(total, one)
        result = total if e is None else e(*total) if isinstance(total, tuple) else e(total)
        outs[place] = _flat(result)
    shape = tuple(1 if a in axes else xs[0].shape[a] for a in range(ndim)) if keepdims else tuple(xs[0].shape[a] for a in kept)
    n = len(next(iter(outs.values())))
    return [np.array([outs[p][k] for p in outs]).reshape(shape) for k in range(n)]


def _scanned(xs, m, c, axis):
    out = np.empty(xs[0].shape, object)
    ndim = xs[0].ndim
    for at in np.ndindex(*xs[0].shape):
        one = m(*(_python(x[at]) for x in xs))
        before = tuple(i - (k == axis) for k, i in enumerate(at))
        out[at] = one if at[axis] == 0 else c(out[before], one)
    return [np.array(out.tolist()).reshape(out.shape)]


# ---- records ----

FIELDS = [("a", "f8"), ("b", "i8"), ("c", "i8", (3,)), ("d", "f4"), ("e", "u1"), ("g", "i2"), ("h", [("p", "i8"), ("q", "f8")])]


def draw_records(rng):
    d = Drawn(rng)
    fields = rng.sample(FIELDS[:-1], rng.randrange(2, 5)) + ([FIELDS[-1]] if d.chance(0.4) else [])
    dtype = np.dtype(fields, align=d.chance(0.5))
    names = [one[0] for one in fields]
    reals = [f"r[i]['{n}']" for n in names if n in "a"] + ([f"r[i]['h']['q']"] if "h" in names else [])
    wholes = [f"int(r[i]['{n}'])" for n in names if n in "beg"] + (["r[i]['c'][1]", "r['c'][i, 0]", "r[i]['c'].sum()"] if "c" in names else []) + (["r[i]['h']['p']", "q[i]['h']['p']", "r[-1 - i]['h']['p']"] if "h" in names else [])
    lines = []
    for _ in range(rng.randrange(1, 5)):
        name = rng.choice(names)
        x = d.whole(wholes or ["i"], 1) if not reals or d.chance(0.6) else None
        if name == "c":
            lines.append(d.pick(f"q[i]['c'][{rng.randrange(3)}] = {x or 'i'}", "q[i]['c'][:] = 7", f"q['c'][i, -1] = {x or 'i'}", "q[i]['c'] = r[i]['c']" if "c" in names else "pass"))
        elif name == "h":
            lines.append(d.pick(f"q[i]['h']['p'] = {x or '3'}", "q['h'][i]['q'] = 2.5", "q[i]['h'] = r[i]['h']"))
        elif name in "eg":
            lines.append(f"q[i]['{name}'] = ({x or 'i'}) % 100")
        elif name == "b":
            lines.append(d.pick(f"q[i]['b'] = {x or 'i'}", f"q['b'][i] += {x or '2'}"))
        else:
            lines.append(f"q[i]['{name}'] = {d.real(reals, 1) if reals else '1.5'}")
        if d.chance(0.2):
            lines.append(d.pick("q[i] = r[i]", "q[i] = r[-1 - i]", "v = r[i]"))
        if d.chance(0.2):
            lines[-1:] = [f"if i {d.pick('<', '!=')} {rng.randrange(3)}:", f"    {lines[-1]}"]
    source = "import numpy as np\ndef f(i, r, q):\n" + "".join(f"    {line}\n" for line in lines) + f"# {dtype}\n"
    seed, n = rng.randrange(1 << 30), rng.randrange(1, 9)

    def run(f, gpu):
        r, q = (_records(seed + k, n, dtype) for k in range(2))
        if gpu is None:
            for i in range(n):
                f(i, r, q)
            return [q]
        import lanewise as lw

        r, q = device(r, gpu), device(q, gpu)
        lw.forall(cache=False, warn=False, fma=False)(f)(n, r, q)
        return [host(q)]

    return Case("records", source, run)


def _records(seed, n, dtype):
    out = np.zeros(n, dtype)
    for k, name in enumerate(dtype.names):
        field = out[name]
        if field.dtype.names:
            for inner in field.dtype.names:
                field[inner] = values(seed + k, n, field.dtype[inner])
        else:
            field[...] = values(seed + k, field.shape, field.dtype)
    return out


# ---- NumPy's functions with axes ----

REDUCING = ["sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax", "count_nonzero", "median", "ptp", "var"]
KEEPING = ["sort", "argsort", "cumsum", "cumprod", "flip"]


def draw_axes(rng):
    d = Drawn(rng)
    dtype = rng.choice(["i8", "f8", "f4", "i4", "u1", "b1"])
    ndim = rng.randrange(1, 4)
    shape = tuple(rng.randrange(1, 6) for _ in range(ndim))
    lines, name, exact = [], "x", dtype not in ("f4",)
    numeric = dtype
    for step in range(rng.randrange(1, 4)):
        if ndim == 0:
            break
        axis = rng.randrange(-ndim, ndim)
        form = rng.randrange(10)
        if form < 4:
            call = rng.choice(REDUCING)
            if numeric == "b1" and call in ("ptp", "median", "var", "mean"):
                call = "sum"
            if call in ("mean", "var", "median"):
                exact = False
            kept = d.chance(0.3) and call != "ptp" and call != "median"
            several = d.chance(0.25) and ndim > 1 and call not in ("argmin", "argmax", "median")
            at = str(tuple(rng.sample(range(ndim), 2))) if several else str(axis)
            text = f"np.{call}({name}, axis={at}{', keepdims=True' if kept else ''})" if d.chance(0.6) or call in ("count_nonzero", "median", "ptp") else f"{name}.{call}(axis={at}{', keepdims=True' if kept else ''})"
            ndim -= 0 if kept else 2 if several else 1
            numeric = "b1" if call in ("any", "all") else "i8" if call in ("argmin", "argmax", "count_nonzero") else "f8" if call in ("mean", "var", "median") else numeric
        elif form < 6:
            call = rng.choice(KEEPING)
            text = f"np.{call}({name}, axis={axis}{', kind=' + repr('stable') if call == 'argsort' else ''})"
            numeric = "i8" if call == "argsort" else numeric
            if call == "flip":
                text += ".copy()"
        elif form == 6:
            text = f"np.concatenate(({name}, {name}), axis={axis})"
        elif form == 7:
            text = d.pick(f"np.roll({name}, {rng.randrange(-3, 4)}, axis={axis})", f"np.repeat({name}, 2, axis={axis})", f"np.expand_dims({name}, {axis}).copy()")
            ndim += "expand" in text
        elif form == 8:
            text = f"np.take({name}, np.array([0, -1, 0]), axis={axis})"
        else:
            text = f"np.stack(({name}, {name}), axis={axis})"
            ndim += 1
        if ndim > 4:
            break
        lines.append(f"y{step} = {text}")
        name = f"y{step}"
    source = "import numpy as np\ndef f(x):\n" + "".join(f"    {line}\n" for line in lines) + f"    return {name}\n# {dtype} {shape}\n"
    seed = rng.randrange(1 << 30)

    def run(f, gpu):
        x = laid_out(random.Random(seed), values(seed, shape, dtype))
        if gpu is None:
            return [np.asarray(f(x))]
        import lanewise as lw

        made = lw.jit(cache=False, warn=False, fma=False)(f)
        if not gpu:
            return [np.asarray(made(x))]
        want = np.asarray(f(x))
        out = device(np.zeros(want.shape, want.dtype), True)
        kernel = function_of("def k(x, out):\n    out[...] = f(x)\n", {"f": f}, "k")
        lw.cuda.jit(cache=False, warn=False, fma=False)(kernel)[1, 1](device(x, True), out)
        return [host(out)]

    return Case("axes", source, run, exact)


# ---- one program ----

DRAW = [draw_forall, draw_kernel, draw_reduce, draw_records, draw_axes]


def function_of(source, space=None, name="f"):
    return space_of(source, {"math": math, "np": np, **(space or {})})[name]


def same(got, want, exact):
    if got.shape != want.shape:
        return False
    if want.dtype.names or exact:
        return np.array_equal(got, want, equal_nan=not want.dtype.names and want.dtype.kind in "fc")
    return np.allclose(got, want, rtol=1e-5, atol=1e-5, equal_nan=True)


def told(problem):
    return "".join(f"# {line}\n" for line in f"{type(problem).__name__}: {problem}".splitlines()[:12])


def check_case(case, gpu):
    """A text, or None."""
    f = function_of(case.source)
    with np.errstate(all="ignore"):
        want = case.run(f, None)
    try:
        got = case.run(f, bool(gpu))
    except Exception as problem:
        return told(problem)
    for g, w in zip(got, want):
        if not same(g, w, case.exact):
            return f"# got      {g.tolist() if g.size < 60 else g} {g.dtype}\n# expected {w.tolist() if w.size < 60 else w} {w.dtype}\n"
    return None if len(got) == len(want) else f"# {len(got)} results, expected {len(want)}\n"


def draw(seed, i):
    rng = random.Random(f"doors {seed} {i}")
    return DRAW[(seed + i) % len(DRAW)](rng)


def check_batch(seed, size=BATCH, gpu=False):
    """(programs looked at, [check.Problem]). Only compiling, and the IR, are for scalar programs."""
    assert gpu in (False, True), "--doors runs programs: on the CPU, or with --gpu"
    warnings.simplefilter("ignore")
    problems = []
    for i in range(size):
        case = draw(seed, i)
        wrong = check_case(case, gpu)
        if wrong:
            problems.append(Problem(case.kind, case.source, (), wrong))
    return size, problems
