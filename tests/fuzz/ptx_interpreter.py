"""Runs the PTX of a kernel on the CPU, one thread after the other: what libNVVM made, before ptxas and without a GPU.

Each entry becomes a Python function: a chain of basic blocks. Registers hold bits, as unsigned ints. All state spaces are one memory.
What is not known raises Unknown: approximations, warps, calls.
"""

from __future__ import annotations

import bisect
import ctypes
import math
import re
import struct
from fractions import Fraction

import numpy as np

MOST_BLOCKS = 4_000_000  # basic blocks that a thread may run


class Unknown(Exception):
    """An instruction that is not interpreted."""


class Endless(Exception):
    """More basic blocks than a program of the fuzzer runs."""


class Stale(Exception):
    """A load that need not see what was stored."""


# ---- numbers ----

FORMATS = {"f32": ("<f", "<I"), "f64": ("<d", "<Q"), "f16": ("<e", "<H")}


def number(bits, kind):
    value, raw = FORMATS[kind]
    return struct.unpack(value, struct.pack(raw, bits))[0]


def bits_of(x, kind):
    value, raw = FORMATS[kind]
    try:
        return struct.unpack(raw, struct.pack(value, x))[0]
    except OverflowError:  # too large for the format
        return struct.unpack(raw, struct.pack(value, math.copysign(math.inf, x)))[0]


def signed(bits, width):
    return bits - (1 << width) if bits >> (width - 1) & 1 else bits


def divided(x, y):
    if y == 0:
        return math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1, y)
    return x / y


def fused(x, y, z):
    if not all(map(math.isfinite, (x, y, z))):
        return x * y + z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    return float(exact) if exact else x * y + z


def fused32(x, y, z):
    """x * y is exact in float64; the sum is rounded to an odd last bit, so that the rounding to float32 is the only one."""
    near = x * y + z
    if not math.isfinite(near) or math.isinf(z):
        return near
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == Fraction(near):
        return near
    other = math.nextafter(near, math.inf if exact > Fraction(near) else -math.inf)
    return next(v for v in (near, other) if bits_of(v, "f64") & 1)


def least(x, y, largest):
    if math.isnan(x) or math.isnan(y):
        return y if math.isnan(x) else x
    if x == y == 0:
        return (x if math.copysign(1, x) > 0 else y) if largest else (x if math.copysign(1, x) < 0 else y)
    return max(x, y) if largest else min(x, y)


def to_integer(x, rounding, width, is_signed):
    if math.isnan(x):
        return 0
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if is_signed else (0, (1 << width) - 1)
    if math.isinf(x):
        return high if x > 0 else low
    whole = {"rzi": math.trunc, "rni": round, "rmi": math.floor, "rpi": math.ceil}[rounding](x)
    return min(max(whole, low), high)


def to_whole(x, rounding):
    if not math.isfinite(x):
        return x
    return math.copysign(float({"rzi": math.trunc, "rni": round, "rmi": math.floor, "rpi": math.ceil}[rounding](x)), x)


# ---- memory ----


class Memory:
    """Rooms with unused bytes between them, so that an access outside of one is an error."""

    def __init__(self, size=1 << 20):
        self.bytes, self.top = bytearray(size), 256
        self.starts, self.ends = [], []
        self.stored, self.constant = set(), set()  # addresses of stores, and of loads through the cache for read-only data

    def room(self, size, align=16):
        start = -(-self.top // align) * align
        self.top = start + size + 64
        assert self.top <= len(self.bytes)
        self.starts.append(start)
        self.ends.append(start + size)
        return start

    def check(self, address, size):
        room = bisect.bisect_right(self.starts, address) - 1
        if room < 0 or address + size > self.ends[room]:
            raise IndexError(f"an access of {size} bytes at {address}, in no array")

    def load(self, address, size):
        self.check(address, size)
        return int.from_bytes(self.bytes[address : address + size], "little")

    def load_constant(self, address, size):
        self.constant.update(range(address, address + size))
        return self.load(address, size)

    def store(self, address, size, bits):
        self.check(address, size)
        self.stored.update(range(address, address + size))
        self.bytes[address : address + size] = bits.to_bytes(size, "little")

    def put(self, data):
        start = self.room(len(data))
        self.bytes[start : start + len(data)] = data
        return start


# ---- the translation ----

WIDTH = re.compile(r"[busf](8|16|32|64)$")
SPECIAL = {"%tid.x": "tid", "%ctaid.x": "ctaid", "%ntid.x": "ntid", "%nctaid.x": "nctaid"}
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}


