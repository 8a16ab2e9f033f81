"""Random programs of arrays that share memory or lie at odd addresses, against NumPy.

A program is a few statements that copy and compute between views of one array `a`: slices of any step, transposes, rows that
repeat, `out=` of ufuncs, loops over elements, expressions of whole arrays, arrays that the program makes, masks, indices
that are arrays, reductions along an axis, sorting, and a second parameter `b` that is a view of the same memory. It is Python that
NumPy runs as it stands, and that is the reference: the bytes of the whole buffer, those around the arrays included, must be
the same after it ran compiled, by each generator that takes such a function. Calls of ufuncs, reductions and scans on such
operands follow, with `out=` that overlaps them.

    python tests/fuzz/run.py --arrays --count 2000            on the CPU; with --gpu on device arrays
"""

from __future__ import annotations

import random
import warnings
from typing import Any, NamedTuple

import numpy as np

DTYPES = ("i1", "i2", "i4", "i8", "u1", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
AROUND = 64  # bytes on both sides of an array, which nobody may write
UFUNCS = {"np.add": 2, "np.subtract": 2, "np.multiply": 2, "np.maximum": 2, "np.negative": 1, "np.square": 1}
BATCH = 8


class Views(NamedTuple):
    """How a program's arrays lie in their buffer."""

    dtype: str
    offset: int  # bytes behind an aligned address
    shape: tuple
    first: int  # b is a[first:] seen through its own shape
    steps: tuple  # of b


# ---- programs ----


class Writer:
    """Statements on `a` and `b`; every view drawn has the extents that are asked for."""

    def __init__(self, rng, views):
        self.rng, self.views, self.lines, self.names = rng, views, [], 0
        self.made = {}  # arrays that the program makes: name -> extents

    def chance(self, p):
        return self.rng.random() < p

    def part(self, extent, size):
        """The text of a slice with `size` of `extent` elements; None: there is none."""
        if size == extent and self.chance(0.3):
            return ":"
        most = 1 if size < 2 else (extent - 1) // (size - 1)
        step = self.rng.randrange(1, min(most, 3) + 1)
        first = self.rng.randrange(0, extent - (size - 1) * step)
        last = first + (size - 1) * step
        if self.chance(0.3):
            stop = "" if first == 0 else str(first - 1)
            return f"{last}:{stop}:-{step}"
        stop = "" if last + step >= extent and self.chance(0.5) else str(last + 1)
        return f"{first}:{stop}" + (f":{step}" if step > 1 or self.chance(0.1) else "")

    def view(self, sizes, may_repeat=False):
        """A view of `a` (or of `b`) with these extents; with may_repeat some may be 1."""
        name, shape = ("b", b_shape(self.views)) if self.chance(0.25) else ("a", self.views.shape)
        if len(sizes) > 1 and self.chance(0.2) and all(n <= m for n, m in zip(sizes, shape[::-1])):
            name, shape = f"{name}.T", shape[::-1]
        if any(n > m for n, m in zip(sizes, shape)):
            name, shape = "a", self.views.shape
        if may_repeat and self.chance(0.2):
            sizes = tuple(1 if self.chance(0.6) else n for n in sizes)
        if len(sizes) > 1 and may_repeat and self.chance(0.15):
            return f"{name}[{self.rng.randrange(shape[0])}, {self.part(shape[1], sizes[1])}]"
        return f"{name}[{', '.join(self.part(m, n) for m, n in zip(shape, sizes))}]"

    def sizes(self):
        shape = self.views.shape
        if self.chance(0.2):
            return shape
        return tuple(self.rng.randrange(1, n + 1) for n in shape)

    def number(self):
        return self.rng.choice(["0", "1", "2", "3"])

    def copy(self):
        sizes = self.sizes()
        self.lines.append(f"{self.view(sizes)} = {self.view(sizes, True) if self.chance(0.9) else self.number()}")

    def ufunc(self):
        sizes, (name, n) = self.sizes(), self.rng.choice(list(UFUNCS.items()))
        inputs = [self.number() if n > 1 and i and self.chance(0.2) else self.view(sizes, True) for i in range(n)]
        out = self.view(sizes)
        self.lines.append(f"{name}({', '.join(inputs)}, {'out=' if self.chance(0.5) else ''}{out})")

    def elements(self):
        """One element after the other: what is written is read again."""
        extent, at = self.views.shape[0], self.rng.randrange(1, 3)
        if extent <= at:
            return
        tail = ", 0" if len(self.views.shape) > 1 else ""
        back, to = self.rng.choice([(f"i + {at}", "i"), ("i", f"i + {at}")])
        self.lines.append(f"for i in range({extent - at}):")
        self.lines.append(f"    a[{to}{tail}] = a[{back}{tail}]")

    def named(self):
        """A view with a name, which sees what is written afterwards."""
        self.names += 1
        name, sizes = f"v{self.names}", self.sizes()
        self.lines.append(f"{name} = {self.view(sizes)}")
        self.lines.append(f"{self.view(sizes)} = {name}")
        if self.chance(0.5):
            self.lines.append(f"{name}[{', '.join(':' for _ in sizes)}] = {self.view(sizes, True)}")

    # arrays that the program makes, and expressions

    def order(self):
        return self.rng.choice(["==", "!="] if self.views.dtype[0] == "c" else ["<", ">=", "==", "!="])

    def operand(self, sizes):
        """A view with these extents, or an array that the program has made."""
        known = [name for name, extents in self.made.items() if extents == sizes]
        if known and self.chance(0.5):
            name = self.rng.choice(known)
            return name if self.chance(0.7) or len(sizes) > 1 else f"{name}[::-1]"
        return self.view(sizes)

    def expression(self, sizes, depth=2):
        form = self.rng.randrange(9) if depth else 0
        x = self.operand(sizes)
        if form < 3:
            return x
        y = self.number() if self.chance(0.2) else self.expression(sizes, depth - 1)
        if form < 6:
            return f"({x} {self.rng.choice('+-*')} {y})"
        if form == 6:
            return f"np.where({x} {self.order()} {self.view(sizes)}, {x}, {self.expression(sizes, depth - 1)})"
        if form == 7:
            return f"{self.rng.choice(['np.square', 'np.negative', 'np.conjugate'])}({y if y not in '0123' else x})"
        return self.rng.choice([f"{x}.copy()", f"np.concatenate(({x}, {self.view(sizes)}))[:{sizes[0]}]", f"np.stack(({x}, {x}))[1]", f"np.roll({x}, 1, axis=0)"])

    def temporary(self):
        """A new array, which is then changed, stored, or computed with."""
        self.names += 1
        name, sizes = f"t{self.names}", self.sizes()
        self.lines.append(f"{name} = {self.expression(sizes)} + {self.number()}")
        self.made[name] = sizes
        if self.chance(0.3):
            self.lines.append(f"for _ in range({self.rng.randrange(1, 4)}):")
            self.lines.append(f"    {name} = {name}{'[::-1]' if self.chance(0.5) else ''} - {self.operand(sizes)}")
        if self.chance(0.4):
            self.lines.append(f"{name} += {self.expression(sizes, 1)}")
        if self.chance(0.3):
            self.lines.append(f"{name}[{name} {self.order()} {self.number()}] = {self.number()}")
        self.lines.append(f"{self.view(sizes)} = {self.operand(sizes)}")

    def stored(self):
        sizes = self.sizes()
        self.lines.append(f"{self.view(sizes)} = {self.expression(sizes)}")

    def reduced(self):
        """A row of sums or the like of a matrix, and numbers of a row."""
        sizes = self.sizes()
        x, call = self.operand(sizes), self.rng.choice(["sum", "max", "min", "prod"] if self.views.dtype[0] != "c" else ["sum", "prod"])
        kept = f"np.{call}({x}, axis={{}}{', dtype=a.dtype' if call in ('sum', 'prod') else ''})"
        if len(sizes) == 1:
            self.lines.append(f"{self.view(sizes)} = {kept.format(0)}")
        else:
            axis = self.rng.randrange(2)
            self.lines.append(f"{self.view((sizes[0], sizes[1]))} = {kept.format(axis)}{'' if axis == 0 else '[:, None]'}")

    def selected(self):
        """Elements under a mask, and at places."""
        n = self.views.shape[0]
        places = [self.rng.randrange(-n, n) for _ in range(self.rng.randrange(1, 5))]
        self.names += 1
        name, form = f"p{self.names}", self.rng.randrange(4)
        if form == 0:
            self.lines.append(f"a[np.array({places})] = {self.number()}")
        elif form == 1:
            self.lines.append(f"{name} = a[np.array({places})]")
            self.lines.append(f"a[:{min(n, len(places))}] = {name}[:{min(n, len(places))}]")
        elif form == 2:
            self.lines.append(f"{name} = a[a {self.order()} {self.number()}]")
            self.lines.append(f"b[{'0, 0' if len(self.views.shape) > 1 else 0}] = {name}.size")
        else:
            self.lines.append(f"a[a {self.order()} {self.number()}] = {self.number()}")

    def sorted(self):
        sizes = self.sizes()
        self.lines.append(f"{self.view(sizes)} = np.sort({self.view(sizes)}, axis={self.rng.randrange(len(sizes))})")

    def body(self):
        forms = [self.copy, self.copy, self.ufunc, self.ufunc, self.elements, self.named, self.temporary, self.temporary, self.stored, self.stored, self.reduced, self.selected, self.sorted]
        for _ in range(self.rng.randrange(1, 5)):
            self.rng.choice(forms)()
        return self.lines or ["a[:] = a"]


def b_shape(views):
    return tuple(len(range(views.first if k == 0 else 0, n, step)) for k, (n, step) in enumerate(zip(views.shape, views.steps)))


def draw_views(rng):
    dtype = rng.choice(DTYPES)
    shape = (rng.randrange(2, 40),) if rng.random() < 0.6 else (rng.randrange(2, 7), rng.randrange(2, 9))
    first = rng.randrange(0, 2)
    return Views(dtype, rng.choice([0, 0, 1, 2, 4, 7, 8]), shape, first, tuple(rng.choice([1, 1, 2]) for _ in shape))


def source_of(lines):
    return "import numpy as np\ndef f(a, b):\n" + "".join(f"    {line}\n" for line in lines)


# ---- memory ----


def contents(views):
    size = int(np.prod(views.shape))
    values = (np.arange(size) * 7 + 3) % 11
    return (values + 1j * (values[::-1] % 5) if views.dtype[0] == "c" else values).astype(views.dtype).reshape(views.shape)


def buffer_of(array, offset):
    """Bytes, and where the array lies in them: `offset` behind a multiple of 64."""
    room = np.full(array.nbytes + 2 * AROUND + 64 + offset, 0x5A, np.uint8)
    first = -room.ctypes.data % 64 + AROUND + offset
    room[first:first + array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)
    return room, first


def place_of_b(views):
    return tuple(slice(views.first if k == 0 else None, None, step) for k, step in enumerate(views.steps))


def arrays_in(room, first, views, shared=False):
    """a and b in a buffer of the host or of a device. Kernels refuse misaligned arguments that share memory: then b is a copy."""
    size = int(np.prod(views.shape)) * np.dtype(views.dtype).itemsize
    a = room[first:first + size].view(views.dtype).reshape(views.shape)
    b = a[place_of_b(views)]
    return a, b if shared or views.offset % np.dtype(views.dtype).alignment == 0 else b.copy()


class Copying(np.ndarray):
    """Copies what it is assigned. NumPy 2.5 still takes no copy in one dimension, where a view of another step in the same
    direction is wrong: `a[::2] = a[:5]` reads what it has written."""

    def __setitem__(self, key, value):
        super().__setitem__(key, np.array(value))


def reference(source, views, shared=False):
    """The bytes after NumPy ran the program."""
    room, first = buffer_of(contents(views), views.offset)
    function_of(source)(*(array.view(Copying) for array in arrays_in(room, first, views, shared)))
    return room, first


def function_of(source):
    from check import define

    return define(source, "f")


# ---- running ----


def _around(text, f):
    """A function of a text that calls f."""
    from check import define

    made = define(text, "g")
    made.__globals__["f"] = f
    return made


def jit(f, views):
    import lanewise as lw

    return lw.jit(cache=False, warn=False, fma=False)(f)


def forall(f, views):
    import lanewise as lw

    made = lw.forall(cache=False, warn=False, fma=False)(_around("def g(i, a, b):\n    f(a, b)\n", f))
    return lambda a, b: made(1, a, b)


def guvectorize(f, views):
    """The output is filled with the input, then the program runs on it; b is a view that the function makes."""
    import lanewise as lw

    every = ", ".join(":" for _ in views.shape)
    part = ", ".join(f"{views.first if k == 0 else 0}::{step}" for k, step in enumerate(views.steps))
    text = f"def g(x, a):\n    a[{every}] = x\n    f(a, a[{part}])\n"
    names = ",".join("mn"[:len(views.shape)])
    made = lw.guvectorize(f"({names})->({names})", cache=False, warn=False, fma=False)(_around(text, f))
    return lambda a, b: made(contents(views), out=a)


HOST = {"jit": jit, "forall": forall, "guvectorize": guvectorize}


def run_host(door, source, views):
    room, first = buffer_of(contents(views), views.offset)
    HOST[door](function_of(source), views)(*arrays_in(room, first, views))
    return room, first


def run_device(source, views):
    """A kernel of one thread. Arguments that share memory must be aligned there."""
    import lanewise as lw
    from lanewise import cuda

    aligned = views._replace(offset=views.offset - views.offset % np.dtype(views.dtype).itemsize)
    room, first = buffer_of(contents(aligned), aligned.offset)
    start = first - aligned.offset - AROUND
    there = cuda.to_device(room[start:])  # its address is a multiple of 256
    lw.cuda.jit(cache=False, warn=False, fma=False)(function_of(source))[1, 1](*arrays_in(there, first - start, aligned))
    room[start:] = there.copy_to_host()
    return (room, first), aligned


def bytes_around(room, first, views):
    size = contents(views).nbytes
    return room[first - 32:first + size + 32]


def difference(got, want, views):
    x, y = (bytes_around(*one, views) for one in (got, want))
    if np.array_equal(x, y):
        return None
    a, b = (arrays_in(*one, views)[0] for one in (got, want))
    with np.errstate(all="ignore"):
        if np.array_equal(a, b, equal_nan=True) and np.array_equal(x[:32], y[:32]) and np.array_equal(x[-32:], y[-32:]):
            return None  # the bits of a NaN
    return f"# got      {a.tolist()}\n# expected {b.tolist()}\n"


# ---- calls on whole operands ----


class Call(NamedTuple):
    """A call of one of lanewise's objects with views of one buffer, and NumPy's."""

    text: str
    ours: Any
    numpys: Any


def _objects():
    import lanewise as lw

    add = lw.vectorize(lambda x, y: x + y, cache=False, warn=False, fma=False)
    total = lw.reduce(lambda x, y: x + y, cache=False, warn=False, fma=False)

    def shifted(x, out):
        for i in range(x.shape[0]):
            out[i] = x[x.shape[0] - 1 - i]

    back = lw.guvectorize("(n)->(n)", cache=False, warn=False, fma=False)(shifted)
    return {
        "add(x, y, out=z)": (lambda x, y, z: add(x, y, out=z), lambda x, y, z: np.add(x, y, out=z)),
        "add(x, x, out=x)": (lambda x, y, z: add(x, x, out=x), lambda x, y, z: np.add(x, x, out=x)),
        "add(x, y)": (lambda x, y, z: add(x, y), lambda x, y, z: np.add(x, y)),
        "lw.add(x, y, out=z)": (lambda x, y, z: lw.add(x, y, out=z), lambda x, y, z: np.add(x, y, out=z)),
        "total.accumulate(x, 0, out=z)": (lambda x, y, z: total.accumulate(x, 0, dtype=z.dtype, out=z), lambda x, y, z: np.add.accumulate(x, 0, dtype=z.dtype, out=z)),
        "total(x, axis=0)": (lambda x, y, z: total(x, axis=0, dtype=x.dtype), lambda x, y, z: np.add.reduce(x, axis=0, dtype=x.dtype)),
        "max(x)": (lambda x, y, z: lw.reductions.max(x), lambda x, y, z: np.max(x)),
        "back(x, out=z)": (lambda x, y, z: back(x, out=z), lambda x, y, z: np.copyto(z, x[..., ::-1].copy())),
        "add.outer(x, y)": (lambda x, y, z: add.outer(x.ravel(), y.ravel()), lambda x, y, z: np.add.outer(x.ravel(), y.ravel())),
    }


_made: dict = {}


def objects():
    if not _made:
        _made.update(_objects())
    return _made


class Operands(NamedTuple):
    text: str  # x, y and z as slices of a
    call: str


def draw_operands(rng, views):
    writer = Writer(rng, views._replace(first=0, steps=(1,) * len(views.shape)))
    sizes = writer.sizes()
    slices = ["a[" + ", ".join(writer.part(m, n) for m, n in zip(views.shape, sizes)) + "]" for _ in range(3)]
    return Operands(f"x, y, z = {', '.join(slices)}", rng.choice(sorted(objects())))


def call_on(operands, room, first, views, which):
    space = {"a": arrays_in(room, first, views)[0]}
    exec(operands.text, space)
    with np.errstate(all="ignore"):
        return objects()[operands.call][which](space["x"], space["y"], space["z"])


def check_call(operands, views, gpu):
    """A text, or None."""
    room, first = buffer_of(contents(views), views.offset)
    want = call_on(operands, room, first, views, 1)
    if gpu:
        from lanewise import cuda

        if operands.call == "add.outer(x, y)":  # ravel() of what is not contiguous would be a copy on the device
            return None
        mine, start = buffer_of(contents(views), views.offset)
        begin = start - views.offset - AROUND
        there = cuda.to_device(mine[begin:])
        got = call_on(operands, there, start - begin, views, 0)
        mine[begin:] = there.copy_to_host()
        got = got.copy_to_host() if isinstance(got, cuda.DeviceArray) else got
    else:
        mine, start = buffer_of(contents(views), views.offset)
        got = call_on(operands, mine, start, views, 0)
    wrong = difference((mine, start), (room, first), views)
    if wrong or want is None or "out=" in operands.call:
        return wrong
    if np.asarray(got).dtype != np.asarray(want).dtype or not np.array_equal(got, want, equal_nan=True):
        return f"# got      {np.asarray(got).tolist()} {np.asarray(got).dtype}\n# expected {np.asarray(want).tolist()} {np.asarray(want).dtype}\n"
    return None


# ---- one program ----


def _told(problem):
    return "".join(f"# {line}\n" for line in f"{type(problem).__name__}: {problem}".splitlines()[:12])


def check_program(source, views, door):
    """A text, or None. door: of HOST, "device", or the name of an architecture to compile for."""
    import lanewise as lw

    try:
        if door.startswith("sm_"):
            array = f"{np.dtype(views.dtype).name}[{', '.join(':' for _ in views.shape)}]"
            lw.compile(function_of(source), f"void({array}, {array})", target=door, output="cubin")
            return None
        if door == "device":
            got, views = run_device(source, views)
        else:
            got = run_host(door, source, views)
    except lw.errors.CompileError as refusal:
        if refusal.code in ("E160", "E121"):  # refused by name: rows that repeat, and copies that nobody orders
            return None
        return _told(refusal)
    except Exception as problem:
        if isinstance(problem, ValueError) and "no order of the elements" in str(problem):
            return None  # results of more than 512 bytes, in an order that nobody knows
        return _told(problem)
    return difference(got, reference(source, views, door == "guvectorize"), views)


def smallest(lines, views, door):
    """The same with as few statements as fail."""
    at = 0
    while at < len(lines):
        fewer = [line for i, line in enumerate(lines) if i != at and not (lines[at].endswith(":") and i == at + 1)]
        try:
            reference(source_of(fewer or ["pass"]), views)
            fails = bool(fewer) and not fewer[0].startswith("    ") and check_program(source_of(fewer), views, door)
        except Exception:
            fails = False
        if fails:
            lines = fewer
        else:
            at += 1
    return lines


def doors_of(seed, gpu):
    from check import ARCHITECTURES

    return [ARCHITECTURES[seed % len(ARCHITECTURES)]] if gpu == "compile" else ["device"] if gpu else [list(HOST)[seed % len(HOST)]]


def check_batch(seed, size=BATCH, gpu=False):
    """(programs looked at, [check.Problem])."""
    from check import Problem

    warnings.simplefilter("ignore")
    problems = []
    for i in range(size):
        rng = random.Random(f"arrays {seed} {i}")
        views = draw_views(rng)
        if gpu != "compile" and rng.random() < 0.5:
            for _ in range(4):
                operands = draw_operands(rng, views)
                try:
                    wrong = check_call(operands, views, gpu)
                except Exception as problem:
                    wrong = _told(problem)
                if wrong:
                    problems.append(Problem("call", f"{operands.text}\n{operands.call}\n", tuple(map(str, views)), wrong))
            continue
        lines = Writer(rng, views).body()
        with np.errstate(all="ignore"):
            reference(source_of(lines), views)  # NumPy takes it
            for door in doors_of(seed + i, gpu):
                if check_program(source_of(lines), views, door):
                    small = smallest(list(lines), views, door)
                    wrong = check_program(source_of(small), views, door) or ""
                    problems.append(Problem(door, source_of(small), tuple(map(str, views)), wrong))
    return size, problems