def width_of(kind):
    return 1 if kind == "pred" else int(WIDTH.search(kind).group(1))


class Entry:
    """One entry of a PTX text, as a Python function of (memory, parameters, thread indices)."""

    def __init__(self, text):
        text = re.sub(r"//[^\n]*", "", text)
        self.data = self.read_data(text)
        match = re.search(r"\.entry\s+([\w$]+)\s*\((.*?)\)\s*((?:\.\w+\s+[\d, ]+\s*)*)\{(.*?)^\}", text, re.S | re.M)
        if not match:
            raise Unknown("no entry")
        self.params = re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.\w+\s+(?:\.ptr\s+(?:\.global\s+)?(?:\.align\s+\d+\s+)?)?([\w$]+)", match[2])
        self.local, self.registers = [], set()  # registers whose names do not begin with %
        self.source = self.translate(match[4])
        space = dict(globals())
        exec(compile(self.source, "<ptx>", "exec"), space)
        self.run = space["run"]

    def read_data(self, text):
        found = {}
        for name, size, values in re.findall(r"^\.(?:global|const|shared|visible[ .\w]*)[ .\w]*?\.align \d+ \.b8 ([\w$]+)\[(\d+)\](?:\s*=\s*\{([^}]*)\})?;", text, re.M):
            data = bytes(int(v) for v in values.split(",")) if values else b""
            found[name] = data.ljust(int(size), b"\0")
        return found

    def translate(self, body):
        blocks, labels = [[]], {}
        for line in re.split(r"[;\n]", body):
            line = line.strip().lstrip("{ \t")  # assembly in line stands in braces
            label = re.match(r"^(\$?[\w$]+):\s*(.*)", line)
            if label and not line.startswith("."):
                blocks.append([])
                labels[label[1]] = len(blocks) - 1
                line = label[2]
            if line.startswith(".reg"):
                self.registers.update(name.strip() for name in line.split(None, 2)[2].split(","))
            if line in ("", "}") or re.match(r"\.(reg|loc|pragma|file|section|branchtargets)\b", line):
                continue
            depot = re.match(r"\.(?:local|shared)\s+\.align\s+\d+\s+\.b8\s+([\w$]+)\[(\d+)\]", line)
            if depot:
                self.local.append((depot[1], int(depot[2])))
                continue
            blocks[-1].append(line)
            if re.search(r"\b(bra|ret|exit)\b", line):
                blocks.append([])
        self.labels, out = labels, []
        for k, block in enumerate(blocks):
            out.append(f"        {'if' if k == 0 else 'elif'} at == {k}:")
            out.append(f"            at = {k + 1}")
            out += [f"            {line}" for text in block for line in self.instruction(text)]
        head = ["def run(m, p, names, tid=0, ctaid=0, ntid=1, nctaid=1):", "    r = {}", "    at = steps = 0", "    while True:",
                "        steps += 1", "        if steps > MOST_BLOCKS: raise Endless", ]
        return "\n".join([*head, *out, "        else: return"]) + "\n"

    # ---- operands ----

    def read(self, operand, kind):
        operand = operand.strip()
        if operand in SPECIAL:
            return SPECIAL[operand]
        if operand.startswith("%") or operand in self.registers:
            width = width_of(kind)
            return f"r[{operand!r}]" if width in (1, 64) else f"(r[{operand!r}] & {(1 << width) - 1})"
        if operand.startswith("0d") or operand.startswith("0D"):
            return str(int(operand[2:], 16))
        if operand.startswith("0f") or operand.startswith("0F"):
            return str(int(operand[2:], 16))
        try:
            return str(int(operand, 0) & ((1 << width_of(kind)) - 1))
        except ValueError:
            return f"names[{operand!r}]"

    def integer(self, operand, kind):
        text = self.read(operand, kind)
        return f"signed({text}, {width_of(kind)})" if kind[0] == "s" else text

    def real(self, operand, kind):
        return f"number({self.read(operand, kind)}, {kind!r})"

    def set(self, target, text, kind):
        target = target.strip()
        if kind == "pred":
            return f"r[{target!r}] = bool({text})"
        return f"r[{target!r}] = ({text}) & {(1 << width_of(kind)) - 1}"

    def set_real(self, target, text, kind):
        return f"r[{target.strip()!r}] = bits_of({text}, {kind!r})"

    def address(self, text):
        inner = text.strip()[1:-1]
        base, _, offset = inner.partition("+")
        if base.lstrip("-").isdigit():
            return base
        base = f"r[{base.strip()!r}]" if base.startswith("%") else f"names[{base.strip()!r}]"
        return f"(({base} + {int(offset or 0)}) & {(1 << 64) - 1})"

    # ---- instructions ----

    def instruction(self, text):
        guard = re.match(r"@(!?)(%\w+)\s+(.*)", text, re.S)
        if guard:
            return [f"if {'not ' if guard[1] else ''}r[{guard[2]!r}]:", *["    " + line for line in self.instruction(guard[3])]]
        opcode, _, rest = text.partition(" ")
        opcode, _, tail = opcode.partition("\t")
        rest = (tail + " " + rest).strip() if tail else rest.strip()
        name, *suffixes = opcode.split(".")
        method = getattr(self, "do_" + name, None)
        if method is None or "ftz" in suffixes or ("sat" in suffixes and name in ("add", "sub", "mul", "fma", "mad", "cvt")):
            raise Unknown(text)
        args = [a.strip() for a in re.split(r",\s*(?![^{\[]*[}\]])", rest)] if rest else []
        made = method(suffixes, args)
        return made if isinstance(made, list) else [made]

    def do_ret(self, suffixes, args):
        return "return"

    do_exit = do_ret

    def do_bra(self, suffixes, args):
        return [f"at = {self.labels[args[0]]}", "continue"]

    def do_ld(self, suffixes, args):
        kind = suffixes[-1]
        size = max(width_of(kind) // 8, 1)
        targets = args[0].strip("{}").split(",")
        if suffixes[0] == "param":
            name, _, offset = args[1].strip("[]").partition("+")
            return [self.set_wide(t, f"p[{name!r}][{int(offset or 0) + k * size}:{int(offset or 0) + (k + 1) * size}]", kind) for k, t in enumerate(targets)]
        where = self.address(args[1])
        load = "load_constant" if "nc" in suffixes else "load"
        return [self.extended(t, f"m.{load}({where} + {k * size}, {size})", kind) for k, t in enumerate(targets)]

    def set_wide(self, target, data, kind):
        return self.extended(target, f"int.from_bytes({data}, 'little')", kind)

    def extended(self, target, text, kind):
        """Loads of narrow signed numbers extend the sign into the register."""
        if kind[0] == "s" and width_of(kind) < 64:
            return f"r[{target.strip()!r}] = signed({text}, {width_of(kind)}) & {(1 << 64) - 1}"
        return f"r[{target.strip()!r}] = {text}"

    def do_ldu(self, suffixes, args):
        return self.do_ld(suffixes, args)

    def do_st(self, suffixes, args):
        kind = suffixes[-1]
        size = max(width_of(kind) // 8, 1)
        where = self.address(args[0])
        return [f"m.store({where} + {k * size}, {size}, {self.read(v, kind)})" for k, v in enumerate(args[1].strip("{}").split(","))]

    def do_prefetch(self, suffixes, args):
        return "pass"

    do_membar = do_fence = do_prefetch

    def do_mov(self, suffixes, args):
        kind = suffixes[-1]
        if args[0].startswith("{"):
            parts = args[0].strip("{}").split(",")
            width = width_of(kind) // len(parts)
            return [f"r[{t.strip()!r}] = {self.read(args[1], kind)} >> {k * width} & {(1 << width) - 1}" for k, t in enumerate(parts) if t.strip() != "_"]
        if args[1].startswith("{"):
            parts = args[1].strip("{}").split(",")
            width = width_of(kind) // len(parts)
            return f"r[{args[0]!r}] = " + " | ".join(f"{self.read(t, f'b{width}')} << {k * width}" for k, t in enumerate(parts))
        return self.set(args[0], self.read(args[1], kind), kind) if kind != "pred" else f"r[{args[0]!r}] = {self.read(args[1], kind)}"

    def do_cvta(self, suffixes, args):
        return self.set(args[0], self.read(args[1], "u64"), "u64")

    def binary(operator):  # noqa: N805, makes a method
        def do(self, suffixes, args):
            kind = suffixes[-1]
            if kind[0] == "f":
                if any(s.startswith("r") and s != "rn" for s in suffixes):
                    raise Unknown(".".join(suffixes))
                return self.set_real(args[0], f"{self.real(args[1], kind)} {operator} {self.real(args[2], kind)}", kind)
            if kind == "pred":
                return self.set(args[0], f"{self.read(args[1], kind)} {operator} {self.read(args[2], kind)}", kind)
            return self.set(args[0], f"{self.integer(args[1], kind)} {operator} {self.integer(args[2], kind)}", kind)

        return do

    do_add, do_sub, do_and, do_or, do_xor, product = map(binary, ("+", "-", "&", "|", "^", "*"))

    def do_not(self, suffixes, args):
        kind = suffixes[-1]
        return self.set(args[0], f"not {self.read(args[1], kind)}" if kind == "pred" else f"~{self.read(args[1], kind)}", kind)

    def do_mul(self, suffixes, args):
        kind = suffixes[-1]
        if kind[0] == "f":
            return self.product(suffixes, args)
        product = f"{self.integer(args[1], kind)} * {self.integer(args[2], kind)}"
        if suffixes[0] == "wide":
            return self.set(args[0], product, f"u{2 * width_of(kind)}")
        return self.set(args[0], f"({product}) >> {width_of(kind)}" if suffixes[0] == "hi" else product, kind)

    def do_mad(self, suffixes, args):
        kind = suffixes[-1]
        if kind[0] == "f":
            return self.do_fma(suffixes, args)
        product = f"{self.integer(args[1], kind)} * {self.integer(args[2], kind)}"
        if suffixes[0] == "wide":
            wide = f"{kind[0]}{2 * width_of(kind)}"
            return self.set(args[0], f"{product} + {self.integer(args[3], wide)}", wide)
        if suffixes[0] == "hi":
            product = f"(({product}) >> {width_of(kind)})"
        return self.set(args[0], f"{product} + {self.integer(args[3], kind)}", kind)

    def do_fma(self, suffixes, args):
        kind = suffixes[-1]
        if kind not in FORMATS or suffixes[0] != "rn":
            raise Unknown("fma." + ".".join(suffixes))
        a, b, c = (self.real(x, kind) for x in args[1:])
        return self.set_real(args[0], f"{'fused' if kind == 'f64' else 'fused32'}({a}, {b}, {c})", kind)

    def do_div(self, suffixes, args):
        kind = suffixes[-1]
        if kind[0] == "f":
            if suffixes[0] != "rn":
                raise Unknown("div." + ".".join(suffixes))
            return self.set_real(args[0], f"divided({self.real(args[1], kind)}, {self.real(args[2], kind)})", kind)
        a, b = self.integer(args[1], kind), self.integer(args[2], kind)
        return self.set(args[0], f"(abs({a}) // abs({b}) * (1 if ({a} < 0) == ({b} < 0) else -1)) if {b} else -1", kind)

    def do_rem(self, suffixes, args):
        kind = suffixes[-1]
        a, b = self.integer(args[1], kind), self.integer(args[2], kind)
        return self.set(args[0], f"(abs({a}) % abs({b}) * (-1 if {a} < 0 else 1)) if {b} else {a}", kind)

    def do_sqrt(self, suffixes, args):
        kind = suffixes[-1]
        if suffixes[0] != "rn":
            raise Unknown("sqrt." + ".".join(suffixes))
        x = self.real(args[1], kind)
        return self.set_real(args[0], f"math.sqrt({x}) if {x} >= 0 else {x} * math.nan", kind)

    def do_rcp(self, suffixes, args):
        kind = suffixes[-1]
        if suffixes[0] != "rn":
            raise Unknown("rcp." + ".".join(suffixes))
        return self.set_real(args[0], f"divided(1.0, {self.real(args[1], kind)})", kind)

    def do_neg(self, suffixes, args):
        kind = suffixes[-1]
        if kind[0] == "f":
            return f"r[{args[0]!r}] = {self.read(args[1], kind)} ^ {1 << (width_of(kind) - 1)}"
        return self.set(args[0], f"-{self.integer(args[1], kind)}", kind)

    def do_abs(self, suffixes, args):
        kind = suffixes[-1]
        if kind[0] == "f":
            return f"r[{args[0]!r}] = {self.read(args[1], kind)} & {(1 << (width_of(kind) - 1)) - 1}"
        return self.set(args[0], f"abs({self.integer(args[1], kind)})", kind)

    def extremum(largest):  # noqa: N805, makes a method
        def do(self, suffixes, args):
            kind = suffixes[-1]
            if kind[0] == "f":
                if "NaN" in suffixes:
                    raise Unknown("max.NaN")
                return self.set_real(args[0], f"least({self.real(args[1], kind)}, {self.real(args[2], kind)}, {largest})", kind)
            return self.set(args[0], f"{'max' if largest else 'min'}({self.integer(args[1], kind)}, {self.integer(args[2], kind)})", kind)

        return do

    do_min, do_max = map(extremum, (False, True))

    def do_shl(self, suffixes, args):
        kind = suffixes[-1]
        return self.set(args[0], f"{self.read(args[1], kind)} << min({self.read(args[2], 'u32')}, {width_of(kind)})", kind)

    def do_shr(self, suffixes, args):
        kind = suffixes[-1]
        return self.set(args[0], f"{self.integer(args[1], kind)} >> min({self.read(args[2], 'u32')}, {width_of(kind)})", kind)

    def do_shf(self, suffixes, args):
        low, high = self.read(args[1], "u32"), self.read(args[2], "u32")
        count = f"({self.read(args[3], 'u32')} & 31)" if suffixes[1] == "wrap" else f"min({self.read(args[3], 'u32')}, 32)"
        both = f"({high} << 32 | {low})"
        return self.set(args[0], f"({both} << {count}) >> 32" if suffixes[0] == "l" else f"{both} >> {count}", "u32")

    def do_popc(self, suffixes, args):
        return self.set(args[0], f"{self.read(args[1], suffixes[-1])}.bit_count()", "u32")

    def do_clz(self, suffixes, args):
        return self.set(args[0], f"{width_of(suffixes[-1])} - {self.read(args[1], suffixes[-1])}.bit_length()", "u32")

    def do_setp(self, suffixes, args):
        how, kind = suffixes[0], suffixes[-1]
        a, b = (self.real(args[1], kind), self.real(args[2], kind)) if kind[0] == "f" else (self.integer(args[1], kind), self.integer(args[2], kind))
        if kind[0] != "f":
            test = f"{a} {COMPARE[how]} {b}"
        elif how in ("num", "nan"):
            test = f"{'not ' if how == 'num' else ''}(math.isnan({a}) or math.isnan({b}))"
        elif how[-1] == "u":
            test = f"{a} {COMPARE[how[:-1]]} {b} or math.isnan({a}) or math.isnan({b})"
        else:
            test = f"{a} {COMPARE[how]} {b}" + (f" and not math.isnan({a}) and not math.isnan({b})" if how == "ne" else "")
        if len(suffixes) > 2 and suffixes[1] in ("and", "or", "xor"):
            last = args[3]
            operand = f"(not r[{last[1:]!r}])" if last.startswith("!") else f"r[{last!r}]"
            test = f"({test}) {'^' if suffixes[1] == 'xor' else suffixes[1]} {operand}"
        targets = args[0].split("|")
        made = [f"r[{targets[0]!r}] = bool({test})"]
        return made + ([f"r[{targets[1]!r}] = not r[{targets[0]!r}]"] if len(targets) > 1 else [])

    def do_selp(self, suffixes, args):
        kind = suffixes[-1]
        return self.set(args[0], f"{self.read(args[1], kind)} if r[{args[3]!r}] else {self.read(args[2], kind)}", kind)

    def do_cvt(self, suffixes, args):
        *how, to, source = suffixes
        if to[0] == "f" and any(h in ("rz", "rm", "rp") for h in how):
            raise Unknown("cvt." + ".".join(suffixes))
        if to[0] == "f" and source[0] == "f":
            whole = [h for h in how if h.endswith("i")]
            x = self.real(args[1], source)
            return self.set_real(args[0], f"to_whole({x}, {whole[0]!r})" if whole else x, to)
        if to[0] == "f":
            x = self.integer(args[1], source)
            if "rn" not in how and not (to == "f64" and width_of(source) <= 32):
                raise Unknown("cvt." + ".".join(suffixes))
            nearest = {"f16": "np.float16", "f32": "np.float32", "f64": "float"}[to]
            return self.set_real(args[0], f"float({nearest}({x}))", to)
        if source[0] == "f":
            return self.set(args[0], f"to_integer({self.real(args[1], source)}, {how[0]!r}, {width_of(to)}, {to[0] == 's'})", to)
        x = self.integer(args[1], source)
        return f"r[{args[0]!r}] = ({x}) & {(1 << 64) - 1 if to[0] == 's' and source[0] == 's' and width_of(to) < 64 else (1 << width_of(to)) - 1}"

    def do_bfe(self, suffixes, args):
        kind = suffixes[-1]
        if kind[0] == "s":
            raise Unknown("bfe.s")
        return self.set(args[0], f"{self.read(args[1], kind)} >> ({self.read(args[2], 'u32')} & 255) & ((1 << ({self.read(args[3], 'u32')} & 255)) - 1)", kind)

    def do_bfi(self, suffixes, args):
        kind = suffixes[-1]
        mask = f"((1 << {self.read(args[4], 'u32')}) - 1 << {self.read(args[3], 'u32')})"
        return self.set(args[0], f"({self.read(args[1], kind)} << {self.read(args[3], 'u32')} & {mask}) | ({self.read(args[2], kind)} & ~{mask})", kind)

    def do_lop3(self, suffixes, args):
        a, b, c = (self.read(x, "u32") for x in args[1:4])
        table = int(args[4], 0)
        terms = [f"({'' if k & 4 else '~'}{a} & {'' if k & 2 else '~'}{b} & {'' if k & 1 else '~'}{c})" for k in range(8) if table >> k & 1]
        return self.set(args[0], " | ".join(terms) or "0", "u32")

    def do_testp(self, suffixes, args):
        kind = suffixes[-1]
        test = {"finite": "math.isfinite({})", "infinite": "math.isinf({})", "number": "not math.isnan({})", "notanumber": "math.isnan({})"}.get(suffixes[0])
        if test is None:
            raise Unknown("testp." + suffixes[0])
        return f"r[{args[0]!r}] = {test.format(self.real(args[1], kind))}"

    def do_copysign(self, suffixes, args):
        kind = suffixes[-1]
        sign = 1 << (width_of(kind) - 1)
        return f"r[{args[0]!r}] = {self.read(args[2], kind)} & {sign - 1} | {self.read(args[1], kind)} & {sign}"


def parameters(memory, values):
    """The bytes of a kernel's parameters: arrays (a pointer, lengths and strides) are copied to the memory. Also where these are."""
    given, places = [], []
    for value in values:
        if not isinstance(value, np.ndarray):
            given.append(np.asarray(value).tobytes())
            continue
        whole = memory_of(value)
        place = memory.put(bytes(whole))
        first = value.__array_interface__["data"][0] - whole.__array_interface__["data"][0] if value.size else 0
        places.append((place, whole))
        given += [int(n).to_bytes(8, "little", signed=True) for n in (place + first, *value.shape, *value.strides)]
    return given, places


def memory_of(array):
    """The bytes from the first to the last element, as an array."""
    low, high = np.lib.array_utils.byte_bounds(array)
    return np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(low))


def launch(text, values, threads=1):
    """Runs the entry in the text, whose parameters are arrays and NumPy scalars, in one block: each thread after the one before."""
    entry, memory = Entry(text), Memory()
    given, places = parameters(memory, values)
    if len(given) != len(entry.params):
        raise AssertionError(f"{len(given)} arguments for {len(entry.params)} parameters")
    names = {name: memory.put(data) for name, data in entry.data.items()}
    names |= {name: memory.room(size) for name, size in entry.local}
    for tid in range(threads):
        entry.run(memory, {name: data for name, data in zip(entry.params, given)}, names, tid, 0, threads, 1)
    if memory.stored & memory.constant:
        raise Stale("memory that the kernel changes is read with ld.global.nc")
    for place, whole in places:
        whole[...] = np.frombuffer(memory.bytes, np.uint8, len(whole), place)
